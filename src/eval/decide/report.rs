//! All that is to be told about one way of deciding: as JSON, and as tables with a column for each.

use std::collections::BTreeSet;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value, json};

use crate::eval::decide::Found;
use crate::eval::decide::item::{Half, Item, Label};
use crate::eval::decide::score::{Score, share};

/// How many misses are told.
const TOLD: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who answered.
    pub name: String,
    pub all: Score,
    /// Of the items that the built-in mind's rules were chosen by, and of the others.
    pub chosen: Score,
    pub unseen: Score,
    pub kinds: Vec<(String, Score)>,
    /// Items that are not right, by id, with what was wanted.
    pub misses: Vec<(String, Label)>,
}

impl Report {
    pub fn of(name: String, items: &[Item], found: &[Found]) -> Self {
        let kinds: BTreeSet<&str> = items.iter().map(|item| &*item.kind).collect();
        let of_kind =
            |kind: &str| (kind.to_owned(), Score::of(items, found, |item| item.kind == kind));
        let of_half = |half: Half| Score::of(items, found, |item| item.half() == half);
        let missed = items.iter().zip(found).filter(|(item, found)| match item.label {
            Label::Speak => !found.speaks(),
            Label::Silent => found.speaks(),
            Label::Ambig => false,
        });
        Self {
            name,
            all: Score::of(items, found, |_| true),
            chosen: of_half(Half::Chosen),
            unseen: of_half(Half::Unseen),
            kinds: kinds.into_iter().map(of_kind).collect(),
            misses: missed.map(|(item, _)| (item.id.clone(), item.label)).collect(),
        }
    }

    pub fn json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(kind, score)| (kind.clone(), score_json(score)));
        let misses =
            self.misses.iter().map(|(id, label)| json!({ "id": id, "wanted": wanted(*label) }));
        json!({
            "name": self.name,
            "all": score_json(&self.all),
            "chosen_half": score_json(&self.chosen),
            "unseen_half": score_json(&self.unseen),
            "by_kind": kinds.collect::<Map<_, _>>(),
            "misses": misses.collect::<Vec<_>>(),
        })
    }
}

fn wanted(label: Label) -> &'static str {
    match label {
        Label::Speak => "SPEAK",
        Label::Silent => "SILENT",
        Label::Ambig => "AMBIG",
    }
}

fn score_json(score: &Score) -> Value {
    json!({
        "balanced_accuracy": score.balanced_accuracy(),
        "missed": score.missed(),
        "false_interventions": score.false_interventions(),
        "auroc": score.auroc,
        "ece": score.ece,
        "speak_items": score.wanted,
        "silent_items": score.unwanted,
        "ambiguous_items": score.either,
        "spoken_at_ambiguous": share(score.either_spoken, score.either),
        "unreadable": score.unreadable,
        "failed": score.failed,
    })
}

pub fn tables(report: &Report, baselines: &[Report]) -> String {
    let reports: Vec<&Report> = std::iter::once(report).chain(baselines).collect();
    let mut parts = vec![scores(&reports)];
    if !report.misses.is_empty() {
        parts.push(misses(&report.misses));
    }
    parts.join("\n\n")
}

fn scores(reports: &[&Report]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let names = reports.iter().map(|report| report.name.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&Report) -> String| {
        let values = reports.iter().map(|report| value(report));
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    };
    row("items", &|report| {
        (report.all.wanted + report.all.unwanted + report.all.either).to_string()
    });
    row("balanced accuracy", &|report| number(report.all.balanced_accuracy()));
    row("missed", &|report| number(report.all.missed()));
    row("false interventions", &|report| number(report.all.false_interventions()));
    row("half it was chosen by", &|report| half(&report.chosen));
    row("unseen half", &|report| half(&report.unseen));
    row("AUROC of confidence", &|report| number(report.all.auroc));
    row("ECE of confidence", &|report| number(report.all.ece));
    row("answers that cannot be read", &|report| report.all.unreadable.to_string());
    row("calls that failed", &|report| report.all.failed.to_string());
    for (place, (kind, _)) in reports[0].kinds.iter().enumerate() {
        row(&format!("spoken at {kind}"), &|report| spoken(&report.kinds[place].1));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

/// Balanced accuracy at false interventions.
fn half(score: &Score) -> String {
    format!("{} at {}", number(score.balanced_accuracy()), number(score.false_interventions()))
}

fn spoken(score: &Score) -> String {
    let spoken = score.spoken + score.intruded + score.either_spoken;
    let all = score.wanted + score.unwanted + score.either;
    format!("{} ({spoken} of {all})", number(share(spoken, all)))
}

fn misses(misses: &[(String, Label)]) -> String {
    let told = misses.iter().take(TOLD);
    let mut told: Vec<String> =
        told.map(|(id, label)| format!("{id}: {} was wanted", wanted(*label))).collect();
    if misses.len() > TOLD {
        told.push(format!("… and {} more; --json tells all", misses.len() - TOLD));
    }
    told.join("\n")
}
