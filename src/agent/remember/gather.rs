//! What a memory is to be made from: talk in blocks, or entries of other memories.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, Trouble};
use crate::chat::{ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId};
use crate::context::{Context, Window};
use crate::memory::{Entry, LineId, Memory, MemoryId, MemoryKey, Scope, Term};
use crate::prompt::material::{Known, MOST_LINES, Owner, Source, Talk};

/// The most lines of a channel or thread that are folded into a short-term memory.
const MOST_MESSAGES: usize = 1000;
/// Talk that pauses for so long goes on about something else.
const PAUSE: SignedDuration = SignedDuration::from_hours(1);

/// What was found.
pub struct Gathered {
    pub sources: Vec<Source>,
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
        let context = self.surroundings(&key.workspace, channel, thread).await?;
        let since = self.settings.limits.window(self.now()).recent_since;
        let mut lines: Vec<Arc<Message>> = match thread {
            Some(_) => context.target().to_vec(),
            None => {
                let all = context.conversation_history.all_messages();
                all.into_iter().filter(|line| line.at >= since).collect()
            }
        };
        let surplus = lines.len().saturating_sub(MOST_MESSAGES);
        lines.drain(..surplus);
        Ok(Gathered {
            newest: lines.iter().map(|line| line.at).max().unwrap_or_default(),
            sources: blocks(lines),
            channel_name: context.conversation_history.channel_name.clone(),
            names: context.names,
            considered: context.revision,
            merged: Vec::new(),
        })
    }

    /// A channel's long-term memory, and what it does not hold yet.
    async fn history(&self, key: &MemoryKey, channel: &ChannelId) -> Result<Gathered, Trouble> {
        let context = self.surroundings(&key.workspace, channel, None).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let find = |term: Term| {
            let wanted = MemoryKey { term, ..key.clone() };
            memories.iter().find(|memory| memory.key == wanted)
        };
        let (own, recent) = (find(Term::LongTerm), find(Term::ShortTerm));
        let name = context.conversation_history.channel_name.clone();
        let owner = Owner::Channel { name: name.clone(), term: Term::ShortTerm };
        let mut fresh = unknown(own, recent, &owner);
        let lost = own.map_or(&[][..], |own| &own.lost);
        let told: HashSet<LineId> = fresh.iter().flat_map(Source::line_ids).collect();
        let lost: Vec<LineId> = lost.iter().filter(|line| !told.contains(line)).cloned().collect();
        if !lost.is_empty() {
            fresh.extend(blocks(self.store.lines_behind(&key.workspace, &lost).await?));
        }
        let behind = [own, recent];
        let newest = behind.iter().flatten().map(|memory| memory.newest).max().unwrap_or_default();
        let merged = behind.iter().flatten().map(|memory| memory.id).collect();
        let sources = if fresh.is_empty() { Vec::new() } else { kept(own, fresh) };
        Ok(Gathered {
            sources,
            channel_name: name,
            names: context.names,
            newest,
            considered: context.revision,
            merged,
        })
    }

    /// What everybody may know of all channels.
    async fn everything(&self, key: &MemoryKey, term: Term) -> Result<Gathered, Trouble> {
        // From nowhere, only what is public can be seen.
        let nowhere = self.surroundings(&key.workspace, &ChannelId::new(""), None).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let own = memories.iter().find(|memory| memory.key == *key && term == Term::LongTerm);
        let since = self.settings.limits.window(self.now()).recent_since;
        let is_of_now = |memory: &&Memory| term == Term::LongTerm || memory.newest >= since;
        let mut fresh = Vec::new();
        let mut behind: Vec<&Memory> = own.into_iter().collect();
        for channel in &nowhere.channel_memories {
            let scope = Scope::Channel(channel.channel_id.clone());
            let wanted = MemoryKey { workspace: key.workspace.clone(), scope, term };
            let theirs = memories.iter().find(|memory| memory.key == wanted).filter(is_of_now);
            let Some(theirs) = theirs else { continue };
            let public = theirs.entries.iter().filter(|entry| entry.is_public()).cloned();
            let public = Memory { entries: public.collect(), ..theirs.clone() };
            let owner = Owner::Channel { name: channel.channel_name.clone(), term };
            fresh.extend(unknown(own, Some(&public), &owner));
            behind.push(theirs);
        }
        let sources = if fresh.is_empty() { Vec::new() } else { kept(own, fresh) };
        Ok(Gathered {
            sources,
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
    ) -> Result<Context, Trouble> {
        let (workspace, channel) = (workspace.clone(), channel.clone());
        let conversation = ConversationId { workspace, channel, thread: thread.cloned() };
        let window = self.settings.limits.window(self.now());
        let window = Window {
            messages: MOST_MESSAGES,
            thread_messages: MOST_MESSAGES,
            since: window.recent_since,
            ..window
        };
        Ok(self.store.context(&conversation, &window).await?)
    }
}

/// Entries that hold a line that `own` does not know.
fn unknown(own: Option<&Memory>, other: Option<&Memory>, owner: &Owner) -> Vec<Source> {
    let known: HashSet<&LineId> =
        own.iter().flat_map(|own| &own.entries).flat_map(|entry| &entry.lines).collect();
    let entries = other.iter().flat_map(|other| &other.entries);
    let unknown = entries.filter(|entry| entry.lines.iter().any(|line| !known.contains(line)));
    unknown.map(|entry| source(owner.clone(), entry)).collect()
}

/// What a memory holds already, before what is new.
fn kept(own: Option<&Memory>, fresh: Vec<Source>) -> Vec<Source> {
    let kept = own.iter().flat_map(|own| &own.entries).map(|entry| source(Owner::Itself, entry));
    kept.chain(fresh).collect()
}

fn source(owner: Owner, entry: &Entry) -> Source {
    Source::Known(Known { owner, entry: entry.clone() })
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
