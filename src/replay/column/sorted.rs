//! Sorts long lists with little memory: sorts pieces, then merges them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::replay::column::Column;
use crate::replay::column::fixed::Fixed;

/// The number of records that are sorted at once.
const PIECE: usize = 1 << 18;

impl<T: Fixed> Column<T> {
    /// Sorts the records by key. The sort is stable.
    pub fn sorted_by_key<K: Ord>(mut self, key: impl Fn(&T) -> K) -> Self {
        if self.stored.is_none() {
            self.kept.sort_by_key(key);
            return self;
        }
        let mut pieces: Self = self.derive([]);
        for from in (0..self.len()).step_by(PIECE) {
            let mut piece: Vec<T> = self.part(from, from + PIECE).records().collect();
            piece.sort_by_key(&key);
            pieces.extend(piece);
        }
        drop(self);
        pieces.merged(&key)
    }

    /// Merges sorted pieces, each of which is as long as possible.
    fn merged<K: Ord>(&self, key: &impl Fn(&T) -> K) -> Self {
        let pieces = (0..self.len()).step_by(PIECE);
        let pieces = pieces.map(|from| self.part(from, from + PIECE).records().peekable());
        let mut pieces: Vec<_> = pieces.collect();
        // The smallest key comes first, and of equal keys, the one of the earliest piece.
        let mut heads = BinaryHeap::new();
        for (number, piece) in pieces.iter_mut().enumerate() {
            heads.extend(piece.peek().map(|record| Reverse((key(record), number))));
        }
        let mut sorted: Self = self.derive([]);
        while let Some(Reverse((_, number))) = heads.pop() {
            let piece = &mut pieces[number];
            sorted.extend(piece.next());
            heads.extend(piece.peek().map(|record| Reverse((key(record), number))));
        }
        sorted
    }
}
