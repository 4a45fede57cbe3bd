//! The names of channels in JSON Lines, where `room` is an id and `room_name` is the name, as in `aizuchi export`, and
//! who may read their messages.

use std::collections::{HashMap, HashSet};

use aizuchi_model::chat::Visibility;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::history::RecordedMessage;
use crate::json_lines::holds;

/// The channels that have a name or belong to a workspace. Channels with the same name are told apart by their ids or
/// workspaces.
#[derive(Debug, Default)]
pub struct ChannelNames {
    /// By workspace and channel.
    labels: HashMap<(Option<String>, String), String>,
    taken: HashSet<String>,
}

/// A message, and who may read it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedLine {
    pub message: RecordedMessage,
    pub audience: Audience,
}

/// Who may read a message, as its line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The line does not say.
    Unknown,
    Everybody,
    /// Its channel is private.
    Channel,
    /// Its channel was private when it was written.
    FormerChannel,
}

/// What a line may say about its channel. A value of another type counts as missing, except for the visibility:
/// anything that is not public is private.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChannelFields {
    #[serde(rename = "room_name")]
    channel_name: Value,
    workspace: Value,
    visibility: Value,
    said_in: Value,
}

impl ChannelFields {
    const NAMES: [&str; 4] = ["\"room_name\"", "\"workspace\"", "\"visibility\"", "\"said_in\""];

    fn audience(&self) -> Audience {
        let is_public = |value: &Value| *value == json!(Visibility::Public);
        match (&self.visibility, &self.said_in) {
            (Value::Null, Value::Null) => Audience::Unknown,
            (visibility, _) if !visibility.is_null() && !is_public(visibility) => Audience::Channel,
            (_, said_in) if !said_in.is_null() && !is_public(said_in) => Audience::FormerChannel,
            _ => Audience::Everybody,
        }
    }
}

impl ChannelNames {
    /// Parses a line of JSON Lines. The channel of the message is replaced with the channel's name, if known.
    pub fn parse(&mut self, line: &[u8]) -> Result<ParsedLine, String> {
        let mut message = RecordedMessage::parse(line)?;
        if !ChannelFields::NAMES.iter().any(|name| holds(line, name)) {
            return Ok(ParsedLine { message, audience: Audience::Unknown });
        }
        let (fields, audience) = match serde_json::from_slice::<ChannelFields>(line) {
            Ok(fields) => (fields, None),
            // Treat an unparsable line, e.g. with a duplicate key, as private.
            Err(_) => (ChannelFields::default(), Some(Audience::Channel)),
        };
        let audience = audience.unwrap_or_else(|| fields.audience());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (channel_name, workspace) = (text(&fields.channel_name), text(&fields.workspace));
        if channel_name.is_some() || workspace.is_some() {
            let name = channel_name.unwrap_or_default();
            message.channel = self.label(workspace, message.channel, name.trim_start_matches('#'));
        }
        Ok(ParsedLine { message, audience })
    }

    fn label(&mut self, workspace: Option<String>, channel: String, name: &str) -> String {
        let place = (workspace, channel);
        if let Some(label) = self.labels.get(&place) {
            return label.clone();
        }
        let (workspace, channel) = &place;
        let name = if name.is_empty() { channel } else { name };
        let in_workspace = workspace.as_ref().map(|workspace| format!("{workspace}/{channel}"));
        let labels =
            [name.to_owned(), format!("{name} ({channel})")].into_iter().chain(in_workspace);
        let mut labels = labels.filter(|label| !self.taken.contains(label));
        let label = labels.next().unwrap_or_else(|| channel.clone());
        self.taken.insert(label.clone());
        self.labels.insert(place, label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_may_read_it() {
        for (more, expected) in [
            ("", Audience::Unknown),
            (r#","visibility":null"#, Audience::Unknown),
            (r#","visibility":"public""#, Audience::Everybody),
            (r#","visibility":"private""#, Audience::Channel),
            (r#","visibility":"direct""#, Audience::Channel),
            (r#","visibility":"somehow""#, Audience::Channel),
            (r#","visibility":7,"workspace":7"#, Audience::Channel),
            (r#","visibility":"public","said_in":"private""#, Audience::FormerChannel),
            (r#","visibility":"private","said_in":"public""#, Audience::Channel),
            (r#","visibility":"public","visibility":"public""#, Audience::Channel),
        ] {
            let line =
                format!(r#"{{"room":"C1","id":"1","ts":1,"author":"ann","text":"x"{more}}}"#);
            let parsed = ChannelNames::default().parse(line.as_bytes()).unwrap();
            assert_eq!(parsed.audience, expected, "{more}");
        }
    }

    #[test]
    fn a_channel_is_called_by_its_name_and_two_are_told_apart() {
        let mut names = ChannelNames::default();
        let mut label = |channel: &str, more: &str| {
            let line = format!(
                r#"{{"room":"{channel}","id":"1","ts":1,"author":"ann","text":"the \"room_name\" is"{more}}}"#
            );
            names.parse(line.as_bytes()).unwrap().message.channel
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
            assert_eq!(label(id, more), expected);
        }
        assert!(ChannelNames::default().parse(b"{}").is_err());
    }
}
