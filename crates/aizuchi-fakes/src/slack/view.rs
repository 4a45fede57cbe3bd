//! Forms that the app opens for users ("modals"), and the triggers that allow it to: a click leaves a trigger, which is
//! valid once, for three seconds.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::slack::api_error::{ApiResult, api_error};

/// How long a trigger is valid.
const TRIGGER_TTL: SignedDuration = SignedDuration::from_secs(3);
/// Slack's limits for a form's texts, and for its field.
const MAX_TITLE: usize = 24;
const MAX_LABEL: usize = 2_000;
const MAX_METADATA: usize = 3_000;
const MAX_FIELD: u64 = 3_000;

#[derive(Default)]
pub struct Views {
    triggers: BTreeMap<String, Trigger>,
    /// Oldest first.
    pub views: Vec<FakeView>,
}

struct Trigger {
    user: String,
    made: Timestamp,
    is_used: bool,
}

/// A form that was opened for a user.
#[derive(Clone, Debug, PartialEq)]
pub struct FakeView {
    pub id: String,
    pub user: String,
    /// The form as the app described it.
    pub view: Value,
    pub is_open: bool,
    /// The app's errors for the submitted values, by block.
    pub errors: Map<String, Value>,
}

impl FakeView {
    /// Returns the form's input blocks.
    fn inputs(&self) -> impl Iterator<Item = &Value> {
        let blocks = self.view["blocks"].as_array().into_iter().flatten();
        blocks.filter(|block| block["type"] == "input")
    }

    /// Returns the initial value of the form's first field.
    pub fn initial_value(&self) -> &str {
        let input = self.inputs().next();
        input.and_then(|input| input["element"]["initial_value"].as_str()).unwrap_or_default()
    }

    /// Returns the form as in payloads, with this text in its first field.
    pub fn filled(&self, text: &str) -> ApiResult<Value> {
        let input = self.inputs().next().ok_or_else(|| api_error("no_such_field"))?;
        let (block, element) = (&input["block_id"], &input["element"]);
        let max_length = element["max_length"].as_u64().unwrap_or(MAX_FIELD);
        if text.encode_utf16().count() as u64 > max_length {
            return Err(api_error("the_field_holds_no_more"));
        }
        let (Some(block), Some(action)) = (block.as_str(), element["action_id"].as_str()) else {
            return Err(api_error("no_such_field"));
        };
        let value = if text.is_empty() { Value::Null } else { json!(text) };
        let values = json!({ block: { action: { "type": element["type"], "value": value } } });
        let mut view = self.view.clone();
        view["id"] = json!(self.id);
        view["state"] = json!({ "values": values });
        view["errors"] = Value::Null;
        Ok(view)
    }
}

impl Views {
    /// Stores the trigger of a click or a command.
    pub fn put_trigger(&mut self, id: &str, user: &str, now: Timestamp) {
        let trigger = Trigger { user: user.to_owned(), made: now, is_used: false };
        self.triggers.insert(id.to_owned(), trigger);
    }

    /// Opens a form for the user who left the trigger.
    pub fn open(
        &mut self,
        trigger: &str,
        view: Value,
        id: String,
        now: Timestamp,
    ) -> ApiResult<&FakeView> {
        let found = self.triggers.get_mut(trigger);
        let trigger = found.ok_or_else(|| api_error("invalid_trigger_id"))?;
        if trigger.is_used {
            return Err(api_error("exchanged_trigger_id"));
        }
        if now.duration_since(trigger.made) > TRIGGER_TTL {
            return Err(api_error("expired_trigger_id"));
        }
        let wrong = wrong_parts(&view);
        if !wrong.is_empty() {
            let messages: Vec<Value> = wrong.into_iter().map(Value::from).collect();
            let metadata = json!({ "messages": messages });
            return Err(api_error("invalid_arguments").with("response_metadata", metadata));
        }
        trigger.is_used = true;
        let (user, errors) = (trigger.user.clone(), Map::new());
        self.views.push(FakeView { id, user, view, is_open: true, errors });
        self.views.last().ok_or_else(|| api_error("internal_error"))
    }

    /// Returns the newest form that is open for a user.
    pub fn open_for(&self, user: &str) -> Option<&FakeView> {
        self.views.iter().rev().find(|view| view.is_open && view.user == user)
    }

    /// Applies the app's response to a submitted form, which closes unless there are errors.
    pub fn answer(&mut self, id: &str, answer: &Value) {
        let Some(view) = self.views.iter_mut().find(|view| view.id == id) else { return };
        match (&answer["response_action"], answer["errors"].as_object()) {
            (action, Some(errors)) if *action == "errors" => view.errors.clone_from(errors),
            _ => view.is_open = false,
        }
    }
}

/// Returns Slack's errors for a form.
fn wrong_parts(view: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |is_right: bool, what: &str| {
        if !is_right {
            wrong.push(format!("[ERROR] {what}"));
        }
    };
    check(view["type"] == "modal", "type must be modal");
    for name in ["title", "submit", "close"] {
        let length = plain_length(&view[name]);
        let may_lack = name == "close" && view[name].is_null();
        check(may_lack || length.is_some_and(|it| (1..=MAX_TITLE).contains(&it)), name);
    }
    let metadata = view["private_metadata"].as_str().unwrap_or_default();
    check(metadata.chars().count() <= MAX_METADATA, "private_metadata");
    let blocks = view["blocks"].as_array().map(Vec::as_slice).unwrap_or_default();
    check(!blocks.is_empty() && blocks.len() <= 100, "blocks");
    for input in blocks.iter().filter(|block| block["type"] == "input") {
        let element = &input["element"];
        let max_length = element["max_length"].as_u64().unwrap_or(MAX_FIELD);
        let initial = element["initial_value"].as_str().unwrap_or_default();
        let label = plain_length(&input["label"]);
        check(label.is_some_and(|it| (1..=MAX_LABEL).contains(&it)), "label");
        check(element["type"] == "plain_text_input", "element");
        check((1..=MAX_FIELD).contains(&max_length), "max_length");
        check(initial.encode_utf16().count() as u64 <= max_length, "initial_value");
    }
    wrong
}

/// Returns the number of characters of a plain text.
fn plain_length(text: &Value) -> Option<usize> {
    let is_plain = text["type"] == "plain_text";
    text["text"].as_str().filter(|_| is_plain).map(|text| text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(title: &str, initial: &str) -> Value {
        let plain = |text: &str| json!({ "type": "plain_text", "text": text });
        json!({ "type": "modal", "callback_id": "c", "title": plain(title), "submit": plain("Go"),
            "blocks": [{ "type": "input", "block_id": "b", "label": plain("Words"), "element": {
                "type": "plain_text_input", "action_id": "a", "initial_value": initial,
                "max_length": 10 } }] })
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_trigger_is_good_once_and_for_three_seconds() {
        let mut views = Views::default();
        for (name, made) in [("t1", 0), ("t2", 0)] {
            views.put_trigger(name, "U1", at(made));
        }
        let mut open = |trigger: &str, view: Value, second: i64| {
            views.open(trigger, view, "V1".to_owned(), at(second)).map(|view| view.user.clone())
        };
        let error = |name: &str| Err(api_error(name));
        assert_eq!(open("t0", view("Form", "x"), 1), error("invalid_trigger_id"));
        assert_eq!(open("t1", view("Form", "x"), 3), Ok("U1".to_owned()));
        assert_eq!(open("t1", view("Form", "x"), 3), error("exchanged_trigger_id"));
        assert_eq!(open("t2", view("Form", "x"), 4), error("expired_trigger_id"));
        for wrong in [view(&"x".repeat(25), "x"), view("Form", &"x".repeat(11)), json!({})] {
            let found = open("t2", wrong, 2).unwrap_err();
            assert_eq!(found.error, "invalid_arguments");
        }
        assert_eq!(open("t2", view("Form", "x"), 2), Ok("U1".to_owned()));
    }

    #[test]
    fn a_form_stays_open_while_something_is_wrong() {
        let mut views = Views::default();
        views.put_trigger("t1", "U1", at(0));
        views.open("t1", view("Form", "x"), "V1".to_owned(), at(0)).unwrap();
        let form = views.open_for("U1").unwrap();
        assert_eq!(form.initial_value(), "x");
        let filled = form.filled("words").unwrap();
        assert_eq!(filled["state"]["values"]["b"]["a"]["value"], "words");
        assert!(form.filled("much too long").is_err());
        let errors = json!({ "response_action": "errors", "errors": { "b": "No." } });
        views.answer("V1", &errors);
        assert_eq!(views.open_for("U1").unwrap().errors["b"], "No.");
        views.answer("V1", &Value::Null);
        assert_eq!(views.open_for("U1"), None);
    }
}
