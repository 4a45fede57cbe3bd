//! What the users of one server learn of another one.

use aizuchi_fakes::discord::channel::NewChannel;

use crate::discord::harness::DiscordHarness;

/// Discord shows a channel's name only to the members of its server, and anybody can write its id.
#[tokio::test]
async fn the_name_of_another_servers_channel_is_not_told() {
    let harness = DiscordHarness::new().await;
    let orchard = harness.discord.add_guild("Orchard", harness.ren);
    let (name, guild) = ("surprise-party".to_owned(), Some(orchard));
    let there =
        harness.discord.add_channel(NewChannel { name, guild, ..NewChannel::default() }).unwrap();
    let program = harness.start().await;
    let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{there}'");
    harness.until_kept(&read, 1).await;
    harness.says(
        harness.tea,
        harness.mio,
        &format!("what is <#{there}>, unlike <#{}>?", harness.tea),
    );
    harness.until_line(&format!("what is #{there}, unlike #tea?")).await;
    assert_eq!(program.stop(), Some(0));
}
