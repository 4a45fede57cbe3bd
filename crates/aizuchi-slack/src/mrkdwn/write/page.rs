//! The text as it grows: what stands before each line, what is bold, and where Slack needs help to
//! see that.
//!
//! Slack takes `*` for bold only where a blank or a stop stands on its outer side. Japanese has no
//! blanks, so `これは*大事*です` would show its asterisks. A zero-width space (U+200B) between the mark
//! and the letter is a blank to Slack and nothing to people.

use crate::mrkdwn::escape;

const BORDER: char = '\u{200b}';
const INDENT: &str = "    ";

#[derive(Default)]
pub struct Page {
    text: String,
    holders: Vec<Holder>,
    /// What the next letter is to be, and what it would be as the text stands.
    styles: Vec<char>,
    open: Vec<char>,
    is_behind_mark: bool,
}

/// What holds a block.
pub enum Holder {
    Quote,
    /// The number of the next item, where they have numbers.
    List(Option<u64>),
    /// The mark, until it is written.
    Item(Option<String>),
}

impl Page {
    pub fn begin(&mut self, style: char) {
        self.styles.push(style);
    }

    pub fn end(&mut self, style: char) {
        if let Some(place) = self.styles.iter().rposition(|one| *one == style) {
            self.styles.remove(place);
        }
        self.close_to(self.still_open());
    }

    /// Blocks stand apart, but for those in a list or a quotation.
    pub fn begin_block(&mut self) {
        let lines = if self.holders.is_empty() { 2 } else { 1 };
        self.break_lines(lines);
        self.styles.clear();
    }

    pub fn end_block(&mut self) {
        self.break_lines(1);
    }

    pub fn hold(&mut self, holder: Holder) {
        self.begin_block();
        self.holders.push(holder);
    }

    pub fn hold_item(&mut self) {
        self.break_lines(1);
        let depth = self.holders.iter().filter(|holder| matches!(holder, Holder::List(_))).count();
        let mark = match self.holders.last_mut() {
            Some(Holder::List(Some(number))) => {
                let mark = format!("{number}.");
                *number = number.saturating_add(1);
                mark
            }
            Some(_) | None => ["•", "◦"].get(depth.max(1) - 1).unwrap_or(&"▪").to_string(),
        };
        self.holders.push(Holder::Item(Some(mark)));
    }

    /// Gives the item at hand another mark.
    pub fn mark_item(&mut self, other: &str) {
        if let Some(Holder::Item(Some(mark))) = self.holders.last_mut() {
            *mark = other.to_owned();
        }
    }

    pub fn release(&mut self) {
        if let Some(Holder::Item(Some(_))) = self.holders.last() {
            self.start_line();
        }
        self.end_block();
        self.holders.pop();
    }

    /// Words of one line, with entities.
    pub fn put(&mut self, words: &str) {
        let mut words = words;
        if words.is_empty() {
            return;
        }
        self.start_line();
        if self.still_open() < self.wanted().len() {
            // Slack wants the mark to touch the first letter.
            let letters = words.trim_start();
            let blanks = &words[..words.len() - letters.len()];
            self.text.push_str(blanks);
            self.is_behind_mark &= blanks.is_empty();
            words = letters;
            if words.is_empty() {
                return;
            }
            self.open_styles();
        } else if self.is_behind_mark && words.starts_with(needs_border) {
            self.text.push(BORDER);
        }
        self.text.push_str(words);
        self.is_behind_mark = false;
    }

    /// Code within a line, with its marks.
    pub fn put_span(&mut self, span: &str) {
        self.start_line();
        self.open_styles();
        if self.text.ends_with(needs_border) || self.is_behind_mark {
            self.text.push(BORDER);
        }
        self.text.push_str(span);
        self.is_behind_mark = true;
    }

    /// A block of code. Slack knows none in a list or a quotation.
    pub fn put_code(&mut self, code: &str) {
        if let Some(Holder::Item(Some(_))) = self.holders.last() {
            self.start_line();
        }
        self.break_lines(1);
        let code = escape(code).replace("``", "`\u{200b}`");
        self.text.push_str(&format!("```\n{code}\n```\n"));
    }

    pub fn end_line(&mut self) {
        self.close_to(0);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.is_behind_mark = false;
    }

    pub fn finish(mut self) -> String {
        self.close_to(0);
        self.text.trim_end().to_owned()
    }

    fn break_lines(&mut self, lines: usize) {
        self.close_to(0);
        let ends = self.text.chars().rev().take_while(|letter| *letter == '\n').count();
        if !self.text.is_empty() {
            self.text.extend((ends..lines).map(|_| '\n'));
        }
        self.is_behind_mark = false;
    }

    fn start_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            return;
        }
        // Slack knows no quotation within another.
        if self.holders.iter().any(|holder| matches!(holder, Holder::Quote)) {
            self.text.push_str("> ");
        }
        for holder in &mut self.holders {
            if let Holder::Item(mark) = holder {
                let mark = mark.take().map(|mark| format!("{mark} "));
                self.text.push_str(mark.as_deref().unwrap_or(INDENT));
            }
        }
    }

    /// Each once: bold words in a heading are as bold as the heading.
    fn wanted(&self) -> Vec<char> {
        let mut wanted = Vec::new();
        for style in &self.styles {
            if !wanted.contains(style) {
                wanted.push(*style);
            }
        }
        wanted
    }

    /// How many of the open styles are still wanted.
    fn still_open(&self) -> usize {
        let wanted = self.wanted();
        self.open.iter().zip(&wanted).take_while(|(open, wanted)| open == wanted).count()
    }

    fn open_styles(&mut self) {
        let kept = self.still_open();
        self.close_to(kept);
        let wanted = self.wanted();
        if wanted.len() == kept {
            return;
        }
        if self.is_behind_mark || self.text.ends_with(needs_border) {
            self.text.push(BORDER);
        }
        self.text.extend(&wanted[kept..]);
        self.open = wanted;
        self.is_behind_mark = false;
    }

    fn close_to(&mut self, kept: usize) {
        if self.open.len() <= kept {
            return;
        }
        let letters = self.text.trim_end_matches(' ').len();
        let blanks = self.text.split_off(letters);
        self.text.extend(self.open.drain(kept..).rev());
        self.is_behind_mark = blanks.is_empty();
        self.text.push_str(&blanks);
    }
}

fn needs_border(letter: char) -> bool {
    !(letter.is_whitespace() || letter.is_ascii_punctuation() || letter == BORDER)
}
