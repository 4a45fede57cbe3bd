//! Converts a model's Markdown to mrkdwn. The only live mentions are users named with `@` and their exact name; every
//! other `<` is escaped.

mod buffer;

use aizuchi_model::chat::{UserId, is_invisible, to_single_line};
use aizuchi_model::emphasis::{has_emphasis_marks, mark_emphasis, restore_asterisks, to_events};
use aizuchi_model::table;
use aizuchi_platform::parsed_text::normalize_text;
use aizuchi_platform::user_names::{TextOrMention, split_mentions};
use buffer::{Container, MrkdwnBuffer};
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

use crate::mrkdwn::{escape, is_id};

/// Resembles a backtick but does not end a code span.
const BACKTICK_LOOKALIKE: &str = "\u{2cb}";

/// Converts Markdown to mrkdwn. `find_user` returns the id of the user with exactly this name.
pub fn to_mrkdwn(markdown: &str, find_user: &dyn Fn(&str) -> Option<UserId>) -> String {
    let text = mark_emphasis(&normalize_text(markdown));
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut writer = MrkdwnWriter::new(find_user);
    for event in TextMergeStream::new(Parser::new_ext(&text, options)) {
        match event {
            Event::Text(text) if writer.code.is_none() && has_emphasis_marks(&text) => {
                to_events(&text).into_iter().for_each(|event| writer.event(event));
            }
            event => writer.event(event),
        }
    }
    writer.buffer.finish()
}

struct MrkdwnWriter<'a> {
    find_user: &'a dyn Fn(&str) -> Option<UserId>,
    buffer: MrkdwnBuffer,
    /// The text of the current code block.
    code: Option<String>,
    /// The plain text of the current table cell and link, innermost last.
    captured: Vec<String>,
    /// The targets of the current links.
    links: Vec<String>,
    /// The number of images around the current text.
    image_depth: usize,
    columns: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl<'a> MrkdwnWriter<'a> {
    fn new(find_user: &'a dyn Fn(&str) -> Option<UserId>) -> Self {
        Self {
            find_user,
            buffer: MrkdwnBuffer::default(),
            code: None,
            captured: Vec::new(),
            links: Vec::new(),
            image_depth: 0,
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&restore_asterisks(&text)),
            Event::Code(code) => self.code_span(&restore_asterisks(&code)),
            Event::Html(text) | Event::InlineHtml(text) => self.html(&restore_asterisks(&text)),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.buffer.begin_block();
                self.buffer.push_text("———");
                self.buffer.end_block();
            }
            Event::TaskListMarker(true) => self.buffer.set_item_marker("☑"),
            Event::TaskListMarker(false) => self.buffer.set_item_marker("☐"),
            // The parser's options disable these.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&restore_asterisks(&text));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.buffer.push_style('*'),
            Tag::Emphasis => self.buffer.push_style('_'),
            Tag::Strikethrough => self.buffer.push_style('~'),
            Tag::Heading { .. } => {
                self.buffer.begin_block();
                self.buffer.push_style('*');
            }
            Tag::BlockQuote(_) => self.buffer.begin_container(Container::Quote),
            Tag::List(first) => self.buffer.begin_container(Container::List(first)),
            Tag::Item => self.buffer.begin_item(),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.buffer.begin_block();
                self.code = Some(String::new());
            }
            Tag::Link { link_type, dest_url, .. } => {
                let mail = if link_type == LinkType::Email { "mailto:" } else { "" };
                self.links.push(to_single_line(&format!("{mail}{}", restore_asterisks(&dest_url))));
                self.captured.push(String::new());
            }
            Tag::Image { .. } => self.image_depth += 1,
            Tag::Table(columns) => {
                self.buffer.begin_block();
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
            | Tag::MetadataBlock(_) => self.buffer.begin_block(),
            Tag::Superscript | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.buffer.pop_style('*'),
            TagEnd::Emphasis => self.buffer.pop_style('_'),
            TagEnd::Strikethrough => self.buffer.pop_style('~'),
            TagEnd::Heading(_) => {
                self.buffer.pop_style('*');
                self.buffer.end_block();
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.buffer.end_container(),
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.buffer.push_code_block(code.trim_end_matches('\n'));
            }
            TagEnd::Link => self.link(),
            TagEnd::Image => self.image_depth = self.image_depth.saturating_sub(1),
            TagEnd::Table => {
                self.buffer.push_code_block(&table::format_table(&self.rows, &self.columns))
            }
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
            | TagEnd::MetadataBlock(_) => self.buffer.end_block(),
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::Superscript | TagEnd::Subscript => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = normalize_text(text);
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
                self.buffer.end_line();
            }
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        if self.image_depth > 0 {
            self.buffer.push_text(&escape(line));
            return;
        }
        let find_user = |name: &str| (self.find_user)(name).filter(|id| is_id(id.as_str()));
        for part in split_mentions(line, &find_user) {
            match part {
                // Three backticks in plain text must not start a code block.
                TextOrMention::Text(text) => {
                    self.buffer.push_text(&escape(text).replace("``", "`\u{200b}`"));
                }
                TextOrMention::Mention(id) => self.buffer.push_text(&format!("<@{id}>")),
            }
        }
    }

    fn code_span(&mut self, code: &str) {
        let code = normalize_text(code).replace('\n', " ");
        match self.captured.last_mut() {
            Some(captured) => captured.push_str(&code),
            None => self
                .buffer
                .push_code_span(&format!("`{}`", escape(&code.replace('`', BACKTICK_LOOKALIKE)))),
        }
    }

    fn html(&mut self, html: &str) {
        let line = html.trim_end_matches('\n');
        self.text(line);
        if line.len() < html.len() {
            self.text("\n");
        }
    }

    /// A link in a table becomes text, because tables are written as code blocks.
    fn link(&mut self) {
        let target = self.links.pop().unwrap_or_default();
        let label = to_single_line(&self.captured.pop().unwrap_or_default());
        let address = target.strip_prefix("mailto:").unwrap_or(&target);
        let as_text = match label.as_str() {
            "" => address.to_owned(),
            label if label == address || address.is_empty() => label.to_owned(),
            label => format!("{label} ({address})"),
        };
        match self.captured.last_mut() {
            Some(captured) => captured.push_str(&as_text),
            None if is_linkable(&target) => self.buffer.push_text(&format_link(&target, &label)),
            None => self.buffer.push_text(&escape(&as_text)),
        }
    }
}

fn is_linkable(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    // A link with another scheme could open an app on a click, so it stays text.
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
}

fn format_link(target: &str, label: &str) -> String {
    let address = escape(&percent_encode(target));
    if label.is_empty() || label == target {
        return format!("<{address}>");
    }
    // mrkdwn cannot escape the `|` between the address and the label.
    format!("<{address}|{}>", escape(&label.replace('|', "¦")))
}

/// Percent-encodes all characters that would end the URL in mrkdwn.
fn percent_encode(target: &str) -> String {
    let mut encoded = String::with_capacity(target.len());
    for character in target.chars() {
        let ends_url =
            character.is_whitespace() || character.is_control() || is_invisible(character);
        if ends_url || matches!(character, '<' | '>' | '|' | '`' | '"' | '\\' | '^') {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).bytes();
            encoded.extend(bytes.map(|byte| format!("%{byte:02X}")));
        } else {
            encoded.push(character);
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
