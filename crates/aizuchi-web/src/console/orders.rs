//! The forms of the console: orders, and actions on dead letters. Browsers without scripts are redirected to the page
//! that they came from.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::rules::Mode;
use aizuchi_store::order::Order;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, State};
use axum::response::Redirect;
use serde::Deserialize;

use crate::access::Visitor;
use crate::actions::{ActionRequest as _, NO_NUMBER};
use crate::console::layout::encode;
use crate::console::mute_all;
use crate::dead_letters::{LetterDrop, LetterRetry};
use crate::marks::MarkBody;
use crate::orders::{self, ModeBody, MuteBody, OptOutBody, StopBody, UnmuteBody};
use crate::own_page::{self, OwnPage};
use crate::place_settings::SettingBody;
use crate::refusal::Refusal;
use crate::standing_orders::{self, DraftKeep, StandingOrderBody, StandingOrderDrop};
use crate::{ApiProblem, Web, workspaces};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderForm {
    /// `mute 120`, `mute`, `unmute`, `stop`, `mode`, `opt-out`, `opt-in`, `retry 7`, `drop 7`, `mark 7 right`, `mark
    /// 7`, `learn-anew`, `give-standing`, `drop-standing 7`, `keep-draft 7`, `drop-draft 7`, `set language`, `clear
    /// language`, or without a place, `mute-everything` and `unmute-everything`.
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
    /// The value of a setting, which may apply to a thread; or what a mute of everything replaced.
    value: Option<String>,
    thread: Option<String>,
    /// The page to return to.
    #[serde(default, deserialize_with = "own_page::if_own")]
    back: Option<OwnPage>,
}

pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    form: Result<Form<OrderForm>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Form(form) = form.map_err(|_| Refusal::MalformedOrder)?;
    let (back, access) = (OwnPage::redirect(form.back.as_ref(), "/console"), &visitor.access);
    match &*form.order {
        "mute-everything" => {
            let replaced = mute_all::mute(&web, access).await?;
            return Ok(Redirect::to(&format!("/console?undo={}", encode(&replaced))));
        }
        "unmute-everything" => mute_all::unmute(&web, access, form.value.as_deref()).await?,
        _ => web.apply(form.order(&web, access).await?).await?,
    }
    Ok(back)
}

impl OrderForm {
    /// Returns the order, as a request to the API with the same fields would give it.
    async fn order(self, web: &Web, access: &Access) -> Result<Order, ApiProblem> {
        let malformed = || ApiProblem::from(Refusal::MalformedOrder);
        let mut words = self.order.split(' ');
        let (verb, argument, choice) = (words.next(), words.next(), words.next());
        let number = || argument.and_then(|it| it.parse::<i64>().ok()).ok_or_else(malformed);
        // A form that lost its channel must not silence everything.
        let named = || match &self.channel {
            Some(name) => Ok(Some(name.clone()).filter(|name| !name.is_empty())),
            None => Err(malformed()),
        };
        let channel = || named()?.ok_or_else(malformed);
        let thread = self.thread.clone().filter(|thread| !thread.is_empty());
        let workspace = self.workspace.clone();
        match verb.unwrap_or_default() {
            "mute" => {
                let minutes = argument.map(str::parse).transpose().map_err(|_| malformed())?;
                MuteBody { workspace, channel: named()?, minutes }
                    .order(web, access, NO_NUMBER)
                    .await
            }
            "unmute" => {
                UnmuteBody { workspace, channel: named()? }.order(web, access, NO_NUMBER).await
            }
            "stop" => {
                StopBody { workspace, channel: channel()? }.order(web, access, NO_NUMBER).await
            }
            "mode" => {
                let name = self.mode.as_deref().unwrap_or_default();
                let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
                if mode.is_none() && !name.is_empty() {
                    return Err(malformed());
                }
                ModeBody { workspace, channel: channel()?, mode }
                    .order(web, access, NO_NUMBER)
                    .await
            }
            verb @ ("opt-out" | "opt-in") => {
                let name = self.user.as_deref().map(str::trim).filter(|user| !user.is_empty());
                let name = name.ok_or_else(malformed)?.to_owned();
                let place = workspaces::find(web, workspace.as_deref()).await?;
                let user = orders::user_id(web, access, &place, name).await?;
                let undo = verb == "opt-in";
                OptOutBody { workspace, user, undo }.order(web, access, NO_NUMBER).await
            }
            "learn-anew" => orders::learn_anew(web, access, workspace).await,
            "retry" => LetterRetry { workspace }.order(web, access, number()?).await,
            "drop" => LetterDrop { workspace }.order(web, access, number()?).await,
            "give-standing" => {
                let (channel, text) = (named()?, self.text.ok_or_else(malformed)?);
                let (thread, number, draft) = (None, None, false);
                let body = StandingOrderBody { workspace, channel, thread, number, text, draft };
                body.order(web, access, NO_NUMBER).await
            }
            "drop-standing" => StandingOrderDrop { workspace }.order(web, access, number()?).await,
            "keep-draft" => DraftKeep { workspace }.order(web, access, number()?).await,
            "drop-draft" => standing_orders::discard(web, access, workspace, number()?).await,
            verb @ ("set" | "clear") => {
                let value = self.value.clone().filter(|_| verb == "set");
                let setting = argument.ok_or_else(malformed)?.to_owned();
                let body = SettingBody { workspace, channel: named()?, thread, setting, value };
                if body.change().is_none() || verb == "set" && body.value.is_none() {
                    return Err(malformed());
                }
                body.order(web, access, NO_NUMBER).await
            }
            "mark" => {
                let mark = Mark::ALL.into_iter().find(|mark| Some(mark.name()) == choice);
                if mark.is_none() && choice.is_some() {
                    return Err(malformed());
                }
                MarkBody { workspace, mark }.order(web, access, number()?).await
            }
            _ => Err(malformed()),
        }
    }
}
