//! Histories of any length are imported in batches: the memory use does not grow with their length.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use aizuchi_harness::fixtures::{self, at, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_import::streamed::{MAX_BATCH_MESSAGES, StreamedMessage};
use aizuchi_import::to_import;
use aizuchi_import::to_import::arranged::{Arranged, Destination};
use aizuchi_import::{ImportCount, ImportData, ImportReport};
use aizuchi_model::chat::{Message, Visibility, WorkspaceId};
use futures_util::stream;
use serde_json::json;

const MESSAGES: usize = 4 * MAX_BATCH_MESSAGES + 10;
/// How many messages are private.
const PRIVATE: usize = MAX_BATCH_MESSAGES + 5;

/// Yields messages, and counts how many of them are still in memory.
#[derive(Default)]
struct Counted {
    handed_out: usize,
    /// The number of the message that is replaced by an error.
    fails_at: Option<usize>,
    held: Vec<Weak<str>>,
    most_held: usize,
}

impl Iterator for Counted {
    type Item = anyhow::Result<StreamedMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        self.held.retain(|text| text.strong_count() > 0);
        self.most_held = self.most_held.max(self.held.len());
        let number = self.handed_out;
        self.handed_out += 1;
        if self.fails_at == Some(number) {
            return Some(Err(anyhow::anyhow!("the disk is gone")));
        }
        if number == MESSAGES {
            return None;
        }
        let text: Arc<str> = format!("message {number}").into();
        self.held.push(Arc::downgrade(&text));
        let second = i64::try_from(number).unwrap() - 100_000;
        let id = format!("m{number}");
        let message = fixtures::message(top_level("attic"), &id, at(second), "mika", "");
        let message = Message { text, ..message };
        // The first ones are from the time when the channel was private.
        let was_private = number < PRIVATE;
        Some(Ok(StreamedMessage { message, reactions: Vec::new(), was_private }))
    }
}

async fn started(store: TestStore) -> Harness {
    let wait_settings = aizuchi_import::wait_settings();
    let options = HarnessOptions { wait_settings, ..HarnessOptions::default() };
    Harness::new(store).await.with_options(options)
}

async fn import(harness: &Harness, messages: &mut Counted) -> anyhow::Result<ImportReport> {
    let data = ImportData {
        channels: vec![fixtures::new_channel("attic", Visibility::Public)],
        ..ImportData::new(fixtures::workspace())
    };
    let (inbox, archive) = (&harness.inbox, &*harness.store.archive);
    let cursors = &*harness.store.cursors;
    let messages = stream::iter(messages);
    aizuchi_import::import_stream(data, messages, inbox, archive, cursors, None).await
}

/// Returns the number of messages that are private.
async fn private(harness: &Harness) -> usize {
    let private = "SELECT count(*) AS n FROM messages WHERE visibility = 'private'";
    let found = harness.store.database.as_ref().unwrap().count(private).await;
    usize::try_from(found).unwrap()
}

#[tokio::test]
async fn no_more_than_a_batch_of_messages_is_held() {
    on_every_database(async |store| {
        let harness = started(store).await;
        let mut messages = Counted::default();
        import(&harness, &mut messages).await.unwrap();
        assert_eq!(messages.handed_out, MESSAGES + 1);
        // The messages remembered for a conversation come on top of a batch.
        assert!(messages.most_held < 2 * MAX_BATCH_MESSAGES, "{}", messages.most_held);
        assert_eq!(private(&harness).await, PRIVATE);
    })
    .await;
}

#[tokio::test]
async fn an_import_that_was_interrupted_goes_on_where_it_ended() {
    on_every_database(async |store| {
        let harness = started(store).await;
        let fails_at = Some(MAX_BATCH_MESSAGES + 2);
        let failed = import(&harness, &mut Counted { fails_at, ..Counted::default() }).await;
        assert_eq!(failed.unwrap_err().to_string(), "the disk is gone");
        // The first batch was heard while the channel was private. It is public when the import resumes.
        let remaining = MESSAGES - MAX_BATCH_MESSAGES;
        for (new, existing) in [(remaining, MAX_BATCH_MESSAGES), (0, MESSAGES)] {
            let report = import(&harness, &mut Counted::default()).await.unwrap();
            assert_eq!(report.messages, ImportCount { new, existing });
            assert_eq!(private(&harness).await, PRIVATE);
            let channels = harness.store.archive.channels(&fixtures::workspace()).await.unwrap();
            let attic = channels.iter().find(|channel| channel.id.as_str() == "attic").unwrap();
            assert_eq!(attic.visibility, Visibility::Public);
        }
    })
    .await;
}

/// With few lines in memory at a time, the result is the same as with many.
#[test]
fn recorded_lines_wait_on_disk() {
    let line = |number: i64, text: &str, said_in: &str| {
        // Not sorted by time.
        let ts = 1_767_603_600.5 + (number * 7919 % 1000) as f64;
        let line = json!({"workspace": "T1", "room": "C1", "room_name": "garden", "visibility": "public", "said_in": said_in,
            "thread": null, "id": number.to_string(), "ts": ts, "author": "U1", "name": "mika", "text": text});
        format!("{line}\n")
    };
    let mut lines = String::new();
    for number in 0..500 {
        lines += &line(number, "once", if number % 3 == 0 { "private" } else { "public" });
    }
    lines += "nonsense\n";
    // A row that changed while the export was written.
    lines += &line(7, "twice", "public");
    let read = |limits: SorterLimits| {
        let recorded = to_import::read_within(lines.as_bytes(), limits).unwrap();
        let destination = Destination {
            source: Some(WorkspaceId::new("T1")),
            workspace: WorkspaceId::new("T2"),
            persona: None,
            forgotten: HashMap::new(),
        };
        let arranged = recorded.arrange(vec![destination], limits, None).unwrap();
        let Arranged { data, mut messages, expired } = arranged;
        assert_eq!((data.len(), expired, data[0].users.len()), (1, 0, 1));
        assert_eq!(data[0].skipped[0].reason, "they cannot be read (line 501)");
        let streamed: Result<Vec<StreamedMessage>, _> = messages.of(0).collect();
        streamed.unwrap()
    };
    let few = read(SorterLimits { records: 7, runs: 3, ..SorterLimits::default() });
    assert_eq!(few, read(SorterLimits::default()));
    assert_eq!(few.len(), 500);
    assert!(few.is_sorted_by_key(|streamed| (!streamed.was_private, streamed.message.at)));
    assert_eq!(few.iter().filter(|streamed| streamed.was_private).count(), 167);
    let changed: Vec<&str> = few
        .iter()
        .filter(|streamed| streamed.message.id.as_str() == "7")
        .map(|streamed| &*streamed.message.text)
        .collect();
    assert_eq!(changed, ["twice"]);
    assert!(few.iter().all(|it| it.message.conversation.workspace.as_str() == "T2"));
}
