//! Post: the only action with an effect outside the process. The claim has already committed the outbox item as
//! `sending`. Whatever the platform answers, the item is posted at most once (invariant 6).
//!
//! A failed post is retried from here ([`StepResult::RetryUnsent`]), one that fails for good becomes a dead letter, which
//! a user may retry (`flow/dead_letter.rs`), and a post interrupted by a panic is looked up (`runner.rs`).

use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{Message, MessageId, UserId};
use aizuchi_model::context::Context;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, DecisionResult, POST};
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata, OutboxItem};
use aizuchi_model::flow::{Claim, DecisionClosing, OnNewMessage, StepResult};
use aizuchi_model::platform::PlatformError;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

use crate::agent::{StepError, StepTrace, Worker, capped_retry_after};

/// The maximum number of attempts to post while the platform is busy, for an owed answer and for an unsolicited post.
const MAX_OWED_POSTS: u32 = 10;
const MAX_UNSOLICITED_POSTS: u32 = 6;
/// When a post's outcome is unknown, it is usually in the platform's history already.
const FIRST_LOOKUP_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// After a suspension this long (a sleeping laptop, a paused container) another process may have
/// become the active one.
const MAX_SUSPENSION: SignedDuration = SignedDuration::from_secs(10);
/// The number of lookups after which an item with an unknown outcome is given up. The limits are high, since every kill
/// of the process during a post leaves such an item behind.
const MAX_OWED_LOOKUPS: u32 = 90;
const MAX_UNSOLICITED_LOOKUPS: u32 = 30;

impl Worker<'_> {
    pub(super) async fn post(
        &self,
        claim: &Claim,
        item: &OutboxItem,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        // An earlier claim has dispatched it without a known result, so it may have been posted.
        if item.is_sending() {
            let result = self.reconcile(claim, item).await;
            // The next lookup needs to know when the request was made.
            if !matches!(result, Ok(StepResult::Retry { .. } | StepResult::Deferred { .. })) {
                self.dispatches.end(item);
            }
            return result;
        }
        let typing_ended = match item.metadata.only_for {
            None => self.simulate_typing(item).await,
            // Everybody would see the indicator, but only one user the reply.
            Some(_) => self.now(),
        };
        let max_attempts = if claim.is_owed { MAX_OWED_POSTS } else { MAX_UNSOLICITED_POSTS };
        let context = match self.load_context(&item.conversation).await {
            Ok(context) => context,
            // Nothing has been sent yet, so the item goes back to being a draft.
            Err(_) if claim.attempt < max_attempts => {
                return Ok(StepResult::RetryUnsent { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(result) = self.may_still_post(claim, item, &context) {
            if claim.is_owed && matches!(result, StepResult::Silent(_)) {
                // Questions asked since the draft was made are silenced with it.
                trace.seen_revision = Some(context.revision);
            }
            return Ok(result);
        }
        // Checked again, since a backfill may have brought the answer after the draft was made.
        if !item.is_sending() {
            let metadata = &item.metadata;
            let asked: Vec<MessageId> = match metadata.owed.is_empty() {
                true => metadata.about.iter().cloned().collect(),
                false => metadata.owed.iter().map(Owed::stored_id).collect(),
            };
            let archive = &self.command_answers.archive;
            let answered = match archive.answered_in_history(&item.conversation, &asked).await {
                Ok(answered) => answered,
                Err(_) if claim.attempt < max_attempts => {
                    return Ok(StepResult::RetryUnsent { due: self.now() + self.backoff(claim) });
                }
                Err(error) => return Err(error.into()),
            };
            let is_answered = !asked.is_empty() && asked.iter().all(|id| answered.contains(id));
            if is_answered && item.id == item.first_in_draft {
                return Ok(self.close_answered_in_history(metadata.owed.clone()));
            }
            // The store may have lost that this part was posted, too.
            if is_answered {
                let platform = self.platforms.for_workspace(&item.conversation.workspace)?;
                let find = platform.find_posted(item);
                match self.clock.timeout(self.settings.post_timeout, find).await {
                    Ok(Ok(Some(posted))) => return Ok(StepResult::Posted(posted)),
                    Ok(Ok(None)) => {}
                    Ok(Err(_)) | Err(_) if claim.attempt < max_attempts => {
                        let due = self.now() + self.backoff(claim);
                        return Ok(StepResult::RetryUnsent { due });
                    }
                    Ok(Err(_)) | Err(_) => {}
                }
            }
        }
        let platform = self.platforms.for_workspace(&item.conversation.workspace)?;
        let (askers, interval) = (askers_of(item, &context), platform.post_interval());
        let wait = self.user_rate_limit.until_turn(item, askers, interval);
        if wait.is_positive() {
            return Ok(StepResult::Deferred { due: self.now() + wait });
        }
        // Last, so that it sees what was edited or deleted during the other checks.
        let changed = match self.has_changed_since(item).await {
            // The text was emptied because its source was forgotten.
            Ok(changed) => (changed && !item.is_published()) || item.text.is_empty(),
            Err(_) if claim.attempt < max_attempts => {
                return Ok(StepResult::RetryUnsent { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        if changed {
            let why = texts::replies::source_changed(self.persona.language);
            if item.id != item.first_in_draft {
                // The persona has already posted a part of the draft; the rest is dropped.
                return Ok(StepResult::Silent(DecisionClosing {
                    settled: item.metadata.owed.clone(),
                    ..DecisionClosing::new(DecisionResult::Spoke, why)
                }));
            }
            // An owed answer is drafted again.
            return Ok(StepResult::Withdrawn { why: why.to_owned() });
        }
        if self.now() > typing_ended + MAX_SUSPENSION {
            // The process was suspended, and another process may have posted the item in the meantime.
            return Ok(StepResult::Retry { due: self.now() });
        }
        // Before the request, since this step may be dropped while it is in flight.
        self.dispatches.begin(item);
        let answer = self.clock.timeout(self.settings.post_timeout, platform.post(item)).await;
        // If the outcome is unknown, the request may still take effect, so the lookup needs to know when it was made.
        if !matches!(answer, Ok(Err(PlatformError::OutcomeUnknown(_))) | Err(_)) {
            self.dispatches.end(item);
        }
        let error = match &answer {
            Ok(Err(error @ (PlatformError::Busy { .. } | PlatformError::OutcomeUnknown(_)))) => {
                Some(error.to_string())
            }
            Err(_timed_out) => Some("no answer in time".to_owned()),
            // A refusal becomes a dead letter.
            Ok(Ok(_) | Err(PlatformError::Queued { .. } | PlatformError::Refused(_))) => None,
        };
        trace.attempts.extend(error.map(|why| Attempt::failed(POST, "", self.now(), why)));
        match answer {
            Ok(Ok(posted)) => Ok(StepResult::Posted(posted)),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < max_attempts => {
                let asked = capped_retry_after(retry_after);
                self.user_rate_limit.hold(&item.conversation, asked);
                let wait = asked.max(self.backoff(claim));
                Ok(StepResult::RetryUnsent { due: self.now() + wait })
            }
            Ok(Err(PlatformError::Queued { wait })) => {
                Ok(StepResult::Deferred { due: self.now() + wait })
            }
            // The post may have arrived, so it is looked up before it is attempted again.
            Ok(Err(PlatformError::OutcomeUnknown(_))) | Err(_) => Ok(StepResult::Retry {
                due: self.now() + platform.in_flight_timeout().min(FIRST_LOOKUP_DELAY),
            }),
            // It was only to tell somebody that the persona is muted.
            Ok(Err(PlatformError::Refused(_))) if item.metadata.ends == DecisionResult::Muted => {
                Ok(StepResult::Silent(DecisionClosing {
                    settled: item.metadata.owed.clone(),
                    ..self.close_by_gate(Gate::Muted, None)
                }))
            }
            // The persona may not be allowed to react. Users who wait for an answer get it as a message.
            Ok(Err(PlatformError::Refused(why))) if claim.is_owed && item.reaction_to.is_some() => {
                warn!(error = %why, "the platform refuses a reaction; posting its emoji instead");
                Ok(StepResult::Drafted { draft: as_message(item), due: self.now() })
            }
            Ok(Err(error @ (PlatformError::Busy { .. } | PlatformError::Refused(_)))) => {
                Err(StepError::permanent(error.to_string()))
            }
        }
    }

    /// Shows the typing indicator and returns when typing was due to end. This comes before the last check, so the
    /// check sees what users did in the meantime.
    async fn simulate_typing(&self, item: &OutboxItem) -> Timestamp {
        let Ok(platform) = self.platforms.for_workspace(&item.conversation.workspace) else {
            return self.now();
        };
        let limit = self.settings.post_timeout;
        let typing = self.clock.timeout(limit, platform.show_typing(item)).await;
        // The lease allows for model calls, which take longer than this, and a post makes none.
        let typing = typing.unwrap_or_default().min(self.settings.model_timeout);
        let typing_ended = self.now() + typing.max(SignedDuration::ZERO);
        if typing.is_positive() {
            self.clock.sleep_until(typing_ended).await;
        }
        typing_ended
    }

    /// Finds out whether an earlier call has posted the item. It is posted again only if it is certainly missing.
    async fn reconcile(&self, claim: &Claim, item: &OutboxItem) -> Result<StepResult, StepError> {
        let platform = self.platforms.for_workspace(&item.conversation.workspace)?;
        // Before the lookup, since a request may take effect during it.
        let until_settled = self.dispatches.until_settled(item, platform.in_flight_timeout());
        let settled = self.now() + until_settled;
        let max_lookups = if claim.is_owed { MAX_OWED_LOOKUPS } else { MAX_UNSOLICITED_LOOKUPS };
        match self.clock.timeout(self.settings.post_timeout, platform.find_posted(item)).await {
            Ok(Ok(Some(posted))) => Ok(StepResult::Posted(posted)),
            // The request may still take effect, so its absence proves nothing yet.
            Ok(Ok(None)) if until_settled.is_positive() => Ok(StepResult::Retry { due: settled }),
            Ok(Ok(None)) if claim.attempt < max_lookups => {
                Ok(StepResult::RetryUnsent { due: self.now() })
            }
            Ok(Ok(None)) => {
                Err(StepError::permanent("the platform took it at no attempt".to_owned()))
            }
            Ok(Err(PlatformError::Refused(why))) => Err(StepError::permanent(why)),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < max_lookups => {
                let wait = capped_retry_after(retry_after).max(self.backoff(claim));
                Ok(StepResult::Retry { due: settled.max(self.now() + wait) })
            }
            Ok(Err(PlatformError::Queued { wait })) => {
                Ok(StepResult::Deferred { due: self.now() + wait })
            }
            Ok(Err(_)) | Err(_) if claim.attempt < max_lookups => {
                Ok(StepResult::Retry { due: settled.max(self.now() + self.backoff(claim)) })
            }
            Ok(Err(error)) => Err(StepError::permanent(error.to_string())),
            Err(_timed_out) => {
                Err(StepError::permanent("the history could not be read".to_owned()))
            }
        }
    }

    /// Whether a source message of the text was edited or deleted after the draft. The text may repeat it.
    async fn has_changed_since(&self, item: &OutboxItem) -> Result<bool, StoreError> {
        let metadata = &item.metadata;
        let conversation = &item.conversation;
        let revision = metadata.seen_revision.number();
        self.store.has_changed_since(conversation, revision, &metadata.lineage).await
    }

    /// Does the last check before posting: whether the persona may still speak, whether a user still waits for the
    /// answer, and whether the message that it is about is still open. Once a part of the draft is posted, the rest is
    /// posted too.
    fn may_still_post(
        &self,
        claim: &Claim,
        item: &OutboxItem,
        context: &Context,
    ) -> Option<StepResult> {
        let gate_input = self.gate_input(context);
        let metadata = &item.metadata;
        if metadata.is_planned && claim.is_owed {
            // Somebody asked for it, so nothing else has to be open.
            let silenced = gate_input.check_before_answering().closed_by;
            let silenced = silenced.filter(|gate| {
                *gate != Gate::Budget && metadata.only_for.is_none() && !item.is_published()
            });
            return silenced.map(|gate| StepResult::Silent(self.close_by_gate(gate, None)));
        }
        if metadata.only_for.is_some() {
            let is_open =
                item.is_published() || metadata.owed.iter().any(|owed| context.owed.contains(owed));
            return (!is_open).then(|| self.withdraw_retracted());
        }
        if claim.is_owed || item.is_published() {
            // The answer is written, so a budget that is used up by now does not stop it.
            let silenced =
                gate_input.check_before_answering().closed_by.filter(|gate| *gate != Gate::Budget);
            if let Some(gate) = silenced {
                // A gate that closes between two parts stops the rest, but the persona has spoken.
                let has_spoken = item.id != item.first_in_draft;
                let ended = if has_spoken { DecisionResult::Spoke } else { DecisionResult::Muted };
                return Some(self.silence_owed(gate, None, ended, context));
            }
            let is_open =
                item.is_published() || metadata.owed.iter().any(|owed| context.owed.contains(owed));
            return (!is_open).then(|| self.withdraw_retracted());
        }
        let gate_result = gate_input.check_before_posting();
        if let Some(gate) = gate_result.closed_by {
            return Some(StepResult::Silent(self.close_by_gate(gate, gate_result.limit)));
        }
        if gate_input.mode() == Mode::Propose && !metadata.is_approved {
            // The item was drafted before the channel got this mode.
            return Some(StepResult::Silent(self.close_by_gate(Gate::ChannelMode, None)));
        }
        let has_moved_on = !metadata.seen_revision.covers(context.newest_message_revision);
        let on_new_message = OnNewMessage::new(gate_input.mode(), self.settings.wait_settings.wait);
        let is_unasked_plan = metadata.is_planned && !metadata.is_approved;
        if has_moved_on && (on_new_message == OnNewMessage::Restart || is_unasked_plan) {
            let why = texts::replies::users_went_on(self.persona.language);
            return Some(StepResult::Withdrawn { why: why.to_owned() });
        }
        if is_unasked_plan {
            // Nothing is new since its occasion was looked at.
            return None;
        }
        let about = metadata.about.as_ref()?;
        if !self.is_message_present(context, about) {
            let why = texts::replies::message_deleted(self.persona.language);
            return Some(StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why)));
        }
        if item.reaction_to.is_some() {
            return None;
        }
        if !metadata.is_approved
            && let Some(withdrawn) = self.check_other_bots(context, about)
        {
            return Some(withdrawn);
        }
        if let Some(withdrawn) =
            self.check_open_state(claim, context, about, metadata.seen_revision)
        {
            return Some(withdrawn);
        }
        let is_first = claim.redrafts == 0;
        (has_moved_on && is_first).then(|| StepResult::Redraft { due: self.now() })
    }

    /// Whether a message is present. A message that is missing from a full window may only have scrolled out of it.
    pub(super) fn is_message_present(&self, context: &Context, message: &MessageId) -> bool {
        let is_full = context.target_messages().len() >= self.settings.limits.channel_messages;
        is_full || context.target_message(message).is_some()
    }
}

/// Returns the users whom an item answers. A later part of a draft only follows the first one.
fn askers_of(item: &OutboxItem, context: &Context) -> Vec<UserId> {
    match &item.metadata.only_for {
        _ if item.id != item.first_in_draft => Vec::new(),
        Some(user) => vec![user.clone()],
        None => {
            let owed = &item.metadata.owed;
            let is_answered = |message: &&Arc<Message>| owed.iter().any(|it| *it == message.id);
            let answered = context.owed_messages().filter(is_answered);
            answered.map(|message| message.author.id.clone()).collect()
        }
    }
}

/// Turns a reaction into a message that consists of its emoji.
fn as_message(item: &OutboxItem) -> Draft {
    let metadata = DraftMetadata { ends: DecisionResult::Spoke, ..(*item.metadata).clone() };
    Draft { content: DraftContent::Text(vec![item.text.to_string()]), metadata }
}
