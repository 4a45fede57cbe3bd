//! The text of a page as Markdown, without what surrounds it: scripts, navigation, what is hidden.

use std::collections::BTreeMap;

use reqwest::Url;

use crate::chat::to_single_line;
use crate::web_access::entities::decode_references;
use crate::web_access::markup::{Markup, MarkupReader, Tag};

/// More of a page's text is not kept, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// A title is cut after so many letters.
const MAX_TITLE_CHARACTERS: usize = 200;
/// Addresses of links that are longer are left out, in bytes.
const MAX_LINK_BYTES: usize = 500;
/// The addresses of further links are left out.
const MAX_LINKS: usize = 1_000;
/// The main part of a page is all of it if it has fewer letters.
const MIN_MAIN_BYTES: usize = 200;
/// How deep lists and quotes are shown.
const MAX_DEPTH: usize = 8;

/// Elements of which nothing is read.
const SKIPPED: [&str; 13] = [
    "noscript", "template", "svg", "math", "object", "canvas", "audio", "video", "nav", "footer",
    "aside", "select", "button",
];
/// Elements that nothing is read of if they are hidden. They are always closed, unlike `li` and `p`.
const HIDEABLE: [&str; 9] =
    ["div", "span", "section", "article", "ul", "ol", "table", "a", "label"];
/// Elements before and after which there is a blank line.
const BLOCKS: [&str; 24] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "figure",
    "figcaption",
    "address",
    "details",
    "summary",
    "fieldset",
    "form",
    "center",
    "hgroup",
    "dl",
    "table",
    "ul",
    "ol",
    "blockquote",
    "pre",
    "body",
    "search",
    "menu",
];
/// Elements before and after which there is a line break.
const LINES: [&str; 8] = ["dt", "dd", "tr", "caption", "thead", "tbody", "tfoot", "legend"];

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlText {
    pub title: Option<String>,
    pub markdown: String,
    pub is_cut: bool,
}

/// The Markdown of a page whose own address is `base`.
pub fn read_html(page: &str, base: &Url) -> HtmlText {
    let mut writer = Writer::new(base);
    for markup in MarkupReader::new(page) {
        match markup {
            Markup::Text(text) => writer.add_text(text),
            Markup::Open(tag) => writer.open(&tag),
            Markup::Close(name) => writer.close(&name),
        }
        if writer.text.len() > MAX_TEXT_BYTES {
            writer.is_cut = true;
            break;
        }
    }
    writer.finish()
}

struct Writer {
    base: Url,
    text: String,
    title: Option<String>,
    is_cut: bool,
    /// The element of which nothing is read, and how many of its name are open within it.
    skipped: Option<(String, usize)>,
    /// How many line breaks stand before the next word.
    breaks: usize,
    needs_space: bool,
    /// What stands before the next word in its line: the mark of a heading or of an entry of a list.
    marker: String,
    /// The lists that are open: the next number, if they have numbers.
    lists: Vec<Option<u32>>,
    quotes: usize,
    is_preformatted: bool,
    link: Link,
    /// How many links there were.
    link_count: usize,
    /// Where in the text the elements begin and end that hold the main part of the page.
    main_parts: BTreeMap<MainPart, (usize, Option<usize>)>,
}

/// The link that the next words belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Link {
    #[default]
    None,
    /// It begins with the next word. As the page has its address.
    Ahead(String),
    /// It has begun. With its whole address.
    Open(String),
}

/// What holds the main part of a page, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MainPart {
    Main,
    Articles,
}

impl MainPart {
    fn of(name: &str) -> Option<Self> {
        match name {
            "main" => Some(MainPart::Main),
            "article" => Some(MainPart::Articles),
            _ => None,
        }
    }
}

impl Writer {
    fn new(base: &Url) -> Self {
        Self {
            base: base.clone(),
            text: String::new(),
            title: None,
            is_cut: false,
            skipped: None,
            breaks: 0,
            needs_space: false,
            marker: String::new(),
            lists: Vec::new(),
            quotes: 0,
            is_preformatted: false,
            link: Link::None,
            link_count: 0,
            main_parts: BTreeMap::new(),
        }
    }

    fn finish(mut self) -> HtmlText {
        self.end_link();
        if self.is_preformatted {
            self.text.push_str("\n```");
        }
        let parts = self.main_parts.values();
        let mut parts =
            parts.filter_map(|(start, end)| self.text.get(*start..end.unwrap_or(self.text.len())));
        let main = parts.find(|part| part.trim().len() >= MIN_MAIN_BYTES);
        let markdown = main.unwrap_or(&self.text).trim().to_owned();
        HtmlText { title: self.title, markdown, is_cut: self.is_cut }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        if name == "title" && self.title.is_none() && self.skipped.is_none() {
            self.title = tag.raw_content.and_then(to_title);
        }
        // Its content was read with it.
        if tag.raw_content.is_some() {
            return;
        }
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(*skipped == name);
            return;
        }
        if SKIPPED.contains(&name) || HIDEABLE.contains(&name) && is_hidden(tag) {
            self.break_line(usize::from(name != "span" && name != "a"));
            self.skipped = Some((name.to_owned(), 1));
            return;
        }
        if let Some(part) = MainPart::of(name) {
            let start = self.text.len();
            self.main_parts.entry(part).or_insert((start, None));
        }
        self.separate(name);
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_line(2);
                let level = name[1..].parse().unwrap_or(1);
                self.marker.push_str(&"#".repeat(level));
                self.marker.push(' ');
            }
            "br" if self.is_preformatted => self.text.push('\n'),
            "br" => self.break_line(1),
            "hr" => self.break_line(2),
            "ul" | "menu" => self.lists.push(None),
            "ol" => self.lists.push(Some(1)),
            "li" => self.begin_entry(),
            "blockquote" => self.quotes += 1,
            "pre" if !self.is_preformatted => {
                self.begin_word();
                self.text.push_str("```\n");
                self.is_preformatted = true;
            }
            "td" | "th" => self.begin_cell(),
            "base" => {
                let href = tag.attribute("href").filter(|href| href.len() <= MAX_LINK_BYTES);
                if let Some(base) = href.and_then(|href| self.base.join(href).ok()) {
                    self.base = base;
                }
            }
            "a" => {
                self.end_link();
                let href = tag.attribute("href").filter(|href| href.len() <= MAX_LINK_BYTES);
                self.link = href.map_or(Link::None, |href| Link::Ahead(href.to_owned()));
            }
            "img" => {
                if let Some(description) = tag.attribute("alt") {
                    self.add_text(description);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if *skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_line(2);
                self.marker.clear();
            }
            "li" => {
                self.break_line(1);
                self.marker.clear();
            }
            "ul" | "ol" | "menu" => {
                self.lists.pop();
            }
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "pre" if self.is_preformatted => {
                self.text.push_str("\n```");
                self.is_preformatted = false;
            }
            "a" => self.end_link(),
            _ => {}
        }
        self.separate(name);
        if let Some(part) = MainPart::of(name) {
            let end = self.text.len();
            if let Some((_, last)) = self.main_parts.get_mut(&part) {
                *last = Some(end);
            }
        }
    }

    fn separate(&mut self, name: &str) {
        // The entries of a list within an entry follow it closely.
        let is_inner_list = matches!(name, "ul" | "ol" | "menu") && !self.lists.is_empty();
        if LINES.contains(&name) || is_inner_list {
            self.break_line(1);
        } else if BLOCKS.contains(&name) {
            self.break_line(2);
        }
    }

    fn begin_entry(&mut self) {
        self.break_line(1);
        let depth = self.lists.len().saturating_sub(1).min(MAX_DEPTH);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.marker = format!("{}{mark}", "  ".repeat(depth));
    }

    /// Cells of a row are separated by a bar.
    fn begin_cell(&mut self) {
        self.end_link_text();
        if self.breaks == 0 && !self.text.is_empty() {
            self.text.push_str(" | ");
            self.needs_space = false;
        }
    }

    fn add_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        let text = decode_references(text);
        if self.is_preformatted {
            self.push(&text);
            return;
        }
        let starts_apart = text.starts_with(char::is_whitespace);
        let ends_apart = text.ends_with(char::is_whitespace);
        self.needs_space |= starts_apart;
        let mut is_blank = true;
        for word in text.split_whitespace() {
            if self.text.len() > MAX_TEXT_BYTES {
                break;
            }
            self.begin_word();
            self.push(word);
            (self.needs_space, is_blank) = (true, false);
        }
        if !is_blank {
            self.needs_space = ends_apart;
        }
    }

    /// Writes a text up to the letter that is too much.
    fn push(&mut self, text: &str) {
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        let mut letters = text.char_indices();
        let end = letters.find(|(at, _)| *at > room).map_or(text.len(), |(at, _)| at);
        self.text.push_str(&text[..end]);
    }

    /// Writes what stands before the next word.
    fn begin_word(&mut self) {
        let is_first = self.text.is_empty();
        if self.breaks > 0 || is_first {
            if !is_first {
                self.text.push_str(&"\n".repeat(self.breaks));
            }
            self.text.push_str(&"> ".repeat(self.quotes.min(MAX_DEPTH)));
            self.text.push_str(&std::mem::take(&mut self.marker));
            self.breaks = 0;
        } else if self.needs_space {
            self.text.push(' ');
        }
        self.needs_space = false;
        if let Link::Ahead(href) = &self.link {
            let address = if self.link_count < MAX_LINKS { self.resolve(href) } else { None };
            self.link_count += 1;
            self.link = address.map_or(Link::None, Link::Open);
            if self.link != Link::None {
                self.text.push('[');
            }
        }
    }

    fn break_line(&mut self, breaks: usize) {
        if breaks > 0 {
            self.end_link_text();
            self.breaks = self.breaks.max(breaks);
            self.needs_space = false;
        }
    }

    /// The words of a link stand in one line. What follows belongs to it no more.
    fn end_link_text(&mut self) {
        if matches!(self.link, Link::Open(_)) {
            self.end_link();
        }
    }

    fn end_link(&mut self) {
        if let Link::Open(address) = std::mem::take(&mut self.link) {
            // In angle brackets, so that its end is certain.
            self.text.push_str("](<");
            self.text.push_str(&address);
            self.text.push_str(">)");
        }
    }

    /// The whole address that a link leads to, if it leads to another page.
    fn resolve(&self, href: &str) -> Option<String> {
        let href = decode_references(href);
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https");
        let address = String::from(url);
        (is_page && address.len() <= MAX_LINK_BYTES).then_some(address)
    }
}

fn is_hidden(tag: &Tag<'_>) -> bool {
    let is_unseen = |style: &str| {
        let style = style.to_ascii_lowercase().replace(' ', "");
        style.contains("display:none") || style.contains("visibility:hidden")
    };
    tag.attribute("hidden").is_some()
        || tag.attribute("aria-hidden") == Some("true")
        || tag.attribute("style").is_some_and(is_unseen)
}

fn to_title(content: &str) -> Option<String> {
    let title = to_single_line(&decode_references(content));
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(MAX_TITLE_CHARACTERS).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests;
