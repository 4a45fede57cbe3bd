//! The script: who says what, and how long it takes to read. Some fifty seconds in all.

use aizuchi_core::persona::Language;
use aizuchi_core::texts;

/// One beat: what people say, and what is waited for then.
pub struct Scene {
    /// Tells what is about to happen.
    pub opening: fn(Language, &Cast, &str) -> String,
    pub lines: &'static [Line],
    pub awaited: Awaited,
    /// How long its last caption stays.
    pub reading_ms: i64,
}

/// What becomes of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The persona decides whether to join in.
    Decision,
    /// It answers that it says nothing for now.
    Stop,
    /// It answers why it did what it did last.
    Reason,
}

pub struct Line {
    pub person: Person,
    /// Before it is said.
    pub pause_ms: i64,
    words: Words,
}

enum Words {
    Plain(fn(Language) -> &'static str),
    /// Words that name the persona.
    ToPersona(fn(Language, &str) -> String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    First,
    Second,
}

/// The two people, who have other names in the other language.
pub struct Cast {
    pub language: Language,
}

impl Cast {
    pub fn name(&self, person: Person) -> &'static str {
        match person {
            Person::First => texts::demo::first_person(self.language),
            Person::Second => texts::demo::second_person(self.language),
        }
    }

    pub fn names(&self) -> [&'static str; 2] {
        [Person::First, Person::Second].map(|person| self.name(person))
    }
}

impl Line {
    const fn plain(person: Person, pause_ms: i64, words: fn(Language) -> &'static str) -> Self {
        Self { person, pause_ms, words: Words::Plain(words) }
    }

    const fn to_persona(
        person: Person,
        pause_ms: i64,
        words: fn(Language, &str) -> String,
    ) -> Self {
        Self { person, pause_ms, words: Words::ToPersona(words) }
    }

    pub fn text(&self, language: Language, persona: &str) -> String {
        match self.words {
            Words::Plain(words) => words(language).to_owned(),
            Words::ToPersona(words) => words(language, persona),
        }
    }
}

/// How many scenes a play has.
pub const SCENES: usize = 5;

/// Within a scene, a pause is shorter than the wait before a decision.
pub static SCRIPT: [Scene; SCENES] = [
    Scene {
        opening: |language, cast, name| {
            let [first, second] = cast.names();
            texts::demo::small_talk(language, first, second, name)
        },
        lines: &[
            Line::plain(Person::First, 1200, texts::demo::storm),
            Line::plain(Person::Second, 2000, texts::demo::cat),
            Line::plain(Person::First, 2200, texts::demo::cable),
        ],
        awaited: Awaited::Decision,
        reading_ms: 6000,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::question(language, cast.name(Person::Second), name)
        },
        lines: &[
            Line::plain(Person::Second, 1200, texts::demo::which_room),
            Line::plain(Person::First, 2000, texts::demo::room_four),
        ],
        awaited: Awaited::Decision,
        reading_ms: 6000,
    },
    Scene {
        opening: |language, cast, _| {
            let [first, second] = cast.names();
            texts::demo::left_alone(language, first, second)
        },
        lines: &[
            Line::plain(Person::First, 1200, texts::demo::meeting),
            Line::plain(Person::Second, 2200, texts::demo::where_cable),
        ],
        awaited: Awaited::Decision,
        reading_ms: 7000,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::told_to_stop(language, cast.name(Person::Second), name)
        },
        lines: &[Line::to_persona(Person::Second, 1200, texts::demo::stop)],
        awaited: Awaited::Stop,
        reading_ms: 5500,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::asked_why(language, cast.name(Person::Second), name)
        },
        lines: &[Line::to_persona(Person::Second, 1200, texts::demo::why)],
        awaited: Awaited::Reason,
        reading_ms: 7000,
    },
];
