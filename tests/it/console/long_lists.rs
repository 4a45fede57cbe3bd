//! Lists with more rows than fit on one page or in one response.

use reqwest::StatusCode;
use sqlx::AssertSqlSafe;

use crate::console::harness::{ADMIN, OPERATOR, client, get, json_of, set_tokens, slack_workspace};
use crate::slack::harness::SlackHarness;

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
    let reads = get(&program, Some(ADMIN), "/console/orders?kind=read_private").await;
    let reads = reads.text().await.unwrap();
    assert!(reads.contains("The newest 200 are shown here; there are older ones."), "{reads}");
    assert!(reads.contains(&format!("before={}#journal", 3_600_000 * 51)), "{reads}");
    // The list of failures is in pages of 25, the newest first.
    let page = async |query: &str| {
        let page = format!("/console/failures{query}");
        get(&program, Some(OPERATOR), &page).await.text().await.unwrap()
    };
    let newest = page("").await;
    assert!(newest.contains("error 250.") && !newest.contains("error 225."), "{newest}");
    assert!(newest.contains("href=\"/console/failures?failures_after=25#failures\""), "{newest}");
    let oldest = page("?failures_after=225").await;
    assert!(oldest.contains("error 1.") && !oldest.contains("data-testid=\"next-failures\""));
    assert!(oldest.contains("data-testid=\"first-failures\""), "{oldest}");
    let here = page(&format!("?workspace={workspace}&kind=post")).await;
    assert!(here.contains("error 250."), "{here}");
    for told in ["failing models: 0<", "could not be posted: 250<", "channels not caught up on: 0<"]
    {
        assert!(newest.contains(told), "{told}: {newest}");
    }
    for elsewhere in ["?workspace=local", "?kind=model", "?channel=attic", "?days=7"] {
        let elsewhere = page(elsewhere).await;
        assert!(elsewhere.contains("data-testid=\"no-failures\""), "{elsewhere}");
    }
    let path = format!("/api/failures?workspace={workspace}&failures_after=200");
    let failures = json_of(get(&program, Some(OPERATOR), &path).await).await;
    assert_eq!(
        (&failures["total"], failures["failures"].as_array().unwrap().len()),
        (&250.into(), 50)
    );
    // An item beyond the first page is dropped, in its own workspace only.
    let drop = async |query: &str| {
        let address = format!("{}/api/dead-letters/100007{query}", program.address);
        client().delete(address).bearer_auth(OPERATOR).send().await.unwrap().status()
    };
    assert_eq!(drop("?workspace=local").await, StatusCode::NOT_FOUND);
    assert_eq!(drop(&format!("?workspace={workspace}")).await, StatusCode::NO_CONTENT);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn an_open_proposal_stays_listed_however_many_come_later() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let mut database = harness.lock_database().await;
    // The first one is open until the year 2100.
    for put in [
        "INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
        SELECT 100000 + n, ?1, ?2, '', 1000 * n, 1000 * n, 0, 'proposed', 0 FROM n",
        "INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state)
        SELECT 100000 + n, 100000 + n, ?1, ?2, '', 100000 + n, 'k' || n, 'words ' || n,
            json_object('owed', json('[]'), 'about', 'm', 'considered', 1, 'ends', 'spoke', 'why', 'w'), 'proposed'
        FROM n WHERE n = 1",
        "INSERT INTO proposals (id, workspace, channel, thread, decision, made_ms, expires_ms, state)
        SELECT 100000 + n, ?1, ?2, '', 100000 + n, 1000 * n, 4102444800000,
            CASE n WHEN 1 THEN 'open' ELSE 'lapsed' END FROM n",
    ] {
        let numbers =
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 150)";
        let put = sqlx::query(AssertSqlSafe(format!("{numbers} {put}")));
        put.bind(&workspace).bind(&harness.tea).execute(&mut database).await.unwrap();
    }
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let listed = async |workspace: &str| {
        let path = format!("/api/proposals?workspace={workspace}");
        let page = json_of(get(&program, Some(ADMIN), &path).await).await;
        let rows = page["proposals"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let newest = (100_051..=100_150).rev();
    assert_eq!(listed(&workspace).await, newest.chain([100_001]).collect::<Vec<_>>());
    assert_eq!(listed("local").await, Vec::<i64>::new());
    let queue = get(&program, Some(ADMIN), "/console/queue").await.text().await.unwrap();
    assert!(queue.contains("words 1"), "{queue}");
    assert_eq!(program.stop(), Some(0));
}
