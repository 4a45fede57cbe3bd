//! Words that may not appear in any file.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::tidy::root;

/// Folders of the repository with texts for readers.
const FOLDERS: [&str; 11] = [
    "benches", "crates", "deploy", "docs", "evals", "examples", "fuzz", "policies", "scripts",
    "src", "tests",
];

/// Requirements and bugs are described in words: a number would refer to a list that is not in the repository.
#[test]
fn nothing_is_named_by_a_number_of_another_document() {
    let number = number_of_another_document();
    let mut wrong = Vec::new();
    for path in text_files() {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let lines = text.lines().zip(1..).filter(|(line, _)| number.is_match(line));
        wrong.extend(lines.map(|(line, at)| format!("{}:{at}: {}", path.display(), line.trim())));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn numbers_of_other_documents_are_noticed_and_random_seeds_are_not() {
    let number = number_of_another_document();
    let (upper, lower) = ("SEED", "defect");
    for text in [
        format!("const {upper}_000: &str"),
        format!("# Five minutes (seed {}02).", 0),
        format!("fn {lower}_34_none_leaks()"),
        format!("{lower}s 16 and 17 of the predecessor"),
    ] {
        assert!(number.is_match(&text), "{text}");
    }
    for text in ["with seed 0", "seed 21 finds it", "a defect in one room", "two defects, 3 rooms"]
    {
        assert!(!number.is_match(text), "{text}");
    }
}

fn number_of_another_document() -> Regex {
    Regex::new(r"\b[Ss]eed 0\d|SEED_\d|[Dd]efects?[_ ]\d").unwrap()
}

/// Returns the files with code, settings, prompts and pages, relative to the root of the repository. Chat text is not
/// ours.
fn text_files() -> Vec<PathBuf> {
    let at_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut pending: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    let mut found: Vec<PathBuf> = at_root.filter(|path| path.is_file()).collect();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                // Build output.
                kind if kind.is_dir() && entry.file_name() == "target" => {}
                kind if kind.is_dir() => pending.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    let is_text = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ["rs", "md", "yaml", "toml", "j2", "html"].contains(&ending))
    };
    let found = found.iter().filter(|path| is_text(path));
    let found: Vec<_> = found.map(|path| path.strip_prefix(root()).unwrap().to_owned()).collect();
    assert!(found.len() > 1000, "only {} files were found", found.len());
    found
}
