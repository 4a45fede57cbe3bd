//! The contract of every store. A new store joins by one more variant of `StoreKind`.

use std::sync::Arc;

use aizuchi_core::chat::Visibility::{Private, Public};
use aizuchi_core::chat::{
    Arrival, AuthorKind, ChannelId, Cursor, Deletion, Edit, Heard, Message, MessageId, Role, User,
    UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::context::{BudgetUsage, ContextLimits};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{
    Attempt, AttemptResult, DecisionResult, Judgment, ModelExchange, Price, PromptOmission, Usage,
};
use aizuchi_core::event::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult};
use aizuchi_core::event::{
    Claim, DecisionClosing, Disposition, Draft, DraftContent, DraftMetadata, Event, OutboxItem,
    Outcome, PostedMessage, StepResult,
};
use aizuchi_core::memo::{Memo, MemoChange};
use aizuchi_core::memory::{
    Lineage, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
};
use aizuchi_core::standing_order::{OrderScope, OrderText};
use aizuchi_core::store::database::connection::query;
use aizuchi_core::store::order::{Mute, Order};
use aizuchi_core::store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_core::store::{HearReceipt, InboxEntry, Spending, StoreError};
use jiff::{SignedDuration, Timestamp};

use aizuchi_harness::fixtures::{
    at, message, new_channel, thread, top_level, until, window, workspace,
};
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database, on_every_store};

const LEASE: SignedDuration = SignedDuration::from_secs(100);

#[tokio::test]
async fn hearing_is_idempotent() {
    on_every_store(async |store| {
        let first = store.hear_human("1", 0, "hello").await;
        let again = store.hear_human("1", 0, "hello").await;
        assert!(first.is_new && !again.is_new);
        assert_eq!(first.revision, again.revision);
        assert_eq!(store.texts().await, ["hello"]);
        // The repeated message does not restart the wait either.
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(60)));
    })
    .await;
}

#[tokio::test]
async fn one_step_is_pending_and_new_messages_restart_its_wait() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let receipt = store.hear_human("2", 30, "hello?").await;
        assert!(!receipt.has_superseded, "restarting a wait supersedes no work");
        assert_eq!(store.claim(89).await, []);
        let claims = store.claim(90).await;
        assert_eq!(claims.len(), 1);
        assert_eq!(claims[0].event, Event::Judge(top_level("garden")));
        assert_eq!(claims[0].due, at(90));
    })
    .await;
}

#[tokio::test]
async fn conversations_are_claimed_independently_in_due_order() {
    on_every_store(async |store| {
        let mut hearings = Vec::new();
        for (conversation, second) in
            [(top_level("kitchen"), 2), (top_level("garden"), 1), (thread("garden", "x"), 3)]
        {
            let message = message(conversation, &format!("m{second}"), at(second), "alice", "hi");
            hearings.push(store.hear(message, Disposition::Judge(until(at(second + 60)))));
        }
        futures_util::future::join_all(hearings).await;
        let claims = store.claim(62).await;
        let conversations: Vec<_> =
            claims.iter().map(|claim| claim.event.conversation().clone()).collect();
        assert_eq!(conversations, [top_level("garden"), top_level("kitchen")]);
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(63)));
    })
    .await;
}

#[tokio::test]
async fn a_claim_hides_a_step_until_its_lease_ends() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let first = store.claim(60).await.remove(0);
        assert_eq!(store.claim(159).await, []);
        let second = store.claim(160).await.remove(0);
        assert_eq!((first.attempt, second.attempt), (1, 2));
        assert_ne!(first.token, second.token);
        // A claim whose lease was lost changes nothing any more.
        store.complete(&first, silent("too late"), 161).await;
        assert_eq!(store.steps().await, 1);
        store.complete(&second, silent("they get along"), 161).await;
        assert_eq!(store.steps().await, 0);
        assert_eq!(
            store.ledger().await,
            [(Some(DecisionResult::ChoseSilence), "they get along".to_owned())]
        );
    })
    .await;
}

#[tokio::test]
async fn completing_never_removes_a_newer_step() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let claim = store.claim(60).await.remove(0);
        assert!(store.hear_human("2", 61, "hello?").await.has_superseded);
        // A conversation never has two steps in flight.
        assert_eq!(store.claim(130).await, []);
        let outcome = Outcome { attempts: vec![attempt()], ..silent("discarded") };
        store.complete(&claim, outcome, 131).await;
        let next = store.claim(131).await.remove(0);
        assert_eq!((next.due, next.decision), (at(121), claim.decision));
        let decision = store.decisions().await.remove(0);
        assert_eq!(decision.ended, None);
        assert_eq!(decision.messages, [MessageId::new("1"), MessageId::new("2")]);
        // The usage of the discarded work stays in the ledger.
        assert_eq!(decision.attempts.len(), 1);
        assert_eq!(decision.attempts[0].result, AttemptResult::Superseded);
        assert_eq!(decision.attempts[0].price, Some(Price { micros: 42 }));
    })
    .await;
}

#[tokio::test]
async fn prompts_are_kept_until_they_expire() {
    on_every_store(async |store| {
        let considered = store.hear_human("1", 0, "one").await.revision;
        let exchange = |messages: &[&str]| ModelExchange {
            seen_revision: Some(considered),
            ..exchange(messages)
        };
        let kept_exchange = ModelExchange { seen_revision: None, ..exchange(&["1"]) };
        let claim = store.claim(60).await.remove(0);
        let asked = Attempt { exchange: Some(Arc::new(exchange(&["1"]))), ..attempt() };
        let outcome = Outcome { attempts: vec![attempt(), asked], ..silent("no") };
        store.complete(&claim, outcome, 61).await;
        let exchanges = || store.archive.exchanges(claim.decision);
        assert_eq!(exchanges().await.unwrap(), [None, Some(kept_exchange.clone())]);
        // The ledger itself does not hold the text.
        assert_eq!(store.decisions().await[0].attempts[1], attempt());
        store.store.drop_exchanges(at(60), u64::MAX).await.unwrap();
        assert_eq!(exchanges().await.unwrap(), [None, Some(kept_exchange)]);
        store.store.drop_exchanges(at(61), u64::MAX).await.unwrap();
        assert_eq!(exchanges().await.unwrap(), [None, None]);
    })
    .await;
}

#[tokio::test]
async fn the_oldest_prompts_go_when_they_take_too_much_room() {
    on_every_store(async |store| {
        let mut decisions = Vec::new();
        for (id, second) in [("1", 0), ("2", 100), ("3", 200), ("4", 300)] {
            let considered = store.hear_human(id, second, "words").await.revision;
            let claim = store.claim(second + 60).await.remove(0);
            let exchange = ModelExchange { seen_revision: Some(considered), ..exchange(&[id]) };
            let called_at = at(second + 60);
            let asked = Attempt { at: called_at, exchange: Some(Arc::new(exchange)), ..attempt() };
            let outcome = Outcome { attempts: vec![asked], ..silent("no") };
            store.complete(&claim, outcome, second + 61).await;
            decisions.push(claim.decision);
        }
        let kept = async || {
            let mut kept = Vec::new();
            for decision in &decisions {
                let exchange = store.archive.exchanges(*decision).await.unwrap().remove(0);
                kept.push(exchange.is_some());
            }
            kept
        };
        let mut seen = vec![kept().await];
        // How large an exchange is stored depends on the store.
        for max_bytes in (0..=400).rev().step_by(8) {
            store.store.drop_exchanges(at(0), max_bytes).await.unwrap();
            seen.push(kept().await);
        }
        seen.dedup();
        let (yes, no) = (true, false);
        let expected = [
            [yes, yes, yes, yes],
            [no, yes, yes, yes],
            [no, no, yes, yes],
            [no, no, no, yes],
            [no, no, no, no],
        ];
        assert_eq!(seen, expected);
    })
    .await;
}

/// Exchanges of earlier versions are stored as texts.
#[tokio::test]
async fn prompts_stored_as_text_are_read_and_dropped() {
    for kind in StoreKind::DATABASES {
        let store = kind.open().await;
        let considered = store.hear_human("1", 0, "one").await.revision;
        let claim = store.claim(60).await.remove(0);
        let exchange = ModelExchange { seen_revision: Some(considered), ..exchange(&["1"]) };
        let asked = Attempt { exchange: Some(Arc::new(exchange)), ..attempt() };
        let outcome = Outcome { attempts: vec![asked], ..silent("no") };
        store.complete(&claim, outcome, 61).await;
        let mut connection = store.database.as_ref().unwrap().connect().await;
        let to_text = query(
            "UPDATE exchanges SET prompt = 'zstd', answer = 'said', packed = NULL, stored_bytes = 8",
        );
        to_text.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let read = async || store.archive.exchanges(claim.decision).await.unwrap().remove(0);
        let exchange = read().await.unwrap();
        assert_eq!((&*exchange.prompt, exchange.answer.as_deref()), ("zstd", Some("said")));
        store.store.drop_exchanges(at(0), 8).await.unwrap();
        assert!(read().await.is_some());
        store.store.drop_exchanges(at(0), 7).await.unwrap();
        assert_eq!(read().await, None);
    }
}

#[tokio::test]
async fn an_edited_or_deleted_message_is_removed_from_prompts_and_reasons() {
    on_every_store(async |store| {
        for (id, second) in [("1", 0), ("2", 100), ("3", 200)] {
            let considered = store.hear_human(id, second, "words").await.revision;
            let claim = store.claim(second + 60).await.remove(0);
            let exchange =
                ModelExchange { seen_revision: Some(considered), ..exchange(&[id, "0"]) };
            let exchange = Some(Arc::new(exchange));
            let judgment = Some(judgment("they said words"));
            let asked = Attempt { exchange, judgment: judgment.clone(), ..attempt() };
            let closing = DecisionClosing {
                judgment,
                ..DecisionClosing::new(DecisionResult::ChoseSilence, "said words")
            };
            let outcome =
                Outcome { attempts: vec![asked], ..Outcome::new(StepResult::Silent(closing)) };
            store.complete(&claim, outcome, second + 61).await;
        }
        for heard in [edit("1", 300), deletion("2", 301)] {
            let follows = Disposition::Judge(until(at(400)));
            store.store.hear(InboxEntry::new(heard, follows, at(0))).await.unwrap();
        }
        for (decision, is_kept) in store.decisions().await.iter().zip([false, false, true]) {
            let exchange = store.archive.exchanges(decision.id).await.unwrap().remove(0);
            assert_eq!(exchange.is_some(), is_kept);
            let shown = format!("{decision:?}");
            assert_eq!(shown.contains("said words"), is_kept, "{shown}");
            assert_eq!(decision.ended, Some(DecisionResult::ChoseSilence));
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_changed_during_a_call_is_not_kept_in_its_prompt() {
    on_every_store(async |store| {
        for (id, second, change) in
            [("1", 0, edit("1", 61)), ("2", 100, deletion("2", 161)), ("3", 200, edit("9", 261))]
        {
            let considered = store.hear_human(id, second, "words").await.revision;
            let claim = store.claim(second + 60).await.remove(0);
            let follows = Disposition::Judge(until(at(second + 90)));
            let is_known =
                store.store.hear(InboxEntry::new(change, follows, at(0))).await.unwrap().is_new;
            let (home, made_from) = (claim.event.conversation(), made_from(&[id]));
            let changed = store.store.has_changed_since(home, considered, &made_from);
            let changed = changed.await.unwrap();
            assert_eq!(changed, is_known, "{id}");
            let exchange = ModelExchange { seen_revision: Some(considered), ..exchange(&[id]) };
            let asked = Attempt { exchange: Some(Arc::new(exchange)), ..attempt() };
            let outcome = Outcome { attempts: vec![asked], ..silent("no") };
            store.complete(&claim, outcome, second + 62).await;
            let exchanges = store.archive.exchanges(claim.decision).await.unwrap();
            assert_eq!(exchanges.iter().flatten().count(), usize::from(!is_known), "{id}");
            for claim in store.claim(second + 95).await {
                store.complete(&claim, silent("no"), second + 96).await;
            }
        }
    })
    .await;
}

/// The words of a standing order go with whoever gave it, also out of a call that is in flight then.
#[tokio::test]
async fn an_order_withdrawn_during_a_call_is_not_kept_in_its_prompt() {
    on_every_store(async |store| {
        let (ann, ben, cleo) = (UserId::new("u-ann"), UserId::new("u-ben"), UserId::new("u-cleo"));
        for by in ["u-ann 1000", "u-ben 2000", "u-cleo 3000", "olga"] {
            let text = OrderText::parse("say xyzzy").unwrap();
            let scope = OrderScope::Channel(top_level("garden").channel);
            let order =
                Order::GiveStandingOrder { workspace: workspace(), scope, text, by: by.into() };
            store.store.order(order, at(0)).await.unwrap();
        }
        let workspace = workspace();
        for (number, order, is_kept) in [
            (1, Order::Forget { workspace: workspace.clone(), user: ann, asked: at(61) }, false),
            (2, Order::OptOut { workspace: workspace.clone(), user: ben }, false),
            (3, Order::Redact { workspace: workspace.clone(), user: cleo }, false),
            // Its words stay on record.
            (4, Order::DropStandingOrder { workspace: workspace.clone(), number: 4 }, true),
        ] {
            let second = number * 100;
            let id = number.to_string();
            let considered = store.hear_human(&id, second, "words").await.revision;
            let claim = store.claim(second + 60).await.remove(0);
            let lineage = Lineage { orders: vec![(number, 1)], ..made_from(&[&id]) };
            let home = claim.event.conversation();
            let has_changed =
                async || store.store.has_changed_since(home, considered, &lineage).await.unwrap();
            assert!(!has_changed().await, "{id}");
            store.store.order(order, at(second + 61)).await.unwrap();
            assert_eq!(has_changed().await, !is_kept, "{id}");
            let exchange = ModelExchange {
                seen_revision: Some(considered),
                lineage: lineage.clone(),
                ..exchange(&[&id])
            };
            let asked = Attempt { exchange: Some(Arc::new(exchange)), ..attempt() };
            let outcome = Outcome { attempts: vec![asked], ..silent("no") };
            store.complete(&claim, outcome, second + 62).await;
            let exchanges = store.archive.exchanges(claim.decision).await.unwrap();
            assert_eq!(exchanges.iter().flatten().count(), usize::from(is_kept), "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_positive_judgment_leads_to_a_reply_and_its_intent_is_stored() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello?").await;
        let claim = store.claim(60).await.remove(0);
        store.complete(&claim, join(90), 60).await;
        assert_eq!(store.claim(89).await, []);
        let context = store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        let intent = context.intent.unwrap();
        assert_eq!((intent.reason.as_str(), intent.about), ("asked", Some(MessageId::new("1"))));
        let reply = store.claim(90).await.remove(0);
        assert_eq!(reply.event, Event::Reply(top_level("garden")));
        assert_eq!(reply.attempt, 1);
        assert!(!reply.is_owed);
    })
    .await;
}

#[tokio::test]
async fn a_new_message_replaces_a_draft_but_not_an_item_being_sent() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello?").await;
        let reply = store.advance_to_reply(60).await;
        store.draft(&reply, &["one"], vec![], 70).await;
        store.hear_human("2", 61, "never mind").await;
        // The draft is gone, and the wait has restarted.
        let judge = store.claim(1000).await.remove(0);
        assert_eq!((judge.due, judge.event), (at(121), Event::Judge(top_level("garden"))));
        let judge = Claim { event: Event::Judge(top_level("garden")), ..judge };
        store.complete(&judge, join(1000), 1000).await;
        let reply = store.claim(1000).await.remove(0);
        store.draft(&reply, &["two"], vec![], 1000).await;
        let post = store.claim(1000).await.remove(0);
        assert!(!store.hear_human("3", 1001, "well").await.has_superseded);
        store.complete(&post, said("p1", 1002), 1002).await;
        // A message during the post is judged afterwards, in a decision of its own.
        let next = store.claim(2000).await.remove(0);
        assert_eq!((next.due, next.event), (at(1061), Event::Judge(top_level("garden"))));
        let rows = store.decisions().await;
        assert_eq!(rows[0].messages, [MessageId::new("1"), MessageId::new("2")]);
        assert_eq!(
            (rows[0].ended, &rows[0].posted_messages[..]),
            (Some(DecisionResult::Spoke), &[MessageId::new("p1")][..])
        );
        assert_eq!(rows[1].messages, [MessageId::new("3")]);
        assert_eq!(store.texts().await, ["hello?", "never mind", "well", "two"]);
    })
    .await;
}

#[tokio::test]
async fn claiming_a_post_commits_its_item_as_sending() {
    on_every_store(async |store| {
        store.hear_mention("1", 0).await;
        let reply = store.claim(0).await.remove(0);
        store.draft(&reply, &["one", "two"], vec!["1"], 0).await;
        let first = store.item(&store.claim(0).await.remove(0));
        assert_eq!(first.dispatched_at, None);
        // The process crashes here. The next claim is told that the item may have been posted.
        let again = store.claim(100).await.remove(0);
        let item = store.item(&again);
        assert_eq!((item.id, item.key, item.dispatched_at), (first.id, first.key, Some(at(0))));
        // It surely was not posted: it is a draft again, and sent again.
        let not_said = Outcome::new(StepResult::NotSent { due: at(101) });
        store.complete(&again, not_said, 100).await;
        let anew = store.claim(101).await.remove(0);
        assert_eq!(store.item(&anew).dispatched_at, None);
        store.complete(&anew, said("p1", 101), 101).await;
        let second = store.claim(101).await.remove(0);
        assert_eq!(&*store.item(&second).text, "two");
        assert_eq!(store.ledger().await[0].0, None);
        store.complete(&second, said("p2", 102), 102).await;
        assert_eq!(store.ledger().await[0].0, Some(DecisionResult::Spoke));
        assert_eq!(store.texts().await, ["@Aizuchi 1", "one", "two"]);
        assert_eq!(store.steps().await, 0);
    })
    .await;
}

#[tokio::test]
async fn recording_a_post_is_idempotent() {
    on_every_store(async |store| {
        store.hear_mention("1", 0).await;
        let reply = store.claim(0).await.remove(0);
        store.draft(&reply, &["one"], vec!["1"], 0).await;
        let slow = store.claim(0).await.remove(0);
        let quick = store.claim(100).await.remove(0);
        store.complete(&slow, said("p1", 99), 100).await;
        assert_eq!(store.texts().await, ["@Aizuchi 1", "one"]);
        store.complete(&quick, said("p1", 99), 101).await;
        assert_eq!(store.texts().await, ["@Aizuchi 1", "one"]);
        assert_eq!(store.steps().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_finished_post_closes_what_it_answered_and_the_rest_schedules_a_reply() {
    on_every_store(async |store| {
        store.hear_mention("1", 0).await;
        let reply = store.claim(0).await.remove(0);
        assert!(reply.is_owed);
        store.draft(&reply, &["one"], vec!["1"], 0).await;
        let post = store.claim(0).await.remove(0);
        store.hear_mention("2", 1).await;
        assert_eq!(store.owed().await, ["1", "2"]);
        store.complete(&post, said("p1", 2), 2).await;
        assert_eq!(store.owed().await, ["2"]);
        let next = store.claim(2).await.remove(0);
        assert_eq!((&next.event, next.is_owed), (&Event::Reply(top_level("garden")), true));
        assert_ne!(next.decision, post.decision);
    })
    .await;
}

#[tokio::test]
async fn a_permanent_failure_leaves_a_dead_letter_and_no_step() {
    on_every_store(async |store| {
        store.hear_mention("1", 0).await;
        let reply = store.claim(0).await.remove(0);
        store.draft(&reply, &["one", "two"], vec!["1"], 0).await;
        let post = store.claim(0).await.remove(0);
        let end = StepResult::Failed {
            error: "closed".to_owned(),
            why: "something went wrong".to_owned(),
        };
        store.complete(&post, Outcome::new(end), 5).await;
        let letters = store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].text.as_deref(), Some("one"));
        assert_eq!((letters[0].at, &*letters[0].verb), (at(5), "post"));
        assert_eq!(store.ledger().await[0].0, Some(DecisionResult::Failed));
        assert_eq!((store.steps().await, store.owed().await.len()), (0, 0));
    })
    .await;
}

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
        };
        let hearing = InboxEntry::new(Heard::User(name), Disposition::NotAMessage, at(0));
        store.store.hear(hearing).await.unwrap();
        let context = store.store.context(&thread("garden", "m1"), &window(4)).await.unwrap();
        assert_eq!(context.display_name(&context.target_messages()[0].author.id), "Alice");
    })
    .await;
}

/// Where it begins follows from the stored messages, so it is the same in every store and after a restart.
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
        // What is said in a thread moves nothing at the top level.
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
async fn a_silent_judgment_is_reused_until_the_state_changes() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let claim = store.claim(60).await.remove(0);
        let context = store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        assert_eq!(context.last_silent_state, None);
        let mut closing = DecisionClosing::new(DecisionResult::ChoseSilence, "they get along");
        closing.state_hash = Some(context.state_hash());
        store.complete(&claim, Outcome::new(StepResult::Silent(closing)), 60).await;
        let context = store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        assert_eq!(context.last_silent_state, Some(context.state_hash()));
        store.hear_human("2", 70, "well").await;
        let context = store.store.context(&top_level("garden"), &window(50)).await.unwrap();
        assert_ne!(context.last_silent_state, Some(context.state_hash()));
    })
    .await;
}

#[tokio::test]
async fn revisions_increase_and_no_change_is_missed_between_two() {
    on_every_store(async |store| {
        let mut seen = 0;
        let mut texts = Vec::new();
        for number in 0..5 {
            store.hear_human(&format!("m{number}"), number, &format!("line {number}")).await;
            let newest = *store.store.revisions().borrow();
            assert!(newest > seen);
            let messages = store.archive.messages_since(&workspace(), seen, 100).await.unwrap();
            texts.extend(messages.iter().map(|stored| stored.message.text.to_string()));
            seen = newest;
        }
        assert_eq!(texts, ["line 0", "line 1", "line 2", "line 3", "line 4"]);
        let claim = store.claim(1000).await.remove(0);
        store.complete(&claim, silent("they get along"), 1000).await;
        let rows = store.archive.decisions_since(&workspace(), seen, 100).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert!(rows[0].revision > seen);
    })
    .await;
}

#[tokio::test]
async fn a_mute_without_an_end_is_kept() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "hello").await;
        let until = Timestamp::MAX;
        for channel in [None, Some(ChannelId::new("garden"))] {
            let order = Order::Mute { workspace: workspace(), channel, until, by: Role::Admin };
            store.store.order(order, at(0)).await.unwrap();
        }
        let orders = store.store.orders(&workspace()).await.unwrap();
        let mute = Mute { until, by: Role::Admin };
        assert_eq!(orders.mutes, [(None, mute), (Some(ChannelId::new("garden")), mute)]);
        let context = store.store.context(&top_level("garden"), &window(7)).await.unwrap();
        assert_eq!(context.channel_status.muted_until, Some(until));
    })
    .await;
}

#[tokio::test]
async fn only_an_admin_undoes_an_admins_mute() {
    let mute = |channel: Option<&str>, until: i64, by| Order::Mute {
        workspace: workspace(),
        channel: channel.map(ChannelId::new),
        until: at(until),
        by,
    };
    let unmute = |by| Order::Unmute { workspace: workspace(), channel: None, by };
    use Role::{Admin, Member};
    let silence = |until, by| Some(Mute { until: at(until), by });
    for (orders, expected) in [
        (vec![mute(None, 100, Member)], silence(100, Member)),
        (vec![mute(None, 100, Member), mute(None, 50, Member)], silence(50, Member)),
        (vec![mute(None, 100, Member), unmute(Member)], None),
        (vec![mute(None, 100, Admin), unmute(Member)], silence(100, Admin)),
        (vec![mute(None, 100, Admin), unmute(Admin)], None),
        (vec![mute(None, 100, Member), unmute(Admin)], None),
        // Each order keeps what the other ordered, and members can undo their own.
        (vec![mute(None, 100, Member), mute(None, 60, Admin)], silence(100, Member)),
        (vec![mute(None, 100, Admin), mute(None, 50, Member)], silence(100, Admin)),
        (vec![mute(None, 100, Admin), mute(None, 200, Member)], silence(200, Member)),
        (
            vec![mute(None, 100, Admin), mute(None, 200, Member), unmute(Member)],
            silence(100, Admin),
        ),
        (vec![mute(Some("garden"), 100, Admin), unmute(Admin)], None),
    ] {
        on_every_store(async |store| {
            for order in orders.clone() {
                store.store.order(order, at(10)).await.unwrap();
            }
            let orders = store.store.orders(&workspace()).await.unwrap();
            assert_eq!(orders.workspace_mute(at(10)), expected);
        })
        .await;
    }
}

#[tokio::test]
async fn a_forgotten_user_is_heard_again_afterwards() {
    on_every_store(async |store| {
        let user = UserId::new("u-alice");
        let name = User {
            workspace: workspace(),
            id: user.clone(),
            name: "Ann".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
        };
        let name = InboxEntry::new(Heard::User(name), Disposition::NotAMessage, at(0));
        store.store.hear(name).await.unwrap();
        store.hear_human("1", 0, "the shed leaks").await;
        let forget = Order::Forget { workspace: workspace(), user, asked: at(10) };
        store.store.order(forget.clone(), at(10)).await.unwrap();
        store.finish_forgetting(at(10)).await;
        store.hear_human("2", 20, "a new day").await;
        let context = store.store.context(&top_level("garden"), &window(7)).await.unwrap();
        let texts: Vec<&str> =
            context.target_messages().iter().map(|message| &*message.text).collect();
        assert_eq!(texts, ["a new day"]);
        assert_eq!(context.display_name(&context.target_messages()[0].author.id), "Ann");
    })
    .await;
}

#[tokio::test]
async fn importing_is_idempotent_and_respects_visibility() {
    on_every_database(async |store| {
        for channel in ["garden", "kitchen"] {
            let heard = Heard::Channel(new_channel(channel, Public));
            let hearing = InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), at(0));
            store.store.hear(hearing).await.unwrap();
        }
        store.hear_human("1", 0, "hello").await;
        let orders = [import_memory("garden", "roses"), import_memo("garden", Private, "green")];
        for order in orders.clone() {
            store.store.order(order, at(1)).await.unwrap();
        }
        let seen = async |channel: &str| {
            let context = store.store.context(&top_level(channel), &window(7)).await.unwrap();
            let memories = context.channel_memories.iter();
            let memories: Vec<_> =
                memories.filter_map(|memory| memory.long_term_memory.clone()).collect();
            let memos: Vec<_> =
                context.important_memos.into_iter().map(|memo| memo.content).collect();
            (memories.join(" "), memos.join(" "))
        };
        let garden = ("- 2027-01-05: roses".to_owned(), "green".to_owned());
        assert_eq!(seen("garden").await, garden);
        assert_eq!(seen("kitchen").await, Default::default());
        // Importing again changes nothing, nor does another memo of the same name.
        let revision = *store.store.revisions().borrow();
        let others = [import_memory("garden", "weeds"), import_memo("garden", Private, "black")];
        for order in orders.into_iter().chain(others) {
            store.store.order(order, at(2)).await.unwrap();
        }
        assert_eq!(*store.store.revisions().borrow(), revision);
        assert_eq!(seen("garden").await, garden);
        // A public memo of that name is another memo.
        store.store.order(import_memo("garden", Public, "white"), at(3)).await.unwrap();
        assert_eq!(seen("kitchen").await.1, "white");
        assert_eq!(store.store.next_memory_job().await.unwrap(), None);
    })
    .await;
}

/// On the volatile store alone: a database keeps both.
#[tokio::test]
async fn the_volatile_store_refuses_memories_and_memos() {
    let store = TestStore::volatile();
    store.hear_mention("1", 0).await;
    let reply = store.claim(0).await.remove(0);
    let revision = *store.store.revisions().borrow();
    let to_error = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    let import = async |order| to_error(store.store.order(order, at(1)).await);

    let memory_refusal = "the store refuses this: the volatile store keeps no memories";
    let heard = Heard::Message(
        message(top_level("garden"), "2", at(1), "alice", "the beans are up"),
        Arrival::Live,
    );
    let entry = InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(1));
    let entry = InboxEntry { remember_at: Some(at(60)), ..entry };
    assert_eq!(to_error(store.store.hear(entry).await.map(drop)), memory_refusal);
    assert_eq!(import(import_memory("garden", "roses")).await, memory_refusal);
    let scope = MemoryScope::Workspace;
    let key = MemoryKey { workspace: workspace(), scope, term: MemoryTerm::LongTerm };
    let job = MemoryJob { key, due: at(0), token: 1, attempt: 1 };
    let result = MemoryJobResult::NothingNew;
    let outcome =
        MemoryJobOutcome { attempts: Vec::new(), result, next_due: at(60), versions_kept: 1 };
    let completed = store.store.complete_memory_job(&job, outcome, at(1)).await;
    assert_eq!(to_error(completed), memory_refusal);

    let memo_refusal = "the store refuses this: the volatile store keeps no memos";
    assert_eq!(import(import_memo("garden", Public, "green")).await, memo_refusal);
    let memo_changes = vec![MemoChange::Remove(MemoryId(1))];
    let outcome = Outcome { memo_changes, ..silent("noted") };
    let completed = store.store.complete(&reply, outcome, at(1)).await;
    assert_eq!(to_error(completed.map(drop)), memo_refusal);

    assert_eq!(*store.store.revisions().borrow(), revision);
    assert_eq!(store.texts().await, ["@Aizuchi 1"]);
    assert_eq!(store.steps().await, 1);
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
        // The calls and what they cost, and those whose price is not known.
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
        // A decision is found by what it was about, and by what it posted.
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
async fn concurrent_messages_are_stored_in_one_group_and_none_is_lost() {
    on_every_store(async |store| {
        let hearings = (0..500).map(|number| {
            let conversation = top_level(&format!("c{}", number % 7));
            let message =
                message(conversation, &format!("m{number:03}"), at(number), "alice", "hi");
            store.hear(message, Disposition::Judge(until(at(number + 60))))
        });
        let receipts = futures_util::future::join_all(hearings).await;
        assert!(receipts.iter().all(|receipt| receipt.is_new));
        let messages = store.archive.messages_since(&workspace(), 0, 1000).await.unwrap();
        assert_eq!(messages.len(), 500);
        assert_eq!(store.steps().await, 7);
    })
    .await;
}

#[tokio::test]
async fn a_restart_frees_leases_and_keeps_due_times() {
    on_every_database(async |store| {
        store.hear_human("1", 0, "hello").await;
        let waiting = message(top_level("kitchen"), "2", at(0), "bob", "hm");
        store.hear(waiting, Disposition::Judge(until(at(500)))).await;
        let dead = store.claim(60).await.remove(0);
        let store = store.restart().await;
        let again = store.claim(61).await.remove(0);
        assert_eq!((again.event.clone(), again.attempt), (dead.event, 2));
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(161)));
        store.complete(&again, silent("they get along"), 62).await;
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(500)));
        assert_eq!(store.texts().await, ["hello"]);
        let revision = *store.store.revisions().borrow();
        let store = store.restart().await;
        assert_eq!(*store.store.revisions().borrow(), revision);
    })
    .await;
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    use aizuchi_core::store::database::sql;
    assert!(sql::all_statements().count() > 150);
    on_every_database(async |store| {
        let mut connection = store.database.as_ref().unwrap().connect().await;
        for (name, statement) in sql::all_statements() {
            let prepared = connection.prepare(statement).await;
            assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
            assert!(!statement.contains("LIMIT ?"), "{name} is planned anew for every limit");
        }
    })
    .await;
}

/// On SQLite alone: on no other store can a process lock the whole database.
#[tokio::test]
async fn a_locked_out_writer_reports_busy_and_recovers() {
    use sqlx::{ConnectOptions, Executor};
    let store = TestStore::sqlite().await;
    let path = store.database.as_ref().unwrap().path().to_owned();
    let other = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut other = other.connect().await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let hearings = (0..5).map(|number| {
        let message = message(top_level("garden"), &format!("m{number}"), at(0), "alice", "hi");
        let heard = Heard::Message(message, Arrival::Live);
        store.store.hear(InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(0)))
    });
    for heard in futures_util::future::join_all(hearings).await {
        assert!(matches!(heard, Err(StoreError::Busy(_))), "{heard:?}");
    }
    assert!(matches!(store.archive.health().await, Err(StoreError::Busy(_))));
    other.execute("ROLLBACK").await.unwrap();
    assert!(store.hear_human("m0", 0, "hello").await.is_new);
    assert_eq!(store.texts().await, ["hello"]);
    assert!(store.archive.health().await.is_ok());
}

#[tokio::test]
async fn a_stopped_store_reports_busy() {
    on_every_database(async |store| {
        let stopped = store.clone();
        drop(store.restart().await);
        let message = message(top_level("garden"), "1", at(0), "alice", "hello");
        let heard = Heard::Message(message, Arrival::Live);
        let hearing = InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(0));
        assert!(matches!(stopped.store.hear(hearing).await, Err(StoreError::Busy(_))));
    })
    .await;
}

/// What these tests do with a store.
pub trait PromisesExt {
    async fn hear(&self, message: Message, follows: Disposition) -> HearReceipt;
    async fn hear_human(&self, id: &str, second: i64, text: &str) -> HearReceipt;
    async fn hear_mention(&self, id: &str, second: i64) -> HearReceipt;
    async fn claim(&self, second: i64) -> Vec<Claim>;
    async fn complete(&self, claim: &Claim, outcome: Outcome, second: i64);
    async fn advance_to_reply(&self, second: i64) -> Claim;
    async fn draft(&self, claim: &Claim, texts: &[&str], owed: Vec<&str>, second: i64);
    fn item(&self, claim: &Claim) -> OutboxItem;
    async fn texts(&self) -> Vec<String>;
    async fn owed(&self) -> Vec<String>;
    async fn steps(&self) -> usize;
    async fn decisions(&self) -> Vec<aizuchi_core::decision::Decision>;
    async fn ledger(&self) -> Vec<(Option<DecisionResult>, String)>;
}

impl PromisesExt for TestStore {
    async fn hear(&self, message: Message, follows: Disposition) -> HearReceipt {
        let heard = Heard::Message(message, Arrival::Live);
        self.store.hear(InboxEntry::new(heard, follows, at(0))).await.unwrap()
    }

    async fn hear_human(&self, id: &str, second: i64, text: &str) -> HearReceipt {
        let message = message(top_level("garden"), id, at(second), "alice", text);
        self.hear(message, Disposition::Judge(until(at(second + 60)))).await
    }

    async fn hear_mention(&self, id: &str, second: i64) -> HearReceipt {
        let message =
            message(top_level("garden"), id, at(second), "alice", &format!("@Aizuchi {id}"));
        self.hear(message, Disposition::Owe { due: at(second) }).await
    }

    async fn claim(&self, second: i64) -> Vec<Claim> {
        self.store.claim(at(second), LEASE, 10).await.unwrap()
    }

    async fn complete(&self, claim: &Claim, outcome: Outcome, second: i64) {
        self.store.complete(claim, outcome, at(second)).await.unwrap();
    }

    async fn advance_to_reply(&self, second: i64) -> Claim {
        let judge = self.claim(second).await.remove(0);
        self.complete(&judge, join(second), second).await;
        self.claim(second).await.remove(0)
    }

    /// A draft made from a fresh context.
    async fn draft(&self, claim: &Claim, texts: &[&str], owed: Vec<&str>, second: i64) {
        let notes = DraftMetadata {
            owed: owed.into_iter().map(MessageId::new).collect(),
            about: None,
            lineage: Lineage::default(),
            seen_revision: self
                .store
                .context(&top_level("garden"), &window(50))
                .await
                .unwrap()
                .revision,
            ends: DecisionResult::Spoke,
            why: "asked".to_owned(),
            only_for: None,
            is_public: false,
            is_approved: false,
        };
        let words = DraftContent::Text(texts.iter().map(|item| (*item).to_owned()).collect());
        let end = StepResult::Drafted {
            draft: Draft { content: words, metadata: notes },
            due: at(second),
        };
        self.complete(claim, Outcome::new(end), second).await;
    }

    fn item(&self, claim: &Claim) -> OutboxItem {
        match &claim.event {
            Event::Post(item) => item.clone(),
            other => panic!("{other:?} is no post"),
        }
    }

    async fn texts(&self) -> Vec<String> {
        let channel = top_level("garden").channel;
        let span = MessageRange::Newest;
        let query =
            MessageQuery { workspace: workspace(), channel, thread: None, range: span, limit: 100 };
        let messages = self.archive.messages(query).await.unwrap();
        messages.iter().map(|stored| stored.message.text.to_string()).collect()
    }

    async fn owed(&self) -> Vec<String> {
        let context = self.store.context(&top_level("garden"), &window(50)).await.unwrap();
        context.owed.iter().map(MessageId::to_string).collect()
    }

    async fn steps(&self) -> usize {
        self.archive.pending_steps(&workspace()).await.unwrap().len()
    }

    async fn decisions(&self) -> Vec<aizuchi_core::decision::Decision> {
        let channel = top_level("garden").channel;
        let query = DecisionQuery::Channel { workspace: workspace(), channel, limit: 100 };
        self.archive.decisions(query).await.unwrap()
    }

    async fn ledger(&self) -> Vec<(Option<DecisionResult>, String)> {
        let rows = self.decisions().await.into_iter();
        rows.map(|row| (row.ended, row.why.unwrap_or_default())).collect()
    }
}

fn silent(why: &str) -> Outcome {
    Outcome::new(StepResult::Silent(DecisionClosing::new(DecisionResult::ChoseSilence, why)))
}

fn join(second: i64) -> Outcome {
    let judgment = Judgment {
        should_respond: true,
        reason: "asked".to_owned(),
        confidence: 0.5,
        delay_seconds: Some(0),
        about: Some(MessageId::new("1")),
        ..Judgment::default()
    };
    let end =
        StepResult::Join { judgment, state: aizuchi_core::context::StateHash(7), due: at(second) };
    Outcome::new(end)
}

fn said(id: &str, second: i64) -> Outcome {
    let author = aizuchi_core::chat::UserId::new("u-persona");
    let posted = PostedMessage { id: MessageId::new(id), thread: None, at: at(second), author };
    Outcome::new(StepResult::Posted(posted))
}

fn import_memory(channel: &str, text: &str) -> Order {
    let scope = MemoryScope::Channel(ChannelId::new(channel));
    let key = MemoryKey { workspace: workspace(), scope, term: MemoryTerm::LongTerm };
    let entry = MemoryEntry {
        date: jiff::civil::date(2027, 1, 5),
        text: text.into(),
        visibility: Public,
        messages: Vec::new(),
        pinned: false,
    };
    Order::ImportMemory { key, entries: vec![entry], newest: at(0) }
}

fn import_memo(channel: &str, visibility: Visibility, content: &str) -> Order {
    let memo = Memo {
        name: "tea".to_owned(),
        content: content.to_owned(),
        priority: 5,
        tags: Vec::new(),
        detail: None,
        created: at(0),
        updated: at(0),
        channel: ChannelId::new(channel),
        visibility,
        said_by: None,
    };
    Order::ImportMemo { workspace: workspace(), memo: Box::new(memo) }
}

fn attempt() -> Attempt {
    Attempt {
        verb: "judge".into(),
        at: at(60),
        model: "scripted".into(),
        prompt_hash: "0123456789abcdef".into(),
        prompt_bytes: 100,
        usage: Usage {
            input_tokens: 25,
            cached_tokens: 4,
            cache_write_tokens: 3,
            output_tokens: 5,
            is_estimated: true,
        },
        price: Some(Price { micros: 42 }),
        latency: duration_from_seconds(1.5),
        result: AttemptResult::Kept,
        judgment: None,
        error: None,
        omissions: vec![PromptOmission { section: "other_talk".into(), count: 3, tokens: 120 }],
        exchange: None,
    }
}

fn judgment(reason: &str) -> Judgment {
    Judgment {
        should_respond: false,
        reason: reason.to_owned(),
        confidence: 0.5,
        delay_seconds: None,
        about: None,
        ..Judgment::default()
    }
}

fn edit(id: &str, second: i64) -> Heard {
    Heard::Edit(Edit {
        conversation: top_level("garden"),
        message: MessageId::new(id),
        at: at(second),
        text: "other words".into(),
        mentions: Vec::new(),
        attachments: None,
    })
}

fn deletion(id: &str, second: i64) -> Heard {
    let message = MessageId::new(id);
    Heard::Deletion(Deletion { conversation: top_level("garden"), message, at: at(second) })
}

fn exchange(messages: &[&str]) -> ModelExchange {
    ModelExchange {
        prompt: "what now?".into(),
        answer: Some("nothing".into()),
        lineage: made_from(messages),
        seen_revision: Some(0),
    }
}

fn made_from(messages: &[&str]) -> Lineage {
    let message = |id: &&str| MessageRef(top_level("garden").channel, MessageId::new(*id));
    Lineage { messages: messages.iter().map(message).collect(), ..Lineage::default() }
}

/// Slack may deliver one message as two events with different ids, the later one dated before the first.
#[tokio::test]
async fn a_message_resent_under_another_id_is_the_same_message() {
    on_every_store(async |store| {
        let sent = |id: &str, second, sent_as: &str| InboxEntry {
            client_message_id: Some(sent_as.into()),
            ..InboxEntry::new(
                Heard::Message(
                    message(top_level("garden"), id, at(second), "alice", id),
                    Arrival::Live,
                ),
                Disposition::Judge(until(at(second + 60))),
                at(second),
            )
        };
        let first = store.store.hear(sent("2", 30, "gesture")).await.unwrap();
        let again = store.store.hear(sent("1", 1, "gesture")).await.unwrap();
        assert!(first.is_new && !again.is_new);
        // Within one transaction, too.
        let both =
            [store.store.hear(sent("3", 31, "other")), store.store.hear(sent("4", 32, "other"))];
        let both = futures_util::future::join_all(both).await;
        assert_eq!(both.iter().filter(|receipt| receipt.as_ref().unwrap().is_new).count(), 1);
        assert_eq!(store.texts().await, ["2", "3"]);
        // Of two stored copies, deleting one leaves the other.
        let rest = Disposition::Judge(until(at(100)));
        store.store.hear(InboxEntry::new(deletion("2", 40), rest, at(40))).await.unwrap();
        assert!(store.store.hear(sent("1", 1, "gesture")).await.unwrap().is_new);
        assert_eq!(store.texts().await, ["1", "", "3"]);
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
        // A message that is known already moves the cursor as well.
        assert!(!store.store.hear(heard("2", "9")).await.unwrap().is_new);
        assert_eq!(so_far().await, ["9"]);
        assert_eq!(store.texts().await, ["1", "2"]);
    })
    .await;
}

#[tokio::test]
async fn threads_with_recent_messages_are_listed() {
    on_every_store(async |store| {
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
