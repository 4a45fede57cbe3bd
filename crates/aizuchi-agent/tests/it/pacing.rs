//! One member's commands, mentions and edits do not keep others waiting, on a platform that takes one post a second in
//! each channel.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_harness::fixtures::{START, at, thread, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ConversationId, MessageId};
use jiff::{SignedDuration, Timestamp};

/// What a flood by one member led to.
struct Flood {
    harness: Harness,
    /// The posts for that member, within five minutes after its first message.
    posts: Vec<String>,
    /// How long others waited for their answers, in milliseconds, sorted.
    waits: Vec<i64>,
}

impl Flood {
    /// Mallory writes these texts, ten in a second, and three others mention the persona meanwhile, at the top level and
    /// in threads of their own. All have their first words answered at once.
    async fn new(
        store: TestStore,
        place: impl Fn(usize) -> ConversationId,
        texts: impl Iterator<Item = String>,
    ) -> Self {
        let harness = Harness::new(store).await;
        harness.platform.set_post_interval_seconds(1);
        harness.platform.set_longest_post(3000);
        let mut messages = Vec::new();
        for (number, text) in texts.enumerate() {
            let time = at(0) + SignedDuration::from_millis(100) * number as i32;
            messages.push((time, place(number), "mallory", text));
        }
        for (number, name) in ["alice", "bob", "carol"].into_iter().enumerate() {
            for turn in 0..10 {
                let place = match turn % 2 {
                    0 => top_level("garden"),
                    _ => thread("garden", &format!("2{number}{turn}")),
                };
                let after = 1_370 + 1_710 * number as i64 + 5_790 * turn;
                let time = at(0) + SignedDuration::from_millis(after);
                messages.push((time, place, name, format!("@Aizuchi how about {turn}?")));
            }
        }
        messages.sort();
        let mut asked: HashMap<MessageId, Timestamp> = HashMap::new();
        for (time, place, name, text) in messages {
            harness.pass_until(time).await;
            let id = harness.says_in(place, name, &text).await;
            if name != "mallory" {
                asked.insert(id, time);
            }
        }
        harness.pass_until(at(300)).await;
        let (mut posts, mut waits) = (Vec::new(), Vec::new());
        for (item, posted) in harness.platform.posted.lock().unwrap().iter() {
            let answered = item.metadata.owed.iter().filter_map(|owed| owed.message());
            let asked: Vec<Timestamp> = answered.filter_map(|id| asked.remove(id)).collect();
            if asked.is_empty() && item.id == item.first_in_draft {
                posts.push(item.text.to_string());
            }
            waits.extend(
                asked.iter().map(|asked| posted.at.duration_since(*asked).as_millis() as i64),
            );
        }
        assert!(asked.is_empty(), "{} got no answer", asked.len());
        waits.sort_unstable();
        Self { harness, posts, waits }
    }

    /// How long at most 5 % of the answers to others took, and all.
    fn assert_others_were_answered_within_seconds(&self, p95: i64, longest: i64) {
        let (waits, count) = (&self.waits, self.waits.len());
        let (wait, last) = (waits[count * 95 / 100], waits[count - 1]);
        println!("{count} answers: p95 {wait} ms, last {last} ms, {} posts", self.posts.len());
        assert!(count == 30 && wait <= p95 * 1000 && last <= longest * 1000, "{waits:?}");
    }
}

fn thread_follow_up(number: usize) -> ConversationId {
    thread("garden", &format!("1{number:03}"))
}

fn commands() -> impl Iterator<Item = String> {
    let commands = ["set memory off in this thread", "status", "unmute"];
    (0..205).map(move |number| format!("@Aizuchi {}", commands[number % 3]))
}

#[tokio::test]
async fn one_members_commands_in_many_threads_keep_nobody_waiting() {
    on_every_store(async |store| {
        let flood = Flood::new(store, thread_follow_up, commands()).await;
        flood.assert_others_were_answered_within_seconds(1, 1);
        assert_eq!(flood.posts.len(), 20, "{:#?}", flood.posts);
        let told = flood.posts.iter().filter(|text| text.contains("I answer 20 commands a minute"));
        assert_eq!(told.count(), 1, "{:#?}", flood.posts);
        // The others were carried out, as many as one member may.
        let orders = flood.harness.store.store.orders(&workspace()).await.unwrap();
        assert_eq!(orders.settings.len(), 20);
    })
    .await;
}

#[tokio::test]
async fn one_members_commands_in_one_place_keep_nobody_waiting() {
    on_every_store(async |store| {
        let flood = Flood::new(store, |_| top_level("garden"), commands()).await;
        // They are gathered with the commands beside them.
        flood.assert_others_were_answered_within_seconds(4, 4);
        assert!(flood.posts.len() <= 20, "{:#?}", flood.posts);
    })
    .await;
}

/// A member gets as many answers an hour as one member gets, and is told so once in the channel.
#[tokio::test]
async fn one_members_mentions_keep_nobody_waiting() {
    on_every_store(async |store| {
        let texts = (0..200).map(|number| format!("@Aizuchi and {number}?"));
        let flood = Flood::new(store, thread_follow_up, texts).await;
        flood.assert_others_were_answered_within_seconds(1, 1);
        assert_eq!(flood.posts.len(), 31, "{:#?}", flood.posts);
    })
    .await;
}

/// A message is edited every second for a minute, into this text and the second, and the model takes three seconds.
async fn edit_for_a_minute(harness: &Harness, id: &MessageId, text: &'static str) {
    let edit = {
        let (harness, id) = (harness.clone(), id.clone());
        move || {
            let (harness, id) = (harness.clone(), id.clone());
            async move {
                harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(1));
                let second = harness.clock.now().as_second() - START;
                if second <= 60 {
                    harness.edits(&id, &format!("{text} {second}")).await;
                }
            }
        }
    };
    let edit = Arc::new(edit);
    for _ in 0..200 {
        let edit = edit.clone();
        harness.mind.meanwhile(PromptVerb::Reply, move || async move {
            for _ in 0..3 {
                edit().await;
            }
        });
    }
    while harness.clock.now() < at(60) {
        harness.pass_until(harness.clock.now()).await;
        edit().await;
    }
    harness.pass(60).await;
}

#[tokio::test]
async fn the_last_form_of_a_mention_that_is_edited_all_the_time_is_answered() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let id = harness.says("alice", "@Aizuchi which way? 0").await;
        edit_for_a_minute(&harness, &id, "@Aizuchi which way?").await;
        let posted = harness.platform.posted.lock().unwrap().clone();
        let posted: Vec<(&str, i64)> =
            posted.iter().map(|(item, post)| (&*item.text, post.at.as_second() - START)).collect();
        assert_eq!(posted, [("Here I am.", 65)]);
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply);
        assert!(prompts.last().unwrap().contains("which way? 60"));
        // Hardly a draft is begun while the message is edited.
        assert!(prompts.len() <= 3, "{} drafts", prompts.len());
    })
    .await;
}

/// Somebody else who asks meanwhile is answered, and does not wait until the edits cease.
async fn check_answer_beside_edits(text: &'static str) {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let id = harness.says("mallory", text).await;
        let asked = harness.says("alice", "@Aizuchi who has the key?").await;
        edit_for_a_minute(&harness, &id, text).await;
        let posted = harness.platform.posted.lock().unwrap().clone();
        let mut answers = posted.iter();
        let (item, answer) =
            answers.find(|(item, _)| item.metadata.owed.iter().any(|it| *it == asked)).unwrap();
        assert_eq!(&*item.text, "Here I am.");
        assert!(answer.at <= at(12), "{}", answer.at);
    })
    .await;
}

#[tokio::test]
async fn one_members_edits_of_a_mention_keep_nobody_waiting() {
    check_answer_beside_edits("@Aizuchi which way?").await;
}

#[tokio::test]
async fn one_members_edits_of_other_messages_keep_nobody_waiting() {
    check_answer_beside_edits("which way?").await;
}
