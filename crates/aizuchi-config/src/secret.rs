//! Secrets, and which texts an error message may show.

use std::fmt;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// A key or a token. It is never printed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String", inline, extend("format" = "password"))]
pub struct Secret(SecretString);

/// The keys whose values, and everything below them, are secret.
const SECRET_KEYS: [&str; 9] = [
    "api_key", "app_token", "bot_token", "env", "extra_headers", "headers", "signing_secret",
    "token", "secret",
];

/// The prefixes of API keys and tokens.
const SECRET_PREFIXES: [&str; 9] =
    ["sk-", "xox", "xapp-", "xai-", "AIza", "tvly-", "ghp_", "Bearer ", "Bot "];

/// The longest text that an error message shows, in characters.
const MAX_SHOWN_CHARACTERS: usize = 40;

impl Secret {
    pub fn new(text: &str) -> Self {
        Self(SecretString::from(text.trim()))
    }

    /// The plain secret.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The secret for the program that sends it.
    pub fn to_request(&self) -> SecretString {
        self.0.clone()
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

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

pub fn is_secret_key(key: &str) -> bool {
    SECRET_KEYS.contains(&key)
}

/// The escaped text, if an error message may show it. `None` if it is long or looks like a secret.
pub fn displayable(text: &str) -> Option<String> {
    let has_secret_prefix = SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    // A secret may have been written under the wrong key, so the text itself decides.
    let has_random_word =
        text.split(|character: char| !character.is_ascii_alphanumeric()).any(looks_random);
    let is_displayable = !has_secret_prefix
        && !has_random_word
        // In a URL, the password precedes the `@`.
        && !text.contains('@')
        && text.chars().count() <= MAX_SHOWN_CHARACTERS;
    is_displayable.then(|| text.escape_debug().to_string())
}

/// Whether a word is long and mixes letters with digits.
fn looks_random(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().any(|character| kind(&character));
    word.len() >= 16 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_secrets_are_not_displayable() {
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
    fn debug_hides_the_secret() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "[secret]");
    }
}
