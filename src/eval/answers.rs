//! Answers that somebody has collected elsewhere: JSON lines, one `{"id", "answer"}` for each case.

use std::collections::HashMap;

use serde::Deserialize;

use crate::chat::one_line;
use crate::eval::Finding;
use crate::eval::case::{Case, Place, numbered, refuse};
use crate::replay::history::problem_of;

/// How many missing cases are named.
const NAMED: usize = 5;
/// In letters of an id that no case has.
const SHOWN: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    id: String,
    answer: String,
}

/// What the answers say, case by case. Every case has one answer and every answer a case.
pub fn read(file: &str, text: &[u8], cases: &[Case]) -> anyhow::Result<Vec<Finding>> {
    let places = cases.iter().enumerate().map(|(place, case)| (&*case.id, place));
    let places: HashMap<&str, usize> = places.collect();
    let mut findings: Vec<Option<Finding>> = vec![None; cases.len()];
    let mut bad = Vec::new();
    for (line, written) in numbered(text) {
        if let Err(problem) = take(written, &places, &mut findings) {
            bad.push((Place { file: file.to_owned(), line }, problem));
        }
    }
    refuse(&bad)?;
    let answered = cases.iter().zip(&findings);
    let missing = answered.filter(|(_, finding)| finding.is_none()).map(|(case, _)| &*case.id);
    let missing: Vec<&str> = missing.collect();
    anyhow::ensure!(missing.is_empty(), "{file} has no answer for {}", several(&missing));
    Ok(findings.into_iter().flatten().collect())
}

fn take(
    written: &[u8],
    places: &HashMap<&str, usize>,
    findings: &mut [Option<Finding>],
) -> Result<(), String> {
    let text = std::str::from_utf8(written).map_err(|_| "it is not UTF-8".to_owned())?;
    let Answer { id, answer } = serde_json::from_str(text).map_err(|error| problem_of(&error))?;
    let Some(place) = places.get(&*id) else {
        let id: String = one_line(&id).chars().take(SHOWN).collect();
        return Err(format!("there is no case {id:?}"));
    };
    if findings[*place].is_some() {
        return Err(format!("the case {id:?} was answered before"));
    }
    findings[*place] = Some(Finding::of(&answer));
    Ok(())
}

fn several(ids: &[&str]) -> String {
    let named: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{id:?}")).collect();
    let more = ids.len().saturating_sub(NAMED);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}
