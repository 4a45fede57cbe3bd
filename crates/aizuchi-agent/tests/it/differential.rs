//! Applies the same random operations to two stores, which must look the same after every step: the volatile store
//! is simple enough to read, while the databases have batches, statements and indexes. What the volatile store does not
//! keep is compared between the databases.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{
    at, message, new_channel, thread, top_level, until, window, workspace,
};
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::chat::attachment::{Attachment, AttachmentContent, ReadAttachment};
use aizuchi_model::chat::{
    Arrival, AuthorKind, Deletion, Edit, Heard, Mention, Message, MessageId, Reaction,
    ReactionChange, Role, UserId, Visibility,
};
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::context::{ContextLimits, ContextWindow, StateHash};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{
    Attempt, AttemptResult, DecisionId, DecisionResult, Evaluation, Judgment, ModelExchange, Price,
    Usage,
};
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata, PostedMessage};
use aizuchi_model::flow::planned_call::{CallCost, CallLimits, CallOwner, PlannedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimits};
use aizuchi_model::flow::{
    Claim, Debounce, DecisionClosing, Disposition, OnNewMessage, Outcome, StepResult, Work,
};
use aizuchi_model::rules::setting_override::{
    PlaceSetting, SettingChange, SettingRole, SettingScope, Switch,
};
use aizuchi_model::rules::{BudgetLimits, Mode};
use aizuchi_store::InboxEntry;
use aizuchi_store::database::connection::query;
use aizuchi_store::expiry::{ExpiredMessages, Expiry, ExpiryProgress};
use aizuchi_store::order::Order;
use jiff::SignedDuration;
use proptest::prelude::*;

/// A random operation.
#[derive(Clone, Debug)]
enum Operation {
    Say {
        id: u8,
        user: u8,
        thread: bool,
        mention: bool,
    },
    /// Concurrent messages, which a database stores in one transaction.
    SayMany {
        first: u8,
        count: u8,
    },
    Edit {
        id: u8,
        mention: bool,
    },
    Delete {
        id: u8,
    },
    React {
        id: u8,
        user: u8,
        emoji: u8,
        removes: bool,
        /// The delay before it is heard, in seconds.
        late: u8,
    },
    /// Users mute, unmute, change the mode, or opt out and in again.
    Order {
        kind: u8,
        here: bool,
    },
    Wait {
        seconds: u8,
    },
    /// Messages older than this are erased.
    Expire {
        seconds: u8,
    },
    Claim,
    /// A model call is planned for an open claim.
    Reserve {
        claim: u8,
        tokens: u8,
        author: Option<u8>,
    },
    /// An answer makes a web look-up this many hours from now.
    LookUp {
        decision: u8,
        hours: u8,
    },
    /// The oldest open claim is completed with this kind of result.
    Complete {
        kind: u8,
    },
    /// The oldest open claim is never completed, as after a crash.
    Forget,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        26 => flow_operation(),
        1 => (0..250_u8).prop_map(|seconds| Operation::Expire { seconds }),
        2 => (0..7_u8, 0..30_u8)
            .prop_map(|(decision, hours)| Operation::LookUp { decision, hours }),
    ]
}

/// Without what the volatile store does not keep.
fn flow_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..40_u8, 0..4_u8, prop::bool::weighted(0.2), prop::bool::weighted(0.25))
            .prop_map(|(id, user, thread, mention)| Operation::Say { id, user, thread, mention }),
        1 => (0..40_u8, 2..9_u8).prop_map(|(first, count)| Operation::SayMany { first, count }),
        1 => (0..40_u8, any::<bool>()).prop_map(|(id, mention)| Operation::Edit { id, mention }),
        1 => (0..40_u8).prop_map(|id| Operation::Delete { id }),
        3 => (0..9_u8, 0..3_u8, 0..2_u8, any::<bool>(), 0..3_u8)
            .prop_map(|(id, user, emoji, removes, late)| Operation::React { id, user, emoji, removes, late }),
        2 => (1..90_u8).prop_map(|seconds| Operation::Wait { seconds }),
        1 => (0..8_u8, any::<bool>()).prop_map(|(kind, here)| Operation::Order { kind, here }),
        4 => Just(Operation::Claim),
        3 => (0..3_u8, any::<u8>(), prop::option::of(0..4_u8))
            .prop_map(|(claim, tokens, author)| Operation::Reserve { claim, tokens, author }),
        6 => (0..12_u8).prop_map(|kind| Operation::Complete { kind }),
        1 => Just(Operation::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(32, 48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_behaves_like_the_volatile_store(operations in prop::collection::vec(flow_operation(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { compare_with_volatile(&operations, TestStore::sqlite().await).await });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(6, 12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_behaves_like_the_volatile_store(operations in prop::collection::vec(flow_operation(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { compare_with_volatile(&operations, TestStore::postgres().await).await });
    }

    #[test]
    fn postgres_behaves_like_sqlite(operations in prop::collection::vec(operation(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let one = with_same_installation(TestStore::sqlite().await).await;
            let other = with_same_installation(TestStore::postgres().await).await;
            run_operations(&operations, one, other).await;
        });
    }
}

/// A message that was deleted before a new one came was not compared with it, so nothing changes when its author
/// opts out.
#[tokio::test]
async fn a_deleted_message_that_is_withheld_keeps_the_links_of_later_ones() {
    let operations = [
        Operation::SayMany { first: 9, count: 2 },
        Operation::Wait { seconds: 1 },
        Operation::Delete { id: 10 },
        Operation::SayMany { first: 0, count: 2 },
        Operation::Order { kind: 3, here: false },
    ];
    compare_with_volatile(&operations, TestStore::sqlite().await).await;
    compare_with_volatile(&operations, TestStore::postgres().await).await;
}

/// Both databases then generate the same keys.
async fn with_same_installation(store: TestStore) -> TestStore {
    let mut connection = store.database.as_ref().unwrap().connect().await;
    let renew = query("UPDATE counters SET installation = 'installation'");
    renew.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    store.restart().await
}

async fn compare_with_volatile(operations: &[Operation], other: TestStore) {
    let one = TestStore::volatile_of_same_installation(&other).await;
    run_operations(operations, one, other).await;
}

async fn run_operations(operations: &[Operation], one: TestStore, other: TestStore) {
    // Learned reply delays are stored with the channel, so it must exist.
    for store in [&one, &other] {
        let garden = Heard::Channel(new_channel("garden", Visibility::Private));
        store.store.hear(InboxEntry::new(garden, Disposition::NotAMessage, at(0))).await.unwrap();
    }
    let mut second = 0;
    let mut claims: Vec<Claim> = Vec::new();
    for (number, operation) in operations.iter().enumerate() {
        match operation {
            Operation::Wait { seconds } => second += i64::from(*seconds),
            Operation::Expire { seconds } => loop {
                let before = at(second - i64::from(*seconds));
                let expiry = Expiry { before, now: at(second) };
                // A database clears prompts in separate steps.
                let mut progress = other.store.expire_next(expiry).await.unwrap();
                let expected = one.store.expire_next(expiry).await.unwrap();
                while progress != expected && progress == nothing_erased() {
                    progress = other.store.expire_next(expiry).await.unwrap();
                }
                assert_eq!(progress, expected, "{operation:?}");
                if expected == ExpiryProgress::Idle {
                    break;
                }
            },
            Operation::Order { kind, here } => {
                let order = order(*kind, *here, second);
                one.store.order(order.clone(), at(second)).await.unwrap();
                other.store.order(order, at(second)).await.unwrap();
                let orders = one.store.orders(&workspace()).await.unwrap();
                assert_eq!(
                    other.store.orders(&workspace()).await.unwrap(),
                    orders,
                    "{operation:?}"
                );
            }
            Operation::Forget => drop((!claims.is_empty()).then(|| claims.remove(0))),
            Operation::Claim => {
                let lease = SignedDuration::from_secs(100);
                let claimed = one.store.claim(at(second), lease, 3).await.unwrap();
                assert_eq!(
                    other.store.claim(at(second), lease, 3).await.unwrap(),
                    claimed,
                    "{operation:?}"
                );
                claims.extend(claimed);
            }
            Operation::Reserve { claim, tokens, author } => {
                let Some(claim) = claims.get(usize::from(*claim)) else { continue };
                let call = planned_call(claim, *tokens, *author, second);
                let admission = one.store.reserve(&call, at(second)).await.unwrap();
                let other = other.store.reserve(&call, at(second)).await.unwrap();
                assert_eq!(other, admission, "{operation:?}");
            }
            Operation::LookUp { decision, hours } => {
                let (call, now) = (web_call(*decision), at(second + 3_600 * i64::from(*hours)));
                let limit = one.store.count_web_call(&call, now).await.unwrap();
                let other = other.store.count_web_call(&call, now).await.unwrap();
                assert_eq!(other, limit, "{operation:?}");
            }
            Operation::Complete { kind } if !claims.is_empty() => {
                let claim = claims.remove(0);
                let outcome = outcome(&one, &claim, *kind, second, number).await;
                let settled =
                    one.store.complete(&claim, outcome.clone(), at(second)).await.unwrap();
                let other = other.store.complete(&claim, outcome, at(second)).await.unwrap();
                assert_eq!(other, settled, "{operation:?}");
            }
            Operation::Complete { .. } => {}
            Operation::SayMany { first, count } => {
                let messages = (*first..first + count).map(|id| {
                    let mention = id % 5 == 0;
                    hearing(
                        &Operation::Say { id, user: id % 4, thread: id % 3 == 0, mention },
                        second,
                    )
                });
                let messages: Vec<InboxEntry> = messages.collect();
                let mut expected = Vec::new();
                for message in &messages {
                    expected.push(one.store.hear(message.clone()).await.unwrap());
                }
                let heard = messages.into_iter().map(|message| other.store.hear(message));
                let heard = futures_util::future::join_all(heard).await;
                let heard: Vec<_> = heard.into_iter().map(Result::unwrap).collect();
                assert_eq!(heard, expected, "{operation:?}");
            }
            Operation::Say { .. }
            | Operation::Edit { .. }
            | Operation::Delete { .. }
            | Operation::React { .. } => {
                let hearing = hearing(operation, second);
                let receipt = one.store.hear(hearing.clone()).await.unwrap();
                assert_eq!(other.store.hear(hearing).await.unwrap(), receipt, "{operation:?}");
            }
        }
        for step in one.archive.pending_steps(&workspace()).await.unwrap() {
            let context = one.store.context(step.work.conversation(), &window(50)).await.unwrap();
            let is_out = matches!(&step.work, Work::Post(item) if item.is_published());
            assert!(
                context.owed.is_empty() || step.is_owed || is_out,
                "an owed answer waits for nothing: {step:?}"
            );
        }
        let (seen, expected) =
            (visible_state(&other, second).await, visible_state(&one, second).await);
        let lines = seen.lines().zip(expected.lines());
        let differences: Vec<_> =
            lines.filter(|(seen, expected)| seen != expected).take(9).collect();
        assert!(seen == expected, "after operation {number} of {operations:?}: {differences:#?}");
    }
}

fn nothing_erased() -> ExpiryProgress {
    ExpiryProgress::Working(ExpiredMessages::default())
}

/// Everything that can be read from a store.
async fn visible_state(store: &TestStore, second: i64) -> String {
    let mut steps = store.archive.pending_steps(&workspace()).await.unwrap();
    steps.sort_by_key(|step| step.work.conversation().clone());
    let messages = store.archive.messages_since(&workspace(), 0, 1000).await.unwrap();
    let mut decisions = store.archive.decisions_since(&workspace(), 0, 1000).await.unwrap();
    decisions.sort_by_key(|row| row.id);
    let mut exchanges = Vec::new();
    for row in &decisions {
        exchanges.push(store.archive.exchanges(row.id).await.unwrap());
    }
    let letters = store.archive.dead_letters(&Default::default()).await.unwrap();
    let pending = store.archive.backlog().await.unwrap();
    let mut counted = std::collections::BTreeMap::new();
    for step in &steps {
        *counted.entry(step.work.verb().to_owned()).or_insert(0_u64) += 1;
    }
    let mut sorted = pending.pending.clone();
    sorted.sort();
    assert_eq!(sorted, counted.into_iter().collect::<Vec<_>>());
    assert_eq!(pending.dead_letters, letters.len() as u64);
    let ready = store.store.next_ready().await.unwrap();
    let spending = store.archive.spending(&workspace(), at(second)).await.unwrap();
    let limits = ContextLimits { channel_messages: 7, ..ContextLimits::default() };
    let window =
        ContextWindow { now: at(second), intervention_messages: 3, ..limits.window(at(0)) };
    let here = store.store.context(&top_level("garden"), &window).await.unwrap();
    let there = store.store.context(&thread("garden", "m00"), &window).await.unwrap();
    format!(
        "{steps:#?}\n{messages:#?}\n{decisions:#?}\n{exchanges:#?}\n{letters:#?}\n{ready:?}\n{spending:?}\n{here:#?}\n{there:#?}"
    )
}

/// A call that limits may refuse: some of them apply to the channel, some to the workspace.
fn planned_call(claim: &Claim, tokens: u8, author: Option<u8>, second: i64) -> PlannedCall {
    let conversation = claim.work.conversation();
    let tokens = u64::from(tokens);
    let limits = |tokens_per_day: u64| BudgetLimits {
        tokens_per_day: Some(tokens_per_day),
        micros_per_month: Some(5 * tokens_per_day),
        ..BudgetLimits::default()
    };
    let owner = CallOwner {
        token: claim.token,
        workspace: conversation.workspace.clone(),
        channel: (tokens % 7 > 0).then(|| conversation.channel.clone()),
        decision: (tokens % 5 > 0).then_some(claim.decision),
        is_unsolicited: !claim.is_owed,
        sole_author: author.map(|author| UserId::new(format!("u-{author}"))),
        began: at(second - 5),
        limits: CallLimits {
            workspace: limits(600),
            channel: limits(400),
            share: 0.8,
            unsolicited_share: 0.5,
            calls_per_decision: Some(4),
            judge_calls_per_user: Some(3),
        },
    };
    PlannedCall {
        owner,
        calls_made: tokens % 3,
        spent: CallCost { tokens: tokens % 3 * 10, micros: tokens % 3 },
        estimate: CallCost { tokens, micros: tokens * 4 },
        until: at(second + 100),
    }
}

/// An answer for one user, or for no one.
fn web_call(decision: u8) -> WebCall {
    WebCall {
        workspace: workspace(),
        decision: Some(DecisionId(i64::from(decision) + 1)),
        user: (!decision.is_multiple_of(3)).then(|| UserId::new(format!("u-{}", decision % 3))),
        began: at(0),
        limits: WebLimits { per_answer: Some(2), per_user_per_day: Some(3), per_day: Some(6) },
    }
}

fn order(kind: u8, here: bool, second: i64) -> Order {
    let workspace = workspace();
    let channel = top_level("garden").channel;
    let conversation = here.then(|| channel.clone());
    match kind {
        0 => Order::Mute {
            workspace,
            channel: conversation,
            until: at(second + 100),
            by: Role::Admin,
        },
        1 => Order::Unmute { workspace, channel: conversation, by: Role::Admin },
        2 => Order::Mode { workspace, channel, mode: here.then_some(Mode::Observe) },
        4 => Order::Reset {
            conversation: if here { top_level("garden") } else { thread("garden", "m00") },
            until: at(second - 5),
        },
        3 => Order::OptOut { workspace, user: UserId::new("u-carol") },
        6 | 7 => Order::ChangeSetting {
            workspace,
            scope: if here { SettingScope::Channel(channel) } else { SettingScope::Workspace },
            change: match kind {
                6 => SettingChange::Set(PlaceSetting::Memory(Switch::Off)),
                _ => SettingChange::ClearAll,
            },
            role: match second % 4 {
                0 => SettingRole::Admin,
                1 => SettingRole::Direct,
                2 => SettingRole::Keeper,
                _ => SettingRole::Member,
            },
            by: "u-carol 5000".into(),
            at: at(second),
        },
        _ => Order::OptIn { workspace, user: UserId::new("u-carol") },
    }
}

fn hearing(operation: &Operation, second: i64) -> InboxEntry {
    let due = at(second + 60);
    // Some channels do not interrupt work in flight.
    let rest = |id: u8| match id % 3 {
        0 => Debounce {
            due: at(second + 5),
            max_wait: SignedDuration::from_secs(30),
            on_new_message: OnNewMessage::Continue,
        },
        1 => Debounce { max_wait: SignedDuration::from_secs(200), ..until(due) },
        _ => until(due),
    };
    match operation {
        Operation::Say { id, user, thread: in_thread, mention } => {
            let conversation =
                if *in_thread { thread("garden", "m00") } else { top_level("garden") };
            let user = ["alice", "bob", "carol", "buildbot"][usize::from(*user)];
            let number = *id;
            let id = if *in_thread { format!("t{id:02}") } else { format!("m{id:02}") };
            let mut message = message(conversation, &id, at(second), user, &format!("says {id}"));
            if *mention {
                message.mentions = vec![Mention::Persona, Mention::User(UserId::new("u-bob"))];
            }
            if number % 4 == 1 {
                message.attachments = vec![Attachment::new("F1", "boat.png", "image/png", 7)];
            }
            let follows = match (message.author.kind, message.is_addressed()) {
                (AuthorKind::Human, _) if number % 11 == 7 => Disposition::Settled(Gate::OptedOut),
                (AuthorKind::Human, true) => Disposition::Owe { due: at(second + 2) },
                (AuthorKind::Human, false) => Disposition::Judge(rest(number)),
                (AuthorKind::Bot | AuthorKind::Persona, _) => Disposition::Settled(Gate::OtherBot),
            };
            let links = vec![(message.id.clone(), links(number, &message.id))];
            let heard = Heard::Message(message, Arrival::Live);
            InboxEntry { links, ..InboxEntry::new(heard, follows, at(0)) }
        }
        Operation::Edit { id, mention } => {
            let edit = Edit {
                conversation: top_level("garden"),
                message: MessageId::new(format!("m{id:02}")),
                at: at(second),
                made_at: at(second),
                text: format!("edited in second {second}").into(),
                mentions: if *mention { vec![Mention::Persona] } else { vec![] },
                // Some edits remove the attachments, and the others leave them.
                attachments: (second % 3 == 0).then(Vec::new),
            };
            InboxEntry::new(Heard::Edit(edit), Disposition::Judge(rest(*id)), at(0))
        }
        Operation::Delete { id } => {
            let message = MessageId::new(format!("m{id:02}"));
            let deletion = Deletion { conversation: top_level("garden"), message, at: at(second) };
            InboxEntry::new(Heard::Deletion(deletion), Disposition::Judge(rest(*id)), at(0))
        }
        Operation::React { id, user, emoji, removes, late } => {
            let reaction = Reaction {
                workspace: workspace(),
                channel: top_level("garden").channel,
                message: MessageId::new(format!("m{id:02}")),
                user: UserId::new(["u-alice", "u-bob", "u-persona"][usize::from(*user)]),
                kind: if *user == 2 { AuthorKind::Persona } else { AuthorKind::Human },
                emoji: ["👍", "👀"][usize::from(*emoji)].into(),
                at: at(second - i64::from(*late)),
                change: if *removes { ReactionChange::Removed } else { ReactionChange::Added },
            };
            InboxEntry::new(Heard::Reaction(reaction), Disposition::NotAMessage, at(0))
        }
        Operation::SayMany { .. }
        | Operation::Order { .. }
        | Operation::Wait { .. }
        | Operation::Expire { .. }
        | Operation::Claim
        | Operation::Reserve { .. }
        | Operation::LookUp { .. }
        | Operation::Complete { .. }
        | Operation::Forget => {
            unreachable!("not heard")
        }
    }
}

/// Links to earlier messages, some of them certain, some from an older version.
fn links(number: u8, message: &MessageId) -> MessageLinks {
    let before = |back: u8| {
        let number = number.saturating_sub(back);
        MessageId::new(format!("{}{number:02}", &message.as_str()[..1]))
    };
    match number % 7 {
        0 => MessageLinks::reply_to(before(3)),
        rest => MessageLinks {
            begins: if rest == 1 { 0.0 } else { 0.1 * f32::from(rest) },
            parents: BTreeMap::from([(before(1), 0.123), (before(2), 0.04)]),
            source: if rest == 2 { LinkSource::Models(77) } else { LinkSource::SHIPPED },
        },
    }
}

/// A result that is valid for the claim.
async fn outcome(
    store: &TestStore,
    claim: &Claim,
    kind: u8,
    second: i64,
    number: usize,
) -> Outcome {
    let context = store.store.context(claim.work.conversation(), &window(50)).await.unwrap();
    let end = match (&claim.work, kind) {
        (_, 0) => StepResult::Retry { due: at(second + 5) },
        (_, 1) => StepResult::Superseded,
        (_, 2) => StepResult::Failed {
            error: "broken".to_owned(),
            why: "something went wrong".to_owned(),
        },
        (Work::Judge(_), 3 | 4 | 9 | 10) => {
            let ended = match kind {
                9 => DecisionResult::Muted,
                10 => DecisionResult::OverBudget,
                _ => DecisionResult::ChoseSilence,
            };
            let mut closing = DecisionClosing::new(ended, "they get along");
            closing.state_hash = Some(context.state_hash());
            StepResult::Silent(closing)
        }
        (Work::Judge(_) | Work::Reply(_), 11) => StepResult::LookAgain { due: at(second + 7) },
        (Work::Judge(_), 8) if context.newest_human_message().is_some() => {
            let on = context.newest_human_message().map(|message| message.id.clone()).unwrap();
            let words = DraftContent::Reaction { emoji: "👍".to_owned(), on: on.clone() };
            let notes = DraftMetadata {
                about: Some(on),
                lineage: context.lineage(),
                seen_revision: context.revision.into(),
                ..DraftMetadata::new(DecisionResult::Reacted, "a nod")
            };
            let (judgment, state) = (Judgment::default(), context.state_hash());
            StepResult::React { judgment, state, draft: Draft { content: words, metadata: notes } }
        }
        (Work::Judge(_), _) => {
            let judgment = Judgment {
                should_respond: true,
                reason: "asked".to_owned(),
                confidence: 0.5,
                delay_seconds: None,
                about: context.newest_human_message().map(|message| message.id.clone()),
                ..Judgment::default()
            };
            StepResult::Join {
                judgment,
                state: StateHash(number as i64),
                due: at(second + i64::from(kind)),
            }
        }
        (Work::Reply(_), 3) => StepResult::Withdrawn { why: "taken back".to_owned() },
        (Work::Reply(_), 9) => {
            let closing = DecisionClosing::new(DecisionResult::Muted, "muted");
            StepResult::Silent(DecisionClosing { settled: context.owed.clone(), ..closing })
        }
        (Work::Reply(_), _) => {
            let notes = DraftMetadata {
                owed: context.owed.clone(),
                lineage: context.lineage(),
                seen_revision: context.revision.into(),
                ..DraftMetadata::new(
                    if kind == 10 { DecisionResult::OverBudget } else { DecisionResult::Spoke },
                    "asked",
                )
            };
            let texts =
                (0..=kind % 3).map(|item| format!("piece {item} of act {number}")).collect();
            StepResult::Drafted {
                draft: Draft { content: DraftContent::Text(texts), metadata: notes },
                due: at(second),
            }
        }
        (Work::Post(_), 3) => StepResult::RetryUnsent { due: at(second + 3) },
        (Work::Post(_), 4) => StepResult::Withdrawn { why: "taken back".to_owned() },
        (Work::Post(item), 8) if item.id == item.first_in_draft => {
            StepResult::Redraft { due: at(second) }
        }
        (Work::Post(item), _) => {
            let id = item.reaction_to.clone().unwrap_or(MessageId::new(format!("p{}", item.id)));
            let (thread, author) = (item.conversation.thread.clone(), UserId::new("u-persona"));
            StepResult::Posted(PostedMessage { id, thread, at: at(second), author })
        }
    };
    let exchange = ModelExchange {
        prompt: format!("question {number}").into(),
        answer: (kind != 7).then(|| "answer".into()),
        lineage: context.lineage(),
        // Some model calls take longer.
        seen_revision: Some(context.revision.saturating_sub(number as u64 % 5)),
    };
    let attempt = Attempt {
        verb: "judge".into(),
        at: at(second),
        model: "scripted".into(),
        prompt_hash: "0123456789abcdef".into(),
        prompt_bytes: 100,
        usage: Usage {
            input_tokens: 25,
            cached_tokens: 3,
            cache_write_tokens: 2,
            output_tokens: 5,
            is_estimated: true,
        },
        price: (kind == 6).then_some(Price { micros: 7 }),
        latency: SignedDuration::from_millis(1500),
        result: if kind == 7 { AttemptResult::Failed } else { AttemptResult::Kept },
        judgment: None,
        error: (kind == 7).then(|| "down".to_owned()),
        omissions: Vec::new(),
        exchange: (kind != 5).then(|| Arc::new(exchange)),
    };
    let conversation_state = (kind == 5).then_some(ConversationState::Conflict);
    let needed_confidence = conversation_state.map(|_| 0.65);
    let weighed = Evaluation::new(Mode::Facilitator, vec![Gate::Muted]);
    let weighed = Evaluation { conversation_state, needed_confidence, ..weighed };
    let with_files = context.messages().filter(|message| !message.attachments.is_empty());
    let read = |message: &Arc<Message>| ReadAttachment {
        message: message.id.clone(),
        attachment: "F1".into(),
        content: AttachmentContent::Description(format!("a boat, seen by act {number}").into()),
    };
    Outcome {
        attempts: vec![attempt],
        read_attachments: with_files.map(read).collect(),
        evaluation: (kind % 2 == 1).then_some(weighed),
        seen_revision: (kind != 6).then_some(context.revision.saturating_sub(number as u64 % 5)),
        ..Outcome::new(end)
    }
}
