//! The console and the API of every workspace: who reaches what, and that a private channel's words stay there.

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::command::aizuchi;
use crate::mcp;
use crate::program::{Home, Program};
use crate::slack::harness::SlackHarness;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::user_actions::NameChange;
use aizuchi_harness::net::http;

pub const ADMIN: &str = "open-sesame-0123456789";
pub const OPERATOR: &str = "kite-lantern-5502981743";
pub const VIEWER: &str = "plum-harbor-7719034426";
/// What is said in private.
const CANARY: &str = "zanzibarquartz";
/// The private channel's name.
const SECRET_NAME: &str = "attic";

/// Sets a token for each role.
pub fn set_tokens(home: &Home) {
    let tokens = format!(
        "\nhttp:\n  token: {ADMIN}\n  tokens:\n    - {{name: olga, role: operator, token: {OPERATOR}}}\n    - {{name: vera, role: viewer, token: {VIEWER}}}\n"
    );
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), config.replacen("\nhttp:\n", &tokens, 1)).unwrap();
}

/// The id of the harness's workspace.
pub async fn slack_workspace(program: &Program, token: Option<&str>) -> String {
    let found = json_of(get(program, token, "/api/workspaces").await).await;
    let workspaces = found["workspaces"].as_array().unwrap();
    let slack = workspaces.iter().find(|it| it["platform"] == "Slack").unwrap();
    slack["id"].as_str().unwrap().to_owned()
}

pub fn client() -> Client {
    http();
    Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

pub async fn get(program: &Program, token: Option<&str>, path: &str) -> Response {
    let request = client().get(format!("{}{path}", program.address)).header("accept", "text/html");
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap()
}

pub async fn post(program: &Program, token: Option<&str>, path: &str, body: Value) -> StatusCode {
    let request = client().post(format!("{}{path}", program.address)).json(&body);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap().status()
}

/// A part of an address, percent-encoded.
pub fn encode(part: &str) -> String {
    let encoded = part.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

pub async fn json_of(response: Response) -> Value {
    response.json().await.unwrap()
}

/// Every address that answers with something of this workspace.
async fn every_page(harness: &SlackHarness, workspace: &str) -> Vec<String> {
    let mut pages: Vec<String> = [
        "/",
        "/console",
        "/console/queue",
        "/console/orders",
        "/console/figures",
        "/api/figures",
        "/console/memory",
        "/console/report",
        "/console/persona",
        "/console/api",
        "/api/openapi.json",
        "/api/memories",
        "/api/memory-changes",
        "/api/orders",
        "/api/opt-outs",
        "/metrics",
        "/ready",
        "/api/workspaces",
        "/api/models",
        "/api/health",
        "/api/status",
        "/api/dead-letters",
        "/api/proposals",
        "/api/private-reads",
        "/api/channels",
        "/api/room",
        "/api/people",
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
            // What was asked for stands in the form, whoever asks.
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

    // Nor any tool that programs call.
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

    // Each of the admin's reads of the private channel is on record, and nobody else's.
    let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
    let reads = reads["reads"].as_array().unwrap();
    assert!(reads.iter().all(|read| read["reader"] == "http.token"), "{reads:?}");
    assert!(reads.iter().all(|read| read["channel"] == json!(harness.attic)), "{reads:?}");
    // However many addresses showed it within a few minutes, it was one look.
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

    // A link from the command line makes somebody an admin.
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

#[tokio::test]
async fn each_role_gives_the_orders_it_may_in_any_workspace() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(VIEWER)).await;
    let orders = [
        ("/api/mute", json!({ "workspace": workspace, "channel": harness.tea })),
        ("/api/unmute", json!({ "workspace": workspace, "channel": harness.tea })),
        ("/api/stop", json!({ "workspace": workspace, "channel": harness.attic })),
        ("/api/mode", json!({ "workspace": workspace, "channel": harness.tea, "mode": "observe" })),
        ("/api/opt-out", json!({ "workspace": workspace, "user": harness.mio })),
    ];
    for (path, body) in &orders {
        let refused = post(&program, Some(VIEWER), path, body.clone()).await;
        assert_eq!(refused, StatusCode::FORBIDDEN, "{path}");
        let done = post(&program, Some(OPERATOR), path, body.clone()).await;
        assert_eq!(done, StatusCode::NO_CONTENT, "{path}");
    }
    let status = json_of(get(&program, Some(VIEWER), "/api/status").await).await;
    let workspaces = status["workspaces"].as_array().unwrap();
    let slack = workspaces.iter().find(|it| it["workspace"] == json!(workspace)).unwrap();
    let channel = |id: &str| {
        let channels = slack["channels"].as_array().unwrap().iter();
        channels.clone().find(|channel| channel["id"] == json!(id)).unwrap().clone()
    };
    assert_eq!(channel(&harness.tea)["mode"], "observe");
    assert!(channel(&harness.tea)["muted_until"].is_null());
    assert!(channel(&harness.attic)["muted_until"].is_number());
    assert_eq!(slack["connection"]["outage"], Value::Null, "{slack}");

    // Who ordered what is for those who order.
    for path in ["/api/orders", "/api/opt-outs", "/console/orders"] {
        let path = format!("{path}?workspace={workspace}");
        assert_eq!(get(&program, Some(VIEWER), &path).await.status(), StatusCode::FORBIDDEN);
    }
    let journal = async |query: &str| {
        let path = format!("/api/orders?{query}");
        json_of(get(&program, Some(OPERATOR), &path).await).await
    };
    let all = journal(&format!("workspace={workspace}")).await;
    let given = all["orders"].as_array().unwrap();
    let kinds: Vec<_> = given.iter().map(|given| given["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opt_out", "mode", "mute", "unmute", "mute"], "{all}");
    assert!(given.iter().all(|given| given["by"] == "olga"), "{all}");
    assert_eq!(given[0]["user"], json!(harness.mio));
    assert_eq!(
        (&given[1]["value"], &given[1]["channel"]),
        (&json!("observe"), &json!(harness.tea))
    );
    assert!(given[2]["until"].is_number() && given[4]["until"].is_null(), "{all}");
    let before = given[3]["number"].as_i64().unwrap();
    let oldest = journal(&format!("before={before}")).await;
    assert_eq!(oldest["orders"], json!([given[4]]));
    assert_eq!(oldest.get("older"), None, "{oldest}");
    assert_eq!(journal("workspace=local").await["orders"], json!([]));
    let opt_outs = format!("/api/opt-outs?workspace={workspace}");
    let opted_out =
        json_of(get(&program, Some(OPERATOR), &opt_outs).await).await["opted_out"].clone();
    assert_eq!(opted_out, json!([{ "id": harness.mio, "name": "Mio" }]));
    let page = format!("/console/orders?workspace={workspace}");
    let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
    assert_eq!(shown.matches("data-testid=\"order\"").count(), 5, "{shown}");
    assert!(
        shown.contains("olga") && shown.contains("#tea") && !shown.contains("attic"),
        "{shown}"
    );
    assert!(shown.contains("data-testid=\"opted-out\"") && shown.contains("Mio"), "{shown}");
    // Somebody is listened to again by name.
    let consent = async |order: &str, user: &str| {
        let form = client().post(format!("{}/console/orders", program.address));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let body = format!("workspace={workspace}&order={order}&user={user}&back=/console/orders");
        form.bearer_auth(OPERATOR).body(body).send().await.unwrap()
    };
    let done = consent("opt-in", "mio").await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    assert_eq!(done.headers()[LOCATION], "/console/orders");
    assert_eq!(consent("opt-out", "nobody").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(consent("opt-out", "").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"nobody\"") && shown.contains("opt in"), "{shown}");

    // The forms of the console do the same.
    let form = |token: &str, back: &str| {
        let form = client().post(format!("{}/console/orders", program.address));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let channel = &harness.tea;
        let body = format!("workspace={workspace}&channel={channel}&order=mute+120&back={back}");
        form.bearer_auth(token).body(body).send()
    };
    assert_eq!(form(VIEWER, "/console").await.unwrap().status(), StatusCode::FORBIDDEN);
    let done = form(OPERATOR, "/console/queue").await.unwrap();
    assert_eq!(
        (done.status(), &done.headers()[LOCATION]),
        (StatusCode::SEE_OTHER, &"/console/queue".parse().unwrap())
    );
    let elsewhere = form(OPERATOR, "https://evil.example").await.unwrap();
    assert_eq!(elsewhere.headers()[LOCATION], "/console");

    // A mute of everything shows in each channel.
    let everywhere = json!({ "workspace": workspace });
    assert_eq!(
        post(&program, Some(OPERATOR), "/api/mute", everywhere).await,
        StatusCode::NO_CONTENT
    );
    let timeline = format!("/console/channels/{workspace}/{}?gate=channel_mode", harness.tea);
    let timeline = get(&program, Some(OPERATOR), &timeline).await;
    assert_eq!(timeline.status(), StatusCode::OK);
    let timeline = timeline.text().await.unwrap();
    assert!(timeline.contains("data-testid=\"muted\">muted everywhere<"), "{timeline}");

    // A viewer is led to the console.
    let answer = get(&program, Some(VIEWER), "/").await;
    assert_eq!(answer.headers()[LOCATION], "/console");
    assert_eq!(program.stop(), Some(0));
}

async fn expect_unclear(program: &Program, path: &str, workspace: &str) {
    let twice = format!("{path}?workspace=local&workspace={workspace}");
    let answer = get(program, Some(ADMIN), &twice).await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
    assert_eq!(answer.headers()["aizuchi-refusal"], "unclear_query", "{path}");
}

#[tokio::test]
async fn an_unknown_workspace_or_channel_is_not_found() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    for path in [
        "channels",
        "room",
        "people",
        "spending",
        "status",
        "health",
        "dead-letters",
        "private-reads",
        "memories",
        "memory-changes",
        "figures",
        "orders",
        "opt-outs",
        "workspaces",
        "models",
    ] {
        // Two are not one, and no reason to show another.
        expect_unclear(&program, &format!("/api/{path}"), &workspace).await;
        let answer = get(&program, Some(ADMIN), &format!("/api/{path}?workspace=slack:T0")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        let problem = json_of(answer).await;
        let sentence = "there is no workspace \"slack:T0\"; /api/workspaces lists them";
        assert_eq!(problem["error"], sentence, "{path}");
    }
    for page in ["queue", "orders", "figures", "memory", "report"] {
        expect_unclear(&program, &format!("/console/{page}"), &workspace).await;
    }
    for path in ["messages", "decisions"] {
        expect_unclear(&program, &format!("/api/{path}"), &workspace).await;
        let unknown = format!("/api/{path}?workspace={workspace}&channel=nowhere");
        let answer = get(&program, Some(ADMIN), &unknown).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    for (path, body) in [
        ("/api/mute", json!({ "workspace": "slack:T0" })),
        ("/api/mute", json!({ "workspace": workspace, "channel": "nowhere" })),
        ("/api/opt-out", json!({ "workspace": workspace, "user": "nobody" })),
        ("/api/channels", json!({ "workspace": "slack:T0", "name": "nowhere" })),
        ("/api/dead-letters/1/retry?workspace=slack:T0", json!({})),
        ("/api/demo?workspace=slack:T0", json!({})),
    ] {
        let answer = post(&program, Some(ADMIN), path, body).await;
        assert_eq!(answer, StatusCode::NOT_FOUND, "{path}");
    }
    // Messages are written in the local room only.
    let message =
        json!({ "workspace": workspace, "channel": harness.tea, "user": "mia", "text": "hi" });
    let answer = post(&program, Some(ADMIN), "/api/messages", message).await;
    assert_eq!(answer, StatusCode::BAD_REQUEST);
    for page in [
        format!("/console/channels/{workspace}/nowhere"),
        "/console/queue?workspace=slack:T0".to_owned(),
    ] {
        let answer = get(&program, Some(ADMIN), &page).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{page}");
    }
    // A workspace is called by its name.
    let one = format!("/api/workspaces?workspace={workspace}");
    let one = json_of(get(&program, Some(VIEWER), &one).await).await;
    assert_eq!(one["workspaces"][0]["name"], "Dev Team");
    let label = format!("Dev Team · {workspace}<");
    for (page, told) in [
        ("/console".to_owned(), "Dev Team (Slack)"),
        (format!("/console?workspace={workspace}"), "Dev Team (Slack)"),
        ("/console/queue".to_owned(), &*label),
        ("/console/report".to_owned(), &*label),
        (format!("/console/memory?workspace={workspace}"), &*label),
        (format!("/console/channels/{workspace}/{}", harness.tea), &*label),
    ] {
        let shown = get(&program, Some(ADMIN), &page).await.text().await.unwrap();
        assert!(shown.contains(told), "{page}: {shown}");
    }
    let local = get(&program, Some(ADMIN), "/console?workspace=local").await.text().await.unwrap();
    assert!(!local.contains("Dev Team") && local.contains("all-workspaces"), "{local}");
    // What is named alone is listed alone.
    let listed = async |workspace: &str, path: &str, list: &str| {
        let page = format!("/api/{path}?workspace={workspace}");
        let answer = json_of(get(&program, Some(ADMIN), &page).await).await;
        answer[list].as_array().unwrap().len()
    };
    for workspace in [&*workspace, "local"] {
        assert_eq!(listed(workspace, "workspaces", "workspaces").await, 1);
        assert_eq!(listed(workspace, "status", "workspaces").await, 1);
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_dead_letter_is_tried_again_or_dropped() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["first try", "second try", "third try"]);
    let fail = async |count| {
        harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
        harness.post_mention(&harness.tea, &harness.mio, "is the tea ready?");
        harness.until_kept("SELECT count(*) FROM dead_letters", count).await;
        let letters = json_of(get(&program, Some(ADMIN), "/api/dead-letters").await).await;
        letters["dead_letters"][0]["id"].as_i64().unwrap()
    };
    let id = fail(1).await;
    // What is stuck stands on the first page, and leads to what was decided.
    for token in [ADMIN, VIEWER] {
        let overview = get(&program, Some(token), "/console").await.text().await.unwrap();
        assert!(overview.contains("href=\"/console/queue\">not delivered: 1</a>"), "{overview}");
    }
    let queue = get(&program, Some(ADMIN), "/console/queue").await.text().await.unwrap();
    let decision = queue.split("data-testid=\"letter-decision\"").next().unwrap();
    let decision = decision.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    assert_eq!(get(&program, Some(ADMIN), decision).await.status(), StatusCode::OK, "{decision}");
    let retry = format!("/api/dead-letters/{id}/retry");
    assert_eq!(post(&program, Some(VIEWER), &retry, json!({})).await, StatusCode::FORBIDDEN);
    assert_eq!(post(&program, Some(OPERATOR), &retry, json!({})).await, StatusCode::NO_CONTENT);
    let posts = harness.wait_for_posts(1).await;
    assert_eq!(posts[0].text, "second try");
    assert_eq!(post(&program, Some(OPERATOR), &retry, json!({})).await, StatusCode::NOT_FOUND);
    // In a browser it is said what is gone, and the way back is that of the console.
    let again = client().post(format!("{}/console/orders", program.address));
    let again = again.header("content-type", "application/x-www-form-urlencoded");
    let again = again.header("accept", "text/html").bearer_auth(OPERATOR);
    let again = again.body(format!("order=retry+{id}&back=/console/queue")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
    let again = again.text().await.unwrap();
    assert!(again.contains("dead letter") && again.contains("href=\"/console\""), "{again}");
    let id = fail(1).await;
    let drop = client().delete(format!("{}/api/dead-letters/{id}", program.address));
    let dropped = drop.bearer_auth(OPERATOR).send().await.unwrap().status();
    assert_eq!(dropped, StatusCode::NO_CONTENT);
    harness.until_kept("SELECT count(*) FROM dead_letters", 0).await;
    harness.until_kept("SELECT count(*) FROM outbox WHERE text LIKE '%third%'", 0).await;
    // Both stand in the journal, with the decision. What was refused does not.
    let given = json_of(get(&program, Some(OPERATOR), "/api/orders").await).await;
    let given = given["orders"].as_array().unwrap();
    let kinds: Vec<_> = given.iter().map(|given| given["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["drop_dead_letter", "retry_dead_letter"]);
    assert!(given.iter().all(|given| given["decision"].is_number() && given["by"] == "olga"));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn every_row_of_a_list_is_reached_from_the_newest() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let mut database = harness.lock_database().await;
    for put in [
        "INSERT INTO dead_letters (id, workspace, channel, thread, verb, at_ms, attempts, error, text)
        SELECT 100000 + n, ?1, ?2, '', 'reply', 1000 * n, 1, 'error ' || n || '.', NULL FROM n",
        "INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
        SELECT 100000 + n, ?1, ?2, '', 1000 * n, 1000 * n, 0, 'chose_silence', 0 FROM n",
        "INSERT INTO private_reads (workspace, channel, reader, what, hour_ms, last_ms, reads)
        SELECT ?1, ?2, 'mia', 'messages', 3600000 * n, 3600000 * n, 1 FROM n",
    ] {
        let numbers =
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250)";
        let put = sqlx::query(AssertSqlSafe(format!("{numbers} {put}")));
        put.bind(&workspace).bind(&harness.tea).execute(&mut database).await.unwrap();
    }
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let walk = async |address: &str, list: &str, key: &str| {
        let (mut seen, mut path) = (Vec::new(), address.to_owned());
        loop {
            let page = json_of(get(&program, Some(ADMIN), &path).await).await;
            let rows = page[list].as_array().unwrap().iter();
            let mut rows: Vec<i64> = rows.map(|row| row[key].as_f64().unwrap() as i64).collect();
            rows.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
            seen.extend(rows);
            let Some(older) = page["older"].as_i64() else { return seen };
            path = format!("{address}&before={older}");
        }
    };
    let all: Vec<i64> = (1..=250).rev().collect();
    let here = format!("workspace={workspace}");
    let ids: Vec<i64> = all.iter().map(|number| 100_000 + number).collect();
    let hours: Vec<i64> = all.iter().map(|number| 3600 * number).collect();
    assert_eq!(walk(&format!("/api/dead-letters?{here}"), "dead_letters", "id").await, ids);
    let decisions = format!("/api/decisions?{here}&channel={}", harness.tea);
    assert_eq!(walk(&decisions, "decisions", "id").await, ids);
    assert_eq!(walk(&format!("/api/private-reads?{here}"), "reads", "ts").await, hours);
    let elsewhere = walk("/api/private-reads?workspace=local", "reads", "ts").await;
    assert_eq!(elsewhere, Vec::<i64>::new());
    let queue = get(&program, Some(ADMIN), "/console/queue").await.text().await.unwrap();
    assert!(queue.contains("The newest 200 are shown here; there are older ones."), "{queue}");
    let older = format!("href=\"/console/queue?reads_before={}\"", 3_600_000 * 51);
    assert!(queue.contains(&older), "{queue}");
    let page = async |query: &str| {
        let page = format!("/console/queue{query}");
        get(&program, Some(OPERATOR), &page).await.text().await.unwrap()
    };
    let newest = page("").await;
    assert!(newest.contains("error 250.") && !newest.contains("error 150."), "{newest}");
    assert!(newest.contains("href=\"/console/queue?before=100151\""), "{newest}");
    let oldest = page("?before=100051").await;
    assert!(oldest.contains("error 1.") && !oldest.contains("data-testid=\"older-letters\""));
    assert!(oldest.contains("data-testid=\"newest-letters\""), "{oldest}");
    assert!(newest.contains("The newest 100 are shown here; there are older ones."), "{newest}");
    assert!(oldest.contains("The oldest 50 are shown here; there are newer ones."), "{oldest}");
    let here = page(&format!("?workspace={workspace}")).await;
    let older = format!("?workspace={workspace}&#38;before=100151\"");
    assert!(here.contains("error 250.") && here.contains(&older), "{here}");
    let elsewhere = page("?workspace=local").await;
    assert!(elsewhere.contains("data-testid=\"no-letters\""), "{elsewhere}");
    // One that is not on the first page is dropped, in its own workspace only.
    let drop = async |query: &str| {
        let address = format!("{}/api/dead-letters/100007{query}", program.address);
        client().delete(address).bearer_auth(OPERATOR).send().await.unwrap().status()
    };
    assert_eq!(drop("?workspace=local").await, StatusCode::NOT_FOUND);
    assert_eq!(drop(&format!("?workspace={workspace}")).await, StatusCode::NO_CONTENT);
    assert_eq!(program.stop(), Some(0));
}

/// The number of the only decision about a channel's newest talk.
async fn newest_decision(program: &Program, workspace: &str, channel: &str) -> Value {
    let ledger = format!("/api/decisions?workspace={workspace}&channel={channel}");
    let ledger = json_of(get(program, Some(ADMIN), &ledger).await).await;
    ledger["decisions"].as_array().unwrap().last().unwrap().clone()
}

#[tokio::test]
async fn a_decision_opens_for_each_role_as_far_as_it_may_read() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["<b>the tea is hot</b>", "in the attic"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea <i>ready</i>?");
    harness.wait_for_posts(1).await;
    harness.post_mention(&harness.attic, &harness.mio, "where is the kettle?");
    harness.wait_for_posts(2).await;
    harness.post_message(&harness.tea, &harness.mio, "<script>window.pwned=1</script>");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%pwned%'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let page = async |token: &str, channel: &str| {
        let number = newest_closed(&program, &workspace, channel).await;
        let address = format!("/console/decisions/{workspace}/{number}");
        get(&program, Some(token), &address).await.text().await.unwrap()
    };
    // The viewer learns how it ended, and what it cost.
    let shown = page(VIEWER, &harness.tea).await;
    assert!(shown.contains("outcome spoke") && shown.contains("data-testid=\"call\""), "{shown}");
    for secret in ["ready", "tea is hot", "Ren", "data-testid=\"prompt\"", "data-testid=\"mark-"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    // The operator reads what was said in public, and no model's words about it.
    let shown = page(OPERATOR, &harness.tea).await;
    assert!(shown.contains("is the tea &#60;i&#62;ready&#60;/i&#62;?"), "{shown}");
    assert!(shown.contains("&#60;b&#62;the tea is hot&#60;/b&#62;") && shown.contains("Ren"));
    assert!(shown.contains("data-testid=\"mark-right\"") && shown.contains("pwned"), "{shown}");
    assert!(!shown.contains("data-testid=\"prompt\"") && !shown.contains("data-testid=\"why\""));
    let shown = page(OPERATOR, &harness.attic).await;
    assert!(!shown.contains("kettle") && !shown.contains("in the attic") && !shown.contains("Mio"));
    // The admin reads all of it, and what was private is recorded.
    let shown = page(ADMIN, &harness.tea).await;
    assert!(shown.contains("data-testid=\"section\"") && shown.contains("data-testid=\"why\""));
    assert!(shown.contains("data-testid=\"after\"") && shown.contains("data-testid=\"said\""));
    assert!(!shown.contains("<script>window") && !shown.contains("<i>ready"), "{shown}");
    let reads = async || {
        let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
        reads["reads"].as_array().unwrap().iter().map(|read| read["count"].as_i64().unwrap()).sum()
    };
    let before: i64 = reads().await;
    let shown = page(ADMIN, &harness.attic).await;
    assert!(shown.contains("where is the kettle?") && shown.contains("in the attic"), "{shown}");
    let after: i64 = reads().await;
    // What was said there. What was thought of it was looked at a moment ago, for its number.
    assert_eq!(after - before, 1);
    let japanese = client().get(format!(
        "{}/console/decisions/{workspace}/{}",
        program.address,
        newest_closed(&program, &workspace, &harness.tea).await
    ));
    let japanese = japanese.bearer_auth(ADMIN).header("accept-language", "ja").send().await;
    assert!(japanese.unwrap().text().await.unwrap().contains("読んだ発言"));
    let number = newest_closed(&program, &workspace, &harness.tea).await;
    for absent in [
        format!("/console/decisions/{workspace}/999"),
        format!("/console/decisions/{workspace}/x"),
        format!("/console/decisions/local/{number}"),
        format!("/console/decisions/slack:T0/{number}"),
    ] {
        let answer = get(&program, Some(ADMIN), &absent).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{absent}");
    }
    assert_eq!(program.stop(), Some(0));
}

/// The number of a channel's newest closed decision.
async fn newest_closed(program: &Program, workspace: &str, channel: &str) -> i64 {
    let ledger = format!("/api/decisions?workspace={workspace}&channel={channel}");
    let ledger = json_of(get(program, Some(ADMIN), &ledger).await).await;
    let decisions = ledger["decisions"].as_array().unwrap().iter().rev();
    let mut closed = decisions.filter(|decision| decision["closed"].is_number());
    closed.next().unwrap()["id"].as_i64().unwrap()
}

#[tokio::test]
async fn a_decision_is_marked_and_the_marks_become_cases() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["the tea is hot"]);
    harness.post_message(&harness.tea, &harness.mio, "\"quoted\" <b>beginning</b>");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%quoted%'", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let number = newest_closed(&program, &workspace, &harness.tea).await;
    let address = format!("/api/decisions/{number}/mark");
    let mark = async |token: &str, mark: Value| {
        post(&program, Some(token), &address, json!({ "mark": mark })).await
    };
    assert_eq!(mark(VIEWER, json!("right")).await, StatusCode::FORBIDDEN);
    assert_eq!(mark(OPERATOR, json!("wrong")).await, StatusCode::UNPROCESSABLE_ENTITY);
    let body = json!({});
    let refused = post(&program, Some(OPERATOR), &address, body).await;
    assert_eq!(refused, StatusCode::UNPROCESSABLE_ENTITY, "a mark is missing");
    let body = json!({ "mark": "right", "workspace": "local" });
    assert_eq!(post(&program, Some(OPERATOR), &address, body).await, StatusCode::NOT_FOUND);
    let unknown = post(&program, Some(ADMIN), "/api/decisions/999/mark", json!({ "mark": null }));
    assert_eq!(unknown.await, StatusCode::NOT_FOUND);
    let foreign = client().post(format!("{}{address}", program.address)).bearer_auth(ADMIN);
    let foreign = foreign.header("origin", "https://evil.example");
    let foreign = foreign.json(&json!({ "mark": "right" })).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(newest_decision(&program, &workspace, &harness.tea).await["mark"], Value::Null);

    assert_eq!(mark(ADMIN, json!("right")).await, StatusCode::NO_CONTENT);
    assert_eq!(mark(OPERATOR, json!("should_have_kept_silent")).await, StatusCode::NO_CONTENT);
    let marked = newest_decision(&program, &workspace, &harness.tea).await["mark"].clone();
    assert_eq!(
        (&marked["mark"], &marked["by"]),
        (&json!("should_have_kept_silent"), &json!("olga"))
    );
    let timeline = format!("/console/channels/{workspace}/{}", harness.tea);
    let page = format!("/console/decisions/{workspace}/{number}");
    for (token, shows_name) in [(VIEWER, false), (OPERATOR, true)] {
        for address in [&timeline, &page] {
            let shown = get(&program, Some(token), address).await.text().await.unwrap();
            assert!(shown.contains("marked should_have_kept_silent"), "{address}: {shown}");
            assert_eq!(shown.contains("marked by olga"), shows_name, "{address}: {shown}");
        }
    }

    let metrics = get(&program, Some(VIEWER), "/metrics").await.text().await.unwrap();
    let counted = "aizuchi_marked_decisions{mark=\"should_have_kept_silent\"} 1";
    assert!(metrics.contains(counted), "{metrics}");

    // What was marked is a case that `eval` reads.
    let file = harness.home.path().join("cases.jsonl");
    let export = |file: &std::path::Path| {
        let mut command = aizuchi();
        command.arg("--config").arg(harness.home.config()).args(["export", "--marks"]).arg(file);
        command.assert().success();
        std::fs::read_to_string(file).unwrap()
    };
    let cases = export(&file);
    let case: Value = serde_json::from_str(cases.trim_end()).unwrap();
    assert_eq!((&case["label"], &case["language"]), (&json!("SILENT"), &json!("en")));
    assert_eq!(case["kind"], "SILENT/should_have_kept_silent");
    let context = case["context"].as_array().unwrap();
    let authors: Vec<_> = context.iter().map(|line| line["author"].as_str().unwrap()).collect();
    assert_eq!(authors, ["Mio", "Ren"]);
    let mut eval = aizuchi();
    eval.arg("eval").arg(&file).arg("--json");
    let printed = eval.assert().success().get_output().stdout.clone();
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(printed["task"], "decide");

    // A form takes it back, and leads to the decision.
    let form = client().post(format!("{}/console/orders", program.address)).bearer_auth(OPERATOR);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let body = format!("workspace={workspace}&order=mark+{number}&back={page}");
    let answer = form.body(body).send().await.unwrap();
    assert_eq!(answer.headers()[LOCATION], page);
    assert_eq!(newest_decision(&program, &workspace, &harness.tea).await["mark"], Value::Null);
    assert_eq!(export(&harness.home.path().join("none.jsonl")), "");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_figures_add_up_for_every_role() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["the tea is hot"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let number = newest_closed(&program, &workspace, &harness.tea).await;
    let mark = format!("/api/decisions/{number}/mark");
    let right = json!({ "mark": "right" });
    assert_eq!(post(&program, Some(ADMIN), &mark, right).await, StatusCode::NO_CONTENT);
    for token in [VIEWER, OPERATOR, ADMIN] {
        for query in [format!("?workspace={workspace}&days=7"), String::new()] {
            let page = format!("/console/figures{query}");
            let shown = get(&program, Some(token), &page).await.text().await.unwrap();
            for told in [
                "data-testid=\"sum-heard\">1 in all<",
                "data-testid=\"sum-outcomes\">1 in all<",
                "data-testid=\"sum-marks\">1 in all<",
                "data-testid=\"by-model\"",
                "#tea",
            ] {
                assert!(shown.contains(told), "{page} does not say {told}: {shown}");
            }
        }
    }
    let api = |days: i64| format!("/api/figures?workspace={workspace}&days={days}");
    let told = json_of(get(&program, Some(VIEWER), &api(7)).await).await;
    let total = &told["total"];
    assert_eq!((&total["heard"], &total["spoke"]), (&json!(1), &json!(1)), "{told}");
    assert_eq!(told["days"].as_array().unwrap().len(), 7);
    assert_eq!(told["welcome"], json!([]), "it was asked, so nothing was its own choice");
    for part in ["days", "channels", "models", "kinds"] {
        for field in ["calls", "input_tokens", "output_tokens", "unpriced_tokens"] {
            let values = told[part].as_array().unwrap().iter().map(|it| it[field].as_u64());
            let sum = values.sum::<Option<u64>>();
            assert_eq!(sum, total[field].as_u64(), "{part} {field}: {told}");
        }
    }
    assert_eq!(told["marks"]["right"], 1, "{told}");
    let of_tea = |part: &str| {
        let mut all = told[part].as_array().unwrap().iter();
        all.find(|it| it["id"] == *harness.tea).cloned().unwrap_or_else(|| panic!("{part}: {told}"))
    };
    assert_eq!(of_tea("channels")["name"], "tea", "{told}");
    let delays = of_tea("delays");
    assert!(delays["name"] == "tea" && delays["addressed_seconds"].is_number(), "{told}");
    assert_eq!(delays["unasked_seconds"], Value::Null, "{told}");
    let budget = format!("/api/spending?workspace={workspace}");
    let budget = json_of(get(&program, Some(VIEWER), &budget).await).await;
    let used = total["input_tokens"].as_u64().zip(total["output_tokens"].as_u64());
    let used = used.map(|(input, output)| input + output);
    assert_eq!(used, budget["workspace"]["tokens_in_day"].as_u64(), "{told} {budget}");
    let wrong = get(&program, Some(VIEWER), &api(91)).await;
    assert_eq!(wrong.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let empty = get(&program, Some(VIEWER), "/console/figures?workspace=local&days=7").await;
    assert!(empty.text().await.unwrap().contains("Nothing happened in this period."));
    let odd = get(&program, Some(VIEWER), "/console/figures?days=%3Cscript%3E").await;
    assert_eq!(odd.status(), StatusCode::OK);
    let unknown = get(&program, Some(VIEWER), "/console/figures?workspace=%3Cscript%3E").await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_asked_of_a_timeline_holds_together() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["it is hot"]);
    harness.post_message(&harness.tea, &harness.mio, "the kettle is old");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%old%'", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the kettle hot?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let shown = async |query: &str| {
        let page = format!("/console/channels/{workspace}/{}?{query}", harness.tea);
        let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        assert!(!shown.contains("data-older"), "{query}: {shown}");
        shown.matches("data-testid=\"row\"").count()
    };
    let (past, future) = ("2001-01-01", "2999-01-01");
    for (query, expected) in [
        (String::new(), 3),
        ("outcome=spoke".to_owned(), 3),
        ("outcome=failed".to_owned(), 0),
        ("outcome=spoke&person=Ren".to_owned(), 1),
        ("outcome=spoke&person=Nobody".to_owned(), 0),
        (format!("outcome=spoke&until={past}"), 0),
        (format!("outcome=spoke&from={past}&until={future}"), 3),
        (format!("person=Mio&from={future}"), 0),
        ("q=kettle".to_owned(), 2),
        ("q=kettle&person=Mio".to_owned(), 1),
        ("q=kettle&person=Nobody".to_owned(), 0),
        ("q=kettle&outcome=failed".to_owned(), 0),
        ("q=kettle&outcome=spoke&person=Ren".to_owned(), 1),
        (format!("q=kettle&from={future}"), 0),
    ] {
        assert_eq!(shown(&query).await, expected, "{query}");
    }

    // Nobody, and two of one name, are told from somebody who said nothing of it.
    let page = async |query: &str| {
        let page = format!("/console/channels/{workspace}/{}?{query}", harness.tea);
        get(&program, Some(OPERATOR), &page).await.text().await.unwrap()
    };
    let nobody = page("person=%3Ci%3ENobody").await;
    assert!(nobody.contains("is called &#60;i&#62;Nobody."), "{nobody}");
    assert!(!page("person=Mio&q=hot").await.contains("data-testid=\"nobody\""));
    let names = NameChange { real_name: "Mio", display_name: "Mio" };
    harness.slack.rename_user(&harness.ren, names).unwrap();
    harness.until_kept("SELECT count(*) FROM users WHERE name = 'Mio'", 2).await;
    let both = page("person=mio&q=kettle").await;
    assert!(!both.contains("data-testid=\"row\""), "{both}");
    for id in [&harness.mio, &harness.ren] {
        assert!(both.contains(&format!("?person={id}&#38;q=kettle\"")), "{both}");
        assert!(both.contains(&format!("<small>{id}</small>")), "{both}");
        assert_eq!(shown(&format!("person={id}&q=kettle")).await, 1, "{id}");
    }
    let all = page("").await;
    assert!(all.contains(&format!("Mio</b> <small>{}</small>", harness.ren)), "{all}");
    assert!(!page(&format!("person={}", harness.ren)).await.contains("Mio</b> <small>"));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn where_only_a_proxy_signs_people_in_there_are_no_links() {
    let home = Home::new(0.0);
    let key = "SELECT count(*) FROM bookmarks WHERE place = 'console key' AND value <> ''";
    assert_eq!(home.start().stop(), Some(0));
    home.until_kept(key, 1).await;
    let config = std::fs::read_to_string(home.config()).unwrap();
    let proxy = "\nhttp:\n  trusted_proxies: [127.0.0.1]\n  proxy_sign_in: {header: X-Forwarded-Email, admins: [mia]}\n";
    std::fs::write(home.config(), config.replacen("\nhttp:\n", proxy, 1)).unwrap();
    let program = home.start();
    home.until_kept(key, 0).await;
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(["console", "link"]);
    let printed = command.assert().failure().get_output().stderr.clone();
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("people sign in at the proxy"), "{printed}");
    assert_eq!(program.stop(), Some(0));
}

/// Behind a proxy that names nobody there is no page to sign in at, so none is led to.
#[tokio::test]
async fn only_whom_the_proxy_names_gets_in() {
    let home = Home::new(0.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let proxy = "\nhttp:\n  trusted_proxies: [127.0.0.1]\n  proxy_sign_in: {header: X-Forwarded-Email, admins: [mia], viewers: [ken]}\n";
    std::fs::write(home.config(), config.replacen("\nhttp:\n", proxy, 1)).unwrap();
    let program = home.start();
    let client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (name, page, status) in [
        (None, "/console", 403),
        (Some("nobody"), "/console", 403),
        (Some("mia"), "/console", 200),
        (Some("mia"), "/console/persona", 200),
        (Some("ken"), "/console/figures", 200),
    ] {
        let request = client.get(format!("{}{page}", program.address));
        let request =
            request.header("x-forwarded-for", "203.0.113.9").header("accept", "text/html");
        let request = match name {
            Some(name) => request.header("x-forwarded-email", name),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let (found, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert_eq!(found, status, "{name:?} {page}: {text}");
        assert_eq!(name.is_none(), text.contains("X-Forwarded-Email"), "{name:?} {page}: {text}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_people_write_stays_text() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let hostile = "<script>window.pwned=1</script><img src=x onerror=alert(1)>\"'><b>";
    harness.post_message(&harness.tea, &harness.mio, hostile);
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%pwned%'", 1).await;
    let query =
        "q=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E&person=%22%3E%3Cb%3E&from=%22%3E%3Cb%3E";
    for page in [
        format!("/console/channels/{workspace}/{}", harness.tea),
        format!("/console/channels/{workspace}/{}?{query}", harness.tea),
        format!("/console/channels/{workspace}/{}?q=pwned", harness.tea),
        "/console/channels/%3Cscript%3E/%3Cb%3E".to_owned(),
        "/login?link=%22%3E%3Cscript%3Ewindow.pwned".to_owned(),
    ] {
        let shown = get(&program, Some(ADMIN), &page).await.text().await.unwrap();
        assert!(!shown.contains("<script>window") && !shown.contains("<img"), "{page}: {shown}");
        assert!(!shown.contains("\"><b>"), "{page}: {shown}");
    }
    assert_eq!(program.stop(), Some(0));
}
