//! Statements as PostgreSQL wants them. They are written as SQLite reads them, with what both know where
//! there is a choice; what is only named otherwise is renamed here, and what is another statement
//! altogether stands in [`OTHERWISE`](crate::store::postgres::sql::OTHERWISE).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::store::database::sql;
use crate::store::postgres;

static POSTGRES_STATEMENTS: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let written = sql::all_statements().map(|(_, statement)| (statement, translate(statement)));
    let otherwise = postgres::sql::OVERRIDES.iter();
    written.chain(otherwise.map(|(ours, theirs)| (*ours, (*theirs).to_owned()))).collect()
});

/// How PostgreSQL is told a statement.
pub fn to_postgres(statement: &'static str) -> &'static str {
    POSTGRES_STATEMENTS.get(statement).map_or(statement, String::as_str)
}

/// What is called otherwise, as a whole word.
const RENAMED_FUNCTIONS: &[(&str, &str)] = &[
    ("json_object", "json_build_object"),
    ("json_array", "json_build_array"),
    ("json", "as_json"),
];

/// Functions that gather rows, and what they give for none.
const AGGREGATES: &[(&str, &str, &str)] =
    &[("json_group_array", "json_agg", "[]"), ("json_group_object", "json_object_agg", "{}")];

fn translate(statement: &str) -> String {
    let mut spelled = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some(next) = rest.chars().next() {
        if next == '\'' {
            let end = rest[1..].find('\'').map_or(rest.len(), |end| end + 2);
            spelled.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if next == '?' {
            spelled.push('$');
            rest = &rest[1..];
        } else if is_word_char(next) {
            let end = rest.find(|next| !is_word_char(next)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            rest = translate_word(&mut spelled, word, behind);
        } else {
            spelled.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    spelled
}

fn is_word_char(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '_'
}

/// Spells one word, and gives what is left to be spelled behind it.
fn translate_word<'s>(spelled: &mut String, word: &str, behind: &'s str) -> &'s str {
    let gathering = AGGREGATES.iter().find(|(name, ..)| *name == word);
    if let (Some((_, theirs, none)), true) = (gathering, behind.starts_with('(')) {
        let (inside, behind) = split_parenthesis(behind);
        spelled.push_str(&format!("coalesce({theirs}({}), '{none}')", translate(inside)));
        return behind;
    }
    // Which index is used is for the server to say.
    if word == "INDEXED" {
        let behind = behind.trim_start().strip_prefix("BY").unwrap_or(behind).trim_start();
        return &behind[behind.find(|next| !is_word_char(next)).unwrap_or(behind.len())..];
    }
    // As is the order in which tables are read. A list is on no condition.
    let joined = behind.trim_start().strip_prefix("JOIN").map(str::trim_start);
    if word == "CROSS" && joined.is_some_and(|joined| !joined.starts_with("json_each")) {
        return behind.trim_start();
    }
    if word == "LIMIT" && behind.starts_with(" -1") {
        spelled.push_str("LIMIT ALL");
        return &behind[" -1".len()..];
    }
    let name = RENAMED_FUNCTIONS.iter().find(|(name, _)| *name == word && behind.starts_with('('));
    spelled.push_str(name.map_or(word, |(_, theirs)| theirs));
    behind
}

/// What stands between the parenthesis that a text begins with and its end, and what is behind that.
fn split_parenthesis(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut is_quoted = false;
    for (at, next) in text.char_indices() {
        match next {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..at], &text[at + 1..]);
        }
    }
    (&text[1..], "")
}

/// A text without the one character that PostgreSQL keeps in no text.
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
    while let Some(at) = rest.find('\\') {
        storable.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.strip_prefix("\\u0000") {
            Some(behind) => {
                storable.push(REPLACEMENT);
                rest = behind;
            }
            // A backslash, and what it stands before.
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
    fn what_is_called_otherwise_is_renamed() {
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
    fn no_text_holds_the_character_that_postgres_cannot_keep() {
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
