//! Times, places and messages that tests start from, and a judge's answers.

use aizuchi_model::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Mention, Message, MessageId, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_model::context::message_window::MessageWindow;
use aizuchi_model::context::{ContextLimits, ContextWindow};
use aizuchi_model::flow::{Debounce, OnNewMessage};
use jiff::{SignedDuration, Timestamp};

/// When each story starts: 2027-01-15 08:00:00 UTC, in seconds since 1970.
pub const START: i64 = 1_800_000_000;

/// Answers with a model's own markup, and what is posted of each. `None`: the model is asked again.
pub const MARKED_ANSWERS: [(&str, Option<&str>); 20] = [
    ("Water them.", Some("Water them.")),
    ("<think>Roses. Water?</think>\n\nWater them.", Some("Water them.")),
    ("Roses. Water?\n</think>\n\nWater them.", Some("Water them.")),
    ("<thinking>Roses.</thinking>Water them.", Some("Water them.")),
    ("[THINK]Roses.[/THINK]Water them.", Some("Water them.")),
    ("◁think▷Roses.◁/think▷Water them.", Some("Water them.")),
    ("<|channel>thought\nRoses.<channel|>Water them.", Some("Water them.")),
    (
        "<|channel|>analysis<|message|>Roses.<|end|><|start|>assistant<|channel|>final<|message|>Water them.",
        Some("Water them."),
    ),
    ("analysisThey ask about roses.assistantfinalWater them.", Some("Water them.")),
    ("Water them.<|im_end|>\n<|im_start|>user\nThanks!", Some("Water them.")),
    ("Aizuchi: Water them.", Some("Water them.")),
    ("**2026-01-05 12:00:07** Aizuchi:\nWater them.", Some("Water them.")),
    ("Water them.\n\n**2026-01-05 12:00:09** alice:\nThank you, I will.", Some("Water them.")),
    ("Write `<think>` before `</think>`.", Some("Write `<think>` before `</think>`.")),
    ("<think>Roses.", None),
    ("<think>Roses.</think>", None),
    ("analysisThey ask about roses.", None),
    ("I look.<tool_call>{\"name\": \"web_search\", \"arguments\": {}}</tool_call>", None),
    ("{\"name\": \"web_search\", \"arguments\": {\"query\": \"roses\"}}", None),
    (
        "Roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses \
         roses roses roses roses roses roses roses roses roses roses roses roses",
        None,
    ),
];

pub const SILENCE: &str =
    r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9}"#;

pub const JOIN: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

pub const JOIN_IN_60: &str = r#"{"should_respond": true, "reason": "give them a minute", "confidence": 0.9, "delay_seconds": 60}"#;

/// A wait until `due` that each new message restarts.
pub fn until(due: Timestamp) -> Debounce {
    Debounce { due, max_wait: SignedDuration::MAX, on_new_message: OnNewMessage::Restart }
}

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

pub fn workspace() -> WorkspaceId {
    WorkspaceId::new("story")
}

pub fn top_level(channel: &str) -> ConversationId {
    ConversationId { workspace: workspace(), channel: ChannelId::new(channel), thread: None }
}

/// The default window at the start of a story, but with exactly this many of the newest messages.
pub fn window(messages: usize) -> ContextWindow {
    ContextWindow {
        messages: MessageWindow::exact(messages),
        thread_messages: MessageWindow::exact(messages.max(500)),
        ..ContextLimits::default().window(at(0))
    }
}

pub fn thread(channel: &str, parent: &str) -> ConversationId {
    ConversationId { thread: Some(MessageId::new(parent)), ..top_level(channel) }
}

pub fn new_channel(channel: &str, visibility: Visibility) -> Channel {
    let id = ChannelId::new(channel);
    Channel { workspace: workspace(), id, name: channel.into(), visibility, topic: None }
}

pub fn message(
    conversation: ConversationId,
    id: &str,
    at: Timestamp,
    name: &str,
    text: &str,
) -> Message {
    let kind = if name.ends_with("bot") { AuthorKind::Bot } else { AuthorKind::Human };
    Message {
        conversation,
        id: MessageId::new(id),
        at,
        author: Author { id: UserId::new(format!("u-{name}")), kind },
        text: text.into(),
        mentions: mentions(text),
        attachments: Vec::new(),
        edits: 0,
    }
}

/// The users whom a text mentions as `@name`, and `@Aizuchi`.
pub fn mentions(text: &str) -> Vec<Mention> {
    let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| name.trim_end_matches([',', '.', ':', '?', '!']));
    let of = |name: &str| match name {
        "Aizuchi" => Mention::Persona,
        name => Mention::User(UserId::new(format!("u-{name}"))),
    };
    names.filter(|name| *name != "everyone").map(of).collect()
}
