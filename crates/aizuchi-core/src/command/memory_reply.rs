//! The answer to `memory`: what is remembered, under headings, each thing once.

use crate::chat::Visibility;
use crate::command::CommandRequest;
use crate::command::remembered::{Remembered, remembered_in, without_doubles};
use crate::command::reply::{CommandReplies, screen_stored, truncate};
use crate::memory::layer::Layer;
use crate::persona::Language;
use crate::store::StoreError;
use crate::texts;

/// The longest answer, in characters: what fits on a screen.
const MAX_LENGTH: usize = 1500;

impl CommandReplies {
    pub(super) async fn memory_text(
        &self,
        request: &CommandRequest,
        language: Language,
    ) -> Result<String, StoreError> {
        let found = remembered_in(&*self.store, &*self.archive, &request.conversation).await?;
        let once = without_doubles(found);
        if once.is_empty() {
            return Ok(texts::commands::nothing_remembered(language).to_owned());
        }
        let sections = sections(&once, request.visibility, language);
        Ok(screen_stored(&sections.join("\n\n"), language))
    }
}

/// A section for each layer that holds something. What a short one leaves is for those behind it.
fn sections(once: &[Remembered], visibility: Visibility, language: Language) -> Vec<String> {
    let lines = |layer: Layer| -> Vec<String> {
        let of_layer = once.iter().filter(|it| it.layer == layer);
        of_layer.map(|it| format!("- {}", it.item.line())).collect()
    };
    let mut layers = Layer::ALL.map(|layer| (layer, lines(layer))).to_vec();
    layers.retain(|(_, lines)| !lines.is_empty());
    let mut left = MAX_LENGTH;
    let count = layers.len();
    let section = |(index, (layer, lines)): (usize, &(Layer, Vec<String>))| {
        let shown = shorten(lines, *layer, left / (count - index), language);
        left = left.saturating_sub(shown.chars().count());
        let heading = texts::commands::remembered_heading(language, *layer, visibility);
        format!("{heading}\n{shown}")
    };
    layers.iter().enumerate().map(section).collect()
}

/// As many lines as fit, and at least one: the newest, or of memos, which begin with the most important, the first.
fn shorten(lines: &[String], layer: Layer, max_length: usize, language: Language) -> String {
    let keeps_first = layer == Layer::Memos;
    let mut length = 0;
    let fits = |line: &&String| {
        length += line.chars().count() + 1;
        length <= max_length
    };
    let count = match keeps_first {
        true => lines.iter().take_while(fits).count(),
        false => lines.iter().rev().take_while(fits).count(),
    };
    let count = count.max(1);
    let shown = match keeps_first {
        true => &lines[..count],
        false => &lines[lines.len() - count..],
    };
    let shown = truncate(&shown.join("\n"), max_length);
    match lines.len() - count {
        0 => shown,
        more => format!("{shown}\n{}", texts::commands::more_remembered(language, more)),
    }
}
