//! Links to messages, as users copy them from their chat.

use crate::chat::{ChannelId, Message, MessageId};
use crate::memory::MessageRef;

/// Returns the first message that the text of a message links to, unless its words stand in the message already. In a link
/// of Discord, the channel may be a thread.
pub fn linked_message(message: &Message) -> Option<MessageRef> {
    let is_end = |letter: char| !letter.is_ascii_graphic() || "<>()|".contains(letter);
    let linked = message.text.split(is_end).find_map(parse_permalink)?;
    let mut quoted = message.quoted().filter_map(|it| it.message.as_ref());
    quoted.all(|(_, id)| *id != linked.1).then_some(linked)
}

fn parse_permalink(text: &str) -> Option<MessageRef> {
    let address = text.strip_prefix("https://")?.split(['?', '#']).next()?;
    let address = address.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let parts: Vec<&str> = address.split('/').collect();
    let (channel, id) = match parts[..] {
        [host, "archives", channel, message] if host.ends_with(".slack.com") => {
            (channel, slack_message_id(message)?)
        }
        ["discord.com" | "ptb.discord.com" | "canary.discord.com", "channels", _, channel, id] => {
            (channel, MessageId::new(id))
        }
        _ => return None,
    };
    Some(MessageRef(ChannelId::new(channel), id))
}

/// Slack's links have the message's id without its point: `p1700000000123456`.
pub fn slack_message_id(part: &str) -> Option<MessageId> {
    let digits = part.strip_prefix('p')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let (seconds, decimals) = digits.split_at_checked(digits.len().checked_sub(6)?)?;
    (is_number && !seconds.is_empty()).then(|| MessageId::new(format!("{seconds}.{decimals}")))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::chat::{
        Author, AuthorKind, ConversationId, Mention, QuotedMessage, UserId, WorkspaceId,
    };

    fn said(text: &str, mentions: Vec<Mention>) -> Message {
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("T1"),
                channel: ChannelId::new("C2"),
                thread: None,
            },
            id: MessageId::new("9"),
            at: Timestamp::UNIX_EPOCH,
            author: Author { id: UserId::new("U1"), kind: AuthorKind::Human },
            text: text.into(),
            mentions,
            attachments: Vec::new(),
            edits: 0,
        }
    }

    #[test]
    fn the_first_link_to_a_message_counts() {
        let slack = Some(("C1", "1700000000.123456"));
        for (text, expected) in [
            ("https://team.slack.com/archives/C1/p1700000000123456", slack),
            ("see https://team.slack.com/archives/C1/p1700000000123456.", slack),
            ("これ（https://team.slack.com/archives/C1/p1700000000123456）です", slack),
            (
                "this (https://a.slack.com/archives/C1/p1700000000123456?thread_ts=1.0&cid=C1)",
                slack,
            ),
            ("https://tea.example/ https://discord.com/channels/1/2/3", Some(("2", "3"))),
            ("https://ptb.discord.com/channels/@me/2/3", Some(("2", "3"))),
            ("https://evildiscord.com/channels/1/2/3", None),
            ("https://discord.com/channels/1/2", None),
            ("https://team.slack.com/archives/C1", None),
            ("https://team.slack.com/archives/C1/p123", None),
            ("https://slack.com.example/archives/C1/p1700000000123456", None),
            ("no link", None),
        ] {
            let expected = expected
                .map(|(channel, id)| MessageRef(ChannelId::new(channel), MessageId::new(id)));
            assert_eq!(linked_message(&said(text, Vec::new())), expected, "{text}");
        }
    }

    #[test]
    fn what_stands_in_the_message_already_is_not_linked() {
        let message = Some((ChannelId::new("C1"), MessageId::new("1700000000.123456")));
        let quoted = Mention::Quote(QuotedMessage { author: None, message, at: None });
        let text = "https://team.slack.com/archives/C1/p1700000000123456";
        assert_eq!(linked_message(&said(text, vec![quoted])), None);
    }
}
