//! The memory use of a replay, measured in separate processes.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use aizuchi_harness::effort::cases;
use aizuchi_import::input::{InputOptions, PrivateChannels, Recording};
use aizuchi_model::persona::Language;
use aizuchi_past::replay::score::ReplayScore;
use aizuchi_past::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use serde_json::json;

/// The variable with the input of the measured process.
const INPUT: &str = "AIZUCHI_TEST_REPLAYED";

/// The maximum memory per additional message, with its row, its call and its post, so that a million fit in 600 MB
/// beside what the store keeps. Stated in docs/internals/replay.md.
const BYTES_FOR_EACH_MESSAGE: usize = 256;
/// With further channels come their rows' indexes, and the channels that a replay works ahead. A million messages still
/// take less than 600 MB.
const BYTES_WITH_CHANNELS: usize = 500;

/// Writes generated channels: bursts of messages with pauses between them, in which the persona speaks.
fn write_channels(file: &Path, channels: usize, messages: usize) {
    let mut lines = String::new();
    for channel in 0..channels {
        for number in 0..messages {
            let ts = (number / 25) * 700 + (number % 25) * 7;
            let line = json!({
                "room": format!("room {channel}"), "id": format!("{number:08}"), "ts": ts,
                "author": format!("u{}", number % 7),
                "text": "a line of the usual length, neither short nor long, about nothing much",
            });
            lines.push_str(&format!("{line}\n"));
        }
    }
    std::fs::write(file, lines).unwrap();
}

/// Returns the peak memory of a process that replays them, in bytes.
fn peak(channels: usize, messages: usize) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("channels.jsonl");
    write_channels(&file, channels, messages);
    peak_of("replay_memory::a_process_that_is_measured", &[(INPUT, file.as_os_str())])
}

/// Returns the peak memory of a process that runs a test of this binary, which reports it with [`print_peak`], in
/// bytes.
pub fn peak_of(test: &str, variables: &[(&str, &OsStr)]) -> usize {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs(variables.iter().copied())
        // So that the memory in use is measured, whatever the number of processors.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{output}\n{}", String::from_utf8_lossy(&run.stderr));
    let (_, peak) = output.split_once("peak of ").unwrap_or_else(|| panic!("{output}"));
    let kilobytes: String = peak.chars().take_while(char::is_ascii_digit).collect();
    kilobytes.parse::<usize>().unwrap() * 1024
}

/// Prints the peak memory of this process.
pub fn print_peak() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak of {}", peak.trim());
}

/// Replays the channels that the tests below name, and prints the memory use. Without any it does nothing.
#[test]
fn a_process_that_is_measured() {
    let Ok(file) = std::env::var(INPUT) else { return };
    let options = InputOptions {
        from: None,
        to: None,
        private: PrivateChannels::Taken,
        language: Language::En,
    };
    let recording = Recording::open(file.as_ref(), &options, &|_| {}).unwrap();
    let quiet = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/quiet-300.yaml");
    let policy = Policy::open(&quiet).unwrap();
    let settings = ReplaySettings { judge: ReplayJudge::Speak, latency_ms: 4000, seed: 1 };
    // The store is the same for each channel, so that only the data kept about all messages grows.
    let replay = Replay::new(&policy, settings).unwrap().on_threads(1).keeping(500);
    let mut score = ReplayScore::new(&policy);
    let replayed = replay.run(&recording.channels, None, &mut |channel, record| {
        score.add(channel, record);
        Ok(())
    });
    replayed.unwrap();
    assert!(score.spoken_posts > 20 && score.waits().is_some(), "{score:?}");
    print_peak();
}

#[test]
fn a_further_message_of_a_channel_takes_few_bytes() {
    let (few, many) = cases((4_000, 14_000), (5_000, 30_000));
    let (small, large) = (peak(1, few), peak(1, many));
    let each = large.saturating_sub(small) / (many - few);
    println!("{small} bytes for {few} messages, {large} for {many}: {each} for each further one");
    assert!(each <= BYTES_FOR_EACH_MESSAGE, "{each} bytes a message");
}

#[test]
fn a_message_of_a_further_channel_takes_no_more() {
    let channels = cases(14, 24);
    let (few, many) = (peak(4, 1000), peak(channels, 1000));
    let each = many.saturating_sub(few) / ((channels - 4) * 1000);
    assert!(each <= BYTES_WITH_CHANNELS, "{few} bytes for 4 channels, {many} for {channels}");
}
