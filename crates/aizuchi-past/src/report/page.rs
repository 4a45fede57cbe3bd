//! The report as one self-contained HTML page: its style is inline, it loads nothing, and it runs no script.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::next_steps as step_texts;
use aizuchi_model::texts::policies as policy_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;
use aizuchi_model::texts::report_posts as post_texts;
use aizuchi_model::texts::what_leaves as leaves_texts;
use askama::Template;
use jiff::tz::TimeZone;

use crate::report::channels_view::{self, ChannelFiguresRow};
use crate::report::charts::TimingView;
use crate::report::code::{TextPart, parts};
use crate::report::cost_view::CostView;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::first_view::FirstView;
use crate::report::format;
use crate::report::headline::{Headline, headline};
use crate::report::hours_view::HoursView;
use crate::report::months_view::MonthsView;
use crate::report::next_steps::NextSteps;
use crate::report::notes::notes;
use crate::report::policies_view::PoliciesView;
use crate::report::posts_view::PostsView;
use crate::report::sentences;
use crate::report::setting_labels;
use crate::report::story::Story;
use crate::report::story_selection::Example;
use crate::report::story_view::{StoryView, folded};
use crate::report::tiles::{Tile, tiles};
use crate::report::ways_view::WaysView;
use crate::report::what_leaves;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    l: Language,
    tag: &'a str,
    theme: &'static str,
    style: &'static str,
    frame: Option<&'a PageFrame>,
    title: String,
    kicker: &'static str,
    /// What the persona is.
    what_it_is: String,
    headline: String,
    /// The paragraphs below the headline.
    details: Vec<String>,
    /// What counts as an interruption.
    interruption: Option<&'static str>,
    /// What a moment is, in a replay where the built-in mind replaces the model.
    stand_in: Option<Vec<TextPart>>,
    intro: String,
    /// Whether names were replaced, and that texts are quoted as they were written.
    names: &'static str,
    /// The settings of a lone policy.
    settings: Option<Vec<TextPart>>,
    tiles: Vec<Tile>,
    ways: Option<WaysView>,
    shown_policy: Option<String>,
    /// Whether the persona posts in channels or in threads.
    places: Option<String>,
    spoken_label: &'static str,
    /// Whether the number of posts without a model is known.
    has_posts: bool,
    posts: Option<PostsView>,
    posted_label: &'static str,
    /// A sentence that compares the shares of interruptions among posts and among moments.
    two_bases: Option<String>,
    channels: Vec<ChannelFiguresRow>,
    months: Option<MonthsView>,
    /// How little a new installation can quote at first.
    fresh_start: Option<&'static str>,
    hours: HoursView,
    moments_rule: String,
    groups: Vec<StoryGroup>,
    /// That the reasons are guesses of the built-in rules.
    guesses: Option<&'static str>,
    first: FirstView,
    unanswered_title: &'static str,
    unanswered: Option<String>,
    unanswered_bridge: Option<&'static str>,
    unanswered_rule: &'static str,
    persona: &'a str,
    timing: Option<TimingView>,
    /// How soon after their questions the posts without a model come.
    after_questions: Option<String>,
    cost: CostView,
    policies: Option<PoliciesView>,
    /// Whether the page says which differences are significant.
    has_verdicts: bool,
    next: NextSteps,
    what_leaves: Vec<Vec<TextPart>>,
    notes: Vec<String>,
}

/// Returns the unit that is counted: times, or moments where the built-in mind replaces the model.
fn spoken_things(report: &Report) -> Counted {
    if report.has_stand_in() { counted::moments } else { counted::times }
}

struct StoryGroup {
    heading: &'static str,
    stories: Vec<StoryView>,
}

/// What surrounds the report on a page of the console.
pub struct PageFrame {
    /// The URLs of the style sheets, which replace the inline style.
    pub styles: Vec<&'static str>,
    /// HTML above the report.
    pub head: String,
}

/// The style sheet of a page in a frame, besides the theme.
pub const STYLE: &str = include_str!("templates/report.css");

/// Renders the page.
pub fn page(report: &Report, zone: &TimeZone, language: Language) -> anyhow::Result<String> {
    let Some(policy) = report.policies.first() else {
        anyhow::bail!("there is nothing to report");
    };
    let view = PageBuilder { report, policy, zone, language };
    Ok(view.page().render()?)
}

/// Renders the page in a frame.
pub fn page_within(
    report: &Report,
    zone: &TimeZone,
    language: Language,
    frame: &PageFrame,
) -> anyhow::Result<String> {
    let Some(policy) = report.policies.first() else {
        anyhow::bail!("there is nothing to report");
    };
    let view = PageBuilder { report, policy, zone, language };
    let names = moment_texts::names_on_console(language);
    Ok(ReportPage { frame: Some(frame), names, ..view.page() }.render()?)
}

struct PageBuilder<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    zone: &'a TimeZone,
    language: Language,
}

impl<'a> PageBuilder<'a> {
    fn is_ledger(&self) -> bool {
        self.report.source == ReportSource::Ledger
    }

    fn page(&self) -> ReportPage<'a> {
        let (report, policy, l) = (self.report, self.policy, self.language);
        let unanswered = policy.unanswered.map(|found| {
            sentences::unanswered(found, policy.posted_without_model, report.source, l)
        });
        let is_posting = policy.posted_without_model.is_some_and(|posted| posted.spoke > 0);
        let all_spoken = policy.moments.wrong + policy.moments.spoke;
        let Headline { title: headline, mut details, interruption, ways: told } =
            headline(report, policy, l);
        let ways = WaysView::new(report, policy, l);
        if ways.is_none() {
            details.extend(told);
        }
        ReportPage {
            l,
            tag: l.tag(),
            theme: include_str!("style/theme.css"),
            style: STYLE,
            frame: None,
            title: texts::title(l, &report.persona),
            kicker: match self.is_ledger() {
                true => texts::kicker_ledger(l),
                false => texts::kicker_replay(l),
            },
            what_it_is: figure_texts::what_it_is(l, &report.persona),
            headline,
            details,
            interruption,
            stand_in: sentences::stand_in(report, policy, l).map(|told| parts(&told)),
            intro: self.intro(),
            names: match report.is_anonymous {
                true => moment_texts::names_replaced(l),
                false => moment_texts::names_as_they_are(l),
            },
            settings: (report.policies.len() == 1)
                .then(|| {
                    Some(setting_labels::describe_settings(
                        policy.settings.as_deref()?,
                        report.source,
                        l,
                    ))
                })
                .flatten(),
            // The ways side by side say the same, and more.
            tiles: if ways.is_some() { Vec::new() } else { tiles(report, policy, l) },
            ways,
            shown_policy: sentences::shown_policy(report, policy, l),
            places: sentences::places(report, policy, l),
            spoken_label: sentences::spoken_label(report.source, l),
            has_posts: policy.posted_without_model.is_some(),
            posts: PostsView::new(report, self.zone, l),
            posted_label: match self.is_ledger() {
                true => moment_texts::posted_text(l),
                false => moment_texts::would_quote(l),
            },
            two_bases: sentences::two_bases(report, policy, l),
            channels: channels_view::rows(policy, l),
            months: MonthsView::new(report, policy, l),
            hours: HoursView::new(report, policy, l),
            fresh_start: (report.has_stand_in() && is_posting)
                .then(|| figure_texts::fresh_start(l)),
            moments_rule: texts::moments_rule(
                l,
                &format::number_of(spoken_things(report), all_spoken, l),
                &format::count(policy.moments.wrong),
                &format::count(policy.moments.spoke),
                &format::count(policy.moments.silent),
            ),
            groups: self.groups(),
            guesses: report.has_stand_in().then(|| match policy.first_answers.is_annotated {
                true => post_texts::guesses_annotated(l),
                false => post_texts::guesses(l),
            }),
            first: FirstView::new(report, policy, l),
            unanswered_title: match policy.unanswered {
                Some(found) if !found.is_annotated => texts::unanswered_for_hour(l),
                Some(_) | None => texts::unanswered(l),
            },
            unanswered_bridge: (policy.first_answers.nobody_else > 0 && unanswered.is_some())
                .then(|| texts::unanswered_bridge(l)),
            unanswered_rule: match policy.unanswered {
                Some(found) if found.is_annotated => texts::unanswered_annotated(l),
                Some(_) => texts::unanswered_silence(l),
                None if policy.spoke.is_none() => texts::unanswered_unjudged(l),
                None => texts::unanswered_unknown(l),
            },
            unanswered,
            persona: &report.persona,
            after_questions: sentences::after_questions(policy, l),
            timing: policy.timing.map(|timing| TimingView::new(&timing, &report.persona, l)),
            cost: CostView::new(report, policy, l),
            has_verdicts: report.comparison.iter().any(|one| !one.measures.is_empty()),
            policies: PoliciesView::new(report, self.zone, l),
            next: NextSteps::new(report, policy, l),
            what_leaves: what_leaves::lines(report, l),
            notes: notes(report, policy, l),
        }
    }

    fn intro(&self) -> String {
        let (report, l) = (self.report, self.language);
        let messages = format::number_of(counted::messages, report.messages, l);
        let people = format::number_of(counted::people, report.people, l);
        let date = |at| format::date(at, self.zone, l);
        let (from, to) = (date(report.period.from), date(report.period.to));
        let dates = if from == to { from } else { texts::dates(l, &from, &to) };
        match self.is_ledger() {
            true => texts::intro_ledger(l, &report.persona, &messages, &people, &dates),
            false => texts::intro_replay(l, &report.persona, &messages, &people, &dates),
        }
    }

    fn groups(&self) -> Vec<StoryGroup> {
        let l = self.language;
        let posted = self.policy.posted_without_model;
        let has_sample = posted.is_some_and(|posted| posted.spoke > 0);
        let tell = |story: &Story| StoryView::new(story, self.report, self.zone, l);
        let groups = self
            .policy
            .stories
            .chunk_by(|one, other| Example::from_story(one) == Example::from_story(other));
        let groups = groups.filter_map(|stories| {
            let heading = sentences::example(Example::from_story(stories.first()?), l);
            let told = stories.iter().map(tell);
            // Where posts stand open above, mere moments need not.
            let stories = if has_sample { told.collect() } else { folded(told) };
            Some(StoryGroup { heading, stories })
        });
        groups.collect()
    }
}
