//! Plans that a reply makes: what the persona says that it will do later. Nothing is written before the reply is
//! committed.

use std::sync::Arc;

use aizuchi_actions::plans::zone_of;
use aizuchi_model::chat::{ConversationId, MessageId, UserId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::plan::time_expression::{When, parse_time};
use aizuchi_model::plan::{
    MAX_LENGTH, MAX_PER_CHANNEL, MAX_PER_USER, Plan, PlanId, PlanKind, Whom,
};
use aizuchi_model::texts::{self, times};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::agent::Worker;
use crate::agent::tools::Toolbox;
use crate::agent::tools::arguments::{ScheduleArguments, ScheduledFor};

/// The longest time ahead of a plan.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366 * 2);

/// Who asks, and the plans of the reply so far.
pub(super) struct Schedule {
    archive: Arc<dyn Archive>,
    asker: UserId,
    /// The message that is answered. The plans go with it.
    message: MessageId,
    zone: TimeZone,
    plans: Vec<Plan>,
}

impl Worker<'_> {
    /// The schedule of a reply that somebody waits for. Unasked, nobody is planned for, and keeping a promise makes no
    /// new one.
    pub(super) async fn schedule(&self, context: &Context) -> Result<Option<Schedule>, StoreError> {
        let Some(asked) = context.owed_messages().next_back() else { return Ok(None) };
        let (asker, message) = (asked.author.id.clone(), asked.id.clone());
        let archive = self.command_answers.archive.clone();
        let workspace = &context.conversation.workspace;
        let zone = zone_of(&*archive, workspace, &asker, &self.command_answers.zone).await?;
        Ok(Some(Schedule { archive, asker, message, zone, plans: Vec::new() }))
    }
}

impl Schedule {
    /// Whether the user and the channel may have one more plan.
    async fn has_room(&self, conversation: &ConversationId) -> Result<bool, StoreError> {
        let plans = self.archive.plans(&conversation.workspace).await?;
        let of_user = plans.iter().filter(|plan| plan.asker == self.asker).count();
        let here = |plan: &&Plan| plan.conversation.channel == conversation.channel;
        let in_channel = plans.iter().filter(here).count();
        let new = self.plans.len() as i64;
        Ok((of_user as i64) + new < MAX_PER_USER && (in_channel as i64) + new < MAX_PER_CHANNEL)
    }
}

impl Toolbox {
    /// Whether the model may plan what it promises.
    pub(in crate::agent) fn may_plan(&self) -> bool {
        self.schedule.is_some()
    }

    /// Plans what the model says that it will do.
    pub(super) async fn plan(&mut self, arguments: &ScheduleArguments, now: Timestamp) -> String {
        let Some(schedule) = &mut self.schedule else { return String::new() };
        // What cannot be counted now is not promised.
        if !schedule.has_room(&self.conversation).await.unwrap_or_default() {
            return texts::tools::too_many_plans(self.language).to_owned();
        }
        let now_there = now.to_zoned(schedule.zone.clone());
        let at = read_time(&arguments.at, &now_there).map(|at| at.timestamp());
        let Some(due) = at.filter(|at| *at > now && *at <= now + LONGEST) else {
            return texts::tools::not_scheduled(self.language).to_owned();
        };
        let what = to_single_line(&arguments.what).chars().take(MAX_LENGTH).collect::<String>();
        // The plans of a message are told apart by their time.
        let number = SignedDuration::from_millis(schedule.plans.len() as i64);
        schedule.plans.push(Plan {
            id: PlanId(0),
            number: 0,
            conversation: self.conversation.clone(),
            asker: schedule.asker.clone(),
            message: Some(schedule.message.clone()),
            whom: match arguments.who {
                ScheduledFor::Asker => Whom::Asker,
                ScheduledFor::Channel => Whom::Channel,
            },
            kind: PlanKind::Promise,
            what: what.into(),
            recurrence: None,
            zone: schedule.zone.clone(),
            made: now + number,
            due,
        });
        let due = due.to_zoned(schedule.zone.clone());
        texts::tools::scheduled(self.language, &times::moment(self.language, &due, &now_there))
    }

    /// The plans that the reply makes.
    pub(in crate::agent) fn plans(&self) -> Vec<Plan> {
        self.schedule.as_ref().map(|schedule| schedule.plans.clone()).unwrap_or_default()
    }
}

/// Reads “2026-12-04 09:00”, or words.
fn read_time(text: &str, now: &Zoned) -> Option<Zoned> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.to_zoned(now.time_zone().clone()));
    }
    // A date alone would be midnight.
    if let Some(at) = text.parse::<DateTime>().ok().filter(|_| text.contains(':')) {
        return at.to_zoned(now.time_zone().clone()).ok();
    }
    match parse_time(text, now)?.0 {
        When::Once(at) => Some(at),
        When::Every(..) | When::Past(_) | When::Unclear(_) => None,
    }
}
