//! Targets for recordings that are replayed, imported and measured.

use std::collections::{HashMap, HashSet};

use aizuchi_import::input::{InputOptions, PrivateChannels, Recording};
use aizuchi_import::kotonoha::arranged::KotonohaArranged;
use aizuchi_import::kotonoha::dump::{self, KotonohaOptions, MentionSessions};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_import::to_import;
use aizuchi_import::to_import::arranged::Destination;
use aizuchi_model::chat::{Message, MessageId, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_past::eval::decide::item;
use jiff::tz::TimeZone;

/// Reads a recording: one JSON object per line.
pub fn replay_lines(bytes: &[u8]) {
    let options = InputOptions::default();
    let Ok(history) = Recording::read(&mut &*bytes, "lines", &options) else { return };
    for channel in &history.channels {
        let times = channel.rows.all().map(|row| row.at());
        assert!(times.is_sorted(), "{channel:?}");
    }
}

/// Reads an export of Discord. Errors about bad records must not contain their text.
pub fn replay_exports(bytes: &[u8]) {
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::Ja,
    };
    let Ok(recording) = Recording::read(&mut &*bytes, "export", &options) else { return };
    let mut messages = 0;
    for channel in &recording.channels {
        assert!(channel.rows.all().is_sorted_by_key(|row| row.at()), "{channel:?}");
        messages += channel.rows.len() as u64;
    }
    assert_eq!(messages, recording.messages());
    for bad in recording.bad_records.named() {
        assert!(bad.len() < 200, "{bad}");
    }
}

/// Reads an export of Aizuchi. Each message must be imported once, to where the export says, and what was private must
/// come first.
pub fn export_lines(bytes: &[u8]) {
    let few = SorterLimits { records: 3, runs: 2, ..SorterLimits::default() };
    let Ok(recorded) = to_import::read_within(bytes, few) else { return };
    let destination = |workspace: &WorkspaceId| Destination {
        source: Some(workspace.clone()),
        workspace: workspace.clone(),
        persona: None,
        forgotten: HashMap::new(),
    };
    let workspaces: Vec<WorkspaceId> = recorded.exported.keys().cloned().collect();
    let destinations = workspaces.iter().map(destination).collect();
    let Ok(mut arranged) = recorded.arrange(destinations, few, None) else {
        panic!("what was read is lost")
    };
    for (index, workspace) in workspaces.iter().enumerate() {
        let mut ids = HashSet::new();
        let mut was_public = false;
        for streamed in arranged.messages.of(index) {
            let Ok(streamed) = streamed else { panic!("a message of {workspace} is lost") };
            assert!(!(was_public && streamed.was_private), "a private message comes late");
            was_public = !streamed.was_private;
            let Message { conversation, id, .. } = streamed.message;
            assert_eq!(conversation.workspace, *workspace);
            assert!(ids.insert((conversation.channel, id.clone())), "{id:?} is there twice");
        }
    }
}

/// Reads a dump of kotonoha's database. No two messages of a server may have the same id.
pub fn kotonoha_dump(bytes: &[u8]) {
    let options = KotonohaOptions {
        workspace: Some(WorkspaceId::new("discord:1")),
        persona: None,
        persona_name: "Mio".to_owned(),
        zone: TimeZone::UTC,
        mentions: MentionSessions::OfFirstChannel,
    };
    let Ok(dump) = dump::read(bytes, options) else { return };
    let Ok(arranged) = dump.arrange(&HashMap::new(), SorterLimits::default(), None) else {
        panic!("what was read cannot be arranged")
    };
    let KotonohaArranged { data, mut messages, .. } = arranged;
    for index in 0..data.len() {
        let mut ids: HashSet<MessageId> = HashSet::new();
        for streamed in messages.of(index) {
            let Ok(streamed) = streamed else { panic!("a message is lost") };
            let id = streamed.message.id;
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
}

/// Reads labeled cases. Errors must not contain their text.
pub fn eval_cases(bytes: &[u8]) {
    drop(item::read(&[("cases.jsonl".to_owned(), bytes.to_vec())]));
}
