//! A workspace in which people talk: a few channels are busy and most are quiet, some lines are in threads,
//! some are mentions, and some are edited, deleted and reacted to.

use std::collections::VecDeque;
use std::sync::Arc;

use aizuchi_core::clock::seeded_random;
use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::api_error::ApiError;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::Timestamp;

/// How many people are in a channel.
const MEMBERS: usize = 25;
/// How many of the newest lines are still talked about.
const RECENT: usize = 400;
const WORDS: [&str; 12] = [
    "harbor", "kettle", "roses", "invoice", "ladder", "umbrella", "release", "Thursday", "lantern",
    "budget", "お茶", "散歩",
];

pub struct Team {
    pub fake: Arc<FakeSlack>,
    channels: Vec<Room>,
    bot: String,
    /// Top-level lines, oldest first.
    recent: VecDeque<Place>,
    /// What has been done, in its order.
    pub acts: Vec<Act>,
    turn: u64,
}

struct Room {
    id: String,
    members: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub channel: String,
    pub ts: Ts,
    /// Which of the rooms it is.
    room: usize,
}

/// What somebody did, as it is to be found in the program's database.
#[derive(Clone, Debug)]
pub enum Act {
    Said(Place),
    Edited(Place),
    Deleted(Place),
    Reacted { place: Place, user: String },
}

impl Team {
    pub fn gather(fake: Arc<FakeSlack>, channels: usize, people: usize) -> anyhow::Result<Self> {
        let bot = fake.bot_user();
        let people: Vec<String> =
            (0..people.max(1)).map(|number| fake.add_user(&format!("Person {number}"))).collect();
        let room = |number: usize| -> anyhow::Result<Room> {
            let member = |place: usize| people[(number * 5 + place * 41) % people.len()].clone();
            let members: Vec<String> = (0..MEMBERS).map(member).collect();
            let new = NewChannel {
                name: format!("room-{number}"),
                members: members.iter().cloned().chain([bot.clone()]).collect(),
                ..NewChannel::default()
            };
            let id = fake.add_channel(new).map_err(refused)?;
            Ok(Room { id, members })
        };
        let channels = (0..channels.max(1)).map(room).collect::<anyhow::Result<_>>()?;
        Ok(Self { fake, channels, bot, recent: VecDeque::new(), acts: Vec::new(), turn: 0 })
    }

    pub fn now(&self) -> Timestamp {
        self.fake.settings.clock.now()
    }

    /// Somebody says a line, and now and then somebody does something else.
    pub fn act(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        self.say()?;
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

    fn say(&mut self) -> anyhow::Result<()> {
        let parent = if self.draw("in thread") < 0.2 { self.somewhere("thread") } else { None };
        // The first rooms are the busy ones.
        let room = match &parent {
            Some(parent) => parent.room,
            None => (self.draw("room").powi(2) * self.channels.len() as f64) as usize,
        };
        let (channel, user) = (self.channels[room].id.clone(), self.member(room, "author"));
        let thread = parent.map(|parent| parent.ts);
        let saying =
            NewFakeMessage { thread, ..NewFakeMessage::new(&channel, &user, &self.line()) };
        let ts = self.fake.send_message_with(saying).map_err(refused)?;
        let place = Place { channel, ts, room };
        self.acts.push(Act::Said(place.clone()));
        if thread.is_none() {
            self.recent.push_back(place);
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
        Ok(())
    }

    /// One line in twenty is to the persona.
    fn line(&self) -> String {
        let length = 4 + (self.draw("length") * 16.0) as usize;
        let word = |place: usize| {
            let draw = self.draw(&format!("word {place}"));
            WORDS[(draw * WORDS.len() as f64) as usize]
        };
        let words: Vec<&str> = (0..length).map(word).collect();
        let mention =
            if self.draw("mentions") < 0.05 { format!("<@{}> ", self.bot) } else { String::new() };
        format!("{mention}line {}: {}", self.turn, words.join(" "))
    }

    fn edit(&mut self) -> anyhow::Result<()> {
        let Some(place) = self.somewhere("edited") else { return Ok(()) };
        let text = format!("edited in turn {}", self.turn);
        self.fake.edit_message(&place.channel, place.ts, &text).map_err(refused)?;
        self.acts.push(Act::Edited(place));
        Ok(())
    }

    fn delete(&mut self) -> anyhow::Result<()> {
        let Some(place) = self.somewhere("deleted") else { return Ok(()) };
        self.fake.delete_message(&place.channel, place.ts).map_err(refused)?;
        self.recent.retain(|other| other.ts != place.ts || other.channel != place.channel);
        self.acts.push(Act::Deleted(place));
        Ok(())
    }

    fn react(&mut self) -> anyhow::Result<()> {
        let Some(place) = self.somewhere("reacted") else { return Ok(()) };
        let user = self.member(place.room, "reacts");
        // Who has done so already does not do it again.
        if self.fake.add_reaction(&place.channel, place.ts, &user, "eyes").is_ok() {
            self.acts.push(Act::Reacted { place, user });
        }
        Ok(())
    }

    /// The lines that were said since then and are there still.
    pub fn lines_since(&self, since: Option<Timestamp>) -> Vec<Place> {
        let since = since.map(Ts::from_timestamp).unwrap_or_default();
        let said = self.acts.iter().filter_map(|act| match act {
            Act::Said(place) if place.ts >= since => Some(place),
            Act::Said(_) | Act::Edited(_) | Act::Deleted(_) | Act::Reacted { .. } => None,
        });
        said.filter(|place| place.is_there(&self.fake)).cloned().collect()
    }

    fn somewhere(&self, what: &str) -> Option<Place> {
        let place = self.draw(what) * self.recent.len() as f64;
        self.recent.get(place as usize).cloned()
    }

    fn member(&self, room: usize, what: &str) -> String {
        let members = &self.channels[room].members;
        let place = self.draw(&format!("who {what}")) * members.len() as f64;
        members[place as usize].clone()
    }

    fn draw(&self, what: &str) -> f64 {
        seeded_random(self.turn, &[what])
    }
}

fn refused(refusal: ApiError) -> anyhow::Error {
    anyhow::anyhow!("the stand-in for Slack says {}", refusal.error)
}

impl Place {
    /// Nobody has deleted it; of a line with a thread below it, a tombstone would be left.
    pub fn is_there(&self, fake: &FakeSlack) -> bool {
        fake.read(|state| {
            let message = state.workspace.message(&self.channel, self.ts);
            message.is_ok_and(|message| message.subtype.is_none())
        })
    }
}

impl Act {
    pub fn place(&self) -> &Place {
        match self {
            Act::Said(place) | Act::Edited(place) | Act::Deleted(place) => place,
            Act::Reacted { place, .. } => place,
        }
    }
}
