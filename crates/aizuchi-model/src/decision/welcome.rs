//! Whether the persona's choice was welcome: an unsolicited post, or a silence. Fixed rules decide this from what
//! happened next, and a user's mark takes precedence.
//!
//! A post is unwelcome if users delete it, tell the persona to stop, or react to it negatively; it is welcome if they
//! thank for it, reply to it, or react to it positively. Positive and negative signs together are unclear, and so is a
//! post that users ignore. A silence is welcome if a user answered soon, and unwelcome if a question was never
//! answered. Proposed posts that a user declined are unwelcome.

use std::sync::Arc;

use aizuchi_structure::cues::Cues;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::ChannelId;
use crate::decision::DecisionId;
use crate::decision::mark::Mark;

/// A user's answer within this time shows that the persona did not need to speak. A message that nobody followed up
/// within it counts as unanswered, unless it has its own thread.
pub const ANSWER_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Reactions that mean that a post was good. Skin tones and variants do not matter.
const POSITIVE: &[&str] = &[
    "👍", "❤", "🧡", "💛", "💚", "💙", "💜", "🩷", "🎉", "🙏", "👏", "🙌", "💯", "✅", "✔", "☑",
    "😄", "😀", "😃", "😊", "🙂", "😍", "🥰", "😂", "🤣", "😁", "🚀", "🔥", "⭐", "🌟", "✨", "🤝",
    "👌", "💪", "🥳", "🤩", "🫶", "🙆", "💡", "⬆", "➕",
];
/// Reactions that mean that a post was not good.
const NEGATIVE: &[&str] = &[
    "👎", "❌", "✖", "❎", "🚫", "⛔", "🛑", "🤐", "🤫", "🔇", "🙄", "😠", "😡", "🤬", "😒", "😑",
    "💩", "🤦", "🤮", "🤢", "🙅", "✋", "🖕", "😤", "⬇", "🥱", "🤡", "🗑", "🤥",
];
/// Replies that tell the persona to stop, as whole texts without surrounding punctuation.
const STOP: &[&str] = &[
    "stop",
    "stop it",
    "stop that",
    "please stop",
    "stop please",
    "shut up",
    "please shut up",
    "be quiet",
    "quiet",
    "quiet please",
    "hush",
    "go away",
    "not now",
    "nobody asked",
    "nobody asked you",
    "no one asked",
    "やめて",
    "やめてください",
    "やめろ",
    "止めて",
    "止めてください",
    "ストップ",
    "黙って",
    "黙ってて",
    "黙れ",
    "静かに",
    "静かにして",
    "静かにしてください",
    "うるさい",
    "聞いてない",
    "聞いていない",
    "誰も聞いてない",
];

/// The persona's choice when it was not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeakChoice {
    Post,
    Silence,
    /// It proposed a post, and a user declined it. An approved proposal counts as a post.
    Declined,
}

/// What happened after a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aftermath {
    Post(PostAftermath),
    Silence(SilenceAftermath),
    /// A user declined the proposal.
    Declined,
}

/// What happened after a post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostAftermath {
    /// The first messages that users wrote below it or in its thread, oldest first.
    pub replies: Vec<UserResponse>,
    /// The users' current reactions.
    pub reactions: Vec<Arc<str>>,
    /// The post or a part of it was deleted.
    pub is_deleted: bool,
    /// A user muted the persona soon after.
    pub is_muted: bool,
}

/// A user's message after a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserResponse {
    /// Whether it replies to the post, according to its thread or its link.
    pub is_to_it: bool,
    pub text: Arc<str>,
}

/// What happened after a silence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SilenceAftermath {
    /// Whether the newest messages ask something.
    pub asks: bool,
    /// The delay until another user wrote: within [`ANSWER_WINDOW`], or at any time in a thread below.
    pub answered: Option<SignedDuration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reception {
    Welcome,
    Unwelcome,
    Unclear,
}

named_enum! {
    /// Why a choice has its rating.
    pub enum WelcomeReason {
        /// A user marked the decision.
        Marked,
        Deleted,
        ToldToStop,
        Disliked,
        Thanked,
        Answered,
        Liked,
        /// Users reacted in a way that can mean anything.
        Noticed,
        /// Users went on talking, but not in reply to it.
        WentOn,
        /// No further message followed.
        Died,
        /// A person answered in place of the persona.
        PersonAnswered,
        /// A person answered, but late.
        PersonAnsweredLate,
        NobodyAnswered,
        /// No message followed, and nothing was asked.
        NothingAsked,
        /// A user declined the proposal.
        Declined,
    }
}

/// How welcome a choice was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rating {
    pub welcome: Reception,
    pub reasons: Vec<WelcomeReason>,
}

/// A choice, and how welcome it was.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedChoice {
    pub decision: DecisionId,
    pub channel: ChannelId,
    /// When the persona spoke, or chose not to.
    pub at: Timestamp,
    pub choice: SpeakChoice,
    /// The judge's confidence that the persona should speak. `None` if it said no.
    pub confidence: Option<f64>,
    /// The rating by what happened next, without a mark.
    pub rating: Rating,
    /// The delay until a user wrote where the persona stayed silent.
    pub answered: Option<SignedDuration>,
}

impl Aftermath {
    pub fn choice(&self) -> SpeakChoice {
        match self {
            Aftermath::Post(_) => SpeakChoice::Post,
            Aftermath::Silence(_) => SpeakChoice::Silence,
            Aftermath::Declined => SpeakChoice::Declined,
        }
    }

    pub fn answered(&self) -> Option<SignedDuration> {
        match self {
            Aftermath::Silence(silence) => silence.answered,
            Aftermath::Post(_) | Aftermath::Declined => None,
        }
    }

    pub fn rate(&self) -> Rating {
        match self {
            Aftermath::Post(post) => post.rate(),
            Aftermath::Silence(silence) => silence.rate(),
            Aftermath::Declined => {
                Rating { welcome: Reception::Unwelcome, reasons: vec![WelcomeReason::Declined] }
            }
        }
    }
}

impl PostAftermath {
    fn rate(&self) -> Rating {
        use WelcomeReason::{
            Answered, Deleted, Died, Disliked, Liked, Noticed, Thanked, ToldToStop, WentOn,
        };
        // People mostly reply right below a post, without a thread or a link.
        let is_heeded = |(index, reply): &(usize, &UserResponse)| *index == 0 || reply.is_to_it;
        let heeded = || self.replies.iter().enumerate().filter(is_heeded).map(|(_, reply)| reply);
        let told_to_stop = self.is_muted || heeded().any(|reply| asks_to_stop(&reply.text));
        let ends_it = [(self.is_deleted, Deleted), (told_to_stop, ToldToStop)];
        let ends_it = reasons(ends_it);
        if !ends_it.is_empty() {
            return Rating { welcome: Reception::Unwelcome, reasons: ends_it };
        }
        let has = |list: &[&str]| self.reactions.iter().any(|emoji| list.contains(&&*plain(emoji)));
        let thanks = heeded().any(|reply| Cues::from_text(&reply.text).contains(Cues::THANKS));
        let answers = self.replies.iter().any(|reply| reply.is_to_it);
        let good = reasons([(thanks, Thanked), (answers, Answered), (has(POSITIVE), Liked)]);
        let bad = reasons([(has(NEGATIVE), Disliked)]);
        let nothing_said = self.replies.is_empty();
        let neither = reasons([
            (!self.reactions.is_empty(), Noticed),
            (!nothing_said, WentOn),
            (nothing_said, Died),
        ]);
        match (good.is_empty(), bad.is_empty()) {
            (false, true) => Rating { welcome: Reception::Welcome, reasons: good },
            (true, false) => Rating { welcome: Reception::Unwelcome, reasons: bad },
            (false, false) => Rating { welcome: Reception::Unclear, reasons: [good, bad].concat() },
            (true, true) => Rating { welcome: Reception::Unclear, reasons: neither },
        }
    }
}

impl SilenceAftermath {
    fn rate(&self) -> Rating {
        let (welcome, reason) = match (self.answered, self.asks) {
            (Some(after), _) if after <= ANSWER_WINDOW => {
                (Reception::Welcome, WelcomeReason::PersonAnswered)
            }
            (Some(_), _) => (Reception::Unclear, WelcomeReason::PersonAnsweredLate),
            (None, true) => (Reception::Unwelcome, WelcomeReason::NobodyAnswered),
            (None, false) => (Reception::Unclear, WelcomeReason::NothingAsked),
        };
        Rating { welcome, reasons: vec![reason] }
    }
}

impl RatedChoice {
    /// Returns the rating after a user's mark, which takes precedence.
    pub fn marked(&self, mark: Option<Mark>) -> Rating {
        let Some(mark) = mark else { return self.rating.clone() };
        let is_right = match (mark, self.choice) {
            (Mark::Right, _)
            | (Mark::ShouldHaveSpoken, SpeakChoice::Post | SpeakChoice::Declined)
            | (Mark::ShouldHaveKeptSilent, SpeakChoice::Silence) => true,
            (Mark::ShouldHaveSpoken, SpeakChoice::Silence)
            | (Mark::ShouldHaveKeptSilent, SpeakChoice::Post | SpeakChoice::Declined) => false,
        };
        let welcome = if is_right { Reception::Welcome } else { Reception::Unwelcome };
        Rating { welcome, reasons: vec![WelcomeReason::Marked] }
    }
}

/// Whether the newest messages ask something, i.e. those that the author of the newest wrote in a row. The messages are
/// given newest first, each with its author.
pub fn ask<'a>(newest_first: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    let mut messages = newest_first.into_iter().peekable();
    let author = messages.peek().map(|(author, _)| *author);
    messages
        .take_while(|(by, _)| Some(*by) == author)
        .any(|(_, text)| Cues::from_text(text).contains(Cues::ASKS))
}

fn reasons<const N: usize>(signs: [(bool, WelcomeReason); N]) -> Vec<WelcomeReason> {
    signs.into_iter().filter(|(is_there, _)| *is_there).map(|(_, reason)| reason).collect()
}

fn asks_to_stop(text: &str) -> bool {
    let text = text.to_lowercase();
    let words = text.split_whitespace().filter(|word| !word.starts_with(['@', '<']));
    let text = words.collect::<Vec<_>>().join(" ");
    STOP.contains(&text.trim_matches(|character: char| !character.is_alphanumeric()))
}

/// Returns an emoji without its skin tone and variant.
fn plain(emoji: &str) -> String {
    let is_variant = |character: &char| matches!(character, '\u{1f3fb}'..='\u{1f3ff}' | '\u{fe0f}');
    let characters = emoji.chars().filter(|character| !is_variant(character));
    // A gesture may include the gender of the person.
    characters.take_while(|character| *character != '\u{200d}').collect()
}

#[cfg(test)]
mod tests {
    use WelcomeReason::{
        Answered, Deleted, Died, Disliked, Liked, Marked, NobodyAnswered, NothingAsked, Noticed,
        PersonAnswered, PersonAnsweredLate, Thanked, ToldToStop, WentOn,
    };

    use super::*;

    fn post(replies: &[(bool, &str)], reactions: &[&str]) -> PostAftermath {
        let reply = |(is_to_it, text): &(bool, &str)| UserResponse {
            is_to_it: *is_to_it,
            text: (*text).into(),
        };
        PostAftermath {
            replies: replies.iter().map(reply).collect(),
            reactions: reactions.iter().map(|emoji| Arc::from(*emoji)).collect(),
            ..PostAftermath::default()
        }
    }

    #[test]
    fn a_post_is_rated_by_what_users_did_next() {
        let none = PostAftermath::default();
        for (post, welcome, reasons) in [
            (none.clone(), Reception::Unclear, vec![Died]),
            (post(&[(false, "the shed is open")], &[]), Reception::Unclear, vec![WentOn]),
            (post(&[(true, "it stands in the shed")], &[]), Reception::Welcome, vec![Answered]),
            (post(&[(true, "thanks a lot!")], &[]), Reception::Welcome, vec![Thanked, Answered]),
            (post(&[(false, "ありがとうございます")], &[]), Reception::Welcome, vec![Thanked]),
            // The second is addressed to another user.
            (
                post(&[(false, "I have it"), (false, "thank you")], &[]),
                Reception::Unclear,
                vec![WentOn],
            ),
            (post(&[], &["👍"]), Reception::Welcome, vec![Liked]),
            (post(&[], &["👍🏽"]), Reception::Welcome, vec![Liked]),
            (post(&[], &["❤️"]), Reception::Welcome, vec![Liked]),
            (post(&[], &["🙅‍♀️"]), Reception::Unwelcome, vec![Disliked]),
            (post(&[], &["👎"]), Reception::Unwelcome, vec![Disliked]),
            (post(&[], &["👍", "👎"]), Reception::Unclear, vec![Liked, Disliked]),
            (post(&[], &["👀"]), Reception::Unclear, vec![Noticed, Died]),
            (
                post(&[(false, "so it goes")], &[":parrot:"]),
                Reception::Unclear,
                vec![Noticed, WentOn],
            ),
            (post(&[(true, "no")], &["🤦"]), Reception::Unclear, vec![Answered, Disliked]),
            (post(&[(false, "stop!")], &["👍"]), Reception::Unwelcome, vec![ToldToStop]),
            (post(&[(true, "@Aizuchi 黙って。")], &[]), Reception::Unwelcome, vec![ToldToStop]),
            (post(&[(false, "hm"), (false, "stop")], &[]), Reception::Unclear, vec![WentOn]),
            (post(&[(false, "stop the pump")], &[]), Reception::Unclear, vec![WentOn]),
            (
                PostAftermath { is_muted: true, ..post(&[(true, "thanks")], &["🎉"]) },
                Reception::Unwelcome,
                vec![ToldToStop],
            ),
            (
                PostAftermath { is_deleted: true, is_muted: true, ..none },
                Reception::Unwelcome,
                vec![Deleted, ToldToStop],
            ),
        ] {
            let aftermath = Aftermath::Post(post);
            assert_eq!(aftermath.rate(), Rating { welcome, reasons }, "{aftermath:?}");
        }
    }

    #[test]
    fn a_silence_is_rated_by_who_answered() {
        let hours = |hours| Some(SignedDuration::from_hours(hours));
        for (asks, answered, welcome, reason) in [
            (true, hours(0), Reception::Welcome, PersonAnswered),
            (false, hours(1), Reception::Welcome, PersonAnswered),
            (true, hours(5), Reception::Unclear, PersonAnsweredLate),
            (true, None, Reception::Unwelcome, NobodyAnswered),
            (false, None, Reception::Unclear, NothingAsked),
        ] {
            let aftermath = Aftermath::Silence(SilenceAftermath { asks, answered });
            assert_eq!(
                aftermath.rate(),
                Rating { welcome, reasons: vec![reason] },
                "{aftermath:?}"
            );
        }
    }

    #[test]
    fn a_mark_wins() {
        use Mark::{Right, ShouldHaveKeptSilent, ShouldHaveSpoken};
        for (choice, mark, welcome) in [
            (SpeakChoice::Post, Right, Reception::Welcome),
            (SpeakChoice::Post, ShouldHaveSpoken, Reception::Welcome),
            (SpeakChoice::Post, ShouldHaveKeptSilent, Reception::Unwelcome),
            (SpeakChoice::Silence, Right, Reception::Welcome),
            (SpeakChoice::Silence, ShouldHaveSpoken, Reception::Unwelcome),
            (SpeakChoice::Silence, ShouldHaveKeptSilent, Reception::Welcome),
            (SpeakChoice::Declined, Right, Reception::Welcome),
            (SpeakChoice::Declined, ShouldHaveSpoken, Reception::Welcome),
            (SpeakChoice::Declined, ShouldHaveKeptSilent, Reception::Unwelcome),
        ] {
            let rated = RatedChoice {
                decision: DecisionId(1),
                channel: ChannelId::new("garden"),
                at: Timestamp::UNIX_EPOCH,
                choice,
                confidence: Some(0.8),
                rating: Rating { welcome: Reception::Unclear, reasons: vec![Died] },
                answered: None,
            };
            assert_eq!(rated.marked(None), rated.rating);
            assert_eq!(rated.marked(Some(mark)), Rating { welcome, reasons: vec![Marked] });
        }
    }

    #[test]
    fn the_last_author_asks() {
        assert!(ask([("ann", "who has the key?")]));
        assert!(ask([("ann", "I need it now."), ("ann", "who has the key?")]));
        assert!(!ask([("bob", "I do."), ("ann", "who has the key?")]));
        assert!(!ask([("ann", "the key is here.")]));
        assert!(!ask([]));
    }

    #[test]
    fn no_emoji_is_both_good_and_bad() {
        for emoji in POSITIVE.iter().chain(NEGATIVE) {
            assert_eq!(plain(emoji), *emoji, "it is in the list as it is looked for");
        }
        assert!(POSITIVE.iter().all(|emoji| !NEGATIVE.contains(emoji)));
    }
}
