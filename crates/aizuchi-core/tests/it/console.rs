//! What the console reads of a store, and what its operators do with a dead letter.

use aizuchi_core::chat::Visibility::{Private, Public};
use aizuchi_core::chat::{
    AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, Role, UserId, Visibility,
    WorkspaceId,
};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::mark::{DecisionMark, Mark};
use aizuchi_core::decision::welcome::{Choice, RatedChoice, Rating, Welcome, WelcomeReason};
use aizuchi_core::decision::{AttemptResult, DecisionId, DecisionResult, Price, Usage};
use aizuchi_core::event::planned_call::UnclaimedCall;
use aizuchi_core::event::{DeadLetterId, DecisionClosing, Disposition, Event, Outcome, StepResult};
use aizuchi_core::memory::asker::sign;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::store::figures::{CallKind, CallSum, ChoiceAftermath, Period};
use aizuchi_core::store::order::Order;
use aizuchi_core::store::order_journal::{GivenOrder, OrderJournalQuery, OrderKind, OrderRecord};
use aizuchi_core::store::private_reads::{
    PrivateRead, PrivateReadQuery, PrivateReads, PrivateText,
};
use aizuchi_core::store::query::{
    DeadLetterQuery, DecisionFilter, DecisionQuery, FilteredMessages, MessageFilter, MessageQuery,
    MessageRange,
};
use aizuchi_core::store::stored_message::StoredMessage;
use aizuchi_core::store::{ChannelActivity, DecisionCount, InboxEntry, StoreError};
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::promises::PromisesExt;
use aizuchi_harness::fixtures::{
    JOIN, at, message, new_channel, thread, top_level, until, workspace,
};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};

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
                messages: MessageFilter::default(),
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
            messages: MessageFilter::default(),
            before: None,
            limit: 10,
        };
        assert_eq!(store.archive.decisions(by_gate).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn messages_are_found_by_time_with_the_visibility_they_had() {
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
async fn what_is_asked_of_messages_holds_together() {
    on_every_store(async |store| {
        let says = async |id: &str, second, who: &str| {
            let said = message(top_level("garden"), id, at(second), who, "a line");
            store.hear(said, Disposition::Judge(until(at(second + 60)))).await;
        };
        let turn = async |visibility| {
            let heard = Heard::Channel(new_channel("garden", visibility));
            let entry = InboxEntry::new(heard, Disposition::NotAMessage, at(0));
            store.store.hear(entry).await.unwrap();
        };
        turn(Private).await;
        says("p", 5, "carol").await;
        turn(Public).await;
        for (number, who) in ["alice", "carol", "alice", "carol", "carol"].iter().enumerate() {
            says(&format!("m{number}"), 10 + 10 * number as i64, who).await;
        }
        // Two within one millisecond.
        says("m5", 50, "carol").await;
        let found = async |filter: &MessageFilter, before: Option<&str>, limit| {
            let query = FilteredMessages {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                filter: filter.clone(),
                before: before.map(MessageId::new),
                limit,
            };
            let found = store.archive.filtered_messages(&query).await.unwrap();
            assert!(found.iter().all(|stored| filter.has(stored)), "{found:?}");
            found.iter().map(|stored| stored.message.id.to_string()).collect::<Vec<_>>()
        };
        let all = MessageFilter::default();
        assert_eq!(found(&all, None, 2).await, ["m4", "m5"]);
        assert_eq!(found(&all, Some("m3"), 2).await, ["m1", "m2"]);
        assert!(found(&all, Some("unknown"), 2).await.is_empty());
        let carol = MessageFilter { author: Some(UserId::new("u-carol")), ..all.clone() };
        assert_eq!(found(&carol, None, 9).await, ["p", "m1", "m3", "m4", "m5"]);
        assert_eq!(found(&carol, Some("m5"), 2).await, ["m3", "m4"]);
        let public = MessageFilter { visibility: Some(Public), ..carol.clone() };
        assert_eq!(found(&public, None, 9).await, ["m1", "m3", "m4", "m5"]);
        let early = MessageFilter { from: Some(at(20)), until: Some(at(50)), ..carol.clone() };
        assert_eq!(found(&early, None, 9).await, ["m1", "m3"]);
        assert_eq!(found(&early, Some("m5"), 9).await, ["m1", "m3"]);
        assert_eq!(found(&early, Some("m3"), 9).await, ["m1"]);
    })
    .await;
}

#[tokio::test]
async fn decisions_are_found_by_their_messages_too() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for (who, mention) in [("alice", "@Aizuchi hello?"), ("bob", "@Aizuchi and I?")] {
            harness.says(who, mention).await;
            harness.pass(1000).await;
        }
        let found = async |messages: MessageFilter| {
            let query = DecisionQuery::Filtered {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                ended: Some(DecisionFilter::Ended(DecisionResult::Spoke)),
                gate: None,
                messages,
                before: None,
                limit: 9,
            };
            let found = harness.store.archive.decisions(query).await.unwrap();
            found.into_iter().map(|row| row.messages[0].to_string()).collect::<Vec<_>>()
        };
        let all = MessageFilter::default();
        assert_eq!(found(all.clone()).await, ["m000", "m001"]);
        let late = MessageFilter { from: Some(at(900)), ..all.clone() };
        assert_eq!(found(late.clone()).await, ["m001"]);
        let early = MessageFilter { until: Some(at(500)), ..all.clone() };
        assert_eq!(found(early.clone()).await, ["m000"]);
        let bob = MessageFilter { author: Some(UserId::new("u-bob")), ..all.clone() };
        assert_eq!(found(bob.clone()).await, ["m001"]);
        assert!(found(MessageFilter { author: bob.author.clone(), ..early }).await.is_empty());
        assert!(found(MessageFilter { visibility: Some(Private), ..bob }).await.is_empty());
        // By what was posted for them.
        let own = DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            limit: 1,
        };
        let posted = harness.store.archive.decisions(own).await.unwrap()[0].posted_messages.clone();
        let garden = ChannelId::new("garden");
        let posted =
            harness.store.archive.message(&workspace(), &garden, &posted[0]).await.unwrap();
        let author = Some(posted.unwrap().message.author.id.clone());
        assert_eq!(found(MessageFilter { author, ..late }).await, ["m001"]);
    })
    .await;
}

#[tokio::test]
async fn every_dead_letter_is_on_a_page() {
    on_every_store(async |store| {
        for number in 0..5 {
            fail(&store, &number.to_string(), 200 * number, &[]).await;
        }
        let page = async |workspace, before, limit| {
            let query = DeadLetterQuery { workspace, before, limit };
            let letters = store.archive.dead_letters(&query).await.unwrap();
            letters.into_iter().map(|letter| letter.id).collect::<Vec<_>>()
        };
        let all = page(None, None, 9).await;
        assert_eq!(all.len(), 5);
        assert!(all.is_sorted());
        assert_eq!(page(Some(workspace()), None, 2).await, all[3..]);
        assert_eq!(page(None, Some(all[3]), 2).await, all[1..3]);
        assert_eq!(page(None, Some(all[1]), 2).await, all[..1]);
        assert!(page(Some(WorkspaceId::new("elsewhere")), None, 9).await.is_empty());
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
        let page = async |workspace, before, limit| {
            let query = PrivateReadQuery { workspace, before, limit };
            store.archive.private_reads(&query).await.unwrap()
        };
        let reads = async || page(None, None, 10).await;
        let hour = |read: PrivateRead, second, count| PrivateReads { read, at: at(second), count };
        let (mia, tom) = (read("mia", PrivateText::Messages), read("tom", PrivateText::Decisions));
        // A page that stays open brings itself up to date.
        note(&mia, 0).await;
        note(&mia, 299).await;
        note(&mia, 598).await;
        note(&mia, 1000).await;
        note(&tom, 1000).await;
        note(&mia, 7200).await;
        let kept = [hour(mia.clone(), 7200, 1), hour(mia.clone(), 1000, 2), hour(tom, 1000, 1)];
        assert_eq!(reads().await, kept);
        assert_eq!(page(None, None, 2).await, kept[..2]);
        assert_eq!(page(Some(workspace()), Some(at(7200)), 10).await, kept[1..]);
        assert_eq!(page(None, Some(at(1000)), 10).await, []);
        assert_eq!(page(Some(WorkspaceId::new("elsewhere")), None, 10).await, []);
        note(&mia, 401 * 86_400).await;
        assert_eq!(reads().await, [hour(mia, 401 * 86_400, 1)]);
        // Also if nobody reads anything more.
        store.store.drop_journals(at(802 * 86_400)).await.unwrap();
        assert_eq!(reads().await, []);
    })
    .await;
}

#[tokio::test]
async fn what_is_ordered_is_on_record_with_who_ordered_it() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &[]).await;
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let give = async |order: Order, by: &str, second| {
            store.store.order(order.signed(by), at(second)).await
        };
        let journal = async |workspace, before, limit| {
            let query = OrderJournalQuery { workspace, before, limit };
            store.archive.order_journal(&query).await.unwrap()
        };
        let mute = |second| Order::Mute {
            workspace: workspace(),
            channel: Some(ChannelId::new("garden")),
            until: at(second),
            by: Role::Admin,
        };
        let bob = UserId::new("u-bob");
        let opt_out = Order::OptOut { workspace: workspace(), user: bob.clone() };
        let retry = |id| Order::RetryDeadLetter { workspace: workspace(), id };
        let drop = Order::DropDeadLetter { workspace: workspace(), id: letter.id };
        let model =
            Order::NoteModelChoice { workspace: workspace(), model: "ollama/small-1".into() };
        give(mute(900), "olga", 301).await.unwrap();
        // Carried out again, because the process ended before the command's message was stored.
        let command = sign(&bob, at(302));
        give(opt_out.clone(), &command, 302).await.unwrap();
        give(opt_out, &command, 303).await.unwrap();
        let refused = give(retry(DeadLetterId(letter.id.0 + 1)), "olga", 304).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        give(drop, "", 305).await.unwrap();
        give(model, "olga", 306).await.unwrap();
        // Nobody's.
        store.store.order(mute(950), at(307)).await.unwrap();

        let record = OrderRecord::new;
        let of_garden = |kind| OrderRecord {
            channel: Some(ChannelId::new("garden")),
            ..OrderRecord::new(kind)
        };
        let given = |number, second, by: &str, record| GivenOrder {
            number,
            workspace: workspace(),
            at: at(second),
            by: by.into(),
            record,
        };
        let by_bob = |by: &str, user: &UserId| {
            let record = OrderRecord { user: Some(user.clone()), ..record(OrderKind::OptOut) };
            given(2, 302, by, record)
        };
        let dropped =
            OrderRecord { decision: letter.decision, ..of_garden(OrderKind::DropDeadLetter) };
        let chosen =
            OrderRecord { value: Some("ollama/small-1".into()), ..record(OrderKind::ChooseModel) };
        let muted = OrderRecord { until: Some(at(900)), ..of_garden(OrderKind::Mute) };
        let all = [
            given(4, 306, "olga", chosen),
            given(3, 305, "", dropped),
            by_bob(&command, &bob),
            given(1, 301, "olga", muted),
        ];
        assert!(letter.decision.is_some());
        assert_eq!(journal(None, None, 9).await, all);
        assert_eq!(journal(Some(workspace()), None, 2).await, all[..2]);
        assert_eq!(journal(Some(workspace()), Some(3), 9).await, all[2..]);
        assert!(journal(Some(WorkspaceId::new("elsewhere")), None, 9).await.is_empty());

        // Whoever is forgotten is no longer named, also where others ordered something about them.
        for second in [310, 320] {
            let forget =
                Order::Forget { workspace: workspace(), user: bob.clone(), asked: at(second) };
            store.store.order(forget.signed(&*command), at(second)).await.unwrap();
        }
        let nobody = UserId::new("forgotten");
        let kept = journal(None, None, 9).await;
        let forgotten = given(5, 310, "forgotten", record(OrderKind::Forget));
        assert_eq!((&kept[0], &kept[3]), (&forgotten, &by_bob("forgotten", &nobody)));

        let late = 401 * 86_400;
        give(mute(late + 60), "olga", late).await.unwrap();
        let numbers = journal(None, None, 9).await.into_iter().map(|given| given.number);
        assert_eq!(numbers.collect::<Vec<_>>(), [6]);
        // Also if nobody orders anything more.
        store.store.drop_journals(at(2 * late)).await.unwrap();
        assert!(journal(None, None, 9).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_command_of_the_chat_is_on_record_with_its_user() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mut expected = Vec::new();
        for (user, command, kind) in [
            ("alice", "@Aizuchi mute for 2 hours", Some(OrderKind::Mute)),
            ("alice", "@Aizuchi status", None),
            ("bob", "@Aizuchi unmute", Some(OrderKind::Unmute)),
            ("bob", "@Aizuchi opt out", Some(OrderKind::OptOut)),
        ] {
            let message = harness.says(user, command).await;
            let garden = ChannelId::new("garden");
            let heard = harness.store.archive.message(&workspace(), &garden, &message).await;
            let (user, at) = (UserId::new(format!("u-{user}")), heard.unwrap().unwrap().message.at);
            expected.extend(kind.map(|kind| (kind, sign(&user, at))));
        }
        let query = OrderJournalQuery { workspace: None, before: None, limit: 9 };
        let mut found = harness.store.archive.order_journal(&query).await.unwrap();
        found.reverse();
        let found: Vec<_> =
            found.iter().map(|given| (given.record.kind, given.by.to_string())).collect();
        assert_eq!(found, expected);
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_is_dropped_with_its_text() {
    on_every_store(async |store| {
        fail(&store, "1", 0, &["1"]).await;
        let id = store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
        let drop = async |id| {
            let order = Order::DropDeadLetter { workspace: workspace(), id };
            store.store.order(order, at(9)).await
        };
        assert!(matches!(drop(DeadLetterId(id.0 + 1)).await, Err(StoreError::Refused(_))));
        drop(id).await.unwrap();
        assert_eq!(store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        assert_eq!(store.steps().await, 0);
        assert!(matches!(drop(id).await, Err(StoreError::Refused(_))));
        fail(&store, "2", 100, &["2"]).await;
        let next = store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
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
        let id = harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].id;
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
        let text = async || {
            harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].text.clone()
        };
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
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        // Something newer is pending.
        store.hear_human("2", 6, "by the way").await;
        let blocked = store.store.order(retry.clone(), at(7)).await;
        assert!(matches!(blocked, Err(StoreError::Refused(_))), "{blocked:?}");
        let judge = store.claim(70).await.remove(0);
        let silent = DecisionClosing::new(DecisionResult::ChoseSilence, "no");
        store.complete(&judge, Outcome::new(StepResult::Silent(silent)), 71).await;

        store.store.order(retry, at(80)).await.unwrap();
        assert_eq!(store.archive.dead_letters(&Default::default()).await.unwrap(), []);
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
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
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
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
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

/// Users have read the beginning, so only the rest is said.
#[tokio::test]
async fn an_answer_of_which_a_part_was_posted_goes_on_where_it_ended() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let answer = "the roses need water. ".repeat(12);
        harness.mind.script.push(PromptVerb::Reply, Ok(&answer));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
        // Who writes meanwhile neither stops the rest nor has it thought of anew.
        harness.says("bob", "and the beans?").await;
        harness.pass(1000).await;
        let texts = harness.platform.posted_texts();
        assert!(texts.len() > 2, "{texts:?}");
        assert_eq!(texts.concat().replace([' ', '\n'], ""), answer.replace(' ', ""));
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        assert_eq!(harness.store.owed().await, [""; 0]);
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi what do the roses need?
       0s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    1000s bob: and the beans?
    1000s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    1000s (persona): the roses need water. the roses need water. the roses need water. the roses need water.
    [m000] spoke: alice asked me (reply kept)
    [m001] chose_silence by share: I had already said a lot lately ()
    ");
}

/// Whether it was posted is found out first.
#[tokio::test]
async fn a_post_of_unknown_outcome_is_looked_up_before_it_is_made_again() {
    for fault in [Fault::LostAnswer, Fault::LostRequest] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.platform.fails(&[fault]);
            harness.platform.set_history_hidden(true);
            harness.says("alice", "@Aizuchi are you there?").await;
            harness.pass(40_000).await;
            let letter =
                harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
            harness.platform.set_history_hidden(false);
            harness.order(Order::RetryDeadLetter { workspace: workspace(), id: letter.id }).await;
            harness.pass(1000).await;
            assert_eq!(harness.platform.posted_texts().len(), 1);
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 1);
            assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap(), []);
        })
        .await;
    }
}

#[tokio::test]
async fn an_answer_whose_rest_is_gone_is_not_begun_again() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        let question = harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        harness.edits(&question, "@Aizuchi what do the beans need?").await;
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        assert_eq!(letter.text, None);
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        let now = harness.clock.now();
        let refused = harness.store.store.order(retry, now).await.unwrap_err().to_string();
        assert!(refused.contains("the beginning of this answer was posted"), "{refused}");
        assert_eq!(harness.store.archive.dead_letters(&Default::default()).await.unwrap().len(), 1);
        assert_eq!(harness.store.steps().await, 0);
    })
    .await;
}

/// The parts that were never tried are kept as long as the letter.
#[tokio::test]
async fn all_parts_of_a_letter_are_kept_as_long_as_it() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok(&"the roses need water. ".repeat(12)));
        harness.platform.fails(&[Fault::None, Fault::Refused]);
        harness.says("alice", "@Aizuchi what do the roses need?").await;
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        harness.store.store.drop_exchanges(letter.at, u64::MAX).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        harness.order(retry.clone()).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.pass(1000).await;
        let letter =
            harness.store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let later = letter.at + SignedDuration::from_secs(1);
        harness.store.store.drop_exchanges(later, u64::MAX).await.unwrap();
        let retry = Order::RetryDeadLetter { workspace: workspace(), id: letter.id };
        let refused = harness.store.store.order(retry, harness.clock.now()).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    })
    .await;
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
        let (all, late) = (period(0), period(50_000));
        let early = Period { until: at(50_000), ..all.clone() };
        let messages = archive.messages_by_day(&all).await.unwrap();
        let days: Vec<i64> = messages.iter().map(|count| count.day.0).collect();
        let counts: Vec<_> = messages.iter().map(|count| (count.is_own, count.count)).collect();
        assert_eq!(counts, [(false, 2), (true, 1), (false, 1), (true, 1)], "{messages:?}");
        assert_eq!(days[2] - days[0], 1, "{messages:?}");
        assert_eq!(archive.messages_by_day(&late).await.unwrap(), messages[2..]);
        assert_eq!(archive.messages_by_day(&early).await.unwrap(), messages[..2]);
        let calls = archive.calls_by_day(&all).await.unwrap();
        assert!(calls.iter().all(|sum| sum.calls > 0), "{calls:?}");
        assert!(calls.iter().any(|sum| sum.kind == CallKind::Reply), "{calls:?}");
        let mut parts = archive.calls_by_day(&early).await.unwrap();
        parts.extend(archive.calls_by_day(&late).await.unwrap());
        assert_eq!(parts, calls);
        let outcomes = archive.outcomes_by_day(&all).await.unwrap();
        let spoke = outcomes.iter().filter(|it| it.ended == Some(DecisionResult::Spoke));
        assert_eq!(spoke.map(|it| it.count).sum::<u64>(), 2, "{outcomes:?}");
        let delays = archive.answer_delays(&all).await.unwrap();
        assert!(delays.len() == 2 && delays.iter().all(|it| it.is_addressed), "{delays:?}");
        assert_eq!(archive.answer_delays(&late).await.unwrap(), delays[1..]);
        let people = archive.user_delays(&workspace()).await.unwrap();
        let median = people[0].1.median().unwrap();
        assert!((80..=120).contains(&median.as_secs()), "bob answered after 100 s: {median:?}");
        format!("{messages:?} {calls:?} {outcomes:?} {delays:?} {people:?}")
    });
    assert!(!figures.await.is_empty());
}

fn period(since: i64) -> Period {
    let (since, until) = (at(since), Timestamp::MAX);
    Period { workspace: workspace(), since, until, offset: SignedDuration::from_hours(9) }
}

#[tokio::test]
async fn what_every_call_costs_is_counted_once() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let trial = |channel: Option<&str>, tokens, price: Option<u64>| UnclaimedCall {
            workspace: workspace(),
            channel: channel.map(ChannelId::new),
            model: "openai/test".into(),
            calls: 2,
            usage: Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() },
            price: price.map(|micros| Price { micros }),
            at: harness.clock.now(),
            reservation: None,
        };
        let store = &harness.store;
        for call in [trial(Some("garden"), 100, Some(7)), trial(None, 30, None)] {
            store.store.book(&call).await.unwrap();
        }
        let now = harness.clock.now();
        let spending = store.archive.spending(&workspace(), now).await.unwrap();
        let calls = store.archive.calls_by_day(&period(0)).await.unwrap();
        let trials: Vec<_> = calls.iter().filter(|sum| sum.kind == CallKind::Trial).collect();
        let found: Vec<_> = trials
            .iter()
            .map(|sum| (sum.channel.clone(), sum.calls, sum.price.micros, sum.unpriced_tokens))
            .collect();
        assert_eq!(found, [(None, 2, 0, 31), (Some(ChannelId::new("garden")), 2, 7, 0)]);
        let of = |channel: Option<&ChannelId>| {
            let of_channel = |sum: &&CallSum| channel.is_none() || sum.channel.as_ref() == channel;
            let sums = calls.iter().filter(of_channel);
            sums.fold((0, 0, 0), |(tokens, micros, unpriced), sum| {
                let used = sum.usage.input_tokens + sum.usage.output_tokens;
                (tokens + used, micros + sum.price.micros, unpriced + sum.unpriced_tokens)
            })
        };
        assert_eq!(spending.len(), 2, "{spending:?}");
        for booked in spending {
            let spent = booked.spent;
            let booked_here =
                (spent.tokens_in_day, spent.micros_in_day, booked.unpriced_tokens_in_day);
            assert_eq!(of(booked.channel.as_ref()), booked_here, "{:?}", booked.channel);
        }
    })
    .await;
}

#[tokio::test]
async fn reactions_and_open_questions_are_counted_on_their_days() {
    let counted = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let post = harness.messages("garden").await.pop().unwrap().message.id.clone();
        for (message, user) in [(&asked, "u-bob"), (&post, "u-bob"), (&post, "u-alice")] {
            let reaction = Reaction {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                message: message.clone(),
                user: UserId::new(user),
                kind: AuthorKind::Human,
                emoji: "🎉".into(),
                at: harness.clock.now(),
                change: ReactionChange::Added,
            };
            harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        }
        // It owes the first an answer; the second is answered, the third in its thread, and nobody follows the others.
        harness.says("alice", "who has the spade?").await;
        harness.pass(60).await;
        harness.says("bob", "carol has it").await;
        harness.pass(7200).await;
        let third = harness.says("carol", "is it cold there?").await;
        harness.pass(7200).await;
        harness.says("bob", "when do we plant？").await;
        harness.pass(7200).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("carol", "does anybody know how deep?").await;
        harness.pass(7200).await;
        let archive = &harness.store.archive;
        let revision = *harness.store.store.revisions().borrow();
        assert_eq!(archive.changed_days(&period(0), revision).await.unwrap(), []);
        harness.says_in(thread("garden", third.as_str()), "alice", "it was").await;

        let reactions = archive.reactions_by_day(&period(0)).await.unwrap();
        assert_eq!(reactions.iter().map(|it| it.count).collect::<Vec<_>>(), [2], "{reactions:?}");
        let questions = archive.open_questions(&period(0)).await.unwrap();
        let found: Vec<_> = questions.iter().map(|it| (&*it.text, it.is_taken_up)).collect();
        let expected = [("when do we plant？", false), ("does anybody know how deep?", true)];
        assert_eq!(found, expected, "{questions:?}");
        // The thread belongs to what was asked hours ago.
        let changed = archive.changed_days(&period(0), revision).await.unwrap();
        let answered = period(0).day_of(at(7400));
        assert!(changed.contains(&answered), "{changed:?} {answered:?}");
        format!("{reactions:?} {questions:?} {changed:?}")
    });
    assert!(!counted.await.is_empty());
}

#[tokio::test]
async fn what_happened_after_words_and_silences_is_found() {
    let told = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "does anybody have a ladder?").await;
        harness.pass(7200).await;
        harness.says("bob", "is the gate open?").await;
        harness.pass(1800).await;
        harness.says("carol", "it is").await;
        harness.pass(7200).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "does anybody know how deep?").await;
        harness.pass(1800).await;
        let messages = harness.messages("garden").await;
        let is_post = |stored: &&StoredMessage| stored.message.author.kind == AuthorKind::Persona;
        let post = messages.iter().rfind(is_post).unwrap().message.id.clone();
        let reaction = Reaction {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            message: post.clone(),
            user: UserId::new("u-bob"),
            kind: AuthorKind::Human,
            emoji: "🎉".into(),
            at: harness.clock.now(),
            change: ReactionChange::Added,
        };
        harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        let archive = &harness.store.archive;
        let aftermaths = archive.aftermaths(&period(0)).await.unwrap();
        let rated: Vec<RatedChoice> = aftermaths.iter().map(ChoiceAftermath::rate).collect();
        let has = |choice: Choice, welcome: Welcome, reason: WelcomeReason| {
            let rating = Rating { welcome, reasons: vec![reason] };
            rated.iter().any(|rated| rated.choice == choice && rated.rating == rating)
        };
        let unanswered = (Choice::Silence, Welcome::Unwelcome, WelcomeReason::NobodyAnswered);
        let answered = (Choice::Silence, Welcome::Welcome, WelcomeReason::PersonAnswered);
        let liked = (Choice::Word, Welcome::Welcome, WelcomeReason::Liked);
        for (choice, welcome, reason) in [unanswered, answered, liked] {
            assert!(has(choice, welcome, reason), "{reason:?}: {rated:?}");
        }
        let words = rated.iter().filter(|rated| rated.choice == Choice::Word);
        assert!(words.clone().count() == 1 && words.clone().all(|it| it.confidence.is_some()));
        assert!(rated.is_sorted_by_key(|rated| rated.decision), "{rated:?}");
        assert_eq!(archive.aftermaths(&period(86_400)).await.unwrap(), []);
        format!("{aftermaths:?}")
    });
    assert!(!told.await.is_empty());
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
