//! The statements on plans and their steps.

/// The columns of a plan `p`.
macro_rules! plan_columns {
    () => {
        "p.id, p.number, p.workspace, p.channel, p.thread, p.asker, p.message, p.audience, p.whom, p.kind, p.what,
            p.recurrence, p.zone, p.made_ms, p.due_ms, p.ready_ms, p.piece, p.decision, p.attempts, p.token,
            p.lease_until_ms"
    };
}

statements! {
    PUT_PLAN = "
        INSERT INTO plans (id, number, workspace, channel, thread, asker, message, audience, whom, kind, what,
            recurrence, zone, made_ms, due_ms, ready_ms)
        VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM plans WHERE workspace = ?2), ?2, ?3, ?4, ?5, ?6, ?7, ?8,
            ?9, ?10, ?11, ?12, ?13, ?14, ?14)";
    /// Whether this user has made a plan by this message, or by a slash command at this time, already.
    HAS_PLAN = "
        SELECT id FROM plans WHERE workspace = ?1 AND asker = ?2 AND made_ms = ?3 AND message = ?4 AND channel = ?5
        LIMIT 1";
    /// How many pending plans a user has asked for, and how many a channel has.
    COUNT_PLANS = "
        SELECT (SELECT count(*) FROM plans WHERE workspace = ?1 AND asker = ?2 AND kind <> 'unanswered') AS of_user,
            (SELECT count(*) FROM plans WHERE workspace = ?1 AND channel = ?3) AS in_channel";
    /// The pending plans of a workspace, next due first.
    PLANS = concat!("SELECT ", plan_columns!(), " FROM plans AS p WHERE p.workspace = ?1 ORDER BY p.due_ms, p.id");
    PLANS_OF_MESSAGE = concat!(
        "SELECT ", plan_columns!(), " FROM plans AS p
        WHERE p.workspace = ?1 AND p.channel = ?2 AND p.message = ?3 ORDER BY p.id"
    );
    PLAN = concat!("SELECT ", plan_columns!(), " FROM plans AS p WHERE p.id = ?1");
    /// Each comes with whether a post of its conversation is being sent.
    READY_PLANS = concat!(
        "SELECT ", plan_columns!(), ",
            (SELECT count(*) FROM steps AS s WHERE s.workspace = p.workspace AND s.channel = p.channel
                AND s.thread = p.thread AND s.verb = 'post' AND s.token IS NOT NULL) AS posting
        FROM plans AS p WHERE p.ready_ms <= ?1 ORDER BY p.ready_ms, p.id LIMIT +?2"
    );
    POSTPONE_PLAN = "UPDATE plans SET ready_ms = ?2 WHERE id = ?1";
    CLAIM_PLAN = "
        UPDATE plans SET decision = ?2, attempts = attempts + 1, token = ?3, lease_until_ms = ?4, ready_ms = ?4
        WHERE id = ?1";
    /// The next state of its step.
    PUT_PLAN_STEP = "
        UPDATE plans SET piece = ?2, ready_ms = ?3, attempts = ?4, token = ?5, lease_until_ms = ?6 WHERE id = ?1";
    /// Makes a plan due at another time, with no step begun.
    MOVE_PLAN = "
        UPDATE plans SET due_ms = ?2, ready_ms = ?2, what = ?3, recurrence = ?4, piece = NULL, decision = NULL,
            attempts = 0, token = NULL, lease_until_ms = NULL
        WHERE id = ?1";
    /// Closes the decision of a plan whose step has begun: it was ordered otherwise.
    CLOSE_DECISION_OF_PLAN = "
        UPDATE decisions SET closed_ms = ?3, ended = 'dropped', gate = ?2, why = '', revision = ?4
        WHERE closed_ms IS NULL AND id = (SELECT decision FROM plans WHERE id = ?1)";
    CLOSE_DECISIONS_OF_PLANS_OF = "
        UPDATE decisions SET closed_ms = ?4, ended = 'dropped', gate = ?3, why = '', revision = ?5
        WHERE closed_ms IS NULL
            AND id IN (SELECT decision FROM plans WHERE workspace = ?1 AND asker = ?2)";
    /// The words of a post that is not being sent.
    DROP_DRAFTS_OF_PLAN = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'draft' AND decision = (SELECT decision FROM plans WHERE id = ?1)";
    DROP_DRAFTS_OF_PLANS_OF = "
        UPDATE outbox SET state = 'dropped', text = '', notes = json_set(notes, '$.why', '')
        WHERE state = 'draft'
            AND decision IN (SELECT decision FROM plans WHERE workspace = ?1 AND asker = ?2)";
    DROP_PLAN = "DELETE FROM plans WHERE id = ?1";
    /// What an earlier draft of an answer to this message planned.
    DROP_PROMISES_OF_MESSAGE = "
        DELETE FROM plans
        WHERE workspace = ?1 AND channel = ?2 AND message = ?3 AND kind = 'promise' AND decision IS NULL";
    DROP_PLANS_OF = "DELETE FROM plans WHERE workspace = ?1 AND asker = ?2";
    /// What is to be said was deleted with the message that asked for it.
    ERASE_PLANS_OF_MESSAGE = "UPDATE plans SET what = '' WHERE workspace = ?1 AND channel = ?2 AND message = ?3";
    RELEASE_PLANS = "
        UPDATE plans SET token = NULL, lease_until_ms = NULL, ready_ms = due_ms WHERE token IS NOT NULL";
    OUTBOX_ITEM = "
        SELECT id, draft, workspace, channel, thread, key, text, notes, reaction_on, dispatched_ms
        FROM outbox WHERE id = ?1";
}
