//! Answers that somebody has collected elsewhere: JSON lines, one `{"id", "answer"}` for each case.

use std::collections::HashMap;

use serde::Deserialize;

use crate::eval::case::{FileLocation, ensure_no_problems, numbered};
use crate::replay::history::describe_json_error;
use aizuchi_core::chat::to_single_line;

/// How many missing cases are named.
const NAMED: usize = 5;
/// In letters of an id that no case has.
const SHOWN: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectedAnswer {
    id: String,
    answer: String,
}

/// The answers, in the order of the cases' ids. Every case has one answer and every answer a case.
pub fn read(file: &str, text: &[u8], ids: &[&str]) -> anyhow::Result<Vec<String>> {
    let places: HashMap<&str, usize> =
        ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let mut answers: Vec<Option<String>> = vec![None; ids.len()];
    let mut bad = Vec::new();
    for (line, written) in numbered(text) {
        if let Err(problem) = insert_answer(written, &places, &mut answers) {
            bad.push((FileLocation { file: file.to_owned(), line }, problem));
        }
    }
    ensure_no_problems(&bad)?;
    let answered = ids.iter().zip(&answers);
    let missing = answered.filter(|(_, answer)| answer.is_none()).map(|(id, _)| *id);
    let missing: Vec<&str> = missing.collect();
    anyhow::ensure!(missing.is_empty(), "{file} has no answer for {}", list_ids(&missing));
    Ok(answers.into_iter().flatten().collect())
}

fn insert_answer(
    written: &[u8],
    places: &HashMap<&str, usize>,
    answers: &mut [Option<String>],
) -> Result<(), String> {
    let text = std::str::from_utf8(written).map_err(|_| "it is not UTF-8".to_owned())?;
    let CollectedAnswer { id, answer } =
        serde_json::from_str(text).map_err(|error| describe_json_error(&error))?;
    let Some(place) = places.get(&*id) else {
        let id: String = to_single_line(&id).chars().take(SHOWN).collect();
        return Err(format!("there is no case {id:?}"));
    };
    if answers[*place].is_some() {
        return Err(format!("the case {id:?} was answered before"));
    }
    answers[*place] = Some(answer);
    Ok(())
}

fn list_ids(ids: &[&str]) -> String {
    let named: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{id:?}")).collect();
    let more = ids.len().saturating_sub(NAMED);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}
