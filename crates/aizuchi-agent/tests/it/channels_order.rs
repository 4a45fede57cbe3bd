//! One order for several channels: what it changes at once, and what undoing it restores, on every database.

use aizuchi_harness::fixtures::{message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{ChannelId, Role};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{
    Confidence, PlaceSetting, SettingChange, SettingRole, SettingScope,
};
use aizuchi_store::channels_order::{
    ChannelChange, ChannelsOrder, ChannelsOrderKind, ChannelsRecord, UnchangedReason,
};
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind};
use jiff::Timestamp;

const NAMES: [&str; 4] = ["attic", "garden", "kitchen", "porch"];

fn ids() -> Vec<ChannelId> {
    NAMES.map(ChannelId::new).into()
}

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

/// Gives the order and returns its number and its record in the journal.
async fn give(harness: &Harness, what: ChannelsOrderKind) -> (i64, ChannelsRecord) {
    let order = ChannelsOrder { workspace: workspace(), what, by: "vera".into() };
    harness.inbox.change_channels(order).await.unwrap();
    let query = OrderJournalQuery { workspace: None, before: None, limit: 1 };
    let given = harness.store.archive.order_journal(&query).await.unwrap().remove(0);
    assert_eq!((given.record.kind, &*given.by), (OrderKind::ChangeChannels, "vera"));
    (given.number, given.channels().unwrap().unwrap())
}

async fn change(harness: &Harness, change: ChannelChange) -> (i64, ChannelsRecord) {
    let unknown = vec![ChannelId::new("cellar")];
    give(harness, ChannelsOrderKind::Change { change, channels: ids(), unknown }).await
}

#[tokio::test]
async fn undoing_an_order_for_several_channels_restores_what_each_had() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for (number, name) in NAMES.iter().enumerate() {
            let at = harness.clock.now();
            let id = format!("m{number}");
            harness.hear(message(top_level(name), &id, at, "mia", "the roses bloom")).await;
        }
        let keeper = SettingRole::Keeper;
        for order in [
            mode("attic", Some(Mode::Propose)),
            mode("garden", Some(Mode::Companion)),
            confidence("garden", 0.9, keeper),
            confidence("kitchen", 0.8, SettingRole::Admin),
            confidence("kitchen", 0.95, SettingRole::Member),
            mute("attic", "2100-01-01T00:00:00Z", Role::Member),
            mute("garden", "2101-01-01T00:00:00Z", Role::Admin),
        ] {
            harness.inbox.apply_order(order).await.unwrap();
        }
        let before = told(&harness).await;
        let forever = Timestamp::MAX.as_millisecond();
        let confident =
            ["attic", "garden", "kitchen", "porch"].map(|it| format!("{it} 0.5 by admin"));
        for (order, changed, expected) in [
            (
                ChannelChange::Mode(Some(Mode::Observe)),
                4,
                NAMES.map(|it| format!("{it} observe")).to_vec(),
            ),
            (ChannelChange::Mode(None), 2, Vec::new()),
            (
                ChannelChange::Mute(Some(forever)),
                4,
                NAMES.map(|it| format!("{it} muted by admin until {}", Timestamp::MAX)).to_vec(),
            ),
            (ChannelChange::Mute(None), 2, Vec::new()),
            (ChannelChange::MinConfidence(Some(500)), 4, confident.to_vec()),
            (ChannelChange::MinConfidence(None), 2, Vec::new()),
        ] {
            let (number, record) = change(&harness, order).await;
            assert_eq!(record.changed.len(), changed, "{order:?}");
            assert_eq!(
                record.unchanged,
                [(ChannelId::new("cellar"), UnchangedReason::Unknown)],
                "{order:?}"
            );
            let after = told(&harness).await;
            assert!(expected.iter().all(|it| after.contains(it)), "{order:?}: {after:?}");
            if let ChannelChange::Mode(mode) = order {
                let cached = harness.inbox.channel_cache.ordered_mode(&workspace(), &ids()[3]);
                assert_eq!(cached, mode);
            }
            // What undoes an order is not undone, and a second time finds nothing as it left it.
            let undo = || ChannelsOrderKind::Undo { number, record: record.clone() };
            let (_, undone) = give(&harness, undo()).await;
            assert_eq!((undone.undoes, undone.changed.len()), (Some(number), changed));
            assert!(record.may_undo() && !undone.may_undo());
            assert_eq!(told(&harness).await, before, "{order:?}");
            let (_, again) = give(&harness, undo()).await;
            assert_eq!((again.changed.len(), again.unchanged.len()), (0, changed), "{order:?}");
            assert_eq!(told(&harness).await, before, "{order:?}");
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
        let (number, record) = change(&harness, ChannelChange::Mode(Some(Mode::Observe))).await;
        harness.inbox.apply_order(mode("garden", Some(Mode::Off))).await.unwrap();
        // Another aspect does not count.
        let muted = mute("kitchen", "2100-01-01T00:00:00Z", Role::Admin);
        harness.inbox.apply_order(muted).await.unwrap();
        let (_, undone) = give(&harness, ChannelsOrderKind::Undo { number, record }).await;
        let garden = (ChannelId::new("garden"), UnchangedReason::ChangedSince);
        assert_eq!(undone.unchanged, [garden]);
        let modes = [("attic", Mode::Propose), ("garden", Mode::Off)];
        let modes = modes.map(|(channel, mode)| (ChannelId::new(channel), mode));
        assert_eq!(in_force(&harness).await.modes, modes);
        for (channel, expected) in ids().iter().zip([Some(Mode::Propose), Some(Mode::Off), None]) {
            let cached = harness.inbox.channel_cache.ordered_mode(&workspace(), channel);
            assert_eq!(cached, expected, "{channel}");
        }
    })
    .await;
}
