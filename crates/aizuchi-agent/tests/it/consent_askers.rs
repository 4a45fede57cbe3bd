//! If one answer is for several users, it is unknown for which of them a call is made: the keeper sees all their
//! names, and all of them are told the outcome. On every store.

use std::sync::Arc;

use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::consent::ConsentChoice;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_platform::keeper::{KeeperLengths, Keepers};

use crate::consents::{Garden, PLANT, Shed, are_settled, caller, consents, options, script_a_call};
use crate::keepers::{TestChat, look};

async fn fresh(store: TestStore) -> (Harness, Arc<Shed>) {
    let shed = Arc::new(Shed::default());
    (Harness::new(store).await.with_options(options(shed.clone())), shed)
}

#[tokio::test]
async fn all_who_are_answered_are_named_and_told() {
    on_every_database(async |store| {
        let (harness, shed) = fresh(store).await;
        script_a_call(&harness);
        let question = harness.says("mallory", "@Aizuchi plant three roses").await;
        let greeting = harness.says("olga", "@Aizuchi hi").await;
        harness.pass(10).await;
        let caller = caller(&harness, &shed);
        let garden = Garden { harness, shed, caller, question: question.clone() };
        let harness = &garden.harness;
        let both = [question, greeting];
        assert_eq!(garden.consent().await.messages, both);

        let chat = TestChat::default();
        let keepers = Keepers {
            inbox: harness.inbox.clone(),
            archive: harness.store.archive.clone(),
            cursors: harness.store.cursors.clone(),
            language: Language::En,
            lengths: KeeperLengths { form: 3_000, post: 3_000 },
        };
        look(&keepers, &chat).await;
        let note = chat.questions.lock().unwrap()[0].note.clone();
        let asked_by = texts::consents::asked_by(Language::En, "mallory, olga");
        assert!(note.starts_with(&asked_by), "{note}");

        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        harness.mind.script.push(PromptVerb::Reply, Ok("Done."));
        garden.goes_on().await;
        assert_eq!(garden.posts(), ["I asked for it.", "Done."]);
        let owed = harness.platform.posted.lock().unwrap()[1].0.metadata.owed.clone();
        assert_eq!(owed, both);
        assert!(are_settled(harness).await);
    })
    .await;
}

/// A keeper does not decide for more users than can be shown.
#[tokio::test]
async fn a_crowd_is_offered_no_call() {
    on_every_database(async |store| {
        let (harness, _shed) = fresh(store).await;
        for user in ["alice", "bob", "carol", "dora", "emil", "fumi", "gen"] {
            harness.says(user, "@Aizuchi plant three roses").await;
        }
        harness.pass(10).await;
        let prompt = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        let offered: Vec<&str> = prompt.tools.iter().map(|tool| &*tool.name).collect();
        assert!(offered.contains(&"shed__find") && !offered.contains(&PLANT), "{offered:?}");
        assert!(consents(&harness).await.is_empty());
    })
    .await;
}
