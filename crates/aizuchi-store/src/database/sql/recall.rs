//! The statements on the full-text index.

/// Whether `$line` is visible: in the channel ?2 (null: any), from the channel ?3 (null: from everywhere). Outside of
/// its channel a message is visible only if it was heard in public and the channel is still public.
macro_rules! is_visible {
    ($line:literal) => {
        concat!(
            "(CAST(?2 AS TEXT) IS NULL OR ",
            $line,
            ".channel = ?2)
            AND (CAST(?3 AS TEXT) IS NULL OR ",
            $line,
            ".channel = ?3
                OR (",
            $line,
            ".visibility = 'public' AND c.visibility = 'public'))"
        )
    };
}

/// Messages of the workspace ?1 with their current text, older than ?4 (null: of any age), from the list ?5.
macro_rules! recalled_messages {
    ($which:expr) => {
        concat!(
            "SELECT json_group_array(json_object('workspace', m.workspace, 'channel', m.channel,
                'id', m.id, 'thread', m.thread, 'at_ms', m.at_ms, 'author', m.author,
                'author_kind', m.author_kind, 'text', m.text, 'mentions', m.mentions,
                'attachments', m.attachments, 'edits', m.edits, 'name', u.name, 'channel_name', c.name)) AS lines
            FROM json_each(?5) AS j ",
            $which,
            " LEFT JOIN channels AS c ON c.workspace = m.workspace AND c.id = m.channel
            LEFT JOIN users AS u ON u.workspace = m.workspace AND u.id = m.author
            WHERE m.workspace = ?1 AND m.deleted_ms IS NULL AND m.withheld = 0 AND (CAST(?4 AS BIGINT) IS NULL OR m.at_ms < ?4) AND ",
            is_visible!("m")
        )
    };
}

statements! {
    INDEXED_UNTIL = "SELECT revision FROM recall_watermark";
    PUT_INDEXED_UNTIL = "UPDATE recall_watermark SET revision = ?1";

    // Writes.

    /// Messages that arrived or changed after revision ?1, up to ?2, with their numbers if they have one.
    UNINDEXED = "
        WITH RECURSIVE spaces (workspace) AS (
            SELECT min(workspace) FROM messages
            UNION ALL
            SELECT (SELECT min(m.workspace) FROM messages AS m WHERE m.workspace > spaces.workspace)
            FROM spaces WHERE spaces.workspace IS NOT NULL)
        SELECT json_group_array(json_array(m.workspace, m.channel, m.visibility, m.id,
            m.text || ' ' || m.file_names,
            (SELECT l.number FROM recall_lines AS l
             CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
             WHERE l.id = m.id AND r.workspace = m.workspace AND r.channel = m.channel))) AS lines
        FROM spaces
        CROSS JOIN messages AS m INDEXED BY messages_by_revision
            ON m.workspace = spaces.workspace AND m.revision > ?1 AND m.revision <= ?2
        WHERE m.deleted_ms IS NULL AND m.withheld = 0";
    /// ?1 lists [workspace, channel, visibility, lines].
    ALLOCATE_NUMBERS = "
        INSERT INTO recall_rooms (workspace, channel, visibility, lines, last)
        SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), CAST(value ->> 3 AS BIGINT) FROM json_each(?1)
        WHERE true
        ON CONFLICT (workspace, channel, visibility) DO UPDATE
        SET lines = recall_rooms.lines + excluded.lines, last = recall_rooms.last + excluded.lines
        RETURNING workspace, channel, visibility, number, last";
    // ?1 lists [number, terms, id].

    INDEX_MESSAGES = "
        INSERT INTO recall_lines (number, id) SELECT CAST(value ->> 0 AS BIGINT), value ->> 2 FROM json_each(?1)";
    INDEX_TERMS = "
        INSERT INTO recall_terms (rowid, terms) SELECT value ->> 0, value ->> 1 FROM json_each(?1)";
    // A trigger adds a row for each change; only the first one has the text that is indexed.
    /// The indexed text of messages that have changed since they were indexed.
    STALE = "
        SELECT json_group_array(json_array(number, text)) AS lines
        FROM (SELECT s.number, s.text FROM recall_stale AS s WHERE NOT EXISTS
            (SELECT 1 FROM recall_stale AS e WHERE e.number = s.number AND e.rowid < s.rowid)) AS part";
    UNINDEX_TERMS = "
        INSERT INTO recall_terms (recall_terms, rowid, terms)
        SELECT 'delete', value ->> 0, value ->> 1 FROM json_each(?1)";
    UNINDEX_MESSAGES = "
        DELETE FROM recall_lines WHERE number IN (SELECT CAST(value ->> 0 AS BIGINT) FROM json_each(?1))";
    UNCOUNT_MESSAGES = "
        UPDATE recall_rooms
        SET lines = lines - (SELECT count(*) FROM json_each(?1) AS j WHERE CAST(j.value ->> 0 AS BIGINT) >> 32 = number)
        WHERE number IN (SELECT CAST(value ->> 0 AS BIGINT) >> 32 FROM json_each(?1))";
    /// Sets how FTS5 removes terms.
    MARK_REMOVED_TERMS = "INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 0)";
    ERASE_REMOVED_TERMS = "INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 1)";
    CLEAR_STALE = "DELETE FROM recall_stale";
    /// Merges the current segments of FTS5 into one, 64 pages at a time.
    BEGIN_MERGE = "INSERT INTO recall_terms (recall_terms, rank) VALUES ('merge', -64)";
    MERGE = "INSERT INTO recall_terms (recall_terms, rank) VALUES ('merge', 64)";
    CHANGES = "SELECT total_changes() AS n";

    // Skips from workspace to workspace through the index; a DISTINCT would read every message.
    WORKSPACES = "
        WITH RECURSIVE spaces (workspace) AS (
            SELECT min(workspace) FROM messages
            UNION ALL
            SELECT (SELECT min(m.workspace) FROM messages AS m WHERE m.workspace > spaces.workspace)
            FROM spaces WHERE spaces.workspace IS NOT NULL)
        SELECT workspace FROM spaces WHERE workspace IS NOT NULL";

    // Reads. ?1 is the workspace, ?2 the channel, ?3 the channel that the query comes from.

    /// Only a server has a statement timeout and planner settings to change for this transaction.
    PREPARE_SEARCH = "SELECT 'prepared'";
    PARTITIONS = concat!(
        "SELECT r.number, r.channel, r.lines
        FROM recall_rooms AS r
        LEFT JOIN channels AS c ON c.workspace = r.workspace AND c.id = r.channel
        WHERE r.workspace = ?1 AND ", is_visible!("r")
    );
    /// The newest ?3 messages with each of the terms in ?1, which lists [term, first number, last number], in the
    /// partitions listed in ?2.
    POSTINGS = "
        WITH asked (term, first, last) AS MATERIALIZED
            (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1))
        SELECT (SELECT json_group_array(number) FROM
            (SELECT rowid AS number FROM recall_terms
             WHERE recall_terms MATCH a.term AND rowid BETWEEN a.first AND a.last
                AND (rowid >> 32) IN (SELECT value FROM json_each(?2))
             ORDER BY rowid DESC
             LIMIT +?3) AS part) AS numbers
        FROM asked AS a";
    /// The newest ?3 messages with all of the terms ?1, in the partitions listed in ?2.
    POSTINGS_OF_ALL = "
        SELECT json_group_array(number) AS numbers FROM
            (SELECT rowid AS number FROM recall_terms
             WHERE recall_terms MATCH (SELECT group_concat(value, ' AND ') FROM json_each(?1))
                AND (rowid >> 32) IN (SELECT value FROM json_each(?2))
             ORDER BY rowid DESC
             LIMIT +?3) AS part";
    /// The newest ?4 messages that are not indexed with their current text.
    NEWEST_UNINDEXED = concat!(
        "SELECT json_group_array(json_array(place, at_ms, text)) AS lines FROM
            (SELECT m.rowid AS place, m.at_ms, m.text || ' ' || m.file_names AS text
             FROM messages AS m INDEXED BY messages_by_revision
             LEFT JOIN channels AS c ON c.workspace = m.workspace AND c.id = m.channel
             WHERE m.workspace = ?1 AND m.revision > (SELECT revision FROM recall_watermark)
                AND m.deleted_ms IS NULL AND m.withheld = 0 AND ", is_visible!("m"), "
             ORDER BY m.revision DESC
             LIMIT +?4) AS part"
    );
    // A message that has changed since is found among the unindexed ones.
    RECALLED_BY_NUMBER = recalled_messages!("
        CROSS JOIN recall_lines AS l ON l.number = CAST(j.value AS BIGINT)
        CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
        CROSS JOIN messages AS m ON m.workspace = r.workspace AND m.channel = r.channel AND m.id = l.id
            AND m.revision <= (SELECT revision FROM recall_watermark)");
    /// Row ids are stable within one snapshot.
    RECALLED_BY_ROWID = recalled_messages!("CROSS JOIN messages AS m ON m.rowid = CAST(j.value AS BIGINT)");
}
