//! The statements on proposals, which need approval before they are posted.

macro_rules! proposals {
    ($which:expr) => {
        concat!(
            "SELECT p.id, p.workspace, p.channel, p.thread, p.decision, p.confidence, p.made_ms, p.expires_ms, p.state,
                p.decided_by, p.decided_ms, d.ended, d.is_addressed, d.why,
                (SELECT json_group_array(text) FROM
                    (SELECT text FROM outbox WHERE draft = p.id AND state IN ('proposed', 'original') ORDER BY id)
                    AS part) AS texts,
                (SELECT notes FROM outbox WHERE id = p.id) AS notes
            FROM proposals AS p
            JOIN decisions AS d ON d.id = p.decision ",
            $which
        )
    };
}

statements! {
    /// The judge's confidence is part of its verdict.
    VERDICT = "SELECT judgment FROM decisions WHERE id = ?1";
    PUT_PROPOSAL = "
        INSERT INTO proposals
            (id, workspace, channel, thread, decision, confidence, made_ms, expires_ms, state)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open')";
    /// Keeps the new rows of a draft from being posted.
    HOLD_OUTBOX_ITEMS = "UPDATE outbox SET state = 'proposed' WHERE draft = ?1 AND state = 'draft'";
    PROPOSAL = "
        SELECT id, workspace, channel, thread, decision, expires_ms, state
        FROM proposals
        WHERE workspace = ?1 AND id = ?2";
    /// The texts of a proposal, in order.
    PROPOSED_ITEMS = "
        SELECT id, draft, workspace, channel, thread, key, text, notes, reaction_on, dispatched_ms
        FROM outbox WHERE draft = ?1 AND state = 'proposed' ORDER BY id";
    ERASE_PROPOSED_ITEMS = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE draft = ?1 AND state = 'proposed'";
    /// Other texts are posted in their place; the original ones are kept.
    KEEP_ORIGINAL_ITEMS = "
        UPDATE outbox SET state = 'original', notes = json_set(notes, '$.why', '')
        WHERE draft = ?1 AND state = 'proposed'";
    DECIDE_PROPOSAL = "
        UPDATE proposals SET state = ?2, decided_by = ?3, decided_ms = ?4 WHERE id = ?1";
    REOPEN_DECISION = "
        UPDATE decisions SET closed_ms = NULL, ended = NULL, gate = NULL, why = NULL, revision = ?2
        WHERE id = ?1 AND ended = 'proposed'";
    // What belongs to the decision ?2 belongs to ?1 from now on.

    ABSORB_MESSAGES = "UPDATE messages SET decision = ?1 WHERE decision = ?2";
    ABSORB_ATTEMPTS = "UPDATE attempts SET decision = ?1 WHERE decision = ?2";
    ABSORB_OUTBOX_ITEMS = "UPDATE outbox SET decision = ?1 WHERE decision = ?2";
    DROP_DECISION = "DELETE FROM decisions WHERE id = ?1";
    // Proposals that were not decided by ?1.

    ERASE_LAPSED_ITEMS = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'proposed' AND draft IN
            (SELECT p.id FROM proposals AS p WHERE p.state = 'open' AND p.expires_ms <= ?1)";
    /// The original texts from before ?1 that were replaced by others.
    ERASE_ORIGINAL_ITEMS = "
        UPDATE outbox SET state = 'dropped', text = ''
        WHERE state = 'original' AND draft IN
            (SELECT p.id FROM proposals AS p WHERE p.state = 'edited' AND p.decided_ms < ?1)";
    LAPSE_PROPOSALS = "
        UPDATE proposals SET state = 'lapsed' WHERE state = 'open' AND expires_ms <= ?1";
    /// The newest proposals before ?2 of the workspace ?1 and the decision ?4; null means all.
    PROPOSALS = proposals!("
        WHERE p.id < ?2 AND (CAST(?1 AS TEXT) IS NULL OR p.workspace = CAST(?1 AS TEXT))
            AND (CAST(?4 AS BIGINT) IS NULL OR p.decision = CAST(?4 AS BIGINT))
        ORDER BY p.id DESC
        LIMIT +?3");
    /// The proposals that may still be decided at ?1.
    OPEN_PROPOSALS = proposals!("WHERE p.state = 'open' AND p.expires_ms > ?1 ORDER BY p.id DESC");
    /// The newest decided proposals of the workspace ?1.
    PROPOSAL_LABELS = "
        SELECT channel, confidence, state, decided_ms FROM proposals
        WHERE workspace = ?1 AND decided_ms IS NOT NULL AND confidence IS NOT NULL
        ORDER BY decided_ms DESC, id DESC
        LIMIT +?2";
}
