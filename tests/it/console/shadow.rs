//! Shadow calls of models from the console: asking a judge again, and trying another persona. Each role sees its share,
//! and no trace is left except in the spending.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, get_in, json_of, set_tokens, slack_workspace,
};
use crate::program::{Home, Program};
use crate::slack::harness::{SlackHarness, SlackOptions};

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
/// A word of a verdict's reason.
const REASON: &str = "nobody answers the kettle";
const PRICES: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";
/// The first call exhausts it.
const SPENT_BUDGET: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\nbudget:\n  tokens_per_day: 5\n";
const NO_PROMPTS: &str = "retention:\n  prompts_days: 0\n";
const CHATTY: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\npersona:\n  system_prompt: You are Hilda, and chatty.\n";
const KETTLE: &str = "where is the kettle? <script>window.pwned = 1</script>";

fn verdict(should_respond: bool, reason: &str) -> String {
    let confidence = if should_respond { 0.8 } else { 0.95 };
    json!({
        "should_respond": should_respond,
        "reason": reason,
        "confidence": confidence,
        "delay_seconds": 0,
    })
    .to_string()
}

async fn team(sections: &'static str) -> (SlackHarness, Program, String) {
    let options = SlackOptions { wait: 0.3, more: sections, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    (harness, program, workspace)
}

/// Starts a workspace in which a judge declined to answer, with a price list.
async fn declined(sections: &'static str) -> (SlackHarness, Program, String) {
    let (harness, program, workspace) = team(sections).await;
    harness.will_say(&[&verdict(false, REASON)]);
    harness.post_message(&harness.tea, &harness.mio, KETTLE);
    let closed = "SELECT count(*) FROM decisions WHERE ended = 'chose_silence'";
    harness.until_kept(closed, 1).await;
    (harness, program, workspace)
}

async fn submit(program: &Program, token: &str, path: &str, fields: &[(&str, &str)]) -> Response {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    client()
        .post(format!("{}{path}", program.address))
        .bearer_auth(token)
        .header("accept", "text/html")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(fields.collect::<Vec<_>>().join("&"))
        .send()
        .await
        .unwrap()
}

/// Returns the text of a page in a language.
async fn shown(program: &Program, token: &str, path: &str, language: &str) -> String {
    get_in(program, Some(token), path, language).await.text().await.unwrap()
}

/// Returns the ledger of a channel, as an admin sees it.
async fn ledger(program: &Program, workspace: &str, channel: &str) -> Value {
    let path = format!("/api/decisions?workspace={workspace}&channel={channel}");
    json_of(get(program, Some(ADMIN), &path).await).await
}

async fn spent(program: &Program, workspace: &str) -> u64 {
    let path = format!("/api/spending?workspace={workspace}");
    let spending = json_of(get(program, Some(ADMIN), &path).await).await;
    spending["workspace"]["tokens_in_day"].as_u64().unwrap()
}

async fn decision_id(program: &Program, workspace: &str, channel: &str) -> i64 {
    ledger(program, workspace, channel).await["decisions"][0]["id"].as_i64().unwrap()
}

/// A case of `eval` stands for the decision as it was made, with what the judge knew besides these messages.
#[tokio::test]
async fn a_marked_decision_is_evaluated_on_the_prompt_that_was_used() {
    let (harness, program, workspace) = declined(PRICES).await;
    let id = decision_id(&program, &workspace, &harness.tea).await;
    let marked = client()
        .post(format!("{}/api/decisions/{id}/mark", program.address))
        .bearer_auth(ADMIN)
        .json(&json!({ "mark": "should_have_spoken" }))
        .send()
        .await
        .unwrap();
    assert_eq!(marked.status(), StatusCode::NO_CONTENT);
    let (file, folder) = (harness.home.path().join("cases"), harness.home.path().join("prompts"));
    let mut export = aizuchi();
    export.arg("--config").arg(harness.home.config()).args(["export", "--marks"]).arg(&file);
    export.assert().success();
    let case: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(case["channel"], "tea", "{case}");
    // Its prompt may tell of other channels.
    let mut export = aizuchi();
    export.arg("--config").arg(harness.home.config());
    let only = export.args(["export", "--marks", "--channel", "tea"]).assert().success();
    let only: Value = serde_json::from_slice(&only.get_output().stdout).unwrap();
    assert_eq!((&only["id"], &only["prompt"]), (&case["id"], &Value::Null));
    let used = case["prompt"].as_str().unwrap();
    assert!(harness.prompt().contains(used) && used.contains("where is the kettle?"), "{used}");
    let mut eval = aizuchi();
    eval.arg("eval").arg(&file).arg("--dump-prompts").arg(&folder);
    eval.assert().success();
    let dumped = std::fs::read_to_string(folder.join(format!("decision-{id}.txt"))).unwrap();
    assert_eq!(dumped, used);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_judge_that_is_asked_again_says_what_has_changed_and_leaves_no_trace() {
    let (harness, program, workspace) = declined(PRICES).await;
    let id = decision_id(&program, &workspace, &harness.tea).await;
    let page = format!("/console/decisions/{workspace}/{id}");
    let judge = format!("{page}/judge");
    let prompt = harness.prompt();

    let opened = shown(&program, ADMIN, &page, "en").await;
    assert!(opened.contains(&format!("href=\"{}\"", judge.replace(':', "%3A"))), "{opened}");
    let priced = shown(&program, ADMIN, &judge, "en").await;
    assert!(priced.contains("openai/large-1 would be asked once: about"), "{priced}");
    assert!(priced.contains(REASON) && priced.contains("data-testid=\"ask\""), "{priced}");
    assert_eq!(harness.model.requests().len(), 1, "the price is told without a call");

    let (before, spent_before) =
        (ledger(&program, &workspace, &harness.tea).await, spent(&program, &workspace).await);
    harness.will_say(&[&verdict(true, "<b>now</b> it is open")]);
    let judged = submit(&program, ADMIN, &judge, &[("cap", "0.5")]).await.text().await.unwrap();
    assert!(judged.contains("The verdict has changed."), "{judged}");
    assert!(
        judged.contains("&#60;b&#62;now&#60;/b&#62;") && !judged.contains("<b>now"),
        "{judged}"
    );
    assert!(judged.contains(REASON) && judged.contains("Recorded (openai/large-1)"), "{judged}");
    assert!(judged.contains("Model calls: 1; ") && judged.contains(">changed<"), "{judged}");
    assert_eq!(harness.model.requests().len(), 2);
    assert_eq!(harness.prompt(), prompt, "what was judged is the talk as it was then");
    assert!(spent(&program, &workspace).await > spent_before, "it is booked");
    assert_eq!(ledger(&program, &workspace, &harness.tea).await, before);
    assert_eq!(harness.slack.posts().len(), 0);

    // The same question is asked again, and shown in Japanese, too.
    harness.will_say(&["it depends"]);
    let request = client().post(format!("{}{judge}", program.address)).bearer_auth(ADMIN);
    let request = request.header("accept-language", "ja").header("accept", "text/html");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let unreadable = request.body("cap=0.5").send().await.unwrap().text().await.unwrap();
    assert!(unreadable.contains("回答を判断として読めません"), "{unreadable}");
    assert_eq!(harness.model.requests().len(), 3);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn only_those_who_may_read_prompts_have_a_judge_asked_again() {
    let (harness, program, workspace) = declined(PRICES).await;
    harness.will_say(&[&verdict(false, &format!("the {CANARY} is lost"))]);
    harness.post_message(&harness.attic, &harness.mio, &format!("who has the {CANARY} key?"));
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 2).await;
    let asked = harness.model.requests().len();
    for channel in [&harness.tea, &harness.attic] {
        let id = decision_id(&program, &workspace, channel).await;
        let page = format!("/console/decisions/{workspace}/{id}");
        let judge = format!("{page}/judge");
        for token in [OPERATOR, VIEWER] {
            let opened = shown(&program, token, &page, "en").await;
            assert!(!opened.contains("data-testid=\"judge-again\""), "{opened}");
            let refused = get(&program, Some(token), &judge).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN);
            let told = refused.text().await.unwrap();
            assert!(!told.contains(CANARY) && !told.contains(REASON), "{told}");
            let refused = submit(&program, token, &judge, &[("cap", "0.5")]).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN);
            let api = format!("{}/api/decisions/{id}/judge", program.address);
            let refused = client().post(api).bearer_auth(token).json(&json!({ "cap": 0.5 }));
            let refused = refused.send().await.unwrap();
            assert_eq!(refused.status(), StatusCode::FORBIDDEN);
            let told = refused.text().await.unwrap();
            assert!(!told.contains(CANARY) && !told.contains(REASON), "{told}");
        }
    }
    assert_eq!(harness.model.requests().len(), asked);
    // A page of another site cannot trigger the call from a browser.
    let id = decision_id(&program, &workspace, &harness.attic).await;
    let judge = format!("{}/console/decisions/{workspace}/{id}/judge", program.address);
    let foreign = client().post(&judge).bearer_auth(ADMIN).header("origin", "https://evil.example");
    let foreign = foreign.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(foreign.body("cap=0.5").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(harness.model.requests().len(), asked);
    // The admin's read of the private channel is recorded.
    let seen = get(&program, Some(ADMIN), &judge[program.address.len()..]).await;
    assert!(seen.text().await.unwrap().contains(CANARY));
    let reads = get(&program, Some(ADMIN), "/api/private-reads").await.text().await.unwrap();
    assert!(reads.contains(&harness.attic), "{reads}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn programs_ask_a_judge_again_too() {
    let (harness, program, workspace) = declined(PRICES).await;
    let id = decision_id(&program, &workspace, &harness.tea).await;
    let ask = async |body: Value| {
        let address = format!("{}/api/decisions/{id}/judge", program.address);
        client().post(address).bearer_auth(ADMIN).json(&body).send().await.unwrap()
    };
    let priced = json_of(ask(json!({})).await).await;
    assert_eq!((&priced["asked"], &priced["judged"]), (&json!(false), &Value::Null), "{priced}");
    assert!(priced["cost"].as_f64().unwrap() > 0.0, "{priced}");
    assert_eq!(harness.model.requests().len(), 1);
    assert_eq!(ask(json!({ "cap": 7 })).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    // The cost cap must be positive.
    let refused = ask(json!({ "cap": 0 })).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(harness.model.requests().len(), 1);
    harness.will_say(&[&verdict(true, "it is open")]);
    let judged = json_of(ask(json!({ "cap": 1, "workspace": workspace })).await).await;
    assert_eq!(judged["asked"], true);
    assert_eq!(judged["judged"]["should_respond"], true);
    assert_eq!(judged["recorded"]["should_respond"], false);
    assert_eq!((&judged["model"], &judged["problem"]), (&json!("openai/large-1"), &Value::Null));
    assert!(judged["tokens"].as_u64().unwrap() > 0, "{judged}");
    assert_eq!(harness.slack.posts().len(), 0);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_spent_budget_refuses_with_a_sentence() {
    let (harness, program, workspace) = declined(SPENT_BUDGET).await;
    let id = decision_id(&program, &workspace, &harness.tea).await;
    let (before, asked) = (spent(&program, &workspace).await, harness.model.requests().len());
    let judge = format!("/console/decisions/{workspace}/{id}/judge");
    let refused = submit(&program, ADMIN, &judge, &[("cap", "1")]).await.text().await.unwrap();
    assert!(refused.contains("The model was not asked"), "{refused}");
    assert!(refused.contains("tokens_per_day"), "{refused}");
    let api = format!("{}/api/decisions/{id}/judge", program.address);
    let refused = client().post(api).bearer_auth(ADMIN).json(&json!({ "cap": 1 }));
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert!(refused.text().await.unwrap().contains("tokens_per_day"));
    let tried = try_persona(&program, ADMIN, (&workspace, &harness.tea), "You are terse.", "ask");
    let tried = tried.await.text().await.unwrap();
    assert!(tried.contains("The model was not asked") && tried.contains("not known"), "{tried}");
    assert_eq!(harness.model.requests().len(), asked);
    assert_eq!(spent(&program, &workspace).await, before);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_cannot_be_judged_again_says_why() {
    let (harness, program, workspace) = declined(NO_PROMPTS).await;
    let id = decision_id(&program, &workspace, &harness.tea).await;
    let judge = format!("/console/decisions/{workspace}/{id}/judge");
    let gone = shown(&program, ADMIN, &judge, "en").await;
    assert!(gone.contains("its prompt is not kept"), "{gone}");
    assert!(!gone.contains("data-testid=\"ask\""), "{gone}");
    let gone = submit(&program, ADMIN, &judge, &[("cap", "1")]).await.text().await.unwrap();
    assert!(gone.contains("its prompt is not kept"), "{gone}");
    let api = format!("{}/api/decisions/{id}/judge", program.address);
    let refused = client().post(api).bearer_auth(ADMIN).json(&json!({ "cap": 1 }));
    assert_eq!(refused.send().await.unwrap().status(), StatusCode::CONFLICT);

    harness.will_say(&["on the top shelf"]);
    harness.post_mention(&harness.tea, &harness.ren, "where is the tea?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let decisions = ledger(&program, &workspace, &harness.tea).await;
    let ids = decisions["decisions"].as_array().unwrap().iter();
    let owed = ids.map(|it| it["id"].as_i64().unwrap()).find(|found| *found != id).unwrap();
    let judge = format!("/console/decisions/{workspace}/{owed}/judge");
    let unjudged = shown(&program, ADMIN, &judge, "ja").await;
    assert!(unjudged.contains("モデルに判断を求めていません"), "{unjudged}");
    let missing = get(&program, Some(ADMIN), "/console/decisions/local/999/judge").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(program.stop(), Some(0));
}

async fn try_persona(
    program: &Program,
    token: &str,
    (workspace, channel): (&str, &str),
    system_prompt: &str,
    action: &str,
) -> Response {
    let place = format!("{}/{channel}", workspace.replace(':', "%3A"));
    let fields = [
        ("name", "Aizuchi"),
        ("system_prompt", system_prompt),
        ("channel", &place),
        ("count", "3"),
        ("action", action),
        ("cap", "1"),
    ];
    submit(program, token, "/console/persona", &fields).await
}

const TERSE: &str = "You are terse.\r\n</textarea><script>window.pwned = 2</script>";

#[tokio::test]
async fn a_persona_is_tried_beside_the_present_one_and_leaves_no_trace() {
    let (harness, program, workspace) = declined(CHATTY).await;
    harness.will_say(&["on the top shelf"]);
    harness.post_mention(&harness.tea, &harness.ren, "where is the tea?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let place = (&*workspace, &*harness.tea);
    let asked = harness.model.requests().len();
    let (before, spent_before) =
        (ledger(&program, &workspace, &harness.tea).await, spent(&program, &workspace).await);

    let form = shown(&program, ADMIN, "/console/persona", "en").await;
    assert!(form.contains("You are Hilda, and chatty.</textarea>"), "{form}");
    assert!(!form.contains("data-testid=\"builtin\""), "{form}");
    let japanese = shown(&program, ADMIN, "/console/persona", "ja").await;
    assert!(japanese.contains("ペルソナを試す") && japanese.contains("人物像と話し方"));
    let priced = try_persona(&program, ADMIN, place, TERSE, "price").await.text().await.unwrap();
    // Two personas at two moments: one is owed an answer, the other was judged first.
    assert!(
        priced.contains("openai/large-1 would be asked. Model calls: at most 6; about"),
        "{priced}"
    );
    assert!(!priced.contains("<script>window"), "{priced}");
    assert!(priced.contains("You are terse.\n&#60;/textarea&#62;"), "{priced}");
    assert!(priced.contains("not known") && priced.contains("where is the kettle?"), "{priced}");
    assert_eq!(harness.model.requests().len(), asked, "the price is told without a call");

    // Calls of one kind run concurrently, so each gets the same response.
    let open = verdict(true, "the kettle is <i>missing</i>");
    harness.will_say(&[&open, &open, "Top shelf.", "Top shelf.", "Top shelf.", "Top shelf."]);
    let tried = try_persona(&program, ADMIN, place, TERSE, "ask").await.text().await.unwrap();
    assert!(tried.contains("Model calls: 6; "), "{tried}");
    assert!(tried.matches("Top shelf.</blockquote>").count() == 4, "{tried}");
    assert!(tried.contains("the kettle is &#60;i&#62;missing"), "{tried}");
    assert!(tried.contains("was asked: it answers") && tried.contains("would speak"), "{tried}");
    assert!(!tried.contains("<script>window") && !tried.contains("<i>missing"), "{tried}");
    assert!(tried.contains("system_prompt: |-\n    You are terse.\n    &#60;/textarea"), "{tried}");
    let requests = harness.model.requests();
    assert_eq!(requests.len(), asked + 6);
    let has = |text: &str| {
        requests[asked..].iter().filter(|it| it.body.to_string().contains(text)).count()
    };
    assert_eq!((has("You are Hilda"), has("You are terse.")), (3, 3));
    assert_eq!(has("on the top shelf"), 0, "what was said later is not known at that moment");

    assert!(spent(&program, &workspace).await > spent_before, "it is booked");
    assert_eq!(ledger(&program, &workspace, &harness.tea).await, before);
    assert_eq!(harness.slack.posts().len(), 1);
    // The answers are cached for a while. Another persona is a separate question.
    let again = try_persona(&program, ADMIN, place, TERSE, "price").await.text().await.unwrap();
    assert!(again.contains("nothing would be asked") && again.contains("Top shelf."), "{again}");
    let present = "You are Hilda, and chatty.";
    let same = try_persona(&program, ADMIN, place, present, "price").await.text().await.unwrap();
    assert!(same.contains("The persona is unchanged") && !same.contains("\"patch\""), "{same}");
    assert_eq!(harness.model.requests().len(), asked + 6);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_persona_is_tried_only_on_what_one_may_read() {
    let (harness, program, workspace) = declined(PRICES).await;
    harness.will_say(&[&verdict(false, &format!("the {CANARY} is lost"))]);
    harness.post_message(&harness.attic, &harness.mio, &format!("who has the {CANARY} key?"));
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 2).await;
    let asked = harness.model.requests().len();
    let operators = shown(&program, OPERATOR, "/console/persona", "en").await;
    assert!(!operators.contains("attic") && !operators.contains(&harness.tea), "{operators}");
    let viewers = shown(&program, VIEWER, "/console/persona", "en").await;
    assert!(viewers.contains("data-testid=\"withheld\""), "{viewers}");
    for channel in [&harness.tea, &harness.attic] {
        let place = (&*workspace, &**channel);
        let tried = try_persona(&program, OPERATOR, place, "You are terse.", "ask").await;
        let told = tried.text().await.unwrap();
        assert!(!told.contains(CANARY) && !told.contains("kettle"), "{told}");
        let refused = try_persona(&program, VIEWER, place, "You are terse.", "ask").await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(harness.model.requests().len(), asked);
    let place = (&*workspace, &*harness.attic);
    let admins = try_persona(&program, ADMIN, place, "You are terse.", "price").await;
    assert!(admins.text().await.unwrap().contains(CANARY));
    let reads = get(&program, Some(ADMIN), "/api/private-reads").await.text().await.unwrap();
    assert!(reads.contains(&harness.attic), "{reads}");
    let unnamed = [("name", " "), ("system_prompt", "x"), ("action", "price")];
    let refused = submit(&program, ADMIN, "/console/persona", &unnamed).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let long = "x".repeat(20_001);
    let refused = try_persona(&program, ADMIN, place, &long, "price").await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(program.stop(), Some(0));
}

/// Without a model the built-in rules judge and reply, at no cost.
#[tokio::test]
async fn the_built_in_rules_are_asked_as_well() {
    let home = Home::new(0.2);
    let program = home.start();
    program.says("ann", "who knows how to descale the kettle?").await;
    home.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let decisions = program.get("/api/decisions?channel=general").await;
    let id = decisions["decisions"][0]["id"].as_i64().unwrap();
    let path = format!("/api/decisions/{id}/judge");
    let (status, judged) = program.send("POST", &path, Some(&json!({ "cap": 0 }))).await;
    assert_eq!((status, &judged["asked"]), (200, &json!(true)), "{judged}");
    assert_eq!(
        judged["recorded"]["should_respond"], judged["judged"]["should_respond"],
        "{judged}"
    );
    let form = [
        ("name", "Mia"),
        ("system_prompt", "You are terse."),
        ("channel", "local/general"),
        ("action", "ask"),
        ("cap", "0"),
    ];
    let tried = submit(&program, "none", "/console/persona", &form).await.text().await.unwrap();
    assert!(
        tried.contains("data-testid=\"builtin\"") && tried.contains("it costs nothing"),
        "{tried}"
    );
    assert!(
        tried.contains("data-testid=\"moment\"") && tried.contains("name: &#34;Mia&#34;"),
        "{tried}"
    );
    let mut after = program.get("/api/decisions?channel=general").await;
    // What people do with a post is noted after its decision is over.
    after["decisions"][0]["revision"] = decisions["decisions"][0]["revision"].clone();
    assert_eq!(after, decisions);
    assert_eq!(program.stop(), Some(0));
}
