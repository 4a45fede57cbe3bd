//! Reports without names, about people who wrote under several names.

use serde_json::json;

use crate::report::{folder_with, page_and_json, seen};

/// The first line of the recording.
const BEGIN: i64 = 1_772_438_400;

#[test]
fn a_later_name_is_replaced_like_the_first_one() {
    let lines = [
        (0, "U-1", "ida", "Good morning!"),
        (3600, "U-2", "otto", "Does anyone know where Marigold put the key?"),
        (172_800, "U-1", "Marigold", "Good morning!"),
    ];
    let line = |(after, author, name, text): (i64, &str, &str, &str)| {
        let line = json!({
            "room": "help", "id": format!("m{after}"), "ts": BEGIN + after, "author": author, "name": name,
            "text": text,
        });
        format!("{line}\n")
    };
    let (_folder, history) = folder_with(&lines.map(line).concat());
    let (page, json) = page_and_json(&history, &["--judge", "speak", "--anonymous"]);
    for shown in [seen(&page), json["report"].to_string()] {
        assert!(shown.contains("Does anyone know where Person A put the key?"), "{shown}");
        assert!(!shown.to_lowercase().contains("marigold"), "{shown}");
    }
}

/// In an export, direct messages have the name of a person.
#[test]
fn a_channel_with_the_name_of_a_person_gets_a_neutral_one() {
    let lines = [
        (0, "help", "ida", "Good morning!"),
        (3600, "ludmila", "ludmila", "Does anyone know where the key is?"),
        (7200, "ludmila", "ida", "Behind the door."),
    ];
    let line = |(after, room, name, text): (i64, &str, &str, &str)| {
        let author = if name == "ida" { "U-1" } else { "U-2" };
        let line = json!({
            "room": room, "id": format!("m{after}"), "ts": BEGIN + after, "author": author, "name": name, "text": text,
        });
        format!("{line}\n")
    };
    let (_folder, history) = folder_with(&lines.map(line).concat());
    let (page, json) = page_and_json(&history, &["--judge", "speak", "--anonymous"]);
    let report = json["report"].to_string();
    assert!(report.contains("help"), "{report}");
    for shown in [seen(&page), report] {
        assert!(!shown.to_lowercase().contains("ludmila"), "{shown}");
    }
}
