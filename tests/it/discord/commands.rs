//! What whoever uses `/aizuchi` sees, and nobody else.

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
    /// Starts the program, and waits until its commands are known.
    async fn start_with_commands(&self) -> Program {
        let program = self.start().await;
        self.until(|discord| !discord.commands(None).is_empty()).await;
        program
    }

    /// Somebody uses the program in a channel or a thread.
    fn uses(&self, channel: ChannelId, user: UserId, kind: u8, options: Value) -> InteractionId {
        let name = "aizuchi".to_owned();
        self.discord
            .interact(NewInteraction { channel, user, kind, name, options, at: None })
            .unwrap()
    }

    /// What somebody is told who gives a command.
    async fn tells<const N: usize>(
        &self,
        channel: ChannelId,
        user: UserId,
        command: &str,
        options: [(&str, Value); N],
    ) -> String {
        let options = options.map(|(name, value)| json!({ "name": name, "value": value }));
        let options = json!([{ "name": command, "type": 1, "options": options.as_slice() }]);
        let given = self.uses(channel, user, 2, options);
        let answer = self.answer(given).await;
        assert!(answer.is_ephemeral, "/aizuchi {command}");
        answer.message.content
    }

    async fn answer(&self, given: InteractionId) -> InteractionResponse {
        let answers = |discord: &aizuchi_fakes::discord::FakeDiscord| {
            discord.interaction(given).map(|it| it.responses).unwrap_or_default()
        };
        self.until(|discord| answers(discord).len() == 1).await;
        answers(&self.discord).remove(0)
    }
}

#[tokio::test]
async fn what_is_asked_is_answered_and_not_heard() {
    let stage = DiscordHarness::new().await;
    stage.home.add("channels: {\"#tea\": {mode: mention_only}}\n");
    let program = stage.start_with_commands().await;
    let (tea, ren) = (stage.tea, stage.ren);
    let told = stage.tells(tea, ren, "status", NO_OPTIONS).await;
    assert_eq!(told, "In this channel, Aizuchi speaks only when it is mentioned.");
    let told = stage.tells(tea, ren, "why", NO_OPTIONS).await;
    assert!(told.starts_with("I have decided nothing here yet"), "{told}");
    let told = stage.tells(tea, ren, "memory", NO_OPTIONS).await;
    assert!(told.starts_with("I remember nothing of this place yet"), "{told}");
    let told = stage.tells(tea, ren, "help", NO_OPTIONS).await;
    assert!(told.contains("`forget me`") && !told.contains("mute everywhere"), "{told}");
    let told = stage.tells(tea, stage.mio, "help", NO_OPTIONS).await;
    assert!(told.contains("mute everywhere"), "{told}");
    for call in stage.discord.calls(Method::AnswerInteraction) {
        let data = &call.body["data"];
        // Hidden, and without previews.
        assert_eq!((&call.body["type"], &data["flags"]), (&json!(4), &json!(64 | 4)));
        assert_eq!(data["allowed_mentions"], json!({ "parse": [] }));
    }
    stage.says(tea, ren, "I see");
    stage.until_line("I see").await;
    assert_eq!(stage.lines(tea).await, ["I see"]);
    let direct = "SELECT count(*) FROM channels WHERE workspace = 'discord:direct'";
    assert_eq!(stage.count(direct).await, 0, "what is hidden is no direct message");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn everybody_can_keep_it_quiet_where_they_are() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let (tea, attic, ren) = (stage.tea, stage.attic, stage.ren);
    let told = stage.tells(tea, ren, "mute", NO_OPTIONS).await;
    assert_eq!(told, "I say nothing here until somebody undoes it. `@Aizuchi unmute` undoes it.");
    stage.asks(tea, ren, "are you there?");
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'muted'", 1).await;
    stage.will_say(&["Here I am."]);
    stage.asks(attic, ren, "and here?");
    assert_eq!(stage.posts(1).await[0].channel, attic);
    let told = stage.tells(tea, ren, "unmute", NO_OPTIONS).await;
    assert!(told.starts_with("I am not muted."), "{told}");
    let told = stage.tells(tea, ren, "mute", [("length", json!("2h"))]).await;
    assert!(told.starts_with("I say nothing here until ") && !told.contains("somebody"), "{told}");
    let told = stage.tells(attic, ren, "stop", NO_OPTIONS).await;
    assert!(told.starts_with("I say nothing here until "), "{told}");
    let told = stage.tells(attic, ren, "mute", [("length", json!("a while"))]).await;
    assert!(told.contains("`mute 2h`"), "{told}");
    assert_eq!(program.stop(), Some(0));
}

/// Discord says who is an admin; nobody needs to have been heard before.
#[tokio::test]
async fn what_holds_for_others_is_for_who_manages_the_server() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let (tea, ren) = (stage.tea, stage.ren);
    let everywhere = || [("everywhere", json!(true))];
    let mode = |mode: &str| [("to", json!(mode))];
    let refused = "Only an admin may order that.";
    assert_eq!(stage.tells(tea, ren, "mode", mode("observe")).await, refused);
    assert_eq!(stage.tells(tea, ren, "mute", everywhere()).await, refused);
    assert_eq!(stage.tells(tea, ren, "reset", NO_OPTIONS).await, refused);
    let manages = Permissions::MANAGE_GUILD;
    let role = |name| stage.discord.change(|it| it.world.add_role(stage.guild, name, manages));
    let role = role("gardeners").unwrap();
    stage.discord.give_role(stage.guild, ren, role).unwrap();
    let told = stage.tells(tea, ren, "mode", mode("observe")).await;
    assert_eq!(told, "In this channel, Aizuchi listens and remembers, and never speaks.");
    let told = stage.tells(tea, ren, "mode", mode("default")).await;
    assert!(told.contains("joins in when the talk rests"), "{told}");
    let told = stage.tells(tea, ren, "mute", everywhere()).await;
    assert!(told.starts_with("I say nothing anywhere until somebody undoes it."), "{told}");
    let told = stage.tells(stage.attic, ren, "unmute", everywhere()).await;
    assert!(told.starts_with("I am not muted."), "{told}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn people_speak_for_themselves() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let (tea, ren) = (stage.tea, stage.ren);
    stage.says(tea, ren, "the shed leaks");
    stage.until_line("the shed leaks").await;
    let told = stage.tells(tea, ren, "forget-me", NO_OPTIONS).await;
    assert!(told.starts_with("I have deleted what you said"), "{told}");
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'the shed leaks'", 0).await;
    let told = stage.tells(tea, ren, "opt-out", NO_OPTIONS).await;
    assert!(told.starts_with("I do not listen to you"), "{told}");
    stage.says(tea, ren, "I am not here");
    stage.says(tea, stage.mio, "I am");
    stage.until_line("I am").await;
    assert!(!stage.lines(tea).await.contains(&"I am not here".to_owned()));
    assert_eq!(stage.tells(tea, ren, "opt-in", NO_OPTIONS).await, "I listen to you.");
    assert_eq!(program.stop(), Some(0));
}

/// A thread is a conversation of its own: what was decided there is told there.
#[tokio::test]
async fn in_a_thread_it_tells_of_the_thread() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let parent = stage.says(stage.tea, stage.ren, "what do roses need?");
    let thread =
        stage.discord.start_thread_from_message(stage.tea, parent, stage.mio, "roses").unwrap();
    stage.will_say(&["Straw.", "Here I am."]);
    stage.asks(thread, stage.mio, "what do you say?");
    stage.posts(1).await;
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    stage.asks(stage.tea, stage.ren, "are you there?");
    stage.posts(2).await;
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 2).await;
    let told = stage.tells(thread, stage.ren, "why", NO_OPTIONS).await;
    assert!(told.ends_with("I spoke: Mio asked me."), "{told}");
    let told = stage.tells(stage.tea, stage.ren, "why", NO_OPTIONS).await;
    assert!(told.ends_with("I spoke: Ren asked me."), "{told}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn in_a_direct_message_it_obeys_whoever_writes_there() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    stage.says(direct, stage.ren, "my key hangs behind the shed");
    stage.posts(1).await;
    let told = stage.tells(direct, stage.ren, "reset", NO_OPTIONS).await;
    assert!(told.starts_with("I begin anew here"), "{told}");
    stage.says(direct, stage.ren, "where is my key?");
    stage.posts(2).await;
    assert!(!stage.prompt().contains("behind the shed"), "{}", stage.prompt());
    let told = stage.tells(direct, stage.ren, "mute", NO_OPTIONS).await;
    assert!(told.starts_with("I say nothing here until somebody undoes it."), "{told}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn commands_are_answered_in_japanese() {
    let stage =
        DiscordHarness::with(Setting { more: "language: ja\n", ..Setting::default() }).await;
    let program = stage.start_with_commands().await;
    let (tea, ren) = (stage.tea, stage.ren);
    let told = stage.tells(tea, ren, "mute", NO_OPTIONS).await;
    assert_eq!(
        told,
        "解除されるまで、ここでは話しません。`@Aizuchi ミュート解除` で元に戻ります。"
    );
    let told = stage.tells(tea, ren, "unmute", NO_OPTIONS).await;
    assert!(told.starts_with("ミュートされていません。"), "{told}");
    let told = stage.tells(tea, ren, "mode", [("to", json!("off"))]).await;
    assert_eq!(told, "これを指示できるのは管理者だけです。");
    let told = stage.tells(tea, ren, "mute", [("length", json!("2時間30分"))]).await;
    assert!(told.contains("まで、ここでは話しません。"), "{told}");
    assert_eq!(program.stop(), Some(0));
}

/// People whose Discord is in Japanese read Japanese labels, whatever language it speaks itself.
#[tokio::test]
async fn what_can_be_chosen_is_labelled_in_both_languages() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let commands = stage.discord.commands(None);
    assert_eq!(commands.len(), 1);
    let offered = commands[0]["options"].as_array().unwrap().iter().map(|offered| {
        let ja = offered["name_localizations"]["ja"].as_str().unwrap();
        format!("{} {ja}", offered["name"].as_str().unwrap())
    });
    insta::assert_snapshot!(offered.collect::<Vec<_>>().join("\n"), @"
    why なぜ
    status 状態
    memory 記憶
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
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let typing = |typed: &str| {
        let typed = json!({ "name": "length", "type": 3, "value": typed, "focused": true });
        let options = json!([{ "name": "mute", "type": 1, "options": [typed] }]);
        stage.uses(stage.tea, stage.ren, 4, options)
    };
    for (typed, expected) in [
        ("9", vec!["30m", "1h", "2h", "8h", "1d"]),
        ("90m", vec!["90m", "30m", "1h", "2h", "8h", "1d"]),
    ] {
        let typing = typing(typed);
        let choices = || stage.discord.interaction(typing).and_then(|it| it.choices);
        stage.until(|_| choices().is_some()).await;
        let choices = choices().unwrap();
        let values: Vec<_> =
            choices.as_array().unwrap().iter().map(|choice| choice["value"].clone()).collect();
        assert_eq!(values, expected);
    }
    assert!(stage.discord.calls(Method::AnswerInteraction).iter().all(|it| it.body["type"] == 8));
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn where_it_hears_nothing_it_says_so() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    stage.says(stage.attic, stage.ren, "now");
    stage.until_line("now").await;
    let told = stage.tells(stage.tea, stage.ren, "memory", NO_OPTIONS).await;
    assert_eq!(told, "Aizuchi cannot see this channel. Give its role View Channels.");
    assert_eq!(program.stop(), Some(0));
}

/// After a gap Discord tells of orders that nobody waits for any more.
#[tokio::test]
async fn an_order_that_comes_late_is_not_carried_out() {
    let stage = DiscordHarness::new().await;
    let program = stage.start_with_commands().await;
    let at = Some(Timestamp::now() - SignedDuration::from_secs(70));
    let options = json!([{ "name": "mute", "type": 1, "options": [] }]);
    let (channel, user, name) = (stage.tea, stage.ren, "aizuchi".to_owned());
    stage.discord.interact(NewInteraction { channel, user, kind: 2, name, options, at }).unwrap();
    stage.says(stage.tea, stage.mio, "well");
    stage.until_line("well").await;
    let told = stage.tells(stage.tea, stage.ren, "unmute", NO_OPTIONS).await;
    assert!(told.starts_with("I am not muted."), "{told}");
    assert_eq!(stage.discord.calls(Method::AnswerInteraction).len(), 1);
    assert_eq!(program.stop(), Some(0));
}

/// What a program offered that had the application before is not there to be tried in vain.
#[tokio::test]
async fn commands_of_a_program_before_it_go() {
    let stage = DiscordHarness::new().await;
    let chat = json!({ "name": "chat", "description": "Talk", "type": 1 });
    for place in [None, Some(stage.guild)] {
        stage.discord.change(|state| state.world.register_command(place, &chat));
    }
    // Discord has had enough of the program for a moment.
    for method in [Method::GetGuildCommands, Method::SetGuildCommands, Method::SetCommands] {
        stage.discord.inject_fault(method, Fault::rate_limited(0.1, RateLimitScope::User));
    }
    let program = stage.start().await;
    stage.until(|discord| discord.commands(Some(stage.guild)).is_empty()).await;
    let everywhere = stage.discord.commands(None);
    assert!(everywhere.iter().all(|command| command["name"] == "aizuchi"), "{everywhere:?}");
    assert_eq!(program.stop(), Some(0));
}
