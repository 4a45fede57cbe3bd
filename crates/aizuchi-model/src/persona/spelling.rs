//! The spellings of the persona's name: as it is set and, if a Latin name can be read as Japanese, in kana.

/// Names with spellings that do not follow from their sound.
const OTHER_SPELLINGS: [(&str, &[&str]); 1] = [("aizuchi", &["あいづち", "相槌", "相づち"])];
/// The minimum number of syllables. A shorter name in kana is too often a word or another user's name.
const MIN_SYLLABLES: usize = 3;
/// Syllables in Hepburn romanization and in katakana, the longest first.
const SYLLABLES: [(&str, &str); 107] = [
    ("kya", "キャ"),
    ("kyu", "キュ"),
    ("kyo", "キョ"),
    ("sha", "シャ"),
    ("shi", "シ"),
    ("shu", "シュ"),
    ("sho", "ショ"),
    ("cha", "チャ"),
    ("chi", "チ"),
    ("chu", "チュ"),
    ("cho", "チョ"),
    ("tsu", "ツ"),
    ("nya", "ニャ"),
    ("nyu", "ニュ"),
    ("nyo", "ニョ"),
    ("hya", "ヒャ"),
    ("hyu", "ヒュ"),
    ("hyo", "ヒョ"),
    ("mya", "ミャ"),
    ("myu", "ミュ"),
    ("myo", "ミョ"),
    ("rya", "リャ"),
    ("ryu", "リュ"),
    ("ryo", "リョ"),
    ("gya", "ギャ"),
    ("gyu", "ギュ"),
    ("gyo", "ギョ"),
    ("bya", "ビャ"),
    ("byu", "ビュ"),
    ("byo", "ビョ"),
    ("pya", "ピャ"),
    ("pyu", "ピュ"),
    ("pyo", "ピョ"),
    ("ja", "ジャ"),
    ("ji", "ジ"),
    ("ju", "ジュ"),
    ("jo", "ジョ"),
    ("ka", "カ"),
    ("ki", "キ"),
    ("ku", "ク"),
    ("ke", "ケ"),
    ("ko", "コ"),
    ("sa", "サ"),
    ("su", "ス"),
    ("se", "セ"),
    ("so", "ソ"),
    ("ta", "タ"),
    ("te", "テ"),
    ("to", "ト"),
    ("na", "ナ"),
    ("ni", "ニ"),
    ("nu", "ヌ"),
    ("ne", "ネ"),
    ("no", "ノ"),
    ("ha", "ハ"),
    ("hi", "ヒ"),
    ("fu", "フ"),
    ("he", "ヘ"),
    ("ho", "ホ"),
    ("ma", "マ"),
    ("mi", "ミ"),
    ("mu", "ム"),
    ("me", "メ"),
    ("mo", "モ"),
    ("ya", "ヤ"),
    ("yu", "ユ"),
    ("yo", "ヨ"),
    ("ra", "ラ"),
    ("ri", "リ"),
    ("ru", "ル"),
    ("re", "レ"),
    ("ro", "ロ"),
    ("wa", "ワ"),
    ("ga", "ガ"),
    ("gi", "ギ"),
    ("gu", "グ"),
    ("ge", "ゲ"),
    ("go", "ゴ"),
    ("za", "ザ"),
    ("zu", "ズ"),
    ("ze", "ゼ"),
    ("zo", "ゾ"),
    ("da", "ダ"),
    ("de", "デ"),
    ("do", "ド"),
    ("ba", "バ"),
    ("bi", "ビ"),
    ("bu", "ブ"),
    ("be", "ベ"),
    ("bo", "ボ"),
    ("pa", "パ"),
    ("pi", "ピ"),
    ("pu", "プ"),
    ("pe", "ペ"),
    ("po", "ポ"),
    ("kk", "ッk"),
    ("ss", "ッs"),
    ("tt", "ッt"),
    ("pp", "ッp"),
    ("a", "ア"),
    ("i", "イ"),
    ("u", "ウ"),
    ("e", "エ"),
    ("o", "オ"),
    ("n", "ン"),
    ("-", "ー"),
    ("'", ""),
];

/// All spellings of a name in lower case, starting with the name itself.
pub fn spellings(name: &str) -> Vec<String> {
    let name = name.trim().to_lowercase();
    let mut spellings = vec![name.clone()];
    if let Some(katakana) = to_katakana(&name) {
        // Both kana have the same romanization.
        let variant = katakana.contains('ズ').then(|| katakana.replace('ズ', "ヅ"));
        spellings.push(katakana.clone());
        spellings.extend(variant);
        spellings.push(to_hiragana(&katakana));
    }
    let other = OTHER_SPELLINGS.iter().find(|(latin, _)| *latin == name);
    let other = other.map_or(&[][..], |(_, spellings)| spellings);
    spellings.extend(other.iter().map(|spelling| (*spelling).to_owned()));
    spellings
}

/// Transcribes a name to katakana. `None` unless the whole name can be read as Japanese syllables.
fn to_katakana(name: &str) -> Option<String> {
    let mut rest = name.to_owned();
    let mut katakana = String::new();
    let mut count = 0;
    while !rest.is_empty() {
        let (latin, kana) = SYLLABLES.iter().find(|(latin, _)| rest.starts_with(latin))?;
        // The second of two doubled consonants begins the next syllable.
        let is_doubled = kana.ends_with(|character: char| character.is_ascii_alphabetic());
        let length = if is_doubled { 1 } else { latin.len() };
        katakana.extend(kana.chars().filter(|character| !character.is_ascii()));
        rest = rest[length..].to_owned();
        count += 1;
    }
    (count >= MIN_SYLLABLES).then_some(katakana)
}

fn to_hiragana(katakana: &str) -> String {
    const DISTANCE: u32 = 'ア' as u32 - 'あ' as u32;
    let characters = katakana.chars().map(|character| match character {
        'ァ'..='ヴ' => char::from_u32(character as u32 - DISTANCE).unwrap_or(character),
        character => character,
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latin_name_is_known_in_kana_where_it_reads_as_japanese() {
        let texts = |name: &str| spellings(name).join(" ");
        for (name, expected) in [
            ("Aizuchi", "aizuchi アイズチ アイヅチ あいずち あいづち 相槌 相づち"),
            ("Kotonoha", "kotonoha コトノハ ことのは"),
            ("Hattori", "hattori ハットリ はっとり"),
            ("Myao", "myao"),
            ("Bob", "bob"),
            ("Christine", "christine"),
            ("相槌", "相槌"),
            ("", ""),
        ] {
            assert_eq!(texts(name), expected, "{name}");
        }
    }
}
