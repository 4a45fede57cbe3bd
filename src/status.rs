//! How every workspace and channel stands now, as the database knows it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use aizuchi_core::chat::{AuthorKind, Channel, ChannelId, Visibility, WorkspaceId};
use aizuchi_core::event::step::Step;
use aizuchi_core::rules::{Mode, Rulebook};
use aizuchi_core::store::{
    Archive, DecisionQuery, MessageQuery, MessageRange, Spending, StandingOrders, StoreError,
};

/// How many of a channel's newest messages are searched for the last one of the companion.
const NEWEST_MESSAGES: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    pub version: &'static str,
    /// Where the database is, without credentials.
    pub database: String,
    pub workspaces: Vec<WorkspaceStatus>,
    /// Posts and answers that were given up and wait for the operator.
    pub dead_letters: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkspaceStatus {
    pub workspace: WorkspaceId,
    /// When a mute of the whole workspace ends, in epoch seconds.
    pub muted_until: Option<f64>,
    pub channels: Vec<ChannelStatus>,
    pub tokens_today: u64,
    /// In the price table's currency.
    pub money_today: f64,
    pub money_this_month: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelStatus {
    pub id: ChannelId,
    pub name: String,
    pub visibility: &'static str,
    pub mode: &'static str,
    pub muted_until: Option<f64>,
    pub last_heard: Option<f64>,
    pub last_spoke: Option<f64>,
    pub pending: Vec<PendingStatus>,
    /// How the decisions since midnight ended, by outcome; `open` are those that have not.
    pub decisions_today: BTreeMap<&'static str, usize>,
    pub tokens_today: u64,
    pub money_today: f64,
}

/// A step that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PendingStatus {
    pub verb: &'static str,
    pub thread: Option<String>,
    pub due: f64,
    /// Somebody waits for it who addressed the companion.
    pub owed: bool,
    /// It is being worked on now.
    pub in_progress: bool,
}

/// What a status is read with.
pub struct StatusReader<'a> {
    pub archive: &'a dyn Archive,
    pub rulebook: &'a Rulebook,
    /// Today begins at midnight here.
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

impl StatusReader<'_> {
    pub async fn workspace(
        &self,
        workspace: &WorkspaceId,
        orders: &StandingOrders,
    ) -> Result<WorkspaceStatus, StoreError> {
        let spending = self.archive.spending(workspace, self.now).await?;
        let steps = self.archive.pending_steps(workspace).await?;
        let mut channels = Vec::new();
        for channel in self.archive.channels(workspace).await? {
            channels.push(self.channel(&channel, orders, &spending, &steps).await?);
        }
        channels.sort_by(|one, other| one.name.cmp(&other.name));
        let whole = spending.iter().find(|spending| spending.channel.is_none());
        Ok(WorkspaceStatus {
            workspace: workspace.clone(),
            muted_until: orders.workspace_mute(self.now).map(|mute| seconds(mute.until)),
            channels,
            tokens_today: whole.map_or(0, |whole| whole.spent.tokens_in_day),
            money_today: whole.map_or(0.0, |whole| money(whole.spent.micros_in_day)),
            money_this_month: whole.map_or(0.0, |whole| money(whole.spent.micros_in_month)),
        })
    }

    async fn channel(
        &self,
        channel: &Channel,
        orders: &StandingOrders,
        spending: &[Spending],
        steps: &[Step],
    ) -> Result<ChannelStatus, StoreError> {
        let query = MessageQuery {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: NEWEST_MESSAGES,
        };
        let messages = self.archive.messages(query).await?;
        let newest_of = |is_own: bool| {
            let of_kind = messages
                .iter()
                .map(|stored| &stored.message)
                .rfind(|message| (message.author.kind == AuthorKind::Persona) == is_own);
            of_kind.map(|message| seconds(message.at))
        };
        let spent = spending.iter().find(|spending| spending.channel.as_ref() == Some(&channel.id));
        let here = steps.iter().filter(|step| step.event.conversation().channel == channel.id);
        Ok(ChannelStatus {
            id: channel.id.clone(),
            name: channel.name.to_string(),
            visibility: visibility_name(channel.visibility),
            mode: self.mode(channel, orders).name(),
            muted_until: orders.channel_mute(&channel.id, self.now).map(|mute| seconds(mute.until)),
            last_heard: newest_of(false),
            last_spoke: newest_of(true),
            pending: here.map(|step| self.pending(step)).collect(),
            decisions_today: self.decisions_today(channel).await?,
            tokens_today: spent.map_or(0, |spent| spent.spent.tokens_in_day),
            money_today: spent.map_or(0.0, |spent| money(spent.spent.micros_in_day)),
        })
    }

    fn mode(&self, channel: &Channel, orders: &StandingOrders) -> Mode {
        let ordered = orders.modes.iter().find(|(ordered, _)| *ordered == channel.id);
        let configured = || self.rulebook.channel_rules(&channel.id, &channel.name).mode;
        ordered.map_or_else(configured, |(_, mode)| *mode)
    }

    fn pending(&self, step: &Step) -> PendingStatus {
        PendingStatus {
            verb: step.event.verb(),
            thread: step.event.conversation().thread.as_ref().map(ToString::to_string),
            due: seconds(step.due),
            owed: step.is_owed,
            in_progress: step.lease.is_some_and(|lease| lease.until > self.now),
        }
    }

    async fn decisions_today(
        &self,
        channel: &Channel,
    ) -> Result<BTreeMap<&'static str, usize>, StoreError> {
        let midnight = self.now.to_zoned(self.zone.clone()).start_of_day();
        let query = DecisionQuery::Since {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            since: midnight.map_or(self.now, |midnight| midnight.timestamp()),
        };
        let mut counts = BTreeMap::new();
        for decision in self.archive.decisions(query).await? {
            let outcome = decision.ended.map_or("open", |ended| ended.name());
            *counts.entry(outcome).or_default() += 1;
        }
        Ok(counts)
    }
}

fn visibility_name(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
        Visibility::Direct => "direct",
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

fn money(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}
