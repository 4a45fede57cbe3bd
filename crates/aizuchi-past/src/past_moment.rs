//! The moment of a past decision, as far as it can be reconstructed: the messages that a prompt could hold then.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{Channel, Mention, Message, MessageId, UserId, Visibility};
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::decision::{Attempt, Decision, ModelExchange};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::persona::Language;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderScope};
use aizuchi_model::texts;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{Store, StoreError};
use jiff::{SignedDuration, Timestamp};

/// A decision, and the messages before it.
pub struct PastMoment {
    pub decision: Decision,
    /// The time of the last judge call; without one, of the first model call, or else of the end of the decision.
    pub at: Timestamp,
    /// The newest messages of the channel until then that prompts may hold, oldest first, and the parent of the thread.
    /// They have their current text, and messages deleted since then are missing.
    pub messages: Vec<StoredMessage>,
}

/// Why a moment cannot be judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudgeable {
    /// A rule settled it, or a user was owed an answer.
    NoJudge,
    /// The prompt has expired, one of its messages was changed or deleted, or prompts are not kept at all.
    PromptGone,
    /// The messages of the decision are gone.
    MessagesGone,
}

impl Unjudgeable {
    /// Describes it for people.
    pub fn describe(self, language: Language) -> &'static str {
        match self {
            Self::NoJudge => texts::shadow::no_judge(language),
            Self::PromptGone => texts::shadow::prompt_gone(language),
            Self::MessagesGone => texts::shadow::messages_gone(language),
        }
    }
}

impl PastMoment {
    /// Reads a moment with its `window` newest messages. `None` if the messages of the decision are gone.
    pub async fn read(
        archive: &dyn Archive,
        store: &dyn Store,
        decision: Decision,
        window: usize,
    ) -> Result<Option<Self>, StoreError> {
        let at = decided_at(&decision);
        let messages = messages_before(archive, store, &decision, (at, window)).await?;
        let thread = decision.conversation.thread.as_ref();
        let is_known =
            |parent: &MessageId| messages.iter().any(|stored| stored.message.id == *parent);
        let is_gone = messages.is_empty() || thread.is_some_and(|parent| !is_known(parent));
        Ok((!is_gone).then_some(Self { decision, at, messages }))
    }

    /// Builds the context for a prompt. Memories are left out, because today's memories know what came later.
    pub async fn context(
        &self,
        archive: &dyn Archive,
        channel: &Channel,
    ) -> Result<Context, StoreError> {
        let ids: Vec<MessageId> =
            self.messages.iter().map(|stored| stored.message.id.clone()).collect();
        let links = archive.links(&channel.workspace, &channel.id, &ids).await?;
        let messages: Vec<Arc<Message>> =
            self.messages.iter().map(|stored| stored.message.clone()).collect();
        let restricted =
            self.messages.iter().filter(|stored| stored.visibility != Visibility::Public);
        let history =
            ChannelMessages::from_messages(channel.id.clone(), channel.name.clone(), messages);
        let orders = archive.standing_orders(&channel.workspace).await?.into_iter();
        Ok(Context {
            standing_orders: orders.filter(|order| self.shows(order, channel)).collect(),
            visibility: channel.visibility,
            restricted_messages: restricted.map(|stored| stored.message.id.clone()).collect(),
            names: self.names(archive, channel).await?,
            links: links.into_iter().map(|(id, links)| (id, Arc::new(links))).collect(),
            new_messages: self.covered().map(|message| message.id.clone()).collect(),
            owed: self.owed(),
            ..Context::new(self.decision.conversation.clone(), history)
        })
    }

    /// Returns the newest messages of the conversation at that moment, oldest first.
    pub fn end_of_conversation(&self, most: usize) -> Vec<&StoredMessage> {
        let thread = &self.decision.conversation.thread;
        let is_here = |stored: &&StoredMessage| {
            let message = &stored.message;
            message.conversation.thread == *thread || thread.as_ref() == Some(&message.id)
        };
        let mut messages: Vec<_> = self.messages.iter().rev().filter(is_here).take(most).collect();
        messages.reverse();
        messages
    }

    /// Returns the messages of the decision that still exist.
    pub fn covered(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let messages = self.messages.iter().map(|stored| &stored.message);
        messages.filter(|message| self.decision.messages.contains(&message.id))
    }

    /// Whether a standing order was in force in the conversation then, and may be shown there now.
    fn shows(&self, order: &StandingOrder, channel: &Channel) -> bool {
        let is_everywhere = order.scope == StandingOrderScope::Workspace;
        let is_shown =
            is_everywhere || order.visibility_in(channel.visibility) == channel.visibility;
        let is_here = order.scope.includes(&self.decision.conversation);
        is_here
            && is_shown
            && !order.is_draft
            && order.given <= self.at
            && order.ended.is_none_or(|ended| self.at < ended)
    }

    /// Returns the messages whose authors were owed an answer.
    fn owed(&self) -> Vec<Owed> {
        if !self.decision.is_addressed {
            return Vec::new();
        }
        let id = |message: &Arc<Message>| Owed::from(message.id.clone());
        let addressed: Vec<Owed> =
            self.covered().filter(|message| message.is_addressed()).map(id).collect();
        match addressed.is_empty() {
            true => self.covered().next_back().map(id).into_iter().collect(),
            false => addressed,
        }
    }

    /// Returns the names of the authors and of the mentioned users.
    async fn names(
        &self,
        archive: &dyn Archive,
        channel: &Channel,
    ) -> Result<BTreeMap<UserId, Arc<str>>, StoreError> {
        let mut names = BTreeMap::new();
        let mut mentioned = HashSet::new();
        for StoredMessage { message, author_name, .. } in &self.messages {
            names.insert(message.author.id.clone(), author_name.clone());
            mentioned.extend(message.mentions.iter().filter_map(|mention| match mention {
                Mention::User(user) => Some(user.clone()),
                Mention::Persona | Mention::Quote(_) => None,
            }));
        }
        mentioned.retain(|user| !names.contains_key(user));
        if !mentioned.is_empty() {
            let users = archive.users(&channel.workspace).await?.into_iter();
            let named = users.filter(|user| mentioned.contains(&user.id));
            names.extend(named.map(|user| (user.id, user.name)));
        }
        Ok(names)
    }
}

/// Returns the recorded call that counts: the last one with a verdict, or else the last one. Its prompt must have been
/// kept.
pub fn recorded_call(
    decision: &Decision,
    exchanges: Vec<Option<ModelExchange>>,
) -> Result<(&Attempt, ModelExchange), Unjudgeable> {
    let calls = decision.attempts.iter().zip(exchanges);
    let mut judged: Vec<_> = calls.filter(|(attempt, _)| &*attempt.verb == "judge").collect();
    let position = judged.iter().rposition(|(attempt, _)| attempt.judgment.is_some());
    let last = judged.len().checked_sub(1).ok_or(Unjudgeable::NoJudge)?;
    let (attempt, exchange) = judged.swap_remove(position.unwrap_or(last));
    let is_kept = |exchange: &ModelExchange| !exchange.prompt.is_empty();
    Ok((attempt, exchange.filter(is_kept).ok_or(Unjudgeable::PromptGone)?))
}

fn decided_at(decision: &Decision) -> Timestamp {
    let judged = decision.attempts.iter().rfind(|attempt| &*attempt.verb == "judge");
    let asked = judged.or(decision.attempts.first());
    asked.map_or(decision.closed.unwrap_or(decision.opened), |attempt| attempt.at)
}

async fn messages_before(
    archive: &dyn Archive,
    store: &dyn Store,
    decision: &Decision,
    (decided, window): (Timestamp, usize),
) -> Result<Vec<StoredMessage>, StoreError> {
    let conversation = &decision.conversation;
    let (workspace, channel) = (&conversation.workspace, &conversation.channel);
    let end = decided.checked_add(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MAX);
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: None,
        range: MessageRange::BeforeTime(end),
        limit: window,
    };
    let mut messages = archive.messages(query).await?;
    if let Some(parent) = &conversation.thread
        && messages.iter().all(|stored| stored.message.id != *parent)
    {
        let parent = archive.message(workspace, channel, parent).await?;
        messages.splice(0..0, parent.filter(|parent| parent.message.at < end));
    }
    let refs: Vec<MessageRef> = messages
        .iter()
        .map(|stored| MessageRef(channel.clone(), stored.message.id.clone()))
        .collect();
    let usable = store.source_messages(workspace, &refs).await?;
    let usable: HashSet<MessageId> =
        usable.into_iter().map(|(message, _)| message.id.clone()).collect();
    let is_known = |id: &MessageId| usable.contains(id) && !decision.posted_messages.contains(id);
    messages.retain(|stored| is_known(&stored.message.id));
    let top: HashSet<MessageId> = messages
        .iter()
        .filter(|stored| stored.message.conversation.thread.is_none())
        .map(|stored| stored.message.id.clone())
        .collect();
    messages.retain(|stored| {
        stored.message.conversation.thread.as_ref().is_none_or(|parent| top.contains(parent))
    });
    Ok(messages)
}
