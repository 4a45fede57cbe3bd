//! `aizuchi check` in front of a Slack workspace.

use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::state::TokenStatus;

use crate::slack::harness::{Setting, SlackHarness};

/// What it says of Slack, and whether all is well.
async fn check(stage: &SlackHarness) -> (Vec<String>, bool) {
    let config = stage.home.config();
    let output = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        command.arg("--config").arg(config).arg("check").output().unwrap()
    });
    let output = output.await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let slack = text.lines().filter(|line| line.contains(" slack "));
    (slack.map(str::to_owned).collect(), output.status.success())
}

#[tokio::test]
async fn all_is_well() {
    let stage = SlackHarness::new().await;
    let (told, is_well) = check(&stage).await;
    assert!(is_well, "{told:#?}");
    assert_eq!(
        told,
        [
            "ok    slack     in the workspace Dev Team as @aizuchi",
            "ok    slack     Socket Mode is on",
            "ok    slack     in 2 channels",
        ]
    );
    // After it has run, it says how much has been read, also while it runs.
    let program = stage.start().await;
    let (told, _) = check(&stage).await;
    assert_eq!(told[3], "ok    slack     the history of 2 of 2 channels has been read");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let usual = FakeSlackSettings::default();
    let scopes = usual.scopes.iter().filter(|scope| *scope != "reactions:write").cloned();
    let team = FakeSlackSettings { scopes: scopes.collect(), ..usual };
    let more = "channels:\n  \"#tea\": {mode: observe}\n  \"#hall\": {mode: observe}\n";
    let stage = SlackHarness::with(Setting { team, more, ..Setting::default() }).await;
    let (told, is_well) = check(&stage).await;
    assert!(!is_well);
    let told = told.join("\n");
    for sentence in [
        "FAIL  slack     the scope reactions:write is missing: Aizuchi needs it to react",
        "FAIL  slack     the settings name #hall, where it was not invited: /invite @aizuchi there",
    ] {
        assert!(told.contains(sentence), "{sentence} is not in\n{told}");
    }
    assert!(!told.contains("#tea,"), "{told}");
    stage.slack.set_token_status(TokenStatus::Revoked);
    let (told, is_well) = check(&stage).await;
    assert!(!is_well);
    assert_eq!(told, ["FAIL  slack     Slack refuses slack.bot_token: token_revoked"]);
}

#[tokio::test]
async fn a_bot_that_nobody_has_invited_is_told_so() {
    let stage = SlackHarness::new().await;
    for channel in [&stage.tea, &stage.attic] {
        stage.slack.leave_channel(channel, &stage.bot).unwrap();
    }
    let (told, is_well) = check(&stage).await;
    assert!(!is_well);
    let sentence =
        "FAIL  slack     it is in no channel yet: /invite @aizuchi where it should listen";
    assert_eq!(told[2], sentence);
}
