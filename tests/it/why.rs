//! The command `aizuchi why`, which explains decisions, in both languages.

use aizuchi_harness::net::free_port;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::{Home, Program};

fn why(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = aizuchi();
    let run = command.arg("--config").arg(home.config()).arg("why").args(arguments);
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

/// Replaces numbers, which differ each time, with zeros.
fn without_numbers(text: &str) -> String {
    let mut without = String::new();
    for character in text.chars() {
        let character = if character.is_ascii_digit() { '0' } else { character };
        if character != '0' || !without.ends_with('0') {
            without.push(character);
        }
    }
    without
}

#[tokio::test]
async fn silence_and_speech_are_explained_while_the_program_runs() {
    let home = Home::new(0.1);
    let program = home.start();
    let remark = program.says("alice", "my lunch was \u{1b}[31mgood").await;
    closed(&program, &remark).await;
    let (code, text, _) = why(&home, &[&remark]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(without_numbers(&text), @"
    0-0-0 0:0:0 UTC  alice: my lunch was [0mgood
    Decision 0 · #general
      Message: 0-0-0 0:0:0 UTC  alice: my lunch was [0mgood
      Opened: 0-0-0 0:0:0 UTC
      Closed: 0-0-0 0:0:0 UTC
      Mode: joins in at pauses
      Rules that did not apply: channel mode, muted, quiet hours, several turns in a row, too few messages, for someone else, nothing new, nobody waiting, cooldown, share of the conversation, budget
      Conversation: ongoing
      Verdict: stay silent
      Reason: nobody asked the room anything
      Confidence: 0.0 (0.0 was needed to speak)
      About: alice: my lunch was [0mgood
      Model call: Judge: used (Model: none, the built-in rules; At: 0-0-0 0:0:0 UTC; Took: 0.0 s)
      How it ended: stayed silent — nobody asked the room anything
      Page: http://0.0.0.0:0/decisions/0
    ");
    let asked = program.says("bob", "@Aizuchi are you there?").await;
    let row = closed(&program, &asked).await;
    let answer = row["said"].as_str().unwrap();
    let (_, text, _) = why(&home, &[&asked, "--channel", "#general"]);
    insta::assert_snapshot!(without_numbers(&text), @"
    0-0-0 0:0:0 UTC  bob: @Aizuchi are you there?
    Decision 0 · #general
      Message: 0-0-0 0:0:0 UTC  bob: @Aizuchi are you there?
      Opened: 0-0-0 0:0:0 UTC
      Closed: 0-0-0 0:0:0 UTC
      Mode: joins in at pauses
      Rules that did not apply: channel mode, muted, budget
      Model call: Reply: used (Model: none, the built-in rules; At: 0-0-0 0:0:0 UTC; Took: 0.0 s)
      How it ended: spoke — bob asked me
      Said: 0-0-0 0:0:0 UTC  Aizuchi: Yes, bob? Ask me about anything that was said here, or say `@Aizuchi help`.
      Page: http://0.0.0.0:0/decisions/0
    ");
    // The bot's post leads to the same decision.
    let (_, again, _) = why(&home, &[answer]);
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), text.lines().skip(1).collect::<Vec<_>>());
    let (_, stdout, _) = why(&home, &[answer, "--json"]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["messages"][0]["id"], answer);
    let rows = program.get(&format!("/api/decisions?message={answer}")).await;
    assert_eq!(json["decisions"], rows["decisions"]);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_decision_is_explained_in_japanese() {
    let home = Home::new(0.1);
    home.add("language: ja\n");
    let program = home.start();
    let remark = program.says("hana", "私のお昼はおいしかったです").await;
    closed(&program, &remark).await;
    let (code, text, _) = why(&home, &[&remark]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(without_numbers(&text), @"
    0-0-0 0:0:0 UTC  hana: 私のお昼はおいしかったです
    判断 0 · #general
      対象の発言：0-0-0 0:0:0 UTC  hana: 私のお昼はおいしかったです
      開始：0-0-0 0:0:0 UTC
      終了：0-0-0 0:0:0 UTC
      モード：会話の合間に話す
      該当しなかったルール：チャンネルのモード、ミュート、静かにする時間帯、続けて話した回数、発言数の不足、ほかの人宛て、変化なし
      適用されたルール：返事を待つ人なし
      結果：黙っていることにしました — 返事を待っている人はいないようでした
      ページ：http://0.0.0.0:0/decisions/0
    ");
}

#[tokio::test]
async fn a_message_settled_at_intake_is_explained() {
    let home = Home::new(1000.0);
    home.add("opted_out: [bob]\n");
    let program = home.start();
    let unheard = program.says("bob", "@Aizuchi hello?").await;
    let (code, text, _) = why(&home, &[&unheard]);
    let gate = "  Settled on arrival: its author asked me not to listen\n";
    assert!(code == Some(0) && text.ends_with(gate), "{text}");
    let (_, text, _) = why(&home, &[&unheard, "--json"]);
    let text: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&text["messages"][0]["gate"], &text["decisions"]),
        (&json!("opted_out"), &json!([]))
    );
    // A message that waits for its judgment is shown as open.
    let waits = program.says("alice", "where is the ladder?").await;
    let (_, text, _) = why(&home, &[&waits]);
    assert!(text.contains("  How it ended: still open\n"), "{text}");
}

/// A message is found by its link, and a decision by its page, whose address `why` accepts.
#[tokio::test]
async fn links_are_understood() {
    let home = Home::on(aizuchi_harness::net::free_port(), 0.1);
    let program = home.start();
    let remark = program.says("alice", "my lunch was good").await;
    let row = closed(&program, &remark).await;
    let (code, by_id, _) = why(&home, &[&remark]);
    assert_eq!(code, Some(0));
    let page = format!("{}/decisions/{}", program.address, row["id"]);
    assert!(by_id.ends_with(&format!("\n  Page: {page}\n")), "{by_id}");
    let (_, by_link, _) = why(&home, &[&format!("{}/#/general/{remark}", program.address)]);
    assert_eq!(by_link, by_id);
    // The page's decision only, without the message.
    let (code, by_page, _) = why(&home, &[&page]);
    assert_eq!(code, Some(0));
    assert_eq!(by_page.lines().collect::<Vec<_>>(), by_id.lines().skip(1).collect::<Vec<_>>());
    let (code, _, stderr) = why(&home, &["https://example.com/x"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("\"https://example.com/x\": it is not a link to a message"),
        "{stderr}"
    );
    let (_, _, stderr) = why(&home, &[&page.replace(&row["id"].to_string(), "99999")]);
    assert_eq!(stderr, "aizuchi: there is no decision 99999\n");
}

#[tokio::test]
async fn the_newest_decisions_of_a_channel_are_explained() {
    let home = Home::new(0.1);
    let program = home.start();
    let mut ids = Vec::new();
    for text in ["my lunch was good", "mine too", "so was mine"] {
        let remark = program.says("alice", text).await;
        ids.push(closed(&program, &remark).await["id"].clone());
    }
    let (code, text, _) = why(&home, &["--channel", "#general", "--last", "2"]);
    assert_eq!(code, Some(0));
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("Decision ")).collect();
    let expected = [&ids[1], &ids[2]].map(|id| format!("Decision {id} · #general"));
    assert_eq!(titles, expected, "{text}");
    let (_, json, _) = why(&home, &["--channel", "general", "--last", "1", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["messages"], &json["decisions"][0]["id"]), (&json!([]), &ids[2]));
    let (code, _, stderr) = why(&home, &["--channel", "random", "--last", "1"]);
    assert_eq!(
        (code, &*stderr),
        (Some(1), "aizuchi: Aizuchi has not made any decisions in \"random\" yet\n")
    );
    // Without a channel, `--last` shows the newest decisions of all; without arguments, only the newest one is shown.
    let titles = |arguments: &[&str]| {
        let (_, text, _) = why(&home, arguments);
        let titles = text.lines().filter(|line| line.starts_with("Decision "));
        titles.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(titles(&["--last", "2"]), expected);
    assert_eq!(titles(&[]), expected[1..]);
    for wrong in [&["x", "--channel", "random", "--last", "2"][..], &["--last", "0"]] {
        assert_eq!(why(&home, wrong).0, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn errors_are_reported_in_one_sentence() {
    let home = Home::new(1000.0);
    let (code, _, text) = why(&home, &["x"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("room.db does not exist yet"), "{text}");
    let program = home.start();
    let message = program.says("alice", "hello").await;
    for (arguments, sentence) in [
        (&["x"][..], "aizuchi: there is no message \"x\"\n".to_owned()),
        (
            &["x", "--channel", "attic"],
            "aizuchi: there is no channel \"attic\" in the database\n".to_owned(),
        ),
        (
            &[&*message, "--channel", "random"],
            format!("aizuchi: there is no message {message:?} in \"random\"\n"),
        ),
    ] {
        let (code, stdout, stderr) = why(&home, arguments);
        assert_eq!((code, &*stdout, stderr), (Some(1), "", sentence));
    }
}

/// The language is that of the config, the command line, or the locale. The link leads to the running program.
#[tokio::test]
async fn it_is_explained_in_the_language_of_the_person_who_asks() {
    let home = Home::on(free_port(), 0.1);
    let port = free_port().to_string();
    let program = home.start_with(&["--port", &port], &[]);
    let remark = program.says("alice", "my lunch was good").await;
    let decision = closed(&program, &remark).await;
    let explained = |arguments: &[&str], locale: &str| {
        let mut command = aizuchi();
        let command = command.env("LC_ALL", locale).arg("--config").arg(home.config());
        let output = command.args(arguments).arg(&remark).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (english, japanese) = ("How it ended: ", "結果：");
    let page = format!("http://127.0.0.1:{port}/decisions/{}", decision["id"]);
    for (arguments, locale, expected) in [
        (&["why"][..], "C", english),
        (&["why"], "ja_JP.UTF-8", japanese),
        (&["why", "--language", "en"], "ja_JP.UTF-8", english),
        (&["--language", "ja", "why"], "C", japanese),
    ] {
        let text = explained(arguments, locale);
        assert!(text.contains(expected) && text.contains(&page), "{arguments:?} {locale}: {text}");
    }
    home.add("language: en\n");
    assert!(explained(&["why"], "ja_JP.UTF-8").contains(english));
    assert_eq!(program.stop(), Some(0));
    // The program is not running: the link has the config's port, where it will be.
    assert!(!explained(&["why"], "C").contains(&page));
}
