//! The statements about calls that somebody has to allow.

macro_rules! consents {
    ($which:expr) => {
        concat!(
            "SELECT id, workspace, channel, thread, messages, is_addressed, decision, tool, arguments, answer, lineage,
                seen, made_ms, expires_ms, state, decided_by, decided_ms, until_ms, is_settled, revision
            FROM consents ",
            $which
        )
    };
}

statements! {
    PUT_CONSENT = "
        INSERT INTO consents
            (id, workspace, channel, thread, messages, is_addressed, decision, draft, tool, arguments, lineage, seen,
             made_ms, expires_ms, state, revision)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 'drafted', ?15)";
    /// The words that tell of them are posted.
    OPEN_CONSENTS = "
        UPDATE consents SET state = 'open', revision = ?2 WHERE draft = ?1 AND state = 'drafted'";
    CONSENT = consents!("WHERE workspace = ?1 AND id = ?2");
    CHANGE_CONSENT = "
        UPDATE consents SET state = ?2, arguments = ?3, answer = ?4, decided_by = ?5, decided_ms = ?6, until_ms = ?7,
            is_settled = ?8, revision = ?9
        WHERE id = ?1";
    /// Who wrote the message ?3, and when, if it may still be answered.
    CONSENT_ASKER = "
        SELECT author, at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND deleted_ms IS NULL AND withheld = 0";
    /// Those who wrote the messages ?4 have been told, as far as it was known at revision ?5, in the conversation that all who
    /// asked for a call read.
    SETTLE_CONSENTS = "
        UPDATE consents SET is_settled = 1, arguments = '', answer = NULL
        WHERE is_settled = 0 AND workspace = ?1 AND channel = ?2 AND thread = ?3 AND revision <= ?5
            AND state IN ('answered', 'unknown', 'refused', 'lapsed')
            AND EXISTS (SELECT 1 FROM json_each(consents.messages) AS m CROSS JOIN json_each(?4) AS j
                WHERE m.atom = j.atom)";
    UNSETTLED_CONSENTS = consents!("WHERE is_settled = 0 ORDER BY id");
    /// The newest before ?2 of the workspace ?1 and the decision ?4; null: of all.
    CONSENTS = consents!("
        WHERE id < ?2 AND (CAST(?1 AS TEXT) IS NULL OR workspace = CAST(?1 AS TEXT))
            AND (CAST(?4 AS BIGINT) IS NULL OR decision = CAST(?4 AS BIGINT)) AND state <> 'drafted'
        ORDER BY id DESC
        LIMIT +?3");

    // What becomes of their texts.

    /// Of those of which nothing is still to come, what was made before ?1.
    DROP_OLD_CONSENTS = "DELETE FROM consents WHERE is_settled = 1 AND made_ms < ?1";
    DROP_CONSENT_TEXTS = "
        UPDATE consents SET arguments = '', answer = NULL WHERE is_settled = 0 AND made_ms < ?1";
    /// Those of these decisions.
    ERASE_CONSENTS = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND decision IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    /// Those of the decisions that these model calls were made for.
    ERASE_CONSENTS_OF_PROMPTS = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND decision IN (SELECT a.decision FROM json_each(?1) AS j
            CROSS JOIN attempts AS a ON a.id = CAST(j.value AS BIGINT))";
    /// Those of the drafts of which these are parts.
    ERASE_CONSENTS_OF_OUTBOX = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND draft IN (SELECT o.draft FROM outbox AS o
            WHERE o.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)))";
    /// What the user decided about calls stays on record, and not who it was.
    REPLACE_CONSENT_DECIDER = "
        UPDATE consents SET decided_by = ?3
        WHERE workspace = ?1 AND substr(decided_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    /// A call that was not made when a backup was made may have been made since.
    LAPSE_ALL_CONSENTS = "
        UPDATE consents SET state = 'lapsed', is_settled = 1, arguments = '', answer = NULL
        WHERE state IN ('drafted', 'open', 'allowed')";
}
