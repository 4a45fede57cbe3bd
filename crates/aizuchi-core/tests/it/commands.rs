//! What people order in plain words, told as transcripts, on every store and in both languages.

use aizuchi_core::chat::{Arrival, ChannelId, Heard, Role, User, Visibility};
use aizuchi_core::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::rules::{ChannelRules, Mode};
use aizuchi_core::store::Order;
use insta::assert_snapshot;

use aizuchi_harness::harness::{
    Harness, HarnessOptions, JOIN, message, on_every_store, thread, top_level, workspace,
};

fn in_japanese() -> HarnessOptions {
    HarnessOptions { language: Language::Ja, ..HarnessOptions::default() }
}

fn in_mode(mode: Mode) -> HarnessOptions {
    let rules = ChannelRules { mode, ..ChannelRules::default() };
    HarnessOptions::from_rules(rules)
}

/// Somebody who looks after the place says a line.
async fn admin_says(world: &Harness, id: &str, text: &str) {
    let line = message(top_level("garden"), id, world.clock.now(), "root", text);
    let (id, kind) = (line.author.id.clone(), line.author.kind);
    let user = User { workspace: workspace(), id, name: "root".into(), kind, role: Role::Admin };
    world.inbox.hear(Heard::User(user)).await.unwrap();
    world.hear(line).await;
}

#[tokio::test]
async fn it_says_why_it_spoke_and_why_it_did_not() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi why?").await;
        world.pass(5).await;
        world.says("alice", "the beans are up").await;
        world.pass(400).await;
        world.says("bob", "@Aizuchi why?").await;
        world.pass(5).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        world.pass(400).await;
        world.says("bob", "why did you say that @Aizuchi?").await;
        world.pass(5).await;
        assert_eq!(world.mind.prompt_texts(PromptVerb::Judge).len(), 2);
        assert_eq!(world.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi why?
       0s (persona): I have decided nothing here yet; I look at a talk when it has rested for a while.
       5s alice: the beans are up
     405s bob: @Aizuchi why?
     405s (persona): At 08:05 I said nothing: they get along.
     410s alice: when do I cut the roses?
     500s (persona): Here I am.
     810s bob: why did you say that @Aizuchi?
     810s (persona): At 08:08 I spoke: nobody answers.
    [m000] spoke by command: it was said to steer me ()
    [m001] chose_silence: they get along (judge kept)
    [m002] spoke by command: it was said to steer me ()
    [m003] spoke: nobody answers (judge kept, reply kept)
    [m004] spoke by command: it was said to steer me ()
    ");
}

#[tokio::test]
async fn why_is_asked_in_japanese() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(in_japanese());
        world.says("花子", "豆が芽を出したよ").await;
        world.pass(400).await;
        world.says("太郎", "@Aizuchi なんで？").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s 花子: 豆が芽を出したよ
     400s 太郎: @Aizuchi なんで？
     400s (persona): 08:05 に黙っていました。理由：they get along。
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke by command: 私への指示でした ()
    ");
}

#[tokio::test]
async fn muted_it_says_nothing_until_it_is_over_or_undone() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi mute 2h").await;
        world.pass(5).await;
        world.says("bob", "@Aizuchi are you there?").await;
        world.pass(5).await;
        world.says("bob", "@Aizuchi unmute").await;
        world.pass(5).await;
        world.says("bob", "@Aizuchi are you there now?").await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi mute for 30 minutes").await;
        world.pass(1801).await;
        world.says("bob", "@Aizuchi and now?").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi mute 2h
       0s (persona): I say nothing here until 10:00. `@Aizuchi unmute` undoes it.
       5s bob: @Aizuchi are you there?
      10s bob: @Aizuchi unmute
      10s (persona): I am not muted. In this channel, Aizuchi answers when it is mentioned, and joins in when
      10s (persona): the talk rests and it has something to add.
      15s bob: @Aizuchi are you there now?
      15s (persona): Here I am.
      20s alice: @Aizuchi mute for 30 minutes
      20s (persona): I say nothing here until 08:30. `@Aizuchi unmute` undoes it.
    1821s bob: @Aizuchi and now?
    1821s (persona): Here I am.
    [m000] spoke by command: it was said to steer me ()
    [m001] muted by muted: I am muted here ()
    [m002] spoke by command: it was said to steer me ()
    [m003] spoke: bob asked me (reply kept)
    [m004] spoke by command: it was said to steer me ()
    [m005] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn muting_in_japanese() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(in_japanese());
        world.says("花子", "@Aizuchi 2時間ミュートして").await;
        world.pass(5).await;
        world.says("太郎", "@Aizuchi いる？").await;
        world.pass(5).await;
        world.says("太郎", "@Aizuchi ミュート解除").await;
        world.pass(5).await;
        world.says("太郎", "@Aizuchi いる？").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s 花子: @Aizuchi 2時間ミュートして
       0s (persona): 10:00まで、ここでは話しません。`@Aizuchi ミュート解除` で元に戻ります。
       5s 太郎: @Aizuchi いる？
      10s 太郎: @Aizuchi ミュート解除
      10s (persona): ミュートされていません。このチャンネルでは、Aizuchi はメンションに答え、会話が落ち着いて伝えたいことがあれば加わります。
      15s 太郎: @Aizuchi いる？
      15s (persona): Here I am.
    [m000] spoke by command: 私への指示でした ()
    [m001] muted by muted: ここではミュートされています ()
    [m002] spoke by command: 私への指示でした ()
    [m003] spoke: 太郎 さんに聞かれました (reply kept)
    ");
}

#[tokio::test]
async fn stop_stops_also_what_is_under_way() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        world.says("alice", "when do I cut the roses?").await;
        let there = world.clone();
        world.mind.meanwhile(PromptVerb::Reply, || async move {
            there.says("bob", "@Aizuchi stop").await;
        });
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      90s bob: @Aizuchi stop
      90s (persona): I say nothing here until 09:01. `@Aizuchi unmute` undoes it.
    [m001] spoke by command: it was said to steer me (judge superseded, reply superseded)
    [m000] muted by muted: I am muted here ()
    ");
}

#[tokio::test]
async fn commands_do_not_keep_talk_from_being_judged() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "when do I cut the roses?").await;
        world.pass(10).await;
        world.says("bob", "@Aizuchi help").await;
        world.pass(400).await;
        let judged = &world.mind.prompt_texts(PromptVerb::Judge)[0];
        assert!(judged.contains("roses") && !judged.contains("@Aizuchi"), "{judged}");
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: when do I cut the roses?
      10s bob: @Aizuchi help
      10s (persona): Say `@Aizuchi` and one of these:
    - `why?`: why I spoke last here, or said nothing
      10s (persona): - `status`, `memory`: how I take part here, what I remember
      10s (persona): - `stop`: I say nothing here for an hour
    - `mute 2h`, `mute`, `unmute`
      10s (persona): - `opt out`, `opt in`: whether I listen to you
      10s (persona): - `forget me`: I delete what you said and what I remember of it
      10s (persona): - `reset`: I begin anew in this conversation (in direct messages; elsewhere for admins)
    [m001] spoke by command: it was said to steer me ()
    [m000] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn a_command_and_a_question_are_both_answered() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi are you there?").await;
        world.says("bob", "@Aizuchi status").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi are you there?
       0s bob: @Aizuchi status
       0s (persona): In this channel, Aizuchi answers when it is mentioned, and joins in when the talk rests
       0s (persona): and it has something to add.
       0s (persona): Here I am.
    [m001] spoke by command: it was said to steer me ()
    [m000] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn who_does_not_want_to_be_heard_can_still_order() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi opt out").await;
        world.pass(5).await;
        world.says("alice", "I am not here").await;
        world.says("bob", "nor am I").await;
        world.pass(400).await;
        assert!(!world.mind.prompt_texts(PromptVerb::Judge)[0].contains("I am not here"));
        world.says("alice", "@Aizuchi status").await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi opt in").await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi hello").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi opt out
       0s (persona): I do not listen to you here and in the rooms that belong with this one: what you say
       0s (persona): there is in nothing that I think or remember, and I only take your commands.
       0s (persona): `opt in` undoes it.
       5s alice: 
       5s bob: nor am I
     405s alice: @Aizuchi status
     405s (persona): In this channel, Aizuchi answers when it is mentioned, and joins in when the talk rests
     405s (persona): and it has something to add.
    I do not listen to you here and in the rooms that belong
     405s (persona): with this one: what you say there is in nothing that I think or remember, and I only take
     405s (persona): your commands. `opt in` undoes it.
     410s alice: @Aizuchi opt in
     410s (persona): I listen to you.
     415s alice: @Aizuchi hello
     415s (persona): Here I am.
    [m000] spoke by command: it was said to steer me ()
    [m002] chose_silence: they get along (judge kept)
    [m003] spoke by command: it was said to steer me ()
    [m004] spoke by command: it was said to steer me ()
    [m005] spoke: alice asked me (reply kept)
    ");
}

#[tokio::test]
async fn who_wants_to_be_forgotten_is() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "the shed leaks").await;
        world.says("bob", "again?").await;
        world.pass(400).await;
        world.says("alice", "@Aizuchi forget me").await;
        world.pass(5).await;
        world.says("alice", "a new day").await;
        world.pass(400).await;
        let asked = world.mind.prompt_texts(PromptVerb::Judge);
        let last = asked.last().unwrap();
        assert!(last.contains("a new day") && !last.contains("shed"));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s forgotten: (deleted)
       0s bob: again?
     400s alice: @Aizuchi forget me
     400s (persona): I have deleted what you said here and in the rooms that belong with this one, and what I
     400s (persona): remembered of it. What you say from now on I hear again; with `opt out` I do not.
     405s alice: a new day
    [m000 m001] chose_silence:  (judge kept)
    [m002] spoke by command: it was said to steer me ()
    [m003] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn forgetting_in_japanese() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(in_japanese());
        world.says("花子", "納屋が雨漏りする").await;
        world.pass(400).await;
        world.says("花子", "@Aizuchi 私のことを忘れて").await;
        world.pass(5).await;
        world.says("花子", "@Aizuchi オプトアウト").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s forgotten: (deleted)
     400s 花子: @Aizuchi 私のことを忘れて
     400s (persona): ここと、ここにつながる部屋でのあなたの発言と、そこから覚えたことを消しました。これからの発言はまた聞きます。聞かれたくないときは `オプトアウト` と伝えてください。
     405s 花子: @Aizuchi オプトアウト
     405s (persona): ここと、ここにつながる部屋では、あなたの発言を聞いていません。考えるときにも覚えるときにも使わず、コマンドだけ受け付けます。`オプトイン` で元に戻ります。
    [m000] chose_silence:  (judge kept)
    [m001] spoke by command: 私への指示でした ()
    [m002] spoke by command: 私への指示でした ()
    ");
}

#[tokio::test]
async fn what_holds_for_others_is_for_admins() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi mode observe").await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi mute everywhere").await;
        world.pass(5).await;
        admin_says(&world, "a1", "@Aizuchi mute").await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi unmute").await;
        world.pass(5).await;
        admin_says(&world, "a2", "@Aizuchi unmute").await;
        world.pass(5).await;
        admin_says(&world, "a3", "@Aizuchi mode mention-only").await;
        world.pass(5).await;
        world.says("alice", "the beans are up").await;
        world.pass(400).await;
        assert!(world.mind.prompt_texts(PromptVerb::Judge).is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi mode observe
       0s (persona): Only an admin may order that.
       5s alice: @Aizuchi mute everywhere
       5s (persona): Only an admin may order that.
      10s root: @Aizuchi mute
      10s (persona): I say nothing here until somebody undoes it. `@Aizuchi unmute` undoes it.
      15s alice: @Aizuchi unmute
      15s (persona): An admin wants me to say nothing until somebody undoes it, and only an admin can undo
      15s (persona): that.
      20s root: @Aizuchi unmute
      20s (persona): I am not muted. In this channel, Aizuchi answers when it is mentioned, and joins in when
      20s (persona): the talk rests and it has something to add.
      25s root: @Aizuchi mode mention-only
      25s (persona): In this channel, Aizuchi speaks only when it is mentioned.
      30s alice: the beans are up
    [m000] spoke by command: it was said to steer me ()
    [m001] spoke by command: it was said to steer me ()
    [a1] spoke by command: it was said to steer me ()
    [m002] spoke by command: it was said to steer me ()
    [a2] spoke by command: it was said to steer me ()
    [a3] spoke by command: it was said to steer me ()
    [m003] chose_silence by channel_mode: I do not speak unasked in this channel ()
    ");
}

#[tokio::test]
async fn commands_work_where_it_never_speaks() {
    for mode in [Mode::Observe, Mode::Off, Mode::MentionOnly] {
        let told = on_every_store(async |kept| {
            let world = Harness::new(kept).await.with_options(in_mode(mode));
            world.says("alice", "@Aizuchi status").await;
            world.pass(5).await;
            world.transcript().await
        });
        let told = told.await;
        assert!(told.contains("(persona): In this channel"), "{mode:?}\n{told}");
    }
}

#[tokio::test]
async fn a_command_in_a_thread_is_answered_there() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let parent = world.says("alice", "the tomatoes are late").await;
        world.pass(400).await;
        world.says_in(thread("garden", parent.as_str()), "bob", "@Aizuchi status").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: the tomatoes are late
     400s   bob: @Aizuchi status
     400s   (persona): In this channel, Aizuchi answers when it is mentioned, and joins in when the talk rests
     400s   (persona): and it has something to add.
    [m000] chose_silence: they get along (judge kept)
    [m001] spoke by command: it was said to steer me ()
    ");
}

#[tokio::test]
async fn what_is_heard_twice_is_obeyed_once() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let mute = message(top_level("garden"), "m1", world.clock.now(), "alice", "@Aizuchi mute");
        world.hear(mute.clone()).await;
        world.pass(5).await;
        world.says("alice", "@Aizuchi unmute").await;
        world.pass(5).await;
        world.hear(mute).await;
        world.pass(5).await;
        let world = world.restart().await;
        world.says("bob", "@Aizuchi are you there?").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi mute
       0s (persona): I say nothing here until somebody undoes it. `@Aizuchi unmute` undoes it.
       5s alice: @Aizuchi unmute
       5s (persona): I am not muted. In this channel, Aizuchi answers when it is mentioned, and joins in when
       5s (persona): the talk rests and it has something to add.
      15s bob: @Aizuchi are you there?
      15s (persona): Here I am.
    [m1] spoke by command: it was said to steer me ()
    [m000] spoke by command: it was said to steer me ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

/// It must not say that it does what it does not do.
#[tokio::test]
async fn a_line_that_becomes_a_command_is_not_obeyed_and_says_so() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let line = world.says("alice", "@Aizuchi mut 2h").await;
        world.edits(&line, "@Aizuchi mute 2h").await;
        world.pass(5).await;
        assert!(world.mind.prompt_texts(PromptVerb::Reply).is_empty());
        world.says("bob", "@Aizuchi are you there?").await;
        world.pass(400).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi mute 2h
       0s (persona): I take commands only as they are first written; please write it anew.
       5s bob: @Aizuchi are you there?
       5s (persona): Here I am.
    [m000] spoke by command: it was said to steer me ()
    [m001] spoke: bob asked me (reply kept)
    ");
}

#[tokio::test]
async fn stop_shortens_nothing_and_an_edited_command_is_answered_as_it_was() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        world.says("alice", "@Aizuchi mute 24h").await;
        world.pass(5).await;
        let stop = world.says("bob", "@Aizuchi stop").await;
        world.edits(&stop, "@Aizuchi stop it, thanks a lot").await;
        world.pass(5).await;
        world.says("bob", "@Aizuchi status").await;
        world.says("alice", "@Aizuchi unmute").await;
        world.pass(5).await;
        assert!(world.store.archive.pending_steps(&workspace()).await.unwrap().is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi mute 24h
       0s (persona): I say nothing here until 2027-01-16 08:00. `@Aizuchi unmute` undoes it.
       5s bob: @Aizuchi stop
       5s (persona): I say nothing here until 2027-01-16 08:00. `@Aizuchi unmute` undoes it.
      10s bob: @Aizuchi status
      10s alice: @Aizuchi unmute
      10s (persona): In this channel, Aizuchi answers when it is mentioned, and joins in when the talk rests
      10s (persona): and it has something to add.
      10s (persona): I am not muted. In this channel, Aizuchi answers when it is mentioned, and joins in when
      10s (persona): the talk rests and it has something to add.
    [m000] spoke by command: it was said to steer me ()
    [m001] spoke by command: it was said to steer me ()
    [m002 m003] spoke by command: it was said to steer me ()
    [] spoke by command: it was said to steer me ()
    ");
}

/// Histories are read out of order, so only who wants to be left out is obeyed late.
#[tokio::test]
async fn of_what_was_ordered_while_it_was_away_only_leaving_is_done() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        let at = world.clock.now();
        for (id, who, text) in [("m1", "alice", "@Aizuchi mute"), ("m2", "bob", "@Aizuchi opt out")]
        {
            let line = message(top_level("garden"), id, at, who, text);
            world.inbox.hear(Heard::Message(line, Arrival::Backfilled)).await.unwrap();
        }
        world.pass(5).await;
        let orders = world.store.store.orders(&workspace()).await.unwrap();
        assert_eq!((orders.mutes.len(), orders.opted_out.len()), (0, 1));
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s u-alice: @Aizuchi mute
       0s u-bob: @Aizuchi opt out
       0s (persona): I am not muted. In this channel, Aizuchi answers when it is mentioned, and joins in when
       0s (persona): the talk rests and it has something to add.
       0s (persona): I do not listen to you here and in the rooms that belong with this one: what you say
       0s (persona): there is in nothing that I think or remember, and I only take your commands.
       0s (persona): `opt in` undoes it.
    [m1 m2] spoke by command: it was said to steer me ()
    [] spoke by command: it was said to steer me ()
    ");
}

#[tokio::test]
async fn the_other_commands_in_japanese() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await.with_options(in_japanese());
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
            world.says("花子", text).await;
            world.pass(5).await;
        }
        assert!(world.mind.prompt_texts(PromptVerb::Reply).is_empty());
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s 花子: @Aizuchi 状態
       0s (persona): このチャンネルでは、Aizuchi はメンションに答え、会話が落ち着いて伝えたいことがあれば加わります。
       5s 花子: @Aizuchi ストップ
       5s (persona): 09:00まで、ここでは話しません。`@Aizuchi ミュート解除` で元に戻ります。
      10s 花子: @Aizuchi ミュート解除
      10s (persona): ミュートされていません。このチャンネルでは、Aizuchi はメンションに答え、会話が落ち着いて伝えたいことがあれば加わります。
      15s 花子: @Aizuchi オプトアウト
      15s (persona): ここと、ここにつながる部屋では、あなたの発言を聞いていません。考えるときにも覚えるときにも使わず、コマンドだけ受け付けます。`オプトイン` で元に戻ります。
      20s 花子: @Aizuchi オプトイン
      20s (persona): あなたの発言を聞いています。
      25s 花子: @Aizuchi 記憶
      25s (persona): 最近の発言のほかには、まだ何も覚えていません。
      30s 花子: @Aizuchi モード observe
      30s (persona): これを指示できるのは管理者だけです。
      35s 花子: @Aizuchi どこでもミュート
      35s (persona): これを指示できるのは管理者だけです。
      40s 花子: @Aizuchi ヘルプ
      40s (persona): `@Aizuchi` に続けて、次のどれかを書いてください。
    - `なぜ？`：最後に話した、または黙っていた理由
    - `状態`、`記憶`：ここでの参加のしかたと、覚えていること
      40s (persona): - `ストップ`：ここでは 1 時間話しません
    - `2時間ミュート`、`ミュート`、`ミュート解除`
    - `オプトアウト`、`オプトイン`：あなたの発言を聞くかどうか
      40s (persona): - `私のことを忘れて`：あなたの発言と、そこから覚えたことを消します
    - `リセット`：この会話を新しく始めます（DM 以外では管理者のみ）
    [m000] spoke by command: 私への指示でした ()
    [m001] spoke by command: 私への指示でした ()
    [m002] spoke by command: 私への指示でした ()
    [m003] spoke by command: 私への指示でした ()
    [m004] spoke by command: 私への指示でした ()
    [m005] spoke by command: 私への指示でした ()
    [m006] spoke by command: 私への指示でした ()
    [m007] spoke by command: 私への指示でした ()
    [m008] spoke by command: 私への指示でした ()
    ");
}

#[tokio::test]
async fn it_tells_what_it_remembers_of_the_place_and_of_no_other() {
    let told = on_every_store(async |kept| {
        let world = Harness::new(kept).await;
        for (channel, text) in [("garden", "the beans are up"), ("kitchen", "the soup is on")] {
            let key = MemoryKey {
                workspace: workspace(),
                scope: MemoryScope::Channel(ChannelId::new(channel)),
                term: MemoryTerm::LongTerm,
            };
            let entry = MemoryEntry {
                date: jiff::civil::date(2026, 3, 1),
                text: text.into(),
                visibility: Visibility::Public,
                messages: Vec::new(),
            };
            let newest = world.clock.now();
            world.order(Order::ImportMemory { key, entries: vec![entry], newest }).await;
        }
        world.says("alice", "@Aizuchi memory").await;
        world.pass(5).await;
        world.transcript().await
    });
    assert_snapshot!(told.await, @"
       0s alice: @Aizuchi memory
       0s (persona): - 2026-03-01: the beans are up
    [m000] spoke by command: it was said to steer me ()
    ");
}
