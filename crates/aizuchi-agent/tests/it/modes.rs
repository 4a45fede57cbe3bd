//! What a channel's mode, a mute, an opt-out and quiet hours prevent.

use std::sync::Arc;

use aizuchi_harness::fixtures::{JOIN, JOIN_IN_60, at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::Llm;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ConversationId, Role, UserId};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::rules::{ChannelRules, Mode, QuietHours};
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::Timestamp;
use jiff::civil::time;
use jiff::tz::TimeZone;

use crate::deciding::{REACT, last, mode};

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

pub fn opt_out(user: &str) -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new(format!("u-{user}")) }
}

#[tokio::test]
async fn a_mention_during_a_mute_is_never_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.order(mute(&top_level("garden"))).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi and here?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posts_in(&top_level("kitchen")), 1);
        harness.order(unmute(&top_level("garden"))).await;
        harness.pass(10_000).await;
        // Alice learns at once that it is muted.
        assert_eq!(harness.platform.posted_texts(), ["🔇", "Here I am."]);
        harness.says("alice", "@Aizuchi are you there again?").await;
        harness.pass(10).await;
        assert_eq!(harness.mind.verbs(), "reply reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
    10020s alice: @Aizuchi are you there again?
    10020s (persona): Here I am.
    [m000] muted by muted: I was muted ()
    [m002] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn mutes_hold_with_and_without_an_end() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        for (until, spoken) in [(at(500), 1), (Timestamp::MAX, 1)] {
            let channel = None;
            harness
                .order(Order::Mute { workspace: workspace(), channel, until, by: Role::Admin })
                .await;
            let answers = || {
                let posted = harness.platform.posted_texts().into_iter();
                posted.filter(|text| text != "🔇").count()
            };
            let said = answers();
            harness.says("alice", "@Aizuchi are you there?").await;
            harness.pass(1000).await;
            assert_eq!(answers(), said, "{until}");
            harness.says("alice", "@Aizuchi and now?").await;
            harness.pass(1).await;
            assert_eq!(answers(), spoken, "{until}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_mute_drops_drafts_that_wait() {
    for text in ["when do I cut the roses?", "@Aizuchi when do I cut the roses?"] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.platform.fails(&[Fault::Busy]);
            harness.says("alice", text).await;
            harness.pass(90).await;
            harness.pass(0).await;
            let is_drafted = harness.mind.prompt_texts(PromptVerb::Reply).len() == 1;
            assert!(
                is_drafted && harness.platform.posted_texts().is_empty() || text.starts_with('@')
            );
            let harness =
                if text.starts_with('@') { muted_mention(&harness).await } else { harness };
            harness.order(mute(&top_level("garden"))).await;
            harness.pass(1000).await;
            assert!(
                harness.platform.posted_texts().iter().all(|said| said != "Never this."),
                "{text}"
            );
            let row = last(&harness).await;
            assert_eq!(
                (row.ended, row.gate),
                (Some(DecisionResult::Muted), Some(Gate::Muted)),
                "{text}"
            );
            harness.order(unmute(&top_level("garden"))).await;
            let said = harness.platform.posted_texts().len();
            harness.pass(10_000).await;
            assert_eq!(harness.platform.posted_texts().len(), said, "{text}");
        })
        .await;
    }
}

/// A user mentions the persona, and the platform is busy when it answers.
async fn muted_mention(harness: &Harness) -> Harness {
    harness.mind.script.push(PromptVerb::Reply, Ok("Never this."));
    harness.platform.fails(&[Fault::Busy]);
    harness.says("bob", "@Aizuchi and the tulips?").await;
    harness.pass(0).await;
    harness.clone()
}

#[tokio::test]
async fn observe_mode_decides_for_the_ledger_only() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::Observe));
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let shadow = last(&harness).await.judgment.unwrap();
        assert!(shadow.should_respond);
        harness.mind.script.push(PromptVerb::Judge, Ok(REACT));
        harness.says("bob", "who has won?").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "judge judge");
        assert_eq!(harness.platform.calls.load(std::sync::atomic::Ordering::SeqCst), 0);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     400s bob: who has won?
     800s alice: @Aizuchi are you there?
    [m000] muted: I would have spoken, but I only listen here (judge kept)
    [m001] chose_silence: good news (judge kept)
    [m002] muted by channel_mode: the mode of this channel didn’t let me speak ()
    ");
}

#[tokio::test]
async fn mention_only_mode_answers_mentions_only() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::MentionOnly));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(100).await;
        harness.says("alice", "@Aizuchi when do I cut the roses?").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "reply");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
     100s alice: @Aizuchi when do I cut the roses?
     100s (persona): Here I am.
    [m000] chose_silence by channel_mode: the mode of this channel didn’t let me speak ()
    [m001] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn off_mode_does_not_store_texts() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::Off));
        let message = harness.says("alice", "the xyzzy is in the shed").await;
        harness.says("bob", "@Aizuchi what is xyzzy?").await;
        harness.pass(10).await;
        harness.edits(&message, "the xyzzy is in the barn").await;
        harness.edits(&message, "@Aizuchi the xyzzy is in the barn").await;
        harness.pass(10_000).await;
        assert_eq!(harness.mind.verbs(), "");
        let messages = harness.messages("garden").await;
        assert!(messages.iter().all(|stored| stored.gate == Some(Gate::ChannelMode)));
        harness.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(transcript.await, @"
    0s alice:
    0s bob:
    ");
}

#[tokio::test]
async fn an_ordered_mode_overrides_the_settings_until_it_is_reset() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(mode(Mode::MentionOnly));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        for (ordered, spoke) in [
            (None, 0),
            (Some(Mode::Companion), 1),
            (Some(Mode::Observe), 1),
            (Some(Mode::Companion), 2),
            (None, 2),
        ] {
            harness.order(order(ordered)).await;
            harness.says("alice", "when do I cut the roses?").await;
            harness.says("bob", "and the tulips?").await;
            harness.pass(100).await;
            assert_eq!(harness.platform.posted_texts().len(), spoke, "{ordered:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_ordered_mode_applies_to_a_waiting_reply() {
    let order =
        |mode| Order::Mode { workspace: workspace(), channel: top_level("garden").channel, mode };
    for mode in [Mode::MentionOnly, Mode::Observe, Mode::Off] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(HarnessOptions::default());
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(90).await;
            harness.order(order(Some(mode))).await;
            harness.pass(1000).await;
            assert_eq!(harness.mind.verbs(), "judge", "{mode:?}");
            assert_eq!(last(&harness).await.gate, Some(Gate::ChannelMode), "{mode:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn of_a_user_who_opted_out_only_the_id_is_stored() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(HarnessOptions::default());
        harness.order(opt_out("zoe")).await;
        let message = harness.says("zoe", "the xyzzy is in the shed").await;
        harness.says("zoe", "@Aizuchi do you remember the xyzzy?").await;
        harness.pass(10).await;
        // Their edits are ignored, too.
        harness.edits(&message, "the xyzzy is in the barn").await;
        harness.pass(10).await;
        harness.edits(&message, "@Aizuchi the xyzzy is in the barn").await;
        harness.pass(100).await;
        assert_eq!(harness.mind.verbs(), "");
        harness.says("alice", "@Aizuchi what was said?").await;
        harness.says("bob", "well").await;
        harness.pass(10_000).await;
        for prompt in [PromptVerb::Judge, PromptVerb::Reply]
            .map(|verb| harness.mind.prompt_texts(verb))
            .concat()
        {
            assert!(!prompt.contains("xyzzy") && !prompt.contains("zoe"), "{prompt}");
        }
        let messages = harness.messages("garden").await;
        assert_eq!(messages[0].gate, Some(Gate::OptedOut));
        harness.transcript().await.replace(": \n", ":\n")
    });
    assert_snapshot!(transcript.await, @"
       0s zoe:
       0s zoe:
     120s alice: @Aizuchi what was said?
     120s bob: well
     120s (persona): Here I am.
    [m002] spoke: alice asked me (reply kept)
    [m003] chose_silence by nothing_open: nobody seemed to be waiting for an answer ()
    ");
}

#[tokio::test]
async fn withheld_texts_are_not_remembered() {
    for (options, user, is_channel_remembered) in
        [(mode(Mode::Off), "bob", false), (HarnessOptions::default(), "zoe", true)]
    {
        on_every_database(async |store| {
            let memory: Option<Arc<dyn Llm>> = Some(Arc::new(BuiltinMind));
            let options = HarnessOptions { memory, ..options.clone() };
            let harness = Harness::new(store).await.with_options(options);
            harness.order(opt_out("zoe")).await;
            let message = harness.says(user, "the xyzzy is in the shed").await;
            harness.says(user, "@Aizuchi do you remember the xyzzy?").await;
            harness.edits(&message, "the xyzzy is in the barn").await;
            assert_eq!(harness.store.store.next_memory_job().await.unwrap(), None, "{user}");
            harness.says("alice", "the beans are up").await;
            harness.pass(10_000).await;
            let memories = harness.store.store.memories(&workspace()).await.unwrap();
            let memories = format!("{memories:?}");
            assert!(!memories.contains("xyzzy") && !memories.contains(user), "{memories}");
            assert_eq!(memories.contains("beans"), is_channel_remembered, "{memories}");
        })
        .await;
    }
}

#[tokio::test]
async fn quiet_hours_span_midnight_and_mentions_are_answered_in_them() {
    // The stories start at 17:00 in Tokyo.
    let quiet_hours = Some(QuietHours { from: time(22, 0, 0, 0), to: time(7, 0, 0, 0) });
    let mut options =
        HarnessOptions::from_rules(ChannelRules { quiet_hours, ..ChannelRules::default() });
    options.settings.zone = TimeZone::get("Asia/Tokyo").unwrap();
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
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options.clone());
            harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            harness.clock.advance_to(at(judged - 90));
            harness.says("alice", "when do I cut the roses?").await;
            harness.pass(90).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(spoke), "{judged}");
            let gate = last(&harness).await.gate;
            assert_eq!(gate, (!spoke).then_some(Gate::QuietHours), "{judged}");
            harness.says("bob", "@Aizuchi when do I cut the roses?").await;
            harness.pass(0).await;
            assert_eq!(harness.platform.posted_texts().len(), usize::from(spoke) + 1, "{judged}");
        })
        .await;
    }
    // A reply that would fall into the quiet hours is dropped.
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN_IN_60));
        harness.clock.advance_to(at(TEN - 120));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        assert_eq!(
            (harness.mind.verbs(), last(&harness).await.gate),
            ("judge".to_owned(), Some(Gate::QuietHours))
        );
    })
    .await;
}
