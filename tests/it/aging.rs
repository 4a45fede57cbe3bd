//! Ages the data in the database of a stopped program, so that a test need not wait.

use jiff::Timestamp;

use crate::program::Home;

impl Home {
    /// Ages messages and decisions by this many hours.
    pub async fn age(&self, hours: i64) {
        let older = hours * 3_600_000;
        for statement in [
            format!("UPDATE messages SET at_ms = at_ms - {older}"),
            format!(
                "UPDATE decisions SET opened_ms = opened_ms - {older}, closed_ms = closed_ms - {older}"
            ),
        ] {
            self.change_rows(statement).await;
        }
    }

    /// Ages the only proposal whose question to a keeper may have been sent, so that the question can no longer arrive.
    pub async fn age_question(&self) {
        let since = "$.asked[0].sending.since";
        let statement = format!(
            "UPDATE bookmarks SET value = json_replace(value, '{since}', '1970-01-01T00:00:00Z') \
             WHERE place = 'proposals' AND json_extract(value, '{since}') IS NOT NULL"
        );
        assert_eq!(self.change_rows(statement).await, 1, "it is not known whether it arrived");
    }

    /// Makes everything due that the program has planned, as if the time had come.
    pub async fn end_waits(&self) {
        let now = Timestamp::now().as_millisecond();
        let statement = format!(
            "UPDATE steps SET due_ms = min(due_ms, {now}), ready_ms = min(ready_ms, {now})"
        );
        assert_ne!(self.change_rows(statement).await, 0, "nothing is planned");
    }
}
