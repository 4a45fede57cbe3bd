//! The moment to speak unasked. A delay is the due time of a step, so a new line can stop it and a
//! restart does not forget it (DESIGN §4).

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, PostTiming};
use crate::clock::{duration_from_seconds, seeded_random};
use crate::context::Context;
use crate::decision::Judgment;
use crate::event::{Claim, OnNewMessage, StepResult};
use crate::rhythm::reply_delays::YieldPolicy;
use crate::rhythm::typing::typing_time;
use crate::rhythm::visibility_window::time_until_scrolled_out;

/// It begins to think so long before the moment: models take some seconds, and people type.
const HEAD_START: SignedDuration = SignedDuration::from_secs(25);

impl Agent {
    /// What a verdict to join in comes to. A delay that the judge names is the delay; `null` leaves the
    /// moment to us.
    pub(super) fn join(&self, claim: &Claim, judgment: Judgment, context: &Context) -> StepResult {
        let (now, longest) = (self.now(), duration_from_seconds(self.settings.max_delay_seconds));
        let timing = self.settings.post_timing(&context.conversation.workspace);
        let moment = match (judgment.delay_seconds, timing) {
            (Some(_), _) | (None, PostTiming::Immediate) => None,
            (None, PostTiming::HumanLike) => {
                Some(now + self.human_delay(claim, &judgment, context, longest))
            }
        };
        let due = match (judgment.delay_seconds, moment) {
            (Some(delay), _) => now + duration_from_seconds(f64::from(delay)).min(longest),
            (None, Some(moment)) => now.max(moment - HEAD_START),
            // Seed 002-2.
            (None, None) => now,
        };
        let judgment = Judgment { post_at: moment, ..judgment };
        StepResult::Join { judgment, state: context.state_hash(), due }
    }

    /// How much longer a person would take. What has passed of such a delay is how long nobody has said
    /// anything, however old the line is that it answers: delays are learned from one line to the next.
    /// Where people talk on meanwhile, nobody answers what is out of sight, so the delay ends before.
    fn human_delay(
        &self,
        claim: &Claim,
        judgment: &Judgment,
        context: &Context,
        longest: SignedDuration,
    ) -> SignedDuration {
        let newest = context.newest_human_message();
        let waited = newest.map_or(SignedDuration::ZERO, |line| self.now().duration_since(line.at));
        let (yields, longest) =
            match OnNewMessage::new(self.gate_input(context).mode(), self.settings.wait) {
                OnNewMessage::Restart => (YieldPolicy::ToAnyMessage, longest),
                OnNewMessage::Continue => {
                    let left = self.remaining_visible_time(judgment, context);
                    (YieldPolicy::ToAnswer, left.map_or(longest, |left| left.min(longest)))
                }
            };
        // A decision may be judged anew when people have gone on, and then it is another draw.
        let newest = newest.map_or("", |line| line.id.as_str());
        let (conversation, decision) =
            (context.conversation.to_string(), claim.decision.to_string());
        let draw = seeded_random(self.seed, &[&conversation, &decision, newest, "delay"]);
        context.channel_status.reply_delays.sample(waited, longest, yields, draw)
    }

    /// `None`: it is out of sight as it is, and haste would not bring it back.
    fn remaining_visible_time(
        &self,
        judgment: &Judgment,
        context: &Context,
    ) -> Option<SignedDuration> {
        let target = context.target_messages();
        let place = target.iter().position(|line| Some(&line.id) == judgment.about.as_ref())?;
        let times: Vec<Timestamp> = target.iter().map(|line| line.at).collect();
        Some(time_until_scrolled_out(&times, place, self.now())).filter(|left| left.is_positive())
    }

    /// When words are said that it began to think of at `began`: at their moment, if a person could have
    /// typed them by then. Whoever is owed an answer does not wait for that.
    pub(super) fn due_after_typing(
        &self,
        claim: &Claim,
        context: &Context,
        words: &str,
        began: Timestamp,
    ) -> Timestamp {
        let moment = context.intent.as_ref().and_then(|motive| motive.post_at);
        let Some(moment) = moment.filter(|_| !claim.is_owed) else { return self.now() };
        let typing = typing_time(words, self.persona.language);
        self.now().max(moment).max(began + typing)
    }
}
