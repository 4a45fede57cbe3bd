//! Prompts that are kept for the ledger: for how long, and what removes a message or an order from them.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, top_level, until, workspace};
use aizuchi_harness::test_store::{StoreKind, on_every_database, on_every_store};
use aizuchi_model::chat::UserId;
use aizuchi_model::decision::{Attempt, DecisionResult, ModelExchange};
use aizuchi_model::flow::{DecisionClosing, Disposition, Outcome, StepResult};
use aizuchi_model::memory::Lineage;
use aizuchi_model::standing_order::{StandingOrderScope, StandingOrderText};
use aizuchi_store::InboxEntry;
use aizuchi_store::database::connection::query;
use aizuchi_store::order::Order;

use crate::promises::made_from;
use crate::store_commands::{PromisesExt, attempt, deletion, edit, judgment, silent};

#[tokio::test]
async fn prompts_are_kept_until_they_expire() {
    on_every_database(async |store| {
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
        // The ledger itself does not contain the text.
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
    on_every_database(async |store| {
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
        // The stored size of an exchange depends on the store.
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
            let (home, made_from) = (claim.work.conversation(), made_from(&[id]));
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

/// The text of a standing order is deleted with its author, including from a call that is in flight.
#[tokio::test]
async fn an_order_withdrawn_during_a_call_is_not_kept_in_its_prompt() {
    on_every_database(async |store| {
        let (ann, ben, cleo) = (UserId::new("u-ann"), UserId::new("u-ben"), UserId::new("u-cleo"));
        for by in ["u-ann 1000", "u-ben 2000", "u-cleo 3000", "olga"] {
            let text = StandingOrderText::parse("say xyzzy").unwrap();
            let scope = StandingOrderScope::Channel(top_level("garden").channel);
            let order =
                Order::GiveStandingOrder { workspace: workspace(), scope, text, by: by.into() };
            store.store.order(order, at(0)).await.unwrap();
        }
        let workspace = workspace();
        for (number, order, is_kept) in [
            (1, Order::Forget { workspace: workspace.clone(), user: ann, asked: at(61) }, false),
            (2, Order::OptOut { workspace: workspace.clone(), user: ben }, false),
            (3, Order::Redact { workspace: workspace.clone(), user: cleo }, false),
            // Its text stays on record.
            (4, Order::DropStandingOrder { workspace: workspace.clone(), number: 4 }, true),
        ] {
            let second = number * 100;
            let id = number.to_string();
            let considered = store.hear_human(&id, second, "words").await.revision;
            let claim = store.claim(second + 60).await.remove(0);
            let lineage = Lineage { orders: vec![(number, 1)], ..made_from(&[&id]) };
            let home = claim.work.conversation();
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

pub fn exchange(messages: &[&str]) -> ModelExchange {
    ModelExchange {
        prompt: "what now?".into(),
        answer: Some("nothing".into()),
        lineage: made_from(messages),
        seen_revision: Some(0),
    }
}
