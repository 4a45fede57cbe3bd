//! The reception of posts in Slack: reactions, thanks, requests to stop and deletions are counted, in both languages.

use aizuchi_fakes::slack::journal::RecordedPost;
use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{client, get, json_of, slack_workspace};
use crate::slack::harness::{SlackHarness, SlackOptions};

const YES: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;
const NO: &str = r#"{"should_respond": false, "reason": "nothing to say", "confidence": 0.9, "delay_seconds": null}"#;

struct Words {
    more: &'static str,
    language: &'static str,
    questions: [&'static str; 4],
    reply: &'static str,
    thanks: &'static str,
    stop: &'static str,
    /// The text on the page.
    told: [&'static str; 4],
}

async fn words_are_rated(words: Words) {
    let options = SlackOptions { wait: 0.2, more: words.more, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    harness.home.replace("  announce: false\n", "  announce: false\n  gates: []\n");
    let program = harness.start().await;
    let (tea, mio, ren) = (&harness.tea, &harness.mio, &harness.ren);
    let spoken = async |number: usize| -> RecordedPost {
        harness.will_say(&[YES, words.reply]);
        harness.post_message(tea, mio, words.questions[number]);
        let post = harness.wait_for_posts(number + 1).await.remove(number);
        let spoke = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";
        harness.until_kept(spoke, number as i64 + 1).await;
        post
    };
    let answered = async |user: &str, text: &str, silences: i64| {
        harness.will_say(&[NO]);
        harness.post_message(tea, user, text);
        let silent = "SELECT count(*) FROM decisions WHERE ended = 'chose_silence'";
        harness.until_kept(silent, silences).await;
    };
    let liked = spoken(0).await;
    harness.slack.add_reaction(tea, liked.ts, ren, "+1").unwrap();
    harness.until_kept("SELECT count(*) FROM reactions", 1).await;
    spoken(1).await;
    answered(mio, words.thanks, 1).await;
    spoken(2).await;
    answered(ren, words.stop, 2).await;
    let deleted = spoken(3).await;
    harness.slack.delete_message(tea, deleted.ts).unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 1).await;
    assert_eq!(program.stop(), Some(0));

    // The last hour is not evaluated yet.
    harness.home.age(2).await;
    let program = harness.start().await;
    let workspace = slack_workspace(&program, None).await;
    let figures = format!("/api/figures?workspace={workspace}&days=7");
    let figures = json_of(get(&program, None, &figures).await).await;
    let welcome = figures["welcome"].as_array().unwrap();
    let here = welcome.iter().find(|it| it["id"] == **tea).unwrap();
    assert_eq!(here["words"], json!({ "welcome": 2, "unwelcome": 2, "unclear": 0 }), "{here}");
    for reason in ["liked", "thanked", "told_to_stop", "deleted"] {
        assert_eq!(here["word_reasons"][reason], 1, "{reason}: {here}");
    }
    assert_eq!((&here["labels"], &here["labels_missing"]), (&json!(4), &json!(46)), "{here}");
    let page = format!("{}/console/figures?workspace={workspace}&days=7", program.address);
    let page = client().get(page).header("accept-language", words.language).send().await.unwrap();
    let page = page.text().await.unwrap();
    for told in words.told {
        assert!(page.contains(told), "{told}: {page}");
    }
    let order = client()
        .post(format!("{}/console/orders", program.address))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("order=learn-anew&workspace={}", workspace.replace(':', "%3A")));
    assert_eq!(order.send().await.unwrap().status(), StatusCode::SEE_OTHER);
    harness.until_kept("SELECT count(*) FROM given_orders WHERE kind = 'forget_moments'", 1).await;
    let figures = format!("/api/figures?workspace={workspace}&days=7");
    let figures = json_of(get(&program, None, &figures).await).await;
    assert_eq!(figures["welcome"][0]["labels"], 0, "{figures}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn words_are_rated_by_what_happened_next_in_english() {
    words_are_rated(Words {
        more: "",
        language: "en",
        questions: [
            "where is the kettle?",
            "where is the ladder?",
            "who has the key?",
            "when does the gate open?",
        ],
        reply: "I would look in the shed.",
        thanks: "thanks a lot!",
        stop: "stop!",
        told: ["told to stop", "thanked", "deleted", "Learn anew"],
    })
    .await;
}

#[tokio::test]
async fn words_are_rated_by_what_happened_next_in_japanese() {
    words_are_rated(Words {
        more: "language: ja\n",
        language: "ja",
        questions: [
            "やかんはどこにありますか？",
            "はしごはどこですか？",
            "鍵は誰が持っていますか？",
            "門は何時に開きますか？",
        ],
        reply: "物置を見てみてください。",
        thanks: "ありがとうございます！",
        stop: "やめて",
        told: ["やめるように言われた", "お礼", "削除された", "学び直す"],
    })
    .await;
}
