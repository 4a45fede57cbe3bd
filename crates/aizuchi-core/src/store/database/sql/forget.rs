//! The statements that forget a user.

statements! {
    /// All users with this id or name.
    FIND_USERS = "
        SELECT workspace, id, name, kind, role FROM users WHERE id = ?1 OR lower(name) = lower(?1)
        UNION
        SELECT DISTINCT workspace, author, author, author_kind, 'member' FROM messages WHERE author = ?1
            AND NOT EXISTS (SELECT 1 FROM users WHERE workspace = messages.workspace AND id = ?1)
        UNION
        SELECT DISTINCT workspace, user_id, user_id, kind, 'member' FROM reactions WHERE user_id = ?1
            AND NOT EXISTS (SELECT 1 FROM users WHERE workspace = reactions.workspace AND id = ?1)";
    MESSAGES_OF_USER = "
        SELECT channel, id, text FROM messages WHERE workspace = ?1 AND author = ?2 ORDER BY at_ms, id";
    OWN_MESSAGES = "
        SELECT channel, id, text FROM messages
        WHERE workspace = ?1 AND author_kind = 'persona' AND deleted_ms IS NULL";
    /// Turns a user's messages into anonymous tombstones.
    ERASE_MESSAGES = "
        UPDATE messages SET author = ?3, text = '', mentions = '[]', deleted_ms = coalesce(deleted_ms, ?4),
            revision = ?5
        WHERE workspace = ?1 AND author = ?2";
    ERASE_MESSAGE = "
        UPDATE messages SET text = '', mentions = '[]', deleted_ms = coalesce(deleted_ms, ?4), revision = ?5
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    ERASE_MENTIONS = "
        UPDATE messages SET mentions = replace(mentions, ?2, ?3)
        WHERE workspace = ?1 AND replace(mentions, ?2, ?3) <> mentions";
    CLOSE_OWED_TO_USER = "
        UPDATE owed SET asker = ?3, closed_ms = coalesce(closed_ms, ?4) WHERE workspace = ?1 AND asker = ?2";
    /// Marks the messages as changed, so that open pages update.
    MARK_REACTED_BY = "
        UPDATE messages SET reacted = ?3
        FROM (SELECT DISTINCT channel, message FROM reactions
            WHERE workspace = ?1 AND user_id = ?2 AND removed_ms IS NULL) AS r
        WHERE messages.workspace = ?1 AND messages.id = r.message AND messages.channel = r.channel";
    DROP_REACTIONS_OF_USER = "DELETE FROM reactions WHERE workspace = ?1 AND user_id = ?2";
    DROP_USER = "DELETE FROM users WHERE workspace = ?1 AND id = ?2";

    ALL_MEMORIES = "
        SELECT id, workspace, scope, channel, thread, term, entries, lost, newest_ms, made_ms
        FROM memories WHERE workspace = ?1";
    ALL_MEMOS = "
        SELECT id, memo,
            (SELECT json_group_array(json_array(channel, line)) FROM memo_lines WHERE memo = memos.id) AS lines
        FROM memos WHERE workspace = ?1";

    /// The reasons in the ledger, which may quote unsent texts. Those of gates are fixed.
    REASONS = "
        SELECT id, coalesce(why, '') || ' ' || coalesce(judgment, '') AS words,
            EXISTS (SELECT 1 FROM messages WHERE decision = decisions.id AND author = ?2) AS covers
        FROM decisions WHERE workspace = ?1
            AND (judgment IS NOT NULL OR (why IS NOT NULL AND gate IS NULL))";
    ERASE_REASON = "
        UPDATE decisions SET why = NULL, judgment = json_set(judgment, '$.reason', ''), revision = ?2
        WHERE id = ?1";
    ERASE_VERDICTS = "
        UPDATE attempts SET judgment = json_set(judgment, '$.reason', '') WHERE judgment IS NOT NULL
            AND decision IN (SELECT id FROM decisions WHERE workspace = ?1)";
    ERASE_OUTBOX = "
        UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '')
        WHERE workspace = ?1 AND state NOT IN ('draft', 'sending')";
    UNSENT_DRAFTS = "SELECT id, text, notes FROM outbox WHERE workspace = ?1 AND state IN ('draft', 'sending')";
    ERASE_OUTBOX_ITEM = "UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '') WHERE id = ?1";
    ERASE_DEAD_LETTERS = "UPDATE dead_letters SET text = NULL WHERE workspace = ?1";
    DROP_ALL_EXCHANGES = "DELETE FROM exchanges";
    DROP_ALL_EXCHANGE_MESSAGES = "DELETE FROM exchange_lines";
    DROP_ALL_EXCHANGE_MEMORIES = "DELETE FROM exchange_memories";
    MARK_SCRUB_DUE = "INSERT INTO scrubs VALUES (1)";
    IS_SCRUB_DUE = "SELECT EXISTS (SELECT 1 FROM scrubs) AS is_due";
    CLEAR_SCRUB_DUE = "DELETE FROM scrubs";
    VACUUM = "VACUUM";
}
