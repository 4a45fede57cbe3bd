//! Several companions in one channel: of the persona and other bots that speak unasked, only one speaks about a
//! message. All compute the same order independently. The first speaks without an extra wait; each other one waits
//! longer, and stays silent once another has spoken.

use std::collections::BTreeSet;

use aizuchi_model::chat::{MessageId, UserId, to_single_line};
use aizuchi_model::companions;
use aizuchi_model::context::Context;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::flow::{DecisionClosing, StepResult};
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::{self, Name};
use jiff::SignedDuration;

use crate::agent::Worker;

impl Worker<'_> {
    /// Returns the other companions of a context's channel that the settings name.
    pub(super) fn companions_in(&self, context: &Context) -> BTreeSet<UserId> {
        let rules = self.gate_input(context).rules;
        let mut companions: BTreeSet<UserId> = rules.companions.iter().flatten().cloned().collect();
        if let Some(own) = self.own_user(context) {
            companions.remove(&own);
        }
        companions
    }

    /// Returns how much longer the persona waits because of companions. The order depends on the newest message by a
    /// human, not on the message that the persona speaks about, because companions may want to speak about different
    /// messages at the same time.
    pub(super) fn companion_wait(&self, context: &Context) -> SignedDuration {
        let gate_input = self.gate_input(context);
        // The user who approves the proposal sees what was said in the meantime.
        if context.companions.is_empty() || gate_input.mode() == Mode::Propose {
            return SignedDuration::ZERO;
        }
        let (Some(own), Some(newest)) = (self.own_user(context), context.newest_human_message())
        else {
            return SignedDuration::ZERO;
        };
        let channel = &context.conversation.channel;
        let rank = companions::rank(channel, &newest.id, &own, &context.companions);
        gate_input.rules.companion_window * i32::try_from(rank).unwrap_or(i32::MAX)
    }

    /// Withdraws an unsolicited reply to a message if another companion has spoken since, or if companions have used up
    /// their turns.
    pub(super) fn check_other_bots(
        &self,
        context: &Context,
        about: &MessageId,
    ) -> Option<StepResult> {
        let gate = self.gate_input(context).check_other_bots(about)?;
        let language = self.persona.language;
        let why = match context.companion_since(about) {
            Some(message) => {
                let name = to_single_line(context.display_name(&message.author.id));
                texts::replies::companion_spoke(language, Name(&name))
            }
            None => texts::judging::gate_reason(language, gate).to_owned(),
        };
        let closing = DecisionClosing::new(DecisionResult::Dropped, why);
        Some(StepResult::Silent(DecisionClosing { gate: Some(gate), ..closing }))
    }

    fn own_user(&self, context: &Context) -> Option<UserId> {
        self.platforms.for_workspace(&context.conversation.workspace).ok()?.own_user()
    }
}
