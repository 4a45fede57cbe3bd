//! Code shared by the commands that move a database.

use std::time::Duration;

use aizuchi_store::StoreError;

use crate::cli::{block_on, progress_bar};

const TICK: Duration = Duration::from_millis(120);

/// Does the work, and shows a spinner on a terminal while it is in progress.
pub fn spin<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> anyhow::Result<T> {
    let bar = progress_bar("{spinner} {msg}, {elapsed}", None).with_message(what);
    let result = block_on(async {
        bar.enable_steady_tick(TICK);
        anyhow::Ok(work.await)
    })?;
    bar.finish_and_clear();
    // Without the prefix, because the sentence around it already names the store.
    result.map_err(|error| match error {
        StoreError::Busy(why) | StoreError::Broken(why) => anyhow::anyhow!(why),
        StoreError::Refused(why) => anyhow::anyhow!(why.to_string()),
    })
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
