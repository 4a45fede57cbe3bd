//! Inputs are recognized by their content, in the shapes in which people have them; what is not read is named.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use aizuchi_import::input::{InputFormat, InputOptions, PrivateChannels, Recording};
use aizuchi_model::persona::Language;
use serde_json::json;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use crate::command::aizuchi;
use crate::replay_inputs::messages;

const OPTIONS: InputOptions = InputOptions {
    from: None,
    to: None,
    private: PrivateChannels::LeftOut,
    language: Language::En,
};
const DAY: &str =
    r#"[{"type":"message","user":"U1","ts":"1772442000.000100","text":"who has the ladder?"}]"#;
const PORCH: &str = r#"[{"id":"C0123PORCH","name":"porch"}]"#;

fn zip(files: &[(&str, &str)]) -> tempfile::NamedTempFile {
    let mut writer = zip::ZipWriter::new(tempfile::NamedTempFile::new().unwrap());
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = folder(&[(name, text)]);
    let path = folder.path().join(name);
    (folder, path)
}

fn open(path: &Path) -> Recording {
    Recording::open(path, &OPTIONS, &|_| {}).unwrap()
}

/// Returns each message as `channel: text`.
fn said(recording: &Recording) -> Vec<String> {
    let channels = recording.channels.iter();
    channels
        .flat_map(|channel| {
            let said = messages(channel).into_iter();
            said.map(|message| format!("{}: {}", channel.name, message.text)).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn an_export_of_slack_is_read_however_it_was_packed() {
    let null = [("groups.json", "null"), ("dms.json", "null"), ("users.json", "[null]")];
    let nulls: Vec<(&str, &str)> = [("channels.json", PORCH), ("porch/2026-03-02.json", DAY)]
        .into_iter()
        .chain(null)
        .collect();
    let decomposed = "cafe\u{301}/2026-03-02.json";
    for files in [
        &[("channels.json", PORCH), ("porch\\2026-03-02.json", DAY)][..],
        &[("out\\channels.json", PORCH), ("out\\porch\\2026-03-02.json", DAY)],
        &[("out/channels.json", PORCH), ("out/porch/2026-03-02.json", DAY), ("note.txt", "hi")],
        &[("channels.json", r#"[{"id":"C1","name":"caf\u00e9"}]"#), (decomposed, DAY)],
        &[("channels.json", PORCH), ("Porch/2026-03-02.json", DAY)],
        &[("channels.json", PORCH), ("porch/2026-03-02.JSON", DAY)],
        &[("channels.json", PORCH), ("C0123PORCH/2026-03-02.json", DAY)],
        &[("channels.json", PORCH), ("porch-was-shed (C0123PORCH)/2026-03-02.json", DAY)],
        &[
            ("org_users.json", "[]"),
            ("teams/House/channels.json", PORCH),
            ("teams/House/porch/2026-03-02.json", DAY),
        ],
        &nulls,
    ] {
        let zip = zip(files);
        for path in [zip.path(), folder(files).path()] {
            let recording = open(path);
            assert_eq!(recording.messages(), 1, "{files:?}");
            let counts = (recording.bad_records.count, recording.left_out.private_channels);
            assert_eq!((recording.format, counts), (InputFormat::Slack, (0, 0)), "{files:?}");
        }
    }
}

#[test]
fn the_channels_of_two_workspaces_are_told_apart() {
    let other = DAY.replace("ladder", "key");
    let recording = open(
        folder(&[
            ("channels.json", "[]"),
            ("teams/House/channels.json", PORCH),
            ("teams/House/groups.json", r#"[{"id":"G1","name":"staff"}]"#),
            ("teams/House/porch/2026-03-02.json", DAY),
            ("teams/House/staff/2026-03-02.json", DAY),
            (
                "teams/Shop/channels.json",
                r#"[{"id":"C2","name":"porch"},{"id":"C3","name":"staff"}]"#,
            ),
            ("teams/Shop/porch/2026-03-02.json", &other),
            ("teams/Shop/porch-old/2026-03-02.json", &other),
        ])
        .path(),
    );
    assert_eq!(said(&recording), ["porch: who has the ladder?", "Shop/porch: who has the key?"]);
    // One is a group, and nothing tells of the other.
    assert_eq!(recording.left_out.private_channels, 2);
}

/// The name of a private channel's folder may begin like that of a public one.
#[test]
fn a_folder_is_not_taken_for_a_public_channel_with_a_similar_name() {
    let announcements = r#"[{"id":"C1","name":"announcements"},{"id":"C2","name":"20260302"}]"#;
    let folder = folder(&[
        ("channels.json", announcements),
        ("announcements-old/2026-03-02.json", DAY),
        ("ANNOUNCEMENTS-2/2026-03-02.json", DAY),
        ("20260302 staff/2026-03-02.json", DAY),
    ]);
    let recording = open(folder.path());
    assert_eq!((recording.messages(), recording.left_out.private_channels), (0, 3));
}

#[test]
fn files_that_are_not_recognized_are_counted() {
    let porch = json!({
        "guild": {"id": "1", "name": "House"}, "channel": {"id": "5", "type": "GuildTextChat", "name": "porch"},
        "messages": [{"id": "1", "type": "Default", "timestamp": "2026-03-02T09:00:00Z", "content": "hi", "author": {"id": "7", "name": "mara"}}],
    })
    .to_string();
    for (files, (unrecognized, format)) in [
        (
            &[
                ("channels.json", PORCH),
                ("integration_logs.json", "[]"),
                ("porch/2026-03-02.json", DAY),
                ("porch/canvas_in_the_conversation.json", "[]"),
                ("porch/attachments/F1-notes.json", "{}"),
                ("porch/March.json", DAY),
                ("porch/2026-03-03.jsonl", DAY),
                ("porch/2026/03.json", DAY),
            ][..],
            (3, InputFormat::Slack),
        ),
        (
            &[
                ("porch.json", &porch),
                ("readme.txt", "what this is"),
                ("tea.json", r#"{"messages":[{"date":1,"from":"Ana"}]}"#),
                ("else.json", "{}"),
                ("a.txt", ""),
                ("backup.gz", "spoilt"),
            ],
            (3, InputFormat::Discord),
        ),
    ] {
        let zip = zip(files);
        assert_eq!(open(zip.path()).format, format);
        let run = aizuchi().arg("replay").arg(zip.path()).assert().code(0);
        let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains("1 message in 1 channel"), "{stderr}");
        let expected = format!("left out: {unrecognized} files that were not recognized\n");
        assert!(stderr.contains(&expected), "{stderr}");
        aizuchi().args(["replay", "--strict"]).arg(zip.path()).assert().code(2);
    }
}

#[test]
fn what_stands_for_no_message_is_no_talk() {
    let joined = r#"[{"type":"message","user":"U1","ts":"1772442000.000100","text":"<@U1> has joined the channel"},
        {"type":"message","user":"U1","ts":"1772442000.000200","text":"<@U1|mara> has left the channel."},
        {"type":"message","user":"U1","ts":"1772442000.000300","text":"<@U2> has joined the channel"}]"#;
    let recording =
        open(folder(&[("channels.json", PORCH), ("porch/2026-03-02.json", joined)]).path());
    assert_eq!((recording.messages(), recording.left_out.notices), (1, 2));
}

#[test]
fn a_long_first_line_is_read_to_its_end() {
    let text = "long ".repeat(20_000);
    let rest = r#""room":"porch","id":"1","ts":1772442000,"author":"Ana"}"#;
    let (_folder, path) = file("talk.jsonl", &format!("{{\"text\":\"{text}\",{rest}\n"));
    let recording = open(&path);
    assert_eq!((recording.format, recording.messages()), (InputFormat::JsonLines, 1));
}

#[test]
fn what_is_not_read_is_named_with_what_is() {
    let telegram = r#"{"name":"Tea","type":"personal_chat","messages":[{"id":1,"type":"message","date":"2026-01-01T10:00:00","from":"Ana","text":"secret"}]}"#;
    let refused = |path: &Path| {
        let output = aizuchi().arg("replay").arg(path).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.contains("what is read: an export of Slack"), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
        stderr
    };
    for (name, text, expected) in [
        ("result.json", telegram, "it seems to be an export of Telegram"),
        ("tea.log", "[10:01] <ana> secret\n", "it is of no kind that Aizuchi knows"),
        ("some.txt", "secret\n", "it is of no kind that Aizuchi knows"),
    ] {
        let (folder, path) = file(name, text);
        assert!(refused(&path).contains(expected), "{name}");
        let said = refused(folder.path());
        let in_folder = format!("{name} in it: {expected}");
        let is_unknown = said.contains("holds no export that Aizuchi knows");
        assert!(is_unknown || said.contains(&in_folder) || said.contains(expected), "{said}");
    }
    let days = folder(&[("2026-03-02.json", DAY)]);
    let output = aizuchi().arg("replay").arg(days.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("a part of a Slack export; name the folder or the zip"), "{stderr}");
}
