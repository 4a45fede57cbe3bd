//! A moment on the page.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_posts as post_texts;
use jiff::tz::TimeZone;

use crate::report::code::TextPart;
use crate::report::figures::Report;
use crate::report::format;
use crate::report::markup::chat_parts;
use crate::report::reasons;
use crate::report::sentences;
use crate::report::story::{Story, StoryAct, StoryKind, StoryMessage};

/// The number of colors that distinguish authors.
const COLORS: u32 = 6;

pub struct StoryView {
    pub class: &'static str,
    pub badges: Vec<Badge>,
    pub channel: String,
    pub when: String,
    pub before: Vec<StoryMessageView>,
    pub act_label: &'static str,
    pub act_time: String,
    /// The text that the persona posted or would have posted.
    pub said: Option<Vec<TextPart>>,
    pub is_silent: bool,
    pub persona: String,
    pub after: Vec<StoryMessageView>,
    pub reason: Option<String>,
    /// What is known to be wrong about the reason.
    pub mistake: Option<String>,
    /// What people did at the moment. `None` if the story already shows it.
    pub note: Option<String>,
    /// What each policy did, if policies are compared.
    pub policies: Vec<String>,
    /// Whether the story is unfolded at first.
    pub is_open: bool,
}

/// A label of a story or a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Badge {
    pub class: &'static str,
    pub text: &'static str,
}

pub struct StoryMessageView {
    pub name: String,
    pub initial: String,
    pub color: u32,
    pub time: String,
    pub text: Vec<TextPart>,
    pub is_about: bool,
    pub is_bot: bool,
    /// How many messages are left out after it, and the first of them.
    pub left_out: Option<String>,
    pub between: Vec<StoryMessageView>,
    /// How many more are left out.
    pub more: Option<String>,
}

impl StoryView {
    pub fn new(story: &Story, report: &Report, zone: &TimeZone, language: Language) -> Self {
        let l = language;
        let (act_label, said, is_silent) = match &story.act {
            StoryAct::Said(text) => (texts::said_here(l), Some(text.clone()), false),
            // The ledger does not know the emoji.
            StoryAct::WouldSay(emoji) if story.kind == StoryKind::Reacted => {
                (post_texts::reacts_here(l), emoji.clone(), emoji.is_none())
            }
            StoryAct::WouldSay(Some(text)) => {
                let label = match story.posted_without_model {
                    Some(false) => moment_texts::stands_in(l),
                    Some(true) | None => texts::would_say(l),
                };
                (label, Some(text.clone()), false)
            }
            StoryAct::WouldSay(None) => (texts::would_speak(l), None, false),
            StoryAct::Silent => (texts::silent_here(l), None, true),
            StoryAct::NeverLooked => (texts::never_looked(l), None, true),
        };
        let message =
            |message: &StoryMessage| StoryMessageView::new(message, report.is_anonymous, zone, l);
        Self {
            class: match story.kind {
                StoryKind::Wrong => "wrong",
                StoryKind::Spoke | StoryKind::Called | StoryKind::Reacted => "spoke",
                StoryKind::Silent => "silent",
            },
            badges: badges(story, l),
            channel: format::channel(&story.channel),
            when: format::date_and_time(story.at, zone, l),
            before: story.before.iter().map(message).collect(),
            act_label,
            act_time: format::time(story.at, zone),
            said: said.as_deref().map(chat_parts),
            is_silent,
            persona: report.persona.clone(),
            after: story.after.iter().map(message).collect(),
            reason: reasons::story_reason(story, l),
            mistake: story.mistake.as_ref().map(|mistake| reasons::mistake(mistake, l)),
            note: sentences::note(story, report, zone, l),
            policies: Vec::new(),
            is_open: false,
        }
    }
}

/// Returns labels that say whether the moment would be posted, and whether that would interrupt. A silence has neither.
fn badges(story: &Story, language: Language) -> Vec<Badge> {
    let l = language;
    let calm = Badge { class: "calm", text: moment_texts::no_sign(l) };
    let disturbance = match story.kind {
        StoryKind::Silent => return vec![Badge { class: "calm", text: texts::badge_silent(l) }],
        StoryKind::Called => {
            return vec![Badge { class: "posts", text: post_texts::badge_called(l) }];
        }
        StoryKind::Reacted => {
            return vec![Badge { class: "calm", text: post_texts::badge_reacted(l) }];
        }
        StoryKind::Wrong => Badge { class: "interrupts", text: texts::badge_wrong(l) },
        StoryKind::Spoke => calm,
    };
    let act = match (&story.act, story.posted_without_model) {
        (StoryAct::Said(_), _) => Badge { class: "posts", text: texts::badge_said(l) },
        (_, Some(true)) => Badge { class: "posts", text: moment_texts::badge_posted(l) },
        (_, Some(false)) => Badge { class: "calm", text: moment_texts::badge_moment(l) },
        (_, None) => Badge { class: "posts", text: texts::badge_spoke(l) },
    };
    vec![act, disturbance]
}

/// Shows stories, of which the first is unfolded.
pub fn folded(stories: impl Iterator<Item = StoryView>) -> Vec<StoryView> {
    stories.enumerate().map(|(place, one)| StoryView { is_open: place == 0, ..one }).collect()
}

impl StoryMessageView {
    pub fn new(
        message: &StoryMessage,
        is_anonymous: bool,
        zone: &TimeZone,
        language: Language,
    ) -> Self {
        let name = message.author.name.clone();
        // Neutral names differ in their last character. A bot keeps its name.
        let character = match is_anonymous && !message.is_bot {
            true => name.chars().next_back(),
            false => name.chars().find(|character| character.is_alphanumeric()),
        };
        let color = message
            .author
            .id
            .bytes()
            .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let more = message.left_out_after.saturating_sub(message.left_out.len());
        Self {
            more: (more > 0).then(|| post_texts::more_left_out(language, &format::count(more))),
            initial: character
                .map_or("·".to_owned(), |character| character.to_uppercase().to_string()),
            color: color % COLORS,
            name,
            time: format::time(message.at, zone),
            text: chat_parts(&message.text),
            is_about: message.is_about,
            is_bot: message.is_bot,
            left_out: (message.left_out_after > 0).then(|| {
                let messages =
                    format::number_of(counted::messages, message.left_out_after, language);
                texts::lines_left_out(language, &messages)
            }),
            between: message
                .left_out
                .iter()
                .map(|left_out| Self::new(left_out, is_anonymous, zone, language))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::report::story::StoryAuthor;

    #[test]
    fn a_renamed_person_has_the_letter_of_the_neutral_name() {
        for (name, is_bot, is_anonymous, initial) in [
            ("Priya", false, false, "P"),
            ("Person C", false, true, "C"),
            ("Tidewatch", true, true, "T"),
            ("(deploy)", true, false, "D"),
        ] {
            let message = StoryMessage {
                at: Timestamp::UNIX_EPOCH,
                author: StoryAuthor { id: "U1".to_owned(), name: name.to_owned() },
                is_bot,
                text: String::new(),
                is_about: false,
                left_out_after: 0,
                left_out: Vec::new(),
            };
            let view = StoryMessageView::new(&message, is_anonymous, &TimeZone::UTC, Language::En);
            assert_eq!(view.initial, initial, "{name}");
        }
    }

    #[test]
    fn what_is_left_out_even_unfolded_is_counted() {
        let message = |left_out_after: usize, left_out: Vec<StoryMessage>| StoryMessage {
            at: Timestamp::UNIX_EPOCH,
            author: StoryAuthor { id: "U1".to_owned(), name: "Priya".to_owned() },
            is_bot: false,
            text: String::new(),
            is_about: false,
            left_out_after,
            left_out,
        };
        let more = |left_out_after: usize, shown: usize, language: Language| {
            let shown = (0..shown).map(|_| message(0, Vec::new())).collect();
            let message = message(left_out_after, shown);
            StoryMessageView::new(&message, false, &TimeZone::UTC, language).more
        };
        assert_eq!(more(40, 12, Language::En).as_deref(), Some("28 more, not shown"));
        assert_eq!(more(40, 12, Language::Ja).as_deref(), Some("ほかに 28 件（省略）"));
        assert_eq!(more(3, 3, Language::En), None);
        assert_eq!(more(0, 0, Language::En), None);
    }
}
