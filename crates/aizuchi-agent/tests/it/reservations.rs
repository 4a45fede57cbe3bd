//! The port's contract for reservations: what a process that dies leaves behind, and how long judge calls count.

use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_store};
use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::{Price, Usage};
use aizuchi_model::flow::planned_call::{
    CallCost, CallLimits, CallOwner, PlannedCall, ReservationResult, UnclaimedCall,
};
use aizuchi_model::rules::BudgetLimits;
use aizuchi_store::figures::{CallKind, WorkspacePeriod};
use jiff::{SignedDuration, Timestamp};

fn planned(token: i64, until: i64) -> PlannedCall {
    let limits = BudgetLimits { tokens_per_day: Some(100), ..BudgetLimits::default() };
    let owner = CallOwner {
        token,
        workspace: workspace(),
        channel: Some(ChannelId::new("garden")),
        decision: None,
        is_unsolicited: false,
        sole_author: None,
        began: at(0),
        limits: CallLimits {
            workspace: limits,
            channel: BudgetLimits::default(),
            share: 1.0,
            unsolicited_share: 1.0,
            calls_per_decision: None,
            judge_calls_per_user: Some(2),
        },
    };
    PlannedCall {
        owner,
        calls_made: 0,
        spent: CallCost::default(),
        estimate: CallCost { tokens: 60, micros: 6 },
        until: at(until),
    }
}

/// A process that dies leaves its reservations behind, since its calls may have been made. They are recorded as
/// spent once it is certain that no process will settle them.
#[tokio::test]
async fn a_reservation_outlives_its_process_and_is_booked() {
    for kind in StoreKind::ALL {
        let store = kind.open().await;
        let reserve = async |store: &TestStore, call: PlannedCall, second: i64| {
            store.store.reserve(&call, at(second)).await.unwrap()
        };
        let booked = async |store: &TestStore| {
            let spending = store.archive.spending(&workspace(), at(300)).await.unwrap();
            spending.iter().map(|row| row.spent.tokens_in_day).collect::<Vec<_>>()
        };
        assert_eq!(reserve(&store, planned(1, 100), 0).await, ReservationResult::Admitted);
        assert_eq!(reserve(&store, planned(2, 200), 0).await, ReservationResult::Admitted);
        let store = store.restart().await;
        let busy = ReservationResult::Busy(Limit::TokensPerDay);
        assert_eq!(reserve(&store, planned(3, 300), 99).await, busy, "{kind:?}");
        // A claim's own reservation does not block it.
        assert_eq!(reserve(&store, planned(2, 200), 99).await, ReservationResult::Admitted);
        assert!(booked(&store).await.is_empty());
        // The first claim never ended. The reservation of a claim that continues counts once.
        assert_eq!(reserve(&store, planned(2, 400), 201).await, ReservationResult::Admitted);
        assert_eq!(booked(&store).await, [60, 60], "{kind:?}");
        assert_eq!(reserve(&store, planned(3, 300), 201).await, busy, "{kind:?}");
        let elsewhere = CallOwner { workspace: WorkspaceId::new("else"), ..planned(4, 300).owner };
        let other = PlannedCall { owner: elsewhere, ..planned(4, 300) };
        assert_eq!(reserve(&store, other, 201).await, ReservationResult::Admitted);
        // The usage of its earlier calls counts.
        let spent = CallCost { tokens: 100, micros: 0 };
        let second = PlannedCall { spent, calls_made: 1, ..planned(2, 400) };
        let refused = ReservationResult::Refused(Limit::TokensPerDay);
        assert_eq!(reserve(&store, second, 202).await, refused);
        assert_eq!(reserve(&store, planned(3, 500), 400).await, refused, "{kind:?}");
        assert_eq!(booked(&store).await, [120, 120], "{kind:?}");
        if store.database.is_none() {
            continue;
        }
        let period = WorkspacePeriod {
            workspace: workspace(),
            since: at(0),
            until: Timestamp::MAX,
            offset: SignedDuration::ZERO,
        };
        let calls = store.archive.calls_by_day(&period).await.unwrap();
        let unfinished = calls.iter().filter(|sum| sum.kind == CallKind::Unfinished);
        assert_eq!(unfinished.map(|sum| sum.usage.input_tokens).sum::<u64>(), 120, "{calls:?}");
        assert_eq!(calls.iter().map(|sum| sum.price.micros).sum::<u64>(), 12, "{calls:?}");
        // Each counts from when it lapsed, not from when that was detected.
        let period = WorkspacePeriod { until: at(101), ..period };
        let calls = store.archive.calls_by_day(&period).await.unwrap();
        assert_eq!(calls.iter().map(|sum| sum.usage.input_tokens).sum::<u64>(), 60, "{calls:?}");
    }
}

#[tokio::test]
async fn judge_calls_about_one_user_are_counted_for_an_hour() {
    for kind in StoreKind::ALL {
        let store = kind.open().await;
        let reserve = async |token: i64, user: &str, second: i64| {
            let call = planned(token, second);
            let limits = CallLimits { workspace: BudgetLimits::default(), ..call.owner.limits };
            let sole_author = Some(UserId::new(user));
            let call =
                PlannedCall { owner: CallOwner { sole_author, limits, ..call.owner }, ..call };
            // No prompt is kept, which must not shorten the hour.
            if store.database.is_some() {
                store.store.drop_exchanges(at(second + 1), 0).await.unwrap();
            }
            store.store.reserve(&call, at(second)).await.unwrap()
        };
        let refused = ReservationResult::Refused(Limit::JudgeCallsPerPersonPerHour);
        for (token, user, second, admission) in [
            (1, "alice", 0, ReservationResult::Admitted),
            (2, "alice", 10, ReservationResult::Admitted),
            (3, "alice", 3599, refused),
            (4, "bob", 3599, ReservationResult::Admitted),
            (5, "alice", 3600, ReservationResult::Admitted),
            (6, "alice", 3601, refused),
            (7, "carol", 9000, ReservationResult::Admitted),
        ] {
            assert_eq!(reserve(token, user, second).await, admission, "{kind:?} {token}");
        }
        let Some(database) = &store.database else { continue };
        assert_eq!(database.count("SELECT count(*) AS n FROM judge_calls").await, 1);
    }
}

#[tokio::test]
async fn a_call_without_a_claim_is_booked_in_the_place_of_its_reservation() {
    on_every_store(async |store| {
        let reserved = planned(-7, 2);
        assert_eq!(
            store.store.reserve(&reserved, at(0)).await.unwrap(),
            ReservationResult::Admitted
        );
        let call = |channel: Option<&str>, tokens, is_priced: bool, reservation| UnclaimedCall {
            workspace: workspace(),
            channel: channel.map(ChannelId::new),
            model: "openai/test".into(),
            calls: 1,
            usage: Usage { input_tokens: tokens, ..Usage::default() },
            price: is_priced.then_some(Price { micros: 2 * tokens }),
            at: at(0),
            reservation,
        };
        store.store.book(&call(Some("garden"), 100, true, Some(-7))).await.unwrap();
        store.store.book(&call(None, 30, false, None)).await.unwrap();
        // After the reservation would have expired: it must not be recorded in addition.
        store.store.reserve(&planned(-8, 5), at(3)).await.unwrap();
        let spending = store.archive.spending(&workspace(), at(3)).await.unwrap();
        let spending: Vec<_> = spending
            .iter()
            .map(|it| {
                let spent = &it.spent;
                let unpriced = it.unpriced_tokens_in_day;
                (it.channel.clone(), spent.tokens_in_day, spent.micros_in_day, unpriced)
            })
            .collect();
        assert_eq!(spending, [(None, 130, 200, 30), (Some(ChannelId::new("garden")), 100, 200, 0)]);
    })
    .await;
}
