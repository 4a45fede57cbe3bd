//! What answers are worth, counted over items.

use crate::eval::decide::item::{DecisionItem, DecisionLabel};
use crate::eval::decide::{DecisionAnswer, ItemAnswer};

/// So many steps has the scale on which calibration is looked at.
const CALIBRATION_BINS: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionScore {
    /// Items to speak at, and how many of them were spoken at; the same of items to be silent at.
    pub wanted: usize,
    pub wanted_spoken: usize,
    pub unwanted: usize,
    pub unwanted_spoken: usize,
    /// Items where either is right, and how many of them were spoken at.
    pub either: usize,
    pub either_spoken: usize,
    pub unreadable: usize,
    pub failed: usize,
    /// How well the sureness ranks what is wanted above what is not; 0.5 is chance.
    pub auroc: Option<f64>,
    /// How far the sureness is from the share of what is right, on average.
    pub ece: Option<f64>,
}

impl DecisionScore {
    /// Of those items that are meant.
    pub fn new(
        items: &[DecisionItem],
        found: &[ItemAnswer],
        is_meant: impl Fn(&DecisionItem) -> bool,
    ) -> Self {
        let meant: Vec<(&DecisionItem, &ItemAnswer)> =
            items.iter().zip(found).filter(|(item, _)| is_meant(item)).collect();
        let mut score = Self::default();
        for (item, found) in &meant {
            let speaks = usize::from(found.would_speak());
            let (all, spoken) = match item.label {
                DecisionLabel::Speak => (&mut score.wanted, &mut score.wanted_spoken),
                DecisionLabel::Silent => (&mut score.unwanted, &mut score.unwanted_spoken),
                DecisionLabel::Ambig => (&mut score.either, &mut score.either_spoken),
            };
            *all += 1;
            *spoken += speaks;
            match found {
                ItemAnswer::Answered(_) => {}
                ItemAnswer::Unreadable => score.unreadable += 1,
                ItemAnswer::Failed(_) => score.failed += 1,
            }
        }
        let sure: Vec<ConfidentAnswer> =
            meant.iter().filter_map(|(item, found)| ConfidentAnswer::new(item, found)).collect();
        Self { auroc: auroc(&sure), ece: ece(&sure), ..score }
    }

    /// The share of items to speak at that were spoken at.
    pub fn recall(&self) -> Option<f64> {
        share(self.wanted_spoken, self.wanted)
    }

    pub fn missed(&self) -> Option<f64> {
        share(self.wanted - self.wanted_spoken, self.wanted)
    }

    /// The share of items to be silent at that were spoken at.
    pub fn false_interventions(&self) -> Option<f64> {
        share(self.unwanted_spoken, self.unwanted)
    }

    /// The mean of what was right at both sorts of items.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some((self.recall()? + 1.0 - self.false_interventions()?) / 2.0)
    }
}

pub fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// An answer to an item with one right answer, with how sure it was.
struct ConfidentAnswer {
    is_wanted: bool,
    is_correct: bool,
    confidence: f64,
    /// The sureness that something should be said.
    speak_confidence: f64,
}

impl ConfidentAnswer {
    fn new(item: &DecisionItem, found: &ItemAnswer) -> Option<Self> {
        let is_wanted = match item.label {
            DecisionLabel::Speak => true,
            DecisionLabel::Silent => false,
            DecisionLabel::Ambig => return None,
        };
        let ItemAnswer::Answered(DecisionAnswer { should_respond, confidence, .. }) = found else {
            return None;
        };
        let confidence = (*confidence)?;
        let leaning = if *should_respond { confidence } else { 1.0 - confidence };
        Some(Self {
            is_wanted,
            is_correct: *should_respond == is_wanted,
            confidence,
            speak_confidence: leaning,
        })
    }
}

/// How often something wanted leans more to speech than something unwanted; a tie is half of that.
fn auroc(sure: &[ConfidentAnswer]) -> Option<f64> {
    let leanings = |is_wanted: bool| {
        sure.iter()
            .filter(move |sure| sure.is_wanted == is_wanted)
            .map(|sure| sure.speak_confidence)
    };
    let pairs = leanings(true).count() * leanings(false).count();
    let wins: f64 = leanings(true)
        .flat_map(|wanted| leanings(false).map(move |unwanted| (wanted, unwanted)))
        .map(|(wanted, unwanted)| match wanted.total_cmp(&unwanted) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    (pairs > 0).then(|| wins / pairs as f64)
}

/// The mean distance between sureness and share right, over ten steps of sureness, by their size.
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
        let leaning = if says { confidence } else { 1.0 - confidence };
        ConfidentAnswer {
            is_wanted,
            is_correct: says == is_wanted,
            confidence,
            speak_confidence: leaning,
        }
    }

    #[test]
    fn sureness_is_ranked_and_calibrated() {
        let all = [
            sure(true, true, 0.9),
            sure(true, false, 0.6),
            sure(false, true, 0.9),
            sure(false, false, 0.8),
        ];
        // 0.9 and 0.4 against 0.9 and 0.2: a tie, two wins and a loss.
        assert_eq!(auroc(&all), Some(0.625));
        // Of 0.9 one of two is right, 0.6 is wrong, 0.8 is right.
        assert!((ece(&all).unwrap() - (0.8 + 0.6 + 0.2) / 4.0).abs() < 1e-9);
        assert_eq!((auroc(&all[..2]), ece(&[])), (None, None));
    }
}
