//! How requests and pages name workspaces and channels, and the response to an unknown one.

use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{ADMIN, VIEWER, get, json_of, post, set_tokens, slack_workspace};
use crate::program::Program;
use crate::slack::harness::SlackHarness;

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
    // Messages can be posted in the local room only.
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
    // A workspace can be named by its name.
    let one = format!("/api/workspaces?workspace={workspace}");
    let one = json_of(get(&program, Some(VIEWER), &one).await).await;
    assert_eq!(one["workspaces"][0]["name"], "Dev Team");
    let label = format!("Dev Team · {workspace}<");
    for (page, told) in [
        ("/console".to_owned(), &*label),
        (format!("/console?workspace={workspace}"), &*label),
        ("/console/queue".to_owned(), &*label),
        ("/console/channels".to_owned(), &*label),
        ("/console/report".to_owned(), &*label),
        (format!("/console/memory?workspace={workspace}"), &*label),
        (format!("/console/channels/{workspace}/{}", harness.tea), &*label),
    ] {
        let shown = get(&program, Some(ADMIN), &page).await.text().await.unwrap();
        assert!(shown.contains(told), "{page}: {shown}");
    }
    let local = get(&program, Some(ADMIN), "/console?workspace=local").await.text().await.unwrap();
    assert!(!local.contains("Dev Team") && local.contains("all-workspaces"), "{local}");
    // A list for one workspace contains that workspace only.
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
