//! A channel's keeper is asked in a direct message before the persona speaks there unasked.

use crate::slack::harness::{SlackHarness, SlackOptions};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_approves_what_is_said() {
    let harness = SlackHarness::with(SlackOptions { wait: 0.2, ..SlackOptions::default() }).await;
    let keeper = &harness.ren;
    harness.home.add(&format!("channels:\n  \"#tea\": {{mode: propose, keeper: \"@{keeper}\"}}\n"));
    let program = harness.start().await;
    harness.will_say(&[VERDICT, "By the gate."]);
    harness.post_message(&harness.tea, &harness.mio, "does anyone know where the ladder is?");
    let asked = harness.wait_for_posts(1).await.remove(0);
    let direct = harness.slack.open_direct_message(keeper).unwrap();
    assert_eq!(asked.channel, direct);
    assert!(asked.text.contains("In #tea I’d say:"), "{}", asked.text);
    assert!(asked.text.contains("By the gate."), "{}", asked.text);
    // Other users cannot decide.
    harness.slack.click(&direct, asked.ts, &harness.mio, "say").unwrap();
    harness.slack.click(&direct, asked.ts, keeper, "say").unwrap();
    let posts = harness.wait_for_posts(2).await;
    assert_eq!((&posts[1].channel, posts[1].text.as_str()), (&harness.tea, "By the gate."));
    harness.wait_until(|slack| slack.texts(&direct).unwrap() == ["In #tea: approved."]).await;
    assert!(harness.slack.click(&direct, asked.ts, keeper, "say").is_err(), "no button is left");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let marked = format!("SELECT count(*) FROM decision_marks WHERE marked_by LIKE '{keeper} %'");
    assert_eq!(harness.count(&marked).await, 1);
    // A keeper's question is about another channel, so it is not stored with the direct message.
    let kept = format!("SELECT count(*) FROM messages WHERE channel = '{direct}'");
    assert_eq!(harness.count(&kept).await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 2);
}
