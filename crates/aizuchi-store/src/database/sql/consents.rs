//! The statements on calls that need a user's consent.

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
    /// The draft that announces them is posted at ?3. Only now can they be decided, so their time begins now.
    OPEN_CONSENTS = "
        UPDATE consents SET state = 'open', revision = ?2, expires_ms = expires_ms - made_ms + ?3
        WHERE draft = ?1 AND state = 'drafted'";
    CONSENT = consents!("WHERE workspace = ?1 AND id = ?2");
    CHANGE_CONSENT = "
        UPDATE consents SET state = ?2, arguments = ?3, answer = ?4, decided_by = ?5, decided_ms = ?6, until_ms = ?7,
            is_settled = ?8, revision = ?9
        WHERE id = ?1";
    /// The author and time of the message ?3, if it may still be answered.
    CONSENT_ASKER = "
        SELECT author, at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND deleted_ms IS NULL AND withheld = 0";
    /// Settles the consents whose outcome as of revision ?5 was reported to the authors of the messages ?4, in the
    /// conversation where the calls were asked for.
    SETTLE_CONSENTS = "
        UPDATE consents SET is_settled = 1, arguments = '', answer = NULL
        WHERE is_settled = 0 AND workspace = ?1 AND channel = ?2 AND thread = ?3 AND revision <= ?5
            AND state IN ('answered', 'unknown', 'refused', 'lapsed')
            AND EXISTS (SELECT 1 FROM json_each(consents.messages) AS m CROSS JOIN json_each(?4) AS j
                WHERE m.atom = j.atom)";
    UNSETTLED_CONSENTS = consents!("WHERE is_settled = 0 ORDER BY id");
    /// The newest consents before ?2 of the workspace ?1 and the decision ?4; null means all.
    CONSENTS = consents!("
        WHERE id < ?2 AND (CAST(?1 AS TEXT) IS NULL OR workspace = CAST(?1 AS TEXT))
            AND (CAST(?4 AS BIGINT) IS NULL OR decision = CAST(?4 AS BIGINT)) AND state <> 'drafted'
        ORDER BY id DESC
        LIMIT +?3");

    // Retention and erasure of their texts.

    /// Settled consents that were made before ?1.
    DROP_OLD_CONSENTS = "DELETE FROM consents WHERE is_settled = 1 AND made_ms < ?1";
    DROP_CONSENT_TEXTS = "
        UPDATE consents SET arguments = '', answer = NULL WHERE is_settled = 0 AND made_ms < ?1";
    /// The consents of the decisions ?1.
    ERASE_CONSENTS = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND decision IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    /// The consents of the decisions that the model calls ?1 were made for.
    ERASE_CONSENTS_OF_PROMPTS = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND decision IN (SELECT a.decision FROM json_each(?1) AS j
            CROSS JOIN attempts AS a ON a.id = CAST(j.value AS BIGINT))";
    /// The consents of the drafts that the outbox items ?1 are parts of.
    ERASE_CONSENTS_OF_OUTBOX = "
        UPDATE consents SET arguments = '', answer = NULL
        WHERE is_settled = 0 AND draft IN (SELECT o.draft FROM outbox AS o
            WHERE o.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)))";
    /// The user's decisions about calls are kept, without their name.
    REPLACE_CONSENT_DECIDER = "
        UPDATE consents SET decided_by = ?3
        WHERE workspace = ?1 AND substr(decided_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    /// A call that was pending in the backup may have been made since.
    LAPSE_ALL_CONSENTS = "
        UPDATE consents SET state = 'lapsed', is_settled = 1, arguments = '', answer = NULL
        WHERE state IN ('drafted', 'open', 'allowed')";
}
