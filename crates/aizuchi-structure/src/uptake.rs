//! Whether a message takes up a question, and whether its author still waits: the features behind these
//! probabilities.

use crate::cues::Cues;
use crate::features::{
    DURATIONS, FeatureSet, PROBABILITIES, doubling_bucket, duration_bucket, probability_bucket,
};
use crate::lexicon::Topic;
use crate::links::shared_words;
use crate::utterance::{Kind, Utterance};
use crate::vocabulary;
use crate::{ConversationStructure, UPTAKE_LOOKBACK};

/// A question, and what was found out about the messages after it up to one of them.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The index of the question.
    pub question: usize,
    /// How many messages of others came after it.
    pub others: usize,
    /// How many messages of its author came after it.
    pub own: usize,
    /// The index of the last message that belongs to it.
    pub last: usize,
}

/// Whoever names the asker deals with them.
const NAMING_TAKES_UP: f32 = 0.9;
/// Whoever addresses somebody else hardly ever answers the asker.
const NAMING_ANOTHER: f32 = 0.02;
/// With these an asker shows that the matter is settled.
const CONTENT: Cues = Cues::THANKS.union(Cues::SOLVED).union(Cues::GOODBYE);

/// The least and the most that the probability counts for with which another user's message takes up a question.
pub fn bounds(message: &Utterance, asker: u32) -> [f32; 2] {
    let names_asker = message.addressee == Some(asker) || message.named.contains(&asker);
    match message.addressee {
        _ if names_asker => [NAMING_TAKES_UP, 1.0],
        Some(_) => [0.0, NAMING_ANOTHER],
        None => [0.0, 1.0],
    }
}

/// Whether the asker's own message can show contentment. Before anybody else has written, only clear words do.
pub fn may_be_content(message: &Utterance, progress: &Progress) -> bool {
    let is_clear = progress.others > 0 || message.cues.intersects(CONTENT);
    is_clear && message.addressee.is_none() || message.cues.contains(Cues::THANKS)
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
        Topic::COUNT * Utterance::FORMS,
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
    add_rival(structure, progress.question, index, set);
    add_neighborhood(utterances, progress.question, index, set);
    add_pace(asked, message, belongs, set);
    set.all_of("form", vocabulary::len(), &message.forms);
}

/// The message, other than the question, that the one at `index` most probably replies to.
fn add_rival(
    structure: &ConversationStructure,
    question: usize,
    index: usize,
    set: &mut FeatureSet,
) {
    let utterances = structure.utterances();
    let (asked, message) = (&utterances[question], &utterances[index]);
    let first = question.saturating_sub(UPTAKE_LOOKBACK);
    let parents = structure.parents(index);
    let rivals = parents.filter(|(parent, _)| *parent >= first && *parent != question);
    let rival = rivals.max_by(|one, other| one.1.total_cmp(&other.1));
    let (parent, link) = rival.unwrap_or((question, 0.0));
    let other = &utterances[parent];
    let is_there = rival.is_some();
    let is = |condition: bool| usize::from(condition);
    let asks = other.cues.contains(Cues::ASKS);
    let by_asker = is(other.author == asked.author);
    let kinds = other.kind() as usize * Kind::COUNT + message.kind() as usize;
    let answer = if asks { other.topic as usize * Utterance::FORMS + message.form() } else { 0 };
    let answers = Topic::COUNT * Utterance::FORMS + 1;
    let who = is(other.author == message.author) * 4 + by_asker * 2 + is(parent < question);
    let ahead = (structure.link(index, question) - link) * 4.0 + 4.0;
    let order = is(asks) * 2 + is(parent > question);
    let mut any_of = |name, size, at| set.any_of(name, size, is_there.then_some(at));
    any_of("rival's kind, kind, asker's", Kind::COUNT * Kind::COUNT * 2, kinds * 2 + by_asker);
    any_of("rival's topic, form", answers, if asks { 1 + answer } else { 0 });
    any_of("rival's link", PROBABILITIES, probability_bucket(link));
    any_of("rival's author, before", 8, who);
    any_of("ahead of the rival", 8, ahead.clamp(0.0, 7.0) as usize);
    any_of("rival asks, after", 4, order);
    set.cues("rival's cues", if is_there { other.cues } else { Cues::empty() });
    set.flag("no rival", !is_there);
}

/// What stands between the question and the message at `index`.
fn add_neighborhood(utterances: &[Utterance], question: usize, index: usize, set: &mut FeatureSet) {
    let (asked, message, before) =
        (&utterances[question], &utterances[index], &utterances[index - 1]);
    let is = |condition: bool| usize::from(condition);
    let between = &utterances[question + 1..index];
    let who = is(before.author == message.author) * 4
        + is(before.author == asked.author) * 2
        + is(index == question + 1);
    set.one_of("author before", 8, who);
    set.one_of("pause", DURATIONS, duration_bucket((message.at - before.at).max(0.0)));
    set.one_of("messages between", 6, between.len().min(5));
    let kinds = before.kind() as usize * Kind::COUNT + message.kind() as usize;
    set.one_of("kind before, kind", Kind::COUNT * Kind::COUNT, kinds);
    set.one_of("authors between", 4, count_authors(between, asked.author, 3));
    let wrote = between.iter().any(|other| other.author == message.author);
    set.flag("its author wrote since", wrote);
    let near = question.saturating_sub(4)..index;
    let asks = |at: &usize| {
        let other = &utterances[*at];
        *at != question && other.author != message.author && other.cues.contains(Cues::ASKS)
    };
    let other = match near.rev().find(asks) {
        None => 0,
        Some(at) if at < question => 1,
        Some(at) if at + 1 < index => 2,
        Some(_) => 3,
    };
    set.one_of("another question", 4, other);
}

/// How many authors there are but for one, up to `most`.
fn count_authors(utterances: &[Utterance], but: u32, most: usize) -> usize {
    let mut authors = Vec::with_capacity(most);
    for author in utterances.iter().map(|other| other.author) {
        if author != but && authors.len() < most && !authors.contains(&author) {
            authors.push(author);
        }
    }
    authors.len()
}

/// How much was written how soon.
fn add_pace(asked: &Utterance, message: &Utterance, belongs: f32, set: &mut FeatureSet) {
    let size = |message: &Utterance| doubling_bucket(message.length as f64 / 4.0, 6);
    let time = duration_bucket((message.at - asked.at).max(0.0));
    set.one_of("time, length", DURATIONS * 6, time * 6 + size(message));
    set.one_of("question's length", 6, size(asked));
    set.one_of("topic, length", Topic::COUNT * 6, asked.topic as usize * 6 + size(message));
    let form = message.form() * 3 + third(belongs);
    set.one_of("form, belongs", Utterance::FORMS * 3, form);
}

fn third(probability: f32) -> usize {
    match probability {
        low if low < 0.3 => 0,
        middle if middle < 0.7 => 1,
        _ => 2,
    }
}
