//! The messages that the database is filled with.

use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    UserId, Visibility, WorkspaceId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::{InboxEntry, Store};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use crate::Options;

const CHANNELS: usize = 50;
const USERS: usize = 200;
pub const MEMBER: &str = "u-member";
/// How long a message of the member is, in bytes.
const MEMBER_TEXT: usize = 1800;
/// How many words there are. A word is the more frequent the lower its number.
const WORDS: f64 = 50_000.0;
const CONSONANTS: [char; 10] = ['b', 'd', 'f', 'g', 'k', 'l', 'm', 'n', 'r', 't'];
const VOWELS: [char; 5] = ['a', 'e', 'i', 'o', 'u'];

pub fn workspace() -> WorkspaceId {
    WorkspaceId::new("w")
}

pub fn channel(number: usize) -> ChannelId {
    ChannelId::new(format!("c{:02}", number % CHANNELS))
}

/// A text of words as frequent as those of a language: the chance of the word with number n is in proportion to 1/n.
pub fn text(number: usize, length: usize) -> String {
    let mut text = format!("{number}");
    let mut rest = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
    while text.len() < length {
        rest = rest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (rest >> 33) as f64 / (1_u64 << 31) as f64;
        text.push(' ');
        push_word(&mut text, (chance * WORDS.ln()).exp() as usize);
    }
    text
}

fn push_word(text: &mut String, mut number: usize) {
    loop {
        text.push(CONSONANTS[number % CONSONANTS.len()]);
        number /= CONSONANTS.len();
        text.push(VOWELS[number % VOWELS.len()]);
        number /= VOWELS.len();
        if number == 0 {
            return;
        }
    }
}

pub fn entry(id: String, number: usize, user: &str, text: String) -> InboxEntry {
    let kind = match user {
        "persona" => AuthorKind::Persona,
        _ => AuthorKind::Human,
    };
    let message = Message {
        conversation: ConversationId {
            workspace: workspace(),
            channel: channel(number),
            thread: None,
        },
        id: MessageId::new(id),
        at: Timestamp::from_second(1_700_000_000 + number as i64).unwrap_or_default(),
        author: Author { id: UserId::new(user), kind },
        text: text.into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    };
    let heard = Heard::Message(message, Arrival::Backfilled);
    InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), Timestamp::UNIX_EPOCH)
}

pub async fn fill(store: &DatabaseStore, options: &Options) -> anyhow::Result<()> {
    for number in 0..CHANNELS {
        let id = channel(number);
        let (name, visibility) = (id.0.clone(), Visibility::Public);
        let channel = Channel { workspace: workspace(), id, name, visibility, topic: None };
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
