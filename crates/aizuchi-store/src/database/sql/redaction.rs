//! The statements that withhold the messages of a user or of a conversation. ?1 is the workspace.

statements! {
    /// If the same redaction is ordered again before it is done, it starts over.
    PUT_REDACTION = "
        INSERT INTO redactions (workspace, user_id, channel, thread, before, before_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (workspace, user_id, channel, thread) DO UPDATE SET before = excluded.before, before_id = excluded.before_id
        WHERE redactions.before < excluded.before";
    NEXT_REDACTION = "
        SELECT workspace, user_id, channel, thread, before, before_id FROM redactions
        ORDER BY workspace, user_id, channel, thread LIMIT 1";
    MOVE_REDACTION = "
        UPDATE redactions SET before = ?5, before_id = ?6
        WHERE workspace = ?1 AND user_id = ?2 AND channel = ?3 AND thread = ?4";
    DROP_REDACTION = "
        DELETE FROM redactions WHERE workspace = ?1 AND user_id = ?2 AND channel = ?3 AND thread = ?4";

    /// The newest messages that the user ?2 wrote before the revision ?3.
    MESSAGES_OF_USER = "
        SELECT channel, id, at_ms, heard AS before, '' AS before_id, withheld
        FROM messages INDEXED BY messages_by_author
        WHERE workspace = ?1 AND author = ?2 AND heard < ?3
        ORDER BY heard DESC LIMIT +?4";
    /// The newest messages in the conversation ?2 and ?3 before the time ?4 and id ?5.
    MESSAGES_IN_CONVERSATION = "
        SELECT channel, id, at_ms, at_ms AS before, id AS before_id, withheld
        FROM messages INDEXED BY messages_in_order
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND (at_ms, id) < (?4, ?5)
        ORDER BY at_ms DESC, id DESC LIMIT +?6";
    /// The parent message ?3 of a thread, if it is no younger than ?4.
    PARENT_MESSAGE = "
        SELECT channel, id, at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND at_ms <= ?4 AND withheld = 0";
    /// ?2 lists [channel, id, revision]. Each message gets a revision of its own, so that a reader that pages through
    /// revisions misses none.
    WITHHOLD_MESSAGES = "
        UPDATE messages SET withheld = 1, revision = n.new_revision
        FROM (SELECT DISTINCT m.rowid AS line, CAST(j.value ->> 2 AS BIGINT) AS new_revision
            FROM json_each(?2) AS j
            CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
            WHERE m.withheld = 0) AS n
        WHERE messages.rowid = n.line";
}
