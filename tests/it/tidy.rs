//! The architecture, as a test: a module names only modules above it in `lib.rs`, each outside
//! crate has one home, and nobody opens a back door.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where each outside crate may be named. Crates that are not listed may be named anywhere.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["store"]),
    ("axum", &["web", "dev"]),
    ("askama", &["web", "dev"]),
    ("rust_embed", &["web"]),
    ("pulldown_cmark", &["platform", "web"]),
    ("pulldown_cmark_escape", &["web"]),
    ("prometheus_client", &["metrics"]),
    ("genai", &["llm"]),
    ("tokio_tungstenite", &["platform"]),
    ("twilight_gateway", &["platform"]),
    ("twilight_model", &["platform", "dev"]),
    ("twilight_util", &["platform", "dev"]),
    ("twilight_validate", &["platform", "dev"]),
    ("hmac", &["platform", "dev"]),
    ("reqwest", &["llm", "platform", "dev"]),
    ("rustls", &["llm", "platform", "dev"]),
    ("clap", &["cli"]),
    ("tracing_subscriber", &["cli"]),
    ("serde_saphyr", &["config"]),
    ("schemars", &["config", "llm"]),
    ("secrecy", &["config", "llm", "platform", "store"]),
    ("strsim", &["config", "prompt"]),
    ("minijinja", &["prompt"]),
    ("minijinja_contrib", &["prompt"]),
    ("unicode_normalization", &["prompt", "recall"]),
    ("dotenvy", &["config"]),
    ("flate2", &["replay", "eval", "dev"]),
    ("indicatif", &["cli"]),
    ("comfy_table", &["replay", "eval"]),
    ("futures_executor", &["replay", "clock"]),
    ("uuid", &["platform", "app", "dev"]),
    ("emojis", &["platform"]),
    ("unicode_segmentation", &["platform"]),
    ("unicode_width", &["platform"]),
];

#[test]
fn modules_name_only_modules_above_them() {
    let order = order();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        let Some(own) = order.iter().position(|name| *name == module) else {
            continue;
        };
        for (number, line) in code(&text) {
            for named in names_behind(line, "crate::") {
                let place = order.iter().position(|name| *name == named);
                match place {
                    Some(place) if place <= own => {}
                    Some(_) => wrong.push(format!(
                        "{}:{number}: `{module}` names `{named}`, which comes after it in lib.rs",
                        path.display()
                    )),
                    None => wrong.push(format!(
                        "{}:{number}: `crate::{named}` is no module",
                        path.display()
                    )),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn outside_crates_have_one_home() {
    let homes: BTreeMap<&str, &[&str]> = HOMES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        for (number, line) in code(&text) {
            for (outside, homes) in &homes {
                let is_named = names_crate(line, outside);
                if is_named && !homes.contains(&module.as_str()) {
                    wrong.push(format!(
                        "{}:{number}: `{module}` names `{outside}`, whose home is {}",
                        path.display(),
                        homes.join(" or ")
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_code_keeps_its_promises() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        for (number, line) in code(&text) {
            let mut complain =
                |what: &str| wrong.push(format!("{}:{number}: {what}", path.display()));
            if line.contains(".unwrap()") {
                complain("`unwrap` outside tests; say why it cannot fail, or handle it");
            }
            if line.contains("unsafe ") || line.contains("todo!") || line.contains("unimplemented!")
            {
                complain("no `unsafe`, no stubs");
            }
            if line.contains("spawn") && !["app", "replay"].contains(&module.as_str()) {
                complain("tasks are spawned in `app` only");
            }
            if line.contains("use crate::{") {
                complain("one path a line, so that the order of modules can be read");
            }
            if line.contains("pub use ") {
                complain("no re-exports: one name, one path");
            }
            let is_sql = ["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM"]
                .iter()
                .any(|word| line.contains(word));
            let is_home =
                path.ends_with("sql.rs") || path.components().any(|part| part.as_os_str() == "sql");
            if is_sql && !is_home {
                complain("statements are constants in `sql.rs`");
            }
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            wrong.push(format!("{}: `foo.rs` beside `foo/`, no `mod.rs`", path.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_checks_notice_what_they_should() {
    assert_eq!(names_behind("use crate::store::{Store};", "crate::"), ["store"]);
    assert_eq!(
        names_behind("fn f(a: crate::app::App, b: crate::cli::Cli)", "crate::"),
        ["app", "cli"]
    );
    assert!(names_crate("use sqlx::query;", "sqlx"));
    assert!(!names_crate("let my_sqlx::x", "sqlx"));
    let text = "a\n#[cfg(test)]\nmod tests {\n b.unwrap()\n}\n";
    assert_eq!(code(text).count(), 1);
}

#[test]
fn the_page_has_every_text_in_both_languages() {
    let text = fs::read_to_string(root().join("src/web/static/i18n.js")).unwrap();
    let keys = |from: &str| {
        let table = text.split_once(from).unwrap().1;
        let table = table.split_once("\n};").unwrap().0;
        let keys = table.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
        let keys = keys
            .map(|(key, _)| key)
            .filter(|key| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        keys.map(str::to_owned).collect::<Vec<_>>()
    };
    let english = keys("const ENGLISH = {");
    assert!(english.len() > 50);
    assert_eq!(keys("const JAPANESE = {"), english);
}

/// The modules, in the order of `lib.rs`, with the program itself last.
fn order() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let order: Vec<String> = modules.map(str::to_owned).collect();
    assert!(order.len() > 10, "lib.rs lists its modules as `pub mod name;`");
    order
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The module of `lib.rs` that a file belongs to.
fn module_of(path: &Path) -> String {
    let first = path.components().nth(1).unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// Numbered lines of code: without comments, and up to the tests at the end of the file.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let numbered = text[..tests].lines().enumerate().map(|(number, line)| (number + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The words that follow each `prefix` in a line.
fn names_behind<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let rests = line.match_indices(prefix).map(|(at, _)| &line[at + prefix.len()..]);
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    rests
        .filter_map(|rest| rest.split(|letter| !is_letter(letter)).next())
        .filter(|word| !word.is_empty())
        .collect()
}

fn names_crate(line: &str, outside: &str) -> bool {
    let path = format!("{outside}::");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
    })
}
