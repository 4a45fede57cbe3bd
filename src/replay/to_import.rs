//! Converts recorded chat to the data of an import.

use std::collections::BTreeMap;

use crate::replay::history::{History, RecordedMessage};
use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_import::{ImportData, ImportedMessage, SkippedItems, name_lines};

/// Converts a recording. `persona` is the author whose messages count as the persona's own.
pub fn read(history: &History, workspace: &WorkspaceId, persona: Option<&UserId>) -> ImportData {
    let kind = |message: &RecordedMessage| match (persona, message.bot) {
        (Some(persona), _) if persona.as_str() == message.author => AuthorKind::Persona,
        (_, true) => AuthorKind::Bot,
        (_, false) => AuthorKind::Human,
    };
    let mut users = BTreeMap::new();
    let mut messages = Vec::new();
    for channel in &history.channels {
        for message in &channel.messages {
            let name = message.name.as_deref().unwrap_or(&message.author);
            let user = User {
                workspace: workspace.clone(),
                id: UserId::new(message.author.as_str()),
                name: name.into(),
                kind: kind(message),
                role: Role::Member,
            };
            messages.push(to_imported_message(message, workspace, user.kind));
            users.insert(user.id.clone(), user);
        }
    }
    let channels = history.channels.iter().map(|channel| Channel {
        workspace: workspace.clone(),
        id: ChannelId::new(channel.name.as_str()),
        name: channel.name.as_str().into(),
        visibility: Visibility::Private,
    });
    ImportData {
        workspace: workspace.clone(),
        channels: channels.collect(),
        users: users.into_values().collect(),
        messages,
        memories: Vec::new(),
        memos: Vec::new(),
        skipped: bad_lines(history).into_iter().collect(),
    }
}

fn bad_lines(history: &History) -> Option<SkippedItems> {
    let numbers: Vec<usize> = history.bad_lines.iter().map(|line| line.number).collect();
    let why = format!("they cannot be read{}", name_lines(&numbers));
    SkippedItems::new_if_any("lines", numbers.len(), why)
}

fn to_imported_message(
    message: &RecordedMessage,
    workspace: &WorkspaceId,
    kind: AuthorKind,
) -> ImportedMessage {
    let message = Message {
        conversation: ConversationId {
            workspace: workspace.clone(),
            channel: ChannelId::new(message.room.as_str()),
            thread: message.thread.as_deref().map(MessageId::new),
        },
        id: MessageId::new(message.id.as_str()),
        at: message.at(),
        author: Author { id: UserId::new(message.author.as_str()), kind },
        text: message.text.as_str().into(),
        mentions: Vec::new(),
        edits: 0,
    };
    ImportedMessage { message, has_platform_id: true }
}
