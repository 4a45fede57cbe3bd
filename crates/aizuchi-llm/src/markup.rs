//! Models' own markup: tokens of their chat templates, thinking, calls of tools and the form of the transcript, which a
//! server passes on as text. The only place that knows it, for all providers. A mark in code or in quotation marks is
//! what the answer speaks of, and stays.

mod mark;
mod transcript;

use aizuchi_model::chat::is_blank;
use serde_json::Value;

use crate::markup::mark::{MarkKind, TemplateMark, read_mark};
use crate::markup::transcript::own_words;
use crate::prompt::{Prompt, PromptVerb};

/// A model that has repeated a phrase this often at the end of its answer is stuck.
const MAX_REPEATS: usize = 24;
/// Shorter repetitions of less than a word are allowed, such as laughter.
const MIN_REPEATED_CHARACTERS: usize = 120;
/// Shorter repetitions of punctuation are allowed, such as a line of dashes.
const MIN_REPEATED_PUNCTUATION: usize = 500;
const MIN_WORD_CHARACTERS: usize = 3;

/// What a model was asked for.
#[derive(Clone, Copy, Debug)]
pub enum AnswerForm<'a> {
    Json,
    Text,
    /// What the persona of this name says in a chat.
    Talk(&'a str),
}

impl<'p> AnswerForm<'p> {
    pub fn of(prompt: &'p Prompt) -> Self {
        match prompt.verb {
            PromptVerb::Judge | PromptVerb::Remember => AnswerForm::Json,
            PromptVerb::Reply => AnswerForm::Talk(&prompt.persona.name),
            PromptVerb::State | PromptVerb::Describe | PromptVerb::Transcribe => AnswerForm::Text,
        }
    }
}

/// Why an answer says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It is empty, or holds nothing but markup and thinking.
    Markup,
    /// It calls a tool in its text.
    ToolCall,
    /// The model has lost itself in a phrase.
    Repetition,
}

impl NoAnswer {
    /// The reason, for the operator.
    pub fn describe(self) -> &'static str {
        match self {
            NoAnswer::Markup => "its answer holds nothing but markup",
            NoAnswer::ToolCall => "its answer is a tool call written as text",
            NoAnswer::Repetition => "its answer repeats itself to the end",
        }
    }
}

/// Returns what an answer says, without the model's own markup around it.
pub fn said_in(answer: &str, form: AnswerForm<'_>) -> Result<String, NoAnswer> {
    let said = without_marks(answer, form)?;
    let said = without_bare_channels(&said);
    let said = match form {
        AnswerForm::Json | AnswerForm::Text => said.to_owned(),
        AnswerForm::Talk(_) if is_tool_call(said) => return Err(NoAnswer::ToolCall),
        AnswerForm::Talk(name) => own_words(said, name),
    };
    if is_blank(&said) {
        Err(NoAnswer::Markup)
    } else if ends_in_repetition(&said) {
        Err(NoAnswer::Repetition)
    } else {
        Ok(said)
    }
}

/// Takes off the marks with all that is not said between them. What is not closed goes on to the end.
fn without_marks(answer: &str, form: AnswerForm<'_>) -> Result<String, NoAnswer> {
    let mut said = String::new();
    let mut at = 0;
    while let Some(next) = answer[at..].chars().next() {
        let rest = &answer[at..];
        let is_object = matches!(form, AnswerForm::Json) && is_blank(&said);
        if is_object && rest.starts_with(['{', '[', '"', '`']) && read_mark(rest, true).is_none() {
            // What looks like a mark is in its strings.
            said.push_str(rest);
            break;
        }
        if let Some(length) = quoted_length(answer, at, form) {
            said.push_str(&rest[..length]);
            at += length;
            continue;
        }
        let Some(TemplateMark { kind, length }) = read_mark(rest, is_blank(&said)) else {
            said.push(next);
            at += next.len_utf8();
            continue;
        };
        let is_struck =
            rest[..length] == *"</s>" && said.matches("<s>").count() > said.matches("</s>").count();
        at += length;
        match kind {
            MarkKind::ThoughtBegins => match after_thought(&answer[at..]) {
                Some(length) => at += length,
                None => break,
            },
            // All before it was a thought. If the thought quotes such a mark, the last one counts.
            MarkKind::ThoughtEnds | MarkKind::AnswerBegins => said.clear(),
            MarkKind::MessageEnds if is_struck => said.push_str("</s>"),
            MarkKind::MessageEnds if is_blank(&said) => {}
            MarkKind::MessageEnds => break,
            MarkKind::ToolCall => return Err(NoAnswer::ToolCall),
            MarkKind::Token => {}
        }
        at += join(&mut said, &answer[at..]);
    }
    Ok(said.trim().to_owned())
}

/// Returns the length of what begins here and holds no marks: code, a mark in quotation marks, or an object in JSON.
fn quoted_length(answer: &str, at: usize, form: AnswerForm<'_>) -> Option<usize> {
    const QUOTES: [(char, char); 6] =
        [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('「', '」'), ('«', '»')];
    let rest = &answer[at..];
    let first = rest.chars().next()?;
    match (first, form) {
        ('`', _) => code_length(rest).filter(|length| !holds_thoughts_end(&rest[..*length])),
        ('{', AnswerForm::Json) => {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            values.next()?.ok()?;
            Some(values.byte_offset())
        }
        _ => {
            let (_, end) = QUOTES.into_iter().find(|(begin, _)| *begin == first)?;
            let length = first.len_utf8() + read_mark(&rest[first.len_utf8()..], false)?.length;
            rest[length..].starts_with(end).then_some(length + end.len_utf8())
        }
    }
}

/// Returns the length of a block or a span of code.
fn code_length(text: &str) -> Option<usize> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let inside = &text[ticks..];
    // A span of code has no paragraph in it.
    let inside = if ticks >= 3 { inside } else { inside.split("\n\n").next()? };
    let mut begin = 0;
    while let Some(found) = inside[begin..].find('`') {
        let close = &inside[begin + found..];
        let length = close.len() - close.trim_start_matches('`').len();
        begin += found + length;
        if length == ticks {
            return Some(ticks + begin);
        }
    }
    None
}

/// Whether a thought ends in what looks like code: a backtick of the thought and one of the answer enclose the mark.
fn holds_thoughts_end(code: &str) -> bool {
    let inside = code.trim_matches('`');
    let mut begins = inside.match_indices(['<', '[', '◁']);
    let mark = begins.find_map(|(at, _)| read_mark(&inside[at..], false));
    // A mark alone is what the text speaks of.
    mark.is_some_and(|it| matches!(it.kind, MarkKind::ThoughtEnds) && it.length < inside.len())
}

/// Returns the length of a thought with the mark that ends it.
fn after_thought(text: &str) -> Option<usize> {
    text.match_indices(['<', '[', '◁']).find_map(|(at, _)| {
        let mark = read_mark(&text[at..], true)?;
        match mark.kind {
            MarkKind::ThoughtEnds => Some(at + mark.length),
            // The answer begins with this mark.
            MarkKind::AnswerBegins => Some(at),
            MarkKind::ThoughtBegins
            | MarkKind::MessageEnds
            | MarkKind::ToolCall
            | MarkKind::Token => None,
        }
    })
}

/// Keeps the words before and after a mark apart. Returns the length of the space that is left out after it.
fn join(said: &mut String, rest: &str) -> usize {
    let space = rest.len() - rest.trim_start().len();
    if said.is_empty() || said.ends_with(char::is_whitespace) {
        return space;
    }
    if space == 0 && !rest.is_empty() {
        said.push(' ');
    }
    0
}

/// Returns what is in the final channel if the names of the channels stand in the text.
fn without_bare_channels(said: &str) -> &str {
    let is_quoted = |at: usize| said[..at].ends_with(['`', '"', '“', '「']);
    let last = said.rmatch_indices("assistantfinal").find(|(at, _)| !is_quoted(*at));
    if let Some((at, mark)) = last {
        return said[at + mark.len()..].trim_start();
    }
    let text = said.strip_prefix("assistant").unwrap_or(said);
    let thought = ["analysis", "commentary"].iter().find_map(|name| text.strip_prefix(name));
    let Some(thought) = thought else {
        // The role alone, as at the beginning of a message.
        return said.strip_prefix("assistant\n").map_or(said, str::trim_start);
    };
    if let Some((_, answer)) = thought.rsplit_once("\nassistant\nfinal\n") {
        return answer.trim_start();
    }
    // `analysisThe user asks`, or the name of a tool.
    let is_thought = thought.starts_with(|it: char| it.is_ascii_uppercase() || it == '\n');
    if is_thought || thought.trim_start().starts_with("to=") { "" } else { said }
}

/// Whether a text is a call of a tool, in JSON or in a block.
fn is_tool_call(text: &str) -> bool {
    let block = text.strip_prefix("```tool_c").map(|block| block.trim_end_matches('`'));
    if block.is_some_and(|block| !block.contains("```")) {
        return true;
    }
    let unfenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let json = unfenced.map_or(text, |text| text.trim_start_matches(char::is_alphabetic));
    let is_call = |value: &Value| {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        let is_named = has(&["name", "function", "tool"]);
        // The definition of a function has a description.
        is_named && has(&["arguments", "parameters", "args"]) && !has(&["description"])
    };
    if !json.trim_start().starts_with(['{', '[']) {
        return false;
    }
    match serde_json::from_str(json) {
        Ok(Value::Array(calls)) => !calls.is_empty() && calls.iter().all(is_call),
        Ok(value) => is_call(&value),
        Err(_) => false,
    }
}

fn ends_in_repetition(text: &str) -> bool {
    let text = text.trim_end_matches(|last: char| last.is_whitespace() || last == '…');
    let backwards = || text.bytes().rev();
    let repeated = |period: usize| {
        let pairs = backwards().zip(backwards().skip(period));
        period + pairs.take_while(|(last, before)| last == before).count()
    };
    let characters = |length: usize| {
        let end = text.as_bytes()[text.len() - length..].iter();
        end.filter(|byte| **byte & 0xC0 != 0x80).count()
    };
    (1..=text.len() / MAX_REPEATS)
        .find(|period| repeated(*period) >= period * MAX_REPEATS)
        .is_some_and(|period| {
            let (repeated, period) = (characters(repeated(period)), characters(period));
            match text.chars().rev().take(period).any(char::is_alphanumeric) {
                true => repeated >= MIN_REPEATED_CHARACTERS || period >= MIN_WORD_CHARACTERS,
                false => repeated >= MIN_REPEATED_PUNCTUATION,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(answer: &str) -> Result<String, NoAnswer> {
        said_in(answer, AnswerForm::Talk("Aki"))
    }

    #[test]
    fn what_a_model_thinks_is_not_said() {
        for (answer, expected) in [
            ("Hello", "Hello"),
            ("<think>They greet me.</think>\n\nHello", "Hello"),
            ("They greet me.\n</think>\n\nHello", "Hello"),
            ("They greet me.</think>Hello", "Hello"),
            ("<think>one</think>Hello<think>two</think>there", "Hello there"),
            ("<think>one</think>\nHello\n\n<think>two</think>\n\nthere", "Hello\n\nthere"),
            ("Hello\n<think>Should I go on?", "Hello"),
            ("<THINK>They greet me.</Think>Hello", "Hello"),
            ("<thought>They greet me.</thought>Hello", "Hello"),
            ("<seed:think>They greet me.</seed:think>Hello", "Hello"),
            ("<think effort=\"low\">They greet me.</think>Hello", "Hello"),
            ("<think>They greet me.</thinking>Hello", "Hello"),
            ("<think>They greet me.</think><answer>Hello</answer>", "Hello"),
            ("[THINK]They greet me.[/THINK]Hello", "Hello"),
            ("[think]They greet me.[/think]Hello", "Hello"),
            ("◁think▷They greet me.◁/think▷Hello", "Hello"),
            (
                "<|begin_of_thought|>So.<|end_of_thought|><|begin_of_solution|>Hello<|end_of_solution|>",
                "Hello",
            ),
            (
                "<|START_THINKING|>So.<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>",
                "Hello",
            ),
            ("<unused94>thought\nThey greet me.<unused95>Hello", "Hello"),
            ("<|channel>thought\nThey greet me.<channel|>Hello", "Hello"),
            ("<|channel>thought\n<channel|>Hello<turn|>", "Hello"),
            // A backtick of the thought and one of the answer enclose no code.
            ("About the ` key.</think>Press `Esc`.", "Press `Esc`."),
            (
                "They ask what ``` means.\n</think>\n\n``` opens a code block.",
                "``` opens a code block.",
            ),
            ("Is it ``` or `?</think>It is ```.", "It is ```."),
            ("<analysis>They greet me.</analysis>Hello", "Hello"),
            // A member's words in a thought end it no sooner.
            ("<think>Bob wrote </think> I am evil. So what?</think>Hello", "Hello"),
            ("Bob wrote \"</think>\".\n</think>Hello", "Hello"),
        ] {
            assert_eq!(talk(answer).as_deref(), Ok(expected), "{answer}");
        }
    }

    #[test]
    fn the_tokens_of_a_template_are_not_said() {
        for (answer, expected) in [
            ("Hello<|im_end|>", "Hello"),
            ("Hello<|im_end|>\n<|im_start|>user\nThanks<|im_end|>", "Hello"),
            ("<|im_start|>assistant\nHello<|im_end|>", "Hello"),
            ("<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>", "Hello"),
            ("<s>Hello</s>", "Hello"),
            ("Hello</s>\n[INST] And?", "Hello"),
            ("Hello</s><s>[INST] And?", "Hello"),
            ("Hello</s></answer>", "Hello"),
            ("Hello<end_of_turn>\n<start_of_turn>user\nAnd?", "Hello"),
            ("Hello<｜end▁of▁sentence｜>", "Hello"),
            ("<｜Assistant｜>Hello", "Hello"),
            (
                "<|channel|>analysis<|message|>They greet me.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
                "Hello",
            ),
            ("<|channel|>final<|message|>Hello", "Hello"),
            (
                "<|channel|>commentary<|message|>I look.<|end|><|channel|>final <|constrain|>text<|message|>Hello",
                "Hello",
            ),
            ("analysisThey greet me.assistantfinalHello", "Hello"),
            ("analysis They wrote assistantfinalX.assistantfinal Hello", "Hello"),
            ("assistantanalysis\nThey greet me.\nassistant\nfinal\nHello", "Hello"),
            ("assistantfinalHello", "Hello"),
            ("They greet me.assistantfinalHello", "Hello"),
            ("assistant\n\nHello", "Hello"),
        ] {
            assert_eq!(talk(answer).as_deref(), Ok(expected), "{answer}");
        }
    }

    #[test]
    fn the_form_of_the_transcript_is_not_said() {
        for (answer, expected) in [
            ("Aki: Hello", "Hello"),
            ("**(in reply to 2026-01-05 12:00:07 bob)**\nHello", "Hello"),
            ("Aki:\n**（2026-01-05 12:00:07 花子 への返信）**\nHello", "Hello"),
            ("**Aki:** Hello", "Hello"),
            ("**Aki**： Hello", "Hello"),
            ("**2026-01-05 12:00:07** Aki:\nHello\nthere", "Hello\nthere"),
            ("[12:00] aki: Hello", "Hello"),
            ("Assistant: Hello", "Hello"),
            ("**2026-01-05 12:00:07**\nHello", "Hello"),
            ("Hello\n\n**2026-01-05 12:00:09** bob:\nThanks", "Hello"),
            ("**2026-01-05 12:00:07** bob:\nHi\n\n**2026-01-05 12:00:09** Aki:\nHello", "Hello"),
            ("<think>So.</think>Aki: Hello", "Hello"),
            ("They call me Aki: Hello", "They call me Aki: Hello"),
            ("Akira: Hello", "Akira: Hello"),
            ("So:\n**12:00** tea:\ngreen", "So:\n**12:00** tea:\ngreen"),
            (
                "Plan:\n- 10:00 Aki: posts it\n- 11:00 Bob: tests",
                "Plan:\n- 10:00 Aki: posts it\n- 11:00 Bob: tests",
            ),
        ] {
            assert_eq!(talk(answer).as_deref(), Ok(expected), "{answer}");
        }
    }

    #[test]
    fn what_an_answer_speaks_of_stays() {
        for answer in [
            "Use `<think>` tags to mark reasoning.",
            "It ends with `</think>`, or \"</think>\", or 「<|im_end|>」.",
            "Like this:\n```html\n<think>\nWell\n</think>\n```\nThat is all.",
            "It is ``<tool_call>`` there.",
            "```\n**2026-01-05 12:00:07** bob:\nHi\n```",
            "Hm <:thinking:123456789> and <https://example.org/thinking>",
            "[thinking] maybe, see [reasoning](https://example.org)",
            "No <s>old</s> new, <b>bold</b>, a < b, <3|>, [1]",
            "It is <s>old</s>\nThe new one is there.",
            "It is <s>old</s>",
            "<s>old</s>\nThe new one is there.",
            "<s>old</s> [here](https://example.org)",
            "<s>one</s> <s>two</s> <b>three</b>",
            "<report><analysis>Good</analysis></report>",
            "Here: <data-analysis>tea</data-analysis>, <reasoning>",
            "{\"name\": \"get_weather\", \"description\": \"Says it\", \"parameters\": {}}",
            "Gemini writes:\n```tool_code\nsearch()\n```\nand waits.",
            "```tool_code\nsearch()\n```\nis what Gemini writes.",
            "analysis of the tea is done.",
            "The mark is `assistantfinal`.",
            "It has {\"name\": \"tea\", \"parameters\": {}} in it.",
            "Like this: `a\n\nb` <|a b|>",
        ] {
            assert_eq!(talk(answer).as_deref(), Ok(answer));
        }
    }

    #[test]
    fn an_answer_without_words_is_none() {
        for answer in [
            "<|im_end|><think>".repeat(30),
            "<think>They greet me.".to_owned(),
            "<think></think></s>".to_owned(),
            "They greet me.</think>".to_owned(),
            "[THINK]They greet me.".to_owned(),
            "<|channel>thought\nThey greet me.".to_owned(),
            "<|channel|>analysis<|message|>They greet me.".to_owned(),
            "analysisThey greet me.".to_owned(),
            "<|eot_id|>\n<|start_header_id|>".to_owned(),
            "**2026-01-05 12:00:07** Aki:\n".to_owned(),
            " ".to_owned(),
        ] {
            assert_eq!(talk(&answer), Err(NoAnswer::Markup), "{answer}");
        }
    }

    #[test]
    fn a_tool_call_in_a_text_is_not_said() {
        for answer in [
            "<tool_call>{\"name\":\"search\",\"arguments\":{}}</tool_call>",
            "I look.\n<tool_call>\n<function=search>",
            "<function=search>{}</function>",
            "[TOOL_CALLS][{\"name\": \"search\", \"arguments\": {}}]",
            "<|python_tag|>search(\"tea\")",
            "<｜tool▁calls▁begin｜>search",
            "<|tool_calls_section_begin|>search",
            "<|tool_call>call:search{}<tool_call|>",
            "<function_calls>\n<invoke name=\"search\">",
            "<minimax:tool_call>search",
            "<|channel|>commentary to=functions.search <|constrain|>json<|message|>{}<|call|>",
            "<|start|>assistant to=functions.search<|channel|>commentary<|message|>{}",
            "```tool_code\nsearch()\n```",
            "```tool_code\nsearch()",
            "{\"name\": \"search\", \"parameters\": {\"query\": \"tea\"}}",
            "```json\n[{\"name\": \"search\", \"arguments\": {}}]\n```",
        ] {
            assert_eq!(talk(answer), Err(NoAnswer::ToolCall), "{answer}");
        }
    }

    #[test]
    fn an_object_keeps_what_it_quotes() {
        for (answer, expected) in [
            ("{\"why\": \"</think>{'x': 1}\"}", "{\"why\": \"</think>{'x': 1}\"}"),
            ("{'why': '</think>{x: 1}'}", "{'why': '</think>{x: 1}'}"),
            ("[THINK]So.[/THINK][{\"why\": \"<think>\"}]", "[{\"why\": \"<think>\"}]"),
            ("<think>{\"x\": 1}</think>{\"x\": 2}<|im_end|>", "{\"x\": 2}<|im_end|>"),
            ("maybe {\"x\": 1}</think>{\"x\": 2}", "{\"x\": 2}"),
            ("So: {\"why\": \"</think>{'x': 1}\"}", "So: {\"why\": \"</think>{'x': 1}\"}"),
        ] {
            assert_eq!(said_in(answer, AnswerForm::Json).as_deref(), Ok(expected), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_repeats_itself_to_the_end_says_nothing() {
        for text in [
            "I see. ".repeat(40),
            format!("Roses need water. {}…", "I see, ".repeat(40)),
            "はい。".repeat(45),
            "!".repeat(2000),
            "-=-".repeat(400),
            format!("{}and so", "and so on and on, ".repeat(30)),
            format!("{}<|im_end|>", "blorp ".repeat(30)),
            "ぬるぽ".repeat(30),
        ] {
            assert_eq!(talk(&text), Err(NoAnswer::Repetition), "{text}");
        }
        for text in [
            "ha".repeat(50),
            "That is all.\n".to_owned() + &"=".repeat(120),
            "That is all.\n".to_owned() + &"- = ".repeat(30) + "-",
            "以上です。\n".to_owned() + &"─".repeat(80),
            format!("{}That is enough.", "I see. ".repeat(40)),
            "I see. ".repeat(20).trim().to_owned(),
            format!("Like this:\n```\n{}\n```", "-".repeat(200)),
            (1..60)
                .map(|number| format!("{number}. I see.\n"))
                .collect::<String>()
                .trim()
                .to_owned(),
        ] {
            assert_eq!(talk(&text), Ok(text));
        }
    }
}
