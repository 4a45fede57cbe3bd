//! Recorded talk, as the replay reads it: each room becomes a channel.

use std::collections::BTreeMap;

use crate::replay::history::{History, Recorded};
use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_import::{Belongings, LeftOut, OldLine};

/// What a recording holds. `persona`: who of its authors the persona was.
pub fn read(history: &History, workspace: &WorkspaceId, persona: Option<&UserId>) -> Belongings {
    let kind = |line: &Recorded| match (persona, line.bot) {
        (Some(persona), _) if persona.as_str() == line.author => AuthorKind::Persona,
        (_, true) => AuthorKind::Bot,
        (_, false) => AuthorKind::Human,
    };
    let mut users = BTreeMap::new();
    let mut lines = Vec::new();
    for room in &history.rooms {
        for line in &room.messages {
            let name = line.name.as_deref().unwrap_or(&line.author);
            let user = User {
                workspace: workspace.clone(),
                id: UserId::new(line.author.as_str()),
                name: name.into(),
                kind: kind(line),
                role: Role::Member,
            };
            lines.push(old_line(line, workspace, user.kind));
            users.insert(user.id.clone(), user);
        }
    }
    let channels = history.rooms.iter().map(|room| Channel {
        workspace: workspace.clone(),
        id: ChannelId::new(room.name.as_str()),
        name: room.name.as_str().into(),
        visibility: Visibility::Private,
    });
    Belongings {
        workspace: workspace.clone(),
        channels: channels.collect(),
        users: users.into_values().collect(),
        lines,
        memories: Vec::new(),
        memos: Vec::new(),
        left_out: LeftOut::of("lines", history.bad_lines.len(), "they cannot be read")
            .into_iter()
            .collect(),
    }
}

fn old_line(line: &Recorded, workspace: &WorkspaceId, kind: AuthorKind) -> OldLine {
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
    OldLine { message, has_platform_id: true }
}
