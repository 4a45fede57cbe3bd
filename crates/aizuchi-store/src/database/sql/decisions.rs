//! The statements on decisions and their model calls.

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

/// Whether the message `m` matches the filter.
macro_rules! filtered_message {
    () => {
        "m.at_ms >= ?7 AND m.at_ms < ?8 AND (CAST(?9 AS TEXT) IS NULL OR m.visibility = CAST(?9 AS TEXT))
                AND (CAST(?10 AS TEXT) IS NULL OR m.author = CAST(?10 AS TEXT))"
    };
}

/// Whether the decision `d` covers or has posted a message that matches the filter. Decisions that closed long before
/// are skipped: none of their messages are newer, apart from clock skew.
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
    // Few decisions are open. The plus keeps SQLite from scanning a whole channel in order.
    (open $messages:expr) => {
        filtered_decisions!(
            "d.id IN (SELECT o.id FROM decisions AS o INDEXED BY decisions_open
                WHERE o.workspace = ?1 AND o.channel = ?2 AND o.closed_ms IS NULL
                    AND coalesce(o.ended, 'open') = CAST(?3 AS TEXT))",
            "+d.id",
            $messages
        )
    };
    // If there is no match, every decision of the channel is visited: 20 000 of them in some ten milliseconds.
    (superseded $messages:expr) => {
        filtered_decisions!(
            "EXISTS (SELECT 1 FROM attempts AS a WHERE a.decision = d.id AND a.result = CAST(?3 AS TEXT))",
            "d.id",
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
    /// A later decision's failure, or a retry, has nothing to do with the letter.
    REOPEN_DECISION = "
        UPDATE decisions SET closed_ms = NULL, ended = NULL, gate = NULL, why = NULL, revision = ?2
        WHERE id = ?1 AND ended = 'failed'";
    OPEN_DECISIONS = "
        INSERT INTO decisions (id, workspace, channel, thread, opened_ms, is_addressed, revision)
        SELECT CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT)
        FROM json_each(?1)";
    // ?1 is a JSON array of [decision, revision].

    /// Discards the judgments and drafts of these decisions.
    SUPERSEDE_DECISIONS = "
        UPDATE decisions SET judgment = NULL, state = NULL, revision = max(decisions.revision, CAST(j.value ->> 1 AS BIGINT))
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
        UPDATE decisions SET mode = ?2, passed = ?3, conversation_state = ?4, needed_confidence = ?5 WHERE id = ?1";
    // A closing without a verdict of its own, such as that of a post, keeps the judge's.
    /// An unsolicited post is no answer, even if the decision was addressed in the meantime or a question was deleted.
    CLOSE_DECISION = "
        UPDATE decisions
        SET closed_ms = ?2, ended = ?3, gate = ?4, judgment = coalesce(?5, judgment),
            state = coalesce(?6, state), why = ?7, is_addressed = ?8, is_expired = 0
        WHERE id = ?1";
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
    // ?3 is an edited or deleted message, which model output about it may quote.

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
    FORGET_DEAD_LETTERS = erase_dead_letters!(decisions_on);
    FORGET_DEAD_OUTBOX_TEXT = erase_unseen_texts!(decisions_on);
    FORGET_CONSENTS = erase_consents!(decisions_on);
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
    DROP_EXCHANGES = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE at_ms < ?1 AND prompt <> ''";
    /// Keeps only the newest exchanges, up to ?1 bytes in total.
    DROP_EXCHANGES_BEYOND = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE attempt IN (SELECT attempt FROM
            (SELECT attempt, CAST(sum(stored_bytes) OVER (ORDER BY at_ms DESC, attempt DESC) AS BIGINT) AS total
             FROM exchanges WHERE stored_bytes > 0) AS part
            WHERE total > ?1)";
    DECISIONS_OF_CHANNEL = decisions!("
        WHERE d.workspace = ?1 AND d.channel = ?2
        ORDER BY d.id DESC
        LIMIT +?3");
    // The decisions before ?5 that ended with ?3, and by the gate ?4 if it is given. One index covers how they ended,
    // and another those that are open.

    FILTERED_DECISIONS = filtered_decisions!(any "");
    FILTERED_DECISIONS_ENDED = filtered_decisions!(ended "");
    FILTERED_DECISIONS_OPEN = filtered_decisions!(open "");
    FILTERED_DECISIONS_SUPERSEDED = filtered_decisions!(superseded "");
    // The same with a message from ?7 until ?8, with the visibility ?9 and by the author ?10 if these are given.

    FILTERED_DECISIONS_WITH = filtered_decisions!(any covers_filtered_message!());
    FILTERED_DECISIONS_ENDED_WITH = filtered_decisions!(ended covers_filtered_message!());
    FILTERED_DECISIONS_OPEN_WITH = filtered_decisions!(open covers_filtered_message!());
    FILTERED_DECISIONS_SUPERSEDED_WITH = filtered_decisions!(superseded covers_filtered_message!());
    /// ?3 is a JSON list of how they may have ended. Those since ?5 that do not match are visited, too.
    FEED = decisions!("
        WHERE d.id IN (SELECT f.id FROM decisions AS f INDEXED BY decisions_by_time
            WHERE f.workspace = ?1 AND f.opened_ms >= ?5 AND f.opened_ms <= ?6
                AND (f.opened_ms < ?6 OR f.id < ?7)
                AND (CAST(?2 AS TEXT) IS NULL OR f.channel = CAST(?2 AS TEXT))
                AND coalesce(f.ended, 'open') IN (SELECT j.atom FROM json_each(?3) AS j)
                AND (CAST(?4 AS TEXT) IS NULL OR f.gate = CAST(?4 AS TEXT))
            ORDER BY f.opened_ms DESC, f.id DESC
            LIMIT +?8)
        ORDER BY d.opened_ms DESC, d.id DESC");
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
    /// The newest model calls, newest first.
    RECENT_CALLS = "
        SELECT at_ms, model, verb, result, error FROM attempts
        WHERE verb NOT IN ('look_up', 'post') ORDER BY id DESC LIMIT +?1";
    // The condition on the result repeats that of the partial index, or SQLite could not use it.
    FAILED_CALLS = "
        SELECT channel, verb, model, error, count(*) AS n, min(at_ms) AS first_ms, max(at_ms) AS last_ms,
            max(decision) AS decision
        FROM attempts INDEXED BY attempts_failed
        WHERE workspace = ?1 AND at_ms >= ?2 AND result = 'failed'
        GROUP BY channel, verb, model, error
        ORDER BY max(at_ms) DESC, channel, verb, model";
}
