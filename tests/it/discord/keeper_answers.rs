//! Discord's response to a keeper's question is lost: the question is posted once, and is settled as usual. The channel
//! is in Japanese, and so is everything that its keeper reads.

use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;

use crate::discord::harness::{DiscordHarness, Setting};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_is_asked_once_though_the_answer_was_lost() {
    let harness = DiscordHarness::with(Setting { wait: 0.2, ..Setting::default() }).await;
    let (mio, keeper) = (harness.mio, harness.ren);
    harness.home.add(&format!(
        "channels:\n  \"#tea\": {{mode: propose, language: ja, keeper: \"@{keeper}\"}}\n"
    ));
    let program = harness.start().await;
    harness.discord.inject_fault(Method::CreateMessage, Fault::ResetAfter);
    harness.will_say(&[VERDICT, "門のそばです。"]);
    harness.says(harness.tea, mio, "はしごはどこにありますか？");
    let asked = harness.posts(1).await.remove(0);
    let direct = harness.discord.open_direct_message(keeper).unwrap();
    assert_eq!(asked.channel, direct);
    assert!(asked.text.starts_with("#tea で、こう話そうと思います。"), "{}", asked.text);
    // Its buttons work before the program knows the message's id.
    harness.discord.click(direct, asked.id, keeper, "今は話さない").unwrap();
    harness.until_kept("SELECT count(*) FROM proposals WHERE state = 'declined'", 1).await;
    assert_eq!(program.stop(), Some(0));
    let settled = |discord: &aizuchi_fakes::discord::FakeDiscord| {
        discord.texts(direct).unwrap() == ["#tea の件は「今は話さない」となりました。"]
    };
    assert!(!settled(&harness.discord));
    harness.age_question().await;
    let program = harness.start().await;
    harness.until(settled).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.posts(1).await.len(), 1);
}
