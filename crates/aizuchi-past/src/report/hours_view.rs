//! The hours of the day on the page: when people write, when the persona would have spoken, and when that would have
//! interrupted.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;

use crate::report::charts::{Chart, HourBar};
use crate::report::figures::{HourFigures, PlacePosts, PolicyFigures, Report};
use crate::report::format;
use crate::report::interruptions::{DayParts, MIN_POSTS, compare_day_parts, per_100, worse_places};

/// A part of the day.
const HOURS_OF_PART: usize = 6;
const HOURS_OF_DAY: usize = 24;
const MAX_MOST_HOURS: usize = 2;

pub struct HoursView {
    /// The most informative chart: of posts without a model, or else of moments or messages.
    pub chart: Option<Chart>,
    /// The other charts, folded.
    pub folded: Vec<Chart>,
    /// Whether a chart shows when the persona would have spoken.
    pub has_own: bool,
    /// A sentence on the hours in which the persona would have spoken.
    pub rows: Vec<HourRow>,
    /// The time zone.
    pub zone: String,
    /// Where and when the rate of interruptions is higher beyond chance.
    pub worst: Vec<String>,
    /// Further notes, folded.
    pub asides: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct HourRow {
    pub hour: String,
    pub messages: String,
    pub spoke: String,
    pub wrong: String,
    pub rate: String,
    /// The number of posts without a model, in a replay with the built-in mind.
    pub posted: Option<String>,
}

impl HoursView {
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Self {
        let l = language;
        let hours = &policy.by_hour;
        let people = hours.iter().enumerate().map(|(hour, figures)| HourBar {
            parts: vec![("people", figures.messages)],
            label: texts::hour_label(l, hour, &format::count(figures.messages)),
        });
        let chart = |title: &str, bars: &[HourBar]| {
            Chart::from_hours(&figure_texts::in_zone(l, title, &report.zone), bars)
        };
        let people = chart(texts::hours_people(l), &people.collect::<Vec<_>>());
        let own = policy.spoke.filter(|spoke| *spoke > 0).map(|_| {
            let bars = hours.iter().enumerate().map(|(hour, one)| {
                own_bar(hour, PlacePosts { spoke: one.spoke, wrong: one.wrong }, l)
            });
            let title =
                if report.has_stand_in() { moment_texts::hours(l) } else { texts::hours_own(l) };
            chart(title, &bars.collect::<Vec<_>>())
        });
        let is_any = policy.posted_without_model.is_some_and(|posted| posted.spoke > 0);
        let posts = is_any.then(|| {
            let bars = hours
                .iter()
                .enumerate()
                .map(|(hour, one)| own_bar(hour, one.posted_without_model.unwrap_or_default(), l));
            chart(figure_texts::hours_posts(l), &bars.collect::<Vec<_>>())
        });
        let has_own = own.is_some();
        let mut charts = posts.into_iter().chain(own).chain([people]);
        Self {
            chart: charts.next(),
            folded: charts.collect(),
            has_own,
            rows: if has_own { rows(hours, l) } else { Vec::new() },
            zone: figure_texts::zone(l, &report.zone),
            worst: worst(report, policy, l),
            asides: asides(report, policy, l),
        }
    }
}

/// Whether there is a channel or an hour with too few posts for a share.
fn has_rare(policy: &PolicyFigures) -> bool {
    let is_rare = |spoke: usize| (1..MIN_POSTS).contains(&spoke);
    policy.by_channel.iter().any(|one| is_rare(one.spoke))
        || policy.by_hour.iter().any(|one| is_rare(one.spoke))
}

fn own_bar(hour: usize, counts: PlacePosts, language: Language) -> HourBar {
    let PlacePosts { spoke, wrong } = counts;
    let times = |count| format::times(count, language);
    let label = texts::bar_label(language, &times(spoke), &times(wrong));
    HourBar {
        parts: vec![("wrong", wrong), ("own", spoke.saturating_sub(wrong))],
        label: texts::hour_label(language, hour, &label),
    }
}

fn rows(hours: &[HourFigures], language: Language) -> Vec<HourRow> {
    let row = |(hour, figures): (usize, &HourFigures)| HourRow {
        hour: texts::hour_of(language, hour),
        messages: format::count(figures.messages),
        spoke: format::count(figures.spoke),
        wrong: format::count(figures.wrong),
        rate: format::percent_of_100(figures.wrong_per_100),
        posted: figures.posted_without_model.map(|posts| format::posts(posts, language)),
    };
    hours.iter().enumerate().filter(|(_, figures)| figures.spoke > 0).map(row).collect()
}

/// Says which hour has the most messages by people, and what may be due to chance.
fn asides(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let l = language;
    let hours = policy.by_hour.iter().enumerate();
    let busiest = hours.max_by_key(|(hour, one)| (one.messages, std::cmp::Reverse(*hour)));
    let busiest = busiest.filter(|(_, one)| one.messages > 0).map(|(hour, one)| {
        let share = one.messages as f64 / report.messages.max(1) as f64;
        texts::hours_busiest(l, &clock(hour), &format::percent(share))
    });
    let most = match policy.worst_hour() {
        None => most_hours(report, policy, l),
        Some(_) => None,
    };
    let parts = day_parts(report, policy, l).filter(|told| !told.is_worse).map(|told| told.text);
    let rule = has_rare(policy).then(|| texts::per_100_rule(l, &format::count(MIN_POSTS)));
    busiest.into_iter().chain(most).chain(parts).chain(rule).collect()
}

/// Says which channel and which hour have the most interruptions, if that is significant.
fn worst(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let l = language;
    let channel = policy.worst_channel().map(|one| {
        let (name, wrong) = (format::channel(&one.name), format::count(one.wrong));
        match report.has_stand_in() {
            true => figure_texts::worst_channel(l, &name, &wrong, &moments(one.spoke, l)),
            false => texts::worst_channel(l, &name, &wrong, &format::count(one.spoke)),
        }
    });
    let hour = policy.worst_hour().map(|(hour, one)| {
        let (hour, wrong) = (clock(hour), format::count(one.wrong));
        match report.has_stand_in() {
            true => figure_texts::worst_hour(l, &hour, &wrong, &moments(one.spoke, l)),
            false => texts::worst_hour(l, &hour, &wrong, &format::count(one.spoke)),
        }
    });
    let parts = day_parts(report, policy, l).filter(|told| told.is_worse).map(|told| told.text);
    channel.into_iter().chain(hour).chain(parts).chain(worse_hours(policy, l)).collect()
}

/// The sentences on the parts of the day.
struct DayPartsText {
    text: String,
    /// Whether a part has a higher rate than the others, beyond chance.
    is_worse: bool,
}

fn moments(count: usize, language: Language) -> String {
    format::number_of(counted::moments, count, language)
}

/// Returns the hours with the largest numbers of interruptions.
fn most_hours(report: &Report, policy: &PolicyFigures, language: Language) -> Option<String> {
    let l = language;
    let hours = policy.by_hour.iter().enumerate().filter(|(_, one)| one.wrong > 1);
    let mut hours: Vec<(usize, usize)> = hours.map(|(hour, one)| (hour, one.wrong)).collect();
    hours.sort_by_key(|(hour, wrong)| (std::cmp::Reverse(*wrong), *hour));
    let told = hours.iter().take(MAX_MOST_HOURS);
    let told =
        told.map(|(hour, wrong)| texts::with_share(l, &clock(*hour), &format::count(*wrong)));
    let told: Vec<String> = told.collect();
    let hours = told.join(list_separator(l));
    (!told.is_empty()).then(|| match report.has_stand_in() {
        true => texts::most_hours_of_moments(l, &hours),
        false => texts::most_hours(l, &hours),
    })
}

/// Compares the rates of interruptions in the four parts of the day, which are fixed before the data are seen.
fn day_parts(report: &Report, policy: &PolicyFigures, language: Language) -> Option<DayPartsText> {
    let l = language;
    policy.wrong.filter(|wrong| *wrong > 0)?;
    let hours_of_part = policy.by_hour.chunks(HOURS_OF_PART);
    let counts = hours_of_part.map(|hours| {
        hours.iter().fold((0, 0), |(spoke, wrong), one| (spoke + one.spoke, wrong + one.wrong))
    });
    let counts: Vec<(usize, usize)> = counts.collect();
    let compared = compare_day_parts(&counts)?;
    let is_worse = matches!(compared, DayParts::Worse { .. });
    let finding = match compared {
        DayParts::TooFew => figure_texts::too_few_to_compare(l).to_owned(),
        DayParts::Alike => figure_texts::may_be_chance(l).to_owned(),
        DayParts::Worse { places, per_100, rest_per_100 } => {
            let [share, rest] = [per_100, rest_per_100].map(|rate| format::percent(rate / 100.0));
            let times = ranges(&places).into_iter();
            let times = times.map(|(from, end)| figure_texts::between(l, from, end));
            let times: Vec<String> = times.collect();
            let times = times.join(list_separator(l));
            match report.has_stand_in() {
                true => figure_texts::more_moments_interrupt(l, &times, &share, &rest),
                false => figure_texts::interrupts_more(l, &times, &share, &rest),
            }
        }
    };
    let parts = counts.iter().enumerate().filter_map(|(place, (spoke, wrong))| {
        let share = format::percent(per_100(*wrong, *spoke)? / 100.0);
        let from = place * HOURS_OF_PART;
        Some(texts::quarter(l, from, from + HOURS_OF_PART, &share))
    });
    let parts = parts.collect::<Vec<_>>().join(list_separator(l));
    let shares = match report.has_stand_in() {
        true => figure_texts::parts_of_day_moments(l, &parts),
        false => figure_texts::parts_of_day(l, &parts),
    };
    Some(DayPartsText { text: texts::two_sentences(l, &shares, &finding), is_worse })
}

/// Returns the first and the last hour of each part. Adjacent parts are merged, also across midnight.
fn ranges(places: &[usize]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for place in places {
        let (from, end) = (place * HOURS_OF_PART, (place + 1) * HOURS_OF_PART);
        match ranges.last_mut() {
            Some(last) if last.1 == from => last.1 = end,
            Some(_) | None => ranges.push((from, end)),
        }
    }
    if let (Some((0, end)), Some((from, HOURS_OF_DAY))) =
        (ranges.first().copied(), ranges.last().copied())
        && ranges.len() > 1
    {
        ranges.pop();
        ranges[0] = (from, end);
    }
    ranges
}

/// Returns the hours with a higher rate of interruptions than the rest of the day, beyond chance.
fn worse_hours(policy: &PolicyFigures, language: Language) -> Option<String> {
    let l = language;
    let (spoke, wrong) = policy.spoke.zip(policy.wrong).filter(|(_, wrong)| *wrong > 0)?;
    let hours: Vec<(usize, usize)> =
        policy.by_hour.iter().map(|one| (one.spoke, one.wrong)).collect();
    let worse = worse_places(&hours)?;
    if worse.is_empty() {
        return None;
    }
    let share = |spoke: usize, wrong: usize| format::percent(wrong as f64 / spoke.max(1) as f64);
    let told = worse.iter().map(|hour| {
        let (spoke, wrong) = hours[*hour];
        texts::with_share(l, &clock(*hour), &share(spoke, wrong))
    });
    let told: Vec<String> = told.collect();
    let (rest_spoke, rest_wrong) = worse.iter().fold((spoke, wrong), |(spoke, wrong), hour| {
        (spoke.saturating_sub(hours[*hour].0), wrong.saturating_sub(hours[*hour].1))
    });
    let rest = share(rest_spoke, rest_wrong);
    Some(texts::worse_hours(l, &told.join(list_separator(l)), &rest))
}

fn clock(hour: usize) -> String {
    format!("{hour}:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hours_in_which_it_speaks_have_their_rate() {
        let hour = |messages, spoke, wrong| HourFigures {
            messages,
            spoke,
            wrong,
            wrong_per_100: per_100(wrong, spoke),
            posted_without_model: None,
        };
        let hours = [hour(1667, 1200, 300), hour(5, 0, 0), hour(9, 3, 1)];
        let told = rows(&hours, Language::En);
        let row = |hour: &str, messages: &str, spoke: &str, wrong: &str, rate: &str| HourRow {
            hour: hour.to_owned(),
            messages: messages.to_owned(),
            spoke: spoke.to_owned(),
            wrong: wrong.to_owned(),
            rate: rate.to_owned(),
            posted: None,
        };
        assert_eq!(
            told,
            [row("0:00", "1,667", "1,200", "300", "25 %"), row("2:00", "9", "3", "1", "–")]
        );
    }

    #[test]
    fn what_would_have_interrupted_is_the_lower_part_of_a_bar() {
        let bars = [own_bar(0, PlacePosts { spoke: 4, wrong: 1 }, Language::En)];
        let chart = Chart::from_hours("spoken", &bars);
        let drawn: Vec<_> =
            chart.bars.iter().map(|bar| (bar.class, bar.y, bar.y + bar.height)).collect();
        assert_eq!(drawn, [("wrong", 45.0, 60.0), ("own", 0.0, 45.0)]);
    }

    #[test]
    fn parts_of_the_day_that_follow_each_other_are_one() {
        for (places, expected) in [
            (&[1, 2][..], &[(6, 18)][..]),
            (&[0, 3][..], &[(18, 6)][..]),
            (&[0, 1, 3][..], &[(18, 12)][..]),
            (&[0, 2][..], &[(0, 6), (12, 18)][..]),
            (&[3][..], &[(18, 24)][..]),
        ] {
            assert_eq!(ranges(places), expected, "{places:?}");
        }
    }
}
