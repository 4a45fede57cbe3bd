//! Measures fitted models on chat that they were not fitted to.

use std::path::Path;

use aizuchi_structure::links::WINDOW;
use aizuchi_structure::{ConversationStructure, FittedModels};

use crate::corpora::{self, LabeledMoment, Room, Scene};
use crate::{Corpora, Fold, fold_of, folder, structure};

pub fn report(
    corpora: &Corpora,
    data: &Path,
    [first, second, all]: [FittedModels; 3],
) -> anyhow::Result<()> {
    links("IRC, dev rooms, all fitted", &corpora.irc_apart, &all);
    links("Japanese Slack, a channel kept apart", &corpora.japanese_apart, &all);
    links("elmlang, fitted on clojurians", &corpora.elmlang, &first);
    links("clojurians, fitted on elmlang", &corpora.clojurians, &second);
    let apart = |moment: &LabeledMoment| -> usize {
        let fold = match moment.room.as_str() {
            room if room.starts_with("clojurians") => Fold::First,
            room if room.starts_with("elmlang") => Fold::Second,
            room => fold_of(room),
        };
        usize::from(fold == Fold::First)
    };
    for name in ["decide-irc", "decide-slack"] {
        let moments = corpora::moments(&data.join(format!("{name}.jsonl.gz")))?;
        decisions(name, &moments, |moment| [&first, &second][apart(moment)]);
    }
    let rooms: Vec<Room> = corpora.scenes.iter().map(|s| s.room.clone()).collect();
    links("scenes (fitted)", &rooms, &all);
    scenes("scenes, fitted to them", &corpora.scenes, &all);
    for name in ["rooms", "rooms2", "rooms3"] {
        let apart = corpora::scenes(&folder().join(name).with_extension("jsonl"))?;
        scenes(&format!("{name}, kept apart"), &apart, &all);
    }
    Ok(())
}

pub fn report_shipped(corpora: &Corpora, data: &Path) -> anyhow::Result<()> {
    let models = || FittedModels::shipped().clone();
    report(corpora, data, [models(), models(), models()])
}

/// Graph precision, recall and F over links, to themselves included (Kummerfeld et al. 2019).
fn links(name: &str, rooms: &[Room], models: &FittedModels) {
    let (mut hits, mut predicted, mut gold) = (0, 0, 0);
    for room in rooms {
        let structure = structure(room, true, models);
        for (index, message) in
            room.messages.iter().enumerate().filter(|(_, message)| !message.parents.is_empty())
        {
            let best = best_link(&structure, index);
            predicted += 1;
            gold += message.parents.len();
            hits += usize::from(message.parents.contains(&best));
        }
    }
    let (precision, recall) = (hits as f64 / predicted as f64, hits as f64 / gold as f64);
    let f = 2.0 * precision * recall / (precision + recall);
    println!("{name}: F {f:.3}, precision {precision:.3}, recall {recall:.3} of {gold}");
}

fn best_link(structure: &ConversationStructure<'_>, index: usize) -> usize {
    let parents =
        (index.saturating_sub(WINDOW)..index).map(|parent| (parent, structure.link(index, parent)));
    let best = parents.max_by(|one, other| one.1.total_cmp(&other.1));
    best.filter(|(_, link)| *link > structure.begins(index)).map_or(index, |(parent, _)| parent)
}

fn decisions<'m>(
    name: &str,
    moments: &[LabeledMoment],
    models: impl Fn(&LabeledMoment) -> &'m FittedModels,
) {
    let scored: Vec<(&LabeledMoment, f32)> = moments
        .iter()
        .map(|moment| {
            let structure = structure(&moment.context, true, models(moment));
            (moment, waiting(&structure))
        })
        .collect();
    for threshold in [0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8] {
        let share = |label: &str, kind: &str| {
            let of: Vec<_> = scored
                .iter()
                .filter(|(moment, _)| moment.label == label && moment.kind.ends_with(kind))
                .collect();
            of.iter().filter(|(_, score)| *score > threshold).count() as f64 / of.len() as f64
        };
        let (recall, wrong) = (share("SPEAK", ""), share("SILENT", ""));
        let kinds = ["handled", "directed", "closing", "chatter"]
            .map(|kind| format!("{kind} {:.2}", share("SILENT", kind)));
        println!(
            "{name} above {threshold}: balanced {:.3}, recall {recall:.3}, false {wrong:.3} ({})",
            (recall + 1.0 - wrong) / 2.0,
            kinds.join(", ")
        );
    }
}

fn scenes(name: &str, scenes: &[Scene], models: &FittedModels) {
    let scored: Vec<(&Scene, f32)> = scenes
        .iter()
        .map(|scene| (scene, structure(&scene.room, true, models).uptake(scene.asked).open))
        .collect();
    let count = |is: &dyn Fn(&Scene, f32) -> bool| {
        scored.iter().filter(|(scene, open)| is(scene, *open)).count()
    };
    for threshold in [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9] {
        println!(
            "{name}, dropped below {threshold}: spoke over {} of {} answered (Japanese {}), {} of {} plain; dropped {} of {} open (Japanese {})",
            count(&|scene, open| scene.is_answered && open > threshold),
            count(&|scene, _| scene.is_answered),
            count(&|scene, open| scene.is_answered && open > threshold && scene.is_japanese),
            count(&|scene, open| scene.is_plain && scene.is_answered && open > threshold),
            count(&|scene, _| scene.is_plain && scene.is_answered),
            count(&|scene, open| !scene.is_answered && open <= threshold),
            count(&|scene, _| !scene.is_answered),
            count(&|scene, open| !scene.is_answered && open <= threshold && scene.is_japanese),
        );
    }
}

/// The highest probability that the author of one of the newest messages asks for something and still waits.
fn waiting(structure: &ConversationStructure) -> f32 {
    let first = structure.len().saturating_sub(25);
    let open =
        (first..structure.len()).map(|index| structure.asking(index) * structure.open(index));
    open.fold(0.0, f32::max)
}
