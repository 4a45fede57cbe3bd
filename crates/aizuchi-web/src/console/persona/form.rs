//! The form of the persona workshop.

use aizuchi_config::values::DisplayName;
use aizuchi_model::chat::Channel;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::shadow::persona_trial::{EditedPersona, MAX_PROMPT_CHARACTERS};
use serde::Deserialize;

use crate::ApiProblem;
use crate::console::layout::encode;
use crate::refusal::Refusal;
use crate::shadow::{Cap, USUAL_CAP};

/// The numbers of moments to choose from.
const COUNTS: [usize; 3] = [3, 5, 10];

/// The fields of the form.
#[derive(Default, Deserialize)]
pub struct PersonaFields {
    name: Option<String>,
    system_prompt: Option<String>,
    /// The workspace and the channel.
    channel: Option<String>,
    count: Option<usize>,
    /// Which of the form's two buttons was pressed.
    action: Option<String>,
    cap: Option<String>,
}

pub struct ChannelView {
    pub value: String,
    pub name: String,
    pub is_chosen: bool,
}

pub struct CountView {
    pub count: usize,
    pub word: String,
    pub is_chosen: bool,
}

impl PersonaFields {
    /// Returns the submitted persona, or the present one if none was submitted.
    pub fn persona(&self, present: &EditedPersona) -> Result<EditedPersona, ApiProblem> {
        let (Some(name), Some(system_prompt)) = (&self.name, &self.system_prompt) else {
            return Ok(present.clone());
        };
        let name = DisplayName::try_from(name.clone()).map_err(|_| Refusal::WrongPersonaName)?;
        let edited = EditedPersona::from_form(name, system_prompt);
        let is_too_long = edited.system_prompt.chars().nth(MAX_PROMPT_CHARACTERS).is_some()
            && edited.differs_from(present);
        match is_too_long {
            true => Err(Refusal::PersonaTooLong { most: MAX_PROMPT_CHARACTERS }.into()),
            false => Ok(edited),
        }
    }

    pub fn count(&self) -> usize {
        self.count.filter(|count| COUNTS.contains(count)).unwrap_or(COUNTS[0])
    }

    pub fn counts(&self, language: Language) -> Vec<CountView> {
        let view = |count| CountView {
            count,
            word: texts::shadow::newest_moments(language, count),
            is_chosen: count == self.count(),
        };
        COUNTS.into_iter().map(view).collect()
    }

    pub fn names(&self, channel: &Channel) -> bool {
        self.channel.as_ref() == Some(&value(channel))
    }

    /// The spending cap. `None` if no model is to be asked.
    pub fn cap(&self) -> Result<Option<Cap>, ApiProblem> {
        match self.action.as_deref() {
            Some("ask") => Cap::read(self.cap.as_deref()).map(Some),
            _ => Ok(None),
        }
    }

    /// The cap in the form: the submitted one if it is valid, else the usual one.
    pub fn cap_text(&self) -> String {
        let sent = self.cap.clone().filter(|cap| Cap::read(Some(cap)).is_ok());
        sent.unwrap_or_else(|| USUAL_CAP.to_owned())
    }
}

pub fn channel_views(channels: &[Channel], fields: &PersonaFields) -> Vec<ChannelView> {
    let view = |channel: &Channel| ChannelView {
        value: value(channel),
        name: format!("#{} · {}", channel.name, channel.workspace),
        is_chosen: fields.names(channel),
    };
    channels.iter().map(view).collect()
}

fn value(channel: &Channel) -> String {
    format!("{}/{}", encode(channel.workspace.as_str()), encode(channel.id.as_str()))
}
