//! Notices that the files of an open database were removed or replaced. SQLite would continue to use the open files,
//! and their commits would be lost with the process.

use std::fs::{Metadata, canonicalize, metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The files of an open database, as they were when they were last looked at.
pub struct DatabaseFiles {
    database: OpenFile,
    log: OpenFile,
}

struct OpenFile {
    path: PathBuf,
    id: FileId,
    bytes: u64,
}

/// A file that has become shorter since it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShorterFile {
    Database,
    Log { bytes: u64 },
}

/// A file's device and inode number.
type FileId = (u64, u64);

impl DatabaseFiles {
    /// Finds the database file and its write-ahead log, which must be open.
    pub fn find(path: &Path) -> Result<Self, StoreError> {
        // SQLite puts the log beside the target of a symbolic link.
        let real = canonicalize(path).map_err(|error| cannot_look_up(path, &error))?;
        let mut log = real.into_os_string();
        log.push("-wal");
        Ok(Self { database: OpenFile::find(path)?, log: OpenFile::find(Path::new(&log))? })
    }

    /// Fails if one of the files was removed or replaced. Returns the one that has become shorter since the last call.
    pub fn check(&mut self) -> Result<Option<ShorterFile>, StoreError> {
        let Some(is_file_shorter) = self.database.look_again()? else {
            return Err(StoreError::Broken(format!(
                "{} was removed or replaced while it was in use, and nothing is written until it is put back; a restart \
                 begins with what is there",
                self.database.path.display()
            )));
        };
        let Some(is_log_shorter) = self.log.look_again()? else {
            return Err(StoreError::Broken(format!(
                "{} was removed or replaced while it was in use; what it held is in the database now, so restart Aizuchi",
                self.log.path.display()
            )));
        };
        let shorter_log = is_log_shorter.then_some(ShorterFile::Log { bytes: self.log.bytes });
        Ok(is_file_shorter.then_some(ShorterFile::Database).or(shorter_log))
    }
}

impl OpenFile {
    fn find(path: &Path) -> Result<Self, StoreError> {
        let found = metadata(path).map_err(|error| cannot_look_up(path, &error))?;
        Ok(Self { path: path.to_owned(), id: file_id(&found), bytes: found.len() })
    }

    /// Whether it is shorter than before. `None` if it was removed or replaced.
    fn look_again(&mut self) -> Result<Option<bool>, StoreError> {
        let found = match metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot_look_up(&self.path, &error)),
        };
        let is_shorter = found.len() < std::mem::replace(&mut self.bytes, found.len());
        Ok((file_id(&found) == self.id).then_some(is_shorter))
    }
}

fn file_id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

fn cannot_look_up(path: &Path, error: &Error) -> StoreError {
    StoreError::Broken(format!("{} cannot be looked up: {error}", path.display()))
}
