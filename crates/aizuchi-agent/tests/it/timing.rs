//! When unsolicited posts are made: with the delay of a user in the channel. Stories on every store.

use aizuchi_harness::fixtures::{JOIN_IN_60, at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::flow::Work;
use aizuchi_model::rules::PostTiming;
use jiff::{SignedDuration, Timestamp};

const JOIN_WHENEVER: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": null}"#;
/// The time of the judgment: a minute and a half after the only message, which is a question to the channel.
const JUDGED: i64 = 90;

/// `wait: fixed`, but with the default timing of posts.
fn fixed_wait() -> HarnessOptions {
    let mut options = HarnessOptions::fixed_wait();
    options.settings.timing = PostTiming::HumanLike;
    options
}

/// A question is judged and drafted, and the post waits for its moment, which is returned.
async fn until_it_waits(harness: &Harness) -> Timestamp {
    harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
    harness.says("alice", "when do I cut the roses?").await;
    while harness.mind.verbs().is_empty() {
        harness.pass(1).await;
    }
    assert_eq!(harness.mind.verbs(), "judge reply");
    let step = harness.step_of(&top_level("garden")).await.unwrap();
    assert!(matches!(step.work, Work::Post(_)));
    let decision = harness.decisions("garden").await.pop().unwrap();
    let moment = decision.judgment.unwrap().post_at.unwrap();
    assert_eq!(step.due, moment);
    moment
}

fn said(harness: &Harness) -> Vec<Timestamp> {
    harness.platform.posted.lock().unwrap().iter().map(|(_, posted)| posted.at).collect()
}

#[tokio::test]
async fn it_posts_after_a_human_delay() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let moment = until_it_waits(&harness).await;
        assert!(moment >= at(JUDGED + 4) && moment <= at(JUDGED + 8), "{moment}");
        harness.pass(4000).await;
        assert_eq!(said(&harness), [moment]);
    })
    .await;
}

#[tokio::test]
async fn with_a_fixed_wait_a_message_before_the_post_cancels_it() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(fixed_wait());
        harness.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
        harness.says("alice", "when do I cut the roses?").await;
        while harness.mind.verbs().is_empty() {
            harness.pass(1).await;
        }
        harness.pass(58).await;
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
        until_it_waits(&harness).await;
        harness.mind.script.set_default(PromptVerb::Judge, aizuchi_harness::fixtures::SILENCE);
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
        let moment = until_it_waits(&harness).await;
        let harness = harness.restart().await;
        assert_eq!(harness.step_of(&top_level("garden")).await.unwrap().due, moment);
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

/// The silence so far counts as waiting, so a question that has rested is answered within half a minute of the yes, also
/// the one that nobody has written after for an hour, and in a busy channel.
#[tokio::test]
async fn a_yes_without_a_delay_is_posted_within_half_a_minute() {
    for gap in [5, 30, 600] {
        let waited = on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
            for number in 0..12 {
                let (user, text) =
                    [("bob", "@carol the tulips are out"), ("carol", "@bob so are the lilies")]
                        [number % 2];
                harness.says(user, text).await;
                harness.pass(gap).await;
            }
            let calls = harness.mind.prompt_texts(PromptVerb::Judge).len();
            harness.says("alice", "does anyone have a ladder?").await;
            let asked = harness.clock.now();
            while harness.mind.prompt_texts(PromptVerb::Judge).len() == calls {
                harness.pass(1).await;
            }
            let judged = harness.clock.now();
            harness.pass(4000).await;
            let posted = *said(&harness).last().unwrap();
            assert!(posted.duration_since(judged).as_secs() <= 30, "{posted} after {judged}");
            posted.duration_since(asked)
        });
        let waited = waited.await;
        assert!(waited.as_secs() <= 120, "{waited} where lines are {gap} s apart");
    }
}
