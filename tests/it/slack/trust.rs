//! After enough clicks a keeper is asked once whether the persona may speak without asking; a yes orders it.

use crate::slack::harness::{SlackHarness, SlackOptions};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_is_asked_once_whether_it_may_speak_by_itself() {
    for (language, question, settled) in [
        (
            "en",
            "With confidence over 0.90 you would have let 100 % pass; shall I speak by myself in #tea?",
            "In #tea: I speak by myself.",
        ),
        (
            "ja",
            "これまで、確信度 0.90 以上の案の 100 % が承認されました。#tea では、確認せずに自分から話してもいいですか？",
            "#tea の件は「自分から話す」となりました。",
        ),
    ] {
        let options = SlackOptions { wait: 0.2, ..SlackOptions::default() };
        let harness = SlackHarness::with(options).await;
        let keeper = &harness.ren;
        harness.home.add(&format!(
            "channels:\n  \"#tea\": {{mode: propose, language: {language}, keeper: \"@{keeper}\"}}\n"
        ));
        assert_eq!(harness.start().await.stop(), Some(0));
        let workspace = harness.workspace_of(&harness.tea).await;
        harness.seed_clicks(&workspace, &harness.tea, 29).await;
        let program = harness.start().await;
        harness.will_say(&[VERDICT, "By the gate."]);
        harness.post_message(&harness.tea, &harness.mio, "does anyone know where the ladder is?");
        let asked = harness.wait_for_posts(1).await.remove(0);
        let direct = harness.slack.open_direct_message(keeper).unwrap();
        harness.slack.click(&direct, asked.ts, keeper, "say").unwrap();
        let posts = harness.wait_for_posts(3).await;
        let offers: Vec<_> = posts.iter().filter(|post| post.text.contains(question)).collect();
        assert!(offers.len() == 1 && offers[0].channel == direct, "{posts:?}");
        // Other users cannot decide.
        harness.slack.click(&direct, offers[0].ts, &harness.mio, "by_itself").unwrap();
        harness.slack.click(&direct, offers[0].ts, keeper, "by_itself").unwrap();
        harness
            .wait_until(|slack| slack.texts(&direct).unwrap().contains(&settled.to_owned()))
            .await;
        let ordered = format!(
            "SELECT count(*) FROM modes JOIN room_settings USING (workspace, channel) WHERE channel = '{}'
                AND mode = 'companion' AND setting = 'min_confidence' AND role = 'keeper' AND value = '0.9'",
            harness.tea
        );
        assert_eq!(harness.count(&ordered).await, 1);
        let by = format!("SELECT count(*) FROM given_orders WHERE given_by LIKE '{keeper} %'");
        assert_eq!(harness.count(&by).await, 1);
        assert_eq!(program.stop(), Some(0));
        assert_eq!(harness.slack.posts().len(), 3);
    }
}
