//! The `COPY` blocks of a plain dump that `pg_dump` wrote: a head with the table and its columns, a line for each row,
//! and a line `\.` at the end. Everything else in the dump is skipped.

use std::io::BufRead;

use anyhow::Context as _;

/// A row of a table.
pub struct CopyRow<'a> {
    /// The name of the table without its schema.
    pub table: &'a str,
    /// The number of the line, counted from 1.
    pub line: usize,
    columns: &'a [String],
    values: Vec<&'a [u8]>,
}

/// The head of a block.
struct CopyBlock {
    table: String,
    columns: Vec<String>,
}

/// The end of a block.
const END: &[u8] = b"\\.";

/// Whether a file with this beginning is a plain dump.
pub fn is_dump(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(1024)]);
    let lines = text.trim_start_matches('\u{feff}').lines();
    lines
        .take(8)
        .any(|line| line.starts_with("-- PostgreSQL database") && line.trim_end().ends_with("dump"))
}

/// Whether a file with this beginning is a dump in `pg_dump`'s own format.
pub fn is_custom_dump(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PGDMP")
}

/// Calls a function with each row of these tables, one at a time.
pub fn read_rows(
    mut input: impl BufRead,
    tables: &[&str],
    take: &mut dyn FnMut(CopyRow<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut block: Option<CopyBlock> = None;
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if input.read_until(b'\n', &mut bytes).context("cannot read the dump")? == 0 {
            break;
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match &block {
            None => {
                check_encoding(line)?;
                block = CopyBlock::parse(line);
            }
            Some(_) if line == END => block = None,
            Some(CopyBlock { table, .. }) if !tables.contains(&table.as_str()) => {}
            Some(CopyBlock { table, columns }) => {
                let values = line.split(|byte| *byte == b'\t').collect();
                take(CopyRow { table, line: number, columns, values })?;
            }
        }
    }
    match block {
        None => Ok(()),
        Some(block) => {
            anyhow::bail!("the dump ends in the middle of the table {}; make it again", block.table)
        }
    }
}

fn check_encoding(line: &[u8]) -> anyhow::Result<()> {
    if let Some(encoding) = line.strip_prefix(b"SET client_encoding = ") {
        anyhow::ensure!(
            encoding.starts_with(b"'UTF8'"),
            "the dump is not in UTF-8; make it with `pg_dump --encoding=UTF8`"
        );
    }
    Ok(())
}

impl CopyBlock {
    /// Parses `COPY public.sessions (id, "type") FROM stdin;`.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let rest = line.strip_prefix("COPY ")?.strip_suffix(" FROM stdin;")?;
        let (table, columns) = rest.strip_suffix(')')?.split_once(" (")?;
        let table = table.rsplit('.').next()?;
        let unquoted = |name: &str| name.trim().trim_matches('"').to_owned();
        Some(Self { table: unquoted(table), columns: columns.split(',').map(unquoted).collect() })
    }
}

impl CopyRow<'_> {
    /// Whether there is a value for each column.
    pub fn is_whole(&self) -> bool {
        self.columns.len() == self.values.len()
    }

    /// The value of a column; `None` if it is null, not text, or if there is no such column.
    pub fn value(&self, column: &str) -> Option<String> {
        let at = self.columns.iter().position(|known| known == column)?;
        let value = self.values.get(at).filter(|value| **value != b"\\N")?;
        String::from_utf8(unescape(value)).ok()
    }
}

/// Undoes the escapes of the text format: `\b`, `\f`, `\n`, `\r`, `\t`, `\v`, one to three octal digits, `\x` with one or
/// two hexadecimal ones, and the character itself for any other.
fn unescape(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let (byte, length) = match rest.first() {
            None => break,
            Some(b'b') => (0x08, 1),
            Some(b'f') => (0x0c, 1),
            Some(b'n') => (b'\n', 1),
            Some(b'r') => (b'\r', 1),
            Some(b't') => (b'\t', 1),
            Some(b'v') => (0x0b, 1),
            Some(b'0'..=b'7') => number(rest, 8, 3),
            Some(b'x') if rest.get(1).is_some_and(u8::is_ascii_hexdigit) => {
                let (byte, length) = number(&rest[1..], 16, 2);
                (byte, length + 1)
            }
            Some(other) => (*other, 1),
        };
        text.push(byte);
        rest = &rest[length..];
    }
    text.extend_from_slice(rest);
    text
}

/// The value of the leading digits, and their number.
fn number(digits: &[u8], radix: u32, most: usize) -> (u8, usize) {
    let digits = digits.iter().take(most).map_while(|digit| char::from(*digit).to_digit(radix));
    let (value, length) =
        digits.fold((0, 0), |(value, length), digit| (value * radix + digit, length + 1));
    // PostgreSQL drops the ninth bit of three octal digits, too.
    ((value & 0xff) as u8, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (value, expected) in [
            (&b"plain"[..], "plain"),
            (br"a\tb\nc\\d", "a\tb\nc\\d"),
            (br"\b\f\r\v\q", "\u{8}\u{c}\r\u{b}q"),
            (br"\101\x41\x4a!\7", "AAJ!\u{7}"),
            (r"茶\n会\\n".as_bytes(), "茶\n会\\n"),
            (br"\xyz", "xyz"),
            (br"end\", "end"),
        ] {
            assert_eq!(String::from_utf8(unescape(value)).unwrap(), expected);
        }
    }

    #[test]
    fn rows_of_the_named_tables_are_passed_on() {
        let dump = concat!(
            "--\n-- PostgreSQL database dump\n--\nSET client_encoding = 'UTF8';\n",
            "COPY public.other (a) FROM stdin;\nCOPY public.sessions (id) FROM stdin;\n\\.\n",
            "COPY public.sessions (id, \"type\", note) FROM stdin;\n1\ta\\tb\t\\N\n2\tc\n\\.\n",
            "-- 3\tnot a row\n",
        );
        assert!(is_dump(dump.as_bytes()));
        assert!(!is_dump(b"-- notes\n"));
        let mut seen = Vec::new();
        read_rows(dump.as_bytes(), &["sessions"], &mut |row| {
            seen.push((row.line, row.is_whole(), row.value("type"), row.value("note")));
            Ok(())
        })
        .unwrap();
        assert_eq!(
            seen,
            [(9, true, Some("a\tb".to_owned()), None), (10, false, Some("c".to_owned()), None)]
        );
    }

    #[test]
    fn half_a_dump_and_other_encodings_are_refused() {
        let read = |dump: &str| read_rows(dump.as_bytes(), &["sessions"], &mut |_| Ok(()));
        let error = read("COPY sessions (id) FROM stdin;\n1\n").unwrap_err();
        assert!(error.to_string().contains("in the middle of the table sessions"), "{error}");
        let error = read("SET client_encoding = 'EUC_JP';\n").unwrap_err();
        assert!(error.to_string().contains("not in UTF-8"), "{error}");
    }
}
