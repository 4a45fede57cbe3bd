//! The statements on pending steps, owed answers, and the outbox.

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

statements! {
    /// The posts of the persona since the first of the messages in ?3 that were found in the platform's history and
    /// are not of this outbox, with what they are marked to answer; and the reactions to these messages.
    FOUND_POSTS = "
        SELECT p.at_ms, p.thread, p.id, l.parent AS answers
        FROM messages AS p
        LEFT JOIN links AS l ON l.workspace = p.workspace AND l.channel = p.channel AND l.message = p.id AND l.version = 0
        WHERE p.workspace = ?1 AND p.channel = ?2 AND p.author_kind = 'persona' AND p.gate = 'caught_up'
            AND p.at_ms >= (SELECT min(m.at_ms) FROM json_each(?3) AS j
                JOIN messages AS m ON m.workspace = ?1 AND m.channel = ?2 AND m.id = j.value ->> 0)
            AND NOT EXISTS (SELECT 1 FROM outbox AS o
                WHERE o.workspace = ?1 AND o.channel = ?2 AND o.message = p.id)
        UNION ALL
        SELECT r.at_ms, '' AS thread, '' AS id, r.message AS answers
        FROM json_each(?3) AS j
        JOIN reactions AS r ON r.workspace = ?1 AND r.channel = ?2 AND r.message = j.value ->> 0
            AND r.kind = 'persona' AND r.removed_ms IS NULL
        WHERE NOT EXISTS (SELECT 1 FROM outbox AS o
            WHERE o.workspace = ?1 AND o.channel = ?2 AND o.reaction_on = r.message AND o.state = 'said')
        ORDER BY at_ms, id";
    /// The messages in ?3, and those of their channel since the first of them that are owed an answer or were dropped
    /// as answered.
    OPEN_MESSAGES = "
        SELECT m.id, m.at_ms, m.thread
        FROM json_each(?3) AS j
        JOIN messages AS m ON m.workspace = ?1 AND m.channel = ?2 AND m.id = j.value ->> 0
        UNION
        SELECT m.id, m.at_ms, m.thread
        FROM owed AS w
        JOIN messages AS m ON m.workspace = ?1 AND m.channel = ?2 AND m.id = w.message
        LEFT JOIN decisions AS d ON d.id = m.decision
        WHERE w.workspace = ?1 AND w.channel = ?2 AND (w.closed_ms IS NULL OR d.ended = 'dropped')
            AND m.deleted_ms IS NULL
            AND m.at_ms >= (SELECT min(f.at_ms) FROM json_each(?3) AS j
                JOIN messages AS f ON f.workspace = ?1 AND f.channel = ?2 AND f.id = j.value ->> 0)";
    /// Drafts that were pending in the backup may have been posted since.
    LOOK_FOR_POSTS = "
        UPDATE outbox SET state = 'sending', dispatched_ms = coalesce(dispatched_ms, c.copied_ms)
        FROM counters AS c WHERE outbox.state = 'draft'";

    // SQLite keeps the order of a CROSS JOIN: from the few listed rows to the index.
    /// What hearing needs to know, in one row of three JSON lists: the indexes of the messages in ?1 that are known
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

    // Pending states.

    // Without `WHERE true`, SQLite reads ON CONFLICT as the condition of a join. The casts are for PostgreSQL, where
    // `->>` gives text.
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
    // A message that is owed again keeps the number of its earlier answers, each of which counts toward its author's
    // limit.
    PUT_OWED = concat!("
        INSERT INTO owed (workspace, channel, thread, message, asker, at_ms)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT (workspace, channel, message) DO UPDATE SET closed_ms = NULL,
            earlier_answers = owed.earlier_answers + (SELECT count(*) FROM messages AS m
                JOIN decisions AS d ON d.id = m.decision AND ", took_an_answer!(), "
                WHERE m.workspace = owed.workspace AND m.channel = owed.channel AND m.id = owed.message)");
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
    /// When the next step of a conversation or of a plan is ready.
    NEXT_READY = "
        SELECT min(ready_ms) AS ready_ms FROM (
            SELECT min(ready_ms) AS ready_ms FROM steps
            UNION ALL
            SELECT min(ready_ms) AS ready_ms FROM plans) AS next";
    NEXT_MEMORY_JOB = "SELECT min(ready_ms) AS ready_ms FROM chores";
    // At a start. The leases are of a process that has ended, since a database has only one owner.
    RELEASE_LEASES = "
        UPDATE steps SET token = NULL, lease_until_ms = NULL, ready_ms = due_ms WHERE token IS NOT NULL";
    // A lookup claims the item again; the time of its first dispatch stays, since that call may have posted it.
    DISPATCH_OUTBOX_ITEM = "
        UPDATE outbox SET state = 'sending', dispatched_ms = coalesce(dispatched_ms, ?2)
        WHERE id = ?1 AND state IN ('draft', 'sending')";
    UNDISPATCH_OUTBOX_ITEM = "
        UPDATE outbox SET state = 'draft', dispatched_ms = NULL WHERE id = ?1 AND state = 'sending'";
    PUT_OUTBOX_ITEM = "
        INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state,
            reaction_on, is_unasked)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'draft', ?10, ?11)";
    /// Also returns whether its text was erased while it was being posted.
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
    /// Ends all unsent items of a draft. The texts of a dead letter are kept for the operator; others are erased.
    END_OUTBOX_ITEMS = "
        UPDATE outbox SET state = ?2, text = CASE ?2 WHEN 'dead' THEN text ELSE '' END,
            notes = CASE ?2 WHEN 'dead' THEN notes ELSE json_set(notes, '$.why', '') END
        WHERE draft = ?1 AND state IN ('draft', 'sending')";
    // Not items that are `sending`: they may have been posted, and are looked up. Messages replace no draft of a plan.
    REPLACE_DRAFTS = "
        UPDATE outbox SET state = 'replaced', text = '', notes = json_set(notes, '$.why', '')
        FROM json_each(?1) AS j
        WHERE outbox.workspace = j.value ->> 0 AND outbox.channel = j.value ->> 1
            AND outbox.thread = j.value ->> 2 AND outbox.state = 'draft'
            AND NOT EXISTS (SELECT 1 FROM plans AS p WHERE p.decision = outbox.decision)";
    PUT_DEAD_LETTER = "
        INSERT INTO dead_letters (id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

    // The ledger.

    DROP_DEAD_LETTER = "DELETE FROM dead_letters WHERE workspace = ?1 AND id = ?2";
    /// The texts of a letter's decision, of all its parts, are also in the outbox.
    DROP_DEAD_OUTBOX_ITEMS = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'dead' AND decision = ?1";
    /// The texts of a letter whose sources have changed. The parts stay, since they tell what users have seen.
    ERASE_DEAD_OUTBOX_ITEMS = "
        UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'dead' AND decision = ?1";
    /// The failed parts of a draft, in order.
    DEAD_OUTBOX_ITEMS = "
        SELECT id, draft, workspace, channel, thread, key, text, notes, reaction_on, dispatched_ms
        FROM outbox WHERE decision = ?1 AND state = 'dead' ORDER BY id";
    /// An item that may have been posted goes back to `sending`, any other one to `draft`.
    REVIVE_OUTBOX_ITEMS = "
        UPDATE outbox SET state = CASE WHEN dispatched_ms IS NULL THEN 'draft' ELSE 'sending' END
        WHERE draft = ?1 AND state = 'dead'";
    /// The answers that were owed in a conversation until ?4, and may still be given.
    OWED_CLOSED_AT = "
        SELECT w.message, w.asker, w.at_ms FROM owed AS w
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = w.message AND m.channel = w.channel
            AND m.deleted_ms IS NULL AND m.withheld = 0
        WHERE w.workspace = ?1 AND w.channel = ?2 AND w.thread = ?3 AND w.closed_ms = ?4
        ORDER BY w.at_ms, w.message";
    PENDING_COUNTS = "SELECT verb, count(*) AS n FROM steps GROUP BY verb";
    OLDEST_OWED = "SELECT min(at_ms) AS at_ms FROM owed WHERE closed_ms IS NULL";
    COUNT_DEAD_LETTERS = "SELECT count(*) AS n FROM dead_letters";
    STEPS = concat!(
        "SELECT json_group_array(", step_json!(), ") AS steps FROM steps AS s
        LEFT JOIN outbox AS o ON o.id = s.piece WHERE s.workspace = ?1"
    );
    // PostgreSQL cannot tell the type of a parameter that is compared with NULL, hence the casts.
    /// The newest dead letters before ?1 of the workspace ?2; null means all workspaces.
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
}
