//! How much a gate may skip: the score up to which it misses no more than it may.
//!
//! Once the gate is on, few moments below a threshold are judged, and each of them represents many. A yes among these
//! is rare and has a large weight, so that not having drawn one yet says little. The missed share is therefore bounded
//! in two ways, and the larger bound counts. And as many moments are drawn as the bound needs.

use std::ops::RangeInclusive;

use crate::decision::learned::calibration::{Scored, upper_bound, upper_limit};

/// The minimum share that a gate must save to be worth its risk.
const MIN_SAVED: f64 = 0.05;
/// The possible shares of the skippable moments that are judged anyway, in percent.
const EXPLORATION_PERCENT: RangeInclusive<u32> = 5..=50;
/// The smallest such share.
pub const MIN_EXPLORATION: f64 = *EXPLORATION_PERCENT.start() as f64 / 100.0;

/// The score up to which moments may be skipped, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkipThreshold {
    /// Moments with at most this score are skipped.
    pub score: f64,
    /// The share of the moments with at most this score.
    pub skipped: f64,
    /// The share of these that are judged anyway.
    pub exploration: f64,
    /// The share of the yes verdicts that would have been missed, and its upper bound at a confidence of 90 %.
    pub missed: f64,
    pub missed_at_most: f64,
}

impl SkipThreshold {
    /// Finds the threshold that saves the most while missing at most the share `miss` of the yes verdicts, by an upper
    /// bound. Returns `None` if no threshold is both safe and useful.
    pub fn find(scored: &[Scored], miss: f64) -> Option<Self> {
        let mut scored = scored.to_vec();
        scored.sort_by(|one, other| one.score.total_cmp(&other.score));
        let all = Weights::from_rows(&scored);
        let yes = Weights::from_rows(scored.iter().filter(|row| row.is_yes));
        let mut below = Below::default();
        let mut found: Option<Self> = None;
        for (index, row) in scored.iter().enumerate() {
            below.add(row);
            if scored.get(index + 1).is_some_and(|next| next.score <= row.score) {
                continue;
            }
            let missed = below.yes() / yes.sum;
            // At higher scores at least as many are missed. The bound may still fall there: it is wide if few moments
            // are below.
            if missed > miss {
                break;
            }
            let skipped = below.sum() / all.sum;
            let missed_at_most = bound_missed(below, yes);
            let Some(exploration) = exploration(below.yes(), miss * yes.sum) else { continue };
            let this = Self { score: row.score, skipped, exploration, missed, missed_at_most };
            let least = found.map_or(MIN_SAVED, |found| found.saved());
            if missed_at_most <= miss && this.saved() >= least {
                found = Some(this);
            }
        }
        found
    }

    /// Returns the share of the moments for which the judge is not asked.
    pub fn saved(&self) -> f64 {
        self.skipped * (1.0 - self.exploration)
    }
}

/// Returns the smallest share of exploration that keeps the bound within `allowed` yes verdicts, if `missed` are
/// expected below. With a smaller share, the gate would have to turn off once only the explored moments tell what is
/// below.
fn exploration(missed: f64, allowed: f64) -> Option<f64> {
    let shares = EXPLORATION_PERCENT.map(|percent| f64::from(percent) / 100.0);
    shares.into_iter().find(|share| upper_limit(share * missed) / share <= allowed)
}

/// Returns an upper bound of the share of the `yes` verdicts that lie `below`: the larger of two bounds.
///
/// The first treats the yes verdicts as draws, each of which lies below or above. It ignores how many moments below
/// were judged. The second bounds the rate of a yes among the explored moments, and so the number of yes verdicts that
/// these represent. Where all moments were judged, the yes verdicts are added as they are: they were counted, and say
/// nothing about the time since.
fn bound_missed(below: Below, yes: Weights) -> f64 {
    let among_yes = upper_bound(below.yes() / yes.sum, yes.effective_count());
    let explored = below.explored;
    let rate = explored.yes / explored.sum.max(f64::MIN_POSITIVE);
    let most_explored = match explored.sum > 0.0 {
        true => upper_bound(rate, explored.effective_count()) * explored.sum,
        false => 0.0,
    };
    let most_below = below.judged.yes + most_explored;
    let above = yes.sum - below.yes();
    among_yes.max(most_below / (most_below + above))
}

/// The moments with at most the threshold's score.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// Moments that were judged because every moment was.
    judged: Weights,
    /// Moments that were drawn from those to be skipped.
    explored: Weights,
}

impl Below {
    fn add(&mut self, row: &Scored) {
        let part = if row.weight > 1.0 { &mut self.explored } else { &mut self.judged };
        part.add(row);
    }

    fn sum(&self) -> f64 {
        self.judged.sum + self.explored.sum
    }

    fn yes(&self) -> f64 {
        self.judged.yes + self.explored.yes
    }
}

/// Sums over weighted moments.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    sum: f64,
    sum_of_squares: f64,
    /// The sum over the yes verdicts alone.
    yes: f64,
}

impl Weights {
    fn from_rows<'a>(rows: impl IntoIterator<Item = &'a Scored>) -> Self {
        let mut weights = Self::default();
        rows.into_iter().for_each(|row| weights.add(row));
        weights
    }

    fn add(&mut self, row: &Scored) {
        self.sum += row.weight;
        self.sum_of_squares += row.weight * row.weight;
        self.yes += if row.is_yes { row.weight } else { 0.0 };
    }

    /// Returns the number of equally weighted moments with the same information (Kish's effective sample size): a few
    /// moments with a large weight say less than many with a small one.
    fn effective_count(self) -> f64 {
        self.sum * self.sum / self.sum_of_squares.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `count` moments of one score, each with this weight.
    fn rows(count: usize, score: f64, is_yes: bool, weight: f64) -> Vec<Scored> {
        vec![Scored { score, is_yes, weight }; count]
    }

    /// Whether the bound by yes verdicts alone would allow skipping everything that has no yes, at 2 %.
    fn is_within_by_yes_alone(scored: &[Scored]) -> bool {
        let yes = Weights::from_rows(scored.iter().filter(|row| row.is_yes));
        upper_bound(0.0, yes.effective_count()) <= 0.02
    }

    #[test]
    fn a_few_that_stand_for_many_are_no_proof() {
        // The same 2000 moments lie below in each case, without a single yes.
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
    fn what_was_judged_before_does_not_vouch_for_what_was_drawn_since() {
        let explored = rows(100, 0.1, false, 20.0);
        let found = |judged: usize, yes: usize| {
            let (judged, yes) = (rows(judged, 0.1, false, 1.0), rows(yes, 0.9, true, 1.0));
            SkipThreshold::find(&[explored.clone(), judged, yes].concat(), 0.02)
        };
        // 2.3 of 100 may have been a yes, and so 46 of the 2000 that these represent.
        assert_eq!(found(0, 2200), None);
        assert!(found(0, 2400).is_some());
        assert_eq!(found(4000, 2200), None);
    }

    #[test]
    fn as_many_are_drawn_as_the_bound_needs() {
        let exploration = |yes: usize| {
            let scored = [rows(2000, 0.1, false, 1.0), rows(yes, 0.9, true, 1.0)].concat();
            SkipThreshold::find(&scored, 0.02).map(|found| found.exploration)
        };
        let shares = [200, 240, 400, 1000, 5000].map(exploration);
        assert_eq!(shares, [None, Some(0.48), Some(0.29), Some(0.12), Some(0.05)]);
        // Moments that were drawn in that share without a yes do not turn off the gate for which they were drawn.
        for (yes, share) in [(240, 0.48), (400, 0.29), (1000, 0.12)] {
            let drawn = rows((4000.0 * share) as usize, 0.1, false, 1.0 / share);
            let scored = [drawn, rows(yes, 0.9, true, 1.0)].concat();
            assert!(SkipThreshold::find(&scored, 0.02).is_some(), "{yes} yes, {share}");
        }
    }

    #[test]
    fn the_threshold_that_saves_the_most_is_taken() {
        // SkipModel the second part, too, would cost more exploration than it saves.
        let scored = [
            rows(2000, 0.1, false, 1.0),
            rows(100, 0.2, false, 1.0),
            rows(5, 0.2, true, 1.0),
            rows(1000, 0.9, true, 1.0),
        ];
        let found = SkipThreshold::find(&scored.concat(), 0.02).unwrap();
        assert_eq!((found.score, found.exploration), (0.1, 0.12));
        assert!((found.saved() - 2000.0 / 3105.0 * 0.88).abs() < 1e-9, "{found:?}");
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
    fn a_bound_that_is_wide_at_first_does_not_end_the_search() {
        let few = rows(5, 0.1, false, 20.0);
        let yes = rows(800, 0.9, true, 1.0);
        assert_eq!(SkipThreshold::find(&[few.clone(), yes.clone()].concat(), 0.02), None);
        let many = rows(1000, 0.2, false, 2.0);
        let found = SkipThreshold::find(&[few, many, yes].concat(), 0.02).unwrap();
        assert_eq!((found.score, found.missed), (0.2, 0.0));
        assert!(found.missed_at_most > 0.0 && found.missed_at_most <= 0.02, "{found:?}");
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
        let below = |rows: &[Vec<Scored>]| {
            let mut below = Below::default();
            rows.iter().flatten().for_each(|row| below.add(row));
            below
        };
        // No yes in 20 draws that represent 20 moments each: at most 11.4 % of 400, so 45.6 beside 300 above.
        let yes = Weights::from_rows(&rows(300, 0.9, true, 1.0));
        let drawn = below(&[rows(20, 0.1, false, 20.0)]);
        assert_eq!((drawn.explored.effective_count(), yes.effective_count()), (20.0, 300.0));
        let bound = bound_missed(drawn, yes);
        assert!((bound - 45.6 / 345.6).abs() < 0.001, "{bound}");
        // If every moment is judged, the bound by yes verdicts applies.
        let judged = below(&[rows(400, 0.1, false, 1.0)]);
        assert_eq!(bound_missed(judged, yes), upper_bound(0.0, 300.0));
    }
}
