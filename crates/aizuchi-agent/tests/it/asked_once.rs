//! A keeper is asked exactly once about a proposal, and the question ends settled: wherever the process dies,
//! whatever the platform answers, and whatever happens to the proposal. On every store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{JOIN, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Cursor, Heard, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_platform::keeper::{
    Click, ClickAnswer, KeeperChat, KeeperLengths, KeeperQuestion, Keepers, QuestionPlace,
    QuestionRecords,
};
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::{Cursors, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

const SETTLES_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// The points at which the process may die.
#[derive(Default)]
struct Points {
    /// The point at which it dies, counted from 1; 0 for none.
    dies_at: AtomicUsize,
    passed: AtomicUsize,
    died: Notify,
}

impl Points {
    async fn pass(&self) {
        let point = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        if point == self.dies_at.load(Ordering::SeqCst) {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }

    fn begin(&self, dies_at: usize) {
        self.dies_at.store(dies_at, Ordering::SeqCst);
        self.passed.store(0, Ordering::SeqCst);
    }
}

/// A question in the private chat.
struct Asked {
    subject: QuestionSubject,
    /// The outcome, once it is settled.
    settled: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChatFault {
    /// The question does not arrive, and the sender learns that.
    Busy,
    /// The question does not arrive, and the sender does not learn that.
    Lost,
    /// The question arrives, and the sender does not learn that.
    LostAnswer,
    Refused,
}

/// The keeper's private chat.
#[derive(Default)]
struct TestChat {
    asked: Mutex<Vec<Asked>>,
    /// The faults that the next questions meet.
    faults: Mutex<Vec<ChatFault>>,
    /// How long a busy platform asks to be left alone.
    retry_after: Mutex<Option<SignedDuration>>,
    points: Arc<Points>,
}

impl TestChat {
    /// The outcome of each question about a subject.
    fn about(&self, subject: QuestionSubject) -> Vec<Option<String>> {
        let asked = self.asked.lock().unwrap();
        let about = asked.iter().filter(|asked| asked.subject == subject);
        about.map(|asked| asked.settled.clone()).collect()
    }
}

fn place(index: usize) -> QuestionPlace {
    QuestionPlace { channel: ChannelId::new("d1"), message: MessageId::new(index.to_string()) }
}

#[async_trait]
impl KeeperChat for TestChat {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        vec![workspace()]
    }

    async fn ask(
        &self,
        _keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError> {
        self.points.pass().await;
        let fault = self.faults.lock().unwrap().pop();
        let why = || "it is a test".to_owned();
        match fault {
            Some(ChatFault::Busy) => {
                let retry_after = *self.retry_after.lock().unwrap();
                return Err(PlatformError::Busy { why: why(), retry_after });
            }
            Some(ChatFault::Lost) => return Err(PlatformError::OutcomeUnknown(why())),
            Some(ChatFault::Refused) => return Err(PlatformError::Refused(why())),
            Some(ChatFault::LostAnswer) | None => {}
        }
        let index = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(Asked { subject: question.subject, settled: None });
            asked.len() - 1
        };
        self.points.pass().await;
        match fault {
            Some(ChatFault::LostAnswer) => Err(PlatformError::OutcomeUnknown(why())),
            Some(ChatFault::Busy | ChatFault::Lost | ChatFault::Refused) | None => Ok(place(index)),
        }
    }

    async fn find_question(
        &self,
        keeper: &UserId,
        asked_in: &WorkspaceId,
        subject: QuestionSubject,
        _: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError> {
        self.points.pass().await;
        assert_eq!((keeper, asked_in), (&UserId::new("ren"), &workspace()));
        let found = {
            let asked = self.asked.lock().unwrap();
            asked.iter().position(|asked| asked.subject == subject && asked.settled.is_none())
        };
        self.points.pass().await;
        Ok(found.map(place))
    }

    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError> {
        self.points.pass().await;
        let index: usize = place.message.as_str().parse().unwrap();
        self.asked.lock().unwrap()[index].settled = Some(text.to_owned());
        self.points.pass().await;
        Ok(())
    }

    fn delivery_timeout(&self) -> SignedDuration {
        SETTLES_AFTER
    }
}

/// The store's cursors. The process may die before and after each call.
struct MortalCursors {
    inner: Arc<dyn Cursors>,
    points: Arc<Points>,
}

#[async_trait]
impl Cursors for MortalCursors {
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError> {
        self.inner.cursors(workspace).await
    }

    async fn put_cursor(&self, cursor: Cursor) -> Result<(), StoreError> {
        self.points.pass().await;
        self.inner.put_cursor(cursor).await?;
        self.points.pass().await;
        Ok(())
    }
}

/// What ren, the keeper of all public channels, is asked.
struct Story {
    harness: Harness,
    keepers: Keepers,
    chat: TestChat,
    rooms: AtomicUsize,
}

impl Story {
    async fn new(store: TestStore) -> Self {
        let default_rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
        let keeper = Some(UserId::new("ren"));
        let book = Rulebook { default_rules, keeper, ..Rulebook::default() };
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let chat = TestChat::default();
        let cursors = harness.store.cursors.clone();
        let keepers = Keepers {
            inbox: harness.inbox.clone(),
            archive: harness.store.archive.clone(),
            cursors: Arc::new(MortalCursors { inner: cursors, points: chat.points.clone() }),
            language: Language::En,
            lengths: KeeperLengths { form: 3_000, post: 3_000 },
        };
        Self { harness, keepers, chat, rooms: AtomicUsize::new(0) }
    }

    /// Makes a proposal in a new channel. Returns the subject of the question for the keeper.
    async fn proposes(&self) -> QuestionSubject {
        let room = format!("room{}", self.rooms.fetch_add(1, Ordering::SeqCst));
        let known = Heard::Channel(new_channel(&room, Visibility::Public));
        self.harness.inbox.hear(known).await.unwrap();
        self.harness.says_in(top_level(&room), "alice", "when do I cut the roses?").await;
        self.harness.pass(400).await;
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let now = self.harness.clock.now();
        let newest = self.harness.store.archive.proposals(&query, now).await.unwrap().remove(0);
        QuestionSubject::Proposal(newest.id)
    }

    /// Looks as after a start. The process may die during that.
    async fn look(&self) -> bool {
        let mut records = QuestionRecords::default();
        tokio::select! {
            biased;
            () = self.chat.points.died.notified() => true,
            is_done = self.keepers.look(&self.chat, &mut records) => {
                assert!(is_done);
                false
            }
        }
    }

    /// Looks twice, and once more when it is known what has arrived.
    async fn recover(&self) -> bool {
        let mut has_died = false;
        for _ in 0..2 {
            has_died |= self.look().await;
            has_died |= self.look().await;
            self.harness.pass(SETTLES_AFTER.as_secs() + 1).await;
        }
        has_died | self.look().await
    }

    async fn click(&self, subject: QuestionSubject, button: Choice) {
        let click = Click { workspace: workspace(), subject, user: UserId::new("ren"), button };
        assert_eq!(self.keepers.answer(click).await, ClickAnswer::Settles);
    }
}

/// The endings of a proposal, and what its question then says.
const ENDINGS: [(Option<Choice>, &str); 4] = [
    (Some(Choice::Say), "approved."),
    (Some(Choice::NotNow), "not now."),
    (Some(Choice::Never), "never like this."),
    (None, "lapsed."),
];

#[tokio::test]
async fn a_keeper_is_asked_once_wherever_the_process_dies() {
    for (button, words) in ENDINGS {
        on_every_database(async |store| {
            let story = Story::new(store).await;
            let mut points = 0;
            for point in 1.. {
                let subject = story.proposes().await;
                story.chat.points.begin(point);
                let mut has_died = story.recover().await;
                assert_eq!(story.chat.about(subject), [None], "{button:?}, point {point}");
                match button {
                    Some(button) => story.click(subject, button).await,
                    None => story.harness.pass(4_000).await,
                }
                has_died |= story.recover().await;
                let about = story.chat.about(subject);
                let text = about.first().cloned().flatten().unwrap_or_default();
                assert!(
                    about.len() == 1 && text.ends_with(words),
                    "{button:?}, point {point}: {about:?}"
                );
                story.harness.pass(8_000).await;
                has_died |= story.recover().await;
                assert_eq!(story.chat.about(subject).len(), 1);
                let posted = if button == Some(Choice::Say) { point } else { 0 };
                assert_eq!(story.harness.platform.posted_texts().len(), posted);
                if !has_died {
                    break;
                }
                points = point;
            }
            assert!(points >= 10, "asking and settling, and the record of both: {points}");
        })
        .await;
    }
}

/// A question is decided elsewhere before its state is known.
#[tokio::test]
async fn a_question_of_which_nobody_knew_is_found_and_settled() {
    for fault in [ChatFault::LostAnswer, ChatFault::Lost] {
        on_every_database(async |store| {
            let story = Story::new(store).await;
            let mut points = 0;
            for point in 1.. {
                let subject = story.proposes().await;
                story.chat.points.begin(0);
                story.chat.faults.lock().unwrap().push(fault);
                story.look().await;
                story.click(subject, Choice::NotNow).await;
                story.look().await;
                story.chat.points.begin(point);
                let has_died = story.recover().await;
                let about = story.chat.about(subject);
                match fault {
                    ChatFault::LostAnswer => {
                        let text = about.first().cloned().flatten().unwrap_or_default();
                        assert!(
                            about.len() == 1 && text.ends_with("not now."),
                            "{point}: {about:?}"
                        );
                    }
                    ChatFault::Busy | ChatFault::Lost | ChatFault::Refused => {
                        assert!(about.is_empty(), "nobody is asked what is decided");
                    }
                }
                story.harness.pass(4_000).await;
                if !has_died {
                    break;
                }
                points = point;
            }
            assert!(points >= 4, "the search, and the record: {points}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_keeper_is_asked_once_whatever_the_platform_says() {
    for fault in [ChatFault::Busy, ChatFault::Lost, ChatFault::LostAnswer, ChatFault::Refused] {
        on_every_database(async |store| {
            let story = Story::new(store).await;
            let subject = story.proposes().await;
            story.chat.faults.lock().unwrap().push(fault);
            story.recover().await;
            let expected = if fault == ChatFault::Refused { 0 } else { 1 };
            assert_eq!(story.chat.about(subject).len(), expected, "{fault:?}");
            // The next proposal is asked about as usual.
            let next = story.proposes().await;
            story.recover().await;
            assert_eq!(story.chat.about(next), [None], "{fault:?}");
            for subject in [subject, next] {
                story.click(subject, Choice::NotNow).await;
            }
            story.recover().await;
            let settled = |subject| story.chat.about(subject).iter().all(Option::is_some);
            assert!(settled(subject) && settled(next), "{fault:?}");
        })
        .await;
    }
}

/// No question is repeated until it is known that the first one did not arrive.
#[tokio::test]
async fn a_question_that_may_still_arrive_is_waited_for() {
    on_every_database(async |store| {
        let story = Story::new(store).await;
        let subject = story.proposes().await;
        story.chat.faults.lock().unwrap().push(ChatFault::Lost);
        for _ in 0..3 {
            story.look().await;
            assert!(story.chat.about(subject).is_empty(), "it may be under way");
            story.harness.pass(15).await;
        }
        story.harness.pass(SETTLES_AFTER.as_secs()).await;
        story.look().await;
        assert_eq!(story.chat.about(subject), [None]);
    })
    .await;
}

/// However many questions wait, a platform that accepts none at the moment is not tried for each of them.
#[tokio::test]
async fn a_busy_platform_is_tried_once_at_each_look() {
    on_every_database(async |store| {
        let story = Story::new(store).await;
        story.chat.faults.lock().unwrap().extend([ChatFault::Busy; 10]);
        let mut subjects = Vec::new();
        for looks in 1..=3 {
            subjects.push(story.proposes().await);
            story.look().await;
            assert_eq!(story.chat.faults.lock().unwrap().len(), 10 - looks);
        }
        story.chat.faults.lock().unwrap().clear();
        story.recover().await;
        for subject in subjects {
            assert_eq!(story.chat.about(subject), [None]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_busy_platform_is_left_alone_for_as_long_as_it_asks() {
    on_every_database(async |store| {
        let story = Story::new(store).await;
        let subject = story.proposes().await;
        *story.chat.retry_after.lock().unwrap() = Some(SignedDuration::from_mins(2));
        story.chat.faults.lock().unwrap().extend([ChatFault::Busy; 10]);
        let mut records = QuestionRecords::default();
        for _ in 0..4 {
            assert!(story.keepers.look(&story.chat, &mut records).await);
            assert_eq!(story.chat.faults.lock().unwrap().len(), 9);
            story.harness.pass(25).await;
        }
        story.chat.faults.lock().unwrap().clear();
        story.harness.pass(30).await;
        assert!(story.keepers.look(&story.chat, &mut records).await);
        assert_eq!(story.chat.about(subject), [None]);
    })
    .await;
}
