//! `aizuchi prompt`: what a model would be asked now, and what stands in the way of asking.

use std::sync::Arc;

use aizuchi_core::chat::{ChannelId, ConversationId, MessageId};
use aizuchi_core::clock::Clock;
use aizuchi_core::context::ContextLimits;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::local::workspace_id;
use aizuchi_core::prompt::builder::{JudgeOptions, PromptOptions};
use aizuchi_core::rules::ChannelRules;
use aizuchi_core::store::Store;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use serde_json::json;

use crate::command::aizuchi;
use crate::program::{Home, Program};
use aizuchi_harness::harness::prompts;

/// A home whose prompts tell the time of nowhere in particular.
fn home() -> Home {
    let home = Home::new(1000.0);
    home.add("timezone: UTC\n");
    home
}

/// Some talk, in a thread, too; the thread's id.
async fn talk(room: &Program) -> String {
    room.says("Alice", "When do I cut the roses?").await;
    let parent = room.says("Bob", "the pump is broken").await;
    let reply = json!({
        "channel": "general", "thread": parent, "user": "Alice", "text": "## since Monday",
    });
    assert_eq!(room.post(&reply).await.0, 201);
    parent
}

fn run(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut program = aizuchi();
    let run = program.current_dir(home.path()).arg("--config").arg("config.yaml").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The prompt, and what each section comes to.
fn prompt(home: &Home, arguments: &[&str]) -> (String, Vec<(String, u64)>) {
    let (code, prompt, told) = run(home, &[&["prompt"], arguments].concat());
    assert_eq!(code, Some(0), "{told}");
    let sections = told.lines().filter(|line| !line.is_empty()).map(|line| {
        let (name, tokens) = line.split_at(18);
        let tokens = tokens.trim().split(' ').next().unwrap();
        (name.trim().to_owned(), tokens.parse().unwrap())
    });
    (prompt, sections.collect())
}

fn without_the_time(prompt: &str) -> String {
    let lines = prompt.trim_end().lines().filter(|line| !line.starts_with("Current time: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// What the library would ask, as the default settings have it.
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
    let judging = JudgeOptions { reactions, ..JudgeOptions::default() };
    let (context, scene) =
        (Arc::new(context), PromptOptions { judge_options: judging, ..PromptOptions::new(now) });
    let persona = Arc::new(Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: String::new(),
        language: Language::En,
    });
    let prompts = prompts(Language::En);
    let prompt = match verb {
        "judge" => prompts.judge(&persona, &context, &scene),
        "reply" => prompts.reply(&persona, &context, &scene),
        _ => prompts.state(&persona, &context, &scene),
    };
    prompt.text
}

#[tokio::test]
async fn it_prints_what_would_be_asked_also_while_the_room_is_open() {
    let home = home();
    let room = home.start();
    let parent = talk(&room).await;
    for thread in [None, Some(&*parent)] {
        for verb in ["judge", "reply", "state"] {
            let in_thread = thread.map_or(vec![], |thread| vec!["--thread", thread]);
            let wanted = [&[verb, "--channel", "general"], &in_thread[..]].concat();
            let (text, sections) = prompt(&home, &wanted);
            let expected = expected(&home, verb, thread).await;
            assert_eq!(without_the_time(&text), without_the_time(&expected));
            assert!(text.contains("\nCurrent time: 20") && text.contains(" UTC\n"), "{text}");
            assert!(text.contains("Bob:\nthe pump is broken\n"), "{text}");
            // Whatever it holds is in one of the sections.
            let [(all, tokens), rest @ ..] = &sections[..] else { panic!("{sections:?}") };
            assert_eq!((&**all, &*rest[0].0), ("in all", "instructions"));
            assert_eq!(*tokens, rest.iter().map(|(_, tokens)| tokens).sum::<u64>());
            assert_eq!(rest.last().unwrap().0, "target");
        }
        let in_thread = thread.map_or(vec![], |thread| vec!["--thread", thread]);
        let wanted = [&["remember", "--channel", "#general"], &in_thread[..]].concat();
        let (text, sections) = prompt(&home, &wanted);
        assert!(text.contains("the pump is broken\n") && text.contains("\\## since Monday\n"));
        assert_eq!(text.contains("cut the roses"), thread.is_none(), "{text}");
        assert_eq!(sections.last().unwrap().0, "material");
    }
    // What was asked for is only looked at.
    assert_eq!(
        room.get("/api/decisions?channel=general").await["decisions"][0]["ended"],
        json!(null)
    );
    assert_eq!(room.stop(), Some(0));
    let (text, _) = prompt(&home, &["judge", "--channel", "general"]);
    assert!(text.contains("the pump is broken"), "{text}");
}

#[tokio::test]
async fn a_channel_is_known_by_its_name_or_id() {
    let home = home();
    let room = home.start();
    let (status, channel) =
        room.send("POST", "/api/channels", Some(&json!({ "name": "Rose_club" }))).await;
    assert_eq!(status, 201, "{channel}");
    let (id, name) = (channel["id"].as_str().unwrap(), channel["name"].as_str().unwrap());
    let line = json!({ "channel": id, "user": "Alice", "text": "thorns" });
    assert_eq!(room.post(&line).await.0, 201);
    for wanted in [id, name, &format!("#{name}")] {
        let (text, _) = prompt(&home, &["judge", "--channel", wanted]);
        assert!(text.contains("Alice:\nthorns\n"), "{wanted}: {text}");
    }
    // Nothing was said there.
    let (code, text, told) = run(&home, &["prompt", "remember", "--channel", "random"]);
    assert_eq!((code, &*text), (Some(0), ""));
    assert_eq!(told, "there is nothing to be remembered there\n");
    assert_eq!(room.stop(), Some(0));
}

#[tokio::test]
async fn what_cannot_be_shown_is_told_in_a_sentence() {
    let home = home();
    let judge = ["prompt", "judge", "--channel", "general"];
    let (code, text, told) = run(&home, &judge);
    assert_eq!((code, &*text), (Some(1), ""));
    assert!(told.starts_with("aizuchi: "), "{told}");
    assert!(told.ends_with("room.db does not exist yet; `aizuchi run` creates it\n"), "{told}");
    assert!(!home.database().exists());
    let room = home.start();
    talk(&room).await;
    assert_eq!(room.stop(), Some(0));
    for (wrong, expected) in [
        (&["--channel", "attic"][..], "there is no channel \"attic\" in the database"),
        (
            &["--channel", "general", "--thread", "m\n1"],
            "there is no message \"m 1\" in this channel",
        ),
    ] {
        let (code, text, told) = run(&home, &[&["prompt", "judge"], wrong].concat());
        assert_eq!((code, &*text, told), (Some(1), "", format!("aizuchi: {expected}\n")));
    }
    for wrong in [&["prompt", "judge"][..], &["prompt", "think", "--channel", "general"]] {
        assert_eq!(run(&home, wrong).0, Some(2));
    }
}

#[tokio::test]
async fn a_folder_of_prompts_is_looked_at_before_anything_is_done() {
    let home = home();
    let room = home.start();
    talk(&room).await;
    assert_eq!(room.stop(), Some(0));
    let folder = home.path().join("prompts");
    std::fs::create_dir(&folder).unwrap();
    home.add("prompts_dir: prompts\n");
    let judge = ["prompt", "judge", "--channel", "general"];
    for (name, template, expected) in [
        ("judge.j2", "a\n{% if %}", "prompts/judge.j2, line 2: syntax error: "),
        ("judge.j2", "a\nb\n{{ nobody }}", "prompts/judge.j2, line 3: unknown variable nobody"),
        ("jugde.j2", "x", "prompts/jugde.j2 is none of the prompts; did you mean judge.j2?"),
    ] {
        std::fs::write(folder.join(name), template).unwrap();
        for verb in [&["run"][..], &judge] {
            let (code, text, told) = run(&home, verb);
            assert_eq!((code, &*text), (Some(1), ""));
            assert!(told.starts_with(&format!("aizuchi: {expected}")), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
        let (code, text, _) = run(&home, &["check"]);
        assert_eq!(code, Some(1));
        let line = text.lines().find(|line| line.starts_with("FAIL")).unwrap_or_default();
        assert!(line.starts_with(&format!("FAIL  prompts   {expected}")), "{text}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("judge.j2"), "{{ persona.name }}?").unwrap();
    let (text, _) = prompt(&home, &["judge", "--channel", "general"]);
    assert_eq!(text, "Aizuchi?\n");
    let (code, text, _) = run(&home, &["check"]);
    assert_eq!(code, Some(0), "{text}");
}
