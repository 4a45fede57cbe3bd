//! The requests that a keeper may be asked about: proposed posts, calls of tools that may write, and whether the persona
//! may post without approval.

use std::collections::HashSet;

use aizuchi_actions::question::{QuestionSubject, StoredQuestion};
use aizuchi_model::chat::{ConversationId, WorkspaceId, to_single_line};
use aizuchi_model::decision::consent::{Consent, ConsentId, ConsentState};
use aizuchi_model::decision::proposal::{ProposalId, ProposalState};
use aizuchi_model::decision::trust::{TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls, screen_urls};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::StoreError;

use crate::keeper::record::{AskedQuestion, QuestionRecord};
use crate::keeper::{KeeperQuestion, Keepers};

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

    /// Whether no keeper has been asked the question of this number.
    pub(super) fn is_new(self, id: i64, record: &QuestionRecord) -> bool {
        match self {
            KeeperRequestKind::Proposals => id > record.newest,
            // A question with a lower number may be opened later, when the post that announces it is made.
            KeeperRequestKind::Calls | KeeperRequestKind::Trust => {
                !record.asked.iter().any(|asked| asked.id == id)
            }
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

impl Keepers {
    /// Returns the questions of a kind that can be decided and those that a keeper was asked, however many came later,
    /// oldest first.
    pub(super) async fn requests(
        &self,
        (workspace, kind): (&WorkspaceId, KeeperRequestKind),
        asked: &[AskedQuestion],
    ) -> Result<Vec<StoredQuestion>, StoreError> {
        let authorization = self.authorization();
        let mut found: Vec<StoredQuestion> = match kind {
            KeeperRequestKind::Proposals => {
                let open = self.archive.open_proposals(authorization.now).await?.into_iter();
                open.map(StoredQuestion::Proposal).collect()
            }
            // No keeper is asked about a call whose announcement is not posted.
            KeeperRequestKind::Calls => {
                let unsettled = self.archive.unsettled_consents().await?.into_iter();
                let unsettled = unsettled.map(|it| it.at(authorization.now));
                let open = unsettled.filter(|it| it.state == ConsentState::Open);
                open.map(StoredQuestion::Call).collect()
            }
            KeeperRequestKind::Trust => {
                let offers = authorization.trust_offers(workspace).await?.into_iter();
                offers.map(StoredQuestion::Trust).collect()
            }
        };
        found.retain(|question| question.place().0 == workspace);
        for AskedQuestion { id, .. } in asked {
            if found.iter().all(|question| question.subject().number() != *id) {
                found
                    .extend(authorization.find_question(Some(workspace), kind.subject(*id)).await?);
            }
        }
        found.sort_by_key(|question| question.subject().number());
        Ok(found)
    }

    /// Returns what a keeper is asked.
    pub(super) async fn question(
        &self,
        question: &StoredQuestion,
    ) -> Result<KeeperQuestion, StoreError> {
        let (workspace, channel) = question.place();
        let language = self.language_in(workspace, channel).await?;
        let place = self.place_name(workspace, channel);
        let (heading, draft, note) = match question {
            StoredQuestion::Proposal(proposal) => {
                let (shown, is_cut) = shorten_draft(proposal.text.as_deref().unwrap_or_default());
                let why = proposal.why.as_deref().map(|why| shorten(why, MAX_REASON).0);
                let notes = [
                    why.map(|why| texts::keeper::why(language, &why)),
                    is_cut.then(|| texts::keeper::cut(language).to_owned()),
                ];
                let notes: Vec<String> = notes.into_iter().flatten().collect();
                (texts::keeper::would_say(language, &place), shown, notes.join("\n"))
            }
            // The arguments are shown in full, since consent covers nothing else. They cannot end the code block that
            // contains them.
            StoredQuestion::Call(consent) => (
                texts::consents::wants(language, &place, consent.server(), consent.own_name()),
                format!("```\n{}\n```", consent.arguments.as_deref().unwrap_or_default()),
                self.call_note(consent, language).await?,
            ),
            StoredQuestion::Trust(TrustOffer { trusted, clicks, .. }) => {
                let least = trusted.least.share();
                (
                    texts::trust::offer(language, least, trusted.percent(), &place),
                    texts::trust::means(language, least),
                    texts::trust::rests_on(language, *clicks),
                )
            }
        };
        let subject = question.subject();
        let buttons = subject.choices().iter().map(|choice| (*choice, choice.label(language)));
        let buttons = buttons.collect();
        Ok(KeeperQuestion { workspace: workspace.clone(), subject, heading, draft, note, buttons })
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

    /// Says for whom a call would be made, and how long it can be allowed.
    async fn call_note(&self, consent: &Consent, language: Language) -> Result<String, StoreError> {
        let askers = self.asker_names(consent).await?;
        let separator = texts::ledger::list_separator(language);
        let asked_by = || texts::consents::asked_by(language, &askers.join(separator));
        let left = consent.expires.duration_since(self.inbox.clock.now());
        let notes = [
            (!askers.is_empty()).then(asked_by),
            Some(texts::consents::minutes_left(language, left.as_mins().max(1))),
            Some(texts::consents::exactly_this(language).to_owned()),
        ];
        Ok(notes.into_iter().flatten().collect::<Vec<String>>().join("\n"))
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
