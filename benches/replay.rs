//! Measures replays of an invented recording as `aizuchi replay` does them: messages a second on one thread,
//! and how long a channel with very many threads takes.
//!
//! `cargo bench --bench replay`, or with a number of messages: `cargo bench --bench replay -- 200000`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use aizuchi_import::input::{InputOptions, PrivateChannels, Recording};
use aizuchi_model::persona::Language;
use aizuchi_past::replay::score::ReplayScore;
use aizuchi_past::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use serde_json::json;

const WORDS: f64 = 20_000.0;
const THREADS: usize = 50_000;

fn main() {
    let messages = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let messages = messages.unwrap_or(50_000);
    let quiet = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/quiet-300.yaml");
    let quiet = Policy::open(&quiet).expect("the policy is readable");
    let default = Policy::default_settings();
    let talk = recording(messages, |number| (number / 25 * 600 + number % 25 * 11, None));
    measure("quiet-300, silent", &talk, &quiet, ReplayJudge::Silent);
    measure("default, silent", &talk, &default, ReplayJudge::Silent);
    measure("default, builtin", &talk, &default, ReplayJudge::Builtin);
    // Each thread has two replies, which come while the next ones begin.
    let threads = recording(3 * THREADS, |number| {
        (number * 20, (!number.is_multiple_of(3)).then_some(number / 3 * 3))
    });
    measure("50 000 threads, silent", &threads, &default, ReplayJudge::Silent);
    measure("50 000 threads, always", &threads, &default, ReplayJudge::Speak);
}

fn measure(name: &str, recording: &Recording, policy: &Policy, judge: ReplayJudge) {
    let settings = ReplaySettings { judge, latency_ms: 4000, seed: 1 };
    let replay = Replay::new(policy, settings).expect("the prompts are readable").on_threads(1);
    let mut score = ReplayScore::new(policy);
    let (begin, mut scored) = (Instant::now(), Duration::ZERO);
    let replayed = replay.run(&recording.channels, None, &mut |channel, record| {
        let begin = Instant::now();
        score.add(channel, record);
        scored += begin.elapsed();
        Ok(())
    });
    replayed.expect("it can be replayed");
    let whole = begin.elapsed();
    println!(
        "{name:24} {:8.0} messages a second, {:6} calls; scored in {scored:.2?} of {whole:.2?}",
        recording.messages() as f64 / whole.as_secs_f64(),
        score.judge_calls,
    );
}

/// One channel of messages, each at the second and in the thread of the message that `place` says.
fn recording(messages: usize, place: impl Fn(usize) -> (usize, Option<usize>)) -> Recording {
    let folder = tempfile::tempdir().expect("a folder for the recording");
    let path = folder.path().join("bench.jsonl");
    let file = std::fs::File::create(&path).expect("it is made");
    let mut file = BufWriter::new(file);
    for number in 0..messages {
        let (second, thread) = place(number);
        let line = json!({
            "room": "bench",
            "id": format!("m{number}"),
            "thread": thread.map(|thread| format!("m{thread}")),
            "ts": 1_700_000_000 + second,
            "author": format!("u{}", mixed(number) % 40),
            "text": text(number),
        });
        writeln!(file, "{line}").expect("it is written");
    }
    file.flush().expect("it is written");
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::En,
    };
    let recording = Recording::open(&path, &options, &|_| {}).expect("it can be read");
    assert_eq!(recording.channels.len(), 1);
    recording
}

/// Words of which some are common and most are rare. One text of eight asks.
fn text(number: usize) -> String {
    let count = 4 + mixed(number) % 14;
    let words = (0..count).map(|word| {
        let draw = (mixed(number * 31 + word) % 10_000) as f64 / 10_000.0;
        format!("word{}", (draw.powi(4) * WORDS) as usize)
    });
    let text = words.collect::<Vec<_>>().join(" ");
    if number.is_multiple_of(8) { format!("does anybody know {text}?") } else { text }
}

/// A number that looks drawn at random.
fn mixed(number: usize) -> usize {
    let mut mixed = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 1) as usize
}
