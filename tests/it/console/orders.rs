//! The orders that each role may give.

use reqwest::StatusCode;
use reqwest::header::LOCATION;
use serde_json::{Value, json};

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, get, json_of, post, set_tokens, slack_workspace,
};
use crate::generated::{GeneratedHistory, Place};
use crate::program::Home;
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn each_role_gives_the_orders_it_may_in_any_workspace() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
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

    // Only roles that may give orders see the history of orders.
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
    let unmatched = get(&program, Some(OPERATOR), &format!("{page}&kind=drop_dead_letter")).await;
    let unmatched = unmatched.text().await.unwrap();
    assert!(unmatched.contains("No order matches."), "{unmatched}");
    // Below the heading of a day stands the time alone.
    let day = "colspan=\"4\">Today</th>";
    assert!(shown.contains(day) && !shown.contains(" UTC</time>"), "{shown}");
    let people = format!("/console/people?workspace={workspace}");
    let shown = get(&program, Some(OPERATOR), &people).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"opted-out\"") && shown.contains("Mio"), "{shown}");
    // A user is opted in again by name.
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
    let shown = get(&program, Some(OPERATOR), &people).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"nobody-opted-out\""), "{shown}");
    let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
    assert!(shown.contains("opt in"), "{shown}");

    // The forms of the console have the same effect.
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

    // The page of the channel tells until when, and offers a mute only where there is none.
    let tea = format!("/console/channels/{workspace}/{}", harness.tea);
    let muted = get(&program, Some(OPERATOR), &tea).await.text().await.unwrap();
    assert!(muted.contains("data-testid=\"muted\">muted until <time datetime"), "{muted}");
    assert!(!muted.contains("value=\"stop\"") && muted.contains("value=\"unmute\""), "{muted}");

    // A mute of everything is shown in each channel.
    let everywhere = json!({ "workspace": workspace });
    assert_eq!(
        post(&program, Some(OPERATOR), "/api/mute", everywhere).await,
        StatusCode::NO_CONTENT
    );
    let timeline = format!("/console/channels/{workspace}/{}?gate=channel_mode", harness.tea);
    let timeline = get(&program, Some(OPERATOR), &timeline).await;
    assert_eq!(timeline.status(), StatusCode::OK);
    let timeline = timeline.text().await.unwrap();
    assert!(timeline.contains("data-testid=\"muted\">muted with its workspace<"), "{timeline}");

    // A viewer is redirected to the console.
    let answer = get(&program, Some(VIEWER), "/").await;
    assert_eq!(answer.headers()[LOCATION], "/console");
    assert_eq!(program.stop(), Some(0));
}

/// Orders, sign-ins, exports, reloads and reads of private channels stand in one list, which can be filtered and exported.
#[tokio::test]
async fn an_admin_reads_and_exports_one_journal_of_everything() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    assert_eq!(home.start().stop(), Some(0));
    let history = GeneratedHistory {
        places: vec![Place::new("T0GARDEN", "C0ATTIC", "attic", "private")],
        public_words: vec!["Ken".to_owned(), "Mio".to_owned()],
        private_words: vec!["the key is under the pot".to_owned()],
        messages: 40,
        decisions: 4,
    };
    history.write(&home).await;
    let program = home.start();
    let signed_in = client().post(format!("{}/login", program.address));
    let signed_in = signed_in.header("content-type", "application/x-www-form-urlencoded");
    let signed_in = signed_in.body(format!("token={OPERATOR}")).send().await.unwrap();
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
    let read = "/api/messages?workspace=T0GARDEN&channel=C0ATTIC";
    assert_eq!(get(&program, Some(ADMIN), read).await.status(), StatusCode::OK);
    let export = "/api/person/export?workspace=T0GARDEN&user=U1";
    assert_eq!(get(&program, Some(ADMIN), export).await.status(), StatusCode::OK);
    assert_eq!(post(&program, Some(ADMIN), "/api/reload", json!({})).await, StatusCode::OK);
    let page = async |token: &str, query: &str| {
        let path = format!("/console/orders{query}");
        get(&program, Some(token), &path).await.text().await.unwrap()
    };
    const READ: &str = "read what is private";
    let words =
        ["reload the config", "export what is known of a person", READ, "sign in: operator"];
    let rows = |shown: &str| {
        let rows = shown.split("data-testid=\"order\"").skip(1);
        rows.map(|row| words.iter().position(|word| row.contains(word))).collect::<Vec<_>>()
    };
    let all = rows(&page(ADMIN, "").await);
    let found: Vec<usize> = all.iter().flatten().copied().collect();
    assert_eq!(&found[..2], [0, 1], "{all:?}");
    assert!(found.contains(&2) && found.contains(&3) && all.contains(&None), "{all:?}");
    for (kind, word) in [("reload", 0), ("export", 1), ("read_private", 2), ("sign_in", 3)] {
        let here = rows(&page(ADMIN, &format!("?kind={kind}")).await);
        assert!(!here.is_empty() && here.iter().all(|row| *row == Some(word)), "{kind}: {here:?}");
    }
    let by_olga = rows(&page(ADMIN, "?by=%20Olg").await);
    assert!(!by_olga.is_empty() && by_olga.iter().all(|row| *row == Some(3)), "{by_olga:?}");
    let reload = page(ADMIN, "?by=olga&kind=reload").await;
    assert!(rows(&reload).is_empty() && reload.contains("No order matches."), "{reload}");
    for query in ["", "?kind=read_private"] {
        let shown = page(OPERATOR, query).await;
        assert!(shown.contains(words[0]) && !shown.contains(READ), "{shown}");
    }
    let exported = async |token: &str| {
        let answer = get(&program, Some(token), "/api/orders/export").await;
        let text = answer.text().await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let lines = exported(ADMIN).await;
    assert!(lines.is_sorted_by(|one, other| one["ts"].as_f64() >= other["ts"].as_f64()));
    let read = lines.iter().find(|it| it["kind"] == "read_private").unwrap();
    assert_eq!((&read["channel"], &read["what"]), (&json!("C0ATTIC"), &json!("messages")));
    for kind in ["sign_in", "export", "reload", "mute"] {
        assert!(lines.iter().any(|it| it["kind"] == kind), "{kind}: {lines:?}");
    }
    assert!(exported(OPERATOR).await.iter().all(|it| it["kind"] != "read_private"));
    let refused = get(&program, Some(VIEWER), "/api/orders/export").await.status();
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let only = json_of(get(&program, Some(OPERATOR), "/api/orders?kind=reload").await).await;
    assert_eq!(only["orders"].as_array().unwrap().len(), 1, "{only}");
    assert_eq!(program.stop(), Some(0));
}
