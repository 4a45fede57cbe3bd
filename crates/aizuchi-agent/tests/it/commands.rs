//! Commands in plain words, as transcripts on every store and in both languages.

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{JOIN, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, Heard, Role, User, UserId};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, Mode};
use insta::assert_snapshot;

pub fn in_japanese() -> HarnessOptions {
    HarnessOptions { language: Language::Ja, ..HarnessOptions::default() }
}

fn in_mode(mode: Mode) -> HarnessOptions {
    let rules = ChannelRules { mode, ..ChannelRules::default() };
    HarnessOptions::from_rules(rules)
}

/// An admin posts a message.
async fn admin_says(harness: &Harness, id: &str, text: &str) {
    let message = message(top_level("garden"), id, harness.clock.now(), "root", text);
    let (id, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.hear(message).await;
}

#[tokio::test]
async fn why_explains_posts_and_silences() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi why?").await;
        harness.pass(5).await;
        harness.says("alice", "my beans are up").await;
        harness.pass(400).await;
        harness.says("bob", "@Aizuchi why?").await;
        harness.pass(5).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        harness.says("bob", "why did you say that @Aizuchi?").await;
        harness.pass(5).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Judge).len(), 2);
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi why?
       0s (persona): I haven’t decided anything here yet. I look at a conversation once it has gone quiet for
       0s (persona): a while.
       5s alice: my beans are up
     405s bob: @Aizuchi why?
     405s (persona): At 08:01 I stayed silent: they get along.
     410s alice: when do I cut the roses?
     500s (persona): Here I am.
     810s bob: why did you say that @Aizuchi?
     810s (persona): At 08:08 I spoke: nobody answers.
    [m000] spoke by command: it was a command for me ()
    [m001] chose_silence: they get along (judge kept)
    [m002] spoke by command: it was a command for me ()
    [m003] spoke: nobody answers (judge kept, reply kept)
    [m004] spoke by command: it was a command for me ()
    ");
}

/// All commands are carried out; the answers to the newest ones are posted.
#[tokio::test]
async fn many_commands_at_once_are_answered_in_a_few_posts() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let commands =
            ["help", "memory", "status", "why", "opt in", "mode", "mute 99 days", "stop"];
        for number in 0..200 {
            let marks = "!".repeat(number / commands.len());
            let command = commands[number % (commands.len() - 1)];
            harness.says("mallory", &format!("@Aizuchi {command}{marks}")).await;
        }
        harness.says("mallory", "@Aizuchi unmute").await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(60).await;
        let posted = harness.platform.posted_texts();
        assert!(posted.len() <= 6, "{posted:#?}");
        assert_eq!(posted.last().map(String::as_str), Some("Here I am."));
    })
    .await;
}

/// A user who asks about an earlier message gets the decision about that message, and no other.
#[tokio::test]
async fn why_explains_the_message_that_is_named() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "does the blue pump leak?").await;
        harness.pass(400).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("bob", "when do I cut the roses?").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi why did you not answer my question about the pump?").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi why didn't you answer my question?").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi バラの質問になぜ答えなかったの？").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi why did you ignore what I said about the greenhouse?").await;
        harness.pass(5).await;
        // Talking about a question is not a question to the persona.
        harness.says("bob", "why did you not answer the door, alice?").await;
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: does the blue pump leak?
     400s bob: when do I cut the roses?
     490s (persona): Here I am.
     800s alice: @Aizuchi why did you not answer my question about the pump?
     800s (persona): About “does the blue pump leak?”: At 08:01 I stayed silent: they get along.
     805s alice: @Aizuchi why didn't you answer my question?
     805s (persona): About “does the blue pump leak?”: At 08:01 I stayed silent: they get along.
     810s bob: @Aizuchi バラの質問になぜ答えなかったの？
     810s (persona): 08:08：話しました。理由：nobody answers。
     815s bob: @Aizuchi why did you ignore what I said about the greenhouse?
     815s (persona): At 08:08 I spoke: nobody answers.
     820s bob: why did you not answer the door, alice?
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke: nobody answers (judge kept, reply kept)
    [m002] spoke by command: it was a command for me ()
    [m003] spoke by command: it was a command for me ()
    [m004] spoke by command: it was a command for me ()
    [m005] spoke by command: it was a command for me ()
    [m006] chose_silence: they get along (judge kept)
    ");
}

/// A decision about several messages may have been about another one than the user asks about.
#[tokio::test]
async fn why_says_that_a_message_was_looked_at_together_with_others() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let react =
            r#"{"should_respond": false, "reason": "good news", "confidence": 0.9, "reaction": "🎉"}"#;
        harness.mind.script.push(PromptVerb::Judge, Ok(react));
        harness.says("alice", "does the blue pump leak?").await;
        harness.pass(3).await;
        harness.says("bob", "we won the flower show!").await;
        harness.pass(400).await;
        for (asked, beginning) in [
            ("the flower show", "About “we won the flower show!”: At "),
            ("the pump", "I looked at “does the blue pump leak?” together with what was written around it. At "),
        ] {
            let before = harness.platform.posted_texts().len();
            harness.says("alice", &format!("@Aizuchi why did you not answer what was said about {asked}?")).await;
            harness.pass(5).await;
            let answer = harness.platform.posted_texts()[before..].join(" ");
            assert!(answer.starts_with(beginning), "{answer}");
            assert!(answer.ends_with("I only reacted with an emoji: good news."), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn why_in_japanese() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        harness.says("花子", "うちの豆が芽を出したよ").await;
        harness.pass(400).await;
        harness.says("太郎", "@Aizuchi なんで？").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s 花子: うちの豆が芽を出したよ
     400s 太郎: @Aizuchi なんで？
     400s (persona): 08:05：黙っていました。理由：返事を待っている人はいないようでした。
    [m000] chose_silence by nothing_open: 返事を待っている人はいないようでした ()
    [m001] spoke by command: 私へのコマンドでした ()
    ");
}

#[tokio::test]
async fn a_mute_holds_until_it_expires_or_is_undone() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi mute 2h").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi unmute").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi are you there now?").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi mute for 30 minutes").await;
        harness.pass(1801).await;
        harness.says("bob", "@Aizuchi and now?").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi mute 2h
       0s (persona): I’ll stay silent here until 10:00. Anyone here can unmute me with `@Aizuchi unmute`.
       5s bob: @Aizuchi are you there?
      10s bob: @Aizuchi unmute
      10s (persona): I’m not muted any more. In this channel I answer when I’m mentioned, and join in when the
      10s (persona): conversation goes quiet and I have something to add (mode `companion`).
      15s bob: @Aizuchi are you there now?
      15s (persona): Here I am.
      20s alice: @Aizuchi mute for 30 minutes
      20s (persona): I’ll stay silent here until 08:30. Anyone here can unmute me with `@Aizuchi unmute`.
    1821s bob: @Aizuchi and now?
    1821s (persona): Here I am.
    [m000] spoke by command: it was a command for me ()
    [m001] muted by muted: I was muted ()
    [m002] spoke by command: it was a command for me ()
    [m003] spoke: bob asked me (reply kept)
    [m004] spoke by command: it was a command for me ()
    [m005] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn mute_in_japanese() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        harness.says("花子", "@Aizuchi 2時間ミュートして").await;
        harness.pass(5).await;
        harness.says("太郎", "@Aizuchi いる？").await;
        harness.pass(5).await;
        harness.says("太郎", "@Aizuchi ミュート解除").await;
        harness.pass(5).await;
        harness.says("太郎", "@Aizuchi いる？").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s 花子: @Aizuchi 2時間ミュートして
       0s (persona): 2時間（10:00まで）、このチャンネルでは話しません。`@Aizuchi ミュート解除` で誰でも解除できます。
       5s 太郎: @Aizuchi いる？
      10s 太郎: @Aizuchi ミュート解除
      10s (persona): いまはミュートされていません。このチャンネルでは、メンションされたら答えます。会話が落ち着いたときも、伝えたいことがあれば加わります（モード：`companion`）。
      15s 太郎: @Aizuchi いる？
      15s (persona): Here I am.
    [m000] spoke by command: 私へのコマンドでした ()
    [m001] muted by muted: ミュートされていました ()
    [m002] spoke by command: 私へのコマンドでした ()
    [m003] spoke: 太郎さんに聞かれました (reply kept)
    ");
}

#[tokio::test]
async fn stop_cancels_work_in_flight() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.says("alice", "when do I cut the roses?").await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi stop").await;
        });
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s bob: @Aizuchi stop
      90s (persona): I’ll stay silent here until 09:01. Anyone here can unmute me with `@Aizuchi unmute`.
    [m001] spoke by command: it was a command for me (judge superseded, reply superseded)
    [m000] muted by muted: I was muted ()
    ");
}

#[tokio::test]
async fn commands_do_not_prevent_a_judgment() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(10).await;
        harness.says("bob", "@Aizuchi help").await;
        harness.pass(400).await;
        let judged = &harness.mind.prompt_texts(PromptVerb::Judge)[0];
        assert!(judged.contains("roses") && !judged.contains("@Aizuchi"), "{judged}");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      10s bob: @Aizuchi help
      10s (persona): Say `@Aizuchi` and one of these:
    - `why?`: why I last spoke here, or stayed silent
      10s (persona): - `status`, `memory`: how I take part here, and what I remember
      10s (persona): - `stop`: I stay silent here for an hour
    - `mute 2h`, `mute`, `unmute`: I stay silent
      10s (persona): here for that long, or until I’m unmuted
    - `opt out`, `opt in`: whether I listen to you
      10s (persona): - `remind me tomorrow at 9 to …`, `reminders`: I remind you then, or list what is planned
      10s (persona): here
    - `what did I miss?`: what was said while you were away
      10s (persona): - `forget that`, below a quote of it (`> …`) or right after I said it: I forget that one
      10s (persona): thing
    - `forget me`: I ask once more, then delete what you said and what I remember of it
      10s (persona): - `settings`: which settings hold here; `set memory off`, `set tools off` or `set
      10s (persona): confidence 0.9` narrow them
    - `reset`: I start fresh in this conversation (in direct
      10s (persona): messages; elsewhere only for admins)
    [m001] spoke by command: it was a command for me ()
    [m000] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_command_that_was_nearly_right_gets_a_usage_line() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi mode quiet").await;
        harness.says("alice", "@Aizuchi mute 2 fortnights").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    let transcript = transcript.await;
    assert!(transcript.contains("I don’t know that mode."), "{transcript}");
    assert!(
        transcript.contains("I didn’t understand how long you want me to be quiet."),
        "{transcript}"
    );
    assert!(!transcript.contains("kept"), "no model is asked: {transcript}");
}

#[tokio::test]
async fn the_notice_on_joining_is_no_part_of_the_talk() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let persona = UserId::new("persona");
        harness.inbox.announce_join(top_level("garden"), persona).await.unwrap();
        harness.pass(5).await;
        assert!(harness.platform.posted_texts().concat().contains("I’m Aizuchi, a bot"));
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(600).await;
        let judged = harness.mind.prompt_texts(PromptVerb::Judge);
        assert!(
            judged[0].contains("roses") && !judged[0].contains("I read the messages"),
            "{}",
            judged[0]
        );
    })
    .await;
}

#[tokio::test]
async fn why_names_the_gate_as_a_reason() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi mute").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi why?").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    let transcript = transcript.await;
    assert!(transcript.contains("At 08:00 I stayed silent because I was muted."), "{transcript}");
}

#[tokio::test]
async fn a_command_and_a_question_are_both_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.says("bob", "@Aizuchi status").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
       0s bob: @Aizuchi status
       0s (persona): In this channel I answer when I’m mentioned, and join in when the conversation goes quiet
       0s (persona): and I have something to add (mode `companion`).
       0s (persona): Here I am.
    [m001] spoke by command: it was a command for me ()
    [m000] spoke: alice asked me (reply kept)
    ");
}

/// A command starts an answer in progress again, but not one command after another.
#[tokio::test]
async fn commands_keep_no_mention_from_being_answered() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        harness.says("alice", "@Aizuchi are you there?").await;
        for _ in 0..3 {
            let there = harness.clone();
            harness.mind.meanwhile(PromptVerb::Reply, || async move {
                there.after_5s_says("bob", "@Aizuchi status").await;
            });
        }
        harness.pass(60).await;
        let posted = harness.platform.posted_texts();
        let answer = posted.iter().position(|text| text == "Here I am.");
        assert_eq!((answer, posted.len()), (Some(1), 3), "{posted:?}");
    })
    .await;
}

/// Sends a message again under other ids, as a client does that did not hear that it had arrived.
pub async fn sends_again(harness: &Harness, name: &str, text: &str, ids: &[&str]) {
    for id in ids {
        let message = message(top_level("garden"), id, harness.clock.now(), name, text);
        let heard = Heard::Message(message, Arrival::Live);
        let client_message_id = Some(format!("{name}: {text}").into());
        harness.inbox.deliver(Delivery { client_message_id, ..heard.into() }).await.unwrap();
    }
}

#[tokio::test]
async fn a_command_that_is_sent_again_is_carried_out_once() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        sends_again(&harness, "alice", "@Aizuchi mute", &["a1"]).await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi unmute").await;
        harness.pass(5).await;
        sends_again(&harness, "alice", "@Aizuchi mute", &["a2"]).await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s u-alice: @Aizuchi mute
       0s (persona): I’ll stay silent here until I’m unmuted. Anyone here can unmute me with `@Aizuchi unmute`.
       5s bob: @Aizuchi unmute
       5s (persona): I’m not muted any more. In this channel I answer when I’m mentioned, and join in when the
       5s (persona): conversation goes quiet and I have something to add (mode `companion`).
      15s bob: @Aizuchi are you there?
      15s (persona): Here I am.
    [a1] spoke by command: it was a command for me ()
    [m000] spoke by command: it was a command for me ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn only_admins_order_what_affects_others() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi mode observe").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi mute everywhere").await;
        harness.pass(5).await;
        admin_says(&harness, "a1", "@Aizuchi mute").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi unmute").await;
        harness.pass(5).await;
        admin_says(&harness, "a2", "@Aizuchi unmute").await;
        harness.pass(5).await;
        admin_says(&harness, "a3", "@Aizuchi mode mention-only").await;
        harness.pass(5).await;
        harness.says("alice", "the beans are up").await;
        harness.pass(400).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Judge).is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi mode observe
       0s (persona): Only an admin can do that.
       5s alice: @Aizuchi mute everywhere
       5s (persona): Only an admin can do that.
      10s root: @Aizuchi mute
      10s (persona): I’ll stay silent here until I’m unmuted. Only an admin can unmute me, with `@Aizuchi
      10s (persona): unmute`.
      15s alice: @Aizuchi unmute
      15s (persona): I’ll stay silent until I’m unmuted. An admin muted me, so only an admin can unmute me.
      20s root: @Aizuchi unmute
      20s (persona): I’m not muted any more. In this channel I answer when I’m mentioned, and join in when the
      20s (persona): conversation goes quiet and I have something to add (mode `companion`).
      25s root: @Aizuchi mode mention-only
      25s (persona): In this channel I speak only when I’m mentioned (mode `mention_only`).
      30s alice: the beans are up
    [m000] spoke by command: it was a command for me ()
    [m001] spoke by command: it was a command for me ()
    [a1] spoke by command: it was a command for me ()
    [m002] spoke by command: it was a command for me ()
    [a2] spoke by command: it was a command for me ()
    [a3] spoke by command: it was a command for me ()
    [m003] chose_silence by channel_mode: the mode of this channel didn’t let me speak ()
    ");
}

#[tokio::test]
async fn commands_work_in_channels_where_it_never_posts() {
    for mode in [Mode::Observe, Mode::Off, Mode::MentionOnly] {
        let transcript = on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(in_mode(mode));
            harness.says("alice", "@Aizuchi status").await;
            harness.pass(5).await;
            harness.transcript().await
        });
        let transcript = transcript.await;
        assert!(transcript.contains("(persona): In this channel"), "{mode:?}\n{transcript}");
    }
}

#[tokio::test]
async fn a_command_in_a_thread_is_answered_there() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("alice", "my tomatoes are late").await;
        harness.pass(400).await;
        harness.says_in(thread("garden", parent.as_str()), "bob", "@Aizuchi status").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: my tomatoes are late
     400s   bob: @Aizuchi status
     400s   (persona): In this channel I answer when I’m mentioned, and join in when the conversation goes quiet
     400s   (persona): and I have something to add (mode `companion`).
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke by command: it was a command for me ()
    ");
}

#[tokio::test]
async fn a_command_that_is_heard_twice_is_executed_once() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mute =
            message(top_level("garden"), "m1", harness.clock.now(), "alice", "@Aizuchi mute");
        harness.hear(mute.clone()).await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi unmute").await;
        harness.pass(5).await;
        harness.hear(mute).await;
        harness.pass(5).await;
        let harness = harness.restart().await;
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi mute
       0s (persona): I’ll stay silent here until I’m unmuted. Anyone here can unmute me with `@Aizuchi unmute`.
       5s alice: @Aizuchi unmute
       5s (persona): I’m not muted any more. In this channel I answer when I’m mentioned, and join in when the
       5s (persona): conversation goes quiet and I have something to add (mode `companion`).
      15s bob: @Aizuchi are you there?
      15s (persona): Here I am.
    [m1] spoke by command: it was a command for me ()
    [m000] spoke by command: it was a command for me ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

/// The reply must not confirm a command that was not executed.
#[tokio::test]
async fn a_message_edited_into_a_command_is_not_executed_and_the_reply_says_so() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let message = harness.says("alice", "@Aizuchi mut 2h").await;
        harness.edits(&message, "@Aizuchi mute 2h").await;
        harness.pass(5).await;
        assert!(harness.mind.prompt_texts(PromptVerb::Reply).is_empty());
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(400).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi mute 2h
       2s (persona): I don’t take commands from edited messages. Please send it as a new message.
       5s bob: @Aizuchi are you there?
       5s (persona): Here I am.
    [m000] spoke by command: it was a command for me ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn stop_shortens_no_mute_and_an_edited_command_is_answered_as_first_written() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi mute 24h").await;
        harness.pass(5).await;
        let stop = harness.says("bob", "@Aizuchi stop").await;
        harness.edits(&stop, "@Aizuchi stop it, thanks a lot").await;
        harness.pass(5).await;
        harness.says("bob", "@Aizuchi status").await;
        harness.says("alice", "@Aizuchi unmute").await;
        harness.pass(5).await;
        assert!(harness.store.archive.pending_steps(&workspace()).await.unwrap().is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi mute 24h
       0s (persona): I’ll stay silent here until 2027-01-16 08:00.
       0s (persona): Anyone here can unmute me with `@Aizuchi unmute`.
       5s bob: @Aizuchi stop
       5s (persona): I’ll stay silent here until 2027-01-16 08:00.
       5s (persona): Anyone here can unmute me with `@Aizuchi unmute`.
      10s bob: @Aizuchi status
      10s alice: @Aizuchi unmute
      10s (persona): In this channel I answer when I’m mentioned, and join in when the conversation goes quiet
      10s (persona): and I have something to add (mode `companion`).
      10s (persona): I’m not muted any more. In this channel I answer when I’m mentioned, and join in when the
      10s (persona): conversation goes quiet and I have something to add (mode `companion`).
    [m000] spoke by command: it was a command for me ()
    [m001] spoke by command: it was a command for me ()
    [m002 m003] spoke by command: it was a command for me ()
    [] spoke by command: it was a command for me ()
    ");
}

/// Histories are read out of order, so among old commands only an opt-out is safe to execute.
#[tokio::test]
async fn of_backfilled_commands_only_opting_out_is_executed() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        let at = harness.clock.now();
        harness.pass(600).await;
        for (id, user, text) in
            [("m1", "alice", "@Aizuchi mute"), ("m2", "bob", "@Aizuchi opt out")]
        {
            let message = message(top_level("garden"), id, at, user, text);
            harness.inbox.hear(Heard::Message(message, Arrival::Backfilled)).await.unwrap();
        }
        harness.pass(5).await;
        let orders = harness.store.store.orders(&workspace()).await.unwrap();
        assert_eq!((orders.mutes.len(), orders.opted_out.len()), (0, 1));
        let told = harness.platform.posted_texts().join("\n");
        for expected in [
            "I did not carry that out: I read it too late",
            "I’m not muted any more.",
            "I’m not listening to you any more",
        ] {
            assert!(told.contains(expected), "{expected}: {told}");
        }
        assert_eq!(told.matches("I did not carry that out").count(), 1, "{told}");
    })
    .await;
}

#[tokio::test]
async fn the_other_commands_in_japanese() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        for text in [
            "@Aizuchi 状態",
            "@Aizuchi ストップ",
            "@Aizuchi ミュート解除",
            "@Aizuchi オプトアウト",
            "@Aizuchi オプトイン",
            "@Aizuchi 記憶",
            "@Aizuchi モード observe",
            "@Aizuchi どこでもミュート",
            "@Aizuchi ヘルプ",
        ] {
            harness.says("花子", text).await;
            harness.pass(5).await;
        }
        assert!(harness.mind.prompt_texts(PromptVerb::Reply).is_empty());
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s 花子: @Aizuchi 状態
       0s (persona): このチャンネルでは、メンションされたら答えます。会話が落ち着いたときも、伝えたいことがあれば加わります（モード：`companion`）。
       5s 花子: @Aizuchi ストップ
       5s (persona): 1時間（09:00まで）、このチャンネルでは話しません。`@Aizuchi ミュート解除` で誰でも解除できます。
      10s 花子: @Aizuchi ミュート解除
      10s (persona): いまはミュートされていません。このチャンネルでは、メンションされたら答えます。会話が落ち着いたときも、伝えたいことがあれば加わります（モード：`companion`）。
      15s 花子: @Aizuchi オプトアウト
      15s (persona): あなたはオプトアウト中です。ここでも、このワークスペースのほかのチャンネルでも、あなたの発言は聞きません。返事にも記憶にも使わず、コマンドだけ受け付けます。
      15s (persona): `@Aizuchi オプトイン` で元に戻ります。
      20s 花子: @Aizuchi オプトイン
      20s (persona): あなたの発言を聞いています。
      25s 花子: @Aizuchi 記憶
      25s (persona): 最近の発言のほかには、まだ何も覚えていません。
      30s 花子: @Aizuchi モード observe
      30s (persona): このコマンドを使えるのは管理者だけです。
      35s 花子: @Aizuchi どこでもミュート
      35s (persona): このコマンドを使えるのは管理者だけです。
      40s 花子: @Aizuchi ヘルプ
      40s (persona): `@Aizuchi` に続けて、次のどれかを書いてください。
    - `なぜ？`：最後に話した理由、または黙っていた理由
      40s (persona): - `状態`、`記憶`：ここでの参加のしかたと、覚えていること
    - `ストップ`：このチャンネルでは 1 時間話しません
      40s (persona): - `2時間ミュート`、`ミュート`、`ミュート解除`：その時間だけ、または解除されるまで、このチャンネルでは話しません
      40s (persona): - `オプトアウト`、`オプトイン`：あなたの発言を聞くかどうか
    - `明日の9時に…って教えて`、`リマインダー一覧`：その時刻にお知らせします。予定を一覧にします
      40s (persona): - `見逃したところ教えて`：離れていた間に話されたこと
    - `それ忘れて`（引用の下、または私が話した直後に）：そのことだけを忘れます
      40s (persona): - `私のことを忘れて`：確認のあとで、あなたの発言と、そこから覚えたことを消します
      40s (persona): - `設定`：ここでの設定。`記憶をオフにして`、`ツールをオフにして`、`確信度を0.9にして` のように書くと、ここでの振る舞いを控えめにできます
      40s (persona): - `リセット`：この会話を新しく始めます（ダイレクトメッセージ以外では管理者のみ）
    [m000] spoke by command: 私へのコマンドでした ()
    [m001] spoke by command: 私へのコマンドでした ()
    [m002] spoke by command: 私へのコマンドでした ()
    [m003] spoke by command: 私へのコマンドでした ()
    [m004] spoke by command: 私へのコマンドでした ()
    [m005] spoke by command: 私へのコマンドでした ()
    [m006] spoke by command: 私へのコマンドでした ()
    [m007] spoke by command: 私へのコマンドでした ()
    [m008] spoke by command: 私へのコマンドでした ()
    ");
}

/// What was in flight when a user said stop has its own decision, which says why it was abandoned.
#[tokio::test]
async fn what_a_stop_interrupts_has_a_reason_of_its_own() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            there.says("bob", "@Aizuchi stop").await;
        });
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: when do I cut the roses?
      90s bob: @Aizuchi stop
      90s (persona): I’ll stay silent here until 09:01. Anyone here can unmute me with `@Aizuchi unmute`.
    [m001] spoke by command: it was a command for me (judge superseded)
    [m000] muted by muted: I was muted ()
    ");
}
