//! The messages of a dump of kotonoha's database, assembled one session at a time, in the order in which they are
//! heard.

use std::collections::HashMap;
use std::iter::Peekable;
use std::sync::Arc;

use aizuchi_discord::text::NameLookup;
use aizuchi_discord::text::read::parse_discord_markdown;
use aizuchi_model::chat::{
    Author, AuthorKind, Message, MessageId, Role, User, UserId, WorkspaceId,
};
use aizuchi_model::clock::truncate_to_millisecond;
use anyhow::Context as _;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::forgotten::is_forgotten;
use crate::kotonoha::dump::{
    ID_PREFIX, KotonohaDump, KotonohaOptions, PlacedSession, SessionSource, number_key,
};
use crate::kotonoha::session::{
    SessionTurn, Speaker, append, append_session, fill_in_times, parse_chunk, parse_session,
};
use crate::message_ids::MessageIds;
use crate::record_sorter::{KeyedRecord, RecordSorter, SortedRecords, SorterLimits};
use crate::streamed::StreamedMessage;
use crate::{ImportData, SkippedItems};

/// Used as a source's rank for what the session itself still contains. It is the newest part.
const OF_SESSION: u64 = u64::MAX;
const UNREADABLE: &str = "cannot read a record";

/// The data to import.
pub struct KotonohaArranged {
    /// The data of each workspace without messages, sorted by workspace id.
    pub data: Vec<ImportData>,
    pub messages: KotonohaMessages,
    /// The number of messages older than the given time.
    pub expired: usize,
}

/// The messages of all workspaces, one workspace after the other.
pub struct KotonohaMessages {
    sorted: Peekable<SortedRecords>,
    sessions: Vec<PlacedSession>,
    options: KotonohaOptions,
}

/// The forgotten users of each workspace, and when they were forgotten.
pub type ForgottenByWorkspace = HashMap<WorkspaceId, HashMap<UserId, Timestamp>>;

impl KotonohaDump {
    /// Assembles the sessions. Messages from before `expired_before` are counted as too old.
    pub fn arrange(
        self,
        forgotten: &ForgottenByWorkspace,
        limits: SorterLimits,
        expired_before: Option<Timestamp>,
    ) -> anyhow::Result<KotonohaArranged> {
        let Self { options, sessions, sources, chunks, session_rows, documents, mut skipped } =
            self;
        let (parts, orphans) = sort_parts((chunks, session_rows), &sessions, &sources, limits)?;
        // Parts of documents are already counted as documents.
        let orphans = orphans.saturating_sub(documents);
        let orphans = SkippedItems::new_if_any(
            "parts of the knowledge base",
            orphans,
            "what they are parts of is not in the dump",
        );
        // Inserted next to the counts of the other tables.
        skipped.insert(skipped.len().min(2), orphans);
        let mut arranging =
            Arranging::new(&sessions, &options, forgotten, RecordSorter::new(limits));
        let mut parts = parts.peekable();
        while let Some((session, turns)) = next_session(&mut parts, &sources, &options)? {
            arranging.take(session, &turns, expired_before)?;
        }
        let Arranging { mut data, sorter, timeless, expired, .. } = arranging;
        skipped.push(SkippedItems::new_if_any("messages", timeless, "their time is unknown"));
        if data.is_empty() {
            let workspace = options.workspace.clone().unwrap_or(WorkspaceId::new("discord"));
            data.push(ImportData::new(workspace));
        }
        // The counts of what was left out apply to the dump as a whole.
        if let Some(last) = data.last_mut() {
            last.skipped.extend(skipped.into_iter().flatten());
        }
        let sorted = sorter.finish()?.peekable();
        Ok(KotonohaArranged {
            data,
            messages: KotonohaMessages { sorted, sessions, options },
            expired,
        })
    }
}

/// The parts of the sessions, grouped by session and the oldest first; and the number of sources that have parts but
/// are not in the dump.
fn sort_parts(
    (chunks, session_rows): (RecordSorter, RecordSorter),
    sessions: &[PlacedSession],
    sources: &[SessionSource],
    limits: SorterLimits,
) -> anyhow::Result<(SortedRecords, usize)> {
    let numbers: HashMap<&[u8], usize> =
        sessions.iter().enumerate().map(|(number, it)| (it.key.as_bytes(), number)).collect();
    let mut ranks: HashMap<[u8; 8], usize> = HashMap::new();
    for (rank, source) in sources.iter().enumerate() {
        ranks.entry(number_key(source.id)).or_insert(rank);
    }
    let mut parts = RecordSorter::new(limits);
    let (mut orphans, mut last_orphan) = (0, None);
    let mut chunks = chunks.finish()?.peekable();
    while let Some(KeyedRecord { key, record }) = next_record(&mut chunks)? {
        let (source, chunk) = key.split_first_chunk::<8>().context(UNREADABLE)?;
        match ranks.get(source) {
            Some(rank) => {
                if let Some(number) = numbers.get(sources[*rank].session.as_bytes()) {
                    parts.push(part_key(*number, *rank as u64, chunk), record)?;
                }
            }
            None => {
                orphans += usize::from(last_orphan != Some(*source));
                last_orphan = Some(*source);
            }
        }
    }
    let mut session_rows = session_rows.finish()?.peekable();
    while let Some(KeyedRecord { key, record }) = next_record(&mut session_rows)? {
        if let Some(number) = numbers.get(&key[..]) {
            parts.push(part_key(*number, OF_SESSION, &[]), record)?;
        }
    }
    Ok((parts.finish()?, orphans))
}

/// The last of the next records with the same key, because a later row replaces an earlier one.
fn next_record(sorted: &mut Peekable<SortedRecords>) -> anyhow::Result<Option<KeyedRecord>> {
    let Some(first) = sorted.next() else { return Ok(None) };
    let mut last = first?;
    let has_key = |next: &anyhow::Result<KeyedRecord>, key: &[u8]| match next {
        Ok(next) => next.key == key,
        Err(_) => true,
    };
    while let Some(next) = sorted.next_if(|next| has_key(next, &last.key)) {
        last = next?;
    }
    Ok(Some(last))
}

fn part_key(session: usize, rank: u64, chunk: &[u8]) -> Vec<u8> {
    [&(session as u64).to_be_bytes()[..], &rank.to_be_bytes(), chunk].concat()
}

/// Whether a record's key begins with the prefix. An error counts as true, so that it is returned.
fn begins_with(next: &anyhow::Result<KeyedRecord>, prefix: &[u8]) -> bool {
    match next {
        Ok(next) => next.key.starts_with(prefix),
        Err(_) => true,
    }
}

/// The number of the next session, and its turns. A session's newest messages are in the knowledge base, too, and a
/// session that was moved there twice is there twice.
fn next_session(
    parts: &mut Peekable<SortedRecords>,
    sources: &[SessionSource],
    options: &KotonohaOptions,
) -> anyhow::Result<Option<(usize, Vec<SessionTurn>)>> {
    let Some(first) = parts.next() else { return Ok(None) };
    let first = first?;
    let prefix = *first.key.first_chunk::<8>().context(UNREADABLE)?;
    let mut builder = SessionBuilder::default();
    builder.take(first, sources, options)?;
    while let Some(part) = parts.next_if(|next| begins_with(next, &prefix)) {
        builder.take(part?, sources, options)?;
    }
    let number = usize::try_from(u64::from_be_bytes(prefix)).context(UNREADABLE)?;
    Ok(Some((number, builder.finish(sources))))
}

/// Assembles a session.
#[derive(Default)]
struct SessionBuilder {
    turns: Vec<SessionTurn>,
    /// The source that is being read, and its turns.
    rank: u64,
    of_source: Vec<SessionTurn>,
}

impl SessionBuilder {
    fn take(
        &mut self,
        part: KeyedRecord,
        sources: &[SessionSource],
        options: &KotonohaOptions,
    ) -> anyhow::Result<()> {
        let rank = part.key.get(8..).and_then(|rest| rest.first_chunk::<8>());
        let rank = u64::from_be_bytes(*rank.context(UNREADABLE)?);
        let text = String::from_utf8(part.record).context(UNREADABLE)?;
        if rank != self.rank {
            self.end_source(sources);
            self.rank = rank;
        }
        if rank == OF_SESSION {
            let turns = parse_session(&text, &options.zone).context(UNREADABLE)?;
            append_session(&mut self.turns, turns);
        } else {
            let last = self.of_source.last().map_or(Speaker::User, |turn| turn.speaker);
            append(&mut self.of_source, parse_chunk(&text, last));
        }
        Ok(())
    }

    fn end_source(&mut self, sources: &[SessionSource]) {
        let mut turns = std::mem::take(&mut self.of_source);
        let source = usize::try_from(self.rank).ok().and_then(|rank| sources.get(rank));
        if let Some(last) = turns.last_mut() {
            last.at = source.and_then(|source| source.until);
        }
        append(&mut self.turns, turns);
    }

    fn finish(mut self, sources: &[SessionSource]) -> Vec<SessionTurn> {
        self.end_source(sources);
        fill_in_times(&mut self.turns);
        self.turns
    }
}

/// The state collected about the workspaces while their sessions are processed.
struct Arranging<'a> {
    sessions: &'a [PlacedSession],
    forgotten: &'a ForgottenByWorkspace,
    persona: UserId,
    data: Vec<ImportData>,
    /// The messages, sorted by workspace.
    sorter: RecordSorter,
    /// The number of messages.
    count: u64,
    timeless: usize,
    expired: usize,
}

impl<'a> Arranging<'a> {
    fn new(
        sessions: &'a [PlacedSession],
        options: &KotonohaOptions,
        forgotten: &'a ForgottenByWorkspace,
        sorter: RecordSorter,
    ) -> Self {
        let mut workspaces: Vec<&WorkspaceId> =
            sessions.iter().map(|session| &session.conversation.workspace).collect();
        workspaces.dedup();
        let data = workspaces.into_iter().map(|workspace| ImportData {
            ids: MessageIds::Made { prefix: ID_PREFIX },
            ..ImportData::new(workspace.clone())
        });
        Self {
            sessions,
            forgotten,
            persona: options.persona_id(),
            data: data.collect(),
            sorter,
            count: 0,
            timeless: 0,
            expired: 0,
        }
    }

    /// Records the turns of a session.
    fn take(
        &mut self,
        number: usize,
        turns: &[SessionTurn],
        expired_before: Option<Timestamp>,
    ) -> anyhow::Result<()> {
        let session = self.sessions.get(number).context(UNREADABLE)?;
        let workspace = &session.conversation.workspace;
        let index = self.data.iter().position(|data| data.workspace == *workspace);
        let index = index.context(UNREADABLE)?;
        let forgotten = self.forgotten.get(workspace);
        let mut occurrences: HashMap<(&str, &str), u32> = HashMap::new();
        for turn in turns {
            let occurrence =
                occurrences.entry((turn.speaker.name(), turn.text.trim())).or_default();
            *occurrence += 1;
            let Some(at) = turn.at.map(truncate_to_millisecond) else {
                self.timeless += 1;
                continue;
            };
            self.expired += usize::from(expired_before.is_some_and(|before| at < before));
            let author = match turn.speaker {
                Speaker::User => &session.user,
                Speaker::Persona => &self.persona,
            };
            let streamed = &mut self.data[index].streamed;
            if forgotten.is_some_and(|forgotten| is_forgotten(forgotten, author, at)) {
                streamed.left_out += 1;
                continue;
            }
            if !streamed.authors.contains(author) {
                streamed.authors.insert(author.clone());
            }
            let record = serde_json::to_vec(&(number, *occurrence, turn))?;
            let key = [(index as u64).to_be_bytes(), self.count.to_be_bytes()].concat();
            self.sorter.push(key, record)?;
            self.count += 1;
            let conversations = &mut self.data[index].unsorted_conversations;
            if !conversations.contains(&session.conversation) {
                conversations.insert(session.conversation.clone());
            }
        }
        if turns.iter().any(|turn| turn.speaker == Speaker::User) {
            add_user(&mut self.data[index], &session.user);
        }
        Ok(())
    }
}

fn add_user(data: &mut ImportData, user: &UserId) {
    if !data.users.iter().any(|known| known.id == *user) {
        data.users.push(User {
            workspace: data.workspace.clone(),
            id: user.clone(),
            name: Arc::clone(&user.0),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: None,
        });
    }
}

impl KotonohaMessages {
    /// The messages of one workspace. The workspaces must be requested in order, and each read to its end.
    pub fn of(&mut self, index: usize) -> impl Iterator<Item = anyhow::Result<StreamedMessage>> {
        let Self { sorted, sessions, options } = self;
        let (sessions, options) = (&*sessions, &*options);
        let prefix = (index as u64).to_be_bytes();
        std::iter::from_fn(move || {
            let next = sorted.next_if(|next| begins_with(next, &prefix))?;
            Some(next.and_then(|next| to_message(&next.record, sessions, options)))
        })
    }
}

fn to_message(
    record: &[u8],
    sessions: &[PlacedSession],
    options: &KotonohaOptions,
) -> anyhow::Result<StreamedMessage> {
    let (number, occurrence, turn): (usize, u32, SessionTurn) =
        serde_json::from_slice(record).context(UNREADABLE)?;
    let session = sessions.get(number).context(UNREADABLE)?;
    let persona = options.persona_id();
    let names = NameLookup {
        persona: &persona,
        persona_name: &options.persona_name,
        user: &|_| None,
        channel: &|_| None,
        role: &|_| None,
        time_zone: &options.zone,
    };
    let parsed = parse_discord_markdown(&turn.text, &names);
    let author = match turn.speaker {
        Speaker::User => Author { id: session.user.clone(), kind: AuthorKind::Human },
        Speaker::Persona => Author { id: persona.clone(), kind: AuthorKind::Persona },
    };
    let message = Message {
        conversation: session.conversation.clone(),
        id: message_id(&session.key, &turn, occurrence),
        at: truncate_to_millisecond(turn.at.context(UNREADABLE)?),
        author,
        text: parsed.text.into(),
        mentions: parsed.mentions,
        attachments: Vec::new(),
        edits: 0,
    };
    Ok(StreamedMessage { message, reactions: Vec::new(), was_private: false })
}

/// A stable id, so that the same message has the same id in every later dump. It is not an id of Discord's, so it is
/// not looked up there.
fn message_id(key: &str, turn: &SessionTurn, occurrence: u32) -> MessageId {
    let mut hash = Sha256::new();
    for part in [key, turn.speaker.name(), turn.text.trim(), &occurrence.to_string()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digits: String = hash.finalize()[..10].iter().map(|byte| format!("{byte:02x}")).collect();
    MessageId::new(format!("{ID_PREFIX}{digits}"))
}
