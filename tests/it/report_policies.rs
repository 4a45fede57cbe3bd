//! Reports on several policies: their settings, which is significantly ahead, and where they would annoy.

use std::fs;

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, pottery, recording, seen};

const BOTH: [&str; 4] =
    ["--policy", "policies/adaptive.yaml", "--policy", "policies/quiet-300.yaml"];

/// Returns the settings of a policy that differ from the defaults.
fn changed(policy: &Value) -> Vec<(&str, &Value)> {
    let settings = policy["settings"].as_array().unwrap().iter();
    let is_changed =
        |setting: &&Value| !setting["value"].is_null() && setting["value"] != setting["default"];
    let changed = settings.filter(is_changed);
    changed.map(|setting| (setting["key"].as_str().unwrap(), &setting["value"])).collect()
}

fn sum(rows: &Value, key: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
}

#[test]
fn each_policy_is_told_by_what_it_has_besides_the_defaults() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &BOTH);
    let policies = &json["report"]["policies"];
    assert!(changed(&policies[0]).is_empty(), "{policies:#}");
    let quiet = changed(&policies[1]);
    for expected in [
        ("response.wait", json!("fixed")),
        ("response.timing", json!("plain")),
        ("response.gates", json!([])),
        ("budget.tokens_per_day", json!("off")),
    ] {
        assert!(quiet.contains(&(expected.0, &expected.1)), "{expected:?}: {quiet:?}");
    }
    let text = seen(&page);
    let wait = "How it waits before it judges response.wait as long as the talk’s own pace suggests (default) for a fixed \
                time";
    assert!(text.contains(wait), "{text}");
    assert!(
        text.contains("adaptive has the default settings, except response.mode: companion."),
        "{text}"
    );
    let unlimited = "quiet-300 has no limit on how long messages wait while people go on talking, tokens a day, ";
    assert!(text.contains(unlimited) && !text.contains("adaptive has no limit"), "{text}");
    assert!(text.contains("quiet-300 has none of the rules (gates)"), "{text}");
    // A moment at which several policies acted is shown once.
    let moments = page.matches("<article").count();
    let named = page.matches("<dt>Policy</dt>").count();
    assert!(0 < named && named < moments, "{named} of {moments}");
    assert_eq!(named, json["report"]["differences"]["shown"].as_array().unwrap().len());
    let (page, _) = page_and_json(&history, &[&BOTH[..], &["--language", "ja"]].concat());
    let text = seen(&page);
    assert!(text.contains("response.wait 会話のペースに合わせる（既定） 一定の時間"), "{text}");
}

#[test]
fn the_only_policy_is_told_in_a_sentence() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &[]);
    assert!(
        seen(&page)
            .contains("This replay used the default settings, except response.mode: companion ."),
        "{page}"
    );
    assert_eq!(json["report"]["comparison"], Value::Null);
    let careful = history.with_file_name("careful.yaml");
    fs::write(&careful, "response: {min_confidence: 0.8}").unwrap();
    let (page, _) = page_and_json(&history, &["--policy", careful.to_str().unwrap()]);
    let sentence = "How sure its judge must be ( response.min_confidence ): 80 % instead of 70 %.";
    assert!(seen(&page).contains(sentence), "{}", seen(&page));
}

#[test]
fn equal_policies_are_not_told_apart() {
    let (_folder, history) = pottery();
    let copy = history.with_file_name("copy.yaml");
    fs::copy("policies/adaptive.yaml", &copy).unwrap();
    let policies = ["--policy", "policies/adaptive.yaml", "--policy", copy.to_str().unwrap()];
    let (page, json) = page_and_json(&history, &policies);
    let comparison = &json["report"]["comparison"];
    assert_eq!(comparison["advice"], json!({ "what": "alike" }));
    for measure in comparison["measures"].as_array().unwrap() {
        assert_eq!((&measure["ahead"], &measure["is_clear"]), (&json!([0, 1]), &json!(false)));
    }
    let text = seen(&page);
    assert!(text.contains("Would probably have interrupted 2 2 none"), "{text}");
    assert!(text.contains("Which one to take: this history does not tell."), "{text}");
    assert!(
        text.contains("All policies have the default settings, except response.mode: companion."),
        "{text}"
    );
    assert!(!text.contains("clearly"), "{text}");
    // If the number of posts is unknown, nothing is compared.
    let silent = [&policies[..], &["--judge", "silent"]].concat();
    let (page, json) = page_and_json(&history, &silent);
    assert_eq!(
        json["report"]["comparison"],
        json!({ "measures": [], "offered": [0, 1], "advice": null })
    );
    assert!(!seen(&page).contains("Which one to take"), "{}", seen(&page));
}

/// A question per day, most of them at nine and in one channel, and an answer while the post is being prepared.
#[test]
fn interruptions_have_their_hour_their_channel_and_their_rate() {
    let question = |day: usize| {
        let hour = if day < 16 { 9 } else { day % 24 };
        let room = if day.is_multiple_of(6) { "tools" } else { "help" };
        format!(
            "{day} {hour:02}:00:00 {room} ida Does anyone know where glaze {day} is?\n\
             {day} {hour:02}:01:25 {room} otto On the upper shelf.\n"
        )
    };
    let (_folder, history) = folder_with(&recording(&(0..30).map(question).collect::<String>()));
    let policy = ["--policy", "policies/debounce-30.yaml", "--judge", "speak"];
    let (page, json) = page_and_json(&history, &policy);
    let policy = &json["report"]["policies"][0];
    let (spoke, wrong) = (policy["spoke"].as_u64().unwrap(), policy["wrong"].as_u64().unwrap());
    assert!(spoke >= 30 && wrong >= 10, "{spoke} {wrong}");
    // Being early is no gain if the post interrupts.
    let first = &policy["first_answers"];
    let [all, undisturbed] =
        ["it_first", "it_first_undisturbed"].map(|key| first[key].as_u64().unwrap());
    assert!(undisturbed < all && undisturbed <= spoke - wrong, "{first}");
    for rows in [&policy["by_hour"], &policy["by_channel"]] {
        assert_eq!((sum(rows, "spoke"), sum(rows, "wrong")), (spoke, wrong), "{rows:#}");
        for row in rows.as_array().unwrap() {
            let [spoke, wrong] = ["spoke", "wrong"].map(|key| row[key].as_u64().unwrap() as f64);
            match row["wrong_per_100"].as_f64() {
                None => assert!(spoke < 10.0, "{row}"),
                Some(rate) => {
                    assert!(spoke >= 10.0 && (rate - wrong / spoke * 100.0).abs() < 1e-9, "{row}");
                }
            }
        }
    }
    let text = seen(&page);
    assert!(text.contains("The channel with the most interruptions is #help: "), "{text}");
    assert!(text.contains("The hour with the most interruptions begins at "), "{text}");
    assert!(text.contains("All times on this page are in the time zone UTC."), "{text}");
}

#[test]
fn what_a_period_costs_and_says_of_nothing_is_told() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &[]);
    let report = &json["report"];
    let (policy, days) = (&report["policies"][0], report["period"]["days"].as_f64().unwrap());
    for cost in policy["costs"].as_array().unwrap() {
        let [total, month] = ["total", "per_month"].map(|key| cost[key].as_f64().unwrap());
        assert!((total / days * 30.4 - month).abs() < 1e-9, "{cost}");
    }
    let text = seen(&page);
    assert!(text.contains("Over 9 days, all checks and replies would cost about "), "{text}");
    assert!(text.contains("They stand in for a model here; no model was asked."), "{text}");
    assert_eq!(policy["only_asked_again"], policy["spoke"]);
    assert_eq!(policy["posted_without_model"]["spoke"], 0);
    assert!(
        text.contains("Without a model, Aizuchi would post nothing unasked in your "),
        "{text}"
    );
    assert!(text.contains("At 7 of 7 moments the rules had only"), "{text}");
    // For another judge this is unknown.
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    assert_eq!(json["report"]["policies"][0]["only_asked_again"], Value::Null);
    assert!(!seen(&page).contains("the rules had only"));
}

/// A judge with answers to the questions of one policy only.
#[test]
fn a_policy_that_nobody_judged_is_not_a_quiet_one() {
    let (_folder, history) = pottery();
    let events = history.with_file_name("events.jsonl");
    let silent = ["--policy", BOTH[1], "--judge", "silent", "--events", events.to_str().unwrap()];
    page_and_json(&history, &silent);
    let lines = fs::read_to_string(&events).unwrap();
    let asked = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let asked = asked.filter(|event| event["kind"] == "judge_called");
    let answers = asked.map(|event| {
        let answer = json!({
            "room": event["room"], "message": event["message"], "should_respond": true, "confidence": 0.9,
        });
        format!("{answer}\n")
    });
    let file = history.with_file_name("answers.jsonl");
    fs::write(&file, answers.take(2).collect::<String>()).unwrap();
    let judge = [&BOTH[..], &["--judge", file.to_str().unwrap()]].concat();
    let (page, json) = page_and_json(&history, &judge);
    let unknown =
        |policy: usize| json["report"]["policies"][policy]["unknown_verdicts"].as_u64().unwrap();
    assert!(unknown(0) + unknown(1) > 0, "{:#}", json["report"]["policies"]);
    assert_eq!(
        json["report"]["comparison"],
        json!({ "measures": [], "offered": [0, 2], "advice": null })
    );
    let text = seen(&page);
    assert!(!text.contains("Which one to take") && !text.contains("clearly"), "{text}");
    for (policy, name) in ["adaptive", "quiet-300"].into_iter().enumerate() {
        let sentence =
            format!("{name} is not compared: what its judge would have said is not known");
        assert_eq!(text.contains(&sentence), unknown(policy) > 0, "{text}");
    }
}

#[test]
fn policies_in_files_of_one_name_are_called_by_their_paths() {
    let (folder, history) = pottery();
    let policy = |name: &str, config: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, config).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let files = [
        policy("mild/team.yaml", "response: {min_confidence: 0.6}"),
        policy("strict/team.yaml", "response: {min_confidence: 0.9}"),
        policy("other.yaml", ""),
    ];
    let arguments: Vec<&str> = files.iter().flat_map(|file| ["--policy", file.as_str()]).collect();
    let (_, json) = page_and_json(&history, &arguments);
    let names = json["report"]["policies"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|policy| policy["name"].as_str().unwrap()).collect();
    assert_eq!(names, [&*files[0], &*files[1], "other"]);
}

/// The figures are labeled with their policy, and the places of each policy come below.
#[test]
fn the_policy_of_the_figures_is_named_before_them() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &BOTH);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {}", seen(&page)));
    let named = at("the figures are for adaptive, which has the default settings");
    assert!(named < at("class=\"ways\""), "{}", seen(&page));
    assert!(at("id=\"often\"") < at("id=\"policies\""));
    let text = seen(&page);
    let policies = json["report"]["policies"].as_array().unwrap();
    for (place, channel) in policies[0]["by_channel"].as_array().unwrap().iter().enumerate() {
        let cells = policies.iter().map(|policy| {
            let one = &policy["by_channel"][place];
            assert_eq!(one["name"], channel["name"]);
            let posts = &one["posted_without_model"];
            format!(
                "{} ({}) of {} ({})",
                posts["spoke"], posts["wrong"], one["spoke"], one["wrong"]
            )
        });
        let cells: Vec<String> = cells.collect();
        if channel["spoke"] != 0 {
            let row = format!("#{} {}", channel["name"].as_str().unwrap(), cells.join(" "));
            assert!(text.contains(&row), "{row}: {text}");
        }
    }
}

/// The page contains the config of each policy, and the command to ask a model, with its price.
#[test]
fn a_policy_can_be_copied_from_the_page() {
    let (_folder, history) = pottery();
    let (page, _) = page_and_json(&history, &BOTH);
    assert!(page.contains("<code class=\"block\">response:\n  mode: companion\n</code>"), "{page}");
    let text = seen(&page);
    assert!(text.contains("To use adaptive without a model, put this into your config"), "{text}");
    // With a judge that gives the same answer to everything, the section is not about posts without a model.
    let (spoken, _) = page_and_json(&history, &[&BOTH[..], &["--judge", "speak"]].concat());
    let told = "adaptive is the default settings, so your config needs no lines for it";
    assert!(seen(&spoken).contains(told), "{}", seen(&spoken));
    let command = "aizuchi replay FOLDER/history.jsonl --policy policies/adaptive.yaml --policy policies/quiet-300.yaml \
                   --judge model --max-cost ";
    assert!(text.contains(command), "{text}");
    // The first policy is not the one with a twin.
    assert!(text.contains("for adaptive only"), "{text}");
    let (limited, _) = page_and_json(&history, &BOTH[2..]);
    let limited = seen(&limited);
    assert!(limited.contains("for all 2 policies"), "{limited}");
    assert!(!limited.contains("for quiet-300 only"), "{limited}");
    // If a model was asked, or there is only one policy, there is less to report.
    let (page, _) = page_and_json(&history, &[]);
    assert!(!seen(&page).contains("To use "), "{}", seen(&page));
}
