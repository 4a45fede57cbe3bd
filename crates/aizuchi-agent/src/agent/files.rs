//! Reads the files that a reply may be about before the persona speaks, once per file. A picture goes to a vision
//! model, a recording to a transcription model, and a text file is read as it is. The contents are part of the outcome,
//! and the store keeps them with the message.

mod content;
mod pdf;
mod recording;

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_llm::prompt::picture::Picture;
use aizuchi_model::chat::attachment::{
    Attachment, AttachmentContent, AttachmentKind, ReadAttachment, UnheardReason, picture_type,
};
use aizuchi_model::chat::{AuthorKind, Message, is_blank, to_single_line, to_visible_text};
use aizuchi_model::context::Context;
use jiff::{SignedDuration, Timestamp};

use crate::agent::files::content::{MAX_EXCERPT_CHARS, is_about_file, is_public, shorten};
use crate::agent::files::recording::has_paid;
use crate::agent::reserve_budget::Calls;
use crate::agent::{Mind, Minds, StepError, Worker};
use crate::web_access::charset;

/// How many of the target's newest messages are checked for files, besides those that are answered.
const LOOKBACK: usize = 10;
/// The maximum number of text files and PDFs that are opened for one reply.
const MAX_TEXT_FILES: usize = 3;
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_500;

/// Which of the files that users send are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSettings {
    /// Whether the vision model gets pictures from private channels and direct messages.
    pub describes_private: bool,
    /// The maximum number of pictures that are described for one reply.
    pub max_pictures: usize,
    pub max_picture_bytes: usize,
    /// Whether the transcription model gets recordings from private channels and direct messages.
    pub transcribes_private: bool,
    /// The maximum number of recordings that are transcribed for one reply.
    pub max_recordings: usize,
    pub max_recording_bytes: usize,
    pub max_recording_seconds: u32,
    /// The maximum size of text files that are opened.
    pub max_text_bytes: usize,
    /// The maximum size of PDFs that are opened.
    pub max_pdf_bytes: usize,
    /// How long reading files may delay a reply.
    pub time_limit: SignedDuration,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            describes_private: false,
            max_pictures: 3,
            max_picture_bytes: 5_000_000,
            transcribes_private: false,
            max_recordings: 2,
            max_recording_bytes: 10_000_000,
            max_recording_seconds: 300,
            max_text_bytes: 1_000_000,
            max_pdf_bytes: 10_000_000,
            time_limit: SignedDuration::from_secs(30),
        }
    }
}

impl Worker<'_> {
    /// Reads the files that a reply may be about, and adds their contents to the context and to `read`. Files that
    /// cannot be read now stay unread, since the reply can do without them.
    pub(super) async fn read_files(
        &self,
        context: &mut Context,
        calls: &mut Calls<'_>,
        read: &mut Vec<ReadAttachment>,
    ) -> Result<(), StepError> {
        let deadline = self.now() + self.settings.files.time_limit;
        let mut failed = Vec::new();
        for (message, attachment) in self.files_to_read(context) {
            let kind = attachment.kind();
            // The failed call is in the ledger, and the next one would probably end the same way.
            if failed.contains(&kind) {
                continue;
            }
            let calls_before = calls.attempts.len();
            let found = self.read_file(context, &message, &attachment, deadline, calls).await;
            if found.is_err() {
                failed.push(kind);
            }
            let is_paid = has_paid(&calls.attempts[calls_before..]);
            let content = match found {
                Ok(Some(content)) => content,
                Ok(None) => continue,
                Err(StepError::Superseded) => return Err(StepError::Superseded),
                // Retried for every answer, the call would be paid for each time.
                Err(StepError::Permanent { problem, .. }) if is_about_file(problem) => {
                    failure_of(kind)
                }
                Err(StepError::Retryable { .. }) if is_paid && kind == AttachmentKind::Audio => {
                    failure_of(kind)
                }
                Err(_) => continue,
            };
            let (message, attachment) = (message.id.clone(), attachment.id.clone());
            let file = ReadAttachment { message, attachment, content };
            context.add_read(&file);
            read.push(file);
        }
        Ok(())
    }

    /// Returns the files that have not been read: those of the messages to answer first, then the newest. Text files
    /// come first, since they do not wait for a model, and pictures last, since a recording takes the longest.
    fn files_to_read(&self, context: &Context) -> Vec<(Arc<Message>, Attachment)> {
        let FileSettings {
            max_pictures,
            max_picture_bytes,
            describes_private,
            max_recordings,
            transcribes_private,
            max_text_bytes,
            ..
        } = self.settings.files;
        let fits = |file: &Attachment, max_bytes: usize| file.size_bytes <= max_bytes as u64;
        let Minds { vision, transcription, .. } = &self.minds;
        let may_be_seen =
            |message: &Message| may_go_to(vision.as_ref(), describes_private, context, message);
        let may_be_heard = |message: &Message| {
            may_go_to(transcription.as_ref(), transcribes_private, context, message)
        };
        // The answer itself needs calls, too.
        let spare_calls = self.rulebook.calls_per_decision.map(|most| most / 4);
        let spare_calls = spare_calls.and_then(|calls| usize::try_from(calls).ok());
        let mut spare_calls = spare_calls.unwrap_or(usize::MAX);
        let target = context.target_messages();
        let parent = context.conversation.thread.as_ref().and_then(|_| target.first());
        let newest = target.iter().rev().take(LOOKBACK);
        let messages = context.messages_to_answer().into_iter().chain(newest).chain(parent);
        let (mut pictures, mut recordings, mut texts) = (0, 0, 0);
        let mut seen = HashSet::new();
        let mut files = Vec::new();
        for message in messages {
            if message.author.kind == AuthorKind::Persona || !seen.insert(&message.id) {
                continue;
            }
            for attachment in message.attachments.iter().filter(|file| file.is_unread()) {
                let is_wanted = match attachment.kind() {
                    AttachmentKind::Picture
                        if fits(attachment, max_picture_bytes) && may_be_seen(message) =>
                    {
                        pictures += 1;
                        pictures <= max_pictures && take_one(&mut spare_calls)
                    }
                    // Whatever its size, so that one that is too long is recorded as such.
                    AttachmentKind::Audio if may_be_heard(message) => {
                        recordings += 1;
                        recordings <= max_recordings && take_one(&mut spare_calls)
                    }
                    AttachmentKind::Text
                        if max_text_bytes > 0 && fits(attachment, max_text_bytes) =>
                    {
                        texts += 1;
                        texts <= MAX_TEXT_FILES
                    }
                    AttachmentKind::Other if self.may_read_pdf(attachment) => {
                        texts += 1;
                        texts <= MAX_TEXT_FILES
                    }
                    AttachmentKind::Picture
                    | AttachmentKind::Text
                    | AttachmentKind::Audio
                    | AttachmentKind::Video
                    | AttachmentKind::Other => false,
                };
                if is_wanted {
                    files.push((message.clone(), attachment.clone()));
                }
            }
        }
        files.sort_by_key(|(_, file)| match file.kind() {
            AttachmentKind::Text | AttachmentKind::Other => 0,
            AttachmentKind::Audio => 1,
            AttachmentKind::Picture | AttachmentKind::Video => 2,
        });
        files
    }

    /// Reads a file. Returns `None` if that is not possible now.
    async fn read_file(
        &self,
        context: &Context,
        message: &Arc<Message>,
        attachment: &Attachment,
        deadline: Timestamp,
        calls: &mut Calls<'_>,
    ) -> Result<Option<AttachmentContent>, StepError> {
        let settings = &self.settings.files;
        let kind = attachment.kind();
        if kind == AttachmentKind::Audio {
            return self.listen(context, message, attachment, deadline, calls).await;
        }
        if kind == AttachmentKind::Other {
            return self.read_pdf(message, attachment, deadline, calls).await;
        }
        let is_picture = kind == AttachmentKind::Picture;
        let max_bytes =
            if is_picture { settings.max_picture_bytes } else { settings.max_text_bytes };
        let fetched = self.fetch_file(message, attachment, max_bytes, deadline, calls).await?;
        let Some(bytes) = fetched else { return Ok(None) };
        if !is_picture {
            let excerpt = excerpt(&bytes).map(|text| AttachmentContent::Excerpt(text.into()));
            return Ok(Some(excerpt.unwrap_or(AttachmentContent::Unreadable)));
        }
        let Some(media_type) = picture_type(&bytes) else {
            return Ok(Some(AttachmentContent::Unreadable));
        };
        let picture = Picture { media_type, bytes: bytes.into() };
        self.describe(context, message, picture, deadline, calls).await
    }

    /// Asks the vision model to describe a picture.
    async fn describe(
        &self,
        context: &Context,
        message: &Arc<Message>,
        picture: Picture,
        deadline: Timestamp,
        calls: &mut Calls<'_>,
    ) -> Result<Option<AttachmentContent>, StepError> {
        let left = deadline.duration_since(self.now()).min(self.settings.model_timeout);
        let Some(mind) = self.minds.vision.as_ref().filter(|_| left.is_positive()) else {
            return Ok(None);
        };
        let options = self.prompt_options(mind);
        let prompts = self.prompt_builder.read();
        let prompt = prompts.describe(&mind.persona, context, message, picture, &options);
        let answer = self.call_model_within(left, mind, &prompt, calls).await?;
        let text = shorten(&to_single_line(&answer.text), MAX_DESCRIPTION_CHARS);
        Ok(Some(match is_blank(&text) {
            true => AttachmentContent::Unreadable,
            false => AttachmentContent::Description(text.into()),
        }))
    }
}

/// Returns the content that is stored for a file that a model could not read. Another call would be paid for again.
fn failure_of(kind: AttachmentKind) -> AttachmentContent {
    match kind {
        AttachmentKind::Audio => AttachmentContent::Unheard(UnheardReason::Failed),
        AttachmentKind::Picture
        | AttachmentKind::Video
        | AttachmentKind::Text
        | AttachmentKind::Other => AttachmentContent::Unreadable,
    }
}

/// Whether a model exists that the files of a message may be sent to.
fn may_go_to(
    model: Option<&Mind>,
    allows_private: bool,
    context: &Context,
    message: &Message,
) -> bool {
    model.is_some() && (allows_private || is_public(context, message))
}

/// Decrements `left`. Returns whether it was above zero.
fn take_one(left: &mut usize) -> bool {
    let has_one = *left > 0;
    *left = left.saturating_sub(1);
    has_one
}

/// Returns the beginning of a text file, or `None` if the file is not text or has no text.
fn excerpt(bytes: &[u8]) -> Option<String> {
    let text = charset::decode_text(bytes).filter(|text| !text.contains('\0'))?;
    let text = to_visible_text(&text);
    (!is_blank(&text)).then(|| shorten(text.trim(), MAX_EXCERPT_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_beginning_of_a_text() {
        let long = "あ".repeat(MAX_EXCERPT_CHARS + 1);
        let shortened = format!("{}…", "あ".repeat(MAX_EXCERPT_CHARS));
        for (bytes, expected) in [
            ("\u{feff}a,b\r\n1,2\n\n".as_bytes(), Some("a,b\n1,2")),
            (long.as_bytes(), Some(&*shortened)),
            ("a\0b".as_bytes(), None),
            (" \n\u{200b}".as_bytes(), None),
            (&[0xff, 0xfe, 0x41][..], None),
            (&b"\xff\xfea\0,\0b\0"[..], Some("a,b")),
            (&b"\xfe\xff\x76\xf8"[..], Some("相")),
            (&b"\x91\x8a\x92\xc6\x82\xf0,1"[..], Some("相槌を,1")),
            // Not everything that could be Shift_JIS is.
            (&b"r\xe9sum"[..], None),
            (&b"\x80\xa0\xff\xfd"[..], None),
        ] {
            assert_eq!(excerpt(bytes).as_deref(), expected);
        }
    }
}
