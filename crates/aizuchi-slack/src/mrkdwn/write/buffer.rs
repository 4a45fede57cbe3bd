//! The output buffer of the mrkdwn writer: line prefixes, style marks, and the separators that Slack needs at marks.
//!
//! Slack reads `*` as bold only if its outer neighbor is a space or punctuation. Japanese has no spaces, so
//! `これは*大事*です` would show its asterisks. A zero-width space (U+200B) between the mark and the character separates them
//! for Slack and is invisible to users.

use crate::mrkdwn::escape;

const ZERO_WIDTH_SPACE: char = '\u{200b}';
const INDENT: &str = "    ";

#[derive(Default)]
pub struct MrkdwnBuffer {
    text: String,
    containers: Vec<Container>,
    /// The styles of the next character.
    styles: Vec<char>,
    /// The style marks that are open in the text.
    open_marks: Vec<char>,
    follows_mark: bool,
}

pub enum Container {
    Quote,
    /// The number of the next item, for an ordered list.
    List(Option<u64>),
    /// The marker, until it is written.
    Item(Option<String>),
}

impl MrkdwnBuffer {
    pub fn push_style(&mut self, style: char) {
        self.styles.push(style);
    }

    pub fn pop_style(&mut self, style: char) {
        if let Some(index) = self.styles.iter().rposition(|one| *one == style) {
            self.styles.remove(index);
        }
        self.close_marks_to(self.matching_marks());
    }

    /// Begins a block. A blank line separates blocks, except in a list or a quotation.
    pub fn begin_block(&mut self) {
        let lines = if self.containers.is_empty() { 2 } else { 1 };
        self.break_lines(lines);
        self.styles.clear();
    }

    pub fn end_block(&mut self) {
        self.break_lines(1);
    }

    pub fn begin_container(&mut self, container: Container) {
        self.begin_block();
        self.containers.push(container);
    }

    pub fn begin_item(&mut self) {
        self.break_lines(1);
        let depth = self
            .containers
            .iter()
            .filter(|container| matches!(container, Container::List(_)))
            .count();
        let mark = match self.containers.last_mut() {
            Some(Container::List(Some(number))) => {
                let mark = format!("{number}.");
                *number = number.saturating_add(1);
                mark
            }
            Some(_) | None => ["•", "◦"].get(depth.max(1) - 1).unwrap_or(&"▪").to_string(),
        };
        self.containers.push(Container::Item(Some(mark)));
    }

    /// Replaces the marker of the current item.
    pub fn set_item_marker(&mut self, marker: &str) {
        if let Some(Container::Item(Some(mark))) = self.containers.last_mut() {
            *mark = marker.to_owned();
        }
    }

    pub fn end_container(&mut self) {
        if let Some(Container::Item(Some(_))) = self.containers.last() {
            self.start_line();
        }
        self.end_block();
        self.containers.pop();
    }

    /// Appends escaped text without line breaks.
    pub fn push_text(&mut self, mut text: &str) {
        if text.is_empty() {
            return;
        }
        self.start_line();
        if self.matching_marks() < self.unique_styles().len() {
            // An opening mark must touch the first character.
            let characters = text.trim_start();
            let blanks = &text[..text.len() - characters.len()];
            self.text.push_str(blanks);
            self.follows_mark &= blanks.is_empty();
            text = characters;
            if text.is_empty() {
                return;
            }
            self.open_styles();
        } else if self.follows_mark && text.starts_with(needs_separator) {
            self.text.push(ZERO_WIDTH_SPACE);
        }
        self.text.push_str(text);
        self.follows_mark = false;
    }

    /// Appends a code span with its backticks.
    pub fn push_code_span(&mut self, span: &str) {
        self.start_line();
        self.open_styles();
        if self.text.ends_with(needs_separator) || self.follows_mark {
            self.text.push(ZERO_WIDTH_SPACE);
        }
        self.text.push_str(span);
        self.follows_mark = true;
    }

    /// Appends a code block. mrkdwn has none inside a list or a quotation, so it starts at the beginning of a line.
    pub fn push_code_block(&mut self, code: &str) {
        if let Some(Container::Item(Some(_))) = self.containers.last() {
            self.start_line();
        }
        self.break_lines(1);
        let code = escape(code).replace("``", "`\u{200b}`");
        self.text.push_str(&format!("```\n{code}\n```\n"));
    }

    pub fn end_line(&mut self) {
        // In mrkdwn, a style ends with its line.
        self.close_marks_to(0);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.follows_mark = false;
    }

    pub fn finish(mut self) -> String {
        self.close_marks_to(0);
        self.text.trim_end().to_owned()
    }

    fn break_lines(&mut self, lines: usize) {
        self.close_marks_to(0);
        let ends = self.text.chars().rev().take_while(|character| *character == '\n').count();
        if !self.text.is_empty() {
            self.text.extend((ends..lines).map(|_| '\n'));
        }
        self.follows_mark = false;
    }

    fn start_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            return;
        }
        // mrkdwn has no nested quotations.
        if self.containers.iter().any(|container| matches!(container, Container::Quote)) {
            self.text.push_str("> ");
        }
        for container in &mut self.containers {
            if let Container::Item(mark) = container {
                let mark = mark.take().map(|mark| format!("{mark} "));
                self.text.push_str(mark.as_deref().unwrap_or(INDENT));
            }
        }
    }

    /// Returns each style once: bold text in a heading needs no second mark.
    fn unique_styles(&self) -> Vec<char> {
        let mut wanted = Vec::new();
        for style in &self.styles {
            if !wanted.contains(style) {
                wanted.push(*style);
            }
        }
        wanted
    }

    /// Returns how many of the open marks match the current styles.
    fn matching_marks(&self) -> usize {
        let wanted = self.unique_styles();
        self.open_marks.iter().zip(&wanted).take_while(|(open, wanted)| open == wanted).count()
    }

    fn open_styles(&mut self) {
        let kept = self.matching_marks();
        self.close_marks_to(kept);
        let wanted = self.unique_styles();
        if wanted.len() == kept {
            return;
        }
        if self.follows_mark || self.text.ends_with(needs_separator) {
            self.text.push(ZERO_WIDTH_SPACE);
        }
        self.text.extend(&wanted[kept..]);
        self.open_marks = wanted;
        self.follows_mark = false;
    }

    fn close_marks_to(&mut self, kept: usize) {
        if self.open_marks.len() <= kept {
            return;
        }
        // A closing mark must touch the last character.
        let characters = self.text.trim_end_matches(' ').len();
        let blanks = self.text.split_off(characters);
        self.text.extend(self.open_marks.drain(kept..).rev());
        self.follows_mark = blanks.is_empty();
        self.text.push_str(&blanks);
    }
}

fn needs_separator(character: char) -> bool {
    !(character.is_whitespace()
        || character.is_ascii_punctuation()
        || character == ZERO_WIDTH_SPACE)
}
