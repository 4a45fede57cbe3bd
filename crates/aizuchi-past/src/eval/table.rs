//! Reports as text tables: one column for each mind or baseline, then the confusion matrix and the misses of the first.

use crate::answer::MindAnswer;
use crate::eval::report::{MissedCase, StateReport};
use crate::eval::score::StateScore;
use crate::table::{self, FigureTable, UNKNOWN, aligned};
use aizuchi_model::context::state::ConversationState;

pub fn tables(report: &StateReport, baselines: &[StateReport]) -> String {
    let reports: Vec<&StateReport> = std::iter::once(report).chain(baselines).collect();
    let parts = [scores(reports), confusion(report)].into_iter();
    parts.chain(misses(&report.misses)).collect::<Vec<_>>().join("\n\n")
}

fn scores(reports: Vec<&StateReport>) -> String {
    let first = reports[0];
    let mut table = FigureTable::new(reports, |report| &report.name);
    table.row("cases", |report| report.all.cases.to_string());
    table.row("right", |report| share(report.all.right, report.all.cases));
    table.row("macro-F1", |report| format!("{:.3}", report.all.macro_f1()));
    for label in ConversationState::ALL {
        let name = format!("… {}", label.label());
        table.row(&name, |report| table::share(report.all.f1(label)));
    }
    table.row("pairs with both halves right", |report| pairs(&report.all));
    table.row("answers that name no state", |report| report.all.no_state.to_string());
    table.row("calls that failed", |report| report.all.failed.to_string());
    for (index, (tag, _)) in first.languages.iter().enumerate() {
        table.row(tag, |report| group(&report.languages[index].1));
    }
    for (index, (about, _)) in first.by_topic.iter().enumerate() {
        table.row(about, |report| group(&report.by_topic[index].1));
    }
    table.finish()
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
    if score.pairs == 0 { UNKNOWN.to_owned() } else { share(score.right_pairs, score.pairs) }
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.3} ({part} of {whole})", part as f64 / whole.max(1) as f64)
}

/// Builds the confusion matrix: expected labels in rows, named states in columns.
fn confusion(report: &StateReport) -> String {
    let labels = ConversationState::ALL.map(|label| label.label().to_owned());
    let columns = labels.into_iter().chain(["failed".to_owned()]).collect();
    let mut table = table::table("wanted, and named", columns);
    for wanted in ConversationState::ALL {
        let named = ConversationState::ALL.into_iter().map(Some).chain([None]);
        let counts = named.map(|named| report.all.confusion.get(&(wanted, named)));
        let counts = counts.map(|count| count.copied().unwrap_or_default().to_string());
        table.add_row(std::iter::once(wanted.label().to_owned()).chain(counts));
    }
    let table = aligned(table);
    match report.all.no_state {
        0 => table,
        count => format!("{table}\n{count} under ACTIVE named no state."),
    }
}

fn misses(misses: &[MissedCase]) -> Option<String> {
    table::misses(misses.iter().map(|miss| {
        let labels: Vec<&str> = miss.labels.iter().map(|label| label.label()).collect();
        let (id, labels) = (&miss.id, labels.join(" or "));
        match &miss.answer {
            MindAnswer::Known(state) => format!("{id}: {}, not {labels}", state.label()),
            MindAnswer::Unreadable(_) => format!("{id}: no state, not {labels}"),
            MindAnswer::Unknown(why) => format!("{id}: the call failed: {why}"),
        }
    }))
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
            miss(&[Ending, Conflict], MindAnswer::Known(Active)),
            miss(&[Ending], MindAnswer::Unreadable(String::new())),
            miss(&[Ending], MindAnswer::Unknown("nobody is there".to_owned())),
        ];
        let listed = "x: ACTIVE, not ENDING or CONFLICT\nx: no state, not ENDING\n\
                    x: the call failed: nobody is there";
        assert_eq!(misses(&all).as_deref(), Some(listed));
        all.resize(22, all[0].clone());
        let listed = misses(&all).unwrap();
        assert_eq!(listed.lines().count(), 21);
        assert!(listed.ends_with("\n… and 2 more; --json tells all"), "{listed}");
    }
}
