use super::*;
use aizuchi_import::history::RecordedMessage;

fn message(id: &str, ts: f64, author: &str, text: &str, reply_to: &[&str]) -> RecordedMessage {
    RecordedMessage {
        channel: "r".to_owned(),
        thread: None,
        id: id.to_owned(),
        ts,
        author: author.to_owned(),
        name: None,
        text: text.to_owned(),
        reply_to: reply_to.iter().map(|id| (*id).to_owned()).collect(),
        bot: author == "bot",
        opener: reply_to.is_empty(),
    }
}

#[test]
fn questions_without_another_users_answer_are_open() {
    let messages = vec![
        message("1", 0.0, "ann", "open?", &[]),
        message("2", 1.0, "bob", "answered?", &[]),
        message("3", 2.0, "ann", "yes", &["2"]),
        message("4", 3.0, "cid", "answered by a bot?", &[]),
        message("5", 4.0, "bot", "42", &["4"]),
        message("6", 5.0, "dan", "continued by himself？", &[]),
        message("7", 6.0, "dan", "I mean it", &["6"]),
        message("8", 7.0, "eve", "a statement", &[]),
        message("9", 700.0, "fay", "too late to tell?", &[]),
        message("10", 800.0, "gus", "the end", &[]),
    ];
    let channel = RecordedChannel {
        is_annotated: true,
        ..RecordedChannel::from_messages("r".to_owned(), messages)
    };
    assert_eq!(open_questions(&channel), HashSet::from(["1", "4", "6"].map(IdHash::new)));
}

#[test]
fn calls_and_posts_count_where_they_are() {
    let in_thread = RecordedMessage {
        thread: Some("1".to_owned()),
        ..message("2", 1.0, "bob", "there too?", &[])
    };
    let messages = vec![
        message("1", 0.0, "ann", "open?", &[]),
        in_thread,
        message("3", 2000.0, "cid", "the end", &[]),
    ];
    let channel = RecordedChannel {
        is_annotated: true,
        ..RecordedChannel::from_messages("r".to_owned(), messages)
    };
    let at = |second| Timestamp::from_second(second).unwrap();
    let policy = Policy::default_settings();
    let mut record = Record::default();
    let call = |second, thread: Option<&str>| JudgeCall {
        at: at(second),
        thread: IdHash::from_thread(thread),
        heard_rows: 2,
        is_superseded: false,
        is_second_look: false,
        prompt_bytes: 0,
        prefix_bytes: 0,
    };
    // The calls are too early, in time, too late, and where nobody wrote.
    let calls =
        [call(0, Some("1")), call(300, Some("1")), call(700, Some("1")), call(701, Some("9"))];
    record.calls = calls.into_iter().collect();
    let posts = [(50, None), (51, Some("9"))];
    let posts = posts.map(|(second, thread)| PostRecord {
        at: at(second),
        thread: IdHash::from_thread(thread),
        heard_rows: 2,
        about: None,
    });
    record.posts = posts.into_iter().collect();
    let mut score = ReplayScore::new(&policy);
    score.add(&channel, &record);
    assert_eq!((score.judge_calls, score.spoken_posts, score.open_questions), (4, 2, 2));
    // The call reaches the question in its thread, the post the one at the top level.
    assert_eq!((score.reached_questions, score.answered_questions), (1, 1));
}

#[test]
fn a_question_is_reached_in_time_and_among_the_newest_messages() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let reaches = |second, heard| reaches(at(second), heard, 4, at(100));
    assert!(reaches(100, 5));
    assert!(!reaches(100, 4), "not heard yet");
    assert!(reaches(700, 24));
    assert!(!reaches(701, 24), "too late");
    assert!(!reaches(700, 25), "scrolled away");
}

#[test]
fn waits_are_counted_from_the_answered_message() {
    let messages = [("1", 0.0, "ann"), ("2", 1.0, "bob"), ("3", 100.0, "ann"), ("4", 105.0, "bob")];
    let messages = messages.map(|(id, ts, author)| message(id, ts, author, "so it goes", &[]));
    let channel = RecordedChannel::from_messages("r".to_owned(), messages.into());
    let post = |second, about: Option<&str>| PostRecord {
        at: Timestamp::from_second(second).unwrap(),
        thread: IdHash::from_thread(None),
        heard_rows: 4,
        about: about.map(IdHash::new),
    };
    let posts = [post(50, Some("2")), post(103, Some("3")), post(103, Some("7")), post(104, None)];
    let mut record = Record::default();
    record.posts = posts.into();
    let mut score = ReplayScore::default();
    assert_eq!(score.waits(), None);
    score.add(&channel, &record);
    assert_eq!(score.waits(), Some(Waits { median: 3, p90: 49, worst: 49 }));
}
