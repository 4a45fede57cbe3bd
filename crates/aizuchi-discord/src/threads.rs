//! Threads opened by a mention, in which the conversation continues without mentions. A thread opened from a message
//! has the message's id, so opening it is idempotent, and a lost post can be looked up in it.

use aizuchi_model::chat::{MessageId, to_single_line};
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::texts;
use serde_json::json;
use tracing::info;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::identity::direct_workspace;
use crate::settings::ThreadPolicy;

/// Shorter than Discord's limit, so that a list of threads stays readable.
const MAX_NAME_CHARS: usize = 50;
/// Discord's error code for a message that already has a thread.
const THREAD_ALREADY_EXISTS: u64 = 160_004;

impl DiscordPlatform {
    /// Returns the message from which an answer opens a thread, or would have opened it.
    pub(super) async fn thread_starter(&self, item: &OutboxItem) -> Option<MessageId> {
        let conversation = &item.conversation;
        let is_command = item.metadata.only_for.is_some();
        if conversation.thread.is_some()
            || conversation.workspace == direct_workspace()
            || is_command
        {
            return None;
        }
        let asked = item.metadata.newest_owed()?;
        let name = self.channel_name(conversation).await;
        let policy =
            self.settings.threads.for_channel(conversation.channel.as_str(), name.as_deref());
        (policy == ThreadPolicy::Auto).then(|| asked.clone())
    }

    /// Opens a thread from a message. Returns `None` if Discord refuses: the answer then goes to the top level.
    pub(super) async fn open_thread(
        &self,
        item: &OutboxItem,
        asked: &MessageId,
    ) -> Result<Option<MessageId>, PlatformError> {
        let conversation = &item.conversation;
        let message =
            self.archive.message(&conversation.workspace, &conversation.channel, asked).await;
        let text =
            message.ok().flatten().map(|message| message.message.text.clone()).unwrap_or_default();
        let persona = &self.persona;
        let mut body = json!({ "name": thread_name(&text, &persona.name, persona.language) });
        if let Some(minutes) = self.settings.threads.archive_minutes {
            body["auto_archive_duration"] = minutes.into();
        }
        let path = format!("/channels/{}/messages/{asked}/threads", conversation.channel);
        match self.call(&ApiRequest::post(path, body)).await {
            Ok(_) => Ok(Some(asked.clone())),
            Err(error) if error.refusal().is_some_and(|it| it.code == THREAD_ALREADY_EXISTS) => {
                Ok(Some(asked.clone()))
            }
            Err(error @ DiscordApiError::Refused(_)) => {
                info!(platform = "discord", channel = %conversation.channel, %error, "could not open a thread");
                Ok(None)
            }
            // The thread may be open, but nothing was posted, so retrying is safe.
            Err(error @ (DiscordApiError::OutcomeUnknown(_) | DiscordApiError::Malformed(_))) => {
                Err(PlatformError::Busy { why: error.to_string(), retry_after: None })
            }
            Err(error @ (DiscordApiError::RateLimited(_) | DiscordApiError::Unreachable(_))) => {
                Err(error.of_post())
            }
        }
    }
}

/// Returns the first sentence of a question, without the mention of the persona.
fn thread_name(text: &str, persona: &str, language: Language) -> String {
    let mention = format!("@{persona}");
    let text = to_single_line(&text.replace(&format!("{mention}さん"), " ").replace(&mention, " "));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_start_matches([',', '、', ':', '：', ' ']);
    let ends = text.char_indices().find(|(at, mark)| {
        let after = &text[at + mark.len_utf8()..];
        let is_stop = after.is_empty() || after.starts_with([' ', '.', '!', '?']);
        matches!(mark, '。' | '！' | '？') || (matches!(mark, '.' | '!' | '?') && is_stop)
    });
    let sentence = ends.map_or(text, |(at, _)| &text[..at]);
    let mut characters = sentence.chars();
    let mut name: String = characters.by_ref().take(MAX_NAME_CHARS).collect();
    if !characters.as_str().trim().is_empty() {
        name.truncate(name.trim_end().len());
        name.push('…');
    }
    if name.is_empty() { texts::discord::unnamed_thread(language).to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_after_its_question() {
        for (text, expected) in [
            ("@Aizuchi, what is in  the\nbox? And why?", "what is in the box"),
            ("@Aizuchiさん、京都の天気は？教えて", "京都の天気は"),
            ("see v1.2 of it", "see v1.2 of it"),
            ("@Aizuchi", "Conversation"),
            ("?!", "Conversation"),
            (&"long ".repeat(20), "long long long long long long long long long long…"),
        ] {
            assert_eq!(thread_name(text, "Aizuchi", Language::En), expected, "{text:?}");
        }
    }
}
