//! Statements that copy any table. The names of tables and columns come from the schema itself.

/// Selects all rows of a table.
pub fn rows_of(table: &str, columns: &[&str]) -> String {
    // Messages get their row ids in the order of insertion.
    let order = if table == "messages" { " ORDER BY rowid" } else { "" };
    format!("SELECT {} FROM \"{table}\"{order}", quoted(columns))
}

/// Inserts `rows` rows at once. `mark` is the prefix of a placeholder.
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

/// Empties tables on a server.
pub fn truncate(tables: &[&str]) -> String {
    format!("TRUNCATE {}", quoted(tables))
}

/// Makes a server number new rows of a table after the existing ones.
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
