//! What a scheduled backup removes of backups that were not finished, and what it leaves alone.

use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::scheduled_backup::ScheduledBackup;
use aizuchi_harness::fixtures::at;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::clock::Clock;
use jiff::SignedDuration;

#[tokio::test]
async fn a_backup_that_a_user_is_making_beside_the_scheduled_ones_is_left_alone() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let schedule = ScheduledBackup {
            location: store.database.as_ref().unwrap().address.clone(),
            folder: folder.path().to_owned(),
            interval: SignedDuration::from_hours(24),
            keep: 7,
            clock: Clock::manual(at(30 * 3600)),
            metrics: Arc::new(Metrics::default()),
        };
        let part = |name: &str, written: i64| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::from(at(written))).unwrap();
            path
        };
        let by_hand = part("aizuchi-monday.db.77.part", 29 * 3600);
        let given_up = part("aizuchi-sunday.db.77.part", 3600);
        let scheduled = part("aizuchi-20270101T000000Z.db.77.part", 29 * 3600);
        schedule.step().await.unwrap();
        let exist = [&by_hand, &given_up, &scheduled].map(|path| path.exists());
        assert_eq!(exist, [true, false, false]);
    })
    .await;
}
