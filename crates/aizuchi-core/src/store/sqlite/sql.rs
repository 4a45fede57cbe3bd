//! Statements on tables that are not ours.

/// How many of these columns exist: only myao2 has all three in a table of this name.
pub const MYAO2_MARKS: &str = "
    SELECT count(*) AS n FROM pragma_table_info('messages')
    WHERE name IN ('message_id', 'user_is_bot', 'thread_ts')";
