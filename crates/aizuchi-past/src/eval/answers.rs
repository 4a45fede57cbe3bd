//! Answers that were collected elsewhere: JSON lines with one `{"id", "answer"}` for each case.

use std::collections::HashMap;

use aizuchi_model::chat::to_single_line;
use serde::Deserialize;

use crate::eval::case::{FileLocation, ensure_no_problems, numbered};
use crate::replay::history::describe_json_error;

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
pub fn read(file: &str, text: &[u8], ids: &[&str]) -> anyhow::Result<Vec<String>> {
    let indexes: HashMap<&str, usize> =
        ids.iter().enumerate().map(|(index, id)| (*id, index)).collect();
    let mut answers: Vec<Option<String>> = vec![None; ids.len()];
    let mut problems = Vec::new();
    for (line, bytes) in numbered(text) {
        if let Err(problem) = insert_answer(bytes, &indexes, &mut answers) {
            problems.push((FileLocation { file: file.to_owned(), line }, problem));
        }
    }
    ensure_no_problems(&problems)?;
    let answered = ids.iter().zip(&answers);
    let missing = answered.filter(|(_, answer)| answer.is_none()).map(|(id, _)| *id);
    let missing: Vec<&str> = missing.collect();
    anyhow::ensure!(missing.is_empty(), "{file} has no answer for {}", list_ids(&missing));
    Ok(answers.into_iter().flatten().collect())
}

fn insert_answer(
    bytes: &[u8],
    indexes: &HashMap<&str, usize>,
    answers: &mut [Option<String>],
) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let CollectedAnswer { id, answer } =
        serde_json::from_str(text).map_err(|error| describe_json_error(&error))?;
    let Some(index) = indexes.get(&*id) else {
        let id: String = to_single_line(&id).chars().take(MAX_ID_CHARACTERS).collect();
        return Err(format!("there is no case {id:?}"));
    };
    if answers[*index].is_some() {
        return Err(format!("the case {id:?} is answered twice"));
    }
    answers[*index] = Some(answer);
    Ok(())
}

fn list_ids(ids: &[&str]) -> String {
    let listed: Vec<String> = ids.iter().take(MAX_LISTED_IDS).map(|id| format!("{id:?}")).collect();
    let more = ids.len().saturating_sub(MAX_LISTED_IDS);
    if more == 0 { listed.join(", ") } else { format!("{} and {more} more", listed.join(", ")) }
}
