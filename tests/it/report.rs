//! Reports: their content from a replay or the ledger for a team, in both languages, and the harmlessness of all texts
//! in them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Browser;
use crate::browser::accessibility::{AXE, axe_script};
use crate::browser::narrow::resize;
use crate::command::aizuchi;
use crate::program::{Home, Program};

/// Monday, 2 March 2026.
const BEGIN: i64 = 1_772_409_600;

/// Returns ten days of a pottery. Each line consists of a day, a time, a channel, a user and a text.
pub fn recording(talk: &str) -> String {
    let line = |(number, line): (usize, &str)| {
        let mut parts = line.splitn(5, ' ');
        let mut part = || parts.next().unwrap();
        let day: i64 = part().parse().unwrap();
        let clock = part().split(':').fold(0, |sum, unit| sum * 60 + unit.parse::<i64>().unwrap());
        let (room, name, text) = (part(), part(), part());
        json!({
            "room": room, "id": format!("m{number:03}"), "ts": BEGIN + day * 86_400 + clock,
            "author": format!("U-{name}"), "name": name, "text": text, "bot": name.ends_with("-bot"),
        })
        .to_string()
            + "\n"
    };
    talk.lines().enumerate().map(line).collect()
}

/// Creates a folder with this recording.
pub fn folder_with(recording: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    fs::write(&path, recording).unwrap();
    (folder, path)
}

pub fn replay(history: &Path, arguments: &[&str]) -> String {
    let run = aizuchi().arg("replay").arg(history).args(arguments).assert().code(0);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// Returns the page, and the JSON of the same replay.
pub fn page_and_json(history: &Path, arguments: &[&str]) -> (String, Value) {
    let page = history.with_extension("html");
    let page_arguments = ["--json", "--report", page.to_str().unwrap()];
    let json = replay(history, &[&page_arguments, arguments].concat());
    // The page names the history, which is in another folder each time.
    let folder = history.parent().unwrap().to_str().unwrap();
    let shown = fs::read_to_string(page).unwrap().replace(folder, "FOLDER");
    (shown, serde_json::from_str(&json).unwrap())
}

pub fn pottery() -> (TempDir, PathBuf) {
    folder_with(&recording(include_str!("report/history.txt")))
}

/// Returns the visible text: the page without its markup.
pub fn seen(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let mut text = String::new();
    let mut is_tag = false;
    for character in body.chars() {
        match character {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            character if !is_tag => text.push(character),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_page_is_for_its_owner_only() {
    let (_folder, history) = pottery();
    let page = history.with_extension("html");
    replay(&history, &["--report", page.to_str().unwrap()]);
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_page_tells_how_often_at_what_cost_and_where_it_would_disturb() {
    let (_folder, history) = pottery();
    let (page, json) = page_and_json(&history, &[]);
    insta::assert_snapshot!("report_en_text", seen(&page));
    insta::assert_snapshot!(
        "report_en_json",
        serde_json::to_string_pretty(&json["report"]).unwrap()
    );
    assert!(page.len() < 100_000, "{}", page.len());
}

#[test]
fn a_page_in_japanese_says_the_same() {
    let (_folder, history) = pottery();
    let (page, _) = page_and_json(&history, &["--language", "ja"]);
    insta::assert_snapshot!("report_ja_text", seen(&page));
    // The page's language does not affect the decisions.
    let policy = ["--policy", "policies/adaptive.yaml"];
    let (_, english) = page_and_json(&history, &policy);
    let (_, json) = page_and_json(&history, &[&policy[..], &["--language", "ja"]].concat());
    let figures = |json: &Value| {
        let policy = &json["report"]["policies"][0];
        ["posts", "checks", "open_questions", "by_channel", "by_hour"]
            .map(|name| policy[name].clone())
    };
    assert_eq!(figures(&json), figures(&english));
}

#[test]
fn the_same_history_gives_the_same_bytes() {
    let (_folder, history) = pottery();
    let policies = ["--policy", "policies/quiet-300.yaml", "--policy", "policies/adaptive.yaml"];
    let (one, _) = page_and_json(&history, &policies);
    let (again, json) = page_and_json(&history, &policies);
    assert_eq!(one, again);
    // The second policy has a row in the table.
    assert_eq!(json["report"]["policies"].as_array().unwrap().len(), 2);
    assert!(seen(&one).contains("Joins in, adaptive"), "{}", seen(&one));
}

#[test]
fn without_names_nobody_is_recognized() {
    let (_folder, history) = pottery();
    for whom in ["--anonymous", "--anonymous=all"] {
        let (page, json) = page_and_json(&history, &[whom]);
        let shown = format!("{}\n{}", seen(&page), json["report"]).to_lowercase();
        for name in ["ida", "otto", "ruth", "sami", "花", "健太", "clay.example", "kiln.example"]
        {
            let is_word = |at: usize| {
                let around = |character: Option<char>| {
                    character.is_some_and(|one| one.is_ascii_alphabetic())
                };
                !around(shown[..at].chars().next_back())
                    && !around(shown[at + name.len()..].chars().next())
            };
            let found = shown.match_indices(name).find(|(at, _)| is_word(*at) || !name.is_ascii());
            assert!(
                found.is_none(),
                "{name} is shown: {:?}",
                found.map(|(at, _)| {
                    shown[..at]
                        .chars()
                        .rev()
                        .take(60)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                        .collect::<String>()
                })
            );
        }
        assert!(shown.contains("person a") && shown.contains("oven-bot"), "{shown}");
        assert!(shown.contains("[link]") && shown.contains("[e-mail]"), "{shown}");
        assert_eq!(shown.contains("雑談"), whom == "--anonymous");
    }
}

#[test]
fn unknown_is_never_zero() {
    let (_folder, history) = pottery();
    let asks = "--judge model --model anthropic/claude-haiku-4-5 --max-cost 1";
    for judge in ["silent", "builtin"] {
        let (page, json) = page_and_json(&history, &["--judge", judge]);
        let policy = &json["report"]["policies"][0];
        assert_eq!((&policy["posts"], &policy["ways"][2]["posts"]), (&Value::Null, &Value::Null));
        assert_eq!(policy["ways"][0]["posts"]["count"], 0, "{policy}");
        let page = seen(&page);
        let sentence =
            "Aizuchi answers when asked, and posts nothing unasked until it has a model.";
        assert!(page.contains(sentence) && page.contains(asks), "{page}");
    }
    // One judge without any answers, and one with an answer.
    let answers = history.with_file_name("answers.jsonl");
    let judged = |answer: Value| {
        fs::write(&answers, answer.to_string()).unwrap();
        page_and_json(&history, &["--judge", answers.to_str().unwrap()])
    };
    let (_, json) = judged(json!({"room": "nowhere", "message": "m000", "should_respond": false}));
    let policy = &json["report"]["policies"][0];
    assert_eq!(policy["posts"], Value::Null);
    assert!(policy["unknown_verdicts"].as_u64().unwrap() > 3, "{policy}");
    let silent = &events(&history)[0];
    let (page, json) = judged(
        json!({"room": silent["room"], "message": silent["message"], "should_respond": false}),
    );
    let policy = &json["report"]["policies"][0];
    assert_eq!(policy["posts"]["count"], 0);
    let unknown = policy["unknown_verdicts"].as_u64().unwrap();
    let sentence = format!("is not known {unknown} times, so it may be more");
    assert!(unknown > 2 && seen(&page).contains(&sentence), "{}", seen(&page));
    // An hour is too short for a figure per week or month.
    let (_folder, short) = folder_with(&recording(
        "0 08:00:00 help ida Is anyone here, please?\n0 09:00:00 help otto No.\n",
    ));
    let (page, json) = page_and_json(&short, &["--judge", "speak"]);
    let ways = json["report"]["policies"][0]["ways"].as_array().unwrap();
    let is_null = |key: &str| ways.iter().all(|way| way[key].is_null());
    assert!(is_null("posts_per_week") && is_null("price_per_month"), "{ways:?}");
    assert!(!seen(&page).contains("Posts a week"), "{}", seen(&page));
}

/// Returns the judge calls of a replay.
fn events(history: &Path) -> Vec<Value> {
    let events = history.with_file_name("events.jsonl");
    replay(history, &["--judge", "silent", "--events", events.to_str().unwrap()]);
    let lines = fs::read_to_string(events).unwrap();
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["kind"] == "judge_called").collect()
}

/// A silence is shown about a question, and the message that a moment is about is not cut.
#[test]
fn moments_are_shown_in_their_conversations() {
    let long = format!("Does anyone know which glaze is safe for cups? {}", "x".repeat(400));
    let (_folder, history) = folder_with(&recording(&format!(
        "0 08:00:00 help ida {long}\n\
         0 08:01:00 help ruth hm, the clear one maybe, but I would ask otto {}\n\
         0 12:00:00 help sami How long does the small kiln take, does anyone know?\n\
         1 15:00:00 help ida why does `make kiln` fail, who knows?\n",
        "y".repeat(400),
    )));
    let answers = history.with_file_name("answers.jsonl");
    let lines = events(&history).into_iter().map(|call| {
        let is_yes = call["message"] != "m001";
        let reason = if is_yes { "nobody answers" } else { "she asks otto" };
        json!({"room": "help", "message": call["message"], "should_respond": is_yes, "reason": reason})
            .to_string()
    });
    fs::write(&answers, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let (page, json) = page_and_json(&history, &["--judge", answers.to_str().unwrap()]);
    let moments = json["report"]["policies"][0]["moments"].as_array().unwrap();
    assert!(moments.iter().any(|one| one["group"] == "open_question"), "{moments:#?}");
    for moment in moments {
        let before = moment["before"].as_array().unwrap();
        let about: Vec<&Value> = before.iter().filter(|line| line["is_about"] == true).collect();
        assert_eq!(about.len(), 1, "{moment:#}");
        let text = about[0]["text"].as_str().unwrap();
        assert_eq!(text.starts_with("Does"), text.ends_with('x'), "{text}");
        let cut = before.iter().filter(|line| line["is_about"] == false);
        assert!(cut.into_iter().all(|line| line["text"].as_str().unwrap().len() < 330));
    }
    assert!(page.contains("<code>make kiln</code>") && seen(&page).contains("nobody answers"));
}

#[test]
fn the_terminal_gets_a_summary_and_the_table_on_request() {
    let (_folder, history) = pottery();
    insta::assert_snapshot!(replay(&history, &[]));
    let table = replay(&history, &["--internals"]);
    assert!(table.contains("| judge calls "), "{table}");
    let json: Value = serde_json::from_str(&replay(&history, &["--internals", "--json"])).unwrap();
    assert!(json.get("report").is_none() && json["policies"][0]["score"].is_object());
}

const HOSTILE: [&str; 8] = [
    "<script>window.pwned = 1</script>",
    "\"><img src=x onerror=\"window.pwned = 1\">",
    "'><svg onload='window.pwned = 1'>",
    "</title></style></details><script>window.pwned = 1</script>",
    "{{ 7 * 7 }} {% include \"report.html\" %}",
    "javascript:window.pwned=1",
    "<!-- --><iframe srcdoc=\"<script>parent.pwned=1</script>\"></iframe>",
    "\u{202e}gnp.exe\u{0}\u{1b}[31m &lt;b&gt; &amp;",
];

/// Names of users and channels, and messages, are shown as text.
#[tokio::test]
async fn no_text_runs_in_a_page() {
    let mut lines = String::new();
    for (number, hostile) in HOSTILE.iter().enumerate() {
        for (step, (author, text)) in [
            (
                format!("{hostile}?"),
                format!("Does anyone know *w{hostile}*, `{hostile}` or {hostile}?"),
            ),
            (format!("other {hostile}"), format!("<@{hostile}> yes: {hostile}")),
        ]
        .into_iter()
        .enumerate()
        {
            let line = json!({
                "room": format!("room {hostile}"), "id": format!("m{number}-{step} {hostile}"),
                "ts": BEGIN + 9000 * number as i64 + 3000 * step as i64,
                "author": author, "name": author, "text": text,
            });
            lines.push_str(&format!("{line}\n"));
        }
    }
    let (_folder, history) = folder_with(&lines);
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    for arguments in [
        &[][..],
        &["--anonymous", "--language", "ja"],
        &["--policy", "policies/quiet-300.yaml", "--policy", "policies/adaptive.yaml"],
    ] {
        let (page, _) = page_and_json(&history, arguments);
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<iframe"));
        // Text inside a mark is escaped, too.
        assert!(arguments.contains(&"--anonymous") || page.contains("<b>w&#"), "{page}");
        let address = format!("file://{}", history.with_extension("html").display());
        tab.open_page(&address).await;
        let run = "return [typeof window.pwned, document.scripts.length, document.querySelectorAll('iframe, img, object, embed, link, form').length, document.querySelectorAll('[onload], [onerror], [onclick]').length, document.querySelectorAll('article').length > 0]";
        assert_eq!(tab.evaluate(run).await, json!(["undefined", 0, 0, 0, true]));
        // The page loads no resources.
        let loaded = "return performance.getEntriesByType('resource').length";
        assert_eq!(tab.evaluate(loaded).await, json!(0));
    }
    browser.close().await;
}

/// Requirements of screen readers, and no page wider than a phone.
#[tokio::test]
async fn a_page_is_accessible_and_fits_a_phone() {
    let (_folder, history) = pottery();
    let check = r#"
        const wrong = [];
        if (document.documentElement.lang !== LANGUAGE) wrong.push("lang");
        if (document.querySelectorAll("h1").length !== 1) wrong.push("one h1");
        const levels = [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.tagName[1]));
        levels.reduce((before, level) => { if (level > before + 1) wrong.push("heading " + level); return level; }, 0);
        for (const table of document.querySelectorAll("table")) {
            if (!table.caption) wrong.push("a table without caption");
            for (const head of table.querySelectorAll("th")) if (!head.scope) wrong.push("th without scope");
        }
        for (const svg of document.querySelectorAll("svg")) {
            if (!svg.getAttribute("aria-label") || !svg.querySelector("title")) wrong.push("svg without title");
        }
        const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        if (new Set(ids).size !== ids.length) wrong.push("an id twice");
        for (const part of document.querySelectorAll("[aria-labelledby]")) {
            if (!document.getElementById(part.getAttribute("aria-labelledby"))) wrong.push("aria-labelledby");
        }
        const number = (text) => text.match(/[\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
            .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
        const behind = (one) => {
            for (let at = one; at; at = at.parentElement) {
                const color = getComputedStyle(at).backgroundColor;
                if (color !== "rgba(0, 0, 0, 0)") return number(color);
            }
            return [255, 255, 255];
        };
        for (const one of document.querySelectorAll("main *")) {
            const has_text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
            if (!has_text || one.closest("svg") || !one.offsetParent) continue;
            const [text, ground] = [light(number(getComputedStyle(one).color)), light(behind(one))];
            const contrast = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
            if (contrast < 4.5) wrong.push(`${one.className || one.tagName}: ${contrast.toFixed(2)}`);
        }
        const wide = document.documentElement.scrollWidth - innerWidth;
        if (wide > 0) wrong.push(`${wide} px too wide`);
        return wrong;"#;
    let (axe, browser) = (axe_script(), Browser::start_touched().await);
    let tab = browser.blank().await;
    resize(&tab, 360).await;
    for language in ["en", "ja"] {
        let policies =
            ["--policy", "policies/quiet-300.yaml", "--policy", "policies/adaptive.yaml"];
        page_and_json(&history, &[&policies[..], &["--language", language]].concat());
        let page = format!("file://{}", history.with_extension("html").display());
        let check = check.replace("LANGUAGE", &json!(language).to_string());
        for (media, scheme) in [("screen", "light"), ("screen", "dark"), ("print", "light")] {
            let features = [json!({ "name": "prefers-color-scheme", "value": scheme })];
            let emulated = json!({ "media": media, "features": features });
            tab.send_devtools("Emulation.setEmulatedMedia", emulated).await;
            tab.open_page(&page).await;
            let variant = format!("{language} {media} {scheme}");
            assert_eq!(tab.evaluate(&check).await, json!([]), "{variant}");
            tab.evaluate(&axe).await;
            assert_eq!(tab.evaluate_later(AXE, vec![]).await, json!([]), "{variant}");
        }
    }
    browser.close().await;
}

fn report(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = aizuchi();
    let run = command.arg("--config").arg(home.config()).arg("report").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Waits for the closed decision on a message.
async fn closed(program: &Program, message: &str) -> Value {
    let is_it = |kind: &str, data: &Value| {
        let covers = |message: &str| data["messages"].as_array().unwrap().contains(&json!(message));
        kind == "decision" && !data["ended"].is_null() && covers(message)
    };
    program.wait_for(0, is_it).await
}

/// In observe mode, the ledger shows what it would have posted, while the program runs.
#[tokio::test]
async fn what_it_would_have_done_is_reported_while_it_observes() {
    let home = Home::new(0.1);
    home.add("channels:\n  general: {mode: observe, min_confidence: 0.3}\n");
    let program = home.start();
    let (code, _, error) = report(&home, &[]);
    assert_eq!(code, Some(1));
    assert!(
        error
            .contains("Aizuchi made no decisions in the last 7 days; let it run where people talk"),
        "{error}"
    );
    let asked = program.says("alice", "does anyone know where the ladder is?").await;
    let decided = closed(&program, &asked).await;
    assert_eq!(
        (&decided["ended"], &decided["verdict"]["should_respond"]),
        (&json!("muted"), &json!(true))
    );
    let page = home.path().join("week.html");
    let (code, text, error) = report(&home, &["--html", page.to_str().unwrap()]);
    assert_eq!((code, &*error), (Some(0), ""));
    let sentence = "Aizuchi would have spoken once in your channel, where it only listens";
    assert!(text.contains(sentence), "{text}");
    let page = seen(&fs::read_to_string(page).unwrap());
    for part in
        ["From its own ledger", "does anyone know where the ladder is?", "would have spoken here"]
    {
        assert!(page.contains(part), "{part:?} is missing: {page}");
    }
    let (_, json, _) =
        report(&home, &["--json", "--channel", "#general", "--last", "2h", "--anonymous"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let policy = &json["report"]["policies"][0];
    assert_eq!((&policy["posts"]["count"], &policy["unposted"]), (&json!(1), &json!(1)));
    assert!(!json.to_string().contains("alice"), "{json:#}");
    let (code, _, error) = report(&home, &["--channel", "nowhere"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("there is no channel \"nowhere\""), "{error}");
    let (code, _, error) = report(&home, &["--last", "soon"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("such as 36h, 7d or 2w"), "{error}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_report_shows_nothing_of_users_who_opted_out_later() {
    let home = Home::new(0.1);
    home.add("channels:\n  general: {mode: observe, min_confidence: 0.3}\n");
    let program = home.start();
    for (user, text) in [
        ("alice", "does anyone know where the purple ladder is?"),
        ("bob", "does anyone know where the kiln key is?"),
    ] {
        let asked = program.says(user, text).await;
        closed(&program, &asked).await;
    }
    let ordered = program.says("alice", "@Aizuchi opt out").await;
    closed(&program, &ordered).await;
    let page = home.path().join("week.html");
    let (code, _, error) = report(&home, &["--html", page.to_str().unwrap()]);
    assert_eq!((code, &*error), (Some(0), ""));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("kiln") && !page.contains("purple"), "{page}");
    let (_, json, _) = report(&home, &["--json"]);
    assert!(!json.contains("purple"), "{json}");
    assert_eq!(program.stop(), Some(0));
}
