//! A channel's keeper gets the weekly note in a direct message, once.

use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::slack::harness::{SlackHarness, SlackOptions};

#[tokio::test]
async fn a_keeper_is_told_of_the_week_once() {
    for (more, parts) in [
        (
            "timezone: UTC\n",
            ["The week in #tea", "What nobody answered: 1", "“who has the spare rake?”"],
        ),
        (
            "timezone: UTC\nlanguage: ja\n",
            ["#tea の 1 週間", "誰も答えなかった質問：1 件", "「who has the spare rake?」"],
        ),
    ] {
        let harness = SlackHarness::with(SlackOptions { more, ..SlackOptions::default() }).await;
        // A week ended at midnight.
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        let day = today.strftime("%A").to_string().to_lowercase();
        let keeper = &harness.ren;
        harness.home.add(&format!(
            "channels:\n  \"#tea\": {{keeper: \"@{keeper}\", weekly_note: \"{day} 00:00\"}}\n  \
             \"#attic\": {{weekly_note: \"{day} 00:00\"}}\n"
        ));
        let midnight = today.to_zoned(TimeZone::UTC).unwrap().timestamp();
        let asked_at = midnight - SignedDuration::from_hours(48);
        for (channel, text) in
            [(&harness.tea, "who has the spare rake?"), (&harness.attic, "who has the wine?")]
        {
            let ts = Some(Ts::from_timestamp(asked_at));
            let old = NewFakeMessage { ts, ..NewFakeMessage::new(channel, &harness.mio, text) };
            harness.slack.send_message_with(old).unwrap();
        }
        let program = harness.start().await;
        harness.post_message(&harness.tea, &harness.mio, "good morning");
        let told = harness.wait_for_posts(1).await.remove(0);
        let direct = harness.slack.open_direct_message(keeper).unwrap();
        assert_eq!(told.channel, direct);
        for part in parts {
            assert!(told.text.contains(part), "{part}: {}", told.text);
        }
        let link = format!("https://dev-team.slack.com/archives/{}/p", harness.tea);
        assert!(told.text.contains(&link) && !told.text.contains("wine"), "{}", told.text);
        harness.until_kept("SELECT count(*) FROM weekly_notes WHERE state = 'sent'", 1).await;
        assert_eq!(program.stop(), Some(0));
        // The note is not repeated after a restart, and is not stored as a message.
        let program = harness.start().await;
        harness.post_message(&harness.tea, &harness.mio, "good evening");
        harness.until_kept("SELECT count(*) FROM messages WHERE text = 'good evening'", 1).await;
        assert_eq!(program.stop(), Some(0));
        assert_eq!(harness.slack.posts().len(), 1);
        let kept = format!("SELECT count(*) FROM messages WHERE channel = '{direct}'");
        assert_eq!(harness.count(&kept).await, 0);
    }
}
