//! The question that a decision to stay silent was about.

use aizuchi_import::rows::MessageRow;
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::Name;
use aizuchi_model::texts::builtin as texts;

use crate::replay::moments::{Moment, MomentKind, Reason};
use crate::report::channel_index::ChannelIndex;

/// How many messages before a decision the question may be that the decision is about.
const MAX_LOOK_BACK: usize = 8;

/// Returns the question by a person that a decision is about: the message that the decision names, or else the newest
/// question. A judge that says that a question was answered and names none means the newest question.
pub fn question_of(moment: &Moment, index: &ChannelIndex<'_>) -> Option<MessageRow> {
    let named = moment.about.as_ref().filter(|about| Some(*about) != moment.message.as_ref());
    let subject = index.message(named.or(moment.message.as_ref())?.as_str())?;
    let is_asked = |row: &MessageRow| !row.is_bot() && row.asks();
    match () {
        () if says_nothing_asked(&moment.reason) => None,
        () if named.is_none() && says_answered(&moment.reason) => {
            let thread = moment.thread.as_ref().map(MessageId::as_str);
            let beside = index.in_place(thread);
            let beside = beside.until(beside.partition_point(|row| row.ts <= subject.ts));
            let root = thread.and_then(|root| index.message(root));
            let newest_first = beside.iter().rev().chain(root);
            newest_first.take(MAX_LOOK_BACK).find(is_asked)
        }
        () => Some(subject).filter(is_asked),
    }
}

fn is_written(reason: &Reason, text: fn(Language) -> &'static str) -> bool {
    match reason {
        Reason::Gate(_) => false,
        Reason::Written(written) => {
            [Language::En, Language::Ja].into_iter().any(|one| text(one) == written)
        }
    }
}

pub fn says_answered(reason: &Reason) -> bool {
    is_written(reason, texts::question_answered)
}

/// Whether the built-in rules found a question that waits for an answer.
pub fn says_asked(reason: &Reason) -> bool {
    match reason {
        Reason::Gate(_) => false,
        Reason::Written(text) => [Language::En, Language::Ja]
            .into_iter()
            .any(|one| text.ends_with(&*texts::asked_the_room(one, Name("")))),
    }
}

/// Whether the reason is that there was no question.
fn says_nothing_asked(reason: &Reason) -> bool {
    let sentences = [texts::no_question, texts::conversation_ended];
    *reason == Reason::Gate(Gate::NothingOpen)
        || sentences.into_iter().any(|sentence| is_written(reason, sentence))
}

pub fn is_silent(moment: &Moment) -> bool {
    match moment.kind {
        MomentKind::Silent | MomentKind::Dropped => !moment.is_owed,
        MomentKind::Spoke
        | MomentKind::WouldHaveSpoken
        | MomentKind::Reacted
        | MomentKind::Failed => false,
    }
}

/// Whether the judge chose silence because nobody had asked anything. A draft that was dropped because the conversation
/// went on does not count.
pub fn is_without_question(moment: &Moment) -> bool {
    match moment.kind {
        MomentKind::Silent => !moment.is_owed && says_nothing_asked(&moment.reason),
        MomentKind::Spoke
        | MomentKind::WouldHaveSpoken
        | MomentKind::Reacted
        | MomentKind::Dropped
        | MomentKind::Failed => false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn only_a_silence_that_says_so_is_without_a_question() {
        let moment = |kind, reason: Reason, is_owed| Moment {
            at: Timestamp::UNIX_EPOCH,
            thread: None,
            kind,
            message: None,
            about: None,
            is_owed,
            reason,
            text: None,
        };
        let written = |text: fn(Language) -> &'static str, language| {
            Reason::Written(text(language).to_owned())
        };
        let none = || written(texts::no_question, Language::En);
        let silent = MomentKind::Silent;
        for (kind, reason, is_owed, expected) in [
            (silent, none(), false, true),
            (silent, written(texts::conversation_ended, Language::Ja), false, true),
            (silent, none(), true, false),
            (silent, written(texts::question_answered, Language::En), false, false),
            (silent, written(texts::talking_to_each_other, Language::En), false, false),
            (silent, Reason::Gate(Gate::NothingOpen), false, true),
            (MomentKind::Dropped, none(), false, false),
            (MomentKind::Failed, none(), false, false),
            (MomentKind::Reacted, none(), false, false),
        ] {
            let moment = moment(kind, reason, is_owed);
            assert_eq!(is_without_question(&moment), expected, "{moment:?}");
        }
    }
}
