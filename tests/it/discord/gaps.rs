//! Gaps: missed messages are backfilled in their conversations, and answered only if an answer is owed.

use aizuchi_fakes::discord::FakeDiscord;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::MessageId;
use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::fault::Hang;
use jiff::{SignedDuration, Timestamp};
use twilight_model::guild::Permissions;

use crate::discord::harness::DiscordHarness;
use crate::program::Program;

const STORED_MESSAGES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'line %'";
const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

impl DiscordHarness {
    /// Stops the program long enough for Discord to forget its session.
    async fn away(&self, program: Program) {
        assert_eq!(program.stop(), Some(0));
        self.until(|discord| discord.connection_count() == 0).await;
        self.discord.expire_sessions();
    }

    fn said_ago(&self, hours: i64, text: &str) -> MessageId {
        let at = Some(Timestamp::now() - SignedDuration::from_hours(hours));
        self.says_so(NewFakeMessage { at, ..NewFakeMessage::new(self.tea, self.mio, text) })
    }
}

/// Reactions to the persona's posts during a gap are backfilled, with as few calls as possible.
#[tokio::test]
async fn reactions_during_a_gap_are_backfilled() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.will_say(&["Mulch them.", "And water them."]);
    harness.asks(harness.tea, harness.mio, "what about the roses?");
    let first = harness.posts(1).await[0].id;
    harness.until_kept(SPOKE, 1).await;
    harness.asks(harness.tea, harness.mio, "and now?");
    let second = harness.posts(2).await[1].id;
    harness.until_kept(SPOKE, 2).await;
    let kept = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    for (user, emoji) in [(harness.mio, "👍"), (harness.ren, "👍"), (harness.ren, "🌱")] {
        harness.discord.add_reaction(harness.tea, first, user, emoji).unwrap();
    }
    harness.discord.add_reaction(harness.tea, second, harness.mio, "👀").unwrap();
    harness.until_kept(kept, 4).await;
    harness.away(program).await;
    harness.discord.remove_reaction(harness.tea, first, harness.ren, "👍").unwrap();
    harness.discord.remove_reaction(harness.tea, first, harness.ren, "🌱").unwrap();
    harness.discord.add_reaction(harness.tea, first, harness.ren, "parrot:77").unwrap();
    let program = harness.start().await;
    let known = |emoji: &str, user| {
        format!("{kept} AND message = '{first}' AND emoji = '{emoji}' AND user_id = '{user}'")
    };
    harness.until_kept(&known(":parrot:", harness.ren), 1).await;
    harness.until_kept(&known("👍", harness.ren), 0).await;
    harness.until_kept(kept, 3).await;
    // The second post's counts are unchanged, and an emoji without reactions needs no call.
    assert_eq!(harness.discord.calls(Method::GetReactions).len(), 2);
    assert_eq!(program.stop(), Some(0));
}

/// Reactions during the backfill arrive live, and are missing in pages that were read before.
#[tokio::test]
async fn reactions_during_the_backfill_are_not_lost() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.will_say(&["Mulch them."]);
    harness.asks(harness.tea, harness.mio, "what about the roses?");
    let post = harness.posts(1).await[0].id;
    harness.until_kept(SPOKE, 1).await;
    harness.away(program).await;
    let reads_before = harness.discord.calls(Method::GetArchivedThreads).len();
    harness.discord.inject_fault_times(
        Method::GetArchivedThreads,
        &Fault::HangBefore(Hang::UntilReleased),
        2,
    );
    let program = harness.start().await;
    let reads =
        |discord: &FakeDiscord| discord.calls(Method::GetArchivedThreads).len() - reads_before;
    // Both channels are being read.
    harness.until(|discord| reads(discord) == 2).await;
    harness.discord.add_reaction(harness.tea, post, harness.ren, "🌱").unwrap();
    harness.discord.add_reaction(harness.tea, post, harness.ren, "parrot:77").unwrap();
    harness.discord.add_reaction(harness.tea, post, harness.mio, "parrot:78").unwrap();
    let kept = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    harness.until_kept(kept, 3).await;
    harness.discord.release_hanging();
    harness.until_log("backfilled all channels").await;
    assert_eq!(harness.count(kept).await, 3);
    assert_eq!(program.stop(), Some(0));
}

/// Scenario H27: a gap with an edit, deletions, threads, and one mention.
#[tokio::test]
async fn h27_missed_messages_are_backfilled() {
    let harness = DiscordHarness::new().await;
    let typo = harness.said_ago(3, "a tpyo");
    let slip = harness.said_ago(2, "a slip of the tongue");
    let question = harness.said_ago(2, "an old question");
    let thread = harness
        .discord
        .start_thread_from_message(harness.tea, question, harness.ren, "old")
        .unwrap();
    let other = harness.says(thread, harness.mio, "another slip");
    let program = harness.start().await;
    harness.until_line("another slip").await;
    harness.away(program).await;
    for number in 0..30 {
        let channel = if number % 3 == 0 { thread } else { harness.tea };
        harness.says(channel, harness.ren, &format!("line {number}"));
    }
    harness.asks(harness.tea, harness.mio, "were you away?");
    harness.discord.edit_message(harness.tea, typo, "a typo").unwrap();
    harness.discord.delete_message(harness.tea, slip).unwrap();
    harness.discord.delete_message(thread, other).unwrap();
    let direct = harness.discord.open_direct_message(harness.ren).unwrap();
    let program = harness.start().await;
    harness.posts(1).await;
    harness.until_kept(STORED_MESSAGES, 30).await;
    harness.until_kept(&format!("{STORED_MESSAGES} AND thread = '{thread}'"), 10).await;
    harness
        .until_kept("SELECT count(*) FROM messages WHERE text = 'a typo' AND edits = 1", 1)
        .await;
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 2).await;
    harness.until_kept(SPOKE, 1).await;
    // Only the mention is answered, with the other messages in the prompt; nothing else is judged.
    assert_eq!(harness.count("SELECT count(*) FROM decisions").await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM steps").await, 0);
    let prompt = harness.prompt();
    // An answer waits for its own conversation. The thread may be read after it.
    assert!(prompt.contains("line 29") && !prompt.contains("a slip of the tongue"), "{prompt}");
    // Direct messages are backfilled, too.
    harness.says(direct, harness.ren, "and to me?");
    harness.posts(2).await;
    harness.until_kept(SPOKE, 2).await;
    harness.away(program).await;
    harness.says(direct, harness.ren, "and now?");
    let program = harness.start().await;
    assert_eq!(harness.posts(3).await[2].channel, direct);
    harness.until_kept(SPOKE, 3).await;
    harness.away(program).await;
    // With an empty database, mentions that the history shows as answered are not answered again.
    for file in ["room.db", "room.db-wal", "room.db-shm"] {
        let _ = std::fs::remove_file(harness.path().join(file));
    }
    let program = harness.start().await;
    harness.until_kept(STORED_MESSAGES, 30).await;
    assert_eq!(harness.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 3);
}

/// The gap is longer than a page, and a thread was archived in it.
#[tokio::test]
async fn a_long_gap_is_read_page_by_page_and_in_archived_threads() {
    let harness = DiscordHarness::new().await;
    let parent = harness.says(harness.tea, harness.mio, "roses?");
    let thread = harness.opens_thread(harness.tea, parent);
    let program = harness.start().await;
    harness.away(program).await;
    for number in 0..250 {
        harness.says(harness.tea, harness.ren, &format!("line {number}"));
    }
    harness.says(thread, harness.ren, "in the thread");
    harness.discord.archive_thread(thread).unwrap();
    let program = harness.start().await;
    harness.until_kept(STORED_MESSAGES, 250).await;
    let kept = format!("SELECT count(*) FROM messages WHERE thread = '{thread}'");
    harness.until_kept(&kept, 1).await;
    let calls = harness.discord.calls(Method::GetMessages);
    assert!(calls.iter().all(|call| !call.path.contains("before=")), "{calls:?}");
    assert_eq!(harness.count("SELECT count(*) FROM steps").await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// A mention that is too old is stored and not answered.
#[tokio::test]
async fn an_old_mention_is_not_answered() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.away(program).await;
    harness.said_ago(20, &format!("<@{}> line of yesterday", harness.bot));
    harness.asks(harness.tea, harness.ren, "line of today");
    let program = harness.start().await;
    harness.posts(1).await;
    harness.until_kept(SPOKE, 1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%line of%'", 2).await;
    assert_eq!(harness.count("SELECT count(*) FROM owed WHERE closed_ms IS NULL").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts().len(), 1);
}

/// During the gap, the channel became private and a question was deleted. Steps due at startup wait until both changes
/// are known.
#[tokio::test]
async fn nothing_is_posted_before_the_backfill() {
    use aizuchi_harness::providers::ProviderResponse;
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    harness.model.then([ProviderResponse::Never]);
    let question = harness.asks(harness.tea, harness.mio, "where is the secret cellar?");
    harness.model.came(1).await;
    program.kill();
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    harness.discord.delete_message(harness.tea, question).unwrap();
    let everyone = aizuchi_fakes::discord::permission::OverwriteTarget::Role(harness.guild.cast());
    harness
        .discord
        .set_permissions_for(
            harness.tea,
            everyone,
            PermissionEffect::Deny,
            Permissions::VIEW_CHANNEL,
        )
        .unwrap();
    harness
        .discord
        .set_permissions(harness.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    let program = harness.home.start();
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    assert_eq!(harness.model.requests().len(), 1, "the model is not called again");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts(), []);
}

/// Without access to the history Discord returns an empty page, which does not count as deletions.
#[tokio::test]
async fn an_inaccessible_history_deletes_nothing() {
    let harness = DiscordHarness::new().await;
    for number in 0..3 {
        harness.said_ago(1, &format!("line {number}"));
    }
    let program = harness.start().await;
    harness.until_kept(STORED_MESSAGES, 3).await;
    harness.away(program).await;
    let history = Permissions::READ_MESSAGE_HISTORY;
    harness.discord.set_permissions(harness.tea, PermissionEffect::Deny, history).unwrap();
    let program = harness.home.start();
    harness.until_log("Read Message History").await;
    harness.says(harness.tea, harness.ren, "line 3");
    harness.until_kept(&format!("{STORED_MESSAGES} AND deleted_ms IS NULL"), 4).await;
    assert_eq!(program.stop(), Some(0));
}
