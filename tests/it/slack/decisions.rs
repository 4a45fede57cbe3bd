//! The ledger of a workspace, for its operator: by message links and on pages.

use crate::command::aizuchi;
use crate::program::Program;
use crate::slack::harness::SlackHarness;

const TOKEN: &str = "9f86d081884c7d65";

/// Returns the page of the only decision in the private channel, for a token or an anonymous local user.
async fn page(harness: &SlackHarness, program: &Program, token: Option<&str>) -> String {
    let id = harness.home.count("SELECT id FROM decisions WHERE ended = 'spoke'").await;
    let request = aizuchi_harness::net::http().get(format!("{}/decisions/{id}", program.address));
    let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

#[tokio::test]
async fn a_decision_is_found_by_its_link_and_shown_to_holders_of_the_token() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.will_say(&["Patience."]);
    let asked = harness.post_mention(&harness.attic, &harness.mio, "what do the roses need?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;

    // Slack's links have the message's id without its point.
    let digits = asked.to_string().replace('.', "");
    let link = format!("https://team.slack.com/archives/{}/p{digits}?thread_ts=1.2", harness.attic);
    let config = harness.home.config();
    let run = move || aizuchi().arg("--config").arg(config).args(["why", &link]).output().unwrap();
    let why = tokio::task::spawn_blocking(run).await.unwrap();
    let why = String::from_utf8(why.stdout).unwrap();
    assert!(why.contains("what do the roses need?") && why.contains("Patience."), "{why}");

    // Without a token, any local user can open the page, so it shows no text.
    let shown = page(&harness, &program, None).await;
    assert!(shown.contains("shown here only if http.token is set"), "{shown}");
    assert!(!shown.contains("no longer kept"), "{shown}");
    for text in ["roses", "Patience", "Mio asked"] {
        assert!(!shown.contains(text), "{text} is shown in {shown}");
    }
    assert_eq!(program.stop(), Some(0));

    let config = std::fs::read_to_string(harness.home.config()).unwrap();
    let config = config.replace("http:\n", &format!("http:\n  token: {TOKEN}\n"));
    std::fs::write(harness.home.config(), config).unwrap();
    let program = harness.home.start();
    let shown = page(&harness, &program, Some(TOKEN)).await;
    for text in ["what do the roses need?", "Patience.", "#attic"] {
        assert!(shown.contains(text), "{text} is missing in {shown}");
    }
    assert!(!shown.contains("shown here only"), "{shown}");
    assert_eq!(program.stop(), Some(0));
}
