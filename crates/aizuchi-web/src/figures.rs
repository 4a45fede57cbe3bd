//! The figures of workspaces by calendar day: what it heard, how it decided, what that cost, and how soon it
//! answered.

pub mod calendar;
pub mod tally;
pub mod day_cache;
pub mod welcome;
pub mod answer;

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_store::StoreError;
use aizuchi_store::figures::Day;
use jiff::{SignedDuration, Timestamp};

use crate::figures::calendar::Calendar;
use crate::figures::day_cache::DayReader;
use crate::figures::tally::{Figures, median};
use crate::status::{Status, WorkspaceStatus};
use crate::{Web, workspaces};

/// The periods to choose from, in days.
pub const SPANS: [i64; 3] = [7, 30, 90];

/// The figures of the last days, including today.
#[derive(Default)]
pub struct PeriodFigures {
    /// All days, oldest first.
    pub days: Vec<(Day, Arc<Figures>)>,
    /// Their sums, without the choices.
    pub total: Figures,
    /// The channels in which anybody answered.
    pub delays: Vec<ChannelDelays>,
    pub marks: Vec<DecisionMark>,
    /// The days of the longest period, oldest first, because learning uses more days than are shown. For days before
    /// the shown ones, only the choices are counted, and there are none if nothing was chosen in the period.
    pub longest: Vec<(Day, Arc<Figures>)>,
}

/// The response times in a channel: the median of each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelDelays {
    pub channel: ChannelId,
    /// The persona's, when it was addressed.
    pub asked: Option<SignedDuration>,
    /// The persona's, when it was not addressed.
    pub unasked: Option<SignedDuration>,
}

impl PeriodFigures {
    pub async fn read(web: &Web, workspace: &WorkspaceId, days: i64) -> Result<Self, StoreError> {
        let reader = reader(web);
        let longest = reader.calendar.last_days(reader.now, SPANS[SPANS.len() - 1]);
        let shown = longest.len().saturating_sub(usize::try_from(days).unwrap_or_default());
        let (before, shown) = longest.split_at(shown);
        let days = web.day_cache.read(&reader, workspace, shown).await?;
        let since = days.first().map_or(Timestamp::MIN, |(day, _)| reader.calendar.begin_of(*day));
        let mut total = Figures::default();
        for (_, figures) in &days {
            total.add(figures);
        }
        let longest = match days.iter().all(|(_, figures)| figures.choices.is_empty()) {
            true => Vec::new(),
            false => {
                let before = web.day_cache.read_choices(&reader, workspace, before).await?;
                before.into_iter().chain(days.iter().cloned()).collect()
            }
        };
        let delays = delays(&total);
        let marks = web.archive.marks_since(workspace, since).await?;
        Ok(Self { days, total, delays, marks, longest })
    }

    /// Adds up the days and the marks of workspaces in the same period, but not what is told by channel.
    pub fn sum<'a>(workspaces: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for Self { days, total, marks, .. } in workspaces {
            for (day, figures) in days {
                let found = sum.days.binary_search_by_key(day, |(known, _)| *known);
                let index = found.unwrap_or_else(|index| {
                    sum.days.insert(index, (*day, Arc::default()));
                    index
                });
                Arc::make_mut(&mut sum.days[index].1).add_sums(figures);
            }
            sum.total.add_sums(total);
            sum.marks.extend(marks.iter().cloned());
        }
        sum
    }
}

fn reader(web: &Web) -> DayReader<'_> {
    DayReader {
        archive: &*web.archive,
        calendar: Calendar { zone: &web.zone },
        now: web.clock.now(),
        revision: *web.revisions.borrow(),
    }
}

/// Counts the week before each day as soon as it begins, so that nobody waits for it.
pub async fn count_weeks(web: Arc<Web>) {
    loop {
        let today = reader(&web).calendar.day_of(web.clock.now());
        if let Err(error) = count_week(&web).await {
            tracing::warn!(%error, "cannot count the last week");
        }
        let midnight = reader(&web).calendar.begin_of(Day(today.0 + 1));
        web.clock.sleep_until(midnight).await;
    }
}

async fn count_week(web: &Web) -> Result<(), StoreError> {
    for workspace in workspaces::all(web).await? {
        web.day_cache.week(&reader(web), &workspace).await?;
    }
    Ok(())
}

/// The seven days before today, in all workspaces; empty for a visitor limited to places.
pub async fn week(web: &Web, status: &Status) -> Result<Vec<Figures>, StoreError> {
    let mut week: Vec<Figures> = Vec::new();
    for WorkspaceStatus { workspace, .. } in &status.workspaces {
        // What is counted for a visitor limited to places is not kept, and a week takes long.
        if web.scope == AccessScope::Everything {
            let days = web.day_cache.week(&reader(web), workspace).await?;
            week.resize(days.len(), Figures::default());
            week.iter_mut().zip(&days).for_each(|(sum, day)| sum.add_sums(day));
        }
    }
    Ok(week)
}

fn delays(total: &Figures) -> Vec<ChannelDelays> {
    let channels: BTreeSet<&ChannelId> = total.delays.keys().map(|(channel, _)| channel).collect();
    let of_channel = |channel: &ChannelId| {
        let own = |is_addressed: bool| {
            median(total.delays.get(&(channel.clone(), is_addressed)).cloned()?)
        };
        ChannelDelays { channel: channel.clone(), asked: own(true), unasked: own(false) }
    };
    channels.into_iter().map(of_channel).collect()
}

#[cfg(test)]
mod tests {
    use aizuchi_store::figures::AnswerDelay;

    use super::*;

    #[test]
    fn delays_are_told_where_somebody_answered() {
        let tea = ChannelId::new("tea");
        let mut total = Figures::default();
        for (is_addressed, seconds) in [(true, 9), (true, 3), (true, 5), (false, 60)] {
            let (channel, delay) = (tea.clone(), SignedDuration::from_secs(seconds));
            total.add_delay(AnswerDelay { day: Day(1), channel, is_addressed, delay });
        }
        let expected = ChannelDelays {
            channel: tea,
            asked: Some(SignedDuration::from_secs(5)),
            unasked: Some(SignedDuration::from_secs(60)),
        };
        assert_eq!(delays(&total), [expected]);
    }
}
