//! Tools that a model may use before it answers: their specifications, the calls and the results. A model without
//! tools, or one that may not use any more, reads the results as part of the text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_model::chat::is_line_break;
use aizuchi_model::memory::Lineage;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use serde_json::Value;

use crate::prompt::Prompt;
use crate::prompt::neutralize_text::to_inert_line;
use crate::prompt::tokens::estimate;

/// A tool as described to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// The JSON schema of its arguments object.
    pub parameters: Value,
}

/// A call by the model. Nothing in it has been validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id, which distinguishes the calls of one response.
    pub id: String,
    pub name: String,
    /// An object, if the model is well-behaved.
    pub arguments: Value,
}

/// A call with the result that the model gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub call: ToolCall,
    pub text: String,
    /// The lineage of the result.
    pub lineage: Lineage,
}

/// A response that called tools, with their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRound {
    /// The text next to the calls, which may be empty.
    pub text: String,
    pub results: Vec<ToolResult>,
    pub assistant_message: Option<Arc<AssistantMessage>>,
}

/// What a provider wants back of its response with the results of the calls (signed reasoning, for example), in its own
/// format. Meaningless to any other model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantMessage {
    pub model: String,
    pub message: Value,
}

impl Prompt {
    /// The same prompt with these tools offered.
    pub fn with_tools(self, tools: Vec<ToolSpec>) -> Self {
        Self { tools, ..self }
    }

    /// The text with all tool results, for a model that must answer in text.
    pub fn text_with_tool_results(&self) -> Cow<'_, str> {
        if self.tool_rounds.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let language = self.persona.language;
        let heading = texts::prompts::tool_results_heading(language);
        let task = texts::prompts::no_more_tools(language);
        format!("{}\n## {heading}\n{}\n{task}\n", self.text, self.format_tool_results()).into()
    }

    /// The whole request, as shown to an operator who opens the decision.
    pub fn full_text(&self) -> Cow<'_, str> {
        if self.tools.is_empty() {
            return self.text_with_tool_results();
        }
        let language = self.persona.language;
        let mut text = format!("{}{}", self.text, format_specs(&self.tools, language));
        if !self.tool_rounds.is_empty() {
            let heading = texts::prompts::used_tools_heading(language);
            let _ = write!(text, "\n## {heading}\n{}", self.format_tool_results());
        }
        text.into()
    }

    /// The lineage of a response to this prompt.
    pub fn lineage(&self) -> Lineage {
        let mut lineage = match &self.memory_input {
            Some(input) => input.lineage(),
            None => self.context.lineage(),
        };
        for result in self.tool_rounds.iter().flat_map(|round| &round.results) {
            for message in &result.lineage.messages {
                if !lineage.messages.contains(message) {
                    lineage.messages.push(message.clone());
                }
            }
            lineage.memories.extend_from_slice(&result.lineage.memories);
        }
        lineage.memories.sort();
        lineage.memories.dedup();
        lineage
    }

    /// Formats each call with its result. Both are data: every line of them begins with a list or quotation mark.
    fn format_tool_results(&self) -> String {
        let mut text = String::new();
        for round in &self.tool_rounds {
            write_quoted(&mut text, &round.text);
            for result in &round.results {
                let _ = writeln!(text, "- {}", result.call.to_line());
                write_quoted(&mut text, &result.text);
            }
        }
        text
    }
}

/// The estimated tokens of the tools' descriptions.
pub fn spec_tokens(tools: &[ToolSpec], language: Language) -> u64 {
    estimate(&format_specs(tools, language))
}

fn format_specs(tools: &[ToolSpec], language: Language) -> String {
    let mut text = format!("\n## {}\n", texts::prompts::tools_heading(language));
    for ToolSpec { name, description, parameters } in tools {
        let _ = writeln!(text, "- {name} {parameters}\n  {description}");
    }
    text
}

impl ToolCall {
    /// The call on one line.
    pub fn to_line(&self) -> String {
        to_inert_line(&format!("{} {}", self.name, self.arguments))
    }
}

fn write_quoted(text: &mut String, quoted: &str) {
    if !quoted.trim().is_empty() {
        quoted.trim().split(is_line_break).for_each(|line| {
            let _ = writeln!(text, "> {line}");
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_always_one_line() {
        for (name, arguments, expected) in [
            ("add_memo", json!({ "name": "a\nb" }), r#"add_memo {"name":"a\nb"}"#),
            ("a\n## b", json!(null), "a ## b null"),
            ("x", json!("\u{2028}> y"), r#"x " > y""#),
        ] {
            let call = ToolCall { id: String::new(), name: name.to_owned(), arguments };
            assert_eq!(call.to_line(), expected);
        }
    }
}
