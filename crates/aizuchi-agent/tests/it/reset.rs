//! Resets: earlier messages are in no prompt and no memory, but stay visible to users.

use aizuchi_harness::fixtures::{
    JOIN, at, message, new_channel, thread, top_level, window, workspace,
};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, ConversationId, Heard, Role, User, Visibility, WorkspaceId};
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::SignedDuration;

/// An admin posts `reset`.
async fn resets(harness: &Harness, conversation: ConversationId) {
    let message = message(conversation, "a1", harness.clock.now(), "root", "@Aizuchi reset");
    let (id, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.hear(message).await;
}

#[tokio::test]
async fn only_an_admin_resets_what_others_have_said() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.says("alice", "my shed leaks").await;
        harness.pass(400).await;
        harness.says("bob", "@Aizuchi reset").await;
        harness.pass(5).await;
        harness.says("alice", "is it still dripping?").await;
        harness.pass(400).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge)[1].contains("shed"));
        resets(&harness, top_level("garden")).await;
        harness.pass(5).await;
        harness.says("alice", "is it a new day?").await;
        harness.pass(400).await;
        let judged = &harness.mind.prompt_texts(PromptVerb::Judge)[2];
        assert!(judged.contains("is it a new day?"), "{judged}");
        assert!(!judged.contains("shed") && !judged.contains("dripping"), "{judged}");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: my shed leaks
     400s bob: @Aizuchi reset
     400s (persona): Only an admin can do that.
     405s alice: is it still dripping?
     805s root: @Aizuchi reset
     805s (persona): I’ll start fresh here. From now on I won’t use anything said in this conversation before
     805s (persona): now, either to answer or to remember.
     810s alice: is it a new day?
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke by command: it was a command for me ()
    [m002] chose_silence: they get along (judge kept)
    [a1] spoke by command: it was a command for me ()
    [m003] chose_silence: they get along (judge kept)
    ");
}

/// A question from before a reset is not answered after it.
#[tokio::test]
async fn a_reset_drops_the_pending_step() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(5).await;
        resets(&harness, top_level("garden")).await;
        harness.pass(200).await;
        assert_eq!(harness.mind.verbs(), "");
        assert!(harness.store.archive.pending_steps(&workspace()).await.unwrap().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
       5s root: @Aizuchi reset
       5s (persona): I’ll start fresh here. From now on I won’t use anything said in this conversation before
       5s (persona): now, either to answer or to remember.
    [a1] spoke by command: it was a command for me ()
    [m000] dropped: the message was deleted ()
    ");
}

#[tokio::test]
async fn a_reset_drops_a_draft_in_flight() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            resets(&there, top_level("garden")).await
        });
        harness.pass(200).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s root: @Aizuchi reset
      90s (persona): I’ll start fresh here. From now on I won’t use anything said in this conversation before
      90s (persona): now, either to answer or to remember.
    [a1] spoke by command: it was a command for me (judge superseded, reply superseded)
    [m000] dropped: the message was deleted ()
    ");
}

#[tokio::test]
async fn everybody_resets_their_own_direct_messages() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        let direct = new_channel("dm", Visibility::Direct);
        harness.inbox.hear(Heard::Channel(direct)).await.unwrap();
        harness.says_in(top_level("dm"), "alice", "my key hangs behind the shed").await;
        harness.pass(5).await;
        harness.says_in(top_level("dm"), "alice", "リセット").await;
        harness.pass(5).await;
        harness.says_in(top_level("dm"), "alice", "what do you know of me?").await;
        harness.pass(5).await;
        let replied = &harness.mind.prompt_texts(PromptVerb::Reply)[1];
        assert!(!replied.contains("my key") && !replied.contains("Here I am"), "{replied}");
        let messages = harness.messages("dm").await;
        messages.iter().map(|stored| format!("{}\n", stored.message.text)).collect::<String>()
    });
    assert_snapshot!(transcript.await, @"
    my key hangs behind the shed
    Here I am.
    リセット
    ここからは新しい会話として聞きます。この会話でこれまでに話されたことは、返事にも記憶にも使いません。
    what do you know of me?
    Here I am.
    ");
}

/// A thread includes its parent, and nothing else of the top level.
#[tokio::test]
async fn resetting_a_thread_leaves_the_channel_alone() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("alice", "the shed leaks").await;
        harness.says("bob", "the beans are up").await;
        let shed = thread("garden", parent.as_str());
        harness.says_in(shed.clone(), "bob", "again?").await;
        resets(&harness, shed.clone()).await;
        harness.says_in(shed.clone(), "alice", "a new day").await;
        for (conversation, expected) in
            [(shed, "a new day"), (top_level("garden"), "the beans are up")]
        {
            let context = harness.store.store.context(&conversation, &window(50)).await.unwrap();
            let texts: Vec<_> =
                context.target_messages().iter().map(|message| &*message.text).collect();
            assert_eq!(texts, [expected]);
        }
        assert_eq!(harness.messages("garden").await.len(), 5);
    })
    .await;
}

/// A backfilled reset covers the messages before the order, however late it is heard.
#[tokio::test]
async fn a_backfilled_reset_affects_earlier_messages_only() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let direct = new_channel("dm", Visibility::Direct);
        harness.inbox.hear(Heard::Channel(direct)).await.unwrap();
        let began = harness.clock.now();
        harness.says_in(top_level("dm"), "alice", "before").await;
        harness.pass(10).await;
        harness.says_in(top_level("dm"), "alice", "after").await;
        let at = began + SignedDuration::from_secs(5);
        let late = message(top_level("dm"), "late", at, "alice", "reset");
        harness.inbox.hear(Heard::Message(late, Arrival::Backfilled)).await.unwrap();
        let context = harness.store.store.context(&top_level("dm"), &window(50)).await.unwrap();
        let texts: Vec<_> =
            context.target_messages().iter().map(|message| &*message.text).collect();
        assert_eq!(texts.last(), Some(&"after"));
        assert!(!texts.contains(&"before"), "{texts:?}");
        // A message from before the reset that is backfilled even later.
        let later = message(
            top_level("dm"),
            "later",
            began + SignedDuration::from_secs(2),
            "alice",
            "long before",
        );
        harness.inbox.hear(Heard::Message(later, Arrival::Backfilled)).await.unwrap();
        let context = harness.store.store.context(&top_level("dm"), &window(50)).await.unwrap();
        assert!(context.target_messages().iter().all(|message| &*message.text != "long before"));
    })
    .await;
}

/// A reset that is carried out late does not undo a part of a newer one.
#[tokio::test]
async fn the_newest_reset_of_each_conversation_is_listed() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let in_thread = thread("garden", "m1");
        for (conversation, second) in
            [(in_thread.clone(), 20), (top_level("garden"), 30), (top_level("garden"), 10)]
        {
            harness.order(Order::Reset { conversation, until: at(second) }).await;
        }
        let resets = harness.store.archive.resets(&workspace()).await.unwrap();
        assert_eq!(resets, [(top_level("garden"), at(30)), (in_thread, at(20))]);
        let elsewhere = WorkspaceId::new("elsewhere");
        assert!(harness.store.archive.resets(&elsewhere).await.unwrap().is_empty());
    })
    .await;
}
