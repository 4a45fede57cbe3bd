//! Maps with fixed keys. An attacker cannot choose colliding keys, so a hash that is cheap for short words suffices.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub type FixedMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;
pub type FixedSet<K> = HashSet<K, BuildHasherDefault<Fnv>>;

/// 64-bit FNV-1a.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
