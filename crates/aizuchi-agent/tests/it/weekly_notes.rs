//! Keepers who opted in get a note about each week of their channels: exactly once, whatever crashes, and without
//! anything that they may not read. On every store.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_actions::question::QuestionSubject;
use aizuchi_harness::fixtures::{JOIN, SILENCE, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ConversationId, Heard, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::rules::weekly_time::WeeklyTime;
use aizuchi_model::rules::{ChannelRules, LanguageRule, Rulebook};
use aizuchi_platform::keeper::{
    KeeperChat, KeeperLengths, KeeperQuestion, Keepers, QuestionPlace, QuestionRecords,
};
use aizuchi_store::order::Order;
use async_trait::async_trait;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

const SETTLES_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// A private chat: the recipients, keys and texts of messages.
#[derive(Default)]
struct TestChat {
    told: Mutex<Vec<(UserId, String, String)>>,
    /// The faults that the next messages meet.
    faults: Mutex<Vec<ChatFault>>,
    /// The call before or after which the process dies, counted from 1; 0 for none.
    dies_at: AtomicUsize,
    calls: AtomicUsize,
    died: Notify,
}

#[derive(Clone, Copy, Debug)]
enum ChatFault {
    /// The message does not arrive, and the sender learns that.
    Busy,
    /// The message arrives, and the sender does not learn that.
    LostAnswer,
    Refused,
}

impl TestChat {
    fn texts(&self) -> Vec<String> {
        self.told.lock().unwrap().iter().map(|(_, _, text)| text.clone()).collect()
    }

    /// A point at which the process may die.
    async fn point(&self) {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call == self.dies_at.load(Ordering::SeqCst) {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl KeeperChat for TestChat {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        vec![workspace()]
    }

    async fn ask(&self, _: &UserId, _: &KeeperQuestion) -> Result<QuestionPlace, PlatformError> {
        panic!("nothing is proposed")
    }

    async fn find_question(
        &self,
        _: &UserId,
        _: &WorkspaceId,
        _: QuestionSubject,
        _: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError> {
        panic!("nothing is proposed")
    }

    async fn settle(&self, _: &QuestionPlace, _: &str) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn notify(&self, keeper: &UserId, key: &str, text: &str) -> Result<(), PlatformError> {
        self.point().await;
        let fault = self.faults.lock().unwrap().pop();
        let why = || "it is a test".to_owned();
        match fault {
            Some(ChatFault::Busy) => {
                return Err(PlatformError::Busy { why: why(), retry_after: None });
            }
            Some(ChatFault::Refused) => return Err(PlatformError::Refused(why())),
            Some(ChatFault::LostAnswer) | None => {}
        }
        self.told.lock().unwrap().push((keeper.clone(), key.to_owned(), text.to_owned()));
        self.point().await;
        match fault {
            Some(ChatFault::LostAnswer) => Err(PlatformError::OutcomeUnknown(why())),
            Some(ChatFault::Busy | ChatFault::Refused) | None => Ok(()),
        }
    }

    async fn is_notified(
        &self,
        keeper: &UserId,
        key: &str,
        _: Timestamp,
    ) -> Result<bool, PlatformError> {
        self.point().await;
        let told = self.told.lock().unwrap();
        Ok(told.iter().any(|(user, known, _)| user == keeper && known == key))
    }

    fn delivery_timeout(&self) -> SignedDuration {
        SETTLES_AFTER
    }

    fn has_caught_up(&self, _conversation: &ConversationId) -> bool {
        true
    }

    fn link(&self, conversation: &ConversationId, message: &MessageId) -> Option<String> {
        Some(format!("https://chat.example/{}/{message}", conversation.channel))
    }
}

fn rules() -> ChannelRules {
    let monday = WeeklyTime { day: Weekday::Monday, time: jiff::civil::time(9, 0, 0, 0) };
    ChannelRules { weekly_note: Some(monday), ..ChannelRules::default() }
}

/// A harness in which ren is the keeper of all public channels, and gets a weekly note on Mondays at nine.
async fn kept(store: TestStore) -> Harness {
    with_book(store, Rulebook { default_rules: rules(), ..Rulebook::default() }).await
}

async fn with_book(store: TestStore, book: Rulebook) -> Harness {
    let book = Rulebook { keeper: Some(UserId::new("ren")), ..book };
    Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book))
}

fn keepers(harness: &Harness, language: Language, zone: TimeZone) -> Keepers {
    Keepers {
        inbox: harness.inbox.clone(),
        archive: harness.store.archive.clone(),
        cursors: harness.store.cursors.clone(),
        weekly_notes: harness.store.weekly_notes.clone(),
        language,
        zone,
        currency: "USD".into(),
        lengths: KeeperLengths { form: 3_000, post: 3_000 },
    }
}

/// Looks as after a start.
async fn look(keepers: &Keepers, chat: &TestChat) {
    assert!(keepers.look(chat, &mut QuestionRecords::default()).await);
}

/// The next time at which a week ends.
fn next_monday(harness: &Harness, zone: &TimeZone) -> Timestamp {
    let monday = rules().weekly_note.unwrap();
    let ahead = harness.clock.now() + SignedDuration::from_hours(7 * 24);
    monday.last_week(ahead, zone).unwrap().until
}

async fn pass_until(harness: &Harness, until: Timestamp) {
    let seconds = until.duration_since(harness.clock.now()).as_secs();
    harness.pass(seconds).await;
}

/// Leaves a question unanswered, and advances to the end of the week.
async fn leaves_a_question(harness: &Harness) {
    harness.says("carol", "does anyone have a spare rake?").await;
    pass_until(harness, next_monday(harness, &TimeZone::UTC) + SignedDuration::from_secs(1)).await;
}

#[tokio::test]
async fn a_keeper_is_told_once_of_what_happened() {
    for (language, expected) in [
        (
            Language::En,
            [
                "**The week in #garden**",
                "What I took up: 1",
                "What I left and a person answered: 1",
                "What nobody answered: 1",
                "“does anyone have a spare rake?”",
            ],
        ),
        (
            Language::Ja,
            [
                "の 1 週間",
                "自分から話したこと：1 件",
                "見送って、ほかの人が答えた質問：1 件",
                "誰も答えなかった質問：1 件",
                "「does anyone have a spare rake?」",
            ],
        ),
    ] {
        on_every_database(async |store| {
            let language_rule = LanguageRule::Fixed(language);
            let default_rules = ChannelRules { language: language_rule, ..rules() };
            let harness = with_book(store, Rulebook { default_rules, ..Rulebook::default() }).await;
            let keepers = keepers(&harness, language, TimeZone::UTC);
            let chat = TestChat::default();
            harness.pass(2 * 3600).await;
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(400).await;
            harness.mind.script.set_default(PromptVerb::Judge, SILENCE);
            harness.says("alice", "where is the key for the shed?").await;
            harness.pass(400).await;
            harness.says("bob", "on the hook by the door").await;
            harness.pass(400).await;
            leaves_a_question(&harness).await;
            for _ in 0..2 {
                look(&keepers, &chat).await;
                let told = chat.told.lock().unwrap().clone();
                assert_eq!(told.len(), 1, "{told:?}");
                assert_eq!(told[0].0, UserId::new("ren"));
                for part in expected {
                    assert!(told[0].2.contains(part), "{part}: {}", told[0].2);
                }
                assert!(told[0].2.contains("](https://chat.example/garden/m"), "{}", told[0].2);
            }
            // A quiet week gets no note.
            harness.pass(8 * 24 * 3600).await;
            look(&keepers, &chat).await;
            assert_eq!(chat.texts().len(), 1);
        })
        .await;
    }
}

#[tokio::test]
async fn nobody_is_told_who_does_not_want_it() {
    on_every_database(async |store| {
        let book = Rulebook {
            channels: BTreeMap::from([(
                "#garden".to_owned(),
                ChannelRules { weekly_note: None, ..rules() },
            )]),
            ..Rulebook { default_rules: rules(), ..Rulebook::default() }
        };
        let harness = with_book(store, book).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        harness.pass(2 * 3600).await;
        leaves_a_question(&harness).await;
        look(&keepers, &chat).await;
        assert_eq!(chat.texts(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_channel_is_told_of_in_its_language() {
    on_every_database(async |store| {
        let language = LanguageRule::Fixed(Language::Ja);
        let default_rules = ChannelRules { language, ..rules() };
        let harness = with_book(store, Rulebook { default_rules, ..Rulebook::default() }).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        harness.pass(2 * 3600).await;
        leaves_a_question(&harness).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].contains("誰も答えなかった質問"), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn weeks_that_were_missed_are_caught_up_once_and_clocks_may_change() {
    on_every_database(async |store| {
        let harness = kept(store).await;
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let keepers = keepers(&harness, Language::En, berlin.clone());
        let chat = TestChat::default();
        // Clocks go forward on 28 March.
        pass_until(&harness, "2027-03-16T12:00:00Z".parse().unwrap()).await;
        let mut records = QuestionRecords::default();
        for week in 1..=3 {
            harness.says("carol", &format!("does anyone have rake number {week}?")).await;
            let monday = next_monday(&harness, &berlin);
            pass_until(&harness, monday - SignedDuration::from_mins(2)).await;
            assert!(keepers.look(&chat, &mut records).await);
            assert_eq!(chat.texts().len(), week - 1, "a week is over at its time, and not before");
            for _ in 0..3 {
                harness.pass(120).await;
                assert!(keepers.look(&chat, &mut records).await);
            }
            let texts = chat.texts();
            assert_eq!(texts.len(), week, "{texts:?}");
            assert!(texts[week - 1].contains(&format!("rake number {week}?")), "{texts:?}");
            assert_eq!(texts[week - 1].matches("chat.example").count(), 1, "{texts:?}");
        }
        // The process was down for three weeks, each with a question.
        for week in 4..=6 {
            harness.says("carol", &format!("does anyone have rake number {week}?")).await;
            pass_until(&harness, next_monday(&harness, &berlin)).await;
        }
        harness.pass(3 * 24 * 3600).await;
        look(&keepers, &chat).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert_eq!(texts.len(), 4, "{texts:?}");
        assert!(
            texts[3].contains("rake number 6?") && !texts[3].contains("number 5?"),
            "{texts:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_note_arrives_once_whenever_the_process_dies() {
    on_every_database(async |store| {
        let harness = kept(store).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        harness.pass(2 * 3600).await;
        let mut points = 0;
        for point in 1.. {
            leaves_a_question(&harness).await;
            let chat = TestChat::default();
            chat.dies_at.store(point, Ordering::SeqCst);
            let has_died = tokio::select! {
                biased;
                () = chat.died.notified() => true,
                () = look(&keepers, &chat) => false,
            };
            chat.dies_at.store(0, Ordering::SeqCst);
            // A message in transit may still arrive.
            look(&keepers, &chat).await;
            harness.pass(SETTLES_AFTER.as_secs() + 1).await;
            look(&keepers, &chat).await;
            look(&keepers, &chat).await;
            assert_eq!(chat.texts().len(), 1, "point {point}");
            if !has_died {
                break;
            }
            points = point;
        }
        assert_eq!(points, 3, "a look, and before and after it is sent");
    })
    .await;
}

#[tokio::test]
async fn a_note_arrives_once_whatever_the_platform_says() {
    for fault in [ChatFault::Busy, ChatFault::LostAnswer, ChatFault::Refused] {
        on_every_database(async |store| {
            let harness = kept(store).await;
            let keepers = keepers(&harness, Language::En, TimeZone::UTC);
            let chat = TestChat::default();
            chat.faults.lock().unwrap().push(fault);
            harness.pass(2 * 3600).await;
            leaves_a_question(&harness).await;
            for _ in 0..4 {
                look(&keepers, &chat).await;
                harness.pass(SETTLES_AFTER.as_secs() + 1).await;
            }
            let expected = match fault {
                ChatFault::Busy | ChatFault::LostAnswer => 1,
                ChatFault::Refused => 0,
            };
            assert_eq!(chat.texts().len(), expected, "{fault:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_look_sends_a_few_notes_and_the_next_ones_the_others() {
    on_every_database(async |store| {
        let harness = kept(store).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        harness.pass(2 * 3600).await;
        for channel in ["barn", "cellar", "garden", "kitchen", "pond"] {
            let known = Heard::Channel(new_channel(channel, Visibility::Public));
            harness.inbox.hear(known).await.unwrap();
            harness.says_in(top_level(channel), "carol", "who has the rake?").await;
            harness.pass(4000).await;
        }
        pass_until(&harness, next_monday(&harness, &TimeZone::UTC)).await;
        harness.pass(1).await;
        let mut records = QuestionRecords::default();
        for expected in [3, 5, 5] {
            assert!(keepers.look(&chat, &mut records).await);
            assert_eq!(chat.texts().len(), expected, "{:?}", chat.texts());
        }
        for channel in ["barn", "cellar", "garden", "kitchen", "pond"] {
            let place = format!("#{channel}**");
            let told = chat.texts().iter().filter(|text| text.contains(&place)).count();
            assert_eq!(told, 1, "{channel}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_named_companion_answered_is_not_open() {
    on_every_database(async |store| {
        let companions = Some(vec![UserId::new("u-helpbot")]);
        let default_rules = ChannelRules { companions, ..rules() };
        let book = Rulebook { default_rules, ..Rulebook::default() };
        let harness = with_book(store, book).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        harness.pass(2 * 3600).await;
        for (question, bot) in [("who has the hose?", "helpbot"), ("who has the spade?", "newsbot")]
        {
            harness.says("carol", question).await;
            harness.pass(10).await;
            harness.says(bot, "It is in the shed.").await;
            harness.pass(4000).await;
        }
        pass_until(&harness, next_monday(&harness, &TimeZone::UTC)).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].contains("What nobody answered: 1"), "{texts:?}");
        assert!(texts[0].contains("spade") && !texts[0].contains("hose"), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn of_two_who_would_tell_one_does() {
    on_every_database(async |store| {
        let harness = kept(store).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        harness.pass(2 * 3600).await;
        leaves_a_question(&harness).await;
        tokio::join!(look(&keepers, &chat), look(&keepers, &chat));
        assert_eq!(chat.texts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn nothing_private_deleted_or_opted_out_is_quoted() {
    on_every_database(async |store| {
        let own = ChannelRules { keeper: Some(UserId::new("ren")), ..rules() };
        let book = Rulebook {
            channels: BTreeMap::from([("#attic".to_owned(), own)]),
            ..Rulebook { default_rules: rules(), ..Rulebook::default() }
        };
        let harness = with_book(store, book).await;
        let keepers = keepers(&harness, Language::En, TimeZone::UTC);
        let chat = TestChat::default();
        for channel in ["attic", "cellar"] {
            let channel = new_channel(channel, Visibility::Private);
            harness.inbox.hear(Heard::Channel(channel)).await.unwrap();
        }
        harness.pass(2 * 3600).await;
        // The cellar has no keeper: the keeper of all public channels is not told about it.
        for (channel, user, text) in [
            ("attic", "erin", "who has the secret letter?"),
            ("cellar", "erin", "who has the wine?"),
            ("kitchen", "carol", "who has the whisk?"),
        ] {
            harness.says_in(top_level(channel), user, text).await;
            harness.pass(4000).await;
        }
        let deleted = harness.says("dave", "who has the deleted rake?").await;
        harness.pass(4000).await;
        harness.deletes(&deleted).await;
        pass_until(&harness, next_monday(&harness, &TimeZone::UTC)).await;
        let (workspace, user) = (workspace(), UserId::new("u-carol"));
        harness.order(Order::OptOut { workspace, user }).await;
        harness.pass(1).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.iter().any(|text| text.contains("#attic")), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("#cellar")), "{texts:?}");
        for word in ["letter", "wine", "whisk", "deleted"] {
            assert!(!texts.iter().any(|text| text.contains(word)), "{word}: {texts:?}");
        }
    })
    .await;
}
