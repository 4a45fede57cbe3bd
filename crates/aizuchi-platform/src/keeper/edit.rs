//! Editing a proposal: the form that a keeper gets, and its submission. The submitted text is the keeper's own, links
//! included; as with every post, the adapter prevents mentions of everyone.

use std::sync::Arc;

use aizuchi_actions::authorization::Actor;
use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_actions::refusal::ActionError;
use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::decision::proposal::{Proposal, ProposalId, ProposalState};
use aizuchi_model::persona::Language;
use aizuchi_model::split::{split, utf16_length};
use aizuchi_model::texts;
use aizuchi_store::refusal_reason::RefusalReason;

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
    pub(super) async fn edit_form(&self, proposal: &Proposal) -> Result<ClickAnswer, ActionError> {
        let conversation = &proposal.conversation;
        let language = self.language_in(&conversation.workspace, &conversation.channel).await?;
        let draft = match (proposal.state, &proposal.text) {
            (ProposalState::Open, Some(draft)) => draft.clone(),
            (ProposalState::Open | ProposalState::Lapsed, _) => {
                return Err(RefusalReason::ProposalLapsed.into());
            }
            (
                ProposalState::Approved
                | ProposalState::Edited
                | ProposalState::Declined
                | ProposalState::Never,
                _,
            ) => return Err(RefusalReason::ProposalDecided.into()),
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
        let subject = QuestionSubject::Proposal(form.proposal);
        match self.try_submit(&form, subject).await {
            Ok(told) => told,
            Err(error) => Some(self.told(&form.workspace, subject, error).await),
        }
    }

    async fn try_submit(
        &self,
        form: &FilledForm,
        subject: QuestionSubject,
    ) -> Result<Option<&'static str>, ActionError> {
        let question = self.authorization().question(Some(&form.workspace), subject).await?;
        let (workspace, channel) = question.place();
        self.authorization().require_decider(Actor::User(&form.user), (workspace, channel)).await?;
        let language = self.language_in(workspace, channel).await?;
        if utf16_length(&form.text) > self.lengths.form {
            return Ok(Some(texts::keeper::too_long(language)));
        }
        let Ok(text) = parse_text(&form.text) else {
            return Ok(Some(texts::keeper::no_text(language)));
        };
        let posts = split(&text, self.lengths.post);
        self.decide(&question, &form.user, (Choice::Edit, posts)).await?;
        Ok(None)
    }
}
