//! Eval: labelled cases, what is asked about them, and what answers are worth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi::config::Config;
use aizuchi::eval::case::{self, Case, pairs};
use aizuchi::eval::prompts::{CasePrompts, ask_all};
use aizuchi::eval::score::StateScore;
use aizuchi::eval::{StateAnswer, baseline};
use aizuchi_core::agent::Mind;
use aizuchi_core::clock::Clock;
use aizuchi_core::context::state::ConversationState;
use aizuchi_core::decision::Usage;
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::Prompt;
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;
use aizuchi_harness::harness::at;
use aizuchi_harness::providers::{Limits, Server, Treatment};

/// Must be seen in no error.
const CHAT: &str = "the treasure is under the old oak";

fn written(id: &str, language: &str, pair: Option<&str>, about: &str, labels: &[&str]) -> Value {
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

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Six cases, two of them in a pair, three in Japanese.
fn cases() -> Vec<Value> {
    let mut cases = vec![
        written("a1", "en", Some("p"), "S03", &["ENDING"]),
        written("a2", "en", Some("p"), "S03", &["ACTIVE"]),
        written("a3", "en", None, "S06", &["MISUNDERSTANDING", "CONFLICT"]),
        written("b1", "ja", None, "S08", &["ACTIVE"]),
        written("b2", "ja", None, "S05", &["CONFLICT"]),
        written("b3", "ja", None, "S07", &["ACTIVE"]),
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

fn shipped() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["en", "ja"].map(|tag| root.join(format!("evals/state-{tag}.jsonl")));
    case::open(&files).unwrap()
}

#[test]
fn answers_are_scored_beside_the_baselines() {
    let answers = [("a1", "ENDING."), ("a2", "active"), ("a3", "Conflict"), ("b1", "ENDING")];
    let answers = answers.into_iter().chain([("b2", "hard to say"), ("b3", "**ACTIVE**")]);
    let answers: Vec<Value> =
        answers.map(|(id, answer)| json!({ "id": id, "answer": answer })).collect();
    let folder = folder(&[("cases.jsonl", &lines(&cases())), ("answers.jsonl", &lines(&answers))]);
    let arguments = ["cases.jsonl", "--task", "state", "--answers", "answers.jsonl"];
    let (code, table, told) = eval(folder.path(), &arguments);
    assert_eq!((code, &*told), (Some(0), ""));
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
fn the_builtin_mind_answers_where_nobody_else_is_named() {
    let (english, japanese) = (lines(&cases()[..3]), lines(&cases()[3..]));
    let folder = folder(&[("en.jsonl", &english), ("ja.jsonl", &japanese)]);
    let (code, printed, _) =
        eval(folder.path(), &["en.jsonl", "ja.jsonl", "--task", "state", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["mind"]["name"]), (Some(0), &json!("builtin")));
    assert_eq!(printed["mind"]["all"]["cases"], 6);
    assert_eq!(printed["mind"]["all"], printed["baselines"][0]["all"]);
}

#[test]
fn a_bad_line_is_a_sentence_without_what_was_said() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut case = written("x", "en", None, "S03", &["ENDING"]);
        change(&mut case);
        case.to_string()
    };
    for (line, problem) in [
        (CHAT.to_owned(), "it is not a JSON object, at column 2"),
        (with(&|case| case["labels"] = json!(["ENDING", CHAT])), "its label 2 is none of ENDING, "),
        (with(&|case| case["labels"] = json!(["ending"])), "its label 1 is none of ENDING, "),
        (with(&|case| case["labels"] = json!(["ENDING", "ENDING"])), "its label 2 stands there tw"),
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
        let (code, _, told) = eval(folder.path(), &["cases.jsonl", "--task", "state"]);
        let expected = format!("aizuchi: cases.jsonl:2: {problem}");
        assert!(told.starts_with(&expected), "{line}\n→ {told}");
        assert_eq!((code, told.lines().count()), (Some(1), 1), "{told}");
        assert!(!told.contains("treasure") && !told.contains("oak"), "{told}");
    }
}

#[test]
fn a_set_of_cases_is_whole_or_is_not_used() {
    let pair = |labels: [&[&str]; 2]| {
        let half = |id, labels| written(id, "en", Some("p"), "S03", labels);
        [half("x", labels[0]), half("y", labels[1])]
    };
    let third = written("z", "en", Some("p"), "S03", &["ACTIVE"]);
    let [one, other] = pair([&["ENDING"], &["ACTIVE"]]);
    let twin = written("X", "en", None, "S03", &["ACTIVE"]);
    for (cases, expected) in [
        (vec![one.clone(), twin], "cases.jsonl:2: a case with this id came before\n"),
        (vec![one, other, third], "cases.jsonl:1: its pair has 3 cases and not two\n"),
        (
            pair([&["ENDING", "CONFLICT"], &["CONFLICT"]]).to_vec(),
            "cases.jsonl:1: one label is right for both halves of its pair\n",
        ),
        (vec![], "there are no cases in cases.jsonl\n"),
    ] {
        let folder = folder(&[("cases.jsonl", &lines(&cases))]);
        let (code, _, told) = eval(folder.path(), &["cases.jsonl", "--task", "state"]);
        assert_eq!((code, told), (Some(1), format!("aizuchi: {expected}")));
    }
    let many = folder(&[("cases.jsonl", &"{}\n".repeat(12))]);
    let (_, _, told) = eval(many.path(), &["cases.jsonl", "--task", "state"]);
    assert_eq!(told.lines().count(), 11, "{told}");
    assert!(told.ends_with("… and 2 more\n"), "{told}");
    let (code, _, told) = eval(many.path(), &["nowhere.jsonl", "--task", "state"]);
    assert_eq!(code, Some(1));
    assert!(told.starts_with("aizuchi: cannot read nowhere.jsonl: "), "{told}");
}

#[test]
fn answers_have_to_fit_the_cases() {
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
            "answers.jsonl:7: the case \"a2\" was answered before",
        ),
        ([&all[..], &[answer("c\n1")]].concat(), "answers.jsonl:7: there is no case \"c 1\""),
        (vec![json!({ "id": "a1" })], "answers.jsonl:1: the field `answer` is missing"),
        (
            vec![json!({ "id": "a1", "answer": [CHAT] })],
            "answers.jsonl:1: a field has the wrong type, at column 20",
        ),
    ] {
        let folder =
            folder(&[("cases.jsonl", &lines(&cases())), ("answers.jsonl", &lines(&answers))]);
        let arguments = ["cases.jsonl", "--task", "state", "--answers", "answers.jsonl"];
        let (code, _, told) = eval(folder.path(), &arguments);
        assert_eq!((code, told), (Some(1), format!("aizuchi: {expected}\n")));
    }
}

#[test]
fn other_tasks_and_models_that_nobody_asks_are_refused() {
    let folder = folder(&[("cases.jsonl", &lines(&cases()))]);
    let (code, _, told) = eval(folder.path(), &["cases.jsonl", "--task", "State"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("[possible values: decide, state]"), "{told}");
    let state = ["cases.jsonl", "--task", "state"];
    let refused = |arguments: &[&str]| {
        let (code, _, told) = eval(folder.path(), &[&state, arguments].concat());
        assert_eq!(code, Some(1), "{told}");
        told
    };
    let told = refused(&["--mind", "model"]);
    assert!(told.starts_with("aizuchi: --mind model needs a model: name one in "), "{told}");
    let (_, _, told) = eval(folder.path(), &["cases.jsonl", "--mind", "model"]);
    assert!(told.contains("name one in agents.judgment of the config"), "{told}");
    let told = refused(&["--model", "openai/large-1"]);
    assert!(told.starts_with("aizuchi: --model goes with --mind model"), "{told}");
    let both = ["--dump-prompts", "prompts", "--answers", "answers.jsonl"];
    assert_eq!(eval(folder.path(), &[&state[..], &both].concat()).0, Some(2));
}

#[test]
fn dumped_prompts_are_what_a_model_gets_and_can_be_answered_elsewhere() {
    let cases = shipped();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["en", "ja"].map(|tag| format!("{}/evals/state-{tag}.jsonl", root.display()));
    let folder = folder(&[]);
    let arguments = [&*files[0], &files[1], "--task", "state"];
    let dump = [&arguments[..], &["--dump-prompts", "prompts/new"]].concat();
    let (code, said, told) = eval(folder.path(), &dump);
    assert_eq!((code, &*told), (Some(0), ""));
    assert_eq!(said, format!("{} prompts are in prompts/new\n", cases.len()));
    let config = Config::default();
    let questions = CasePrompts::new(&config, &config.persona()).unwrap();
    let dumped = std::fs::read_dir(folder.path().join("prompts/new")).unwrap();
    assert_eq!(dumped.count(), cases.len());
    let mut answers = Vec::new();
    for case in &cases {
        let path = folder.path().join(format!("prompts/new/{}.txt", case.id));
        let dumped = std::fs::read_to_string(path).unwrap();
        assert_eq!(dumped, questions.prompt(case).text);
        let newest = case.messages.last().unwrap();
        let shown = format!("** {}:\n{}\n\n---\n", newest.user, newest.text);
        assert!(dumped.contains(&shown), "{}", case.id);
        let heading = case.language.pick("## Conversation", "## 会話");
        assert!(dumped.contains(heading), "{}", case.id);
        answers.push(json!({ "id": case.id, "answer": case.labels.last().unwrap().label() }));
    }
    std::fs::write(folder.path().join("answers.jsonl"), lines(&answers)).unwrap();
    let answered = [&arguments[..], &["--answers", "answers.jsonl", "--json"]].concat();
    let (_, printed, _) = eval(folder.path(), &answered);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let all = &printed["mind"]["all"];
    assert_eq!((&all["share_right"], &all["macro_f1"]), (&json!(1.0), &json!(1.0)));
    assert_eq!(all["pairs"], all["right_pairs"]);
}

#[test]
fn a_prompt_holds_what_the_config_says_and_no_more_lines_than_a_room_would_see() {
    let prompts = folder(&[]);
    let own = "{{ persona.name }}/{{ persona.system_prompt }}:{% for m in top_level_messages %} \
               {{ m.user.name }}{% endfor %} {{ current_time }}";
    std::fs::write(prompts.path().join("state.j2"), own).unwrap();
    let config = format!(
        "language: ja\ntimezone: Asia/Tokyo\nprompts_dir: {}\npersona: {{name: Aki}}\n\
         response: {{channel_messages_limit: 1}}\nagents: {{state: {{system_prompt: Look closely.}}}}\n",
        prompts.path().display()
    );
    let folder = folder(&[("cases.jsonl", &lines(&cases())), ("config.yaml", &config)]);
    let arguments = ["cases.jsonl", "--config", "config.yaml", "--task", "state"];
    let dump = [&arguments[..], &["--dump-prompts", "prompts"]].concat();
    assert_eq!(eval(folder.path(), &dump).0, Some(0));
    let read = |id: &str| std::fs::read_to_string(folder.path().join(format!("prompts/{id}.txt")));
    let japanese = read("b1").unwrap();
    assert!(japanese.starts_with("Aki/") && japanese.contains("Look closely.: bob "), "{japanese}");
    assert!(japanese.ends_with("2026-02-25 15:15:20 Asia/Tokyo"), "{japanese}");
    // The folder's templates are in the config's language.
    let english = read("a1").unwrap();
    assert!(english.starts_with("You name the state") && english.contains("Yes!"), "{english}");
    assert!(!english.contains("treasure"), "{english}");
}

/// Answers with the newest speaker's name, and counts who waits beside it.
#[derive(Default)]
struct CountingMind {
    now: AtomicUsize,
    most: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Llm for CountingMind {
    fn model(&self) -> &str {
        "counting"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let newest = prompt.context.target_messages().last().unwrap().text.to_string();
        self.asked.lock().unwrap().push(newest.clone());
        // The first ones take longest.
        let turns = 100 / self.asked.lock().unwrap().len();
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        match &*newest {
            "down" => Err(LlmError::Refused("it is closed".to_owned())),
            "never" => std::future::pending().await,
            words => Ok(LlmResponse::new(words.to_owned(), Usage::default())),
        }
    }
}

#[tokio::test]
async fn a_few_are_asked_side_by_side_and_answers_stay_with_their_cases() {
    let says =
        ["ENDING", "down", "CONFLICT", "hm", "ACTIVE", "never", "MISUNDERSTANDING", "ENDING"];
    let written = says.iter().enumerate().map(|(number, text)| {
        let mut case = written(&format!("c{number}"), "en", None, "S01", &["ACTIVE"]);
        case["messages"][1]["text"] = (*text).into();
        case
    });
    let text = lines(&written.collect::<Vec<_>>()).into_bytes();
    let cases = case::read(&[("cases.jsonl".to_owned(), text)]).unwrap();
    let config = Config::default();
    let questions = CasePrompts::new(&config, &config.persona()).unwrap();
    let prompts: Vec<Prompt> = cases.iter().map(|case| questions.prompt(case)).collect();
    let counting = Arc::new(CountingMind::default());
    let mind = Mind { llm: counting.clone(), persona: config.persona() };
    let (clock, answered) = (Clock::manual(at(0)), AtomicUsize::new(0));
    let limit = SignedDuration::from_secs(30);
    let progress = || {
        answered.fetch_add(1, Ordering::SeqCst);
    };
    let asking = ask_all(&mind, &prompts, limit, &clock, &progress);
    // Time passes once there is only the one left that never answers.
    let time = async {
        for _ in 0..100_000 {
            if answered.load(Ordering::SeqCst) == says.len() - 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        clock.advance_to(at(30));
    };
    let (findings, ()) = tokio::join!(asking, time);
    let state = StateAnswer::State;
    assert_eq!(
        findings,
        [
            state(ConversationState::Ending),
            StateAnswer::Failed("the model refuses: it is closed".to_owned()),
            state(ConversationState::Conflict),
            StateAnswer::NoState,
            state(ConversationState::Active),
            StateAnswer::Failed("no answer within 30s".to_owned()),
            state(ConversationState::Misunderstanding),
            state(ConversationState::Ending),
        ]
    );
    assert_eq!(counting.most.load(Ordering::SeqCst), 4);
    assert_eq!(answered.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_model_is_asked_as_the_config_says() {
    let server = Server::start(Limits::default()).await;
    let refusal = Treatment::Status(401, Vec::new(), json!({ "error": CHAT }).to_string());
    let says = || Treatment::Says("ACTIVE".to_owned());
    server.then([says(), says(), refusal, says(), says()]);
    let config = format!(
        "agents:\n  state:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test, \
         api_base: \"{}/v1\"}}\n",
        server.base
    );
    let folder = folder(&[("cases.jsonl", &lines(&cases())), ("config.yaml", &config)]);
    let path = folder.path().to_owned();
    let run = move || {
        let state = ["cases.jsonl", "--task", "state", "--mind", "model", "--json"];
        eval(&path, &[&state[..], &["--config", "config.yaml"]].concat())
    };
    let (code, printed, told) = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(code, Some(2), "{told}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mind = &printed["mind"];
    assert_eq!(mind["name"], "openai/large-1");
    let all = &mind["all"];
    assert_eq!((&all["cases"], &all["failed"]), (&json!(6), &json!(1)));
    // After the list the server says "fine", which is no state.
    assert_eq!(all["no_state"], 1);
    assert!(!printed.to_string().contains("treasure") && !told.contains("treasure"));
    let seen = server.seen();
    assert_eq!(seen.len(), 6);
    assert!(seen.iter().all(|seen| seen.body.to_string().contains("MISUNDERSTANDING")));
}

#[test]
fn the_cases_that_come_with_the_project_are_whole() {
    let cases = shipped();
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
    let abouts: BTreeSet<&str> = cases.iter().map(|case| &*case.about).collect();
    let rules = ["S02", "S03", "S04", "S05", "S06", "S07", "S08", "S09"];
    assert_eq!(abouts, BTreeSet::from(rules));
    // Who presumes to know what others think may be labelled as either, and as nothing else.
    for case in cases.iter().filter(|case| case.about == "S06") {
        use ConversationState::{Active, Conflict, Misunderstanding};
        let is_either = case.labels == [Misunderstanding, Conflict];
        assert!(is_either || case.labels == [Active], "{}", case.id);
    }
}

/// What the seed gave up, and why: with the words but without their meaning, and the other way round.
#[test]
fn neither_silence_nor_keywords_solve_the_cases() {
    let cases = shipped();
    for findings in [baseline::always_active(&cases), baseline::keywords(&cases)] {
        let score = StateScore::new(&cases, &findings, |_| true);
        assert!(score.accuracy() < 0.55 && score.right_pairs * 4 < score.pairs, "{score:?}");
        let words = StateScore::new(&cases, &findings, |case| case.about == "S08");
        assert!(words.right_pairs * 4 < words.pairs, "{words:?}");
    }
}

/// An item of three lines, the last of them ten seconds before the decision.
fn item(id: &str, label: &str, kind: &str, said: [(&str, &str); 3]) -> Value {
    let lines = said.iter().zip([-90.0, -30.5, -10.0]);
    let lines: Vec<Value> =
        lines.map(|((who, text), t)| json!({ "t": t, "author": who, "text": text })).collect();
    json!({ "id": id, "label": label, "kind": kind, "decide_at": 1_772_000_000.0, "context": lines })
}

/// Two to speak at, two to be silent at, and one where either is right.
fn items() -> Vec<Value> {
    let asks = ("ann", "who has the key?");
    let mut items = vec![
        item("d1", "SPEAK", "SPEAK", [("bob", "hm"), ("cid", "so"), asks]),
        item("d2", "SPEAK", "SPEAK", [("dan", CHAT), ("ann", "the door is shut"), ("eve", "oh")]),
        item("d#3", "SILENT", "SILENT/handled", [asks, ("dan", "ann: I do"), ("eve", "nice")]),
        item("d4", "SILENT", "SILENT/chatter", [("dan", "is it 5 yet?"), asks, ("bob", "no idea")]),
        item("d5", "AMBIG", "AMBIG/answered", [asks, ("ann", "hello"), ("ann", "鍵はどこですか")]),
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
fn decisions_are_scored_beside_simple_rules() {
    let answers = [
        answer("d1", true, 0.9),
        // Less sure than a room wants it.
        answer("d2", true, 0.4),
        answer("d#3", false, 0.8),
        answer("d5", true, 0.7),
        json!({ "id": "d4", "answer": "I would rather not." }),
    ];
    let folder = folder(&[("items.jsonl", &lines(&items())), ("answers.jsonl", &lines(&answers))]);
    let arguments = ["items.jsonl", "--answers", "answers.jsonl"];
    let (code, table, told) = eval(folder.path(), &arguments);
    assert_eq!((code, &*told), (Some(0), ""));
    insta::assert_snapshot!(table, @r"
    |                             |  answers.jsonl |  always silent |   always speak | last line asks | asker not named | gate left open |
    |-----------------------------|----------------|----------------|----------------|----------------|-----------------|----------------|
    | items                       |              5 |              5 |              5 |              5 |               5 |              5 |
    | balanced accuracy           |          0.750 |          0.500 |          0.500 |          0.750 |           0.500 |          0.500 |
    | missed                      |          0.500 |          1.000 |          0.000 |          0.500 |           0.500 |          0.000 |
    | false interventions         |          0.000 |          0.000 |          1.000 |          0.000 |           0.500 |          1.000 |
    | half it was chosen by       |     – at 0.000 |     – at 0.000 |     – at 1.000 |     – at 0.000 |      – at 0.000 |     – at 1.000 |
    | unseen half                 | 0.750 at 0.000 | 0.500 at 0.000 | 0.500 at 1.000 | 0.750 at 0.000 |  0.250 at 1.000 | 0.500 at 1.000 |
    | AUROC of confidence         |          1.000 |              – |              – |              – |               – |              – |
    | ECE of confidence           |          0.300 |              – |              – |              – |               – |              – |
    | answers that cannot be read |              1 |              0 |              0 |              0 |               0 |              0 |
    | calls that failed           |              0 |              0 |              0 |              0 |               0 |              0 |
    | spoken at AMBIG/answered    | 1.000 (1 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 1.000 (1 of 1) |  1.000 (1 of 1) | 1.000 (1 of 1) |
    | spoken at SILENT/chatter    | 0.000 (0 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 0.000 (0 of 1) |  1.000 (1 of 1) | 1.000 (1 of 1) |
    | spoken at SILENT/handled    | 0.000 (0 of 1) | 0.000 (0 of 1) | 1.000 (1 of 1) | 0.000 (0 of 1) |  0.000 (0 of 1) | 1.000 (1 of 1) |
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
            "auroc": 1.0, "ece": (0.1 + 0.6 + 0.2) / 3.0,
            "speak_items": 2, "silent_items": 2, "ambiguous_items": 1, "spoken_at_ambiguous": 1.0,
            "unreadable": 1, "failed": 0,
        })
    );
    assert_eq!(printed["mind"]["misses"], json!([{ "id": "d2", "wanted": "SPEAK" }]));
}

#[test]
fn what_is_dumped_of_a_decision_tells_nothing_of_its_label() {
    let folder = folder(&[("items.jsonl", &lines(&items()))]);
    let (code, _, told) = eval(folder.path(), &["items.jsonl", "--dump-prompts", "prompts"]);
    assert_eq!((code, &*told), (Some(0), ""));
    for (id, said) in [("d1", "who has the key?"), ("d#3", "ann: I do"), ("d5", "鍵はどこですか")]
    {
        let path = folder.path().join(format!("prompts/{id}.txt"));
        let dumped = std::fs::read_to_string(path).unwrap();
        assert!(dumped.contains(said) && !dumped.contains("SILENT"), "{dumped}");
        assert!(!dumped.contains("handled") && !dumped.contains("SPEAK"), "{dumped}");
    }
    let open = "- Put to the room: “2026-02-25 06:13:10 ann”, 10 s ago (lines since: 0); \
                nobody has named “ann” since.";
    let dumped = std::fs::read_to_string(folder.path().join("prompts/d1.txt")).unwrap();
    assert!(dumped.contains(open), "{dumped}");
}

#[test]
fn a_bad_item_is_a_sentence_without_what_was_said() {
    let with = |change: &dyn Fn(&mut Value)| {
        let said = [("ann", CHAT), ("bob", "hm"), ("ann", "so")];
        let mut item = item("x", "SILENT", "SILENT/chatter", said);
        change(&mut item);
        item.to_string()
    };
    for (line, problem) in [
        (CHAT.to_owned(), "it is not a JSON object, at column 2"),
        (with(&|item| item["label"] = CHAT.into()), "a field has the wrong type, at column "),
        (with(&|item| item["id"] = "../x".into()), "its id is not made of at most 80 of the "),
        (with(&|item| item["kind"] = "".into()), "its kind is empty, or not one line"),
        (with(&|item| item["context"] = json!([])), "its context is empty"),
        (with(&|item| item["context"][2]["t"] = 1.into()), "the t of line 3 is no time before "),
        (with(&|item| item["context"][0]["t"] = (-1).into()), "line 2 is older than the one be"),
        (with(&|item| item["context"][1]["author"] = " ".into()), "the author of line 2 is empty"),
    ] {
        let folder = folder(&[("items.jsonl", &format!("\n{line}\n"))]);
        let (code, _, told) = eval(folder.path(), &["items.jsonl"]);
        let expected = format!("aizuchi: items.jsonl:2: {problem}");
        assert!(told.starts_with(&expected), "{line}\n→ {told}");
        assert_eq!(code, Some(1));
        assert!(!told.contains("treasure"), "{told}");
    }
}
