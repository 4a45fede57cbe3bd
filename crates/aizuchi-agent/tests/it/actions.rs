//! Who may do what in a chat: each action as a command, for each role, with the first sentence of the answer.

use aizuchi_harness::fixtures::{message, new_channel, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{Heard, Role, User, Visibility};
use insta::assert_snapshot;

const COMMANDS: &[&str] = &[
    "mute 5 minutes",
    "mute everywhere",
    "unmute",
    "unmute everywhere",
    "stop",
    "mode observe",
    "mode default",
    "opt out",
    "opt in",
    "in this channel: be kind",
    "everywhere: be kind",
    "try in this channel: be brief",
    "keep order 700",
    "drop draft 700",
    "drop order 700",
    "order 700: be kind",
    "orders",
    "settings",
    "set confidence 0.95",
    "set confidence 0.01",
    "set confidence 0.95 everywhere",
    "set model large",
    "set confidence default",
    "reset",
    "forget that",
    "forget me",
    "memory",
    "status",
    "why",
    "help",
];

/// Returns the first line of what is posted in answer.
async fn answer(harness: &Harness, number: usize, place: (&str, &str), command: &str) -> String {
    let (channel, name) = place;
    let before = harness.platform.posted_texts().len();
    let text = format!("@Aizuchi {command}");
    let id = format!("{channel}-{name}-{number}");
    harness.hear(message(top_level(channel), &id, harness.clock.now(), name, &text)).await;
    harness.pass(60).await;
    let posted = harness.platform.posted_texts();
    let first = posted.get(before).and_then(|text| text.lines().next());
    first.unwrap_or("(nothing)").to_owned()
}

#[tokio::test]
async fn each_command_is_for_those_who_may_give_it() {
    let table = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.inbox.hear(Heard::Channel(new_channel("dm", Visibility::Direct))).await.unwrap();
        let sample = message(top_level("garden"), "a0", harness.clock.now(), "root", "hello");
        let (id, kind) = (sample.author.id.clone(), sample.author.kind);
        let user = User {
            workspace: workspace(),
            id,
            name: "root".into(),
            kind,
            role: Role::Admin,
            zone: None,
        };
        harness.inbox.hear(Heard::User(user)).await.unwrap();
        let mut table = String::new();
        for (number, command) in COMMANDS.iter().enumerate() {
            table += &format!("{command}\n");
            for (role, place) in [
                ("member", ("garden", "alice")),
                ("member, directly", ("dm", "alice")),
                ("admin", ("garden", "root")),
            ] {
                let told = answer(&harness, number, place, command).await;
                table += &format!("  {role}: {told}\n");
            }
        }
        table
    });
    assert_snapshot!(table.await);
}
