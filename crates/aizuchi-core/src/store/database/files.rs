//! Notices that the files of an open database were removed or replaced. SQLite would continue to use the open files,
//! and their commits would be lost with the process.

use std::fs::{canonicalize, metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The files of an open database, as they were when it was opened.
pub struct DatabaseFiles(Vec<(PathBuf, FileId)>);

/// A file's device and inode number.
type FileId = (u64, u64);

impl DatabaseFiles {
    /// Finds the database file and its write-ahead log, which must be open.
    pub fn find(path: &Path) -> Result<Self, StoreError> {
        // SQLite puts the log beside the target of a symbolic link.
        let real = canonicalize(path).map_err(|error| cannot_look_up(path, &error))?;
        let mut log = real.into_os_string();
        log.push("-wal");
        let paths = [path.to_owned(), PathBuf::from(log)].into_iter();
        let files = paths.map(|path| file_id(&path).map(|id| (path, id)));
        Ok(Self(files.collect::<Result<_, _>>()?))
    }

    /// Fails if one of the files was removed or replaced.
    pub fn check(&self) -> Result<(), StoreError> {
        for (path, id) in &self.0 {
            if file_id(path)? != *id {
                return Err(StoreError::Broken(format!(
                    "{} was replaced while it was in use; nothing is written until Aizuchi is started again",
                    path.display()
                )));
            }
        }
        Ok(())
    }
}

fn file_id(path: &Path) -> Result<FileId, StoreError> {
    let path_text = path.display();
    match metadata(path) {
        Ok(metadata) => Ok((metadata.dev(), metadata.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Broken(format!(
            "{path_text} was removed while it was in use; put it back, or restart Aizuchi to begin with an empty one"
        ))),
        Err(error) => Err(cannot_look_up(path, &error)),
    }
}

fn cannot_look_up(path: &Path, error: &Error) -> StoreError {
    StoreError::Broken(format!("{} cannot be looked up: {error}", path.display()))
}
