//! The files of messages: parses their metadata and fetches their content.

use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::platform::PlatformError;
use serde_json::Value;

use crate::SlackPlatform;
use crate::api::{NO_ACCESS, SlackApiError};
use crate::from_slack::{non_empty_str, parse_id};

/// The parser's limit. Users can send at most ten files at once.
const MAX_FILES: usize = 20;
const MAX_URL_BYTES: usize = 2_000;

/// Parses the files of a message. Skips deleted files and entries of an unexpected shape.
pub fn parse_files(message: &Value) -> Vec<Attachment> {
    let files = message["files"].as_array().into_iter().flatten();
    files.filter_map(parse_file).take(MAX_FILES).collect()
}

fn parse_file(file: &Value) -> Option<Attachment> {
    let id = parse_id(&file["id"])?;
    if file["mode"] == "tombstone" {
        return None;
    }
    let text = |key: &str| non_empty_str(&file[key]).unwrap_or_default();
    let name = [text("name"), text("title")].into_iter().find(|name| !name.is_empty());
    let size_bytes = file["size"].as_u64().unwrap_or(0);
    // A voice clip may have a video media type, because both use the same container formats.
    let media_type = match (text("mimetype"), &file["subtype"]) {
        (media_type, subtype) if subtype == "slack_audio" && !media_type.starts_with("audio/") => {
            "audio/mp4"
        }
        (media_type, _) => media_type,
    };
    let seconds = file["duration_ms"].as_f64().map(|milliseconds| milliseconds / 1000.0);
    let attachment =
        Attachment::new(id, name.unwrap_or_default(), media_type, size_bytes).with_seconds(seconds);
    let url = non_empty_str(&file["url_private"]).filter(|url| url.len() <= MAX_URL_BYTES);
    Some(Attachment { url: url.map(Arc::from), ..attachment.with_alt_text(text("alt_txt")) })
}

impl SlackPlatform {
    /// Fetches the content of a file of at most `max_bytes`.
    pub(super) async fn fetch_content(
        &self,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        let Some(url) = &attachment.url else {
            return Err(PlatformError::Refused("Slack does not say where the file is".to_owned()));
        };
        let token = self.settings.bot_token.read();
        let file =
            self.api.fetch_file(&token, url, max_bytes).await.map_err(SlackApiError::of_post)?;
        // If the app may not read a file, Slack returns a sign-in page instead.
        if file.is_page && &*attachment.media_type != "text/html" {
            return Err(SlackApiError::Refused(NO_ACCESS.to_owned()).of_post());
        }
        Ok(file.bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_slack_tells_of_a_file_is_kept_and_the_rest_is_skipped() {
        let message = json!({"text": "see", "files": [
            {"id": "F1", "name": "plan.png", "mimetype": "image/png", "size": 7, "alt_txt": "our\nplan",
                "url_private": "https://files.slack.com/files-pri/T1-F1/plan.png"},
            {"id": "F2", "title": "notes", "mimetype": 5, "size": "big"},
            {"id": "F4", "name": "audio_message.m4a", "mimetype": "video/mp4", "subtype": "slack_audio",
                "duration_ms": 3200},
            {"id": "F5", "name": "song.mp3", "mimetype": "audio/mpeg", "duration_ms": "long"},
            {"id": "F3", "mode": "tombstone"},
            {"name": "without an id"},
            "odd",
        ]});
        let plan = Attachment {
            url: Some("https://files.slack.com/files-pri/T1-F1/plan.png".into()),
            ..Attachment::new("F1", "plan.png", "image/png", 7).with_alt_text("our plan")
        };
        let clip = Attachment::new("F4", "audio_message.m4a", "audio/mp4", 0);
        assert_eq!(
            parse_files(&message),
            [
                plan,
                Attachment::new("F2", "notes", "", 0),
                clip.with_seconds(Some(4.0)),
                Attachment::new("F5", "song.mp3", "audio/mpeg", 0),
            ]
        );
        for odd in [json!({"files": "none"}), json!({}), json!([]), json!("text")] {
            assert_eq!(parse_files(&odd), []);
        }
    }
}
