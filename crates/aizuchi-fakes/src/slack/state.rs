//! Everything a fake Slack remembers, and what is to be done later.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::slack::FakeSlackSettings;
use crate::slack::api;
use crate::slack::arguments::Arguments;
use crate::slack::delivery::{DeliveryAttempt, Dispatcher, PayloadKind, event_callback};
use crate::slack::fault::{Faults, HistoryCaps};
use crate::slack::journal::Journal;
use crate::slack::push::{PushRequest, RequestUrl, UrlVerification};
use crate::slack::workspace::Workspace;
use crate::timers::Timers;

pub struct FakeSlackState {
    pub workspace: Workspace,
    pub dispatcher: Dispatcher,
    pub faults: Faults,
    pub history_caps: HistoryCaps,
    pub journal: Journal,
    pub token_status: TokenStatus,
    /// Where events go instead of to a socket.
    pub request_url: Option<RequestUrl>,
    /// What the app has called us by.
    pub host: String,
    /// Requests that are to be made.
    pub pending_pushes: Vec<PushRequest>,
    timers: Timers<TimerTask>,
}

/// What the app's tokens are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenStatus {
    #[default]
    #[serde(rename = "good")]
    Valid,
    Revoked,
    /// The bot's account was closed.
    Inactive,
}

/// What is to be done later.
pub enum TimerTask {
    /// Bring a letter, by its number.
    Deliver(usize),
    /// A delivery's time is up.
    TimeOut(usize),
    /// Do what a call has asked for, whether its caller still listens or not.
    Commit { method: String, arguments: Arguments },
}

impl FakeSlackState {
    pub fn new(settings: &FakeSlackSettings) -> Self {
        let clock = settings.clock.clone();
        Self {
            workspace: Workspace::new(&settings.team, &settings.domain, &settings.bot, clock),
            dispatcher: Dispatcher::default(),
            faults: Faults::default(),
            history_caps: HistoryCaps::default(),
            journal: Journal::default(),
            token_status: TokenStatus::default(),
            request_url: None,
            host: "127.0.0.1".to_owned(),
            pending_pushes: Vec::new(),
            timers: Timers::default(),
        }
    }

    /// Brings what the app is to be told.
    pub fn flush_events(&mut self, settings: &FakeSlackSettings) {
        let events = std::mem::take(&mut self.workspace.pending_events);
        let has_address = self
            .request_url
            .as_ref()
            .is_some_and(|address| address.verification == UrlVerification::Verified);
        if !self.dispatcher.has_connected && !has_address {
            return;
        }
        for event in events {
            let payload = event_callback(&self.workspace, event);
            let letter = self.dispatcher.enqueue(PayloadKind::Event, payload);
            self.deliver(letter, settings);
        }
    }

    pub fn deliver(&mut self, letter: usize, settings: &FakeSlackSettings) {
        if self.is_sent_over_http(letter) {
            let delivery = self.dispatcher.record_push(letter);
            self.pending_pushes.push(PushRequest::Deliver(delivery));
            self.schedule(settings, settings.ack_deadline, TimerTask::TimeOut(delivery));
            return;
        }
        match self.dispatcher.deliver(letter) {
            DeliveryAttempt::Sent(delivery) => {
                self.schedule(settings, settings.ack_deadline, TimerTask::TimeOut(delivery));
            }
            DeliveryAttempt::NoConnection => self.schedule_retry(letter, settings, "timeout"),
        }
    }

    fn schedule_retry(
        &mut self,
        letter: usize,
        settings: &FakeSlackSettings,
        reason: &'static str,
    ) {
        if let Some(wait) = self.dispatcher.next_retry(letter, &settings.retry_delays, reason) {
            self.schedule(settings, wait, TimerTask::Deliver(letter));
        }
    }

    /// What the app answers to a slash command is shown to whoever gave it.
    pub fn respond_to_command(&mut self, envelope_id: &str, answer: &Value) {
        let command = self.dispatcher.pending_command(envelope_id).and_then(|command| {
            Some((
                command["channel_id"].as_str()?.to_owned(),
                command["user_id"].as_str()?.to_owned(),
            ))
        });
        if let (Some((channel, user)), Some(text)) = (command, answer["text"].as_str()) {
            self.workspace.post_ephemeral(&channel, &user, text);
        }
    }

    pub fn schedule(
        &mut self,
        settings: &FakeSlackSettings,
        wait: SignedDuration,
        chore: TimerTask,
    ) {
        self.timers.schedule(settings.clock.now(), wait, chore);
    }

    pub fn next_timer(&self) -> Option<Timestamp> {
        self.timers.next_due_at()
    }

    /// Does what is due.
    pub fn run_due_timers(&mut self, settings: &FakeSlackSettings) {
        let now = settings.clock.now();
        while let Some(chore) = self.timers.take_due(now) {
            self.run_task(chore, settings);
        }
    }

    fn run_task(&mut self, chore: TimerTask, settings: &FakeSlackSettings) {
        match chore {
            TimerTask::Deliver(letter) => self.deliver(letter, settings),
            TimerTask::TimeOut(delivery) => {
                let is_pushed = self.dispatcher.deliveries[delivery].connection.is_none();
                let reason = if is_pushed { "http_timeout" } else { "timeout" };
                self.fail_delivery(delivery, settings, reason);
            }
            TimerTask::Commit { method, arguments } => {
                // Whoever asked for it does not learn of its end.
                let _ = api::dispatch(self, &method, &arguments);
            }
        }
    }

    /// A delivery has failed, unless it is known to have ended already.
    pub fn fail_delivery(
        &mut self,
        delivery: usize,
        settings: &FakeSlackSettings,
        reason: &'static str,
    ) {
        if self.dispatcher.time_out(delivery) {
            let letter = self.dispatcher.deliveries[delivery].envelope_index;
            self.schedule_retry(letter, settings, reason);
        }
    }

    /// Every acknowledgment that is still awaited comes too late, and every wait for another try is over.
    pub fn time_out_deliveries(&mut self, settings: &FakeSlackSettings) {
        let is_wait =
            |chore: &TimerTask| matches!(chore, TimerTask::Deliver(_) | TimerTask::TimeOut(_));
        for chore in self.timers.take_matching(is_wait) {
            self.run_task(chore, settings);
        }
    }
}
