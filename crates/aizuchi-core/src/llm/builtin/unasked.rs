//! What keeps the built-in mind from saying something unasked though a question is open: it is old, it is put to somebody who
//! asked before, it is nothing but a link, or what would help has been quoted lately. A model sees all this in the talk.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Message, to_single_line};
use crate::context::Context;
use crate::context::conversation_analysis::ConversationAnalysis;
use crate::llm::builtin::quote::Quote;
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

/// A question is old when it was asked longer ago than this and the longest rest of its channel. While users talk on, an open
/// question is judged at five minutes, and what helps within half an hour still counts as welcome. Who asked longer ago has
/// found it elsewhere or given up, and a later pause of the talk tells nothing about their question.
const FRESH: SignedDuration = SignedDuration::from_mins(30);
/// A message is about what began with another one from this probability on. On labeled moments of Slack 0.1 loses more questions
/// to [`asks_back`], and keeps it from no more interruptions (`docs/internals/eval.md`).
pub const BELONGS: f32 = 0.5;

/// Whether its author has asked so lately that they probably still wait.
pub fn is_fresh(question: &Message, prompt: &Prompt) -> bool {
    let limit = FRESH + prompt.judge_options.longest_rest;
    is_younger(last_asked(question, &prompt.context), limit, prompt.now.timestamp())
}

fn is_younger(asked: Timestamp, limit: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(asked) <= limit
}

/// When its author asked this, or last said that they still wait for it.
pub fn last_asked(question: &Message, context: &Context) -> Timestamp {
    let later = context.target_messages().iter().skip_while(|it| it.id != question.id).skip(1);
    let again = later.filter(|it| {
        it.author.id == question.author.id && Cues::from_text(&it.text).intersects(Cues::AGAIN)
    });
    again.last().map_or(question.at, |it| it.at)
}

/// Whether a message is nothing but an address, or several.
pub fn is_bare_link(text: &str) -> bool {
    let cues = Cues::from_text(text);
    cues.contains(Cues::WORDLESS | Cues::ADDRESS) && !cues.contains(Cues::CODE)
}

/// Whether a question is probably put to somebody who asked before it: it speaks to one reader, and belongs to what began with a
/// question of somebody else. "Did you restart it?" is asked by those who help.
pub fn asks_back(question: &Message, analysis: &ConversationAnalysis<'_>) -> bool {
    let cues = Cues::from_text(&question.text);
    let speaks_to_one = cues.contains(Cues::SECOND_PERSON) && !cues.contains(Cues::TO_ALL);
    let follows = |asked: &Message| {
        asked.author.id != question.author.id && analysis.belonging(question, asked) >= BELONGS
    };
    speaks_to_one && analysis.questions().iter().any(|asked| follows(asked.message))
}

/// Whether it has offered help to the author of a question since. Which of their questions it was for, its words do not say.
pub fn has_offered_help(question: &Message, context: &Context) -> bool {
    let name = to_single_line(context.display_name(&question.author.id));
    let offers = [Language::En, Language::Ja]
        .map(|language| texts::builtin::perhaps_this_helps(language, Name(&name), ""));
    let later = context.target_messages().iter().skip_while(|it| it.id != question.id).skip(1);
    let mut own = later.filter(|it| it.author.kind == AuthorKind::Persona);
    own.any(|it| offers.iter().any(|offer| it.text.starts_with(offer.trim_end())))
}

/// Whether it has quoted this unasked in the channel within a day.
pub fn has_quoted_lately(quote: &Quote<'_>, context: &Context) -> bool {
    context.circumstances.said_unasked.iter().any(|said| quotes(said, &quote.text))
}

/// Whether a post quotes a text. A platform may show signs and spaces in another form than they were sent.
fn quotes(post: &str, text: &str) -> bool {
    let (post, text) = (letters(post), letters(text));
    let is_quoted = |open: char, close: char| post.contains(&format!("{open}{text}{close}"));
    text.contains(char::is_alphanumeric) && (is_quoted('“', '”') || is_quoted('「', '」'))
}

/// The letters and digits of a text in lower case, and the marks around quotations.
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
        // Clocks differ.
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
        // Another quotation, a part of one, and what is not quoted.
        for text in ["the retro is at 4", "retro", "Ken", "…", ""] {
            assert!(!quotes(post, text), "{text}");
        }
    }
}
