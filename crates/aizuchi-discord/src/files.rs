//! The files of messages: parses their metadata and fetches their content. Links to files expire after a day, so the
//! message is fetched again for a new link.

use aizuchi_model::chat::Message;
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::platform::PlatformError;
use serde_json::Value;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::json::{array_at, id_str, non_empty_str};

/// The parser's limit. Users can send at most ten files at once, and forward as many.
const MAX_FILES: usize = 20;

/// Parses the files of a message and of the messages that it forwards. Parts of an unexpected shape are skipped.
pub fn parse_files(message: &Value) -> Vec<Attachment> {
    files_of(message).filter_map(parse_file).take(MAX_FILES).collect()
}

fn files_of(message: &Value) -> impl Iterator<Item = &Value> {
    let forwarded = array_at(message, "message_snapshots");
    let forwarded = forwarded.flat_map(|snapshot| array_at(&snapshot["message"], "attachments"));
    array_at(message, "attachments").chain(forwarded)
}

fn parse_file(file: &Value) -> Option<Attachment> {
    let id = id_str(&file["id"])?;
    let text = |key: &str| non_empty_str(&file[key]).unwrap_or_default();
    let name = [text("title"), text("filename")].into_iter().find(|name| !name.is_empty());
    // Discord always includes the waveform of a voice message.
    let media_type = match (text("content_type"), file["waveform"].is_string()) {
        (media_type, true) if !media_type.starts_with("audio/") => "audio/ogg",
        (media_type, _) => media_type,
    };
    let size_bytes = file["size"].as_u64().unwrap_or(0);
    let attachment = Attachment::new(id, name.unwrap_or_default(), media_type, size_bytes)
        .with_seconds(file["duration_secs"].as_f64());
    Some(attachment.with_alt_text(text("description")))
}

impl DiscordPlatform {
    /// Fetches the content of a file of at most `max_bytes`.
    pub(super) async fn fetch_content(
        &self,
        message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        let asked = self
            .call_on_message(
                &message.conversation,
                &message.id,
                message.id.as_str(),
                ApiRequest::get,
            )
            .await
            .map_err(DiscordApiError::of_read)?;
        let file = files_of(&asked).find(|file| file["id"] == *attachment.id);
        let Some(url) = file.and_then(|file| non_empty_str(&file["url"])) else {
            return Err(PlatformError::Refused("the message has this file no more".to_owned()));
        };
        self.api.fetch_file(url, max_bytes).await.map_err(DiscordApiError::of_post)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_discord_tells_of_a_file_is_kept_and_the_rest_is_skipped() {
        let message = json!({"content": "see",
            "attachments": [
                {"id": "7", "filename": "plan.png", "content_type": "image/png", "size": 9,
                    "description": "our\nplan", "url": "https://cdn.discordapp.com/attachments/1/7/plan.png?ex=1"},
                {"id": "8", "filename": "voice-message.ogg", "waveform": "AAA", "duration_secs": 3.2},
                {"id": "9", "title": "the plan", "filename": "the_plan.pdf", "size": "big"},
                {"filename": "without an id"},
                1,
            ],
            "message_snapshots": [{"message": {"attachments": [{"id": "10", "filename": "old.log"}]}}, 5],
        });
        assert_eq!(
            parse_files(&message),
            [
                Attachment::new("7", "plan.png", "image/png", 9).with_alt_text("our plan"),
                Attachment::new("8", "voice-message.ogg", "audio/ogg", 0).with_seconds(Some(4.0)),
                Attachment::new("9", "the plan", "", 0),
                Attachment::new("10", "old.log", "", 0),
            ]
        );
        for odd in [json!({"attachments": "none"}), json!({}), json!([]), json!("text")] {
            assert_eq!(parse_files(&odd), []);
        }
    }
}
