//! Detects the encoding of a page or a text file: many Japanese ones are still in Shift_JIS or EUC-JP.

use std::borrow::Cow;

use encoding_rs::{Encoding, SHIFT_JIS, UTF_8};

/// How far into a page its encoding may be declared, in bytes, as in browsers.
const MAX_PRESCAN_BYTES: usize = 1_024;

/// Decodes a body by its byte order mark, its content type, the page's declaration, or as UTF-8. Invalid sequences are
/// replaced.
pub fn decode<'a>(body: &'a [u8], content_type: &str) -> Cow<'a, str> {
    let start = String::from_utf8_lossy(&body[..body.len().min(MAX_PRESCAN_BYTES)]);
    // If a page's declaration can be read as ASCII, it is not UTF-16, whatever it says.
    let in_page = || find_charset(&start).map(Encoding::output_encoding);
    let named = find_charset(content_type).or_else(in_page);
    let (text, _, _) = named.unwrap_or(UTF_8).decode(body);
    text
}

/// Decodes a file without further information: by its byte order mark (UTF-8 or UTF-16), as UTF-8, or as Shift_JIS, in
/// which Japanese spreadsheets are saved. Returns `None` if it is none of them.
pub fn decode_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..]);
    }
    let utf8 = UTF_8.decode_without_bom_handling_and_without_replacement(bytes);
    utf8.or_else(|| {
        let text = SHIFT_JIS.decode_without_bom_handling_and_without_replacement(bytes)?;
        // Other encodings of accented letters may be valid Shift_JIS, but contain no kana.
        text.contains(|character: char| matches!(character, '\u{3041}'..='\u{30fe}'))
            .then_some(text)
    })
}

/// Returns the encoding after the first `charset=`.
fn find_charset(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, label) = lower.split_once("charset=")?;
    let label = label.trim_start_matches(['"', '\'', ' ']);
    let is_end = |character: char| character.is_whitespace() || "\"';/>".contains(character);
    Encoding::for_label(label.split(is_end).next()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_it_is_encoded() {
        let shift_jis = b"\x91\x8a\x92\xc6";
        let in_page = [&b"<meta charset=\"Shift_JIS\">"[..], shift_jis].concat();
        let old = b"<META http-equiv=content-type content='text/html; charset=euc-jp'>\xc1\xea";
        for (body, content_type, expected) in [
            ("相槌".as_bytes(), "text/html", "相槌"),
            ("\u{feff}相槌".as_bytes(), "text/html; charset=shift_jis", "相槌"),
            (&shift_jis[..], "text/html; charset=Shift_JIS", "相槌"),
            (&shift_jis[..], "text/plain;charset=\"sjis\"", "相槌"),
            (&in_page[..], "text/html", "<meta charset=\"Shift_JIS\">相槌"),
            (
                &old[..],
                "text/html",
                "<META http-equiv=content-type content='text/html; charset=euc-jp'>相",
            ),
            (b"a\xff", "text/html; charset=nonsense", "a\u{fffd}"),
        ] {
            assert_eq!(decode(body, content_type), expected, "{content_type}");
        }
    }
}
