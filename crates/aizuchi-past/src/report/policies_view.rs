//! The comparison of several policies on the page.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::policies as policy_texts;
use aizuchi_model::texts::report as texts;
use jiff::tz::TimeZone;

use crate::report::cautions::cautions;
use crate::report::comparison::{Measure, MeasureComparison};
use crate::report::figures::{Difference, DifferenceSide, PolicyFigures, PostedFigures, Report};
use crate::report::format;
use crate::report::interruptions::{MIN_POSTS, per_100};
use crate::report::places_view::{self, PlaceRow};
use crate::report::policy_sentences;
use crate::report::sentences;
use crate::report::setting_labels::{SettingRow, rows};
use crate::report::story_view::{StoryView, folded};

pub struct PoliciesView {
    pub names: Vec<String>,
    /// Why nothing is compared.
    pub not_compared: Vec<String>,
    /// The settings of each policy that differ from the defaults.
    pub settings: Vec<SettingRow>,
    /// The policies with the default settings, if others have different ones.
    pub defaults: Vec<String>,
    /// Says that all policies have the default settings.
    pub settings_same: &'static str,
    pub rows: Vec<FigureRow>,
    /// Whether the significance of differences is known.
    pub has_verdicts: bool,
    pub channels: Vec<PlaceRow>,
    pub hours: Vec<PlaceRow>,
    pub gives_up: Vec<String>,
    pub advice: Option<String>,
    /// Says which policies are offered, unless all are.
    pub offered: Option<String>,
    /// Says what each policy posts without a model.
    pub posts: Vec<String>,
    pub by_channel: &'static str,
    pub by_hour: &'static str,
    /// Says which default limits the policies turn off.
    pub cautions: Vec<String>,
    pub differences: String,
    pub sides: Vec<SideView>,
}

/// Messages that some policies take up and the others do not.
pub struct SideView {
    pub heading: String,
    pub stories: Vec<StoryView>,
}

/// The values of one figure for all policies.
pub struct FigureRow {
    pub name: String,
    pub values: Vec<String>,
    /// Whether they differ significantly. Empty for figures that are not compared.
    pub verdict: &'static str,
}

impl PoliciesView {
    /// Returns `None` for a single policy.
    pub fn new(report: &Report, zone: &TimeZone, language: Language) -> Option<Self> {
        let l = language;
        let found = report.differences.as_ref()?;
        let policies = &report.policies;
        Some(Self {
            names: policies.iter().map(|one| one.name.clone()).collect(),
            not_compared: policy_sentences::not_compared(report, l),
            settings: rows(policies, l),
            defaults: defaults(report, l),
            settings_same: match report.has_stand_in() {
                true => policy_texts::settings_same_but_mode(l),
                false => policy_texts::settings_same(l),
            },
            rows: figure_rows(report, l),
            has_verdicts: FigureRows { report, language }.has_verdicts(),
            channels: places_view::channels(policies, l),
            hours: places_view::hours(policies, l),
            gives_up: policy_sentences::gives_up(report, l),
            advice: policy_sentences::advice(report, l),
            offered: policy_sentences::offered(report, l),
            posts: policy_sentences::posts(report, l),
            by_channel: match report.has_stand_in() {
                true => policy_texts::by_channel_posts(l),
                false => policy_texts::by_channel(l),
            },
            by_hour: match report.has_stand_in() {
                true => policy_texts::by_hour_posts(l),
                false => policy_texts::by_hour(l),
            },
            cautions: cautions(report, l),
            differences: match found.messages {
                0 => texts::differences_none(l).to_owned(),
                count => {
                    let messages = format::number_of(counted::messages, count, l);
                    texts::differences_rule(l, &messages)
                }
            },
            sides: found.sides.iter().map(|side| side_view(side, report, zone, l)).collect(),
        })
    }
}

/// Names the policies with the default settings, if any policy has other ones.
fn defaults(report: &Report, language: Language) -> Vec<String> {
    let (same, others): (Vec<&PolicyFigures>, Vec<&PolicyFigures>) =
        report.policies.iter().partition(|policy| policy.has_default_settings());
    let sentence = |policy: &&PolicyFigures| match report.has_stand_in() {
        true => policy_texts::is_default_but_mode(language, &policy.name),
        false => policy_texts::is_default(language, &policy.name),
    };
    match others.is_empty() {
        true => Vec::new(),
        false => same.iter().map(sentence).collect(),
    }
}

/// Builds the rows of the table of figures.
struct FigureRows<'a> {
    report: &'a Report,
    language: Language,
}

impl FigureRows<'_> {
    fn row(
        &self,
        name: &str,
        measure: Option<Measure>,
        value: impl Fn(&PolicyFigures) -> Option<String>,
    ) -> FigureRow {
        let unknown = || format::UNKNOWN.to_owned();
        let values = self.report.policies.iter();
        FigureRow {
            name: name.to_owned(),
            values: values.map(|one| value(one).unwrap_or_else(unknown)).collect(),
            verdict: measure.map_or("", |measure| self.verdict(measure)),
        }
    }

    /// Returns the row with the part of the previous row that is posted without a model.
    fn posted(&self, measure: Measure, value: fn(PostedFigures) -> usize) -> Option<FigureRow> {
        let name = moment_texts::row_posted(self.language);
        let value = |one: &PolicyFigures| one.posted_without_model.map(value);
        let comparison = self.report.comparison.as_ref().filter(|_| self.has_verdicts());
        let of_counts = || {
            let offered = self.report.on_offer().into_iter();
            let values = offered.map(|place| value(self.report.policies.get(place)?));
            Some(MeasureComparison::from_counts(measure, values.collect::<Option<Vec<usize>>>()?))
        };
        let compared = comparison.and_then(|one| match measure {
            // As in the row above, it is known which ones each reaches.
            Measure::PickedUp => one.posted_picked_up.clone(),
            Measure::Spoke | Measure::Wrong | Measure::ItFirst => of_counts(),
        });
        let verdict = compared.map_or("", |compared| self.told(&compared));
        let row = self.row(name, None, |one| value(one).map(format::count));
        self.report.has_stand_in().then_some(FigureRow { verdict, ..row })
    }

    fn has_verdicts(&self) -> bool {
        self.report.comparison.iter().any(|one| !one.measures.is_empty())
    }

    /// Says whether the offered policies differ.
    fn verdict(&self, measure: Measure) -> &'static str {
        let comparison = self.report.comparison.iter().filter(|_| self.has_verdicts());
        let mut measures = comparison.flat_map(|one| &one.measures);
        let found = measures.find(|one| one.measure == measure);
        found.map_or("", |found| self.told(found))
    }

    fn told(&self, compared: &MeasureComparison) -> &'static str {
        let l = self.language;
        let is_equal = compared.values.windows(2).all(|pair| pair[0] == pair[1]);
        match compared.is_clear {
            true => policy_texts::verdict_clear(l),
            false if is_equal => policy_texts::verdict_none(l),
            false if compared.values.iter().all(|value| *value < MIN_POSTS) => {
                policy_texts::verdict_too_few(l)
            }
            false => policy_texts::verdict_unclear(l),
        }
    }

    fn first(&self) -> FigureRow {
        let l = self.language;
        let name = match self.report.has_stand_in() {
            true => moment_texts::row_first(l),
            false => texts::policy_first(l),
        };
        self.row(name, Some(Measure::ItFirst), |one| {
            let first = one.first_answers.it_first_undisturbed;
            let count = one.posted_without_model.map_or(first, |it| it.it_first_undisturbed);
            one.spoke.map(|_| format::count(count))
        })
    }

    fn delay(&self) -> FigureRow {
        let policies = self.report.policies.iter();
        let delays: Vec<Option<f64>> = policies.map(|one| Some(one.timing?.own_median)).collect();
        FigureRow {
            name: texts::policy_delay(self.language).to_owned(),
            values: format::rough_durations(&delays, self.language),
            verdict: "",
        }
    }

    /// Returns the monthly cost with the first model whose cost is known.
    fn cost(&self) -> Option<FigureRow> {
        let (report, l) = (self.report, self.language);
        let (model, _) = report.policies.first().and_then(PolicyFigures::known_cost)?;
        Some(self.row(&texts::policy_cost(l, model), None, |one| {
            let same = one.costs.iter().find(|cost| cost.model == model)?;
            same.per_month.map(|month| format::money(month, &report.currency, l))
        }))
    }
}

fn figure_rows(report: &Report, language: Language) -> Vec<FigureRow> {
    let l = language;
    let rows = FigureRows { report, language };
    let done = sentences::at_open_question(report.source, l);
    let spoke = sentences::spoken_label(report.source, l);
    let spoke = rows.row(spoke, Some(Measure::Spoke), |one| one.spoke.map(format::count));
    let rate =
        rows.row(texts::policy_rate(l), None, |one| one.per_day.map(|rate| format::rate(rate, l)));
    let wrong = rows.row(texts::policy_wrong(l), Some(Measure::Wrong), |one| {
        let (wrong, spoke) = one.wrong.zip(one.spoke)?;
        let count = format::count(wrong);
        Some(match per_100(wrong, spoke) {
            Some(rate) => texts::with_share(l, &count, &format::percent(rate / 100.0)),
            None => count,
        })
    });
    let is_annotated =
        report.policies.iter().any(|one| one.unanswered.is_some_and(|found| found.is_annotated));
    let picked_up = match is_annotated {
        true => texts::policy_picked_up(l, done),
        false => texts::policy_picked_up_in_hour(l, done),
    };
    let picked_up = rows.row(&picked_up, Some(Measure::PickedUp), |one| {
        let found = one.unanswered?;
        let (part, whole) = (format::count(found.picked_up), format::count(found.questions));
        Some(texts::of_total(l, &part, &whole))
    });
    let calls = rows.row(texts::policy_calls(l), None, |one| {
        one.calls.judge_calls_per_day.map(format::one_decimal)
    });
    [
        Some(spoke),
        rows.posted(Measure::Spoke, |posted| posted.spoke),
        Some(rate),
        Some(wrong),
        rows.posted(Measure::Wrong, |posted| posted.wrong),
        Some(picked_up),
        rows.posted(Measure::PickedUp, |posted| posted.picked_up),
        Some(rows.first()),
        Some(rows.delay()),
        Some(calls),
        rows.cost(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Messages that some policies take up and the others do not, with examples.
fn side_view(
    side: &DifferenceSide,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> SideView {
    let l = language;
    let names = side.policies.iter().filter_map(|place| report.policies.get(*place));
    let names: Vec<&str> = names.map(|policy| &*policy.name).collect();
    let messages = format::number_of(counted::messages, side.messages, l);
    let names = policy_sentences::all_of(&names, l);
    let shown = report.differences.iter().flat_map(|found| &found.shown);
    let shown = shown.filter(|one| one.taken_up_by == side.policies);
    SideView {
        heading: policy_texts::side(l, &names, &messages),
        stories: folded(shown.map(|one| story(one, report, zone, l))),
    }
}

fn story(
    difference: &Difference,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> StoryView {
    let policies = difference.policies.iter();
    StoryView {
        policies: policies.map(|one| sentences::policy_on_message(one, language)).collect(),
        ..StoryView::new(&difference.story, report, zone, language)
    }
}
