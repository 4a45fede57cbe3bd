//! Private threads that the bot is added to and removed from while the program runs.

use aizuchi_fakes::discord::thread::NewThread;
use twilight_model::channel::ChannelType;

use crate::discord::harness::DiscordHarness;
use crate::program::Program;

/// Waits until the program counts this many channels that it is a member of.
async fn until_channels(program: &Program, count: u64) {
    program.until("/ready", |ready| ready["catching_up"][0]["channels"] == count).await;
}

/// Other users who leave change nothing, and a thread that the bot is added to again is heard again.
#[tokio::test]
async fn a_private_thread_is_left_when_the_bot_is_removed_from_it() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    until_channels(&program, 2).await;
    let hidden = NewThread {
        kind: ChannelType::PrivateThread,
        ..NewThread::new(harness.tea, harness.mio, "a surprise")
    };
    let hidden = harness.discord.start_thread(hidden).unwrap();
    harness.discord.join_thread(hidden, harness.ren).unwrap();
    harness.discord.join_thread(hidden, harness.bot).unwrap();
    until_channels(&program, 3).await;
    harness.discord.leave_thread(hidden, harness.ren).unwrap();
    harness.says(harness.tea, harness.mio, "a later line");
    harness.until_line("a later line").await;
    until_channels(&program, 3).await;
    harness.discord.leave_thread(hidden, harness.bot).unwrap();
    until_channels(&program, 2).await;
    harness.discord.join_thread(hidden, harness.bot).unwrap();
    until_channels(&program, 3).await;
    harness.asks(hidden, harness.mio, "do not tell Ren");
    assert_eq!(harness.posts(1).await[0].channel, hidden);
    assert_eq!(program.stop(), Some(0));
}
