//! Writes the words and the links of a page.

use reqwest::Url;

use crate::web_access::entities::decode_references;
use crate::web_access::html::{LinkState, PageTextWriter};
use crate::web_access::html::{MAX_DEPTH, MAX_LINK_BYTES, MAX_LINKS, MAX_TEXT_BYTES};

impl PageTextWriter {
    pub(super) fn add_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        self.count_work(text.len());
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

    /// Writes a text, up to the maximum size of the page.
    fn push(&mut self, text: &str) {
        self.count_work(text.len());
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        let mut characters = text.char_indices();
        let end = characters.find(|(at, _)| *at > room).map_or(text.len(), |(at, _)| at);
        self.text.push_str(&text[..end]);
    }

    /// Writes what comes before the next word.
    pub(super) fn begin_word(&mut self) {
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
        if let LinkState::Ahead(href) = &self.link {
            let address = if self.link_count < MAX_LINKS {
                self.resolve(href).map(String::from)
            } else {
                None
            };
            self.link_count += 1;
            self.link = address.map_or(LinkState::None, LinkState::Open);
            if self.link != LinkState::None {
                self.text.push('[');
            }
        }
    }

    pub(super) fn break_line(&mut self, breaks: usize) {
        if breaks > 0 {
            self.end_link_text();
            self.breaks = self.breaks.max(breaks);
            self.needs_space = false;
        }
    }

    /// Ends the text of a link, which is on a single line. The following text does not belong to it.
    pub(super) fn end_link_text(&mut self) {
        if matches!(self.link, LinkState::Open(_)) {
            self.end_link();
        }
    }

    pub(super) fn end_link(&mut self) {
        if let LinkState::Open(address) = std::mem::take(&mut self.link) {
            // The angle brackets mark the end of the address unambiguously.
            self.text.push_str("](<");
            self.text.push_str(&address);
            self.text.push_str(">)");
        }
    }

    /// Returns the absolute address of a link, if it leads to another page.
    pub(super) fn resolve(&self, href: &str) -> Option<Url> {
        self.count_work(self.base.as_str().len() + href.len());
        let href = decode_references(href);
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https");
        (is_page && url.as_str().len() <= MAX_LINK_BYTES).then_some(url)
    }
}
