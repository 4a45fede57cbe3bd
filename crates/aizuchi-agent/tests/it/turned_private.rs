//! A public channel turns private: nothing that other channels made from its messages can be read any more.

use aizuchi_harness::fixtures::{JOIN, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Heard, Visibility};
use aizuchi_model::decision::proposal::Proposal;
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::query::ProposalQuery;

const ANSWER: &str = "There is another way in, where it smells sweet.";

/// A harness whose next answer is made from a message in the garden.
async fn harness_with_answer(store: TestStore, rules: ChannelRules) -> Harness {
    let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
    harness.says("alice", "the shed has a hatch behind the roses").await;
    harness.pass(400).await;
    harness.mind.script.push(PromptVerb::Reply, Ok(ANSWER));
    harness
}

async fn turn_garden_private(harness: &Harness) {
    let asked = harness.mind.prompt_texts(PromptVerb::Reply);
    assert!(asked[0].contains("behind the roses"), "it was not recalled");
    let garden = new_channel("garden", Visibility::Private);
    harness.inbox.hear(Heard::Channel(garden)).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_was_given_up_elsewhere_loses_its_text() {
    on_every_store(async |store| {
        let harness = harness_with_answer(store, ChannelRules::default()).await;
        harness.platform.fails(&[Fault::Refused]);
        let question = "@Aizuchi where has the shed its hatch?";
        harness.says_in(top_level("kitchen"), "bob", question).await;
        harness.pass(10).await;
        let text = async || {
            harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].text.clone()
        };
        assert_eq!(text().await.as_deref(), Some(ANSWER));
        turn_garden_private(&harness).await;
        assert_eq!(text().await, None);
        if let Some(database) = &harness.store.database {
            let given_up = "SELECT count(*) AS n FROM outbox WHERE state = 'dead' AND text <> ''";
            assert_eq!(database.count(given_up).await, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_proposal_elsewhere_loses_its_text() {
    on_every_database(async |store| {
        let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
        let harness = harness_with_answer(store, rules).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says_in(top_level("kitchen"), "bob", "where has the shed its hatch?").await;
        harness.pass(400).await;
        let texts = async || {
            let query = ProposalQuery {
                workspace: Some(workspace()),
                decision: None,
                before: None,
                limit: 10,
            };
            let all = harness.store.archive.proposals(&query, harness.clock.now()).await.unwrap();
            let text = |proposal: Proposal| proposal.text.map(|text| text.to_string());
            all.into_iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(texts().await, [Some(ANSWER.to_owned())]);
        turn_garden_private(&harness).await;
        assert_eq!(texts().await, [None]);
    })
    .await;
}
