//! The statements for the console's figures.

statements! {
    /// When each channel last had a message by others and by the persona.
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
    // Figures: ?1 workspace, ?2 since, ?3 the offset of local time, ?4 until. The first one reads indexes only.

    // That index does not tell who wrote a message, so the persona's are counted apart and subtracted.
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
        WHERE workspace = ?1 AND at_ms >= ?2 AND at_ms < ?4 AND verb NOT IN ('look_up', 'post')
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
    /// The time from the newest message that a decision covers to its first post.
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
    /// Users' reactions to the persona's posts, by the day of the post.
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
    // The condition on the marks repeats that of the partial index, or SQLite could not use it.
    /// Likely questions at the top level of channels that no other user followed up, within an hour or in their
    /// threads, and the decision that each led to, if the persona spoke unsolicited. No one else is expected to answer
    /// what the persona owes an answer.
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
    /// What users did after each unsolicited post: the first messages below its last part or in its thread, as
    /// [whether it replies to the post, text], and the reactions. It is unknown for expired posts.
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
    /// After each silence that a judge chose: the newest messages that it covers, as [author, text], newest first, and
    /// when another user first wrote, within an hour or in the thread of the newest one.
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
    /// The proposals that a user declined. A proposal is declined after its decision was opened.
    DECLINED_PROPOSALS = "
        SELECT d.id, d.channel, (d.opened_ms + CAST(?3 AS BIGINT)) / 86400000 AS day, p.decided_ms AS at_ms, d.judgment
        FROM proposals AS p INDEXED BY proposals_decided
        CROSS JOIN decisions AS d ON d.id = p.decision
        WHERE p.workspace = ?1 AND p.decided_ms IS NOT NULL AND p.decided_ms >= ?2 AND p.state IN ('declined', 'never')
            AND d.opened_ms >= ?2 AND d.opened_ms < ?4 AND d.ended = 'proposed' AND d.is_addressed = 0
        ORDER BY d.id";
    /// The days whose figures may have changed since the revision ?5. A message may answer a question from the hour
    /// before, or the parent message of its thread. The plus keeps SQLite from looking up the parent by its time.
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
}
