//! What a server passes on of its model's own markup, from the wire to the room: each answer is posted without it, and
//! one that is nothing else counts as a failed call, after which the model is asked again.

use std::sync::Arc;

use aizuchi_harness::fixtures::MARKED_ANSWERS;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;

use crate::models::settings;

/// What the server says to the second call.
const AGAIN: &str = "They need water.";

#[tokio::test]
async fn a_models_own_markup_reaches_no_room() {
    let posted = on_every_store(async |store| {
        let server = Server::start(ServerLimits::default()).await;
        let harness = Harness::new(store).await;
        let settings =
            ProviderSettings { max_attempts: 1, ..settings(Provider::OpenAi, &server.base) };
        let mind = ProviderMind::new(&settings, harness.clock.clone()).unwrap();
        let options = HarnessOptions { llm: Some(Arc::new(mind)), ..HarnessOptions::default() };
        let harness = harness.with_options(options);
        for (answer, expected) in MARKED_ANSWERS {
            let again = expected.is_none().then_some(AGAIN);
            let answers = [Some(answer), again].into_iter().flatten();
            server.then(answers.map(|text| ProviderResponse::Says(text.to_owned())));
            harness.says("alice", "@Aizuchi what do the roses need?").await;
            harness.pass(60).await;
        }
        harness.platform.posted_texts()
    });
    let expected = MARKED_ANSWERS.map(|(_, expected)| expected.unwrap_or(AGAIN));
    assert_eq!(posted.await, expected);
}
