//! A report in a few lines for the terminal.

use std::fmt::Write as _;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::report as texts;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use crate::report::figures::{Report, ReportSource};
use crate::report::sentences::{headline, post_labels, prices, way_rows};

/// Formats the headline and the table of the page. `has_page` says whether a page was written.
pub fn summary(report: &Report, language: Language, has_page: bool) -> String {
    let l = language;
    let Some(policy) = report.policies.first() else { return String::new() };
    let mut text = String::new();
    // Writing to a string does not fail.
    for sentence in headline(report, policy, l) {
        let _ = writeln!(text, "{}", sentence.replace('`', ""));
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    let labels = [texts::way(l)].into_iter().chain(post_labels(report, l));
    table.set_header(labels.chain([texts::price_a_month(l)]));
    for row in way_rows(report, l) {
        let unknown = || ["–"; 4].map(str::to_owned);
        let posts = row.posts.unwrap_or_else(|_| unknown());
        table.add_row([row.name].into_iter().chain(posts).chain([row.price]));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "\n{table}\n");
    let _ = writeln!(text, "{} {}", texts::before_people_means(l), texts::mid_talk_means(l));
    let _ = writeln!(text, "{}", prices(report, policy, l));
    if !has_page {
        let hint = match report.source {
            ReportSource::Ledger => texts::write_page_ledger(l),
            _ => texts::write_page(l),
        };
        let _ = writeln!(text, "{hint}");
    }
    // Names come from outside and must not control the terminal.
    text.trim_end().chars().filter(|one| *one == '\n' || !one.is_control()).collect()
}
