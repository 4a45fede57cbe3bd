//! ARCHITECTURE.md lists each crate once, and each crate below those that it depends on.

use std::fs;

use crate::tidy::{packages, root};

/// What only tests use.
const FOR_TESTS: [&str; 2] = ["aizuchi-fuzz", "aizuchi-harness"];

#[test]
fn the_architecture_fits_on_one_page_and_has_each_crate_once() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = text.split_whitespace().count();
    assert!(words <= 1_000, "ARCHITECTURE.md has {words} words");
    let mut listed = crates_of(&text);
    listed.sort_unstable();
    let mut crates: Vec<String> = packages().into_iter().map(|(name, _)| name).collect();
    crates.retain(|name| !FOR_TESTS.contains(&&**name));
    crates.sort_unstable();
    assert_eq!(listed, crates);
}

#[test]
fn a_crate_depends_only_on_crates_above_it() {
    let listed = crates_of(&fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap());
    let mut wrong = Vec::new();
    for (name, folder) in packages() {
        let Some(own) = listed.iter().position(|it| *it == name) else { continue };
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (_, below) = manifest.split_once("\n[dependencies]\n").unwrap();
        for dependency in below.lines().take_while(|line| !line.starts_with('[')) {
            let dependency = dependency.split(['.', ' ']).next().unwrap_or_default();
            let place = listed.iter().position(|it| it == dependency);
            if FOR_TESTS.contains(&dependency) || place.is_some_and(|place| place >= own) {
                wrong.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_files_that_the_architecture_names_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named = text.split('`').skip(1).step_by(2).filter_map(|it| it.split_once('/'));
    let named: Vec<_> = named.filter(|(name, _)| name.starts_with("aizuchi-")).collect();
    assert!(named.len() > 10, "only {} files are named", named.len());
    for (name, path) in named {
        let folder = root().join("crates").join(name);
        let exists = folder.join("src").join(path).exists() || folder.join(path).exists();
        assert!(exists, "there is no {path} in {name}");
    }
}

#[test]
fn each_crate_says_what_lives_there() {
    for (name, folder) in packages() {
        let lib = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        assert!(lib.starts_with("//! "), "the lib.rs of {name} begins with its purpose");
    }
}

/// Returns the names in the first column of the table of crates.
fn crates_of(text: &str) -> Vec<String> {
    let (_, below) = text.split_once("\n## Crates").unwrap();
    let table = below.split("\n## ").next().unwrap_or(below);
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let names = rows.flat_map(|row| row.split('`').step_by(2));
    names.filter(|name| name.starts_with("aizuchi")).map(str::to_owned).collect()
}

#[test]
fn a_row_may_name_several_crates() {
    let text = "\n## Crates\n| crate | x |\n|---|---|\n| `aizuchi-b` `aizuchi-c` | `aizuchi-x` | |\n| `aizuchi` (`src/`) | |\n\n## D\n| `aizuchi-e` | |\n";
    assert_eq!(crates_of(text), ["aizuchi-b", "aizuchi-c", "aizuchi"]);
}
