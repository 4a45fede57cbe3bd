//! Evaluation: labeled cases, their prompts, and the scores of answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi_agent::agent::Mind;
use aizuchi_config::Config;
use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::AuthorKind;
use aizuchi_model::clock::Clock;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::Usage;
use aizuchi_model::persona::Language;
use aizuchi_past::eval::case::{self, Case, pairs};
use aizuchi_past::eval::decide::context::item_context;
use aizuchi_past::eval::decide::item;
use aizuchi_past::eval::prompts::{AnswerReading, EvalPrompts, ask_all};
use aizuchi_past::eval::score::StateScore;
use aizuchi_past::eval::{StateAnswer, baseline};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;

/// Text that must not appear in any error.
const CHAT: &str = "the treasure is under the old oak";

fn raw_case(id: &str, language: &str, pair: Option<&str>, about: &str, labels: &[&str]) -> Value {
    let mut case = json!({
        "id": id, "language": language, "about": about, "labels": labels,
        "messages": [
            { "ts": 1_772_000_000, "user": "ann", "text": CHAT },
            { "ts": 1_772_000_060.5, "user": "bob", "text": "そうですね\nYes!" },
        ],
    });
    if let Some(pair) = pair {
        case["pair"] = pair.into();
    }
    case
}

fn json_lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Returns six cases, two of them in a pair, three in Japanese.
fn cases() -> Vec<Value> {
    let mut cases = vec![
        raw_case("a1", "en", Some("p"), "S03", &["ENDING"]),
        raw_case("a2", "en", Some("p"), "S03", &["ACTIVE"]),
        raw_case("a3", "en", None, "S06", &["MISUNDERSTANDING", "CONFLICT"]),
        raw_case("b1", "ja", None, "S08", &["ACTIVE"]),
        raw_case("b2", "ja", None, "S05", &["CONFLICT"]),
        raw_case("b3", "ja", None, "S07", &["ACTIVE"]),
    ];
    cases[3]["messages"][1]["text"] = "以上の手順で、次に進みます".into();
    cases[5]["messages"][1]["bot"] = true.into();
    cases
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn eval(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut program = aizuchi();
    let output = program.current_dir(folder).arg("eval").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn shipped_cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["en", "ja"].map(|tag| root.join(format!("evals/state-{tag}.jsonl")));
    case::open(&files).unwrap()
}

#[test]
fn answers_are_scored_next_to_the_baselines() {
    let answers = [("a1", "ENDING."), ("a2", "active"), ("a3", "Conflict"), ("b1", "ENDING")];
    let answers = answers.into_iter().chain([("b2", "hard to say"), ("b3", "**ACTIVE**")]);
    let answers: Vec<Value> =
        answers.map(|(id, answer)| json!({ "id": id, "answer": answer })).collect();
    let folder =
        folder(&[("cases.jsonl", &json_lines(&cases())), ("answers.jsonl", &json_lines(&answers))]);
    let arguments = ["cases.jsonl", "--task", "state", "--answers", "answers.jsonl"];
    let (code, table, stderr) = eval(folder.path(), &arguments);
    assert_eq!((code, &*stderr), (Some(0), ""));
    insta::assert_snapshot!(table, @r"
    |                              |                          answers.jsonl |                          always ACTIVE |                               keywords |
    |------------------------------|----------------------------------------|----------------------------------------|----------------------------------------|
    | cases                        |                                      6 |                                      6 |                                      6 |
    | right                        |                         0.667 (4 of 6) |                         0.500 (3 of 6) |                         0.333 (2 of 6) |
    | macro-F1                     |                                  0.667 |                                  0.167 |                                  0.125 |
    | … ENDING                     |                                  0.667 |                                  0.000 |                                  0.000 |
    | … MISUNDERSTANDING           |                                      – |                                  0.000 |                                  0.000 |
    | … CONFLICT                   |                                  0.667 |                                  0.000 |                                  0.000 |
    | … ACTIVE                     |                                  0.667 |                                  0.667 |                                  0.500 |
    | pairs with both halves right |                         1.000 (1 of 1) |                         0.000 (0 of 1) |                         0.000 (0 of 1) |
    | answers that name no state   |                                      1 |                                      0 |                                      0 |
    | calls that failed            |                                      0 |                                      0 |                                      0 |
    | en                           | 1.000 (3 of 3), F1 1.000, pairs 1 of 1 | 0.333 (1 of 3), F1 0.167, pairs 0 of 1 | 0.333 (1 of 3), F1 0.167, pairs 0 of 1 |
    | ja                           |               0.333 (1 of 3), F1 0.167 |               0.667 (2 of 3), F1 0.400 |               0.333 (1 of 3), F1 0.167 |
    | S03                          | 1.000 (2 of 2), F1 1.000, pairs 1 of 1 | 0.500 (1 of 2), F1 0.333, pairs 0 of 1 | 0.500 (1 of 2), F1 0.333, pairs 0 of 1 |
    | S05                          |               0.000 (0 of 1), F1 0.000 |               0.000 (0 of 1), F1 0.000 |               0.000 (0 of 1), F1 0.000 |
    | S06                          |               1.000 (1 of 1), F1 1.000 |               0.000 (0 of 1), F1 0.000 |               0.000 (0 of 1), F1 0.000 |
    | S07                          |               1.000 (1 of 1), F1 1.000 |               1.000 (1 of 1), F1 1.000 |               1.000 (1 of 1), F1 1.000 |
    | S08                          |               0.000 (0 of 1), F1 0.000 |               1.000 (1 of 1), F1 1.000 |               0.000 (0 of 1), F1 0.000 |

    | wanted, and named | ENDING | MISUNDERSTANDING | CONFLICT | ACTIVE | failed |
    |-------------------|--------|------------------|----------|--------|--------|
    | ENDING            |      1 |                0 |        0 |      0 |      0 |
    | MISUNDERSTANDING  |      0 |                0 |        0 |      0 |      0 |
    | CONFLICT          |      0 |                0 |        1 |      1 |      0 |
    | ACTIVE            |      1 |                0 |        0 |      2 |      0 |
    1 under ACTIVE named no state.

    b1: ENDING, not ACTIVE
    b2: no state, not CONFLICT
    ");
    let (_, printed, _) = eval(folder.path(), &[&arguments[..], &["--json"]].concat());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let (mind, keywords) = (&printed["mind"], &printed["baselines"][1]);
    assert_eq!((&printed["task"], &mind["name"]), (&json!("state"), &json!("answers.jsonl")));
    assert_eq!(
        mind["by_language"]["ja"],
        json!({
            "cases": 3, "right": 1, "share_right": 1.0 / 3.0, "macro_f1": 0.5 / 3.0,
            "f1": { "ENDING": 0.0, "MISUNDERSTANDING": null, "CONFLICT": 0.0, "ACTIVE": 0.5 },
            "pairs": 0, "right_pairs": 0, "no_state": 1, "failed": 0,
            "confusion": {
                "ENDING": { "ENDING": 0, "MISUNDERSTANDING": 0, "CONFLICT": 0, "ACTIVE": 0, "failed": 0 },
                "MISUNDERSTANDING": { "ENDING": 0, "MISUNDERSTANDING": 0, "CONFLICT": 0, "ACTIVE": 0, "failed": 0 },
                "CONFLICT": { "ENDING": 0, "MISUNDERSTANDING": 0, "CONFLICT": 0, "ACTIVE": 1, "failed": 0 },
                "ACTIVE": { "ENDING": 1, "MISUNDERSTANDING": 0, "CONFLICT": 0, "ACTIVE": 1, "failed": 0 },
            },
        })
    );
    let misses = json!([
        { "id": "b1", "labels": ["ACTIVE"], "named": "ENDING", "failed": null },
        { "id": "b2", "labels": ["CONFLICT"], "named": null, "failed": null },
    ]);
    assert_eq!(mind["misses"], misses);
    assert_eq!((&mind["all"]["right"], &mind["all"]["right_pairs"]), (&json!(4), &json!(1)));
    assert_eq!((&keywords["name"], &keywords["all"]["right"]), (&json!("keywords"), &json!(2)));
}

#[test]
fn the_builtin_mind_answers_by_default() {
    let (english, japanese) = (json_lines(&cases()[..3]), json_lines(&cases()[3..]));
    let folder = folder(&[("en.jsonl", &english), ("ja.jsonl", &japanese)]);
    let (code, printed, _) =
        eval(folder.path(), &["en.jsonl", "ja.jsonl", "--task", "state", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["mind"]["name"]), (Some(0), &json!("builtin")));
    assert_eq!(printed["calls"], json!(null));
    assert_eq!(printed["mind"]["all"]["cases"], 6);
    assert_eq!(printed["mind"]["all"], printed["baselines"][0]["all"]);
}

#[test]
fn the_error_of_an_invalid_line_has_no_chat_text() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut case = raw_case("x", "en", None, "S03", &["ENDING"]);
        change(&mut case);
        case.to_string()
    };
    for (line, problem) in [
        (CHAT.to_owned(), "it is not a JSON object, at column 2"),
        (
            with(&|case| case["labels"] = json!(["ENDING", CHAT])),
            "its label 2 is not one of ENDING, ",
        ),
        (with(&|case| case["labels"] = json!(["ending"])), "its label 1 is not one of ENDING, "),
        (with(&|case| case["labels"] = json!(["ENDING", "ENDING"])), "its label 2 appears twice"),
        (with(&|case| case["labels"] = json!([])), "it has no labels"),
        (with(&|case| case["labels"] = CHAT.into()), "a field has the wrong type, at column "),
        (with(&|case| case["language"] = CHAT.into()), "a field has the wrong type, at column "),
        (with(&|case| case["treasure"] = CHAT.into()), "a field is not known, at column "),
        (with(&|case| case["id"] = "../x".into()), "its id is not made of at most 80 of the "),
        (with(&|case| case["id"] = CHAT.into()), "its id is not made of at most 80 of the "),
        (with(&|case| case["id"] = "x".repeat(81).into()), "its id is not made of at most 80 of"),
        (with(&|case| case["about"] = "".into()), "its `about` or its `pair` is empty, or not "),
        (with(&|case| case["pair"] = "a\nb".into()), "its `about` or its `pair` is empty, or no"),
        (with(&|case| case["pair"] = "p".into()), "its pair has no other half in the same langu"),
        (with(&|case| case["messages"] = json!([])), "it has no messages"),
        (with(&|case| case["messages"][0]["ts"] = (-1).into()), "the ts of message 1 is not a ti"),
        (with(&|case| case["messages"][1]["ts"] = 5.into()), "message 2 is older than the one be"),
        (with(&|case| case["messages"][1]["user"] = " ".into()), "the user or the text of message"),
        (with(&|case| case["messages"][0]["text"] = "\n".into()), "the user or the text of messag"),
        (
            with(&|case| case["messages"][0]["text"] = json!([format!("missing field {CHAT}")])),
            "a field has the wrong type, at column ",
        ),
        (with(&|case| drop(case.as_object_mut().unwrap().remove("about"))), "the field `about` is"),
    ] {
        let folder = folder(&[("cases.jsonl", &format!("\u{feff}\n{line}\n"))]);
        let (code, _, stderr) = eval(folder.path(), &["cases.jsonl", "--task", "state"]);
        let expected = format!("aizuchi: cases.jsonl:2: {problem}");
        assert!(stderr.starts_with(&expected), "{line}\n→ {stderr}");
        assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(!stderr.contains("treasure") && !stderr.contains("oak"), "{stderr}");
    }
}

#[test]
fn one_invalid_case_rejects_the_whole_set() {
    let pair = |labels: [&[&str]; 2]| {
        let half = |id, labels| raw_case(id, "en", Some("p"), "S03", labels);
        [half("x", labels[0]), half("y", labels[1])]
    };
    let third = raw_case("z", "en", Some("p"), "S03", &["ACTIVE"]);
    let [one, other] = pair([&["ENDING"], &["ACTIVE"]]);
    let duplicate = raw_case("X", "en", None, "S03", &["ACTIVE"]);
    for (cases, expected) in [
        (vec![one.clone(), duplicate], "cases.jsonl:2: a case with this id came before\n"),
        (vec![one, other, third], "cases.jsonl:1: its pair has 3 cases and not two\n"),
        (
            pair([&["ENDING", "CONFLICT"], &["CONFLICT"]]).to_vec(),
            "cases.jsonl:1: one label is right for both halves of its pair\n",
        ),
        (vec![], "there are no cases in cases.jsonl\n"),
    ] {
        let folder = folder(&[("cases.jsonl", &json_lines(&cases))]);
        let (code, _, stderr) = eval(folder.path(), &["cases.jsonl", "--task", "state"]);
        assert_eq!((code, stderr), (Some(1), format!("aizuchi: {expected}")));
    }
    let many = folder(&[("cases.jsonl", &"{}\n".repeat(12))]);
    let (_, _, stderr) = eval(many.path(), &["cases.jsonl", "--task", "state"]);
    assert_eq!(stderr.lines().count(), 11, "{stderr}");
    assert!(stderr.ends_with("… and 2 more\n"), "{stderr}");
    let (code, _, stderr) = eval(many.path(), &["nowhere.jsonl", "--task", "state"]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("aizuchi: cannot read nowhere.jsonl: "), "{stderr}");
}

#[test]
fn answers_must_match_the_cases() {
    let answer = |id: &str| json!({ "id": id, "answer": CHAT });
    let all = ["a1", "a2", "a3", "b1", "b2", "b3"].map(answer);
    for (answers, expected) in [
        (
            vec![],
            "answers.jsonl has no answer for \"a1\", \"a2\", \"a3\", \"b1\", \"b2\" and 1 more",
        ),
        (all[..5].to_vec(), "answers.jsonl has no answer for \"b3\""),
        (
            [&all[..], &[answer("a2")]].concat(),
            "answers.jsonl:7: an answer with this id came before",
        ),
        ([&all[..], &[answer("c\n1")]].concat(), "answers.jsonl:7: there is no case \"c 1\""),
        (vec![json!({ "id": "a1" })], "answers.jsonl:1: the field `answer` is missing"),
        (
            vec![json!({ "id": "a1", "answer": [CHAT] })],
            "answers.jsonl:1: a field has the wrong type, at column 20",
        ),
    ] {
        let folder = folder(&[
            ("cases.jsonl", &json_lines(&cases())),
            ("answers.jsonl", &json_lines(&answers)),
        ]);
        let arguments = ["cases.jsonl", "--task", "state", "--answers", "answers.jsonl"];
        let (code, _, stderr) = eval(folder.path(), &arguments);
        assert_eq!((code, stderr), (Some(1), format!("aizuchi: {expected}\n")));
    }
}

#[test]
fn unknown_tasks_and_unused_models_are_rejected() {
    let folder = folder(&[("cases.jsonl", &json_lines(&cases()))]);
    let (code, _, stderr) = eval(folder.path(), &["cases.jsonl", "--task", "State"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("[possible values: decide, state]"), "{stderr}");
    let state = ["cases.jsonl", "--task", "state"];
    let rejection = |arguments: &[&str]| {
        let (code, _, stderr) = eval(folder.path(), &[&state, arguments].concat());
        assert_eq!(code, Some(1), "{stderr}");
        stderr
    };
    let stderr = rejection(&["--mind", "model"]);
    assert!(stderr.starts_with("aizuchi: --mind model needs a model: name one in "), "{stderr}");
    let (_, _, stderr) = eval(folder.path(), &["cases.jsonl", "--mind", "model"]);
    assert!(stderr.contains("name one in agents.judgment of the config"), "{stderr}");
    let stderr = rejection(&["--model", "openai/large-1"]);
    assert!(stderr.starts_with("aizuchi: --model needs --mind model"), "{stderr}");
    let both = ["--dump-prompts", "prompts", "--answers", "answers.jsonl"];
    assert_eq!(eval(folder.path(), &[&state[..], &both].concat()).0, Some(2));
}

#[test]
fn dumped_prompts_equal_the_models_and_can_be_answered_elsewhere() {
    let cases = shipped_cases();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["en", "ja"].map(|tag| format!("{}/evals/state-{tag}.jsonl", root.display()));
    let folder = folder(&[]);
    let arguments = [&*files[0], &files[1], "--task", "state"];
    let dump = [&arguments[..], &["--dump-prompts", "prompts/new"]].concat();
    let (code, stdout, stderr) = eval(folder.path(), &dump);
    assert_eq!((code, &*stderr), (Some(0), ""));
    assert_eq!(stdout, format!("{} prompts are in prompts/new\n", cases.len()));
    let config = Config::default();
    let prompt_builder = EvalPrompts::new(&config, &config.persona()).unwrap();
    let dumped = std::fs::read_dir(folder.path().join("prompts/new")).unwrap();
    assert_eq!(dumped.count(), cases.len());
    let mut answers = Vec::new();
    for case in &cases {
        let path = folder.path().join(format!("prompts/new/{}.txt", case.id));
        let dumped = std::fs::read_to_string(path).unwrap();
        assert_eq!(dumped, prompt_builder.state(case).text);
        let newest = case.messages.last().unwrap();
        let shown = format!("** {}:\n{}\n\n---\n", newest.user, newest.text);
        assert!(dumped.contains(&shown), "{}", case.id);
        let heading = match case.language {
            Language::En => "## Conversation",
            Language::Ja => "## 会話",
        };
        assert!(dumped.contains(heading), "{}", case.id);
        answers.push(json!({ "id": case.id, "answer": case.labels.last().unwrap().label() }));
    }
    std::fs::write(folder.path().join("answers.jsonl"), json_lines(&answers)).unwrap();
    let answered = [&arguments[..], &["--answers", "answers.jsonl", "--json"]].concat();
    let (_, printed, _) = eval(folder.path(), &answered);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let all = &printed["mind"]["all"];
    assert_eq!((&all["share_right"], &all["macro_f1"]), (&json!(1.0), &json!(1.0)));
    assert_eq!(all["pairs"], all["right_pairs"]);
}

#[test]
fn prompts_follow_the_config_and_its_message_limit() {
    let prompts = folder(&[]);
    let own = "{{ persona.name }}/{{ persona.system_prompt }}:{% for m in top_level_messages %} \
               {{ m.user.name }}|{{ m.text }}|{% endfor %} {{ current_time }}";
    std::fs::write(prompts.path().join("state.j2"), own).unwrap();
    let config = format!(
        "language: ja\ntimezone: Asia/Tokyo\nprompts_dir: {}\npersona: {{name: Aki}}\n\
         response: {{channel_messages_limit: 1}}\nagents: {{state: {{system_prompt: Look closely.}}}}\n",
        prompts.path().display()
    );
    let folder = folder(&[("cases.jsonl", &json_lines(&cases())), ("config.yaml", &config)]);
    let arguments = ["cases.jsonl", "--config", "config.yaml", "--task", "state"];
    let dump = [&arguments[..], &["--dump-prompts", "prompts"]].concat();
    assert_eq!(eval(folder.path(), &dump).0, Some(0));
    let read = |id: &str| std::fs::read_to_string(folder.path().join(format!("prompts/{id}.txt")));
    let japanese = read("b1").unwrap();
    assert!(japanese.starts_with("Aki/") && japanese.contains("Look closely.: bob|"), "{japanese}");
    assert!(japanese.ends_with("2026-02-25 15:15:20 Asia/Tokyo"), "{japanese}");
    // The folder's templates are in the configured language only.
    let english = read("a1").unwrap();
    assert!(english.starts_with("You name the state") && english.contains("Yes!"), "{english}");
    assert!(!english.contains("treasure"), "{english}");
}

/// Answers with the text of the newest message, and counts concurrent calls.
#[derive(Default)]
struct CountingMind {
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    texts: Mutex<Vec<String>>,
}

#[async_trait]
impl Llm for CountingMind {
    fn model(&self) -> &str {
        "counting"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let newest = prompt.context.target_messages().last().unwrap().text.to_string();
        self.texts.lock().unwrap().push(newest.clone());
        // The first calls take longest.
        let turns = 100 / self.texts.lock().unwrap().len();
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        match &*newest {
            "down" => Err(LlmError::Refused("it is closed".to_owned())),
            "never" => std::future::pending().await,
            text => Ok(LlmResponse::new(text.to_owned(), Usage::default())),
        }
    }
}

#[tokio::test]
async fn calls_are_concurrent_and_answers_stay_with_their_cases() {
    let texts =
        ["ENDING", "down", "CONFLICT", "hm", "ACTIVE", "never", "MISUNDERSTANDING", "ENDING"];
    let raw_cases = texts.iter().enumerate().map(|(number, text)| {
        let mut case = raw_case(&format!("c{number}"), "en", None, "S01", &["ACTIVE"]);
        case["messages"][1]["text"] = (*text).into();
        case
    });
    let text = json_lines(&raw_cases.collect::<Vec<_>>()).into_bytes();
    let cases = case::read(&[("cases.jsonl".to_owned(), text)]).unwrap();
    let config = Config::default();
    let prompt_builder = EvalPrompts::new(&config, &config.persona()).unwrap();
    let prompts: Vec<Prompt> = cases.iter().map(|case| prompt_builder.state(case)).collect();
    let counting = Arc::new(CountingMind::default());
    let mind = Mind::from_llm(counting.clone(), &config.persona());
    let (clock, answered) = (Clock::manual(at(0)), AtomicUsize::new(0));
    let timeout = SignedDuration::from_secs(30);
    let progress = || {
        answered.fetch_add(1, Ordering::SeqCst);
    };
    let reading =
        AnswerReading { known: &|_| None, read: &|answer, _| StateAnswer::from_answer(answer) };
    let calls = ask_all(&mind, &prompts, &reading, (timeout, &clock), &progress);
    // Time advances once only the hanging call is left.
    let time = async {
        for _ in 0..100_000 {
            if answered.load(Ordering::SeqCst) == texts.len() - 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        clock.advance_to(at(30));
    };
    let ((answers, calls), ()) = tokio::join!(calls, time);
    assert_eq!(calls[5].latency, timeout);
    let state = StateAnswer::Known;
    assert_eq!(
        answers,
        [
            state(ConversationState::Ending),
            StateAnswer::Unknown("the model refuses: it is closed".to_owned()),
            state(ConversationState::Conflict),
            StateAnswer::Unreadable("it names no state, or several".to_owned()),
            state(ConversationState::Active),
            StateAnswer::Unknown("the model does not answer now: no answer within 30s".to_owned()),
            state(ConversationState::Misunderstanding),
            state(ConversationState::Ending),
        ]
    );
    assert_eq!(counting.max_in_flight.load(Ordering::SeqCst), 4);
    assert_eq!(answered.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_model_is_called_as_configured() {
    let server = Server::start(ServerLimits::default()).await;
    let refusal = ProviderResponse::Status(401, Vec::new(), json!({ "error": CHAT }).to_string());
    let says_active = || ProviderResponse::Says("ACTIVE".to_owned());
    server.then([says_active(), says_active(), refusal, says_active(), says_active()]);
    let config = format!(
        "agents:\n  state:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test, \
         api_base: \"{}/v1\"}}\n",
        server.base
    );
    let folder = folder(&[("cases.jsonl", &json_lines(&cases())), ("config.yaml", &config)]);
    let path = folder.path().to_owned();
    let state = ["cases.jsonl", "--task", "state", "--mind", "model", "--config", "config.yaml"];
    let run = move |more: &[&str]| eval(&path, &[&state[..], more].concat());
    let as_text = run.clone();
    let run = move || run(&["--json"]);
    let (code, printed, stderr) = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(code, Some(2), "{stderr}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mind = &printed["mind"];
    assert_eq!(mind["name"], "openai/large-1");
    let all = &mind["all"];
    assert_eq!((&all["cases"], &all["failed"]), (&json!(6), &json!(1)));
    let calls = &printed["calls"];
    let why = "the model refuses: openai/large-1: it does not accept the API key (401)";
    assert_eq!(calls["failures"], json!([{ "why": why, "calls": 1 }]));
    let figures = ["calls", "input_tokens", "cached_tokens", "output_tokens", "cost"];
    let figures = figures.map(|name| &calls[name]);
    assert_eq!(figures, [&json!(6), &json!(600), &json!(320), &json!(35), &json!(null)]);
    assert!(calls["latency_seconds"]["p95"].is_f64(), "{calls}");
    // After the queued responses the server answers "fine", which is not a state.
    assert_eq!(all["no_state"], 1);
    assert!(!printed.to_string().contains("treasure") && !stderr.contains("treasure"));
    let seen = server.requests();
    assert_eq!(seen.len(), 6);
    assert!(seen.iter().all(|seen| seen.body.to_string().contains("MISUNDERSTANDING")));
    let (_, text, _) = tokio::task::spawn_blocking(move || as_text(&[])).await.unwrap();
    let told = "\n\n6 calls, of which 0 failed\ntokens: 720 in (384 of them cached), 42 out; cost: \
                unknown, for want of a price in models.prices\nlatency: ";
    assert!(text.contains(told), "{text}");
}

#[test]
fn the_shipped_cases_are_complete() {
    let cases = shipped_cases();
    let labels_by_language = |language: Language| -> BTreeMap<ConversationState, usize> {
        let mut counts = BTreeMap::new();
        for case in cases.iter().filter(|case| case.language == language) {
            assert!(case.id.starts_with(language.tag()), "{}", case.id);
            for label in &case.labels {
                *counts.entry(*label).or_default() += 1;
            }
        }
        counts
    };
    for language in [Language::En, Language::Ja] {
        let counts = labels_by_language(language);
        for label in ConversationState::ALL {
            assert!(counts[&label] >= 10, "{label:?} in {}", language.tag());
        }
    }
    let pairs = pairs(&cases);
    assert!(pairs.len() >= 60 && pairs.values().all(|halves| halves.len() == 2));
    let topics: BTreeSet<&str> = cases.iter().map(|case| &*case.about).collect();
    let expected_topics = ["S02", "S03", "S04", "S05", "S06", "S07", "S08", "S09"];
    assert_eq!(topics, BTreeSet::from(expected_topics));
    // A user who presumes to know others' opinions may be labeled with both states, or as active.
    for case in cases.iter().filter(|case| case.about == "S06") {
        use ConversationState::{Active, Conflict, Misunderstanding};
        let is_either = case.labels == [Misunderstanding, Conflict];
        assert!(is_either || case.labels == [Active], "{}", case.id);
    }
}

/// Some cases contain keywords without their meaning, and others the meaning without keywords. This is why a keyword
/// list is not used.
/// used.
#[test]
fn neither_a_constant_answer_nor_keywords_solve_the_cases() {
    let cases = shipped_cases();
    for answers in [baseline::always_active(&cases), baseline::keywords(&cases)] {
        let score = StateScore::new(&cases, &answers, |_| true);
        assert!(score.accuracy() < 0.55 && score.right_pairs * 4 < score.pairs, "{score:?}");
        let keyword_cases = StateScore::new(&cases, &answers, |case| case.about == "S08");
        assert!(keyword_cases.right_pairs * 4 < keyword_cases.pairs, "{keyword_cases:?}");
    }
}

/// Returns an item of three messages, the last of them ten seconds before the decision.
fn item(id: &str, label: &str, kind: &str, messages: [(&str, &str); 3]) -> Value {
    let messages = messages.iter().zip([-90.0, -30.5, -10.0]);
    let messages: Vec<Value> = messages
        .map(|((author, text), t)| json!({ "t": t, "author": author, "text": text }))
        .collect();
    json!({ "id": id, "label": label, "kind": kind, "decide_at": 1_772_000_000.0, "context": messages })
}

/// Returns two items labeled speak, two labeled silent, and an ambiguous one.
fn items() -> Vec<Value> {
    let question = ("ann", "who has the key?");
    let mut items = vec![
        item("d1", "SPEAK", "SPEAK", [("bob", "hm"), ("cid", "so"), question]),
        item("d2", "SPEAK", "SPEAK", [("dan", CHAT), ("ann", "the door is shut"), ("eve", "oh")]),
        item("d#3", "SILENT", "SILENT/handled", [question, ("dan", "ann: I do"), ("eve", "nice")]),
        item(
            "d4",
            "SILENT",
            "SILENT/chatter",
            [("dan", "is it 5 yet?"), question, ("bob", "no idea")],
        ),
        item(
            "d5",
            "AMBIG",
            "AMBIG/answered",
            [question, ("ann", "hello"), ("ann", "鍵はどこですか")],
        ),
    ];
    items[4]["language"] = "ja".into();
    items[3]["context"][2]["author"] = "ann".into();
    items
}

fn answer(id: &str, should_respond: bool, confidence: f64) -> Value {
    let answer =
        json!({ "should_respond": should_respond, "reason": CHAT, "confidence": confidence });
    json!({ "id": id, "answer": answer.to_string() })
}

#[test]
fn decisions_are_scored_next_to_simple_rules() {
    let answers = [
        answer("d1", true, 0.9),
        // Below the minimum confidence of a channel.
        answer("d2", true, 0.4),
        answer("d#3", false, 0.8),
        answer("d5", true, 0.7),
        json!({ "id": "d4", "answer": "I would rather not." }),
    ];
    let folder =
        folder(&[("items.jsonl", &json_lines(&items())), ("answers.jsonl", &json_lines(&answers))]);
    let arguments = ["items.jsonl", "--answers", "answers.jsonl"];
    let (code, table, stderr) = eval(folder.path(), &arguments);
    assert_eq!((code, &*stderr), (Some(0), ""));
    insta::assert_snapshot!(table, @"
    |                             |  answers.jsonl |  always silent |   always speak | last line asks | asker not named | gate left open |
    |-----------------------------|----------------|----------------|----------------|----------------|-----------------|----------------|
    | items                       |              5 |              5 |              5 |              5 |               5 |              5 |
    | balanced accuracy           |          0.750 |          0.500 |          0.500 |          0.750 |           0.500 |          0.750 |
    | missed                      |          0.500 |          1.000 |          0.000 |          0.500 |           0.500 |          0.000 |
    | false interventions         |          0.000 |          0.000 |          1.000 |          0.000 |           0.500 |          0.500 |
    | half it was chosen by       |     – at 0.000 |     – at 0.000 |     – at 1.000 |     – at 0.000 |      – at 0.000 |     – at 0.000 |
    | unseen half                 | 0.750 at 0.000 | 0.500 at 0.000 | 0.500 at 1.000 | 0.750 at 0.000 |  0.250 at 1.000 | 0.500 at 1.000 |
    | AUROC of confidence         |          1.000 |              – |              – |              – |               – |              – |
    | ECE of confidence           |          0.300 |              – |              – |              – |               – |              – |
    | ECE after calibration       |              – |              – |              – |              – |               – |              – |
    | answers that cannot be read |              1 |              0 |              0 |              0 |               0 |              0 |
    | calls that failed           |              0 |              0 |              0 |              0 |               0 |              0 |
    | spoken at AMBIG/answered    | 1.000 (1 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 1.000 (1 of 1) |  1.000 (1 of 1) | 1.000 (1 of 1) |
    | spoken at SILENT/chatter    | 0.000 (0 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 0.000 (0 of 1) |  1.000 (1 of 1) | 1.000 (1 of 1) |
    | spoken at SILENT/handled    | 0.000 (0 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 0.000 (0 of 1) |  0.000 (0 of 1) | 0.000 (0 of 1) |
    | spoken at SPEAK             | 0.500 (1 of 2) | 0.000 (0 of 2) | 1.000 (2 of 2) | 0.500 (1 of 2) |  0.500 (1 of 2) | 1.000 (2 of 2) |

    d2: SPEAK was wanted
    ");
    let (_, printed, _) = eval(folder.path(), &[&arguments[..], &["--json"]].concat());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["task"], "decide");
    assert_eq!(
        printed["mind"]["all"],
        json!({
            "balanced_accuracy": 0.75, "missed": 0.5, "false_interventions": 0.0,
            "auroc": 1.0, "ece": (0.1 + 0.6 + 0.2) / 3.0, "ece_calibrated": null,
            "speak_items": 2, "silent_items": 2, "ambiguous_items": 1, "spoken_at_ambiguous": 1.0,
            "unreadable": 1, "failed": 0,
        })
    );
    assert_eq!(printed["mind"]["misses"], json!([{ "id": "d2", "wanted": "SPEAK" }]));
}

#[test]
fn dumped_decision_prompts_do_not_contain_the_label() {
    let folder = folder(&[("items.jsonl", &json_lines(&items()))]);
    let (code, _, stderr) = eval(folder.path(), &["items.jsonl", "--dump-prompts", "prompts"]);
    assert_eq!((code, &*stderr), (Some(0), ""));
    for (id, text) in [("d1", "who has the key?"), ("d#3", "ann: I do"), ("d5", "鍵はどこですか")]
    {
        let path = folder.path().join(format!("prompts/{id}.txt"));
        let dumped = std::fs::read_to_string(path).unwrap();
        assert!(dumped.contains(text) && !dumped.contains("SILENT"), "{dumped}");
        assert!(!dumped.contains("handled") && !dumped.contains("SPEAK"), "{dumped}");
    }
}

#[test]
fn an_item_may_have_threads_and_replies() {
    let text = [("ann", "who has the key?"), ("bob", "I do"), ("cid", "and the gate is open")];
    let mut at_top = item("top", "SILENT", "SILENT/handled", text);
    at_top["context"][1]["thread"] = 0.into();
    at_top["context"][2]["reply_to"] = 0.into();
    let mut in_thread = at_top.clone();
    (in_thread["id"], in_thread["thread"]) = ("thread".into(), 0.into());
    let folder = folder(&[("items.jsonl", &json_lines(&[at_top, in_thread]))]);
    let (code, _, stderr) = eval(folder.path(), &["items.jsonl", "--dump-prompts", "prompts"]);
    assert_eq!((code, &*stderr), (Some(0), ""));
    let dumped = |id: &str| {
        std::fs::read_to_string(folder.path().join(format!("prompts/{id}.txt"))).unwrap()
    };
    let (top, thread) = (dumped("top"), dumped("thread"));
    let judged = |dumped: &str| dumped.split("## To be judged").nth(1).unwrap().to_owned();
    assert!(judged(&top).starts_with(": top level") && judged(&top).contains("### Thread: "));
    assert!(top.contains("- Probably answered or taken up"), "{top}");
    assert!(judged(&thread).starts_with(": thread") && !judged(&thread).contains("the gate"));
}

#[test]
fn a_case_tells_the_channel_and_what_the_persona_said() {
    let text = [("ann", "who has the key?"), ("Hilda", "I do"), ("ann", "and the gate?")];
    let mut named = item("named", "SILENT", "SILENT", text);
    named["channel"] = "#porch".into();
    named["topic"] = "Keys and gates".into();
    let mut marked = item("marked", "SILENT", "SILENT", text);
    marked["context"][1]["author"] = "bot".into();
    marked["context"][1]["own"] = true.into();
    let mut used = named.clone();
    (used["id"], used["prompt"]) = ("used".into(), "what a model read".into());
    // Somebody else may have its name.
    let mut namesake = named.clone();
    (namesake["id"], namesake["context"][1]["own"]) = ("namesake".into(), false.into());
    let mut state = raw_case("state", "en", None, "S03", &["ACTIVE"]);
    state["messages"][1]["own"] = true.into();
    let mut by_name = raw_case("by_name", "en", None, "S03", &["ACTIVE"]);
    by_name["messages"][1]["user"] = "Hilda".into();
    let folder = folder(&[
        ("config.yaml", "persona:\n  name: Hilda\n"),
        ("own.yaml", "persona:\n  name: Hilda\nprompts_dir: templates\n"),
        ("items.jsonl", &json_lines(&[named, marked, used, namesake])),
        ("cases.jsonl", &json_lines(&[state, by_name])),
    ]);
    for arguments in [&["items.jsonl"][..], &["cases.jsonl", "--task", "state"]] {
        let arguments = [arguments, &["--dump-prompts", "prompts"]].concat();
        let (code, _, stderr) = eval(folder.path(), &arguments);
        assert_eq!((code, &*stderr), (Some(0), ""));
    }
    let dumped = |id: &str| {
        std::fs::read_to_string(folder.path().join(format!("prompts/{id}.txt"))).unwrap()
    };
    assert!(dumped("named").contains("You are in the channel #porch."), "{}", dumped("named"));
    assert!(dumped("named").contains("“Keys and gates”"), "{}", dumped("named"));
    assert!(dumped("marked").contains("You are in the channel #general."), "{}", dumped("marked"));
    assert!(!dumped("marked").contains("topic"), "{}", dumped("marked"));
    for id in ["named", "marked"] {
        assert!(dumped(id).contains("** Hilda:\nI do"), "{}", dumped(id));
    }
    assert_eq!(dumped("used"), "what a model read");
    let items = item::open(&[folder.path().join("items.jsonl")]).unwrap();
    let is_own = |item| {
        let message = item_context(item, "Hilda").target_messages()[1].clone();
        message.author.kind == AuthorKind::Persona
    };
    let own: Vec<bool> = items.iter().map(is_own).collect();
    assert_eq!(own, [true, true, true, false]);
    std::fs::create_dir(folder.path().join("templates")).unwrap();
    let template = folder.path().join("templates/judge.j2");
    let own = "{{ persona.name }} by an own template\n\
               {% for message in top_level_messages %}{{ message.text }}{% endfor %}";
    std::fs::write(template, own).unwrap();
    // To measure another template, the prompts that the old one made do not count.
    let own = ["items.jsonl", "--config", "own.yaml", "--dump-prompts", "own"];
    assert_eq!(eval(folder.path(), &own).0, Some(0));
    let rebuilt = std::fs::read_to_string(folder.path().join("own/used.txt")).unwrap();
    assert!(rebuilt.contains("Hilda by an own template"), "{rebuilt}");
    for id in ["state", "by_name"] {
        assert!(dumped(id).contains("** Hilda:\n"), "{}", dumped(id));
    }
}

#[test]
fn the_error_of_an_invalid_item_has_no_chat_text() {
    let with = |change: &dyn Fn(&mut Value)| {
        let text = [("ann", CHAT), ("bob", "hm"), ("ann", "so")];
        let mut item = item("x", "SILENT", "SILENT/chatter", text);
        change(&mut item);
        item.to_string()
    };
    for (line, problem) in [
        (CHAT.to_owned(), "it is not a JSON object, at column 2"),
        (with(&|item| item["label"] = CHAT.into()), "a field has the wrong type, at column "),
        (with(&|item| item["id"] = "../x".into()), "its id is not made of at most 80 of the "),
        (with(&|item| item["kind"] = "".into()), "its kind is empty, or not one line"),
        (with(&|item| item["context"] = json!([])), "its context is empty"),
        (with(&|item| item["context"][2]["t"] = 1.into()), "the t of line 3 is not a time before "),
        (with(&|item| item["context"][0]["t"] = (-1).into()), "line 2 is older than the one be"),
        (with(&|item| item["context"][1]["author"] = " ".into()), "the author of line 2 is empty"),
        (
            with(&|item| item["context"][1]["reply_to"] = 1.into()),
            "the reply_to of line 2 is not a line before",
        ),
        (
            with(&|item| item["context"][1]["thread"] = 1.into()),
            "the thread of line 2 is not a top-level line",
        ),
        (
            with(&|item| item["thread"] = 3.into()),
            "its thread is not a top-level line of its context",
        ),
    ] {
        let folder = folder(&[("items.jsonl", &format!("\n{line}\n"))]);
        let (code, _, stderr) = eval(folder.path(), &["items.jsonl"]);
        let expected = format!("aizuchi: items.jsonl:2: {problem}");
        assert!(stderr.starts_with(&expected), "{line}\n→ {stderr}");
        assert_eq!(code, Some(1));
        assert!(!stderr.contains("treasure"), "{stderr}");
    }
}
