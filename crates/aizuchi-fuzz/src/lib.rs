//! Fuzz targets: for any input, they must neither panic nor hang, and their results must satisfy their own invariants.
//! `cargo fuzz` runs them (`scripts/fuzz`), and so does an ordinary test, on the corpora and on inputs that a seeded
//! mutator derives from them.

pub mod mutator;
pub mod slack;
pub mod discord;
pub mod models;
pub mod tools;
pub mod settings;
pub mod history;
pub mod text;

use std::path::PathBuf;

/// The format of a target's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Text,
    Json,
}

/// A function that accepts any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of its corpus and of its `cargo fuzz` target.
    pub name: &'static str,
    pub input: Input,
    pub run: fn(&[u8]),
    /// The cost of an input, relative to the cheapest targets.
    pub cost: usize,
}

pub const TARGETS: [Target; 15] = [
    Target { name: "slack_events", input: Input::Json, run: slack::events, cost: 1 },
    Target { name: "slack_mrkdwn", input: Input::Text, run: slack::mrkdwn, cost: 1 },
    Target { name: "discord_events", input: Input::Json, run: discord::events, cost: 1 },
    Target { name: "discord_markdown", input: Input::Text, run: discord::markdown, cost: 12 },
    Target { name: "judgments", input: Input::Json, run: models::judgments, cost: 1 },
    Target { name: "tool_calls", input: Input::Json, run: tools::tool_calls, cost: 20 },
    Target { name: "config", input: Input::Text, run: settings::config, cost: 4 },
    Target { name: "kotonoha_settings", input: Input::Text, run: settings::kotonoha, cost: 1 },
    Target { name: "replay_lines", input: Input::Json, run: history::replay_lines, cost: 1 },
    Target { name: "replay_exports", input: Input::Json, run: history::replay_exports, cost: 4 },
    Target { name: "export_lines", input: Input::Json, run: history::export_lines, cost: 1 },
    Target { name: "kotonoha_dump", input: Input::Text, run: history::kotonoha_dump, cost: 1 },
    Target { name: "eval_cases", input: Input::Json, run: history::eval_cases, cost: 1 },
    Target { name: "splitting", input: Input::Text, run: text::splitting, cost: 4 },
    Target { name: "commands", input: Input::Text, run: text::commands, cost: 1 },
];

impl Target {
    /// The target of this name. Panics if there is none.
    pub fn named(name: &str) -> Self {
        let named = TARGETS.into_iter().find(|target| target.name == name);
        named.unwrap_or_else(|| panic!("there is no target {name}"))
    }

    pub fn corpus_folder(&self) -> PathBuf {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
        PathBuf::from(root).join(self.name)
    }

    /// The files of its corpus, sorted by name.
    pub fn corpus(&self) -> Vec<(String, Vec<u8>)> {
        let folder = self.corpus_folder();
        let entries = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths = entries.map(|entry| entry.expect("the corpus can be listed").path());
        let mut files: Vec<_> = paths
            .map(|path| {
                let bytes = std::fs::read(&path).expect("the corpus can be read");
                (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files
    }
}
