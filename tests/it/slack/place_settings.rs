//! Settings that are ordered in Slack, in both languages.

use aizuchi_fakes::slack::user::NewUser;

use crate::slack::harness::{SlackHarness, SlackOptions};

#[tokio::test]
async fn settings_are_changed_in_slack() {
    let harness = SlackHarness::new().await;
    let admin = NewUser { name: "Sena".to_owned(), is_admin: true, ..NewUser::default() };
    let sena = harness.slack.add_user_with(admin);
    harness.slack.join_channel(&harness.tea, &sena).unwrap();
    let program = harness.start().await;
    harness.post_mention(&harness.tea, &harness.mio, "set confidence 0.9");
    let told = harness.wait_for_posts(1).await.remove(0).text;
    assert!(told.starts_with("Done, for this channel: the confidence that I need"), "{told}");
    harness.post_mention(&harness.tea, &sena, "set language ja here");
    let told = harness.wait_for_posts(2).await.remove(1).text;
    assert!(told.starts_with("言語を「日本語」に変更しました（このチャンネル）。"), "{told}");
    harness.post_mention(&harness.tea, &sena, "確信度を0.95にして");
    let told = harness.wait_for_posts(3).await.remove(2).text;
    assert!(told.contains("確信度を「0.95」に変更しました"), "{told}");
    harness.will_say(&["はい。"]);
    harness.post_mention(&harness.tea, &harness.mio, "are you there?");
    assert_eq!(harness.wait_for_posts(4).await.remove(3).text, "はい。");
    let prompt = harness.prompt();
    assert!(
        prompt.chars().any(|character| ('\u{3041}'..='\u{30ff}').contains(&character)),
        "{prompt}"
    );
    harness.post_mention(&harness.tea, &sena, "設定をリセットして");
    let told = harness.wait_for_posts(5).await.remove(4).text;
    assert!(told.starts_with("すべての設定を元に戻しました（このチャンネル）。"), "{told}");
    harness.until_kept("SELECT count(*) FROM given_orders WHERE kind = 'change_setting'", 4).await;
    assert_eq!(program.stop(), Some(0));
}

/// The id of a team does not begin with the name of its platform.
#[tokio::test]
async fn the_configured_settings_of_all_slack_workspaces_apply_to_the_team() {
    let more = "workspaces:\n  slack: {language: ja}\n";
    let harness = SlackHarness::with(SlackOptions { more, ..SlackOptions::default() }).await;
    let program = harness.start().await;
    harness.post_mention(&harness.tea, &harness.mio, "set confidence 0.9");
    let told = harness.wait_for_posts(1).await.remove(0).text;
    assert!(told.contains("に変更しました（このチャンネル）。"), "{told}");
    assert_eq!(program.stop(), Some(0));
}
