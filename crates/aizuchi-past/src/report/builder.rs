//! Builds a report, policy by policy and channel by channel. Of a channel, only the figures and the best moments stay
//! in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use aizuchi_config::Config;
use aizuchi_config::chosen::names_model;
use aizuchi_import::history::RecordedChannel;
use aizuchi_llm::model::ModelId;
use aizuchi_llm::price::LIST_DATE;
use aizuchi_model::chat::MessageId;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::replay::Policy;
use crate::replay::moments::{CallCount, Moments};
use crate::report::channel::{ChannelAnalysis, ChannelReport, ChannelSums, Names};
use crate::report::cost::{CostBasis, DAYS_OF_MONTH, PricedModel, begin_of_last_days};
use crate::report::delays::Timing;
use crate::report::differences::{self, Decided};
use crate::report::figures::{
    ActualCost, CallFigures, ChannelFigures, FirstAnswers, HourFigures, LeftOut, Period,
    PlacePosts, PolicyFigures, PostedFigures, Report, ReportSource,
};
use crate::report::interruptions::per_100;
use crate::report::months::{MonthFigures, MonthSums};
use crate::report::settings::{PolicySetting, settings_of};
use crate::report::story_selection::{Candidate, Example, choose, choose_of};

const SECONDS_OF_DAY: f64 = 86_400.0;
/// The maximum number of answers to mentions that are shown, and of reactions.
const MAX_BESIDE: usize = 3;

/// The options of a report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    pub source: ReportSource,
    pub persona: String,
    pub zone: TimeZone,
    pub costs: CostBasis,
    /// The model that judged, in a replay with one.
    pub judge: Option<PricedModel>,
    /// Whether the config names a model, even if the replay uses another one.
    pub names_model: bool,
    pub latency_ms: Option<u64>,
    /// The number of policies that will be compared.
    pub policies: usize,
}

impl ReportOptions {
    /// For this config.
    pub fn new(config: &Config, source: ReportSource, zone: TimeZone) -> Self {
        let resolved = [&config.minds.judgment.model.id, &config.minds.response.model.id];
        // A replay that asks no model resolves none.
        let agents = [&config.agents.judgment, &config.agents.response].into_iter().flatten();
        let named = agents.filter_map(|agent| agent.model_id.as_ref());
        let hosted = resolved.into_iter().chain(named).filter(|id| **id != ModelId::Builtin);
        Self {
            source,
            persona: config.persona.name.0.clone(),
            zone,
            costs: CostBasis {
                prices: config.prices(),
                currency: config.models.currency.0.clone(),
                configured: hosted.map(ToString::to_string).collect(),
            },
            judge: None,
            names_model: names_model(&config.agents),
            latency_ms: None,
            policies: 1,
        }
    }
}

pub struct ReportBuilder {
    options: ReportOptions,
    names: Names,
    /// All names under which each author wrote, except the id.
    all_names: HashMap<String, BTreeSet<String>>,
    /// The authors, in the order of their first messages.
    authors: Vec<String>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    policies: Vec<PolicySums>,
    /// Stories of messages that some policies take up and others do not.
    apart: Vec<Candidate>,
}

/// The sums of one policy over its channels.
struct PolicySums {
    name: String,
    with_default_limits_of: Vec<String>,
    settings: Option<Vec<PolicySetting>>,
    channels: Vec<ChannelFigures>,
    sums: ChannelSums,
    judge_calls: CallCount,
    second_looks: u64,
    reply_calls: CallCount,
    judge_answers: CallCount,
    decided: Decided,
    spent: Option<f64>,
}

/// A finished report and its authors in the order of their first messages, which the replacement of names needs.
pub struct BuiltReport {
    pub report: Report,
    /// The people who wrote: their ids, and the names under which they wrote, or the id if there are none. Bots are
    /// left out, so that they keep their names.
    pub authors: Vec<(String, Vec<String>)>,
}

impl ReportBuilder {
    pub fn new(options: ReportOptions) -> Self {
        Self {
            options,
            names: Names::new(),
            all_names: HashMap::new(),
            authors: Vec::new(),
            first: None,
            last: None,
            policies: Vec::new(),
            apart: Vec::new(),
        }
    }

    /// Begins a policy. The channels that follow belong to it.
    pub fn begin_policy(&mut self, name: &str) {
        self.policies.push(PolicySums::new(name));
    }

    /// Begins a policy of a replay. The channels that follow belong to it.
    pub fn begin_replay(&mut self, policy: &Policy) {
        let settings = Some(settings_of(policy));
        self.policies.push(PolicySums {
            settings,
            with_default_limits_of: policy.with_default_limits_of.clone(),
            ..PolicySums::new(&policy.name)
        });
    }

    /// Adds a channel to the current policy.
    pub fn add(&mut self, channel: &RecordedChannel, moments: &Moments) -> anyhow::Result<()> {
        self.learn_names(channel);
        let (first, last) = (channel.rows.first(), channel.rows.last());
        if let (Some(first), Some(last)) = (first, last) {
            self.include(first.at(), last.at());
        }
        let (source, persona) = (self.options.source, &*self.options.persona);
        let analysis = ChannelAnalysis::new(channel, moments, &self.names, source, persona);
        let report = analysis.report(&self.options.zone)?;
        let is_compared = self.options.policies > 1;
        let earlier = self.policies.split_last().map_or(&[][..], |(_, earlier)| earlier);
        for other in earlier {
            self.apart.extend(apart(&analysis, &report, &other.decided)?);
        }
        if let Some(policy) = self.policies.last_mut() {
            if is_compared {
                policy.decided.add(&channel.name, &moments.moments, &report.taken_up);
                let (all, posted) = (&report.picked_up, &report.posted_picked_up);
                policy.decided.add_picked_up(&channel.name, all, posted);
            }
            policy.add(report, moments);
        }
        if self.policies.len() >= self.options.policies {
            let done = self.policies.iter_mut();
            done.for_each(|policy| policy.decided.forget_spoken(&channel.name));
        }
        Ok(())
    }

    /// Extends the period, if it is shorter than this.
    pub fn include(&mut self, from: Timestamp, to: Timestamp) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = Some(self.last.map_or(to, |last| last.max(to)));
    }

    /// Adds what the models cost.
    pub fn add_spent(&mut self, micros: u64) {
        if let Some(policy) = self.policies.last_mut() {
            *policy.spent.get_or_insert(0.0) += micros as f64 / 1e6;
        }
    }

    fn learn_names(&mut self, channel: &RecordedChannel) {
        for author in channel.rows.authors() {
            let id = author.id.to_string();
            match self.names.get(&id) {
                None => self.authors.extend((!author.is_bot).then(|| id.clone())),
                // A name is better than the id.
                Some(known) if *known == id => {}
                Some(_) => continue,
            }
            let name = author.name.as_deref().unwrap_or(&id).to_owned();
            self.names.insert(id, name);
        }
        for (author, name) in channel.rows.names().filter(|(author, name)| author != name) {
            self.all_names.entry(author.to_string()).or_default().insert(name.to_string());
        }
    }

    pub fn finish(self, left_out: LeftOut) -> BuiltReport {
        let span = self.first.zip(self.last);
        let days = span
            .map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64() / SECONDS_OF_DAY);
        let sums = self.policies;
        let (channels, messages) = sums.first().map_or((0, 0), |policy| {
            let messages = policy.channels.iter().map(|channel| channel.messages).sum();
            (policy.channels.len(), messages)
        });
        let messages_in_threads = sums.first().map_or(0, |policy| policy.sums.messages_in_threads);
        let options = self.options;
        let figures = |policy: &PolicySums| policy.figures(&options, days, span);
        let policies: Vec<PolicyFigures> = sums.iter().map(figures).collect();
        let decided: Vec<Decided> = sums.into_iter().map(|policy| policy.decided).collect();
        let comparison = differences::compare(&decided, &policies);
        let report = Report {
            source: options.source,
            persona: options.persona,
            period: Period { from: self.first, to: self.last, days },
            zone: options.zone.iana_name().unwrap_or("local").to_owned(),
            channels,
            people: self.authors.len(),
            messages,
            messages_in_threads,
            policies,
            differences: differences::find(&decided, &self.apart),
            comparison,
            left_out,
            is_anonymous: false,
            currency: options.costs.currency,
            prices_of: LIST_DATE,
            latency_ms: options.latency_ms,
            command: None,
            names_model: options.names_model,
        };
        let mut all_names = self.all_names;
        let named = |id: String| {
            let names = all_names.remove(&id).unwrap_or_else(|| BTreeSet::from([id.clone()]));
            let names: Vec<String> = names.into_iter().collect();
            (id, names)
        };
        let authors = self.authors.into_iter().map(named).collect();
        BuiltReport { report, authors }
    }
}

/// Returns stories of messages in a channel that one of two policies takes up and the other does not: the policy that
/// was just analyzed, and an earlier one.
fn apart<'a>(
    analysis: &ChannelAnalysis<'a>,
    report: &ChannelReport,
    earlier: &'a Decided,
) -> anyhow::Result<Vec<Candidate>> {
    let own: HashSet<&MessageId> = report.taken_up.iter().map(|(message, _)| message).collect();
    let channel = analysis.name();
    let only_own =
        analysis.stories(analysis.moments(), |message| !earlier.takes_up(channel, message))?;
    let only_other = analysis.stories(earlier.spoken(channel), |message| !own.contains(message))?;
    Ok(only_own.into_iter().chain(only_other).collect())
}

impl PolicySums {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            with_default_limits_of: Vec::new(),
            settings: None,
            channels: Vec::new(),
            sums: ChannelSums::with_posts(Some(PlacePosts::default())),
            judge_calls: CallCount::default(),
            second_looks: 0,
            reply_calls: CallCount::default(),
            judge_answers: CallCount::default(),
            decided: Decided::new(name),
            spent: None,
        }
    }

    fn add(&mut self, channel: ChannelReport, moments: &Moments) {
        self.judge_calls.add(moments.judge_calls);
        self.second_looks += moments.second_looks;
        self.reply_calls.add(moments.reply_calls);
        self.judge_answers.add(moments.judge_answers);
        self.sums.add(channel.sums);
        let figures = channel.figures;
        let wrong_per_100 = per_100(figures.wrong, figures.spoke);
        self.channels.push(ChannelFigures { wrong_per_100, ..figures });
    }

    fn figures(
        &self,
        options: &ReportOptions,
        days: f64,
        span: Option<(Timestamp, Timestamp)>,
    ) -> PolicyFigures {
        let (sums, first) = (&self.sums, &self.sums.first);
        let is_known =
            options.source != ReportSource::AlwaysSilent && !sums.verdicts.are_all_unknown();
        let spoke = self.channels.iter().map(|channel| channel.spoke).sum::<usize>();
        let wrong = self.channels.iter().map(|channel| channel.wrong).sum::<usize>();
        let per_day = |count: f64| (days >= 1.0).then(|| count / days);
        let (it_first, person_first) = (first.it_first.count(), first.person_first.count());
        let is_spoken = |story: &Candidate| is_known || !self.is_silent_because_scripted(story);
        let told: Vec<Candidate> =
            sums.candidates.iter().filter(|one| is_spoken(one)).cloned().collect();
        let is_builtin = options.source == ReportSource::Builtin && is_known;
        let with_rate = |hour: &HourFigures| HourFigures {
            wrong_per_100: per_100(hour.wrong, hour.spoke),
            posted_without_model: hour.posted_without_model.filter(|_| is_builtin),
            ..*hour
        };
        let with_posts = |channel: &ChannelFigures| ChannelFigures {
            posted_without_model: channel.posted_without_model.filter(|_| is_builtin),
            ..channel.clone()
        };
        let is_long = is_known && days >= 1.0;
        let [busiest, busiest_posted] =
            [&sums.days, &sums.posted_days].map(|days| busiest(days).filter(|_| is_long));
        PolicyFigures {
            name: self.name.clone(),
            with_default_limits_of: self.with_default_limits_of.clone(),
            settings: self.settings.clone(),
            spoke: is_known.then_some(spoke),
            unknown_verdicts: sums.verdicts.unknown,
            observed: sums.observed,
            per_day: per_day(spoke as f64).filter(|_| is_known),
            busiest_day: busiest.map(|(_, most)| most),
            busiest_date: busiest.map(|(date, _)| date),
            wrong: is_known.then_some(wrong),
            only_asked_again: is_builtin.then_some(sums.only_asked_again),
            posted_without_model: is_builtin.then(|| PostedFigures {
                per_month: per_day(sums.posted.spoke as f64).map(|daily| daily * DAYS_OF_MONTH),
                busiest_day: busiest_posted.map(|(_, most)| most),
                busiest_date: busiest_posted.map(|(date, _)| date),
                ..sums.posted
            }),
            in_threads: is_known.then_some(sums.in_threads),
            asker_went_on: is_known.then_some(sums.asker_went_on),
            answered_mentions: sums.answered_mentions,
            called: sums.called.clone(),
            reacted: sums.reacted,
            by_channel: self.channels.iter().map(with_posts).collect(),
            by_hour: sums.hours.iter().map(with_rate).collect(),
            by_month: self.months(span, &options.zone, is_known, is_builtin),
            first_answers: FirstAnswers {
                taken_up: it_first as usize + person_first as usize + first.nobody_else,
                it_first: it_first as usize,
                it_first_undisturbed: first.it_first_undisturbed,
                its_lead: first.it_first.median(),
                person_first: person_first as usize,
                persons_lead: first.person_first.median(),
                nobody_else: first.nobody_else,
                is_annotated: first.is_annotated,
                has_replies: first.has_replies,
            },
            unanswered: Some(sums.unanswered).filter(|found| found.questions > 0 && is_known),
            timing: Timing::new(&sums.own_delays, &sums.user_delays),
            calls: CallFigures {
                judge_calls: self.judge_calls.calls,
                second_looks: (options.source != ReportSource::Ledger).then_some(self.second_looks),
                judge_tokens: self.judge_calls.usage.input_tokens,
                reply_calls: self.reply_calls.calls,
                reply_tokens: self.reply_calls.usage.input_tokens,
                judge_calls_per_day: per_day(self.judge_calls.calls as f64),
                last_days_share: span.and_then(|(_, end)| self.last_days_share(end)),
            },
            costs: options.costs.costs(self.judge_calls, self.reply_calls, days),
            spent: self.spent(options).map(|total| ActualCost {
                total,
                per_month: per_day(total).map(|daily| daily * DAYS_OF_MONTH),
            }),
            moments: sums.moments,
            stories: choose(&told),
            answers_to_calls: choose_of(&sums.candidates, Example::Called, MAX_BESIDE),
            reactions: choose_of(&sums.candidates, Example::Reacted, MAX_BESIDE),
            posts: Some(&sums.posts).filter(|_| is_known && !options.source.is_scripted()).cloned(),
        }
    }

    /// The months of a history from this time to that one.
    fn months(
        &self,
        span: Option<(Timestamp, Timestamp)>,
        zone: &TimeZone,
        is_known: bool,
        is_builtin: bool,
    ) -> Vec<MonthFigures> {
        let Some((from, to)) = span else { return Vec::new() };
        let [from, to] = [from, to].map(|at| zone.to_datetime(at).date());
        let sums = MonthSums {
            messages: &self.sums.months,
            spoken: Some(&self.sums.days).filter(|_| is_known),
            posted: Some(&self.sums.posted_days).filter(|_| is_builtin),
        };
        sums.figures(from, to)
    }

    /// The share of the judged decisions that fall into the last days of a history.
    fn last_days_share(&self, end: Timestamp) -> Option<f64> {
        let all = self.sums.judged_days.values().sum::<usize>();
        let last = self.sums.judged_days.range(begin_of_last_days(end)..).map(|(_, judged)| judged);
        let last = last.sum::<usize>();
        (all > 0).then(|| last as f64 / all as f64)
    }

    /// Returns what was spent: according to the ledger, or on the answers of the replay's model.
    fn spent(&self, options: &ReportOptions) -> Option<f64> {
        self.spent.or_else(|| options.judge.as_ref()?.cost(self.judge_answers))
    }

    /// Whether a silence that no gate explains is meaningless, because the judge always says no.
    fn is_silent_because_scripted(&self, candidate: &Candidate) -> bool {
        candidate.story.reason.is_none()
    }
}

/// Returns the day with the highest count, of several the first, and its count.
fn busiest(days: &BTreeMap<Date, usize>) -> Option<(Date, usize)> {
    let days = days.iter().map(|(date, count)| (*date, *count));
    days.max_by_key(|(date, count)| (*count, std::cmp::Reverse(*date)))
}
