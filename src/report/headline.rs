//! The beginning of a report: one short sentence, and what belongs to it.

use crate::report::figures::{PolicyFigures, PostedFigures, Report, ReportSource, Unanswered};
use crate::report::interruptions::MIN_POSTS;
use crate::report::months_view::trend_of;
use crate::report::sentences;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::report as texts;
use aizuchi_core::texts::report_figures as figure_texts;

pub struct Headline {
    pub title: String,
    /// The paragraphs below it.
    pub details: Vec<String>,
    /// What counts as an interruption. `None` if nothing does, or if it was said before.
    pub interruption: Option<&'static str>,
    /// Mode, model and cost in sentences, for a page without the table of ways.
    pub ways: Vec<String>,
}

/// Says how often it would speak, how many posts would interrupt, and what it would cost.
pub fn headline(report: &Report, policy: &PolicyFigures, language: Language) -> Headline {
    let l = language;
    let stand_in = policy.posted_without_model.filter(|_| policy.spoke.is_some_and(|all| all > 0));
    let interruption = policy.wrong.filter(|_| policy.spoke.is_some_and(|all| all > 0));
    // Sentences that hold for every policy are said once.
    let is_first = report.policies.first().is_some_and(|first| first.name == policy.name);
    let details = [
        stand_in.map(|posted| in_this_history(report, policy, posted, l)),
        sentences::verdicts_unknown(policy, l),
    ];
    let ways = [
        stand_in.filter(|_| is_first).map(|_| figure_texts::as_shipped(l).to_owned()),
        with_model(policy, l),
        Some(sentences::cost_sentence(report, policy, l)),
    ];
    Headline {
        title: match stand_in {
            Some(posted) => title_of_posts(report, policy, posted, l),
            None => title(report, policy, l),
        },
        details: details.into_iter().flatten().collect(),
        interruption: interruption.filter(|_| is_first).map(|_| figure_texts::interruption(l)),
        ways: ways.into_iter().flatten().collect(),
    }
}

/// Says how often it would have spoken in the period.
fn title(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let l = language;
    let period = words::period(report.period.days, l);
    let channels = words::number_of(counted::channels, report.channels, l);
    let name = &*report.persona;
    let rate = sentences::rate_clause(policy, l);
    let spoke = policy.spoke.unwrap_or(0);
    let times = words::times(spoke, l);
    if policy.spoke.is_none() && report.source != ReportSource::AlwaysSilent {
        return texts::headline_no_verdict(l, &period, &channels, name);
    }
    match report.source {
        ReportSource::Ledger => ledger_title(report, policy, &period, &channels, &rate, l),
        ReportSource::AlwaysSilent => {
            let calls = words::times(policy.calls.judge_calls as usize, l);
            texts::headline_unknown(l, &period, &channels, name, &calls)
        }
        ReportSource::AlwaysSpeak => {
            texts::headline_at_most(l, &period, &channels, name, &times, &rate)
        }
        ReportSource::Builtin | ReportSource::Model if spoke == 0 => {
            texts::headline_never(l, &period, &channels, name)
        }
        ReportSource::Builtin | ReportSource::Model => {
            texts::headline_replay(l, &period, &channels, name, &times, &rate)
        }
    }
}

/// Says how often it posts without a model, and how many of these posts would interrupt.
fn title_of_posts(
    report: &Report,
    policy: &PolicyFigures,
    posted: PostedFigures,
    language: Language,
) -> String {
    let (l, name) = (language, &*report.persona);
    let channels = match report.channels {
        1 => figure_texts::your_channel(l).to_owned(),
        several => {
            let channels = words::number_of(counted::channels, several, l);
            figure_texts::your_channels(l, &channels)
        }
    };
    if posted.spoke == 0 {
        return figure_texts::headline_no_post(l, name, &channels);
    }
    let rate = rate_of_posts(policy, posted, l);
    figure_texts::headline(l, name, &rate, &channels, &wrong_clause(posted, l))
}

/// Formats how often it posts a month, and how often lately if that changed.
pub fn rate_of_posts(policy: &PolicyFigures, posted: PostedFigures, language: Language) -> String {
    let l = language;
    let Some(month) = posted.per_month else { return words::times(posted.spoke, l) };
    let rate = match month {
        ..0.5 => texts::rarely(l).to_owned(),
        ..1.5 => texts::once_a_month(l).to_owned(),
        ..2.5 => texts::twice_a_month(l).to_owned(),
        _ => texts::times_a_month(l, &words::count(month.round() as usize)),
    };
    match trend_of(policy) {
        Some(trend) if trend.newer < 0.5 => figure_texts::rate_lately_less(l, &rate),
        Some(trend) => {
            let lately = words::count(trend.newer.round() as usize);
            figure_texts::rate_lately(l, &rate, &lately)
        }
        None => rate,
    }
}

/// Formats how many posts would interrupt: as about 1 in N, or as counts if there are few posts.
fn wrong_clause(posted: PostedFigures, language: Language) -> String {
    let (l, PostedFigures { spoke, wrong, .. }) = (language, posted);
    let share = wrong as f64 / spoke.max(1) as f64;
    match share {
        _ if wrong == 0 => figure_texts::wrong_none(l).to_owned(),
        _ if spoke < MIN_POSTS => {
            let posts = words::number_of(counted::posts, spoke, l);
            figure_texts::wrong_some(l, &words::count(wrong), &posts)
        }
        ..0.4 => figure_texts::wrong_one_in(l, &words::count((1.0 / share).round() as usize)),
        ..0.6 => figure_texts::wrong_half(l).to_owned(),
        _ => figure_texts::wrong_most(l).to_owned(),
    }
}

/// Gives the counts behind the title.
fn in_this_history(
    report: &Report,
    policy: &PolicyFigures,
    posted: PostedFigures,
    language: Language,
) -> String {
    let l = language;
    let period = words::period(report.period.days, l);
    match posted.spoke {
        0 => figure_texts::nothing_in_this_history(l, &period),
        spoke => {
            let posts = words::number_of(counted::posts, spoke, l);
            let wrong = words::part(posted.wrong, spoke, l);
            let told = figure_texts::in_this_history(l, &period, &posts, &wrong);
            match policy.unanswered {
                Some(found) => texts::two_sentences(l, &told, &reached(found, posted, l)),
                None => told,
            }
        }
    }
}

/// Says how many of the unanswered questions get a post.
fn reached(found: Unanswered, posted: PostedFigures, language: Language) -> String {
    let questions = words::number_of(counted::questions, found.questions, language);
    let reached = words::count(posted.picked_up);
    match found.is_annotated {
        true => figure_texts::reached(language, &reached, &questions),
        false => figure_texts::reached_in_hour(language, &reached, &questions),
    }
}

/// Says how often a model would be asked, and how many moments the built-in mind found in its place.
fn with_model(policy: &PolicyFigures, language: Language) -> Option<String> {
    policy.posted_without_model?;
    let spoke = policy.spoke.filter(|spoke| *spoke > 0)?;
    let checks = words::times(policy.calls.judge_calls as usize, language);
    let moments = words::number_of(counted::moments, spoke, language);
    Some(figure_texts::with_model(language, &checks, &moments))
}

fn ledger_title(
    report: &Report,
    policy: &PolicyFigures,
    period: &str,
    channels: &str,
    rate: &str,
    language: Language,
) -> String {
    let name = &*report.persona;
    let observed = policy.observed;
    let spoke = policy.spoke.unwrap_or(0).saturating_sub(observed);
    let (times, shadow) = (words::times(spoke, language), words::times(observed, language));
    match (spoke, observed) {
        (0, 0) => texts::headline_ledger_never(language, period, channels, name),
        (0, _) => texts::headline_ledger(language, period, channels, name, &shadow, rate),
        (_, 0) => texts::headline_ledger_spoke(language, period, channels, name, &times, rate),
        (_, _) => {
            texts::headline_ledger_both(language, period, channels, name, &times, &shadow, rate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_as_one_in_so_many() {
        for (wrong, spoke, english, japanese) in [
            (
                0,
                40,
                "none of these posts shows a sign of interrupting",
                "邪魔になる様子のあるものはありません",
            ),
            (2, 9, "2 of 9 posts would probably interrupt", "9 回のうち 2 回は邪魔になりそうです"),
            (
                19,
                104,
                "about 1 in 5 posts would probably interrupt",
                "その約 5 回に 1 回は邪魔になりそうです",
            ),
            (
                10,
                20,
                "about half of the posts would probably interrupt",
                "その約半分は邪魔になりそうです",
            ),
            (
                30,
                40,
                "most of the posts would probably interrupt",
                "そのほとんどは邪魔になりそうです",
            ),
        ] {
            let posted = PostedFigures { spoke, wrong, ..PostedFigures::default() };
            assert_eq!(wrong_clause(posted, Language::En), english);
            assert_eq!(wrong_clause(posted, Language::Ja), japanese);
        }
    }
}
