//! When unsolicited posts are made: with the delay of a user in the channel. Stories on every store.

use aizuchi_core::chat::{Arrival, Heard};
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::event::Event;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::rules::PostTiming;
use jiff::{SignedDuration, Timestamp};

use aizuchi_harness::fixtures::{JOIN_IN_60, at, message, thread, top_level, window, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;

const JOIN_WHENEVER: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": null}"#;
/// How a prompt labels the first message of a story, which Alice posts.
const ALICE: &str = "2027-01-15 08:00:00 alice";
/// The time of the judgment: a minute and a half after the only message, which is a question to the channel.
const JUDGED: i64 = 90;

/// `wait: fixed`, but with the default timing of posts.
fn fixed_wait() -> HarnessOptions {
    let mut options = HarnessOptions::fixed_wait();
    options.settings.timing = PostTiming::HumanLike;
    options
}

/// A question is judged, and the reply is delayed. Returns when the reply begins, and when it is to be posted.
async fn until_it_waits(harness: &Harness) -> (Timestamp, Timestamp) {
    harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
    harness.says("alice", "when do I cut the roses?").await;
    while harness.mind.verbs().is_empty() {
        harness.pass(1).await;
    }
    assert_eq!(harness.mind.verbs(), "judge");
    let step = harness.step_of(&top_level("garden")).await.unwrap();
    assert!(matches!(step.event, Event::Reply(_)));
    let decision = harness.decisions("garden").await.pop().unwrap();
    let moment = decision.judgment.unwrap().post_at.unwrap();
    assert_eq!(step.due, moment - SignedDuration::from_secs(25));
    (step.due, moment)
}

fn said(harness: &Harness) -> Vec<Timestamp> {
    harness.platform.posted.lock().unwrap().iter().map(|(_, posted)| posted.at).collect()
}

#[tokio::test]
async fn it_posts_after_a_human_delay() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let (_, moment) = until_it_waits(&harness).await;
        assert!(moment > at(JUDGED) && moment <= at(JUDGED + 3600), "{moment}");
        harness.pass(4000).await;
        assert_eq!(said(&harness), [moment]);
    })
    .await;
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_before_the_post_cancels_it() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(fixed_wait());
        let (due, _) = until_it_waits(&harness).await;
        let left = due.duration_since(harness.clock.now()).as_secs();
        harness.pass(left - 1).await;
        harness.mind.script.set_default(PromptVerb::Judge, aizuchi_harness::fixtures::SILENCE);
        harness.says("bob", "in March").await;
        harness.pass(4000).await;
        assert_eq!(harness.mind.verbs(), "judge judge");
        assert_eq!(said(&harness), []);
    })
    .await;
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_during_typing_cancels_the_post() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(fixed_wait());
        let (due, _) = until_it_waits(&harness).await;
        harness.mind.script.set_default(PromptVerb::Judge, aizuchi_harness::fixtures::SILENCE);
        harness.pass(due.duration_since(harness.clock.now()).as_secs() + 2).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        assert_eq!(said(&harness), []);
        harness.says("bob", "in March").await;
        harness.pass(4000).await;
        assert_eq!(said(&harness), []);
        let decision = harness.decisions("garden").await.pop().unwrap();
        assert_eq!(decision.ended, Some(DecisionResult::ChoseSilence));
    })
    .await;
}

#[tokio::test]
async fn the_post_time_survives_a_restart() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let (due, moment) = until_it_waits(&harness).await;
        let harness = harness.restart().await;
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, due);
        harness.pass(due.duration_since(harness.clock.now()).as_secs() + 2).await;
        assert_eq!(harness.mind.verbs(), "judge reply");
        let harness = harness.restart().await;
        harness.pass(4000).await;
        assert_eq!(said(&harness), [moment]);
    })
    .await;
}

#[tokio::test]
async fn the_judges_delay_is_used() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(4000).await;
        assert_eq!(said(&harness), [at(JUDGED + 60)]);
    })
    .await;
}

#[tokio::test]
async fn a_mention_has_no_delay() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi when do I cut the roses?").await;
        harness.pass(0).await;
        assert_eq!(said(&harness), [at(0)]);
    })
    .await;
}

#[tokio::test]
async fn a_post_comes_no_sooner_than_it_can_be_typed() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut hasty = HarnessOptions::default();
        hasty.settings.max_delay_seconds = 0.0;
        let harness = harness.with_options(hasty);
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(4000).await;
        // "Here I am." has ten characters.
        assert_eq!(said(&harness), [at(JUDGED) + SignedDuration::from_millis(2300)]);
    })
    .await;
}

/// The runner claims a step a moment after it is due.
#[tokio::test]
async fn without_any_delay_a_step_is_not_too_late_at_once() {
    let mut hasty = HarnessOptions::default();
    hasty.settings.max_delay_seconds = 0.0;
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(hasty.clone());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        harness.says("alice", "when do I cut the roses?").await;
        harness.clock.advance_to(at(JUDGED));
        while harness.runner.step().await.unwrap() {
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(1));
        }
        harness.pass(60).await;
        assert_eq!(said(&harness).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn with_plain_timing_it_posts_at_once() {
    let mut plain = HarnessOptions::default();
    plain.settings.timing = PostTiming::Immediate;
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(plain.clone());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(JUDGED).await;
        assert_eq!(said(&harness), [at(JUDGED)]);
    })
    .await;
}

#[tokio::test]
async fn a_workspace_may_have_a_timing_of_its_own() {
    let mut options = HarnessOptions::default();
    options.settings.workspace_timings = [(workspace(), PostTiming::Immediate)].into();
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(JUDGED).await;
        assert_eq!(said(&harness), [at(JUDGED)]);
    })
    .await;
}

/// Alice asks, and others go on posting until the reply. Returns the time from the judgment to the post.
async fn answers_after(gap: i64, about: Option<&str>) -> SignedDuration {
    let mut options = HarnessOptions::default();
    options.settings.max_delay_seconds = 200.0;
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        let joins = serde_json::json!({
            "should_respond": true, "reason": "nobody answers", "confidence": 0.9,
            "delay_seconds": null, "about": about,
        });
        harness.mind.script.set_default(PromptVerb::Judge, joins.to_string());
        harness.says("alice", "does anyone have a ladder?").await;
        let mut second = 0;
        while harness.mind.prompt_texts(PromptVerb::Judge).is_empty() {
            harness.pass(1).await;
            second += 1;
            let is_judged = !harness.mind.prompt_texts(PromptVerb::Judge).is_empty();
            if second % gap == 0 && !is_judged {
                let (user, text) =
                    [("bob", "@carol the tulips are out"), ("carol", "@bob so are the lilies")]
                        [(second / gap % 2) as usize];
                harness.says(user, text).await;
                harness.pass(0).await;
            }
        }
        let decided = harness.clock.now();
        harness.pass(4000).await;
        said(&harness)[0].duration_since(decided)
    })
    .await
}

/// Delays are learned from one message to the next, so the age of the question does not matter.
#[tokio::test]
async fn the_delay_does_not_depend_on_the_age_of_the_question() {
    for gap in [30, 50] {
        let newest = answers_after(gap, None).await;
        assert_eq!(answers_after(gap, Some(ALICE)).await, newest);
    }
}

#[tokio::test]
async fn it_answers_before_the_question_scrolls_away() {
    // Sixteen messages are below the question when it is judged, with this many seconds between them.
    for gap in [2, 4, 6] {
        let after = answers_after(gap, Some(ALICE)).await;
        assert!(
            after <= SignedDuration::from_secs(5 * gap),
            "{after} where lines are {gap} s apart"
        );
    }
}

/// Delays of 200 to 400 seconds between users are learned, in threads and from backfilled messages, too, and survive
/// a restart.
#[tokio::test]
async fn reply_delays_are_learned_on_every_store() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut second = 0;
        for number in 0..60_i64 {
            second += 200 + number * 37 % 200;
            let conversation =
                if number % 3 == 0 { thread("garden", "l000") } else { top_level("garden") };
            let user = ["alice", "bob", "carol"][number as usize % 3];
            let message =
                message(conversation, &format!("l{number:03}"), at(second), user, "so it goes");
            let arrival = if number % 2 == 0 { Arrival::Live } else { Arrival::Backfilled };
            harness.inbox.hear(Heard::Message(message, arrival)).await.unwrap();
        }
        let harness = harness.restart().await;
        let context = harness.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        let elsewhere =
            harness.store.store.context(&top_level("kitchen"), &window(50)).await.unwrap();
        assert_ne!(context.circumstances.reply_delays, elsewhere.circumstances.reply_delays);
        context.circumstances.reply_delays
    })
    .await;
}
