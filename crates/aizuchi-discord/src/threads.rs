//! Threads that a mention opens, so that the talk goes on there and need not mention anybody. One that is
//! opened below a line has the line's id: opening it twice is opening it once, and whoever looks for a post
//! knows where it would be.

use serde_json::json;
use tracing::info;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::identity::direct_workspace;
use crate::post::post_error;
use crate::settings::ThreadPolicy;
use aizuchi_core::chat::{MessageId, to_single_line};
use aizuchi_core::event::OutboxItem;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::PlatformError;

/// Discord lets a thread's name be longer; a list of them is read at a glance.
const MAX_NAME_CHARS: usize = 50;
/// Discord's number for a thread that is there already.
const THREAD_ALREADY_EXISTS: u64 = 160_004;

impl DiscordPlatform {
    /// The line below which an answer opens a thread, or would have.
    pub(super) async fn thread_starter(&self, piece: &OutboxItem) -> Option<MessageId> {
        let place = &piece.conversation;
        let is_command = piece.metadata.only_for.is_some();
        if place.thread.is_some() || place.workspace == direct_workspace() || is_command {
            return None;
        }
        let asked = piece.metadata.newest_owed()?;
        let name = self.channel_name(place).await;
        let rule = self.settings.threads.for_channel(place.channel.as_str(), name.as_deref());
        (rule == ThreadPolicy::Auto).then(|| asked.clone())
    }

    /// Opens a thread below a line. Where there can be none, the answer stands beside the line.
    pub(super) async fn open_thread(
        &self,
        piece: &OutboxItem,
        asked: &MessageId,
    ) -> Result<Option<MessageId>, PlatformError> {
        let place = &piece.conversation;
        let line = self.archive.message(&place.workspace, &place.channel, asked).await;
        let text = line.ok().flatten().map(|line| line.message.text.clone()).unwrap_or_default();
        let persona = &self.persona;
        let mut body = json!({ "name": thread_name(&text, &persona.name, persona.language) });
        if let Some(minutes) = self.settings.threads.archive_minutes {
            body["auto_archive_duration"] = minutes.into();
        }
        let path = format!("/channels/{}/messages/{asked}/threads", place.channel);
        match self.call(&ApiRequest::post(path, body)).await {
            Ok(_) => Ok(Some(asked.clone())),
            Err(error) if error.code() == Some(THREAD_ALREADY_EXISTS) => Ok(Some(asked.clone())),
            Err(error @ DiscordApiError::Refused(_)) => {
                info!(channel = %place.channel, "no thread can be opened there: {error}");
                Ok(None)
            }
            // It may be open now, and will be asked for again: nothing was said yet.
            Err(DiscordApiError::OutcomeUnknown(why)) => {
                Err(PlatformError::Busy { why, retry_after: None })
            }
            Err(error @ (DiscordApiError::RateLimited(_) | DiscordApiError::Unreachable(_))) => {
                Err(post_error(error))
            }
        }
    }
}

/// The first sentence of a question, without the name that it calls.
fn thread_name(text: &str, persona: &str, language: Language) -> String {
    let called = format!("@{persona}");
    let text = to_single_line(&text.replace(&format!("{called}さん"), " ").replace(&called, " "));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_start_matches([',', '、', ':', '：', ' ']);
    let ends = words.char_indices().find(|(at, mark)| {
        let behind = &words[at + mark.len_utf8()..];
        let is_stop = behind.is_empty() || behind.starts_with([' ', '.', '!', '?']);
        matches!(mark, '。' | '！' | '？') || (matches!(mark, '.' | '!' | '?') && is_stop)
    });
    let sentence = ends.map_or(words, |(at, _)| &words[..at]);
    let mut letters = sentence.chars();
    let mut name: String = letters.by_ref().take(MAX_NAME_CHARS).collect();
    if !letters.as_str().trim().is_empty() {
        name.truncate(name.trim_end().len());
        name.push('…');
    }
    if name.is_empty() { language.pick("A talk", "会話").to_owned() } else { name }
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
            ("@Aizuchi", "A talk"),
            ("?!", "A talk"),
            (&"long ".repeat(20), "long long long long long long long long long long…"),
        ] {
            assert_eq!(thread_name(text, "Aizuchi", Language::En), expected, "{text:?}");
        }
    }
}
