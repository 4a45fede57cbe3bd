//! How long a person takes to write words down once they know them.

use jiff::SignedDuration;

use crate::persona::Language;

/// Of one character, in milliseconds. English: 51.6 words of five characters a minute, the mean of 168,000
/// people (Dhakal et al., *Observations on Typing from 136 Million Keystrokes*, 2018). Japanese: the slope
/// of reply times over lengths in RealPersonaChat (benchmarks B5), which has to choose among words, too.
const ENGLISH_MS: i64 = 230;
const JAPANESE_MS: i64 = 790;
/// Nobody watches somebody type for longer than this; models write more than people do.
const MAX_TYPING_TIME: SignedDuration = SignedDuration::from_secs(20);

pub fn typing_time(words: &str, language: Language) -> SignedDuration {
    let each = match language {
        Language::En => ENGLISH_MS,
        Language::Ja => JAPANESE_MS,
    };
    let characters = i64::try_from(words.chars().count()).unwrap_or(i64::MAX);
    SignedDuration::from_millis(each.saturating_mul(characters)).min(MAX_TYPING_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_takes_its_time_and_all_of_them_not_too_long() {
        for (words, language, milliseconds) in [
            ("", Language::En, 0),
            ("Try it.", Language::En, 1610),
            ("そうですね", Language::Ja, 3950),
            (&"words ".repeat(100), Language::En, 20_000),
        ] {
            let expected = SignedDuration::from_millis(milliseconds);
            assert_eq!(typing_time(words, language), expected, "{words}");
        }
    }
}
