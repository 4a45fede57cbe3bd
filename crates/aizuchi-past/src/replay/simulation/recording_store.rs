//! The store of a replay: it keeps everything in memory and records the agent's decisions.

use std::sync::Arc;

use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::message_structure::{SharedStructure, StructureCache};
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_model::event::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::event::{Claim, Event, Outcome, StepResult};
use aizuchi_model::memory::Lineage;
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::volatile::VolatileStore;
use aizuchi_store::{CompletionReceipt, HearReceipt, InboxEntry, Store, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::replay::learning::ReplayLearning;
use crate::replay::record::{PostRecord, Recorder, ReplayEventKind};
use crate::replay::rows::IdHash;
use crate::replay::timing::UnsolicitedPost;

/// Delegates to the volatile store and records claims, contexts and outcomes.
pub(super) struct RecordingStore {
    pub(super) inner: Arc<VolatileStore>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) learning: Arc<ReplayLearning>,
    pub(super) clock: Clock,
    pub(super) talks: Arc<StructureCache>,
}

#[async_trait]
impl Store for RecordingStore {
    async fn hear(&self, entry: InboxEntry) -> Result<HearReceipt, StoreError> {
        self.inner.hear(entry).await
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        let claims = self.inner.claim(now, lease, limit).await?;
        let mut record = self.recorder.lock();
        for claim in &claims {
            let conversation = claim.event.conversation();
            record.decisions.insert(conversation, claim.decision);
            match claim.second_looks {
                0 => record.second_looks.remove(conversation),
                _ => record.second_looks.insert(conversation),
            }
        }
        Ok(claims)
    }

    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError> {
        self.inner.reserve(call, now).await
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        self.inner.book(call).await
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        self.record(claim, &outcome);
        self.learning.record(claim, &outcome);
        self.inner.complete(claim, outcome, now).await
    }

    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> Result<bool, StoreError> {
        self.inner.has_changed_since(conversation, revision, lineage).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_ready().await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.inner.revisions()
    }

    fn erasures(&self) -> watch::Receiver<u64> {
        self.inner.erasures()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        self.inner.recall(query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        let talk = SharedStructure::cached_in(self.talks.clone());
        let context = Context { talk, ..self.inner.context(conversation, window).await? };
        let newest = context.target_messages().last().map(|message| message.id.clone());
        self.recorder.lock().considered.insert(conversation, newest);
        Ok(context)
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.inner.order(order, now).await
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.inner.has_heard(workspace, channel, message, client_message_id).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        self.inner.orders(workspace).await
    }
}

impl RecordingStore {
    fn record(&self, claim: &Claim, outcome: &Outcome) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let conversation = claim.event.conversation();
        let thread = IdHash::from_thread(conversation.thread.as_ref().map(MessageId::as_str));
        let is_superseded_judgment = |attempt: &Attempt| {
            &*attempt.verb == PromptVerb::Judge.name()
                && attempt.result == AttemptResult::Superseded
        };
        if outcome.attempts.iter().any(is_superseded_judgment)
            && let Some(call) = record.newest_call(thread)
        {
            call.is_superseded = true;
        }
        record.failed += usize::from(is_failure(&outcome.result));
        record.add_moment(claim, outcome);
        let Some(kind) = event_kind(&outcome.result, &claim.event) else { return };
        record.gated += usize::from(kind == ReplayEventKind::Gate);
        if kind == ReplayEventKind::Speak {
            let (at, heard_rows) = (record.now, record.heard_rows);
            let is_second_look = claim.second_looks > 0;
            record.all_posts.push(PostRecord { at, thread, heard_rows, is_second_look });
        }
        record.reacted += usize::from(kind == ReplayEventKind::React);
        let mut event = record.event(kind, conversation);
        if let StepResult::Silent(closing) = &outcome.result {
            event.gate = closing.gate.map(|gate| gate.name());
        }
        if let Event::Post(item) = &claim.event {
            let owed = || item.metadata.owed.last().map(Owed::stored_id);
            event.about = item.metadata.about.clone().or_else(owed);
        }
        if let (ReplayEventKind::Speak, Event::Post(item)) = (kind, &claim.event)
            && !claim.is_owed
            && item.id == item.first_in_draft
        {
            let about = item.metadata.about.as_ref().map(|about| IdHash::new(about.as_str()));
            let at = record.now;
            record.unsolicited_posts.push(UnsolicitedPost { at, thread, about });
        }
        record.write(&event);
    }
}

fn is_failure(result: &StepResult) -> bool {
    match result {
        StepResult::Silent(closing) => closing.ended == DecisionResult::Failed,
        StepResult::Failed { .. } => true,
        StepResult::Join { .. }
        | StepResult::React { .. }
        | StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::Posted(_)
        | StepResult::Withdrawn { .. }
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::RetryUnsent { .. }
        | StepResult::Superseded => false,
    }
}

/// Returns the kind of event that is written for the result of a step, if any.
fn event_kind(result: &StepResult, event: &Event) -> Option<ReplayEventKind> {
    match result {
        StepResult::Silent(closing) if closing.gate.is_some() => Some(ReplayEventKind::Gate),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Dropped => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Withdrawn { .. } => Some(ReplayEventKind::Dropped),
        // A reply became doubtful, and the judge is called again.
        StepResult::LookAgain { .. } if !matches!(event, Event::Judge(_)) => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Posted(_) => match event {
            Event::Post(item) if item.reaction_to.is_some() => Some(ReplayEventKind::React),
            Event::Post(_) | Event::Judge(_) | Event::Reply(_) => Some(ReplayEventKind::Speak),
        },
        StepResult::Superseded => Some(ReplayEventKind::Cancelled),
        StepResult::Failed { .. } => Some(ReplayEventKind::Failed),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Failed => {
            Some(ReplayEventKind::Failed)
        }
        StepResult::Silent(_)
        | StepResult::Join { .. }
        | StepResult::React { .. }
        | StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::RetryUnsent { .. } => None,
    }
}
