//! Scores as a table, one column a policy.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::replay::score::{Score, share};

pub fn table(scores: &[Score]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let names = scores.iter().map(|score| score.policy.clone());
    table.set_header(std::iter::once(String::new()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&Score) -> String| {
        let values = scores.iter().map(value);
        table.add_row(std::iter::once(name.to_owned()).chain(values));
    };
    row("messages (by people)", &|score| format!("{} ({})", score.messages, score.human_messages));
    row("judge calls", &|score| score.judge_calls.to_string());
    row("… per 1000 human messages", &|score| format!("{:.1}", score.calls_per_1000()));
    row("… overtaken while they ran", &|score| score.overtaken_calls.to_string());
    row("… that would land in an active exchange", &|score| {
        format!("{:.3}", score.share_in_exchange())
    });
    row("settled by a gate without a call", &|score| score.gated.to_string());
    row("questions that nobody answered", &|score| score.open_questions.to_string());
    row("… judged within 600 s", &|score| match score.coverage() {
        Some(coverage) => format!("{coverage:.3}"),
        None => "–".to_owned(),
    });
    row("decisions that failed", &|score| score.failed.to_string());
    row("spoken posts", &|score| score.spoken_posts.to_string());
    row("… delays, distance from people's", &|score| match score.timing.distance() {
        Some(distance) => format!("{distance:.3}"),
        None => "–".to_owned(),
    });
    row("… their median (people's), in seconds", &|score| match score.timing.medians() {
        Some((own, human)) => format!("{own:.0} ({human:.0})"),
        None => "–".to_owned(),
    });
    row("… followed by somebody within 5 s (people's lines)", &|score| {
        let timing = &score.timing;
        let own = share(timing.preempting_posts, timing.posts);
        format!("{own:.3} ({:.3})", share(timing.preempting_lines, timing.human_lines))
    });
    row("prompt bytes", &|score| score.prompt_bytes.to_string());
    row("… shared with the prompt before", &|score| format!("{:.3}", score.prefix_share()));
    row("replayed messages per second", &|score| format!("{:.0}", score.messages_per_second()));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
