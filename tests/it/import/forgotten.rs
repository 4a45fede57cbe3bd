//! Forgotten users are not restored by a dump of kotonoha's.

use std::collections::HashMap;

use aizuchi_import::ImportData;
use aizuchi_import::kotonoha::arranged::KotonohaArranged;
use aizuchi_import::kotonoha::dump::{self, KotonohaOptions, MentionSessions};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_model::chat::{UserId, WorkspaceId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

/// Returns a dump with a user's messages to kotonoha, and its answers.
fn dump_of_a_person() -> String {
    let messages = json!([
        {"role": "user", "content": "early", "timestamp": "2026-01-05T10:00:00"},
        {"role": "assistant", "content": "I see.", "timestamp": "2026-01-05T10:00:05"},
        {"role": "user", "content": "late", "timestamp": "2026-01-05T12:00:00"},
    ]);
    format!(
        "COPY public.sessions (session_key, messages, guild_id, channel_id, thread_id, user_id) FROM stdin;\n\
         mention:7\t{messages}\t101\t202\t\\N\t7\n\\.\n"
    )
}

/// Returns the imported data after the user was forgotten.
fn read_after(forgotten_at: Option<&str>) -> (ImportData, Vec<String>) {
    let (workspace, person) = (WorkspaceId::new("discord:101"), UserId::new("7"));
    let options = KotonohaOptions {
        workspace: None,
        persona: None,
        persona_name: "Mio".to_owned(),
        zone: TimeZone::UTC,
        mentions: MentionSessions::OfFirstChannel,
    };
    let read = dump::read(dump_of_a_person().as_bytes(), options).unwrap();
    assert!(read.users(&workspace).contains(&person));
    let forgotten: HashMap<UserId, Timestamp> =
        forgotten_at.map(|at| (person, at.parse().unwrap())).into_iter().collect();
    let by_workspace = HashMap::from([(workspace, forgotten.clone())]);
    let arranged = read.arrange(&by_workspace, SorterLimits::default(), None).unwrap();
    let KotonohaArranged { mut data, mut messages, .. } = arranged;
    let texts = messages.of(0).map(|streamed| streamed.unwrap().message.text.to_string());
    let texts = texts.collect();
    let mut data = data.remove(0);
    data.leave_out_forgotten(&forgotten);
    (data, texts)
}

#[test]
fn what_forgotten_people_said_before_is_not_read_from_kotonoha() {
    for (forgotten_at, expected, users) in [
        (None, &["early", "I see.", "late"][..], 1),
        // A user who has posted since has a name again.
        (Some("2026-01-05T11:00:00Z"), &["I see.", "late"], 1),
        (Some("2026-01-05T13:00:00Z"), &["I see."], 0),
    ] {
        let (data, texts) = read_after(forgotten_at);
        assert_eq!(texts, expected, "{forgotten_at:?}");
        assert_eq!(data.users.len(), users, "{forgotten_at:?}");
        let left_out: usize = data.skipped.iter().map(|skipped| skipped.count).sum();
        assert_eq!(left_out, 3 - texts.len(), "{forgotten_at:?}");
    }
}
