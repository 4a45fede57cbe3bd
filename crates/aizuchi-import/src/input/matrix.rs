//! The JSON that Element exports of one Matrix room: its events.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::BufRead;
use std::ops::Range;
use std::sync::LazyLock;

use aizuchi_model::chat::to_single_line;
use regex::Regex;
use serde_json::Value;

use crate::history::RecordedMessage;
use crate::input::InputWriter;
use crate::input::document::{ElementsWanted, ExportReader, read_document};

/// Reads a room. `label` precedes the number of a record in errors.
pub fn read(
    input: &mut dyn BufRead,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    writer.begin_file(format!("{label}event "));
    let mut reader = RoomReader { room: String::new(), names: HashMap::new(), writer };
    let end = read_document(input, &mut reader);
    writer.end_document(end)
}

struct RoomReader<'a, 'w> {
    room: String,
    /// The display names of members, by their ids.
    names: HashMap<String, String>,
    writer: &'a mut InputWriter<'w>,
}

impl ExportReader for RoomReader<'_, '_> {
    fn field(&mut self, name: &str, value: Value) -> anyhow::Result<()> {
        if name == "room_name" {
            self.room = to_single_line(value.as_str().unwrap_or_default());
        }
        Ok(())
    }

    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        if self.room.is_empty() {
            self.writer.add_bad(1, "the file does not name its room before its messages");
            return Ok(ElementsWanted::No);
        }
        Ok(ElementsWanted::Yes)
    }

    fn element(&mut self, number: u64, event: Value) -> anyhow::Result<()> {
        let (kind, content) = (str_at(&event, "type"), &event["content"]);
        if kind == "m.room.member" {
            self.add_name(str_at(&event, "state_key"), str_at(content, "displayname"));
        }
        if !["m.room.message", "m.sticker"].contains(&kind) {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let (id, author) = (str_at(&event, "event_id"), str_at(&event, "sender"));
        let Some(at) = event["origin_server_ts"].as_f64() else {
            self.writer.add_bad(number, "its origin_server_ts is not a time in milliseconds");
            return Ok(());
        };
        if id.is_empty() || author.is_empty() {
            self.writer.add_bad(number, "it lacks an event_id or a sender");
            return Ok(());
        }
        // A redacted message has no content.
        if content.as_object().is_none_or(serde_json::Map::is_empty) {
            self.writer.left_out.deleted += 1;
            return Ok(());
        }
        let relation = &content["m.relates_to"];
        let related = str_at(relation, "event_id");
        if str_at(relation, "rel_type") == "m.replace" {
            let text = self.text(&content["m.new_content"]);
            self.writer.channel(&self.room).change(related, Some(text));
            return Ok(());
        }
        let text = self.text(content);
        if text.trim().is_empty() || is_undecrypted(content) {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let is_thread = str_at(relation, "rel_type") == "m.thread" && !related.is_empty();
        let answered = str_at(&relation["m.in_reply_to"], "event_id");
        // In a thread, clients without thread support see each message as a reply.
        let is_reply = !answered.is_empty() && relation["is_falling_back"] != true;
        let recorded = RecordedMessage {
            channel: self.room.clone(),
            thread: is_thread.then(|| related.to_owned()),
            id: id.to_owned(),
            ts: at / 1000.0,
            author: author.to_owned(),
            name: Some(self.name_of(author)),
            text,
            reply_to: is_reply.then(|| answered.to_owned()).into_iter().collect(),
            bot: str_at(content, "msgtype") == "m.notice",
            opener: false,
        };
        self.writer.add(number, &recorded)
    }
}

impl RoomReader<'_, '_> {
    fn add_name(&mut self, user: &str, name: &str) {
        let name = to_single_line(name);
        if !user.is_empty() && !name.is_empty() {
            self.names.insert(user.to_owned(), name);
        }
    }

    /// Returns the display name, or the part of the id before the server.
    fn name_of(&self, user: &str) -> String {
        let local = user.trim_start_matches('@').split(':').next().unwrap_or(user);
        self.names.get(user).cloned().unwrap_or_else(|| local.to_owned())
    }

    fn text(&self, content: &Value) -> String {
        let body = str_at(content, "body");
        match str_at(content, "msgtype") {
            "m.file" | "m.image" | "m.video" | "m.audio" => {
                let name = [str_at(content, "filename"), body];
                let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
                self.writer.with_files("", [name].into_iter())
            }
            _ if content["m.relates_to"]["m.in_reply_to"].is_object() => {
                self.with_mentions(strip_quote(body), content)
            }
            _ => self.with_mentions(body, content),
        }
    }

    /// Writes the mentions of users as other platforms do: an `@` and the name. In Matrix, the plain text of a mention is
    /// the display name alone, the id, or a link in Markdown. Who is mentioned stands in a list, or only in the HTML.
    fn with_mentions(&self, text: &str, content: &Value) -> String {
        let mut mentions = Vec::new();
        let html = str_at(content, "formatted_body");
        // The quotation that a reply begins with links to its author.
        let html = html.split_once("</mx-reply>").map_or(html, |(_, rest)| rest);
        for pill in PILL.captures_iter(html) {
            let user = pill[1].replace("%40", "@").replace("%3A", ":").replace("%3a", ":");
            let label = decode_entities(&pill[2]);
            mentions.push((label.trim_start_matches('@').to_owned(), self.name_of(&user)));
            mentions.push((user.clone(), self.name_of(&user)));
        }
        let users = content["m.mentions"]["user_ids"].as_array().into_iter().flatten();
        let names = users.filter_map(Value::as_str).map(|user| self.name_of(user));
        mentions.extend(names.map(|name| (name.clone(), name)));
        mark_mentions(&MARKDOWN_PILL.replace_all(text, "$1"), mentions)
    }
}

/// Matches a link to a user, with the id and the text.
static PILL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"<a [^>]*href=["']https://matrix\.to/#/((?:@|%40)[^"'?/]+)[^>]*>([^<]*)</a>"#)
        .expect("the pattern is valid")
});
static MARKDOWN_PILL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[([^\]\n]*)\]\(<?https://matrix\.to/#/(?:@|%40)[^)\s]*\)")
        .expect("the pattern is valid")
});

fn decode_entities(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&amp;", "&")
}

/// Whether a message stands for one that whoever exported the room could not read.
fn is_undecrypted(content: &Value) -> bool {
    str_at(content, "msgtype") == "m.bad.encrypted"
        || str_at(content, "body").starts_with("** Unable to decrypt")
}

/// Writes each mention as `@` and the name, where it first stands as a whole word. Longer ones come first, because one
/// may be part of another. A reply mentions the author that it answers, mostly without the name in the text.
fn mark_mentions(text: &str, mut mentions: Vec<(String, String)>) -> String {
    mentions.retain(|(written, name)| !written.is_empty() && !name.is_empty());
    mentions.sort_by_key(|(written, _)| (Reverse(written.len()), written.clone()));
    mentions.dedup_by(|(written, _), (other, _)| written == other);
    let mut taken: Vec<(Range<usize>, &str)> = Vec::new();
    for (written, name) in &mentions {
        let places = text.match_indices(written.as_str()).map(|(at, _)| at..at + written.len());
        let is_free = |place: &Range<usize>| {
            taken.iter().all(|(other, _)| place.end <= other.start || other.end <= place.start)
        };
        let place = places.filter(is_free).find(|place| stands_alone(text, place));
        taken.extend(place.map(|place| (place, name.as_str())));
    }
    taken.sort_by_key(|(place, _)| Reverse(place.start));
    let mut marked = text.to_owned();
    for (place, name) in taken {
        let sign = if text[..place.start].ends_with('@') { "" } else { "@" };
        marked.replace_range(place, &format!("{sign}{name}"));
    }
    marked
}

/// Whether the text at `place` is a whole word. Chinese and Japanese have no spaces between words.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    const FIRST_WITHOUT_SPACES: char = '\u{2e80}';
    let is_letter =
        |character: char| character.is_alphanumeric() && character < FIRST_WITHOUT_SPACES;
    let (name, before, after) = (&text[place.clone()], &text[..place.start], &text[place.end..]);
    let is_joined = before.ends_with(is_letter) && name.starts_with(is_letter)
        || name.ends_with(is_letter) && after.starts_with(is_letter);
    !is_joined
}

/// Strips the quotation that a reply begins with, up to the empty line.
fn strip_quote(body: &str) -> &str {
    match body.split_once("\n\n") {
        Some((quote, rest)) if quote.lines().all(|line| line.starts_with('>')) => rest,
        Some(_) | None => body,
    }
}

fn str_at<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mentioned_name_has_a_sign_before_it() {
        for (text, name, expected) in [
            ("Priya: did you lock it?", "Priya", "@Priya: did you lock it?"),
            ("did you lock it, Priya? Priya!", "Priya", "did you lock it, @Priya? Priya!"),
            ("Also, Al, look", "Al", "Also, @Al, look"),
            ("美咲さん、どこですか？", "美咲", "@美咲さん、どこですか？"),
            ("@Priya and Priya", "Priya", "@Priya and Priya"),
            ("@priya:harbour.example look", "priya", "@priya:harbour.example look"),
            ("It hangs behind the door.", "Nadia", "It hangs behind the door."),
            ("nothing", "", "nothing"),
        ] {
            let mentions = vec![(name.to_owned(), name.to_owned())];
            assert_eq!(mark_mentions(text, mentions), expected);
        }
        for (text, names, expected) in [
            ("Mia, Mia Berg, look", ["Mia", "Mia Berg"], "@Mia, @Mia Berg, look"),
            ("Mia Berg and Mia", ["Mia", "Mia Berg"], "@Mia Berg and @Mia"),
            ("Joël and Jo", ["Jo", "Ana"], "Joël and @Jo"),
        ] {
            let mentions = names.map(|name| (name.to_owned(), name.to_owned()));
            assert_eq!(mark_mentions(text, mentions.into()), expected);
        }
    }
}
