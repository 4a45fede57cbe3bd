//! Reply: think of what to say. Saying it is another event, so that a platform's trouble does not
//! cost a second thought.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::agent::judge::gate_reason;
use crate::agent::tools::Toolbox;
use crate::agent::{Agent, Attempts, Notes, Trouble};
use crate::chat::{ConversationId, Message, MessageId, one_line};
use crate::context::Context;
use crate::decision::gate::{Gate, Passage};
use crate::decision::{Ended, Weighed};
use crate::event::{Claim, Closing, Draft, DraftNotes, End, Words};
use crate::memo::MemoChange;
use crate::memory::{LineId, Lineage};
use crate::platform::split::split;
use crate::prompt::{Prompt, tool};
use crate::recall::{RecallQuery, Recalled};
use crate::rules::Mode;
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
        let began = self.now();
        let mut context = self.context(conversation).await?;
        notes.considered = Some(context.revision);
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.withdrawn());
        }
        if let Some(end) = self.obey(&context).await? {
            return Ok(end);
        }
        if claim.is_owed && context.owed.iter().all(|line| context.message(line).is_none()) {
            // Nothing of what was asked may be looked at.
            return Ok(self.nothing_left(&context));
        }
        let (mode, passage) = self.passage(claim, &context);
        // The state of the talk stays as it was named.
        let named = context.motive.as_ref().and_then(|motive| motive.conversation_state);
        let weighed = Weighed { mode, passed: passage.passed, conversation_state: named };
        notes.weighed = claim.is_owed.then_some(weighed);
        if let Some(gate) = passage.settled {
            return self.may_not(claim, gate, &context);
        }
        let settled = self.leave_out_who_has_enough(&mut context);
        if !claim.is_owed && !self.is_motive_open(&context).await? {
            // What came after the verdict is still to be judged.
            notes.considered = context.motive.as_ref().map(|motive| motive.considered);
            return Ok(self.moved_on());
        }
        if claim.redrafts > MOST_REDRAFTS {
            // Somebody changes a line each time; who waits for an answer shall at least hear so.
            return Ok(settling(self.apology(&context)?, settled));
        }
        context.recalled = self.recall(&context).await?;
        let context = Arc::new(context);
        let thinking = self.think(&context, overtaken, &mut notes.attempts);
        let thought = if claim.is_owed {
            self.seen_thinking(conversation, thinking).await
        } else {
            thinking.await
        };
        let is_last = claim.attempt >= super::OWED_ATTEMPTS;
        let end = match thought {
            Ok(thought) => {
                let (words, made_from) = (&thought.words, thought.made_from);
                let due = self.typed(claim, &context, words, began);
                let end = self.draft(&context, words, made_from, Ended::Spoke)?;
                notes.memos = thought.memos;
                due_at(end, due)
            }
            Err(Trouble::Passing { .. }) if claim.is_owed && is_last => self.apology(&context)?,
            Err(Trouble::Lasting { .. }) if claim.is_owed => self.apology(&context)?,
            Err(trouble) => return Err(trouble),
        };
        Ok(settling(end, settled))
    }

    /// What was allowed when it was decided may not be any more.
    fn passage(&self, claim: &Claim, context: &Context) -> (Mode, Passage) {
        let facts = self.facts(context);
        let passage = match claim.is_owed {
            true => facts.before_answering(),
            false => Passage { passed: Vec::new(), settled: facts.before_speaking() },
        };
        (facts.mode(), passage)
    }

    /// Whoever waits for an answer is told once an hour where no thought may be had.
    fn may_not(&self, claim: &Claim, gate: Gate, context: &Context) -> Result<End, Trouble> {
        if !claim.is_owed {
            return Ok(End::Silent(self.settled(gate)));
        }
        if gate == Gate::Budget && !context.circumstances.has_said_so {
            let words = self.persona.language.pick(
                "I have used up what I may use for now. Please ask me again later.",
                "いま使える分を使い切ってしまいました。しばらくしてからまた声をかけてください。",
            );
            return self.draft(context, words, Lineage::default(), Ended::OverBudget);
        }
        let ended = if gate == Gate::Budget { Ended::OverBudget } else { Ended::Muted };
        Ok(self.not_answered(gate, ended, context))
    }

    /// Nobody is answered, now or later.
    pub(super) fn not_answered(&self, gate: Gate, ended: Ended, context: &Context) -> End {
        End::Silent(Closing { ended, settles: context.owed.clone(), ..self.settled(gate) })
    }

    fn nothing_left(&self, context: &Context) -> End {
        let why = self.persona.language.pick("what was said was deleted", "発言が削除されました");
        let settles = context.owed.clone();
        End::Silent(Closing { settles, ..Closing::new(Ended::Dropped, why) })
    }

    /// Who has got as many answers as one person gets in an hour is not answered together with others;
    /// those lines are settled with the answer, or with the apology for none.
    fn leave_out_who_has_enough(&self, context: &mut Context) -> Vec<MessageId> {
        let enough = |line: &MessageId| self.facts(context).has_answers_enough(line);
        let (out, owed): (Vec<MessageId>, Vec<MessageId>) =
            context.owed.iter().cloned().partition(enough);
        context.owed = owed;
        out
    }

    /// Whether the line that the judge wanted to answer is still there to be answered, as it was.
    async fn is_motive_open(&self, context: &Context) -> Result<bool, Trouble> {
        let Some(motive) = &context.motive else { return Ok(true) };
        let Some(about) = &motive.about else { return Ok(true) };
        let is_answered = context.message(about).is_some() && !context.is_open(about);
        if is_answered || !self.is_still_there(context, about) {
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

    /// Whoever waits for an answer sees that there will be one. Nobody sees that it thinks of what nobody
    /// has asked for.
    async fn seen_thinking<T>(
        &self,
        conversation: &ConversationId,
        thinking: impl Future<Output = T>,
    ) -> T {
        let Ok(platform) = self.platforms.of(&conversation.workspace) else {
            return thinking.await;
        };
        match select(pin!(thinking), platform.show_thinking(conversation)).await {
            Either::Left((thought, _)) => thought,
            Either::Right(((), thinking)) => thinking.await,
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
            // The prompt held all of them that are still there; the others are owed nothing any more.
            owed: context.owed.clone(),
            about: context.motive.as_ref().and_then(|motive| motive.about.clone()),
            made_from,
            considered: context.revision,
            ends,
            why: self.why(context, ends),
            only_for: None,
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

/// The same, said at that time.
fn due_at(end: End, due: Timestamp) -> End {
    match end {
        End::Drafted { draft, .. } => End::Drafted { draft, due },
        end => end,
    }
}

/// The same, and these lines are settled with it.
fn settling(end: End, settled: Vec<MessageId>) -> End {
    match end {
        End::Drafted { mut draft, due } => {
            draft.notes.owed.extend(settled);
            End::Drafted { draft, due }
        }
        end => end,
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
