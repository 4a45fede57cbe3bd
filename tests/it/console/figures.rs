//! The page of figures and its API.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::console::decisions::newest_closed;
use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, get, json_of, post, set_tokens, slack_workspace,
};
use crate::slack::harness::SlackHarness;

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

/// The largest number comes first, and each page has 15 channels.
#[tokio::test]
async fn channels_are_sorted_and_found() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let mut database = harness.lock_database().await;
    // The channel `C<n>-` has n decisions, and those of C7- spoke.
    let put = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30)
        INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
        SELECT 100000 + 100 * a.n + b.n, ?1, 'C' || a.n || '-', '', ?2, ?2, 0,
            CASE WHEN a.n = 7 THEN 'spoke' ELSE 'chose_silence' END, 0
        FROM n AS a JOIN n AS b ON b.n <= a.n";
    let now = jiff::Timestamp::now().as_millisecond();
    sqlx::query(put).bind(&workspace).bind(now).execute(&mut database).await.unwrap();
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let rows = async |query: &str| {
        let page = format!("/console/figures?workspace={workspace}&days=7{query}");
        let page = get(&program, Some(VIEWER), &page).await.text().await.unwrap();
        let rows: Vec<String> = page
            .split("data-testid=\"by-channel\"")
            .skip(1)
            .map(|row| {
                let name = row.split("<th scope=\"row\">").nth(1).unwrap();
                let name = name.split("</th>").next().unwrap();
                name.rsplit_once("\">").map_or(name, |(_, name)| name).replace("</a>", "")
            })
            .collect();
        (rows, page)
    };
    let (first, page) = rows("&sort=decisions").await;
    let expected: Vec<String> = (16..=30).rev().map(|n| format!("C{n}-")).collect();
    assert_eq!(first, expected);
    assert!(
        page.contains("sort=decisions&#38;channels_after=15#channels\" rel=\"next\""),
        "{page}"
    );
    let (second, _) = rows("&sort=decisions&channels_after=15").await;
    assert_eq!(second[..3], ["C15-", "C14-", "C13-"]);
    assert_eq!(rows("&sort=spoke").await.0[0], "C7-");
    let (found, page) = rows("&channel=c2&sort=decisions").await;
    let expected: Vec<String> = (20..30).rev().map(|n| format!("C{n}-")).collect();
    assert_eq!(found, [expected, vec!["C2-".to_owned()]].concat());
    assert!(!page.contains("next-channels"), "{page}");
    let (none, page) = rows("&channel=zebra").await;
    assert!(none.is_empty() && page.contains("data-testid=\"no-channel\""), "{page}");

    // Without a workspace, those of all are in one table, before any chart.
    let mut database = harness.lock_database().await;
    let put = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 31)
        INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
        SELECT 200000 + n, 'local', 'hall', '', ?1, ?1, 0, 'chose_silence', 0 FROM n; COMMIT";
    let put = put.replace("?1", &now.to_string());
    sqlx::raw_sql(sqlx::AssertSqlSafe(put)).execute(&mut database).await.unwrap();
    drop(database);
    let page = "/console/figures?days=7&sort=decisions&channel=";
    let page = get(&program, Some(VIEWER), page).await.text().await.unwrap();
    let sections: Vec<&str> = page.split("data-testid=\"by-channel\"").collect();
    let named = |row: &str, channel: &str, label: &str| {
        row.contains(&format!(">{channel}</a> <small>{label}</small>"))
    };
    assert_eq!(sections.len(), 1 + 15, "{page}");
    assert!(!sections[0].contains("data-testid=\"chart\""), "{page}");
    assert!(named(sections[1], "hall", "Local room"), "{page}");
    assert!(sections[2].contains(">C30-</a> <small>"), "{page}");
    assert_eq!(program.stop(), Some(0));
}
