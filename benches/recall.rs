//! Measures recall among a million messages in fifty channels: with rare words, with common ones, with a whole message,
//! and in one channel. Prints percentiles, because slow queries matter.
//!
//! `cargo bench --bench recall`, or with a number of messages: `cargo bench --bench recall -- 100000`.

use std::time::{Duration, Instant};

use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    UserId, Visibility, WorkspaceId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::recall::RecallQuery;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::{InboxEntry, Store, sqlite};
use futures_util::stream::{self, StreamExt};
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const CHANNELS: u64 = 50;
const WORDS: f64 = 60_000.0;
const QUERIES: u64 = 500;

fn main() {
    let messages = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let messages = messages.unwrap_or(1_000_000);
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(measure(messages));
}

async fn measure(messages: u64) {
    let folder = tempfile::tempdir().expect("a folder for the database");
    let path = folder.path().join("bench.db");
    let (store, writer) = sqlite::open(&path).await.expect("it opens");
    tokio::spawn(writer.run(CancellationToken::new()));
    for channel in 0..CHANNELS {
        hear(&store, Heard::Channel(new_channel(channel))).await;
    }
    let begin = Instant::now();
    stream::iter(0..messages)
        .map(|number| hear(&store, Heard::Message(message(number), Arrival::Backfilled)))
        .buffer_unordered(1024)
        .for_each(|()| async {})
        .await;
    let rate = messages as f64 / begin.elapsed().as_secs_f64();
    let size = std::fs::metadata(&path).map_or(0, |file| file.len()) / 1_000_000;
    println!("{messages} messages heard and indexed, {rate:.0} a second, {size} MB");
    for (name, words, rarest, channel_filter) in [
        ("two words", 2, 1.0, None),
        ("two common words", 2, 0.3, None),
        ("a message of 12 words", 12, 1.0, None),
        ("a message of 40 words", 40, 1.0, None),
        ("a message, one channel", 12, 1.0, Some(ChannelId::new("c7"))),
    ] {
        let mut durations = Vec::new();
        for number in 0..QUERIES {
            let query = RecallQuery {
                workspace: WorkspaceId::new("bench"),
                visible_from: Some(ChannelId::new("c7")),
                channel: channel_filter.clone(),
                text: text(1_000_000_000 + number, words, rarest),
                before: Some(
                    Timestamp::from_second(1_800_000_000 + messages as i64 - 50).expect("in range"),
                ),
                limit: 10,
            };
            let begin = Instant::now();
            store.recall(&query).await.expect("it looks");
            durations.push(begin.elapsed());
        }
        durations.sort();
        let percentile = |percentile: f64| -> Duration {
            durations[((durations.len() - 1) as f64 * percentile) as usize]
        };
        println!(
            "{name:24} p50 {:8.2?} p95 {:8.2?} p99 {:8.2?}",
            percentile(0.5),
            percentile(0.95),
            percentile(0.99)
        );
    }
}

async fn hear(store: &DatabaseStore, heard: Heard) {
    let entry =
        InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), jiff::Timestamp::UNIX_EPOCH);
    store.hear(entry).await.expect("it is heard");
}

fn new_channel(channel: u64) -> Channel {
    Channel {
        workspace: WorkspaceId::new("bench"),
        id: ChannelId::new(format!("c{channel}")),
        name: format!("#c{channel}").into(),
        // Every tenth is private.
        visibility: if channel.is_multiple_of(10) {
            Visibility::Private
        } else {
            Visibility::Public
        },
        topic: None,
    }
}

fn message(number: u64) -> Message {
    Message {
        conversation: ConversationId {
            workspace: WorkspaceId::new("bench"),
            channel: ChannelId::new(format!("c{}", number % CHANNELS)),
            thread: None,
        },
        id: MessageId::new(format!("{number:012}")),
        at: Timestamp::from_second(1_800_000_000 + number as i64).expect("in range"),
        author: Author { id: UserId::new(format!("u{}", number % 17)), kind: AuthorKind::Human },
        text: text(number, 4 + mixed(number) % 16, 1.0).into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    }
}

/// Invented words with the frequencies of a natural language: the most common one is in every second message. With
/// `rarest` 1 all words are drawn from, with less only the common ones.
fn text(seed: u64, words: u64, rarest: f64) -> String {
    let word = |index: u64| {
        let chance = (mixed(seed.wrapping_mul(64) + index) >> 11) as f64 / (1_u64 << 53) as f64;
        // Zipf's law: the logarithm of a word's rank is uniformly distributed.
        let rank = (WORDS.ln() * chance * rarest).exp() as u64;
        format!("w{}", mixed(rank) % 10_000_000)
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
