//! No page and no response shows messages from a channel that the reader may not read.

use aizuchi_fakes::slack::fault::Fault;
use reqwest::StatusCode;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use serde_json::json;

use crate::command::aizuchi;
use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, get, json_of, post, set_tokens, slack_workspace,
};
use crate::mcp;
use crate::slack::harness::SlackHarness;

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
/// The private channel's name.
const SECRET_NAME: &str = "attic";

/// Returns every address whose response contains data of this workspace.
async fn every_page(harness: &SlackHarness, workspace: &str) -> Vec<String> {
    let mut pages: Vec<String> = [
        "/", "/console", "/console/channels", "/console/queue", "/console/orders",
        "/console/figures", "/api/figures", "/console/memory", "/console/report",
        "/console/persona", "/console/api", "/api/openapi.json", "/api/memories",
        "/api/memory-changes", "/api/orders", "/api/opt-outs", "/metrics", "/ready",
        "/api/workspaces", "/api/models", "/api/health", "/api/status", "/api/dead-letters",
        "/api/proposals", "/api/private-reads", "/api/channels", "/api/room", "/api/people",
        "/api/spending",
    ]
    .map(str::to_owned)
    .into();
    pages.push(format!("/console/orders?workspace={workspace}"));
    for path in
        ["channels", "room", "people", "spending", "status", "dead-letters", "health", "orders"]
    {
        pages.push(format!("/api/{path}?workspace={workspace}"));
    }
    for path in ["/api/private-reads", "/api/workspaces", "/api/models", "/console/queue"] {
        pages.push(format!("{path}?workspace={workspace}"));
    }
    for days in [7, 30, 90] {
        pages.push(format!("/console/figures?workspace={workspace}&days={days}"));
        pages.push(format!("/api/figures?workspace={workspace}&days={days}"));
    }
    for days in [1, 30] {
        let report = format!("/console/report?workspace={workspace}&days={days}");
        pages.push(format!("{report}&private=true"));
        pages.push(report);
    }
    pages.push(format!("/console/memory?workspace={workspace}&person=Mio"));
    for channel in [&harness.tea, &harness.attic] {
        pages.push(format!("/console?channel={channel}"));
        let what_if = format!("/console/channels/{workspace}/{channel}/what-if");
        pages.push(format!("{what_if}?days=1&min_confidence=0.9"));
        pages.push(what_if);
        pages.push(format!("/console/memory?workspace={workspace}&channel={channel}"));
        pages.push(format!("/api/memories?workspace={workspace}&channel={channel}"));
        for path in ["messages", "decisions"] {
            pages.push(format!("/api/{path}?workspace={workspace}&channel={channel}"));
        }
        let messages = format!("/api/messages?workspace={workspace}&channel={channel}");
        pages.push(format!("{messages}&decisions=true&after=0"));
        for query in
            ["", "?q=zanzibarquartz", "?person=Mio", "?outcome=failed", "?until=2999-01-01"]
        {
            pages.push(format!("/console/channels/{workspace}/{channel}{query}"));
        }
    }
    for number in 1..12 {
        pages.push(format!("/decisions/{number}"));
        pages.push(format!("/console/decisions/{workspace}/{number}"));
        pages.push(format!("/console/decisions/{workspace}/{number}/judge"));
    }
    pages
}

#[tokio::test]
async fn a_private_channels_words_reach_no_page_of_another_role() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&[CANARY, "the tea is hot"]);
    harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    let asked = format!("what is the {CANARY}?");
    let private = harness.post_mention(&harness.attic, &harness.mio, &asked);
    harness.until_kept("SELECT count(*) FROM dead_letters WHERE text IS NOT NULL", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let pages = every_page(&harness, &workspace).await;

    let (mut seen, mut public) = (0, 0);
    for page in &pages {
        let shown = get(&program, Some(ADMIN), page).await.text().await.unwrap();
        seen += usize::from(shown.contains(CANARY));
        for token in [OPERATOR, VIEWER] {
            let answer = get(&program, Some(token), page).await;
            let status = answer.status();
            let shown = answer.text().await.unwrap();
            // The form repeats the search term, for every role.
            let shown = shown.replace(&format!("value=\"{CANARY}\""), "");
            assert!(!shown.contains(CANARY), "{page}: {shown}");
            assert!(!shown.contains(SECRET_NAME), "{page}: {shown}");
            if token == VIEWER {
                assert!(!shown.contains("tea ready") && !shown.contains("tea is hot"), "{page}");
                assert!(!status.is_server_error(), "{page}: {shown}");
            }
            public += usize::from(shown.contains("tea ready"));
        }
    }
    assert!(seen >= 5, "the admin sees it on {seen} pages");
    assert!(public >= 3, "the operator reads public channels on {public} pages");

    // Neither does any MCP tool.
    let attic = json!(harness.attic);
    for (tool, arguments) in [
        ("search_messages", json!({ "query": CANARY })),
        ("search_messages", json!({ "query": CANARY, "workspace": workspace })),
        ("search_messages", json!({ "query": CANARY, "channel": attic })),
        ("recall", json!({ "workspace": workspace })),
        ("recall", json!({ "channel": attic })),
        ("why", json!({ "decision": 1 })),
        ("why", json!({ "message": private.to_string(), "channel": attic })),
        ("decisions", json!({ "channel": attic })),
        ("status", json!({})),
    ] {
        for token in [OPERATOR, VIEWER] {
            let answer = mcp::call(&program, Some(token), tool, arguments.clone()).await;
            let answer = answer.to_string();
            assert!(!answer.contains(CANARY), "{tool} {arguments}: {answer}");
            assert!(!answer.contains(SECRET_NAME), "{tool} {arguments}: {answer}");
        }
    }
    let found = async |token: &str, query: &str| {
        mcp::call(&program, Some(token), "search_messages", json!({ "query": query })).await
    };
    let public = found(OPERATOR, "tea ready").await;
    assert!(public["messages"][0]["text"].as_str().unwrap().contains("tea ready"), "{public}");
    let withheld = "your role does not read what was said in this channel";
    assert_eq!(found(VIEWER, "tea ready").await, withheld);
    assert_eq!(found(ADMIN, CANARY).await["messages"][0]["channel"], attic);

    // Each read of the private channel by an admin is recorded, and no other read is.
    let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
    let reads = reads["reads"].as_array().unwrap();
    assert!(reads.iter().all(|read| read["reader"] == "http.token"), "{reads:?}");
    assert!(reads.iter().all(|read| read["channel"] == json!(harness.attic)), "{reads:?}");
    // Reads of several addresses within a few minutes are recorded as one.
    assert!(reads.iter().all(|read| read["count"] == 1), "{reads:?}");
    let mut kinds: Vec<_> = reads.iter().map(|read| read["what"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["dead_letters", "decisions", "messages"]);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn this_machine_without_a_token_gives_orders_and_reads_no_other_workspace() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.will_say(&["the tea is hot"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    let workspace = slack_workspace(&program, None).await;
    for page in every_page(&harness, &workspace).await {
        let shown = get(&program, None, &page).await.text().await.unwrap();
        assert!(!shown.contains("tea ready") && !shown.contains("tea is hot"), "{page}: {shown}");
        assert!(!shown.contains(SECRET_NAME) && !shown.contains("Ren"), "{page}: {shown}");
    }
    let mute = json!({ "workspace": workspace, "channel": harness.tea, "minutes": 120 });
    assert_eq!(post(&program, None, "/api/mute", mute).await, StatusCode::NO_CONTENT);
    let channels = format!("/api/channels?workspace={workspace}");
    let channels = json_of(get(&program, None, &channels).await).await;
    let tea = channels["channels"].as_array().unwrap().iter();
    let tea = tea.clone().find(|channel| channel["id"] == json!(harness.tea)).unwrap();
    assert!(tea["muted_until"].is_number() && tea["name"] == "tea", "{tea}");

    // A link from the command line signs a user in as an admin.
    let link = aizuchi_link(&harness, &["--name", "mia"]);
    let wanted = format!("{link}&next=%2Fconsole%2Fqueue");
    let page = client().get(wanted).send().await.unwrap().text().await.unwrap();
    let code = link.split_once("link=").unwrap().1;
    assert!(page.contains(code) && page.contains("value=\"/console/queue\""), "{page}");
    let follow = async || {
        let form = client().post(format!("{}/login", program.address));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        form.body(format!("link={code}")).send().await.unwrap()
    };
    let answer = follow().await;
    assert_eq!(answer.headers()[LOCATION], "/console");
    let cookie = answer.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap();
    let channel = format!("{}/console/channels/{workspace}/{}", program.address, harness.tea);
    let shown = client().get(&channel).header(COOKIE, cookie).send().await.unwrap();
    let shown = shown.text().await.unwrap();
    assert!(shown.contains("is the tea ready?") && shown.contains("mia (admin)"), "{shown}");
    assert_eq!(follow().await.status(), StatusCode::UNAUTHORIZED, "it works once");
    assert_eq!(program.stop(), Some(0));
}

fn aizuchi_link(harness: &SlackHarness, more: &[&str]) -> String {
    let mut command = aizuchi();
    command.arg("--config").arg(harness.home.config()).args(["console", "link"]).args(more);
    let printed = command.assert().success().get_output().stdout.clone();
    String::from_utf8(printed).unwrap().trim().to_owned()
}
