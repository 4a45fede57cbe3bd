//! What a cut inside it would end: code, tables, quotes and emphasis. The chunk before the cut closes them, and the next
//! one opens them again.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::outgoing::urls::markdown_options;
use crate::split::utf16_length;

/// The blocks and emphasized parts of a text.
#[derive(Debug)]
pub struct Blocks<'a> {
    text: &'a str,
    /// Outer ones come first.
    blocks: Vec<BlockSpan<'a>>,
    /// The maximum length of what a chunk is opened or closed with: half of a chunk.
    longest: usize,
}

#[derive(Debug)]
struct BlockSpan<'a> {
    span: Range<usize>,
    /// The part between its marks.
    inner: Range<usize>,
    kind: BlockKind<'a>,
}

#[derive(Clone, Copy, Debug)]
enum BlockKind<'a> {
    /// The opening line, what comes before its mark, and the mark.
    Code { opening: &'a str, prefix: &'a str, mark: &'a str },
    /// The lines of the header.
    Table { header: &'a str },
    /// The mark.
    Emphasis(&'a str),
}

/// What ends the blocks that a cut is in, and what begins them again.
#[derive(Debug, Default)]
pub struct Seam {
    pub closing: String,
    pub opening: String,
}

impl<'a> Blocks<'a> {
    pub fn of_text(text: &'a str, longest: usize) -> Self {
        let events = Parser::new_ext(text, markdown_options()).into_offset_iter();
        let blocks = events.filter_map(|(event, span)| {
            let Event::Start(tag) = event else { return None };
            BlockSpan::from_tag(&tag, span, text)
        });
        Self { text, blocks: blocks.collect(), longest: longest / 2 }
    }

    fn around(&self, at: usize) -> impl DoubleEndedIterator<Item = &BlockSpan<'a>> {
        self.blocks.iter().filter(move |block| block.span.start < at && at < block.span.end)
    }

    /// The seam of a cut here. Nothing is repeated that would fill half a chunk.
    pub fn seam(&self, at: usize) -> Seam {
        let (mut seam, mut marks) = (Seam::default(), String::new());
        let mut depth = quote_marks(self.text, at).matches('>').count();
        for block in self.around(at) {
            match block.kind {
                BlockKind::Code { opening, prefix, mark } => {
                    seam.opening.push_str(&format!("{opening}\n"));
                    seam.closing.insert_str(0, &format!("\n{prefix}{mark}"));
                    // Others in its lines are code.
                    depth = depth.min(prefix.matches('>').count());
                }
                BlockKind::Table { header } => seam.opening.push_str(header),
                BlockKind::Emphasis(mark) => {
                    marks.push_str(mark);
                    seam.closing.insert_str(0, mark);
                }
            }
        }
        seam.opening = seam.opening + &"> ".repeat(depth) + &marks;
        let is_short = utf16_length(&seam.opening) + utf16_length(&seam.closing) <= self.longest;
        if is_short { seam } else { Seam::default() }
    }

    /// Whether a cut here is in a block that has to stay whole where there is a choice.
    pub fn is_in_block(&self, at: usize) -> bool {
        self.around(at).next().is_some()
    }

    /// Whether each block around a cut has something before it, from `from` on, and something behind it, and none of its
    /// marks is cut. What does not fit into a chunk with its marks is plain text.
    pub fn allow(&self, from: usize, at: usize) -> bool {
        let seam = self.seam(at);
        let is_plain = seam.opening.is_empty() && seam.closing.is_empty();
        let quoted = quote_marks(self.text, at);
        let has_quoted = quoted.is_empty() || !self.text[..at].ends_with(quoted);
        is_plain || has_quoted && self.around(at).all(|block| block.allows(self.text, from, at))
    }

    /// Where the code around a cut goes on, if only its end follows: the previous chunk has closed it.
    pub fn end_of_code(&self, at: usize, next: usize) -> Option<usize> {
        let code = self.code_around(at)?;
        (next >= code.inner.end).then_some(code.span.end)
    }

    /// Whether the seam of a cut here repeats the opening line of a code block.
    pub fn is_in_code(&self, at: usize) -> bool {
        self.code_around(at).is_some()
    }

    fn code_around(&self, at: usize) -> Option<&BlockSpan<'a>> {
        let has_seam = !self.seam(at).closing.is_empty();
        self.around(at).find(|block| matches!(block.kind, BlockKind::Code { .. }) && has_seam)
    }
}

/// The marks of the quotation in whose line a cut is; empty at the beginning of a line. On platforms, a line without a
/// mark is not quoted.
fn quote_marks(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |line| line + 1)..at];
    let marks = &line[..line.len() - line.trim_start_matches([' ', '>']).len()];
    if marks.contains('>') { marks } else { "" }
}

impl<'a> BlockSpan<'a> {
    fn from_tag(tag: &Tag<'_>, span: Range<usize>, text: &'a str) -> Option<Self> {
        let line = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let of = |inner, kind| Some(Self { span: span.clone(), inner, kind });
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) => {
                let opening = text[line..span.end].split('\n').next()?.trim_end();
                let prefix = &text[line..span.start];
                let mark = opening.get(prefix.len()..)?;
                let mark_length = mark.len() - mark.trim_start_matches(mark.chars().next()?).len();
                // A block in a list begins behind the item's mark.
                let is_repeated = prefix.chars().all(|it| matches!(it, ' ' | '>'));
                let code = text[line..span.end].find('\n').map_or(span.end, |at| line + at + 1);
                let last = text[code..span.end].trim_end();
                let last_line = last.rfind('\n').map_or(0, |at| at + 1);
                let closing = last[last_line..].trim_start_matches([' ', '>']);
                // A line with words behind its mark is code.
                let is_closed = closing.starts_with(&mark[..mark_length])
                    && closing.trim_start_matches(&mark[..1]).is_empty();
                let end = if is_closed { code + last_line } else { span.end };
                let kind = BlockKind::Code { opening, prefix, mark: &mark[..mark_length] };
                if is_repeated { of(code..end, kind) } else { None }
            }
            Tag::Table(_) => {
                let mut lines = text[line..span.end].split_inclusive('\n');
                let header = lines.next()?.len() + lines.next()?.len();
                let header = &text[line..line + header];
                of(line + header.len()..span.end, BlockKind::Table { header })
            }
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {
                let mark = text[span.clone()].chars().next()?;
                let length = match tag {
                    Tag::Emphasis => 1,
                    Tag::Strong => 2,
                    _ => text[span.clone()].chars().take_while(|it| *it == mark).count(),
                };
                let inner = span.start + length..span.end.checked_sub(length)?;
                of(inner, BlockKind::Emphasis(&text[span.start..span.start + length]))
            }
            _ => None,
        }
    }

    fn allows(&self, text: &str, from: usize, at: usize) -> bool {
        let has_text = |range: Range<usize>| !text[range].trim_matches([' ', '>', '\n']).is_empty();
        let begin = self.inner.start.max(from).min(at);
        let is_inside = self.inner.start <= at && at <= self.inner.end;
        let is_line_start = text[..at].ends_with('\n');
        match self.kind {
            BlockKind::Code { .. } => is_inside && has_text(begin..at),
            BlockKind::Table { .. } => is_inside && is_line_start && has_text(begin..at),
            BlockKind::Emphasis(_) => {
                is_inside && has_text(begin..at) && has_text(at..self.inner.end)
            }
        }
    }
}
