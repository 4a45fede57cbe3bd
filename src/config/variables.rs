//! Puts what variables hold in the place of `${NAME}`, in plain and in quoted values alike.
//!
//! `${NAME:-default}` is the default where the variable is not set or empty, `${NAME:?message}`
//! an error with that message. `$NAME` stays as it is, and `$${` is a plain `${`. What a section
//! with `enabled: false` needs may be missing. The YAML library's own expansion leaves quoted values
//! alone, or else makes missing variables empty.

use crate::config::environment::Environment;
use crate::config::problem::ConfigProblem;
use crate::config::tree::{ConfigEntry, ConfigNode, ConfigText, ConfigValue};

/// Expands every value below a node.
pub fn expand(node: &mut ConfigNode, environment: &Environment) -> Result<(), ConfigProblem> {
    expand_within(node, environment, OnMissing::Fail)
}

/// What a variable that is not there does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnMissing {
    /// It is an error.
    Fail,
    /// It leaves its value empty: nothing reads it.
    LeaveEmpty,
}

fn expand_within(
    node: &mut ConfigNode,
    environment: &Environment,
    needs: OnMissing,
) -> Result<(), ConfigProblem> {
    match &mut node.value {
        ConfigValue::Empty => {}
        ConfigValue::List(items) => {
            for item in items {
                expand_within(item, environment, needs)?;
            }
        }
        ConfigValue::Section(entries) => {
            let needs = if is_off(entries, environment) { OnMissing::LeaveEmpty } else { needs };
            for entry in entries {
                expand_within(&mut entry.node, environment, needs)
                    .map_err(|problem| problem.within(&entry.key))?;
            }
        }
        ConfigValue::Text(ConfigText { text, .. }) if !text.contains("${") => {}
        ConfigValue::Text(text) => {
            let expanded = match expand_text(&text.text, environment) {
                Ok(expanded) => expanded,
                Err(ExpandError::Missing(_)) if needs == OnMissing::LeaveEmpty => {
                    node.value = ConfigValue::Empty;
                    return Ok(());
                }
                Err(ExpandError::Missing(wrong) | ExpandError::Malformed(wrong)) => {
                    return Err(ConfigProblem::for_key(node.location, wrong));
                }
            };
            let is_nothing = expanded.text.is_empty() && !text.is_quoted;
            if is_nothing {
                node.value = ConfigValue::Empty;
            } else {
                let is_expanded = text.is_expanded || expanded.is_expanded;
                *text = ConfigText { text: expanded.text, is_expanded, ..text.clone() };
            }
        }
    }
    Ok(())
}

/// Whether a section says that it is not used.
fn is_off(entries: &[ConfigEntry], environment: &Environment) -> bool {
    let enabled = entries.iter().find(|entry| entry.key == "enabled");
    let Some(ConfigValue::Text(text)) = enabled.map(|entry| &entry.node.value) else {
        return false;
    };
    let said = expand_text(&text.text, environment).map(|expanded| expanded.text.to_lowercase());
    said.is_ok_and(|said| ["false", "no", "off"].contains(&said.as_str()))
}

/// Why a text cannot be expanded; each goes on after the name of the key.
enum ExpandError {
    /// A variable is not there.
    Missing(String),
    /// It is not written as it should be.
    Malformed(String),
}

struct Expanded {
    text: String,
    /// Something stood for a variable.
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
        expanded.text.push_str(&resolve_variable(inside, environment)?);
        expanded.is_expanded = true;
        rest = after;
    }
    expanded.text.push_str(rest);
    Ok(expanded)
}

/// What stands for the inside of one `${…}`.
fn resolve_variable(inside: &str, environment: &Environment) -> Result<String, ExpandError> {
    let name_ends = inside.find(|letter: char| !is_name_character(letter)).unwrap_or(inside.len());
    let (name, operator) = inside.split_at(name_ends);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(ExpandError::Malformed(INVALID_FORM.to_owned()));
    }
    let filled = environment.get(name).filter(|value| !value.is_empty());
    if let Some(default) = operator.strip_prefix(":-") {
        return match filled {
            Some(value) => Ok(value.to_owned()),
            None => Ok(expand_text(default, environment)?.text),
        };
    }
    if let Some(message) = operator.strip_prefix(":?") {
        let missing = || match message.trim() {
            "" => format!("needs the variable {name}, which is empty or not set"),
            message => format!("needs the variable {name}: {message}"),
        };
        return filled.map(str::to_owned).ok_or_else(|| ExpandError::Missing(missing()));
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

const NEVER_CLOSED: &str = "has a ${ that is never closed; for a plain ${ write $${, and put a \
                            value with spaces or signs in quotes";

const INVALID_FORM: &str = "has a ${…} that names no variable: it must be ${NAME}, ${NAME:-default} or \
                     ${NAME:?message}; for a plain ${ write $${";

/// Splits behind the brace that closes this one; defaults may hold variables of their own.
fn split_at_closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' if text[..at].ends_with('$') => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn is_name_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
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
    fn a_text_is_expanded_as_it_says() {
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
    fn what_cannot_be_expanded_is_told() {
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
            let said = match expand_text(text, &environment()) {
                Err(ExpandError::Missing(said) | ExpandError::Malformed(said)) => said,
                Ok(_) => panic!("{text} is refused"),
            };
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
