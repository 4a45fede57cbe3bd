//! What `aizuchi export --user` tells a person about what is remembered of them.

use aizuchi_harness::test_store::TestStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use jiff::Timestamp;

use crate::export::Installation;

/// A question, its answer in the thread, and what is remembered of both.
const REMEMBERED: &str = r##"
{"kind":"channel","workspace":"T1","room":"C1","room_name":"garden","visibility":"public"}
{"kind":"user","workspace":"T1","id":"U1","name":"mika","is":"human","role":"member"}
{"kind":"user","workspace":"T1","id":"U2","name":"ren","is":"human","role":"member"}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":null,"id":"1","ts":1767603500.5,"author":"U2","name":"ren","bot":false,"text":"where is the ladder?"}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":"1","id":"2","ts":1767603600.5,"author":"U1","name":"mika","bot":false,"text":"I took it home"}
{"kind":"memory","workspace":"T1","room":"C1","thread":null,"term":"long_term","newest":"2026-01-05T09:00:00Z","entries":[{"date":"2026-01-05","text":"mika keeps the ladder at home","visibility":"public","lines":[["C1","2"]]},{"date":"2026-01-05","text":"ren misses the ladder","visibility":"public","lines":[["C1","1"]]}]}
{"kind":"memory","workspace":"T1","room":"C1","thread":"1","term":"short_term","newest":"2026-01-05T09:00:00Z","entries":[{"date":"2026-01-05","text":"mika has taken the ladder","visibility":"public","lines":[["C1","2"]]}]}
"##;

#[tokio::test]
async fn what_is_known_of_a_person_has_what_threads_and_expired_messages_left_in_memory() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    std::fs::write(&file, REMEMBERED).unwrap();
    installation.import(&file, &[], 0);
    let told = || installation.run(&["export", "--user", "mika"], 0);
    let expect_remembered = |told: &str| {
        for entry in ["- mika keeps the ladder at home\n", "- mika has taken the ladder\n"] {
            assert!(told.contains(entry), "{told}");
        }
        assert!(!told.contains("ren misses"), "{told}");
    };
    let before = told();
    assert!(before.contains(": I took it home\n"), "{before}");
    expect_remembered(&before);
    let database = DatabaseLocation::Sqlite(installation.file("aizuchi.db"));
    let store = TestStore::reopen(&database).await;
    let now = Timestamp::now();
    let expiry = Expiry { before: now, now };
    while store.store.expire_next(expiry).await.unwrap() != ExpiryProgress::Idle {}
    store.stop().await;
    let after = told();
    assert!(after.contains("## Messages\n\nNone.\n"), "{after}");
    expect_remembered(&after);
}
