//! The stored form of what the program holds in types of its own. Databases keep it, so it must not change.

use aizuchi_core::context::seen_revision::SeenRevision;
use aizuchi_core::event::DraftMetadata;

const COMMAND_REPLY: &str = r#"{"owed":["4"],"about":null,"made_from":{"lines":[],"memories":[]},"considered":0,"ends":"spoke","why":"a command","only_for":"U1"}"#;
const ANSWER: &str = r#"{"owed":["4"],"about":null,"made_from":{"lines":[["garden","4"]],"memories":[]},"considered":12,"ends":"spoke","why":"asked"}"#;

#[test]
fn an_outbox_row_keeps_the_revision_that_its_draft_has_seen() {
    for (stored, seen_revision) in
        [(COMMAND_REPLY, SeenRevision::Nothing), (ANSWER, SeenRevision::from(12))]
    {
        let metadata: DraftMetadata = serde_json::from_str(stored).unwrap();
        assert_eq!(metadata.seen_revision, seen_revision);
        assert_eq!(serde_json::to_string(&metadata).unwrap(), stored);
    }
}
