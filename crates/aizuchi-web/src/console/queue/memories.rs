//! The memories that are due, among the pending steps.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::console::health::WaitingMemory;
use crate::console::layout::{TimeView, memory_address};
use crate::console::queue::{PlaceLabels, PlaceView, WaitingView};

/// Returns the memories that are being made or are due. The others wait for more messages in their place.
pub fn due(memories: &[WaitingMemory], now: f64) -> impl Iterator<Item = &WaitingMemory> {
    memories.iter().filter(move |memory| memory.in_progress || memory.due <= now)
}

pub fn waiting(memory: &WaitingMemory, places: &PlaceLabels, language: Language) -> WaitingView {
    let WaitingMemory { workspace, scope, channel, thread, term, .. } = memory;
    let address = memory_address(workspace, channel.as_ref());
    let place = match channel {
        Some(channel) => PlaceView { address, ..places.view(workspace, channel) },
        None => PlaceView {
            name: texts::memories::everywhere(language).to_owned(),
            address,
            workspace: places.label(workspace),
        },
    };
    let channel = channel.as_ref().map_or("", |channel| channel.as_str());
    let thread = thread.as_ref().map_or("", |thread| thread.as_str());
    WaitingView {
        key: format!("{scope} {} {workspace} {channel} {thread}", term.name()),
        place,
        verb: texts::console::pending_verb(language, "remember"),
        is_owed: false,
        is_now: true,
        due: TimeView::from_seconds(memory.due),
    }
}
