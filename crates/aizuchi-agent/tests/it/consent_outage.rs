//! A call can be allowed for its whole time from when it is announced, however late that is. On every store.

use std::sync::Arc;

use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::consent::{ConsentChoice, ConsentState};
use aizuchi_model::platform::BackfillState;

use crate::consents::{Garden, Shed, options};

/// A draft that asks for a call, and that an outage keeps from being posted.
async fn asked_before_an_outage(store: TestStore) -> Garden {
    let shed = Arc::new(Shed::default());
    let harness = Harness::new(store).await.with_options(options(shed.clone()));
    let there = harness.clone();
    harness.mind.meanwhile(PromptVerb::Reply, move || async move {
        there.platform.set_backfill_state(BackfillState::Disconnected);
    });
    Garden::asked(harness, shed).await
}

#[tokio::test]
async fn a_call_that_is_announced_after_an_outage_can_still_be_allowed() {
    on_every_database(async |store| {
        let garden = asked_before_an_outage(store).await;
        garden.harness.pass(7_200).await;
        assert!(garden.caller.look().await.is_empty());
        assert!(garden.posts().is_empty());
        garden.harness.platform.set_backfill_state(BackfillState::Complete);
        garden.harness.pass(20).await;
        assert_eq!(garden.posts(), ["I asked for it."]);
        assert_eq!(garden.consent().await.state, ConsentState::Open);
        garden.harness.pass(3_500).await;
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        assert_eq!(garden.calls().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_announced_late_lapses_with_its_own_time() {
    on_every_database(async |store| {
        let garden = asked_before_an_outage(store).await;
        garden.harness.pass(1_800).await;
        garden.harness.platform.set_backfill_state(BackfillState::Complete);
        garden.harness.pass(20).await;
        garden.harness.pass(3_620).await;
        assert_eq!(garden.consent().await.state, ConsentState::Lapsed);
        assert!(garden.decide(ConsentChoice::AllowOnce).await.is_err());
    })
    .await;
}
