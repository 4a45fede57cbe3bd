//! ARCHITECTURE.md lists each module once.

use std::fs;

use crate::tidy::{order, root};

#[test]
fn the_architecture_has_each_module_once_in_reading_order() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() <= 120, "ARCHITECTURE.md has {} lines", text.lines().count());
    for (heading, package) in [
        ("\n## Modules of the core", root().join("crates/aizuchi-agent")),
        ("\n## Modules of the program", root().to_owned()),
    ] {
        assert_eq!(modules_below(&text, heading), order(&package), "{heading}");
    }
}

/// Returns the names in the first column of the table below a heading.
fn modules_below(text: &str, heading: &str) -> Vec<String> {
    let (_, below) = text.split_once(heading).unwrap();
    let table = below.split("\n## ").next().unwrap_or(below);
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let names = rows.flat_map(|row| row.split('`').step_by(2));
    names.map(str::to_owned).filter(|name| !name.trim().is_empty()).collect()
}

#[test]
fn a_module_that_is_missing_or_twice_is_noticed() {
    let text =
        "\n## A\n| module | x |\n|---|---|\n| `b` `c` | `x` | |\n| `b` | |\n\n## D\n| `e` | |\n";
    assert_eq!(modules_below(text, "\n## A"), ["b", "c", "b"]);
    assert_eq!(modules_below(text, "\n## D"), ["e"]);
}
