//! How many versions of a memory are kept, and for how long their sources are known.

use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;

use crate::memory::{DAY, HOUR, MemoryExt, entries, harness, scripted};

#[tokio::test]
async fn ten_versions_of_a_memory_are_kept() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        for number in 0..15 {
            memory.script.set_default(PromptVerb::Remember, entries(&format!("state {number}")));
            harness.says("alice", &format!("line {number}")).await;
            harness.pass(2 * HOUR).await;
        }
        let database = harness.store.database.as_ref().unwrap();
        let counted = database.count(
            "SELECT count(*) AS n FROM memories WHERE term = 'short_term' AND channel = 'garden'",
        );
        assert_eq!(counted.await, 10);
        assert_eq!(
            database.count("SELECT count(*) AS n FROM memories WHERE is_current = 1").await,
            4
        );
    })
    .await;
}

/// Only on SQLite: the test queries its tables in its dialect.
#[tokio::test]
async fn the_sources_of_a_dropped_memory_version_are_kept_as_long_as_prompts() {
    let (harness, memory) = scripted(TestStore::sqlite().await).await;
    memory.script.set_default(PromptVerb::Remember, entries("the locker code is 4711"));
    let said = harness.says("alice", "the locker code is 4711").await;
    assert_eq!(said.as_str(), "m000");
    harness.pass(DAY).await;
    for number in 0..12 {
        harness.says("alice", &format!("line {number}")).await;
        harness.pass(DAY).await;
        harness.drop_old_prompts().await;
    }
    let database = harness.store.database.clone().unwrap();
    let known = "SELECT count(*) AS n FROM memory_sources
        WHERE line = 'm000' AND scope = 'channel' AND term = 'short_term'";
    let reports = "SELECT count(*) AS n FROM memories, json_each(entries) AS e
        WHERE scope = 'channel' AND term = 'short_term' AND instr(e.value ->> 'lines', 'm000') > 0";
    assert_eq!((database.count(reports).await, database.count(known).await), (0, 1));
    harness.pass(40 * DAY).await;
    harness.drop_old_prompts().await;
    assert_eq!(database.count(known).await, 1);
    harness.pass(3 * DAY).await;
    harness.drop_old_prompts().await;
    assert_eq!(database.count(known).await, 0);
    // The sources of the current version stay known.
    let long = "SELECT count(*) AS n FROM memory_sources
        WHERE line = 'm000' AND scope = 'channel' AND term = 'long_term'";
    assert_eq!(database.count(long).await, 1);
}

/// Only on SQLite: the statements are the same for PostgreSQL, where a year of talk takes minutes.
#[tokio::test]
async fn lineage_does_not_grow_without_bound() {
    let harness = harness(TestStore::sqlite().await).await;
    let database = harness.store.database.clone().unwrap();
    let mut known = Vec::new();
    for week in 0..52 {
        for bed in 0..10 {
            let text = format!("in week {week} bed {bed} of the garden gets new compost");
            harness.says("alice", &text).await;
        }
        harness.pass(7 * DAY).await;
        harness.drop_old_prompts().await;
        known.push(database.count("SELECT count(*) AS n FROM memory_sources").await);
    }
    let most = |weeks: &[i64]| *weeks.iter().max().unwrap();
    assert!(most(&known[26..]) <= most(&known[..26]), "{known:?}");
    assert!(known[51] < 900, "{known:?}");
}
