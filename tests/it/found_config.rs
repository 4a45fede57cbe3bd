//! Which config is used, and how its relative paths are resolved.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;

use crate::command::aizuchi;

const CONFIG: &str = "http: {listen: 127.0.0.1:0}\nstorage: {url: sqlite://./kept/room.db}\n";

/// A folder, with its path as seen by the program that runs in it.
struct Folder {
    _folder: TempDir,
    path: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        Self { _folder: folder, path }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns the line of `aizuchi check` about a subject, when it runs here.
    fn check(&self, arguments: &[&str], variable: &str, subject: &str) -> String {
        let mut command = aizuchi();
        command.current_dir(&self.path).env("AIZUCHI_CONFIG", variable).arg("check");
        let output = command.args(arguments).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let line = lines.lines().find(|line| line[6..].starts_with(subject));
        line.unwrap_or_else(|| panic!("{subject} is missing in\n{lines}")).to_owned()
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&self.path.display().to_string(), "DIR")
    }
}

#[test]
fn a_config_is_named_or_found() {
    let folder = Folder::new();
    let config = |arguments: &[&str], variable: &str| {
        folder.shown(&folder.check(arguments, variable, "config"))
    };
    assert_eq!(config(&[], ""), "ok    config    no file; all settings are at their defaults");
    folder.write("config.yaml", CONFIG);
    folder.write("other/mine.yaml", CONFIG);
    folder.write("third.yaml", CONFIG);
    assert_eq!(config(&[], ""), "ok    config    DIR/config.yaml (found in the current folder)");
    assert_eq!(
        config(&[], "other/mine.yaml"),
        "ok    config    DIR/other/mine.yaml (named by AIZUCHI_CONFIG)"
    );
    let named = config(&["--config", "third.yaml"], "other/mine.yaml");
    assert_eq!(named, "ok    config    DIR/third.yaml");
}

#[test]
fn a_bad_config_says_why_it_was_read() {
    let folder = Folder::new();
    folder.write("config.yaml", "langage: en\n");
    let found = folder.check(&[], "", "config");
    assert!(
        found.starts_with("FAIL  config    config.yaml:1:1: unknown key \"langage\""),
        "{found}"
    );
    let reason = "(config.yaml was found in the current folder; --config names another file)";
    assert!(found.ends_with(reason), "{found}");
    let named = folder.check(&[], "nowhere.yaml", "config");
    let reason =
        "the config that AIZUCHI_CONFIG names: the config file nowhere.yaml cannot be read";
    assert!(named.contains(reason), "{named}");
    // A dangling link is not treated as a missing config.
    std::fs::remove_file(folder.path.join("config.yaml")).unwrap();
    std::os::unix::fs::symlink("nowhere.yaml", folder.path.join("config.yaml")).unwrap();
    let broken = folder.check(&[], "", "config");
    assert!(broken.contains("the config file config.yaml cannot be read"), "{broken}");
}

#[test]
fn relative_paths_belong_to_the_folder_of_the_config() {
    let folder = Folder::new();
    folder.write("rooms/mine.yaml", &format!("{CONFIG}prompts_dir: prompts\n"));
    std::fs::create_dir(folder.path.join("rooms/prompts")).unwrap();
    let check =
        |subject| folder.shown(&folder.check(&["--config", "rooms/mine.yaml"], "", subject));
    assert_eq!(check("database"), "ok    database  DIR/rooms/kept/room.db will be created");
    assert_eq!(check("prompts"), "ok    prompts   DIR/rooms/prompts");
    // Earlier versions looked for the database in the current folder. Creating a new one would lose all data.
    folder.write("kept/room.db", "");
    assert_eq!(
        check("config"),
        "FAIL  config    a relative path in a config belongs to the config's folder, and DIR/rooms/kept/room.db does \
         not exist, but DIR/kept/room.db does; move it there, or name its full path in storage.url"
    );
}

#[test]
fn the_start_prints_where_everything_is() {
    let folder = Folder::new();
    folder.write("config.yaml", CONFIG);
    let english = folder.shown(&welcome(&folder.path, &[]));
    assert!(
        english.starts_with("Aizuchi is listening in the local room: http://127.0.0.1:"),
        "{english}"
    );
    for line in [
        "  config    DIR/config.yaml (found in the current folder)\n",
        "  database  DIR/kept/room.db\n",
    ] {
        assert!(english.contains(line), "{line:?} is missing in\n{english}");
    }
    let japanese = folder.shown(&welcome(&folder.path, &["--language", "ja"]));
    for line in [
        "  設定      DIR/config.yaml（現在のフォルダーにあったもの）\n",
        "  保存先    DIR/kept/room.db\n",
    ] {
        assert!(japanese.contains(line), "{line:?} is missing in\n{japanese}");
    }
}

/// Returns the startup message of the program in a folder.
fn welcome(folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
    command.current_dir(folder).env_remove("AIZUCHI_CONFIG").args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while !String::from_utf8_lossy(&text).contains("Ctrl-C") {
        let read = output.read(&mut chunk).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&chunk[..read]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    String::from_utf8(text).unwrap()
}
