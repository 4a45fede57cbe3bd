//! Simulates one recorded channel on a virtual clock: the real inbox, runner and agent around a volatile store, with
//! ports that record what passes through them.

mod recorded_users;
mod store_recorder;
mod recording_mind;
mod replay_platform;
mod instance;

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_agent::inbox::{Delivery, Inbox};
use aizuchi_import::history::{RecordedChannel, RecordedMessage};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::clock::Clock;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::replay::Replay;
use crate::replay::record::{Recorder, ReplayEventKind};
use crate::replay::simulation::instance::build_instance;
use crate::replay::simulation::recorded_users::RecordedUsers;

/// Hears all messages of a channel, then runs until nothing is pending.
pub fn run(
    channel: &RecordedChannel,
    replay: &Replay<'_>,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<()> {
    let Some(first) = channel.rows.first() else { return Ok(()) };
    let clock = Clock::manual(first.at());
    let workspace = WorkspaceId::new(channel.name.as_str());
    let pool = LocalPool::new();
    let stop = CancellationToken::new();
    let (inbox, runner) = build_instance(replay, &workspace, &clock, recorder)?;
    let (stopped, error_recorder) = (stop.clone(), recorder.clone());
    pool.spawner().spawn_local(async move {
        if let Err(error) = runner.run(stopped).await {
            let error = error.context("the runner ended");
            error_recorder.lock().first_error.get_or_insert(error);
        }
    })?;
    let mut simulation = Simulation {
        pool,
        clock,
        inbox,
        recorder,
        heard_users: HashSet::new(),
        users: RecordedUsers::new(channel),
        // Annotated replies are what the conversation structure has to find out.
        gives_replies: !channel.is_annotated,
    };
    simulation.hear_channel(&workspace);
    let persona = &replay.policy.config.persona.name.0;
    for row in channel.rows.all() {
        anyhow::ensure!(!recorder.lock().stop.is_cancelled(), "the replay was stopped");
        simulation.advance_to(row.at());
        simulation.hear_recorded(&workspace, &channel.read(&row)?, persona);
    }
    simulation.advance_to(Timestamp::MAX);
    stop.cancel();
    simulation.pool.run_until_stalled();
    Ok(())
}

struct Simulation<'a> {
    pool: LocalPool,
    clock: Clock,
    inbox: Inbox,
    recorder: &'a Recorder,
    /// The ids of the authors so far, shared by their messages.
    heard_users: HashSet<Arc<str>>,
    users: RecordedUsers,
    /// Whether the author's platform reports which message a message replies to.
    gives_replies: bool,
}

impl Simulation<'_> {
    fn hear_channel(&mut self, workspace: &WorkspaceId) {
        let channel = Channel {
            workspace: workspace.clone(),
            id: ChannelId::new(workspace.0.clone()),
            name: workspace.0.clone(),
            visibility: Visibility::Public,
            topic: None,
        };
        self.hear(Heard::Channel(channel).into());
    }

    /// Runs everything that falls due by `until`, in chronological order. At equal times, due steps run before the next
    /// message is heard.
    fn advance_to(&mut self, until: Timestamp) {
        self.pool.run_until_stalled();
        while let Some(next) = self.clock.next_wake_at().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.pool.run_until_stalled();
        }
        if until < Timestamp::MAX {
            self.clock.advance_to(until);
        }
    }

    fn hear_recorded(
        &mut self,
        workspace: &WorkspaceId,
        recorded: &RecordedMessage,
        persona: &str,
    ) {
        let kind = if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human };
        let known = self.heard_users.get(recorded.author.as_str()).cloned();
        let is_new = known.is_none();
        let author = Author {
            id: UserId::new(known.unwrap_or_else(|| recorded.author.as_str().into())),
            kind,
        };
        if is_new {
            self.heard_users.insert(author.id.0.clone());
        }
        if let Some(name) = recorded.name.as_deref().filter(|_| is_new) {
            let (workspace, id, role) = (workspace.clone(), author.id.clone(), Role::Member);
            self.hear(
                Heard::User(User { workspace, id, name: name.into(), kind, role, zone: None })
                    .into(),
            );
        }
        let conversation = ConversationId {
            workspace: workspace.clone(),
            channel: ChannelId::new(workspace.0.clone()),
            thread: recorded.thread.as_deref().map(MessageId::new),
        };
        let message = Message {
            id: MessageId::new(recorded.id.as_str()),
            at: recorded.at(),
            author,
            mentions: self.users.mentions(&recorded.text, persona),
            text: recorded.text.as_str().into(),
            attachments: Vec::new(),
            edits: 0,
            conversation,
        };
        let reply_to = recorded.reply_to.first().filter(|_| self.gives_replies);
        let reply_to = reply_to.map(|parent| MessageId::new(parent.as_str()));
        self.record_heard(&message);
        self.hear(Delivery { reply_to, ..Heard::Message(message, Arrival::Live).into() });
        self.pool.run_until_stalled();
    }

    fn record_heard(&self, message: &Message) {
        let mut record = self.recorder.lock();
        record.now = message.at;
        record.heard_rows += 1;
        if record.events.is_some() {
            let mut event = record.event(ReplayEventKind::Heard, &message.conversation);
            event.message = Some(message.id.clone());
            event.decision = None;
            record.write(&event);
        }
    }

    fn hear(&mut self, delivery: Delivery) {
        if let Err(error) = self.pool.run_until(self.inbox.deliver(delivery)) {
            let error =
                anyhow::Error::new(error).context("cannot store a message of the recording");
            self.recorder.lock().first_error.get_or_insert(error);
        }
    }
}
