//! What keeps the built-in mind from speaking unasked though a question is open: the question is old, it is
//! addressed to an earlier asker, it is only a link, or the helpful quote was posted recently. A model sees all this
//! in the conversation.

use aizuchi_model::chat::{AuthorKind, Message, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::{self, Name};
use aizuchi_structure::cues::Cues;
use jiff::{SignedDuration, Timestamp};

use crate::builtin::quote::Quote;
use crate::prompt::Prompt;

/// A question is old if it was asked longer ago than this plus the channel's longest rest. While users talk on, an
/// open question is judged after three and a half minutes, and help within half an hour still counts as welcome. After
/// that, the asker has found the answer elsewhere or given up, and a later pause in the talk says nothing about the question.
const FRESH: SignedDuration = SignedDuration::from_mins(30);
/// The probability from which a message counts as belonging to what began with another one. On labeled moments of
/// Slack, 0.1 loses more questions to [`asks_back`] without preventing more interruptions
/// (`docs/internals/eval.md`).
pub const BELONGS: f32 = 0.5;

/// Whether the author asked recently enough that they probably still wait.
pub fn is_fresh(question: &Message, prompt: &Prompt) -> bool {
    let limit = FRESH + prompt.judge_options.longest_rest;
    is_younger(last_asked(question, &prompt.context), limit, prompt.now.timestamp())
}

fn is_younger(asked: Timestamp, limit: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(asked) <= limit
}

/// When the author asked this, or last said that they are still waiting.
pub fn last_asked(question: &Message, context: &Context) -> Timestamp {
    let later = context.target_messages().iter().skip_while(|it| it.id != question.id).skip(1);
    let again = later.filter(|it| {
        it.author.id == question.author.id && Cues::from_text(&it.text).intersects(Cues::AGAIN)
    });
    again.last().map_or(question.at, |it| it.at)
}

/// Whether a message consists only of one or more links.
pub fn is_bare_link(text: &str) -> bool {
    let cues = Cues::from_text(text);
    cues.contains(Cues::WORDLESS | Cues::ADDRESS) && !cues.contains(Cues::CODE)
}

/// Whether a question is probably addressed to an earlier asker: it speaks to one reader, and belongs to what began
/// with another user's question. "Did you restart it?" is asked by helpers.
pub fn asks_back(question: &Message, analysis: &ConversationAnalysis<'_>) -> bool {
    let cues = Cues::from_text(&question.text);
    let speaks_to_one = cues.contains(Cues::SECOND_PERSON) && !cues.contains(Cues::TO_ALL);
    let follows = |asked: &Message| {
        asked.author.id != question.author.id && analysis.belonging(question, asked) >= BELONGS
    };
    speaks_to_one && analysis.questions().iter().any(|asked| follows(asked.message))
}

/// Whether the mind has offered help to the author of a question since. The wording does not reveal which of their
/// questions the offer was for.
pub fn has_offered_help(question: &Message, context: &Context) -> bool {
    let name = to_single_line(context.display_name(&question.author.id));
    let offers = [Language::En, Language::Ja]
        .map(|language| texts::builtin::perhaps_this_helps(language, Name(&name), ""));
    let later = context.target_messages().iter().skip_while(|it| it.id != question.id).skip(1);
    let mut own = later.filter(|it| it.author.kind == AuthorKind::Persona);
    own.any(|it| offers.iter().any(|offer| it.text.starts_with(offer.trim_end())))
}

/// Whether the mind has quoted this unasked in the channel within a day.
pub fn has_quoted_lately(quote: &Quote<'_>, context: &Context) -> bool {
    context.circumstances.said_unasked.iter().any(|said| quotes(said, &quote.text))
}

/// Whether a post quotes a text. A platform may show punctuation and spaces differently from how they were sent.
fn quotes(post: &str, text: &str) -> bool {
    let (post, text) = (letters(post), letters(text));
    let is_quoted = |open: char, close: char| post.contains(&format!("{open}{text}{close}"));
    text.contains(char::is_alphanumeric) && (is_quoted('“', '”') || is_quoted('「', '」'))
}

/// The letters and digits of a text in lower case, and the quotation marks.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(|it| it.is_alphanumeric() || "“”「」".contains(*it));
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_old_after_half_an_hour_and_the_longest_rest() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let limit = FRESH + SignedDuration::from_secs(300);
        for (now, expected) in [(0, true), (2100, true), (2101, false), (36_000, false)] {
            assert_eq!(is_younger(at(0), limit, at(now)), expected, "{now}");
        }
        // Clocks may differ.
        assert!(is_younger(at(10), limit, at(0)));
    }

    #[test]
    fn a_link_alone_is_told_from_what_stands_beside_one() {
        for (text, expected) in [
            ("https://example.org/?page=2", true),
            ("https://example.org/a?", true),
            ("https://example.org/a\nhttps://example.org/b", true),
            ("<https://example.org/a>", true),
            ("is it https://example.org/a ?", false),
            ("これですか https://example.org/a", false),
            ("?", false),
            ("", false),
        ] {
            assert_eq!(is_bare_link(text), expected, "{text}");
        }
    }

    #[test]
    fn a_quotation_is_known_by_its_letters() {
        let post = "Ken, this might help: Mia said at 08:00: “The *retro*  is at 3.”";
        assert!(quotes(post, "the retro is at 3"));
        assert!(quotes(
            "健さん、ご参考までに。美咲さんが「15時から」と言っていました。",
            "15時から"
        ));
        // Another quotation, a part of one, and text outside of quotation marks.
        for text in ["the retro is at 4", "retro", "Ken", "…", ""] {
            assert!(!quotes(post, text), "{text}");
        }
    }
}
