//! How welcome the persona's posts and silences were, by channel.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aizuchi_agent::learner::label_begin;
use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::tolerance::{self, CalibrationStep, MIN_LABELS};
use aizuchi_model::decision::welcome::{
    RatedChoice, Rating, Reception, SpeakChoice, WelcomeReason,
};
use aizuchi_model::rules::place::Place;
use aizuchi_store::StoreError;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Web;
use crate::figures::PeriodFigures;
use crate::figures::calendar::Calendar;
use crate::figures::tally::median;

/// The number of posts or silences by how welcome they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WelcomeCounts {
    /// For silences: a person answered soon, or the decision was marked as right.
    pub welcome: u64,
    /// For silences: nobody answered a question, or the decision was marked as wrong.
    pub unwelcome: u64,
    pub unclear: u64,
}

/// How welcome the persona was in a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelWelcome {
    /// The persona's unsolicited posts.
    pub posts: WelcomeCounts,
    /// What the judge chose not to answer.
    pub silences: WelcomeCounts,
    /// How often a user declined a proposal.
    pub declined: u64,
    /// Why posts were rated so: the count of each reason. A post may have several.
    pub post_reasons: BTreeMap<WelcomeReason, u64>,
    pub silence_reasons: BTreeMap<WelcomeReason, u64>,
    /// The median time after which a user wrote where the persona was silent.
    pub answered_after: Option<SignedDuration>,
    /// The number of labels from the last weeks from which a threshold can be learned.
    pub labels: usize,
    /// The calibration that was learned from the labels.
    pub steps: Vec<CalibrationStep>,
    /// `None` if no share of unwelcome posts is set there.
    pub threshold: Option<ChannelThreshold>,
}

/// The confidence from which on a judge is followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelThreshold {
    pub now: f64,
    /// The value toward which it moves, by a small step a day.
    pub settles_at: f64,
}

impl WelcomeCounts {
    pub fn total(&self) -> u64 {
        self.welcome + self.unwelcome + self.unclear
    }

    fn add(&mut self, welcome: Reception) {
        match welcome {
            Reception::Welcome => self.welcome += 1,
            Reception::Unwelcome => self.unwelcome += 1,
            Reception::Unclear => self.unclear += 1,
        }
    }
}

impl ChannelWelcome {
    /// Returns how many labels are missing before anything is learned.
    pub fn labels_missing(&self) -> usize {
        MIN_LABELS.saturating_sub(self.labels)
    }

    /// Returns how often nobody ever answered a question.
    pub fn never_answered(&self) -> u64 {
        self.silence_reasons.get(&WelcomeReason::NobodyAnswered).copied().unwrap_or_default()
    }
}

/// Returns how welcome the persona was in the channels of a workspace, in a period.
pub async fn by_channel(
    web: &Web,
    workspace: &WorkspaceId,
    figures: &PeriodFigures,
) -> Result<BTreeMap<ChannelId, ChannelWelcome>, StoreError> {
    let Some((first, _)) = figures.longest.first() else { return Ok(BTreeMap::new()) };
    let oldest = Calendar { zone: &web.zone }.begin_of(*first);
    let marks = web.archive.marks_since(workspace, oldest).await?;
    let shown = figures.days.iter().flat_map(|(_, figures)| &figures.choices);
    let mut channels = tally(shown, &marks);
    let begin = label_begin(&*web.archive, workspace, web.clock.now()).await?;
    let choices = figures.longest.iter().flat_map(|(_, figures)| &figures.choices);
    let recent = choices.filter(|choice| choice.at >= begin);
    let labels = tolerance::labels(recent, &marks);
    let known = web.archive.channels(workspace).await?.into_iter();
    let known: HashMap<ChannelId, (Arc<str>, Visibility)> =
        known.map(|channel| (channel.id, (channel.name, channel.visibility))).collect();
    let rulebook = web.room.rulebook();
    let learned = web.welcome_labels.read(workspace);
    for (channel, welcome) in &mut channels {
        let labels = labels.get(channel).map(Vec::as_slice).unwrap_or_default();
        let (name, visibility) =
            known.get(channel).map_or(("", Visibility::Private), |(name, it)| (&**name, *it));
        let rules = rulebook.rules_in(&Place::new(workspace, channel, name, visibility));
        welcome.labels = labels.len();
        welcome.steps = tolerance::steps(labels);
        let least = rules.min_confidence;
        welcome.threshold = rules.tolerance.map(|tolerance| {
            let now = learned.as_ref().map_or(least, |it| it.threshold(channel, least, tolerance));
            ChannelThreshold { now, settles_at: tolerance::threshold(labels, least, tolerance) }
        });
    }
    Ok(channels)
}

/// Counts choices by channel. Marks take precedence.
fn tally<'a>(
    choices: impl Iterator<Item = &'a RatedChoice>,
    marks: &[DecisionMark],
) -> BTreeMap<ChannelId, ChannelWelcome> {
    let marks: HashMap<DecisionId, Mark> =
        marks.iter().map(|marked| (marked.decision, marked.mark)).collect();
    let mut channels: BTreeMap<ChannelId, ChannelWelcome> = BTreeMap::new();
    let mut answers: HashMap<&ChannelId, Vec<SignedDuration>> = HashMap::new();
    for choice in choices {
        let here = channels.entry(choice.channel.clone()).or_default();
        let Rating { welcome, .. } = choice.marked(marks.get(&choice.decision).copied());
        // The reasons are what happened, so they are counted even if a mark disagrees.
        let reasons = match choice.choice {
            SpeakChoice::Post => {
                here.posts.add(welcome);
                &mut here.post_reasons
            }
            SpeakChoice::Silence => {
                here.silences.add(welcome);
                &mut here.silence_reasons
            }
            SpeakChoice::Declined => {
                here.declined += 1;
                continue;
            }
        };
        for reason in &choice.rating.reasons {
            *reasons.entry(*reason).or_default() += 1;
        }
        answers.entry(&choice.channel).or_default().extend(choice.answered);
    }
    for (channel, delays) in answers {
        if let Some(here) = channels.get_mut(channel) {
            here.answered_after = median(delays);
        }
    }
    channels
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn posts_and_silences_are_counted_by_channel_and_marks_win() {
        let choice = |id: i64, channel: &str, choice, welcome| RatedChoice {
            decision: DecisionId(id),
            channel: ChannelId::new(channel),
            at: Timestamp::UNIX_EPOCH,
            choice,
            confidence: None,
            rating: Rating { welcome, reasons: vec![WelcomeReason::Died] },
            answered: match choice {
                SpeakChoice::Silence => Some(SignedDuration::from_secs(id * 60)),
                SpeakChoice::Post | SpeakChoice::Declined => None,
            },
        };
        let choices = [
            choice(1, "garden", SpeakChoice::Post, Reception::Welcome),
            choice(2, "garden", SpeakChoice::Post, Reception::Unclear),
            choice(3, "garden", SpeakChoice::Silence, Reception::Unwelcome),
            choice(4, "kitchen", SpeakChoice::Silence, Reception::Welcome),
            choice(5, "kitchen", SpeakChoice::Silence, Reception::Unclear),
            choice(6, "kitchen", SpeakChoice::Declined, Reception::Unwelcome),
        ];
        let mark = DecisionMark {
            decision: DecisionId(2),
            mark: Mark::ShouldHaveKeptSilent,
            by: "olga".into(),
            at: Timestamp::UNIX_EPOCH,
        };
        let counts = |welcome, unwelcome, unclear| WelcomeCounts { welcome, unwelcome, unclear };
        let of = |posts, silences| ChannelWelcome { posts, silences, ..ChannelWelcome::default() };
        let died = |count: u64| BTreeMap::from([(WelcomeReason::Died, count)]);
        let garden = ChannelWelcome {
            post_reasons: died(2),
            silence_reasons: died(1),
            answered_after: Some(SignedDuration::from_mins(3)),
            ..of(counts(1, 1, 0), counts(0, 1, 0))
        };
        let kitchen = ChannelWelcome {
            declined: 1,
            silence_reasons: died(2),
            answered_after: Some(SignedDuration::from_mins(5)),
            ..of(counts(0, 0, 0), counts(1, 0, 1))
        };
        assert_eq!((garden.posts.total(), garden.labels_missing()), (2, MIN_LABELS));
        assert_eq!(garden.never_answered(), 0);
        let expected = [("garden", garden), ("kitchen", kitchen)];
        let expected: BTreeMap<ChannelId, ChannelWelcome> =
            expected.map(|(channel, counts)| (ChannelId::new(channel), counts)).into();
        assert_eq!(tally(choices.iter(), &[mark]), expected);
    }
}
