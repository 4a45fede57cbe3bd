//! The rows of a timeline: messages, and behind the last message of each decision how it ended.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::web::access::Access;
use crate::web::console::layout::{Moment, decision_address};
use crate::web::console::marking::MarkingView;
use crate::web::console::timeline::filter::{Filter, Wanted};
use crate::web::{ApiProblem, Web, workspaces};
use aizuchi_core::chat::{AuthorKind, Channel, MessageId, Visibility};
use aizuchi_core::decision::mark::DecisionMark;
use aizuchi_core::decision::{AttemptResult, Decision, DecisionId};
use aizuchi_core::persona::Language;
use aizuchi_core::platform::local::workspace_id;
use aizuchi_core::recall::RecallQuery;
use aizuchi_core::store::{DecisionQuery, MessageQuery, MessageRange, PrivateText, StoredMessage};
use aizuchi_core::texts;

/// How many messages or decisions are on one page.
const PAGE: usize = 100;
/// With their messages, decisions take more room.
const DECISIONS: usize = 40;

pub struct Rows {
    pub rows: Vec<Row>,
    /// Where the page before this one ends.
    pub older: Option<String>,
}

/// A message and the decisions that end with it.
pub struct Row {
    pub key: String,
    pub at: Moment,
    /// `None`: not shown to this visitor.
    pub said: Option<Said>,
    pub placeholder: &'static str,
    pub is_own: bool,
    pub is_in_thread: bool,
    /// The rule that settled the message when it was heard.
    pub gate: Option<&'static str>,
    pub decisions: Vec<DecisionView>,
    /// The outcome in the lane of silences.
    pub lane: &'static str,
}

pub struct Said {
    pub by: String,
    pub text: String,
}

/// How a decision ended.
pub struct DecisionView {
    pub address: String,
    pub outcome: &'static str,
    pub word: &'static str,
    pub gate: Option<&'static str>,
    pub why: Option<String>,
    /// How many attempts were overtaken.
    pub superseded: usize,
    pub marking: MarkingView,
}

impl Rows {
    pub async fn read(
        web: &Web,
        access: &Access,
        channel: &Channel,
        filter: &Filter,
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let (mut messages, mut older) = messages(web, access, channel, filter).await?;
        // What is before the beginning is not wanted, so there is nothing older either.
        let is_before =
            |stored: &StoredMessage| filter.from.is_some_and(|from| stored.message.at < from);
        if messages.first().is_some_and(is_before) {
            older = None;
        }
        messages.retain(|stored| filter.has(stored.message.at));
        let decisions = decisions_of(web, channel, &messages).await?;
        record_reads(web, access, channel, &messages, &decisions).await?;
        let ids: Vec<DecisionId> = decisions.iter().map(|decision| decision.id).collect();
        let marks = web.archive.marks(&channel.workspace, &ids).await?;
        let reader = RowReader { access, channel, language, marks: &marks };
        let mut ending: HashMap<&MessageId, Vec<&Decision>> = HashMap::new();
        for decision in &decisions {
            let is_of = |stored: &&StoredMessage| decision.messages.contains(&stored.message.id);
            let last = messages.iter().rev().find(is_of).or_else(|| {
                // Of an older page; what it said is on this one.
                let is_said =
                    |stored: &&StoredMessage| decision.posted_messages.contains(&stored.message.id);
                messages.iter().find(is_said)
            });
            if let Some(last) = last {
                ending.entry(&last.message.id).or_default().push(decision);
            }
        }
        let row = |stored: &StoredMessage| {
            let decisions = ending.get(&stored.message.id).map_or(&[][..], Vec::as_slice);
            reader.row(stored, decisions)
        };
        Ok(Self { rows: messages.iter().map(row).collect(), older })
    }
}

/// The messages of the page, and where the one before it ends.
async fn messages(
    web: &Web,
    access: &Access,
    channel: &Channel,
    filter: &Filter,
) -> Result<(Vec<StoredMessage>, Option<String>), ApiProblem> {
    let first_of = |messages: &[StoredMessage]| {
        let is_full = messages.len() >= PAGE;
        is_full.then(|| messages.first().map(|stored| stored.message.id.to_string())).flatten()
    };
    match &filter.wanted {
        Wanted::Nobody => Ok((Vec::new(), None)),
        Wanted::Messages { before } => {
            let range = match (before, filter.until) {
                (Some(before), _) => MessageRange::Before(before.clone()),
                (None, Some(until)) => MessageRange::BeforeTime(until),
                (None, None) => MessageRange::Newest,
            };
            let found = web.archive.messages(query(channel, range)).await?;
            let older = first_of(&found);
            Ok((found, older))
        }
        Wanted::Author { author, before } => {
            let before = match before {
                Some(id) => {
                    let message = web.archive.message(&channel.workspace, &channel.id, id).await?;
                    message.map(|stored| stored.message.at)
                }
                None => filter.until,
            };
            let before = before.unwrap_or(Timestamp::MAX);
            let mut found =
                web.archive.messages_of_author(author, &channel.id, before, PAGE).await?;
            let older = first_of(&found);
            found.retain(|stored| access.may_read_message(stored));
            Ok((found, older))
        }
        Wanted::Decisions { ended, gate, before } => {
            let query = DecisionQuery::Filtered {
                workspace: channel.workspace.clone(),
                channel: channel.id.clone(),
                ended: *ended,
                gate: *gate,
                before: *before,
                limit: DECISIONS,
            };
            let decisions = web.archive.decisions(query).await?;
            let is_full = decisions.len() >= DECISIONS;
            let older = decisions.first().filter(|_| is_full).map(|it| it.id.0.to_string());
            let mut found = Vec::new();
            for decision in &decisions {
                for id in decision.messages.iter().chain(&decision.posted_messages) {
                    found.extend(web.archive.message(&channel.workspace, &channel.id, id).await?);
                }
            }
            in_order(&mut found);
            Ok((found, older))
        }
        Wanted::Search(text) => {
            let query = RecallQuery {
                workspace: channel.workspace.clone(),
                visible_from: Some(channel.id.clone()),
                channel: Some(channel.id.clone()),
                text: text.clone(),
                before: filter.until,
                limit: PAGE,
            };
            let mut found = Vec::new();
            for recalled in web.store.recall(&query).await? {
                let id = &recalled.message.id;
                found.extend(web.archive.message(&channel.workspace, &channel.id, id).await?);
            }
            found.retain(|stored| access.may_read_message(stored));
            in_order(&mut found);
            Ok((found, None))
        }
    }
}

fn query(channel: &Channel, range: MessageRange) -> MessageQuery {
    let (workspace, id) = (channel.workspace.clone(), channel.id.clone());
    MessageQuery { workspace, channel: id, thread: None, range, limit: PAGE }
}

fn in_order(messages: &mut Vec<StoredMessage>) {
    messages.sort_by(|one, other| {
        (one.message.at, &one.message.id).cmp(&(other.message.at, &other.message.id))
    });
    messages.dedup_by(|one, other| one.message.id == other.message.id);
}

async fn decisions_of(
    web: &Web,
    channel: &Channel,
    messages: &[StoredMessage],
) -> Result<Vec<Decision>, ApiProblem> {
    let messages = messages.iter().map(|stored| stored.message.id.clone()).collect();
    let (workspace, id) = (channel.workspace.clone(), channel.id.clone());
    let query = DecisionQuery::Messages { workspace, channel: id, messages };
    Ok(web.archive.decisions(query).await?)
}

async fn record_reads(
    web: &Web,
    access: &Access,
    channel: &Channel,
    messages: &[StoredMessage],
    decisions: &[Decision],
) -> Result<(), ApiProblem> {
    workspaces::record_messages_read(web, access, messages).await?;
    let is_private = channel.visibility != Visibility::Public;
    let has_reasons = !decisions.is_empty() && access.may_read_models(&channel.workspace);
    if is_private && has_reasons && channel.workspace != workspace_id() {
        let place = (&channel.workspace, &channel.id);
        workspaces::record_read(web, access, place, PrivateText::Decisions).await?;
    }
    Ok(())
}

/// Makes rows that this visitor may read.
struct RowReader<'a> {
    access: &'a Access,
    channel: &'a Channel,
    language: Language,
    marks: &'a [DecisionMark],
}

impl RowReader<'_> {
    fn row(&self, stored: &StoredMessage, decisions: &[&Decision]) -> Row {
        let message = &stored.message;
        let said = || Said {
            by: stored.author_name.to_string(),
            text: match stored.is_deleted {
                true => texts::console::deleted(self.language).to_owned(),
                false => message.text.to_string(),
            },
        };
        let decisions: Vec<DecisionView> = decisions.iter().map(|it| self.decision(it)).collect();
        Row {
            key: message.id.to_string(),
            at: Moment::new(message.at),
            said: self.access.may_read_message(stored).then(said),
            placeholder: texts::console::text_withheld(self.language),
            is_own: message.author.kind == AuthorKind::Persona,
            is_in_thread: message.conversation.thread.is_some(),
            gate: stored
                .gate
                .filter(|_| message.author.kind != AuthorKind::Persona)
                .map(|gate| texts::ledger::gate(self.language, gate)),
            lane: decisions.last().map_or("", |decision| decision.outcome),
            decisions,
        }
    }

    fn decision(&self, decision: &Decision) -> DecisionView {
        let outcome = decision.ended.map_or("open", |ended| ended.name());
        let overtaken = |result: AttemptResult| matches!(result, AttemptResult::Superseded);
        let may_read = self.access.may_read_models(&self.channel.workspace);
        let mark = self.marks.iter().find(|mark| mark.decision == decision.id);
        DecisionView {
            address: decision_address(&self.channel.workspace, decision.id),
            outcome,
            word: texts::console::outcome_word(self.language, outcome),
            gate: decision.gate.map(|gate| texts::ledger::gate(self.language, gate)),
            why: decision.why.clone().filter(|why| may_read && !why.is_empty()),
            superseded: decision.attempts.iter().filter(|it| overtaken(it.result)).count(),
            marking: MarkingView::new(decision, mark, self.access, self.language),
        }
    }
}
