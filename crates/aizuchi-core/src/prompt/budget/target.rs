//! A target that is too long: its parent, the lines that are owed an answer and the newest ones stay,
//! and where others were, it says how many.

use std::sync::Arc;

use crate::chat::MessageId;
use crate::context::Context;
use crate::prompt::budget::{TrimmedSection, record_trimmed};
use crate::prompt::view::MessageView;
use crate::prompt::view::from_context::MessageRenderer;

/// A line's time and name, and a note of what was left out of it.
const MESSAGE_OVERHEAD_TOKENS: u64 = 40;

/// Lines that are needed share so many tokens, even where the instructions alone fill the prompt: a few
/// letters are no question.
const MIN_NEEDED_TOKENS: u64 = 400;

/// Makes the lines of a target fit into so many tokens, as far as they can.
pub fn fit_target(
    lines: Vec<Arc<MessageView>>,
    room: u64,
    context: &Context,
    printer: &MessageRenderer<'_>,
    trimmed: &mut Vec<TrimmedSection>,
) -> Vec<Arc<MessageView>> {
    if message_tokens(&lines) <= room {
        return lines;
    }
    let mut kept: Vec<bool> = lines.iter().map(|line| is_needed(line, context)).collect();
    if let Some(newest) = kept.last_mut() {
        *newest = true;
    }
    let mut lines = lines;
    let needed = kept.iter().filter(|kept| **kept).count() as u64;
    let share = room.max(MIN_NEEDED_TOKENS) / needed.max(1);
    let mut used = 0;
    for (line, _) in lines.iter_mut().zip(&kept).filter(|(_, kept)| **kept) {
        render_shorter(line, share, context, printer);
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
    let mut shown: Vec<Arc<MessageView>> = Vec::new();
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
            None => shown.push(Arc::new(MessageView::omission(1))),
        }
    }
    record_trimmed(trimmed, TrimmedSection { section: "target", count, tokens: left_out });
    shown
}

/// The parent of a thread, lines that are owed an answer, and the one that the judge would answer.
fn is_needed(line: &MessageView, context: &Context) -> bool {
    let is = |id: &MessageId| line.message.as_ref() == Some(id);
    let about = context.intent.as_ref().and_then(|motive| motive.about.as_ref());
    context.conversation.thread.as_ref().is_some_and(is)
        || about.is_some_and(is)
        || context.owed.iter().any(is)
}

/// Prints a line anew, if it is longer than it may be.
fn render_shorter(
    line: &mut Arc<MessageView>,
    most: u64,
    context: &Context,
    printer: &MessageRenderer<'_>,
) {
    let id = line.message.as_ref().filter(|_| line.tokens > most);
    if let Some(message) = id.and_then(|id| context.target_message(id)) {
        // What stands around the text takes its part.
        *line = printer.message(message, most.saturating_sub(MESSAGE_OVERHEAD_TOKENS));
    }
}

pub fn message_tokens(lines: &[Arc<MessageView>]) -> u64 {
    lines.iter().map(|line| line.tokens).sum()
}
