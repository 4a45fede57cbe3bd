//! Search, on every store.

use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{at, message, thread, top_level, until, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{
    Arrival, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard, Message,
    MessageId, Role, User, UserId, Visibility,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::recall::terms::{extract_terms, search_terms};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::recall::index::{self, BatchSize, TermErasure};
use aizuchi_store::database::sql::{BEGIN, COMMIT, TRUNCATE_WAL};
use aizuchi_store::{InboxEntry, StoreError};
use futures_util::future::join_all;
use proptest::prelude::*;

/// The maximum number of attempts per search.
const MAX_SEARCHES: usize = 5;

/// Runs a test on every store, with messages that are indexed and with messages that are not.
async fn with_and_without_index(promise: impl AsyncFn(TestStore, Indexing)) {
    for indexing in [Indexing::Never, Indexing::AtOnce] {
        on_every_store(async |store| promise(store, indexing).await).await;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexing {
    Never,
    AtOnce,
}

#[tokio::test]
async fn messages_are_found_by_their_words() {
    with_and_without_index(async |store, indexing| {
        store.set_visibility("garden", Visibility::Public).await;
        for (id, text) in [
            ("1", "The roses bloom; who prunes a rose?"),
            ("2", "大きい犬"),
            ("3", "東京都のラーメンが好き"),
            ("4", "I rewrote it in Rust, with a カレー"),
            ("5", "nothing of that"),
        ] {
            store.says(top_level("garden"), id, text).await;
        }
        store.index(indexing).await;
        for (query, expected) in [
            ("rose", &["1"][..]),
            ("PRUNING roses", &["1"]),
            ("犬", &["2"]),
            ("京都", &["3"]),
            ("東京都", &["3"]),
            ("ラーメン", &["3"]),
            ("好き", &["3"]),
            ("Rust", &["4"]),
            ("カレー", &["4"]),
            ("猫", &[]),
            ("ro", &[]),
            ("", &[]),
            ("!? \" OR *", &[]),
            ("rose NEAR nothing*", &["5", "1"]),
        ] {
            let mut found = store.finds(query).await;
            let mut expected = expected.to_vec();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{query}");
        }
    })
    .await;
}

/// A message is found by the names of its files, even without a text, as long as it has them.
#[tokio::test]
async fn files_are_found_by_their_names() {
    with_and_without_index(async |store, indexing| {
        let file = |name: &str| vec![Attachment::new("F1", name, "image/png", 7)];
        let sent = message(top_level("garden"), "1", at(1), "alice", "");
        let sent = Message { attachments: file("hydrangea plan.png"), ..sent };
        let disposition = Disposition::Settled(Gate::Backfilled);
        let entry = InboxEntry::new(Heard::Message(sent, Arrival::Backfilled), disposition, at(0));
        store.store.hear(entry).await.unwrap();
        store.says(top_level("garden"), "2", "the roses").await;
        store.index(indexing).await;
        assert_eq!(store.finds("hydrangea").await, ["1"]);
        let edit = Edit {
            conversation: top_level("garden"),
            message: MessageId::new("1"),
            at: at(3),
            made_at: at(3),
            text: "".into(),
            mentions: Vec::new(),
            attachments: Some(file("tulip plan.png")),
        };
        store.hear(Heard::Edit(edit)).await;
        assert_eq!(store.finds("hydrangea").await, [""; 0]);
        assert_eq!(store.finds("tulip").await, ["1"]);
        store.index(indexing).await;
        assert_eq!(store.finds("tulip").await, ["1"]);
        store.deletes("1", 4).await;
        assert_eq!(store.finds("tulip").await, [""; 0]);
        assert_eq!(store.finds("roses").await, ["2"]);
    })
    .await;
}

/// The indexes have query languages of their own. Users' input is never interpreted as such.
#[tokio::test]
async fn no_query_is_more_than_its_words() {
    with_and_without_index(async |store, indexing| {
        store.set_visibility("garden", Visibility::Public).await;
        store.says(top_level("garden"), "1", "a rose and its thorn").await;
        store.says(top_level("garden"), "2", "only one tulip").await;
        store.index(indexing).await;
        for query in [
            "\"rose",
            "rose\"",
            "rose' OR 1=1 --",
            "rose AND",
            "NOT rose",
            "(rose",
            "rose)",
            "terms: rose",
            "{x y}: rose",
            "^rose",
            "rose*",
            "NEAR(rose, 5)",
            "rose + ",
            "rose\u{0}",
            "rose;DROP TABLE messages",
            "%rose%",
            "rose\\",
            "'rose'",
            "rose & !violet:*",
            "rose <-> ",
            "?1 $1 :x @y rose",
        ] {
            assert_eq!(store.finds(query).await, ["1"], "{query:?}");
        }
        assert_eq!(store.finds(&"tulip ".repeat(170_000)).await, ["2"]);
    })
    .await;
}

#[tokio::test]
async fn a_found_message_is_returned_in_full() {
    with_and_without_index(async |store, indexing| {
        store.set_visibility("garden", Visibility::Public).await;
        let user = User {
            workspace: workspace(),
            id: UserId::new("u-alice"),
            name: "Alice".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: None,
        };
        store.hear(Heard::User(user)).await;
        store.says(top_level("garden"), "1", "roses").await;
        store.says(thread("garden", "1"), "2", "more roses").await;
        store.says(top_level("attic"), "3", "old roses").await;
        store.index(indexing).await;
        let found = store.recall(&asked("roses")).await;
        let shown: Vec<_> = found
            .iter()
            .map(|found| {
                let message = &found.message;
                let conversation = message.conversation.thread.as_ref().map(MessageId::as_str);
                (
                    message.id.as_str(),
                    conversation,
                    &*found.author_name,
                    &*found.channel_name,
                    &*message.text,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("1", None, "Alice", "#garden", "roses"),
                ("3", None, "Alice", "attic", "old roses"),
                ("2", Some("1"), "Alice", "#garden", "more roses"),
            ]
        );
        assert!(found.iter().all(|found| found.score > 0.0));
        let one = RecallQuery { limit: 1, ..asked("roses") };
        assert_eq!(store.recall(&one).await, found[..1]);
        let none = RecallQuery { limit: 0, ..asked("roses") };
        assert_eq!(store.recall(&none).await, []);
        let there = RecallQuery { channel: Some(ChannelId::new("attic")), ..asked("roses") };
        assert_eq!(ids(&store.recall(&there).await), ["3"]);
        let before = RecallQuery { before: Some(at(2)), ..asked("roses") };
        assert_eq!(ids(&store.recall(&before).await), ["1"]);
    })
    .await;
}

#[tokio::test]
async fn an_edited_message_is_found_by_its_new_text() {
    with_and_without_index(async |store, indexing| {
        store.set_visibility("garden", Visibility::Public).await;
        for id in ["1", "2", "3"] {
            store.says(top_level("garden"), id, "the canary sings").await;
        }
        store.index(indexing).await;
        store.edits("1", 10, "the sparrow sings").await;
        store.deletes("2", 11).await;
        for _ in 0..2 {
            assert_eq!(store.finds("canary").await, ["3"]);
            assert_eq!(store.finds("sparrow").await, ["1"]);
            assert_eq!(store.finds("sings").await, ["3", "1"]);
            store.index(indexing).await;
        }
        store.edits("1", 12, "the canary again").await;
        store.edits("1", 13, "the finch").await;
        assert_eq!(store.finds("canary").await, ["3"]);
        assert_eq!(store.finds("sparrow").await, [""; 0]);
        assert_eq!(store.finds("finch").await, ["1"]);
    })
    .await;
}

/// Only on SQLite: the test reads its file.
#[tokio::test]
async fn a_deleted_message_is_gone_from_the_file() {
    let store = TestStore::sqlite().await;
    store.set_visibility("garden", Visibility::Public).await;
    // FTS5 stores words with a common prefix together, so these words share none.
    let word = |number: u8| format!("{}xylo{number}phone", char::from(b'a' + number));
    for number in 0..26 {
        store.says(top_level("garden"), &format!("{number}"), &word(number)).await;
    }
    store.index(Indexing::AtOnce).await;
    store.deletes("7", 100).await;
    store.edits("8", 101, "flute").await;
    let mut connection = store.connect().await;
    query(TRUNCATE_WAL).fetch_one(&mut connection).await.unwrap();
    let bytes = std::fs::read(store.database.as_ref().unwrap().path()).unwrap();
    for (number, is_kept) in [(6, true), (7, false), (8, false), (9, true)] {
        let word = format!("xylo{number}phone");
        let times = bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count();
        // Once in the message, once in the index.
        assert_eq!(times, if is_kept { 2 } else { 0 }, "{word}");
    }
    let check = "INSERT INTO recall_terms (recall_terms) VALUES ('integrity-check')";
    query(check).execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn private_messages_are_found_only_in_their_channel() {
    with_and_without_index(async |store, indexing| {
        store.set_visibility("garden", Visibility::Public).await;
        store.set_visibility("secret", Visibility::Private).await;
        store.set_visibility("alice", Visibility::Direct).await;
        // A channel about which the platform has sent nothing is private, and so are messages heard during that time.
        for channel in ["garden", "secret", "alice", "unknown", "late"] {
            store.says(top_level(channel), &format!("in {channel}"), "the canary sings").await;
        }
        store.set_visibility("late", Visibility::Public).await;
        store.says(top_level("late"), "later", "the canary sings").await;
        // If a public channel becomes private, so do all its messages.
        store.set_visibility("closed", Visibility::Public).await;
        store.says(top_level("closed"), "in closed", "the canary sings").await;
        store.set_visibility("closed", Visibility::Private).await;
        store.index(indexing).await;
        for (from, expected) in [
            ("garden", &["in garden", "later"][..]),
            ("secret", &["in garden", "in secret", "later"]),
            ("alice", &["in alice", "in garden", "later"]),
            ("unknown", &["in garden", "in unknown", "later"]),
            ("late", &["in garden", "in late", "later"]),
            ("closed", &["in closed", "in garden", "later"]),
            ("elsewhere", &["in garden", "later"]),
        ] {
            let query = RecallQuery { visible_from: Some(ChannelId::new(from)), ..asked("canary") };
            let found = store.recall(&query).await;
            let mut found = ids(&found);
            found.sort();
            assert_eq!(found, expected, "from {from}");
            for closed in
                ["secret", "alice", "closed"].into_iter().filter(|channel| *channel != from)
            {
                let there = RecallQuery { channel: Some(ChannelId::new(closed)), ..query.clone() };
                assert_eq!(store.recall(&there).await, [], "in {closed} from {from}");
            }
        }
        assert_eq!(store.finds("canary").await.len(), 7);
    })
    .await;
}

#[tokio::test]
async fn messages_of_the_asking_channel_rank_first() {
    with_and_without_index(async |store, indexing| {
        for channel in ["garden", "kitchen"] {
            store.set_visibility(channel, Visibility::Public).await;
            store.says(top_level(channel), channel, "who has the key?").await;
        }
        store.index(indexing).await;
        for (from, expected) in
            [("garden", ["garden", "kitchen"]), ("kitchen", ["kitchen", "garden"])]
        {
            let query = RecallQuery { visible_from: Some(ChannelId::new(from)), ..asked("key") };
            assert_eq!(ids(&store.recall(&query).await), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn messages_are_indexed_in_batches_and_common_words_do_not_hide_rare_ones() {
    on_every_store(async |store| {
        store.set_visibility("garden", Visibility::Public).await;
        let messages = (0..5000).map(|number| {
            let text = format!("we talk about gardens {number:05} again");
            store.store.hear(hearing(top_level("garden"), &format!("{number:05}"), number, &text))
        });
        for heard in join_all(messages).await {
            assert!(heard.unwrap().is_new);
        }
        if store.database.is_some() {
            let mut connection = store.connect().await;
            // The newest messages wait for a full batch.
            while index::indexed_until(&mut connection).await.unwrap() < 4000 {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(store.finds("gardens 00042").await[0], "00042");
        assert_eq!(store.finds("talk 04999").await[0], "04999");
        assert_eq!(store.finds("gardens").await.len(), 10);
        let old = RecallQuery { before: Some(at(50)), ..asked("talk 00049 00051") };
        assert_eq!(ids(&store.recall(&old).await)[0], "00049");
    })
    .await;
}

/// A random operation.
#[derive(Clone, Debug)]
enum Operation {
    Say { id: u8, channel: u8, words: Vec<u8> },
    Edit { id: u8, words: Vec<u8> },
    Delete { id: u8 },
    Open { channel: u8, is_public: bool },
    Index,
}

const WORDS: [&str; 8] = ["rose", "roses", "犬", "京都", "東京都の犬", "Rust", "it's", "カレー"];
const CHANNELS: [&str; 3] = ["garden", "kitchen", "attic"];

fn operation() -> impl Strategy<Value = Operation> {
    let words = || prop::collection::vec(0..8_u8, 0..5);
    prop_oneof![
        6 => (0..30_u8, 0..3_u8, words())
            .prop_map(|(id, channel, words)| Operation::Say { id, channel, words }),
        2 => (0..30_u8, words()).prop_map(|(id, words)| Operation::Edit { id, words }),
        1 => (0..30_u8).prop_map(|id| Operation::Delete { id }),
        1 => (0..3_u8, any::<bool>())
            .prop_map(|(channel, is_public)| Operation::Open { channel, is_public }),
        2 => Just(Operation::Index),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12, 32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_a_full_scan_finds(operations in prop::collection::vec(operation(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run_operations(&operations));
    }
}

async fn run_operations(operations: &[Operation]) {
    let (one, other, server) =
        (TestStore::volatile(), TestStore::sqlite().await, TestStore::postgres().await);
    let mut said: Vec<Option<usize>> = vec![None; 30];
    for (second, operation) in operations.iter().enumerate() {
        let second = second as i64;
        let text = |words: &[u8]| -> String {
            words.iter().map(|word| WORDS[*word as usize]).collect::<Vec<_>>().join(" ")
        };
        for store in [&one, &other, &server] {
            match operation {
                Operation::Say { id, channel, words } => {
                    let channel = *said[*id as usize].get_or_insert(*channel as usize);
                    let id = format!("{id}");
                    store.says_at(top_level(CHANNELS[channel]), &id, second, &text(words)).await;
                }
                Operation::Edit { id, words } => {
                    let Some(channel) = said[*id as usize] else { continue };
                    let id = format!("{id}");
                    store.edits_in(CHANNELS[channel], &id, second, &text(words)).await;
                }
                Operation::Delete { id } => {
                    let Some(channel) = said[*id as usize] else { continue };
                    store.deletes_in(CHANNELS[channel], &format!("{id}"), second).await;
                }
                Operation::Open { channel, is_public } => {
                    let visibility =
                        if *is_public { Visibility::Public } else { Visibility::Private };
                    store.set_visibility(CHANNELS[*channel as usize], visibility).await;
                }
                Operation::Index => store.index(Indexing::AtOnce).await,
            }
        }
    }
    for query in ["rose", "犬", "京都", "カレー Rust", "its roses 東京都"] {
        for from in [None, Some("garden"), Some("attic")] {
            let query =
                RecallQuery { visible_from: from.map(ChannelId::new), limit: 100, ..asked(query) };
            let expected = one.recall(&query).await;
            let found = other.recall(&query).await;
            assert_eq!(found, expected, "{query:?}");
            assert_eq!(server.recall(&query).await, expected, "{query:?}");
            let looked_for = search_terms(&query.text, 100);
            let has_any = |message: &RecalledMessage| {
                let terms = extract_terms(&message.message.text);
                looked_for.iter().any(|wanted| wanted.is_match(&terms))
            };
            assert!(found.iter().all(has_any));
        }
    }
}

fn asked(text: &str) -> RecallQuery {
    RecallQuery {
        workspace: workspace(),
        visible_from: None,
        channel: None,
        text: text.to_owned(),
        before: None,
        limit: 10,
    }
}

fn hearing(conversation: ConversationId, id: &str, second: i64, text: &str) -> InboxEntry {
    let message = message(conversation, id, at(second), "alice", text);
    let heard = Heard::Message(message, Arrival::Backfilled);
    InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), at(0))
}

fn ids(found: &[RecalledMessage]) -> Vec<&str> {
    found.iter().map(|found| found.message.id.as_str()).collect()
}

/// Test helpers for a store.
trait RecallExt {
    async fn hear(&self, heard: Heard);
    async fn set_visibility(&self, channel: &str, visibility: Visibility);
    async fn says(&self, conversation: ConversationId, id: &str, text: &str);
    async fn says_at(&self, conversation: ConversationId, id: &str, second: i64, text: &str);
    async fn edits(&self, id: &str, second: i64, text: &str);
    async fn edits_in(&self, channel: &str, id: &str, second: i64, text: &str);
    async fn deletes(&self, id: &str, second: i64);
    async fn deletes_in(&self, channel: &str, id: &str, second: i64);
    async fn recall(&self, query: &RecallQuery) -> Vec<RecalledMessage>;
    async fn finds(&self, text: &str) -> Vec<String>;
    async fn connect(&self) -> Connection;
    async fn index(&self, indexing: Indexing);
}

impl RecallExt for TestStore {
    async fn hear(&self, heard: Heard) {
        let follows = Disposition::Judge(until(at(1000)));
        self.store.hear(InboxEntry::new(heard, follows, at(0))).await.unwrap();
    }

    async fn set_visibility(&self, channel: &str, visibility: Visibility) {
        let (id, name) = (ChannelId::new(channel), format!("#{channel}").into());
        self.hear(Heard::Channel(Channel {
            workspace: workspace(),
            id,
            name,
            visibility,
            topic: None,
        }))
        .await;
    }

    /// Posts a message at the second that its id names, if the id is a number.
    async fn says(&self, conversation: ConversationId, id: &str, text: &str) {
        self.says_at(conversation, id, id.parse().unwrap_or(0), text).await;
    }

    async fn says_at(&self, conversation: ConversationId, id: &str, second: i64, text: &str) {
        self.store.hear(hearing(conversation, id, second, text)).await.unwrap();
    }

    async fn edits(&self, id: &str, second: i64, text: &str) {
        self.edits_in("garden", id, second, text).await;
    }

    async fn edits_in(&self, channel: &str, id: &str, second: i64, text: &str) {
        let (conversation, message) = (top_level(channel), MessageId::new(id));
        let (at, text, mentions) = (at(second), text.into(), Vec::new());
        let attachments = None;
        let edit = Edit { conversation, message, at, made_at: at, text, mentions, attachments };
        self.hear(Heard::Edit(edit)).await;
    }

    async fn deletes(&self, id: &str, second: i64) {
        self.deletes_in("garden", id, second).await;
    }

    async fn deletes_in(&self, channel: &str, id: &str, second: i64) {
        let (conversation, message) = (top_level(channel), MessageId::new(id));
        self.hear(Heard::Deletion(Deletion { conversation, message, at: at(second) })).await;
    }

    async fn recall(&self, query: &RecallQuery) -> Vec<RecalledMessage> {
        // A search has a time limit, which a busy machine may exceed; then it must be retried.
        for _ in 0..MAX_SEARCHES {
            match self.store.recall(query).await {
                Err(StoreError::Busy(_)) => {}
                found => return found.unwrap(),
            }
        }
        panic!("each search for {:?} takes too long", query.text);
    }

    /// The ids of the results, best first.
    async fn finds(&self, text: &str) -> Vec<String> {
        let found = self.recall(&asked(text)).await;
        ids(&found).into_iter().map(str::to_owned).collect()
    }

    async fn connect(&self) -> Connection {
        self.database.as_ref().unwrap().connect().await
    }

    /// Indexes everything now, as the writer does once there are enough messages.
    async fn index(&self, indexing: Indexing) {
        if self.database.is_none() || indexing == Indexing::Never {
            return;
        }
        let newest = *self.store.revisions().borrow();
        let mut connection = self.connect().await;
        query(BEGIN).execute(&mut connection).await.unwrap();
        index::drop_stale(&mut connection, TermErasure::AtOnce).await.unwrap();
        let mut indexed = 0;
        while indexed < newest {
            let next = index::index_next_batch(&mut connection, newest, BatchSize::FULL);
            indexed = next.await.unwrap();
        }
        query(COMMIT).execute(&mut connection).await.unwrap();
    }
}
