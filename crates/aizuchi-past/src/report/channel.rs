//! One channel under one policy: what the persona posted or would have posted there, and the moments that a report may
//! show.

use std::collections::{HashMap, HashSet};

use aizuchi_import::history::{MessageReader, RecordedChannel};
use aizuchi_import::rows::{IdHash, MessageRow};
use aizuchi_model::chat::MessageId;
use aizuchi_model::texts::builtin;
use aizuchi_structure::cues::Cues;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::people_around::{PeopleAround, is_within_hour};
use crate::replay::moments::{Moment, MomentKind, Reason};
use crate::report::cited::find_cited;
use crate::report::figures::{ChannelFigures, HourFigures, PostFigures, ReportSource};
use crate::report::moment::{
    MAX_MOMENTS, MomentAct, MomentAuthor, MomentGroup, MomentMessage, Person, ReportMoment,
    choose_from, shown_text, whole_text,
};

const MESSAGES_BEFORE: usize = 4;
const MESSAGES_AFTER: usize = 3;

/// Names by user id.
pub type Names = HashMap<String, String>;

/// The part of a policy's figures that comes from one channel.
pub struct ChannelReport {
    pub figures: ChannelFigures,
    pub sums: ReportSums,
}

/// What is summed up over the channels of a policy.
#[derive(Default)]
pub struct ReportSums {
    pub hours: [HourFigures; 24],
    pub open_questions: usize,
    pub without_model: PostFigures,
    pub unposted: usize,
    pub known_verdicts: usize,
    pub unknown_verdicts: usize,
    pub answers: usize,
    pub reactions: usize,
    pub moments: Vec<ReportMoment>,
}

impl ReportSums {
    pub fn add(&mut self, other: Self) {
        for (own, added) in self.hours.iter_mut().zip(other.hours) {
            own.messages += added.messages;
            own.checks += added.checks;
            own.posts += added.posts;
            own.in_mid_talk += added.in_mid_talk;
        }
        self.open_questions += other.open_questions;
        self.without_model.add(other.without_model);
        self.unposted += other.unposted;
        self.known_verdicts += other.known_verdicts;
        self.unknown_verdicts += other.unknown_verdicts;
        self.answers += other.answers;
        self.reactions += other.reactions;
        self.moments.extend(other.moments);
    }
}

pub struct ChannelAnalysis<'a> {
    pub channel: &'a RecordedChannel,
    pub moments: &'a [Moment],
    pub names: &'a Names,
    pub source: ReportSource,
    pub zone: &'a TimeZone,
    /// When the recording of all channels ends, if known.
    pub end: Option<Timestamp>,
}

/// A decision that a report may show. Its conversation is read only if it is selected.
struct Candidate<'a> {
    moment: &'a Moment,
    group: MomentGroup,
    rank: i64,
    about: MessageRow,
    mid_talk: Option<(MessageRow, f64)>,
}

impl<'a> ChannelAnalysis<'a> {
    /// Fails if a message cannot be read.
    pub fn report(&self) -> anyhow::Result<ChannelReport> {
        let people = PeopleAround::new(self.channel, self.end);
        let mut hours = [HourFigures::default(); 24];
        let hour = |at: Timestamp| self.zone.to_datetime(at).hour() as usize;
        let mut messages = 0;
        for row in self.channel.rows.human_messages() {
            messages += 1;
            hours[hour(row.at())].messages += 1;
        }
        let owed = self.moments.iter().filter(|moment| moment.is_owed);
        let owed = owed.flat_map(|moment| [&moment.about, &moment.message]).flatten();
        let owed: HashSet<IdHash> = owed.map(|id| IdHash::new(id.as_str())).collect();
        let mut open = people.open_questions();
        open.retain(|question| !owed.contains(&question.id));
        let (mut checks, mut posts) = (0, PostFigures::default());
        let mut sums = ReportSums { hours, open_questions: open.len(), ..ReportSums::default() };
        // A question that got a post is not counted for a second one.
        let mut left_open: HashSet<IdHash> = open.iter().map(|question| question.id).collect();
        let mut left_open_without_model = left_open.clone();
        let (mut candidates, mut reader) = (Vec::new(), self.channel.reader());
        for moment in self.moments {
            if is_checked(moment) {
                checks += 1;
                sums.hours[hour(moment.at)].checks += 1;
            }
            match moment.kind {
                MomentKind::Spoke | MomentKind::WouldHaveSpoken if moment.is_owed => {
                    sums.answers += 1
                }
                MomentKind::Spoke | MomentKind::WouldHaveSpoken => {
                    sums.known_verdicts += 1;
                    let about = self.about(&people, moment);
                    let thread = moment.thread.as_ref().map(MessageId::as_str);
                    let mid_talk = people.mid_talk(thread, about.as_ref(), moment.at);
                    let is_open = |left_open: &mut HashSet<IdHash>| {
                        about.is_some_and(|about| {
                            is_within_hour(&about, moment.at) && left_open.remove(&about.id)
                        })
                    };
                    let is_posted =
                        self.source == ReportSource::Ledger && moment.kind == MomentKind::Spoke;
                    let taken_up = about.and_then(|about| people.taken_up(&about));
                    let is_before =
                        !is_posted && taken_up.is_some_and(|next| next.at() > moment.at);
                    let post = |is_open: bool| PostFigures {
                        count: 1,
                        at_open_questions: usize::from(is_open),
                        before_people: usize::from(is_before),
                        in_mid_talk: usize::from(mid_talk.is_some()),
                    };
                    let is_at_open = is_open(&mut left_open);
                    posts.add(post(is_at_open));
                    sums.unposted += usize::from(moment.kind == MomentKind::WouldHaveSpoken);
                    if is_posted_without_model(moment) {
                        sums.without_model.add(post(is_open(&mut left_open_without_model)));
                    }
                    let hour = &mut sums.hours[hour(moment.at)];
                    hour.posts += 1;
                    hour.in_mid_talk += usize::from(mid_talk.is_some());
                    if let Some(about) = about {
                        let mid_talk = mid_talk.map(|(row, after)| (row, after.as_secs_f64()));
                        let group = match mid_talk {
                            Some(_) => MomentGroup::MidTalk,
                            None if is_at_open => MomentGroup::OpenQuestion,
                            None if is_before => MomentGroup::BeforePeople,
                            None => MomentGroup::Other,
                        };
                        let is_short = i64::from(about.is_short());
                        let rank = mid_talk.map_or(is_short, |(_, seconds)| seconds.abs() as i64);
                        candidates.push(Candidate { moment, group, rank, about, mid_talk });
                    }
                }
                MomentKind::Reacted => sums.reactions += 1,
                MomentKind::Failed if !moment.is_owed => sums.unknown_verdicts += 1,
                MomentKind::Silent if !moment.is_owed => {
                    sums.known_verdicts += usize::from(is_checked(moment));
                    candidates.extend(self.silence(&people, moment, &mut reader)?);
                }
                MomentKind::Silent | MomentKind::Dropped | MomentKind::Failed => {}
            }
        }
        sums.moments = self.select(&people, candidates, &mut reader)?;
        let name = self.channel.name.clone();
        Ok(ChannelReport { figures: ChannelFigures { name, messages, checks, posts }, sums })
    }

    /// Returns the message that a moment is about.
    fn about(&self, people: &PeopleAround<'_>, moment: &Moment) -> Option<MessageRow> {
        people.message(moment.about.as_ref().or(moment.message.as_ref())?.as_str())
    }

    /// Returns a silence as a candidate, if a person asked something, with or without a question mark, or told of trouble.
    /// What a stand-in for a model decided tells nothing.
    fn silence(
        &self,
        people: &PeopleAround<'_>,
        moment: &'a Moment,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Option<Candidate<'a>>> {
        let is_decided = self.source.has_verdicts() || !is_checked(moment);
        let about = self.about(people, moment).filter(|about| is_decided && !about.is_bot());
        let Some(about) = about else { return Ok(None) };
        if !Cues::from_text(&reader.read(&about)?.text).contains(Cues::ASKS) {
            return Ok(None);
        }
        let is_less = [about.is_short(), about.names_somebody(), people.taken_up(&about).is_some()];
        let rank = is_less.map(i64::from).iter().sum();
        Ok(Some(Candidate { moment, group: MomentGroup::Silence, rank, about, mid_talk: None }))
    }

    /// Reads the conversations of the moments that may be shown. The report selects again from those of all channels.
    fn select(
        &self,
        people: &PeopleAround<'_>,
        mut candidates: Vec<Candidate<'a>>,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Vec<ReportMoment>> {
        let mut told = Vec::new();
        candidates.sort_by_key(|one| one.group);
        while let Some(group) = candidates.last().map(|one| one.group) {
            let of_group =
                candidates.split_off(candidates.partition_point(|one| one.group < group));
            let rating = |one: &Candidate<'_>| (one.group, one.rank, one.moment.at);
            for one in choose_from(of_group, MAX_MOMENTS, rating) {
                told.push(self.moment(people, &one, reader)?);
            }
        }
        Ok(told)
    }

    fn moment(
        &self,
        people: &PeopleAround<'_>,
        candidate: &Candidate<'_>,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<ReportMoment> {
        let Candidate { moment, about, .. } = candidate;
        let thread = moment.thread.as_ref().map(MessageId::as_str);
        let around = people.around(thread, about, moment.at);
        let (before, after) = around.split_at(around.partition_point(|row| row.at() <= moment.at));
        let after = after.iter().take(MESSAGES_AFTER);
        let after = after.map(|row| self.message(row, about, reader));
        let after = after.collect::<anyhow::Result<Vec<_>>>()?;
        let taken_up = people.taken_up(about).map(|row| Person {
            person: self.author(&row),
            seconds: row.at().duration_since(about.at()).as_secs_f64(),
        });
        let reason = self.reason(moment);
        let mut cited = Vec::new();
        if let Some(Reason::Written(reason)) = &reason {
            for row in find_cited(reason, (self.channel, self.zone), moment.at)? {
                cited.push(self.message(&row, about, reader)?);
            }
        }
        let before = self.messages_before(before, about, reader)?;
        // What is shown already is not shown twice.
        cited.retain(|one| !before.contains(one));
        Ok(ReportMoment {
            group: candidate.group,
            channel: self.channel.name.clone(),
            at: moment.at,
            before,
            act: self.act(moment),
            after,
            reason,
            cited,
            is_hour_known: people.knows_hour_after(about),
            taken_up,
            mid_talk: candidate
                .mid_talk
                .map(|(row, seconds)| Person { person: self.author(&row), seconds }),
            rank: candidate.rank,
            anchor: reader.read(about)?.id,
        })
    }

    /// Returns the newest messages before a moment, always including the message that it is about.
    fn messages_before(
        &self,
        before: &[MessageRow],
        about: &MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<Vec<MomentMessage>> {
        let from = before.len().saturating_sub(MESSAGES_BEFORE);
        let mut messages = Vec::new();
        let position = before.iter().position(|row| row.id == about.id);
        if let Some(position) = position.filter(|position| *position < from) {
            let shown = self.message(&before[position], about, reader)?;
            messages.push(MomentMessage { left_out_after: from - position - 1, ..shown });
        }
        for row in before[from..].iter().filter(|row| is_within_hour(row, about.at())) {
            messages.push(self.message(row, about, reader)?);
        }
        Ok(messages)
    }

    fn message(
        &self,
        row: &MessageRow,
        about: &MessageRow,
        reader: &mut MessageReader<'_>,
    ) -> anyhow::Result<MomentMessage> {
        let (text, is_about) = (reader.read(row)?.text, row.id == about.id);
        let name_of = |id: &str| self.names.get(id).cloned();
        Ok(MomentMessage {
            at: row.at(),
            author: self.author(row),
            is_bot: row.is_bot(),
            text: if is_about { whole_text(&text, name_of) } else { shown_text(&text, name_of) },
            is_about,
            left_out_after: 0,
        })
    }

    fn author(&self, row: &MessageRow) -> MomentAuthor {
        let id = self.channel.rows.author(row).to_string();
        MomentAuthor { name: self.names.get(&id).unwrap_or(&id).clone(), id }
    }

    fn act(&self, moment: &Moment) -> MomentAct {
        // In a replay, a model only judges, so its words are not known.
        let text = moment.text.as_deref().filter(|_| self.source == ReportSource::Ledger);
        let text = text.map(|text| shown_text(text, |id| self.names.get(id).cloned()));
        match moment.kind {
            MomentKind::Silent | MomentKind::Dropped | MomentKind::Failed => MomentAct::Silent,
            _ if !self.source.has_verdicts() => MomentAct::WouldAsk,
            MomentKind::Spoke if self.source == ReportSource::Ledger => MomentAct::Said(text),
            MomentKind::Spoke | MomentKind::WouldHaveSpoken | MomentKind::Reacted => {
                MomentAct::WouldSay(text)
            }
        }
    }

    /// Returns the reason of a gate, or that of a judge whose verdicts are known.
    fn reason(&self, moment: &Moment) -> Option<Reason> {
        let is_told = match &moment.reason {
            Reason::Gate(_) | Reason::Limit(_) => true,
            Reason::Written(text) => match self.source {
                ReportSource::Model | ReportSource::Ledger => !text.is_empty(),
                ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
                    false
                }
            },
        };
        is_told.then(|| moment.reason.clone())
    }
}

/// Whether the judge was asked. Mentions are answered without it, and a gate or a limit decides before it.
fn is_checked(moment: &Moment) -> bool {
    match &moment.reason {
        Reason::Gate(_) | Reason::Limit(_) => false,
        Reason::Written(_) => !moment.is_owed,
    }
}

/// Whether the built-in mind would also post this live, and not only in place of a model.
fn is_posted_without_model(moment: &Moment) -> bool {
    let text = moment.text.as_deref();
    moment.kind == MomentKind::Spoke && text.is_some_and(|text| !builtin::only_asks_again(text))
}
