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
use aizuchi_model::texts;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::response::{Html, Redirect};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, channel_address, encode, render,
};
use crate::console::orders::{ChannelsBody, JOURNAL, give};
use crate::console::snapshot;
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::status::{ChannelStatus, told_cost};
use crate::{ApiProblem, Web, views, workspaces};

/// The number of channels per page.
const PAGE: usize = 50;
/// The persona is silent in a channel where it has said nothing for this long.
const SILENCE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A longer mute counts as one without an end.
const MAX_MUTE: SignedDuration = SignedDuration::from_hours(366 * 24);

#[derive(Template)]
#[template(path = "console/channels.html")]
struct ChannelsPage<'a> {
    layout: Layout<'a>,
    query: ChannelsQuery,
    workspaces: Vec<(String, String)>,
    modes: Vec<ModeView>,
    channels: Vec<ChannelRow>,
    /// Set if not all of the channels are shown.
    slice: Option<ListSlice>,
    /// The number of channels that match.
    all: usize,
    /// This page, to which forms are sent.
    address: String,
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
        Silent,
        Muted,
        Failing,
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

struct ChannelRow {
    workspace: String,
    /// Set if channels of several workspaces are shown.
    workspace_label: Option<String>,
    id: String,
    name: String,
    address: String,
    /// Set if the channel is not public.
    kind: Option<&'static str>,
    mode: &'static str,
    is_muted: bool,
    /// Set if the mute has an end.
    muted_until: Option<TimeView>,
    is_unread: bool,
    heard: Option<TimeView>,
    spoke: Option<TimeView>,
    outcomes: Vec<OutcomeView>,
    cost: String,
}

struct OutcomeView {
    name: &'static str,
    /// The address of the timeline with these outcomes alone.
    address: String,
    word: &'static str,
    count: usize,
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
    /// Whether messages of it may be missing.
    is_unread: bool,
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
    let list = ("channels", &*query.address(query.sort));
    let renderer = RowRenderer {
        web: &web,
        language,
        now: web.clock.now(),
        is_of_several: known.len() > 1 && query.workspace.is_empty(),
    };
    render(&ChannelsPage {
        layout: Layout::new(&web, &visitor, language, Section::Channels),
        workspaces: workspaces::choices(&web, &known, language),
        modes: modes(language),
        slice: ListSlice::new(list, query.after, (shown.len(), all), language),
        channels: shown.iter().map(|channel| renderer.row(channel)).collect(),
        all,
        address: query.address(query.sort),
        query,
    })
}

/// Changes the chosen channels, or all that match. The fields are those of [`ChannelsBody`], with `channel` once for each
/// chosen one, and `whom`.
pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<ChannelsQuery>, QueryRejection>,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let Form(fields) = form.map_err(|_| Refusal::MalformedOrder)?;
    let all = |name: &'static str| {
        fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| &**value)
    };
    let mut chosen: BTreeMap<String, BTreeSet<ChannelId>> = BTreeMap::new();
    let mut choose = |workspace, id| chosen.entry(workspace).or_default().insert(id);
    if all("whom").any(|whom| whom == "matching") {
        for channel in query.find(&web, &visitor.access).await? {
            choose(channel.workspace.to_string(), channel.status.id);
        }
    } else {
        for channel in all("channel") {
            let (workspace, id) = channel.split_once(' ').ok_or(Refusal::MalformedOrder)?;
            choose(workspace.to_owned(), ChannelId::new(id));
        }
    }
    if chosen.is_empty() {
        return Err(Refusal::IncompleteForm.into());
    }
    // None is changed if the order cannot be given in one of the workspaces.
    let mut orders = Vec::new();
    for (workspace, channels) in chosen {
        let workspace = Some(workspace);
        let order = all("order").next().unwrap_or_default().to_owned();
        let value = all("value").next().map(str::to_owned);
        let body = ChannelsBody { workspace, channels, order, value };
        orders.push(body.order(&web, &visitor.access).await?);
    }
    for order in orders {
        give(&web, &visitor.access, order).await?;
    }
    Ok(Redirect::to(JOURNAL))
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
    const ALL: [Self; 6] =
        [Self::All, Self::Private, Self::Silent, Self::Muted, Self::Failing, Self::Costly];

    fn word(self, language: Language) -> &'static str {
        match self {
            Self::All => texts::channels::all(language),
            Self::Private => texts::channels::private(language),
            Self::Silent => texts::channels::silent(language),
            Self::Muted => texts::channels::muted(language),
            Self::Failing => texts::channels::failing(language),
            Self::Costly => texts::channels::costly(language),
        }
    }

    fn matches(self, channel: &ListedChannel, now: Timestamp) -> bool {
        let status = &channel.status;
        match self {
            Self::All => true,
            Self::Private => status.visibility != "public",
            Self::Silent => {
                let since = views::seconds(now - SILENCE);
                status.last_spoke.is_none_or(|spoke| spoke < since)
            }
            Self::Muted => status.muted_until.is_some(),
            Self::Failing => channel.is_unread || status.decisions_today.contains_key("failed"),
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
        let (status, now) = (snapshot::read(web, access, only.as_ref()).await?, web.clock.now());
        let text = self.q.trim().trim_start_matches('#').to_lowercase();
        let mut found = Vec::new();
        for workspace in status.workspaces {
            let unread = unread(web, &workspace.workspace);
            found.extend(workspace.channels.into_iter().map(|status| ListedChannel {
                workspace: workspace.workspace.clone(),
                is_unread: unread.contains(&status.id),
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
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            given.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("/console/channels?{}", pairs.join("&")).trim_end_matches('?').to_owned()
    }
}

/// Returns the channels of a workspace that have not been read since the last gap, or cannot be read.
fn unread(web: &Web, workspace: &WorkspaceId) -> BTreeSet<ChannelId> {
    let platform = web.platforms.for_workspace(workspace).ok();
    let progress = platform.and_then(|platform| platform.backfill_progress());
    progress
        .map_or(BTreeSet::new(), |it| it.behind.into_iter().chain(it.failing.into_keys()).collect())
}

struct RowRenderer<'a> {
    web: &'a Web,
    language: Language,
    now: Timestamp,
    /// Whether channels of several workspaces are shown.
    is_of_several: bool,
}

impl RowRenderer<'_> {
    fn row(&self, channel: &ListedChannel) -> ChannelRow {
        let ListedChannel { workspace, status, is_unread } = channel;
        let language = self.language;
        let address = channel_address(workspace, &status.id);
        let midnight = self.now.to_zoned(self.web.zone.clone()).date();
        let outcomes = status.decisions_today.iter().map(|(name, count)| OutcomeView {
            name,
            address: format!("{address}?outcome={name}&from={midnight}T00:00"),
            word: texts::console::outcome_word(language, name),
            count: *count,
        });
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == status.mode);
        let endless = views::seconds(self.now) + MAX_MUTE.as_secs_f64();
        ChannelRow {
            workspace: workspace.to_string(),
            workspace_label: self
                .is_of_several
                .then(|| workspaces::label(self.web, workspace, language)),
            id: status.id.to_string(),
            name: status.name.clone(),
            kind: match status.visibility {
                "public" => None,
                "private" => Some(texts::console::private(language)),
                _ => Some(texts::console::direct(language)),
            },
            mode: mode.map_or(status.mode, |mode| texts::ledger::mode(language, mode)),
            is_muted: status.muted_until.is_some(),
            muted_until: status
                .muted_until
                .filter(|until| *until < endless)
                .map(TimeView::from_seconds),
            is_unread: *is_unread,
            heard: status.last_heard.map(TimeView::from_seconds),
            spoke: status.last_spoke.map(TimeView::from_seconds),
            outcomes: outcomes.collect(),
            cost: match status.tokens_today {
                0 => "–".to_owned(),
                _ => {
                    let (money, unpriced) = (status.money_today, status.unpriced_tokens_today);
                    told_cost(language, money, &self.web.currency, unpriced)
                }
            },
            address,
        }
    }
}
