//! Another bot in the workspace also speaks unasked. Only one of the bots responds to each message.

use aizuchi_fakes::slack::user::NewUser;

use crate::slack::harness::{SlackHarness, SlackOptions};

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
        let options = SlackOptions { more, ..SlackOptions::default() };
        let harness = SlackHarness::with(options).await;
        let companion = harness.slack.add_user_with(NewUser {
            name: "Momo".to_owned(),
            is_bot: true,
            ..NewUser::default()
        });
        harness.slack.join_channel(&harness.tea, &companion).unwrap();
        harness.home.add(&format!("channels: {{'#tea': {{companions: [{companion}]}}}}\n"));
        let program = harness.start().await;
        let asked = harness.post_message(&harness.tea, &harness.mio, question);
        harness.post_in_thread(&harness.tea, asked, &companion, answer);
        harness.until_kept("SELECT count(*) FROM messages", 2).await;
        assert_eq!(program.stop(), Some(0));
        harness.end_waits().await;
        let program = harness.start().await;
        let left = format!(
            "SELECT count(*) FROM decisions WHERE gate = 'other_companion' AND why = '{why}'"
        );
        harness.until_kept(&left, 1).await;
        // A mention is answered nevertheless.
        harness.will_say(&["Or in autumn."]);
        harness.post_mention(&harness.tea, &harness.mio, "and you?");
        assert_eq!(harness.wait_for_posts(1).await[0].text, "Or in autumn.");
        assert_eq!(harness.model.requests().len(), 1, "no judge is asked");
        assert_eq!(program.stop(), Some(0));
    }
}
