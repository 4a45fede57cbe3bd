//! The table of attacks: each row names existing tests and a number of attacks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::docs::{Page, root};

/// A row of the table.
struct Attack {
    line: String,
    tests: Vec<String>,
}

#[test]
fn every_attack_names_tests_that_exist_and_their_number() {
    let page = Page::read("docs/reference/tested-attacks.md");
    let attacks = attacks(&page.text);
    assert!(attacks.len() > 50, "only {} rows were found", attacks.len());
    let known = tests();
    assert!(known.len() > 1000, "only {} tests were found", known.len());
    let mut wrong = Vec::new();
    for attack in &attacks {
        if attack.tests.is_empty() {
            wrong.push(format!("no test: {}", attack.line));
        }
        for test in &attack.tests {
            if !known.iter().any(|known| is_meant(test, known)) {
                wrong.push(format!("there is no test {test}: {}", attack.line));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn what_is_wrong_in_the_table_would_be_noticed() {
    let known = "outgoing::urls::tests::no_input_makes_another_url_live";
    for (named, expected) in [
        ("urls::tests::no_input_makes_another_url_live", true),
        ("outgoing::urls::tests::*", true),
        ("no_input_makes_another_url_live", true),
        ("rls::tests::no_input_makes_another_url_live", false),
        ("urls::no_input_makes_another_url_live", false),
        ("urls::tests::no_input_makes", false),
        ("urls::*", false),
    ] {
        assert_eq!(is_meant(named, known), expected, "{named}");
    }
}

/// Whether this test is the named one, or one of its module if the name ends with `*`.
fn is_meant(named: &str, test: &str) -> bool {
    let test = match named.strip_suffix("::*") {
        Some(module) => return is_end(module, test.rsplit_once("::").map_or("", |(path, _)| path)),
        None => test,
    };
    is_end(named, test)
}

fn is_end(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

fn attacks(text: &str) -> Vec<Attack> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with('|')).map(|line| (line, cells(line)));
    let rows = rows.filter(|(_, cells)| cells.len() == 4 && cells[3] != "N" && cells[3] != "---");
    rows.map(|(line, cells)| {
        let number = cells[3].replace(' ', "");
        assert!(number.parse::<u32>().is_ok_and(|number| number > 0), "no number: {line}");
        let tests = cells[2].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Attack { line: line.to_owned(), tests }
    })
    .collect()
}

/// Returns all tests of the repository, with their module paths.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for folder in ["src", "tests/it"] {
        add_tests(&root().join(folder), &[], &mut tests);
    }
    for package in fs::read_dir(root().join("crates")).unwrap() {
        let package = package.unwrap().path();
        let name = package.file_name().unwrap().to_str().unwrap().trim_start_matches("aizuchi-");
        add_tests(&package.join("src"), &[name.to_owned()], &mut tests);
        add_tests(&package.join("tests/it"), &[], &mut tests);
    }
    tests
}

fn add_tests(folder: &Path, modules: &[String], tests: &mut BTreeSet<String>) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files {
        let path = file.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner: Vec<String> = modules.iter().cloned().chain([stem]).collect();
        if path.is_dir() {
            add_tests(&path, &inner, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            add_tests_of(&fs::read_to_string(&path).unwrap(), &inner.join("::"), tests);
        }
    }
}

fn add_tests_of(source: &str, module: &str, tests: &mut BTreeSet<String>) {
    let inline = source.find("\nmod tests {").unwrap_or(source.len());
    let mut is_test = false;
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let name = trimmed.strip_prefix("async ").unwrap_or(trimmed).strip_prefix("fn ");
        match name {
            Some(name) if is_test => {
                let name: String = name
                    .chars()
                    .take_while(|character| character.is_alphanumeric() || *character == '_')
                    .collect();
                let inner = if offset > inline { "tests::" } else { "" };
                tests.insert(format!("{module}::{inner}{name}"));
                is_test = false;
            }
            _ => is_test |= trimmed.starts_with("#[test]") || trimmed.starts_with("#[tokio::test"),
        }
        offset += line.len();
    }
}
