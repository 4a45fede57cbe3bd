//! One reading of a room's history: page by page, its threads after it, compared with what is stored.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::warn;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::Discord;
use crate::api::ApiError;
use crate::from_discord::guild::thread;
use crate::from_discord::line::{Line, of_history};
use crate::from_discord::{Place, id_before, text, time};
use crate::reach::has_lines;
use crate::take::{Ground, TakeError};
use aizuchi_core::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_core::platform::catching_up::{Stored, deletion, gone, stored_since};

/// As many lines in a page as Discord gives.
const PAGE: usize = 100;
/// The flow may be just about to keep what was said so lately.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_mins(10);

/// One reading of a room.
pub(super) struct Pass {
    room: ChannelId,
    guild: Option<Id<GuildMarker>>,
    /// From when on it is read.
    from: Timestamp,
    /// Since when we have heard without a gap.
    since: Timestamp,
    began: Timestamp,
    /// The room has not been read before.
    is_first: bool,
    /// What is stored since `from`, unless that is too much to compare.
    stored: Option<Stored>,
    /// What Discord shows.
    seen: HashSet<MessageId>,
    /// The room itself and threads, as far as they were read.
    places: HashSet<ChannelId>,
    /// When the persona spoke last in each.
    spoke: BTreeMap<ChannelId, Timestamp>,
    /// The persona's own lines.
    pub(super) own: Vec<Line>,
    pub(super) new: usize,
}

impl Discord {
    pub(super) async fn pass(
        &self,
        room: &ChannelId,
        from: Timestamp,
        since: Timestamp,
    ) -> Result<Pass, TakeError> {
        let known = self.roster.room(room);
        let workspace = known.map_or_else(super::super::direct, |known| known.channel.workspace);
        let stored = stored_since(&*self.archive, &workspace, room, from).await?;
        Ok(Pass {
            room: room.clone(),
            guild: self.guild_of(&workspace),
            from,
            since: self.wanted.heard_since(room, since),
            began: self.now(),
            is_first: self.mark(room).is_none(),
            stored,
            seen: HashSet::new(),
            places: HashSet::new(),
            spoke: BTreeMap::new(),
            own: Vec::new(),
            new: 0,
        })
    }

    /// The room's own lines, then its threads.
    pub(super) async fn read_room(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let room = self.roster.room(&pass.room);
        if room.as_ref().is_some_and(|room| !room.has_history) {
            warn!(
                "the history of a channel may not be read: the bot lacks \"Read Message History\" in {}",
                pass.room
            );
            return Ok(());
        }
        let kind = room.and_then(|room| room.kind);
        if kind.is_none_or(has_lines) {
            self.read_place(&pass.room.clone(), pass).await?;
        }
        if pass.guild.is_some() {
            for thread in self.threads_to_read(pass).await? {
                self.read_place(&thread, pass).await?;
                self.wanted.note_thread(pass.room.clone(), MessageId::new(thread.as_str()));
            }
        }
        self.hear_reactions_of(pass).await?;
        self.hear_what_is_gone(pass).await
    }

    /// Threads that are active, or were since the pass begins.
    async fn threads_to_read(&self, pass: &Pass) -> Result<Vec<ChannelId>, TakeError> {
        let active = self.roster.active_threads(&pass.room).into_iter().map(|thread| thread.id);
        let mut threads: Vec<ChannelId> = active.collect();
        for archived in self.archived_threads(pass).await? {
            if !threads.contains(&archived) {
                threads.push(archived);
            }
        }
        Ok(threads)
    }

    /// Threads that were put away since the pass begins; something may have been said in them before.
    async fn archived_threads(&self, pass: &Pass) -> Result<Vec<ChannelId>, TakeError> {
        let mut found = Vec::new();
        let mut before = String::new();
        loop {
            let path = format!("/channels/{}/threads/archived/public?limit=100{before}", pass.room);
            let page: Value = match self.read(&path).await {
                // Not every kind of channel has threads, and not every bot may see them.
                Err(ApiError::Refused(_)) => return Ok(found),
                page => page?,
            };
            let threads = page["threads"].as_array().map_or(&[][..], Vec::as_slice);
            let mut oldest = None;
            for whole in threads {
                let archived = text(&whole["thread_metadata"]["archive_timestamp"]);
                oldest = archived.and_then(|at| at.parse::<Timestamp>().ok()).or(oldest);
                if oldest.is_some_and(|at| at < pass.from) {
                    return Ok(found);
                }
                if let Some(thread) = thread(whole, pass.guild) {
                    found.push(thread.id.clone());
                    self.hear_thread(thread).await?;
                }
            }
            let Some(oldest) = oldest.filter(|_| page["has_more"] == true) else {
                return Ok(found);
            };
            before = format!("&before={oldest}");
        }
    }

    /// All lines of a room or a thread since the pass begins, oldest first.
    pub(super) async fn read_place(
        &self,
        id: &ChannelId,
        pass: &mut Pass,
    ) -> Result<(), TakeError> {
        let place = Place { guild: pass.guild, channel: id.clone() };
        let ground = self.ground(&place, None).await?;
        if pass.is_first {
            self.look_for_own(&place, pass).await?;
        }
        let mut after = id_before(pass.from).to_string();
        loop {
            let path = format!("/channels/{id}/messages?limit={PAGE}&after={after}");
            let page: Vec<Value> = match self.read(&path).await {
                // It is gone, with all that was said in it.
                Err(ApiError::Refused(refusal)) if refusal.status == 404 => break,
                page => page?,
            };
            let count = page.len();
            let numbers = page.iter().filter_map(|line| line["id"].as_str()?.parse::<u64>().ok());
            let Some(newest) = numbers.max() else { break };
            after = newest.to_string();
            let mut lines: Vec<Line> =
                page.into_iter().filter_map(|whole| of_history(&place, whole)).collect();
            lines.sort_by_key(|line| line.at);
            for line in lines {
                self.hear_old(line, &ground, pass).await?;
            }
            if count < PAGE {
                break;
            }
        }
        pass.places.insert(id.clone());
        Ok(())
    }

    /// Where the persona has spoken in a room that was never read, what was said before is answered.
    async fn look_for_own(&self, place: &Place, pass: &mut Pass) -> Result<(), TakeError> {
        let path = format!("/channels/{}/messages?limit={PAGE}", place.channel);
        let page: Vec<Value> = match self.read(&path).await {
            Err(ApiError::Refused(refusal)) if refusal.status == 404 => return Ok(()),
            page => page?,
        };
        let lines = page.into_iter().filter_map(|whole| of_history(place, whole));
        let own = lines.filter(|line| self.is_own(line)).map(|line| line.at).max();
        pass.spoke.extend(own.map(|at| (place.channel.clone(), at)));
        Ok(())
    }

    async fn hear_old(
        &self,
        line: Line,
        ground: &Ground,
        pass: &mut Pass,
    ) -> Result<(), TakeError> {
        let is_stored = pass.stored.as_ref().is_some_and(|stored| stored.contains_key(&line.id));
        let is_news = !is_stored || line.edited.is_some();
        let is_on_its_way = self.is_own(&line) && line.at > pass.began - ON_ITS_WAY;
        if is_news && !is_on_its_way {
            let receipt = self.hear_line(&line, ground, pass.arrival(&line), &mut None).await?;
            pass.new += usize::from(receipt.is_new);
            if let Some(at) = line.edited.filter(|_| !receipt.is_new) {
                self.hear_edit(&line, ground, at, &mut None).await?;
            }
        }
        pass.seen.insert(line.id.clone());
        if self.is_own(&line) {
            pass.own.push(line);
        }
        Ok(())
    }

    /// What is stored and not in the history any more was deleted meanwhile. Each is looked for once more,
    /// since nothing brings it back; and where very much is missing, something else is wrong.
    pub(super) async fn hear_what_is_gone(&self, pass: &Pass) -> Result<(), TakeError> {
        for message in gone(pass.stored.as_ref(), |line| pass.misses(line), "Discord") {
            if !self.is_there(message).await? {
                self.ears.hear(deletion(message, pass.began)).await?;
            }
        }
        Ok(())
    }

    /// Asks for one line.
    async fn is_there(&self, message: &Message) -> Result<bool, TakeError> {
        let place = place_of(message);
        let path = format!("/channels/{place}/messages/{}", message.id);
        match self.read::<Value>(&path).await {
            Ok(_) => Ok(true),
            Err(ApiError::Refused(refusal)) => Ok(refusal.status != 404),
            Err(error) => Err(error.into()),
        }
    }
}

impl Pass {
    /// What was said since we hear without a gap is live, though its event may come later. Of what was said
    /// before, a room that was never read shows itself what was answered; in others, what is owed is known.
    fn arrival(&self, line: &Line) -> Arrival {
        let spoke = self.spoke.get(&line.place.channel);
        if line.at >= self.since {
            Arrival::Live
        } else if self.is_first && spoke.is_some_and(|spoke| *spoke > line.at) {
            Arrival::Answered
        } else {
            Arrival::CaughtUp
        }
    }

    /// It should have been in what was read, and was not. Of what was said since, deletions are told.
    fn misses(&self, message: &Message) -> bool {
        time(message.id.as_str()).is_some()
            && self.places.contains(&place_of(message))
            && message.at >= self.from
            && message.at < self.since
            && !self.seen.contains(&message.id)
    }
}

/// Where Discord has a line: in its room, or in the thread.
fn place_of(message: &Message) -> ChannelId {
    let place = &message.conversation;
    place.thread.as_ref().map_or(place.channel.clone(), |thread| ChannelId::new(thread.as_str()))
}
