//! When to post unasked. A delay is the due time of a step, so a new message can cancel it and it survives a restart.

use aizuchi_model::clock::{duration_from_seconds, seeded_random};
use aizuchi_model::context::Context;
use aizuchi_model::decision::Judgment;
use aizuchi_model::flow::{Claim, StepResult};
use aizuchi_model::rhythm::answer_pace::{answer_delay, typing_time};
use aizuchi_model::rhythm::tempo::Tempo;
use aizuchi_model::rules::{Mode, PostTiming};
use jiff::{SignedDuration, Timestamp};

use crate::agent::Worker;

/// How long before the planned time the reply is drafted: a model call takes seconds, and typing takes time.
const HEAD_START: SignedDuration = SignedDuration::from_secs(25);

impl Worker<'_> {
    /// Returns the result of a verdict to join in. If the judge names a delay, that is the delay; for `null`, the
    /// timing setting decides.
    pub(super) fn schedule_reply(
        &self,
        claim: &Claim,
        judgment: Judgment,
        context: &Context,
    ) -> StepResult {
        let (now, max_delay) = (self.now(), duration_from_seconds(self.settings.max_delay_seconds));
        let gate_input = self.gate_input(context);
        let timing = self.settings.post_timing(&context.conversation.workspace, gate_input.rules);
        // The user who approves the proposal adds a delay of their own.
        let is_proposed = gate_input.mode() == Mode::Propose;
        let post_at = match (judgment.delay_seconds, timing) {
            (Some(_), _) | (None, PostTiming::Immediate) => None,
            (None, PostTiming::HumanLike) if is_proposed => None,
            (None, PostTiming::HumanLike) => {
                let from = self.begin_of_delay(claim, context);
                Some(from + self.human_delay(&judgment, context, max_delay, from))
            }
        };
        let wait = self.companion_wait(context);
        let post_at = post_at.map(|post_at| post_at + wait);
        let due = match (judgment.delay_seconds, post_at) {
            (Some(delay), _) => now + duration_from_seconds(f64::from(delay)).min(max_delay) + wait,
            (None, Some(post_at)) => now.max(post_at - HEAD_START),
            // Without a delay or human-like timing, the reply is due at once.
            (None, None) => now + wait,
        };
        let judgment = Judgment { post_at, ..judgment };
        StepResult::Join { judgment, state: context.state_hash(), due }
    }

    /// Returns when the delay begins: now or, if there are other companions, when the judgment was due, which is the
    /// same for all of them, however long their models take.
    fn begin_of_delay(&self, claim: &Claim, context: &Context) -> Timestamp {
        if context.companions.is_empty() {
            return self.now();
        }
        let newest = context.newest_human_message();
        newest.map_or(claim.due, |message| claim.due.max(message.at))
    }

    /// Returns how much longer a person would take to answer, at the pace of the target's messages.
    fn human_delay(
        &self,
        judgment: &Judgment,
        context: &Context,
        max_delay: SignedDuration,
        from: Timestamp,
    ) -> SignedDuration {
        let humans = || context.target_messages().iter().filter(|message| message.is_human());
        let newest = context.newest_human_message();
        let about = judgment.about.as_ref().and_then(|about| context.target_message(about));
        let waited = about.or(newest).map_or(SignedDuration::ZERO, |it| from.duration_since(it.at));
        let tempo = Tempo::of_messages(humans().map(|message| message.at));
        // If the decision is judged again after a newer message, a new delay is drawn.
        let newest = newest.map_or("", |message| message.id.as_str());
        // The seed does not use the decision's number: replays of two versions would draw differently after the first
        // decision that only one of them makes.
        let conversation = context.conversation.to_string();
        // Companions draw the same delay, so that the first in their order is also the first in time.
        let seed = if context.companions.is_empty() { self.seed } else { 0 };
        let draw = seeded_random(seed, &[&conversation, newest, "delay"]);
        answer_delay(waited, tempo.typical_gap(), draw).min(max_delay)
    }

    /// Returns when to post a text whose draft was begun at `began`: at the planned time, but no sooner than a user
    /// could have typed it. Owed answers do not wait.
    pub(super) fn due_after_typing(
        &self,
        claim: &Claim,
        context: &Context,
        text: &str,
        began: Timestamp,
    ) -> Timestamp {
        let post_at = context.intent.as_ref().and_then(|intent| intent.post_at);
        let Some(post_at) = post_at.filter(|_| !claim.is_owed) else { return self.now() };
        let typing = typing_time(text, self.persona.language);
        self.now().max(post_at).max(began + typing)
    }
}
