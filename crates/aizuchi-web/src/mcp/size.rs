//! Limits the size of an answer, because a model has to read it.

use serde_json::{Value, json};

/// The maximum size of an answer, as JSON.
pub const MAX_BYTES: usize = 48 * 1024;
/// The maximum length of a text in an answer, in characters.
const MAX_TEXT: usize = 4000;

/// Shortens long texts, then long lists, which keep their first elements. `truncated` says so.
pub fn fit(mut answer: Value, most: usize) -> Value {
    let mut is_cut = shorten(&mut answer);
    while size(&answer) > most {
        let Some(list) = longest_list(&mut answer) else { break };
        list.truncate(list.len() / 2);
        is_cut = true;
    }
    if let Some(answer) = answer.as_object_mut().filter(|_| is_cut) {
        answer.insert("truncated".to_owned(), json!(true));
    }
    answer
}

/// Does the same to a page of a list whose cursor is `older`. What is cut off begins the next page.
pub fn fit_page(page: Value, list: &str, most: usize) -> Value {
    let length = |page: &Value| page[list].as_array().map_or(0, Vec::len);
    let whole = length(&page);
    let mut fitted = fit(page, most);
    let kept = length(&fitted);
    if (1..whole).contains(&kept) {
        let last = fitted[list][kept - 1]["id"].clone();
        fitted["older"] = last;
    }
    fitted
}

/// Shortens long texts. Returns whether any text was too long.
fn shorten(value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => {
                text.truncate(end);
                text.push('…');
                true
            }
            None => false,
        },
        // Not `any`, which would stop at the first long text.
        Value::Array(list) => list.iter_mut().fold(false, |is_cut, value| shorten(value) | is_cut),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |is_cut, value| shorten(value) | is_cut)
        }
    }
}

/// Returns the largest list that contains no list of half its size.
fn longest_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    let path = path_to_longest(value)?;
    value.pointer_mut(&path)?.as_array_mut()
}

/// Returns the path of that list.
fn path_to_longest(value: &Value) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    let mut waiting = vec![(String::new(), value)];
    while let Some((path, value)) = waiting.pop() {
        let step = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Array(list) => {
                let size = size(value);
                // Of nested lists, take the inner one if it makes up most of the outer one.
                let is_longer = found.as_ref().is_none_or(|(longest, outer)| {
                    size > *longest || path.starts_with(outer.as_str()) && size * 2 > *longest
                });
                if !list.is_empty() && is_longer {
                    found = Some((size, path.clone()));
                }
                let inner = list.iter().enumerate();
                waiting.extend(inner.map(|(index, value)| (step(&index.to_string()), value)));
            }
            Value::Object(fields) => {
                waiting.extend(fields.iter().map(|(name, value)| (step(name), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found.map(|(_, path)| path)
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let answer = json!({ "messages": [{ "text": "tea" }], "older": null });
        assert_eq!(fit(answer.clone(), MAX_BYTES), answer);
    }

    #[test]
    fn the_first_of_a_long_list_stay() {
        let messages: Vec<Value> = (0..100).map(|number| json!({ "number": number })).collect();
        let answer = fit(json!({ "messages": messages, "ids": ["a"] }), 500);
        let kept = answer["messages"].as_array().unwrap();
        assert!((10..40).contains(&kept.len()), "{}", kept.len());
        assert_eq!((&kept[0]["number"], &answer["ids"]), (&json!(0), &json!(["a"])));
        assert_eq!(answer["truncated"], true);
    }

    #[test]
    fn a_list_within_a_list_is_cut_first() {
        let channels: Vec<Value> = (0..100).map(|number| json!({ "name": number })).collect();
        let answer = json!({ "workspaces": [{ "id": "a", "channels": channels }] });
        let answer = fit(answer, 500);
        assert_eq!(answer["workspaces"].as_array().unwrap().len(), 1);
        assert!(answer["workspaces"][0]["channels"].as_array().unwrap().len() > 10);
    }

    #[test]
    fn the_next_page_begins_after_the_last_that_is_kept() {
        let decisions: Vec<Value> = (1..=100).rev().map(|id| json!({ "id": id })).collect();
        let page = json!({ "decisions": decisions, "older": 1 });
        assert_eq!(fit_page(page.clone(), "decisions", MAX_BYTES), page);
        let cut = fit_page(page, "decisions", 500);
        let kept = cut["decisions"].as_array().unwrap();
        assert!((10..90).contains(&kept.len()), "{}", kept.len());
        assert_eq!((&cut["older"], &cut["truncated"]), (&kept[kept.len() - 1]["id"], &json!(true)));
        let last = json!({ "decisions": [{ "id": 2 }, { "id": 1 }], "older": null });
        assert_eq!(fit_page(last.clone(), "decisions", MAX_BYTES), last);
    }

    #[test]
    fn a_long_text_is_shortened() {
        let answer =
            fit(json!({ "text": "茶".repeat(5000), "list": ["茶".repeat(4000)] }), 100_000);
        let text = answer["text"].as_str().unwrap();
        assert_eq!((text.chars().count(), text.ends_with('…')), (4001, true));
        assert_eq!(answer["list"][0].as_str().unwrap().chars().count(), 4000);
        assert_eq!(answer["truncated"], true);
    }

    #[test]
    fn it_ends_even_where_nothing_can_be_cut() {
        let answer = fit(json!({ "text": "tea", "list": [] }), 1);
        assert_eq!(answer, json!({ "text": "tea", "list": [] }));
        assert_eq!(fit(json!({ "list": ["tea"] }), 1), json!({ "list": [], "truncated": true }));
    }
}
