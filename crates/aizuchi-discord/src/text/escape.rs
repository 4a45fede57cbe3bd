//! Escapes unintended mentions, and invitations. Every post already asks Discord to notify no user; this also covers
//! what Discord displays, and a user who copies the text.

use aizuchi_model::chat::is_invisible;

/// Resembles `@`, but mentions no user.
const FULLWIDTH_AT: char = '＠';
/// Resembles `.`, but is not part of a URL.
const FULLWIDTH_POINT: char = '．';
/// The URLs of invitations, of server templates, and of gifts.
const CARDS: [&str; 9] = [
    "discord.gg/",
    "discord.new/",
    "discord.gift/",
    "discord.com/invite/",
    "discord.com/template/",
    "discord.com/gifts/",
    "discordapp.com/invite/",
    "discordapp.com/template/",
    "discordapp.com/gifts/",
];

/// Escapes mentions of everyone, of roles and of unintended users. Keeps the number of characters.
pub fn escape_mentions(text: &str, is_intended: &dyn Fn(&str) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let after = &rest[at + 1..];
        // Discord may drop invisible characters, so they do not separate tokens.
        let before =
            escaped.chars().chain(rest[..at].chars()).rev().find(|one| !is_invisible(*one));
        let is_mention = mentions_everyone(after)
            || (before == Some('<') && !is_intended_mention(after, is_intended));
        escaped.push_str(&rest[..at]);
        escaped.push(if is_mention { FULLWIDTH_AT } else { '@' });
        rest = after;
    }
    escaped + rest
}

/// Breaks up links to invitations and gifts, for which Discord shows a card with a button even without a scheme. Links
/// that are written out stay. Keeps the number of characters.
pub fn break_invitations(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut broken = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices("discord") {
        let is_card = CARDS.iter().any(|card| lower[at..].starts_with(card));
        let before = lower[..at].trim_end_matches("www.");
        let is_link = before.ends_with("https://") || before.ends_with("http://");
        let point = at + lower[at..].find('.').unwrap_or(0);
        if is_card && !is_link && point >= from {
            broken.push_str(&text[from..point]);
            broken.push(FULLWIDTH_POINT);
            from = point + 1;
        }
    }
    broken + &text[from..]
}

fn mentions_everyone(after: &str) -> bool {
    let visible = after.chars().filter(|character| !is_invisible(*character)).take(8);
    let visible = visible.collect::<String>().to_lowercase();
    visible.starts_with("everyone") || visible.starts_with("here")
}

/// Whether the text after `<@` completes an intended mention.
fn is_intended_mention(after: &str, is_intended: &dyn Fn(&str) -> bool) -> bool {
    after.split_once('>').is_some_and(|(id, _)| is_intended(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn everyone_roles_and_unintended_users_are_escaped() {
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

    #[test]
    fn invitations_are_broken_unless_they_are_written_out_as_links() {
        for (text, expected) in [
            ("join discord.gg/evil!", "join discord．gg/evil!"),
            ("Discord.GG/evil", "Discord．GG/evil"),
            ("www.discord.gg/evil", "www.discord．gg/evil"),
            ("xdiscord.gg/evil", "xdiscord．gg/evil"),
            ("//discord.gg/evil", "//discord．gg/evil"),
            ("discord.com/invite/evil", "discord．com/invite/evil"),
            ("discordapp.com/invite/evil", "discordapp．com/invite/evil"),
            ("discord.gift/evil discord.gg/evil", "discord．gift/evil discord．gg/evil"),
            ("<https://discord.gg/known>", "<https://discord.gg/known>"),
            ("<https://www.discord.com/invite/known>", "<https://www.discord.com/invite/known>"),
            (
                "discord.com/channels/1/2, discord.py, 犬discord",
                "discord.com/channels/1/2, discord.py, 犬discord",
            ),
        ] {
            assert_eq!(break_invitations(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_unintended_mention_survives(text in "([@<>&!1h]|@|every|one|here|\u{200b}|\u{ad}|\\PC){0,30}") {
            let escaped = escape_mentions(&text, &|id| id == "1");
            prop_assert_eq!(escaped.chars().count(), text.chars().count());
            let visible: String = escaped.chars().filter(|character| !is_invisible(*character)).collect();
            let visible = visible.to_lowercase();
            prop_assert!(!visible.contains("@everyone") && !visible.contains("@here"), "{}", visible);
            prop_assert!(!visible.contains("<@&") && !visible.contains("<@!"), "{}", visible);
            prop_assert!(!visible.replace("<@1>", "").contains("<@1"), "{}", visible);
        }
    }
}
