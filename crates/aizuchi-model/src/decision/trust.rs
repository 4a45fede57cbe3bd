//! If nearly everything that the persona proposed with some confidence was approved, it offers to post without approval
//! from that confidence on. Users are asked once for each confidence, and again only after as many further clicks.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use crate::chat::{ChannelId, WorkspaceId};
use crate::decision::proposal::{ProposalId, ProposalLabel, TrustedConfidence};
use crate::rules::Mode;
use crate::rules::setting_override::Confidence;

/// The maximum number of newest clicks in a channel that count.
pub const MAX_CLICKS: usize = 2000;

number_id!(
    /// The number of an offer: that of the proposal whose click led to it.
    TrustOfferId
);

/// The newest offer of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustOffer {
    pub id: TrustOfferId,
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub trusted: TrustedConfidence,
    /// The number of clicks that the offer is based on.
    pub clicks: usize,
    pub made: Timestamp,
    pub state: TrustState,
    /// Who answered and when, as in [`Proposal::decided`](crate::decision::proposal::Proposal::decided); `None` for a
    /// withdrawn offer.
    pub decided: Option<(Arc<str>, Timestamp)>,
}

named_enum! {
    pub enum TrustState {
        Open,
        /// The persona posts without approval.
        Accepted,
        /// Not yet.
        Declined,
        /// Later clicks contradict it, or a user has chosen another mode.
        Withdrawn,
    }
}

/// An answer to an offer.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Deserialize,
    schemars::JsonSchema,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum TrustChoice {
    /// Post without approval from this confidence on.
    ByItself,
    NotYet,
}

impl TrustChoice {
    pub fn state(self) -> TrustState {
        match self {
            TrustChoice::ByItself => TrustState::Accepted,
            TrustChoice::NotYet => TrustState::Declined,
        }
    }
}

impl TrustOffer {
    /// Returns a channel's newest offer after a click, if the offer is new or was changed. `labels` has the clicks of
    /// the channel, newest first, and the last one was about the proposal `newest`.
    pub fn after_click(
        last: Option<Self>,
        labels: &[ProposalLabel],
        newest: (WorkspaceId, ChannelId, ProposalId),
        now: Timestamp,
    ) -> Option<Self> {
        let trusted = TrustedConfidence::from_labels(labels);
        match last {
            Some(open) if open.state == TrustState::Open => {
                let still_holds =
                    trusted.is_some_and(|trusted| trusted.least <= open.trusted.least);
                (!still_holds).then(|| open.answered(TrustState::Withdrawn, "".into(), now))
            }
            Some(closed) if closed.further_clicks(labels) < closed.clicks => None,
            Some(_) | None => {
                let (workspace, channel, id) = newest;
                Some(Self {
                    id: TrustOfferId(id.0),
                    workspace,
                    channel,
                    trusted: trusted?,
                    clicks: labels.len(),
                    made: now,
                    state: TrustState::Open,
                    decided: None,
                })
            }
        }
    }

    /// Returns a channel's newest offer after a user ordered a mode: choosing another mode also answers it. Both modes
    /// are the ordered ones; `None` stands for the configured mode.
    pub fn after_mode(
        last: Option<Self>,
        (before, ordered): (Option<Mode>, Option<Mode>),
        now: Timestamp,
    ) -> Option<Self> {
        let open = last.filter(|offer| offer.state == TrustState::Open)?;
        let is_other = ordered != before && ordered != Some(Mode::Propose);
        is_other.then(|| open.answered(TrustState::Withdrawn, "".into(), now))
    }

    /// Whether the offer is open and has this number and confidence.
    pub fn is_open_as(&self, id: TrustOfferId, least: Confidence) -> bool {
        self.state == TrustState::Open && self.id == id && self.trusted.least == least
    }

    pub fn answered(self, state: TrustState, by: Arc<str>, now: Timestamp) -> Self {
        Self { state, decided: Some((by, now)), ..self }
    }

    /// Returns the number of clicks since it was answered.
    fn further_clicks(&self, labels: &[ProposalLabel]) -> usize {
        let answered = self.decided.as_ref().map_or(self.made, |(_, at)| *at);
        labels.iter().filter(|label| label.decided > answered).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Clicks of one confidence, newest first: one per second, the newest of them at `until`.
    fn clicks(count: i64, until: i64, is_approved: bool) -> Vec<ProposalLabel> {
        let label = |second| ProposalLabel { confidence: 0.743, is_approved, decided: at(second) };
        (0..count).map(|number| label(until - number)).collect()
    }

    fn after(
        last: Option<&TrustOffer>,
        labels: &[ProposalLabel],
        second: i64,
    ) -> Option<TrustOffer> {
        let newest = (WorkspaceId::new("w"), ChannelId::new("c"), ProposalId(second));
        TrustOffer::after_click(last.cloned(), labels, newest, at(second))
    }

    #[test]
    fn an_offer_is_made_once_and_again_after_as_many_clicks() {
        assert_eq!(after(None, &clicks(29, 29, true), 29), None);
        let offer = after(None, &clicks(30, 30, true), 30).unwrap();
        let least = Confidence::from_thousandths(740).unwrap();
        assert_eq!(offer.trusted, TrustedConfidence { least, share: 1.0 });
        assert_eq!((offer.id, offer.clicks, offer.state), (TrustOfferId(30), 30, TrustState::Open));
        assert_eq!(after(Some(&offer), &clicks(31, 31, true), 31), None, "it is open");
        let declined = offer.answered(TrustState::Declined, "ren 1".into(), at(40));
        assert_eq!(after(Some(&declined), &clicks(69, 69, true), 69), None);
        let again = after(Some(&declined), &clicks(70, 70, true), 70).unwrap();
        assert_eq!((again.id, again.clicks), (TrustOfferId(70), 70));
    }

    #[test]
    fn an_open_offer_is_withdrawn_if_it_does_not_hold_any_more() {
        let offer = after(None, &clicks(30, 30, true), 30).unwrap();
        let mut labels = clicks(3, 33, false);
        labels.extend(clicks(30, 30, true));
        assert_eq!(after(Some(&offer), &labels, 33), None, "30 of 33 are enough");
        let labels = [clicks(1, 34, false), labels].concat();
        let withdrawn = after(Some(&offer), &labels, 34).unwrap();
        assert_eq!((withdrawn.id, withdrawn.state), (offer.id, TrustState::Withdrawn));
        assert_eq!(after(Some(&withdrawn), &clicks(63, 63, true), 63), None);
        assert!(after(Some(&withdrawn), &clicks(64, 64, true), 64).is_some());
    }

    #[test]
    fn another_mode_withdraws_an_open_offer() {
        let offer = after(None, &clicks(30, 30, true), 30).unwrap();
        let after_mode = |last: &TrustOffer, before, ordered| {
            TrustOffer::after_mode(Some(last.clone()), (before, ordered), at(40))
        };
        for (before, ordered, is_withdrawn) in [
            (None, Some(Mode::Observe), true),
            (None, Some(Mode::Companion), true),
            (Some(Mode::Propose), None, true),
            (Some(Mode::Propose), Some(Mode::Off), true),
            (None, None, false),
            (None, Some(Mode::Propose), false),
            (Some(Mode::Propose), Some(Mode::Propose), false),
        ] {
            let changed = after_mode(&offer, before, ordered);
            assert_eq!(changed.is_some(), is_withdrawn, "{before:?} {ordered:?}");
        }
        let withdrawn = after_mode(&offer, None, Some(Mode::Observe)).unwrap();
        assert_eq!(withdrawn.state, TrustState::Withdrawn);
        assert_eq!(after_mode(&withdrawn, None, Some(Mode::Off)), None, "it is not open any more");
        // The offer is made again after as many further clicks.
        assert_eq!(after(Some(&withdrawn), &clicks(69, 69, true), 69), None);
        assert!(after(Some(&withdrawn), &clicks(70, 70, true), 70).is_some());
    }

    #[test]
    fn answers_are_known_by_name() {
        assert_eq!("by_itself".parse(), Ok(TrustChoice::ByItself));
        assert_eq!("not_yet".parse(), Ok(TrustChoice::NotYet));
        assert!("yes".parse::<TrustChoice>().is_err());
    }
}
