//! What is replayed, imported and measured.

use std::collections::HashSet;

use aizuchi::eval::case;
use aizuchi::replay::history::{ChannelSource, History};
use aizuchi::replay::input::{InputOptions, PrivateChannels, Recording};
use aizuchi::replay::to_import;
use aizuchi_core::chat::{MessageId, WorkspaceId};
use aizuchi_core::persona::Language;
use aizuchi_import::kotonoha::dump::{self, KotonohaOptions, MentionSessions};
use jiff::tz::TimeZone;

/// A recording: one JSON object a line.
pub fn replay_lines(bytes: &[u8]) {
    let Ok(history) = History::read(bytes) else { return };
    for channel in &history.channels {
        let times = channel.messages.iter().map(|message| message.at());
        assert!(times.is_sorted(), "{channel:?}");
    }
}

/// An export of Discord, Matrix or Mattermost. A bad record is named without its text.
pub fn replay_exports(bytes: &[u8]) {
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::Ja,
    };
    let Ok(recording) = Recording::read(&mut &*bytes, "export", &options) else { return };
    let mut messages = 0;
    for index in 0..recording.channel_count() {
        let Ok(channel) = recording.channel(index) else { panic!("channel {index} is lost") };
        assert!(channel.messages.is_sorted_by_key(|message| message.at()), "{channel:?}");
        messages += channel.messages.len() as u64;
    }
    assert_eq!(messages, recording.messages());
    for bad in recording.named_bad_records() {
        assert!(bad.len() < 200, "{bad}");
    }
}

/// An export of Aizuchi's own. Each message is imported once, where the export says.
pub fn export_lines(bytes: &[u8]) {
    let Ok(mut recorded) = to_import::read(bytes) else { return };
    recorded.skipped();
    for (workspace, exported) in std::mem::take(&mut recorded.exported) {
        let data = to_import::from_export(exported, &workspace, None);
        let messages = data.messages.iter().chain(&data.private_messages);
        let mut ids = HashSet::new();
        for imported in messages {
            let conversation = &imported.message.conversation;
            assert_eq!(conversation.workspace, workspace);
            let id = (&conversation.channel, &imported.message.id);
            assert!(ids.insert(id), "{id:?} is there twice");
        }
    }
}

/// A dump of kotonoha's database. No two messages of a server have the same id.
pub fn kotonoha_dump(bytes: &[u8]) {
    let options = KotonohaOptions {
        workspace: Some(WorkspaceId::new("discord:1")),
        persona: None,
        persona_name: "Mio".to_owned(),
        zone: TimeZone::UTC,
        mentions: MentionSessions::OfFirstChannel,
    };
    let Ok(read) = dump::read(bytes, &options) else { return };
    for data in read {
        let mut ids: HashSet<&MessageId> = HashSet::new();
        for imported in &data.messages {
            let id = &imported.message.id;
            assert!(ids.insert(id), "{id} is there twice");
        }
    }
}

/// Labeled cases. An error does not repeat their text.
pub fn eval_cases(bytes: &[u8]) {
    drop(case::read(&[("cases.jsonl".to_owned(), bytes.to_vec())]));
}
