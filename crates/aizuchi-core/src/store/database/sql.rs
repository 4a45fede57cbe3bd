//! Every statement for the two databases, as constants. A test prepares each of them.
//!
//! `LIMIT +?1` instead of `LIMIT ?1`: SQLite peeks at a bare placeholder while planning and replans for each new
//! value, which takes longer than most statements run.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub const $name: &str = $sql;)*

        /// The name and text of every statement in this module.
        pub const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// The models' usage that is booked, at `$now`; the channel is '' for all channels.
macro_rules! spent {
    ($channel:literal, $now:literal) => {
        concat!(
            "(SELECT json_object(
                'tokens_in_day', coalesce(sum(tokens) FILTER (WHERE span = 'hour'), 0),
                'unsolicited_tokens_in_day', coalesce(sum(unasked_tokens) FILTER (WHERE span = 'hour'), 0),
                'micros_in_day', coalesce(sum(micros) FILTER (WHERE span = 'hour'), 0),
                'micros_in_month', coalesce(sum(micros) FILTER (WHERE span = 'day'), 0))
            FROM spending WHERE workspace = ?1 AND channel = ", $channel, "
                AND (span = 'hour' AND begin_ms > ", $now, " - 86400000
                    OR span = 'day' AND begin_ms > ", $now, " - 2592000000))"
        )
    };
}

/// What the files of a message take. Only those of the local room are kept.
macro_rules! upload_bytes {
    () => {
        "CASE WHEN messages.workspace = 'local' AND messages.attachments <> '[]' THEN
            (SELECT CAST(coalesce(sum(u.size_bytes), 0) AS BIGINT) FROM uploads AS u
             WHERE u.channel = messages.channel AND u.message = messages.id)
         ELSE 0 END"
    };
}

pub mod consents;
pub mod context;
pub mod expiry;
pub mod forget;
pub mod memory;
pub mod proposals;
pub mod recall;
pub mod redaction;
pub mod transfer;
pub mod uploads;

/// The name and text of every statement.
pub fn all_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = [
        ALL,
        consents::ALL,
        context::ALL,
        expiry::ALL,
        forget::ALL,
        memory::ALL,
        proposals::ALL,
        recall::ALL,
        redaction::ALL,
        uploads::ALL,
    ];
    lists.into_iter().flatten().copied()
}

macro_rules! messages {
    ($which:expr) => {
        concat!(
            "SELECT m.workspace, m.channel, m.id, m.thread, m.at_ms, m.author, m.author_kind,
                CASE WHEN m.deleted_ms IS NULL THEN m.text ELSE '' END AS text,
                m.mentions, m.edits, m.deleted_ms, m.is_expired, m.withheld, m.gate, m.visibility,
                CASE WHEN m.deleted_ms IS NULL THEN m.attachments ELSE '[]' END AS attachments,
                max(m.revision, coalesce(m.reacted, 0)) AS revision, u.name,
                CASE WHEN m.reacted IS NULL THEN '[]' ELSE
                    (SELECT json_group_array(json_array(emoji, user_id, kind, name)) FROM
                        (SELECT r.emoji, r.user_id, r.kind, w.name FROM reactions AS r
                         LEFT JOIN users AS w ON w.workspace = r.workspace AND w.id = r.user_id
                         WHERE r.workspace = m.workspace AND r.message = m.id AND r.channel = m.channel
                            AND r.removed_ms IS NULL
                         ORDER BY r.at_ms, r.emoji, r.user_id) AS part) END AS reactions
            FROM messages AS m
            LEFT JOIN users AS u ON u.workspace = m.workspace AND u.id = m.author ",
            $which
        )
    };
}

/// A step with its outbox item as one JSON object: the driver returns one row faster than many.
macro_rules! step_json {
    () => {
        "json_object('workspace', s.workspace, 'channel', s.channel, 'thread', s.thread,
            'verb', s.verb, 'piece', s.piece, 'due_ms', s.due_ms, 'ready_ms', s.ready_ms,
            'decision', s.decision, 'is_owed', s.is_owed, 'redrafts', s.redrafts,
            'second_looks', s.second_looks,
            'follow_ms', s.follow_ms, 'since_ms', s.since_ms, 'generation', s.generation, 'attempts', s.attempts,
            'token', s.token, 'lease_until_ms', s.lease_until_ms, 'draft', o.draft, 'key', o.key,
            'text', o.text, 'reaction_on', o.reaction_on, 'notes', o.notes, 'dispatched_ms', o.dispatched_ms)"
    };
}

macro_rules! decisions {
    ($which:expr) => {
        concat!(
            "SELECT d.*,
                (SELECT json_group_array(id) FROM
                    (SELECT id FROM messages WHERE decision = d.id ORDER BY at_ms, id) AS part) AS messages,
                (SELECT json_group_array(message) FROM
                    (SELECT message FROM outbox
                     WHERE decision = d.id AND state = 'said' AND reaction_on IS NULL
                     ORDER BY id) AS part) AS said,
                (SELECT json_array(reaction_on, text) FROM outbox
                 WHERE decision = d.id AND state = 'said' AND reaction_on IS NOT NULL LIMIT 1) AS reacted,
                (SELECT json_array(m.id, m.at_ms - n.at_ms)
                 FROM (SELECT id, at_ms, author FROM messages
                    WHERE decision = d.id AND d.closed_ms IS NOT NULL
                    ORDER BY at_ms DESC, id DESC LIMIT 1) AS n
                 CROSS JOIN messages AS m INDEXED BY messages_in_order
                    ON m.workspace = d.workspace AND m.channel = d.channel AND m.thread IN (d.thread, n.id)
                        AND m.at_ms >= n.at_ms
                 WHERE m.author_kind = 'human' AND m.author <> n.author AND (m.deleted_ms IS NULL OR m.is_expired = 1)
                    AND m.decision IS DISTINCT FROM d.id
                 ORDER BY m.at_ms, m.id LIMIT 1) AS answered,
                (SELECT count(*) FROM outbox AS o
                 CROSS JOIN reactions AS r ON r.workspace = o.workspace AND r.message = o.message
                    AND r.channel = o.channel
                 WHERE o.decision = d.id AND o.state = 'said' AND o.reaction_on IS NULL
                    AND r.kind = 'human' AND r.removed_ms IS NULL) AS reactions,
                (SELECT json_group_array(json_object(
                    'verb', verb, 'at_ms', at_ms, 'model', model, 'prompt_hash', prompt_hash,
                    'prompt_bytes', prompt_bytes, 'input_tokens', input_tokens,
                    'cached_tokens', cached_tokens, 'cache_write_tokens', cache_write_tokens,
                    'output_tokens', output_tokens,
                    'usage_is_estimated', usage_is_estimated, 'price_micros', price_micros,
                    'latency_ms', latency_ms, 'result', result, 'judgment', json(judgment),
                    'error', error, 'left_out', json(left_out))) FROM
                    (SELECT * FROM attempts WHERE decision = d.id ORDER BY id) AS part) AS attempts
            FROM decisions AS d ",
            $which
        )
    };
}

/// What other claims than ?4 have reserved.
macro_rules! reserved {
    ($condition:literal) => {
        concat!(
            "(SELECT json_object(
                'tokens_in_day', coalesce(sum(tokens), 0),
                'unsolicited_tokens_in_day', coalesce(sum(tokens) FILTER (WHERE is_unasked = 1), 0),
                'micros_in_day', coalesce(sum(micros), 0), 'micros_in_month', coalesce(sum(micros), 0))
            FROM reservations WHERE ",
            $condition,
            "workspace = ?1 AND token <> ?4 AND until_ms > ?3)"
        )
    };
}

/// The closed decisions of the workspace ?1 with a verdict from which a gate may learn.
macro_rules! judged_moments {
    () => {
        "workspace = ?1 AND moment IS NOT NULL AND judgment IS NOT NULL AND closed_ms IS NOT NULL"
    };
}

/// Whether the message `m` is one that is wanted.
macro_rules! filtered_message {
    () => {
        "m.at_ms >= ?7 AND m.at_ms < ?8 AND (CAST(?9 AS TEXT) IS NULL OR m.visibility = CAST(?9 AS TEXT))
                AND (CAST(?10 AS TEXT) IS NULL OR m.author = CAST(?10 AS TEXT))"
    };
}

/// Whether the decision `d` covers a message that is wanted, or has posted one. What closed long before is not looked
/// at: no message of it is newer, but for clocks that differ.
macro_rules! covers_filtered_message {
    () => {
        concat!(
            "AND (d.closed_ms IS NULL OR d.closed_ms + 3600000 >= ?7)
            AND (EXISTS (SELECT 1 FROM messages AS m WHERE m.decision = d.id AND ", filtered_message!(), ")
                OR EXISTS (SELECT 1 FROM outbox AS o
                    CROSS JOIN messages AS m ON m.workspace = o.workspace AND m.id = o.message AND m.channel = o.channel
                    WHERE o.decision = d.id AND o.state = 'said' AND o.reaction_on IS NULL
                        AND ", filtered_message!(), "))"
        )
    };
}

macro_rules! filtered_decisions {
    ($outcome:literal, $id:literal, $messages:expr) => {
        decisions!(concat!(
            "WHERE d.workspace = ?1 AND d.channel = ?2 AND ",
            $outcome,
            " AND ",
            $id,
            " < ?5
                AND (CAST(?4 AS TEXT) IS NULL OR d.gate = CAST(?4 AS TEXT)) ",
            $messages,
            " ORDER BY ",
            $id,
            " DESC LIMIT +?6"
        ))
    };
    (any $messages:expr) => {
        filtered_decisions!("CAST(?3 AS TEXT) IS NULL", "d.id", $messages)
    };
    (ended $messages:expr) => {
        filtered_decisions!("d.ended = CAST(?3 AS TEXT)", "d.id", $messages)
    };
    // Few are open. The plus keeps SQLite from reading all of a channel in order.
    (open $messages:expr) => {
        filtered_decisions!(
            "d.id IN (SELECT o.id FROM decisions AS o INDEXED BY decisions_open
                WHERE o.workspace = ?1 AND o.channel = ?2 AND o.closed_ms IS NULL
                    AND coalesce(o.ended, 'open') = CAST(?3 AS TEXT))",
            "+d.id",
            $messages
        )
    };
}

/// The decisions that cover the message ?3 of the channel ?2, or whose prompts held it.
macro_rules! decisions_on {
    () => {
        "SELECT decision FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3
        UNION
        SELECT a.decision FROM exchange_lines AS l
        CROSS JOIN attempts AS a ON a.id = l.attempt
        WHERE l.workspace = ?1 AND l.channel = ?2 AND l.line = ?3"
    };
}

statements! {
    // The driver's own table.
    HAS_MIGRATIONS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    NEWEST_MIGRATION = "SELECT max(version) AS version FROM _sqlx_migrations";
    BEGIN = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    HEARTBEAT = "SELECT 1";
    MOVED_TO = "SELECT description FROM _sqlx_migrations WHERE version = ?1";
    SET_MOVED_TO = "
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (?1, ?2, TRUE, ?3, 0)";
    DROP_MOVED_MARK = "DELETE FROM _sqlx_migrations WHERE version = ?1";
    /// Of those who are known, wrote something, or are only on record with an order.
    ALL_USER_IDS = "
        SELECT workspace, id FROM users
        UNION SELECT workspace, author FROM messages
        UNION SELECT workspace, \"user\" FROM opted_out
        UNION SELECT workspace, user_id FROM given_orders WHERE user_id <> ''
        ORDER BY 1, 2";
    COUNT_MESSAGES = "SELECT count(*) AS n FROM messages";
    COUNTERS = "SELECT revision, last_number, installation, copied_ms, restored_ms FROM counters";
    INSTALLATION = "SELECT installation FROM counters";
    PUT_COUNTERS = "UPDATE counters SET revision = ?1, last_number = ?2";
    /// In a backup: when it was made.
    NOTE_COPIED = "UPDATE counters SET copied_ms = ?1, restored_ms = NULL";
    /// A copy that was made with other tools does not tell when, though it may say so of an earlier one; it knows what was
    /// heard before.
    NOTE_RESTORED = "
        UPDATE counters SET restored_ms = ?1,
            copied_ms = coalesce(CASE WHEN restored_ms IS NULL THEN copied_ms END, (SELECT max(at_ms) FROM messages WHERE at_ms <= ?1), 0)";
    ANSWERED_BEFORE_RESTORE = "
        SELECT m.id
        FROM json_each(?3) AS j
        JOIN messages AS m ON m.workspace = ?1 AND m.channel = ?2 AND m.id = j.value ->> 0
        WHERE m.at_ms <= ?5
            AND (EXISTS (SELECT 1 FROM messages AS p
                    WHERE p.workspace = ?1 AND p.channel = ?2 AND p.author_kind = 'persona'
                        AND p.at_ms > m.at_ms AND p.at_ms > ?4 AND p.at_ms <= ?5
                        AND (p.thread = m.thread OR p.thread = m.id)
                        AND NOT EXISTS (SELECT 1 FROM outbox AS o
                            WHERE o.workspace = ?1 AND o.channel = ?2 AND o.message = p.id))
                OR EXISTS (SELECT 1 FROM reactions AS r
                    WHERE r.workspace = ?1 AND r.channel = ?2 AND r.message = m.id AND r.kind = 'persona'
                        AND r.removed_ms IS NULL
                        AND NOT EXISTS (SELECT 1 FROM outbox AS o
                            WHERE o.workspace = ?1 AND o.channel = ?2 AND o.reaction_on = m.id AND o.state = 'said')))";
    /// What was to be posted when the backup was made may have been posted since.
    LOOK_FOR_POSTS = "
        UPDATE outbox SET state = 'sending', dispatched_ms = coalesce(dispatched_ms, c.copied_ms)
        FROM counters AS c WHERE outbox.state = 'draft'";
    WEEKLY_NOTE = "
        SELECT state, begun_ms FROM weekly_notes WHERE workspace = ?1 AND channel = ?2 AND week = ?3";
    /// ?6 is when the row was last begun, for whoever begins it again.
    BEGIN_WEEKLY_NOTE = "
        INSERT INTO weekly_notes (workspace, channel, week, state, begun_ms) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (workspace, channel, week) DO UPDATE SET begun_ms = excluded.begun_ms
        WHERE weekly_notes.state = 'sending' AND weekly_notes.begun_ms = CAST(?6 AS BIGINT)";
    END_WEEKLY_NOTE = "
        UPDATE weekly_notes SET state = ?4 WHERE workspace = ?1 AND channel = ?2 AND week = ?3";
    DROP_WEEKLY_NOTES = "DELETE FROM weekly_notes WHERE begun_ms < ?1";
    /// Changes a byte: SQLite writes nothing where nothing changes.
    PROBE = "UPDATE counters SET probes = probes + 1";

    /// What hearing needs to know, in one row of three JSON lists: the indexes of those messages in ?1 that are known
    /// already, and the pending steps and open owed answers of the conversations in ?2. ?1 lists [workspace, channel,
    /// id, client message id], ?2 lists [workspace, channel, thread].
    PENDING_STATES = concat!(
        "SELECT
            (SELECT json_group_array(k.key) FROM
                (SELECT j.key FROM json_each(?1) AS j
                 CROSS JOIN messages AS m ON m.workspace = j.value ->> 0
                    AND m.channel = j.value ->> 1 AND m.id = j.value ->> 2
                 UNION ALL
                 SELECT j.key FROM json_each(?1) AS j
                 CROSS JOIN messages AS m INDEXED BY messages_sent_as
                    ON m.workspace = j.value ->> 0 AND m.channel = j.value ->> 1
                    AND m.sent_as = j.value ->> 3) AS k) AS known,
            (SELECT json_group_array(", step_json!(), ") FROM json_each(?2) AS j
             CROSS JOIN steps AS s ON s.workspace = j.value ->> 0 AND s.channel = j.value ->> 1
                AND s.thread = j.value ->> 2
             LEFT JOIN outbox AS o ON o.id = s.piece) AS steps,
            (SELECT json_group_array(json_object('workspace', w.workspace, 'channel', w.channel,
                'thread', w.thread, 'at_ms', w.at_ms, 'message', w.message, 'asker', w.asker))
             FROM json_each(?2) AS j
             CROSS JOIN owed AS w INDEXED BY owed_open ON w.workspace = j.value ->> 0
                AND w.channel = j.value ->> 1 AND w.thread = j.value ->> 2
             WHERE w.closed_ms IS NULL) AS owed"
    );

    /// For a JSON list of conversations: the reply delays of their channels, and the newest message by a human among
    /// the newest ?2 messages of each.
    REPLY_DELAYS = "
        SELECT
            (SELECT json_group_array(json_array(c.workspace, c.id, json(c.delays))) FROM
                (SELECT DISTINCT value ->> 0 AS workspace, value ->> 1 AS channel FROM json_each(?1)) AS j
             CROSS JOIN channels AS c ON c.workspace = j.workspace AND c.id = j.channel) AS delays,
            (SELECT json_group_array(json_array(
                m.workspace, m.channel, m.thread, m.at_ms, m.id, m.author, m.author_kind))
             FROM json_each(?1) AS j
             CROSS JOIN messages AS m ON m.rowid =
                (SELECT r.line FROM
                    (SELECT rowid AS line, author_kind, withheld, at_ms, id
                     FROM messages INDEXED BY messages_in_order
                     WHERE workspace = j.value ->> 0 AND channel = j.value ->> 1
                        AND thread = j.value ->> 2
                     ORDER BY at_ms DESC, id DESC LIMIT +?2) AS r
                 WHERE r.author_kind = 'human' AND r.withheld = 0
                 ORDER BY r.at_ms DESC, r.id DESC LIMIT 1)) AS newest";
    PUT_REPLY_DELAYS = "
        UPDATE channels SET delays = j.value ->> 2 FROM json_each(?1) AS j
        WHERE channels.workspace = j.value ->> 0 AND channels.id = j.value ->> 1";

    // Hearing. ?1 is a JSON array with one array per row.

    /// Usually no reaction waits for a message, so the outer EXISTS answers for the whole list.
    PUT_MESSAGES = "
        INSERT INTO messages
            (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility,
             gate, decision, heard, revision, withheld, sent_as, attachments, file_names, reacted)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), value ->> 5,
            value ->> 6, value ->> 7, value ->> 8,
            coalesce((SELECT visibility FROM channels
                      WHERE workspace = value ->> 0 AND id = value ->> 1), 'private'),
            value ->> 9, CAST(value ->> 10 AS BIGINT), CAST(value ->> 11 AS BIGINT),
            CAST(value ->> 11 AS BIGINT),
            CASE WHEN EXISTS (SELECT 1 FROM resets
                WHERE workspace = value ->> 0 AND channel = value ->> 1 AND thread = value ->> 3
                    AND until_ms > CAST(value ->> 4 AS BIGINT)) THEN 1 ELSE CAST(value ->> 12 AS BIGINT) END,
            value ->> 13, value ->> 14, value ->> 15,
            CASE WHEN EXISTS (SELECT 1 FROM reactions INDEXED BY reactions_early WHERE is_early = 1)
                AND EXISTS (SELECT 1 FROM reactions INDEXED BY reactions_early
                WHERE workspace = value ->> 0 AND message = value ->> 2 AND channel = value ->> 1
                    AND is_early = 1) THEN CAST(value ->> 11 AS BIGINT) END
        FROM json_each(?1)
        WHERE true
        ON CONFLICT DO NOTHING";
    SETTLE_OWN_MESSAGE = "
        UPDATE messages SET gate = ?4
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND author_kind = 'persona'";
    PUT_LINKS = "
        INSERT INTO links (workspace, channel, message, version, parent, probability)
        SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4,
            CAST(value ->> 5 AS DOUBLE PRECISION)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT DO NOTHING";
    ATTACHMENTS = "
        SELECT attachments FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND deleted_ms IS NULL AND withheld = 0";
    PUT_ATTACHMENTS = "
        UPDATE messages SET attachments = ?4 WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    UNDELETED_MESSAGE = "
        SELECT workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, attachments, edits, edited_ms,
            CASE WHEN gate IS NOT DISTINCT FROM 'command' THEN 2 ELSE withheld END AS attention
        FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND thread = ?4 AND deleted_ms IS NULL";
    /// When a message was written that has expired.
    EXPIRED_MESSAGE = "
        SELECT at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND thread = ?4 AND is_expired = 1";
    HAS_HEARD = "
        SELECT 1 FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3
        UNION ALL
        SELECT 1 FROM messages INDEXED BY messages_sent_as
        WHERE workspace = ?1 AND channel = ?2 AND sent_as = ?4";
    EDIT_MESSAGE = "
        UPDATE messages
        SET text = ?4, mentions = ?5, edits = edits + 1, revision = ?6, decision = coalesce(?7, decision),
            edited_ms = ?8, attachments = ?9, file_names = ?10
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    DELETE_MESSAGE = "
        UPDATE messages
        SET text = '', mentions = '[]', attachments = '[]', file_names = '', deleted_ms = ?4, revision = ?5, sent_as = NULL
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    PUT_CHANNEL = "
        INSERT INTO channels (workspace, id, name, visibility) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, id) DO UPDATE SET name = excluded.name, visibility = excluded.visibility
        WHERE channels.name <> excluded.name OR channels.visibility <> excluded.visibility";
    PUT_CURSOR = "
        INSERT INTO bookmarks (workspace, place, value) VALUES (?1, ?2, ?3)
        ON CONFLICT (workspace, place) DO UPDATE SET value = excluded.value WHERE bookmarks.value <> excluded.value";
    CURSORS = "
        SELECT workspace, place, value FROM bookmarks WHERE workspace = ?1 ORDER BY place";
    THREADS_SINCE = "
        SELECT thread, max(at_ms) AS at_ms FROM messages INDEXED BY messages_in_channel
        WHERE workspace = ?1 AND channel = ?2 AND at_ms >= ?3 AND thread <> ''
        GROUP BY thread ORDER BY 2, 1";
    PUT_USER = "
        INSERT INTO users (workspace, id, name, kind, role) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (workspace, id) DO UPDATE SET name = excluded.name, kind = excluded.kind, role = excluded.role
        WHERE users.name <> excluded.name OR users.kind <> excluded.kind OR users.role <> excluded.role";
    // Only for messages that are not deleted, and only if it is newer than what is stored. ?5 is the user, ?6 the
    // time. A reaction to an unknown message is early: the message may still arrive.

    ADD_REACTION = "
        INSERT INTO reactions (workspace, channel, message, emoji, user_id, at_ms, kind, is_early)
        SELECT ?1, ?2, ?3, ?4, CAST(?5 AS TEXT), CAST(?6 AS BIGINT), ?7, CASE WHEN EXISTS
            (SELECT 1 FROM messages WHERE workspace = ?1 AND id = ?3 AND channel = ?2) THEN 0 ELSE 1 END
        WHERE NOT EXISTS (SELECT 1 FROM messages
            WHERE workspace = ?1 AND id = ?3 AND channel = ?2 AND deleted_ms IS NOT NULL)
        ON CONFLICT (workspace, message, channel, emoji, user_id) DO UPDATE SET at_ms = excluded.at_ms, kind = excluded.kind, removed_ms = NULL
        WHERE reactions.removed_ms <= excluded.at_ms";
    REMOVE_REACTION = "
        UPDATE reactions SET removed_ms = ?6
        WHERE workspace = ?1 AND message = ?3 AND channel = ?2 AND emoji = ?4 AND user_id = ?5
            AND removed_ms IS NULL AND at_ms <= ?6";
    /// An early reaction this old will never find its message.
    DROP_EARLY_REACTIONS = "
        DELETE FROM reactions
        WHERE is_early = 1 AND at_ms < ?1 AND NOT EXISTS (SELECT 1 FROM messages AS m
            WHERE m.workspace = reactions.workspace AND m.id = reactions.message
                AND m.channel = reactions.channel)";
    /// The remaining ones have found it.
    UNMARK_EARLY_REACTIONS = "UPDATE reactions SET is_early = 0 WHERE is_early = 1 AND at_ms < ?1";
    MARK_REACTED = "UPDATE messages SET reacted = ?4 WHERE workspace = ?1 AND id = ?3 AND channel = ?2";

    // Orders.

    MUTE = "
        INSERT INTO mutes (workspace, channel, until_ms, role) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, channel, role) DO UPDATE SET until_ms = excluded.until_ms";
    /// ?3 is the role of who orders it.
    UNMUTE = "DELETE FROM mutes WHERE workspace = ?1 AND channel = ?2 AND (role = ?3 OR ?3 = 'admin')";
    PUT_MODE = "
        INSERT INTO modes (workspace, channel, mode) VALUES (?1, ?2, ?3)
        ON CONFLICT (workspace, channel) DO UPDATE SET mode = excluded.mode";
    DROP_MODE = "DELETE FROM modes WHERE workspace = ?1 AND channel = ?2";
    NOTE_PRIVATE_READ = "
        INSERT INTO private_reads (workspace, channel, reader, what, hour_ms, last_ms, reads)
        VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BIGINT) - CAST(?5 AS BIGINT) % 3600000, ?5, 1)
        ON CONFLICT (workspace, channel, reader, what, hour_ms) DO UPDATE
        SET last_ms = excluded.last_ms, reads = private_reads.reads
            + CASE WHEN excluded.last_ms - private_reads.last_ms >= CAST(?6 AS BIGINT) THEN 1 ELSE 0 END";
    DROP_PRIVATE_READS = "DELETE FROM private_reads WHERE last_ms < ?1";
    IS_CLOSED = "SELECT id FROM decisions WHERE workspace = ?1 AND id = ?2 AND closed_ms IS NOT NULL";
    PUT_MARK = "
        INSERT INTO decision_marks (workspace, decision, mark, marked_by, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (decision) DO UPDATE
        SET mark = excluded.mark, marked_by = excluded.marked_by, at_ms = excluded.at_ms";
    DROP_MARK = "DELETE FROM decision_marks WHERE workspace = ?1 AND decision = ?2";
    /// The journal has numbers of its own, so that its entries do not shift those of decisions.
    PUT_GIVEN_ORDER = "
        INSERT INTO given_orders
            (id, workspace, at_ms, given_by, kind, channel, user_id, until_ms, value, decision)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM given_orders), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    HAS_GIVEN_ORDER = "
        SELECT id FROM given_orders WHERE workspace = ?1 AND given_by = ?2 AND kind = ?3 LIMIT 1";
    DROP_GIVEN_ORDERS = "DELETE FROM given_orders WHERE at_ms < ?1";
    PUT_STANDING_ORDER = "
        INSERT INTO standing_orders
            (id, workspace, number, version, channel, thread, text, given_by, given_ms, visibility, is_draft)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM standing_orders), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    HAS_STANDING_ORDER = "SELECT id FROM standing_orders WHERE workspace = ?1 AND given_by = ?2 LIMIT 1";
    COUNT_STANDING_ORDERS = "
        SELECT count(*) AS n FROM standing_orders
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended_ms IS NULL AND is_draft = 0";
    COUNT_ORDER_DRAFTS = "
        SELECT count(*) AS n FROM standing_orders
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended_ms IS NULL AND is_draft = 1";
    NEXT_STANDING_ORDER = "
        INSERT INTO standing_order_numbers (workspace, number) VALUES (?1, 1)
        ON CONFLICT (workspace) DO UPDATE SET number = standing_order_numbers.number + 1
        RETURNING number";
    STANDING_ORDER = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 0";
    ORDER_DRAFT = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 1";
    KEEP_ORDER_DRAFT = "
        UPDATE standing_orders SET is_draft = 0, given_ms = ?3
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 1";
    DROP_ORDER_DRAFT = "DELETE FROM standing_orders WHERE workspace = ?1 AND number = ?2 AND is_draft = 1";
    DROP_ORDER_DRAFTS_OF = "
        DELETE FROM standing_orders
        WHERE workspace = ?1 AND is_draft = 1
            AND substr(given_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    DROP_LAPSED_ORDER_DRAFTS = "DELETE FROM standing_orders WHERE is_draft = 1 AND given_ms < ?1";
    END_STANDING_ORDER = "
        UPDATE standing_orders SET ended_ms = ?3
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 0";
    /// In all versions. The rows stay until the prompts are erased that held them.
    WITHDRAW_STANDING_ORDERS_OF = "
        UPDATE standing_orders SET text = '', ended_ms = coalesce(ended_ms, ?3)
        WHERE workspace = ?1 AND substr(given_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    HAS_WITHDRAWN_ORDERS = "
        SELECT 1 AS n FROM standing_orders INDEXED BY standing_orders_withdrawn WHERE text = '' LIMIT 1";
    /// Some of the prompts that held a withdrawn order.
    PROMPTS_OF_WITHDRAWN_ORDERS = "
        SELECT e.attempt FROM standing_orders AS s INDEXED BY standing_orders_withdrawn
        CROSS JOIN exchange_orders AS e
            ON e.workspace = s.workspace AND e.number = s.number AND e.version = s.version
        WHERE s.text = '' LIMIT +?1";
    DROP_WITHDRAWN_ORDERS = "DELETE FROM standing_orders WHERE text = ''";
    /// How many of the orders ?2, each a number and a version, are on record with their words.
    COUNT_ORDERS_AMONG = "
        SELECT count(*) AS n FROM json_each(?2) AS j
        CROSS JOIN standing_orders AS s ON s.workspace = ?1 AND s.number = CAST(j.value ->> 0 AS BIGINT)
            AND s.version = CAST(j.value ->> 1 AS BIGINT)
        WHERE s.text <> ''";
    /// Those that are withdrawn lead to the prompts that held them.
    DROP_OLD_STANDING_ORDERS = "DELETE FROM standing_orders WHERE ended_ms < ?1 AND text <> ''";
    OPT_OUT = "INSERT INTO opted_out (workspace, \"user\") VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    DROP_ALL_MUTES = "DELETE FROM mutes";
    DROP_ALL_MODES = "DELETE FROM modes";
    ALL_MUTES = "SELECT workspace, channel, until_ms, role FROM mutes";
    ALL_MODES = "SELECT workspace, channel, mode FROM modes";
    OPTED_OUT = "SELECT workspace, \"user\" FROM opted_out";
    OPT_IN = "DELETE FROM opted_out WHERE workspace = ?1 AND \"user\" = ?2";
    CLOSE_OWED_OF_USER = "
        UPDATE owed SET closed_ms = ?3 WHERE workspace = ?1 AND asker = ?2 AND closed_ms IS NULL";
    // The conversation is ?1 to ?3, and ?4 the end.

    PUT_RESET = "
        INSERT INTO resets (workspace, channel, thread, until_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, channel, thread) DO UPDATE SET until_ms = excluded.until_ms
        WHERE resets.until_ms < excluded.until_ms";
    /// Commands are still answered.
    CLOSE_OWED_IN = "
        UPDATE owed SET closed_ms = ?5
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND at_ms <= ?4 AND closed_ms IS NULL
            AND NOT EXISTS (SELECT 1 FROM messages AS m
                WHERE m.workspace = ?1 AND m.channel = ?2 AND m.id = owed.message AND m.gate = 'command')";
    ORDERS = "
        SELECT 'mute' AS kind, channel AS whom, until_ms, role, NULL AS mode FROM mutes WHERE workspace = ?1
        UNION ALL SELECT 'mode', channel, NULL, NULL, mode FROM modes WHERE workspace = ?1
        UNION ALL SELECT 'opted_out', \"user\", NULL, NULL, NULL FROM opted_out WHERE workspace = ?1
        UNION ALL SELECT 'forgetting', user_id, asked_ms, NULL, NULL FROM forgettings WHERE workspace = ?1
        ORDER BY kind, whom, role";

    // Pending states.

    PUT_STEPS = "
        INSERT INTO steps
            (workspace, channel, thread, verb, piece, due_ms, ready_ms, decision, is_owed, redrafts,
             follow_ms, generation, attempts, token, lease_until_ms, since_ms, second_looks)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT),
            CAST(value ->> 7 AS BIGINT), CAST(value ->> 8 AS BIGINT), CAST(value ->> 9 AS BIGINT), CAST(value ->> 10 AS BIGINT), CAST(value ->> 11 AS BIGINT), CAST(value ->> 12 AS BIGINT), CAST(value ->> 13 AS BIGINT),
            CAST(value ->> 14 AS BIGINT), CAST(value ->> 15 AS BIGINT), CAST(value ->> 16 AS BIGINT)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT (workspace, channel, thread) DO UPDATE SET
            verb = excluded.verb, piece = excluded.piece, due_ms = excluded.due_ms,
            ready_ms = excluded.ready_ms, decision = excluded.decision, is_owed = excluded.is_owed,
            redrafts = excluded.redrafts, follow_ms = excluded.follow_ms,
            generation = excluded.generation, attempts = excluded.attempts, token = excluded.token,
            lease_until_ms = excluded.lease_until_ms, since_ms = excluded.since_ms,
            second_looks = excluded.second_looks";
    DELETE_STEP = "DELETE FROM steps WHERE workspace = ?1 AND channel = ?2 AND thread = ?3";
    PUT_OWED = "
        INSERT INTO owed (workspace, channel, thread, message, asker, at_ms)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT (workspace, channel, message) DO UPDATE SET closed_ms = NULL,
            earlier_answers = owed.earlier_answers + (SELECT count(*) FROM messages AS m
                JOIN decisions AS d ON d.id = m.decision AND d.ended = 'spoke'
                WHERE m.workspace = owed.workspace AND m.channel = owed.channel AND m.id = owed.message)";
    CLOSE_OWED = "
        UPDATE owed SET closed_ms = ?2
        FROM json_each(?1) AS j
        WHERE owed.workspace = j.value ->> 0 AND owed.channel = j.value ->> 1 AND owed.message = j.value ->> 3";

    // Claiming and completing steps.

    READY_STEPS = concat!(
        "SELECT json_group_array(", step_json!(), ") AS steps FROM (
            SELECT * FROM steps WHERE ready_ms <= ?1
            ORDER BY ready_ms, workspace, channel, thread
            LIMIT +?2) AS s
        LEFT JOIN outbox AS o ON o.id = s.piece"
    );
    NEXT_READY = "SELECT min(ready_ms) AS ready_ms FROM steps";
    NEXT_MEMORY_JOB = "SELECT min(ready_ms) AS ready_ms FROM chores";
    RELEASE_LEASES = "
        UPDATE steps SET token = NULL, lease_until_ms = NULL, ready_ms = due_ms WHERE token IS NOT NULL";
    DISPATCH_OUTBOX_ITEM = "
        UPDATE outbox SET state = 'sending', dispatched_ms = coalesce(dispatched_ms, ?2)
        WHERE id = ?1 AND state IN ('draft', 'sending')";
    UNDISPATCH_OUTBOX_ITEM = "
        UPDATE outbox SET state = 'draft', dispatched_ms = NULL WHERE id = ?1 AND state = 'sending'";
    PUT_OUTBOX_ITEM = "
        INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state,
            reaction_on, is_unasked)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'draft', ?10, ?11)";
    /// Also returns whether its text was erased while it was posted.
    MARK_OUTBOX_ITEM_POSTED = "
        UPDATE outbox SET state = 'said', message = ?2 WHERE id = ?1 AND state <> 'said'
        RETURNING CASE WHEN text = '' THEN 1 ELSE 0 END AS is_forgotten";
    OUTBOX_ITEM_STATE = "SELECT state FROM outbox WHERE id = ?1";
    NEXT_OUTBOX_ITEM = "
        SELECT next.id, next.draft, next.workspace, next.channel, next.thread, next.key, next.text, next.notes,
            next.reaction_on, next.dispatched_ms
        FROM outbox AS this
        JOIN outbox AS next ON next.draft = this.draft AND next.id > this.id
        WHERE this.id = ?1 AND next.state = 'draft'
        ORDER BY next.id
        LIMIT 1";
    /// Ends all unsent items of a draft. What belongs to a dead letter stays for the operator; other texts are erased.
    END_OUTBOX_ITEMS = "
        UPDATE outbox SET state = ?2, text = CASE ?2 WHEN 'dead' THEN text ELSE '' END,
            notes = CASE ?2 WHEN 'dead' THEN notes ELSE json_set(notes, '$.why', '') END
        WHERE draft = ?1 AND state IN ('draft', 'sending')";
    REPLACE_DRAFTS = "
        UPDATE outbox SET state = 'replaced', text = '', notes = json_set(notes, '$.why', '')
        FROM json_each(?1) AS j
        WHERE outbox.workspace = j.value ->> 0 AND outbox.channel = j.value ->> 1
            AND outbox.thread = j.value ->> 2 AND outbox.state = 'draft'";
    PUT_DEAD_LETTER = "
        INSERT INTO dead_letters (id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

    // The ledger.

    DROP_DEAD_LETTER = "DELETE FROM dead_letters WHERE workspace = ?1 AND id = ?2";
    /// The texts of a letter's decision stand in the outbox, too, those of all its parts.
    DROP_DEAD_OUTBOX_ITEMS = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'dead' AND decision = ?1";
    /// The parts of a draft that were given up, in their order.
    DEAD_OUTBOX_ITEMS = "
        SELECT id, draft, workspace, channel, thread, key, text, notes, reaction_on, dispatched_ms
        FROM outbox WHERE decision = ?1 AND state = 'dead' ORDER BY id";
    /// One that may have been posted is still being sent.
    REVIVE_OUTBOX_ITEMS = "
        UPDATE outbox SET state = CASE WHEN dispatched_ms IS NULL THEN 'draft' ELSE 'sending' END
        WHERE draft = ?1 AND state = 'dead'";
    /// A later decision's failure, or a retry, has nothing to do with the letter.
    REOPEN_DECISION = "
        UPDATE decisions SET closed_ms = NULL, ended = NULL, gate = NULL, why = NULL, revision = ?2
        WHERE id = ?1 AND ended = 'failed'";
    /// What was owed in a conversation until ?4, and may still be answered.
    OWED_CLOSED_AT = "
        SELECT w.message, w.asker, w.at_ms FROM owed AS w
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = w.message AND m.channel = w.channel
            AND m.deleted_ms IS NULL AND m.withheld = 0
        WHERE w.workspace = ?1 AND w.channel = ?2 AND w.thread = ?3 AND w.closed_ms = ?4
        ORDER BY w.at_ms, w.message";
    OPEN_DECISIONS = "
        INSERT INTO decisions (id, workspace, channel, thread, opened_ms, is_addressed, revision)
        SELECT CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT)
        FROM json_each(?1)";
    // ?1 is a JSON array of [decision, revision].

    /// Discards the judgments and drafts of these decisions.
    SUPERSEDE_DECISIONS = "
        UPDATE decisions SET judgment = NULL, revision = max(decisions.revision, CAST(j.value ->> 1 AS BIGINT))
        FROM json_each(?1) AS j WHERE decisions.id = CAST(j.value ->> 0 AS BIGINT)";
    RETIRE_ATTEMPTS = "
        UPDATE attempts SET result = ?2
        FROM json_each(?1) AS j WHERE attempts.decision = CAST(j.value ->> 0 AS BIGINT) AND attempts.result = 'kept'";
    SUPERSEDE_REPLIES = "
        UPDATE attempts SET result = 'superseded' WHERE decision = ?1 AND verb = 'reply' AND result = 'kept'";
    ADDRESS_DECISIONS = "
        UPDATE decisions SET is_addressed = 1, revision = max(decisions.revision, CAST(j.value ->> 1 AS BIGINT))
        FROM json_each(?1) AS j WHERE decisions.id = CAST(j.value ->> 0 AS BIGINT) AND decisions.is_addressed = 0";
    TOUCH_DECISION = "UPDATE decisions SET revision = ?2 WHERE id = ?1";
    JUDGE_DECISION = "UPDATE decisions SET judgment = ?2, state = ?3, considered = ?4 WHERE id = ?1";
    PUT_EVALUATION = "
        UPDATE decisions SET mode = ?2, passed = ?3, conversation_state = ?4, moment = coalesce(?5, moment)
        WHERE id = ?1";
    FORGET_MOMENTS = "UPDATE decisions SET moment = NULL WHERE moment IS NOT NULL AND workspace = ?1";
    /// Adds a model call's usage to its channel ?2 and to the workspace, in the hour ?3 and the day ?4. ?7 are the
    /// tokens of ?5 that nobody waited for, ?8 those without a price.
    ADD_SPENDING = "
        INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros, unasked_tokens, unpriced_tokens)
        SELECT ?1, c.channel, s.span, s.begin_ms, ?5, ?6, ?7, ?8
        FROM (SELECT ?2 AS channel UNION SELECT '') AS c,
            (SELECT 'hour' AS span, CAST(?3 AS BIGINT) AS begin_ms UNION ALL SELECT 'day', CAST(?4 AS BIGINT)) AS s
        WHERE true
        ON CONFLICT (workspace, channel, span, begin_ms) DO UPDATE SET tokens = spending.tokens + excluded.tokens, micros = spending.micros + excluded.micros,
            unasked_tokens = spending.unasked_tokens + excluded.unasked_tokens,
            unpriced_tokens = spending.unpriced_tokens + excluded.unpriced_tokens";
    /// What the budget of a call has come to at ?3: booked and, by other claims than ?4, reserved; in the workspace ?1
    /// and its channel ?2. And the calls for the decision ?5, and the judge calls about the user ?6.
    CALL_USAGE = concat!(
        "SELECT json_object('workspace', ", spent!("''", "?3"), ", 'channel', ", spent!("?2", "?3"), ",
            'workspace_reserved', ", reserved!(""), ", 'channel_reserved', ", reserved!("channel = ?2 AND "), ",
            'decision_calls', (SELECT count(*) FROM attempts WHERE decision = ?5 AND ?5 <> 0),
            'author_judge_calls', (SELECT count(*) FROM judge_calls
                WHERE workspace = ?1 AND author = CAST(?6 AS TEXT) AND at_ms > ?3 - 3600000)) AS usage,
            (SELECT count(*) FROM reservations WHERE token <> ?4 AND until_ms <= ?3) AS lapsed"
    );
    /// Books the reservations that have lapsed by ?1, but for that of the claim ?2.
    BOOK_LAPSED_RESERVATIONS = "
        INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros, unasked_tokens, unpriced_tokens)
        SELECT r.workspace, CASE c.is_all WHEN 1 THEN '' ELSE r.channel END, s.span,
            r.until_ms - r.until_ms % s.length_ms, sum(r.tokens), sum(r.micros), sum(r.tokens * r.is_unasked),
            sum(CASE WHEN r.micros = 0 THEN r.tokens ELSE 0 END)
        FROM reservations AS r, (SELECT 0 AS is_all UNION ALL SELECT 1) AS c,
            (SELECT 'hour' AS span, 3600000 AS length_ms UNION ALL SELECT 'day', 86400000) AS s
        WHERE r.until_ms <= ?1 AND r.token <> ?2 AND (c.is_all = 1 OR r.channel <> '')
        GROUP BY 1, 2, 3, 4
        ON CONFLICT (workspace, channel, span, begin_ms) DO UPDATE SET tokens = spending.tokens + excluded.tokens, micros = spending.micros + excluded.micros,
            unasked_tokens = spending.unasked_tokens + excluded.unasked_tokens,
            unpriced_tokens = spending.unpriced_tokens + excluded.unpriced_tokens";
    /// What model they were for is not known. They count when they lapsed, as in what is spent.
    PUT_LAPSED_CALLS = "
        INSERT INTO unclaimed_calls
            (workspace, channel, at_ms, kind, model, calls, input_tokens, cached_tokens, output_tokens,
             usage_is_estimated, price_micros, cache_write_tokens)
        SELECT workspace, channel, until_ms, 'unfinished', '', 1, tokens, 0, 0, 1,
            CASE WHEN micros > 0 THEN micros END, 0
        FROM reservations
        WHERE until_ms <= ?1 AND token <> ?2";
    DROP_LAPSED_RESERVATIONS = "DELETE FROM reservations WHERE until_ms <= ?1 AND token <> ?2";
    PUT_RESERVATION = "
        INSERT INTO reservations (token, workspace, channel, is_unasked, tokens, micros, until_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (token) DO UPDATE SET channel = excluded.channel, is_unasked = excluded.is_unasked,
            tokens = excluded.tokens, micros = excluded.micros, until_ms = excluded.until_ms";
    DROP_RESERVATION = "DELETE FROM reservations WHERE token = ?1";
    PUT_JUDGE_CALL = "
        INSERT INTO judge_calls (workspace, author, at_ms, token) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO NOTHING";
    DROP_OLD_JUDGE_CALLS = "DELETE FROM judge_calls WHERE at_ms <= ?1";
    DROP_SPENDING = "DELETE FROM spending WHERE begin_ms < ?1";
    /// An unsolicited post is no answer, even if it was addressed meanwhile, or a question was taken back.
    CLOSE_DECISION = "
        UPDATE decisions
        SET closed_ms = ?2, ended = ?3, gate = ?4, judgment = coalesce(?5, judgment),
            state = coalesce(?6, state), why = ?7, is_addressed = ?8, is_expired = 0
        WHERE id = ?1";
    /// The messages of the decision ?1 that arrived or changed after revision ?2. Commands are not part of the
    /// conversation.
    UNSEEN_MESSAGES = "
        SELECT id FROM messages
        WHERE decision = ?1 AND gate IS DISTINCT FROM 'command'
            AND (heard > ?2 OR revision > ?2 AND author_kind = 'human' AND deleted_ms IS NULL)";
    /// The newest messages of a decision that a draft had considered, and had not.
    NEWEST_SEEN_AND_UNSEEN = "
        SELECT max(at_ms) FILTER (WHERE heard <= ?2) AS seen_ms,
            max(at_ms) FILTER (WHERE heard > ?2 AND at_ms <= ?3) AS unseen_ms
        FROM messages WHERE decision = ?1";
    /// Whether one of the messages ?3, listed as [channel, id], has changed since revision ?2, at which it was known,
    /// or belongs to another channel than ?4 that turned private since. Edits by bots do not count.
    CHANGED_SINCE = "
        SELECT EXISTS (SELECT 1 FROM channels INDEXED BY channels_withdrawn
            WHERE workspace = ?1 AND withdrawn > ?2 AND id IS DISTINCT FROM ?4
                AND EXISTS (SELECT 1 FROM json_each(?3) AS j WHERE j.value ->> 0 = channels.id))
        OR EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_by_revision
            WHERE workspace = ?1 AND revision > ?2 AND heard <= ?2
                AND (author_kind = 'human' OR deleted_ms IS NOT NULL)
                AND EXISTS (SELECT 1 FROM json_each(?3) AS j
                    WHERE j.value ->> 1 = m.id AND j.value ->> 0 = m.channel)) AS has_changed";
    /// Moves the messages ?3 of the decision ?1 to the decision ?2.
    MOVE_MESSAGES = "
        UPDATE messages SET decision = ?2
        WHERE decision = ?1 AND id IN (SELECT j.value ->> 0 FROM json_each(?3) AS j)";
    PUT_ATTEMPT = "
        INSERT INTO attempts
            (decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens,
             output_tokens, latency_ms, result, judgment, error, price_micros, chore,
             left_out, usage_is_estimated, workspace, channel, cache_write_tokens)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
        RETURNING id";
    PUT_UNCLAIMED_CALL = "
        INSERT INTO unclaimed_calls
            (workspace, channel, at_ms, kind, model, calls, input_tokens, cached_tokens, output_tokens,
             usage_is_estimated, price_micros, cache_write_tokens)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    PUT_EXCHANGE = "
        INSERT INTO exchanges (attempt, at_ms, prompt, packed, stored_bytes) VALUES (?1, ?2, ?3, ?4, ?5)";
    PUT_EXCHANGE_MESSAGES = "
        INSERT INTO exchange_lines (workspace, channel, line, attempt)
        SELECT ?2, value ->> 0, value ->> 1, ?1 FROM json_each(?3) WHERE true
        ON CONFLICT DO NOTHING";
    PUT_EXCHANGE_ORDERS = "
        INSERT INTO exchange_orders (workspace, number, version, attempt)
        SELECT ?2, CAST(value ->> 0 AS BIGINT), CAST(value ->> 1 AS BIGINT), ?1 FROM json_each(?3) WHERE true
        ON CONFLICT DO NOTHING";
    // ?3 is a message that was edited or deleted. What models wrote about it may quote it.

    FORGET_REASONS = concat!(
        "UPDATE decisions SET judgment = json_set(judgment, '$.reason', ''), why = NULL, revision = ?4
        WHERE judgment IS NOT NULL AND id IN (", decisions_on!(), ")"
    );
    FORGET_VERDICTS = concat!(
        "UPDATE attempts SET judgment = json_set(judgment, '$.reason', '')
        WHERE judgment IS NOT NULL AND decision IN (", decisions_on!(), ")"
    );
    FORGET_EXCHANGES = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0 WHERE attempt IN
            (SELECT attempt FROM exchange_lines WHERE workspace = ?1 AND channel = ?2 AND line = ?3)";
    /// What was given up may quote the message.
    FORGET_DEAD_LETTERS = concat!(
        "UPDATE dead_letters SET text = NULL
        WHERE text IS NOT NULL AND decision IN (", decisions_on!(), ")"
    );
    /// So may what is proposed, which cannot be approved then.
    FORGET_DEAD_OUTBOX_TEXT = concat!(
        "UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '')
        WHERE state IN ('dead', 'proposed', 'original') AND decision IN (", decisions_on!(), ")"
    );
    /// So may what is to be called.
    FORGET_CONSENTS = concat!(
        "UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND decision IN (", decisions_on!(), ")"
    );
    /// The posted text is stored as a message by now.
    FORGET_POSTED_TEXT = "
        UPDATE outbox SET text = iif(reaction_on IS NULL, '', text), notes = json_set(notes, '$.why', '')
        WHERE decision = ?1 AND state = 'said'";
    DROP_DEAD_LETTER_TEXT = "UPDATE dead_letters SET text = NULL WHERE at_ms < ?1 AND text IS NOT NULL";
    DROP_DEAD_OUTBOX_TEXT = "
        UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'dead' AND text <> '' AND NOT EXISTS
            (SELECT 1 FROM dead_letters AS l WHERE l.decision = outbox.decision AND l.at_ms >= ?1)";
    /// A prompt's lineage is kept longer than its text, so that the reasons that models gave can still be found.
    DROP_EXCHANGE_MESSAGES = "
        DELETE FROM exchange_lines
        WHERE attempt IN (SELECT attempt FROM exchanges WHERE at_ms < ?1 AND prompt = '')";
    DROP_EXCHANGE_ORDERS = "
        DELETE FROM exchange_orders
        WHERE attempt IN (SELECT attempt FROM exchanges WHERE at_ms < ?1 AND prompt = '')";
    DROP_EMPTY_EXCHANGES = "DELETE FROM exchanges WHERE at_ms < ?1 AND prompt = ''";
    /// Only a server chooses its plans by statistics; SQLite is told which index to use.
    ANALYZE = "SELECT 'nothing to analyze'";
    /// Waits for readers as long as for a lock.
    TRUNCATE_WAL = "PRAGMA wal_checkpoint(TRUNCATE)";
    /// How long to wait for a lock.
    SET_BUSY_TIMEOUT = "PRAGMA busy_timeout = 2000";
    SET_NO_BUSY_TIMEOUT = "PRAGMA busy_timeout = 0";
    PUT_USER_NAME = "
        INSERT INTO user_names (workspace, user_id, name, since_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    DROP_EXCHANGES = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE at_ms < ?1 AND prompt <> ''";
    /// Keeps the newest that take at most ?1 bytes.
    DROP_EXCHANGES_BEYOND = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE attempt IN (SELECT attempt FROM
            (SELECT attempt, CAST(sum(stored_bytes) OVER (ORDER BY at_ms DESC, attempt DESC) AS BIGINT) AS total
             FROM exchanges WHERE stored_bytes > 0) AS part
            WHERE total > ?1)";

    // Reading.

    /// Those of the messages ?2, listed as [channel, id], that still exist.
    SOURCE_MESSAGES = "
        SELECT m.workspace, m.channel, m.id, m.thread, m.at_ms, m.author, m.author_kind, m.text, m.mentions,
            m.attachments, m.edits, m.visibility
        FROM json_each(?2) AS j
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
        WHERE m.deleted_ms IS NULL AND m.withheld = 0
        ORDER BY m.at_ms, m.id";
    CHANNEL = "SELECT workspace, id, name, visibility FROM channels WHERE workspace = ?1 AND id = ?2";
    CHANNELS = "SELECT workspace, id, name, visibility FROM channels WHERE workspace = ?1 ORDER BY id";
    USERS = "SELECT workspace, id, name, kind, role FROM users WHERE workspace = ?1 ORDER BY id";
    /// ?2 is a JSON list of lists with an id each.
    SOME_USERS = "
        SELECT u.workspace, u.id, u.name, u.kind, u.role FROM json_each(?2) AS j
        JOIN users AS u ON u.workspace = ?1 AND u.id = j.value ->> 0
        ORDER BY u.id";
    // ?1 workspace, ?2 channel, ?3 before this id (null: the end), ?4 limit, ?5 thread. Newest first.
    NEWEST_MESSAGES = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2
            AND (CAST(?3 AS TEXT) IS NULL OR (m.at_ms, m.id) <
                (SELECT at_ms, id FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 before this time, ?4 limit. Newest first.
    MESSAGES_BEFORE_TIME = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.at_ms < ?3
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 and ?4 before this time and id, ?5 limit, ?6 from this time, ?7 visibility, ?8 author.
    // Newest first.
    FILTERED_MESSAGES = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND (m.at_ms, m.id) < (?3, ?4) AND m.at_ms >= ?6
            AND (CAST(?7 AS TEXT) IS NULL OR m.visibility = CAST(?7 AS TEXT))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?5");
    FILTERED_MESSAGES_OF_AUTHOR = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.author = ?8 AND (m.at_ms, m.id) < (?3, ?4) AND m.at_ms >= ?6
            AND (CAST(?7 AS TEXT) IS NULL OR m.visibility = CAST(?7 AS TEXT))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?5");
    NEWEST_MESSAGES_OF_THREAD = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.thread = ?5
            AND (CAST(?3 AS TEXT) IS NULL OR (m.at_ms, m.id) <
                (SELECT at_ms, id FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 and ?4 after this time and id, ?5 limit, ?6 thread. Oldest first.
    MESSAGES_AFTER = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND (m.at_ms, m.id) > (?3, ?4)
        ORDER BY m.at_ms, m.id
        LIMIT +?5");
    MESSAGES_AFTER_OF_THREAD = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.thread = ?6 AND (m.at_ms, m.id) > (?3, ?4)
        ORDER BY m.at_ms, m.id
        LIMIT +?5");
    /// Messages that changed themselves, and messages whose reactions changed; each once, at its newest change.
    MESSAGES_SINCE = concat!(
        "SELECT * FROM (",
        messages!("
            WHERE m.workspace = ?1 AND m.revision > ?2 AND m.revision > coalesce(m.reacted, 0)
            ORDER BY m.revision
            LIMIT +?3"),
        ") AS part UNION ALL SELECT * FROM (",
        messages!("
            WHERE m.workspace = ?1 AND m.reacted > ?2 AND m.reacted >= m.revision
            ORDER BY m.reacted
            LIMIT +?3"),
        ") AS part ORDER BY revision LIMIT +?3"
    );
    ONE_MESSAGE = messages!("WHERE m.workspace = ?1 AND m.channel = ?2 AND m.id = ?3");
    DECISIONS_OF_CHANNEL = decisions!("
        WHERE d.workspace = ?1 AND d.channel = ?2
        ORDER BY d.id DESC
        LIMIT +?3");
    // The decisions before ?5 that ended with ?3, and by the gate ?4 if one is given. There is an index for how they ended,
    // and one for those that are open.

    FILTERED_DECISIONS = filtered_decisions!(any "");
    FILTERED_DECISIONS_ENDED = filtered_decisions!(ended "");
    FILTERED_DECISIONS_OPEN = filtered_decisions!(open "");
    // Those of them with a message from ?7 until ?8, with the visibility ?9 and by the author ?10, where these are given.

    FILTERED_DECISIONS_WITH = filtered_decisions!(any covers_filtered_message!());
    FILTERED_DECISIONS_ENDED_WITH = filtered_decisions!(ended covers_filtered_message!());
    FILTERED_DECISIONS_OPEN_WITH = filtered_decisions!(open covers_filtered_message!());
    DECISIONS_OF_CHANNEL_SINCE = decisions!("
        WHERE d.workspace = ?1 AND d.channel = ?2 AND d.opened_ms >= ?3
        ORDER BY d.id DESC");
    ONE_DECISION = decisions!("WHERE d.workspace = ?1 AND d.id = ?2");
    /// ?3 is a JSON list of messages.
    DECISIONS_OF_MESSAGES = decisions!("
        WHERE d.workspace = ?1 AND d.channel = ?2
            AND d.id IN (SELECT m.decision FROM json_each(?3) AS j
                CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.atom AND m.channel = ?2
                UNION
                SELECT o.decision FROM json_each(?3) AS j
                CROSS JOIN outbox AS o ON o.workspace = ?1 AND o.message = j.atom AND o.channel = ?2)
        ORDER BY d.id DESC");
    DECISIONS_OF_MESSAGE = decisions!("
        WHERE d.workspace = ?1
            AND d.id IN (SELECT decision FROM messages WHERE workspace = ?1 AND id = ?2
                UNION SELECT decision FROM outbox WHERE workspace = ?1 AND message = ?2)
        ORDER BY d.id DESC
        LIMIT +?3");
    DECISIONS_SINCE = decisions!("WHERE d.workspace = ?1 AND d.revision > ?2 ORDER BY d.revision LIMIT +?3");
    JUDGED_MOMENTS = concat!("
        SELECT d.id, d.moment, d.judgment,
            (SELECT a.model FROM attempts AS a
             WHERE a.decision = d.id AND a.verb = 'judge' AND a.result = 'kept'
             ORDER BY a.id DESC LIMIT 1) AS judge
        FROM decisions AS d WHERE ", judged_moments!(), "
        ORDER BY d.id DESC LIMIT +?2");
    COUNT_JUDGED_MOMENTS = concat!("SELECT count(*) AS n FROM decisions WHERE ", judged_moments!());
    EXCHANGES = "
        SELECT nullif(e.prompt, '') AS prompt, e.answer, e.packed,
            (SELECT json_group_array(line) FROM
                (SELECT CAST(json_array(channel, line) AS TEXT) AS line FROM exchange_lines
                 INDEXED BY exchange_lines_of_attempt
                 WHERE attempt = a.id ORDER BY channel, exchange_lines.line) AS part) AS lines,
            (SELECT json_group_array(memory) FROM
                (SELECT memory FROM exchange_memories WHERE attempt = a.id ORDER BY memory) AS part) AS memories,
            (SELECT json_group_array(json_array(number, version)) FROM
                (SELECT number, version FROM exchange_orders WHERE attempt = a.id
                 ORDER BY number, version) AS part) AS orders
        FROM attempts AS a LEFT JOIN exchanges AS e ON e.attempt = a.id
        WHERE a.decision = ?1
        ORDER BY a.id";
    /// The models' usage at ?2, for the workspace ('') and for each channel, by the same rules as in contexts.
    SPENDING = "
        SELECT channel, CAST(coalesce(sum(tokens) FILTER (WHERE span = 'hour'), 0) AS BIGINT) AS tokens_in_day,
            CAST(coalesce(sum(unasked_tokens) FILTER (WHERE span = 'hour'), 0) AS BIGINT) AS unsolicited_tokens_in_day,
            CAST(coalesce(sum(micros) FILTER (WHERE span = 'hour'), 0) AS BIGINT) AS micros_in_day,
            CAST(coalesce(sum(tokens) FILTER (WHERE span = 'day'), 0) AS BIGINT) AS tokens_in_month,
            CAST(coalesce(sum(micros) FILTER (WHERE span = 'day'), 0) AS BIGINT) AS micros_in_month,
            CAST(coalesce(sum(unpriced_tokens) FILTER (WHERE span = 'hour'), 0) AS BIGINT) AS unpriced_tokens_in_day,
            CAST(coalesce(sum(unpriced_tokens) FILTER (WHERE span = 'day'), 0) AS BIGINT) AS unpriced_tokens_in_month
        FROM spending
        WHERE workspace = ?1
            AND (span = 'hour' AND begin_ms > ?2 - 86400000 OR span = 'day' AND begin_ms > ?2 - 2592000000)
        GROUP BY channel
        HAVING sum(tokens) > 0 OR sum(micros) > 0
        ORDER BY channel";
    /// When each channel last had a message of others and of the persona.
    CHANNEL_ACTIVITY = "
        SELECT c.id,
            (SELECT m.at_ms FROM messages AS m INDEXED BY messages_in_channel
             WHERE m.workspace = c.workspace AND m.channel = c.id AND m.author_kind <> 'persona'
             ORDER BY m.at_ms DESC, m.id DESC LIMIT 1) AS heard_ms,
            (SELECT m.at_ms FROM messages AS m INDEXED BY messages_by_persona
             WHERE m.workspace = c.workspace AND m.channel = c.id AND m.author_kind = 'persona'
             ORDER BY m.at_ms DESC LIMIT 1) AS spoke_ms
        FROM channels AS c
        WHERE c.workspace = ?1
        ORDER BY c.id";
    DECISION_COUNTS = "
        SELECT channel, ended, count(*) AS n FROM decisions INDEXED BY decisions_by_time
        WHERE workspace = ?1 AND opened_ms >= ?2
        GROUP BY channel, ended
        ORDER BY channel, coalesce(ended, '')";
    // Figures: ?1 workspace, ?2 since, ?3 what local time is ahead, ?4 until. Indexes alone answer the first.

    MESSAGES_BY_DAY = "
        SELECT channel, day, is_own, CAST(sum(n) AS BIGINT) AS n FROM
            (SELECT m.channel, (m.at_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, CAST(0 AS BIGINT) AS is_own, count(*) AS n
             FROM channels AS c
             CROSS JOIN messages AS m INDEXED BY messages_in_channel
                ON m.workspace = c.workspace AND m.channel = c.id AND m.at_ms >= ?2 AND m.at_ms < ?4
             WHERE c.workspace = ?1
             GROUP BY 1, 2
             UNION ALL
             SELECT s.channel, (s.at_ms + CAST(?3 AS BIGINT)) / 86400000, t.is_own,
                CASE WHEN t.is_own = 1 THEN count(*) ELSE -count(*) END
             FROM channels AS c
             CROSS JOIN messages AS s INDEXED BY messages_by_persona
                ON s.workspace = c.workspace AND s.channel = c.id AND s.at_ms >= ?2 AND s.at_ms < ?4
                    AND s.author_kind = 'persona'
             CROSS JOIN (SELECT CAST(0 AS BIGINT) AS is_own UNION ALL SELECT CAST(1 AS BIGINT)) AS t ON true
             WHERE c.workspace = ?1
             GROUP BY 1, 2, 3) AS part
        GROUP BY channel, day, is_own
        HAVING sum(n) > 0
        ORDER BY day, channel, is_own";
    OUTCOMES_BY_DAY = "
        SELECT channel, (opened_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, ended, count(*) AS n
        FROM decisions INDEXED BY decisions_by_time
        WHERE workspace = ?1 AND opened_ms >= ?2 AND opened_ms < ?4
        GROUP BY 1, 2, 3
        ORDER BY 2, 1, coalesce(ended, '')";
    CALLS_BY_DAY = "
        SELECT channel, (at_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, verb AS kind, model, count(*) AS n,
            CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
            CAST(sum(cached_tokens) AS BIGINT) AS cached_tokens,
            CAST(sum(cache_write_tokens) AS BIGINT) AS cache_write_tokens,
            CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
            max(usage_is_estimated) AS is_estimated,
            CAST(sum(coalesce(price_micros, 0)) AS BIGINT) AS micros,
            CAST(sum(CASE WHEN price_micros IS NULL THEN input_tokens + output_tokens ELSE 0 END) AS BIGINT) AS unpriced_tokens
        FROM attempts INDEXED BY attempts_by_time
        WHERE workspace = ?1 AND at_ms >= ?2 AND at_ms < ?4
        GROUP BY 1, 2, 3, 4
        UNION ALL
        SELECT channel, (at_ms + CAST(?3 AS BIGINT)) / 86400000, kind, model, CAST(sum(calls) AS BIGINT),
            CAST(sum(input_tokens) AS BIGINT), CAST(sum(cached_tokens) AS BIGINT),
            CAST(sum(cache_write_tokens) AS BIGINT), CAST(sum(output_tokens) AS BIGINT),
            max(usage_is_estimated), CAST(sum(coalesce(price_micros, 0)) AS BIGINT),
            CAST(sum(CASE WHEN price_micros IS NULL THEN input_tokens + output_tokens ELSE 0 END) AS BIGINT)
        FROM unclaimed_calls INDEXED BY unclaimed_calls_by_time
        WHERE workspace = ?1 AND at_ms >= ?2 AND at_ms < ?4
        GROUP BY 1, 2, 3, 4
        ORDER BY 2, 1, 3, 4";
    /// From the newest message that a decision covers to the first that was posted for it.
    ANSWER_DELAYS = "
        SELECT channel, day, is_addressed, said_ms - newest_ms AS delay_ms FROM
            (SELECT d.id, d.channel, (d.opened_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, d.is_addressed,
                (SELECT min(s.at_ms) FROM outbox AS o INDEXED BY outbox_by_decision
                 CROSS JOIN messages AS s ON s.workspace = o.workspace AND s.id = o.message AND s.channel = o.channel
                 WHERE o.decision = d.id) AS said_ms,
                (SELECT max(m.at_ms) FROM messages AS m INDEXED BY messages_by_decision
                 WHERE m.decision = d.id) AS newest_ms
             FROM decisions AS d INDEXED BY decisions_by_time
             WHERE d.workspace = ?1 AND d.opened_ms >= ?2 AND d.opened_ms < ?4 AND d.ended = 'spoke') AS part
        WHERE said_ms >= newest_ms
        ORDER BY id";
    /// How people reacted to what the persona posted, by the day of the post.
    REACTIONS_BY_DAY = "
        SELECT s.channel, (s.at_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, count(*) AS n
        FROM channels AS c
        CROSS JOIN messages AS s INDEXED BY messages_by_persona
            ON s.workspace = c.workspace AND s.channel = c.id AND s.at_ms >= ?2 AND s.at_ms < ?4
                AND s.author_kind = 'persona'
        CROSS JOIN reactions AS r ON r.workspace = s.workspace AND r.message = s.id AND r.channel = s.channel
        WHERE c.workspace = ?1 AND r.kind = 'human' AND r.removed_ms IS NULL
        GROUP BY 1, 2
        ORDER BY 2, 1";
    /// What may be a question at a channel's top level that no other person followed, within an hour or in its thread,
    /// and the decision that it led to, if the persona spoke unasked. Nobody else answers what the persona owes an answer.
    OPEN_QUESTIONS = "
        SELECT m.channel, (m.at_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, m.id, m.at_ms, m.author, m.text,
            d.closed_ms, d.judgment,
            (SELECT n.id FROM messages AS n INDEXED BY messages_by_decision
             WHERE n.decision = d.id ORDER BY n.at_ms DESC, n.id DESC LIMIT 1) AS newest
        FROM messages AS m INDEXED BY messages_asking
        LEFT JOIN decisions AS d ON d.id = m.decision AND d.ended = 'spoke' AND d.is_addressed = 0
        WHERE m.workspace = ?1 AND m.at_ms >= ?2 AND m.at_ms < ?4
            AND (instr(m.text, '?') > 0 OR instr(m.text, '？') > 0)
            AND m.thread = '' AND m.author_kind = 'human' AND m.deleted_ms IS NULL AND m.withheld = 0
            AND m.gate IS DISTINCT FROM 'opted_out' AND m.gate IS DISTINCT FROM 'command'
            AND NOT EXISTS (SELECT 1 FROM owed AS w
                WHERE w.workspace = m.workspace AND w.channel = m.channel AND w.message = m.id)
            AND NOT EXISTS (SELECT 1 FROM messages AS n INDEXED BY messages_in_order
                WHERE n.workspace = m.workspace AND n.channel = m.channel AND n.thread = ''
                    AND n.at_ms >= m.at_ms AND n.at_ms <= m.at_ms + 3600000
                    AND n.author_kind = 'human' AND n.author <> m.author)
            AND NOT EXISTS (SELECT 1 FROM messages AS n INDEXED BY messages_in_order
                WHERE n.workspace = m.workspace AND n.channel = m.channel AND n.thread = m.id
                    AND n.author_kind = 'human' AND n.author <> m.author)
        ORDER BY m.channel, m.at_ms, m.id";
    /// What people did after each word that was said unasked: the first messages below its last part or in the thread
    /// there, as [whether it replies to it, text], and the reactions. Of what has expired nobody knows that.
    WORD_AFTERMATHS = "
        SELECT d.id, d.channel, d.day, s.at_ms, d.judgment,
            (SELECT count(*) FROM outbox AS o INDEXED BY outbox_by_decision
             CROSS JOIN messages AS p ON p.workspace = o.workspace AND p.id = o.message AND p.channel = o.channel
             WHERE o.decision = d.id AND o.reaction_on IS NULL AND p.deleted_ms IS NOT NULL) AS deleted,
            (SELECT count(*) FROM given_orders AS g INDEXED BY given_orders_by_time
             WHERE g.at_ms >= s.at_ms AND g.at_ms <= s.at_ms + 600000
                AND g.workspace = d.workspace AND g.kind = 'mute' AND g.channel IN ('', d.channel)) AS mutes,
            (SELECT json_group_array(emoji) FROM
                (SELECT r.emoji FROM outbox AS o INDEXED BY outbox_by_decision
                 CROSS JOIN reactions AS r ON r.workspace = o.workspace AND r.message = o.message
                    AND r.channel = o.channel
                 WHERE o.decision = d.id AND o.reaction_on IS NULL AND r.kind = 'human' AND r.removed_ms IS NULL
                 ORDER BY r.emoji, r.user_id) AS part) AS reactions,
            (SELECT json_group_array(json_array(is_to_it, text)) FROM
                (SELECT m.text, CASE WHEN m.thread = s.id OR EXISTS (SELECT 1 FROM links AS l
                    WHERE l.workspace = m.workspace AND l.channel = m.channel AND l.message = m.id
                        AND l.parent = s.id AND l.probability >= 0.5) THEN 1 ELSE 0 END AS is_to_it
                 FROM messages AS m INDEXED BY messages_in_order
                 WHERE m.workspace = s.workspace AND m.channel = s.channel AND m.thread IN (s.thread, s.id)
                    AND m.at_ms >= s.at_ms AND m.at_ms <= s.at_ms + 1800000
                    AND m.author_kind = 'human' AND m.deleted_ms IS NULL AND m.withheld = 0
                 ORDER BY m.at_ms, m.id LIMIT 5) AS part) AS replies
        FROM (SELECT c.id, c.workspace, c.channel, c.judgment,
                (c.opened_ms + CAST(?3 AS BIGINT)) / 86400000 AS day,
                (SELECT p.id FROM outbox AS o INDEXED BY outbox_by_decision
                 CROSS JOIN messages AS p ON p.workspace = o.workspace AND p.id = o.message AND p.channel = o.channel
                 WHERE o.decision = c.id AND o.reaction_on IS NULL
                 ORDER BY p.at_ms DESC, p.id DESC LIMIT 1) AS said
              FROM decisions AS c INDEXED BY decisions_by_time
              WHERE c.workspace = ?1 AND c.opened_ms >= ?2 AND c.opened_ms < ?4
                AND c.ended = 'spoke' AND c.is_addressed = 0) AS d
        CROSS JOIN messages AS s ON s.workspace = d.workspace AND s.id = d.said AND s.channel = d.channel
        WHERE s.is_expired = 0
        ORDER BY d.id";
    /// After each silence that a judge chose: the newest messages that it covers, as [author, text], newest first, and when
    /// another person first wrote, within an hour or in the thread of the newest.
    SILENCE_AFTERMATHS = "
        SELECT d.id, d.channel, d.day, d.closed_ms AS at_ms, d.judgment,
            (SELECT json_group_array(json_array(author, text)) FROM
                (SELECT m.author, m.text FROM messages AS m INDEXED BY messages_by_decision
                 WHERE m.decision = d.id AND m.deleted_ms IS NULL AND m.withheld = 0
                 ORDER BY m.at_ms DESC, m.id DESC LIMIT 5) AS part) AS covered,
            (SELECT min(at_ms) FROM
                (SELECT at_ms FROM
                    (SELECT m.at_ms FROM messages AS m INDEXED BY messages_in_order
                     WHERE m.workspace = n.workspace AND m.channel = n.channel AND m.thread = d.thread
                        AND m.at_ms >= n.at_ms AND m.at_ms <= n.at_ms + 3600000
                        AND m.author_kind = 'human' AND m.author <> n.author AND m.deleted_ms IS NULL
                        AND m.decision IS DISTINCT FROM d.id
                     ORDER BY m.at_ms, m.id LIMIT 1) AS beside
                 UNION ALL
                 SELECT at_ms FROM
                    (SELECT m.at_ms FROM messages AS m INDEXED BY messages_in_order
                     WHERE m.workspace = n.workspace AND m.channel = n.channel AND m.thread = n.id
                        AND m.at_ms >= n.at_ms
                        AND m.author_kind = 'human' AND m.author <> n.author AND m.deleted_ms IS NULL
                        AND m.decision IS DISTINCT FROM d.id
                     ORDER BY m.at_ms, m.id LIMIT 1) AS below) AS part) - n.at_ms AS answered_ms
        FROM (SELECT c.id, c.workspace, c.channel, c.thread, c.judgment, c.closed_ms,
                (c.opened_ms + CAST(?3 AS BIGINT)) / 86400000 AS day,
                (SELECT p.id FROM messages AS p INDEXED BY messages_by_decision
                 WHERE p.decision = c.id ORDER BY p.at_ms DESC, p.id DESC LIMIT 1) AS newest
              FROM decisions AS c INDEXED BY decisions_by_time
              WHERE c.workspace = ?1 AND c.opened_ms >= ?2 AND c.opened_ms < ?4
                AND c.ended = 'chose_silence' AND c.is_addressed = 0 AND c.judgment IS NOT NULL
                AND c.closed_ms IS NOT NULL) AS d
        CROSS JOIN messages AS n ON n.workspace = d.workspace AND n.id = d.newest AND n.channel = d.channel
        WHERE n.deleted_ms IS NULL AND n.withheld = 0
        ORDER BY d.id";
    /// The days with a figure that may be another since the revision ?5. A message may answer what was asked an hour
    /// before it, or what began its thread. The plus keeps SQLite from looking for that by its time.
    CHANGED_DAYS = "
        SELECT DISTINCT (at_ms + CAST(?3 AS BIGINT)) / 86400000 AS day FROM
            (SELECT at_ms FROM messages INDEXED BY messages_by_revision WHERE workspace = ?1 AND revision > ?5
             UNION ALL
             SELECT at_ms - 3600000 FROM messages INDEXED BY messages_by_revision WHERE workspace = ?1 AND revision > ?5
             UNION ALL
             SELECT +q.at_ms FROM messages AS m INDEXED BY messages_by_revision
             CROSS JOIN messages AS q ON q.workspace = m.workspace AND q.id = m.thread AND q.channel = m.channel
             WHERE m.workspace = ?1 AND m.revision > ?5 AND m.thread <> ''
             UNION ALL
             SELECT at_ms FROM messages INDEXED BY messages_by_reaction WHERE workspace = ?1 AND reacted > ?5
             UNION ALL
             SELECT opened_ms FROM decisions INDEXED BY decisions_by_revision WHERE workspace = ?1 AND revision > ?5) AS part
        WHERE at_ms >= ?2 AND at_ms < ?4
        ORDER BY day";
    PEOPLE_DELAYS = "SELECT id AS channel, delays FROM channels WHERE workspace = ?1 ORDER BY id";
    /// The newest before ?1 of the workspace ?2; null: of all.
    PRIVATE_READS = "
        SELECT workspace, channel, reader, what, last_ms, reads FROM private_reads
        WHERE last_ms < ?1 AND (CAST(?2 AS TEXT) IS NULL OR workspace = CAST(?2 AS TEXT))
        ORDER BY last_ms DESC, workspace, channel, reader, what
        LIMIT +?3";
    /// The newest orders before ?1 of the workspace ?2; null: of all.
    GIVEN_ORDERS = "
        SELECT id, workspace, at_ms, given_by, kind, channel, user_id, until_ms, value, decision
        FROM given_orders
        WHERE id < ?1 AND (CAST(?2 AS TEXT) IS NULL OR workspace = CAST(?2 AS TEXT))
        ORDER BY id DESC
        LIMIT +?3";
    /// Without those that were given in private for a channel that is public now.
    STANDING_ORDERS = "
        SELECT s.number, s.version, s.channel, s.thread, s.text, s.given_by, s.given_ms, s.ended_ms, s.visibility,
            s.is_draft
        FROM standing_orders AS s
        LEFT JOIN channels AS c ON c.workspace = s.workspace AND c.id = s.channel
        WHERE s.workspace = ?1 AND s.ended_ms IS NULL AND s.is_draft = 0
            AND (s.visibility = 'public' OR c.visibility IS DISTINCT FROM 'public')
        ORDER BY s.number";
    ORDER_DRAFTS = "
        SELECT s.number, s.version, s.channel, s.thread, s.text, s.given_by, s.given_ms, s.ended_ms, s.visibility,
            s.is_draft
        FROM standing_orders AS s
        LEFT JOIN channels AS c ON c.workspace = s.workspace AND c.id = s.channel
        WHERE s.workspace = ?1 AND s.ended_ms IS NULL AND s.is_draft = 1
            AND (s.visibility = 'public' OR c.visibility IS DISTINCT FROM 'public')
        ORDER BY s.number";
    STANDING_ORDER_VERSIONS = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND text <> ''
        ORDER BY number, version";
    /// ?2 is a JSON list of decisions.
    MARKS = "
        SELECT k.decision, k.mark, k.marked_by, k.at_ms FROM json_each(?2) AS j
        CROSS JOIN decision_marks AS k ON k.decision = CAST(j.value AS BIGINT) AND k.workspace = ?1
        ORDER BY k.decision";
    MARKS_SINCE = "
        SELECT decision, mark, marked_by, at_ms FROM decision_marks INDEXED BY decision_marks_by_time
        WHERE workspace = ?1 AND at_ms >= ?2
        ORDER BY at_ms, decision";
    MARK_COUNTS = "SELECT mark, count(*) AS n FROM decision_marks GROUP BY mark ORDER BY mark";
    /// ?3 is a JSON list of messages, and ?4 the version of the models whose links count.
    LINKS_OF_MESSAGES = "
        SELECT l.message, l.version, l.parent, l.probability FROM json_each(?3) AS j
        CROSS JOIN links AS l ON l.workspace = ?1 AND l.channel = ?2 AND l.message = j.atom
        WHERE l.version IN (0, ?4)
        ORDER BY l.message, l.version, l.parent";
    PENDING_COUNTS = "SELECT verb, count(*) AS n FROM steps GROUP BY verb";
    OLDEST_OWED = "SELECT min(at_ms) AS at_ms FROM owed WHERE closed_ms IS NULL";
    COUNT_DEAD_LETTERS = "SELECT count(*) AS n FROM dead_letters";
    STEPS = concat!(
        "SELECT json_group_array(", step_json!(), ") AS steps FROM steps AS s
        LEFT JOIN outbox AS o ON o.id = s.piece WHERE s.workspace = ?1"
    );
    /// The newest before ?1 of the workspace ?2; null: of all.
    DEAD_LETTERS = "
        SELECT id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text
        FROM dead_letters
        WHERE id < ?1 AND (CAST(?2 AS TEXT) IS NULL OR workspace = CAST(?2 AS TEXT))
        ORDER BY id DESC
        LIMIT +?3";
    DEAD_LETTER = "
        SELECT id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text
        FROM dead_letters
        WHERE workspace = ?1 AND id = ?2";
    /// The newest model calls, newest first.
    RECENT_CALLS = "
        SELECT at_ms, model, verb, result, error FROM attempts ORDER BY id DESC LIMIT +?1";
    DATABASE_SIZE = "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()";
}
