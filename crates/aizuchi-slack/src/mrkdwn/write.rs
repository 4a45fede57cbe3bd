//! What a model writes in Markdown becomes Slack's mrkdwn. Whatever it writes, nobody is called but
//! those whom it calls by `@` and their name: every other `<` goes out as an entity.

mod page;

use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use crate::mrkdwn::{escape, is_id};
use aizuchi_core::chat::{UserId, is_unseen, one_line};
use aizuchi_core::platform::people::{Part, parts as called};
use aizuchi_core::platform::read::clean;
use aizuchi_core::platform::strong::{has_marks, parts, plain, with_marks};
use aizuchi_core::platform::table;
use page::{Holder, Page};

/// Looks like a backtick, and ends no code.
const BACKTICK: &str = "\u{2cb}";

/// `people` knows the id of whoever has exactly this name.
pub fn write(markdown: &str, people: &dyn Fn(&str) -> Option<UserId>) -> String {
    let text = with_marks(&clean(markdown));
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(people);
    for event in TextMergeStream::new(Parser::new_ext(&text, options)) {
        match event {
            Event::Text(text) if writer.code.is_none() && has_marks(&text) => {
                parts(&text).into_iter().for_each(|event| writer.event(event));
            }
            event => writer.event(event),
        }
    }
    writer.page.finish()
}

struct Writer<'a> {
    people: &'a dyn Fn(&str) -> Option<UserId>,
    page: Page,
    /// The block of code that is being read.
    code: Option<String>,
    /// The plain texts of a cell and of a link in it, or of a link.
    captured: Vec<String>,
    /// Where the links around lead.
    links: Vec<String>,
    /// How many images are around.
    images: usize,
    columns: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl<'a> Writer<'a> {
    fn new(people: &'a dyn Fn(&str) -> Option<UserId>) -> Self {
        Self {
            people,
            page: Page::default(),
            code: None,
            captured: Vec::new(),
            links: Vec::new(),
            images: 0,
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&plain(&text)),
            Event::Code(code) => self.span(&plain(&code)),
            Event::Html(text) | Event::InlineHtml(text) => self.html(&plain(&text)),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.page.begin_block();
                self.page.put("———");
                self.page.end_block();
            }
            Event::TaskListMarker(true) => self.page.mark_item("☑"),
            Event::TaskListMarker(false) => self.page.mark_item("☐"),
            // Not asked for by the options.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&plain(&text));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.page.begin('*'),
            Tag::Emphasis => self.page.begin('_'),
            Tag::Strikethrough => self.page.begin('~'),
            Tag::Heading { .. } => {
                self.page.begin_block();
                self.page.begin('*');
            }
            Tag::BlockQuote(_) => self.page.hold(Holder::Quote),
            Tag::List(first) => self.page.hold(Holder::List(first)),
            Tag::Item => self.page.hold_item(),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.page.begin_block();
                self.code = Some(String::new());
            }
            Tag::Link { link_type, dest_url, .. } => {
                let mail = if link_type == LinkType::Email { "mailto:" } else { "" };
                self.links.push(one_line(&format!("{mail}{}", plain(&dest_url))));
                self.captured.push(String::new());
            }
            Tag::Image { .. } => self.images += 1,
            Tag::Table(columns) => {
                self.page.begin_block();
                self.columns = columns;
                self.rows = Vec::new();
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            Tag::TableCell => self.captured.push(String::new()),
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.page.begin_block(),
            Tag::Superscript | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.page.end('*'),
            TagEnd::Emphasis => self.page.end('_'),
            TagEnd::Strikethrough => self.page.end('~'),
            TagEnd::Heading(_) => {
                self.page.end('*');
                self.page.end_block();
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.page.release(),
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.page.put_code(code.trim_end_matches('\n'));
            }
            TagEnd::Link => self.link(),
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            TagEnd::Table => self.page.put_code(&table::aligned(&self.rows, &self.columns)),
            TagEnd::TableCell => {
                let cell = self.captured.pop().unwrap_or_default();
                self.rows.last_mut().into_iter().for_each(|row| row.push(cell.trim().to_owned()));
            }
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => self.page.end_block(),
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::Superscript | TagEnd::Subscript => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = clean(text);
        if let Some(code) = &mut self.code {
            code.push_str(&text);
            return;
        }
        if let Some(captured) = self.captured.last_mut() {
            captured.push_str(&text.replace('\n', " "));
            return;
        }
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.page.end_line();
            }
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        if self.images > 0 {
            self.page.put(&escape(line));
            return;
        }
        let people = |name: &str| (self.people)(name).filter(|id| is_id(id.as_str()));
        for part in called(line, &people) {
            match part {
                // A text with three backticks in it must not begin a block of code.
                Part::Words(words) => {
                    self.page.put(&escape(words).replace("``", "`\u{200b}`"));
                }
                Part::Person(id) => self.page.put(&format!("<@{id}>")),
            }
        }
    }

    fn span(&mut self, code: &str) {
        let code = clean(code).replace('\n', " ");
        match self.captured.last_mut() {
            Some(captured) => captured.push_str(&code),
            None => self.page.put_span(&format!("`{}`", escape(&code.replace('`', BACKTICK)))),
        }
    }

    fn html(&mut self, html: &str) {
        let line = html.trim_end_matches('\n');
        self.text(line);
        if line.len() < html.len() {
            self.text("\n");
        }
    }

    /// A link within a table is text: nothing in code is a link.
    fn link(&mut self) {
        let target = self.links.pop().unwrap_or_default();
        let label = one_line(&self.captured.pop().unwrap_or_default());
        let address = target.strip_prefix("mailto:").unwrap_or(&target);
        let as_text = match label.as_str() {
            "" => address.to_owned(),
            label if label == address || address.is_empty() => label.to_owned(),
            label => format!("{label} ({address})"),
        };
        match self.captured.last_mut() {
            Some(captured) => captured.push_str(&as_text),
            None if is_web(&target) => self.page.put(&live(&target, &label)),
            None => self.page.put(&escape(&as_text)),
        }
    }
}

fn is_web(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
}

fn live(target: &str, label: &str) -> String {
    let address = escape(&encoded(target));
    if label.is_empty() || label == target {
        return format!("<{address}>");
    }
    format!("<{address}|{}>", escape(&label.replace('|', "¦")))
}

/// Without anything that could end the address before its end.
fn encoded(target: &str) -> String {
    let mut encoded = String::with_capacity(target.len());
    for letter in target.chars() {
        let ends = letter.is_whitespace() || letter.is_control() || is_unseen(letter);
        if ends || matches!(letter, '<' | '>' | '|' | '`' | '"' | '\\' | '^') {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).bytes();
            encoded.extend(bytes.map(|byte| format!("%{byte:02X}")));
        } else {
            encoded.push(letter);
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
