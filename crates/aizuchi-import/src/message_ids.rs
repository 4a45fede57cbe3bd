//! Which messages have the platform's own ids. Another bot may not know all of these, and then generates some of its
//! own.

use aizuchi_model::chat::MessageId;
use jiff::Timestamp;

/// Where the ids of the messages of an import come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageIds {
    /// All ids are the platform's, so its history contains the messages under the same ids.
    #[default]
    Platforms,
    /// Slack's ids, which are times. Any other id was generated for a post of the bot's own.
    SlackOrMade,
    /// Ids with this prefix were generated.
    Made { prefix: &'static str },
}

impl MessageIds {
    pub fn is_platforms(self, id: &MessageId) -> bool {
        match self {
            MessageIds::Platforms => true,
            MessageIds::SlackOrMade => parse_slack_timestamp(id.as_str()).is_some(),
            MessageIds::Made { prefix } => !id.as_str().starts_with(prefix),
        }
    }
}

/// Parses a Slack id, which is a time: `1735562096.123456`.
pub fn parse_slack_timestamp(id: &str) -> Option<Timestamp> {
    let (seconds, micros) = id.split_once('.')?;
    let is_number = |text: &str| text.bytes().all(|character| character.is_ascii_digit());
    if micros.len() != 6 || !is_number(seconds) || !is_number(micros) {
        return None;
    }
    let micros =
        seconds.parse::<i64>().ok()?.checked_mul(1_000_000)? + micros.parse::<i64>().ok()?;
    Timestamp::from_microsecond(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_ids_are_times() {
        let at = parse_slack_timestamp("1735562096.123456").unwrap();
        assert_eq!(at.to_string(), "2024-12-30T12:34:56.123456Z");
        for id in
            ["", "1735562096", "1735562096.12", "a.123456", "6f1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11"]
        {
            assert_eq!(parse_slack_timestamp(id), None, "{id}");
        }
    }

    #[test]
    fn made_ids_are_told_from_the_platforms() {
        let of_kotonoha = MessageIds::Made { prefix: "kotonoha-" };
        for (ids, id, expected) in [
            (MessageIds::Platforms, "anything", true),
            (MessageIds::SlackOrMade, "1735562096.123456", true),
            (MessageIds::SlackOrMade, "6f1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11", false),
            (of_kotonoha, "1326000000000000000", true),
            (of_kotonoha, "kotonoha-00ff", false),
        ] {
            assert_eq!(ids.is_platforms(&MessageId::new(id)), expected, "{ids:?} {id}");
        }
    }
}
