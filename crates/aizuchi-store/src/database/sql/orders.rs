//! The statements on what users order: mutes, modes, opt-outs, marks, standing orders, and the journal of all orders.

statements! {
    // Orders.

    MUTE = "
        INSERT INTO mutes (workspace, channel, until_ms, role) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, channel, role) DO UPDATE SET until_ms = excluded.until_ms";
    /// ?3 is the role of the user who orders it.
    UNMUTE = "DELETE FROM mutes WHERE workspace = ?1 AND channel = ?2 AND (role = ?3 OR ?3 = 'admin')";
    PUT_MODE = "
        INSERT INTO modes (workspace, channel, mode) VALUES (?1, ?2, ?3)
        ON CONFLICT (workspace, channel) DO UPDATE SET mode = excluded.mode";
    /// ?4 is the role of the user who orders it, and ?5 the setting; null means all of them.
    DROP_SETTINGS = "
        DELETE FROM room_settings
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND (role = ?4 OR ?4 = 'admin')
            AND (CAST(?5 AS TEXT) IS NULL OR setting = CAST(?5 AS TEXT))";
    PUT_SETTING = "
        INSERT INTO room_settings
            (workspace, channel, thread, setting, role, value, ordered_by, ordered_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    SETTINGS = "
        SELECT channel, thread, setting, role, value, ordered_by, ordered_ms FROM room_settings
        WHERE workspace = ?1";
    ALL_SETTINGS = "
        SELECT workspace, channel, thread, setting, role, value, ordered_by, ordered_ms
        FROM room_settings";
    DROP_ALL_SETTINGS = "DELETE FROM room_settings";
    ORDERED_MODE = "SELECT mode FROM modes WHERE workspace = ?1 AND channel = ?2";
    DROP_MODE = "DELETE FROM modes WHERE workspace = ?1 AND channel = ?2";
    NOTE_PRIVATE_READ = "
        INSERT INTO private_reads (workspace, channel, reader, what, hour_ms, last_ms, reads)
        VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BIGINT) - CAST(?5 AS BIGINT) % 3600000, ?5, 1)
        ON CONFLICT (workspace, channel, reader, what, hour_ms) DO UPDATE
        SET last_ms = excluded.last_ms, reads = private_reads.reads
            + CASE WHEN excluded.last_ms - private_reads.last_ms >= CAST(?6 AS BIGINT) THEN 1 ELSE 0 END";
    DROP_PRIVATE_READS = "DELETE FROM private_reads WHERE last_ms < ?1";
    IS_CLOSED = "SELECT id FROM decisions WHERE workspace = ?1 AND id = ?2 AND closed_ms IS NOT NULL";
    PUT_MARK = "
        INSERT INTO decision_marks (workspace, decision, mark, marked_by, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (decision) DO UPDATE
        SET mark = excluded.mark, marked_by = excluded.marked_by, at_ms = excluded.at_ms";
    DROP_MARK = "DELETE FROM decision_marks WHERE workspace = ?1 AND decision = ?2";
    /// The journal has its own numbers, so that its entries do not shift those of decisions.
    PUT_GIVEN_ORDER = "
        INSERT INTO given_orders
            (id, workspace, at_ms, given_by, kind, channel, user_id, until_ms, value, decision)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM given_orders), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    HAS_GIVEN_ORDER = "
        SELECT id FROM given_orders WHERE workspace = ?1 AND given_by = ?2 AND kind = ?3 LIMIT 1";
    DROP_GIVEN_ORDERS = "DELETE FROM given_orders WHERE at_ms < ?1";
    PUT_STANDING_ORDER = "
        INSERT INTO standing_orders
            (id, workspace, number, version, channel, thread, text, given_by, given_ms, visibility, is_draft)
        VALUES ((SELECT coalesce(max(id), 0) + 1 FROM standing_orders), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    HAS_STANDING_ORDER = "SELECT id FROM standing_orders WHERE workspace = ?1 AND given_by = ?2 LIMIT 1";
    COUNT_STANDING_ORDERS = "
        SELECT count(*) AS n FROM standing_orders
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended_ms IS NULL AND is_draft = 0";
    COUNT_STANDING_ORDER_DRAFTS = "
        SELECT count(*) AS n FROM standing_orders
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND ended_ms IS NULL AND is_draft = 1";
    NEXT_STANDING_ORDER = "
        INSERT INTO standing_order_numbers (workspace, number) VALUES (?1, 1)
        ON CONFLICT (workspace) DO UPDATE SET number = standing_order_numbers.number + 1
        RETURNING number";
    STANDING_ORDER_NUMBERS = "SELECT workspace, number FROM standing_order_numbers";
    RAISE_STANDING_ORDER_NUMBER = "
        INSERT INTO standing_order_numbers (workspace, number) VALUES (?1, ?2)
        ON CONFLICT (workspace) DO UPDATE SET number = excluded.number
        WHERE standing_order_numbers.number < excluded.number";
    HAS_STANDING_ORDER_VERSION = "
        SELECT id FROM standing_orders WHERE workspace = ?1 AND number = ?2 AND version >= ?3 LIMIT 1";
    /// The orders in force of all workspaces.
    ALL_STANDING_ORDERS = "
        SELECT workspace, number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE ended_ms IS NULL AND is_draft = 0
        ORDER BY workspace, number";
    STANDING_ORDER = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 0";
    STANDING_ORDER_DRAFT = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 1";
    KEEP_STANDING_ORDER_DRAFT = "
        UPDATE standing_orders SET is_draft = 0, given_ms = ?3
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 1";
    DROP_STANDING_ORDER_DRAFT = "DELETE FROM standing_orders WHERE workspace = ?1 AND number = ?2 AND is_draft = 1";
    DROP_ALL_STANDING_ORDER_DRAFTS = "DELETE FROM standing_orders WHERE is_draft = 1";
    DROP_STANDING_ORDER_DRAFTS_OF = "
        DELETE FROM standing_orders
        WHERE workspace = ?1 AND is_draft = 1
            AND substr(given_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    DROP_LAPSED_STANDING_ORDER_DRAFTS = "DELETE FROM standing_orders WHERE is_draft = 1 AND given_ms < ?1";
    END_STANDING_ORDER = "
        UPDATE standing_orders SET ended_ms = ?3
        WHERE workspace = ?1 AND number = ?2 AND ended_ms IS NULL AND is_draft = 0";
    /// Withdraws all versions. The rows are kept until the prompts that held them are erased.
    WITHDRAW_STANDING_ORDERS_OF = "
        UPDATE standing_orders SET text = '', ended_ms = coalesce(ended_ms, ?3)
        WHERE workspace = ?1 AND substr(given_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
    HAS_WITHDRAWN_STANDING_ORDERS = "
        SELECT 1 AS n FROM standing_orders INDEXED BY standing_orders_withdrawn WHERE text = '' LIMIT 1";
    /// Some of the prompts that held a withdrawn order.
    PROMPTS_OF_WITHDRAWN_STANDING_ORDERS = "
        SELECT e.attempt FROM standing_orders AS s INDEXED BY standing_orders_withdrawn
        CROSS JOIN exchange_orders AS e
            ON e.workspace = s.workspace AND e.number = s.number AND e.version = s.version
        WHERE s.text = '' LIMIT +?1";
    DROP_WITHDRAWN_STANDING_ORDERS = "DELETE FROM standing_orders WHERE text = ''";
    /// The number of orders among ?2, each a number and a version, whose text is still stored.
    COUNT_STANDING_ORDERS_AMONG = "
        SELECT count(*) AS n FROM json_each(?2) AS j
        CROSS JOIN standing_orders AS s ON s.workspace = ?1 AND s.number = CAST(j.value ->> 0 AS BIGINT)
            AND s.version = CAST(j.value ->> 1 AS BIGINT)
        WHERE s.text <> ''";
    /// The rows of withdrawn orders are kept, since they lead to the prompts that held them.
    DROP_OLD_STANDING_ORDERS = "DELETE FROM standing_orders WHERE ended_ms < ?1 AND text <> ''";
    OPT_OUT = "INSERT INTO opted_out (workspace, \"user\") VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    DROP_ALL_MUTES = "DELETE FROM mutes";
    DROP_ALL_MODES = "DELETE FROM modes";
    ALL_MUTES = "SELECT workspace, channel, until_ms, role FROM mutes";
    ALL_MODES = "SELECT workspace, channel, mode FROM modes";
    OPTED_OUT = "SELECT workspace, \"user\" FROM opted_out";
    OPT_IN = "DELETE FROM opted_out WHERE workspace = ?1 AND \"user\" = ?2";
    /// ?3 is how `mentions` names the author of quoted words.
    CLAIM_CARRIERS = "
        UPDATE messages INDEXED BY messages_quoting SET author = ?2
        WHERE workspace = ?1 AND instr(mentions, '\"quote\"') > 0 AND instr(mentions, ?3) > 0";
    CLOSE_OWED_OF_USER = "
        UPDATE owed SET closed_ms = ?3 WHERE workspace = ?1 AND asker = ?2 AND closed_ms IS NULL";
    // ?1 to ?3 are the conversation, and ?4 is the end.

    // A reset that is carried out late does not undo a part of a newer one.
    PUT_RESET = "
        INSERT INTO resets (workspace, channel, thread, until_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (workspace, channel, thread) DO UPDATE SET until_ms = excluded.until_ms
        WHERE resets.until_ms < excluded.until_ms";
    ALL_RESETS = "SELECT workspace, channel, thread, until_ms FROM resets";
    RESETS = "
        SELECT workspace, channel, thread, until_ms FROM resets WHERE workspace = ?1
        ORDER BY channel, thread";
    /// Commands are still answered.
    CLOSE_OWED_IN = "
        UPDATE owed SET closed_ms = ?5
        WHERE workspace = ?1 AND channel = ?2 AND thread = ?3 AND at_ms <= ?4 AND closed_ms IS NULL
            AND NOT EXISTS (SELECT 1 FROM messages AS m
                WHERE m.workspace = ?1 AND m.channel = ?2 AND m.id = owed.message AND m.gate = 'command')";
    ORDERS = "
        SELECT 'mute' AS kind, channel AS whom, until_ms, role, NULL AS mode FROM mutes WHERE workspace = ?1
        UNION ALL SELECT 'mode', channel, NULL, NULL, mode FROM modes WHERE workspace = ?1
        UNION ALL SELECT 'opted_out', \"user\", NULL, NULL, NULL FROM opted_out WHERE workspace = ?1
        UNION ALL SELECT 'forgetting', user_id, asked_ms, NULL, NULL FROM forgettings WHERE workspace = ?1
        ORDER BY kind, whom, role";
    /// The workspaces that are muted as a whole after ?1.
    MUTED_WORKSPACES = "SELECT DISTINCT workspace FROM mutes WHERE channel = '' AND until_ms > ?1 ORDER BY workspace";
    /// The newest reads before ?1 of the workspace ?2; null means all workspaces.
    PRIVATE_READS = "
        SELECT workspace, channel, reader, what, last_ms, reads FROM private_reads
        WHERE last_ms < ?1 AND (CAST(?2 AS TEXT) IS NULL OR workspace = CAST(?2 AS TEXT))
        ORDER BY last_ms DESC, workspace, channel, reader, what
        LIMIT +?3";
    /// The newest orders before ?1 of the workspace ?2; null means all workspaces.
    GIVEN_ORDERS = "
        SELECT id, workspace, at_ms, given_by, kind, channel, user_id, until_ms, value, decision
        FROM given_orders
        WHERE id < ?1 AND (CAST(?2 AS TEXT) IS NULL OR workspace = CAST(?2 AS TEXT))
            AND (CAST(?4 AS TEXT) IS NULL OR kind = CAST(?4 AS TEXT))
        ORDER BY id DESC
        LIMIT +?3";
    /// Excludes orders that were given in private for a channel that is public now.
    STANDING_ORDERS = "
        SELECT s.number, s.version, s.channel, s.thread, s.text, s.given_by, s.given_ms, s.ended_ms, s.visibility,
            s.is_draft
        FROM standing_orders AS s
        LEFT JOIN channels AS c ON c.workspace = s.workspace AND c.id = s.channel
        WHERE s.workspace = ?1 AND s.ended_ms IS NULL AND s.is_draft = 0
            AND (s.visibility = 'public' OR c.visibility IS DISTINCT FROM 'public')
        ORDER BY s.number";
    STANDING_ORDER_DRAFTS = "
        SELECT s.number, s.version, s.channel, s.thread, s.text, s.given_by, s.given_ms, s.ended_ms, s.visibility,
            s.is_draft
        FROM standing_orders AS s
        LEFT JOIN channels AS c ON c.workspace = s.workspace AND c.id = s.channel
        WHERE s.workspace = ?1 AND s.ended_ms IS NULL AND s.is_draft = 1
            AND (s.visibility = 'public' OR c.visibility IS DISTINCT FROM 'public')
        ORDER BY s.number";
    STANDING_ORDER_VERSIONS = "
        SELECT number, version, channel, thread, text, given_by, given_ms, ended_ms, visibility, is_draft
        FROM standing_orders
        WHERE workspace = ?1 AND text <> ''
        ORDER BY number, version";
    /// ?2 is a JSON list of decisions.
    MARKS = "
        SELECT k.decision, k.mark, k.marked_by, k.at_ms FROM json_each(?2) AS j
        CROSS JOIN decision_marks AS k ON k.decision = CAST(j.value AS BIGINT) AND k.workspace = ?1
        ORDER BY k.decision";
    MARKS_SINCE = "
        SELECT decision, mark, marked_by, at_ms FROM decision_marks INDEXED BY decision_marks_by_time
        WHERE workspace = ?1 AND at_ms >= ?2
        ORDER BY at_ms, decision";
    MARK_COUNTS = "SELECT mark, count(*) AS n FROM decision_marks GROUP BY mark ORDER BY mark";
}
