//! Random numbers for tests: the same seed gives the same numbers on every machine.

/// A random number generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Creates a separate generator for one purpose, so that its draws do not affect those of others.
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

    /// Returns true with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        ((self.number() >> 11) as f64 / (1_u64 << 53) as f64) < share
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A word that no other text contains.
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
