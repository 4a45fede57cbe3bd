//! Per-user counts do not name a user who was forgotten while a judgment about them, or an answer to them, was in
//! flight.

use aizuchi_harness::fixtures::workspace;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{AuthorKind, ChannelId, Role, User, UserId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::flow::planned_call::{
    CallCost, CallLimits, CallOwner, PlannedCall, ReservationResult,
};
use aizuchi_model::flow::web_call::{WebCall, WebLimits};
use aizuchi_model::rules::BudgetLimits;
use aizuchi_store::order::Order;
use jiff::{SignedDuration, Timestamp};

const NAMED: &str = "SELECT (SELECT count(*) FROM judge_calls) +
    (SELECT count(*) FROM web_calls WHERE person <> '') AS n";

/// A judge call about Alice, whose messages were read at `began`.
fn judge_call(token: i64, began: Timestamp) -> PlannedCall {
    let limits = CallLimits {
        workspace: BudgetLimits::default(),
        channel: BudgetLimits::default(),
        share: 1.0,
        unsolicited_share: 1.0,
        calls_per_decision: None,
        judge_calls_per_user: Some(1),
    };
    let owner = CallOwner {
        token,
        workspace: workspace(),
        channel: Some(ChannelId::new("garden")),
        decision: None,
        is_unsolicited: true,
        sole_author: Some(UserId::new("u-alice")),
        began,
        limits,
    };
    let until = began + SignedDuration::from_hours(1);
    PlannedCall {
        owner,
        calls_made: 0,
        spent: CallCost::default(),
        estimate: CallCost::default(),
        until,
    }
}

#[tokio::test]
async fn a_judgment_in_the_making_counts_for_nobody_who_was_forgotten() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let before = harness.clock.now();
        harness.pass(10).await;
        let (user, asked) = (UserId::new("u-alice"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(10).await;
        let reserve = async |token, began| {
            harness.pass(1).await;
            let call = judge_call(token, began);
            harness.store.store.reserve(&call, harness.clock.now()).await.unwrap()
        };
        for token in 1001..=1003 {
            assert_eq!(reserve(token, before).await, ReservationResult::Admitted);
        }
        if let Some(database) = &harness.store.database {
            assert_eq!(database.count(NAMED).await, 0);
        }
        // A user who writes again after being forgotten is counted again.
        let since = harness.clock.now();
        assert_eq!(reserve(1004, since).await, ReservationResult::Admitted);
        let refused = ReservationResult::Refused(Limit::JudgeCallsPerPersonPerHour);
        assert_eq!(reserve(1005, since).await, refused);
    })
    .await;
}

/// Afterwards no row names them, not even as a forgotten user.
#[tokio::test]
async fn nor_for_whom_an_operator_has_forgotten() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let before = harness.clock.now();
        harness.pass(10).await;
        let alice = User {
            workspace: workspace(),
            id: UserId::new("u-alice"),
            name: "alice".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: None,
        };
        let database_store = harness.store.database_store.clone().unwrap();
        database_store.forget_user(&alice, "", harness.clock.now()).await.unwrap();
        let database = harness.store.database.clone().unwrap();
        assert_eq!(database.count("SELECT count(*) AS n FROM forgettings").await, 0);
        harness.pass(10).await;
        let now = harness.clock.now();
        let admitted = harness.store.store.reserve(&judge_call(1001, before), now).await.unwrap();
        assert_eq!(admitted, ReservationResult::Admitted);
        let look_up = WebCall {
            workspace: workspace(),
            decision: Some(DecisionId(1001)),
            user: Some(alice.id.clone()),
            began: before,
            limits: WebLimits { per_user_per_day: Some(5), ..WebLimits::default() },
        };
        assert_eq!(harness.store.store.count_web_call(&look_up, now).await.unwrap(), None);
        assert_eq!(database.count(NAMED).await, 0);
    })
    .await;
}
