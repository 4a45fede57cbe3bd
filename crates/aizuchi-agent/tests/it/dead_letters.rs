//! Dead letters on the console: their text, and the outcome of retrying or dropping them.

use aizuchi_harness::fixtures::{at, thread, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::flow::{DeadLetterId, DecisionClosing, Outcome, StepResult, Work};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::query::{DeadLetterQuery, DecisionQuery};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::console::mark;
use crate::store_commands::PromisesExt;

#[tokio::test]
async fn every_dead_letter_is_on_a_page() {
    on_every_store(async |store| {
        for number in 0..5 {
            fail(&store, &number.to_string(), 200 * number, &[]).await;
        }
        let page = async |workspace, before, limit| {
            let query = DeadLetterQuery { workspace, before, limit };
            let letters = store.archive.dead_letters(&query).await.unwrap();
            letters.into_iter().map(|letter| letter.id).collect::<Vec<_>>()
        };
        let all = page(None, None, 9).await;
        assert_eq!(all.len(), 5);
        assert!(all.is_sorted());
        assert_eq!(page(Some(workspace()), None, 2).await, all[3..]);
        assert_eq!(page(None, Some(all[3]), 2).await, all[1..3]);
        assert_eq!(page(None, Some(all[1]), 2).await, all[..1]);
        assert!(page(Some(WorkspaceId::new("elsewhere")), None, 9).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_is_dropped_with_its_text() {
    on_every_database(async |store| {
        fail(&store, "1", 0, &["1"]).await;
        let id = store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
        let drop = async |id| {
            let order = Order::DropDeadLetter { workspace: workspace(), id };
            store.store.order(order, at(9)).await
        };
        assert!(matches!(drop(DeadLetterId(id.0 + 1)).await, Err(StoreError::Refused(_))));
        drop(id).await.unwrap();
        assert_eq!(store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        assert_eq!(store.steps().await, 0);
        assert!(matches!(drop(id).await, Err(StoreError::Refused(_))));
        fail(&store, "2", 100, &["2"]).await;
        let next = store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
        assert_ne!(next, id, "an id that was given once names nothing else");
    })
    .await;
}

/// The parts that were never tried are texts, too.
#[tokio::test]
async fn no_part_of_an_answer_that_was_given_up_outlives_its_letter() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let database = harness.store.database.clone().unwrap();
        let unsent =
            async || database.count("SELECT count(*) AS n FROM outbox WHERE text <> ''").await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(100).await;
        assert!(unsent().await > 1);
        let id = harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
        harness.order(Order::DropDeadLetter { workspace: workspace(), id }).await;
        assert_eq!(unsent().await, 0);
    })
    .await;
}

/// An answer that could not be posted may quote its sources.
#[tokio::test]
async fn a_letter_loses_its_text_when_what_it_was_made_from_changes() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let text = async || {
            harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].text.clone()
        };
        harness.says("bob", "my beans are up").await;
        harness.pass(400).await;
        harness.platform.fails(&[Fault::Refused]);
        let question =
            harness.says_in(thread("garden", "m000"), "alice", "@Aizuchi is it 4711?").await;
        harness.pass(100).await;
        let later = harness.says("bob", "and my peas").await;
        harness.deletes(&later).await;
        assert!(text().await.is_some(), "another message was deleted");
        harness.edits_in(thread("garden", "m000"), &question, "@Aizuchi is it what I think?").await;
        assert_eq!(text().await, None);
        if let Some(database) = &harness.store.database {
            let given_up = "SELECT count(*) AS n FROM outbox WHERE state = 'dead' AND text <> ''";
            assert_eq!(database.count(given_up).await, 0);
        }
    })
    .await;
}

/// The change comes while the answer is being posted, before there is a letter that could lose its text.
#[tokio::test]
async fn a_letter_keeps_no_text_whose_source_changed_before_it_was_written() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the code is 4711. ".repeat(12)));
        let secret = harness.says("bob", "the code is 4711").await;
        let there = harness.clone();
        harness.platform.meanwhile(|| async move { there.deletes(&secret).await });
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi what is the code?").await;
        // Until nothing else waits there.
        harness.pass(400).await;
        let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].text, None);
        if let Some(database) = &harness.store.database {
            let unsent = "SELECT count(*) AS n FROM outbox WHERE text <> ''";
            assert_eq!(database.count(unsent).await, 0);
        }
        // Users have seen nothing of it, so it is written again.
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letters[0].id };
        harness.order(retry).await;
        harness.pass(100).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_that_is_tried_again_owes_its_answer_again() {
    on_every_database(async |store| {
        fail(&store, "1", 0, &["1"]).await;
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        // A newer step is pending.
        store.hear_human("2", 6, "by the way").await;
        let blocked = store.store.order(retry.clone(), at(7)).await;
        assert!(matches!(blocked, Err(StoreError::Refused(_))), "{blocked:?}");
        let judge = store.claim(70).await.remove(0);
        let silent = DecisionClosing::new(DecisionResult::ChoseSilence, "no");
        store.complete(&judge, Outcome::new(StepResult::Silent(silent)), 71).await;

        store.store.order(retry, at(80)).await.unwrap();
        assert_eq!(store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        assert_eq!(store.owed().await, ["1"]);
        let reply = store.claim(80).await.remove(0);
        assert_eq!((&reply.work, reply.is_owed), (&Work::Reply(top_level("garden")), true));
        assert_eq!(store.ledger().await[0].0, None, "its decision is open again");
    })
    .await;
}

#[tokio::test]
async fn what_was_said_unasked_is_judged_again() {
    on_every_database(async |store| {
        fail(&store, "1", 0, &[]).await;
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let decision = store.archive.decisions(DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            limit: 1,
        });
        let decision = decision.await.unwrap()[0].id;
        mark(&store, decision, Some(Mark::Right), 80).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        store.store.order(retry, at(90)).await.unwrap();
        let marks = store.archive.marks_since(&workspace(), at(0)).await.unwrap();
        assert_eq!(marks, [], "an open decision has none");
        let judge = store.claim(90).await.remove(0);
        assert_eq!(judge.work, Work::Judge(top_level("garden")));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_refused_is_given_after_all() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
    1000s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept, reply kept)
    ");
}

/// Users have read the beginning, so only the rest is posted.
#[tokio::test]
async fn an_answer_of_which_a_part_was_posted_goes_on_where_it_ended() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let answer = "the roses need water. ".repeat(12);
        harness.mind.script.push(PromptVerb::Reply, Ok(&answer));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
        // A message in between neither stops the rest nor makes the answer be written again.
        harness.says("bob", "and the beans?").await;
        harness.pass(1000).await;
        let texts = harness.platform.posted_texts();
        assert!(texts.len() > 2, "{texts:?}");
        assert_eq!(texts.concat().replace([' ', '\n'], ""), answer.replace(' ', ""));
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        assert_eq!(harness.store.owed().await, [""; 0]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what do the roses need?
       0s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    1000s bob: and the beans?
    1000s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    1000s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    [m000] spoke: alice asked me (reply kept)
    [m001] chose_silence by share: I had already said a lot lately ()
    ");
}

/// The program first finds out whether it was posted.
#[tokio::test]
async fn a_post_of_unknown_outcome_is_looked_up_before_it_is_made_again() {
    for fault in [Fault::LostAnswer, Fault::LostRequest] {
        on_every_database(async |store| {
            let harness = Harness::new(store).await;
            harness.platform.fails(&[fault]);
            harness.platform.set_history_hidden(true);
            harness.says("alice", "@Aizuchi are you there?").await;
            harness.pass(40_000).await;
            let letter =
                harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
            harness.platform.set_history_hidden(false);
            harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
            harness.pass(1000).await;
            assert_eq!(harness.platform.posted_texts().len(), 1);
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
            assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        })
        .await;
    }
}

#[tokio::test]
async fn an_answer_whose_rest_is_gone_is_not_begun_again() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        let question = harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        harness.edits(&question, "@Aizuchi what do the beans need?").await;
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        assert_eq!(letter.text, None);
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        let now = harness.clock.now();
        let refused = harness.store.store.order(retry, now).await.unwrap_err().to_string();
        assert!(refused.contains("the beginning of this answer was posted"), "{refused}");
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap().len(), 1);
        assert_eq!(harness.store.steps().await, 0);
    })
    .await;
}

/// The parts that were never tried are kept as long as the letter.
#[tokio::test]
async fn all_parts_of_a_letter_are_kept_as_long_as_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        harness.store.store.drop_exchanges(letter.at, u64::MAX).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        harness.order(retry.clone()).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let later = letter.at + SignedDuration::from_secs(1);
        harness.store.store.drop_exchanges(later, u64::MAX).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        let refused = harness.store.store.order(retry, harness.clock.now()).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    })
    .await;
}

/// Stores a message whose draft is refused permanently. `owed` are the messages that it would have answered.
pub async fn fail(store: &TestStore, id: &str, second: i64, owed: &[&str]) {
    match owed.is_empty() {
        true => drop(store.hear_human(id, second, "hello").await),
        false => drop(store.hear_mention(id, second).await),
    }
    let begin = if owed.is_empty() { second + 60 } else { second };
    let claim = store.claim(begin).await.remove(0);
    let error = StepResult::Failed { error: "closed".to_owned(), why: "it failed".to_owned() };
    if owed.is_empty() {
        store.complete(&claim, Outcome::new(error), begin + 5).await;
        return;
    }
    store.draft(&claim, &["one"], owed.to_vec(), begin).await;
    let post = store.claim(begin).await.remove(0);
    store.complete(&post, Outcome::new(error), begin + 5).await;
}
