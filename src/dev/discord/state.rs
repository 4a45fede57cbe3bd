//! Everything a fake Discord remembers, and what is to be done later.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::dev::discord::Settings;
use crate::dev::discord::api::{self, Asked};
use crate::dev::discord::fault::Faults;
use crate::dev::discord::journal::Journal;
use crate::dev::discord::limits::Limits;
use crate::dev::discord::session::Gateway;
use crate::dev::discord::world::World;

pub struct State {
    pub world: World,
    pub gateway: Gateway,
    pub faults: Faults,
    pub limits: Limits,
    pub journal: Journal,
    pub token: Token,
    chores: BTreeMap<(Timestamp, u64), Asked>,
    last_chore: u64,
}

/// What a token is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Token {
    #[default]
    Good,
    /// Not the app's, or not any more.
    Reset,
}

impl State {
    pub fn new(settings: &Settings) -> Self {
        let clock = settings.clock.clone();
        let now = clock.now();
        Self {
            world: World::new(&settings.bot, clock),
            gateway: Gateway::new(settings.most_sessions, now),
            faults: Faults::default(),
            limits: Limits::default(),
            journal: Journal::default(),
            token: Token::default(),
            chores: BTreeMap::new(),
            last_chore: 0,
        }
    }

    /// What a token is worth that somebody shows, with or without the word `Bot` before it.
    pub fn token_of(&self, shown: &str, settings: &Settings) -> Token {
        let shown = shown.strip_prefix("Bot ").unwrap_or(shown);
        if shown == settings.token { self.token } else { Token::Reset }
    }

    /// Tells the sessions what has happened.
    pub fn send_out(&mut self) {
        for event in std::mem::take(&mut self.world.outbox) {
            self.gateway.tell(&event, self.world.me);
        }
    }

    /// Does what was asked for, but only so much later.
    pub fn later(&mut self, settings: &Settings, wait: SignedDuration, asked: Asked) {
        let now = settings.clock.now();
        self.last_chore += 1;
        let due = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        self.chores.insert((due, self.last_chore), asked);
    }

    pub fn next_chore(&self) -> Option<Timestamp> {
        self.chores.keys().next().map(|(due, _)| *due)
    }

    /// Does what is due.
    pub fn do_chores(&mut self, settings: &Settings) {
        let now = settings.clock.now();
        while let Some(entry) = self.chores.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let asked = entry.remove();
            // Whoever asked for it does not learn of its end.
            let _ = api::answer(self, settings, &asked);
        }
    }
}
