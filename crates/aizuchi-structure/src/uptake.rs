//! Whether a message takes up a question, and whether its author still waits: the features behind these
//! probabilities.

use crate::ConversationStructure;
use crate::cues::Cues;
use crate::features::{
    DURATIONS, FeatureSet, PROBABILITIES, doubling_bucket, duration_bucket, probability_bucket,
};
use crate::lexicon::AnswerTopic;
use crate::links::shared_words;
use crate::utterance::{Kind, Utterance};
use crate::vocabulary;

/// A question, and what is known about the messages after it up to a certain one.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The index of the question.
    pub question: usize,
    /// The number of later messages by other users.
    pub others: usize,
    /// The number of later messages by its author.
    pub own: usize,
    /// The index of the last message that belongs to the question.
    pub last: usize,
}

/// Adds the features of the message at `index`, which belongs to the question with the probability `belongs`.
pub fn add_features(
    structure: &ConversationStructure,
    progress: &Progress,
    index: usize,
    belongs: f32,
    set: &mut FeatureSet,
) {
    let utterances = structure.utterances();
    let (asked, message) = (&utterances[progress.question], &utterances[index]);
    let others = progress.others.min(3);
    let own = progress.own.min(2);
    let addressing = match message.addressee {
        None if message.named.contains(&asked.author) => 1,
        None => 0,
        Some(user) if user == asked.author => 2,
        Some(_) => 3,
    };
    set.restart(0);
    set.flag("message", true);
    set.one_of("belongs", PROBABILITIES, probability_bucket(belongs));
    set.one_of(
        "replies",
        PROBABILITIES,
        probability_bucket(structure.link(index, progress.question)),
    );
    set.one_of("begins", PROBABILITIES, probability_bucket(structure.begins(index)));
    set.one_of("others before, belongs", 4 * 3, others * 3 + third(belongs));
    set.one_of(
        "replies to another, belongs",
        4 * 3,
        (structure.replied(index, progress.question.saturating_sub(20)) * 3.99) as usize % 4 * 3
            + third(belongs),
    );
    set.one_of("messages since the last that belongs", 4, (index - progress.last - 1).min(3));
    set.flag(
        "its author took part before",
        utterances[..progress.question]
            .iter()
            .rev()
            .take(8)
            .any(|other| other.author == message.author),
    );
    set.cues("cues, belongs", if belongs > 0.5 { message.cues } else { Cues::empty() });
    set.one_of("others before, own before", 4 * 3, others * 3 + own);
    set.one_of("addressing", 4, addressing);
    set.one_of("time", DURATIONS, duration_bucket((message.at - asked.at).max(0.0)));
    set.one_of("length", 8, doubling_bucket(message.length as f64 / 2.0, 8));
    let kinds = asked.kind() as usize * Kind::COUNT + message.kind() as usize;
    set.one_of("question's kind, kind", Kind::COUNT * Kind::COUNT, kinds);
    set.one_of(
        "topic, form",
        AnswerTopic::COUNT * Utterance::FORMS,
        asked.topic as usize * Utterance::FORMS + message.form(),
    );
    set.cues("cues", message.cues);
    set.cues(
        "cues, nobody before",
        if progress.others == 0 { message.cues } else { Cues::empty() },
    );
    set.cues("question's cues", asked.cues);
    let (shared, _) = shared_words(utterances, message, asked);
    set.one_of("shared words", 3, shared.min(2));
    set.all_of("form", vocabulary::len(), &message.forms);
}

fn third(probability: f32) -> usize {
    match probability {
        low if low < 0.3 => 0,
        middle if middle < 0.7 => 1,
        _ => 2,
    }
}
