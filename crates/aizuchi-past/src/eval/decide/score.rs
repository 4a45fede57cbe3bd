//! Scores answers over items.

use crate::answer::MindAnswer;
use crate::eval::decide::item::{DecisionItem, DecisionLabel};
use crate::eval::decide::{DecisionAnswer, ItemAnswer};

/// The number of bins of the expected calibration error.
const CALIBRATION_BINS: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionScore {
    /// Items labeled speak and silent, and how many of each were answered with speech.
    pub wanted: usize,
    pub wanted_spoken: usize,
    pub unwanted: usize,
    pub unwanted_spoken: usize,
    /// Items where both answers are right, and how many of them were answered with speech.
    pub either: usize,
    pub either_spoken: usize,
    pub unreadable: usize,
    pub failed: usize,
    /// The area under the ROC curve: how well the confidence ranks speak items above silent ones. 0.5 is chance.
    pub auroc: Option<f64>,
    /// The expected calibration error.
    pub ece: Option<f64>,
}

impl DecisionScore {
    /// Scores the selected items. `answers` holds one answer for each item.
    pub fn new(
        items: &[DecisionItem],
        answers: &[ItemAnswer],
        is_selected: impl Fn(&DecisionItem) -> bool,
    ) -> Self {
        let selected: Vec<(&DecisionItem, &ItemAnswer)> =
            items.iter().zip(answers).filter(|(item, _)| is_selected(item)).collect();
        let mut score = Self::default();
        for (item, answer) in &selected {
            let speaks = usize::from(answer.would_speak());
            let (all, spoken) = match item.label {
                DecisionLabel::Speak => (&mut score.wanted, &mut score.wanted_spoken),
                DecisionLabel::Silent => (&mut score.unwanted, &mut score.unwanted_spoken),
                DecisionLabel::Ambig => (&mut score.either, &mut score.either_spoken),
            };
            *all += 1;
            *spoken += speaks;
            match answer {
                MindAnswer::Known(_) => {}
                MindAnswer::Unreadable(_) => score.unreadable += 1,
                MindAnswer::Unknown(_) => score.failed += 1,
            }
        }
        let sure: Vec<ConfidentAnswer> = selected
            .iter()
            .filter_map(|(item, answer)| ConfidentAnswer::new(item, answer))
            .collect();
        Self { auroc: auroc(&sure), ece: ece(&sure), ..score }
    }

    pub fn items(&self) -> usize {
        self.wanted + self.unwanted + self.either
    }

    /// Returns the share of speak items that were answered with speech.
    pub fn recall(&self) -> Option<f64> {
        share(self.wanted_spoken, self.wanted)
    }

    pub fn missed(&self) -> Option<f64> {
        share(self.wanted - self.wanted_spoken, self.wanted)
    }

    /// Returns the share of silent items that were answered with speech.
    pub fn false_interventions(&self) -> Option<f64> {
        share(self.unwanted_spoken, self.unwanted)
    }

    /// Returns the mean of the accuracies on speak and on silent items.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some((self.recall()? + 1.0 - self.false_interventions()?) / 2.0)
    }
}

pub fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A mind's answer with its confidence, to an item that has one right answer.
#[derive(Clone, Copy)]
struct ConfidentAnswer {
    is_wanted: bool,
    is_correct: bool,
    confidence: f64,
    /// The confidence that the persona should speak.
    speak_confidence: f64,
}

impl ConfidentAnswer {
    fn new(item: &DecisionItem, answer: &ItemAnswer) -> Option<Self> {
        let is_wanted = match item.label {
            DecisionLabel::Speak => true,
            DecisionLabel::Silent => false,
            DecisionLabel::Ambig => return None,
        };
        let DecisionAnswer { should_respond, confidence, .. } = answer.known()?;
        let confidence = (*confidence)?;
        let speak_confidence = if *should_respond { confidence } else { 1.0 - confidence };
        Some(Self {
            is_wanted,
            is_correct: *should_respond == is_wanted,
            confidence,
            speak_confidence,
        })
    }
}

/// Returns the probability that a speak item has a higher `speak_confidence` than a silent one. Ties count half.
fn auroc(sure: &[ConfidentAnswer]) -> Option<f64> {
    let confidences = |is_wanted: bool| {
        sure.iter()
            .filter(move |sure| sure.is_wanted == is_wanted)
            .map(|sure| sure.speak_confidence)
    };
    let pairs = confidences(true).count() * confidences(false).count();
    let wins: f64 = confidences(true)
        .flat_map(|wanted| confidences(false).map(move |unwanted| (wanted, unwanted)))
        .map(|(wanted, unwanted)| match wanted.total_cmp(&unwanted) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    (pairs > 0).then(|| wins / pairs as f64)
}

/// Returns the mean distance between confidence and accuracy over bins of confidence, weighted by the size of the bins.
fn ece(sure: &[ConfidentAnswer]) -> Option<f64> {
    let mut bins: [Vec<&ConfidentAnswer>; CALIBRATION_BINS] = Default::default();
    for sure in sure {
        let bin = (sure.confidence * CALIBRATION_BINS as f64) as usize;
        bins[bin.min(CALIBRATION_BINS - 1)].push(sure);
    }
    let distance = |bin: &Vec<&ConfidentAnswer>| {
        let right = bin.iter().filter(|sure| sure.is_correct).count() as f64;
        (right - bin.iter().map(|sure| sure.confidence).sum::<f64>()).abs()
    };
    (!sure.is_empty()).then(|| bins.iter().map(distance).sum::<f64>() / sure.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(is_wanted: bool, says: bool, confidence: f64) -> ConfidentAnswer {
        let speak_confidence = if says { confidence } else { 1.0 - confidence };
        let is_correct = says == is_wanted;
        ConfidentAnswer { is_wanted, is_correct, confidence, speak_confidence }
    }

    #[test]
    fn confidence_ranks_items_and_is_as_right_as_it_says() {
        let all = [
            sure(true, true, 0.9),
            sure(true, false, 0.6),
            sure(false, true, 0.9),
            sure(false, false, 0.8),
        ];
        // The speak items have 0.9 and 0.4, the silent ones 0.9 and 0.2: a tie, two wins and a loss.
        assert_eq!(auroc(&all), Some(0.625));
        // One of two answers at 0.9 is right, the one at 0.6 is wrong, and the one at 0.8 is right.
        assert!((ece(&all).unwrap() - (0.8 + 0.6 + 0.2) / 4.0).abs() < 1e-9);
        assert_eq!((auroc(&all[..2]), ece(&[])), (None, None));
    }
}
