//! SQL statements on the tables of myao2.

/// The transaction ends with the connection.
pub const BEGIN: &str = "BEGIN";
pub const HAS_TABLE: &str =
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = ?1";
pub const CHANNELS: &str = "
    SELECT channel_id AS channel, coalesce(name, '') AS name FROM channels ORDER BY channel_id";
pub const USERS: &str = "
    SELECT user_id AS user, coalesce(name, '') AS name, CAST(is_bot AS INTEGER) AS is_bot
    FROM users ORDER BY user_id";
pub const MESSAGES: &str = "
    SELECT message_id AS id, channel_id AS channel, user_id AS user, coalesce(user_name, '') AS name,
        CAST(user_is_bot AS INTEGER) AS is_bot, coalesce(text, '') AS text,
        CAST(timestamp AS TEXT) AS at, thread_ts AS thread, CAST(mentions AS TEXT) AS mentions
    FROM messages ORDER BY timestamp, messages.id";
/// The messages in the same order, without their texts.
pub const MESSAGE_HEADS: &str = "
    SELECT message_id AS id, channel_id AS channel, user_id AS user, coalesce(user_name, '') AS name,
        CAST(user_is_bot AS INTEGER) AS is_bot, CAST(timestamp AS TEXT) AS at
    FROM messages ORDER BY timestamp, messages.id";
pub const MEMORIES: &str = "
    SELECT scope, scope_id AS place, memory_type AS term, content, CAST(updated_at AS TEXT) AS updated,
        CAST(source_latest_message_ts AS TEXT) AS latest
    FROM memories ORDER BY scope, scope_id, memory_type";
pub const MEMOS: &str = "
    SELECT name, content, CAST(priority AS INTEGER) AS priority, CAST(tags AS TEXT) AS tags, detail,
        CAST(created_at AS TEXT) AS created, CAST(updated_at AS TEXT) AS updated
    FROM memos ORDER BY created_at, id";
pub const COUNT_JUDGMENTS: &str = "SELECT count(*) AS n FROM judgment_caches";
