//! Slack's responses to posts are lost, and only the text identifies the post.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::fault::Fault;

use crate::slack::harness::{SlackHarness, SlackOptions};
use crate::slack::malformed::NO_LIMITS;

const POSTS: i64 = 20;
const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

/// Neither the scopes nor the metadata of messages are known, and every answer has the same text. An answer that was
/// posted is found by its author, text and time; one that was not is posted, although an identical one precedes it.
#[tokio::test]
async fn a_lost_answer_is_posted_once_without_metadata() {
    let scopes = FakeSlackSettings::default().scopes.into_iter();
    let team = FakeSlackSettings {
        scopes: scopes.filter(|scope| scope != "metadata.message:read").collect(),
        names_scopes: false,
        ..FakeSlackSettings::default()
    };
    let slack = "  settle_seconds: 16\n";
    let harness = SlackHarness::with(SlackOptions {
        slack,
        team,
        more: NO_LIMITS,
        ..SlackOptions::default()
    })
    .await;
    let members = || vec![harness.mio.clone(), harness.bot.clone()];
    let new_channel = |number: i64| {
        let (name, members) = (format!("room-{number}"), members());
        harness.slack.add_channel(NewChannel { name, members, ..NewChannel::default() }).unwrap()
    };
    let channels: Vec<String> = (0..POSTS).map(new_channel).collect();
    let ask_everywhere = |fault: &dyn Fn(usize) -> Fault| {
        for (number, channel) in channels.iter().enumerate() {
            harness.slack.inject_fault("chat.postMessage", fault(number));
            harness.post_mention(
                channel,
                &harness.mio,
                "are you there? 🍵 & <https://tea.example>",
            );
        }
    };
    let posts = || harness.slack.read(|state| state.journal.posts.len()) as i64;
    let program = harness.start().await;
    // Posted, but the response is lost.
    let posted = [Fault::ResetAfter, Fault::StatusAfter(502)];
    ask_everywhere(&|number| posted[number % 2].clone());
    harness.until_kept(SPOKE, POSTS).await;
    assert_eq!(posts(), POSTS);
    // Not posted: the identical earlier post does not count.
    let not_posted = [Fault::ResetBefore, Fault::Status(502)];
    ask_everywhere(&|number| not_posted[number % 2].clone());
    harness.until_kept(SPOKE, 2 * POSTS).await;
    assert_eq!(posts(), 2 * POSTS);
    // Killed before the response.
    ask_everywhere(&|_| Fault::HangAfter(Hang::UntilReleased));
    harness
        .wait_until(|slack| slack.read(|state| state.journal.posts.len()) as i64 == 3 * POSTS)
        .await;
    program.kill();
    harness.slack.release_hanging();
    let program = harness.start().await;
    harness.until_kept(SPOKE, 3 * POSTS).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(posts(), 3 * POSTS);
    let in_each = channels.iter().map(|channel| harness.slack.texts(channel).unwrap().len());
    assert!(in_each.into_iter().all(|texts| texts == 6), "three questions, three answers");
    let owed = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";
    assert_eq!(harness.count(owed).await, 0);
    // The database has the posts that Slack has.
    for post in harness.slack.posts() {
        let said = format!("SELECT count(*) FROM outbox WHERE message = '{}'", post.ts);
        assert_eq!(harness.count(&said).await, 1);
    }
}

/// The live event of its own post carries the key, so the history need not be read.
#[tokio::test]
async fn the_event_of_a_post_tells_that_it_was_posted() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::ResetAfter);
    harness.slack.inject_fault_times("conversations.history", &Fault::Status(500), 100);
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.until_kept(SPOKE, 1).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}
