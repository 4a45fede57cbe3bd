//! A model as the judge of a replay, and recorded answers instead of it.

use std::path::Path;

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;

/// Returns six channels, each with a question that no one takes up.
fn channels() -> String {
    let mut lines = String::new();
    for channel in 0..6 {
        for (number, (author, text)) in [
            ("mara", "good morning"),
            ("ivo", "morning, the kettle is on"),
            ("mara", "does anybody know where the long ladder is?"),
        ]
        .into_iter()
        .enumerate()
        {
            let line = json!({
                "room": format!("room-{channel}"), "id": format!("m{number}"), "author": author, "text": text,
                "ts": 1_772_442_000 + channel * 10_000 + number * 40, "opener": number == 2,
            });
            lines += &format!("{line}\n");
        }
    }
    lines
}

/// Creates a folder with the channels, and a config whose judge is a model at this server.
fn folder(base: &str, model: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("channels.jsonl"), channels()).unwrap();
    let config = format!(
        "agents:\n  judgment:\n    model_id: {model}\n    client_args: {{api_key: sk-test, api_base: \"{base}/v1\"}}\n\
         models:\n  prices:\n    openai/gpt-4o-mini: {{input: 0.15, cached_input: 0.075, output: 0.6}}\n"
    );
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    folder
}

async fn replay(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let mut command = aizuchi();
    command.current_dir(folder).args(["replay", "channels.jsonl", "--json"]).args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default(), stderr)
}

fn says_no(times: usize) -> impl Iterator<Item = ProviderResponse> {
    let answer = json!({
        "should_respond": false, "reason": "it is not mine", "confidence": 0.9, "delay_seconds": null, "about": null,
    });
    std::iter::repeat_n(ProviderResponse::Says(answer.to_string()), times)
}

/// Returns the figures of the first policy, without durations.
fn score(json: &Value) -> Value {
    let mut score = json["policies"][0]["score"].clone();
    score["elapsed_seconds"] = Value::Null;
    score
}

#[tokio::test]
async fn a_model_is_asked_once_and_within_its_cap() {
    let server = Server::start(ServerLimits::default()).await;
    let folder = folder(&server.base, "openai/gpt-4o-mini");
    server.then(says_no(100));
    let model = ["--judge", "model", "--events"];
    let (code, first, stderr) = replay(folder.path(), &[&model[..], &["first"]].concat()).await;
    assert_eq!(code, Some(0), "{stderr}");
    let calls = server.requests().len();
    assert!(calls >= 6, "{first}");
    assert!(stderr.contains(&format!("would be asked about {calls} times, with ")), "{stderr}");
    assert!(stderr.contains("(at most 1.00 USD, --max-cost)"), "{stderr}");
    let judge = &first["judge"];
    assert_eq!(
        (&judge["model"], &judge["counts"]["calls"]),
        (&json!("openai/gpt-4o-mini"), &json!(calls))
    );
    let micros = judge["counts"]["cost_micros"].as_f64().unwrap();
    assert!(micros > 0.0, "{judge}");
    let spent = |replayed: &Value| replayed["report"]["policies"][0]["cost"]["checks"].clone();
    let total = spent(&first).as_f64().unwrap();
    // Each call is rounded to a millionth separately.
    assert!((total * 1e6 - micros).abs() <= calls as f64, "{total} {judge}");
    assert_eq!(score(&first)["judge_calls"], calls, "{first}");

    // The second run is free and gives the same result, regardless of the order of the channels.
    let again = [&model[..], &["again", "--parallel", "1"]].concat();
    let (_, second, stderr) = replay(folder.path(), &again).await;
    assert_eq!(server.requests().len(), calls);
    assert!(stderr.contains(&format!("all {calls} answers are in ")), "{stderr}");
    assert_eq!(spent(&second), spent(&first), "what the answers cost does not change");
    assert_eq!(second["judge"]["counts"]["from_cache"], calls);
    assert_eq!(score(&second), score(&first));
    let events = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(events("first"), events("again"));

    // A call beyond the cap is unknown, not a no.
    let capped = ["--judge", "model", "--cache", "empty.jsonl", "--max-cost", "0"];
    let (_, json, stderr) = replay(folder.path(), &capped).await;
    assert_eq!(server.requests().len(), calls);
    let counts = &json["judge"]["counts"];
    assert_eq!((&counts["calls"], &counts["is_cap_reached"]), (&json!(0), &json!(true)), "{json}");
    assert_eq!(score(&json)["failed"], counts["unknown"], "{json}");
    assert!(stderr.contains("judgments are unknown, because the cap was reached"), "{stderr}");
    // Two policies with the same question make one call.
    std::fs::copy(folder.path().join("config.yaml"), folder.path().join("same.yaml")).unwrap();
    let both = [&capped[..], &["--policy", "config.yaml", "--policy", "same.yaml"]].concat();
    let (_, _, stderr) = replay(folder.path(), &both).await;
    assert!(stderr.contains(&format!("would be asked about {calls} times, with ")), "{stderr}");
    // The cached answers can be used as recorded answers.
    let (_, recorded, _) =
        replay(folder.path(), &["--judge", "data/replay-answers.jsonl", "--events", "recorded"])
            .await;
    assert_eq!(recorded["judge"]["counts"], json!({"answered": calls, "unknown": 0}));
}

#[tokio::test]
async fn a_model_without_a_price_needs_a_limit_of_calls() {
    let server = Server::start(ServerLimits::default()).await;
    let folder = folder(&server.base, "openai/house-model");
    server.then(says_no(100));
    let (code, _, stderr) = replay(folder.path(), &["--judge", "model"]).await;
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("the price of openai/house-model is not known, so --max-cost"),
        "{stderr}"
    );
    let limited = ["--judge", "model", "--max-calls", "2"];
    let (code, json, stderr) = replay(folder.path(), &limited).await;
    assert_eq!((code, server.requests().len()), (Some(0), 2), "{stderr}");
    assert!(
        stderr.contains("times (2 at most)") && stderr.contains("an unknown price"),
        "{stderr}"
    );
    assert!(json["judge"]["counts"]["unknown"].as_u64().unwrap() >= 4, "{json}");
    // The answers are cached, so the next two calls continue from there.
    let (_, json, _) = replay(folder.path(), &limited).await;
    assert_eq!(json["judge"]["counts"]["from_cache"], 2, "{json}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_model_that_fails_is_asked_no_more() {
    let server = Server::start(ServerLimits::default()).await;
    let folder = folder(&server.base, "openai/gpt-4o-mini");
    let refusal =
        ProviderResponse::Status(401, Vec::new(), json!({ "error": "long ladder" }).to_string());
    server.then(std::iter::repeat_n(refusal, 100));
    let (code, json, stderr) =
        replay(folder.path(), &["--judge", "model", "--parallel", "1"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(server.requests().len(), 5, "{json}");
    let counts = &json["judge"]["counts"];
    assert_eq!(counts["unknown"], score(&json)["failed"], "{json}");
    assert!(stderr.contains("a call failed: ") && !stderr.contains("long ladder"), "{stderr}");
}

#[tokio::test]
async fn second_looks_are_counted_by_themselves() {
    let folder = folder("http://127.0.0.1:1", "openai/gpt-4o-mini");
    let line = |id: &str, ts: i64, author: &str, text: &str| {
        json!({"room": "shed", "id": id, "ts": ts, "author": author, "text": text}).to_string()
    };
    // It is uncertain whether this is an answer, so the judge looks again before the persona speaks.
    let doubtful = [
        line("m0", 1_800_000_000, "mara", "does anyone have a ladder?"),
        line("m1", 1_800_000_095, "ivo", "there was one"),
    ];
    let says = |message: &str, verdict: Value| {
        let mut answer = json!({"room": "shed", "message": message, "confidence": 0.9});
        answer.as_object_mut().unwrap().extend(verdict.as_object().unwrap().clone());
        answer.to_string()
    };
    let joins = json!({"should_respond": true, "delay_seconds": 60});
    let waits = json!({"should_respond": false, "look_again_seconds": 120});
    for (messages, answers, expected) in [
        (&doubtful[..], vec![says("m0", joins.clone()), says("m1", joins)], [2, 1, 1]),
        (&doubtful[..1], vec![says("m0", waits)], [2, 1, 0]),
    ] {
        std::fs::write(folder.path().join("channels.jsonl"), messages.join("\n")).unwrap();
        std::fs::write(folder.path().join("answers.jsonl"), answers.join("\n")).unwrap();
        let judge = ["--judge", "answers.jsonl", "--latency", "0"];
        let (_, json, stderr) = replay(folder.path(), &judge).await;
        let fields = ["judge_calls", "second_looks", "spoken_posts"];
        let counted = fields.map(|field| score(&json)[field].as_u64().unwrap());
        assert_eq!(counted, expected, "{json} {stderr}");
    }
}

#[tokio::test]
async fn recorded_answers_stand_in_for_a_model() {
    let folder = folder("http://127.0.0.1:1", "openai/gpt-4o-mini");
    let answers = [
        json!({"room": "room-0", "message": "m2", "should_respond": true, "confidence": 0.95, "about": "m2", "delay_seconds": 0}),
        json!({"room": "room-1", "message": "m2", "should_respond": false, "reason": "not mine"}),
        json!({"room": "room-1", "message": "m2", "should_respond": "yes", "reason": "secret"}),
        json!({"room": "room-2", "message": "m2", "should_respond": true, "confidence": 7}),
    ];
    let answers: Vec<String> = answers.iter().map(Value::to_string).collect();
    std::fs::write(folder.path().join("answers.jsonl"), answers.join("\n")).unwrap();
    let (code, json, stderr) = replay(folder.path(), &["--judge", "answers.jsonl"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(score(&json)["spoken_posts"], 1, "{json}");
    let unknown = json["judge"]["counts"]["unknown"].as_u64().unwrap();
    assert!(unknown >= 4, "{json}");
    assert!(
        stderr.contains("answers.jsonl, line 3: it has neither prompt_hash and answer"),
        "{stderr}"
    );
    assert!(
        stderr.contains("answers.jsonl, line 4: its confidence is not between 0 and 1"),
        "{stderr}"
    );
    assert!(stderr.contains(&format!("{unknown} judgments are unknown")), "{stderr}");
    assert!(!stderr.contains("WARN"), "{stderr}");
    assert!(!stderr.contains("secret"), "{stderr}");
    for (arguments, expected) in [
        (
            &["--judge", "often"][..],
            "it must be silent, speak, builtin, model, or a file with answers",
        ),
        (&["--judge", "nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (&["--judge", "config.yaml"], "config.yaml holds no answers"),
        (&["--judge", "model", "--max-cost", "much"], "it must be an amount of money"),
        (&["--model", "openai/gpt-4o-mini"], "--model needs --judge model"),
    ] {
        let (code, _, stderr) = replay(folder.path(), arguments).await;
        assert!(code != Some(0) && stderr.contains(expected), "{arguments:?} {stderr}");
    }
}
