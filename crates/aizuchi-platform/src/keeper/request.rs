//! The requests that a keeper may be asked about: proposed posts, calls of tools that may write, and whether the persona
//! may post without approval. Defines their states and their questions.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, WorkspaceId, to_single_line};
use aizuchi_model::decision::consent::{Consent, ConsentId, ConsentState};
use aizuchi_model::decision::proposal::{Proposal, ProposalId, ProposalState};
use aizuchi_model::decision::trust::{TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls, screen_urls};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use jiff::Timestamp;

use crate::keeper::record::{AskedQuestion, QuestionRecord};
use crate::keeper::{KeeperButton, KeeperQuestion, Keepers, QuestionSubject};

/// The maximum length of a draft that is shown, in characters.
const MAX_SHOWN: usize = 1_200;
/// The maximum length of a reason that is shown, in characters.
const MAX_REASON: usize = 300;
/// The maximum length of a name that is shown, in characters.
const MAX_NAME: usize = 60;

/// The kinds of requests, each of which has its own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeeperRequestKind {
    Proposals,
    Calls,
    /// Offers to post without approval.
    Trust,
}

/// A request and its current state.
pub struct KeeperRequest {
    pub id: i64,
    /// The channel that it is about.
    pub about: ChannelId,
    pub state: &'static str,
    /// The state in words.
    pub what: &'static str,
    /// Set while it can be decided.
    pub open: Option<OpenRequest>,
    /// Whether its state may change.
    pub may_change: bool,
}

pub enum OpenRequest {
    Proposal(Proposal, Arc<str>),
    Call(Consent, Arc<str>),
    Trust(TrustOffer),
}

impl KeeperRequestKind {
    pub const ALL: [Self; 3] =
        [KeeperRequestKind::Proposals, KeeperRequestKind::Calls, KeeperRequestKind::Trust];

    /// Returns the stream in which the questions of a workspace are stored, next to the platform's cursors.
    pub fn stream(self) -> &'static str {
        match self {
            KeeperRequestKind::Proposals => "proposals",
            KeeperRequestKind::Calls => "calls",
            KeeperRequestKind::Trust => "trust",
        }
    }

    /// Returns the subject of a question about the request of this number.
    pub fn subject(self, id: i64) -> QuestionSubject {
        match self {
            KeeperRequestKind::Proposals => QuestionSubject::Proposal(ProposalId(id)),
            KeeperRequestKind::Calls => QuestionSubject::Call(ConsentId(id)),
            KeeperRequestKind::Trust => QuestionSubject::Trust(TrustOfferId(id)),
        }
    }

    /// Returns the state of a request that is no longer recorded, also in words.
    pub fn gone(self, language: Language) -> (&'static str, &'static str) {
        match self {
            KeeperRequestKind::Proposals => {
                let state = ProposalState::Lapsed;
                (state.name(), texts::console::proposal_state(language, state))
            }
            KeeperRequestKind::Calls => {
                let state = ConsentState::Lapsed;
                (state.name(), texts::consents::state(language, state))
            }
            KeeperRequestKind::Trust => {
                let state = TrustState::Withdrawn;
                (state.name(), texts::trust::state(language, state))
            }
        }
    }
}

impl KeeperRequest {
    /// Whether the keeper has not been asked about it.
    pub(super) fn is_new(&self, kind: KeeperRequestKind, record: &QuestionRecord) -> bool {
        match kind {
            KeeperRequestKind::Proposals => self.id > record.newest,
            // A request with a lower number may be opened later, when the post that announces it is made.
            KeeperRequestKind::Calls | KeeperRequestKind::Trust => {
                !record.asked.iter().any(|asked| asked.id == self.id)
            }
        }
    }

    fn of_proposal(proposal: Proposal, language: Language, now: Timestamp) -> Self {
        let state = proposal.state;
        Self {
            id: proposal.id.0,
            about: proposal.conversation.channel.clone(),
            state: state.name(),
            what: texts::console::proposal_state(language, state),
            // An approved proposal may lapse before it is posted.
            may_change: state == ProposalState::Open
                || (state.is_approved() && now < proposal.expires),
            open: proposal.text.clone().map(|draft| OpenRequest::Proposal(proposal, draft)),
        }
    }

    fn of_call(consent: Consent, language: Language) -> Self {
        let state = consent.state;
        let shown = consent.arguments.clone().filter(|_| state == ConsentState::Open);
        Self {
            id: consent.id.0,
            about: consent.conversation.channel.clone(),
            state: state.name(),
            what: texts::consents::state(language, state),
            may_change: !state.is_final(),
            open: shown.map(|shown| OpenRequest::Call(consent, shown)),
        }
    }

    /// Returns the request of an offer. An offer is only valid in `propose` mode.
    fn of_trust(offer: TrustOffer, mode: Mode, language: Language) -> Self {
        let state = match offer.state {
            TrustState::Open if mode != Mode::Propose => TrustState::Withdrawn,
            state => state,
        };
        let is_open = state == TrustState::Open;
        Self {
            id: offer.id.0,
            about: offer.channel.clone(),
            state: state.name(),
            what: texts::trust::state(language, state),
            may_change: is_open,
            open: is_open.then_some(OpenRequest::Trust(offer)),
        }
    }
}

impl Keepers {
    /// Returns the requests of a kind that may have to be asked about, and those that were, oldest first.
    pub(super) async fn requests(
        &self,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        asked: &[AskedQuestion],
    ) -> Result<Vec<KeeperRequest>, StoreError> {
        let now = self.inbox.clock.now();
        let mut requests = Vec::new();
        match kind {
            KeeperRequestKind::Proposals => {
                for it in self.proposals(workspace, asked, now).await? {
                    let language = self.language_in(workspace, &it.conversation.channel).await?;
                    requests.push(KeeperRequest::of_proposal(it, language, now));
                }
            }
            KeeperRequestKind::Calls => {
                for it in self.calls(workspace, asked, now).await? {
                    let language = self.language_in(workspace, &it.conversation.channel).await?;
                    requests.push(KeeperRequest::of_call(it, language));
                }
            }
            KeeperRequestKind::Trust => {
                for it in self.archive.trust_offers(workspace).await? {
                    let mode = self.inbox.channel_cache.mode(workspace, &it.channel);
                    let language = self.language_in(workspace, &it.channel).await?;
                    requests.push(KeeperRequest::of_trust(it, mode, language));
                }
            }
        }
        Ok(requests)
    }

    /// Returns the proposals that can be decided and those that were asked about, however many came later.
    async fn proposals(
        &self,
        workspace: &WorkspaceId,
        asked: &[AskedQuestion],
        now: Timestamp,
    ) -> Result<Vec<Proposal>, StoreError> {
        let mut proposals = self.archive.open_proposals(now).await?;
        proposals.retain(|it| it.conversation.workspace == *workspace);
        for question in asked {
            if proposals.iter().all(|it| it.id.0 != question.id) {
                proposals.extend(self.proposal(workspace, ProposalId(question.id)).await?);
            }
        }
        proposals.sort_by_key(|it| it.id);
        Ok(proposals)
    }

    /// Returns the calls that can be decided and those that were asked about, however many came later.
    async fn calls(
        &self,
        workspace: &WorkspaceId,
        asked: &[AskedQuestion],
        now: Timestamp,
    ) -> Result<Vec<Consent>, StoreError> {
        let unsettled = self.archive.unsettled_consents().await?.into_iter();
        let here = unsettled.filter(|it| it.conversation.workspace == *workspace);
        let mut calls: Vec<Consent> = here.map(|it| it.at(now)).collect();
        // No keeper is asked about a call whose announcement is not posted.
        calls.retain(|it| it.state == ConsentState::Open);
        for question in asked {
            if calls.iter().all(|it| it.id.0 != question.id) {
                let id = ConsentId(question.id);
                calls.extend(self.archive.consent(Some(workspace), id, now).await?);
            }
        }
        calls.sort_by_key(|it| it.id);
        Ok(calls)
    }

    pub(super) async fn question(
        &self,
        workspace: &WorkspaceId,
        open: &OpenRequest,
    ) -> Result<KeeperQuestion, StoreError> {
        match open {
            OpenRequest::Proposal(proposal, draft) => {
                self.proposal_question(workspace, proposal, draft).await
            }
            OpenRequest::Call(consent, shown) => {
                self.call_question(workspace, consent, shown).await
            }
            OpenRequest::Trust(offer) => self.trust_question(offer).await,
        }
    }

    async fn proposal_question(
        &self,
        workspace: &WorkspaceId,
        proposal: &Proposal,
        draft: &str,
    ) -> Result<KeeperQuestion, StoreError> {
        let language = self.language_in(workspace, &proposal.conversation.channel).await?;
        let (shown, is_cut) = shorten_draft(draft);
        let why = proposal.why.as_deref().map(|why| shorten(why, MAX_REASON).0);
        let notes = [
            why.map(|why| texts::keeper::why(language, &why)),
            is_cut.then(|| texts::keeper::cut(language).to_owned()),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let place = self.place_name(workspace, &proposal.conversation.channel);
        let buttons =
            [KeeperButton::Say, KeeperButton::Edit, KeeperButton::NotNow, KeeperButton::Never];
        Ok(KeeperQuestion {
            workspace: workspace.clone(),
            subject: QuestionSubject::Proposal(proposal.id),
            heading: texts::keeper::would_say(language, &place),
            draft: shown,
            note: notes.join("\n"),
            buttons: buttons.map(|button| (button, button.label(language))).into(),
        })
    }

    async fn trust_question(&self, offer: &TrustOffer) -> Result<KeeperQuestion, StoreError> {
        let TrustOffer { workspace, channel, trusted, .. } = offer;
        let language = self.language_in(workspace, channel).await?;
        let (least, place) = (trusted.least.share(), self.place_name(workspace, channel));
        let buttons = [KeeperButton::ByItself, KeeperButton::NotYet];
        Ok(KeeperQuestion {
            workspace: workspace.clone(),
            subject: QuestionSubject::Trust(offer.id),
            heading: texts::trust::offer(language, least, trusted.percent(), &place),
            draft: texts::trust::means(language, least),
            note: texts::trust::rests_on(language, offer.clicks),
            buttons: buttons.map(|button| (button, button.label(language))).into(),
        })
    }

    /// Returns the names of all users for whom a call would be made, without duplicates.
    async fn asker_names(&self, consent: &Consent) -> Result<Vec<String>, StoreError> {
        let ConversationId { workspace, channel, .. } = &consent.conversation;
        let (mut authors, mut names) = (HashSet::new(), Vec::new());
        for message in &consent.messages {
            if let Some(asked) = self.archive.message(workspace, channel, message).await?
                && authors.insert(asked.message.author.id.clone())
            {
                names.push(shorten(&to_single_line(&asked.author_name), MAX_NAME).0);
            }
        }
        Ok(names)
    }

    /// Returns the question about a call. The arguments are shown in full, since consent covers nothing else. They
    /// cannot end the code block that contains them.
    async fn call_question(
        &self,
        workspace: &WorkspaceId,
        consent: &Consent,
        shown: &str,
    ) -> Result<KeeperQuestion, StoreError> {
        let ConversationId { channel, .. } = &consent.conversation;
        let language = self.language_in(workspace, channel).await?;
        let askers = self.asker_names(consent).await?;
        let separator = texts::ledger::list_separator(language);
        let asked_by = || texts::consents::asked_by(language, &askers.join(separator));
        let left = consent.expires.duration_since(self.inbox.clock.now());
        let notes = [
            (!askers.is_empty()).then(asked_by),
            Some(texts::consents::minutes_left(language, left.as_mins().max(1))),
            Some(texts::consents::exactly_this(language).to_owned()),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let place = self.place_name(workspace, channel);
        let buttons = [KeeperButton::AllowOnce, KeeperButton::Refuse];
        Ok(KeeperQuestion {
            workspace: workspace.clone(),
            subject: QuestionSubject::Call(consent.id),
            heading: texts::consents::wants(language, &place, consent.server(), consent.own_name()),
            draft: format!("```\n{shown}\n```"),
            note: notes.join("\n"),
            buttons: buttons.map(|button| (button, button.label(language))).into(),
        })
    }
}

/// Returns what is shown of a draft, and whether it was cut. What was code may not be code in a part of it, nor next to
/// the draft's other posts.
fn shorten_draft(draft: &str) -> (String, bool) {
    let (shown, is_cut) = shorten(draft, MAX_SHOWN);
    let mut known = KnownUrls::default();
    known.add_outside_code(draft);
    (screen_urls(&shown, &known, CodeBlocks::KeepUrls), is_cut)
}

/// Returns the beginning of a text, and whether it was cut.
fn shorten(text: &str, longest: usize) -> (String, bool) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (format!("{}…", text[..end].trim_end()), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_draft_is_cut_between_characters() {
        assert_eq!(shorten("roses", 5), ("roses".to_owned(), false));
        assert_eq!(shorten("ばらの花", 2), ("ばら…".to_owned(), true));
        assert_eq!(shorten("two words", 4), ("two…".to_owned(), true));
    }
}
