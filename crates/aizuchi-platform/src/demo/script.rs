//! The script: who says what, and how long it takes to read. It takes about fifty seconds in all.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;

/// One beat: the users' messages, and what the script then waits for.
pub struct Scene {
    /// Announces what is about to happen.
    pub opening: fn(Language, &Cast, &str) -> String,
    pub messages: &'static [ScriptMessage],
    pub awaited: Awaited,
    /// How long the last caption of the scene stays.
    pub reading_ms: i64,
}

/// The reaction that a scene waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The persona decides whether to join in.
    Decision,
    /// The persona confirms that it will be silent for now.
    Stop,
    /// The persona explains its last decision.
    Reason,
}

pub struct ScriptMessage {
    pub user: DemoUser,
    /// The pause before the message.
    pub pause_ms: i64,
    text: ScriptText,
}

enum ScriptText {
    Plain(fn(Language) -> &'static str),
    /// A text that names the persona.
    ToPersona(fn(Language, &str) -> String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoUser {
    First,
    Second,
}

/// The two users. Their names depend on the language.
pub struct Cast {
    pub language: Language,
}

impl Cast {
    pub fn name(&self, user: DemoUser) -> &'static str {
        match user {
            DemoUser::First => texts::demo::first_person(self.language),
            DemoUser::Second => texts::demo::second_person(self.language),
        }
    }

    pub fn names(&self) -> [&'static str; 2] {
        [DemoUser::First, DemoUser::Second].map(|user| self.name(user))
    }
}

impl ScriptMessage {
    const fn plain(user: DemoUser, pause_ms: i64, text: fn(Language) -> &'static str) -> Self {
        Self { user, pause_ms, text: ScriptText::Plain(text) }
    }

    const fn to_persona(user: DemoUser, pause_ms: i64, text: fn(Language, &str) -> String) -> Self {
        Self { user, pause_ms, text: ScriptText::ToPersona(text) }
    }

    pub fn text(&self, language: Language, persona: &str) -> String {
        match self.text {
            ScriptText::Plain(text) => text(language).to_owned(),
            ScriptText::ToPersona(text) => text(language, persona),
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
        messages: &[
            ScriptMessage::plain(DemoUser::First, 1200, texts::demo::storm),
            ScriptMessage::plain(DemoUser::Second, 2000, texts::demo::cat),
            ScriptMessage::plain(DemoUser::First, 2200, texts::demo::cable),
        ],
        awaited: Awaited::Decision,
        reading_ms: 6000,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::question(language, cast.name(DemoUser::Second), name)
        },
        messages: &[
            ScriptMessage::plain(DemoUser::Second, 1200, texts::demo::which_room),
            ScriptMessage::plain(DemoUser::First, 2000, texts::demo::room_four),
        ],
        awaited: Awaited::Decision,
        reading_ms: 6000,
    },
    Scene {
        opening: |language, cast, _| {
            let [first, second] = cast.names();
            texts::demo::left_alone(language, first, second)
        },
        messages: &[
            ScriptMessage::plain(DemoUser::First, 1200, texts::demo::meeting),
            ScriptMessage::plain(DemoUser::Second, 2200, texts::demo::where_cable),
        ],
        awaited: Awaited::Decision,
        reading_ms: 7000,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::told_to_stop(language, cast.name(DemoUser::Second), name)
        },
        messages: &[ScriptMessage::to_persona(DemoUser::Second, 1200, texts::demo::stop)],
        awaited: Awaited::Stop,
        reading_ms: 5500,
    },
    Scene {
        opening: |language, cast, name| {
            texts::demo::asked_why(language, cast.name(DemoUser::Second), name)
        },
        messages: &[ScriptMessage::to_persona(DemoUser::Second, 1200, texts::demo::why)],
        awaited: Awaited::Reason,
        reading_ms: 7000,
    },
];
