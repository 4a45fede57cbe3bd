//! How it takes part in a channel, in words for whoever asks there.

use crate::persona::{Language, Persona};
use crate::rules::Mode;

pub fn in_words(persona: &Persona, mode: Mode) -> String {
    let name = &persona.name;
    let manner = match (persona.language, mode) {
        (Language::En, Mode::Companion) => {
            "joins in when the talk rests and it has something to add"
        }
        (Language::En, Mode::Facilitator) => "listens, and helps when the talk needs it",
        (Language::En, Mode::MentionOnly) => "speaks only when it is mentioned",
        (Language::En, Mode::Observe) => "listens and remembers, and never speaks",
        (Language::En, Mode::Off) => "does not listen",
        (Language::Ja, Mode::Companion) => "会話が落ち着いて、伝えたいことがあれば加わります",
        (Language::Ja, Mode::Facilitator) => "話を聞き、必要なときに手助けします",
        (Language::Ja, Mode::MentionOnly) => "メンションされたときだけ話します",
        (Language::Ja, Mode::Observe) => "聞いて覚えますが、話しません",
        (Language::Ja, Mode::Off) => "聞いていません",
    };
    let (here, at_once) = match persona.language {
        Language::En => {
            (format!("In this channel, {name} {manner}."), " Mention it for an answer at once.")
        }
        Language::Ja => {
            (format!("このチャンネルでは、{name} は{manner}。"), "メンションするとすぐに答えます。")
        }
    };
    if mode.is_silent() { here } else { here + at_once }
}
