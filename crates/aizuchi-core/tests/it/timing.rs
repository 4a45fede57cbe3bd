//! When it speaks unasked: as people of the channel would, as stories on every store.

use aizuchi_core::agent::PostTiming;
use aizuchi_core::chat::{Arrival, Heard};
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::event::Event;
use aizuchi_core::prompt::PromptVerb;
use jiff::{SignedDuration, Timestamp};

use aizuchi_harness::harness::{
    Harness, HarnessOptions, JOIN_IN_60, at, message, on_every_store, thread, top_level, window,
    workspace,
};

const JOIN_WHENEVER: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": null}"#;
/// How a prompt names the first line of a story that Alice says.
const ALICE: &str = "2027-01-15 08:00:00 alice";
/// When it judges: a minute and a half after the only message, which is a question to the channel.
const JUDGED: i64 = 90;

/// `wait: fixed`, but posts are timed as by default.
fn fixed_wait() -> HarnessOptions {
    let mut extras = HarnessOptions::fixed_wait();
    extras.settings.timing = PostTiming::HumanLike;
    extras
}

/// Somebody asks, and it means to answer at a moment of its own. It thinks a little before that.
async fn until_it_waits(world: &Harness) -> (Timestamp, Timestamp) {
    world.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
    world.says("alice", "when do I cut the roses?").await;
    while world.mind.verbs().is_empty() {
        world.pass(1).await;
    }
    assert_eq!(world.mind.verbs(), "judge");
    let step = world.step_of(&top_level("garden")).await.unwrap();
    assert!(matches!(step.event, Event::Reply(_)));
    let decision = world.decisions("garden").await.pop().unwrap();
    let moment = decision.judgment.unwrap().post_at.unwrap();
    assert_eq!(step.due, moment - SignedDuration::from_secs(25));
    (step.due, moment)
}

fn said(world: &Harness) -> Vec<Timestamp> {
    world.platform.posted.lock().unwrap().iter().map(|(_, posted)| posted.at).collect()
}

#[tokio::test]
async fn it_takes_its_time_and_types() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let (_, moment) = until_it_waits(&world).await;
        assert!(moment > at(JUDGED) && moment <= at(JUDGED + 3600), "{moment}");
        world.pass(4000).await;
        assert_eq!(said(&world), [moment]);
    })
    .await;
}

#[tokio::test]
async fn a_line_before_its_moment_stops_it() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(fixed_wait());
        let (due, _) = until_it_waits(&world).await;
        let left = due.duration_since(world.clock.now()).as_secs();
        world.pass(left - 1).await;
        world.mind.script.set_default(PromptVerb::Judge, aizuchi_harness::harness::SILENCE);
        world.says("bob", "in March").await;
        world.pass(4000).await;
        assert_eq!(world.mind.verbs(), "judge judge");
        assert_eq!(said(&world), []);
    })
    .await;
}

#[tokio::test]
async fn a_line_while_it_types_stops_it() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(fixed_wait());
        let (due, _) = until_it_waits(&world).await;
        world.mind.script.set_default(PromptVerb::Judge, aizuchi_harness::harness::SILENCE);
        world.pass(due.duration_since(world.clock.now()).as_secs() + 2).await;
        assert_eq!(world.mind.verbs(), "judge reply");
        assert_eq!(said(&world), []);
        world.says("bob", "in March").await;
        world.pass(4000).await;
        assert_eq!(said(&world), []);
        let decision = world.decisions("garden").await.pop().unwrap();
        assert_eq!(decision.ended, Some(DecisionResult::ChoseSilence));
    })
    .await;
}

#[tokio::test]
async fn its_moment_survives_a_restart() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let (due, moment) = until_it_waits(&world).await;
        let world = world.restart().await;
        assert_eq!(world.step_of(&top_level("garden")).await.unwrap().due, due);
        world.pass(due.duration_since(world.clock.now()).as_secs() + 2).await;
        assert_eq!(world.mind.verbs(), "judge reply");
        let world = world.restart().await;
        world.pass(4000).await;
        assert_eq!(said(&world), [moment]);
    })
    .await;
}

#[tokio::test]
async fn a_delay_that_the_judge_names_is_the_delay() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.set_default(PromptVerb::Judge, JOIN_IN_60);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(4000).await;
        assert_eq!(said(&world), [at(JUDGED + 60)]);
    })
    .await;
}

#[tokio::test]
async fn who_mentions_it_is_answered_at_once() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi when do I cut the roses?").await;
        world.pass(0).await;
        assert_eq!(said(&world), [at(0)]);
    })
    .await;
}

#[tokio::test]
async fn words_are_said_no_sooner_than_they_can_be_typed() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let mut hasty = HarnessOptions::default();
        hasty.settings.max_delay_seconds = 0.0;
        let world = world.with_options(hasty);
        world.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(4000).await;
        // "Here I am." are ten characters.
        assert_eq!(said(&world), [at(JUDGED) + SignedDuration::from_millis(2300)]);
    })
    .await;
}

#[tokio::test]
async fn plain_timing_speaks_at_once() {
    let mut plain = HarnessOptions::default();
    plain.settings.timing = PostTiming::Immediate;
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(plain.clone());
        world.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(JUDGED).await;
        assert_eq!(said(&world), [at(JUDGED)]);
    })
    .await;
}

#[tokio::test]
async fn a_workspace_may_have_a_timing_of_its_own() {
    let mut extras = HarnessOptions::default();
    extras.settings.workspace_timings = [(workspace(), PostTiming::Immediate)].into();
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(extras.clone());
        world.mind.script.set_default(PromptVerb::Judge, JOIN_WHENEVER);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(JUDGED).await;
        assert_eq!(said(&world), [at(JUDGED)]);
    })
    .await;
}

/// Alice asks, and others talk on until it means to answer. Returns how long after that it speaks.
async fn answers_after(gap: i64, about: Option<&str>) -> SignedDuration {
    let mut extras = HarnessOptions::default();
    extras.settings.max_delay_seconds = 200.0;
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(extras.clone());
        let joins = serde_json::json!({
            "should_respond": true, "reason": "nobody answers", "confidence": 0.9,
            "delay_seconds": null, "about": about,
        });
        world.mind.script.set_default(PromptVerb::Judge, joins.to_string());
        world.says("alice", "does anyone have a ladder?").await;
        let mut second = 0;
        while world.mind.prompt_texts(PromptVerb::Judge).is_empty() {
            world.pass(1).await;
            second += 1;
            if second % gap == 0 {
                world.says(["bob", "carol"][(second / gap % 2) as usize], "so it goes").await;
                world.pass(0).await;
            }
        }
        let decided = world.clock.now();
        world.pass(4000).await;
        said(&world)[0].duration_since(decided)
    })
    .await
}

/// What people do here is learned from one line to the next, so an old question is no longer delay.
#[tokio::test]
async fn it_takes_no_longer_for_an_old_question() {
    for gap in [30, 50] {
        let newest = answers_after(gap, None).await;
        assert_eq!(answers_after(gap, Some(ALICE)).await, newest);
    }
}

#[tokio::test]
async fn it_answers_while_the_question_is_in_sight() {
    // Sixteen lines stand below it when it is judged, and each takes as long.
    for gap in [2, 4, 6] {
        let after = answers_after(gap, Some(ALICE)).await;
        assert!(
            after <= SignedDuration::from_secs(5 * gap),
            "{after} where lines are {gap} s apart"
        );
    }
}

/// People who answer each other after 200 to 400 seconds teach it to do so, in threads and by what was
/// missed, too; and what a restart reads is what was learned.
#[tokio::test]
async fn it_learns_from_when_people_answer() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let mut second = 0;
        for number in 0..60_i64 {
            second += 200 + number * 37 % 200;
            let place =
                if number % 3 == 0 { thread("garden", "l000") } else { top_level("garden") };
            let who = ["alice", "bob", "carol"][number as usize % 3];
            let line = message(place, &format!("l{number:03}"), at(second), who, "so it goes");
            let arrival = if number % 2 == 0 { Arrival::Live } else { Arrival::Backfilled };
            world.inbox.hear(Heard::Message(line, arrival)).await.unwrap();
        }
        let world = world.restart().await;
        let context = world.store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        let elsewhere =
            world.store.store.context(&top_level("kitchen"), &window(50)).await.unwrap();
        assert_ne!(context.channel_status.reply_delays, elsewhere.channel_status.reply_delays);
        context.channel_status.reply_delays
    })
    .await;
}
