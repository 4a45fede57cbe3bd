//! A platform that refuses the bot, beside one that does not: its trouble is told, the other and the local room go on,
//! and a new token mends it without a restart.

use aizuchi_fakes::discord::state::TokenStatus as DiscordToken;
use aizuchi_fakes::slack::state::TokenStatus as SlackToken;

use crate::discord::harness::DiscordHarness;
use crate::program::{Home, Program};
use crate::slack::harness::SlackHarness;

/// Logged whenever a platform is connected.
const TAKEN: &str = "the platform takes the bot";

/// Both platforms, with the config in the Discord harness's home.
async fn both() -> (SlackHarness, DiscordHarness) {
    let (slack, discord) = (SlackHarness::new().await, DiscordHarness::new().await);
    discord.home.add(&format!(
        "slack:\n  bot_token: xoxb-dev\n  app_token: xapp-dev\n  api_base: {}\n",
        slack.api
    ));
    (slack, discord)
}

/// What every page and figure says while a platform is disconnected.
async fn told(home: &Home, program: &Program, why: &str, metric: &str) {
    // The other platform may still be on its way, and then stands in the answer first.
    program.until_text("/ready", |ready| ready.contains(why)).await;
    home.until_ready_is(program, 503).await;
    let console = program.request("/console").await;
    assert_eq!(console.status(), 200);
    let console = console.text().await.unwrap();
    assert!(console.contains(why), "{console}");
    let is_told = |line: &str| line.starts_with(metric) && line.ends_with(" 0");
    program.until_text("/metrics", |metrics| metrics.lines().any(is_told)).await;
    assert!(home.log().contains("a platform is disconnected"), "{}", home.log());
    program.says("Aki", "the room goes on").await;
}

#[tokio::test]
async fn discord_and_the_room_go_on_while_slack_refuses_its_token_at_the_start() {
    let (slack, discord) = both().await;
    slack.slack.set_token_status(SlackToken::Revoked);
    let program = discord.start().await;
    let metric = "aizuchi_platform_connected{workspace=\"slack\"}";
    told(&discord.home, &program, "Slack refuses slack.bot_token", metric).await;
    discord.will_say(&["On Discord.", "On Slack."]);
    discord.asks(discord.tea, discord.mio, "are you there?");
    assert_eq!(discord.posts(1).await[0].text, "On Discord.");

    slack.slack.set_token_status(SlackToken::Valid);
    slack.slack.replace_tokens("xoxb-new", "xapp-new");
    discord.home.replace("xoxb-dev", "xoxb-new");
    discord.home.replace("xapp-dev", "xapp-new");
    discord.reload_until(&program, TAKEN, 2).await;
    slack.wait_until(|slack| slack.connection_counts().open >= 2).await;
    slack.post_mention(&slack.tea, &slack.mio, "and here?");
    assert_eq!(slack.wait_for_posts(1).await[0].text, "On Slack.");
    discord.home.until_ready_is(&program, 200).await;
    let metrics = program.request("/metrics").await.text().await.unwrap();
    assert!(!metrics.contains(metric), "{metrics}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn slack_and_the_room_go_on_while_discord_refuses_its_token_at_the_start() {
    let (slack, discord) = both().await;
    discord.discord.set_token_status(DiscordToken::Reset);
    let program = discord.home.start();
    slack.wait_until(|slack| slack.connection_counts().open >= 2).await;
    let metric = "aizuchi_platform_connected{workspace=\"discord\"}";
    told(&discord.home, &program, "Discord refuses discord.token", metric).await;
    discord.will_say(&["On Slack.", "On Discord."]);
    slack.post_mention(&slack.tea, &slack.mio, "are you there?");
    assert_eq!(slack.wait_for_posts(1).await[0].text, "On Slack.");

    discord.discord.replace_token("new-discord-token");
    discord.home.replace("dev-discord-token", "new-discord-token");
    discord.reload_until(&program, TAKEN, 2).await;
    discord.until_heard().await;
    discord.asks(discord.tea, discord.mio, "and here?");
    assert_eq!(discord.posts(1).await[0].text, "On Discord.");
    discord.home.until_ready_is(&program, 200).await;
    assert_eq!(program.stop(), Some(0));
}

/// What Slack owes waits until the app is installed again.
#[tokio::test]
async fn discord_goes_on_while_slack_has_removed_the_app() {
    let (slack, discord) = both().await;
    let program = discord.start().await;
    slack.wait_until(|slack| slack.connection_counts().open >= 2).await;
    discord.home.until_ready_is(&program, 200).await;
    slack.slack.uninstall();
    let metric = "aizuchi_platform_connected{workspace=\"T";
    told(&discord.home, &program, "the app was removed from the Slack workspace", metric).await;
    discord.will_say(&["Still on Discord."]);
    discord.asks(discord.tea, discord.mio, "are you there?");
    assert_eq!(discord.posts(1).await[0].text, "Still on Discord.");
    assert_eq!(program.stop(), Some(0));
}

/// A gateway that closes with a code after which reconnecting does not help.
#[tokio::test]
async fn slack_goes_on_while_discord_refuses_the_bot() {
    let (slack, discord) = both().await;
    let program = discord.start().await;
    slack.wait_until(|slack| slack.connection_counts().open >= 2).await;
    discord.home.until_ready_is(&program, 200).await;
    discord.discord.close_connections(4014);
    let metric = "aizuchi_platform_connected{workspace=\"discord\"}";
    told(&discord.home, &program, "Message Content Intent", metric).await;
    discord.will_say(&["Still on Slack."]);
    slack.post_mention(&slack.tea, &slack.mio, "are you there?");
    assert_eq!(slack.wait_for_posts(1).await[0].text, "Still on Slack.");
    // The switch is on again.
    discord.reload_until(&program, TAKEN, 3).await;
    discord.until_heard().await;
    discord.home.until_ready_is(&program, 200).await;
    assert_eq!(program.stop(), Some(0));
}

/// Then something is wrong with the config.
#[tokio::test]
async fn a_program_that_no_platform_takes_does_not_start() {
    let (slack, discord) = both().await;
    slack.slack.set_token_status(SlackToken::Revoked);
    discord.discord.set_token_status(DiscordToken::Reset);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"))
        .arg("--config")
        .arg(discord.home.config())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("refuses"), "{said}");
}
