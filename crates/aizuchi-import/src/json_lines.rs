//! Reads JSON Lines without keeping absurdly long lines in memory.

use std::io::{BufRead, Read};

/// The maximum length of a line that can hold a message.
pub const MAX_LINE_BYTES: u64 = 16 << 20;

/// Receives a line with its number, counted from 1, or the reason why it cannot be read.
pub type LineVisitor<'a> = &'a mut dyn FnMut(u64, Result<&[u8], String>) -> anyhow::Result<()>;

/// Passes on each line that is not blank, with its number. A line that is too long is passed on as an error.
pub fn read_lines(input: &mut dyn BufRead, take: LineVisitor<'_>) -> anyhow::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = input.take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if length > MAX_LINE_BYTES && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            take(number, Err(format!("it is longer than {} MB", MAX_LINE_BYTES >> 20)))?;
            continue;
        }
        // Some programs write a byte order mark.
        let bare = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(&line);
        if !bare.iter().all(u8::is_ascii_whitespace) {
            take(number, Ok(bare))?;
        }
    }
    Ok(())
}

/// Whether a line contains this word. Searching a `str` is many times as fast as searching bytes.
pub fn holds(line: &[u8], word: &str) -> bool {
    match std::str::from_utf8(line) {
        Ok(text) => text.contains(word),
        Err(_) => line.windows(word.len()).any(|part| part == word.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_any_bytes() {
        for (line, expected) in
            [("{\"kind\":1}", true), ("{\"kin\":\"d\"}", false), ("kind", false), ("", false)]
        {
            assert_eq!(holds(line.as_bytes(), "\"kind\""), expected, "{line}");
            let no_text = [&[0xff][..], line.as_bytes()].concat();
            assert_eq!(holds(&no_text, "\"kind\""), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_refused_without_being_kept() {
        let endless = std::io::repeat(b'x').take(MAX_LINE_BYTES * 2);
        let mut input = std::io::BufReader::new(endless.chain(&b"\n \n{}\n"[..]));
        let mut seen = Vec::new();
        read_lines(&mut input, &mut |number, line| {
            seen.push((number, line.map(<[u8]>::to_vec)));
            Ok(())
        })
        .unwrap();
        let too_long = "it is longer than 16 MB".to_owned();
        assert_eq!(seen, [(1, Err(too_long)), (3, Ok(b"{}\n".to_vec()))]);
    }
}
