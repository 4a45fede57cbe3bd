//! The lock file beside a database, which the process that owns the database holds. Who only looks whether it is held
//! shares it for a moment, and must not be taken for an owner.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::StoreError;
use crate::sqlite::{FILE_MODE, create_folder};

/// How often a lock is tried that others only look at. Each of them lets go within microseconds.
const MAX_ATTEMPTS: u32 = 100;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);

/// Locks the database for this process while the returned handle lives.
pub async fn lock(path: &Path) -> Result<File, StoreError> {
    let path_text = path.display().to_string();
    let broken =
        |what: &str, error: io::Error| StoreError::Broken(format!("{what} {path_text}: {error}"));
    create_folder(path)?;
    // A separate file: closing another handle of the database would drop the locks that SQLite holds on it.
    let lock_path = lock_path(path);
    let file = File::options().create(true).read(true).append(true).mode(FILE_MODE).open(lock_path);
    let file = file.map_err(|error| broken("cannot write beside the database", error))?;
    for _ in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(broken("cannot lock", error)),
        }
        if is_owned(&file).map_err(|error| broken("cannot lock", error))? {
            return Err(StoreError::Broken(format!(
                "another Aizuchi is running on {path_text}; stop it, or give this one a database of its own"
            )));
        }
        tokio::time::sleep(ATTEMPT_INTERVAL).await;
    }
    Err(StoreError::Broken(format!(
        "another program keeps reading the lock beside {path_text}; stop it and try again"
    )))
}

/// Whether a running Aizuchi holds the lock.
pub fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let Ok(file) = File::open(lock_path(path)) else { return Ok(false) };
    is_owned(&file)
        .map_err(|error| StoreError::Broken(format!("cannot lock {}: {error}", path.display())))
}

/// The lock file beside the database.
pub fn lock_path(path: &Path) -> PathBuf {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// Whether another process holds the lock for itself. Shared for this moment, so that others may look, too.
fn is_owned(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn who_only_looks_is_no_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aizuchi.db");
        drop(lock(&path).await.unwrap());
        let looking = File::open(lock_path(&path)).unwrap();
        looking.lock_shared().unwrap();
        assert!(!is_locked(&path).unwrap());
        let mut locking = pin!(lock(&path));
        assert!(locking.as_mut().now_or_never().is_none(), "a start waits for who only looks");
        drop(looking);
        let owner = locking.await.unwrap();
        assert!(is_locked(&path).unwrap());
        let refusal = lock(&path).await.unwrap_err().to_string();
        assert!(refusal.contains("another Aizuchi is running"), "{refusal}");
        drop(owner);
        assert!(!is_locked(&path).unwrap());
    }
}
