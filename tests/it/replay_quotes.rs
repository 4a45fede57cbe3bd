//! Quotes that the built-in rules would post unasked in a replay: they pass the same steps as in the running program,
//! and are not repeated within a day.

use serde_json::Value;

use crate::report::{folder_with, page_and_json, recording};

const CELLAR: &str = "0 08:00:00 help tom The attic window opens with the long hook.\n\
                      0 08:15:00 help mia Does anyone know how the attic window opens?\n\
                      0 09:30:00 help ken Does anyone know how the attic window opens?\n\
                      1 11:30:00 help ida Does anyone know how the attic window opens?\n\
                      0 08:00:00 tools tom The attic window opens with the long hook.\n\
                      0 08:15:00 tools mia Does anyone know how the attic window opens?\n\
                      0 08:15:40 tools mia it is hot up there\n\
                      0 08:21:40 tools mia still nobody?\n\
                      0 08:28:20 tools ken good morning\n";

#[test]
fn a_replay_quotes_nothing_twice_a_day() {
    let (_folder, history) = folder_with(&recording(CELLAR));
    let (_, json) = page_and_json(&history, &[]);
    let listed = json["report"]["policies"][0]["posts"]["listed"].as_array().unwrap();
    let names_in = |channel: &str| {
        let posts = listed.iter().filter(|post| post["channel"] == channel);
        let said = posts.map(|post| post["said"].as_str().unwrap());
        said.map(|text| text.split(',').next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names_in("help"), ["mia", "ida"], "{}", Value::from(listed.clone()));
    assert_eq!(names_in("tools"), ["mia"], "{}", Value::from(listed.clone()));
}
