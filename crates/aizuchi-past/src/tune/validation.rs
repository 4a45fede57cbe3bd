//! Checks whether the days that the search has not seen confirm its result.

use std::collections::{BTreeMap, BTreeSet};

use aizuchi_model::clock::seeded_random;

use crate::tune::figures::{TuneFigures, UtcDay};
use crate::tune::search::Goal;

/// The minimum data to learn from, and to check the result with.
const MIN_LEARNED: MinimumHistory = MinimumHistory { days: 5, messages: 300, questions: 8 };
const MIN_CHECKED: MinimumHistory = MinimumHistory { days: 4, messages: 150, questions: 5 };
/// The number of times that the days are resampled.
const DRAWS: usize = 2000;
/// The share of the samples that must show a gain.
const CONFIDENCE: f64 = 0.95;

/// The least data that a history must hold.
struct MinimumHistory {
    days: u64,
    messages: u64,
    questions: u64,
}

/// Returns why a history is too short, if it is.
pub fn lack(learned: &TuneFigures, checked: &TuneFigures) -> Option<String> {
    let parts = [("to learn from", learned, MIN_LEARNED), ("to check with", checked, MIN_CHECKED)];
    parts.into_iter().find_map(|(purpose, has, needs)| {
        let counts = [
            (has.days, needs.days, "days with messages"),
            (has.messages, needs.messages, "messages by people"),
            (has.questions, needs.questions, "questions that nobody answered"),
        ];
        let (has, needs, what) = counts.into_iter().find(|(has, needs, _)| has < needs)?;
        Some(format!("there are {has} {what} {purpose}, and it takes {needs}"))
    })
}

/// The gain on days outside of the training data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub mean: f64,
    /// The interval that contains nine of ten samples.
    pub low: f64,
    pub high: f64,
    /// The share of the samples with a gain.
    pub confidence: f64,
}

impl Gain {
    /// Compares two settings on the same days by bootstrapping: the days are sampled repeatedly with replacement.
    pub fn new(
        before: &BTreeMap<UtcDay, TuneFigures>,
        after: &BTreeMap<UtcDay, TuneFigures>,
        goal: Goal,
        seed: u64,
    ) -> Self {
        let days: BTreeSet<UtcDay> = before.keys().chain(after.keys()).copied().collect();
        let days: Vec<UtcDay> = days.into_iter().collect();
        let on = |figures: &BTreeMap<UtcDay, TuneFigures>, day: UtcDay| {
            figures.get(&day).copied().unwrap_or_default()
        };
        let gain = |drawn: &[UtcDay]| {
            let sum = |figures: &BTreeMap<UtcDay, TuneFigures>| {
                drawn.iter().fold(TuneFigures::default(), |sum, day| sum.plus(on(figures, *day)))
            };
            goal.utility(&sum(after)) - goal.utility(&sum(before))
        };
        let mut gains: Vec<f64> = (0..DRAWS)
            .map(|draw| {
                let pick = |place: usize| {
                    let random = seeded_random(seed, &[&draw.to_string(), &place.to_string()]);
                    days[((random * days.len() as f64) as usize).min(days.len() - 1)]
                };
                gain(&(0..days.len()).map(pick).collect::<Vec<UtcDay>>())
            })
            .collect();
        gains.sort_by(f64::total_cmp);
        let at = |share: f64| gains[((DRAWS as f64 * share) as usize).min(DRAWS - 1)];
        let confidence = gains.iter().filter(|gain| **gain > 0.0).count() as f64 / DRAWS as f64;
        Self { mean: gain(&days), low: at(0.05), high: at(0.95), confidence }
    }

    /// Whether the days show a gain with enough confidence.
    pub fn is_certain(&self) -> bool {
        self.confidence >= CONFIDENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(reached_questions: u64) -> TuneFigures {
        TuneFigures {
            days: 1,
            messages: 100,
            questions: 10,
            reached_questions,
            ..TuneFigures::default()
        }
    }

    fn days(reached: &[u64]) -> BTreeMap<UtcDay, TuneFigures> {
        (0..).zip(reached.iter().map(|reached| day(*reached))).collect()
    }

    #[test]
    fn a_gain_on_every_day_is_certain_and_chance_is_not() {
        let gain = |after: &[u64]| Gain::new(&days(&[5; 8]), &days(after), Goal::Balanced, 1);
        assert!(gain(&[6, 7, 6, 7, 8, 6, 7, 6]).is_certain());
        assert!(!gain(&[2, 8, 3, 9, 5, 4, 7, 4]).is_certain());
        assert!(!gain(&[5; 8]).is_certain());
        assert_eq!(gain(&[2, 8, 3, 9, 5, 4, 7, 4]), gain(&[2, 8, 3, 9, 5, 4, 7, 4]));
    }

    #[test]
    fn a_short_history_is_named() {
        let enough =
            TuneFigures { days: 9, messages: 900, questions: 90, ..TuneFigures::default() };
        assert_eq!(lack(&enough, &enough), None);
        let few = TuneFigures { questions: 3, ..enough };
        assert_eq!(
            lack(&enough, &few).unwrap(),
            "there are 3 questions that nobody answered to check with, and it takes 5"
        );
        assert!(lack(&TuneFigures { days: 1, ..enough }, &few).unwrap().contains("1 days"));
    }
}
