//! Replacing the tokens while the program runs (SIGHUP), and the time until then.

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::state::TokenStatus;
use serde_json::json;

use crate::slack::harness::SlackHarness;

const DEAD_LETTERS: &str = "SELECT count(*) FROM dead_letters";

/// Slack issues a new token only after the old one is revoked. Mentions in between are answered with the new token.
#[tokio::test]
async fn a_mention_waits_for_the_new_token_and_is_answered_once() {
    let harness = SlackHarness::new().await;
    harness.will_say(&["With the new token.", "Still here."]);
    let program = harness.start().await;
    harness.slack.set_token_status(TokenStatus::Revoked);
    harness.post_mention(&harness.tea, &harness.mio, "are you there?");
    let said = r#""key":"slack.bot_token","within""#;
    harness.until_log(said).await;
    let body = harness.home.until_ready_is(&program, 503).await;
    assert!(body.contains("slack.bot_token is refused"), "{body}");
    // Slack closes the sockets of such an app, and refuses new ones.
    harness.slack.reset_connections();
    let said = r#""key":"slack.app_token","within""#;
    harness.until_log(said).await;

    harness.slack.replace_tokens("xoxb-new", "xapp-new");
    harness.home.replace("xoxb-dev", "xoxb-new");
    harness.home.replace("xapp-dev", "xapp-new");
    let said = r#""changed":"slack.app_token, slack.bot_token"#;
    harness.reload_until(&program, said, 1).await;
    let posts = harness.wait_for_posts(1).await;
    assert_eq!(posts[0].text, "With the new token.");
    harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    harness.wait_for_posts(2).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 2).await;
    assert_eq!(harness.slack.posts().len(), 2);
    assert_eq!(harness.count(DEAD_LETTERS).await, 0);
    let log = harness.log();
    assert!(!log.contains("need a restart"), "{log}");
    assert!(!log.contains("xoxb-") && !log.contains("xapp-"), "a token is in the log");
    assert_eq!(program.stop(), Some(0));
}

/// One wrong token does not prevent the other one from being replaced.
#[tokio::test]
async fn each_token_is_taken_for_itself() {
    let harness = SlackHarness::new().await;
    harness.will_say(&["With the new bot's token."]);
    let program = harness.start().await;
    harness.slack.replace_tokens("xoxb-new", "xapp-new");
    harness.home.replace("xoxb-dev", "xoxb-new");
    harness.home.replace("xapp-dev", "xapp-typo");
    let said = r#""error":"the new slack.app_token is refused: invalid_auth"#;
    harness.reload_until(&program, said, 1).await;
    harness.post_mention(&harness.tea, &harness.mio, "who is there?");
    harness.wait_for_posts(1).await;
    harness.home.replace("xapp-typo", "xapp-new");
    harness.reload_until(&program, r#""changed":"slack.app_token, slack.bot_token"#, 1).await;
    assert_eq!(program.stop(), Some(0));
}

/// An app that was disabled and enabled again has the same token, and does not wait for the next retry.
#[tokio::test]
async fn a_token_that_is_taken_again_is_used_at_once() {
    let harness = SlackHarness::new().await;
    harness.will_say(&["Back again."]);
    let program = harness.start().await;
    harness.slack.set_token_status(TokenStatus::Inactive);
    harness.post_mention(&harness.tea, &harness.mio, "are you there?");
    let said = r#""key":"slack.bot_token","within""#;
    harness.until_log(said).await;
    harness.slack.set_token_status(TokenStatus::Valid);
    let said = r#"a credential is taken again","platform":"slack","key":"slack.bot_token""#;
    harness.reload_until(&program, said, 1).await;
    let posts = harness.wait_for_posts(1).await;
    assert_eq!(posts[0].text, "Back again.");
    assert_eq!(harness.count(DEAD_LETTERS).await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// A token that Slack does not know, or that is another bot's, changes nothing.
#[tokio::test]
async fn a_wrong_token_is_not_used() {
    let harness = SlackHarness::new().await;
    harness.will_say(&["As ever."]);
    let program = harness.start().await;
    harness.home.replace("xoxb-dev", "xoxb-unknown");
    let said = r#""error":"the new slack.bot_token is refused: invalid_auth"#;
    harness.reload_until(&program, said, 1).await;
    assert!(!harness.log().contains(r#""changed":""#), "{}", harness.log());

    harness.home.replace("xoxb-unknown", "xoxb-new");
    harness.slack.replace_tokens("xoxb-new", "xapp-dev");
    let other = Alteration { pointer: "/team_id".to_owned(), value: Some(json!("T0OTHER")) };
    harness.slack.inject_fault("auth.test", Fault::Altered(other));
    let said = "the new slack.bot_token belongs to another bot, which needs a restart";
    harness.reload_until(&program, said, 1).await;

    // The same token works on a second try.
    harness.reload_until(&program, r#""changed":"slack.bot_token"#, 1).await;
    harness.post_mention(&harness.tea, &harness.mio, "who is there?");
    harness.wait_for_posts(1).await;
    assert_eq!(program.stop(), Some(0));
}

/// The event that reports a revoked token may arrive after the next token is in use.
#[tokio::test]
async fn a_late_report_of_a_revoked_token_ends_nothing() {
    let harness = SlackHarness::new().await;
    harness.will_say(&["Here."]);
    let program = harness.start().await;
    let before = harness.slack.calls("auth.test").len();
    let revoked = json!({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [harness.bot]}});
    harness.slack.emit_event(revoked);
    harness.wait_until(|slack| slack.calls("auth.test").len() > before).await;
    harness.post_mention(&harness.tea, &harness.mio, "still here?");
    harness.wait_for_posts(1).await;
    assert!(!harness.log().contains("refused"), "{}", harness.log());
    assert_eq!(program.stop(), Some(0));
}
