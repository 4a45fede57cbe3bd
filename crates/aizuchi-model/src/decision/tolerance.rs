//! `response.tolerance`: how confident the judge must be in a channel for posts to be welcome often enough there.
//!
//! Each unsolicited post that was clearly welcome or unwelcome is a label, and so are each mark on a post that was held
//! back and each proposal that a user declined. The share of unwelcome posts by the judge's confidence (isotonic
//! regression) gives the lowest confidence at which it is tolerated. The threshold moves there in small steps
//! ([`moved_threshold`](super::moved_threshold)), and never below `min_confidence`. Where it settles is a function of
//! the labels, so that the same ledger leads to the same threshold in every process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::SignedDuration;
use parking_lot::RwLock;

use crate::chat::{ChannelId, WorkspaceId};
use crate::decision::DecisionId;
use crate::decision::calibration::{Block, Calibration, Scored};
use crate::decision::mark::{DecisionMark, Mark};
use crate::decision::moved_threshold::MovedThresholds;
use crate::decision::welcome::{RatedChoice, Reception, SpeakChoice};

/// The minimum number of labels in a channel for its threshold to move.
pub const MIN_LABELS: usize = 50;
/// The maximum number of a channel's newest labels to learn from: a channel changes.
const MAX_LABELS: usize = 500;
/// The maximum age of a label. Because labels expire, a threshold that holds everything back does not do so forever.
pub const LABEL_AGE: SignedDuration = SignedDuration::from_hours(12 * 7 * 24);
/// If no confidence is high enough, the persona only speaks when the judge is certain.
const CERTAIN: f64 = 1.0;

/// The judge's confidence that the persona should speak, and whether the post was welcome, or would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub confidence: f64,
    pub is_welcome: bool,
}

/// The labels of each channel, oldest first.
pub type ChannelLabels = BTreeMap<ChannelId, Vec<Label>>;

/// Returns the labels of a workspace's choices, which are given oldest first.
pub fn labels<'a>(
    choices: impl IntoIterator<Item = &'a RatedChoice>,
    marks: &[DecisionMark],
) -> ChannelLabels {
    let marks: HashMap<DecisionId, Mark> =
        marks.iter().map(|marked| (marked.decision, marked.mark)).collect();
    let mut labels = ChannelLabels::new();
    for choice in choices {
        if let Some(label) = label(choice, marks.get(&choice.decision).copied()) {
            labels.entry(choice.channel.clone()).or_default().push(label);
        }
    }
    labels
}

fn label(choice: &RatedChoice, mark: Option<Mark>) -> Option<Label> {
    let confidence = choice.confidence?;
    let is_welcome = match (choice.choice, choice.marked(mark).welcome) {
        (SpeakChoice::Post | SpeakChoice::Declined, Reception::Welcome) => true,
        (SpeakChoice::Post | SpeakChoice::Declined, Reception::Unwelcome) => false,
        (SpeakChoice::Post | SpeakChoice::Declined, Reception::Unclear) => return None,
        // The post was held back: only a user can say how it would have been received.
        (SpeakChoice::Silence, Reception::Welcome | Reception::Unwelcome | Reception::Unclear) => {
            mark? == Mark::ShouldHaveSpoken
        }
    };
    Some(Label { confidence, is_welcome })
}

/// Returns where the threshold settles: the confidence from which the judge is followed, if this share of unwelcome
/// posts is tolerated. The labels are given oldest first.
pub fn threshold(labels: &[Label], min_confidence: f64, tolerance: f64) -> f64 {
    if labels.len() < MIN_LABELS {
        return min_confidence;
    }
    lowest_tolerated(newest(labels), min_confidence, tolerance).max(min_confidence)
}

/// A range of confidences up to a bound, and how welcome posts with such a confidence were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationStep {
    pub up_to: f64,
    /// The share of welcome posts, smoothed by half a post more than was seen.
    pub welcome: f64,
    pub labels: usize,
}

/// Returns the basis of the threshold: the steps of the isotonic fit, by confidence.
pub fn steps(labels: &[Label]) -> Vec<CalibrationStep> {
    let labels = newest(labels);
    let mut from = f64::NEG_INFINITY;
    let fit = calibration(labels);
    let step = |block: &Block| {
        let within = |label: &&Label| from < label.confidence && label.confidence <= block.up_to;
        let count = labels.iter().filter(within).count();
        from = block.up_to;
        CalibrationStep { up_to: block.up_to, welcome: block.rate, labels: count }
    };
    fit.blocks().iter().map(step).collect()
}

fn newest(labels: &[Label]) -> &[Label] {
    &labels[labels.len().saturating_sub(MAX_LABELS)..]
}

/// Returns the lowest confidence at which the share of unwelcome posts is tolerated: the configured one, or that of a
/// label.
fn lowest_tolerated(labels: &[Label], min_confidence: f64, tolerance: f64) -> f64 {
    let calibration = calibration(labels);
    let confidences = labels.iter().map(|label| label.confidence).chain([min_confidence]);
    let tolerated = confidences.filter(|it| 1.0 - calibration.rate(*it) <= tolerance);
    tolerated.min_by(f64::total_cmp).unwrap_or(CERTAIN)
}

fn calibration(labels: &[Label]) -> Calibration {
    let scored =
        |label: &Label| Scored { score: label.confidence, is_yes: label.is_welcome, weight: 1.0 };
    Calibration::fit(&labels.iter().map(scored).collect::<Vec<_>>())
}

/// What is known about how welcome posts were in a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownWelcome {
    pub labels: ChannelLabels,
    /// `None` if thresholds do not move gradually, as in a replay: each one is where it settles.
    pub moved: Option<MovedThresholds>,
}

impl KnownWelcome {
    /// Returns the confidence from which the judge is followed in a channel.
    pub fn threshold(&self, channel: &ChannelId, min_confidence: f64, tolerance: f64) -> f64 {
        let found = match &self.moved {
            Some(moved) => moved.get(channel).map(|moved| moved.threshold),
            None => {
                let labels = self.labels.get(channel);
                labels.map(|labels| threshold(labels, min_confidence, tolerance))
            }
        };
        found.unwrap_or(min_confidence).max(min_confidence)
    }
}

/// What is known about all workspaces. The task that reads the ledger replaces it; the judge reads it.
#[derive(Debug, Default)]
pub struct WelcomeLabels(RwLock<HashMap<WorkspaceId, Arc<KnownWelcome>>>);

impl WelcomeLabels {
    pub fn read(&self, workspace: &WorkspaceId) -> Option<Arc<KnownWelcome>> {
        self.0.read().get(workspace).cloned()
    }

    pub fn replace(&self, workspace: WorkspaceId, known: KnownWelcome) {
        self.0.write().insert(workspace, Arc::new(known));
    }
}

impl From<ChannelLabels> for KnownWelcome {
    fn from(labels: ChannelLabels) -> Self {
        Self { labels, moved: None }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::decision::moved_threshold::{MAX_STEP, MovedThreshold, ThresholdAim, moved};
    use crate::decision::welcome::{Rating, WelcomeReason};

    /// Labels of one confidence, one in `unwelcome_every` of them unwelcome; 0 means none.
    fn repeated(confidence: f64, count: usize, unwelcome_every: usize) -> Vec<Label> {
        let is_welcome =
            |number: usize| unwelcome_every == 0 || !number.is_multiple_of(unwelcome_every);
        (0..count).map(|number| Label { confidence, is_welcome: is_welcome(number) }).collect()
    }

    fn to_label((confidence, is_welcome): &(u8, bool)) -> Label {
        Label { confidence: f64::from(*confidence) / 20.0, is_welcome: *is_welcome }
    }

    fn mixed(labels: [Vec<Label>; 2]) -> Vec<Label> {
        let [one, other] = labels;
        one.into_iter().zip(other).flat_map(|(one, other)| [one, other]).collect()
    }

    #[test]
    fn the_threshold_settles_where_words_are_welcome() {
        let labels = mixed([repeated(0.72, 60, 3), repeated(0.9, 60, 0)]);
        let at = |count: usize| threshold(&labels[..count], 0.7, 0.05);
        assert_eq!(at(MIN_LABELS - 1), 0.7, "nothing moves");
        assert!((at(labels.len()) - 0.9).abs() < 1e-9);
        // A tolerance that is met at 0.72 leaves the configured threshold as it is.
        assert_eq!(threshold(&labels, 0.7, 0.5), 0.7);
        assert_eq!(threshold(&labels, 0.95, 0.05), 0.95, "it is never louder than configured");
    }

    #[test]
    fn the_steps_say_what_the_threshold_rests_on() {
        let labels = mixed([repeated(0.72, 60, 3), repeated(0.9, 60, 0)]);
        let [low, high] = steps(&labels)[..] else { panic!("{:?}", steps(&labels)) };
        assert_eq!((low.up_to, low.labels, high.up_to, high.labels), (0.72, 60, 0.9, 60));
        assert!(low.welcome < 0.7 && high.welcome > 0.95, "{low:?} {high:?}");
        assert_eq!(steps(&[]), []);
    }

    #[test]
    fn where_no_word_is_welcome_only_a_certain_judge_speaks() {
        let labels = repeated(0.9, 100, 1);
        assert_eq!(threshold(&labels, 0.7, 0.05), CERTAIN);
        // It comes back once its posts are welcome.
        let labels = [labels, repeated(0.9, 600, 0)].concat();
        assert!((threshold(&labels, 0.7, 0.05) - 0.7).abs() < 1e-9);
    }

    #[test]
    fn only_clear_words_and_marks_are_labels() {
        use Mark::{Right, ShouldHaveKeptSilent, ShouldHaveSpoken};
        for (choice, welcome, confidence, mark, expected) in [
            (SpeakChoice::Post, Reception::Welcome, Some(0.8), None, Some(true)),
            (SpeakChoice::Post, Reception::Unwelcome, Some(0.8), None, Some(false)),
            (SpeakChoice::Post, Reception::Unclear, Some(0.8), None, None),
            (SpeakChoice::Post, Reception::Unclear, Some(0.8), Some(Right), Some(true)),
            (
                SpeakChoice::Post,
                Reception::Welcome,
                Some(0.8),
                Some(ShouldHaveKeptSilent),
                Some(false),
            ),
            (SpeakChoice::Silence, Reception::Unwelcome, Some(0.6), None, None),
            (
                SpeakChoice::Silence,
                Reception::Unclear,
                Some(0.6),
                Some(ShouldHaveSpoken),
                Some(true),
            ),
            (SpeakChoice::Silence, Reception::Unclear, Some(0.6), Some(Right), Some(false)),
            (SpeakChoice::Declined, Reception::Unwelcome, Some(0.8), None, Some(false)),
            (
                SpeakChoice::Declined,
                Reception::Unwelcome,
                Some(0.8),
                Some(ShouldHaveKeptSilent),
                Some(false),
            ),
            // A user changed their mind afterwards.
            (
                SpeakChoice::Declined,
                Reception::Unwelcome,
                Some(0.8),
                Some(ShouldHaveSpoken),
                Some(true),
            ),
            // The judge said no: its confidence in that says nothing about posts.
            (SpeakChoice::Silence, Reception::Unclear, None, Some(ShouldHaveSpoken), None),
        ] {
            let rated = RatedChoice {
                decision: DecisionId(7),
                channel: ChannelId::new("garden"),
                at: Timestamp::UNIX_EPOCH,
                choice,
                confidence,
                rating: Rating { welcome, reasons: vec![WelcomeReason::Died] },
                answered: None,
            };
            let by = Arc::from("olga");
            let mark = mark.map(|mark| DecisionMark {
                decision: DecisionId(7),
                mark,
                by,
                at: Timestamp::UNIX_EPOCH,
            });
            let found = labels([&rated], mark.as_slice());
            let found = found.get(&rated.channel).map(|labels| labels[0].is_welcome);
            assert_eq!(found, expected, "{rated:?} {mark:?}");
        }
    }

    #[test]
    fn a_judge_is_followed_from_where_the_threshold_stands() {
        let garden = ChannelId::new("garden");
        let labels = ChannelLabels::from([(garden.clone(), repeated(0.9, 100, 1))]);
        let at = MovedThreshold { threshold: 0.75, at_ms: 0 };
        let moved = Some(MovedThresholds::from([(garden.clone(), at)]));
        let known = KnownWelcome { labels: labels.clone(), moved };
        assert_eq!(known.threshold(&garden, 0.7, 0.05), 0.75);
        assert_eq!(known.threshold(&garden, 0.8, 0.05), 0.8, "it is configured higher meanwhile");
        assert_eq!(known.threshold(&ChannelId::new("attic"), 0.7, 0.05), 0.7);
        assert_eq!(KnownWelcome::from(labels).threshold(&garden, 0.7, 0.05), CERTAIN);
    }

    proptest! {
        #[test]
        fn a_threshold_is_never_below_what_is_configured(
            rows in prop::collection::vec((0..20_u8, any::<bool>()), 0..200),
            min_confidence in 0.0..1.0_f64,
            tolerance in 0.0..1.0_f64,
        ) {
            let labels: Vec<Label> = rows.iter().map(to_label).collect();
            let all = threshold(&labels, min_confidence, tolerance);
            prop_assert!(all >= min_confidence && all <= CERTAIN);
            prop_assert_eq!(all, threshold(&labels, min_confidence, tolerance));
        }

        /// The labels may change in any way from one day to the next: more are added, those before a time are removed,
        /// or all are.
        #[test]
        fn a_threshold_moves_by_a_step_a_day_whatever_becomes_of_the_labels(
            rows in prop::collection::vec((0..20_u8, any::<bool>()), 0..200),
            cuts in prop::collection::vec((0..200_usize, 0..200_usize), 1..30),
            (min_confidence, tolerance) in (0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let labels: Vec<Label> = rows.iter().map(to_label).collect();
            let garden = ChannelId::new("garden");
            let mut thresholds = MovedThresholds::new();
            let mut stood = min_confidence;
            let aims = |labels: &[Label]| {
                let settles_at = threshold(labels, min_confidence, tolerance);
                BTreeMap::from([(garden.clone(), ThresholdAim { min_confidence, settles_at })])
            };
            // An hour passes, or a day.
            let mut hour = 0;
            for (index, (from, to)) in cuts.into_iter().enumerate() {
                hour += if index % 2 == 0 { 24 } else { 1 };
                let to = to.min(labels.len());
                let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hour);
                let aims = aims(&labels[from.min(to)..to]);
                thresholds = moved(&thresholds, &aims, (Timestamp::UNIX_EPOCH, now));
                let stands = thresholds.get(&garden).map_or(min_confidence, |it| it.threshold);
                prop_assert!(stands >= min_confidence && stands <= CERTAIN);
                prop_assert!((stands - stood).abs() <= MAX_STEP + 1e-9, "{} {}", stood, stands);
                stood = stands;
            }
            // It gets there eventually.
            for day in 0..21 {
                let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hour + 24 * (day + 1));
                thresholds = moved(&thresholds, &aims(&labels), (Timestamp::UNIX_EPOCH, now));
            }
            let stands = thresholds.get(&garden).map_or(min_confidence, |it| it.threshold);
            prop_assert!((stands - threshold(&labels, min_confidence, tolerance)).abs() < 1e-9);
        }
    }
}
