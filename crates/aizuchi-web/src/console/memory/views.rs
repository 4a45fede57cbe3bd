//! The views of memories, as far as the visitor may read them.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, ChannelId, Message, User, UserId, Visibility, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::memory::change::{JournalEntry, JournalKind};
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MessageRef};
use aizuchi_model::overlap::has_name;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::console::layout::{
    TimeView, address_with, channel_address, decision_address, memory_address,
};
use crate::memories::{self, KeyFields, entry_id};
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

/// The maximum number of source messages that are shown for an entry.
const MAX_SOURCES: usize = 12;

/// A memory.
pub struct MemoryView {
    /// The id of the HTML element.
    pub id: String,
    pub title: String,
    pub key: KeyFields,
    pub version: i64,
    pub made: TimeView,
    pub history: String,
    pub entries: Vec<EntryView>,
    pub removed: Vec<EntryView>,
    /// A note about what the visitor may not read, if there is anything.
    pub hidden: Option<String>,
    /// The number of entries, for visitors who may read none.
    pub count: String,
    pub is_being_made: bool,
}

pub struct EntryView {
    pub id: String,
    pub date: String,
    pub text: String,
    pub known: &'static str,
    pub is_public: bool,
    pub pinned: bool,
    pub told: String,
    pub sources: Vec<SourceView>,
    /// A note, if not all sources are shown.
    pub more: Option<String>,
}

pub struct SourceView {
    pub by: String,
    pub at: Option<TimeView>,
    pub text: String,
}

/// The memories of a channel, as a row of a table.
pub struct ChannelRow {
    pub name: String,
    pub address: String,
    pub entries: usize,
    pub made: Option<TimeView>,
}

pub struct MemoView {
    pub id: i64,
    pub name: String,
    pub content: String,
    pub priority: u8,
    pub tags: String,
    pub detail: Option<String>,
    pub known: &'static str,
    pub is_public: bool,
    pub place: String,
    /// The timeline of the channel, with what was said there by whoever said it.
    pub address: String,
    pub said_by: Option<String>,
    pub updated: TimeView,
}

/// A change in the journal.
pub struct JournalRow {
    pub number: i64,
    pub at: TimeView,
    pub by: String,
    pub what: &'static str,
    pub place: String,
    /// The address of the versions of its memory.
    pub history: Option<String>,
    /// The memo's text before the change, for visitors who may read it.
    pub was: Option<String>,
    /// The page of the decision for whose reply a tool changed a memo.
    pub decision: Option<String>,
    pub undo: Option<UndoView>,
    pub memo_undo: Option<MemoUndoView>,
}

/// The fields of the form that reverts a memo to its state before a change.
pub struct MemoUndoView {
    pub memo: i64,
    pub to: i64,
}

/// The fields of the form that undoes a change.
pub struct UndoView {
    pub key: KeyFields,
    pub version: i64,
    pub to: i64,
}

/// The channels of a workspace whose names the visitor may know.
pub struct Places {
    workspace: WorkspaceId,
    channels: Vec<(Channel, String)>,
}

impl Places {
    pub async fn read(
        web: &Web,
        access: &Access,
        workspace: &WorkspaceId,
    ) -> Result<Self, ApiProblem> {
        let named = |channel: Channel| {
            let name = access.name_of(&channel);
            (channel, name)
        };
        let channels = web.archive.channels(workspace).await?.into_iter().map(named).collect();
        Ok(Self { workspace: workspace.clone(), channels })
    }

    fn name(&self, id: &ChannelId) -> String {
        let found = self.channels.iter().find(|(channel, _)| channel.id == *id);
        found.map_or_else(|| id.to_string(), |(_, name)| name.clone())
    }

    /// The id and name of each channel, and whether it is chosen.
    pub fn choices(&self, chosen: Option<&ChannelId>) -> Vec<(String, String, bool)> {
        let choice = |(channel, name): &(Channel, String)| {
            (channel.id.to_string(), name.clone(), Some(&channel.id) == chosen)
        };
        self.channels.iter().map(choice).collect()
    }

    /// Returns a row for each channel of which something is remembered.
    pub fn rows(&self, memories: &[Memory]) -> Vec<ChannelRow> {
        let row = |(channel, name): &(Channel, String)| {
            let own = memories.iter().filter(|memory| memory.key.channel() == Some(&channel.id));
            let entries = own.clone().map(|memory| memory.entries.len()).sum();
            let made = own.map(|memory| memory.created).max().map(TimeView::new);
            made.is_some().then(|| ChannelRow {
                name: name.clone(),
                address: memory_address(&self.workspace, Some(&channel.id)),
                entries,
                made,
            })
        };
        self.channels.iter().filter_map(row).collect()
    }

    pub fn title(&self, key: &MemoryKey, language: Language) -> String {
        let place = match &key.scope {
            MemoryScope::Workspace => texts::memories::everywhere(language).to_owned(),
            MemoryScope::Channel(channel) => {
                texts::memories::of_channel(language, &self.name(channel))
            }
            MemoryScope::Thread(channel, _) => {
                texts::memories::of_thread(language, &self.name(channel))
            }
        };
        format!("{place}, {}", texts::memories::term(language, key.term))
    }
}

/// A user of whom something may be remembered.
pub struct RememberedUser<'a>(pub &'a User);

impl RememberedUser<'_> {
    fn is_named(&self, text: &str) -> bool {
        has_name(&text.to_lowercase(), &self.0.name.to_lowercase())
    }

    pub fn is_in_memo(&self, memo: &Memo) -> bool {
        let texts = [Some(&memo.name), Some(&memo.content), memo.detail.as_ref()];
        memo.said_by.as_ref() == Some(&self.0.id)
            || texts.into_iter().flatten().any(|text| self.is_named(text))
    }
}

/// Makes views for one visitor.
pub struct ViewBuilder<'a> {
    pub access: &'a Access,
    pub language: Language,
    pub names: Vec<User>,
    pub places: &'a Places,
    pub sources: HashMap<MessageRef, Arc<Message>>,
    /// If set, only entries about this user are wanted.
    pub user: Option<RememberedUser<'a>>,
}

impl ViewBuilder<'_> {
    fn is_wanted(&self, entry: &MemoryEntry) -> bool {
        let Some(user) = &self.user else { return true };
        let authors = entry.messages.iter().filter_map(|message| self.sources.get(message));
        user.is_named(&entry.text)
            || authors.into_iter().any(|message| message.author.id == user.0.id)
    }

    pub fn may_read(&self, entry: &MemoryEntry) -> bool {
        memories::may_read(self.access, &self.places.workspace, entry)
    }

    /// Returns the views of the memories with any wanted entry. Reads of private ones are recorded.
    pub async fn memories(
        &self,
        web: &Web,
        found: &[Memory],
    ) -> Result<Vec<MemoryView>, ApiProblem> {
        let mut views = Vec::new();
        for memory in found {
            let Some(view) = self.memory(memory) else { continue };
            let (workspace, shown) = (&self.places.workspace, std::slice::from_ref(memory));
            workspaces::record_look(web, self.access, workspace, Shown::Memories(shown)).await?;
            views.push(view);
        }
        Ok(views)
    }

    /// Returns `None` if the memory has no wanted entry.
    fn memory(&self, memory: &Memory) -> Option<MemoryView> {
        let views = |entries: &[MemoryEntry]| -> Vec<EntryView> {
            let readable = entries.iter().filter(|entry| self.may_read(entry));
            readable.filter(|entry| self.is_wanted(entry)).map(|entry| self.entry(entry)).collect()
        };
        let (entries, removed) = (views(&memory.entries), views(&memory.removed));
        if self.user.is_some() && entries.is_empty() {
            return None;
        }
        let hidden = memory.entries.iter().filter(|entry| !self.may_read(entry)).count();
        let is_hidden = hidden > 0 && self.user.is_none();
        Some(MemoryView {
            id: format!("memory-{}", memory.id.0),
            title: self.places.title(&memory.key, self.language),
            key: KeyFields::new(&memory.key),
            version: memory.id.0,
            made: TimeView::new(memory.created),
            history: history_address(&memory.key),
            entries,
            removed: if self.user.is_some() { Vec::new() } else { removed },
            hidden: is_hidden.then(|| texts::memories::hidden(self.language, hidden)),
            count: texts::memories::count(self.language, memory.entries.len()),
            is_being_made: !memory.orphaned_messages.is_empty(),
        })
    }

    fn entry(&self, entry: &MemoryEntry) -> EntryView {
        let language = self.language;
        let source = |message: &MessageRef| match self.sources.get(message) {
            Some(message) => SourceView {
                by: self.user_name(&message.author.id),
                at: Some(TimeView::new(message.at)),
                text: texts::files::shown_text(language, message),
            },
            None => SourceView {
                by: String::new(),
                at: None,
                text: texts::memories::source_gone(language).to_owned(),
            },
        };
        let count = entry.messages.len();
        EntryView {
            id: entry_id(entry),
            date: entry.date.to_string(),
            text: entry.text.to_string(),
            known: known(entry.visibility, language),
            is_public: entry.is_public(),
            pinned: entry.pinned,
            told: match count {
                0 => texts::memories::no_sources(language).to_owned(),
                1 => texts::memories::source(language).to_owned(),
                count => texts::memories::sources(language, count),
            },
            sources: entry.messages.iter().take(MAX_SOURCES).map(source).collect(),
            more: (count > MAX_SOURCES)
                .then(|| texts::memories::more_sources(language, count - MAX_SOURCES)),
        }
    }

    fn user_name(&self, id: &UserId) -> String {
        let found = self.names.iter().find(|user| user.id == *id);
        found.map_or_else(|| id.to_string(), |user| user.name.to_string())
    }

    pub fn memo(&self, id: MemoryId, memo: &Memo) -> MemoView {
        let said_by = memo.said_by.as_ref().map(|by| self.user_name(by));
        MemoView {
            id: id.0,
            name: memo.name.clone(),
            content: memo.content.clone(),
            priority: memo.priority,
            tags: memo.tags.join(", "),
            detail: memo.detail.clone(),
            known: known(memo.visibility, self.language),
            is_public: memo.visibility == Visibility::Public,
            place: self.places.name(&memo.channel),
            address: {
                let by = memo.said_by.as_ref().map_or("", UserId::as_str);
                let channel = channel_address(&self.places.workspace, &memo.channel);
                address_with(&channel, &[("person", by)])
            },
            said_by: said_by.map(|name| texts::memories::said_by(self.language, &name)),
            updated: TimeView::new(memo.updated),
        }
    }

    /// Who made a change. Hidden from viewers.
    pub fn name_of(&self, change: &JournalEntry) -> String {
        match (change.kind, &*change.by) {
            (JournalKind::Folded | JournalKind::Forgotten, _) => {
                texts::memories::by_itself(self.language).to_owned()
            }
            _ if !self.access.may_order() => "–".to_owned(),
            (_, "") if change.decision.is_some() => {
                texts::memories::by_itself(self.language).to_owned()
            }
            (_, "") => texts::console::this_machine(self.language).to_owned(),
            (_, by) => {
                let is_signer = |user: &&User| signer(by) == Some(user.id.as_str());
                let user = self.names.iter().find(is_signer);
                user.map_or_else(|| by.to_owned(), |user| user.name.to_string())
            }
        }
    }
}

fn known(visibility: Visibility, language: Language) -> &'static str {
    match visibility {
        Visibility::Public => texts::memories::known_to_all(language),
        Visibility::Private | Visibility::Direct => texts::memories::known_here(language),
    }
}

/// The address of a memory's versions.
pub fn history_address(key: &MemoryKey) -> String {
    let fields = KeyFields::new(key);
    let given = [
        ("workspace", &*fields.workspace.unwrap_or_default()),
        ("scope", &*fields.scope),
        ("channel", &*fields.channel.unwrap_or_default()),
        ("thread", &*fields.thread.unwrap_or_default()),
        ("term", &*fields.term),
    ];
    address_with("/console/memory/versions", &given)
}

/// A page of the journal.
pub struct JournalPage {
    entries: Vec<JournalEntry>,
    /// The earlier versions of memos, as far as the visitor may read them.
    versions: HashMap<MemoryId, Memo>,
    pub older: Option<i64>,
}

impl JournalPage {
    /// Reads a page of the journal. Reads of earlier versions of private memos are recorded.
    pub async fn read(
        web: &Web,
        access: &Access,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        before: Option<i64>,
    ) -> Result<Self, ApiProblem> {
        let (entries, older) = memories::journal_page(web, workspace, channel, before).await?;
        let of_memos = entries.iter().filter(|entry| entry.key.is_none());
        let wanted: Vec<MemoryId> = of_memos.filter_map(|entry| entry.before).collect();
        let mut versions = match wanted.is_empty() {
            true => Vec::new(),
            false => web.archive.memo_versions(workspace, &wanted).await?,
        };
        versions.retain(|(_, memo)| access.may_read(workspace, memo.visibility));
        workspaces::record_look(web, access, workspace, Shown::Memos(&versions)).await?;
        Ok(Self { entries, versions: versions.into_iter().collect(), older })
    }

    /// Whether a change on this page led to this version of a memory.
    pub fn names(&self, memory: MemoryId) -> bool {
        self.entries.iter().any(|entry| entry.after == memory)
    }

    /// Returns the rows of the page. The newest change of each memory in `shown` can be undone as long as the version
    /// before is kept; a memo can be reverted to its state before any change.
    pub fn rows(
        &self,
        builder: &ViewBuilder<'_>,
        shown: &[Memory],
        memos: &[(MemoryId, Memo)],
    ) -> Vec<JournalRow> {
        let language = builder.language;
        let version = |entry: &JournalEntry| {
            let before = entry.before.filter(|_| entry.key.is_none())?;
            Some((before, self.versions.get(&before)?))
        };
        let memo_name = |entry: &JournalEntry| {
            let current = memos.iter().find(|(id, _)| *id == entry.after);
            let memo = current.map(|(_, memo)| memo);
            let memo = memo.or_else(|| version(entry).map(|(_, memo)| memo));
            match memo {
                Some(memo) => texts::memories::named_memo(language, &memo.name),
                None => texts::memories::a_memo(language).to_owned(),
            }
        };
        let memo_undo = |entry: &JournalEntry| {
            let (before, _) = version(entry).filter(|_| builder.access.may_order())?;
            Some(MemoUndoView { memo: entry.after.0, to: before.0 })
        };
        let undo = |entry: &JournalEntry| {
            let (key, before) = (entry.key.as_ref()?, entry.before?);
            let current = shown.iter().find(|memory| memory.id == entry.after)?;
            let mut entries = current.entries.iter().chain(&current.removed);
            let may_undo = builder.access.may_order()
                && before != entry.after
                && entries.all(|entry| builder.may_read(entry));
            may_undo.then(|| UndoView {
                key: KeyFields::new(key),
                version: current.id.0,
                to: before.0,
            })
        };
        let row = |entry: &JournalEntry| JournalRow {
            number: entry.number,
            at: TimeView::new(entry.at),
            by: builder.name_of(entry),
            what: texts::memories::journal_kind(language, entry.kind),
            place: match &entry.key {
                Some(key) => builder.places.title(key, language),
                None => memo_name(entry),
            },
            history: entry.key.as_ref().map(history_address),
            was: version(entry).map(|(_, memo)| texts::memories::was(language, &memo.content)),
            decision: entry
                .decision
                .map(|id| decision_address(&builder.places.workspace, DecisionId(id))),
            undo: undo(entry),
            memo_undo: memo_undo(entry),
        };
        self.entries.iter().map(row).collect()
    }
}
