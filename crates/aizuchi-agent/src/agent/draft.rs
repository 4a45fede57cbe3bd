//! Draft: turns a text, a reaction or an apology into a result that the store can commit, with its reason in the
//! ledger.

use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{Message, MessageId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::flow::StepResult;
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata, ProposedDraft};
use aizuchi_model::memory::Lineage;
use aizuchi_model::texts::{self, Name};
use aizuchi_structure::cues::Cues;
use aizuchi_structure::request::{leads_up_to, points_back};
use jiff::{SignedDuration, Timestamp};

use crate::agent::Worker;

/// A message longer before or after a request than this does not belong to it.
const LONGEST_LEAD: SignedDuration = SignedDuration::from_mins(2);

impl Worker<'_> {
    /// Drafts an apology. Its ledger row names the problem with the model, if that is known.
    pub(super) fn apologize_for(
        &self,
        problem: Option<ModelProblem>,
        context: &Context,
    ) -> StepResult {
        let apology = self.draft_apology(context);
        match problem {
            Some(problem) => {
                let why = texts::models::problem(self.persona.language, problem);
                with_reason(apology, why.to_owned())
            }
            None => apology,
        }
    }

    pub(super) fn draft_apology(&self, context: &Context) -> StepResult {
        let text = texts::replies::apology(self.persona.language).to_owned();
        let posts = DraftContent::Text(vec![text]);
        self.draft(context, posts, Lineage::default(), DecisionResult::Failed)
    }

    pub(super) fn draft(
        &self,
        context: &Context,
        content: DraftContent,
        lineage: Lineage,
        ends: DecisionResult,
    ) -> StepResult {
        let is_answer = matches!(ends, DecisionResult::Spoke | DecisionResult::Reacted);
        let metadata = DraftMetadata {
            // The prompt contained all owed messages that still exist; the others are no longer owed an answer.
            owed: context.owed.clone(),
            also_answers: if is_answer { also_answered(context) } else { Vec::new() },
            about: context.intent.as_ref().and_then(|intent| intent.about.clone()),
            leaves_open: left_open(context),
            lineage,
            seen_revision: context.revision.into(),
            ..DraftMetadata::new(ends, self.draft_reason(context, ends))
        };
        StepResult::Drafted { draft: Draft { content, metadata }, due: self.now() }
    }

    /// If a reply consists only of an emoji that the channel allows, returns it as a reaction to the only message it
    /// answers.
    pub(super) fn as_reaction(&self, context: &Context, text: &str) -> Option<DraftContent> {
        let [message] = context.messages_to_answer()[..] else { return None };
        let reactions = &self.gate_input(context).rules.reactions;
        let emoji = reactions.iter().find(|emoji| **emoji == text.trim())?.clone();
        Some(DraftContent::Reaction { emoji, on: message.id.clone() })
    }

    /// Turns a draft into a proposal, which a user has to approve.
    pub(super) fn as_proposal(&self, result: StepResult) -> StepResult {
        match result {
            StepResult::Drafted { draft, .. } => StepResult::Proposed(ProposedDraft {
                draft,
                expires: self.now() + self.settings.proposal_lifetime,
            }),
            result => result,
        }
    }

    fn draft_reason(&self, context: &Context, ends: DecisionResult) -> String {
        let language = self.persona.language;
        if ends == DecisionResult::Failed {
            return texts::replies::no_answer_found(language).to_owned();
        }
        let owed: Vec<&Arc<Message>> = context.owed_messages().collect();
        let asked = owed.iter().find(|message| asks(message));
        match (asked.or(owed.first()), &context.intent) {
            (Some(message), _) => self.owed_reason(message, context),
            (None, Some(intent)) => intent.reason.clone(),
            (None, None) => String::new(),
        }
    }

    /// Explains why this message is owed an answer.
    fn owed_reason(&self, message: &Message, context: &Context) -> String {
        let language = self.persona.language;
        let name = to_single_line(context.display_name(&message.author.id));
        if asks(message) {
            texts::replies::asked_by(language, Name(&name))
        } else if names_with_mark(&message.text, &self.persona.name) {
            texts::replies::mentioned_by(language, Name(&name))
        } else {
            texts::replies::spoken_to_by(language, Name(&name))
        }
    }
}

fn asks(message: &Message) -> bool {
    Cues::from_text(&message.text).contains(Cues::ASKS)
}

/// Whether a text mentions this name as users see it: `@Aizuchi`.
fn names_with_mark(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    ['@', '＠'].iter().any(|mark| text.contains(&format!("{mark}{name}")))
}

/// Returns the other messages that were judged with the one that an unsolicited reply is about, and that still call for a
/// word of their own.
fn left_open(context: &Context) -> Vec<MessageId> {
    let about = context.intent.as_ref().and_then(|intent| intent.about.as_ref());
    let about = about.and_then(|about| context.target_message(about));
    // Each such post answers one of the new messages, so that there are fewer every time.
    let is_unasked = context.owed_messages().next().is_none();
    let about = about.filter(|about| is_unasked && context.new_messages.contains(&about.id));
    let Some(about) = about else { return Vec::new() };
    let analysis = ConversationAnalysis::new(context);
    let new = context.target_messages().iter().filter(|message| {
        message.is_human()
            && message.author.id != about.author.id
            && context.new_messages.contains(&message.id)
    });
    let open = new.filter(|message| analysis.waits_beside(message, about));
    open.map(|message| message.id.clone()).collect()
}

/// Returns the messages right before those that are owed an answer by which their authors only led up to them, and those
/// right behind them, which the draft has seen.
fn also_answered(context: &Context) -> Vec<MessageId> {
    let target = context.target_messages();
    let mut answered = Vec::new();
    for asked in context.owed_messages() {
        let index = target.iter().position(|message| message.id == asked.id).unwrap_or_default();
        let points_back = asked.attachments.is_empty() && points_back(&asked.text);
        let before = target[..index].iter().rev().enumerate().take_while(|(back, message)| {
            message.author == asked.author
                && asked.at.duration_since(message.at) <= LONGEST_LEAD
                && ((*back == 0 && points_back) || leads_up_to(&message.text, &asked.text))
        });
        answered.extend(before.map(|(_, message)| message.id.clone()));
        let behind = target.iter().skip(index + 1).take_while(|message| {
            message.author == asked.author
                && message.at.duration_since(asked.at) <= LONGEST_LEAD
                && adds_to_request(message)
        });
        answered.extend(behind.map(|message| message.id.clone()));
    }
    answered
}

/// Whether a message right behind a request of its author only adds to it: it is said to nobody else and tells no trouble.
fn adds_to_request(message: &Message) -> bool {
    let cues = Cues::from_text(&message.text);
    message.mentions.is_empty() && !cues.intersects(Cues::TO_ALL | Cues::TROUBLE)
}

/// Replaces a draft's reason.
pub(super) fn with_reason(result: StepResult, why: String) -> StepResult {
    match result {
        StepResult::Drafted { mut draft, due } => {
            draft.metadata.why = why;
            StepResult::Drafted { draft, due }
        }
        result => result,
    }
}

/// Replaces a draft's due time.
pub(super) fn with_due(result: StepResult, due: Timestamp) -> StepResult {
    match result {
        StepResult::Drafted { draft, .. } => StepResult::Drafted { draft, due },
        result => result,
    }
}

/// Returns the same draft, which also settles what else was owed.
pub(super) fn with_settled(result: StepResult, settled: Vec<Owed>) -> StepResult {
    match result {
        StepResult::Drafted { mut draft, due } => {
            // What it answers stays last: platforms put a post below the newest message that it answers.
            draft.metadata.only_settled = settled.len();
            let answered = std::mem::replace(&mut draft.metadata.owed, settled);
            draft.metadata.owed.extend(answered);
            StepResult::Drafted { draft, due }
        }
        result => result,
    }
}
