//! The full report on one mind or baseline, as JSON and as a text table.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::{DecisionItem, DecisionLabel, Half};
use crate::eval::decide::score::{DecisionScore, share};
use crate::table::{FigureTable, misses as misses_list, share as number};

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
        let marks = marks.filter(|(_, score)| score.items() > 0);
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
            self.misses.iter().map(|(id, label)| json!({ "id": id, "wanted": label.name() }));
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

fn score_json(score: &DecisionScore) -> Value {
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

pub fn tables(report: &DecisionReport, baselines: &[DecisionReport]) -> String {
    let reports: Vec<&DecisionReport> = std::iter::once(report).chain(baselines).collect();
    let mut table = FigureTable::new(reports, |report| &report.name);
    let mut row = |name: &str, value: &dyn Fn(&DecisionReport) -> String| table.row(name, value);
    row("items", &|report| report.all.items().to_string());
    row("balanced accuracy", &|report| number(report.all.balanced_accuracy()));
    row("missed", &|report| number(report.all.missed()));
    row("false interventions", &|report| number(report.all.false_interventions()));
    row("half it was chosen by", &|report| split_cell(&report.tuning));
    row("unseen half", &|report| split_cell(&report.held_out));
    row("AUROC of confidence", &|report| number(report.all.auroc));
    row("ECE of confidence", &|report| number(report.all.ece));
    row("answers that cannot be read", &|report| report.all.unreadable.to_string());
    row("calls that failed", &|report| report.all.failed.to_string());
    for (index, (kind, _)) in report.kinds.iter().enumerate() {
        row(&format!("spoken at {kind}"), &|report| spoken(&report.kinds[index].1));
    }
    let misses =
        report.misses.iter().map(|(id, label)| format!("{id}: {} was wanted", label.name()));
    [table.finish()].into_iter().chain(misses_list(misses)).collect::<Vec<_>>().join("\n\n")
}

/// Returns the balanced accuracy and the rate of false interventions.
fn split_cell(score: &DecisionScore) -> String {
    format!("{} at {}", number(score.balanced_accuracy()), number(score.false_interventions()))
}

fn spoken(score: &DecisionScore) -> String {
    let spoken = score.wanted_spoken + score.unwanted_spoken + score.either_spoken;
    let all = score.items();
    format!("{} ({spoken} of {all})", number(share(spoken, all)))
}
