//! All fuzz targets, on their corpora and on what a seeded mutator makes of them. `AIZUCHI_FUZZ_ITERATIONS` sets how
//! many inputs are made for each target, and `AIZUCHI_FUZZ_SEED` other ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use aizuchi_fuzz::mutator::mutate;
use aizuchi_fuzz::{TARGETS, Target};
use aizuchi_harness::random::Random;

/// How many inputs are made for a target of cost 1.
const ITERATIONS: usize = 3000;
/// An input that takes this long, on any machine under any load, never ends.
const HANG: Duration = Duration::from_secs(120);

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs a target on the inputs, and names the one on which it panics or hangs.
fn run(target: Target, inputs: impl Iterator<Item = Vec<u8>> + Send + 'static) -> usize {
    let (sender, receiver) = channel();
    let running = std::thread::spawn(move || {
        for input in inputs {
            // The test has ended if nobody receives.
            if sender.send(input.clone()).is_err() {
                return;
            }
            let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
            assert!(ran.is_ok(), "{} panics on b\"{}\"", target.name, input.escape_ascii());
        }
    });
    let (mut count, mut newest) = (0, Vec::new());
    loop {
        match receiver.recv_timeout(HANG) {
            Ok(input) => (count, newest) = (count + 1, input),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} hangs on b\"{}\"", target.name, newest.escape_ascii());
            }
        }
    }
    if let Err(panicked) = running.join() {
        std::panic::resume_unwind(panicked);
    }
    count
}

fn fuzz(name: &str) {
    let target = Target::named(name);
    let corpus: Vec<Vec<u8>> = target.corpus().into_iter().map(|(_, bytes)| bytes).collect();
    assert!(corpus.len() >= 3, "the corpus of {name} is too small");
    assert_eq!(run(target, corpus.clone().into_iter()), corpus.len());
    let iterations = number_from("AIZUCHI_FUZZ_ITERATIONS").map_or(ITERATIONS, |it| it as usize);
    let seed = number_from("AIZUCHI_FUZZ_SEED").unwrap_or(1);
    let mut random = Random::new(seed, name);
    let made =
        (0..iterations / target.cost).map(move |_| mutate(&mut random, target.input, &corpus));
    assert_eq!(run(target, made), iterations / target.cost);
}

#[test]
fn slack_events() {
    fuzz("slack_events");
}

#[test]
fn slack_mrkdwn() {
    fuzz("slack_mrkdwn");
}

#[test]
fn discord_events() {
    fuzz("discord_events");
}

#[test]
fn discord_markdown() {
    fuzz("discord_markdown");
}

#[test]
fn judgments() {
    fuzz("judgments");
}

#[test]
fn tool_calls() {
    fuzz("tool_calls");
}

#[test]
fn config() {
    fuzz("config");
}

#[test]
fn kotonoha_settings() {
    fuzz("kotonoha_settings");
}

#[test]
fn replay_lines() {
    fuzz("replay_lines");
}

#[test]
fn replay_exports() {
    fuzz("replay_exports");
}

#[test]
fn export_lines() {
    fuzz("export_lines");
}

#[test]
fn kotonoha_dump() {
    fuzz("kotonoha_dump");
}

#[test]
fn eval_cases() {
    fuzz("eval_cases");
}

#[test]
fn splitting() {
    fuzz("splitting");
}

#[test]
fn commands() {
    fuzz("commands");
}

#[test]
fn every_target_has_a_corpus_and_a_binary() {
    for target in TARGETS {
        let binary = target.corpus_folder().join("../../fuzz_targets").join(target.name);
        let text = std::fs::read_to_string(binary.with_extension("rs")).unwrap_or_default();
        let call = format!("Target::named(\"{}\")", target.name);
        assert!(text.contains(&call), "{} has no fuzz target", target.name);
    }
}

#[test]
fn the_mutator_makes_the_same_inputs_again() {
    let corpus: Vec<Vec<u8>> =
        Target::named("slack_events").corpus().into_iter().map(|(_, bytes)| bytes).collect();
    let make = || -> Vec<Vec<u8>> {
        let mut random = Random::new(7, "mutator");
        (0..200).map(|_| mutate(&mut random, aizuchi_fuzz::Input::Json, &corpus)).collect()
    };
    let made = make();
    assert_eq!(made, make());
    let differing = made.iter().filter(|input| !corpus.contains(input)).count();
    assert!(differing > 150, "only {differing} of 200 inputs are new");
}
