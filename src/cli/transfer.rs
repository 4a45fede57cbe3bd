//! Code shared by the commands that move a database.

use std::io::IsTerminal as _;
use std::time::Duration;

use aizuchi_store::StoreError;
use indicatif::{ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

/// Shows a spinner on a terminal while the work is in progress.
pub async fn spin<T>(what: &'static str, work: impl Future<Output = T>) -> T {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    let bar = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        .with_message(what);
    bar.enable_steady_tick(TICK);
    let result = work.await;
    bar.finish_and_clear();
    result
}

/// The reason without its prefix, because the sentence around it already names the store.
pub fn without_prefix(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Busy(why) | StoreError::Broken(why) => anyhow::anyhow!(why),
        StoreError::Refused(why) => anyhow::anyhow!(why.to_string()),
    }
}

/// Formats a count: “1 message”, “2 messages”.
pub fn count(number: u64, what: &str) -> String {
    match (number, what) {
        (1, _) => format!("1 {what}"),
        (_, "person") => format!("{number} people"),
        (_, "memory or memo") => format!("{number} memories and memos"),
        (_, _) => format!("{number} {what}s"),
    }
}
