//! The settings that the search turns, each with a handful of values.

use crate::config::response::{JudgeGate, ResponseConfig};
use crate::config::values::{Ratio, Seconds};
use crate::replay::Policy;
use aizuchi_core::rhythm::WaitStrategy;
use aizuchi_core::rules::PostTiming;

/// The value of [`Knob::Wait`] where the wait is not fixed. A fixed wait may be 0.
pub const ADAPTIVE: f64 = -1.0;
/// With a `max_share` of this or more the gate `share` does not close in a replay: each post follows a message by a person.
const REACHABLE_SHARE: f64 = 0.5;

/// A setting of the `response` section.
///
/// The search leaves out what a replay cannot tell. The gates `spoke_last` and `unchanged` settle only what holds nothing
/// new, and in a replay a new message is all that leads to a judgment: nobody edits or deletes there, and no judge of a
/// search asks for a second look, unless a recorded answer does. How a post feels, which is what `timing` is for, is in no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    MinWait,
    /// The strategy. If it is a fixed wait, how long that is belongs to it: what is long for one is short for the other.
    Wait,
    Cooldown,
    MinConfidence,
    Gate(JudgeGate),
    MinWaitFloor,
    Jitter,
    MaxWait,
    MaxDelay,
}

impl Knob {
    /// In the order in which the search turns them: what changes most comes first. The gates are next to each other.
    pub const ALL: [Knob; 12] = [
        Knob::MinWait,
        Knob::Wait,
        Knob::Cooldown,
        Knob::MinConfidence,
        Knob::Gate(JudgeGate::NothingOpen),
        Knob::Gate(JudgeGate::Directed),
        Knob::Gate(JudgeGate::Cooldown),
        Knob::Gate(JudgeGate::Share),
        Knob::MinWaitFloor,
        Knob::Jitter,
        Knob::MaxWait,
        Knob::MaxDelay,
    ];

    /// As the config has it.
    pub fn name(self) -> &'static str {
        match self {
            Knob::MinWait => "min_wait_seconds",
            Knob::Wait => "wait",
            Knob::Cooldown => "cooldown_seconds",
            Knob::MinConfidence => "min_confidence",
            Knob::Gate(_) => "gates",
            Knob::MinWaitFloor => "min_wait_floor_seconds",
            Knob::Jitter => "jitter_ratio",
            Knob::MaxWait => "max_wait_seconds",
            Knob::MaxDelay => "max_delay_seconds",
        }
    }

    /// The values to try: seconds, or a share. Of a gate, 1 is on and 0 is off. Of the strategy it is [`ADAPTIVE`], or the
    /// seconds of a fixed wait.
    pub fn values(self) -> &'static [f64] {
        match self {
            Knob::MinWait => &[60.0, 120.0, 300.0, 600.0],
            Knob::Wait => &[ADAPTIVE, 30.0, 60.0, 120.0, 300.0, 600.0],
            Knob::Cooldown => &[0.0, 300.0, 900.0, 3600.0],
            Knob::MinConfidence => &[0.0, 0.5, 0.6, 0.7, 0.8, 0.9],
            Knob::Gate(_) => &[0.0, 1.0],
            Knob::MinWaitFloor => &[5.0, 15.0, 60.0],
            Knob::Jitter => &[0.0, 0.3],
            Knob::MaxWait => &[900.0, 3600.0, 7200.0],
            Knob::MaxDelay => &[600.0, 1800.0, 3600.0],
        }
    }

    /// The value in force.
    pub fn value(self, policy: &Policy) -> f64 {
        let response = &policy.config.response;
        let min_wait = || policy.config.wait_settings().min_wait_seconds;
        match self {
            Knob::MinWait => min_wait(),
            Knob::Wait => match response.wait {
                WaitStrategy::Adaptive => ADAPTIVE,
                WaitStrategy::Fixed => min_wait(),
            },
            Knob::Cooldown => response.cooldown_seconds.0,
            Knob::MinConfidence => response.min_confidence.0,
            Knob::Gate(gate) => f64::from(u8::from(response.gates.contains(&gate))),
            Knob::MinWaitFloor => response.min_wait_floor_seconds.0,
            Knob::Jitter => response.jitter_ratio.0,
            Knob::MaxWait => response.max_wait_seconds.0,
            Knob::MaxDelay => response.max_delay_seconds.0,
        }
    }

    pub fn set(self, policy: &mut Policy, value: f64) {
        let response = &mut policy.config.response;
        match self {
            Knob::MinWait => response.min_wait_seconds = Some(Seconds(value)),
            Knob::Wait if value < 0.0 => response.wait = WaitStrategy::Adaptive,
            Knob::Wait => {
                response.wait = WaitStrategy::Fixed;
                response.min_wait_seconds = Some(Seconds(value));
            }
            Knob::Cooldown => {
                response.cooldown_seconds = Seconds(value);
                // Without the gate no cooldown is looked at.
                if value > 0.0 {
                    turn_on(&mut response.gates, JudgeGate::Cooldown);
                }
            }
            Knob::MinConfidence => response.min_confidence = Ratio(value),
            Knob::Gate(gate) if value > 0.0 => turn_on(&mut response.gates, gate),
            Knob::Gate(gate) => response.gates.retain(|other| *other != gate),
            Knob::MinWaitFloor => response.min_wait_floor_seconds = Seconds(value),
            Knob::Jitter => response.jitter_ratio = Ratio(value),
            Knob::MaxWait => response.max_wait_seconds = Seconds(value),
            Knob::MaxDelay => response.max_delay_seconds = Seconds(value),
        }
    }

    /// The policy with this value. `None` if a config may not have it beside the others.
    pub fn turned(self, policy: &Policy, value: f64) -> Option<Policy> {
        let mut turned = policy.clone();
        self.set(&mut turned, value);
        let response = &turned.config.response;
        let is_wait = matches!(self, Knob::MinWait | Knob::Wait | Knob::MaxWait);
        let is_too_long =
            response.min_wait_seconds.is_some_and(|min| min.0 > response.max_wait_seconds.0);
        (!(is_wait && is_too_long)).then_some(turned)
    }

    /// Whether another value may change anything, as long as the other settings are these.
    pub fn has_effect(self, policy: &Policy) -> bool {
        let response = &policy.config.response;
        let book = policy.config.rulebook();
        let mut rules = book.all_rules();
        match self {
            Knob::MinWaitFloor => response.wait == WaitStrategy::Adaptive,
            Knob::Jitter => response.wait == WaitStrategy::Fixed,
            // No judge of a search asks for a delay.
            Knob::MaxDelay => response.timing() == PostTiming::HumanLike,
            Knob::Gate(JudgeGate::Cooldown) => {
                rules.any(|rules| rules.cooldown_for(rules.mode).is_positive())
            }
            Knob::Gate(JudgeGate::Share) => rules.any(|rules| rules.max_share < REACHABLE_SHARE),
            Knob::Gate(JudgeGate::SpokeLast | JudgeGate::Unchanged) => false,
            Knob::Gate(JudgeGate::Directed | JudgeGate::NothingOpen)
            | Knob::MinWait
            | Knob::Wait
            | Knob::Cooldown
            | Knob::MinConfidence
            | Knob::MaxWait => true,
        }
    }

    /// The line of the `response` section that sets it. Every gate has the same one.
    pub fn to_yaml(self, policy: &Policy) -> String {
        let response = &policy.config.response;
        let value = match self {
            Knob::Wait => match (response.wait, response.timing) {
                (WaitStrategy::Adaptive, _) => "adaptive".to_owned(),
                (WaitStrategy::Fixed, Some(_)) => "fixed".to_owned(),
                (WaitStrategy::Fixed, None) => {
                    "fixed # posts at once, as timing is not set".to_owned()
                }
            },
            Knob::Gate(_) => {
                let gates = response.gates.iter().map(|gate| gate.gate().name());
                format!("[{}]", gates.collect::<Vec<&str>>().join(", "))
            }
            Knob::MinWait
            | Knob::Cooldown
            | Knob::MinConfidence
            | Knob::MinWaitFloor
            | Knob::Jitter
            | Knob::MaxWait
            | Knob::MaxDelay => self.value(policy).to_string(),
        };
        format!("{}: {value}", self.name())
    }

    /// The `response` section that sets these, which are in the order of [`Self::ALL`].
    pub fn section(knobs: &[Knob], policy: &Policy) -> String {
        let lines = knobs.iter().map(|knob| format!("  {}\n", knob.to_yaml(policy)));
        let mut lines: Vec<String> = lines.collect();
        // Several gates are one list.
        lines.dedup();
        format!("response:\n{}", lines.concat())
    }
}

/// Puts the gates that are on where `base` has them: to turn one off and on again may have moved it.
pub fn restore_gate_order(policy: &mut Policy, base: &Policy) {
    let (gates, before) = (&mut policy.config.response.gates, &base.config.response.gates);
    let kept = before.iter().copied().filter(|gate| gates.contains(gate)).collect();
    let found = std::mem::replace(gates, kept);
    found.into_iter().for_each(|gate| turn_on(gates, gate));
}

/// Puts a gate where the default list has it.
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
    use super::*;
    use crate::config::Config;
    use crate::config::values::TimingSetting;

    fn policy(config: &str) -> Policy {
        let config = Config::parse(config).unwrap();
        Policy { config, ..Policy::default_settings() }
    }

    #[test]
    fn what_is_set_is_in_force() {
        for knob in Knob::ALL {
            for value in knob.values() {
                for mut policy in [
                    Policy::default_settings(),
                    policy("response: {wait: fixed, min_wait_seconds: 45, gates: []}"),
                ] {
                    knob.set(&mut policy, *value);
                    assert_eq!(knob.value(&policy), *value, "{knob:?}");
                    let section = Knob::section(&[knob], &policy);
                    let read = Config::parse(&section).unwrap();
                    let read = Knob::section(&[knob], &Policy { config: read, ..policy });
                    assert_eq!(read, section, "{knob:?}");
                }
            }
        }
    }

    #[test]
    fn each_gate_has_its_place() {
        use JudgeGate::{Cooldown, Directed, NothingOpen, Share, SpokeLast, Unchanged};
        let mut policy = Policy::default_settings();
        let default = policy.config.response.gates.clone();
        for gate in default.clone() {
            Knob::Gate(gate).set(&mut policy, 0.0);
            assert_eq!(policy.config.response.gates.len(), default.len() - 1);
            Knob::Gate(gate).set(&mut policy, 1.0);
            Knob::Gate(gate).set(&mut policy, 1.0);
            assert_eq!(policy.config.response.gates, default, "{gate:?}");
        }
        for (gates, gate, expected) in [
            (vec![], Share, vec![Share]),
            (vec![Share], Directed, vec![Directed, Share]),
            (vec![Directed], Cooldown, vec![Directed, Cooldown]),
            (vec![Directed, Share], NothingOpen, vec![Directed, NothingOpen, Share]),
            // An order of one's own is kept.
            (vec![Share, Directed], Cooldown, vec![Cooldown, Share, Directed]),
            (vec![Unchanged, SpokeLast], Share, vec![Unchanged, SpokeLast, Share]),
        ] {
            policy.config.response.gates.clone_from(&gates);
            Knob::Gate(gate).set(&mut policy, 1.0);
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
            Knob::Gate(gate).set(&mut found, value);
        }
        assert_eq!(found.config.response.gates, [Directed, Cooldown, Share]);
        restore_gate_order(&mut found, &base);
        assert_eq!(found.config.response.gates, [Cooldown, Share, Directed]);
    }

    #[test]
    fn a_cooldown_turns_its_gate_on() {
        let mut policy = policy("response: {gates: [directed, share]}");
        Knob::Cooldown.set(&mut policy, 0.0);
        assert_eq!(Knob::Gate(JudgeGate::Cooldown).value(&policy), 0.0);
        Knob::Cooldown.set(&mut policy, 900.0);
        let knobs = [
            Knob::Cooldown,
            Knob::Gate(JudgeGate::NothingOpen),
            Knob::Gate(JudgeGate::Cooldown),
            Knob::MaxWait,
        ];
        let expected = "response:\n  cooldown_seconds: 900\n  gates: [directed, cooldown, share]\n  max_wait_seconds: 3600\n";
        assert_eq!(Knob::section(&knobs, &policy), expected);
    }

    #[test]
    fn what_has_no_effect_beside_the_others_is_known() {
        let without = |config: &str| {
            let policy = policy(config);
            let knobs = Knob::ALL.into_iter().filter(|knob| !knob.has_effect(&policy));
            knobs.collect::<Vec<Knob>>()
        };
        let (cooldown, share) = (Knob::Gate(JudgeGate::Cooldown), Knob::Gate(JudgeGate::Share));
        for (config, expected) in [
            ("", vec![cooldown, share, Knob::Jitter]),
            ("response: {timing: plain}", vec![cooldown, share, Knob::Jitter, Knob::MaxDelay]),
            ("response: {wait: fixed}", vec![cooldown, share, Knob::MinWaitFloor, Knob::MaxDelay]),
            ("response: {wait: fixed, timing: human}", vec![cooldown, share, Knob::MinWaitFloor]),
            ("response: {cooldown_seconds: 60, max_share: 0.3}", vec![Knob::Jitter]),
            ("channels: {porch: {cooldown_seconds: 60}}", vec![share, Knob::Jitter]),
            ("response: {mode: facilitator}", vec![share, Knob::Jitter]),
        ] {
            assert_eq!(without(config), expected, "{config}");
        }
    }

    #[test]
    fn no_value_is_tried_that_a_config_may_not_have() {
        let hasty = policy("response: {max_wait_seconds: 100}");
        assert!(Knob::MinWait.turned(&hasty, 60.0).is_some());
        assert!(Knob::MinWait.turned(&hasty, 120.0).is_none());
        assert!(Knob::Wait.turned(&hasty, 120.0).is_none());
        assert!(Knob::Wait.turned(&hasty, 60.0).is_some());
        let slow = policy("response: {min_wait_seconds: 1000}");
        assert!(Knob::MaxWait.turned(&slow, 900.0).is_none());
        assert!(Knob::MinConfidence.turned(&slow, 0.9).is_some());
    }

    #[test]
    fn a_fixed_wait_says_what_else_it_means() {
        let mut policy = Policy::default_settings();
        Knob::Wait.set(&mut policy, 60.0);
        let line = Knob::Wait.to_yaml(&policy);
        assert_eq!(line, "wait: fixed # posts at once, as timing is not set");
        policy.config.response.timing = Some(TimingSetting::Human);
        assert_eq!(Knob::Wait.to_yaml(&policy), "wait: fixed");
        assert_eq!(Knob::MinWait.to_yaml(&policy), "min_wait_seconds: 60");
    }
}
