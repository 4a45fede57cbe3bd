//! How many tokens a text is, before any model has counted them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Words, numbers and the like of one kind are cut into tokens together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Newline,
    AsciiWord,
    Digits,
    AsciiSign,
    Alphabetic,
    Kana,
    Kanji,
    Hangul,
    CjkSign,
    Symbol,
}

/// An estimate, rather too high than too low: what is estimated too low does not fit.
///
/// The rates are what the usual vocabularies (`cl100k`, `o200k`, Llama 3's, and what Anthropic's
/// counter answers) come to on chat. English words of up to six letters are mostly one token with the
/// space before them; numbers are cut after three digits; signs often come in pairs. Alphabets other
/// than Latin's own letters take about two letters a token. Kana are a little less than one token
/// each, since only endings like です are joined; kanji a little more, since rare ones are two or
/// three; Hangul syllables about one. Emoji fall apart into bytes, two or three tokens each.
pub fn estimate(text: &str) -> u64 {
    let mut thousandths = 0;
    let (mut same, mut length) = (Class::Space, 0);
    for letter in text.chars() {
        let class = class(letter);
        if class == same {
            length += 1;
        } else {
            thousandths += same.thousandths(length);
            (same, length) = (class, 1);
        }
    }
    thousandths += same.thousandths(length);
    u64::div_ceil(thousandths, 1000)
}

impl Class {
    /// Of a run of so many letters.
    fn thousandths(self, length: u64) -> u64 {
        match self {
            Class::Space => length.saturating_sub(1).div_ceil(4) * 1000,
            Class::Newline => 1000,
            Class::AsciiWord => length.div_ceil(6) * 1000,
            Class::Digits => length.div_ceil(3) * 1000,
            Class::AsciiSign => length.div_ceil(2) * 1000,
            Class::Alphabetic => length * 550,
            Class::Kana => length * 850,
            Class::Kanji => length * 1150,
            Class::Hangul => length * 1000,
            Class::CjkSign => length * 900,
            Class::Symbol => length * 2500,
        }
    }
}

fn class(letter: char) -> Class {
    match ASCII.get(letter as usize) {
        Some(class) => *class,
        None => class_of_others(letter),
    }
}

/// Most text is read more than once on its way into a prompt, and most of it is this.
static ASCII: [Class; 128] = {
    let mut classes = [Class::AsciiSign; 128];
    let mut letter = 0;
    while letter < 128 {
        classes[letter] = match letter as u8 {
            b'\n' | b'\r' => Class::Newline,
            b' ' | b'\t' => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' => Class::AsciiWord,
            b'0'..=b'9' => Class::Digits,
            _ => Class::AsciiSign,
        };
        letter += 1;
    }
    classes
};

fn class_of_others(letter: char) -> Class {
    match letter {
        'ぁ'..='ヿ' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Class::Kana,
        '㐀'..='鿿' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}' | '々' => Class::Kanji,
        '가'..='힣' | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' => Class::Hangul,
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' => Class::CjkSign,
        letter if letter.is_alphabetic() && letter < '\u{3000}' => Class::Alphabetic,
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{80}'..='\u{bf}' => Class::CjkSign,
        _ => Class::Symbol,
    }
}

/// How each model's own count differs from the estimate.
#[derive(Debug, Default)]
pub struct Corrections {
    factors: Mutex<HashMap<String, f64>>,
}

/// Of one more call against all before it: a few calls settle it, and one odd call does not upset it.
const WEIGHT: f64 = 0.2;
/// Whoever reports more or less than this counts something else than the prompt.
const RANGE: (f64, f64) = (0.5, 2.0);
/// Shorter prompts say little: what a provider adds around each of them weighs too much.
const SHORTEST_TOKENS: u64 = 100;

impl Corrections {
    /// A model has counted what was estimated.
    pub fn learn(&self, model: &str, estimated: u64, reported: u64) {
        if estimated < SHORTEST_TOKENS || reported == 0 {
            return;
        }
        let ratio = (reported as f64 / estimated as f64).clamp(RANGE.0, RANGE.1);
        let mut factors = self.factors.lock().unwrap_or_else(PoisonError::into_inner);
        match factors.get_mut(model) {
            Some(factor) => *factor += WEIGHT * (ratio - *factor),
            None => {
                factors.insert(model.to_owned(), ratio);
            }
        }
    }

    /// How many of the model's tokens an estimated one is.
    pub fn factor(&self, model: &str) -> f64 {
        let factors = self.factors.lock().unwrap_or_else(PoisonError::into_inner);
        factors.get(model).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_has_its_own_rate() {
        for (text, expected) in [
            ("", 0),
            ("hello", 1),
            ("hello there", 2),
            ("extraordinary", 3),
            ("2024-03-01", 6),
            ("a\n\nb", 3),
            ("おはよう", 4),
            ("東京", 3),
            ("안녕하세요", 5),
            ("привет", 4),
            ("🎉", 3),
            ("。", 1),
        ] {
            assert_eq!(estimate(text), expected, "{text}");
        }
    }

    #[test]
    fn a_model_is_learned_within_bounds() {
        let corrections = Corrections::default();
        assert_eq!(corrections.factor("a"), 1.0);
        corrections.learn("a", 1000, 1200);
        assert_eq!(corrections.factor("a"), 1.2);
        corrections.learn("a", 1000, 700);
        assert!((corrections.factor("a") - 1.1).abs() < 1e-9);
        corrections.learn("b", 1000, 90_000);
        corrections.learn("c", 10, 90_000);
        corrections.learn("d", 1000, 0);
        let factors = ["b", "c", "d"].map(|model| corrections.factor(model));
        assert_eq!(factors, [2.0, 1.0, 1.0]);
    }
}
