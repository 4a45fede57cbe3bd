//! What is put to the persona without a mention, and what plain words ask of it: measured on lines of which the writer
//! did not know the rules, half of them in each language. Of each file the lines with odd numbers were fitted on.

use aizuchi_actions::command::{Command, SettingRequest};
use aizuchi_harness::fixtures::{message, thread, top_level};
use aizuchi_harness::harness::{Harness, PERSONA_USER_ID};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, Author, AuthorKind, ConversationId, Heard, Message, UserId};
use aizuchi_model::rules::setting_override::SettingKind;
use jiff::SignedDuration;
use serde_json::Value;

fn lines(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Counts what was right, of all lines and of those that were not fitted on.
#[derive(Debug, Default)]
struct Tally {
    right: [usize; 2],
    all: [usize; 2],
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, number: usize, line: &Value, is_right: bool) {
        self.all[number % 2] += 1;
        self.right[number % 2] += usize::from(is_right);
        if !is_right {
            self.wrong.push(line["id"].as_str().unwrap().to_owned());
        }
    }

    fn share(&self, what: &str) -> f64 {
        let Self { right: [fitted, held], all: [fitted_all, held_all], wrong } = self;
        println!(
            "{what}: {fitted} of {fitted_all} fitted, {held} of {held_all} held out {wrong:?}"
        );
        (fitted + held) as f64 / (fitted_all + held_all) as f64
    }
}

/// Whether the newest message of a channel is owed an answer.
async fn is_owed(harness: &Harness, channel: &str) -> bool {
    let messages = harness.messages(channel).await;
    messages.last().is_some_and(|stored| stored.message.is_addressed())
}

#[tokio::test]
async fn calls_by_name_are_answered_and_talk_about_it_is_not() {
    let harness = Harness::new(TestStore::volatile()).await;
    let files = [
        (include_str!("addressed/calls.jsonl"), true),
        (include_str!("addressed/about.jsonl"), false),
    ];
    let mut shares = Vec::new();
    for (file, expected) in files {
        let mut tally = Tally::default();
        for (number, line) in lines(file).iter().enumerate() {
            let channel = line["id"].as_str().unwrap();
            harness.says_in(top_level(channel), "mia", line["text"].as_str().unwrap()).await;
            let is_owed = is_owed(&harness, channel).await;
            tally.add(number, line, is_owed == expected);
            if expected && !is_owed {
                // What is no sure call is the judge's, in a moment.
                let step = harness.step_of(&top_level(channel)).await.unwrap();
                let wait = step.due.duration_since(harness.clock.now());
                assert!(wait <= SignedDuration::from_secs(8), "{}: {wait:#}", line["id"]);
            }
        }
        shares.push(tally.share(if expected { "calls" } else { "talk about it" }));
    }
    assert!(shares[0] >= 0.95 && shares[1] >= 0.95, "{shares:?}");
}

/// The persona's own post, as its platform reports it.
async fn posts_in(harness: &Harness, conversation: ConversationId, id: &str, text: &str) {
    let author = Author { id: UserId::new(PERSONA_USER_ID), kind: AuthorKind::Persona };
    let posted = message(conversation, id, harness.clock.now(), "Aizuchi", text);
    let posted = Message { author, mentions: Vec::new(), ..posted };
    harness.inbox.hear(Heard::Message(posted, Arrival::Live)).await.unwrap();
}

#[tokio::test]
async fn in_a_thread_of_its_own_what_follows_up_is_answered() {
    let shares = thread_shares(Answered::InThread).await;
    assert!(shares[0] >= 0.88 && shares[1] >= 0.85, "{shares:?}");
}

#[tokio::test]
async fn below_a_message_that_it_answered_in_the_channel_what_follows_up_is_answered() {
    let shares = thread_shares(Answered::InChannel).await;
    assert!(shares[0] >= 0.75 && shares[1] >= 0.85, "{shares:?}");
}

/// Where the persona answers what opens a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    InThread,
    InChannel,
}

/// The shares of follow-ups that are owed an answer, and of other lines in the same threads that are owed none.
async fn thread_shares(answered: Answered) -> [f64; 2] {
    let harness = Harness::new(TestStore::volatile()).await;
    let (mut follow_ups, mut others) = (Tally::default(), Tally::default());
    for (number, line) in lines(include_str!("addressed/threads.jsonl")).iter().enumerate() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let channel = text(&line["id"]);
        let question = match answered {
            Answered::InThread => text(&line["question"]),
            Answered::InChannel => format!("@Aizuchi {}", text(&line["question"])),
        };
        let root = harness.says_in(top_level(&channel), &text(&line["asker"]), &question).await;
        let place = thread(&channel, root.as_str());
        let later = || {
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(30));
        };
        later();
        let answer_place = match answered {
            Answered::InThread => place.clone(),
            Answered::InChannel => top_level(&channel),
        };
        posts_in(&harness, answer_place, &format!("p{channel}"), &text(&line["answer"])).await;
        for between in line["between"].as_array().unwrap() {
            later();
            let author = text(&between["author"]);
            harness.says_in(place.clone(), &author, &text(&between["text"])).await;
        }
        later();
        harness.says_in(place, &text(&line["author"]), &text(&line["text"])).await;
        let expected = line["expects"] == "answer";
        let tally = if expected { &mut follow_ups } else { &mut others };
        tally.add(number, line, is_owed(&harness, &channel).await == expected);
    }
    [follow_ups.share("follow-ups"), others.share("closings and talk among users")]
}

#[tokio::test]
async fn a_follow_up_below_what_it_answered_is_owed_an_answer() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok("It hangs by the door."));
        let question = harness.says("ann", "@Aizuchi where is the key?").await;
        harness.pass(10).await;
        let below = thread("garden", question.as_str());
        harness.says_in(below.clone(), "ann", "and the spare one?").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts().len(), 2);
        // Whom it asks instead is answered by others.
        harness.mind.script.push(PromptVerb::Reply, Ok("I do not know. Does anybody else know?"));
        let question = harness.says("ann", "@Aizuchi where is the saw?").await;
        harness.pass(10).await;
        harness.says_in(thread("garden", question.as_str()), "bob", "in the second drawer").await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts().len(), 3);
    })
    .await;
}

#[test]
fn plain_requests_for_quiet_are_commands() {
    let (mut requests, mut others) = (Tally::default(), Tally::default());
    for (number, line) in lines(include_str!("addressed/quiet.jsonl")).iter().enumerate() {
        let text = format!("@Aizuchi {}", line["text"].as_str().unwrap());
        let means = match Command::parse_message(&text, "Aizuchi") {
            Some(Command::Stop | Command::Mute { .. }) => "stop",
            Some(Command::ChangeSetting(SettingRequest { kind, .. })) => {
                assert_eq!(kind, Some(SettingKind::MinConfidence), "{text}");
                "less"
            }
            _ => "other",
        };
        let tally = if line["means"] == "other" { &mut others } else { &mut requests };
        tally.add(number, line, line["means"] == means);
    }
    let shares = [requests.share("requests for quiet"), others.share("other requests")];
    assert!(shares[0] >= 0.6 && shares[1] >= 0.97, "{shares:?}");
}
