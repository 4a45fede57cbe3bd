//! Recorded talk, as the replay reads it: each room becomes a channel.

use std::collections::BTreeMap;

use crate::replay::history::{History, RecordedMessage};
use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_import::{ImportData, ImportedMessage, SkippedItems};

/// What a recording holds. `persona`: who of its authors the persona was.
pub fn read(history: &History, workspace: &WorkspaceId, persona: Option<&UserId>) -> ImportData {
    let kind = |line: &RecordedMessage| match (persona, line.bot) {
        (Some(persona), _) if persona.as_str() == line.author => AuthorKind::Persona,
        (_, true) => AuthorKind::Bot,
        (_, false) => AuthorKind::Human,
    };
    let mut users = BTreeMap::new();
    let mut lines = Vec::new();
    for room in &history.channels {
        for line in &room.messages {
            let name = line.name.as_deref().unwrap_or(&line.author);
            let user = User {
                workspace: workspace.clone(),
                id: UserId::new(line.author.as_str()),
                name: name.into(),
                kind: kind(line),
                role: Role::Member,
            };
            lines.push(to_imported_message(line, workspace, user.kind));
            users.insert(user.id.clone(), user);
        }
    }
    let channels = history.channels.iter().map(|room| Channel {
        workspace: workspace.clone(),
        id: ChannelId::new(room.name.as_str()),
        name: room.name.as_str().into(),
        visibility: Visibility::Private,
    });
    ImportData {
        workspace: workspace.clone(),
        channels: channels.collect(),
        users: users.into_values().collect(),
        messages: lines,
        memories: Vec::new(),
        memos: Vec::new(),
        skipped: SkippedItems::new_if_any("lines", history.bad_lines.len(), "they cannot be read")
            .into_iter()
            .collect(),
    }
}

fn to_imported_message(
    line: &RecordedMessage,
    workspace: &WorkspaceId,
    kind: AuthorKind,
) -> ImportedMessage {
    let message = Message {
        conversation: ConversationId {
            workspace: workspace.clone(),
            channel: ChannelId::new(line.room.as_str()),
            thread: line.thread.as_deref().map(MessageId::new),
        },
        id: MessageId::new(line.id.as_str()),
        at: line.at(),
        author: Author { id: UserId::new(line.author.as_str()), kind },
        text: line.text.as_str().into(),
        mentions: Vec::new(),
        edits: 0,
    };
    ImportedMessage { message, has_platform_id: true }
}
