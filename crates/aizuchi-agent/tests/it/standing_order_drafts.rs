//! Drafts of standing orders: none is followed until it is kept, on every store.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::standing_order_trial::{StandingOrderTrial, StandingOrderTrialOutcome};
use aizuchi_agent::agent::AgentSettings;
use aizuchi_harness::fixtures::{at, message, new_channel, top_level, window, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::random::Random;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ConversationId, Heard, MessageId, Role, User, UserId, Visibility};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::standing_order::{
    DRAFT_LIFETIME, DraftTarget, MAX_PER_SCOPE, StandingOrder, StandingOrderEffect,
    StandingOrderScope, StandingOrderText,
};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::refusal_reason::RefusalReason;
use async_trait::async_trait;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

/// Reports that the order would have silenced three of twelve posts.
struct Foreseeing;

#[async_trait]
impl StandingOrderTrial for Foreseeing {
    async fn try_draft(
        &self,
        _: &ConversationId,
        draft: &StandingOrder,
        _: &CancellationToken,
    ) -> Result<StandingOrderTrialOutcome, StoreError> {
        assert!(draft.is_pending());
        let effect = StandingOrderEffect {
            days: 7,
            spoke: 12,
            newly_silent: 3,
            ..StandingOrderEffect::default()
        };
        Ok(StandingOrderTrialOutcome::Tried(effect))
    }
}

/// Options where orders in the chat begin as drafts, and are tried.
fn drafting(language: Language) -> HarnessOptions {
    let rulebook = Rulebook { drafts_standing_orders: true, ..Rulebook::default() };
    let options = HarnessOptions::default();
    let settings = AgentSettings { rulebook: rulebook.into(), ..options.settings };
    let standing_order_trial: Option<Arc<dyn StandingOrderTrial>> = Some(Arc::new(Foreseeing));
    HarnessOptions { settings, standing_order_trial, language, ..HarnessOptions::default() }
}

async fn admin_says(harness: &Harness, id: &str, text: &str) -> MessageId {
    let message = message(top_level("garden"), id, harness.clock.now(), "root", text);
    let (user, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id: user,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    let id = message.id.clone();
    harness.hear(message).await;
    harness.pass(5).await;
    id
}

fn garden() -> StandingOrderScope {
    StandingOrderScope::Channel(top_level("garden").channel)
}

fn text(text: &str) -> StandingOrderText {
    StandingOrderText::parse(text).unwrap()
}

fn draft(target: DraftTarget, words: &str, by: &str) -> Order {
    Order::DraftStandingOrder { workspace: workspace(), target, text: text(words), by: by.into() }
}

fn keep(number: i64) -> Order {
    Order::KeepStandingOrder { workspace: workspace(), number }
}

fn told(orders: &[StandingOrder]) -> Vec<(i64, i64, String)> {
    let told =
        |order: &StandingOrder| (order.number, order.version, order.text.as_str().to_owned());
    orders.iter().map(told).collect()
}

/// The orders in force, and the drafts.
async fn orders(store: &TestStore) -> [Vec<(i64, i64, String)>; 2] {
    let orders = store.store.orders(&workspace()).await.unwrap();
    [told(&orders.standing), told(&orders.drafts)]
}

async fn followed(store: &TestStore, channel: &str) -> Vec<String> {
    let context = store.store.context(&top_level(channel), &window(50)).await.unwrap();
    context.standing_orders.iter().map(|order| order.text.as_str().to_owned()).collect()
}

fn row(number: i64, version: i64, text: &str) -> (i64, i64, String) {
    (number, version, text.to_owned())
}

#[tokio::test]
async fn an_order_is_tried_before_it_holds() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(drafting(Language::En));
        harness.platform.set_longest_post(1000);
        admin_says(&harness, "a1", "@Aizuchi in this channel: say xyzzy").await;
        assert_eq!(orders(&harness.store).await, [vec![], vec![row(1, 1, "say xyzzy")]]);
        harness.says("alice", "@Aizuchi hello").await;
        harness.pass(60).await;
        let prompts = || harness.mind.prompts(PromptVerb::Reply);
        assert!(prompts().iter().all(|prompt| !prompt.text.contains("- Order 1")));
        admin_says(&harness, "a2", "@Aizuchi orders").await;
        harness.says("alice", "@Aizuchi keep order 1").await;
        harness.pass(5).await;
        assert_eq!(followed(&harness.store, "garden").await, [""; 0]);
        admin_says(&harness, "a3", "@Aizuchi keep order 1").await;
        assert_eq!(followed(&harness.store, "garden").await, ["say xyzzy"]);
        admin_says(&harness, "a4", "@Aizuchi order 1: say plugh").await;
        // The changed order stays in force until then.
        let expected = [vec![row(1, 1, "say xyzzy")], vec![row(1, 2, "say plugh")]];
        assert_eq!(orders(&harness.store).await, expected);
        admin_says(&harness, "a5", "@Aizuchi drop draft 1").await;
        admin_says(&harness, "a6", "@Aizuchi drop draft 1").await;
        assert_eq!(orders(&harness.store).await, [vec![row(1, 1, "say xyzzy")], vec![]]);
        harness.transcript().await
    });
    let transcript = transcript.await;
    for expected in [
        "Draft 1, for this channel: “say xyzzy”. I don’t follow it yet. Of 12 times I spoke here unasked in the last 7 days, 3 would have stayed silent.",
        "I don’t follow these drafts yet:",
        "- 1, for this channel: “say xyzzy” (root)",
        "Only an admin can do that.",
        "Noted as order 1, for this channel: “say xyzzy”.",
        "Draft 1 is discarded.",
        "There’s no draft 1 here.",
    ] {
        let lines = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lines(&transcript).contains(&lines(expected)), "{expected}: {transcript}");
    }
}

#[tokio::test]
async fn drafts_are_answered_in_japanese() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(drafting(Language::Ja));
        harness.platform.set_longest_post(1000);
        for (id, text) in [
            ("a1", "@Aizuchi このチャンネルでは：短く答えて"),
            ("a2", "@Aizuchi 指示１を採用して"),
            ("a3", "@Aizuchi 試しに指示1：長く答えて"),
            ("a4", "@Aizuchi 下書き1を破棄して"),
        ] {
            admin_says(&harness, id, text).await;
        }
        assert_eq!(orders(&harness.store).await, [vec![row(1, 1, "短く答えて")], vec![]]);
        harness.transcript().await
    });
    let transcript = transcript.await;
    for expected in [
        "下書き1（このチャンネル）：「短く答えて」。まだ従いません。この指示があれば、直近 7 日間にここで自分から話した 12 回のうち、3 回は黙っていたはずです。",
        "指示1として受け付けました（このチャンネル）：「短く答えて」。",
        "下書き1（このチャンネル）：「長く答えて」。",
        "下書き1を破棄しました。",
    ] {
        assert!(transcript.contains(expected), "{expected}: {transcript}");
    }
}

/// By default an order applies immediately, and `try` makes it a draft.
#[tokio::test]
async fn whoever_wants_a_draft_asks_for_one() {
    let transcript = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(1000);
        admin_says(&harness, "a1", "@Aizuchi try in this channel: be brief").await;
        admin_says(&harness, "a2", "@Aizuchi in this channel: be kind").await;
        let expected = [vec![row(2, 1, "be kind")], vec![row(1, 1, "be brief")]];
        assert_eq!(orders(&harness.store).await, expected);
        admin_says(&harness, "a3", "@Aizuchi drop order 1").await;
        assert_eq!(orders(&harness.store).await, [vec![row(2, 1, "be kind")], vec![]]);
        harness.transcript().await
    });
    let transcript = transcript.await;
    assert!(transcript.contains("the console can tell"), "{transcript}");
}

/// A draft is deleted with its author, turns private with its channel, and lapses.
#[tokio::test]
async fn a_draft_is_as_private_and_as_forgotten_as_an_order() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let words =
            [("say xyzzy", "u-alice 1000"), ("say plugh", "u-cleo 2000"), ("be kind", "olga")];
        for (words, by) in words {
            harness.order(draft(DraftTarget::New(garden()), words, by)).await;
        }
        // A command that is executed again creates no second draft.
        harness.order(draft(DraftTarget::New(garden()), "say xyzzy", "u-alice 1000")).await;
        let now = harness.clock.now();
        let (alice, cleo) = (UserId::new("u-alice"), UserId::new("u-cleo"));
        harness.order(Order::Forget { workspace: workspace(), user: alice, asked: now }).await;
        harness.order(Order::OptOut { workspace: workspace(), user: cleo }).await;
        let kind = row(3, 1, "be kind");
        assert_eq!(orders(&harness.store).await, [vec![], vec![kind.clone()]]);
        let versions = harness.store.archive.standing_orders(&workspace()).await.unwrap();
        assert_eq!(told(&versions), std::slice::from_ref(&kind));
        for visibility in [Visibility::Private, Visibility::Public] {
            let channel = new_channel("garden", visibility);
            harness.inbox.hear(Heard::Channel(channel)).await.unwrap();
        }
        assert_eq!(orders(&harness.store).await, [vec![], vec![]], "it was private in between");
        let store = &harness.store;
        store
            .store
            .order(draft(DraftTarget::New(StandingOrderScope::Workspace), "be brief", "olga"), now)
            .await
            .unwrap();
        store.store.drop_journals(now + DRAFT_LIFETIME).await.unwrap();
        assert_eq!(orders(store).await[1], [row(4, 1, "be brief")]);
        let lapsed = now + DRAFT_LIFETIME + SignedDuration::from_secs(1);
        store.store.drop_journals(lapsed).await.unwrap();
        assert_eq!(orders(store).await[1], []);
    })
    .await;
}

#[tokio::test]
async fn a_draft_is_refused_where_its_order_would_be() {
    on_every_database(async |store| {
        let refusal = async |order: Order| match store.store.order(order, at(0)).await {
            Err(StoreError::Refused(reason)) => reason,
            other => panic!("{other:?}"),
        };
        let change = draft(DraftTarget::Change(1), "be kind", "olga");
        assert_eq!(refusal(change).await, RefusalReason::NoStandingOrder);
        assert_eq!(refusal(keep(1)).await, RefusalReason::NoOrderDraft);
        let drop = Order::DropOrderDraft { workspace: workspace(), number: 1 };
        assert_eq!(refusal(drop).await, RefusalReason::NoOrderDraft);
        for _ in 0..MAX_PER_SCOPE {
            let one = draft(DraftTarget::New(garden()), "be kind", "olga");
            store.store.order(one, at(0)).await.unwrap();
        }
        let more = draft(DraftTarget::New(garden()), "be kind", "olga");
        assert_eq!(refusal(more).await, RefusalReason::TooManyStandingOrders);
        for number in 1..=MAX_PER_SCOPE {
            store.store.order(keep(number as i64), at(1)).await.unwrap();
        }
        // A change replaces its order, so it is kept although the scope is full.
        let change = draft(DraftTarget::Change(1), "be kinder", "olga");
        store.store.order(change, at(2)).await.unwrap();
        store.store.order(keep(1), at(3)).await.unwrap();
        assert_eq!(orders(&store).await[0].first(), Some(&row(1, 2, "be kinder")));
    })
    .await;
}

/// The orders that should be followed, by number: only what users gave, kept or changed.
#[derive(Default)]
struct Expected {
    in_force: BTreeMap<i64, (String, &'static str)>,
    drafts: BTreeMap<i64, (String, &'static str)>,
    last: i64,
}

/// Whatever is drafted, kept and dropped, and in whatever order, no prompt contains a draft, and none reaches
/// another channel.
#[tokio::test]
async fn a_draft_takes_no_effect_whatever_happens() {
    on_every_database(async |store| {
        let mut random = Random::new(11, "drafts");
        let mut expected = Expected::default();
        for step in 0..150 {
            let words = random.word();
            let channel = *random.pick(&["garden", "kitchen", ""]);
            let number = random.between(1, expected.last.max(1));
            let scope = StandingOrderScope::from_columns(channel, "");
            let give = |scope| Order::GiveStandingOrder {
                workspace: workspace(),
                scope,
                text: text(&words),
                by: "olga".into(),
            };
            let order = match random.below(6) {
                0 => give(scope),
                1 | 2 => draft(DraftTarget::New(scope), &words, "olga"),
                3 => draft(DraftTarget::Change(number), &words, "olga"),
                4 => keep(number),
                _ if random.chance(0.5) => Order::DropOrderDraft { workspace: workspace(), number },
                _ => Order::DropStandingOrder { workspace: workspace(), number },
            };
            let is_done = store.store.order(order.clone(), at(step)).await.is_ok();
            if is_done {
                apply(&mut expected, &order, (words, channel));
            }
            for place in ["garden", "kitchen", "attic"] {
                let mut here = followed(&store, place).await;
                here.sort();
                let in_force = expected.in_force.values();
                let mut holding: Vec<String> = in_force
                    .filter(|(_, channel)| channel.is_empty() || *channel == place)
                    .map(|(words, _)| words.clone())
                    .collect();
                holding.sort();
                assert_eq!(here, holding, "step {step}: {order:?} in {place}");
            }
        }
        assert!(!expected.in_force.is_empty() && !expected.drafts.is_empty());
    })
    .await;
}

fn apply(expected: &mut Expected, order: &Order, place: (String, &'static str)) {
    match order {
        Order::GiveStandingOrder { .. } => {
            expected.last += 1;
            expected.in_force.insert(expected.last, place);
        }
        Order::DraftStandingOrder { target: DraftTarget::New(_), .. } => {
            expected.last += 1;
            expected.drafts.insert(expected.last, place);
        }
        Order::DraftStandingOrder { target: DraftTarget::Change(number), .. } => {
            let channel = expected.in_force[number].1;
            expected.drafts.insert(*number, (place.0, channel));
        }
        Order::KeepStandingOrder { number, .. } => {
            let kept = expected.drafts.remove(number).expect("it was a draft");
            expected.in_force.insert(*number, kept);
        }
        Order::DropOrderDraft { number, .. } => {
            expected.drafts.remove(number).expect("it was a draft");
        }
        Order::DropStandingOrder { number, .. } => {
            expected.in_force.remove(number);
            expected.drafts.remove(number);
        }
        other => panic!("{other:?}"),
    }
}
