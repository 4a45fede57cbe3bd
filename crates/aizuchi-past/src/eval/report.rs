//! The full report on one mind or baseline.

use std::collections::BTreeSet;

use aizuchi_model::context::state::ConversationState;
use serde_json::{Map, Value, json};

use crate::eval::StateAnswer;
use crate::eval::case::Case;
use crate::eval::score::{StateScore, is_right};

#[derive(Clone, Debug, PartialEq)]
pub struct StateReport {
    /// The name of the model or baseline.
    pub name: String,
    pub all: StateScore,
    /// By language tag.
    pub languages: Vec<(String, StateScore)>,
    /// By the topic of the cases.
    pub by_topic: Vec<(String, StateScore)>,
    /// The cases with a wrong answer.
    pub misses: Vec<MissedCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MissedCase {
    pub id: String,
    pub labels: Vec<ConversationState>,
    pub answer: StateAnswer,
}

impl StateReport {
    pub fn new(name: String, cases: &[Case], answers: &[StateAnswer]) -> Self {
        let tags: BTreeSet<&str> = cases.iter().map(|case| case.language.tag()).collect();
        let topics: BTreeSet<&str> = cases.iter().map(|case| &*case.about).collect();
        let in_language = |tag: &str| {
            (tag.to_owned(), StateScore::new(cases, answers, |case| case.language.tag() == tag))
        };
        let about = |about: &str| {
            (about.to_owned(), StateScore::new(cases, answers, |case| case.about == about))
        };
        let missed = cases.iter().zip(answers).filter(|(case, answer)| !is_right(case, answer));
        let misses = missed.map(|(case, answer)| MissedCase {
            id: case.id.clone(),
            labels: case.labels.clone(),
            answer: answer.clone(),
        });
        Self {
            name,
            all: StateScore::new(cases, answers, |_| true),
            languages: tags.into_iter().map(in_language).collect(),
            by_topic: topics.into_iter().map(about).collect(),
            misses: misses.collect(),
        }
    }

    pub fn to_json(&self) -> Value {
        let grouped = |scores: &[(String, StateScore)]| {
            let scores = scores.iter().map(|(name, score)| (name.clone(), score_json(score)));
            Value::Object(scores.collect())
        };
        json!({
            "name": self.name,
            "all": score_json(&self.all),
            "by_language": grouped(&self.languages),
            "by_about": grouped(&self.by_topic),
            "misses": self.misses.iter().map(miss_json).collect::<Vec<_>>(),
        })
    }
}

fn score_json(score: &StateScore) -> Value {
    let states = ConversationState::ALL.into_iter();
    let f1 = states.clone().map(|label| (label.label().to_owned(), json!(score.f1(label))));
    let confusion = states.map(|wanted| (wanted.label().to_owned(), row_json(score, wanted)));
    json!({
        "cases": score.cases,
        "right": score.right,
        "share_right": score.accuracy(),
        "macro_f1": score.macro_f1(),
        "f1": f1.collect::<Map<_, _>>(),
        "pairs": score.pairs,
        "right_pairs": score.right_pairs,
        "no_state": score.no_state,
        "failed": score.failed,
        "confusion": confusion.collect::<Map<_, _>>(),
    })
}

/// Returns the states that were named in cases with this label.
fn row_json(score: &StateScore, wanted: ConversationState) -> Value {
    let named = ConversationState::ALL.into_iter().map(Some).chain([None]);
    let cells = named.map(|named| {
        let count = score.confusion.get(&(wanted, named)).copied().unwrap_or_default();
        (named.map_or("failed", ConversationState::label).to_owned(), json!(count))
    });
    Value::Object(cells.collect())
}

fn miss_json(miss: &MissedCase) -> Value {
    let labels: Vec<&str> = miss.labels.iter().map(|label| label.label()).collect();
    let named = miss.answer.known().map(|state| state.label());
    let failed = match &miss.answer {
        StateAnswer::Unknown(why) => Some(why),
        StateAnswer::Known(_) | StateAnswer::Unreadable(_) => None,
    };
    json!({ "id": miss.id, "labels": labels, "named": named, "failed": failed })
}
