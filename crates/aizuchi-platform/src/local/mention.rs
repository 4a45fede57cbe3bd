//! Finds the users mentioned in a message of the local room.

use std::cell::LazyCell;
use std::sync::Arc;

use aizuchi_model::chat::{Mention, UserId};
use aizuchi_model::persona::spelling::spellings;

/// Words that mention everyone in the channel, unless a user has the name.
const ALL: [&str; 5] = ["everyone", "here", "channel", "all", "みんな"];

/// Returns every user mentioned with an `@`: the persona, a known user, or a user with whatever name the word gives.
pub fn parse_mentions(text: &str, persona: &str, users: &[Arc<str>]) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let spellings = LazyCell::new(|| spellings(persona));
    for (at, _) in text.match_indices(['@', '＠']) {
        // An `@` after a letter or digit is part of an e-mail address.
        let is_address =
            text[..at].chars().next_back().is_some_and(|before| before.is_ascii_alphanumeric());
        let rest = text[at..].trim_start_matches(['@', '＠']);
        if is_address {
            continue;
        }
        let known =
            // `@Anna Maria` names the longer of two users that match.
            users.iter().filter(|name| starts_with_name(rest, name)).max_by_key(|name| name.len());
        let is_persona = spellings.iter().any(|spelling| {
            let name = spelling.as_str();
            let is_named = match name == spellings[0] {
                true => starts_with_name(rest, name),
                false => starts_with_kana(rest, name),
            };
            is_named && known.is_none_or(|known| known.len() <= name.len())
        });
        let mention = if is_persona {
            Some(Mention::Persona)
        } else {
            let word = rest.split(|character: char| !is_name_character(character)).next();
            let word = word.filter(|word| !word.is_empty() && !ALL.contains(word));
            let name = known.cloned().or_else(|| word.map(Arc::from));
            name.map(|name| Mention::User(UserId(name)))
        };
        mentions.extend(mention.filter(|mention| !mentions.contains(mention)));
    }
    mentions
}

/// Whether `text` begins with `name`. A Latin name must end there; 相槌さん names 相槌.
fn starts_with_name(text: &str, name: &str) -> bool {
    let mut characters = text.chars();
    let begins = name.chars().all(|character| {
        characters.next().is_some_and(|found| found.to_lowercase().eq(character.to_lowercase()))
    });
    let (next, then) = (characters.next(), characters.next());
    let goes_on = match next {
        Some('-') => then.is_some_and(|character| character.is_ascii_alphanumeric()),
        Some(character) => character.is_ascii_alphanumeric() || character == '_',
        None => false,
    };
    begins && !goes_on
}

/// Whether `text` begins with the persona's name in kana. Since a longer word could begin with it, no letter or digit
/// may follow, except those of an honorific.
fn starts_with_kana(text: &str, name: &str) -> bool {
    let Some(rest) = text.strip_prefix(name) else { return false };
    let rest =
        ["さん", "ちゃん", "くん"].iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
    !rest.starts_with(|character: char| character.is_alphanumeric() || character == 'ー')
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_parsed_from_the_text() {
        let bob = || Mention::User(UserId::new("bob"));
        let users =
            [Arc::from("bob"), Arc::from("bobby"), Arc::from("花子"), Arc::from("Aizuchi子")];
        for (text, expected) in [
            ("hello", vec![]),
            ("@Aizuchi hello", vec![Mention::Persona]),
            ("hey @aizuchi, @AIZUCHI!", vec![Mention::Persona]),
            ("＠Aizuchiさん、どう？", vec![Mention::Persona]),
            ("@Aizuchi-bot", vec![Mention::User(UserId::new("Aizuchi-bot"))]),
            ("@Aizuchi子 またね", vec![Mention::User(UserId::new("Aizuchi子"))]),
            ("@Aizuchis", vec![Mention::User(UserId::new("Aizuchis"))]),
            ("@bob and @Aizuchi", vec![bob(), Mention::Persona]),
            ("@bobby", vec![Mention::User(UserId::new("bobby"))]),
            ("@花子さん", vec![Mention::User(UserId::new("花子"))]),
            ("mail me: carol@aizuchi.example", vec![]),
            ("@ nobody", vec![]),
            ("@everyone lunch? @here", vec![]),
            ("@everyone and @bob", vec![bob()]),
            ("@アイズチ 今何時？", vec![Mention::Persona]),
            ("＠あいづちさん、デプロイはいつ？", vec![Mention::Persona]),
            ("@相槌係", vec![Mention::User(UserId::new("相槌係"))]),
        ] {
            assert_eq!(parse_mentions(text, "Aizuchi", &users), expected, "{text}");
        }
    }
}
