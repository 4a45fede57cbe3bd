//! Fits a target conversation that is too long. Its parent, the messages that are owed an answer and the newest
//! messages stay; notes say how many others were left out. The oldest are left out in steps, so that consecutive
//! prompts share their prefix.

use std::sync::Arc;

use aizuchi_model::chat::MessageId;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::context::Context;

use crate::prompt::budget::{TrimmedSection, record_trimmed, step_up};
use crate::prompt::view::MessageView;
use crate::prompt::view::from_context::MessageRenderer;

/// The tokens of a message's time and author, and of the note in a shortened text.
const MESSAGE_OVERHEAD_TOKENS: u64 = 40;

/// The required messages share at least this many tokens, even if the instructions alone fill the
/// prompt: with less, no question would be readable.
const MIN_NEEDED_TOKENS: u64 = 400;

/// Fits the messages of the target into `max_tokens`, as far as possible.
pub fn fit_target(
    views: Vec<Arc<MessageView>>,
    max_tokens: u64,
    context: &Context,
    renderer: &MessageRenderer<'_>,
    trimmed: &mut Vec<TrimmedSection>,
) -> Vec<Arc<MessageView>> {
    if message_tokens(&views) <= max_tokens {
        return views;
    }
    let mut is_kept: Vec<bool> = views.iter().map(|view| is_needed(view, context)).collect();
    if let Some(newest) = is_kept.last_mut() {
        *newest = true;
    }
    let mut views = views;
    let needed = is_kept.iter().filter(|is_kept| **is_kept).count() as u64;
    let share = max_tokens.max(MIN_NEEDED_TOKENS) / needed.max(1);
    let mut used = 0;
    for (view, _) in views.iter_mut().zip(&is_kept).filter(|(_, is_kept)| **is_kept) {
        render_shorter(view, share, context, renderer);
        used += view.tokens;
    }
    let mut first = views.len();
    while let Some(index) = first.checked_sub(1) {
        if !is_kept[index] {
            if used + views[index].tokens > max_tokens {
                break;
            }
            used += views[index].tokens;
        }
        first = index;
    }
    let first = step_up(first, views.len());
    is_kept[first..].fill(true);
    let mut shown: Vec<Arc<MessageView>> = Vec::new();
    let (mut count, mut left_out) = (0, 0);
    for (view, is_kept) in views.into_iter().zip(is_kept) {
        if is_kept {
            shown.push(view);
            continue;
        }
        count += 1;
        left_out += view.tokens;
        match shown.last_mut().filter(|last| last.omitted > 0) {
            Some(last) => Arc::make_mut(last).omitted += 1,
            None => shown.push(Arc::new(MessageView::omission(1))),
        }
    }
    record_trimmed(trimmed, TrimmedSection { section: "target", count, tokens: left_out });
    shown
}

/// Whether a message must stay: the parent of the thread, a message that is owed an answer, or the
/// one that the judge wants to answer.
fn is_needed(view: &MessageView, context: &Context) -> bool {
    let is = |id: &MessageId| view.message.as_ref() == Some(id);
    let about = context.intent.as_ref().and_then(|intent| intent.about.as_ref());
    context.conversation.thread.as_ref().is_some_and(is)
        || about.is_some_and(is)
        || context.owed.iter().filter_map(Owed::message).any(is)
}

/// Renders a message again with a shorter text if it is too long.
fn render_shorter(
    view: &mut Arc<MessageView>,
    max_tokens: u64,
    context: &Context,
    renderer: &MessageRenderer<'_>,
) {
    let id = view.message.as_ref().filter(|_| view.tokens > max_tokens);
    if let Some(message) = id.and_then(|id| context.target_message(id)) {
        // The time and the author take up part of the limit.
        *view = renderer.message(message, max_tokens.saturating_sub(MESSAGE_OVERHEAD_TOKENS));
    }
}

pub fn message_tokens(views: &[Arc<MessageView>]) -> u64 {
    views.iter().map(|view| view.tokens).sum()
}
