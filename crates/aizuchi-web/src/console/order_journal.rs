//! The page of the orders that were given.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::settings::unpriced_note;
use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts;
use aizuchi_store::FORGOTTEN_USER_ID;
use aizuchi_store::order_journal::{ChannelsRecord, GivenOrder, OrderKind};
use aizuchi_store::private_reads::PrivateReads;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListPart, Section, TimeView, address_with, channel_address, decision_address, render,
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
    /// A part of the name of who gave the orders.
    by: String,
    orders: Vec<OrderRow>,
    orders_part: ListPart,
}

/// What was ordered in one go, or what a person did who visited within a day.
pub struct OrderRow {
    key: String,
    at: Timestamp,
    /// Set for the first row of a day.
    day: Option<Date>,
    by: String,
    pub what: String,
    /// Set for a mute with an end.
    until: Option<TimeView>,
    /// Rows with the same key that are no further apart than this stand for one.
    joint: Option<(String, SignedDuration)>,
    parts: Vec<OrderPart>,
    /// How many such rows of the journal this stands for.
    times: usize,
    /// What an order for several channels did.
    change: Option<ChannelsRecord>,
    /// The names of the channels that it did not change.
    unchanged: Vec<String>,
    /// The numbers of the orders that can be undone.
    pub undoable: Vec<i64>,
    /// What the order does not do, if it is a budget.
    pub note: Option<&'static str>,
}

/// What an order concerns in a workspace.
#[derive(PartialEq)]
struct OrderPart {
    workspace: String,
    place: String,
    /// The page of the channel or the decision.
    address: Option<String>,
    is_whole: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct OrdersPageQuery {
    workspace: String,
    kind: String,
    by: String,
    before: Option<i64>,
}

/// What a person may order for several channels or workspaces in one go.
const IN_ONE_GO: [OrderKind; 4] =
    [OrderKind::Mute, OrderKind::Unmute, OrderKind::Mode, OrderKind::ChangeSetting];
/// The number of orders per page, besides sign-ins. The API returns more.
const ROWS: usize = 75;
/// The maximum number of channels that are named in a row.
const MOST_NAMES: usize = 10;
/// The maximum number of entries of the journal that are read for a page, many of which may be sign-ins.
const MOST_READ: usize = 1000;

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
    let givers = Givers::read(&web, access, (&query.by, &known), language).await?;
    let (orders, mut reads, older) = if kind == READ_PRIVATE {
        let page = private_reads::page(&web, workspace.clone(), before).await?;
        (Vec::new(), page.reads, page.older)
    } else {
        let wanted = (workspace.clone(), chosen.and_then(|(_, kind)| kind));
        let (mut orders, mut older) = (Vec::new(), before);
        let mut since;
        let orders_among = |all: &[GivenOrder]| {
            all.iter().filter(|given| given.record.kind != OrderKind::SignIn).count()
        };
        let mut looked_at = 0;
        loop {
            let (more, next) = order_journal::read(&web, access, wanted.clone(), older).await?;
            (older, since) = (next, more.last().map(|given| given.at));
            looked_at += more.len();
            orders.extend(more.into_iter().filter(|given| givers.include(given)));
            let may_be_few = kind.is_empty() || !givers.wanted.is_empty();
            if older.is_none()
                || !may_be_few
                || orders_among(&orders) >= ROWS
                || looked_at >= MOST_READ
            {
                break;
            }
        }
        let end = (0..orders.len()).find(|end| orders_among(&orders[..*end]) == ROWS);
        if let Some(end) = end {
            orders.truncate(end);
            (older, since) = orders.last().map(|last| (last.number, last.at)).unzip();
        }
        let since = older.and(since);
        let reads = match kind.is_empty() && access.is_admin() {
            true => reads_among(&web, workspace.clone(), since, before).await?,
            false => Vec::new(),
        };
        (orders, reads, older)
    };
    reads.retain(|read| givers.names(&read.read.reader));
    let names = JournalNames::read(&web, access, (&orders, &reads), language).await?;
    let in_workspace = workspace.as_ref().map_or("", WorkspaceId::as_str);
    let address_of = |name: &str, value: &str| {
        let by = query.by.trim();
        let fields = [("workspace", in_workspace), ("kind", kind), ("by", by), (name, value)];
        address_with("/console/orders", &fields)
    };
    let address = address_of("before", "");
    let undone = orders.iter().filter_map(|given| given.channels().ok()??.undoes);
    let undone: BTreeSet<i64> = undone.collect();
    let row = |given: &GivenOrder| {
        let mut row = names.row(given, language);
        row.undoable.retain(|number| !undone.contains(number));
        row
    };
    let mut rows: Vec<OrderRow> = orders.iter().map(row).collect();
    rows.extend(reads.iter().map(|read| names.read_row(read, language)));
    rows.sort_by_key(|row| Reverse(row.at));
    // Whoever asks for visits wants to see each.
    if [READ_PRIVATE, OrderKind::SignIn.name()].contains(&kind) {
        rows.iter_mut().for_each(|row| row.joint = None);
    }
    let rows = joined(rows, &web.zone);
    let label = |workspace: &WorkspaceId| workspaces::label(&web, workspace, language);
    render(&OrdersPage {
        layout: Layout::new(&web, &visitor, language, Section::Orders),
        workspace: workspace.as_ref().map_or(String::new(), ToString::to_string),
        workspace_label: workspace.as_ref().map_or(String::new(), label),
        workspaces: workspaces::choices(&web, &known, language),
        orders_part: ListPart {
            name: "orders",
            shown: orders.len() + reads.len(),
            newest: query.before.map(|_| format!("{address}#journal")),
            older: older.map(|it| format!("{}#journal", address_of("before", &it.to_string()))),
        },
        kinds: kinds.iter().map(|(name, _)| (*name, texts::orders::kind(language, name))).collect(),
        kind,
        by: query.by.clone(),
        orders: rows,
    })
}

/// Who gave the orders that a visitor looks for, by a part of their name or their id.
struct Givers {
    /// In lower case. Empty for everybody.
    wanted: String,
    users: HashSet<(WorkspaceId, UserId)>,
    this_machine: &'static str,
}

impl Givers {
    async fn read(
        web: &Web,
        access: &Access,
        (wanted, known): (&str, &[WorkspaceId]),
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let this_machine = texts::console::this_machine(language);
        let wanted = wanted.trim().to_lowercase();
        let mut givers = Self { wanted, users: HashSet::new(), this_machine };
        let may_name = |workspace: &&WorkspaceId| order_journal::may_name_users(access, workspace);
        for workspace in known.iter().filter(may_name).filter(|_| !givers.wanted.is_empty()) {
            let users = web.archive.users(workspace).await?.into_iter();
            let named = users.filter(|user| givers.names(&user.name));
            let named: Vec<_> = named.map(|user| (user.workspace, user.id)).collect();
            givers.users.extend(named);
        }
        Ok(givers)
    }

    fn names(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.wanted)
    }

    fn include(&self, given: &GivenOrder) -> bool {
        match signer(&given.by) {
            Some(user) => {
                self.names(user)
                    || self.users.contains(&(given.workspace.clone(), UserId::new(user)))
            }
            None if given.by.is_empty() => self.names(self.this_machine),
            None => self.names(&given.by),
        }
    }
}

/// The labels of workspaces, and the names of channels and users that the visitor may learn.
#[derive(Default)]
pub struct JournalNames {
    workspaces: HashMap<WorkspaceId, String>,
    channels: HashMap<(WorkspaceId, ChannelId), Arc<str>>,
    users: HashMap<(WorkspaceId, UserId), Arc<str>>,
    /// What a budget in money does not count.
    note: Option<&'static str>,
}

impl JournalNames {
    /// Reads the names that the orders need.
    pub async fn read(
        web: &Web,
        access: &Access,
        (orders, reads): (&[GivenOrder], &[PrivateReads]),
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let note = unpriced_note(language, SettingKind::MoneyPerDay, &web.room.rulebook());
        let mut names = Self { note, ..Self::default() };
        let mut wanted: BTreeMap<&WorkspaceId, BTreeSet<UserId>> = BTreeMap::new();
        for given in orders {
            let users = wanted.entry(&given.workspace).or_default();
            users.extend(signer(&given.by).map(UserId::new));
            users.extend(given.record.user.clone());
        }
        for read in reads {
            wanted.entry(&read.read.workspace).or_default();
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
            at: *at,
            by: read.reader.to_string(),
            what: word.to_owned(),
            until: None,
            joint: Some((format!("{} {word}", read.reader), SignedDuration::from_hours(24))),
            day: None,
            unchanged: Vec::new(),
            parts: vec![OrderPart {
                workspace: self.workspace(&read.workspace),
                place: {
                    let name = name.map_or(read.channel.to_string(), |name| format!("#{name}"));
                    format!("{name}: {what} ×{count}")
                },
                address: Some(channel_address(&read.workspace, &read.channel)),
                is_whole: false,
            }],
            times: 1,
            change: None,
            undoable: Vec::new(),
            note: None,
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
        let is_whole =
            channel.is_none() && matches!(record.kind, OrderKind::Mute | OrderKind::Unmute);
        let named = channels.as_ref().map(|channels| {
            let shown = channels.changed.iter().take(MOST_NAMES).map(|it| name(&it.channel));
            let shown = shown.collect::<Vec<_>>().join(", ");
            match channels.changed.len().saturating_sub(MOST_NAMES) {
                0 => shown,
                more => format!("{shown} {}", texts::memories::more_sources(language, more)),
            }
        });
        let everywhere = is_whole.then(|| texts::orders::everywhere(language).to_owned());
        let is_budget = record.kind == OrderKind::ChangeSetting
            && record.value.as_deref().is_some_and(is_budget)
            && channels.as_ref().is_none_or(|channels| channels.undoes.is_none());
        let by = match &*given.by {
            "" => texts::console::this_machine(language).to_owned(),
            by => self.user(workspace, signer(by).unwrap_or(by), language),
        };
        let what = what(given, language);
        let until = record.until.filter(|until| *until != Timestamp::MAX).map(TimeView::new);
        OrderRow {
            key: format!("order-{}", given.number),
            at: given.at,
            // Those who visit often are not to bury what is ordered.
            joint: match record.kind == OrderKind::SignIn {
                true => Some((format!("{by} {what}"), SignedDuration::from_hours(24))),
                false => IN_ONE_GO.contains(&record.kind).then(|| {
                    let key = format!("{by} {what} {} {}", until.is_some(), channels.is_some());
                    (key, SignedDuration::from_secs(10))
                }),
            },
            what,
            until,
            day: None,
            by,
            unchanged: {
                let unchanged = channels.as_ref().map(|channels| &channels.unchanged);
                unchanged.into_iter().flatten().map(name).collect()
            },
            undoable: {
                let is_undoable = channels.as_ref().is_some_and(ChannelsRecord::may_undo);
                is_undoable.then_some(given.number).into_iter().collect()
            },
            parts: vec![OrderPart {
                workspace: self.workspace(workspace),
                place: named.or(everywhere).or(channel).or(user).unwrap_or_else(|| "–".to_owned()),
                address: of_decision.or(of_channel),
                is_whole,
            }],
            times: 1,
            change: channels,
            note: self.note.filter(|_| is_budget),
        }
    }
}

impl OrderRow {
    fn takes_in(&self, other: &Self) -> bool {
        let key = |row: &Self| row.joint.as_ref().map(|(key, _)| key.clone());
        let is_close = |(_, within): &(String, SignedDuration)| {
            self.at.duration_since(other.at) <= *within && key(self) == key(other)
        };
        self.joint.as_ref().is_some_and(is_close)
    }

    fn take_in(&mut self, other: Self) {
        self.times += other.times;
        self.undoable.extend(other.undoable);
        self.unchanged.extend(other.unchanged);
        let parts = other.parts.into_iter().filter(|part| !self.parts.contains(part));
        self.parts.extend(parts.collect::<Vec<_>>());
        if let (Some(change), Some(other)) = (&mut self.change, other.change) {
            change.changed.extend(other.changed);
            change.already += other.already;
        }
    }

    fn at(&self) -> TimeView {
        TimeView::new(self.at)
    }

    /// What it did, or where, if it is about several places.
    pub fn told(&self, language: Language) -> Option<String> {
        let workspaces: BTreeSet<&str> = self.parts.iter().map(|part| &*part.workspace).collect();
        let across = |channels| texts::channels::across(language, channels, workspaces.len());
        match &self.change {
            None if self.parts.len() < 2 => None,
            None if self.parts.iter().all(|part| part.is_whole) => {
                Some(texts::orders::everywhere(language).to_owned())
            }
            None => Some(across(self.parts.len())),
            Some(change) if change.undoes.is_some() => Some(across(change.changed.len())),
            Some(change) => {
                let set = texts::orders::set_for(language, &across(change.changed.len()));
                let already =
                    (change.already > 0).then(|| texts::orders::already(language, change.already));
                let all: Vec<String> = [set].into_iter().chain(already).collect();
                Some(all.join(texts::orders::semicolon(language)))
            }
        }
    }

    /// The channels that an order for several did not change.
    pub fn unchanged(&self, language: Language) -> Option<String> {
        let why = match self.change.as_ref()?.undoes {
            Some(_) => texts::orders::changed_since(language),
            None => texts::orders::channel_gone(language),
        };
        let (count, names) = (self.unchanged.len(), self.unchanged.join(", "));
        (count > 0).then(|| texts::orders::unchanged(language, count, &names, why))
    }

    /// The order that undoes all of it, if it can be undone.
    pub fn undo(&self) -> Option<String> {
        let numbers: Vec<String> = self.undoable.iter().map(ToString::to_string).collect();
        (!numbers.is_empty()).then(|| format!("undo {}", numbers.join(",")))
    }
}

/// Joins the rows, newest first, of what was given in one go.
pub fn joined(rows: Vec<OrderRow>, zone: &TimeZone) -> Vec<OrderRow> {
    let mut joined: Vec<OrderRow> = Vec::new();
    for row in rows {
        match joined.iter_mut().rev().find(|known| known.takes_in(&row)) {
            Some(known) => known.take_in(row),
            None => joined.push(row),
        }
    }
    let mut before = None;
    for row in &mut joined {
        let day = Some(row.at.to_zoned(zone.clone()).date());
        row.day = day.filter(|_| day != before);
        before = day;
    }
    joined
}

/// Whether the journal's value of a setting is an amount of money.
fn is_budget(value: &str) -> bool {
    value.split_once(' ').is_some_and(|(kind, _)| kind == SettingKind::MoneyPerDay.name())
}

/// Describes what was ordered.
fn what(given: &GivenOrder, language: Language) -> String {
    if let Ok(Some(channels)) = given.channels() {
        let told = what(&given.as_one(&channels), language);
        return match channels.undoes {
            Some(_) => texts::orders::undone(language, &told.replacen(": ", " ", 1)),
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
            note: None,
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
            (&*by_mia, OrderRecord::new(OrderKind::Unmute), ("Mia", "unmute", "all channels")),
            (
                "",
                OrderRecord { value: Some("observe".into()), ..tea(OrderKind::Mode) },
                ("this machine (not signed in)", "mode: only listens", "#tea"),
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
            let [part] = &row.parts[..] else { panic!("it is one order") };
            assert_eq!((&*row.by, &*row.what, &*part.place), expected);
            assert_eq!(part.workspace, "Garden · slack:T1");
            let leads_to_decision = part.address.as_ref().is_some_and(|it| it.ends_with("/7"));
            assert_eq!(leads_to_decision, given.record.decision.is_some());
        }
    }

    #[test]
    fn what_is_ordered_in_one_go_is_one_row() {
        let names = JournalNames::default();
        let given =
            |workspace: &str, milliseconds: i64, by: &str, record: OrderRecord| GivenOrder {
                number: milliseconds,
                workspace: WorkspaceId::new(workspace),
                at: Timestamp::from_millisecond(milliseconds).unwrap(),
                by: by.into(),
                record,
            };
        let mute =
            || OrderRecord { until: Some(Timestamp::MAX), ..OrderRecord::new(OrderKind::Mute) };
        let visit =
            || OrderRecord { value: Some("admin".into()), ..OrderRecord::new(OrderKind::SignIn) };
        let mode = |channel: &str| OrderRecord {
            channel: Some(ChannelId::new(channel)),
            value: Some("observe".into()),
            ..OrderRecord::new(OrderKind::Mode)
        };
        let told = |orders: &[GivenOrder]| -> Vec<(usize, Option<String>)> {
            let rows = orders.iter().map(|given| names.row(given, Language::En)).collect();
            joined(rows, &TimeZone::UTC)
                .iter()
                .map(|row| (row.times, row.told(Language::En)))
                .collect()
        };
        let told_of = |count, told: &str| (count, Some(told.to_owned()));
        let everywhere = [given("a", 900, "olga", mute()), given("b", 100, "olga", mute())];
        assert_eq!(told(&everywhere), [told_of(2, "all channels")]);
        let modes = [
            given("a", 900, "olga", mode("C1")),
            given("a", 800, "olga", mode("C2")),
            given("b", 700, "olga", mode("C3")),
        ];
        assert_eq!(told(&modes), [told_of(3, "3 channels in 2 workspaces")]);
        // By others, at another time, or something else, it is another row.
        let apart = [
            given("a", 30_000, "olga", mute()),
            given("b", 30_000, "mia", mute()),
            given("b", 7000, "olga", mute()),
            given("a", 7000, "olga", mode("C1")),
        ];
        assert_eq!(told(&apart), [(1, None), (1, None), (1, None), (1, None)]);
        // The visits of a day do not bury what was ordered between them.
        let day = 24 * 3600 * 1000;
        let visits = [
            given("local", day + 9000, "olga", visit()),
            given("a", day + 5000, "olga", mute()),
            given("local", day + 1000, "olga", visit()),
            given("local", 1000, "olga", visit()),
        ];
        assert_eq!(told(&visits), [(2, None), (1, None), (1, None)]);
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
