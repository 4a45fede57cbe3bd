//! The feed of the home page, and the mute of everything.

use jiff::Timestamp;
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, json_of, post, set_tokens, slack_workspace,
};
use crate::program::Program;
use crate::slack::harness::SlackHarness;

/// The decisions of two channels, one a second: every third was said, and of the others every second failed.
const DECISIONS: &str = "
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 120)
    INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, gate, revision)
    SELECT 100000 + n, ?1, CASE n % 4 WHEN 0 THEN ?2 ELSE ?3 END, '', ?4 + 1000 * n, ?4 + 1000 * n, 0,
        CASE n % 3 WHEN 0 THEN 'spoke' WHEN 1 THEN 'chose_silence' ELSE 'failed' END,
        CASE n % 3 WHEN 1 THEN 'quiet_hours' END, 0 FROM n";

fn rows(page: &str) -> usize {
    page.matches("data-testid=\"feed-row\"").count()
}

#[tokio::test]
async fn the_feed_is_filtered_and_read_page_by_page() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let empty = get(&program, Some(OPERATOR), "/console").await.text().await.unwrap();
    assert!(empty.contains("a line with the reason appears here"), "{empty}");
    let begin = Timestamp::now().as_millisecond() - 200_000;
    let mut database = harness.lock_database().await;
    let put = sqlx::query(AssertSqlSafe(DECISIONS)).bind(&workspace).bind(&harness.tea);
    put.bind(&harness.attic).bind(begin).execute(&mut database).await.unwrap();
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let page = async |query: &str| {
        get(&program, Some(OPERATOR), &format!("/console?{query}")).await.text().await.unwrap()
    };
    // Returns the numbers of all rows, page by page.
    let walk = async |query: &str| {
        let (mut seen, mut query) = (Vec::new(), query.to_owned());
        loop {
            let shown = page(&query).await;
            let found = shown.split("data-key=\"decision-").skip(1);
            seen.extend(found.map(|row| row.split('"').next().unwrap().parse::<i64>().unwrap()));
            assert!(shown.len() < 100_000, "{}", shown.len());
            let Some((before, _)) = shown.split_once("\" rel=\"next\" data-testid=\"older-feed\"")
            else {
                return seen;
            };
            let older = before.rsplit_once("href=\"/console?").unwrap().1;
            query = older.replace("&#38;", "&").replace("#feed", "");
        }
    };
    let ids = |passes: &dyn Fn(i64) -> bool| -> Vec<i64> {
        (1..=120).rev().filter(|n| passes(*n)).map(|n| 100_000 + n).collect()
    };
    assert_eq!(walk("").await, ids(&|_| true));
    assert_eq!(walk(&format!("workspace={workspace}")).await, ids(&|_| true));
    assert_eq!(walk("result=said").await, ids(&|n| n % 3 == 0));
    assert_eq!(walk("result=held_back").await, ids(&|n| n % 3 == 1));
    assert_eq!(walk("result=failed").await, ids(&|n| n % 3 == 2));
    assert_eq!(walk("reason=quiet_hours").await, ids(&|n| n % 3 == 1));
    assert_eq!(walk("channel=%23Tea").await, ids(&|n| n % 4 == 0));
    assert_eq!(walk(&format!("channel={}&result=said", harness.tea)).await, ids(&|n| n % 12 == 0));
    for query in ["result=waiting", "reason=muted", "channel=kitchen", "workspace=local"] {
        assert_eq!(rows(&page(query).await), 0, "{query}");
    }
    assert!(page("result=waiting").await.contains("data-testid=\"feed-empty\""));
    // The operator does not know the private channel's name.
    assert_eq!(rows(&page("channel=attic").await), 0);
    let attic = get(&program, Some(ADMIN), "/console?channel=attic").await.text().await.unwrap();
    assert_eq!(rows(&attic), 50);
    // These decisions have posted nothing.
    let said = page("result=said").await;
    assert!(said.contains(">nothing said</a>") && !said.contains(">spoke</a>"), "{said}");
    let silent = page("result=held_back").await;
    assert!(silent.contains("it was during quiet hours"), "{silent}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_feed_shows_each_role_the_words_it_may_read() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["the attic is dusty", "the tea is hot"]);
    harness.post_mention(&harness.attic, &harness.mio, "what is up there?");
    harness.wait_for_posts(1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(2).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 2).await;
    for (token, public, private) in
        [(VIEWER, false, false), (OPERATOR, true, false), (ADMIN, true, true)]
    {
        let shown = get(&program, Some(token), "/console?result=said").await.text().await.unwrap();
        assert_eq!(rows(&shown), 2, "{shown}");
        assert_eq!(shown.contains("the tea is hot"), public, "{shown}");
        assert_eq!(shown.contains("the attic is dusty"), private, "{shown}");
        assert_eq!(shown.contains("#attic"), private, "{shown}");
        let withheld = 2 - usize::from(public) - usize::from(private);
        let told = format!("Texts not shown below: {withheld}. Your role can’t read");
        assert_eq!(shown.contains(&told), withheld > 0, "{shown}");
        assert!(!shown.contains("(text not shown)"), "{shown}");
        assert_eq!(shown.matches("text hidden from your role").count(), withheld, "{shown}");
        let reason = if token == ADMIN { "Ren asked me" } else { ">reason hidden<" };
        assert!(shown.contains(reason), "{shown}");
        assert_eq!(shown.matches(">spoke</a>").count(), 2, "{shown}");
    }
    let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
    let reads = reads["reads"].as_array().unwrap();
    assert!(!reads.is_empty() && reads.iter().all(|it| it["channel"] == json!(harness.attic)));
    // A post that is gone is not one that it made.
    let mut database = harness.lock_database().await;
    let gone = "UPDATE messages SET deleted_ms = at_ms, text = '' WHERE text = 'the tea is hot'";
    sqlx::query(gone).execute(&mut database).await.unwrap();
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let shown = get(&program, Some(ADMIN), "/console?result=said").await.text().await.unwrap();
    assert!(shown.contains(">withdrawn</a>") && shown.contains(">spoke</a>"), "{shown}");
    assert_eq!(program.stop(), Some(0));
}

/// The decisions and the cost of two days ago.
const TWO_DAYS_AGO: [&str; 2] = [
    "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 14)
     INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
     SELECT 200000 + n, ?1, ?2, '', ?3, ?3, 0, 'spoke', 0 FROM n",
    "INSERT INTO unclaimed_calls
        (workspace, channel, at_ms, kind, model, calls, input_tokens, cached_tokens, output_tokens,
         usage_is_estimated, price_micros, cache_write_tokens)
     VALUES (?1, ?2, ?3, 'judge', 'openai/test', 1, 10, 0, 0, 0, 5, 0)",
];

#[tokio::test]
async fn the_home_page_compares_today_with_the_week_before() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let mut database = harness.lock_database().await;
    for put in TWO_DAYS_AGO {
        let at = Timestamp::now().as_millisecond() - 2 * 86_400_000;
        let put = sqlx::query(put).bind(&workspace).bind(&harness.tea).bind(at);
        put.execute(&mut database).await.unwrap();
    }
    sqlx::query("COMMIT").execute(&mut database).await.unwrap();
    drop(database);
    let home = get(&program, Some(VIEWER), "/console").await.text().await.unwrap();
    assert!(home.contains("said: <b>0</b></a> <small>usually 2.0 a day</small>"), "{home}");
    assert!(home.contains("failed: <b>0</b></a> <small>usually 0.0 a day</small>"), "{home}");
    assert_eq!(home.matches("class=\"sparkline\"").count(), 2, "{home}");
    let pointed = home.matches("<title>Yesterday: 0</title>").count();
    assert!(
        pointed == 1 && home.contains(": 14</title>") && home.contains("<title>Today: 0</title>")
    );
    // The server writes times as people say them, and keeps them exact beside.
    assert!(!home.contains(" UTC</time>"), "{home}");
    assert!(home.contains("Everything works.") && home.contains("nothing waits"), "{home}");
    assert_eq!(home.matches("data-testid=\"day\"").count(), 1, "{home}");
    assert_eq!(program.stop(), Some(0));
}

async fn order(program: &Program, token: &str, order: &str, value: Option<&str>) -> Response {
    let value = value.map(|value| format!("&value={}", encode(value))).unwrap_or_default();
    let form = client().post(format!("{}/console/orders", program.address)).bearer_auth(token);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    form.body(format!("order={order}{value}")).send().await.unwrap()
}

/// Returns when the mute of each workspace ends.
async fn mutes(program: &Program) -> Vec<Option<f64>> {
    let status = json_of(get(program, Some(VIEWER), "/api/status").await).await;
    let workspaces = status["workspaces"].as_array().unwrap().iter();
    workspaces.map(|it| it["muted_until"].as_f64()).collect()
}

#[tokio::test]
async fn everything_is_muted_in_one_click_and_gets_back_what_it_had() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let hour = json!({ "workspace": workspace, "minutes": 60 });
    assert_eq!(post(&program, Some(OPERATOR), "/api/mute", hour).await, StatusCode::NO_CONTENT);
    let before = mutes(&program).await;
    assert!(matches!(before[..], [None, Some(_)]), "{before:?}");

    assert_eq!(
        order(&program, VIEWER, "mute-everything", None).await.status(),
        StatusCode::FORBIDDEN
    );
    let shown = get(&program, Some(VIEWER), "/console").await.text().await.unwrap();
    assert!(!shown.contains("mute-everything") && shown.contains("data-testid=\"glance\""));
    assert_eq!(mutes(&program).await, before);

    let muted = async || {
        let answer = order(&program, OPERATOR, "mute-everything", None).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        answer.headers()[LOCATION].to_str().unwrap().to_owned()
    };
    let answer = muted().await;
    let end = mutes(&program).await[0];
    assert_eq!(mutes(&program).await, [end, end]);
    assert!(end > before[1]);
    let shown = get(&program, Some(OPERATOR), &answer).await.text().await.unwrap();
    let replaced =
        shown.split_once("name=\"value\" value=\"").unwrap().1.split_once('"').unwrap().0;
    let replaced = replaced.replace("&#34;", "\"");
    assert!(shown.contains("data-testid=\"undo-mute\""), "{shown}");
    // A second click has nothing to mute and nothing to undo.
    let again = muted().await;
    assert_eq!(again, format!("/console?undo={}", encode("[]")));
    let page = get(&program, Some(OPERATOR), &again).await.text().await.unwrap();
    assert!(!page.contains("data-testid=\"undo-mute\""), "{page}");

    let undone = order(&program, OPERATOR, "unmute-everything", Some(&replaced)).await;
    assert_eq!(undone.headers()[LOCATION], "/console?undo=undone");
    assert_eq!(mutes(&program).await, before);
    let speaks = get(&program, Some(OPERATOR), "/console?undo=undone").await.text().await.unwrap();
    assert!(speaks.contains("It speaks again."), "{speaks}");
    let shown = get(&program, Some(OPERATOR), &answer).await.text().await.unwrap();
    assert!(!shown.contains("data-testid=\"undo-mute\""), "{shown}");

    // What was changed in the meantime is left alone.
    muted().await;
    let minute = json!({ "workspace": workspace, "minutes": 1 });
    assert_eq!(post(&program, Some(OPERATOR), "/api/mute", minute).await, StatusCode::NO_CONTENT);
    let changed = mutes(&program).await[1];
    order(&program, OPERATOR, "unmute-everything", Some(&replaced)).await;
    assert_eq!(mutes(&program).await, [None, changed]);
    order(&program, OPERATOR, "unmute-everything", None).await;
    assert_eq!(mutes(&program).await, [None, None]);
    let malformed = order(&program, OPERATOR, "unmute-everything", Some("nonsense")).await;
    assert_eq!(malformed.status(), StatusCode::UNPROCESSABLE_ENTITY);

    let journal = json_of(get(&program, Some(OPERATOR), "/api/orders").await).await;
    let given = journal["orders"].as_array().unwrap();
    assert!(given.iter().all(|it| it["by"] == "olga" && it["channel"] == Value::Null), "{journal}");
    assert_eq!(program.stop(), Some(0));
}
