//! The rows of an invented history, written in large sets.

use aizuchi_store::StoreError;
use aizuchi_store::database::connection::{Connection, query};
use serde_json::{Value, json};

/// How many rows are written at once.
const MANY: usize = 4000;

/// Declares tables, and how a JSON list becomes a row of each. A column that ends with `#` is a number.
macro_rules! tables {
    ($($name:ident $table:literal ($columns:literal) $values:literal;)*) => {
        /// Rows that are not written yet.
        #[derive(Default)]
        pub struct Rows {
            $(pub $name: Vec<Value>,)*
        }

        impl Rows {
            /// Writes all rows.
            pub async fn put(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
                $(for rows in std::mem::take(&mut self.$name).chunks(MANY) {
                    let statement = concat!(
                        "INSERT INTO ", $table, " (", $columns, ") SELECT ", $values, " FROM json_each($1) WHERE true
                        ON CONFLICT DO NOTHING"
                    );
                    let list = Value::from(rows).to_string();
                    query(statement).bind(list).execute(connection).await?;
                })*
                Ok(())
            }
        }
    };
}

tables! {
    channels "channels" ("workspace, id, name, visibility")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3";
    users "users" ("workspace, id, name, kind, role")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4";
    messages "messages"
        ("workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, decision, heard, revision")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), value ->> 5, value ->> 6,
        value ->> 7, '[]', value ->> 8, CAST(value ->> 9 AS BIGINT), CAST(value ->> 10 AS BIGINT), CAST(value ->> 10 AS BIGINT)";
    reactions "reactions" ("workspace, channel, message, emoji, user_id, kind, at_ms")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 'human', CAST(value ->> 5 AS BIGINT)";
    decisions "decisions"
        ("id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, gate, judgment, ended, why, mode, revision")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT),
        CAST(value ->> 6 AS BIGINT), value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, CAST(value ->> 12 AS BIGINT)";
    outbox "outbox"
        ("id, draft, workspace, channel, thread, decision, key, text, notes, state, dispatched_ms, message, reaction_on, is_unasked")
        "CAST(value ->> 0 AS BIGINT), CAST(value ->> 1 AS BIGINT), value ->> 2, value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT),
        'seeded-' || (value ->> 0), value ->> 6,
        '{\"owed\":[],\"about\":null,\"considered\":0,\"ends\":\"spoke\",\"why\":\"\"}', value ->> 7, CAST(value ->> 8 AS BIGINT), value ->> 9, value ->> 10,
        CAST(value ->> 11 AS BIGINT)";
    attempts "attempts"
        ("decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens, output_tokens, latency_ms,
        result, judgment, error, price_micros, chore, workspace, channel")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3, '0123456789abcdef', 9000,
        CAST(value ->> 4 AS BIGINT), 600, CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT), value ->> 7, value ->> 8,
        value ->> 9, CAST(value ->> 10 AS BIGINT), value ->> 11, value ->> 12, value ->> 13";
    dead_letters "dead_letters" ("id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text")
        "CAST(value ->> 0 AS BIGINT), CAST(value ->> 1 AS BIGINT), value ->> 2, value ->> 3, value ->> 4, value ->> 5,
        CAST(value ->> 6 AS BIGINT), 5, value ->> 7, value ->> 8";
    memories "memories"
        ("id, workspace, scope, channel, thread, term, is_current, made_ms, newest_ms, entries, lost, text, public_text")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3, '', value ->> 4, 1, CAST(value ->> 5 AS BIGINT),
        CAST(value ->> 5 AS BIGINT), value ->> 6, '[]', value ->> 7, value ->> 8";
    memory_sources "memory_sources" ("workspace, channel, line, scope, of_channel, of_thread, term")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, '', value ->> 5";
    memos "memos" ("id, workspace, realm, name, channel, priority, updated_ms, touched, memo")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3, value ->> 4, 3, CAST(value ->> 5 AS BIGINT), 1,
        value ->> 6";
    proposals "proposals"
        ("id, workspace, channel, thread, decision, confidence, made_ms, expires_ms, state, decided_by, decided_ms")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, '', CAST(value ->> 3 AS BIGINT), 0.72,
        CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), value ->> 6, value ->> 7, CAST(value ->> 8 AS BIGINT)";
    consents "consents"
        ("id, workspace, channel, thread, messages, is_addressed, decision, draft, tool, arguments, lineage, seen, made_ms,
        expires_ms, state, revision")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, '', '[]', 1, CAST(value ->> 3 AS BIGINT), CAST(value ->> 4 AS BIGINT),
        value ->> 5, value ->> 6, value ->> 7, CAST(value ->> 8 AS BIGINT), CAST(value ->> 9 AS BIGINT),
        CAST(value ->> 10 AS BIGINT), 'open', CAST(value ->> 8 AS BIGINT)";
    mutes "mutes" ("workspace, channel, role, until_ms")
        "value ->> 0, value ->> 1, 'admin', CAST(value ->> 2 AS BIGINT)";
    modes "modes" ("workspace, channel, mode") "value ->> 0, value ->> 1, value ->> 2";
    settings "room_settings" ("workspace, channel, thread, setting, role, value, ordered_by, ordered_ms")
        "value ->> 0, value ->> 1, '', value ->> 2, 'admin', value ->> 3, value ->> 4, CAST(value ->> 5 AS BIGINT)";
    orders "given_orders" ("id, workspace, at_ms, given_by, kind, channel, user_id, until_ms, value")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3, value ->> 4, value ->> 5,
        value ->> 6, CAST(value ->> 7 AS BIGINT), value ->> 8";
    standing "standing_orders"
        ("id, workspace, number, version, channel, thread, text, visibility, given_by, given_ms")
        "CAST(value ->> 0 AS BIGINT), value ->> 1, CAST(value ->> 0 AS BIGINT), 1, value ->> 2, '', value ->> 3, value ->> 4,
        value ->> 5, CAST(value ->> 6 AS BIGINT)";
    standing_numbers "standing_order_numbers" ("workspace, number")
        "value ->> 0, CAST(value ->> 1 AS BIGINT)";
    opted_out "opted_out" ("workspace, \"user\"") "value ->> 0, value ->> 1";
    reads "private_reads" ("workspace, channel, reader, what, hour_ms, last_ms, reads")
        "value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT), CAST(value ->> 4 AS BIGINT), 2";
}

impl Rows {
    pub async fn put_if_many(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        match self.messages.len() < MANY {
            true => Ok(()),
            false => self.put(connection).await,
        }
    }
}

/// Sums what the calls cost, as the store does when it books them.
pub const SUMS: [&str; 2] = [
    "INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros, unasked_tokens, unpriced_tokens)
    SELECT a.workspace, CASE c.is_all WHEN 1 THEN '' ELSE a.channel END, s.span, a.at_ms - a.at_ms % s.length_ms,
        CAST(sum(a.input_tokens + a.output_tokens) AS BIGINT), CAST(sum(coalesce(a.price_micros, 0)) AS BIGINT), 0,
        CAST(sum(CASE WHEN a.price_micros IS NULL THEN a.input_tokens + a.output_tokens ELSE 0 END) AS BIGINT)
    FROM attempts AS a, (SELECT 0 AS is_all UNION ALL SELECT 1) AS c,
        (SELECT 'hour' AS span, 3600000 AS length_ms UNION ALL SELECT 'day', 86400000) AS s
    WHERE c.is_all = 1 OR a.channel <> ''
    GROUP BY 1, 2, 3, 4",
    "UPDATE messages SET reacted = revision WHERE author_kind = 'persona'",
];

/// A verdict, as the ledger keeps it.
pub fn judgment(is_yes: bool, reason: &str, confidence: f64) -> Value {
    let judgment = json!({
        "should_respond": is_yes, "reason": reason, "confidence": confidence, "delay_seconds": null, "about": null,
    });
    Value::from(judgment.to_string())
}
