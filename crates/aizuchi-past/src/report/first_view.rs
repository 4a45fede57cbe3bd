//! The section of the page on whether another person also answered.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{PolicyFigures, Report};
use crate::report::format;

pub struct FirstView {
    pub sentence: String,
    pub parts: Vec<FirstPart>,
    pub rule: &'static str,
}

pub struct FirstPart {
    /// The count with its share.
    pub count: String,
    /// The width of the bar, in percent.
    pub width: f64,
    pub class: &'static str,
    pub text: String,
    /// How many of these are posted without a model.
    pub posted: Option<String>,
}

impl FirstView {
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let (first, l) = (policy.first_answers, language);
        Self {
            sentence: sentence(report, policy, l),
            parts: parts(policy, l),
            rule: match (first.is_annotated, first.has_replies) {
                (true, _) => texts::first_annotated(l),
                (false, true) => texts::first_partly_guessed(l),
                (false, false) => texts::first_guessed(l),
            },
        }
    }
}

/// Formats what the parts are shares of.
fn sentence(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let l = language;
    let taken_up = policy.first_answers.taken_up;
    let moments = |spoke| format::number_of(counted::moments, spoke, l);
    match (taken_up, policy.spoke.unwrap_or(taken_up)) {
        (0, _) if policy.spoke.is_none() => texts::first_unknown(l).to_owned(),
        (0, 0) => texts::first_none(l).to_owned(),
        (0, spoke) => texts::first_unknown_about(l, &format::times(spoke, l)),
        (known, spoke) if known == spoke && report.has_stand_in() => {
            moment_texts::first_of(l, &moments(spoke))
        }
        (known, spoke) if known == spoke => texts::first_of(l, &format::times(spoke, l)),
        (known, spoke) if report.has_stand_in() => {
            moment_texts::first_of_known(l, &moments(spoke), &format::count(known))
        }
        (known, spoke) => texts::first_of_known(l, &format::times(spoke, l), &format::count(known)),
    }
}

fn parts(policy: &PolicyFigures, language: Language) -> Vec<FirstPart> {
    let (first, l) = (policy.first_answers, language);
    let leads = format::rough_durations(&[first.its_lead, first.persons_lead], l);
    let nobody = match first.is_annotated {
        true => moment_texts::answered_by_nobody(l),
        false => moment_texts::answered_by_nobody_in_hour(l),
    };
    let later = match first.is_annotated {
        true => moment_texts::answered_later_annotated,
        false => moment_texts::answered_later,
    };
    let told = |count: usize| moment_texts::of_these_posted(l, &format::count(count));
    let open = policy.unanswered.is_some();
    let posted = policy.posted_without_model.map(|posted| {
        let nobody = match (open, posted.nobody_else) {
            (true, 1..) => {
                let [count, open] = [posted.nobody_else, posted.picked_up].map(format::count);
                moment_texts::of_these_posted_open(l, &count, &open)
            }
            (_, count) => told(count),
        };
        [told(posted.it_first), nobody, told(posted.person_first)]
    });
    let posted = posted.map_or([None, None, None], |posted| posted.map(Some));
    let parts = [
        (first.it_first, "own", later(l, &leads[0])),
        (first.nobody_else, "nobody", nobody.to_owned()),
        (first.person_first, "people", moment_texts::answered_before(l, &leads[1])),
    ];
    let part = |((count, class, text), posted): ((usize, &'static str, String), Option<String>)| {
        let share = count as f64 / first.taken_up.max(1) as f64;
        FirstPart {
            count: texts::with_share(l, &format::count(count), &format::percent(share)),
            width: share * 100.0,
            class,
            text,
            posted,
        }
    };
    let told = parts.into_iter().zip(posted).filter(|((count, ..), _)| *count > 0);
    told.map(part).collect()
}
