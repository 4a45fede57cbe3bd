//! Nobody is called whom the persona does not mean to call. Discord is asked to notify nobody with every
//! post; this holds for what it shows, too, and for whoever copies it.

use aizuchi_core::chat::is_invisible;

/// Looks like `@`, and calls nobody.
const FULLWIDTH_AT: char = '＠';

/// The same number of letters, without anything that would call all, a role, or somebody who is not meant.
pub fn escape_mentions(text: &str, is_meant: &dyn Fn(&str) -> bool) -> String {
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let behind = &rest[at + 1..];
        // What nobody sees may be left out on the way.
        let before =
            harmless.chars().chain(rest[..at].chars()).rev().find(|one| !is_invisible(*one));
        let calls = mentions_everyone(behind)
            || (before == Some('<') && !is_intended_mention(behind, is_meant));
        harmless.push_str(&rest[..at]);
        harmless.push(if calls { FULLWIDTH_AT } else { '@' });
        rest = behind;
    }
    harmless + rest
}

fn mentions_everyone(behind: &str) -> bool {
    let seen = behind.chars().filter(|letter| !is_invisible(*letter)).take(8);
    let seen = seen.collect::<String>().to_lowercase();
    seen.starts_with("everyone") || seen.starts_with("here")
}

/// The rest of `<@123>`.
fn is_intended_mention(behind: &str, is_meant: &dyn Fn(&str) -> bool) -> bool {
    behind.split_once('>').is_some_and(|(id, _)| is_meant(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_a_role_and_strangers_are_not_called() {
        for (text, expected) in [
            ("@everyone, @here!", "＠everyone, ＠here!"),
            ("@Everyone @HERE @hereby", "＠Everyone ＠HERE ＠hereby"),
            ("`@everyone` ||@here||", "`＠everyone` ||＠here||"),
            ("@\u{200b}every\u{ad}one", "＠\u{200b}every\u{ad}one"),
            ("<@&12> <@!12> <@12> <@1", "<＠&12> <＠!12> <＠12> <＠1"),
            ("<\u{200b}@12>", "<\u{200b}＠12>"),
            ("<@1> <@&1>", "<@1> <＠&1>"),
            ("@mio a@b.example @ everyone ＠everyone", "@mio a@b.example @ everyone ＠everyone"),
        ] {
            assert_eq!(escape_mentions(text, &|id| id == "1"), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_form_is_live(text in "([@<>&!1h]|@|every|one|here|\u{200b}|\u{ad}|\\PC){0,30}") {
            let made = escape_mentions(&text, &|id| id == "1");
            prop_assert_eq!(made.chars().count(), text.chars().count());
            let seen: String = made.chars().filter(|letter| !is_invisible(*letter)).collect();
            let seen = seen.to_lowercase();
            prop_assert!(!seen.contains("@everyone") && !seen.contains("@here"), "{}", seen);
            prop_assert!(!seen.contains("<@&") && !seen.contains("<@!"), "{}", seen);
            prop_assert!(!seen.replace("<@1>", "").contains("<@1"), "{}", seen);
        }
    }
}
