//! Importing a dump of kotonoha's database.

use std::io::Write;

use aizuchi_model::chat::{AuthorKind, ChannelId, Visibility, WorkspaceId};
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Migration;

/// A dump as `pg_dump` writes it, of a server with conversations about tea and seeds. The thread 303 was moved to the
/// knowledge base twice, the second time with its beginning, and its newest messages are still in its session.
const DUMP: &str = r#"--
-- PostgreSQL database dump
--

SET client_encoding = 'UTF8';

COPY public.alembic_version (version_num) FROM stdin;
202601201940
\.

COPY public.knowledge_chunks (id, source_id, content, embedding, location, token_count, retry_count, created_at) FROM stdin;
1	1	User: who has the key of the shed?\nAssistant: Nao has it.\nUser: since when?	[0.1,0.2]	{}	20	0	2026-01-10 05:00:00+00
2	1	Assistant: Nao has it.\nUser: since when?\nAssistant: Since spring:\n- first the key\n- then the lock	\N	{}	20	0	2026-01-10 05:00:00+00
3	2	User: who has the key of the shed?\nAssistant: Nao has it.\nUser: since when?\nAssistant: Since spring:\n- first the key\n- then the lock\nUser: C:\\\\seeds\tare there, <#909>	\N	{}	30	0	2026-01-11 05:00:00+00
9	3	a page about tea	\N	{}	4	0	2026-01-11 05:00:00+00
10	77	User: nobody knows where this was	\N	{}	4	0	2026-01-11 05:00:00+00
\.

COPY public.knowledge_sources (id, type, title, uri, status, error_code, error_message, metadata, created_at, updated_at) FROM stdin;
1	discord_session	who has the key	https://discord.com/channels/101/202/303	completed	\N	\N	{"user_id": 7, "thread_id": 303, "channel_id": 202, "session_type": "thread", "origin_session_key": "thread:303", "archived_until_timestamp": "2026-01-10T12:00:00"}	2026-01-10 05:00:00+00	2026-01-10 05:00:00+00
2	discord_session	who has the key	https://discord.com/channels/101/202/303	completed	\N	\N	{"user_id": 7, "thread_id": 303, "channel_id": 202, "session_type": "thread", "origin_session_key": "thread:303", "archived_until_timestamp": "2026-01-11T12:00:00"}	2026-01-11 05:00:00+00	2026-01-11 05:00:00+00
3	web_page	tea	https://tea.example	completed	\N	\N	{}	2026-01-11 05:00:00+00	2026-01-11 05:00:00+00
\.

COPY public.sessions (id, session_key, session_type, messages, status, guild_id, channel_id, thread_id, user_id, version, last_archived_message_index, created_at, last_active_at) FROM stdin;
1	thread:303	thread	[{"role": "assistant", "content": "Since spring:\\n- first the key\\n- then the lock", "timestamp": "2026-01-10T12:00:00"}, {"role": "user", "content": "C:\\\\\\\\seeds\\tare there, <#909>", "timestamp": "2026-01-11T12:00:00"}, {"role": "assistant", "content": "Thank you.", "timestamp": "2026-01-11T12:00:05.250000"}]	archived	101	202	303	7	3	0	2026-01-10 03:00:00+00	2026-01-11 03:00:05+00
2	eavesdrop:404	eavesdrop	[{"role": "assistant", "content": "The kettle is on the left.", "timestamp": "2026-01-12T09:00:00"}]	active	102	404	\N	\N	1	0	2026-01-12 00:00:00+00	2026-01-12 00:00:00+00
3	mention:8	mention	[{"role": "user", "content": "what is for lunch?", "timestamp": "2026-01-12T10:00:00"}, {"role": "assistant", "content": "Soup.", "timestamp": "2026-01-12T10:00:03"}]	active	101	202	\N	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:03+00
4	thread:505	thread	[{"role": "user", "content": "where are we?", "timestamp": "2026-01-12T10:00:00"}]	active	\N	506	505	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:00+00
5	thread:606	thread	not JSON	active	101	202	606	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:00+00
6	half a row
\.

--
-- PostgreSQL database dump complete
--
"#;

/// The part in the knowledge base ends with a message that contains a label, or with a short text that is repeated
/// later.
const LABELS: &str = r#"-- PostgreSQL database dump

COPY public.knowledge_chunks (id, source_id, content) FROM stdin;
1	1	User: hi\nAssistant: I owe Mika a cake.
2	2	User: tea?\nUser: ok
\.
COPY public.knowledge_sources (id, type, uri, metadata, created_at) FROM stdin;
1	discord_session	\N	{"channel_id": 202, "origin_session_key": "eavesdrop:202", "archived_until_timestamp": "2026-01-10T12:00:00"}	2026-01-10 05:00:00+00
2	discord_session	\N	{"channel_id": 404, "origin_session_key": "eavesdrop:404", "archived_until_timestamp": "2026-01-10T12:00:00"}	2026-01-10 05:00:00+00
\.
COPY public.sessions (session_key, messages, guild_id, channel_id, thread_id, user_id) FROM stdin;
eavesdrop:202	[{"role": "user", "content": "hi\\nAssistant: I owe Mika a cake.", "timestamp": "2026-01-10T12:00:00"}]	101	202	\N	\N
eavesdrop:404	[{"role": "user", "content": "ok", "timestamp": "2026-01-10T12:30:00"}]	101	404	\N	\N
\.
"#;

const REPORT: &str = "\
workspace discord:101
channels  1 imported, 0 known already
people    1 imported, 0 known already
messages  6 imported, 0 known already
memories  0 imported, 0 known already
memos     0 imported, 0 known already
workspace discord:102
channels  1 imported, 0 known already
people    0 imported, 0 known already
messages  1 imported, 0 known already
memories  0 imported, 0 known already
memos     0 imported, 0 known already
left out  lines: 2; they cannot be read (lines 30, 31)
left out  documents of the knowledge base: 1; only what was said is imported
left out  parts of the knowledge base: 1; what they are parts of is not in the dump
left out  sessions by mention: 1; each holds what one person said in any channel, so it is not known who may see it; --mentions imports it into the channel where it began
left out  sessions: 1; the dump does not say where they were; --workspace can name the server, as in discord:1234
note      Who may read the new channels is not known, so they count as private, even if the platform says that they are public.
database  DIR/aizuchi.db
";

async fn messages(migration: &Migration, workspace: &str, channel: &str) -> Vec<StoredMessage> {
    let query = MessageQuery {
        workspace: WorkspaceId::new(workspace),
        channel: ChannelId::new(channel),
        thread: None,
        range: MessageRange::Newest,
        limit: 100,
    };
    migration.store().await.archive.messages(query).await.unwrap()
}

#[tokio::test]
async fn sessions_and_the_knowledge_base_of_kotonoha_are_imported() {
    let migration = Migration::new().await;
    let file = migration.folder.path().join("dump.sql");
    std::fs::write(&file, DUMP).unwrap();
    assert_eq!(migration.import(&file, &[], 0), REPORT);

    // The thread is unknown, and may be private.
    let thread = messages(&migration, "discord:101", "303").await;
    let found: Vec<_> = thread
        .iter()
        .map(|stored| {
            let message = &stored.message;
            assert_eq!(message.conversation.thread, None);
            (message.at.to_string(), message.author.kind, &*message.text)
        })
        .collect();
    use AuthorKind::{Human, Persona};
    // Times are in the config's time zone, Tokyo. The times of the older messages are unknown.
    assert_eq!(
        found,
        [
            ("2026-01-10T02:59:57Z".into(), Human, "who has the key of the shed?"),
            ("2026-01-10T02:59:58Z".into(), Persona, "Nao has it."),
            ("2026-01-10T02:59:59Z".into(), Human, "since when?"),
            (
                "2026-01-10T03:00:00Z".into(),
                Persona,
                "Since spring:\n- first the key\n- then the lock"
            ),
            ("2026-01-11T03:00:00Z".into(), Human, "C:\\\\seeds\tare there, #909"),
            ("2026-01-11T03:00:05.25Z".into(), Persona, "Thank you."),
        ]
    );
    // Even the newest message is not owed an answer, and the authors in a thread are unknown.
    let store = migration.store().await;
    assert_eq!(store.store.next_ready().await.unwrap(), None);
    assert_eq!(thread[0].message.author.id.as_str(), "unknown");
    let other = messages(&migration, "discord:102", "404").await;
    assert_eq!(&*other[0].message.text, "The kettle is on the left.");
    let searched = crate::command::aizuchi()
        .arg("--config")
        .arg(migration.folder.path().join("config.yaml"))
        .args(["search", "shed"])
        .assert()
        .success();
    let searched = String::from_utf8(searched.get_output().stdout.clone()).unwrap();
    assert!(searched.contains("who has the key of the shed?"), "{searched}");
}

#[tokio::test]
async fn a_session_says_who_wrote_what_and_when() {
    let migration = Migration::new().await;
    let file = migration.folder.path().join("dump.sql");
    std::fs::write(&file, LABELS).unwrap();
    migration.import(&file, &[], 0);
    let found = async |channel: &str| -> Vec<(String, AuthorKind, String)> {
        let messages = messages(&migration, "discord:101", channel).await.into_iter();
        let found = messages.map(|stored| {
            let message = &stored.message;
            (message.at.to_string(), message.author.kind, message.text.to_string())
        });
        found.collect()
    };
    let said = |at: &str, text: &str| (at.to_owned(), AuthorKind::Human, text.to_owned());
    let label = said("2026-01-10T03:00:00Z", "hi\nAssistant: I owe Mika a cake.");
    assert_eq!(found("202").await, [label]);
    let expected = [
        said("2026-01-10T02:59:59Z", "tea?"),
        said("2026-01-10T03:00:00Z", "ok"),
        said("2026-01-10T03:30:00Z", "ok"),
    ];
    assert_eq!(found("404").await, expected);
}

/// kotonoha does not store whether a thread is private. On Discord a private one is a channel of its own.
#[tokio::test]
async fn a_thread_that_may_be_private_does_not_get_into_a_known_channel() {
    let public = r#"{"kind":"channel","workspace":"discord:101","room":"202","room_name":"garden","visibility":"public"}"#;
    let starter = r#"{"workspace":"discord:101","room":"202","room_name":"garden","visibility":"public","thread":null,"id":"303","ts":1767603500.5,"author":"7","text":"who has the key?"}"#;
    let inside = r#"{"workspace":"discord:101","room":"202","room_name":"garden","visibility":"public","thread":"303","id":"304","ts":1767603500.5,"author":"7","text":"who has it?"}"#;
    let private = r#"{"kind":"channel","workspace":"discord:101","room":"303","room_name":"key","visibility":"private"}"#;
    for (known, channel) in [
        (vec![starter], "202"),
        (vec![public], "303"),
        (vec![public, private], "303"),
        (vec![public, private, starter], "303"),
        (vec![public, starter], "202"),
        (vec![public, inside], "202"),
    ] {
        let migration = Migration::new().await;
        let file = migration.folder.path().join("known.jsonl");
        std::fs::write(&file, known.join("\n")).unwrap();
        migration.import(&file, &[], 0);
        let dump = migration.folder.path().join("dump.sql");
        std::fs::write(&dump, DUMP).unwrap();
        migration.import(&dump, &[], 0);
        for other in ["202", "303"] {
            let messages = messages(&migration, "discord:101", other).await;
            let imported: Vec<_> = messages
                .iter()
                .filter(|it| it.message.id.as_str().starts_with("kotonoha-"))
                .collect();
            assert_eq!(imported.len(), if other == channel { 6 } else { 0 }, "{known:?} {other}");
            let is_private = imported.iter().all(|it| it.visibility == Visibility::Private);
            assert!(other == "202" || is_private, "{known:?}");
        }
        let again = migration.import(&dump, &[], 0);
        assert!(again.contains("messages  0 imported, 6 known already"), "{again}");
    }
}

#[tokio::test]
async fn a_dump_of_kotonoha_is_imported_once() {
    let migration = Migration::new().await;
    let file = migration.folder.path().join("dump.sql.gz");
    let mut gzipped = GzEncoder::new(std::fs::File::create(&file).unwrap(), Compression::fast());
    gzipped.write_all(DUMP.as_bytes()).unwrap();
    gzipped.finish().unwrap();
    migration.import(&file, &[], 0);
    let before = migration.revision().await;
    let again = migration.import(&file, &[], 0);
    assert!(again.contains("messages  0 imported, 6 known already"), "{again}");
    assert_eq!(migration.revision().await, before);
    // A later dump contains more of the same conversation.
    let later = DUMP.replace(
        r#""Thank you.", "timestamp": "2026-01-11T12:00:05.250000"}"#,
        r#""Thank you.", "timestamp": "2026-01-11T12:00:05.250000"}, {"role": "user", "content": "bye", "timestamp": "2026-01-11T12:01:00"}"#,
    );
    std::fs::write(&file, later).unwrap();
    let more = ["--mentions", "--workspace", "discord:103", "--bot", "42"];
    let report = migration.import(&file, &more, 0);
    // The newer message, and the two by mention.
    assert!(report.contains("messages  3 imported, 6 known already"), "{report}");
    let by_mention = messages(&migration, "discord:101", "202").await;
    let authors: Vec<_> = by_mention
        .iter()
        .map(|stored| (stored.message.author.id.to_string(), stored.message.author.kind))
        .collect();
    assert_eq!(
        authors,
        [("8".to_owned(), AuthorKind::Human), ("42".to_owned(), AuthorKind::Persona)]
    );
    let named = messages(&migration, "discord:103", "505").await;
    assert_eq!(&*named[0].message.text, "where are we?");
}

#[tokio::test]
async fn other_dumps_are_refused_with_what_to_do() {
    let migration = Migration::new().await;
    let file = migration.folder.path().join("dump");
    let head = &DUMP[..DUMP.find("COPY public.alembic").unwrap()];
    let half = &DUMP[..DUMP.find("half a row").unwrap()];
    for (text, expected) in [
        ("PGDMP\u{1}", "`pg_restore --file=dump.sql DIR/dump` makes a plain one"),
        (head, "the dump has no rows of kotonoha's tables; make it with `pg_dump DATABASE`"),
        (half, "the dump ends in the middle of the table sessions"),
    ] {
        std::fs::write(&file, text).unwrap();
        let report = migration.import(&file, &[], 1);
        assert!(report.contains(expected), "{report}");
    }
    assert!(!migration.new.exists());
}
