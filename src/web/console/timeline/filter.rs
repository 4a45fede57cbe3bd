//! What of a channel is wanted, as the address says it.

use axum::http::StatusCode;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::web::console::layout::encode;
use crate::web::{ApiProblem, Web};
use aizuchi_core::chat::{Channel, MessageId, User};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{DecisionId, DecisionResult};
use aizuchi_core::persona::Language;
use aizuchi_core::store::DecisionFilter;
use aizuchi_core::texts;

/// The fields of the form. Empty ones are as absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FilterQuery {
    pub outcome: String,
    pub gate: String,
    pub person: String,
    pub from: String,
    pub until: String,
    pub q: String,
    /// Where the page before this one ended: a message, or with outcome or gate a decision.
    pub before: Option<String>,
}

/// A value to choose.
pub struct Choice {
    pub value: &'static str,
    pub word: &'static str,
}

/// What is wanted.
pub struct Filter {
    pub wanted: Wanted,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

pub enum Wanted {
    Messages {
        before: Option<MessageId>,
    },
    Decisions {
        ended: Option<DecisionFilter>,
        gate: Option<Gate>,
        before: Option<DecisionId>,
    },
    /// Everything by one person before a message.
    Author {
        author: User,
        before: Option<MessageId>,
    },
    /// Nobody has that name.
    Nobody,
    Search(String),
}

impl FilterQuery {
    /// The same filter with another beginning, as the query of an address.
    pub fn address(&self, before: &str) -> String {
        let fields = [
            ("outcome", &*self.outcome),
            ("gate", &*self.gate),
            ("person", &*self.person),
            ("from", &*self.from),
            ("until", &*self.until),
            ("q", &*self.q),
            ("before", before),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            given.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        pairs.join("&")
    }
}

impl Filter {
    /// Who may not read what was said cannot ask who said it either.
    pub async fn parse(
        web: &Web,
        channel: &Channel,
        query: &FilterQuery,
        can_read: bool,
    ) -> Result<Self, ApiProblem> {
        let invalid = |what: &str| {
            let sentence = format!("{what} cannot be understood");
            ApiProblem::new(StatusCode::BAD_REQUEST, sentence)
        };
        let ended = match &*query.outcome {
            "" => None,
            name => Some(parse_outcome(name).ok_or_else(|| invalid("the outcome"))?),
        };
        let gate = match &*query.gate {
            "" => None,
            name => Some(parse_gate(name).ok_or_else(|| invalid("the gate"))?),
        };
        let time = |text: &str| match text {
            "" => Ok(None),
            text => parse_time(text, &web.zone).map(Some).ok_or_else(|| invalid("the time")),
        };
        let before = query.before.as_deref().filter(|before| !before.is_empty());
        let wanted = if can_read && !query.q.trim().is_empty() {
            Wanted::Search(query.q.trim().to_owned())
        } else if ended.is_some() || gate.is_some() {
            let number = before.map(|before| before.parse().map_err(|_| invalid("before")));
            Wanted::Decisions { ended, gate, before: number.transpose()?.map(DecisionId) }
        } else if can_read && !query.person.trim().is_empty() {
            let name = query.person.trim().trim_start_matches('@').to_lowercase();
            let users = web.archive.users(&channel.workspace).await?.into_iter();
            let mut users = users.filter(|user| {
                user.name.to_lowercase() == name || user.id.as_str().to_lowercase() == name
            });
            match users.next() {
                Some(author) => Wanted::Author { author, before: before.map(MessageId::new) },
                None => Wanted::Nobody,
            }
        } else {
            Wanted::Messages { before: before.map(MessageId::new) }
        };
        Ok(Self { wanted, from: time(&query.from)?, until: time(&query.until)? })
    }

    /// Whether something of this time is wanted.
    pub fn has(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }
}

/// All outcomes, to choose one.
pub fn outcomes(language: Language) -> Vec<Choice> {
    let all = RESULTS.into_iter().map(DecisionResult::name).chain(["open"]);
    all.map(|value| Choice { value, word: texts::console::outcome_word(language, value) }).collect()
}

/// The gates that close a decision, to choose one.
pub fn gates(language: Language) -> Vec<Choice> {
    let gates = GATES.into_iter();
    gates
        .map(|gate| Choice { value: gate.name(), word: texts::ledger::gate(language, gate) })
        .collect()
}

const RESULTS: [DecisionResult; 7] = [
    DecisionResult::Spoke,
    DecisionResult::Reacted,
    DecisionResult::ChoseSilence,
    DecisionResult::Dropped,
    DecisionResult::Muted,
    DecisionResult::OverBudget,
    DecisionResult::Failed,
];

const GATES: [Gate; 15] = [
    Gate::Command,
    Gate::Muted,
    Gate::QuietHours,
    Gate::Loop,
    Gate::TooFew,
    Gate::Directed,
    Gate::SpokeLast,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
    Gate::Budget,
    Gate::Learned,
    Gate::JudgeCalls,
    Gate::DecisionCalls,
];

fn parse_outcome(name: &str) -> Option<DecisionFilter> {
    if name == DecisionFilter::Open.name() {
        return Some(DecisionFilter::Open);
    }
    RESULTS.into_iter().find(|result| result.name() == name).map(DecisionFilter::Ended)
}

fn parse_gate(name: &str) -> Option<Gate> {
    GATES.into_iter().find(|gate| gate.name() == name)
}

/// A day or a minute of the installation's time zone.
fn parse_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let minute = text.parse::<DateTime>();
    let day = || text.parse::<Date>().map(|day| day.to_datetime(jiff::civil::Time::midnight()));
    let moment = minute.or_else(|_| day()).ok()?;
    moment.to_zoned(zone.clone()).ok().map(|moment| moment.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_has_the_same_filter() {
        let query = FilterQuery {
            outcome: "failed".to_owned(),
            q: "a&b=\"c\"".to_owned(),
            before: Some("9".to_owned()),
            ..FilterQuery::default()
        };
        assert_eq!(query.address("7"), "outcome=failed&q=a%26b%3D%22c%22&before=7");
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(9));
        for (text, expected) in [
            ("2026-03-01", Some("2026-02-28T15:00:00Z")),
            ("2026-03-01T09:30", Some("2026-03-01T00:30:00Z")),
            ("yesterday", None),
        ] {
            let found = parse_time(text, &zone).map(|at| at.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
