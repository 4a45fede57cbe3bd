//! What is read from a store: contexts, users, pages of messages, decisions, usage, threads and cursors.

use aizuchi_harness::fixtures::{at, message, thread, top_level, until, window, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, Cursor, Heard, MessageId, Role, User, UserId, WorkspaceId,
};
use aizuchi_model::context::{BudgetUsage, ContextLimits};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, Price};
use aizuchi_model::flow::{Disposition, Outcome};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::{InboxEntry, Spending};
use jiff::SignedDuration;

use crate::store_commands::{PromisesExt, attempt, said, silent};

#[tokio::test]
async fn a_context_holds_the_newest_messages_oldest_first() {
    on_every_store(async |store| {
        for number in 0..5 {
            store.hear_human(&format!("m{number}"), number, &format!("line {number}")).await;
        }
        let late = message(top_level("garden"), "m25", at(2), "bob", "heard late");
        store.hear(late, Disposition::Settled(Gate::Backfilled)).await;
        let reply = message(thread("garden", "m1"), "t1", at(9), "carol", "in a thread");
        store.hear(reply, Disposition::Judge(until(at(70)))).await;
        let context = store.store.context(&top_level("garden"), &window(4)).await.unwrap();
        let texts: Vec<&str> =
            context.target_messages().iter().map(|message| &*message.text).collect();
        // A thread's parent is included, however old.
        assert_eq!(texts, ["line 1", "line 2", "heard late", "line 3", "line 4"]);
        let threads = &context.conversation_history.thread_messages;
        let texts: Vec<&str> = threads[0].messages.iter().map(|message| &*message.text).collect();
        assert_eq!(texts, ["line 1", "in a thread"]);
        let context = store.store.context(&thread("garden", "m1"), &window(4)).await.unwrap();
        let texts: Vec<&str> =
            context.target_messages().iter().map(|message| &*message.text).collect();
        assert_eq!(texts, ["line 1", "in a thread"]);
        assert_eq!(context.display_name(&context.target_messages()[0].author.id), "u-alice");
        let name = User {
            workspace: workspace(),
            id: context.target_messages()[0].author.id.clone(),
            name: "Alice".into(),
            kind: context.target_messages()[0].author.kind,
            role: Role::Member,
            zone: None,
        };
        let hearing = InboxEntry::new(Heard::User(name), Disposition::NotAMessage, at(0));
        store.store.hear(hearing).await.unwrap();
        let context = store.store.context(&thread("garden", "m1"), &window(4)).await.unwrap();
        assert_eq!(context.display_name(&context.target_messages()[0].author.id), "Alice");
    })
    .await;
}

#[tokio::test]
async fn some_users_are_found_by_their_ids() {
    on_every_store(async |store| {
        for id in ["ken", "mia", "o'neil"] {
            let user = User {
                workspace: workspace(),
                id: UserId::new(id),
                name: id.to_uppercase().into(),
                kind: AuthorKind::Human,
                role: Role::Member,
                zone: None,
            };
            let hearing = InboxEntry::new(Heard::User(user), Disposition::NotAMessage, at(0));
            store.store.hear(hearing).await.unwrap();
        }
        let names = async |workspace: &WorkspaceId, ids: &[&str]| -> Vec<String> {
            let ids = ids.iter().copied().map(UserId::new).collect();
            let users = store.archive.some_users(workspace, &ids).await.unwrap();
            users.into_iter().map(|user| user.name.to_string()).collect()
        };
        assert_eq!(names(&workspace(), &["o'neil", "nobody", "ken"]).await, ["KEN", "O'NEIL"]);
        assert_eq!(names(&workspace(), &[]).await, [""; 0]);
        assert_eq!(names(&WorkspaceId::new("elsewhere"), &["ken"]).await, [""; 0]);
    })
    .await;
}

/// Where it begins follows from the stored messages, so it is the same in every store and after a restart.
#[tokio::test]
async fn a_context_begins_with_the_same_message_for_a_while() {
    on_every_store(async |store| {
        let limits = ContextLimits { channel_messages: 6, ..ContextLimits::default() };
        let window = limits.window(at(0));
        let read = async |store: &TestStore| {
            let context = store.store.context(&top_level("garden"), &window).await.unwrap();
            let ids = context.target_messages().iter().map(|message| message.id.clone());
            ids.collect::<Vec<MessageId>>()
        };
        let mut firsts = Vec::new();
        for number in 0..40 {
            store.hear_human(&format!("m{number:02}"), number * 7, "a line").await;
            let newest_first = (0..=number).rev().map(|number| at(number * 7));
            let size = window.messages.size(newest_first).min(number as usize + 1);
            let ids = read(&store).await;
            assert_eq!(ids.len(), size);
            assert_eq!(ids.last(), Some(&MessageId::new(format!("m{number:02}"))));
            assert!(ids.len() >= 6.min(number as usize + 1) && ids.len() <= 9);
            firsts.push(ids[0].clone());
        }
        firsts.dedup();
        assert!(firsts.len() < 20, "{firsts:?}");
        // Messages in a thread do not move the top level.
        let before = read(&store).await;
        for second in 300..305 {
            let id = format!("t{second}");
            let reply = message(thread("garden", "m39"), &id, at(second), "carol", "in a thread");
            store.hear(reply, Disposition::Judge(until(at(400)))).await;
            assert_eq!(read(&store).await, before);
        }
        assert_eq!(read(&store.restart().await).await, before);
        firsts
    })
    .await;
}

#[tokio::test]
async fn usage_is_summed_for_a_day_and_a_month() {
    const DAY: i64 = 86_400;
    on_every_store(async |store| {
        let spending =
            async |second| store.archive.spending(&workspace(), at(second)).await.unwrap();
        assert_eq!(spending(0).await, []);
        let dear = Some(Price { micros: 42 });
        for (conversation, id, second, price) in [
            ("garden", "1", 0, dear),
            ("kitchen", "2", 2 * DAY, None),
            ("garden", "3", 2 * DAY, dear),
        ] {
            let message = message(top_level(conversation), id, at(second), "alice", "hi");
            store.hear(message, Disposition::Judge(until(at(second)))).await;
            let claim = store.claim(second).await.remove(0);
            let asked = Attempt { at: at(second), price, ..attempt() };
            let outcome = Outcome { attempts: vec![asked], ..silent("no") };
            store.complete(&claim, outcome, second).await;
        }
        let tokens = attempt().usage.input_tokens + attempt().usage.output_tokens;
        // The calls and their cost, and the calls whose price is unknown.
        let used = |channel: Option<&str>, day: (u64, u64, u64), month: (u64, u64, u64)| Spending {
            channel: channel.map(ChannelId::new),
            spent: BudgetUsage {
                tokens_in_day: day.0 * tokens,
                unsolicited_tokens_in_day: day.0 * tokens,
                micros_in_day: day.1,
                micros_in_month: month.1,
            },
            tokens_in_month: month.0 * tokens,
            unpriced_tokens_in_day: day.2 * tokens,
            unpriced_tokens_in_month: month.2 * tokens,
        };
        let (garden, kitchen) = (Some("garden"), Some("kitchen"));
        assert_eq!(
            spending(2 * DAY).await,
            [
                used(None, (2, 42, 1), (3, 84, 1)),
                used(garden, (1, 42, 0), (2, 84, 0)),
                used(kitchen, (1, 0, 1), (1, 0, 1))
            ]
        );
        assert_eq!(
            spending(31 * DAY).await,
            [
                used(None, (0, 0, 0), (2, 42, 1)),
                used(garden, (0, 0, 0), (1, 42, 0)),
                used(kitchen, (0, 0, 0), (1, 0, 1))
            ]
        );
        assert_eq!(spending(40 * DAY).await, []);
    })
    .await;
}

#[tokio::test]
async fn messages_are_read_page_by_page() {
    on_every_store(async |store| {
        for number in 0..10 {
            store.hear_human(&format!("m{number}"), number, &number.to_string()).await;
        }
        let read = async |span: MessageRange| {
            let channel = top_level("garden").channel;
            let query = MessageQuery {
                workspace: workspace(),
                channel,
                thread: None,
                range: span,
                limit: 3,
            };
            let messages = store.archive.messages(query).await.unwrap();
            messages
                .iter()
                .map(|stored| stored.message.text.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(read(MessageRange::Newest).await, "7 8 9");
        assert_eq!(read(MessageRange::Before(MessageId::new("m7"))).await, "4 5 6");
        assert_eq!(read(MessageRange::Before(MessageId::new("m1"))).await, "0");
        assert_eq!(read(MessageRange::After(MessageId::new("m3"))).await, "4 5 6");
        assert_eq!(read(MessageRange::AfterTime(at(8))).await, "9");
        assert_eq!(read(MessageRange::After(MessageId::new("m9"))).await, "");
    })
    .await;
}

#[tokio::test]
async fn decisions_are_found_by_their_channel_and_messages() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let silence = store.claim(60).await.remove(0);
        store.complete(&silence, silent("they get along"), 60).await;
        store.hear_mention("2", 100).await;
        let reply = store.claim(100).await.remove(0);
        store.draft(&reply, &["one"], vec!["2"], 100).await;
        let post = store.claim(100).await.remove(0);
        store.complete(&post, said("p1", 101), 101).await;
        let elsewhere = message(top_level("kitchen"), "3", at(200), "bob", "hm");
        store.hear(elsewhere, Disposition::Judge(until(at(260)))).await;
        let find = async |query| {
            let found = store.archive.decisions(query).await.unwrap();
            found.into_iter().map(|decision| decision.id).collect::<Vec<_>>()
        };
        let (first, second) = (silence.decision, reply.decision);
        let one = |workspace| DecisionQuery::One { workspace, id: first };
        assert_eq!(find(one(workspace())).await, [first]);
        assert_eq!(find(one(WorkspaceId::new("other"))).await, []);
        let of_channel = |limit| {
            let channel = ChannelId::new("garden");
            DecisionQuery::Channel { workspace: workspace(), channel, limit }
        };
        assert_eq!(find(of_channel(9)).await, [first, second]);
        assert_eq!(find(of_channel(1)).await, [second]);
        let opened = store.decisions().await[1].opened;
        let since = |since| {
            let channel = ChannelId::new("garden");
            DecisionQuery::Since { workspace: workspace(), channel, since }
        };
        assert_eq!(find(since(at(0))).await, [first, second]);
        assert_eq!(find(since(opened)).await, [second]);
        assert_eq!(find(since(opened + SignedDuration::from_secs(1))).await, []);
        // A decision is found by the messages that it was about, and by its posts.
        let of_message = |id: &str| {
            let message = MessageId::new(id);
            DecisionQuery::Message { workspace: workspace(), message }
        };
        assert_eq!(find(of_message("1")).await, [first]);
        assert_eq!(find(of_message("p1")).await, [second]);
        let of_messages = |channel: &str, ids: &[&str]| {
            let messages = ids.iter().map(|id| MessageId::new(*id)).collect();
            let channel = ChannelId::new(channel);
            DecisionQuery::Messages { workspace: workspace(), channel, messages }
        };
        assert_eq!(find(of_messages("garden", &["1", "p1"])).await, [first, second]);
        assert_eq!(find(of_messages("kitchen", &["1"])).await, []);
    })
    .await;
}

#[tokio::test]
async fn backfill_cursors_are_stored() {
    on_every_store(async |store| {
        let put = |stream: &str, value: &str| {
            let (stream, value) = (stream.into(), value.into());
            store.cursors.put_cursor(Cursor { workspace: workspace(), stream, value })
        };
        put("b", "1").await.unwrap();
        put("a", "2").await.unwrap();
        put("b", "3").await.unwrap();
        let bookmarks = store.cursors.cursors(&workspace()).await.unwrap();
        let bookmarks: Vec<_> =
            bookmarks.iter().map(|bookmark| (&*bookmark.stream, &*bookmark.value)).collect();
        assert_eq!(bookmarks, [("a", "2"), ("b", "3")]);
    })
    .await;
}

#[tokio::test]
async fn a_message_and_its_cursor_are_stored_together() {
    on_every_store(async |store| {
        let heard = |id: &str, so_far: &str| InboxEntry {
            cursor: Some(Cursor {
                workspace: WorkspaceId::new("streams"),
                stream: "session".into(),
                value: so_far.into(),
            }),
            ..InboxEntry::new(
                Heard::Message(message(top_level("garden"), id, at(1), "alice", id), Arrival::Live),
                Disposition::Settled(Gate::Backfilled),
                at(1),
            )
        };
        // In one transaction, the last cursor counts.
        let both = [store.store.hear(heard("1", "7")), store.store.hear(heard("2", "8"))];
        futures_util::future::try_join_all(both).await.unwrap();
        let so_far = || async {
            let bookmarks = store.cursors.cursors(&WorkspaceId::new("streams")).await.unwrap();
            bookmarks.into_iter().map(|bookmark| bookmark.value.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(so_far().await, ["8"]);
        // A message that is already known moves the cursor as well.
        assert!(!store.store.hear(heard("2", "9")).await.unwrap().is_new);
        assert_eq!(so_far().await, ["9"]);
        assert_eq!(store.texts().await, ["1", "2"]);
    })
    .await;
}

#[tokio::test]
async fn threads_with_recent_messages_are_listed() {
    on_every_database(async |store| {
        let human = |conversation, id: &str, second| {
            let message = message(conversation, id, at(second), "alice", "hi");
            store.hear(message, Disposition::Settled(Gate::Backfilled))
        };
        human(top_level("garden"), "1", 1).await;
        human(thread("garden", "1"), "2", 5).await;
        human(thread("garden", "1"), "3", 9).await;
        human(thread("garden", "0"), "4", 7).await;
        human(thread("garden", "old"), "5", 2).await;
        human(thread("kitchen", "6"), "7", 8).await;
        let threads =
            store.archive.threads_since(&workspace(), &ChannelId::new("garden"), at(5)).await;
        let threads = threads.unwrap();
        assert_eq!(threads, [(MessageId::new("0"), at(7)), (MessageId::new("1"), at(9))]);
    })
    .await;
}
