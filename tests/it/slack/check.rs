//! `aizuchi check` with a Slack workspace.

use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::state::TokenStatus;

use crate::slack::harness::{SlackHarness, SlackOptions};

/// Runs the check. Returns its lines about Slack, and whether it succeeded.
async fn check(harness: &SlackHarness) -> (Vec<String>, bool) {
    let config = harness.home.config();
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
async fn a_working_setup_passes() {
    let harness = SlackHarness::new().await;
    let (findings, succeeded) = check(&harness).await;
    assert!(succeeded, "{findings:#?}");
    assert_eq!(
        findings,
        [
            "ok    slack     in the workspace Dev Team as @aizuchi",
            "ok    slack     Socket Mode is on",
            "ok    slack     in 2 channels",
        ]
    );
    // While the program runs, the check reports how much history has been read.
    let program = harness.start().await;
    let (findings, _) = check(&harness).await;
    assert_eq!(findings[3], "ok    slack     the history of 2 of 2 channels has been read");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn missing_scopes_and_invitations_are_named() {
    let usual = FakeSlackSettings::default();
    let scopes = usual.scopes.iter().filter(|scope| *scope != "reactions:write").cloned();
    let team = FakeSlackSettings { scopes: scopes.collect(), ..usual };
    let more = "channels:\n  \"#tea\": {mode: observe}\n  \"#hall\": {mode: observe}\n";
    let harness = SlackHarness::with(SlackOptions { team, more, ..SlackOptions::default() }).await;
    let (findings, succeeded) = check(&harness).await;
    assert!(!succeeded);
    let findings = findings.join("\n");
    for sentence in [
        "FAIL  slack     the scope reactions:write is missing: Aizuchi needs it to react",
        "FAIL  slack     the config names #hall, but @aizuchi was not invited: write /invite @aizuchi there",
    ] {
        assert!(findings.contains(sentence), "{sentence} is not in\n{findings}");
    }
    assert!(!findings.contains("#tea,"), "{findings}");
    harness.slack.set_token_status(TokenStatus::Revoked);
    let (findings, succeeded) = check(&harness).await;
    assert!(!succeeded);
    assert_eq!(findings, ["FAIL  slack     Slack refuses slack.bot_token: token_revoked"]);
}

#[tokio::test]
async fn a_bot_without_channels_is_reported() {
    let harness = SlackHarness::new().await;
    for channel in [&harness.tea, &harness.attic] {
        harness.slack.leave_channel(channel, &harness.bot).unwrap();
    }
    let (findings, succeeded) = check(&harness).await;
    assert!(!succeeded);
    let sentence = "FAIL  slack     @aizuchi is not in any channel yet: write /invite @aizuchi where it should listen";
    assert_eq!(findings[2], sentence);
}
