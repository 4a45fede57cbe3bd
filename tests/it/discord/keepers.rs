//! A channel's keeper is asked in a direct message before the persona speaks there unasked.

use crate::discord::harness::{DiscordHarness, Setting};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

#[tokio::test]
async fn a_keeper_approves_what_is_said() {
    let harness = DiscordHarness::with(Setting { wait: 0.2, ..Setting::default() }).await;
    let (mio, keeper) = (harness.mio, harness.ren);
    harness.home.add(&format!("channels:\n  \"#tea\": {{mode: propose, keeper: \"@{keeper}\"}}\n"));
    let program = harness.start().await;
    harness.will_say(&[VERDICT, "By the gate."]);
    harness.says(harness.tea, mio, "does anyone know where the ladder is?");
    let asked = harness.posts(1).await.remove(0);
    let direct = harness.discord.open_direct_message(keeper).unwrap();
    assert_eq!(asked.channel, direct);
    assert!(asked.text.starts_with("In #tea I’d say:\n\nBy the gate."), "{}", asked.text);
    // Other users cannot decide.
    let clicked = harness.discord.click(direct, asked.id, mio, "Say it").unwrap();
    let told = |discord: &aizuchi_fakes::discord::FakeDiscord| {
        let responses = discord.interaction(clicked).map(|it| it.responses).unwrap_or_default();
        responses.into_iter().map(|response| response.message.content).collect::<Vec<_>>()
    };
    harness.until(|discord| told(discord) == ["You don’t look after that channel."]).await;
    harness.discord.click(direct, asked.id, keeper, "Say it").unwrap();
    let posts = harness.posts(2).await;
    assert_eq!((posts[1].channel, posts[1].text.as_str()), (harness.tea, "By the gate."));
    harness.until(|discord| discord.texts(direct).unwrap() == ["In #tea: approved."]).await;
    assert!(
        harness.discord.click(direct, asked.id, keeper, "Say it").is_err(),
        "no button is left"
    );
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    // A keeper's question is about another channel, so it is not stored with the direct message.
    assert_eq!(harness.lines(direct).await, [""; 0]);
    assert_eq!(program.stop(), Some(0));
}
