//! Maps whose keys are fixed. Nobody can choose keys that collide, so a hash that is cheap for short words will do.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub type FixedMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;
pub type FixedSet<K> = HashSet<K, BuildHasherDefault<Fnv>>;

/// FNV-1a with 64 bits.
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
