//! The bar charts of the page, as SVG drawings that are stretched to the available width.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::report as texts;

use crate::report::delays::{GROUP_ENDS, Timing};
use crate::report::format;

/// The height of a chart, in units of the drawing.
const CHART_HEIGHT: f64 = 60.0;
/// The width of the column of an hour, in units of the drawing.
const COLUMN: f64 = 10.0;
/// The interval of the labels on the axis of hours.
const HOURS_OF_TICK: usize = 6;

/// A bar chart.
pub struct Chart {
    pub title: String,
    pub width: f64,
    pub bars: Vec<Bar>,
    /// The value at the top of the chart. Empty if the chart has no scale.
    pub most: String,
    /// The label below each column; most are empty.
    pub ticks: Vec<String>,
}

pub struct Bar {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub class: &'static str,
    pub label: String,
}

pub struct TimingView {
    pub sentence: String,
    pub chart: Chart,
    /// The label of each group, the share of people's delays and that of the persona's.
    pub rows: Vec<(String, String, String)>,
}

/// The bar of an hour of the day.
pub struct HourBar {
    /// Its segments from the bottom up: a CSS class and a count.
    pub parts: Vec<(&'static str, usize)>,
    pub label: String,
}

impl Chart {
    /// Creates a chart with one bar for each hour of the day.
    pub fn from_hours(title: &str, hours: &[HourBar]) -> Self {
        let sum = |bar: &HourBar| bar.parts.iter().map(|(_, count)| count).sum::<usize>();
        let most = hours.iter().map(sum).max().unwrap_or(0).max(1);
        let bars = hours.iter().enumerate().flat_map(|(hour, bar)| {
            let mut below = 0_usize;
            bar.parts.iter().filter(|(_, count)| *count > 0).map(move |(class, count)| {
                below += count;
                let scale = |count: usize| count as f64 / most as f64 * CHART_HEIGHT;
                Bar {
                    x: hour as f64 * COLUMN + 1.0,
                    y: CHART_HEIGHT - scale(below),
                    width: COLUMN - 2.0,
                    height: scale(*count),
                    class,
                    label: bar.label.clone(),
                }
            })
        });
        let bars = bars.collect();
        let most = format::count(most);
        let ticks = (0..hours.len()).map(tick).collect();
        let width = hours.len() as f64 * COLUMN;
        Self { title: title.to_owned(), width, bars, most, ticks }
    }
}

impl TimingView {
    pub fn new(timing: &Timing, persona: &str, language: Language) -> Self {
        let l = language;
        let medians = [Some(timing.own_median), Some(timing.people_median)];
        let medians = format::rough_durations(&medians, l);
        // The last group is that of what no person waits for, so often nobody is in it.
        let is_used = timing.own.last().zip(timing.people.last());
        let is_used = is_used.is_some_and(|(own, people)| *own > 0.0 || *people > 0.0);
        let unused = usize::from(!is_used);
        let mut labels = group_labels(l);
        labels.truncate(labels.len() - unused);
        let shown = labels.len();
        let shares = || timing.own.iter().zip(timing.people).take(shown);
        let most = shares().fold(0.01_f64, |most, (own, people)| most.max(*own).max(people));
        let bars = shares().zip(&labels).enumerate().flat_map(|(group, ((own, people), label))| {
            let bar = |offset: f64, share: f64, class, name: &str| {
                let height = share / most * CHART_HEIGHT;
                let label = format!("{name}, {label}: {}", format::percent(share));
                let x = group as f64 * 30.0 + offset;
                Bar { x, y: CHART_HEIGHT - height, width: 11.0, height, class, label }
            };
            [bar(3.0, people, "people", texts::timing_people(l)), bar(15.0, *own, "own", persona)]
        });
        let rows = shares().zip(&labels).map(|((own, people), label)| {
            (label.clone(), format::percent(people), format::percent(*own))
        });
        let usual = shares().zip(&labels).max_by(|(one, _), (other, _)| one.0.total_cmp(other.0));
        let usual = usual.map(|((own, people), label)| {
            texts::timing_usual(l, &format::percent(*own), label, &format::percent(people))
        });
        let sentence = texts::timing_sentence(l, &medians[0], &medians[1]);
        Self {
            sentence: usual
                .map_or(sentence.clone(), |usual| texts::two_sentences(l, &sentence, &usual)),
            chart: Chart {
                title: texts::timing_caption(l).to_owned(),
                width: labels.len() as f64 * 30.0,
                bars: bars.collect(),
                most: String::new(),
                ticks: Vec::new(),
            },
            rows: rows.collect(),
        }
    }
}

fn tick(hour: usize) -> String {
    if hour.is_multiple_of(HOURS_OF_TICK) { hour.to_string() } else { String::new() }
}

/// Returns the labels of the groups of delays: in seconds up to a minute, and then in minutes.
fn group_labels(language: Language) -> Vec<String> {
    let begins = [0].into_iter().chain(GROUP_ENDS);
    let within = begins.zip(GROUP_ENDS).map(|(begin, end)| match (begin, end) {
        (0, end) => texts::timing_until(language, end),
        (begin, ..=60) => texts::timing_seconds(language, begin, end),
        (begin, end) => texts::timing_minutes(language, begin / 60, end / 60),
    });
    let over = GROUP_ENDS.last().map(|end| texts::timing_over(language, end / 60));
    within.chain(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_stand_below_their_own_bars() {
        let hour = |hour: usize| HourBar { parts: vec![("own", hour + 1)], label: String::new() };
        let hours: Vec<HourBar> = (0..24).map(hour).collect();
        let chart = Chart::from_hours("spoken", &hours);
        let column = chart.width / chart.ticks.len() as f64;
        for (hour, bar) in chart.bars.iter().enumerate() {
            let (begin, end) = (hour as f64 * column, (hour + 1) as f64 * column);
            assert!(begin < bar.x && bar.x + bar.width < end, "{hour}");
            let is_named = [0, 6, 12, 18].contains(&hour);
            let expected = if is_named { hour.to_string() } else { String::new() };
            assert_eq!(chart.ticks[hour], expected);
        }
        assert_eq!((chart.bars.len(), chart.ticks.len(), &*chart.most), (24, 24, "24"));
    }
}
