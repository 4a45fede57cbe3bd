//! The forms of the console: orders, and actions on dead letters. Browsers without scripts are redirected to the page
//! that they came from.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::settings::unpriced_note;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts::refusals;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{ChannelsRecord, GivenOrder, OrderJournalQuery, OrderKind};
use axum::extract::rejection::{FormRejection, JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::response::Redirect;
use axum::{Form, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::{ActionRequest as _, NO_NUMBER};
use crate::api::json;
use crate::console::layout::address_with;
use crate::console::mute_all;
use crate::dead_letters::{LetterDrop, LetterRetry};
use crate::language::PageLanguage;
use crate::orders::{self, MarkBody, ModeBody, MuteBody, OptOutBody, StopBody, UnmuteBody};
use crate::own_page::{self, OwnPage};
use crate::place_settings::SettingBody;
use crate::plans::PlanDrop;
use crate::refusal::Refusal;
use crate::standing_orders::{self, DraftKeep, StandingOrderBody, StandingOrderDrop};
use crate::{ApiProblem, JsonResult, Web, workspaces};

/// The page that shows what an order for several channels did, and undoes it.
const JOURNAL: &str = "/console/orders#journal";

/// The address of a page that also says what the orders with these numbers did.
pub fn with_done(page: &str, numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    address_with(page, &[("done", &numbers.join(","))])
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderForm {
    /// `mute 120`, `mute`, `unmute`, `stop`, `mode`, `mode observe`, `opt-out`, `opt-in`, `retry 7`, `drop 7`, `mark 7
    /// right`, `mark 7`, `learn-anew`, `give-standing`, `drop-standing 7`, `drop-plan 7`, `keep-draft 7`, `drop-draft 7`, `set
    /// language`, `clear language` or `undo 7,8`; without a place, `mute-everything` and `unmute-everything`.
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
    if let Some(numbers) = form.order.strip_prefix("undo ") {
        let mut undone = Vec::new();
        for number in numbers.split(',') {
            let number = number.parse().unwrap_or(NO_NUMBER);
            undone.push(undo_order(&web, &visitor.access, number).await?.number);
        }
        return Ok(match form.back {
            Some(back) => Redirect::to(&with_done(back.as_str(), &undone)),
            None => Redirect::to(JOURNAL),
        });
    }
    let (back, access) = (form.back.clone(), &visitor.access);
    let page = back.as_ref().map_or("/console", OwnPage::as_str);
    let undo = match &*form.order {
        "mute-everything" => mute_all::mute(&web, access).await?,
        "unmute-everything" => {
            mute_all::unmute(&web, access, form.value.as_deref()).await?;
            mute_all::UNDONE.to_owned()
        }
        _ => {
            let words = form.order.clone();
            web.apply(form.order(&web, access).await?).await?;
            let set = match words.split_once(' ') {
                Some(("set" | "clear", name)) if back.is_some() => name,
                Some(_) | None => "",
            };
            return Ok(Redirect::to(&address_with(page, &[("set", set)])));
        }
    };
    Ok(Redirect::to(&address_with(page, &[("undo", &undo)])))
}

/// An order for several channels of a workspace. What could not be changed does not keep the others from it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelsBody {
    /// The id of a workspace; the local room if omitted.
    pub workspace: Option<String>,
    /// The ids of the channels.
    pub channels: BTreeSet<ChannelId>,
    /// `mode observe`, `mode`, `mute 120`, `mute`, `unmute`, or `set` or `clear` with `min_confidence` or `money_per_day`.
    pub order: String,
    /// The value of a setting.
    pub value: Option<String>,
}

/// What an order for several channels did.
#[derive(Serialize, JsonSchema)]
pub struct ChangedAnswer {
    /// The number of the order in the journal, by which it is undone.
    pub number: i64,
    /// The channels that were changed. Those that had the value already are in neither list.
    changed: Vec<ChannelId>,
    /// The channels that could not be changed or, if an order is undone, that were changed since.
    unchanged: Vec<ChannelId>,
    /// What a budget in money does not count; absent if it counts everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// `POST /api/channels/order`.
pub async fn in_channels(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    body: Result<Json<ChannelsBody>, JsonRejection>,
) -> JsonResult<ChangedAnswer> {
    let body = json(body, refusals::format_of_channels)?;
    let setting = body.order.strip_prefix("set ").and_then(SettingKind::from_name);
    let order = body.order(&web, &visitor.access).await?;
    let done = give(&web, &visitor.access, order).await?;
    let rulebook = web.room.rulebook();
    let note = setting.and_then(|kind| unpriced_note(language, kind, &rulebook));
    Ok(Json(ChangedAnswer { note, ..done }))
}

/// `POST /api/orders/{id}/undo`.
pub async fn undo(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    number: Result<Path<i64>, PathRejection>,
) -> JsonResult<ChangedAnswer> {
    let number = number.map_or(NO_NUMBER, |Path(number)| number);
    undo_order(&web, &visitor.access, number).await.map(Json)
}

async fn undo_order(web: &Web, access: &Access, number: i64) -> Result<ChangedAnswer, ApiProblem> {
    access.require_orders()?;
    let given = given(web, number).await?.ok_or(Refusal::NoOrderToUndo)?;
    let record = given.channels()?.filter(ChannelsRecord::may_undo);
    let record = record.ok_or(Refusal::NoOrderToUndo)?;
    let record =
        ChannelsRecord { undoes: Some(number), already: 0, unchanged: Vec::new(), ..record };
    give(web, access, (given.workspace, Vec::new(), record)).await
}

/// Returns the order with this number.
pub async fn given(web: &Web, number: i64) -> Result<Option<GivenOrder>, StoreError> {
    let before = Some(number.saturating_add(1));
    let query = OrderJournalQuery { workspace: None, kind: None, before, limit: 1 };
    Ok(web.archive.order_journal(&query).await?.pop().filter(|it| it.number == number))
}

/// The workspace, the order for each channel, and those that cannot be ordered.
type OrderInChannels = (WorkspaceId, Vec<Order>, ChannelsRecord);

/// Gives an order for several channels, and reads from the journal what it did.
pub async fn give(
    web: &Web,
    access: &Access,
    (workspace, orders, record): OrderInChannels,
) -> Result<ChangedAnswer, ApiProblem> {
    let order = Order::InChannels { workspace: workspace.clone(), orders, record };
    web.apply(order.signed(access.signature())).await?;
    let kind = Some(OrderKind::ChangeChannels);
    // Others may have given orders meanwhile.
    let query = OrderJournalQuery { workspace: Some(workspace), kind, before: None, limit: 20 };
    let newest = web.archive.order_journal(&query).await?.into_iter();
    for given in newest.filter(|given| given.by == access.signature()) {
        if let Some(record) = given.channels()? {
            return Ok(ChangedAnswer {
                number: given.number,
                changed: record.changed.into_iter().map(|changed| changed.channel).collect(),
                unchanged: record.unchanged,
                note: None,
            });
        }
    }
    Err(Refusal::NoOrderToUndo.into())
}

impl ChannelsBody {
    /// Returns what is to be given, if the visitor may give it for any of the channels.
    pub async fn order(self, web: &Web, access: &Access) -> Result<OrderInChannels, ApiProblem> {
        const VERBS: [&str; 5] = ["mode", "mute", "unmute", "set", "clear"];
        let workspace = orders::workspace(web, access, self.workspace.as_deref()).await?;
        // An empty name stands for all channels. Only admins choose models, and others undo orders, too.
        let is_whole = self.channels.iter().any(|channel| channel.as_str().is_empty());
        if is_whole
            || self.order.ends_with(" model")
            || self.channels.is_empty()
            || !VERBS.contains(&self.order.split(' ').next().unwrap_or_default())
        {
            return Err(Refusal::WrongBody(refusals::format_of_channels).into());
        }
        let (mut given, mut refusal) = (Vec::new(), None);
        let mut record = ChannelsRecord::default();
        for channel in self.channels {
            let form = OrderForm {
                order: self.order.clone(),
                workspace: self.workspace.clone(),
                channel: Some(channel.to_string()),
                value: self.value.clone(),
                ..OrderForm::default()
            };
            match form.order(web, access).await {
                Ok(order) => given.push(order.unsigned().0.clone()),
                Err(problem) => {
                    record.unchanged.push(channel);
                    refusal = Some(problem);
                }
            }
        }
        match refusal {
            // The journal would not show it to a visitor who does not reach all of it.
            Some(problem) if given.is_empty() || !web.scope.includes(&workspace, None) => {
                Err(problem)
            }
            Some(_) | None => Ok((workspace, given, record)),
        }
    }
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
                let name = argument.or(self.mode.as_deref()).unwrap_or_default();
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
            "drop-plan" => PlanDrop { workspace }.order(web, access, number()?).await,
            "keep-draft" => DraftKeep { workspace }.order(web, access, number()?).await,
            "drop-draft" => standing_orders::discard(web, access, workspace, number()?).await,
            verb @ ("set" | "clear") => {
                let value = self.value.clone().filter(|_| verb == "set");
                let setting = argument.ok_or_else(malformed)?.to_owned();
                let body = SettingBody { workspace, channel: named()?, thread, setting, value };
                if body.change().is_none() || verb == "set" && body.value.is_none() {
                    let kind = SettingKind::all().find(|kind| kind.name() == body.setting);
                    return Err(
                        kind.map_or_else(malformed, |kind| Refusal::ValueNeeded(kind).into())
                    );
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
