//! Scores answers over cases. A failed call counts as wrong and names no state.

use std::collections::BTreeMap;

use aizuchi_model::context::state::ConversationState;

use crate::eval::StateAnswer;
use crate::eval::case::{Case, pairs};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateScore {
    pub cases: usize,
    pub right: usize,
    /// Answers that name no state, or several.
    pub no_state: usize,
    pub failed: usize,
    pub pairs: usize,
    /// Pairs with both halves right.
    pub right_pairs: usize,
    /// The number of cases by expected label and named state (`None` if the call failed). If a case has several labels,
    /// the expected one is the named state if that is among them, otherwise the first.
    pub confusion: BTreeMap<(ConversationState, Option<ConversationState>), usize>,
}

impl StateScore {
    /// Scores the selected cases. `answers` holds one answer for each case.
    pub fn new(
        cases: &[Case],
        answers: &[StateAnswer],
        is_selected: impl Fn(&Case) -> bool,
    ) -> Self {
        let mut score = Self::default();
        for (case, answer) in cases.iter().zip(answers).filter(|(case, _)| is_selected(case)) {
            score.cases += 1;
            score.right += usize::from(is_right(case, answer));
            match answer {
                StateAnswer::Known(_) => {}
                StateAnswer::Unreadable(_) => score.no_state += 1,
                StateAnswer::Unknown(_) => score.failed += 1,
            }
            *score.confusion.entry((expected_label(case, answer), answer.state())).or_default() +=
                1;
        }
        for halves in pairs(cases).into_values() {
            if halves.iter().all(|half| is_selected(&cases[*half])) {
                score.pairs += 1;
                let is_right = |half: &usize| is_right(&cases[*half], &answers[*half]);
                score.right_pairs += usize::from(halves.iter().all(is_right));
            }
        }
        score
    }

    pub fn accuracy(&self) -> f64 {
        if self.cases == 0 { 0.0 } else { self.right as f64 / self.cases as f64 }
    }

    /// Returns the F1 score of a label: the harmonic mean of precision and recall. `None` if the label was neither
    /// expected nor named.
    pub fn f1(&self, label: ConversationState) -> Option<f64> {
        let sum = |is_meant: &dyn Fn(ConversationState, Option<ConversationState>) -> bool| {
            let meant =
                self.confusion.iter().filter(|((wanted, named), _)| is_meant(*wanted, *named));
            meant.map(|(_, count)| count).sum::<usize>()
        };
        let both = sum(&|wanted, named| wanted == label && named == Some(label));
        let each = sum(&|wanted, _| wanted == label) + sum(&|_, named| named == Some(label));
        (each > 0).then(|| 2.0 * both as f64 / each as f64)
    }

    /// Returns the unweighted mean of the labels' F1 scores.
    pub fn macro_f1(&self) -> f64 {
        let f1s: Vec<f64> =
            ConversationState::ALL.into_iter().filter_map(|label| self.f1(label)).collect();
        if f1s.is_empty() { 0.0 } else { f1s.iter().sum::<f64>() / f1s.len() as f64 }
    }
}

pub fn is_right(case: &Case, answer: &StateAnswer) -> bool {
    answer.state().is_some_and(|state| case.labels.contains(&state))
}

fn expected_label(case: &Case, answer: &StateAnswer) -> ConversationState {
    let named = answer.state().filter(|state| case.labels.contains(state));
    named.or_else(|| case.labels.first().copied()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ConversationState::{Active, Conflict, Ending, Misunderstanding};
    use aizuchi_model::persona::Language;

    use super::*;
    use crate::eval::case::CaseMessage;

    fn case(id: &str, pair: Option<&str>, labels: &[ConversationState]) -> Case {
        let message = CaseMessage {
            ts: 0.0,
            user: "ann".to_owned(),
            text: "hm".to_owned(),
            bot: false,
            own: None,
        };
        Case {
            id: id.to_owned(),
            language: Language::En,
            pair: pair.map(str::to_owned),
            about: "S01".to_owned(),
            labels: labels.to_vec(),
            messages: vec![message],
        }
    }

    #[test]
    fn each_answer_counts_once_and_a_pair_only_as_a_whole() {
        let cases = [
            case("1", Some("p"), &[Ending]),
            case("2", Some("p"), &[Active]),
            case("3", Some("q"), &[Misunderstanding, Conflict]),
            case("4", Some("q"), &[Active]),
            case("5", None, &[Conflict, Misunderstanding]),
            case("6", None, &[Active]),
            case("7", None, &[Active]),
        ];
        let answers = [
            StateAnswer::Known(Ending),
            StateAnswer::Known(Active),
            StateAnswer::Known(Conflict),
            StateAnswer::Known(Conflict),
            StateAnswer::Known(Ending),
            StateAnswer::Unreadable(String::new()),
            StateAnswer::Unknown("nobody is there".to_owned()),
        ];
        let score = StateScore::new(&cases, &answers, |_| true);
        let confusion = [
            ((Ending, Some(Ending)), 1),
            ((Conflict, Some(Ending)), 1),
            ((Conflict, Some(Conflict)), 1),
            ((Active, None), 1),
            ((Active, Some(Conflict)), 1),
            ((Active, Some(Active)), 2),
        ];
        let expected = StateScore {
            cases: 7,
            right: 4,
            no_state: 1,
            failed: 1,
            pairs: 2,
            right_pairs: 1,
            confusion: confusion.into(),
        };
        assert_eq!(score, expected);
        let f1s = ConversationState::ALL.map(|label| score.f1(label));
        assert_eq!(f1s, [Some(2.0 / 3.0), None, Some(0.5), Some(2.0 / 3.0)]);
        assert!((score.macro_f1() - 11.0 / 18.0).abs() < 1e-9);
        assert!((score.accuracy() - 4.0 / 7.0).abs() < 1e-9);
        let half = StateScore::new(&cases, &answers, |case| case.id == "1");
        assert_eq!((half.cases, half.pairs), (1, 0));
        assert_eq!(StateScore::new(&cases, &answers, |_| false).macro_f1(), 0.0);
    }
}
