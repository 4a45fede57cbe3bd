//! The differences between two replays of the same messages, by two versions or with two settings.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The outcome of a replay for a message. If a message was considered more than once, the greatest outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageOutcome {
    KeptSilent,
    /// A judge would have been asked, and its answer is unknown.
    Unknown,
    Reacted,
    SpokenTo,
}

/// Posts that are less than this many seconds apart count as simultaneous, because users do not notice the difference.
const SAME_TIME_SECONDS: f64 = 30.0;

/// How a replay treated a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Treatment {
    #[serde(rename = "fate")]
    pub outcome: MessageOutcome,
    /// The gate that caused the silence, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// When the persona spoke, in epoch seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

/// Identifies a message by its channel and its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ReplayedMessageKey {
    #[serde(rename = "room")]
    pub channel: String,
    pub message: String,
}

/// How a replay treated each message that it considered.
pub type Treatments = HashMap<ReplayedMessageKey, Treatment>;

/// A message that two replays treat differently, or that they speak about at different times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreatmentDifference {
    #[serde(flatten)]
    pub key: ReplayedMessageKey,
    pub before: Treatment,
    pub after: Treatment,
}

impl TreatmentDifference {
    /// Returns the number of seconds by which the second replay speaks later, if both speak and the times differ.
    pub fn delay_seconds(&self) -> Option<f64> {
        let both = self.before.outcome == MessageOutcome::SpokenTo
            && self.after.outcome == MessageOutcome::SpokenTo;
        let (before, after) = (self.before.at?, self.after.at?);
        Some(after - before).filter(|delay| both && delay.abs() >= SAME_TIME_SECONDS)
    }
}

/// The fields of an event that determine the treatment of a message. Other versions may write more or fewer fields.
#[derive(Deserialize)]
struct EventLine {
    kind: String,
    #[serde(rename = "room")]
    channel: String,
    message: Option<String>,
    about: Option<String>,
    gate: Option<String>,
    t: Option<f64>,
}

/// Collects the treatments from events as they are written.
#[derive(Default)]
pub struct TreatmentWriter {
    treatments: Arc<Mutex<Treatments>>,
    line: Vec<u8>,
}

impl TreatmentWriter {
    /// Returns the treatments found so far.
    pub fn treatments(&self) -> Arc<Mutex<Treatments>> {
        self.treatments.clone()
    }
}

impl Write for TreatmentWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let event = serde_json::from_slice(&self.line)?;
                    add(&mut self.treatments.lock(), event);
                    self.line.clear();
                }
                byte => self.line.push(*byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn add(treatments: &mut Treatments, event: EventLine) {
    let EventLine { kind, channel, message, about, gate, t } = event;
    let outcome = match kind.as_str() {
        "speak" => MessageOutcome::SpokenTo,
        "react" => MessageOutcome::Reacted,
        "failed" => MessageOutcome::Unknown,
        "judge_called" | "gate" | "dropped" => MessageOutcome::KeptSilent,
        _ => return,
    };
    // A post counts for the message that it answers, and a silence for the newest message.
    let message = match outcome {
        MessageOutcome::SpokenTo | MessageOutcome::Reacted => about.or(message),
        MessageOutcome::KeptSilent | MessageOutcome::Unknown => message,
    };
    let Some(message) = message else { return };
    let key = ReplayedMessageKey { channel, message };
    let at = t.filter(|_| outcome == MessageOutcome::SpokenTo);
    let known = treatments.get(&key).map(|known| known.outcome);
    // Of several answers to one message, the first sets the time.
    if known.is_none_or(|known| {
        known < outcome || known == outcome && outcome != MessageOutcome::SpokenTo
    }) {
        treatments.insert(key, Treatment { outcome, gate, at });
    }
}

/// Lists the differences, by channel and message. A message that a replay did not consider counts as
/// [`MessageOutcome::KeptSilent`].
pub fn differences(before: &Treatments, after: &Treatments) -> Vec<TreatmentDifference> {
    let silent = || Treatment { outcome: MessageOutcome::KeptSilent, gate: None, at: None };
    let keys: BTreeSet<&ReplayedMessageKey> = before.keys().chain(after.keys()).collect();
    let difference = |key: &ReplayedMessageKey| {
        let before = before.get(key).cloned().unwrap_or_else(silent);
        let after = after.get(key).cloned().unwrap_or_else(silent);
        let difference = TreatmentDifference { key: key.clone(), before, after };
        let has_other_outcome = difference.before.outcome != difference.after.outcome;
        (has_other_outcome || difference.delay_seconds().is_some()).then_some(difference)
    };
    keys.into_iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn treatments(lines: &[&str]) -> Treatments {
        let mut writer = TreatmentWriter::default();
        for line in lines {
            writeln!(writer, "{line}").unwrap();
        }
        let treatments = writer.treatments();
        treatments.lock().clone()
    }

    #[test]
    fn only_what_becomes_of_a_message_differently_is_a_difference() {
        let before = treatments(&[
            r#"{"kind": "heard", "room": "garden", "message": "1"}"#,
            r#"{"kind": "gate", "room": "garden", "message": "1", "gate": "nothing_open"}"#,
            r#"{"kind": "speak", "room": "garden", "message": "3", "about": "2", "of a later version": 1}"#,
            r#"{"kind": "judge_called", "room": "garden", "message": "4"}"#,
            r#"{"kind": "judge_called", "room": "garden", "message": "5"}"#,
            r#"{"kind": "failed", "room": "garden", "message": "5"}"#,
        ]);
        let after = treatments(&[
            r#"{"kind": "speak", "room": "garden", "message": "1", "about": null}"#,
            r#"{"kind": "gate", "room": "garden", "message": "2", "gate": "directed"}"#,
            r#"{"kind": "judge_called", "room": "garden", "message": "4"}"#,
        ]);
        let treatment = |outcome, gate: Option<&str>| Treatment {
            outcome,
            gate: gate.map(str::to_owned),
            at: None,
        };
        let key = |message: &str| ReplayedMessageKey {
            channel: "garden".to_owned(),
            message: message.to_owned(),
        };
        let expected = [
            TreatmentDifference {
                key: key("1"),
                before: treatment(MessageOutcome::KeptSilent, Some("nothing_open")),
                after: treatment(MessageOutcome::SpokenTo, None),
            },
            TreatmentDifference {
                key: key("2"),
                before: treatment(MessageOutcome::SpokenTo, None),
                after: treatment(MessageOutcome::KeptSilent, Some("directed")),
            },
            TreatmentDifference {
                key: key("5"),
                before: treatment(MessageOutcome::Unknown, None),
                after: treatment(MessageOutcome::KeptSilent, None),
            },
        ];
        assert_eq!(differences(&before, &after), expected);
        assert_eq!(differences(&after, &after), []);
    }

    #[test]
    fn an_answer_at_another_time_is_a_difference() {
        let speak = |t: f64| {
            treatments(&[
                &format!(r#"{{"kind": "speak", "room": "garden", "message": "1", "t": {t}}}"#),
                // A second part of the answer.
                r#"{"kind": "speak", "room": "garden", "message": "1", "t": 5000.0}"#,
            ])
        };
        for (before, after, expected) in
            [(100.0, 129.9, None), (100.0, 220.0, Some(120.0)), (220.0, 100.0, Some(-120.0))]
        {
            let found = differences(&speak(before), &speak(after));
            let delays: Vec<_> =
                found.iter().filter_map(TreatmentDifference::delay_seconds).collect();
            assert_eq!(delays, Vec::from_iter(expected), "{before} {after}");
            assert_eq!(found.len(), delays.len());
        }
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        let mut writer = TreatmentWriter::default();
        assert!(writeln!(writer, "Segmentation fault").is_err());
    }
}
