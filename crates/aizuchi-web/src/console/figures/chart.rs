//! A chart of stacked bars, one for each day, in a drawing that stretches to the available space; and its table.
//!
//! It is drawn here, because chart libraries write colors, fonts and sizes into the drawing. The page's security
//! policy allows no inline style, dark colors come from its style sheet, and a phone needs a drawing that stretches.

use std::sync::Arc;

use aizuchi_store::figures::Day;

use crate::figures::calendar;
use crate::figures::tally::Figures;

/// The height of a chart, in the units of its drawing.
const HEIGHT: f64 = 100.0;
/// The width of a day's bar, including the gap beside it.
const DAY_WIDTH: f64 = 10.0;
const GAP: f64 = 1.5;

/// A series of the stack: a value for each day.
pub struct Series {
    pub word: &'static str,
    /// The CSS class of its bars.
    pub class: &'static str,
    values: Vec<f64>,
}

pub struct FigureChart {
    /// Its name in the page.
    pub id: &'static str,
    pub title: &'static str,
    /// The sum over the period.
    pub sum: String,
    /// What is counted, if the title does not say so.
    pub note: Option<&'static str>,
    /// The value of the highest bar, as text.
    pub most: String,
    pub width: f64,
    pub height: f64,
    /// One for each series with any value.
    pub bars: Vec<FigureBars>,
    pub first: String,
    pub last: String,
    pub legend: Vec<(&'static str, &'static str)>,
    /// The days with any value, newest first, each with its place in the drawing and a value for each series.
    pub rows: Vec<(f64, String, Vec<String>)>,
}

/// The bars of a series, as one SVG path: a page with a drawing for each bar would be several times as large.
pub struct FigureBars {
    pub word: &'static str,
    pub class: &'static str,
    pub path: String,
}

impl Series {
    pub fn new(
        word: &'static str,
        class: &'static str,
        days: &[(Day, Arc<Figures>)],
        value: impl Fn(&Figures) -> f64,
    ) -> Self {
        Self { word, class, values: days.iter().map(|(_, figures)| value(figures)).collect() }
    }

    pub fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

impl FigureChart {
    pub fn new(
        id: &'static str,
        title: &'static str,
        sum: String,
        days: &[(Day, Arc<Figures>)],
        series: Vec<Series>,
        tell: &dyn Fn(f64) -> String,
    ) -> Self {
        let dates: Vec<String> = days.iter().map(|(day, _)| date(*day)).collect();
        let sum_of = |index: usize| series.iter().map(|series| series.values[index]).sum::<f64>();
        let most = (0..days.len()).map(sum_of).fold(0.0, f64::max);
        let scale = if most > 0.0 { HEIGHT / most } else { 0.0 };
        let mut tops = vec![HEIGHT; days.len()];
        let bars = series.iter().map(|series| {
            let mut path = String::new();
            for (index, value) in
                series.values.iter().enumerate().filter(|(_, value)| **value > 0.0)
            {
                let (x, height) = (index as f64 * DAY_WIDTH + GAP / 2.0, value * scale);
                tops[index] -= height;
                let (top, width) = (tops[index], DAY_WIDTH - GAP);
                path += &format!("M{x} {top:.2}h{width}v{height:.2}h-{width}z");
            }
            FigureBars { word: series.word, class: series.class, path }
        });
        let bars: Vec<FigureBars> = bars.filter(|bars| !bars.path.is_empty()).collect();
        let row = |index: usize| {
            let values = series.iter().map(|series| tell(series.values[index])).collect();
            (index as f64 * DAY_WIDTH, dates[index].clone(), values)
        };
        let filled = (0..days.len()).rev().filter(|index| sum_of(*index) > 0.0);
        Self {
            id,
            title,
            sum,
            note: None,
            most: tell(most),
            width: days.len() as f64 * DAY_WIDTH,
            height: HEIGHT,
            bars,
            first: dates.first().cloned().unwrap_or_default(),
            last: dates.last().cloned().unwrap_or_default(),
            rows: filled.map(row).collect(),
            legend: series.iter().map(|series| (series.word, series.class)).collect(),
        }
    }
}

fn date(day: Day) -> String {
    calendar::date(day).map(|date| date.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_stacked_to_the_height_of_the_highest_day() {
        let day = |day, spoke, decisions| {
            let mut figures = Figures::default();
            (figures.all.spoke, figures.all.decisions) = (spoke, decisions);
            (Day(day), Arc::new(figures))
        };
        let days = [day(20_000, 6, 2), day(20_001, 0, 2), day(20_002, 0, 0)];
        let series = vec![
            Series::new("a", "a", &days, |figures| figures.all.spoke as f64),
            Series::new("b", "b", &days, |figures| figures.all.decisions as f64),
        ];
        let chart =
            FigureChart::new("x", "X", String::new(), &days, series, &|value| format!("{value}"));
        let bars: Vec<_> = chart.bars.iter().map(|bars| (bars.class, &*bars.path)).collect();
        let (first, second) = ("M0.75 25.00h8.5v75.00h-8.5z", "M0.75 0.00h8.5v25.00h-8.5z");
        let expected =
            [("a", first.to_owned()), ("b", format!("{second}M10.75 75.00h8.5v25.00h-8.5z"))];
        assert_eq!(bars, expected.each_ref().map(|(class, path)| (*class, &**path)));
        assert_eq!((&*chart.first, &*chart.most), ("2024-10-04", "8"));
        let rows: Vec<&str> = chart.rows.iter().map(|(_, day, _)| day.as_str()).collect();
        assert_eq!(rows, ["2024-10-05", "2024-10-04"]);
    }
}
