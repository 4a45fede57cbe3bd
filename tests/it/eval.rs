//! Evaluation: labeled cases, their prompts, and the scores of answers.

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
use aizuchi_model::decision::Usage;
use aizuchi_past::eval::decide::context::item_context;
use aizuchi_past::eval::decide::{ItemAnswer, eval_rules, item};
use aizuchi_past::eval::prompts::{EvalPrompts, ask_all};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;

/// Text that must not appear in any error.
const CHAT: &str = "the treasure is under the old oak";

fn json_lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
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

#[test]
fn the_builtin_mind_answers_by_default() {
    let (english, japanese) = (json_lines(&items()[..3]), json_lines(&items()[3..]));
    let folder = folder(&[("en.jsonl", &english), ("ja.jsonl", &japanese)]);
    let (code, printed, _) = eval(folder.path(), &["en.jsonl", "ja.jsonl", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["mind"]["name"]), (Some(0), &json!("builtin")));
    assert_eq!((&printed["calls"], &printed["mind"]["all"]["failed"]), (&json!(null), &json!(0)));
}

#[test]
fn one_invalid_case_rejects_the_whole_set() {
    let [one, duplicate] = ["x", "X"]
        .map(|id| item(id, "SILENT", "SILENT", [("ann", CHAT), ("bob", "hm"), ("ann", "so")]));
    for (items, expected) in [
        (vec![one, duplicate], "cases.jsonl:2: an item with this id came before\n"),
        (vec![], "there are no items to decide on\n"),
    ] {
        let folder = folder(&[("cases.jsonl", &json_lines(&items))]);
        let (code, _, stderr) = eval(folder.path(), &["cases.jsonl"]);
        assert_eq!((code, stderr), (Some(1), format!("aizuchi: {expected}")));
    }
    let many = folder(&[("cases.jsonl", &"{}\n".repeat(12))]);
    let (_, _, stderr) = eval(many.path(), &["cases.jsonl"]);
    assert_eq!(stderr.lines().count(), 11, "{stderr}");
    assert!(stderr.ends_with("… and 2 more\n"), "{stderr}");
    let (code, _, stderr) = eval(many.path(), &["nowhere.jsonl"]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("aizuchi: cannot read nowhere.jsonl: "), "{stderr}");
}

#[test]
fn answers_must_match_the_cases() {
    let answer = |id: &str| json!({ "id": id, "answer": CHAT });
    let all = ["d1", "d2", "d#3", "d4", "d5"].map(answer);
    for (answers, expected) in [
        (vec![], "answers.jsonl has no answer for \"d1\", \"d2\", \"d#3\", \"d4\", \"d5\""),
        (all[..4].to_vec(), "answers.jsonl has no answer for \"d5\""),
        (
            [&all[..], &[answer("d2")]].concat(),
            "answers.jsonl:6: an answer with this id came before",
        ),
        ([&all[..], &[answer("c\n1")]].concat(), "answers.jsonl:6: there is no case \"c 1\""),
        (vec![json!({ "id": "d1" })], "answers.jsonl:1: the field `answer` is missing"),
        (
            vec![json!({ "id": "d1", "answer": [CHAT] })],
            "answers.jsonl:1: a field has the wrong type, at column 20",
        ),
    ] {
        let folder = folder(&[
            ("items.jsonl", &json_lines(&items())),
            ("answers.jsonl", &json_lines(&answers)),
        ]);
        let arguments = ["items.jsonl", "--answers", "answers.jsonl"];
        let (code, _, stderr) = eval(folder.path(), &arguments);
        assert_eq!((code, stderr), (Some(1), format!("aizuchi: {expected}\n")));
    }
}

#[test]
fn unused_models_are_rejected() {
    let folder = folder(&[("items.jsonl", &json_lines(&items()))]);
    let rejection = |arguments: &[&str]| {
        let (code, _, stderr) = eval(folder.path(), &[&["items.jsonl"], arguments].concat());
        assert_eq!(code, Some(1), "{stderr}");
        stderr
    };
    let stderr = rejection(&["--mind", "model"]);
    let expected = "aizuchi: --mind model needs a model: name one in agents.judgment of the config";
    assert!(stderr.starts_with(expected), "{stderr}");
    let stderr = rejection(&["--model", "openai/large-1"]);
    assert!(stderr.starts_with("aizuchi: --model needs --mind model"), "{stderr}");
    let both = ["items.jsonl", "--dump-prompts", "prompts", "--answers", "answers.jsonl"];
    assert_eq!(eval(folder.path(), &both).0, Some(2));
}

#[test]
fn dumped_prompts_equal_the_models() {
    let folder = folder(&[("items.jsonl", &json_lines(&items()))]);
    let (code, stdout, stderr) =
        eval(folder.path(), &["items.jsonl", "--dump-prompts", "prompts/new"]);
    assert_eq!((code, &*stderr), (Some(0), ""));
    assert_eq!(stdout, "5 prompts are in prompts/new\n");
    let config = Config::default();
    let prompt_builder = EvalPrompts::new(&config, &config.persona()).unwrap();
    for item in item::open(&[folder.path().join("items.jsonl")]).unwrap() {
        let path = folder.path().join(format!("prompts/new/{}.txt", item.id));
        let dumped = std::fs::read_to_string(path).unwrap();
        assert_eq!(dumped, prompt_builder.decision(&item).text);
    }
}

#[test]
fn prompts_follow_the_config() {
    let prompts = folder(&[]);
    let own = "{{ persona.name }}/{{ persona.system_prompt }}:{% for m in top_level_messages %} \
               {{ m.user.name }}|{{ m.text }}|{% endfor %} {{ current_time }}";
    std::fs::write(prompts.path().join("judge.j2"), own).unwrap();
    let config = format!(
        "language: ja\ntimezone: Asia/Tokyo\nprompts_dir: {}\npersona: {{name: Aki}}\n\
         agents: {{judgment: {{system_prompt: Look closely.}}}}\n",
        prompts.path().display()
    );
    let folder = folder(&[("items.jsonl", &json_lines(&items())), ("config.yaml", &config)]);
    let dump = ["items.jsonl", "--config", "config.yaml", "--dump-prompts", "prompts"];
    assert_eq!(eval(folder.path(), &dump).0, Some(0));
    let read = |id: &str| std::fs::read_to_string(folder.path().join(format!("prompts/{id}.txt")));
    let japanese = read("d5").unwrap();
    assert!(japanese.starts_with("Aki/") && japanese.contains("Look closely.: ann|"), "{japanese}");
    assert!(japanese.ends_with("Asia/Tokyo"), "{japanese}");
    // The folder's templates are in the configured language only.
    let english = read("d1").unwrap();
    assert!(!english.starts_with("Aki/") && english.contains("who has the key?"), "{english}");
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
    let says = |should_respond: bool| {
        json!({ "should_respond": should_respond, "reason": "so", "confidence": 0.9 }).to_string()
    };
    let (yes, no) = (says(true), says(false));
    let texts = [&*yes, "down", &no, "hm", &yes, "never", &no, &yes];
    let raw_items = texts.iter().enumerate().map(|(number, text)| {
        item(&format!("c{number}"), "SPEAK", "SPEAK", [("ann", "a"), ("bob", "b"), ("ann", text)])
    });
    let text = json_lines(&raw_items.collect::<Vec<_>>()).into_bytes();
    let items = item::read(&[("items.jsonl".to_owned(), text)]).unwrap();
    let config = Config::default();
    let prompt_builder = EvalPrompts::new(&config, &config.persona()).unwrap();
    let prompts: Vec<Prompt> = items.iter().map(|item| prompt_builder.decision(item)).collect();
    let counting = Arc::new(CountingMind::default());
    let mind = Mind::from_llm(counting.clone(), &config.persona());
    let (clock, answered) = (Clock::manual(at(0)), AtomicUsize::new(0));
    let timeout = SignedDuration::from_secs(30);
    let progress = || {
        answered.fetch_add(1, Ordering::SeqCst);
    };
    let rules = eval_rules(&config);
    let calls = ask_all(&mind, &prompts, &rules, (timeout, &clock), &progress);
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
    let told: Vec<String> = answers
        .iter()
        .map(|answer| match answer {
            ItemAnswer::Known(known) => format!("speaks: {}", known.would_speak),
            ItemAnswer::Unreadable(_) => "unreadable".to_owned(),
            ItemAnswer::Unknown(why) => why.clone(),
        })
        .collect();
    assert_eq!(
        told,
        [
            "speaks: true",
            "the model refuses: it is closed",
            "speaks: false",
            "unreadable",
            "speaks: true",
            "the model does not answer now: no answer within 30s",
            "speaks: false",
            "speaks: true",
        ]
    );
    assert_eq!(counting.max_in_flight.load(Ordering::SeqCst), 4);
    assert_eq!(answered.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_model_is_called_as_configured() {
    let server = Server::start(ServerLimits::default()).await;
    let refusal = ProviderResponse::Status(401, Vec::new(), json!({ "error": CHAT }).to_string());
    let verdict = r#"{"should_respond": true, "reason": "so", "confidence": 0.9}"#;
    let says_yes = || ProviderResponse::Says(verdict.to_owned());
    server.then([says_yes(), says_yes(), refusal, says_yes()]);
    let config = format!(
        "agents:\n  judgment:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test, \
         api_base: \"{}/v1\"}}\n",
        server.base
    );
    let folder = folder(&[("items.jsonl", &json_lines(&items())), ("config.yaml", &config)]);
    let path = folder.path().to_owned();
    let asked = ["items.jsonl", "--mind", "model", "--config", "config.yaml"];
    let run = move |more: &[&str]| eval(&path, &[&asked[..], more].concat());
    let as_text = run.clone();
    let run = move || run(&["--json"]);
    let (code, printed, stderr) = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(code, Some(2), "{stderr}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mind = &printed["mind"];
    assert_eq!(mind["name"], "openai/large-1");
    let all = &mind["all"];
    // After the queued responses the server answers "fine", which is no verdict.
    assert_eq!((&all["failed"], &all["unreadable"]), (&json!(1), &json!(1)));
    let calls = &printed["calls"];
    let why = "the model refuses: openai/large-1: it does not accept the API key (401)";
    assert_eq!(calls["failures"], json!([{ "why": why, "calls": 1 }]));
    let figures = ["calls", "input_tokens", "cached_tokens", "output_tokens", "cost"];
    let figures = figures.map(|name| &calls[name]);
    assert_eq!(figures, [&json!(5), &json!(480), &json!(256), &json!(28), &json!(null)]);
    assert!(calls["latency_seconds"]["p95"].is_f64(), "{calls}");
    assert!(!printed.to_string().contains("treasure") && !stderr.contains("treasure"));
    let seen = server.requests();
    assert_eq!(seen.len(), 5);
    assert!(seen.iter().all(|seen| seen.body.to_string().contains("should_respond")));
    let (_, text, _) = tokio::task::spawn_blocking(move || as_text(&[])).await.unwrap();
    let told = "\n\n5 calls, of which 0 failed\ntokens: 600 in (320 of them cached), 35 out; cost: \
                unknown, for want of a price in models.prices\nlatency: ";
    assert!(text.contains(told), "{text}");
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
            "auroc": 1.0, "ece": (0.1 + 0.6 + 0.2) / 3.0,
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
    let folder = folder(&[
        ("config.yaml", "persona:\n  name: Hilda\n"),
        ("own.yaml", "persona:\n  name: Hilda\nprompts_dir: templates\n"),
        ("items.jsonl", &json_lines(&[named, marked, used, namesake])),
    ]);
    let (code, _, stderr) = eval(folder.path(), &["items.jsonl", "--dump-prompts", "prompts"]);
    assert_eq!((code, &*stderr), (Some(0), ""));
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
