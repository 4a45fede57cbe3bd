//! One channel under one policy: how often the persona would have spoken, how often that would have interrupted, and
//! which moments may become stories.

mod called;
mod listed;
mod post;
mod quoted;
pub mod silence;
mod transcript;

use std::collections::{BTreeMap, HashMap, HashSet};

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::{IdHash, MessageRow};
use aizuchi_model::chat::MessageId;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::replay::moments::{Moment, MomentKind, Moments, Reason};
use crate::report::called::CalledFigures;
use crate::report::channel::called::Said;
use crate::report::channel::post::{about_id, is_posted, is_unasked};
use crate::report::channel::silence::{is_silent, is_without_question, question_of, says_answered};
use crate::report::channel_index::ChannelIndex;
use crate::report::delays::Delays;
use crate::report::figures::{
    ChannelFigures, HourFigures, MomentCounts, PlacePosts, PostedFigures, ReportSource, Unanswered,
};
use crate::report::posts::PostList;
use crate::report::story::{Note, StoryKind};
use crate::report::story_selection::Candidate;

/// An unanswered question counts as picked up if it gets a post within this time.
const PICK_UP_WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// If a person answers a question later than this, an answer by the persona would still have been useful.
const SOON: SignedDuration = SignedDuration::from_mins(30);

/// The part of a policy's figures that comes from one channel.
pub struct ChannelReport {
    pub figures: ChannelFigures,
    pub sums: ChannelSums,
    /// The messages that the persona would have taken up, and when.
    pub taken_up: Vec<(MessageId, Timestamp)>,
    /// Those of `taken_up` about which the built-in mind posts something without a model.
    posted_about: Vec<(MessageId, Timestamp)>,
    /// The questions in `taken_up` that no person answered.
    pub picked_up: Vec<MessageId>,
    /// Those of `picked_up` about which the built-in mind posts something without a model.
    pub posted_picked_up: Vec<MessageId>,
}

/// What is summed up over the channels of a policy.
#[derive(Default)]
pub struct ChannelSums {
    pub observed: usize,
    /// Posts that only say that the persona does not know, or repeat the question to everyone.
    pub only_asked_again: usize,
    /// The posts of the built-in mind without a model.
    pub posted: PostedFigures,
    pub in_threads: usize,
    pub asker_went_on: usize,
    pub answered_mentions: usize,
    pub called: CalledFigures,
    pub reacted: usize,
    pub verdicts: Verdicts,
    pub hours: [HourFigures; 24],
    /// Messages by people, by the first day of their month.
    pub months: BTreeMap<Date, usize>,
    /// Unasked posts by day.
    pub days: BTreeMap<Date, usize>,
    /// Those of the unasked posts that the built-in mind posts without a model, by day.
    pub posted_days: BTreeMap<Date, usize>,
    /// Decisions for which the judge was asked, by day in UTC.
    pub judged_days: BTreeMap<Date, usize>,
    pub posts: PostList,
    /// The number of messages by people that are in threads.
    pub messages_in_threads: usize,
    pub first: FirstAnswerDelays,
    pub unanswered: Unanswered,
    pub own_delays: Delays,
    pub user_delays: Delays,
    pub moments: MomentCounts,
    pub candidates: Vec<Candidate>,
}

impl ChannelSums {
    /// A channel of which it is not known what is posted without a model makes the sum unknown.
    pub fn with_posts(posts: Option<PlacePosts>) -> Self {
        let hour = HourFigures { posted_without_model: posts, ..HourFigures::default() };
        Self { hours: [hour; 24], ..Self::default() }
    }

    pub fn add(&mut self, channel: Self) {
        self.observed += channel.observed;
        self.only_asked_again += channel.only_asked_again;
        self.posted.add(channel.posted);
        self.in_threads += channel.in_threads;
        self.asker_went_on += channel.asker_went_on;
        self.answered_mentions += channel.answered_mentions;
        self.called.merge(channel.called);
        self.reacted += channel.reacted;
        self.verdicts.merge(channel.verdicts);
        for (own, added) in self.hours.iter_mut().zip(channel.hours) {
            own.messages += added.messages;
            own.spoke += added.spoke;
            own.wrong += added.wrong;
            own.posted_without_model =
                PlacePosts::sum(own.posted_without_model, added.posted_without_model);
        }
        for (own, added) in [
            (&mut self.months, channel.months),
            (&mut self.days, channel.days),
            (&mut self.posted_days, channel.posted_days),
            (&mut self.judged_days, channel.judged_days),
        ] {
            added.into_iter().for_each(|(day, count)| *own.entry(day).or_default() += count);
        }
        self.posts.merge(channel.posts);
        self.messages_in_threads += channel.messages_in_threads;
        self.first.it_first.merge(&channel.first.it_first);
        self.first.it_first_undisturbed += channel.first.it_first_undisturbed;
        self.first.person_first.merge(&channel.first.person_first);
        self.first.nobody_else += channel.first.nobody_else;
        self.first.is_annotated |= channel.first.is_annotated;
        self.first.has_replies |= channel.first.has_replies;
        self.unanswered.questions += channel.unanswered.questions;
        self.unanswered.picked_up += channel.unanswered.picked_up;
        self.unanswered.missed += channel.unanswered.missed;
        self.unanswered.is_annotated |= channel.unanswered.is_annotated;
        self.own_delays.merge(&channel.own_delays);
        self.user_delays.merge(&channel.user_delays);
        self.moments.wrong += channel.moments.wrong;
        self.moments.spoke += channel.moments.spoke;
        self.moments.silent += channel.moments.silent;
        self.moments.no_question += channel.moments.no_question;
        self.candidates.extend(channel.candidates);
    }
}

/// For how many unasked decisions the judge's answer is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    pub known: usize,
    /// The model did not answer, or its answer was not recorded.
    pub unknown: usize,
}

impl Verdicts {
    fn add(&mut self, moment: &Moment) {
        match (moment.is_owed, moment.kind, &moment.reason) {
            (true, ..) => {}
            (false, MomentKind::Failed, _) => self.unknown += 1,
            // A gate decides before the judge is asked.
            (false, _, Reason::Gate(_)) => {}
            (false, _, Reason::Written(_)) => self.known += 1,
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.known += other.known;
        self.unknown += other.unknown;
    }

    /// Whether the judge was asked and never answered.
    pub fn are_all_unknown(self) -> bool {
        self.unknown > 0 && self.known == 0
    }
}

/// How much earlier the first answer came than the second one, for answers by the persona and by people.
#[derive(Default)]
pub struct FirstAnswerDelays {
    pub it_first: Delays,
    /// How many of these would not have interrupted.
    pub it_first_undisturbed: usize,
    pub person_first: Delays,
    pub nobody_else: usize,
    pub is_annotated: bool,
    pub has_replies: bool,
}

/// Names by user id.
pub type Names = HashMap<String, String>;

pub struct ChannelAnalysis<'a> {
    channel: &'a RecordedChannel,
    index: ChannelIndex<'a>,
    moments: &'a [Moment],
    names: &'a Names,
    source: ReportSource,
    /// The name of the persona.
    persona: &'a str,
    /// The times of its decisions by conversation, sorted.
    looks: HashMap<IdHash, Vec<Timestamp>>,
    /// The decision to stay silent about each question.
    silent: HashMap<IdHash, &'a Moment>,
    /// Questions that addressed the persona.
    owed: HashSet<IdHash>,
    /// How many judged decisions ended in silence because nobody had asked anything.
    no_question: usize,
}

/// A candidate for a story. The transcript is read only if the moment is selected.
struct PendingStory<'a> {
    kind: StoryKind,
    rank: (u8, i64),
    /// `None` if the persona made no decision about the message.
    moment: Option<&'a Moment>,
    about: MessageRow,
    note: Note,
}

impl PendingStory<'_> {
    fn at(&self) -> Timestamp {
        self.moment.map_or(self.about.at(), |moment| moment.at)
    }
}

impl<'a> ChannelAnalysis<'a> {
    pub fn new(
        channel: &'a RecordedChannel,
        moments: &'a Moments,
        names: &'a Names,
        source: ReportSource,
        persona: &'a str,
    ) -> Self {
        let index = ChannelIndex::new(channel);
        let moments = &moments.moments;
        let mut looks: HashMap<IdHash, Vec<Timestamp>> = HashMap::new();
        let mut silent = HashMap::new();
        let mut no_question = 0;
        for moment in moments {
            looks.entry(place(moment.thread.as_ref())).or_default().push(moment.at);
            no_question += usize::from(is_judged(moment) && is_without_question(moment));
            if is_silent(moment)
                && let Some(question) = question_of(moment, &index)
            {
                silent.entry(question.id).or_insert(moment);
            }
        }
        let owed = moments.iter().filter(|moment| moment.is_owed);
        let owed = owed.flat_map(|moment| [&moment.about, &moment.message]).flatten();
        let owed = owed.map(|id| IdHash::new(id.as_str())).collect();
        Self { channel, index, moments, names, source, persona, looks, silent, owed, no_question }
    }

    /// Fails if a message cannot be read.
    pub fn report(&self, zone: &TimeZone) -> anyhow::Result<ChannelReport> {
        let mut unanswered = self.index.unanswered();
        unanswered.retain(|question| !self.owed.contains(&question.id));
        let sums = ChannelSums {
            posts: self.list_posts(&unanswered)?,
            messages_in_threads: self.messages_in_threads(),
            first: FirstAnswerDelays {
                is_annotated: self.index.is_annotated,
                has_replies: self.index.has_replies(),
                ..FirstAnswerDelays::default()
            },
            unanswered: Unanswered {
                is_annotated: self.index.is_annotated,
                ..Unanswered::default()
            },
            moments: MomentCounts { no_question: self.no_question, ..MomentCounts::default() },
            ..ChannelSums::with_posts(self.no_posts())
        };
        let mut report = ChannelReport {
            figures: ChannelFigures {
                name: self.channel.name.clone(),
                messages: 0,
                spoke: 0,
                wrong: 0,
                wrong_per_100: None,
                posted_without_model: self.no_posts(),
            },
            sums,
            taken_up: Vec::new(),
            posted_about: Vec::new(),
            picked_up: Vec::new(),
            posted_picked_up: Vec::new(),
        };
        let hour = |at: Timestamp| zone.to_datetime(at).hour() as usize;
        for message in self.channel.rows.human_messages() {
            report.figures.messages += 1;
            let at = zone.to_datetime(message.at());
            report.sums.hours[at.hour() as usize].messages += 1;
            *report.sums.months.entry(at.date().first_of_month()).or_default() += 1;
        }
        for delay in self.index.delays() {
            report.sums.user_delays.add(delay);
        }
        let mut pending = Vec::new();
        let (mut said, mut reader) = (Said::new(), self.channel.reader());
        for moment in self.moments {
            report.sums.verdicts.add(moment);
            if is_judged(moment) {
                let day = TimeZone::UTC.to_datetime(moment.at).date();
                *report.sums.judged_days.entry(day).or_default() += 1;
            }
            match moment.kind {
                MomentKind::Spoke | MomentKind::WouldHaveSpoken if moment.is_owed => {
                    let call = self.call(moment, &mut said, &mut reader)?;
                    report.sums.answered_mentions += 1;
                    report.sums.called.add(&call);
                    pending.extend(self.answered_call(moment, call));
                }
                MomentKind::Spoke | MomentKind::WouldHaveSpoken => {
                    self.say(&mut said, moment);
                    let date = zone.to_datetime(moment.at).date();
                    let spoken = self.spoken(moment);
                    let (is_wrong, is_posted) = (spoken.disturbance.is_some(), is_posted(moment));
                    *report.sums.days.entry(date).or_default() += 1;
                    if is_posted {
                        *report.sums.posted_days.entry(date).or_default() += 1;
                    }
                    let hour = &mut report.sums.hours[hour(moment.at)];
                    hour.spoke += 1;
                    hour.wrong += usize::from(is_wrong);
                    let posts = Some(PlacePosts::from_post(is_posted, is_wrong));
                    for known in
                        [&mut hour.posted_without_model, &mut report.figures.posted_without_model]
                    {
                        *known = PlacePosts::sum(*known, posts);
                    }
                    self.add_spoken(&spoken, &mut report);
                    pending.extend(self.tellable(spoken));
                }
                MomentKind::Reacted => {
                    report.sums.reacted += 1;
                    pending.extend(self.reaction(moment));
                }
                MomentKind::Silent | MomentKind::Dropped | MomentKind::Failed => {}
            }
        }
        pending.extend(self.add_unanswered(&unanswered, &mut report));
        pending.extend(self.add_answered(&unanswered, &mut report));
        report.sums.candidates = self.select_stories(pending)?;
        Ok(report)
    }

    /// Known only of the built-in mind.
    fn no_posts(&self) -> Option<PlacePosts> {
        (self.source == ReportSource::Builtin).then(PlacePosts::default)
    }

    fn messages_in_threads(&self) -> usize {
        let rows = &self.channel.rows;
        let is_thread = |thread: &u32| rows.thread_id(*thread) != place(None);
        rows.threads().filter(is_thread).map(|thread| rows.human_messages_in(thread).len()).sum()
    }

    /// Returns stories of those posts that are about one of these messages. The posts may be those of another policy.
    /// Fails if a message cannot be read.
    pub fn stories(
        &self,
        moments: &'a [Moment],
        is_told: impl Fn(&MessageId) -> bool,
    ) -> anyhow::Result<Vec<Candidate>> {
        let spoken = moments.iter().filter(|moment| is_unasked(moment));
        let told = spoken.filter(|moment| about_id(moment).is_some_and(&is_told));
        let pending = told.filter_map(|moment| self.tellable(self.spoken(moment)));
        self.select_stories(pending.collect())
    }

    pub fn moments(&self) -> &'a [Moment] {
        self.moments
    }

    /// The name of the channel.
    pub fn name(&self) -> &'a str {
        &self.channel.name
    }

    /// Returns the questions that neither a person nor the persona answered.
    fn add_unanswered(
        &self,
        unanswered: &[MessageRow],
        report: &mut ChannelReport,
    ) -> Vec<PendingStory<'a>> {
        report.sums.unanswered.questions = unanswered.len();
        let (taken_up, posted) = (first_times(&report.taken_up), first_times(&report.posted_about));
        let mut missed = Vec::new();
        for question in unanswered {
            report.posted_picked_up.extend(soon_after(&posted, question).cloned());
            match soon_after(&taken_up, question) {
                Some(id) => report.picked_up.push(id.clone()),
                None => missed.push(question),
            }
        }
        report.sums.unanswered.picked_up = report.picked_up.len();
        report.sums.posted.picked_up = report.posted_picked_up.len();
        report.sums.unanswered.missed = missed.len();
        let told = missed.into_iter().filter_map(|question| self.missed(question));
        let told: Vec<PendingStory<'a>> = told.collect();
        report.sums.moments.silent += told.len();
        told
    }

    /// Returns a question that the persona missed as a candidate. `None` if it decided about something else at the
    /// time, or if its reason contradicts what people did.
    fn missed(&self, question: &MessageRow) -> Option<PendingStory<'a>> {
        let moment = self.silence_about(question);
        let is_telling = match moment {
            Some(moment) => moment.kind == MomentKind::Silent && !says_answered(&moment.reason),
            None => !self.looked_after(question),
        };
        is_telling.then_some(PendingStory {
            kind: StoryKind::Silent,
            rank: (self.doubts(question), 0),
            moment,
            about: *question,
            note: Note::Missed,
        })
    }

    /// Counts the signs that a question does not wait for an answer: it is short, or part of a conversation.
    fn doubts(&self, question: &MessageRow) -> u8 {
        u8::from(question.is_short()) + u8::from(self.index.follows_another(question, SOON))
    }

    /// Returns the questions at which the persona stayed silent and a person answered soon.
    fn add_answered(
        &self,
        unanswered: &[MessageRow],
        report: &mut ChannelReport,
    ) -> Vec<PendingStory<'a>> {
        let spoken = report.taken_up.iter().map(|(about, _)| IdHash::new(about.as_str()));
        let missed = unanswered.iter().map(|question| question.id);
        let others: HashSet<IdHash> =
            spoken.chain(missed).chain(self.owed.iter().copied()).collect();
        let is_told = |row: &MessageRow| row.asks() && !others.contains(&row.id);
        let questions = self.channel.rows.human_messages().filter(is_told);
        let answered = questions.filter_map(|question| {
            let answer = self.index.first_answer(&question)?;
            let delay = answer.at().duration_since(question.at());
            let note =
                Note::Answered { person: self.author(&answer), seconds: delay.as_secs_f64() };
            (delay <= SOON).then_some(PendingStory {
                kind: StoryKind::Silent,
                rank: (u8::from(question.is_short()), delay.as_millis() as i64),
                moment: Some(self.silence_about(&question)?),
                about: question,
                note,
            })
        });
        let answered: Vec<PendingStory<'a>> = answered.collect();
        report.sums.moments.silent += answered.len();
        answered
    }

    /// Returns the decision to stay silent about a question, if it came soon after the question.
    fn silence_about(&self, question: &MessageRow) -> Option<&'a Moment> {
        let moment = self.silent.get(&question.id).copied()?;
        is_soon_after(moment.at, question).then_some(moment)
    }

    /// Whether the persona decided anything in the conversation of a question soon after it.
    fn looked_after(&self, question: &MessageRow) -> bool {
        let places = [self.channel.rows.thread_id(question.thread), question.id];
        places.iter().filter_map(|place| self.looks.get(place)).any(|looks| {
            let first = looks.get(looks.partition_point(|at| *at < question.at()));
            first.is_some_and(|at| is_soon_after(*at, question))
        })
    }
}

/// Whether the judge was asked. Mentions are answered without it, and a gate decides before it.
fn is_judged(moment: &Moment) -> bool {
    match &moment.reason {
        Reason::Gate(_) => false,
        Reason::Written(_) => !moment.is_owed,
    }
}

/// Maps each message to the time at which it was first taken up, and its id.
fn first_times(taken_up: &[(MessageId, Timestamp)]) -> HashMap<IdHash, (Timestamp, &MessageId)> {
    let mut times: HashMap<IdHash, (Timestamp, &MessageId)> = HashMap::new();
    for (about, at) in taken_up {
        let first = times.entry(IdHash::new(about.as_str())).or_insert((*at, about));
        *first = (*first).min((*at, about));
    }
    times
}

/// Returns the id of a question if it was taken up soon after it.
fn soon_after<'a>(
    taken_up: &HashMap<IdHash, (Timestamp, &'a MessageId)>,
    question: &MessageRow,
) -> Option<&'a MessageId> {
    let (at, id) = taken_up.get(&question.id).copied()?;
    is_soon_after(at, question).then_some(id)
}

fn is_soon_after(at: Timestamp, question: &MessageRow) -> bool {
    at.duration_since(question.at()) <= PICK_UP_WINDOW
}

/// The key of a thread, or of the top level.
fn place(thread: Option<&MessageId>) -> IdHash {
    IdHash::from_thread(thread.map(MessageId::as_str))
}
