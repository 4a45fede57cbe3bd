//! How often a score came with a yes, and how certain that is.

/// The one-sided 90 % quantile of the normal distribution.
const Z: f64 = 1.2816;

/// A judged moment: its score by a model that had not seen it, and how many moments it represents.
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

/// Returns the upper limit of the expected number of cases if `seen` were seen, with a confidence of 90 %: the upper
/// limit of a Poisson rate (Garwood, 1936), with the cube by which Wilson and Hilferty (1931) approximate chi-squared,
/// which is within 1 % of it. It is 2.3 if none was seen, and a little wide if many of the draws are cases.
pub fn upper_limit(seen: f64) -> f64 {
    let count = seen.max(0.0) + 1.0;
    count * (1.0 - 1.0 / (9.0 * count) + Z / (3.0 * count.sqrt())).powi(3)
}

/// Returns the upper bound of a share, with a confidence of 90 %, if it was `share` among `count`.
pub fn upper_bound(share: f64, count: f64) -> f64 {
    if count <= 0.0 { 1.0 } else { (upper_limit(share * count) / count).min(1.0) }
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

    #[test]
    fn nothing_seen_is_no_proof() {
        assert_eq!(Calibration::default().rate(0.0), 1.0);
        assert_eq!(upper_bound(0.0, 0.0), 1.0);
        for (share, count, expected) in
            [(0.0, 1.0, 1.0), (0.0, 20.0, 0.114), (0.0, 100.0, 0.0228), (0.1, 100.0, 0.154)]
        {
            let bound = upper_bound(share, count);
            assert!((bound - expected).abs() < 0.002, "{share} of {count}: {bound}");
        }
    }

    #[test]
    fn the_limit_of_a_rate_is_that_of_the_tables() {
        for (seen, expected) in
            [(0.0, 2.303), (1.0, 3.890), (2.0, 5.322), (5.0, 9.275), (10.0, 15.407)]
        {
            let limit = upper_limit(seen);
            assert!((limit / expected - 1.0).abs() < 0.011, "{seen}: {limit}");
        }
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

        #[test]
        fn a_bound_is_above_the_share_and_falls_with_evidence(share in 0.0..1.0_f64, count in 1.0..1e4_f64) {
            let bound = upper_bound(share, count);
            prop_assert!(bound >= share && bound <= 1.0);
            prop_assert!(upper_bound(share, count * 2.0) <= bound + 1e-12);
        }
    }
}
