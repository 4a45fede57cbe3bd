//! What one message costs the structure of its conversation: reading it, and linking it to the forty before it. The
//! first line that is printed is the mean of both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aizuchi_structure::links::WINDOW;
use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::Utterance;
use aizuchi_structure::{ConversationStructure, FittedModels};
use criterion::{Criterion, criterion_group, criterion_main};

const TEXTS: [&str; 12] = [
    "does anyone know why the deploy to staging hangs since this morning?",
    "same here, it stops at the migration",
    "let me look at the logs",
    "the lock on the jobs table was never released, I have restarted the worker",
    "works again, thanks!",
    "lunch at 12:30? the new place at the corner",
    "me!",
    "印刷できなくて困っています。どなたか分かる方いますか",
    "電源を入れ直してみましたか？",
    "直りました、ありがとうございます",
    "bob: could you have a look at the review when you are back",
    "I will, in an hour or so",
];

fn message(number: usize, names: &NameIndex) -> Utterance {
    let (author, at) = ((number * 7 % 5) as u32, 25.0 * number as f64);
    Utterance::new(author, at, black_box(TEXTS[number % TEXTS.len()]), &[], names)
}

/// Reads and links so many messages, one after the other, as they are heard.
fn time_to_hear(messages: u64, names: &NameIndex) -> Duration {
    let mut structure = ConversationStructure::new(FittedModels::shipped());
    let began = Instant::now();
    for number in 0..messages as usize {
        structure.push(message(number, names));
        if structure.len() > 2 * WINDOW {
            structure = structure.slice(WINDOW..structure.len());
        }
    }
    let elapsed = began.elapsed();
    drop(black_box(structure));
    elapsed
}

fn benches(criterion: &mut Criterion) {
    let mut names = NameIndex::default();
    for (user, name) in (0..).zip(["ann", "bob", "cid", "花子", "dan"]) {
        names.insert(user, name);
    }
    criterion.bench_function("read and link a message", |bencher| {
        bencher.iter_custom(|messages| time_to_hear(messages, &names));
    });
    criterion.bench_function("read twelve messages", |bencher| {
        bencher.iter(|| TEXTS.map(|text| Utterance::new(0, 0.0, black_box(text), &[], &names)));
    });
    let messages: Vec<Utterance> = (0..3 * WINDOW).map(|number| message(number, &names)).collect();
    let before = || {
        let mut structure = ConversationStructure::new(FittedModels::shipped());
        messages[..2 * WINDOW].iter().for_each(|message| structure.push(message.clone()));
        structure
    };
    criterion.bench_function("link forty messages", |bencher| {
        bencher.iter_batched(
            before,
            |mut structure| {
                messages[2 * WINDOW..].iter().for_each(|message| structure.push(message.clone()));
                structure
            },
            criterion::BatchSize::SmallInput,
        );
    });
}

criterion_group!(structure, benches);
criterion_main!(structure);
