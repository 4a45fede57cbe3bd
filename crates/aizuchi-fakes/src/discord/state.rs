//! Everything a fake Discord remembers, and what is to be done later.

use serde::Deserialize;

use crate::chores::Chores;
use crate::discord::Settings;
use crate::discord::api::{self, Asked};
use crate::discord::fault::Faults;
use crate::discord::journal::Journal;
use crate::discord::limits::Limits;
use crate::discord::session::Gateway;
use crate::discord::world::World;

pub struct State {
    pub world: World,
    pub gateway: Gateway,
    pub faults: Faults,
    pub limits: Limits,
    pub journal: Journal,
    pub token: Token,
    /// Requests whose time has not come.
    pub chores: Chores<Asked>,
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
            chores: Chores::default(),
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

    /// Does what is due.
    pub fn do_chores(&mut self, settings: &Settings) {
        let now = settings.clock.now();
        while let Some(asked) = self.chores.take_due(now) {
            // Whoever asked for it does not learn of its end.
            let _ = api::answer(self, settings, &asked);
        }
    }
}
