//! How far a gate may skip: the score up to which it misses no more than it may.

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
        let weights = |rows: &[Scored]| rows.iter().map(|row| row.weight).sum::<f64>();
        let yes: Vec<Scored> = scored.iter().filter(|row| row.is_yes).copied().collect();
        let (total, total_yes) = (weights(&scored), weights(&yes));
        let squares: f64 = yes.iter().map(|row| row.weight * row.weight).sum();
        // A few that stand for many tell less than as many would.
        let effective = total_yes * total_yes / squares.max(f64::MIN_POSITIVE);
        let (mut below, mut missed) = (0.0, 0.0);
        let mut found = None;
        for (index, row) in scored.iter().enumerate() {
            below += row.weight;
            missed += if row.is_yes { row.weight } else { 0.0 };
            let is_last_of_equals = scored.get(index + 1).is_none_or(|next| next.score > row.score);
            let share = missed / total_yes;
            let at_most = upper_bound(share, effective);
            if at_most > miss {
                break;
            }
            if is_last_of_equals && below / total >= MIN_SKIPPED {
                found = Some(Self {
                    score: row.score,
                    skipped: below / total,
                    missed: share,
                    missed_at_most: at_most,
                });
            }
        }
        found
    }
}
