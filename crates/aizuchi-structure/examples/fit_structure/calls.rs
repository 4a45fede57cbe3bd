//! Fits what calls for a word: the weights of the forms (`appeal.csv`) to the messages that got an answer, the scenes
//! and invented lines; the score of a message in its conversation (`calls.csv`) to labeled moments, against what stands
//! in recorded chat when it rests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aizuchi_structure::appeal::each_appeal_form;
use aizuchi_structure::features::FeatureSet;
use aizuchi_structure::network::NeuralNetwork;
use aizuchi_structure::{ConversationStructure, FittedModels, Uptake, calls, prose};
use anyhow::{Context as _, ensure};

use crate::corpora::{self, Role, Room};
use crate::trainer::{Example, Settings, fit};
use crate::{Corpora, folder, structure, tables_folder, yes_or_no};

/// So many forms are kept, the ones that weigh most.
const FORMS: usize = 4500;
/// A form stands in so many recorded messages, or in so many invented lines.
const MIN_RECORDED: usize = 40;
const MIN_RECORDED_JAPANESE: usize = 12;
const MIN_INVENTED: usize = 3;
/// How much a line counts by where it is from: there are few invented ones, and each is sure.
const RECORDED_WEIGHT: f32 = 0.35;
const JAPANESE_WEIGHT: f32 = 0.7;
const SCENE_WEIGHT: f32 = 1.2;
const INVENTED_WEIGHT: f32 = 20.0;
/// A conversation is at rest after so many seconds.
const REST: f64 = 90.0;
/// How much each invented line counts beside that.
const SMALL_TALK_WEIGHT: f32 = 0.08;
/// How much all messages of a recording count beside a labeled moment's one.
const MOMENT_WEIGHT: f32 = 3.0;

/// A text, and whether it calls for a word.
struct Line {
    forms: BTreeSet<String>,
    calls: bool,
    weight: f32,
    is_invented: bool,
}

impl Line {
    fn new(text: &str, calls: bool, weight: f32, is_invented: bool) -> Self {
        let mut forms = BTreeSet::new();
        each_appeal_form(&prose(text), |form| {
            forms.insert(form.to_owned());
        });
        Self { forms, calls, weight, is_invented }
    }
}

pub fn write_appeal(corpora: &Corpora) -> anyhow::Result<()> {
    let lines = lines(corpora)?;
    let (mut recorded, mut invented) = (BTreeMap::new(), BTreeMap::new());
    for line in &lines {
        let counts = if line.is_invented { &mut invented } else { &mut recorded };
        line.forms.iter().for_each(|form| *counts.entry(form).or_insert(0_usize) += 1);
    }
    let is_frequent = |form: &&&String| {
        let is_japanese = form.chars().any(|character| character > '\u{3000}');
        let least = if is_japanese { MIN_RECORDED_JAPANESE } else { MIN_RECORDED };
        recorded.get(**form).is_some_and(|count| *count >= least)
            || invented.get(**form).is_some_and(|count| *count >= MIN_INVENTED)
    };
    let all: BTreeSet<&String> = recorded.keys().chain(invented.keys()).copied().collect();
    let forms: Vec<&String> = all.iter().filter(is_frequent).copied().collect();
    let network = fit_forms(&lines, &forms);
    let mut weight_of: BTreeMap<&String, f32> = BTreeMap::new();
    for line in &lines {
        line.forms.iter().for_each(|form| *weight_of.entry(form).or_default() += line.weight);
    }
    let mut ranked: Vec<(f32, &String)> = forms
        .iter()
        .zip(&network.rows)
        .map(|(form, weight)| (weight.abs() * weight_of[*form].sqrt(), *form))
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut kept: Vec<&String> = ranked.into_iter().take(FORMS).map(|(_, form)| form).collect();
    kept.sort();
    let network = fit_forms(&lines, &kept);
    let hundredths = |weight: &f32| (weight * 100.0).round() as i16;
    let rows = kept.iter().zip(&network.rows).filter(|(_, weight)| hundredths(weight) != 0);
    let rows: String =
        rows.map(|(form, weight)| format!("{form},{}\n", hundredths(weight))).collect();
    let bias = network.rows.last().context("a fit has a bias")?;
    let path = tables_folder().join("appeal.csv");
    std::fs::write(&path, format!("{rows}bias,{}\n", hundredths(bias)))
        .with_context(|| format!("{}", path.display()))
}

/// Fits the weight of each form and, behind them, the bias.
fn fit_forms(lines: &[Line], forms: &[&String]) -> NeuralNetwork {
    let numbers: BTreeMap<&String, u16> = forms.iter().copied().zip(0..).collect();
    let bias = forms.len() as u16;
    let examples = lines.iter().map(|line| {
        let known = line.forms.iter().filter_map(|form| numbers.get(form).copied());
        Example {
            candidates: vec![known.chain([bias]).collect(), Vec::new()],
            is_right: vec![line.calls, !line.calls],
            weight: line.weight,
        }
    });
    let examples: Vec<Example> = examples.collect();
    let features = forms.len() + 1;
    let settings =
        Settings { features, hidden: 0, epochs: 10, rate: 0.004, decay: 1e-3, dropout: 0.0 };
    fit(&examples, &settings)
}

/// Messages that begin something and were answered call for a word, and so do the scenes' questions and the invented
/// lines of trouble, grief, questions and pleas; what stands within conversations hardly does.
fn lines(corpora: &Corpora) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let recorded = [&corpora.irc, &corpora.irc_apart, &corpora.clojurians, &corpora.elmlang];
    let english = recorded.into_iter().flatten().map(|room| (room, RECORDED_WEIGHT));
    let japanese = [&corpora.japanese, &corpora.japanese_apart].into_iter().flatten();
    for (room, weight) in english.chain(japanese.map(|room| (room, JAPANESE_WEIGHT))) {
        let is_answered = answered(room);
        for (index, message) in room.messages.iter().enumerate() {
            let begins = message.parents.contains(&index);
            let replies = !message.parents.is_empty() && !begins;
            if !message.is_bot && (replies || begins && is_answered[index]) {
                let text = without_name(&message.text);
                lines.push(Line::new(text, begins, weight, false));
            }
        }
    }
    for scene in &corpora.scenes {
        for (index, message) in scene.room.messages.iter().enumerate() {
            let role = scene.roles.get(index).copied();
            let calls = index == scene.asked;
            if calls || matches!(role, Some(Role::Other | Role::TakesUp | Role::Content)) {
                lines.push(Line::new(&message.text, calls, SCENE_WEIGHT, false));
            }
        }
    }
    for tag in ["en", "ja"] {
        for (kind, text) in invented(tag)? {
            lines.push(Line::new(&text, "TGQP".contains(kind), INVENTED_WEIGHT, true));
        }
    }
    Ok(lines)
}

/// Whether each message was answered by another user.
fn answered(room: &Room) -> Vec<bool> {
    let mut is_answered = vec![false; room.messages.len()];
    for (index, message) in room.messages.iter().enumerate() {
        for parent in message.parents.iter().filter(|parent| **parent < index) {
            is_answered[*parent] |= room.messages[*parent].author != message.author;
        }
    }
    is_answered
}

/// Leaves out the name that a message on IRC begins with.
fn without_name(text: &str) -> &str {
    let named = text.split_once([':', ',']).filter(|(name, _)| !name.contains(' '));
    named.map_or(text, |(_, rest)| rest)
}

pub fn write_calls(corpora: &Corpora, data: &Path) -> anyhow::Result<()> {
    let models = FittedModels::shipped();
    let mut examples = Vec::new();
    for tag in ["en", "ja"] {
        let path = folder().join(format!("../../../../evals/team-{tag}.jsonl"));
        for moment in corpora::moments(&path)?.iter().filter(|moment| moment.half == "fit") {
            add_moment(moment, models, MOMENT_WEIGHT, 1.0, &mut examples);
        }
    }
    for name in ["decide-irc", "decide-slack"] {
        for moment in corpora::moments(&data.join(format!("{name}.jsonl.gz")))? {
            if moment.label == "SPEAK" {
                add_moment(&moment, models, 0.5, 0.0, &mut examples);
            }
        }
    }
    add_small_talk(models, SMALL_TALK_WEIGHT, &mut examples)?;
    let gitter = corpora::slack(&data.join("gitter-docker.jsonl.gz"))?;
    for (rooms, weight) in [
        (vec![&corpora.irc], 60.0),
        (vec![&corpora.clojurians, &corpora.elmlang], 200.0),
        (vec![&gitter], 100.0),
        (vec![&corpora.japanese, &corpora.japanese_apart], 1900.0),
    ] {
        let mut of_rooms: Vec<Example> = Vec::new();
        rooms.into_iter().flatten().for_each(|room| add_rests(room, models, &mut of_rooms));
        let each = weight / of_rooms.len() as f32;
        of_rooms.iter_mut().for_each(|example| example.weight = each);
        examples.append(&mut of_rooms);
    }
    let total: f32 = examples.iter().map(|example| example.weight).sum();
    let mean = total / examples.len() as f32;
    examples.iter_mut().for_each(|example| example.weight /= mean);
    let rows = row_names();
    let settings = Settings {
        features: rows.len(),
        hidden: 0,
        epochs: 12,
        rate: 0.01,
        decay: 2.5e-3,
        dropout: 0.0,
    };
    let network = fit(&examples, &settings);
    let path = tables_folder().join("calls.csv");
    ensure!(network.rows.len() == rows.len(), "a row has no weight");
    std::fs::write(&path, network.to_table(&rows)).with_context(|| format!("{}", path.display()))
}

/// Adds each invented line after others of two or three users, so that what calls differs from the rest by its words
/// alone.
fn add_small_talk(
    models: &FittedModels,
    weight: f32,
    examples: &mut Vec<Example>,
) -> anyhow::Result<()> {
    for tag in ["en", "ja"] {
        let lines = invented(tag)?;
        let is_idle = |(kind, _): &&(char, String)| matches!(kind, 'C' | 'L' | 'A');
        let idle: Vec<&(char, String)> = lines.iter().filter(is_idle).collect();
        for (number, (kind, text)) in lines.iter().enumerate() {
            let before = number % 5;
            let users = 2 + number % 2;
            let author = |index: usize| ((number + index * 7 / 3) % users) as u32;
            let gap = [12.0, 25.0, 70.0, 400.0][number % 4];
            let text_of = |index: usize| match index == before {
                true => text,
                false => &idle[(number * 31 + index * 17) % idle.len()].1,
            };
            let message = |index: usize| corpora::RoomMessage {
                at: index as f64 * gap,
                author: author(index),
                is_bot: false,
                text: text_of(index).clone(),
                parents: Vec::new(),
            };
            let users = (0..users).map(|user| format!("user{user}")).collect();
            let messages = (0..=before).map(message).collect();
            let room = Room { name: String::new(), messages, users };
            let structure = structure(&room, true, models);
            examples.push(example(&structure, before, "TGQP".contains(*kind), weight));
        }
    }
    Ok(())
}

/// The invented lines, each with its kind: trouble, grief, a question or a plea; or chatter, a closing line, an answer,
/// an aside or banter.
fn invented(tag: &str) -> anyhow::Result<Vec<(char, String)>> {
    let path = folder().join(format!("appeal-{tag}.txt"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    let line = |line: &str| {
        let (kind, text) = line.split_once(' ').context("a line has a kind and a text")?;
        Ok((kind.chars().next().context("a kind is a letter")?, text.to_owned()))
    };
    text.lines().map(line).collect()
}

pub fn row_names() -> Vec<String> {
    let mut structure = ConversationStructure::new(FittedModels::shipped());
    let names = aizuchi_structure::names::NameIndex::default();
    structure.push(aizuchi_structure::utterance::Utterance::new(0, 0.0, "", &[], &names));
    let mut set = FeatureSet::recording();
    let uptake = Uptake { open: 1.0, taken_by: None, content: 0.0 };
    calls::add_features(&structure, 0, &uptake, &mut set);
    set.row_names()
}

fn add_moment(
    moment: &corpora::LabeledMoment,
    models: &FittedModels,
    calling: f32,
    idle: f32,
    examples: &mut Vec<Example>,
) {
    let structure = structure(&moment.context, true, models);
    let messages = &moment.context.messages;
    let humans = (0..messages.len()).filter(|index| !messages[*index].is_bot);
    let humans: Vec<usize> = humans.filter(|index| !moment.own.contains(index)).collect();
    if moment.label == "SPEAK" {
        // Calls by name and replies to the persona are owed an answer, whatever their words.
        let is_judged = !matches!(moment.kind.as_str(), "named" | "thread_follow_up");
        let open = |index: &usize| structure.asking(*index) * structure.open(*index);
        let best = || humans.iter().copied().max_by(|a, b| open(a).total_cmp(&open(b)));
        if let Some(index) = moment.about.or_else(best).filter(|_| is_judged) {
            examples.push(example(&structure, index, true, calling));
        }
    } else if idle > 0.0 {
        examples.extend(humans.iter().map(|index| example(&structure, *index, false, idle)));
    }
}

/// Adds what is new in a recorded room each time that it rests.
fn add_rests(room: &Room, models: &FittedModels, examples: &mut Vec<Example>) {
    let whole = structure(room, true, models);
    let mut first = 0;
    for end in 1..=room.messages.len() {
        let pause =
            room.messages.get(end).map_or(f64::MAX, |next| next.at - room.messages[end - 1].at);
        if pause < REST && end - first < 40 {
            continue;
        }
        let start = end.saturating_sub(80);
        let around = whole.slice(start..end);
        let humans = (first.max(start)..end).filter(|index| !room.messages[*index].is_bot);
        examples.extend(humans.map(|index| example(&around, index - start, false, 1.0)));
        first = end;
    }
}

fn example(structure: &ConversationStructure, index: usize, calls: bool, weight: f32) -> Example {
    let mut set = FeatureSet::default();
    let uptake = structure.uptake(index);
    aizuchi_structure::calls::add_features(structure, index, &uptake, &mut set);
    yes_or_no(&set, calls, weight)
}
