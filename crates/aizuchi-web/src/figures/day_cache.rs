//! An in-memory cache of the figures of past days, so that a page does not count the same days repeatedly.
//!
//! A cached day equals what the database has, as long as nothing changes that it counts. Each message, reaction and
//! decision carries the revision of its last change, so days with anything newer are dropped before the cache is used.
//! Everything else that is counted is final [`SETTLING`] after midnight. If a proposal is decided later than that, its
//! welcome takes as long to be known as that of others; such a day is not cached before. A day that is not final is
//! counted at each reading, but if much was said on it, only after [`RECOUNT`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::figures::{ANSWER_WINDOW, Day, WorkspacePeriod};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync;

use crate::figures::SPANS;
use crate::figures::calendar::{Calendar, spans};
use crate::figures::tally::Figures;

/// After this time, the figures of a day are final. Whether a question was answered takes an hour to know; a model
/// call belongs to the time at which it began, and is stored when it has ended, or once a stopped program runs again.
const SETTLING: SignedDuration = SignedDuration::from_hours(24);
/// From so many heard messages on, counting a day takes longer than a page should.
const BUSY: u64 = 5_000;
/// How old the figures of a busy day may be that is not final.
const RECOUNT: SignedDuration = SignedDuration::from_secs(30);
/// The maximum number of workspaces with cached days.
const MOST_WORKSPACES: usize = 16;

/// The cached days of the most recently read workspaces, the last one at the end.
pub struct DayCache {
    workspaces: Mutex<Vec<(WorkspaceId, SharedDays)>>,
    /// From so many heard messages on, a day is busy.
    busy: u64,
    /// The week of each workspace, and the day before which it was counted.
    weeks: Mutex<HashMap<WorkspaceId, (Day, Vec<Figures>)>>,
}

impl Default for DayCache {
    fn default() -> Self {
        Self { workspaces: Mutex::default(), busy: BUSY, weeks: Mutex::default() }
    }
}

/// A reader of a workspace's days holds this lock until they are counted, so that other readers do not count the same
/// days.
type SharedDays = Arc<sync::Mutex<WorkspaceDays>>;

#[derive(Default)]
struct WorkspaceDays {
    /// The revision up to which the days include everything.
    revision: u64,
    days: Days,
    /// Other days, for which only the choices are counted.
    choices: Days,
    /// Busy days that are not final, and when they were counted.
    busy: BTreeMap<Day, (Timestamp, Arc<Figures>)>,
}

type Days = BTreeMap<Day, Arc<Figures>>;

/// How much of a day is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Everything,
    /// What the persona chose unasked, and how welcome that was.
    Choices,
}

/// What is needed to read days.
pub struct DayReader<'a> {
    pub archive: &'a dyn Archive,
    pub calendar: Calendar<'a>,
    pub now: Timestamp,
    /// The newest committed revision, read before anything else. Changes in the meantime are newer.
    pub revision: u64,
}

impl DayCache {
    /// Returns the figures of these days, in their order.
    pub async fn read(
        &self,
        reader: &DayReader<'_>,
        workspace: &WorkspaceId,
        wanted: &[Day],
    ) -> Result<Vec<(Day, Arc<Figures>)>, StoreError> {
        self.read_extent(reader, workspace, wanted, Extent::Everything).await
    }

    /// Does the same for days that are not shown. Only their choices are counted, unless all of their figures are
    /// cached.
    pub async fn read_choices(
        &self,
        reader: &DayReader<'_>,
        workspace: &WorkspaceId,
        wanted: &[Day],
    ) -> Result<Vec<(Day, Arc<Figures>)>, StoreError> {
        self.read_extent(reader, workspace, wanted, Extent::Choices).await
    }

    async fn read_extent(
        &self,
        reader: &DayReader<'_>,
        workspace: &WorkspaceId,
        wanted: &[Day],
        extent: Extent,
    ) -> Result<Vec<(Day, Arc<Figures>)>, StoreError> {
        let shared = self.shared(workspace);
        let mut kept = shared.lock().await;
        for day in reader.changed(workspace, &kept).await? {
            kept.days.remove(&day);
            kept.choices.remove(&day);
        }
        kept.busy.retain(|_, (counted, _)| reader.now.duration_since(*counted).abs() < RECOUNT);
        let missing = wanted.iter().copied().filter(|day| kept.find(*day, extent).is_none());
        let missing: BTreeSet<Day> = missing.collect();
        let (found, unsettled) = reader.count_days(workspace, &missing, extent).await?;
        let is_final = |day: &Day| reader.is_final(*day) && !unsettled.contains(day);
        let over = found.iter().filter(|(day, _)| is_final(day));
        kept.add(extent, over.map(|(day, figures)| (*day, figures.clone())));
        let busy =
            found.iter().filter(|(day, figures)| figures.all.heard >= self.busy && !is_final(day));
        kept.busy.extend(busy.map(|(day, figures)| (*day, (reader.now, figures.clone()))));
        kept.drop_before(reader.calendar.day_of(reader.now).0 - SPANS[SPANS.len() - 1]);
        // The revision from before the read: what has changed during it must be found the next time.
        kept.revision = reader.revision;
        let figures = |day: &Day| kept.find(*day, extent).or_else(|| found.get(day)).cloned();
        Ok(wanted.iter().filter_map(|day| Some((*day, figures(day)?))).collect())
    }

    /// Returns how the decisions of each of the seven days before today ended, and what their calls cost. They are
    /// counted once a day, because the home page shows them.
    pub async fn week(
        &self,
        reader: &DayReader<'_>,
        workspace: &WorkspaceId,
    ) -> Result<Vec<Figures>, StoreError> {
        let today = reader.calendar.day_of(reader.now);
        let known = self.weeks.lock().get(workspace).filter(|(day, _)| *day == today).cloned();
        if let Some((_, week)) = known {
            return Ok(week);
        }
        let (first, last) = (today.0 - 7, today.0 - 1);
        let mut days: BTreeMap<Day, Figures> =
            (first..=last).map(|day| (Day(day), Figures::default())).collect();
        for period in reader.calendar.periods(workspace, (Day(first), Day(last))) {
            for outcomes in reader.archive.outcomes_by_day(&period).await? {
                days.entry(outcomes.day).or_default().add_outcomes(outcomes);
            }
            for calls in reader.archive.calls_by_day(&period).await? {
                days.entry(calls.day).or_default().add_calls(&calls);
            }
        }
        let sums = |Figures { all, outcomes, .. }| Figures { all, outcomes, ..Figures::default() };
        let week: Vec<Figures> = days.into_values().map(sums).collect();
        self.weeks.lock().insert(workspace.clone(), (today, week.clone()));
        Ok(week)
    }

    fn shared(&self, workspace: &WorkspaceId) -> SharedDays {
        let mut all = self.workspaces.lock();
        let shared = match all.iter().position(|(known, _)| known == workspace) {
            Some(index) => all.remove(index).1,
            None => SharedDays::default(),
        };
        if all.len() == MOST_WORKSPACES {
            all.remove(0);
        }
        all.push((workspace.clone(), shared.clone()));
        shared
    }
}

impl WorkspaceDays {
    fn find(&self, day: Day, extent: Extent) -> Option<&Arc<Figures>> {
        let whole = self.days.get(&day).or_else(|| Some(&self.busy.get(&day)?.1));
        match extent {
            Extent::Everything => whole,
            Extent::Choices => whole.or_else(|| self.choices.get(&day)),
        }
    }

    fn add(&mut self, extent: Extent, days: impl Iterator<Item = (Day, Arc<Figures>)>) {
        match extent {
            Extent::Everything => self.days.extend(days),
            Extent::Choices => self.choices.extend(days),
        }
    }

    /// Drops days that are no longer requested, and the choices of days that are counted in full.
    fn drop_before(&mut self, oldest: i64) {
        let Self { days, choices, .. } = self;
        days.retain(|day, _| day.0 > oldest);
        choices.retain(|day, _| day.0 > oldest && !days.contains_key(day));
    }
}

impl DayReader<'_> {
    /// Returns the cached days on which something has changed.
    async fn changed(
        &self,
        workspace: &WorkspaceId,
        kept: &WorkspaceDays,
    ) -> Result<Vec<Day>, StoreError> {
        let days = || kept.days.keys().chain(kept.choices.keys());
        let Some((first, last)) = days().min().zip(days().max()) else { return Ok(Vec::new()) };
        let mut changed = Vec::new();
        for period in self.calendar.periods(workspace, (*first, *last)) {
            changed.extend(self.archive.changed_days(&period, kept.revision).await?);
        }
        Ok(changed)
    }

    /// Whether a day is over and its figures are final.
    fn is_final(&self, day: Day) -> bool {
        self.calendar.begin_of(Day(day.0 + 1)) <= self.now - SETTLING
    }

    /// Counts these days. Also returns the days with choices whose welcome is not known yet.
    async fn count_days(
        &self,
        workspace: &WorkspaceId,
        wanted: &BTreeSet<Day>,
        extent: Extent,
    ) -> Result<(Days, BTreeSet<Day>), StoreError> {
        let mut days: BTreeMap<Day, Figures> =
            wanted.iter().map(|day| (*day, Figures::default())).collect();
        let mut unsettled = BTreeSet::new();
        for span in spans(wanted) {
            for period in self.calendar.periods(workspace, span) {
                if extent == Extent::Everything {
                    count(self.archive, &period, self.now, &mut days).await?;
                }
                unsettled.extend(count_choices(self.archive, &period, self.now, &mut days).await?);
            }
        }
        let days = days.into_iter().map(|(day, figures)| (day, Arc::new(figures))).collect();
        Ok((days, unsettled))
    }
}

/// Adds the figures of a period, except the choices.
async fn count(
    archive: &dyn Archive,
    period: &WorkspacePeriod,
    now: Timestamp,
    days: &mut BTreeMap<Day, Figures>,
) -> Result<(), StoreError> {
    for messages in archive.messages_by_day(period).await? {
        days.entry(messages.day).or_default().add_messages(messages);
    }
    for outcomes in archive.outcomes_by_day(period).await? {
        days.entry(outcomes.day).or_default().add_outcomes(outcomes);
    }
    for calls in archive.calls_by_day(period).await? {
        days.entry(calls.day).or_default().add_calls(&calls);
    }
    for delay in archive.answer_delays(period).await? {
        days.entry(delay.day).or_default().add_delay(delay);
    }
    for reactions in archive.reactions_by_day(period).await? {
        days.entry(reactions.day).or_default().add_reactions(reactions);
    }
    // Newer questions may still be answered.
    let until = period.until.min(now - ANSWER_WINDOW);
    if period.since < until {
        let questions =
            archive.open_questions(&WorkspacePeriod { until, ..period.clone() }).await?;
        for of_day in questions.chunk_by(|one, other| one.day == other.day) {
            days.entry(of_day[0].day).or_default().add_questions(of_day);
        }
    }
    Ok(())
}

/// Adds the choices of a period whose welcome is known. Returns the days of the other choices.
async fn count_choices(
    archive: &dyn Archive,
    period: &WorkspacePeriod,
    now: Timestamp,
    days: &mut BTreeMap<Day, Figures>,
) -> Result<BTreeSet<Day>, StoreError> {
    let mut unsettled = BTreeSet::new();
    for choice in archive.aftermaths(period).await? {
        if choice.at <= now - ANSWER_WINDOW {
            days.entry(choice.day).or_default().choices.push(choice.rate());
        } else {
            unsettled.insert(choice.day);
        }
    }
    Ok(unsettled)
}

#[cfg(test)]
mod tests {
    use aizuchi_harness::fixtures::{JOIN, at, message, new_channel, top_level, until, workspace};
    use aizuchi_harness::harness::{Harness, HarnessOptions};
    use aizuchi_harness::test_store::{TestStore, on_every_database};
    use aizuchi_llm::prompt::PromptVerb;
    use aizuchi_model::chat::{Arrival, Heard, Visibility};
    use aizuchi_model::decision::proposal::ProposalChoice;
    use aizuchi_model::flow::Disposition;
    use aizuchi_model::rules::{ChannelRules, Mode};
    use aizuchi_store::InboxEntry;
    use aizuchi_store::order::Order;
    use aizuchi_store::query::ProposalQuery;
    use jiff::tz::TimeZone;

    use super::*;

    async fn hear(store: &TestStore, id: &str, second: i64) {
        let message = message(top_level("garden"), id, at(second), "alice", "so it is");
        let follows = Disposition::Judge(until(at(second + 60)));
        let entry = InboxEntry::new(Heard::Message(message, Arrival::Live), follows, at(second));
        store.store.hear(entry).await.unwrap();
    }

    #[tokio::test]
    async fn a_day_is_kept_until_something_of_it_changes() {
        const DAY: i64 = 24 * 3600;
        on_every_database(async |store| {
            let channel = Heard::Channel(new_channel("garden", Visibility::Public));
            let entry = InboxEntry::new(channel, Disposition::NotAMessage, at(0));
            store.store.hear(entry).await.unwrap();
            hear(&store, "1", 0).await;
            hear(&store, "2", DAY).await;
            let kept = DayCache::default();
            let calendar = Calendar { zone: &TimeZone::UTC };
            let days = calendar.last_days(at(3 * DAY), 4);
            let read = async || {
                let reader = DayReader {
                    archive: &*store.archive,
                    calendar,
                    now: at(3 * DAY),
                    revision: *store.store.revisions().borrow(),
                };
                kept.read(&reader, &workspace(), &days).await.unwrap()
            };
            let heard = |found: &[(Day, Arc<Figures>)]| {
                found.iter().map(|(_, figures)| figures.all.heard).collect::<Vec<_>>()
            };
            let (first, second) = tokio::join!(read(), read());
            assert_eq!((heard(&first), heard(&second)), (vec![1, 1, 0, 0], vec![1, 1, 0, 0]));
            let is_same =
                first.iter().zip(&second).map(|(one, other)| Arc::ptr_eq(&one.1, &other.1));
            assert_eq!(is_same.collect::<Vec<_>>(), [true, true, false, false], "a day settles");
            // The message was written two days ago, and is heard only now.
            hear(&store, "3", DAY + 5).await;
            let third = read().await;
            assert_eq!(heard(&third), [1, 2, 0, 0]);
            assert!(Arc::ptr_eq(&first[0].1, &third[0].1));
        })
        .await;
    }

    #[tokio::test]
    async fn a_busy_day_is_counted_again_after_a_while() {
        on_every_database(async |store| {
            let channel = Heard::Channel(new_channel("garden", Visibility::Public));
            let entry = InboxEntry::new(channel, Disposition::NotAMessage, at(0));
            store.store.hear(entry).await.unwrap();
            let (kept, calendar) =
                (DayCache { busy: 2, ..DayCache::default() }, Calendar { zone: &TimeZone::UTC });
            let heard = async |now: i64| {
                let reader = DayReader {
                    archive: &*store.archive,
                    calendar,
                    now: at(now),
                    revision: *store.store.revisions().borrow(),
                };
                let read = kept.read(&reader, &workspace(), &calendar.last_days(at(now), 1)).await;
                read.unwrap()[0].1.all.heard
            };
            hear(&store, "1", 0).await;
            assert_eq!(heard(10).await, 1);
            hear(&store, "2", 10).await;
            assert_eq!(heard(20).await, 2, "it was not busy before");
            hear(&store, "3", 20).await;
            assert_eq!([heard(49).await, heard(50).await], [2, 3]);
        })
        .await;
    }

    #[tokio::test]
    async fn of_days_that_are_not_shown_only_the_choices_are_counted() {
        const DAY: i64 = 24 * 3600;
        on_every_database(async |store| {
            let channel = Heard::Channel(new_channel("garden", Visibility::Public));
            let entry = InboxEntry::new(channel, Disposition::NotAMessage, at(0));
            store.store.hear(entry).await.unwrap();
            hear(&store, "1", 0).await;
            hear(&store, "2", DAY).await;
            let kept = DayCache::default();
            let calendar = Calendar { zone: &TimeZone::UTC };
            let days = calendar.last_days(at(3 * DAY), 4);
            let reader = DayReader {
                archive: &*store.archive,
                calendar,
                now: at(3 * DAY),
                revision: *store.store.revisions().borrow(),
            };
            let place = workspace();
            let heard = |found: &[(Day, Arc<Figures>)]| {
                found.iter().map(|(_, figures)| figures.all.heard).collect::<Vec<_>>()
            };
            let choices = kept.read_choices(&reader, &place, &days[..2]).await.unwrap();
            assert_eq!(heard(&choices), [0, 0]);
            let again = kept.read_choices(&reader, &place, &days[..2]).await.unwrap();
            assert!(Arc::ptr_eq(&choices[1].1, &again[1].1), "they are kept");
            // Days with choices alone do not count as full figures, but full figures include the choices.
            let whole = kept.read(&reader, &place, &days).await.unwrap();
            assert_eq!(heard(&whole), [1, 1, 0, 0]);
            let choices = kept.read_choices(&reader, &place, &days[..2]).await.unwrap();
            assert_eq!(heard(&choices), [1, 1]);
        })
        .await;
    }

    #[tokio::test]
    async fn kept_choices_are_counted_anew_when_something_of_their_day_changes() {
        const DAY: i64 = 24 * 3600;
        on_every_database(async |store| {
            let harness = Harness::new(store).await;
            harness.says("alice", "does anybody have a ladder?").await;
            harness.pass(7200).await;
            let (store, kept, place) = (&harness.store, DayCache::default(), workspace());
            let calendar = Calendar { zone: &TimeZone::UTC };
            let days = calendar.last_days(at(3 * DAY), 4);
            let read = async || {
                let reader = DayReader {
                    archive: &*store.archive,
                    calendar,
                    now: at(3 * DAY),
                    revision: *store.store.revisions().borrow(),
                };
                kept.read_choices(&reader, &place, &days[..1]).await.unwrap().remove(0).1
            };
            let (first, again) = (read().await, read().await);
            assert!(!first.choices.is_empty());
            assert!(Arc::ptr_eq(&first, &again), "they are kept");
            harness.says("bob", "is the gate open?").await;
            harness.pass(7200).await;
            let changed = read().await;
            assert!(changed.choices.len() > first.choices.len(), "{:?}", changed.choices);
        })
        .await;
    }

    /// With a long `response.proposal_seconds`, a proposal may be decided after its day has become final.
    #[tokio::test]
    async fn what_is_declined_late_is_counted_once_it_is_known() {
        const DAY: i64 = 24 * 3600;
        on_every_database(async |store| {
            let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
            let mut options = HarnessOptions::from_rules(rules);
            options.settings.proposal_lifetime = SignedDuration::from_hours(72);
            let harness = Harness::new(store).await.with_options(options);
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            harness.says("alice", "does anybody have a ladder?").await;
            harness.pass(2 * DAY).await;
            let (store, kept, place) = (&harness.store, DayCache::default(), workspace());
            let here = Some(place.clone());
            let query = ProposalQuery { workspace: here, decision: None, before: None, limit: 1 };
            let now = harness.clock.now();
            let id = store.archive.proposals(&query, now).await.unwrap().remove(0).id;
            let (workspace, by) = (place.clone(), "olga".into());
            let choice = ProposalChoice::NotNow;
            harness.order(Order::DecideProposal { workspace, id, choice, by }).await;
            let calendar = Calendar { zone: &TimeZone::UTC };
            let days = calendar.last_days(at(3 * DAY), 4);
            let counted = async || {
                let reader = DayReader {
                    archive: &*store.archive,
                    calendar,
                    now: harness.clock.now(),
                    revision: *store.store.revisions().borrow(),
                };
                let read = kept.read_choices(&reader, &place, &days[..1]).await.unwrap().remove(0);
                read.1.choices.len()
            };
            assert_eq!(counted().await, 0, "it is not known yet");
            harness.pass(3700).await;
            assert_eq!(counted().await, 1);
        })
        .await;
    }

    #[test]
    fn the_workspaces_that_were_read_last_are_kept() {
        let kept = DayCache::default();
        let name = |number: usize| WorkspaceId::new(format!("w{number}"));
        let (first, second) = (kept.shared(&name(0)), kept.shared(&name(1)));
        for number in 2..=MOST_WORKSPACES {
            assert!(Arc::ptr_eq(&first, &kept.shared(&name(0))), "{number}");
            kept.shared(&name(number));
        }
        assert_eq!(kept.workspaces.lock().len(), MOST_WORKSPACES);
        assert!(Arc::ptr_eq(&first, &kept.shared(&name(0))));
        assert!(!Arc::ptr_eq(&second, &kept.shared(&name(1))));
    }
}
