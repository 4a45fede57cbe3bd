//! Malformed input from Slack: each value of each event is replaced by values of other types and by extreme ones. The
//! program keeps reading, acknowledges everything, and answers the mentions in between.

use std::collections::BTreeMap;

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::delivery::{AckStatus, PayloadKind};
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::user_actions::NameChange;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings};
use aizuchi_fakes::wire::to_wire;
use aizuchi_harness::effort::cases;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// Enough channels that Slack's limit of one post per second does not slow down the test.
const MENTION_CHANNELS: usize = 40;
const MENTIONS_AT_ONCE: usize = 2;
/// The number of altered events between two mentions.
const BETWEEN_MENTIONS: usize = 20;
/// Disables the limits, because one user sends many mentions.
pub const NO_LIMITS: &str = "budget:
  answers_per_person_per_hour: 100000
  posts_per_channel_per_hour: 100000
  tokens_per_day: 100000000
";
/// Contained in texts that must not appear in the log.
const SECRET: &str = "quince jelly";

struct MalformedHarness {
    slack: SlackHarness,
    program: Program,
    channels: Vec<String>,
    asked: usize,
}

impl MalformedHarness {
    async fn start() -> Self {
        // Under load, no delivery may count as failed.
        let ack_deadline = SignedDuration::from_mins(10);
        let team = FakeSlackSettings { ack_deadline, ..FakeSlackSettings::default() };
        let slack =
            SlackHarness::with(SlackOptions { team, more: NO_LIMITS, ..SlackOptions::default() })
                .await;
        let channel = |number: usize| {
            let members = vec![slack.mio.clone(), slack.bot.clone()];
            let new = NewChannel { name: format!("room-{number}"), members, ..Default::default() };
            slack.slack.add_channel(new).unwrap()
        };
        let channels: Vec<String> = (0..MENTION_CHANNELS).map(channel).collect();
        let program = slack.start().await;
        Self { slack, program, channels, asked: 0 }
    }

    /// Asks in the next channel. At intervals, waits until all mentions so far are answered.
    async fn ask(&mut self, what: &str) {
        let channel = &self.channels[self.asked % MENTION_CHANNELS];
        self.slack.post_mention(channel, &self.slack.mio, &format!("hello after {what}?"));
        self.asked += 1;
        if self.asked.is_multiple_of(MENTIONS_AT_ONCE) {
            self.wait_for_answers().await;
        }
    }

    async fn wait_for_answers(&self) {
        let asked = self.asked;
        self.slack.wait_until(|slack| answer_count(slack, &self.channels) >= asked).await;
    }

    /// Checks that everything was acknowledged at the first delivery, that no error showed, and that each mention has
    /// one answer.
    async fn end(self, malformed: &str) {
        self.wait_for_answers().await;
        self.slack
            .wait_until(|slack| {
                slack.read(|state| {
                    state
                        .dispatcher
                        .deliveries
                        .iter()
                        .all(|it| matches!(it.ack_status, AckStatus::Acked))
                })
            })
            .await;
        assert_eq!(answer_count(&self.slack.slack, &self.channels), self.asked);
        let figures = self.program.request("/metrics").await.text().await.unwrap();
        let counted = figures.lines().any(|line| line.starts_with(malformed));
        assert!(counted, "{malformed} in\n{figures}");
        assert!(!figures.contains("\naizuchi_panics_total{"), "{figures}");
        assert!(!self.slack.log().contains(SECRET));
        assert_eq!(self.program.stop(), Some(0));
    }
}

fn answer_count(slack: &FakeSlack, channels: &[String]) -> usize {
    slack.read(|state| {
        state.journal.posts.iter().filter(|post| channels.contains(&post.channel)).count()
    })
}

/// Returns one event of each kind that the app subscribes to, as Slack sends them.
async fn example_events(harness: &SlackHarness) -> Vec<Value> {
    let (slack, bot, mio, ren) = (&harness.slack, &harness.bot, &harness.mio, &harness.ren);
    let new_channel = |name: &str| {
        let (name, members) = (name.to_owned(), vec![mio.clone(), ren.clone(), bot.clone()]);
        slack.add_channel(NewChannel { name, members, ..NewChannel::default() }).unwrap()
    };
    let (lab, den, shed) = (new_channel("lab"), new_channel("den"), new_channel("shed"));
    let before = slack.read(|state| state.dispatcher.envelopes.len());
    let parent = harness.post_message(&lab, mio, "what is in the jar?");
    let reply = slack
        .send_message_with(NewFakeMessage {
            thread: Some(parent),
            files: vec![json!({"id": "F1", "name": "jar.png", "filetype": "png"})],
            blocks: Some(json!([{"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": SECRET}]}]}])),
            ..NewFakeMessage::new(&lab, ren, SECRET)
        })
        .unwrap();
    slack
        .send_message_with(NewFakeMessage {
            subtype: Some("bot_message".to_owned()),
            bot: Some("B0OTHER".to_owned()),
            ..NewFakeMessage::new(&lab, ren, "deployed")
        })
        .unwrap();
    slack.edit_message(&lab, reply, "only quinces").unwrap();
    slack.add_reaction(&lab, parent, ren, "eyes").unwrap();
    slack.remove_reaction(&lab, parent, ren, "eyes").unwrap();
    slack.delete_message(&lab, reply).unwrap();
    slack.leave_channel(&lab, ren).unwrap();
    slack.join_channel(&lab, ren).unwrap();
    slack.rename_channel(&lab, mio, "laboratory").unwrap();
    slack.archive_channel(&lab, mio).unwrap();
    slack.unarchive_channel(&lab, mio).unwrap();
    slack.make_private(&den, mio).unwrap();
    slack.leave_channel(&shed, bot).unwrap();
    slack.join_channel(&shed, bot).unwrap();
    slack.delete_channel(&shed, mio).unwrap();
    slack.rename_user(ren, NameChange { display_name: "Renny", real_name: "Ren" }).unwrap();
    slack.send_app_rate_limited();
    harness.post_mention(&lab, mio, "and you?");
    let envelopes = slack.read(|state| state.dispatcher.envelopes[before..].to_vec());
    let kind = |payload: &Value| {
        let event = &payload["event"];
        let key = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        (key("type"), key("subtype"), event["thread_ts"].is_string())
    };
    let payloads = envelopes.into_iter().map(|envelope| envelope.payload);
    let mut by_kind = BTreeMap::new();
    for payload in payloads {
        by_kind.entry(kind(&payload)).or_insert(payload);
    }
    by_kind.into_values().collect()
}

/// Returns the event as a new one: with another time, and for a message also another id.
fn as_new(payload: &Value, number: usize) -> Value {
    let mut payload = payload.clone();
    let second = Timestamp::now().as_second();
    let ts = format!("{}.{:06}", second - 60, number % 1_000_000);
    let event = &mut payload["event"];
    if event["type"] == "message" && event["subtype"].is_null() {
        event["ts"] = json!(ts);
        event["client_msg_id"] = json!(format!("client-{number}"));
    }
    if event["event_ts"].is_string() {
        event["event_ts"] = json!(ts);
    }
    payload["event_id"] = json!(format!("Ev{number}"));
    payload
}

#[tokio::test]
async fn no_event_ends_the_program_or_keeps_a_mention_from_being_answered() {
    let mut harness = MalformedHarness::start().await;
    let events = example_events(&harness.slack).await;
    assert!(events.len() >= 16, "{}", events.len());
    let mut number = 0;
    for event in events {
        // Each value is altered in a subset of all ways, which differs from value to value.
        let alterations: Vec<_> =
            Alteration::all_of(&event).into_iter().step_by(cases(5, 3)).collect();
        for some in alterations.chunks(BETWEEN_MENTIONS) {
            for alteration in some {
                number += 1;
                let mut payload = as_new(&event, number);
                alteration.apply(&mut payload);
                harness.slack.slack.deliver(PayloadKind::Event, payload);
            }
            let (kind, subtype) = (&event["event"]["type"], &event["event"]["subtype"]);
            harness.ask(&format!("{kind} {subtype} {}", some[0].pointer)).await;
        }
    }
    harness.end(r#"aizuchi_malformed_input_total{platform="slack",kind="event"}"#).await;
}

#[tokio::test]
async fn no_frame_and_no_command_ends_the_program() {
    let mut harness = MalformedHarness::start().await;
    let (tea, mio) = (harness.slack.tea.clone(), harness.slack.mio.clone());
    let envelope = json!({"envelope_id": "e", "type": "events_api", "payload": {"event": {}}, "retry_attempt": 0});
    let hello = json!({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A"}});
    for frame in [envelope, hello] {
        for alteration in Alteration::all_of(&frame) {
            let mut frame = frame.clone();
            alteration.apply(&mut frame);
            harness.slack.slack.send_frame(&to_wire(&frame));
        }
        harness.ask("a frame").await;
    }
    for text in ["", "{", "<html>", "[[[", "\u{0}", r#"{"type":"#] {
        harness.slack.slack.send_frame(text);
    }
    harness.ask("no JSON").await;
    harness.slack.slack.run_command(&tea, &mio, "/aizuchi", "status").unwrap();
    let command = harness.slack.slack.read(|state| {
        state.dispatcher.envelopes.last().map(|envelope| envelope.payload.clone()).unwrap()
    });
    for some in Alteration::all_of(&command).chunks(BETWEEN_MENTIONS) {
        for alteration in some {
            let mut payload = command.clone();
            alteration.apply(&mut payload);
            harness.slack.slack.deliver(PayloadKind::SlashCommand, payload);
        }
        harness.ask("a command").await;
    }
    harness.end(r#"aizuchi_malformed_input_total{platform="slack",kind="command"}"#).await;
}
