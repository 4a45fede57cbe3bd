//! Scores as a table with one column for each policy.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::replay::score::ReplayScore;
use crate::replay::timing::Waits;

/// The placeholder for an unknown figure.
const UNKNOWN: &str = "–";

pub fn table(scores: &[ReplayScore]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let names = scores.iter().map(|score| score.policy.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&ReplayScore) -> String| {
        let values = scores.iter().map(value);
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    };
    row("messages (by people)", &|score| format!("{} ({})", score.messages, score.human_messages));
    row("judge calls", &|score| score.judge_calls.to_string());
    row("… per 1000 human messages", &|score| match score.calls_per_1000() {
        Some(calls) => format!("{calls:.1}"),
        None => UNKNOWN.to_owned(),
    });
    row("… overtaken while they ran", &|score| score.superseded_calls.to_string());
    row("… that looked a second time", &|score| score.second_looks.to_string());
    row("… that would land in an active exchange", &|score| {
        format_share(score.share_in_exchange())
    });
    row("… that somebody writes on within 5 s", &|score| format_share(score.share_followed()));
    row("settled by a gate without a call", &|score| score.gated.to_string());
    row("questions that nobody answered", &|score| match score.is_annotated {
        true => score.open_questions.to_string(),
        false => UNKNOWN.to_owned(),
    });
    row("… judged within 600 s", &|score| format_share(score.coverage()));
    row("… spoken to within 600 s", &|score| format_share(score.spoken_coverage()));
    row("decisions that failed", &|score| score.failed.to_string());
    row("spoken posts", &|score| score.spoken_posts.to_string());
    row("… after a second look", &|score| score.second_look_posts.to_string());
    row("… seconds from the line: median, 90 %, worst", &|score| match score.timing.waits() {
        Some(Waits { median, p90, worst }) => format!("{median}, {p90}, {worst}"),
        None => UNKNOWN.to_owned(),
    });
    row("… in an active exchange", &|score| format_share(score.share_of_posts_in_exchange()));
    row("… with a line less than 5 s behind", &|score| {
        format_share(score.share_of_posts_colliding())
    });
    row("people's lines with another's so close", &|score| {
        format_share(score.share_of_messages_colliding())
    });
    row("prompt bytes", &|score| score.prompt_bytes.to_string());
    row("… shared with the prompt before, within a day", &|score| {
        format_share(score.prefix_share())
    });
    row("replayed messages per second", &|score| format!("{:.0}", score.messages_per_second()));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn format_share(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), |share| format!("{share:.3}"))
}
