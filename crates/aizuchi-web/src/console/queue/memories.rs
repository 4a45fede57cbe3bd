//! The memories that are due, among the pending steps; and those that cannot be made, with the reason.

use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::console::health::WaitingMemory;
use crate::console::layout::{TimeView, memory_address};
use crate::console::queue::{PlaceLabels, PlaceView, WaitingView};

/// A memory whose newest call failed.
pub struct UnmadeMemory {
    pub place: PlaceView,
    pub term: String,
    pub since: TimeView,
    pub model: Option<Arc<str>>,
    pub error: Option<Arc<str>>,
}

/// Returns the memories that are being made or are due. The others wait for more messages in their place.
pub fn due(memories: &[WaitingMemory], now: f64) -> impl Iterator<Item = &WaitingMemory> {
    memories.iter().filter(move |memory| memory.in_progress || memory.due <= now)
}

pub fn waiting(memory: &WaitingMemory, places: &PlaceLabels, language: Language) -> WaitingView {
    let WaitingMemory { workspace, scope, channel, thread, term, .. } = memory;
    let channel = channel.as_ref().map_or("", |channel| channel.as_str());
    let thread = thread.as_ref().map_or("", |thread| thread.as_str());
    WaitingView {
        key: format!("{scope} {} {workspace} {channel} {thread}", term.name()),
        place: place(memory, places, language),
        verb: texts::console::pending_verb(language, "remember"),
        is_owed: false,
        is_now: true,
        due: TimeView::from_seconds(memory.due),
    }
}

/// Returns the memories that cannot be made, the longest failing first.
pub fn unmade(
    memories: &[WaitingMemory],
    places: &PlaceLabels,
    language: Language,
) -> Vec<UnmadeMemory> {
    let failing = memories.iter().filter_map(|memory| Some((memory.failing_since?, memory)));
    let mut failing: Vec<(f64, &WaitingMemory)> = failing.collect();
    failing.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let view = |(since, memory): (f64, &WaitingMemory)| UnmadeMemory {
        place: place(memory, places, language),
        term: term(memory, language),
        since: TimeView::from_seconds(since),
        model: memory.model.clone(),
        error: memory.last_error.clone(),
    };
    failing.into_iter().map(view).collect()
}

fn term(memory: &WaitingMemory, language: Language) -> String {
    let term = texts::memories::term(language, memory.term);
    match memory.thread {
        Some(_) => texts::memories::term_of_thread(language, term),
        None => term.to_owned(),
    }
}

fn place(memory: &WaitingMemory, places: &PlaceLabels, language: Language) -> PlaceView {
    let WaitingMemory { workspace, channel, .. } = memory;
    let address = memory_address(workspace, channel.as_ref());
    match channel {
        Some(channel) => PlaceView { address, ..places.view(workspace, channel) },
        None => PlaceView {
            name: texts::memories::everywhere(language).to_owned(),
            address,
            workspace: places.label(workspace),
        },
    }
}
