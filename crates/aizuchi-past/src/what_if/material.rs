//! The data of a trial: a channel's newest messages, as they are replayed, and the verdicts on them.

use std::collections::HashMap;

use aizuchi_import::history::{RecordedChannel, RecordedMessage};
use aizuchi_model::chat::{AuthorKind, Channel, MessageId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionId, Judgment};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

/// Enough for a busy channel's week, and replayed within seconds.
pub const MAX_MESSAGES: usize = 4000;
/// The maximum size of the messages' texts in memory.
const MAX_BYTES: usize = 8 << 20;
const PAGE: usize = 500;
/// The time before the days in question from which the channel's rhythm is learned.
const WARM_UP: SignedDuration = SignedDuration::from_hours(7 * 24);

pub struct Material {
    /// Named by the channel's id, so that its settings apply.
    pub channel: RecordedChannel,
    /// The messages behind it, oldest first.
    pub messages: Vec<StoredMessage>,
    /// Earlier events are not reported.
    pub since: Timestamp,
    /// Whether the messages did not all fit, so that the trial begins later than requested.
    pub is_cut: bool,
    /// The verdicts, by the newest message that each is about.
    pub verdicts: HashMap<MessageId, Judgment>,
    /// The newest decision about each message.
    pub decisions: HashMap<MessageId, DecisionId>,
}

impl Material {
    pub async fn read(
        archive: &dyn Archive,
        channel: &Channel,
        since: Timestamp,
    ) -> Result<Self, StoreError> {
        let (messages, is_cut) = newest_messages(archive, channel, since - WARM_UP).await?;
        let first = messages.first().map_or(since, |stored| stored.message.at);
        let is_cut = is_cut && first > since;
        let since = if is_cut { first } else { since };
        let query = DecisionQuery::Since {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            since,
        };
        let decisions = archive.decisions(query).await?;
        let name = channel.id.to_string();
        let recorded =
            messages.iter().map(|stored| RecordedMessage::from_stored(&name, stored)).collect();
        let said: HashMap<&MessageId, Timestamp> =
            messages.iter().map(|stored| (&stored.message.id, stored.message.at)).collect();
        let verdicts = decisions.iter().flat_map(|decision| verdicts(decision, &said)).collect();
        let about = decisions.iter().flat_map(|decision| {
            decision.messages.iter().map(move |message| (message.clone(), decision.id))
        });
        Ok(Self {
            decisions: about.collect(),
            verdicts,
            channel: RecordedChannel::from_messages(name, recorded),
            messages,
            since,
            is_cut,
        })
    }

    /// Returns the number of messages by human users in the days in question.
    pub fn heard(&self) -> usize {
        let is_heard = |stored: &&StoredMessage| {
            stored.message.at >= self.since && stored.message.author.kind == AuthorKind::Human
        };
        self.messages.iter().filter(is_heard).count()
    }
}

/// Returns the newest messages since `since`, oldest first, and whether there are more. Messages that no prompt may
/// contain are not replayed. Nor are the persona's own messages, because the replay lets it speak again.
async fn newest_messages(
    archive: &dyn Archive,
    channel: &Channel,
    since: Timestamp,
) -> Result<(Vec<StoredMessage>, bool), StoreError> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut range = MessageRange::Newest;
    loop {
        let query = MessageQuery {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            thread: None,
            range,
            limit: PAGE,
        };
        let mut page = archive.messages(query).await?;
        page.sort_by_key(|one| one.message.at);
        let (Some(first), is_last) = (page.first(), page.len() < PAGE) else { break };
        let is_older = first.message.at < since;
        range = MessageRange::Before(first.message.id.clone());
        for stored in page.into_iter().rev() {
            let is_within = stored.message.at >= since;
            if !is_within || !is_replayed(&stored) {
                continue;
            }
            bytes += stored.message.text.len();
            if found.len() == MAX_MESSAGES || bytes > MAX_BYTES {
                found.reverse();
                return Ok((found, true));
            }
            found.push(stored);
        }
        if is_last || is_older {
            break;
        }
    }
    found.reverse();
    Ok((found, false))
}

fn is_replayed(stored: &StoredMessage) -> bool {
    let is_left_out = match stored.gate {
        Some(Gate::OptedOut | Gate::Command) => true,
        Some(_) | None => stored.is_deleted || stored.message.id.is_join(),
    };
    !is_left_out && stored.message.author.kind != AuthorKind::Persona
}

/// Returns the judgments of a decision, by the newest of its messages that had been posted when the judge was asked.
fn verdicts(
    decision: &Decision,
    said: &HashMap<&MessageId, Timestamp>,
) -> Vec<(MessageId, Judgment)> {
    let judged = decision.attempts.iter().filter_map(|attempt| {
        let judgment = attempt.judgment.clone()?;
        let known = |id: &&MessageId| said.get(id).is_some_and(|at| *at <= attempt.at);
        let newest = decision.messages.iter().filter(known).max_by_key(|id| said.get(id))?;
        Some((newest.clone(), judgment))
    });
    let judged: Vec<_> = judged.collect();
    if !judged.is_empty() {
        return judged;
    }
    decision.messages.last().cloned().zip(decision.judgment.clone()).into_iter().collect()
}
