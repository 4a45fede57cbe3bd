//! Boosted trees of depth two: a small model of a yes or no. Fitting is deterministic: the same rows give the same
//! trees.

/// The number of boosting rounds, and the learning rate.
const ROUNDS: usize = 60;
const RATE: f64 = 0.15;
/// The regularization of leaves, added to their curvature: it shrinks those with few rows most.
const PENALTY: f64 = 2.0;
/// The minimum evidence in a leaf, counted in rows of even odds: each adds a quarter to the curvature.
const MIN_EVIDENCE: f64 = 1.0;
/// The minimum gain of a split; less is noise.
const MIN_GAIN: f64 = 0.2;
/// The maximum number of thresholds that are tried for each feature.
const MAX_CUTS: usize = 24;

/// A moment to train on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingRow<'a> {
    pub features: &'a [f32],
    pub is_yes: bool,
    /// How many moments it represents.
    pub weight: f64,
}

/// The fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    base: f64,
    trees: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Leaf(f64),
    Split { feature: usize, cut: f32, below: Box<Node>, above: Box<Node> },
}

impl Trees {
    pub fn fit(rows: &[TrainingRow<'_>]) -> Self {
        let total: f64 = rows.iter().map(|row| row.weight).sum();
        let yes: f64 = rows.iter().filter(|row| row.is_yes).map(|row| row.weight).sum();
        // Half a case more of each kind keeps the logarithm finite.
        let base = ((yes + 0.5) / (total - yes + 0.5)).ln();
        let table = BinnedRows::new(rows);
        let mut scores = vec![base; rows.len()];
        let mut trees = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let tree = table.grow(&scores);
            for (score, row) in scores.iter_mut().zip(rows) {
                *score += tree.score(row.features);
            }
            trees.push(tree);
        }
        Self { base, trees }
    }

    /// Returns the log odds of a yes.
    pub fn score(&self, features: &[f32]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.score(features)).sum::<f64>()
    }
}

impl Node {
    fn score(&self, features: &[f32]) -> f64 {
        match self {
            Node::Leaf(value) => *value,
            Node::Split { feature, cut, below, above } => {
                let is_below = features.get(*feature).is_none_or(|value| value <= cut);
                if is_below { below.score(features) } else { above.score(features) }
            }
        }
    }
}

/// The rows with their features in bins.
struct BinnedRows<'a> {
    rows: &'a [TrainingRow<'a>],
    /// The thresholds between the bins of each feature.
    cuts: Vec<Vec<f32>>,
    /// The bin of each row, for each feature.
    bins: Vec<Vec<u8>>,
}

/// The summed first and second derivatives of the loss.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    gradient: f64,
    curvature: f64,
}

impl Slope {
    fn plus(self, other: Self) -> Self {
        Self {
            gradient: self.gradient + other.gradient,
            curvature: self.curvature + other.curvature,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            gradient: self.gradient - other.gradient,
            curvature: self.curvature - other.curvature,
        }
    }

    fn gain(self) -> f64 {
        self.gradient * self.gradient / (self.curvature + PENALTY)
    }

    fn leaf(self) -> f64 {
        -RATE * self.gradient / (self.curvature + PENALTY)
    }
}

impl<'a> BinnedRows<'a> {
    fn new(rows: &'a [TrainingRow<'a>]) -> Self {
        let width = rows.iter().map(|row| row.features.len()).min().unwrap_or(0);
        let cuts: Vec<Vec<f32>> = (0..width).map(|feature| cuts(rows, feature)).collect();
        let bin = |feature: usize, row: &TrainingRow<'_>| {
            cuts[feature].partition_point(|cut| *cut < row.features[feature]) as u8
        };
        let bins =
            (0..width).map(|feature| rows.iter().map(|row| bin(feature, row)).collect()).collect();
        Self { rows, cuts, bins }
    }

    fn grow(&self, scores: &[f64]) -> Node {
        let slope = |(row, score): (&TrainingRow<'_>, &f64)| {
            let probability = 1.0 / (1.0 + (-score).exp());
            let target = if row.is_yes { 1.0 } else { 0.0 };
            Slope {
                gradient: row.weight * (probability - target),
                curvature: row.weight * probability * (1.0 - probability),
            }
        };
        let slopes: Vec<Slope> = self.rows.iter().zip(scores).map(slope).collect();
        let all: Vec<usize> = (0..self.rows.len()).collect();
        self.node(&all, &slopes, 2)
    }

    fn node(&self, members: &[usize], slopes: &[Slope], depth: usize) -> Node {
        let total = members.iter().fold(Slope::default(), |sum, row| sum.plus(slopes[*row]));
        let split = if depth == 0 { None } else { self.best_split(members, slopes, total) };
        let Some((feature, bin)) = split else { return Node::Leaf(total.leaf()) };
        let (below, above): (Vec<usize>, Vec<usize>) =
            members.iter().partition(|row| usize::from(self.bins[feature][**row]) <= bin);
        Node::Split {
            feature,
            cut: self.cuts[feature][bin],
            below: Box::new(self.node(&below, slopes, depth - 1)),
            above: Box::new(self.node(&above, slopes, depth - 1)),
        }
    }

    /// Returns the feature and the last bin below the split with the largest gain.
    fn best_split(
        &self,
        members: &[usize],
        slopes: &[Slope],
        total: Slope,
    ) -> Option<(usize, usize)> {
        let mut best = None;
        let mut most = MIN_GAIN + total.gain();
        for (feature, cuts) in self.cuts.iter().enumerate() {
            let mut sums = vec![Slope::default(); cuts.len() + 1];
            for row in members {
                let sum = &mut sums[usize::from(self.bins[feature][*row])];
                *sum = sum.plus(slopes[*row]);
            }
            let mut below = Slope::default();
            for (bin, sum) in sums.iter().take(cuts.len()).enumerate() {
                below = below.plus(*sum);
                let above = total.minus(below);
                let gain = below.gain() + above.gain();
                let has_evidence = below.curvature.min(above.curvature) * 4.0 >= MIN_EVIDENCE;
                if gain > most && has_evidence {
                    (most, best) = (gain, Some((feature, bin)));
                }
            }
        }
        best
    }
}

/// Returns thresholds between the values of a feature, with about equally many rows between each two of them.
fn cuts(rows: &[TrainingRow<'_>], feature: usize) -> Vec<f32> {
    let mut values: Vec<f32> = rows.iter().map(|row| row.features[feature]).collect();
    values.sort_by(f32::total_cmp);
    let ranks = (1..=MAX_CUTS).map(|cut| cut * values.len() / (MAX_CUTS + 1));
    let mut cuts: Vec<f32> = ranks.filter_map(|rank| values.get(rank).copied()).collect();
    cuts.dedup();
    // No row is above the highest value.
    cuts.retain(|cut| Some(cut) != values.last());
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(points: &[([f32; 2], bool)]) -> Vec<TrainingRow<'_>> {
        points
            .iter()
            .map(|(features, is_yes)| TrainingRow { features, is_yes: *is_yes, weight: 1.0 })
            .collect()
    }

    /// Yes if both features are high or both are low, which no single feature can tell.
    fn crossed() -> Vec<([f32; 2], bool)> {
        let grid = (0..400).map(|number| [(number % 20) as f32, (number / 20) as f32]);
        grid.map(|at| (at, (at[0] > 9.0) == (at[1] > 5.0))).collect()
    }

    #[test]
    fn trees_learn_what_two_features_say_together() {
        let points = crossed();
        let trees = Trees::fit(&rows(&points));
        let wrong = points.iter().filter(|(at, is_yes)| (trees.score(at) > 0.0) != *is_yes).count();
        assert!(wrong < 20, "{wrong}");
    }

    #[test]
    fn the_same_rows_give_the_same_trees() {
        let points = crossed();
        assert_eq!(Trees::fit(&rows(&points)), Trees::fit(&rows(&points)));
    }

    #[test]
    fn without_rows_or_features_every_moment_is_alike() {
        let trees = Trees::fit(&[]);
        assert_eq!(trees.score(&[1.0]), trees.score(&[]));
        let only_no = rows(&[([0.0, 0.0], false); 1]).repeat(50);
        assert!(Trees::fit(&only_no).score(&[0.0, 0.0]) < -3.0);
    }

    #[test]
    fn a_weight_counts_as_that_many_rows() {
        let points = [([0.0, 0.0], false), ([1.0, 0.0], true), ([0.5, 0.0], false)];
        let tripled: Vec<TrainingRow<'_>> = points
            .iter()
            .map(|(features, is_yes)| TrainingRow { features, is_yes: *is_yes, weight: 30.0 })
            .collect();
        let repeated = rows(&points).repeat(30);
        let difference =
            Trees::fit(&tripled).score(&[1.0, 0.0]) - Trees::fit(&repeated).score(&[1.0, 0.0]);
        assert!(difference.abs() < 0.3, "{difference}");
    }
}
