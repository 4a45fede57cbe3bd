//! Random numbers for tests: the same from the same seed, on every machine.

/// A generator of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A generator of its own for one purpose, so that what one draws changes nothing for the others.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mixed =
            purpose.bytes().fold(seed, |mixed, byte| Self(mixed ^ u64::from(byte)).number());
        Self(mixed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// A number from `from` up to and including `to`.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        from + (self.number() % (to - from + 1) as u64) as i64
    }

    /// True in this share of draws.
    pub fn chance(&mut self, share: f64) -> bool {
        ((self.number() >> 11) as f64 / (1_u64 << 53) as f64) < share
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A word that nothing else contains.
    pub fn word(&mut self) -> String {
        let mut rest = self.number();
        let mut word = String::from("q");
        for _ in 0..12 {
            word.push(char::from(b'a' + (rest % 26) as u8));
            rest /= 26;
        }
        word
    }
}
