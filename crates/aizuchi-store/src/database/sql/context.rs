//! The statement that reads a context.

// Most messages mention nobody, which spares them the lookup of names.
/// The message `m` by the user `u`, as a JSON list; messages of the target ?3 include their links of version ?15.
macro_rules! message_json {
    () => {
        "json_array(m.id, m.thread, m.at_ms, m.author, m.author_kind, m.text,
            json(m.mentions), json(m.attachments), m.edits, m.heard, CASE m.visibility WHEN 'public' THEN 1 ELSE 0 END, u.name,
            CASE m.mentions WHEN '[]' THEN NULL ELSE
                (SELECT json_group_object(n.id, n.name) FROM
                    (SELECT CASE type WHEN 'object' THEN value ->> 'user' END AS person
                     FROM json_each(m.mentions)) AS j
                 CROSS JOIN users AS n ON n.workspace = ?1 AND n.id = j.person) END,
            CASE m.decision WHEN (SELECT decision FROM steps
                WHERE workspace = ?1 AND channel = ?2 AND thread = ?3) THEN 1 ELSE 0 END,
            CASE WHEN m.decision IS NULL THEN 1 ELSE 0 END,
            CASE m.thread WHEN ?3 THEN
                (SELECT json_group_array(json_array(l.version, l.parent, l.probability)) FROM links AS l
                 WHERE l.workspace = ?1 AND l.channel = ?2 AND l.message = m.id AND l.version IN (0, ?15)) END)"
    };
}

/// The status of the conversation's channel at ?13, as a JSON object.
macro_rules! circumstances {
    () => {
        concat!(
            "json_object(
                'muted_until_ms', (SELECT max(until_ms) FROM mutes
                    WHERE workspace = ?1 AND channel IN ('', ?2)),
                'ordered_mode', (SELECT mode FROM modes WHERE workspace = ?1 AND channel = ?2),
                'intervened_ms', (SELECT max(closed_ms) FROM decisions INDEXED BY decisions_unasked
                    WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended = 'spoke' AND is_addressed = 0),
                'intervened_state', (SELECT conversation_state FROM decisions INDEXED BY decisions_unasked
                    WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended = 'spoke' AND is_addressed = 0
                    ORDER BY closed_ms DESC, id DESC LIMIT 1),
                'interventions_lately', (SELECT count(*) FROM decisions INDEXED BY decisions_unasked
                    WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended = 'spoke' AND is_addressed = 0
                        AND closed_ms >= ?13 - 1800000),
                'posts', (SELECT json_array(count(*) FILTER (WHERE channel = ?2), count(*)) FROM (
                    SELECT channel FROM outbox INDEXED BY outbox_unasked
                    WHERE workspace = ?1 AND dispatched_ms >= ?13 - 3600000 AND is_unasked = 1
                        AND id = draft AND state = 'said'
                    UNION ALL
                    SELECT s.channel FROM steps AS s INDEXED BY steps_unasked
                    LEFT JOIN outbox AS o ON o.id = s.piece
                    LEFT JOIN steps AS own ON own.workspace = ?1 AND own.channel = ?2 AND own.thread = ?3
                        AND own.is_owed = 0
                    WHERE s.workspace = ?1 AND s.is_owed = 0 AND s.verb <> 'judge'
                        AND NOT (s.channel = ?2 AND s.thread = ?3)
                        AND CASE s.verb
                            WHEN 'post' THEN o.is_unasked = 1 AND o.id = o.draft
                                AND (own.verb IS DISTINCT FROM 'post' OR s.piece < own.piece)
                            ELSE own.verb IS DISTINCT FROM 'post'
                                AND (own.verb IS DISTINCT FROM 'reply' OR s.decision < own.decision) END) AS part),
                'spoke_unasked_ms', (SELECT max(closed_ms) FROM decisions INDEXED BY decisions_unasked
                    WHERE workspace = ?1 AND channel = ?2 AND ended = 'spoke' AND is_addressed = 0),
                'said_unasked', (SELECT json_group_array(m.text) FROM outbox AS o INDEXED BY outbox_unasked
                    CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = o.message AND m.channel = ?2
                        AND m.deleted_ms IS NULL AND m.withheld = 0
                    WHERE o.workspace = ?1 AND o.channel = ?2 AND o.dispatched_ms >= ?13 - 86400000 AND o.is_unasked = 1
                        AND o.id = o.draft AND o.state = 'said'),
                'answers_in_hour', (SELECT json_group_object(w.asker,
                        (SELECT count(DISTINCT d.id) + coalesce(sum(a.earlier_answers), 0)
                         FROM owed AS a INDEXED BY owed_by_asker
                         CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = a.message AND m.channel = a.channel
                            AND m.gate IS DISTINCT FROM 'command'
                         LEFT JOIN decisions AS d ON d.id = m.decision AND ", took_an_answer!(), "
                         WHERE a.workspace = ?1 AND a.asker = w.asker AND a.closed_ms >= ?13 - 3600000)
                        + (SELECT coalesce(sum(a.earlier_answers), 0) FROM owed AS a INDEXED BY owed_by_asker
                         WHERE a.workspace = ?1 AND a.asker = w.asker AND a.closed_ms IS NULL)
                        + (SELECT count(*) FROM (SELECT DISTINCT a.channel, a.thread
                            FROM owed AS a INDEXED BY owed_by_asker
                            CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = a.message AND m.channel = a.channel
                                AND m.gate IS DISTINCT FROM 'command'
                            WHERE a.workspace = ?1 AND a.asker = w.asker AND a.closed_ms IS NULL
                                AND NOT (a.channel = ?2 AND a.thread = ?3)
                                AND (a.at_ms, a.channel, a.thread) < (w.at_ms, ?2, ?3)) AS part))
                    FROM (SELECT asker, min(at_ms) AS at_ms FROM owed INDEXED BY owed_open
                        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND closed_ms IS NULL
                        GROUP BY asker) AS w),
                'has_said_so', (SELECT count(*) FROM decisions AS d INDEXED BY decisions_over_budget
                    JOIN outbox AS o ON o.decision = d.id AND o.state = 'said'
                    WHERE d.workspace = ?1 AND d.channel = ?2 AND d.thread = ?3 AND d.ended = 'over_budget'
                        AND d.closed_ms >= ?13 - 3600000),
                'spent', ", spent!("?2", "?13"), ", 'spent_anywhere', ", spent!("''", "?13"), ")"
        )
    };
}

// The numbers are the constants of that module, so that every store chooses the same anchor.
/// The number of messages that a [`aizuchi_model::context::message_window::MessageWindow`] of this step holds beyond its
/// minimum. The table lists the newest messages with their places, counted from 1.
macro_rules! steps_beyond {
    ($newest:literal, $step:literal) => {
        concat!(
            "coalesce((SELECT place % ",
            $step,
            " FROM ",
            $newest,
            " ORDER BY at_ms % 1000003 * 7919 % 1000003, place LIMIT 1), 0)"
        )
    };
}

statements! {
    /// The whole context in one row, as one snapshot.
    ///
    /// `lines`, a JSON list of messages: from other conversations of the channel ?2, those among its newest since ?6;
    /// the newest of the target ?3; its messages that are owed an answer; the parents of all threads among these; and
    /// at the top level, the newest replies in the threads under the target's messages. The channel's newest are at
    /// least ?4, in steps of ?16, among ?17 candidates; the target's are at least ?5, in steps of ?18, among ?19
    /// candidates.
    ///
    /// `orders`, a JSON list: the standing orders of the workspace, the channel and the thread, without those that were
    /// given in private if the channel is public now.
    ///
    /// `memories`, a JSON list: the memories visible from the channel, its own and public ones, of channels, threads
    /// and short terms with messages since ?7, ?8 and ?9; and memos, ?11 with a priority of at least ?10, and the
    /// newest ?12.
    ///
    /// `circumstances`: the channel's status at ?13; `compared`: the last ?14 messages up to its newest intervention.
    CONTEXT = concat!("
        SELECT
            (SELECT revision FROM counters) AS revision,
            (SELECT name FROM channels WHERE workspace = ?1 AND id = ?2) AS channel_name,
            (SELECT visibility FROM channels WHERE workspace = ?1 AND id = ?2) AS visibility,
            (SELECT topic FROM channels WHERE workspace = ?1 AND id = ?2) AS topic,
            (SELECT json_group_array(message) FROM
                (SELECT message FROM owed INDEXED BY owed_open
                 WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND closed_ms IS NULL
                 ORDER BY at_ms, message) AS part) AS owed,
            (SELECT json_group_array(json_array(id, author, role, at_ms, text)) FROM
                (SELECT m.id, m.author, CASE u.role WHEN 'admin' THEN 'admin' ELSE 'member' END AS role, m.at_ms, m.text
                 FROM owed AS w INDEXED BY owed_open
                 CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = w.message AND m.channel = ?2
                 LEFT JOIN users AS u ON u.workspace = ?1 AND u.id = m.author
                 WHERE w.workspace = ?1 AND w.channel = ?2 AND w.thread = ?3 AND w.closed_ms IS NULL
                    AND m.gate = 'command' AND m.deleted_ms IS NULL
                 ORDER BY m.at_ms, m.id) AS part) AS commands,
            (SELECT json_group_array(
                json_array(number, version, channel, thread, text, given_by, given_ms, visibility)) FROM
                (SELECT number, version, channel, thread, text, given_by, given_ms, visibility FROM standing_orders
                 WHERE workspace = ?1 AND ended_ms IS NULL AND is_draft = 0
                    AND (channel = '' OR channel = ?2 AND thread IN ('', ?3))
                    AND (visibility = 'public' OR NOT EXISTS (SELECT 1 FROM channels AS c
                        WHERE c.workspace = ?1 AND c.id = ?2 AND c.visibility = 'public'))
                 ORDER BY number) AS part) AS orders,
            (SELECT json_array(CASE WHEN ended IN ('chose_silence', 'reacted', 'muted', 'proposed') THEN state END, closed_ms)
             FROM decisions
             WHERE workspace = ?1 AND channel = ?2 AND thread = ?3
                AND closed_ms IS NOT NULL AND state IS NOT NULL
             ORDER BY id DESC LIMIT 1) AS last_verdict,
            (SELECT json_array(json(judgment), conversation_state, considered) FROM decisions
             WHERE id = (SELECT decision FROM steps WHERE workspace = ?1 AND channel = ?2 AND thread = ?3)
                AND closed_ms IS NULL) AS verdict,
            (WITH near AS (
                SELECT line, thread, at_ms, row_number() OVER (ORDER BY at_ms DESC, id DESC) AS place FROM
                    (SELECT rowid AS line, thread, at_ms, id FROM messages INDEXED BY messages_in_channel
                     WHERE workspace = ?1 AND channel = ?2 AND at_ms >= ?6 AND deleted_ms IS NULL AND withheld = 0
                     ORDER BY at_ms DESC, id DESC LIMIT +?17) AS part),
            newest AS (SELECT line, thread FROM near WHERE place <= ?4 + ", steps_beyond!("near", "?16"), "),
            own AS (
                SELECT line, at_ms, row_number() OVER (ORDER BY at_ms DESC, id DESC) AS place FROM
                    (SELECT rowid AS line, at_ms, id FROM messages INDEXED BY messages_left
                     WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND deleted_ms IS NULL AND withheld = 0
                     ORDER BY at_ms DESC, id DESC LIMIT +?19) AS part),
            target AS (
                SELECT own.line, m.id, m.author FROM own
                CROSS JOIN messages AS m ON m.rowid = own.line
                WHERE own.place <= ?5 + ", steps_beyond!("own", "?18"), "),
            answers AS (
                SELECT (SELECT r.rowid FROM messages AS r INDEXED BY messages_left
                        WHERE r.workspace = ?1 AND r.channel = ?2 AND r.thread = target.id
                            AND r.author <> target.author AND r.deleted_ms IS NULL AND r.withheld = 0
                        ORDER BY r.at_ms DESC, r.id DESC LIMIT 1) AS line
                FROM target WHERE ?3 = ''
                UNION ALL SELECT (SELECT r.rowid FROM messages AS r INDEXED BY messages_left
                        WHERE r.workspace = ?1 AND r.channel = ?2 AND r.thread = target.id
                            AND r.deleted_ms IS NULL AND r.withheld = 0
                        ORDER BY r.at_ms DESC, r.id DESC LIMIT 1) AS line
                FROM target WHERE ?3 = ''),
            wanted AS (
                SELECT line FROM newest WHERE thread <> ?3 UNION SELECT line FROM target
                UNION SELECT line FROM answers WHERE line IS NOT NULL
                UNION SELECT m.rowid FROM owed AS w INDEXED BY owed_open
                    CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = w.message AND m.channel = ?2
                    WHERE w.workspace = ?1 AND w.channel = ?2 AND w.thread = ?3 AND w.closed_ms IS NULL
                        AND m.deleted_ms IS NULL AND m.withheld = 0
                UNION SELECT m.rowid FROM (SELECT thread FROM newest UNION SELECT ?3) AS t
                    CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = t.thread AND m.channel = ?2
                    WHERE t.thread <> '' AND m.deleted_ms IS NULL AND m.withheld = 0)
            SELECT json_group_array(", message_json!(), ")
            FROM wanted
            CROSS JOIN messages AS m ON m.rowid = wanted.line
            LEFT JOIN users AS u ON u.workspace = ?1 AND u.id = m.author) AS lines,
            (SELECT json_group_array(json_array(what, channel, thread, name, long_id, long_text, short_id, short_text))
                FROM (
                SELECT 'workspace' AS what, '' AS channel, '' AS thread, '' AS name, l.id AS long_id,
                    l.public_text AS long_text, s.id AS short_id, s.public_text AS short_text
                FROM (SELECT 1) AS part
                LEFT JOIN memories AS l INDEXED BY memories_current ON l.workspace = ?1 AND l.scope = 'workspace' AND l.channel = ''
                    AND l.thread = '' AND l.term = 'long_term' AND l.is_current = 1
                LEFT JOIN memories AS s INDEXED BY memories_current ON s.workspace = ?1 AND s.scope = 'workspace' AND s.channel = ''
                    AND s.thread = '' AND s.term = 'short_term' AND s.is_current = 1 AND s.newest_ms >= ?9
                UNION ALL
                SELECT * FROM (
                    SELECT 'channel', c.id, '', c.name,
                        l.id, CASE c.id WHEN ?2 THEN l.text ELSE l.public_text END,
                        s.id, CASE c.id WHEN ?2 THEN s.text ELSE s.public_text END
                    FROM channels AS c
                    LEFT JOIN memories AS l INDEXED BY memories_current ON l.workspace = ?1 AND l.scope = 'channel' AND l.channel = c.id
                        AND l.thread = '' AND l.term = 'long_term' AND l.is_current = 1
                    LEFT JOIN memories AS s INDEXED BY memories_current ON s.workspace = ?1 AND s.scope = 'channel' AND s.channel = c.id
                        AND s.thread = '' AND s.term = 'short_term' AND s.is_current = 1 AND s.newest_ms >= ?9
                    WHERE c.workspace = ?1 AND (c.visibility = 'public' OR c.id = ?2)
                        AND (SELECT max(at_ms) FROM messages INDEXED BY messages_in_channel
                             WHERE workspace = ?1 AND channel = c.id) >= ?7
                    ORDER BY c.name, c.id) AS part
                UNION ALL
                SELECT * FROM (
                    SELECT 'thread', channel, thread, '', id, text, CAST(NULL AS BIGINT), NULL
                    FROM memories INDEXED BY memories_of_threads
                    WHERE workspace = ?1 AND channel = ?2 AND newest_ms >= ?8 AND is_current = 1 AND scope = 'thread'
                    ORDER BY newest_ms, thread) AS part
                UNION ALL
                SELECT * FROM (
                    SELECT 'important', channel, '', '', id, memo, CAST(NULL AS BIGINT), NULL FROM (
                        SELECT * FROM (SELECT * FROM memos INDEXED BY memos_important
                            WHERE workspace = ?1 AND realm = '' AND priority >= ?10
                            ORDER BY priority DESC, updated_ms DESC, name, id LIMIT +?11) AS part
                        UNION ALL
                        SELECT * FROM (SELECT * FROM memos INDEXED BY memos_important
                            WHERE workspace = ?1 AND realm = ?2 AND priority >= ?10
                            ORDER BY priority DESC, updated_ms DESC, name, id LIMIT +?11) AS part) AS part
                    ORDER BY priority DESC, updated_ms DESC, name, id LIMIT +?11) AS part
                UNION ALL
                SELECT * FROM (
                    SELECT 'recent', channel, '', '', id, memo, CAST(NULL AS BIGINT), NULL FROM (
                        SELECT * FROM (SELECT * FROM memos INDEXED BY memos_recent
                            WHERE workspace = ?1 AND realm = ''
                            ORDER BY updated_ms DESC, name, id LIMIT +?12) AS part
                        UNION ALL
                        SELECT * FROM (SELECT * FROM memos INDEXED BY memos_recent
                            WHERE workspace = ?1 AND realm = ?2
                            ORDER BY updated_ms DESC, name, id LIMIT +?12) AS part) AS part
                    ORDER BY updated_ms DESC, name, id LIMIT +?12) AS part) AS part) AS memories,
            ", circumstances!(), " AS circumstances,
            (SELECT json_group_array(", message_json!(), ") FROM
                (SELECT rowid AS line FROM messages INDEXED BY messages_left
                 WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND deleted_ms IS NULL AND withheld = 0
                    AND at_ms <= (SELECT max(closed_ms) FROM decisions INDEXED BY decisions_unasked
                        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended = 'spoke' AND is_addressed = 0)
                 ORDER BY at_ms DESC, id DESC LIMIT +?14) AS c
             CROSS JOIN messages AS m ON m.rowid = c.line
             LEFT JOIN users AS u ON u.workspace = ?1 AND u.id = m.author) AS compared");
}
