use std::ops::Range;

use super::*;

const MANY: usize = 20_000;

fn is_bots(number: usize) -> bool {
    number % 3 == 2
}

/// Builds the rows. The last message is added first. Every tenth message is in a thread under the latest multiple of
/// 1000, and every seventh answers the one before it.
fn rows() -> ChannelRows {
    let mut builder = RowsBuilder::default();
    for number in (0..MANY).rev() {
        let thread = (number % 10 == 9).then(|| (number / 1000 * 1000).to_string());
        let answered = (number % 7 == 6).then(|| (number - 1).to_string());
        let message = RecordedMessage {
            channel: "den".to_owned(),
            thread,
            id: number.to_string(),
            ts: number as f64,
            author: ["ann", "ben", "bot"][number % 3].to_owned(),
            name: None,
            text: "so it goes".to_owned(),
            reply_to: answered.into_iter().collect(),
            bot: is_bots(number),
            opener: false,
        };
        assert!(builder.add(&message, number as u64) && !builder.add(&message, 0));
    }
    builder.finish()
}

#[test]
fn the_rows_of_a_long_channel_are_found() {
    let rows = rows();
    assert_eq!(rows.len(), MANY);
    assert!(rows.all().zip(0..).all(|(row, number)| row.place() == number));
    let row = |number: usize| rows.find(IdHash::new(&number.to_string())).unwrap();
    assert_eq!((row(12_346).place(), &**rows.author(&row(12_346))), (12_346, "ben"));
    assert!(rows.find(IdHash::new("nobody's")).is_none());
    let second = |second: i64| Timestamp::from_second(second).unwrap();
    let between = rows.between(second(7_000), second(7_002)).iter();
    assert_eq!(between.map(|row| row.place()).collect::<Vec<_>>(), [7_000, 7_001, 7_002]);
    // Thread by thread.
    let of_people = |range: Range<usize>, is_in_thread: bool| {
        let there = range.filter(move |number| (number % 10 == 9) == is_in_thread);
        there.filter(|number| !is_bots(*number)).map(|number| number as u64)
    };
    let top_level = rows.human_messages_at(IdHash::from_thread(None));
    assert!(top_level.iter().map(|row| row.place()).eq(of_people(0..MANY, false)));
    let thread = rows.human_messages_at(IdHash::from_thread(Some("15000")));
    assert!(thread.iter().map(|row| row.place()).eq(of_people(15_000..16_000, true)));
    assert_eq!(thread.among_first(15_500), of_people(15_000..15_500, true).count());
    assert!(rows.human_messages_at(IdHash::from_thread(Some("15001"))).is_empty());
    assert_eq!(rows.threads().count(), 1 + MANY / 1000);
    // Replies.
    let replies = (0..MANY).filter(|number| number % 7 == 6);
    assert!(rows.replies().map(|(reply, _)| reply.place() as usize).eq(replies));
    let (reply, asked) = (row(7 * 2_000 + 6), row(7 * 2_000 + 5));
    assert!(rows.is_answer(&reply, &asked) && !rows.is_answer(&asked, &reply));
    assert_eq!(rows.answers_to(&asked).map(|row| row.id).collect::<Vec<_>>(), [reply.id]);
}
