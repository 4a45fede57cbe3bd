//! A call of a tool that may write: a user has to allow exactly this call, and then it is made once. The arguments that
//! are stored, the ones that were shown and the ones that are sent are the same.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat::{ConversationId, MessageId, is_invisible};
use crate::context::seen_revision::SeenRevision;
use crate::decision::DecisionId;
use crate::memory::Lineage;

/// How long after it has expired a call may still wait to be announced. After that, the post that announces it was
/// dropped.
const MAX_DRAFTED_WAIT: SignedDuration = SignedDuration::from_hours(7 * 24);

number_id!(
    /// The number of a consent.
    ConsentId
);

named_enum! {
    /// The state of a call.
    pub enum ConsentState {
        /// The post that announces the call has not been made yet, so no user has been asked.
        Drafted,
        /// No user has decided yet.
        Open,
        /// Allowed, and waiting to be called.
        Allowed,
        /// The call may have been made, and its answer is not yet known.
        Calling,
        /// It was called, and the tool has answered.
        Answered,
        /// It is unknown whether the call was made. It is never made again.
        Unknown,
        Refused,
        /// It was not decided in time or is no longer wanted, and was not called.
        Lapsed,
    }
}

impl ConsentState {
    /// Whether the state is final.
    pub fn is_final(self) -> bool {
        match self {
            ConsentState::Answered
            | ConsentState::Unknown
            | ConsentState::Refused
            | ConsentState::Lapsed => true,
            ConsentState::Drafted
            | ConsentState::Open
            | ConsentState::Allowed
            | ConsentState::Calling => false,
        }
    }
}

/// A call that a reply wants to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConsent {
    /// The messages for which the call is made, oldest first; never empty. Which of several asked for it, only a reader
    /// can tell.
    pub messages: Vec<MessageId>,
    /// Whether these messages addressed the persona.
    pub is_addressed: bool,
    pub tool: Arc<str>,
    /// The arguments as written by [`shown_arguments`].
    pub arguments: Arc<str>,
    pub made: Timestamp,
    /// When it can no longer be allowed, if it is announced at once. A later announcement moves it.
    pub expires: Timestamp,
}

/// A call that a user has to allow, and its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    pub id: ConsentId,
    pub decision: DecisionId,
    pub conversation: ConversationId,
    /// The messages for which the call is made, oldest first.
    pub messages: Vec<MessageId>,
    pub is_addressed: bool,
    /// The name under which the tool is offered.
    pub tool: Arc<str>,
    /// `None` once they are erased: the call is settled, or a source message has changed.
    pub arguments: Option<Arc<str>>,
    /// The sources of the arguments.
    pub lineage: Lineage,
    /// The store's revision of the context that it was made from.
    pub seen_revision: SeenRevision,
    pub made: Timestamp,
    pub expires: Timestamp,
    pub state: ConsentState,
    /// The name under which the user who decided was signed in, and when; the name is empty for a local user without a
    /// sign-in.
    pub decided: Option<(Arc<str>, Timestamp)>,
    /// When a call in progress will have ended, however it ends.
    pub until: Option<Timestamp>,
    pub answer: Option<CallAnswer>,
    /// Nothing more will happen to it: the users who asked have been told, or are not to be told.
    pub is_settled: bool,
    /// The revision of its last change.
    pub revision: u64,
}

/// A tool's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    pub text: String,
    pub is_cut: bool,
    pub is_failure: bool,
}

/// A user's decision about a call.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Deserialize,
    schemars::JsonSchema,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CallAction")]
pub enum ConsentChoice {
    AllowOnce,
    Refuse,
}

/// A step in the life of a consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentStep {
    /// The user of this name decides.
    Decide(ConsentChoice, Arc<str>),
    /// The call is about to be made, and will have ended by `until`.
    Begin { until: Timestamp },
    /// The call has ended with this answer; `None` if its outcome is unknown.
    End(Option<CallAnswer>),
    /// The call was not sent.
    NotMade,
    /// The call will no longer be made.
    Lapse(LapseReason),
    /// The users who asked are owed an answer about how it ended, unless they already are.
    Owe,
}

/// Why a call will not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapseReason {
    /// No user decided in time, or the tool is no longer offered. The users who asked are told.
    TooLate,
    /// The messages that it is for are gone, or the persona may not speak there. No user is told.
    Unwanted,
}

/// Why a step is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentProblem {
    /// A user has already decided, or the call is in progress.
    Decided,
    /// The consent has expired.
    Lapsed,
    /// No user has been asked yet.
    NotAsked,
}

impl Consent {
    /// Whether the call can still be made at `now`.
    fn is_timely(&self, now: Timestamp) -> bool {
        self.arguments.is_some() && now.as_millisecond() < self.expires.as_millisecond()
    }

    /// Returns the consent as of `now`: one that was not called lapses when it expires or its arguments are gone.
    pub fn at(self, now: Timestamp) -> Self {
        let has_lapsed = match self.state {
            // Its time has not begun, since the announcement may wait for the end of an outage.
            ConsentState::Drafted => {
                self.arguments.is_none() || now.duration_since(self.expires) >= MAX_DRAFTED_WAIT
            }
            ConsentState::Open | ConsentState::Allowed => !self.is_timely(now),
            ConsentState::Calling
            | ConsentState::Answered
            | ConsentState::Unknown
            | ConsentState::Refused
            | ConsentState::Lapsed => false,
        };
        let state = if has_lapsed { ConsentState::Lapsed } else { self.state };
        Self { state, ..self }
    }

    /// Returns the consent after a step at `now`. Each step is possible once; the store's transaction ensures that a
    /// call is made at most once.
    pub fn after(&self, step: &ConsentStep, now: Timestamp) -> Result<Self, ConsentProblem> {
        use ConsentState::{Allowed, Answered, Calling, Drafted, Lapsed, Open, Refused, Unknown};
        let next = self.clone();
        Ok(match (self.state, step) {
            (Open, ConsentStep::Decide(choice, by)) if self.is_timely(now) => {
                let decided = Some((by.clone(), now));
                match choice {
                    ConsentChoice::AllowOnce => Self { state: Allowed, decided, ..next },
                    ConsentChoice::Refuse => {
                        Self { state: Refused, decided, ..next }.settled_if(!self.is_addressed)
                    }
                }
            }
            (Allowed, ConsentStep::Begin { until }) if self.is_timely(now) => {
                Self { state: Calling, until: Some(*until), ..next }
            }
            (Calling, ConsentStep::End(answer)) => {
                let state = if answer.is_some() { Answered } else { Unknown };
                // The answer may repeat what was erased in the meantime.
                let answer = answer.clone().filter(|_| self.arguments.is_some());
                Self { state, answer, ..next }
            }
            (Calling, ConsentStep::NotMade) => {
                Self { state: Lapsed, ..next }.settled_if(!self.is_addressed)
            }
            (Drafted | Open | Allowed, ConsentStep::Lapse(reason)) => {
                let was_told_of = self.state != Drafted && self.is_addressed;
                let is_told = was_told_of && *reason == LapseReason::TooLate;
                Self { state: Lapsed, ..next }.settled_if(!is_told)
            }
            (Drafted, _) => return Err(ConsentProblem::NotAsked),
            (Open | Allowed | Lapsed, _) if self.state == Lapsed || !self.is_timely(now) => {
                return Err(ConsentProblem::Lapsed);
            }
            (Open, _) => return Err(ConsentProblem::NotAsked),
            (Allowed | Calling | Answered | Unknown | Refused | Lapsed, _) => {
                return Err(ConsentProblem::Decided);
            }
        })
    }

    /// Settles the consent if `is_settled`.
    fn settled_if(self, is_settled: bool) -> Self {
        if is_settled { self.settled() } else { self }
    }

    /// Returns the settled consent, without its arguments and answer.
    pub fn settled(self) -> Self {
        Self { is_settled: true, arguments: None, answer: None, ..self }
    }

    /// Returns the name of the tool's server.
    pub fn server(&self) -> &str {
        self.tool.split_once("__").map_or(&*self.tool, |(server, _)| server)
    }

    /// Returns the tool's name on its server.
    pub fn own_name(&self) -> &str {
        self.tool.split_once("__").map_or(&*self.tool, |(_, name)| name)
    }
}

/// Formats arguments for the user who has to allow them: in full, over several lines, and with every character visible.
/// It is JSON of the same value, and no text in it can break out: code marks, markup and invisible characters are
/// escaped as numbers.
pub fn shown_arguments(arguments: &Value) -> String {
    // A `serde_json` value can always be serialized.
    let pretty = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let mut shown = String::with_capacity(pretty.len());
    for (at, character) in pretty.char_indices() {
        let (before, after) = pretty.split_at(at);
        let is_changed = calls_all(after) || breaks_invitation(before, character);
        if character == '\n' || (is_plain(character) && !is_changed) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// Whether a text begins with a mention of everyone. Some platforms change such a mention wherever it occurs.
fn calls_all(text: &str) -> bool {
    let called = text.strip_prefix('@').unwrap_or_default();
    ["everyone", "here", "channel"]
        .iter()
        .any(|name| called.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name)))
}

/// Whether a character is the dot in the address of an invitation. It is escaped so that a platform does not show the
/// invitation as a card.
fn breaks_invitation(before: &str, character: char) -> bool {
    character == '.'
        && ["discord", "discordapp"].iter().any(|name| {
            let start = before.len().checked_sub(name.len());
            let word = start.and_then(|start| before.get(start..));
            word.is_some_and(|word| word.eq_ignore_ascii_case(name))
        })
}

/// Whether a character is shown as itself in code on every platform. A private-use character means whatever the font
/// makes of it, and renderers use such characters as markers.
fn is_plain(character: char) -> bool {
    let is_mark = matches!(character, '`' | '<' | '>' | '&');
    let is_space = character.is_whitespace() && character != ' ';
    let is_private = matches!(
        character,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}'
    );
    !is_mark && !is_space && !is_private && !character.is_control() && !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chat::{ChannelId, WorkspaceId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn consent(state: ConsentState, is_addressed: bool) -> Consent {
        Consent {
            id: ConsentId(1),
            decision: DecisionId(1),
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            messages: vec![MessageId::new("m1")],
            is_addressed,
            tool: "nursery__plant".into(),
            arguments: Some("{}".into()),
            lineage: Lineage::default(),
            seen_revision: SeenRevision::from(1),
            made: at(0),
            expires: at(60),
            state,
            decided: None,
            until: None,
            answer: None,
            is_settled: false,
            revision: 1,
        }
    }

    #[test]
    fn each_step_is_possible_once() {
        use ConsentState::{Allowed, Answered, Calling, Drafted, Lapsed, Open, Refused, Unknown};
        let decide = |choice| ConsentStep::Decide(choice, "olga".into());
        let (allow, refuse) = (decide(ConsentChoice::AllowOnce), decide(ConsentChoice::Refuse));
        let begin = ConsentStep::Begin { until: at(50) };
        let answer = CallAnswer { text: "done".to_owned(), is_cut: false, is_failure: false };
        let (end, lost) = (ConsentStep::End(Some(answer)), ConsentStep::End(None));
        let late = ConsentStep::Lapse(LapseReason::TooLate);
        let gone = ConsentStep::Lapse(LapseReason::Unwanted);
        for (state, step, second, expected) in [
            (Open, &allow, 10, Ok((Allowed, false))),
            (Open, &refuse, 10, Ok((Refused, false))),
            (Open, &allow, 60, Err(ConsentProblem::Lapsed)),
            (Open, &begin, 10, Err(ConsentProblem::NotAsked)),
            (Open, &late, 60, Ok((Lapsed, false))),
            (Open, &gone, 10, Ok((Lapsed, true))),
            (Drafted, &allow, 10, Err(ConsentProblem::NotAsked)),
            (Drafted, &late, 60, Ok((Lapsed, true))),
            (Allowed, &allow, 10, Err(ConsentProblem::Decided)),
            (Allowed, &refuse, 10, Err(ConsentProblem::Decided)),
            (Allowed, &begin, 10, Ok((Calling, false))),
            (Allowed, &begin, 60, Err(ConsentProblem::Lapsed)),
            (Calling, &begin, 10, Err(ConsentProblem::Decided)),
            (Calling, &gone, 10, Err(ConsentProblem::Decided)),
            (Calling, &end, 90, Ok((Answered, false))),
            (Calling, &lost, 90, Ok((Unknown, false))),
            (Calling, &ConsentStep::NotMade, 90, Ok((Lapsed, false))),
            (Allowed, &ConsentStep::NotMade, 10, Err(ConsentProblem::Decided)),
            (Answered, &lost, 90, Err(ConsentProblem::Decided)),
            (Unknown, &end, 90, Err(ConsentProblem::Decided)),
            (Refused, &allow, 10, Err(ConsentProblem::Decided)),
            (Lapsed, &allow, 10, Err(ConsentProblem::Lapsed)),
        ] {
            let next = consent(state, true).after(step, at(second));
            let found = next.map(|next| (next.state, next.is_settled));
            assert_eq!(found, expected, "{state:?} {step:?} {second}");
        }
    }

    #[test]
    fn whoever_asked_nothing_is_told_of_calls_alone() {
        let refuse = ConsentStep::Decide(ConsentChoice::Refuse, "olga".into());
        let late = ConsentStep::Lapse(LapseReason::TooLate);
        for step in [refuse, late] {
            let next = consent(ConsentState::Open, false).after(&step, at(10)).unwrap();
            assert!(next.is_settled && next.arguments.is_none(), "{step:?}");
        }
        let end = ConsentStep::End(None);
        let next = consent(ConsentState::Calling, false).after(&end, at(10)).unwrap();
        assert!(!next.is_settled);
    }

    #[test]
    fn what_is_undecided_lapses_with_its_time_and_its_arguments() {
        use ConsentState::{Allowed, Calling, Drafted, Lapsed, Open};
        let week = 7 * 24 * 3600;
        for (state, second, expected) in [
            (Open, 59, Open),
            (Open, 60, Lapsed),
            (Allowed, 60, Lapsed),
            (Calling, 60, Calling),
            (Drafted, week + 59, Drafted),
            (Drafted, week + 60, Lapsed),
        ] {
            assert_eq!(consent(state, true).at(at(second)).state, expected);
        }
        let erased = Consent { arguments: None, ..consent(Open, true) };
        assert_eq!(erased.at(at(1)).state, Lapsed);
    }

    #[test]
    fn arguments_are_shown_as_they_are_sent() {
        for (arguments, expected) in [
            (json!({}), "{}"),
            (json!({ "title": "roses 薔薇 🌹" }), "{\n  \"title\": \"roses 薔薇 🌹\"\n}"),
            (json!({ "a": "```\nb" }), "{\n  \"a\": \"\\u0060\\u0060\\u0060\\nb\"\n}"),
            (
                json!({ "a": "x\u{202e}y\u{200b}\u{a0}" }),
                "{\n  \"a\": \"x\\u202ey\\u200b\\u00a0\"\n}",
            ),
            (json!({ "a": "a@b @Here" }), "{\n  \"a\": \"a@b \\u0040Here\"\n}"),
            (json!({ "a": "<!here>&" }), "{\n  \"a\": \"\\u003c!here\\u003e\\u0026\"\n}"),
            (json!({ "a": "\u{e0041}" }), "{\n  \"a\": \"\\udb40\\udc41\"\n}"),
            (json!({ "a": "x\u{e000}\u{10fffd}" }), "{\n  \"a\": \"x\\ue000\\udbff\\udffd\"\n}"),
            (
                json!({ "a": "Discord.gg/x discord. a.b" }),
                "{\n  \"a\": \"Discord\\u002egg/x discord\\u002e a.b\"\n}",
            ),
        ] {
            let shown = shown_arguments(&arguments);
            assert_eq!(shown, expected);
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), arguments, "{shown}");
        }
    }
}
