//! Figures as a text table, with a column for each thing that is compared.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

/// What stands for an unknown figure.
pub const UNKNOWN: &str = "–";
/// The number of misses that are listed.
const MAX_LISTED_MISSES: usize = 20;

pub struct FigureTable<'a, T> {
    compared: Vec<&'a T>,
    table: Table,
}

impl<'a, T> FigureTable<'a, T> {
    pub fn new(compared: Vec<&'a T>, name: impl Fn(&T) -> &str) -> Self {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(std::iter::once("").chain(compared.iter().map(|one| name(one))));
        Self { table, compared }
    }

    pub fn row(&mut self, name: &str, value: impl Fn(&T) -> String) {
        let values = self.compared.iter().map(|one| value(one));
        self.table.add_row(std::iter::once(name.to_owned()).chain(values));
    }

    /// Returns the table, with all columns but the first aligned to the right.
    pub fn finish(mut self) -> String {
        for column in self.table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        self.table.to_string()
    }
}

pub fn share(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), |share| format!("{share:.3}"))
}

/// Lists the first misses. `None` if there are none.
pub fn misses(all: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let more = all.len().saturating_sub(MAX_LISTED_MISSES);
    let mut listed: Vec<String> = all.take(MAX_LISTED_MISSES).collect();
    listed.extend((more > 0).then(|| format!("… and {more} more; --json tells all")));
    (!listed.is_empty()).then(|| listed.join("\n"))
}
