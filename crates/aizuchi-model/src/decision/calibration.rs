//! How often a score came with a yes.

/// A score, whether it came with a yes, and how much that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub score: f64,
    pub is_yes: bool,
    pub weight: f64,
}

/// A range of scores up to a bound, and the share of yes verdicts in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    pub up_to: f64,
    pub rate: f64,
    weight: f64,
    yes: f64,
}

/// The share of yes verdicts by score, never falling (*isotonic regression* by pooling adjacent violators).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration(Vec<Block>);

impl Calibration {
    /// Fits the calibration. `scored` may be in any order.
    pub fn fit(scored: &[Scored]) -> Self {
        let mut scored = scored.to_vec();
        scored.sort_by(|one, other| one.score.total_cmp(&other.score));
        let mut blocks: Vec<Block> = Vec::new();
        for row in &scored {
            let yes = if row.is_yes { row.weight } else { 0.0 };
            let mut next = Block::new(row.score, row.weight, yes);
            // Equal scores form one block, in any order.
            while let Some(last) = blocks.last().copied() {
                if last.yes * next.weight < next.yes * last.weight && last.up_to < row.score {
                    break;
                }
                next = Block::new(next.up_to, last.weight + next.weight, last.yes + next.yes);
                blocks.pop();
            }
            blocks.push(next);
        }
        Self(blocks)
    }

    /// Returns the share of yes verdicts at a score, which is never quite zero.
    pub fn rate(&self, score: f64) -> f64 {
        let found = self.0.iter().find(|block| score <= block.up_to);
        found.or(self.0.last()).map_or(1.0, |block| block.rate)
    }

    pub fn blocks(&self) -> &[Block] {
        &self.0
    }
}

impl Block {
    fn new(up_to: f64, weight: f64, yes: f64) -> Self {
        // Half a yes more than was seen: what was never seen may still happen.
        Self { up_to, rate: (yes + 0.5) / (weight + 1.0), weight, yes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scored(rows: &[(f64, bool)]) -> Vec<Scored> {
        rows.iter()
            .map(|(score, is_yes)| Scored { score: *score, is_yes: *is_yes, weight: 1.0 })
            .collect()
    }

    #[test]
    fn adjacent_scores_in_the_wrong_order_are_pooled() {
        let calibration = Calibration::fit(&scored(&[
            (0.1, false),
            (0.2, true),
            (0.3, false),
            (0.4, false),
            (0.9, true),
            (0.9, true),
        ]));
        let bounds: Vec<f64> = calibration.blocks().iter().map(|block| block.up_to).collect();
        assert_eq!(bounds, [0.1, 0.4, 0.9]);
        assert!(calibration.rate(0.05) < calibration.rate(0.3));
        assert!(calibration.rate(0.3) < calibration.rate(2.0));
    }

    proptest! {
        #[test]
        fn rates_never_fall_as_scores_rise(rows in prop::collection::vec((0..20_i32, any::<bool>(), 1..5_u8), 1..60)) {
            let scored: Vec<Scored> = rows
                .iter()
                .map(|(score, is_yes, weight)| Scored {
                    score: f64::from(*score),
                    is_yes: *is_yes,
                    weight: f64::from(*weight),
                })
                .collect();
            let calibration = Calibration::fit(&scored);
            let means: Vec<f64> =
                calibration.blocks().iter().map(|block| block.yes / block.weight).collect();
            prop_assert!(means.is_sorted());
            let weight: f64 = calibration.blocks().iter().map(|block| block.weight).sum();
            prop_assert!((weight - scored.iter().map(|row| row.weight).sum::<f64>()).abs() < 1e-9);
        }
    }
}
