//! Finds the topic of a message among those that the built-in mind can talk about.

use crate::builtin::matching::{holds, is_alone};
use crate::builtin::phrases::{List, PhraseMatch, Topic, topics};

pub fn find_topic(lower: &str) -> Option<Topic> {
    let not_meant = List::NotMeant.phrases().iter();
    let lower = not_meant.fold(lower.to_owned(), |text, phrase| text.replace(phrase, " "));
    let spelled_out = [(" u ", " you "), (" r ", " are "), (" ur ", " your ")]
        .iter()
        .fold(format!(" {lower} "), |text, (short, long)| text.replace(short, long));
    topic_of(&lower).or_else(|| topic_of(spelled_out.trim()))
}

fn topic_of(lower: &str) -> Option<Topic> {
    let fits = |matches: PhraseMatch, phrase: &str| match matches {
        PhraseMatch::Within => holds(lower, phrase),
        PhraseMatch::Alone => is_alone(lower, phrase),
    };
    let found = topics()
        .iter()
        .find(|topic| topic.phrases.iter().any(|phrase| fits(topic.matches, phrase)));
    found.map(|found| found.topic)
}
