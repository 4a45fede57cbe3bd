//! Changes single variables of a `.env` file. Every other line stays as it is, and only the owner can read the file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use anyhow::Context as _;

use crate::environment::Environment;

/// A variable to set, or to remove if the value is `None`.
pub type VariableChange = (&'static str, Option<String>);

/// Only the owner has access, because the file holds keys.
const MODE: u32 = 0o600;

/// Sets or removes these variables. Fails without changing the file if another variable would change its value.
pub fn change(file: &Path, changes: &[VariableChange]) -> anyhow::Result<()> {
    // Write through a symbolic link instead of replacing it.
    let file = fs::canonicalize(file).unwrap_or(file.to_owned());
    let before = match input_file::read_text(&file, MAX_WRITTEN_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("cannot read it"),
    };
    let after = changed(&before, changes);
    // The edit is line by line and ignores the syntax, so what the next start would read decides.
    check(&before, &after, changes)?;
    write(&file, &after)
}

/// The text with the changes: a variable keeps its line, and a new one comes last.
fn changed(text: &str, changes: &[VariableChange]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let written: Vec<String> = changes
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or_default()))
        .collect();
    for ((name, value), written) in changes.iter().zip(&written) {
        // If several lines set the variable, the last one counts.
        let place = lines.iter().rposition(|line| variable_of(line) == Some(*name));
        match (place, value) {
            (Some(place), Some(_)) => lines[place] = written,
            (None, Some(_)) => lines.push(written),
            (_, None) => lines.retain(|line| variable_of(line) != Some(*name)),
        }
    }
    lines.iter().map(|line| format!("{line}{line_break}")).collect()
}

/// The variable that a line sets.
fn variable_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    Some(line.split_once('=')?.0.trim())
}

/// Checks that the next start will read the new text with these changes and no others.
fn check(before: &str, after: &str, changes: &[VariableChange]) -> anyhow::Result<()> {
    let read = |text: &str| Environment::new([], text, "the file");
    let (before, after) = (read(before)?, read(after)?);
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let others = |environment: &Environment| {
        let mut others = environment.variables().clone();
        others.retain(|name, _| !is_changed(name));
        others
    };
    let is_right = |(name, value): &VariableChange| after.get(name) == value.as_deref();
    anyhow::ensure!(
        others(&before) == others(&after) && changes.iter().all(is_right),
        "it cannot be changed safely; please edit it by hand"
    );
    Ok(())
}

/// Replaces the file atomically, so that no reader sees half of it.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let name = file.file_name().context("it has no name")?.to_string_lossy();
    let draft = file.with_file_name(format!("{name}.{}.tmp", std::process::id()));
    let written = write_draft(&draft, text).and_then(|()| fs::rename(&draft, file));
    if written.is_err() {
        // The draft may hold a key. Removing it fails if it could not be created.
        let _ = fs::remove_file(&draft);
    }
    written.context("cannot write it")
}

fn write_draft(draft: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut draft = options.write(true).create(true).truncate(true).mode(MODE).open(draft)?;
    // The draft may be left over from a crash, with other permissions.
    draft.set_permissions(fs::Permissions::from_mode(MODE))?;
    draft.write_all(text.as_bytes())?;
    draft.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &'static str, value: &str) -> VariableChange {
        (name, Some(value.to_owned()))
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let before = "# mine\nA=1\n\nexport KEY = old # note\nB='two words'\nKEY=older";
        for (before, changes, expected) in [
            ("", vec![set("KEY", "new")], "KEY=new\n"),
            ("", vec![("KEY", None)], ""),
            (
                before,
                vec![set("KEY", "new"), set("C", "3")],
                "# mine\nA=1\n\nexport KEY = old # note\nB='two words'\nKEY=new\nC=3\n",
            ),
            (before, vec![("KEY", None)], "# mine\nA=1\n\nB='two words'\n"),
            ("A=1\r\nKEY=x\r\n", vec![set("KEY", "y")], "A=1\r\nKEY=y\r\n"),
        ] {
            assert_eq!(changed(before, &changes), expected, "{before:?} {changes:?}");
        }
    }

    #[test]
    fn a_variable_that_is_set_twice_has_the_new_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        fs::write(&file, "KEY=first\nA=1\nKEY=last\n").unwrap();
        change(&file, &[set("KEY", "new")]).unwrap();
        let environment = Environment::from_process(folder.path()).unwrap();
        assert_eq!((environment.get("KEY"), environment.get("A")), (Some("new"), Some("1")));
    }

    #[test]
    fn a_file_is_refused_whose_other_variables_would_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        // The second line looks like a variable but is part of a quoted value.
        let text = "A='one\nKEY=two'\n";
        fs::write(&file, text).unwrap();
        assert!(change(&file, &[set("KEY", "new")]).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_the_owner_can_read_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        fs::write(&file, "A=1\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        change(&file, &[set("KEY", "sk-proj_0-1.2/3+4@5")]).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, MODE);
        let environment = Environment::from_process(folder.path()).unwrap();
        assert_eq!(environment.get("KEY"), Some("sk-proj_0-1.2/3+4@5"));
    }
}
