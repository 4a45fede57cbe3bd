//! Reply: think of what to say. Saying it is another event, so that a platform's trouble does not
//! cost a second thought.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Attempts, Trouble};
use crate::chat::{ConversationId, one_line};
use crate::context::Context;
use crate::decision::Ended;
use crate::event::{Claim, Draft, DraftNotes, End};
use crate::memory::Lineage;
use crate::platform::split;
use crate::prompt::Prompt;

/// How often an owed answer is made anew because a line that it was made from has changed.
const MOST_REDRAFTS: u32 = 3;

impl Agent {
    pub(super) async fn reply(
        &self,
        claim: &Claim,
        conversation: &ConversationId,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<End, Trouble> {
        let context = Arc::new(self.context(conversation).await?);
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.withdrawn());
        }
        if claim.redrafts > MOST_REDRAFTS {
            // Somebody changes a line each time; who waits for an answer shall at least hear so.
            return self.apology(&context);
        }
        let words = self.words(&context, overtaken, attempts).await;
        let is_last = claim.attempt >= super::OWED_ATTEMPTS;
        match words {
            Ok(words) => self.draft(&context, &words, context.lineage(), Ended::Spoke),
            Err(Trouble::Passing { .. }) if claim.is_owed && is_last => self.apology(&context),
            Err(Trouble::Lasting { .. }) if claim.is_owed => self.apology(&context),
            Err(trouble) => Err(trouble),
        }
    }

    pub(super) fn withdrawn(&self) -> End {
        let why =
            self.persona.language.pick("the question was withdrawn", "質問が取り下げられました");
        End::Withdrawn { why: why.to_owned() }
    }

    async fn words(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<String, Trouble> {
        let mind = &self.minds.response;
        let prompt = Prompt::reply(&mind.persona, context, self.now());
        let words = self.ask(mind, &prompt, overtaken, attempts).await?;
        if words.trim().is_empty() {
            return Err(Trouble::Passing {
                error: "the model's answer is empty".to_owned(),
                retry_after: None,
            });
        }
        Ok(words)
    }

    fn apology(&self, context: &Context) -> Result<End, Trouble> {
        let words = self.persona.language.pick(
            "Sorry, I cannot think of an answer right now. Please try again later.",
            "すみません、いまはうまく答えられません。あとでもう一度声をかけてください。",
        );
        self.draft(context, words, Lineage::default(), Ended::Failed)
    }

    fn draft(
        &self,
        context: &Context,
        words: &str,
        made_from: Lineage,
        ends: Ended,
    ) -> Result<End, Trouble> {
        let platform = self.platforms.of(&context.conversation.workspace)?;
        let notes = DraftNotes {
            // Only what the prompt held is answered.
            owed: context.owed.iter().filter(|id| context.message(id).is_some()).cloned().collect(),
            about: context.motive.as_ref().and_then(|motive| motive.about.clone()),
            made_from,
            considered: context.revision,
            ends,
            why: self.why(context, ends),
        };
        let pieces = split(words, platform.longest_post());
        Ok(End::Drafted { draft: Draft { pieces, notes }, due: self.now() })
    }

    fn why(&self, context: &Context, ends: Ended) -> String {
        let language = self.persona.language;
        if ends == Ended::Failed {
            return language
                .pick("I could not think of an answer", "答えを考えられませんでした")
                .to_owned();
        }
        let asker = context.owed.first().and_then(|id| context.message(id));
        let asker = asker.map(|message| one_line(context.name(&message.author.id)));
        match (asker, &context.motive) {
            (Some(name), _) => {
                language.pick("{} asked me", "{} さんに聞かれました").replace("{}", &name)
            }
            (None, Some(motive)) => motive.reason.clone(),
            (None, None) => String::new(),
        }
    }
}
