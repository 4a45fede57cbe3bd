//! The page of all channels: searched, filtered and sorted, a part at a time. Its address has the whole query, and its
//! form changes several channels at once.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::named_enum;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts;
use aizuchi_store::order_journal::OrderKind;
use aizuchi_store::query::DeadLetterQuery;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::response::{Html, Redirect};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{Layout, ListSlice, Section, TimeView, address_with, render};
use crate::console::order_journal::{JournalNames, OrderRow, joined};
use crate::console::orders::{ChannelsBody, give, given, with_done};
use crate::console::running_status;
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::status::ChannelStatus;
use crate::{ApiProblem, Web, views, workspaces};

/// The number of channels per page.
const PAGE: usize = 50;
/// The persona is silent in a channel where it has said nothing for this long.
const SILENCE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The maximum number of posts of a workspace that could not be delivered and are counted.
const MOST_READ: usize = 1000;
/// The maximum number of orders of which the page tells what they did.
const MOST_DONE: usize = 20;
/// A longer mute counts as one without an end.
const MAX_MUTE: SignedDuration = SignedDuration::from_hours(366 * 24);

#[derive(Template)]
#[template(path = "console/channels.html")]
struct ChannelsPage<'a> {
    layout: Layout<'a>,
    query: ChannelsQuery,
    workspaces: Vec<(String, String)>,
    modes: Vec<ModeView>,
    channels: Vec<ListedChannel>,
    /// Whether channels of several workspaces are shown.
    is_of_several: bool,
    today: Date,
    /// A mute that lasts longer counts as one without an end.
    endless: f64,
    currency: &'a str,
    /// Set if not all of the channels are shown.
    slice: Option<ListSlice>,
    /// The number of channels that match.
    all: usize,
    /// This page, to which forms are sent.
    address: String,
    /// What was just ordered for several channels.
    done: Vec<OrderRow>,
    /// The order that undoes it, if it can be undone.
    undo: Option<String>,
}

/// The query of the address. Empty fields count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChannelsQuery {
    workspace: String,
    /// What the name contains.
    q: String,
    mode: String,
    only: ChannelFilter,
    sort: ChannelSort,
    /// The number of channels before those that are shown.
    #[serde(rename = "channels_after")]
    after: usize,
    /// The numbers of the orders that were just given, after which the page is shown again.
    done: String,
}

named_enum! {
    /// Which channels are shown.
    #[derive(Default)]
    pub enum ChannelFilter {
        #[default]
        #[serde(rename = "")]
        #[strum(serialize = "")]
        All,
        Private,
        Differs,
        Silent,
        Muted,
        Failing,
        Disconnected,
        Undelivered,
        Costly,
    }
}

named_enum! {
    /// What channels are sorted by: their name, or what stands out first.
    #[derive(Default)]
    pub enum ChannelSort {
        #[default]
        Name,
        Mode,
        Heard,
        Spoke,
        Cost,
    }
}

/// A mode to choose.
pub struct ModeView {
    pub name: &'static str,
    pub word: &'static str,
}

/// A channel with what is known of it now.
struct ListedChannel {
    workspace: WorkspaceId,
    status: ChannelStatus,
    /// Whether all channels of its workspace are muted.
    is_workspace_muted: bool,
    /// Whether its workspace cannot be heard now.
    is_disconnected: bool,
    /// Whether messages of it may be missing.
    is_unread: bool,
    /// The number of posts that could not be delivered.
    undelivered: usize,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<ChannelsQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let channels = query.find(&web, &visitor.access).await?;
    let all = channels.len();
    let shown: Vec<_> = channels.into_iter().skip(query.after).take(PAGE).collect();
    let known = workspaces::all(&web).await?;
    let done = query.done(&web, &visitor.access, language).await?;
    let undoable = done.iter().flat_map(|row| &row.undoable).map(ToString::to_string);
    let undoable = undoable.collect::<Vec<_>>().join(",");
    let list = ("channels", &*query.address(query.sort));
    render(&ChannelsPage {
        layout: Layout::new(&web, &visitor, language, Section::Channels),
        workspaces: workspaces::choices(&web, &known, language),
        modes: modes(language),
        slice: ListSlice::new(list, query.after, (shown.len(), all), language),
        channels: shown,
        is_of_several: known.len() > 1 && query.workspace.is_empty(),
        today: web.clock.now().to_zoned(web.zone.clone()).date(),
        endless: views::seconds(web.clock.now() + MAX_MUTE),
        currency: &web.currency,
        all,
        address: query.part(),
        done,
        undo: (!undoable.is_empty()).then(|| format!("undo {undoable}")),
        query,
    })
}

/// Changes the chosen channels, or all that match, and leads back to them. The fields are `order` as in [`ChannelsBody`],
/// the value of a setting by its name, `channel` once for each chosen one, and `whom`.
pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<ChannelsQuery>, QueryRejection>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let Form(fields) = form.map_err(|_| Refusal::MalformedOrder)?;
    let all = |name: &str| {
        let values = fields.iter().filter(|(field, _)| field == name).map(|(_, value)| &**value);
        values.collect::<Vec<_>>()
    };
    let order = all("order").first().copied().unwrap_or_default();
    let setting = order.strip_prefix("set ").and_then(SettingKind::from_name);
    let value = setting.and_then(|kind| all(kind.name()).first().copied());
    if let Some(kind) = setting
        && value.and_then(|value| kind.parse(value.trim())).is_none()
    {
        return Err(Refusal::ValueNeeded(kind).into());
    }
    let mut chosen: BTreeMap<String, BTreeSet<ChannelId>> = BTreeMap::new();
    let mut choose = |workspace, id| chosen.entry(workspace).or_default().insert(id);
    let whom = all("whom");
    if whom.contains(&"matching") {
        let matching = query.find(&web, &visitor.access).await?;
        // All that match are easily more than what is seen.
        if !whom.contains(&"sure") {
            return Err(Refusal::NotSure(matching.len()).into());
        }
        for channel in matching {
            choose(channel.workspace.to_string(), channel.status.id);
        }
    } else {
        for channel in all("channel") {
            let (workspace, id) = channel.split_once(' ').ok_or(Refusal::MalformedOrder)?;
            choose(workspace.to_owned(), ChannelId::new(id));
        }
    }
    if chosen.is_empty() {
        return Err(Refusal::NoChannelChosen.into());
    }
    // None is changed if the order cannot be given in one of the workspaces.
    let mut orders = Vec::new();
    for (workspace, channels) in chosen {
        let workspace = Some(workspace);
        let (order, value) = (order.to_owned(), value.map(str::to_owned));
        let body = ChannelsBody { workspace, channels, order, value };
        orders.push(body.order(&web, &visitor.access).await?);
    }
    let mut done = Vec::new();
    for order in orders {
        done.push(give(&web, &visitor.access, order).await?.number);
    }
    Ok(Redirect::to(&with_done(&query.part(), &done)))
}

/// Returns all modes to choose from.
pub fn modes(language: Language) -> Vec<ModeView> {
    let modes = Mode::ALL.into_iter();
    modes
        .map(|mode| ModeView { name: mode.name(), word: texts::ledger::mode(language, mode) })
        .collect()
}

/// When a mute ends, if it does.
pub fn end_of_mute(until: Timestamp, now: Timestamp) -> Option<TimeView> {
    (until.duration_since(now) < MAX_MUTE).then(|| TimeView::new(until))
}

impl ChannelFilter {
    fn matches(self, channel: &ListedChannel, now: Timestamp) -> bool {
        let status = &channel.status;
        match self {
            Self::All => true,
            Self::Private => status.visibility != "public",
            Self::Differs => status.has_own_mode || !status.own.is_empty(),
            Self::Silent => {
                let since = views::seconds(now - SILENCE);
                status.last_spoke.is_none_or(|spoke| spoke < since)
            }
            Self::Muted => status.muted_until.is_some() || channel.is_workspace_muted,
            Self::Failing => channel.is_unread || status.decisions_today.contains_key("failed"),
            Self::Disconnected => channel.is_disconnected,
            Self::Undelivered => channel.undelivered > 0,
            Self::Costly => status.tokens_today > 0,
        }
    }
}

impl ChannelSort {
    const ALL: [Self; 5] = [Self::Name, Self::Mode, Self::Heard, Self::Spoke, Self::Cost];

    fn word(self, language: Language) -> &'static str {
        match self {
            Self::Name => texts::console::channel(language),
            Self::Mode => texts::console::mode(language),
            Self::Heard => texts::console::heard(language),
            Self::Spoke => texts::console::spoke(language),
            Self::Cost => texts::console::cost_today(language),
        }
    }

    /// How browsers name the order.
    fn direction(self) -> &'static str {
        match self {
            Self::Name | Self::Mode => "ascending",
            Self::Heard | Self::Spoke | Self::Cost => "descending",
        }
    }

    fn compare(self, one: &ChannelStatus, other: &ChannelStatus) -> Ordering {
        let later = |one: Option<f64>, other: Option<f64>| {
            other.unwrap_or(f64::MIN).total_cmp(&one.unwrap_or(f64::MIN))
        };
        let position =
            |status: &ChannelStatus| Mode::ALL.iter().position(|mode| mode.name() == status.mode);
        match self {
            Self::Name => Ordering::Equal,
            Self::Mode => position(one).cmp(&position(other)),
            Self::Heard => later(one.last_heard, other.last_heard),
            Self::Spoke => later(one.last_spoke, other.last_spoke),
            Self::Cost => {
                let dearer = other.money_today.total_cmp(&one.money_today);
                dearer.then(other.tokens_today.cmp(&one.tokens_today))
            }
        }
    }
}

impl ChannelsQuery {
    /// Returns the channels that match, sorted. Those with names that the visitor may not know are found by id.
    async fn find(&self, web: &Web, access: &Access) -> Result<Vec<ListedChannel>, ApiProblem> {
        let only = workspaces::find_only(web, Some(&self.workspace)).await?;
        let (status, now) =
            (running_status::read(web, access, only.as_ref()).await?, web.clock.now());
        let text = self.q.trim().trim_start_matches('#').to_lowercase();
        let mut found = Vec::new();
        for workspace in status.workspaces {
            let progress = workspaces::backfill_progress(web, &workspace.workspace).await?;
            let is_unread = |id: &ChannelId| {
                progress
                    .as_ref()
                    .is_some_and(|it| it.behind.contains(id) || it.failing.contains_key(id))
            };
            let outage = workspaces::outage(web, &workspace.workspace);
            let of = Some(workspace.workspace.clone());
            let letters = DeadLetterQuery { workspace: of, before: None, limit: MOST_READ };
            let letters = web.archive.dead_letters(&letters).await?;
            let undelivered = |id: &ChannelId| {
                letters.iter().filter(|letter| letter.conversation.channel == *id).count()
            };
            found.extend(workspace.channels.into_iter().map(|status| ListedChannel {
                workspace: workspace.workspace.clone(),
                is_workspace_muted: workspace.muted_until.is_some(),
                is_disconnected: outage.is_some(),
                is_unread: is_unread(&status.id),
                undelivered: undelivered(&status.id),
                status,
            }));
        }
        found.retain(|channel| {
            let status = &channel.status;
            (self.mode.is_empty() || self.mode == status.mode)
                && (status.name.to_lowercase().contains(&text) || *status.id.0 == *text)
                && self.only.matches(channel, now)
        });
        found.sort_by_cached_key(|it| (it.status.name.to_lowercase(), it.workspace.clone()));
        found.sort_by(|one, other| self.sort.compare(&one.status, &other.status));
        Ok(found)
    }

    /// Returns the address of the first page of the same channels, sorted by this.
    fn address(&self, sort: ChannelSort) -> String {
        let sort = if sort == ChannelSort::Name { "" } else { sort.name() };
        let fields = [
            ("workspace", &*self.workspace),
            ("q", &*self.q),
            ("mode", &*self.mode),
            ("only", self.only.name()),
            ("sort", sort),
        ];
        address_with("/console/channels", &fields)
    }

    /// Returns the address of the part that is shown.
    fn part(&self) -> String {
        let after = Some(self.after.to_string()).filter(|_| self.after > 0).unwrap_or_default();
        address_with(&self.address(self.sort), &[("channels_after", &after)])
    }

    /// Returns what was just ordered.
    async fn done(
        &self,
        web: &Web,
        access: &Access,
        language: Language,
    ) -> Result<Vec<OrderRow>, ApiProblem> {
        let mut orders = Vec::new();
        let numbers = self.done.split(',').filter_map(|number| number.parse().ok());
        for number in numbers.take(MOST_DONE).filter(|_| access.may_order()) {
            orders.extend(given(web, number).await?);
        }
        orders.retain(|given| given.record.kind == OrderKind::ChangeChannels);
        let names = JournalNames::read(web, access, (&orders, &[]), language).await?;
        let rows = orders.iter().map(|given| names.row(given, language)).collect();
        Ok(joined(rows, &web.zone))
    }
}
