//! The filter of a timeline, parsed from the query string.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, ChannelId, MessageId, User, Visibility};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::query::{DecisionFilter, MessageFilter};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::console::layout::encode;
use crate::console::reason::{FilterOption, parse_gate};
use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

/// The fields of the form. Empty fields count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FilterQuery {
    /// The channel to switch to, instead of the one that the path names.
    pub channel: String,
    pub outcome: String,
    pub gate: String,
    #[serde(rename = "person")]
    pub user: String,
    pub from: String,
    pub until: String,
    pub q: String,
    /// The setting that was just changed.
    pub set: String,
    /// The cursor: a message, or with an outcome or a gate, a decision.
    pub before: Option<String>,
}

/// The conditions that every row has to meet.
pub struct Filter {
    pub source: Source,
    pub ended: Option<DecisionFilter>,
    pub gate: Option<Gate>,
    pub messages: MessageFilter,
}

/// How the rows are found.
pub enum Source {
    /// The newest messages before a message.
    Messages { before: Option<MessageId> },
    /// The messages of the newest decisions before one.
    Decisions { before: Option<DecisionId> },
    /// The best matches of a search.
    Search(String),
    /// Nobody has the requested name.
    Nobody,
    /// These users have the requested name, so it is ambiguous.
    Namesakes(Vec<User>),
}

impl FilterQuery {
    /// Returns the same filter for one user, without a cursor, as a query string.
    pub fn address_of_user(&self, user: &User) -> String {
        let user = user.id.to_string();
        Self { user, ..self.clone() }.address("")
    }

    /// The channel to switch to with this filter, if it is another one.
    pub fn other_channel(&self, here: &ChannelId) -> Option<ChannelId> {
        let channel = ChannelId::new(&*self.channel);
        (!self.channel.is_empty() && channel != *here).then_some(channel)
    }

    /// Returns the same filter with another cursor, as a query string.
    pub fn address(&self, before: &str) -> String {
        let fields = [
            ("outcome", &*self.outcome),
            ("gate", &*self.gate),
            ("person", &*self.user),
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
    /// The user and the search text are ignored for visitors who may not read the messages.
    pub async fn parse(
        web: &Web,
        channel: &Channel,
        query: &FilterQuery,
        access: &Access,
    ) -> Result<Self, ApiProblem> {
        let ended = match &*query.outcome {
            "" => None,
            name => Some(DecisionFilter::parse(name).ok_or(Refusal::UnclearOutcome)?),
        };
        let gate = match &*query.gate {
            "" => None,
            name => Some(parse_gate(name).ok_or(Refusal::UnclearGate)?),
        };
        let time = |text: &str| match text {
            "" => Ok(None),
            text => parse_time(text, &web.zone).map(Some).ok_or(Refusal::UnclearTime),
        };
        let (from, until) = (time(&query.from)?, time(&query.until)?);
        let (name, text) = match access.may_read(&channel.workspace, channel.visibility) {
            true => (query.user.trim(), query.q.trim()),
            false => ("", ""),
        };
        let named = match name {
            "" => Vec::new(),
            name => find_users(web, channel, name).await?,
        };
        let author = match &named[..] {
            [user] => Some(user.id.clone()),
            _ => None,
        };
        let before = query.before.as_deref().filter(|before| !before.is_empty());
        let source = if !name.is_empty() && named.is_empty() {
            Source::Nobody
        } else if named.len() > 1 {
            Source::Namesakes(named)
        } else if !text.is_empty() {
            Source::Search(text.to_owned())
        } else if ended.is_some() || gate.is_some() {
            let number = before.map(|before| before.parse().map_err(|_| Refusal::UnclearBefore));
            Source::Decisions { before: number.transpose()?.map(DecisionId) }
        } else {
            Source::Messages { before: before.map(MessageId::new) }
        };
        // The rows that match a name or a word reveal something about their content.
        let is_asked = !name.is_empty() || !text.is_empty();
        let reads_all = access.may_read(&channel.workspace, Visibility::Private);
        let visibility = (is_asked && !reads_all).then_some(Visibility::Public);
        let messages = MessageFilter { author, from, until, visibility };
        Ok(Self { source, ended, gate, messages })
    }

    /// Whether a decision passes the filter.
    pub fn has(&self, decision: &Decision) -> bool {
        self.ended.is_none_or(|wanted| wanted.has(decision))
            && self.gate.is_none_or(|wanted| decision.gate == Some(wanted))
    }
}

/// Returns the users with this id, or else all with this name.
async fn find_users(web: &Web, channel: &Channel, name: &str) -> Result<Vec<User>, ApiProblem> {
    let name = name.trim_start_matches('@').to_lowercase();
    let mut users = web.archive.users(&channel.workspace).await?;
    let has_id = |user: &User| user.id.as_str().to_lowercase() == name;
    match users.iter().any(has_id) {
        true => users.retain(has_id),
        false => users.retain(|user| user.name.to_lowercase() == name),
    }
    Ok(users)
}

/// Returns all outcomes to choose from.
pub fn outcomes(language: Language) -> Vec<FilterOption> {
    let all = DecisionFilter::ALL.into_iter().map(DecisionFilter::name);
    all.map(|value| FilterOption { value, word: texts::console::outcome_word(language, value) })
        .collect()
}

/// Parses a day or a minute in the installation's time zone.
fn parse_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let minute = text.parse::<DateTime>();
    let day = || text.parse::<Date>().map(|day| day.to_datetime(jiff::civil::Time::midnight()));
    let moment = minute.or_else(|_| day()).ok()?;
    moment.to_zoned(zone.clone()).ok().map(|moment| moment.timestamp())
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{AuthorKind, Role, UserId, WorkspaceId};

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
    fn another_channel_is_gone_to_with_the_same_filter() {
        let query = |channel: &str| FilterQuery {
            channel: channel.to_owned(),
            gate: "loop".to_owned(),
            before: Some("9".to_owned()),
            ..FilterQuery::default()
        };
        let here = ChannelId::new("tea");
        assert_eq!(query("").other_channel(&here), None);
        assert_eq!(query("tea").other_channel(&here), None);
        assert_eq!(query("attic").other_channel(&here), Some(ChannelId::new("attic")));
        // A cursor has no meaning in another channel.
        assert_eq!(query("attic").address(""), "gate=loop");
    }

    #[test]
    fn one_of_several_users_is_named_by_the_id() {
        let user = "Mio".to_owned();
        let query = FilterQuery { user, before: Some("9".to_owned()), ..FilterQuery::default() };
        let mio = User {
            workspace: WorkspaceId::new("slack:T1"),
            id: UserId::new("U2&3"),
            name: "Mio".into(),
            kind: AuthorKind::Human,
            role: Role::default(),
            zone: None,
        };
        assert_eq!(query.address_of_user(&mio), "person=U2%263");
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
