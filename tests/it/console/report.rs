//! The cached report: its lifetime, and its readers.

use aizuchi_fakes::slack::ts::Ts;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use serde_json::{Value, json};
use sqlx::raw_sql;

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, get, json_of, set_tokens, slack_workspace};
use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
/// The token of a second admin.
const ADA: &str = "quartz-ladder-8814402957";
const REASON: &str = "nobody answers the kettle";
const QUESTION: &str = "where is the kettle?";
/// The marker of a cached report's time.
const AS_OF: &str = "data-testid=\"as-of\"";
const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

/// A workspace in which the persona took up two questions unasked, one in a public and one in a private channel.
struct Team {
    harness: SlackHarness,
    program: Program,
    workspace: String,
    question: Ts,
}

impl Team {
    async fn new() -> Self {
        let options = SlackOptions { wait: 0.3, ..SlackOptions::default() };
        let harness = SlackHarness::with(options).await;
        set_tokens(&harness);
        let first = "    - {name: olga";
        harness.replace(first, &format!("    - {{name: ada, role: admin, token: {ADA}}}\n{first}"));
        let program = harness.start().await;
        let verdict = format!(
            r#"{{"should_respond": true, "reason": "{REASON}", "confidence": 0.8, "delay_seconds": 0}}"#
        );
        harness.will_say(&[&verdict, "on the top shelf"]);
        let question = harness.post_message(&harness.tea, &harness.mio, QUESTION);
        harness.wait_for_posts(1).await;
        harness.until_kept(SPOKE, 1).await;
        harness.will_say(&[&verdict, CANARY]);
        harness.post_message(&harness.attic, &harness.mio, "where is the lamp?");
        harness.wait_for_posts(2).await;
        harness.until_kept(SPOKE, 2).await;
        let workspace = slack_workspace(&program, Some(ADMIN)).await;
        Self { harness, program, workspace, question }
    }

    async fn report(&self, token: &str, more: &str) -> String {
        let page = format!("/console/report?workspace={}&days=1{more}", self.workspace);
        get(&self.program, Some(token), &page).await.text().await.unwrap()
    }

    async fn revision(&self) -> Value {
        let status = get(&self.program, Some(ADMIN), "/api/status").await;
        json_of(status).await["revision"].clone()
    }
}

/// A change of the database behind the program's back is not noticed until the program itself erases something.
#[tokio::test]
async fn a_second_look_reads_nothing_until_something_is_taken_back() {
    let team = Team::new().await;
    let mut tries = 0;
    let marker = loop {
        tries += 1;
        assert!(tries < 20, "something is committed all the time");
        let before = team.revision().await;
        let first = team.report(ADMIN, "").await;
        let marker = format!("behind door {tries}");
        let change = format!(
            "UPDATE messages SET text = '{marker}' WHERE author_kind = 'persona' AND visibility = 'public'; COMMIT"
        );
        let mut database = team.harness.lock_database().await;
        raw_sql(sqlx::AssertSqlSafe(change)).execute(&mut database).await.unwrap();
        let second = team.report(ADMIN, "").await;
        if team.revision().await == before {
            assert!(first.contains("top shelf") || tries > 1, "{first}");
            assert!(!second.contains(&marker), "{second}");
            break marker;
        }
    };
    let harness = &team.harness;
    let thanks = harness.post_message(&harness.tea, &harness.ren, "thank you");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'thank you'", 1).await;
    // Added messages leave the cached report valid, which then shows its time.
    let shown = team.report(ADMIN, "").await;
    assert!(!shown.contains(&marker) && shown.contains(AS_OF), "{shown}");
    // The page does not name command-line options.
    assert!(shown.contains("as people wrote them") && !shown.contains("--anonymous"));
    harness.slack.delete_message(&harness.tea, thanks).unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 1).await;
    let shown = team.report(ADMIN, "").await;
    assert!(shown.contains(&marker) && !shown.contains(AS_OF), "{shown}");
    assert_eq!(team.program.stop(), Some(0));
}

/// The calls for memory, too, are part of what the report says that it cost.
#[tokio::test]
async fn a_report_costs_what_the_pages_of_figures_say() {
    let team = Team::new().await;
    let mut database = team.harness.lock_database().await;
    let remembered = "UPDATE attempts SET price_micros = 640000; \
        CREATE TEMP TABLE remembered AS SELECT * FROM attempts LIMIT 1; \
        UPDATE remembered SET id = NULL, verb = 'remember', price_micros = 2940000; \
        INSERT INTO attempts SELECT * FROM remembered; COMMIT";
    raw_sql(remembered).execute(&mut database).await.unwrap();
    let figures = format!("/api/figures?workspace={}&days=7", team.workspace);
    let figures = json_of(get(&team.program, Some(ADMIN), &figures).await).await;
    // Two judgments, two replies, and the memory.
    let total = figures["total"]["money"].as_f64().unwrap();
    assert!((total - 5.5).abs() < 1e-9, "{figures}");
    let shown = team.report(ADMIN, "&private=true").await;
    assert!(shown.contains("$5.50 as the console counts it"), "{shown}");
    let mut command = aizuchi();
    let command = command.arg("--config").arg(team.harness.home.config());
    let run = command.args(["report", "--private", "--json"]).assert().success();
    let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    let cost = &report["report"]["policies"][0]["cost"];
    assert_eq!((&cost["total"], &cost["memory"]), (&json!(5.5), &json!(2.94)), "{cost}");
    assert_eq!(team.program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_deleted_or_forgotten_is_in_no_kept_report() {
    let team = Team::new().await;
    let harness = &team.harness;
    assert!(team.report(ADMIN, "").await.contains(QUESTION));
    harness.slack.delete_message(&harness.tea, team.question).unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 1).await;
    let shown = team.report(ADMIN, "").await;
    assert!(!shown.contains("kettle"), "{shown}");

    let private = team.report(ADMIN, "&private=true").await;
    assert!(private.contains("where is the lamp?"), "{private}");
    harness.slack.run_command(&harness.tea, &harness.mio, "/aizuchi", "forget me, yes").unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%the lamp%'", 0).await;
    let private = team.report(ADMIN, "&private=true").await;
    assert!(!private.contains("the lamp") && !private.contains("Mio"), "{private}");
    assert_eq!(team.program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_said_in_a_channel_that_turns_private_is_in_no_kept_report() {
    let team = Team::new().await;
    let harness = &team.harness;
    assert!(team.report(ADMIN, "").await.contains(QUESTION));
    harness.slack.make_private(&harness.tea, &harness.mio).unwrap();
    let private =
        "SELECT count(*) FROM messages WHERE visibility = 'private' AND text LIKE '%kettle%'";
    harness.until_kept(private, 1).await;
    let shown = team.report(ADMIN, "").await;
    assert!(!shown.contains("kettle") && !shown.contains("top shelf"), "{shown}");
    assert_eq!(team.program.stop(), Some(0));
}

#[tokio::test]
async fn nobody_sees_the_report_of_somebody_who_may_see_more() {
    let team = Team::new().await;
    assert!(team.report(ADMIN, "&private=true").await.contains(CANARY));
    let plain = team.report(ADMIN, "").await;
    assert!(plain.contains("top shelf") && !plain.contains(CANARY), "{plain}");
    for token in [OPERATOR, VIEWER] {
        for more in ["", "&private=true"] {
            let shown = team.report(token, more).await;
            assert!(!shown.contains(CANARY) && !shown.contains("attic"), "{shown}");
            assert!(!shown.contains(REASON) && !shown.contains("top shelf"), "{shown}");
        }
    }
    // A read of a cached report is recorded, too, under the name of the reader.
    assert!(team.report(ADA, "&private=true").await.contains(CANARY));
    let reads = json_of(get(&team.program, Some(ADMIN), "/api/private-reads").await).await;
    let reads = reads["reads"].as_array().unwrap();
    for reader in ["http.token", "ada"] {
        let theirs = reads.iter().filter(|read| read["reader"] == reader);
        assert!(theirs.clone().all(|read| read["channel"] == *team.harness.attic), "{reads:?}");
        let mut kinds: Vec<_> = theirs.map(|read| read["what"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, ["decisions", "messages"], "{reader}: {reads:?}");
    }
    assert_eq!(team.program.stop(), Some(0));
}

/// Roles that give orders there can read the whole report.
#[tokio::test]
async fn operators_read_the_report_of_the_local_room() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let team = slack_workspace(&program, Some(ADMIN)).await;
    let withheld = texts::console::report_withheld(Language::En);
    for (workspace, token, expected) in [
        ("local", ADMIN, false),
        ("local", OPERATOR, false),
        ("local", VIEWER, true),
        (&*team, ADMIN, false),
        (&*team, OPERATOR, true),
        (&*team, VIEWER, true),
    ] {
        let page = format!("/console/report?workspace={workspace}");
        let shown = get(&program, Some(token), &page).await.text().await.unwrap();
        assert_eq!(shown.contains(withheld), expected, "{workspace} {token}: {shown}");
    }
    assert_eq!(program.stop(), Some(0));
}
