//! A channel's keeper gets the weekly note in a direct message, once.

use aizuchi_fakes::discord::message::NewFakeMessage;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::discord::harness::{DiscordHarness, Setting};

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
        let harness = DiscordHarness::with(Setting { more, ..Setting::default() }).await;
        // A week ended at midnight.
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        let day = today.strftime("%A").to_string().to_lowercase();
        let keeper = harness.ren;
        harness.home.add(&format!(
            "channels:\n  \"#tea\": {{keeper: \"@{keeper}\", weekly_note: \"{day} 00:00\"}}\n"
        ));
        let midnight = today.to_zoned(TimeZone::UTC).unwrap().timestamp();
        let at = Some(midnight - SignedDuration::from_hours(48));
        let text = "who has the spare rake?";
        let question = harness
            .says_so(NewFakeMessage { at, ..NewFakeMessage::new(harness.tea, harness.mio, text) });
        let program = harness.start().await;
        harness.says(harness.tea, harness.mio, "good morning");
        let told = harness.posts(1).await.remove(0);
        let direct = harness.discord.open_direct_message(keeper).unwrap();
        assert_eq!(told.channel, direct);
        for part in parts {
            assert!(told.text.contains(part), "{part}: {}", told.text);
        }
        let (guild, tea) = (harness.guild, harness.tea);
        let link = format!("https://discord.com/channels/{guild}/{tea}/{question}");
        assert!(told.text.contains(&link), "{}", told.text);
        harness.until_kept("SELECT count(*) FROM weekly_notes WHERE state = 'sent'", 1).await;
        assert_eq!(program.stop(), Some(0));
        // The note is not repeated after a restart, and is not stored as a message.
        let program = harness.start().await;
        harness.says(harness.tea, harness.mio, "good evening");
        harness.until_line("good evening").await;
        assert_eq!(program.stop(), Some(0));
        assert_eq!(harness.discord.posts().len(), 1);
        assert_eq!(harness.lines(direct).await, [""; 0]);
    }
}
