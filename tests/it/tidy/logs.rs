//! Log messages: the text is constant, and variable parts are fields.

use crate::tidy::sources;

/// Sentences that are required verbatim.
const REQUIRED: [&str; 3] = [
    "Intervention blocked for channel {channel}: conversation is ending",
    "Conversation state detected: {state}, proceeding to LLM judgment",
    "Error in conversation state analysis: {error}",
];

const SPAN_MACROS: [&str; 6] =
    ["span!(", "trace_span!(", "debug_span!(", "info_span!(", "warn_span!(", "error_span!("];
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

/// In JSON, the text of an event is its field `message`, and the name of a span its field `name`. The others are keys
/// beside `fields`, next to which programs that flatten the lines put the fields.
#[test]
fn fields_of_the_log_have_names_of_their_own() {
    const RESERVED: [&str; 7] =
        ["message", "level", "target", "timestamp", "fields", "span", "spans"];
    let (mut wrong, mut count) = (Vec::new(), 0);
    for source in sources() {
        let code = source.lines().map(|(_, line)| format!("{line}\n")).collect::<String>();
        for call in calls_of(&code, &[&MACROS[..], &SPAN_MACROS].concat()) {
            let names = field_names(call);
            count += names.len();
            let is_wrong = |(at, name): (usize, &String)| {
                let is_span = call.starts_with('"');
                RESERVED.contains(&&**name)
                    || is_span && name == "name"
                    || names[..at].contains(name)
            };
            let found = names.iter().enumerate().filter(|named| is_wrong(*named));
            wrong.extend(found.map(|(_, name)| format!("{}: {name}", source.path.display())));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(count > 400, "only {count} fields were found");
}

#[test]
fn names_of_fields_are_noticed() {
    for (code, expected) in [
        (r#"info!(message = %posted.id, "posted");"#, vec!["message"]),
        (
            r#"warn!(platform = "a, b = c", %channel, error = format!("{a}, {b}"), "x");"#,
            vec!["platform", "channel", "error"],
        ),
        (r#"info!(model, ?wait, "the model is {model}", name = 1);"#, vec!["model", "wait"]),
        (
            r#"info_span!("hear", event, %workspace, step.kind = field::Empty);"#,
            vec!["event", "workspace", "step.kind"],
        ),
        (r#"error!(target: TARGET, span.id, "x");"#, vec!["span.id"]),
        (r#"error!("{warning}");"#, vec![]),
    ] {
        let found = calls_of(code, &[&MACROS[..], &SPAN_MACROS].concat());
        assert_eq!(found.iter().map(|call| field_names(call)).collect::<Vec<_>>(), [expected]);
    }
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

/// Returns the names of the fields of a call.
fn field_names(call: &str) -> Vec<String> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let mut parts = vec![String::new()];
    for character in call.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            '(' | '[' | '{' if !is_text => depth += 1,
            ')' | ']' | '}' if !is_text => depth = depth.saturating_sub(1),
            ',' if !is_text && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(character);
    }
    let is_argument =
        |part: &&str| !part.is_empty() && !part.starts_with('"') && !part.starts_with("target:");
    let is_part = |character: char| character.is_alphanumeric() || "_.".contains(character);
    let name = |part: &str| {
        let part = part.trim_start_matches(['%', '?']);
        part.split(|character| !is_part(character)).next().unwrap_or_default().to_owned()
    };
    // What follows the text fills its holes.
    let text = parts.iter().skip(1).position(|part| part.trim().starts_with('"'));
    let fields = parts.iter().take(text.map_or(parts.len(), |at| at + 1));
    fields.map(|part| part.trim()).filter(is_argument).map(name).collect()
}

/// Returns the arguments of each call of a logging macro.
fn log_calls(code: &str) -> Vec<&str> {
    calls_of(code, &MACROS)
}

/// Returns the arguments of each call of these macros.
fn calls_of<'a>(code: &'a str, macros: &[&str]) -> Vec<&'a str> {
    let mut calls = Vec::new();
    for name in macros {
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
