//! The answers to `memory`, which lists what is remembered under headings without duplicates, and to `forget that`.

use aizuchi_model::chat::Visibility;
use aizuchi_model::memory::layer::Layer;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::StoreError;

use crate::command::CommandRequest;
use crate::command_replies::{CommandReplies, screen_stored, truncate};
use crate::forget_that::{self, ForgetTargets, MAX_OF_OTHERS, Obstacle};
use crate::quoted_text::Quoted;
use crate::visible_memories::{Item, Remembered, remembered_in, without_doubles};

/// The maximum length of an answer, in characters: it fits on a screen.
const MAX_LENGTH: usize = 1500;
/// The maximum length of one quoted item.
const MAX_QUOTE_LENGTH: usize = 200;

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

    /// Describes the result of `forget that`.
    pub(super) async fn forget_that_text(
        &self,
        request: &CommandRequest,
        language: Language,
    ) -> Result<String, StoreError> {
        let name = &self.persona.name;
        let text = match forget_that::meant(&*self.store, &*self.archive, request).await? {
            ForgetTargets::Nothing => texts::commands::nothing_to_forget(language, name),
            ForgetTargets::Several(items) => {
                texts::commands::which_to_forget(language, name, &quote(&items))
            }
            ForgetTargets::Forgotten(items) if items.is_empty() => forgot_memo(request, language),
            ForgetTargets::Forgotten(items) => {
                texts::commands::forgot_that(language, &quote(&items))
            }
            ForgetTargets::One(items) => {
                let (archive, rulebook) = (&*self.archive, self.rulebook.read());
                match forget_that::obstacle(archive, &rulebook, request, &items).await? {
                    None => texts::commands::failed(language).to_owned(),
                    Some(Obstacle::Pinned) => texts::commands::pinned_memory(language).to_owned(),
                    Some(Obstacle::Unconfirmed) => {
                        texts::commands::forget_others_for_sure(language, name, &quote(&items[..1]))
                    }
                    Some(Obstacle::TooMany) => {
                        texts::commands::forgot_too_much(language, MAX_OF_OTHERS)
                    }
                }
            }
        };
        Ok(screen_stored(&text, language))
    }
}

/// Confirms that a memo was forgotten. Its text is gone, so it is quoted from the command.
fn forgot_memo(request: &CommandRequest, language: Language) -> String {
    match Quoted::split(&request.text).quotations.first() {
        Some(quotation) => {
            let quotation = truncate(quotation, MAX_QUOTE_LENGTH);
            texts::commands::forgot_quoted_memo(language, &quotation)
        }
        None => texts::commands::forgot_memo(language).to_owned(),
    }
}

/// Quotes each item on its own line.
fn quote(items: &[Item]) -> String {
    let line = |item: &Item| format!("> {}", truncate(&item.line(), MAX_QUOTE_LENGTH));
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a section for each layer that is not empty. Space that a short section leaves is used for the later ones.
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

/// Returns as many lines as fit, and at least one: the newest ones or, for memos, which begin with the most important,
/// the first ones.
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
