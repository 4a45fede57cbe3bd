//! The catalogue: every text that users or models read in English or in Japanese, by area. Code elsewhere chooses
//! which text is due and with what values; it writes none itself. Prompts have templates of their own, and the room's
//! page has `i18n.js`.

use std::fmt;

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
                $crate::persona::Language::Ja => [$(format!($ja)),+].concat(),
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
pub mod report;
pub mod demo;
pub mod command_line;
pub mod slack;
pub mod discord;
pub mod fakes;

/// A user's name in a sentence. `{name}` is the name alone, `{name:#}` the name with さん, which Japanese texts need: a
/// space separates it from a Latin name only.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        match (f.alternate(), self.0.ends_with(|letter: char| letter.is_ascii())) {
            (true, true) => f.write_str(" さん"),
            (true, false) => f.write_str("さん"),
            (false, _) => Ok(()),
        }
    }
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
            assert_eq!(replies::asked_by(Language::Ja, Name(name)), expected);
        }
    }
}
