//! Commands about plans: a request for one, with its time anywhere in the message, and what can be done with those that
//! are pending.

use aizuchi_model::plan::request::PlanRequest;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::command::PlanCommand;
use crate::parse::{
    addressed_order, candidate_forms, is_question, normalize, parse_number, without_called_name,
};

const LIST: [&str; 20] = [
    "reminders",
    "my reminders",
    "list reminders",
    "list my reminders",
    "show reminders",
    "show my reminders",
    "plans",
    "list plans",
    "show plans",
    "what have you planned",
    "what do you have planned",
    "what is planned",
    "what are my reminders",
    "リマインダー",
    "リマインダー一覧",
    "リマインダーの一覧",
    "リマインダーを見せて",
    "リマインドの一覧",
    "何を予定している",
    "予定の一覧",
];
const CANCEL: [&str; 9] = [
    "cancel reminder ", "delete reminder ", "remove reminder ", "drop reminder ", "stop reminder ",
    "cancel no. ", "cancel plan ", "drop plan ", "cancel #",
];
const CANCELLED: [&str; 8] = [
    "を取り消して",
    "を取り消し",
    "を取り消",
    "をキャンセルして",
    "をキャンセル",
    "を消して",
    "を削除して",
    "をやめて",
];
const MOVE: [&str; 5] = [
    "move reminder ", "reschedule reminder ", "postpone reminder ", "snooze reminder ",
    "move plan ",
];
const REMINDER: &str = "リマインダー";

impl PlanCommand {
    /// Parses a command about plans in a message to the persona of this name.
    pub fn parse(text: &str, name: &str) -> Option<Self> {
        let order = addressed_order(&normalize(text), name);
        let forms = candidate_forms(&order);
        if forms.iter().any(|form| LIST.contains(&form.as_str())) {
            return Some(PlanCommand::List);
        }
        // In every form first: what is to be cancelled would be moved, too, with a polite ending.
        let numbered = forms.iter().find_map(|form| cancelled(form));
        let numbered = numbered.or_else(|| forms.iter().find_map(|form| moved(form)));
        if let Some(numbered) = numbered {
            return (!is_question(&order)).then_some(numbered);
        }
        // Whether it is a request does not depend on the time at which it is made.
        let some_time = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        PlanRequest::parse(&without_called_name(text, name), &some_time).map(|_| PlanCommand::Make)
    }
}

/// Parses `cancel reminder 2`, 「リマインダー2を取り消して」.
fn cancelled(form: &str) -> Option<PlanCommand> {
    let japanese = || {
        let rest = form.strip_prefix(REMINDER)?;
        CANCELLED.iter().find_map(|word| rest.strip_suffix(word))
    };
    let number = CANCEL.iter().find_map(|word| form.strip_prefix(word)).or_else(japanese);
    parse_number(number?).map(PlanCommand::Cancel)
}

/// Parses `move reminder 2 to 5pm`, 「リマインダー2を明日の9時に」.
fn moved(form: &str) -> Option<PlanCommand> {
    let rest = MOVE.iter().find_map(|word| form.strip_prefix(word));
    let number = match rest {
        Some(rest) => rest.split_once(' ')?.0,
        None => form.strip_prefix(REMINDER)?.split_once('を')?.0,
    };
    parse_number(number).map(PlanCommand::Move)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_about_plans_are_parsed_in_both_languages() {
        for (text, expected) in [
            ("@Aizuchi reminders", Some(PlanCommand::List)),
            ("@Aizuchi what have you planned?", Some(PlanCommand::List)),
            ("@Aizuchi リマインダー一覧", Some(PlanCommand::List)),
            ("@Aizuchi cancel reminder 12", Some(PlanCommand::Cancel(12))),
            ("@Aizuchi リマインダー 3 を取り消してください", Some(PlanCommand::Cancel(3))),
            ("@Aizuchi move reminder 4 to 5pm", Some(PlanCommand::Move(4))),
            ("@Aizuchi リマインダー4を明日の9時にして", Some(PlanCommand::Move(4))),
            ("@Aizuchi remind me in 20 minutes to stretch", Some(PlanCommand::Make)),
            ("@Aizuchi 明日の朝9時に教えて", Some(PlanCommand::Make)),
            ("@Aizuchi remind me later", Some(PlanCommand::Make)),
            ("@Aizuchi what did we decide on Friday?", None),
            ("@Aizuchi the reminders were annoying", None),
        ] {
            assert_eq!(PlanCommand::parse(text, "Aizuchi"), expected, "{text}");
        }
    }
}
