//! A server's custom emoji. A user writes `:parrot:` and the Discord client sends `<:parrot:1>`; a bot has to
//! substitute it itself. A name that matches no emoji or several stays as it is written.

use std::sync::Arc;

use serde_json::Value;

use crate::json::{array_at, non_empty_str};
use crate::text::is_id;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildEmoji {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub is_animated: bool,
}

impl GuildEmoji {
    /// Parses a custom emoji from a server's description, if the bot can use it.
    pub fn from_json(json: &Value) -> Option<Self> {
        let (id, name) = (non_empty_str(&json["id"])?, non_empty_str(&json["name"])?);
        let is_unrestricted = array_at(json, "roles").next().is_none();
        let is_usable = json["available"] != false && is_unrestricted && is_id(id) && is_name(name);
        let is_animated = json["animated"] == true;
        is_usable.then(|| Self { id: id.into(), name: name.into(), is_animated })
    }

    /// Returns the markup of the emoji in a text.
    pub fn to_markup(&self) -> String {
        let Self { id, name, is_animated } = self;
        format!("<{}:{name}:{id}>", if *is_animated { "a" } else { "" })
    }
}

/// Returns the emoji of this name, if there is exactly one.
pub fn find_unique(emojis: &[GuildEmoji], name: &str) -> Option<GuildEmoji> {
    let mut named = emojis.iter().filter(|emoji| *emoji.name == *name);
    let emoji = named.next()?;
    named.next().is_none().then(|| emoji.clone())
}

/// Replaces the shortcodes of known emoji with their markup.
pub fn expand_shortcodes(text: &str, emoji: &dyn Fn(&str) -> Option<GuildEmoji>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(':') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        expanded.push_str(before);
        let is_shortcode_start = !expanded.ends_with(is_inside_token);
        let name = after.split_once(':').map(|(name, _)| name);
        match name.filter(|name| is_shortcode_start && is_name(name)).and_then(emoji) {
            Some(found) => {
                expanded.push_str(&found.to_markup());
                rest = &after[found.name.len() + 1..];
            }
            None => {
                expanded.push(':');
                rest = after;
            }
        }
    }
    expanded + rest
}

/// Whether a colon after this character starts no shortcode, as in `12:30:45`, `https://x.example/:a:` and
/// `<:parrot:1>`.
fn is_inside_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_/<:.-=&?#%+~@".contains(character)
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (2..=32).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn emojis() -> Vec<GuildEmoji> {
        let all = json!({"emojis": [
            {"id": "1", "name": "parrot", "animated": false, "available": true},
            {"id": "2", "name": "wave", "animated": true},
            {"id": "3", "name": "twice"}, {"id": "4", "name": "twice"},
            {"id": "5", "name": "gone", "available": false}, {"id": "6", "name": "staff", "roles": ["9"]},
            {"id": "7", "name": "30"}, {"id": "x", "name": "odd"}, {"id": "8", "name": "o> @d"}, {}, 5,
        ]});
        array_at(&all, "emojis").filter_map(GuildEmoji::from_json).collect()
    }

    #[test]
    fn shortcodes_of_exactly_one_emoji_are_replaced() {
        let emojis = emojis();
        for (text, expected) in [
            (":parrot:", "<:parrot:1>"),
            ("yes :parrot::wave: 花:parrot:見", "yes <:parrot:1><a:wave:2> 花<:parrot:1>見"),
            ("yes :parrot: :wave:!", "yes <:parrot:1> <a:wave:2>!"),
            (":twice: :gone: :staff: :odd: :none:", ":twice: :gone: :staff: :odd: :none:"),
            ("at 12:30:45 :Parrot:", "at 12:30:45 :Parrot:"),
            ("https://x.example/:parrot: <:parrot:9>", "https://x.example/:parrot: <:parrot:9>"),
            (":a :parrot: b: : ::", ":a <:parrot:1> b: : ::"),
        ] {
            assert_eq!(
                expand_shortcodes(text, &|name| find_unique(&emojis, name)),
                expected,
                "{text}"
            );
        }
    }
}
