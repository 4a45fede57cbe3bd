//! How long a user takes to type a text.

use jiff::SignedDuration;

use crate::persona::Language;

/// Milliseconds per character. English: 51.6 words of five characters a minute, the mean of 168,000 people
/// (Dhakal et al., *Observations on Typing from 136 Million Keystrokes*, 2018). Japanese: the slope of reply
/// time over length in RealPersonaChat, which includes conversion.
const ENGLISH_MS: i64 = 230;
const JAPANESE_MS: i64 = 790;
/// An upper bound, because models write more than users do and a typing indicator should not stay on for
/// longer.
const MAX_TYPING_TIME: SignedDuration = SignedDuration::from_secs(20);

pub fn typing_time(text: &str, language: Language) -> SignedDuration {
    let each = match language {
        Language::En => ENGLISH_MS,
        Language::Ja => JAPANESE_MS,
    };
    let characters = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    SignedDuration::from_millis(each.saturating_mul(characters)).min(MAX_TYPING_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_time_grows_with_length_up_to_a_limit() {
        for (text, language, milliseconds) in [
            ("", Language::En, 0),
            ("Try it.", Language::En, 1610),
            ("そうですね", Language::Ja, 3950),
            (&"words ".repeat(100), Language::En, 20_000),
        ] {
            let expected = SignedDuration::from_millis(milliseconds);
            assert_eq!(typing_time(text, language), expected, "{text}");
        }
    }
}
