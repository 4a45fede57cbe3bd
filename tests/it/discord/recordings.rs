//! The lifecycle of a voice message on Discord.

use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::file::FakeFile;
use serde_json::json;

use crate::discord::harness::DiscordHarness;

const OGG: &[u8] = b"OggS\0\x04\0\xee\x02\0\0\0\0\0sound";

/// Its link has expired, so the message is fetched again for a new one. A recording that is declared too long is not
/// fetched.
#[tokio::test]
async fn a_voice_message_is_heard_when_somebody_asks_about_it() {
    let harness = DiscordHarness::new().await;
    harness.add(&format!(
        "  transcription:\n    model_id: groq/whisper-large-v3-turbo\n    client_args: {{api_key: gsk-ears, api_base: '{}/v1'}}\n",
        harness.model.base
    ));
    let program = harness.start().await;
    let base = harness.api.trim_end_matches("/api/v10");
    for (text, seconds) in [("first", 3.2), ("second", 400.0)] {
        let ogg = FakeFile::new("voice-message.ogg", "audio/ogg", OGG);
        let mut file = harness.discord.upload_file(base, harness.tea, ogg);
        file["waveform"] = json!("AAAA");
        file["duration_secs"] = json!(seconds);
        let message = NewFakeMessage::new(harness.tea, harness.mio, text);
        harness.says_so(NewFakeMessage { attachments: vec![file], ..message });
    }
    harness.until_line("second").await;
    harness.discord.expire_file_links();
    harness.will_say(&["The boat leaves at nine.", "At nine."]);
    harness.asks(harness.tea, harness.ren, "when does it leave?");
    assert_eq!(harness.posts(1).await.remove(0).text, "At nine.");
    let prompt = harness.prompt();
    for line in [
        "first\n[audio “voice-message.ogg”, someone says: “The boat leaves at nine.”]",
        "second\n[audio “voice-message.ogg”, it is too long to be listened to]",
    ] {
        assert!(prompt.contains(line), "{prompt}");
    }
    let kept = "SELECT count(*) FROM messages WHERE attachments LIKE '%too_long%'";
    harness.until_kept(kept, 1).await;
    assert_eq!(program.stop(), Some(0));
}
