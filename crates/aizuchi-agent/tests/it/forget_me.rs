//! Being forgotten by a command in the chat, and what remains after opting out.

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, UserId,
};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::commands::{in_japanese, sends_again};

/// A message in the kitchen that its history shows.
async fn backfill(harness: &Harness, id: &str, at: Timestamp, name: &str, text: &str) {
    let message = message(top_level("kitchen"), id, at, name, text);
    harness.inbox.hear(Heard::Message(message, Arrival::Backfilled)).await.unwrap();
}

/// The ids of the messages in the kitchen, oldest first.
async fn in_kitchen(harness: &Harness) -> Vec<String> {
    let stored = harness.messages("kitchen").await.into_iter();
    stored.map(|stored| stored.message.id.to_string()).collect()
}

#[tokio::test]
async fn nothing_is_forgotten_before_the_user_is_sure() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "the roses bloom").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi forget me").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    let transcript = transcript.await;
    assert!(transcript.contains("alice: the roses bloom\n"), "{transcript}");
    assert!(transcript.contains("It can’t"), "{transcript}");
    assert!(transcript.contains("forget me, yes"), "{transcript}");
}

#[tokio::test]
async fn a_user_who_opted_out_can_still_give_commands() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi opt out").await;
        harness.pass(5).await;
        harness.says("alice", "I am not here").await;
        harness.says("bob", "who waters the roses today?").await;
        harness.pass(400).await;
        assert!(!harness.mind.prompt_texts(PromptVerb::Judge)[0].contains("I am not here"));
        harness.says("alice", "@Aizuchi status").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi opt in").await;
        harness.pass(5).await;
        harness.says("alice", "@Aizuchi hello").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi opt out
       0s (persona): I’m not listening to you any more, here or in the other channels of this workspace.
       0s (persona): I won’t use anything you say there, either to answer or to remember; I only take your
       0s (persona): commands. Say `@Aizuchi opt in` to undo this.
       5s alice: 
       5s bob: who waters the roses today?
     405s alice: @Aizuchi status
     405s (persona): In this channel I answer when I’m mentioned, and join in when the conversation goes quiet
     405s (persona): and I have something to add (mode `companion`).
     405s (persona): I’m not listening to you any more, here or in the other channels of this workspace.
     405s (persona): I won’t use anything you say there, either to answer or to remember; I only take your
     405s (persona): commands. Say `@Aizuchi opt in` to undo this.
     410s alice: @Aizuchi opt in
     410s (persona): I’m listening to you.
     415s alice: @Aizuchi hello
     415s (persona): Here I am.
    [m000] spoke by command: it was a command for me ()
    [m002] chose_silence: they get along (judge kept)
    [m003] spoke by command: it was a command for me ()
    [m004] spoke by command: it was a command for me ()
    [m005] spoke: alice mentioned me (reply kept)
    ");
}

#[tokio::test]
async fn forget_me_deletes_what_the_user_said() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "my shed leaks").await;
        harness.says("bob", "hm").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi forget me, yes").await;
        harness.pass(5).await;
        harness.says("alice", "is it a new day?").await;
        harness.pass(400).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Judge);
        let last = asked.last().unwrap();
        assert!(last.contains("is it a new day?") && !last.contains("shed"));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
       0s bob: hm
     400s alice: @Aizuchi forget me, yes
     400s (persona): I’ve deleted what you said here and in the other channels of this workspace, and what I
     400s (persona): remembered of it. The last traces leave my database within a day.
     400s (persona): I’ll hear what you say from now on; if you don’t want that, say `@Aizuchi opt out`.
     405s alice: is it a new day?
    [m000 m001] chose_silence:  (judge kept)
    [m002] spoke by command: it was a command for me ()
    [m003] chose_silence: they get along (judge kept)
    ");
}

#[tokio::test]
async fn forget_me_in_japanese() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        harness.says("花子", "うちの納屋が雨漏りする").await;
        harness.pass(400).await;
        harness.says("花子", "@Aizuchi はい、私のことを忘れて").await;
        harness.pass(5).await;
        harness.says("花子", "@Aizuchi オプトアウト").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
     400s 花子: @Aizuchi はい、私のことを忘れて
     400s (persona): ここと、このワークスペースのほかのチャンネルでのあなたの発言、そこから覚えたことを消しました。データベースに残っている分も、1 日以内にすべて消えます。
     400s (persona): これからの発言はまた聞きます。聞かれたくないときは `@Aizuchi オプトアウト` と書いてください。
     405s 花子: @Aizuchi オプトアウト
     405s (persona): あなたはオプトアウト中です。ここでも、このワークスペースのほかのチャンネルでも、あなたの発言は聞きません。返事にも記憶にも使わず、コマンドだけ受け付けます。
     405s (persona): `@Aizuchi オプトイン` で元に戻ります。
    [m000] chose_silence by nothing_open: 返事を待っている人はいないようでした ()
    [m001] spoke by command: 私へのコマンドでした ()
    [m002] spoke by command: 私へのコマンドでした ()
    ");
}

#[tokio::test]
async fn a_forgotten_message_that_is_sent_again_stays_forgotten() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        sends_again(&harness, "alice", "my shed leaks", &["a1"]).await;
        harness.says("alice", "@Aizuchi forget me, yes").await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        sends_again(&harness, "alice", "my shed leaks", &["a2", "a3"]).await;
        harness.pass(5).await;
        let ids: Vec<MessageId> =
            harness.messages("garden").await.iter().map(|it| it.message.id.clone()).collect();
        assert!(!ids.contains(&MessageId::new("a2")), "{ids:?}");
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
       0s alice: @Aizuchi forget me, yes
       0s (persona): I’ve deleted what you said here and in the other channels of this workspace, and what I
       0s (persona): remembered of it. The last traces leave my database within a day.
       0s (persona): I’ll hear what you say from now on; if you don’t want that, say `@Aizuchi opt out`.
    [m000] spoke by command: it was a command for me ()
    [a1] open:  ()
    ");
}

#[tokio::test]
async fn what_was_said_of_an_answer_stays_when_its_rest_is_forgotten() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(30);
        harness.says("alice", "my shed leaks").await;
        let answer = "Use the tar in the cellar. Alice says that her shed leaks, too.";
        harness.mind.script.push(PromptVerb::Reply, Ok(answer));
        harness.platform.fails(&[Fault::None, Fault::LostRequest]);
        harness.says("bob", "@Aizuchi how do I mend a roof?").await;
        harness.pass(1).await;
        harness.says_in(top_level("kitchen"), "alice", "@Aizuchi forget me, yes").await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        harness.pass(120).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
       0s bob: @Aizuchi how do I mend a roof?
       0s (persona): (deleted)
    [m001] spoke: a message it was based on has changed (reply kept)
    [m000] dropped: the message was deleted ()
    ");
}

#[tokio::test]
async fn a_user_is_forgotten_at_most_once_an_hour() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for _ in 0..2 {
            harness.says("alice", "my shed leaks").await;
            harness.says("alice", "@Aizuchi forget me, yes").await;
            harness.pass(1900).await;
        }
        let transcript = harness.transcript().await;
        harness.says("bob", "@Aizuchi forget me, yes").await;
        harness.says("alice", "@Aizuchi forget me, yes").await;
        harness.pass(5).await;
        let later = harness.transcript().await;
        assert_eq!(later.matches("I’ve deleted what you said here").count(), 2, "{later}");
        assert_eq!(later.matches("my shed leaks").count(), 0, "{later}");
        transcript
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
       0s alice: @Aizuchi forget me, yes
       0s (persona): I’ve deleted what you said here and in the other channels of this workspace, and what I
       0s (persona): remembered of it. The last traces leave my database within a day.
       0s (persona): I’ll hear what you say from now on; if you don’t want that, say `@Aizuchi opt out`.
    1900s alice: my shed leaks
    1900s alice: @Aizuchi forget me, yes
    1900s (persona): I last deleted your messages less than an hour ago.
    1900s (persona): What you’ve said since then is still here. Ask me again once the hour is up.
    [m001] spoke by command: it was a command for me ()
    [m000] dropped: the message was deleted ()
    [m003] spoke by command: it was a command for me ()
    [m002] chose_silence: they get along (judge kept)
    ");
}

/// The history of a channel may be read long after its users were forgotten, as when the persona joins it.
#[tokio::test]
async fn what_a_forgotten_user_wrote_before_is_not_backfilled() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.clock.now();
        harness.says("alice", "@Aizuchi forget me, yes").await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        let (before, after) =
            (asked - SignedDuration::from_hours(24), asked + SignedDuration::from_secs(1));
        harness.pass(7200).await;
        backfill(&harness, "h1", before, "alice", "my shed leaks").await;
        backfill(&harness, "h2", before, "bob", "which shed?").await;
        backfill(&harness, "h3", after, "alice", "is it a new day?").await;
        assert_eq!(in_kitchen(&harness).await, ["h2", "h3"]);
        // By then, only a hash of alice is known.
        harness.says("carol", "@Aizuchi forget me, yes").await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        backfill(&harness, "h4", before, "alice", "and the roof, too").await;
        for (user, emoji, at) in
            [("u-alice", "🌱", before), ("u-bob", "👍", before), ("u-alice", "🙏", after)]
        {
            let reaction = Reaction {
                workspace: workspace(),
                channel: ChannelId::new("kitchen"),
                message: MessageId::new("h2"),
                user: UserId::new(user),
                kind: AuthorKind::Human,
                emoji: emoji.into(),
                at,
                change: ReactionChange::Added,
            };
            harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        }
        assert_eq!(in_kitchen(&harness).await, ["h2", "h3"]);
        let question = harness.messages("kitchen").await.remove(0);
        let reactions: Vec<&str> = question.reactions.iter().map(|group| &*group.emoji).collect();
        assert_eq!(reactions, ["👍", "🙏"]);
    })
    .await;
}

#[tokio::test]
async fn a_yes_within_a_minute_forgets() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "my shed leaks").await;
        harness.pass(400).await;
        harness.says("alice", "@Aizuchi forget me").await;
        harness.pass(20).await;
        harness.says("alice", "yes please").await;
        harness.pass(5).await;
        let transcript = harness.transcript().await;
        // Redelivered, it is still the same command.
        let yes = harness.messages("garden").await.into_iter().rev();
        let yes = yes.map(|stored| stored.message).find(|message| message.is_human()).unwrap();
        harness.hear((*yes).clone()).await;
        harness.pass(5).await;
        assert_eq!(harness.transcript().await, transcript);
        transcript
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
     400s forgotten: (deleted)
     400s (persona): (deleted)
     400s (persona): (deleted)
     400s (persona): (deleted)
     420s alice: yes please
     420s (persona): I’ve deleted what you said here and in the other channels of this workspace, and what I
     420s (persona): remembered of it. The last traces leave my database within a day.
     420s (persona): I’ll hear what you say from now on; if you don’t want that, say `@Aizuchi opt out`.
    [m000] chose_silence:  (judge kept)
    [m001] spoke by command: it was a command for me ()
    [m002] spoke by command: it was a command for me ()
    ");
}

#[tokio::test]
async fn a_japanese_yes_forgets() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        harness.says("花子", "うちの納屋が雨漏りする").await;
        harness.pass(400).await;
        harness.says("花子", "@Aizuchi 私のことを忘れて").await;
        harness.pass(20).await;
        harness.says("花子", "はい、お願いします").await;
        harness.pass(5).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s forgotten: (deleted)
     400s forgotten: (deleted)
     400s (persona): (deleted)
     400s (persona): (deleted)
     420s 花子: はい、お願いします
     420s (persona): ここと、このワークスペースのほかのチャンネルでのあなたの発言、そこから覚えたことを消しました。データベースに残っている分も、1 日以内にすべて消えます。
     420s (persona): これからの発言はまた聞きます。聞かれたくないときは `@Aizuchi オプトアウト` と書いてください。
    [m000] chose_silence by nothing_open: 返事を待っている人はいないようでした ()
    [m001] spoke by command: 私へのコマンドでした ()
    [m002] spoke by command: 私へのコマンドでした ()
    ");
}

/// Whether alice is forgotten after she says `forget me` and what the steps say: a pause in seconds, a user and a text.
/// A text after `bob> ` replies to what bob said, and one after `persona> ` to the persona's newest post.
async fn is_forgotten(store: TestStore, steps: &[(i64, &str, &str)]) -> bool {
    let harness = Harness::new(store).await;
    harness.says("alice", "my shed leaks").await;
    let of_bob = harness.says("bob", "mine does not").await;
    harness.pass(400).await;
    harness.says("alice", "@Aizuchi forget me").await;
    for (pause, name, text) in steps {
        harness.pass(*pause).await;
        let Some((parent, text)) = text.split_once("> ") else {
            harness.says(name, text).await;
            continue;
        };
        let posted = harness.messages("garden").await.into_iter().rev();
        let mut posted = posted.filter(|it| it.message.author.kind == AuthorKind::Persona);
        let reply_to = match parent {
            "bob" => of_bob.clone(),
            _ => posted.next().unwrap().message.id.clone(),
        };
        let reply = message(top_level("garden"), "reply", harness.clock.now(), name, text);
        let heard = Heard::Message(reply, Arrival::Live);
        let delivery = Delivery { reply_to: Some(reply_to), ..heard.into() };
        harness.inbox.deliver(delivery).await.unwrap();
    }
    harness.pass(5).await;
    let transcript = harness.transcript().await;
    assert!(transcript.contains("mine does not"), "{transcript}");
    !transcript.contains("my shed leaks")
}

#[tokio::test]
async fn only_an_answer_of_the_same_user_counts_as_a_yes() {
    for (steps, expected) in [
        (&[(60, "alice", "yes")][..], true),
        (&[(70, "alice", "yes")], false),
        (&[(5, "bob", "yes")], false),
        (&[(5, "alice", "yes, but not today")], false),
        (&[(5, "alice", "hm"), (5, "alice", "yes")], false),
        (&[(5, "alice", "bob> yes")], false),
        (&[(5, "alice", "bob> @Aizuchi yes")], false),
        (&[(5, "alice", "persona> yes")], true),
        // The answer may be to bob.
        (&[(5, "bob", "@alice do you come to lunch?"), (5, "alice", "yes")], false),
        (&[(5, "bob", "@alice do you come to lunch?"), (5, "alice", "@Aizuchi yes")], true),
        // The persona has said something else since.
        (&[(5, "alice", "@Aizuchi shall I bring tar?"), (5, "alice", "@Aizuchi yes")], false),
        (&[(5, "bob", "@Aizuchi are you there?"), (5, "alice", "@Aizuchi yes")], false),
    ] {
        let found = on_every_database(async |store| is_forgotten(store, steps).await).await;
        assert_eq!(found, expected, "{steps:?}");
    }
}

/// The request covers what was written before it, and not what was written before it was read.
#[tokio::test]
async fn a_request_that_is_read_late_covers_what_was_written_before_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.clock.now();
        harness.pass(7200).await;
        let minutes = |count: i64| asked + SignedDuration::from_mins(count);
        backfill(&harness, "h3", asked, "alice", "@Aizuchi forget me, yes").await;
        backfill(&harness, "h2", minutes(-5), "alice", "my shed leaks").await;
        backfill(&harness, "h4", minutes(60), "alice", "is it a new day?").await;
        assert_eq!(in_kitchen(&harness).await, ["h3", "h4"]);
        // What protects the user outlasts that; other commands do not.
        backfill(&harness, "h0", minutes(-15), "alice", "@Aizuchi mute").await;
        backfill(&harness, "h1", minutes(-10), "alice", "@Aizuchi opt out").await;
        assert_eq!(in_kitchen(&harness).await, ["h1", "h3", "h4"]);
        let orders = harness.store.store.orders(&workspace()).await.unwrap();
        assert_eq!((orders.mutes.len(), orders.opted_out.len()), (0, 1));
    })
    .await;
}
