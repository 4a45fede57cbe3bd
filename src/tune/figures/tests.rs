use super::*;
use crate::replay::history::History;

#[test]
fn hindsight_about_a_channel_that_cannot_be_read_is_an_error() {
    let line = r#"{"room":"den","id":"1","ts":1,"author":"ann","text":"who has the key?"}"#;
    let mut history = History::read(line.as_bytes()).unwrap();
    hindsight(&history).unwrap();
    history.channels[0].rows.lose_human_messages().unwrap();
    let error = hindsight(&history).err().unwrap().to_string();
    assert!(error.starts_with("cannot use a temporary file in "), "{error}");
}
