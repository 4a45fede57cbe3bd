//! Listen: sends a recording to a model that transcribes it.

use std::sync::Arc;

use aizuchi_llm::prompt::recording::AudioRecording;
use aizuchi_model::chat::attachment::{Attachment, AttachmentContent, UnheardReason};
use aizuchi_model::chat::{Message, is_blank, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::decision::{Attempt, Usage};
use jiff::{SignedDuration, Timestamp};

use crate::agent::files::content::shorten;
use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, Worker};

/// The maximum length of a transcript, in characters.
const MAX_TRANSCRIPT_CHARS: usize = 3_000;
/// With less time left, a recording waits for the next answer: the call would probably be paid for in vain.
const MIN_TIME: SignedDuration = SignedDuration::from_secs(10);

impl Worker<'_> {
    /// Transcribes a recording. Returns `None` if that is not possible now.
    pub(super) async fn listen(
        &self,
        context: &Context,
        message: &Arc<Message>,
        attachment: &Attachment,
        deadline: Timestamp,
        calls: &mut Calls<'_>,
    ) -> Result<Option<AttachmentContent>, StepError> {
        let settings = &self.settings.files;
        let unheard = |reason| Ok(Some(AttachmentContent::Unheard(reason)));
        let max_seconds = settings.max_recording_seconds;
        let is_too_long = attachment.seconds.is_some_and(|seconds| seconds > max_seconds);
        if is_too_long || attachment.size_bytes > settings.max_recording_bytes as u64 {
            return unheard(UnheardReason::TooLong);
        }
        let max_bytes = settings.max_recording_bytes;
        let fetched = self.fetch_file(message, attachment, max_bytes, deadline, calls).await?;
        let Some(bytes) = fetched else { return Ok(None) };
        match AudioRecording::new(bytes, attachment.seconds) {
            None => unheard(UnheardReason::NoRecording),
            Some(recording) if recording.seconds > u64::from(max_seconds) => {
                unheard(UnheardReason::TooLong)
            }
            Some(recording) => self.transcribe(context, message, recording, deadline, calls).await,
        }
    }

    async fn transcribe(
        &self,
        context: &Context,
        message: &Arc<Message>,
        recording: AudioRecording,
        deadline: Timestamp,
        calls: &mut Calls<'_>,
    ) -> Result<Option<AttachmentContent>, StepError> {
        let left = deadline.duration_since(self.now()).min(self.settings.model_timeout);
        let mind = self.minds.transcription.as_ref();
        let Some(mind) = mind.filter(|_| left >= MIN_TIME.min(self.settings.model_timeout)) else {
            return Ok(None);
        };
        let options = self.prompt_options(mind);
        let prompts = self.prompt_builder.read();
        let prompt = prompts.transcribe(&mind.persona, context, message, recording, &options);
        let answer = self.call_model_within(left, mind, &prompt, calls).await?;
        let text = shorten(&to_single_line(&answer.text), MAX_TRANSCRIPT_CHARS);
        Ok(Some(match is_blank(&text) {
            true => AttachmentContent::Unheard(UnheardReason::NoWords),
            false => AttachmentContent::Transcript(text.into()),
        }))
    }
}

/// Whether any of these calls may have been charged.
pub(super) fn has_paid(attempts: &[Attempt]) -> bool {
    attempts.iter().any(|attempt| attempt.usage != Usage::default())
}
