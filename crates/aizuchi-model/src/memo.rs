//! Memos: short named notes that the persona keeps, and their rules. Plain data. A reply's tools collect the changes,
//! and the store writes them with the outcome.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chat::{ChannelId, UserId, Visibility, is_line_break, to_single_line};
use crate::memory::{MemoryId, MessageRef};
use crate::overlap::{OverlapIndex, OverlapThreshold};

/// The maximum lengths are in characters.
pub const MAX_NAME_LENGTH: usize = 32;
pub const MAX_CONTENT_LENGTH: usize = 2_000;
pub const MAX_DETAIL_LENGTH: usize = 8_000;
/// The maximum number of memos with what one user said that are visible in a channel. Every reply there reads them all.
pub const MAX_PER_USER: usize = 100;
pub const MAX_TAGS: usize = 3;
/// The maximum number of memos on a page of a list.
pub const MAX_LIST_LENGTH: usize = 50;

/// What counts as repeating a message. The threshold is low because a memo may be short.
const TEXT_OVERLAP: OverlapThreshold =
    OverlapThreshold { min_run: 12, min_whole_length: 6, unspaced_weight: 2 };
/// The threshold for names and tags, where a single word says too little.
const NAME_OVERLAP: OverlapThreshold =
    OverlapThreshold { min_whole_length: usize::MAX, ..TEXT_OVERLAP };

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memo {
    /// A single line, unique in its scope.
    pub name: String,
    pub content: String,
    /// 1 to 5; 5 is the most important.
    pub priority: u8,
    /// At most [`MAX_TAGS`], without duplicates.
    pub tags: Vec<String>,
    /// Details that are too long for the content.
    pub detail: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Where the content was said or, if it is not public, where the memo is visible.
    pub channel: ChannelId,
    /// Who may see it.
    pub visibility: Visibility,
    /// Who said it, if known.
    pub said_by: Option<UserId>,
}

/// Where a memo is visible, and where its name is unique.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoScope {
    /// Visible everywhere: it was said in public.
    Workspace,
    /// Visible in this channel only (invariant 9).
    Channel(ChannelId),
}

/// What the store writes, in this order, when it keeps an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoChange {
    /// If another memo took the name in the meantime, that one is kept and this one gets an [`available_name`].
    Upsert {
        memo: Memo,
        /// The memo that this is a new version of. It keeps its id and its source messages.
        replaces: Option<MemoryId>,
        /// Messages that it repeats, besides those that the reply answers.
        messages: Vec<MessageRef>,
    },
    Remove(MemoryId),
}

/// A new memo as a model describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewMemo {
    pub name: String,
    pub content: String,
    pub priority: i64,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
}

/// An update of a memo. Missing fields are unchanged; `detail` replaces the old one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MemoUpdate {
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub priority: Option<i64>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub new_name: Option<String>,
}

/// Why a memo is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoError {
    #[error("Name cannot be empty")]
    EmptyName,
    #[error("Name must be {MAX_NAME_LENGTH} characters or less")]
    NameTooLong,
    #[error("Name must be one line of visible letters")]
    InvalidName,
    #[error("Priority must be between 1 and 5")]
    InvalidPriority,
    #[error("Content cannot be empty")]
    EmptyContent,
    #[error("Content must be {MAX_CONTENT_LENGTH} characters or less")]
    ContentTooLong,
    #[error("Detail must be {MAX_DETAIL_LENGTH} characters or less")]
    DetailTooLong,
    #[error("A tag must be {MAX_NAME_LENGTH} characters or less")]
    TagTooLong,
    #[error("There are {MAX_PER_USER} memos of what this user said; remove one first")]
    TooMany,
    #[error("Maximum {MAX_TAGS} tags allowed per memo")]
    TooManyTags,
    #[error("Nothing that should change was given")]
    NothingToChange,
    #[error("It was made in public and can only be changed there; keep one of another name here")]
    ReadOnlyHere,
}

impl Memo {
    pub fn scope(&self) -> MemoScope {
        match self.visibility {
            Visibility::Public => MemoScope::Workspace,
            Visibility::Private | Visibility::Direct => MemoScope::Channel(self.channel.clone()),
        }
    }

    /// Returns the memo as the store keeps it. `replaced` is the old version of the memo, if it still exists. `known`
    /// says who may know the sources of the reply in the channel `here`. If these are not public, nothing of the reply
    /// gets into a public memo, and the channel gets its own memo (invariant 9).
    pub fn to_stored(&self, replaced: Option<&Memo>, known: Visibility, here: &ChannelId) -> Self {
        let (visibility, channel) = match replaced {
            Some(old) if old.scope() != MemoScope::Workspace => (old.visibility, &old.channel),
            Some(_) | None if self.scope() != MemoScope::Workspace => {
                (self.visibility, &self.channel)
            }
            Some(_) | None if known != Visibility::Public => (Visibility::Private, here),
            Some(_) | None => (self.visibility, &self.channel),
        };
        Self { visibility, channel: channel.clone(), ..self.clone() }
    }

    /// Returns the memo after its channel, which contains one of its source messages, became private: no other channel
    /// may see it. `None` if the memo belongs to another channel, because then it may not be visible anywhere.
    pub fn to_private(&self, channel: &ChannelId) -> Option<Self> {
        match self.scope() {
            MemoScope::Workspace => {
                let channel = channel.clone();
                Some(Self { visibility: Visibility::Private, channel, ..self.clone() })
            }
            MemoScope::Channel(own) => (own == *channel).then(|| self.clone()),
        }
    }

    /// Whether it repeats this text.
    pub fn is_repeating(&self, text: &str) -> bool {
        let texts = || std::iter::once(&*self.content).chain(self.detail.as_deref());
        let named = || std::iter::once(&*self.name).chain(self.tags.iter().map(String::as_str));
        let index = OverlapIndex::new([text], TEXT_OVERLAP);
        OverlapIndex::new(texts(), TEXT_OVERLAP).has_overlap_with(text)
            || OverlapIndex::new(named(), NAME_OVERLAP).has_overlap_with(text)
            || texts().any(|own| index.has_overlap_with(own))
    }

    pub fn is_visible_from(&self, channel: &ChannelId) -> bool {
        match self.scope() {
            MemoScope::Workspace => true,
            MemoScope::Channel(own) => own == *channel,
        }
    }
}

/// Parses a memo's name and trims it.
pub fn parse_name(name: &str) -> Result<String, MemoError> {
    let name = name.trim();
    if to_single_line(name).is_empty() {
        return Err(MemoError::EmptyName);
    }
    if name.contains(is_line_break)
        || name.contains(char::is_control)
        || to_single_line(name) != name
    {
        return Err(MemoError::InvalidName);
    }
    if name.chars().count() > MAX_NAME_LENGTH {
        return Err(MemoError::NameTooLong);
    }
    Ok(name.to_owned())
}

pub fn parse_priority(priority: i64) -> Result<u8, MemoError> {
    let priority = u8::try_from(priority).map_err(|_| MemoError::InvalidPriority)?;
    if (1..=5).contains(&priority) { Ok(priority) } else { Err(MemoError::InvalidPriority) }
}

pub fn parse_content(content: &str) -> Result<String, MemoError> {
    let content = content.trim();
    if to_single_line(content).is_empty() {
        return Err(MemoError::EmptyContent);
    }
    if content.chars().count() > MAX_CONTENT_LENGTH {
        return Err(MemoError::ContentTooLong);
    }
    Ok(content.to_owned())
}

pub fn parse_detail(detail: &str) -> Result<String, MemoError> {
    let detail = detail.trim();
    if detail.chars().count() > MAX_DETAIL_LENGTH {
        return Err(MemoError::DetailTooLong);
    }
    Ok(detail.to_owned())
}

/// Puts each tag on a single line; leaves out blank tags and duplicates.
pub fn parse_tags(tags: &[String]) -> Result<Vec<String>, MemoError> {
    let mut parsed: Vec<String> = Vec::new();
    for tag in tags.iter().map(|tag| to_single_line(tag)) {
        if tag.chars().count() > MAX_NAME_LENGTH {
            return Err(MemoError::TagTooLong);
        }
        if !tag.is_empty() && !parsed.contains(&tag) {
            parsed.push(tag);
        }
    }
    if parsed.len() > MAX_TAGS { Err(MemoError::TooManyTags) } else { Ok(parsed) }
}

/// Returns the name itself, or the first of `name-2`, `name-3` … that is not taken.
pub fn available_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u64..).map(|number| {
        let ending = format!("-{number}");
        let length = MAX_NAME_LENGTH - ending.len();
        name.chars().take(length).collect::<String>() + &ending
    });
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("numbers do not run out before names do")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_visible_line() {
        for (name, expected) in [
            ("  birthdays ", Ok("birthdays")),
            ("誕生日", Ok("誕生日")),
            (&"あ".repeat(32), Ok(&*"あ".repeat(32))),
            (&"あ".repeat(33), Err(MemoError::NameTooLong)),
            ("", Err(MemoError::EmptyName)),
            (" \n ", Err(MemoError::EmptyName)),
            ("\u{200b}", Err(MemoError::EmptyName)),
            ("two\nlines", Err(MemoError::InvalidName)),
            ("two\u{2028}lines", Err(MemoError::InvalidName)),
            ("a\u{202e}b", Err(MemoError::InvalidName)),
            ("a\tb", Err(MemoError::InvalidName)),
        ] {
            assert_eq!(
                parse_name(name).as_deref(),
                expected.as_ref().map(|name| *name),
                "{name:?}"
            );
        }
    }

    #[test]
    fn priorities_contents_and_tags_have_their_limits() {
        for (priority, expected) in [(1, Some(1)), (5, Some(5)), (0, None), (6, None), (-1, None)] {
            assert_eq!(parse_priority(priority).ok(), expected, "{priority}");
        }
        assert_eq!(parse_priority(1 << 40), Err(MemoError::InvalidPriority));
        assert_eq!(parse_content(" tea\nmilk "), Ok("tea\nmilk".to_owned()));
        assert_eq!(parse_content(" \n\u{feff}"), Err(MemoError::EmptyContent));
        assert_eq!(parse_content(&"茶".repeat(2_001)), Err(MemoError::ContentTooLong));
        assert_eq!(parse_detail(&"茶".repeat(8_001)), Err(MemoError::DetailTooLong));
        assert_eq!(parse_tags(&["茶".repeat(33)]), Err(MemoError::TagTooLong));
        for (tags, expected) in [
            (vec![], Ok(vec![])),
            (vec!["a", "b", "c"], Ok(vec!["a", "b", "c"])),
            (vec!["a", " a", "", "b\nc"], Ok(vec!["a", "b c"])),
            (vec!["a", "b", "c", "d"], Err(MemoError::TooManyTags)),
        ] {
            let tags: Vec<String> = tags.into_iter().map(str::to_owned).collect();
            let expected = expected.map(|tags| tags.into_iter().map(str::to_owned).collect());
            assert_eq!(parse_tags(&tags), expected);
        }
    }

    fn memo(channel: &str, visibility: Visibility) -> Memo {
        Memo {
            name: "birthday".to_owned(),
            content: "May 3rd".to_owned(),
            priority: 3,
            tags: vec!["people".to_owned()],
            detail: None,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
            channel: ChannelId::new(channel),
            visibility,
            said_by: None,
        }
    }

    #[test]
    fn what_is_not_public_stays_in_its_channel() {
        use Visibility::{Private, Public};
        let (garden, own) = (memo("garden", Public), memo("cellar", Private));
        let here = ChannelId::new("cellar");
        for (new, replaced, known, expected) in [
            (&garden, None, Public, &garden),
            (&garden, None, Private, &own),
            (&garden, Some(&garden), Private, &own),
            (&garden, Some(&garden), Public, &garden),
            (&own, None, Public, &own),
            (&garden, Some(&own), Public, &own),
        ] {
            assert_eq!(new.to_stored(replaced, known, &here), *expected);
        }
        assert_eq!(garden.to_private(&here).as_ref(), Some(&own));
        assert_eq!(own.to_private(&here).as_ref(), Some(&own));
        assert_eq!(own.to_private(&ChannelId::new("garden")), None);
    }

    #[test]
    fn a_memo_repeats_a_message_by_more_than_a_word() {
        let memo = memo("garden", Visibility::Public);
        for (text, expected) in [
            ("I was born on May 3rd", true),
            ("when is your birthday?", false),
            ("there are people in the garden", false),
            ("ok", false),
        ] {
            assert_eq!(memo.is_repeating(text), expected, "{text}");
        }
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let long = "x".repeat(32);
        for (name, taken, expected) in [
            ("tea", vec![], "tea".to_owned()),
            ("tea", vec!["tea"], "tea-2".to_owned()),
            ("tea", vec!["tea", "tea-2"], "tea-3".to_owned()),
            (&long, vec![&*long], "x".repeat(30) + "-2"),
        ] {
            assert_eq!(available_name(name, |name| taken.contains(&name)), expected);
        }
    }
}
