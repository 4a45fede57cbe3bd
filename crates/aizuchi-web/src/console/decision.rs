//! The page of a decision: its subject, the gates that it passed, what the models were asked and answered, and the
//! outcome.

mod sections;

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{AuthorKind, MessageId};
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_model::decision::proposal::Proposal;
use aizuchi_model::decision::welcome::Rating;
use aizuchi_model::decision::{Attempt, AttemptResult, Decision, DecisionId, ModelExchange};
use aizuchi_model::memory::asker::named;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::ledger::{self, DecisionDetails, LabeledValue};
use aizuchi_store::figures::{ANSWER_WINDOW, WorkspacePeriod};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange, ProposalQuery};
use aizuchi_store::stored_message::StoredMessage;
use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::response::Html;
use jiff::{SignedDuration, Timestamp};

use crate::access::Visitor;
use crate::console::decision::sections::{ShownSection, sections};
use crate::console::layout::{
    Layout, Section, TimeView, channel_address, judge_again_address, render,
};
use crate::console::marking::MarkingView;
use crate::console::reason::reason;
use crate::language::PageLanguage;
use crate::room::decision::absent;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "console/decision.html")]
struct DecisionPage<'a> {
    layout: Layout<'a>,
    number: i64,
    /// The workspace's label.
    workspace: String,
    channel: String,
    address: String,
    is_in_thread: bool,
    outcome: &'static str,
    word: &'static str,
    is_open: bool,
    why: Option<String>,
    /// What is hidden from the visitor, and why.
    withheld: Option<&'static str>,
    marking: MarkingView,
    facts: Vec<LabeledValue>,
    verdict: Vec<LabeledValue>,
    /// The rules that did not apply, in order.
    passed: Vec<&'static str>,
    /// The rule that settled it.
    settled: Option<&'static str>,
    considered: Vec<MessageView>,
    superseded: usize,
    calls: Vec<CallView>,
    may_read_models: bool,
    /// The address of the page that asks its judge again, for visitors who may do so.
    judge_again: Option<String>,
    said: Vec<MessageView>,
    aftermath: Option<LabeledValue>,
    /// How welcome it was, once that is known.
    rating: Option<String>,
    after: Vec<MessageView>,
}

struct MessageView {
    key: String,
    at: TimeView,
    /// How long it was written after the newest message of the decision.
    later: Option<String>,
    /// `None` if it is hidden from this visitor.
    by: Option<String>,
    text: String,
    is_own: bool,
    links: Vec<LinkView>,
    reactions: Vec<String>,
}

/// A message that another one may reply to.
struct LinkView {
    percent: String,
    /// Whether the platform itself states the link.
    is_certain: bool,
    text: String,
}

/// A model call.
struct CallView {
    number: usize,
    title: String,
    is_failure: bool,
    facts: Vec<LabeledValue>,
    /// `None` if it is no longer kept, or not shown.
    exchange: Option<ExchangeView>,
}

struct ExchangeView {
    tokens: u64,
    sections: Vec<ShownSection>,
    answer: Option<String>,
}

/// The maximum number of messages after the decision that are shown.
const AFTER: usize = 5;
/// The maximum number of messages that are searched for them: those of other threads are skipped.
const LOOKED_AT: usize = 40;
/// Links that are less probable are not shown.
const LEAST_LINK: f32 = 0.05;
/// The maximum number of links per message.
const MAX_LINKS: usize = 3;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    place: Result<Path<(String, i64)>, PathRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Path((workspace, id)) = place.map_err(|_| absent())?;
    let workspace = workspaces::find(&web, Some(&workspace)).await?;
    let query = DecisionQuery::One { workspace: workspace.clone(), id: DecisionId(id) };
    let decision = web.archive.decisions(query).await?.pop().ok_or_else(absent)?;
    let access = &visitor.access;
    let mut exchanges = web.archive.exchanges(decision.id).await?;
    let marks = web.archive.marks(&workspace, &[decision.id]).await?;
    let rating = rating(&web, &decision, marks.first(), language).await?;
    let approval = proposal_facts(&web, access, &decision, language).await?;
    let mut details = DecisionDetails::load(&*web.archive, decision).await?;
    let nearby = NearbyMessages::read(&web, access, &details, language).await?;
    let may_read_models = access.may_read_models(&workspace);
    match may_read_models {
        true => {
            let shown = Shown::Decisions(std::slice::from_ref(&details.decision));
            workspaces::record_look(&web, access, &workspace, shown).await?;
        }
        false => exchanges.fill(None),
    }
    let (considered, said, after) = nearby.views(&details);
    if !may_read_models {
        details.decision = details.decision.without_texts();
    }
    let is_hidden = |stored: &StoredMessage| !access.may_read_message(stored);
    details.about.take_if(|stored| is_hidden(stored));
    details.answer.take_if(|stored| is_hidden(stored));
    let decision = &details.decision;
    let outcome = decision.ended.map_or("open", |ended| ended.name());
    let calls = decision.attempts.iter().zip(exchanges).enumerate();
    let is_overtaken = |attempt: &&Attempt| attempt.result == AttemptResult::Superseded;
    let channel = &decision.conversation.channel;
    let may_judge_again = may_read_models
        && access.may_order()
        && decision.attempts.iter().any(|attempt| &*attempt.verb == "judge");
    render(&DecisionPage {
        layout: Layout::new(&web, &visitor, language, Section::Channels),
        number: id,
        workspace: workspaces::label(&web, &workspace, language),
        channel: match access.may_name(details.visibility) {
            true => details.channel_name.to_string(),
            false => channel.to_string(),
        },
        address: channel_address(&workspace, channel),
        is_in_thread: decision.conversation.thread.is_some(),
        outcome,
        word: texts::console::outcome_word(language, outcome),
        is_open: decision.closed.is_none(),
        why: reason(decision, access, language),
        withheld: withheld(access, may_read_models, &details, language),
        marking: MarkingView {
            is_open: true,
            ..MarkingView::new(decision, marks.first(), access, language)
        },
        facts: facts(decision, language).into_iter().chain(approval).collect(),
        verdict: details.verdict_values(language),
        passed: passed(decision, language),
        settled: decision.gate.map(|gate| texts::ledger::gate(language, gate)),
        considered,
        superseded: decision.attempts.iter().filter(is_overtaken).count(),
        calls: calls
            .map(|(index, (attempt, exchange))| {
                call(index + 1, attempt, exchange, language, &web.currency)
            })
            .collect(),
        may_read_models,
        judge_again: may_judge_again.then(|| judge_again_address(&workspace, decision.id)),
        said,
        aftermath: details.aftermath(language),
        rating,
        after,
    })
}

/// How welcome the reply or silence was, and why. `None` if it was not the persona's own choice, or while it is not
/// known what happened next.
async fn rating(
    web: &Web,
    decision: &Decision,
    mark: Option<&DecisionMark>,
    language: Language,
) -> Result<Option<String>, ApiProblem> {
    let period = WorkspacePeriod {
        workspace: decision.conversation.workspace.clone(),
        since: decision.opened,
        until: decision.opened + SignedDuration::from_millis(1),
        offset: SignedDuration::ZERO,
    };
    let known = web.clock.now() - ANSWER_WINDOW;
    let found = web.archive.aftermaths(&period).await?;
    let found = found.iter().find(|choice| choice.decision == decision.id && choice.at <= known);
    Ok(found.map(|choice| {
        let rated = choice.rate();
        let Rating { welcome, reasons } = rated.marked(mark.map(|mark| mark.mark));
        let reasons = reasons.iter().map(|reason| texts::welcome::reason(language, *reason));
        let reasons = reasons.collect::<Vec<_>>().join(texts::welcome::separator(language));
        let welcome = texts::welcome::rating(language, rated.choice, welcome);
        texts::welcome::rated(language, welcome, &reasons)
    }))
}

/// Returns what is hidden from this visitor.
fn withheld(
    access: &Access,
    may_read_models: bool,
    details: &DecisionDetails,
    language: Language,
) -> Option<&'static str> {
    let messages = details.considered.iter().chain(&details.posted_messages);
    let reads_all = messages.clone().all(|stored| access.may_read_message(stored));
    match (may_read_models, reads_all, access) {
        (true, ..) => None,
        (false, _, Access::ThisMachine) => Some(texts::console::withheld_here(language)),
        (false, true, Access::Public | Access::SignedIn(_)) => {
            Some(texts::console::models_withheld(language))
        }
        (false, false, Access::Public | Access::SignedIn(_)) => {
            Some(texts::console::withheld(language))
        }
    }
}

fn facts(decision: &Decision, language: Language) -> Vec<LabeledValue> {
    let mut facts = vec![LabeledValue::new_time(texts::ledger::opened(language), decision.opened)];
    let closed = texts::ledger::closed(language);
    facts.extend(decision.closed.map(|at| LabeledValue::new_time(closed, at)));
    if decision.is_addressed {
        let owed = match decision.closed {
            None => texts::console::owed(language),
            Some(_) => texts::console::was_owed(language),
        };
        facts.push(LabeledValue::new(texts::console::asked(language), owed));
    }
    let Some(evaluation) = &decision.evaluation else { return facts };
    let mode = texts::ledger::mode(language, evaluation.mode);
    facts.push(LabeledValue::new(texts::ledger::mode_heading(language), mode));
    let heading = texts::ledger::state_heading(language);
    facts.extend(
        evaluation
            .conversation_state
            .map(|state| LabeledValue::new(heading, texts::ledger::state(language, state))),
    );
    facts
}

/// Returns what was decided about the proposed text, and that text if another one was posted in its place.
async fn proposal_facts(
    web: &Web,
    access: &Access,
    decision: &Decision,
    language: Language,
) -> Result<Vec<LabeledValue>, ApiProblem> {
    let workspace = decision.conversation.workspace.clone();
    let may_read_models = access.may_read_models(&workspace);
    let (workspace, decision) = (Some(workspace), Some(decision.id));
    let query = ProposalQuery { workspace, decision, before: None, limit: 1 };
    let found = web.archive.proposals(&query, web.clock.now()).await?.pop();
    let Some(Proposal { state, decided: Some((by, _)), original, .. }) = found else {
        return Ok(Vec::new());
    };
    let what = texts::console::proposal_state(language, state);
    let told = match (access.may_order(), by.is_empty()) {
        (false, _) => what.to_owned(),
        (true, true) => {
            texts::console::decided_by(language, what, texts::console::this_machine(language))
        }
        (true, false) => texts::console::decided_by(language, what, named(&by)),
    };
    let original = original.filter(|_| may_read_models);
    let heading = texts::console::proposal_heading(language);
    let proposed = texts::console::proposed_text(language);
    Ok(std::iter::once(LabeledValue::new(heading, told))
        .chain(original.map(|original| LabeledValue::new(proposed, original.to_string())))
        .collect())
}

/// Returns the rules that did not apply, in order.
fn passed(decision: &Decision, language: Language) -> Vec<&'static str> {
    let passed = decision.evaluation.iter().flat_map(|evaluation| &evaluation.passed_gates);
    let passed = passed.filter(|gate| decision.gate != Some(**gate));
    passed.map(|gate| texts::ledger::gate(language, *gate)).collect()
}

fn call(
    number: usize,
    attempt: &Attempt,
    exchange: Option<ModelExchange>,
    language: Language,
    currency: &str,
) -> CallView {
    let exchange = exchange.map(|exchange| {
        let sections = sections(&exchange.prompt);
        ExchangeView {
            tokens: sections.iter().map(|section| section.tokens).sum(),
            sections,
            answer: exchange.answer.map(|answer| answer.to_string()),
        }
    });
    CallView {
        number,
        title: ledger::call_title(attempt, language),
        is_failure: attempt.result == AttemptResult::Failed,
        facts: ledger::call_values(attempt, language, currency),
        exchange,
    }
}

/// The messages around a decision, and what they reply to.
struct NearbyMessages<'a> {
    access: &'a Access,
    language: Language,
    links: HashMap<MessageId, MessageLinks>,
    /// What the messages may reply to, besides each other.
    parents: HashMap<MessageId, StoredMessage>,
    after: Vec<StoredMessage>,
}

impl<'a> NearbyMessages<'a> {
    /// Reads the messages. Reads of private ones are recorded.
    async fn read(
        web: &Web,
        access: &'a Access,
        details: &DecisionDetails,
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let conversation = &details.decision.conversation;
        let (workspace, channel) = (&conversation.workspace, &conversation.channel);
        let ids = &details.decision.messages;
        let links = web.archive.links(workspace, channel, ids).await?;
        let links: HashMap<MessageId, MessageLinks> = links.into_iter().collect();
        let mut parents = HashMap::new();
        for (parent, _) in links.values().flat_map(likely_parents) {
            if !parents.contains_key(parent) {
                let found = web.archive.message(workspace, channel, parent).await?;
                parents.extend(found.map(|found| (parent.clone(), found)));
            }
        }
        let after = messages_after(web, details).await?;
        let shown = details.considered.iter().chain(&details.posted_messages);
        let shown: Vec<StoredMessage> =
            shown.chain(parents.values()).chain(&after).cloned().collect();
        workspaces::record_look(web, access, workspace, Shown::Messages(&shown)).await?;
        Ok(Self { access, language, links, parents, after })
    }

    /// The messages that were considered, those that were posted, and those of others afterwards.
    fn views(
        &self,
        details: &DecisionDetails,
    ) -> (Vec<MessageView>, Vec<MessageView>, Vec<MessageView>) {
        let newest = details.considered.iter().map(|stored| stored.message.at).max();
        let views = |messages: &[StoredMessage], since: Option<Timestamp>| {
            messages.iter().map(|stored| self.view(stored, since)).collect::<Vec<_>>()
        };
        (
            views(&details.considered, None),
            views(&details.posted_messages, newest),
            views(&self.after, newest),
        )
    }

    fn view(&self, stored: &StoredMessage, since: Option<Timestamp>) -> MessageView {
        let message = &stored.message;
        let can_read = self.access.may_read_message(stored);
        let later = since.map(|since| message.at.duration_since(since));
        let later = later.filter(|later| *later >= SignedDuration::ZERO);
        let reactions = stored.reactions.iter().filter(|_| can_read);
        MessageView {
            key: message.id.to_string(),
            at: TimeView::new(message.at),
            later: later.map(|later| ledger::format_duration(later, self.language)),
            by: can_read.then(|| stored.author_name.to_string()),
            text: match can_read {
                true => ledger::message_text(stored, self.language),
                false => texts::console::text_withheld(self.language).to_owned(),
            },
            is_own: message.author.kind == AuthorKind::Persona,
            links: self.links.get(&message.id).map_or(Vec::new(), |links| self.link_views(links)),
            reactions: reactions
                .map(|group| format!("{} {}", group.emoji, group.users.len()))
                .collect(),
        }
    }

    fn link_views(&self, links: &MessageLinks) -> Vec<LinkView> {
        let is_certain = links.source == LinkSource::Platform;
        let view = |probability: f32, text: String| LinkView {
            percent: format!("{:.0} %", probability * 100.0),
            is_certain,
            text,
        };
        let begins = (links.begins >= LEAST_LINK)
            .then(|| (links.begins, texts::console::begins(self.language).to_owned()));
        let parents = likely_parents(links).map(|(parent, probability)| {
            let readable = self.parents.get(parent).filter(|it| self.access.may_read_message(it));
            let text = match readable {
                Some(stored) => texts::console::replies_to(
                    self.language,
                    &stored.author_name,
                    &ledger::message_text(stored, self.language),
                ),
                None => texts::console::replies_to_hidden(self.language).to_owned(),
            };
            (probability, text)
        });
        let mut likely: Vec<(f32, String)> = begins.into_iter().chain(parents).collect();
        likely.sort_by(|one, other| other.0.total_cmp(&one.0));
        likely.truncate(MAX_LINKS);
        likely.into_iter().map(|(probability, text)| view(probability, text)).collect()
    }
}

/// Returns the messages that a message probably replies to.
fn likely_parents(links: &MessageLinks) -> impl Iterator<Item = (&MessageId, f32)> {
    let parents = links.parents.iter().map(|(parent, probability)| (parent, *probability));
    parents.filter(|(_, probability)| *probability >= LEAST_LINK)
}

/// Returns the next messages of others in the conversation, or in reply to what was posted.
async fn messages_after(
    web: &Web,
    details: &DecisionDetails,
) -> Result<Vec<StoredMessage>, ApiProblem> {
    let decision = &details.decision;
    let newest = details.considered.iter().map(|stored| stored.message.at).max();
    let Some(newest) = newest.filter(|_| decision.closed.is_some()) else { return Ok(Vec::new()) };
    let conversation = &decision.conversation;
    let query = MessageQuery {
        workspace: conversation.workspace.clone(),
        channel: conversation.channel.clone(),
        thread: None,
        range: MessageRange::AfterTime(newest),
        limit: LOOKED_AT,
    };
    let mut found = web.archive.messages(query).await?;
    found.retain(|stored| {
        let thread = &stored.message.conversation.thread;
        let is_here = *thread == conversation.thread;
        let is_under = thread.as_ref().is_some_and(|parent| {
            decision.posted_messages.contains(parent) || decision.messages.contains(parent)
        });
        let is_known = decision.messages.contains(&stored.message.id)
            || decision.posted_messages.contains(&stored.message.id);
        (is_here || is_under) && !is_known
    });
    found.truncate(AFTER);
    Ok(found)
}
