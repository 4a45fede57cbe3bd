//! What rooms of JSON Lines are called, where `room` is an id and `room_name` says the name, as in `aizuchi export`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::replay::history::RecordedMessage;

/// The rooms that have a name or are in a workspace. Two with the same name are told apart by their ids, or by their
/// workspaces.
#[derive(Debug, Default)]
pub struct RoomNames {
    /// By workspace and room.
    labels: HashMap<(Option<String>, String), String>,
    taken: HashSet<String>,
}

#[derive(Deserialize)]
struct NamedRoom {
    room_name: Option<String>,
    workspace: Option<String>,
}

impl RoomNames {
    /// Parses a line of JSON Lines. The message is in the room by its name, if that is known.
    pub fn parse(&mut self, line: &[u8]) -> Result<RecordedMessage, String> {
        let mut message = RecordedMessage::parse(line)?;
        let has = |field: &[u8]| line.windows(field.len()).any(|part| part == field);
        if (has(b"\"room_name\"") || has(b"\"workspace\""))
            && let Ok(NamedRoom { room_name, workspace }) = serde_json::from_slice(line)
            && (room_name.is_some() || workspace.is_some())
        {
            let name = room_name.unwrap_or_default();
            message.room = self.label(workspace, message.room, name.trim_start_matches('#'));
        }
        Ok(message)
    }

    fn label(&mut self, workspace: Option<String>, room: String, name: &str) -> String {
        let place = (workspace, room);
        if let Some(label) = self.labels.get(&place) {
            return label.clone();
        }
        let (workspace, room) = &place;
        let name = if name.is_empty() { room } else { name };
        let in_workspace = workspace.as_ref().map(|workspace| format!("{workspace}/{room}"));
        let labels = [name.to_owned(), format!("{name} ({room})")].into_iter().chain(in_workspace);
        let mut labels = labels.filter(|label| !self.taken.contains(label));
        let label = labels.next().unwrap_or_else(|| room.clone());
        self.taken.insert(label.clone());
        self.labels.insert(place, label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_called_by_its_name_and_two_are_told_apart() {
        let mut names = RoomNames::default();
        let mut room = |room: &str, more: &str| {
            let line = format!(
                r#"{{"room":"{room}","id":"1","ts":1,"author":"ann","text":"the \"room_name\" is"{more}}}"#
            );
            names.parse(line.as_bytes()).unwrap().room
        };
        for (id, more, expected) in [
            ("C1", r#","room_name":"porch""#, "porch"),
            ("C2", r##","room_name":"#porch""##, "porch (C2)"),
            ("C1", r#","room_name":"renamed""#, "porch"),
            ("C3", r#","room_name":null"#, "C3"),
            ("C4", r#","room_name":"""#, "C4"),
            ("C5", "", "C5"),
            ("C1", r#","room_name":"porch","workspace":"T2""#, "porch (C1)"),
            ("C1", r#","room_name":"porch","workspace":"T3""#, "T3/C1"),
            ("C1", r#","workspace":"T2""#, "porch (C1)"),
        ] {
            assert_eq!(room(id, more), expected);
        }
        assert!(RoomNames::default().parse(b"{}").is_err());
    }
}
