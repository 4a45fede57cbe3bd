//! A workspace with active users: a few channels are busy and most are quiet, some messages are in threads, some are
//! mentions, and some are edited, deleted and reacted to.

use std::collections::VecDeque;
use std::sync::Arc;

use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::api_error::ApiError;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_model::clock::seeded_random;
use jiff::Timestamp;

const MEMBERS: usize = 25;
/// How many of the newest messages get replies, edits, deletions and reactions.
const RECENT: usize = 400;
const WORDS: [&str; 12] = [
    "harbor", "kettle", "roses", "invoice", "ladder", "umbrella", "release", "Thursday", "lantern",
    "budget", "お茶", "散歩",
];

pub struct Team {
    pub fake: Arc<FakeSlack>,
    channels: Vec<TeamChannel>,
    bot: String,
    /// Top-level messages, oldest first.
    recent: VecDeque<MessageRef>,
    /// All actions so far, oldest first.
    pub actions: Vec<Action>,
    step: u64,
}

struct TeamChannel {
    id: String,
    members: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct MessageRef {
    pub channel: String,
    pub ts: Ts,
    /// The index of the channel.
    channel_index: usize,
}

/// What a user did. Each action must appear in the program's database.
#[derive(Clone, Debug)]
pub enum Action {
    Posted(MessageRef),
    Edited(MessageRef),
    Deleted(MessageRef),
    Reacted { message: MessageRef, user: String },
}

impl Team {
    pub fn gather(fake: Arc<FakeSlack>, channels: usize, users: usize) -> anyhow::Result<Self> {
        let bot = fake.bot_user();
        let users: Vec<String> =
            (0..users.max(1)).map(|number| fake.add_user(&format!("Person {number}"))).collect();
        let channel = |number: usize| -> anyhow::Result<TeamChannel> {
            let member = |index: usize| users[(number * 5 + index * 41) % users.len()].clone();
            let members: Vec<String> = (0..MEMBERS).map(member).collect();
            let new = NewChannel {
                name: format!("room-{number}"),
                members: members.iter().cloned().chain([bot.clone()]).collect(),
                ..NewChannel::default()
            };
            let id = fake.add_channel(new).map_err(refused)?;
            Ok(TeamChannel { id, members })
        };
        let channels = (0..channels.max(1)).map(channel).collect::<anyhow::Result<_>>()?;
        Ok(Self { fake, channels, bot, recent: VecDeque::new(), actions: Vec::new(), step: 0 })
    }

    pub fn now(&self) -> Timestamp {
        self.fake.settings.clock.now()
    }

    /// Posts a message, and sometimes reacts, edits or deletes.
    pub fn act(&mut self) -> anyhow::Result<()> {
        self.step += 1;
        self.post()?;
        if self.draw("reacts") < 0.1 {
            self.react()?;
        }
        if self.draw("edits") < 0.04 {
            self.edit()?;
        }
        if self.draw("deletes") < 0.02 {
            self.delete()?;
        }
        Ok(())
    }

    fn post(&mut self) -> anyhow::Result<()> {
        let parent =
            if self.draw("in thread") < 0.2 { self.random_message("thread") } else { None };
        // The first channels are the busy ones.
        let channel_index = match &parent {
            Some(parent) => parent.channel_index,
            None => (self.draw("room").powi(2) * self.channels.len() as f64) as usize,
        };
        let (channel, user) =
            (self.channels[channel_index].id.clone(), self.member(channel_index, "author"));
        let thread = parent.map(|parent| parent.ts);
        let text = self.text();
        let new_message = NewFakeMessage { thread, ..NewFakeMessage::new(&channel, &user, &text) };
        let ts = self.fake.send_message_with(new_message).map_err(refused)?;
        let message = MessageRef { channel, ts, channel_index };
        self.actions.push(Action::Posted(message.clone()));
        if thread.is_none() {
            self.recent.push_back(message);
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
        Ok(())
    }

    /// One message in twenty mentions the bot.
    fn text(&self) -> String {
        let length = 4 + (self.draw("length") * 16.0) as usize;
        let word = |index: usize| {
            let draw = self.draw(&format!("word {index}"));
            WORDS[(draw * WORDS.len() as f64) as usize]
        };
        let words: Vec<&str> = (0..length).map(word).collect();
        let mention =
            if self.draw("mentions") < 0.05 { format!("<@{}> ", self.bot) } else { String::new() };
        format!("{mention}line {}: {}", self.step, words.join(" "))
    }

    fn edit(&mut self) -> anyhow::Result<()> {
        let Some(message) = self.random_message("edited") else { return Ok(()) };
        let text = format!("edited in turn {}", self.step);
        self.fake.edit_message(&message.channel, message.ts, &text).map_err(refused)?;
        self.actions.push(Action::Edited(message));
        Ok(())
    }

    fn delete(&mut self) -> anyhow::Result<()> {
        let Some(message) = self.random_message("deleted") else { return Ok(()) };
        self.fake.delete_message(&message.channel, message.ts).map_err(refused)?;
        self.recent.retain(|other| other.ts != message.ts || other.channel != message.channel);
        self.actions.push(Action::Deleted(message));
        Ok(())
    }

    fn react(&mut self) -> anyhow::Result<()> {
        let Some(message) = self.random_message("reacted") else { return Ok(()) };
        let user = self.member(message.channel_index, "reacts");
        // Fails if the user has reacted already.
        if self.fake.add_reaction(&message.channel, message.ts, &user, "eyes").is_ok() {
            self.actions.push(Action::Reacted { message, user });
        }
        Ok(())
    }

    /// The messages that were posted since then and still exist.
    pub fn messages_since(&self, since: Option<Timestamp>) -> Vec<MessageRef> {
        let since = since.map(Ts::from_timestamp).unwrap_or_default();
        let posted = self.actions.iter().filter_map(|action| match action {
            Action::Posted(message) if message.ts >= since => Some(message),
            Action::Posted(_) | Action::Edited(_) | Action::Deleted(_) | Action::Reacted { .. } => {
                None
            }
        });
        posted.filter(|message| message.exists(&self.fake)).cloned().collect()
    }

    fn random_message(&self, what: &str) -> Option<MessageRef> {
        let index = self.draw(what) * self.recent.len() as f64;
        self.recent.get(index as usize).cloned()
    }

    fn member(&self, channel_index: usize, what: &str) -> String {
        let members = &self.channels[channel_index].members;
        let index = self.draw(&format!("who {what}")) * members.len() as f64;
        members[index as usize].clone()
    }

    fn draw(&self, what: &str) -> f64 {
        seeded_random(self.step, &[what])
    }
}

fn refused(refusal: ApiError) -> anyhow::Error {
    anyhow::anyhow!("the stand-in for Slack says {}", refusal.error)
}

impl MessageRef {
    /// Whether it has not been deleted. A deleted message with replies leaves a tombstone, which has a subtype.
    pub fn exists(&self, fake: &FakeSlack) -> bool {
        fake.read(|state| {
            let message = state.workspace.message(&self.channel, self.ts);
            message.is_ok_and(|message| message.subtype.is_none())
        })
    }
}

impl Action {
    pub fn message_ref(&self) -> &MessageRef {
        match self {
            Action::Posted(message) | Action::Edited(message) | Action::Deleted(message) => message,
            Action::Reacted { message, .. } => message,
        }
    }
}
