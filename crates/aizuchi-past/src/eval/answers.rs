//! Answers that were collected elsewhere: JSON lines with one `{"id", "answer"}` for each case.

use std::collections::HashMap;

use aizuchi_model::chat::to_single_line;
use serde::Deserialize;

use crate::eval::case::{ensure_no_problems, parse_json, read_each};

/// The number of missing cases that an error lists.
const MAX_LISTED_IDS: usize = 5;
/// The number of characters of an unknown id that an error shows.
const MAX_ID_CHARACTERS: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectedAnswer {
    id: String,
    answer: String,
}

/// Reads the answers in the order of `ids`. Fails unless every case has exactly one answer and every answer belongs to
/// a case.
pub fn read(file: &str, text: Vec<u8>, ids: &[&str]) -> anyhow::Result<Vec<String>> {
    let texts = [(file.to_owned(), text)];
    let (read, mut problems) =
        read_each(&texts, "an answer", parse_json, |answer: &CollectedAnswer| &answer.id);
    let mut answers = HashMap::new();
    for (location, CollectedAnswer { id, answer }) in read {
        if ids.contains(&&*id) {
            answers.insert(id, answer);
        } else {
            let id: String = to_single_line(&id).chars().take(MAX_ID_CHARACTERS).collect();
            problems.push((location, format!("there is no case {id:?}")));
        }
    }
    problems.sort();
    ensure_no_problems(&problems)?;
    let missing = ids.iter().copied().filter(|id| !answers.contains_key(*id));
    let missing: Vec<&str> = missing.collect();
    anyhow::ensure!(missing.is_empty(), "{file} has no answer for {}", list_ids(&missing));
    Ok(ids.iter().filter_map(|id| answers.remove(*id)).collect())
}

fn list_ids(ids: &[&str]) -> String {
    let listed: Vec<String> = ids.iter().take(MAX_LISTED_IDS).map(|id| format!("{id:?}")).collect();
    let more = ids.len().saturating_sub(MAX_LISTED_IDS);
    if more == 0 { listed.join(", ") } else { format!("{} and {more} more", listed.join(", ")) }
}
