//! The statements that erase messages past their retention. Messages are listed as [workspace, channel, id].

/// The rows of the messages ?1.
macro_rules! listed_messages {
    () => {
        "json_each(?1) AS j
        CROSS JOIN messages AS m ON m.workspace = j.value ->> 0 AND m.id = j.value ->> 2 AND m.channel = j.value ->> 1"
    };
}

/// The model calls whose prompts held one of the messages ?1.
macro_rules! listed_prompts {
    () => {
        "json_each(?1) AS j
        CROSS JOIN exchange_lines AS l ON l.workspace = j.value ->> 0 AND l.channel = j.value ->> 1
            AND l.line = j.value ->> 2"
    };
}

/// The decisions that cover one of the messages ?1, or whose prompts held one.
macro_rules! decisions_on_listed {
    () => {
        concat!(
            "SELECT m.decision AS id FROM ",
            listed_messages!(),
            " WHERE m.decision IS NOT NULL
            UNION
            SELECT a.decision FROM ",
            listed_prompts!(),
            "
            CROSS JOIN attempts AS a ON a.id = l.attempt"
        )
    };
}

macro_rules! listed_decisions {
    () => {
        "(SELECT CAST(value AS BIGINT) FROM json_each(?1))"
    };
}

statements! {
    HAS_EXPIRED = "
        SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_unexpired
                WHERE deleted_ms IS NULL AND at_ms < ?1)
            OR EXISTS (SELECT 1 FROM decisions INDEXED BY decisions_unexpired
                WHERE closed_ms IS NOT NULL AND is_expired = 0 AND closed_ms < ?1) AS has_expired";
    COUNT_EXPIRED = "
        SELECT count(*) AS n FROM messages INDEXED BY messages_unexpired
        WHERE deleted_ms IS NULL AND at_ms < ?1";
    /// The oldest messages from before ?1.
    EXPIRED_MESSAGES = concat!("
        SELECT workspace, channel, id, text, ", upload_bytes!(), " AS upload_bytes
        FROM messages INDEXED BY messages_unexpired
        WHERE deleted_ms IS NULL AND at_ms < ?1
        ORDER BY at_ms, workspace, channel, id LIMIT +?2");
    /// The prompts whose text is still stored.
    PROMPTS_OF_EXPIRED = concat!(
        "SELECT DISTINCT e.attempt FROM ", listed_prompts!(), "
        CROSS JOIN exchanges AS e ON e.attempt = l.attempt
        WHERE e.prompt <> ''
        ORDER BY e.attempt LIMIT +?2"
    );
    CLOSED_DECISIONS_ON_EXPIRED = concat!(
        "SELECT d.id FROM (", decisions_on_listed!(), ") AS found
        CROSS JOIN decisions AS d ON d.id = found.id
        WHERE d.closed_ms IS NOT NULL AND d.is_expired = 0
        ORDER BY d.id LIMIT +?2"
    );
    OPEN_DECISIONS_ON_EXPIRED = concat!(
        "SELECT d.id FROM (", decisions_on_listed!(), ") AS found
        CROSS JOIN decisions AS d ON d.id = found.id
        WHERE d.closed_ms IS NULL
        ORDER BY d.id"
    );
    /// The decisions that were closed before ?1.
    EXPIRED_DECISIONS = "
        SELECT id FROM decisions INDEXED BY decisions_unexpired
        WHERE closed_ms IS NOT NULL AND is_expired = 0 AND closed_ms < ?1
        ORDER BY closed_ms, id LIMIT +?2";

    // Writes.

    EMPTY_PROMPTS = "
        UPDATE exchanges SET prompt = '', answer = NULL, packed = NULL, stored_bytes = 0
        WHERE attempt IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))";
    /// Erases reasons; decisions and results are kept. A gate's reason is a fixed text. An open decision may get a new
    /// reason.
    EXPIRE_REASONS = concat!("
        UPDATE decisions SET why = CASE WHEN gate IS NULL THEN NULL ELSE why END,
            judgment = json_set(judgment, '$.reason', ''), revision = ?2,
            is_expired = CASE WHEN closed_ms IS NULL THEN 0 ELSE 1 END
        WHERE id IN ", listed_decisions!()
    );
    EXPIRE_DEAD_LETTERS = concat!("
        UPDATE dead_letters SET text = NULL WHERE text IS NOT NULL AND decision IN ", listed_decisions!()
    );
    EXPIRE_OUTBOX = concat!("
        UPDATE outbox SET text = iif(reaction_on IS NULL OR state = 'dead', '', text), notes = json_set(notes, '$.why', '')
        WHERE decision IN ", listed_decisions!()
    );
    /// Only drafts of which nothing was posted: the claim finds an empty text, and a new draft is made.
    EXPIRE_DRAFTS = concat!("
        UPDATE outbox SET text = iif(reaction_on IS NULL, '', text), notes = json_set(notes, '$.why', '')
        WHERE state = 'draft' AND decision IN ", listed_decisions!(), "
            AND NOT EXISTS (SELECT 1 FROM outbox AS part
                WHERE part.draft = outbox.draft AND part.dispatched_ms IS NOT NULL)"
    );
    CLOSE_EXPIRED_OWED = "
        UPDATE owed SET closed_ms = ?2
        FROM json_each(?1) AS j
        WHERE owed.workspace = j.value ->> 0 AND owed.channel = j.value ->> 1 AND owed.message = j.value ->> 2
            AND owed.closed_ms IS NULL";
    /// ?1 lists [workspace, channel, id, revision]. Each message gets a revision of its own, so that a reader that
    /// pages through revisions misses none. The author is kept, so that a user who is forgotten later is forgotten
    /// here, too.
    EXPIRE_MESSAGES = concat!("
        UPDATE messages SET text = '', mentions = '[]', attachments = '[]', file_names = '', deleted_ms = ?2, is_expired = 1, revision = n.new_revision
        FROM (SELECT DISTINCT m.rowid AS line, CAST(j.value ->> 3 AS BIGINT) AS new_revision
            FROM ", listed_messages!(), "
            WHERE m.deleted_ms IS NULL) AS n
        WHERE messages.rowid = n.line"
    );
    /// Keeps the time of an earlier mark.
    MARK_SCRUB_DUE_ONCE = "
        INSERT INTO scrubs (due) SELECT CAST(?1 AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM scrubs)";
}
