//! The examples of a report: both sides of a difference, and messages in full.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, recording, seen};

/// Writes a policy file beside a history.
fn policy(history: &Path, name: &str, config: &str) -> String {
    let file = history.with_file_name(name);
    fs::write(&file, config).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn both_sides_of_a_difference_are_counted_and_shown() {
    let question = |day: usize| {
        let room = if day.is_multiple_of(2) { "help" } else { "tools" };
        format!("{day} 09:00:00 {room} ida Does anyone know where the glaze number {day} is?\n")
    };
    let (_folder, history) = folder_with(&recording(&(0..12).map(question).collect::<String>()));
    let only = |name: &str, silent: &str| {
        let config = format!("channels: {{\"#{silent}\": {{mode: mention_only}}}}");
        policy(&history, &format!("{name}.yaml"), &config)
    };
    let (help, tools) = (only("for-help", "tools"), only("for-tools", "help"));
    let (page, json) =
        page_and_json(&history, &["--policy", &help, "--policy", &tools, "--judge", "speak"]);
    let found = &json["report"]["differences"];
    let sides = found["sides"].as_array().unwrap();
    let of: Vec<&Value> = sides.iter().map(|side| &side["policies"]).collect();
    assert_eq!(of, [&json!([0]), &json!([1])], "{found:#}");
    let counts: Vec<u64> = sides.iter().map(|side| side["messages"].as_u64().unwrap()).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), found["messages"].as_u64().unwrap());
    for (place, channel) in [(0, "help"), (1, "tools")] {
        let shown = found["shown"].as_array().unwrap().iter();
        let shown = shown.filter(|one| one["taken_up_by"] == json!([place]));
        let channels: Vec<&Value> = shown.map(|one| &one["story"]["channel"]).collect();
        assert!(!channels.is_empty() && channels.iter().all(|one| *one == channel), "{found:#}");
    }
    let text = seen(&page);
    for (name, count) in ["for-help", "for-tools"].into_iter().zip(counts) {
        let heading = format!("Taken up only by {name}: {count} message");
        assert!(text.contains(&heading), "{heading}: {text}");
    }
}

#[test]
fn what_a_moment_is_about_is_never_cut() {
    let long = |begin: &str, end: &str| format!("{begin} {}{end}", "on and on ".repeat(90));
    let (before, question) =
        (long("It goes", "it went."), long("Does anyone know", "how it ends?"));
    let talk = format!(
        "0 08:59:00 help otto {before}\n0 09:00:00 help ida {question}\n2 09:00:00 help otto Good morning!\n"
    );
    let (_folder, history) = folder_with(&recording(&talk));
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    let stories = json["report"]["policies"][0]["stories"].as_array().unwrap();
    let lines = stories.iter().flat_map(|story| story["before"].as_array().unwrap());
    let about: Vec<&Value> = lines.filter(|line| line["is_about"] == true).collect();
    assert!(about.iter().any(|line| line["text"] == *question), "{stories:#?}");
    assert!(seen(&page).contains("how it ends?"));
    let others = stories.iter().flat_map(|story| story["before"].as_array().unwrap());
    let mut others = others.filter(|line| line["is_about"] == false);
    assert!(others.all(|line| line["text"] != *before), "{stories:#?}");
}

/// Only the first example of each kind is expanded on screen, and all of them in print.
#[test]
fn examples_are_folded_but_for_the_first_of_each_kind() {
    let question = |day: usize| {
        format!("{day} 09:00:00 help ida Does anyone know where the glaze number {day} is kept?\n")
    };
    let (_folder, history) = folder_with(&recording(&(0..20).map(question).collect::<String>()));
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    let stories = json["report"]["policies"][0]["stories"].as_array().unwrap();
    let (_, moments) = page.split_once("id=\"moments\"").unwrap();
    let (moments, _) = moments.split_once("</section>").unwrap();
    let kinds = moments.matches("<h3>").count();
    assert_eq!(moments.matches("<details open>").count(), kinds, "{moments}");
    // Omitted messages between two others may be collapsed, too, so only the beginning of an example counts.
    let is_folded = |one: &&str| {
        one.split_once('>').is_some_and(|(_, rest)| rest.trim_start().starts_with("<details"))
    };
    let folded = moments.split("<article ").skip(1).filter(is_folded).count();
    assert!(kinds < stories.len() && folded == stories.len(), "{folded} of {}", stories.len());
    // They are spread over the whole period.
    let day = |story: &Value| story["at"].as_str().unwrap()[..10].to_owned();
    let (first, last) = (day(&stories[0]), day(&stories[stories.len() - 1]));
    assert!(first.as_str() < "2026-03-05" && "2026-03-15" < last.as_str(), "{first} {last}");
}
