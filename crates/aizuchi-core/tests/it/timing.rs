//! When it speaks unasked: as people of the channel would, as stories on every store.

use aizuchi_core::agent::Timing;
use aizuchi_core::chat::{Arrival, Heard};
use aizuchi_core::decision::Ended;
use aizuchi_core::event::Event;
use aizuchi_core::hear::Waiting;
use aizuchi_core::prompt::Verb;
use aizuchi_core::rhythm::Wait;
use jiff::{SignedDuration, Timestamp};

use aizuchi_harness::world::{
    Extras, JOIN_IN_60, Kept, World, at, line, thread, top, window, workspace,
};

const JOIN_WHENEVER: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": null}"#;
/// How a prompt names the first line of a story that Alice says.
const ALICE: &str = "2027-01-15 08:00:00 alice";
/// When it judges, a minute after the only line.
const JUDGED: i64 = 60;

fn human() -> Extras {
    let mut extras = Extras::default();
    extras.settings.timing = Timing::Human;
    extras
}

async fn worlds() -> [World; 2] {
    let world = async |kept| World::new(kept).await.having(human());
    [world(Kept::volatile()).await, world(Kept::sqlite().await).await]
}

/// Somebody asks, and it means to answer at a moment of its own. It thinks a little before that.
async fn until_it_waits(world: &World) -> (Timestamp, Timestamp) {
    world.mind.script.always(Verb::Judge, JOIN_WHENEVER);
    world.says("alice", "when do I cut the roses?").await;
    world.pass(JUDGED).await;
    assert_eq!(world.mind.verbs(), "judge");
    let step = world.step_of(&top("garden")).await.unwrap();
    assert!(matches!(step.event, Event::Reply(_)));
    let decision = world.decisions("garden").await.pop().unwrap();
    let moment = decision.judgment.unwrap().moment.unwrap();
    assert_eq!(step.due, moment - SignedDuration::from_secs(25));
    (step.due, moment)
}

fn said(world: &World) -> Vec<Timestamp> {
    world.room.said.lock().unwrap().iter().map(|(_, posted)| posted.at).collect()
}

#[tokio::test]
async fn it_takes_its_time_and_types() {
    for world in worlds().await {
        let (_, moment) = until_it_waits(&world).await;
        assert!(moment > at(JUDGED) && moment <= at(JUDGED + 3600), "{moment}");
        world.pass(4000).await;
        assert_eq!(said(&world), [moment]);
    }
}

#[tokio::test]
async fn a_line_before_its_moment_stops_it() {
    for world in worlds().await {
        let (due, _) = until_it_waits(&world).await;
        let left = due.duration_since(world.clock.now()).as_secs();
        world.pass(left - 1).await;
        world.mind.script.always(Verb::Judge, aizuchi_harness::world::SILENCE);
        world.says("bob", "in March").await;
        world.pass(4000).await;
        assert_eq!(world.mind.verbs(), "judge judge");
        assert_eq!(said(&world), []);
    }
}

#[tokio::test]
async fn a_line_while_it_types_stops_it() {
    for world in worlds().await {
        let (due, _) = until_it_waits(&world).await;
        world.mind.script.always(Verb::Judge, aizuchi_harness::world::SILENCE);
        world.pass(due.duration_since(world.clock.now()).as_secs() + 2).await;
        assert_eq!(world.mind.verbs(), "judge reply");
        assert_eq!(said(&world), []);
        world.says("bob", "in March").await;
        world.pass(4000).await;
        assert_eq!(said(&world), []);
        let decision = world.decisions("garden").await.pop().unwrap();
        assert_eq!(decision.ended, Some(Ended::ChoseSilence));
    }
}

#[tokio::test]
async fn its_moment_survives_a_restart() {
    let world = World::new(Kept::sqlite().await).await.having(human());
    let (due, moment) = until_it_waits(&world).await;
    let world = world.restart().await;
    assert_eq!(world.step_of(&top("garden")).await.unwrap().due, due);
    world.pass(due.duration_since(world.clock.now()).as_secs() + 2).await;
    assert_eq!(world.mind.verbs(), "judge reply");
    let world = world.restart().await;
    world.pass(4000).await;
    assert_eq!(said(&world), [moment]);
}

#[tokio::test]
async fn a_delay_that_the_judge_names_is_the_delay() {
    for world in worlds().await {
        world.mind.script.always(Verb::Judge, JOIN_IN_60);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(4000).await;
        assert_eq!(said(&world), [at(JUDGED + 60)]);
    }
}

#[tokio::test]
async fn who_mentions_it_is_answered_at_once() {
    for world in worlds().await {
        world.says("alice", "@Aizuchi when do I cut the roses?").await;
        world.pass(0).await;
        assert_eq!(said(&world), [at(0)]);
    }
}

#[tokio::test]
async fn words_are_said_no_sooner_than_they_can_be_typed() {
    for world in worlds().await {
        let mut hasty = human();
        hasty.settings.max_delay_seconds = 0.0;
        let world = world.having(hasty);
        world.mind.script.always(Verb::Judge, JOIN_WHENEVER);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(4000).await;
        // "Here I am." are ten characters.
        assert_eq!(said(&world), [at(JUDGED) + SignedDuration::from_millis(2300)]);
    }
}

#[tokio::test]
async fn plain_timing_speaks_at_once() {
    let world = World::new(Kept::volatile()).await.having(Extras::default());
    world.mind.script.always(Verb::Judge, JOIN_WHENEVER);
    world.says("alice", "when do I cut the roses?").await;
    world.pass(JUDGED).await;
    assert_eq!(said(&world), [at(JUDGED)]);
}

#[tokio::test]
async fn a_workspace_may_have_a_timing_of_its_own() {
    let mut extras = human();
    extras.settings.timings = [(workspace(), Timing::Plain)].into();
    let world = World::new(Kept::volatile()).await.having(extras);
    world.mind.script.always(Verb::Judge, JOIN_WHENEVER);
    world.says("alice", "when do I cut the roses?").await;
    world.pass(JUDGED).await;
    assert_eq!(said(&world), [at(JUDGED)]);
}

/// Alice asks, and others talk on until it means to answer. Returns how long after that it speaks.
async fn answers_after(gap: i64, about: Option<&str>) -> SignedDuration {
    let waiting = Waiting { wait: Wait::Adaptive, ..Waiting::default() };
    let mut extras = Extras { waiting, ..human() };
    extras.settings.max_delay_seconds = 200.0;
    let world = World::new(Kept::volatile()).await.having(extras);
    let joins = serde_json::json!({
        "should_respond": true, "reason": "nobody answers", "confidence": 0.9,
        "delay_seconds": null, "about": about,
    });
    world.mind.script.always(Verb::Judge, joins.to_string());
    world.says("alice", "does anyone have a ladder?").await;
    let mut second = 0;
    while world.mind.asked(Verb::Judge).is_empty() {
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
    let mut contexts = Vec::new();
    for world in worlds().await {
        let mut second = 0;
        for number in 0..60_i64 {
            second += 200 + number * 37 % 200;
            let place = if number % 3 == 0 { thread("garden", "l000") } else { top("garden") };
            let who = ["alice", "bob", "carol"][number as usize % 3];
            let line = line(place, &format!("l{number:03}"), at(second), who, "so it goes");
            let arrival = if number % 2 == 0 { Arrival::Live } else { Arrival::CaughtUp };
            world.ears.hear(Heard::Message(line, arrival)).await.unwrap();
        }
        let world = world.restart().await;
        let context = world.kept.store.context(&top("garden"), &window(50)).await.unwrap();
        let elsewhere = world.kept.store.context(&top("kitchen"), &window(50)).await.unwrap();
        assert_ne!(context.circumstances.delays, elsewhere.circumstances.delays);
        contexts.push(context.circumstances.delays);
    }
    assert_eq!(contexts[0], contexts[1]);
}
