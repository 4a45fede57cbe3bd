//! The limits: the budget, answers per user, and posts per hour.

use aizuchi_harness::fixtures::{JOIN, thread, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::ConversationId;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::rules::{BudgetLimits, ChannelRules, Rulebook};
use insta::assert_snapshot;

use crate::deciding::last;

#[tokio::test]
async fn a_soft_budget_leaves_mentions_alone() {
    // The first call uses up the soft share of the budget.
    let workspace_limits =
        BudgetLimits { tokens_per_day: Some(10_000_000), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, soft_share: 0.00001, ..Rulebook::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(100).await;
        harness.says("bob", "does anyone cut tulips?").await;
        harness.pass(100).await;
        harness.says("carol", "@Aizuchi and the daisies?").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     100s bob: does anyone cut tulips?
     200s carol: @Aizuchi and the daisies?
     200s (persona): Here I am.
    [m000] over_budget by budget: my budget was used up (tokens_per_day) (judge kept)
    [m001] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_hard_budget_says_one_sentence_per_channel_and_hour() {
    let workspace_limits = BudgetLimits { tokens_per_day: Some(1), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, ..Rulebook::default() };
    let transcript = on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        let ask = async |conversation: ConversationId, text: &str| {
            harness.says_in(conversation, "alice", text).await;
            harness.pass(10).await;
        };
        ask(top_level("garden"), "@Aizuchi one?").await;
        ask(top_level("garden"), "@Aizuchi two?").await;
        ask(top_level("garden"), "@Aizuchi three?").await;
        ask(thread("garden", "m000"), "@Aizuchi in here?").await;
        ask(thread("garden", "m000"), "@Aizuchi still?").await;
        harness.pass(3600).await;
        ask(top_level("garden"), "@Aizuchi an hour later?").await;
        assert_eq!(harness.mind.verbs(), "reply");
        harness.pass(25 * 3600).await;
        ask(top_level("garden"), "@Aizuchi a day later?").await;
        assert_eq!(harness.mind.verbs(), "reply reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi one?
       0s (persona): Here I am.
      10s alice: @Aizuchi two?
      10s (persona): I’ve used up my budget for now. Please ask me again later.
      20s alice: @Aizuchi three?
      30s   alice: @Aizuchi in here?
      40s   alice: @Aizuchi still?
    3650s alice: @Aizuchi an hour later?
    3650s (persona): I’ve used up my budget for now. Please ask me again later.
    93660s alice: @Aizuchi a day later?
    93660s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m002] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m003] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m004] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m005] over_budget by budget: my budget was used up (tokens_per_day) ()
    [m006] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn the_answer_limit_is_per_user() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        for (user, verbs) in [
            ("alice", 1),
            ("alice", 2),
            ("alice", 2),
            ("alice", 2),
            ("bob", 3),
            ("bob", 4),
            ("bob", 4),
        ] {
            harness.says(user, "@Aizuchi and this?").await;
            harness.pass(1).await;
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), verbs, "{user}");
        }
        assert_eq!(last(&harness).await.ended, Some(DecisionResult::OverBudget));
        harness.pass(3600).await;
        harness.says("alice", "@Aizuchi and this?").await;
        harness.pass(1).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 5);
    })
    .await;
}

/// A model is paid for these as well.
#[tokio::test]
async fn answers_that_are_not_posted_count_toward_the_limit() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        for _ in 0..4 {
            let mention = harness.says("alice", "@Aizuchi and this?").await;
            let there = harness.clone();
            let delete = move || async move { there.deletes(&mention).await };
            harness.mind.meanwhile(PromptVerb::Reply, delete);
            harness.pass(60).await;
        }
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 2);
    })
    .await;
}

#[tokio::test]
async fn apologies_count_toward_the_answer_limit() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        harness.mind.fail_on("riddle");
        for _ in 0..4 {
            harness.says("alice", "@Aizuchi what does the riddle mean?").await;
            harness.pass(300).await;
        }
        let decisions = harness.decisions("garden").await;
        let ends: Vec<_> = decisions.iter().filter_map(|row| row.ended).collect();
        let (failed, limited) = (DecisionResult::Failed, DecisionResult::OverBudget);
        assert_eq!(ends, [failed, failed, limited, limited]);
    })
    .await;
}

/// Platforms put a post below the newest message that it answers.
#[tokio::test]
async fn an_answer_belongs_to_no_message_that_it_only_settles() {
    let book = Rulebook { answers_per_hour: Some(1), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        harness.says("bob", "@Aizuchi where is the lamp?").await;
        harness.pass(1).await;
        let answered = harness.says("alice", "@Aizuchi where is the key?").await;
        harness.says("bob", "@Aizuchi and its cable?").await;
        harness.pass(10).await;
        let posted = harness.platform.posted.lock().unwrap();
        let placed: Vec<_> = posted.iter().map(|(item, _)| item.metadata.newest_owed()).collect();
        assert_eq!(placed.len(), 2, "bob has reached his limit");
        assert_eq!(placed[1], Some(&answered));
    })
    .await;
}

#[tokio::test]
async fn unsolicited_posts_per_hour_are_limited_and_mentions_are_not() {
    let budget_limits = BudgetLimits { posts_per_hour: Some(2), ..BudgetLimits::default() };
    let options =
        HarnessOptions::from_rules(ChannelRules { budget_limits, ..ChannelRules::default() });
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        for spoken in [1, 2, 2, 2] {
            harness.says("alice", "does anyone know what this is?").await;
            harness.says("bob", "can anyone tell me what that is?").await;
            harness.pass(100).await;
            let transcript = harness.transcript().await;
            assert_eq!(harness.platform.posted_texts().len(), spoken, "{transcript}");
        }
        let row = last(&harness).await;
        assert_eq!((row.ended, row.gate), (Some(DecisionResult::OverBudget), Some(Gate::Budget)));
        harness.says("carol", "@Aizuchi hello?").await;
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts().len(), 3);
        harness.pass(3600).await;
        harness.says("alice", "and what about this?").await;
        harness.says("bob", "and this?").await;
        harness.pass(100).await;
        assert_eq!(harness.platform.posted_texts().len(), 4);
    })
    .await;
}
