//! The mentions that the persona answered in a channel, and its reactions.

use std::collections::HashMap;

use aizuchi_import::history::MessageReader;
use aizuchi_import::rows::IdHash;
use aizuchi_model::chat::Mention;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_platform::local::mention::parse_mentions;

use crate::replay::moments::Moment;
use crate::report::called::Call;
use crate::report::channel::post::is_posted;
use crate::report::channel::{ChannelAnalysis, PendingStory, place};
use crate::report::figures::ReportSource;
use crate::report::story::{Note, StoryKind};

/// By conversation: whether the persona would also have posted its newest message there without a model.
pub(super) type Said = HashMap<IdHash, bool>;

impl<'a> ChannelAnalysis<'a> {
    /// Records an unasked post.
    pub(super) fn say(&self, said: &mut Said, moment: &Moment) {
        let is_real = self.source != ReportSource::Builtin || is_posted(moment);
        said.insert(place(moment.thread.as_ref()), is_real);
    }

    /// Returns how a message addressed the persona, which answered it. Fails if the message cannot be read.
    pub(super) fn call(
        &self,
        moment: &Moment,
        said: &mut Said,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Call> {
        let named = match self.about(moment).filter(|_| self.source != ReportSource::Ledger) {
            Some(about) => called_name(&reader.read(&about)?.text, self.persona),
            None => None,
        };
        let place = place(moment.thread.as_ref());
        let newest = said.get(&place).copied().filter(|_| self.source != ReportSource::Ledger);
        let call = match (named, newest) {
            (Some(name), _) => Call::ByName(name),
            (None, Some(is_posted)) => Call::AnswersIt { is_posted },
            (None, None) => Call::Unknown,
        };
        said.insert(place, call.is_real());
        Ok(call)
    }

    /// Returns an answer as a candidate for a story. `None` if it answers a post that would not exist without a model.
    pub(super) fn answered_call(&self, moment: &'a Moment, call: Call) -> Option<PendingStory<'a>> {
        let note = match call {
            Call::ByName(name) => Note::Called { name: Some(name) },
            Call::AnswersIt { is_posted: true } => Note::AnsweredIt,
            Call::AnswersIt { is_posted: false } => return None,
            Call::Unknown => Note::Called { name: None },
        };
        let about = self.about(moment)?;
        Some(PendingStory {
            kind: StoryKind::Called,
            rank: (0, 0),
            moment: Some(moment),
            about,
            note,
        })
    }

    /// Returns a reaction as a candidate for a story.
    pub(super) fn reaction(&self, moment: &'a Moment) -> Option<PendingStory<'a>> {
        let (about, note) = (self.about(moment)?, Note::Reacted);
        Some(PendingStory {
            kind: StoryKind::Reacted,
            rank: (0, 0),
            moment: Some(moment),
            about,
            note,
        })
    }
}

/// Returns the spelling of the persona's name with which a text mentions it behind an `@`, if any.
fn called_name(text: &str, persona: &str) -> Option<String> {
    if !parse_mentions(text, persona, &[]).contains(&Mention::Persona) {
        return None;
    }
    let lower = text.to_lowercase();
    let is_there =
        |name: &str| ['@', '＠'].into_iter().any(|mark| lower.contains(&format!("{mark}{name}")));
    let spelling = spellings(persona).into_iter().skip(1).find(|one| is_there(one));
    Some(spelling.unwrap_or_else(|| persona.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_by_name_says_which_name() {
        for (text, expected) in [
            ("@Aizuchi what is up?", Some("Aizuchi")),
            ("hey @aizuchi!", Some("Aizuchi")),
            ("＠あいづちさん、今何時？", Some("あいづち")),
            ("@aizuchi-bot hi", None),
            ("Aizuchi is slow", None),
        ] {
            assert_eq!(called_name(text, "Aizuchi").as_deref(), expected, "{text}");
        }
    }
}
