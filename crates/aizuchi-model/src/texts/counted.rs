//! Counted things, as parts of a sentence: "once", "1 message", "3 messages". `shown` is the number as it is
//! printed.

use crate::persona::Language;

/// One of the functions below.
pub type Counted = fn(Language, usize, &str) -> String;

pub fn times(language: Language, count: usize, shown: &str) -> String {
    match count {
        2 => twice(language).to_owned(),
        _ => counted(language, count, shown, once, many_times),
    }
}

pub fn channels(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_channel, many_channels)
}

/// Channels in addition to those that are shown.
pub fn more_channels(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_more_channel, many_more_channels)
}

pub fn people(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_person, many_people)
}

pub fn messages(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_message, many_messages)
}

pub fn questions(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_question, many_questions)
}

pub fn moments(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_moment, many_moments)
}

pub fn posts(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_post, many_posts)
}

pub fn records(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_record, many_records)
}

/// Notices such as joins and topics, and messages without text.
pub fn notices(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_notice, many_notices)
}

pub fn deleted_messages(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_deleted_message, many_deleted_messages)
}

/// Messages from when their channels were private.
pub fn private_messages(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_private_message, many_private_messages)
}

pub fn messages_outside_range(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_message_outside_range, many_messages_outside_range)
}

pub fn expired_messages(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_expired_message, many_expired_messages)
}

/// Commands, and messages by users who have opted out.
pub fn withheld_messages(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_withheld_message, many_withheld_messages)
}

pub fn judge_calls(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_judge_call, many_judge_calls)
}

pub fn replies(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_reply, many_replies)
}

/// Model calls.
pub fn calls(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_call, many_calls)
}

pub fn answers(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_answer, many_answers)
}

pub fn cases(language: Language, count: usize, shown: &str) -> String {
    counted(language, count, shown, one_case, many_cases)
}

/// Returns the singular or the plural text.
fn counted(
    language: Language,
    count: usize,
    shown: &str,
    one: fn(Language) -> &'static str,
    many: fn(Language, &str) -> String,
) -> String {
    match count {
        1 => one(language).to_owned(),
        _ => many(language, shown),
    }
}

texts! {
    once: "once" / "1 回";
    twice: "twice" / "2 回";
    many_times(times: &str): "{times} times" / "{times} 回";
    one_channel: "1 channel" / "1 チャンネル";
    many_channels(channels: &str): "{channels} channels" / "{channels} チャンネル";
    one_more_channel: "1 more channel" / "ほか 1 チャンネル";
    many_more_channels(channels: &str): "{channels} more channels" / "ほか {channels} チャンネル";
    one_person: "1 person" / "1 人";
    many_people(people: &str): "{people} people" / "{people} 人";
    one_message: "1 message" / "1 件の発言";
    many_messages(messages: &str): "{messages} messages" / "{messages} 件の発言";
    one_question: "1 question" / "1 件";
    many_questions(questions: &str): "{questions} questions" / "{questions} 件";
    one_moment: "1 moment" / "1 回";
    many_moments(moments: &str): "{moments} moments" / "{moments} 回";
    one_post: "1 post" / "1 回";
    many_posts(posts: &str): "{posts} posts" / "{posts} 回";
    one_record: "1 record" / "1 件";
    many_records(records: &str): "{records} records" / "{records} 件";
    one_notice: "1 notice or message without text" / "入退室などの通知や文のない発言 1 件";
    many_notices(notices: &str):
        "{notices} notices and messages without text" / "入退室などの通知や文のない発言 {notices} 件";
    one_deleted_message: "1 deleted message" / "削除された発言 1 件";
    many_deleted_messages(messages: &str):
        "{messages} deleted messages" / "削除された発言 {messages} 件";
    one_private_message:
        "1 message from when its channel was private"
        / "チャンネルが非公開だったころの発言 1 件";
    many_private_messages(messages: &str):
        "{messages} messages from when their channels were private"
        / "チャンネルが非公開だったころの発言 {messages} 件";
    one_message_outside_range:
        "1 message outside the time asked for" / "指定した期間の外の発言 1 件";
    many_messages_outside_range(messages: &str):
        "{messages} messages outside the time asked for" / "指定した期間の外の発言 {messages} 件";
    one_expired_message:
        "1 message older than messages are kept" / "保存期間を過ぎた発言 1 件";
    many_expired_messages(messages: &str):
        "{messages} messages older than messages are kept" / "保存期間を過ぎた発言 {messages} 件";
    one_withheld_message:
        "1 withheld message (a command, or of someone who opted out)"
        / "使わない発言（コマンドや、オプトアウトした人のもの）1 件";
    many_withheld_messages(messages: &str):
        "{messages} withheld messages (commands, or of people who opted out)"
        / "使わない発言（コマンドや、オプトアウトした人のもの）{messages} 件";
    one_judge_call: "1 check whether to speak" / "判断 1 回";
    many_judge_calls(calls: &str): "{calls} checks whether to speak" / "判断 {calls} 回";
    one_call: "1 call" / "1 回の呼び出し";
    many_calls(calls: &str): "{calls} calls" / "{calls} 回の呼び出し";
    one_answer: "1 answer" / "1 件の回答";
    many_answers(answers: &str): "{answers} answers" / "{answers} 件の回答";
    one_case: "1 case" / "1 件";
    many_cases(cases: &str): "{cases} cases" / "{cases} 件";
    one_reply: "1 reply" / "返答 1 回";
    many_replies(replies: &str): "{replies} replies" / "返答 {replies} 回";
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
            (replies, "1 reply", "0 replies"),
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
