//! What was said while nobody heard it: it is read, put in its place, and answered only where that is owed.

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

const LINES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'line %'";
const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

impl DiscordHarness {
    /// The program is away for so long that Discord does not remember it.
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

/// What people answer by nodding is known, also where they nodded meanwhile. Discord is asked no more than it has to be.
#[tokio::test]
async fn who_reacted_meanwhile_to_what_it_said_is_known() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.will_say(&["Mulch them.", "And water them."]);
    stage.asks(stage.tea, stage.mio, "what about the roses?");
    let first = stage.posts(1).await[0].id;
    stage.until_kept(SPOKE, 1).await;
    stage.asks(stage.tea, stage.mio, "and now?");
    let second = stage.posts(2).await[1].id;
    stage.until_kept(SPOKE, 2).await;
    let kept = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    for (user, emoji) in [(stage.mio, "👍"), (stage.ren, "👍"), (stage.ren, "🌱")] {
        stage.discord.add_reaction(stage.tea, first, user, emoji).unwrap();
    }
    stage.discord.add_reaction(stage.tea, second, stage.mio, "👀").unwrap();
    stage.until_kept(kept, 4).await;
    stage.away(program).await;
    stage.discord.remove_reaction(stage.tea, first, stage.ren, "👍").unwrap();
    stage.discord.remove_reaction(stage.tea, first, stage.ren, "🌱").unwrap();
    stage.discord.add_reaction(stage.tea, first, stage.ren, "parrot:77").unwrap();
    let program = stage.start().await;
    let known = |emoji: &str, user| {
        format!("{kept} AND message = '{first}' AND emoji = '{emoji}' AND user_id = '{user}'")
    };
    stage.until_kept(&known(":parrot:", stage.ren), 1).await;
    stage.until_kept(&known("👍", stage.ren), 0).await;
    stage.until_kept(kept, 3).await;
    // The second post has as many as before, and what is gone altogether is seen without asking.
    assert_eq!(stage.discord.calls(Method::GetReactions).len(), 2);
    assert_eq!(program.stop(), Some(0));
}

/// What is done while the gap is read is known by itself, and stands in no page that was read before.
#[tokio::test]
async fn who_reacts_while_the_gap_is_read_is_not_forgotten() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.will_say(&["Mulch them."]);
    stage.asks(stage.tea, stage.mio, "what about the roses?");
    let post = stage.posts(1).await[0].id;
    stage.until_kept(SPOKE, 1).await;
    stage.away(program).await;
    let read = stage.discord.calls(Method::GetArchivedThreads).len();
    stage.discord.inject_fault(Method::GetArchivedThreads, Fault::HangBefore(Hang::UntilReleased));
    let program = stage.start().await;
    let rooms = |discord: &FakeDiscord| discord.calls(Method::GetArchivedThreads).len() - read;
    stage.until(|discord| rooms(discord) == 1).await;
    stage.discord.add_reaction(stage.tea, post, stage.ren, "🌱").unwrap();
    stage.discord.add_reaction(stage.tea, post, stage.ren, "parrot:77").unwrap();
    stage.discord.add_reaction(stage.tea, post, stage.mio, "parrot:78").unwrap();
    let kept = "SELECT count(*) FROM reactions WHERE removed_ms IS NULL";
    stage.until_kept(kept, 3).await;
    stage.discord.release_hanging();
    stage.until(|discord| rooms(discord) == 2).await;
    assert_eq!(stage.count(kept).await, 3);
    assert_eq!(program.stop(), Some(0));
}

/// H27: a gap with an edit, deletions, threads, and one mention.
#[tokio::test]
async fn h27_what_was_said_meanwhile_is_read() {
    let stage = DiscordHarness::new().await;
    let typo = stage.said_ago(3, "a tpyo");
    let slip = stage.said_ago(2, "a slip of the tongue");
    let question = stage.said_ago(2, "an old question");
    let thread =
        stage.discord.start_thread_from_message(stage.tea, question, stage.ren, "old").unwrap();
    let other = stage.says(thread, stage.mio, "another slip");
    let program = stage.start().await;
    stage.until_line("another slip").await;
    stage.away(program).await;
    for number in 0..30 {
        let place = if number % 3 == 0 { thread } else { stage.tea };
        stage.says(place, stage.ren, &format!("line {number}"));
    }
    stage.asks(stage.tea, stage.mio, "were you away?");
    stage.discord.edit_message(stage.tea, typo, "a typo").unwrap();
    stage.discord.delete_message(stage.tea, slip).unwrap();
    stage.discord.delete_message(thread, other).unwrap();
    let direct = stage.discord.open_direct_message(stage.ren).unwrap();
    let program = stage.start().await;
    stage.posts(1).await;
    stage.until_kept(LINES, 30).await;
    stage.until_kept(&format!("{LINES} AND thread = '{thread}'"), 10).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'a typo' AND edits = 1", 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 2).await;
    stage.until_kept(SPOKE, 1).await;
    // Only the mention is answered, by somebody who has read the rest; nothing else is judged.
    assert_eq!(stage.count("SELECT count(*) FROM decisions").await, 1);
    assert_eq!(stage.count("SELECT count(*) FROM steps").await, 0);
    assert!(stage.prompt().contains("line 29") && !stage.prompt().contains("slip"));
    // Somebody who has written to it alone is not forgotten either.
    stage.says(direct, stage.ren, "and to me?");
    stage.posts(2).await;
    stage.until_kept(SPOKE, 2).await;
    stage.away(program).await;
    stage.says(direct, stage.ren, "and now?");
    let program = stage.start().await;
    assert_eq!(stage.posts(3).await[2].channel, direct);
    stage.until_kept(SPOKE, 3).await;
    stage.away(program).await;
    // Whoever has lost the database does not answer again what the history shows as answered.
    for file in ["room.db", "room.db-wal", "room.db-shm"] {
        let _ = std::fs::remove_file(stage.path().join(file));
    }
    let program = stage.start().await;
    stage.until_kept(LINES, 30).await;
    assert_eq!(stage.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts().len(), 3);
}

/// More than a page was said, and a thread was put away meanwhile.
#[tokio::test]
async fn a_long_gap_is_read_page_by_page_and_in_threads_that_were_put_away() {
    let stage = DiscordHarness::new().await;
    let parent = stage.says(stage.tea, stage.mio, "roses?");
    let thread =
        stage.discord.start_thread_from_message(stage.tea, parent, stage.mio, "roses").unwrap();
    let program = stage.start().await;
    stage.away(program).await;
    for number in 0..250 {
        stage.says(stage.tea, stage.ren, &format!("line {number}"));
    }
    stage.says(thread, stage.ren, "in the thread");
    stage.discord.archive_thread(thread).unwrap();
    let program = stage.start().await;
    stage.until_kept(LINES, 250).await;
    let kept = format!("SELECT count(*) FROM messages WHERE thread = '{thread}'");
    stage.until_kept(&kept, 1).await;
    let calls = stage.discord.calls(Method::GetMessages);
    assert!(calls.iter().all(|call| !call.path.contains("before=")), "{calls:?}");
    assert_eq!(stage.count("SELECT count(*) FROM steps").await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// A question that is too old is remembered and not answered.
#[tokio::test]
async fn what_is_too_old_is_not_answered() {
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.away(program).await;
    stage.said_ago(20, &format!("<@{}> line of yesterday", stage.bot));
    stage.asks(stage.tea, stage.ren, "line of today");
    let program = stage.start().await;
    stage.posts(1).await;
    stage.until_kept(SPOKE, 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%line of%'", 2).await;
    assert_eq!(stage.count("SELECT count(*) FROM owed WHERE closed_ms IS NULL").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts().len(), 1);
}

/// While it was away, the room was hidden, and somebody took a question back: neither is overlooked by what
/// falls due at the start.
#[tokio::test]
async fn nothing_is_said_before_what_was_missed_is_read() {
    use aizuchi_harness::providers::Treatment;
    let stage = DiscordHarness::new().await;
    let program = stage.start().await;
    stage.model.then([Treatment::Never]);
    let question = stage.asks(stage.tea, stage.mio, "where is the secret cellar?");
    stage.model.came(1).await;
    program.kill();
    stage.until(|discord| discord.connection_count() == 0).await;
    stage.discord.expire_sessions();
    stage.discord.delete_message(stage.tea, question).unwrap();
    let everyone = aizuchi_fakes::discord::permission::OverwriteTarget::Role(stage.guild.cast());
    stage
        .discord
        .set_permissions_for(stage.tea, everyone, PermissionEffect::Deny, Permissions::VIEW_CHANNEL)
        .unwrap();
    stage
        .discord
        .set_permissions(stage.tea, PermissionEffect::Allow, Permissions::VIEW_CHANNEL)
        .unwrap();
    let program = stage.home.start();
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    assert_eq!(stage.model.seen().len(), 1, "nobody is asked any more");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.discord.posts(), []);
}

/// Where the history may not be read, Discord shows nothing; that is no deletion.
#[tokio::test]
async fn a_history_that_may_not_be_read_takes_nothing_away() {
    let stage = DiscordHarness::new().await;
    for number in 0..3 {
        stage.said_ago(1, &format!("line {number}"));
    }
    let program = stage.start().await;
    stage.until_kept(LINES, 3).await;
    stage.away(program).await;
    let history = Permissions::READ_MESSAGE_HISTORY;
    stage.discord.set_permissions(stage.tea, PermissionEffect::Deny, history).unwrap();
    let program = stage.home.start();
    stage.until_log("Read Message History").await;
    stage.says(stage.tea, stage.ren, "line 3");
    stage.until_kept(&format!("{LINES} AND deleted_ms IS NULL"), 4).await;
    assert_eq!(program.stop(), Some(0));
}
