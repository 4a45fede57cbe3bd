//! Slack's response to a keeper's question is lost: the question is posted once, and is settled as usual. The channel
//! is in Japanese, and so is everything that its keeper reads.

use aizuchi_fakes::slack::fault::Fault;

use crate::slack::harness::{SlackHarness, SlackOptions};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_is_asked_once_though_the_answer_was_lost() {
    let options = SlackOptions { wait: 0.2, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    let keeper = &harness.ren;
    harness.home.add(&format!(
        "channels:\n  \"#tea\": {{mode: propose, language: ja, keeper: \"@{keeper}\"}}\n"
    ));
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::ResetAfter);
    harness.will_say(&[VERDICT, "門のそばです。"]);
    harness.post_message(&harness.tea, &harness.mio, "はしごはどこにありますか？");
    let asked = harness.wait_for_posts(1).await.remove(0);
    let direct = harness.slack.open_direct_message(keeper).unwrap();
    assert_eq!(asked.channel, direct);
    assert!(asked.text.contains("#tea で、こう話そうと思います。"), "{}", asked.text);
    assert!(asked.arguments.to_string().contains("今は話さない"), "{}", asked.arguments);
    // Its buttons work before the program knows the message's id.
    harness.slack.click(&direct, asked.ts, keeper, "not_now").unwrap();
    harness.until_kept("SELECT count(*) FROM proposals WHERE state = 'declined'", 1).await;
    assert_eq!(program.stop(), Some(0));
    assert_ne!(
        harness.slack.texts(&direct).unwrap(),
        ["#tea の件は「今は話さない」となりました。"]
    );
    harness.age_question().await;
    let program = harness.start().await;
    harness
        .wait_until(|slack| {
            slack.texts(&direct).unwrap() == ["#tea の件は「今は話さない」となりました。"]
        })
        .await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}
