//! The full report on one mind or baseline, as JSON and as a text table.

use std::collections::BTreeSet;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value, json};

use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::{DecisionItem, DecisionLabel, Half};
use crate::eval::decide::score::{DecisionScore, share};

/// The number of misses that are listed.
const MAX_LISTED_MISSES: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct DecisionReport {
    /// The name of the model or baseline.
    pub name: String,
    pub all: DecisionScore,
    /// The half of the items on which the built-in mind's rules were tuned, and the other half.
    pub tuning: DecisionScore,
    pub held_out: DecisionScore,
    /// By kind, and by whether what they are about contains a question mark.
    pub kinds: Vec<(String, DecisionScore)>,
    /// The ids of items with a wrong answer, with their label.
    pub misses: Vec<(String, DecisionLabel)>,
}

impl DecisionReport {
    pub fn new(name: String, items: &[DecisionItem], answers: &[ItemAnswer]) -> Self {
        let kinds: BTreeSet<&str> = items.iter().map(|item| &*item.kind).collect();
        let of_kind = |kind: &str| {
            (kind.to_owned(), DecisionScore::new(items, answers, |item| item.kind == kind))
        };
        let of_half = |half: Half| DecisionScore::new(items, answers, |item| item.half() == half);
        let of_marks = |label: DecisionLabel, has_mark: bool| {
            let is_of =
                |item: &DecisionItem| item.label == label && item.has_mark() == Some(has_mark);
            let unseen = |item: &DecisionItem| is_of(item) && item.half() == Half::Report;
            let name =
                format!("{} {} a mark", label.name(), if has_mark { "with" } else { "without" });
            [
                (format!("{name}, unseen half"), DecisionScore::new(items, answers, unseen)),
                (name, DecisionScore::new(items, answers, is_of)),
            ]
        };
        let marks = [DecisionLabel::Speak, DecisionLabel::Silent].into_iter().flat_map(|label| {
            [true, false].into_iter().flat_map(move |mark| of_marks(label, mark))
        });
        let marks = marks.filter(|(_, score)| score.wanted + score.unwanted > 0);
        let missed = items.iter().zip(answers).filter(|(item, answer)| match item.label {
            DecisionLabel::Speak => !answer.would_speak(),
            DecisionLabel::Silent => answer.would_speak(),
            DecisionLabel::Ambig => false,
        });
        Self {
            name,
            all: DecisionScore::new(items, answers, |_| true),
            tuning: of_half(Half::Fit),
            held_out: of_half(Half::Report),
            kinds: kinds.into_iter().map(of_kind).chain(marks).collect(),
            misses: missed.map(|(item, _)| (item.id.clone(), item.label)).collect(),
        }
    }

    pub fn to_json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(kind, score)| (kind.clone(), score_json(score)));
        let misses =
            self.misses.iter().map(|(id, label)| json!({ "id": id, "wanted": wanted(*label) }));
        json!({
            "name": self.name,
            "all": score_json(&self.all),
            "chosen_half": score_json(&self.tuning),
            "unseen_half": score_json(&self.held_out),
            "by_kind": kinds.collect::<Map<_, _>>(),
            "misses": misses.collect::<Vec<_>>(),
        })
    }
}

fn wanted(label: DecisionLabel) -> &'static str {
    match label {
        DecisionLabel::Speak => "SPEAK",
        DecisionLabel::Silent => "SILENT",
        DecisionLabel::Ambig => "AMBIG",
    }
}

fn score_json(score: &DecisionScore) -> Value {
    json!({
        "balanced_accuracy": score.balanced_accuracy(),
        "missed": score.missed(),
        "false_interventions": score.false_interventions(),
        "auroc": score.auroc,
        "ece": score.ece,
        "ece_calibrated": score.ece_calibrated,
        "speak_items": score.wanted,
        "silent_items": score.unwanted,
        "ambiguous_items": score.either,
        "spoken_at_ambiguous": share(score.either_spoken, score.either),
        "unreadable": score.unreadable,
        "failed": score.failed,
    })
}

pub fn tables(report: &DecisionReport, baselines: &[DecisionReport]) -> String {
    let reports: Vec<&DecisionReport> = std::iter::once(report).chain(baselines).collect();
    let mut parts = vec![scores(&reports)];
    if !report.misses.is_empty() {
        parts.push(misses(&report.misses));
    }
    parts.join("\n\n")
}

fn scores(reports: &[&DecisionReport]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let names = reports.iter().map(|report| report.name.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&DecisionReport) -> String| {
        let values = reports.iter().map(|report| value(report));
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    };
    row("items", &|report| {
        (report.all.wanted + report.all.unwanted + report.all.either).to_string()
    });
    row("balanced accuracy", &|report| number(report.all.balanced_accuracy()));
    row("missed", &|report| number(report.all.missed()));
    row("false interventions", &|report| number(report.all.false_interventions()));
    row("half it was chosen by", &|report| split_cell(&report.tuning));
    row("unseen half", &|report| split_cell(&report.held_out));
    row("AUROC of confidence", &|report| number(report.all.auroc));
    row("ECE of confidence", &|report| number(report.all.ece));
    row("ECE after calibration", &|report| number(report.all.ece_calibrated));
    row("answers that cannot be read", &|report| report.all.unreadable.to_string());
    row("calls that failed", &|report| report.all.failed.to_string());
    for (index, (kind, _)) in reports[0].kinds.iter().enumerate() {
        row(&format!("spoken at {kind}"), &|report| spoken(&report.kinds[index].1));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

/// Returns the balanced accuracy and the rate of false interventions.
fn split_cell(score: &DecisionScore) -> String {
    format!("{} at {}", number(score.balanced_accuracy()), number(score.false_interventions()))
}

fn spoken(score: &DecisionScore) -> String {
    let spoken = score.wanted_spoken + score.unwanted_spoken + score.either_spoken;
    let all = score.wanted + score.unwanted + score.either;
    format!("{} ({spoken} of {all})", number(share(spoken, all)))
}

fn misses(misses: &[(String, DecisionLabel)]) -> String {
    let listed = misses.iter().take(MAX_LISTED_MISSES);
    let mut listed: Vec<String> =
        listed.map(|(id, label)| format!("{id}: {} was wanted", wanted(*label))).collect();
    if misses.len() > MAX_LISTED_MISSES {
        listed.push(format!("… and {} more; --json tells all", misses.len() - MAX_LISTED_MISSES));
    }
    listed.join("\n")
}
