//! The backfill of many channels, some of which cannot be read, and of many deletions, on a virtual clock.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aizuchi_agent::inbox::Inbox;
use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::harness::build_parts;
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_model::chat::{Arrival, ChannelId, Heard, Message, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_platform::backfill_queue::{BackfillQueue, BackfillTarget};
use aizuchi_platform::backfill_run::{run_backfill, run_deletion_checks, run_prioritized_backfill};
use aizuchi_platform::channel_history::{BackfillParts, ChannelHistory};
use aizuchi_platform::connection_tracker::ConnectionTracker;
use aizuchi_platform::deletion_check::DeletionCheck;
use aizuchi_platform::incidents::Incidents;
use aizuchi_platform::missed_deletions::{Suspects, check_suspects};
use aizuchi_store::query::{MessageQuery, MessageRange};
use async_trait::async_trait;
use futures_util::future::{join_all, join3};
use jiff::{SignedDuration, Timestamp};

/// The duration of a call to a channel that hangs.
const CALL_TIMEOUT: SignedDuration = SignedDuration::from_secs(12);

/// The timeout of a script that waits for something. It normally takes seconds.
const MAX_SCRIPT_TIME: Duration = Duration::from_secs(300);

/// Why a channel cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breakage {
    Fails,
    Hangs,
    Panics,
}

/// The history of a platform whose channels can be broken.
struct FakeHistory {
    store: TestStore,
    inbox: Arc<Inbox>,
    clock: Clock,
    queue: BackfillQueue,
    connection: ConnectionTracker,
    incidents: Incidents,
    channels: Vec<ChannelId>,
    broken: Mutex<BTreeMap<ChannelId, Breakage>>,
    /// The channels and targets that were read or tried, in order.
    tried: Mutex<Vec<String>>,
    read: Mutex<Vec<String>>,
    /// The messages that the platform has deleted.
    deleted: Mutex<HashSet<MessageId>>,
    looked_up: Mutex<Vec<MessageId>>,
    /// The number of lookups that still succeed.
    lookups_left: AtomicUsize,
}

impl FakeHistory {
    fn new(store: TestStore, channels: usize) -> Self {
        let clock = Clock::manual(at(0));
        let (mind, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        let (inbox, _) = build_parts(store.store.clone(), clock.clone(), mind, platform);
        Self {
            store,
            inbox,
            connection: ConnectionTracker::always_connected(clock.now()),
            incidents: Incidents::new("fake", Arc::default(), clock.clone()),
            clock,
            queue: BackfillQueue::default(),
            channels: (0..channels).map(|number| ChannelId::new(format!("c{number:02}"))).collect(),
            broken: Mutex::default(),
            tried: Mutex::default(),
            read: Mutex::default(),
            deleted: Mutex::default(),
            looked_up: Mutex::default(),
            lookups_left: AtomicUsize::new(usize::MAX),
        }
    }

    fn broken(channels: impl IntoIterator<Item = (usize, Breakage)>) -> Self {
        let history = Self::new(TestStore::volatile(), 20);
        let broken = channels.into_iter();
        let broken = broken.map(|(number, how)| (history.channels[number].clone(), how)).collect();
        *history.broken.lock().unwrap() = broken;
        history
    }

    async fn read(&self, channel: &ChannelId, name: String) -> anyhow::Result<()> {
        self.tried.lock().unwrap().push(name.clone());
        let breakage = self.broken.lock().unwrap().get(channel).copied();
        match breakage {
            None => {}
            Some(Breakage::Fails) => anyhow::bail!("it answers 500"),
            Some(Breakage::Panics) => panic!("a defect"),
            Some(Breakage::Hangs) => {
                self.clock.sleep_until(self.clock.now() + CALL_TIMEOUT).await;
                anyhow::bail!("no answer in time");
            }
        }
        self.read.lock().unwrap().push(name);
        Ok(())
    }

    fn behind(&self) -> Vec<ChannelId> {
        self.queue.behind(&self.channels, self.connection.state().connected_since)
    }

    fn tries(&self, name: &str) -> usize {
        self.tried.lock().unwrap().iter().filter(|tried| *tried == name).count()
    }

    /// Runs the backfill until the script ends.
    async fn run_during(&self, script: impl Future<Output = ()>) {
        let hour = SignedDuration::from_hours(1);
        tokio::select! {
            _ = join3(
                run_backfill(self, hour),
                run_prioritized_backfill(self),
                run_deletion_checks(self),
            ) => {}
            () = script => {}
            () = tokio::time::sleep(MAX_SCRIPT_TIME) => panic!("nothing goes on"),
        }
    }

    async fn until(&self, condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    /// Whether no deletion check is left for after a restart.
    async fn is_checked(&self) -> bool {
        let cursors = self.store.cursors.cursors(&workspace()).await.unwrap();
        cursors.iter().all(|cursor| cursor.value.is_empty())
    }

    /// The ids of a channel's stored messages that are not deleted.
    async fn kept(&self, channel: &str) -> BTreeSet<MessageId> {
        let query = MessageQuery {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: 10_000,
        };
        let stored = self.store.archive.messages(query).await.unwrap();
        let kept = stored.into_iter().filter(|stored| !stored.is_deleted);
        kept.map(|stored| stored.message.id.clone()).collect()
    }
}

#[async_trait]
impl ChannelHistory for FakeHistory {
    fn parts(&self) -> BackfillParts<'_> {
        BackfillParts {
            platform: "Fake",
            queue: &self.queue,
            connection: &self.connection,
            inbox: &self.inbox,
            archive: &*self.store.archive,
            cursors: &*self.store.cursors,
            incidents: &self.incidents,
        }
    }

    fn max_concurrent(&self) -> usize {
        4
    }

    fn enqueue_channels(&self) {
        self.channels.iter().for_each(|channel| self.queue.enqueue(channel));
    }

    async fn read_channel(&self, channel: &ChannelId, since: Timestamp) -> anyhow::Result<usize> {
        self.read(channel, channel.to_string()).await?;
        self.queue.mark_channel_complete(channel, since);
        Ok(0)
    }

    async fn read_target(&self, target: &BackfillTarget, _since: Timestamp) -> anyhow::Result<()> {
        self.read(&target.0, format!("{} first", target.0)).await
    }

    async fn find_deleted(&self, messages: &[Arc<Message>]) -> anyhow::Result<Vec<Arc<Message>>> {
        let left = self.lookups_left.fetch_sub(1, Ordering::SeqCst);
        anyhow::ensure!(left > 0, "the platform is down");
        self.looked_up.lock().unwrap().extend(messages.iter().map(|message| message.id.clone()));
        let deleted = self.deleted.lock().unwrap();
        Ok(messages.iter().filter(|message| deleted.contains(&message.id)).cloned().collect())
    }

    async fn advance_cursors(&self, _since: Timestamp) {}
}

/// The clock stands still until all but the broken channels are read: they delay no other channel.
#[tokio::test]
async fn a_channel_that_cannot_be_read_keeps_no_other_waiting() {
    for breakage in [Breakage::Fails, Breakage::Hangs, Breakage::Panics] {
        let history = FakeHistory::broken([0, 7, 19].map(|number| (number, breakage)));
        let broken: Vec<ChannelId> = history.broken.lock().unwrap().keys().cloned().collect();
        history
            .run_during(async {
                history.until(|| history.behind() == broken).await;
                // A conversation that a step waits for is read although other such conversations hang.
                for channel in ["c00", "c07", "c19", "c20"] {
                    history.queue.prioritize((ChannelId::new(channel), None));
                }
                history.until(|| history.read.lock().unwrap().contains(&"c20 first".into())).await;
                history.clock.advance_to(at(12));
                history.until(|| history.queue.failing().len() == 3).await;
                assert!(history.queue.failing().into_keys().eq(broken.iter().cloned()));
                history.broken.lock().unwrap().clear();
                history.clock.advance_to(at(17));
                history.until(|| history.behind().is_empty()).await;
                assert!(history.queue.failing().is_empty());
            })
            .await;
        assert_eq!(history.tries("c00"), 2, "{breakage:?}");
    }
}

/// As many channels hang as are read concurrently: their calls time out, and the other channels are read.
#[tokio::test]
async fn channels_that_hang_are_read_behind_the_others() {
    let history = FakeHistory::broken((0..4).map(|number| (number, Breakage::Hangs)));
    history
        .run_during(async {
            history.until(|| history.tried.lock().unwrap().len() == 4).await;
            history.clock.advance_to(at(12));
            history.until(|| history.behind().len() == 4).await;
        })
        .await;
    assert_eq!(history.read.lock().unwrap().len(), 16);
}

/// A channel that stays broken is retried often at first, and then every five minutes.
#[tokio::test]
async fn a_broken_channel_is_not_tried_without_end() {
    let history = FakeHistory::broken([(3, Breakage::Fails)]);
    history
        .run_during(async {
            for second in 0..3_600 {
                history.clock.advance_to(at(second));
                // Each step that waits for it asks every second.
                history.queue.prioritize((ChannelId::new("c03"), None));
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            }
        })
        .await;
    let tries = (history.tries("c03"), history.tries("c03 first"));
    assert_eq!(tries, (17, 17));
    assert_eq!(history.read.lock().unwrap().len(), 19);
}

/// A moderator has purged a channel. Each message is looked up in the background, and after a restart the check
/// resumes where it stopped.
#[tokio::test]
async fn any_number_of_missed_deletions_is_honored_across_restarts() {
    on_every_store(async |store| {
        let history = FakeHistory::new(store, 0);
        let (garden, conversation) = (ChannelId::new("garden"), top_level("garden"));
        let id = |number: i64| MessageId::new(format!("m{number:04}"));
        let time = |number: i64| at(-5_000) + SignedDuration::from_millis(number * 10);
        let heard = (0..620).map(|number| {
            let message =
                message(conversation.clone(), id(number).as_str(), time(number), "mio", "a line");
            history.inbox.hear(Heard::Message(message, Arrival::BackfilledAnswered))
        });
        join_all(heard).await.into_iter().for_each(|heard| assert!(heard.unwrap().is_new));
        let purged: HashSet<MessageId> = (20..610).map(id).collect();
        *history.deleted.lock().unwrap() = purged.clone();
        // The lookups of the first chunk succeed.
        history.lookups_left.store(1, Ordering::SeqCst);
        let suspects = Suspects::Unknown(DeletionCheck { from: time(0), until: time(700) });
        check_suspects(&history, &workspace(), &garden, suspects).await.unwrap();
        let progress = || history.queue.deletion_checks.progress(std::slice::from_ref(&garden));
        history
            .run_during(async {
                history.until(|| history.lookups_left.load(Ordering::SeqCst) > 1_000).await;
                history.until(|| progress()[0].1.deleted == 480).await;
            })
            .await;
        assert_eq!(history.kept("garden").await.len(), 140);

        let restarted = FakeHistory::new(history.store.clone(), 0);
        *restarted.deleted.lock().unwrap() = purged;
        let cursors = restarted.store.cursors.cursors(&workspace()).await.unwrap();
        restarted.queue.deletion_checks.load(&cursors);
        restarted
            .run_during(async {
                while !restarted.is_checked().await {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        let kept = (0..20).chain(610..620).map(id).collect();
        assert_eq!(restarted.kept("garden").await, kept);
        let repeated = restarted.looked_up.lock().unwrap().clone();
        let repeated = repeated.iter().filter(|it| history.looked_up.lock().unwrap().contains(it));
        assert_eq!(repeated.count(), 0, "what was looked up once is not looked up again");
        assert_eq!(restarted.queue.deletion_checks.rest(&garden), None);
    })
    .await;
}

/// The work of an earlier process is claimed only while it can be run.
#[tokio::test]
async fn no_deletion_check_is_lost_while_disconnected() {
    let connection = ConnectionTracker::default();
    let history = FakeHistory { connection, ..FakeHistory::new(TestStore::volatile(), 3) };
    let checks = &history.queue.deletion_checks;
    let span = DeletionCheck { from: at(0), until: at(9) };
    let to_cursor =
        |channel| DeletionCheck::to_cursor(Some(span), &top_level("c").workspace, channel);
    let cursors: Vec<_> = history.channels.iter().map(to_cursor).collect();
    checks.load(&cursors);
    tokio::select! {
        () = run_deletion_checks(&history) => {}
        () = async {
            for _ in 0..20 {
                checks.added.notify_one();
                tokio::task::yield_now().await;
            }
        } => {}
    }
    let claimed: Vec<_> = std::iter::from_fn(|| checks.claim_next(at(0))).collect();
    assert_eq!(claimed.len(), 3);
}
