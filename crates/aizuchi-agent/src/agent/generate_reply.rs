//! Generate: the model calls of a reply, with the tool calls that the model asks for in between, up to a text that may
//! be posted.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use aizuchi_actions::command::Command;
use aizuchi_llm::LlmResponse;
use aizuchi_llm::builtin;
use aizuchi_llm::prompt::{Prompt, tool};
use aizuchi_model::chat::{AuthorKind, ConversationId, is_blank};
use aizuchi_model::context::Context;
use aizuchi_model::decision::consent::NewConsent;
use aizuchi_model::decision::{Attempt, DecisionId, LOOK_UP, Usage};
use aizuchi_model::memo::MemoChange;
use aizuchi_model::memory::Lineage;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::plan::Plan;
use aizuchi_model::plan::promise::{find_promise, without_promises};
use aizuchi_model::recall::content_words::{content_words, shares_subject};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::rules::MemoryRule;
use aizuchi_model::rules::place::Place;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use futures_util::future::{Either, select};
use tracing::warn;

use crate::agent::ended_calls::EndedCalls;
use crate::agent::model_call::unless_superseded;
use crate::agent::reserve_budget::Calls;
use crate::agent::tools::Toolbox;
use crate::agent::{StepError, Worker};

/// The maximum number of rounds of tool calls before a model has to answer in text.
const MAX_TOOL_ROUNDS: usize = 5;

/// The result of the model calls for a reply.
pub(super) enum Generated {
    Reply(GeneratedReply),
    /// The model has understood a request for quiet.
    Quiet {
        command: Command,
        memo_changes: Vec<MemoChange>,
        wanted_calls: Vec<NewConsent>,
    },
    /// The model has nothing to say, for this reason, and no user waits for an answer.
    Nothing(String),
}

/// A text that the model calls generated.
pub(super) struct GeneratedReply {
    pub(super) text: String,
    /// Names the pages that were read for it, if the text names none of them.
    pub(super) sources: Option<String>,
    /// The URLs in the text that may be links.
    pub(super) known_urls: KnownUrls,
    pub(super) lineage: Lineage,
    pub(super) memo_changes: Vec<MemoChange>,
    /// What it says that the persona will do.
    pub(super) plans: Vec<Plan>,
    /// The calls that a user has to allow.
    pub(super) wanted_calls: Vec<NewConsent>,
}

impl Worker<'_> {
    /// Finds relevant old messages in every channel that is visible from here.
    pub(super) async fn recall(&self, context: &Context) -> Vec<RecalledMessage> {
        let limit = self.settings.recall_limit;
        let messages = context.messages_to_answer();
        let memory = self.gate_input(context).rules.memory;
        if limit == 0 || messages.is_empty() || memory == MemoryRule::Off {
            return Vec::new();
        }
        let text = messages.iter().map(|message| &*message.text).collect::<Vec<_>>().join("\n");
        let query = RecallQuery {
            workspace: context.conversation.workspace.clone(),
            visible_from: Some(context.conversation.channel.clone()),
            channel: None,
            text,
            before: Some(messages.iter().map(|message| message.at).min().unwrap_or_default()),
            // Some results may be in the context already, so ask for that many more.
            limit: limit + context.messages().count(),
        };
        let mut found = match self.store.recall(&query).await {
            Ok(found) => found,
            Err(error) => {
                // Old messages are useful, but a reply does not have to fail without them.
                warn!(error = %error, "searching old messages failed; replying without them");
                Vec::new()
            }
        };
        let rulebook = &self.rulebook;
        let name = content_words(&self.persona.name);
        let subject: BTreeSet<String> =
            content_words(&query.text).difference(&name).cloned().collect();
        found.retain(|RecalledMessage { message, channel_name, .. }| {
            let visibility = context.visibility_of(&message.conversation.channel);
            let place = Place::of_conversation(&message.conversation, channel_name, visibility);
            let is_own = message.author.kind == AuthorKind::Persona;
            let is_remembered = rulebook.remembers(&place);
            !is_own
                && is_remembered
                && !context.has_message(message)
                && shares_subject(&subject, &message.searched_text())
        });
        found.truncate(limit);
        found
    }

    /// Returns the URLs that a reply may show as links before it has used any tool.
    pub(super) fn known_urls(&self, context: &Context) -> KnownUrls {
        let mut known = KnownUrls::in_context(context);
        let rules = self.gate_input(context).rules;
        known.add(&self.persona_in(&self.minds.response, rules).system_prompt);
        known.allow_hosts(&self.settings.link_hosts);
        known
    }

    /// Returns the first prompt of a reply and the tools that the reply may use. A preview has no decision.
    pub(super) async fn reply_prompt(
        &self,
        context: &Arc<Context>,
        decision: Option<DecisionId>,
    ) -> Result<(Prompt, Option<Toolbox>), StoreError> {
        let mind = &self.reply_mind(context);
        let language = mind.persona.language;
        let toolbox = self.toolbox(context, language, self.now(), decision).await?;
        let mut options = self.prompt_options(mind);
        let rules = self.gate_input(context).rules;
        options.has_web = self.may_use_web(rules);
        options.judge_options.reactions = rules.reactions.clone();
        let specs = toolbox.as_ref().map(Toolbox::specs).unwrap_or_default();
        if !specs.is_empty() {
            let tools = tool::spec_tokens(&specs, language);
            options.budget = options.budget.reserve_for_tools(tools);
        }
        let persona = self.persona_in(mind, rules);
        let prompt = self.prompt_builder.read().reply(&persona, context, &options);
        Ok((prompt.with_tools(specs), toolbox))
    }

    /// Calls the model, runs the tools that it asks for, and repeats until it answers in text. In total this takes no
    /// longer than two calls may take.
    pub(super) async fn generate(
        &self,
        context: &Arc<Context>,
        ended: &EndedCalls,
        calls: &mut Calls<'_>,
    ) -> Result<Generated, StepError> {
        let mind = &self.reply_mind(context);
        let language = mind.persona.language;
        let (began, limit) = (self.now(), self.settings.model_timeout);
        let (mut prompt, mut toolbox) = self.reply_prompt(context, calls.owner.decision).await?;
        let mut urls_of_ended = None;
        if !ended.is_empty() {
            let mut known = self.known_urls(context);
            ended.add_to(&mut prompt, &mut known, self.settings.budget.max_tokens);
            // No tools: the reply reports calls that were made, and must not make others.
            (toolbox, urls_of_ended) = (None, Some(known));
        }
        let mut first_draft = None;
        loop {
            let left = (began + limit * 2).duration_since(self.now());
            let call = self.call_model_within(limit.min(left), mind, &prompt, calls);
            let answer = match (call.await, first_draft.take()) {
                (Ok(answer), draft) => {
                    first_draft = draft;
                    answer
                }
                // What it promises is cut.
                (Err(_), Some(draft)) if !calls.superseded.is_cancelled() => {
                    first_draft = Some(String::new());
                    LlmResponse::new(draft, Usage::default())
                }
                (Err(error), _) => return Err(error),
            };
            let is_final = answer.tool_calls.is_empty() || prompt.tools.is_empty();
            let Some(toolbox) = toolbox.as_mut().filter(|_| !is_final) else {
                let known_urls = match (&toolbox, &urls_of_ended) {
                    (Some(toolbox), _) => toolbox.known_urls().clone(),
                    (None, Some(known)) => known.clone(),
                    (None, None) => self.known_urls(context),
                };
                // A user who waits is answered, even if the model would rather say nothing.
                if let Some(why) = answer.silence.filter(|_| context.owed.is_empty()) {
                    return Ok(Generated::Nothing(why));
                }
                let text = final_text(answer.text, &prompt);
                let text = self.screen(&text, &known_urls, CodeBlocks::KeepUrls);
                let plans = toolbox.as_ref().map(Toolbox::plans).unwrap_or_default();
                // What the built-in mind says is written here, and true.
                let is_written = |attempt: &Attempt| &*attempt.model == builtin::MODEL;
                let is_screened =
                    plans.is_empty() && !calls.attempts.last().is_some_and(is_written);
                let promise = find_promise(&text).filter(|_| is_screened);
                let text = match promise {
                    Some(promise)
                        if first_draft.is_none()
                            && !prompt.tools.is_empty()
                            && toolbox.as_ref().is_some_and(Toolbox::may_plan) =>
                    {
                        first_draft = Some(text.clone());
                        let request =
                            texts::prompts::no_empty_promise(language, text[promise].trim());
                        prompt = prompt.with_request(&request);
                        continue;
                    }
                    // It would not be kept.
                    Some(_) => match without_promises(&text) {
                        rest if is_blank(&rest) => {
                            texts::plans::cannot_promise(language).to_owned()
                        }
                        rest => rest,
                    },
                    None => text,
                };
                if is_blank(&text) {
                    return Err(empty_answer());
                }
                let sources = toolbox.as_ref().and_then(|toolbox| toolbox.sources(&text));
                let sources =
                    sources.map(|text| self.screen(&text, &known_urls, CodeBlocks::KeepUrls));
                let memo_changes = toolbox.as_ref().map(Toolbox::memo_changes).unwrap_or_default();
                let wanted_calls = toolbox.as_ref().map(Toolbox::wanted_calls).unwrap_or_default();
                let lineage = prompt.lineage();
                return Ok(Generated::Reply(GeneratedReply {
                    text,
                    sources,
                    known_urls,
                    lineage,
                    memo_changes,
                    plans,
                    wanted_calls,
                }));
            };
            let max_tokens = self.settings.budget.max_tokens;
            let tokens_left = max_tokens.saturating_sub(prompt.total_tokens());
            // A web request or an operator's tool may take long.
            let round = toolbox.run_calls(answer, self.now(), tokens_left);
            prompt.tool_rounds.push(unless_superseded(calls.superseded, round).await?);
            calls.attempts.extend(
                toolbox
                    .failed
                    .drain(..)
                    .map(|(tool, error)| Attempt::failed(LOOK_UP, &tool, self.now(), error)),
            );
            if let Some(command) = toolbox.wanted_quiet {
                let (memo_changes, wanted_calls) = (toolbox.memo_changes(), toolbox.wanted_calls());
                return Ok(Generated::Quiet { command, memo_changes, wanted_calls });
            }
            let is_late = self.now() >= began + limit;
            let is_full = prompt.total_tokens() >= max_tokens;
            if is_late || is_full || prompt.tool_rounds.len() >= MAX_TOOL_ROUNDS {
                // Without tools, the next answer has to be a text.
                prompt.tools.clear();
            }
        }
    }

    /// Shows a thinking indicator to users who wait for an answer. An unsolicited reply shows none.
    pub(super) async fn with_thinking_indicator<T>(
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
}

/// Returns the text of the last response or, if that is empty, of the latest tool round that has a text.
fn final_text(last: String, prompt: &Prompt) -> String {
    let before = prompt.tool_rounds.iter().rev().map(|round| &round.text);
    let mut all = std::iter::once(&last).chain(before);
    all.find(|text| !is_blank(text)).cloned().unwrap_or_default()
}

fn empty_answer() -> StepError {
    StepError::retryable("the model's answer is empty".to_owned(), None)
}
