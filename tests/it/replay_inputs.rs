//! The supported chat formats as input for a replay: one fictional conversation in each format.

use std::io::Write;
use std::path::{Path, PathBuf};

use aizuchi_config::{Config, ModelSelection};
use aizuchi_harness::test_store::TestStore;
use aizuchi_import::history::{RecordedChannel, RecordedMessage};
use aizuchi_import::input::{
    InputFormat, InputOptions, LeftOutCounts, PrivateChannels, Recording, database,
};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Heard, Message,
    MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::{Debounce, Disposition, OnNewMessage};
use aizuchi_model::persona::Language;
use aizuchi_past::eval::decide::item;
use aizuchi_past::replay::judge::recorded::RecordedAnswers;
use aizuchi_store::InboxEntry;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use zip::write::SimpleFileOptions;

use crate::command::aizuchi;
use crate::program::Home;

/// The conversation, independent of the format.
const CONVERSATION: &str = "\
porch
  2026-03-02T09:00:00Z Mara: does anybody have a long ladder?
  2026-03-02T09:02:30Z in thread, Ivo: @Mara there is one behind the shed & it is long
  2026-03-02T09:05:00Z bot Rook: build 12 passed
  2026-03-02T09:10:00Z Mara: the plan for Friday [file: plan.pdf]
  2026-03-03T08:00:00Z Ivo: the ladder is back
";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/replay_inputs").join(name)
}

const DEFAULT: InputOptions = InputOptions {
    from: None,
    to: None,
    private: PrivateChannels::LeftOut,
    language: Language::En,
};

fn open(path: &Path, options: &InputOptions) -> Recording {
    Recording::open(path, options, &|_| {}).unwrap()
}

/// Returns the messages of a channel, by time.
pub fn messages(channel: &RecordedChannel) -> Vec<RecordedMessage> {
    let mut messages = Vec::new();
    let read = channel.each_message(&mut |message| {
        messages.push(message);
        Ok(())
    });
    read.unwrap();
    messages
}

/// Returns a transcript of everything that was read. Threads must belong to a message.
fn transcript(recording: &Recording) -> String {
    let mut text = String::new();
    for channel in &recording.channels {
        text += &format!("{}\n", channel.name);
        let messages = messages(channel);
        for message in &messages {
            let has_parent = |thread: &String| messages.iter().any(|it| it.id == *thread);
            assert!(message.thread.as_ref().is_none_or(has_parent), "{message:?}");
            let thread = if message.thread.is_some() { "in thread, " } else { "" };
            let bot = if message.bot { "bot " } else { "" };
            let name = message.name.as_deref().unwrap_or(&message.author);
            let said = message.text.replace('\n', " ");
            text += &format!("  {} {thread}{bot}{name}: {said}\n", message.at());
        }
    }
    text
}

/// Zips a folder as Slack does, below `root`.
pub fn zipped(folder: &Path, root: &str) -> tempfile::NamedTempFile {
    let mut writer = zip::ZipWriter::new(tempfile::NamedTempFile::new().unwrap());
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = format!("{root}{}", path.strip_prefix(folder).unwrap().display());
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(&std::fs::read(path).unwrap()).unwrap();
        }
    }
    writer.finish().unwrap()
}

#[test]
fn every_format_gives_the_same_conversation() {
    let left_out = |private_channels, notices, deleted| LeftOutCounts {
        private_channels,
        notices,
        deleted,
        ..LeftOutCounts::default()
    };
    for (name, format, expected) in [
        ("porch.jsonl", InputFormat::JsonLines, left_out(0, 0, 0)),
        ("slack", InputFormat::Slack, left_out(2, 1, 1)),
        ("discord", InputFormat::Discord, left_out(1, 1, 0)),
    ] {
        let recording = open(&fixture(name), &DEFAULT);
        assert_eq!(transcript(&recording), CONVERSATION, "{name}");
        assert_eq!((recording.format, recording.left_out), (format, expected), "{name}");
        assert_eq!(recording.bad_records.count, 0, "{name}");
    }
}

#[test]
fn a_zip_is_read_like_its_folder() {
    for (folder, root) in [("slack", ""), ("slack", "our export/"), ("discord", "")] {
        let zip = zipped(&fixture(folder), root);
        assert_eq!(transcript(&open(zip.path(), &DEFAULT)), CONVERSATION, "{folder} {root}");
    }
}

/// An exporter splits a long channel into several files.
#[test]
fn a_private_channel_in_several_files_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in [
        ("direct.json", "direct.json"),
        ("direct.json", "direct [part 2].json"),
        ("porch.json", "porch.json"),
        ("porch - ladder.json", "porch - ladder.json"),
    ] {
        std::fs::copy(fixture("discord").join(name), folder.path().join(file)).unwrap();
    }
    let recording = open(folder.path(), &DEFAULT);
    assert_eq!(transcript(&recording), CONVERSATION);
    assert_eq!(recording.left_out.private_channels, 1);
}

#[test]
fn private_channels_are_taken_on_request() {
    let options = InputOptions { private: PrivateChannels::Taken, ..DEFAULT };
    for name in ["slack", "discord"] {
        let recording = open(&fixture(name), &options);
        let text = transcript(&recording);
        assert!(text.contains("Mara: between us: I broke it\n"), "{name}\n{text}");
        assert_eq!(recording.left_out.private_channels, 0, "{name}");
    }
}

#[test]
fn who_answers_whom_is_known_where_the_format_says_it() {
    let recording = open(&fixture("discord"), &DEFAULT);
    let messages = messages(&recording.channels[0]);
    assert_eq!(messages.last().unwrap().reply_to, ["9001"]);
    assert!(messages.iter().all(|message| !message.opener));
    // Nevertheless, it is unknown which questions were not answered.
    let run = aizuchi().arg("replay").arg(fixture("discord")).arg("--json").assert().code(0);
    let json: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(json["policies"][0]["score"]["open_questions"], Value::Null);
}

#[test]
fn a_time_range_begins_with_from_and_ends_before_to() {
    let replay = |arguments: &[&str]| {
        let mut run = aizuchi();
        run.arg("replay").arg(fixture("slack")).arg("--json").args(arguments);
        let output = run.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (
            json["input"]["messages"].clone(),
            json["input"]["left_out"]["outside_range"].clone(),
            stderr,
        )
    };
    for (arguments, messages, outside) in [
        (&["--to", "2026-03-03"][..], 4, 1),
        (&["--from", "2026-03-03"], 1, 4),
        (&["--from", "2026-03-02T09:05:00Z", "--to", "2026-03-02T09:10:00Z"], 1, 4),
    ] {
        let (taken, left, stderr) = replay(arguments);
        assert_eq!((taken, left), (messages.into(), outside.into()), "{arguments:?} {stderr}");
    }
    let (_, _, stderr) = replay(&["--from", "2026-04-01"]);
    assert!(stderr.contains("slack holds no messages; left out: 2 private channels"), "{stderr}");
    let (_, _, stderr) = replay(&["--from", "2026-03-03", "--to", "2026-03-02"]);
    assert!(stderr.contains("--from must be a time before --to"), "{stderr}");
    let (_, _, stderr) = replay(&["--from", "soon"]);
    assert!(stderr.contains("neither a date like 2026-11-01 nor a time"), "{stderr}");
}

#[test]
fn what_was_left_out_is_said() {
    let run = aizuchi().arg("replay").arg(fixture("slack")).assert().code(0);
    let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let expected = "an export of Slack: 5 messages in 1 channel\n\
        left out: 2 private channels (--private takes them), 1 notice or message without text, \
        1 deleted message\n";
    assert_eq!(stderr, expected);
}

#[test]
fn bad_records_are_named_without_their_text() {
    let slack = |day: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("porch")).unwrap();
        std::fs::write(folder.path().join("channels.json"), r#"[{"id":"C1","name":"porch"}]"#)
            .unwrap();
        std::fs::write(folder.path().join("porch/2026-03-02.json"), day).unwrap();
        let recording = open(folder.path(), &DEFAULT);
        let bad: Vec<String> = recording.bad_records.named().map(str::to_owned).collect();
        (recording.messages(), bad.join("\n"))
    };
    let good = r#"{"type":"message","user":"U1","ts":"1772442000.000100","text":"hi"}"#;
    let place = "porch/2026-03-02.json, record";
    for (day, messages, expected) in [
        (format!("[{good},5]"), 1, format!("{place} 2: its ts is not a time as Slack writes it")),
        (
            format!(r#"[{{"ts":"secret"}},{good}]"#),
            1,
            format!("{place} 1: its ts is not a time as Slack writes it"),
        ),
        (format!("[{good},{good}]"), 1, format!("{place} 2: a message with this id came before")),
        (
            format!("[{good},{{\"sec"),
            1,
            format!("{place} 2: it ends too early, at line 1, column {}", good.len() + 7),
        ),
        ("secret".to_owned(), 0, format!("{place} 1: it is not valid JSON, at line 1, column 1")),
        ("{}".to_owned(), 0, String::new()),
        (String::new(), 0, format!("{place} 1: it ends too early, at line 1, column 0")),
    ] {
        assert_eq!(slack(&day), (messages, expected), "{day}");
    }
}

#[test]
fn malformed_files_are_refused_or_named() {
    let open_bytes = |bytes: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let recording = Recording::open(file.path(), &DEFAULT, &|_| {});
        recording.map_or_else(
            |error| format!("{error:#}"),
            |recording| recording.bad_records.named().collect::<Vec<_>>().join("\n"),
        )
    };
    let guild = r#""guild":{"id":"1","name":"x"}"#;
    let channel = r#""channel":{"id":"5","type":"GuildTextChat","name":"porch"}"#;
    for (text, expected) in [
        (
            format!("{{{guild},\"messages\":[]}}"),
            "message 1: the file does not name its channel before its messages",
        ),
        (
            format!("{{{guild},{channel},\"messages\":[{{\"id\":\"1\"}}]}}"),
            "message 1: it lacks an id or a timestamp",
        ),
        (
            format!(
                "{{{guild},{channel},\"messages\":[{{\"id\":\"1\",\"timestamp\":\"2026-03-02T09:00:00Z\"}}]}}"
            ),
            "message 1: it lacks an author with an id",
        ),
        (
            "[{\"type\":\"message\"}]".to_owned(),
            "it is a part of a Slack export; name the folder or the zip",
        ),
        ("SQLite format 3\0".to_owned(), "replay it with --from-store sqlite://"),
        ("PK\u{3}\u{4}secret".to_owned(), "the zip file is incomplete or damaged"),
    ] {
        let said = open_bytes(text.as_bytes());
        assert!(said.contains(expected), "{text}\n{said}");
        assert!(!said.contains("secret"), "{said}");
    }
    let empty = tempfile::tempdir().unwrap();
    let refused = Recording::open(empty.path(), &DEFAULT, &|_| {}).err().unwrap();
    assert!(format!("{refused:#}").contains("holds no export that Aizuchi knows"), "{refused:#}");
}

#[test]
fn zips_that_attack_are_refused() {
    let zip = |names: &[&str], bytes: usize| {
        let mut writer = zip::ZipWriter::new(tempfile::NamedTempFile::new().unwrap());
        for name in names {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            let zeros = vec![b' '; 1 << 20];
            (0..bytes >> 20).for_each(|_| writer.write_all(&zeros).unwrap());
        }
        let file = writer.finish().unwrap();
        format!("{:#}", Recording::open(file.path(), &DEFAULT, &|_| {}).err().unwrap())
    };
    let outside = zip(&["channels.json", "porch/../../../etc/cron.d/x"], 0);
    assert!(
        outside.contains("a path that leads outside: porch/../../../etc/cron.d/x"),
        "{outside}"
    );
    let bomb = zip(&["channels.json", "users.json"], 160 << 20);
    assert!(bomb.contains("unpacks to more than 256 MB"), "{bomb}");
}

/// Reading such a file does not end, or fills the memory.
#[test]
fn files_without_an_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.jsonl");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    let bomb = folder.path().join("bomb.jsonl.gz");
    // Files that are packed one by one and joined are one gzip file.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b' '; 4 << 20]).unwrap();
    std::fs::write(&bomb, encoder.finish().unwrap().repeat(65)).unwrap();
    let bombed = "it is refused, because it unpacks to more than 256 MB";
    for (file, refused, why) in [
        (&link, Recording::open(&link, &DEFAULT, &|_| {}).err(), "it is not a regular file"),
        (&link, RecordedAnswers::open(&link).err(), "it is not a regular file"),
        (&link, item::open(std::slice::from_ref(&link)).err(), "it is not a regular file"),
        // One that is read in a stream, and one that is kept as a whole.
        (&bomb, Recording::open(&bomb, &DEFAULT, &|_| {}).err(), bombed),
        (&bomb, item::open(std::slice::from_ref(&bomb)).err(), bombed),
    ] {
        let refused = format!("{:#}", refused.unwrap());
        let named = format!("cannot read {}", file.display());
        assert!(refused.starts_with(&named) && refused.ends_with(why), "{refused}");
    }
    // Such links do no harm as settings either.
    let config = Config::load(Some(&link), ModelSelection::NoModel).err().unwrap();
    assert!(format!("{config:#}").ends_with("cannot be read: it is not a regular file"));
}

fn message_in(channel: &str, id: &str, text: &str) -> Message {
    Message {
        conversation: ConversationId {
            workspace: WorkspaceId::new("house"),
            channel: ChannelId::new(channel),
            thread: None,
        },
        id: MessageId::new(id),
        at: "2026-03-02T09:00:00Z".parse().unwrap(),
        author: Author { id: UserId::new("u1"), kind: AuthorKind::Human },
        text: text.into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    }
}

#[tokio::test]
async fn both_databases_keep_private_what_was_written_in_private() {
    for store in [TestStore::sqlite().await, TestStore::postgres().await] {
        let hear = async |heard: Heard, disposition: Disposition| {
            let entry = InboxEntry::new(heard, disposition, Timestamp::now());
            store.store.hear(entry).await.unwrap();
        };
        let channel = async |id: &str, name: &str, visibility| {
            let (workspace, id) = (WorkspaceId::new("house"), ChannelId::new(id));
            let channel = Channel { workspace, id, name: name.into(), visibility, topic: None };
            hear(Heard::Channel(channel), Disposition::NotAMessage).await;
        };
        let say = async |channel: &str, id: &str, text: &str, gate| {
            let message = message_in(channel, id, text);
            hear(Heard::Message(message, Arrival::Live), Disposition::Settled(gate)).await;
        };
        channel("c1", "#porch", Visibility::Private).await;
        channel("c2", "porch", Visibility::Public).await;
        channel("c3", "staff", Visibility::Private).await;
        say("c1", "1", "while it was private", Gate::Backfilled).await;
        channel("c1", "#porch", Visibility::Public).await;
        say("c1", "2", "since it is public", Gate::Backfilled).await;
        say("c1", "3", "I have opted out", Gate::OptedOut).await;
        say("c2", "4", "the other porch", Gate::Backfilled).await;
        say("c3", "5", "who pays?", Gate::Backfilled).await;
        let message = message_in("c2", "6", "gone");
        let (conversation, at) = (message.conversation.clone(), Timestamp::now());
        hear(Heard::Message(message, Arrival::Live), Disposition::Settled(Gate::Backfilled)).await;
        let deletion = Deletion { conversation, message: MessageId::new("6"), at };
        let debounce = Debounce {
            due: at,
            max_wait: SignedDuration::from_mins(1),
            on_new_message: OnNewMessage::Restart,
        };
        hear(Heard::Deletion(deletion), Disposition::Judge(debounce)).await;

        let address = &store.database.as_ref().unwrap().address;
        let read = database::read(address, &DEFAULT, &|_| {}).await.unwrap();
        let expected = "porch (c1)\n  2026-03-02T09:00:00Z u1: since it is public\n\
            porch (c2)\n  2026-03-02T09:00:00Z u1: the other porch\n";
        assert_eq!(transcript(&read), expected, "{address}");
        let left_out = LeftOutCounts {
            private_channels: 1,
            private_messages: 1,
            deleted: 1,
            withheld: 1,
            ..LeftOutCounts::default()
        };
        assert_eq!(read.left_out, left_out, "{address}");
        let options = InputOptions { private: PrivateChannels::Taken, ..DEFAULT };
        let read = database::read(address, &options, &|_| {}).await.unwrap();
        assert_eq!((read.messages(), read.left_out.withheld), (4, 1), "{address}");
    }
}

#[tokio::test]
async fn the_own_database_is_read_beside_the_running_program() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("Mara", "does anybody have a long ladder?").await;
    program.says("Ivo", "there is one behind the shed").await;
    let run = aizuchi()
        .arg("--config")
        .arg(home.config())
        .args(["replay", "--from-store", "--json"])
        .assert()
        .code(0);
    let json: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(json["input"]["format"], "database");
    assert_eq!(json["policies"][0]["score"]["human_messages"], 2, "{json}");
    let url = format!("sqlite://{}", home.database().display());
    aizuchi().args(["replay", "--from-store", &url]).assert().code(0);
    for (arguments, expected) in [
        (&["--from-store", "mysql://x"][..], "--from-store: it must be like sqlite://"),
        (&["--from-store", "sqlite:///nowhere/at/all.db"], "/nowhere/at/all.db"),
        (&[], "required arguments were not provided"),
    ] {
        let output = aizuchi().arg("replay").args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && stderr.contains(expected), "{arguments:?} {stderr}");
    }
    assert_eq!(program.stop(), Some(0));
}
