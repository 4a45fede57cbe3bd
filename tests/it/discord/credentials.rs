//! Replacing the token while the program runs (SIGHUP), and the time until then.

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::state::TokenStatus;
use serde_json::json;

use crate::discord::harness::{DiscordHarness, IDENTIFY};

/// A reset revokes the old token immediately. Mentions in between are answered with the new token.
#[tokio::test]
async fn a_mention_waits_for_the_new_token_and_is_answered_once() {
    let harness = DiscordHarness::new().await;
    harness.will_say(&["With the new token."]);
    let program = harness.start().await;
    harness.discord.set_token_status(TokenStatus::Reset);
    harness.asks(harness.tea, harness.mio, "are you there?");
    let said = r#""key":"discord.token","within""#;
    harness.until_log(said).await;
    harness.discord.close_connections(4004);
    harness.until(|discord| discord.session_count() == 0).await;

    harness.discord.replace_token("new-discord-token");
    harness.home.replace("dev-discord-token", "new-discord-token");
    harness.reload_until(&program, r#""changed":"discord.token"#, 1).await;
    harness.until_heard().await;
    harness.posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(harness.discord.posts().len(), 1);
    assert_eq!(harness.said(IDENTIFY), 2);
    assert_eq!(harness.count("SELECT count(*) FROM dead_letters").await, 0);
    let log = harness.log();
    assert!(!log.contains("need a restart"), "{log}");
    assert!(!log.contains("discord-token"), "a token is in the log");
    assert_eq!(program.stop(), Some(0));
}

/// A token that Discord does not know, or that is another bot's, changes nothing.
#[tokio::test]
async fn a_wrong_token_is_not_used() {
    let harness = DiscordHarness::new().await;
    harness.will_say(&["As ever."]);
    let program = harness.start().await;
    harness.home.replace("dev-discord-token", "unknown-discord-token");
    let said = r#""error":"the new discord.token is refused"#;
    harness.reload_until(&program, said, 1).await;

    harness.home.replace("unknown-discord-token", "new-discord-token");
    harness.discord.replace_token("new-discord-token");
    let other = Alteration { pointer: "/id".to_owned(), value: Some(json!("4711")) };
    harness.discord.inject_fault(Method::GetMe, Fault::Altered(other));
    let said = "the new discord.token belongs to another bot, which needs a restart";
    harness.reload_until(&program, said, 1).await;

    // The same token works on a second try.
    harness.reload_until(&program, r#""changed":"discord.token"#, 1).await;
    harness.asks(harness.tea, harness.mio, "who is there?");
    harness.posts(1).await;
    assert_eq!(program.stop(), Some(0));
}
