//! Statements on whichever table is copied. Tables and columns are named by the schema itself.

/// All rows of a table.
pub fn rows_of(table: &str, columns: &[&str]) -> String {
    // Rows of messages are numbered as they are inserted.
    let order = if table == "messages" { " ORDER BY rowid" } else { "" };
    format!("SELECT {} FROM \"{table}\"{order}", quoted(columns))
}

/// Puts this many rows at once. `mark` begins a placeholder.
pub fn insert(table: &str, columns: &[&str], rows: usize, mark: char) -> String {
    let values: Vec<String> = (0..rows)
        .map(|row| {
            let numbers = row * columns.len() + 1..=(row + 1) * columns.len();
            let marks: Vec<String> = numbers.map(|number| format!("{mark}{number}")).collect();
            format!("({})", marks.join(", "))
        })
        .collect();
    format!("INSERT INTO \"{table}\" ({}) VALUES {}", quoted(columns), values.join(", "))
}

pub fn delete_all(table: &str) -> String {
    format!("DELETE FROM \"{table}\"")
}

/// Empties tables of a server.
pub fn truncate(tables: &[&str]) -> String {
    format!("TRUNCATE {}", quoted(tables))
}

/// Has a server number the next row of a table after those that are there.
pub fn continue_sequence(table: &str, column: &str) -> String {
    format!(
        "SELECT setval(pg_get_serial_sequence('\"{table}\"', '{column}'),
            greatest((SELECT max(\"{column}\") FROM \"{table}\"), 1))"
    )
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(", ")
}
