//! Posts of the persona that only the platform's history knows: the database has lost its last seconds, or was put back
//! to an older copy. They count as the answers to what is owed.

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{message, thread, top_level};
use aizuchi_harness::harness::{Harness, PERSONA_USER_ID};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ConversationId, Heard, Message, MessageId, UserId,
};

const WHY: &str = "the chat’s history shows that I had answered it already";

/// How many of the decisions were dropped because the history shows the answer.
async fn found_answered(harness: &Harness) -> usize {
    let decisions = harness.decisions("garden").await;
    decisions.iter().filter(|decision| decision.why.as_deref() == Some(WHY)).count()
}

fn own_post(harness: &Harness, conversation: ConversationId, id: &str) -> Message {
    let author = Author { id: UserId::new(PERSONA_USER_ID), kind: AuthorKind::Persona };
    Message { author, ..message(conversation, id, harness.clock.now(), "persona", "Much sun.") }
}

/// The history shows a post of the persona, which may be marked with what it answers.
async fn finds(harness: &Harness, post: Message, answers: Option<&[&MessageId]>) {
    let answers = answers.map(|ids| ids.iter().map(|id| (*id).clone()).collect());
    let heard = Heard::Message(post, Arrival::Backfilled);
    harness.inbox.deliver(Delivery { answers, ..heard.into() }).await.unwrap();
}

async fn tick(harness: &Harness) {
    harness.clock.advance_to(harness.clock.now() + jiff::SignedDuration::from_secs(1));
}

#[tokio::test]
async fn an_answer_that_only_the_history_knows_is_not_given_again() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("mio", "@Aizuchi what do roses need?").await;
        tick(&harness).await;
        finds(&harness, own_post(&harness, top_level("garden"), "p1"), None).await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), Vec::<String>::new());
        assert_eq!(found_answered(&harness).await, 1);
        // What is asked afterwards is answered.
        harness.says("mio", "@Aizuchi and tulips?").await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn two_mentions_with_one_answer_leave_one_owed() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("mio", "@Aizuchi what do roses need?").await;
        tick(&harness).await;
        harness.says("ren", "@Aizuchi what do tulips need?").await;
        tick(&harness).await;
        finds(&harness, own_post(&harness, top_level("garden"), "p1"), None).await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

/// The history is read from its newest page on.
#[tokio::test]
async fn a_mention_that_is_heard_after_its_answer_is_answered() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.clock.now();
        tick(&harness).await;
        finds(&harness, own_post(&harness, top_level("garden"), "p1"), None).await;
        let mention =
            message(top_level("garden"), "m1", asked, "mio", "@Aizuchi what do roses need?");
        harness.inbox.hear(Heard::Message(mention, Arrival::Backfilled)).await.unwrap();
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), Vec::<String>::new());
        assert_eq!(found_answered(&harness).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_mark_tells_what_a_post_answers() {
    on_every_store(async |store| {
        for (number, (marks_first, marks_second, expected)) in
            [(true, true, 0), (true, false, 1), (false, false, 1)].into_iter().enumerate()
        {
            let harness = Harness::new(store.clone()).await;
            let here = thread("garden", &format!("t{number}"));
            let ask = async |name: &str| {
                let id = format!("{number}-{name}");
                let text = "@Aizuchi what do roses need?";
                let asked = message(here.clone(), &id, harness.clock.now(), name, text);
                harness.hear(asked.clone()).await;
                tick(&harness).await;
                asked.id
            };
            let (first, second) = (ask("mio").await, ask("ren").await);
            let marks: Vec<&MessageId> = [(marks_first, &first), (marks_second, &second)]
                .into_iter()
                .filter_map(|(is_marked, id)| is_marked.then_some(id))
                .collect();
            let post = own_post(&harness, here, &format!("p{number}"));
            finds(&harness, post, Some(&marks)).await;
            harness.pass(60).await;
            let posts = harness.platform.posted_texts().len();
            assert_eq!(posts, expected, "{marks:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_no_answer_of_its_own_leaves_a_mention_owed() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("mio", "@Aizuchi what do roses need?").await;
        tick(&harness).await;
        // Another companion, a post in another thread, and one that is heard live.
        let now = harness.clock.now();
        let other = message(top_level("garden"), "b1", now, "otherbot", "Much sun.");
        harness.inbox.hear(Heard::Message(other, Arrival::Backfilled)).await.unwrap();
        finds(&harness, own_post(&harness, thread("garden", "t1"), "p1"), None).await;
        harness.hear(own_post(&harness, top_level("garden"), "p2")).await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}
