//! The statements on messages, their authors, channels, links and reactions.

macro_rules! messages {
    ($which:expr) => {
        messages!("messages AS m", $which)
    };
    ($from:expr, $which:expr) => {
        concat!(
            "SELECT m.workspace, m.channel, m.id, m.thread, m.at_ms, m.author, m.author_kind,
                CASE WHEN m.deleted_ms IS NULL THEN m.text ELSE '' END AS text,
                m.mentions, m.edits, m.deleted_ms, m.is_expired, m.withheld, m.gate, m.visibility,
                CASE WHEN m.deleted_ms IS NULL THEN m.attachments ELSE '[]' END AS attachments,
                max(m.revision, coalesce(m.reacted, 0)) AS revision, u.name,
                CASE WHEN m.reacted IS NULL THEN '[]' ELSE
                    (SELECT json_group_array(json_array(emoji, user_id, kind, name)) FROM
                        (SELECT r.emoji, r.user_id, r.kind, w.name FROM reactions AS r
                         LEFT JOIN users AS w ON w.workspace = r.workspace AND w.id = r.user_id
                         WHERE r.workspace = m.workspace AND r.message = m.id AND r.channel = m.channel
                            AND r.removed_ms IS NULL
                         ORDER BY r.at_ms, r.emoji, r.user_id) AS part) END AS reactions
            FROM ",
            $from,
            " LEFT JOIN users AS u ON u.workspace = m.workspace AND u.id = m.author ",
            $which
        )
    };
}

statements! {
    /// Users who are known, wrote a message, have opted out, or appear in an order.
    ALL_USER_IDS = "
        SELECT workspace, id FROM users
        UNION SELECT workspace, author FROM messages
        UNION SELECT workspace, \"user\" FROM opted_out
        UNION SELECT workspace, user_id FROM given_orders WHERE user_id <> ''
        ORDER BY 1, 2";
    COUNT_MESSAGES = "SELECT count(*) AS n FROM messages";

    // Hearing. ?1 is a JSON array with one array per row.

    // A message of an unknown channel is private, and one from before a reset of its conversation stays withheld.
    /// Usually there are no early reactions, so the outer EXISTS answers for the whole list.
    PUT_MESSAGES = "
        INSERT INTO messages
            (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility,
             gate, decision, heard, revision, withheld, sent_as, attachments, file_names, reacted)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), value ->> 5,
            value ->> 6, value ->> 7, value ->> 8,
            coalesce((SELECT visibility FROM channels
                      WHERE workspace = value ->> 0 AND id = value ->> 1), 'private'),
            value ->> 9, CAST(value ->> 10 AS BIGINT), CAST(value ->> 11 AS BIGINT),
            CAST(value ->> 11 AS BIGINT),
            CASE WHEN EXISTS (SELECT 1 FROM resets
                WHERE workspace = value ->> 0 AND channel = value ->> 1 AND thread = value ->> 3
                    AND until_ms > CAST(value ->> 4 AS BIGINT)) THEN 1 ELSE CAST(value ->> 12 AS BIGINT) END,
            value ->> 13, value ->> 14, value ->> 15,
            CASE WHEN EXISTS (SELECT 1 FROM reactions INDEXED BY reactions_early WHERE is_early = 1)
                AND EXISTS (SELECT 1 FROM reactions INDEXED BY reactions_early
                WHERE workspace = value ->> 0 AND message = value ->> 2 AND channel = value ->> 1
                    AND is_early = 1) THEN CAST(value ->> 11 AS BIGINT) END
        FROM json_each(?1)
        WHERE true
        ON CONFLICT DO NOTHING";
    SETTLE_OWN_MESSAGE = "
        UPDATE messages SET gate = ?4
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND author_kind = 'persona'";
    PUT_LINKS = "
        INSERT INTO links (workspace, channel, message, version, parent, probability)
        SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4,
            CAST(value ->> 5 AS DOUBLE PRECISION)
        FROM json_each(?1)
        WHERE true
        ON CONFLICT DO NOTHING";
    ATTACHMENTS = "
        SELECT attachments FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND deleted_ms IS NULL AND withheld = 0";
    PUT_ATTACHMENTS = "
        UPDATE messages SET attachments = ?4 WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    UNDELETED_MESSAGE = "
        SELECT workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, attachments, edits, edited_ms,
            CASE WHEN gate IS NOT DISTINCT FROM 'command' THEN 2 ELSE withheld END AS attention
        FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND thread = ?4 AND deleted_ms IS NULL";
    /// The time of an expired message.
    EXPIRED_MESSAGE = "
        SELECT at_ms FROM messages
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3 AND thread = ?4 AND is_expired = 1";
    HAS_HEARD = "
        SELECT 1 FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3
        UNION ALL
        SELECT 1 FROM messages INDEXED BY messages_sent_as
        WHERE workspace = ?1 AND channel = ?2 AND sent_as = ?4";
    // The message moves to another decision only if the edit is owed an answer.
    EDIT_MESSAGE = "
        UPDATE messages
        SET text = ?4, mentions = ?5, edits = edits + 1, revision = ?6, decision = coalesce(?7, decision),
            edited_ms = ?8, attachments = ?9, file_names = ?10
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    // The same client message may still arrive under another id, so `sent_as` is free again.
    DELETE_MESSAGE = "
        UPDATE messages
        SET text = '', mentions = '[]', attachments = '[]', file_names = '', deleted_ms = ?4, revision = ?5, sent_as = NULL
        WHERE workspace = ?1 AND channel = ?2 AND id = ?3";
    // An unchanged channel matches no row, so it raises no revision.
    PUT_CHANNEL = "
        INSERT INTO channels (workspace, id, name, visibility, topic)
        VALUES (?1, ?2, ?3, ?4, coalesce(CAST(?5 AS TEXT), ''))
        ON CONFLICT (workspace, id) DO UPDATE
        SET name = excluded.name, visibility = excluded.visibility, topic = coalesce(CAST(?5 AS TEXT), channels.topic)
        WHERE channels.name <> excluded.name OR channels.visibility <> excluded.visibility
            OR channels.topic <> coalesce(CAST(?5 AS TEXT), channels.topic)";
    /// The index has all that is asked for, and begins with the messages outside threads, which are skipped.
    THREADS_SINCE = "
        SELECT thread, max(at_ms) AS at_ms FROM messages INDEXED BY messages_in_order
        WHERE workspace = ?1 AND channel = ?2 AND at_ms >= ?3 AND thread > ''
        GROUP BY thread ORDER BY 2, 1";
    PUT_USER = "
        INSERT INTO users (workspace, id, name, kind, role, zone) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (workspace, id) DO UPDATE SET name = excluded.name, kind = excluded.kind, role = excluded.role,
            zone = coalesce(excluded.zone, users.zone)
        WHERE users.name <> excluded.name OR users.kind <> excluded.kind OR users.role <> excluded.role
            OR users.zone IS DISTINCT FROM coalesce(excluded.zone, users.zone)";
    // Only for messages that are not deleted, and only if the reaction is newer than the stored one. ?5 is the user, ?6
    // the time. A reaction to an unknown message is early: the message may still arrive.

    ADD_REACTION = "
        INSERT INTO reactions (workspace, channel, message, emoji, user_id, at_ms, kind, is_early)
        SELECT ?1, ?2, ?3, ?4, CAST(?5 AS TEXT), CAST(?6 AS BIGINT), ?7, CASE WHEN EXISTS
            (SELECT 1 FROM messages WHERE workspace = ?1 AND id = ?3 AND channel = ?2) THEN 0 ELSE 1 END
        WHERE NOT EXISTS (SELECT 1 FROM messages
            WHERE workspace = ?1 AND id = ?3 AND channel = ?2 AND deleted_ms IS NOT NULL)
        ON CONFLICT (workspace, message, channel, emoji, user_id) DO UPDATE SET at_ms = excluded.at_ms, kind = excluded.kind, removed_ms = NULL
        WHERE reactions.removed_ms <= excluded.at_ms";
    REMOVE_REACTION = "
        UPDATE reactions SET removed_ms = ?6
        WHERE workspace = ?1 AND message = ?3 AND channel = ?2 AND emoji = ?4 AND user_id = ?5
            AND removed_ms IS NULL AND at_ms <= ?6";
    /// An early reaction this old will never find its message.
    DROP_EARLY_REACTIONS = "
        DELETE FROM reactions
        WHERE is_early = 1 AND at_ms < ?1 AND NOT EXISTS (SELECT 1 FROM messages AS m
            WHERE m.workspace = reactions.workspace AND m.id = reactions.message
                AND m.channel = reactions.channel)";
    /// The messages of the remaining ones have arrived.
    UNMARK_EARLY_REACTIONS = "UPDATE reactions SET is_early = 0 WHERE is_early = 1 AND at_ms < ?1";
    MARK_REACTED = "UPDATE messages SET reacted = ?4 WHERE workspace = ?1 AND id = ?3 AND channel = ?2";
    /// The messages of the decision ?1, and whether they neither arrived nor changed after revision ?2. Commands are not
    /// part of the conversation.
    DECISION_MESSAGES = "
        SELECT id, CASE WHEN heard > ?2 OR revision > ?2 AND author_kind = 'human' AND deleted_ms IS NULL
            THEN 0 ELSE 1 END AS is_seen
        FROM messages WHERE decision = ?1 AND gate IS DISTINCT FROM 'command' ORDER BY at_ms, id";
    /// The times of the newest message of a decision that a draft had considered, and of the newest that it had not.
    NEWEST_SEEN_AND_UNSEEN = "
        SELECT max(at_ms) FILTER (WHERE heard <= ?2) AS seen_ms,
            max(at_ms) FILTER (WHERE heard > ?2 AND at_ms <= ?3) AS unseen_ms
        FROM messages WHERE decision = ?1";
    /// Whether one of the messages ?3, listed as [channel, id], has changed since revision ?2, at which it was read, or
    /// belongs to a channel other than ?4 that has turned private since. Edits by bots do not count.
    CHANGED_SINCE = "
        SELECT EXISTS (SELECT 1 FROM channels INDEXED BY channels_withdrawn
            WHERE workspace = ?1 AND withdrawn > ?2 AND id IS DISTINCT FROM ?4
                AND EXISTS (SELECT 1 FROM json_each(?3) AS j WHERE j.value ->> 0 = channels.id))
        OR EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_by_revision
            WHERE workspace = ?1 AND revision > ?2 AND heard <= ?2
                AND (author_kind = 'human' OR deleted_ms IS NOT NULL OR withheld = 1)
                AND EXISTS (SELECT 1 FROM json_each(?3) AS j
                    WHERE j.value ->> 1 = m.id AND j.value ->> 0 = m.channel)) AS has_changed";
    /// Moves the messages ?3 of the decision ?1 to the decision ?2.
    MOVE_MESSAGES = "
        UPDATE messages SET decision = ?2
        WHERE decision = ?1 AND id IN (SELECT j.value ->> 0 FROM json_each(?3) AS j)";
    PUT_USER_NAME = "
        INSERT INTO user_names (workspace, user_id, name, since_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";

    // Reading.

    /// The messages in ?2, listed as [channel, id], that still exist.
    SOURCE_MESSAGES = "
        SELECT m.workspace, m.channel, m.id, m.thread, m.at_ms, m.author, m.author_kind, m.text, m.mentions,
            m.attachments, m.edits, m.visibility
        FROM json_each(?2) AS j
        CROSS JOIN messages AS m ON m.workspace = ?1 AND m.id = j.value ->> 1 AND m.channel = j.value ->> 0
        WHERE m.deleted_ms IS NULL AND m.withheld = 0
        ORDER BY m.at_ms, m.id";
    CHANNEL = "SELECT workspace, id, name, visibility, topic FROM channels WHERE workspace = ?1 AND id = ?2";
    CHANNELS = "SELECT workspace, id, name, visibility, topic FROM channels WHERE workspace = ?1 ORDER BY id";
    USERS = "SELECT workspace, id, name, kind, role, zone FROM users WHERE workspace = ?1 ORDER BY id";
    /// What the user ?2 wrote in each channel, and how many decisions about it led to a post; from the message on that
    /// was heard ?3 messages before their last one.
    WRITTEN_BY = "
        SELECT m.channel, m.visibility, count(*) AS messages, max(m.at_ms) AS last_ms,
            count(DISTINCT CASE WHEN d.ended = 'spoke' THEN d.id END) AS answers
        FROM messages AS m INDEXED BY messages_by_author
        LEFT JOIN decisions AS d ON d.id = m.decision
        WHERE m.workspace = ?1 AND m.author = ?2 AND m.deleted_ms IS NULL
            AND m.heard >= coalesce((SELECT n.heard FROM messages AS n INDEXED BY messages_by_author
                WHERE n.workspace = ?1 AND n.author = ?2 ORDER BY n.heard DESC LIMIT 1 OFFSET ?3), 0)
        GROUP BY m.channel, m.visibility
        ORDER BY messages DESC, m.channel, m.visibility";
    OLDER_MESSAGE_BY = "
        SELECT heard FROM messages INDEXED BY messages_by_author
        WHERE workspace = ?1 AND author = ?2 ORDER BY heard DESC LIMIT 1 OFFSET ?3";
    /// ?2 is a JSON list of one-element lists with an id each.
    SOME_USERS = "
        SELECT u.workspace, u.id, u.name, u.kind, u.role, u.zone FROM json_each(?2) AS j
        JOIN users AS u ON u.workspace = ?1 AND u.id = j.value ->> 0
        ORDER BY u.id";
    /// The newest of what somebody did before ?3, among the last that were heard of them.
    ACTS = "
        SELECT at_ms FROM
            (SELECT at_ms FROM messages INDEXED BY messages_by_author WHERE workspace = ?1 AND author = ?2
             ORDER BY heard DESC LIMIT 50) AS written
        WHERE at_ms < ?3
        UNION ALL SELECT at_ms FROM
            (SELECT at_ms FROM reactions INDEXED BY reactions_by_user WHERE workspace = ?1 AND user_id = ?2
             ORDER BY at_ms DESC LIMIT 50) AS reacted
        WHERE at_ms < ?3
        ORDER BY at_ms DESC";
    /// Among the last fifty messages of each that were heard, since somebody may have written many.
    LAST_WRITTEN = "
        SELECT m.author, m.visibility, max(m.at_ms) AS last_ms FROM json_each(?2) AS j
        JOIN messages AS m INDEXED BY messages_by_author ON m.workspace = ?1 AND m.author = j.value ->> 0
            AND m.heard >= coalesce((SELECT n.heard FROM messages AS n INDEXED BY messages_by_author
                WHERE n.workspace = ?1 AND n.author = j.value ->> 0 ORDER BY n.heard DESC LIMIT 1 OFFSET 49), 0)
        WHERE m.deleted_ms IS NULL
        GROUP BY m.author, m.visibility";
    // ?1 workspace, ?2 channel, ?3 before this id (null: the end), ?4 limit, ?5 thread. Newest first.
    NEWEST_MESSAGES = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2
            AND (CAST(?3 AS TEXT) IS NULL OR (m.at_ms, m.id) <
                (SELECT at_ms, id FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 before this time, ?4 limit. Newest first.
    MESSAGES_BEFORE_TIME = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.at_ms < ?3
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // The same of the thread ?5.
    MESSAGES_BEFORE_TIME_OF_THREAD = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.thread = ?5 AND m.at_ms < ?3
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 and ?4 before this time and id, ?5 limit, ?6 from this time, ?7 visibility, ?8
    // author. Newest first.
    FILTERED_MESSAGES = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND (m.at_ms, m.id) < (?3, ?4) AND m.at_ms >= ?6
            AND (CAST(?7 AS TEXT) IS NULL OR m.visibility = CAST(?7 AS TEXT))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?5");
    FILTERED_MESSAGES_OF_AUTHOR = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.author = ?8 AND (m.at_ms, m.id) < (?3, ?4) AND m.at_ms >= ?6
            AND (CAST(?7 AS TEXT) IS NULL OR m.visibility = CAST(?7 AS TEXT))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?5");
    NEWEST_MESSAGES_OF_THREAD = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.thread = ?5
            AND (CAST(?3 AS TEXT) IS NULL OR (m.at_ms, m.id) <
                (SELECT at_ms, id FROM messages WHERE workspace = ?1 AND channel = ?2 AND id = ?3))
        ORDER BY m.at_ms DESC, m.id DESC
        LIMIT +?4");
    // ?1 workspace, ?2 channel, ?3 and ?4 after this time and id, ?5 limit, ?6 thread. Oldest first.
    MESSAGES_AFTER = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND (m.at_ms, m.id) > (?3, ?4)
        ORDER BY m.at_ms, m.id
        LIMIT +?5");
    MESSAGES_AFTER_OF_THREAD = messages!("
        WHERE m.workspace = ?1 AND m.channel = ?2 AND m.thread = ?6 AND (m.at_ms, m.id) > (?3, ?4)
        ORDER BY m.at_ms, m.id
        LIMIT +?5");
    /// Messages that changed, and messages whose reactions changed; each once, at its newest change.
    MESSAGES_SINCE = concat!(
        "SELECT * FROM (",
        messages!("
            WHERE m.workspace = ?1 AND m.revision > ?2 AND m.revision > coalesce(m.reacted, 0)
            ORDER BY m.revision
            LIMIT +?3"),
        ") AS part UNION ALL SELECT * FROM (",
        messages!("
            WHERE m.workspace = ?1 AND m.reacted > ?2 AND m.reacted >= m.revision
            ORDER BY m.reacted
            LIMIT +?3"),
        ") AS part ORDER BY revision LIMIT +?3"
    );
    /// ?2 is how `mentions` names the quoted message.
    CARRIERS = messages!("
        WHERE m.rowid IN (SELECT rowid FROM messages INDEXED BY messages_quoting
            WHERE workspace = ?1 AND instr(mentions, '\"quote\"') > 0 AND instr(mentions, ?2) > 0)");
    /// ?2 is a JSON list of lists with a channel and an id each.
    MESSAGES_BY_ID = messages!(
        "json_each(?2) AS j
            CROSS JOIN messages AS m ON m.workspace = ?1 AND m.channel = j.value ->> 0 AND m.id = j.value ->> 1",
        "ORDER BY j.key"
    );
    /// ?3 is a JSON list of messages, and ?4 the version of the models whose links count.
    LINKS_OF_MESSAGES = "
        SELECT l.message, l.version, l.parent, l.probability FROM json_each(?3) AS j
        CROSS JOIN links AS l ON l.workspace = ?1 AND l.channel = ?2 AND l.message = j.atom
        WHERE l.version IN (0, ?4)
        ORDER BY l.message, l.version, l.parent";
}
