//! Targets for the answers of models.

use std::sync::{Arc, OnceLock};

use aizuchi_agent::agent::judge::parse::parse_judgment;
use aizuchi_harness::fixtures::{at, message, top_level, until, window};
use aizuchi_harness::harness::prompts;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::flow::Disposition;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_store::volatile::VolatileStore;
use aizuchi_store::{InboxEntry, Store as _};
use futures_util::FutureExt as _;

/// A judge's prompt about a short conversation.
fn judge_prompt() -> Prompt {
    let store = VolatileStore::new();
    for (number, (name, text)) in
        [("alice", "the roses look ill"), ("bob", "who waters them?"), ("alice", "nobody")]
            .into_iter()
            .enumerate()
    {
        let id = format!("m{number}");
        let said = message(top_level("garden"), &id, at(number as i64), name, text);
        let heard = Heard::Message(said, Arrival::Live);
        let entry = InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(0));
        store.hear(entry).now_or_never().expect("it never waits").expect("it hears");
    }
    let context = store.context(&top_level("garden"), &window(50)).now_or_never();
    let context = context.expect("it never waits").expect("it can be read");
    let persona = Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: "You are kind.".to_owned(),
        language: Language::En,
    };
    let options = PromptOptions::new(at(60));
    prompts(Language::En).judge(&Arc::new(persona), &Arc::new(context), &options)
}

/// Parses a judge's answer. What is accepted as a judgment must be one.
pub fn judgments(bytes: &[u8]) {
    static PROMPT: OnceLock<Prompt> = OnceLock::new();
    let prompt = PROMPT.get_or_init(judge_prompt);
    let Ok(judgment) = parse_judgment(&String::from_utf8_lossy(bytes), prompt) else { return };
    assert!((0.0..=1.0).contains(&judgment.confidence), "{judgment:?}");
    assert!(!judgment.reason.contains('\n'), "{judgment:?}");
    let about = judgment.about.expect("there is a message to answer");
    assert!(["m0", "m1", "m2"].contains(&about.as_str()), "{about}");
    assert!(judgment.reaction.is_none(), "no reaction is on offer");
}
