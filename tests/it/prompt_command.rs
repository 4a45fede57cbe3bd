//! The command `aizuchi prompt`, which prints the prompt that a model would get now.

use std::process::Stdio;
use std::sync::{Arc, LazyLock};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::harness::prompts;
use aizuchi_llm::prompt::builder::{JudgeOptions, PromptOptions};
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::ContextLimits;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::rules::ChannelRules;
use aizuchi_store::Store;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::read_only::ReadOnlyDatabase;
use regex::Regex;
use serde_json::json;

use crate::command::aizuchi;
use crate::program::{Home, Program};

/// Creates a home whose prompts have times in UTC.
fn home() -> Home {
    let home = Home::new(1000.0);
    home.add("timezone: UTC\n");
    home
}

/// Posts a few messages, one of them in a thread. Returns the thread's id.
async fn post_messages(program: &Program) -> String {
    program.says("Alice", "When do I cut the roses?").await;
    let parent = program.says("Bob", "the pump is broken").await;
    let reply = json!({
        "channel": "general", "thread": parent, "user": "Alice", "text": "## since Monday",
    });
    assert_eq!(program.post(&reply).await.0, 201);
    parent
}

fn run(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = aizuchi();
    let run = command.current_dir(home.path()).arg("--config").arg("config.yaml").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Returns the prompt, and the tokens of each section.
fn prompt(home: &Home, arguments: &[&str]) -> (String, Vec<(String, u64)>) {
    let (code, prompt, stderr) = run(home, &[&["prompt"], arguments].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let sections = stderr.lines().filter(|line| !line.is_empty()).map(|line| {
        let (name, tokens) = line.split_at(18);
        let tokens = tokens.trim().split(' ').next().unwrap();
        (name.trim().to_owned(), tokens.parse().unwrap())
    });
    (prompt, sections.collect())
}

/// The age of a question in seconds or minutes.
static AGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+ (?:s|min) ago|for \d+ s\b").unwrap());

fn without_the_time(prompt: &str) -> String {
    let lines = prompt.trim_end().lines().filter(|line| !line.starts_with("Current time: "));
    AGE.replace_all(&lines.collect::<Vec<_>>().join("\n"), "some time ago").into_owned()
}

/// Returns the prompt that the library builds with the default settings.
async fn expected(home: &Home, verb: &str, thread: Option<&str>) -> String {
    let store = ReadOnlyDatabase::open(&DatabaseLocation::Sqlite(home.database()))
        .await
        .unwrap()
        .into_store();
    let conversation = ConversationId {
        workspace: workspace_id(),
        channel: ChannelId::new("general"),
        thread: thread.map(MessageId::new),
    };
    let now = Clock::system().now();
    let context =
        store.context(&conversation, &ContextLimits::default().window(now)).await.unwrap();
    let reactions = ChannelRules::default().reactions;
    let judge_options = JudgeOptions { reactions, ..JudgeOptions::default() };
    let context = Arc::new(context);
    let options = PromptOptions { judge_options, ..PromptOptions::new(now) };
    let persona = Arc::new(Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: String::new(),
        language: Language::En,
    });
    let prompts = prompts(Language::En);
    let prompt = match verb {
        "judge" => prompts.judge(&persona, &context, &options),
        "reply" => {
            // Nobody asks the persona for quiet, or waits for an answer.
            let mut tools = ToolSettings::specs(Language::En);
            tools.retain(|tool| !["be_quiet", "schedule"].contains(&&*tool.name));
            prompts.reply(&persona, &context, &options).with_tools(tools)
        }
        _ => prompts.state(&persona, &context, &options),
    };
    prompt.full_text().into_owned()
}

#[tokio::test]
async fn the_prompt_is_printed_while_the_program_runs() {
    let home = home();
    let program = home.start();
    let parent = post_messages(&program).await;
    for thread in [None, Some(&*parent)] {
        for verb in ["judge", "reply", "state"] {
            let in_thread = thread.map_or(vec![], |thread| vec!["--thread", thread]);
            let wanted = [&[verb, "--channel", "general"], &in_thread[..]].concat();
            let (text, sections) = prompt(&home, &wanted);
            let expected = expected(&home, verb, thread).await;
            assert_eq!(without_the_time(&text), without_the_time(&expected));
            assert!(text.contains("\nCurrent time: 20") && text.contains(" UTC\n"), "{text}");
            assert!(text.contains("Bob:\nthe pump is broken\n"), "{text}");
            // The sections add up to the whole prompt.
            let [(all, tokens), rest @ ..] = &sections[..] else { panic!("{sections:?}") };
            assert_eq!((&**all, &*rest[0].0), ("in all", "instructions"));
            assert_eq!(*tokens, rest.iter().map(|(_, tokens)| tokens).sum::<u64>());
            let last = if verb == "reply" { "tools" } else { "target" };
            assert_eq!(rest.last().unwrap().0, last);
        }
        let in_thread = thread.map_or(vec![], |thread| vec!["--thread", thread]);
        let wanted = [&["remember", "--channel", "#general"], &in_thread[..]].concat();
        let (text, sections) = prompt(&home, &wanted);
        assert!(text.contains("the pump is broken\n") && text.contains("\\## since Monday\n"));
        assert_eq!(text.contains("cut the roses"), thread.is_none(), "{text}");
        assert_eq!(sections.last().unwrap().0, "material");
    }
    // Printing a prompt changes nothing.
    assert_eq!(
        program.get("/api/decisions?channel=general").await["decisions"][0]["ended"],
        json!(null)
    );
    assert_eq!(program.stop(), Some(0));
    let (text, _) = prompt(&home, &["judge", "--channel", "general"]);
    assert!(text.contains("the pump is broken"), "{text}");
}

#[tokio::test]
async fn a_channel_is_found_by_name_or_id() {
    let home = home();
    let program = home.start();
    let (status, channel) =
        program.send("POST", "/api/channels", Some(&json!({ "name": "Rose_club" }))).await;
    assert_eq!(status, 201, "{channel}");
    let (id, name) = (channel["id"].as_str().unwrap(), channel["name"].as_str().unwrap());
    let message = json!({ "channel": id, "user": "Alice", "text": "thorns" });
    assert_eq!(program.post(&message).await.0, 201);
    for wanted in [id, name, &format!("#{name}")] {
        let (text, _) = prompt(&home, &["judge", "--channel", wanted]);
        assert!(text.contains("Alice:\nthorns\n"), "{wanted}: {text}");
    }
    // #random has no messages.
    let (code, text, stderr) = run(&home, &["prompt", "remember", "--channel", "random"]);
    assert_eq!((code, &*text), (Some(0), ""));
    assert_eq!(stderr, "there is nothing new to remember there\n");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn errors_are_reported_in_one_sentence() {
    let home = home();
    let judge = ["prompt", "judge", "--channel", "general"];
    let (code, text, stderr) = run(&home, &judge);
    assert_eq!((code, &*text), (Some(1), ""));
    assert!(stderr.starts_with("aizuchi: "), "{stderr}");
    assert!(stderr.ends_with("room.db does not exist yet; `aizuchi run` creates it\n"), "{stderr}");
    assert!(!home.database().exists());
    let program = home.start();
    post_messages(&program).await;
    assert_eq!(program.stop(), Some(0));
    for (wrong, expected) in [
        (&["--channel", "attic"][..], "there is no channel \"attic\" in the database"),
        (
            &["--channel", "general", "--thread", "m\n1"],
            "there is no message \"m 1\" in this channel",
        ),
    ] {
        let (code, text, stderr) = run(&home, &[&["prompt", "judge"], wrong].concat());
        assert_eq!((code, &*text, stderr), (Some(1), "", format!("aizuchi: {expected}\n")));
    }
    for wrong in [&["prompt", "judge"][..], &["prompt", "think", "--channel", "general"]] {
        assert_eq!(run(&home, wrong).0, Some(2));
    }
}

#[tokio::test]
async fn a_folder_of_prompts_is_checked_first() {
    let home = home();
    let program = home.start();
    post_messages(&program).await;
    assert_eq!(program.stop(), Some(0));
    let folder = home.path().join("prompts");
    std::fs::create_dir(&folder).unwrap();
    home.add("prompts_dir: prompts\n");
    let judge = ["prompt", "judge", "--channel", "general"];
    for (name, template, expected) in [
        ("judge.j2", "a\n{% if %}", "prompts/judge.j2, line 2: syntax error: "),
        ("judge.j2", "a\nb\n{{ nobody }}", "prompts/judge.j2, line 3: unknown variable nobody"),
        (
            "judge.j2",
            "{{ persona.name }}?",
            "prompts/judge.j2 (with the files that it includes) shows none of the messages",
        ),
        ("jugde.j2", "x", "prompts/jugde.j2 is none of the prompts; did you mean judge.j2?"),
    ] {
        std::fs::write(folder.join(name), template).unwrap();
        let expected = format!("{}/{expected}", home.path().display());
        for verb in [&["run"][..], &judge] {
            let (code, text, stderr) = run(&home, verb);
            assert_eq!((code, &*text), (Some(1), ""));
            // What runs has a log, whose lines are JSON.
            let begins = if verb == ["run"] { r#","why":""# } else { "aizuchi: " };
            assert!(stderr.contains(&format!("{begins}{expected}")), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
        let (code, text, _) = run(&home, &["check"]);
        assert_eq!(code, Some(1));
        let line = text.lines().find(|line| line.starts_with("FAIL")).unwrap_or_default();
        assert!(line.starts_with(&format!("FAIL  prompts   {expected}")), "{text}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let own = "{{ persona.name }}?{% for m in top_level_messages %} {{ m.text }}{% endfor %}";
    std::fs::write(folder.join("judge.j2"), own).unwrap();
    let (text, _) = prompt(&home, &["judge", "--channel", "general"]);
    assert!(text.starts_with("Aizuchi? "), "{text}");
    let (code, text, _) = run(&home, &["check"]);
    assert_eq!(code, Some(0), "{text}");
}

/// With `2>&1 | head`, nobody reads stderr any more when the program writes to it.
#[tokio::test]
async fn a_closed_stderr_changes_no_exit_code() {
    let home = home();
    let program = home.start();
    post_messages(&program).await;
    for (channel, expected) in [("general", 0), ("nowhere", 1)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        let command = command.env_remove("AIZUCHI_CONFIG").arg("--config").arg(home.config());
        let command = command.args(["prompt", "judge", "--channel", channel]);
        let status = command.stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{channel}");
    }
    assert_eq!(program.stop(), Some(0));
}
