//! The record of a forgotten user, which keeps an older backup or a platform's history from bringing back what they
//! wrote: a slow, salted hash. It reveals who was forgotten only to a brute-force search over all possible ids.

use std::collections::{BTreeMap, HashMap};

use aizuchi_model::chat::{UserId, WorkspaceId};
use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::sql::forget as sql;
use crate::database::{rows, sql as flow_sql};

/// The number of hash rounds. The salt is stored beside the hash, so each guess has to be slow: with that, all ids of a
/// platform are too many to try. A restore hashes each user of the backup.
const ROUNDS: usize = 10_000;
/// The maximum number of hashes that are kept in memory.
const MAX_KEPT: usize = 10_000;

/// Hashes that were computed before: that is slow, and a history names the same users again and again.
#[derive(Default)]
pub struct UserHashes(Mutex<HashMap<(String, WorkspaceId, UserId), String>>);

impl UserHashes {
    /// Returns the stored hash of a user.
    pub fn hash(&self, salt: &str, workspace: &WorkspaceId, user: &UserId) -> String {
        let key = (salt.to_owned(), workspace.clone(), user.clone());
        let known = self.0.lock().get(&key).cloned();
        known.unwrap_or_else(|| {
            let hash = hash_user(salt, workspace.as_str(), user.as_str());
            let mut kept = self.0.lock();
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(key, hash.clone());
            hash
        })
    }
}

/// The stored hash of a user. Versions without a salt stored [`plain_hash`] and no salt.
pub fn hash_user(salt: &str, workspace: &str, user: &str) -> String {
    let plain = plain_hash(workspace, user);
    if salt.is_empty() { plain } else { salted(salt, &plain) }
}

fn plain_hash(workspace: &str, user: &str) -> String {
    let mut hash = Sha256::new();
    for part in [workspace, user] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// Salts a plain hash.
fn salted(salt: &str, plain: &str) -> String {
    let round = |before: &[u8]| Sha256::new().chain_update(salt).chain_update(before).finalize();
    let first = round(plain.as_bytes());
    hex(&(1..ROUNDS).fold(first, |before, _| round(&before)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The salt of this installation: that of the newest hash, or a new one if there is none yet.
pub async fn salt(connection: &mut Connection) -> Result<String, StoreError> {
    let newest = query(sql::NEWEST_SALT).fetch_optional(connection).await?;
    match newest {
        Some(row) => rows::column(&row, "salt"),
        None => Ok(Uuid::now_v7().simple().to_string()),
    }
}

/// Whether a user was forgotten since then: data that was read before may still be in use. The row of a forgetting may
/// be gone by now; the hash is kept.
pub async fn is_forgotten_since(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    user: &UserId,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let noted = query(sql::FORGOTTEN_SINCE).bind(workspace.as_str()).bind(since.as_millisecond());
    let noted = noted.fetch_all(connection).await?;
    is_among(&noted, |salt| hash_user(salt, workspace.as_str(), user.as_str()))
}

/// Whether one of these rows is that of the user whom `hash` hashes with a salt.
pub fn is_among(noted: &[Row], hash: impl Fn(&str) -> String) -> Result<bool, StoreError> {
    // Hashing is slow, and there is seldom more than one salt.
    let mut hashes: BTreeMap<String, String> = BTreeMap::new();
    for row in noted {
        let salt: String = rows::column(row, "salt")?;
        let hash = hashes.entry(salt).or_insert_with_key(|salt| hash(salt));
        if *hash == rows::column::<String>(row, "user_hash")? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records that a user was forgotten at this time in milliseconds, and not later.
pub async fn put_time(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    user: &UserId,
    at_ms: i64,
) -> Result<(), StoreError> {
    let salt = salt(&mut *connection).await?;
    let hash = hash_user(&salt, workspace.as_str(), user.as_str());
    let drop = query(sql::DROP_FORGOTTEN_USER).bind(workspace.as_str()).bind(hash.as_str());
    drop.execute(&mut *connection).await?;
    let put = query(sql::PUT_FORGOTTEN_USER).bind(workspace.as_str()).bind(hash).bind(salt);
    put.bind(at_ms).execute(connection).await.map(|_| ())
}

/// Salts the hashes that an older version stored, or that a restore took from its database.
pub async fn salt_plain_hashes(connection: &mut Connection) -> Result<(), StoreError> {
    let plain = query(sql::PLAIN_HASHES).fetch_all(&mut *connection).await?;
    if plain.is_empty() {
        return Ok(());
    }
    query(flow_sql::BEGIN).execute(&mut *connection).await?;
    let salt = salt(connection).await?;
    for row in &plain {
        replace_plain_hash(connection, row, &salt).await?;
    }
    query(flow_sql::COMMIT).execute(connection).await.map(|_| ())
}

async fn replace_plain_hash(
    connection: &mut Connection,
    row: &Row,
    salt: &str,
) -> Result<(), StoreError> {
    let (workspace, hash): (String, String) =
        (rows::column(row, "workspace")?, rows::column(row, "user_hash")?);
    let at: i64 = rows::column(row, "at_ms")?;
    let drop = query(sql::DROP_FORGOTTEN_USER).bind(workspace.as_str()).bind(hash.as_str());
    drop.execute(&mut *connection).await?;
    let put = query(sql::PUT_FORGOTTEN_USER).bind(workspace.as_str()).bind(salted(salt, &hash));
    put.bind(salt).bind(at).execute(connection).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_the_salt_and_may_get_it_later() {
        let plain = hash_user("", "w", "u-alice");
        let salted_now = hash_user("some salt", "w", "u-alice");
        assert_eq!(salted("some salt", &plain), salted_now);
        assert_ne!(plain, salted_now);
        for other in [
            hash_user("other salt", "w", "u-alice"),
            hash_user("some salt", "w", "u-bob"),
            hash_user("some salt", "wu", "-alice"),
        ] {
            assert_ne!(other, salted_now);
            assert_eq!(other.len(), 64);
        }
    }
}
