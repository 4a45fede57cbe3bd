//! Who answers whom. Computes the probability that a message of a conversation replies to each earlier one, or that it
//! begins something new, and from these whether a user still waits for an answer. The field calls it *conversation
//! disentanglement* and *reply-to recognition*.
//!
//! Six small fitted models weigh cheap features of the messages; no language model is used. They were fitted by
//! `examples/fit_structure`, which also measures them (`docs/internals/eval.md` has the figures).

pub mod agreement;
pub mod appeal;
pub mod calls;
pub mod cues;
pub mod features;
mod fixed_map;
pub mod lexicon;
pub mod links;
pub mod names;
pub mod network;
mod reader;
pub mod request;
pub mod uptake;
pub mod utterance;
pub mod vocabulary;
pub mod words;

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::cues::Cues;
use crate::features::FeatureSet;
use crate::links::WINDOW;
use crate::network::{NeuralNetwork, sigmoid, softmax};
use crate::uptake::Progress;
use crate::utterance::Utterance;

/// The version of the links' table and features. Stored links of another version are recomputed.
pub const LINKS_VERSION: u32 = 1;
/// Links with a lower probability are dropped.
const MIN_PROBABILITY: f32 = 0.02;
/// The weight of [`ConversationStructure::directed`]: a reply to another user may still be a question to everyone.
const DIRECTED_WEIGHT: f32 = 0.9;
/// The minimum probability that a message that names the asker takes up the question.
const NAMING_TAKES_UP: f32 = 0.9;
/// The maximum probability that a message addressed to another user takes up the question.
const NAMING_ANOTHER: f32 = 0.02;
/// Cues by which an asker shows that the matter is settled.
const CONTENT: Cues = Cues::THANKS.union(Cues::SOLVED).union(Cues::GOODBYE);
/// The minimum probability that an asker is content who writes in the same matter that it is solved.
pub const SOLVED_CONTENT: f32 = 0.9;
const SAME_MATTER: f32 = 0.5;
/// A plea differs from a story only in its form, so it counts for less than a question.
const PLEA_WEIGHT: f32 = 0.65;
const MIN_PLEA_LENGTH: usize = 5;
const MIN_PLEA_BEGINNING: f32 = 0.7;

/// The fitted models.
#[derive(Clone, Debug)]
pub struct FittedModels {
    /// Scores which message another one replies to.
    pub links: NeuralNetwork,
    /// Scores whether another user's message takes up a question.
    pub takes_up: NeuralNetwork,
    /// Scores whether the asker's own message shows that the matter is settled.
    pub content: NeuralNetwork,
    /// Scores whether the asker's own message shows that they still wait.
    pub waits: NeuralNetwork,
    /// Scores whether a message still calls for a word.
    pub calls: NeuralNetwork,
}

static MODELS: LazyLock<FittedModels> = LazyLock::new(|| {
    let table = |text: &str| NeuralNetwork::parse(text).expect("a test reads every table");
    FittedModels {
        links: table(include_str!("links.csv")),
        takes_up: table(include_str!("takes_up.csv")),
        content: table(include_str!("content.csv")),
        waits: table(include_str!("waits.csv")),
        calls: table(include_str!("calls.csv")),
    }
});

impl FittedModels {
    /// The models that are shipped with the program.
    pub fn shipped() -> &'static Self {
        &MODELS
    }
}

/// A message's text in lower case without code, quotations and addresses.
pub fn prose(text: &str) -> String {
    reader::Prose::new(text).text
}

/// Drops improbable links and rounds the rest to three digits, to keep stored rows few and short.
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
#[derive(Debug)]
pub struct ConversationStructure<'m> {
    models: &'m FittedModels,
    utterances: Vec<Utterance>,
    /// For each message, the probabilities that it begins something new, that it replies to the message before it, to
    /// the one before that, and so on.
    links: Vec<Arc<[f32]>>,
    /// The cached uptake of each message, where it was requested.
    uptakes: Vec<Mutex<Option<UptakeSoFar>>>,
    set: FeatureSet,
    buffer: Vec<f32>,
}

/// The uptake of a question by the messages up to a certain one. Computation resumes with later messages.
#[derive(Clone, Debug)]
struct UptakeSoFar {
    uptake: Uptake,
    progress: Progress,
    /// For each message from the question on, the probability that it belongs to the question.
    belonging: Vec<f32>,
}

/// How far back from a question its uptake depends on messages.
const UPTAKE_LOOKBACK: usize = 20;

thread_local! {
    /// Buffers for one message's features and their score.
    static BUFFERS: RefCell<(FeatureSet, Vec<f32>)> = RefCell::default();
}

/// The uptake of a question: whether it is still open, and what took it up.
#[derive(Clone, Debug, PartialEq)]
pub struct Uptake {
    /// The probability that its author still waits and that no user deals with it.
    pub open: f32,
    /// The message that most probably took it up, and the probability that it did.
    pub taken_by: Option<(usize, f32)>,
    /// The probability that its author is content.
    pub content: f32,
}

impl<'m> ConversationStructure<'m> {
    pub fn new(models: &'m FittedModels) -> Self {
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
        self.links.push(links.into());
        self.utterances.push(utterance);
        self.uptakes.push(Mutex::default());
    }

    /// Adds the next message with links that were computed before: the probability that it begins something new, and
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

    /// The messages that the one at `index` may reply to, each with its probability.
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

    /// For each message, the probability that it belongs to what began with the one at `start`: that it replies to that
    /// message, or to one that belongs to it.
    pub fn belonging(&self, start: usize) -> Vec<f32> {
        let mut belonging = vec![0.0; start];
        let mut since = vec![1.0];
        for _ in start + 1..self.len() {
            self.push_belonging(start, &mut since);
        }
        belonging.append(&mut since);
        belonging
    }

    /// Appends the probability for the next message after those in `since`, which begin with the one at `start`.
    fn push_belonging(&self, start: usize, since: &mut Vec<f32>) {
        let index = start + since.len();
        // No link reaches further back.
        let first = start.max(index.saturating_sub(WINDOW));
        let parents = (first..index).map(|parent| self.link(index, parent) * since[parent - start]);
        let belongs = parents.sum();
        since.push(belongs);
    }

    /// The probability that a message is a reply to another user, and so is directed to that user. A message may also
    /// continue one of its author's that is.
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

    /// The uptake of a question by the messages after it.
    pub fn uptake(&self, question: usize) -> Uptake {
        let mut known = self.uptakes[question].lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| UptakeSoFar {
            uptake: Uptake { open: 1.0, taken_by: None, content: 0.0 },
            progress: Progress { question, others: 0, own: 0, last: question },
            belonging: vec![1.0],
        });
        BUFFERS.with_borrow_mut(|(set, buffer)| {
            while question + known.belonging.len() < self.len() {
                self.push_belonging(question, &mut known.belonging);
                let index = question + known.belonging.len() - 1;
                let belongs = known.belonging[index - question];
                let UptakeSoFar { uptake, progress, .. } = known;
                self.advance(progress, index, belongs, |progress| {
                    self.add_to_uptake(uptake, progress, index, belongs, set, buffer);
                });
            }
        });
        known.uptake.clone()
    }

    /// Like [`uptake`](Self::uptake), of the messages from `first` on.
    pub fn uptake_since(&self, question: usize, first: usize) -> Uptake {
        if first <= question + 1 {
            return self.uptake(question);
        }
        let mut uptake = Uptake { open: 1.0, taken_by: None, content: 0.0 };
        BUFFERS.with_borrow_mut(|(set, buffer)| {
            self.follow(question, |progress, index, belongs| {
                if index >= first {
                    self.add_to_uptake(&mut uptake, progress, index, belongs, set, buffer);
                }
            });
        });
        uptake
    }

    /// Updates the uptake of a question with the message at `index`.
    fn add_to_uptake(
        &self,
        uptake: &mut Uptake,
        progress: &Progress,
        index: usize,
        belongs: f32,
        set: &mut FeatureSet,
        buffer: &mut Vec<f32>,
    ) {
        let asker = self.utterances[progress.question].author;
        uptake::add_features(self, progress, index, belongs, set);
        let mut score = |network: &NeuralNetwork| sigmoid(network.score(set.active(), buffer));
        let message = &self.utterances[index];
        if message.author != asker {
            let names_asker = message.addressee == Some(asker) || message.named.contains(&asker);
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
            // Before another user has written, only clear words show that the matter is settled.
            let is_clear = progress.others > 0 || message.cues.intersects(CONTENT);
            let is_meant = is_clear && message.addressee.is_none();
            let is_next = index == progress.question + 1;
            let solves = (is_next || belongs > SAME_MATTER) && message.solves();
            let is_meant = is_meant || message.cues.contains(Cues::THANKS);
            let content = if is_meant { content } else { 0.0 };
            let content = if solves { content.max(SOLVED_CONTENT) } else { content };
            let waits = if solves { waits.min(1.0 - SOLVED_CONTENT) } else { waits };
            uptake.open *= 1.0 - content;
            uptake.open += (1.0 - uptake.open) * waits;
            uptake.content = (uptake.content + content * (1.0 - uptake.content)) * (1.0 - waits);
        }
    }

    /// How much a message asks for something: 1 for a question, less for a plea without a question, 0 otherwise.
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

    /// The probability that the author of a message waits for an answer by anyone: it is directed to no one in
    /// particular and still open.
    pub fn open(&self, index: usize) -> f32 {
        let directed = match self.utterances[index].addressee {
            Some(_) => 1.0,
            None if self.utterances[index].cues.contains(Cues::TO_ALL) => 0.0,
            None => DIRECTED_WEIGHT * self.directed(index),
        };
        (1.0 - directed) * self.uptake(index).open
    }

    /// How surely a message still calls for a word from anybody, in log odds: it asks, pleads or tells of trouble, and
    /// nobody has taken it up. What a bot or the platform says does not.
    pub fn calls(&self, index: usize) -> f32 {
        let message = &self.utterances[index];
        if message.is_bot || message.cues.contains(Cues::NOTICE) {
            return f32::NEG_INFINITY;
        }
        let uptake = self.uptake(index);
        BUFFERS.with_borrow_mut(|(set, buffer)| {
            calls::add_features(self, index, &uptake, set);
            self.models.calls.score(set.active(), buffer)
        })
    }

    /// Whether the message at `index` most probably replies to another user's, directly or by continuing its author's
    /// own.
    pub fn is_in_exchange(&self, mut index: usize) -> bool {
        let author = self.utterances[index].author;
        loop {
            let first = index.saturating_sub(WINDOW);
            let parents = (first..index).map(|parent| (parent, self.link(index, parent)));
            let nearest = parents.max_by(|one, other| one.1.total_cmp(&other.1));
            let Some((parent, _)) = nearest.filter(|(_, link)| self.begins(index) <= *link) else {
                return false;
            };
            if self.utterances[parent].author != author {
                return true;
            }
            index = parent;
        }
    }

    /// The messages in `range` with their links.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let goes_to_end = range.end == self.len();
        // A cached uptake stays valid unless messages that it depends on are missing.
        let uptake = |index: usize| {
            let stands = goes_to_end
                && (range.start == 0 || index.saturating_sub(range.start) >= UPTAKE_LOOKBACK);
            let known = self.uptakes[index].lock().unwrap_or_else(PoisonError::into_inner);
            let known = known.as_ref().filter(|_| stands);
            Mutex::new(known.map(|known| known.moved_up(range.start)))
        };
        Self {
            models: self.models,
            utterances: self.utterances[range.clone()].to_vec(),
            links: self.links[range.clone()].to_vec(),
            uptakes: range.clone().map(uptake).collect(),
            set: FeatureSet::default(),
            buffer: Vec::new(),
        }
    }

    /// Calls `visit` for each later message of a user, with the progress before it and the probability that it belongs
    /// to the question.
    pub fn follow(&self, question: usize, mut visit: impl FnMut(&Progress, usize, f32)) {
        let belonging = self.belonging(question);
        let mut progress = Progress { question, others: 0, own: 0, last: question };
        for (index, belonging) in belonging.into_iter().enumerate().skip(question + 1) {
            self.advance(&mut progress, index, belonging, |progress| {
                visit(progress, index, belonging);
            });
        }
    }

    /// If the message at `index` counts, calls `visit` with the progress before it, then adds the message to the
    /// progress.
    fn advance(
        &self,
        progress: &mut Progress,
        index: usize,
        belonging: f32,
        visit: impl FnOnce(&Progress),
    ) {
        let asker = self.utterances[progress.question].author;
        let message = &self.utterances[index];
        if message.passes_on || message.is_bot && message.addressee != Some(asker) {
            return;
        }
        visit(progress);
        match message.author == asker {
            true => progress.own += 1,
            false => progress.others += 1,
        }
        if belonging > 0.5 {
            progress.last = index;
        }
    }
}

impl UptakeSoFar {
    /// Shifts all indices after this many of the first messages were removed.
    fn moved_up(&self, by: usize) -> Self {
        let Self { uptake, progress, belonging } = self;
        let taken_by = uptake.taken_by.map(|(index, taken)| (index - by, taken));
        Self {
            uptake: Uptake { taken_by, ..uptake.clone() },
            progress: Progress {
                question: progress.question - by,
                last: progress.last - by,
                ..*progress
            },
            belonging: belonging.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameIndex;

    #[test]
    fn the_shipped_tables_have_a_row_for_each_feature() {
        let models = FittedModels::shipped();
        let rows = |network: &NeuralNetwork| network.rows.len() / (network.hidden() + 1);
        assert_eq!(rows(&models.links), links::row_names().len());
        let mut structure = ConversationStructure::new(models);
        for author in 0..2 {
            structure.push(Utterance::new(author, 0.0, "", &[], &NameIndex::default()));
        }
        let mut set = FeatureSet::recording();
        calls::add_features(&structure, 0, &structure.uptake(0), &mut set);
        assert_eq!(rows(&models.calls), set.row_names().len());
        let progress = Progress { question: 0, others: 0, own: 0, last: 0 };
        let mut set = FeatureSet::recording();
        uptake::add_features(&structure, &progress, 1, 0.5, &mut set);
        for network in [&models.takes_up, &models.content, &models.waits] {
            assert_eq!(rows(network), set.row_names().len());
        }
    }

    /// An artificial conversation of four users, who ask, answer and thank in turns.
    fn utterances(count: u32) -> Vec<Utterance> {
        let mut names = NameIndex::default();
        for (name, id) in ["ann", "bob", "cid", "dora"].into_iter().zip(0..) {
            names.insert(id, name);
        }
        let texts = [
            "does anybody know where the long ladder is?",
            "on the shelf",
            "bob: it is not there",
            "thanks!",
            "my printer does not work, I am stuck",
            "have you tried another cable?",
            "still the same",
            "so it goes",
            "ann: look behind the door",
            "found it, thanks",
        ];
        let utterance = |number: u32| {
            let mixed = number.wrapping_mul(2_654_435_761) >> 7;
            let (text, author) = (texts[mixed as usize % texts.len()], mixed / 16 % 4);
            Utterance::new(author, f64::from(number * 20), text, &[], &names)
        };
        (0..count).map(utterance).collect()
    }

    #[test]
    fn what_became_of_a_question_goes_on_from_what_was_known() {
        let utterances = utterances(120);
        let mut asked_often = ConversationStructure::new(FittedModels::shipped());
        let mut is_open = 0;
        for (index, utterance) in utterances.iter().enumerate() {
            asked_often.push(utterance.clone());
            if index % 50 == 49 {
                asked_often = asked_often.slice(13..asked_often.len());
            }
            let mut anew = asked_often.slice(0..0);
            for index in 0..asked_often.len() {
                let parents: Vec<_> = asked_often.parents(index).collect();
                let utterance = asked_often.utterances()[index].clone();
                anew.push_linked(utterance, asked_often.begins(index), &parents);
            }
            for question in 0..asked_often.len() {
                assert_eq!(asked_often.uptake(question), anew.uptake(question), "{question}");
                is_open += usize::from(anew.uptake(question).open > 0.5);
            }
        }
        assert!(is_open > 100, "{is_open}");
    }
}
