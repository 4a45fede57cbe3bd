//! What a message replies to, according to the platform, stands beside it in the prompts, also where it is older than
//! the rest of the context, and so does what a message links to that replies to nothing.

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{message, new_channel, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, Deletion, Heard, MessageId, UserId, Visibility};
use aizuchi_model::context::ContextLimits;
use aizuchi_store::order::Order;

const WORDS: &str = "the “fern” hides the spare key";

/// Returns the prompt of an answer to Bob, who replies to Alice after so many lines by others. Before that, this happens
/// to Alice's line.
async fn asked(
    store: TestStore,
    lines: usize,
    meanwhile: impl AsyncFn(&Harness, MessageId),
) -> String {
    let harness = Harness::new(store).await;
    asked_by(&harness, lines, meanwhile).await
}

async fn asked_by(
    harness: &Harness,
    lines: usize,
    meanwhile: impl AsyncFn(&Harness, MessageId),
) -> String {
    let parent = harness.says("alice", WORDS).await;
    for line in 0..lines {
        harness.pass(2).await;
        harness.says(["carol", "dan"][line % 2], "one more crate of plums came in").await;
    }
    harness.pass(600).await;
    meanwhile(harness, parent.clone()).await;
    let asking = "@Aizuchi is this still so?";
    let asking = message(top_level("garden"), "asking", harness.clock.now(), "bob", asking);
    let heard = Heard::Message(asking, Arrival::Live);
    harness.inbox.deliver(Delivery { reply_to: Some(parent), ..heard.into() }).await.unwrap();
    harness.pass(60).await;
    harness.mind.prompt_texts(PromptVerb::Reply).last().unwrap().clone()
}

async fn nothing(_: &Harness, _: MessageId) {}

#[tokio::test]
async fn a_reply_is_shown_with_what_it_replies_to() {
    on_every_store(async |store| {
        let prompt = asked(store, 100, nothing).await;
        let told = "**(in reply to 2027-01-15 08:00:00 alice: “the 'fern' hides the spare key”)**\n@Aizuchi is";
        assert!(prompt.contains(told), "{prompt}");
    })
    .await;
    on_every_store(async |store| {
        let prompt = asked(store, 3, nothing).await;
        let told = "**(in reply to 2027-01-15 08:00:00 alice)**\n@Aizuchi is";
        assert!(prompt.contains(told), "{prompt}");
    })
    .await;
    on_every_store(async |store| {
        let prompt = asked(store, 0, nothing).await;
        assert!(!prompt.contains("in reply to"), "{prompt}");
    })
    .await;
}

#[tokio::test]
async fn what_was_deleted_or_whose_author_has_opted_out_is_not_shown_beside_a_reply() {
    on_every_store(async |store| {
        let delete = async |harness: &Harness, parent| harness.deletes(&parent).await;
        let prompt = asked(store, 100, delete).await;
        assert!(!prompt.contains("spare key"), "{prompt}");
    })
    .await;
    on_every_store(async |store| {
        let opt_out = async |harness: &Harness, _| {
            let user = UserId::new("u-alice");
            harness.order(Order::OptOut { workspace: workspace(), user }).await;
        };
        let prompt = asked(store, 100, opt_out).await;
        assert!(!prompt.contains("spare key"), "{prompt}");
    })
    .await;
}

#[tokio::test]
async fn what_was_private_when_it_was_written_is_not_shown_beside_a_reply() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let turn = async |harness: &Harness, visibility| {
            let garden = Heard::Channel(new_channel("garden", visibility));
            harness.inbox.hear(garden).await.unwrap();
        };
        turn(&harness, Visibility::Private).await;
        let open = async |harness: &Harness, _| turn(harness, Visibility::Public).await;
        let prompt = asked_by(&harness, 100, open).await;
        assert!(!prompt.contains("spare key"), "{prompt}");
    })
    .await;
}

const LINKED: &str = "1699999999.000100";
const SLACK: &str = "https://dev.slack.com/archives/shed/p1699999999000100?thread_ts=1.000000";
const DISCORD: &str = "(https://discord.com/channels/1/shed/1699999999.000100)。";

/// Returns the prompt of an answer to Bob in a channel, who links to Alice's line in the shed. Before that, this happens.
async fn linking(
    store: TestStore,
    (here, there): (Visibility, Visibility),
    link: &str,
    meanwhile: impl AsyncFn(&Harness),
) -> String {
    let harness = Harness::new(store).await;
    for (channel, visibility) in [("garden", here), ("shed", there)] {
        let channel = Heard::Channel(new_channel(channel, visibility));
        harness.inbox.hear(channel).await.unwrap();
    }
    harness.hear(message(top_level("shed"), LINKED, harness.clock.now(), "alice", WORDS)).await;
    harness.pass(600).await;
    meanwhile(&harness).await;
    let text = format!("@Aizuchi is this still so? see {link}.");
    harness.hear(message(top_level("garden"), "asking", harness.clock.now(), "bob", &text)).await;
    harness.pass(60).await;
    let window = ContextLimits::default().window(harness.clock.now());
    let context = harness.store.store.context(&top_level("garden"), &window).await.unwrap();
    let asking = context.target_message(&MessageId::new("asking")).unwrap();
    assert_eq!(context.parent_given(asking), None, "who answers whom stays as it is");
    harness.mind.prompt_texts(PromptVerb::Reply).last().unwrap().clone()
}

#[tokio::test]
async fn a_message_is_shown_with_what_it_links_to() {
    use Visibility::{Private, Public};
    for (visibilities, link, is_shown) in [
        ((Public, Public), SLACK, true),
        ((Public, Public), DISCORD, true),
        ((Private, Public), SLACK, true),
        ((Public, Private), SLACK, false),
        ((Private, Private), SLACK, false),
        ((Public, Public), "https://elsewhere.example/archives/shed/p1699999999000100", false),
    ] {
        on_every_store(async |store| {
            let prompt = linking(store, visibilities, link, async |_| {}).await;
            let told = "**(links to another channel, 2027-01-15 08:00:00 u-alice: “the 'fern' hides the spare key”)**\n@Aizuchi is";
            assert_eq!(prompt.contains(told), is_shown, "{visibilities:?} {link} {prompt}");
            assert_eq!(prompt.contains("(links to"), is_shown, "{prompt}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_was_deleted_or_whose_author_has_opted_out_is_not_shown_beside_a_link() {
    let public = (Visibility::Public, Visibility::Public);
    on_every_store(async |store| {
        let delete = async |harness: &Harness| {
            let (conversation, at) = (top_level("shed"), harness.clock.now());
            let deletion = Deletion { conversation, message: MessageId::new(LINKED), at };
            harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
        };
        let prompt = linking(store, public, SLACK, delete).await;
        assert!(!prompt.contains("(links to"), "{prompt}");
    })
    .await;
    on_every_store(async |store| {
        let opt_out = async |harness: &Harness| {
            let user = UserId::new("u-alice");
            harness.order(Order::OptOut { workspace: workspace(), user }).await;
        };
        let prompt = linking(store, public, SLACK, opt_out).await;
        assert!(!prompt.contains("(links to"), "{prompt}");
    })
    .await;
}
