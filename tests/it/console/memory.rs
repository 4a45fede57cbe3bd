//! The pages of memory and their API: the access of each role, and changes by users.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, json_of, post, set_tokens, slack_workspace,
};
use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
pub const KETTLE: &str = "the kettle lives on the top shelf of the kitchen";

/// Starts a workspace with messages, and a program that updates its memory after each message.
pub async fn remembering() -> (SlackHarness, Program, String) {
    let more = "  memory: {model_id: builtin}\nmemory:\n  long_term_update_interval_seconds: 0\n";
    let harness = SlackHarness::with(SlackOptions { more, ..SlackOptions::default() }).await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.post_message(&harness.tea, &harness.ren, KETTLE);
    harness.post_message(&harness.attic, &harness.mio, &format!("the safe opens with {CANARY} 77"));
    let remembered = "SELECT count(*) FROM memories WHERE is_current = 1 AND scope = 'channel' AND entries <> '[]'";
    harness.until_kept(remembered, 4).await;
    harness.until_named().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    (harness, program, workspace)
}

async fn memories(program: &Program, token: &str, workspace: &str, channel: &str) -> Vec<Value> {
    let path = format!("/api/memories?workspace={workspace}&channel={channel}");
    let found = json_of(get(program, Some(token), &path).await).await;
    found["memories"].as_array().unwrap().clone()
}

/// Returns a channel's long-term memory.
async fn long_term(program: &Program, token: &str, workspace: &str, channel: &str) -> Value {
    let found = memories(program, token, workspace, channel).await;
    found.into_iter().find(|memory| memory["term"] == "long_term").unwrap()
}

fn order(workspace: &str, memory: &Value, order: &str, more: Value) -> Value {
    let mut body = json!({ "workspace": workspace, "order": order });
    for name in ["scope", "channel", "thread", "term", "version"] {
        body[name] = memory[name].clone();
    }
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn each_role_reads_and_changes_what_it_may_of_memory() {
    let (harness, program, workspace) = remembering().await;
    let page = async |token: &str, channel: &str| {
        let page = format!("/console/memory?workspace={workspace}&channel={channel}");
        get(&program, Some(token), &page).await.text().await.unwrap()
    };
    // A viewer sees the number of entries.
    for channel in [&harness.tea, &harness.attic] {
        let shown = page(VIEWER, channel).await;
        assert!(shown.contains("1 entries") && !shown.contains("kettle"), "{shown}");
        assert!(!shown.contains(CANARY) && !shown.contains("data-testid=\"edit\""), "{shown}");
        let found = memories(&program, VIEWER, &workspace, channel).await;
        assert!(found.iter().all(|memory| memory["entries"] == json!([]) && memory["hidden"] == 1));
    }
    // An operator sees public memories.
    let shown = page(OPERATOR, &harness.tea).await;
    assert!(shown.contains(KETTLE) && shown.contains("data-testid=\"edit\""), "{shown}");
    assert!(shown.contains("<b dir=\"auto\">Ren</b>"), "the message behind it: {shown}");
    let shown = page(OPERATOR, &harness.attic).await;
    assert!(!shown.contains(CANARY) && !shown.contains("attic"), "{shown}");
    let shown = page(ADMIN, &harness.attic).await;
    assert!(shown.contains(CANARY), "{shown}");
    let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
    let reads = reads["reads"].as_array().unwrap();
    assert!(reads.len() == 1 && reads[0]["what"] == "memories", "{reads:?}");
    assert_eq!(reads[0]["channel"], json!(harness.attic));

    let memory = long_term(&program, ADMIN, &workspace, &harness.tea).await;
    let entry = memory["entries"][0]["id"].clone();
    let ordered = async |token: &str, body: &Value| {
        post(&program, Some(token), "/api/memories", body.clone()).await
    };
    let hostile = "the kettle broke <script>window.pwned=1</script>";
    let edit = order(&workspace, &memory, "edit", json!({ "entry": entry, "text": hostile }));
    assert_eq!(ordered(VIEWER, &edit).await, StatusCode::FORBIDDEN);
    assert_eq!(ordered(OPERATOR, &edit).await, StatusCode::NO_CONTENT);
    assert_eq!(ordered(OPERATOR, &edit).await, StatusCode::CONFLICT, "it is another entry now");
    let shown = page(OPERATOR, &harness.tea).await;
    assert!(shown.contains("the kettle broke &#60;script&#62;"), "{shown}");
    assert!(shown.contains("olga") && shown.contains("data-testid=\"pinned\""), "{shown}");
    // It can also be undone on the first page of memories.
    let first = format!("/console/memory?workspace={workspace}");
    let first = get(&program, Some(OPERATOR), &first).await.text().await.unwrap();
    assert!(first.contains("data-testid=\"undo\""), "{first}");
    let changed = long_term(&program, OPERATOR, &workspace, &harness.tea).await;
    let entry = changed["entries"][0].clone();
    assert_eq!((&entry["text"], &entry["pinned"]), (&json!(hostile), &json!(true)));
    // A role cannot change memories that it cannot read.
    let secret = long_term(&program, ADMIN, &workspace, &harness.attic).await;
    let secret_entry = secret["entries"][0]["id"].clone();
    let remove = order(&workspace, &secret, "remove", json!({ "entry": secret_entry }));
    assert_eq!(ordered(OPERATOR, &remove).await, StatusCode::CONFLICT);
    let regenerate = order(&workspace, &secret, "regenerate", json!({}));
    assert_eq!(ordered(OPERATOR, &regenerate).await, StatusCode::FORBIDDEN);
    assert_eq!(ordered(ADMIN, &remove).await, StatusCode::NO_CONTENT);
    let secret = long_term(&program, ADMIN, &workspace, &harness.attic).await;
    assert_eq!(
        (secret["entries"].clone(), secret["removed"].as_array().unwrap().len()),
        (json!([]), 1)
    );
    let versions = format!(
        "/console/memory/versions?workspace={workspace}&scope=channel&channel={}&term=long_term",
        harness.attic
    );
    let shown = get(&program, Some(OPERATOR), &versions).await.text().await.unwrap();
    assert!(!shown.contains(CANARY) && !shown.contains("data-testid=\"revert\""), "{shown}");
    let shown = get(&program, Some(ADMIN), &versions).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"gone\"") && shown.contains(CANARY), "{shown}");
    let changes = format!("/api/memory-changes?workspace={workspace}");
    let journal = json_of(get(&program, Some(OPERATOR), &changes).await).await;
    let journal = journal["changes"].as_array().unwrap().clone();
    assert_eq!((&journal[0]["kind"], &journal[0]["by"]), (&json!("removed"), &json!("http.token")));
    // It was removed from the short-term memory too.
    let is_long = |change: &&Value| change["memory"]["term"] == "long_term";
    let newest = journal.iter().find(is_long).unwrap();
    let undone = |order: &str| {
        let body = json!({ "to": newest["before"] });
        self::order(&workspace, &secret, order, body)
    };
    assert_eq!(ordered(OPERATOR, &undone("revert")).await, StatusCode::FORBIDDEN);
    assert_eq!(ordered(ADMIN, &undone("revert")).await, StatusCode::NO_CONTENT);
    let secret = long_term(&program, ADMIN, &workspace, &harness.attic).await;
    assert_eq!(secret["entries"].as_array().unwrap().len(), 1);
    for (name, more, expected) in [
        ("regenerate", json!({}), StatusCode::NO_CONTENT),
        ("revert", json!({}), StatusCode::UNPROCESSABLE_ENTITY),
        ("revert", json!({ "to": 1 }), StatusCode::CONFLICT),
        ("guess", json!({}), StatusCode::UNPROCESSABLE_ENTITY),
        ("edit", json!({ "entry": entry["id"], "text": " \n" }), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let body = order(&workspace, &changed, name, more);
        assert_eq!(ordered(OPERATOR, &body).await, expected, "{name}");
    }
    let viewers = json_of(get(&program, Some(VIEWER), &changes).await).await;
    assert_eq!(viewers["changes"][0]["by"], Value::Null);
    let absent = "/console/memory/versions?workspace=local&scope=workspace&term=long_term";
    assert_eq!(get(&program, Some(ADMIN), absent).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(program.stop(), Some(0));
}

/// Slack sends a quotation as markup.
#[tokio::test]
async fn the_journal_names_who_had_something_forgotten_in_the_chat() {
    let (harness, program, workspace) = remembering().await;
    let quoted = format!("forget that, yes\n&gt; {KETTLE}");
    harness.post_mention(&harness.tea, &harness.mio, &quoted);
    let removals = "SELECT count(DISTINCT kind) FROM memory_changes WHERE kind = 'removed'";
    harness.until_kept(removals, 1).await;
    let memory = long_term(&program, OPERATOR, &workspace, &harness.tea).await;
    assert_eq!(memory["entries"], json!([]));
    assert_eq!(memory["removed"].as_array().unwrap().len(), 1);
    let page = format!("/console/memory?workspace={workspace}&channel={}", harness.tea);
    for (token, is_named) in [(OPERATOR, true), (VIEWER, false)] {
        let shown = get(&program, Some(token), &page).await.text().await.unwrap();
        let journal = shown.split_once("id=\"journal\"").unwrap().1;
        assert_eq!(journal.contains("Mio"), is_named, "{journal}");
    }
    let changes = format!("/api/memory-changes?workspace={workspace}");
    let journal = json_of(get(&program, Some(OPERATOR), &changes).await).await;
    let by = journal["changes"].as_array().unwrap().iter().find(|it| it["kind"] == "removed");
    assert!(by.unwrap()["by"].as_str().unwrap().starts_with(&harness.mio), "{journal}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_remembered_of_a_person_is_found_and_a_memo_changed() {
    let (harness, program, workspace) = remembering().await;
    let memo = json!({
        "name": "birthdays", "content": "Ren: May 3rd", "priority": 3, "tags": ["people"],
        "detail": null, "created": "2026-03-01T00:00:00Z", "updated": "2026-03-01T00:00:00Z",
        "channel": harness.tea, "visibility": "public", "said_by": null,
    });
    let mut database = harness.lock_database().await;
    let put = "INSERT INTO memos (id, workspace, realm, name, channel, priority, updated_ms, touched, memo)
        VALUES (900000, ?1, '', 'birthdays', ?2, 3, 0, 1, ?3)";
    let put = sqlx::query(put).bind(&workspace).bind(&harness.tea).bind(memo.to_string());
    put.execute(&mut database).await.unwrap();
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);

    // The search on the page of memory leads to the people, and so to what is remembered of one.
    let memory = format!("/console/memory?workspace={workspace}");
    let found = get(&program, Some(OPERATOR), &format!("{memory}&person=Ren")).await;
    let people = found.headers()["location"].to_str().unwrap().to_owned();
    let people = get(&program, Some(OPERATOR), &people).await.text().await.unwrap();
    let person = |id: &str| format!("/console/people/{}/{id}", encode(&workspace));
    assert!(people.contains(&format!("href=\"{}\"", person(&harness.ren))), "{people}");
    let page = async |token: &str, id: &str| {
        get(&program, Some(token), &person(id)).await.text().await.unwrap()
    };
    let (ren, mio) = (&*harness.ren, &*harness.mio);
    let shown = page(OPERATOR, ren).await;
    assert!(shown.contains(KETTLE) && shown.contains("Ren: May 3rd"), "{shown}");
    let shown = page(OPERATOR, mio).await;
    assert!(!shown.contains(KETTLE) && !shown.contains("May 3rd") && !shown.contains(CANARY));
    assert!(shown.contains("data-testid=\"nothing-remembered\""), "{shown}");
    assert!(page(ADMIN, mio).await.contains(CANARY));
    let shown = page(VIEWER, ren).await;
    assert!(!shown.contains("May 3rd") && !shown.contains("nothing-remembered"), "{shown}");
    // A memo says where it comes from, and is changed after its form is opened.
    let shown = get(&program, Some(OPERATOR), &memory).await.text().await.unwrap();
    let memo = shown.split_once("data-testid=\"memo\"").unwrap().1;
    assert!(memo.split("<form").next().unwrap().contains(">#tea</a>"), "{memo}");

    let address = format!("{}/api/memos/900000", program.address);
    let body =
        json!({ "workspace": workspace, "content": "Ren: May 5th", "priority": 5, "tags": ["a"] });
    let put = async |token: &str, body: &Value| {
        client().put(&address).bearer_auth(token).json(body).send().await.unwrap().status()
    };
    assert_eq!(put(VIEWER, &body).await, StatusCode::FORBIDDEN);
    let mut odd = body.clone();
    odd["priority"] = json!(9);
    assert_eq!(put(OPERATOR, &odd).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(put(OPERATOR, &body).await, StatusCode::NO_CONTENT);
    assert!(page(OPERATOR, ren).await.contains("Ren: May 5th"));
    let form = client().post(format!("{}/console/memory", program.address)).bearer_auth(OPERATOR);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let body =
        format!("workspace={workspace}&order=remove+memo&memo=900000&back=https://evil.example");
    let answer = form.body(body).send().await.unwrap();
    assert_eq!(answer.headers()["location"], "/console/memory");
    let memo = "data-testid=\"remembered-memo\"";
    assert!(!page(OPERATOR, ren).await.contains(memo));
    // The journal contains the old text, which can be restored from there.
    let changes = format!("/api/memory-changes?workspace={workspace}");
    let changes = json_of(get(&program, Some(OPERATOR), &changes).await).await["changes"].clone();
    let of_memo: Vec<&Value> =
        changes.as_array().unwrap().iter().filter(|it| it["memo"] == 900_000).collect();
    let told: Vec<_> = of_memo.iter().map(|it| (&it["kind"], &it["by"])).collect();
    let olga = json!("olga");
    assert_eq!(told, [(&json!("removed"), &olga), (&json!("edited"), &olga)], "{changes}");
    let journal = async |token: &str| {
        let shown = get(&program, Some(token), &memory).await.text().await.unwrap();
        shown.split_once("id=\"journal\"").unwrap().1.to_owned()
    };
    let shown = journal(OPERATOR).await;
    assert!(shown.contains("before: Ren: May 5th") && shown.contains("Ren: May 3rd"), "{shown}");
    assert!(shown.contains("data-testid=\"revert-memo\""), "{shown}");
    let shown = journal(VIEWER).await;
    assert!(!shown.contains("Ren: May") && !shown.contains("birthdays"), "{shown}");
    let revert = async |token: &str, to: &Value| {
        let body = json!({ "workspace": workspace, "to": to });
        post(&program, Some(token), "/api/memos/900000/revert", body).await
    };
    let first = &of_memo[1]["before"];
    assert_eq!(revert(VIEWER, first).await, StatusCode::FORBIDDEN);
    assert_eq!(revert(OPERATOR, &json!(1)).await, StatusCode::CONFLICT);
    assert_eq!(revert(OPERATOR, first).await, StatusCode::NO_CONTENT);
    assert!(page(OPERATOR, ren).await.contains(memo));
    let form = client().post(format!("{}/console/memory", program.address)).bearer_auth(OPERATOR);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let to = &of_memo[0]["before"];
    let body = format!("workspace={workspace}&order=revert+memo&memo=900000&to={to}");
    let reverted = form.body(body).send().await.unwrap();
    assert_eq!(reverted.status(), StatusCode::SEE_OTHER);
    let found = json_of(
        get(&program, Some(OPERATOR), &format!("/api/memories?workspace={workspace}")).await,
    )
    .await;
    assert_eq!(found["memos"][0]["content"], "Ren: May 5th");
    let removed = client().delete(format!("{address}?workspace={workspace}")).bearer_auth(OPERATOR);
    assert_eq!(removed.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let again = client().delete(format!("{address}?workspace={workspace}")).bearer_auth(OPERATOR);
    assert_eq!(again.send().await.unwrap().status(), StatusCode::NOT_FOUND);

    // A memory from a thread alone is found, too.
    let begin = harness.post_message(&harness.tea, &harness.ren, "who has a birthday soon?");
    harness.post_in_thread(&harness.tea, begin, &harness.mio, "mine is on July 9th");
    let in_thread = "SELECT count(*) FROM memories WHERE is_current = 1 AND scope = 'thread' AND entries LIKE '%July%'";
    harness.until_kept(in_thread, 1).await;
    let shown = page(OPERATOR, mio).await;
    assert!(shown.contains("July 9th") && shown.contains(">#tea"), "{shown}");
    assert_eq!(program.stop(), Some(0));
}
