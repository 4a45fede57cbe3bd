//! How far a gate may skip: the score up to which it misses no more than it may.
//!
//! Below a threshold few moments are judged once the gate is on, and each of them stands for many. A yes among these is
//! rare and weighs much, so that none was drawn yet says little. What may be missed is therefore bounded in two ways, and
//! the larger bound counts.

use crate::decision::learned::calibration::{Scored, upper_bound};

/// A gate that skips less is not worth its risk.
const MIN_SKIPPED: f64 = 0.05;

/// Up to which score moments may be skipped, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkipThreshold {
    /// Moments that score no higher are skipped.
    pub score: f64,
    /// The share of the moments that it would have skipped.
    pub skipped: f64,
    /// The share of the yes that it would have missed, and the most that this is with a confidence of 90 %.
    pub missed: f64,
    pub missed_at_most: f64,
}

impl SkipThreshold {
    /// The highest that misses no more than the share `miss` of the yes, by an upper bound. `None` if none does that is of
    /// use.
    pub fn find(scored: &[Scored], miss: f64) -> Option<Self> {
        let mut scored = scored.to_vec();
        scored.sort_by(|one, other| one.score.total_cmp(&other.score));
        let all = Weights::of(&scored);
        let yes = Weights::of(scored.iter().filter(|row| row.is_yes));
        let mut below = Weights::default();
        let mut found = None;
        for (index, row) in scored.iter().enumerate() {
            below.add(row);
            if scored.get(index + 1).is_some_and(|next| next.score <= row.score) {
                continue;
            }
            let missed = below.yes / yes.sum;
            // Farther up no less is missed. The bound may still fall there: it is wide where little is below.
            if missed > miss {
                break;
            }
            let skipped = below.sum / all.sum;
            let missed_at_most = bound_missed(below, yes);
            if missed_at_most <= miss && skipped >= MIN_SKIPPED {
                found = Some(Self { score: row.score, skipped, missed, missed_at_most });
            }
        }
        found
    }
}

/// The most that the share of the `yes` is which lie `below`: the larger of two bounds.
///
/// One takes the yes for draws, each of which lies below or above. It knows nothing of how many moments below were looked
/// at. The other bounds the rate of a yes among the moments below, and so the number of yes there; what is seen above is
/// nearly all judged, and is added to it as it is.
fn bound_missed(below: Weights, yes: Weights) -> f64 {
    let among_yes = upper_bound(below.yes / yes.sum, yes.effective_count());
    let most_below = upper_bound(below.yes / below.sum, below.effective_count()) * below.sum;
    let above = yes.sum - below.yes;
    among_yes.max(most_below / (most_below + above))
}

/// Sums over moments, each of which stands for its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    sum: f64,
    sum_of_squares: f64,
    /// The sum over the yes alone.
    yes: f64,
}

impl Weights {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Scored>) -> Self {
        let mut weights = Self::default();
        rows.into_iter().for_each(|row| weights.add(row));
        weights
    }

    fn add(&mut self, row: &Scored) {
        self.sum += row.weight;
        self.sum_of_squares += row.weight * row.weight;
        self.yes += if row.is_yes { row.weight } else { 0.0 };
    }

    /// How many moments of equal weight tell as much (Kish's effective sample size): a few that stand for many tell less
    /// than as many would.
    fn effective_count(self) -> f64 {
        self.sum * self.sum / self.sum_of_squares.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That many moments of one score, each with this weight.
    fn rows(count: usize, score: f64, is_yes: bool, weight: f64) -> Vec<Scored> {
        vec![Scored { score, is_yes, weight }; count]
    }

    /// Whether a bound by the yes alone would let everything be skipped that has no yes, at 2 %.
    fn is_within_by_yes_alone(scored: &[Scored]) -> bool {
        let yes = Weights::of(scored.iter().filter(|row| row.is_yes));
        upper_bound(0.0, yes.effective_count()) <= 0.02
    }

    #[test]
    fn a_few_that_stand_for_many_are_no_proof() {
        // The same 2000 moments lie below in each case, and not one yes was seen there.
        for (count, weight, is_found) in
            [(20, 100.0, false), (100, 20.0, false), (1000, 2.0, true), (2000, 1.0, true)]
        {
            let scored = [rows(count, 0.1, false, weight), rows(400, 0.9, true, 1.0)].concat();
            assert!(is_within_by_yes_alone(&scored));
            let found = SkipThreshold::find(&scored, 0.02);
            assert_eq!(found.is_some(), is_found, "{count} of weight {weight}: {found:?}");
        }
    }

    #[test]
    fn more_that_are_judged_make_up_for_them() {
        let explored = rows(100, 0.1, false, 20.0);
        let found = |judged: usize, yes: usize| {
            let (judged, yes) = (rows(judged, 0.1, false, 1.0), rows(yes, 0.9, true, 1.0));
            SkipThreshold::find(&[explored.clone(), judged, yes].concat(), 0.02)
        };
        // Either other moments below that are judged as well, or more yes above, of which no more may be missed.
        assert_eq!(found(0, 800), None);
        assert!(found(4000, 800).is_some());
        assert!(found(0, 1800).is_some());
    }

    #[test]
    fn a_bound_that_is_wide_at_first_does_not_end_the_search() {
        let few = rows(5, 0.1, false, 20.0);
        let yes = rows(400, 0.9, true, 1.0);
        assert_eq!(SkipThreshold::find(&[few.clone(), yes.clone()].concat(), 0.02), None);
        let many = rows(1000, 0.2, false, 1.0);
        let found = SkipThreshold::find(&[few, many, yes].concat(), 0.02).unwrap();
        assert_eq!((found.score, found.missed), (0.2, 0.0));
        assert!(found.missed_at_most > 0.0 && found.missed_at_most <= 0.02, "{found:?}");
    }

    #[test]
    fn what_is_missed_ends_the_search() {
        let below = rows(500, 0.1, false, 1.0);
        let missed = rows(20, 0.2, true, 1.0);
        let [between, yes] = [rows(5000, 0.3, false, 1.0), rows(380, 0.9, true, 1.0)];
        let found = SkipThreshold::find(&[yes, between, missed, below].concat(), 0.02).unwrap();
        assert_eq!((found.score, found.missed), (0.1, 0.0));
    }

    #[test]
    fn equal_scores_are_skipped_together() {
        let scored = [rows(1000, 0.1, false, 1.0), rows(20, 0.1, true, 1.0)].concat();
        let scored = [scored, rows(380, 0.9, true, 1.0)].concat();
        assert_eq!(SkipThreshold::find(&scored, 0.02), None);
        let found = SkipThreshold::find(&scored, 0.1).unwrap();
        assert_eq!((found.score, found.missed), (0.1, 0.05));
    }

    #[test]
    fn both_bounds_are_what_their_formulas_say() {
        // None of 20 draws that stand for 20 each: at most 7.6 % of 400, so 30 beside 300 above.
        let below = Weights::of(&rows(20, 0.1, false, 20.0));
        let yes = Weights::of(&rows(300, 0.9, true, 1.0));
        assert_eq!((below.effective_count(), yes.effective_count()), (20.0, 300.0));
        let bound = bound_missed(below, yes);
        assert!((bound - 30.4 / 330.4).abs() < 0.001, "{bound}");
        // Where every moment is judged, it is the bound by the yes.
        let below = Weights::of(&rows(400, 0.1, false, 1.0));
        assert_eq!(bound_missed(below, yes), upper_bound(0.0, 300.0));
    }
}
