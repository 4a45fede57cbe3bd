//! A channel's messages with the decisions about them, oldest first, a page at a time.

mod filter;
mod rows;
mod settings;

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, User, UserId, WorkspaceId};
use aizuchi_model::decision::trust::TrustOffer;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::standing_order::StandingOrderScope;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};

use crate::access::Visitor;
use crate::console::channels::{ModeView, end_of_mute, modes};
use crate::console::layout::{
    Layout, Section, TimeView, channel_address, memory_address, render,
    standing_order_trial_address, what_if_address,
};
use crate::console::reason::{FilterOption, gates};
use crate::console::timeline::filter::{Filter, FilterQuery, Source};
use crate::console::timeline::rows::{OmittedRows, Rows, TimelineRow};
use crate::console::timeline::settings::{ChannelSettingRow, SettingsOfThreads, SettingsRenderer};
use crate::language::PageLanguage;
use crate::order_journal::user_names;
use crate::refusal::Refusal;
use crate::standing_orders::{self, ShownStandingOrder};
use crate::trust::TrustCard;
use crate::{ApiProblem, Web, trust, workspaces};

#[derive(Template)]
#[template(path = "console/timeline.html")]
struct TimelinePage<'a> {
    layout: Layout<'a>,
    workspace: String,
    workspace_label: String,
    for_all_channels: String,
    channel: String,
    name: String,
    address: String,
    memory: String,
    what_if: String,
    /// The address of the page that tries a standing order before it applies.
    standing_order_trial: String,
    is_muted: bool,
    is_muted_everywhere: bool,
    /// Set if the mute has an end.
    muted_until: Option<TimeView>,
    modes: Vec<ModeView>,
    mode_name: &'static str,
    /// The confidence from which on the persona speaks without approval, if that was agreed.
    by_itself: Option<String>,
    /// The offer to speak without approval: at most one.
    offers: Vec<TrustCard>,
    /// The models that judge and reply here, if the channel or its workspace has models of its own.
    own_models: Option<String>,
    /// Only for visitors who may give orders.
    standing_orders: Vec<StandingOrderRow>,
    /// Only for visitors who may give orders.
    settings: Vec<ChannelSettingRow>,
    thread_settings: SettingsOfThreads,
    /// Whether the visitor may read the messages.
    can_read: bool,
    withheld: &'static str,
    channels: Vec<ChannelChoice>,
    outcomes: Vec<FilterOption>,
    gates: Vec<FilterOption>,
    filter: FilterQuery,
    /// The requested name, if nobody has it.
    nobody: Option<String>,
    /// The users with the requested name, if there are several.
    namesakes: Vec<NamesakeView>,
    rows: Vec<TimelineRow>,
    /// The store's count of erasures from before the rows were read.
    erasures: u64,
    /// The address of the next older page, if there is one.
    older: Option<String>,
    is_newest: bool,
    /// Set if a search found more than is shown.
    search_cut: Option<&'static str>,
}

/// A channel to switch to, with the same filter.
struct ChannelChoice {
    id: String,
    /// The id again, if the visitor may not know the name.
    name: String,
}

/// A standing order that applies in the channel or one of its threads.
struct StandingOrderRow {
    number: i64,
    /// `None` if the visitor may not read it.
    text: Option<String>,
    scope: &'static str,
    by: String,
    given: TimeView,
    /// Whether it does not apply yet.
    is_draft: bool,
}

/// One of several users with the same name.
struct NamesakeView {
    name: String,
    id: String,
    /// The address of the timeline with only this user's messages.
    address: String,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    place: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<FilterQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let Path((workspace, channel)) = place.map_err(|_| Refusal::NoChannel)?;
    let workspace = workspaces::find(&web, Some(&workspace)).await?;
    let channel = workspaces::channel(&web, &workspace, &channel).await?;
    let query = query.map_or(FilterQuery::default(), |Query(query)| query);
    if let Some(other) = query.other_channel(&channel.id) {
        let address = format!("{}?{}", channel_address(&workspace, &other), query.address(""));
        return Ok(Redirect::to(address.trim_end_matches('?')).into_response());
    }
    let access = &visitor.access;
    let can_read = access.may_read(&workspace, channel.visibility);
    let filter = Filter::parse(&web, &channel, &query, access).await?;
    let erasures = *web.erasures.borrow();
    let found = Rows::read(&web, access, &channel, &filter, language).await?;
    let address = channel_address(&workspace, &channel.id);
    let (orders, now) = (web.store.orders(&workspace).await?, web.clock.now());
    let (here, everywhere) = (orders.channel_mute(&channel.id, now), orders.workspace_mute(now));
    let mode = web.inbox.channel_cache.mode(&workspace, &channel.id);
    let standing_orders = match access.may_order() {
        true => standing_order_rows(&web, access, &channel, language).await?,
        false => Vec::new(),
    };
    let rulebook = web.room.rulebook();
    let teller =
        SettingsRenderer { web: &web, access, channel: &channel, language, rulebook: &rulebook };
    let (settings, thread_settings) = match access.may_order() {
        true => (teller.rows().await?, teller.of_threads().await?),
        false => (Vec::new(), SettingsOfThreads::default()),
    };
    let workspace_label = workspaces::label(&web, &workspace, language);
    let channels = channel_choices(&web, access, &workspace).await?;
    let name = access.name_of(&channel);
    let mut offers = trust::open(&web, access, std::slice::from_ref(&workspace)).await?;
    offers.retain(|offer| offer.channel == channel.id);
    let offer = |offer: &TrustOffer| TrustCard::new(offer, &format!("#{name}"), language);
    let page = render(&TimelinePage {
        layout: Layout::new(&web, &visitor, language, Section::Channels),
        offers: offers.iter().map(offer).collect(),
        by_itself: orders
            .trusted_confidence(&channel.id)
            .map(|confidence| texts::trust::in_force(language, confidence.share())),
        name,
        memory: memory_address(&workspace, Some(&channel.id)),
        what_if: what_if_address(&workspace, &channel.id),
        standing_order_trial: standing_order_trial_address(&workspace, &channel.id),
        for_all_channels: texts::commands::for_all_channels_of(language, &workspace_label),
        workspace_label,
        workspace: workspace.to_string(),
        channel: channel.id.to_string(),
        is_muted: here.is_some(),
        is_muted_everywhere: everywhere.is_some(),
        muted_until: everywhere.or(here).and_then(|mute| end_of_mute(mute.until, now)),
        modes: modes(language),
        mode_name: mode.name(),
        own_models: web
            .models
            .own_models(&channel)
            .map(|[judge, speaker]| texts::console::own_models(language, &judge, &speaker)),
        standing_orders,
        settings,
        thread_settings,
        can_read,
        withheld: access.withheld(language),
        nobody: matches!(filter.source, Source::Nobody)
            .then(|| texts::console::nobody_named(language, query.user.trim())),
        namesakes: match &filter.source {
            Source::Namesakes(users) => {
                users.iter().map(|user| namesake(user, &query, &address)).collect()
            }
            Source::Messages { .. }
            | Source::Decisions { .. }
            | Source::Search(_)
            | Source::Nobody => Vec::new(),
        },
        channels,
        outcomes: filter::outcomes(language),
        gates: gates(language),
        older: match &found.rest {
            OmittedRows::Older(before) => Some(format!("{address}?{}", query.address(before))),
            OmittedRows::Nothing | OmittedRows::WorseMatches => None,
        },
        is_newest: query.before.is_none(),
        search_cut: match &found.rest {
            OmittedRows::WorseMatches => Some(texts::console::best_matches(language)),
            OmittedRows::Nothing | OmittedRows::Older(_) => None,
        },
        rows: found.rows,
        erasures,
        filter: query,
        address,
    })?;
    Ok(page.into_response())
}

/// Returns the channels of a workspace, sorted by the names that are shown here.
async fn channel_choices(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<Vec<ChannelChoice>, ApiProblem> {
    let choice = |channel: Channel| {
        let id = channel.id.to_string();
        let name = access.name_of(&channel);
        ChannelChoice { id, name }
    };
    let channels = web.archive.channels(workspace).await?;
    let mut choices: Vec<ChannelChoice> = channels.into_iter().map(choice).collect();
    choices.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(choices)
}

async fn standing_order_rows(
    web: &Web,
    access: &Access,
    channel: &Channel,
    language: Language,
) -> Result<Vec<StandingOrderRow>, ApiProblem> {
    let workspace = &channel.workspace;
    let mut shown = standing_orders::read(web, access, workspace, Some(&channel.id)).await?;
    shown.retain(|shown| shown.order.is_in_force() || shown.order.is_pending());
    let givers = shown.iter().filter_map(|shown| signer(&shown.order.by)).map(UserId::new);
    let names = user_names(web, access, workspace, &givers.collect()).await?;
    let by = |by: &str| match signer(by) {
        Some(id) => names.get(&UserId::new(id)).map_or(id.to_owned(), ToString::to_string),
        None if by.is_empty() => texts::console::this_machine(language).to_owned(),
        None => by.to_owned(),
    };
    let row = |ShownStandingOrder { order, is_readable }: ShownStandingOrder| StandingOrderRow {
        number: order.number,
        text: is_readable.then(|| order.text.as_str().to_owned()),
        scope: match order.scope {
            StandingOrderScope::Workspace => texts::commands::for_all_channels(language),
            StandingOrderScope::Channel(_) => texts::commands::for_this_channel(language),
            StandingOrderScope::Thread(..) => texts::console::for_a_thread(language),
        },
        by: by(&order.by),
        given: TimeView::new(order.given),
        is_draft: order.is_draft,
    };
    Ok(shown.into_iter().map(row).collect())
}

fn namesake(user: &User, query: &FilterQuery, address: &str) -> NamesakeView {
    NamesakeView {
        name: user.name.to_string(),
        id: user.id.to_string(),
        address: format!("{address}?{}", query.address_of_user(user)),
    }
}
