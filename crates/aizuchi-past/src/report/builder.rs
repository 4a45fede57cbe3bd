//! Builds a report, policy by policy and channel by channel. Of a channel, only the figures and a few moments stay in
//! memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aizuchi_config::Config;
use aizuchi_config::models::saved_choice::names_model;
use aizuchi_import::history::RecordedChannel;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::price::LIST_DATE;
use aizuchi_store::figures::CallSum;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::replay::moments::Moments;
use crate::report::channel::{ChannelAnalysis, ChannelReport, Names, ReportSums};
use crate::report::cost::{CostBasis, MemoryCalls, PricedModel, ReplayCalls};
use crate::report::figures::{
    ChannelFigures, CostFigures, DAYS_OF_MONTH, JudgedBy, LeftOut, Period, PolicyFigures,
    PostFigures, Report, ReportSource, Way, WayFigures,
};
use crate::report::moment::choose;

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The options of a report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    pub source: ReportSource,
    pub persona: String,
    pub zone: TimeZone,
    pub costs: CostBasis,
    /// The model that judged, in a replay with one.
    pub judge: Option<PricedModel>,
    /// Who judged, in a replay with verdicts.
    pub judged_by: Option<JudgedBy>,
    /// Whether the config names a model, even if the replay uses another one.
    pub names_model: bool,
    pub latency_ms: Option<u64>,
    /// When the messages of all channels end, if known.
    pub end: Option<Timestamp>,
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
            judged_by: None,
            names_model: names_model(&config.agents),
            latency_ms: None,
            end: None,
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
}

/// The sums of one policy over its channels.
#[derive(Default)]
struct PolicySums {
    name: String,
    channels: Vec<ChannelFigures>,
    sums: ReportSums,
    calls: ReplayCalls,
    /// The hours in which the memory of a channel changed.
    memory_hours: BTreeSet<i64>,
    /// The calls in the ledger.
    ledger_calls: Vec<CallSum>,
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
        }
    }

    /// Begins a policy. The channels that follow belong to it.
    pub fn begin_policy(&mut self, name: &str) {
        self.policies.push(PolicySums { name: name.to_owned(), ..PolicySums::default() });
    }

    /// Adds a channel to the current policy.
    pub fn add(&mut self, channel: &RecordedChannel, moments: &Moments) -> anyhow::Result<()> {
        self.learn_names(channel);
        let (first, last) = (channel.rows.first(), channel.rows.last());
        if let (Some(first), Some(last)) = (first, last) {
            self.include(first.at(), last.at());
        }
        let (source, end, names) = (self.options.source, self.options.end, &self.names);
        let (moments_of_channel, zone) = (&moments.moments, &self.options.zone);
        let analysis =
            ChannelAnalysis { channel, moments: moments_of_channel, names, source, zone, end };
        let report = analysis.report()?;
        let memory = match source {
            ReportSource::Ledger => None,
            _ => Some(MemoryCalls::estimate(channel)?),
        };
        if let Some(policy) = self.policies.last_mut() {
            policy.add(report, moments, memory);
        }
        Ok(())
    }

    /// Adds the model calls of the ledger.
    pub fn add_calls(&mut self, calls: Vec<CallSum>) {
        if let Some(policy) = self.policies.last_mut() {
            policy.ledger_calls.extend(calls);
        }
    }

    /// Extends the period, if it is shorter than this.
    pub fn include(&mut self, from: Timestamp, to: Timestamp) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = Some(self.last.map_or(to, |last| last.max(to)));
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
        let period = Period { from: self.first, to: self.last, days };
        let (channels, messages) = self.policies.first().map_or((0, 0), |policy| {
            let messages = policy.channels.iter().map(|channel| channel.messages).sum();
            (policy.channels.len(), messages)
        });
        let options = self.options;
        let figures = |policy: PolicySums| policy.figures(&options, period);
        let policies = self.policies.into_iter().map(figures).collect();
        let report = Report {
            source: options.source,
            period,
            zone: options.zone.iana_name().unwrap_or("local").to_owned(),
            channels,
            people: self.authors.len(),
            messages,
            policies,
            left_out,
            is_anonymous: false,
            prices_of: LIST_DATE,
            latency_ms: options.latency_ms,
            judged_by: options.judged_by,
            names_model: options.names_model,
            persona: options.persona,
            currency: options.costs.currency,
        };
        let mut all_names: BTreeMap<String, BTreeSet<String>> =
            self.all_names.into_iter().collect();
        let named = |id: String| {
            let names = all_names.remove(&id).unwrap_or_else(|| BTreeSet::from([id.clone()]));
            (id, names.into_iter().collect())
        };
        BuiltReport { report, authors: self.authors.into_iter().map(named).collect() }
    }
}

impl PolicySums {
    fn add(&mut self, channel: ChannelReport, moments: &Moments, memory: Option<MemoryCalls>) {
        self.channels.push(channel.figures);
        self.sums.add(channel.sums);
        self.calls.checks.add(moments.judge_calls);
        self.calls.answers.add(moments.judge_answers);
        self.calls.replies.add(moments.reply_calls);
        if let Some(memory) = memory {
            self.calls.memory.add(memory.calls);
            self.memory_hours.extend(memory.hours);
        }
    }

    fn figures(mut self, options: &ReportOptions, period: Period) -> PolicyFigures {
        let (sums, mut all) = (self.sums, PostFigures::default());
        self.channels.iter().for_each(|channel| all.add(channel.posts));
        let checks = self.channels.iter().map(|channel| channel.checks).sum();
        let is_known = options.source.has_verdicts()
            && (sums.known_verdicts > 0 || sums.unknown_verdicts == 0);
        let posts = is_known.then_some(all);
        self.calls.memory.add(MemoryCalls::of_workspace(&self.memory_hours));
        let cost = match options.source {
            ReportSource::Ledger => CostFigures::from_ledger(&self.ledger_calls),
            _ => options.costs.replay(self.calls, options.judge.as_ref()),
        };
        // Without a check, it is not known when the persona would speak.
        let ways_posts = posts.filter(|posts| checks > 0 || posts.count > 0);
        // What was only wanted was not written, and a judge that always says no leaves replies unwritten.
        let has_all_replies = sums.unposted == 0
            && options.source != ReportSource::AlwaysSilent
            && (options.source != ReportSource::Ledger || ways_posts.is_some());
        PolicyFigures {
            name: self.name,
            posts,
            unposted: sums.unposted,
            unknown_verdicts: sums.unknown_verdicts,
            checks,
            open_questions: sums.open_questions,
            answers: sums.answers,
            reactions: sums.reactions,
            without_model: (options.source == ReportSource::Builtin).then_some(sums.without_model),
            ways: ways(
                ways_posts,
                all.count - sums.unposted.min(all.count),
                sums.answers,
                &CostFigures { total: cost.total.filter(|_| has_all_replies), ..cost.clone() },
                period,
            ),
            cost,
            by_channel: self.channels,
            by_hour: sums.hours.to_vec(),
            moments: choose(sums.moments),
        }
    }
}

/// The ways to run the persona. `unasked` is how many replies it wrote without being asked, at least by the rules that
/// stand in for a model. The total of the `cost` is `None` if it lacks the replies of some posts.
fn ways(
    posts: Option<PostFigures>,
    unasked: usize,
    answers: usize,
    cost: &CostFigures,
    period: Period,
) -> Vec<WayFigures> {
    let per_month = |price: Option<f64>| period.per_days(price?, DAYS_OF_MONTH);
    // Replies are of about the same length, asked or unasked.
    let share = answers as f64 / (answers + unasked).max(1) as f64;
    let asked = cost.replies.map(|replies| replies * share);
    let when_asked = asked.zip(cost.memory).map(|(replies, memory)| replies + memory);
    [Way::OnlyWhenAsked, Way::ProposesFirst, Way::JoinsIn]
        .map(|way| {
            let (posts, price) = match way {
                Way::OnlyWhenAsked => (Some(PostFigures::default()), when_asked),
                Way::ProposesFirst | Way::JoinsIn => (posts, cost.total),
            };
            WayFigures {
                way,
                posts,
                posts_per_week: posts.and_then(|posts| period.per_days(posts.count as f64, 7.0)),
                price_per_month: per_month(price),
            }
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_only_asked_pays_for_no_check() {
        let cost = CostFigures {
            checks: Some(6.0),
            replies: Some(4.0),
            memory: Some(1.0),
            total: Some(11.0),
            ..CostFigures::default()
        };
        let period = Period { from: None, to: None, days: DAYS_OF_MONTH };
        let posts =
            Some(PostFigures { count: 3, at_open_questions: 1, before_people: 1, in_mid_talk: 2 });
        let found = ways(posts, 3, 1, &cost, period);
        let cents = |way: &WayFigures| (way.price_per_month.unwrap() * 100.0).round();
        assert_eq!(found.iter().map(cents).collect::<Vec<_>>(), [200.0, 1100.0, 1100.0]);
        assert_eq!(found[0].posts, Some(PostFigures::default()));
        let short = Period { days: 0.5, ..period };
        let without_total = CostFigures { total: None, ..cost.clone() };
        let unwritten = ways(None, 0, 1, &without_total, period);
        assert_eq!(unwritten[1].price_per_month.or(unwritten[2].price_per_month), None);
        assert!(unwritten[0].price_per_month.is_some());
        let found = ways(None, 0, 0, &cost, short);
        assert!(
            found.iter().all(|way| way.price_per_month.is_none() && way.posts_per_week.is_none())
        );
        assert_eq!((found[0].posts.is_some(), found[2].posts), (true, None));
    }
}
