//! The forms of the console: orders, and actions on dead letters. Browsers without scripts are redirected to the page
//! that they came from.

use std::sync::Arc;

use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::flow::DeadLetterId;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingChange;
use aizuchi_platform::local::controls::ConsentChange;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, State};
use axum::response::Redirect;
use serde::Deserialize;

use crate::access::Visitor;
use crate::dead_letters::{self, DeadLetterAction};
use crate::orders::{self, OrderRequest};
use crate::own_page::{self, OwnPage};
use crate::refusal::Refusal;
use crate::standing_orders::{self, Change};
use crate::{ApiProblem, Web, marks, place_settings, workspaces};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderForm {
    /// `mute 120`, `mute`, `unmute`, `stop`, `mode`, `opt-out`, `opt-in`, `retry 7`, `drop 7`, `mark 7 right`, `mark
    /// 7`, `learn-anew`, `give-standing`, `drop-standing 7`, `keep-draft 7`, `drop-draft 7`, `set language` or `clear
    /// language`.
    order: String,
    workspace: Option<String>,
    /// Empty for the whole workspace.
    channel: Option<String>,
    /// The mode of the order `mode`. Empty for the configured one.
    mode: Option<String>,
    /// The user of the orders `opt-out` and `opt-in`: an id or a name.
    user: Option<String>,
    /// The text of a standing order.
    text: Option<String>,
    /// The value of a setting, which may apply to a thread.
    value: Option<String>,
    thread: Option<String>,
    /// The page to return to.
    #[serde(default, deserialize_with = "own_page::if_own")]
    back: Option<OwnPage>,
}

/// What a form requests.
#[derive(Debug)]
enum FormRequest {
    Order(OrderRequest),
    Letter(DeadLetterId, DeadLetterAction),
    Mark(DecisionId, Option<Mark>),
    Standing(Change),
    Setting { channel: Option<String>, thread: Option<String>, change: SettingChange },
}

pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    form: Result<Form<OrderForm>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Form(form) = form.map_err(|_| Refusal::MalformedOrder)?;
    match parse(&form).ok_or(Refusal::MalformedOrder)? {
        FormRequest::Order(command) => {
            let workspace = workspaces::find(&web, form.workspace.as_deref()).await?;
            let command = match command {
                OrderRequest::Consent { user, change } => {
                    let user = orders::user_id(&web, &visitor.access, &workspace, user).await?;
                    OrderRequest::Consent { user, change }
                }
                command => command,
            };
            orders::carry_out(&web, &visitor.access, &workspace, command).await?;
        }
        FormRequest::Letter(id, action) => {
            let workspace = workspaces::find_only(&web, form.workspace.as_deref()).await?;
            dead_letters::settle(&web, &visitor.access, workspace, id, action).await?;
        }
        FormRequest::Standing(change) => {
            let workspace = workspaces::find(&web, form.workspace.as_deref()).await?;
            standing_orders::carry_out(&web, &visitor.access, workspace, change).await?;
        }
        FormRequest::Setting { channel, thread, change } => {
            let workspace = workspaces::find(&web, form.workspace.as_deref()).await?;
            let place = (channel, thread);
            place_settings::carry_out(&web, &visitor.access, workspace, place, change).await?;
        }
        FormRequest::Mark(id, mark) => {
            marks::put(&web, &visitor.access, form.workspace.as_deref(), id, mark).await?;
        }
    }
    Ok(OwnPage::redirect(form.back.as_ref(), "/console"))
}

fn parse(form: &OrderForm) -> Option<FormRequest> {
    let mut words = form.order.split(' ');
    let (verb, argument, choice) = (words.next()?, words.next(), words.next());
    // A form that lost its channel must not silence everything.
    let named = form.channel.clone().map(|name| (!name.is_empty()).then_some(name));
    let channel = named.clone().flatten();
    let id = || argument?.parse().ok().map(DeadLetterId);
    Some(match verb {
        "mute" => {
            let minutes = argument.map(str::parse).transpose().ok()?;
            FormRequest::Order(OrderRequest::Mute { channel: named?, minutes })
        }
        "unmute" => FormRequest::Order(OrderRequest::Unmute { channel: named? }),
        "stop" => FormRequest::Order(OrderRequest::Stop { channel: channel? }),
        "mode" => {
            let name = form.mode.as_deref().unwrap_or_default();
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
            if mode.is_none() && !name.is_empty() {
                return None;
            }
            FormRequest::Order(OrderRequest::Mode { channel: channel?, mode })
        }
        "opt-out" => consent(form, ConsentChange::OptOut)?,
        "opt-in" => consent(form, ConsentChange::OptIn)?,
        "learn-anew" => FormRequest::Order(OrderRequest::LearnAnew),
        "retry" => FormRequest::Letter(id()?, DeadLetterAction::Retry),
        "drop" => FormRequest::Letter(id()?, DeadLetterAction::Drop),
        "give-standing" => {
            let (text, thread) = (form.text.clone()?, None);
            FormRequest::Standing(Change::Give { channel: named?, thread, text })
        }
        "drop-standing" => FormRequest::Standing(Change::Drop { number: argument?.parse().ok()? }),
        "keep-draft" => FormRequest::Standing(Change::Keep { number: argument?.parse().ok()? }),
        "drop-draft" => FormRequest::Standing(Change::Discard { number: argument?.parse().ok()? }),
        "set" | "clear" => {
            let value = form.value.as_deref().filter(|_| verb == "set");
            if verb == "set" && value.is_none() {
                return None;
            }
            let thread = form.thread.clone().filter(|thread| !thread.is_empty());
            let change = place_settings::parse(argument?, value)?;
            FormRequest::Setting { channel: named?, thread, change }
        }
        "mark" => {
            let mark = Mark::ALL.into_iter().find(|mark| Some(mark.name()) == choice);
            if mark.is_none() && choice.is_some() {
                return None;
            }
            FormRequest::Mark(DecisionId(argument?.parse().ok()?), mark)
        }
        _ => return None,
    })
}

fn consent(form: &OrderForm, change: ConsentChange) -> Option<FormRequest> {
    let user = form.user.as_deref().map(str::trim).filter(|user| !user.is_empty())?;
    Some(FormRequest::Order(OrderRequest::Consent { user: user.to_owned(), change }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(order: &str, channel: Option<&str>, mode: Option<&str>) -> OrderForm {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (channel, mode) = (owned(channel), owned(mode));
        let (workspace, user, text, back) = (None, None, None, None);
        let (order, value, thread) = (order.to_owned(), None, None);
        OrderForm { order, workspace, channel, mode, user, text, value, thread, back }
    }

    #[test]
    fn a_form_says_what_is_ordered() {
        let parsed = |order, channel, mode| format!("{:?}", parse(&form(order, channel, mode)));
        for (order, channel, mode, expected) in [
            ("mute 120", Some("c"), None, "Mute { channel: Some(\"c\"), minutes: Some(120) }"),
            ("mute", Some(""), None, "Mute { channel: None, minutes: None }"),
            ("mute", None, None, "None"),
            ("unmute", None, None, "None"),
            ("mute soon", Some("c"), None, "None"),
            ("stop", None, None, "None"),
            ("mode", Some("c"), Some("observe"), "mode: Some(Observe)"),
            ("mode", Some("c"), Some(""), "mode: None"),
            ("mode", Some("c"), Some("loud"), "None"),
            ("retry 7", None, None, "Letter(DeadLetterId(7), Retry)"),
            ("drop", None, None, "None"),
            ("mark 7 right", None, None, "Mark(DecisionId(7), Some(Right))"),
            ("mark 7", None, None, "Mark(DecisionId(7), None)"),
            ("mark 7 wrong", None, None, "None"),
            ("mark x right", None, None, "None"),
            ("opt-out", None, None, "None"),
            ("learn-anew", None, None, "Order(LearnAnew)"),
            ("drop-standing 7", None, None, "Standing(Drop { number: 7 })"),
            ("drop-standing", None, None, "None"),
            ("keep-draft 7", None, None, "Standing(Keep { number: 7 })"),
            ("drop-draft 7", None, None, "Standing(Discard { number: 7 })"),
            ("keep-draft", None, None, "None"),
            ("give-standing", Some("c"), None, "None"),
            ("burn", Some("c"), None, "None"),
        ] {
            let found = parsed(order, channel, mode);
            assert!(found.contains(expected), "{order}: {found}");
        }
        // Without a channel, the order would apply everywhere. A form that lost its channel must order nothing.
        for (channel, expected) in [
            (Some("c"), "Give { channel: Some(\"c\"), thread: None, text: \"be kind\" }"),
            (Some(""), "Give { channel: None, thread: None, text: \"be kind\" }"),
            (None, "None"),
        ] {
            let text = Some("be kind".to_owned());
            let found = parse(&OrderForm { text, ..form("give-standing", channel, None) });
            assert!(format!("{found:?}").contains(expected), "{found:?}");
        }
        let set = |order, channel, value: &str| {
            let value = Some(value.to_owned());
            format!("{:?}", parse(&OrderForm { value, ..form(order, channel, None) }))
        };
        for (order, channel, value, expected) in [
            ("set memory", Some("c"), "off", "Set(Memory(Off))"),
            ("set memory", Some(""), "off", "channel: None"),
            ("clear memory", Some("c"), "off", "Clear(Memory)"),
            ("set memory", None, "off", "None"),
            ("set memory", Some("c"), "maybe", "None"),
            ("set mood", Some("c"), "on", "None"),
        ] {
            let found = set(order, channel, value);
            assert!(found.contains(expected), "{order}: {found}");
        }
        let named = OrderForm { user: Some(" mia ".to_owned()), ..form("opt-in", None, None) };
        let found = format!("{:?}", parse(&named));
        assert!(found.contains("Consent { user: \"mia\", change: OptIn }"), "{found}");
    }
}
