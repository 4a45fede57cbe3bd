//! Follow-ups of questions that nobody answered, and first words, as transcripts on both databases.

use aizuchi_agent::first_words::FirstWords;
use aizuchi_harness::fixtures::{JOIN, SILENCE, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::AuthorKind;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::proposal::ProposalChoice;
use aizuchi_model::plan::recurrence::{Cycle, Recurrence};
use aizuchi_model::rules::{ChannelRules, FirstWordRule, FollowUpRule, Mode};
use aizuchi_store::StoreError;
use aizuchi_store::order::{Order, PlanChange};
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use insta::assert_snapshot;
use jiff::civil::time;
use jiff::tz::TimeZone;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn following_up(follow_up: FollowUpRule) -> HarnessOptions {
    HarnessOptions::from_rules(ChannelRules { follow_up, ..ChannelRules::default() })
}

/// How often the judge was asked.
async fn judge_calls(harness: &Harness) -> usize {
    let decisions = harness.decisions("garden").await;
    let attempts = decisions.iter().flat_map(|decision| &decision.attempts);
    attempts.filter(|attempt| &*attempt.verb == "judge").count()
}

#[tokio::test]
async fn a_question_that_was_left_to_people_is_come_back_to_once() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::All));
        harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(HOUR).await;
        let harness = harness.restart().await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.pass(2 * DAY).await;
        assert_eq!(judge_calls(&harness).await, 2);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
    14400s (persona): Here I am.
    [m000] chose_silence: they get along (judge kept)
    [] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn what_was_answered_is_left_alone() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::All));
        harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(HOUR).await;
        harness.says("bob", "alice: yes, I have one in the shed").await;
        harness.says("alice", "bob: thanks!").await;
        harness.pass(DAY).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does anyone have a ladder?
    3600s bob: alice: yes, I have one in the shed
    3600s alice: bob: thanks!
    [m000] chose_silence: they get along (judge kept)
    [m001 m002] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [] dropped: somebody has answered it since ()
    ");
}

#[tokio::test]
async fn by_default_nothing_is_come_back_to() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(HOUR).await;
        assert!(harness.store.archive.plans(&workspace()).await.unwrap().is_empty());
        harness.pass(DAY).await;
        assert_eq!(judge_calls(&harness).await, 1);
    })
    .await;
}

#[tokio::test]
async fn its_own_question_is_come_back_to_unless_it_is_answered() {
    for is_answered in [false, true] {
        on_every_database(async |store| {
            let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::Own));
            harness.mind.script.push(PromptVerb::Reply, Ok("How long should the ladder be?"));
            harness.says("alice", "@Aizuchi which ladder should I buy?").await;
            harness.pass(HOUR).await;
            assert_eq!(harness.store.archive.plans(&workspace()).await.unwrap().len(), 1);
            if is_answered {
                harness.says("alice", "four metres or so").await;
                harness.pass(HOUR).await;
            }
            let before = judge_calls(&harness).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.pass(DAY).await;
            let posts = harness.platform.posted_texts();
            assert_eq!(posts.len(), if is_answered { 1 } else { 2 }, "{posts:?}");
            assert_eq!(judge_calls(&harness).await - before, usize::from(!is_answered));
            assert!(harness.store.archive.plans(&workspace()).await.unwrap().is_empty());
        })
        .await;
    }
}

#[tokio::test]
async fn a_follow_up_obeys_mode_mute_and_quiet_hours() {
    for mode in [Mode::MentionOnly, Mode::Observe, Mode::Propose, Mode::Off] {
        on_every_database(async |store| {
            let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::All));
            harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
            harness.says("alice", "does anyone have a ladder?").await;
            harness.pass(HOUR).await;
            let rules =
                ChannelRules { mode, follow_up: FollowUpRule::All, ..ChannelRules::default() };
            let harness = harness.with_options(HarnessOptions::from_rules(rules));
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.pass(DAY).await;
            assert!(harness.platform.posted_texts().is_empty(), "{mode:?}");
            let last = harness.decisions("garden").await.pop().unwrap();
            let expected = match mode {
                Mode::Propose => DecisionResult::Proposed,
                Mode::Observe => DecisionResult::Muted,
                _ => DecisionResult::ChoseSilence,
            };
            assert_eq!(last.ended, Some(expected), "{mode:?}");
        })
        .await;
    }
}

fn first_words(harness: &Harness, options: &HarnessOptions) -> FirstWords {
    FirstWords {
        store: harness.store.store.clone(),
        archive: harness.store.archive.clone(),
        clock: harness.clock.clone(),
        rulebook: options.settings.rulebook.clone(),
        zone: TimeZone::UTC,
    }
}

fn speaking_first(on: Vec<Recurrence>) -> HarnessOptions {
    let rule = FirstWordRule { after_days: Some(3), at: time(10, 0, 0, 0), on };
    HarnessOptions::from_rules(ChannelRules { first_word: Some(rule), ..ChannelRules::default() })
}

#[tokio::test]
async fn it_speaks_first_once_after_days_of_silence() {
    let transcript = on_every_database(async |store| {
        let options = speaking_first(Vec::new());
        let harness = Harness::new(store).await.with_options(options.clone());
        let first_words = first_words(&harness, &options);
        harness.says("alice", "the peas are sown").await;
        harness.pass(MINUTE).await;
        first_words.step().await.unwrap();
        first_words.step().await.unwrap();
        harness.pass(DAY).await;
        harness.says("alice", "it rains").await;
        let before = judge_calls(&harness).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.script.push(PromptVerb::Reply, Ok("Have the peas come up?"));
        for _ in 0..9 {
            harness.pass(DAY).await;
            first_words.step().await.unwrap();
        }
        assert_eq!(judge_calls(&harness).await - before, 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: the peas are sown
    86460s alice: it rains
    352800s (persona): Have the peas come up?
    [m000] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [m001] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [] chose_silence: somebody has written since it was planned ()
    [] spoke: nobody answers (judge kept, reply kept)
    ");
}

/// The judge always agrees, and each day is an occasion.
#[tokio::test]
async fn it_never_speaks_first_twice_a_day() {
    on_every_database(async |store| {
        let at =
            |hour| Recurrence { cycle: Cycle::Daily, interval: None, time: time(hour, 0, 0, 0) };
        let options = speaking_first(vec![at(9), at(12), at(23)]);
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.says("alice", "the peas are sown").await;
        first_words(&harness, &options).step().await.unwrap();
        for _ in 0..60 {
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        }
        for _ in 0..10 {
            harness.pass(DAY - HOUR).await;
            harness.says("alice", "still nothing to be seen").await;
            harness.says("bob", "nor here").await;
            harness.pass(HOUR).await;
        }
        let messages = harness.messages("garden").await;
        let own = messages.iter().filter(|it| it.message.author.kind == AuthorKind::Persona);
        let times: Vec<_> = own.map(|it| it.message.at).collect();
        assert!((5..=11).contains(&times.len()), "{times:?}");
        assert!(times.windows(2).all(|pair| pair[1].duration_since(pair[0]).as_hours() >= 24));
    })
    .await;
}

#[tokio::test]
async fn where_it_may_not_speak_first_any_more_the_plan_ends() {
    on_every_database(async |store| {
        let options = speaking_first(Vec::new());
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.says("alice", "the peas are sown").await;
        first_words(&harness, &options).step().await.unwrap();
        assert_eq!(harness.store.archive.plans(&workspace()).await.unwrap().len(), 1);
        let harness = harness.with_options(HarnessOptions::default());
        harness.pass(5 * DAY).await;
        assert!(harness.store.archive.plans(&workspace()).await.unwrap().is_empty());
    })
    .await;
}

/// One that is cancelled is not made again, and none can be moved, which would repeat it.
#[tokio::test]
async fn a_follow_up_can_be_cancelled_and_not_moved() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::All));
        harness.says("alice", "does anyone have a ladder?").await;
        harness.pass(HOUR).await;
        let plan = || async { harness.store.archive.plans(&workspace()).await.unwrap().pop() };
        let (number, due) = plan().await.map(|plan| (plan.number, plan.due)).unwrap();
        harness.says("alice", &format!("@Aizuchi move reminder {number} to every day at 9")).await;
        harness.pass(MINUTE).await;
        let kept = plan().await.unwrap();
        assert_eq!((kept.due, kept.recurrence), (due, None));
        harness.says("alice", &format!("@Aizuchi cancel reminder {number}")).await;
        harness.pass(MINUTE).await;
        assert!(plan().await.is_none());
        let before = judge_calls(&harness).await;
        harness.says("bob", "what is it for?").await;
        harness.pass(HOUR).await;
        assert!(judge_calls(&harness).await > before);
        let left = plan().await;
        assert!(left.is_none_or(|plan| !plan.what.contains("ladder")));
    })
    .await;
}

#[tokio::test]
async fn an_answer_of_several_parts_is_come_back_to_for_its_last_part_alone() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(following_up(FollowUpRule::Own));
        harness.platform.set_longest_post(40);
        let answer = "How long should the ladder be, four metres?\n\nOr is it for the cellar?";
        harness.mind.script.push(PromptVerb::Reply, Ok(answer));
        harness.says("alice", "@Aizuchi which ladder should I buy?").await;
        harness.pass(HOUR).await;
        assert!(harness.platform.posted_texts().len() > 1);
        let plans = harness.store.archive.plans(&workspace()).await.unwrap();
        assert_eq!(plans.len(), 1);
        assert!(plans[0].what.ends_with("Or is it for the cellar?"), "{}", plans[0].what);
    })
    .await;
}

#[tokio::test]
async fn a_first_word_is_dropped_by_the_config_alone() {
    on_every_database(async |store| {
        let options = speaking_first(Vec::new());
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.says("alice", "the peas are sown").await;
        first_words(&harness, &options).step().await.unwrap();
        let id = harness.store.archive.plans(&workspace()).await.unwrap()[0].id;
        let (workspace, change) = (workspace(), PlanChange::Drop);
        let order = Order::ChangePlan { workspace, id, change };
        let refused = harness.inbox.apply_order(order).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(RefusalReason::PlannedByConfig)));
    })
    .await;
}

#[tokio::test]
async fn an_approved_follow_up_is_not_posted_after_an_answer() {
    for is_answered in [false, true] {
        on_every_database(async |store| {
            let rules = ChannelRules {
                mode: Mode::Propose,
                follow_up: FollowUpRule::All,
                ..ChannelRules::default()
            };
            let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
            harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
            harness.says("alice", "does anyone have a ladder?").await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.pass(4 * HOUR + MINUTE).await;
            let query = ProposalQuery {
                workspace: Some(workspace()),
                decision: None,
                before: None,
                limit: 10,
            };
            let id =
                harness.store.archive.proposals(&query, harness.clock.now()).await.unwrap()[0].id;
            if is_answered {
                harness.says("bob", "alice: yes, I have one in the shed").await;
            }
            let (workspace, choice, by) = (workspace(), ProposalChoice::SayIt, "olga".into());
            harness.order(Order::DecideProposal { workspace, id, choice, by }).await;
            harness.pass(MINUTE).await;
            assert_eq!(harness.platform.posted_texts().is_empty(), is_answered);
        })
        .await;
    }
}
