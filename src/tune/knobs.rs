//! The settings that the search turns, each with a handful of values.

use crate::config::response::JudgeGate;
use crate::config::values::{Ratio, Seconds};
use crate::replay::Policy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    MinWait,
    MinWaitFloor,
    MaxWait,
    MaxDelay,
    MinConfidence,
    Cooldown,
    NothingOpenGate,
}

impl Knob {
    /// In the order in which the search turns them.
    pub const ALL: [Knob; 7] = [
        Knob::MinWait,
        Knob::Cooldown,
        Knob::MinConfidence,
        Knob::NothingOpenGate,
        Knob::MinWaitFloor,
        Knob::MaxWait,
        Knob::MaxDelay,
    ];

    /// The values to try: seconds, or a share. Of a gate, 1 is on and 0 is off.
    pub fn values(self) -> &'static [f64] {
        match self {
            Knob::MinWait => &[60.0, 120.0, 300.0, 600.0],
            Knob::MinWaitFloor => &[5.0, 15.0, 60.0],
            Knob::MaxWait => &[900.0, 3600.0, 7200.0],
            Knob::MaxDelay => &[600.0, 1800.0, 3600.0],
            Knob::MinConfidence => &[0.0, 0.5, 0.6, 0.7, 0.8, 0.9],
            Knob::Cooldown => &[0.0, 300.0, 900.0, 3600.0],
            Knob::NothingOpenGate => &[0.0, 1.0],
        }
    }

    /// The value in force.
    pub fn value(self, policy: &Policy) -> f64 {
        let response = &policy.config.response;
        match self {
            Knob::MinWait => policy.config.wait_settings().min_wait_seconds,
            Knob::MinWaitFloor => response.min_wait_floor_seconds.0,
            Knob::MaxWait => response.max_wait_seconds.0,
            Knob::MaxDelay => response.max_delay_seconds.0,
            Knob::MinConfidence => response.min_confidence.0,
            Knob::Cooldown => response.cooldown_seconds.0,
            Knob::NothingOpenGate => {
                f64::from(u8::from(response.gates.contains(&JudgeGate::NothingOpen)))
            }
        }
    }

    pub fn set(self, policy: &mut Policy, value: f64) {
        let response = &mut policy.config.response;
        match self {
            Knob::MinWait => response.min_wait_seconds = Some(Seconds(value)),
            Knob::MinWaitFloor => response.min_wait_floor_seconds = Seconds(value),
            Knob::MaxWait => response.max_wait_seconds = Seconds(value),
            Knob::MaxDelay => response.max_delay_seconds = Seconds(value),
            Knob::MinConfidence => response.min_confidence = Ratio(value),
            Knob::Cooldown => response.cooldown_seconds = Seconds(value),
            Knob::NothingOpenGate => {
                response.gates.retain(|gate| *gate != JudgeGate::NothingOpen);
                if value > 0.0 {
                    // Where the default list has it: after what costs nothing to know.
                    let limits = [JudgeGate::Cooldown, JudgeGate::Share];
                    let place = response.gates.iter().position(|gate| limits.contains(gate));
                    let place = place.unwrap_or(response.gates.len());
                    response.gates.insert(place, JudgeGate::NothingOpen);
                }
            }
        }
    }

    /// The line of the `response` section that sets it.
    pub fn to_yaml(self, policy: &Policy) -> String {
        let value = self.value(policy);
        let name = match self {
            Knob::MinWait => "min_wait_seconds",
            Knob::MinWaitFloor => "min_wait_floor_seconds",
            Knob::MaxWait => "max_wait_seconds",
            Knob::MaxDelay => "max_delay_seconds",
            Knob::MinConfidence => "min_confidence",
            Knob::Cooldown => "cooldown_seconds",
            Knob::NothingOpenGate => {
                let gates = policy.config.response.gates.iter();
                let gates: Vec<&str> = gates.map(|gate| gate.gate().name()).collect();
                return format!("gates: [{}]", gates.join(", "));
            }
        };
        format!("{name}: {value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_in_force() {
        for knob in Knob::ALL {
            for value in knob.values() {
                let mut policy = Policy::default_settings();
                knob.set(&mut policy, *value);
                assert_eq!(knob.value(&policy), *value, "{knob:?}");
            }
        }
        let mut policy = Policy::default_settings();
        let gates = policy.config.response.gates.clone();
        Knob::NothingOpenGate.set(&mut policy, 0.0);
        assert_eq!(policy.config.response.gates.len(), gates.len() - 1);
        Knob::NothingOpenGate.set(&mut policy, 1.0);
        assert_eq!(policy.config.response.gates, gates);
    }
}
