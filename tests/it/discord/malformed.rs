//! Malformed input from Discord: each value of each event is replaced by values of other types and by extreme ones. The
//! program keeps reading over the same connection, and answers the mentions in between.

use std::collections::BTreeMap;

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::discord::FakeDiscord;
use aizuchi_fakes::discord::FakeDiscordSettings;
use aizuchi_fakes::discord::channel::NewChannel;
use aizuchi_fakes::discord::command::NewInteraction;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::id::{ChannelId, MessageId};
use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::discord::rate_limit::{RateLimit, RateLimits};
use aizuchi_harness::effort::cases;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use twilight_model::guild::Permissions;

use crate::discord::harness::{DiscordHarness, RESUME, Setting};
use crate::program::Program;
use crate::slack::malformed::NO_LIMITS;

const MENTION_CHANNELS: usize = 40;
const MENTIONS_AT_ONCE: usize = 8;
/// The number of altered events between two mentions.
const BETWEEN_MENTIONS: usize = 40;
/// Contained in texts that must not appear in the log.
const SECRET: &str = "quince jelly";

struct MalformedHarness {
    discord: DiscordHarness,
    program: Program,
    channels: Vec<ChannelId>,
    asked: usize,
}

impl MalformedHarness {
    async fn start() -> Self {
        let many = RateLimit::new(10_000, SignedDuration::from_secs(1));
        let rate_limits =
            RateLimits { global: many, messages: many, other: many, ..RateLimits::default() };
        let world = FakeDiscordSettings { rate_limits, ..Setting::default().world };
        let discord =
            DiscordHarness::with(Setting { world, more: NO_LIMITS, ..Setting::default() }).await;
        let channel = |number: usize| {
            let new = NewChannel { name: format!("room-{number}"), ..NewChannel::default() };
            discord.discord.add_channel(new).unwrap()
        };
        let channels: Vec<ChannelId> = (0..MENTION_CHANNELS).map(channel).collect();
        let program = discord.start().await;
        Self { discord, program, channels, asked: 0 }
    }

    /// Asks in the next channel. At intervals, waits until all mentions so far are answered.
    async fn ask(&mut self, what: &str) {
        let channel = self.channels[self.asked % MENTION_CHANNELS];
        self.discord.asks(channel, self.discord.mio, &format!("hello after {what}?"));
        self.asked += 1;
        if self.asked.is_multiple_of(MENTIONS_AT_ONCE) {
            self.wait_for_answers().await;
        }
    }

    async fn wait_for_answers(&self) {
        let asked = self.asked;
        self.discord.until(|discord| answer_count(discord, &self.channels) >= asked).await;
    }

    /// Checks that the connection was never lost, that no error showed, and that each mention has one answer in its
    /// channel.
    async fn end(self, malformed: &str) {
        self.wait_for_answers().await;
        assert_eq!(answer_count(&self.discord.discord, &self.channels), self.asked);
        assert_eq!((self.discord.said(RESUME), self.discord.discord.close_codes().len()), (0, 0));
        let figures = self.program.request("/metrics").await.text().await.unwrap();
        let counted = figures.lines().any(|line| line.starts_with(malformed));
        assert!(counted, "{malformed} in\n{figures}");
        assert!(!figures.contains("\naizuchi_panics_total{"), "{figures}");
        assert!(!self.discord.log().contains(SECRET));
        assert_eq!(self.program.stop(), Some(0));
    }
}

fn answer_count(discord: &FakeDiscord, channels: &[ChannelId]) -> usize {
    discord.read(|state| {
        state.journal.posts.iter().filter(|post| channels.contains(&post.channel)).count()
    })
}

/// Returns one event of each name, as Discord sends them, and a message of each kind.
fn example_events(harness: &DiscordHarness) -> Vec<(String, Value)> {
    let (discord, guild, mio, ren) = (&harness.discord, harness.guild, harness.mio, harness.ren);
    let new_channel = |name: &str| {
        discord.add_channel(NewChannel { name: name.to_owned(), ..NewChannel::default() }).unwrap()
    };
    let (lab, shed) = (new_channel("lab"), new_channel("shed"));
    let asked = harness.says(lab, mio, "what is in the jar?");
    discord.send_reply(lab, ren, asked, SECRET).unwrap();
    let attached =
        json!({"id": "77", "filename": "jar.png", "content_type": "image/png", "size": 5});
    let jar = harness.says_so(NewFakeMessage {
        attachments: vec![attached],
        ..NewFakeMessage::new(lab, ren, SECRET)
    });
    discord.edit_message(lab, jar, "only quinces").unwrap();
    discord.add_reaction(lab, asked, ren, "🎉").unwrap();
    discord.remove_reaction(lab, asked, ren, "🎉").unwrap();
    let thread = discord.start_thread_from_message(lab, asked, mio, "jars").unwrap();
    harness.says(thread, ren, "in the cellar");
    discord.archive_thread(thread).unwrap();
    discord.delete_message(lab, jar).unwrap();
    let more: Vec<MessageId> = (0..2).map(|_| harness.says(lab, ren, "one more")).collect();
    discord.bulk_delete_messages(lab, &more).unwrap();
    discord.rename_channel(lab, "laboratory").unwrap();
    discord.set_permissions(lab, PermissionEffect::Allow, Permissions::SEND_MESSAGES).unwrap();
    discord.delete_channel(shed).unwrap();
    discord.rename_guild(guild, "Orchard").unwrap();
    let role = discord.add_role(guild, "gardeners").unwrap();
    discord.give_role(guild, ren, role).unwrap();
    discord.set_nick(guild, ren, "Renny").unwrap();
    let direct = discord.open_direct_message(ren).unwrap();
    harness.says(direct, harness.bot, "hello");
    let sent = discord.read(|state| state.gateway.sessions.last().unwrap().sent_events.clone());
    let event = |payload: Value| (payload["t"].as_str().unwrap().to_owned(), payload["d"].clone());
    let kind = |data: &Value| {
        let is_there = |name: &str| !data[name].is_null();
        let files = data["attachments"].as_array().is_some_and(|files| !files.is_empty());
        (is_there("guild_id"), is_there("referenced_message"), files)
    };
    let events = sent.into_iter().map(|(_, payload)| event(payload));
    let by_kind: BTreeMap<_, _> =
        events.map(|(name, data)| ((name.clone(), kind(&data)), (name, data))).collect();
    let others = ["MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI"].map(|name| {
        let emoji = json!({"id": null, "name": "🎉"});
        let data =
            json!({"channel_id": lab, "guild_id": guild, "message_id": asked, "emoji": emoji});
        (name.to_owned(), data)
    });
    let threads = json!({"guild_id": guild, "threads": [], "members": []});
    let others = others.into_iter().chain([("THREAD_LIST_SYNC".to_owned(), threads)]);
    let is_ours = |(name, _): &(String, Value)| !matches!(name.as_str(), "READY" | "RESUMED");
    by_kind.into_values().chain(others).filter(is_ours).collect()
}

/// Gives a new message an id that was not used before.
fn as_new(name: &str, data: &Value, number: u64) -> Value {
    let mut data = data.clone();
    if name == "MESSAGE_CREATE" {
        let milliseconds = Timestamp::now().as_millisecond() - 1_420_070_400_000 - 60_000;
        data["id"] = json!((((milliseconds as u64) << 22) + number).to_string());
    }
    data
}

#[tokio::test]
async fn no_event_ends_the_program_or_keeps_a_mention_from_being_answered() {
    let mut harness = MalformedHarness::start().await;
    let events = example_events(&harness.discord);
    assert!(events.len() >= 20, "{:?}", events.iter().map(|(name, _)| name).collect::<Vec<_>>());
    let mut number = 0;
    for (name, data) in events {
        let name: &'static str = name.leak();
        // Each value is altered in a subset of all ways, which differs from value to value.
        let alterations: Vec<_> =
            Alteration::all_of(&data).into_iter().step_by(cases(5, 3)).collect();
        for some in alterations.chunks(BETWEEN_MENTIONS) {
            for alteration in some {
                number += 1;
                let mut altered = as_new(name, &data, number);
                alteration.apply(&mut altered);
                harness.discord.discord.emit_event(name, altered);
            }
            harness.ask(&format!("{name} {}", some[0].pointer)).await;
        }
    }
    harness.end(r#"aizuchi_malformed_input_total{platform="discord",kind="event"}"#).await;
}

#[tokio::test]
async fn no_interaction_ends_the_program() {
    let mut harness = MalformedHarness::start().await;
    let DiscordHarness { discord, tea, mio, .. } = &harness.discord;
    harness.discord.until(|discord| !discord.commands(None).is_empty()).await;
    let options = json!([{"name": "status", "type": 1, "options": []}]);
    for kind in [2, 4] {
        let (name, options) = ("aizuchi".to_owned(), options.clone());
        let interaction =
            NewInteraction { channel: *tea, user: *mio, kind, name, options, at: None };
        discord.interact(interaction).unwrap();
    }
    let sent = discord.read(|state| state.gateway.sessions.last().unwrap().sent_events.clone());
    let interactions: Vec<Value> = sent
        .into_iter()
        .filter(|(_, payload)| payload["t"] == "INTERACTION_CREATE")
        .map(|(_, payload)| payload["d"].clone())
        .collect();
    assert_eq!(interactions.len(), 2);
    for interaction in interactions {
        for some in Alteration::all_of(&interaction).chunks(BETWEEN_MENTIONS) {
            for alteration in some {
                let mut altered = interaction.clone();
                alteration.apply(&mut altered);
                harness.discord.discord.emit_event("INTERACTION_CREATE", altered);
            }
            harness.ask("an interaction").await;
        }
    }
    harness.end(r#"aizuchi_malformed_input_total{platform="discord",kind="command"}"#).await;
}
