//! The rows of a timeline: messages, each with the outcomes of the decisions that end with it.

use std::collections::{HashMap, HashSet};

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{AuthorKind, Channel, MessageId, UserId};
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_model::decision::{AttemptResult, Decision, DecisionId};
use aizuchi_model::persona::Language;
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::texts;
use aizuchi_store::query::{DecisionQuery, FilteredMessages, MessageFilter};
use aizuchi_store::stored_message::StoredMessage;

use crate::console::layout::{TimeView, decision_address};
use crate::console::marking::MarkingView;
use crate::console::quote::kept_text;
use crate::console::reason::reason;
use crate::console::timeline::filter::{Filter, Source};
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

/// The number of messages on a page.
const PAGE: usize = 60;
/// The number of decisions on a page. With their messages, they take more space.
const DECISIONS: usize = 20;
/// The number of search matches that are checked against the rest of the filter.
const CANDIDATES: usize = 1000;

pub struct Rows {
    pub rows: Vec<TimelineRow>,
    pub rest: OmittedRows,
}

/// What a page leaves out.
pub enum OmittedRows {
    /// The page has all rows that pass the filter.
    Nothing,
    /// Older rows. The value is the cursor of their page.
    Older(String),
    /// Matches of a search with lower scores.
    WorseMatches,
}

/// A message and the decisions that end with it.
pub struct TimelineRow {
    pub key: String,
    pub at: TimeView,
    /// `None` if it is hidden from this visitor.
    pub said: Option<MessageText>,
    pub placeholder: &'static str,
    pub is_own: bool,
    pub is_in_thread: bool,
    /// The gate that settled the message when it was heard.
    pub gate: Option<&'static str>,
    pub decisions: Vec<DecisionView>,
    /// The outcome in the lane of silences.
    pub lane: &'static str,
}

pub struct MessageText {
    pub by: String,
    /// The author's id, if another author on the page has the same name.
    pub id: Option<String>,
    pub text: String,
}

/// How a decision ended.
pub struct DecisionView {
    pub address: String,
    pub outcome: &'static str,
    pub word: &'static str,
    pub reason: Option<String>,
    /// The number of superseded attempts.
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
        let (messages, rest) = messages(web, channel, filter).await?;
        let decisions = decisions_of(web, channel, &messages).await?;
        let workspace = &channel.workspace;
        workspaces::record_look(web, access, workspace, Shown::Messages(&messages)).await?;
        workspaces::record_look(web, access, workspace, Shown::Decisions(&decisions)).await?;
        let ids: Vec<DecisionId> = decisions.iter().map(|decision| decision.id).collect();
        let marks = web.archive.marks(&channel.workspace, &ids).await?;
        let shared_names = shared_names(&messages);
        let reader = RowReader { access, channel, language, marks: &marks, shared_names };
        let mut ending: HashMap<&MessageId, Vec<&Decision>> = HashMap::new();
        for decision in &decisions {
            let is_of = |stored: &&StoredMessage| decision.messages.contains(&stored.message.id);
            let last = messages.iter().rev().find(is_of).or_else(|| {
                // The decision's messages are on an older page, but its post is on this one.
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
        Ok(Self { rows: messages.iter().map(row).collect(), rest })
    }
}

/// Returns the messages of the page, and what it leaves out.
async fn messages(
    web: &Web,
    channel: &Channel,
    filter: &Filter,
) -> Result<(Vec<StoredMessage>, OmittedRows), ApiProblem> {
    match &filter.source {
        Source::Nobody | Source::Namesakes(_) => Ok((Vec::new(), OmittedRows::Nothing)),
        Source::Messages { before } => {
            // Fetch one more, to learn whether there is a page before this one.
            let query = FilteredMessages {
                workspace: channel.workspace.clone(),
                channel: channel.id.clone(),
                filter: filter.messages.clone(),
                before: before.clone(),
                limit: PAGE + 1,
            };
            let mut found = web.archive.filtered_messages(&query).await?;
            let is_full = drop_oldest(&mut found, PAGE);
            let first = found.first().filter(|_| is_full);
            let older = first.map(|stored| OmittedRows::Older(stored.message.id.to_string()));
            Ok((found, older.unwrap_or(OmittedRows::Nothing)))
        }
        Source::Decisions { before } => {
            let query = DecisionQuery::Filtered {
                workspace: channel.workspace.clone(),
                channel: channel.id.clone(),
                ended: filter.ended,
                gate: filter.gate,
                messages: filter.messages.clone(),
                before: *before,
                limit: DECISIONS + 1,
            };
            let mut decisions = web.archive.decisions(query).await?;
            let is_full = drop_oldest(&mut decisions, DECISIONS);
            let first = decisions.first().filter(|_| is_full);
            let older = first.map(|decision| OmittedRows::Older(decision.id.0.to_string()));
            let ids = decisions.iter().flat_map(|it| it.messages.iter().chain(&it.posted_messages));
            let ids: Vec<_> = ids.map(|id| (channel.id.clone(), id.clone())).collect();
            let mut found = web.archive.messages_by_id(&channel.workspace, &ids).await?;
            found.retain(|stored| filter.messages.has(stored));
            in_order(&mut found);
            Ok((found, older.unwrap_or(OmittedRows::Nothing)))
        }
        Source::Search(text) => search(web, channel, filter, text).await,
    }
}

/// Keeps the newest `most`. Returns whether there were more.
fn drop_oldest<T>(found: &mut Vec<T>, most: usize) -> bool {
    let surplus = found.len().saturating_sub(most);
    found.drain(..surplus);
    surplus > 0
}

/// Returns the best matches among the messages that pass the filter, oldest first, and whether there may be worse
/// ones.
async fn search(
    web: &Web,
    channel: &Channel,
    filter: &Filter,
    text: &str,
) -> Result<(Vec<StoredMessage>, OmittedRows), ApiProblem> {
    let query = RecallQuery {
        workspace: channel.workspace.clone(),
        visible_from: Some(channel.id.clone()),
        channel: Some(channel.id.clone()),
        text: text.to_owned(),
        before: filter.messages.until,
        limit: CANDIDATES,
    };
    let MessageFilter { author, from, .. } = &filter.messages;
    let mut candidates = web.store.recall(&query).await?;
    // It is unknown whether a match that was not checked would pass the rest of the filter.
    let mut rest = match candidates.len() < CANDIDATES {
        true => OmittedRows::Nothing,
        false => OmittedRows::WorseMatches,
    };
    candidates.retain(|RecalledMessage { message, .. }| {
        author.as_ref().is_none_or(|author| *author == message.author.id)
            && from.is_none_or(|from| message.at >= from)
    });
    let mut ids: Vec<MessageId> = candidates.iter().map(|it| it.message.id.clone()).collect();
    if filter.ended.is_some() || filter.gate.is_some() {
        let (workspace, id) = (channel.workspace.clone(), channel.id.clone());
        let about = DecisionQuery::Messages { workspace, channel: id, messages: ids.clone() };
        let decisions = web.archive.decisions(about).await?.into_iter();
        let wanted: HashSet<MessageId> = decisions
            .filter(|decision| filter.has(decision))
            .flat_map(|decision| [decision.messages, decision.posted_messages].concat())
            .collect();
        ids.retain(|id| wanted.contains(id));
    }
    let mut found = Vec::new();
    // Most matches pass the filter.
    for ids in ids.chunks(2 * PAGE) {
        let ids: Vec<_> = ids.iter().map(|id| (channel.id.clone(), id.clone())).collect();
        let stored = web.archive.messages_by_id(&channel.workspace, &ids).await?.into_iter();
        found.extend(stored.filter(|stored| filter.messages.has(stored)));
        if found.len() > PAGE {
            found.truncate(PAGE);
            rest = OmittedRows::WorseMatches;
            break;
        }
    }
    in_order(&mut found);
    Ok((found, rest))
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

/// Makes rows that this visitor may read.
struct RowReader<'a> {
    access: &'a Access,
    channel: &'a Channel,
    language: Language,
    marks: &'a [DecisionMark],
    shared_names: HashSet<&'a str>,
}

/// Returns the names that more than one of the authors has.
fn shared_names(messages: &[StoredMessage]) -> HashSet<&str> {
    let mut authors: HashMap<&str, &UserId> = HashMap::new();
    let mut shared = HashSet::new();
    for stored in messages {
        let (name, id) = (&*stored.author_name, &stored.message.author.id);
        if authors.insert(name, id).is_some_and(|other| other != id) {
            shared.insert(name);
        }
    }
    shared
}

impl RowReader<'_> {
    fn row(&self, stored: &StoredMessage, decisions: &[&Decision]) -> TimelineRow {
        let message = &stored.message;
        let said = || MessageText {
            by: stored.author_name.to_string(),
            id: self
                .shared_names
                .contains(&*stored.author_name)
                .then(|| message.author.id.to_string()),
            text: kept_text(stored, self.language),
        };
        let decisions: Vec<DecisionView> = decisions.iter().map(|it| self.decision(it)).collect();
        TimelineRow {
            key: message.id.to_string(),
            at: TimeView::new(message.at),
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
        let mark = self.marks.iter().find(|mark| mark.decision == decision.id);
        DecisionView {
            address: decision_address(&self.channel.workspace, decision.id),
            outcome,
            word: texts::console::outcome_word(self.language, outcome),
            reason: reason(decision, self.access, self.language),
            superseded: decision.attempts.iter().filter(|it| overtaken(it.result)).count(),
            marking: MarkingView::new(decision, mark, self.access, self.language),
        }
    }
}
