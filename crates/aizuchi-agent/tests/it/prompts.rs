//! The prompts: required layouts, length limits, operators' templates, and a comparison with Jinja2.

mod defects;
pub mod golden;
mod length;
mod lifetime;
mod overrides;
mod parity;
mod place;
mod shared_beginning;

use std::sync::Arc;

use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
};
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::{ChannelMemory, Context};
use aizuchi_model::persona::{Language, Persona};
use jiff::Timestamp;

/// The thread in the required layouts.
pub const THREAD: &str = "1709280000.000001";

/// Noon on the day of the required example prompt.
pub fn noon() -> Timestamp {
    "2024-03-01T12:00:00Z".parse().unwrap()
}

pub fn scene() -> PromptOptions {
    PromptOptions::new(noon())
}

pub fn persona(language: Language) -> Arc<Persona> {
    let (name, system_prompt) = match language {
        Language::En => ("Aizuchi", "You are kind."),
        Language::Ja => (
            "みゃお",
            "あなたは「みゃお」という名前の猫キャラクターです。友達のように振る舞います。",
        ),
    };
    Arc::new(Persona { name: name.to_owned(), system_prompt: system_prompt.to_owned(), language })
}

pub fn conversation(thread: Option<&str>) -> ConversationId {
    ConversationId {
        workspace: WorkspaceId::new("W"),
        channel: ChannelId::new("C001"),
        thread: thread.map(MessageId::new),
    }
}

/// A message this many minutes after 10:00.
pub fn said(minute: i64, who: &str, text: &str, thread: Option<&str>) -> Arc<Message> {
    let ten: Timestamp = "2024-03-01T10:00:00Z".parse().unwrap();
    let kind = if who == "(persona)" { AuthorKind::Persona } else { AuthorKind::Human };
    Arc::new(Message {
        conversation: conversation(thread),
        id: MessageId::new(format!("{minute:05}")),
        at: ten + jiff::SignedDuration::from_mins(minute),
        author: Author { id: UserId::new(who), kind },
        text: text.into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    })
}

/// A context with only these messages of #general.
pub fn talk(target: Option<&str>, messages: Vec<Arc<Message>>) -> Context {
    let history =
        ChannelMessages::from_messages(ChannelId::new("C001"), "general".into(), messages);
    Context::new(conversation(target), history)
}

pub fn channel(id: &str, name: &str, long_term: &str, short_term: &str) -> ChannelMemory {
    let memory = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
    ChannelMemory {
        channel_id: ChannelId::new(id),
        channel_name: name.into(),
        long_term_memory: memory(long_term),
        short_term_memory: memory(short_term),
    }
}

/// The lines from this one on, without blank ones.
pub fn from<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.skip_while(|line| *line != first).collect()
}
