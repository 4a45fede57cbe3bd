//! `aizuchi why`: what it tells of silence and speech, in both languages.

use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::program::{Home, Program};

fn why(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut program = aizuchi();
    let run = program.arg("--config").arg(home.config()).arg("why").args(arguments);
    let output = run.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn closed(room: &Program, line: &str) -> Value {
    let is_it = |kind: &str, data: &Value| {
        let covers = |line: &str| data["messages"].as_array().unwrap().contains(&json!(line));
        kind == "decision" && !data["ended"].is_null() && covers(line)
    };
    room.wait_for(0, is_it).await
}

/// All but figures, which differ each time.
fn without_figures(told: &str) -> String {
    let mut without = String::new();
    for letter in told.chars() {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        if letter != '0' || !without.ends_with('0') {
            without.push(letter);
        }
    }
    without
}

#[tokio::test]
async fn silence_and_speech_are_told_while_the_room_is_open() {
    let home = Home::new(0.1);
    let room = home.start();
    let remark = room.says("alice", "lunch was \u{1b}[31mgood").await;
    closed(&room, &remark).await;
    let (code, told, _) = why(&home, &[&remark]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(without_figures(&told), @r"
    0-0-0 0:0:0 UTC  alice: lunch was [0mgood
    Decision 0 · #general
      Looked at: 0-0-0 0:0:0 UTC  alice: lunch was [0mgood
      Opened: 0-0-0 0:0:0 UTC
      Closed: 0-0-0 0:0:0 UTC
      Mode: companion
      Rules that let it pass: channel mode, muted, quiet hours, own turns, too few lines, directed at somebody else, spoke last, unchanged, cooldown, share of the talk, budget
      The talk: goes on
      Verdict: stay silent
      Reason: nobody asked the room anything
      Confidence: 0.0
      About: alice: lunch was [0mgood
      Call: Judge: used (Model: builtin; At: 0-0-0 0:0:0 UTC; Took: 0.0 s; Tokens (in, of which cached, out): 0 · 0 · 0)
      How it ended: chose silence — nobody asked the room anything
    ");
    let asked = room.says("bob", "@Aizuchi are you there?").await;
    let row = closed(&room, &asked).await;
    let answer = row["said"].as_str().unwrap();
    let (_, told, _) = why(&home, &[&asked, "--channel", "#general"]);
    insta::assert_snapshot!(without_figures(&told), @r"
    0-0-0 0:0:0 UTC  bob: @Aizuchi are you there?
    Decision 0 · #general
      Looked at: 0-0-0 0:0:0 UTC  bob: @Aizuchi are you there?
      Opened: 0-0-0 0:0:0 UTC
      Closed: 0-0-0 0:0:0 UTC
      Mode: companion
      Rules that let it pass: channel mode, muted, budget
      Call: Reply: used (Model: builtin; At: 0-0-0 0:0:0 UTC; Took: 0.0 s; Tokens (in, of which cached, out): 0 · 0 · 0)
      How it ended: spoke — bob asked me
      Said: 0-0-0 0:0:0 UTC  Aizuchi: bob, nothing that was said here answers that, and I know nothing else. Can anyone help?
    ");
    // What it said came of the same decision.
    let (_, again, _) = why(&home, &[answer]);
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), told.lines().skip(1).collect::<Vec<_>>());
    let (_, said, _) = why(&home, &[answer, "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["messages"][0]["id"], answer);
    let rows = room.get(&format!("/api/decisions?message={answer}")).await;
    assert_eq!(said["decisions"], rows["decisions"]);
    assert_eq!(room.stop(), Some(0));
}

#[tokio::test]
async fn it_is_told_in_japanese_too() {
    let home = Home::new(0.1);
    home.add("language: ja\n");
    let room = home.start();
    let remark = room.says("hana", "お昼はおいしかったです").await;
    closed(&room, &remark).await;
    let (code, told, _) = why(&home, &[&remark]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(without_figures(&told), @r"
    0-0-0 0:0:0 UTC  hana: お昼はおいしかったです
    判断 0 · #general
      対象にした発言：0-0-0 0:0:0 UTC  hana: お昼はおいしかったです
      開始：0-0-0 0:0:0 UTC
      終了：0-0-0 0:0:0 UTC
      モード：一員
      通過したルール：チャンネルのモード、ミュート、静かにする時間帯、続けて話した回数、発言の少なさ、ほかの人あて、最後の発言者、変化の有無、発言の間隔、発言の割合、使ってよい量
      会話の状態：続いている
      結論：黙っている
      理由：みんなへの質問はありませんでした
      確信度：0.0
      判断の対象：hana: お昼はおいしかったです
      呼び出し：判断: 採用（モデル：builtin、時刻：0-0-0 0:0:0 UTC、所要時間：0.0 s、トークン（入力・うちキャッシュ・出力）：0 · 0 · 0）
      結果：黙っていることにしました — みんなへの質問はありませんでした
    ");
}

#[tokio::test]
async fn a_line_that_was_settled_when_it_was_heard_says_so() {
    let home = Home::new(1000.0);
    home.add("opted_out: [bob]\n");
    let room = home.start();
    let unheard = room.says("bob", "@Aizuchi hello?").await;
    let (code, told, _) = why(&home, &[&unheard]);
    let gate = "  Settled when it was heard: opted out: its author does not want me to listen\n";
    assert!(code == Some(0) && told.ends_with(gate), "{told}");
    let (_, told, _) = why(&home, &[&unheard, "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (&told["messages"][0]["gate"], &told["decisions"]),
        (&json!("opted_out"), &json!([]))
    );
    // What waits to be judged is told as well.
    let waits = room.says("alice", "where is the ladder?").await;
    let (_, told, _) = why(&home, &[&waits]);
    assert!(told.ends_with("  How it ended: still open\n"), "{told}");
}

#[tokio::test]
async fn what_is_not_known_is_told_in_a_sentence() {
    let home = Home::new(1000.0);
    let (code, _, told) = why(&home, &["x"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("room.db does not exist yet"), "{told}");
    let room = home.start();
    let line = room.says("alice", "hello").await;
    for (arguments, sentence) in [
        (&["x"][..], "aizuchi: there is no message \"x\"\n".to_owned()),
        (
            &["x", "--channel", "attic"],
            "aizuchi: there is no channel \"attic\" in the database\n".to_owned(),
        ),
        (
            &[&*line, "--channel", "random"],
            format!("aizuchi: there is no message {line:?} in \"random\"\n"),
        ),
    ] {
        let (code, said, told) = why(&home, arguments);
        assert_eq!((code, &*said, told), (Some(1), "", sentence));
    }
    assert_eq!(why(&home, &[]).0, Some(2));
}
