//! The beginning of a report: a short headline and the paragraphs below it.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;

use crate::report::figures::{PolicyFigures, PostedFigures, Report, ReportSource};
use crate::report::format;
use crate::report::months_view::trend_of;
use crate::report::sentences;

pub struct Headline {
    pub title: String,
    /// The paragraphs below it.
    pub details: Vec<String>,
    /// What counts as an interruption. `None` if nothing counts as one, or if the page said it before.
    pub interruption: Option<&'static str>,
    /// The mode, the model and the cost in sentences, for a page without the table that compares the ways to run the
    /// persona.
    pub ways: Vec<String>,
}

/// Says how often the persona would speak, how many of its posts would interrupt, and what it would cost.
pub fn headline(report: &Report, policy: &PolicyFigures, language: Language) -> Headline {
    let l = language;
    let stand_in = policy.posted_without_model.filter(|_| policy.spoke.is_some_and(|all| all > 0));
    let interruption = policy.wrong.filter(|_| policy.spoke.is_some_and(|all| all > 0));
    // Sentences that hold for every policy are said once.
    let is_first = report.policies.first().is_some_and(|first| first.name == policy.name);
    let details = [
        stand_in
            .filter(|posted| is_first && posted.spoke > 0)
            .map(|_| figure_texts::nothing_as_shipped(l).to_owned()),
        stand_in.and_then(|posted| in_this_history(report, policy, posted, l)),
        stand_in.and_then(|posted| people_too(policy, posted, l)),
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

/// Says how often the persona would have spoken in the period.
fn title(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let l = language;
    let period = format::period(report.period.days, l);
    let channels = format::number_of(counted::channels, report.channels, l);
    let name = &*report.persona;
    let rate = sentences::rate_clause(policy, l);
    let spoke = policy.spoke.unwrap_or(0);
    let times = format::times(spoke, l);
    if policy.spoke.is_none() && report.source != ReportSource::AlwaysSilent {
        return texts::headline_no_verdict(l, &period, &channels, name);
    }
    match report.source {
        ReportSource::Ledger => {
            let period = format::past_period(report.period.days, l);
            ledger_title(report, policy, &period, &channels, &rate, l)
        }
        ReportSource::AlwaysSilent => {
            let calls = format::times(policy.calls.judge_calls as usize, l);
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

/// Says how often the persona posts without a model, and how many of these posts would interrupt.
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
            let channels = format::number_of(counted::channels, several, l);
            figure_texts::your_channels(l, &channels)
        }
    };
    if posted.spoke == 0 {
        return figure_texts::headline_no_post(l, name, &channels);
    }
    let rate = rate_of_posts(posted, l);
    let rate = match trend_of(policy) {
        Some(trend) => {
            let [first, last] = [trend.first, trend.last].map(format::count);
            figure_texts::rate_changed(l, &rate, &first, &last)
        }
        None => rate,
    };
    figure_texts::headline(l, name, &rate, &channels, &wrong_clause(posted, l))
}

/// Formats how often the persona posts in a month.
pub fn rate_of_posts(posted: PostedFigures, language: Language) -> String {
    match posted.per_month {
        Some(month) => format::monthly(month, language),
        None => format::times(posted.spoke, language),
    }
}

/// Formats how many posts would interrupt.
fn wrong_clause(posted: PostedFigures, language: Language) -> String {
    let posts = format::number_of(counted::posts, posted.spoke, language);
    match posted.wrong {
        0 => figure_texts::wrong_none(language, &posts),
        wrong => figure_texts::wrong_some(language, &format::count(wrong), &posts),
    }
}

/// Says how many of the unanswered questions got a post, or that the rules found nothing to post.
fn in_this_history(
    report: &Report,
    policy: &PolicyFigures,
    posted: PostedFigures,
    language: Language,
) -> Option<String> {
    let l = language;
    if posted.spoke == 0 {
        return Some(figure_texts::nothing_in_this_history(
            l,
            &format::period(report.period.days, l),
        ));
    }
    let found = policy.unanswered?;
    let posts = format::number_of(counted::posts, posted.spoke, l);
    let [reached, questions] = [posted.picked_up, found.questions].map(format::count);
    Some(match found.is_annotated {
        true => figure_texts::reached(l, &posts, &reached, &questions),
        false => figure_texts::reached_in_hour(l, &posts, &reached, &questions),
    })
}

/// Says at how many posts another person also wrote or answered.
fn people_too(policy: &PolicyFigures, posted: PostedFigures, language: Language) -> Option<String> {
    let people = posted.it_first + posted.person_first;
    let posts = format::number_of(counted::posts, posted.spoke, language);
    let told = match policy.first_answers.is_annotated {
        true => figure_texts::people_answered_too,
        false => figure_texts::people_wrote_too,
    };
    (people > 0).then(|| told(language, &posts, &format::count(people)))
}

/// Says how often a model would be asked, and how many moments the built-in mind found instead.
fn with_model(policy: &PolicyFigures, language: Language) -> Option<String> {
    policy.posted_without_model?;
    let spoke = policy.spoke.filter(|spoke| *spoke > 0)?;
    let checks = format::times(policy.calls.judge_calls as usize, language);
    let moments = format::number_of(counted::moments, spoke, language);
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
    let (times, shadow) = (format::times(spoke, language), format::times(observed, language));
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
    fn interruptions_are_counted_at_least() {
        let clause = |wrong, spoke, language| {
            wrong_clause(PostedFigures { spoke, wrong, ..PostedFigures::default() }, language)
        };
        assert_eq!(
            clause(18, 96, Language::En),
            "Of 96 posts in this history, at least 18 would cut into a conversation"
        );
        assert_eq!(
            clause(18, 96, Language::Ja),
            "この履歴での投稿 96 回のうち、少なくとも 18 回は会話に割り込みます"
        );
        assert_eq!(
            clause(0, 1, Language::En),
            "Of 1 post in this history, none shows a sign of cutting into a conversation"
        );
    }
}
