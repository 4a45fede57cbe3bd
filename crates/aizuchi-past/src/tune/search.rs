//! Coordinate descent: one setting after another takes the value with the best figures, until none improves them.
//! Changes that later ones have made unnecessary are reverted. If there are many messages, a part of them decides first
//! which value is worth a full replay.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::replay::Policy;
use crate::tune::figures::{TuneFigures, UtcDay, share};
use crate::tune::tuned_setting::{TunedSetting, restore_gate_order};

/// The maximum number of passes over all settings.
const MAX_ROUNDS: usize = 2;
/// The gain above which a setting is changed.
const MIN_GAIN: f64 = 0.005;

/// The goal of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Seldom speaks, and hardly ever interrupts.
    Quiet,
    Balanced,
    /// Reaches questions that nobody answered, even if it speaks more often.
    Helpful,
}

impl Goal {
    /// Returns the utility of figures. A question that is reached is a gain; a post, a post into an active exchange and
    /// a judge call have a cost. All of them are per message.
    pub fn utility(self, figures: &TuneFigures) -> f64 {
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

/// How much of the training data is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// The newest days of the training data.
    Coarse,
    Whole,
}

/// The best settings that the search found.
pub struct BestSettings {
    pub policy: Policy,
    /// The settings that differ from the initial ones.
    pub changed: Vec<TunedSetting>,
    /// The number of settings that were tried.
    pub tried: usize,
}

/// Returns the approximate maximum number of replays of a search, for its progress.
pub fn max_replays() -> u64 {
    let values: usize = TunedSetting::ALL.iter().map(|setting| setting.values().len()).sum();
    (2 + (values + TunedSetting::ALL.len()) * MAX_ROUNDS + TunedSetting::ALL.len()) as u64
}

/// Replays the days of the training data.
pub type MeasureDays<'m> =
    &'m mut dyn FnMut(&Policy, Fidelity) -> anyhow::Result<BTreeMap<UtcDay, TuneFigures>>;

/// The measurements so far.
struct UtilityCache<'m> {
    goal: Goal,
    measure: MeasureDays<'m>,
    utilities: BTreeMap<(Fidelity, Vec<u64>), f64>,
}

impl UtilityCache<'_> {
    fn utility(&mut self, policy: &Policy, fidelity: Fidelity) -> anyhow::Result<f64> {
        let values =
            TunedSetting::ALL.iter().map(|setting| setting.value(policy).to_bits()).collect();
        let key = (fidelity, values);
        if let Some(utility) = self.utilities.get(&key) {
            return Ok(*utility);
        }
        let days = (self.measure)(policy, fidelity)?;
        let utility = self.goal.utility(&TuneFigures::sum(days.values()));
        self.utilities.insert(key, utility);
        Ok(utility)
    }

    /// Returns the number of settings that were measured.
    fn tried(&self) -> usize {
        self.utilities.keys().map(|(_, values)| values).collect::<BTreeSet<_>>().len()
    }

    /// Returns the policy with the value of a setting that promises the greatest gain, if any does.
    fn most_promising(
        &mut self,
        setting: TunedSetting,
        best: &Policy,
        fidelity: Fidelity,
    ) -> anyhow::Result<Option<Policy>> {
        let mut most = self.utility(best, fidelity)?;
        let mut winner = None;
        for value in setting.values() {
            let Some(candidate) = setting.turned(best, *value) else { continue };
            let utility = self.utility(&candidate, fidelity)?;
            if utility > most + MIN_GAIN {
                most = utility;
                winner = Some(candidate);
            }
        }
        Ok(winner)
    }

    /// Returns the result without the changes that others have made unnecessary. A revert may make another change
    /// unnecessary: the length of a fixed wait matters until the wait is adaptive again.
    fn without_needless(&mut self, found: &Policy, base: &Policy) -> anyhow::Result<Policy> {
        let least = self.utility(found, Fidelity::Whole)? - MIN_GAIN;
        let mut best = found.clone();
        loop {
            let mut is_changed = false;
            for setting in TunedSetting::ALL {
                let before = setting.value(base);
                if setting.value(&best) == before {
                    continue;
                }
                let Some(candidate) = setting.turned(&best, before) else { continue };
                if self.utility(&candidate, Fidelity::Whole)? >= least {
                    best = candidate;
                    is_changed = true;
                }
            }
            if !is_changed {
                return Ok(best);
            }
        }
    }
}

/// Searches, starting from `base`. The data of the fidelity `first` decides which value of a setting is replayed in full.
pub fn search(
    base: &Policy,
    goal: Goal,
    first: Fidelity,
    measure: MeasureDays<'_>,
) -> anyhow::Result<BestSettings> {
    let mut measured = UtilityCache { goal, measure, utilities: BTreeMap::new() };
    let mut best = base.clone();
    for _ in 0..MAX_ROUNDS {
        let mut has_changed = false;
        for setting in TunedSetting::ALL {
            if !setting.has_effect(&best) {
                continue;
            }
            let Some(candidate) = measured.most_promising(setting, &best, first)? else { continue };
            let before = measured.utility(&best, Fidelity::Whole)?;
            if measured.utility(&candidate, Fidelity::Whole)? > before + MIN_GAIN {
                best = candidate;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    let mut policy = measured.without_needless(&best, base)?;
    restore_gate_order(&mut policy, base);
    let is_changed = |setting: &TunedSetting| {
        // If only the seconds of a fixed wait differ, another setting shows the change.
        setting.value(&policy) != setting.value(base)
            && setting.to_yaml(&policy) != setting.to_yaml(base)
    };
    let changed = TunedSetting::ALL.into_iter().filter(is_changed).collect();
    Ok(BestSettings { policy, changed, tried: measured.tried() })
}

#[cfg(test)]
mod tests {
    use aizuchi_config::response::JudgeGate;
    use aizuchi_model::rhythm::WaitStrategy;

    use super::*;
    use crate::tune::tuned_setting::ADAPTIVE;

    /// Figures in which the cooldown costs questions and the wait costs calls.
    fn figures(policy: &Policy) -> BTreeMap<UtcDay, TuneFigures> {
        let cooldown = TunedSetting::Cooldown.value(policy);
        let wait = TunedSetting::MinWait.value(policy);
        let figures = TuneFigures {
            days: 1,
            messages: 1000,
            calls: 60_000 / wait as u64,
            questions: 100,
            reached_questions: if cooldown > 300.0 { 20 } else { 60 },
            ..TuneFigures::default()
        };
        BTreeMap::from([(0, figures)])
    }

    #[test]
    fn each_setting_takes_its_best_value() {
        let mut base = Policy::default_settings();
        TunedSetting::Cooldown.set(&mut base, 3600.0);
        TunedSetting::MinWait.set(&mut base, 60.0);
        let mut replays = 0;
        let found = search(&base, Goal::Balanced, Fidelity::Whole, &mut |policy, _| {
            replays += 1;
            Ok(figures(policy))
        })
        .unwrap();
        assert_eq!(found.changed, [TunedSetting::MinWait, TunedSetting::Cooldown]);
        let value = |setting: TunedSetting| setting.value(&found.policy);
        assert_eq!((value(TunedSetting::MinWait), value(TunedSetting::Cooldown)), (600.0, 0.0));
        assert_eq!(replays, found.tried, "no settings are measured twice");
        assert!(found.tried as u64 <= max_replays());
    }

    #[test]
    fn settings_without_an_effect_stay() {
        let base = Policy::default_settings();
        let same = TuneFigures { days: 1, messages: 10, ..TuneFigures::default() };
        let mut measure = |_: &Policy, _| Ok(BTreeMap::from([(0, same)]));
        let found = search(&base, Goal::Quiet, Fidelity::Whole, &mut measure).unwrap();
        assert_eq!(found.changed, []);
    }

    #[test]
    fn what_has_no_effect_is_not_replayed() {
        for wait in [ADAPTIVE, 300.0] {
            let mut base = Policy::default_settings();
            TunedSetting::Wait.set(&mut base, wait);
            let unchanged = |setting: TunedSetting, policy: &Policy| {
                setting.value(policy) == setting.value(&base)
            };
            let mut replays = 0;
            let found = search(&base, Goal::Balanced, Fidelity::Whole, &mut |policy, _| {
                replays += 1;
                match policy.config.response.wait {
                    WaitStrategy::Adaptive => assert!(unchanged(TunedSetting::Jitter, policy)),
                    WaitStrategy::Fixed => assert!(unchanged(TunedSetting::MinWaitFloor, policy)),
                }
                let gate = JudgeGate::Cooldown;
                let has_cooldown = TunedSetting::Cooldown.value(policy) > 0.0;
                assert!(has_cooldown || unchanged(TunedSetting::Gate(gate), policy));
                Ok(figures(policy))
            })
            .unwrap();
            let values = |setting: &TunedSetting| setting.values().len();
            let all: usize = TunedSetting::ALL.iter().map(values).sum();
            assert!(replays < all && found.tried == replays, "{replays} of {all}");
        }
    }

    #[test]
    fn what_a_later_change_makes_needless_is_taken_back() {
        // Other waits seem to help until the cooldown is gone.
        let mut base = Policy::default_settings();
        TunedSetting::Cooldown.set(&mut base, 3600.0);
        let found = search(&base, Goal::Balanced, Fidelity::Whole, &mut |policy, _| {
            let is_free = TunedSetting::Cooldown.value(policy) == 0.0;
            let is_fixed = TunedSetting::Wait.value(policy) == 60.0;
            let reached_questions = match (is_free, is_fixed) {
                (true, _) => 60,
                (false, true) => 30,
                (false, false) => 20,
            };
            let figures = TuneFigures {
                days: 1,
                messages: 1000,
                questions: 100,
                reached_questions,
                ..TuneFigures::default()
            };
            Ok(BTreeMap::from([(0, figures)]))
        })
        .unwrap();
        assert_eq!(found.changed, [TunedSetting::Cooldown]);
        assert_eq!(TunedSetting::Wait.value(&found.policy), ADAPTIVE);
    }

    #[test]
    fn a_fixed_wait_of_another_length_is_one_change() {
        let mut base = Policy::default_settings();
        TunedSetting::Wait.set(&mut base, 60.0);
        let found = search(&base, Goal::Balanced, Fidelity::Whole, &mut |policy, _| {
            let mut days = figures(policy);
            let is_fixed = policy.config.response.wait == WaitStrategy::Fixed;
            days.get_mut(&0).unwrap().posts = if is_fixed { 0 } else { 500 };
            Ok(days)
        })
        .unwrap();
        assert_eq!(found.changed, [TunedSetting::MinWait]);
        let section = TunedSetting::section(&found.changed, &found.policy);
        assert_eq!(section, "response:\n  min_wait_seconds: 600\n");
    }

    #[test]
    fn only_what_promises_something_on_a_few_days_is_replayed_as_a_whole() {
        let mut base = Policy::default_settings();
        TunedSetting::Cooldown.set(&mut base, 3600.0);
        TunedSetting::MinWait.set(&mut base, 60.0);
        let (mut coarse, mut whole) = (0, 0);
        let found = search(&base, Goal::Balanced, Fidelity::Coarse, &mut |policy, fidelity| {
            // The newest days do not show what the wait costs, and seem to gain from another floor.
            let floor = TunedSetting::MinWaitFloor.value(policy);
            let mut days = figures(policy);
            let day = days.get_mut(&0).unwrap();
            match fidelity {
                Fidelity::Coarse => {
                    coarse += 1;
                    day.calls = if floor < 15.0 { 0 } else { 100 };
                }
                Fidelity::Whole => whole += 1,
            }
            Ok(days)
        })
        .unwrap();
        assert_eq!(found.changed, [TunedSetting::Cooldown]);
        assert!(whole <= 5 && coarse > 4 * whole, "{coarse} {whole}");
    }
}
