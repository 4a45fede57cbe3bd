//! Reminders and other plans, as transcripts on both databases.

use std::sync::atomic::Ordering;

use aizuchi_actions::export_user::describe_user;
use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{JOIN, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{AuthorKind, ChannelId, Heard, Role, User, UserId};
use aizuchi_model::decision::DecisionResult;
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::commands::in_japanese;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The texts of the persona's posts, without the answers to new plans, which are several posts here.
async fn posts(harness: &Harness) -> Vec<String> {
    let mut texts = harness.platform.posted_texts();
    texts.retain(|text| !text.starts_with("I’ll ") && !text.contains("cancel reminder"));
    texts
}

async fn pending(harness: &Harness) -> usize {
    harness.store.archive.plans(&workspace()).await.unwrap().len()
}

async fn order(harness: &Harness, order: Order) {
    harness.inbox.apply_order(order).await.unwrap();
}

#[tokio::test]
async fn a_reminder_is_said_back_and_said_when_it_is_due() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi remind me in 20 minutes to water the roses").await;
        harness.pass(19 * MINUTE).await;
        harness.says("bob", "the shears are in the shed").await;
        harness.pass(HOUR).await;
        assert_eq!(pending(&harness).await, 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi remind me in 20 minutes to water the roses
       0s (persona): I’ll remind you on Friday 15 January, 08:20 UTC (no. 1).
       0s (persona): To cancel: “@Aizuchi cancel reminder 1”.
    1140s bob: the shears are in the shed
    1200s (persona): @alice You asked me to remind you: water the roses
    [m000] spoke by command: it was a command for me ()
    [m001] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    [] spoke: alice asked for it to be said then ()
    ");
}

#[tokio::test]
async fn a_reminder_in_japanese_is_answered_in_japanese() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        harness.says("ミオ", "@Aizuchi 30分後に水やりをするって教えて").await;
        harness.says("ミオ", "@Aizuchi リマインダー一覧").await;
        harness.pass(HOUR).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ミオ: @Aizuchi 30分後に水やりをするって教えて
       0s ミオ: @Aizuchi リマインダー一覧
       0s (persona): 1月15日（金）08:30 UTC にお知らせします（1 番）。取り消すには「@Aizuchi リマインダー 1 を取り消して」と書いてください。
       0s (persona): ここで予定していること：
    1. 1月15日（金）08:30 UTC：水やりをする
    1800s (persona): @ミオ リマインドです：水やりをする
    [m000 m001] spoke by command: 私へのコマンドでした ()
    [] spoke: ミオさんがこの時刻に言うように頼んでいました ()
    ");
}

#[tokio::test]
async fn what_is_unclear_or_past_is_asked_back() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi remind me later to sow the peas").await;
        harness.pass(MINUTE).await;
        harness.says("alice", "@Aizuchi remind me on 31 February to sow the peas").await;
        harness.pass(MINUTE).await;
        harness.says("alice", "@Aizuchi remind me yesterday at 5pm to sow the peas").await;
        harness.pass(DAY).await;
        assert_eq!(pending(&harness).await, 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi remind me later to sow the peas
       0s (persona): When should I do that? For example “in 20 minutes”, “tomorrow at 9” or “every Friday at
       0s (persona): 17:00”.
      60s alice: @Aizuchi remind me on 31 February to sow the peas
      60s (persona): There is no such day or time. When should I remind you?
     120s alice: @Aizuchi remind me yesterday at 5pm to sow the peas
     120s (persona): Thursday 14 January, 17:00 UTC has passed already. When should it be?
    [m000] spoke by command: it was a command for me ()
    [m001] spoke by command: it was a command for me ()
    [m002] spoke by command: it was a command for me ()
    ");
}

#[tokio::test]
async fn plans_are_listed_moved_and_cancelled_by_their_asker() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi remind us tomorrow at 10 to feed the bees").await;
        harness.pass(MINUTE).await;
        harness.says("bob", "@Aizuchi remind @carol in 3 hours to lock the shed").await;
        harness.pass(MINUTE).await;
        harness.says("carol", "@Aizuchi cancel reminder 1").await;
        harness.pass(MINUTE).await;
        harness.says("alice", "@Aizuchi move reminder 1 to tomorrow at 11:00").await;
        harness.pass(MINUTE).await;
        harness.says("carol", "@Aizuchi reminders").await;
        harness.pass(MINUTE).await;
        harness.says("bob", "@Aizuchi cancel reminder 2").await;
        harness.pass(2 * DAY).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi remind us tomorrow at 10 to feed the bees
       0s (persona): I’ll remind everybody here on Saturday 16 January, 10:00 UTC (no. 1).
       0s (persona): To cancel: “@Aizuchi cancel reminder 1”.
      60s bob: @Aizuchi remind @carol in 3 hours to lock the shed
      60s (persona): I’ll remind carol on Friday 15 January, 11:01 UTC (no. 2).
      60s (persona): To cancel: “@Aizuchi cancel reminder 2”.
     120s carol: @Aizuchi cancel reminder 1
     120s (persona): There is no reminder 1 of yours here.
     180s alice: @Aizuchi move reminder 1 to tomorrow at 11:00
     180s (persona): I’ll remind everybody here on Saturday 16 January, 11:00 UTC (no. 1).
     180s (persona): To cancel: “@Aizuchi cancel reminder 1”.
     240s carol: @Aizuchi reminders
     240s (persona): Planned here:
    2. Friday 15 January, 11:01 UTC: lock the shed
     240s (persona): 1. Saturday 16 January, 11:00 UTC: feed the bees
     300s bob: @Aizuchi cancel reminder 2
     300s (persona): Reminder 2 is not planned any more.
    97200s (persona): A reminder from alice: feed the bees
    [m000] spoke by command: it was a command for me ()
    [m001] spoke by command: it was a command for me ()
    [m002] spoke by command: it was a command for me ()
    [m003] spoke by command: it was a command for me ()
    [m004] spoke by command: it was a command for me ()
    [m005] spoke by command: it was a command for me ()
    [] spoke: alice asked for it to be said then ()
    ");
}

#[tokio::test]
async fn what_recurs_is_said_again_until_it_is_cancelled() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness
            .says("alice", "@Aizuchi remind us every day at 17:00 to close the greenhouse")
            .await;
        harness.pass(3 * DAY).await;
        let said = posts(&harness).await;
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said.iter().all(|text| text.ends_with("close the greenhouse")), "{said:?}");
        harness.says("alice", "@Aizuchi cancel reminder 1").await;
        harness.pass(3 * DAY).await;
        assert_eq!(posts(&harness).await.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_was_missed_is_said_late_or_not_at_all() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness
            .says("alice", "@Aizuchi remind us every day at 17:00 to close the greenhouse")
            .await;
        harness.says("bob", "@Aizuchi remind me at 17:00 to call the vet").await;
        harness.pass(5).await;
        // Nothing runs meanwhile: from 17:00 it is 20 hours, which is nearer to the next day's.
        harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(29 * HOUR));
        harness.pass(MINUTE).await;
        let said = posts(&harness).await.join(" ");
        assert!(said.contains("call the vet") && said.contains("I was not running"), "{said}");
        assert!(!said.contains("greenhouse"), "{said}");
        let skipped = harness.decisions("garden").await;
        let skipped = skipped.iter().find(|it| it.ended == Some(DecisionResult::ChoseSilence));
        assert!(skipped.unwrap().why.as_ref().unwrap().contains("its moment had passed"));
        assert_eq!(pending(&harness).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_plan_follows_its_message() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let moved = harness.says("alice", "@Aizuchi remind me in 2 hours to prune").await;
        harness.pass(MINUTE).await;
        let deleted = harness.says("bob", "@Aizuchi remind me in 2 hours to rake").await;
        harness.pass(MINUTE).await;
        harness.edits(&moved, "@Aizuchi remind me in 30 minutes to prune the vines").await;
        harness.deletes(&deleted).await;
        let plans = harness.store.archive.plans(&workspace()).await.unwrap();
        assert!(plans.iter().any(|plan| plan.what.is_empty()), "nothing of it is kept");
        harness.pass(3 * HOUR).await;
        assert_eq!(pending(&harness).await, 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi remind me in 2 hours to prune
       0s (persona): I’ll remind you on Friday 15 January, 10:00 UTC (no. 1).
       0s (persona): To cancel: “@Aizuchi cancel reminder 1”.
      60s bob: (deleted)
      60s (persona): I’ll remind you on Friday 15 January, 10:01 UTC (no. 2).
      60s (persona): To cancel: “@Aizuchi cancel reminder 2”.
    1800s (persona): @alice You asked me to remind you: prune the vines
    [m000] spoke by command: it was a command for me ()
    [m001] spoke by command: it was a command for me ()
    [] spoke: alice asked for it to be said then ()
    [] dropped: the message was deleted ()
    ");
}

#[tokio::test]
async fn who_opts_out_or_is_forgotten_is_reminded_of_nothing() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi remind me in 2 hours to prune").await;
        harness.says("bob", "@Aizuchi remind me in 2 hours to rake").await;
        harness.pass(MINUTE).await;
        let alice = [UserId::new("u-alice")].into_iter().collect();
        let alice = harness.store.archive.some_users(&workspace(), &alice).await.unwrap();
        let (store, archive) = (&*harness.store.store, &*harness.store.archive);
        let known = describe_user(store, archive, &alice[0]).await.unwrap();
        assert!(known.contains("garden: prune") && !known.contains("rake"), "{known}");
        let before = posts(&harness).await.len();
        order(&harness, Order::OptOut { workspace: workspace(), user: UserId::new("u-alice") })
            .await;
        let asked = harness.clock.now();
        let user = UserId::new("u-bob");
        order(&harness, Order::Forget { workspace: workspace(), user, asked }).await;
        assert_eq!(pending(&harness).await, 0);
        harness.pass(3 * HOUR).await;
        assert_eq!(posts(&harness).await.len(), before);
    })
    .await;
}

#[tokio::test]
async fn a_muted_channel_hears_nothing_but_the_asker_does_where_only_they_see_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for whispers in [false, true] {
            harness.platform.whispers.store(whispers, Ordering::SeqCst);
            harness.says("alice", "@Aizuchi remind me in 1 hour to prune").await;
            harness.pass(1).await;
            harness.says("alice", "@Aizuchi remind us in 1 hour to rake").await;
            harness.pass(MINUTE).await;
            let mute = Order::Mute {
                workspace: workspace(),
                channel: Some(ChannelId::new("garden")),
                until: harness.clock.now() + SignedDuration::from_hours(2),
                by: Role::Member,
            };
            order(&harness, mute).await;
            let before = posts(&harness).await.len();
            harness.pass(3 * HOUR).await;
            let said = posts(&harness).await.split_off(before);
            assert_eq!(said.len(), usize::from(whispers), "{said:?}");
            let ended = harness.decisions("garden").await;
            assert!(ended.iter().any(|it| it.ended == Some(DecisionResult::Muted)));
            assert!(ended.iter().all(|it| it.closed.is_some()));
        }
    })
    .await;
}

#[tokio::test]
async fn a_plan_delays_no_judgment_and_no_message_replaces_its_draft() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "@Aizuchi remind us in 1 minute to rake").await;
        harness.pass(30).await;
        harness.says("bob", "who has the good shears?").await;
        let judged_at = harness.step_of(&top_level("garden")).await.unwrap().due;
        // The platform takes the post at the second attempt, and somebody writes in between.
        harness.platform.fails(&[Fault::Busy]);
        harness.pass(30).await;
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, judged_at);
        harness.says("carol", "not me").await;
        harness.pass(HOUR).await;
        let said = posts(&harness).await;
        assert!(said.iter().any(|text| text.ends_with("rake")), "{said:?}");
        assert!(said.iter().any(|text| text == "Here I am."), "{said:?}");
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn who_has_answered_is_not_asked_again() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("ren", "morning").await;
        harness.says("alice", "@Aizuchi ask Ren again if she hasn't answered by 17:00").await;
        harness.says("alice", "@Aizuchi ask bob again if he hasn't answered by 17:00").await;
        harness.pass(HOUR).await;
        harness.says("ren", "the peas are in").await;
        let before = posts(&harness).await.len();
        harness.pass(DAY).await;
        let said = posts(&harness).await.split_off(before);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("@bob"), "{said:?}");
    })
    .await;
}

#[tokio::test]
async fn a_model_words_what_is_to_be_posted() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok("This week: 3 rows sown."));
        harness.says("alice", "@Aizuchi every Friday at 17:00 post a recap here").await;
        harness.pass(8 * DAY).await;
        let said = posts(&harness).await;
        assert!(said.contains(&"This week: 3 rows sown.".to_owned()), "{said:?}");
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply);
        assert!(prompts[0].contains("a recap"), "it is told what to post");
    })
    .await;
}

#[tokio::test]
async fn an_edit_of_what_recurs_keeps_its_next_time() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness
            .says("alice", "@Aizuchi remind us every day at 17:00 to close the greenhouse")
            .await;
        harness.pass(DAY).await;
        let due = harness.store.archive.plans(&workspace()).await.unwrap()[0].due;
        harness.edits(&asked, "@Aizuchi remind us every day at 17:00 to close the windows").await;
        let plans = harness.store.archive.plans(&workspace()).await.unwrap();
        assert_eq!((plans[0].due, &*plans[0].what), (due, "close the windows"));
        harness.pass(DAY).await;
        let said = posts(&harness).await;
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].ends_with("close the windows"), "{said:?}");
    })
    .await;
}

#[tokio::test]
async fn the_words_of_a_cancelled_plan_are_said_no_more() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi remind us in 1 hour to rake").await;
        harness.pass(MINUTE).await;
        // It was drafted, and could not be posted yet.
        harness.platform.fails(&[Fault::Busy, Fault::Busy, Fault::Busy, Fault::Busy]);
        harness.pass(HOUR).await;
        harness.says("alice", "@Aizuchi cancel reminder 1").await;
        harness.pass(HOUR).await;
        let said = posts(&harness).await;
        assert!(said.iter().all(|text| !text.ends_with("rake")), "{said:?}");
        let ended = harness.decisions("garden").await;
        assert!(ended.iter().all(|decision| decision.closed.is_some()));
    })
    .await;
}

#[tokio::test]
async fn a_time_is_meant_in_the_zone_of_the_asker() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let user = User {
            workspace: workspace(),
            id: UserId::new("u-alice"),
            name: "alice".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: Some("Asia/Tokyo".into()),
        };
        harness.inbox.hear(Heard::User(user)).await.unwrap();
        // It is 17:00 in Tokyo.
        harness.says("alice", "@Aizuchi remind me at 18:30 to prune").await;
        harness.pass(HOUR).await;
        assert_eq!(posts(&harness).await.len(), 0);
        harness.pass(HOUR).await;
        assert_eq!(posts(&harness).await.len(), 1);
        let told = harness.platform.posted_texts().join(" ");
        assert!(told.contains("18:30 JST"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn there_is_a_limit_to_what_one_person_plans() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for minute in 1..=60 {
            harness
                .says(
                    "mallory",
                    &format!("@Aizuchi remind me in {} minutes to laugh", minute + 600),
                )
                .await;
            harness.pass(MINUTE).await;
        }
        assert_eq!(pending(&harness).await, 50);
        let said = posts(&harness).await;
        assert!(said.last().unwrap().contains("too many reminders"), "{said:?}");
    })
    .await;
}

/// With tools, and posts that are not split.
async fn with_tools(store: TestStore) -> Harness {
    let tools = Some(ToolSettings::new(TimeZone::UTC));
    let options = HarnessOptions { tools, ..HarnessOptions::default() };
    let harness = Harness::new(store).await.with_options(options);
    harness.platform.set_longest_post(2000);
    harness
}

#[tokio::test]
async fn what_the_persona_promises_is_planned_and_done() {
    let transcript = on_every_database(async |store| {
        let harness = with_tools(store).await;
        let script = &harness.mind.script;
        script.push(PromptVerb::Reply, Ok("Not yet. I’ll check the frost again tomorrow."));
        let call = json!({ "at": "2027-01-16 07:00", "what": "check the frost" });
        script.push_tool_calls(PromptVerb::Reply, "", &[("schedule", call)]);
        script.push(PromptVerb::Reply, Ok("Not yet. I’ll check again tomorrow at 7:00."));
        script.push(PromptVerb::Reply, Ok("No frost this morning."));
        harness.says("alice", "@Aizuchi is there any frost?").await;
        harness.pass(MINUTE).await;
        assert_eq!(pending(&harness).await, 1);
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply);
        assert!(prompts[1].contains("“I’ll check the frost again tomorrow.”"), "it is asked again");
        harness.pass(2 * DAY).await;
        assert_eq!(pending(&harness).await, 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi is there any frost?
       0s (persona): Not yet. I’ll check again tomorrow at 7:00.
    82800s (persona): No frost this morning.
    [m000] spoke: alice asked me (reply kept, reply kept, reply kept)
    [] spoke: I had said to alice that I would (reply kept)
    ");
}

#[tokio::test]
async fn a_promise_goes_with_the_message_that_it_answers() {
    on_every_database(async |store| {
        let harness = with_tools(store).await;
        let call = json!({ "at": "in 2 hours", "what": "check the frost" });
        harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &[("schedule", call)]);
        let asked = harness.says("alice", "@Aizuchi is there any frost?").await;
        harness.pass(MINUTE).await;
        assert_eq!(pending(&harness).await, 1);
        harness.deletes(&asked).await;
        let plans = harness.store.archive.plans(&workspace()).await.unwrap();
        assert!(plans.iter().all(|plan| plan.what.is_empty()), "nothing of it is kept");
        let before = posts(&harness).await.len();
        harness.pass(3 * HOUR).await;
        assert_eq!((pending(&harness).await, posts(&harness).await.len()), (0, before));
    })
    .await;
}

#[tokio::test]
async fn what_nothing_would_keep_is_not_promised() {
    on_every_database(async |store| {
        let harness = with_tools(store).await;
        let script = &harness.mind.script;
        for _ in 0..2 {
            script.push(PromptVerb::Reply, Ok("It is shut. I’ll let you know when it opens."));
        }
        for _ in 0..2 {
            script.push(PromptVerb::Reply, Ok("あとで確認してお知らせします。"));
        }
        harness.says("alice", "@Aizuchi is the shop open?").await;
        harness.pass(MINUTE).await;
        harness.says("alice", "@Aizuchi 何時に開きますか？").await;
        harness.pass(MINUTE).await;
        assert_eq!(
            harness.platform.posted_texts(),
            ["It is shut.", "まだお答えできることがありません。"]
        );
        assert_eq!(pending(&harness).await, 0);
    })
    .await;
}
