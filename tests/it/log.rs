//! The log contains neither chat text nor prompts nor secrets, whatever the levels.

use crate::discord::harness::DiscordHarness;
use crate::slack::harness::SlackHarness;

/// Ways to enable all levels.
const LEVELS: [&str; 6] = [
    "trace",
    "tungstenite=trace,tokio_tungstenite=trace,log=trace",
    "[{}]=trace",
    "genai=trace,hyper=trace,hyper_util=trace,reqwest=trace,rustls=trace,h2=trace",
    "off,twilight_gateway=trace,tokio_websockets=trace,sqlx=trace",
    "aizuchi=trace,[step]=trace,5",
];

const SAID: &str = "cardamom beside the kettle";
const ANSWERED: &str = "marmalade on toast";
/// A part of every prompt.
const PROMPT: &str = "Current time:";

fn assert_absent(log: &str, secrets: &[&str], levels: &str) {
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "RUST_LOG={levels}: {secret} is in the log: {line:?}");
    }
}

#[tokio::test]
async fn canaries_said_in_slack_are_not_in_the_log() {
    for levels in LEVELS {
        let harness = SlackHarness::new().await;
        let program = harness.home.start_with(&[], &[("RUST_LOG", levels)]);
        harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
        harness.will_say(&[ANSWERED]);
        harness.post_mention(&harness.tea, &harness.mio, SAID);
        harness.wait_for_posts(1).await;
        assert!(harness.prompt().contains(SAID) && harness.prompt().contains(PROMPT));
        assert_eq!(program.stop(), Some(0));
        let secrets = ["cardamom", "marmalade", PROMPT, "xoxb-", "xapp-", "sk-test", "ticket="];
        assert_absent(&harness.home.log(), &secrets, levels);
    }
}

#[tokio::test]
async fn canaries_said_in_discord_are_not_in_the_log() {
    for levels in LEVELS {
        let harness = DiscordHarness::new().await;
        let program = harness.home.start_with(&[], &[("RUST_LOG", levels)]);
        harness.until_heard().await;
        harness.will_say(&[ANSWERED]);
        harness.asks(harness.tea, harness.mio, SAID);
        harness.posts(1).await;
        assert!(harness.prompt().contains(SAID) && harness.prompt().contains(PROMPT));
        assert_eq!(program.stop(), Some(0));
        let secrets = ["cardamom", "marmalade", PROMPT, "sk-test", "dev-discord-token"];
        assert_absent(&harness.home.log(), &secrets, levels);
    }
}
