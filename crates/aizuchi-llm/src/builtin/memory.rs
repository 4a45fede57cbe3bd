//! What the built-in mind remembers: messages verbatim, with author and day. It cannot summarize,
//! so it keeps the newest substantial messages within the requested length.

use aizuchi_model::chat::{Message, to_single_line};
use aizuchi_model::context::conversation_analysis::is_closing;
use aizuchi_structure::cues::Cues;
use serde_json::{Value, json};

use crate::builtin::vocabulary::{asks_for_secrecy, truncate_quote};
use crate::prompt::Prompt;
use crate::prompt::memory_input::{MemorySource, MessageBlock};
use crate::prompt::tokens::estimate;

/// The minimum length in bytes: ten Latin letters, or four Japanese characters. Shorter texts are greetings and
/// acknowledgments.
const MIN_TEXT_BYTES: usize = 10;

pub fn remember(prompt: &Prompt) -> String {
    let input = prompt.memory_input.iter();
    let sources = input.flat_map(|input| input.numbered());
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for (number, source) in sources {
        let mut add = |date: String, text: String| {
            if found.iter().all(|(_, known, _)| *known != text) {
                found.push((date, text, number));
            }
        };
        match source {
            MemorySource::Entry(known) => {
                add(known.entry.date.to_string(), to_single_line(&known.entry.text))
            }
            MemorySource::Messages(block) => {
                for message in block.messages.iter().filter(|message| is_memorable(message, block))
                {
                    let name = prompt.speakers.name(&message.author);
                    let text =
                        format!("{name}: {}", truncate_quote(&to_single_line(&message.text)));
                    add(prompt.speakers.format_day(message.at), text);
                }
            }
        }
    }
    // The sort is stable, so entries of the same day keep their order.
    found.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let max_tokens = prompt.memory_input.as_ref().map_or(0, |input| input.max_tokens);
    let mut left = u64::from(max_tokens).saturating_sub(FRAME_TOKENS);
    let mut entries: Vec<Value> = Vec::new();
    for (date, text, number) in found.into_iter().rev() {
        let entry = json!({ "date": date, "text": text, "sources": [number] });
        let tokens = estimate(&entry.to_string());
        if tokens > left {
            break;
        }
        left -= tokens;
        entries.push(entry);
    }
    entries.reverse();
    json!({ "entries": entries }).to_string()
}

/// The tokens of the JSON around the entries.
const FRAME_TOKENS: u64 = 8;

fn is_memorable(message: &Message, block: &MessageBlock) -> bool {
    let is_secret = |other: &&std::sync::Arc<Message>| {
        other.author == message.author && asks_for_secrecy(&other.text)
    };
    message.is_human()
        && message.text.trim().len() >= MIN_TEXT_BYTES
        && !is_closing(Cues::from_text(&message.text))
        && !block.messages.iter().any(|other| is_secret(&other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aizuchi_model::chat::{
        Author, AuthorKind, ChannelId, ConversationId, MessageId, UserId, Visibility, WorkspaceId,
    };
    use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
    use aizuchi_model::persona::{Language, Persona};
    use jiff::Timestamp;

    use super::*;
    use crate::prompt::builder::{PromptBuilder, PromptOptions};
    use crate::prompt::memory_input::{EntryOwner, KnownEntry, MemoryInput};

    fn remembered(messages: &[(&str, &str)], max_tokens: u32) -> String {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        };
        let messages = messages.iter().enumerate().map(|(number, (author, text))| {
            Arc::new(Message {
                conversation: conversation.clone(),
                id: MessageId::new(number.to_string()),
                at: Timestamp::from_second(86_400 * number as i64).unwrap(),
                author: Author { id: UserId::new(*author), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            })
        });
        let entry = MemoryEntry {
            date: jiff::civil::date(1969, 12, 1),
            text: "the roof was mended".into(),
            visibility: Visibility::Public,
            messages: Vec::new(),
            pinned: false,
        };
        let input = MemoryInput {
            key: MemoryKey {
                workspace: WorkspaceId::new("w"),
                scope: MemoryScope::Channel(ChannelId::new("c")),
                term: MemoryTerm::ShortTerm,
            },
            max_tokens,
            sources: vec![
                MemorySource::Messages(MessageBlock { messages: messages.collect(), conversation }),
                MemorySource::Entry(KnownEntry { owner: EntryOwner::SameMemory, entry }),
            ],
            channel_name: "c".into(),
            visibility: Visibility::Public,
            names: Default::default(),
            merged: Vec::new(),
            kept: Default::default(),
            seen_revision: 0,
        };
        let persona = Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        };
        let builder = PromptBuilder::load(Language::En, None).unwrap();
        let options = PromptOptions::new(Timestamp::UNIX_EPOCH);
        let prompt = builder.remember(&Arc::new(persona), &Arc::new(input), &options);
        let answer: Value = serde_json::from_str(&remember(&prompt)).unwrap();
        let entries = answer["entries"].as_array().unwrap().iter();
        let entries = entries.map(|entry| {
            format!("{} {} {}", entry["date"], entry["text"], entry["sources"]).replace('"', "")
        });
        entries.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn messages_are_remembered_with_day_and_author() {
        let messages = [
            ("ann", "the router restarts with the small button"),
            ("bob", "ok"),
            ("bob", "買い物は土曜日にします"),
            ("ann", "thank you so much"),
        ];
        let expected = "1969-12-01 the roof was mended [2]\n\
            1970-01-01 ann: the router restarts with the small button [1]\n\
            1970-01-03 bob: 買い物は土曜日にします [1]";
        assert_eq!(remembered(&messages, 300), expected);
        assert_eq!(remembered(&messages, 50), "1970-01-03 bob: 買い物は土曜日にします [1]");
    }

    #[test]
    fn secrets_are_not_remembered() {
        let messages = [
            ("ann", "I am going to leave in spring"),
            ("ann", "please keep that to yourself"),
            ("bob", "the meeting is on Monday"),
        ];
        let expected = "1969-12-01 the roof was mended [2]\n\
            1970-01-03 bob: the meeting is on Monday [1]";
        assert_eq!(remembered(&messages, 300), expected);
    }
}
