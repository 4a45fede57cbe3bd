//! A standing order by an admin on Discord is a draft at first, and the answer says what it would have changed there.
//! In both languages.

use serde_json::json;

use crate::discord::harness::{DiscordHarness, Setting};

const PRICES: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";
const JAPANESE_PRICES: &str =
    "language: ja\nmodels:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";

struct Words {
    more: &'static str,
    question: &'static str,
    reply: &'static str,
    order: &'static str,
    text: &'static str,
    drafted: &'static str,
    told: &'static str,
    keep: &'static str,
    kept: &'static str,
}

fn verdict(should_respond: bool) -> String {
    let confidence = if should_respond { 0.8 } else { 0.95 };
    json!({
        "should_respond": should_respond,
        "reason": "as it is",
        "confidence": confidence,
        "delay_seconds": 0,
    })
    .to_string()
}

async fn an_order_is_tried(words: Words) {
    let setting = Setting { wait: 0.3, more: words.more, ..Setting::default() };
    let harness = DiscordHarness::with(setting).await;
    harness.home.replace("  announce: false\n", "  announce: false\n  order_trial_cost: 1\n");
    // The owner of the server, and a member.
    let (tea, mio, ren) = (harness.tea, harness.mio, harness.ren);
    let program = harness.start().await;
    harness.will_say(&[&verdict(true), words.reply]);
    harness.says(tea, ren, words.question);
    harness.posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;

    let asked = harness.model.requests().len();
    harness.will_say(&[&verdict(false), &verdict(true)]);
    harness.asks(tea, mio, words.order);
    let told = harness.posts(2).await.remove(1).text;
    for expected in [words.drafted, words.text, words.told] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let requests = harness.model.requests();
    assert_eq!(requests.len(), asked + 2);
    let has_order = |number: usize| requests[number].body.to_string().contains(words.text);
    assert!(has_order(asked) && !has_order(asked + 1), "the second is asked without it");
    let drafts = "SELECT count(*) FROM standing_orders WHERE is_draft = 1";
    assert_eq!(harness.count(drafts).await, 1);

    harness.asks(tea, mio, words.keep);
    let kept = harness.posts(3).await.remove(2).text;
    assert!(kept.contains(words.kept), "{kept}");
    harness.until_kept(drafts, 0).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn an_order_is_tried_before_it_holds_in_english() {
    an_order_is_tried(Words {
        more: PRICES,
        question: "where is the kettle?",
        reply: "on the top shelf",
        order: "in this channel: never about kettles",
        text: "never about kettles",
        drafted: "Draft 1, for this channel",
        told: "Of 1 time I spoke here unasked in the last 7 days, 1 would have stayed silent.",
        keep: "keep order 1",
        kept: "Noted as order 1",
    })
    .await;
}

#[tokio::test]
async fn an_order_is_tried_before_it_holds_in_japanese() {
    an_order_is_tried(Words {
        more: JAPANESE_PRICES,
        question: "やかんはどこにありますか？",
        reply: "上の棚です",
        order: "このチャンネルでは：やかんの話はしない",
        text: "やかんの話はしない",
        drafted: "下書き1（このチャンネル）",
        told: "直近 7 日間にここで自分から話した 1 回のうち、1 回は黙っていたはずです。",
        keep: "指示1を採用して",
        kept: "指示1として受け付けました",
    })
    .await;
}
