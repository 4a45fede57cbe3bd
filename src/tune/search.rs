//! Coordinate descent: one setting after the other takes the value with the best figures, until none does better.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::replay::Policy;
use crate::tune::figures::{Day, Figures, share};
use crate::tune::knobs::Knob;

/// How often all settings are gone through.
const MAX_ROUNDS: usize = 2;
/// What a setting must gain to be changed.
const MIN_GAIN: f64 = 0.005;

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Seldom heard, and hardly ever in the way.
    Quiet,
    Balanced,
    /// Reaches questions that nobody answered, even if it is heard more often.
    Helpful,
}

impl Goal {
    /// How good figures are. A question that is reached is a gain; a post, a post into an active exchange and a call of the
    /// judge have a price, each for a message.
    pub fn utility(self, figures: &Figures) -> f64 {
        let (reached, post, in_exchange, call) = match self {
            Goal::Quiet => (0.5, 4.0, 12.0, 0.3),
            Goal::Balanced => (1.0, 1.0, 6.0, 0.5),
            Goal::Helpful => (2.0, 0.3, 3.0, 0.2),
        };
        let per_message = |count: u64| share(count, figures.messages).unwrap_or(0.0);
        reached * figures.reached_share().unwrap_or(0.0)
            - post * per_message(figures.posts)
            - in_exchange * per_message(figures.posts_in_exchange)
            - call * per_message(figures.calls)
    }
}

/// The best settings that the search found.
pub struct Found {
    pub policy: Policy,
    /// The settings that differ from those that it began with.
    pub changed: Vec<Knob>,
    /// How many settings were tried.
    pub tried: usize,
}

/// The number of replays that a search takes at most, for its progress.
pub fn max_replays() -> u64 {
    let values: usize = Knob::ALL.iter().map(|knob| knob.values().len()).sum();
    (1 + values * MAX_ROUNDS) as u64
}

/// Searches from these settings on. `measure` replays the days that may be learned from.
pub fn search(
    base: &Policy,
    goal: Goal,
    measure: &mut dyn FnMut(&Policy) -> anyhow::Result<BTreeMap<Day, Figures>>,
) -> anyhow::Result<Found> {
    let mut known: BTreeMap<Vec<u64>, f64> = BTreeMap::new();
    let mut utility_of = |policy: &Policy| -> anyhow::Result<(f64, usize)> {
        let key: Vec<u64> = Knob::ALL.iter().map(|knob| knob.value(policy).to_bits()).collect();
        if let Some(utility) = known.get(&key) {
            return Ok((*utility, known.len()));
        }
        let utility = goal.utility(&Figures::sum(measure(policy)?.values()));
        known.insert(key, utility);
        Ok((utility, known.len()))
    };
    let mut best = base.clone();
    let (mut best_utility, mut tried) = utility_of(&best)?;
    for _ in 0..MAX_ROUNDS {
        let mut has_changed = false;
        for knob in Knob::ALL {
            let mut winner = None;
            for value in knob.values() {
                let mut candidate = best.clone();
                knob.set(&mut candidate, *value);
                let utility;
                (utility, tried) = utility_of(&candidate)?;
                if utility > best_utility + MIN_GAIN {
                    best_utility = utility;
                    winner = Some(candidate);
                }
            }
            has_changed |= winner.is_some();
            best = winner.unwrap_or(best);
        }
        if !has_changed {
            break;
        }
    }
    let is_changed = |knob: &Knob| knob.value(&best) != knob.value(base);
    let changed = Knob::ALL.into_iter().filter(is_changed).collect();
    Ok(Found { policy: best, changed, tried })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures in which the cooldown costs questions and the wait costs calls.
    fn figures(policy: &Policy) -> BTreeMap<Day, Figures> {
        let cooldown = Knob::Cooldown.value(policy);
        let wait = Knob::MinWait.value(policy);
        let figures = Figures {
            days: 1,
            messages: 1000,
            calls: 60_000 / wait as u64,
            questions: 100,
            reached_questions: if cooldown > 300.0 { 20 } else { 60 },
            ..Figures::default()
        };
        BTreeMap::from([(0, figures)])
    }

    #[test]
    fn each_setting_takes_its_best_value() {
        let mut base = Policy::default_settings();
        Knob::Cooldown.set(&mut base, 3600.0);
        Knob::MinWait.set(&mut base, 60.0);
        let mut replays = 0;
        let found = search(&base, Goal::Balanced, &mut |policy| {
            replays += 1;
            Ok(figures(policy))
        })
        .unwrap();
        assert_eq!(found.changed, [Knob::MinWait, Knob::Cooldown]);
        let value = |knob: Knob| knob.value(&found.policy);
        assert_eq!((value(Knob::MinWait), value(Knob::Cooldown)), (600.0, 0.0));
        assert_eq!(replays, found.tried, "no settings are measured twice");
        assert!(found.tried as u64 <= max_replays());
    }

    #[test]
    fn settings_without_an_effect_stay() {
        let base = Policy::default_settings();
        let same = Figures { days: 1, messages: 10, ..Figures::default() };
        let found = search(&base, Goal::Quiet, &mut |_| Ok(BTreeMap::from([(0, same)]))).unwrap();
        assert_eq!(found.changed, []);
    }
}
