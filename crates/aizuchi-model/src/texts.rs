//! The catalogue: every text that users or models read in English or in Japanese, by area. Other code chooses the
//! text and its values, but contains no texts. Prompts have their own templates, and the local room's page has
//! `i18n.js`.

use std::fmt::{self, Write as _};

use crate::persona::Language;

/// Generates a function for each entry `name: "English" / "Japanese";`. With arguments, as in
/// `name(user: &str): "Hello {user}" / "{user} さん、こんにちは";`, both texts are format strings. A long text continues
/// in a second string. In Japanese, a space separates a value from the adjacent words; if the value is Japanese, too,
/// the space is left out: 「Aizuchi です」, 「ミオです」.
macro_rules! texts {
    (@entry $(#[$doc:meta])* $name:ident [] [$($en:literal)+] [$($ja:literal)+]) => {
        $(#[$doc])*
        pub fn $name(language: $crate::persona::Language) -> &'static str {
            $crate::texts::pick(language, concat!($($en),+), concat!($($ja),+))
        }
    };
    (@entry $(#[$doc:meta])* $name:ident [$($argument:ident: $type:ty),+]
        [$($en:literal)+] [$($ja:literal)+]) => {
        $(#[$doc])*
        pub fn $name(language: $crate::persona::Language, $($argument: $type),+) -> String {
            match language {
                $crate::persona::Language::En => [$(format!($en)),+].concat(),
                $crate::persona::Language::Ja => {
                    $(let $argument = $crate::texts::Placed($argument);)+
                    $(let _ = &$argument;)+
                    $crate::texts::close_up(&[$(format!($ja)),+].concat())
                }
            }
        }
    };
    ($(
        $(#[$doc:meta])*
        $name:ident $(($($argument:ident: $type:ty),+))?: $($en:literal)+ / $($ja:literal)+;
    )+) => {
        $(texts! {
            @entry $(#[$doc])* $name [$($($argument: $type),+)?] [$($en)+] [$($ja)+]
        })+
    };
}

pub mod commands;
pub mod judging;
pub mod replies;
pub mod plans;
pub mod catch_up;
pub mod models;
pub mod prompts;
pub mod files;
pub mod tools;
pub mod memos;
pub mod builtin;
pub mod times;
pub mod platform;
pub mod ledger;
pub mod pages;
pub mod console;
pub mod failures;
pub mod channels;
pub mod home;
pub mod welcome;
pub mod orders;
pub mod people;
pub mod configuration;
pub mod settings;
pub mod standing_order_trial;
pub mod memories;
pub mod what_if;
pub mod shadow;
pub mod api;
pub mod api_fields;
pub mod mcp;
pub mod refusals;
pub mod counted;
pub mod report;
pub mod demo;
pub mod command_line;
pub mod slack;
pub mod discord;
pub mod keeper;
pub mod trust;
pub mod consents;
pub mod fakes;

/// A user's name in a sentence. `{name}` is the plain name, `{name:#}` the name with さん, which Japanese texts need:
/// a space separates it only from a Latin name.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        let is_foreign = |letter: char| !is_japanese(letter) && letter.is_alphanumeric();
        match (f.alternate(), self.0.ends_with(is_foreign)) {
            (true, true) => f.write_str(" さん"),
            (true, false) => f.write_str("さん"),
            (false, _) => Ok(()),
        }
    }
}

/// Markers around a value until adjacent spaces are removed. No text contains these noncharacters.
const VALUE_BEGINS: char = '\u{fdd0}';
const VALUE_ENDS: char = '\u{fdd1}';

/// A value in a Japanese text, enclosed in markers.
struct Placed<T>(T);

impl<T: fmt::Display> fmt::Display for Placed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char(VALUE_BEGINS)?;
        self.0.fmt(f)?;
        f.write_char(VALUE_ENDS)
    }
}

impl<T: fmt::Debug> fmt::Debug for Placed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Removes the markers, and a single space between a Japanese word and a Japanese value.
fn close_up(marked: &str) -> String {
    let mut letters = marked.chars().peekable();
    let mut text = String::with_capacity(marked.len());
    // 「@ミオ ストップ」: the text after a mention is not part of the name, so its space stays.
    let mut is_mention = false;
    let mut mention_end = None;
    while let Some(letter) = letters.next() {
        match letter {
            VALUE_BEGINS => {
                is_mention = text.ends_with(['@', '＠']);
                let begins_japanese = letters.peek().copied().is_some_and(is_japanese);
                let is_set_off = |before: &str| {
                    before.ends_with(is_japanese) && mention_end != Some(before.len())
                };
                if begins_japanese && text.strip_suffix(' ').is_some_and(is_set_off) {
                    text.pop();
                }
            }
            VALUE_ENDS => {
                mention_end = is_mention.then_some(text.len());
                let mut behind = letters.clone();
                let is_set_off = behind.next() == Some(' ') && !is_mention;
                // A full-width bracket has its own space: 「17（16 %）です」.
                if is_set_off
                    && text.ends_with(|last: char| is_japanese(last) || last == '）')
                    && behind.next().is_some_and(is_japanese)
                {
                    letters.next();
                }
            }
            letter => text.push(letter),
        }
    }
    text
}

/// Whether a letter is kana, kanji, or the kanji iteration mark.
fn is_japanese(letter: char) -> bool {
    matches!(letter, '々' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn pick<'a>(language: Language, en: &'a str, ja: &'a str) -> &'a str {
    match language {
        Language::En => en,
        Language::Ja => ja,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Other words for an idea that has one Japanese word in docs/glossary.md.
    const OTHER_WORDS: [&str; 13] = [
        "忘却",
        "サインイン",
        "自発的",
        "提供元",
        "運用者",
        "運用する人",
        "担当者",
        "先に提案",
        "話す確信度",
        "届けられなかったもの",
        "発言できなかったもの",
        "待ち行列",
        "見送りました",
    ];

    #[test]
    fn each_idea_has_one_japanese_word() {
        let mut found = Vec::new();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let catalogue = std::fs::read_dir(here.join("src/texts")).unwrap();
        let others =
            ["../aizuchi-config/src/meanings.ja.yaml", "../aizuchi-web/src/static/i18n.js"];
        let others = others.map(|path| here.join(path));
        for path in catalogue.map(|entry| entry.unwrap().path()).chain(others) {
            let texts = std::fs::read_to_string(&path).unwrap().replace("運用担当者", "");
            let used = OTHER_WORDS.iter().filter(|word| texts.contains(**word));
            found.extend(used.map(|word| format!("{}: {word}", path.display())));
        }
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_japanese_name_stands_close_to_its_honorific() {
        for (name, expected) in [
            ("健", "健さんに聞かれました"),
            ("さくら", "さくらさんに聞かれました"),
            ("佐々", "佐々さんに聞かれました"),
            ("Ken", "Ken さんに聞かれました"),
            ("José", "José さんに聞かれました"),
            ("佐藤（営業）", "佐藤（営業）さんに聞かれました"),
        ] {
            assert_eq!(replies::asked_by(Language::Ja, Name(name)), expected);
        }
    }

    #[test]
    fn a_space_sets_off_only_what_is_not_japanese() {
        for (name, expected) in [
            (
                "ミオ",
                "ミオは話すのをやめました。理由は「理由」。最後の発言の下にも書いてあります。",
            ),
            ("Mio", "Mio は話すのをやめました。理由は「理由」。最後の発言の下にも書いてあります。"),
        ] {
            assert_eq!(demo::let_it_be(Language::Ja, name, "理由"), expected);
        }
        for (name, expected) in [
            ("ミオ", "皆さんの会話を聞いてミオが答えます"),
            ("Mio", "皆さんの会話を聞いて Mio が答えます"),
            ("相槌bot", "皆さんの会話を聞いて相槌bot が答えます"),
            ("Bot相槌", "皆さんの会話を聞いて Bot相槌が答えます"),
        ] {
            let marked = format!("皆さんの会話を聞いて {} が答えます", Placed(name));
            assert_eq!(close_up(&marked), expected);
        }
        let marked = format!("`@{} ストップ` で {} は", Placed("ミオ"), Placed("ミオ"));
        assert_eq!(close_up(&marked), "`@ミオ ストップ` でミオは");
        let marked = format!("`@{} {}` で", Placed("ミオ"), Placed("ミュート解除"));
        assert_eq!(close_up(&marked), "`@ミオ ミュート解除` で");
        let marked = format!("  モデル    {}\n{} です", Placed("内蔵"), Placed(12));
        assert_eq!(close_up(&marked), "  モデル    内蔵\n12 です");
    }

    #[test]
    fn nothing_is_set_off_behind_a_full_width_bracket() {
        let told = |value| close_up(&format!("邪魔になりそうなものは {} です", Placed(value)));
        assert_eq!(told("17（16 %）"), "邪魔になりそうなものは 17（16 %）です");
        assert_eq!(told("17"), "邪魔になりそうなものは 17 です");
    }

    #[test]
    fn a_name_in_the_middle_of_a_sentence_is_set_off_on_both_sides() {
        let said = |name| {
            let when = builtin::time_of_day(jiff::civil::time(8, 5, 0, 0));
            builtin::said(Language::Ja, Name(name), &when, "青")
        };
        assert_eq!(said("Ken"), "08:05 に Ken さんが「青」と言っていました。");
        assert_eq!(said("健"), "08:05 に健さんが「青」と言っていました。");
    }
}
