//! The statements on memories and memory jobs.

/// The source messages of versions of memories.
macro_rules! source_messages {
    ($versions:expr) => {
        concat!(
            "SELECT l.value ->> 0 AS channel, l.value ->> 1 AS line FROM ",
            $versions,
            " AS m CROSS JOIN json_each(m.entries) AS e CROSS JOIN json_each(e.value -> 'lines') AS l"
        )
    };
}

/// The attempts whose prompts held a message of the channel ?2.
macro_rules! made_from_channel {
    () => {
        "SELECT DISTINCT attempt FROM exchange_lines WHERE workspace = ?1 AND channel = ?2"
    };
}

/// The decisions of other channels with such an attempt.
macro_rules! decisions_elsewhere {
    () => {
        concat!(
            "SELECT d.id FROM (",
            made_from_channel!(),
            ") AS l
            CROSS JOIN attempts AS a ON a.id = l.attempt
            CROSS JOIN decisions AS d ON d.id = a.decision
            WHERE d.channel <> ?2"
        )
    };
}

/// The decisions with an attempt since ?2 whose prompt held the memory ?1.
macro_rules! decisions_with_memory {
    () => {
        "SELECT a.decision FROM exchange_memories AS e CROSS JOIN attempts AS a ON a.id = e.attempt
            WHERE e.memory = ?1 AND a.at_ms >= ?2"
    };
}

statements! {
    /// Schedules memory jobs, or makes them due earlier. A job that is in flight is scheduled again. ?1 lists
    /// [workspace, scope, channel, thread, term, due].
    SCHEDULE_MEMORY_JOBS = "
        INSERT INTO chores (workspace, scope, channel, thread, term, due_ms, ready_ms)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT), CAST(value ->> 5 AS BIGINT)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT (workspace, scope, channel, thread, term) DO UPDATE SET
            due_ms = CASE WHEN chores.token IS NULL THEN excluded.due_ms ELSE chores.due_ms END,
            ready_ms = CASE WHEN chores.token IS NULL THEN excluded.due_ms ELSE chores.ready_ms END,
            again_ms = CASE WHEN chores.token IS NULL THEN NULL ELSE excluded.due_ms END
        WHERE excluded.due_ms < CASE WHEN chores.token IS NULL THEN chores.due_ms ELSE coalesce(chores.again_ms, excluded.due_ms + 1) END";
    READY_MEMORY_JOBS = "
        SELECT workspace, scope, channel, thread, term, due_ms, attempts FROM chores
        WHERE ready_ms <= ?1
        ORDER BY ready_ms, workspace, scope, channel, thread, term
        LIMIT +?2";
    /// The first ?2 pending memory jobs of the workspace ?1, each with the first failed call since the last success,
    /// and the newest one.
    PENDING_MEMORIES = "
        WITH jobs AS (
            SELECT workspace, scope, channel, thread, term, due_ms, token,
                scope || '/' || term || CASE WHEN channel = '' THEN '' ELSE '/' || channel END
                    || CASE WHEN thread = '' THEN '' ELSE '/' || thread END AS chore
            FROM chores WHERE workspace = ?1
            ORDER BY due_ms, scope, channel, thread, term LIMIT +?2
        ), calls AS (
            SELECT j.*,
                (SELECT max(a.id) FROM attempts AS a
                 WHERE a.workspace = j.workspace AND a.chore = j.chore AND a.result = 'failed') AS failed,
                (SELECT max(a.id) FROM attempts AS a
                 WHERE a.workspace = j.workspace AND a.chore = j.chore AND a.result = 'kept') AS kept
            FROM jobs AS j
        )
        SELECT c.workspace, c.scope, c.channel, c.thread, c.term, c.due_ms, c.token, f.model, f.error,
            CASE WHEN f.id IS NOT NULL THEN
                (SELECT a.at_ms FROM attempts AS a
                 WHERE a.workspace = c.workspace AND a.chore = c.chore AND a.result = 'failed' AND a.id > coalesce(c.kept, 0)
                 ORDER BY a.id LIMIT 1) END AS since_ms
        FROM calls AS c LEFT JOIN attempts AS f ON f.id = c.failed AND c.failed > coalesce(c.kept, 0)
        ORDER BY c.due_ms, c.scope, c.channel, c.thread, c.term";
    CLAIM_MEMORY_JOB = "
        UPDATE chores SET token = ?6, ready_ms = ?7, attempts = attempts + 1, again_ms = NULL
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5";
    RELEASE_MEMORY_JOBS = "UPDATE chores SET token = NULL, again_ms = NULL, ready_ms = due_ms WHERE token IS NOT NULL";
    IS_MEMORY_JOB_OURS = "
        SELECT EXISTS (SELECT 1 FROM chores
            WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
                AND token = ?6) AS is_ours";
    /// Removes a job that was not scheduled again while it was in flight; [`REPEAT_MEMORY_JOB`] handles the others.
    FINISH_MEMORY_JOB = "
        DELETE FROM chores
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5 AND again_ms IS NULL";
    REPEAT_MEMORY_JOB = "
        UPDATE chores SET due_ms = again_ms, ready_ms = again_ms, again_ms = NULL, token = NULL, attempts = 0
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5";
    // The retry also covers what the job was scheduled again for.
    /// ?7 is 1 to keep the attempt count, or 0 to reset it.
    POSTPONE_MEMORY_JOB = "
        UPDATE chores SET due_ms = ?6, ready_ms = ?6, again_ms = NULL, token = NULL, attempts = attempts * ?7
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5";
    /// Whether one of the memories and memos ?1 has changed since revision ?2, or is gone.
    HAS_MEMORY_CHANGED_SINCE = "
        SELECT EXISTS (SELECT 1 FROM json_each(?1) AS j
            LEFT JOIN memories AS m ON m.id = CAST(j.value AS BIGINT)
            LEFT JOIN memos AS n ON n.id = CAST(j.value AS BIGINT)
            WHERE m.touched > ?2 OR n.touched > ?2 OR (m.id IS NULL AND n.id IS NULL)) AS has_changed";
    /// The messages in ?2, listed as [channel, id], that are not public, or gone.
    NON_PUBLIC_MESSAGES = "
        SELECT j.key AS place FROM json_each(?2) AS j
        LEFT JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
        LEFT JOIN channels AS c ON c.workspace = ?1 AND c.id = j.value ->> 0
        WHERE m.visibility IS DISTINCT FROM 'public' OR c.visibility IS DISTINCT FROM 'public'";

    // Contexts read the text of current versions only; the entries of old ones are kept.
    RETIRE_MEMORY = "
        UPDATE memories SET is_current = 0, text = NULL, public_text = NULL
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5 AND is_current = 1";
    PUT_MEMORY = "
        INSERT INTO memories
            (workspace, scope, channel, thread, term, id, is_current, made_ms, newest_ms, entries, lost, text,
             public_text)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, '[]', ?10, ?11)";
    PUT_SOURCES = "
        INSERT INTO memory_sources (workspace, channel, line, scope, of_channel, of_thread, term)
        SELECT ?1, value ->> 0, value ->> 1, ?2, ?3, ?4, ?5 FROM json_each(?6)
        WHERE true
        ON CONFLICT (workspace, channel, line, scope, of_channel, of_thread, term)
        DO UPDATE SET gone_ms = NULL WHERE memory_sources.gone_ms IS NOT NULL";
    /// Marks the sources of versions beyond the newest ?6 as gone at ?7, including orphaned ones, unless a remaining
    /// version shares them.
    RETIRE_SOURCES = concat!(
        "UPDATE memory_sources AS s SET gone_ms = ?7 FROM (",
            source_messages!("(SELECT * FROM memories
                WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
                ORDER BY id DESC LIMIT -1 OFFSET ?6)"), "
            UNION
            SELECT l.value ->> 0, l.value ->> 1 FROM (SELECT * FROM memories
                WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
                ORDER BY id DESC LIMIT -1 OFFSET ?6) AS m CROSS JOIN json_each(m.lost) AS l
            EXCEPT ",
            source_messages!("(SELECT * FROM memories
                WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
                ORDER BY id DESC LIMIT +?6)"), ") AS old
        WHERE s.workspace = ?1 AND s.channel = old.channel AND s.line = old.line AND s.scope = ?2
            AND s.of_channel = ?3 AND s.of_thread = ?4 AND s.term = ?5 AND s.gone_ms IS NULL"
    );
    // OR IGNORE, since a prompt may have held both versions.
    /// Versions beyond the newest ?6 are dropped. Prompts that held one are reassigned to the oldest remaining version.
    REASSIGN_PROMPTS = "
        UPDATE OR IGNORE exchange_memories SET memory = (SELECT min(id) FROM (SELECT id FROM memories
            WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
            ORDER BY id DESC LIMIT +?6) AS part)
        WHERE memory IN (SELECT id FROM memories
            WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
            ORDER BY id DESC LIMIT -1 OFFSET ?6)";
    DROP_OLD_VERSIONS = "
        DELETE FROM memories WHERE id IN (SELECT id FROM memories
            WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
            ORDER BY id DESC LIMIT -1 OFFSET ?6)";
    /// When the current version was made.
    MEMORY_MADE_AT = "
        SELECT made_ms FROM memories INDEXED BY memories_current
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5 AND is_current = 1";
    MEMORIES = "
        SELECT id, workspace, scope, channel, thread, term, entries, lost, newest_ms, made_ms
        FROM memories INDEXED BY memories_current
        WHERE workspace = ?1 AND is_current = 1 AND scope IN ('channel', 'workspace')
        ORDER BY scope, channel, thread, term";
    MEMORY_VERSIONS = "
        SELECT id, workspace, scope, channel, thread, term, entries, lost, newest_ms, made_ms, is_current
        FROM memories
        WHERE workspace = ?1 AND scope = ?2 AND channel = ?3 AND thread = ?4 AND term = ?5
        ORDER BY id";
    /// The memories that any of the messages ?2, a list of [channel, id], is a source of.
    MEMORIES_OF_MESSAGES = "
        SELECT DISTINCT s.workspace, s.scope, s.of_channel AS channel, s.of_thread AS thread, s.term
        FROM json_each(?2) AS j
        CROSS JOIN memory_sources AS s ON s.workspace = ?1 AND s.channel = j.value ->> 0 AND s.line = j.value ->> 1";
    /// The memories that any message of a channel is a source of.
    MEMORIES_OF_CHANNEL = "
        SELECT DISTINCT workspace, scope, of_channel AS channel, of_thread AS thread, term FROM memory_sources
        WHERE workspace = ?1 AND channel = ?2";
    /// Drops the sources that no version and no prompt refers to any more.
    DROP_SOURCES = "DELETE FROM memory_sources WHERE gone_ms < ?1";
    /// Removes the channel ?2 from the sources of the workspace's memories.
    FORGET_SOURCES_OF_CHANNEL = "
        DELETE FROM memory_sources WHERE workspace = ?1 AND channel = ?2 AND scope = 'workspace'";
    FORGET_SOURCE = "DELETE FROM memory_sources WHERE workspace = ?1 AND channel = ?2 AND line = ?3";
    CHANGE_MEMORY = "
        UPDATE memories SET entries = ?2, lost = ?3, touched = ?4,
            text = CASE is_current WHEN 1 THEN ?5 END, public_text = CASE is_current WHEN 1 THEN ?6 END
        WHERE id = ?1";

    /// The version ?1 was changed at ?2 and has to incorporate the messages ?3 again.
    TOUCH_MEMORY = "UPDATE memories SET touched = ?2, lost = coalesce(?3, lost) WHERE id = ?1";
    /// The threads of a channel with a memory, the most recently active first.
    THREAD_MEMORIES = "
        SELECT id, workspace, scope, channel, thread, term, entries, lost, newest_ms, made_ms
        FROM memories INDEXED BY memories_of_threads
        WHERE workspace = ?1 AND channel = ?2 AND is_current = 1 AND scope = 'thread'
        ORDER BY newest_ms DESC, id DESC
        LIMIT +?3";
    PUT_MEMORY_CHANGE = "
        INSERT INTO memory_changes
            (workspace, scope, channel, thread, term, id, at_ms, changed_by, kind, old_version, new_version,
             decision)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    DROP_MEMORY_CHANGES = "DELETE FROM memory_changes WHERE at_ms < ?1";
    /// The newest changes before ?2 of the memories and memos of a workspace, or of its channel ?3, newest first.
    MEMORY_CHANGES = "
        SELECT c.id, c.workspace, c.scope, c.channel, c.thread, c.term, c.at_ms, c.changed_by, c.kind,
            coalesce(m.id, o.id) AS old_version, c.new_version, c.decision
        FROM memory_changes AS c LEFT JOIN memories AS m ON m.id = c.old_version
        LEFT JOIN old_memos AS o ON o.id = c.old_version
        WHERE c.workspace = ?1 AND c.id < ?2 AND (CAST(?3 AS TEXT) IS NULL OR c.channel = CAST(?3 AS TEXT))
        ORDER BY c.id DESC
        LIMIT +?4";

    PUT_EXCHANGE_MEMORIES = "
        INSERT INTO exchange_memories (memory, attempt) SELECT CAST(value AS BIGINT), ?1 FROM json_each(?2) WHERE true
        ON CONFLICT DO NOTHING";
    FORGET_EXCHANGES_OF_MEMORY = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE at_ms >= ?2 AND attempt IN (SELECT attempt FROM exchange_memories WHERE memory = ?1)";
    FORGET_REASONS_OF_MEMORY = concat!(
        "UPDATE decisions SET judgment = json_set(judgment, '$.reason', ''), why = NULL, revision = ?3
        WHERE judgment IS NOT NULL AND id IN (", decisions_with_memory!(), ")"
    );
    FORGET_VERDICTS_OF_MEMORY = "
        UPDATE attempts SET judgment = json_set(judgment, '$.reason', '')
        WHERE judgment IS NOT NULL AND at_ms >= ?2
            AND id IN (SELECT attempt FROM exchange_memories WHERE memory = ?1)";
    FORGET_DEAD_LETTERS_OF_MEMORY = erase_dead_letters!(decisions_with_memory);
    FORGET_DEAD_OUTBOX_TEXT_OF_MEMORY = erase_unseen_texts!(decisions_with_memory);
    FORGET_CONSENTS_OF_MEMORY = erase_consents!(decisions_with_memory);
    DROP_EXCHANGE_MEMORIES = "
        DELETE FROM exchange_memories
        WHERE attempt IN (SELECT attempt FROM exchanges WHERE at_ms < ?1 AND prompt = '')";

    MEMOS = "
        SELECT id, memo FROM memos WHERE workspace = ?1 AND realm IN ('', ?2)
        ORDER BY priority DESC, updated_ms DESC, name, id";
    ALL_MEMOS = "
        SELECT id, memo FROM memos WHERE workspace = ?1 ORDER BY priority DESC, updated_ms DESC, name, id";
    ONE_MEMO = "SELECT memo FROM memos WHERE id = ?2 AND workspace = ?1";
    /// Whether one of the memories and memos ?1 has shown anything non-public in the channel ?2.
    HAS_SHOWN_NON_PUBLIC = "
        SELECT EXISTS (SELECT 1 FROM json_each(?1) AS j CROSS JOIN memories AS m ON m.id = CAST(j.value AS BIGINT)
                CROSS JOIN json_each(m.entries) AS e
                WHERE m.channel = ?2 AND e.value ->> 'visibility' IS DISTINCT FROM 'public')
            OR EXISTS (SELECT 1 FROM json_each(?1) AS j CROSS JOIN memos AS m ON m.id = CAST(j.value AS BIGINT)
                WHERE m.realm <> '') AS has_shown";
    /// The names of a scope's memos other than ?3.
    OTHER_MEMO_NAMES = "SELECT name FROM memos WHERE workspace = ?1 AND realm = ?2 AND id <> ?3";
    PUT_MEMO = "
        INSERT INTO memos (id, workspace, realm, name, channel, priority, updated_ms, touched, memo)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (id) DO UPDATE SET realm = excluded.realm, name = excluded.name,
            channel = excluded.channel, priority = excluded.priority, updated_ms = excluded.updated_ms,
            touched = excluded.touched, memo = excluded.memo";
    PUT_MEMO_SOURCES = "
        INSERT INTO memo_lines (workspace, channel, line, memo)
        SELECT ?1, value ->> 0, value ->> 1, ?2 FROM json_each(?3)
        WHERE true
        ON CONFLICT DO NOTHING";
    COPY_MEMO_SOURCES = "
        INSERT INTO memo_lines (workspace, channel, line, memo)
        SELECT workspace, channel, line, ?2 FROM memo_lines WHERE memo = ?1
        ON CONFLICT DO NOTHING";
    SOURCES_OF_MEMO = "SELECT channel, line FROM memo_lines WHERE memo = ?1 ORDER BY channel, line";
    REMOVE_MEMO = "DELETE FROM memos WHERE id = ?1";
    REMOVE_MEMO_SOURCES = "DELETE FROM memo_lines WHERE memo = ?1";
    // Old versions of memos.

    PUT_OLD_MEMO = "
        INSERT INTO old_memos (id, workspace, channel, at_ms, memo_id, memo) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    ONE_OLD_MEMO = "SELECT memo FROM old_memos WHERE workspace = ?1 AND memo_id = ?2 AND id = ?3";
    /// ?2 is a JSON list of ids.
    OLD_MEMOS = "
        SELECT o.id, o.memo FROM json_each(?2) AS j
        CROSS JOIN old_memos AS o ON o.id = CAST(j.value AS BIGINT)
        WHERE o.workspace = ?1
        ORDER BY o.id";
    OLD_MEMOS_OF_CHANNEL = "
        SELECT id, memo FROM old_memos WHERE id IN (
            SELECT id FROM old_memos WHERE workspace = ?1 AND channel = ?2
            UNION SELECT memo FROM memo_lines WHERE workspace = ?1 AND channel = ?2)
        ORDER BY id";
    REMOVE_OLD_MEMO = "DELETE FROM old_memos WHERE id = ?1";
    DROP_SOURCES_OF_OLD_MEMOS = "
        DELETE FROM memo_lines WHERE memo IN (SELECT id FROM old_memos WHERE at_ms < ?1)";
    DROP_OLD_MEMOS = "DELETE FROM old_memos WHERE at_ms < ?1";
    /// The author and the time of a message.
    MESSAGE_AUTHOR = "
        SELECT author, at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND author_kind = 'human'";
    /// Replaces a memo with its source messages in the lineage of prompts that held it.
    REPLACE_MEMO_WITH_SOURCES = "
        INSERT INTO exchange_lines (workspace, channel, line, attempt)
        SELECT l.workspace, l.channel, l.line, e.attempt
        FROM memo_lines AS l CROSS JOIN exchange_memories AS e ON e.memory = l.memo
        WHERE l.memo = ?1
        ON CONFLICT DO NOTHING";
    /// The memos that were made from any of the messages ?2, a list of [channel, id].
    MEMOS_OF_MESSAGES = "
        SELECT DISTINCT l.memo AS id FROM json_each(?2) AS j
        CROSS JOIN memo_lines AS l ON l.workspace = ?1 AND l.channel = j.value ->> 0 AND l.line = j.value ->> 1
        ORDER BY l.memo";
    /// The memos that were made in a channel, or have a source message in it.
    MEMOS_OF_CHANNEL = "
        SELECT id, memo FROM memos WHERE id IN (
            SELECT id FROM memos WHERE workspace = ?1 AND channel = ?2
            UNION SELECT memo FROM memo_lines WHERE workspace = ?1 AND channel = ?2)
        ORDER BY id";

    /// Records that the channel ?2 turned private.
    MARK_CHANNEL_PRIVATE = "UPDATE channels SET withdrawn = ?3 WHERE workspace = ?1 AND id = ?2";
    // ?2 is a channel that turned private. Model output in other channels may quote its messages.

    FORGET_REASONS_OF_CHANNEL = concat!(
        "UPDATE decisions SET judgment = json_set(judgment, '$.reason', ''), why = NULL, revision = ?3
        WHERE judgment IS NOT NULL AND id IN (", decisions_elsewhere!(), ")"
    );
    FORGET_VERDICTS_OF_CHANNEL = concat!(
        "UPDATE attempts SET judgment = json_set(judgment, '$.reason', '')
        WHERE judgment IS NOT NULL AND decision IN (", decisions_elsewhere!(), ")"
    );
    FORGET_DEAD_LETTERS_OF_CHANNEL = erase_dead_letters!(decisions_elsewhere);
    FORGET_DEAD_OUTBOX_TEXT_OF_CHANNEL = erase_unseen_texts!(decisions_elsewhere);
    FORGET_CONSENTS_OF_CHANNEL = erase_consents!(decisions_elsewhere);
    /// Only the workspace's memories are made from messages of several channels.
    FORGET_EXCHANGES_OF_CHANNEL = concat!(
        "UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0 WHERE attempt IN (
            SELECT l.attempt FROM (", made_from_channel!(), ") AS l
            CROSS JOIN attempts AS a ON a.id = l.attempt
            LEFT JOIN decisions AS d ON d.id = a.decision
            WHERE d.channel <> ?2 OR a.chore LIKE 'workspace/%')"
    );

    /// The memories that were made from messages of the user ?2.
    MEMORIES_FROM = "
        SELECT DISTINCT s.workspace, s.scope, s.of_channel AS channel, s.of_thread AS thread, s.term
        FROM (SELECT DISTINCT channel FROM memory_sources WHERE workspace = ?1) AS c
        CROSS JOIN messages AS m INDEXED BY messages_of_author ON m.workspace = ?1 AND m.channel = c.channel
        CROSS JOIN memory_sources AS s ON s.workspace = ?1 AND s.channel = m.channel AND s.line = m.id
        WHERE m.author = ?2
        ORDER BY s.scope, s.of_channel, s.of_thread, s.term";

    MAKE_STANDING_ORDERS_PRIVATE = "
        UPDATE standing_orders SET visibility = 'private'
        WHERE workspace = ?1 AND channel = ?2 AND visibility = 'public'";
    SET_VISIBILITY_OF_PUBLIC_MESSAGES = "UPDATE messages SET visibility = ?3 WHERE workspace = ?1 AND channel = ?2 AND visibility = 'public'";

    /// Indexed messages keep their numbers; only their partition turns private. It gets a visibility of its own, since
    /// the channel may have a private partition already.
    MAKE_INDEX_PARTITION_PRIVATE = "
        UPDATE recall_rooms SET visibility = 'private ' || number
        WHERE workspace = ?1 AND channel = ?2 AND visibility = 'public'";
}
