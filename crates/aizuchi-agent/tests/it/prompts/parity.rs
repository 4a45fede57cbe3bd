//! Python's Jinja2 renders the same templates to the same bytes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use aizuchi_harness::harness::prompts;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::builder::{context_view, memory_input_view};
use aizuchi_model::context::Context;
use aizuchi_model::persona::Language;
use serde_json::{Value, json};

use crate::prompts::golden::{everything, materials};
use crate::prompts::{persona, said, scene, talk};

/// Reads lines of `{"folder", "file", "values"}`, and prints a JSON string for each.
const RENDERER: &str = r#"
import json, sys
from jinja2 import Environment, FileSystemLoader, StrictUndefined
environments = {}
for line in sys.stdin:
    asked = json.loads(line)
    folder = asked["folder"]
    if folder not in environments:
        environments[folder] = Environment(
            loader=FileSystemLoader(folder), undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, autoescape=False)
    print(json.dumps(environments[folder].get_template(asked["file"]).render(asked["values"])))
"#;

/// Texts on which template engines have differed.
const TEXTS: [&str; 12] = [
    "おはよう",
    "a\r\nb\rc",
    "<b>&amp;\"'</b>",
    "{{ persona.name }} {% raw %} {# #}",
    "🎉👩‍👩‍👧",
    "---\n# x",
    "",
    "  spaces  ",
    "\u{2028}\u{85}x",
    "%s {} \\n \\",
    "null",
    "١٢٣ אבג",
];

/// Without Jinja2 there is nothing to compare with, so the test fails.
fn check_jinja2() {
    let imported = Command::new("python3").args(["-c", "import jinja2"]).output();
    let imported = imported.expect("this test needs python3");
    let error = String::from_utf8_lossy(&imported.stderr);
    assert!(
        imported.status.success(),
        "this test needs Jinja2, which scripts/test installs:\n{error}"
    );
}

/// Every template with its values, and what our renderer outputs.
fn questions() -> Vec<(Value, String)> {
    let mut questions = Vec::new();
    for language in [Language::En, Language::Ja] {
        let folder =
            format!("{}/../aizuchi-llm/src/prompt/{}", env!("CARGO_MANIFEST_DIR"), language.tag());
        let (prompts, persona) = (prompts(language), persona(language));
        let mut contexts = Vec::new();
        for target in [None, Some("00000"), Some("gone")] {
            let (context, scene) = everything(target);
            let bare = Context {
                important_memos: Vec::new(),
                recent_memos: Vec::new(),
                replied_to: Vec::new(),
                recalled_messages: Vec::new(),
                ..context.clone()
            };
            contexts.push((bare, scene.clone()));
            contexts.push((context, scene));
            for number in 0..60_usize {
                let messages = (0..number % 7).map(|line| {
                    let text = TEXTS[(number * 5 + line * 3) % TEXTS.len()];
                    let thread = (line % 3 == 2).then_some("00000");
                    said(line as i64, TEXTS[(number + line) % TEXTS.len()], text, thread)
                });
                let (whole, scene) = everything(target);
                let mut context = talk(target, messages.collect());
                if number % 2 == 0 {
                    context.channel_memories = whole.channel_memories;
                    let text = TEXTS[number % TEXTS.len()];
                    context.channel_memories[0].long_term_memory = Some(text.into());
                }
                if number % 3 == 0 {
                    context.thread_memories = whole.thread_memories;
                    context.workspace_long_term_memory = Some(TEXTS[number % 5].into());
                }
                contexts.push((context, scene));
            }
        }
        for (context, scene) in contexts {
            let context = std::sync::Arc::new(context);
            for verb in [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::State] {
                let ours = match verb {
                    PromptVerb::Judge => prompts.judge(&persona, &context, &scene),
                    PromptVerb::Reply => prompts.reply(&persona, &context, &scene),
                    PromptVerb::State
                    | PromptVerb::Remember
                    | PromptVerb::Describe
                    | PromptVerb::Transcribe => prompts.state(&persona, &context, &scene),
                };
                let view = context_view(verb, language, &persona, &context, &scene);
                let values = serde_json::to_string(&view).unwrap();
                questions.push((question(&folder, verb, &values), ours.text));
            }
        }
        for (_, material) in materials() {
            let view = memory_input_view(language, &persona, &material, &scene());
            let values = serde_json::to_string(&view).unwrap();
            let ours = prompts.remember(&persona, &std::sync::Arc::new(material), &scene());
            questions.push((question(&folder, PromptVerb::Remember, &values), ours.text));
        }
    }
    questions
}

/// The values stay text, since a map that is parsed here would lose its order.
fn question(folder: &str, verb: PromptVerb, values: &str) -> Value {
    json!({ "folder": folder, "file": format!("{}.j2", verb.name()), "values": values })
}

#[test]
fn python_renders_the_same_bytes() {
    check_jinja2();
    let renderer = RENDERER.replace("asked[\"values\"]", "json.loads(asked[\"values\"])");
    let mut python = Command::new("python3")
        .args(["-c", &renderer])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let questions = questions();
    let mut stdin = python.stdin.take().unwrap();
    let asked: String = questions.iter().map(|(question, _)| format!("{question}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(asked.as_bytes()));
    let answered = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(answered.status.success());
    let answered = String::from_utf8(answered.stdout).unwrap();
    let theirs = answered.lines().map(|line| serde_json::from_str::<String>(line).unwrap());
    let theirs: Vec<String> = theirs.collect();
    assert_eq!(theirs.len(), questions.len());
    for (theirs, (question, ours)) in theirs.iter().zip(&questions) {
        assert_eq!(theirs, ours, "{}", question["file"]);
    }
}
