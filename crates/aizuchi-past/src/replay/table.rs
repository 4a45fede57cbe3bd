//! Scores as a table with one column for each policy.

use crate::replay::score::{ReplayScore, Waits};
use crate::table::{FigureTable, UNKNOWN, share};

pub fn table(scores: &[ReplayScore]) -> String {
    let mut table = FigureTable::new(scores.iter().collect(), |score| &score.policy);
    let mut row = |name: &str, value: &dyn Fn(&ReplayScore) -> String| table.row(name, value);
    row("messages (by people)", &|score| format!("{} ({})", score.messages, score.human_messages));
    row("judge calls", &|score| score.judge_calls.to_string());
    row("… per 1000 human messages", &|score| match score.calls_per_1000() {
        Some(calls) => format!("{calls:.1}"),
        None => UNKNOWN.to_owned(),
    });
    row("… overtaken while they ran", &|score| score.superseded_calls.to_string());
    row("… that looked a second time", &|score| score.second_looks.to_string());
    row("… that would land in an active exchange", &|score| share(score.share_in_exchange()));
    row("settled by a gate without a call", &|score| score.gated.to_string());
    row("questions that nobody answered", &|score| match score.is_annotated {
        true => score.open_questions.to_string(),
        false => UNKNOWN.to_owned(),
    });
    row("… judged within 600 s", &|score| share(score.coverage()));
    row("… spoken to within 600 s", &|score| share(score.spoken_coverage()));
    row("decisions that failed", &|score| score.failed.to_string());
    row("spoken posts", &|score| score.spoken_posts.to_string());
    row("… seconds from the line: median, 90 %, worst", &|score| match score.waits() {
        Some(Waits { median, p90, worst }) => format!("{median}, {p90}, {worst}"),
        None => UNKNOWN.to_owned(),
    });
    row("… in an active exchange", &|score| share(score.share_of_posts_in_exchange()));
    row("prompt bytes", &|score| score.prompt_bytes.to_string());
    row("… shared with the prompt before, within a day", &|score| share(score.prefix_share()));
    row("replayed messages per second", &|score| format!("{:.0}", score.messages_per_second()));
    table.finish()
}
