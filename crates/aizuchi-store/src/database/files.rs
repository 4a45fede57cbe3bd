//! Notices that the files of an open database were removed or replaced. SQLite would continue to use the open files,
//! and their commits would be lost with the process.

use std::fs::{Metadata, canonicalize, metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// The files of an open database, and how long they were after the last commit.
pub struct DatabaseFiles {
    database: OpenFile,
    log: OpenFile,
}

struct OpenFile {
    path: PathBuf,
    id: FileId,
    bytes: u64,
}

/// A file that is shorter than it was.
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

    /// Fails if one of the files was removed or replaced. Returns the one that is shorter than it was known to be, until
    /// its size is accepted.
    pub fn check(&self) -> Result<Option<ShorterFile>, StoreError> {
        let Some(bytes) = self.database.present_bytes()? else {
            return Err(StoreError::Broken(format!(
                "{} was removed or replaced while it was in use, and nothing is written until it is put back; a restart \
                 begins with what is there",
                self.database.path.display()
            )));
        };
        let Some(log_bytes) = self.log.present_bytes()? else {
            return Err(StoreError::Broken(format!(
                "{} was removed or replaced while it was in use; what it held is in the database now, so restart Aizuchi",
                self.log.path.display()
            )));
        };
        let is_file_shorter = bytes < self.database.bytes;
        let shorter_log = ShorterFile::Log { bytes: log_bytes };
        let shorter_log = (log_bytes < self.log.bytes).then_some(shorter_log);
        Ok(is_file_shorter.then_some(ShorterFile::Database).or(shorter_log))
    }

    /// Takes the present sizes for right, after what was missing was found to be no loss.
    pub fn accept(&mut self) {
        for file in [&mut self.database, &mut self.log] {
            file.bytes = file.present_bytes().ok().flatten().unwrap_or(file.bytes);
        }
    }

    /// Remembers how long the files have become by a commit.
    pub fn remember(&mut self) {
        for file in [&mut self.database, &mut self.log] {
            file.bytes = file.bytes.max(file.present_bytes().ok().flatten().unwrap_or(0));
        }
    }
}

impl OpenFile {
    fn find(path: &Path) -> Result<Self, StoreError> {
        let found = metadata(path).map_err(|error| cannot_look_up(path, &error))?;
        Ok(Self { path: path.to_owned(), id: file_id(&found), bytes: found.len() })
    }

    /// Returns its size, or `None` if it was removed or replaced.
    fn present_bytes(&self) -> Result<Option<u64>, StoreError> {
        let found = match metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot_look_up(&self.path, &error)),
        };
        Ok((file_id(&found) == self.id).then_some(found.len()))
    }
}

fn file_id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

fn cannot_look_up(path: &Path, error: &Error) -> StoreError {
    StoreError::Broken(format!("{} cannot be looked up: {error}", path.display()))
}
