//! Commands depend on the role of their author, which comes from the list of users.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::user::NewUser;
use jiff::Timestamp;
use serde_json::json;

use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn an_admins_command_does_not_wait_for_the_list_of_users() {
    let harness = SlackHarness::new().await;
    let olga = NewUser { name: "Olga".to_owned(), is_admin: true, ..NewUser::default() };
    let olga = harness.slack.add_user_with(olga);
    harness.slack.join_channel(&harness.tea, &olga).unwrap();
    harness.slack.inject_fault("users.list", Fault::HangBefore(Hang::UntilReleased));
    let program = harness.start().await;
    harness.post_mention(&harness.tea, &olga, "mode mention_only");
    // A user without permission is told so privately.
    let told = harness.wait_for_posts(1).await.remove(0).text;
    let given = format!("SELECT count(*) FROM given_orders WHERE given_by LIKE '{olga} %'");
    assert_eq!(harness.count(&given).await, 1, "{told}");
    harness.slack.release_hanging();
    assert_eq!(program.stop(), Some(0));
}

/// Some apps post in the name of the user who uses them.
#[tokio::test]
async fn a_user_for_whom_an_app_has_posted_is_answered() {
    let harness = SlackHarness::new().await;
    harness.slack.inject_fault("users.list", Fault::HangBefore(Hang::UntilReleased));
    let program = harness.start().await;
    harness.slack.emit_event(json!({
        "type": "message",
        "channel": harness.tea,
        "channel_type": "channel",
        "user": harness.mio,
        "bot_id": "B0PICTURES",
        "bot_profile": { "id": "B0PICTURES", "name": "pictures" },
        "text": "a cat on a roof",
        "ts": Ts::from_timestamp(Timestamp::now()).to_string(),
    }));
    harness.until_kept("SELECT count(*) FROM messages WHERE author_kind = 'bot'", 1).await;
    harness.will_say(&["It is a roof."]);
    harness.post_mention(&harness.tea, &harness.mio, "where is the cat?");
    assert_eq!(harness.wait_for_posts(1).await[0].text, "It is a roof.");
    harness.slack.release_hanging();
    assert_eq!(program.stop(), Some(0));
}
