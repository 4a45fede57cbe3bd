//! The context of posts in a report: calls and reactions, interrupting posts with their surroundings, and whose names
//! are replaced in omitted text.

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, recording, seen};

/// The persona is called by two of its names, and there is good news. One question is followed by an unrelated
/// conversation.
const PLASTER: &str = "0 08:00:00 help vera The attic window opens with the long hook.\n\
                       1 09:00:00 help mia Does anyone know who ordered forty buckets of plaster?\n\
                       1 09:00:20 help otto @ruth did the clay arrive this morning?\n\
                       1 09:00:35 help ruth @otto Yes, two boxes from the station.\n\
                       1 09:00:50 help otto @ruth Great. Noor wants one of them for tiles.\n\
                       1 09:01:05 help ruth @otto Then put one aside for her, please.\n\
                       1 09:01:20 help otto @ruth I did, it stands below the stairs.\n\
                       1 09:01:35 help ruth @otto Thank you, Otto!\n\
                       1 09:01:50 help otto @ruth You are welcome.\n\
                       1 15:00:00 help noor @Aizuchi how does the attic window open?\n\
                       2 09:00:00 tools mia Good morning!\n\
                       2 10:00:00 tools ruth @相槌 hello\n\
                       3 09:00:00 tools mia Good morning!\n";

/// A user answers right after the post, and two more messages follow.
const HOOK: &str = "0 08:00:00 help vera The attic window opens with the long hook.\n\
                    0 08:30:00 help vera The spare key for the kiln hangs behind the blue door.\n\
                    1 12:00:00 help mia Does anyone know how the attic window opens?\n\
                    1 12:01:55 help otto With the long hook.\n\
                    1 12:02:30 help mia Thank you, otto!\n\
                    1 12:03:10 help otto You are welcome.\n\
                    2 12:00:00 help noor Does anyone know where the spare key for the kiln hangs?\n\
                    4 09:00:00 tools mia Good morning!\n";

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap()
}

/// Returns the text between a heading and the end of its section.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap();
    rest.split_once("</section>").unwrap().0
}

#[test]
fn calls_and_reactions_stand_beside_the_posts() {
    let (_folder, history) = folder_with(&recording(PLASTER));
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    assert_eq!(policy["called"]["by_name"], json!({"Aizuchi": 1, "相槌": 1}), "{policy:#}");
    assert_eq!(policy["answered_mentions"], 2);
    let calls = list(policy, "answers_to_calls");
    let notes: Vec<&Value> = calls.iter().map(|story| &story["note"]).collect();
    let called = |name: &str| json!({"what": "called", "name": name});
    assert_eq!(notes, [&called("Aizuchi"), &called("相槌")]);
    assert_eq!(calls[0]["before"].as_array().unwrap().last().unwrap()["is_about"], true);
    assert!(calls[0]["act"]["would_say"].as_str().unwrap().contains("long hook"), "{calls:#?}");
    let reactions = list(policy, "reactions");
    assert!(!reactions.is_empty() && reactions.len() <= 3, "{policy:#}");
    assert_eq!(reactions[0]["note"], json!({"what": "reacted"}));
    // They are not examples of posts.
    let kinds = list(policy, "stories").iter().map(|story| story["kind"].as_str().unwrap());
    assert!(kinds.clone().all(|kind| kind != "called" && kind != "reacted"), "{policy:#}");
    let (text, posts) = (seen(&page), section(&page, "posts"));
    for part in [
        "It would have taken a message for a call to it twice, and answered.",
        "“@Aizuchi” once, “@相槌” once",
        "<code>mention_only</code> does not prevent it",
        "The message holds “@Aizuchi”.",
        "It also reacts with an emoji",
        "Examples: 2 of 2.",
    ] {
        assert!(posts.contains(part), "{part}: {text}");
    }
    let (page, _) = page_and_json(&history, &["--language", "ja"]);
    let posts = section(&page, "posts");
    assert!(
        posts.contains("名前で呼ばれたもの：2 回（「@Aizuchi」1 回、「@相槌」1 回）"),
        "{posts}"
    );
}

/// Examples of posts come before those of mere moments.
#[test]
fn interrupting_posts_are_shown_with_what_followed() {
    let (_folder, history) = folder_with(&recording(HOOK));
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    let wrong = list(policy, "stories").iter().filter(|story| story["kind"] == "wrong");
    let wrong: Vec<&Value> = wrong.collect();
    assert_eq!(wrong.len(), 1, "{policy:#}");
    assert_eq!(wrong[0]["posted_without_model"], true);
    assert_eq!(wrong[0]["after"][0]["text"], "With the long hook.");
    assert!(
        section(&page, "moments")
            .contains("Posted without a model, and would probably have interrupted"),
        "{page}"
    );
    let listed = list(&policy["posts"], "listed");
    let after = |post: &Value| -> Vec<String> {
        let texts = list(post, "after").iter().map(|message| &message["text"]);
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let post = listed.iter().find(|post| post["is_wrong"] == true).unwrap();
    assert_eq!(after(post), ["With the long hook.", "Thank you, otto!"]);
    assert!(listed.iter().any(|post| after(post).is_empty()), "{listed:#?}");
    let same = listed.iter().filter(|post| post["is_same_quote"] == true).count();
    assert_eq!(policy["posts"]["same_quotes"], same);
    let text = seen(&page);
    for part in [
        "timing looks harmless",
        "and read the posts below: if fewer than half of them would help your team, leave it so.",
        "another person wrote within the hour, too, before the post or after it.",
        "The tags say nothing about whether a post helps, only about its timing",
        "Other texts of more than 320 characters are cut in this list.",
        "After that: otto 12:01 With the long hook.",
        "After that: nobody wrote in the hour after the post",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, all) = section(&page, "posts").split_once("interruptions first").unwrap();
    let at = |class: &str| all.find(&format!("class=\"badge {class}\"")).unwrap();
    assert!(at("interrupts") < at("calm"), "{all}");
    let has_same = text.contains("The same quote again, in the same channel within 24 hours: ");
    assert_eq!(has_same, same > 0, "{text}");
    assert!(!text.contains("no sign of interrupting"), "{text}");
}

#[test]
fn names_are_replaced_in_what_is_left_out_between_two_messages() {
    let (_folder, history) = folder_with(&recording(PLASTER));
    let (page, json) = page_and_json(&history, &[]);
    let left_out = |json: &Value| -> Vec<Value> {
        let stories = list(&json["report"]["policies"][0], "stories").iter();
        let lines = stories.flat_map(|story| list(story, "before"));
        lines.flat_map(|line| list(line, "left_out")).cloned().collect()
    };
    let named = left_out(&json);
    assert!(
        named.iter().any(|line| line["text"] == "@ruth Great. Noor wants one of them for tiles.")
    );
    assert!(page.contains("Noor wants one of them"));
    let (page, json) = page_and_json(&history, &["--anonymous=all"]);
    let neutral = left_out(&json);
    assert_eq!(neutral.len(), named.len());
    for line in &neutral {
        assert!(line["author"]["name"].as_str().unwrap().starts_with("Person "), "{line}");
    }
    let report = json["report"].to_string();
    for shown in [&page, &report] {
        let lower = shown.to_lowercase();
        let words: Vec<&str> = lower.split(|one: char| !one.is_alphanumeric()).collect();
        for name in ["vera", "mia", "otto", "ruth", "noor"] {
            assert!(!words.contains(&name), "{name}: {shown}");
        }
        for room in ["\"help\"", "\"tools\"", "#help", "#tools", ">help<", ">tools<"] {
            assert!(!lower.contains(room), "{room}: {shown}");
        }
    }
}

/// If the history records which message answers which, mistakes of the rules are known.
#[test]
fn a_reason_that_the_history_contradicts_is_marked() {
    let said = |id: &str, second: i64, author: &str, text: &str, reply_to: &[&str]| {
        let message = json!({
            "room": "help", "id": id, "ts": 1_772_409_600 + second, "author": author, "name": author,
            "text": text, "reply_to": reply_to, "opener": reply_to.is_empty(),
        });
        format!("{message}\n")
    };
    let lines = [
        said("m1", 32_400, "noor", "Does anyone know where the long ladder is?", &[]),
        said("m2", 32_440, "otto", "@ruth behind the shed, I think", &["m1"]),
        said("m3", 205_200, "ruth", "Good morning!", &[]),
    ];
    let (_folder, history) = folder_with(&lines.concat());
    let (page, json) = page_and_json(&history, &[]);
    let stories = list(&json["report"]["policies"][0], "stories");
    let marked = json!({"what": "already_answered", "person": {"name": "otto"}});
    assert!(stories.iter().any(|story| story["mistake"] == marked), "{stories:#?}");
    let text = seen(&page);
    assert!(text.contains("as the history says, otto had answered already"), "{text}");
    let (_, json) = page_and_json(&history, &["--anonymous"]);
    assert!(!json["report"].to_string().contains("otto"), "{json:#}");
}
