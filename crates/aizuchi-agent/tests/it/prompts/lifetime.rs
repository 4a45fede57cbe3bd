//! A running program retains no text outside of the store.

use std::sync::Arc;

use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_model::chat::Message;
use aizuchi_model::context::Context;
use aizuchi_model::context::message_structure::{
    MessageStructure, SharedStructure, StructureCache,
};
use aizuchi_model::persona::Language;

use crate::prompts::{persona, said, scene, talk};

/// Otherwise, text that was edited, deleted or forgotten would stay in memory, and a reader that races with a
/// deletion would put it back.
#[test]
fn a_text_lives_no_longer_than_the_context_that_holds_it() {
    let prompts = PromptBuilder::load(Language::En, None).unwrap();
    assert_eq!(held_after_prompts(&prompts, SharedStructure::default()), 0);
}

/// A replay uses the texts repeatedly. This also shows that the test above can fail.
#[test]
fn a_replay_holds_the_texts_that_it_has_read() {
    let prompts = PromptBuilder::load(Language::En, None).unwrap();
    let talks = Arc::new(StructureCache::new());
    assert!(held_after_prompts(&prompts, SharedStructure::cached_in(talks)) > 0);
    let prompts = prompts.keeping_rendered_messages();
    assert!(held_after_prompts(&prompts, SharedStructure::default()) > 0);
}

/// The number of texts and users of a context that are still in memory after it is dropped.
fn held_after_prompts(prompts: &PromptBuilder, shared: SharedStructure) -> usize {
    let messages: Vec<Arc<Message>> = (0..12)
        .map(|minute| said(minute, "u-zebedee", &format!("my honey wins prize {minute}?"), None))
        .collect();
    let texts = messages.iter().map(|message| message.text.clone());
    let users = messages.iter().map(|message| message.author.id.0.clone());
    let held: Vec<Arc<str>> = texts.chain(users).collect();
    let persona = persona(Language::En);
    let context = Arc::new(Context { talk: shared.clone(), ..talk(None, messages) });
    let structure = MessageStructure::from_context(&context);
    assert!(structure.structure().asking(11) > 0.0);
    for prompt in [
        prompts.judge(&persona, &context, &scene()),
        prompts.reply(&persona, &context, &scene()),
        prompts.state(&persona, &context, &scene()),
    ] {
        assert!(prompt.text.contains("my honey wins prize 11?"), "{}", prompt.text);
    }
    drop((structure, context));
    held.iter().filter(|held| Arc::strong_count(held) > 1).count()
}
