//! The page of the orders that were given, and of the users who have opted out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::FORGOTTEN_USER_ID;
use aizuchi_store::order_journal::{ChannelsRecord, GivenOrder, OrderKind};
use aizuchi_store::private_reads::PrivateReads;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use jiff::Timestamp;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListPart, ListSlice, Section, TimeView, address_with, channel_address,
    decision_address, render,
};
use crate::language::PageLanguage;
use crate::order_journal::{READ_PRIVATE, reads_among};
use crate::{ApiProblem, Web, order_journal, private_reads, workspaces};

#[derive(Template)]
#[template(path = "console/orders.html")]
struct OrdersPage<'a> {
    layout: Layout<'a>,
    /// Empty for all workspaces.
    workspace: String,
    workspace_label: String,
    /// The id and the label of each workspace.
    workspaces: Vec<(String, String)>,
    /// The kinds to choose from: the name and the word of each.
    kinds: Vec<(&'static str, &'static str)>,
    /// The chosen kind, or empty.
    kind: &'static str,
    orders: Vec<OrderRow>,
    orders_part: ListPart,
    opted_out: Vec<OptOutRow>,
    /// Set if not all of the users are shown.
    slice: Option<ListSlice>,
    /// The users whom the config opts out.
    in_config: Option<String>,
    /// The page to which forms return.
    back: String,
}

pub struct OrderRow {
    key: String,
    pub number: i64,
    at: TimeView,
    pub workspace: String,
    by: String,
    pub what: String,
    /// Set for a mute with an end.
    until: Option<TimeView>,
    pub place: String,
    /// The page of the channel or the decision.
    address: Option<String>,
    /// Whether it can be undone.
    pub may_undo: bool,
    /// The channels that an order for several did not change.
    pub unchanged: Option<String>,
}

struct OptOutRow {
    workspace: String,
    workspace_label: String,
    id: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct OrdersPageQuery {
    workspace: String,
    kind: String,
    before: Option<i64>,
    /// The number of users who have opted out before those that are shown.
    #[serde(rename = "people_after")]
    users_after: usize,
}

/// The number of users who have opted out per page. The API returns all.
const USERS: usize = 100;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<OrdersPageQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(OrdersPageQuery::default(), |Query(query)| query);
    let access = &visitor.access;
    let known = workspaces::all(&web).await?;
    let workspace = match query.workspace.as_str() {
        "" => None,
        id => Some(workspaces::find(&web, Some(id)).await?),
    };
    let kinds = OrderKind::ALL.iter().map(|kind| (kind.name(), Some(*kind)));
    let reads = access.is_admin().then_some((READ_PRIVATE, None));
    let kinds: Vec<(&str, Option<OrderKind>)> = reads.into_iter().chain(kinds).collect();
    let chosen = kinds.iter().find(|(name, _)| *name == query.kind).copied();
    let (kind, before) = (chosen.map_or("", |(name, _)| name), query.before);
    let (orders, reads, older) = if kind == READ_PRIVATE {
        let page = private_reads::page(&web, workspace.clone(), before).await?;
        (Vec::new(), page.reads, page.older)
    } else {
        let wanted = (workspace.clone(), chosen.and_then(|(_, kind)| kind));
        let (orders, older) = order_journal::read(&web, access, wanted, before).await?;
        let reads = match kind.is_empty() && access.is_admin() {
            true => reads_among(&web, workspace.clone(), (&orders, older), before).await?,
            false => Vec::new(),
        };
        (orders, reads, older)
    };
    let mut opted_out = Vec::new();
    for shown in workspace.as_ref().map_or(&known[..], std::slice::from_ref) {
        let here = order_journal::opted_out(&web, access, shown).await?;
        opted_out.extend(here.into_iter().map(|user| (shown.clone(), user)));
    }
    let all_users = opted_out.len();
    let opted_out: Vec<_> = opted_out.into_iter().skip(query.users_after).take(USERS).collect();
    let names = JournalNames::read(&web, access, (&orders, &reads), &opted_out, language).await?;
    let in_workspace = workspace.as_ref().map_or("", WorkspaceId::as_str);
    let address_of = |name: &str, value: &str| {
        let fields = [("workspace", in_workspace), ("kind", kind), (name, value)];
        address_with("/console/orders", &fields)
    };
    let address = address_of("before", "");
    let undone = orders.iter().filter_map(|given| given.channels().ok()??.undoes);
    let undone: BTreeSet<i64> = undone.collect();
    let row = |given: &GivenOrder| {
        let row = names.row(given, language);
        let may_undo = row.may_undo && !undone.contains(&given.number);
        (given.at, OrderRow { may_undo, ..row })
    };
    let mut rows: Vec<(Timestamp, OrderRow)> = orders.iter().map(row).collect();
    rows.extend(reads.iter().map(|read| (read.at, names.read_row(read, language))));
    rows.sort_by_key(|(at, _)| Reverse(*at));
    // The config does not say to which workspace they belong.
    let in_config = match web.scope {
        AccessScope::Everything => {
            let rulebook = web.room.rulebook();
            let in_config = rulebook.opted_out.iter().map(ToString::to_string);
            in_config.collect::<Vec<_>>().join(", ")
        }
        AccessScope::Only(_) => String::new(),
    };
    let label = |workspace: &WorkspaceId| workspaces::label(&web, workspace, language);
    let shown = (opted_out.len(), all_users);
    render(&OrdersPage {
        layout: Layout::new(&web, &visitor, language, Section::Orders),
        workspace: workspace.as_ref().map_or(String::new(), ToString::to_string),
        workspace_label: workspace.as_ref().map_or(String::new(), label),
        workspaces: workspaces::choices(&web, &known, language),
        orders_part: ListPart {
            name: "orders",
            shown: rows.len(),
            newest: query.before.map(|_| format!("{address}#journal")),
            older: older.map(|it| format!("{}#journal", address_of("before", &it.to_string()))),
        },
        kinds: kinds.iter().map(|(name, _)| (*name, texts::orders::kind(language, name))).collect(),
        kind,
        orders: rows.into_iter().map(|(_, row)| row).collect(),
        slice: ListSlice::new(("people", address.as_str()), query.users_after, shown, language),
        opted_out: opted_out.iter().map(|(of, user)| names.opt_out(of, user)).collect(),
        in_config: (!in_config.is_empty()).then(|| texts::orders::in_config(language, &in_config)),
        back: match query.users_after {
            0 => address,
            after => address_of("people_after", &after.to_string()),
        },
    })
}

/// The labels of workspaces, and the names of channels and users that the visitor may learn.
#[derive(Default)]
pub struct JournalNames {
    workspaces: HashMap<WorkspaceId, String>,
    channels: HashMap<(WorkspaceId, ChannelId), Arc<str>>,
    users: HashMap<(WorkspaceId, UserId), Arc<str>>,
}

impl JournalNames {
    /// Reads the names that the orders and the users need.
    pub async fn read(
        web: &Web,
        access: &Access,
        (orders, reads): (&[GivenOrder], &[PrivateReads]),
        users: &[(WorkspaceId, UserId)],
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let mut names = Self::default();
        let mut wanted: BTreeMap<&WorkspaceId, BTreeSet<UserId>> = BTreeMap::new();
        for given in orders {
            let users = wanted.entry(&given.workspace).or_default();
            users.extend(signer(&given.by).map(UserId::new));
            users.extend(given.record.user.clone());
        }
        for read in reads {
            wanted.entry(&read.read.workspace).or_default();
        }
        for (workspace, user) in users {
            wanted.entry(workspace).or_default().insert(user.clone());
        }
        for (workspace, wanted) in wanted {
            let label = workspaces::label(web, workspace, language);
            names.workspaces.insert(workspace.clone(), label);
            let channels = web.archive.channels(workspace).await?.into_iter();
            let named = channels.filter(|channel| access.may_name(channel.visibility));
            names
                .channels
                .extend(named.map(|channel| ((channel.workspace, channel.id), channel.name)));
            let users = order_journal::user_names(web, access, workspace, &wanted).await?;
            let users = users.into_iter().map(|(id, name)| ((workspace.clone(), id), name));
            names.users.extend(users);
        }
        Ok(names)
    }

    fn workspace(&self, id: &WorkspaceId) -> String {
        self.workspaces.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn opt_out(&self, workspace: &WorkspaceId, id: &UserId) -> OptOutRow {
        let name = self.users.get(&(workspace.clone(), id.clone()));
        OptOutRow {
            workspace: workspace.to_string(),
            workspace_label: self.workspace(workspace),
            id: id.to_string(),
            name: name.map_or_else(|| id.to_string(), ToString::to_string),
        }
    }

    fn user(&self, workspace: &WorkspaceId, id: &str, language: Language) -> String {
        if id == FORGOTTEN_USER_ID {
            return texts::orders::forgotten(language).to_owned();
        }
        let name = self.users.get(&(workspace.clone(), UserId::new(id)));
        name.map_or_else(|| id.to_owned(), ToString::to_string)
    }

    fn read_row(&self, reads: &PrivateReads, language: Language) -> OrderRow {
        let PrivateReads { read, at, count } = reads;
        let name = self.channels.get(&(read.workspace.clone(), read.channel.clone()));
        let word = texts::orders::kind(language, READ_PRIVATE);
        let what = texts::console::private_text(language, read.what.name());
        OrderRow {
            key: format!("{READ_PRIVATE} {at} {} {what} {}", read.channel, read.reader),
            number: 0,
            at: TimeView::new(*at),
            workspace: self.workspace(&read.workspace),
            by: read.reader.to_string(),
            what: format!("{word}: {what} ×{count}"),
            until: None,
            place: name.map_or_else(|| read.channel.to_string(), |name| format!("#{name}")),
            address: Some(channel_address(&read.workspace, &read.channel)),
            may_undo: false,
            unchanged: None,
        }
    }

    pub fn row(&self, given: &GivenOrder, language: Language) -> OrderRow {
        let channels = given.channels().ok().flatten();
        let one = channels.as_ref().map(|channels| given.as_one(channels));
        let (workspace, record) = (&given.workspace, &one.as_ref().unwrap_or(given).record);
        let name = |channel: &ChannelId| {
            let name = self.channels.get(&(workspace.clone(), channel.clone()));
            name.map_or_else(|| channel.to_string(), |name| format!("#{name}"))
        };
        let channel = record.channel.as_ref().map(name);
        let user = record.user.as_ref().map(|user| self.user(workspace, user.as_str(), language));
        let of_channel =
            given.record.channel.as_ref().map(|channel| channel_address(workspace, channel));
        let of_decision = record.decision.map(|id| decision_address(workspace, id));
        OrderRow {
            key: format!("order-{}", given.number),
            number: given.number,
            at: TimeView::new(given.at),
            workspace: self.workspace(workspace),
            by: match &*given.by {
                "" => texts::console::this_machine(language).to_owned(),
                by => self.user(workspace, signer(by).unwrap_or(by), language),
            },
            what: what(given, language),
            until: record.until.filter(|until| *until != Timestamp::MAX).map(TimeView::new),
            unchanged: channels.as_ref().filter(|it| !it.unchanged.is_empty()).map(|channels| {
                let names: Vec<String> = channels.unchanged.iter().map(name).collect();
                let why = match channels.undoes {
                    Some(_) => texts::orders::changed_since(language),
                    None => texts::orders::channel_gone(language),
                };
                texts::orders::unchanged(language, &names.join(", "), why)
            }),
            may_undo: channels.as_ref().is_some_and(ChannelsRecord::may_undo),
            place: match (channels, record.kind, channel.or(user)) {
                (Some(channels), _, _) => texts::channels::count(language, channels.changed.len()),
                (None, _, Some(place)) => place,
                (None, OrderKind::Mute | OrderKind::Unmute, None) => {
                    texts::orders::everywhere(language).to_owned()
                }
                (None, _, None) => "–".to_owned(),
            },
            address: of_decision.or(of_channel),
        }
    }
}

/// Describes what was ordered.
fn what(given: &GivenOrder, language: Language) -> String {
    if let Ok(Some(channels)) = given.channels() {
        let told = what(&given.as_one(&channels), language);
        return match channels.undoes {
            Some(_) => texts::orders::undone(language, &told),
            None => told,
        };
    }
    let record = &given.record;
    let word = texts::orders::kind(language, record.kind.name());
    let more = match (record.kind, record.value.as_deref()) {
        (OrderKind::Mute, _) => (record.until == Some(Timestamp::MAX))
            .then(|| texts::orders::until_lifted(language).to_owned()),
        (OrderKind::Mode, None) => Some(texts::orders::as_configured(language).to_owned()),
        (OrderKind::Mode, Some(name)) => {
            let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
            Some(mode.map_or(name, |mode| texts::ledger::mode(language, mode)).to_owned())
        }
        // Its numbers are on the page of people.
        (OrderKind::Forget, _) => None,
        (_, value) => value.map(str::to_owned),
    };
    match more {
        Some(more) => format!("{word}: {more}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::decision::DecisionId;
    use aizuchi_model::memory::asker::sign;
    use aizuchi_store::order_journal::OrderRecord;

    use super::*;

    #[test]
    fn an_order_is_told_with_who_gave_it_and_what_it_concerns() {
        let (team, at) = (WorkspaceId::new("slack:T1"), Timestamp::UNIX_EPOCH);
        let mia = UserId::new("U1");
        let names = JournalNames {
            workspaces: HashMap::from([(team.clone(), "Garden · slack:T1".to_owned())]),
            channels: HashMap::from([((team.clone(), ChannelId::new("C1")), "tea".into())]),
            users: HashMap::from([((team.clone(), mia.clone()), "Mia".into())]),
        };
        let tea =
            |kind| OrderRecord { channel: Some(ChannelId::new("C1")), ..OrderRecord::new(kind) };
        let by_mia = sign(&mia, at);
        for (by, record, expected) in [
            (
                "olga",
                OrderRecord { until: Some(Timestamp::MAX), ..tea(OrderKind::Mute) },
                ("olga", "mute: until unmuted", "#tea"),
            ),
            (&*by_mia, OrderRecord::new(OrderKind::Unmute), ("Mia", "unmute", "everywhere")),
            (
                "",
                OrderRecord { value: Some("observe".into()), ..tea(OrderKind::Mode) },
                ("this machine", "mode: only listens", "#tea"),
            ),
            ("olga", tea(OrderKind::Mode), ("olga", "mode: as configured", "#tea")),
            (
                "olga",
                OrderRecord { user: Some(mia.clone()), ..OrderRecord::new(OrderKind::OptIn) },
                ("olga", "opt in", "Mia"),
            ),
            (
                FORGOTTEN_USER_ID,
                OrderRecord::new(OrderKind::Forget),
                ("(somebody who was forgotten)", "forget a person", "–"),
            ),
            (
                "olga",
                OrderRecord { decision: Some(DecisionId(7)), ..tea(OrderKind::DropDeadLetter) },
                ("olga", "drop what could not be posted", "#tea"),
            ),
        ] {
            let given =
                GivenOrder { number: 1, workspace: team.clone(), at, by: by.into(), record };
            let row = names.row(&given, Language::En);
            assert_eq!((&*row.by, &*row.what, &*row.place), expected);
            assert_eq!(row.workspace, "Garden · slack:T1");
            let leads_to_decision = row.address.is_some_and(|it| it.ends_with("/7"));
            assert_eq!(leads_to_decision, given.record.decision.is_some());
        }
    }

    #[test]
    fn every_kind_has_words() {
        for kind in [
            OrderKind::Mute,
            OrderKind::Unmute,
            OrderKind::Mode,
            OrderKind::OptOut,
            OrderKind::OptIn,
            OrderKind::Reset,
            OrderKind::Forget,
            OrderKind::RetryDeadLetter,
            OrderKind::DropDeadLetter,
            OrderKind::ForgetMoments,
            OrderKind::ChooseModel,
            OrderKind::SignIn,
            OrderKind::Export,
            OrderKind::Reload,
            OrderKind::GiveStandingOrder,
            OrderKind::ChangeStandingOrder,
            OrderKind::DropStandingOrder,
            OrderKind::DraftStandingOrder,
            OrderKind::KeepStandingOrder,
            OrderKind::DropOrderDraft,
            OrderKind::ChangeSetting,
            OrderKind::ChangeChannels,
        ] {
            let word = texts::orders::kind(Language::Ja, kind.name());
            assert_ne!(word, kind.name());
        }
    }
}
