//! The period of a report on the ledger: it begins when it was asked to, or with the first message of all.

use aizuchi_config::Config;
use aizuchi_harness::fixtures::{new_channel, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::Visibility;
use aizuchi_past::report::builder::{ReportBuilder, ReportOptions};
use aizuchi_past::report::figures::{LeftOut, Privacy, ReportSource};
use aizuchi_past::report::from_ledger::ChannelLedger;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

const DAY: i64 = 86_400;

/// Days without a message count, too: what a month costs is computed from the length of the period.
#[tokio::test]
async fn a_quiet_channel_does_not_shorten_the_period() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "is the kiln on?").await;
        harness.pass(20 * DAY).await;
        harness.says("bob", "is the pump on?").await;
        harness.pass(2 * DAY).await;
        let (archive, now) = (&*harness.store.archive, harness.clock.now());
        let garden = new_channel("garden", Visibility::Public);
        for (asked, expected) in [(7, 7), (30, 22)] {
            let since = now - SignedDuration::from_hours(asked * 24);
            let ledger = ChannelLedger::read(archive, &workspace(), &garden, since).await.unwrap();
            let config = Config::default();
            let options = ReportOptions::new(&config, ReportSource::Ledger, TimeZone::UTC);
            let mut builder = ReportBuilder::new(options);
            builder.begin_policy("ledger");
            ledger.add_to(&mut builder, &garden).unwrap();
            builder.include(now, now);
            let left_out = LeftOut {
                bad_records: 0,
                private_channels: Some(0),
                privacy: Privacy::LeftOut,
                records: None,
            };
            let period = builder.finish(left_out).report.period;
            assert_eq!(period.days.round() as i64, expected, "{period:?}");
        }
    })
    .await;
}
