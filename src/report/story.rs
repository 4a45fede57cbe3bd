//! A moment as a little transcript: what was said before and after, what it did or would have done, and why.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::replay::moments::Reason;

/// Longer texts are cut, but for that of the message that a moment is about.
pub const MAX_TEXT_CHARS: usize = 320;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    pub kind: StoryKind,
    pub channel: String,
    /// When it spoke, would have spoken, or looked and stayed silent.
    pub at: Timestamp,
    pub before: Vec<StoryMessage>,
    pub act: StoryAct,
    pub after: Vec<StoryMessage>,
    pub reason: Option<Reason>,
    /// What is known to be wrong about the reason.
    pub mistake: Option<Mistake>,
    pub note: Note,
    /// Whether this is posted without a model. `None` if it is not known, or if it stayed silent.
    pub posted_without_model: Option<bool>,
    /// The message that this is about, and the thread that it stands in.
    #[serde(skip)]
    pub anchor: String,
    #[serde(skip)]
    pub thread: Option<String>,
}

impl Story {
    /// Whether it is known to say something that helps.
    pub fn helps(&self) -> bool {
        self.posted_without_model == Some(true)
    }

    /// How many messages stand between the one that it is about and the moment.
    pub fn between(&self) -> usize {
        let about = self.before.iter().position(|message| message.is_about);
        about.map_or(0, |about| self.before[about].left_out_after + self.before.len() - about - 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryKind {
    Wrong,
    Spoke,
    Silent,
    /// It answered what it took for a call.
    Called,
    Reacted,
}

/// What a rule took for something else than it was, where the recording says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Mistake {
    /// A later message for an answer.
    NotAnswered,
    /// A question that this person had answered for an open one.
    AlreadyAnswered { person: StoryAuthor },
}

/// What it did at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryAct {
    /// It posted this.
    Said(String),
    /// It would have posted this, if that is known.
    WouldSay(Option<String>),
    /// It looked, and stayed silent.
    Silent,
    /// It never looked.
    NeverLooked,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoryMessage {
    pub at: Timestamp,
    pub author: StoryAuthor,
    pub is_bot: bool,
    pub text: String,
    /// Whether the moment is about this message.
    pub is_about: bool,
    /// Messages that are left out after this one.
    pub left_out_after: usize,
    /// The first of these, for who wants to read them.
    pub left_out: Vec<StoryMessage>,
}

/// An author: the id tells them apart where names are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoryAuthor {
    #[serde(skip)]
    pub id: String,
    pub name: String,
}

/// What people did at that moment. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Note {
    NobodyAnswered,
    ItFirst {
        person: StoryAuthor,
        seconds: f64,
    },
    PersonFirst {
        person: StoryAuthor,
        seconds: f64,
    },
    /// A person's answer came this long after it, or before it where that is negative.
    NearAnswer {
        person: StoryAuthor,
        seconds: f64,
    },
    InExchange {
        person: StoryAuthor,
        seconds: f64,
    },
    Missed,
    Answered {
        person: StoryAuthor,
        seconds: f64,
    },
    /// It was called by this name, or somehow.
    Called {
        name: Option<String>,
    },
    /// A message was taken for an answer to what it had said.
    AnsweredIt,
    Reacted,
}

impl Note {
    pub fn author(&self) -> Option<&StoryAuthor> {
        match self {
            Note::NobodyAnswered
            | Note::Missed
            | Note::Called { .. }
            | Note::AnsweredIt
            | Note::Reacted => None,
            Note::ItFirst { person, .. }
            | Note::PersonFirst { person, .. }
            | Note::NearAnswer { person, .. }
            | Note::InExchange { person, .. }
            | Note::Answered { person, .. } => Some(person),
        }
    }

    pub fn author_mut(&mut self) -> Option<&mut StoryAuthor> {
        match self {
            Note::NobodyAnswered
            | Note::Missed
            | Note::Called { .. }
            | Note::AnsweredIt
            | Note::Reacted => None,
            Note::ItFirst { person, .. }
            | Note::PersonFirst { person, .. }
            | Note::NearAnswer { person, .. }
            | Note::InExchange { person, .. }
            | Note::Answered { person, .. } => Some(person),
        }
    }
}

/// A mention as Slack and Discord write it, of a user.
static MENTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<@!?(\w+)(?:\|[^>]*)?>").expect("the pattern is valid"));
/// A link as Slack writes it: the address, and perhaps what is shown.
static SLACK_LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>").expect("the pattern is valid")
});

/// A text as it is shown: with names for mentions, without hidden characters, and not too long.
pub fn shown_text(text: &str, name_of: impl Fn(&str) -> Option<String>) -> String {
    let text = whole_text(text, name_of);
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(MAX_TEXT_CHARS).collect();
    let rest = if characters.next().is_some() { "…" } else { "" };
    format!("{}{rest}", beginning.trim_end())
}

/// The same, however long it is.
pub fn whole_text(text: &str, name_of: impl Fn(&str) -> Option<String>) -> String {
    let with_name = |found: &Captures<'_>| match name_of(&found[1]) {
        Some(name) => format!("@{name}"),
        None => "@…".to_owned(),
    };
    let text = MENTION.replace_all(text, with_name);
    let link = |found: &Captures<'_>| match found.get(2).filter(|shown| !shown.is_empty()) {
        Some(shown) => shown.as_str().to_owned(),
        None => found[1].trim_start_matches("mailto:").to_owned(),
    };
    let text = SLACK_LINK.replace_all(&text, link);
    let shown: String = text.chars().filter(|character| !is_hidden(*character)).collect();
    shown.trim().to_owned()
}

/// Control characters, and marks that turn the direction of what follows.
fn is_hidden(character: char) -> bool {
    character.is_control() && character != '\n'
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_as_people_saw_them() {
        let name = |id: &str| (id == "U1").then(|| "ann".to_owned());
        for (text, expected) in [
            ("<@U1> and <@!U2>?", "@ann and @…?"),
            ("<@U1|ann.b> hi", "@ann hi"),
            (
                "see <https://a.example/x|the page> <https://b.example>",
                "see the page https://b.example",
            ),
            ("a\u{202e}b\u{7}c\nd ", "abc\nd"),
        ] {
            assert_eq!(shown_text(text, name), expected);
        }
        assert_eq!(shown_text(&"あ".repeat(400), name), "あ".repeat(320) + "…");
        assert_eq!(whole_text(&"あ".repeat(400), name), "あ".repeat(400));
    }
}
