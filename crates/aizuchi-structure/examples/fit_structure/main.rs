//! Fits the models of the conversation structure (`aizuchi_structure`) to recorded chat, measures them on chat
//! that they were not fitted to, and writes their tables.
//!
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA measure
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA shipped
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA vocabulary
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA write
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA appeal
//!     cargo run --release -p aizuchi-structure --example fit_structure -- DATA calls
//!
//! `measure` fits for each measurement without what it measures; `shipped` measures the tables as they are;
//! `vocabulary` lists the forms that stand often in the scenes, for the next `write`, which fits to everything;
//! `appeal` writes the weights of the forms that call for a word, and `calls`, after that, the score of messages.
//!
//! DATA is a folder with `irc-ubuntu.jsonl.gz`, `slack-software.jsonl.gz`, `slack-ja.jsonl.gz`,
//! `gitter-docker.jsonl.gz`, `decide-irc.jsonl.gz` and `decide-slack.jsonl.gz`. The invented scenes are beside this file.

mod calls;
mod corpora;
mod measures;
mod trainer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use aizuchi_structure::cues::Cues;
use aizuchi_structure::features::FeatureSet;
use aizuchi_structure::network::NeuralNetwork;
use aizuchi_structure::utterance::Utterance;
use aizuchi_structure::{ConversationStructure, FittedModels, links, uptake, vocabulary};
use anyhow::{Context as _, bail};

use crate::corpora::{Role, Room, Scene, utterances};
use crate::trainer::{Example, Settings, fit};

/// A form of the vocabulary stands in so many messages of the scenes.
const MIN_FORM_COUNT: usize = 10;
/// The Japanese channel that is kept apart.
const KEPT_APART: &str = "C5666B6BB";
/// How many messages after a question are looked at.
const MAX_LATER: usize = 20;
/// How much a message of a scene counts beside one of a room: there are far fewer, and each is sure.
const SCENE_LINK_WEIGHT: f32 = 2.5;
const SCENE_UPTAKE_WEIGHT: f32 = 3.0;
const ROOM_UPTAKE_WEIGHT: f32 = 0.1;

struct Corpora {
    irc: Vec<Room>,
    irc_apart: Vec<Room>,
    clojurians: Vec<Room>,
    elmlang: Vec<Room>,
    japanese: Vec<Room>,
    japanese_apart: Vec<Room>,
    scenes: Vec<Scene>,
}

/// What a fit leaves out, to be measured on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    First,
    Second,
    /// Nothing.
    All,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(data), Some(command)) = (arguments.next(), arguments.next()) else {
        bail!("usage: fit_structure DATA measure|shipped|vocabulary|write|appeal|calls");
    };
    let data = PathBuf::from(data);
    let corpora = Corpora::read(&data)?;
    match command.as_str() {
        "measure" => measures::report(
            &corpora,
            &data,
            [corpora.fit(Fold::First), corpora.fit(Fold::Second), corpora.fit(Fold::All)],
        ),
        "shipped" => measures::report_shipped(&corpora, &data),
        "vocabulary" => write_vocabulary(&corpora.scenes),
        "write" => write(&corpora.fit(Fold::All)),
        "appeal" => calls::write_appeal(&corpora),
        "calls" => calls::write_calls(&corpora, &data),
        other => bail!("{other} is none of measure, shipped, vocabulary, write, appeal and calls"),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fit_structure")
}

fn tables_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Lists the forms that stand often in the messages after the scenes' questions.
fn write_vocabulary(scenes: &[Scene]) -> anyhow::Result<()> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for message in scenes.iter().flat_map(|scene| &scene.room.messages[scene.asked + 1..]) {
        let mut forms = BTreeSet::new();
        vocabulary::each_form(&message.text.to_lowercase(), |form| {
            forms.insert(form.to_owned());
        });
        forms.into_iter().for_each(|form| *counts.entry(form).or_default() += 1);
    }
    let forms = counts.into_iter().filter(|(_, count)| *count >= MIN_FORM_COUNT);
    let forms: String = forms.map(|(form, _)| form + "\n").collect();
    let path = tables_folder().join("vocabulary.txt");
    std::fs::write(&path, forms).with_context(|| format!("{}", path.display()))
}

fn write(models: &FittedModels) -> anyhow::Result<()> {
    let folder = tables_folder();
    let uptake = uptake_row_names();
    for (name, network, rows) in [
        ("links", &models.links, links::row_names()),
        ("takes_up", &models.takes_up, uptake.clone()),
        ("content", &models.content, uptake.clone()),
        ("waits", &models.waits, uptake),
    ] {
        let path = folder.join(name).with_extension("csv");
        std::fs::write(&path, network.to_table(&rows))
            .with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// Models that score everything alike.
fn untrained() -> FittedModels {
    let zeros =
        |rows: usize| NeuralNetwork { rows: vec![0.0; rows], bias: Vec::new(), output: Vec::new() };
    FittedModels {
        links: zeros(links::row_names().len()),
        takes_up: zeros(0),
        content: zeros(0),
        waits: zeros(0),
        calls: zeros(0),
    }
}

fn uptake_row_names() -> Vec<String> {
    let models = untrained();
    let mut structure = ConversationStructure::new(&models);
    let names = aizuchi_structure::names::NameIndex::default();
    for author in 0..2 {
        structure.push(Utterance::new(author, 0.0, "", &[], &names));
    }
    let mut set = FeatureSet::recording();
    let progress = uptake::Progress { question: 0, others: 0, own: 0, last: 0 };
    uptake::add_features(&structure, &progress, 1, 0.5, &mut set);
    set.row_names()
}

impl Corpora {
    fn read(data: &Path) -> anyhow::Result<Self> {
        let irc = corpora::irc(&data.join("irc-ubuntu.jsonl.gz"))?;
        let slack = corpora::slack(&data.join("slack-software.jsonl.gz"))?;
        let japanese = corpora::threads(&data.join("slack-ja.jsonl.gz"))?;
        let (irc, irc_apart) = irc.into_iter().partition(|room| room.name.starts_with("train/"));
        let (clojurians, elmlang) =
            slack.into_iter().partition(|room| room.name.starts_with("clojurians"));
        let (japanese_apart, japanese) =
            japanese.into_iter().partition(|room| room.name == KEPT_APART);
        let scenes = corpora::fitted_scenes(&folder())?;
        Ok(Self { irc, irc_apart, clojurians, elmlang, japanese, japanese_apart, scenes })
    }

    /// The rooms of a fold with the weight of each, and whether names are known in them.
    fn rooms(&self, fold: Fold) -> Vec<(&Room, f32, bool)> {
        let irc = self.irc.iter().filter(|room| fold == Fold::All || fold_of(&room.name) == fold);
        let irc: Vec<&Room> = irc.collect();
        let slack = [(Fold::First, &self.clojurians), (Fold::Second, &self.elmlang)];
        let slack = slack.into_iter().filter(|(of, _)| fold == Fold::All || *of == fold);
        let slack = slack.flat_map(|(_, rooms)| rooms);
        let mut rooms: Vec<(&Room, f32, bool)> = Vec::new();
        rooms.extend(irc.iter().map(|room| (*room, 1.0, true)));
        rooms.extend(irc.iter().map(|room| (*room, 0.5, false)));
        rooms.extend(slack.map(|room| (room, 0.5, true)));
        rooms.extend(self.japanese.iter().map(|room| (room, 1.0, true)));
        rooms
    }

    /// Fits the links to the rooms of a fold and the scenes, then the uptake to links that were fitted without the
    /// scenes at hand.
    fn fit(&self, fold: Fold) -> FittedModels {
        let rooms = self.rooms(fold);
        let of_rooms =
            || rooms.iter().flat_map(|(room, weight, named)| link_examples(room, *weight, *named));
        let fit_links = |is_in: &dyn Fn(usize) -> bool| {
            let scenes = self.scenes.iter().enumerate().filter(|(number, _)| is_in(*number));
            let scenes =
                scenes.flat_map(|(_, scene)| link_examples(&scene.room, SCENE_LINK_WEIGHT, true));
            let features = links::row_names().len();
            let examples: Vec<Example> = of_rooms().chain(scenes).collect();
            let settings = Settings {
                features,
                hidden: 16,
                epochs: 8,
                rate: 0.003,
                decay: 1e-5,
                dropout: 0.0,
            };
            fit(&examples, &settings)
        };
        let with_links = |links: NeuralNetwork| FittedModels { links, ..untrained() };
        let halves = [
            with_links(fit_links(&|number| number % 2 == 1)),
            with_links(fit_links(&|number| number % 2 == 0)),
        ];
        let mut examples = UptakeExamples::default();
        for (number, scene) in self.scenes.iter().enumerate() {
            examples.add_scene(scene, &halves[number % 2]);
        }
        for (room, weight, named) in &rooms {
            examples.add_room(room, weight * ROOM_UPTAKE_WEIGHT, *named, &halves[0]);
        }
        let features = uptake_row_names().len();
        let settings =
            |decay| Settings { features, hidden: 0, epochs: 12, rate: 0.01, decay, dropout: 0.0 };
        FittedModels {
            links: fit_links(&|_| true),
            takes_up: fit(&examples.takes_up, &settings(3e-5)),
            content: fit(&examples.content, &settings(3e-4)),
            waits: fit(&examples.waits, &settings(3e-4)),
            calls: FittedModels::shipped().calls.clone(),
        }
    }
}

/// Which of two folds a room belongs to.
fn fold_of(room: &str) -> Fold {
    match room.bytes().map(u32::from).sum::<u32>() % 2 {
        0 => Fold::First,
        _ => Fold::Second,
    }
}

fn link_examples(room: &Room, weight: f32, has_names: bool) -> Vec<Example> {
    let utterances = utterances(room, has_names);
    let mut set = FeatureSet::default();
    let known = room.messages.iter().enumerate().filter(|(_, message)| !message.parents.is_empty());
    let examples = known.map(|(index, message)| {
        let first = index.saturating_sub(links::WINDOW);
        let mut candidates = Vec::new();
        links::each_candidate(&utterances[first..index], &utterances[index], &mut set, |set| {
            candidates.push(set.active().to_vec());
        });
        let mut is_right = vec![false; candidates.len()];
        for parent in message.parents.iter().filter(|parent| **parent >= first) {
            is_right[index - parent] = true;
        }
        Example { candidates, is_right, weight }
    });
    examples.collect()
}

#[derive(Default)]
struct UptakeExamples {
    takes_up: Vec<Example>,
    content: Vec<Example>,
    waits: Vec<Example>,
}

impl UptakeExamples {
    fn add_scene(&mut self, scene: &Scene, models: &FittedModels) {
        let structure = structure(&scene.room, true, models);
        let asker = scene.room.messages[scene.asked].author;
        let mut set = FeatureSet::default();
        structure.follow(scene.asked, |progress, index, belongs| {
            uptake::add_features(&structure, progress, index, belongs, &mut set);
            let role = scene.roles[index];
            let example = |is: bool| yes_or_no(&set, is, SCENE_UPTAKE_WEIGHT);
            if structure.utterances()[index].author == asker {
                self.content.push(example(role == Role::Content));
                self.waits.push(example(role == Role::Waits));
            } else {
                self.takes_up.push(example(role == Role::TakesUp));
            }
        });
    }

    /// Learns from a recorded room who took up questions that began something.
    fn add_room(&mut self, room: &Room, weight: f32, has_names: bool, models: &FittedModels) {
        let structure = structure(room, has_names, models);
        let begins = |index: &usize| {
            let asks = structure.utterances()[*index].cues.contains(Cues::ASKS);
            room.messages[*index].parents.contains(index) && asks
        };
        for question in (0..room.messages.len()).filter(begins) {
            let last = (question + MAX_LATER + 1).min(room.messages.len());
            let first = question.saturating_sub(links::WINDOW);
            let around = structure.slice(first..last);
            let mut belongs_to = vec![false; last];
            belongs_to[question] = true;
            let mut set = FeatureSet::default();
            let asker = room.messages[question].author;
            around.follow(question - first, |progress, index, belongs| {
                let message = &room.messages[first + index];
                belongs_to[first + index] =
                    message.parents.iter().any(|parent| belongs_to[*parent]);
                if message.author != asker && !message.parents.is_empty() {
                    uptake::add_features(&around, progress, index, belongs, &mut set);
                    self.takes_up.push(yes_or_no(&set, belongs_to[first + index], weight));
                }
            });
        }
    }
}

fn yes_or_no(set: &FeatureSet, is: bool, weight: f32) -> Example {
    Example { candidates: vec![set.active().to_vec(), Vec::new()], is_right: vec![is, !is], weight }
}

pub fn structure<'m>(
    room: &Room,
    has_names: bool,
    models: &'m FittedModels,
) -> ConversationStructure<'m> {
    let mut structure = ConversationStructure::new(models);
    for utterance in utterances(room, has_names) {
        structure.push(utterance);
    }
    structure
}
