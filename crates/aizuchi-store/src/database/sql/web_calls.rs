//! The statements on the web lookups of replies.

statements! {
    /// The number of lookups for the decision ?1; since ?2 for the user ?4 of the workspace ?3; and since ?2 in
    /// total.
    WEB_CALL_USAGE = "
        SELECT (SELECT CAST(coalesce(sum(calls), 0) AS BIGINT) FROM web_calls
                WHERE decision = ?1 AND ?1 <> 0) AS in_answer,
            (SELECT CAST(coalesce(sum(calls), 0) AS BIGINT) FROM web_calls
                WHERE at_ms > ?2 AND workspace = ?3 AND person = ?4) AS by_user,
            (SELECT CAST(coalesce(sum(calls), 0) AS BIGINT) FROM web_calls WHERE at_ms > ?2) AS in_day";
    PUT_WEB_CALL = "
        INSERT INTO web_calls (decision, at_ms, workspace, person, calls) VALUES (?1, ?2, ?3, ?4, 1)
        ON CONFLICT (decision, at_ms) DO UPDATE SET calls = web_calls.calls + 1";
    DROP_OLD_WEB_CALLS = "DELETE FROM web_calls WHERE at_ms <= ?1";
    /// The lookups still count for the day.
    ERASE_USER_OF_WEB_CALLS = "UPDATE web_calls SET person = '' WHERE workspace = ?1 AND person = ?2";
}
