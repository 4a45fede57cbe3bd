//! The stored form of what the program holds in types of its own. Databases keep it, so it must not change.

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::flow::outbox::DraftMetadata;
use aizuchi_model::memory::MessageRef;

const COMMAND_REPLY: &str = r#"{"owed":["4"],"about":null,"made_from":{"lines":[],"memories":[]},"considered":0,"ends":"spoke","why":"a command","only_for":"U1"}"#;
const ANSWER: &str = r#"{"owed":["4"],"about":null,"made_from":{"lines":[["garden","4"]],"memories":[]},"considered":12,"ends":"spoke","why":"asked"}"#;
const JOIN_NOTICE: &str = r#"{"owed":["joined"],"about":null,"made_from":{"lines":[],"memories":[]},"considered":0,"ends":"spoke","why":"I joined"}"#;

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

#[test]
fn an_outbox_row_keeps_what_is_owed_as_ids() {
    let message = Owed::Message(MessageId::new("4"));
    for (stored, owed, id) in [(JOIN_NOTICE, Owed::Join, "joined"), (ANSWER, message, "4")] {
        let metadata: DraftMetadata = serde_json::from_str(stored).unwrap();
        assert_eq!(metadata.newest_owed(), owed.message());
        assert_eq!(metadata.owed, [owed]);
        assert_eq!(serde_json::to_string(&metadata).unwrap(), stored);
        // Forgetting compares these with stored messages.
        let garden = ChannelId::new("garden");
        let answered = [MessageRef(garden.clone(), MessageId::new(id))];
        assert_eq!(metadata.answered_message_refs(&garden), answered);
    }
}

#[test]
fn an_outbox_row_keeps_what_it_only_settles() {
    let stored = r#"{"owed":["3","4"],"about":null,"made_from":{"lines":[],"memories":[]},"considered":12,"ends":"spoke","why":"asked","only_settled":1}"#;
    let metadata: DraftMetadata = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&metadata).unwrap(), stored);
    let garden = ChannelId::new("garden");
    let answered = [MessageRef(garden.clone(), MessageId::new("4"))];
    assert_eq!(metadata.answered_message_refs(&garden), answered);
}
