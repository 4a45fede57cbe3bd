//! Converts a page to Markdown, without what surrounds its text: scripts, navigation and hidden elements.

mod words;

use std::cell::Cell;
use std::collections::BTreeMap;

use aizuchi_model::chat::to_single_line;
use reqwest::Url;

use crate::web_access::entities::decode_references;
use crate::web_access::markup::{Markup, MarkupReader, Tag};

/// The maximum size of a page's text, in bytes; the rest is dropped.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// The maximum work for a page, in bytes that are read or written; then reading stops. A page of the maximum size takes
/// half of it.
const MAX_WORK_BYTES: usize = 32 * 1024 * 1024;
/// The maximum length of a title, in characters.
const MAX_TITLE_CHARACTERS: usize = 200;
/// The maximum length of a link's address, in bytes. Longer ones are left out.
const MAX_LINK_BYTES: usize = 500;
/// The maximum number of links whose addresses are kept.
const MAX_LINKS: usize = 1_000;
/// If the main part of a page is shorter than this, the whole page is used.
const MIN_MAIN_BYTES: usize = 200;
/// The maximum depth to which lists and quotes are indented.
const MAX_DEPTH: usize = 8;

/// Elements that are skipped with all of their content.
const SKIPPED: [&str; 13] = [
    "noscript", "template", "svg", "math", "object", "canvas", "audio", "video", "nav", "footer",
    "aside", "select", "button",
];
/// Elements that are skipped if they are hidden. They are always closed, unlike `li` and `p`.
const HIDEABLE: [&str; 9] =
    ["div", "span", "section", "article", "ul", "ol", "table", "a", "label"];
/// Elements that are surrounded by blank lines.
const BLOCKS: [&str; 24] = [
    "p", "div", "section", "article", "main", "header", "figure", "figcaption", "address",
    "details", "summary", "fieldset", "form", "center", "hgroup", "dl", "table", "ul", "ol",
    "blockquote", "pre", "body", "search", "menu",
];
/// Elements that are surrounded by line breaks.
const LINES: [&str; 8] = ["dt", "dd", "tr", "caption", "thead", "tbody", "tfoot", "legend"];

/// The text of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlText {
    pub title: Option<String>,
    pub markdown: String,
    pub is_cut: bool,
}

/// Returns the Markdown of a page whose own address is `base`.
pub fn read_html(page: &str, base: &Url) -> HtmlText {
    write_html(page, base).finish()
}

fn write_html(page: &str, base: &Url) -> PageTextWriter {
    let mut writer = PageTextWriter::new(base);
    let mut reader = MarkupReader::new(page);
    let mut left = reader.left();
    while let Some(markup) = reader.next() {
        writer.count_work(left - reader.left());
        left = reader.left();
        match markup {
            Markup::Text(text) => writer.add_text(text),
            Markup::Open(tag) => writer.open(&tag),
            Markup::Close(name) => writer.close(&name),
        }
        if writer.text.len() > MAX_TEXT_BYTES || writer.work.get() > MAX_WORK_BYTES {
            writer.is_cut = true;
            break;
        }
    }
    writer
}

struct PageTextWriter {
    base: Url,
    /// Whether the page has declared its base. The first one counts, as in a browser.
    has_base: bool,
    text: String,
    title: Option<String>,
    is_cut: bool,
    /// The number of bytes that were read or written.
    work: Cell<usize>,
    /// The element that is being skipped, and how many elements of its name are open within it.
    skipped: Option<(String, usize)>,
    /// The number of line breaks before the next word.
    breaks: usize,
    needs_space: bool,
    /// What comes before the next word on its line: the marker of a heading or a list item.
    marker: String,
    /// The open lists: the next number, if they are numbered.
    lists: Vec<Option<u32>>,
    quotes: usize,
    is_preformatted: bool,
    link: LinkState,
    /// The number of links so far.
    link_count: usize,
    /// The positions in the text where the elements with the main part of the page begin and end.
    main_parts: BTreeMap<MainPart, (usize, Option<usize>)>,
}

/// The link that the following text belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LinkState {
    #[default]
    None,
    /// It begins with the next word. Contains the address as the page has it.
    Ahead(String),
    /// It has begun. Contains the absolute address.
    Open(String),
}

/// The elements that may contain the main part of a page, most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MainPart {
    Main,
    Articles,
}

impl MainPart {
    fn from_tag(name: &str) -> Option<Self> {
        match name {
            "main" => Some(MainPart::Main),
            "article" => Some(MainPart::Articles),
            _ => None,
        }
    }
}

impl PageTextWriter {
    fn new(base: &Url) -> Self {
        Self {
            base: base.clone(),
            has_base: false,
            text: String::new(),
            title: None,
            is_cut: false,
            work: Cell::new(0),
            skipped: None,
            breaks: 0,
            needs_space: false,
            marker: String::new(),
            lists: Vec::new(),
            quotes: 0,
            is_preformatted: false,
            link: LinkState::None,
            link_count: 0,
            main_parts: BTreeMap::new(),
        }
    }

    fn count_work(&self, bytes: usize) {
        self.work.set(self.work.get().saturating_add(bytes));
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
        // The element's content was read with it.
        if tag.raw_content.is_some() {
            return;
        }
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(*skipped == name);
            return;
        }
        // People do not see hidden text, so a page could hide instructions for the model in it.
        if SKIPPED.contains(&name) || HIDEABLE.contains(&name) && self.is_hidden(tag) {
            self.break_line(usize::from(name != "span" && name != "a"));
            self.skipped = Some((name.to_owned(), 1));
            return;
        }
        if let Some(part) = MainPart::from_tag(name) {
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
            "base" if !self.has_base => {
                let href = self.href(tag);
                self.has_base = href.is_some();
                if let Some(base) = href.and_then(|href| self.resolve(href)) {
                    self.base = base;
                }
            }
            "a" => {
                self.end_link();
                let href = self.href(tag);
                self.link = href.map_or(LinkState::None, |href| LinkState::Ahead(href.to_owned()));
            }
            "img" => {
                if let Some(description) = self.attribute(tag, "alt") {
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
        if let Some(part) = MainPart::from_tag(name) {
            let end = self.text.len();
            if let Some((_, last)) = self.main_parts.get_mut(&part) {
                *last = Some(end);
            }
        }
    }

    fn separate(&mut self, name: &str) {
        // A list within a list item follows it without a blank line.
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

    /// Begins a table cell. Cells of a row are separated by a bar.
    fn begin_cell(&mut self) {
        self.end_link_text();
        if self.breaks == 0 && !self.text.is_empty() {
            self.text.push_str(" | ");
            self.needs_space = false;
        }
    }

    fn is_hidden(&self, tag: &Tag<'_>) -> bool {
        let is_unseen = |style: &str| {
            let style = style.to_ascii_lowercase().replace(' ', "");
            style.contains("display:none") || style.contains("visibility:hidden")
        };
        self.attribute(tag, "hidden").is_some()
            || self.attribute(tag, "aria-hidden") == Some("true")
            || self.attribute(tag, "style").is_some_and(is_unseen)
    }

    fn href<'a>(&self, tag: &Tag<'a>) -> Option<&'a str> {
        self.attribute(tag, "href").filter(|href| href.len() <= MAX_LINK_BYTES)
    }

    fn attribute<'a>(&self, tag: &Tag<'a>, name: &str) -> Option<&'a str> {
        self.count_work(tag.attributes.len());
        tag.attribute(name)
    }
}

fn to_title(content: &str) -> Option<String> {
    let title = to_single_line(&decode_references(content));
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(MAX_TITLE_CHARACTERS).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests;
