//! The links from each message to its parents are stored with it, so that a restart changes nothing, and are deleted
//! with it.

use std::collections::BTreeSet;

use aizuchi_harness::fixtures::{top_level, window, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::{MessageId, UserId};
use aizuchi_store::order::Order;
use jiff::Timestamp;

/// The seconds since the previous message, whether it is in the thread of the first question, the author and the
/// text.
const TALK: [(i64, bool, &str, &str); 19] = [
    (0, false, "ann", "good morning"),
    (5, false, "bob", "hey ann"),
    (40, false, "ann", "where is the key for the shed?"),
    (20, false, "carol", "the tulips came today"),
    (8, false, "bob", "on the hook by the door"),
    (30, false, "ann", "got it, thanks!"),
    (3, false, "dan", "does anybody know when the shop opens?"),
    (3, false, "carol", "they look good"),
    (25, true, "bob", "the spare one, I mean"),
    (5, false, "carol", "who has the ladder?"),
    (5, true, "buildbot", "ticket created"),
    (5, false, "dan", "@Aizuchi are you there?"),
    (70, false, "bob", "they do"),
    (70, false, "dan", "anyone?"),
    (4, false, "carol", "dan: at nine"),
    (200, false, "eve", "my printer is broken, I cannot print anything"),
    (30, false, "carol", "ann, are you coming?"),
    (60, false, "ann", "yes"),
    (10, false, "eve", "誰か直し方を知りませんか"),
];

/// When each message's conversation is due to be judged, and the final decisions.
async fn played(mut harness: Harness, restarts: bool) -> (Vec<Option<Timestamp>>, String) {
    let mut due = Vec::new();
    for (seconds, in_thread, user, text) in TALK {
        harness.pass(seconds).await;
        if restarts {
            harness = harness.restart().await;
        }
        let mut conversation = top_level("garden");
        if in_thread {
            conversation.thread = Some(MessageId::new("m002"));
        }
        let id = harness.says_in(conversation.clone(), user, text).await;
        if text.ends_with("opens?") {
            harness.pass(1).await;
            if restarts {
                harness = harness.restart().await;
            }
            harness.edits(&id, "does anybody know when the baker opens?").await;
        }
        due.push(harness.step_of(&conversation).await.map(|step| step.due));
    }
    harness.pass(2000).await;
    (due, harness.transcript().await)
}

#[tokio::test]
async fn a_restart_after_each_message_changes_no_decision() {
    on_every_store(async |store| {
        let restarted = played(Harness::new(store).await, true).await;
        let expected = played(Harness::new(TestStore::volatile()).await, false).await;
        assert_eq!(restarted, expected);
    })
    .await;
}

async fn linked(harness: &Harness) -> BTreeSet<String> {
    let context = harness.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
    context.links.into_keys().map(|id| id.to_string()).collect()
}

#[tokio::test]
async fn links_are_made_anew_after_an_edit_and_a_deletion() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut ids = Vec::new();
        for (_, _, user, text) in &TALK[..4] {
            ids.push(harness.says(user, text).await);
        }
        let all = |ids: &[MessageId]| ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(linked(&harness).await, all(&ids));
        let before = harness.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        harness.edits(&ids[2], "where is the shed?").await;
        assert_eq!(linked(&harness).await, all(&ids[..2]));
        ids.push(harness.says("bob", "behind the house").await);
        assert_eq!(linked(&harness).await, all(&ids));
        let after = harness.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        assert_eq!(after.links[&ids[1]], before.links[&ids[1]]);
        harness.deletes(&ids[0]).await;
        assert!(linked(&harness).await.is_empty());
        ids.remove(0);
        ids.push(harness.says("ann", "thanks").await);
        assert_eq!(linked(&harness).await, all(&ids));
    })
    .await;
}

#[tokio::test]
async fn links_go_with_a_forgotten_user() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for (_, _, user, text) in &TALK[..8] {
            harness.says(user, text).await;
        }
        let (workspace, user) = (workspace(), UserId::new("u-ann"));
        let asked = harness.clock.now();
        harness.order(Order::Forget { workspace, user, asked }).await;
        harness.says("bob", "is anybody here?").await;
        let context = harness.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        let known: BTreeSet<_> = context.messages().map(|message| &message.id).collect();
        assert!(known.len() == 6 && context.links.len() == 6, "{:?}", context.links);
        let parents = context.links.values().flat_map(|links| links.parents.keys());
        assert_eq!(parents.filter(|parent| !known.contains(parent)).count(), 0);
    })
    .await;
}
