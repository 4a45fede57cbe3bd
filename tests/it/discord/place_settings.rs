//! Settings that are ordered on Discord, in both languages.

use twilight_model::guild::Permissions;

use crate::discord::harness::DiscordHarness;

#[tokio::test]
async fn settings_are_changed_on_discord() {
    let harness = DiscordHarness::new().await;
    let (tea, ren, bot) = (harness.tea, harness.ren, harness.bot);
    let manages = Permissions::MANAGE_GUILD;
    let role = harness.discord.change(|it| it.world.add_role(harness.guild, "gardeners", manages));
    harness.discord.give_role(harness.guild, ren, role.unwrap()).unwrap();
    let program = harness.start().await;
    harness.says(tea, ren, &format!("<@{bot}> set confidence 0.9"));
    let told = harness.posts(1).await.remove(0).text;
    assert!(told.starts_with("Done, for this channel: the confidence that I need"), "{told}");
    harness.says(tea, ren, &format!("<@{bot}> 記憶をオフにして"));
    let told = harness.posts(2).await.remove(1).text;
    assert!(told.starts_with("記憶を「オフ」に変更しました"), "{told}");
    harness.says(tea, ren, &format!("<@{bot}> 言語を日本語にして"));
    let told = harness.posts(3).await.remove(2).text;
    assert!(told.starts_with("言語を「日本語」に変更しました（このチャンネル）。"), "{told}");
    harness.says(tea, ren, &format!("<@{bot}> reset settings"));
    let told = harness.posts(4).await.remove(3).text;
    assert!(told.starts_with("Done, for this channel: every setting"), "{told}");
    harness.until_kept("SELECT count(*) FROM room_settings", 0).await;
    assert_eq!(program.stop(), Some(0));
}
