//! Reply: think of what to say. Saying it is another event, so that a platform's trouble does not
//! cost a second thought.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::judge::gate_reason;
use crate::agent::tools::Toolbox;
use crate::agent::{Agent, Attempts, Notes, Trouble};
use crate::chat::{ConversationId, Message, one_line};
use crate::context::Context;
use crate::decision::gate::Gate;
use crate::decision::{Ended, Weighed};
use crate::event::{Claim, Closing, Draft, DraftNotes, End, Words};
use crate::memo::MemoChange;
use crate::memory::{LineId, Lineage};
use crate::platform::split;
use crate::prompt::{Prompt, tool};
use crate::recall::{RecallQuery, Recalled};
use crate::store::StoreError;

/// How often an owed answer is made anew because a line that it was made from has changed.
const MOST_REDRAFTS: u32 = 3;
/// How often it may use tools before it has to answer in words.
const MOST_ROUNDS: usize = 5;

/// The lines that are to be answered.
fn asked(context: &Context) -> Vec<&Arc<Message>> {
    let owed: Vec<&Arc<Message>> =
        context.owed.iter().filter_map(|id| context.message(id)).collect();
    if !owed.is_empty() {
        return owed;
    }
    let about = context.motive.as_ref().and_then(|motive| context.message(motive.about.as_ref()?));
    about.or_else(|| context.newest_human()).into_iter().collect()
}

/// What thinking came to.
struct Thought {
    words: String,
    made_from: Lineage,
    memos: Vec<MemoChange>,
}

impl Agent {
    pub(super) async fn reply(
        &self,
        claim: &Claim,
        conversation: &ConversationId,
        overtaken: &CancellationToken,
        notes: &mut Notes,
    ) -> Result<End, Trouble> {
        let mut context = self.context(conversation).await?;
        notes.considered = Some(context.revision);
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.withdrawn());
        }
        if claim.is_owed {
            notes.weighed = Some(self.weigh_answering(&context));
        }
        if let Some(end) = self.may_not(claim, &context)? {
            return Ok(end);
        }
        if !claim.is_owed && !self.is_motive_open(&context).await? {
            return Ok(self.moved_on());
        }
        if claim.redrafts > MOST_REDRAFTS {
            // Somebody changes a line each time; who waits for an answer shall at least hear so.
            return self.apology(&context);
        }
        context.recalled = self.recall(&context).await?;
        let context = Arc::new(context);
        let thought = self.think(&context, overtaken, &mut notes.attempts).await;
        let is_last = claim.attempt >= super::OWED_ATTEMPTS;
        match thought {
            Ok(thought) => {
                let end = self.draft(&context, &thought.words, thought.made_from, Ended::Spoke)?;
                notes.memos = thought.memos;
                Ok(end)
            }
            Err(Trouble::Passing { .. }) if claim.is_owed && is_last => self.apology(&context),
            Err(Trouble::Lasting { .. }) if claim.is_owed => self.apology(&context),
            Err(trouble) => Err(trouble),
        }
    }

    /// What is looked at before somebody is answered. The state of the talk stays as it was named.
    fn weigh_answering(&self, context: &Context) -> Weighed {
        let facts = self.facts(context);
        let conversation_state =
            context.motive.as_ref().and_then(|motive| motive.conversation_state);
        Weighed { mode: facts.mode(), passed: facts.before_answering().passed, conversation_state }
    }

    /// What was allowed when it was decided may not be any more. Whoever waits for an answer is told once
    /// an hour where no thought may be had.
    fn may_not(&self, claim: &Claim, context: &Context) -> Result<Option<End>, Trouble> {
        let facts = self.facts(context);
        if !claim.is_owed {
            let gate = facts.before_speaking();
            return Ok(gate.map(|gate| End::Silent(self.settled(gate))));
        }
        let Some(gate) = facts.before_answering().settled else { return Ok(None) };
        if gate == Gate::Budget && !context.circumstances.has_said_so {
            let words = self.persona.language.pick(
                "I have used up what I may use for now. Please ask me again later.",
                "いま使える分を使い切ってしまいました。しばらくしてからまた声をかけてください。",
            );
            return self.draft(context, words, Lineage::default(), Ended::OverBudget).map(Some);
        }
        Ok(Some(self.not_answered(gate, context)))
    }

    /// Nobody is answered, now or later.
    pub(super) fn not_answered(&self, gate: Gate, context: &Context) -> End {
        let ended = if gate == Gate::Budget { Ended::OverBudget } else { Ended::Muted };
        End::Silent(Closing { ended, settles: context.owed.clone(), ..self.settled(gate) })
    }

    /// Whether the line that the judge wanted to answer is still there to be answered, as it was.
    async fn is_motive_open(&self, context: &Context) -> Result<bool, Trouble> {
        let Some(motive) = &context.motive else { return Ok(true) };
        let Some(about) = &motive.about else { return Ok(true) };
        if !context.is_open(about) {
            return Ok(false);
        }
        let line = LineId(context.conversation.channel.clone(), about.clone());
        let lineage = Lineage { lines: vec![line], memories: Vec::new() };
        let home = &context.conversation;
        let changed = self.store.has_changed_since(home, motive.considered, &lineage).await?;
        Ok(!changed)
    }

    pub(super) fn moved_on(&self) -> End {
        let why = self.persona.language.pick(
            "it has been answered, or is no longer what it was",
            "すでに答えがあったか、内容が変わりました",
        );
        End::Withdrawn { why: why.to_owned() }
    }

    pub(super) fn withdrawn(&self) -> End {
        let why =
            self.persona.language.pick("the question was withdrawn", "質問が取り下げられました");
        End::Withdrawn { why: why.to_owned() }
    }

    /// Old lines that fit what is to be answered, from wherever they may be known.
    pub(super) async fn recall(&self, context: &Context) -> Result<Vec<Recalled>, StoreError> {
        let limit = self.settings.recalled_lines;
        let asked = asked(context);
        if limit == 0 || asked.is_empty() {
            return Ok(Vec::new());
        }
        let text = asked.iter().map(|line| &*line.text).collect::<Vec<_>>().join("\n");
        let query = RecallQuery {
            workspace: context.conversation.workspace.clone(),
            visible_from: Some(context.conversation.channel.clone()),
            channel: None,
            text,
            before: Some(asked.iter().map(|line| line.at).min().unwrap_or_default()),
            // As many as are in the context already may be found.
            limit: limit + context.lines().count(),
        };
        let mut found = self.store.recall(&query).await?;
        found.retain(|found| !context.holds(&found.message));
        found.truncate(limit);
        Ok(found)
    }

    /// The first question for a reply, and what may be used to answer it.
    pub(super) async fn reply_prompt(
        &self,
        context: &Arc<Context>,
    ) -> Result<(Prompt, Option<Toolbox>), StoreError> {
        let mind = &self.minds.response;
        let toolbox = self.toolbox(context, mind.persona.language, self.now()).await?;
        let mut scene = self.scene(mind);
        let specs = toolbox.as_ref().map(Toolbox::specs).unwrap_or_default();
        if !specs.is_empty() {
            let tools = tool::tokens(&specs, mind.persona.language);
            scene.budget = scene.budget.beside_tools(tools);
        }
        let prompt = self.prompts.reply(&mind.persona, context, &scene);
        Ok((prompt.with_tools(specs), toolbox))
    }

    /// Asks the mind, and does what it wants to have done by tools, until it has the words. All of it
    /// takes no longer than two calls may take.
    async fn think(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<Thought, Trouble> {
        let mind = &self.minds.response;
        let (began, limit) = (self.now(), self.settings.model_timeout);
        let (mut prompt, mut toolbox) = self.reply_prompt(context).await?;
        loop {
            let left = (began + limit * 2).duration_since(self.now());
            let asked = self.ask_within(limit.min(left), mind, &prompt, overtaken, attempts);
            let answer = asked.await?;
            let has_ended = answer.calls.is_empty() || prompt.tools.is_empty();
            let Some(toolbox) = toolbox.as_mut().filter(|_| !has_ended) else {
                let words = last_words(answer.text, &prompt)?;
                let memos = toolbox.as_ref().map(Toolbox::changes).unwrap_or_default();
                return Ok(Thought { words, made_from: prompt.lineage(), memos });
            };
            let most = self.settings.budget.max_tokens;
            let room = most.saturating_sub(prompt.all_tokens());
            prompt.rounds.push(toolbox.use_all(answer, self.now(), room).await);
            let is_late = self.now() >= began + limit;
            let is_full = prompt.all_tokens() >= most;
            if is_late || is_full || prompt.rounds.len() >= MOST_ROUNDS {
                prompt.tools.clear();
            }
        }
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
        let words = Words::Said(split(words, platform.longest_post()));
        Ok(End::Drafted { draft: Draft { words, notes }, due: self.now() })
    }

    fn why(&self, context: &Context, ends: Ended) -> String {
        let language = self.persona.language;
        if ends == Ended::OverBudget {
            return gate_reason(Gate::Budget, language).to_owned();
        }
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

/// What it said at the end or, if that is nothing, beside the tools that it used last.
fn last_words(text: String, prompt: &Prompt) -> Result<String, Trouble> {
    let before = prompt.rounds.iter().rev().map(|round| &round.said);
    let mut all = std::iter::once(&text).chain(before);
    let words = all.find(|words| !words.trim().is_empty());
    words.cloned().ok_or_else(|| Trouble::Passing {
        error: "the model's answer is empty".to_owned(),
        retry_after: None,
    })
}
