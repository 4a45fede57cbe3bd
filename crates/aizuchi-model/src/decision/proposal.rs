//! Posts that a user approves before they are posted: what is proposed, what the user chose, and what these choices say
//! about the judge's confidence.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ConversationId, MessageId};
use crate::decision::mark::Mark;
use crate::decision::{DecisionId, DecisionResult};
use crate::rules::setting_override::Confidence;

number_id!(
    /// The number of a proposal: that of the first part of its draft.
    ProposalId
);

/// What a user chose to do with a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalChoice {
    SayIt,
    /// Say this instead, as posts in this order; never empty.
    Edit(Vec<String>),
    NotNow,
    NeverLikeThis,
}

impl ProposalChoice {
    pub fn state(&self) -> ProposalState {
        match self {
            ProposalChoice::SayIt => ProposalState::Approved,
            ProposalChoice::Edit(_) => ProposalState::Edited,
            ProposalChoice::NotNow => ProposalState::Declined,
            ProposalChoice::NeverLikeThis => ProposalState::Never,
        }
    }

    /// Returns what the choice says about the decision to speak. Editing the text means that speaking was right.
    pub fn mark(&self) -> Mark {
        match self {
            ProposalChoice::SayIt | ProposalChoice::Edit(_) => Mark::Right,
            ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => Mark::ShouldHaveKeptSilent,
        }
    }
}

named_enum! {
    /// The state of a proposal.
    pub enum ProposalState {
        /// No user has decided yet.
        Open,
        /// Approved as it is.
        Approved,
        /// Approved with a user's own text.
        Edited,
        Declined,
        /// Declined as something that the persona should never say.
        Never,
        /// It was not decided in time.
        Lapsed,
    }
}

impl ProposalState {
    /// Whether a user approved the proposal.
    pub fn is_approved(self) -> bool {
        match self {
            ProposalState::Approved | ProposalState::Edited => true,
            ProposalState::Open
            | ProposalState::Declined
            | ProposalState::Never
            | ProposalState::Lapsed => false,
        }
    }
}

/// A post that the persona would make unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub id: ProposalId,
    pub decision: DecisionId,
    pub conversation: ConversationId,
    /// The text, while the proposal is open and none of its source messages has changed.
    pub text: Option<Arc<str>>,
    /// The proposed text, if a user replaced it. It is kept as long as prompts are.
    pub original: Option<Arc<str>>,
    /// The message that the proposal answers.
    pub about: Option<MessageId>,
    /// Why the persona would speak, or what became of the proposal, for users.
    pub why: Option<Arc<str>>,
    /// How sure the judge was.
    pub confidence: Option<f64>,
    pub made: Timestamp,
    pub expires: Timestamp,
    pub state: ProposalState,
    /// The name under which the user who decided was signed in, and when; the name is empty for a local user without a
    /// sign-in.
    pub decided: Option<(Arc<str>, Timestamp)>,
}

impl Proposal {
    /// Returns the proposal as of `now`. An open one lapses when it expires or its text is gone; an approved one lapses
    /// if its decision ended without its post.
    pub fn at(self, now: Timestamp, decision: Option<ClosedDecision>) -> Self {
        let is_gone = self.text.is_none() || self.expires <= now;
        let has_lapsed = match self.state {
            ProposalState::Open => is_gone,
            ProposalState::Approved | ProposalState::Edited => {
                decision.is_some_and(|decision| !decision.is_own_post())
            }
            ProposalState::Declined | ProposalState::Never | ProposalState::Lapsed => false,
        };
        let state = if has_lapsed { ProposalState::Lapsed } else { self.state };
        let text = self.text.filter(|_| state == ProposalState::Open);
        let original = self.original.filter(|_| state == ProposalState::Edited);
        Self { state, text, original, ..self }
    }
}

/// How the decision of a proposal was finally closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedDecision {
    pub ended: DecisionResult,
    pub is_addressed: bool,
}

impl ClosedDecision {
    /// Whether the proposal was posted, or posting it failed. If a mention came first, the mention was answered
    /// instead.
    fn is_own_post(self) -> bool {
        !self.is_addressed && matches!(self.ended, DecisionResult::Spoke | DecisionResult::Failed)
    }
}

/// A decided proposal, as a label of the judge's confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProposalLabel {
    pub confidence: f64,
    pub is_approved: bool,
    pub decided: Timestamp,
}

/// The minimum number of labels from which anything is concluded.
pub const MIN_LABELS: usize = 30;
/// The share of the proposals above a threshold that users must have approved.
const GOOD_SHARE: f64 = 0.9;
/// The minimum number of labels above a threshold.
const MIN_LABELS_ABOVE: usize = 10;

/// A confidence from which users approved this share of the proposals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrustedConfidence {
    pub least: Confidence,
    pub share: f64,
}

impl TrustedConfidence {
    /// Returns the lowest confidence above which nearly everything was approved, if there are enough labels. It is
    /// rounded to hundredths, so that the threshold that users are shown is exactly the one that applies.
    pub fn from_labels(labels: &[ProposalLabel]) -> Option<Self> {
        if labels.len() < MIN_LABELS {
            return None;
        }
        let mut descending: Vec<(Confidence, &ProposalLabel)> = labels
            .iter()
            .filter_map(|label| Some((Confidence::floor(label.confidence)?, label)))
            .collect();
        descending.sort_by_key(|(confidence, _)| std::cmp::Reverse(*confidence));
        let (mut above, mut approved, mut found) = (0, 0, None);
        // Labels of equal confidence are on the same side of every threshold.
        for equal in descending.chunk_by(|one, other| one.0 == other.0) {
            above += equal.len();
            approved += equal.iter().filter(|(_, label)| label.is_approved).count();
            let share = approved as f64 / above as f64;
            if above >= MIN_LABELS_ABOVE && share >= GOOD_SHARE {
                found = equal.first().map(|(least, _)| Self { least: *least, share });
            }
        }
        found
    }

    /// Returns the share in percent.
    pub fn percent(self) -> f64 {
        self.share * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, WorkspaceId};

    fn proposal(state: ProposalState, text: Option<&str>) -> Proposal {
        Proposal {
            id: ProposalId(1),
            decision: DecisionId(1),
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            text: text.map(Arc::from),
            original: Some("hello".into()),
            about: None,
            why: None,
            confidence: None,
            made: Timestamp::UNIX_EPOCH,
            expires: Timestamp::from_second(60).unwrap(),
            state,
            decided: None,
        }
    }

    #[test]
    fn a_proposal_lapses_when_its_moment_has_passed() {
        use DecisionResult::{Dropped, Failed, Spoke};
        use ProposalState::{Approved, Declined, Edited, Lapsed, Never, Open};
        let closed = |ended, is_addressed| Some(ClosedDecision { ended, is_addressed });
        for (state, text, second, decision, expected) in [
            (Open, Some("hi"), 59, closed(DecisionResult::Proposed, false), Open),
            (Open, Some("hi"), 60, closed(DecisionResult::Proposed, false), Lapsed),
            (Open, None, 10, closed(DecisionResult::Proposed, false), Lapsed),
            (Approved, None, 90, None, Approved),
            (Approved, None, 90, closed(Spoke, false), Approved),
            (Edited, None, 90, closed(Failed, false), Edited),
            (Edited, None, 90, closed(Dropped, false), Lapsed),
            (Approved, None, 90, closed(Spoke, true), Lapsed),
            (Declined, None, 90, closed(DecisionResult::Proposed, false), Declined),
            (Never, None, 90, closed(DecisionResult::Proposed, false), Never),
            (Lapsed, None, 90, None, Lapsed),
        ] {
            let now = Timestamp::from_second(second).unwrap();
            let found = proposal(state, text).at(now, decision);
            assert_eq!(found.state, expected, "{state:?} {second} {decision:?}");
            assert_eq!(found.text.is_some(), expected == Open);
            assert_eq!(found.original.is_some(), expected == Edited);
        }
    }

    #[test]
    fn a_click_says_whether_it_should_have_spoken() {
        let edit = ProposalChoice::Edit(vec!["hi".to_owned()]);
        for (choice, mark, is_approved) in [
            (ProposalChoice::SayIt, Mark::Right, true),
            (edit, Mark::Right, true),
            (ProposalChoice::NotNow, Mark::ShouldHaveKeptSilent, false),
            (ProposalChoice::NeverLikeThis, Mark::ShouldHaveKeptSilent, false),
        ] {
            assert_eq!((choice.mark(), choice.state().is_approved()), (mark, is_approved));
        }
    }

    #[test]
    fn confidence_is_trusted_from_where_nearly_all_was_approved() {
        let decided = Timestamp::UNIX_EPOCH;
        let label = |confidence, is_approved| ProposalLabel { confidence, is_approved, decided };
        let trusted = |hundredths: i64, share| {
            let least = Confidence::from_thousandths(hundredths * 10).unwrap();
            Some(TrustedConfidence { least, share })
        };
        let some = |count: usize, confidence, approved: usize| {
            (0..count).map(move |number| label(confidence, number < approved))
        };
        let found = |labels: Vec<ProposalLabel>| TrustedConfidence::from_labels(&labels);
        assert_eq!(found(Vec::new()), None);
        assert_eq!(found(some(29, 0.9, 29).collect()), None, "too few labels");
        let all = found(some(30, 0.9, 30).collect());
        assert_eq!(all, trusted(90, 1.0));
        let mixed: Vec<ProposalLabel> =
            some(15, 0.7, 3).chain(some(20, 0.8, 19)).chain(some(5, 0.95, 5)).collect();
        let mixed = found(mixed);
        assert_eq!(mixed, trusted(80, 24.0 / 25.0));
        let near: Vec<ProposalLabel> = some(15, 0.741, 15).chain(some(15, 0.749, 15)).collect();
        assert_eq!(found(near), trusted(74, 1.0), "nobody is told more than two digits");
        let few_above = some(5, 0.95, 5).chain(some(30, 0.8, 10)).collect();
        assert_eq!(found(few_above), None, "five labels are too few for a threshold");
        assert_eq!(found(some(40, 0.8, 10).collect()), None);
    }
}
