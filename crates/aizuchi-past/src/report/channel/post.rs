//! The posts of a channel: what people did around each post, and what the post adds to the figures.

use aizuchi_import::rows::MessageRow;
use aizuchi_model::chat::MessageId;
use aizuchi_model::texts::builtin as texts;
use jiff::{SignedDuration, Timestamp};

use crate::replay::moments::{Moment, MomentKind};
use crate::report::channel::{ChannelAnalysis, ChannelReport, PendingStory};
use crate::report::channel_index::Disturbance;
use crate::report::story::{Note, StoryKind};

/// A wider limit for interruptions, which the report shows beside the figures.
const CLOSE: SignedDuration = SignedDuration::from_secs(180);

/// A post, and what people did around it.
pub(super) struct AnalyzedPost<'a> {
    moment: &'a Moment,
    about: Option<MessageRow>,
    answer: Option<MessageRow>,
    pub(super) disturbance: Option<Disturbance>,
    /// Whether the post would interrupt if a message within [`CLOSE`] counted.
    is_close: bool,
}

impl<'a> ChannelAnalysis<'a> {
    /// Returns the message that a moment is about.
    pub(super) fn about(&self, moment: &Moment) -> Option<MessageRow> {
        self.index.message(about_id(moment)?.as_str())
    }

    /// Collects what people did around a post.
    pub(super) fn spoken(&self, moment: &'a Moment) -> AnalyzedPost<'a> {
        let about = self.about(moment);
        let thread = moment.thread.as_ref().map(MessageId::as_str);
        AnalyzedPost {
            moment,
            about,
            answer: about.and_then(|about| self.index.first_answer(&about)),
            disturbance: self.index.disturbance(thread, about.as_ref(), moment.at),
            is_close: self.index.is_disturbing_within(CLOSE, thread, about.as_ref(), moment.at),
        }
    }

    pub(super) fn add_spoken(&self, spoken: &AnalyzedPost<'a>, report: &mut ChannelReport) {
        let (moment, is_wrong) = (spoken.moment, spoken.disturbance.is_some());
        let is_posted = is_posted(moment);
        report.figures.spoke += 1;
        report.figures.wrong += usize::from(is_wrong);
        report.sums.in_threads += usize::from(moment.thread.is_some());
        report.sums.observed += usize::from(moment.kind == MomentKind::WouldHaveSpoken);
        report.sums.only_asked_again += usize::from(asks_again(moment));
        report.sums.posted.spoke += usize::from(is_posted);
        report.sums.posted.wrong += usize::from(is_wrong && is_posted);
        report.sums.posted.wrong_within_3_minutes += usize::from(spoken.is_close && is_posted);
        report.sums.posted.in_threads += usize::from(is_posted && moment.thread.is_some());
        match is_wrong {
            true => report.sums.moments.wrong += 1,
            false => report.sums.moments.spoke += 1,
        }
        let newest = moment.message.as_ref().and_then(|id| self.index.message(id.as_str()));
        // While it observes, it does not wait for its moment.
        if let (MomentKind::Spoke, Some(newest)) = (moment.kind, newest) {
            report.sums.own_delays.add(moment.at.duration_since(newest.at()));
        }
        if let Some((about, id)) = spoken.about.zip(about_id(moment)) {
            let thread = moment.thread.as_ref().map(MessageId::as_str);
            let goes_on = self.index.asker_goes_on(thread, &about, moment.at);
            report.sums.asker_went_on += usize::from(goes_on && !is_wrong);
            report.sums.posted.asker_went_on += usize::from(goes_on && !is_wrong && is_posted);
            let taken_up = (id.clone(), moment.at);
            if is_posted {
                report.sums.posted.answer_delays.add(moment.at.duration_since(about.at()));
                report.posted_about.push(taken_up.clone());
            }
            report.taken_up.push(taken_up);
            add_first_answer(spoken, report);
        }
    }

    /// Returns a post as a candidate for a story. `None` if the message that it is about is not known.
    pub(super) fn tellable(&self, spoken: AnalyzedPost<'a>) -> Option<PendingStory<'a>> {
        let AnalyzedPost { moment, about, answer, disturbance, is_close: _ } = spoken;
        let about = about?;
        let (kind, note, rank) = match disturbance {
            Some(Disturbance::NearAnswer(message, gap)) => {
                let (person, seconds) = (self.author(&message), gap.as_secs_f64());
                let note = Note::NearAnswer { person, seconds };
                (StoryKind::Wrong, note, (0, gap.abs().as_millis() as i64))
            }
            Some(Disturbance::InExchange(message, gap)) => {
                let (person, seconds) = (self.author(&message), gap.as_secs_f64());
                let note = Note::InExchange { person, seconds };
                (StoryKind::Wrong, note, (0, gap.as_millis() as i64))
            }
            None => {
                let note = self.note_on_answer(moment.at, answer.as_ref());
                (StoryKind::Spoke, note, (u8::from(about.is_short()), 0))
            }
        };
        Some(PendingStory { kind, rank, moment: Some(moment), about, note })
    }

    /// Returns whether the persona or another person answered first.
    fn note_on_answer(&self, at: Timestamp, answer: Option<&MessageRow>) -> Note {
        let Some(answer) = answer else { return Note::NobodyAnswered };
        let (person, lead) = (self.author(answer), answer.at().duration_since(at));
        let seconds = lead.abs().as_secs_f64();
        match lead.is_positive() {
            true => Note::ItFirst { person, seconds },
            false => Note::PersonFirst { person, seconds },
        }
    }
}

/// Returns the id of the message that a moment is about.
pub(super) fn about_id(moment: &Moment) -> Option<&MessageId> {
    moment.about.as_ref().or(moment.message.as_ref())
}

/// Whether the persona speaks unasked.
pub fn is_unasked(moment: &Moment) -> bool {
    match moment.kind {
        MomentKind::Spoke | MomentKind::WouldHaveSpoken => !moment.is_owed,
        MomentKind::Reacted | MomentKind::Silent | MomentKind::Dropped | MomentKind::Failed => {
            false
        }
    }
}

/// Counts who answered a message first: the persona, another person or nobody.
fn add_first_answer(spoken: &AnalyzedPost<'_>, report: &mut ChannelReport) {
    let (at, is_posted) = (spoken.moment.at, is_posted(spoken.moment));
    let answered = spoken.answer.map(|answer| answer.at());
    if is_posted {
        *report.sums.posted.first(at, answered) += 1;
    }
    match answered {
        None => report.sums.first.nobody_else += 1,
        Some(answered) if answered > at => {
            let is_fine = usize::from(spoken.disturbance.is_none());
            report.sums.first.it_first.add(answered.duration_since(at));
            report.sums.first.it_first_undisturbed += is_fine;
            report.sums.posted.it_first_undisturbed += is_fine * usize::from(is_posted);
        }
        Some(answered) => report.sums.first.person_first.add(at.duration_since(answered)),
    }
}

/// Whether a post only says that the persona does not know, or repeats the question to everyone.
fn asks_again(moment: &Moment) -> bool {
    moment.text.as_deref().is_some_and(texts::only_asks_again)
}

/// Whether the built-in mind would post this in operation, too, and not only in place of a model. In observe mode,
/// nothing is posted.
pub fn is_posted(moment: &Moment) -> bool {
    moment.kind == MomentKind::Spoke && moment.text.is_some() && !asks_again(moment)
}
