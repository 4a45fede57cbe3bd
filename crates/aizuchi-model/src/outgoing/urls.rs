//! URLs in a text that a model wrote. A URL is live only if its readers can see where it comes from: it occurs, byte
//! for byte, in the conversation or in a tool's results. Otherwise its scheme is removed, so that no chat platform
//! turns it into a link. A label never hides where a link leads. Code keeps its URLs; the adapter of a platform that may
//! not show it as code uses [`without_urls`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::chat::{AuthorKind, Message, to_single_line};
use crate::context::Context;
use crate::memo::Memo;

/// Characters that may follow a URL without belonging to it.
const TRAILING: [char; 14] =
    ['.', ',', ':', ';', '!', '?', '\'', '"', ')', ']', '}', '*', '_', '~'];
/// The schemes of URLs that may be live.
const WEB_SCHEMES: [&str; 2] = ["https", "http"];
/// The maximum length of a live URL, in bytes.
const MAX_URL_BYTES: usize = 2_000;
/// The maximum number of URLs in a run of characters without spaces. Each of them is stored up to the end of the run.
const MAX_URLS_IN_ROW: usize = 16;
/// How many times links are stripped before the remaining link syntax is escaped.
const MAX_PASSES: usize = 6;
/// Opens and closes code that keeps its URLs.
const CODE_MARK: char = '`';

/// URLs that may be live.
#[derive(Clone, Debug, Default)]
pub struct KnownUrls {
    /// The URLs that occurred, by the URL without trailing punctuation. It is not always certain where a URL ends, so
    /// any part of the punctuation may belong to it. The variants are not stored: for a run of punctuation, their size
    /// would be quadratic.
    by_core: BTreeMap<String, BTreeSet<String>>,
    /// The hosts whose URLs may all be live.
    hosts: BTreeSet<String>,
}

/// Whether code keeps unknown URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeBlocks {
    /// For a post, where no platform turns them into links.
    KeepUrls,
    /// For text that is used elsewhere later, where it may not be code.
    LoseUrls,
}

impl KnownUrls {
    /// Returns the URLs of the channel's messages, of recalled messages and of memos. Everyone who reads the
    /// conversation can look all of these up.
    pub fn in_context(context: &Context) -> Self {
        let mut known = Self::default();
        context.messages().for_each(|message| known.add_message(message));
        let memos = context.important_memos.iter().chain(&context.recent_memos);
        memos.for_each(|memo| known.add_memo(memo));
        known
    }

    /// Makes all URLs of these hosts live. This includes neither subdomains nor other ports.
    pub fn allow_hosts(&mut self, hosts: &[String]) {
        self.hosts.extend(hosts.iter().cloned());
    }

    /// Adds the URLs of a message. In code, the persona may have written URLs that were not known.
    pub fn add_message(&mut self, message: &Message) {
        match message.author.kind {
            AuthorKind::Persona => self.add_outside_code(&message.text),
            AuthorKind::Human | AuthorKind::Bot => self.add(&message.text),
        }
    }

    /// Adds the URLs before and after all code of a text that was screened. Names that were filled in since may contain
    /// a mark that opens or closes code, so between two marks anything may have been code.
    pub fn add_outside_code(&mut self, text: &str) {
        let before = text.split(CODE_MARK).next();
        let after = text.rsplit(CODE_MARK).next().filter(|after| after.len() < text.len());
        before.into_iter().chain(after).for_each(|text| self.add(text));
    }

    /// Adds the URLs of a memo, which were known where it was created.
    pub fn add_memo(&mut self, memo: &Memo) {
        [&memo.content].into_iter().chain(&memo.detail).for_each(|text| self.add(text));
    }

    /// Adds the URLs of a text.
    pub fn add(&mut self, text: &str) {
        let (mut row_end, mut in_row) = (0, 0);
        for (separator, _) in text.match_indices("://") {
            in_row = if separator < row_end { in_row + 1 } else { 1 };
            if in_row > MAX_URLS_IN_ROW {
                continue;
            }
            let start = scheme_start(text, separator);
            let url = url_run(near(&text[start..]));
            if in_row == 1 {
                row_end = start + url.len();
            }
            self.add_url(url);
            let ascii = url.find(|character: char| !character.is_ascii()).unwrap_or(url.len());
            self.add_url(&url[..ascii]);
        }
    }

    /// Adds the URLs of a text that are not among `others`.
    pub fn add_except(&mut self, text: &str, others: &KnownUrls) {
        let mut found = KnownUrls::default();
        found.add(text);
        let new = found.by_core.into_iter().filter(|(core, _)| !others.by_core.contains_key(core));
        for (core, urls) in new {
            self.by_core.entry(core).or_default().extend(urls);
        }
    }

    fn add_url(&mut self, url: &str) {
        let core = without_marks(url);
        if is_safe(core) {
            self.by_core.entry(core.to_owned()).or_default().insert(url.to_owned());
        }
    }

    /// Whether the URL may be live: it occurred, or its host is allowed.
    pub fn contains(&self, url: &str) -> bool {
        self.has_seen(url) || self.is_of_allowed_host(url)
    }

    /// Whether the URL occurred, perhaps followed by punctuation. A closing parenthesis belongs to it only if it has an
    /// opening one.
    pub fn has_seen(&self, url: &str) -> bool {
        let stood = self.by_core.get(without_marks(url)).is_some_and(|stood| {
            let behind = (Bound::Included(url), Bound::Unbounded);
            stood.range::<str, _>(behind).next().is_some_and(|stood| stood.starts_with(url))
        });
        stood && is_closed(url) && is_safe(url)
    }

    /// Whether the URL's host is allowed. Its last character must belong to it, since the URL did not occur before.
    fn is_of_allowed_host(&self, url: &str) -> bool {
        let is_whole = url.ends_with(')') || without_marks(url) == url;
        is_whole
            && url.is_ascii()
            && is_closed(url)
            && is_safe(url)
            && self.hosts.iter().any(|allowed| host(url).eq_ignore_ascii_case(allowed))
    }

    /// Returns the known URL at the start of this text, which begins like a URL. A longer one would be another URL.
    fn find_at_start<'a>(&self, run: &'a str) -> Option<&'a str> {
        let ends = near(run).char_indices().map(|(at, character)| at + character.len_utf8()).rev();
        let mut urls = ends.map(|end| run.split_at(end));
        let ends_there = |rest: &str| {
            let rest = rest.trim_start_matches(TRAILING);
            rest.chars().next().is_none_or(|next| !next.is_ascii())
        };
        urls.find(|(url, rest)| ends_there(rest) && self.contains(url)).map(|(url, _)| url)
    }
}

/// Returns the text with known URLs as autolinks and without any other link.
pub fn screen_urls(text: &str, known: &KnownUrls, code: CodeBlocks) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_PASSES {
        // Stripping one link may reveal another one.
        let screened = mark_known_urls(&take_links_apart(&text, known), known, code);
        if screened == text {
            return text;
        }
        text = screened;
    }
    // The text was crafted to defeat this, so all link syntax is escaped.
    without_urls(&text).replace("][", "] [").replace("]:", "] :").replace('<', "< ")
}

/// Returns the text without any URL and without links whose label hides their target.
pub fn without_urls(text: &str) -> String {
    mark_prose(text, &KnownUrls::default())
}

/// Returns a text as readers see it, without its markup. Spoilers are markup on one platform.
pub fn rendered_text(text: &str) -> String {
    let mut rendered = String::with_capacity(text.len());
    for event in Parser::new_ext(text, markdown_options()) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                rendered.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph) => {
                rendered.push('\n')
            }
            Event::End(TagEnd::Item | TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                rendered.push('\n')
            }
            Event::End(TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead) => {
                rendered.push('\n')
            }
            _ => {}
        }
    }
    rendered.replace("||", "")
}

/// Replaces every link, except known autolinks, by its label and its target.
fn take_links_apart(text: &str, known: &KnownUrls) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut from = 0;
    for (link, range) in find_links(text) {
        if link.is_autolink && known.contains(&link.target) {
            continue;
        }
        apart.push_str(&text[from..range.start]);
        apart.push_str(&link.to_plain_text());
        from = range.end;
    }
    apart + &text[from..]
}

/// A link or an image as CommonMark reads it.
struct MarkdownLink {
    label: String,
    target: String,
    is_autolink: bool,
}

impl MarkdownLink {
    fn to_plain_text(&self) -> String {
        let (label, target) = (to_single_line(&self.label), to_single_line(&self.target));
        if label.is_empty() || label == target || self.is_autolink {
            return target;
        }
        format!("{label} ({target})")
    }
}

/// Returns the outermost links and images, in the order of the text.
fn find_links(text: &str) -> Vec<(MarkdownLink, Range<usize>)> {
    let mut links = Vec::new();
    let mut open: Option<MarkdownLink> = None;
    let mut depth = 0;
    for (event, range) in Parser::new_ext(text, markdown_options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, link_type, .. }) => {
                depth += 1;
                let is_autolink = link_type == LinkType::Autolink;
                open.get_or_insert_with(|| MarkdownLink {
                    label: String::new(),
                    target: dest_url.into_string(),
                    is_autolink,
                });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                depth += 1;
                open.get_or_insert_with(|| MarkdownLink {
                    label: String::new(),
                    target: dest_url.into_string(),
                    is_autolink: false,
                });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                depth -= 1;
                if depth == 0 {
                    links.extend(open.take().map(|link| (link, range)));
                }
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                open.iter_mut().for_each(|link| link.label.push_str(&text));
            }
            Event::SoftBreak | Event::HardBreak => {
                open.iter_mut().for_each(|link| link.label.push(' '));
            }
            _ => {}
        }
    }
    links
}

/// Returns the union of what the platforms' renderers enable.
pub fn markdown_options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS
}

/// Turns known URLs into autolinks and removes the scheme of all others, except in code that keeps its URLs.
fn mark_known_urls(text: &str, known: &KnownUrls, code: CodeBlocks) -> String {
    let code = match code {
        CodeBlocks::KeepUrls => code_ranges(text),
        CodeBlocks::LoseUrls => Vec::new(),
    };
    let mut marked = String::with_capacity(text.len());
    let mut from = 0;
    for code in code {
        marked.push_str(&mark_prose(&text[from..code.start], known));
        marked.push_str(&text[code.clone()]);
        from = code.end;
    }
    marked + &mark_prose(&text[from..], known)
}

/// Turns known URLs into autolinks and removes the scheme of all others. What CommonMark does not read as a link, such
/// as HTML, may be one for a platform.
fn mark_prose(text: &str, known: &KnownUrls) -> String {
    let text = &text.replace("](", "] (");
    let mut marked = String::with_capacity(text.len());
    let mut from = 0;
    for (colon, _) in text.match_indices(':') {
        if colon < from || !is_separator(text, colon) {
            continue;
        }
        let start = scheme_start(text, colon).max(from);
        let run = url_run(&text[start..]);
        let url = known.find_at_start(run);
        marked.push_str(&text[from..start]);
        from = start + url.unwrap_or(run).len();
        if marked.ends_with('<') && text[from..].starts_with('>') {
            marked.pop();
            from += 1;
        }
        // An escaped bracket would become part of the URL.
        if url.is_some() && marked.ends_with('\\') {
            marked.push(' ');
        }
        match url {
            Some(url) => marked.push_str(&format!("<{url}>")),
            None => marked.push_str(&without_schemes(&run[colon - start..])),
        }
    }
    marked + &text[from..]
}

/// Whether the colon here is that of a `://` or of what a browser reads like one: a single slash or a backslash behind
/// the scheme of a web address or in angle brackets.
fn is_separator(text: &str, colon: usize) -> bool {
    let start = scheme_start(text, colon);
    let is_web = WEB_SCHEMES.iter().any(|web| text[start..colon].eq_ignore_ascii_case(web));
    let may_be_short = is_web || text[..start].ends_with('<');
    let rest = &text[colon + 1..];
    rest.starts_with("//") || (may_be_short && rest.starts_with(['/', '\\']))
}

/// Removes all schemes from what follows one. The result is never empty and never begins with a slash, so that it cannot
/// form a URL with the text before it.
fn without_schemes(rest: &str) -> String {
    const SEPARATOR: [char; 3] = [':', '/', '\\'];
    let mut bare = rest.trim_start_matches(SEPARATOR).to_owned();
    let mut from = 0;
    let next = |bare: &str, from: usize| {
        let mut colons = bare[from..].match_indices(':').map(|(at, _)| from + at);
        colons.find(|colon| is_separator(bare, *colon))
    };
    while let Some(colon) = next(&bare, from) {
        let start = scheme_start(&bare, colon);
        let rest = bare[colon..].trim_start_matches(SEPARATOR);
        bare = format!("{}{rest}", &bare[..start]);
        // Only at the colon before the cut can another one form.
        from = bare[..start].rfind(':').unwrap_or(0);
    }
    if bare.is_empty() { " ".to_owned() } else { bare }
}

/// Returns where the scheme before this colon begins. A word may come directly before a web address.
fn scheme_start(text: &str, colon: usize) -> usize {
    let before = &text[..colon];
    let word = before.trim_end_matches(|character: char| character.is_ascii_alphabetic()).len();
    let web = WEB_SCHEMES.iter().find_map(|web| {
        let start = colon.checked_sub(web.len()).filter(|start| *start >= word)?;
        before[start..].eq_ignore_ascii_case(web).then_some(start)
    });
    web.unwrap_or(word)
}

/// Returns the beginning of a text, up to the maximum length of a URL.
fn near(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at > MAX_URL_BYTES);
    &text[..end.unwrap_or(text.len())]
}

/// Returns the text up to the first character that cannot be in a URL.
fn url_run(text: &str) -> &str {
    let is_end = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || matches!(character, '<' | '>' | '"' | '`' | '|')
    };
    text.split(is_end).next().unwrap_or_default()
}

/// Whether it is a web address with a host and without user information, which would disguise the host.
fn is_safe(url: &str) -> bool {
    let (scheme, _) = url.split_once("://").unwrap_or_default();
    let is_web = WEB_SCHEMES.iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let host = host(url);
    // A label before it would hide where the rest leads.
    let is_link_end = url.contains("](");
    is_web && !host.is_empty() && !host.contains(['@', '\\', '%']) && !is_link_end
}

/// Whether each closing parenthesis has an opening one.
fn is_closed(url: &str) -> bool {
    url.matches(')').count() <= url.matches('(').count()
}

/// Returns the host, with a port if it has one.
fn host(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns the URL without trailing punctuation.
fn without_marks(url: &str) -> &str {
    let is_mark = |character: char| {
        TRAILING.contains(&character) || (!character.is_ascii() && !character.is_alphanumeric())
    };
    url.trim_end_matches(is_mark)
}

/// Returns the code that has backticks around it as CommonMark reads it, in the order of the text.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, markdown_options()).into_offset_iter();
    let code = events.filter(|(event, at)| {
        let is_code = matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
        is_code && text[at.start..].starts_with(CODE_MARK)
    });
    code.map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests;
