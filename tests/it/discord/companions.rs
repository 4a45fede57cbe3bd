//! Another bot on the server also speaks unasked. Only one of the bots responds to each message.

use aizuchi_fakes::discord::guild::NewUser;
use aizuchi_fakes::discord::message::NewFakeMessage;

use crate::discord::harness::{DiscordHarness, Setting};

/// The settings name the other bot.
#[tokio::test]
async fn what_another_companion_has_answered_is_left_to_it() {
    for (more, question, answer, why) in [
        ("", "when do I cut the roses?", "In spring.", "another companion had already spoken"),
        (
            "language: ja\n",
            "バラはいつ切ればいいですか？",
            "春です。",
            "ほかの会話ボットがすでに話していました",
        ),
    ] {
        let harness = DiscordHarness::with(Setting { more, ..Setting::default() }).await;
        let companion =
            harness.discord.add_user_with(NewUser { name: "Momo".to_owned(), is_bot: true });
        harness.discord.add_member(harness.guild, companion).unwrap();
        harness.add(&format!("channels: {{'#tea': {{companions: [{companion}]}}}}\n"));
        let program = harness.start().await;
        let asked = harness.says(harness.tea, harness.mio, question);
        harness.says_so(NewFakeMessage {
            reply_to: Some(asked),
            ..NewFakeMessage::new(harness.tea, companion, answer)
        });
        harness.until_line(answer).await;
        assert_eq!(program.stop(), Some(0));
        harness.end_waits().await;
        let program = harness.start().await;
        let left = format!(
            "SELECT count(*) FROM decisions WHERE gate = 'other_companion' AND why = '{why}'"
        );
        harness.until_kept(&left, 1).await;
        // A mention is answered nevertheless.
        harness.will_say(&["Or in autumn."]);
        harness.asks(harness.tea, harness.mio, "and you?");
        harness.posts(1).await;
        assert_eq!(harness.model.requests().len(), 1, "no judge is asked");
        assert_eq!(program.stop(), Some(0));
    }
}
