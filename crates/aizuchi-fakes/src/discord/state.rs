//! The whole state of a fake Discord, and its timers.

use aizuchi_model::clock::Clock;
use jiff::Timestamp;
use serde::Deserialize;

use crate::discord::FakeDiscordSettings;
use crate::discord::api_error::ApiError;
use crate::discord::fault::Faults;
use crate::discord::journal::Journal;
use crate::discord::method::Method;
use crate::discord::rate_limit::FakeRateLimiter;
use crate::discord::request::ParsedRequest;
use crate::discord::session::FakeGateway;
use crate::discord::world::World;
use crate::fake::FakeState;
use crate::timers::Timers;

pub struct FakeDiscordState {
    pub world: World,
    pub gateway: FakeGateway,
    pub faults: Faults,
    pub rate_limiter: FakeRateLimiter,
    pub journal: Journal,
    pub token_status: TokenStatus,
    /// The bot token, without the prefix `Bot`.
    pub token: String,
    /// Requests to execute later.
    pub timers: Timers<ParsedRequest>,
}

/// Whether the bot token is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenStatus {
    #[default]
    #[serde(rename = "good")]
    Valid,
    /// Not the app's token, or no longer.
    Reset,
}

impl FakeState for FakeDiscordState {
    type Settings = FakeDiscordSettings;
    type Method = Method;
    type ApiError = ApiError;

    fn new(settings: &FakeDiscordSettings) -> Self {
        let clock = settings.clock.clone();
        let now = clock.now();
        Self {
            world: World::new(&settings.bot, clock),
            gateway: FakeGateway::new(now),
            faults: Faults::default(),
            rate_limiter: FakeRateLimiter::default(),
            journal: Journal::default(),
            token_status: TokenStatus::default(),
            token: settings.token.clone(),
            timers: Timers::default(),
        }
    }

    fn flush_events(&mut self, _settings: &FakeDiscordSettings) {
        for event in std::mem::take(&mut self.world.pending_events) {
            self.gateway.broadcast(&event, self.world.bot_user);
        }
    }

    fn next_timer(&self) -> Option<Timestamp> {
        self.timers.next_due_at()
    }

    fn clock(settings: &FakeDiscordSettings) -> &Clock {
        &settings.clock
    }

    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }
}

impl FakeDiscordState {
    /// Checks a token, with or without the prefix `Bot`.
    pub fn check_token(&self, token: &str) -> TokenStatus {
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        if token == self.token { self.token_status } else { TokenStatus::Reset }
    }
}
