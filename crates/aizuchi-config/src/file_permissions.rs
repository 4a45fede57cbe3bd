//! Finds files with secrets or chat messages that other users of the machine can read.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use aizuchi_store::database::location::DatabaseLocation;

use crate::secret::is_secret_key;
use crate::syntax_tree::{ConfigNode, ConfigValue};

/// The permission bits that let users other than the owner read a file or list a folder.
const READABLE_BY_OTHERS: u32 = 0o044;
/// The permission bit that lets users outside of the file's group read it.
const READABLE_BY_ALL: u32 = 0o004;

/// Returns a sentence for each file whose permissions are too open: the config if it contains secrets, the `.env` file
/// next to it, and the database with its folder.
pub fn exposed_files(config: Option<&Path>, database: &DatabaseLocation) -> Vec<String> {
    let folder = config.and_then(Path::parent).unwrap_or(Path::new(""));
    let config = config.filter(|config| has_secrets(config)).map(Path::to_owned);
    let secrets = config.into_iter().chain([folder.join(".env")]).filter(|file| file.is_file());
    let talk = match database {
        DatabaseLocation::Sqlite(path) => files_of(path, folder),
        DatabaseLocation::Postgres(_) => Vec::new(),
    };
    let secrets = secrets.map(|file| (file, "the secrets"));
    let talk = talk.into_iter().map(|file| (file, "what was said"));
    let exposed = secrets.chain(talk).filter(|(file, _)| is_readable_by_others(file));
    exposed.map(|(file, what)| describe(&file, what)).collect()
}

fn describe(file: &Path, what: &str) -> String {
    let mode = if file.is_dir() { "700" } else { "600" };
    let file = file.display();
    format!(
        "other users of this machine can read {what} in {file}; `chmod {mode} {file}` keeps them out"
    )
}

/// The database's files, and its folder if that is the database's own.
fn files_of(database: &Path, config_folder: &Path) -> Vec<PathBuf> {
    let beside = |suffix: &str| {
        let mut file = database.as_os_str().to_owned();
        file.push(suffix);
        PathBuf::from(file)
    };
    // The permissions of a folder with other things in it are none of this program's business.
    let is_own = |folder: &&Path| {
        let resolved = folder.canonicalize();
        let shared = [config_folder, Path::new("."), Path::new("/")];
        let mut shared = shared.iter().filter_map(|folder| folder.canonicalize().ok());
        resolved.is_ok_and(|resolved| !shared.any(|shared| shared.starts_with(&resolved)))
    };
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).filter(is_own);
    let folder = folder.map(Path::to_owned);
    folder.into_iter().chain(["", "-wal", "-shm"].map(beside)).collect()
}

fn is_readable_by_others(file: &Path) -> bool {
    let Ok(found) = std::fs::metadata(file) else { return false };
    // `/proc/self` is this process's, so it has its user and its group.
    let own = std::fs::metadata("/proc/self");
    // The owner of the file gave it to this process by its group, and to that group alone.
    let is_given =
        own.is_ok_and(|own| own.uid() != found.uid() && own.gid() == found.gid() && own.uid() != 0);
    let others = if is_given { READABLE_BY_ALL } else { READABLE_BY_OTHERS };
    found.permissions().mode() & others != 0
}

/// Whether a config contains a secret itself instead of referring to a variable.
fn has_secrets(config: &Path) -> bool {
    let tree = input_file::read_text(config, MAX_WRITTEN_BYTES)
        .ok()
        .and_then(|text| ConfigNode::parse(&text).ok());
    tree.is_some_and(|tree| holds_secret(&tree, Named::Anything))
}

/// What the keys above a value say about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Anything,
    Secret,
}

fn holds_secret(node: &ConfigNode, named: Named) -> bool {
    match &node.value {
        ConfigValue::Empty => false,
        ConfigValue::List(items) => items.iter().any(|item| holds_secret(item, named)),
        ConfigValue::Section(entries) => entries.iter().any(|entry| {
            let named = if is_secret_key(&entry.key) { Named::Secret } else { named };
            holds_secret(&entry.node, named)
        }),
        ConfigValue::Text(text) => {
            // The URL of a database server may contain its password.
            let has_password = text.text.starts_with("postgres") && text.text.contains('@');
            let is_secret = named == Named::Secret || has_password;
            is_secret && !text.text.is_empty() && !text.text.contains("${")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_counts_where_it_is_written() {
        for (text, expected) in [
            ("http:\n  token: 0123", true),
            ("http:\n  token: ${TOKEN}", false),
            ("http:\n  listen: 127.0.0.1:80", false),
            ("agents:\n  response: {client_args: {extra_headers: {x: y}}}", true),
            ("storage: {url: 'postgres://me:word@host/db'}", true),
            ("storage: {url: 'postgres://host/db'}", false),
        ] {
            let tree = ConfigNode::parse(text).unwrap();
            assert_eq!(holds_secret(&tree, Named::Anything), expected, "{text}");
        }
    }
}
