//! The page of what is stuck, and of the program's health.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::question::QuestionSubject;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{Channel, ChannelId, ConversationId, WorkspaceId};
use aizuchi_model::decision::consent::{Consent, ConsentId, ConsentState};
use aizuchi_model::decision::proposal::{Proposal, ProposalId, ProposalState};
use aizuchi_model::decision::trust::{TrustOffer, TrustOfferId};
use aizuchi_model::memory::asker::named;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::response::{Html, Redirect};
use jiff::Timestamp;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::health::{self, Health, ModelHealth, WaitingMemory, WaitingStep};
use crate::console::layout::{
    Layout, Section, TimeView, address_with, channel_address, decision_address, memory_address,
    render,
};
use crate::language::PageLanguage;
use crate::own_page::{self, OwnPage};
use crate::refusal::Refusal;
use crate::trust::TrustCard;
use crate::{ApiProblem, Web, consents, deciders, models, proposals, trust, views, workspaces};

#[derive(Template)]
#[template(path = "console/queue.html")]
struct QueuePage<'a> {
    layout: Layout<'a>,
    /// The workspaces to choose from: the id and the label of each.
    workspaces: Vec<(String, String)>,
    /// The chosen workspace, or empty.
    workspace: String,
    /// The address at which the lists begin, and to which forms return.
    address: String,
    /// The offers to speak without approval.
    offers: Vec<TrustCard>,
    proposals: Vec<ProposalCard>,
    decided: Vec<DecidedView>,
    calls: Vec<CallCard>,
    decided_calls: Vec<DecidedView>,
    steps: Vec<WaitingView>,
    /// Set if not all steps are shown.
    steps_cut: Option<String>,
    /// Who judges now. Visitors who are limited to places do not learn it.
    judging: Option<String>,
    models: Vec<ModelView>,
    /// The problems of the models in use, as far as the program knows them without a call.
    problems: Vec<String>,
    health: Health,
    size: String,
    last_backup: Option<TimeView>,
    /// `None` if none is scheduled.
    next_backup: Option<TimeView>,
}

/// The name and the link of a place.
struct PlaceView {
    name: String,
    address: String,
    /// The workspace's label.
    workspace: String,
}

/// A proposed text, and the forms that decide on it.
struct ProposalCard {
    id: i64,
    place: PlaceView,
    /// The page of its decision.
    decision: String,
    why: Option<String>,
    confidence: Option<String>,
    expires: TimeView,
    /// `None` if the visitor may not read it, and so may not decide.
    text: Option<String>,
}

/// A call of a tool that may write, and the form that decides on it.
struct CallCard {
    id: i64,
    place: PlaceView,
    /// The page of the decision that led to it.
    decision: String,
    server: String,
    tool: String,
    expires: TimeView,
    /// All arguments. `None` if the visitor may not read them, and so may not decide.
    arguments: Option<String>,
}

/// A proposal or a call that was decided, or has lapsed.
struct DecidedView {
    id: i64,
    place: PlaceView,
    decision: String,
    state: &'static str,
    /// The tool, if it is a call.
    what: String,
    by: String,
    /// `None` if it lapsed before its time: when, is not recorded.
    at: Option<TimeView>,
}

struct WaitingView {
    key: String,
    place: PlaceView,
    verb: &'static str,
    is_owed: bool,
    is_now: bool,
    due: TimeView,
}

struct ModelView {
    name: String,
    in_use: bool,
    failing_since: Option<TimeView>,
    calls: String,
    last_error: Option<String>,
}

/// The maximum number of decided proposals that are shown. The API returns more.
const MAX_DECIDED: usize = 10;
/// The maximum number of steps that are shown. The API returns all.
const MAX_STEPS: usize = 200;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueQuery {
    workspace: String,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<QueueQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(QueueQuery::default(), |Query(query)| query);
    let access = &visitor.access;
    let only = workspaces::find_only(&web, Some(&query.workspace)).await?;
    let health = health::read(&web, only.clone()).await?;
    let known = workspaces::all(&web).await?;
    let places = PlaceLabels::read(&web, access, &known, language).await?;
    let (open, decided): (Vec<Proposal>, Vec<Proposal>) =
        proposals::read(&web, access, only.clone())
            .await?
            .into_iter()
            .partition(|proposal| proposal.state == ProposalState::Open);
    let (open_calls, decided_calls): (Vec<Consent>, Vec<Consent>) =
        consents::read(&web, access, only.clone())
            .await?
            .into_iter()
            .partition(|consent| consent.state == ConsentState::Open);
    let asked = only.as_ref().map_or(&known[..], std::slice::from_ref);
    let offers = trust::open(&web, access, asked).await?;
    let offer = |offer: &TrustOffer| {
        let name = places.view(&offer.workspace, &offer.channel).name;
        TrustCard::new(offer, &format!("#{name}"), language)
    };
    let card = |proposal: &Proposal| proposal_card(proposal, &places, language);
    let workspace = only.as_ref().map_or("", WorkspaceId::as_str);
    let now = views::seconds(places.now);
    let problems = models::problems(&web, language).into_iter();
    let due: Vec<&WaitingMemory> = due_memories(&health.memories, now).collect();
    let all_steps = health.steps.len() + due.len();
    let steps = health.steps.iter().take(MAX_STEPS);
    let steps = steps.map(|step| (step.due, waiting(step, &places, now, language)));
    let due = due.into_iter().take(MAX_STEPS);
    let due = due.map(|memory| (memory.due, waiting_memory(memory, &places, language)));
    let mut steps: Vec<(f64, WaitingView)> = steps.chain(due).collect();
    steps.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    render(&QueuePage {
        layout: Layout::new(&web, &visitor, language, Section::Queue),
        workspaces: workspaces::choices(&web, &known, language),
        workspace: query.workspace,
        offers: offers.iter().map(offer).collect(),
        proposals: open.iter().map(card).collect(),
        decided: decided
            .iter()
            .take(MAX_DECIDED)
            .map(|proposal| decided_view(proposal, &places, language))
            .collect(),
        calls: open_calls.iter().map(|call| call_card(call, &places)).collect(),
        decided_calls: decided_calls
            .iter()
            .take(MAX_DECIDED)
            .map(|call| decided_call(call, &places, language))
            .collect(),
        steps_cut: (all_steps > MAX_STEPS)
            .then(|| texts::console::next_steps(language, MAX_STEPS, all_steps)),
        steps: steps.into_iter().take(MAX_STEPS).map(|(_, step)| step).collect(),
        judging: (web.scope == AccessScope::Everything).then(|| web.models.judgment()),
        models: health.models.iter().map(|it| model(it, language)).collect(),
        problems: problems.map(|it| format!("{}: {}", it.model, it.told)).collect(),
        size: format!("{:.1} MB", health.size_bytes as f64 / 1e6),
        last_backup: health.last_backup.map(TimeView::from_seconds),
        next_backup: web.metrics.next_backup().map(|due| TimeView::new(due.max(web.clock.now()))),
        address: address_with("/console/queue", &[("workspace", workspace)]),
        health,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideForm {
    proposal: Option<i64>,
    /// Only without a proposal.
    call: Option<i64>,
    /// An offer to speak without approval, only without both.
    offer: Option<i64>,
    /// `say`, `edit`, `not_now` or `never`; of a call `allow_once` or `refuse`; of an offer `by_itself` or `not_yet`.
    choice: String,
    /// Only for the choice `edit`.
    text: Option<String>,
    /// The page to return to.
    #[serde(default, deserialize_with = "own_page::if_own")]
    back: Option<OwnPage>,
}

/// Decides a proposal or a call, or answers an offer.
pub async fn decide(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    form: Result<Form<DecideForm>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Form(form) = form.map_err(|_| Refusal::IncompleteForm)?;
    let subject = match (form.proposal, form.call, form.offer) {
        (Some(id), None, None) => QuestionSubject::Proposal(ProposalId(id)),
        (None, Some(id), None) => QuestionSubject::Call(ConsentId(id)),
        (None, None, Some(id)) => QuestionSubject::Trust(TrustOfferId(id)),
        _ => return Err(Refusal::IncompleteForm.into()),
    };
    let chosen = (form.choice.as_str(), form.text);
    web.apply(deciders::decide(&web, &visitor.access, None, subject, chosen).await?).await?;
    Ok(OwnPage::redirect(form.back.as_ref(), "/console/queue"))
}

/// The time, the labels of all workspaces, and the names of all channels that the visitor may know.
struct PlaceLabels {
    workspaces: HashMap<WorkspaceId, String>,
    channels: HashMap<(WorkspaceId, ChannelId), String>,
    now: Timestamp,
}

impl PlaceLabels {
    async fn read(
        web: &Web,
        access: &Access,
        known: &[WorkspaceId],
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let label = |it: &WorkspaceId| (it.clone(), workspaces::label(web, it, language));
        let labels = known.iter().map(label).collect();
        let mut names = HashMap::new();
        for workspace in known {
            let channels = web.archive.channels(workspace).await?.into_iter();
            let named = channels.filter(|channel| access.may_name(channel.visibility));
            names
                .extend(named.map(|Channel { workspace, id, name, .. }| {
                    ((workspace, id), name.to_string())
                }));
        }
        Ok(Self { workspaces: labels, channels: names, now: web.clock.now() })
    }

    fn view(&self, workspace: &WorkspaceId, channel: &ChannelId) -> PlaceView {
        let name = self.channels.get(&(workspace.clone(), channel.clone()));
        PlaceView {
            name: name.cloned().unwrap_or_else(|| channel.to_string()),
            address: channel_address(workspace, channel),
            workspace: self.label(workspace),
        }
    }

    fn label(&self, workspace: &WorkspaceId) -> String {
        let label = self.workspaces.get(workspace);
        label.cloned().unwrap_or_else(|| workspace.to_string())
    }
}

fn proposal_card(proposal: &Proposal, places: &PlaceLabels, language: Language) -> ProposalCard {
    let ConversationId { workspace, channel, .. } = &proposal.conversation;
    ProposalCard {
        id: proposal.id.0,
        decision: decision_address(workspace, proposal.decision),
        why: proposal.why.as_ref().map(ToString::to_string),
        confidence: proposal.confidence.map(|value| texts::console::confidence(language, value)),
        expires: TimeView::new(proposal.expires),
        text: proposal.text.as_ref().map(ToString::to_string),
        place: places.view(workspace, channel),
    }
}

fn decided_view(proposal: &Proposal, places: &PlaceLabels, language: Language) -> DecidedView {
    let ConversationId { workspace, channel, .. } = &proposal.conversation;
    let (by, at) = match &proposal.decided {
        Some((by, at)) => (named(by).to_owned(), *at),
        None => (String::new(), proposal.expires),
    };
    DecidedView {
        id: proposal.id.0,
        place: places.view(workspace, channel),
        decision: decision_address(workspace, proposal.decision),
        state: texts::console::proposal_state(language, proposal.state),
        what: String::new(),
        by,
        at: (at <= places.now).then(|| TimeView::new(at)),
    }
}

fn call_card(consent: &Consent, places: &PlaceLabels) -> CallCard {
    let ConversationId { workspace, channel, .. } = &consent.conversation;
    CallCard {
        id: consent.id.0,
        place: places.view(workspace, channel),
        decision: decision_address(workspace, consent.decision),
        server: consent.server().to_owned(),
        tool: consent.own_name().to_owned(),
        expires: TimeView::new(consent.expires),
        arguments: consent.arguments.as_ref().map(ToString::to_string),
    }
}

fn decided_call(consent: &Consent, places: &PlaceLabels, language: Language) -> DecidedView {
    let ConversationId { workspace, channel, .. } = &consent.conversation;
    let (by, at) = match &consent.decided {
        Some((by, at)) => (named(by).to_owned(), *at),
        None => (String::new(), consent.expires),
    };
    DecidedView {
        id: consent.id.0,
        place: places.view(workspace, channel),
        decision: decision_address(workspace, consent.decision),
        state: texts::consents::state(language, consent.state),
        what: consent.tool.to_string(),
        by,
        at: (at <= places.now).then(|| TimeView::new(at)),
    }
}

fn waiting(step: &WaitingStep, places: &PlaceLabels, now: f64, language: Language) -> WaitingView {
    let channel = ChannelId::new(step.channel.as_str());
    let thread = step.thread.as_deref().unwrap_or_default();
    WaitingView {
        key: format!("{} {channel} {thread}", step.workspace),
        place: places.view(&step.workspace, &channel),
        verb: texts::console::pending_verb(language, step.verb),
        is_owed: step.owed,
        is_now: step.in_progress || step.due <= now,
        due: TimeView::from_seconds(step.due),
    }
}

/// Returns the memories that are being made or are due. The others wait for more messages in their place.
fn due_memories(memories: &[WaitingMemory], now: f64) -> impl Iterator<Item = &WaitingMemory> {
    memories.iter().filter(move |memory| memory.in_progress || memory.due <= now)
}

fn waiting_memory(memory: &WaitingMemory, places: &PlaceLabels, language: Language) -> WaitingView {
    let WaitingMemory { workspace, scope, channel, thread, term, .. } = memory;
    let address = memory_address(workspace, channel.as_ref());
    let place = match channel {
        Some(channel) => PlaceView { address, ..places.view(workspace, channel) },
        None => PlaceView {
            name: texts::memories::everywhere(language).to_owned(),
            address,
            workspace: places.label(workspace),
        },
    };
    let channel = channel.as_ref().map_or("", |channel| channel.as_str());
    let thread = thread.as_ref().map_or("", |thread| thread.as_str());
    WaitingView {
        key: format!("{scope} {} {workspace} {channel} {thread}", term.name()),
        place,
        verb: texts::console::pending_verb(language, "remember"),
        is_owed: false,
        is_now: true,
        due: TimeView::from_seconds(memory.due),
    }
}

fn model(health: &ModelHealth, language: Language) -> ModelView {
    ModelView {
        name: health.model.to_string(),
        in_use: health.in_use,
        failing_since: health.failing_since.map(TimeView::from_seconds),
        calls: texts::console::failures(language, health.failures, health.calls),
        last_error: health.last_error.as_ref().map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::context::seen_revision::SeenRevision;
    use aizuchi_model::decision::DecisionId;
    use aizuchi_model::memory::Lineage;

    use super::*;

    #[test]
    fn a_lapse_is_dated_only_once_its_time_is_up() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let call = |decided| Consent {
            id: ConsentId(1),
            decision: DecisionId(1),
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            messages: Vec::new(),
            is_addressed: true,
            tool: "nursery__plant".into(),
            arguments: None,
            lineage: Lineage::default(),
            seen_revision: SeenRevision::from(1),
            made: at(0),
            expires: at(60),
            state: ConsentState::Lapsed,
            decided,
            until: None,
            answer: None,
            is_settled: true,
            revision: 1,
        };
        for (decided, now, expected) in [
            (Some(("olga".into(), at(10))), 20, Some(10)),
            (None, 60, Some(60)),
            // The tool is gone, or what it was for.
            (None, 59, None),
        ] {
            let (workspaces, channels) = (HashMap::new(), HashMap::new());
            let places = PlaceLabels { workspaces, channels, now: at(now) };
            let told = decided_call(&call(decided), &places, Language::En).at.map(|at| at.iso);
            assert_eq!(told, expected.map(|second| at(second).to_string()), "{now}");
        }
    }
}
