//! One program in a Slack workspace, on a Discord server and in the local room at once; and the migration from
//! kotonoha.

use serde_json::Value;

use crate::discord::harness::DiscordHarness;
use crate::program::Home;
use crate::slack::harness::SlackHarness;

/// No message of one platform is in a prompt of another.
#[tokio::test]
async fn three_platforms_are_served_and_their_memories_stay_apart() {
    let slack = SlackHarness::new().await;
    let harness = DiscordHarness::new().await;
    harness.home.add(&format!(
        "slack:\n  bot_token: xoxb-dev\n  app_token: xapp-dev\n  api_base: {}\n",
        slack.api
    ));
    let program = harness.start().await;
    slack.wait_until(|fake| fake.connection_counts().open >= 2).await;
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    harness.will_say(&["on Discord", "on Slack", "in the room", "in private", "on Discord again"]);

    harness.asks(harness.tea, harness.mio, "remember the word plum");
    harness.posts(1).await;
    slack.post_mention(&slack.tea, &slack.mio, "remember the word cherry");
    slack.wait_for_posts(1).await;
    program.says("Aki", "@Aizuchi remember the word apricot").await;
    program.wait_for(0, |_, data| data["text"] == "in the room").await;
    harness.says(direct, harness.ren, "remember the word quince");
    harness.posts(2).await;
    harness.asks(harness.tea, harness.ren, "which word was it?");
    harness.posts(3).await;

    let seen = harness.model.requests();
    let prompts: Vec<String> = seen.iter().map(|seen| seen.body["messages"].to_string()).collect();
    let words = ["plum", "cherry", "apricot", "quince"];
    let known = prompts.iter().map(|prompt| words.map(|word| prompt.contains(word)));
    let expected = [
        [true, false, false, false],
        [false, true, false, false],
        [false, false, true, false],
        [false, false, false, true],
        [true, false, false, false],
    ];
    assert_eq!(known.collect::<Vec<_>>(), expected, "{prompts:#?}");
    let workspaces = "SELECT count(DISTINCT workspace) FROM messages";
    harness.until_kept(workspaces, 4).await;
    let is_all_read = |ready: &Value| {
        let backfills = ready["catching_up"].as_array();
        backfills.is_some_and(|all| all.iter().all(|it| it["read"] == it["channels"]))
    };
    let ready = program.until("/ready", is_all_read).await;
    assert_eq!(ready["status"], "ready");
    let backfills = ready["catching_up"].as_array().unwrap();
    let platforms: Vec<_> = backfills.iter().map(|it| &it["platform"]).collect();
    assert_eq!(platforms, ["Discord", "Slack"]);
    assert_eq!(program.stop(), Some(0));
}

/// kotonoha's `.env` becomes a config with which the program starts and answers.
#[tokio::test]
async fn a_kotonoha_env_becomes_a_working_config() {
    let harness = DiscordHarness::new().await;
    let home = Home::new(1.0);
    let env = format!(
        "DISCORD_TOKEN=dev-discord-token\nOPENAI_API_KEY=sk-test\nLLM_MODEL=openai/large-1\n\
         EAVESDROP_ENABLED_CHANNELS={}\nEAVESDROP_JUDGE_MODEL=openai/large-1\n\
         THREAD_AUTO_ARCHIVE_DURATION=60\nSESSION_TIMEOUT_HOURS=24\n\
         HEALTH_CHECK_ENABLED=false\n",
        harness.tea
    );
    std::fs::write(home.path().join(".env"), env).unwrap();
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"))
        .args(["config", "from-env"])
        .current_dir(home.path())
        .output()
        .unwrap();
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(!printed.contains("dev-discord-token") && !printed.contains("sk-test"), "{printed}");
    // Point the config at the fakes.
    let reached = format!("\ndiscord:\n  api_base: {}", harness.api);
    let printed = printed.replacen("\ndiscord:", &reached, 1);
    let model = format!(
        "model_id: openai/large-1\n    client_args: {{api_key: sk-test, api_base: '{}/v1'}}",
        harness.model.base
    );
    let printed = printed.replace("model_id: openai/large-1", &model);
    let storage = format!(
        "storage:\n  url: sqlite://{}\nhttp:\n  listen: 127.0.0.1:0\n",
        home.database().display()
    );
    std::fs::write(home.config(), printed + &storage).unwrap();
    let program = home.start();
    harness.until_heard().await;
    // The introduction is posted in one of the server's channels.
    let notice = harness.posts(1).await.remove(0);
    assert!(notice.text.starts_with("はじめまして、ボットのコトノハです。"), "{}", notice.text);
    harness.will_say(&["はい。"]);
    let asked = harness.asks(harness.tea, harness.mio, "いますか？");
    let post = harness.posts(2).await.remove(1);
    assert_eq!((&*post.text, post.channel.get()), ("はい。", asked.get()));
    assert_eq!(program.stop(), Some(0));
}
