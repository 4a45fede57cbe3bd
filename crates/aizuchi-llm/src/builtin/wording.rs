//! Converts the words by which a question is compared with earlier messages to the spelling of those messages, even
//! words that are mistyped ("teh deplyo"), in the other script (「デプロイ」 for "deploy"), or in kana alone (「ふりかえり」).

use std::collections::BTreeSet;

use aizuchi_model::recall::terms::stem;

use crate::builtin::phrases::List;

/// Common words of questions. A word that is one of them with two characters swapped is taken as that word.
const COMMON: [&str; 22] = [
    "what", "when", "where", "which", "who", "whose", "why", "how", "the", "that", "this", "then",
    "there", "does", "did", "have", "has", "about", "until", "with", "from", "said",
];
/// Particles that end a word in kana.
const PARTICLES: [&str; 20] = [
    "は", "が", "を", "に", "で", "と", "も", "の", "へ", "や", "って", "から", "まで", "です",
    "だ", "した", "する", "して", "します", "か",
];
/// Longer texts are compared as they are: each word is compared with all earlier words, and users may write any length.
const MAX_CORRECTED_BYTES: usize = 2000;
/// The minimum number of characters of a word in kana.
const SHORTEST_KANA: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordScript {
    Latin,
    Katakana,
    Hiragana,
    Other,
}

impl WordScript {
    fn from_character(character: char) -> Self {
        match character {
            character if character.is_ascii_alphanumeric() => WordScript::Latin,
            'ァ'..='ヺ' | 'ー' => WordScript::Katakana,
            'ぁ'..='ゖ' => WordScript::Hiragana,
            _ => WordScript::Other,
        }
    }
}

/// The text with each word that no earlier message contains replaced by its counterpart in them.
pub fn as_written<'a>(text: &str, said: impl Iterator<Item = &'a str>) -> String {
    if text.len() > MAX_CORRECTED_BYTES {
        return text.to_lowercase();
    }
    let known: BTreeSet<String> = said.flat_map(words).collect();
    let replaced = runs(text).into_iter().map(|(script, run)| {
        let word = run.to_lowercase();
        match known.contains(&word) {
            true => word,
            false => stand_in(script, &word, &known).unwrap_or(word),
        }
    });
    replaced.collect()
}

/// Words that count only if earlier messages use them: those in kana alone, as pairs of katakana, and those of two
/// Latin letters.
pub fn faint_words(text: &str) -> BTreeSet<String> {
    const SMALL: [&str; 30] = [
        "am", "an", "as", "at", "be", "by", "do", "go", "he", "hi", "if", "im", "in", "is", "it",
        "ll", "me", "my", "no", "of", "ok", "on", "or", "re", "so", "to", "up", "us", "ve", "we",
    ];
    let mut before = WordScript::Other;
    let mut found = BTreeSet::new();
    let mut follows_kanji = false;
    for (script, run) in runs(text) {
        match script {
            WordScript::Latin if run.len() == 2 && !SMALL.contains(&&*run.to_lowercase()) => {
                found.insert(run.to_lowercase());
            }
            // After another word, hiragana begins with its ending or a particle.
            WordScript::Hiragana => {
                found.extend(kana_word(run, follows_kanji || before == WordScript::Katakana));
            }
            _ => {}
        }
        follows_kanji = run.chars().next_back().is_some_and(is_kanji);
        before = script;
    }
    found
}

/// The character pairs of the word at the beginning of a run of kana.
fn kana_word(run: &str, follows_word: bool) -> Vec<String> {
    let run = match follows_word {
        true => PARTICLES.iter().find_map(|it| run.strip_prefix(it)).unwrap_or_default(),
        false => run,
    };
    if List::CommonKana.phrases().iter().any(|common| run.starts_with(common)) {
        return Vec::new();
    }
    let characters: Vec<char> = run.chars().collect();
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    let ends = |at: &usize| {
        let rest = &run[starts[*at]..];
        PARTICLES.iter().any(|particle| rest.starts_with(particle))
    };
    let end = (SHORTEST_KANA..characters.len()).find(ends).unwrap_or(characters.len());
    if end < SHORTEST_KANA {
        return Vec::new();
    }
    let katakana: Vec<char> =
        characters[..end].iter().map(|character| to_katakana(*character)).collect();
    katakana.windows(2).map(|pair| pair.iter().collect()).collect()
}

fn to_katakana(character: char) -> char {
    const OFFSET: u32 = 'ア' as u32 - 'あ' as u32;
    match WordScript::from_character(character) {
        WordScript::Hiragana => char::from_u32(character as u32 + OFFSET).unwrap_or(character),
        _ => character,
    }
}

fn is_kanji(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}' | '々')
}

fn words(text: &str) -> Vec<String> {
    let words = runs(text).into_iter().filter(|(script, _)| {
        matches!(script, WordScript::Latin | WordScript::Katakana | WordScript::Hiragana)
    });
    words.map(|(_, run)| run.to_lowercase()).collect()
}

/// Splits a text into the longest runs in one script.
fn runs(text: &str) -> Vec<(WordScript, &str)> {
    let mut runs: Vec<(WordScript, &str)> = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let script = WordScript::from_character(character);
        let next = characters.peek();
        if next.is_none_or(|(_, next)| WordScript::from_character(*next) != script) {
            let end = at + character.len_utf8();
            runs.push((script, &text[start..end]));
            start = end;
        }
    }
    runs
}

/// The known word that an unknown one stands for.
fn stand_in(script: WordScript, word: &str, known: &BTreeSet<String>) -> Option<String> {
    let of = |wanted: WordScript| {
        known.iter().filter(move |other| {
            other.chars().next().map(WordScript::from_character) == Some(wanted)
        })
    };
    let spoken = |script: WordScript| {
        let heard = sounds(word);
        let mut others = of(script);
        (heard.len() >= FEWEST_SOUNDS).then(|| others.find(|other| sounds(other) == heard))?
    };
    match script {
        WordScript::Latin if COMMON.contains(&word) => None,
        WordScript::Latin => {
            let (first, root) = (word.chars().next(), stem(word.to_owned()));
            let mut candidates =
                of(WordScript::Latin).filter(|other| other.chars().next() == first);
            if candidates.any(|other| stem(other.clone()) == root) {
                return None;
            }
            let common = COMMON.iter().find(|common| is_swapped(word, common));
            let meant = || of(WordScript::Latin).find(|other| is_mistyped(word, other));
            let other = || meant().or_else(|| spoken(WordScript::Katakana)).cloned();
            common.map(|common| (*common).to_owned()).or_else(other)
        }
        WordScript::Katakana => spoken(WordScript::Latin).cloned(),
        WordScript::Hiragana | WordScript::Other => None,
    }
}

/// Fewer consonants do not identify a word.
const FEWEST_SOUNDS: usize = 2;

/// Whether two neighboring characters are swapped: "teh" for "the".
fn is_swapped(word: &str, other: &str) -> bool {
    let (one, two) = (word.as_bytes(), other.as_bytes());
    let differ: Vec<usize> =
        (0..one.len().min(two.len())).filter(|at| one[*at] != two[*at]).collect();
    match differ[..] {
        [at, next] => {
            one.len() == two.len() && next == at + 1 && one[at] == two[next] && one[next] == two[at]
        }
        _ => false,
    }
}

/// Whether a word is another one with one typo. A short word is more probably a different word.
fn is_mistyped(word: &str, other: &str) -> bool {
    const SHORTEST_SWAPPED: usize = 4;
    const SHORTEST_SLIP: usize = 6;
    let shortest = word.len().min(other.len());
    let common = word.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
    let is_slip = || {
        let (one, two) = (word.as_bytes(), other.as_bytes());
        let (shorter, longer) = (&one[common..], &two[common..]);
        let behind = |rest: &[u8]| rest.get(1..).map(<[u8]>::to_vec);
        let (skipped, other_skipped) = (behind(shorter), behind(longer));
        skipped == other_skipped
            || other_skipped.as_deref() == Some(shorter)
            || skipped.as_deref() == Some(longer)
    };
    // Such as "allergies" and "allergic".
    let is_family = || common >= 5 && shortest >= 7 && word.len().max(other.len()) - common <= 3;
    let is_number = |text: &str| text.bytes().any(|character| character.is_ascii_digit());
    !is_number(word)
        && !is_number(other)
        && (shortest >= SHORTEST_SWAPPED && is_swapped(word, other)
            || shortest >= SHORTEST_SLIP && common > 0 && is_slip()
            || is_family())
}

/// The consonants of a word as pronounced in Japanese: 「デプロイ」 and "deploy" are both `dpr`. Empty for a word that is
/// too short to be identified by them.
fn sounds(word: &str) -> String {
    const SHORTEST: usize = 3;
    if word.chars().count() < SHORTEST {
        return String::new();
    }
    match word.is_ascii() {
        true => sounds_of_latin(word.as_bytes()),
        false => word.chars().filter_map(sound_of_katakana).collect(),
    }
}

fn sound_of_katakana(character: char) -> Option<char> {
    const ROWS: [(char, &str); 14] = [
        ('k', "カキクケコ"),
        ('g', "ガギグゲゴ"),
        ('s', "サシスセソツ"),
        ('z', "ザジズゼゾヂヅ"),
        ('t', "タチテト"),
        ('d', "ダデド"),
        ('n', "ナニヌネノン"),
        ('h', "ハヒフヘホ"),
        ('b', "バビブベボヴ"),
        ('p', "パピプペポ"),
        ('m', "マミムメモ"),
        ('r', "ラリルレロ"),
        // 「ワ」, 「ヤ」 and vowels have no reliable counterpart.
        ('\0', "ワヤユヨ"),
        ('\0', "アイウエオー"),
    ];
    let (sound, _) = ROWS.iter().find(|(_, row)| row.contains(character))?;
    (*sound != '\0').then_some(*sound)
}

fn sounds_of_latin(word: &[u8]) -> String {
    const LONGER: [(&str, &str); 11] = [
        ("tch", "t"),
        ("dge", "z"),
        ("ch", "t"),
        ("sh", "s"),
        ("ph", "h"),
        ("th", "s"),
        ("ck", "k"),
        ("qu", "k"),
        ("x", "ks"),
        ("gh", ""),
        ("wh", "h"),
    ];
    let is_vowel =
        |character: Option<&u8>| character.is_some_and(|character| b"aeiouy".contains(character));
    // Words that Japanese borrows from English mostly lose the plural "s".
    let word = word.strip_suffix(b"s").filter(|rest| rest.len() >= 4).unwrap_or(word);
    let mut sounds = String::new();
    let mut at = 0;
    while at < word.len() {
        let rest = &word[at..];
        if let Some((characters, sound)) =
            LONGER.iter().find(|(characters, _)| rest.starts_with(characters.as_bytes()))
        {
            sounds.push_str(sound);
            at += characters.len();
            continue;
        }
        let (character, next) = (word[at], word.get(at + 1));
        let is_soft = next.is_some_and(|next| b"eiy".contains(next));
        let is_doubled = at > 0 && word[at - 1] == character;
        match character {
            _ if is_doubled => {}
            b'c' => sounds.push(if is_soft { 's' } else { 'k' }),
            b'g' if is_soft && at > 0 => sounds.push('z'),
            b'j' => sounds.push('z'),
            b'l' => sounds.push('r'),
            b'r' if is_vowel(next) => sounds.push('r'),
            b'v' => sounds.push('b'),
            b'f' => sounds.push('h'),
            b'q' => sounds.push('k'),
            b'b' | b'd' | b'g' | b'h' | b'k' | b'm' | b'n' | b'p' | b's' | b't' | b'z' => {
                sounds.push(char::from(character));
            }
            _ => {}
        }
        at += 1;
    }
    sounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_for_those_that_stand_in_the_room() {
        let said = [
            "the deploy is on Friday",
            "Mia reviews the schedule",
            "サーバーが落ちた",
            "the launch",
        ];
        for (question, expected) in [
            ("wehn is teh deploy?", "when is the deploy?"),
            ("when is the deplyo?", "when is the deploy?"),
            ("who reviewed the shedule?", "who reviewed the schedule?"),
            ("デプロイはいつ？", "deployはいつ？"),
            ("is the server up?", "is the サーバー up?"),
            ("when is lunch?", "when is lunch?"),
            ("when is the demo?", "when is the demo?"),
            ("who reviewed it?", "who reviewed it?"),
        ] {
            assert_eq!(as_written(question, said.into_iter()), expected, "{question}");
        }
    }

    #[test]
    fn a_long_text_is_compared_as_it_is() {
        let long = format!("when is the Deplyo? {}", "x ".repeat(MAX_CORRECTED_BYTES / 2));
        let compared = as_written(&long, ["the deploy is on Friday"].into_iter());
        assert!(compared.starts_with("when is the deplyo? x x"), "{compared}");
        // Takes very long if each character is compared with all that follow.
        assert_eq!(faint_words(&"あ".repeat(300_000)), BTreeSet::from(["アア".to_owned()]));
    }

    #[test]
    fn words_of_both_scripts_sound_the_same() {
        for (latin, katakana) in [
            ("deploy", "デプロイ"),
            ("release", "リリース"),
            ("server", "サーバー"),
            ("meeting", "ミーティング"),
            ("review", "レビュー"),
            ("printer", "プリンター"),
            ("budget", "バジェット"),
            ("party", "パーティー"),
            ("password", "パスワード"),
            ("disk", "ディスク"),
            ("workshop", "ワークショップ"),
            ("slides", "スライド"),
            ("project", "プロジェクト"),
            ("database", "データベース"),
            ("offsite", "オフサイト"),
        ] {
            assert_eq!(sounds(latin), sounds(katakana), "{latin}");
        }
        assert_ne!(sounds("deploy"), sounds("デモ"));
        assert_ne!(sounds("release"), sounds("レビュー"));
    }

    #[test]
    fn words_in_kana_and_short_ones_count_faintly() {
        let words = |text: &str| faint_words(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words("ふりかえりって何時から？"),
            "カエ フリ リカ エリ"
                .split(' ')
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        );
        assert_eq!(words("でぷろいいつ"), words("でぷろいいつ"));
        assert_eq!(words("who reviews PR 7?"), "pr");
        assert_eq!(words("それはどこにありますか。教えてください"), "");
        assert_eq!(words("is it up to us?"), "");
    }
}
