//! Words with a single meaning in the documentation.

use std::path::Path;

use pulldown_cmark::{Event, Tag, TagEnd};
use regex::Regex;

use crate::docs::{Page, markdown_below};

/// Users talk in channels. Only the local room is called a room; the exception is room in the sense of space.
#[test]
fn a_room_is_the_local_room() {
    let mut wrong = Vec::new();
    for folder in ["docs/guide", "docs/operate", "docs/internals"] {
        let paths = markdown_below(Path::new(folder));
        assert!(paths.len() > 3, "{folder}: {paths:?}");
        for path in paths {
            let page = Page::read(path.to_str().unwrap());
            wrong.extend(rooms(&page).iter().map(|place| format!("{}: {place}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn other_rooms_are_noticed() {
    let text = "# Private rooms\nThe local\nroom has room for *all*.\n\n\
        | in a `room` | [rooms](rooms.md) |\n|---|---|\n| every room | x |\n";
    let page = Page { path: "page.md".into(), text: text.to_owned() };
    assert_eq!(rooms(&page), ["Private rooms", "every room"]);
}

/// Returns the parts of sentences that use "room" in another sense.
fn rooms(page: &Page) -> Vec<String> {
    let allowed = Regex::new(r"\b[Ll]ocal rooms?\b|\broom (for|to)\b").unwrap();
    let room = Regex::new(r"\b[Rr]ooms?\b").unwrap();
    let around = Regex::new(r"\S*(?: \S*)?\b[Rr]ooms?\b\S*").unwrap();
    let blocks = blocks(page);
    let found = blocks.iter().filter_map(|text| {
        let rest = allowed.replace_all(text, "…");
        room.is_match(&rest)
            .then(|| around.find(&rest).map_or("", |found| found.as_str()).to_owned())
    });
    found.collect()
}

/// Returns the text of each paragraph, heading, cell and item, without code and links.
fn blocks(page: &Page) -> Vec<String> {
    let (mut blocks, mut text) = (Vec::new(), String::new());
    let (mut is_code, mut links) = (false, 0_usize);
    for event in page.events() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => links += 1,
            Event::End(TagEnd::Link | TagEnd::Image) => links = links.saturating_sub(1),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough)
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {}
            Event::Text(words) if !is_code && links == 0 => text.push_str(&words),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::Start(_) | Event::End(_) => blocks.push(std::mem::take(&mut text)),
            _ => {}
        }
    }
    blocks.push(text);
    blocks
}
