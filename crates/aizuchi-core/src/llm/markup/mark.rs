//! One mark of a chat template: how the families of models write them, and what they say about the text around them.

/// The maximum length of a mark with its attributes, in characters.
const MAX_LENGTH: usize = 120;
/// Who may stand after a mark that begins a message.
const ROLES: [&str; 9] =
    ["assistant", "model", "bot", "user", "human", "system", "developer", "tool", "observation"];

/// A mark at the beginning of a text.
pub struct Mark {
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
enum Form {
    Angle,
    Pipes,
    PipeBefore,
    PipeAfter,
    Bracket,
    Triangle,
}

/// Reads the mark that a text begins with. Some are marks only where nothing has been said before.
pub fn read_mark(text: &str, is_first: bool) -> Option<Mark> {
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
        ']' => (Form::Bracket, inner),
        '▷' => (Form::Triangle, inner),
        _ => {
            let name = inner.trim_matches(['|', '｜']);
            match (inner.starts_with(['|', '｜']), inner.ends_with(['|', '｜'])) {
                (true, true) => (Form::Pipes, name),
                (true, false) => (Form::PipeBefore, name),
                (false, true) => (Form::PipeAfter, name),
                (false, false) => (Form::Angle, name),
            }
        }
    };
    let (is_closing, name) = match name.strip_prefix('/') {
        Some(name) => (true, name),
        None => (form == Form::PipeAfter, name),
    };
    // A tag may have attributes: `<invoke name="…">`, `<function=…>`.
    let (name, attributes) = match (form, name.find([' ', '='])) {
        (Form::Angle, Some(at)) => name.split_at(at),
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
    let mark = |kind| Some(Mark { kind, length });
    let is_call = has(&["toolcall", "toolcalls", "functioncall", "invoke", "dsml"])
        || has(&["tool", "tools", "function", "functions"])
            && has(&["call", "calls", "code", "use", "response", "responses", "outputs"]);
    let is_thought = has(&[
        "think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis",
        "scratchpad",
    ]);
    match form {
        // In small letters, brackets may hold an aside: `[thinking]`.
        Form::Bracket if is_call => {
            (name == name.to_uppercase()).then_some(Mark { kind: MarkKind::ToolCall, length })
        }
        _ if is_call => mark(MarkKind::ToolCall),
        Form::Bracket => match (&*lower, is_closing) {
            ("think" | "thinking", true) => mark(MarkKind::ThoughtEnds),
            ("think" | "thinking", false) if name == name.to_uppercase() || has_end(rest, text) => {
                mark(MarkKind::ThoughtBegins)
            }
            ("inst", true) => mark(MarkKind::Token),
            ("inst", false) if name == "INST" => mark(MarkKind::MessageEnds),
            _ => None,
        },
        // The numbers of Gemma's marks for a thought.
        Form::Angle if lower == "unused94" => mark(MarkKind::ThoughtBegins),
        Form::Angle if lower == "unused95" => mark(MarkKind::ThoughtEnds),
        _ if is_thought && (is_closing || has(&["end"])) => mark(MarkKind::ThoughtEnds),
        _ if is_thought => mark(MarkKind::ThoughtBegins),
        Form::Triangle => None,
        Form::PipeBefore if has(&["channel"]) => match rest.trim_start().starts_with("final") {
            true => Some(Mark { kind: MarkKind::AnswerBegins, length: length + first_line(rest) }),
            false => mark(MarkKind::ThoughtBegins),
        },
        Form::PipeAfter if has(&["channel"]) => mark(MarkKind::ThoughtEnds),
        Form::PipeBefore if has(&["turn"]) => Some(message_begins(length, rest)),
        Form::PipeAfter if has(&["turn"]) => mark(MarkKind::MessageEnds),
        Form::PipeBefore | Form::PipeAfter => None,
        Form::Pipes if lower == "channel" => Some(channel_begins(length, rest)),
        Form::Pipes if has(&["python", "action", "plugin"]) || lower == "call" => {
            mark(MarkKind::ToolCall)
        }
        Form::Pipes if has(&["inner"]) => match has(&["suffix"]) {
            true => mark(MarkKind::ThoughtEnds),
            false => mark(MarkKind::ThoughtBegins),
        },
        Form::Pipes if has(&["start", "begin"]) => Some(message_begins(length, rest)),
        Form::Pipes if has(&["header", "assistant"]) => mark(MarkKind::Token),
        Form::Pipes
            if has(&["end", "endoftext", "eot", "eom", "eos", "eod", "return", "stop"])
                || has(&ROLES) =>
        {
            mark(MarkKind::MessageEnds)
        }
        Form::Pipes => mark(MarkKind::Token),
        Form::Angle => match (&*lower, is_closing) {
            ("function", _) if attributes.starts_with('=') => mark(MarkKind::ToolCall),
            ("answer" | "response" | "final" | "final_answer", false) if is_first => {
                mark(MarkKind::Token)
            }
            ("answer" | "response" | "final" | "final_answer", true) if is_last(rest) => {
                mark(MarkKind::Token)
            }
            ("start_of_turn", false) => Some(message_begins(length, rest)),
            ("eos" | "end_of_turn" | "eot", false) => mark(MarkKind::MessageEnds),
            ("s" | "bos", false) if is_first => mark(MarkKind::Token),
            // In the middle of a line, it is HTML.
            ("s", true) if is_last(rest) || rest.starts_with('\n') => mark(MarkKind::MessageEnds),
            _ => None,
        },
    }
}

/// Whether nothing but marks follows.
fn is_last(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with(['<', '['])
}

/// Whether a bracket in small letters has an end.
fn has_end(rest: &str, text: &str) -> bool {
    let closing = text[..text.len() - rest.len()].replacen('[', "[/", 1);
    rest.contains(&closing)
}

fn first_line(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

/// A message begins, with the role of its author.
fn message_begins(length: usize, rest: &str) -> Mark {
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
            Mark { kind, length: length + header }
        }
        // The model goes on in the words of others.
        Some(_) => Mark { kind: MarkKind::MessageEnds, length },
    }
}

/// A message begins in a channel of the Harmony format: `analysis<|message|>…`. The final one is the answer.
fn channel_begins(length: usize, rest: &str) -> Mark {
    const MESSAGE: &str = "<|message|>";
    let header = rest.find("<|").unwrap_or_else(|| first_line(rest));
    let (name, body) = rest.split_at(header);
    let name_length = name.len() - name.trim_start().len() + "final".len();
    if name.trim_start().starts_with("final") {
        let header = rest.find(MESSAGE).filter(|at| !rest[..*at].contains('\n'));
        let header = header.map_or(name_length, |at| at + MESSAGE.len());
        return Mark { kind: MarkKind::AnswerBegins, length: length + header };
    }
    if name.contains("to=") {
        return Mark { kind: MarkKind::ToolCall, length };
    }
    let body = body.strip_prefix(MESSAGE).unwrap_or(body);
    let ends = ["<|end|>", "<|start|>", "<|channel|>", "<|return|>", "<|call|>"];
    let end = ends.iter().filter_map(|mark| body.find(mark)).min().unwrap_or(body.len());
    let length = length + rest.len() - body.len() + end;
    Mark { kind: MarkKind::Token, length }
}
