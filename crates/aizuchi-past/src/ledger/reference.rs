//! A reference to a message, by its id or by the link that users copy from their chat, or to a decision, by the address
//! of its page.

use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::permalink::slack_message_id;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A message. The channel is set if the id is unique only within it.
    Message {
        channel: Option<ChannelId>,
        id: MessageId,
    },
    Decision(DecisionId),
}

impl Reference {
    /// Parses an id or a link. The error says what is wrong with a link.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        // Slack writes links as `<https://…>`.
        let text = text.trim().trim_start_matches('<').trim_end_matches('>');
        let Some((_, address)) = text.split_once("://") else {
            return Ok(Reference::Message { channel: None, id: MessageId::new(text) });
        };
        let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
        let path = address.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).filter(|part| !part.is_empty()).collect();
        match parts[..] {
            ["archives", channel, message] => {
                let id = slack_message_id(message);
                let id = id.ok_or("its last part must be like p1700000000123456")?;
                Ok(Reference::Message { channel: Some(ChannelId::new(channel)), id })
            }
            ["archives", _] => Err("the link names a channel, and no message"),
            ["channels", _, _, message] if is_number(message) => {
                // A link to a message in a thread names the thread instead of its channel. The id is unique anyway.
                Ok(Reference::Message { channel: None, id: MessageId::new(message) })
            }
            ["channels", ..] => Err("the link names a channel, and no message"),
            ["decisions", id] => {
                let id = id.parse().map_err(|_| "the number of the decision cannot be read")?;
                Ok(Reference::Decision(DecisionId(id)))
            }
            [] if fragment.starts_with('/') => room_message(fragment),
            _ => Err("it is not a link to a message on Slack or Discord, or on a page of Aizuchi"),
        }
    }
}

/// The address of a thread in the local room, `#/channel/message`.
fn room_message(fragment: &str) -> Result<Reference, &'static str> {
    let mut parts = fragment.split('/').skip(1).map(decode_percent);
    let channel = parts.next().flatten().filter(|channel| !channel.is_empty());
    let message = parts.next().ok_or("the link names a channel, and no message")?;
    let (channel, message) = channel.zip(message).ok_or("the link cannot be read")?;
    Ok(Reference::Message { channel: Some(ChannelId::new(channel)), id: MessageId::new(message) })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `None` if the text is not percent-encoded UTF-8.
fn decode_percent(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_links_are_read() {
        let message = |channel: Option<&str>, id: &str| {
            Ok(Reference::Message { channel: channel.map(ChannelId::new), id: MessageId::new(id) })
        };
        for (text, expected) in [
            ("1700000000.123456", message(None, "1700000000.123456")),
            (
                "https://team.slack.com/archives/C1/p1700000000123456",
                message(Some("C1"), "1700000000.123456"),
            ),
            (
                "<https://team.slack.com/archives/C1/p1700000000123456?thread_ts=1699999999.000001&cid=C1>",
                message(Some("C1"), "1700000000.123456"),
            ),
            ("https://discord.com/channels/1/2/3", message(None, "3")),
            ("https://ptb.discord.com/channels/@me/2/3", message(None, "3")),
            ("http://127.0.0.1:8080/#/general/42", message(Some("general"), "42")),
            ("http://127.0.0.1:8080/#/%E9%9B%91%E8%AB%87/4%202", message(Some("雑談"), "4 2")),
            ("http://127.0.0.1:8080/decisions/7", Ok(Reference::Decision(DecisionId(7)))),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
        }
        for (text, part) in [
            ("https://team.slack.com/archives/C1/x1700000000123456", "p1700000000123456"),
            ("https://team.slack.com/archives/C1/p1234", "p1700000000123456"),
            ("https://team.slack.com/archives/C1", "no message"),
            ("https://discord.com/channels/1/2", "no message"),
            ("http://127.0.0.1:8080/#/general", "no message"),
            ("http://127.0.0.1:8080/#/%E9/1", "cannot be read"),
            ("http://127.0.0.1:8080/decisions/x", "number"),
            ("https://example.com/", "not a link to a message"),
        ] {
            let error = Reference::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
