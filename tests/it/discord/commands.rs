//! The slash command `/aizuchi` and its ephemeral responses.

use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::command::{InteractionResponse, NewInteraction};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::{ChannelId, InteractionId, UserId};
use aizuchi_fakes::discord::method::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use twilight_model::guild::Permissions;

use crate::discord::harness::{DiscordHarness, Setting};
use crate::program::Program;

const NO_OPTIONS: [(&str, Value); 0] = [];

impl DiscordHarness {
    /// Starts the program, and waits until its commands are registered.
    async fn start_with_commands(&self) -> Program {
        let program = self.start().await;
        self.until(|discord| !discord.commands(None).is_empty()).await;
        program
    }

    /// Triggers an interaction in a channel or a thread, as a user.
    fn uses(&self, channel: ChannelId, user: UserId, kind: u8, options: Value) -> InteractionId {
        let name = "aizuchi".to_owned();
        self.discord
            .interact(NewInteraction { channel, user, kind, name, options, at: None })
            .unwrap()
    }

    /// Returns the response to a user's command.
    async fn tells<const N: usize>(
        &self,
        channel: ChannelId,
        user: UserId,
        command: &str,
        options: [(&str, Value); N],
    ) -> String {
        let options = options.map(|(name, value)| json!({ "name": name, "value": value }));
        let options = json!([{ "name": command, "type": 1, "options": options.as_slice() }]);
        let interaction = self.uses(channel, user, 2, options);
        let answer = self.answer(interaction).await;
        assert!(answer.is_ephemeral, "/aizuchi {command}");
        answer.message.content
    }

    async fn answer(&self, interaction: InteractionId) -> InteractionResponse {
        let answers = |discord: &aizuchi_fakes::discord::FakeDiscord| {
            discord.interaction(interaction).map(|it| it.responses).unwrap_or_default()
        };
        self.until(|discord| answers(discord).len() == 1).await;
        answers(&self.discord).remove(0)
    }
}

#[tokio::test]
async fn commands_are_answered_and_not_heard() {
    let harness = DiscordHarness::new().await;
    harness.home.add("channels: {\"#tea\": {mode: mention_only}}\n");
    let program = harness.start_with_commands().await;
    let (tea, ren) = (harness.tea, harness.ren);
    let response = harness.tells(tea, ren, "status", NO_OPTIONS).await;
    assert_eq!(response, "In this channel I speak only when I’m mentioned (mode `mention_only`).");
    let response = harness.tells(tea, ren, "why", NO_OPTIONS).await;
    assert!(response.starts_with("I haven’t decided anything here yet"), "{response}");
    let mio = harness.mio;
    let asked = harness.says(tea, mio, &format!("<@{ren}> could you fill the kettle?"));
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%the kettle?'", 1).await;
    let response = harness.tells(tea, ren, "catch-up", NO_OPTIONS).await;
    let link = format!("https://discord.com/channels/{}/{tea}/{asked}", harness.guild);
    assert!(response.contains("For you:") && response.contains(&link), "{response}");
    let response = harness.tells(tea, ren, "reminders", NO_OPTIONS).await;
    assert_eq!(response, "Nothing is planned here.");
    let response = harness.tells(tea, ren, "memory", NO_OPTIONS).await;
    assert!(response.starts_with("I don’t remember anything about this channel yet"), "{response}");
    let response = harness.tells(tea, ren, "help", NO_OPTIONS).await;
    assert!(
        response.contains("`forget me`") && !response.contains("mute everywhere"),
        "{response}"
    );
    let response = harness.tells(tea, harness.mio, "help", NO_OPTIONS).await;
    assert!(response.contains("mute everywhere"), "{response}");
    for call in harness.discord.calls(Method::AnswerInteraction) {
        let data = &call.body["data"];
        // Ephemeral, and without link previews.
        assert_eq!((&call.body["type"], &data["flags"]), (&json!(4), &json!(64 | 4)));
        assert_eq!(data["allowed_mentions"], json!({ "parse": [] }));
    }
    harness.says(tea, ren, "I see");
    harness.until_line("I see").await;
    assert_eq!(harness.lines(tea).await, ["@Ren could you fill the kettle?", "I see"]);
    let direct = "SELECT count(*) FROM channels WHERE workspace = 'discord:direct'";
    assert_eq!(harness.count(direct).await, 0, "an ephemeral message is not a direct message");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn every_user_can_mute_a_channel() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let (tea, attic, ren) = (harness.tea, harness.attic, harness.ren);
    let response = harness.tells(tea, ren, "mute", NO_OPTIONS).await;
    assert_eq!(
        response,
        "I’ll stay silent here until I’m unmuted. Anyone here can unmute me with `@Aizuchi unmute`."
    );
    harness.asks(tea, ren, "are you there?");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'muted'", 1).await;
    harness.will_say(&["Here I am."]);
    harness.asks(attic, ren, "and here?");
    assert_eq!(harness.posts(1).await[0].channel, attic);
    let response = harness.tells(tea, ren, "unmute", NO_OPTIONS).await;
    assert!(response.starts_with("I’m not muted any more."), "{response}");
    let response = harness.tells(tea, ren, "mute", [("length", json!("2h"))]).await;
    assert!(
        response.starts_with("I’ll stay silent here until ")
            && !response.contains("until I’m unmuted"),
        "{response}"
    );
    let response = harness.tells(attic, ren, "stop", NO_OPTIONS).await;
    assert!(response.starts_with("I’ll stay silent here until "), "{response}");
    let response = harness.tells(attic, ren, "mute", [("length", json!("forty"))]).await;
    assert!(response.contains("`mute 2h`"), "{response}");
    assert_eq!(program.stop(), Some(0));
}

/// Discord includes the user's permissions, so the user need not have been heard before.
#[tokio::test]
async fn commands_that_affect_others_are_for_admins() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let (tea, ren) = (harness.tea, harness.ren);
    let everywhere = || [("everywhere", json!(true))];
    let mode = |mode: &str| [("to", json!(mode))];
    let refused = "Only an admin can do that.";
    assert_eq!(harness.tells(tea, ren, "mode", mode("observe")).await, refused);
    assert_eq!(harness.tells(tea, ren, "mute", everywhere()).await, refused);
    assert_eq!(harness.tells(tea, ren, "reset", NO_OPTIONS).await, refused);
    let manages = Permissions::MANAGE_GUILD;
    let role = |name| harness.discord.change(|it| it.world.add_role(harness.guild, name, manages));
    let role = role("gardeners").unwrap();
    harness.discord.give_role(harness.guild, ren, role).unwrap();
    let response = harness.tells(tea, ren, "mode", mode("observe")).await;
    assert_eq!(
        response,
        "In this channel I listen and remember, but never speak (mode `observe`)."
    );
    let response = harness.tells(tea, ren, "mode", mode("default")).await;
    assert!(response.contains("join in when the conversation goes quiet"), "{response}");
    let response = harness.tells(tea, ren, "mute", everywhere()).await;
    assert!(response.starts_with("I’ll stay silent everywhere until I’m unmuted."), "{response}");
    let response = harness.tells(harness.attic, ren, "unmute", everywhere()).await;
    assert!(response.starts_with("I’m not muted any more."), "{response}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn users_can_opt_out_and_be_forgotten() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let (tea, ren) = (harness.tea, harness.ren);
    harness.says(tea, ren, "the shed leaks");
    harness.until_line("the shed leaks").await;
    let response = harness.tells(tea, ren, "forget-me", NO_OPTIONS).await;
    assert!(response.contains("It can’t be undone."), "{response}");
    let response = harness.tells(tea, ren, "forget-me", [("yes", json!(true))]).await;
    assert!(response.starts_with("I’ve deleted what you said"), "{response}");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'the shed leaks'", 0).await;
    let response = harness.tells(tea, ren, "opt-out", NO_OPTIONS).await;
    assert!(response.starts_with("I’m not listening to you any more"), "{response}");
    harness.says(tea, ren, "I am not here");
    harness.says(tea, harness.mio, "I am");
    harness.until_line("I am").await;
    assert!(!harness.lines(tea).await.contains(&"I am not here".to_owned()));
    assert_eq!(harness.tells(tea, ren, "opt-in", NO_OPTIONS).await, "I’m listening to you.");
    assert_eq!(program.stop(), Some(0));
}

/// A thread is a conversation of its own, so `why` shows the thread's last decision.
#[tokio::test]
async fn why_in_a_thread_is_about_the_thread() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let parent = harness.says(harness.tea, harness.ren, "what do roses need?");
    let thread = harness.opens_thread(harness.tea, parent);
    harness.will_say(&["Straw.", "Here I am."]);
    harness.asks(thread, harness.mio, "what do you say?");
    harness.posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    harness.asks(harness.tea, harness.ren, "are you there?");
    harness.posts(2).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 2).await;
    let response = harness.tells(thread, harness.ren, "why", NO_OPTIONS).await;
    assert!(response.ends_with("I spoke: Mio asked me."), "{response}");
    let response = harness.tells(harness.tea, harness.ren, "why", NO_OPTIONS).await;
    assert!(response.ends_with("I spoke: Ren asked me."), "{response}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_user_controls_their_own_direct_message() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    harness.says(direct, harness.ren, "my key hangs behind the shed");
    harness.posts(1).await;
    let response = harness.tells(direct, harness.ren, "reset", NO_OPTIONS).await;
    assert!(response.starts_with("I’ll start fresh here"), "{response}");
    harness.says(direct, harness.ren, "where is my key?");
    harness.posts(2).await;
    assert!(!harness.prompt().contains("behind the shed"), "{}", harness.prompt());
    let response = harness.tells(direct, harness.ren, "mute", NO_OPTIONS).await;
    assert!(response.starts_with("I’ll stay silent here until I’m unmuted."), "{response}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn commands_are_answered_in_japanese() {
    let harness =
        DiscordHarness::with(Setting { more: "language: ja\n", ..Setting::default() }).await;
    let program = harness.start_with_commands().await;
    let (tea, ren) = (harness.tea, harness.ren);
    let response = harness.tells(tea, ren, "mute", NO_OPTIONS).await;
    assert_eq!(
        response,
        "解除されるまで、このチャンネルでは話しません。`@Aizuchi ミュート解除` で誰でも解除できます。"
    );
    let response = harness.tells(tea, ren, "unmute", NO_OPTIONS).await;
    assert!(response.starts_with("いまはミュートされていません。"), "{response}");
    let response = harness.tells(tea, ren, "mode", [("to", json!("off"))]).await;
    assert_eq!(response, "このコマンドを使えるのは管理者だけです。");
    let response = harness.tells(tea, ren, "mute", [("length", json!("2時間30分"))]).await;
    assert!(response.starts_with("2時間30分（"), "{response}");
    assert!(response.contains("まで）、このチャンネルでは話しません。"), "{response}");
    assert_eq!(program.stop(), Some(0));
}

/// Users whose Discord is in Japanese see Japanese labels, whatever the persona's language.
#[tokio::test]
async fn subcommands_are_labeled_in_both_languages() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let commands = harness.discord.commands(None);
    assert_eq!(commands.len(), 1);
    let subcommand = commands[0]["options"].as_array().unwrap().iter().map(|subcommand| {
        let ja = subcommand["name_localizations"]["ja"].as_str().unwrap();
        format!("{} {ja}", subcommand["name"].as_str().unwrap())
    });
    insta::assert_snapshot!(subcommand.collect::<Vec<_>>().join("\n"), @"
    why なぜ
    status 状態
    memory 記憶
    catch-up 見逃したこと
    reminders リマインダー
    mute ミュート
    unmute ミュート解除
    stop ストップ
    mode モード
    reset リセット
    opt-out オプトアウト
    opt-in オプトイン
    forget-me 私を忘れて
    help ヘルプ
    ");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_length_is_completed_while_it_is_typed() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let typing = |typed: &str| {
        let typed = json!({ "name": "length", "type": 3, "value": typed, "focused": true });
        let options = json!([{ "name": "mute", "type": 1, "options": [typed] }]);
        harness.uses(harness.tea, harness.ren, 4, options)
    };
    for (typed, expected) in [
        ("9", vec!["30m", "1h", "2h", "8h", "1d"]),
        ("90m", vec!["90m", "30m", "1h", "2h", "8h", "1d"]),
    ] {
        let typing = typing(typed);
        let choices = || harness.discord.interaction(typing).and_then(|it| it.choices);
        harness.until(|_| choices().is_some()).await;
        let choices = choices().unwrap();
        let values: Vec<_> =
            choices.as_array().unwrap().iter().map(|choice| choice["value"].clone()).collect();
        assert_eq!(values, expected);
    }
    assert!(harness.discord.calls(Method::AnswerInteraction).iter().all(|it| it.body["type"] == 8));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_command_in_an_invisible_channel_says_so() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    harness.says(harness.attic, harness.ren, "now");
    harness.until_line("now").await;
    let response = harness.tells(harness.tea, harness.ren, "memory", NO_OPTIONS).await;
    assert_eq!(response, "I can’t see this channel. Allow View Channels for Aizuchi’s role.");
    assert_eq!(program.stop(), Some(0));
}

/// After a gap, Discord replays commands whose users no longer wait.
#[tokio::test]
async fn a_late_command_is_ignored() {
    let harness = DiscordHarness::new().await;
    let program = harness.start_with_commands().await;
    let at = Some(Timestamp::now() - SignedDuration::from_secs(70));
    let options = json!([{ "name": "mute", "type": 1, "options": [] }]);
    let (channel, user, name) = (harness.tea, harness.ren, "aizuchi".to_owned());
    harness.discord.interact(NewInteraction { channel, user, kind: 2, name, options, at }).unwrap();
    harness.says(harness.tea, harness.mio, "well");
    harness.until_line("well").await;
    let response = harness.tells(harness.tea, harness.ren, "unmute", NO_OPTIONS).await;
    assert!(response.starts_with("I’m not muted any more."), "{response}");
    assert_eq!(harness.discord.calls(Method::AnswerInteraction).len(), 1);
    assert_eq!(program.stop(), Some(0));
}

/// Commands of a program that used the application before would not work.
#[tokio::test]
async fn commands_of_a_previous_program_are_removed() {
    let harness = DiscordHarness::new().await;
    let chat = json!({ "name": "chat", "description": "Talk", "type": 1 });
    for guild in [None, Some(harness.guild)] {
        harness.discord.change(|state| state.world.register_command(guild, &chat));
    }
    // Each of these calls is rate limited once.
    for method in [Method::GetGuildCommands, Method::SetGuildCommands, Method::SetCommands] {
        harness.discord.inject_fault(method, Fault::rate_limited(0.1, RateLimitScope::User));
    }
    let program = harness.start().await;
    harness.until(|discord| discord.commands(Some(harness.guild)).is_empty()).await;
    let everywhere = harness.discord.commands(None);
    assert!(everywhere.iter().all(|command| command["name"] == "aizuchi"), "{everywhere:?}");
    assert_eq!(program.stop(), Some(0));
}
