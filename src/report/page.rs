//! The report as one page that needs nothing else: its style is inside, it loads nothing, and no script runs.

use askama::Template;
use jiff::tz::TimeZone;

use crate::report::charts::TimingView;
use crate::report::code::{TextPart, parts};
use crate::report::figures::{ChannelFigures, PolicyFigures, Report, ReportSource};
use crate::report::hours_view::HoursView;
use crate::report::interruptions::per_100;
use crate::report::next_steps::NextSteps;
use crate::report::notes::notes;
use crate::report::policies_view::PoliciesView;
use crate::report::sentences;
use crate::report::setting_words;
use crate::report::story::{Story, StoryKind};
use crate::report::story_view::StoryView;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::policies as policy_texts;
use aizuchi_core::texts::report as texts;

/// More channels than this are summed up in one row.
const MAX_CHANNELS: usize = 16;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    l: Language,
    tag: &'a str,
    ink: &'static str,
    style: &'static str,
    frame: Option<&'a PageFrame>,
    title: String,
    kicker: &'static str,
    headline: String,
    /// That the figures may be too low.
    unknown: Option<String>,
    cost_sentence: String,
    judged: Option<Vec<TextPart>>,
    /// How many of its posts say nothing that helps.
    only_asked_again: Option<String>,
    intro: String,
    /// The settings of the only policy.
    settings: Option<Vec<TextPart>>,
    tiles: Vec<Tile>,
    shown_policy: Option<String>,
    spoken_label: &'static str,
    channels: Vec<ChannelRow>,
    hours: HoursView,
    asides: Vec<String>,
    moments_rule: String,
    groups: Vec<StoryGroup>,
    first: FirstView,
    unanswered: Option<String>,
    unanswered_rule: &'static str,
    persona: &'a str,
    timing: Option<TimingView>,
    cost_basis: String,
    cost_real: Option<String>,
    cost_period: Option<String>,
    /// Each model with its cost in the period and in a month.
    costs: Vec<(String, String, String)>,
    policies: Option<PoliciesView>,
    next: NextSteps,
    notes: Vec<String>,
}

struct Tile {
    value: String,
    label: String,
    note: String,
    is_warning: bool,
}

struct ChannelRow {
    name: String,
    spoke: String,
    rate: String,
    wrong: String,
    /// Interruptions in a hundred posts.
    wrong_rate: String,
    messages: String,
    /// The lengths of its bar, in hundredths.
    fine_width: f64,
    wrong_width: f64,
    label: String,
}

struct StoryGroup {
    heading: &'static str,
    stories: Vec<StoryView>,
}

struct FirstView {
    sentence: String,
    /// A count, its width in hundredths, a class, and what it is.
    parts: Vec<(String, f64, &'static str, String)>,
    rule: &'static str,
}

/// What the page has around it where it is not alone.
pub struct PageFrame {
    /// The addresses of the styles, in place of a style inside.
    pub styles: Vec<&'static str>,
    /// What stands above it, as HTML.
    pub head: String,
}

/// The style of a page in a frame, besides the inks.
pub const STYLE: &str = include_str!("templates/report.css");

/// Renders the page.
pub fn page(report: &Report, zone: &TimeZone, language: Language) -> anyhow::Result<String> {
    let Some(policy) = report.policies.first() else {
        anyhow::bail!("there is nothing to report");
    };
    let view = View { report, policy, zone, language };
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
    let view = View { report, policy, zone, language };
    Ok(ReportPage { frame: Some(frame), ..view.page() }.render()?)
}

struct View<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    zone: &'a TimeZone,
    language: Language,
}

impl<'a> View<'a> {
    fn is_ledger(&self) -> bool {
        self.report.source == ReportSource::Ledger
    }

    fn page(&self) -> ReportPage<'a> {
        let (report, policy, l) = (self.report, self.policy, self.language);
        let unanswered =
            policy.unanswered.map(|found| sentences::unanswered(found, report.source, l));
        let all_spoken = policy.moments.wrong + policy.moments.spoke;
        ReportPage {
            l,
            tag: l.tag(),
            ink: include_str!("../web/static/ink.css"),
            style: STYLE,
            frame: None,
            title: texts::title(l, &report.persona),
            kicker: match self.is_ledger() {
                true => texts::kicker_ledger(l),
                false => texts::kicker_replay(l),
            },
            headline: sentences::headline(report, policy, l),
            unknown: sentences::verdicts_unknown(policy, l),
            cost_sentence: sentences::cost_sentence(report, policy, l),
            judged: (report.source == ReportSource::Builtin)
                .then(|| parts(texts::judged_by_builtin(l))),
            only_asked_again: sentences::only_asked_again(policy, l),
            intro: self.intro(),
            settings: (report.policies.len() == 1)
                .then(|| Some(setting_words::of_one(policy.settings.as_deref()?, l)))
                .flatten(),
            tiles: self.tiles(),
            shown_policy: (report.policies.len() > 1).then(|| texts::shown_policy(l, &policy.name)),
            spoken_label: match self.is_ledger() {
                true => texts::spoken_ledger(l),
                false => texts::spoken(l),
            },
            channels: self.channels(),
            hours: HoursView::new(report, policy, l),
            asides: self.asides(),
            moments_rule: texts::moments_rule(
                l,
                &words::times(all_spoken, l),
                &words::count(policy.moments.wrong),
                &words::count(policy.moments.spoke),
                &words::count(policy.moments.silent),
            ),
            groups: self.groups(),
            first: self.first(),
            unanswered_rule: match policy.unanswered {
                Some(found) if found.is_annotated => texts::unanswered_annotated(l),
                Some(_) => texts::unanswered_silence(l),
                None if policy.spoke.is_none() => texts::unanswered_unjudged(l),
                None => texts::unanswered_unknown(l),
            },
            unanswered,
            persona: &report.persona,
            timing: policy.timing.map(|timing| TimingView::new(&timing, &report.persona, l)),
            cost_basis: self.cost_basis(),
            cost_real: self.cost_real(),
            cost_period: self.cost_period(),
            costs: self.costs(),
            policies: PoliciesView::new(report, self.zone, l),
            next: NextSteps::new(report, policy, l),
            notes: notes(report, policy, l),
        }
    }

    fn money(&self, amount: f64) -> String {
        words::money(amount, &self.report.currency, self.language)
    }

    fn intro(&self) -> String {
        let (report, l) = (self.report, self.language);
        let messages = words::number_of(counted::messages, report.messages, l);
        let people = words::number_of(counted::people, report.people, l);
        let date = |at| words::date(at, self.zone, l);
        let (from, to) = (date(report.period.from), date(report.period.to));
        let dates = if from == to { from } else { texts::dates(l, &from, &to) };
        match self.is_ledger() {
            true => texts::intro_ledger(l, &report.persona, &messages, &people, &dates),
            false => texts::intro_replay(l, &report.persona, &messages, &people, &dates),
        }
    }

    fn tiles(&self) -> Vec<Tile> {
        let (policy, l) = (self.policy, self.language);
        let source = self.report.source;
        let rate = policy.per_day.map(|per_day| words::rate(per_day, l));
        let busiest = policy.busiest_day.filter(|most| *most > 1);
        let rate = rate.map(|rate| match busiest {
            Some(most) => texts::busiest_day(l, &rate, &words::count(most)),
            None => rate,
        });
        let unknown_rate = match policy.spoke {
            None => sentences::because_unknown(self.report, l),
            Some(_) => texts::for_days(l),
        };
        let times = match policy.spoke {
            Some(1) => texts::time(l),
            Some(_) | None => texts::times(l),
        };
        let spoke = Tile {
            value: policy.spoke.map_or(words::UNKNOWN.to_owned(), words::count),
            label: match source {
                ReportSource::Ledger => texts::figure_spoke_ledger(l, times),
                ReportSource::AlwaysSpeak => texts::figure_spoke_at_most(l, times),
                ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::Model => {
                    texts::figure_spoke(l, times)
                }
            },
            note: rate.unwrap_or_else(|| unknown_rate.to_owned()),
            is_warning: false,
        };
        let judged = policy.wrong.zip(policy.spoke).filter(|(_, spoke)| *spoke > 0);
        let wrong = Tile {
            value: policy.wrong.map_or(words::UNKNOWN.to_owned(), words::count),
            label: texts::figure_wrong(l).to_owned(),
            note: match judged.map(|(wrong, spoke)| per_100(wrong, spoke)) {
                None => String::new(),
                Some(None) => texts::figure_wrong_rule(l).to_owned(),
                Some(Some(rate)) => {
                    let share = words::percent(rate / 100.0);
                    texts::two_notes(l, &share, texts::figure_wrong_rule(l))
                }
            },
            is_warning: policy.wrong.is_some_and(|wrong| wrong > 0),
        };
        let done = sentences::at_open_question(source, l);
        let picked_up = Tile {
            value: policy.unanswered.map_or(words::UNKNOWN.to_owned(), |found| {
                let (part, whole) = (words::count(found.picked_up), words::count(found.questions));
                texts::of_total(l, &part, &whole)
            }),
            label: match policy.unanswered {
                Some(found) if !found.is_annotated => texts::figure_picked_up_in_hour(l, done),
                Some(_) | None => texts::figure_picked_up(l, done),
            },
            note: match (policy.unanswered, policy.spoke) {
                (Some(_), _) => String::new(),
                (None, None) => sentences::because_unknown(self.report, l).to_owned(),
                (None, Some(_)) => texts::unanswered_unknown(l).to_owned(),
            },
            is_warning: false,
        };
        vec![spoke, wrong, picked_up, self.cost_tile()]
    }

    fn cost_tile(&self) -> Tile {
        let l = self.language;
        let tile = |value: String, note: String| Tile {
            value,
            label: texts::figure_cost(l).to_owned(),
            note,
            is_warning: false,
        };
        // What a judge spent in a replay leaves out the replies.
        let spent = self.policy.spent.filter(|spent| spent.total > 0.0 && self.is_ledger());
        if let Some(month) = spent.and_then(|spent| spent.per_month) {
            return tile(self.money(month), texts::figure_cost_spent(l).to_owned());
        }
        if self.is_ledger() && self.policy.used_no_tokens() {
            return tile(texts::cost_nothing(l).to_owned(), texts::cost_builtin(l).to_owned());
        }
        match self.policy.known_cost() {
            Some((model, month)) => tile(self.money(month), texts::figure_cost_with(l, model)),
            None => tile(words::UNKNOWN.to_owned(), self.unknown_cost().to_owned()),
        }
    }

    fn unknown_cost(&self) -> &'static str {
        let (calls, l) = (self.policy.calls, self.language);
        match () {
            () if self.report.period.days < 1.0 => texts::for_days(l),
            () if calls.judge_calls == 0 => texts::cost_no_calls(l),
            () if calls.judge_tokens == 0 => texts::cost_no_tokens(l),
            () => texts::cost_no_price(l),
        }
    }

    fn channels(&self) -> Vec<ChannelRow> {
        let l = self.language;
        let mut sorted: Vec<&ChannelFigures> = self.policy.by_channel.iter().collect();
        sorted.sort_by_key(|channel| {
            (std::cmp::Reverse((channel.spoke, channel.messages)), &channel.name)
        });
        // A table of one row compares nothing: its figures stand above.
        if sorted.len() < 2 {
            return Vec::new();
        }
        let most = sorted.first().map_or(1, |channel| channel.spoke.max(1));
        let (shown, rest) = sorted.split_at(sorted.len().min(MAX_CHANNELS));
        let mut rows: Vec<ChannelRow> =
            shown.iter().map(|channel| self.channel_row(channel, most, None)).collect();
        if !rest.is_empty() {
            let sum = sum_up(rest, String::new());
            rows.push(self.channel_row(
                &sum,
                most,
                Some(words::number_of(counted::more_channels, rest.len(), l)),
            ));
        }
        let all = sum_up(&sorted, String::new());
        let label = Some(texts::all_channels(l).to_owned());
        // The sum has no bar: it would dwarf the others.
        let row = self.channel_row(&all, most, label);
        rows.push(ChannelRow { fine_width: 0.0, wrong_width: 0.0, ..row });
        rows
    }

    fn channel_row(
        &self,
        channel: &ChannelFigures,
        most: usize,
        label: Option<String>,
    ) -> ChannelRow {
        let l = self.language;
        let is_known = self.policy.spoke.is_some();
        let shown = |number: usize| match is_known {
            true => words::count(number),
            false => words::UNKNOWN.to_owned(),
        };
        let days = self.report.period.days;
        let per_day = (days >= 1.0 && is_known && channel.spoke > 0)
            .then(|| words::rate(channel.spoke as f64 / days, l));
        let width = |number: usize| (number as f64 / most as f64 * 100.0).min(100.0);
        ChannelRow {
            name: label.unwrap_or_else(|| words::channel(&channel.name)),
            spoke: shown(channel.spoke),
            rate: per_day.unwrap_or_else(|| words::UNKNOWN.to_owned()),
            wrong: shown(channel.wrong),
            wrong_rate: words::of_100(per_100(channel.wrong, channel.spoke)),
            messages: words::count(channel.messages),
            fine_width: width(channel.spoke - channel.wrong.min(channel.spoke)),
            wrong_width: width(channel.wrong),
            label: match is_known {
                true => {
                    let (spoke, wrong) = (channel.spoke, channel.wrong);
                    texts::bar_label(l, &words::times(spoke, l), &words::times(wrong, l))
                }
                false => words::UNKNOWN.to_owned(),
            },
        }
    }

    fn asides(&self) -> Vec<String> {
        let (policy, l, is_ledger) = (self.policy, self.language, self.is_ledger());
        let mentions = (policy.answered_mentions > 0).then(|| {
            let times = words::times(policy.answered_mentions, l);
            if is_ledger { texts::mentions_ledger(l, &times) } else { texts::mentions(l, &times) }
        });
        let reactions = (policy.reacted > 0).then(|| {
            let times = words::times(policy.reacted, l);
            if is_ledger { texts::reactions_ledger(l, &times) } else { texts::reactions(l, &times) }
        });
        mentions.into_iter().chain(reactions).collect()
    }

    fn groups(&self) -> Vec<StoryGroup> {
        let l = self.language;
        let kinds = [
            (StoryKind::Spoke, texts::moments_spoke(l)),
            (StoryKind::Wrong, texts::moments_wrong(l)),
            (StoryKind::Silent, texts::moments_silent(l)),
        ];
        let tell = |story: &Story| StoryView::new(story, self.report, self.zone, l);
        let groups = kinds.into_iter().map(|(kind, heading)| {
            let stories = self.policy.stories.iter().filter(|story| story.kind == kind);
            StoryGroup { heading, stories: stories.map(tell).collect() }
        });
        groups.filter(|group| !group.stories.is_empty()).collect()
    }

    fn first(&self) -> FirstView {
        let (first, l) = (self.policy.first_answers, self.language);
        let leads = words::rough_durations(&[first.its_lead, first.persons_lead], l);
        let part = |count: usize, class: &'static str, text: String| {
            let width = count as f64 / first.taken_up.max(1) as f64 * 100.0;
            (words::count(count), width, class, text)
        };
        let nobody = match first.is_annotated {
            true => texts::first_nobody(l),
            false => texts::first_nobody_in_hour(l),
        };
        let parts = [
            part(first.nobody_else, "nobody", nobody.to_owned()),
            part(first.it_first, "own", texts::first_it(l, &leads[0])),
            part(first.person_first, "people", texts::first_person(l, &leads[1])),
        ];
        FirstView {
            sentence: match (first.taken_up, self.policy.spoke.unwrap_or(first.taken_up)) {
                (0, _) if self.policy.spoke.is_none() => texts::first_unknown(l).to_owned(),
                (0, 0) => texts::first_none(l).to_owned(),
                (0, spoke) => texts::first_unknown_about(l, &words::times(spoke, l)),
                (known, spoke) if known == spoke => texts::first_of(l, &words::times(spoke, l)),
                (known, spoke) => {
                    texts::first_of_known(l, &words::times(spoke, l), &words::count(known))
                }
            },
            parts: parts.into_iter().filter(|(_, width, ..)| *width > 0.0).collect(),
            rule: match (first.is_annotated, first.has_replies) {
                (true, _) => texts::first_annotated(l),
                (false, true) => texts::first_partly_guessed(l),
                (false, false) => texts::first_guessed(l),
            },
        }
    }

    fn cost_basis(&self) -> String {
        let (calls, l) = (self.policy.calls, self.language);
        let each = |tokens: u64, calls: u64| match (tokens, calls) {
            (0, _) | (_, 0) => words::UNKNOWN.to_owned(),
            (tokens, calls) => words::count((tokens / calls) as usize),
        };
        let judges = words::number_of(counted::judge_calls, calls.judge_calls as usize, l);
        let judges = match calls.second_looks {
            None | Some(0) => judges,
            Some(looks) => texts::with_second_looks(l, &judges, &words::count(looks as usize)),
        };
        let replies = words::number_of(counted::replies, calls.reply_calls as usize, l);
        let date = self.report.prices_of;
        match self.is_ledger() {
            true => texts::cost_basis_ledger(l, &judges, &replies, date),
            false => texts::cost_basis(
                l,
                &judges,
                &replies,
                &each(calls.judge_tokens, calls.judge_calls),
                &each(calls.reply_tokens, calls.reply_calls),
                date,
            ),
        }
    }

    fn cost_real(&self) -> Option<String> {
        let spent = self.policy.spent.filter(|spent| spent.total > 0.0)?;
        let month = spent.per_month.map_or(words::UNKNOWN.to_owned(), |month| self.money(month));
        let (total, l) = (self.money(spent.total), self.language);
        Some(match self.is_ledger() {
            true => texts::cost_real(l, &words::period(self.report.period.days, l), &total, &month),
            false => texts::cost_judged(l, &total, &month),
        })
    }

    /// How the cost of the period and that of a month go together, with the first model whose cost is known.
    fn cost_period(&self) -> Option<String> {
        let l = self.language;
        // A judge that never wants to speak chooses no moments.
        if self.report.source == ReportSource::AlwaysSilent {
            return None;
        }
        if self.is_ledger() && self.policy.spent.is_some_and(|spent| spent.total > 0.0) {
            return None;
        }
        let (model, month) = self.policy.known_cost()?;
        let cost = self.policy.costs.iter().find(|cost| cost.model == model)?;
        let (total, month) = (self.money(cost.total?), self.money(month));
        let period = words::period(self.report.period.days, l);
        Some(texts::cost_period(l, &period, &total, model, &month))
    }

    fn costs(&self) -> Vec<(String, String, String)> {
        let l = self.language;
        let free = || texts::cost_nothing(l).to_owned();
        let builtin = (texts::cost_builtin(l).to_owned(), free(), free());
        let models = self.policy.costs.iter().map(|cost| {
            let total = cost.total.map(|total| self.money(total));
            let month = cost.per_month.map(|month| self.money(month));
            let unknown = || format!("{} ({})", words::UNKNOWN, self.unknown_cost());
            let total = total.unwrap_or_else(|| words::UNKNOWN.to_owned());
            (cost.model.clone(), total, month.unwrap_or_else(unknown))
        });
        [builtin].into_iter().chain(models).collect()
    }
}

fn sum_up(channels: &[&ChannelFigures], name: String) -> ChannelFigures {
    let sum = |value: fn(&ChannelFigures) -> usize| channels.iter().map(|one| value(one)).sum();
    ChannelFigures {
        name,
        messages: sum(|one| one.messages),
        spoke: sum(|one| one.spoke),
        wrong: sum(|one| one.wrong),
        wrong_per_100: None,
    }
}
