//! How a store announces that something was withdrawn, so that no copy of it stays visible.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, new_channel, top_level, until, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::Visibility::{Private, Public};
use aizuchi_model::chat::{
    AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, Role, User, UserId,
};
use aizuchi_model::flow::Disposition;
use aizuchi_store::InboxEntry;
use aizuchi_store::expiry::Expiry;
use aizuchi_store::order::Order;
use aizuchi_store::private_reads::{PrivateRead, PrivateText};

use crate::store_commands::{PromisesExt, deletion, edit, silent};

async fn hear(store: &TestStore, heard: Heard, second: i64) {
    let disposition = match &heard {
        Heard::Message(..) | Heard::Edit(_) | Heard::Deletion(_) => {
            Disposition::Judge(until(at(second + 60)))
        }
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => Disposition::NotAMessage,
    };
    store.store.hear(InboxEntry::new(heard, disposition, at(second))).await.unwrap();
}

fn user(name: &str) -> Heard {
    let (id, name): (_, Arc<str>) = (UserId::new("u-alice"), name.into());
    let (kind, role) = (AuthorKind::Human, Role::Member);
    Heard::User(User { workspace: workspace(), id, name, kind, role, zone: None })
}

fn reaction() -> Heard {
    Heard::Reaction(Reaction {
        workspace: workspace(),
        channel: ChannelId::new("garden"),
        message: MessageId::new("1"),
        user: UserId::new("u-bob"),
        kind: AuthorKind::Human,
        emoji: "👍".into(),
        at: at(3),
        change: ReactionChange::Added,
    })
}

fn count(store: &TestStore) -> u64 {
    *store.store.erasures().borrow()
}

#[tokio::test]
async fn what_only_adds_erases_nothing() {
    on_every_database(async |store| {
        hear(&store, Heard::Channel(new_channel("garden", Public)), 0).await;
        hear(&store, user("alice"), 0).await;
        let (before, revision) = (count(&store), *store.store.revisions().borrow());
        store.hear_human("1", 1, "the kettle is on").await;
        hear(&store, reaction(), 3).await;
        // No new information.
        hear(&store, Heard::Channel(new_channel("garden", Public)), 4).await;
        hear(&store, user("alice"), 4).await;
        hear(&store, edit("unknown", 5), 5).await;
        let read = PrivateRead {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            reader: "ada".into(),
            what: PrivateText::Messages,
        };
        store.store.order(Order::NotePrivateRead(read), at(6)).await.unwrap();
        let mute =
            Order::Mute { workspace: workspace(), channel: None, until: at(50), by: Role::Admin };
        store.store.order(mute, at(7)).await.unwrap();
        let claims = store.claim(1000).await;
        store.complete(&claims[0], silent("they get along"), 1001).await;
        let expiry = Expiry { before: at(-1000), now: at(1002) };
        store.store.expire_next(expiry).await.unwrap();
        assert_eq!(count(&store), before);
        assert!(*store.store.revisions().borrow() > revision + 3);
    })
    .await;
}

#[tokio::test]
async fn each_way_to_take_something_back_is_told() {
    on_every_database(async |store| {
        hear(&store, Heard::Channel(new_channel("garden", Public)), 0).await;
        hear(&store, user("alice"), 0).await;
        for (id, second) in [("1", 1), ("2", 2), ("3", 3)] {
            store.hear_human(id, second, "the kettle is on").await;
        }
        let mut before = count(&store);
        let mut expect_told = |what: &str| {
            let now = count(&store);
            assert!(now > before, "{what}");
            before = now;
        };
        hear(&store, edit("1", 10), 10).await;
        expect_told("an edit");
        hear(&store, deletion("1", 11), 11).await;
        expect_told("a deletion");
        hear(&store, user("alicia"), 12).await;
        expect_told("another name");
        hear(&store, Heard::Channel(new_channel("garden", Private)), 13).await;
        expect_told("a channel that turned private");
        let expiry = Expiry { before: at(3), now: at(14) };
        store.store.expire_next(expiry).await.unwrap();
        expect_told("retention");
        let (workspace, user) = (workspace(), UserId::new("u-alice"));
        for (what, order) in [
            ("a reset", Order::Reset { conversation: top_level("garden"), until: at(15) }),
            (
                "an order that somebody signed",
                Order::Signed {
                    order: Box::new(Order::Redact {
                        workspace: workspace.clone(),
                        user: user.clone(),
                    }),
                    by: "ada".into(),
                },
            ),
            ("opting out", Order::OptOut { workspace: workspace.clone(), user: user.clone() }),
            ("being forgotten", Order::Forget { workspace, user, asked: at(16) }),
        ] {
            store.store.order(order, at(16)).await.unwrap();
            expect_told(what);
        }
    })
    .await;
}

/// A reader that waits for the revision finds the erasure already counted.
#[tokio::test]
async fn an_erasure_is_told_before_its_revision() {
    on_every_store(async |store| {
        store.hear_human("1", 1, "the kettle is on").await;
        let (erasures, mut revisions) = (store.store.erasures(), store.store.revisions());
        let before = *erasures.borrow();
        revisions.mark_unchanged();
        let (seen, ()) = tokio::join!(
            async {
                revisions.changed().await.unwrap();
                *erasures.borrow()
            },
            hear(&store, deletion("1", 2), 2)
        );
        assert_eq!(seen, before + 1);
    })
    .await;
}
