//! The whole state of a fake Slack, and its timers.

use std::collections::BTreeMap;

use aizuchi_model::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::fake::FakeState;
use crate::file::FakeFile;
use crate::slack::FakeSlackSettings;
use crate::slack::api_error::ApiError;
use crate::slack::arguments::Arguments;
use crate::slack::delivery::{Dispatcher, PayloadKind, event_callback, is_form};
use crate::slack::fault::{Faults, HistoryCaps};
use crate::slack::journal::Journal;
use crate::slack::request_url::{PushRequest, RequestUrl};
use crate::slack::view::Views;
use crate::slack::workspace::Workspace;
use crate::timers::Timers;

pub struct FakeSlackState {
    pub workspace: Workspace,
    pub dispatcher: Dispatcher,
    pub faults: Faults,
    pub history_caps: HistoryCaps,
    pub journal: Journal,
    pub token_status: TokenStatus,
    pub bot_token: String,
    pub app_token: String,
    pub views: Views,
    /// The URL that events and interactions are sent to instead of a socket.
    pub request_url: Option<RequestUrl>,
    /// The host by which the app last reached the fake.
    pub host: String,
    /// The files that were uploaded, by id.
    pub files: BTreeMap<String, FakeFile>,
    /// The requests to send.
    pub pending_pushes: Vec<PushRequest>,
    pub timers: Timers<TimerTask>,
}

/// Whether the app's tokens are valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenStatus {
    #[default]
    #[serde(rename = "good")]
    Valid,
    Revoked,
    /// The bot's account was deactivated.
    Inactive,
}

/// A scheduled task.
pub enum TimerTask {
    Delivery(DeliveryTask),
    /// Executes a call, whether or not its client is still connected.
    Commit {
        method: String,
        arguments: Arguments,
    },
}

/// A scheduled step of a delivery.
pub enum DeliveryTask {
    /// Delivers an envelope, by its index.
    Deliver(usize),
    /// Times out a delivery, by its index.
    TimeOut(usize),
}

impl FakeState for FakeSlackState {
    type Settings = FakeSlackSettings;
    type Method = String;
    type ApiError = ApiError;

    fn new(settings: &FakeSlackSettings) -> Self {
        Self {
            workspace: Workspace::new(settings),
            dispatcher: Dispatcher::default(),
            faults: Faults::default(),
            history_caps: HistoryCaps::default(),
            journal: Journal::default(),
            token_status: TokenStatus::default(),
            bot_token: settings.bot_token.clone(),
            app_token: settings.app_token.clone(),
            views: Views::default(),
            request_url: None,
            host: "127.0.0.1".to_owned(),
            files: BTreeMap::new(),
            pending_pushes: Vec::new(),
            timers: Timers::default(),
        }
    }

    /// Delivers the pending events to the app.
    fn flush_events(&mut self, settings: &FakeSlackSettings) {
        let events = std::mem::take(&mut self.workspace.pending_events);
        if !self.dispatcher.has_connected && !self.has_verified_url() {
            return;
        }
        for event in events {
            let payload = event_callback(&self.workspace, event);
            let envelope = self.dispatcher.enqueue(PayloadKind::Event, payload);
            self.deliver(envelope, settings);
        }
    }

    fn next_timer(&self) -> Option<Timestamp> {
        self.timers.next_due_at()
    }

    fn clock(settings: &FakeSlackSettings) -> &Clock {
        &settings.clock
    }

    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }
}

impl FakeSlackState {
    fn has_verified_url(&self) -> bool {
        self.request_url.as_ref().is_some_and(RequestUrl::is_verified)
    }

    pub fn deliver(&mut self, envelope: usize, settings: &FakeSlackSettings) {
        let delivery = if self.is_sent_over_http(envelope) {
            let delivery = self.dispatcher.record(envelope, None);
            self.pending_pushes.push(PushRequest::Deliver(delivery));
            delivery
        } else {
            match self.dispatcher.deliver(envelope) {
                Some(delivery) => delivery,
                None => return self.schedule_retry(envelope, settings, "timeout"),
            }
        };
        let task = TimerTask::Delivery(DeliveryTask::TimeOut(delivery));
        self.schedule(settings, settings.ack_deadline, task);
    }

    /// Whether an envelope goes to the request URL rather than to a socket.
    fn is_sent_over_http(&self, envelope: usize) -> bool {
        let is_pushed = match self.dispatcher.envelopes[envelope].kind {
            PayloadKind::Event | PayloadKind::Interaction => true,
            PayloadKind::SlashCommand => false,
        };
        is_pushed && self.has_verified_url()
    }

    fn schedule_retry(
        &mut self,
        envelope: usize,
        settings: &FakeSlackSettings,
        reason: &'static str,
    ) {
        if let Some(delay) = self.dispatcher.next_retry(envelope, &settings.retry_delays, reason) {
            self.schedule(settings, delay, TimerTask::Delivery(DeliveryTask::Deliver(envelope)));
        }
    }

    /// Applies the app's response to a slash command or a submitted form, and acknowledges the delivery.
    pub fn acknowledge(&mut self, envelope_id: &str, response: &Value) {
        let payload = self.dispatcher.pending_payload(envelope_id).cloned().unwrap_or_default();
        let text = |name: &str| payload[name].as_str();
        if let (Some(channel), Some(user)) = (text("channel_id"), text("user_id")) {
            self.workspace.post_command_response(channel, user, response);
        }
        if let Some(id) = payload["view"]["id"].as_str().filter(|_| is_form(&payload)) {
            self.views.answer(id, response);
        }
        self.dispatcher.ack(envelope_id);
    }

    pub fn schedule(
        &mut self,
        settings: &FakeSlackSettings,
        delay: SignedDuration,
        task: TimerTask,
    ) {
        self.timers.schedule(settings.clock.now(), delay, task);
    }

    pub fn run_delivery_task(&mut self, task: DeliveryTask, settings: &FakeSlackSettings) {
        match task {
            DeliveryTask::Deliver(envelope) => self.deliver(envelope, settings),
            DeliveryTask::TimeOut(delivery) => {
                let is_pushed = self.dispatcher.deliveries[delivery].connection.is_none();
                let reason = if is_pushed { "http_timeout" } else { "timeout" };
                self.fail_delivery(delivery, settings, reason);
            }
        }
    }

    /// Records a failed delivery and schedules the next attempt, unless the delivery has already ended.
    pub fn fail_delivery(
        &mut self,
        delivery: usize,
        settings: &FakeSlackSettings,
        reason: &'static str,
    ) {
        if self.dispatcher.time_out(delivery) {
            let envelope = self.dispatcher.deliveries[delivery].envelope_index;
            self.schedule_retry(envelope, settings, reason);
        }
    }

    /// Times out every pending acknowledgment and starts every scheduled retry.
    pub fn time_out_deliveries(&mut self, settings: &FakeSlackSettings) {
        for task in self.timers.take_matching(|task| matches!(task, TimerTask::Delivery(_))) {
            if let TimerTask::Delivery(task) = task {
                self.run_delivery_task(task, settings);
            }
        }
    }
}
