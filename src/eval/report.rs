//! All that is to be told about one way of answering.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::eval::Finding;
use crate::eval::case::Case;
use crate::eval::score::{Score, is_right};
use aizuchi_core::context::state::ConversationState;

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who answered.
    pub name: String,
    pub all: Score,
    /// By the language's tag.
    pub languages: Vec<(String, Score)>,
    /// By what the cases probe.
    pub abouts: Vec<(String, Score)>,
    /// Cases that are not right.
    pub misses: Vec<Miss>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    pub id: String,
    pub labels: Vec<ConversationState>,
    pub finding: Finding,
}

impl Report {
    pub fn of(name: String, cases: &[Case], findings: &[Finding]) -> Self {
        let tags: BTreeSet<&str> = cases.iter().map(|case| case.language.tag()).collect();
        let abouts: BTreeSet<&str> = cases.iter().map(|case| &*case.about).collect();
        let in_language = |tag: &str| {
            (tag.to_owned(), Score::of(cases, findings, |case| case.language.tag() == tag))
        };
        let about = |about: &str| {
            (about.to_owned(), Score::of(cases, findings, |case| case.about == about))
        };
        let missed = cases.iter().zip(findings).filter(|(case, finding)| !is_right(case, finding));
        let misses = missed.map(|(case, finding)| Miss {
            id: case.id.clone(),
            labels: case.labels.clone(),
            finding: finding.clone(),
        });
        Self {
            name,
            all: Score::of(cases, findings, |_| true),
            languages: tags.into_iter().map(in_language).collect(),
            abouts: abouts.into_iter().map(about).collect(),
            misses: misses.collect(),
        }
    }

    pub fn json(&self) -> Value {
        let grouped = |scores: &[(String, Score)]| {
            let scores = scores.iter().map(|(name, score)| (name.clone(), score_json(score)));
            Value::Object(scores.collect())
        };
        json!({
            "name": self.name,
            "all": score_json(&self.all),
            "by_language": grouped(&self.languages),
            "by_about": grouped(&self.abouts),
            "misses": self.misses.iter().map(miss_json).collect::<Vec<_>>(),
        })
    }
}

fn score_json(score: &Score) -> Value {
    let states = ConversationState::ALL.into_iter();
    let f1 = states.clone().map(|label| (label.label().to_owned(), json!(score.f1(label))));
    let confusion = states.map(|wanted| (wanted.label().to_owned(), row_json(score, wanted)));
    json!({
        "cases": score.cases,
        "right": score.right,
        "share_right": score.share_right(),
        "macro_f1": score.macro_f1(),
        "f1": f1.collect::<Map<_, _>>(),
        "pairs": score.pairs,
        "right_pairs": score.right_pairs,
        "no_state": score.no_state,
        "failed": score.failed,
        "confusion": confusion.collect::<Map<_, _>>(),
    })
}

/// What was named where this label was wanted.
fn row_json(score: &Score, wanted: ConversationState) -> Value {
    let named = ConversationState::ALL.into_iter().map(Some).chain([None]);
    let cells = named.map(|named| {
        let count = score.confusion.get(&(wanted, named)).copied().unwrap_or_default();
        (named.map_or("failed", ConversationState::label).to_owned(), json!(count))
    });
    Value::Object(cells.collect())
}

fn miss_json(miss: &Miss) -> Value {
    let labels: Vec<&str> = miss.labels.iter().map(|label| label.label()).collect();
    let (named, failed) = match &miss.finding {
        Finding::State(state) => (Some(state.label()), None),
        Finding::NoState => (None, None),
        Finding::Failed(why) => (None, Some(why)),
    };
    json!({ "id": miss.id, "labels": labels, "named": named, "failed": failed })
}
