//! After an older backup is restored, the platform's history still holds what a forgotten user had written since.

use aizuchi_harness::fixtures::{message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, UserId,
};
use aizuchi_store::order::Order;
use aizuchi_store::transfer::{IfOccupied, back_up, restore};
use jiff::{SignedDuration, Timestamp};

#[tokio::test]
async fn what_a_forgotten_user_wrote_in_the_lost_time_is_not_backfilled() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        let harness = Harness::new(store).await;
        harness.says("alice", "the shed leaks").await;
        let target = harness.store.database.as_ref().unwrap().address.clone();
        let _folder = harness.store.database.clone();
        back_up(&target, &file).await.unwrap();
        // Backups and restores are made by the real clock. Dora is not in the backup.
        let forgotten = Timestamp::now();
        for name in ["alice", "dora"] {
            let user = UserId::new(format!("u-{name}"));
            let order = Order::Forget { workspace: workspace(), user, asked: forgotten };
            harness.store.store.order(order, forgotten).await.unwrap();
        }
        harness.store.finish_forgetting(forgotten).await;
        let store = harness.store.clone();
        // Nothing may use the database while it is replaced.
        drop(harness);
        store.stop().await;
        assert_eq!(restore(&file, &target, IfOccupied::Replace).await.unwrap().forgotten, 1);
        let harness = Harness::new(TestStore::reopen(&target).await).await;
        harness.store.finish_forgetting(Timestamp::now()).await;
        let minute = SignedDuration::from_mins(1);
        for (id, name, at) in [
            ("h1", "alice", forgotten - minute),
            ("h2", "bob", forgotten - minute),
            ("h3", "dora", forgotten - minute),
            ("h4", "alice", forgotten + minute),
        ] {
            let text = format!("{id} of {name}");
            let backfilled = message(top_level("garden"), id, at, name, &text);
            harness.inbox.hear(Heard::Message(backfilled, Arrival::Backfilled)).await.unwrap();
        }
        // The history names who reacted, with the time of the message.
        for (user, emoji, at) in [
            ("u-alice", "🌱", forgotten - minute),
            ("u-bob", "👍", forgotten - minute),
            ("u-dora", "🎉", forgotten - minute),
            ("u-alice", "🙏", forgotten + minute),
        ] {
            let reaction = Reaction {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                message: MessageId::new("h2"),
                user: UserId::new(user),
                kind: AuthorKind::Human,
                emoji: emoji.into(),
                at,
                change: ReactionChange::Added,
            };
            harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        }
        let stored = harness.messages("garden").await;
        let reactions = stored.iter().flat_map(|stored| &stored.reactions);
        let reactions: Vec<&str> = reactions.map(|group| &*group.emoji).collect();
        assert_eq!(reactions, ["👍", "🙏"]);
        let texts = stored.into_iter();
        let texts = texts.map(|stored| stored.message.text.to_string());
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        assert_eq!(texts, ["h2 of bob", "h4 of alice"]);
    })
    .await;
}
