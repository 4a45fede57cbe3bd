//! Compares policies on the same history: which is ahead by which measure, and which to take.

use serde::Serialize;

use crate::report::significance;

/// A comparison. Policies are named by their index in the report, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The offered policies. Only these are compared, because each further policy makes the significance test stricter.
    pub offered: Vec<usize>,
    /// Empty if only one policy is offered.
    pub measures: Vec<MeasureComparison>,
    /// The unanswered questions that each policy reaches with a post without a model. `None` for other minds than the
    /// built-in one.
    #[serde(skip)]
    pub posted_picked_up: Option<MeasureComparison>,
    /// `None` if it is unknown how often some of them would have spoken, or if only one is offered.
    pub advice: Option<Advice>,
}

/// A measure by which policies are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The number of posts. Fewer are neither better nor worse.
    Spoke,
    /// Probable interruptions: fewer are better.
    Wrong,
    /// Unanswered questions with a post: more are better.
    PickedUp,
    /// Posts that come before people's answers and would not interrupt: more are better.
    ItFirst,
}

impl Measure {
    /// Converts a count to a rank: smaller is better.
    fn rank(self, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        match self {
            Measure::Spoke | Measure::Wrong => count,
            Measure::PickedUp | Measure::ItFirst => -count,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeasureComparison {
    pub measure: Measure,
    /// The count of each compared policy.
    pub values: Vec<usize>,
    /// The policies that are ahead: the best one, and those that do not differ from it significantly.
    pub ahead: Vec<usize>,
    /// Whether any policy is significantly behind.
    pub is_clear: bool,
}

/// Which policy to take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Advice {
    /// There is no significant difference in any measure.
    Alike,
    /// The data do not support a recommendation.
    Unclear,
    /// These are significantly ahead in some measure, and significantly behind in none.
    Take { policies: Vec<usize> },
    /// Some interrupt less, and others are ahead by this measure.
    Choose { quiet: Vec<usize>, other: Vec<usize>, ahead_in: Measure },
}

impl Advice {
    /// Converts indexes among the offered policies to indexes among all policies.
    pub fn among_all(self, offered: &[usize]) -> Self {
        let among_all = |places: Vec<usize>| {
            places.into_iter().filter_map(|place| offered.get(place).copied()).collect()
        };
        match self {
            Advice::Alike | Advice::Unclear => self,
            Advice::Take { policies } => Advice::Take { policies: among_all(policies) },
            Advice::Choose { quiet, other, ahead_in } => {
                Advice::Choose { quiet: among_all(quiet), other: among_all(other), ahead_in }
            }
        }
    }
}

impl MeasureComparison {
    /// Creates the comparison of a measure. `apart` returns for two policies the number of cases that only the first
    /// one has, and of those that only the second one has.
    pub fn new(
        measure: Measure,
        values: Vec<usize>,
        apart: impl Fn(usize, usize) -> (usize, usize),
    ) -> Self {
        let places = 0..values.len();
        // Any two could have been the best and another one.
        let pairs = values.len() * values.len().saturating_sub(1) / 2;
        let best = places.clone().min_by_key(|place| measure.rank(values[*place])).unwrap_or(0);
        let is_ahead = |place: &usize| {
            let (own, others) = apart(*place, best);
            !significance::differ_among(own, others, pairs)
        };
        let ahead: Vec<usize> = places.filter(is_ahead).collect();
        let is_clear = ahead.len() < values.len();
        Self { measure, values, ahead, is_clear }
    }

    /// Creates a comparison from counts for which the shared cases are unknown.
    pub fn from_counts(measure: Measure, values: Vec<usize>) -> Self {
        let counts = values.clone();
        Self::new(measure, values, |one, other| (counts[one], counts[other]))
    }

    /// Converts indexes among the offered policies to indexes among all policies. The values stay as they are.
    pub fn among_all(self, offered: &[usize]) -> Self {
        let ahead = self.ahead.iter().filter_map(|place| offered.get(*place).copied());
        Self { ahead: ahead.collect(), ..self }
    }

    pub fn best(&self) -> Option<usize> {
        self.values.iter().copied().min_by_key(|count| self.measure.rank(*count))
    }

    pub fn is_ahead(&self, policy: usize) -> bool {
        self.ahead.contains(&policy)
    }

    /// Whether a policy is ahead and close to the best: its count is within a tenth of the best one, or so few cases
    /// apart that a difference could never be significant. That a difference is not significant does not make two
    /// counts equal.
    fn is_level(&self, policy: usize) -> bool {
        let Some((own, best)) = self.values.get(policy).zip(self.best()) else { return false };
        let apart = own.abs_diff(best);
        self.is_ahead(policy) && (apart * 10 <= best || apart < significance::FEWEST_CASES)
    }

    fn is_everybody_level(&self) -> bool {
        (0..self.values.len()).all(|policy| self.is_level(policy))
    }
}

/// Decides which policy to take. Interruptions are weighed against each measure of which more is better.
pub fn advise(measures: &[MeasureComparison]) -> Option<Advice> {
    let find = |measure: Measure| measures.iter().find(|one| one.measure == measure);
    let quiet = find(Measure::Wrong)?;
    let gains = [Measure::PickedUp, Measure::ItFirst].into_iter().filter_map(find);
    let gains: Vec<&MeasureComparison> = gains.collect();
    let is_against = |gain: &&&MeasureComparison| {
        let is_clear = quiet.is_clear && gain.is_clear;
        is_clear && !gain.ahead.iter().any(|policy| quiet.is_ahead(*policy))
    };
    if let Some(gain) = gains.iter().find(is_against) {
        let (quiet, other) = (quiet.ahead.clone(), gain.ahead.clone());
        return Some(Advice::Choose { quiet, other, ahead_in: gain.measure });
    }
    let all = || gains.iter().copied().chain([quiet]);
    let policies: Vec<usize> =
        (0..quiet.values.len()).filter(|policy| all().all(|one| one.is_level(*policy))).collect();
    Some(match () {
        () if all().all(|one| !one.is_clear && one.is_everybody_level()) => Advice::Alike,
        () if policies.is_empty() || all().all(|one| !one.is_clear) => Advice::Unclear,
        () => Advice::Take { policies },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(measure: Measure, values: &[usize]) -> MeasureComparison {
        MeasureComparison::from_counts(measure, values.to_vec())
    }

    #[test]
    fn the_best_and_what_chance_may_tell_from_it_are_ahead() {
        let wrong = counts(Measure::Wrong, &[270, 96, 90]);
        assert_eq!((&wrong.ahead[..], wrong.is_clear, wrong.best()), (&[1, 2][..], true, Some(90)));
        let picked_up = counts(Measure::PickedUp, &[279, 273, 120]);
        assert_eq!((&picked_up.ahead[..], picked_up.is_clear), (&[0, 1][..], true));
        let alike = counts(Measure::PickedUp, &[279, 273]);
        assert_eq!((&alike.ahead[..], alike.is_clear), (&[0, 1][..], false));
        // What both reach says nothing about which is ahead.
        let apart = |one: usize, other: usize| if one == other { (0, 0) } else { (1, 9) };
        let paired = MeasureComparison::new(Measure::PickedUp, vec![101, 109], apart);
        assert_eq!(paired.ahead, [1]);
    }

    #[test]
    fn with_more_policies_a_difference_must_be_larger() {
        assert!(counts(Measure::Wrong, &[6, 0]).is_clear);
        assert!(!counts(Measure::Wrong, &[6, 0, 0, 0]).is_clear);
        assert!(counts(Measure::Wrong, &[60, 0, 0, 0]).is_clear);
    }

    #[test]
    fn a_policy_is_advised_only_where_the_data_support_it() {
        let advice = |wrong: &[usize], picked_up: &[usize], first: &[usize]| {
            advise(&[
                counts(Measure::Wrong, wrong),
                counts(Measure::PickedUp, picked_up),
                counts(Measure::ItFirst, first),
            ])
        };
        let choose = |ahead_in| Advice::Choose { quiet: vec![1], other: vec![0], ahead_in };
        assert_eq!(advice(&[270, 270], &[279, 273], &[900, 900]), Some(Advice::Alike));
        // So few cases settle nothing, whichever way they fall.
        assert_eq!(advice(&[2, 1], &[3, 3], &[4, 4]), Some(Advice::Alike));
        assert_eq!(advice(&[20, 10], &[3, 3], &[4, 4]), Some(Advice::Unclear));
        assert_eq!(
            advice(&[270, 96], &[279, 273], &[900, 890]),
            Some(Advice::Take { policies: vec![1] })
        );
        assert_eq!(advice(&[270, 96], &[279, 120], &[900, 300]), Some(choose(Measure::PickedUp)));
        assert_eq!(advice(&[270, 96], &[279, 273], &[900, 300]), Some(choose(Measure::ItFirst)));
        // … nor do they stand against a clear difference. More of them do.
        assert_eq!(advice(&[78, 0], &[5, 5], &[2, 0]), Some(Advice::Take { policies: vec![1] }));
        assert_eq!(advice(&[270, 0], &[30, 22], &[40, 40]), Some(Advice::Unclear));
        assert_eq!(advise(&[counts(Measure::Spoke, &[3, 4])]), None);
        assert_eq!(
            advise(&[counts(Measure::Wrong, &[270, 96])]),
            Some(Advice::Take { policies: vec![1] })
        );
    }
}
