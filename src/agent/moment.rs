//! The moment to speak unasked. A delay is the due time of the next step, so a new line can stop it and a
//! restart does not forget it (DESIGN §4).

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, Timing};
use crate::clock::{chance, seconds};
use crate::context::Context;
use crate::decision::Judgment;
use crate::event::{Claim, Course};
use crate::rhythm::delays::Yields;
use crate::rhythm::typing::typing_time;

impl Agent {
    /// How long it waits from now before it thinks of its words. A delay that the judge names is the
    /// delay; `null` leaves the moment to us.
    pub(super) fn delay(
        &self,
        claim: &Claim,
        judgment: &Judgment,
        context: &Context,
    ) -> SignedDuration {
        let longest = seconds(self.settings.max_delay_seconds);
        match (judgment.delay_seconds, self.settings.timing) {
            (Some(delay), _) => seconds(f64::from(delay)).min(longest),
            // Seed 002-2.
            (None, Timing::Plain) => SignedDuration::ZERO,
            (None, Timing::Human) => self.human_delay(claim, judgment, context, longest),
        }
    }

    fn human_delay(
        &self,
        claim: &Claim,
        judgment: &Judgment,
        context: &Context,
        longest: SignedDuration,
    ) -> SignedDuration {
        let newest = context.newest_human();
        let (yields, line) = match Course::of(self.facts(context).mode(), self.settings.wait) {
            // What counts is how long nobody has said anything.
            Course::Restarts => (Yields::ToAnyLine, newest),
            Course::GoesOn => {
                let about = judgment.about.as_ref().and_then(|about| context.message(about));
                (Yields::ToAnAnswer, about.or(newest))
            }
        };
        let waited = line.map_or(SignedDuration::ZERO, |line| self.now().duration_since(line.at));
        // A decision may be judged anew when people have gone on, and then it is another draw.
        let newest = newest.map_or("", |line| line.id.as_str());
        let (conversation, decision) =
            (context.conversation.to_string(), claim.decision.to_string());
        let draw = chance(self.seed, &[&conversation, &decision, newest, "delay"]);
        context.circumstances.delays.draw(waited, longest, yields, draw)
    }

    /// When words are written down that it began to think of at `began`. Whoever is owed an answer does not
    /// wait for that, nor does what was to be said at a moment that the judge named.
    pub(super) fn typed(
        &self,
        claim: &Claim,
        context: &Context,
        words: &str,
        began: Timestamp,
    ) -> Timestamp {
        let is_named = context.motive.as_ref().is_some_and(|motive| motive.delay_seconds.is_some());
        if claim.is_owed || is_named || self.settings.timing == Timing::Plain {
            return self.now();
        }
        let typing = typing_time(words, self.persona.language);
        self.now().max(began + typing)
    }
}
