//! Measures how often recall finds the message that a user answered: for every recorded reply to a message more than a
//! hundred messages back, is that message among the first 1, 5, 10 or 20 that the reply's text recalls?
//!
//! `cargo run --release --example recall_measure -- RECORDED.jsonl.gz`

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aizuchi_import::history::{RecordedChannel, RecordedMessage};
use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::recall::RecallQuery;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::{InboxEntry, Store, sqlite};
use anyhow::Context as _;
use futures_util::StreamExt;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

/// The minimum distance between a reply and its message, in messages.
const MIN_DISTANCE: usize = 100;
/// The number of newest messages that are in the context anyway.
const CONTEXT_MESSAGES: usize = 50;
const RANKS: [usize; 4] = [1, 5, 10, 20];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let input: PathBuf = std::env::args().nth(1).context("name a file of recorded talk")?.into();
    let history = read(&Recording::open(&input, &InputOptions::default(), &|_| {})?)?;
    let folder = std::env::temp_dir().join(format!("recall-measure-{}", std::process::id()));
    let (store, writer) = sqlite::open(&folder.join("measure.db")).await?;
    let writer = tokio::spawn(writer.run(CancellationToken::new()));
    let begin = Instant::now();
    hear(&store, &history).await?;
    let messages: usize = history.iter().map(|recorded| recorded.messages.len()).sum();
    println!("heard {messages} messages in {:.1?}", begin.elapsed());
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

/// A channel with its messages whole, by time.
struct WholeChannel {
    name: String,
    messages: Vec<RecordedMessage>,
}

fn read(history: &Recording) -> anyhow::Result<Vec<WholeChannel>> {
    let whole = |recorded: &RecordedChannel| -> anyhow::Result<WholeChannel> {
        let mut messages = Vec::with_capacity(recorded.rows.len());
        recorded.each_message(&mut |message| {
            messages.push(message);
            Ok(())
        })?;
        Ok(WholeChannel { name: recorded.name.clone(), messages })
    };
    history.channels.iter().map(whole).collect()
}

async fn hear(store: &DatabaseStore, history: &[WholeChannel]) -> anyhow::Result<()> {
    let channels = history.iter().map(|recorded| Heard::Channel(channel(recorded)));
    let messages = history.iter().flat_map(|recorded| &recorded.messages);
    let names: HashMap<&str, &RecordedMessage> =
        messages.clone().map(|recorded| (recorded.author.as_str(), recorded)).collect();
    let users = names.into_values().map(|recorded| Heard::User(user(recorded)));
    let messages = messages.map(|recorded| Heard::Message(message(recorded), Arrival::Backfilled));
    let heard = stream::iter(channels.chain(users).chain(messages)).map(|heard| {
        store.hear(InboxEntry::new(
            heard,
            Disposition::Settled(Gate::Backfilled),
            jiff::Timestamp::UNIX_EPOCH,
        ))
    });
    let mut heard = heard.buffered(1024);
    while let Some(receipt) = heard.next().await {
        receipt?;
    }
    Ok(())
}

async fn measure(
    store: &DatabaseStore,
    history: &[WholeChannel],
    scope: Scope,
) -> anyhow::Result<()> {
    let mut found = [0; RANKS.len()];
    let mut durations = Vec::new();
    for recorded in history {
        for (reply, answered) in far_replies(recorded) {
            let channel = channel(recorded).id;
            let query = RecallQuery {
                workspace: workspace(),
                visible_from: Some(channel.clone()),
                channel: match scope {
                    Scope::Channel => Some(channel),
                    Scope::Everywhere => None,
                },
                text: recorded.messages[reply].text.clone(),
                before: Some(recorded.messages[reply - CONTEXT_MESSAGES].at()),
                limit: 20,
            };
            let begin = Instant::now();
            let recalled = store.recall(&query).await?;
            durations.push(begin.elapsed());
            let id = &recorded.messages[answered].id;
            let rank = recalled.iter().position(|recorded| recorded.message.id.as_str() == id);
            for (found, limit) in found.iter_mut().zip(RANKS) {
                *found += usize::from(rank.is_some_and(|rank| rank < limit));
            }
        }
    }
    durations.sort();
    let share = |found: &usize| *found as f64 / durations.len() as f64;
    let shares: Vec<String> = RANKS
        .iter()
        .zip(&found)
        .map(|(limit, found)| format!("@{limit} {:.3}", share(found)))
        .collect();
    let percentile = |percentile: f64| -> Duration {
        durations[((durations.len() - 1) as f64 * percentile) as usize]
    };
    println!(
        "{scope:?}: {} replies, {}; p50 {:.1?}, p95 {:.1?}, p99 {:.1?}",
        durations.len(),
        shares.join(" "),
        percentile(0.5),
        percentile(0.95),
        percentile(0.99)
    );
    Ok(())
}

/// The indexes of replies in a channel, each with the index of the distant message that it answers.
fn far_replies(recorded: &WholeChannel) -> Vec<(usize, usize)> {
    let indexes: HashMap<&str, usize> = recorded
        .messages
        .iter()
        .enumerate()
        .map(|(index, recorded)| (recorded.id.as_str(), index))
        .collect();
    let replies = recorded.messages.iter().enumerate().flat_map(|(index, recorded)| {
        let answered = recorded.reply_to.iter().filter_map(|id| indexes.get(id.as_str()));
        answered.map(move |answered| (index, *answered))
    });
    replies.filter(|(reply, answered)| *reply > answered + MIN_DISTANCE).collect()
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new("measure")
}

fn channel(recorded: &WholeChannel) -> Channel {
    Channel {
        workspace: workspace(),
        id: ChannelId::new(recorded.name.as_str()),
        name: recorded.name.as_str().into(),
        visibility: Visibility::Public,
        topic: None,
    }
}

fn user(recorded: &RecordedMessage) -> User {
    User {
        workspace: workspace(),
        id: UserId::new(recorded.author.as_str()),
        name: recorded.name.as_deref().unwrap_or(&recorded.author).into(),
        kind: kind(recorded),
        role: Role::Member,
        zone: None,
    }
}

fn message(recorded: &RecordedMessage) -> Message {
    Message {
        conversation: ConversationId {
            workspace: workspace(),
            channel: ChannelId::new(recorded.channel.as_str()),
            thread: recorded.thread.as_deref().map(MessageId::new),
        },
        id: MessageId::new(recorded.id.as_str()),
        at: recorded.at(),
        author: Author { id: UserId::new(recorded.author.as_str()), kind: kind(recorded) },
        text: recorded.text.as_str().into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    }
}

fn kind(recorded: &RecordedMessage) -> AuthorKind {
    if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human }
}
