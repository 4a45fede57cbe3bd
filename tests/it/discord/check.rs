//! `aizuchi check` and `aizuchi discord invite` against Discord.

use std::sync::Arc;

use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::state::TokenStatus;
use aizuchi_fakes::discord::{FakeDiscord, FakeDiscordSettings, serve};
use tokio_util::sync::DropGuard;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::program::Home;
use crate::subprocess::serve_apart;

struct CheckHarness {
    fake: Arc<FakeDiscord>,
    home: Home,
    _stop: DropGuard,
}

impl CheckHarness {
    /// A server owned by Mio. `more` is added to the config.
    fn new(more: &str) -> Self {
        let fake = FakeDiscord::new(FakeDiscordSettings::default());
        let mio = fake.add_user("Mio");
        fake.add_guild("Tea House", mio);
        let served = fake.clone();
        let (address, _stop) = serve_apart(|listener, stop| serve(listener, served, stop));
        let home = Home::new(1.0);
        home.add(&format!(
            "discord:\n  token: dev-discord-token\n  api_base: http://{address}\n{more}"
        ));
        Self { fake, home, _stop }
    }

    /// Runs `aizuchi check`. Returns its lines about Discord, and whether it succeeded.
    fn check(&self) -> (Vec<String>, bool) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        let output = command.arg("--config").arg(self.home.config()).arg("check").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let findings = text.lines().filter(|line| line.contains(" discord "));
        let findings = findings.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        (findings.collect(), output.status.success())
    }

    fn channel(&self, name: &str) -> aizuchi_fakes::discord::id::ChannelId {
        let new = NewChannel { name: name.to_owned(), ..NewChannel::default() };
        self.fake.add_channel(new).unwrap()
    }
}

#[test]
fn a_correct_setup_passes() {
    let harness = CheckHarness::new("");
    harness.channel("tea");
    let (findings, is_well) = harness.check();
    assert!(is_well, "{findings:#?}");
    let expected = [
        "ok discord logs in as Aizuchi",
        "ok discord it may read what people write (Message Content Intent)",
        "ok discord 1000 of 1000 logins for today are left",
        "ok discord on the server Tea House it hears #tea",
    ];
    assert_eq!(findings, expected);
    assert_eq!(harness.fake.connection_count(), 0);
}

/// Every new server has a voice channel. Its chat needs no further permission.
#[test]
fn a_voice_channel_passes() {
    let harness = CheckHarness::new("");
    let (name, kind) = ("lounge".to_owned(), NewChannelKind::Voice);
    harness.fake.add_channel(NewChannel { name, kind, ..NewChannel::default() }).unwrap();
    let (findings, is_well) = harness.check();
    assert!(is_well, "{findings:#?}");
    assert!(findings[3].ends_with("it hears #lounge"), "{findings:#?}");
}

#[test]
fn missing_permissions_and_intents_are_named() {
    let harness = CheckHarness::new(
        "  threads: auto\nchannels: {\"#news\": {mode: observe}, \"#attic\": {mode: companion}, C012: {mode: off}}\n",
    );
    let (tea, news) = (harness.channel("tea"), harness.channel("news"));
    let speaking = Permissions::SEND_MESSAGES | Permissions::CREATE_PUBLIC_THREADS;
    harness.fake.set_permissions(tea, PermissionEffect::Deny, speaking).unwrap();
    harness.fake.set_permissions(news, PermissionEffect::Deny, speaking).unwrap();
    harness.fake.set_privileged_intents(PermissionEffect::Deny, Intents::MESSAGE_CONTENT);
    harness.fake.set_remaining_session_starts(20);
    let (findings, is_well) = harness.check();
    assert!(!is_well);
    let failed: Vec<&str> =
        findings.iter().filter_map(|line| line.strip_prefix("FAIL discord ")).collect();
    assert!(failed[0].starts_with("the Message Content Intent is off"), "{failed:#?}");
    assert!(failed[0].contains("https://discord.com/developers/applications/"), "{failed:#?}");
    let expected = [
        "20 of 1000 logins for today are left; wait a day before you start it",
        "on Tea House, in #tea: the permission Send Messages is missing, which it needs to speak",
        "on Tea House, in #tea: the permission Create Public Threads is missing, which it needs to \
         open a thread where it is mentioned",
        "the config names #attic, which it cannot see on any server: allow View Channels for its role there",
    ];
    assert_eq!(failed[1..], expected);
}

#[test]
fn a_refused_token_is_the_only_finding() {
    let harness = CheckHarness::new("");
    harness.fake.set_token_status(TokenStatus::Reset);
    let (findings, is_well) = harness.check();
    assert!(!is_well);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].starts_with("FAIL discord Discord refuses discord.token"), "{findings:?}");
    assert!(!findings[0].contains("dev-discord-token"));
}

#[test]
fn the_invite_link_is_printed() {
    let invite = |arguments: &[&str], token: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        let ran = command.args(["discord", "invite"]).args(arguments);
        let output = ran.env("DISCORD_TOKEN", token).output().unwrap();
        let invite = if output.status.success() { output.stdout } else { output.stderr };
        String::from_utf8(invite).unwrap()
    };
    let link = "https://discord.com/oauth2/authorize?client_id=123456789012345678&\
                scope=bot+applications.commands&permissions=309237713984\n";
    assert_eq!(invite(&["--application", "123456789012345678"], ""), link);
    assert_eq!(invite(&[], "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.x-y_z"), link);
    assert!(invite(&[], "odd").contains("--application"));
    let sections = "discord: {token: MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.x-y_z}\n";
    let home = Home::new(1.0);
    home.add(sections);
    assert_eq!(invite(&["--config", home.config().to_str().unwrap()], ""), link);
}
