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
pub mod prompts;
pub mod tools;
pub mod memos;
pub mod builtin;
pub mod platform;
pub mod ledger;
pub mod pages;
pub mod demo;
pub mod command_line;
pub mod slack;
pub mod discord;
pub mod fakes;

fn pick<'a>(language: Language, en: &'a str, ja: &'a str) -> &'a str {
    match language {
        Language::En => en,
        Language::Ja => ja,
    }
}
