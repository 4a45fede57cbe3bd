//! How long a person takes to answer a message: to read it, and to type.

use jiff::SignedDuration;

use crate::persona::Language;

/// A person who reads along answers within one to three of the channel's gaps, and within these bounds.
const GAPS: f64 = 3.0;
const MIN_ANSWER_SECONDS: f64 = 10.0;
const MAX_ANSWER_SECONDS: f64 = 60.0;
/// Reading takes between this and twice as long, however long the message has waited.
const MIN_READING_SECONDS: f64 = 4.0;
/// Milliseconds per character. English: 51.6 words of five characters a minute, the mean of 168,000 people
/// (Dhakal et al., *Observations on Typing from 136 Million Keystrokes*, 2018). Japanese: the slope of reply
/// time over length in RealPersonaChat, which includes conversion.
const ENGLISH_MS: i64 = 230;
const JAPANESE_MS: i64 = 790;
/// An upper bound, because models write more than users do and a typing indicator should not stay on for
/// longer.
const MAX_TYPING_TIME: SignedDuration = SignedDuration::from_secs(20);

/// Returns how much longer a person would wait before answering a message that is `waited` old, in a channel with this
/// typical gap between messages, in seconds. `draw` is in `[0, 1)`. The silence so far counts as waiting, so the older
/// the message is, the sooner it is answered: within ten seconds once it is a minute old.
pub fn answer_delay(waited: SignedDuration, gap: f64, draw: f64) -> SignedDuration {
    let usual = gap * (1.0 + (GAPS - 1.0) * draw);
    let usual = usual.clamp(MIN_ANSWER_SECONDS, MAX_ANSWER_SECONDS);
    let reading = MIN_READING_SECONDS * (1.0 + draw);
    let left = (usual - waited.as_secs_f64()).max(reading).min(MAX_ANSWER_SECONDS);
    SignedDuration::from_millis((left * 1000.0).round() as i64)
}

/// Returns how long a person takes to type a text.
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
    fn the_silence_so_far_counts_as_waiting() {
        for (waited, gap, draw, expected) in [
            // A quiet channel: after a rest, only reading is left.
            (90, 600.0, 0.0, 4.0),
            (90, 600.0, 0.999, 7.996),
            (3600, 600.0, 0.5, 6.0),
            // A message that has just been written.
            (0, 600.0, 0.0, 60.0),
            (5, 600.0, 0.5, 55.0),
            (0, 2.0, 0.5, 10.0),
            (5, 12.0, 0.5, 19.0),
            (24, 12.0, 0.5, 6.0),
            // A clock that was set back.
            (-500, 600.0, 0.0, 60.0),
        ] {
            let delay = answer_delay(SignedDuration::from_secs(waited), gap, draw);
            assert_eq!(delay.as_secs_f64(), expected, "{waited} {gap} {draw}");
        }
    }

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
