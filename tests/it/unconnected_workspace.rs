//! A workspace that no platform connects, inserted into the database of a stopped program.

use crate::program::Home;

impl Home {
    /// Inserts the public channel `C9` of the workspace `slack:T9`, with one message in this thread. An empty `thread`
    /// is the channel's top level.
    pub async fn insert_unconnected_workspace(&self, thread: &str) {
        for statement in [
            "INSERT INTO channels (workspace, id, name, visibility) \
             VALUES ('slack:T9', 'C9', 'tea', 'public')"
                .to_owned(),
            format!(
                "INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, \
                 visibility, heard, revision) \
                 VALUES ('slack:T9', 'C9', '1.1', '{thread}', 1000, 'U1', 'human', 'hello', '[]', 'public', 1, 1)"
            ),
        ] {
            assert_eq!(self.change_rows(statement).await, 1);
        }
    }
}
