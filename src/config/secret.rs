//! What must never be seen: keys and tokens, and whatever looks like one.

use std::fmt;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// A key or a token. It is never printed; whoever sends it asks for it by name.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String", inline, extend("format" = "password"))]
pub struct Secret(SecretString);

/// The settings that hold secrets, by their last key. What stands below them is secret as well.
const SECRET_KEYS: [&str; 7] =
    ["api_key", "app_token", "bot_token", "extra_headers", "signing_secret", "token", "secret"];

/// How providers begin their keys.
const SECRET_PREFIXES: [&str; 9] =
    ["sk-", "xox", "xapp-", "xai-", "AIza", "tvly-", "ghp_", "Bearer ", "Bot "];

/// The longest value that an error repeats.
const LONGEST_SHOWN: usize = 40;

impl Secret {
    pub fn new(text: &str) -> Self {
        Self(SecretString::from(text.trim()))
    }

    /// The secret itself, for the one who sends it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

pub fn is_secret_key(key: &str) -> bool {
    SECRET_KEYS.contains(&key)
}

/// The text as an error may repeat it: not if it is long, or could be a secret in the wrong place.
pub fn displayable(text: &str) -> Option<String> {
    let begins_like_one = SECRET_PREFIXES.iter().any(|beginning| text.starts_with(beginning));
    let has_word_of_noise =
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(looks_random);
    let is_fine = !begins_like_one
        && !has_word_of_noise
        && !text.contains('@')
        && text.chars().count() <= LONGEST_SHOWN;
    is_fine.then(|| text.escape_debug().to_string())
}

/// Long runs of letters and digits are not words.
fn looks_random(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().any(|letter| kind(&letter));
    word.len() >= 16 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_a_secret_is_not_shown() {
        for text in [
            "sk-x",
            "xoxb-1-a",
            "a2b4c6d8e0f2a4b6",
            "postgres://me:word@host/db",
            "a text that is much longer than anybody wants to read twice",
        ] {
            assert_eq!(displayable(text), None, "{text}");
        }
        for text in ["soon", "adaptively", "openai/", "mysql://x", "-1", "claude-haiku-4-5"] {
            assert_eq!(displayable(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn debug_hides_it() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "[secret]");
    }
}
