//! How often recall finds what people have answered: for every recorded reply to a line more than a
//! hundred lines back, is that line among the first 1, 5, 10, 20 that its text recalls?
//!
//! `cargo run --release --example recall_measure -- RECORDED.jsonl.gz`

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aizuchi::replay::history::{History, RecordedChannel, RecordedMessage};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::event::Disposition;
use aizuchi_core::recall::RecallQuery;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::{InboxEntry, Store, sqlite};
use anyhow::Context as _;
use futures_util::StreamExt;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

/// How far back an answered line is that is worth looking for.
const FAR: usize = 100;
/// How many of the newest lines the caller has anyway.
const HAS: usize = 50;
const RANKS: [usize; 4] = [1, 5, 10, 20];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let input: PathBuf = std::env::args().nth(1).context("name a file of recorded talk")?.into();
    let history = History::open(&input)?;
    let folder = std::env::temp_dir().join(format!("recall-measure-{}", std::process::id()));
    let (store, writer) = sqlite::open(&folder.join("measure.db")).await?;
    let writer = tokio::spawn(writer.run(CancellationToken::new()));
    let begin = Instant::now();
    hear(&store, &history).await?;
    println!("heard {} lines in {:.1?}", history.messages(), begin.elapsed());
    for scope in [Scope::Channel, Scope::Everywhere] {
        measure(&store, &history, scope).await?;
    }
    drop(store);
    writer.await??;
    std::fs::remove_dir_all(&folder).context("tidying up")
}

#[derive(Clone, Copy, Debug)]
enum Scope {
    Channel,
    Everywhere,
}

async fn hear(store: &DatabaseStore, history: &History) -> anyhow::Result<()> {
    let rooms = history.channels.iter().map(|room| Heard::Channel(channel(room)));
    let lines = history.channels.iter().flat_map(|room| &room.messages);
    let names: HashMap<&str, &RecordedMessage> =
        lines.clone().map(|line| (line.author.as_str(), line)).collect();
    let names = names.into_values().map(|line| Heard::User(user(line)));
    let lines = lines.map(|line| Heard::Message(message(line), Arrival::Backfilled));
    let heard = stream::iter(rooms.chain(names).chain(lines)).map(|heard| {
        store.hear(InboxEntry::new(
            heard,
            Disposition::Settled(Gate::CaughtUp),
            jiff::Timestamp::UNIX_EPOCH,
        ))
    });
    let mut heard = heard.buffered(1024);
    while let Some(receipt) = heard.next().await {
        receipt?;
    }
    Ok(())
}

async fn measure(store: &DatabaseStore, history: &History, scope: Scope) -> anyhow::Result<()> {
    let mut found = [0; RANKS.len()];
    let mut took = Vec::new();
    for room in &history.channels {
        for (reply, answered) in far_replies(room) {
            let channel = channel(room).id;
            let query = RecallQuery {
                workspace: workspace(),
                visible_from: Some(channel.clone()),
                channel: match scope {
                    Scope::Channel => Some(channel),
                    Scope::Everywhere => None,
                },
                text: room.messages[reply].text.clone(),
                before: Some(room.messages[reply - HAS].at()),
                limit: 20,
            };
            let begin = Instant::now();
            let recalled = store.recall(&query).await?;
            took.push(begin.elapsed());
            let id = &room.messages[answered].id;
            let rank = recalled.iter().position(|line| line.message.id.as_str() == id);
            for (found, most) in found.iter_mut().zip(RANKS) {
                *found += usize::from(rank.is_some_and(|rank| rank < most));
            }
        }
    }
    took.sort();
    let share = |found: &usize| *found as f64 / took.len() as f64;
    let shares: Vec<String> = RANKS
        .iter()
        .zip(&found)
        .map(|(most, found)| format!("@{most} {:.3}", share(found)))
        .collect();
    let part = |part: f64| -> Duration { took[((took.len() - 1) as f64 * part) as usize] };
    println!(
        "{scope:?}: {} replies, {}; p50 {:.1?}, p95 {:.1?}, p99 {:.1?}",
        took.len(),
        shares.join(" "),
        part(0.5),
        part(0.95),
        part(0.99)
    );
    Ok(())
}

/// The places of replies in a room, and of the lines far back that they answer.
fn far_replies(room: &RecordedChannel) -> Vec<(usize, usize)> {
    let places: HashMap<&str, usize> =
        room.messages.iter().enumerate().map(|(place, line)| (line.id.as_str(), place)).collect();
    let replies = room.messages.iter().enumerate().flat_map(|(place, line)| {
        let answered = line.reply_to.iter().filter_map(|id| places.get(id.as_str()));
        answered.map(move |answered| (place, *answered))
    });
    replies.filter(|(reply, answered)| *reply > answered + FAR).collect()
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new("measure")
}

fn channel(room: &RecordedChannel) -> Channel {
    Channel {
        workspace: workspace(),
        id: ChannelId::new(room.name.as_str()),
        name: room.name.as_str().into(),
        visibility: Visibility::Public,
    }
}

fn user(line: &RecordedMessage) -> User {
    User {
        workspace: workspace(),
        id: UserId::new(line.author.as_str()),
        name: line.name.as_deref().unwrap_or(&line.author).into(),
        kind: kind(line),
        role: Role::Member,
    }
}

fn message(line: &RecordedMessage) -> Message {
    Message {
        conversation: ConversationId {
            workspace: workspace(),
            channel: ChannelId::new(line.room.as_str()),
            thread: line.thread.as_deref().map(MessageId::new),
        },
        id: MessageId::new(line.id.as_str()),
        at: line.at(),
        author: Author { id: UserId::new(line.author.as_str()), kind: kind(line) },
        text: line.text.as_str().into(),
        mentions: Vec::new(),
        edits: 0,
    }
}

fn kind(line: &RecordedMessage) -> AuthorKind {
    if line.bot { AuthorKind::Bot } else { AuthorKind::Human }
}
