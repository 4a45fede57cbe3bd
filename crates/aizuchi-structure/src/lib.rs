//! Who answers whom. For each message of a conversation the probability of which earlier one it replies to, or that
//! it begins something new, and from these whether somebody still waits for an answer. The field calls it
//! *conversation disentanglement* and *reply-to recognition*.
//!
//! Four small fitted models weigh cheap features of the messages; no language model is asked. They were fitted by
//! `examples/fit_structure`, which also measures them (`docs/internals/eval.md` has the figures).

pub mod cues;
pub mod features;
pub mod lexicon;
pub mod links;
pub mod names;
pub mod network;
mod reader;
pub mod uptake;
pub mod utterance;
pub mod vocabulary;
pub mod words;

use std::sync::{LazyLock, OnceLock};

use crate::cues::Cues;
use crate::features::FeatureSet;
use crate::links::WINDOW;
use crate::network::{Network, sigmoid, softmax};
use crate::uptake::Progress;
use crate::utterance::Utterance;

/// The version of the links' table and features. Links of another version are made anew.
pub const LINKS_VERSION: u32 = 1;
/// A link that is less probable than this is none.
const MIN_PROBABILITY: f32 = 0.02;
/// Questions further up than this are history.
const MAX_QUESTION_DISTANCE: usize = 25;
/// A reply to another user may still be a question to everyone.
const DIRECTED_WEIGHT: f32 = 0.9;
/// Whoever names the asker deals with them.
const NAMING_TAKES_UP: f32 = 0.9;
/// Whoever addresses somebody else hardly ever answers the asker.
const NAMING_ANOTHER: f32 = 0.02;
/// With these an asker shows that the matter is settled.
const CONTENT: Cues = Cues::THANKS.union(Cues::SOLVED).union(Cues::GOODBYE);
/// A plea is told from a story by its form alone, so it counts for less than a question.
const PLEA_WEIGHT: f32 = 0.65;
const MIN_PLEA_LENGTH: usize = 5;
const MIN_PLEA_BEGINNING: f32 = 0.7;

/// The fitted models.
#[derive(Clone, Debug)]
pub struct Models {
    /// Scores what a message may reply to.
    pub links: Network,
    /// Scores whether another user's message takes up a question.
    pub takes_up: Network,
    /// Scores whether the asker's own message shows that the matter is settled.
    pub content: Network,
    /// Scores whether the asker's own message shows that they still wait.
    pub waits: Network,
}

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let table = |text: &str| Network::parse(text).expect("a test reads every table");
    Models {
        links: table(include_str!("links.csv")),
        takes_up: table(include_str!("takes_up.csv")),
        content: table(include_str!("content.csv")),
        waits: table(include_str!("waits.csv")),
    }
});

impl Models {
    /// The models that are shipped.
    pub fn shipped() -> &'static Self {
        &MODELS
    }
}

/// A message's text in lower case without code, quotations and addresses.
pub fn prose(text: &str) -> String {
    reader::Prose::new(text).text
}

/// Leaves out the improbable, and rounds the rest to three digits, so that few short rows hold it.
fn round(probabilities: &mut [f32]) {
    let is_kept = |probability: &f32| *probability >= MIN_PROBABILITY;
    let total: f32 = probabilities.iter().copied().filter(is_kept).sum();
    for probability in probabilities {
        *probability = match is_kept(probability) {
            true => (*probability / total * 1000.0).round() / 1000.0,
            false => 0.0,
        };
    }
}

/// The structure of the newest messages of a conversation.
#[derive(Clone, Debug)]
pub struct ConversationStructure<'m> {
    models: &'m Models,
    utterances: Vec<Utterance>,
    /// For each message: that it begins something new, that it replies to the message before it, the one before
    /// that, and so on.
    links: Vec<Vec<f32>>,
    /// What became of each message, found when it is first asked for.
    uptakes: Vec<OnceLock<Uptake>>,
    set: FeatureSet,
    buffer: Vec<f32>,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Uptake {
    /// The probability that its author still waits and that nobody deals with it.
    pub open: f32,
    /// The message that most probably took it up, with the probability that it did.
    pub taken_by: Option<(usize, f32)>,
    /// The probability that its author is content.
    pub content: f32,
}

impl<'m> ConversationStructure<'m> {
    pub fn new(models: &'m Models) -> Self {
        Self {
            models,
            utterances: Vec::new(),
            links: Vec::new(),
            uptakes: Vec::new(),
            set: FeatureSet::default(),
            buffer: Vec::new(),
        }
    }

    /// Adds the next message.
    pub fn push(&mut self, utterance: Utterance) {
        let window = &self.utterances[self.utterances.len().saturating_sub(WINDOW)..];
        let mut scores = Vec::with_capacity(window.len() + 1);
        let (network, buffer) = (&self.models.links, &mut self.buffer);
        links::each_candidate(window, &utterance, &mut self.set, |set| {
            scores.push(network.score(set.active(), buffer));
        });
        softmax(&mut scores);
        round(&mut scores);
        self.push_with(utterance, scores);
    }

    fn push_with(&mut self, utterance: Utterance, links: Vec<f32>) {
        self.links.push(links);
        self.utterances.push(utterance);
        // Any message may change what became of those before it.
        self.uptakes.clear();
        self.uptakes.resize_with(self.utterances.len(), OnceLock::new);
    }

    /// Adds the next message with the links that it has had before: the probability that it begins something new, and
    /// the messages that it may reply to.
    pub fn push_linked(&mut self, utterance: Utterance, begins: f32, parents: &[(usize, f32)]) {
        let index = self.len();
        let mut links = vec![0.0; index.min(WINDOW) + 1];
        links[0] = begins;
        for (parent, probability) in parents {
            if let Some(link) = index.checked_sub(*parent).and_then(|back| links.get_mut(back)) {
                *link = *probability;
            }
        }
        self.push_with(utterance, links);
    }

    /// The messages that the one at `index` may reply to, each with the probability.
    pub fn parents(&self, index: usize) -> impl Iterator<Item = (usize, f32)> {
        let parents = self.links[index].iter().enumerate().skip(1).take(index);
        parents
            .filter(|(_, probability)| **probability > 0.0)
            .map(move |(back, probability)| (index - back, *probability))
    }

    pub fn utterances(&self) -> &[Utterance] {
        &self.utterances
    }

    pub fn len(&self) -> usize {
        self.utterances.len()
    }

    pub fn is_empty(&self) -> bool {
        self.utterances.is_empty()
    }

    /// The probability that the message at `index` begins something new.
    pub fn begins(&self, index: usize) -> f32 {
        self.links[index][0]
    }

    /// The probability that the message at `index` replies to the one at `parent`, which is before it.
    pub fn link(&self, index: usize, parent: usize) -> f32 {
        self.links[index].get(index - parent).copied().unwrap_or(0.0)
    }

    /// For each message the probability that it belongs to what began with the one at `start`: that it replies to
    /// it, or to a message that belongs to it.
    pub fn belonging(&self, start: usize) -> Vec<f32> {
        let mut belonging = vec![0.0; self.len()];
        belonging[start] = 1.0;
        for index in start + 1..self.len() {
            let parents = (start..index).map(|parent| self.link(index, parent) * belonging[parent]);
            belonging[index] = parents.sum();
        }
        belonging
    }

    /// The probability that a message is a reply to another user, and so is put to that user. A message may go on
    /// with one of its author's that is.
    pub fn directed(&self, index: usize) -> f32 {
        let author = self.utterances[index].author;
        let first = index.saturating_sub(WINDOW);
        let parents = (first..index).map(|parent| {
            let link = self.link(index, parent);
            match self.utterances[parent].author == author {
                false => link,
                true if link > 0.05 => link * self.replied(parent, first),
                true => 0.0,
            }
        });
        parents.sum::<f32>().min(1.0)
    }

    /// The probability that a message replies directly to another user.
    pub fn replied(&self, index: usize, first: usize) -> f32 {
        let author = self.utterances[index].author;
        let others = (first..index).filter(|parent| self.utterances[*parent].author != author);
        others.map(|parent| self.link(index, parent)).sum()
    }

    /// What became of a question.
    pub fn uptake(&self, question: usize) -> Uptake {
        self.uptakes[question].get_or_init(|| self.find_uptake(question)).clone()
    }

    fn find_uptake(&self, question: usize) -> Uptake {
        let asker = self.utterances[question].author;
        let mut set = FeatureSet::default();
        let mut buffer = Vec::new();
        let mut uptake = Uptake { open: 1.0, taken_by: None, content: 0.0 };
        self.follow(question, |progress, index, belongs| {
            uptake::add_features(self, progress, index, belongs, &mut set);
            let mut score = |network: &Network| sigmoid(network.score(set.active(), &mut buffer));
            if self.utterances[index].author != asker {
                let message = &self.utterances[index];
                let names_asker =
                    message.addressee == Some(asker) || message.named.contains(&asker);
                let taken = score(&self.models.takes_up);
                let taken = match message.addressee {
                    _ if names_asker => taken.max(NAMING_TAKES_UP),
                    Some(_) => taken.min(NAMING_ANOTHER),
                    None => taken,
                };
                if uptake.taken_by.is_none_or(|(_, most)| taken > most) {
                    uptake.taken_by = Some((index, taken));
                }
                uptake.open *= 1.0 - taken;
            } else {
                let (content, waits) = (score(&self.models.content), score(&self.models.waits));
                let message = &self.utterances[index];
                // Before anybody else has written, only clear words show that the matter is settled.
                let is_clear = progress.others > 0 || message.cues.intersects(CONTENT);
                let is_meant = is_clear && message.addressee.is_none();
                let content =
                    if is_meant || message.cues.contains(Cues::THANKS) { content } else { 0.0 };
                uptake.open *= 1.0 - content;
                uptake.open += (1.0 - uptake.open) * waits;
                uptake.content =
                    (uptake.content + content * (1.0 - uptake.content)) * (1.0 - waits);
            }
        });
        uptake
    }

    /// The messages whose authors ask for something and most probably still wait, with the probability, oldest first.
    pub fn waiting(&self) -> Vec<(usize, f32)> {
        let first = self.len().saturating_sub(MAX_QUESTION_DISTANCE);
        let asking = (first..self.len()).map(|index| (index, self.asking(index)));
        let asking = asking.filter(|(_, asking)| *asking > 0.0);
        asking.map(|(index, asking)| (index, asking * self.open(index))).collect()
    }

    /// How much a message asks for something: 1 for a question, less for a plea without one, 0 for anything else.
    pub fn asking(&self, index: usize) -> f32 {
        let utterance = &self.utterances[index];
        let is_plea = || {
            utterance.cues.contains(Cues::TROUBLE)
                && utterance.cues.intersects(Cues::FIRST_PERSON | Cues::JAPANESE)
                && utterance.length >= MIN_PLEA_LENGTH
                && self.begins(index) > MIN_PLEA_BEGINNING
        };
        match () {
            () if utterance.is_bot || utterance.cues.contains(Cues::NOTICE) => 0.0,
            () if utterance.cues.contains(Cues::ASKS) => 1.0,
            () if is_plea() => PLEA_WEIGHT,
            () => 0.0,
        }
    }

    /// The probability that the author of a message waits for anybody's answer: it is put to nobody in particular and
    /// still open.
    pub fn open(&self, index: usize) -> f32 {
        let directed = match self.utterances[index].addressee {
            Some(_) => 1.0,
            None if self.utterances[index].cues.contains(Cues::TO_ALL) => 0.0,
            None => DIRECTED_WEIGHT * self.directed(index),
        };
        (1.0 - directed) * self.uptake(index).open
    }

    /// The user whose message the one at `index` most probably replies to, directly or by going on with its author's
    /// own.
    pub fn partner(&self, index: usize) -> Option<u32> {
        let author = self.utterances[index].author;
        let mut index = index;
        loop {
            let first = index.saturating_sub(WINDOW);
            let parents = (first..index).map(|parent| (parent, self.link(index, parent)));
            let (parent, _) = parents.max_by(|one, other| one.1.total_cmp(&other.1))?;
            if self.begins(index) > self.link(index, parent) {
                return None;
            }
            if self.utterances[parent].author != author {
                return Some(self.utterances[parent].author);
            }
            index = parent;
        }
    }

    /// The messages `range` with the links that they have.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self {
            models: self.models,
            utterances: self.utterances[range.clone()].to_vec(),
            links: self.links[range.clone()].to_vec(),
            uptakes: range.map(|_| OnceLock::new()).collect(),
            set: FeatureSet::default(),
            buffer: Vec::new(),
        }
    }

    /// Passes on each later message of a user with the progress until then and the probability that it belongs to
    /// the question.
    pub fn follow(&self, question: usize, mut visit: impl FnMut(&Progress, usize, f32)) {
        let asker = self.utterances[question].author;
        let belonging = self.belonging(question);
        let mut progress = Progress { question, others: 0, own: 0, last: question };
        for (index, belonging) in belonging.into_iter().enumerate().skip(question + 1) {
            let message = &self.utterances[index];
            if message.is_bot && message.addressee != Some(asker) {
                continue;
            }
            visit(&progress, index, belonging);
            match self.utterances[index].author == asker {
                true => progress.own += 1,
                false => progress.others += 1,
            }
            if belonging > 0.5 {
                progress.last = index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameIndex;

    #[test]
    fn the_shipped_tables_have_a_row_for_each_feature() {
        let models = Models::shipped();
        let rows = |network: &Network| network.rows.len() / (network.hidden() + 1);
        assert_eq!(rows(&models.links), links::row_names().len());
        let mut structure = ConversationStructure::new(models);
        for author in 0..2 {
            structure.push(Utterance::new(author, 0.0, "", &[], &NameIndex::default()));
        }
        let progress = Progress { question: 0, others: 0, own: 0, last: 0 };
        let mut set = FeatureSet::recording();
        uptake::add_features(&structure, &progress, 1, 0.5, &mut set);
        for network in [&models.takes_up, &models.content, &models.waits] {
            assert_eq!(rows(network), set.row_names().len());
        }
    }
}
