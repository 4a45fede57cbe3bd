//! A moment as a short transcript: the messages before and after it, what the persona did or would have done, and why.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::replay::moments::Reason;

/// The maximum length of a text. The message that a moment is about is not cut.
pub const MAX_TEXT_CHARS: usize = 320;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Story {
    pub kind: StoryKind,
    pub channel: String,
    /// When the persona spoke, would have spoken, or decided to stay silent.
    pub at: Timestamp,
    pub before: Vec<StoryMessage>,
    pub act: StoryAct,
    pub after: Vec<StoryMessage>,
    pub reason: Option<Reason>,
    /// What is known to be wrong about the reason.
    pub mistake: Option<Mistake>,
    pub note: Note,
    /// Whether this is posted even without a model. `None` if that is unknown, or if the persona stayed silent.
    pub posted_without_model: Option<bool>,
    /// The message that the moment is about, and its thread.
    #[serde(skip)]
    pub anchor: String,
    #[serde(skip)]
    pub thread: Option<String>,
}

impl Story {
    /// Whether the post is known to say something that helps.
    pub fn helps(&self) -> bool {
        self.posted_without_model == Some(true)
    }

    /// Returns the number of messages between the message that the moment is about and the moment.
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
    /// The persona answered a message that seemed to address it.
    Called,
    Reacted,
}

/// What the built-in rules got wrong, according to the annotation of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Mistake {
    /// The rules took a later message for an answer.
    NotAnswered,
    /// The rules took a question for open that this person had answered.
    AlreadyAnswered { person: StoryAuthor },
}

/// What the persona did at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryAct {
    /// It posted this text.
    Said(String),
    /// It would have posted this text, if known.
    WouldSay(Option<String>),
    /// It decided to stay silent.
    Silent,
    /// It made no decision about the message.
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
    /// The first of these, which the page unfolds on demand.
    pub left_out: Vec<StoryMessage>,
}

/// An author. The id distinguishes authors whose names are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoryAuthor {
    #[serde(skip)]
    pub id: String,
    pub name: String,
}

/// What people did at a moment. Times are in seconds.
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
    /// A person's answer came this long after the post. Negative if it came before the post.
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
    /// A message addressed the persona, by this name if it is known.
    Called {
        name: Option<String>,
    },
    /// A message was taken for an answer to a post of the persona.
    AnsweredIt,
    Reacted,
}

impl Note {
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

/// Matches the mention of a user in the syntax of Slack and Discord.
static MENTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<@!?(\w+)(?:\|[^>]*)?>").expect("the pattern is valid"));
/// Matches a link in the syntax of Slack: the URL, and optionally a label.
static SLACK_LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>").expect("the pattern is valid")
});

/// Formats a text for display: mentions become names, hidden characters are removed, and long texts are cut.
pub fn shown_text(text: &str, name_of: impl Fn(&str) -> Option<String>) -> String {
    let text = whole_text(text, name_of);
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(MAX_TEXT_CHARS).collect();
    let rest = if characters.next().is_some() { "…" } else { "" };
    format!("{}{rest}", beginning.trim_end())
}

/// Formats a text like [`shown_text`], but does not cut it.
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

/// Whether a character is a control character or changes the direction of the text after it.
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
