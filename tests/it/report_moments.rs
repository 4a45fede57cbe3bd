//! Reports on moments: the findings of the built-in rules in place of a model, and which of them would really be
//! posted.

use serde_json::{Value, json};

use crate::report::{folder_with, page_and_json, recording, seen};

/// Some questions were answered before; the others are never answered.
const ATTIC: &str = "0 08:00:00 help tom The attic window opens with the long hook.\n\
                     0 12:00:00 help mia Does anyone know how the attic window opens?\n\
                     1 09:00:00 help tom Does anyone know who ordered forty buckets of plaster?\n\
                     2 09:00:00 help mia Has anybody seen the invoice of the roofer?\n\
                     3 09:00:00 help tom Good morning!\n";

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn moments_are_told_from_what_is_really_posted() {
    let (_folder, history) = folder_with(&recording(ATTIC));
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    let posted = &policy["posted_without_model"];
    let (spoke, really) = (count(&policy["spoke"]), count(&posted["spoke"]));
    assert!(0 < really && really < spoke, "{policy:#}");
    assert_eq!(really, spoke - count(&policy["only_asked_again"]));
    let first = &policy["first_answers"];
    for key in ["it_first", "it_first_undisturbed", "person_first", "nobody_else"] {
        assert!(count(&posted[key]) <= count(&first[key]), "{key}: {policy:#}");
    }
    let told = ["it_first", "person_first", "nobody_else"].map(|key| count(&posted[key]));
    assert_eq!(told.iter().sum::<u64>(), really);
    let unanswered = &policy["unanswered"];
    assert!(count(&posted["picked_up"]) < count(&unanswered["picked_up"]), "{policy:#}");
    assert!(count(&posted["wrong"]) <= count(&policy["wrong"]));
    let [checks, no_question] =
        [&policy["calls"]["judge_calls"], &policy["moments"]["no_question"]].map(count);
    let rest = checks - spoke - no_question;
    let open = policy["posts"]["listed"].as_array().unwrap().iter();
    let open = open.filter(|post| post["is_left_open"] == true).count() as u64;
    assert_eq!(open, count(&posted["picked_up"]), "{policy:#}");
    // A wider limit can only add to what would interrupt.
    let [wrong, wider] = ["wrong", "wrong_within_3_minutes"].map(|key| count(&posted[key]));
    assert!(wrong <= wider && wider <= really, "{posted:#}");
    let text = seen(&page);
    for part in [
        "not known; where the rules would speak: about ".to_owned(),
        format!(
            "there are {spoke} moments; at {} of them they had not, and {really} led",
            spoke - really
        ),
        "Switched on without a model, Aizuchi would post about ".to_owned(),
        "in your channel. Of ".to_owned(),
        "whether a post helps is not measured.".to_owned(),
        "As shipped, without a model, it posts nothing unasked.".to_owned(),
        "With a model, response.mode: propose ".to_owned(),
        "Without a model, with response.mode: companion ".to_owned(),
        format!("{really} post"),
        "Moments are not posts.".to_owned(),
        format!("How these checks ended: {spoke} in a moment to speak; {no_question} in silence"),
        format!("the other {rest} in silence for another reason"),
        "no other person followed up within an hour".to_owned(),
        "Of the posts without a model, counted from the message that each answers: ".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert!(!text.contains("would have spoken unasked"), "{text}");
    let (page, _) = page_and_json(&history, &["--language", "ja"]);
    let text = seen(&page);
    assert!(
        text.contains("モデルなしで自分から話す設定にすると、Aizuchi は 1 チャンネルで月に約"),
        "{text}"
    );
}

/// With another judge nothing substitutes for a model.
#[test]
fn a_judge_that_is_asked_speaks_and_has_no_moments() {
    let (_folder, history) = folder_with(&recording(ATTIC));
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    let policy = &json["report"]["policies"][0];
    assert_eq!(policy["posted_without_model"], json!(null));
    let text = seen(&page);
    assert!(text.contains("Aizuchi would have spoken at most "), "{text}");
    assert!(!text.contains("moments to speak") && !text.contains("without a model"), "{text}");
}

/// A post goes where the conversation is, and the page shows how often that is a thread.
#[test]
fn the_page_says_where_it_posts_and_that_texts_are_verbatim() {
    let said = |id: &str, thread: Option<&str>, hour: i64, author: &str, text: &str| {
        let message = json!({
            "room": "help", "id": id, "thread": thread, "ts": 1_772_409_600 + hour * 3600,
            "author": author, "name": author, "text": text,
        });
        format!("{message}\n")
    };
    let lines = [
        said("m1", None, 0, "ida", "Does anyone know where the long ladder is?"),
        said("m2", None, 5, "otto", "The kiln is on."),
        said("m3", Some("m2"), 6, "ida", "Does anyone know how hot it gets in there?"),
        said("m4", None, 40, "otto", "Good morning!"),
    ];
    let (_folder, history) = folder_with(&lines.concat());
    let (page, json) = page_and_json(&history, &["--judge", "speak"]);
    let policy = &json["report"]["policies"][0];
    let (spoke, threads) = (count(&policy["spoke"]), count(&policy["in_threads"]));
    assert!(0 < threads && threads < spoke, "{policy:#}");
    let text = seen(&page);
    assert!(text.contains("in the channel itself, once in a thread."), "{text}");
    assert!(text.contains("Names and texts are shown as they stand in your history"), "{text}");
    // Moments have no place, because they are not posted.
    let (page, json) = page_and_json(&history, &[]);
    let policy = &json["report"]["policies"][0];
    assert!(count(&policy["spoke"]) > 0, "{policy:#}");
    assert_eq!(policy["posted_without_model"]["spoke"], 0, "{policy:#}");
    let text = seen(&page);
    assert!(!text.contains("in the channel itself") && !text.contains("no messages in threads"));
    let (page, _) = page_and_json(&history, &["--judge", "speak", "--anonymous"]);
    let text = seen(&page);
    assert!(text.contains("Names of people who wrote were replaced; the texts"), "{text}");
}
