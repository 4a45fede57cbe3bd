//! The command `aizuchi import`: migrating from myao2.

mod batches;
mod exports;
mod forgotten;
mod kotonoha;
mod one_moment;
mod shares;
mod streaming;
mod withdrawn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_harness::fixtures::{self, at, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_import::message_ids::MessageIds;
use aizuchi_import::streamed::StreamedMessage;
use aizuchi_import::{self, ImportData};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, Heard, Mention, Message, UserId, Visibility,
    WorkspaceId,
};
use aizuchi_model::context::ContextLimits;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::read_only::ReadOnlyDatabase;
use futures_util::stream;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, Row};
use tempfile::TempDir;

use crate::command::aizuchi;

/// The schema of myao2.
const TABLES: &str = "
CREATE TABLE messages (
    id INTEGER NOT NULL PRIMARY KEY, message_id VARCHAR NOT NULL, channel_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL, user_name VARCHAR NOT NULL, user_is_bot BOOLEAN NOT NULL,
    text VARCHAR NOT NULL, timestamp DATETIME NOT NULL, thread_ts VARCHAR, mentions JSON,
    created_at DATETIME NOT NULL, UNIQUE (message_id, channel_id));
CREATE TABLE users (
    id INTEGER NOT NULL PRIMARY KEY, user_id VARCHAR NOT NULL UNIQUE, name VARCHAR NOT NULL,
    is_bot BOOLEAN NOT NULL, updated_at DATETIME NOT NULL);
CREATE TABLE channels (
    id INTEGER NOT NULL PRIMARY KEY, channel_id VARCHAR NOT NULL UNIQUE, name VARCHAR NOT NULL,
    updated_at DATETIME NOT NULL);
CREATE TABLE judgment_caches (
    id INTEGER NOT NULL PRIMARY KEY, channel_id VARCHAR NOT NULL, thread_ts VARCHAR,
    should_respond BOOLEAN NOT NULL, confidence FLOAT NOT NULL, reason VARCHAR NOT NULL,
    latest_message_ts VARCHAR, next_check_at DATETIME NOT NULL, created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL, UNIQUE (channel_id, thread_ts));
CREATE TABLE memories (
    id INTEGER NOT NULL PRIMARY KEY, scope VARCHAR NOT NULL, scope_id VARCHAR NOT NULL,
    memory_type VARCHAR NOT NULL, content VARCHAR NOT NULL, created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL, source_message_count INTEGER NOT NULL,
    source_latest_message_ts VARCHAR, UNIQUE (scope, scope_id, memory_type));
CREATE TABLE memos (
    id VARCHAR NOT NULL PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, content VARCHAR NOT NULL,
    priority INTEGER NOT NULL, tags JSON NOT NULL, detail VARCHAR, created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL);
";

/// A few days of two fictional channels. The bot's own messages have ids that myao2 generated.
const ROWS: &str = r#"
INSERT INTO users VALUES
    (1, 'U1', 'mika', 0, '2026-01-05 09:00:00.000000'), (2, 'U2', 'ren', 0, '2026-01-05 09:00:00.000000'),
    (3, 'UBOT', 'myao', 1, '2026-01-05 09:00:00.000000'), (4, 'U9', 'clock', 1, '2026-01-05 09:00:00.000000');
INSERT INTO channels VALUES
    (1, 'C1', 'garden', '2026-01-05 09:00:00.000000'), (2, 'C2', '', '2026-01-05 09:00:00.000000');
INSERT INTO messages VALUES
    (1, '1767603600.000100', 'C1', 'U1', 'mika', 0, '<@UBOT> does <@U2> like tea &amp; cake?',
     '2026-01-05 09:00:00.000100', NULL, '["UBOT", "U2"]', '2026-01-05 09:00:01.000000'),
    (2, '6f1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11', 'C1', 'UBOT', 'myao', 1, 'He does, <@U1>.',
     '2026-01-05 09:00:20.500000', NULL, '[]', '2026-01-05 09:00:20.600000'),
    (3, '1767603700.000200', 'C1', 'U2', 'ren', 0, 'see <https://tea.example|this>',
     '2026-01-05 09:01:40.000200', '1767603600.000100', '[]', '2026-01-05 09:01:41.000000'),
    (4, '1767603800.000300', 'C1', 'U9', 'clock', 1, 'tick', '2026-01-05 09:03:20.000300', NULL, NULL,
     '2026-01-05 09:03:21.000000'),
    (5, '1767690000.000400', 'C2', 'U2', 'ren', 0, 'a surprise for mika', '2026-01-06 09:00:00.000400', NULL, '[]',
     '2026-01-06 09:00:01.000000'),
    (6, 'lost', 'C2', 'U2', 'ren', 0, 'when was this?', 'some time', NULL, '[]', '2026-01-06 09:00:01.000000');
INSERT INTO judgment_caches VALUES
    (1, 'C1', NULL, 0, 0.9, 'quiet', '1767603800.000300', '2026-01-05 10:00:00.000000',
     '2026-01-05 09:10:00.000000', '2026-01-05 09:10:00.000000');
INSERT INTO memories VALUES
    (1, 'workspace', 'default', 'long_term', '- everybody likes tea', '2026-01-05 09:30:00.000000',
     '2026-01-05 09:30:00.000000', 3, NULL),
    (2, 'channel', 'C1', 'long_term', '- 2026-01-04 午後: seeds were bought
- Ren likes tea', '2026-01-05 09:30:00.000000', '2026-01-05 09:30:00.000000', 3, '1767603800.000300'),
    (3, 'channel', 'C2', 'short_term', '- 2026-01-06: a surprise is planned', '2026-01-06 09:30:00.000000',
     '2026-01-06 09:30:00.000000', 1, '6f1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11'),
    (4, 'thread', 'C1:1767603600.000100', 'short_term', '- tea was talked of', '2026-01-05 09:30:00.000000',
     '2026-01-05 09:30:00.000000', 2, '1767603700.000200');
INSERT INTO memos VALUES
    ('0b1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11', 'tea', 'Ren likes it', 5, '["people", "tea"]', 'green, no sugar',
     '2026-01-05 09:00:10.000000', '2026-01-05 09:00:10.000000'),
    ('1b1c1c3e-8d56-4b1b-9b54-0a3f7c3f7d11', 'birthdays', 'Mika: May 3rd', 2, '[]', NULL,
     '2026-01-03 12:00:00.000000', '2026-01-04 12:00:00.000000');
"#;

struct Migration {
    folder: TempDir,
    old: PathBuf,
    new: PathBuf,
}

impl Migration {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("memory.db"), folder.path().join("aizuchi.db"));
        let options = SqliteConnectOptions::new().filename(&old).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        connection.execute(TABLES).await.unwrap();
        connection.execute(ROWS).await.unwrap();
        connection.close().await.unwrap();
        Self { folder, old, new }
    }

    /// Runs the command and returns its stdout, or its stderr if it fails.
    fn import(&self, input: &Path, more: &[&str], code: i32) -> String {
        self.import_with("", input, more, code)
    }

    /// Like `import`, with an additional section of the config.
    fn import_with(&self, section: &str, input: &Path, more: &[&str], code: i32) -> String {
        let config = self.folder.path().join("config.yaml");
        let storage = format!("storage: {{url: 'sqlite://{}'}}", self.new.display());
        let text = format!("persona: {{name: Mio}}\ntimezone: Asia/Tokyo\n{storage}\n{section}");
        std::fs::write(&config, text).unwrap();
        let mut command = aizuchi();
        command.arg("--config").arg(&config).arg("import").arg(input);
        let run = command.args(more).assert().code(code);
        let output = run.get_output();
        let text = if code == 0 { &output.stdout } else { &output.stderr };
        let text = String::from_utf8(text.clone()).unwrap();
        text.replace(&self.folder.path().display().to_string(), "DIR")
    }

    async fn store(&self) -> TestStore {
        let store = Arc::new(
            ReadOnlyDatabase::open(&DatabaseLocation::Sqlite(self.new.clone()))
                .await
                .unwrap()
                .into_store(),
        );
        TestStore {
            store: store.clone(),
            archive: store.clone(),
            cursors: store.clone(),
            uploads: store,
            database: None,
            database_store: None,
        }
    }

    async fn revision(&self) -> i64 {
        let options = SqliteConnectOptions::new().filename(&self.new);
        let mut connection = options.connect().await.unwrap();
        let row = sqlx::query("SELECT revision FROM counters").fetch_one(&mut connection);
        row.await.unwrap().get("revision")
    }

    async fn messages(&self, channel: &str) -> Vec<aizuchi_store::stored_message::StoredMessage> {
        let query = MessageQuery {
            workspace: team(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: 100,
        };
        self.store().await.archive.messages(query).await.unwrap()
    }
}

fn team() -> WorkspaceId {
    WorkspaceId::new("T1")
}

const FIRST: &str = "\
channels  2 imported, 0 known already
people    4 imported, 0 known already
messages  5 imported, 0 known already
memories  3 imported, 0 known already
memos     1 imported, 0 known already
left out  messages: 1; their time is unknown
left out  memories of the whole workspace: 1; they mix in what was said in private channels; new ones are made from public channels
left out  memos: 1; the channels they were made in are unknown, and so is who may see them; --share-memos imports all memos for everybody to see
left out  judgments: 1; Aizuchi makes its own judgments
note      Who may read the new channels is not known, so they count as private, even if the platform says that they are public.
database  DIR/aizuchi.db
";

#[tokio::test]
async fn the_data_of_myao2_is_imported() {
    let migration = Migration::new().await;
    let before = std::fs::read(&migration.old).unwrap();
    assert_eq!(migration.import(&migration.old, &["--workspace", "T1"], 0), FIRST);
    assert_eq!(std::fs::read(&migration.old).unwrap(), before, "the old database is not changed");

    let store = migration.store().await;
    let messages = migration.messages("C1").await;
    let found: Vec<_> = messages
        .iter()
        .map(|stored| {
            let message = &stored.message;
            let thread = message.conversation.thread.as_ref().map(|thread| thread.to_string());
            (
                message.at.to_string(),
                &*stored.author_name,
                message.author.kind,
                &*message.text,
                thread,
            )
        })
        .collect();
    let parent = Some("1767603600.000100".to_owned());
    use AuthorKind::{Bot, Human, Persona};
    let expected = [
        ("2026-01-05T09:00:00Z", "mika", Human, "@Mio does @ren like tea & cake?", None),
        ("2026-01-05T09:00:20.5Z", "Mio", Persona, "He does, @mika.", None),
        ("2026-01-05T09:01:40Z", "ren", Human, "see this (https://tea.example)", parent),
        ("2026-01-05T09:03:20Z", "clock", Bot, "tick", None),
    ];
    assert_eq!(
        found,
        expected.map(|(at, who, kind, text, thread)| (at.into(), who, kind, text, thread))
    );
    let mentions = [Mention::Persona, Mention::User(UserId::new("U2"))];
    assert_eq!(messages[0].message.mentions, mentions);
    let channels = store.archive.channels(&team()).await.unwrap();
    let channels: Vec<_> =
        channels.iter().map(|channel| (&*channel.name, channel.visibility)).collect();
    assert_eq!(channels, [("garden", Visibility::Private), ("C2", Visibility::Private)]);
}

#[tokio::test]
async fn an_import_tells_how_many_messages_are_too_old_to_be_kept() {
    let migration = Migration::new().await;
    let retention = "retention: {messages_days: 1}\n";
    let told = migration.import_with(retention, &migration.old, &["--workspace", "T1"], 0);
    let note = "note      Messages in it that are older than retention.messages_days allows, 5 in all, are erased when \
                Aizuchi runs next.\n";
    assert!(told.contains(note), "{told}");
}

#[tokio::test]
async fn imported_messages_lead_to_no_reply_and_no_memory_job() {
    let migration = Migration::new().await;
    migration.import(&migration.old, &["--workspace", "T1"], 0);
    let store = migration.store().await;
    assert_eq!(store.store.next_ready().await.unwrap(), None);
    assert_eq!(store.store.next_memory_job().await.unwrap(), None);
    assert!(migration.messages("C1").await.iter().all(|message| message.gate.is_some()));
}

#[tokio::test]
async fn imported_memories_stay_in_their_channel() {
    let migration = Migration::new().await;
    migration.import(&migration.old, &["--workspace", "T1"], 0);
    let store = migration.store().await;
    let context = async |channel: &str| {
        let conversation =
            aizuchi_model::chat::ConversationId { workspace: team(), ..top_level(channel) };
        let window = ContextLimits::default().window("2026-01-06T12:00:00Z".parse().unwrap());
        store.store.context(&conversation, &window).await.unwrap()
    };
    let garden = context("C1").await;
    let memory = &garden.channel_memories[0];
    assert_eq!(garden.channel_memories.len(), 1);
    assert_eq!(
        memory.long_term_memory.as_deref(),
        Some("- 2026-01-04: 午後: seeds were bought\n- 2026-01-05: Ren likes tea")
    );
    assert_eq!(&*garden.thread_memories[0].memory, "- 2026-01-05: tea was talked of");
    let memo = &garden.important_memos[0];
    assert_eq!((&*memo.name, &*memo.content, memo.priority), ("tea", "Ren likes it", 5));
    assert_eq!(
        (&memo.tags[..], memo.detail.as_deref()),
        (&["people".to_owned(), "tea".to_owned()][..], Some("green, no sugar"))
    );
    assert_eq!(memo.created.to_string(), "2026-01-05T09:00:10Z");
    let other = context("C2").await;
    assert_eq!(other.channel_memories.len(), 1);
    let surprise = other.channel_memories[0].short_term_memory.as_deref();
    assert_eq!(surprise, Some("- 2026-01-06: a surprise is planned"));
    assert_eq!((other.important_memos, other.workspace_long_term_memory), (Vec::new(), None));
}

#[tokio::test]
async fn importing_is_idempotent() {
    let migration = Migration::new().await;
    migration.import(&migration.old, &["--workspace", "T1"], 0);
    let before = migration.revision().await;
    let messages = migration.messages("C1").await;
    let report = migration.import(&migration.old, &["--workspace", "T1"], 0);
    let counts: Vec<&str> = report.lines().take(5).collect();
    assert_eq!(
        counts,
        [
            "channels  0 imported, 2 known already",
            "people    0 imported, 4 known already",
            "messages  0 imported, 5 known already",
            "memories  0 imported, 3 known already",
            "memos     0 imported, 1 known already",
        ]
    );
    assert_eq!(migration.revision().await, before);
    assert_eq!(migration.messages("C1").await, messages);
}

/// The persona's messages have different ids on Slack than in myao2's database.
#[tokio::test]
async fn a_message_in_the_platforms_history_is_not_imported_twice() {
    let message = |id: &str, second: i64, text: &str, kind| {
        let message = fixtures::message(top_level("garden"), id, at(second), "myao", text);
        Message { author: Author { kind, ..message.author.clone() }, ..message }
    };
    let own = |id: &str, second: i64, text: &str| message(id, second, text, AuthorKind::Persona);
    on_every_database(async |store| {
        let wait_settings = aizuchi_import::wait_settings();
        let harness = Harness::new(store)
            .await
            .with_options(HarnessOptions { wait_settings, ..HarnessOptions::default() });
        let heard = message("1.2", -7200, "He  does.", AuthorKind::Persona);
        harness.inbox.hear(Heard::Message(heard, Arrival::Backfilled)).await.unwrap();
        let messages = [
            own("made-before", -7200, "Who?"),
            own("made-same", -7190, "He does."),
            own("made-later", -3000, "He does."),
            own("made-young", -1000, "Good night."),
            message("3.4", 60, "@Aizuchi who?", AuthorKind::Human),
        ];
        let messages = messages.map(|message| StreamedMessage {
            message,
            reactions: Vec::new(),
            was_private: false,
        });
        let data = ImportData {
            channels: vec![fixtures::new_channel("garden", Visibility::Private)],
            ids: MessageIds::Made { prefix: "made-" },
            ..ImportData::new(fixtures::workspace())
        };
        let import = async || {
            let (inbox, archive) = (&harness.inbox, &*harness.store.archive);
            let cursors = &*harness.store.cursors;
            let messages = stream::iter(messages.clone().map(Ok));
            let (data, from) = (data.clone(), Some(at(-2000)));
            aizuchi_import::import_stream(data, messages, inbox, archive, cursors, from)
                .await
                .unwrap()
        };
        let report = import().await;
        assert_eq!((report.messages.new, report.messages.existing), (3, 1));
        assert_eq!((report.skipped.len(), report.skipped[0].count), (1, 1));
        let ids: Vec<_> = harness
            .messages("garden")
            .await
            .into_iter()
            .map(|stored| stored.message.id.to_string())
            .collect();
        assert_eq!(ids, ["1.2", "made-before", "made-later", "3.4"]);
        let again = import().await;
        assert_eq!((again.messages.new, again.messages.existing), (0, 4));
        // Even a recent mention is not owed an answer, and a public channel stays public.
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None);
        let channels = harness.store.archive.channels(&fixtures::workspace()).await.unwrap();
        assert!(channels.iter().all(|channel| channel.visibility == Visibility::Public));
    })
    .await;
}

#[tokio::test]
async fn memos_can_be_shared_and_the_persona_named() {
    let migration = Migration::new().await;
    let report =
        migration.import(&migration.old, &["--workspace", "T1", "--share-memos", "--bot", "U9"], 0);
    assert!(report.contains("memos     2 imported"), "{report}");
    let store = migration.store().await;
    let memos = store.store.memos(&team(), &ChannelId::new("C2")).await.unwrap();
    let names: Vec<_> = memos.iter().map(|(_, memo)| &*memo.name).collect();
    assert_eq!(names, ["tea", "birthdays"]);
    let messages = migration.messages("C1").await;
    let kinds: Vec<_> = messages.iter().map(|stored| stored.message.author.kind).collect();
    use AuthorKind::{Bot, Human, Persona};
    assert_eq!(kinds, [Human, Bot, Human, Persona]);
}

#[tokio::test]
async fn a_recording_is_imported() {
    let migration = Migration::new().await;
    let file = migration.folder.path().join("talk.jsonl");
    let text = concat!(
        r#"{"room":"garden","id":"1","ts":1767603600.5,"author":"ana","name":"Ana","text":"hello"}"#,
        "\n",
        r#"{"room":"garden","id":"2","ts":1767603601,"author":"mio","text":"hi","bot":true}"#,
        "\nnonsense\n",
    );
    std::fs::write(&file, text).unwrap();
    let report = migration.import(&file, &["--workspace", "T1", "--bot", "mio"], 0);
    assert!(report.contains("messages  2 imported"), "{report}");
    assert!(report.contains("left out  lines: 1; they cannot be read (line 3)"), "{report}");
    let messages = migration.messages("garden").await;
    let authors: Vec<_> =
        messages.iter().map(|stored| (&*stored.author_name, stored.message.author.kind)).collect();
    assert_eq!(authors, [("Ana", AuthorKind::Human), ("mio", AuthorKind::Persona)]);
}

#[tokio::test]
async fn import_errors_are_reported() {
    let migration = Migration::new().await;
    let empty = migration.folder.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    let nowhere = migration.folder.path().join("nowhere");
    for (input, more, expected) in [
        (&nowhere, &["--workspace", "T1"][..], "DIR/nowhere does not exist"),
        (
            &empty,
            &["--workspace", "T1"],
            "neither a myao2 database, nor a dump of kotonoha's database, nor recorded messages",
        ),
    ] {
        let report = migration.import(input, more, 1);
        assert!(report.contains(expected), "{report}");
    }
    assert!(!migration.new.exists());
}

/// Without a platform there is only the local room; Discord's config alone does not identify a server.
#[tokio::test]
async fn without_a_platform_the_local_room_is_meant() {
    let migration = Migration::new().await;
    let discord = "discord: {token: invented}\n";
    let file = migration.folder.path().join("talk.jsonl");
    let line = r#"{"room":"garden","id":"1","ts":1767603600.5,"author":"ana","text":"hello"}"#;
    std::fs::write(&file, line).unwrap();
    for input in [&migration.old, &file] {
        let report = migration.import_with(discord, input, &[], 1);
        assert!(
            report.contains("--workspace can name a Discord server, as in discord:1234567890"),
            "{report}"
        );
        assert!(!report.contains("Slack"), "{report}");
    }
    assert!(!migration.new.exists());
    for (input, expected) in
        [(&migration.old, "messages  5 imported"), (&file, "messages  1 imported")]
    {
        let report = migration.import(input, &[], 0);
        assert!(report.contains(expected), "{report}");
    }
    let store = migration.store().await;
    let workspaces = store.archive.workspaces().await.unwrap();
    assert_eq!(workspaces, [WorkspaceId::new("local")]);
    // A server can be identified by its number alone.
    migration.import_with(discord, &file, &["--workspace", "1234567890"], 0);
    let workspaces = migration.store().await.archive.workspaces().await.unwrap();
    assert_eq!(workspaces, ["discord:1234567890", "local"].map(WorkspaceId::new));
}

/// A config of myao2 names myao2's database. The program starts with the config but does not touch that database.
#[tokio::test]
async fn the_database_of_myao2_is_not_used_as_our_own() {
    let migration = Migration::new().await;
    let before = std::fs::read(&migration.old).unwrap();
    let config = migration.folder.path().join("config.yaml");
    let old = migration.old.display();
    let stdout = |text: String, verb: &str, code| {
        std::fs::write(&config, text).unwrap();
        let run = aizuchi().arg("--config").arg(&config).arg(verb).assert().code(code);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let listen = "http: {listen: '127.0.0.1:0'}\n";
    let report = stdout(format!("memory: {{database_path: '{old}'}}\n{listen}"), "check", 0);
    let own = migration.old.with_extension("aizuchi.db");
    assert!(report.contains(&format!("{} will be created", own.display())), "{report}");
    assert!(report.contains(&format!("`aizuchi import {old}` brings along")), "{report}");
    // A config that names it as our own database is refused.
    let report = stdout(format!("storage: {{url: 'sqlite://{old}'}}\n{listen}"), "check", 1);
    assert!(
        report.contains("is a database of myao2; have storage.url name a new file"),
        "{report}"
    );
    assert_eq!(std::fs::read(&migration.old).unwrap(), before);
}
