//! HTML as a sequence of tags and texts. It builds no tree: the standard's tree grows quadratically with a hostile
//! page, and is as deep as the page makes it. Each character is read a fixed number of times.

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Markup<'a> {
    /// Text in which character references are not decoded.
    Text(&'a str),
    Open(Tag<'a>),
    /// The name, in lower case.
    Close(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// The name, in lower case.
    pub name: String,
    /// The attributes as they are written.
    pub attributes: &'a str,
    /// The content of an element whose content is not markup.
    pub raw_content: Option<&'a str>,
}

/// Elements whose content is not markup.
const RAW_ELEMENTS: [&str; 8] =
    ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];
/// The maximum length of an element's name.
const MAX_NAME_BYTES: usize = 32;

impl<'a> Tag<'a> {
    /// Returns the value of an attribute, in which character references are not decoded.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = Attributes(self.attributes).find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// Reads the markup of a page, in order.
pub struct MarkupReader<'a> {
    rest: &'a str,
}

impl<'a> MarkupReader<'a> {
    pub fn new(page: &'a str) -> Self {
        Self { rest: page }
    }

    /// Returns the number of bytes that have not been read.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Takes the text up to a byte position, which must be a character boundary.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Skips up to and including this text, or to the end.
    fn skip_past(&mut self, mark: &str) {
        let end = self.rest.find(mark).map_or(self.rest.len(), |at| at + mark.len());
        self.take(end);
    }

    fn read_open_tag(&mut self) -> Tag<'a> {
        self.take(1);
        let name = self.read_name();
        let end = tag_end(self.rest);
        let attributes = self.take(end);
        self.take(self.rest.len().min(1));
        let raw_content = RAW_ELEMENTS.contains(&&*name).then(|| self.read_raw_content(&name));
        Tag { name, attributes, raw_content }
    }

    fn read_close_tag(&mut self) -> String {
        self.take(2);
        let name = self.read_name();
        self.skip_past(">");
        name
    }

    fn read_name(&mut self) -> String {
        let is_end =
            |character: char| character.is_ascii_whitespace() || matches!(character, '/' | '>');
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let name = self.take(end);
        match name.len() <= MAX_NAME_BYTES {
            true => name.to_ascii_lowercase(),
            false => String::new(),
        }
    }

    /// Returns everything up to the tag that closes this element, and skips that tag.
    fn read_raw_content(&mut self, name: &str) -> &'a str {
        let closes = |at: &usize| {
            let behind = self.rest.as_bytes().get(at + 2..at + 2 + name.len());
            behind.is_some_and(|behind| behind.eq_ignore_ascii_case(name.as_bytes()))
        };
        let mut ends = self.rest.match_indices("</").map(|(at, _)| at);
        let end = ends.find(closes).unwrap_or(self.rest.len());
        let content = self.take(end);
        self.skip_past(">");
        content
    }
}

impl<'a> Iterator for MarkupReader<'a> {
    type Item = Markup<'a>;

    fn next(&mut self) -> Option<Markup<'a>> {
        loop {
            let mut characters = self.rest.bytes();
            let is_name_start =
                |character: Option<u8>| character.is_some_and(|l| l.is_ascii_alphabetic());
            match (characters.next()?, characters.next()) {
                (b'<', Some(b'!')) if self.rest.starts_with("<!--") => {
                    self.take("<!--".len());
                    self.skip_past("-->");
                }
                (b'<', Some(b'!' | b'?')) => self.skip_past(">"),
                (b'<', Some(b'/')) if is_name_start(characters.next()) => {
                    return Some(Markup::Close(self.read_close_tag()));
                }
                (b'<', Some(b'/')) => self.skip_past(">"),
                (b'<', second) if is_name_start(second) => {
                    return Some(Markup::Open(self.read_open_tag()));
                }
                (first, _) => {
                    let mark = usize::from(first == b'<');
                    let end = self.rest[mark..].find('<').map_or(self.rest.len(), |at| at + mark);
                    return Some(Markup::Text(self.take(end)));
                }
            }
        }
    }
}

/// Returns where a tag ends: at the first `>` outside of quoted values.
fn tag_end(text: &str) -> usize {
    let (mut quote, mut is_value) = (None, false);
    let end = text.bytes().position(|character| {
        match (quote, character) {
            (Some(mark), character) => {
                if character == mark {
                    (quote, is_value) = (None, false);
                }
                return false;
            }
            (None, b'>') => return true,
            (None, b'"' | b'\'') if is_value => quote = Some(character),
            (None, _) => {}
        }
        is_value = character == b'=' || is_value && character.is_ascii_whitespace();
        false
    });
    end.unwrap_or(text.len())
}

/// An iterator over the names and values within a tag.
struct Attributes<'a>(&'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let is_blank = |character: char| character.is_ascii_whitespace();
        let text =
            self.0.trim_start_matches(|character: char| is_blank(character) || character == '/');
        // An equals sign at the start belongs to the name.
        let mut characters = text.char_indices().skip(1);
        let end = characters
            .find(|(_, character)| is_blank(*character) || matches!(character, '/' | '='));
        let (name, behind) = text.split_at(end.map_or(text.len(), |(at, _)| at));
        if name.is_empty() {
            return None;
        }
        let Some(value) = behind.trim_start_matches(is_blank).strip_prefix('=') else {
            self.0 = behind;
            return Some((name, ""));
        };
        let value = value.trim_start_matches(is_blank);
        let (value, rest) = match value.chars().next() {
            Some(mark @ ('"' | '\'')) => value[1..].split_once(mark).unwrap_or((&value[1..], "")),
            Some(_) | None => value.split_at(value.find(is_blank).unwrap_or(value.len())),
        };
        self.0 = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &str) -> Vec<String> {
        let shown = MarkupReader::new(page).map(|markup| match markup {
            Markup::Text(text) => format!("text {text}"),
            Markup::Close(name) => format!("close {name}"),
            Markup::Open(tag) => {
                let attributes: Vec<String> = Attributes(tag.attributes)
                    .map(|(name, value)| format!(" {name}={value}"))
                    .collect();
                let raw = tag.raw_content.map(|raw| format!(" [{raw}]")).unwrap_or_default();
                format!("open {}{}{raw}", tag.name, attributes.concat())
            }
        });
        shown.collect()
    }

    #[test]
    fn tags_and_texts_are_told_apart() {
        for (page, expected) in [
            ("plain", &["text plain"][..]),
            ("", &[]),
            ("<P>a</P >b", &["open p", "text a", "close p", "text b"]),
            ("1 < 2 <3", &["text 1 ", "text < 2 ", "text <3"]),
            ("<!doctype html><!-- <p> -- > --><?xml?>a", &["text a"]),
            ("<!-- never closed <p>", &[]),
            ("a</>b</ c>d", &["text a", "text b", "text d"]),
            (
                "<a href='x>y' title=\"1>2\" hidden data-x=1>z",
                &["open a href=x>y title=1>2 hidden= data-x=1", "text z"],
            ),
            ("<a b'c>d", &["open a b'c=", "text d"]),
            ("<a href = x/y >z", &["open a href=x/y", "text z"]),
            ("<br/><img src=a/>", &["open br", "open img src=a/"]),
            ("<a =b c==d>", &["open a =b= c==d"]),
            ("<script>if (a<b) '</p>'</SCRIPT>x", &["open script [if (a<b) '</p>']", "text x"]),
            ("<style>p{}", &["open style [p{}]"]),
            ("<title>A &amp; B</title>", &["open title [A &amp; B]"]),
            ("<a href=\"never closed>x", &["open a href=never closed>x"]),
            ("<相>", &["text <相>"]),
            ("<", &["text <"]),
            ("</", &[]),
            ("<a", &["open a"]),
        ] {
            assert_eq!(shown(page), expected, "{page}");
        }
        let long = format!("<{}>x", "a".repeat(100));
        assert_eq!(shown(&long), ["open ", "text x"]);
    }

    #[test]
    fn an_attribute_is_found_by_its_name() {
        let page = "<a HREF=\"x\" href=y hidden>";
        let Some(Markup::Open(tag)) = MarkupReader::new(page).next() else { panic!() };
        assert_eq!(tag.attribute("href"), Some("x"));
        assert_eq!(tag.attribute("hidden"), Some(""));
        assert_eq!(tag.attribute("title"), None);
    }
}
