//! The log contains neither chat text nor prompts nor secrets, whatever the levels, and each of its lines is JSON.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::command::aizuchi;
use crate::discord::harness::DiscordHarness;
use crate::slack::harness::SlackHarness;

/// Ways to enable all levels.
const LEVELS: [&str; 6] = [
    "trace",
    "tungstenite=trace,tokio_tungstenite=trace,log=trace",
    "[{}]=trace",
    "hyper=trace,hyper_util=trace,reqwest=trace,rustls=trace,h2=trace",
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

/// JSON in which no object has a key twice.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some((key, Strict)) = map.next_entry::<String, Strict>()? {
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format!("the key {key} is there twice")));
            }
        }
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        while items.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_unit<E: Error>(self) -> Result<Strict, E> {
        Ok(Strict)
    }
}

/// Fails unless each line is a JSON object without a key that is there twice.
fn assert_strict(log: &str) {
    assert!(!log.is_empty());
    for line in log.lines() {
        assert!(line.starts_with('{'), "{line}");
        let read = serde_json::from_str::<Strict>(line);
        assert!(read.is_ok(), "{}: {line}", read.err().unwrap());
    }
}

#[test]
fn a_key_that_is_there_twice_is_noticed() {
    let twice = serde_json::from_str::<Strict>(r#"{"fields": [{"a": 1, "b": {"a": 1}, "a": 2}]}"#);
    assert!(twice.is_err_and(|error| error.to_string().contains("the key a is there twice")));
    assert!(serde_json::from_str::<Strict>(r#"{"a": {"a": null}, "b": [true, -1.5]}"#).is_ok());
}

/// A day on Slack and Discord, with all levels, and with a second program that cannot start on the same database.
#[tokio::test]
async fn each_line_of_a_day_is_strict_json() {
    let slack = SlackHarness::new().await;
    let harness = DiscordHarness::new().await;
    harness.home.add(&format!(
        "slack:\n  bot_token: xoxb-dev\n  app_token: xapp-dev\n  api_base: {}\n",
        slack.api
    ));
    let program = harness.home.start_with(&[], &[("RUST_LOG", "trace")]);
    harness.until_heard().await;
    slack.wait_until(|fake| fake.connection_counts().open >= 2).await;
    harness.will_say(&[ANSWERED, ANSWERED, ANSWERED]);
    harness.asks(harness.tea, harness.mio, SAID);
    harness.posts(1).await;
    slack.post_mention(&slack.tea, &slack.mio, SAID);
    slack.wait_for_posts(1).await;
    program.says("Aki", "@Aizuchi what is for lunch?").await;
    program.wait_for(0, |_, data| data["text"] == ANSWERED).await;
    let config = harness.home.config();
    let second = tokio::task::spawn_blocking(move || {
        let mut command = aizuchi();
        command.arg("--config").arg(config).args(["run", "--port", "0"]);
        command.output().unwrap()
    });
    let second = second.await.unwrap();
    let ended = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{ended}");
    let last = ended.lines().last().unwrap();
    assert!(last.contains(r#""level":"ERROR""#) && last.contains("another Aizuchi is"), "{last}");
    assert_strict(&ended);
    assert_eq!(program.stop(), Some(0));
    let log = harness.home.log();
    assert!(log.contains(r#""message":"posted""#), "{log}");
    assert_strict(&log);
}
