//! Quotes that the built-in rules would post unasked in a replay: they pass the same steps as in the running program,
//! and are not repeated within a day.

use crate::report::{folder_with, page_and_json, recording};

const HELP: &str = "0 08:00:00 help tom The attic window opens with the long hook.\n\
                    0 08:15:00 help mia Does anyone know how the attic window opens?\n\
                    0 09:30:00 help ken Does anyone know how the attic window opens?\n\
                    1 11:30:00 help ida Does anyone know how the attic window opens?\n";
const TOOLS: &str = "0 08:00:00 tools tom The attic window opens with the long hook.\n\
                     0 08:15:00 tools mia Does anyone know how the attic window opens?\n\
                     0 08:15:40 tools mia it is hot up there\n\
                     0 08:21:40 tools mia still nobody?\n\
                     0 08:28:20 tools ken good morning\n";

#[test]
fn a_replay_quotes_nothing_twice_a_day() {
    for (talk, expected) in [(HELP, 2), (TOOLS, 1)] {
        let (_folder, history) = folder_with(&recording(talk));
        let (_, json) = page_and_json(&history, &[]);
        let policy = &json["report"]["policies"][0];
        assert_eq!(policy["without_model"]["count"], expected, "{policy:#}");
    }
}
