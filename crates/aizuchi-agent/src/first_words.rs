//! First words: makes the plans of the channels in which the persona may begin a conversation: one for the end of a
//! silence, and one for each date. Whether it is a moment to speak is decided when it is due (`agent/unasked_plan.rs`).

use std::sync::Arc;

use aizuchi_model::chat::{Channel, ConversationId, UserId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::plan::recurrence::Recurrence;
use aizuchi_model::plan::{Plan, PlanId, PlanKind, Whom};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::Place;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::{Store, StoreError};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How soon a changed setting or a new channel has its plans.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

pub struct FirstWords {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub clock: Clock,
    pub rulebook: Reloadable<Rulebook>,
    /// The zone of the configured times.
    pub zone: TimeZone,
}

impl FirstWords {
    pub fn run(&self, shutdown: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
            while !shutdown.is_cancelled() {
                if let Err(error) = self.step().await {
                    warn!(error = %error, wait = ?INTERVAL, "planning first words failed; retrying");
                }
                tokio::select! {
                    () = shutdown.cancelled() => {}
                    () = self.clock.sleep_until(self.clock.now() + INTERVAL) => {}
                }
            }
            Ok(())
        })
    }

    /// Makes the plans that are missing. One that is no longer wanted ends when it is due.
    pub async fn step(&self) -> Result<(), StoreError> {
        let rulebook = self.rulebook.read();
        if !rulebook.may_speak_first() {
            return Ok(());
        }
        for workspace in self.archive.workspaces().await? {
            let plans = self.archive.plans(&workspace).await?;
            let activity = self.archive.channel_activity(&workspace).await?;
            for channel in self.archive.channels(&workspace).await? {
                let rules = rulebook.rules_in(&Place::of_channel(&channel));
                let Some(rule) = &rules.first_word else { continue };
                let heard = activity.iter().find(|it| it.channel == channel.id);
                let heard = heard.and_then(|it| it.last_heard);
                let now = self.clock.now();
                // A silence that has lasted longer was looked at.
                let ends = heard.and_then(|heard| rule.silence_ends(heard, &self.zone));
                let ends = ends.filter(|ends| *ends > now).map(|ends| (None, ends));
                let here = now.to_zoned(self.zone.clone());
                let dates = rule.on.iter().filter_map(|date| {
                    Some((Some(date.clone()), date.next_after(&here)?.timestamp()))
                });
                for (number, (recurrence, due)) in (0..).zip(ends.into_iter().chain(dates)) {
                    if !plans.iter().any(|plan| is_of(plan, &channel, recurrence.as_ref())) {
                        self.plan(&workspace, &channel, recurrence, due, number).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes a plan. `number` tells the plans apart that are made at one moment.
    async fn plan(
        &self,
        workspace: &WorkspaceId,
        channel: &Channel,
        recurrence: Option<Recurrence>,
        due: Timestamp,
        number: i64,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (workspace, channel) = (workspace.clone(), channel.id.clone());
        let plan = Plan {
            id: PlanId(0),
            number: 0,
            conversation: ConversationId { workspace, channel, thread: None },
            asker: UserId::new(""),
            message: None,
            whom: Whom::Channel,
            kind: PlanKind::FirstWord,
            what: "".into(),
            recurrence,
            zone: self.zone.clone(),
            made: now + SignedDuration::from_millis(number),
            due,
        };
        match self.store.order(Order::MakePlan(Box::new(plan)), now).await {
            // The channel has the maximum number of plans.
            Ok(()) | Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn is_of(plan: &Plan, channel: &Channel, recurrence: Option<&Recurrence>) -> bool {
    plan.kind == PlanKind::FirstWord
        && plan.conversation.channel == channel.id
        && plan.recurrence.as_ref() == recurrence
}
