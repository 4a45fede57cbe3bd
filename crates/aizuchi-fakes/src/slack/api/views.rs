//! `views.*`: forms.

use serde_json::{Value, json};

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::state::FakeSlackState;
use crate::slack::workspace::unique_id;

pub fn open(state: &mut FakeSlackState, arguments: &Arguments) -> ApiResult<Value> {
    let trigger = arguments.required("trigger_id", "invalid_trigger_id")?;
    let view = match arguments.0.get("view") {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(view @ Value::Object(_)) => Some(view.clone()),
        _ => None,
    };
    let view = view.ok_or_else(|| api_error("invalid_arguments"))?;
    let now = state.workspace.now();
    let opened = state.views.open(trigger, view, unique_id("V"), now)?;
    let mut object = opened.view.clone();
    object["id"] = json!(opened.id);
    Ok(json!({ "ok": true, "view": object }))
}
