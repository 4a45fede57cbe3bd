//! Finds the JSON object that a model was asked for in what it answered: with words, a code fence or its thinking around
//! it, wrapped in something else, or in the notation of another language. What cannot be told for sure is an error, so
//! the model is asked again. No error repeats the answer, which may contain chat text.

use std::iter::Peekable;
use std::str::CharIndices;

use aizuchi_llm::markup::{AnswerForm, said_in};
use serde_json::{Map, Value};

/// How deep the object may be wrapped: in a list, under a name, in a tool call, or encoded as a string.
const MAX_WRAPPINGS: usize = 4;
/// The number of places in a text at which an object is looked for.
const MAX_PLACES: usize = 20;

/// The object of an answer.
#[derive(Debug)]
pub struct AnswerObject {
    /// Its fields, under names such as `should_respond` whatever case the model used.
    pub fields: Map<String, Value>,
    /// In what the answer differs from what was asked for. Words and a fence around the object are no difference.
    pub differences: Vec<&'static str>,
}

/// Finds the one object with the field `required`.
pub fn find_object(answer: &str, required: &str) -> Result<AnswerObject, String> {
    // A thought may hold drafts of the object.
    let text = said_in(answer, AnswerForm::Json).map_err(|why| why.describe().to_owned())?;
    let text = &*text;
    let mut found: Option<AnswerObject> = None;
    let mut problem = None;
    for written in written_values(text) {
        let Some(json) = written.json else {
            problem.get_or_insert("its JSON object does not end");
            continue;
        };
        let Ok(value) = serde_json::from_str::<Value>(&json) else {
            problem.get_or_insert("it is not valid JSON");
            continue;
        };
        let mut differences = written.differences;
        let Some(fields) = unwrap_object(value, required, 0, &mut differences) else {
            continue;
        };
        if let Some(earlier) = &found
            && earlier.fields.get(required) != fields.get(required)
        {
            return Err("it holds several objects that contradict each other".to_owned());
        }
        found = Some(AnswerObject { fields, differences });
    }
    let missing = || match problem {
        Some(problem) => problem.to_owned(),
        None if text.contains('{') => format!("it has no field {required}"),
        None => "it holds no JSON object".to_owned(),
    };
    found.ok_or_else(missing)
}

/// Returns the fields of the object with the field `required`, which may be wrapped.
fn unwrap_object(
    value: Value,
    required: &str,
    depth: usize,
    differences: &mut Vec<&'static str>,
) -> Option<Map<String, Value>> {
    let inner: Vec<Value> = match value {
        Value::Object(fields) => {
            let renamed: Map<String, Value> =
                fields.iter().map(|(name, value)| (snake_case(name), value.clone())).collect();
            if renamed.contains_key(required) {
                if !fields.contains_key(required) {
                    differences.push("other names of fields");
                }
                return Some(renamed);
            }
            renamed.into_iter().map(|(_, value)| value).collect()
        }
        Value::Array(values) => values,
        Value::String(text) => {
            written_values(&text).filter_map(|it| serde_json::from_str(&it.json?).ok()).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    if depth == MAX_WRAPPINGS {
        return None;
    }
    let mut found = inner.into_iter().filter_map(|value| {
        let mut ignored = Vec::new();
        unwrap_object(value, required, depth + 1, &mut ignored)
    });
    let fields = found.next()?;
    // Two of them may say different things.
    if found.next().is_some() {
        return None;
    }
    if !differences.contains(&"wrapped") {
        differences.push("wrapped");
    }
    Some(fields)
}

/// `shouldRespond`, `should-respond` and `Should Respond` are `should_respond`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut was_lower = false;
    for letter in name.trim().chars() {
        if letter.is_uppercase() && was_lower {
            snake.push('_');
        }
        was_lower = letter.is_lowercase();
        match letter {
            '-' | ' ' => snake.push('_'),
            letter => snake.extend(letter.to_lowercase()),
        }
    }
    snake
}

/// An object, or a string that may hold one, as it stands in an answer.
struct Written {
    /// As JSON. `None` if it does not end.
    json: Option<String>,
    differences: Vec<&'static str>,
}

/// Returns what may be an object in a text: whatever begins with a brace, or the whole text if it is a string.
fn written_values(text: &str) -> impl Iterator<Item = Written> + '_ {
    let mut rest = text.trim();
    let mut is_string = rest.starts_with('"');
    let values = std::iter::from_fn(move || {
        let begin = if std::mem::take(&mut is_string) { 0 } else { rest.find('{')? };
        let mut writer = JsonWriter::new(&rest[begin..]);
        let end = writer.write_value();
        // A brace that does not close may stand in the words before an object.
        rest = &rest[begin + end.unwrap_or(1)..];
        Some(Written { json: end.map(|_| writer.json), differences: writer.differences })
    });
    values.take(MAX_PLACES)
}

/// Writes a value as JSON that may stand in the notation of Python or JavaScript, or have a comma too many.
struct JsonWriter<'a> {
    text: &'a str,
    letters: Peekable<CharIndices<'a>>,
    json: String,
    differences: Vec<&'static str>,
}

impl<'a> JsonWriter<'a> {
    fn new(text: &'a str) -> Self {
        let letters = text.char_indices().peekable();
        Self { text, letters, json: String::new(), differences: Vec::new() }
    }

    /// Writes the value at the beginning. Returns where it ends, if it does.
    fn write_value(&mut self) -> Option<usize> {
        let mut depth = 0_usize;
        while let Some((at, letter)) = self.letters.next() {
            match letter {
                '"' | '\'' => self.write_string(letter)?,
                '{' | '[' => {
                    depth += 1;
                    self.json.push(letter);
                }
                '}' | ']' => {
                    if self.json.trim_end().ends_with(',') {
                        self.json.truncate(self.json.trim_end().len() - 1);
                        self.differ("a comma too many");
                    }
                    depth = depth.checked_sub(1)?;
                    self.json.push(letter);
                }
                '/' if self.text[at..].starts_with("//") => {
                    self.differ("comments");
                    while self.letters.next_if(|(_, letter)| *letter != '\n').is_some() {}
                }
                letter if letter.is_alphabetic() || letter == '_' => self.write_word(at),
                letter => self.json.push(letter),
            }
            if depth == 0 {
                return Some(self.letters.peek().map_or(self.text.len(), |(next, _)| *next));
            }
        }
        None
    }

    /// Writes a string after its first quote. `None` if it does not end.
    fn write_string(&mut self, quote: char) -> Option<()> {
        if quote == '\'' {
            self.differ("another notation");
        }
        self.json.push('"');
        loop {
            match self.letters.next()?.1 {
                end if end == quote => break,
                '\\' => match self.letters.next()?.1 {
                    '\'' => self.json.push('\''),
                    escaped => self.json.extend(['\\', escaped]),
                },
                '"' => self.json.push_str("\\\""),
                '\n' => {
                    self.differ("a line break in a string");
                    self.json.push_str("\\n");
                }
                '\r' => {}
                '\t' => self.json.push_str("\\t"),
                letter => self.json.push(letter),
            }
        }
        self.json.push('"');
        Some(())
    }

    /// Writes a word that stands in no string: a literal, or a name of a field.
    fn write_word(&mut self, begin: usize) {
        let is_part = |(_, letter): &(usize, char)| letter.is_alphanumeric() || *letter == '_';
        let mut end = self.text.len();
        while let Some((at, _)) = self.letters.peek().copied() {
            end = at;
            if self.letters.next_if(is_part).is_none() {
                break;
            }
            end = self.text.len();
        }
        let word = &self.text[begin..end];
        let literal = match word {
            "True" | "TRUE" => "true",
            "False" | "FALSE" => "false",
            "None" | "NULL" | "undefined" | "NaN" => "null",
            word => word,
        };
        if self.text[end..].trim_start().starts_with(':') {
            self.differ("another notation");
            self.json.extend(["\"", word, "\""]);
            return;
        }
        // A number such as 1e5 holds letters.
        if literal != word {
            self.differ("another notation");
        }
        self.json.push_str(literal);
    }

    fn differ(&mut self, difference: &'static str) {
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(answer: &str) -> Result<(Value, Vec<&'static str>), String> {
        let object = find_object(answer, "is_ok")?;
        Ok((Value::Object(object.fields), object.differences))
    }

    #[test]
    fn an_object_is_found_whatever_is_around_it() {
        let whole = json!({"is_ok": true, "why": "it's {so}"});
        for (answer, differences) in [
            (r#"{"is_ok": true, "why": "it's {so}"}"#, &[][..]),
            (
                "Sure:\n```json\n{\"is_ok\": true, \"why\": \"it's {so}\"}\n```\nAnything {else}?",
                &[],
            ),
            (r#"maybe {"is_ok": false}</think>{"is_ok": true, "why": "it's {so}"}"#, &[]),
            (r#"{"is_ok": true, "why": "no"} or {"is_ok": true, "why": "it's {so}"}"#, &[]),
            (r#"{"is_ok": true, "why": "it's {so}",}"#, &["a comma too many"]),
            (r#"{'is_ok': True, 'why': "it's {so}"}"#, &["another notation"]),
            (r#"{'is_ok': True, 'why': 'it\'s {so}'}"#, &["another notation"]),
            (r#"{is_ok: true, why: "it's {so}"}"#, &["another notation"]),
            ("{\"is_ok\": true, // yes\n\"why\": \"it's {so}\"}", &["comments"]),
            (r#"{"isOk": true, "Why": "it's {so}"}"#, &["other names of fields"]),
            (r#"[{"is_ok": true, "why": "it's {so}"}]"#, &[]),
            (r#"A {brace, then {"is_ok": true, "why": "it's {so}"}"#, &[]),
            (r#"{"answer": {"is_ok": true, "why": "it's {so}"}}"#, &["wrapped"]),
            (
                r#"{"name": "judge", "arguments": "{\"is_ok\": true, \"why\": \"it's {so}\"}"}"#,
                &["wrapped"],
            ),
            (r#""{\"is_ok\": true, \"why\": \"it's {so}\"}""#, &["wrapped"]),
        ] {
            assert_eq!(read(answer), Ok((whole.clone(), differences.to_vec())), "{answer}");
        }
        let quoted = read(r#"{"is_ok": false, "why": "</think>{'is_ok': True, 'why': 'x'}"}"#);
        assert_eq!(quoted.unwrap().0["is_ok"], false);
        let broken = read("{\"is_ok\": true, \"why\": \"one\ntwo\"}").unwrap();
        assert_eq!(broken.0["why"], "one\ntwo");
    }

    #[test]
    fn what_is_not_sure_is_no_object() {
        for (answer, problem) in [
            ("true", "it holds no JSON object"),
            ("", "its answer holds nothing but markup"),
            ("\"\"", "it holds no JSON object"),
            (r#"{"is_ok": true, "why": "They hav"#, "its JSON object does not end"),
            ("{\"is_ok\" true}", "it is not valid JSON"),
            (r#"{"why": "so"}"#, "it has no field is_ok"),
            (
                r#"{"is_ok": true} {"is_ok": false}"#,
                "it holds several objects that contradict each other",
            ),
            (r#"{"a": {"is_ok": true}, "b": {"is_ok": true}}"#, "it has no field is_ok"),
        ] {
            assert_eq!(read(answer).unwrap_err(), problem, "{answer}");
        }
    }
}
