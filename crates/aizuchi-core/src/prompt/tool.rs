//! Tools that a model may use before it answers: what it is offered, what it calls, what came of it.
//! A model that knows no tools, or is to use no more, reads the same as part of the text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::chat::{is_line_break, to_single_line};
use crate::memory::Lineage;
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::prompt::tokens::estimate;

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON schema of its arguments, which are an object.
    pub parameters: Value,
}

/// What a model asks for. Nothing about it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Tells calls of one answer apart, as their provider wants it.
    pub id: String,
    pub name: String,
    /// An object, if all is well; else whatever came instead.
    pub arguments: Value,
}

/// A call, and what the model is told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub call: ToolCall,
    pub text: String,
    /// What the result tells of.
    pub lineage: Lineage,
}

/// One answer that called tools instead of ending the thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRound {
    /// The words that came along, if any did.
    pub text: String,
    pub results: Vec<ToolResult>,
    pub assistant_message: Option<Arc<AssistantMessage>>,
}

/// An answer as it came, where its provider wants it back like that (signed thoughts, for one). It
/// means nothing to any other model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantMessage {
    pub model: String,
    pub message: Value,
}

impl Prompt {
    /// The same question by somebody who may use these tools to answer it.
    pub fn with_tools(self, tools: Vec<ToolSpec>) -> Self {
        Self { tools, ..self }
    }

    /// The question with all that tools have said, for a model that is to answer in words.
    pub fn text_with_tool_results(&self) -> Cow<'_, str> {
        if self.tool_rounds.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let language = self.persona.language;
        let heading = language.pick("What your tools have said", "ツールの結果");
        let task = language.pick(
            "You can use no more tools. Answer now, in words alone.",
            "これ以上ツールは使えません。いま、言葉だけで答えてください。",
        );
        format!("{}\n## {heading}\n{}\n{task}\n", self.text, self.format_tool_results()).into()
    }

    /// All that a model is asked, for people who open the decision.
    pub fn full_text(&self) -> Cow<'_, str> {
        if self.tools.is_empty() {
            return self.text_with_tool_results();
        }
        let language = self.persona.language;
        let mut text = format!("{}{}", self.text, format_specs(&self.tools, language));
        if !self.tool_rounds.is_empty() {
            let heading = language.pick("Tools used so far", "使ったツール");
            let _ = write!(text, "\n## {heading}\n{}", self.format_tool_results());
        }
        text.into()
    }

    /// What an answer is made from.
    pub fn lineage(&self) -> Lineage {
        let mut lineage = match &self.memory_input {
            Some(material) => material.lineage(),
            None => self.context.lineage(),
        };
        for done in self.tool_rounds.iter().flat_map(|round| &round.results) {
            for line in &done.lineage.messages {
                if !lineage.messages.contains(line) {
                    lineage.messages.push(line.clone());
                }
            }
            lineage.memories.extend_from_slice(&done.lineage.memories);
        }
        lineage.memories.sort();
        lineage.memories.dedup();
        lineage
    }

    /// Each call with its result. Both are data, so no line of either stands at a line's beginning.
    fn format_tool_results(&self) -> String {
        let mut text = String::new();
        for round in &self.tool_rounds {
            write_quoted(&mut text, &round.text);
            for done in &round.results {
                let _ = writeln!(text, "- {}", done.call.to_line());
                write_quoted(&mut text, &done.text);
            }
        }
        text
    }
}

/// What the descriptions of tools come to, as estimated.
pub fn spec_tokens(tools: &[ToolSpec], language: Language) -> u64 {
    estimate(&format_specs(tools, language))
}

fn format_specs(tools: &[ToolSpec], language: Language) -> String {
    let mut text = format!("\n## {}\n", language.pick("Tools", "使えるツール"));
    for ToolSpec { name, description, parameters } in tools {
        let _ = writeln!(text, "- {name} {parameters}\n  {description}");
    }
    text
}

impl ToolCall {
    /// The call on one line.
    pub fn to_line(&self) -> String {
        to_single_line(&format!("{} {}", self.name, self.arguments))
    }
}

fn write_quoted(text: &mut String, said: &str) {
    if !said.trim().is_empty() {
        said.trim().split(is_line_break).for_each(|line| {
            let _ = writeln!(text, "> {line}");
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_one_line_whatever_it_holds() {
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
