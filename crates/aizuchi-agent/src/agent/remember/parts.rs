//! The parts in which sources are folded: how many tokens a source takes, and how many sources one call folds.

use aizuchi_llm::prompt::attachment_text::with_files;
use aizuchi_llm::prompt::memory_input::MemorySource;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::chat::Message;
use aizuchi_model::persona::Language;

/// The maximum number of parts that the messages of a memory may fill, so that a job ends in time.
const MAX_PARTS: u64 = 20;
/// The tokens of a message's time and author, or of an entry's number and date.
const HEADING_TOKENS: u64 = 20;

/// The size of a part.
#[derive(Clone, Copy, Debug)]
pub struct PartSize {
    /// The maximum number of tokens of the sources of one call.
    pub max_tokens: u64,
    /// The maximum number of tokens that a prompt shows of one message.
    pub max_message_tokens: u64,
    /// The language in which a prompt describes files.
    pub language: Language,
}

impl PartSize {
    /// Estimates the tokens of a message as a prompt shows it.
    pub fn message_tokens(&self, message: &Message) -> u64 {
        let shown = with_files(message, self.language);
        estimate(&shown.text).min(self.max_message_tokens) + HEADING_TOKENS
    }

    fn source_tokens(&self, source: &MemorySource) -> u64 {
        match source {
            MemorySource::Messages(block) => {
                block.messages.iter().map(|message| self.message_tokens(message)).sum()
            }
            MemorySource::Entry(known) => estimate(&known.entry.text) + HEADING_TOKENS,
        }
    }

    /// Returns how many of the messages, from the first on, fit into all parts together.
    pub fn count_that_fit<'m>(&self, messages: impl Iterator<Item = &'m Message>) -> usize {
        let mut left = self.max_tokens.saturating_mul(MAX_PARTS);
        let fitting = messages.take_while(|message| {
            let tokens = self.message_tokens(message);
            let fits = tokens <= left;
            left = left.saturating_sub(tokens);
            fits
        });
        fitting.count()
    }

    /// Splits sources, in order, into parts. A source that is too long on its own gets a part of its own.
    pub fn split(&self, sources: Vec<MemorySource>) -> Vec<Vec<MemorySource>> {
        let mut parts: Vec<Vec<MemorySource>> = Vec::new();
        let mut left = 0;
        for source in sources {
            let tokens = self.source_tokens(&source);
            if tokens > left || parts.is_empty() {
                parts.push(Vec::new());
                left = self.max_tokens;
            }
            left = left.saturating_sub(tokens);
            if let Some(part) = parts.last_mut() {
                part.push(source);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_llm::prompt::memory_input::{EntryOwner, KnownEntry};
    use aizuchi_model::chat::attachment::{Attachment, AttachmentContent};
    use aizuchi_model::chat::{
        Author, AuthorKind, ChannelId, ConversationId, MessageId, UserId, Visibility, WorkspaceId,
    };
    use aizuchi_model::memory::MemoryEntry;
    use jiff::Timestamp;

    use super::*;

    fn size(max_tokens: u64) -> PartSize {
        PartSize { max_tokens, max_message_tokens: 100, language: Language::En }
    }

    fn message(text: &str) -> Message {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c"));
        Message {
            conversation: ConversationId { workspace, channel, thread: None },
            id: MessageId::new("m1"),
            at: Timestamp::UNIX_EPOCH,
            author: Author { id: UserId::new("u1"), kind: AuthorKind::Human },
            text: text.into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        }
    }

    #[test]
    fn sources_are_split_in_order_into_parts_of_limited_size() {
        let known = |number: usize, words: usize| {
            MemorySource::Entry(KnownEntry {
                owner: EntryOwner::SameMemory,
                entry: MemoryEntry {
                    date: jiff::civil::date(2027, 1, 1),
                    text: format!("{number} {}", "word ".repeat(words)).into(),
                    visibility: Visibility::Public,
                    messages: Vec::new(),
                    pinned: false,
                },
            })
        };
        let size = size(200);
        let sources: Vec<MemorySource> = (0..9).map(|number| known(number, 40)).collect();
        let parts = size.split(sources.clone());
        let tokens = |part: &Vec<MemorySource>| -> u64 {
            part.iter().map(|source| size.source_tokens(source)).sum()
        };
        assert!(parts.len() > 2 && parts.iter().all(|part| tokens(part) <= 200));
        assert_eq!(parts.concat(), sources);
        // A source that is too long on its own gets a part of its own.
        assert_eq!(size.split(vec![known(0, 400), known(1, 1)]).len(), 2);
        assert_eq!(size.split(Vec::new()).len(), 0);
    }

    #[test]
    fn a_message_counts_as_a_prompt_shows_it() {
        let size = size(200);
        // Its middle is left out.
        assert_eq!(size.message_tokens(&message(&"word ".repeat(5000))), 120);
        let short = message("listen");
        let words = AttachmentContent::Transcript("word ".repeat(50).into());
        let note = Attachment::new("F1", "note.ogg", "audio/ogg", 7);
        let attachments = vec![Attachment { content: Some(words), ..note }];
        let spoken = Message { attachments, ..short.clone() };
        assert!(size.message_tokens(&spoken) >= size.message_tokens(&short) + 50);
    }

    #[test]
    fn what_fits_is_limited() {
        let long = message(&"word ".repeat(5000));
        let messages = vec![long; 100];
        // Twenty parts of 300 tokens have room for fifty messages of 120.
        assert_eq!(size(300).count_that_fit(messages.iter()), 50);
        assert_eq!(size(300).count_that_fit(messages.iter().take(7)), 7);
        assert_eq!(size(0).count_that_fit(messages.iter()), 0);
    }
}
