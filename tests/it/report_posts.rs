//! Reports on posts: the list of all posts, and that the settings offered on the page were measured.

use std::fs;

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, pottery, recording, seen};

/// Some questions were answered before.
const CELLAR: &str = "0 08:00:00 help tom The attic window opens with the long hook.\n\
                      0 12:00:00 help mia Does anyone know how the attic window opens?\n\
                      1 09:00:00 help tom Does anyone know who ordered forty buckets of plaster?\n\
                      2 09:00:00 tools mia Good morning!\n";

const QUIET: [&str; 2] = ["--policy", "policies/quiet-300.yaml"];

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn every_post_is_listed_and_its_conditions_are_named() {
    let (_folder, history) = folder_with(&recording(CELLAR));
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    let posted = count(&policy["posted_without_model"]["spoke"]);
    let listed = policy["posts"]["listed"].as_array().unwrap();
    assert!(posted > 0, "{policy:#}");
    assert_eq!(listed.len() as u64 + count(&policy["posts"]["more"]), posted);
    for places in ["by_channel", "by_hour"] {
        let posts = policy[places].as_array().unwrap().iter();
        let sum: u64 = posts.map(|place| count(&place["posted_without_model"]["spoke"])).sum();
        assert_eq!(sum, posted, "{places}");
    }
    let post = &listed[0];
    assert_eq!(post["channel"], "help");
    assert!(post["said"].as_str().unwrap().contains("long hook"), "{post:#}");
    let text = seen(&page);
    let (_, list) = text.split_once("Every post, to read before you switch it on").unwrap();
    for part in [
        "This page does not measure whether the quote helps",
        "It is about: mia 12:00 Does anyone know how the attic window opens?",
        "It would post: ",
        "Some posts, picked by their place in time alone",
        "interruptions first",
        "To have it speak like this without a model, put this into your config",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let shown = format!("{} of {} post", listed.len().min(5), listed.len());
    assert!(list.contains(&shown), "{shown}: {list}");
    assert!(text.contains("Switched on without a model, Aizuchi would post about "), "{text}");
    assert!(page.contains("<code class=\"block\">response:\n  mode: companion\n</code>"), "{text}");
    assert!(!text.contains("really post"), "{text}");
    let (page, json) = page_and_json(&history, &["--anonymous=all"]);
    let shown = format!("{}{}", seen(&page), json["report"]["policies"][0]["posts"]).to_lowercase();
    for name in ["mia", "tom,", "tom said", "#help", "\"help\""] {
        assert!(!shown.contains(name), "{name}: {shown}");
    }
    let (page, _) = page_and_json(&history, &["--language", "ja"]);
    assert!(seen(&page).contains("投稿の一覧（使い始める前に読む）"), "{}", seen(&page));
}

/// A policy without limits is measured with limits, and that variant can be copied from the page.
#[test]
fn what_the_page_offers_is_what_was_measured() {
    let (_folder, history) = pottery();
    let both = [&["--policy", "policies/adaptive.yaml"][..], &QUIET].concat();
    let (page, json) = page_and_json(&history, &both);
    let report = &json["report"];
    let policies = report["policies"].as_array().unwrap();
    let names: Vec<&str> = policies.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["adaptive", "quiet-300", "quiet-300 with the default limits"]);
    assert_eq!(policies[2]["with_default_limits_of"], json!(["quiet-300"]));
    assert_eq!(report["comparison"]["offered"], json!([0, 2]));
    let blocks = page.split("<code class=\"block\">response:\n").skip(1);
    let blocks: Vec<&str> =
        blocks.filter(|lines| lines.starts_with("  mode: companion\n")).collect();
    assert_eq!(blocks.len(), 2, "{}", seen(&page));
    assert!(!page.contains("max_wait_seconds: 31622400"), "{page}");
    let text = seen(&page);
    assert!(!text.contains("To use quiet-300 without a model"), "{text}");
    assert!(text.contains("To use quiet-300 with the default limits without a model"), "{text}");
    assert!(text.contains("On offer are adaptive and quiet-300 with the default limits"), "{text}");
    // A policy with limits is not measured twice.
    let plain = page_and_json(&history, &["--policy", "policies/adaptive.yaml"]).1;
    assert_eq!(plain["report"]["policies"].as_array().unwrap().len(), 1);
    // The copied policy is recognized, and has the same figures.
    let (lines, _) = blocks[1].split_once("</code>").unwrap();
    let copied = history.with_file_name("copied.yaml");
    fs::write(&copied, format!("response:\n{lines}")).unwrap();
    let arguments = [&QUIET[..], &["--policy", copied.to_str().unwrap()]].concat();
    let again = page_and_json(&history, &arguments).1;
    let again = again["report"]["policies"].as_array().unwrap();
    assert_eq!(again.len(), 2, "{lines}");
    assert_eq!(again[1]["with_default_limits_of"], json!(["quiet-300"]));
    for figure in ["settings", "spoke", "wrong", "by_hour", "posted_without_model"] {
        assert_eq!(again[1][figure], policies[2][figure], "{figure}");
    }
}

/// Where the history says what answers what, a question is open however many users wrote after it about something else.
#[test]
fn a_question_without_an_answer_is_not_one_without_a_message() {
    let said = |id: &str, minutes: i64, author: &str, text: &str| {
        let message = json!({
            "room": "help", "id": id, "ts": 1_772_409_600 + minutes * 60, "author": author, "name": author,
            "text": text, "reply_to": [], "opener": true,
        });
        format!("{message}\n")
    };
    let lines = [
        said("m1", 480, "tom", "The attic window opens with the long hook."),
        said("m2", 720, "mia", "Does anyone know how the attic window opens?"),
        said("m3", 765, "ben", "The market was full of pears today."),
        said("m4", 2400, "tom", "Good morning!"),
    ];
    let (_folder, history) = folder_with(&lines.concat());
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    assert_eq!(policy["posted_without_model"]["picked_up"], 1, "{policy:#}");
    let text = seen(&page);
    for part in
        ["no other person answered", "that nobody else answered", "answered the question. A post"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("no other person followed up within an hour"), "{text}");
}
