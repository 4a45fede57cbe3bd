//! A server's own emoji. People write `:parrot:`, and their Discord makes `<:parrot:1>` of it; a bot has to do so
//! itself. What no emoji or more than one is called stays as it is written.

use std::sync::Arc;

use serde_json::Value;

use crate::from_discord::{list, text};
use crate::text::is_id;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emoji {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub is_animated: bool,
}

impl Emoji {
    /// One that the bot can use, as its server tells of it.
    pub fn read(whole: &Value) -> Option<Self> {
        let (id, name) = (text(&whole["id"])?, text(&whole["name"])?);
        let is_for_all = list(whole, "roles").next().is_none();
        let is_usable = whole["available"] != false && is_for_all && is_id(id) && is_name(name);
        let is_animated = whole["animated"] == true;
        is_usable.then(|| Self { id: id.into(), name: name.into(), is_animated })
    }

    /// As it stands in a text.
    pub fn written(&self) -> String {
        let Self { id, name, is_animated } = self;
        format!("<{}:{name}:{id}>", if *is_animated { "a" } else { "" })
    }
}

/// The only one of this name.
pub fn named(emojis: &[Emoji], name: &str) -> Option<Emoji> {
    let mut named = emojis.iter().filter(|emoji| *emoji.name == *name);
    let emoji = named.next()?;
    named.next().is_none().then(|| emoji.clone())
}

/// A text with the emoji that it names.
pub fn shown(text: &str, emoji: &dyn Fn(&str) -> Option<Emoji>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(':') {
        let (before, behind) = (&rest[..at], &rest[at + 1..]);
        shown.push_str(before);
        let is_begun = !shown.ends_with(is_joined);
        let name = behind.split_once(':').map(|(name, _)| name);
        match name.filter(|name| is_begun && is_name(name)).and_then(emoji) {
            Some(found) => {
                shown.push_str(&found.written());
                rest = &behind[found.name.len() + 1..];
            }
            None => {
                shown.push(':');
                rest = behind;
            }
        }
    }
    shown + rest
}

/// As in `12:30:45`, `https://x.example/:a:` and `<:parrot:1>`.
fn is_joined(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_/<:.-=&?#%+~@".contains(letter)
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (2..=32).contains(&name.len()) && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn emojis() -> Vec<Emoji> {
        let all = json!({"emojis": [
            {"id": "1", "name": "parrot", "animated": false, "available": true},
            {"id": "2", "name": "wave", "animated": true},
            {"id": "3", "name": "twice"}, {"id": "4", "name": "twice"},
            {"id": "5", "name": "gone", "available": false}, {"id": "6", "name": "staff", "roles": ["9"]},
            {"id": "7", "name": "30"}, {"id": "x", "name": "odd"}, {"id": "8", "name": "o> @d"}, {}, 5,
        ]});
        list(&all, "emojis").filter_map(Emoji::read).collect()
    }

    #[test]
    fn what_one_emoji_is_called_is_shown() {
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
            assert_eq!(shown(text, &|name| named(&emojis, name)), expected, "{text}");
        }
    }
}
