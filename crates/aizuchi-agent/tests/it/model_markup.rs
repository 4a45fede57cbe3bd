//! What a server passes on of its model's own markup, from the wire to the room: each answer is posted without it, and
//! one that is nothing else counts as a failed call, after which the model is asked again.

use std::sync::Arc;

use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::model::Provider;
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};

use crate::models::settings;

/// What the server says to the second call.
const AGAIN: &str = "They need water.";

/// What a model writes when it is asked about the roses, and what is posted of it. `None`: it is asked again.
const ANSWERS: [(&str, Option<&str>); 20] = [
    ("Water them.", Some("Water them.")),
    ("<think>Roses. Water?</think>\n\nWater them.", Some("Water them.")),
    ("Roses. Water?\n</think>\n\nWater them.", Some("Water them.")),
    ("<thinking>Roses.</thinking>Water them.", Some("Water them.")),
    ("[THINK]Roses.[/THINK]Water them.", Some("Water them.")),
    ("◁think▷Roses.◁/think▷Water them.", Some("Water them.")),
    ("<|channel>thought\nRoses.<channel|>Water them.", Some("Water them.")),
    (
        "<|channel|>analysis<|message|>Roses.<|end|><|start|>assistant<|channel|>final<|message|>Water them.",
        Some("Water them."),
    ),
    ("analysisThey ask about roses.assistantfinalWater them.", Some("Water them.")),
    ("Water them.<|im_end|>\n<|im_start|>user\nThanks!", Some("Water them.")),
    ("Aizuchi: Water them.", Some("Water them.")),
    ("**2026-01-05 12:00:07** Aizuchi:\nWater them.", Some("Water them.")),
    ("Water them.\n\n**2026-01-05 12:00:09** alice:\nThank you, I will.", Some("Water them.")),
    ("Write `<think>` before `</think>`.", Some("Write `<think>` before `</think>`.")),
    ("<think>Roses.", None),
    ("<think>Roses.</think>", None),
    ("analysisThey ask about roses.", None),
    ("I look.<tool_call>{\"name\": \"web_search\", \"arguments\": {}}</tool_call>", None),
    ("{\"name\": \"web_search\", \"arguments\": {\"query\": \"roses\"}}", None),
    (
        "Roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses roses \
         roses roses roses roses roses roses roses roses roses roses roses roses",
        None,
    ),
];

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
        for (answer, expected) in ANSWERS {
            let again = expected.is_none().then_some(AGAIN);
            let answers = [Some(answer), again].into_iter().flatten();
            server.then(answers.map(|text| ProviderResponse::Says(text.to_owned())));
            harness.says("alice", "@Aizuchi what do the roses need?").await;
            harness.pass(60).await;
        }
        harness.platform.posted_texts()
    });
    let expected = ANSWERS.map(|(_, expected)| expected.unwrap_or(AGAIN));
    assert_eq!(posted.await, expected);
}
