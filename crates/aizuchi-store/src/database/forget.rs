//! Forgets a user: their messages, the memories of them, the prompts and answers about them, and what the persona said
//! to them. The order is one small transaction. A [`ForgettingJob`] then hides the user's messages and erases
//! everything in many small steps, so that hearing is not blocked, and resumes after a crash.

pub mod position;
pub mod write;
mod page;
mod references;
mod lineage_pages;
mod text_pages;
mod trace_pages;
pub mod job;
pub mod scrub;
pub mod user_hash;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aizuchi_model::chat::{ChannelId, MessageId, User, UserId, WorkspaceId};
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;
use serde_json::json;

use crate::database::connection::{Connection, Row, query};
use crate::database::forget::position::{ForgetPhase, ForgetPosition};
use crate::database::sql::forget as sql;
use crate::database::{Counters, order_journal, plans, rows, sql as flow_sql, standing_orders};
use crate::order_journal::{OrderKind, OrderRecord};
use crate::people::{ForgetReport, RunningForgetting};
use crate::{FORGETTING_INTERVAL, FORGOTTEN_USER_ID, StoreError};

/// How many messages are hidden in the transaction of the order.
const HIDDEN_AT_ONCE: i64 = 50;

/// Who requested that a user is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgetOrderer<'a> {
    /// The user, who remains a member: the name is kept, and requests are limited to one per hour.
    User { asked: Timestamp },
    /// Their name in the journal of orders.
    Operator(&'a str),
}

/// A user who is being forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgetting {
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// Messages heard up to this revision are forgotten.
    pub until: i64,
    pub position: ForgetPosition,
}

impl Forgetting {
    /// The first forgetting that is not done.
    pub async fn next(connection: &mut Connection) -> Result<Option<Self>, StoreError> {
        let row = query(sql::NEXT_FORGETTING).fetch_optional(connection).await?;
        row.as_ref().map(Self::from_row).transpose()
    }

    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
            user: UserId::new(rows::column::<String>(row, "user_id")?),
            until: rows::column(row, "until")?,
            position: rows::parse_json(&rows::column::<String>(row, "position")?)?,
        })
    }
}

/// The users who are being forgotten.
pub async fn running(connection: &mut Connection) -> Result<Vec<RunningForgetting>, StoreError> {
    let rows = query(sql::RUNNING_FORGETTINGS).fetch_all(connection).await?;
    let read = |row: &Row| {
        let Forgetting { workspace, user, position, .. } = Forgetting::from_row(row)?;
        let begun = rows::to_timestamp(rows::column(row, "begun_ms")?)?;
        let (done, phases) = position.phase.progress();
        Ok(RunningForgetting { workspace, user, begun, done, phases, report: report(row)? })
    };
    rows.iter().map(read).collect()
}

fn report(row: &Row) -> Result<ForgetReport, StoreError> {
    let count = |column: &str| rows::column::<i64>(row, column).map(|count| count as usize);
    Ok(ForgetReport {
        messages: count("messages")?,
        own_messages: count("own_messages")?,
        memos: count("memos")?,
        memories: count("memories")?,
    })
}

/// All users with this id or name.
pub async fn find_users(
    connection: &mut Connection,
    id_or_name: &str,
) -> Result<Vec<User>, StoreError> {
    let found = query(sql::FIND_USERS).bind(id_or_name).fetch_all(connection).await?;
    found.iter().map(rows::user_from_row).collect()
}

/// When the listed users were last forgotten, for those who were.
pub async fn forgotten_at(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    users: &BTreeSet<UserId>,
) -> Result<HashMap<UserId, Timestamp>, StoreError> {
    let noted = query(sql::FORGOTTEN_USERS).fetch_all(connection).await?;
    let mut salts: BTreeMap<String, HashMap<String, Timestamp>> = BTreeMap::new();
    for row in &noted {
        if rows::column::<String>(row, "workspace")? == workspace.as_str() {
            let at = rows::to_timestamp(rows::column(row, "at_ms")?)?;
            let of_salt = salts.entry(rows::column(row, "salt")?).or_default();
            of_salt.insert(rows::column(row, "user_hash")?, at);
        }
    }
    let last = |user: &UserId| {
        let times = salts.iter().filter_map(|(salt, times)| {
            times.get(&user_hash::hash_user(salt, workspace.as_str(), user.as_str()))
        });
        times.max().copied()
    };
    Ok(users.iter().filter_map(|user| Some((user.clone(), last(user)?))).collect())
}

/// Begins to forget a user: records the forgetting, closes what is owed to them, and hides their newest messages. The
/// first phase of the job hides the others.
pub async fn begin(
    connection: &mut Connection,
    counters: &mut Counters,
    (of_workspace, forgotten): (&WorkspaceId, &UserId),
    by: ForgetOrderer<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (workspace, user) = (of_workspace.as_str(), forgotten.as_str());
    // A forgotten user has no name.
    let (asked, keeps_name, signature) = match by {
        ForgetOrderer::User { asked } => (asked, true, FORGOTTEN_USER_ID),
        ForgetOrderer::Operator(name) => (now, false, name),
    };
    let since = now - FORGETTING_INTERVAL;
    if keeps_name && was_forgotten_since(connection, (workspace, user), since).await? {
        return Ok(());
    }
    claim_carriers(connection, of_workspace, forgotten).await?;
    // What is heard from now on is not forgotten, since the user may remain a member.
    let until = counters.revision as i64;
    counters.revision += 1;
    let old = query(sql::DROP_OLD_FORGETTINGS).bind(since.as_millisecond());
    old.execute(&mut *connection).await?;
    let salt = user_hash::salt(connection).await?;
    let hash = user_hash::hash_user(&salt, workspace, user);
    let note = query(sql::PUT_FORGOTTEN_USER).bind(workspace).bind(hash).bind(salt);
    note.bind(now.as_millisecond()).execute(&mut *connection).await?;
    let position = ForgetPosition { after: until, ..ForgetPosition::start_of(ForgetPhase::Hide) };
    let put = query(sql::PUT_FORGETTING)
        .bind(workspace)
        .bind(user)
        .bind(asked.as_millisecond())
        .bind(now.as_millisecond())
        .bind(until)
        .bind(i64::from(keeps_name))
        .bind(json!(position).to_string());
    put.execute(&mut *connection).await?;
    let owed = query(sql::CLOSE_OWED_TO_USER).bind(workspace).bind(user);
    owed.bind(now.as_millisecond()).bind(until).execute(&mut *connection).await?;
    replace_user(connection, workspace, user).await?;
    standing_orders::withdraw_all_of(connection, of_workspace, forgotten, now).await?;
    plans::drop_all_of(connection, counters, of_workspace, forgotten, now).await?;
    let record = OrderRecord::new(OrderKind::Forget);
    order_journal::put(connection, of_workspace, &record, signature, now).await?;
    let newest = query(sql::MESSAGES_BEFORE).bind(workspace).bind(user).bind(until);
    let newest = newest.bind(HIDDEN_AT_ONCE).fetch_all(&mut *connection).await?;
    let newest = newest.iter().map(message_ref).collect::<Result<Vec<_>, _>>()?;
    write::hide_messages(connection, counters, of_workspace, &newest, now).await
}

/// Replaces the user in the records of what was ordered and decided.
async fn replace_user(
    connection: &mut Connection,
    workspace: &str,
    user: &str,
) -> Result<(), StoreError> {
    let replacing = [
        sql::REPLACE_CHANGER,
        sql::REPLACE_GIVER,
        sql::REPLACE_SETTER,
        sql::REPLACE_DECIDER,
        flow_sql::consents::REPLACE_CONSENT_DECIDER,
        flow_sql::trust::REPLACE_TRUSTER,
        sql::REPLACE_MARKER,
        sql::REPLACE_CONCERNED,
    ];
    for statement in replacing {
        let replace = query(statement).bind(workspace).bind(user).bind(FORGOTTEN_USER_ID);
        replace.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Makes the messages that carry a user's words the user's own, so that they are withheld or forgotten with the others.
pub async fn claim_carriers(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    user: &UserId,
) -> Result<(), StoreError> {
    let quoted = format!("\"author\":{}", json!(user));
    let claim = query(flow_sql::orders::CLAIM_CARRIERS).bind(workspace.as_str());
    claim.bind(user.as_str()).bind(quoted).execute(connection).await.map(|_| ())
}

async fn was_forgotten_since(
    connection: &mut Connection,
    (workspace, user): (&str, &str),
    since: Timestamp,
) -> Result<bool, StoreError> {
    let begun = query(sql::FORGETTING_BEGUN_AT).bind(workspace);
    let begun = begun.bind(user).fetch_optional(connection).await?;
    let begun = begun.map(|row| rows::column::<i64>(&row, "begun_ms")).transpose()?;
    Ok(begun.is_some_and(|begun| begun > since.as_millisecond()))
}

/// Rewrites the whole database, which blocks everything else. A file shrinks, and a server's files no longer contain
/// deleted data either.
pub async fn rewrite(connection: &mut Connection) -> Result<(), StoreError> {
    without_time_limit(connection, sql::VACUUM).await
}

/// Vacuums a server's tables. Its files contain the deleted data until the space is reused.
pub async fn vacuum_dead_rows(connection: &mut Connection) -> Result<(), StoreError> {
    without_time_limit(connection, sql::VACUUM_DEAD_ROWS).await
}

async fn without_time_limit(
    connection: &mut Connection,
    statement: &'static str,
) -> Result<(), StoreError> {
    query(sql::UNLIMIT_TIME).execute(&mut *connection).await?;
    let done = query(statement).execute(&mut *connection).await;
    // Even after a failure: the session is used for further writes.
    query(sql::LIMIT_TIME).execute(&mut *connection).await?;
    done.map(|_| ())
}

/// Truncates the write-ahead log of a file, which contains recently deleted data. Returns whether it succeeded; it
/// cannot while a reader uses an older snapshot.
pub async fn truncate_log(connection: &mut Connection) -> Result<bool, StoreError> {
    if connection.is_postgres() {
        return Ok(true);
    }
    // Without a timeout: waiting for a reader would block all writes, and the truncation is retried anyway.
    query(flow_sql::SET_NO_BUSY_TIMEOUT).execute(&mut *connection).await?;
    let truncated = query(flow_sql::TRUNCATE_WAL).fetch_one(&mut *connection).await;
    query(flow_sql::SET_BUSY_TIMEOUT).execute(&mut *connection).await?;
    Ok(rows::column::<i64>(&truncated?, "busy")? == 0)
}

/// Records that nothing of forgotten users is left. If the process dies before this, the scrub is repeated.
pub async fn clear_scrub_due(connection: &mut Connection) -> Result<(), StoreError> {
    query(sql::CLEAR_SCRUB_DUE).execute(connection).await?;
    Ok(())
}

/// Since when text of forgotten users remains only in the index and the log. Versions that did not record the time
/// stored 1.
pub async fn scrub_due_since(connection: &mut Connection) -> Result<Option<Timestamp>, StoreError> {
    let due = query(sql::SCRUB_DUE_SINCE).fetch_one(connection).await?;
    rows::column::<Option<i64>>(&due, "due")?.map(rows::to_timestamp).transpose()
}

fn message_ref(row: &Row) -> Result<MessageRef, StoreError> {
    let channel: String = rows::column(row, "channel")?;
    let id: String = rows::column(row, "id")?;
    Ok(MessageRef(ChannelId::new(channel), MessageId::new(id)))
}
