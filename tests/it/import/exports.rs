//! Exports of Slack and Discord are imported with the ids that the platforms give to their channels and messages.

use std::path::{Path, PathBuf};

use aizuchi_model::chat::{AuthorKind, ChannelId, Visibility, WorkspaceId};
use aizuchi_slack::from_slack::parse_history_message;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use serde_json::{Value, json};

use crate::import::Migration;

pub fn write(folder: &Path, files: &[(&str, Value)]) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    }
}

/// Imports what the database knows before: lines of an export of Aizuchi.
fn knows(migration: &Migration, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let path = migration.folder.path().join("known.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    migration.import(&path, &[], 0);
}

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

/// Each message as `id thread author kind visibility: text`.
async fn shown(migration: &Migration, workspace: &str, channel: &str) -> Vec<String> {
    let messages = messages(migration, workspace, channel).await;
    let lines = messages.iter().map(|stored| {
        let message = &stored.message;
        let thread = message.conversation.thread.as_ref().map_or("-", |thread| thread.as_str());
        let (author, kind) = (&message.author.id, message.author.kind);
        let (id, visibility, text) = (&message.id, stored.visibility, &message.text);
        format!("{id} {thread} {author} {kind:?} {visibility:?}: {text}")
    });
    lines.collect()
}

fn slack_export(folder: &Path) -> PathBuf {
    let user = |id: &str, name: &str| json!({"id": id, "team_id": "T0TEAM", "profile": {"display_name": name}});
    let said = |ts: &str, user: &str, text: &str| json!({"type": "message", "ts": ts, "user": user, "text": text});
    let mut reply = said("1772442001.000200", "U2", "<@U1> in the shed");
    reply["thread_ts"] = "1772442000.000100".into();
    let mut own = said("1772442002.000300", "UBOT", "Shall I remind you?");
    own["bot_id"] = "B1".into();
    let edited = json!({"type": "message", "subtype": "message_changed", "ts": "1772442009.000000",
        "message": said("1772442003.000400", "U1", "tea at 5, <#C0123PORCH|> or <#G0123STAFF|>")});
    let deleted = json!({"type": "message", "subtype": "message_deleted", "ts": "1772442009.000100",
        "deleted_ts": "1772442004.000500"});
    let export = folder.join("slack");
    write(
        &export,
        &[
            ("users.json", json!([user("U1", "Mika"), user("U2", "Ren"), user("U3", "Nao")])),
            (
                "channels.json",
                json!([{"id": "C0123PORCH", "name": "porch"},
                {"id": "C0123OPEN", "name": "open", "is_ext_shared": true}]),
            ),
            ("groups.json", json!([{"id": "G0123STAFF", "name": "staff"}])),
            (
                "dms.json",
                json!([{"id": "D0123DIRECT", "members": ["U1", "UBOT"]},
                {"id": "D0123OTHERS", "members": ["U1", "U2"]}]),
            ),
            (
                "porch/2026-03-02.json",
                json!([
                    said("1772442000.000100", "U1", "who has the <https://ladder.example|ladder>?"),
                    reply, own,
                    said("1772442003.000400", "U1", "tea at 4"),
                    said("1772442004.000500", "U1", "my secret"),
                    said("1772442005.000600", "U3", "I opted out"),
                    {"type": "message", "subtype": "channel_join", "ts": "1772442006.000700", "user": "U2",
                        "text": "<@U2> has joined the channel"},
                    edited, deleted,
                ]),
            ),
            ("open/2026-03-02.json", json!([said("1772442010.000100", "U1", "hello, partners")])),
            ("staff/2026-03-02.json", json!([said("1772442011.000100", "U1", "budget")])),
            ("D0123DIRECT/2026-03-02.json", json!([said("1772442012.000100", "U1", "hi bot")])),
            ("D0123OTHERS/2026-03-02.json", json!([said("1772442014.000100", "U1", "just us")])),
            ("attic/2026-03-02.json", json!([said("1772442013.000100", "U1", "in no list")])),
        ],
    );
    export
}

/// A channel that the database knows.
fn known(workspace: &str, id: &str, visibility: &str) -> Value {
    json!({"kind": "channel", "workspace": workspace, "room": id, "room_name": id, "visibility": visibility})
}

#[tokio::test]
async fn an_export_of_slack_is_imported_under_its_own_ids() {
    let migration = Migration::new().await;
    knows(
        &migration,
        &[
            json!({"kind": "user", "workspace": "T0TEAM", "id": "UBOT", "name": "Mio", "is": "persona", "role": "member"}),
            json!({"kind": "opt_out", "workspace": "T0TEAM", "user": "U3"}),
            known("T0TEAM", "C0123OPEN", "private"),
            known("T0TEAM", "G0123STAFF", "private"),
            known("T0TEAM", "D0123DIRECT", "direct"),
        ],
    );
    let export = slack_export(migration.folder.path());
    let report = migration.import(&export, &[], 0);
    assert!(report.contains("messages  8 imported, 0 known already"), "{report}");
    assert!(report.contains("channels: 2; who may read them is not known"), "{report}");
    assert!(!report.contains("count as private"), "{report}");
    let of = async |channel: &str| shown(&migration, "T0TEAM", channel).await;
    assert_eq!(
        of("C0123PORCH").await,
        [
            "1772442000.000100 - U1 Human Public: who has the ladder (https://ladder.example)?",
            "1772442001.000200 1772442000.000100 U2 Human Public: @Mika in the shed",
            "1772442002.000300 - UBOT Persona Public: Shall I remind you?",
            "1772442003.000400 - U1 Human Public: tea at 5, #porch or #G0123STAFF",
            // Withheld, as it is live.
            "1772442005.000600 - U3 Human Public: ",
        ]
    );
    assert_eq!(of("C0123OPEN").await, ["1772442010.000100 - U1 Human Private: hello, partners"]);
    assert_eq!(of("G0123STAFF").await, ["1772442011.000100 - U1 Human Private: budget"]);
    assert_eq!(of("D0123DIRECT").await, ["1772442012.000100 - U1 Human Direct: hi bot"]);
    assert_eq!(of("D0123OTHERS").await, [""; 0]);
    // The adapter reads the same ids and times from Slack's history.
    let raw = json!({"type": "message", "ts": "1772442001.000200", "user": "U2",
        "text": "<@U1> in the shed", "thread_ts": "1772442000.000100"});
    let live = parse_history_message(&ChannelId::new("C0123PORCH"), raw).unwrap();
    let reply = &messages(&migration, "T0TEAM", "C0123PORCH").await[1].message;
    assert_eq!(
        (&reply.id, reply.at, &reply.conversation.thread),
        (&live.id, live.at, &live.thread)
    );
    assert_eq!(reply.author.id, live.author);

    // Nothing follows from old messages, and nothing is imported twice.
    let store = migration.store().await;
    assert_eq!(store.store.next_ready().await.unwrap(), None);
    assert_eq!(store.store.next_memory_job().await.unwrap(), None);
    let before = migration.revision().await;
    let again = migration.import(&export, &[], 0);
    assert!(again.contains("messages  0 imported, 8 known already"), "{again}");
    assert_eq!(migration.revision().await, before);
    let everything = of("C0123PORCH").await.join("\n");
    assert!(!everything.contains("my secret") && !everything.contains("tea at 4"), "{everything}");
}

#[tokio::test]
async fn an_export_of_slack_without_its_team_needs_the_workspace() {
    let migration = Migration::new().await;
    let export = slack_export(migration.folder.path());
    std::fs::remove_file(export.join("users.json")).unwrap();
    let refused = migration.import(&export, &[], 1);
    assert!(
        refused.contains("does not say which Slack team it is of; give --workspace"),
        "{refused}"
    );
    migration.import(&export, &["--workspace", "T0TEAM", "--bot", "UBOT"], 0);
    let own = &messages(&migration, "T0TEAM", "C0123PORCH").await[2];
    assert_eq!(own.message.author.kind, AuthorKind::Persona);
    let teams = [("teams/a/channels.json", json!([])), ("teams/b/channels.json", json!([]))];
    write(&export, &teams);
    let refused = migration.import(&export, &["--workspace", "T0TEAM"], 1);
    assert!(refused.contains("several workspaces of an organization"), "{refused}");
}

pub fn discord_channel(
    id: &str,
    name: &str,
    kind: &str,
    parent: &str,
    messages: &[Value],
) -> Value {
    json!({
        "guild": {"id": "101", "name": "Harbor"},
        "channel": {"id": id, "name": name, "type": kind, "categoryId": parent, "category": "porch"},
        "messages": messages,
    })
}

pub fn discord_message(id: &str, author: &str, text: &str) -> Value {
    json!({"id": id, "type": "Default", "timestamp": "2022-11-20T15:18:06.123+00:00", "content": text,
        "author": {"id": author, "name": "mika", "nickname": "Mika", "isBot": author == "900"}})
}

#[tokio::test]
async fn an_export_of_discord_is_imported_where_the_database_knows_who_may_read_it() {
    let migration = Migration::new().await;
    let porch = discord_message("1043907700000000001", "7", "who has the ladder?");
    let own = discord_message("1043907700000000002", "900", "Ren has it.");
    let inside = discord_message("1043907700000000003", "7", "since when?");
    let secret = discord_message("1043907700000000004", "7", "between us");
    let staff = discord_message("1043907700000000005", "7", "budget");
    let hidden = discord_message("1043907700000000006", "7", "unseen");
    let direct = discord_message("1043907700000000007", "7", "hi bot");
    let others = discord_message("1043907700000000008", "7", "just us");
    let hook = json!({"id": "1043907700000000009", "type": "Default",
        "timestamp": "2022-11-20T15:18:07.123+00:00", "content": "build failed", "author":
            {"id": "9", "name": "ci", "nickname": "ci", "isBot": true, "discriminator": "0000"}});
    let export = migration.folder.path().join("discord");
    write(
        &export,
        &[
            (
                "porch.json",
                discord_channel("202", "porch", "GuildTextChat", "1", &[porch, own, hook]),
            ),
            (
                "thread.json",
                discord_channel("303", "ladder", "GuildPublicThread", "202", &[inside]),
            ),
            ("private.json", discord_channel("304", "us", "GuildPrivateThread", "202", &[secret])),
            ("staff.json", discord_channel("205", "staff", "GuildTextChat", "1", &[staff])),
            ("hidden.json", discord_channel("206", "hidden", "GuildTextChat", "1", &[hidden])),
            ("direct.json", discord_channel("207", "mika", "DirectTextChat", "1", &[direct])),
            ("others.json", discord_channel("208", "ren", "DirectTextChat", "1", &[others])),
        ],
    );
    let alone = Migration::new().await;
    let refused = alone.import(&export.join("porch.json"), &[], 1);
    assert!(refused.contains("channels, 1: who may read them is not known"), "{refused}");
    knows(
        &migration,
        &[
            known("discord:101", "202", "public"),
            known("discord:101", "205", "private"),
            known("discord:101", "304", "private"),
            known("discord:direct", "207", "direct"),
            json!({"kind": "user", "workspace": "discord:101", "id": "900", "name": "Mio", "is": "persona", "role": "member"}),
        ],
    );
    let report = migration.import(&export, &[], 0);
    assert!(report.contains("channels: 2; who may read them is not known"), "{report}");
    let of = async |workspace: &str, channel: &str| shown(&migration, workspace, channel).await;
    let server = "discord:101";
    assert_eq!(
        of(server, "202").await,
        [
            "1043907700000000001 - 7 Human Public: who has the ladder?",
            "1043907700000000002 - 900 Persona Public: Ren has it.",
            "1043907700000000003 303 7 Human Public: since when?",
            "1043907700000000009 - 9:ci Bot Public: build failed",
        ]
    );
    assert_eq!(of(server, "304").await, ["1043907700000000004 - 7 Human Private: between us"]);
    assert_eq!(of(server, "205").await, ["1043907700000000005 - 7 Human Private: budget"]);
    assert_eq!(of(server, "206").await, [""; 0]);
    let direct = of("discord:direct", "207").await;
    assert_eq!(direct, ["1043907700000000007 - 7 Human Direct: hi bot"]);
    let is_direct = |stored: &StoredMessage| stored.visibility == Visibility::Direct;
    assert!(messages(&migration, "discord:direct", "207").await.iter().all(is_direct));
    let store = migration.store().await;
    assert_eq!(store.store.next_ready().await.unwrap(), None);
    let before = migration.revision().await;
    let again = migration.import(&export, &[], 0);
    assert!(again.matches(" 0 imported").count() >= 6, "{again}");
    assert_eq!(migration.revision().await, before);
}
