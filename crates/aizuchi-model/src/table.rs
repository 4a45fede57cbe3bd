//! Renders a table as monospaced text, because chat platforms have no tables. Japanese characters are two columns
//! wide.

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

pub fn format_table(rows: &[Vec<String>], columns: &[Alignment]) -> String {
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| rows.iter().filter_map(|row| Some(row.get(column)?.width())).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut lines: Vec<String> = rows.iter().map(|row| format_row(row, columns, &widths)).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    lines.insert(lines.len().min(1), rule.join("  "));
    lines.join("\n")
}

fn format_row(row: &[String], columns: &[Alignment], widths: &[usize]) -> String {
    let cells = row.iter().zip(columns).zip(widths).map(|((cell, alignment), width)| {
        let blanks = " ".repeat(width.saturating_sub(cell.width()));
        match alignment {
            Alignment::Right => blanks + cell,
            Alignment::None | Alignment::Left | Alignment::Center => format!("{cell}{blanks}"),
        }
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
