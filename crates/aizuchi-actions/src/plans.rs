//! Commands about plans: reminders, posts at a time, and what people may do with them. Everybody may make plans for the
//! place where they write, within the limits of a user and a channel; only their asker or an admin may change them.

use aizuchi_model::chat::{Role, UserId, WorkspaceId, to_single_line};
use aizuchi_model::persona::Language;
use aizuchi_model::plan::request::PlanRequest;
use aizuchi_model::plan::time_expression::{Unclear, When, parse_time};
use aizuchi_model::plan::{MAX_LENGTH, Plan, PlanId, PlanKind, Whom};
use aizuchi_model::texts::{plans as texts, times};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::{Order, PlanChange};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::command::{Command, CommandRequest, PlanCommand};
use crate::command_replies::CommandReplies;
use crate::parse::{asks_what_was_missed, without_called_name};

/// The maximum number of plans that are listed.
const MAX_LISTED: usize = 20;

/// The maximum length of a request to be caught up, without its time.
const MAX_CATCH_UP_LENGTH: usize = 30;

/// What a command about plans asks for.
enum Asked {
    Plan(Box<Plan>),
    /// A time that is none, or is over.
    NoTime(When),
    Nothing,
}

/// Returns the order of a command about plans, if it has one. `zone` is that of users whose own is unknown.
pub async fn to_order(
    request: &CommandRequest,
    archive: &dyn Archive,
    zone: &TimeZone,
    name: &str,
) -> Result<Option<Order>, StoreError> {
    let workspace = &request.conversation.workspace;
    let zone = &zone_of(archive, workspace, &request.user, zone).await?;
    let change = |id, change| Order::ChangePlan { workspace: workspace.clone(), id, change };
    Ok(match request.command {
        Command::Plan(PlanCommand::Make) => match asked(request, zone, name) {
            Asked::Plan(plan) => Some(Order::MakePlan(plan)),
            Asked::NoTime(_) | Asked::Nothing => None,
        },
        Command::Plan(PlanCommand::Cancel(number)) => {
            let plan = changeable(request, archive, number).await?;
            plan.map(|plan| change(plan.id, PlanChange::Drop))
        }
        Command::Plan(PlanCommand::Move(number)) => {
            let plan = changeable(request, archive, number).await?;
            plan.and_then(|plan| Some(change(plan.id, moved(&plan, request, zone)?)))
        }
        _ => None,
    })
}

/// Returns how an edit of the message that asked for a plan changes it. A message that asks for nothing any more drops
/// it.
pub fn edited(plan: &Plan, text: &str, name: &str) -> Option<PlanChange> {
    let asked_at = plan.made.to_zoned(plan.zone.clone());
    match plan.kind {
        PlanKind::Promise | PlanKind::FirstWord => return None,
        PlanKind::Unanswered => {
            let what = said(text);
            let Plan { due, recurrence, .. } = plan.clone();
            return (*what != *plan.what).then(|| PlanChange::Move {
                due,
                what: what.into(),
                recurrence,
            });
        }
        _ => {}
    }
    let text = without_called_name(text, name);
    let request = PlanRequest::parse(&text, &asked_at).or_else(|| catch_up(&text, &asked_at));
    let Some(request) = request else { return Some(PlanChange::Drop) };
    let what = said(&request.what);
    let (due, recurrence) = match request.when {
        When::Once(at) => (at.timestamp(), None),
        // It may have been said since, so that its first time is over.
        When::Every(recurrence, _) if plan.recurrence.as_ref() == Some(&recurrence) => {
            (plan.due, Some(recurrence))
        }
        When::Every(recurrence, first) => (first.timestamp(), Some(recurrence)),
        When::Past(_) | When::Unclear(_) => return Some(PlanChange::Drop),
    };
    let is_same = (due, &*what, &recurrence) == (plan.due, &*plan.what, &plan.recurrence);
    (!is_same).then_some(PlanChange::Move { due, what: what.into(), recurrence })
}

fn asked(request: &CommandRequest, zone: &TimeZone, name: &str) -> Asked {
    let now = request.at.to_zoned(zone.clone());
    let text = without_called_name(&request.text, name);
    let Some(wanted) = PlanRequest::parse(&text, &now).or_else(|| catch_up(&text, &now)) else {
        return Asked::Nothing;
    };
    // A longer reminder only mentions it.
    let is_catch_up = wanted.whom == Whom::Asker
        && wanted.what.chars().count() <= MAX_CATCH_UP_LENGTH
        && asks_what_was_missed(&wanted.what.to_lowercase());
    let kind = if is_catch_up { PlanKind::CatchUp } else { wanted.kind };
    let (due, recurrence) = match wanted.when {
        When::Once(at) => (at.timestamp(), None),
        When::Every(recurrence, first) => (first.timestamp(), Some(recurrence)),
        when @ (When::Past(_) | When::Unclear(_)) => return Asked::NoTime(when),
    };
    Asked::Plan(Box::new(Plan {
        id: PlanId(0),
        number: 0,
        conversation: request.conversation.clone(),
        asker: request.user.clone(),
        message: request.message.clone(),
        whom: wanted.whom,
        kind,
        what: said(&wanted.what).into(),
        recurrence,
        zone: zone.clone(),
        made: request.at,
        due,
    }))
}

/// A request to be told again and again what its author missed.
fn catch_up(text: &str, now: &Zoned) -> Option<PlanRequest> {
    let (when, _) = parse_time(text, now).filter(|(when, _)| matches!(when, When::Every(..)))?;
    let (kind, whom, what) = (PlanKind::CatchUp, Whom::Asker, text.trim().to_owned());
    asks_what_was_missed(&text.to_lowercase()).then_some(PlanRequest { kind, whom, what, when })
}

fn said(what: &str) -> String {
    to_single_line(what).chars().take(MAX_LENGTH).collect()
}

/// The time zone of a user's profile, or else `general`.
pub async fn zone_of(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    user: &UserId,
    general: &TimeZone,
) -> Result<TimeZone, StoreError> {
    let known = archive.some_users(workspace, &[user.clone()].into_iter().collect()).await?;
    let own = known.first().and_then(|user| user.zone.as_deref());
    let own = own.and_then(|name| TimeZone::get(name).ok());
    Ok(own.unwrap_or_else(|| general.clone()))
}

/// The plan of this number, if it was asked for in this channel, and by this user unless they are an admin.
async fn changeable(
    request: &CommandRequest,
    archive: &dyn Archive,
    number: i64,
) -> Result<Option<Plan>, StoreError> {
    let plans = plans_here(request, archive).await?;
    Ok(plans.into_iter().find(|plan| plan.number == number && may_change(plan, request)))
}

/// Whether a command may cancel or move a plan. A first word is planned by the config, and a follow-up comes once, when
/// it is due.
fn may_change(plan: &Plan, request: &CommandRequest) -> bool {
    let is_move = matches!(request.command, Command::Plan(PlanCommand::Move(_)));
    let is_changeable = match plan.kind {
        PlanKind::FirstWord => false,
        PlanKind::Unanswered => !is_move,
        _ => true,
    };
    is_changeable && (plan.asker == request.user || request.role == Role::Admin)
}

async fn plans_here(
    request: &CommandRequest,
    archive: &dyn Archive,
) -> Result<Vec<Plan>, StoreError> {
    let mut plans = archive.plans(&request.conversation.workspace).await?;
    plans.retain(|plan| plan.conversation.channel == request.conversation.channel);
    Ok(plans)
}

/// Moves a plan to the time that a command names. A plan that recurs keeps doing so.
fn moved(plan: &Plan, request: &CommandRequest, zone: &TimeZone) -> Option<PlanChange> {
    let now = request.at.to_zoned(zone.clone());
    let (due, recurrence) = match parse_time(&request.text, &now)?.0 {
        When::Once(at) => (at, plan.recurrence.clone()),
        When::Every(recurrence, first) => (first, Some(recurrence)),
        When::Past(_) | When::Unclear(_) => return None,
    };
    Some(PlanChange::Move { due: due.timestamp(), what: plan.what.clone(), recurrence })
}

impl CommandReplies {
    /// Says what came of a command about plans.
    pub(super) async fn plan_text(
        &self,
        request: &CommandRequest,
        command: PlanCommand,
        language: Language,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        let plans = plans_here(request, &*self.archive).await?;
        let numbered = |number: i64| plans.iter().find(|plan| plan.number == number);
        Ok(match command {
            PlanCommand::Make => {
                let made = plans.iter().find(|plan| {
                    plan.asker == request.user
                        && plan.message == request.message
                        && plan.made.as_millisecond() == request.at.as_millisecond()
                });
                match made {
                    Some(plan) => self.describe(plan, language, now),
                    None => {
                        let workspace = &request.conversation.workspace;
                        let zone =
                            zone_of(&*self.archive, workspace, &request.user, &self.zone).await?;
                        self.not_made(request, &zone, language, now)
                    }
                }
            }
            PlanCommand::Cancel(number) => match numbered(number) {
                Some(_) => texts::no_such_plan(language, number),
                None => texts::cancelled(language, number),
            },
            PlanCommand::Move(number) => match numbered(number) {
                Some(plan) if may_change(plan, request) => self.describe(plan, language, now),
                Some(_) | None => texts::no_such_plan(language, number),
            },
            PlanCommand::List if plans.is_empty() => texts::none(language).to_owned(),
            PlanCommand::List => {
                let lines = plans.iter().take(MAX_LISTED).map(|plan| {
                    let due = say(&plan.due_in_zone(), language, now);
                    texts::list_line(language, plan.number, &due, &texts::listed(language, plan))
                });
                let title = texts::list_title(language).to_owned();
                std::iter::once(title).chain(lines).collect::<Vec<_>>().join("\n")
            }
        })
    }

    /// Says a plan back, with its day, time and zone, and how to cancel it.
    fn describe(&self, plan: &Plan, language: Language, now: Timestamp) -> String {
        let (number, name, due) = (plan.number, &*self.persona.name, due(plan, language, now));
        let undo = texts::undo_command(language, number);
        let whom = match &plan.whom {
            Whom::Named(whom) => to_single_line(whom),
            Whom::Asker | Whom::Channel => texts::everybody(language).to_owned(),
        };
        match (plan.kind, &plan.whom) {
            (PlanKind::Post, _) => texts::will_post(language, number, &due, name, &undo),
            (PlanKind::CatchUp, _) => texts::will_catch_up(language, number, &due, name, &undo),
            // Nobody asks for the last two.
            (
                PlanKind::CheckBack
                | PlanKind::Promise
                | PlanKind::Unanswered
                | PlanKind::FirstWord,
                _,
            ) => texts::will_check_back(language, number, &due, name, &undo),
            (PlanKind::FollowUp, _) => {
                texts::will_follow_up(language, number, &whom, &due, name, &undo)
            }
            (PlanKind::Reminder, Whom::Asker) => {
                texts::will_remind(language, number, name, &due, &undo)
            }
            (PlanKind::Reminder, Whom::Channel | Whom::Named(_)) => {
                texts::will_remind_other(language, number, &whom, &due, name, &undo)
            }
        }
    }

    /// Says why nothing was planned, and asks for what is missing.
    fn not_made(
        &self,
        request: &CommandRequest,
        zone: &TimeZone,
        language: Language,
        now: Timestamp,
    ) -> String {
        match asked(request, zone, &self.persona.name) {
            Asked::NoTime(When::Past(at)) => texts::is_past(language, &say(&at, language, now)),
            Asked::NoTime(When::Unclear(Unclear::DayOrMonth)) => {
                texts::which_day_or_month(language).to_owned()
            }
            Asked::NoTime(When::Unclear(Unclear::Several)) => {
                texts::which_time(language).to_owned()
            }
            Asked::NoTime(When::Unclear(Unclear::TooOften)) => {
                texts::too_often(language).to_owned()
            }
            Asked::NoTime(When::Unclear(Unclear::Impossible)) => {
                texts::no_such_time(language).to_owned()
            }
            Asked::NoTime(_) | Asked::Nothing => texts::when_exactly(language).to_owned(),
            Asked::Plan(plan) if plan.due <= now => {
                texts::is_past(language, &say(&plan.due_in_zone(), language, now))
            }
            Asked::Plan(_) => texts::could_not_make(language).to_owned(),
        }
    }
}

/// When a plan is due in a sentence, with how it recurs.
fn due(plan: &Plan, language: Language, now: Timestamp) -> String {
    let next = say(&plan.due_in_zone(), language, now);
    match &plan.recurrence {
        Some(recurrence) => {
            texts::recurring(language, &times::recurring(language, recurrence), &next)
        }
        None => texts::once(language, &next),
    }
}

/// A moment on the clock of its zone, with the year if it is not the current one there.
fn say(at: &Zoned, language: Language, now: Timestamp) -> String {
    times::moment(language, at, &now.to_zoned(at.time_zone().clone()))
}
