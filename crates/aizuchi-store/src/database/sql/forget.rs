//! The statements that forget a user. ?1 is the workspace, and ?2 the user or a JSON list of items to erase; messages
//! are listed as [channel, id].

/// The rows of the messages ?2. For a join with the list, SQLite would scan the whole workspace.
macro_rules! listed_messages {
    () => {
        "SELECT m.rowid FROM json_each(?2) AS j
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0"
    };
}

/// How many memories that told of the user of a forgetting are still current: they are written again.
macro_rules! memories_of_forgetting {
    () => {
        "(SELECT count(*) FROM forgotten_memories AS f CROSS JOIN memories AS m ON m.id = f.memory
         WHERE f.workspace = g.workspace AND f.user_id = g.user_id AND m.is_current = 1)"
    };
}

statements! {
    /// All users with this id or name.
    FIND_USERS = "
        SELECT workspace, id, name, kind, role, zone FROM users WHERE id = ?1 OR lower(name) = lower(?1)
        UNION
        SELECT DISTINCT workspace, author, author, author_kind, 'member', NULL FROM messages WHERE author = ?1
            AND NOT EXISTS (SELECT 1 FROM users WHERE workspace = messages.workspace AND id = ?1)
        UNION
        SELECT DISTINCT workspace, user_id, user_id, kind, 'member', NULL FROM reactions WHERE user_id = ?1
            AND NOT EXISTS (SELECT 1 FROM users WHERE workspace = reactions.workspace AND id = ?1)";

    // The state of forgettings.

    // A second order starts over, since more may have been heard since the first.
    PUT_FORGETTING = "
        INSERT INTO forgettings (workspace, user_id, asked_ms, begun_ms, until, keeps_name, position)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (workspace, user_id) DO UPDATE SET asked_ms = excluded.asked_ms, begun_ms = excluded.begun_ms,
            until = excluded.until, keeps_name = excluded.keeps_name, position = excluded.position,
            messages = 0, own_messages = 0, memos = 0";
    /// Forgettings that are done and were begun before ?1.
    DROP_OLD_FORGETTINGS = "DELETE FROM forgettings WHERE position = '' AND begun_ms <= ?1";
    FORGETTING_BEGUN_AT = "SELECT begun_ms FROM forgettings WHERE workspace = ?1 AND user_id = ?2";
    FORGETTING_ASKED_AT = "SELECT asked_ms FROM forgettings WHERE workspace = ?1 AND user_id = ?2";
    /// Users whose messages are not hidden yet come first.
    NEXT_FORGETTING = "
        SELECT workspace, user_id, until, position FROM forgettings WHERE position <> ''
        ORDER BY CASE WHEN position LIKE '%:_hide_%' THEN 0 ELSE 1 END, begun_ms, workspace, user_id LIMIT 1";
    // A newer order has changed `until`, so a late step of the earlier one moves nothing.
    MOVE_FORGETTING = "
        UPDATE forgettings SET position = ?3, messages = messages + ?4, own_messages = own_messages + ?5,
            memos = memos + ?6
        WHERE workspace = ?1 AND user_id = ?2 AND until = ?7";
    FORGETTING_REPORT = concat!("
        SELECT keeps_name, begun_ms, messages, own_messages, memos, ", memories_of_forgetting!(), " AS memories
        FROM forgettings AS g WHERE g.workspace = ?1 AND g.user_id = ?2");
    RUNNING_FORGETTINGS = concat!("
        SELECT workspace, user_id, until, position, begun_ms, messages, own_messages, memos,
            ", memories_of_forgetting!(), " AS memories
        FROM forgettings AS g WHERE position <> '' ORDER BY begun_ms, workspace, user_id");
    /// The journal keeps what was forgotten, in numbers.
    NOTE_FORGOTTEN = "
        UPDATE given_orders SET value = ?3 WHERE workspace = ?1 AND kind = 'forget' AND at_ms = ?2";
    /// If the name is erased, so is this row.
    DROP_FORGETTING = "DELETE FROM forgettings WHERE workspace = ?1 AND user_id = ?2 AND keeps_name = 0";
    DROP_FORGOTTEN_MEMORIES = "DELETE FROM forgotten_memories WHERE workspace = ?1 AND user_id = ?2";

    // Reads, page by page.

    /// The newest messages of a user heard up to ?3.
    MESSAGES_BEFORE = "
        SELECT channel, id, heard FROM messages INDEXED BY messages_by_author
        WHERE workspace = ?1 AND author = ?2 AND heard <= ?3
        ORDER BY heard DESC LIMIT +?4";
    /// The oldest messages of a user heard after ?3 and up to ?4.
    MESSAGES_AFTER = "
        SELECT channel, id, thread, heard, at_ms, decision FROM messages INDEXED BY messages_by_author
        WHERE workspace = ?1 AND author = ?2 AND heard > ?3 AND heard <= ?4
        ORDER BY heard LIMIT +?5";
    TEXTS_AFTER = concat!("
        SELECT channel, id, heard, text, ", upload_bytes!(), " AS upload_bytes
        FROM messages INDEXED BY messages_by_author
        WHERE workspace = ?1 AND author = ?2 AND heard > ?3 AND heard <= ?4
        ORDER BY heard LIMIT +?5");
    CHANNELS_OF_USER = "
        SELECT DISTINCT channel FROM messages INDEXED BY messages_by_author WHERE workspace = ?1 AND author = ?2";
    PUBLIC_CHANNELS = "SELECT id FROM channels WHERE workspace = ?1 AND visibility = 'public'";
    /// The direct channels that no human other than ?2 has written in, with the ids ?3 or named ?2.
    TALKS_ALONE = "
        SELECT id FROM channels AS c
        WHERE workspace = ?1 AND visibility = 'direct'
            AND (name = ?2 OR id IN (SELECT j.value ->> 0 FROM json_each(?3) AS j))
            AND NOT EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_in_channel
                WHERE m.workspace = ?1 AND m.channel = c.id AND m.author_kind = 'human' AND m.author <> ?2
                    AND m.author <> 'forgotten')";
    /// The messages in the list ?2 that are sources, with the memories made from them.
    SOURCES_AMONG = "
        SELECT s.workspace, s.scope, s.of_channel AS channel, s.of_thread AS thread, s.term,
            s.channel AS line_channel, s.line
        FROM json_each(?2) AS j
        CROSS JOIN memory_sources AS s ON s.workspace = ?1 AND s.channel = j.value ->> 0 AND s.line = j.value ->> 1
        ORDER BY s.scope, s.of_channel, s.of_thread, s.term, s.channel, s.line";
    PROMPTS_OF_MESSAGES = "
        SELECT DISTINCT l.attempt FROM json_each(?2) AS j
        CROSS JOIN exchange_lines AS l ON l.workspace = ?1 AND l.channel = j.value ->> 0 AND l.line = j.value ->> 1
        ORDER BY l.attempt";
    FORGOTTEN_MEMORIES = "
        SELECT memory, since_ms FROM forgotten_memories
        WHERE workspace = ?1 AND user_id = ?2 AND memory > ?3
        ORDER BY memory LIMIT 1";
    PROMPTS_OF_MEMORY = "
        SELECT e.attempt FROM exchange_memories AS e CROSS JOIN attempts AS a ON a.id = e.attempt
        WHERE e.memory = ?1 AND a.at_ms >= ?2
        ORDER BY e.attempt LIMIT +?3";
    DEAD_LETTERS_OF_CONVERSATIONS = "
        SELECT d.id FROM dead_letters AS d
        WHERE d.workspace = ?1 AND d.text IS NOT NULL
            AND EXISTS (SELECT 1 FROM json_each(?2) AS j
                WHERE j.value ->> 0 = d.channel AND j.value ->> 1 = d.thread)
        ORDER BY d.id";
    // Read in id order: an index by workspace would have to be sorted for every page.

    /// The message that a reaction is on belongs to another author, so it is left out.
    OUTBOX_AFTER = "
        SELECT id, channel, decision, CASE WHEN reaction_on IS NULL THEN message END AS message, notes FROM outbox
        WHERE id > ?2 AND workspace || '' = ?1
        ORDER BY id LIMIT +?3";
    /// The messages in the list ?3 that the user wrote before revision ?4.
    MESSAGES_AMONG = "
        SELECT DISTINCT m.channel, m.id FROM json_each(?3) AS j
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
        WHERE m.author = ?2 AND m.heard <= ?4";
    /// The decisions in the list ?3 that cover a message of the user before revision ?4.
    DECISIONS_AMONG = "
        SELECT DISTINCT m.decision AS id FROM json_each(?3) AS j
        CROSS JOIN messages AS m ON m.decision = CAST(j.value AS BIGINT)
        WHERE m.workspace = ?1 AND m.author = ?2 AND m.heard <= ?4";
    // Skips from author to author through the index; a DISTINCT would read every message.
    PERSONA_AUTHORS = "
        WITH RECURSIVE authors (author) AS (
            SELECT min(author) FROM messages WHERE workspace = ?1
            UNION ALL
            SELECT (SELECT min(m.author) FROM messages AS m WHERE m.workspace = ?1 AND m.author > authors.author)
            FROM authors WHERE authors.author IS NOT NULL)
        SELECT author FROM authors
        WHERE author IS NOT NULL AND (SELECT m.author_kind FROM messages AS m INDEXED BY messages_by_author
            WHERE m.workspace = ?1 AND m.author = authors.author LIMIT 1) = 'persona'
        ORDER BY author";
    OWN_MESSAGES_AFTER = "
        SELECT m.channel, m.id, m.heard, m.text,
            (SELECT o.notes FROM outbox AS o WHERE o.workspace = ?1 AND o.message = m.id AND o.channel = m.channel
             ORDER BY o.id LIMIT 1) AS notes
        FROM messages AS m INDEXED BY messages_by_author
        WHERE m.workspace = ?1 AND m.author = ?2 AND m.heard > ?3
        ORDER BY m.heard LIMIT +?4";
    MEMORIES_AFTER = "
        SELECT id, workspace, scope, channel, thread, term, entries, lost, newest_ms, made_ms
        FROM memories WHERE id > ?2 AND workspace || '' = ?1
        ORDER BY id LIMIT +?3";
    /// One of the messages in the list ?2 that is not stored.
    MISSING_AMONG = "
        SELECT 1 AS n FROM json_each(?2) AS j
        WHERE NOT EXISTS (SELECT 1 FROM messages AS m
            WHERE m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0)
        LIMIT 1";
    /// Includes old versions of memos.
    MEMOS_AFTER = "
        SELECT id, memo,
            (SELECT json_group_array(json_array(channel, line)) FROM memo_lines WHERE memo = kept.id) AS lines
        FROM (SELECT id, workspace, memo FROM memos WHERE id > ?2
              UNION ALL SELECT id, workspace, memo FROM old_memos WHERE id > ?2) AS kept
        WHERE workspace || '' = ?1
        ORDER BY id LIMIT +?3";
    /// The reasons in the ledger, which may quote unsent texts. Those of gates are fixed texts.
    REASONS_AFTER = "
        SELECT id, channel, coalesce(why, '') || ' ' || coalesce(judgment, '') AS words FROM decisions
        WHERE id > ?2 AND workspace || '' = ?1 AND (judgment IS NOT NULL OR (why IS NOT NULL AND gate IS NULL))
        ORDER BY id LIMIT +?3";
    /// What others said in the messages that a decision is about, and in its prompts.
    TEXTS_OF_DECISION = "
        SELECT text FROM messages WHERE decision = ?1 AND author <> ?2 AND author_kind <> 'persona'
        UNION
        SELECT m.text FROM attempts AS a
        CROSS JOIN exchange_lines AS l ON l.attempt = a.id
        CROSS JOIN messages AS m ON m.workspace = l.workspace AND m.id = l.line AND m.channel = l.channel
        WHERE a.decision = ?1 AND m.author <> ?2 AND m.author_kind <> 'persona'";
    UNSENT_TEXTS_AFTER = "
        SELECT id, channel, text, notes FROM outbox
        WHERE id > ?2 AND workspace || '' = ?1 AND text <> '' AND reaction_on IS NULL
        ORDER BY id LIMIT +?3";
    LETTERS_AFTER = "
        SELECT id, channel, text FROM dead_letters
        WHERE id > ?2 AND workspace || '' = ?1 AND text IS NOT NULL
        ORDER BY id LIMIT +?3";
    ALL_NAMES = "
        SELECT user_id, name, since_ms FROM user_names WHERE workspace = ?1
        UNION ALL SELECT id, id, 0 FROM users WHERE workspace = ?1";
    /// The newest texts that other humans wrote.
    NEWEST_TEXTS_OF_OTHERS = "
        SELECT text FROM (SELECT text, author, author_kind, deleted_ms
            FROM messages INDEXED BY messages_by_revision
            WHERE workspace = ?1 ORDER BY revision DESC LIMIT +?3) AS newest
        WHERE author_kind = 'human' AND author <> ?2 AND deleted_ms IS NULL";
    /// A page of messages, newest first, with the texts that other humans wrote before ?4.
    EARLIER_TEXTS_OF_OTHERS = "
        SELECT revision, at_ms, CASE WHEN author_kind = 'human' AND author <> ?2 AND author <> 'forgotten'
            AND deleted_ms IS NULL AND at_ms < ?4 THEN text ELSE '' END AS text
        FROM messages INDEXED BY messages_by_revision
        WHERE workspace = ?1 AND revision < ?3 ORDER BY revision DESC LIMIT +?5";
    /// The time of the earliest of a user's messages, among those that were heard first.
    FIRST_MESSAGE_AT = "
        SELECT COALESCE(min(at_ms), 0) AS at_ms FROM (SELECT at_ms
            FROM messages INDEXED BY messages_by_author
            WHERE workspace = ?1 AND author = ?2 ORDER BY heard LIMIT 1000) AS first";
    REACTIONS_AFTER = "
        SELECT message, channel, emoji, user_id FROM reactions
        WHERE workspace = ?1 AND (message, channel, emoji, user_id) > (?2, ?3, ?4, ?5)
        ORDER BY message, channel, emoji, user_id LIMIT +?6";
    /// A page of messages, and whether each mentions the user; ?4 is the mention, and ?5 a mention of no user.
    MENTIONS_AFTER = "
        SELECT id, channel, CASE WHEN replace(mentions, ?4, ?5) <> mentions THEN 1 ELSE 0 END AS mentions_user
        FROM messages
        WHERE workspace = ?1 AND (id, channel) > (?2, ?3)
        ORDER BY id, channel LIMIT +?6";

    FORGOTTEN_USERS = "
        SELECT workspace, user_hash, salt, at_ms FROM forgotten_users ORDER BY workspace, user_hash";
    /// The same for a database of a version without salts.
    FORGOTTEN_USERS_WITHOUT_SALT = "
        SELECT workspace, user_hash, '' AS salt, at_ms FROM forgotten_users ORDER BY workspace, user_hash";
    /// The hashes of users of the workspace ?1 forgotten since ?2.
    FORGOTTEN_SINCE = "
        SELECT user_hash, salt FROM forgotten_users WHERE workspace = ?1 AND at_ms >= ?2
        ORDER BY salt, user_hash";
    NEWEST_SALT = "
        SELECT salt FROM forgotten_users WHERE salt <> '' ORDER BY at_ms DESC, user_hash LIMIT 1";
    PLAIN_HASHES = "SELECT workspace, user_hash, at_ms FROM forgotten_users WHERE salt = ''";

    // Writes.

    PUT_FORGOTTEN_USER = "
        INSERT INTO forgotten_users (workspace, user_hash, salt, at_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, user_hash) DO UPDATE SET at_ms = excluded.at_ms
            WHERE excluded.at_ms > forgotten_users.at_ms";
    DROP_FORGOTTEN_USER = "DELETE FROM forgotten_users WHERE workspace = ?1 AND user_hash = ?2";

    /// ?2 lists [channel, id, revision]. Each message gets a revision of its own, so that a reader that pages through
    /// revisions misses none.
    HIDE_MESSAGES = "
        UPDATE messages SET deleted_ms = ?3, revision = n.new_revision
        FROM (SELECT DISTINCT m.rowid AS line, CAST(j.value ->> 2 AS BIGINT) AS new_revision
            FROM json_each(?2) AS j
            CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
            WHERE m.deleted_ms IS NULL) AS n
        WHERE messages.rowid = n.line";
    /// Turns messages into anonymous tombstones. They keep their ids, so that a message that is delivered again stays
    /// forgotten.
    ERASE_MESSAGES = concat!("
        UPDATE messages SET author = ?3, text = '', mentions = '[]', attachments = '[]', file_names = '',
            deleted_ms = coalesce(deleted_ms, ?4)
        WHERE rowid IN (", listed_messages!(), ")"
    );
    /// ?2 lists [channel, id, revision]. Only the persona's own messages are erased, whatever is listed.
    ERASE_OWN_MESSAGES = "
        UPDATE messages SET text = '', mentions = '[]', attachments = '[]', file_names = '', deleted_ms = ?3, revision = n.new_revision
        FROM (SELECT DISTINCT m.rowid AS line, CAST(j.value ->> 2 AS BIGINT) AS new_revision
            FROM json_each(?2) AS j
            CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
            WHERE m.deleted_ms IS NULL AND m.author_kind = 'persona') AS n
        WHERE messages.rowid = n.line";
    PUT_FORGOTTEN_MEMORIES = "
        INSERT INTO forgotten_memories (workspace, user_id, memory, since_ms)
        SELECT ?1, ?2, CAST(value AS BIGINT), CAST(?4 AS BIGINT) FROM json_each(?3) WHERE true
        ON CONFLICT (workspace, user_id, memory) DO UPDATE SET since_ms = excluded.since_ms
        WHERE excluded.since_ms < forgotten_memories.since_ms";
    DROP_PROMPTS = "DELETE FROM exchanges WHERE attempt IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    DROP_PROMPT_MESSAGES = "
        DELETE FROM exchange_lines WHERE attempt IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    DROP_PROMPT_MEMORIES = "
        DELETE FROM exchange_memories WHERE attempt IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    DROP_PROMPT_ORDERS = "
        DELETE FROM exchange_orders WHERE attempt IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    ERASE_REASONS_OF_PROMPTS = "
        UPDATE decisions SET why = CASE WHEN gate IS NULL THEN NULL ELSE why END,
            judgment = json_set(judgment, '$.reason', ''), revision = ?2
        WHERE id IN (SELECT a.decision FROM json_each(?1) AS j
            CROSS JOIN attempts AS a ON a.id = CAST(j.value AS BIGINT))";
    ERASE_VERDICTS_OF_PROMPTS = "
        UPDATE attempts SET judgment = json_set(judgment, '$.reason', '')
        WHERE judgment IS NOT NULL AND id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    ERASE_REASONS = "
        UPDATE decisions SET why = CASE WHEN gate IS NULL THEN NULL ELSE why END,
            judgment = json_set(judgment, '$.reason', ''), revision = ?2
        WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    ERASE_VERDICTS = "
        UPDATE attempts SET judgment = json_set(judgment, '$.reason', '')
        WHERE judgment IS NOT NULL AND decision IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    /// A failed post is also stored as a dead letter.
    ERASE_DEAD_LETTERS_OF_OUTBOX = "
        UPDATE dead_letters SET text = NULL
        WHERE text IS NOT NULL AND decision IN (SELECT o.decision FROM outbox AS o
            WHERE o.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)) AND o.state = 'dead')";
    /// The claim of an unsent draft finds an empty text, and a new draft is made.
    ERASE_OUTBOX = "
        UPDATE outbox SET text = iif(reaction_on IS NULL OR state IN ('draft', 'sending'), '', text),
            notes = json_set(notes, '$.why', '')
        WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    // LIKE would take `_` and `%` in a user's id for wildcards, so these statements compare the beginning.
    /// The user's changes to memories are kept in the journal, without their name.
    REPLACE_CHANGER = "
        UPDATE memory_changes SET changed_by = ?3
        WHERE workspace = ?1 AND substr(changed_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    /// The same for the user's orders.
    REPLACE_GIVER = "
        UPDATE given_orders SET given_by = ?3
        WHERE workspace = ?1 AND substr(given_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    REPLACE_SETTER = "
        UPDATE room_settings SET ordered_by = ?3
        WHERE workspace = ?1 AND substr(ordered_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    /// The same for the user's decisions about proposals.
    REPLACE_DECIDER = "
        UPDATE proposals SET decided_by = ?3
        WHERE workspace = ?1 AND substr(decided_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    REPLACE_MARKER = "
        UPDATE decision_marks SET marked_by = ?3
        WHERE workspace = ?1 AND substr(marked_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    /// The same for orders that concern the user.
    REPLACE_CONCERNED = "UPDATE given_orders SET user_id = ?3 WHERE workspace = ?1 AND user_id = ?2";
    REPLACE_ONLY_FOR = "
        UPDATE outbox SET notes = json_set(notes, '$.only_for', ?2)
        WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    ERASE_DEAD_LETTERS = "
        UPDATE dead_letters SET text = NULL WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    ERASE_MENTIONS = concat!("
        UPDATE messages SET mentions = replace(mentions, ?3, ?4) WHERE rowid IN (", listed_messages!(), ")"
    );
    // Only what was heard before the order: a user who remains a member may ask again.
    CLOSE_OWED_TO_USER = "
        UPDATE owed SET closed_ms = ?3 WHERE workspace = ?1 AND asker = ?2 AND closed_ms IS NULL AND EXISTS
            (SELECT 1 FROM messages AS m WHERE m.workspace = ?1 AND m.id = owed.message AND m.channel = owed.channel
                AND m.heard <= ?4)";
    ERASE_ASKER = "
        UPDATE owed SET asker = ?3
        WHERE workspace = ?1 AND (channel, message) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))";
    MARK_REACTED = concat!("
        UPDATE messages SET reacted = ?3 WHERE rowid IN (", listed_messages!(), ")"
    );
    /// ?3 lists [channel, message, emoji].
    DROP_REACTIONS_OF_USER = "
        DELETE FROM reactions WHERE workspace = ?1 AND user_id = ?2 AND (message, channel, emoji) IN
            (SELECT value ->> 1, value ->> 0, value ->> 2 FROM json_each(?3))";
    BLANK_CHANNEL_NAMES = "
        UPDATE channels SET name = '' WHERE workspace = ?1 AND visibility = 'direct'
            AND (name = ?3 OR id IN (SELECT j.value ->> 0 FROM json_each(?2) AS j))";
    /// Drops all names except the current one.
    DROP_FORMER_NAMES = "
        DELETE FROM user_names WHERE workspace = ?1 AND user_id = ?2
            AND name NOT IN (SELECT name FROM users WHERE workspace = ?1 AND id = ?2)";
    DROP_JUDGE_CALLS_ABOUT_USER = "DELETE FROM judge_calls WHERE workspace = ?1 AND author = ?2";
    DROP_NAMES = "DELETE FROM user_names WHERE workspace = ?1 AND user_id = ?2";
    DROP_USER = "DELETE FROM users WHERE workspace = ?1 AND id = ?2";
    KEEPS_NAME = "SELECT keeps_name FROM forgettings WHERE workspace = ?1 AND user_id = ?2";

    /// When the first user was forgotten whose text is still in free pages.
    MARK_SCRUB_DUE = "INSERT INTO scrubs VALUES (?1)";
    SCRUB_DUE_SINCE = "SELECT min(due) AS due FROM scrubs";
    CLEAR_SCRUB_DUE = "DELETE FROM scrubs";
    /// Rewrites the database, which blocks everything else.
    VACUUM = "VACUUM";
    /// Only a server keeps deleted rows until it is vacuumed.
    VACUUM_DEAD_ROWS = "SELECT 'nothing is dead'";
    /// Only a server has a statement timeout.
    UNLIMIT_TIME = "SELECT 'unlimited'";
    LIMIT_TIME = "SELECT 'limited'";
}
