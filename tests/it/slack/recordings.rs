//! The lifecycle of a voice clip on Slack.

use aizuchi_fakes::file::FakeFile;
use aizuchi_fakes::slack::message::NewFakeMessage;
use serde_json::{Value, json};

use crate::slack::harness::SlackHarness;

const OGG: &[u8] = b"OggS\0\x04\0\xee\x02\0\0\0\0\0sound";

/// The clip is fetched with the token, transcribed once, and becomes part of the prompt. A clip in a private channel is
/// neither fetched nor transcribed.
#[tokio::test]
async fn a_voice_clip_is_heard_when_somebody_asks_about_it() {
    let harness = SlackHarness::new().await;
    harness.add(&format!(
        "  transcription:\n    model_id: openai/whisper-1\n    client_args: {{api_key: sk-ears, api_base: '{}/v1'}}\n\
         models:\n  minute_prices: {{openai/whisper-1: 0.006}}\n",
        harness.model.base
    ));
    let program = harness.start().await;
    let sends = |channel: &str| {
        let mut clip = harness.slack.upload_file(FakeFile::new("clip.ogg", "video/mp4", OGG));
        clip["subtype"] = json!("slack_audio");
        clip["duration_ms"] = json!(3_200);
        let text = format!("<@{}> listen", harness.bot);
        let message = NewFakeMessage::new(channel, &harness.mio, &text);
        harness.slack.send_message_with(NewFakeMessage { files: vec![clip], ..message }).unwrap();
    };
    sends(&harness.attic);
    harness.wait_for_posts(1).await;
    let prompt = harness.prompt();
    assert!(prompt.contains("[audio “clip.ogg”, its content is unknown]"), "{prompt}");
    assert_eq!(harness.slack.downloads(), Vec::<String>::new());
    harness.will_say(&["The boat leaves at nine.", "Then hurry."]);
    sends(&harness.tea);
    assert_eq!(harness.wait_for_posts(2).await.remove(1).text, "Then hurry.");
    let prompt = harness.prompt();
    let line = "[audio “clip.ogg”, someone says: “The boat leaves at nine.”]";
    assert!(prompt.contains(line), "{prompt}");
    assert_eq!(harness.slack.downloads(), ["F00000002"]);
    let requests = harness.model.requests();
    let heard: Vec<&Value> = requests
        .iter()
        .filter(|request| request.path.ends_with("/audio/transcriptions"))
        .map(|request| &request.body)
        .collect();
    let expected = json!({
        "model": "whisper-1", "response_format": "json",
        "file": { "name": "recording.ogg", "type": "audio/ogg", "size": OGG.len() },
    });
    assert_eq!(heard, [&expected]);
    let kept = "SELECT count(*) FROM messages WHERE attachments LIKE '%leaves at nine%'";
    harness.until_kept(kept, 1).await;
    assert_eq!(program.stop(), Some(0));
}
