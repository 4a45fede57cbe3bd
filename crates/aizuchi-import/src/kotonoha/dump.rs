//! Reads a dump of kotonoha's database: its sessions, and their older parts, which kotonoha has moved to its knowledge
//! base. kotonoha stores no ids of messages and no times for the knowledge base. It does not distinguish the authors in
//! a thread, nor store who may read a channel. Messages are kept on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, UserId, WorkspaceId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::kotonoha::copy::{CopyRow, read_rows};
use crate::kotonoha::session::{parse_session, parse_time};
use crate::record_sorter::{RecordSorter, SorterLimits};
use crate::{MAX_NAMED_LINES, SkippedItems, name_lines};

const CHUNKS: &str = "knowledge_chunks";
const FAILED_CHUNKS: &str = "knowledge_chunks_dlq";
const SESSIONS: &str = "sessions";
const SOURCES: &str = "knowledge_sources";

/// The prefix of the ids of imported messages.
pub const ID_PREFIX: &str = "kotonoha-";

/// Information that a dump does not contain.
#[derive(Clone, Debug)]
pub struct KotonohaOptions {
    /// The workspace of sessions without a server.
    pub workspace: Option<WorkspaceId>,
    /// The bot's own user.
    pub persona: Option<UserId>,
    pub persona_name: String,
    /// The time zone of kotonoha's clock.
    pub zone: TimeZone,
    pub mentions: MentionSessions,
}

/// How to import sessions by mention. kotonoha has one for each user, with what that user said in any channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MentionSessions {
    LeftOut,
    /// They are imported into the channel in which they began.
    OfFirstChannel,
}

/// The content of a dump. Its use of memory grows with the number of sessions and of their parts in the knowledge base.
pub struct KotonohaDump {
    pub options: KotonohaOptions,
    /// The sessions to import, sorted by workspace and key.
    pub sessions: Vec<PlacedSession>,
    /// The sources, in the order in which their sessions continue.
    pub sources: Vec<SessionSource>,
    /// The parts of each source's text, keyed by the numbers of the source and of the part.
    pub chunks: RecordSorter,
    /// What each session still contains, by its key.
    pub session_rows: RecordSorter,
    /// The number of sources that are documents.
    pub documents: usize,
    /// The lines, documents and sessions that are left out.
    pub skipped: Vec<Option<SkippedItems>>,
}

/// A session whose conversation is known.
#[derive(Clone, Debug)]
pub struct PlacedSession {
    pub key: String,
    pub conversation: ConversationId,
    /// The author of all messages that are not the persona's.
    pub user: UserId,
}

/// A part of a session that is in the knowledge base.
#[derive(Clone, Debug)]
pub struct SessionSource {
    pub id: i64,
    pub session: String,
    location: SessionLocation,
    /// The time of its last message.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
struct SessionLocation {
    guild: Option<String>,
    channel: Option<String>,
    thread: Option<String>,
    user: Option<String>,
}

/// Reads a dump, a row at a time.
pub fn read(input: impl BufRead, options: KotonohaOptions) -> anyhow::Result<KotonohaDump> {
    read_within(input, options, SorterLimits::default())
}

/// Reads a dump, holding no more in memory than these limits.
pub fn read_within(
    input: impl BufRead,
    options: KotonohaOptions,
    limits: SorterLimits,
) -> anyhow::Result<KotonohaDump> {
    let mut reader = DumpReader::new(options.zone.clone(), limits);
    let tables = [CHUNKS, FAILED_CHUNKS, SOURCES, SESSIONS];
    read_rows(input, &tables, &mut |row| reader.take(&row))?;
    anyhow::ensure!(
        reader.has_rows,
        "the dump has no rows of kotonoha's tables; make it with `pg_dump DATABASE`, without --inserts and \
         --schema-only"
    );
    Ok(reader.into_dump(options))
}

/// The key of a number for sorting.
pub fn number_key(number: i64) -> [u8; 8] {
    // With the sign bit inverted, the bytes sort like the numbers.
    ((number as u64) ^ (1 << 63)).to_be_bytes()
}

impl KotonohaDump {
    pub fn workspaces(&self) -> BTreeSet<WorkspaceId> {
        self.sessions.iter().map(|session| session.conversation.workspace.clone()).collect()
    }

    /// The users who may have written in a workspace.
    pub fn users(&self, workspace: &WorkspaceId) -> BTreeSet<UserId> {
        let here =
            self.sessions.iter().filter(|session| session.conversation.workspace == *workspace);
        let users: BTreeSet<UserId> = here.map(|session| session.user.clone()).collect();
        users.into_iter().chain([self.options.persona_id()]).collect()
    }
}

impl KotonohaOptions {
    pub fn persona_id(&self) -> UserId {
        self.persona.clone().unwrap_or(UserId::new("kotonoha"))
    }
}

/// What has been read from the tables.
struct DumpReader {
    zone: TimeZone,
    has_rows: bool,
    /// The locations of the sessions, by key.
    sessions: BTreeMap<String, SessionLocation>,
    sources: Vec<SessionSource>,
    chunks: RecordSorter,
    session_rows: RecordSorter,
    documents: usize,
    bad_lines: usize,
    /// The numbers of the first bad lines.
    bad_numbers: Vec<usize>,
}

impl DumpReader {
    fn new(zone: TimeZone, limits: SorterLimits) -> Self {
        Self {
            zone,
            has_rows: false,
            sessions: BTreeMap::new(),
            sources: Vec::new(),
            chunks: RecordSorter::new(limits),
            session_rows: RecordSorter::new(limits),
            documents: 0,
            bad_lines: 0,
            bad_numbers: Vec::new(),
        }
    }

    fn take(&mut self, row: &CopyRow<'_>) -> anyhow::Result<()> {
        self.has_rows = true;
        let taken = match row.table {
            _ if !row.is_whole() => None,
            SESSIONS => self.take_session(row),
            SOURCES => self.take_source(row),
            CHUNKS => self.take_chunk(row, "id"),
            _ => self.take_chunk(row, "original_chunk_id"),
        };
        taken.unwrap_or_else(|| {
            self.bad_lines += 1;
            // Keep one more than is shown, to tell that there are more.
            if self.bad_numbers.len() <= MAX_NAMED_LINES {
                self.bad_numbers.push(row.line);
            }
            Ok(())
        })
    }

    fn take_session(&mut self, row: &CopyRow<'_>) -> Option<anyhow::Result<()>> {
        let key = row.value("session_key")?;
        let messages = row.value("messages")?;
        // Only validated here. The messages are parsed again when they are imported.
        parse_session(&messages, &self.zone)?;
        let location = SessionLocation {
            guild: row.value("guild_id"),
            channel: row.value("channel_id"),
            thread: row.value("thread_id"),
            user: row.value("user_id"),
        };
        self.sessions.insert(key.clone(), location);
        Some(self.session_rows.push(key.into_bytes(), messages.into_bytes()))
    }

    fn take_source(&mut self, row: &CopyRow<'_>) -> Option<anyhow::Result<()>> {
        let id = row.value("id")?.parse().ok()?;
        if row.value("type")? != "discord_session" {
            self.documents += 1;
            return Some(Ok(()));
        }
        let metadata: Value = serde_json::from_str(&row.value("metadata")?).ok()?;
        let text = |key: &str| match &metadata[key] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let until = text("archived_until_timestamp").or_else(|| text("archived_at"));
        let until = until.and_then(|at| parse_time(&at, &self.zone));
        let created = || parse_time(&row.value("created_at")?, &TimeZone::UTC);
        let location = SessionLocation {
            guild: row.value("uri").as_deref().and_then(guild_of_link),
            channel: text("channel_id"),
            thread: text("thread_id"),
            user: text("user_id"),
        };
        let session = text("origin_session_key")?;
        self.sources.push(SessionSource { id, session, location, until: until.or_else(created) });
        Some(Ok(()))
    }

    fn take_chunk(&mut self, row: &CopyRow<'_>, id: &str) -> Option<anyhow::Result<()>> {
        let id = row.value(id)?.parse().ok()?;
        let source = row.value("source_id")?.parse().ok()?;
        let key = [number_key(source), number_key(id)].concat();
        Some(self.chunks.push(key, row.value("content")?.into_bytes()))
    }

    fn into_dump(mut self, options: KotonohaOptions) -> KotonohaDump {
        self.sources.sort_by_key(|source| (source.until, source.id));
        let mut skipped = vec![
            SkippedItems::new_if_any(
                "lines",
                self.bad_lines,
                format!("they cannot be read{}", name_lines(&self.bad_numbers)),
            ),
            SkippedItems::new_if_any(
                "documents of the knowledge base",
                self.documents,
                "only what was said is imported",
            ),
        ];
        let mut sessions: Vec<PlacedSession> = Vec::new();
        let (mut by_mention, mut placeless) = (0, 0);
        for (key, location) in self.locations() {
            if key.starts_with("mention:") && options.mentions == MentionSessions::LeftOut {
                by_mention += 1;
                continue;
            }
            let conversation = location.conversation(&key, options.workspace.as_ref());
            let Some(conversation) = conversation else {
                placeless += 1;
                continue;
            };
            let user = author_of(&key, &location);
            sessions.push(PlacedSession { key, conversation, user });
        }
        // The sort is stable, so the sessions of a workspace stay in the order of their keys.
        sessions
            .sort_by(|one, other| one.conversation.workspace.cmp(&other.conversation.workspace));
        skipped.extend([
            SkippedItems::new_if_any(
                "sessions by mention",
                by_mention,
                "each holds what one person said in any channel, so it is not known who may see it; --mentions imports \
                 it into the channel where it began",
            ),
            SkippedItems::new_if_any(
                "sessions",
                placeless,
                "the dump does not say where they were; --workspace can name the server, as in discord:1234",
            ),
        ]);
        KotonohaDump {
            options,
            sessions,
            sources: self.sources,
            chunks: self.chunks,
            session_rows: self.session_rows,
            documents: self.documents,
            skipped,
        }
    }

    /// The location of each session, from its own row or else from those of its sources.
    fn locations(&mut self) -> BTreeMap<String, SessionLocation> {
        let mut locations: BTreeMap<String, SessionLocation> = BTreeMap::new();
        for source in &self.sources {
            let location = locations.entry(source.session.clone()).or_default();
            location.complete(source.location.clone());
        }
        for (key, location) in std::mem::take(&mut self.sessions) {
            let known = locations.entry(key).or_default();
            let of_sources = std::mem::replace(known, location);
            known.complete(of_sources);
        }
        locations
    }
}

impl SessionLocation {
    /// Fills in missing values.
    fn complete(&mut self, other: SessionLocation) {
        self.guild = self.guild.take().or(other.guild);
        self.channel = self.channel.take().or(other.channel);
        self.thread = self.thread.take().or(other.thread);
        self.user = self.user.take().or(other.user);
    }

    fn conversation(
        &self,
        key: &str,
        default_workspace: Option<&WorkspaceId>,
    ) -> Option<ConversationId> {
        let guild = self.guild.as_ref().map(|guild| WorkspaceId::new(format!("discord:{guild}")));
        let id_of = |kind: &str| key.strip_prefix(kind).map(str::to_owned);
        let channel = self.channel.clone().or_else(|| id_of("eavesdrop:"))?;
        let thread = self.thread.clone().or_else(|| id_of("thread:"));
        Some(ConversationId {
            workspace: guild.or_else(|| default_workspace.cloned())?,
            channel: ChannelId::new(channel),
            thread: thread.map(MessageId::new),
        })
    }
}

/// The author of a session's messages: by mention, one user; in a thread, unknown.
fn author_of(key: &str, location: &SessionLocation) -> UserId {
    let of_key = key.strip_prefix("mention:").map(str::to_owned);
    match of_key {
        Some(user) => UserId::new(location.user.clone().unwrap_or(user)),
        None => UserId::unknown(),
    }
}

/// The server in a link like `https://discord.com/channels/SERVER/CHANNEL/THREAD`.
fn guild_of_link(link: &str) -> Option<String> {
    let ids: Vec<&str> = link.strip_prefix("https://discord.com/channels/")?.split('/').collect();
    // Without the server, a link to a thread has two ids and looks like one to a channel.
    match ids[..] {
        [guild, _, _] => Some(guild.to_owned()),
        _ => None,
    }
}
