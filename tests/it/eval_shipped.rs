//! The labeled decisions shipped with the project, for users who try a model on the first day.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aizuchi_past::eval::decide::item::{self, DecisionItem, DecisionLabel, Half};
use serde_json::Value;

use crate::command::aizuchi;

fn shipped(tag: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("evals/decide-{tag}.jsonl"))
}

fn items(tag: &str) -> Vec<DecisionItem> {
    item::open(&[shipped(tag)]).unwrap()
}

/// Returns the kinds of situations with the number of items of each.
fn kinds(items: &[DecisionItem]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    items.iter().for_each(|item| *kinds.entry(&*item.kind).or_default() += 1);
    kinds
}

fn seconds_quiet(item: &DecisionItem) -> f64 {
    item.context.last().map_or(0.0, |last| -last.t)
}

fn messages(item: &DecisionItem) -> f64 {
    item.context.len() as f64
}

#[test]
fn they_are_balanced_and_of_many_kinds() {
    for tag in ["en", "ja"] {
        let items = items(tag);
        for item in &items {
            assert_eq!(item.language.tag(), tag, "{}", item.id);
            assert!(item.id.starts_with(&format!("decide-{tag}-")), "{}", item.id);
            let label = item.kind.split('/').next();
            assert_eq!(label, Some(item.label.name()), "{}", item.id);
        }
        let labeled =
            |label: DecisionLabel| items.iter().filter(|item| item.label == label).count();
        let counts = [DecisionLabel::Speak, DecisionLabel::Silent].map(labeled);
        assert_eq!(counts, [20, 20], "{tag}");
        assert!(kinds(&items).len() >= 20, "{tag}: {:?}", kinds(&items));
        // Neither the length of the pause nor the number of messages correlates with the label.
        let mean = |label: DecisionLabel, figure: fn(&DecisionItem) -> f64| {
            let labeled = items.iter().filter(|item| item.label == label);
            labeled.map(figure).sum::<f64>() / 20.0
        };
        for (figure, most) in [(seconds_quiet as fn(&DecisionItem) -> f64, 200.0), (messages, 1.0)]
        {
            let (speak, silent) =
                (mean(DecisionLabel::Speak, figure), mean(DecisionLabel::Silent, figure));
            assert!((speak - silent).abs() <= most, "{tag}: {speak} and {silent}");
        }
    }
    assert_eq!(kinds(&items("en")), kinds(&items("ja")));
}

#[test]
fn team_talk_is_balanced_and_half_of_it_is_kept_apart() {
    for tag in ["en", "ja"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("evals/team-{tag}.jsonl"));
        let items = item::open(&[path]).unwrap();
        for half in [Half::Fit, Half::Report] {
            let of = |label: DecisionLabel| {
                items.iter().filter(move |item| item.half() == half && item.label == label)
            };
            let counts =
                [DecisionLabel::Speak, DecisionLabel::Silent].map(|label| of(label).count());
            assert_eq!(counts, [45, 45], "{tag} {half:?}");
            let unmarked = of(DecisionLabel::Speak).filter(|item| item.has_mark() == Some(false));
            assert!(unmarked.count() >= 25, "{tag} {half:?}");
        }
        assert_eq!(kinds(&items).len(), 15, "{tag}");
    }
}

/// The docs compare a model with the table of `aizuchi eval`.
#[test]
fn no_simple_rule_solves_them_and_the_builtin_mind_is_the_bar() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = aizuchi();
    program.current_dir(folder.path()).arg("eval").args([shipped("en"), shipped("ja")]);
    let output = program.arg("--json").output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = |answers: &Value, name: &str| answers["all"][name].as_f64().unwrap();
    let mind = &printed["mind"];
    assert_eq!((&mind["name"], &mind["all"]["failed"]), (&"builtin".into(), &0.into()));
    assert!(figure(mind, "balanced_accuracy") >= 0.78, "{}", mind["all"]);
    assert!(figure(mind, "false_interventions") <= 0.10, "{}", mind["all"]);
    for baseline in printed["baselines"].as_array().unwrap() {
        let reached = figure(baseline, "balanced_accuracy");
        assert!(reached < figure(mind, "balanced_accuracy"), "{}: {reached}", baseline["name"]);
    }
}
