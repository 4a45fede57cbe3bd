//! The architecture, as a test: inside a crate a module names only modules above it in `lib.rs`, there are no cycles
//! between modules, each external crate is used in one place, and there are no back doors. Cargo enforces the rest.

mod architecture;
mod logs;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod type_names;

/// Where an external crate may be named that several modules of a crate could use, by crate and module.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["aizuchi-store"]),
    ("prometheus_client", &["aizuchi-agent/metrics"]),
    (
        "reqwest",
        &[
            "aizuchi-http",
            "aizuchi-llm",
            "aizuchi-agent/web_access",
            "aizuchi-platform/call_error",
            "aizuchi-slack",
            "aizuchi-discord",
            "aizuchi-fakes",
            "aizuchi/cli",
            "aizuchi/mcp_servers",
        ],
    ),
    ("encoding_rs", &["aizuchi-agent/web_access"]),
    ("opentelemetry", &["aizuchi/cli"]),
    ("opentelemetry_http", &["aizuchi/cli"]),
    ("opentelemetry_otlp", &["aizuchi/cli"]),
    ("opentelemetry_sdk", &["aizuchi/cli"]),
    ("minijinja", &["aizuchi-llm/prompt"]),
    ("minijinja_contrib", &["aizuchi-llm/prompt"]),
    (
        "pulldown_cmark",
        &[
            "aizuchi-model/outgoing", "aizuchi-model/split", "aizuchi-model/emphasis",
            "aizuchi-model/table", "aizuchi-slack", "aizuchi-discord", "aizuchi-web",
        ],
    ),
    ("unicode_normalization", &["aizuchi-model/recall", "aizuchi-llm/prompt"]),
    ("unicode_segmentation", &["aizuchi-model/split"]),
    ("unicode_width", &["aizuchi-model/table"]),
    ("axum", &["aizuchi-web", "aizuchi-fakes"]),
    ("askama", &["aizuchi-web", "aizuchi-past/report", "aizuchi-fakes"]),
    ("hyper", &["aizuchi-web"]),
    ("hyper_util", &["aizuchi-web"]),
    ("http_body", &["aizuchi-web"]),
    ("rmcp", &["aizuchi-web", "aizuchi/mcp_servers"]),
    ("process_wrap", &["aizuchi/mcp_servers"]),
    ("getrandom", &["aizuchi-web"]),
    ("rustix", &["aizuchi/app", "aizuchi/pdf_text"]),
    ("pdf_extract", &["aizuchi/pdf_text"]),
    ("rust_embed", &["aizuchi-web"]),
    ("pulldown_cmark_escape", &["aizuchi-web"]),
    ("clap", &["aizuchi/cli"]),
    ("clap_complete", &["aizuchi/cli"]),
    ("clap_mangen", &["aizuchi/cli"]),
    ("tracing_subscriber", &["aizuchi/cli"]),
    ("indicatif", &["aizuchi/cli"]),
    ("serde_saphyr", &["aizuchi-config"]),
    (
        "schemars",
        &[
            "aizuchi-model", "aizuchi-store", "aizuchi-agent", "aizuchi-llm", "aizuchi-config",
            "aizuchi-web",
        ],
    ),
    ("dotenvy", &["aizuchi-config"]),
    ("comfy_table", &["aizuchi-past/table", "aizuchi-past/report"]),
    (
        "flate2",
        &[
            "aizuchi-model/input_file",
            "aizuchi-agent/web_access",
            "aizuchi-import/input",
            "aizuchi-web",
            "aizuchi-fakes",
        ],
    ),
    ("zip", &["aizuchi-import/input"]),
    ("tempfile", &["aizuchi-past/replay", "aizuchi-import/record_sorter", "aizuchi-import/input"]),
];

/// A source file: its crate, its module path in the crate, and its code without comments and tests.
struct Source {
    package: String,
    module: Vec<String>,
    path: PathBuf,
    text: String,
}

impl Source {
    fn top(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        let numbered = self.text[..tests].lines().enumerate();
        let numbered = numbered.map(|(number, line)| (number + 1, line));
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Returns the paths after `crate::` in the code, each with its line number. A group counts as one path per item.
    fn named(&self) -> Vec<(usize, Vec<String>)> {
        let lines: Vec<(usize, &str)> = self.lines().collect();
        let code = lines.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
        let line_at = |at: usize| lines[code[..at].matches('\n').count()].0;
        let mut named = Vec::new();
        for (at, word) in code.match_indices("crate::") {
            let mut paths = Vec::new();
            expand_path(&code[at + word.len()..], &[], &mut paths);
            named.extend(paths.into_iter().map(|path| (line_at(at), path)));
        }
        named
    }

    /// Returns the lines that choose between an English and a Japanese text. An arm may continue on the next line.
    fn texts_by_language(&self) -> Vec<usize> {
        let is_text = |line: &str| line.contains('"') || line.chars().any(is_japanese);
        let lines: Vec<(usize, &str)> = self.lines().collect();
        let next = lines.iter().skip(1).map(|(_, line)| *line).chain([""]);
        let found = lines.iter().zip(next).filter(|((_, line), next)| {
            let is_arm = line.contains("Language::Ja");
            let goes_on = line.ends_with(['{', '(']);
            line.contains(".pick(") || is_arm && (is_text(line) || goes_on && is_text(next))
        });
        found.map(|((number, _), _)| *number).collect()
    }
}

/// Parses the path, or several in braces, at the start of the code, and adds it after `prefix`. Returns the rest of the
/// code.
fn expand_path<'c>(code: &'c str, prefix: &[String], paths: &mut Vec<Vec<String>>) -> &'c str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') {
            rest = expand_path(rest, prefix, paths).trim_start();
            // `Name as Other,`
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
            if rest.is_empty() {
                return rest;
            }
        }
        return rest.trim_start().strip_prefix('}').unwrap_or(rest);
    }
    let end = code.find(|character: char| !character.is_alphanumeric() && character != '_');
    let (part, rest) = code.split_at(end.unwrap_or(code.len()));
    let mut path = prefix.to_vec();
    path.extend((!part.is_empty() && part != "self").then(|| part.to_owned()));
    match rest.strip_prefix("::") {
        Some(rest) => expand_path(rest, &path, paths),
        None => {
            paths.push(path);
            rest
        }
    }
}

#[test]
fn groups_name_each_of_their_parts() {
    let mut paths = Vec::new();
    let rest = expand_path("a::{self, b, c::{\n  D as E, f}, G::new()};", &[], &mut paths);
    let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["a", "a::b", "a::c::D", "a::c::f", "a::G::new"]);
    assert_eq!(rest, ";");
}

#[test]
fn modules_name_only_modules_above_them() {
    let mut wrong = Vec::new();
    for (package, root) in packages().into_iter().filter(|(name, _)| is_ordered(name)) {
        let order = order(&root);
        for source in sources().iter().filter(|source| source.package == package) {
            let Some(own) = order.iter().position(|name| name == source.top()) else { continue };
            for (number, path) in source.named() {
                let place =
                    path.first().and_then(|first| order.iter().position(|name| name == first));
                if place.is_some_and(|place| place > own) {
                    wrong.push(format!(
                        "{}:{number}: `{}` names `{}`, which comes after it in lib.rs",
                        source.path.display(),
                        source.top(),
                        path[0]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn no_modules_name_each_other_in_a_circle() {
    let all = sources();
    let mut wrong = Vec::new();
    for (package, _) in packages() {
        let own: Vec<&Source> = all.iter().filter(|source| source.package == package).collect();
        let names: BTreeMap<&[String], usize> =
            own.iter().enumerate().map(|(number, source)| (&*source.module, number)).collect();
        let home = |path: &[String]| {
            (1..=path.len()).rev().find_map(|length| names.get(&path[..length]).copied())
        };
        let edges: Vec<BTreeSet<usize>> = own
            .iter()
            .enumerate()
            .map(|(number, source)| {
                let named = source.named();
                let others = named.iter().filter_map(|(_, path)| home(path));
                // A file below another one may use that file's items, as `impl Agent` in `agent/judge.rs` does.
                let is_above = |other: usize| source.module.starts_with(&own[other].module);
                others.filter(|other| *other != number && !is_above(*other)).collect()
            })
            .collect();
        for circle in circles(&edges) {
            let files = circle.iter().map(|number| own[*number].path.display().to_string());
            wrong.push(files.collect::<Vec<_>>().join(" -> "));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// `scripts/test` runs two test targets in parallel and therefore names them. A target that it does not name would
/// never run.
#[test]
fn each_package_has_its_tests_in_one_target() {
    for (package, root) in packages() {
        let Ok(entries) = fs::read_dir(root.join("tests")) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let is_target = path.extension().is_some_and(|extension| extension == "rs")
                || path.join("main.rs").exists();
            assert!(
                !is_target || path.ends_with("it"),
                "{package}: {} would not run; its tests belong in tests/it",
                path.display()
            );
        }
    }
}

/// Returns the shortest cycle from each file back to itself, once for each set of files.
fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut found: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for start in 0..edges.len() {
        let mut paths = vec![vec![start]];
        let mut seen = BTreeSet::new();
        let circle = loop {
            let Some(path) = paths.first().cloned() else { break None };
            paths.remove(0);
            let last = *path.last().expect("a path has a beginning");
            if edges[last].contains(&start) {
                break Some(path);
            }
            for next in edges[last].iter().filter(|next| seen.insert(**next)) {
                paths.push(path.iter().copied().chain([*next]).collect());
            }
        };
        if let Some(path) = circle {
            let mut files = path.clone();
            files.sort_unstable();
            found.entry(files).or_insert(path);
        }
    }
    found.into_values().collect()
}

#[test]
fn outside_crates_have_one_home() {
    let mut wrong = Vec::new();
    for source in sources() {
        let place = format!("{}/{}", source.package, source.top());
        for (number, line) in source.lines() {
            for (outside, homes) in HOMES {
                let is_home = homes.iter().any(|home| *home == source.package || *home == place);
                if names_crate(line, outside) && !is_home {
                    wrong.push(format!(
                        "{}:{number}: `{place}` names `{outside}`, whose home is {}",
                        source.path.display(),
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
    for source in sources() {
        let path = &source.path;
        for (number, line) in source.lines() {
            let mut complain =
                |what: &str| wrong.push(format!("{}:{number}: {what}", path.display()));
            // A future awaited where it is called is not a separate task.
            let is_awaited = source.top() == "web_access"
                && (line.contains("spawn_blocking(parse).await")
                    || line.contains("spawn_blocking(unpack).await"));
            // An operator's MCP server is a process, not a task, and so is the PDF reader.
            let may_spawn = ["app", "replay", "mcp_servers", "pdf_text"].contains(&source.top());
            if line.contains("spawn") && !may_spawn && !is_awaited {
                complain("tasks are spawned in `app` only");
            }
            if line.contains("use crate::{") && is_ordered(&source.package) {
                complain("one path a line, so that the order of modules can be read");
            }
            let is_lock = ["Mutex", "RwLock"].iter().any(|lock| line.contains(lock));
            if line.trim_start().trim_start_matches("pub ").starts_with("static ") && is_lock {
                complain("a static holds no state: it would outlive what was forgotten");
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
fn texts_in_two_languages_are_in_the_catalogue() {
    let mut wrong = Vec::new();
    for source in sources() {
        // `persona` contains a language tag.
        let is_home =
            source.package == "aizuchi-model" && ["texts", "persona"].contains(&source.top());
        for number in source.texts_by_language().into_iter().filter(|_| !is_home) {
            wrong.push(format!(
                "{}:{number}: a text in one of two languages; make it an entry of \
                 crates/aizuchi-model/src/texts/ and call that",
                source.path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_checks_notice_what_they_should() {
    let source = |text: &str| Source {
        package: "aizuchi".to_owned(),
        module: vec!["web".to_owned()],
        path: PathBuf::new(),
        text: text.to_owned(),
    };
    let named =
        source("use crate::store::{Store};\n// crate::cli\nfn f(a: crate::app::App) {}\n").named();
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(named, [(1, path("store::Store")), (3, path("app::App"))]);
    assert!(names_crate("use sqlx::query;", "sqlx"));
    assert!(!names_crate("let my_sqlx::x", "sqlx"));
    assert_eq!(source("a\n#[cfg(test)]\nmod tests {\n b.spawn()\n}\n").lines().count(), 1);
    let texts =
        "a.pick(1)\n Language::Ja => \"b\",\n Language::Ja => &C,\n Language::Ja => f!(\n\"d\"\n";
    assert_eq!(source(texts).texts_by_language(), [1, 2, 4]);
    assert!(is_japanese('言') && !is_japanese('é'));
    let edges = [vec![1], vec![2], vec![0, 3], vec![]].map(BTreeSet::from_iter);
    assert_eq!(circles(&edges), [[0, 1, 2]]);
    assert!(sources().len() > 300 && packages().len() == 18);
}

#[test]
fn the_page_has_every_text_in_both_languages() {
    let text = fs::read_to_string(root().join("crates/aizuchi-web/src/static/i18n.js")).unwrap();
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

/// Returns the crates of the workspace that make up the program and the tests' shared code, with their folders.
fn packages() -> Vec<(String, PathBuf)> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let named = crates.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    named.chain([("aizuchi".to_owned(), root().to_owned())]).collect()
}

/// Whether the order in `lib.rs` is the reading order. In an adapter, and where `lib.rs` holds a crate's own type, all
/// modules belong to that.
fn is_ordered(package: &str) -> bool {
    ["aizuchi", "aizuchi-agent", "aizuchi-http", "aizuchi-model", "aizuchi-past"].contains(&package)
}

/// Returns the modules, in the order of `lib.rs`.
fn order(package: &Path) -> Vec<String> {
    let lib = fs::read_to_string(package.join("src/lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let order: Vec<String> = modules.map(str::to_owned).collect();
    assert!(order.len() > 3, "lib.rs lists its modules as `pub mod name;`");
    order
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for (package, home) in packages() {
        if ["aizuchi-harness", "aizuchi-fuzz"].contains(&&*package) {
            continue;
        }
        let src = home.join("src");
        let mut folders = vec![src.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let inside = path.strip_prefix(&src).unwrap().with_extension("");
                    let module = inside.iter().map(|part| part.to_str().unwrap().to_owned());
                    let module: Vec<String> = module.filter(|part| part != "lib").collect();
                    let text = fs::read_to_string(&path).unwrap();
                    let path = path.strip_prefix(root()).unwrap().to_owned();
                    sources.push(Source { package: package.clone(), module, path, text });
                }
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether the character is hiragana, katakana, kanji or their punctuation.
pub fn is_japanese(character: char) -> bool {
    matches!(character, '\u{3000}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ff01}'..='\u{ff60}')
}

fn names_crate(line: &str, outside: &str) -> bool {
    let path = format!("{outside}::");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|character| {
            character.is_alphanumeric() || character == '_' || character == ':'
        })
    })
}
