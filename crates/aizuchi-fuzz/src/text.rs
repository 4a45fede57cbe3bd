//! Targets for splitting long texts and for parsing commands.

use aizuchi_actions::command::Command;
use aizuchi_agent::inbox::addressed::by_name::is_call;
use aizuchi_agent::inbox::addressed::in_thread::only_closes;
use aizuchi_model::chat::{is_blank, to_single_line, to_visible_text};
use aizuchi_model::split::{split, utf16_length};
use aizuchi_platform::local::mention::parse_mentions;

/// Splits a text. No piece may be too long or empty, and no visible character may be lost. The first byte is the
/// maximum length of a piece.
pub fn splitting(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let longest = 20 + 8 * usize::from(*length);
    let pieces = split(&text, longest);
    for piece in &pieces {
        assert!(utf16_length(piece) <= longest, "{piece:?} is longer than {longest}");
        assert!(!piece.trim().is_empty(), "a piece of {text:?} is empty");
    }
    let characters =
        |text: &str| text.chars().filter(|character| character.is_alphanumeric()).count();
    let kept: usize = pieces.iter().map(|piece| characters(piece)).sum();
    assert!(kept >= characters(&text), "{text:?} lost letters in {pieces:?}");
}

/// Parses chat text as commands, mentions and lines.
pub fn commands(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    Command::parse_message(&text, "Aizuchi");
    Command::parse(&text);
    parse_mentions(&text, "Aizuchi", &[]);
    is_call(&text, &["aizuchi".to_owned(), "相槌".to_owned()]);
    only_closes(&text, 0.0);
    is_blank(&text);
    to_visible_text(&text);
    let line = to_single_line(&text);
    assert!(!line.contains(['\n', '\r', '\u{2028}']), "{line:?} has a line break");
}
