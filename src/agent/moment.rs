//! The moment to speak unasked. A delay is the due time of a step, so a new line can stop it and a
//! restart does not forget it (DESIGN §4).

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, Timing};
use crate::clock::{chance, seconds};
use crate::context::Context;
use crate::decision::Judgment;
use crate::event::{Claim, Course, End};
use crate::rhythm::delays::Yields;
use crate::rhythm::typing::typing_time;

/// It begins to think so long before the moment: models take some seconds, and people type.
const HEAD_START: SignedDuration = SignedDuration::from_secs(25);

impl Agent {
    /// What a verdict to join in comes to. A delay that the judge names is the delay; `null` leaves the
    /// moment to us.
    pub(super) fn join(&self, claim: &Claim, judgment: Judgment, context: &Context) -> End {
        let (now, longest) = (self.now(), seconds(self.settings.max_delay_seconds));
        let moment = match (judgment.delay_seconds, self.settings.timing) {
            (Some(_), _) | (None, Timing::Plain) => None,
            (None, Timing::Human) => {
                Some(now + self.human_delay(claim, &judgment, context, longest))
            }
        };
        let due = match (judgment.delay_seconds, moment) {
            (Some(delay), _) => now + seconds(f64::from(delay)).min(longest),
            (None, Some(moment)) => now.max(moment - HEAD_START),
            // Seed 002-2.
            (None, None) => now,
        };
        let judgment = Judgment { moment, ..judgment };
        End::Join { judgment, state: context.state(), due }
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

    /// When words are said that it began to think of at `began`: at their moment, if a person could have
    /// typed them by then. Whoever is owed an answer does not wait for that.
    pub(super) fn typed(
        &self,
        claim: &Claim,
        context: &Context,
        words: &str,
        began: Timestamp,
    ) -> Timestamp {
        let moment = context.motive.as_ref().and_then(|motive| motive.moment);
        let Some(moment) = moment.filter(|_| !claim.is_owed) else { return self.now() };
        let typing = typing_time(words, self.persona.language);
        self.now().max(moment).max(began + typing)
    }
}
