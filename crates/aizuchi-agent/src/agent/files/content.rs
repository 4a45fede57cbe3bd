//! What all file readers share: fetching a file, and interpreting a model's refusal.

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{Message, Visibility};
use aizuchi_model::context::Context;
use aizuchi_model::decision::model_problem::ModelProblem;
use jiff::Timestamp;
use tracing::debug;

use crate::agent::model_call::unless_superseded;
use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, Worker};

/// The maximum length of a kept excerpt, in characters.
pub(super) const MAX_EXCERPT_CHARS: usize = 3_000;

impl Worker<'_> {
    /// Fetches the content of a file. Returns `None` if it is not available now.
    pub(super) async fn fetch_file(
        &self,
        message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
        deadline: Timestamp,
        calls: &Calls<'_>,
    ) -> Result<Option<Vec<u8>>, StepError> {
        let Ok(platform) = self.platforms.for_workspace(&message.conversation.workspace) else {
            return Ok(None);
        };
        let left = deadline.duration_since(self.now()).min(self.settings.post_timeout);
        if !left.is_positive() {
            return Ok(None);
        }
        let fetching = platform.fetch_file(message, attachment, max_bytes);
        let fetching = self.clock.timeout(left, fetching);
        let fetched = unless_superseded(calls.superseded, fetching).await?;
        let id = &*attachment.id;
        match fetched {
            Ok(Ok(bytes)) => return Ok(Some(bytes)),
            Ok(Err(error)) => debug!(file = id, %error, "a file could not be fetched"),
            Err(_timed_out) => debug!(file = id, "a file could not be fetched in time"),
        }
        Ok(None)
    }
}

/// Whether every member may read a message. What was heard in private stays private, even if the channel is public now.
pub(super) fn is_public(context: &Context, message: &Message) -> bool {
    context.visibility == Visibility::Public && !context.restricted_messages.contains(&message.id)
}

/// Whether a model's permanent refusal is about the file, so that the model would take another one.
pub(super) fn is_about_file(problem: Option<ModelProblem>) -> bool {
    match problem {
        None | Some(ModelProblem::RequestRejected | ModelProblem::Garbled) => true,
        Some(
            ModelProblem::Unreachable
            | ModelProblem::TimedOut
            | ModelProblem::KeyRefused
            | ModelProblem::UnknownModel
            | ModelProblem::NoFunds
            | ModelProblem::Overloaded
            | ModelProblem::ServerFailed,
        ) => false,
    }
}

pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
