//! The sentences of a report that are made of its figures. The page and the terminal show the same ones.

use crate::report::choice::Example;
use crate::report::figures::{
    PolicyFigures, PolicyOnMessage, PostedFigures, Report, ReportSource, Unanswered,
};
use crate::report::reasons;
use crate::report::story::Note;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::Name;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::ledger::list_separator;
use aizuchi_core::texts::moments as moment_texts;
use aizuchi_core::texts::policies as policy_texts;
use aizuchi_core::texts::report as texts;
use aizuchi_core::texts::report_posts as post_texts;

/// In how long a time it would have spoken how often, and for how much.
pub fn headline(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let days = report.period.days;
    let period = words::period(days, language);
    let channels = words::number_of(counted::channels, report.channels, language);
    let name = &*report.persona;
    let rate = rate_clause(policy, language);
    let spoke = policy.spoke.unwrap_or(0);
    let times = words::times(spoke, language);
    if policy.spoke.is_none() && report.source != ReportSource::AlwaysSilent {
        return texts::headline_no_verdict(language, &period, &channels, name);
    }
    match report.source {
        ReportSource::Ledger => {
            ledger_headline(report, policy, &period, &channels, &rate, language)
        }
        ReportSource::AlwaysSilent => {
            let calls = words::times(policy.calls.judge_calls as usize, language);
            texts::headline_unknown(language, &period, &channels, name, &calls)
        }
        ReportSource::AlwaysSpeak => {
            texts::headline_at_most(language, &period, &channels, name, &times, &rate)
        }
        ReportSource::Builtin | ReportSource::Model if spoke == 0 => {
            texts::headline_never(language, &period, &channels, name)
        }
        ReportSource::Builtin => {
            let posted = policy.posted_without_model.unwrap_or_default();
            posts_headline(name, posted, &period, &channels, language)
        }
        ReportSource::Model => {
            texts::headline_replay(language, &period, &channels, name, &times, &rate)
        }
    }
}

/// That the figures may be too low, if they may.
pub fn verdicts_unknown(policy: &PolicyFigures, language: Language) -> Option<String> {
    let is_partial = policy.unknown_verdicts > 0 && policy.spoke.is_some();
    is_partial.then(|| {
        texts::verdicts_unknown(language, &words::times(policy.unknown_verdicts, language))
    })
}

/// What is posted without a model, and how much of that would have interrupted.
fn posts_headline(
    name: &str,
    posted: PostedFigures,
    period: &str,
    channels: &str,
    language: Language,
) -> String {
    let l = language;
    if posted.spoke == 0 {
        return moment_texts::headline_no_post(l, period, channels, name);
    }
    let (times, month) = (words::times(posted.spoke, l), per_month(posted, l));
    let posts = moment_texts::headline(l, period, channels, name, &times, &month);
    let wrong = match posted.wrong {
        0 => moment_texts::headline_no_wrong(l).to_owned(),
        wrong => moment_texts::headline_wrong(l, &words::part(wrong, posted.spoke, l)),
    };
    texts::two_sentences(l, &posts, &wrong)
}

/// How many moments there are for a model, where the built-in mind stands in for one.
pub fn moments_for_model(policy: &PolicyFigures, language: Language) -> Option<String> {
    let l = language;
    policy.posted_without_model?;
    let spoke = policy.spoke.filter(|spoke| *spoke > 0)?;
    let moments = words::number_of(counted::moments, spoke, l);
    Some(moment_texts::up_to_moments(l, &moments, &rate_clause(policy, l)))
}

/// How often it would speak, behind the number. Empty if it is not known, or never.
pub fn rate_clause(policy: &PolicyFigures, language: Language) -> String {
    let rate = policy.per_day.filter(|per_day| *per_day > 0.0);
    let rate = rate.map(|per_day| texts::rate_clause(language, &words::rate(per_day, language)));
    rate.unwrap_or_default()
}

/// How many posts that makes a month, behind their number. Empty if it is not known, or if there are none.
pub fn per_month(posted: PostedFigures, language: Language) -> String {
    match posted.per_month {
        Some(month) if month >= 0.5 => {
            moment_texts::month_clause(language, &words::count(month.round() as usize))
        }
        Some(month) if month > 0.0 => moment_texts::rare_clause(language).to_owned(),
        Some(_) | None => String::new(),
    }
}

/// What the moments are, where the built-in mind stands in for a model.
pub fn stand_in(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let spoke = policy.spoke.filter(|spoke| report.has_stand_in() && *spoke > 0)?;
    let moments = words::number_of(counted::moments, spoke, language);
    Some(match policy.only_asked_again {
        None | Some(0) => moment_texts::stand_in_helps(language).to_owned(),
        Some(empty) => moment_texts::stand_in(language, &words::count(empty), &moments),
    })
}

/// Which of several policies the figures are of.
pub fn shown_policy(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let others: Vec<&str> = report.policies.iter().skip(1).map(|one| &*one.name).collect();
    let others = others.join(list_separator(language));
    let name = &*policy.name;
    (report.policies.len() > 1).then(|| match policy.has_default_settings() {
        true => policy_texts::shown_default(language, name, &others),
        false => policy_texts::shown(language, name, &others),
    })
}

/// Where its posts stand: in the channel itself, or in threads.
pub fn places(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let spoke = policy.spoke.filter(|spoke| *spoke > 0)?;
    if report.messages_in_threads == 0 {
        return Some(moment_texts::no_threads(language).to_owned());
    }
    let in_threads = policy.in_threads?;
    let [channel, threads] =
        [spoke.saturating_sub(in_threads), in_threads].map(|count| words::times(count, language));
    Some(match report.source {
        ReportSource::Ledger => moment_texts::places_ledger(language, &channel, &threads),
        ReportSource::Builtin
        | ReportSource::AlwaysSilent
        | ReportSource::AlwaysSpeak
        | ReportSource::Model => moment_texts::places(language, &channel, &threads),
    })
}

/// What the moments of one kind have in common.
pub fn example(example: Example, language: Language) -> &'static str {
    match example {
        Example::Helps => moment_texts::examples_helping(language),
        Example::PersonLater => moment_texts::examples_person_later(language),
        Example::Nobody => moment_texts::examples_nobody(language),
        Example::PersonFirst => moment_texts::examples_person_first(language),
        Example::WrongPost => post_texts::examples_wrong_posts(language),
        Example::Wrong => texts::moments_wrong(language),
        Example::Missed => moment_texts::examples_missed(language),
        Example::Answered => moment_texts::examples_answered(language),
        Example::Called => post_texts::called(language),
        Example::Reacted => post_texts::reacted(language),
    }
}

/// What the moments at which it would speak are called, as the head of a column.
pub fn spoken_label(source: ReportSource, language: Language) -> &'static str {
    match source {
        ReportSource::Builtin => moment_texts::to_speak(language),
        ReportSource::Ledger => texts::spoken_ledger(language),
        ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => {
            texts::spoken(language)
        }
    }
}

/// Why it is not known how often it would have spoken.
pub fn because_unknown(report: &Report, language: Language) -> &'static str {
    match report.source {
        ReportSource::AlwaysSilent => texts::because_silent_judge(language),
        ReportSource::Builtin
        | ReportSource::AlwaysSpeak
        | ReportSource::Model
        | ReportSource::Ledger => texts::because_no_verdict(language),
    }
}

fn ledger_headline(
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

/// What that costs.
pub fn cost_sentence(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let money = |amount: f64| words::money(amount, &report.currency, language);
    let spent = policy.spent.filter(|spent| spent.total > 0.0);
    let month = spent.and_then(|spent| spent.per_month);
    let month = month.map_or(words::UNKNOWN.to_owned(), money);
    match (spent, report.source) {
        (None, _) => estimated_cost_sentence(report, policy, language),
        (Some(spent), ReportSource::Ledger) => {
            texts::cost_spent(language, &money(spent.total), &month)
        }
        (
            Some(spent),
            ReportSource::Builtin
            | ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model,
        ) => {
            let judged = texts::cost_judged(language, &money(spent.total), &month);
            let estimated = estimated_cost_sentence(report, policy, language);
            texts::two_sentences(language, &estimated, &judged)
        }
    }
}

fn estimated_cost_sentence(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let money = |amount: f64| words::money(amount, &report.currency, language);
    match (policy.known_cost(), report.source) {
        (None, ReportSource::Builtin) if report.period.days < 1.0 => {
            texts::cost_free_in_short_time(language).to_owned()
        }
        (None, ReportSource::Builtin) => texts::cost_free_or_unknown(language).to_owned(),
        (None, ReportSource::Ledger) if policy.used_no_tokens() => {
            texts::cost_free(language).to_owned()
        }
        (None, _) => texts::cost_unknown(language).to_owned(),
        (Some((model, month)), ReportSource::Builtin)
            if policy.spoke.is_some_and(|all| all > 0) =>
        {
            moment_texts::cost(language, &money(month), model)
        }
        (Some((model, month)), ReportSource::Builtin | ReportSource::Ledger) => {
            texts::cost_free_or(language, &money(month), model)
        }
        (
            Some((model, month)),
            ReportSource::Model | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak,
        ) => texts::cost_about(language, &money(month), model),
    }
}

/// What it would have done at a question that nobody answered: the built-in mind only finds the moment.
pub fn at_open_question(source: ReportSource, language: Language) -> &'static str {
    match source {
        ReportSource::Builtin => moment_texts::found_one(language),
        ReportSource::AlwaysSilent
        | ReportSource::AlwaysSpeak
        | ReportSource::Model
        | ReportSource::Ledger => texts::said_something(language),
    }
}

/// How many questions nobody answered, and about how many of them it would have said something.
pub fn unanswered(found: Unanswered, source: ReportSource, language: Language) -> String {
    let (picked_up, questions) = (words::count(found.picked_up), found.questions);
    let which = match found.picked_up {
        0 => texts::which_none(language).to_owned(),
        1 if questions == 1 => texts::which_it(language).to_owned(),
        all if all == questions => texts::which_all(language, &picked_up),
        _ => texts::which_some(language, &picked_up),
    };
    let counts = match found.is_annotated {
        true => texts::unanswered_counts,
        false => texts::unanswered_in_hour,
    };
    let questions = words::number_of(counted::questions, questions, language);
    counts(language, &questions, at_open_question(source, language), &which)
}

/// What people did at that moment.
pub fn note(note: &Note, report: &Report, language: Language) -> String {
    let is_annotated =
        report.policies.first().is_some_and(|policy| policy.first_answers.is_annotated);
    let after = |seconds: f64| words::duration(seconds, language);
    match note {
        Note::NobodyAnswered if is_annotated => texts::note_nobody(language).to_owned(),
        Note::NobodyAnswered => texts::note_nobody_in_hour(language).to_owned(),
        Note::ItFirst { person, seconds } => {
            texts::note_it_first(language, Name(&person.name), &after(*seconds))
        }
        Note::PersonFirst { person, seconds } => {
            texts::note_person_first(language, Name(&person.name), &after(*seconds))
        }
        Note::NearAnswer { person, seconds } if *seconds < 0.0 => {
            texts::note_near_before(language, Name(&person.name), &after(*seconds))
        }
        Note::NearAnswer { person, seconds } => {
            texts::note_near_after(language, Name(&person.name), &after(*seconds))
        }
        Note::InExchange { person, seconds } => {
            texts::note_exchange(language, Name(&person.name), &after(*seconds))
        }
        Note::Missed if !is_annotated => texts::note_missed_in_hour(language, &report.persona),
        Note::Missed => match report.source {
            ReportSource::Ledger => texts::note_missed_ledger(language, &report.persona),
            ReportSource::Builtin
            | ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model => texts::note_missed(language, &report.persona),
        },
        Note::Answered { person, seconds } => {
            texts::note_answered(language, Name(&person.name), &after(*seconds))
        }
        Note::Called { name: Some(name) } => post_texts::note_called(language, name),
        Note::Called { name: None } => post_texts::note_called_somehow(language).to_owned(),
        Note::AnsweredIt { is_posted: true } => post_texts::note_answered_it(language).to_owned(),
        Note::AnsweredIt { is_posted: false } => {
            post_texts::note_answered_stand_in(language).to_owned()
        }
        Note::Reacted => post_texts::note_reacted(language).to_owned(),
    }
}

/// What one policy did with a message.
pub fn policy_on_message(on: &PolicyOnMessage, language: Language) -> String {
    let policy = &*on.policy;
    match (on.spoke_after, &on.silent) {
        (Some(seconds), _) => {
            texts::policy_spoke(language, policy, &words::duration(seconds, language))
        }
        (None, Some(silent)) => {
            let reason = reasons::reason(silent, language);
            match on.looked_after {
                Some(after) => {
                    let after = words::duration(after, language);
                    policy_texts::policy_looked(language, policy, &after, &reason)
                }
                None => texts::policy_silent(language, policy, &reason),
            }
        }
        (None, None) => texts::policy_never(language, policy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_counted_in_words() {
        for (questions, picked_up, english, japanese) in [
            (1, 0, "1 question, none", "1 件、ありません"),
            (1, 1, "1 question, it", "1 件、1 件です"),
            (4, 2, "4 questions, 2 of them", "4 件、2 件です"),
            (4, 4, "4 questions, all of them", "4 件、4 件すべてです"),
        ] {
            let missed = questions - picked_up;
            let found = Unanswered { questions, picked_up, missed, is_annotated: true };
            let (count, which) = english.split_once(", ").unwrap();
            let expected = format!(
                "People left {count} without any answer. It would have said something about {which} within an hour."
            );
            assert_eq!(unanswered(found, ReportSource::Model, Language::En), expected);
            let (count, which) = japanese.split_once('、').unwrap();
            let space = if which == "ありません" { "" } else { " " };
            let expected = format!(
                "人が答えないままの質問が {count}ありました。そのうち、1 時間以内に発言していたはずのものは{space}{which}。"
            );
            assert_eq!(unanswered(found, ReportSource::Model, Language::Ja), expected);
        }
    }
}
