//! Deciding: what goes on while people talk, who is owed an answer, and what stops it from speaking, as
//! transcripts on every store.

use std::sync::Arc;

use aizuchi_core::chat::{AuthorKind, ConversationId, Heard, MessageId, Role, UserId, Visibility};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{Decision, DecisionResult};
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::rules::{BudgetLimits, ChannelRules, Mode, QuietHours, Rulebook};
use aizuchi_core::store::Order;
use insta::assert_snapshot;
use jiff::Timestamp;
use jiff::civil::time;
use jiff::tz::TimeZone;

use aizuchi_harness::harness::{
    Fault, Harness, HarnessOptions, JOIN, JOIN_IN_60, at, new_channel, on_every_store, thread,
    top_level, workspace,
};

const NOD: &str =
    r#"{"should_respond": false, "reason": "good news", "confidence": 0.9, "reaction": "🎉"}"#;

fn facilitator() -> HarnessOptions {
    mode(Mode::Facilitator)
}

fn mode(mode: Mode) -> HarnessOptions {
    HarnessOptions::from_rules(ChannelRules { mode, ..ChannelRules::default() })
}

/// Three lines, the last of which asks.
async fn discuss(world: &Harness) -> MessageId {
    world.says("bob", "the roses look ill").await;
    world.says("carol", "they do").await;
    world.says("alice", "what can we do?").await
}

async fn last(world: &Harness) -> Decision {
    world.decisions("garden").await.pop().unwrap()
}

fn mute(channel: &ConversationId) -> Order {
    let channel = Some(channel.channel.clone());
    Order::Mute { workspace: workspace(), channel, until: Timestamp::MAX, by: Role::Admin }
}

fn unmute(channel: &ConversationId) -> Order {
    Order::Unmute {
        workspace: workspace(),
        channel: Some(channel.channel.clone()),
        by: Role::Admin,
    }
}

fn opt_out(who: &str) -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new(format!("u-{who}")) }
}

// What goes on in a facilitated room.

#[tokio::test]
async fn lines_while_a_facilitator_judges_are_in_its_words() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Judge, || async move {
            there.after_5s_says("bob", "no idea").await;
        });
        discuss(&world).await;
        world.pass(100).await;
        assert_eq!(world.mind.verbs(), "judge reply");
        assert!(world.mind.prompt_texts(PromptVerb::Reply)[0].contains("no idea"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: no idea
      10s (persona): Here I am.
    [m000 m001 m002 m003] spoke: nobody answers (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn no_judge_puts_off_its_words_for_longer_than_it_may() {
    for mode in [Mode::Companion, Mode::Facilitator] {
        let mut extras =
            HarnessOptions::from_rules(ChannelRules { mode, ..ChannelRules::default() });
        extras.settings.max_delay_seconds = 40.0;
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(extras.clone());
            world.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            discuss(&world).await;
            // What goes on meanwhile puts it off neither.
            world.pass(if mode == Mode::Facilitator { 5 } else { 90 }).await;
            assert_eq!(world.mind.verbs(), "judge", "{mode:?}");
            if mode == Mode::Facilitator {
                world.says("bob", "no idea").await;
            }
            world.pass(39).await;
            assert_eq!(world.mind.verbs(), "judge", "{mode:?}");
            world.pass(1).await;
            assert_eq!(world.mind.verbs(), "judge reply", "{mode:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_slow_judge_does_not_put_off_the_next_judgment() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Judge, || async move {
            for words in ["one", "two", "three"] {
                there.after_5s_says("bob", words).await;
            }
        });
        discuss(&world).await;
        world.pass(20).await;
        for words in ["four", "five", "six", "seven"] {
            world.after_5s_says("bob", words).await;
        }
        // Half a minute after the first line that was not judged, however much is said.
        assert_eq!(world.step_of(&top_level("garden")).await.unwrap().due, at(40));
        world.transcript().await
    });
    drop(told.await);
}

#[tokio::test]
async fn lines_while_a_facilitator_drafts_are_in_its_one_redraft() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.mind.script.push(PromptVerb::Reply, Ok("Too early."));
        for words in ["no idea", "none at all"] {
            let there = world.clone();
            world.mind.meanwhile(PromptVerb::Reply, move || async move {
                there.after_5s_says("bob", words).await;
            });
        }
        discuss(&world).await;
        world.pass(100).await;
        assert_eq!(world.mind.verbs(), "judge reply reply");
        assert!(world.mind.prompt_texts(PromptVerb::Reply)[1].contains("no idea"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: no idea
      15s bob: none at all
      15s (persona): Here I am.
    [m000 m001 m002 m003] spoke: nobody answers (judge kept, reply superseded, reply kept)
    [m004] chose_silence by cooldown: I spoke unasked not long ago ()
    ");
}

#[tokio::test]
async fn what_somebody_has_answered_meanwhile_is_dropped() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.after_5s_says("bob", "@alice water them").await;
        });
        discuss(&world).await;
        world.pass(100).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s bob: @alice water them
    [m000 m001 m002] dropped: it has been answered, or is no longer what it was (judge kept, reply kept)
    [m003] chose_silence by directed: everything new was said to somebody else ()
    ");
}

#[tokio::test]
async fn what_is_answered_in_a_thread_while_it_drafts_is_dropped_and_says_why() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says_in(thread("garden", "m002"), "bob", "water them").await;
        });
        discuss(&world).await;
        world.pass(100).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
       5s   bob: water them
    [m000 m001 m002] dropped: it has been answered, or is no longer what it was (judge kept, reply kept)
    [m003] chose_silence by too_few: too little has been said yet ()
    ");
}

#[tokio::test]
async fn what_is_edited_meanwhile_is_judged_anew() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.mind.script.push(PromptVerb::Reply, Ok("Water them."));
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.edits(&MessageId::new("m002"), "never mind, what is for lunch?").await;
        });
        discuss(&world).await;
        world.pass(100).await;
        assert!(world.platform.posted_texts().is_empty());
        assert!(world.mind.prompt_texts(PromptVerb::Judge)[1].contains("what is for lunch?"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: never mind, what is for lunch?
    [m000 m001] dropped: a line that it was made from has changed (judge kept, reply kept)
    [m002] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn what_is_deleted_meanwhile_is_not_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.mind.script.push(PromptVerb::Reply, Ok("Water them."));
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.deletes(&MessageId::new("m002")).await;
        });
        discuss(&world).await;
        world.pass(100).await;
        assert!(world.platform.posted_texts().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: (deleted)
    [m000 m001 m002] dropped: the line was deleted (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn a_mention_goes_before_what_a_facilitator_has_begun() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(facilitator());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        for (verb, who) in [(PromptVerb::Judge, "dan"), (PromptVerb::Reply, "eve")] {
            let there = world.clone();
            world.mind.meanwhile(verb, move || async move {
                there.after_5s_says(who, "@Aizuchi are you there?").await;
            });
        }
        discuss(&world).await;
        world.pass(100).await;
        // One answer that holds both.
        let owed = world.platform.posted.lock().unwrap()[0].0.metadata.owed.clone();
        assert_eq!(owed, ["m003", "m004"].map(MessageId::new));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s bob: the roses look ill
       0s carol: they do
       0s alice: what can we do?
      10s dan: @Aizuchi are you there?
      15s eve: @Aizuchi are you there?
      15s (persona): Here I am.
    [m000 m001 m002 m003 m004] spoke: dan asked me (judge superseded, reply superseded, reply kept)
    ");
}

// Who is owed an answer.

#[tokio::test]
async fn everyone_who_asks_is_answered_whatever_becomes_of_the_others() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        let first = world.says("alice", "@Aizuchi what about the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi and the tulips?").await;
            there.deletes(&first).await;
        });
        world.pass(1000).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: (deleted)
       0s bob: @Aizuchi and the tulips?
       0s (persona): Here I am.
    [m000 m001] spoke: bob asked me (reply superseded, reply kept)
    ");
}

// What stops it.

#[tokio::test]
async fn what_is_asked_while_it_is_muted_is_never_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        world.order(mute(&top_level("garden"))).await;
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(10).await;
        world.says_in(top_level("kitchen"), "bob", "@Aizuchi and here?").await;
        world.pass(10).await;
        assert_eq!(world.platform.posts_in(&top_level("kitchen")), 1);
        world.order(unmute(&top_level("garden"))).await;
        world.pass(10_000).await;
        assert_eq!(world.platform.posts_in(&top_level("garden")), 0);
        world.says("alice", "@Aizuchi are you there again?").await;
        world.pass(10).await;
        assert_eq!(world.mind.verbs(), "reply reply");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
    10020s alice: @Aizuchi are you there again?
    10020s (persona): Here I am.
    [m000] muted by muted: I am muted here ()
    [m002] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_mute_without_an_end_and_one_with_an_end_hold_as_long_as_they_say() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        for (until, spoken) in [(at(500), 1), (Timestamp::MAX, 1)] {
            let channel = None;
            world
                .order(Order::Mute { workspace: workspace(), channel, until, by: Role::Admin })
                .await;
            let said = world.platform.posted_texts().len();
            world.says("alice", "@Aizuchi are you there?").await;
            world.pass(1000).await;
            assert_eq!(world.platform.posted_texts().len(), said, "{until}");
            world.says("alice", "@Aizuchi and now?").await;
            world.pass(1).await;
            assert_eq!(world.platform.posted_texts().len(), spoken, "{until}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mute_while_words_wait_keeps_them_unsaid() {
    for text in ["when do I cut the roses?", "@Aizuchi when do I cut the roses?"] {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(HarnessOptions::default());
            world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            world.platform.fails(&[Fault::Busy]);
            world.says("alice", text).await;
            world.pass(90).await;
            world.pass(0).await;
            let is_drafted = world.mind.prompt_texts(PromptVerb::Reply).len() == 1;
            assert!(
                is_drafted && world.platform.posted_texts().is_empty() || text.starts_with('@')
            );
            let world = if text.starts_with('@') { muted_mention(&world).await } else { world };
            world.order(mute(&top_level("garden"))).await;
            world.pass(1000).await;
            assert!(
                world.platform.posted_texts().iter().all(|said| said != "Never this."),
                "{text}"
            );
            let row = last(&world).await;
            assert_eq!(
                (row.ended, row.gate),
                (Some(DecisionResult::Muted), Some(Gate::Muted)),
                "{text}"
            );
            world.order(unmute(&top_level("garden"))).await;
            let said = world.platform.posted_texts().len();
            world.pass(10_000).await;
            assert_eq!(world.platform.posted_texts().len(), said, "{text}");
        })
        .await;
    }
}

/// Somebody has asked, and the platform does not take the answer for now.
async fn muted_mention(world: &Harness) -> Harness {
    world.mind.script.push(PromptVerb::Reply, Ok("Never this."));
    world.platform.fails(&[Fault::Busy]);
    world.says("bob", "@Aizuchi and the tulips?").await;
    world.pass(0).await;
    world.clone()
}

#[tokio::test]
async fn where_it_observes_it_decides_for_the_ledger_alone() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(mode(Mode::Observe));
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(400).await;
        let shadow = last(&world).await.judgment.unwrap();
        assert!(shadow.should_respond);
        world.mind.script.push(PromptVerb::Judge, Ok(NOD));
        world.says("bob", "we have won!").await;
        world.pass(400).await;
        world.says("alice", "@Aizuchi are you there?").await;
        world.pass(1000).await;
        assert_eq!(world.mind.verbs(), "judge judge");
        assert_eq!(world.platform.calls.load(std::sync::atomic::Ordering::SeqCst), 0);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
     400s bob: we have won!
     800s alice: @Aizuchi are you there?
    [m000] muted: I would have spoken, but I only look on here (judge kept)
    [m001] chose_silence: good news (judge kept)
    [m002] muted by channel_mode: I do not speak unasked in this channel ()
    ");
}

#[tokio::test]
async fn where_it_is_asked_alone_it_is_silent_until_somebody_asks() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(mode(Mode::MentionOnly));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(100).await;
        world.says("alice", "@Aizuchi when do I cut the roses?").await;
        world.pass(100).await;
        assert_eq!(world.mind.verbs(), "reply");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
     100s alice: @Aizuchi when do I cut the roses?
     100s (persona): Here I am.
    [m000] chose_silence by channel_mode: I do not speak unasked in this channel ()
    [m001] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn where_it_is_off_not_even_the_words_are_kept() {
    let memory: Option<Arc<dyn aizuchi_core::llm::Llm>> = Some(Arc::new(BuiltinMind));
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept)
            .await
            .with_options(HarnessOptions { memory: memory.clone(), ..mode(Mode::Off) });
        let line = world.says("alice", "the xyzzy is in the shed").await;
        world.says("bob", "@Aizuchi what is xyzzy?").await;
        world.pass(10).await;
        world.edits(&line, "the xyzzy is in the barn").await;
        world.edits(&line, "@Aizuchi the xyzzy is in the barn").await;
        assert_eq!(world.store.store.next_memory_job().await.unwrap(), None);
        world.pass(10_000).await;
        assert_eq!(world.mind.verbs(), "");
        let lines = world.messages("garden").await;
        assert!(lines.iter().all(|line| line.gate == Some(Gate::ChannelMode)));
        world.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(told.await, @"
    0s alice:
    0s bob:
    ");
}

#[tokio::test]
async fn an_ordered_mode_outranks_the_settings_until_it_is_taken_back() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(mode(Mode::MentionOnly));
        world.mind.script.set_default(PromptVerb::Judge, JOIN);
        for (ordered, spoke) in [
            (None, 0),
            (Some(Mode::Companion), 1),
            (Some(Mode::Observe), 1),
            (Some(Mode::Companion), 2),
            (None, 2),
        ] {
            world.order(order(ordered)).await;
            world.says("alice", "when do I cut the roses?").await;
            world.says("bob", "and the tulips?").await;
            world.pass(100).await;
            assert_eq!(world.platform.posted_texts().len(), spoke, "{ordered:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mode_ordered_while_it_waits_holds_for_what_waits() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    for mode in [Mode::MentionOnly, Mode::Observe, Mode::Off] {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(HarnessOptions::default());
            world.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            world.says("alice", "when do I cut the roses?").await;
            world.pass(90).await;
            world.order(order(Some(mode))).await;
            world.pass(1000).await;
            assert_eq!(world.mind.verbs(), "judge", "{mode:?}");
            assert_eq!(last(&world).await.gate, Some(Gate::ChannelMode), "{mode:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn who_has_opted_out_is_an_id_and_nothing_else() {
    let memory: Option<Arc<dyn aizuchi_core::llm::Llm>> = Some(Arc::new(BuiltinMind));
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept)
            .await
            .with_options(HarnessOptions { memory: memory.clone(), ..HarnessOptions::default() });
        world.order(opt_out("zoe")).await;
        let line = world.says("zoe", "the xyzzy is in the shed").await;
        world.says("zoe", "@Aizuchi do you remember the xyzzy?").await;
        assert_eq!(world.store.store.next_memory_job().await.unwrap(), None, "nothing to remember");
        world.pass(10).await;
        // What they change about it is as little listened to.
        world.edits(&line, "the xyzzy is in the barn").await;
        world.pass(10).await;
        world.edits(&line, "@Aizuchi the xyzzy is in the barn").await;
        world.pass(100).await;
        assert_eq!(world.mind.verbs(), "");
        world.says("alice", "@Aizuchi what was said?").await;
        world.says("bob", "well").await;
        world.pass(10_000).await;
        for prompt in [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::Remember]
            .map(|verb| world.mind.prompt_texts(verb))
            .concat()
        {
            assert!(!prompt.contains("xyzzy") && !prompt.contains("zoe"), "{prompt}");
        }
        let lines = world.messages("garden").await;
        assert_eq!(lines[0].gate, Some(Gate::OptedOut));
        world.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(told.await, @"
       0s zoe:
       0s zoe:
     120s alice: @Aizuchi what was said?
     120s bob: well
     120s (persona): Here I am.
    [m002 m003] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn quiet_hours_go_over_midnight_and_a_mention_is_answered_in_them() {
    // It is five in the afternoon in Tokyo when the stories begin.
    let quiet_hours = Some(QuietHours { from: time(22, 0, 0, 0), to: time(7, 0, 0, 0) });
    let mut extras =
        HarnessOptions::from_rules(ChannelRules { quiet_hours, ..ChannelRules::default() });
    extras.settings.zone = TimeZone::get("Asia/Tokyo").unwrap();
    const TEN: i64 = 5 * 3600;
    const SEVEN: i64 = 14 * 3600;
    for (judged, spoke) in [
        (TEN - 1, true),
        (TEN, false),
        (TEN + 2 * 3600, false),
        (TEN + 5 * 3600, false),
        (SEVEN - 1, false),
        (SEVEN, true),
        (TEN + 24 * 3600, false),
    ] {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(extras.clone());
            world.mind.script.set_default(PromptVerb::Judge, JOIN);
            world.clock.advance_to(at(judged - 90));
            world.says("alice", "when do I cut the roses?").await;
            world.pass(90).await;
            assert_eq!(world.platform.posted_texts().len(), usize::from(spoke), "{judged}");
            let gate = last(&world).await.gate;
            assert_eq!(gate, (!spoke).then_some(Gate::QuietHours), "{judged}");
            world.says("bob", "@Aizuchi when do I cut the roses?").await;
            world.pass(0).await;
            assert_eq!(world.platform.posted_texts().len(), usize::from(spoke) + 1, "{judged}");
        })
        .await;
    }
    // What was to be said a minute later is not said into the night.
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(extras.clone());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        world.clock.advance_to(at(TEN - 120));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(1000).await;
        assert_eq!(
            (world.mind.verbs(), last(&world).await.gate),
            ("judge".to_owned(), Some(Gate::QuietHours))
        );
    })
    .await;
}

#[tokio::test]
async fn a_soft_budget_leaves_mentions_alone() {
    // The first call uses up the soft share of it.
    let workspace_limits =
        BudgetLimits { tokens_per_day: Some(10_000_000), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, soft_share: 0.00001, ..Rulebook::default() };
    let told = on_every_store(async |kept| {
        let world =
            Harness::new(kept).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        world.mind.script.set_default(PromptVerb::Judge, JOIN);
        world.says("alice", "when do I cut the roses?").await;
        world.pass(100).await;
        world.says("bob", "and the tulips?").await;
        world.pass(100).await;
        world.says("carol", "@Aizuchi and the daisies?").await;
        world.pass(100).await;
        assert_eq!(world.mind.verbs(), "judge reply");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
     100s bob: and the tulips?
     200s carol: @Aizuchi and the daisies?
     200s (persona): Here I am.
    [m000] over_budget by budget: my budget is used up (judge kept)
    [m001] over_budget by budget: my budget is used up ()
    [m002] spoke: carol asked me (reply kept)
    ");
}

#[tokio::test]
async fn a_hard_budget_says_one_sentence_per_conversation_and_hour() {
    let workspace_limits = BudgetLimits { tokens_per_day: Some(1), ..BudgetLimits::default() };
    let book = Rulebook { workspace_limits, ..Rulebook::default() };
    let told = on_every_store(async |kept| {
        let world =
            Harness::new(kept).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        let ask = async |place: ConversationId, text: &str| {
            world.says_in(place, "alice", text).await;
            world.pass(10).await;
        };
        ask(top_level("garden"), "@Aizuchi one?").await;
        ask(top_level("garden"), "@Aizuchi two?").await;
        ask(top_level("garden"), "@Aizuchi three?").await;
        ask(thread("garden", "m000"), "@Aizuchi in here?").await;
        ask(thread("garden", "m000"), "@Aizuchi still?").await;
        world.pass(3600).await;
        ask(top_level("garden"), "@Aizuchi an hour later?").await;
        assert_eq!(world.mind.verbs(), "reply");
        world.pass(25 * 3600).await;
        ask(top_level("garden"), "@Aizuchi a day later?").await;
        assert_eq!(world.mind.verbs(), "reply reply");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi one?
       0s (persona): Here I am.
      10s alice: @Aizuchi two?
      10s (persona): I have used up what I may use for now. Please ask me again later.
      20s alice: @Aizuchi three?
      30s   alice: @Aizuchi in here?
      30s   (persona): I have used up what I may use for now. Please ask me again later.
      40s   alice: @Aizuchi still?
    3650s alice: @Aizuchi an hour later?
    3650s (persona): I have used up what I may use for now. Please ask me again later.
    93660s alice: @Aizuchi a day later?
    93660s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept)
    [m001] over_budget by budget: my budget is used up ()
    [m002] over_budget by budget: my budget is used up ()
    [m003] over_budget by budget: my budget is used up ()
    [m004] over_budget by budget: my budget is used up ()
    [m005] over_budget by budget: my budget is used up ()
    [m006] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn one_person_has_a_limit_that_is_nobody_elses() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |kept| {
        let world =
            Harness::new(kept).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        for (who, verbs) in [
            ("alice", 1),
            ("alice", 2),
            ("alice", 2),
            ("alice", 2),
            ("bob", 3),
            ("bob", 4),
            ("bob", 4),
        ] {
            world.says(who, "@Aizuchi and this?").await;
            world.pass(1).await;
            assert_eq!(world.mind.prompt_texts(PromptVerb::Reply).len(), verbs, "{who}");
        }
        assert_eq!(last(&world).await.ended, Some(DecisionResult::OverBudget));
        world.pass(3600).await;
        world.says("alice", "@Aizuchi and this?").await;
        world.pass(1).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Reply).len(), 5);
    })
    .await;
}

#[tokio::test]
async fn so_many_posts_an_hour_and_no_more_unless_asked() {
    let budget_limits = BudgetLimits { posts_per_hour: Some(2), ..BudgetLimits::default() };
    let extras =
        HarnessOptions::from_rules(ChannelRules { budget_limits, ..ChannelRules::default() });
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(extras.clone());
        world.mind.script.set_default(PromptVerb::Judge, JOIN);
        for spoken in [1, 2, 2, 2] {
            world.says("alice", "and what about this?").await;
            world.says("bob", "and this?").await;
            world.pass(100).await;
            let told = world.transcript().await;
            assert_eq!(world.platform.posted_texts().len(), spoken, "{told}");
        }
        let row = last(&world).await;
        assert_eq!((row.ended, row.gate), (Some(DecisionResult::OverBudget), Some(Gate::Budget)));
        world.says("carol", "@Aizuchi hello?").await;
        world.pass(1).await;
        assert_eq!(world.platform.posted_texts().len(), 3);
        world.pass(3600).await;
        world.says("alice", "and what about this?").await;
        world.says("bob", "and this?").await;
        world.pass(100).await;
        assert_eq!(world.platform.posted_texts().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn direct_messages_are_gathered_for_two_seconds() {
    on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        let heard = Heard::Channel(new_channel("direct", Visibility::Direct));
        world.inbox.hear(heard).await.unwrap();
        for line in ["hello", "are you there?", "I have a question"] {
            world.says_in(top_level("direct"), "alice", line).await;
            world.pass(1).await;
            assert_eq!(world.platform.posted_texts().len(), 0, "{line}");
        }
        world.pass(1).await;
        assert_eq!(world.platform.posted_texts().len(), 1);
        assert_eq!(world.platform.posted.lock().unwrap()[0].1.at, at(4));
        world.pass(1000).await;
        assert_eq!(world.mind.verbs(), "reply");
        // Nobody waits for ever because somebody types on.
        let begun = world.clock.now();
        for _ in 0..15 {
            world.says_in(top_level("direct"), "alice", "and").await;
            world.pass(1).await;
        }
        let waited = world.platform.posted.lock().unwrap()[1].1.at.duration_since(begun);
        assert_eq!(waited.as_secs(), 10);
    })
    .await;
}

#[tokio::test]
async fn a_nod_is_placed_once_and_is_no_turn() {
    for fault in [Fault::None, Fault::Busy, Fault::LostAnswer, Fault::LostRequest] {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(HarnessOptions::default());
            world.mind.script.push(PromptVerb::Judge, Ok(NOD));
            world.platform.fails(&[fault]);
            let line = world.says("alice", "we have won!").await;
            world.pass(300).await;
            // The process may die while it is not known whether it was placed.
            let world = world.restart().await;
            world.pass(500).await;
            assert_eq!(world.platform.posted_texts(), ["🎉"], "{fault:?}");
            let row = last(&world).await;
            assert_eq!(row.ended, Some(DecisionResult::Reacted), "{fault:?}");
            assert_eq!(row.reaction, Some((line.clone(), "🎉".into())), "{fault:?}");
            assert!(row.posted_messages.is_empty() && row.messages == [line], "{fault:?}");
            let shown = world.messages("garden").await;
            let reacted = &shown[0].reactions;
            assert_eq!((reacted.len(), &*reacted[0].emoji), (1, "🎉"), "{fault:?}");
            assert_eq!(reacted[0].users[0].id.as_str(), "u-persona");
            // It has not had the last word, and may speak to what comes.
            world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            world.says("bob", "who has?").await;
            world.pass(100).await;
            assert_eq!(world.platform.posted_texts(), ["🎉", "Here I am."], "{fault:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn only_what_is_allowed_is_placed_and_only_by_who_is_sure() {
    let nod = |emoji: &str, confidence: &str| NOD.replace("🎉", emoji).replace("0.9", confidence);
    for (answer, placed) in [
        (nod("🎉", "0.9"), true),
        (nod("🦖", "0.9"), false),
        (nod("🎉", "0.4"), false),
        (nod("🎉", "0.9").replace("false", "true").replace("}", ", \"delay_seconds\": 0}"), false),
    ] {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(HarnessOptions::default());
            world.mind.script.push(PromptVerb::Judge, Ok(&answer));
            world.says("alice", "we have won!").await;
            world.pass(400).await;
            assert_eq!(
                world.platform.posted_texts().contains(&"🎉".to_owned()),
                placed,
                "{answer}"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn bots_neither_begin_nor_put_off_anything() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        world.says("alice", "when do I cut the roses?").await;
        for number in 0..20 {
            world.says("rainbot", &format!("@Aizuchi {number} mm")).await;
            world.pass(10).await;
        }
        world.mind.verbs() + "\n" + &world.transcript().await
    });
    let told = told.await;
    let (verbs, transcript) = told.split_once('\n').unwrap();
    assert_eq!(verbs, "judge reply");
    assert!(transcript.contains(" 150s (persona): Here I am."), "{transcript}");
}

#[tokio::test]
async fn every_line_is_covered_once_or_carries_its_gate() {
    for extras in
        [HarnessOptions::default(), facilitator(), mode(Mode::MentionOnly), mode(Mode::Observe)]
    {
        on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(extras.clone());
            world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            world.mind.script.push(PromptVerb::Judge, Ok(NOD));
            world.order(opt_out("zoe")).await;
            for round in 0..12 {
                let who = ["alice", "bob", "rainbot", "zoe", "carol"][round % 5];
                let text = if round % 4 == 1 { "@Aizuchi and this?" } else { "and this?" };
                world.says(who, text).await;
                let there = world.clone();
                let verb = if round % 2 == 0 { PromptVerb::Judge } else { PromptVerb::Reply };
                world.mind.meanwhile(verb, || async move {
                    there.after_5s_says("dan", "meanwhile").await;
                });
                world.pass([3, 100, 700][round % 3]).await;
            }
            world.pass(10_000).await;
            every_line_is_accounted_for(&world).await;
        })
        .await;
    }
}

/// Once nothing is pending: each line has one closed decision, or a gate.
pub async fn every_line_is_accounted_for(world: &Harness) {
    let rows = world.decisions("garden").await;
    for row in &rows {
        assert!(row.ended.is_some(), "{row:#?}");
    }
    for line in world.messages("garden").await {
        let id = &line.message.id;
        let covering = rows.iter().filter(|row| row.messages.contains(id)).count();
        let expected = usize::from(line.gate.is_none() && !line.is_deleted);
        let is_deleted = line.is_deleted && covering <= 1;
        assert!(covering == expected || is_deleted, "{line:#?}\n{rows:#?}");
        let is_own = line.message.author.kind == AuthorKind::Persona;
        assert!(!is_own || line.gate == Some(Gate::OwnLine));
    }
}

#[tokio::test]
async fn words_in_the_place_of_an_emoji_are_not_kept() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(HarnessOptions::default());
        let answer = r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9,
            "reaction": "the roses look ill"}"#;
        world.mind.script.push(PromptVerb::Judge, Ok(answer));
        world.says("bob", "the roses look ill").await;
        world.pass(400).await;
        let row = world.decisions("garden").await.remove(0);
        assert_eq!((row.judgment.unwrap().reaction, row.reaction), (None, None));
        world.transcript().await
    });
    drop(told.await);
}
