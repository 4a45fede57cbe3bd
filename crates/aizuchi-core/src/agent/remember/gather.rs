//! What a memory is to be made from: talk in blocks, or entries of other memories.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, Trouble};
use crate::chat::{ChannelId, ConversationId, Message, MessageId, UserId, Visibility, WorkspaceId};
use crate::context::{Context, Window};
use crate::memory::{Entry, LineId, Memory, MemoryId, MemoryKey, Scope, Term};
use crate::prompt::material::{Known, MOST_LINES, Owner, Source, Talk};

/// The most lines of a channel or thread that are folded into a short-term memory.
const MOST_MESSAGES: usize = 1000;
/// Talk that pauses for so long goes on about something else.
const PAUSE: SignedDuration = SignedDuration::from_hours(1);

/// Of lines that lost their entry, so many are remembered anew.
const MOST_LOST: usize = 1000;

/// What was found.
pub struct Gathered {
    /// What everybody may know.
    pub shared: Vec<Source>,
    /// What only the channel may know.
    pub unshared: Vec<Source>,
    pub channel_name: Arc<str>,
    pub names: BTreeMap<UserId, Arc<str>>,
    /// When the newest line behind it was said.
    pub newest: Timestamp,
    /// The revision of the store that it is of.
    pub considered: u64,
    pub merged: Vec<MemoryId>,
}

impl Agent {
    pub(super) async fn gather(&self, key: &MemoryKey) -> Result<Gathered, Trouble> {
        match (&key.scope, key.term) {
            (Scope::Channel(channel), Term::ShortTerm) => self.talk(key, channel, None).await,
            (Scope::Thread(channel, thread), _) => self.talk(key, channel, Some(thread)).await,
            (Scope::Channel(channel), Term::LongTerm) => self.history(key, channel).await,
            (Scope::Workspace, term) => self.everything(key, term).await,
        }
    }

    /// The newest talk of a channel, threads included, or the whole of a thread.
    async fn talk(
        &self,
        key: &MemoryKey,
        channel: &ChannelId,
        thread: Option<&MessageId>,
    ) -> Result<Gathered, Trouble> {
        let window = self.settings.limits.window(self.now());
        // What was heard since the last time belongs to it, however long ago that was.
        let remembered = match thread {
            Some(_) => Timestamp::MIN,
            None => self.remembered_until(key).await?,
        };
        let since = remembered.min(window.recent_since);
        let context = self.surroundings(&key.workspace, channel, thread, since).await?;
        let mut lines: Vec<Arc<Message>> = match thread {
            Some(_) => context.target().to_vec(),
            None => {
                let all = context.conversation_history.all_messages();
                let is_recent =
                    |line: &Arc<Message>| line.at >= window.recent_since || line.at > remembered;
                all.into_iter().filter(is_recent).collect()
            }
        };
        let surplus = lines.len().saturating_sub(MOST_MESSAGES);
        lines.drain(..surplus);
        let newest = lines.iter().map(|line| line.at).max().unwrap_or_default();
        if thread.is_some() && newest < window.threads_since {
            // Nobody would be told of it.
            lines.clear();
        }
        let is_unshared = |line: &Arc<Message>| context.unshared.contains(&line.id);
        let (unshared, shared) = lines.into_iter().partition(is_unshared);
        Ok(Gathered {
            newest,
            shared: blocks(shared),
            unshared: blocks(unshared),
            channel_name: context.conversation_history.channel_name.clone(),
            names: context.names,
            considered: context.revision,
            merged: Vec::new(),
        })
    }

    /// The newest line behind a memory.
    async fn remembered_until(&self, key: &MemoryKey) -> Result<Timestamp, Trouble> {
        let memories = self.store.memories(&key.workspace).await?;
        let own = memories.iter().find(|memory| memory.key == *key);
        Ok(own.map_or(Timestamp::MIN, |own| own.newest))
    }

    /// A channel's long-term memory, and what it does not hold yet.
    async fn history(&self, key: &MemoryKey, channel: &ChannelId) -> Result<Gathered, Trouble> {
        let now = self.now();
        let context = self.surroundings(&key.workspace, channel, None, now).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let find = |term: Term| {
            let wanted = MemoryKey { term, ..key.clone() };
            memories.iter().find(|memory| memory.key == wanted)
        };
        let (own, recent) = (find(Term::LongTerm), find(Term::ShortTerm));
        let name = context.conversation_history.channel_name.clone();
        let id = channel.clone();
        let owner = Owner::Channel { id, name: name.clone(), term: Term::ShortTerm };
        let fresh = unknown(own, recent, &owner);
        let told: HashSet<&LineId> = fresh.iter().flat_map(|(_, entry)| &entry.lines).collect();
        let lost = own.map_or(&[][..], |own| &own.lost);
        let lost: Vec<LineId> = lost.iter().filter(|line| !told.contains(line)).cloned().collect();
        let mut lost = match lost.is_empty() {
            true => Vec::new(),
            false => self.store.lines_behind(&key.workspace, &lost).await?,
        };
        let surplus = lost.len().saturating_sub(MOST_LOST);
        lost.drain(..surplus);
        let behind = [own, recent];
        let newest = behind.iter().flatten().map(|memory| memory.newest).max().unwrap_or_default();
        let merged = behind.iter().flatten().map(|memory| memory.id).collect();
        let is_new = !fresh.is_empty() || !lost.is_empty();
        let (mut shared, mut unshared) = if is_new { kept(own, fresh) } else { Default::default() };
        let is_open = context.visibility == Visibility::Public;
        let (public, private): (Vec<_>, Vec<_>) = lost
            .into_iter()
            .partition(|(_, visibility)| is_open && *visibility == Visibility::Public);
        shared.extend(blocks(public.into_iter().map(|(line, _)| line).collect()));
        unshared.extend(blocks(private.into_iter().map(|(line, _)| line).collect()));
        let names = context.names;
        let considered = context.revision;
        Ok(Gathered { shared, unshared, channel_name: name, names, newest, considered, merged })
    }

    /// What everybody may know of all channels.
    async fn everything(&self, key: &MemoryKey, term: Term) -> Result<Gathered, Trouble> {
        let now = self.now();
        // From nowhere, only what is public can be seen.
        let nowhere = self.surroundings(&key.workspace, &ChannelId::new(""), None, now).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let own = memories.iter().find(|memory| memory.key == *key && term == Term::LongTerm);
        let since = self.settings.limits.window(now).recent_since;
        let is_of_now = |memory: &&Memory| term == Term::LongTerm || memory.newest >= since;
        let mut fresh = Vec::new();
        let mut behind: Vec<&Memory> = own.into_iter().collect();
        for channel in &nowhere.channel_memories {
            let scope = Scope::Channel(channel.channel_id.clone());
            let wanted = MemoryKey { workspace: key.workspace.clone(), scope, term };
            let theirs = memories.iter().find(|memory| memory.key == wanted).filter(is_of_now);
            let Some(theirs) = theirs else { continue };
            let (id, name) = (channel.channel_id.clone(), channel.channel_name.clone());
            let owner = Owner::Channel { id, name, term };
            let public = unknown(own, Some(theirs), &owner).into_iter();
            fresh.extend(public.filter(|(_, entry)| entry.is_public()));
            behind.push(theirs);
        }
        let (shared, _) = if fresh.is_empty() { Default::default() } else { kept(own, fresh) };
        Ok(Gathered {
            shared,
            unshared: Vec::new(),
            channel_name: "".into(),
            names: BTreeMap::new(),
            newest: behind.iter().map(|memory| memory.newest).max().unwrap_or_default(),
            considered: nowhere.revision,
            merged: behind.iter().map(|memory| memory.id).collect(),
        })
    }

    async fn surroundings(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        thread: Option<&MessageId>,
        since: Timestamp,
    ) -> Result<Context, Trouble> {
        let (workspace, channel) = (workspace.clone(), channel.clone());
        let conversation = ConversationId { workspace, channel, thread: thread.cloned() };
        let window = self.settings.limits.window(self.now());
        let window =
            Window { messages: MOST_MESSAGES, thread_messages: MOST_MESSAGES, since, ..window };
        Ok(self.store.context(&conversation, &window).await?)
    }
}

/// Entries that hold a line that `own` does not know.
fn unknown<'a>(
    own: Option<&Memory>,
    other: Option<&'a Memory>,
    owner: &Owner,
) -> Vec<(Owner, &'a Entry)> {
    let known: HashSet<&LineId> =
        own.iter().flat_map(|own| &own.entries).flat_map(|entry| &entry.lines).collect();
    let entries = other.into_iter().flat_map(|other| &other.entries);
    let unknown = entries.filter(|entry| entry.lines.iter().any(|line| !known.contains(line)));
    unknown.map(|entry| (owner.clone(), entry)).collect()
}

/// What a memory holds already, before what is new: what everybody may know, and the rest.
fn kept(own: Option<&Memory>, fresh: Vec<(Owner, &Entry)>) -> (Vec<Source>, Vec<Source>) {
    let kept = own.into_iter().flat_map(|own| &own.entries).map(|entry| (Owner::Itself, entry));
    let (shared, unshared): (Vec<_>, Vec<_>) =
        kept.chain(fresh).partition(|(_, entry)| entry.is_public());
    let sources = |entries: Vec<(Owner, &Entry)>| {
        let known = |(owner, entry): (Owner, &Entry)| Known { owner, entry: entry.clone() };
        entries.into_iter().map(known).map(Source::Known).collect()
    };
    (sources(shared), sources(unshared))
}

/// Lines, oldest first, as blocks of one conversation each that are neither long nor interrupted.
fn blocks(lines: Vec<Arc<Message>>) -> Vec<Source> {
    let mut talks: Vec<Talk> = Vec::new();
    let mut open: BTreeMap<ConversationId, usize> = BTreeMap::new();
    for line in lines {
        let conversation = line.conversation.clone();
        let place = open.get(&conversation).copied().filter(|place| {
            let last = talks[*place].lines.last();
            let is_near = last.is_some_and(|last| line.at.duration_since(last.at) < PAUSE);
            is_near && talks[*place].lines.len() < MOST_LINES
        });
        match place {
            Some(place) => talks[place].lines.push(line),
            None => {
                open.insert(conversation.clone(), talks.len());
                talks.push(Talk { conversation, lines: vec![line] });
            }
        }
    }
    talks.into_iter().map(Source::Talk).collect()
}
