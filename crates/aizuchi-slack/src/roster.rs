//! Who and what is in the workspace, as far as Slack has told: names, kinds of members, rooms and whether
//! we are in them. What is not known yet is asked for by [`crate::sync`].

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Notify;

use crate::from_slack::Person;
use aizuchi_core::chat::{AuthorKind, Channel, ChannelId, Role, User, UserId};
use aizuchi_core::platform::dismissal::Dismissal;

#[derive(Default)]
pub struct Roster {
    known: RwLock<Known>,
    asked: Notify,
    pub dismissed: Dismissal,
}

#[derive(Default)]
struct Known {
    people: HashMap<UserId, (Arc<str>, AuthorKind, Role)>,
    rooms: HashMap<ChannelId, Room>,
    /// User groups' handles by id.
    groups: HashMap<String, Arc<str>>,
    questions: Questions,
}

/// What somebody should ask Slack.
#[derive(Default)]
pub struct Questions {
    pub people: BTreeSet<UserId>,
    pub rooms: BTreeSet<ChannelId>,
}

#[derive(Clone, Debug)]
pub struct Room {
    pub channel: Channel,
    pub standing: Standing,
}

/// Whether we are in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// We were, before Slack was asked.
    Unknown,
    Member,
    /// We have left, or the room is closed.
    Out,
}

impl Roster {
    /// Takes up what was known before Slack was asked.
    pub fn recall(&self, people: Vec<User>, channels: Vec<Channel>) {
        self.write(|known| {
            let people = people.into_iter();
            let people = people.map(|user| (user.id, (user.name, user.kind, user.role)));
            known.people.extend(people);
            let rooms = channels.into_iter();
            let standing = Standing::Unknown;
            let rooms = rooms.map(|channel| (channel.id.clone(), Room { channel, standing }));
            known.rooms.extend(rooms);
        });
    }

    pub fn name(&self, user: &UserId) -> Option<Arc<str>> {
        self.read(|known| known.people.get(user).map(|(name, ..)| name.clone()))
    }

    pub fn kind(&self, user: &UserId) -> Option<AuthorKind> {
        self.read(|known| known.people.get(user).map(|(_, kind, _)| *kind))
    }

    pub fn group(&self, id: &str) -> Option<Arc<str>> {
        self.read(|known| known.groups.get(id).cloned())
    }

    pub fn room(&self, channel: &ChannelId) -> Option<Room> {
        self.read(|known| known.rooms.get(channel).cloned())
    }

    /// The rooms that we are in, in the order of their ids.
    pub fn joined(&self) -> Vec<ChannelId> {
        self.rooms(|standing| standing == Standing::Member)
    }

    /// Those that we may be in.
    pub fn not_left(&self) -> Vec<ChannelId> {
        self.rooms(|standing| standing != Standing::Out)
    }

    fn rooms(&self, is_it: impl Fn(Standing) -> bool) -> Vec<ChannelId> {
        let mut rooms: Vec<ChannelId> = self.read(|known| {
            let rooms = known.rooms.iter().filter(|(_, room)| is_it(room.standing));
            rooms.map(|(id, _)| id.clone()).collect()
        });
        rooms.sort();
        rooms
    }

    /// All of that is known.
    pub fn knows(&self, person: &Person, kind: AuthorKind) -> bool {
        let now = (person.name.clone(), kind, person.role);
        self.read(|known| known.people.get(&person.id) == Some(&now))
    }

    pub fn learn_person(&self, person: &Person, kind: AuthorKind) {
        let now = (person.name.clone(), kind, person.role);
        self.write(|known| known.people.insert(person.id.clone(), now));
    }

    pub fn learn_group(&self, id: &str, handle: &str) {
        self.write(|known| known.groups.insert(id.to_owned(), handle.into()));
    }

    pub fn learn_room(&self, room: Room) {
        self.write(|known| known.rooms.insert(room.channel.id.clone(), room));
    }

    /// We are not there any more.
    pub fn leave(&self, channel: &ChannelId) {
        self.write(|known| {
            if let Some(room) = known.rooms.get_mut(channel) {
                room.standing = Standing::Out;
            }
        });
    }

    pub fn ask_about_person(&self, user: &UserId) {
        self.write(|known| known.questions.people.insert(user.clone()));
        self.asked.notify_one();
    }

    pub fn ask_about_room(&self, channel: &ChannelId) {
        self.write(|known| known.questions.rooms.insert(channel.clone()));
        self.asked.notify_one();
    }

    /// What was asked since the last time; waits for something.
    pub async fn questions(&self) -> Questions {
        loop {
            let asked = self.asked.notified();
            let questions = self.write(|known| std::mem::take(&mut known.questions));
            if !(questions.people.is_empty() && questions.rooms.is_empty()) {
                return questions;
            }
            asked.await;
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}
