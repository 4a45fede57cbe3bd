//! Follow-up: tells the users who asked for a call that required consent how it ended. The model reports what a tool
//! answered, without further calls; everything else needs no model.

use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::tool::{ToolCall, ToolResult, ToolRound};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::context::Context;
use aizuchi_model::decision::consent::{Consent, ConsentState};
use aizuchi_model::memory::{Lineage, MessageRef};
use aizuchi_model::outgoing::urls::KnownUrls;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use serde_json::Value;

use crate::agent::tools::external::{quoted_answer, urls_asked_for};
use crate::agent::{StepError, Worker};
use crate::external_tools::ExternalAnswer;

/// The ended calls that a reply has to report.
#[derive(Default)]
pub(super) struct EndedCalls(Vec<Consent>);

impl Worker<'_> {
    /// Returns the ended calls that have not been reported to the users who are owed an answer.
    pub(super) async fn ended_calls(&self, context: &Context) -> Result<EndedCalls, StepError> {
        let mut ended = self.command_answers.archive.unsettled_consents().await?;
        ended.retain(|consent| {
            consent.conversation == context.conversation
                && consent.state.is_final()
                && consent.messages.iter().any(|message| context.is_owed(message))
                // The next answer reports what became known later.
                && consent.revision <= context.revision
        });
        Ok(EndedCalls(ended))
    }
}

impl EndedCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a call was made for an owed message.
    pub(super) fn has_call_for(&self, owed: &Owed) -> bool {
        let mut messages = self.0.iter().flat_map(|consent| &consent.messages);
        messages.any(|message| *owed == *message)
    }

    /// Whether the users who are owed an answer wait for nothing else.
    pub(super) fn is_all_owed(&self, context: &Context) -> bool {
        !self.is_empty() && context.owed.iter().all(|owed| self.has_call_for(owed))
    }

    /// Returns one fixed sentence per call about how it ended, for when the model cannot or may not report it.
    pub(super) fn fixed_sentences(&self, language: Language) -> String {
        let sentences = self.0.iter().map(|consent| {
            sentence(consent, language).unwrap_or_else(|| unreported_answer(consent, language))
        });
        sentences.collect::<Vec<_>>().join("\n")
    }

    /// Returns the whole answer, if there is nothing to say except how the calls ended.
    pub(super) fn sentences(&self, context: &Context, language: Language) -> Option<String> {
        if !self.is_all_owed(context) {
            return None;
        }
        let sentences = self.0.iter().map(|consent| sentence(consent, language));
        let sentences: Option<Vec<String>> = sentences.collect();
        sentences.map(|sentences| sentences.join("\n"))
    }

    /// Why the persona speaks, for users.
    pub(super) fn reason(&self, language: Language) -> String {
        let calls = self.0.iter().map(|consent| {
            let what = texts::consents::state(language, consent.state);
            texts::consents::told_of(language, &consent.tool, what)
        });
        calls.collect::<Vec<_>>().join("; ")
    }

    /// Adds the ended calls to the prompt, in place of tools. The URLs that are shown may become links.
    pub(super) fn add_to(&self, prompt: &mut Prompt, known: &mut KnownUrls, max_tokens: u64) {
        if self.is_empty() {
            return;
        }
        prompt.tools.clear();
        let language = prompt.persona.language;
        let results = self.0.iter().map(|consent| result_without_answer(consent, language));
        let round =
            ToolRound { text: String::new(), results: results.collect(), assistant_message: None };
        prompt.tool_rounds.push(round);
        for (index, consent) in self.0.iter().enumerate() {
            let Some(answer) = unquoted_answer(consent) else { continue };
            // The prompt already has every call, and the answers before this one.
            let left = max_tokens.saturating_sub(prompt.total_tokens());
            let share = left / (self.0.len() - index) as u64;
            let asked = urls_asked_for(&arguments(consent));
            let told = quoted_answer(&answer, &asked, known, share, language);
            let results = prompt.tool_rounds.last_mut().map(|round| &mut round.results);
            if let Some(result) = results.and_then(|results| results.get_mut(index)) {
                result.text = format!("{}\n{told}", texts::consents::was_called(language));
            }
        }
    }
}

/// Returns how a call ended, unless a model has to report it.
fn sentence(consent: &Consent, language: Language) -> Option<String> {
    let text: fn(Language, &str) -> String = match (consent.state, &consent.answer) {
        (ConsentState::Answered, Some(_)) => return None,
        (ConsentState::Answered, None) => texts::consents::answer_gone,
        (ConsentState::Unknown, _) => texts::consents::unknown,
        (ConsentState::Refused, _) => texts::consents::refused,
        // Calls in the other states are reported once they have ended.
        (
            ConsentState::Lapsed
            | ConsentState::Drafted
            | ConsentState::Open
            | ConsentState::Allowed
            | ConsentState::Calling,
            _,
        ) => texts::consents::lapsed,
    };
    Some(text(language, &consent.tool))
}

/// Returns the answer that a model has to report, if there is one.
fn unquoted_answer(consent: &Consent) -> Option<ExternalAnswer> {
    let is_for_model = consent.state == ConsentState::Answered;
    consent.answer.as_ref().filter(|_| is_for_model).map(|answer| ExternalAnswer {
        text: answer.text.clone(),
        is_cut: answer.is_cut,
        is_failure: answer.is_failure,
    })
}

/// Returns a call with how it ended, without its answer.
fn result_without_answer(consent: &Consent, language: Language) -> ToolResult {
    let call = ToolCall {
        id: format!("consent-{}", consent.id),
        name: consent.tool.to_string(),
        arguments: arguments(consent),
    };
    let text = sentence(consent, language).unwrap_or_default();
    ToolResult { call, text, lineage: lineage(consent) }
}

/// Says that a call was made, without its answer.
fn unreported_answer(consent: &Consent, language: Language) -> String {
    match consent.answer.as_ref().is_some_and(|answer| answer.is_failure) {
        true => texts::consents::failure_unreported(language, &consent.tool),
        false => texts::consents::answer_unreported(language, &consent.tool),
    }
}

/// Returns the arguments that the tool was called with.
fn arguments(consent: &Consent) -> Value {
    let arguments = consent.arguments.as_deref().map(serde_json::from_str::<Value>);
    arguments.and_then(Result::ok).unwrap_or_default()
}

/// Returns the source messages of a call, which its answer may repeat.
fn lineage(consent: &Consent) -> Lineage {
    let channel = &consent.conversation.channel;
    let mut messages = consent.lineage.messages.clone();
    for message in &consent.messages {
        let asked = MessageRef(channel.clone(), message.clone());
        if !messages.contains(&asked) {
            messages.push(asked);
        }
    }
    Lineage { messages, ..Lineage::default() }
}
