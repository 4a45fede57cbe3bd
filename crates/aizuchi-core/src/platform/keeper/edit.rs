//! A keeper says it in other words: the form that they get, and what comes back. What they write is theirs, links
//! included; that nobody is called by it as a crowd is up to the adapter, as with every post.

use std::sync::Arc;

use tracing::warn;

use crate::chat::{UserId, WorkspaceId};
use crate::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalState};
use crate::persona::Language;
use crate::platform::keeper::{ClickAnswer, Keepers};
use crate::platform::local::parse_text;
use crate::platform::split::{split, utf16_length};
use crate::store::StoreError;
use crate::texts;

/// A form with one field of several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditForm {
    pub workspace: WorkspaceId,
    /// Of its words.
    pub language: Language,
    pub proposal: ProposalId,
    pub title: &'static str,
    /// Above the field.
    pub label: &'static str,
    /// On the button that posts the words.
    pub submit: &'static str,
    pub cancel: &'static str,
    /// The words as they are, which the field begins with.
    pub draft: Arc<str>,
    /// What the field takes, in UTF-16 code units.
    pub max_length: usize,
}

/// A form that somebody has filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledForm {
    pub workspace: WorkspaceId,
    pub proposal: ProposalId,
    pub user: UserId,
    pub text: String,
}

impl Keepers {
    /// The form to change a proposal's words in, while it is open.
    pub(super) fn edit_form(&self, proposal: &Proposal) -> ClickAnswer {
        let conversation = &proposal.conversation;
        let language = self.language_in(&conversation.workspace, &conversation.channel);
        let draft = match (proposal.state, &proposal.text) {
            (ProposalState::Open, Some(draft)) => draft.clone(),
            (ProposalState::Open | ProposalState::Lapsed, _) => {
                return ClickAnswer::Tell(texts::keeper::too_late(language));
            }
            (
                ProposalState::Approved
                | ProposalState::Edited
                | ProposalState::Declined
                | ProposalState::Never,
                _,
            ) => return ClickAnswer::Tell(texts::keeper::already_decided(language)),
        };
        if utf16_length(&draft) > self.lengths.form {
            return ClickAnswer::Tell(texts::keeper::too_long(language));
        }
        ClickAnswer::Open(EditForm {
            workspace: conversation.workspace.clone(),
            language,
            proposal: proposal.id,
            title: texts::keeper::edit_title(language),
            label: texts::keeper::edit_label(language),
            submit: texts::console::say_this(language),
            cancel: texts::keeper::edit_cancel(language),
            draft,
            max_length: self.lengths.form,
        })
    }

    /// Has the words of a form posted in place of the proposed ones. Whoever sent it is looked at again, and sent twice it
    /// posts once. Returns what to tell them, unless their question will.
    pub async fn submit(&self, form: FilledForm) -> Option<&'static str> {
        let (workspace, proposal) = (form.workspace.clone(), form.proposal);
        match self.try_submit(form).await {
            Ok(told) => told,
            Err(error) => {
                let platform = workspace.platform();
                warn!(platform, %workspace, %proposal, %error, "the words of a keeper could not be stored");
                Some(texts::commands::failed(self.language))
            }
        }
    }

    async fn try_submit(&self, form: FilledForm) -> Result<Option<&'static str>, StoreError> {
        let found = match self.kept_by(&form.workspace, form.proposal, &form.user).await? {
            Ok(found) => found,
            Err(told) => return Ok(Some(told)),
        };
        let language = self.language_in(&form.workspace, &found.conversation.channel);
        if utf16_length(&form.text) > self.lengths.form {
            return Ok(Some(texts::keeper::too_long(language)));
        }
        let Ok(text) = parse_text(&form.text) else {
            return Ok(Some(texts::keeper::no_words(language)));
        };
        let choice = ProposalChoice::Edit(split(&text, self.lengths.post));
        self.decide(&found, &form.user, choice).await
    }
}
