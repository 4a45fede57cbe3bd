//! The operator's own tools, as one reply may use them. Their answers are quoted and cut to fit, and calls that contain
//! secrets of this installation are not sent to them.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_llm::prompt::neutralize_text::{to_inert_line, to_inert_text};
use aizuchi_llm::prompt::tool::{ToolCall, ToolSpec, spec_tokens};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::consent::NewConsent;
use aizuchi_model::outgoing::urls::KnownUrls;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::ToolRule;
use aizuchi_model::texts;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::agent::tools::Toolbox;
use crate::agent::tools::arguments::{ToolCallError, arguments_object};
use crate::agent::tools::consent::CallRequests;
use crate::agent::tools::quoted_results::{NOTE_TOKENS, fit, write_quoted};
use crate::external_tools::{
    ExternalAnswer, ExternalTool, ExternalToolError, ExternalTools, ReplyPlace,
};

/// The maximum number of calls that one reply may make.
const MAX_CALLS_PER_REPLY: usize = 12;

/// The operator's tools, as one reply may use them.
pub struct ExternalSession {
    tools: Option<Arc<dyn ExternalTools>>,
    offered: Vec<ToolSpec>,
    /// The offered tools whose every call a user has to allow.
    with_consent: HashSet<Arc<str>>,
    requests: Option<CallRequests>,
    /// The calls that were made, by tool and arguments.
    called: HashSet<String>,
    clock: Clock,
    /// When the last call has to end: the rest of the time is for the model's answer.
    deadline: Timestamp,
}

impl ExternalSession {
    /// Returns a session without any tool.
    pub fn none(clock: Clock) -> Self {
        let deadline = Timestamp::UNIX_EPOCH;
        Self {
            tools: None,
            offered: Vec::new(),
            with_consent: HashSet::new(),
            requests: None,
            called: HashSet::new(),
            clock,
            deadline,
        }
    }

    /// Selects the tools for a reply in this place that its channel allows, as many as fit into `most_tokens`. Without
    /// `requests`, tools that need consent are left out.
    pub fn new(
        tools: Arc<dyn ExternalTools>,
        place: ReplyPlace<'_>,
        rule: &ToolRule,
        requests: Option<CallRequests>,
        (language, most_tokens): (Language, u64),
        clock: Clock,
        deadline: Timestamp,
    ) -> Self {
        let mut offered = Vec::new();
        let mut with_consent = HashSet::new();
        let is_allowed = |tool: &ExternalTool| {
            rule.allows(&tool.name) && (!tool.needs_consent || requests.is_some())
        };
        for tool in tools.offered(place).into_iter().filter(is_allowed) {
            offered.push(to_spec(&tool, language));
            if spec_tokens(&offered, language) > most_tokens {
                // Shorter tools after a long one may still fit.
                offered.pop();
            } else if tool.needs_consent {
                with_consent.insert(tool.name);
            }
        }
        let (tools, called) = (Some(tools), HashSet::new());
        Self { tools, offered, with_consent, requests, called, clock, deadline }
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.offered
    }

    pub fn has(&self, name: &str) -> bool {
        self.offered.iter().any(|tool| tool.name == name)
    }

    /// Returns the calls that a user has to allow.
    pub fn wanted_calls(&self) -> Vec<NewConsent> {
        self.requests.as_ref().map(|requests| requests.wanted.clone()).unwrap_or_default()
    }

    /// Notes the call if it needs consent. Returns what the model is told.
    fn request(&mut self, name: &str, arguments: &Value, language: Language) -> Option<String> {
        let requests = self.requests.as_mut().filter(|_| self.with_consent.contains(name))?;
        Some(requests.note(name, arguments, self.clock.now(), language))
    }

    /// Notes a call. Returns why it is refused, as the model is told: a tool that writes must not do the same thing
    /// twice.
    fn refuse(
        &mut self,
        name: &str,
        arguments: &Value,
        language: Language,
    ) -> Option<&'static str> {
        let call = format!("{name} {arguments}");
        if self.called.contains(&call) {
            return Some(texts::tools::tool_called_before(language));
        }
        if self.called.len() >= MAX_CALLS_PER_REPLY {
            return Some(texts::tools::tool_calls_used_up(language));
        }
        // Before the call, so that one whose outcome is unknown is not made again.
        self.called.insert(call);
        None
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError> {
        let tools = self.tools.as_ref().ok_or(ExternalToolError::NotSent)?;
        let left = self.deadline.duration_since(self.clock.now());
        if left <= SignedDuration::ZERO {
            return Err(ExternalToolError::TimedOut);
        }
        let call = tools.call(name, arguments);
        self.clock.timeout(left, call).await.unwrap_or(Err(ExternalToolError::TimedOut))
    }
}

/// Converts a tool into its specification. A server's descriptions appear next to instructions, so they are made inert.
fn to_spec(tool: &ExternalTool, language: Language) -> ToolSpec {
    let description = to_inert_line(&tool.description);
    let description = match tool.needs_consent {
        true => format!("{description} {}", texts::consents::description_note(language)),
        false => description,
    };
    ToolSpec {
        name: tool.name.to_string().into(),
        description: description.into(),
        parameters: to_inert_schema(&tool.parameters),
    }
}

/// Makes a schema's descriptions inert. Its other strings have a meaning, such as the values that an argument may have.
fn to_inert_schema(schema: &Value) -> Value {
    match schema {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
        Value::Array(list) => list.iter().map(to_inert_schema).collect(),
        Value::Object(fields) => {
            let inert = fields.iter().map(|(name, value)| {
                let value = match value {
                    Value::String(text) if ["description", "title"].contains(&name.as_str()) => {
                        Value::String(to_inert_line(text))
                    }
                    other => to_inert_schema(other),
                };
                (name.clone(), value)
            });
            Value::Object(inert.collect())
        }
    }
}

impl Toolbox {
    pub(super) async fn call_external(
        &mut self,
        call: &ToolCall,
        tokens_left: u64,
    ) -> Result<String, ToolCallError> {
        let language = self.language;
        let arguments = Value::Object(arguments_object(&call.arguments)?);
        let asked = urls_asked_for(&arguments);
        let mut has_secret = self.secrets.has_secret(&arguments.to_string());
        // JSON escapes the quotation marks of a secret.
        for_each_text(&arguments, &mut |text: &str| {
            has_secret |= self.secrets.has_secret(text);
        });
        if has_secret {
            return Ok(texts::tools::secret_not_sent(language).to_owned());
        }
        if let Some(why) = self.external.refuse(&call.name, &arguments, language) {
            return Ok(why.to_owned());
        }
        if let Some(told) = self.external.request(&call.name, &arguments, language) {
            return Ok(told);
        }
        let arguments = arguments_object(&arguments)?;
        let answer = match self.external.call(&call.name, arguments).await {
            Ok(answer) => answer,
            Err(error) => {
                self.note_failed(&call.name, &error);
                let told = match error {
                    ExternalToolError::TimedOut => texts::tools::tool_timed_out(language),
                    ExternalToolError::Unavailable | ExternalToolError::NotSent => {
                        texts::tools::tool_unavailable(language)
                    }
                };
                return Ok(told.to_owned());
            }
        };
        if answer.is_failure {
            self.note_failed(&call.name, &"the tool reports a failure");
        }
        Ok(quoted_answer(&answer, &asked, &mut self.known_urls, tokens_left, language))
    }
}

/// Formats a tool's answer to a call for a model. Only URLs that the model has seen may become links, and not those
/// that it `asked` for and the tool repeats.
pub fn quoted_answer(
    answer: &ExternalAnswer,
    asked: &KnownUrls,
    known: &mut KnownUrls,
    tokens_left: u64,
    language: Language,
) -> String {
    if answer.text.trim().is_empty() {
        return texts::tools::tool_said_nothing(language).to_owned();
    }
    let mut quoted = String::new();
    write_quoted(&mut quoted, "", &to_inert_text(&answer.text));
    let quoted = quoted.trim_end();
    let fitting = fit(quoted, tokens_left.saturating_sub(NOTE_TOKENS));
    let is_cut = answer.is_cut || fitting.len() < quoted.len();
    known.add_except(fitting, asked);
    let head = answer.is_failure.then(|| texts::tools::tool_failed(language));
    let tail = is_cut.then(|| texts::tools::answer_cut(language));
    let parts = head.into_iter().chain([fitting]).chain(tail);
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the URLs in the arguments of a call.
pub fn urls_asked_for(arguments: &Value) -> KnownUrls {
    let mut asked = KnownUrls::default();
    for_each_text(arguments, &mut |text: &str| asked.add(text));
    asked
}

/// Calls `look` with each string and each key in a value.
fn for_each_text(value: &Value, look: &mut dyn FnMut(&str)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => look(text),
        Value::Array(list) => list.iter().for_each(|value| for_each_text(value, look)),
        Value::Object(fields) => {
            for (name, value) in fields {
                look(name);
                for_each_text(value, look);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use aizuchi_model::chat::{ChannelId, Visibility};
    use async_trait::async_trait;
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    /// A server with many tools, which never answers.
    struct Hanging;

    #[async_trait]
    impl ExternalTools for Hanging {
        fn offered(&self, _: ReplyPlace<'_>) -> Vec<ExternalTool> {
            let tool = |number: usize| ExternalTool {
                name: format!("a__{number}").into(),
                description: "roses ".repeat(if number == 1 { 1000 } else { 10 }).into(),
                parameters: Arc::new(json!({ "type": "object" })),
                needs_consent: number == 3,
                time_limit: SignedDuration::from_secs(60),
            };
            (0..50).map(tool).collect()
        }

        fn is_lent(&self, _: &str, _: ReplyPlace<'_>) -> bool {
            true
        }

        async fn call(
            &self,
            _: &str,
            _: Map<String, Value>,
        ) -> Result<ExternalAnswer, ExternalToolError> {
            std::future::pending().await
        }
    }

    #[test]
    fn a_reply_waits_no_longer_and_is_offered_no_more_than_it_has_room_for() {
        let began = Timestamp::from_second(1_800_000_000).unwrap();
        let clock = Clock::manual(began);
        let deadline = began + SignedDuration::from_secs(60);
        let channel = ChannelId::new("garden");
        let place = ReplyPlace {
            channel: &channel,
            channel_name: "garden",
            visibility: Visibility::Public,
        };
        let room = (Language::En, 500);
        let begin = |rule: &ToolRule| {
            let tools = Arc::new(Hanging);
            ExternalSession::new(tools, place, rule, None, room, clock.clone(), deadline)
        };
        let only = ToolRule::Only(vec!["a__2".to_owned(), "web_search".to_owned()]);
        let allowed = begin(&only);
        assert!(allowed.has("a__2") && allowed.specs().len() == 1);
        let session = begin(&ToolRule::All);
        assert!(spec_tokens(session.specs(), Language::En) <= 500);
        // A tool that is too long on its own leaves space for others.
        assert!(session.has("a__0") && !session.has("a__1") && session.has("a__2"));
        assert!(!session.has("a__49"));
        // No user could be asked to allow it.
        assert!(!session.has("a__3"));
        {
            let mut call = pin!(session.call("a__0", Map::new()));
            assert_eq!(call.as_mut().now_or_never(), None);
            clock.advance_to(deadline);
            assert_eq!(call.now_or_never(), Some(Err(ExternalToolError::TimedOut)));
        }
        let late = session.call("a__0", Map::new()).now_or_never();
        assert_eq!(late, Some(Err(ExternalToolError::TimedOut)));
    }
}
