//! Reports as text tables: one column for each mind or baseline, then the confusion matrix and the misses of the first.

use aizuchi_model::context::state::ConversationState;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::eval::StateAnswer;
use crate::eval::report::{MissedCase, StateReport};
use crate::eval::score::StateScore;

/// The number of misses that are listed.
const MAX_LISTED_MISSES: usize = 20;

pub fn tables(report: &StateReport, baselines: &[StateReport]) -> String {
    let reports: Vec<&StateReport> = std::iter::once(report).chain(baselines).collect();
    let mut parts = vec![scores(&reports), confusion(report)];
    if !report.misses.is_empty() {
        parts.push(misses(&report.misses));
    }
    parts.join("\n\n")
}

fn scores(reports: &[&StateReport]) -> String {
    let names = reports.iter().map(|report| report.name.clone());
    let mut table = empty(std::iter::once(String::new()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&StateReport) -> String| {
        let values = reports.iter().map(|report| value(report));
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    };
    row("cases", &|report| report.all.cases.to_string());
    row("right", &|report| share(report.all.right, report.all.cases));
    row("macro-F1", &|report| format!("{:.3}", report.all.macro_f1()));
    for label in ConversationState::ALL {
        row(&format!("… {}", label.label()), &|report| {
            report.all.f1(label).map_or("–".to_owned(), |f1| format!("{f1:.3}"))
        });
    }
    row("pairs with both halves right", &|report| pairs(&report.all));
    row("answers that name no state", &|report| report.all.no_state.to_string());
    row("calls that failed", &|report| report.all.failed.to_string());
    for (index, (tag, _)) in reports[0].languages.iter().enumerate() {
        row(tag, &|report| group(&report.languages[index].1));
    }
    for (index, (about, _)) in reports[0].by_topic.iter().enumerate() {
        row(about, &|report| group(&report.by_topic[index].1));
    }
    right_aligned(table)
}

fn group(score: &StateScore) -> String {
    let right = share(score.right, score.cases);
    let pairs = if score.pairs == 0 {
        String::new()
    } else {
        format!(", pairs {} of {}", score.right_pairs, score.pairs)
    };
    format!("{right}, F1 {:.3}{pairs}", score.macro_f1())
}

fn pairs(score: &StateScore) -> String {
    if score.pairs == 0 { "–".to_owned() } else { share(score.right_pairs, score.pairs) }
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.3} ({part} of {whole})", part as f64 / whole.max(1) as f64)
}

/// Builds the confusion matrix: expected labels in rows, named states in columns.
fn confusion(report: &StateReport) -> String {
    let labels = ConversationState::ALL.map(|label| label.label().to_owned());
    let head = std::iter::once("wanted, and named".to_owned());
    let mut table = empty(head.chain(labels).chain(["failed".to_owned()]));
    for wanted in ConversationState::ALL {
        let named = ConversationState::ALL.into_iter().map(Some).chain([None]);
        let counts = named.map(|named| report.all.confusion.get(&(wanted, named)));
        let counts = counts.map(|count| count.copied().unwrap_or_default().to_string());
        table.add_row(std::iter::once(wanted.label().to_owned()).chain(counts));
    }
    let table = right_aligned(table);
    match report.all.no_state {
        0 => table,
        count => format!("{table}\n{count} under ACTIVE named no state."),
    }
}

fn misses(misses: &[MissedCase]) -> String {
    let listed = misses.iter().take(MAX_LISTED_MISSES).map(|miss| {
        let labels: Vec<&str> = miss.labels.iter().map(|label| label.label()).collect();
        let (id, labels) = (&miss.id, labels.join(" or "));
        match &miss.answer {
            StateAnswer::State(state) => format!("{id}: {}, not {labels}", state.label()),
            StateAnswer::NoState => format!("{id}: no state, not {labels}"),
            StateAnswer::Failed(why) => format!("{id}: the call failed: {why}"),
        }
    });
    let mut listed: Vec<String> = listed.collect();
    if misses.len() > MAX_LISTED_MISSES {
        listed.push(format!("… and {} more; --json tells all", misses.len() - MAX_LISTED_MISSES));
    }
    listed.join("\n")
}

fn empty(header: impl Iterator<Item = String>) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(header);
    table
}

fn right_aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_misses_are_listed_with_their_kind() {
        use ConversationState::{Active, Conflict, Ending};
        let miss = |labels: &[ConversationState], answer| MissedCase {
            id: "x".to_owned(),
            labels: labels.to_vec(),
            answer,
        };
        let mut all = vec![
            miss(&[Ending, Conflict], StateAnswer::State(Active)),
            miss(&[Ending], StateAnswer::NoState),
            miss(&[Ending], StateAnswer::Failed("nobody is there".to_owned())),
        ];
        let listed = "x: ACTIVE, not ENDING or CONFLICT\nx: no state, not ENDING\n\
                    x: the call failed: nobody is there";
        assert_eq!(misses(&all), listed);
        all.resize(22, all[0].clone());
        let listed = misses(&all);
        assert_eq!(listed.lines().count(), 21);
        assert!(listed.ends_with("\n… and 2 more; --json tells all"), "{listed}");
    }
}
