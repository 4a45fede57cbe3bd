//! Forgetting a user: everything of theirs is erased, everything of others stays, and others are heard in the
//! meantime.

pub mod world;

use std::sync::Arc;

use aizuchi_agent::forgetter::Forgetter;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::random::Random;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database};
use aizuchi_model::chat::{Arrival, AuthorKind, Heard, Role, User, UserId, Visibility};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_store::InboxEntry;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::forget::job::{ForgetProgress, ForgettingJob};
use aizuchi_store::database::forget::scrub::{ScrubJob, ScrubProgress};
use aizuchi_store::database::sql;
use aizuchi_store::order::Order;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row as _};

use crate::forgetting::world::World;

const DAY: i64 = 24 * 3600;

// One test per store, since each runs for some time.

#[tokio::test]
async fn what_is_theirs_goes_and_what_is_others_stays_on_sqlite() {
    for seed in 0..cases(40, 200) {
        forget_in_world(seed, StoreKind::Sqlite).await;
    }
}

#[tokio::test]
async fn what_is_theirs_goes_and_what_is_others_stays_on_postgres() {
    for seed in 0..cases(10, 50) {
        forget_in_world(seed, StoreKind::Postgres).await;
    }
}

/// Forgets a user in a generated world, by the operator's order or by their own.
async fn forget_in_world(seed: u64, kind: StoreKind) {
    let (random, world, store) = &mut generate(seed, kind).await;
    let is_by_operator = seed.is_multiple_of(2);
    let now = at(10 * DAY);
    let (user, name) = &world.users[world.person];
    let database = store.database_store.clone().unwrap();
    if is_by_operator {
        let (workspace, id, name) = (workspace(), user.clone(), name.as_str().into());
        let user =
            User { workspace, id, name, kind: AuthorKind::Human, role: Role::Member, zone: None };
        database.forget_user(&user, "", now).await.unwrap();
    } else {
        let order = Order::Forget { workspace: workspace(), user: user.clone(), asked: now };
        store.store.order(order, now).await.unwrap();
        // Parts of the texts are searched one after the other.
        let mut job = ForgettingJob::with_characters_at_once(20 + random.below(200));
        while job.step(&database, now).await.unwrap() != ForgetProgress::Idle {}
        scrub(&database).await;
    }
    check(seed, world, store, is_by_operator).await;
}

/// Removes leftovers outside the tables.
pub async fn scrub(database: &DatabaseStore) {
    let mut job = ScrubJob::default();
    while job.step(database).await.unwrap() == ScrubProgress::Working {}
    assert_eq!(database.scrub_due_since().await.unwrap(), None);
}

pub async fn generate(seed: u64, kind: StoreKind) -> (Random, World, TestStore) {
    let mut random = Random(seed);
    let mut world = World::generate(&mut random);
    let store = kind.open().await;
    world.store(&mut random, &store).await;
    // The fixtures have used numbers and revisions that the store would assign.
    (random, world, store.restart().await)
}

/// Checks that no byte of theirs is left, and that everything of others is.
async fn check(seed: u64, world: &World, store: &TestStore, is_by_operator: bool) {
    let dump = dump(store).await;
    let person = &world.users[world.person];
    for (index, sent) in world.sent.iter().enumerate() {
        let is_there = dump.contains(&sent.word);
        let is_theirs = world.is_theirs(index);
        assert_eq!(is_there, !is_theirs, "{seed}: {} of {:?}", sent.text, person);
        assert!(is_theirs || dump.contains(&sent.text), "{seed}: {} has changed", sent.text);
    }
    for thing in &world.things {
        let is_about_them = thing.sources.iter().any(|source| world.is_theirs(*source));
        let names_them = world.names_person(thing);
        let is_theirs = is_about_them || (names_them && world.wrote_in(thing.channel));
        let is_there = dump.contains(&thing.word);
        assert_eq!(is_there, !is_theirs, "{seed}: {} {} {person:?}", thing.what, thing.word);
    }
    let ids = dump.matches(person.0.as_str()).count();
    assert!(!is_by_operator || ids == 0, "{seed}: {} is still there {ids} times", person.0);
    for (channel, visibility, members) in &world.channels {
        let is_theirs = members.contains(&world.person) && *visibility == Visibility::Direct;
        let known = store.archive.channels(&workspace()).await.unwrap();
        let known = known.iter().find(|known| known.id == *channel).unwrap();
        assert_eq!(known.name.is_empty(), is_theirs, "{seed}: {channel}");
    }
}

/// Every value of every table and, for a file, every byte.
pub async fn dump(store: &TestStore) -> String {
    let database = store.database.as_ref().unwrap();
    let mut connection = database.connect().await;
    let mut dump = String::new();
    for table in tables(&mut connection).await {
        let statement: &'static str = match connection.is_postgres() {
            true => format!("SELECT t::text AS row FROM \"{table}\" AS t").leak(),
            false => {
                let columns =
                    format!("SELECT name AS row FROM pragma_table_info('{table}')").leak();
                let columns = column(&mut connection, columns).await;
                let values = columns.iter().map(|column| format!("quote(\"{column}\")"));
                let values: Vec<String> = values.collect();
                format!("SELECT {} AS row FROM \"{table}\"", values.join(" || ' ' || ")).leak()
            }
        };
        for row in column(&mut connection, statement).await {
            // PostgreSQL doubles the quotes and backslashes of a row.
            dump += &row.replace("\"\"", "\"").replace("\\\\", "\\").replace("''", "'");
            dump.push('\n');
        }
    }
    let is_file = !connection.is_postgres();
    connection.close().await.unwrap();
    if is_file {
        for file in std::fs::read_dir(database.path().parent().unwrap()).unwrap() {
            dump += &String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }
    dump
}

async fn tables(connection: &mut Connection) -> Vec<String> {
    let statement = match connection.is_postgres() {
        true => "SELECT tablename AS row FROM pg_tables WHERE schemaname = 'public'",
        false => {
            "SELECT name AS row FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'recall_terms%'"
        }
    };
    column(connection, statement).await
}

async fn column(connection: &mut Connection, statement: &'static str) -> Vec<String> {
    let rows = query(statement).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.text("row").unwrap().unwrap_or_default()).collect()
}

#[tokio::test]
async fn forgetting_goes_on_where_a_crash_left_it() {
    for (seeds, kind) in
        [(cases(0..6, 0..12), StoreKind::Sqlite), (cases(0..2, 0..3), StoreKind::Postgres)]
    {
        for seed in seeds {
            let (mut random, world, mut store) = generate(seed, kind).await;
            let now = at(10 * DAY);
            let user = world.users[world.person].0.clone();
            let order = Order::Forget { workspace: workspace(), user, asked: now };
            store.store.order(order, now).await.unwrap();
            let mut is_done = false;
            while !is_done {
                let database = store.database_store.clone().unwrap();
                let mut job = ForgettingJob::with_characters_at_once(100);
                // The job's state is lost with the process.
                for _ in 0..1 + random.below(40) {
                    is_done = job.step(&database, now).await.unwrap() == ForgetProgress::Idle;
                }
                drop(database);
                store = store.restart().await;
            }
            scrub(store.database_store.as_ref().unwrap()).await;
            check(seed, &world, &store, false).await;
        }
    }
}

#[tokio::test]
async fn others_are_heard_between_small_steps() {
    on_every_database(async |store| {
        for number in 0..300 {
            store.hear_text(&format!("a{number}"), number, "alice", "the shed leaks a lot").await;
        }
        let user = UserId::new("u-alice");
        let order = Order::Forget { workspace: workspace(), user, asked: at(500) };
        store.store.order(order, at(500)).await.unwrap();
        let database = store.database_store.clone().unwrap();
        let count = async |what| store.database.as_ref().unwrap().count(what).await;
        let hidden = "SELECT count(*) AS n FROM messages WHERE deleted_ms IS NOT NULL";
        let erased = "SELECT count(*) AS n FROM messages WHERE author = 'forgotten'";
        let mut job = ForgettingJob::default();
        let (mut before, mut steps) = ((count(hidden).await, count(erased).await), 0);
        assert_eq!(before, (50, 0));
        while job.step(&database, at(500)).await.unwrap() != ForgetProgress::Idle {
            let after = (count(hidden).await, count(erased).await);
            assert!(after.0 - before.0 <= 25 && after.1 - before.1 <= 25, "{before:?} {after:?}");
            before = after;
            // What the user says in the meantime comes after the order.
            let user = if steps % 2 == 0 { "bob" } else { "alice" };
            store.hear_text(&format!("b{steps}"), 500 + steps, user, "a new day").await;
            steps += 1;
        }
        assert_eq!(before, (300, 300));
        let kept = "SELECT count(*) AS n FROM messages WHERE text = 'a new day'";
        assert_eq!(count(kept).await, steps);
        assert!(steps > 20, "{steps}");
    })
    .await;
}

/// The messages are hidden from prompts and pages as soon as the order is given, and while it is carried out.
#[tokio::test]
async fn the_newest_messages_are_gone_with_the_order() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for number in 0..40 {
            harness.says("alice", &format!("my secret number {number}")).await;
        }
        let user = UserId::new("u-alice");
        let order = Order::Forget { workspace: workspace(), user, asked: at(0) };
        harness.inbox.apply_order(order).await.unwrap();
        let shown = harness.messages("garden").await;
        assert!(shown.iter().all(|stored| stored.is_deleted && stored.message.text.is_empty()));
        let window = aizuchi_harness::fixtures::window(50);
        let context = harness.store.store.context(&top_level("garden"), &window).await.unwrap();
        assert_eq!(context.target_messages().len(), 0);
    })
    .await;
}

/// Covers everything made from the texts on the way: readings, links, prompts, an answer.
#[tokio::test]
async fn no_cache_of_a_running_program_holds_what_was_forgotten() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let mut heard = Vec::new();
        for number in 0..12 {
            let text = format!("my honey wins prize {number}?");
            let (id, now) = (format!("z{number}"), harness.clock.now());
            let sent = message(top_level("garden"), &id, now, "zebedee", &text);
            heard.push(sent.text.clone());
            harness.hear(sent).await;
            harness.pass(5).await;
        }
        harness.says("bob", "@Aizuchi which prizes?").await;
        harness.pass(400).await;
        let (user, asked) = (UserId::new("u-zebedee"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(4 * DAY).await;
        let held = heard.iter().filter(|text| Arc::strong_count(text) > 1).count();
        assert_eq!(held, 0);
        assert!(!format!("{:?}", harness.inbox.channel_cache).contains("honey"));
    })
    .await;
}

/// Forgetting a user whose name is a common word affects no one else.
#[tokio::test]
async fn a_name_taken_to_be_forgotten_hits_nobody() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for text in ["the roof leaks", "where is the key?", "今日は雨です"] {
            harness.says("bob", text).await;
        }
        harness.says("the", "hello").await;
        harness.says("です", "hello").await;
        harness.says("bob", "@Aizuchi what do you say?").await;
        harness
            .mind
            .script
            .set_default(aizuchi_llm::prompt::PromptVerb::Reply, "the key is in the kitchen です");
        harness.pass(10).await;
        let database = harness.store.database.clone().unwrap();
        let prompts = "SELECT count(*) AS n FROM exchanges";
        for name in ["the", "です"] {
            let (user, asked) = (UserId::new(format!("u-{name}")), harness.clock.now());
            harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
            harness.pass(4 * DAY).await;
        }
        harness.says("bob", "@Aizuchi and the shed?").await;
        harness.pass(10).await;
        assert_eq!(database.count(prompts).await, 1);
        let theirs = "SELECT count(*) AS n FROM messages WHERE author = 'forgotten'";
        assert_eq!(database.count(theirs).await, 2);
        let others = "SELECT count(*) AS n FROM messages WHERE author = 'u-bob' AND text <> ''";
        assert_eq!(database.count(others).await, 5);
    })
    .await;
}

#[tokio::test]
async fn copying_what_others_were_told_does_not_delete_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let answer = "The key of the pump house hangs behind the green door.";
        harness.mind.script.push(aizuchi_llm::prompt::PromptVerb::Reply, Ok(answer));
        harness.says("bob", "@Aizuchi where is the key?").await;
        harness.pass(10).await;
        harness.says_in(top_level("kitchen"), "mallory", answer).await;
        harness.pass(4 * DAY).await;
        let (user, asked) = (UserId::new("u-mallory"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(4 * DAY).await;
        let stored = harness.messages("garden").await;
        assert!(stored.iter().any(|stored| &*stored.message.text == answer && !stored.is_deleted));
        assert!(
            harness.messages("kitchen").await.iter().all(|stored| stored.message.text.is_empty())
        );
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_elsewhere_goes_with_what_it_was_made_from() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "the shed has a hatch behind the roses").await;
        harness.pass(300).await;
        let answer = "There is another way in, where it smells sweet.";
        harness.mind.script.push(aizuchi_llm::prompt::PromptVerb::Reply, Ok(answer));
        harness.platform.fails(&[Fault::Refused]);
        harness
            .says_in(top_level("kitchen"), "bob", "@Aizuchi where has the shed its hatch?")
            .await;
        harness.pass(10).await;
        let asked = harness.mind.prompt_texts(aizuchi_llm::prompt::PromptVerb::Reply);
        assert!(asked[0].contains("behind the roses"), "it was not recalled");
        let letters =
            async || harness.store.archive.dead_letters(&Default::default()).await.unwrap();
        assert_eq!(letters().await[0].text.as_deref(), Some(answer));
        let (user, asked) = (UserId::new("u-alice"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        assert_eq!(letters().await[0].text, None);
    })
    .await;
}

#[tokio::test]
async fn what_is_left_outside_the_tables_goes_in_small_steps() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let database = harness.store.database_store.clone().unwrap();
        for number in 0..600 {
            let text = format!("the shed number {number} leaks xyzzy{number}");
            harness.store.hear_text(&format!("a{number}"), number, "alice", &text).await;
        }
        let (user, asked) = (UserId::new("u-alice"), at(700));
        harness
            .store
            .store
            .order(Order::Forget { workspace: workspace(), user, asked }, asked)
            .await
            .unwrap();
        let cache = harness.inbox.channel_cache.clone();
        let mut forgetter = Forgetter::new(database.clone(), cache, harness.clock.clone(), None);
        let is_file = !harness.store.database.as_ref().unwrap().connect().await.is_postgres();
        // A reader of an older snapshot keeps it in the log.
        let mut reader = harness.store.database.as_ref().unwrap().connect().await;
        for statement in ["BEGIN", "SELECT count(*) AS n FROM messages"] {
            query(statement).fetch_all(&mut reader).await.unwrap();
        }
        while forgetter.step().await.unwrap() {}
        assert_eq!(database.scrub_due_since().await.unwrap().is_some(), is_file);
        reader.close().await.unwrap();
        let mut steps = 1;
        while forgetter.step().await.unwrap() {
            steps += 1;
        }
        assert_eq!(database.scrub_due_since().await.unwrap(), None);
        assert!(!dump(&harness.store).await.contains("xyzzy"));
        assert!(!forgetter.step().await.unwrap(), "it is done once: {steps}");
    })
    .await;
}

/// A step must not scan a whole workspace, however the statement is planned without statistics.
#[tokio::test]
async fn no_step_reads_all_messages() {
    let store = TestStore::sqlite().await;
    let Connection::Sqlite(mut connection) = store.database.as_ref().unwrap().connect().await
    else {
        panic!("this is SQLite");
    };
    for (name, statement) in
        sql::forget::ALL.iter().chain(sql::redaction::ALL).chain(sql::expiry::ALL)
    {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan = sqlx::query(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let reads_all = |line: &&String| {
            let scanned = line.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            scanned.is_some_and(|table| {
                ["messages", "m", "decisions", "outbox", "owed"].contains(&table)
            })
        };
        let is_for_operators = *name == "FIND_USERS";
        let read = plan.iter().find(reads_all).filter(|_| !is_for_operators);
        assert_eq!(read, None, "{name}: {plan:?}");
    }
}

pub trait HearText {
    async fn hear_text(&self, id: &str, second: i64, user: &str, text: &str);
}

impl HearText for TestStore {
    async fn hear_text(&self, id: &str, second: i64, user: &str, text: &str) {
        let now: Timestamp = at(second);
        let heard = message(top_level("garden"), id, now, user, text);
        let heard = Heard::Message(heard, Arrival::Live);
        let entry = InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), now);
        self.store.hear(entry).await.unwrap();
    }
}

/// The name was loaded at startup, as after a restore from a backup, or when `aizuchi forget` was interrupted.
#[tokio::test]
async fn the_name_of_who_was_forgotten_by_the_operator_is_not_known_any_more() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let database = harness.store.database_store.clone().unwrap();
        let cache = harness.inbox.channel_cache.clone();
        harness.says("zebedee", "my honey wins prizes").await;
        harness.says("bob", "zebedee: which ones?").await;
        let user = UserId::new("u-zebedee");
        let called = message(top_level("garden"), "m1", at(60), "bob", "zebedee: again?");
        assert!(cache.has_human_named(&workspace(), "Zebedee"));
        assert!(cache.names_in(&called).iter().any(|(called, _)| *called == user));
        let order = Order::Forget { workspace: workspace(), user: user.clone(), asked: at(700) };
        harness.store.store.order(order, at(700)).await.unwrap();
        let mut connection = harness.store.database.as_ref().unwrap().connect().await;
        query("UPDATE forgettings SET keeps_name = 0").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let mut forgetter = Forgetter::new(database, cache.clone(), harness.clock.clone(), None);
        while forgetter.step().await.unwrap() {}
        assert!(!cache.has_human_named(&workspace(), "zebedee"));
        assert!(cache.names_in(&called).iter().all(|(called, _)| *called != user));
        assert!(!format!("{cache:?}").to_lowercase().contains("zebedee"));
        assert!(cache.has_human_named(&workspace(), "bob"));
    })
    .await;
}
