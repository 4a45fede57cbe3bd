//! What rooms of JSON Lines are called, where `room` is an id and `room_name` says the name, as in `aizuchi export`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::replay::history::RecordedMessage;

/// The rooms that have a name. Two with the same one are told apart by their ids.
#[derive(Debug, Default)]
pub struct RoomNames {
    /// By room.
    labels: HashMap<String, String>,
    taken: HashSet<String>,
}

#[derive(Deserialize)]
struct NamedRoom {
    room_name: Option<String>,
}

impl RoomNames {
    /// Parses a line of JSON Lines. The message is in the room by its name, if that is known.
    pub fn parse(&mut self, line: &[u8]) -> Result<RecordedMessage, String> {
        const FIELD: &[u8] = b"\"room_name\"";
        let mut message = RecordedMessage::parse(line)?;
        if line.windows(FIELD.len()).any(|part| part == FIELD)
            && let Ok(NamedRoom { room_name: Some(name) }) = serde_json::from_slice(line)
        {
            message.room = self.label(message.room, name.trim_start_matches('#'));
        }
        Ok(message)
    }

    fn label(&mut self, room: String, name: &str) -> String {
        if let Some(label) = self.labels.get(&room) {
            return label.clone();
        }
        let label = if name.is_empty() {
            room.clone()
        } else if self.taken.insert(name.to_owned()) {
            name.to_owned()
        } else {
            format!("{name} ({room})")
        };
        self.labels.insert(room, label.clone());
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
        ] {
            assert_eq!(room(id, more), expected);
        }
        assert!(RoomNames::default().parse(b"{}").is_err());
    }
}
