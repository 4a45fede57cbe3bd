//! Answers are in the language of the question, other texts in the one that people write: in the thread, in the channel,
//! or else elsewhere in the workspace. On every store, on the default settings.

use std::sync::Arc;

use aizuchi_harness::fixtures::{thread, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions, PERSONA_USER_ID};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_model::chat::UserId;
use aizuchi_model::persona::Language;
use aizuchi_model::persona::written::language_of;

async fn newest_post(harness: &Harness, channel: &str) -> Option<Language> {
    let posts = harness.messages(channel).await;
    let own = posts.iter().rev().find(|it| it.message.author.id.as_str() == PERSONA_USER_ID);
    language_of(&own?.message.text)
}

#[tokio::test]
async fn whoever_asks_is_answered_in_the_language_of_the_question() {
    on_every_store(async |store| {
        let options =
            HarnessOptions { llm: Some(Arc::new(BuiltinMind)), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        for (asker, text, expected) in [
            ("hana", "@Aizuchi あなたは誰ですか？", Language::Ja),
            ("alice", "@Aizuchi who are you?", Language::En),
            // It has no words, and the newest messages were Japanese as often as English.
            ("hana", "今日は寒いですね", Language::Ja),
            ("hana", "@Aizuchi 😀", Language::Ja),
        ] {
            harness.says(asker, text).await;
            harness.pass(60).await;
            if text.starts_with('@') {
                assert_eq!(newest_post(&harness, "garden").await, Some(expected), "{text}");
            }
        }
        // A thread has its own.
        let root = harness.says("hana", "はしごはどこですか").await;
        let below = thread("garden", root.as_str());
        harness.says_in(below, "alice", "@Aizuchi what time is it?").await;
        harness.pass(60).await;
        assert_eq!(newest_post(&harness, "garden").await, Some(Language::En));
    })
    .await;
}

#[tokio::test]
async fn a_channel_in_which_nobody_wrote_has_the_language_of_the_workspace() {
    for (text, expected) in [("今日は寒いですね", Language::Ja), ("it is cold today", Language::En)]
    {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.says("hana", text).await;
            harness.pass(5).await;
            let persona = UserId::new(PERSONA_USER_ID);
            harness.inbox.announce_join(top_level("kitchen"), persona).await.unwrap();
            harness.pass(60).await;
            assert_eq!(newest_post(&harness, "kitchen").await, Some(expected));
        })
        .await;
    }
}
