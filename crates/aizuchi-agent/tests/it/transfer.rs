//! Moving databases: into a backup, back from it, and from one kind to the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::scheduled_backup::ScheduledBackup;
use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::postgres;
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Role, UserId};
use aizuchi_model::clock::Clock;
use aizuchi_model::rules::setting_override::{
    PlaceSetting, SettingChange, SettingRole, SettingScope, Switch,
};
use aizuchi_store::database::connection::{Connection, Row, query};
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_store::database::schema::{migrate, set_moved_to};
use aizuchi_store::order::Order;
use aizuchi_store::sqlite::earlier_version::remove_copies;
use aizuchi_store::transfer::tables::{Table, TableDigest};
use aizuchi_store::transfer::{IfOccupied, MoveReport, back_up, move_to, restore};
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::forgetting::{HearText, generate};

/// A location without a database, of either kind.
fn empty_place(kind: StoreKind, folder: &TempDir) -> DatabaseLocation {
    match kind {
        StoreKind::Postgres => {
            DatabaseLocation::Postgres(PostgresUrl::parse(&postgres::database()).unwrap())
        }
        StoreKind::Sqlite | StoreKind::Volatile => {
            DatabaseLocation::Sqlite(folder.path().join("elsewhere").join("new.db"))
        }
    }
}

fn place(store: &TestStore) -> DatabaseLocation {
    store.database.as_ref().unwrap().address.clone()
}

async fn connect(location: &DatabaseLocation) -> Connection {
    use sqlx::{ConnectOptions as _, Connection as _};
    match location {
        DatabaseLocation::Sqlite(path) => {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
            Connection::Sqlite(options.connect().await.unwrap())
        }
        DatabaseLocation::Postgres(server) => {
            Connection::Postgres(sqlx::PgConnection::connect(server.url()).await.unwrap())
        }
    }
}

/// The digest of every table.
async fn digests(location: &DatabaseLocation) -> Vec<(String, TableDigest)> {
    let mut connection = connect(location).await;
    let mut digests = Vec::new();
    for table in Table::list(&mut connection).await.unwrap() {
        let digest = table.digest(&mut connection).await.unwrap();
        digests.push((table.name, digest));
    }
    connection.close().await.unwrap();
    digests
}

fn without_counters(digests: Vec<(String, TableDigest)>) -> Vec<(String, TableDigest)> {
    digests.into_iter().filter(|(table, _)| table != "counters").collect()
}

/// The tables that a restore leaves unchanged.
fn without_posts(digests: Vec<(String, TableDigest)>) -> Vec<(String, TableDigest)> {
    without_counters(digests).into_iter().filter(|(table, _)| table != "outbox").collect()
}

async fn count(location: &DatabaseLocation, statement: &'static str) -> i64 {
    let row = query(statement).fetch_one(&mut connect(location).await).await.unwrap();
    row.number("n").unwrap().unwrap()
}

async fn installation(location: &DatabaseLocation) -> String {
    let mut connection = connect(location).await;
    let row = query("SELECT installation FROM counters").fetch_one(&mut connection).await.unwrap();
    row.text("installation").unwrap().unwrap()
}

#[tokio::test]
async fn a_backup_holds_everything_and_is_restored_into_either_database() {
    for from in StoreKind::DATABASES {
        let folder = tempfile::tempdir().unwrap();
        let (_, _, store) = generate(7, from).await;
        let source = place(&store);
        let before = digests(&source).await;
        // While another process uses it.
        let file = folder.path().join("backup.db");
        let report = back_up(&source, &file).await.unwrap();
        assert!(report.rows() > 150 && report.rows_of("messages") > 30, "{report:?}");
        let backup = DatabaseLocation::Sqlite(file.clone());
        assert_eq!(without_counters(digests(&backup).await), without_counters(before.clone()));
        for to in StoreKind::DATABASES {
            let target = empty_place(to, &folder);
            let report = restore(&file, &target, IfOccupied::Refuse).await.unwrap();
            assert_eq!((report.forgotten, &report.set_aside), (0, &None));
            assert_eq!(without_posts(digests(&target).await), without_posts(before.clone()));
            let marks = [
                installation(&source).await,
                installation(&backup).await,
                installation(&target).await,
            ];
            assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2]);
            let unsent = "SELECT count(*) AS n FROM outbox WHERE state = 'draft'";
            assert!(count(&source, unsent).await > 0);
            assert_eq!(count(&target, unsent).await, 0, "what may have been posted is looked for");
            // The restored database can be used immediately, and its messages are found.
            assert_eq!(refusal(&target).await, None);
            std::fs::remove_dir_all(folder.path().join("elsewhere")).ok();
        }
        let error = back_up(&source, &file).await.unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
        store.stop().await;
    }
}

#[tokio::test]
async fn who_was_forgotten_stays_forgotten_when_an_older_backup_is_restored() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        for number in 0..120 {
            let text = format!("the shed number {number} leaks");
            store.hear_text(&format!("a{number}"), number, "alice", &text).await;
        }
        store.hear_text("b1", 200, "bob", "hm").await;
        back_up(&place(&store), &file).await.unwrap();
        let user = UserId::new("u-alice");
        let order = Order::Forget { workspace: workspace(), user, asked: at(300) };
        store.store.order(order, at(300)).await.unwrap();
        store.finish_forgetting(at(300)).await;
        store.hear_text("a900", 900, "alice", "a new day").await;
        let target = place(&store);
        let _folder = store.database.clone();
        store.stop().await;
        let error = restore(&file, &target, IfOccupied::Refuse).await.unwrap_err().to_string();
        assert!(error.contains("messages; --replace replaces it"), "{error}");
        let report = restore(&file, &target, IfOccupied::Replace).await.unwrap();
        assert_eq!(report.forgotten, 1);
        assert_eq!(report.set_aside.is_some(), matches!(target, DatabaseLocation::Sqlite(_)));
        let store = TestStore::reopen(&target).await;
        store.finish_forgetting(at(1000)).await;
        let left = "SELECT count(*) AS n FROM messages WHERE text LIKE '%shed%'";
        let database = store.database.clone().unwrap();
        assert_eq!(database.count(left).await, 0);
        let bobs = "SELECT count(*) AS n FROM messages WHERE text = 'hm'";
        assert_eq!(database.count(bobs).await, 1);
        // The same backup again: she is known as forgotten there.
        store.stop().await;
        assert_eq!(restore(&file, &target, IfOccupied::Replace).await.unwrap().forgotten, 1);
    })
    .await;
}

#[tokio::test]
async fn a_moved_database_is_used_in_its_new_place_only() {
    for (from, to) in [
        (StoreKind::Sqlite, StoreKind::Postgres),
        (StoreKind::Postgres, StoreKind::Sqlite),
        (StoreKind::Sqlite, StoreKind::Sqlite),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, _, store) = generate(11, from).await;
        let (old, new) = (place(&store), empty_place(to, &folder));
        let _folder = store.database.clone();
        let error = move_to(&old, &new, IfOccupied::Refuse).await.unwrap_err().to_string();
        assert!(error.contains("another Aizuchi is"), "{error}");
        store.stop().await;
        let before = digests(&old).await;
        let MoveReport::Moved(report) = move_to(&old, &new, IfOccupied::Refuse).await.unwrap()
        else {
            panic!("it was moved");
        };
        assert!(report.rows_of("messages") > 30);
        assert_eq!(digests(&new).await, before);
        let refused = refusal(&old).await.unwrap();
        assert!(refused.contains(&format!("was moved to {new}")), "{refused}");
        // A call whose answer was lost is repeated.
        assert_eq!(move_to(&old, &new, IfOccupied::Refuse).await.unwrap(), MoveReport::WasMoved);
        assert_eq!(refusal(&new).await, None);
        // And back.
        let error =
            move_within(usize::MAX, &new, &old, IfOccupied::Refuse).await.unwrap().unwrap_err();
        assert!(error.contains("was moved to") || error.contains("--replace"), "{error}");
        move_within(usize::MAX, &new, &old, IfOccupied::Replace).await.unwrap().unwrap();
        assert_eq!(digests(&old).await, before);
        assert!(refusal(&new).await.is_some_and(|error| error.contains("was moved to")));
        assert_eq!(refusal(&old).await, None);
    }
}

/// Once the old database is closed to all processes, the next call completes an interrupted move.
#[tokio::test]
async fn a_move_that_was_stopped_is_done_by_the_next_call() {
    for (from, to) in
        [(StoreKind::Sqlite, StoreKind::Postgres), (StoreKind::Postgres, StoreKind::Sqlite)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (_, _, store) = generate(3, from).await;
        let (old, new) = (place(&store), empty_place(to, &folder));
        let _folder = store.database.clone();
        store.stop().await;
        let before = digests(&old).await;
        // Dropped at later and later await points.
        let mut polls = 1;
        loop {
            if let Some(moved) = move_within(polls, &old, &new, IfOccupied::Refuse).await {
                moved.unwrap();
                break;
            }
            let is_open = [refusal(&old).await.is_none(), refusal(&new).await.is_none()];
            assert!(is_open != [true, true] || digests(&new).await != before, "after {polls}");
            polls = polls * 2 + 1;
        }
        assert_eq!(digests(&new).await, before, "{old}");
        assert!(refusal(&old).await.is_some() && refusal(&new).await.is_none());
    }
}

/// The new database of an unfinished move is empty. It must not be moved back over its source.
#[tokio::test]
async fn an_unfinished_move_cannot_be_turned_back_over_its_source() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (place(&store), empty_place(StoreKind::Sqlite, &folder));
        let _folder = store.database.clone();
        store.hear_text("a1", 1, "alice", "the pump key hangs behind the green door").await;
        store.stop().await;
        let before = digests(&old).await;
        // A move that was interrupted after its first step.
        let mut connection = connect(&old).await;
        set_moved_to(&mut connection, &new.to_string()).await.unwrap();
        connection.close().await.unwrap();
        TestStore::reopen(&new).await.stop().await;
        let error =
            move_within(usize::MAX, &new, &old, IfOccupied::Replace).await.unwrap().unwrap_err();
        assert!(error.contains("If the move did not finish, run it again"), "{error}");
        assert_eq!(digests(&old).await, before);
        let moved = move_within(usize::MAX, &old, &new, IfOccupied::Refuse).await.unwrap();
        assert!(matches!(moved, Ok(MoveReport::Moved(_))), "{moved:?}");
        assert_eq!(without_counters(digests(&new).await), without_counters(before));
    })
    .await;
}

#[tokio::test]
async fn a_move_that_is_repeated_days_later_changes_nothing() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (place(&store), empty_place(StoreKind::Sqlite, &folder));
        let _folder = store.database.clone();
        store.stop().await;
        move_to(&old, &new, IfOccupied::Replace).await.unwrap();
        let used = TestStore::reopen(&new).await;
        used.hear_text("a1", 1, "alice", "said in the new place").await;
        used.stop().await;
        assert_eq!(move_to(&old, &new, IfOccupied::Replace).await.unwrap(), MoveReport::WasMoved);
        let said = "SELECT count(*) AS n FROM messages WHERE text = 'said in the new place'";
        let mut connection = connect(&new).await;
        let row = query(said).fetch_one(&mut connection).await.unwrap();
        assert_eq!(row.number("n").unwrap(), Some(1));
    })
    .await;
}

/// SQLite would replay a leftover log into the file that replaces the old one.
#[tokio::test]
async fn a_log_that_is_left_is_not_put_beside_a_restored_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let store = TestStore::sqlite().await;
    store.hear_text("a1", 1, "alice", "the pump key hangs behind the green door").await;
    back_up(&place(&store), &file).await.unwrap();
    let path = folder.path().join("new.db");
    let target = DatabaseLocation::Sqlite(path.clone());
    std::fs::write(folder.path().join("new.db-wal"), [0x37, 0x7f, 0x06, 0x82]).unwrap();
    let error = restore(&file, &target, IfOccupied::Replace).await.unwrap_err().to_string();
    assert!(error.contains("new.db-wal is left of another database"), "{error}");
    std::fs::remove_file(folder.path().join("new.db-wal")).unwrap();
    // An empty file at the target is no obstacle.
    std::fs::write(&path, "").unwrap();
    restore(&file, &target, IfOccupied::Refuse).await.unwrap();
    // While another process reads it, the file to replace stays.
    let before = digests(&target).await;
    let used = TestStore::reopen(&target).await;
    used.hear_text("a2", 2, "alice", "and it is red").await;
    let reader = place(&used);
    let mut reading = connect(&reader).await;
    query("BEGIN").execute(&mut reading).await.unwrap();
    query("SELECT count(*) AS n FROM messages").fetch_one(&mut reading).await.unwrap();
    used.hear_text("a3", 3, "alice", "as of today").await;
    used.stop().await;
    let refused = restore(&file, &target, IfOccupied::Replace).await;
    assert!(refused.is_err(), "{refused:?}");
    query("COMMIT").execute(&mut reading).await.unwrap();
    reading.close().await.unwrap();
    restore(&file, &target, IfOccupied::Replace).await.unwrap();
    assert_eq!(without_counters(digests(&target).await), without_counters(before));
    store.stop().await;
}

#[tokio::test]
async fn who_was_forgotten_stays_so_over_two_restores() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let [monday, wednesday] =
            ["monday.db", "wednesday.db"].map(|name| folder.path().join(name));
        let target = place(&store);
        let _folder = store.database.clone();
        store.hear_text("a1", 1, "alice", "hm").await;
        // A user who wrote nothing is on record, too.
        let carol = UserId::new("u-carol");
        let opt_out = Order::OptOut { workspace: workspace(), user: carol.clone() };
        store.store.order(opt_out, at(1)).await.unwrap();
        back_up(&target, &monday).await.unwrap();
        store.hear_text("b1", 2, "bob", "the shed leaks").await;
        back_up(&target, &wednesday).await.unwrap();
        for user in [UserId::new("u-bob"), carol] {
            let order = Order::Forget { workspace: workspace(), user, asked: at(300) };
            store.store.order(order, at(300)).await.unwrap();
            store.finish_forgetting(at(300)).await;
        }
        store.stop().await;
        assert_eq!(restore(&monday, &target, IfOccupied::Replace).await.unwrap().forgotten, 1);
        assert_eq!(restore(&wednesday, &target, IfOccupied::Replace).await.unwrap().forgotten, 2);
    })
    .await;
}

/// Moves, unless that takes more than this many polls. Retries while the database is in use, since a server ends the
/// session of a dropped call only a moment later.
async fn move_within(
    polls: usize,
    from: &DatabaseLocation,
    to: &DatabaseLocation,
    occupied: IfOccupied,
) -> Option<Result<MoveReport, String>> {
    loop {
        let moved = stopped_after(polls, move_to(from, to, occupied)).await?;
        match moved.map_err(|error| error.to_string()) {
            Err(error) if error.contains("another Aizuchi is") => tokio::task::yield_now().await,
            moved => return Some(moved),
        }
    }
}

/// Why the database cannot be opened. `None` if it can.
async fn refusal(location: &DatabaseLocation) -> Option<String> {
    loop {
        match location.open().await.err().map(|error| error.to_string()) {
            Some(error) if error.contains("another Aizuchi is") => tokio::task::yield_now().await,
            refusal => return refusal,
        }
    }
}

/// The result of some work, unless it takes more polls.
async fn stopped_after<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        left = left.saturating_sub(1);
        match work.as_mut().poll(context) {
            std::task::Poll::Ready(result) => std::task::Poll::Ready(Some(result)),
            std::task::Poll::Pending if left == 0 => std::task::Poll::Ready(None),
            std::task::Poll::Pending => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn a_restored_companion_remembers_and_answers() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        let harness = Harness::new(store).await;
        harness.says("alice", "the pump key hangs behind the green door").await;
        harness.pass(400).await;
        back_up(&place(&harness.store), &file).await.unwrap();
        let target = empty_place(StoreKind::Sqlite, &folder);
        restore(&file, &target, IfOccupied::Refuse).await.unwrap();
        let harness = Harness::new(TestStore::reopen(&target).await).await;
        harness.pass(1000).await;
        harness
            .says_in(
                aizuchi_harness::fixtures::top_level("kitchen"),
                "bob",
                "@Aizuchi where hangs the pump key?",
            )
            .await;
        harness.pass(10).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply);
        assert!(asked[0].contains("behind the green door"), "{}", asked[0]);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = empty_place(StoreKind::Sqlite, &folder);
    let refusal = async |name: &str, bytes: &[u8]| {
        let file: PathBuf = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        restore(&file, &target, IfOccupied::Refuse).await.unwrap_err().to_string()
    };
    let nothing = refusal("empty", b"").await;
    assert!(nothing.contains("is not an Aizuchi database"), "{nothing}");
    let text = refusal("text", b"a text that is long enough to be read as the header of a file, but is none, and ends only after more than one hundred bytes").await;
    assert!(text.contains("text"), "{text}");
    let missing =
        restore(Path::new("/nowhere/backup.db"), &target, IfOccupied::Refuse).await.unwrap_err();
    assert!(missing.to_string().ends_with("/nowhere/backup.db is not a file"), "{missing}");
    assert!(!folder.path().join("elsewhere").join("new.db").exists());
    let (_, _, store) = generate(5, StoreKind::Sqlite).await;
    let file = folder.path().join("backup.db");
    back_up(&place(&store), &file).await.unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0x55);
    let damaged = refusal("damaged", &bytes).await;
    assert!(damaged.contains("damaged"), "{damaged}");
    let cut = refusal("cut", &bytes[..half]).await;
    assert!(cut.contains("cut"), "{cut}");
    assert!(!folder.path().join("elsewhere").join("new.db").exists());
}

#[tokio::test]
async fn backups_are_written_when_they_are_due_and_old_ones_go() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(at(0));
        let metrics = Arc::new(Metrics::default());
        let schedule = ScheduledBackup {
            location: place(&store),
            folder: folder.path().join("kept").join("backups"),
            interval: SignedDuration::from_hours(24),
            keep: 2,
            clock: clock.clone(),
            metrics: metrics.clone(),
        };
        store.hear_text("a1", 1, "alice", "the pump key hangs behind the green door").await;
        let (shutdown, folder) = (CancellationToken::new(), schedule.folder.clone());
        let names = || {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                files.map(|file| file.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let running = schedule.run(shutdown.clone());
        let watching = async {
            let until = async |expected: &[&str]| {
                while names() != expected {
                    tokio::task::yield_now().await;
                }
            };
            until(&["aizuchi-20270115T080000Z.db"]).await;
            clock.advance_to(at(25 * 3600));
            until(&["aizuchi-20270115T080000Z.db", "aizuchi-20270116T090000Z.db"]).await;
            clock.advance_to(at(50 * 3600));
            until(&["aizuchi-20270116T090000Z.db", "aizuchi-20270117T100000Z.db"]).await;
            // Leftovers of a killed process are deleted with the next backup, and a backup with a date in the future
            // does not count.
            std::fs::write(folder.join("aizuchi-20270101T000000Z.db.77.part"), "half").unwrap();
            std::fs::write(folder.join("aizuchi-20290101T000000Z.db"), "of a wrong clock").unwrap();
            clock.advance_to(at(75 * 3600));
            until(&["aizuchi-20270117T100000Z.db", "aizuchi-20270118T110000Z.db"]).await;
            // Nothing is due before the interval has passed.
            clock.advance_to(at(98 * 3600));
            assert_eq!(names().len(), 2);
            shutdown.cancel();
        };
        let (ran, ()) = tokio::join!(running, watching);
        ran.unwrap();
        let made = format!("aizuchi_last_backup_timestamp_seconds {}.0", at(75 * 3600).as_second());
        assert!(metrics.to_openmetrics(None).contains(&made));
        // A newly started process knows about it immediately.
        let metrics = Arc::new(Metrics::default());
        let restarted = ScheduledBackup { metrics: metrics.clone(), ..schedule };
        restarted.run(shutdown).await.unwrap();
        assert_eq!(metrics.last_backup(), Some(at(75 * 3600)));
        let backup = folder.join("aizuchi-20270117T100000Z.db");
        let target = DatabaseLocation::Sqlite(folder.join("restored.db"));
        assert_eq!(
            restore(&backup, &target, IfOccupied::Refuse).await.unwrap().copied.rows_of("messages"),
            1
        );
    })
    .await;
}

/// A reader of a backup cannot tell from a plain hash of an id who was forgotten, nor compare two installations.
#[tokio::test]
async fn who_was_forgotten_is_kept_with_the_salt_of_the_installation() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let [before, after, elsewhere] =
            ["before.db", "after.db", "elsewhere.db"].map(|name| folder.path().join(name));
        let target = place(&store);
        let _folder = store.database.clone();
        store.hear_text("a1", 1, "alice", "the shed leaks").await;
        store.hear_text("b1", 2, "bob", "hm").await;
        back_up(&target, &before).await.unwrap();
        for (user, second) in [("u-alice", 300), ("u-bob", 301)] {
            let order = Order::Forget {
                workspace: workspace(),
                user: UserId::new(user),
                asked: at(second),
            };
            store.store.order(order, at(second)).await.unwrap();
        }
        store.finish_forgetting(at(400)).await;
        back_up(&target, &after).await.unwrap();
        let kept = forgotten_users(&store).await;
        let (salt, alice) = (kept[0].1.clone(), plain_hash("u-alice"));
        assert!(salt.len() == 32 && kept.len() == 2 && kept[1].1 == salt, "{kept:?}");
        assert!(kept.iter().all(|(hash, _)| *hash != alice), "{kept:?}");
        // The salt moves with the database.
        let elsewhere = DatabaseLocation::Sqlite(elsewhere);
        assert_eq!(restore(&after, &elsewhere, IfOccupied::Refuse).await.unwrap().forgotten, 0);
        let restored = TestStore::reopen(&elsewhere).await;
        assert_eq!(forgotten_users(&restored).await, kept);
        restored.stop().await;
        // An older version stored the hash without a salt. The salt is added, and until then the plain hash is
        // understood, even in a backup.
        let database = store.database.clone().unwrap();
        let mut connection = database.connect().await;
        let bare = format!("UPDATE forgotten_users SET salt = '', user_hash = '{alice}'");
        let others = query(
            "DELETE FROM forgotten_users WHERE at_ms > (SELECT min(at_ms) FROM forgotten_users)",
        );
        others.execute(&mut connection).await.unwrap();
        connection.execute_with(bare, Vec::new()).await.unwrap();
        connection.close().await.unwrap();
        store.stop().await;
        assert_eq!(restore(&before, &target, IfOccupied::Replace).await.unwrap().forgotten, 1);
        let store = TestStore::reopen(&target).await;
        let kept = forgotten_users(&store).await;
        assert!(kept.iter().all(|(hash, salt)| salt.len() == 32 && *hash != alice), "{kept:?}");
        assert_eq!(kept.len(), 1, "{kept:?}");
        store.stop().await;
        // She was forgotten after the backup, so she is forgotten again; if that is in the backup, she may come
        // back.
        assert_eq!(restore(&before, &target, IfOccupied::Replace).await.unwrap().forgotten, 1);
    })
    .await;
}

/// The hashes of the forgotten users, with their salts.
async fn forgotten_users(store: &TestStore) -> Vec<(String, String)> {
    let mut connection = store.database.as_ref().unwrap().connect().await;
    let rows = query("SELECT user_hash, salt FROM forgotten_users ORDER BY user_hash");
    let rows = rows.fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let text = |row: &Row, column: &str| row.text(column).unwrap().unwrap();
    rows.iter().map(|row| (text(row, "user_hash"), text(row, "salt"))).collect()
}

/// The hash of a user as stored before there were salts.
fn plain_hash(user: &str) -> String {
    let mut hash = Sha256::new();
    for part in [workspace().as_str(), user] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn who_opted_out_has_still_done_so_when_an_older_backup_is_restored() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        store.hear_text("a1", 1, "alice", "the shed leaks").await;
        store.hear_text("b1", 2, "bob", "hm").await;
        back_up(&place(&store), &file).await.unwrap();
        let order = Order::OptOut { workspace: workspace(), user: UserId::new("u-alice") };
        store.store.order(order, at(300)).await.unwrap();
        let setting = Order::ChangeSetting {
            workspace: workspace(),
            scope: SettingScope::Workspace,
            change: SettingChange::Set(PlaceSetting::Memory(Switch::Off)),
            role: SettingRole::Admin,
            by: "olga".into(),
            at: at(300),
        };
        store.store.order(setting, at(300)).await.unwrap();
        let target = place(&store);
        let _folder = store.database.clone();
        store.stop().await;
        let report = restore(&file, &target, IfOccupied::Replace).await.unwrap();
        assert_eq!((report.opted_out, report.forgotten), (1, 0));
        let store = TestStore::reopen(&target).await;
        let orders = store.store.orders(&workspace()).await.unwrap();
        assert_eq!(orders.opted_out, [UserId::new("u-alice")]);
        assert_eq!(orders.settings.len(), 1);
        store.finish_forgetting(at(1000)).await;
        assert_eq!(
            count(&target, "SELECT count(*) AS n FROM messages WHERE withheld = 1").await,
            1
        );
        store.stop().await;
    })
    .await;
}

/// The machine's previous data is lost: the backup's orders are the newest ones.
#[tokio::test]
async fn a_new_database_takes_no_orders_from_a_backup() {
    for kind in StoreKind::DATABASES {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        let (_, _, store) = generate(7, kind).await;
        for channel in [None, Some(ChannelId::new("garden"))] {
            let (workspace, until, by) = (workspace(), at(90_000), Role::Member);
            let mute = Order::Mute { workspace, channel, until, by };
            store.store.order(mute, at(300)).await.unwrap();
        }
        back_up(&place(&store), &file).await.unwrap();
        let target = empty_place(kind, &folder);
        // A start has left an empty database there.
        assert_eq!(refusal(&target).await, None);
        restore(&file, &target, IfOccupied::Refuse).await.unwrap();
        assert_eq!(count(&target, "SELECT count(*) AS n FROM mutes").await, 2);
        // The replaced database is newer.
        let unmute = Order::Unmute { workspace: workspace(), channel: None, by: Role::Admin };
        store.store.order(unmute, at(400)).await.unwrap();
        let own = place(&store);
        let _folder = store.database.clone();
        store.stop().await;
        restore(&file, &own, IfOccupied::Replace).await.unwrap();
        assert_eq!(count(&own, "SELECT count(*) AS n FROM mutes").await, 1);
    }
}

#[tokio::test]
async fn what_a_process_left_that_died_while_it_wrote_a_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = TestStore::sqlite().await;
    let file = folder.path().join("backup.db");
    // No process has this id, and the other one is alive.
    let of_the_dead = folder.path().join("backup.db.4194305.part");
    let of_the_living =
        folder.path().join(format!("backup.db.{}.part", std::os::unix::process::parent_id()));
    let other = folder.path().join("other.db.4194305.part");
    for part in [&of_the_dead, &of_the_living, &other] {
        std::fs::write(part, "unfinished").unwrap();
    }
    back_up(&place(&store), &file).await.unwrap();
    assert_eq!((of_the_dead.exists(), of_the_living.exists(), other.exists()), (false, true, true));
    store.stop().await;
}

#[tokio::test]
async fn the_file_is_kept_as_the_earlier_version_left_it() {
    let folder = tempfile::tempdir().unwrap();
    let location = put_earlier_version(&folder).await;
    assert_eq!(refusal(&location).await, None);
    let copy = DatabaseLocation::Sqlite(folder.path().join("aizuchi.db.before-11"));
    let newest = "SELECT max(version) AS n FROM _sqlx_migrations";
    assert_eq!(count(&copy, newest).await, 10);
    assert!(count(&location, newest).await > 10);
    assert_eq!(refusal(&location).await, None);
    // A user who downgrades and upgrades again later finds the copy from the first time. In a folder of its own: the
    // driver may still be closing the other database, whose log has the same name.
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("aizuchi.db.before-11");
    std::fs::write(&kept, "of the first upgrade").unwrap();
    let own = folder.path().join("aizuchi.db.before-20260101");
    std::fs::write(&own, "the operator's").unwrap();
    let location = put_earlier_version(&folder).await;
    assert_eq!(refusal(&location).await, None);
    assert_eq!(count(&DatabaseLocation::Sqlite(kept.clone()), newest).await, 10);
    let DatabaseLocation::Sqlite(path) = &location else { panic!() };
    remove_copies(path, Duration::from_secs(60));
    assert!(kept.exists());
    remove_copies(path, Duration::ZERO);
    assert!(!kept.exists() && own.exists());
}

/// Puts a database of an earlier version into a folder.
async fn put_earlier_version(folder: &TempDir) -> DatabaseLocation {
    let path = folder.path().join("aizuchi.db");
    let earlier = &aizuchi_store::sqlite::MIGRATIONS[..10];
    let (mut old, lock) = aizuchi_store::sqlite::connect(&path).await.unwrap();
    migrate("the file", earlier, &mut old).await.unwrap();
    old.close().await.unwrap();
    drop(lock);
    DatabaseLocation::Sqlite(path)
}
