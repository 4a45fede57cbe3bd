//! A target that is too long: its parent, the lines that are owed an answer and the newest ones stay,
//! and where others were, it says how many.

use std::sync::Arc;

use crate::chat::MessageId;
use crate::context::Context;
use crate::prompt::budget::{Trimmed, note};
use crate::prompt::view::LineView;
use crate::prompt::view::from_context::Printer;

/// A line's time and name, and a note of what was left out of it.
const AROUND_TOKENS: u64 = 40;

/// Lines that are needed share so many tokens, even where the instructions alone fill the prompt: a few
/// letters are no question.
const LEAST_OF_NEEDED: u64 = 400;

/// Makes the lines of a target fit into so many tokens, as far as they can.
pub fn fit(
    lines: Vec<Arc<LineView>>,
    room: u64,
    context: &Context,
    printer: &Printer<'_>,
    trimmed: &mut Vec<Trimmed>,
) -> Vec<Arc<LineView>> {
    if tokens(&lines) <= room {
        return lines;
    }
    let mut kept: Vec<bool> = lines.iter().map(|line| is_needed(line, context)).collect();
    if let Some(newest) = kept.last_mut() {
        *newest = true;
    }
    let mut lines = lines;
    let needed = kept.iter().filter(|kept| **kept).count() as u64;
    let share = room.max(LEAST_OF_NEEDED) / needed.max(1);
    let mut used = 0;
    for (line, _) in lines.iter_mut().zip(&kept).filter(|(_, kept)| **kept) {
        reprint(line, share, context, printer);
        used += line.tokens;
    }
    for place in (0..lines.len()).rev() {
        if !kept[place] {
            if used + lines[place].tokens > room {
                break;
            }
            used += lines[place].tokens;
            kept[place] = true;
        }
    }
    let mut shown: Vec<Arc<LineView>> = Vec::new();
    let (mut count, mut left_out) = (0, 0);
    for (line, kept) in lines.into_iter().zip(kept) {
        if kept {
            shown.push(line);
            continue;
        }
        count += 1;
        left_out += line.tokens;
        match shown.last_mut().filter(|last| last.omitted > 0) {
            Some(last) => Arc::make_mut(last).omitted += 1,
            None => shown.push(Arc::new(LineView::omission(1))),
        }
    }
    note(trimmed, Trimmed { section: "target", count, tokens: left_out });
    shown
}

/// The parent of a thread, lines that are owed an answer, and the one that the judge would answer.
fn is_needed(line: &LineView, context: &Context) -> bool {
    let is = |id: &MessageId| line.line.as_ref() == Some(id);
    let about = context.motive.as_ref().and_then(|motive| motive.about.as_ref());
    context.conversation.thread.as_ref().is_some_and(is)
        || about.is_some_and(is)
        || context.owed.iter().any(is)
}

/// Prints a line anew, if it is longer than it may be.
fn reprint(line: &mut Arc<LineView>, most: u64, context: &Context, printer: &Printer<'_>) {
    let id = line.line.as_ref().filter(|_| line.tokens > most);
    if let Some(message) = id.and_then(|id| context.message(id)) {
        // What stands around the text takes its part.
        *line = printer.line(message, most.saturating_sub(AROUND_TOKENS));
    }
}

pub fn tokens(lines: &[Arc<LineView>]) -> u64 {
    lines.iter().map(|line| line.tokens).sum()
}
