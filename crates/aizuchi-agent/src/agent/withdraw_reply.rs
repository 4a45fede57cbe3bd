//! Withdraw: ends a reply that is no longer needed, because the message that it answers was changed, retracted or taken
//! up.

use aizuchi_model::chat::{MessageId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::{ConversationAnalysis, OpenState};
use aizuchi_model::context::quarrel::quarrel_state;
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::flow::{Claim, StepResult};
use aizuchi_model::memory::{Lineage, MessageRef};
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::{self, Name};

use crate::agent::{StepError, Worker};

impl Worker<'_> {
    /// Withdraws the reply if the message that the judge wanted to answer was changed or has been taken up. If that is
    /// unclear, the judge looks again.
    pub(super) async fn check_intent(
        &self,
        claim: &Claim,
        context: &Context,
    ) -> Result<Option<StepResult>, StepError> {
        let Some(intent) = &context.intent else { return Ok(None) };
        let Some(about) = &intent.about else { return Ok(None) };
        if !self.is_message_present(context, about) {
            return Ok(Some(self.withdraw_answered()));
        }
        if let Some(withdrawn) = self.check_other_bots(context, about) {
            return Ok(Some(withdrawn));
        }
        if let Some(withdrawn) = self.check_open_state(claim, context, about, intent.seen_revision)
        {
            return Ok(Some(withdrawn));
        }
        let message = MessageRef(context.conversation.channel.clone(), about.clone());
        let lineage = Lineage { messages: vec![message], ..Lineage::default() };
        let (conversation, revision) = (&context.conversation, intent.seen_revision.number());
        let has_changed = self.store.has_changed_since(conversation, revision, &lineage).await?;
        Ok(has_changed.then(|| self.withdraw_answered()))
    }

    /// Withdraws an unsolicited reply to `about` if that message was taken up. `seen_revision` is what the model has
    /// seen: while nothing has been written since, its verdict stands. If it is unclear whether the message was taken
    /// up, the judge looks again; if it has already done so, the more probable case counts. A quarrel that a
    /// facilitator speaks about is taken up by none of the people in it.
    pub(super) fn check_open_state(
        &self,
        claim: &Claim,
        context: &Context,
        about: &MessageId,
        seen_revision: SeenRevision,
    ) -> Option<StepResult> {
        let message = context.target_message(about)?;
        let has_moved_on = !seen_revision.covers(context.newest_message_revision);
        let is_in_thread =
            context.is_answered_in_thread(message) || context.is_left_to_thread(message);
        if !has_moved_on && !is_in_thread {
            return None;
        }
        let language = self.persona.language;
        let gate_input = self.gate_input(context);
        let is_facilitator = gate_input.mode() == Mode::Facilitator;
        let min_messages = gate_input.rules.facilitation.min_messages;
        let thread_length = context.conversation_history.thread(about).len();
        let state = context.intent.as_ref().and_then(|intent| intent.conversation_state);
        let is_tense = is_facilitator && state.is_some_and(ConversationState::is_tense);
        let may_look_again = claim.second_looks == 0 && (is_tense || !is_facilitator);
        let open_state = match is_tense {
            true => quarrel_state(context, message, seen_revision),
            // The judge has read the others, and wants to speak all the same: an answer may be wrong.
            false => ConversationAnalysis::new(context)
                .open_state_since(about, |message| context.is_heard_since(message, seen_revision)),
        };
        let why = match open_state {
            OpenState::Open => return None,
            // A facilitator does not speak in a thread before it has enough messages.
            OpenState::InThread if is_facilitator && thread_length < min_messages => return None,
            OpenState::ProbablyOpen | OpenState::ProbablyTakenUp if may_look_again => {
                return Some(StepResult::LookAgain { due: self.now() });
            }
            OpenState::ProbablyOpen => return None,
            OpenState::ProbablyTakenUp if is_tense => {
                texts::replies::probably_stepped_in(language).to_owned()
            }
            OpenState::ProbablyTakenUp => texts::replies::probably_taken_up(language).to_owned(),
            OpenState::InThread => texts::replies::goes_on_in_thread(language).to_owned(),
            OpenState::TakenUp(None) => texts::replies::asker_is_content(language).to_owned(),
            OpenState::TakenUp(Some((user, probability))) => {
                let name = to_single_line(context.display_name(&user));
                texts::replies::taken_up_by(language, Name(&name), probability)
            }
        };
        Some(StepResult::Withdrawn { why })
    }

    fn withdraw_answered(&self) -> StepResult {
        let why = texts::replies::answered_or_changed(self.persona.language);
        StepResult::Withdrawn { why: why.to_owned() }
    }

    pub(super) fn withdraw_retracted(&self) -> StepResult {
        let why = texts::replies::question_withdrawn(self.persona.language);
        StepResult::Withdrawn { why: why.to_owned() }
    }
}
