//! Converts between emoji and Slack's names for them, which are also used in recorded and reported messages. Most names
//! are the same as GitHub's; `emoji_names.txt` lists the others: a character and its names, Slack's preferred one
//! first.

use std::collections::HashMap;
use std::sync::LazyLock;

use emojis::SkinTone;

const ZERO_WIDTH_JOINER: &str = "\u{200d}";
/// Slack numbers skin tones from two.
const SKIN_TONES: [(&str, SkinTone); 5] = [
    ("2", SkinTone::Light),
    ("3", SkinTone::MediumLight),
    ("4", SkinTone::Medium),
    ("5", SkinTone::MediumDark),
    ("6", SkinTone::Dark),
];

static NAMES: LazyLock<EmojiNames> =
    LazyLock::new(|| EmojiNames::parse(include_str!("emoji_names.txt")));

struct EmojiNames {
    characters: HashMap<&'static str, &'static str>,
    preferred: HashMap<&'static str, &'static str>,
}

/// Returns the character for a name, which may have a skin tone (`wave::skin-tone-3`). A custom emoji stays `:name:`.
pub fn to_character(name: &str) -> String {
    let name = name.trim_matches(':');
    let (base, tone) = name.split_once("::skin-tone-").unzip();
    let found = match tone {
        None => find_character(name),
        Some(tone) => with_skin_tone(base.unwrap_or(name), tone),
    };
    found.unwrap_or_else(|| format!(":{name}:"))
}

/// Returns Slack's name for a character or for `:name:`, without the colons. `None` if it is not an emoji.
pub fn to_name(emoji: &str) -> Option<String> {
    let emoji = emoji.trim();
    let inner = emoji.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    if let Some(inner) = inner {
        return inner.split("::").all(is_name).then(|| inner.to_owned());
    }
    let found = emojis::get(emoji)?;
    let tone = found.skin_tone().filter(|tone| *tone != SkinTone::Default);
    let base = found.with_skin_tone(SkinTone::Default).unwrap_or(found);
    let name = preferred_name(base)?;
    let Some(tone) = tone else { return Some(name) };
    let (number, _) = SKIN_TONES.iter().find(|(_, one)| *one == tone)?;
    Some(format!("{name}::skin-tone-{number}"))
}

/// Whether this is a valid emoji name.
pub fn is_name(name: &str) -> bool {
    let is_valid = |letter: char| {
        matches!(letter, '_' | '-' | '+' | '\'')
            || (letter.is_alphanumeric() && !letter.is_uppercase())
    };
    !name.is_empty() && name.chars().count() <= 100 && name.chars().all(is_valid)
}

fn find_character(name: &str) -> Option<String> {
    if let Some(known) = NAMES.characters.get(name) {
        return Some((*known).to_owned());
    }
    let composed = flag_character(name).or_else(|| group_character(name));
    let found = composed.and_then(|composed| emojis::get(&composed));
    found.or_else(|| emojis::get_by_shortcode(name)).map(|emoji| emoji.as_str().to_owned())
}

fn with_skin_tone(base: &str, tone: &str) -> Option<String> {
    let (_, tone) = SKIN_TONES.iter().find(|(number, _)| *number == tone)?;
    let base = find_character(base)?;
    let toned = emojis::get(&base)?.with_skin_tone(*tone)?;
    Some(toned.as_str().to_owned())
}

fn preferred_name(emoji: &emojis::Emoji) -> Option<String> {
    let character = emoji.as_str();
    if let Some(preferred) = NAMES.preferred.get(character) {
        return Some((*preferred).to_owned());
    }
    // Slack uses some of GitHub's names for other characters.
    let is_shared = |code: &&str| find_character(code).as_deref() == Some(character);
    let shared = || emoji.shortcodes().find(is_shared).map(str::to_owned);
    flag_name(character).or_else(|| group_name(character)).or_else(shared)
}

/// Returns the flag for `flag-se`, which is written as the regional indicators S and E.
fn flag_character(name: &str) -> Option<String> {
    let country = name.strip_prefix("flag-").filter(|country| country.len() == 2)?;
    let letter = |letter: char| {
        let index = u32::from(letter).checked_sub(u32::from('a')).filter(|index| *index < 26)?;
        char::from_u32(u32::from('🇦') + index)
    };
    country.chars().map(letter).collect()
}

fn flag_name(character: &str) -> Option<String> {
    let letter = |letter: char| {
        let index = u32::from(letter).checked_sub(u32::from('🇦')).filter(|index| *index < 26)?;
        char::from_u32(u32::from('a') + index)
    };
    let country: String = character.chars().map(letter).collect::<Option<_>>()?;
    (country.len() == 2).then(|| format!("flag-{country}"))
}

/// The parts of group names: `man-woman-boy` is written as three characters joined by zero-width joiners.
const GROUP_PARTS: [(&str, &str); 6] = [
    ("man", "👨"),
    ("woman", "👩"),
    ("boy", "👦"),
    ("girl", "👧"),
    ("heart", "❤\u{fe0f}"),
    ("kiss", "❤\u{fe0f}\u{200d}💋"),
];

fn group_character(name: &str) -> Option<String> {
    let part = |name: &str| {
        GROUP_PARTS.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
    };
    let parts: Vec<&str> = name.split('-').map(part).collect::<Option<_>>()?;
    (parts.len() > 1).then(|| parts.join(ZERO_WIDTH_JOINER))
}

fn group_name(character: &str) -> Option<String> {
    // The kiss itself contains a joiner, so it is replaced before splitting.
    let kiss = character.replace("❤\u{fe0f}\u{200d}💋", "kiss");
    let part_name = |part: &str| {
        let known =
            GROUP_PARTS.iter().find(|(name, character)| *character == part || *name == part);
        known.map(|(name, _)| *name)
    };
    let names: Vec<&str> = kiss.split(ZERO_WIDTH_JOINER).map(part_name).collect::<Option<_>>()?;
    (names.len() > 1).then(|| names.join("-"))
}

impl EmojiNames {
    fn parse(table: &'static str) -> Self {
        let mut names = Self { characters: HashMap::new(), preferred: HashMap::new() };
        for line in table.lines() {
            let mut words = line.split(' ');
            let Some(character) = words.next() else { continue };
            for name in words {
                names.characters.insert(name, character);
                names.preferred.entry(character).or_insert(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_characters_round_trip() {
        for (name_at_slack, expected, back) in [
            ("+1", "👍", "+1"),
            ("thumbsup", "👍", "+1"),
            ("thumbsup_all", "👍", "+1"),
            ("wave::skin-tone-3", "👋🏼", "wave::skin-tone-3"),
            ("simple_smile", "🙂", "slightly_smiling_face"),
            ("poop", "💩", "hankey"),
            ("large_blue_circle", "🔵", "large_blue_circle"),
            ("thinking_face", "🤔", "thinking_face"),
            ("heart", "❤\u{fe0f}", "heart"),
            ("jp", "🇯🇵", "jp"),
            ("flag-jp", "🇯🇵", "jp"),
            ("flag-se", "🇸🇪", "flag-se"),
            ("man-woman-boy", "👨\u{200d}👩\u{200d}👦", "man-woman-boy"),
            ("woman-kiss-man", "👩\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨", "woman-kiss-man"),
            ("female-technologist", "👩\u{200d}💻", "female-technologist"),
            ("woman-shrugging::skin-tone-4", "🤷🏽\u{200d}♀\u{fe0f}", "woman-shrugging::skin-tone-4"),
            // Names that GitHub uses for another character.
            ("umbrella", "☂\u{fe0f}", "umbrella"),
            ("satellite", "🛰\u{fe0f}", "satellite"),
            ("email", "✉\u{fe0f}", "email"),
            // Custom emoji, and names that are not emoji.
            ("party-parrot", ":party-parrot:", "party-parrot"),
            ("パロット", ":パロット:", "パロット"),
            ("flag-zz", ":flag-zz:", "flag-zz"),
            ("fire::skin-tone-3", ":fire::skin-tone-3:", "fire::skin-tone-3"),
            ("wave::skin-tone-9", ":wave::skin-tone-9:", "wave::skin-tone-9"),
        ] {
            assert_eq!(to_character(name_at_slack), expected, "{name_at_slack}");
            assert_eq!(to_name(expected).as_deref(), Some(back), "{expected}");
        }
        for nothing in ["", ":", "::", "hello", "a b", ":a b:", ":<!here>:", "👍👍"] {
            assert_eq!(to_name(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn every_named_emoji_round_trips() {
        let named = emojis::iter().filter_map(|emoji| Some((emoji, to_name(emoji.as_str())?)));
        let mut count = 0;
        for (emoji, name) in named {
            assert_eq!(to_character(&name), emoji.as_str(), "{name}");
            count += 1;
        }
        assert!(count > 1800, "{count}");
        for (name, character) in &NAMES.characters {
            assert!(
                emojis::get(character).is_some_and(|emoji| emoji.as_str() == *character),
                "{name}"
            );
        }
    }
}
