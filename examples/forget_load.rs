//! Measures how others are heard while a member with many messages is forgotten, and what memory that takes.
//!
//! `cargo run --release --example forget_load -- [--database postgres://…] [--messages 1000000] [--megabytes 18]`
//!
//! The database is filled first and must be empty, unless it was filled in an earlier run. Without `--database` it is a
//! file, in a temporary folder unless `--file` names it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::event::Disposition;
use aizuchi_core::forgetter::Forgetter;
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_core::store::{InboxEntry, Order, Store};
use anyhow::Context as _;
use clap::Parser;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How long others are heard before anybody is forgotten, to compare with.
const IDLE: Duration = Duration::from_secs(15);
const CHANNELS: usize = 50;
const USERS: usize = 200;
const MEMBER: &str = "u-member";
/// How long a message of the member is, in bytes.
const MEMBER_TEXT: usize = 1800;
const WORDS: [&str; 16] = [
    "roof", "garden", "kettle", "window", "letter", "bridge", "copper", "thunder", "pepper",
    "violin", "harbor", "lantern", "marble", "orchard", "saddle", "tunnel",
];

#[derive(Debug, Parser)]
struct Options {
    /// An empty PostgreSQL database; left out, a file.
    #[arg(long)]
    database: Option<String>,
    #[arg(long, default_value_t = 1_000_000)]
    messages: usize,
    /// A file instead of a temporary one. It stays.
    #[arg(long)]
    file: Option<PathBuf>,
    /// The database was filled before.
    #[arg(long)]
    filled: bool,
    /// How much of it the member wrote.
    #[arg(long, default_value_t = 18)]
    megabytes: usize,
    /// How many messages others write a second meanwhile.
    #[arg(long, default_value_t = 50)]
    rate: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let folder = tempfile::tempdir().context("making a folder")?;
    let address = match &options.database {
        None => {
            let temporary = || folder.path().join("forget.db");
            DatabaseLocation::Sqlite(options.file.clone().unwrap_or_else(temporary))
        }
        Some(url) => {
            DatabaseLocation::Postgres(PostgresUrl::parse(url).context("reading the URL")?)
        }
    };
    let (store, writer) = address.open().await?;
    let stop = CancellationToken::new();
    let writer = tokio::spawn(writer.run(stop.clone()));
    let store = Arc::new(store);
    if !options.filled {
        let began = Instant::now();
        fill(&store, &options).await?;
        println!("{} messages stored in {:.1?}", options.messages, began.elapsed());
    }
    let rest = async {
        tokio::time::sleep(IDLE).await;
        Ok(())
    };
    let idle = hear_until(&store, &options, "i", rest).await?;
    println!("before:           {idle}");
    let began = Instant::now();
    let now = Clock::system().now();
    let (workspace, user) = (workspace(), UserId::new(MEMBER));
    let forget = async {
        store.order(Order::Forget { workspace, user, asked: now }, now).await?;
        println!("ordered:          {:.1?}", began.elapsed());
        until_forgotten(&store).await
    };
    let during = hear_until(&store, &options, "d", forget).await?;
    println!("while forgetting: {during}");
    println!(
        "it took {:.1?}; {} MB of memory above {} MB before",
        began.elapsed(),
        (during.peak_kb.saturating_sub(idle.end_kb)) / 1024,
        idle.end_kb / 1024
    );
    drop(store);
    stop.cancel();
    writer.await?
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new("w")
}

/// Runs a forgetter until everybody is forgotten.
async fn until_forgotten(store: &Arc<DatabaseStore>) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let cache = Arc::new(ChannelCache::new(Arc::default()));
    let forgetter = Forgetter::new(store.clone(), cache, Clock::system());
    let running = tokio::spawn(forgetter.run(stop.clone()));
    let until_scrub_is = async |is_due| {
        while store.scrub_due_since().await?.is_some() != is_due {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    until_scrub_is(true).await?;
    let began = Instant::now();
    until_scrub_is(false).await?;
    println!("index and log:    {:.1?}", began.elapsed());
    stop.cancel();
    running.await?
}

/// A text of words that hardly any other text has in the same order.
fn text(number: usize, length: usize) -> String {
    let mut text = format!("{number}");
    let mut rest = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
    while text.len() < length {
        rest = rest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(rest >> 33) % WORDS.len()]);
        text.push_str(&((rest >> 40) % 97).to_string());
    }
    text
}

fn entry(id: String, number: usize, user: &str, text: String) -> InboxEntry {
    let kind = match user {
        "persona" => AuthorKind::Persona,
        _ => AuthorKind::Human,
    };
    let message = Message {
        conversation: ConversationId {
            workspace: workspace(),
            channel: ChannelId::new(format!("c{:02}", number % CHANNELS)),
            thread: None,
        },
        id: MessageId::new(id),
        at: Timestamp::from_second(1_700_000_000 + number as i64).unwrap_or_default(),
        author: Author { id: UserId::new(user), kind },
        text: text.into(),
        mentions: Vec::new(),
        edits: 0,
    };
    let heard = Heard::Message(message, Arrival::Backfilled);
    InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), Timestamp::UNIX_EPOCH)
}

async fn fill(store: &DatabaseStore, options: &Options) -> anyhow::Result<()> {
    for number in 0..CHANNELS {
        let id = ChannelId::new(format!("c{number:02}"));
        let (name, visibility) = (id.0.clone(), Visibility::Public);
        let channel = Channel { workspace: workspace(), id, name, visibility };
        let heard = Heard::Channel(channel);
        store.hear(InboxEntry::new(heard, Disposition::NotAMessage, Timestamp::UNIX_EPOCH)).await?;
    }
    let theirs = options.megabytes * 1_000_000 / MEMBER_TEXT;
    let every = (options.messages / theirs.max(1)).max(1);
    let entries = (0..options.messages).map(|number| {
        let id = format!("m{number:08}");
        match number % every {
            0 => entry(id, number, MEMBER, text(number, MEMBER_TEXT)),
            1 => entry(id, number, "persona", text(number, 200)),
            _ => entry(id, number, &format!("u{}", number % USERS), text(number, 80)),
        }
    });
    let mut heard = stream::iter(entries.map(|entry| store.hear(entry))).buffer_unordered(512);
    while let Some(receipt) = heard.next().await {
        receipt?;
    }
    Ok(())
}

struct Heards {
    latencies: Vec<Duration>,
    peak_kb: u64,
    end_kb: u64,
}

impl std::fmt::Display for Heards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |share: f64| {
            let index = (self.latencies.len() as f64 * share) as usize;
            self.latencies.get(index.min(self.latencies.len().saturating_sub(1))).copied()
        };
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| at(share).unwrap_or_default());
        let count = self.latencies.len();
        write!(f, "{count} messages heard, p50 {half:.1?}, p99 {most:.1?}, slowest {all:.1?}")
    }
}

/// Hears messages of others at a steady rate until this is done.
async fn hear_until(
    store: &Arc<DatabaseStore>,
    options: &Options,
    prefix: &str,
    until: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Heards> {
    let mut ticks = interval(Duration::from_secs(1) / options.rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut hearing = tokio::task::JoinSet::new();
    let (mut number, mut peak_kb) = (0, 0);
    let mut latencies = Vec::new();
    tokio::pin!(until);
    loop {
        tokio::select! {
            done = &mut until => {
                done?;
                break;
            }
            _ = ticks.tick() => {
                number += 1;
                let entry = entry(format!("{prefix}{number}"), number, "u1", text(number, 80));
                let store = store.clone();
                hearing.spawn(async move {
                    let began = Instant::now();
                    store.hear(entry).await.map(|_| began.elapsed())
                });
                // Tasks that have ended would count as memory in use.
                while let Some(heard) = hearing.try_join_next() {
                    latencies.push(heard??);
                }
                peak_kb = peak_kb.max(resident_kb()?);
            }
        }
    }
    while let Some(heard) = hearing.join_next().await {
        latencies.push(heard??);
    }
    latencies.sort();
    Ok(Heards { latencies, peak_kb, end_kb: resident_kb()? })
}

fn resident_kb() -> anyhow::Result<u64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("reading the memory in use")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()).context("finding VmRSS")?;
    kb.parse().context("reading VmRSS")
}
