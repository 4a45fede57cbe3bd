//! Estimates how many tokens a text has, and corrects the estimates by models' own counts.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Consecutive characters of one class are tokenized together. Only ASCII has such runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Space,
    Newline,
    Word,
    Digits,
    Punctuation,
    /// Not ASCII: each character counts separately.
    Other,
}

/// Estimates the tokens of a text, rather too high than too low: a prompt that is estimated too low
/// does not fit.
///
/// The rates match common vocabularies (`cl100k`, `o200k`, Llama 3's, and Anthropic's token
/// counting API) on chat. English words of up to six letters are mostly one token including the
/// space before them; numbers are split after three digits; punctuation often comes in pairs.
/// Alphabets other than ASCII take about two letters per token. Kana are a little less than one
/// token each, since only endings such as です are joined; kanji a little more, since rare ones are
/// two or three; Hangul syllables about one. Emoji are split into bytes: two or three tokens each.
pub fn estimate(text: &str) -> u64 {
    TokenCount::new(text).tokens()
}

/// The terms of an estimate. Texts that are split between two runs can be counted separately and
/// added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    whole: u64,
    thousandths: u64,
}

/// A text with its count.
#[derive(Clone, Debug)]
pub struct CountedText {
    pub text: Box<str>,
    pub count: TokenCount,
}

impl TokenCount {
    pub fn new(text: &str) -> Self {
        let (mut whole, mut thousandths) = (0, 0);
        let (mut same, mut position) = (CharClass::Other, 0);
        let bytes = text.as_bytes();
        // Whole prompts pass through this loop, so ASCII takes a path without branches.
        for (at, byte) in bytes.iter().enumerate() {
            let class = class(*byte);
            position = if class == same { position + 1 } else { 0 };
            if position > RUN_PERIOD {
                position = 1;
            }
            same = class;
            whole += u64::from(STARTS_TOKEN[class as usize][position & 15]);
            if class == CharClass::Other && text.is_char_boundary(at) {
                thousandths += text[at..].chars().next().map_or(0, thousandths_of);
            }
        }
        Self { whole, thousandths }
    }

    pub fn tokens(self) -> u64 {
        self.whole + u64::div_ceil(self.thousandths, 1000)
    }

    fn plus(self, other: Self) -> Self {
        let whole = self.whole + other.whole;
        Self { whole, thousandths: self.thousandths + other.thousandths }
    }
}

impl CountedText {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), count: TokenCount::new(text) }
    }
}

/// The text at the beginning of the last counted prompt. Consecutive prompts mostly share it.
#[derive(Debug, Default)]
pub struct KnownBeginning(Mutex<Option<CountedText>>);

impl KnownBeginning {
    fn count(&self, text: &str) -> TokenCount {
        let mut known = self.0.lock();
        if let Some(known) = known.as_ref().filter(|known| *known.text == *text) {
            return known.count;
        }
        known.insert(CountedText::new(text)).count
    }
}

/// Estimates the tokens of a text that probably ends with known parts and a short rest.
pub fn estimate_with_known<'a>(
    text: &str,
    parts: impl DoubleEndedIterator<Item = &'a CountedText> + Clone,
    beginning: Option<&KnownBeginning>,
) -> u64 {
    let last = parts.clone().next_back();
    let Some((at, last)) = last.and_then(|last| Some((text.rfind(&*last.text)?, last))) else {
        return estimate(text);
    };
    let (mut rest, after) = text.split_at(at + last.text.len());
    if !is_between_runs(rest, after) {
        return estimate(text);
    }
    let mut sum = TokenCount::new(after);
    for part in parts.rev() {
        let before = rest.strip_suffix(&*part.text);
        let Some(before) = before.filter(|before| is_between_runs(before, &part.text)) else {
            break;
        };
        sum = sum.plus(part.count);
        rest = before;
    }
    let beginning = match beginning {
        Some(beginning) => beginning.count(rest),
        None => TokenCount::new(rest),
    };
    sum.plus(beginning).tokens()
}

fn is_between_runs(before: &str, after: &str) -> bool {
    let (last, first) = (before.bytes().next_back(), after.bytes().next());
    let classes = last.zip(first).map(|(last, first)| (class(last), class(first)));
    classes.is_none_or(|(last, first)| last != first || last == CharClass::Other)
}

fn class(byte: u8) -> CharClass {
    CLASSES[usize::from(byte)]
}

/// After this many characters, the pattern of a run repeats.
const RUN_PERIOD: usize = 12;

/// Whether a character begins a token, by its class and its position in the run.
static STARTS_TOKEN: [[bool; 16]; 6] = {
    let mut starts = [[false; 16]; 6];
    starts[CharClass::Newline as usize][0] = true;
    let mut position = 0;
    while position <= RUN_PERIOD {
        // The first space belongs to the next word.
        starts[CharClass::Space as usize][position] = position % 4 == 1;
        starts[CharClass::Word as usize][position] = position % 6 == 0;
        starts[CharClass::Digits as usize][position] = position % 3 == 0;
        starts[CharClass::Punctuation as usize][position] = position % 2 == 0;
        position += 1;
    }
    starts
};

static CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Other; 256];
    let mut character = 0;
    while character < 128 {
        classes[character] = match character as u8 {
            b'\n' | b'\r' => CharClass::Newline,
            b' ' | b'\t' => CharClass::Space,
            b'a'..=b'z' | b'A'..=b'Z' => CharClass::Word,
            b'0'..=b'9' => CharClass::Digits,
            _ => CharClass::Punctuation,
        };
        character += 1;
    }
    classes
};

/// The rate of a character beyond ASCII, in thousandths of a token.
fn thousandths_of(character: char) -> u64 {
    match character {
        'ぁ'..='ヿ' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => KANA,
        '㐀'..='鿿' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}' | '々' => KANJI,
        '가'..='힣' | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' => HANGUL,
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' => CJK_PUNCTUATION,
        character if character.is_alphabetic() && character < '\u{3000}' => ALPHABETIC,
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{80}'..='\u{bf}' => CJK_PUNCTUATION,
        _ => SYMBOL,
    }
}

const ALPHABETIC: u64 = 550;
const KANA: u64 = 850;
const KANJI: u64 = 1150;
const HANGUL: u64 = 1000;
const CJK_PUNCTUATION: u64 = 900;
const SYMBOL: u64 = 2500;

/// How each model's own count differs from the estimate, and how many tokens its calls use.
#[derive(Debug, Default)]
pub struct TokenCorrections {
    factors: Mutex<HashMap<String, f64>>,
    /// The recent maximum of tokens that a call of a model for a verb used.
    most_used: Mutex<HashMap<(String, &'static str), u64>>,
}

/// The weight of one call: a few calls converge, and one outlier does little harm.
const LEARNING_RATE: f64 = 0.2;
/// A ratio outside this range means that the server counts something other than the prompt.
const FACTOR_RANGE: (f64, f64) = (0.5, 2.0);
/// Keeps a factor that is already a multiple of a tenth from being rounded up.
const ROUNDING_ERROR: f64 = 1e-6;
/// Shorter prompts are ignored: the provider's own overhead would distort the ratio.
const MIN_TOKENS: u64 = 100;

impl TokenCorrections {
    /// Learns from a call for which the model reported its count.
    pub fn record(&self, model: &str, estimated: u64, reported: u64) {
        if estimated < MIN_TOKENS || reported == 0 {
            return;
        }
        let ratio = (reported as f64 / estimated as f64).clamp(FACTOR_RANGE.0, FACTOR_RANGE.1);
        let mut factors = self.factors.lock();
        match factors.get_mut(model) {
            Some(factor) => *factor += LEARNING_RATE * (ratio - *factor),
            None => {
                factors.insert(model.to_owned(), ratio);
            }
        }
    }

    /// Learns from a call how many tokens one may use. Past maxima decay with each call.
    pub fn record_use(&self, model: &str, verb: &'static str, tokens: u64) {
        let mut most_used = self.most_used.lock();
        let most = most_used.entry((model.to_owned(), verb)).or_insert(tokens);
        *most = tokens.max(*most - *most / 10);
    }

    /// The recent maximum of tokens that a call used.
    pub fn most_used(&self, model: &str, verb: &'static str) -> Option<u64> {
        self.most_used.lock().get(&(model.to_owned(), verb)).copied()
    }

    /// How many tokens the model counts for each estimated token, rounded up to a tenth. What is shortened to fit
    /// must not change with each call, since prompts are meant to share their prefixes.
    pub fn factor(&self, model: &str) -> f64 {
        let factor = self.factors.lock().get(model).copied().unwrap_or(1.0);
        (factor * 10.0 - ROUNDING_ERROR).ceil() / 10.0
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
            ("Donaudampfschifffahrt and 1234567890123", 4 + 1 + 5),
            ("-------------- a", 7 + 1),
            ("a          b", 1 + 3 + 1),
            ("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nx", 1 + 1),
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
    fn known_parts_do_not_change_the_estimate() {
        let texts = ["", "a", "**x** y:\nz\n\n", "**x** y:\nあ。\n\n", "12 ", "é", "--", "\n"];
        let beginning = KnownBeginning::default();
        for (head, one) in texts.iter().flat_map(|head| texts.map(|one| (head, one))) {
            for (other, tail) in texts.iter().flat_map(|other| texts.map(|tail| (other, tail))) {
                let text = format!("{head}{one}{other}{tail}");
                let parts = [CountedText::new(one), CountedText::new(other)];
                for beginning in [None, Some(&beginning)] {
                    let estimated = estimate_with_known(&text, parts.iter(), beginning);
                    assert_eq!(estimated, estimate(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn token_factors_are_learned_within_bounds() {
        let corrections = TokenCorrections::default();
        assert_eq!(corrections.factor("a"), 1.0);
        corrections.record("a", 1000, 1200);
        assert_eq!(corrections.factor("a"), 1.2);
        corrections.record("a", 1000, 700);
        assert_eq!(corrections.factor("a"), 1.1);
        corrections.record("a", 1000, 1110);
        assert_eq!(corrections.factor("a"), 1.2);
        corrections.record("b", 1000, 90_000);
        corrections.record("c", 10, 90_000);
        corrections.record("d", 1000, 0);
        let factors = ["b", "c", "d"].map(|model| corrections.factor(model));
        assert_eq!(factors, [2.0, 1.0, 1.0]);
    }
}
