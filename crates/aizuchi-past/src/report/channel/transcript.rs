//! The moments of a channel as transcripts.

use aizuchi_import::history::MessageReader;
use aizuchi_import::rows::MessageRow;
use aizuchi_model::chat::MessageId;
use jiff::SignedDuration;

use crate::replay::moments::{Moment, MomentKind};
use crate::report::channel::post::{is_posted, is_unasked};
use crate::report::channel::silence::{is_silent, question_of, says_answered, says_asked};
use crate::report::channel::{ChannelAnalysis, PendingStory};
use crate::report::figures::ReportSource;
use crate::report::story::{
    Mistake, Story, StoryAct, StoryAuthor, StoryMessage, shown_text, whole_text,
};
use crate::report::story_selection::{Candidate, Example, parts};

/// How long before and after a moment its story covers messages.
pub(super) const STORY_WINDOW: SignedDuration = SignedDuration::from_hours(1);
const MESSAGES_BEFORE: usize = 4;
const MESSAGES_AFTER: usize = 3;
/// How many of the messages between the message that a moment is about and the ones before the moment are kept.
const MESSAGES_BETWEEN: usize = 12;
/// The maximum number of candidates for stories of each kind in a channel.
const MAX_CANDIDATES: usize = 10;

impl<'a> ChannelAnalysis<'a> {
    /// Returns some moments of each kind, spread over the period, with their transcripts. Fails if a message cannot be
    /// read.
    pub(super) fn select_stories(
        &self,
        mut pending: Vec<PendingStory<'a>>,
    ) -> anyhow::Result<Vec<Candidate>> {
        pending.sort_by_key(|one| (self.example(one), one.at()));
        let of_kinds = pending.chunk_by(|one, other| self.example(one) == self.example(other));
        let parts = of_kinds.flat_map(|of_kind| parts(of_kind, MAX_CANDIDATES));
        let best = parts.filter_map(|part| part.iter().min_by_key(|one| (one.rank, one.at())));
        let mut reader = self.channel.reader();
        let told = best.map(|one| -> anyhow::Result<Candidate> {
            Ok(Candidate { rank: one.rank, story: self.story(one, &mut reader)? })
        });
        told.collect()
    }

    fn example(&self, pending: &PendingStory<'a>) -> Example {
        let helps = self.posted_without_model(pending) == Some(true);
        Example::new(pending.kind, &pending.note, helps)
    }

    /// Whether a moment would also be posted without a model. `None` if the source is not the built-in mind.
    fn posted_without_model(&self, pending: &PendingStory<'a>) -> Option<bool> {
        let moment = pending.moment.filter(|moment| is_unasked(moment))?;
        (self.source == ReportSource::Builtin).then(|| is_posted(moment))
    }

    fn story(
        &self,
        pending: &PendingStory<'a>,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Story> {
        let about = &pending.about;
        let message = reader.read(about)?;
        let thread = match pending.moment {
            Some(moment) => moment.thread.as_ref().map(MessageId::as_str),
            None => message.thread.as_deref(),
        };
        let at = pending.at();
        let around = self.index.around(thread, about, at, STORY_WINDOW);
        let (before, after) = around.split_at(around.partition_point(|message| message.at() <= at));
        let after = after
            .iter()
            .take_while(|message| message.at().duration_since(at) <= STORY_WINDOW)
            .take(MESSAGES_AFTER);
        let mut shown_after = Vec::new();
        for row in after {
            shown_after.push(self.story_message(row, about, reader)?);
        }
        Ok(Story {
            kind: pending.kind,
            channel: self.channel.name.clone(),
            at,
            before: self.messages_before(before, about, reader)?,
            act: pending.moment.map_or(StoryAct::NeverLooked, |moment| self.act(moment)),
            after: shown_after,
            reason: pending.moment.and_then(|moment| self.source.shown_reason(&moment.reason)),
            mistake: pending.moment.and_then(|moment| self.mistake(moment, about)),
            note: pending.note.clone(),
            posted_without_model: self.posted_without_model(pending),
            anchor: message.id,
            thread: message.thread,
        })
    }

    /// Returns in what the built-in rules were wrong. `None` unless the recording says which message answers which, and
    /// the rules meant this message.
    fn mistake(&self, moment: &Moment, about: &MessageRow) -> Option<Mistake> {
        let meant = match is_silent(moment) {
            true => question_of(moment, &self.index),
            false => self.about(moment),
        };
        let is_meant = meant.is_some_and(|meant| meant.id == about.id);
        if !self.index.is_annotated || !is_meant || moment.is_owed {
            return None;
        }
        let answer = self.index.first_answer(about).filter(|answer| answer.at() <= moment.at);
        match answer {
            None => says_answered(&moment.reason).then_some(Mistake::NotAnswered),
            Some(answer) => says_asked(&moment.reason)
                .then(|| Mistake::AlreadyAnswered { person: self.author(&answer) }),
        }
    }

    /// Returns the newest messages before a moment, always including the message that it is about.
    fn messages_before(
        &self,
        before: &[MessageRow],
        about: &MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Vec<StoryMessage>> {
        let from = before.len().saturating_sub(MESSAGES_BEFORE);
        let is_close = |row: &&MessageRow| about.at().duration_since(row.at()) <= STORY_WINDOW;
        let mut messages = Vec::new();
        let position = before.iter().position(|row| row.id == about.id);
        if let Some(position) = position.filter(|position| *position < from) {
            let left_out_after = from - position - 1;
            let shown = self.story_message(&before[position], about, reader)?;
            let between = &before[position + 1..from];
            let between = between.iter().take(MESSAGES_BETWEEN);
            let left_out = between
                .map(|row| self.story_message(row, about, reader))
                .collect::<anyhow::Result<Vec<_>>>()?;
            messages.push(StoryMessage { left_out_after, left_out, ..shown });
        }
        for row in before[from..].iter().filter(is_close) {
            messages.push(self.story_message(row, about, reader)?);
        }
        Ok(messages)
    }

    pub(super) fn story_message(
        &self,
        row: &MessageRow,
        about: &MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<StoryMessage> {
        let (text, is_about) = (reader.read(row)?.text, row.id == about.id);
        Ok(StoryMessage {
            at: row.at(),
            author: self.author(row),
            is_bot: row.is_bot(),
            text: match is_about {
                true => whole_text(&text, |id| self.names.get(id).cloned()),
                false => self.shown(&text),
            },
            is_about,
            left_out_after: 0,
            left_out: Vec::new(),
        })
    }

    pub(super) fn author(&self, row: &MessageRow) -> StoryAuthor {
        let id = self.channel.rows.author(row).to_string();
        StoryAuthor { name: self.names.get(&id).unwrap_or(&id).clone(), id }
    }

    pub(super) fn shown(&self, text: &str) -> String {
        shown_text(text, |id| self.names.get(id).cloned())
    }

    fn act(&self, moment: &Moment) -> StoryAct {
        let is_known = self.source.writes_replies() || moment.kind == MomentKind::Reacted;
        let text = moment.text.as_deref().filter(|_| is_known);
        let text = text.map(|text| self.shown(text));
        match (moment.kind, self.source, text) {
            (MomentKind::Spoke, ReportSource::Ledger, Some(text)) => StoryAct::Said(text),
            (MomentKind::Spoke | MomentKind::WouldHaveSpoken | MomentKind::Reacted, _, text) => {
                StoryAct::WouldSay(text)
            }
            (MomentKind::Silent | MomentKind::Dropped | MomentKind::Failed, ..) => StoryAct::Silent,
        }
    }
}
