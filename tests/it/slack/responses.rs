//! Malformed responses from Slack: each value of each response that the adapter reads is replaced by values of other
//! types and by extreme ones. Nothing crashes, nothing is posted twice, and afterwards everything is read as before.

use std::time::Duration;

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::platform::Platform;
use aizuchi_slack::SlackPlatform;
use jiff::{SignedDuration, Timestamp};

use crate::slack::harness::SlackHarness;
use crate::slack::timeouts::AdapterHarness;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Waits for a response to a method, and returns the alterations of each value of the newest one. Each value is altered
/// in a subset of all ways, which differs from value to value.
async fn alterations(harness: &SlackHarness, method: &str) -> Vec<Alteration> {
    let newest =
        |slack: &FakeSlack| slack.calls(method).into_iter().rev().find_map(|call| call.answer);
    harness.wait_until(|slack| newest(slack).is_some()).await;
    let all = Alteration::all_of(&newest(&harness.slack).unwrap());
    all.into_iter().step_by(5).collect()
}

fn call_count(slack: &FakeSlack, method: &str) -> usize {
    slack.read(|state| state.journal.calls.iter().filter(|call| call.method == method).count())
}

/// Returns the adapter with a clock that only the test advances.
async fn adapter() -> (AdapterHarness, Clock) {
    let clock = Clock::manual(Timestamp::now());
    (AdapterHarness::with_clock(SlackHarness::new().await, clock.clone()).await, clock)
}

#[tokio::test]
async fn no_response_to_a_post_makes_it_posted_twice() {
    let (adapter, clock) = adapter().await;
    let (fake, slack): (&FakeSlack, &SlackPlatform) = (&adapter.harness.slack, &adapter.slack);
    let post = async |number: usize| {
        // Slack accepts one post per second.
        clock.advance_to(clock.now() + SignedDuration::from_secs(1));
        let item = OutboxItem {
            text: format!("answer {number}").into(),
            dispatched_at: Some(clock.now()),
            ..adapter.outbox_item(&format!("key-{number}"))
        };
        (slack.post(&item).await, item)
    };
    post(0).await.0.unwrap();
    let alterations = alterations(&adapter.harness, "chat.postMessage").await;
    for (number, alteration) in (1..).zip(&alterations) {
        fake.inject_fault("chat.postMessage", Fault::Altered(alteration.clone()));
        let (posted, item) = post(number).await;
        // Under load, a call may time out.
        let found = loop {
            if let Ok(found) = slack.find_posted(&item).await {
                break found;
            }
        };
        let made = fake.posts().pop().filter(|post| *post.text == *item.text);
        let made = made.map(|post| MessageId::new(post.ts.to_string()));
        assert_eq!(found.map(|found| found.id), made, "{alteration:?} {posted:?}");
    }
    let mut texts: Vec<String> = fake.posts().into_iter().map(|post| post.text).collect();
    let posts = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), posts);
}

#[tokio::test]
async fn no_response_to_a_lookup_finds_what_was_not_posted() {
    let (adapter, clock) = adapter().await;
    let (fake, slack) = (&adapter.harness.slack, &adapter.slack);
    adapter.harness.post_message(&adapter.harness.tea, &adapter.harness.mio, "Here I am.");
    let item = OutboxItem { dispatched_at: Some(clock.now()), ..adapter.outbox_item("never") };
    assert_eq!(slack.find_posted(&item).await, Ok(None));
    for alteration in alterations(&adapter.harness, "conversations.history").await {
        fake.inject_fault("conversations.history", Fault::Altered(alteration.clone()));
        let found = slack.find_posted(&item).await;
        assert!(!matches!(found, Ok(Some(_))), "{alteration:?}");
    }
    let on = adapter.harness.post_message(&adapter.harness.tea, &adapter.harness.mio, "A cake!");
    let reaction = OutboxItem {
        reaction_to: Some(MessageId::new(on.to_string())),
        text: "🎉".into(),
        ..item.clone()
    };
    slack.post(&reaction).await.unwrap();
    assert!(slack.find_posted(&reaction).await.unwrap().is_some());
    for method in ["reactions.add", "reactions.get"] {
        for alteration in alterations(&adapter.harness, method).await {
            fake.inject_fault(method, Fault::Altered(alteration));
            // Whatever the result, the emoji is added once.
            let _ = slack.post(&reaction).await;
            let _ = slack.find_posted(&reaction).await;
            fake.clear_faults();
        }
    }
    assert!(slack.find_posted(&reaction).await.unwrap().is_some());
}

#[tokio::test]
async fn no_list_and_no_description_ends_the_adapter() {
    let (adapter, clock) = adapter().await;
    let fake = &adapter.harness.slack;
    let called_again = async |method: &str, before: usize| {
        while call_count(fake, method) == before {
            clock.advance_to(clock.now() + HOUR);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    for method in ["usergroups.list", "users.list", "users.conversations"] {
        called_again(method, 0).await;
        for alteration in alterations(&adapter.harness, method).await {
            let before = call_count(fake, method);
            fake.inject_fault(method, Fault::Altered(alteration));
            called_again(method, before).await;
        }
    }
    let rename = |number: usize| {
        let name = format!("tea-{number}");
        fake.rename_channel(&adapter.harness.tea, &adapter.harness.mio, &name).unwrap();
    };
    rename(0);
    called_again("conversations.info", 0).await;
    for (number, alteration) in (1..).zip(alterations(&adapter.harness, "conversations.info").await)
    {
        let before = call_count(fake, "conversations.info");
        fake.inject_fault("conversations.info", Fault::Altered(alteration));
        rename(number);
        called_again("conversations.info", before).await;
    }
    for alteration in alterations(&adapter.harness, "apps.connections.open").await {
        let before = call_count(fake, "apps.connections.open");
        fake.inject_fault("apps.connections.open", Fault::Altered(alteration));
        fake.reset_connections();
        called_again("apps.connections.open", before).await;
    }
    // Everything is read as before.
    fake.clear_faults();
    called_again("users.conversations", call_count(fake, "users.conversations")).await;
    while fake.connection_counts().open < 2 {
        clock.advance_to(clock.now() + HOUR);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let ts = adapter.harness.post_message(&adapter.harness.attic, &adapter.harness.mio, "hello");
    let (workspace, channel) = (
        adapter.slack.identity().workspace.clone(),
        ChannelId::new(adapter.harness.attic.as_str()),
    );
    let heard = async {
        let id = MessageId::new(ts.to_string());
        while adapter.database.archive.message(&workspace, &channel, &id).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.unwrap();
}
