//! The contract of every store. A new store is added as a variant of `StoreKind`.

use aizuchi_harness::fixtures::{
    at, message, new_channel, thread, top_level, until, window, workspace,
};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::Visibility::{Private, Public};
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, Edit, Heard, Message, MessageId, Role, User, UserId,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, DecisionResult, Price};
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult};
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata, OutboxItem};
use aizuchi_model::flow::{Claim, DecisionClosing, Disposition, Outcome, StepResult, Work};
use aizuchi_model::memo::MemoChange;
use aizuchi_model::memory::{Lineage, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef};
use aizuchi_store::order::{Mute, Order};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::{HearReceipt, InboxEntry, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::store_commands::{
    PromisesExt, attempt, deletion, import_memo, import_memory, join, said, silent,
};

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
async fn of_several_edits_the_last_one_stays() {
    on_every_store(async |store| {
        store.hear_human("1", 0, "tee").await;
        for (text, made, heard, expected) in [
            ("tea", 10, 10, "tea"),
            // One that was delayed.
            ("te", 9, 9, "tea"),
            // One that was missed, whose time the history tells less exactly.
            ("tea?", 10, 30, "tea?"),
            // It arrives live right after the history was read by a clock that is ahead.
            ("tea!", 11, 11, "tea!"),
            ("tea.", 5, 40, "tea."),
            // One that is delivered again.
            ("tea!", 11, 11, "tea."),
        ] {
            let edit = Edit {
                conversation: top_level("garden"),
                message: MessageId::new("1"),
                at: at(heard),
                made_at: at(made),
                text: text.into(),
                mentions: Vec::new(),
                attachments: None,
            };
            let judge = Disposition::Judge(until(at(100)));
            let entry = InboxEntry::new(Heard::Edit(edit), judge, at(heard));
            store.store.hear(entry).await.unwrap();
            assert_eq!(store.texts().await, [expected], "{text}");
        }
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
        assert_eq!(claims[0].work, Work::Judge(top_level("garden")));
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
            claims.iter().map(|claim| claim.work.conversation().clone()).collect();
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
        // A claim whose lease was lost no longer changes anything.
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
        assert_eq!(reply.work, Work::Reply(top_level("garden")));
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
        assert_eq!((judge.due, judge.work), (at(121), Work::Judge(top_level("garden"))));
        let judge = Claim { work: Work::Judge(top_level("garden")), ..judge };
        store.complete(&judge, join(1000), 1000).await;
        let reply = store.claim(1000).await.remove(0);
        store.draft(&reply, &["two"], vec![], 1000).await;
        let post = store.claim(1000).await.remove(0);
        assert!(!store.hear_human("3", 1001, "well").await.has_superseded);
        store.complete(&post, said("p1", 1002), 1002).await;
        // A message during the post is judged afterwards, in a separate decision.
        let next = store.claim(2000).await.remove(0);
        assert_eq!((next.due, next.work), (at(1061), Work::Judge(top_level("garden"))));
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
        // It certainly was not posted: it becomes a draft again, and is sent again.
        let not_said = Outcome::new(StepResult::RetryUnsent { due: at(101) });
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
        assert_eq!((&next.work, next.is_owed), (&Work::Reply(top_level("garden")), true));
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
        assert_eq!(context.circumstances.muted_until, Some(until));
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
        // Each order keeps what the other one ordered, and members can undo their own.
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
    on_every_database(async |store| {
        let user = UserId::new("u-alice");
        let name = User {
            workspace: workspace(),
            id: user.clone(),
            name: "Ann".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: None,
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
        // Importing again changes nothing, nor does another memo with the same name.
        let revision = *store.store.revisions().borrow();
        let others = [import_memory("garden", "weeds"), import_memo("garden", Private, "black")];
        for order in orders.into_iter().chain(others) {
            store.store.order(order, at(2)).await.unwrap();
        }
        assert_eq!(*store.store.revisions().borrow(), revision);
        assert_eq!(seen("garden").await, garden);
        // A public memo with that name is another memo.
        store.store.order(import_memo("garden", Public, "white"), at(3)).await.unwrap();
        assert_eq!(seen("kitchen").await.1, "white");
        assert_eq!(store.store.next_memory_job().await.unwrap(), None);
    })
    .await;
}

/// Only on the volatile store: a database keeps both.
#[tokio::test]
async fn the_volatile_store_refuses_what_it_does_not_keep() {
    let store = TestStore::volatile();
    store.hear_mention("1", 0).await;
    let reply = store.claim(0).await.remove(0);
    let revision = *store.store.revisions().borrow();
    let to_error = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    let import = async |order| to_error(store.store.order(order, at(1)).await);

    let refusal = "the store refuses this: the volatile store does not keep this";
    let heard = Heard::Message(
        message(top_level("garden"), "2", at(1), "alice", "the beans are up"),
        Arrival::Live,
    );
    let entry = InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(1));
    let entry = InboxEntry { remember_at: Some(at(60)), ..entry };
    assert_eq!(to_error(store.store.hear(entry).await.map(drop)), refusal);
    assert_eq!(import(import_memory("garden", "roses")).await, refusal);
    let scope = MemoryScope::Workspace;
    let key = MemoryKey { workspace: workspace(), scope, term: MemoryTerm::LongTerm };
    let job = MemoryJob { key, due: at(0), token: 1, attempt: 1 };
    let result = MemoryJobResult::NothingNew;
    let outcome =
        MemoryJobOutcome { attempts: Vec::new(), result, next_due: at(60), versions_kept: 1 };
    let completed = store.store.complete_memory_job(&job, outcome, at(1)).await;
    assert_eq!(to_error(completed), refusal);

    assert_eq!(import(import_memo("garden", Public, "green")).await, refusal);
    let (workspace, user) = (workspace(), UserId::new("u-alice"));
    assert_eq!(import(Order::Forget { workspace, user, asked: at(1) }).await, refusal);
    let memo_changes = vec![MemoChange::Remove(MemoryId(1))];
    let outcome = Outcome { memo_changes, ..silent("noted") };
    let completed = store.store.complete(&reply, outcome, at(1)).await;
    assert_eq!(to_error(completed.map(drop)), refusal);

    assert_eq!(*store.store.revisions().borrow(), revision);
    assert_eq!(store.texts().await, ["@Aizuchi 1"]);
    assert_eq!(store.steps().await, 1);
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
            owed: owed.into_iter().map(|id| MessageId::new(id).into()).collect(),
            seen_revision: self
                .store
                .context(&top_level("garden"), &window(50))
                .await
                .unwrap()
                .revision
                .into(),
            ..DraftMetadata::new(DecisionResult::Spoke, "asked")
        };
        let words = DraftContent::Text(texts.iter().map(|item| (*item).to_owned()).collect());
        let end = StepResult::Drafted {
            draft: Draft { content: words, metadata: notes },
            due: at(second),
        };
        self.complete(claim, Outcome::new(end), second).await;
    }

    fn item(&self, claim: &Claim) -> OutboxItem {
        match &claim.work {
            Work::Post(item) => item.clone(),
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
        context.owed.iter().map(ToString::to_string).collect()
    }

    async fn steps(&self) -> usize {
        self.archive.pending_steps(&workspace()).await.unwrap().len()
    }

    async fn decisions(&self) -> Vec<aizuchi_model::decision::Decision> {
        let channel = top_level("garden").channel;
        let query = DecisionQuery::Channel { workspace: workspace(), channel, limit: 100 };
        self.archive.decisions(query).await.unwrap()
    }

    async fn ledger(&self) -> Vec<(Option<DecisionResult>, String)> {
        let rows = self.decisions().await.into_iter();
        rows.map(|row| (row.ended, row.why.unwrap_or_default())).collect()
    }
}

pub fn made_from(messages: &[&str]) -> Lineage {
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
        // If there are two stored copies, deleting one leaves the other.
        let rest = Disposition::Judge(until(at(100)));
        store.store.hear(InboxEntry::new(deletion("2", 40), rest, at(40))).await.unwrap();
        assert!(store.store.hear(sent("1", 1, "gesture")).await.unwrap().is_new);
        assert_eq!(store.texts().await, ["1", "", "3"]);
    })
    .await;
}
