//! Finds the older messages that a judge's reason quotes, or names by their time, so that readers can look them up.

use std::ops::Range;
use std::sync::LazyLock;

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::MessageRow;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use regex::Regex;

/// How many older messages are searched, and the number of those that are shown.
const SEARCHED: usize = 5000;
const MAX_CITED: usize = 2;
/// Shorter quotations are found anywhere. A Japanese character has three bytes.
const MIN_QUOTED_BYTES: usize = 12;

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"“([^“”]+)”|"([^"]+)"|「([^「」]+)」|(?:^|[\s(（])['‘](.+?)['’](?:$|[\s,.;:!?)）])"#,
    )
    .expect("the pattern is valid")
});
/// Matches the time by which prompts name a message.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2})?").expect("the pattern is valid")
});

enum Citation {
    /// Words, as [`folded`] has them.
    Words(String),
    /// The second or the minute that is named.
    Time(Range<Timestamp>),
}

/// Returns the newest message before `at` for each citation in a reason, oldest first.
pub fn find_cited(
    reason: &str,
    (channel, zone): (&RecordedChannel, &TimeZone),
    at: Timestamp,
) -> anyhow::Result<Vec<MessageRow>> {
    let (mut citations, mut found) = (citations(reason, zone), Vec::new());
    let rows = channel.rows.between(Timestamp::MIN, at);
    for row in rows.iter().rev().take(SEARCHED) {
        if citations.is_empty() {
            break;
        }
        let (text, all) = (folded(&channel.read(row)?.text), citations.len());
        citations.retain(|citation| match citation {
            Citation::Words(words) => !text.contains(words),
            Citation::Time(span) => !span.contains(&row.at()),
        });
        if citations.len() < all {
            found.push(*row);
        }
    }
    found.truncate(MAX_CITED);
    found.reverse();
    Ok(found)
}

fn citations(reason: &str, zone: &TimeZone) -> Vec<Citation> {
    let words = QUOTED.captures_iter(reason).filter_map(|found| {
        let words = found.iter().skip(1).flatten().next()?.as_str();
        // Words may be left out in between.
        let parts = words.split('…').flat_map(|part| part.split("..."));
        let longest = parts.map(folded).max_by_key(String::len)?;
        (longest.len() >= MIN_QUOTED_BYTES).then_some(Citation::Words(longest))
    });
    let times = TIME.captures_iter(reason).filter_map(|found| {
        let (second, length) = found.get(3).map_or((":00", 60), |second| (second.as_str(), 1));
        let civil: DateTime = format!("{}T{}{second}", &found[1], &found[2]).parse().ok()?;
        let from = zone.to_timestamp(civil).ok()?;
        Some(Citation::Time(from..from + SignedDuration::from_secs(length)))
    });
    words.chain(times).collect()
}

/// The words without marks, spaces and case, in which a quotation may differ.
fn folded(text: &str) -> String {
    text.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_import::history::RecordedMessage;

    #[test]
    fn what_a_reason_quotes_or_names_is_found() {
        let said = [
            "The staging password is in the vault",
            "会議室は三階に移りました",
            "Don't restart the kiln before noon!",
            "the kiln is fine",
        ];
        let messages = said.iter().enumerate().map(|(number, text)| RecordedMessage {
            channel: "r".to_owned(),
            thread: None,
            id: number.to_string(),
            ts: 3600.0 * number as f64,
            author: "ann".to_owned(),
            name: None,
            text: (*text).to_owned(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        });
        let channel = RecordedChannel::from_messages("r".to_owned(), messages.collect());
        for (reason, expected) in [
            ("Ann said “the staging password … vault”, which helps.", vec![0]),
            ("以前の「会議室は三階に移りました」が答えになる", vec![1]),
            ("It contradicts 'don’t restart the kiln' of today.", vec![2]),
            ("1970-01-01 03:00:00 ann answers it, and 1970-01-01 01:00 too", vec![1, 3]),
            ("somebody said \"the kiln\" and “fine”", vec![]),
            ("1970-01-01 05:00 ann", vec![]),
        ] {
            let at = Timestamp::from_second(20_000).unwrap();
            let found = find_cited(reason, (&channel, &TimeZone::UTC), at).unwrap();
            let hours: Vec<_> = found.iter().map(|row| row.at().as_second() / 3600).collect();
            assert_eq!(hours, expected, "{reason}");
        }
    }
}
