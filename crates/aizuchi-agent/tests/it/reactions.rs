//! Reactions on every store: each is stored once, in order, and disturbs nothing.

use std::fmt::Write as _;

use ReactionChange::{Added, Removed};
use aizuchi_harness::fixtures::{JOIN, at, message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    AuthorKind, ConversationId, Heard, Message, MessageId, Reaction, ReactionChange, Role, User,
    UserId,
};
use aizuchi_model::flow::Disposition;
use aizuchi_model::memory::{Lineage, MessageRef};
use aizuchi_store::{HearReceipt, InboxEntry};

#[tokio::test]
async fn each_reaction_is_stored_once_in_the_order_of_its_first_use() {
    on_every_store(async |store| {
        store.names("u-bob", "Bob", AuthorKind::Human).await;
        store.names("persona", "Aizuchi", AuthorKind::Persona).await;
        let harness = Harness::new(store.clone()).await;
        let message = harness.says("alice", "the roses bloom").await;
        // What was heard, whether it changed anything, and the reactions afterwards.
        for (second, user, emoji, change, is_new, shown) in [
            (5, "u-bob", "🎉", Removed, false, ""),
            (5, "u-bob", "🎉", Added, true, "🎉 Bob"),
            (5, "u-bob", "🎉", Added, false, "🎉 Bob"),
            (9, "persona", "👀", Added, true, "🎉 Bob; 👀 Aizuchi*"),
            // Her name is unknown.
            (7, "u-carol", "👀", Added, true, "🎉 Bob; 👀 u-carol, Aizuchi*"),
            (8, "u-carol", "🎉", Added, true, "🎉 Bob, u-carol; 👀 u-carol, Aizuchi*"),
            // An older event.
            (4, "u-bob", "🎉", Removed, false, "🎉 Bob, u-carol; 👀 u-carol, Aizuchi*"),
            (10, "u-bob", "🎉", Removed, true, "👀 u-carol, Aizuchi*; 🎉 u-carol"),
            (11, "u-bob", "🎉", Removed, false, "👀 u-carol, Aizuchi*; 🎉 u-carol"),
            (5, "u-bob", "🎉", Added, false, "👀 u-carol, Aizuchi*; 🎉 u-carol"),
            (10, "u-bob", "🎉", Added, true, "👀 u-carol, Aizuchi*; 🎉 u-carol, Bob"),
        ] {
            let reaction = reaction(&message, second, user, emoji, change);
            let before = *store.store.revisions().borrow();
            let receipt = store.reacts(reaction.clone()).await;
            assert_eq!(receipt.is_new, is_new, "{reaction:?}");
            assert_eq!(receipt.revision, before + u64::from(is_new), "{reaction:?}");
            assert_eq!(store.reactions(&message).await, shown, "{reaction:?}");
        }
        let store = store.restart().await;
        assert_eq!(store.reactions(&message).await, "👀 u-carol, Aizuchi*; 🎉 u-carol, Bob");
    })
    .await;
}

#[tokio::test]
async fn a_reaction_is_deleted_with_its_message() {
    on_every_store(async |store| {
        let harness = Harness::new(store.clone()).await;
        let message = harness.says("alice", "the roses bloom").await;
        let react = async |message: &MessageId| {
            store.reacts(reaction(message, 5, "u-bob", "🎉", Added)).await.is_new
        };
        assert!(react(&message).await);
        harness.deletes(&message).await;
        assert_eq!(store.reactions(&message).await, "");
        assert!(!react(&message).await);
        assert_eq!(store.reactions(&message).await, "");
        let Some(database) = &store.database else { return };
        assert_eq!(database.count("SELECT count(*) AS n FROM reactions").await, 0);
    })
    .await;
}

/// A platform may report a reaction before its message is stored: it shows our posts before its response reaches us,
/// and users go on during a backfill.
#[tokio::test]
async fn a_reaction_that_arrives_before_its_message_waits_for_it() {
    on_every_store(async |store| {
        let harness = Harness::new(store.clone()).await;
        let sentence = sentence("m1");
        let id = sentence.id.clone();
        let before = *store.store.revisions().borrow();
        for (message, second, user, emoji, change) in [
            (&id, 5, "u-bob", "🎉", Added),
            (&id, 6, "u-carol", "🎉", Added),
            (&id, 6, "u-bob", "👀", Added),
            (&id, 7, "u-bob", "👀", Removed),
            // An older event.
            (&id, 6, "u-bob", "👀", Added),
            // Removed before it was added.
            (&id, 8, "u-bob", "👍", Removed),
            (&MessageId::new("m2"), 8, "u-bob", "👍", Added),
        ] {
            let receipt = store.reacts(reaction(message, second, user, emoji, change)).await;
            assert_eq!(
                (receipt.is_new, receipt.revision),
                (false, before),
                "an early reaction is not visible yet"
            );
        }
        let harness = harness.restart().await;
        let store = harness.store.clone();
        harness.hear(sentence).await;
        assert_eq!(store.reactions(&id).await, "🎉 u-bob, u-carol");
        let since = store.archive.messages_since(&workspace(), before, 9).await.unwrap();
        let shown: Vec<_> =
            since.iter().map(|stored| (stored.revision, stored.reactions.len())).collect();
        assert_eq!(shown, [(before + 1, 1)], "it came with them");
        // From now on it is a message like any other.
        assert!(store.reacts(reaction(&id, 9, "u-carol", "🎉", Removed)).await.is_new);
        assert_eq!(store.reactions(&id).await, "🎉 u-bob");
    })
    .await;
}

/// It is unknown which messages will arrive. An early reaction expires after a day, once prompts are dropped.
#[tokio::test]
async fn an_early_reaction_expires() {
    on_every_database(async |store| {
        let harness = Harness::new(store.clone()).await;
        let messages = ["old", "young", "known"].map(sentence);
        const DAY: i64 = 24 * 3600;
        for (message, second) in messages.iter().zip([0, 1, 0]) {
            store.reacts(reaction(&message.id, second, "u-bob", "🎉", Added)).await;
        }
        let [old, young, known] = messages;
        harness.hear(known.clone()).await;
        store.store.drop_exchanges(at(DAY), u64::MAX).await.unwrap();
        store.store.drop_exchanges(at(DAY + 1), u64::MAX).await.unwrap();
        for (message, shown) in [(old, ""), (young, "🎉 u-bob")] {
            harness.hear(message.clone()).await;
            assert_eq!(store.reactions(&message.id).await, shown, "{message:?}");
        }
        assert_eq!(store.reactions(&known.id).await, "🎉 u-bob");
        let Some(database) = &store.database else { return };
        let early = "SELECT count(*) AS n FROM reactions WHERE is_early = 1";
        // The newer one is checked next time.
        assert_eq!(database.count(early).await, 1);
        store.store.drop_exchanges(at(DAY + 2), u64::MAX).await.unwrap();
        assert_eq!(database.count(early).await, 0);
        assert_eq!(database.count("SELECT count(*) AS n FROM reactions").await, 2);
    })
    .await;
}

/// Users see a post before the process knows that it has posted.
#[tokio::test]
async fn a_reaction_to_a_post_that_is_not_stored_yet_counts() {
    on_every_store(async |store| {
        let harness = Harness::new(store.clone()).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "when do I cut the roses?").await;
        let there = harness.clone();
        harness.platform.meanwhile(move || async move {
            there.reacts(&MessageId::new("p000"), "bob", "🎉").await;
        });
        harness.pass(1000).await;
        let messages = harness.messages("garden").await;
        let post = messages.iter().find(|stored| stored.message.author.kind == AuthorKind::Persona);
        assert_eq!(store.reactions(&post.unwrap().message.id).await, "🎉 u-bob");
        let decision = harness.decisions("garden").await.pop().unwrap();
        assert_eq!(decision.follow_up.reactions, 1, "{decision:?}");
    })
    .await;
}

#[tokio::test]
async fn reactions_raise_the_revision_and_do_not_invalidate_drafts() {
    on_every_store(async |store| {
        let harness = Harness::new(store.clone()).await;
        let (first, second, third) = (
            harness.says("alice", "one").await,
            harness.says("alice", "two").await,
            harness.says("alice", "three").await,
        );
        let since = async |revision: u64, limit: usize| {
            let messages =
                store.archive.messages_since(&workspace(), revision, limit).await.unwrap();
            let ids = messages.iter().map(|stored| stored.message.id.clone());
            let ids: Vec<MessageId> = ids.collect();
            (ids, messages.iter().map(|stored| stored.revision).collect::<Vec<_>>())
        };
        let before = *store.store.revisions().borrow();
        let due = store.store.next_ready().await.unwrap();
        let receipt = store.reacts(reaction(&first, 5, "u-bob", "👍", Added)).await;
        assert!(!receipt.has_superseded);
        assert_eq!(since(before, 9).await, (vec![first.clone()], vec![before + 1]));
        // Each message once, at its last change, however small a page is.
        let all = since(0, 9).await;
        assert_eq!(all.0, [second.clone(), third.clone(), first.clone()]);
        assert_eq!(since(0, 2).await.0, all.0[..2]);
        assert_eq!(since(all.1[1], 2).await.0, all.0[2..]);

        let made_from = Lineage {
            messages: vec![MessageRef(top_level("garden").channel, first.clone())],
            ..Lineage::default()
        };
        let has_changed = async || {
            store.store.has_changed_since(&top_level("garden"), before, &made_from).await.unwrap()
        };
        assert!(!has_changed().await);
        assert_eq!(harness.messages("garden").await[0].message.edits, 0);
        // It neither restarted a wait nor created a memory job.
        assert_eq!(store.store.next_ready().await.unwrap(), due);
        assert_eq!(store.store.next_memory_job().await.unwrap(), None);
        // An edit still counts, and comes last.
        harness.edits(&first, "one more").await;
        assert!(has_changed().await);
        assert_eq!(since(before + 1, 9).await, (vec![first.clone()], vec![before + 2]));
        assert_eq!(store.reactions(&first).await, "👍 u-bob");
    })
    .await;
}

#[tokio::test]
async fn reactions_do_not_cancel_work_in_flight() {
    let mut transcripts = Vec::new();
    for people_react in [false, true] {
        let transcript = on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            let message = harness.says("alice", "when do I cut the roses?").await;
            if people_react {
                for (verb, emoji) in [(PromptVerb::Judge, "🎉"), (PromptVerb::Reply, "👀")] {
                    let (there, message) = (harness.clone(), message.clone());
                    harness.mind.meanwhile(verb, move || async move {
                        there.reacts(&message, "bob", emoji).await;
                    });
                }
                let (there, message) = (harness.clone(), message.clone());
                harness.platform.meanwhile(move || async move {
                    there.reacts(&message, "carol", "👍").await;
                });
            }
            harness.pass(1000).await;
            let expected = if people_react { "🎉 u-bob; 👀 u-bob; 👍 u-carol" } else { "" };
            assert_eq!(harness.store.reactions(&message).await, expected);
            harness.transcript().await
        });
        transcripts.push(transcript.await);
    }
    assert!(transcripts[0].contains("(persona): Here I am."), "{}", transcripts[0]);
    assert_eq!(transcripts[0], transcripts[1]);
}

/// Only on SQLite: the test reads its file.
#[tokio::test]
async fn a_forgotten_users_reactions_are_deleted() {
    let store = TestStore::sqlite().await;
    let harness = Harness::new(store.clone()).await;
    let message = harness.says("alice", "the roses bloom").await;
    let other = harness.says("bob", "and the beans").await;
    for (message, user) in [(&message, "u-bob"), (&message, "u-zebedee"), (&other, "u-zebedee")] {
        store.reacts(reaction(message, 5, user, "🎉", Added)).await;
    }
    store.reacts(reaction(&message, 5, "u-zebedee", "👀", Added)).await;
    store.reacts(reaction(&message, 6, "u-zebedee", "👀", Removed)).await;
    let database = store.database.clone().unwrap();
    let before = *store.store.revisions().borrow();
    store.clone().stop().await;
    database.forget("u-zebedee").await;
    let bytes = std::fs::read(database.path()).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("zebedee"));

    let store = store.restart().await;
    assert_eq!(store.reactions(&message).await, "🎉 bob");
    assert_eq!(store.reactions(&other).await, "");
    // Pages that reconnect see the change.
    assert_eq!(store.archive.messages_since(&workspace(), before, 9).await.unwrap().len(), 2);
}

fn reaction(
    message: &MessageId,
    second: i64,
    user: &str,
    emoji: &str,
    change: ReactionChange,
) -> Reaction {
    Reaction {
        workspace: workspace(),
        channel: top_level("garden").channel,
        message: message.clone(),
        user: UserId::new(user),
        kind: if user == "persona" { AuthorKind::Persona } else { AuthorKind::Human },
        emoji: emoji.into(),
        at: at(second),
        change,
    }
}

fn sentence(id: &str) -> Message {
    message(top_level("garden"), id, at(0), "alice", "the roses bloom")
}

/// Test helpers for a store.
trait ReactionStoreExt {
    async fn reacts(&self, reaction: Reaction) -> HearReceipt;
    async fn names(&self, id: &str, name: &str, kind: AuthorKind);
    async fn reactions(&self, message: &MessageId) -> String;
    async fn reactions_in(&self, conversation: &ConversationId, message: &MessageId) -> String;
}

impl ReactionStoreExt for TestStore {
    async fn reacts(&self, reaction: Reaction) -> HearReceipt {
        let follows = Disposition::NotAMessage;
        let hearing = InboxEntry::new(Heard::Reaction(reaction), follows, at(0));
        self.store.hear(hearing).await.unwrap()
    }

    async fn names(&self, id: &str, name: &str, kind: AuthorKind) {
        let (id, role) = (UserId::new(id), Role::Member);
        let user = User { workspace: workspace(), id, name: name.into(), kind, role, zone: None };
        let follows = Disposition::NotAMessage;
        self.store.hear(InboxEntry::new(Heard::User(user), follows, at(0))).await.unwrap();
    }

    /// The reactions to a message, with a star for the persona.
    async fn reactions(&self, message: &MessageId) -> String {
        self.reactions_in(&top_level("garden"), message).await
    }

    async fn reactions_in(&self, conversation: &ConversationId, message: &MessageId) -> String {
        let message =
            self.archive.message(&conversation.workspace, &conversation.channel, message).await;
        let mut text = String::new();
        for reacted in message.unwrap().unwrap().reactions {
            let users = reacted.users.iter().map(|user| match user.kind {
                AuthorKind::Persona => format!("{}*", user.name),
                AuthorKind::Human | AuthorKind::Bot => user.name.to_string(),
            });
            let users: Vec<String> = users.collect();
            let _ = write!(text, "; {} {}", reacted.emoji, users.join(", "));
        }
        text.split_off(text.len().min(2))
    }
}

/// Test helpers for a harness.
trait ReactionExt {
    async fn reacts(&self, message: &MessageId, user: &str, emoji: &str);
}

impl ReactionExt for Harness {
    async fn reacts(&self, message: &MessageId, user: &str, emoji: &str) {
        let at = self.clock.now();
        let reaction = reaction(message, 0, &format!("u-{user}"), emoji, Added);
        self.inbox.hear(Heard::Reaction(Reaction { at, ..reaction })).await.unwrap();
    }
}
