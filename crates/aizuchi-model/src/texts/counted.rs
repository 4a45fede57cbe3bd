//! Counted things, as parts of a sentence: "once", "1 message", "3 messages". `shown` is the number as it is
//! printed.

use crate::persona::Language;
use crate::texts::{Placed, close_up};

/// One of the functions below.
pub type Counted = fn(Language, usize, &str) -> String;

pub fn times(language: Language, count: usize, shown: &str) -> String {
    match (language, count) {
        (Language::En, 1) => "once".to_owned(),
        (Language::En, 2) => "twice".to_owned(),
        (Language::En, _) => format!("{shown} times"),
        (Language::Ja, _) => format!("{shown} 回"),
    }
}

/// Each with its English singular and plural, and its Japanese text.
macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident: $one:literal, $many:literal / $ja:literal;)+) => {
        $($(#[$doc])*
        pub fn $name(language: Language, count: usize, shown: &str) -> String {
            match (language, count) {
                (Language::En, 1) => $one.to_owned(),
                (Language::En, _) => format!($many, shown),
                (Language::Ja, _) => close_up(&format!($ja, Placed(shown))),
            }
        })+
    };
}

counted! {
    channels: "1 channel", "{} channels" / "{} チャンネル";
    people: "1 person", "{} people" / "{} 人";
    messages: "1 message", "{} messages" / "{} 件の発言";
    /// Moments that stand for all of those that a sentence named before.
    of_them: "one of them", "{} of them" / "{} 件";
    posts: "1 post", "{} posts" / "{} 回";
    records: "1 record", "{} records" / "{} 件";
    /// Notices such as joins and topics, and messages without text.
    notices:
        "1 notice or message without text",
        "{} notices and messages without text"
        / "入退室などの通知や文のない発言 {} 件";
    deleted_messages: "1 deleted message", "{} deleted messages" / "削除された発言 {} 件";
    /// Messages from when their channels were private.
    private_messages:
        "1 message from when its channel was private",
        "{} messages from when their channels were private"
        / "チャンネルが非公開だったころの発言 {} 件";
    messages_outside_range:
        "1 message outside the time asked for",
        "{} messages outside the time asked for"
        / "指定した期間の外の発言 {} 件";
    expired_messages:
        "1 message older than messages are kept",
        "{} messages older than messages are kept"
        / "保存期間を過ぎた発言 {} 件";
    /// Commands, and messages by users who have opted out.
    withheld_messages:
        "1 withheld message (a command, or of someone who opted out)",
        "{} withheld messages (commands, or of people who opted out)"
        / "使わない発言（コマンドや、オプトアウトした人のもの）{} 件";
    judge_calls: "1 check whether to speak", "{} checks whether to speak" / "判断 {} 回";
    reactions: "1 reaction", "{} reactions" / "{} 回";
    /// Model calls.
    calls: "1 call", "{} calls" / "{} 回の呼び出し";
    answers: "1 answer", "{} answers" / "{} 件の回答";
    cases: "1 case", "{} cases" / "{} 件";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let texts: [(Counted, &str, &str); 7] = [
            (times, "once", "0 times"),
            (people, "1 person", "0 people"),
            (messages, "1 message", "0 messages"),
            (reactions, "1 reaction", "0 reactions"),
            (calls, "1 call", "0 calls"),
            (answers, "1 answer", "0 answers"),
            (cases, "1 case", "0 cases"),
        ];
        for (text, one, none) in texts {
            assert_eq!(text(Language::En, 1, "1"), one);
            assert_eq!(text(Language::En, 0, "0"), none);
        }
        assert_eq!(times(Language::En, 2, "2"), "twice");
        assert_eq!(messages(Language::En, 1200, "1,200"), "1,200 messages");
        assert_eq!(messages(Language::Ja, 1200, "1,200"), "1,200 件の発言");
    }
}
