//! Reads the cues of a message from its text. Code, quotations and addresses are ignored.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::cues::Cues;
use crate::fixed_map::FixedMap;
use crate::lexicon::{Entry, Position, entries};

impl Cues {
    /// The cues of a text that does not begin with a name.
    pub fn from_text(text: &str) -> Self {
        let prose = Prose::new(text);
        Self::find(&prose, &prose.text)
    }

    /// The cues of `body`, which is the prose of a message without the name that it begins with.
    pub fn find(prose: &Prose, body: &str) -> Self {
        let lexicon = &*LEXICON;
        let mut cues = prose.left_out;
        let japanese = body.chars().filter(|character| is_japanese(*character)).count();
        let mut words = split_words(body);
        let first = words.next();
        let mut count = usize::from(first.is_some());
        for word in first.into_iter().chain(words.inspect(|_| count += 1)) {
            cues |= lexicon.words.get(word).copied().unwrap_or_default();
            cues.set(Cues::NUMBER, cues.contains(Cues::NUMBER) || is_number(word));
        }
        let length = count + japanese / 3;
        if let Some(first) = first {
            cues |= lexicon.first_words.get(first).copied().unwrap_or_default();
        }
        cues |= lexicon.phrases_in(body);
        cues.set(Cues::JAPANESE, japanese > 0);
        cues.set(Cues::SHORT, length <= 2);
        cues.set(Cues::WORDLESS, count == 0);
        cues.set(Cues::CORRECTS, body.starts_with(['*', '^']) || body.starts_with("s/"));
        if has_question_mark(body) {
            cues |= Cues::ASKS;
        }
        // A long message that begins with "ok" continues with something else.
        if length > 8 && japanese == 0 {
            cues -= Cues::ACKNOWLEDGES;
        }
        if cues.contains(Cues::IN_ADVANCE) {
            cues -= Cues::THANKS;
        }
        cues
    }
}

/// A text in lower case without code, quotations and addresses.
#[derive(Clone, Debug)]
pub struct Prose {
    pub text: String,
    /// The cues of what was left out: [`Cues::CODE`], [`Cues::ADDRESS`].
    pub left_out: Cues,
}

impl Prose {
    pub fn new(text: &str) -> Self {
        let mut prose = Self { text: String::with_capacity(text.len()), left_out: Cues::empty() };
        for (number, part) in text.split("```").enumerate() {
            if number % 2 == 1 {
                prose.left_out |= Cues::CODE;
                continue;
            }
            let lines = part.lines().map(str::trim);
            for line in lines.filter(|line| !line.starts_with("> ") && !line.starts_with("&gt;")) {
                prose.push_line(line);
            }
        }
        let text = prose.text.trim_end().to_lowercase();
        prose.text = if text.contains('’') { text.replace('’', "'") } else { text };
        prose
    }

    fn push_line(&mut self, line: &str) {
        for (number, part) in line.split('`').enumerate() {
            if number % 2 == 1 {
                self.left_out |= Cues::CODE;
                continue;
            }
            // Searching each word for both would take longer than the rest of the reading.
            if !part.contains("://") && !part.contains("www.") {
                self.text.push_str(part);
                continue;
            }
            for word in part.split_inclusive(char::is_whitespace) {
                self.push_word(word);
            }
        }
        self.text.push('\n');
    }

    fn push_word(&mut self, word: &str) {
        let Some(at) = word.find("://").or_else(|| word.find("www.")) else {
            self.text.push_str(word);
            return;
        };
        self.left_out |= Cues::ADDRESS;
        let scheme = |character: char| character.is_ascii_alphanumeric();
        self.text.push_str(word[..at].trim_end_matches(scheme));
        // A question mark at the end of an address ends the sentence.
        self.text.push_str(if word.trim_end().ends_with(['?', '？']) { "? " } else { " " });
    }
}

/// The words of a text in lower case. Names and commands may contain some signs, too.
pub fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let is_sign = |character: char| {
        matches!(character, '_' | '-' | '[' | ']' | '{' | '}' | '|' | '`' | '^' | '\\' | '\'')
    };
    let is_part = move |character: char| character.is_alphanumeric() || is_sign(character);
    let words = text.split(move |character: char| !is_part(character));
    words.filter(|word| word.contains(char::is_alphanumeric))
}

pub fn is_japanese(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

fn is_number(word: &str) -> bool {
    word.starts_with(|character: char| character.is_ascii_digit())
}

/// Whether a word ends with a question mark. The one in `a?b` does not count.
fn has_question_mark(body: &str) -> bool {
    let mut characters = body.chars().peekable();
    while let Some(character) = characters.next() {
        let is_inside =
            characters.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '=');
        if character == '？' || (character == '?' && !is_inside) {
            return true;
        }
    }
    false
}

/// The lexicon, indexed for looking up all of it in one pass.
struct Lexicon {
    words: FixedMap<&'static str, Cues>,
    first_words: FixedMap<&'static str, Cues>,
    phrases: AhoCorasick,
    /// The position and the cues of each pattern of `phrases`.
    meanings: Vec<(Position, Cues)>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

impl Lexicon {
    fn new() -> Self {
        let (mut words, mut first_words) = (FixedMap::default(), FixedMap::default());
        let (mut patterns, mut meanings) = (Vec::new(), Vec::new());
        for Entry { cue, position, phrases } in entries() {
            for phrase in phrases {
                match position {
                    Position::Word => *words.entry(*phrase).or_insert(Cues::empty()) |= *cue,
                    Position::FirstWord => {
                        *first_words.entry(*phrase).or_insert(Cues::empty()) |= *cue
                    }
                    Position::Anywhere
                    | Position::Start
                    | Position::SentenceEnd
                    | Position::NoQuestion => {
                        patterns.push(*phrase);
                        meanings.push((*position, *cue));
                    }
                }
            }
        }
        let mut builder = AhoCorasick::builder();
        // Building fails only if the patterns exceed a size limit.
        let phrases =
            builder.match_kind(MatchKind::Standard).build(patterns).expect("the lexicon is small");
        Self { words, first_words, phrases, meanings }
    }

    fn phrases_in(&self, body: &str) -> Cues {
        let mut cues = Cues::empty();
        let (mut asking, mut not_asking) = (Vec::new(), Vec::new());
        for found in self.phrases.find_overlapping_iter(body) {
            let (position, cue) = self.meanings[found.pattern()];
            let (start, end) = (found.start(), found.end());
            match position {
                Position::Start if start > 0 => {}
                Position::SentenceEnd if cue == Cues::ASKS => asking.push(end),
                Position::NoQuestion => not_asking.push(end),
                Position::SentenceEnd if !ends_sentence(&body[end..]) => {}
                _ => cues |= cue,
            }
        }
        let asks =
            |end: &usize| not_asking.binary_search(end).is_err() && ends_sentence(&body[*end..]);
        cues.set(Cues::ASKS, cues.contains(Cues::ASKS) || asking.iter().any(asks));
        cues
    }
}

/// Whether the sentence ends before any other character follows. Stops there, because a text may contain very many
/// endings.
fn ends_sentence(rest: &str) -> bool {
    let is_end = |character: &char| "。！？\n!?、".contains(*character);
    let next = rest.chars().find(|character| character.is_alphanumeric() || is_end(character));
    next.is_none_or(|character| is_end(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognized_in_two_languages() {
        for (text, expected) in [
            ("what is this?", true),
            ("これは何？", true),
            ("どなたかご存じでしょうか。", true),
            ("会議は何時からですか", true),
            ("鍵はどこでしたっけ", true),
            ("誰か教えてください", true),
            ("どなたか詳しい方いらっしゃいますか、急ぎです", true),
            ("does anyone have a spare cable", true),
            ("could anybody lend me a cable", true),
            ("have you seen https://example.org/?", true),
            ("is it on (the shelf?) or not", true),
            ("https://example.org/?page=2", false),
            ("the pattern is `a?b` here", false),
            ("```\nlet x = y?;\n```", false),
            ("> who has the key?\nnobody", false),
            ("a?b is a pattern", false),
            ("so that is it", false),
            ("いいですね", false),
            ("そうですか", false),
            ("なるほど、そうなんですか", false),
            ("今度わたしも行こうかな", false),
            ("そろそろ帰ろうかな。", false),
            ("週末は映画でも見ようかな", false),
            ("明日は晴れるかなあ", false),
            ("誰か来るかな？", true),
            ("これで合ってるかな？", true),
            ("maybe I should go too", false),
            ("I wonder if I should leave", false),
        ] {
            assert_eq!(Cues::from_text(text).contains(Cues::ASKS), expected, "{text}");
        }
    }

    #[test]
    fn forms_are_recognized_in_two_languages() {
        for (text, expected) in [
            ("thanks, that was it", Cues::THANKS),
            ("ありがとうございました", Cues::THANKS),
            ("I’m stuck with the printer", Cues::TROUBLE),
            ("プリンターが動かない", Cues::TROUBLE),
            ("found it, was the cable", Cues::SOLVED),
            ("自己解決しました", Cues::SOLVED),
            ("same here", Cues::JOINS),
            ("うちもです", Cues::JOINS),
            ("no idea, sorry", Cues::JOINS),
            ("I'll do it", Cues::OFFERS),
            ("確認しますね", Cues::OFFERS),
            ("hmm, still the same", Cues::AGAIN),
            ("だめでした…", Cues::AGAIN),
            ("see you there", Cues::GOODBYE),
            ("なるほど", Cues::ACKNOWLEDGES),
            ("@everyone lunch", Cues::TO_ALL),
            ("🎉", Cues::WORDLESS),
            ("room 12", Cues::NUMBER),
            ("it works, right?", Cues::TAG),
        ] {
            assert!(
                Cues::from_text(text).contains(expected),
                "{text}: {:?}",
                Cues::from_text(text)
            );
        }
    }

    #[test]
    fn thanks_in_advance_is_not_thanks() {
        for text in [
            "Thanks in advance!",
            "thanks for any help",
            "ありがとうございます、よろしくお願いします",
        ] {
            assert!(
                !Cues::from_text(text).contains(Cues::THANKS)
                    && Cues::from_text(text).contains(Cues::IN_ADVANCE),
                "{text}"
            );
        }
    }
}
