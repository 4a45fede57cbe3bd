//! After enough clicks a keeper is asked once whether the persona may speak without asking; a yes orders it.

use crate::discord::harness::{DiscordHarness, Setting};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_is_asked_once_whether_it_may_speak_by_itself() {
    for (language, [say, yes], question, settled) in [
        (
            "en",
            ["Say it", "Yes, by yourself"],
            "With confidence over 0.90 you would have let 100 % pass; shall I speak by myself in #tea?",
            "In #tea: I speak by myself.",
        ),
        (
            "ja",
            ["話す", "はい、自分から話して"],
            "これまで、確信度 0.90 以上の案の 100 % が承認されました。#tea では、確認せずに自分から話してもいいですか？",
            "#tea の件は「自分から話す」となりました。",
        ),
    ] {
        let harness = DiscordHarness::with(Setting { wait: 0.2, ..Setting::default() }).await;
        let (mio, keeper) = (harness.mio, harness.ren);
        harness.home.add(&format!(
            "channels:\n  \"#tea\": {{mode: propose, language: {language}, keeper: \"@{keeper}\"}}\n"
        ));
        let program = harness.start().await;
        assert_eq!(program.stop(), Some(0));
        let tea = harness.tea.to_string();
        let workspace = harness.workspace_of(&tea).await;
        harness.seed_clicks(&workspace, &tea, 29).await;
        let program = harness.start().await;
        harness.will_say(&[VERDICT, "By the gate."]);
        harness.says(harness.tea, mio, "does anyone know where the ladder is?");
        let asked = harness.posts(1).await.remove(0);
        let direct = harness.discord.open_direct_message(keeper).unwrap();
        harness.discord.click(direct, asked.id, keeper, say).unwrap();
        let posts = harness.posts(3).await;
        let offers: Vec<_> = posts.iter().filter(|post| post.text.contains(question)).collect();
        assert!(offers.len() == 1 && offers[0].channel == direct, "{posts:?}");
        // Other users cannot decide.
        harness.discord.click(direct, offers[0].id, mio, yes).unwrap();
        harness.discord.click(direct, offers[0].id, keeper, yes).unwrap();
        let is_settled = |discord: &aizuchi_fakes::discord::FakeDiscord| {
            discord.texts(direct).unwrap().iter().any(|text| text == settled)
        };
        harness.until(is_settled).await;
        let ordered = format!(
            "SELECT count(*) FROM modes JOIN room_settings USING (workspace, channel) WHERE channel = '{tea}'
                AND mode = 'companion' AND setting = 'min_confidence' AND role = 'keeper' AND value = '0.9'"
        );
        assert_eq!(harness.count(&ordered).await, 1);
        assert_eq!(program.stop(), Some(0));
        assert_eq!(harness.posts(3).await.len(), 3);
    }
}
