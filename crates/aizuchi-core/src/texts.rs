//! The catalogue: every text that users or models read in English or in Japanese, by area. Code elsewhere chooses
//! which text is due and with what values; it writes none itself. Prompts have templates of their own, and the room's
//! page has `i18n.js`.

use crate::persona::Language;

/// Makes a function of each entry `name: "English" / "Japanese";`. With arguments, as in
/// `name(user: &str): "Hello {user}" / "{user} さん、こんにちは";`, both texts are formats. A long text goes on in a
/// second string.
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
                    $crate::texts::close_honorifics([$(format!($ja)),+].concat())
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
pub mod models;
pub mod prompts;
pub mod tools;
pub mod memos;
pub mod builtin;
pub mod platform;
pub mod ledger;
pub mod pages;
pub mod command_line;
pub mod slack;
pub mod discord;
pub mod fakes;

/// Takes out the space between a Japanese name and さん; after a name in other letters it stays.
fn close_honorifics(text: String) -> String {
    const HONORIFIC: &str = " さん";
    if !text.contains(HONORIFIC) {
        return text;
    }
    let mut closed = String::with_capacity(text.len());
    for (place, part) in text.split(HONORIFIC).enumerate() {
        if place > 0 {
            let is_japanese = closed.chars().next_back().is_some_and(is_japanese);
            closed.push_str(if is_japanese { HONORIFIC.trim_start() } else { HONORIFIC });
        }
        closed.push_str(part);
    }
    closed
}

/// Kana, kanji, and the mark that repeats one.
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
    use super::*;

    #[test]
    fn a_japanese_name_stands_close_to_its_honorific() {
        for (name, expected) in [
            ("健", "健さんに聞かれました"),
            ("さくら", "さくらさんに聞かれました"),
            ("佐々", "佐々さんに聞かれました"),
            ("Ken", "Ken さんに聞かれました"),
        ] {
            assert_eq!(replies::asked_by(Language::Ja, name), expected);
        }
    }
}
