//! Shared and forwarded messages in exports: their words stay their author's, as they do live.

use std::collections::HashMap;
use std::path::Path;
use std::slice::from_ref;

use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_import::to_import::arranged::Destination;
use aizuchi_import::to_import::{self, KnownHere};
use aizuchi_model::chat::{ChannelId, UserId, Visibility, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_store::order::Order;
use aizuchi_store::query::{MessageQuery, MessageRange};
use futures_util::stream;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::import::exports::{discord_channel, discord_message, write};

const WORDS: &str = "the spare key is under the fern";

async fn started(store: TestStore) -> Harness {
    let wait_settings = aizuchi_import::wait_settings();
    let options = HarnessOptions { wait_settings, ..HarnessOptions::default() };
    Harness::new(store).await.with_options(options)
}

/// Imports an export into a workspace where these channels are known.
async fn import(
    harness: &Harness,
    export: &Path,
    workspace: &WorkspaceId,
    channels: &[(&str, Visibility)],
) {
    let place = |id: &str| (workspace.clone(), ChannelId::new(id));
    let channels = channels.iter().map(|(id, visibility)| (place(id), *visibility)).collect();
    let known = KnownHere { channels, ..KnownHere::default() };
    let recorded = to_import::read_export(export, Language::En, None, &known).unwrap();
    let store = harness.store.database_store.as_ref().unwrap();
    let users = recorded.users(Some(workspace));
    let forgotten: HashMap<_, _> = store.forgotten_at(workspace, &users).await.unwrap();
    let (source, persona) = (Some(workspace.clone()), None);
    let destination = Destination { source, workspace: workspace.clone(), persona, forgotten };
    let mut arranged = recorded.arrange(vec![destination], SorterLimits::default(), None).unwrap();
    let data = arranged.data.remove(0);
    let messages = stream::iter(arranged.messages.of(0));
    let (inbox, archive) = (&harness.inbox, &*harness.store.archive);
    let cursors = &*harness.store.cursors;
    aizuchi_import::import_stream(data, messages, inbox, archive, cursors, None).await.unwrap();
}

/// The messages of a channel that anybody still reads, as `id author: text`.
async fn shown(harness: &Harness, workspace: &WorkspaceId, channel: &str) -> Vec<String> {
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: ChannelId::new(channel),
        thread: None,
        range: MessageRange::Newest,
        limit: 100,
    };
    let stored = harness.store.archive.messages(query).await.unwrap();
    let stored = stored.iter().filter(|stored| !stored.is_withheld && !stored.is_deleted);
    let lines = stored.map(|stored| {
        let message = &stored.message;
        format!("{} {}: {}", message.id, message.author.id, message.text)
    });
    lines.collect()
}

fn server() -> WorkspaceId {
    WorkspaceId::new("discord:101")
}

/// A message of the export, posted in this minute.
fn said(minute: u32, author: &str, text: &str) -> Value {
    let mut message = discord_message(&id(minute), author, text);
    message["timestamp"] = format!("2022-11-20T15:{minute}:00+00:00").into();
    message
}

fn id(minute: u32) -> String {
    format!("10439077000000000{minute}")
}

fn forwards(minute: u32, author: &str, (channel, original): (&str, u32), content: &str) -> Value {
    let mut message = said(minute, author, "");
    message["reference"] = json!({"type": "Forward", "channelId": channel, "guildId": "101",
        "messageId": id(original)});
    message["forwardedMessage"] = json!({"timestamp": "2022-11-20T15:00:00+00:00",
        "content": content, "attachments": [], "embeds": [], "stickers": [{"name": "Wave"}]});
    message
}

/// Imports words of user 7 from a thread, forwarded by others to the porch and to the attic, which only some read.
async fn import_forwards(harness: &Harness) {
    let folder = TempDir::new().unwrap();
    let porch = [
        forwards(20, "8", ("303", 10), WORDS),
        forwards(21, "9", ("202", 20), WORDS),
        forwards(22, "8", ("999", 11), "from elsewhere"),
    ];
    let attic = [forwards(23, "8", ("303", 10), WORDS)];
    let thread = [said(10, "7", WORDS)];
    write(
        folder.path(),
        &[
            ("porch.json", discord_channel("202", "porch", "GuildTextChat", "1", &porch)),
            ("thread.json", discord_channel("303", "keys", "GuildPublicThread", "202", &thread)),
            ("attic.json", discord_channel("205", "attic", "GuildTextChat", "1", &attic)),
        ],
    );
    let channels = [("202", Visibility::Public), ("205", Visibility::Private)];
    import(harness, folder.path(), &server(), &channels).await;
}

async fn shown_forwards(harness: &Harness) -> Vec<String> {
    let porch = shown(harness, &server(), "202").await;
    [porch, shown(harness, &server(), "205").await].concat()
}

fn opt_out(workspace: WorkspaceId, user: &str) -> Order {
    Order::OptOut { workspace, user: UserId::new(user) }
}

fn forget(harness: &Harness) -> Order {
    Order::Forget { workspace: server(), user: UserId::new("7"), asked: harness.clock.now() }
}

#[tokio::test]
async fn who_opts_out_or_is_forgotten_takes_what_an_export_forwards() {
    let elsewhere = format!("{} 8: [forwarded]\n> from elsewhere\n> [sticker: Wave]", id(22));
    on_every_database(async |store| {
        let harness = started(store).await;
        import_forwards(&harness).await;
        let forward = |minute: u32, author: &str| {
            format!("{} {author}: [forwarded]\n> {WORDS}\n> [sticker: Wave]", id(minute))
        };
        let original = format!("{} 7: {WORDS}", id(10));
        let porch = [original, forward(20, "8"), forward(21, "9"), elsewhere.clone()];
        let all = [&porch[..], &[forward(23, "8")]].concat();
        assert_eq!(shown_forwards(&harness).await, all);
        harness.order(opt_out(server(), "7")).await;
        assert_eq!(shown_forwards(&harness).await, from_ref(&elsewhere));
    })
    .await;
    on_every_database(async |store| {
        let harness = started(store).await;
        import_forwards(&harness).await;
        harness.order(forget(&harness)).await;
        assert_eq!(shown_forwards(&harness).await, from_ref(&elsewhere));
    })
    .await;
}

#[tokio::test]
async fn an_import_does_not_forward_words_of_who_opted_out_or_was_forgotten_before() {
    let elsewhere = format!("{} 8: [forwarded]\n> from elsewhere\n> [sticker: Wave]", id(22));
    on_every_database(async |store| {
        let harness = started(store).await;
        harness.order(opt_out(server(), "7")).await;
        import_forwards(&harness).await;
        assert_eq!(shown_forwards(&harness).await, from_ref(&elsewhere));
    })
    .await;
    on_every_database(async |store| {
        let harness = started(store).await;
        harness.order(forget(&harness)).await;
        import_forwards(&harness).await;
        assert_eq!(shown_forwards(&harness).await, from_ref(&elsewhere));
    })
    .await;
}

#[tokio::test]
async fn shares_in_an_export_of_slack_stay_their_authors() {
    let team = WorkspaceId::new("T0TEAM");
    let folder = TempDir::new().unwrap();
    let said = |ts: &str, user: &str, text: &str| json!({"type": "message", "ts": ts, "user": user, "text": text});
    let shares = |ts: &str, text: &str, attachment: Value| {
        let mut message = said(ts, "U2", text);
        message["attachments"] = json!([attachment]);
        message
    };
    let of = |ts: &str, author: Option<&str>| {
        json!({"author_id": author, "is_share": true, "channel_id": "C0123PORCH", "ts": ts,
            "text": WORDS, "fallback": WORDS})
    };
    let user = |id: &str| json!({"id": id, "team_id": "T0TEAM", "profile": {"display_name": id}});
    let tombstone = json!({"type": "message", "subtype": "tombstone", "user": "USLACKBOT",
        "ts": "1772442002.000100", "text": "This message was deleted."});
    write(
        folder.path(),
        &[
            ("users.json", json!([user("U1"), user("U2"), user("U3")])),
            ("channels.json", json!([{"id": "C0123PORCH", "name": "porch"}])),
            (
                "porch/2026-03-02.json",
                json!([
                    said("1772442000.000100", "U3", WORDS),
                    said("1772442001.000100", "U1", WORDS),
                    tombstone,
                    shares("1772442003.000100", "", of("1772442000.000100", Some("U3"))),
                    shares("1772442004.000100", "", of("1772442000.000100", None)),
                    shares("1772442005.000100", "", of("1772442001.000100", None)),
                    shares("1772442006.000100", "", of("1772442002.000100", Some("U1"))),
                    shares("1772442007.000100", "see", of("1772442000.000100", Some("U3"))),
                ]),
            ),
        ],
    );
    let shared = format!("1772442005.000100 U2: > {WORDS}");
    let seen = "1772442007.000100 U2: see".to_owned();
    on_every_database(async |store| {
        let harness = started(store).await;
        harness.order(opt_out(team.clone(), "U3")).await;
        import(&harness, folder.path(), &team, &[("C0123PORCH", Visibility::Public)]).await;
        let shown = async || shown(&harness, &team, "C0123PORCH").await;
        let told = format!("1772442001.000100 U1: {WORDS}");
        assert_eq!(shown().await, [told, shared.clone(), seen.clone()]);
        harness.order(opt_out(team.clone(), "U1")).await;
        assert_eq!(shown().await, from_ref(&seen));
    })
    .await;
}
