//! Expands `${NAME}` to the value of the variable, in plain and in quoted values.
//!
//! `${NAME:-default}` is the default if the variable is not set or empty. `${NAME:?message}` is an error with that
//! message then. `$NAME` is literal, and `$${` is a literal `${`. In a section with `enabled: false`, variables may be
//! missing. The YAML library's own expansion is not used: it either skips quoted values or makes missing variables
//! empty.

use crate::environment::Environment;
use crate::problem::ConfigProblem;
use crate::syntax_tree::{ConfigEntry, ConfigNode, ConfigText, ConfigValue};

/// Expands every value below a node.
pub fn expand(node: &mut ConfigNode, environment: &Environment) -> Result<(), ConfigProblem> {
    expand_within(node, environment, OnMissing::Fail)
}

/// What happens if a variable is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnMissing {
    /// The config is rejected.
    Fail,
    /// The value becomes empty, because nothing reads it.
    LeaveEmpty,
}

fn expand_within(
    node: &mut ConfigNode,
    environment: &Environment,
    on_missing: OnMissing,
) -> Result<(), ConfigProblem> {
    match &mut node.value {
        ConfigValue::Empty => {}
        ConfigValue::List(items) => {
            for item in items {
                expand_within(item, environment, on_missing)?;
            }
        }
        ConfigValue::Section(entries) => {
            let on_missing =
                if is_off(entries, environment) { OnMissing::LeaveEmpty } else { on_missing };
            for entry in entries {
                expand_within(&mut entry.node, environment, on_missing)
                    .map_err(|problem| problem.within(&entry.key))?;
            }
        }
        ConfigValue::Text(ConfigText { text, .. }) if !text.contains("${") => {}
        ConfigValue::Text(text) => {
            let expanded = match expand_text(&text.text, environment) {
                Ok(expanded) => expanded,
                Err(ExpandError::Missing(_)) if on_missing == OnMissing::LeaveEmpty => {
                    node.value = ConfigValue::Empty;
                    return Ok(());
                }
                Err(ExpandError::Missing(problem) | ExpandError::Malformed(problem)) => {
                    return Err(ConfigProblem::for_key(node.location, problem));
                }
            };
            // As in YAML, nothing means no value, and a pair of quotes means an empty text.
            let is_empty = expanded.text.is_empty() && !text.is_quoted;
            if is_empty {
                node.value = ConfigValue::Empty;
            } else {
                let is_expanded = text.is_expanded || expanded.is_expanded;
                *text = ConfigText { text: expanded.text, is_expanded, ..text.clone() };
            }
        }
    }
    Ok(())
}

/// Whether a section has `enabled: false`.
fn is_off(entries: &[ConfigEntry], environment: &Environment) -> bool {
    let enabled = entries.iter().find(|entry| entry.key == "enabled");
    let Some(ConfigValue::Text(text)) = enabled.map(|entry| &entry.node.value) else {
        return false;
    };
    let enabled = expand_text(&text.text, environment).map(|expanded| expanded.text.to_lowercase());
    // If the variable is missing, the section counts as on, and the error names the variable.
    enabled.is_ok_and(|enabled| ["false", "no", "off"].contains(&enabled.as_str()))
}

/// Why a text cannot be expanded. The message continues the name of the key.
enum ExpandError {
    /// A variable is not set.
    Missing(String),
    /// The syntax is wrong.
    Malformed(String),
}

struct Expanded {
    text: String,
    /// The text contained a variable.
    is_expanded: bool,
}

fn expand_text(text: &str, environment: &Environment) -> Result<Expanded, ExpandError> {
    let mut expanded = Expanded { text: String::new(), is_expanded: false };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            expanded.text.push_str(before);
            expanded.text.push_str("${");
            rest = after;
            continue;
        }
        expanded.text.push_str(before);
        let (inside, after) = split_at_closing(after)
            .ok_or_else(|| ExpandError::Malformed(NEVER_CLOSED.to_owned()))?;
        // A value is not expanded again: a password may contain `${`.
        expanded.text.push_str(&resolve_variable(inside, environment)?);
        expanded.is_expanded = true;
        rest = after;
    }
    expanded.text.push_str(rest);
    Ok(expanded)
}

/// The value of one `${…}`, given its inside.
fn resolve_variable(inside: &str, environment: &Environment) -> Result<String, ExpandError> {
    let name_end =
        inside.find(|character: char| !is_name_character(character)).unwrap_or(inside.len());
    let (name, operator) = inside.split_at(name_end);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(ExpandError::Malformed(INVALID_FORM.to_owned()));
    }
    let value = environment.get(name).filter(|value| !value.is_empty());
    if let Some(default) = operator.strip_prefix(":-") {
        return match value {
            Some(value) => Ok(value.to_owned()),
            None => Ok(expand_text(default, environment)?.text),
        };
    }
    if let Some(message) = operator.strip_prefix(":?") {
        let missing = || match message.trim() {
            "" => format!("needs the variable {name}, which is empty or not set"),
            message => format!("needs the variable {name}: {message}"),
        };
        return value.map(str::to_owned).ok_or_else(|| ExpandError::Missing(missing()));
    }
    if !operator.is_empty() {
        return Err(ExpandError::Malformed(INVALID_FORM.to_owned()));
    }
    let missing = || {
        format!(
            "needs the variable {name}, which is set neither in the environment nor in a .env file"
        )
    };
    environment.get(name).map(str::to_owned).ok_or_else(|| ExpandError::Missing(missing()))
}

const NEVER_CLOSED: &str = "has a ${ that is never closed; for a literal ${ write $${, and put a value with spaces or special characters in quotes";

const INVALID_FORM: &str = "has a ${…} that names no variable: it must be ${NAME}, ${NAME:-default} or \
                     ${NAME:?message}; for a literal ${ write $${";

/// Splits after the closing brace. Defaults may contain variables of their own, so braces nest.
fn split_at_closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' if text[..at].ends_with('$') => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let pairs = [("NAME", "Aki"), ("EMPTY", ""), ("DOLLAR", "${NAME}"), ("N", "12")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Environment::new(pairs, "", ".env").unwrap()
    }

    #[test]
    fn variables_are_expanded() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${NAME}", "Aki"),
            ("a ${NAME} b ${N}", "a Aki b 12"),
            ("${EMPTY}", ""),
            ("$NAME", "$NAME"),
            ("$", "$"),
            ("$$", "$$"),
            ("$${NAME}", "${NAME}"),
            ("$${NAME} ${NAME}", "${NAME} Aki"),
            ("${DOLLAR}", "${NAME}"),
            ("${NAME:-x}", "Aki"),
            ("${MISSING:-x y}", "x y"),
            ("${EMPTY:-x}", "x"),
            ("${MISSING:-}", ""),
            ("${MISSING:-${NAME}!}", "Aki!"),
            ("${MISSING:-$${NAME}}", "${NAME}"),
            ("${NAME:?set it}", "Aki"),
        ] {
            let expanded = expand_text(text, &environment()).ok().expect(text);
            assert_eq!(expanded.text, expected, "{text}");
        }
    }

    #[test]
    fn invalid_texts_are_described() {
        for (text, expected) in [
            ("${MISSING}", "needs the variable MISSING, which is set neither"),
            ("${MISSING:?ask Bo for it}", "needs the variable MISSING: ask Bo for it"),
            ("${EMPTY:?ask Bo for it}", "needs the variable EMPTY: ask Bo for it"),
            ("${MISSING:?}", "needs the variable MISSING, which is empty or not set"),
            ("${MISSING:-${OTHER}}", "needs the variable OTHER"),
            ("${", "never closed"),
            ("${NAME", "never closed"),
            ("${}", "names no variable"),
            ("${1A}", "names no variable"),
            ("${NAME-x}", "names no variable"),
            ("${a b}", "names no variable"),
        ] {
            let problem = match expand_text(text, &environment()) {
                Err(ExpandError::Missing(problem) | ExpandError::Malformed(problem)) => problem,
                Ok(_) => panic!("{text} is refused"),
            };
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
