//! Log messages: the text is constant, and variable parts are fields.

use crate::tidy::sources;

/// Sentences that are required verbatim.
const REQUIRED: [&str; 3] = [
    "Intervention blocked for channel {channel}: conversation is ending",
    "Conversation state detected: {state}, proceeding to LLM judgment",
    "Error in conversation state analysis: {error}",
];

const MACROS: [&str; 5] = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];

/// An operator who counts or searches log messages finds all of one kind by one text.
#[test]
fn messages_of_the_log_have_fields_in_the_place_of_holes() {
    let (mut wrong, mut required, mut count) = (Vec::new(), Vec::new(), 0);
    for source in sources() {
        let code = source.lines().map(|(_, line)| format!("{line}\n")).collect::<String>();
        for call in log_calls(&code) {
            count += 1;
            let Some(message) = message(call).filter(|message| has_hole(message)) else { continue };
            match REQUIRED.contains(&&*message) {
                true => required.push(message),
                false => wrong.push(format!("{}: {message}", source.path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    required.sort_unstable();
    let mut expected = REQUIRED;
    expected.sort_unstable();
    assert_eq!(required, expected);
    assert!(count > 200, "only {count} calls were found");
}

#[test]
fn holes_are_noticed() {
    let code = r#"
        warn!(why = %format_args!("{wait:#}"), "no \"{hole}\" in \
            a field");
        info!(model, "the model is {model}");
        use tracing::{error, info};
        error!("{warning}");
        println!("{model}");
        debug!(error = format!("{error:#}"), "a page failed",);
    "#;
    let found: Vec<_> = log_calls(code).into_iter().filter_map(message).collect();
    assert_eq!(
        found,
        [
            r#"no \"{hole}\" in \
            a field"#,
            "the model is {model}",
            "{warning}",
            "a page failed"
        ]
    );
    let with_hole: Vec<_> = found.iter().map(|message| has_hole(message)).collect();
    assert_eq!(with_hole, [true, true, false, false]);
}

/// Returns the arguments of each call of a logging macro.
fn log_calls(code: &str) -> Vec<&str> {
    let mut calls = Vec::new();
    for name in MACROS {
        for (at, _) in code.match_indices(name) {
            let before = code[..at].chars().next_back();
            // `eprintln!(` does not end with any of the names, but `my_info!(` would.
            if before.is_some_and(|character| character.is_alphanumeric() || character == '_') {
                continue;
            }
            calls.push((at, arguments(&code[at + name.len()..])));
        }
    }
    calls.sort_by_key(|(at, _)| *at);
    calls.into_iter().map(|(_, call)| call).collect()
}

/// Returns the text up to the bracket that closes the call.
fn arguments(code: &str) -> &str {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, character) in code.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text && depth == 0 => return &code[..at],
            ')' if !is_text => depth -= 1,
            _ => {}
        }
    }
    code
}

/// Returns the literal at the depth of the arguments. A field's value comes after a `=`.
fn message(call: &str) -> Option<String> {
    let (mut depth, mut is_value, mut is_escaped) = (0_usize, false, false);
    let mut text: Option<String> = None;
    for character in call.chars() {
        if let Some(read) = &mut text {
            match character {
                '"' if !is_escaped && depth == 0 && !is_value => return text,
                '"' if !is_escaped => text = None,
                _ => {
                    is_escaped = character == '\\' && !is_escaped;
                    read.push(character);
                }
            }
            continue;
        }
        match character {
            '"' => text = Some(String::new()),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '=' => is_value = true,
            ',' if depth == 0 => is_value = false,
            _ => {}
        }
    }
    None
}

/// Whether it is a sentence with a placeholder. A message that is only a placeholder is a whole sentence from
/// elsewhere.
fn has_hole(message: &str) -> bool {
    let is_whole = message.starts_with('{') && message.find('}') == Some(message.len() - 1);
    message.contains('{') && !is_whole
}
