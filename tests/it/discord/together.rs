//! One program in a Slack workspace, on a Discord server and in the local room at once, and what a kotonoha
//! left behind.

use crate::discord::harness::DiscordHarness;
use crate::program::Home;
use crate::slack::harness::SlackHarness as Team;

/// What is said in one place is in no prompt of another.
#[tokio::test]
async fn three_platforms_are_served_and_their_memories_stay_apart() {
    let team = Team::new().await;
    let stage = DiscordHarness::new().await;
    stage.home.add(&format!(
        "slack:\n  bot_token: xoxb-dev\n  app_token: xapp-dev\n  api_base: {}\n",
        team.api
    ));
    let program = stage.start().await;
    team.wait_until(|slack| slack.connection_counts().open >= 2).await;
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    stage.will_say(&["on Discord", "on Slack", "in the room", "in private", "on Discord again"]);

    stage.asks(stage.tea, stage.mio, "remember the word plum");
    stage.posts(1).await;
    team.post_mention(&team.tea, &team.mio, "remember the word cherry");
    team.wait_for_posts(1).await;
    program.says("Aki", "@Aizuchi remember the word apricot").await;
    program.wait_for(0, |_, data| data["text"] == "in the room").await;
    stage.says(direct, stage.ren, "remember the word quince");
    stage.posts(2).await;
    stage.asks(stage.tea, stage.ren, "which word was it?");
    stage.posts(3).await;

    let seen = stage.model.seen();
    let prompts: Vec<String> = seen.iter().map(|seen| seen.body["messages"].to_string()).collect();
    let words = ["plum", "cherry", "apricot", "quince"];
    let knows = prompts.iter().map(|prompt| words.map(|word| prompt.contains(word)));
    let expected = [
        [true, false, false, false],
        [false, true, false, false],
        [false, false, true, false],
        [false, false, false, true],
        [true, false, false, false],
    ];
    assert_eq!(knows.collect::<Vec<_>>(), expected, "{prompts:#?}");
    let workspaces = "SELECT count(DISTINCT workspace) FROM messages";
    stage.until_kept(workspaces, 4).await;
    let ready = program.get("/ready").await;
    assert_eq!(ready["status"], "ready");
    let caught_up = ready["catching_up"].as_array().unwrap();
    let platforms: Vec<_> = caught_up.iter().map(|it| &it["platform"]).collect();
    assert_eq!(platforms, ["Discord", "Slack"]);
    assert!(caught_up.iter().all(|it| it["read"] == it["channels"]), "{ready}");
    assert_eq!(program.stop(), Some(0));
}

/// Its .env becomes a config, with which the program starts and answers.
#[tokio::test]
async fn what_a_kotonoha_was_goes_on() {
    let stage = DiscordHarness::new().await;
    let home = Home::new(1.0);
    let env = format!(
        "DISCORD_TOKEN=dev-discord-token\nOPENAI_API_KEY=sk-test\nLLM_MODEL=openai/large-1\n\
         EAVESDROP_ENABLED_CHANNELS={}\nEAVESDROP_JUDGE_MODEL=openai/large-1\n\
         THREAD_AUTO_ARCHIVE_DURATION=60\nSESSION_TIMEOUT_HOURS=24\n",
        stage.tea
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
    // What only a test needs: where all is.
    let reached = format!("\ndiscord:\n  api_base: {}", stage.api);
    let printed = printed.replacen("\ndiscord:", &reached, 1);
    let model = format!(
        "model_id: openai/large-1\n    client_args: {{api_key: sk-test, api_base: '{}/v1'}}",
        stage.model.base
    );
    let printed = printed.replace("model_id: openai/large-1", &model);
    let kept = format!(
        "storage:\n  url: sqlite://{}\nhttp:\n  listen: 127.0.0.1:0\n",
        home.database().display()
    );
    std::fs::write(home.config(), printed + &kept).unwrap();
    let program = home.start();
    stage.until_heard().await;
    // One of the server's channels is greeted.
    let notice = stage.posts(1).await.remove(0);
    assert!(notice.text.starts_with("はじめまして、ボットの コトノハ です。"), "{}", notice.text);
    stage.will_say(&["はい。"]);
    let asked = stage.asks(stage.tea, stage.mio, "いますか？");
    let post = stage.posts(2).await.remove(1);
    assert_eq!((&*post.text, post.channel.get()), ("はい。", asked.get()));
    assert_eq!(program.stop(), Some(0));
}
