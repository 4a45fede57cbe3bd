//! A report without private messages: a channel was made public, and an edit creates an owed answer to an earlier
//! message.

use aizuchi_harness::fixtures::{mentions, new_channel, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{Edit, Heard, MessageId, Visibility};
use aizuchi_past::report::from_ledger::ChannelLedger;

#[tokio::test]
async fn what_was_decided_about_an_older_private_message_is_left_out() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let attic = new_channel("attic", Visibility::Private);
        harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
        let asked = harness.says_in(top_level("attic"), "alice", "is it dry up there?").await;
        // The decision is to stay silent.
        harness.pass(400).await;
        let attic = new_channel("attic", Visibility::Public);
        harness.inbox.hear(Heard::Channel(attic.clone())).await.unwrap();
        harness.pass(5).await;
        let since = harness.clock.now();
        harness.pass(5).await;
        let later = harness.says_in(top_level("attic"), "bob", "@Aizuchi is there room?").await;
        harness.pass(30).await;
        let text = "@Aizuchi is it dry up there?";
        let edit = Edit {
            conversation: top_level("attic"),
            message: asked.clone(),
            at: harness.clock.now(),
            made_at: harness.clock.now(),
            text: text.into(),
            mentions: mentions(text),
            attachments: None,
        };
        harness.inbox.hear(Heard::Edit(edit)).await.unwrap();
        harness.pass(60).await;
        let archive = &*harness.store.archive;
        let read = async || ChannelLedger::read(archive, &workspace(), &attic, since).await;
        let about = |ledger: ChannelLedger| {
            let decisions = ledger.decisions.into_iter();
            decisions.flat_map(|decision| decision.messages).collect::<Vec<MessageId>>()
        };
        let all = about(read().await.unwrap());
        assert!(all.contains(&asked), "{all:?}");
        let public = about(read().await.unwrap().public());
        assert!(public.contains(&later) && !public.contains(&asked), "{public:?}");
    })
    .await;
}
