//! What the console reads from a store, and what operators do with a dead letter.

use aizuchi_harness::fixtures::{at, message, new_channel, top_level, until, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_model::chat::Visibility::{Private, Public};
use aizuchi_model::chat::{ChannelId, Heard, MessageId, Role, UserId, Visibility, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::{Decision, DecisionId, DecisionResult};
use aizuchi_model::flow::{DeadLetterId, Disposition};
use aizuchi_model::memory::asker::sign;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery, OrderKind, OrderRecord};
use aizuchi_store::private_reads::{PrivateRead, PrivateReadQuery, PrivateReads, PrivateText};
use aizuchi_store::query::{
    DecisionFilter, DecisionQuery, FilteredMessages, MessageFilter, MessageQuery, MessageRange,
};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{ChannelActivity, DecisionCount, InboxEntry, StoreError};

use crate::dead_letters::fail;
use crate::store_commands::PromisesExt;

#[tokio::test]
async fn the_activity_of_each_channel_is_that_of_others_and_of_the_persona() {
    on_every_database(async |store| {
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
    on_every_database(async |store| {
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
async fn the_feed_has_the_newest_decisions_of_all_channels() {
    on_every_database(async |store| {
        fail(&store, "1", 0, &[]).await;
        fail(&store, "2", 200, &[]).await;
        store.hear_human("3", 400, "anybody?").await;
        let attic = message(top_level("attic"), "4", at(500), "alice", "and here?");
        store.hear(attic, Disposition::Judge(until(at(560)))).await;
        let feed = async |channel: Option<&str>, ended: &[DecisionFilter], since, before, limit| {
            let query = DecisionQuery::Feed {
                workspace: workspace(),
                channel: channel.map(ChannelId::new),
                ended: ended.to_vec(),
                gate: None,
                since: at(since),
                before,
                limit,
            };
            store.archive.decisions(query).await.unwrap()
        };
        let messages = |found: &[Decision]| -> Vec<String> {
            found.iter().flat_map(|row| &row.messages).map(ToString::to_string).collect()
        };
        let all = DecisionFilter::ALL;
        let found = feed(None, &all, 0, None, 9).await;
        assert_eq!(messages(&found), ["1", "2", "3", "4"]);
        assert_eq!(messages(&feed(None, &all, 0, None, 2).await), ["3", "4"]);
        let before = Some((found[2].opened, found[2].id));
        assert_eq!(messages(&feed(None, &all, 0, before, 9).await), ["1", "2"]);
        assert_eq!(messages(&feed(None, &all, 200, before, 9).await), ["2"]);
        assert_eq!(messages(&feed(None, &all, 0, before, 1).await), ["2"]);
        let open = [DecisionFilter::Open, DecisionFilter::Ended(DecisionResult::Spoke)];
        assert_eq!(messages(&feed(None, &open, 0, None, 9).await), ["3", "4"]);
        assert_eq!(messages(&feed(Some("garden"), &open, 0, None, 9).await), ["3"]);
        assert!(feed(None, &[], 0, None, 9).await.is_empty());
        let muted = DecisionQuery::Feed {
            workspace: workspace(),
            channel: None,
            ended: all.to_vec(),
            gate: Some(Gate::Muted),
            since: at(0),
            before: None,
            limit: 9,
        };
        assert_eq!(store.archive.decisions(muted).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn messages_are_found_by_time_with_the_visibility_they_had() {
    on_every_database(async |store| {
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
    on_every_database(async |store| {
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
    on_every_database(async |store| {
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
        // Filter by what was posted for them.
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
async fn reads_of_private_text_are_counted_by_the_hour_and_kept_for_a_year() {
    on_every_database(async |store| {
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
        // A page that stays open refreshes itself.
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
        // Entries expire even if no one reads anything more.
        store.store.drop_journals(at(802 * 86_400)).await.unwrap();
        assert_eq!(reads().await, []);
    })
    .await;
}

#[tokio::test]
async fn what_is_ordered_is_on_record_with_who_ordered_it() {
    on_every_database(async |store| {
        fail(&store, "1", 0, &[]).await;
        let letter = store.archive.dead_letters(&Default::default()).await.unwrap().remove(0);
        let give = async |order: Order, by: &str, second| {
            store.store.order(order.signed(by), at(second)).await
        };
        let journal = async |workspace, before, limit| {
            let query = OrderJournalQuery { workspace, kind: None, before, limit };
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
        let model = Order::Note {
            workspace: workspace(),
            record: OrderRecord {
                value: Some("ollama/small-1".into()),
                ..OrderRecord::new(OrderKind::ChooseModel)
            },
        };
        give(mute(900), "olga", 301).await.unwrap();
        // Executed again, because the process ended before the command's message was stored.
        let command = sign(&bob, at(302));
        give(opt_out.clone(), &command, 302).await.unwrap();
        give(opt_out, &command, 303).await.unwrap();
        let refused = give(retry(DeadLetterId(letter.id.0 + 1)), "olga", 304).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        give(drop, "", 305).await.unwrap();
        give(model, "olga", 306).await.unwrap();
        // Given by no one.
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

        // A forgotten user is no longer named, not even in orders by others about them.
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
        // Entries expire even if no more orders are given.
        store.store.drop_journals(at(2 * late)).await.unwrap();
        assert!(journal(None, None, 9).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_command_of_the_chat_is_on_record_with_its_user() {
    on_every_database(async |store| {
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
        let query = OrderJournalQuery { workspace: None, kind: None, before: None, limit: 9 };
        let mut found = harness.store.archive.order_journal(&query).await.unwrap();
        found.reverse();
        let found: Vec<_> =
            found.iter().map(|given| (given.record.kind, given.by.to_string())).collect();
        assert_eq!(found, expected);
    })
    .await;
}

#[tokio::test]
async fn a_decision_is_marked_and_the_newest_mark_counts() {
    on_every_database(async |store| {
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
    on_every_database(async |store| {
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
    on_every_database(async |store| {
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

pub async fn mark(
    store: &TestStore,
    id: DecisionId,
    mark: Option<Mark>,
    second: i64,
) -> Result<(), StoreError> {
    let (workspace, by) = (workspace(), "olga".into());
    store.store.order(Order::MarkDecision { workspace, id, mark, by }, at(second)).await
}
