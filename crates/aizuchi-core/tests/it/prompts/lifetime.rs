//! A running program keeps no text besides the store's.

use std::sync::Arc;

use aizuchi_core::chat::Message;
use aizuchi_core::context::Context;
use aizuchi_core::context::message_structure::{MessageStructure, SharedStructure, StructureCache};
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::builder::PromptBuilder;

use crate::prompts::{persona, said, scene, talk};

/// What was edited, deleted or forgotten since would otherwise stay in memory, and a reader that raced with a deletion
/// would put it back there.
#[test]
fn a_text_lives_no_longer_than_the_context_that_holds_it() {
    let prompts = PromptBuilder::load(Language::En, None).unwrap();
    assert_eq!(held_after_prompts(&prompts, SharedStructure::default()), 0);
}

/// A replay needs them again and again. It shows, too, that the test above would notice.
#[test]
fn a_replay_holds_the_texts_that_it_has_read() {
    let prompts = PromptBuilder::load(Language::En, None).unwrap();
    let talks = Arc::new(StructureCache::new());
    assert!(held_after_prompts(&prompts, SharedStructure::cached_in(talks)) > 0);
    let prompts = prompts.keeping_rendered_messages();
    assert!(held_after_prompts(&prompts, SharedStructure::default()) > 0);
}

/// How many texts and users of a context are still in memory when it is gone.
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
