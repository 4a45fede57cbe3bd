//! Everything a fake Slack remembers, and what is to be done later.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::chores::Chores;
use crate::slack::Settings;
use crate::slack::api;
use crate::slack::arguments::Arguments;
use crate::slack::fault::{Caps, Faults};
use crate::slack::journal::Journal;
use crate::slack::mail::{LetterKind, Mail, Tried, event_callback};
use crate::slack::push::{Address, Push, Trust};
use crate::slack::workspace::Workspace;

pub struct State {
    pub workspace: Workspace,
    pub mail: Mail,
    pub faults: Faults,
    pub caps: Caps,
    pub journal: Journal,
    pub standing: Standing,
    /// Where events go instead of to a socket.
    pub address: Option<Address>,
    /// What the app has called us by.
    pub host: String,
    /// Requests that are to be made.
    pub pushes: Vec<Push>,
    chores: Chores<Chore>,
}

/// What the app's tokens are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[default]
    Good,
    Revoked,
    /// The bot's account was closed.
    Inactive,
}

/// What is to be done later.
pub enum Chore {
    /// Bring a letter, by its number.
    Bring(usize),
    /// A delivery's time is up.
    Miss(usize),
    /// Do what a call has asked for, whether its caller still listens or not.
    Commit { method: String, arguments: Arguments },
}

impl State {
    pub fn new(settings: &Settings) -> Self {
        let clock = settings.clock.clone();
        Self {
            workspace: Workspace::new(&settings.team, &settings.domain, &settings.bot, clock),
            mail: Mail::default(),
            faults: Faults::default(),
            caps: Caps::default(),
            journal: Journal::default(),
            standing: Standing::default(),
            address: None,
            host: "127.0.0.1".to_owned(),
            pushes: Vec::new(),
            chores: Chores::default(),
        }
    }

    /// Brings what the app is to be told.
    pub fn send_out(&mut self, settings: &Settings) {
        let events = std::mem::take(&mut self.workspace.outbox);
        let has_address =
            self.address.as_ref().is_some_and(|address| address.trust == Trust::Verified);
        if !self.mail.has_connected && !has_address {
            return;
        }
        for event in events {
            let payload = event_callback(&self.workspace, event);
            let letter = self.mail.write(LetterKind::Event, payload);
            self.bring(letter, settings);
        }
    }

    pub fn bring(&mut self, letter: usize, settings: &Settings) {
        if self.is_pushed(letter) {
            let delivery = self.mail.post(letter);
            self.pushes.push(Push::Deliver(delivery));
            self.later(settings, settings.ack_deadline, Chore::Miss(delivery));
            return;
        }
        match self.mail.bring(letter) {
            Tried::Sent(delivery) => {
                self.later(settings, settings.ack_deadline, Chore::Miss(delivery));
            }
            Tried::NobodyThere => self.try_again(letter, settings, "timeout"),
        }
    }

    fn try_again(&mut self, letter: usize, settings: &Settings, reason: &'static str) {
        if let Some(wait) = self.mail.failed(letter, &settings.retries, reason) {
            self.later(settings, wait, Chore::Bring(letter));
        }
    }

    /// What the app answers to a slash command is shown to whoever gave it.
    pub fn answer_command(&mut self, envelope_id: &str, answer: &Value) {
        let command = self.mail.command_of(envelope_id).and_then(|command| {
            Some((
                command["channel_id"].as_str()?.to_owned(),
                command["user_id"].as_str()?.to_owned(),
            ))
        });
        if let (Some((channel, user)), Some(text)) = (command, answer["text"].as_str()) {
            self.workspace.whisper(&channel, &user, text);
        }
    }

    pub fn later(&mut self, settings: &Settings, wait: SignedDuration, chore: Chore) {
        self.chores.add(settings.clock.now(), wait, chore);
    }

    pub fn next_chore(&self) -> Option<Timestamp> {
        self.chores.next()
    }

    /// Does what is due.
    pub fn do_chores(&mut self, settings: &Settings) {
        let now = settings.clock.now();
        while let Some(chore) = self.chores.take_due(now) {
            self.do_chore(chore, settings);
        }
    }

    fn do_chore(&mut self, chore: Chore, settings: &Settings) {
        match chore {
            Chore::Bring(letter) => self.bring(letter, settings),
            Chore::Miss(delivery) => {
                let is_pushed = self.mail.deliveries[delivery].connection.is_none();
                let reason = if is_pushed { "http_timeout" } else { "timeout" };
                self.fail(delivery, settings, reason);
            }
            Chore::Commit { method, arguments } => {
                // Whoever asked for it does not learn of its end.
                let _ = api::answer(self, &method, &arguments);
            }
        }
    }

    /// A delivery has failed, unless it is known to have ended already.
    pub fn fail(&mut self, delivery: usize, settings: &Settings, reason: &'static str) {
        if self.mail.miss(delivery) {
            let letter = self.mail.deliveries[delivery].letter;
            self.try_again(letter, settings, reason);
        }
    }

    /// Every acknowledgment that is still awaited comes too late, and every wait for another try is over.
    pub fn hurry(&mut self, settings: &Settings) {
        let is_wait = |chore: &Chore| matches!(chore, Chore::Bring(_) | Chore::Miss(_));
        for chore in self.chores.take_all(is_wait) {
            self.do_chore(chore, settings);
        }
    }
}
