//! A report on what happened: from the messages and decisions in the installation's own database.

use std::collections::{HashMap, HashSet};

use aizuchi_import::history::{RecordedChannel, RecordedMessage};
use aizuchi_model::chat::{AuthorKind, Channel, MessageId, Visibility, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::rules::Mode;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::figures::{CallSum, WorkspacePeriod};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

use crate::replay::moments::{Moment, MomentKind, Moments, Reason};
use crate::report::builder::ReportBuilder;

/// Messages are read in pages of this size.
const PAGE: usize = 1000;

/// The messages and decisions of a channel since a time.
pub struct ChannelLedger {
    pub messages: Vec<StoredMessage>,
    pub decisions: Vec<Decision>,
    /// Private messages from before that time that decisions are about: an edit may cause an owed answer to an older
    /// message.
    pub private_before: HashSet<MessageId>,
    /// That time, if there are messages from before it: then the report is about all of the time since. Otherwise it
    /// begins with the first message.
    pub begin: Option<Timestamp>,
}

impl ChannelLedger {
    pub async fn read(
        archive: &dyn Archive,
        workspace: &WorkspaceId,
        channel: &Channel,
        since: Timestamp,
    ) -> Result<Self, StoreError> {
        let decided = DecisionQuery::Since {
            workspace: workspace.clone(),
            channel: channel.id.clone(),
            since,
        };
        let decisions = archive.decisions(decided).await?;
        let messages = load_messages(archive, workspace, channel, since).await?;
        let place = (workspace, channel);
        let private_before = find_private(archive, place, &messages, &decisions).await?;
        let older = query(workspace, channel, MessageRange::BeforeTime(since), 1);
        let begin = (!archive.messages(older).await?.is_empty()).then_some(since);
        Ok(Self { messages, decisions, private_before, begin })
    }

    /// Returns the channel without private messages and the decisions about them.
    pub fn public(mut self) -> Self {
        let is_public = |stored: &StoredMessage| stored.visibility == Visibility::Public;
        let private = self.messages.iter().filter(|stored| !is_public(stored));
        let private = private.map(|it| it.message.id.clone());
        let private: HashSet<MessageId> = private.chain(self.private_before.drain()).collect();
        self.messages.retain(is_public);
        self.decisions.retain(|decision| {
            let mut about = decision.messages.iter().chain(&decision.posted_messages);
            !about.any(|message| private.contains(message))
        });
        self
    }

    /// Adds the channel to a report, and returns the number of decisions.
    pub fn add_to(&self, builder: &mut ReportBuilder, channel: &Channel) -> anyhow::Result<usize> {
        let Self { messages: stored, decisions, private_before: _, begin } = self;
        if let Some(begin) = *begin {
            builder.include(begin, begin);
        }
        let messages = recorded_messages(channel, stored);
        if messages.is_empty() && decisions.is_empty() {
            return Ok(0);
        }
        let by_id: HashMap<&MessageId, &StoredMessage> =
            stored.iter().map(|stored| (&stored.message.id, stored)).collect();
        let mut moments = Moments::default();
        moments.moments.extend(decisions.iter().filter_map(|decision| moment(decision, &by_id)));
        moments.moments.sort_by_key(|moment| moment.at);
        let channel = RecordedChannel::from_messages(channel.name.to_string(), messages);
        builder.add(&channel, &moments)?;
        Ok(decisions.len())
    }
}

/// The model calls of a workspace in the period of a report, as the console's pages count them. They are those of all its
/// channels, of its memory and of trials.
pub async fn calls(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<CallSum>, StoreError> {
    let (workspace, until) = (workspace.clone(), now + SignedDuration::from_millis(1));
    let offset = SignedDuration::ZERO;
    archive.calls_by_day(&WorkspacePeriod { workspace, since, until, offset }).await
}

/// Whether a channel has any messages since a time.
pub async fn has_messages(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &Channel,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let query = query(workspace, channel, MessageRange::AfterTime(since), 1);
    Ok(!archive.messages(query).await?.is_empty())
}

/// Returns the private messages that decisions are about, as far as they were not loaded.
async fn find_private(
    archive: &dyn Archive,
    (workspace, channel): (&WorkspaceId, &Channel),
    read: &[StoredMessage],
    decisions: &[Decision],
) -> Result<HashSet<MessageId>, StoreError> {
    let read: HashSet<&MessageId> = read.iter().map(|stored| &stored.message.id).collect();
    let about = decisions
        .iter()
        .flat_map(|decision| decision.messages.iter().chain(&decision.posted_messages));
    let unread: HashSet<&MessageId> = about.filter(|message| !read.contains(message)).collect();
    let mut private = HashSet::new();
    for message in unread {
        let found = archive.message(workspace, &channel.id, message).await?;
        if found.is_some_and(|stored| stored.visibility != Visibility::Public) {
            private.insert(message.clone());
        }
    }
    Ok(private)
}

async fn load_messages(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &Channel,
    since: Timestamp,
) -> Result<Vec<StoredMessage>, StoreError> {
    let mut all = Vec::new();
    let mut range = MessageRange::AfterTime(since);
    loop {
        let page = archive.messages(query(workspace, channel, range, PAGE)).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        match all.last() {
            Some(last) if !is_last => range = MessageRange::After(last.message.id.clone()),
            Some(_) | None => return Ok(all),
        }
    }
}

fn query(
    workspace: &WorkspaceId,
    channel: &Channel,
    range: MessageRange,
    limit: usize,
) -> MessageQuery {
    MessageQuery {
        workspace: workspace.clone(),
        channel: channel.id.clone(),
        thread: None,
        range,
        limit,
    }
}

/// Returns the messages by other users that may be shown. Those of users who opted out are left out, even if they opted
/// out later.
fn recorded_messages(channel: &Channel, stored: &[StoredMessage]) -> Vec<RecordedMessage> {
    let is_shown = |stored: &&StoredMessage| {
        !stored.is_deleted
            && stored.message.author.kind != AuthorKind::Persona
            && stored.gate != Some(Gate::OptedOut)
            && !stored.is_withheld
    };
    let recorded = |stored| RecordedMessage::from_stored(&channel.name, stored);
    stored.iter().filter(is_shown).map(recorded).collect()
}

/// Converts a closed decision to a moment. `None` for a command reply, and for a decision about messages that are
/// withheld since, because its reason and its posts may quote them.
fn moment(decision: &Decision, stored: &HashMap<&MessageId, &StoredMessage>) -> Option<Moment> {
    let (closed, ended) = (decision.closed?, decision.ended?);
    let newest = decision.messages.last();
    let gate_of = |id: &MessageId| stored.get(id).and_then(|stored| stored.gate);
    let is_withheld = |id: &MessageId| stored.get(id).is_some_and(|stored| stored.is_withheld);
    if newest.and_then(gate_of) == Some(Gate::Command) || decision.messages.iter().any(is_withheld)
    {
        return None;
    }
    let kind = kind(decision, ended);
    let posts = decision.posted_messages.iter().filter_map(|id| stored.get(id));
    let posts: Vec<&&StoredMessage> = posts.collect();
    let texts: Vec<&str> = posts.iter().map(|post| &*post.message.text).collect();
    let judged = decision.judgment.as_ref().and_then(|judgment| judgment.about.clone());
    let why = decision.why.clone().unwrap_or_default();
    let is_limit = ended == DecisionResult::OverBudget;
    // Only the reason of the judgment says what the persona would have posted.
    let wanted = decision.judgment.as_ref().map(|judgment| judgment.reason.clone());
    Some(Moment {
        at: posts.first().map_or(closed, |post| post.message.at),
        thread: decision.conversation.thread.clone(),
        kind,
        message: newest.cloned(),
        about: judged.or_else(|| newest.cloned()),
        is_owed: decision.is_addressed,
        reason: match (kind, decision.gate.filter(|_| !is_limit)) {
            (MomentKind::WouldHaveSpoken, _) => Reason::Written(wanted.unwrap_or(why)),
            (_, Some(gate)) => Reason::Gate(gate),
            (_, None) if is_limit => Reason::Limit(why),
            (_, None) => Reason::Written(why),
        },
        text: (!texts.is_empty()).then(|| texts.join("\n\n")),
    })
}

fn kind(decision: &Decision, ended: DecisionResult) -> MomentKind {
    let mode = decision.evaluation.as_ref().map(|evaluation| evaluation.mode);
    let is_observed = mode == Some(Mode::Observe);
    let wanted = decision.judgment.as_ref().is_some_and(|judgment| judgment.should_respond);
    let was_called = decision.is_addressed && decision.gate == Some(Gate::ChannelMode);
    match ended {
        DecisionResult::Spoke => MomentKind::Spoke,
        DecisionResult::Reacted => MomentKind::Reacted,
        DecisionResult::Proposed => MomentKind::WouldHaveSpoken,
        DecisionResult::Muted if is_observed && decision.gate.is_none() && wanted => {
            MomentKind::WouldHaveSpoken
        }
        DecisionResult::ChoseSilence if is_observed && was_called => MomentKind::WouldHaveSpoken,
        DecisionResult::ChoseSilence | DecisionResult::Muted | DecisionResult::OverBudget => {
            MomentKind::Silent
        }
        DecisionResult::Dropped => MomentKind::Dropped,
        // In other modes than observe, a failure was a silence. In observe mode, what it would have done is unknown.
        DecisionResult::Failed if is_observed => MomentKind::Failed,
        DecisionResult::Failed => MomentKind::Dropped,
    }
}
