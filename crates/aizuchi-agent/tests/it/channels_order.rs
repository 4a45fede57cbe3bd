//! One order for several channels: what it changes at once, and what undoing it restores, on every database.

use aizuchi_harness::fixtures::workspace;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{ChannelId, Role};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{
    Confidence, PlaceSetting, SettingChange, SettingKind, SettingRole, SettingScope,
};
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::order_journal::{ChannelsRecord, OrderJournalQuery, OrderKind};
use jiff::Timestamp;

const NAMES: [&str; 4] = ["attic", "garden", "kitchen", "porch"];

fn mode(channel: &str, mode: Option<Mode>) -> Order {
    Order::Mode { workspace: workspace(), channel: ChannelId::new(channel), mode }
}

fn mute(channel: &str, until: &str, by: Role) -> Order {
    let (channel, until) = (Some(ChannelId::new(channel)), until.parse().unwrap());
    Order::Mute { workspace: workspace(), channel, until, by }
}

fn confidence(channel: &str, share: f64, role: SettingRole) -> Order {
    let setting = PlaceSetting::MinConfidence(Confidence::new(share).unwrap());
    let scope = SettingScope::Channel(ChannelId::new(channel));
    let (change, at) = (SettingChange::Set(setting), Timestamp::UNIX_EPOCH);
    Order::ChangeSetting { workspace: workspace(), scope, change, role, by: "olga".into(), at }
}

async fn in_force(harness: &Harness) -> OrdersInForce {
    harness.store.store.orders(&workspace()).await.unwrap()
}

/// What is ordered, without who ordered it and when.
async fn told(harness: &Harness) -> Vec<String> {
    let orders = in_force(harness).await;
    let modes = orders.modes.iter().map(|(channel, mode)| format!("{channel} {}", mode.name()));
    let mutes = orders.mutes.iter().map(|(channel, mute)| {
        let channel = channel.as_ref().unwrap();
        format!("{channel} muted by {} until {}", mute.by.name(), mute.until)
    });
    let settings = orders.settings.iter().map(|it| {
        let channel = it.scope.channel().unwrap();
        format!("{channel} {} by {}", it.setting, it.role.name())
    });
    let mut told: Vec<String> = modes.chain(mutes).chain(settings).collect();
    told.sort();
    told
}

/// Gives an order for several channels and returns its number and its record in the journal.
async fn give(
    harness: &Harness,
    orders: Vec<Order>,
    record: ChannelsRecord,
) -> (i64, ChannelsRecord) {
    let order = Order::InChannels { workspace: workspace(), orders, record };
    harness.inbox.apply_order(order.signed("vera")).await.unwrap();
    let query = OrderJournalQuery { workspace: None, kind: None, before: None, limit: 1 };
    let given = harness.store.archive.order_journal(&query).await.unwrap().remove(0);
    assert_eq!((given.record.kind, &*given.by), (OrderKind::ChangeChannels, "vera"));
    (given.number, given.channels().unwrap().unwrap())
}

async fn order_all(harness: &Harness, order: impl Fn(&str) -> Order) -> (i64, ChannelsRecord) {
    let record = ChannelsRecord { unchanged: vec![ChannelId::new("cellar")], ..Default::default() };
    give(harness, NAMES.map(order).into(), record).await
}

async fn undo(harness: &Harness, number: i64, record: &ChannelsRecord) -> ChannelsRecord {
    let record = ChannelsRecord { undoes: Some(number), unchanged: Vec::new(), ..record.clone() };
    give(harness, Vec::new(), record).await.1
}

fn unmute(channel: &str) -> Order {
    let channel = Some(ChannelId::new(channel));
    Order::Unmute { workspace: workspace(), channel, by: Role::Admin }
}

fn configured_confidence(channel: &str) -> Order {
    let (scope, by) = (SettingScope::Channel(ChannelId::new(channel)), "olga".into());
    let change = SettingChange::Clear(SettingKind::MinConfidence);
    let (role, at) = (SettingRole::Admin, Timestamp::UNIX_EPOCH);
    Order::ChangeSetting { workspace: workspace(), scope, change, role, by, at }
}

/// Makes the order for a channel.
type OrderIn<'a> = &'a dyn Fn(&str) -> Order;

#[tokio::test]
async fn undoing_an_order_for_several_channels_restores_what_each_had() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for order in [
            mode("attic", Some(Mode::Propose)),
            mode("garden", Some(Mode::Companion)),
            confidence("garden", 0.9, SettingRole::Keeper),
            confidence("kitchen", 0.8, SettingRole::Admin),
            confidence("kitchen", 0.95, SettingRole::Member),
            mute("attic", "2100-01-01T00:00:00Z", Role::Member),
            mute("garden", "2101-01-01T00:00:00Z", Role::Admin),
        ] {
            harness.inbox.apply_order(order).await.unwrap();
        }
        let before = told(&harness).await;
        let forever = |channel: &str| {
            let channel = Some(ChannelId::new(channel));
            let (until, by) = (Timestamp::MAX, Role::Admin);
            Order::Mute { workspace: workspace(), channel, until, by }
        };
        let orders: [(OrderIn<'_>, usize, &str); 6] = [
            (&|it| mode(it, Some(Mode::Observe)), 4, "observe"),
            (&|it| mode(it, None), 2, ""),
            (&forever, 4, "muted by admin until 9999-12-30T22:00:00.999999999Z"),
            (&unmute, 2, ""),
            (&|it| confidence(it, 0.5, SettingRole::Admin), 4, "0.5 by admin"),
            (&configured_confidence, 2, ""),
        ];
        for (order, changed, expected) in orders {
            let (number, record) = order_all(&harness, order).await;
            assert_eq!(record.changed.len(), changed, "{record:?}");
            assert_eq!(record.unchanged, [ChannelId::new("cellar")]);
            let after = told(&harness).await;
            assert_ne!(after, before);
            for name in NAMES.iter().filter(|_| !expected.is_empty()) {
                assert!(after.contains(&format!("{name} {expected}")), "{after:?}");
            }
            // What undoes an order is not undone, and a second time finds nothing as the order left it.
            let undone = undo(&harness, number, &record).await;
            assert_eq!((undone.undoes, &undone.changed), (Some(number), &record.changed));
            assert!(record.may_undo() && !undone.may_undo());
            assert_eq!(told(&harness).await, before, "{record:?}");
            let again = undo(&harness, number, &record).await;
            assert_eq!((again.changed.len(), again.unchanged.len()), (0, changed));
            assert_eq!(told(&harness).await, before, "{record:?}");
        }
        let orders = in_force(&harness).await;
        assert_eq!(harness.options.settings.rulebook.read().ordered[&workspace()], orders.settings);
    })
    .await;
}

#[tokio::test]
async fn what_was_changed_since_stays_when_an_order_is_undone() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.inbox.apply_order(mode("attic", Some(Mode::Propose))).await.unwrap();
        let (number, record) = order_all(&harness, |it| mode(it, Some(Mode::Observe))).await;
        harness.inbox.apply_order(mode("garden", Some(Mode::Off))).await.unwrap();
        // A change of something else does not count.
        let muted = mute("kitchen", "2100-01-01T00:00:00Z", Role::Admin);
        harness.inbox.apply_order(muted).await.unwrap();
        let undone = undo(&harness, number, &record).await;
        assert_eq!(undone.unchanged, [ChannelId::new("garden")]);
        let modes = [("attic", Mode::Propose), ("garden", Mode::Off)];
        let modes = modes.map(|(channel, mode)| (ChannelId::new(channel), mode));
        assert_eq!(in_force(&harness).await.modes, modes);
        let modes = NAMES.map(|name| {
            harness.inbox.channel_cache.ordered_mode(&workspace(), &ChannelId::new(name))
        });
        assert_eq!(modes, [Some(Mode::Propose), Some(Mode::Off), None, None]);
    })
    .await;
}
