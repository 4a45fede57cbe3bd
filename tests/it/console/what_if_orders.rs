//! Trying other settings where a user has ordered a confidence: the page says that the config's value would not apply.

use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{ADMIN, get_in, post};
use crate::console::what_if::judged;

#[tokio::test]
async fn a_patch_that_an_order_overrides_says_so() {
    let (harness, program, workspace) = judged().await;
    let gates = "gate=directed&gate=unchanged&gate=nothing_open&gate=cooldown&gate=share";
    let page = format!(
        "/console/channels/{workspace}/{}/what-if?days=1&min_confidence=0.9&{gates}",
        harness.tea
    );
    let shown = async |language: &str| {
        get_in(&program, Some(ADMIN), &page, language).await.text().await.unwrap()
    };
    let free = shown("en").await;
    assert!(free.contains("data-testid=\"patch\""), "{free}");
    assert!(!free.contains("data-testid=\"patch-note\""), "{free}");
    let body = json!({
        "workspace": workspace, "channel": harness.tea, "setting": "min_confidence", "value": "0.75"
    });
    let done = post(&program, Some(ADMIN), "/api/settings", body).await;
    assert_eq!(done, StatusCode::NO_CONTENT);
    for (language, place, instead) in [
        ("en", "set for this channel", "set confidence 0.9”"),
        ("ja", "このチャンネルの設定", "確信度を0.9にして"),
    ] {
        let told = shown(language).await;
        assert!(told.contains("data-testid=\"patch-note\""), "{told}");
        assert!(told.contains(place) && told.contains(instead), "{told}");
    }
    assert_eq!(program.stop(), Some(0));
}
