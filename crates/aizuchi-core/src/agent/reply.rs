//! Reply: think of what to say. Saying it is another event, so that a platform's trouble does not
//! cost a second thought.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::agent::judge::gate_reason;
use crate::agent::tools::Toolbox;
use crate::agent::{Agent, Attempts, StepError, StepTrace};
use crate::chat::{ConversationId, Message, MessageId, to_single_line};
use crate::context::Context;
use crate::decision::gate::{Gate, GateResult};
use crate::decision::{DecisionResult, Evaluation};
use crate::event::{Claim, DecisionClosing, Draft, DraftContent, DraftMetadata, StepResult};
use crate::memo::MemoChange;
use crate::memory::{Lineage, MessageRef};
use crate::platform::split::split;
use crate::prompt::{Prompt, tool};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rules::Mode;
use crate::store::StoreError;

/// How often an owed answer is made anew because a line that it was made from has changed.
const MAX_REDRAFTS: u32 = 3;
/// How often it may use tools before it has to answer in words.
const MAX_TOOL_ROUNDS: usize = 5;

/// The lines that are to be answered.
fn messages_to_answer(context: &Context) -> Vec<&Arc<Message>> {
    let owed: Vec<&Arc<Message>> =
        context.owed.iter().filter_map(|id| context.target_message(id)).collect();
    if !owed.is_empty() {
        return owed;
    }
    let about =
        context.intent.as_ref().and_then(|motive| context.target_message(motive.about.as_ref()?));
    about.or_else(|| context.newest_human_message()).into_iter().collect()
}

/// What thinking came to.
struct Generated {
    text: String,
    lineage: Lineage,
    memo_changes: Vec<MemoChange>,
}

impl Agent {
    pub(super) async fn reply(
        &self,
        claim: &Claim,
        conversation: &ConversationId,
        overtaken: &CancellationToken,
        notes: &mut StepTrace,
    ) -> Result<StepResult, StepError> {
        let began = self.now();
        let mut context = self.load_context(conversation).await?;
        notes.considered = Some(context.revision);
        if claim.is_owed && context.owed.is_empty() {
            return Ok(self.withdraw_retracted());
        }
        if let Some(end) = self.reply_to_commands(&context).await? {
            return Ok(end);
        }
        if claim.is_owed && context.owed.iter().all(|line| context.target_message(line).is_none()) {
            // Nothing of what was asked may be looked at.
            return Ok(self.close_deleted(&context));
        }
        let (mode, passage) = self.check_gates(claim, &context);
        // The state of the talk stays as it was named.
        let named = context.intent.as_ref().and_then(|motive| motive.conversation_state);
        let weighed = Evaluation { mode, passed_gates: passage.passed, conversation_state: named };
        notes.evaluation = claim.is_owed.then_some(weighed);
        if let Some(gate) = passage.settled_by {
            return self.refuse_by_gate(claim, gate, &context);
        }
        let settled = self.drop_rate_limited(&mut context);
        if !claim.is_owed && !self.is_intent_open(&context).await? {
            // What came after the verdict is still to be judged.
            notes.considered = context.intent.as_ref().map(|motive| motive.seen_revision);
            return Ok(self.withdraw_answered());
        }
        if claim.redrafts > MAX_REDRAFTS {
            // Somebody changes a line each time; who waits for an answer shall at least hear so.
            return Ok(with_settled_messages(self.draft_apology(&context)?, settled));
        }
        context.recalled_messages = self.recall(&context).await?;
        let context = Arc::new(context);
        let thinking = self.generate(&context, overtaken, &mut notes.attempts);
        let thought = if claim.is_owed {
            self.with_thinking_indicator(conversation, thinking).await
        } else {
            thinking.await
        };
        let is_last = claim.attempt >= super::MAX_OWED_ATTEMPTS;
        let end = match thought {
            Ok(thought) => {
                let (words, made_from) = (&thought.text, thought.lineage);
                let due = self.due_after_typing(claim, &context, words, began);
                let end = self.draft(&context, words, made_from, DecisionResult::Spoke)?;
                notes.memo_changes = thought.memo_changes;
                with_due(end, due)
            }
            Err(StepError::Retryable { .. }) if claim.is_owed && is_last => {
                self.draft_apology(&context)?
            }
            Err(StepError::Permanent { .. }) if claim.is_owed => self.draft_apology(&context)?,
            Err(trouble) => return Err(trouble),
        };
        Ok(with_settled_messages(end, settled))
    }

    /// What was allowed when it was decided may not be any more.
    fn check_gates(&self, claim: &Claim, context: &Context) -> (Mode, GateResult) {
        let facts = self.gate_input(context);
        let passage = match claim.is_owed {
            true => facts.check_before_answering(),
            false => GateResult { passed: Vec::new(), settled_by: facts.check_before_posting() },
        };
        (facts.mode(), passage)
    }

    /// Whoever waits for an answer is told once an hour where no thought may be had.
    fn refuse_by_gate(
        &self,
        claim: &Claim,
        gate: Gate,
        context: &Context,
    ) -> Result<StepResult, StepError> {
        if !claim.is_owed {
            return Ok(StepResult::Silent(self.close_by_gate(gate)));
        }
        if gate == Gate::Budget && !context.channel_status.has_announced_over_budget {
            let words = self.persona.language.pick(
                "I have used up what I may use for now. Please ask me again later.",
                "いま使える分を使い切ってしまいました。しばらくしてからまた声をかけてください。",
            );
            return self.draft(context, words, Lineage::default(), DecisionResult::OverBudget);
        }
        let ended =
            if gate == Gate::Budget { DecisionResult::OverBudget } else { DecisionResult::Muted };
        Ok(self.silence_owed(gate, ended, context))
    }

    /// Nobody is answered, now or later.
    pub(super) fn silence_owed(
        &self,
        gate: Gate,
        ended: DecisionResult,
        context: &Context,
    ) -> StepResult {
        StepResult::Silent(DecisionClosing {
            ended,
            settled_messages: context.owed.clone(),
            ..self.close_by_gate(gate)
        })
    }

    fn close_deleted(&self, context: &Context) -> StepResult {
        let why = self.persona.language.pick("what was said was deleted", "発言が削除されました");
        let settles = context.owed.clone();
        StepResult::Silent(DecisionClosing {
            settled_messages: settles,
            ..DecisionClosing::new(DecisionResult::Dropped, why)
        })
    }

    /// Who has got as many answers as one person gets in an hour is not answered together with others;
    /// those lines are settled with the answer, or with the apology for none.
    fn drop_rate_limited(&self, context: &mut Context) -> Vec<MessageId> {
        let enough = |line: &MessageId| self.gate_input(context).has_reached_answer_limit(line);
        let (out, owed): (Vec<MessageId>, Vec<MessageId>) =
            context.owed.iter().cloned().partition(enough);
        context.owed = owed;
        out
    }

    /// Whether the line that the judge wanted to answer is still there to be answered, as it was.
    async fn is_intent_open(&self, context: &Context) -> Result<bool, StepError> {
        let Some(motive) = &context.intent else { return Ok(true) };
        let Some(about) = &motive.about else { return Ok(true) };
        let is_answered = context.target_message(about).is_some() && !context.is_open(about);
        if is_answered || !self.is_message_present(context, about) {
            return Ok(false);
        }
        let line = MessageRef(context.conversation.channel.clone(), about.clone());
        let lineage = Lineage { messages: vec![line], memories: Vec::new() };
        let home = &context.conversation;
        let changed = self.store.has_changed_since(home, motive.seen_revision, &lineage).await?;
        Ok(!changed)
    }

    pub(super) fn withdraw_answered(&self) -> StepResult {
        let why = self.persona.language.pick(
            "it has been answered, or is no longer what it was",
            "すでに答えがあったか、内容が変わりました",
        );
        StepResult::Withdrawn { why: why.to_owned() }
    }

    pub(super) fn withdraw_retracted(&self) -> StepResult {
        let why =
            self.persona.language.pick("the question was withdrawn", "質問が取り下げられました");
        StepResult::Withdrawn { why: why.to_owned() }
    }

    /// Old lines that fit what is to be answered, from wherever they may be known.
    pub(super) async fn recall(
        &self,
        context: &Context,
    ) -> Result<Vec<RecalledMessage>, StoreError> {
        let limit = self.settings.recall_limit;
        let asked = messages_to_answer(context);
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
            limit: limit + context.messages().count(),
        };
        let mut found = self.store.recall(&query).await?;
        found.retain(|found| !context.has_message(&found.message));
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
        let mut scene = self.prompt_options(mind);
        let specs = toolbox.as_ref().map(Toolbox::specs).unwrap_or_default();
        if !specs.is_empty() {
            let tools = tool::spec_tokens(&specs, mind.persona.language);
            scene.budget = scene.budget.reserve_for_tools(tools);
        }
        let prompt = self.prompt_builder.reply(&mind.persona, context, &scene);
        Ok((prompt.with_tools(specs), toolbox))
    }

    /// Asks the mind, and does what it wants to have done by tools, until it has the words. All of it
    /// takes no longer than two calls may take.
    async fn generate(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<Generated, StepError> {
        let mind = &self.minds.response;
        let (began, limit) = (self.now(), self.settings.model_timeout);
        let (mut prompt, mut toolbox) = self.reply_prompt(context).await?;
        loop {
            let left = (began + limit * 2).duration_since(self.now());
            let asked = self.call_model_within(limit.min(left), mind, &prompt, overtaken, attempts);
            let answer = asked.await?;
            let has_ended = answer.tool_calls.is_empty() || prompt.tools.is_empty();
            let Some(toolbox) = toolbox.as_mut().filter(|_| !has_ended) else {
                let words = final_text(answer.text, &prompt)?;
                let memos = toolbox.as_ref().map(Toolbox::memo_changes).unwrap_or_default();
                return Ok(Generated {
                    text: words,
                    lineage: prompt.lineage(),
                    memo_changes: memos,
                });
            };
            let most = self.settings.budget.max_tokens;
            let room = most.saturating_sub(prompt.total_tokens());
            prompt.tool_rounds.push(toolbox.run_calls(answer, self.now(), room).await);
            let is_late = self.now() >= began + limit;
            let is_full = prompt.total_tokens() >= most;
            if is_late || is_full || prompt.tool_rounds.len() >= MAX_TOOL_ROUNDS {
                prompt.tools.clear();
            }
        }
    }

    /// Whoever waits for an answer sees that there will be one. Nobody sees that it thinks of what nobody
    /// has asked for.
    async fn with_thinking_indicator<T>(
        &self,
        conversation: &ConversationId,
        thinking: impl Future<Output = T>,
    ) -> T {
        let Ok(platform) = self.platforms.for_workspace(&conversation.workspace) else {
            return thinking.await;
        };
        match select(pin!(thinking), platform.show_thinking(conversation)).await {
            Either::Left((thought, _)) => thought,
            Either::Right(((), thinking)) => thinking.await,
        }
    }

    fn draft_apology(&self, context: &Context) -> Result<StepResult, StepError> {
        let words = self.persona.language.pick(
            "Sorry, I cannot think of an answer right now. Please try again later.",
            "すみません、いまはうまく答えられません。あとでもう一度声をかけてください。",
        );
        self.draft(context, words, Lineage::default(), DecisionResult::Failed)
    }

    fn draft(
        &self,
        context: &Context,
        words: &str,
        made_from: Lineage,
        ends: DecisionResult,
    ) -> Result<StepResult, StepError> {
        let platform = self.platforms.for_workspace(&context.conversation.workspace)?;
        let notes = DraftMetadata {
            // The prompt held all of them that are still there; the others are owed nothing any more.
            owed: context.owed.clone(),
            about: context.intent.as_ref().and_then(|motive| motive.about.clone()),
            lineage: made_from,
            seen_revision: context.revision,
            ends,
            why: self.draft_reason(context, ends),
            only_for: None,
        };
        let words = DraftContent::Text(split(words, platform.max_post_length()));
        Ok(StepResult::Drafted {
            draft: Draft { content: words, metadata: notes },
            due: self.now(),
        })
    }

    fn draft_reason(&self, context: &Context, ends: DecisionResult) -> String {
        let language = self.persona.language;
        if ends == DecisionResult::OverBudget {
            return gate_reason(Gate::Budget, language).to_owned();
        }
        if ends == DecisionResult::Failed {
            return language
                .pick("I could not think of an answer", "答えを考えられませんでした")
                .to_owned();
        }
        let asker = context.owed.first().and_then(|id| context.target_message(id));
        let asker = asker.map(|message| to_single_line(context.display_name(&message.author.id)));
        match (asker, &context.intent) {
            (Some(name), _) => {
                language.pick("{} asked me", "{} さんに聞かれました").replace("{}", &name)
            }
            (None, Some(motive)) => motive.reason.clone(),
            (None, None) => String::new(),
        }
    }
}

/// The same, said at that time.
fn with_due(end: StepResult, due: Timestamp) -> StepResult {
    match end {
        StepResult::Drafted { draft, .. } => StepResult::Drafted { draft, due },
        end => end,
    }
}

/// The same, and these lines are settled with it.
fn with_settled_messages(end: StepResult, settled: Vec<MessageId>) -> StepResult {
    match end {
        StepResult::Drafted { mut draft, due } => {
            draft.metadata.owed.extend(settled);
            StepResult::Drafted { draft, due }
        }
        end => end,
    }
}

/// What it said at the end or, if that is nothing, beside the tools that it used last.
fn final_text(text: String, prompt: &Prompt) -> Result<String, StepError> {
    let before = prompt.tool_rounds.iter().rev().map(|round| &round.text);
    let mut all = std::iter::once(&text).chain(before);
    let words = all.find(|words| !words.trim().is_empty());
    words.cloned().ok_or_else(|| StepError::Retryable {
        error: "the model's answer is empty".to_owned(),
        retry_after: None,
    })
}
