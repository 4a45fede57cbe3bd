//! Translates statements for PostgreSQL. They are written in SQLite's dialect, using the common subset where there is
//! a choice. Functions that only differ in name are renamed here; statements that differ altogether are in
//! [`sql`].

mod sql;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::database::sql::all_statements;

static POSTGRES_STATEMENTS: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let written = all_statements().map(|(_, statement)| (statement, translate(statement)));
    let otherwise = sql::OVERRIDES.iter();
    written.chain(otherwise.map(|(ours, theirs)| (*ours, (*theirs).to_owned()))).collect()
});

/// The PostgreSQL version of a statement.
pub fn to_postgres(statement: &'static str) -> &'static str {
    POSTGRES_STATEMENTS.get(statement).map_or(statement, String::as_str)
}

/// Functions that only differ in name, as whole words.
const RENAMED_FUNCTIONS: &[(&str, &str)] = &[
    ("json_object", "json_build_object"),
    ("json_array", "json_build_array"),
    ("json", "as_json"),
];

/// Aggregates, and their value for no rows.
const AGGREGATES: &[(&str, &str, &str)] =
    &[("json_group_array", "json_agg", "[]"), ("json_group_object", "json_object_agg", "{}")];

fn translate(statement: &str) -> String {
    let mut translated = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some(next) = rest.chars().next() {
        if next == '\'' {
            let end = rest[1..].find('\'').map_or(rest.len(), |end| end + 2);
            translated.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if next == '?' {
            translated.push('$');
            rest = &rest[1..];
        } else if is_word_char(next) {
            let end = rest.find(|next| !is_word_char(next)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = translate_word(&mut translated, word, after);
        } else {
            translated.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    translated
}

fn is_word_char(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '_'
}

/// Translates one word. Returns the rest, which is still to be translated.
fn translate_word<'s>(translated: &mut String, word: &str, rest: &'s str) -> &'s str {
    let aggregate = AGGREGATES.iter().find(|(name, ..)| *name == word);
    if let (Some((_, name, empty)), true) = (aggregate, rest.starts_with('(')) {
        let (arguments, rest) = split_parenthesis(rest);
        translated.push_str(&format!("coalesce({name}({}), '{empty}')", translate(arguments)));
        return rest;
    }
    // PostgreSQL has no INDEXED BY; its planner chooses the indexes.
    if word == "INDEXED" {
        let rest = rest.trim_start().strip_prefix("BY").unwrap_or(rest).trim_start();
        return &rest[rest.find(|next| !is_word_char(next)).unwrap_or(rest.len())..];
    }
    // It chooses the join order, too. But a join with a list has no condition, so it stays a CROSS JOIN.
    let joined = rest.trim_start().strip_prefix("JOIN").map(str::trim_start);
    if word == "CROSS" && joined.is_some_and(|joined| !joined.starts_with("json_each")) {
        return rest.trim_start();
    }
    if word == "LIMIT" && rest.starts_with(" -1") {
        translated.push_str("LIMIT ALL");
        return &rest[" -1".len()..];
    }
    let name = RENAMED_FUNCTIONS.iter().find(|(name, _)| *name == word && rest.starts_with('('));
    translated.push_str(name.map_or(word, |(_, name)| name));
    rest
}

/// Splits a text after its leading parenthesis into what is inside and what follows.
fn split_parenthesis(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut is_quoted = false;
    for (index, next) in text.char_indices() {
        match next {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..index], &text[index + 1..]);
        }
    }
    (&text[1..], "")
}

/// Replaces NUL, the only character that PostgreSQL cannot store in a text.
pub fn replace_nul(text: String) -> String {
    const REPLACEMENT: char = '\u{fffd}';
    let text = match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    };
    let is_json = text.starts_with(['[', '{']);
    if !is_json || !text.contains("\\u0000") {
        return text;
    }
    let mut storable = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(index) = rest.find('\\') {
        storable.push_str(&rest[..index]);
        rest = &rest[index..];
        match rest.strip_prefix("\\u0000") {
            Some(tail) => {
                storable.push(REPLACEMENT);
                rest = tail;
            }
            // A backslash and the escaped character.
            None => {
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
                storable.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    storable.push_str(rest);
    storable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_functions_are_translated() {
        for (ours, theirs) in [
            ("SELECT a FROM t WHERE b = ?1", "SELECT a FROM t WHERE b = $1"),
            ("SELECT '?1 json(a)'", "SELECT '?1 json(a)'"),
            ("json_object('a', json(b))", "json_build_object('a', as_json(b))"),
            ("FROM t INDEXED BY t_by_a WHERE a", "FROM t  WHERE a"),
            ("FROM t CROSS JOIN u ON a", "FROM t JOIN u ON a"),
            (
                "(SELECT json_group_array(json_array(a, ')')) FROM t)",
                "(SELECT coalesce(json_agg(json_build_array(a, ')')), '[]') FROM t)",
            ),
            ("json_each(?1)", "json_each($1)"),
        ] {
            assert_eq!(translate(ours), theirs);
        }
    }

    #[test]
    fn nul_is_replaced() {
        for (text, kept) in [
            ("a\0b", "a\u{fffd}b"),
            (r#"["a\u0000b"]"#, "[\"a\u{fffd}b\"]"),
            (r#"["a\\u0000b"]"#, r#"["a\\u0000b"]"#),
            (r#"["\\\u0000\n"]"#, "[\"\\\\\u{fffd}\\n\"]"),
            (r"typed \u0000", r"typed \u0000"),
        ] {
            assert_eq!(replace_nul(text.to_owned()), kept);
        }
    }
}
