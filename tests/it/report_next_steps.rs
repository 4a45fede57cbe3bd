//! The next steps in a report: commands to paste, settings that have an effect, and how to stop the bot.

use serde_json::Value;

use crate::report::{folder_with, page_and_json, pottery, recording, seen};

/// Returns a history with one question per day that was answered before.
fn cellar(days: usize, hour: usize) -> String {
    let question = |day: usize| {
        format!("{day} {hour:02}:00:00 help mia Does anyone know how the attic window opens?\n")
    };
    let answer = "0 08:00:00 help tom The attic window opens with the long hook.\n";
    let talk = "1 10:00:00 tools ida Good morning!\n";
    format!("{answer}{talk}{}", (1..=days).map(question).collect::<String>())
}

fn posted(json: &Value) -> u64 {
    json["report"]["policies"][0]["posted_without_model"]["spoke"].as_u64().unwrap()
}

#[test]
fn what_to_paste_names_the_history() {
    let (_folder, history) = pottery();
    let arguments =
        ["--policy", "policies/adaptive.yaml", "--from", "2026-03-02", "--language", "en"];
    let text = seen(&page_and_json(&history, &arguments).0);
    for command in [
        "aizuchi replay FOLDER/history.jsonl --from 2026-03-02T00:00:00Z --policy policies/adaptive.yaml --language en --judge \
         model --max-cost 1 --report model.html",
        "aizuchi tune FOLDER/history.jsonl --from 2026-03-02T00:00:00Z --policy policies/adaptive.yaml",
        "aizuchi replay FOLDER/history.jsonl --from 2026-03-02T00:00:00Z --language en --policy one.yaml --policy other.yaml \
         --report compared.html",
    ] {
        assert!(text.contains(command), "{command}: {text}");
    }
    assert!(!text.contains("INPUT"), "{text}");
    // A page that may be shared does not reveal file paths.
    let (page, json) = page_and_json(&history, &[&arguments[..], &["--anonymous"]].concat());
    let text = seen(&page);
    assert!(
        text.contains("aizuchi replay INPUT --from 2026-03-02T00:00:00Z --policy POLICY.yaml"),
        "{text}"
    );
    assert!(text.contains("Words in capitals, such as INPUT, stand for your own files"), "{text}");
    for shown in [&page, &json["report"].to_string()] {
        assert!(!shown.contains("history.jsonl") && !shown.contains("FOLDER"), "{shown}");
    }
}

#[test]
fn only_settings_that_change_something_are_offered() {
    let (_folder, history) = folder_with(&recording(&cellar(14, 12)));
    let (page, json) = page_and_json(&history, &[]);
    let (text, posted) = (seen(&page), posted(&json));
    assert!(posted > 0, "{json:#}");
    let called = format!("It would post none of the {posted} post");
    assert!(text.contains(&called), "{text}");
    // Any two posts are a day apart, and all are in one channel.
    for part in ["after a post it stays silent in that channel", "Begin in one channel"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("Only listen, for "), "{text}");
    // If no post would help, there is nothing to make quieter.
    let (_folder, history) = pottery();
    let text = seen(&page_and_json(&history, &[]).0);
    assert!(
        !text.contains("Only when called")
            && text.contains("without a model it would hardly post at any of them"),
        "{text}"
    );
}

/// Of a long history the command asks about its end alone, with a limit for just these days.
#[test]
fn a_model_is_asked_about_the_last_days_of_a_long_history() {
    let (_folder, history) = folder_with(&recording(&cellar(60, 12)));
    let (page, json) = page_and_json(&history, &[]);
    let text = seen(&page);
    let share = json["report"]["policies"][0]["calls"]["last_days_share"].as_f64().unwrap();
    assert!(0.4 < share && share < 0.7, "{share}");
    for part in [
        "--judge model --from 2026-04-01 --max-cost 1 --report model.html",
        "Without --from it asks about everything: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_page_says_how_to_stop_it_and_what_leaves() {
    let (_folder, history) = pottery();
    let text = seen(&page_and_json(&history, &[]).0);
    for part in [
        "If you write nothing into the config, Slack and Discord get mention_only without a model: then it says nothing unasked.",
        "Not sure? Leave it at mention_only .",
        "and sends messages of that time to its provider, with the names of their authors",
        "--judge model sends a model’s provider the messages",
        "aizuchi check says which file it is.",
        "How to set a model",
        "and the key into the environment or into the file .env beside the config, as ANTHROPIC_API_KEY=…",
        "agents: response: model_id: anthropic/claude-haiku-4-5 response: mode: mention_only",
        "an admin writes @Aizuchi mode observe there",
        "what it would say unasked is posted only after somebody has approved it",
        "facilitator (it helps a discussion along)",
        "@Aizuchi mode default undoes it",
        "A reload does not change the model.",
        "write @Aizuchi stop in a channel (an hour) or @Aizuchi mute",
        "What leaves your workspace",
        "This replay ran on your machine, asked no model and sent nothing.",
        "On Discord its posts notify nobody.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = seen(&page_and_json(&history, &["--language", "ja"]).0);
    for part in ["ワークスペースの外に出るもの", "@Aizuchi ミュート解除", "書くところ："]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A config with a model needs no example of one, and the example would name the wrong agent.
#[test]
fn a_model_that_is_set_needs_no_lines() {
    let (folder, history) = pottery();
    let policy = folder.path().join("mine.yaml");
    let agents =
        "agents: {response: {model_id: openai/gpt-4o}, judgment: {model_id: openai/gpt-4o-mini}}\n";
    std::fs::write(&policy, agents).unwrap();
    let arguments = ["--policy", policy.to_str().unwrap()];
    let text = seen(&page_and_json(&history, &arguments).0);
    assert!(text.contains("--judge model"), "{text}");
    assert!(!text.contains("How to set a model"), "{text}");
    // What it costs is said of this model first.
    assert!(text.contains("$0.01 with openai/gpt-4o-mini"), "{text}");
}
