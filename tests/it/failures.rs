//! The list of failures has each kind of them, with its reason, its last time and its next try, on either database.

use aizuchi_fakes::slack::fault::Fault;
use aizuchi_harness::postgres;
use aizuchi_harness::providers::ProviderResponse;
use insta::assert_snapshot;
use reqwest::StatusCode;
use serde_json::Value;
use sqlx::raw_sql;

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, client, get, json_of, set_tokens};
use crate::program::{Program, TIMEOUT, next_poll};
use crate::slack::harness::SlackHarness;

/// The text of a dead letter of a private channel.
const PRIVATE: &str = "the key is under the mat";
/// A search for the first answer failed, too.
const LOOK_UP: &str = "
    INSERT INTO attempts (decision, workspace, channel, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens,
            cached_tokens, output_tokens, latency_ms, result, error)
        SELECT decision, workspace, channel, 'look_up', at_ms, 'web_search', '', 0, 0, 0, 0, 0, 'failed', 'no answer in time'
        FROM dead_letters ORDER BY id LIMIT 1;
    COMMIT";

async fn listed(program: &Program, query: &str) -> Vec<Value> {
    let path = format!("/api/failures{query}");
    let answer = json_of(get(program, Some(ADMIN), &path).await).await;
    answer["failures"].as_array().unwrap().clone()
}

async fn page(program: &Program, token: &str, query: &str) -> String {
    let path = format!("/console/failures{query}");
    get(program, Some(token), &path).await.text().await.unwrap()
}

/// Waits until the channel that cannot be read is listed, and describes all failures.
async fn described(program: &Program) -> String {
    let waiting = async {
        loop {
            let failures = listed(program, "").await;
            let is_behind = |it: &Value| it["kind"] == "backfill" && it["count"] != 0;
            // The others are behind for a moment.
            if failures.iter().filter(|it| it["kind"] == "backfill").all(is_behind)
                && failures.iter().any(is_behind)
            {
                return failures;
            }
            next_poll().await;
        }
    };
    let failures = tokio::time::timeout(TIMEOUT, waiting).await.expect("it is listed in time");
    let mut lines: Vec<String> = failures.iter().map(describe).collect();
    lines.sort();
    lines.join("\n")
}

fn describe(failure: &Value) -> String {
    let [kind, model, reason] = ["kind", "model", "reason"].map(|it| failure[it].as_str());
    let channels = failure["channels"].as_array().unwrap().iter();
    let channels: Vec<&str> = channels.map(|channel| channel["name"].as_str().unwrap()).collect();
    assert!(failure["last"].is_number(), "{failure}");
    let is_later = failure["next"].as_f64() > failure["last"].as_f64();
    let is_retried = failure["kind"] == "backfill" && is_later;
    let next = if is_retried { ", is tried again" } else { "" };
    let letter = if failure["dead_letter"].is_number() { ", a dead letter" } else { "" };
    let (kind, reason, model) = (kind.unwrap(), reason.unwrap(), model.unwrap_or("–"));
    format!("{kind} {model} in {}: {reason}{next}{letter}", channels.join(", "))
}

/// Sends a form of the page.
async fn settle(program: &Program, token: &str, order: &str) -> StatusCode {
    let form = client().post(format!("{}/console/orders", program.address));
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("accept", "text/html").bearer_auth(token);
    let form = form.body(format!("order={}&back=/console/failures", order.replace(' ', "+")));
    form.send().await.unwrap().status()
}

#[tokio::test]
async fn each_kind_of_failure_stands_in_one_list() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    for count in 1..=2 {
        harness.will_say(&[PRIVATE]);
        harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
        harness.post_mention(&harness.attic, &harness.mio, "where is the key?");
        harness.until_kept("SELECT count(*) FROM dead_letters", count).await;
    }
    let wait = vec![("retry-after", "1200".to_owned())];
    harness.model.then([ProviderResponse::Status(429, wait, "{}".to_owned())]);
    harness.post_mention(&harness.tea, &harness.ren, "is there tea?");
    harness.until_kept("SELECT count(*) FROM attempts WHERE result = 'failed'", 1).await;
    let mut database = harness.lock_database().await;
    raw_sql(LOOK_UP).execute(&mut database).await.unwrap();
    drop(database);

    // A mention does not wait that long: it got an apology.
    assert!(listed(&program, "?kind=model").await[0]["next"].is_null());
    assert!(listed(&program, "?kind=look_up").await[0]["next"].is_null());

    // The text is shown to those who may read the channel, and the buttons to those who may order.
    let shown = page(&program, ADMIN, "").await;
    assert!(shown.matches(PRIVATE).count() == 2 && shown.contains(">#attic</a>"), "{shown}");
    assert_eq!(shown.matches("data-testid=\"retry\"").count(), 2, "{shown}");
    let operators = page(&program, OPERATOR, "").await;
    assert_eq!(operators.matches("data-testid=\"drop\"").count(), 2, "{operators}");
    let viewers = page(&program, VIEWER, "").await;
    assert!(!viewers.contains("data-testid=\"retry\""), "{viewers}");
    for shown in [operators, viewers] {
        assert!(!shown.contains(PRIVATE) && !shown.contains("#attic"), "{shown}");
        assert!(shown.contains("restricted_action") && shown.contains(&harness.attic), "{shown}");
    }

    // What waits for a person or is tried again stands before what is over.
    let (now, lately) = shown.split_once("id=\"failures\"").unwrap();
    assert!(now.contains(PRIVATE) && !now.contains("no answer in time"), "{now}");
    assert!(lately.contains("no answer in time") && !lately.contains(PRIVATE), "{lately}");

    // Each filter selects some.
    for (filter, count) in [
        ("?kind=post", 2),
        ("?kind=model", 1),
        ("?kind=look_up", 1),
        ("?model=web_search", 1),
        ("?channel=%23tea", 1),
        ("?channel=attic", 3),
        ("?channel=attic&kind=model", 0),
        ("?workspace=local", 0),
    ] {
        assert_eq!(listed(&program, filter).await.len(), count, "{filter}");
        let shown = page(&program, ADMIN, filter).await;
        assert_eq!(shown.matches("data-testid=\"failure\"").count(), count, "{filter}: {shown}");
    }

    // A dead letter is dropped, by those who may.
    let letters = listed(&program, "?kind=post").await;
    let [newest, oldest] = [0, 1].map(|at: usize| letters[at]["dead_letter"].as_i64().unwrap());
    assert_eq!(settle(&program, VIEWER, &format!("drop {newest}")).await, StatusCode::FORBIDDEN);
    assert_eq!(settle(&program, OPERATOR, &format!("drop {newest}")).await, StatusCode::SEE_OTHER);
    assert_eq!(listed(&program, "?kind=post").await.len(), 1);
    assert_eq!(program.stop(), Some(0));

    // A channel cannot be read after a gap.
    harness.slack.break_history(&harness.tea, Fault::Status(500));
    let program = harness.home.start();
    let described_failures = described(&program).await;
    assert_snapshot!(described_failures, @"
    backfill – in tea: Slack's answer is not known: it answers 500 Internal Server Error, is tried again
    look_up web_search in attic: no answer in time
    model openai/large-1 in tea: the model does not answer now: openai/large-1: it asks to be called less often (429)
    post – in attic: the platform refuses: Slack says restricted_action, a dead letter
    ");
    // Every page and request tells the same numbers.
    let told = json_of(get(&program, Some(ADMIN), "/api/status").await).await;
    let sum = |name: &str| {
        let workspaces = told["workspaces"].as_array().unwrap().iter();
        workspaces.map(|it| it["connection"][name].as_u64().unwrap()).sum::<u64>()
    };
    let health = json_of(get(&program, Some(ADMIN), "/api/health").await).await;
    let models = health["models"].as_array().unwrap().iter();
    let failing = models.filter(|it| it["in_use"] == true && it["failing_since"].is_number());
    let failing = failing.count();
    let (page, home) =
        (page(&program, ADMIN, "").await, get(&program, Some(ADMIN), "/console").await);
    let home = home.text().await.unwrap();
    for (words, count) in [
        ("failing models", failing as u64),
        ("could not be posted", told["dead_letters"].as_u64().unwrap()),
        ("channels not caught up on", sum("behind")),
        ("channels that cannot be read", sum("failing")),
    ] {
        let counted = format!("{words}: {count}<");
        assert!(page.contains(&counted), "{counted} {page}");
        let is_trouble = words == "failing models" || count == 0;
        assert!(is_trouble || home.contains(&counted), "{counted} {home}");
    }
    assert_eq!(home.contains("openai/large-1 fails"), failing == 1, "{home}");
    assert_eq!(sum("failing"), 1);
    assert_eq!(program.stop(), Some(0));

    // A PostgreSQL server lists the same, and the other dead letter is tried again.
    let url = postgres::database();
    let mut migrate = aizuchi();
    migrate.arg("--config").arg(harness.config()).args(["migrate", "--to", &url]);
    migrate.assert().success();
    harness.replace(&format!("sqlite://{}", harness.database().display()), &url);
    let program = harness.home.start();
    assert_eq!(described(&program).await, described_failures);
    harness.will_say(&["under the mat"]);
    assert_eq!(settle(&program, OPERATOR, &format!("retry {oldest}")).await, StatusCode::SEE_OTHER);
    harness.wait_until(|slack| slack.posts().iter().any(|it| it.text == "under the mat")).await;
    assert_eq!(listed(&program, "?kind=post").await.len(), 0);
    assert_eq!(program.stop(), Some(0));
}
