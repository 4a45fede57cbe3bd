//! One mark of a chat template: how the families of models write them, and what they say about the text around them.

/// The maximum length of a mark with its attributes, in characters.
const MAX_LENGTH: usize = 120;
/// Who may stand after a mark that begins a message.
const ROLES: [&str; 9] =
    ["assistant", "model", "bot", "user", "human", "system", "developer", "tool", "observation"];

/// A mark at the beginning of a text.
pub struct TemplateMark {
    pub kind: MarkKind,
    /// With what belongs to it, in bytes.
    pub length: usize,
}

pub enum MarkKind {
    ThoughtBegins,
    ThoughtEnds,
    /// What stands before is no part of the answer.
    AnswerBegins,
    MessageEnds,
    ToolCall,
    /// It says nothing about the text.
    Token,
}

/// How a mark is written: `<name>`, `<|name|>`, `<|name>`, `<name|>`, `[NAME]` or `◁name▷`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkForm {
    Angle,
    Pipes,
    PipeBefore,
    PipeAfter,
    Bracket,
    Triangle,
}

/// Reads the mark that a text begins with. Some are marks only where nothing has been said before.
pub fn read_mark(text: &str, is_first: bool) -> Option<TemplateMark> {
    let end = match text.chars().next()? {
        '<' => '>',
        '[' => ']',
        '◁' => '▷',
        _ => return None,
    };
    let (end_at, end) = text.char_indices().take(MAX_LENGTH).find(|(_, it)| *it == end)?;
    let inner = text[..end_at].trim_start_matches(['<', '[', '◁']);
    let rest = &text[end_at + end.len_utf8()..];
    let (form, name) = match end {
        ']' => (MarkForm::Bracket, inner),
        '▷' => (MarkForm::Triangle, inner),
        _ => {
            let name = inner.trim_matches(['|', '｜']);
            match (inner.starts_with(['|', '｜']), inner.ends_with(['|', '｜'])) {
                (true, true) => (MarkForm::Pipes, name),
                (true, false) => (MarkForm::PipeBefore, name),
                (false, true) => (MarkForm::PipeAfter, name),
                (false, false) => (MarkForm::Angle, name),
            }
        }
    };
    let (is_closing, name) = match name.strip_prefix('/') {
        Some(name) => (true, name),
        None => (form == MarkForm::PipeAfter, name),
    };
    // A tag may have attributes: `<invoke name="…">`, `<function=…>`.
    let (name, attributes) = match (form, name.find([' ', '='])) {
        (MarkForm::Angle, Some(at)) => name.split_at(at),
        _ => (name, ""),
    };
    let is_name = |it: char| it.is_alphanumeric() || "_-:▁".contains(it);
    // A platform writes an emoji as `<:name:number>`.
    let is_emoji = name.starts_with([':']) || name.starts_with("a:");
    if name.is_empty() || is_emoji || !name.chars().all(is_name) {
        return None;
    }
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|it: char| !it.is_alphanumeric()).collect();
    let has = |others: &[&str]| words.iter().any(|word| others.contains(word));
    let length = text.len() - rest.len();
    let is_call = has(&["toolcall", "toolcalls", "functioncall", "invoke", "dsml"])
        || has(&["tool", "tools", "function", "functions"])
            && has(&["call", "calls", "code", "use", "response", "responses", "outputs"]);
    // As a tag, these may be parts of a document.
    let ambiguous = ["reasoning", "reflection", "analysis"];
    let is_tag = form == MarkForm::Angle;
    let is_thought =
        has(&["think", "thinking", "thought", "thoughts", "scratchpad", "unused94", "unused95"])
            || if is_tag { is_first && ambiguous.contains(&&*lower) } else { has(&ambiguous) };
    let is_end = is_closing || has(&["end", "unused95"]);
    let ends = ["end", "endoftext", "eot", "eom", "eos", "eod", "return", "stop"];
    let is_own = has(&["header", "assistant"]);
    let kind = match form {
        // In small letters, brackets may hold an aside: `[thinking]`.
        MarkForm::Bracket if !is_end && name != name.to_uppercase() => return None,
        MarkForm::Bracket if lower == "inst" && is_end => MarkKind::Token,
        MarkForm::Bracket if lower == "inst" => MarkKind::MessageEnds,
        MarkForm::Bracket if !is_call && !lower.starts_with("think") => return None,
        _ if is_call => MarkKind::ToolCall,
        _ if is_thought && is_end => MarkKind::ThoughtEnds,
        _ if is_thought => MarkKind::ThoughtBegins,
        MarkForm::PipeBefore if lower == "channel" => MarkKind::ThoughtBegins,
        MarkForm::PipeAfter if lower == "channel" => MarkKind::ThoughtEnds,
        MarkForm::PipeBefore if lower == "turn" => return Some(message_begins(length, rest)),
        MarkForm::PipeAfter if lower == "turn" => MarkKind::MessageEnds,
        MarkForm::Pipes if lower == "channel" => return Some(channel_begins(length, rest)),
        MarkForm::Pipes if lower == "call" || has(&["python", "action"]) => MarkKind::ToolCall,
        MarkForm::Pipes if has(&["start", "begin"]) => return Some(message_begins(length, rest)),
        MarkForm::Pipes if !is_own && (has(&ends) || has(&ROLES)) => MarkKind::MessageEnds,
        MarkForm::Pipes => MarkKind::Token,
        MarkForm::Bracket | MarkForm::Triangle | MarkForm::PipeBefore | MarkForm::PipeAfter => {
            return None;
        }
        MarkForm::Angle => match &*lower {
            "function" if attributes.starts_with('=') => MarkKind::ToolCall,
            "answer" | "response" | "final" if is_first && !is_end || is_end && is_last(rest) => {
                MarkKind::Token
            }
            "start_of_turn" => return Some(message_begins(length, rest)),
            "eos" | "end_of_turn" | "eot" => MarkKind::MessageEnds,
            // What is struck out begins the same way.
            "s" | "bos" if is_first && !is_end => {
                let (_, after) = rest.split_once("</s>").unwrap_or_default();
                return is_last(after).then_some(TemplateMark { kind: MarkKind::Token, length });
            }
            // In the middle of a line, it is HTML.
            "s" if is_end && (is_last(rest) || rest.starts_with('\n')) => MarkKind::MessageEnds,
            _ => return None,
        },
    };
    Some(TemplateMark { kind, length })
}

/// Whether nothing but marks follows.
fn is_last(rest: &str) -> bool {
    let rest = rest.trim_start().trim_start_matches("<s>");
    // Without what follows it, so that a row of marks is not read again for each of them.
    let end = rest.find(['>', ']']).map_or(0, |end| end + 1);
    rest.is_empty() || read_mark(&rest[..end], false).is_some()
}

/// A message begins, with the role of its author.
fn message_begins(length: usize, rest: &str) -> TemplateMark {
    let role = rest.trim_start();
    let space = rest.len() - role.len();
    let found = ROLES.iter().find(|name| {
        let after = role.strip_prefix(**name);
        after.is_some_and(|after| !after.starts_with(|it: char| it.is_alphanumeric()))
    });
    match found {
        Some(&("assistant" | "model" | "bot")) | None => {
            let header = found.map_or(0, |role| space + role.len());
            let is_call = rest[header..].trim_start().starts_with("to=");
            let kind = if is_call { MarkKind::ToolCall } else { MarkKind::Token };
            TemplateMark { kind, length: length + header }
        }
        // The model goes on in the words of others.
        Some(_) => TemplateMark { kind: MarkKind::MessageEnds, length },
    }
}

/// A message begins in a channel of the Harmony format: `analysis<|message|>…`. The final one is the answer.
fn channel_begins(length: usize, rest: &str) -> TemplateMark {
    const MESSAGE: &str = "<|message|>";
    let header = rest.find("<|").unwrap_or(rest.len());
    let (name, body) = rest.split_at(header);
    if name.trim_start().starts_with("final") {
        let header = rest.find(MESSAGE).map(|at| at + MESSAGE.len());
        let header = header.or_else(|| Some(rest.find("final")? + "final".len()));
        return TemplateMark { kind: MarkKind::AnswerBegins, length: length + header.unwrap_or(0) };
    }
    if name.contains("to=") {
        return TemplateMark { kind: MarkKind::ToolCall, length };
    }
    let body = body.strip_prefix(MESSAGE).unwrap_or(body);
    let ends = ["<|end|>", "<|start|>", "<|channel|>", "<|return|>", "<|call|>"];
    let end = ends.iter().filter_map(|mark| body.find(mark)).min().unwrap_or(body.len());
    let length = length + rest.len() - body.len() + end;
    TemplateMark { kind: MarkKind::Token, length }
}
