//! Everything a fake Discord remembers, and what is to be done later.

use serde::Deserialize;

use crate::discord::FakeDiscordSettings;
use crate::discord::api::{self, ParsedRequest};
use crate::discord::fault::Faults;
use crate::discord::journal::Journal;
use crate::discord::rate_limit::FakeRateLimiter;
use crate::discord::session::FakeGateway;
use crate::discord::world::World;
use crate::timers::Timers;

pub struct FakeDiscordState {
    pub world: World,
    pub gateway: FakeGateway,
    pub faults: Faults,
    pub rate_limiter: FakeRateLimiter,
    pub journal: Journal,
    pub token_status: TokenStatus,
    /// Requests whose time has not come.
    pub timers: Timers<ParsedRequest>,
}

/// What a token is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenStatus {
    #[default]
    #[serde(rename = "good")]
    Valid,
    /// Not the app's, or not any more.
    Reset,
}

impl FakeDiscordState {
    pub fn new(settings: &FakeDiscordSettings) -> Self {
        let clock = settings.clock.clone();
        let now = clock.now();
        Self {
            world: World::new(&settings.bot, clock),
            gateway: FakeGateway::new(settings.max_sessions_per_day, now),
            faults: Faults::default(),
            rate_limiter: FakeRateLimiter::default(),
            journal: Journal::default(),
            token_status: TokenStatus::default(),
            timers: Timers::default(),
        }
    }

    /// What a token is worth that somebody shows, with or without the word `Bot` before it.
    pub fn check_token(&self, shown: &str, settings: &FakeDiscordSettings) -> TokenStatus {
        let shown = shown.strip_prefix("Bot ").unwrap_or(shown);
        if shown == settings.token { self.token_status } else { TokenStatus::Reset }
    }

    /// Tells the sessions what has happened.
    pub fn flush_events(&mut self) {
        for event in std::mem::take(&mut self.world.pending_events) {
            self.gateway.broadcast(&event, self.world.bot_user);
        }
    }

    /// Does what is due.
    pub fn run_due_timers(&mut self, settings: &FakeDiscordSettings) {
        let now = settings.clock.now();
        while let Some(asked) = self.timers.take_due(now) {
            // Whoever asked for it does not learn of its end.
            let _ = api::dispatch(self, settings, &asked);
        }
    }
}
