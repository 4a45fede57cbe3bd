//! Sorts long lists with little memory: piece by piece, and then all pieces into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::replay::column::Column;
use crate::replay::column::fixed::Fixed;

/// So many records are sorted at once.
const PIECE: usize = 1 << 18;

impl<T: Fixed> Column<T> {
    /// The same records by their keys. Those with equal keys stay in their order.
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

    /// Of sorted pieces, each as long as possible.
    fn merged<K: Ord>(&self, key: &impl Fn(&T) -> K) -> Self {
        let pieces = (0..self.len()).step_by(PIECE);
        let pieces = pieces.map(|from| self.part(from, from + PIECE).records().peekable());
        let mut pieces: Vec<_> = pieces.collect();
        // The smallest key first, and of equal ones that of the earliest piece.
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
