//! The statements on the cost of model calls, and on reservations for calls in flight.

/// The reservations of claims other than ?4.
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

statements! {
    /// Adds a model call's usage to its channel ?2 and to the workspace, in the hour ?3 and the day ?4. ?7 of the
    /// tokens ?5 are unsolicited, and ?8 have no price.
    ADD_SPENDING = "
        INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros, unasked_tokens, unpriced_tokens)
        SELECT ?1, c.channel, s.span, s.begin_ms, ?5, ?6, ?7, ?8
        FROM (SELECT ?2 AS channel UNION SELECT '') AS c,
            (SELECT 'hour' AS span, CAST(?3 AS BIGINT) AS begin_ms UNION ALL SELECT 'day', CAST(?4 AS BIGINT)) AS s
        WHERE true
        ON CONFLICT (workspace, channel, span, begin_ms) DO UPDATE SET tokens = spending.tokens + excluded.tokens, micros = spending.micros + excluded.micros,
            unasked_tokens = spending.unasked_tokens + excluded.unasked_tokens,
            unpriced_tokens = spending.unpriced_tokens + excluded.unpriced_tokens";
    /// The usage that limits a call at ?3: recorded, and reserved by claims other than ?4, in the workspace ?1 and its
    /// channel ?2; and the calls for the decision ?5, and the judge calls about the user ?6.
    CALL_USAGE = concat!(
        "SELECT json_object('workspace', ", spent!("''", "?3"), ", 'channel', ", spent!("?2", "?3"), ",
            'workspace_reserved', ", reserved!(""), ", 'channel_reserved', ", reserved!("channel = ?2 AND "), ",
            'decision_calls', (SELECT count(*) FROM attempts WHERE decision = ?5 AND ?5 <> 0 AND verb NOT IN ('look_up', 'post')),
            'author_judge_calls', (SELECT count(*) FROM judge_calls
                WHERE workspace = ?1 AND author = CAST(?6 AS TEXT) AND at_ms > ?3 - 3600000)) AS usage,
            (SELECT count(*) FROM reservations WHERE token <> ?4 AND until_ms <= ?3) AS lapsed"
    );
    /// Records the reservations that have lapsed by ?1 as usage, except that of the claim ?2.
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
    /// Their models are unknown. As in `spending`, they count at the time at which they lapsed.
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
}
