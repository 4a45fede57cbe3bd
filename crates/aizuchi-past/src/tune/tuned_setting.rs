//! The settings that the search changes, each with a handful of values.

use aizuchi_config::response::{JudgeGate, ResponseConfig};
use aizuchi_config::values::{Ratio, Seconds};
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::PostTiming;

use crate::replay::Policy;

/// The value of [`TunedSetting::Wait`] where the wait is not fixed. A fixed wait may be 0.
pub const ADAPTIVE: f64 = -1.0;
/// With at least this `max_share`, the gate `share` never closes in a replay, because each post follows a message by a
/// human user.
const REACHABLE_SHARE: f64 = 0.5;

/// A setting of the `response` section.
///
/// The search leaves out the settings whose effect a replay cannot measure. The gate `unchanged`
/// settles only decisions without new content, and in a replay, only a new message leads to a judgment: messages are
/// neither edited nor deleted there, and no judge of a search asks for a second look, unless a recorded answer does.
/// How a post feels, which is what `timing` is for, is in no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunedSetting {
    MinWait,
    /// The strategy, together with the length of a fixed wait, because a wait that is long for one strategy is short
    /// for the other.
    Wait,
    Cooldown,
    MinConfidence,
    Gate(JudgeGate),
    MinWaitFloor,
    Jitter,
    MaxWait,
    MaxDelay,
}

impl TunedSetting {
    /// In the order in which the search changes them: those with the greatest effect come first. The gates are next to
    /// each other.
    pub const ALL: [TunedSetting; 12] = [
        TunedSetting::MinWait,
        TunedSetting::Wait,
        TunedSetting::Cooldown,
        TunedSetting::MinConfidence,
        TunedSetting::Gate(JudgeGate::NothingOpen),
        TunedSetting::Gate(JudgeGate::Directed),
        TunedSetting::Gate(JudgeGate::Cooldown),
        TunedSetting::Gate(JudgeGate::Share),
        TunedSetting::MinWaitFloor,
        TunedSetting::Jitter,
        TunedSetting::MaxWait,
        TunedSetting::MaxDelay,
    ];

    /// Returns the key in the config.
    pub fn name(self) -> &'static str {
        self.key_and_values().0
    }

    /// Returns the values to try, in seconds or as a share. For a gate, 1 is on and 0 is off. For the strategy,
    /// [`ADAPTIVE`] or the seconds of a fixed wait.
    pub fn values(self) -> &'static [f64] {
        self.key_and_values().1
    }

    fn key_and_values(self) -> (&'static str, &'static [f64]) {
        match self {
            TunedSetting::MinWait => ("min_wait_seconds", &[60.0, 120.0, 300.0, 600.0]),
            TunedSetting::Wait => ("wait", &[ADAPTIVE, 30.0, 60.0, 120.0, 300.0, 600.0]),
            TunedSetting::Cooldown => ("cooldown_seconds", &[0.0, 300.0, 900.0, 3600.0]),
            TunedSetting::MinConfidence => ("min_confidence", &[0.0, 0.5, 0.6, 0.7, 0.8, 0.9]),
            TunedSetting::Gate(_) => ("gates", &[0.0, 1.0]),
            TunedSetting::MinWaitFloor => ("min_wait_floor_seconds", &[5.0, 15.0, 60.0]),
            TunedSetting::Jitter => ("jitter_ratio", &[0.0, 0.3]),
            TunedSetting::MaxWait => ("max_wait_seconds", &[900.0, 3600.0, 7200.0]),
            TunedSetting::MaxDelay => ("max_delay_seconds", &[600.0, 1800.0, 3600.0]),
        }
    }

    /// Returns the value in force.
    pub fn value(self, policy: &Policy) -> f64 {
        let response = &policy.config.response;
        let min_wait = || policy.config.wait_settings().min_wait_seconds;
        match self {
            TunedSetting::MinWait => min_wait(),
            TunedSetting::Wait => match response.wait {
                WaitStrategy::Adaptive => ADAPTIVE,
                WaitStrategy::Fixed => min_wait(),
            },
            TunedSetting::Cooldown => response.cooldown_seconds.0,
            TunedSetting::MinConfidence => response.min_confidence.0,
            TunedSetting::Gate(gate) => f64::from(u8::from(response.gates.contains(&gate))),
            TunedSetting::MinWaitFloor => response.min_wait_floor_seconds.0,
            TunedSetting::Jitter => response.jitter_ratio.0,
            TunedSetting::MaxWait => response.max_wait_seconds.0,
            TunedSetting::MaxDelay => response.max_delay_seconds.0,
        }
    }

    pub fn set(self, policy: &mut Policy, value: f64) {
        let response = &mut policy.config.response;
        match self {
            TunedSetting::MinWait => response.min_wait_seconds = Some(Seconds(value)),
            TunedSetting::Wait if value < 0.0 => response.wait = WaitStrategy::Adaptive,
            TunedSetting::Wait => {
                response.wait = WaitStrategy::Fixed;
                response.min_wait_seconds = Some(Seconds(value));
            }
            TunedSetting::Cooldown => {
                response.cooldown_seconds = Seconds(value);
                // Without the gate, a cooldown has no effect.
                if value > 0.0 {
                    turn_on(&mut response.gates, JudgeGate::Cooldown);
                }
            }
            TunedSetting::MinConfidence => response.min_confidence = Ratio(value),
            TunedSetting::Gate(gate) if value > 0.0 => turn_on(&mut response.gates, gate),
            TunedSetting::Gate(gate) => response.gates.retain(|other| *other != gate),
            TunedSetting::MinWaitFloor => response.min_wait_floor_seconds = Seconds(value),
            TunedSetting::Jitter => response.jitter_ratio = Ratio(value),
            TunedSetting::MaxWait => response.max_wait_seconds = Seconds(value),
            TunedSetting::MaxDelay => response.max_delay_seconds = Seconds(value),
        }
    }

    /// Returns the policy with this value. `None` if the config does not allow it in combination with the other
    /// settings.
    pub fn turned(self, policy: &Policy, value: f64) -> Option<Policy> {
        let mut turned = policy.clone();
        self.set(&mut turned, value);
        let response = &turned.config.response;
        let is_wait =
            matches!(self, TunedSetting::MinWait | TunedSetting::Wait | TunedSetting::MaxWait);
        let is_too_long =
            response.min_wait_seconds.is_some_and(|min| min.0 > response.max_wait_seconds.0);
        (!(is_wait && is_too_long)).then_some(turned)
    }

    /// Whether another value may have an effect while the other settings stay the same.
    pub fn has_effect(self, policy: &Policy) -> bool {
        let response = &policy.config.response;
        let book = policy.config.rulebook();
        let mut rules = book.all_rules();
        match self {
            TunedSetting::MinWaitFloor => response.wait == WaitStrategy::Adaptive,
            TunedSetting::Jitter => response.wait == WaitStrategy::Fixed,
            // No judge of a search asks for a delay.
            TunedSetting::MaxDelay => response.timing() == PostTiming::HumanLike,
            TunedSetting::Gate(JudgeGate::Cooldown) => {
                rules.any(|rules| rules.cooldown_for(rules.mode).is_positive())
            }
            TunedSetting::Gate(JudgeGate::Share) => {
                rules.any(|rules| rules.max_share < REACHABLE_SHARE)
            }
            TunedSetting::Gate(JudgeGate::Unchanged) => false,
            TunedSetting::Gate(JudgeGate::Directed | JudgeGate::NothingOpen)
            | TunedSetting::MinWait
            | TunedSetting::Wait
            | TunedSetting::Cooldown
            | TunedSetting::MinConfidence
            | TunedSetting::MaxWait => true,
        }
    }

    /// Returns the line of the `response` section that sets this setting. All gates share one line.
    pub fn to_yaml(self, policy: &Policy) -> String {
        let response = &policy.config.response;
        let value = match self {
            TunedSetting::Wait => match (response.wait, response.timing) {
                (WaitStrategy::Adaptive, _) => "adaptive".to_owned(),
                (WaitStrategy::Fixed, Some(_)) => "fixed".to_owned(),
                (WaitStrategy::Fixed, None) => {
                    "fixed # posts at once, as timing is not set".to_owned()
                }
            },
            TunedSetting::Gate(_) => {
                let gates = response.gates.iter().map(|gate| gate.rule().name());
                format!("[{}]", gates.collect::<Vec<&str>>().join(", "))
            }
            number => number.value(policy).to_string(),
        };
        format!("{}: {value}", self.name())
    }

    /// Returns the `response` section that sets `settings`, which must be in the order of [`Self::ALL`].
    pub fn section(settings: &[TunedSetting], policy: &Policy) -> String {
        let lines = settings.iter().map(|setting| format!("  {}\n", setting.to_yaml(policy)));
        let mut lines: Vec<String> = lines.collect();
        // All gates are in one list.
        lines.dedup();
        format!("response:\n{}", lines.concat())
    }
}

/// Restores the order that `base` has for the gates that are on, because turning a gate off and on may have moved it.
pub fn restore_gate_order(policy: &mut Policy, base: &Policy) {
    let (gates, before) = (&mut policy.config.response.gates, &base.config.response.gates);
    let kept = before.iter().copied().filter(|gate| gates.contains(gate)).collect();
    let found = std::mem::replace(gates, kept);
    found.into_iter().for_each(|gate| turn_on(gates, gate));
}

/// Turns on a gate, at its position in the default list.
fn turn_on(gates: &mut Vec<JudgeGate>, gate: JudgeGate) {
    if gates.contains(&gate) {
        return;
    }
    let order = ResponseConfig::default().gates;
    let rank = |gate: &JudgeGate| order.iter().position(|other| other == gate);
    let place = gates.iter().position(|other| rank(other) > rank(&gate));
    gates.insert(place.unwrap_or(gates.len()), gate);
}

#[cfg(test)]
mod tests {
    use aizuchi_config::Config;
    use aizuchi_config::values::TimingSetting;

    use super::*;

    fn policy(config: &str) -> Policy {
        let config = Config::parse(config).unwrap();
        Policy { config, ..Policy::default_settings() }
    }

    #[test]
    fn what_is_set_is_in_force() {
        for setting in TunedSetting::ALL {
            for value in setting.values() {
                for mut policy in [
                    Policy::default_settings(),
                    policy("response: {wait: fixed, min_wait_seconds: 45, gates: []}"),
                ] {
                    setting.set(&mut policy, *value);
                    assert_eq!(setting.value(&policy), *value, "{setting:?}");
                    let section = TunedSetting::section(&[setting], &policy);
                    let read = Config::parse(&section).unwrap();
                    let read =
                        TunedSetting::section(&[setting], &Policy { config: read, ..policy });
                    assert_eq!(read, section, "{setting:?}");
                }
            }
        }
    }

    #[test]
    fn each_gate_has_its_place() {
        use JudgeGate::{Cooldown, Directed, NothingOpen, Share, Unchanged};
        let mut policy = Policy::default_settings();
        let default = policy.config.response.gates.clone();
        for gate in default.clone() {
            TunedSetting::Gate(gate).set(&mut policy, 0.0);
            assert_eq!(policy.config.response.gates.len(), default.len() - 1);
            TunedSetting::Gate(gate).set(&mut policy, 1.0);
            TunedSetting::Gate(gate).set(&mut policy, 1.0);
            assert_eq!(policy.config.response.gates, default, "{gate:?}");
        }
        for (gates, gate, expected) in [
            (vec![], Share, vec![Share]),
            (vec![Share], Directed, vec![Directed, Share]),
            (vec![Directed], Cooldown, vec![Directed, Cooldown]),
            (vec![Directed, Share], NothingOpen, vec![Directed, NothingOpen, Share]),
            // A custom order is kept.
            (vec![Share, Directed], Cooldown, vec![Cooldown, Share, Directed]),
            (vec![NothingOpen, Unchanged], Share, vec![NothingOpen, Unchanged, Share]),
        ] {
            policy.config.response.gates.clone_from(&gates);
            TunedSetting::Gate(gate).set(&mut policy, 1.0);
            assert_eq!(policy.config.response.gates, expected, "{gates:?} {gate:?}");
        }
    }

    #[test]
    fn an_order_of_ones_own_stays() {
        use JudgeGate::{Cooldown, Directed, NothingOpen, Share};
        let mut base = Policy::default_settings();
        base.config.response.gates = vec![Share, Directed, NothingOpen];
        let mut found = base.clone();
        for (gate, value) in [(Directed, 0.0), (Directed, 1.0), (Cooldown, 1.0), (NothingOpen, 0.0)]
        {
            TunedSetting::Gate(gate).set(&mut found, value);
        }
        assert_eq!(found.config.response.gates, [Directed, Cooldown, Share]);
        restore_gate_order(&mut found, &base);
        assert_eq!(found.config.response.gates, [Cooldown, Share, Directed]);
    }

    #[test]
    fn a_cooldown_turns_its_gate_on() {
        let mut policy = policy("response: {gates: [directed, share]}");
        TunedSetting::Cooldown.set(&mut policy, 0.0);
        assert_eq!(TunedSetting::Gate(JudgeGate::Cooldown).value(&policy), 0.0);
        TunedSetting::Cooldown.set(&mut policy, 900.0);
        let settings = [
            TunedSetting::Cooldown,
            TunedSetting::Gate(JudgeGate::NothingOpen),
            TunedSetting::Gate(JudgeGate::Cooldown),
            TunedSetting::MaxWait,
        ];
        let expected = "response:\n  cooldown_seconds: 900\n  gates: [directed, cooldown, share]\n  max_wait_seconds: 3600\n";
        assert_eq!(TunedSetting::section(&settings, &policy), expected);
    }

    #[test]
    fn what_has_no_effect_beside_the_others_is_known() {
        let without = |config: &str| {
            let policy = policy(config);
            let settings =
                TunedSetting::ALL.into_iter().filter(|setting| !setting.has_effect(&policy));
            settings.collect::<Vec<TunedSetting>>()
        };
        let (cooldown, share) =
            (TunedSetting::Gate(JudgeGate::Cooldown), TunedSetting::Gate(JudgeGate::Share));
        for (config, expected) in [
            ("", vec![cooldown, share, TunedSetting::Jitter]),
            (
                "response: {timing: plain}",
                vec![cooldown, share, TunedSetting::Jitter, TunedSetting::MaxDelay],
            ),
            (
                "response: {wait: fixed}",
                vec![cooldown, share, TunedSetting::MinWaitFloor, TunedSetting::MaxDelay],
            ),
            (
                "response: {wait: fixed, timing: human}",
                vec![cooldown, share, TunedSetting::MinWaitFloor],
            ),
            ("response: {cooldown_seconds: 60, max_share: 0.3}", vec![TunedSetting::Jitter]),
            ("channels: {porch: {cooldown_seconds: 60}}", vec![share, TunedSetting::Jitter]),
            ("response: {mode: facilitator}", vec![share, TunedSetting::Jitter]),
        ] {
            assert_eq!(without(config), expected, "{config}");
        }
    }

    #[test]
    fn no_value_is_tried_that_a_config_may_not_have() {
        let hasty = policy("response: {max_wait_seconds: 100}");
        assert!(TunedSetting::MinWait.turned(&hasty, 60.0).is_some());
        assert!(TunedSetting::MinWait.turned(&hasty, 120.0).is_none());
        assert!(TunedSetting::Wait.turned(&hasty, 120.0).is_none());
        assert!(TunedSetting::Wait.turned(&hasty, 60.0).is_some());
        let slow = policy("response: {min_wait_seconds: 1000}");
        assert!(TunedSetting::MaxWait.turned(&slow, 900.0).is_none());
        assert!(TunedSetting::MinConfidence.turned(&slow, 0.9).is_some());
    }

    #[test]
    fn a_fixed_wait_says_what_else_it_means() {
        let mut policy = Policy::default_settings();
        TunedSetting::Wait.set(&mut policy, 60.0);
        let line = TunedSetting::Wait.to_yaml(&policy);
        assert_eq!(line, "wait: fixed # posts at once, as timing is not set");
        policy.config.response.timing = Some(TimingSetting::Human);
        assert_eq!(TunedSetting::Wait.to_yaml(&policy), "wait: fixed");
        assert_eq!(TunedSetting::MinWait.to_yaml(&policy), "min_wait_seconds: 60");
    }
}
