//! What one message costs the structure of its conversation: reading it, and linking it to the forty before it.

use std::hint::black_box;

use aizuchi_structure::links::WINDOW;
use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::Utterance;
use aizuchi_structure::{ConversationStructure, Models};
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

fn messages(names: &NameIndex) -> Vec<Utterance> {
    let texts = TEXTS.iter().cycle().take(3 * WINDOW).enumerate();
    texts
        .map(|(number, text)| {
            let author = (number * 7 % 5) as u32;
            Utterance::new(author, 25.0 * number as f64, text, &[], names)
        })
        .collect()
}

fn benches(criterion: &mut Criterion) {
    let mut names = NameIndex::default();
    for (user, name) in (0..).zip(["ann", "bob", "cid", "花子", "dan"]) {
        names.insert(user, name);
    }
    criterion.bench_function("read twelve messages", |bencher| {
        bencher.iter(|| TEXTS.map(|text| Utterance::new(0, 0.0, black_box(text), &[], &names)));
    });
    let messages = messages(&names);
    let before = || {
        let mut structure = ConversationStructure::new(Models::shipped());
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
