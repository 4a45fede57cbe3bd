//! Successive prompts of a busy channel share most of their text, so that providers' caches can reuse it.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, message, top_level};
use aizuchi_harness::harness::prompts;
use aizuchi_harness::test_store::StoreKind;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::clock::seeded_random;
use aizuchi_model::context::message_structure::{SharedStructure, StructureCache};
use aizuchi_model::context::message_window::MessageWindow;
use aizuchi_model::context::{Context, ContextLimits, ContextWindow};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::persona::Language;
use aizuchi_model::recall::RecalledMessage;
use aizuchi_store::InboxEntry;

use crate::prompts::persona;

const PEOPLE: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];
const WORDS: [&str; 8] = ["roses", "need", "water", "before", "the", "evening", "but", "tomatoes"];

/// The share of bytes that the prompts of a generated day have in common with the previous one: those of the judge, which
/// is asked about every fifth message, and those of replies to these messages, to each of which other old lines come to
/// mind.
async fn shared_shares(seed: u64, window: impl Fn(ContextWindow) -> ContextWindow) -> [f64; 2] {
    let store = StoreKind::Volatile.open().await;
    let (prompts, persona) = (prompts(Language::En), persona(Language::En));
    let mut second = 0;
    let (mut shared, mut whole) = ([0; 2], [0; 2]);
    let mut last = [String::new(), String::new()];
    // This affects only the tests' duration.
    let talks = Arc::new(StructureCache::new());
    for number in 0..300 {
        let id = format!("m{number:03}");
        let draw = |what: &str, most: f64| (seeded_random(seed, &[&id, what]) * most) as usize;
        second += 5 + draw("pause", 90.0) as i64;
        let words = 4 + draw("length", 25.0);
        let text = (0..words).map(|word| WORDS[draw(&format!("word {word}"), 8.0)]);
        let text = text.collect::<Vec<_>>().join(" ");
        let name = PEOPLE[draw("who", 5.0)];
        let heard = message(top_level("garden"), &id, at(second), name, &text);
        let settled = Disposition::Settled(Gate::Backfilled);
        let entry = InboxEntry::new(Heard::Message(heard, Arrival::Live), settled, at(second));
        store.store.hear(entry).await.unwrap();
        if draw("asked", 5.0) > 0 {
            continue;
        }
        let window = window(ContextLimits::default().window(at(second)));
        let context = store.store.context(&top_level("garden"), &window).await.unwrap();
        let talk = SharedStructure::cached_in(talks.clone());
        let old = RecalledMessage {
            message: Arc::new(message(top_level("cellar"), &id, at(number), "frank", &text)),
            author_name: "frank".into(),
            channel_name: "cellar".into(),
            score: 1.0,
        };
        let recalled_messages = vec![old.clone(), old.clone(), old];
        let context = Context { talk, ..context };
        let recalling = Arc::new(Context { recalled_messages, ..context.clone() });
        let scene = PromptOptions::new(at(second + 60));
        let judge = prompts.judge(&persona, &Arc::new(context), &scene).text;
        let reply = prompts.reply(&persona, &recalling, &scene).text;
        for (index, text) in [judge, reply].into_iter().enumerate() {
            if !last[index].is_empty() {
                let both = text.bytes().zip(last[index].bytes());
                shared[index] += both.take_while(|(one, other)| one == other).count();
                whole[index] += text.len();
            }
            last[index] = text;
        }
    }
    [0, 1].map(|index| shared[index] as f64 / whole[index] as f64)
}

#[tokio::test]
async fn successive_prompts_of_a_busy_channel_share_most_of_their_text() {
    for seed in 0..3 {
        let [judge, reply] = shared_shares(seed, |window| window).await;
        assert!(judge >= 0.75, "{judge}, seed {seed}");
        assert!(reply >= 0.5, "{reply}, seed {seed}");
    }
}

/// Shows why the window moves in steps.
#[tokio::test]
async fn a_window_that_moves_with_each_message_shares_much_less() {
    let exact = |window| ContextWindow { messages: MessageWindow::exact(50), ..window };
    let [judge, _] = shared_shares(0, exact).await;
    assert!(judge < 0.6, "{judge}");
}
