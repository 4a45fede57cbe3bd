//! Prints moments of recorded talk at which somebody came back, with all that was said meanwhile and what catching up
//! finds of it, for a reader to compare.
//!
//! `cargo run --release --example catch_up_moments -- RECORDED.jsonl.gz MOMENTS SEED`

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use aizuchi_import::history::RecordedMessage;
use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_model::catch_up::{Absence, missed};
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, UserId, WorkspaceId,
};
use anyhow::Context as _;
use jiff::SignedDuration;

/// An absence lasts this long, and this many messages by others are written in it.
const MIN_ABSENCE: SignedDuration = SignedDuration::from_hours(3);
const MISSED: std::ops::RangeInclusive<usize> = 12..=60;
/// The messages before an absence that are known, too.
const BEFORE: usize = 50;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let input: PathBuf = arguments.next().context("name a file of recorded talk")?.into();
    let wanted: usize = arguments.next().context("name the number of moments")?.parse()?;
    let seed: usize = arguments.next().context("name a seed")?.parse()?;
    let recording = Recording::open(&input, &InputOptions::default(), &|_| {})?;
    let mut moments = Vec::new();
    for channel in &recording.channels {
        let mut messages = Vec::with_capacity(channel.rows.len());
        channel.each_message(&mut |message| {
            messages.push(message);
            Ok(())
        })?;
        messages.sort_by(|one, other| one.ts.total_cmp(&other.ts));
        let names: BTreeMap<UserId, Arc<str>> = messages
            .iter()
            .map(|it| (UserId::new(it.author.as_str()), it.name.as_ref().unwrap_or(&it.author)))
            .map(|(user, name)| (user, name.as_str().into()))
            .collect();
        let messages: Vec<Arc<Message>> =
            messages.iter().map(|it| Arc::new(message(it, &names))).collect();
        moments.extend(absences(&messages, &names));
    }
    let step = (moments.len() / wanted.max(1)).max(1);
    for moment in moments.iter().skip(seed % step).step_by(step).take(wanted) {
        println!("{moment}");
    }
    Ok(())
}

/// The moments at which somebody who had written before writes again.
fn absences(messages: &[Arc<Message>], names: &BTreeMap<UserId, Arc<str>>) -> Vec<String> {
    let mut last: HashMap<&UserId, usize> = HashMap::new();
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let Some(before) = last.insert(&message.author.id, index) else { continue };
        let away = message.at.duration_since(messages[before].at);
        if !MISSED.contains(&(index - before - 1)) || away < MIN_ABSENCE {
            continue;
        }
        let absence = Absence { user: &message.author.id, names, since: messages[before].at };
        let known = &messages[before.saturating_sub(BEFORE)..index];
        found.push(describe(known, before.min(BEFORE), &absence));
    }
    found
}

fn describe(known: &[Arc<Message>], before: usize, absence: &Absence<'_>) -> String {
    let name =
        |user: &UserId| absence.names.get(user).map_or(user.to_string(), |it| it.to_string());
    let line = |message: &Arc<Message>| {
        let thread = message.conversation.thread.as_ref();
        let thread = thread.map_or(String::new(), |thread| format!(" (thread of {thread})"));
        format!("  [{}]{thread} {}: {}", message.id, name(&message.author.id), message.text)
    };
    let lines = |list: &[Arc<Message>]| list.iter().map(line).collect::<Vec<_>>().join("\n");
    let missed = missed(known, &HashMap::new(), absence);
    format!(
        "=== {} was away since {}\n--- before\n{}\n--- meanwhile\n{}\n--- FOUND for them\n{}\n--- FOUND still open\n{}\n--- FOUND decided\n{}\n--- FOUND begun\n{}\n",
        name(absence.user),
        absence.since,
        lines(&known[before.saturating_sub(8)..=before]),
        lines(&known[before + 1..]),
        lines(&missed.asked),
        lines(&missed.open),
        lines(&missed.decided),
        lines(&missed.begun),
    )
}

fn message(recorded: &RecordedMessage, names: &BTreeMap<UserId, Arc<str>>) -> Message {
    let thread = recorded.thread.as_deref().filter(|thread| *thread != recorded.id);
    let words = recorded.text.split(|it: char| !it.is_alphanumeric() && it != '@' && it != '_');
    let mentioned = words.filter_map(|word| word.strip_prefix('@')).map(UserId::new);
    Message {
        conversation: ConversationId {
            workspace: WorkspaceId::new("measure"),
            channel: ChannelId::new(recorded.channel.as_str()),
            thread: thread.map(MessageId::new),
        },
        id: MessageId::new(recorded.id.as_str()),
        at: recorded.at(),
        author: Author {
            id: UserId::new(recorded.author.as_str()),
            kind: if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human },
        },
        text: recorded.text.as_str().into(),
        mentions: mentioned.filter(|user| names.contains_key(user)).map(Mention::User).collect(),
        attachments: Vec::new(),
        edits: 0,
    }
}
