//! Sends the keeper of each channel a note about the week that is over, once. The channel's row for the week is begun
//! before anything is sent; after a crash, the note is sent again only if its message is not in the private chat. The
//! text is generated each time and not stored, so nothing has to be erased from it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aizuchi_model::chat::{Channel, ChannelId, ConversationId, UserId, Visibility, WorkspaceId};
use aizuchi_model::platform::PlatformError;
use aizuchi_model::rules::weekly_time::Week;
use aizuchi_store::StoreError;
use aizuchi_store::figures::{
    ANSWER_WINDOW, CallSum, ChoiceAftermath, UnansweredQuestion, WorkspacePeriod,
};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::weekly_notes::{NoteChange, NoteKey, NoteState, StoredNote};
use jiff::Timestamp;
use tracing::{info, warn};

use crate::keeper::week::{ChannelWeek, NoteMoment, ShownMoment, WeekRows, WeeklyNote, listed};
use crate::keeper::{KeeperChat, Keepers};

/// The maximum number of notes per look, so that keepers' questions and their outcomes do not wait for all notes.
const NOTES_AT_ONCE: usize = 3;

/// What is known about the weekly notes that were sent.
#[derive(Debug, Default)]
pub(super) struct SentWeeks {
    /// The newest week of each channel for which no note has to be sent anymore, as far as it was looked up.
    told: HashMap<(WorkspaceId, ChannelId), i64>,
    /// Whether more notes may be due than were sent in the last look.
    pub(super) has_more: bool,
}

impl SentWeeks {
    fn has(&self, key: &NoteKey) -> bool {
        let channel = (key.workspace.clone(), key.channel.clone());
        self.told.get(&channel) == Some(&key.week)
    }

    fn put(&mut self, key: NoteKey) {
        self.told.insert((key.workspace, key.channel), key.week);
    }
}

/// The rows of a workspace and a week that several channels share.
struct SharedRows {
    aftermaths: Vec<ChoiceAftermath>,
    questions: Vec<UnansweredQuestion>,
    calls: Vec<CallSum>,
}

/// A week of a channel, and the keeper to send the note to.
struct DueNote<'n> {
    key: NoteKey,
    channel: &'n Channel,
    keeper: UserId,
    week: Week,
}

fn top_level(key: &NoteKey) -> ConversationId {
    let (workspace, channel) = (key.workspace.clone(), key.channel.clone());
    ConversationId { workspace, channel, thread: None }
}

impl Keepers {
    /// Sends the weekly notes that are due, for a few channels per look. Returns whether the store could be read and
    /// written.
    pub(super) async fn send_weekly_notes(
        &self,
        chat: &dyn KeeperChat,
        weeks: &mut SentWeeks,
    ) -> bool {
        weeks.has_more = false;
        if !self.inbox.channel_cache.rulebook().has_weekly_note() {
            return true;
        }
        let mut left = NOTES_AT_ONCE;
        for workspace in chat.workspaces() {
            left = match self.send_weekly_notes_in(chat, &workspace, weeks, left).await {
                Ok(left) => left,
                Err(error) => {
                    let platform = workspace.platform();
                    warn!(platform, %workspace, %error, "the keepers could not be told of the week; trying again");
                    return false;
                }
            };
        }
        true
    }

    /// Sends at most `left` notes. Returns how many more may be sent.
    async fn send_weekly_notes_in(
        &self,
        chat: &dyn KeeperChat,
        workspace: &WorkspaceId,
        weeks: &mut SentWeeks,
        mut left: usize,
    ) -> Result<usize, StoreError> {
        let now = self.inbox.clock.now();
        let channels = self.archive.channels(workspace).await?;
        let due = channels.iter().filter_map(|channel| self.due_note(channel, now));
        let mut shared: HashMap<Timestamp, SharedRows> = HashMap::new();
        for note in due.filter(|note| !weeks.has(&note.key)).collect::<Vec<_>>() {
            if left == 0 {
                weeks.has_more = true;
                break;
            }
            let stored = self.weekly_notes.weekly_note(&note.key).await?;
            let before = match stored {
                // The message may still be on its way.
                Some(StoredNote { state: NoteState::Sending, begun })
                    if now < begun + chat.delivery_timeout() =>
                {
                    continue;
                }
                Some(StoredNote { state: NoteState::Sending, begun }) => Some(begun),
                Some(_) => {
                    weeks.put(note.key);
                    continue;
                }
                None => None,
            };
            // Missed messages may be of this week.
            if !chat.has_caught_up(&top_level(&note.key)) {
                continue;
            }
            let period = self.period(workspace, &note.week);
            let rows = match shared.entry(note.week.until) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(unread) => unread.insert(self.shared_rows(&period).await?),
            };
            let text = self.week_text(chat, &note, &period, rows).await?;
            if text.is_none() && before.is_none() {
                // Most channels are quiet, and need no row for that.
                weeks.put(note.key);
                continue;
            }
            let begin = NoteChange::Begin { now, before };
            if !self.weekly_notes.change_weekly_note(note.key.clone(), begin).await? {
                continue;
            }
            let state = match text {
                Some(text) => {
                    left -= 1;
                    self.send_note(chat, &note, &text).await
                }
                None => NoteState::Nothing,
            };
            if state == NoteState::Sending {
                continue;
            }
            self.weekly_notes.change_weekly_note(note.key.clone(), NoteChange::End(state)).await?;
            weeks.put(note.key);
        }
        Ok(left)
    }

    /// Returns the note that is due for a channel's last week, if it has a keeper who wants it. Direct messages have
    /// none, since they concern only their users.
    fn due_note<'n>(&self, channel: &'n Channel, now: Timestamp) -> Option<DueNote<'n>> {
        let (workspace, id) = (&channel.workspace, &channel.id);
        let rules = &self.inbox.channel_cache;
        if rules.visibility(workspace, id) == Visibility::Direct {
            return None;
        }
        let week = rules
            .with_rules(workspace, id, |rules| rules.weekly_note)?
            .last_week(now, &self.zone)?;
        let keeper = rules.keeper(workspace, id)?;
        let key = NoteKey { workspace: workspace.clone(), channel: id.clone(), week: week.number };
        Some(DueNote { key, channel, keeper, week })
    }

    /// Returns the period of a note. A question of the last hour may still be answered, so it belongs to the next week.
    fn period(&self, workspace: &WorkspaceId, week: &Week) -> WorkspacePeriod {
        let offset = self.zone.to_offset(week.until);
        WorkspacePeriod {
            workspace: workspace.clone(),
            since: week.since - ANSWER_WINDOW,
            until: week.until - ANSWER_WINDOW,
            offset: jiff::SignedDuration::from_secs(i64::from(offset.seconds())),
        }
    }

    async fn shared_rows(&self, period: &WorkspacePeriod) -> Result<SharedRows, StoreError> {
        Ok(SharedRows {
            aftermaths: self.archive.aftermaths(period).await?,
            questions: self.archive.open_questions(period).await?,
            calls: self.archive.calls_by_day(period).await?,
        })
    }

    /// Renders the note. Returns `None` if nothing happened that is worth it.
    async fn week_text(
        &self,
        chat: &dyn KeeperChat,
        note: &DueNote<'_>,
        period: &WorkspacePeriod,
        rows: &SharedRows,
    ) -> Result<Option<String>, StoreError> {
        let (workspace, channel) = (&note.key.workspace, &note.key.channel);
        let query = DecisionQuery::Since {
            workspace: workspace.clone(),
            channel: channel.clone(),
            since: period.since,
        };
        let mut decisions = self.archive.decisions(query).await?;
        decisions.retain(|decision| period.has(decision.opened));
        let of_channel = |choice: &&ChoiceAftermath| choice.channel == *channel;
        let aftermaths: Vec<_> = rows.aftermaths.iter().filter(of_channel).cloned().collect();
        let rows = WeekRows {
            decisions: &decisions,
            aftermaths: &aftermaths,
            questions: &rows.questions,
            calls: &rows.calls,
        };
        let mut counted = ChannelWeek::collect(channel, &rows);
        counted.unanswered = self.unanswered_by_companions(&note.key, counted.unanswered).await?;
        if counted.is_empty() {
            return Ok(None);
        }
        let language = self.language_in(workspace, channel).await?;
        let place = self.place_name(workspace, channel);
        let note = WeeklyNote {
            language,
            zone: &self.zone,
            currency: &self.currency,
            place: &place,
            week: note.week,
            taken_up: self.shown(chat, note, &counted.taken_up).await?,
            answered: self.shown(chat, note, &counted.answered).await?,
            unanswered: self.shown(chat, note, &counted.unanswered).await?,
            counted: &counted,
        };
        Ok(Some(note.render(self.lengths.post)))
    }

    /// Returns those open questions that are not directly followed by a message of another companion of the channel.
    async fn unanswered_by_companions(
        &self,
        key: &NoteKey,
        questions: Vec<NoteMoment>,
    ) -> Result<Vec<NoteMoment>, StoreError> {
        let rules = &self.inbox.channel_cache;
        let companions =
            rules.with_rules(&key.workspace, &key.channel, |rules| rules.companions.clone());
        let companions = companions.unwrap_or_default();
        if companions.is_empty() {
            return Ok(questions);
        }
        let mut open = Vec::new();
        for question in questions {
            let query = MessageQuery {
                workspace: key.workspace.clone(),
                channel: key.channel.clone(),
                thread: None,
                range: MessageRange::After(question.message.clone()),
                limit: 1,
            };
            let below = self.archive.messages(query).await?.pop();
            let is_answer = |below: &StoredMessage| {
                let message = &below.message;
                let is_below = match &message.conversation.thread {
                    Some(thread) => *thread == question.message,
                    None => message.at.duration_since(question.at) <= ANSWER_WINDOW,
                };
                is_below && !below.is_deleted && companions.contains(&message.author.id)
            };
            if !below.as_ref().is_some_and(is_answer) {
                open.push(question);
            }
        }
        Ok(open)
    }

    /// Returns the moments that are listed, with their links and what may be quoted of them.
    async fn shown(
        &self,
        chat: &dyn KeeperChat,
        note: &DueNote<'_>,
        moments: &[NoteMoment],
    ) -> Result<Vec<ShownMoment>, StoreError> {
        let (workspace, channel) = (&note.key.workspace, &note.key.channel);
        let mut shown = Vec::new();
        for moment in listed(moments) {
            let stored = self.archive.message(workspace, channel, &moment.message).await?;
            let is_deleted = stored.as_ref().is_some_and(|stored| stored.is_deleted);
            let text = stored.filter(|stored| self.may_quote(note.channel, stored));
            let conversation = ConversationId {
                workspace: workspace.clone(),
                channel: channel.clone(),
                thread: moment.thread.clone(),
            };
            shown.push(ShownMoment {
                link: (!is_deleted).then(|| chat.link(&conversation, &moment.message)).flatten(),
                text: text.map(|stored| stored.message.text.to_string()),
                moment: moment.clone(),
            });
        }
        Ok(shown)
    }

    /// Whether a message may be repeated to the keeper: it was and is public, so that they may read it in any channel
    /// that they are a member of, and neither it nor its author is gone.
    fn may_quote(&self, channel: &Channel, stored: &StoredMessage) -> bool {
        let rules = &self.inbox.channel_cache;
        let is_public = rules.visibility(&channel.workspace, &channel.id) == Visibility::Public
            && stored.visibility == Visibility::Public;
        let is_gone = stored.is_deleted || stored.is_withheld;
        let author = &stored.message.author.id;
        is_public && !is_gone && !rules.has_opted_out(&channel.workspace, author)
    }

    /// Sends a note that was begun, unless it has already arrived. Returns its new state.
    async fn send_note(&self, chat: &dyn KeeperChat, note: &DueNote<'_>, text: &str) -> NoteState {
        let NoteKey { workspace, channel, week } = &note.key;
        let platform = workspace.platform();
        let key = format!("aizuchi-week-{workspace}-{channel}-{week}");
        let sent = match chat.is_notified(&note.keeper, &key, note.week.until).await {
            Ok(true) => Ok(()),
            Ok(false) => chat.notify(&note.keeper, &key, text).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(()) => {
                info!(platform, %workspace, %channel, week, "a keeper was told of the week");
                NoteState::Sent
            }
            Err(PlatformError::Refused(why)) => {
                warn!(platform, %workspace, %channel, why, "a keeper cannot be told of the week");
                NoteState::Refused
            }
            Err(error) => {
                warn!(platform, %workspace, %channel, %error, "a keeper could not be told of the week");
                NoteState::Sending
            }
        }
    }
}
