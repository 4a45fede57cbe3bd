//! The locations of the database and its backups.

use std::path::{Path, PathBuf};

use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::sqlite::myao2;

use crate::Config;
use crate::problem::ConfigProblem;
use crate::storage::{BackupConfig, StorageUrl};
use crate::syntax_tree::ConfigNode;

impl Config {
    /// The location of the database.
    pub fn database_address(&self) -> DatabaseLocation {
        self.locate(self.written_database())
    }

    /// The scheduled backups and their folder, if backups are configured.
    pub fn backup(&self) -> Option<(&BackupConfig, PathBuf)> {
        let backup = self.storage.backup.as_ref()?;
        Some((backup, self.resolve(&backup.folder.0)))
    }

    /// Resolves a location that is written like `storage.url`: a path is relative to the config's folder, and a symbolic
    /// link stands for the file that it leads to.
    pub fn locate(&self, location: DatabaseLocation) -> DatabaseLocation {
        match location {
            DatabaseLocation::Sqlite(path) => {
                DatabaseLocation::Sqlite(target_of_link(self.resolve(&path)))
            }
            server @ DatabaseLocation::Postgres(_) => server,
        }
    }

    /// The location of the database as configured. A path may be relative.
    fn written_database(&self) -> DatabaseLocation {
        let url = self.storage.url.as_ref().map(|url| url.0.clone());
        let path = self.memory.database_path.as_ref().map(|path| path.0.clone());
        url.unwrap_or_else(|| {
            DatabaseLocation::Sqlite(path.unwrap_or_else(|| PathBuf::from("data/aizuchi.db")))
        })
    }

    /// The database at a relative path in the current folder, where earlier versions looked for it. `None` if there is
    /// no such file, or if the config's folder has one.
    pub(super) fn former_database(&self) -> Option<PathBuf> {
        let DatabaseLocation::Sqlite(path) = self.written_database() else { return None };
        let former: PathBuf = std::env::current_dir().ok()?.join(&path).components().collect();
        (!self.resolve(&path).exists() && former.is_file()).then_some(former)
    }

    /// If the config names a database of myao2, which must not be changed, uses another file beside it.
    pub(super) fn avoid_myao2_database(&mut self, tree: &ConfigNode) -> Option<ConfigProblem> {
        let myao2_path = self.resolve(&self.memory.database_path.as_ref()?.0);
        if self.storage.url.is_some() || !myao2::is_at(&myao2_path) {
            return None;
        }
        let own = myao2_path.with_extension("aizuchi.db");
        let sentence = format!(
            "memory.database_path is a database of myao2, which stays as it is; {} is used instead, and \
             `aizuchi import {}` brings along what myao2 kept",
            own.display(),
            myao2_path.display()
        );
        self.storage.url = Some(StorageUrl(DatabaseLocation::Sqlite(own)));
        let entry = tree.find(&["memory", "database_path"]);
        Some(ConfigProblem::for_file(entry.map(|entry| entry.key_location), sentence))
    }
}

/// The file that a path leads to. SQLite puts its log beside that file, so the lock belongs there, too: otherwise the file
/// would have another one by each of its names.
fn target_of_link(path: PathBuf) -> PathBuf {
    let Ok(target) = std::fs::read_link(&path) else { return path };
    // The file may not exist yet.
    let written = path.parent().unwrap_or(Path::new("")).join(target);
    path.canonicalize().unwrap_or(written)
}
