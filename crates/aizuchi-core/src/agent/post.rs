//! Post: the only act on the world. The claim has committed the piece as being sent; whatever the
//! platform answers, it is said once or not at all (invariant 6).

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, StepError, StepTrace, capped_retry_after};
use crate::chat::MessageId;
use crate::context::Context;
use crate::decision::DecisionResult;
use crate::decision::gate::Gate;
use crate::event::{Claim, DecisionClosing, OnNewMessage, OutboxItem, StepResult};
use crate::platform::PlatformError;
use crate::store::StoreError;

/// How often a piece is offered to a busy platform when somebody waits for it, and when nobody does.
const MAX_OWED_POSTS: u32 = 10;
const MAX_UNSOLICITED_POSTS: u32 = 6;
/// What was said although its answer was lost mostly is there already.
const FIRST_LOOKUP_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// Between the claim of a piece and its call pass moments. After a sleep as long as this, the process may not be
/// the active one any more.
const MAX_SUSPENSION: SignedDuration = SignedDuration::from_secs(10);
/// After this many attempts a piece whose fate stays unknown is given up. They are many, since a
/// process that is killed while it posts leaves such a piece behind each time.
const MAX_OWED_LOOKUPS: u32 = 90;
const MAX_UNSOLICITED_LOOKUPS: u32 = 30;

impl Agent {
    pub(super) async fn post(
        &self,
        claim: &Claim,
        piece: &OutboxItem,
        notes: &mut StepTrace,
    ) -> Result<StepResult, StepError> {
        if piece.is_sending() {
            return self.reconcile(claim, piece).await;
        }
        let typed = match piece.metadata.only_for {
            None => self.simulate_typing(piece).await,
            Some(_) => self.now(),
        };
        let tries = if claim.is_owed { MAX_OWED_POSTS } else { MAX_UNSOLICITED_POSTS };
        let changed = match self.has_changed_since(piece).await {
            // Words that were forgotten meanwhile are no words.
            Ok(changed) => (changed && !piece.is_published()) || piece.text.is_empty(),
            Err(_) if claim.attempt < tries => {
                return Ok(StepResult::NotSent { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        let context = match self.load_context(&piece.conversation).await {
            Ok(context) => context,
            // Nothing has been sent yet, so the piece is a draft again.
            Err(_) if claim.attempt < tries => {
                return Ok(StepResult::NotSent { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(end) = self.check_before_post(claim, piece, &context) {
            if claim.is_owed && matches!(end, StepResult::Silent(_)) {
                // Whoever has asked since the words were found is silenced with them.
                notes.considered = Some(context.revision);
            }
            return Ok(end);
        }
        if changed {
            let why = self
                .persona
                .language
                .pick("a line that it was made from has changed", "元になった発言が変わりました");
            // Whoever is owed an answer gets one that was made anew.
            return Ok(StepResult::Withdrawn { why: why.to_owned() });
        }
        let platform = self.platforms.for_workspace(&piece.conversation.workspace)?;
        if self.now() > typed + MAX_SUSPENSION {
            // It has slept, and another process may have said it since.
            return Ok(StepResult::Retry { due: self.now() });
        }
        match self.clock.timeout(self.settings.post_timeout, platform.post(piece)).await {
            Ok(Ok(posted)) => Ok(StepResult::Posted(posted)),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < tries => {
                let wait = capped_retry_after(retry_after).max(self.backoff(claim));
                Ok(StepResult::NotSent { due: self.now() + wait })
            }
            Ok(Err(PlatformError::Queued { wait })) => {
                Ok(StepResult::Deferred { due: self.now() + wait })
            }
            // Whatever came before, it is looked for before it is given up.
            Ok(Err(PlatformError::OutcomeUnknown(_))) | Err(_) => Ok(StepResult::Retry {
                due: self.now() + platform.settle_time().min(FIRST_LOOKUP_DELAY),
            }),
            Ok(Err(error @ (PlatformError::Busy { .. } | PlatformError::Refused(_)))) => {
                Err(StepError::Permanent { error: error.to_string() })
            }
        }
    }

    /// People see it typing. This comes before the last look, which sees what they do meanwhile.
    /// Gives when it was to be done with that.
    async fn simulate_typing(&self, piece: &OutboxItem) -> Timestamp {
        let Ok(platform) = self.platforms.for_workspace(&piece.conversation.workspace) else {
            return self.now();
        };
        let limit = self.settings.post_timeout;
        let typing = self.clock.timeout(limit, platform.show_typing(piece)).await;
        // A step is reckoned to ask models for longer than this, and a post asks none.
        let typing = typing.unwrap_or_default().min(self.settings.model_timeout);
        let typed = self.now() + typing.max(SignedDuration::ZERO);
        if typing.is_positive() {
            self.clock.sleep_until(typed).await;
        }
        typed
    }

    /// An earlier call may have said it: look, and say it again only if it surely was not said.
    async fn reconcile(&self, claim: &Claim, piece: &OutboxItem) -> Result<StepResult, StepError> {
        let platform = self.platforms.for_workspace(&piece.conversation.workspace)?;
        let settled = piece
            .dispatched_at
            .map_or(self.now(), |dispatched| dispatched + platform.settle_time());
        let looks = if claim.is_owed { MAX_OWED_LOOKUPS } else { MAX_UNSOLICITED_LOOKUPS };
        match self.clock.timeout(self.settings.post_timeout, platform.find_posted(piece)).await {
            Ok(Ok(Some(posted))) => Ok(StepResult::Posted(posted)),
            Ok(Ok(None)) if self.now() < settled => Ok(StepResult::Retry { due: settled }),
            Ok(Ok(None)) if claim.attempt < looks => Ok(StepResult::NotSent { due: self.now() }),
            Ok(Ok(None)) => {
                Err(StepError::Permanent { error: "the platform took it at no attempt".to_owned() })
            }
            Ok(Err(PlatformError::Refused(why))) => Err(StepError::Permanent { error: why }),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < looks => {
                let wait = capped_retry_after(retry_after).max(self.backoff(claim));
                Ok(StepResult::Retry { due: settled.max(self.now() + wait) })
            }
            Ok(Err(PlatformError::Queued { wait })) => {
                Ok(StepResult::Deferred { due: self.now() + wait })
            }
            Ok(Err(_)) | Err(_) if claim.attempt < looks => {
                Ok(StepResult::Retry { due: settled.max(self.now() + self.backoff(claim)) })
            }
            Ok(Err(error)) => Err(StepError::Permanent { error: error.to_string() }),
            Err(_timed_out) => {
                Err(StepError::Permanent { error: "the history could not be read".to_owned() })
            }
        }
    }

    /// Words that were made from a line which was edited or deleted since may repeat it.
    async fn has_changed_since(&self, piece: &OutboxItem) -> Result<bool, StoreError> {
        let notes = &piece.metadata;
        let home = &piece.conversation;
        self.store.has_changed_since(home, notes.seen_revision, &notes.lineage).await
    }

    /// The last check before the act: may it still speak, does anyone still wait for this, and is what
    /// it is about still open? Once a part of it was said, the rest is owed to the room.
    fn check_before_post(
        &self,
        claim: &Claim,
        piece: &OutboxItem,
        context: &Context,
    ) -> Option<StepResult> {
        let facts = self.gate_input(context);
        let notes = &piece.metadata;
        if notes.only_for.is_some() {
            let is_open =
                piece.is_published() || notes.owed.iter().any(|id| context.owed.contains(id));
            return (!is_open).then(|| self.withdraw_retracted());
        }
        if claim.is_owed || piece.is_published() {
            let silenced =
                facts.check_before_answering().settled_by.filter(|gate| *gate != Gate::Budget);
            if let Some(gate) = silenced {
                // Of what was said in parts, the rest is not; that it spoke stays true.
                let has_spoken = piece.id != piece.first_in_draft;
                let ended = if has_spoken { DecisionResult::Spoke } else { DecisionResult::Muted };
                return Some(self.silence_owed(gate, ended, context));
            }
            let is_open =
                piece.is_published() || notes.owed.iter().any(|id| context.owed.contains(id));
            return (!is_open).then(|| self.withdraw_retracted());
        }
        if let Some(gate) = facts.check_before_posting() {
            return Some(StepResult::Silent(self.close_by_gate(gate)));
        }
        let has_moved_on = context.newest_message_revision > notes.seen_revision;
        let course = OnNewMessage::new(facts.mode(), self.settings.wait);
        if has_moved_on && course == OnNewMessage::Restart {
            let why =
                self.persona.language.pick("people went on meanwhile", "その間に会話が進みました");
            return Some(StepResult::Withdrawn { why: why.to_owned() });
        }
        let about = notes.about.as_ref()?;
        if !self.is_message_present(context, about) {
            let why =
                self.persona.language.pick("the line was deleted", "対象の発言が削除されました");
            return Some(StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why)));
        }
        if piece.reaction_to.is_some() {
            return None;
        }
        if context.target_message(about).is_some() && !context.is_open(about) {
            return Some(self.withdraw_answered());
        }
        let is_first = claim.redrafts == 0;
        (has_moved_on && is_first).then(|| StepResult::Redraft { due: self.now() })
    }

    /// In a full window a line may only have scrolled away.
    pub(super) fn is_message_present(&self, context: &Context, line: &MessageId) -> bool {
        let is_full = context.target_messages().len() >= self.settings.limits.channel_messages;
        is_full || context.target_message(line).is_some()
    }
}
