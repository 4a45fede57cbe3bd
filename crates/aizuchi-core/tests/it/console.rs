//! What the console reads of a store, and what its operators do with a dead letter.

use aizuchi_core::chat::Visibility::{Private, Public};
use aizuchi_core::chat::{AuthorKind, ChannelId, Heard, MessageId, Role, User, UserId, Visibility};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::mark::{DecisionMark, Mark};
use aizuchi_core::decision::{AttemptResult, DecisionId, DecisionResult};
use aizuchi_core::event::{DeadLetterId, DecisionClosing, Disposition, Event, Outcome, StepResult};
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::store::figures::Period;
use aizuchi_core::store::{
    ChannelActivity, DecisionCount, DecisionFilter, DecisionQuery, InboxEntry, MessageQuery,
    MessageRange, Order, PrivateRead, PrivateReads, PrivateText, StoreError, StoredMessage,
};
use insta::assert_snapshot;
use jiff::SignedDuration;

use crate::promises::PromisesExt;
use aizuchi_harness::harness::{
    Fault, Harness, TestStore, at, message, new_channel, on_every_database, on_every_store, thread,
    top_level, until, workspace,
};

#[tokio::test]
async fn the_activity_of_each_channel_is_that_of_others_and_of_the_persona() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        harness.says("bob", "and I, too").await;
        let store = &harness.store;
        let quiet = Heard::Channel(new_channel("quiet", Private));
        store.store.hear(InboxEntry::new(quiet, Disposition::NotAMessage, at(0))).await.unwrap();
        let activity = store.archive.channel_activity(&workspace()).await.unwrap();
        let find = |id: &str| activity.iter().find(|found| found.channel == ChannelId::new(id));
        let garden = find("garden").unwrap();
        assert!(garden.last_spoke.is_some() && garden.last_spoke < garden.last_heard, "{garden:?}");
        assert_eq!(
            find("quiet"),
            Some(&ChannelActivity {
                channel: ChannelId::new("quiet"),
                last_heard: None,
                last_spoke: None
            })
        );
    })
    .await;
}

#[tokio::test]
async fn decisions_are_counted_and_found_by_how_they_ended() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &[]).await;
        fail(&store, "2", 200, &[]).await;
        store.hear_human("3", 400, "anybody?").await;
        let count =
            |ended, count| DecisionCount { channel: ChannelId::new("garden"), ended, count };
        let counts =
            async |second| store.archive.decision_counts(&workspace(), at(second)).await.unwrap();
        let all = [count(None, 1), count(Some(DecisionResult::Failed), 2)];
        assert_eq!(counts(0).await, all);
        assert_eq!(counts(1).await, [count(None, 1), count(Some(DecisionResult::Failed), 1)]);
        assert_eq!(counts(201).await, all[..1]);
        let filtered = async |ended, before, limit| {
            let query = DecisionQuery::Filtered {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                ended,
                gate: None,
                before,
                limit,
            };
            let found = store.archive.decisions(query).await.unwrap();
            found.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let failed = Some(DecisionFilter::Ended(DecisionResult::Failed));
        let both = filtered(failed, None, 10).await;
        assert_eq!(both.len(), 2);
        assert_eq!(filtered(failed, Some(both[1]), 10).await, both[..1]);
        assert_eq!(filtered(failed, None, 1).await, both[1..]);
        assert_eq!(filtered(Some(DecisionFilter::Open), None, 10).await.len(), 1);
        let by_gate = DecisionQuery::Filtered {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            ended: None,
            gate: Some(Gate::QuietHours),
            before: None,
            limit: 10,
        };
        assert_eq!(store.archive.decisions(by_gate).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn messages_are_found_by_time_and_author_with_the_visibility_they_had() {
    on_every_store(async |store| {
        for second in 0..5 {
            store.hear_human(&format!("m{second}"), second, &format!("line {second}")).await;
        }
        let carol = message(top_level("garden"), "x", at(3), "carol", "from carol");
        store.hear(carol.clone(), Disposition::Judge(until(at(60)))).await;
        let query = |range, limit| MessageQuery {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            thread: None,
            range,
            limit,
        };
        let found =
            store.archive.messages(query(MessageRange::BeforeTime(at(3)), 2)).await.unwrap();
        let ids = |found: &[StoredMessage]| -> Vec<String> {
            found.iter().map(|stored| stored.message.id.to_string()).collect()
        };
        assert_eq!(ids(&found), ["m1", "m2"]);
        let carol = User {
            workspace: workspace(),
            id: carol.author.id.clone(),
            name: "Carol".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
        };
        let by = async |before, limit| {
            let channel = ChannelId::new("garden");
            let found = store.archive.messages_of_author(&carol, &channel, before, limit).await;
            ids(&found.unwrap())
        };
        assert_eq!(by(at(9), 10).await, ["x"]);
        assert!(by(at(3), 10).await.is_empty() && by(at(9), 0).await.is_empty());
        let hear = async |visibility: Visibility| {
            let heard = Heard::Channel(new_channel("garden", visibility));
            let entry = InboxEntry::new(heard, Disposition::NotAMessage, at(10));
            store.store.hear(entry).await.unwrap();
        };
        hear(Private).await;
        store.hear_human("m9", 11, "in private").await;
        hear(Public).await;
        let late = message(top_level("garden"), "m10", at(12), "alice", "in public");
        store.hear(late, Disposition::Judge(until(at(90)))).await;
        let newest = store.archive.messages(query(MessageRange::Newest, 2)).await.unwrap();
        let visibilities: Vec<_> = newest.iter().map(|stored| stored.visibility).collect();
        assert_eq!(visibilities, [Private, Public]);
    })
    .await;
}

#[tokio::test]
async fn reads_of_private_text_are_counted_by_the_hour_and_kept_for_a_year() {
    on_every_store(async |store| {
        let read = |reader: &str, what| PrivateRead {
            workspace: workspace(),
            channel: ChannelId::new("attic"),
            reader: reader.into(),
            what,
        };
        let note = async |read: &PrivateRead, second| {
            let order = Order::NotePrivateRead(read.clone());
            store.store.order(order, at(second)).await.unwrap();
        };
        let reads = async || store.archive.private_reads(10).await.unwrap();
        let hour = |read: PrivateRead, second, count| PrivateReads { read, at: at(second), count };
        let (mia, tom) = (read("mia", PrivateText::Messages), read("tom", PrivateText::Decisions));
        note(&mia, 0).await;
        note(&mia, 30).await;
        note(&tom, 40).await;
        note(&mia, 7200).await;
        let kept = [hour(mia.clone(), 7200, 1), hour(tom, 40, 1), hour(mia.clone(), 30, 2)];
        assert_eq!(reads().await, kept);
        note(&mia, 401 * 86_400).await;
        assert_eq!(reads().await, [hour(mia, 401 * 86_400, 1)]);
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_is_dropped_with_its_text() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &["1"]).await;
        let id = store.archive.dead_letters().await.unwrap()[0].id;
        let drop = async |id| {
            let order = Order::DropDeadLetter { workspace: workspace(), id };
            store.store.order(order, at(9)).await
        };
        assert!(matches!(drop(DeadLetterId(id.0 + 1)).await, Err(StoreError::Refused(_))));
        drop(id).await.unwrap();
        assert_eq!(store.archive.dead_letters().await.unwrap(), []);
        assert_eq!(store.steps().await, 0);
        assert!(matches!(drop(id).await, Err(StoreError::Refused(_))));
        fail(&store, "2", 100, &["2"]).await;
        let next = store.archive.dead_letters().await.unwrap()[0].id;
        assert_ne!(next, id, "an id that was given once names nothing else");
    })
    .await;
}

/// Its parts that were never tried are texts, too.
#[tokio::test]
async fn no_part_of_an_answer_that_was_given_up_outlives_its_letter() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let database = harness.store.database.clone().unwrap();
        let unsent =
            async || database.count("SELECT count(*) AS n FROM outbox WHERE text <> ''").await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(100).await;
        assert!(unsent().await > 1);
        let id = harness.store.archive.dead_letters().await.unwrap()[0].id;
        harness.order(Order::DropDeadLetter { workspace: workspace(), id }).await;
        assert_eq!(unsent().await, 0);
    })
    .await;
}

/// An answer that could not be posted may quote what it was made from.
#[tokio::test]
async fn a_letter_loses_its_text_when_what_it_was_made_from_changes() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let text = async || harness.store.archive.dead_letters().await.unwrap()[0].text.clone();
        harness.says("bob", "my beans are up").await;
        harness.pass(400).await;
        harness.platform.fails(&[Fault::Refused]);
        let question =
            harness.says_in(thread("garden", "m000"), "alice", "@Aizuchi is it 4711?").await;
        harness.pass(100).await;
        let later = harness.says("bob", "and my peas").await;
        harness.deletes(&later).await;
        assert!(text().await.is_some(), "another message was deleted");
        harness.edits_in(thread("garden", "m000"), &question, "@Aizuchi is it what I think?").await;
        assert_eq!(text().await, None);
        if let Some(database) = &harness.store.database {
            let given_up = "SELECT count(*) AS n FROM outbox WHERE state = 'dead' AND text <> ''";
            assert_eq!(database.count(given_up).await, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_that_is_tried_again_owes_its_answer_again() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &["1"]).await;
        let letter = store.archive.dead_letters().await.unwrap().remove(0);
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        // Something newer is pending.
        store.hear_human("2", 6, "by the way").await;
        let blocked = store.store.order(retry.clone(), at(7)).await;
        assert!(matches!(blocked, Err(StoreError::Refused(_))), "{blocked:?}");
        let judge = store.claim(70).await.remove(0);
        let silent = DecisionClosing::new(DecisionResult::ChoseSilence, "no");
        store.complete(&judge, Outcome::new(StepResult::Silent(silent)), 71).await;

        store.store.order(retry, at(80)).await.unwrap();
        assert_eq!(store.archive.dead_letters().await.unwrap(), []);
        assert_eq!(store.owed().await, ["1"]);
        let reply = store.claim(80).await.remove(0);
        assert_eq!((&reply.event, reply.is_owed), (&Event::Reply(top_level("garden")), true));
        assert_eq!(store.ledger().await[0].0, None, "its decision is open again");
    })
    .await;
}

#[tokio::test]
async fn what_was_said_unasked_is_judged_again() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &[]).await;
        let letter = store.archive.dead_letters().await.unwrap().remove(0);
        let decision = store.archive.decisions(DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            limit: 1,
        });
        let decision = decision.await.unwrap()[0].id;
        mark(&store, decision, Some(Mark::Right), 80).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        store.store.order(retry, at(90)).await.unwrap();
        let marks = store.archive.marks_since(&workspace(), at(0)).await.unwrap();
        assert_eq!(marks, [], "an open decision has none");
        let judge = store.claim(90).await.remove(0);
        assert_eq!(judge.event, Event::Judge(top_level("garden")));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_refused_is_given_after_all() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(1000).await;
        let letter = harness.store.archive.dead_letters().await.unwrap().remove(0);
        harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
        harness.pass(1000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi are you there?
    1000s (persona): Here I am.
    [m000] spoke: alice asked me (reply kept, reply kept)
    ");
}

#[tokio::test]
async fn the_newest_calls_tell_which_model_fails() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let calls = harness.store.archive.recent_calls(5).await.unwrap();
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert_eq!((&*calls[0].verb, calls[0].result), ("reply", AttemptResult::Kept));
        assert!(calls[0].error.is_none());
        harness.store.archive.size_bytes().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_decision_is_marked_and_the_newest_mark_counts() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &[]).await;
        fail(&store, "2", 200, &[]).await;
        store.hear_human("3", 400, "anybody?").await;
        let ledger = DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            limit: 10,
        };
        let ledger = store.archive.decisions(ledger).await.unwrap();
        let mut decisions: Vec<DecisionId> = ledger.iter().map(|row| row.id).collect();
        let open = decisions.pop().unwrap();
        let (first, second) = (decisions[0], decisions[1]);
        mark(&store, first, Some(Mark::ShouldHaveSpoken), 500).await.unwrap();
        mark(&store, second, Some(Mark::Right), 510).await.unwrap();
        mark(&store, first, Some(Mark::ShouldHaveKeptSilent), 520).await.unwrap();
        let refused = mark(&store, open, Some(Mark::Right), 530).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        let unknown = mark(&store, DecisionId(open.0 + 1000), Some(Mark::Right), 530).await;
        assert!(matches!(unknown, Err(StoreError::Refused(_))), "{unknown:?}");

        let kept = |decision, mark, second| DecisionMark {
            decision,
            mark,
            by: "olga".into(),
            at: at(second),
        };
        let (late, right) =
            (kept(first, Mark::ShouldHaveKeptSilent, 520), kept(second, Mark::Right, 510));
        let archive = &store.archive;
        let marks = async |ids: &[DecisionId]| archive.marks(&workspace(), ids).await.unwrap();
        assert_eq!(marks(&[second, first, open]).await, [late.clone(), right.clone()]);
        assert_eq!(marks(&[]).await, []);
        let since = async |second| archive.marks_since(&workspace(), at(second)).await.unwrap();
        assert_eq!(since(0).await, [right.clone(), late.clone()]);
        assert_eq!(since(511).await, [late]);

        let counts = archive.mark_counts().await.unwrap();
        assert_eq!(counts, [(Mark::Right, 1), (Mark::ShouldHaveKeptSilent, 1)]);

        mark(&store, first, None, 540).await.unwrap();
        mark(&store, first, None, 550).await.unwrap();
        assert_eq!(since(0).await, [right]);
    })
    .await;
}

#[tokio::test]
async fn a_mark_goes_with_what_it_is_about() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        harness.says("bob", "@Aizuchi and for me?").await;
        harness.pass(100).await;
        let decisions = harness.decisions("garden").await;
        let marks = async || {
            let since = harness.store.archive.marks_since(&workspace(), at(0)).await;
            since.unwrap().into_iter().map(|mark| mark.decision).collect::<Vec<_>>()
        };
        for decision in &decisions {
            let (workspace, id) = (workspace(), decision.id);
            let (mark, by) = (Some(Mark::Right), "olga".into());
            harness.order(Order::MarkDecision { workspace, id, mark, by }).await;
        }
        assert_eq!(marks().await, [decisions[0].id, decisions[1].id]);
        harness.deletes(&asked).await;
        assert_eq!(marks().await, [decisions[1].id]);
        let (workspace, user, asked) = (workspace(), UserId::new("u-bob"), at(1000));
        harness.order(Order::Forget { workspace, user, asked }).await;
        harness.store.finish_forgetting(at(1001)).await;
        assert_eq!(marks().await, []);
    })
    .await;
}

#[tokio::test]
async fn what_a_message_replies_to_can_be_read() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let question = harness.says("alice", "where is the key for the shed?").await;
        harness.pass(20).await;
        let answer = harness.says("bob", "alice: on the hook by the door").await;
        harness.pass(20).await;
        // Links are stored with the next message.
        harness.says("carol", "the tulips came today").await;
        let ids = [answer.clone(), question.clone(), MessageId::new("unknown")];
        let archive = &harness.store.archive;
        let links = archive.links(&workspace(), &ChannelId::new("garden"), &ids).await.unwrap();
        let found: Vec<&MessageId> = links.iter().map(|(id, _)| id).collect();
        assert_eq!(found, [&question, &answer]);
        assert!(links[0].1.begins > 0.9 && links[0].1.parents.is_empty(), "{links:?}");
        assert!(links[1].1.parents[&question] > 0.9, "{links:?}");
        let elsewhere = archive.links(&workspace(), &ChannelId::new("attic"), &ids).await;
        assert_eq!(elsewhere.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn the_figures_of_a_period_are_the_same_on_every_store() {
    let figures = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        harness.says("bob", "thanks, alice").await;
        harness.pass(86_400).await;
        harness.says("alice", "@Aizuchi still there?").await;
        harness.pass(100).await;
        let archive = &harness.store.archive;
        let period = |since| Period {
            workspace: workspace(),
            since: at(since),
            offset: SignedDuration::from_hours(9),
        };
        let (all, late) = (period(0), period(50_000));
        let begin = all.begin_of(all.day_of(at(0)));
        assert_eq!(all.day_of(begin), all.day_of(at(0)));
        assert_ne!(all.day_of(begin - SignedDuration::from_millis(1)), all.day_of(at(0)));
        let messages = archive.messages_by_day(&all).await.unwrap();
        let days: Vec<i64> = messages.iter().map(|count| count.day.0).collect();
        let counts: Vec<_> = messages.iter().map(|count| (count.is_own, count.count)).collect();
        assert_eq!(counts, [(false, 2), (true, 1), (false, 1), (true, 1)], "{messages:?}");
        assert_eq!(days[2] - days[0], 1, "{messages:?}");
        assert_eq!(archive.messages_by_day(&late).await.unwrap(), messages[2..]);
        let calls = archive.calls_by_day(&all).await.unwrap();
        assert!(calls.iter().all(|sum| sum.calls > 0), "{calls:?}");
        assert_eq!(archive.calls_by_day(&late).await.unwrap(), calls[calls.len() - 1..]);
        let outcomes = archive.outcomes_by_day(&all).await.unwrap();
        let spoke = outcomes.iter().filter(|it| it.ended == Some(DecisionResult::Spoke));
        assert_eq!(spoke.map(|it| it.count).sum::<u64>(), 2, "{outcomes:?}");
        let delays = archive.answer_delays(&all).await.unwrap();
        assert!(delays.len() == 2 && delays.iter().all(|it| it.is_addressed), "{delays:?}");
        assert_eq!(archive.answer_delays(&late).await.unwrap(), delays[1..]);
        let people = archive.people_delays(&workspace()).await.unwrap();
        let median = people[0].1.median().unwrap();
        assert!((80..=120).contains(&median.as_secs()), "bob answered after 100 s: {median:?}");
        format!("{messages:?} {calls:?} {outcomes:?} {delays:?} {people:?}")
    });
    assert!(!figures.await.is_empty());
}

async fn mark(
    store: &TestStore,
    id: DecisionId,
    mark: Option<Mark>,
    second: i64,
) -> Result<(), StoreError> {
    let (workspace, by) = (workspace(), "olga".into());
    store.store.order(Order::MarkDecision { workspace, id, mark, by }, at(second)).await
}

/// A message whose draft is refused for good. `owed` are the messages that it would have answered.
async fn fail(store: &TestStore, id: &str, second: i64, owed: &[&str]) {
    match owed.is_empty() {
        true => drop(store.hear_human(id, second, "hello").await),
        false => drop(store.hear_mention(id, second).await),
    }
    let begin = if owed.is_empty() { second + 60 } else { second };
    let claim = store.claim(begin).await.remove(0);
    let error = StepResult::Failed { error: "closed".to_owned(), why: "it failed".to_owned() };
    if owed.is_empty() {
        store.complete(&claim, Outcome::new(error), begin + 5).await;
        return;
    }
    store.draft(&claim, &["one"], owed.to_vec(), begin).await;
    let post = store.claim(begin).await.remove(0);
    store.complete(&post, Outcome::new(error), begin + 5).await;
}
