//! Messages that carry another user's words, since they were shared or forwarded. These words stay that user's.

use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    ChannelId, Deletion, Heard, Mention, Message, MessageId, QuotedMessage, UserId,
};
use aizuchi_store::order::Order;

const WORDS: &str = "the spare key is under the fern";

/// Alice's message in the kitchen.
fn original() -> (ChannelId, MessageId) {
    (ChannelId::new("kitchen"), MessageId::new("k1"))
}

fn by(user: Option<&str>) -> QuotedMessage {
    let author = user.map(|user| UserId::new(format!("u-{user}")));
    QuotedMessage { author, message: Some(original()), at: Some(at(1)) }
}

/// Bob carries words of another message to the garden.
async fn shares(harness: &Harness, id: &str, quoted: QuotedMessage) {
    let text = format!("> {WORDS}");
    let shared = message(top_level("garden"), id, harness.clock.now(), "bob", &text);
    harness.hear(Message { mentions: vec![Mention::Quote(quoted)], ..shared }).await;
}

async fn alice_says(harness: &Harness) {
    let (_, id) = original();
    harness.hear(message(top_level("kitchen"), id.as_str(), at(1), "alice", WORDS)).await;
}

/// What is still shown of a message: its words, its author, and whether it is withheld.
async fn shown(harness: &Harness, id: &str) -> (String, String, bool) {
    let stored = harness.messages("garden").await;
    let found = stored.into_iter().find(|stored| stored.message.id.as_str() == id).unwrap();
    let message = &found.message;
    (message.text.to_string(), message.author.id.to_string(), found.is_withheld || found.is_deleted)
}

/// Whether a prompt shows the words.
async fn is_known(harness: &Harness) -> bool {
    harness.mind.script.push(PromptVerb::Reply, Ok("I see."));
    harness.says("carol", "@Aizuchi where is the key?").await;
    harness.pass(60).await;
    harness.mind.prompt_texts(PromptVerb::Reply).last().unwrap().contains(WORDS)
}

fn opt_out() -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new("u-alice") }
}

fn forget(harness: &Harness) -> Order {
    let asked = harness.clock.now();
    Order::Forget { workspace: workspace(), user: UserId::new("u-alice"), asked }
}

#[tokio::test]
async fn words_of_who_has_opted_out_are_not_heard_through_others() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        alice_says(&harness).await;
        harness.order(opt_out()).await;
        shares(&harness, "named", by(Some("alice"))).await;
        // The platform does not name the author, but the store knows the message.
        shares(&harness, "unnamed", by(None)).await;
        for id in ["named", "unnamed"] {
            let expected = (String::new(), "u-bob".to_owned(), true);
            assert_eq!(shown(&harness, id).await, expected, "{id}");
        }
        assert!(!is_known(&harness).await);
    })
    .await;
}

#[tokio::test]
async fn who_opts_out_takes_their_words_out_of_what_others_shared() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        alice_says(&harness).await;
        shares(&harness, "named", by(Some("alice"))).await;
        shares(&harness, "unnamed", by(None)).await;
        assert!(is_known(&harness).await);
        harness.order(opt_out()).await;
        for id in ["named", "unnamed"] {
            assert!(shown(&harness, id).await.2, "{id}");
        }
        assert!(!is_known(&harness).await);
    })
    .await;
}

#[tokio::test]
async fn who_is_forgotten_is_forgotten_in_what_others_shared() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        alice_says(&harness).await;
        shares(&harness, "before", by(None)).await;
        harness.pass(10).await;
        harness.order(forget(&harness)).await;
        let gone = (String::new(), "forgotten".to_owned(), true);
        assert_eq!(shown(&harness, "before").await, gone);
        // A share of what they wrote before does not bring it back, though they may write again.
        shares(&harness, "again", by(Some("alice"))).await;
        shares(&harness, "unnamed", by(None)).await;
        for id in ["again", "unnamed"] {
            assert_eq!(shown(&harness, id).await.0, "", "{id}");
        }
        let at = harness.clock.now();
        shares(&harness, "new", QuotedMessage { at: Some(at), message: None, ..by(Some("alice")) })
            .await;
        assert_eq!(shown(&harness, "new").await.0, format!("> {WORDS}"));
    })
    .await;
}

#[tokio::test]
async fn a_deletion_deletes_what_carries_the_words() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        alice_says(&harness).await;
        shares(&harness, "shared", by(Some("alice"))).await;
        let another = QuotedMessage {
            message: Some((ChannelId::new("kitchen"), MessageId::new("k11"))),
            ..by(Some("alice"))
        };
        shares(&harness, "another", another).await;
        let (conversation, (_, message)) = (top_level("kitchen"), original());
        let deletion = Deletion { conversation, message, at: harness.clock.now() };
        harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
        assert_eq!(shown(&harness, "shared").await.0, "");
        assert_eq!(shown(&harness, "another").await.0, format!("> {WORDS}"));
        // A share of a deleted message does not bring it back.
        shares(&harness, "again", by(None)).await;
        assert_eq!(shown(&harness, "again").await.0, "");
    })
    .await;
}

#[tokio::test]
async fn words_of_an_unknown_author_are_kept() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.order(opt_out()).await;
        shares(&harness, "shared", by(None)).await;
        assert!(is_known(&harness).await);
    })
    .await;
}
