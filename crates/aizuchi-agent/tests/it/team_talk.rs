//! How long team talk waits for a word: every labeled moment to speak at (`evals/team-*.jsonl`) through the default
//! settings, with a judge that says yes at its first look.

use std::path::Path;

use aizuchi_harness::fixtures::{message, thread, top_level};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::TestStore;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Author, AuthorKind, Message, MessageId, UserId};
use insta::assert_snapshot;
use serde_json::Value;

const YES: &str = r#"{"should_respond": true, "reason": "nobody reacts", "confidence": 0.9, "delay_seconds": null}"#;
const NO: &str =
    r#"{"should_respond": false, "reason": "not yet", "confidence": 0.9, "delay_seconds": null}"#;
/// Longer pauses in a moment are shortened to this, in seconds.
const MAX_PAUSE: f64 = 3600.0;

/// The seconds from the message in question to the post, sorted; of those that got one.
#[derive(Default)]
struct Waits {
    moments: usize,
    seconds: Vec<i64>,
}

impl Waits {
    fn add(&mut self, waited: Option<i64>) {
        self.moments += 1;
        self.seconds.extend(waited);
        self.seconds.sort_unstable();
    }
}

impl std::fmt::Display for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (posts, moments) = (self.seconds.len(), self.moments);
        let median = self.seconds.get(posts / 2).copied().unwrap_or_default();
        let worst = self.seconds.last().copied().unwrap_or_default();
        write!(f, "{posts} of {moments}, median {median} s, worst {worst} s")
    }
}

#[tokio::test]
async fn whoever_waits_for_a_word_gets_it_soon() {
    let [mut asked, mut told, mut among_others] = [(); 3].map(|()| Waits::default());
    for tag in ["en", "ja"] {
        let path = format!("../../evals/team-{tag}.jsonl");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let moment: Value = serde_json::from_str(line).unwrap();
            if moment["label"] == "SPEAK" {
                let is_told = matches!(moment["kind"].as_str(), Some("trouble" | "grief"));
                let waits = match (is_last_word(&moment), is_told) {
                    (false, _) => &mut among_others,
                    (true, false) => &mut asked,
                    (true, true) => &mut told,
                };
                waits.add(wait(&moment).await);
            }
        }
    }
    let waits = format!("asked: {asked}\ntold: {told}\nothers write on: {among_others}");
    println!("{waits}");
    // The measured values: see docs/internals/eval.md. A change of the models or the timing changes them.
    assert_snapshot!(waits, @"
    asked: 61 of 65, median 94 s, worst 125 s
    told: 24 of 25, median 97 s, worst 97 s
    others write on: 82 of 90, median 136 s, worst 499 s
    ");
}

/// Whether nobody else writes after the message that the moment is about.
fn is_last_word(moment: &Value) -> bool {
    let messages = moment["context"].as_array().unwrap();
    let about = moment["about"].as_u64().unwrap() as usize;
    messages[about + 1..].iter().all(|line| line["author"] == messages[about]["author"])
}

/// Plays a moment and returns the seconds from the message that it is about to the next post.
async fn wait(moment: &Value) -> Option<i64> {
    let harness = Harness::new(TestStore::volatile()).await;
    harness.mind.script.set_default(PromptVerb::Judge, NO);
    let messages = moment["context"].as_array().unwrap();
    let about = moment["about"].as_u64().unwrap() as usize;
    let (mut ids, mut before): (Vec<MessageId>, f64) =
        (Vec::new(), messages[0]["t"].as_f64().unwrap());
    let mut asked_at = None;
    for (number, line) in messages.iter().enumerate() {
        let at = line["t"].as_f64().unwrap();
        harness.pass((at - before).min(MAX_PAUSE) as i64).await;
        before = at;
        let parent = line["thread"].as_u64().map(|parent| &ids[parent as usize]);
        let place = parent.map_or(top_level("garden"), |parent| thread("garden", parent.as_str()));
        let author = line["author"].as_str().unwrap();
        let id = format!("l{number:03}");
        let said = message(place, &id, harness.clock.now(), author, line["text"].as_str().unwrap());
        let kind = match (line["own"] == true, line["bot"] == true) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let author = match kind {
            AuthorKind::Persona => UserId::new("u-persona"),
            AuthorKind::Bot | AuthorKind::Human => said.author.id.clone(),
        };
        if number == about {
            harness.mind.script.set_default(PromptVerb::Judge, YES);
            asked_at = Some(harness.clock.now());
        }
        harness.hear(Message { author: Author { id: author, kind }, ..said }).await;
        ids.push(MessageId::new(id));
    }
    harness.pass(8000).await;
    let asked_at = asked_at.unwrap();
    let heard: Vec<&str> = ids.iter().map(MessageId::as_str).collect();
    let messages = harness.messages("garden").await;
    let posts = messages.iter().map(|stored| &stored.message).filter(|message| {
        message.author.kind == AuthorKind::Persona
            && !heard.contains(&message.id.as_str())
            && message.at >= asked_at
    });
    posts.map(|post| post.at.duration_since(asked_at).as_secs()).min()
}
