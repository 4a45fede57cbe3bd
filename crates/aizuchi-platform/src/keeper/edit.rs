//! Editing a proposal: the form that a keeper gets, and its submission. The submitted text is the keeper's own, links
//! included; as with every post, the adapter prevents mentions of everyone.

use std::sync::Arc;

use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalState};
use aizuchi_model::persona::Language;
use aizuchi_model::split::{split, utf16_length};
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use tracing::warn;

use crate::keeper::{ClickAnswer, Keepers};
use crate::local::parse_text;

/// A form with one field of several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditForm {
    pub workspace: WorkspaceId,
    /// The language of the form.
    pub language: Language,
    pub proposal: ProposalId,
    pub title: &'static str,
    /// The label above the field.
    pub label: &'static str,
    /// The label of the button that posts the text.
    pub submit: &'static str,
    pub cancel: &'static str,
    /// The current text, which the field initially contains.
    pub draft: Arc<str>,
    /// The maximum length of the field, in UTF-16 code units.
    pub max_length: usize,
}

/// A submitted form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledForm {
    pub workspace: WorkspaceId,
    pub proposal: ProposalId,
    pub user: UserId,
    pub text: String,
}

impl Keepers {
    /// Returns the form to edit a proposal's text in, while it is open.
    pub(super) async fn edit_form(&self, proposal: &Proposal) -> Result<ClickAnswer, StoreError> {
        let conversation = &proposal.conversation;
        let language = self.language_in(&conversation.workspace, &conversation.channel).await?;
        let draft = match (proposal.state, &proposal.text) {
            (ProposalState::Open, Some(draft)) => draft.clone(),
            (ProposalState::Open | ProposalState::Lapsed, _) => {
                return Ok(ClickAnswer::Tell(texts::keeper::too_late(language)));
            }
            (
                ProposalState::Approved
                | ProposalState::Edited
                | ProposalState::Declined
                | ProposalState::Never,
                _,
            ) => return Ok(ClickAnswer::Tell(texts::keeper::already_decided(language))),
        };
        if utf16_length(&draft) > self.lengths.form {
            return Ok(ClickAnswer::Tell(texts::keeper::too_long(language)));
        }
        Ok(ClickAnswer::Open(EditForm {
            workspace: conversation.workspace.clone(),
            language,
            proposal: proposal.id,
            title: texts::keeper::edit_title(language),
            label: texts::keeper::edit_label(language),
            submit: texts::console::say_this(language),
            cancel: texts::keeper::edit_cancel(language),
            draft,
            max_length: self.lengths.form,
        }))
    }

    /// Posts the submitted text in place of the proposed one. The user's permission is checked again, and a repeated
    /// submission posts only once. Returns what to tell the user, unless the question will.
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
        let language = self.language_in(&form.workspace, &found.conversation.channel).await?;
        if utf16_length(&form.text) > self.lengths.form {
            return Ok(Some(texts::keeper::too_long(language)));
        }
        let Ok(text) = parse_text(&form.text) else {
            return Ok(Some(texts::keeper::no_text(language)));
        };
        let choice = ProposalChoice::Edit(split(&text, self.lengths.post));
        self.decide(&found, &form.user, choice).await
    }
}
