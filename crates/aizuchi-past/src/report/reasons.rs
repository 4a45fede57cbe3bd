//! The reasons for decisions. What the built-in rules say about people is an assumption, and the report presents it as
//! one.

use aizuchi_model::decision::gate::Gate;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::Name;
use aizuchi_model::texts::builtin;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::judging::gate_reason;
use aizuchi_model::texts::moments as texts;
use aizuchi_model::texts::report_posts as post_texts;

use crate::replay::moments::Reason;
use crate::report::channel::silence::says_asked;
use crate::report::format;
use crate::report::story::{Mistake, Story};

type Sentence = fn(Language) -> &'static str;

/// What the built-in rules write, and what they saw.
const SEEN: [(Sentence, Sentence); 6] = [
    (builtin::question_answered, texts::saw_answer),
    (builtin::question_directed, texts::saw_directed),
    (builtin::question_unclear, texts::saw_unclear),
    (builtin::talking_to_each_other, texts::saw_talk),
    (builtin::no_question, texts::saw_no_question),
    (builtin::conversation_ended, texts::saw_end),
];

const LANGUAGES: [Language; 2] = [Language::En, Language::Ja];

/// The reason of a story, and how many messages stand between what it is about and the moment.
pub fn story_reason(story: &Story, language: Language) -> Option<String> {
    let l = language;
    let found = story.reason.as_ref()?;
    let about = story.before.iter().find(|message| message.is_about);
    let told = match about.filter(|_| says_asked(found)) {
        Some(about) => texts::saw_open(l, Name(&about.author.name)),
        None => reason(found, l),
    };
    Some(match story.between() {
        0 => told,
        count => {
            let messages = format::number_of(counted::messages, count, l);
            texts::with_between(l, &told, &messages)
        }
    })
}

/// What is known to be wrong about a reason.
pub fn mistake(mistake: &Mistake, language: Language) -> String {
    match mistake {
        Mistake::NotAnswered => post_texts::mistake_not_answered(language).to_owned(),
        Mistake::AlreadyAnswered { person } => {
            post_texts::mistake_answered(language, Name(&person.name))
        }
    }
}

pub fn reason(reason: &Reason, language: Language) -> String {
    let l = language;
    match reason {
        Reason::Gate(Gate::Directed) => texts::saw_directed_messages(l).to_owned(),
        Reason::Gate(Gate::NothingOpen) => texts::saw_nothing_open(l).to_owned(),
        Reason::Gate(gate) => gate_reason(l, *gate).to_owned(),
        Reason::Written(_) if says_asked(reason) => texts::saw_open_question(l).to_owned(),
        Reason::Written(text) => {
            let is_it = |(written, _): &&(Sentence, Sentence)| {
                LANGUAGES.into_iter().any(|one| written(one) == text)
            };
            let seen = SEEN.iter().find(is_it);
            seen.map_or_else(|| text.clone(), |(_, saw)| saw(l).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, language: Language) -> String {
        reason(&Reason::Written(text.to_owned()), language)
    }

    #[test]
    fn a_reason_says_what_the_rules_saw() {
        for name in ["Ann", "\u{5065}"] {
            for written in LANGUAGES {
                let text = builtin::asked_the_room(written, Name(name));
                assert_eq!(
                    told(&text, Language::En),
                    "the rules took this for an open question to everyone"
                );
            }
        }
        for written in LANGUAGES {
            let text = builtin::question_answered(written);
            let english = told(text, Language::En);
            assert_eq!(english, "the rules took a later message for a response to the question");
            assert!(told(text, Language::Ja).starts_with("ルールは"));
        }
        // The words of a model are its own.
        let own = "she has waited for an hour";
        assert_eq!(told(own, Language::Ja), own);
        let gate = reason(&Reason::Gate(Gate::NothingOpen), Language::En);
        assert_eq!(gate, "the rules found nobody who waits for an answer");
        let gate = reason(&Reason::Gate(Gate::Cooldown), Language::En);
        assert_eq!(gate, "I had spoken only a short while before");
    }
}
