//! Sentences with the figures of a report. The page and the terminal show the same sentences.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::Name;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::policies as policy_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;
use aizuchi_model::texts::report_posts as post_texts;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::report::figures::{
    PolicyFigures, PolicyOnMessage, PostedFigures, Report, ReportSource, Unanswered,
};
use crate::report::format;
use crate::report::reasons;
use crate::report::story::{Note, Story};
use crate::report::story_selection::Example;

/// Says that the figures may be too low, if some verdicts are unknown.
pub fn verdicts_unknown(policy: &PolicyFigures, language: Language) -> Option<String> {
    let is_partial = policy.unknown_verdicts > 0 && policy.spoke.is_some();
    is_partial.then(|| {
        texts::verdicts_unknown(language, &format::times(policy.unknown_verdicts, language))
    })
}

/// Formats how often the persona would speak, to follow the number. Empty if that is unknown or never.
pub fn rate_clause(policy: &PolicyFigures, language: Language) -> String {
    let rate = policy.per_day.filter(|per_day| *per_day > 0.0);
    let rate = rate.map(|per_day| texts::rate_clause(language, &format::rate(per_day, language)));
    rate.unwrap_or_default()
}

/// Formats how many posts these are per month, to follow their number. Empty if that is unknown or none.
pub fn per_month(posted: PostedFigures, language: Language) -> String {
    match posted.per_month {
        Some(month) if month >= 0.5 => {
            moment_texts::month_clause(language, &format::count(month.round() as usize))
        }
        Some(month) if month > 0.0 => moment_texts::rare_clause(language).to_owned(),
        Some(_) | None => String::new(),
    }
}

/// Says what a moment is, in a replay where the built-in mind replaces the model.
pub fn stand_in(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let spoke = policy.spoke.filter(|spoke| report.has_stand_in() && *spoke > 0)?;
    let moments = format::number_of(counted::moments, spoke, language);
    Some(match policy.only_asked_again {
        None | Some(0) => moment_texts::stand_in_helps(language).to_owned(),
        Some(empty) => moment_texts::stand_in(language, &format::count(empty), &moments),
    })
}

/// Says which of several policies the figures belong to.
pub fn shown_policy(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let others: Vec<&str> = report.policies.iter().skip(1).map(|one| &*one.name).collect();
    let others = others.join(list_separator(language));
    let name = &*policy.name;
    (report.policies.len() > 1).then(|| match policy.has_default_settings() {
        true => policy_texts::shown_default(language, name, &others),
        false => policy_texts::shown(language, name, &others),
    })
}

/// Says whether the posts are at the top level or in threads. In a replay where the built-in mind replaces the model,
/// these are the posts without a model.
pub fn places(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let counts = match (report.has_stand_in(), policy.posted_without_model) {
        (true, Some(posted)) => (posted.spoke, posted.in_threads),
        (true, None) => return None,
        (false, _) => (policy.spoke?, policy.in_threads?),
    };
    let (posts, in_threads) = counts;
    let in_channel = posts.saturating_sub(in_threads);
    // Of a thread that begins earlier, or that may not be told, no message is in the history.
    if report.messages_in_threads == 0 && in_threads == 0 {
        return policy
            .spoke
            .filter(|spoke| *spoke > 0)
            .map(|_| moment_texts::no_threads(language).to_owned());
    }
    let [channel, threads] = [in_channel, in_threads].map(|count| format::times(count, language));
    (posts > 0).then(|| match report.source {
        ReportSource::Ledger => moment_texts::places_ledger(language, &channel, &threads),
        ReportSource::Builtin => figure_texts::places_posted(language, &channel, &threads),
        ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => {
            moment_texts::places(language, &channel, &threads)
        }
    })
}

/// Returns the heading for the stories of one kind.
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

/// Returns the name of the moments at which the persona would speak, as the head of a column.
pub fn spoken_label(source: ReportSource, language: Language) -> &'static str {
    match source {
        ReportSource::Builtin => moment_texts::to_speak(language),
        ReportSource::Ledger => texts::spoken_ledger(language),
        ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak | ReportSource::Model => {
            texts::spoken(language)
        }
    }
}

/// Says why it is unknown how often the persona would have spoken.
pub fn because_unknown(report: &Report, language: Language) -> &'static str {
    match report.source {
        ReportSource::AlwaysSilent => texts::because_silent_judge(language),
        ReportSource::Builtin
        | ReportSource::AlwaysSpeak
        | ReportSource::Model
        | ReportSource::Ledger => texts::because_no_verdict(language),
    }
}

/// Says what the calls cost.
pub fn cost_sentence(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let money = |amount: f64| format::money(amount, &report.currency, language);
    let spent = policy.spent.filter(|spent| spent.total > 0.0);
    let month = spent.and_then(|spent| spent.per_month);
    let month = month.map_or(format::UNKNOWN.to_owned(), money);
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
    let money = |amount: f64| format::estimated_money(amount, &report.currency, language);
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
            figure_texts::cost(language, &money(month), model)
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

/// Names what the persona would have done at a question that nobody answered. The built-in mind only notices the
/// question.
pub fn at_open_question(source: ReportSource, language: Language) -> &'static str {
    match source {
        ReportSource::Builtin => moment_texts::found_one(language),
        ReportSource::AlwaysSilent
        | ReportSource::AlwaysSpeak
        | ReportSource::Model
        | ReportSource::Ledger => texts::said_something(language),
    }
}

/// Says how many questions nobody answered, and at how many of them the persona would have spoken. In a replay where
/// the built-in mind replaces the model: how many it noticed, and how many would get a post without a model.
pub fn unanswered(
    found: Unanswered,
    posted: Option<PostedFigures>,
    source: ReportSource,
    language: Language,
) -> String {
    if let Some(posted) = posted {
        return noticed(found, posted, language);
    }
    let (picked_up, questions) = (format::count(found.picked_up), found.questions);
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
    let questions = format::number_of(counted::questions, questions, language);
    counts(language, &questions, at_open_question(source, language), &which)
}

fn noticed(found: Unanswered, posted: PostedFigures, language: Language) -> String {
    let counts = match found.is_annotated {
        true => figure_texts::noticed,
        false => figure_texts::noticed_in_hour,
    };
    let [questions, noticed, posted] =
        [found.questions, found.picked_up, posted.picked_up].map(format::count);
    counts(language, &questions, &noticed, &posted)
}

/// Says how soon the posts without a model come after their questions.
pub fn after_questions(policy: &PolicyFigures, language: Language) -> Option<String> {
    let delays = policy.posted_without_model?.answer_delays;
    let [soon, known, late] =
        [delays.within_3_minutes, delays.known, delays.over_30_minutes].map(format::count);
    (delays.known > 0).then(|| figure_texts::after_question(language, &soon, &known, &late))
}

/// Compares the shares of interruptions among posts and among moments, if the page shows both.
pub fn two_bases(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let posted = policy.posted_without_model.filter(|_| report.has_stand_in())?;
    let (spoke, wrong) = policy.spoke.zip(policy.wrong)?;
    let told = |wrong: usize, whole: usize| {
        let share = format::part(wrong, whole, language);
        figure_texts::part_of(language, &share, &format::count(whole))
    };
    (posted.spoke > 0).then(|| {
        let (posts, moments) = (told(posted.wrong, posted.spoke), told(wrong, spoke));
        figure_texts::two_bases(language, &posts, &moments)
    })
}

/// Says what people did at the moment of a story. `None` for a reaction, for which the emoji is enough.
pub fn note(story: &Story, report: &Report, zone: &TimeZone, language: Language) -> Option<String> {
    let is_annotated =
        report.policies.first().is_some_and(|policy| policy.first_answers.is_annotated);
    let after = |seconds: f64| format::duration(seconds, language);
    let told = match &story.note {
        Note::Reacted => return None,
        Note::NobodyAnswered if is_annotated => texts::note_nobody(language).to_owned(),
        Note::NobodyAnswered => texts::note_nobody_in_hour(language).to_owned(),
        Note::ItFirst { person, seconds } => {
            let time = time_after(story.at, *seconds, zone, language);
            texts::note_it_first(language, Name(&person.name), &after(*seconds), &time)
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
        Note::AnsweredIt => post_texts::note_answered_it(language).to_owned(),
    };
    Some(told)
}

/// Formats the time that is `seconds` after another one, with its date if the days differ.
fn time_after(at: Timestamp, seconds: f64, zone: &TimeZone, language: Language) -> String {
    let later = at + SignedDuration::from_millis((seconds * 1000.0) as i64);
    match zone.to_datetime(at).date() == zone.to_datetime(later).date() {
        true => format::time(later, zone),
        false => format::date_and_time(later, zone, language),
    }
}

/// Says how one policy treated a message.
pub fn policy_on_message(on: &PolicyOnMessage, language: Language) -> String {
    let policy = &*on.policy;
    match (on.spoke_after, &on.silent) {
        (Some(seconds), _) => {
            texts::policy_spoke(language, policy, &format::duration(seconds, language))
        }
        (None, Some(silent)) => {
            let reason = reasons::reason(silent, language);
            match on.looked_after {
                Some(after) => {
                    let after = format::duration(after, language);
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
            assert_eq!(unanswered(found, None, ReportSource::Model, Language::En), expected);
            let (count, which) = japanese.split_once('、').unwrap();
            let space = if which == "ありません" { "" } else { " " };
            let expected = format!(
                "人が答えないままの質問が {count}ありました。そのうち、1 時間以内に発言していたはずのものは{space}{which}。"
            );
            assert_eq!(unanswered(found, None, ReportSource::Model, Language::Ja), expected);
        }
    }

    #[test]
    fn questions_that_the_rules_noticed_are_no_posts() {
        let found = Unanswered { questions: 397, picked_up: 279, missed: 118, is_annotated: false };
        let posted = Some(PostedFigures { picked_up: 10, ..PostedFigures::default() });
        let told = |language| unanswered(found, posted, ReportSource::Builtin, language);
        assert_eq!(
            told(Language::En),
            "Messages in the form of a question that nobody else followed up within an hour: 397. The rules noticed 279 of them; \
             a post came at 10."
        );
        assert_eq!(
            told(Language::Ja),
            "質問の形で書かれ、1 時間以内にほかに誰も応じなかった発言：397 件。ルールが気づいたのはそのうち 279 件、投稿で取り上げたのは \
             10 件です。"
        );
    }

    #[test]
    fn a_time_on_another_day_has_its_date() {
        let at: Timestamp = "2019-01-02T21:33:10Z".parse().unwrap();
        let told = |seconds| time_after(at, seconds, &TimeZone::UTC, Language::En);
        assert_eq!(told(1380.0), "21:56");
        assert_eq!(told(9000.0), "Thu 3 Jan 2019, 00:03");
    }
}
