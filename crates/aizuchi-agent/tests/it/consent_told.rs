//! The outcome of a call is told even if no model can or may tell it: otherwise its asker would ask for it again. On
//! every store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::consent::{ConsentChoice, ConsentState};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::texts;
use jiff::SignedDuration;

use crate::consents::{Garden, PLANT, Shed, are_settled, consents, options};

/// Makes the next model call fail permanently.
fn break_model(harness: &Harness) {
    harness.mind.script.push(PromptVerb::Reply, Err(LlmError::Refused("broken".to_owned())));
}

/// Like [`Garden::asking`], but users get only one answer per hour.
async fn with_one_answer(store: TestStore) -> Garden {
    let shed = Arc::new(Shed::default());
    let mut options = options(shed.clone());
    let book = Rulebook { answers_per_hour: Some(1), ..Rulebook::default() };
    options.settings.rulebook = book.into();
    Garden::asked(Harness::new(store).await.with_options(options), shed).await
}

#[tokio::test]
async fn a_call_is_told_without_a_model() {
    for language in [Language::En, Language::Ja] {
        on_every_database(async |store| {
            let garden = Garden::asking(store, language).await;
            garden.decide(ConsentChoice::AllowOnce).await.unwrap();
            break_model(&garden.harness);
            garden.goes_on().await;
            let told = texts::consents::answer_unreported(language, PLANT);
            assert_eq!(garden.posts().join(" "), format!("I asked for it. {told}"));
            assert_eq!(garden.calls().len(), 1);
            assert!(are_settled(&garden.harness).await);
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_is_told_with_the_apology_to_somebody_else() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        for call in garden.caller.look().await {
            garden.caller.make(call).await;
        }
        garden.harness.says("bob", "@Aizuchi when does it rain?").await;
        break_model(&garden.harness);
        garden.goes_on().await;
        let told = texts::consents::answer_unreported(Language::En, PLANT);
        let apology = texts::replies::apology(Language::En);
        let posts = garden.posts().join(" ");
        assert!(posts.ends_with(&format!("{told} {apology}")), "{posts}");
        assert!(are_settled(&garden.harness).await);
    })
    .await;
}

#[tokio::test]
async fn a_call_is_told_to_somebody_over_the_answer_limit() {
    on_every_database(async |store| {
        let garden = with_one_answer(store).await;
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        let told = texts::consents::answer_unreported(Language::En, PLANT);
        assert_eq!(garden.posts().join(" "), format!("I asked for it. {told}"));
        // No model was called for that.
        assert_eq!(garden.harness.mind.prompts(PromptVerb::Reply).len(), 2);
        assert!(are_settled(&garden.harness).await);
    })
    .await;
}

#[tokio::test]
async fn an_unknown_outcome_is_told_to_somebody_over_the_answer_limit() {
    on_every_database(async |store| {
        let garden = with_one_answer(store).await;
        garden.shed.hangs.store(true, Ordering::SeqCst);
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        let told = texts::consents::unknown(Language::En, PLANT);
        assert_eq!(garden.posts().join(" "), format!("I asked for it. {told}"));
        assert!(are_settled(&garden.harness).await);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_nobody_was_sent_is_told_as_lapsed() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.shed.loses.store(true, Ordering::SeqCst);
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        let told = texts::consents::lapsed(Language::En, PLANT);
        assert_eq!(garden.posts().join(" "), format!("I asked for it. {told}"));
        assert_eq!(garden.consent().await.state, ConsentState::Lapsed);
        assert!(are_settled(&garden.harness).await);
    })
    .await;
}

/// The record of a call expires with the journal, but not before its asker is told.
#[tokio::test]
async fn a_settled_call_is_dropped_with_the_journal() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let (harness, made) = (&garden.harness, garden.consent().await.made);
        let days = |count: i64| made + SignedDuration::from_hours(count * 24);
        harness.store.store.drop_journals(days(500)).await.unwrap();
        garden.decide(ConsentChoice::Refuse).await.unwrap();
        garden.goes_on().await;
        harness.store.store.drop_journals(days(400)).await.unwrap();
        assert_eq!(garden.consent().await.state, ConsentState::Refused);
        harness.store.store.drop_journals(days(401)).await.unwrap();
        assert!(consents(harness).await.is_empty());
    })
    .await;
}
