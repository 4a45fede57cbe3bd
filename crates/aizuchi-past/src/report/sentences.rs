//! What a report says in sentences, for the page and for the terminal.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::Name;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::judging::gate_reason;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::report as texts;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::replay::moments::Reason;
use crate::report::code::{TextPart, parts};
use crate::report::cost;
use crate::report::figures::{
    DAYS_OF_MONTH, JudgedBy, LeftOut, LeftOutRecords, Period, PolicyFigures, PostFigures, Privacy,
    Report, ReportSource, Way, WayFigures,
};
use crate::report::format;
use crate::report::moment::{MomentAct, MomentGroup, ReportMoment};

/// Says how often the persona spoke, or would have, and what to do if that is not known.
pub fn headline(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let l = language;
    let Some(posts) = policy.posts else {
        return match report.source.has_verdicts() {
            true => vec![texts::all_verdicts_unknown(l, &report.persona)],
            false => vec![texts::needs_model(l, &report.persona), find_out(report, policy, l)],
        };
    };
    let said = match report.source {
        ReportSource::Ledger => ledger_headline(report, policy, posts, l),
        _ => replay_headline(report, posts, l),
    };
    let shown = policy.moments.iter().filter(|one| one.group != MomentGroup::Silence).count();
    let here = match posts.count {
        0 => None,
        all if all == shown => Some(texts::here_they_are(l).to_owned()),
        _ => Some(texts::here_are_some(l, &format::number_of(counted::of_them, shown, l))),
    };
    let first = match here.filter(|_| shown > 0) {
        Some(here) => texts::two_sentences(l, &said, &here),
        None => said,
    };
    let unknown = (policy.unknown_verdicts > 0)
        .then(|| texts::verdicts_unknown(l, &format::times(policy.unknown_verdicts, l)));
    let unasked = (report.source == ReportSource::Ledger && policy.checks == 0)
        .then(|| texts::find_out_from_store(l, &ask_from_store(report, policy)));
    [Some(first), unknown, unasked].into_iter().flatten().collect()
}

fn replay_headline(report: &Report, posts: PostFigures, language: Language) -> String {
    let l = language;
    let (channels, name) = (your_channels(report, l), &*report.persona);
    if posts.count == 0 {
        let period = format::period(report.period.days, l);
        return texts::would_have_kept_silent(l, &channels, name, &period);
    }
    let per_month = report.period.per_days(posts.count as f64, DAYS_OF_MONTH);
    let times = format::times(posts.count, l);
    let rate = match per_month {
        Some(month) => {
            let period = format::period(report.period.days, l);
            texts::times_and_rate(l, &times, &period, &format::monthly(month, l))
        }
        None => times,
    };
    match report.source {
        ReportSource::AlwaysSpeak => texts::would_have_spoken_at_most(l, &channels, name, &rate),
        _ => texts::would_have_spoken(l, &channels, name, &rate),
    }
}

fn ledger_headline(
    report: &Report,
    policy: &PolicyFigures,
    posts: PostFigures,
    language: Language,
) -> String {
    let l = language;
    let (channels, name) = (your_channels(report, l), &*report.persona);
    let period = format::past_period(report.period.days, l);
    let unposted = policy.unposted;
    let spoke = posts.count.saturating_sub(unposted);
    let [times, would] = [spoke, unposted].map(|count| format::times(count, l));
    match (spoke, unposted) {
        (0, 0) => texts::spoke_never(l, &period, &channels, name),
        (0, _) => texts::would_where_silent(l, &period, &channels, name, &would),
        (_, 0) => texts::spoke(l, &period, &channels, name, &times),
        (_, _) => texts::spoke_and_would(l, &period, &channels, name, &times, &would),
    }
}

fn your_channels(report: &Report, language: Language) -> String {
    match report.channels {
        1 => texts::your_channel(language).to_owned(),
        several => {
            let channels = format::number_of(counted::channels, several, language);
            texts::your_channels(language, &channels)
        }
    }
}

/// The command that asks a model about what was said, in place of a replay of the ledger's.
fn ask_from_store(report: &Report, policy: &PolicyFigures) -> String {
    let model = model_option(report, policy);
    format!("aizuchi replay --from-store --judge model{model} --report report.html")
}

/// The price up to which a model is asked about the whole history. Of one that costs more, the newest days are asked about
/// that cost half of it.
const MOST_TO_TRY: f64 = 2.0;

/// What it costs to ask a model about all policies, in one run under one limit. `None` if a price is not known.
fn to_ask(report: &Report) -> Option<f64> {
    report.policies.iter().map(|policy| policy.cost.to_ask).sum()
}

/// The newest days that a model is asked about in place of all, their begin, and their price.
fn newest_days(report: &Report) -> Option<(f64, Date, f64)> {
    newest_days_of(report.period, to_ask(report)?)
}

fn newest_days_of(period: Period, price: f64) -> Option<(f64, Date, f64)> {
    // Less than two days have no newest ones.
    let end = period.to.filter(|_| price > MOST_TO_TRY && period.days >= 2.0)?;
    let days = (period.days * MOST_TO_TRY / 2.0 / price).floor().max(1.0);
    // `--from` takes a date in UTC.
    let begin = end.to_zoned(TimeZone::UTC).date().checked_sub((days as i64).days()).ok()?;
    Some((days, begin, price * days / period.days))
}

/// Says what to run to see where the persona would have spoken, and what that costs.
fn find_out(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let (l, command) = (language, ask_options(report, policy));
    let Some(whole) = to_ask(report) else { return texts::find_out_unpriced(l, &command) };
    let whole = estimated(whole, report, l);
    let Some((days, _, price)) = newest_days(report) else {
        return texts::find_out(l, &command, &whole);
    };
    let (period, price) = (format::past_period(days, l), estimated(price, report, l));
    texts::find_out_newest(l, &period, &command, &price, &whole)
}

/// The options that make a replay ask a model, with a limit on what it costs.
fn ask_options(report: &Report, policy: &PolicyFigures) -> String {
    let model = model_option(report, policy);
    if let Some((_, begin, price)) = newest_days(report) {
        let limit = cost::limit(price);
        return format!("--from {begin} --judge model{model} --max-cost {limit:.0}");
    }
    match to_ask(report) {
        Some(price) => format!("--judge model{model} --max-cost {:.0}", cost::limit(price)),
        // Without a price, only the number of calls can be limited.
        None => {
            let checks: usize = report.policies.iter().map(|policy| policy.checks).sum();
            format!("--judge model{model} --max-calls {:.0}", cost::limit(checks as f64))
        }
    }
}

/// The option that names a model, if the config names none.
fn model_option(report: &Report, policy: &PolicyFigures) -> String {
    let model = policy.cost.model.as_deref().or(cost::COMMON_MODELS.first().copied());
    let model = model.filter(|_| !report.names_model);
    model.map(|model| format!(" --model {model}")).unwrap_or_default()
}

fn estimated(price: f64, report: &Report, language: Language) -> String {
    format::estimated_money(price, &report.currency, language)
}

/// A row of the table of the ways to run the persona.
pub struct WayRow {
    pub name: String,
    pub means: &'static str,
    /// The numbers that [`post_labels`] names, or what to do to know them.
    pub posts: Result<[String; 4], Vec<TextPart>>,
    pub price: String,
}

/// The headings of the numbers of posts.
pub fn post_labels(report: &Report, language: Language) -> [&'static str; 4] {
    let l = language;
    let posts = match report.period.days {
        1.0.. => texts::posts_a_week(l),
        _ => texts::posts_in_period(l),
    };
    [posts, texts::at_open_questions(l), texts::before_people(l), texts::in_mid_talk(l)]
}

/// Returns the three ways, and for each further policy how it joins in.
pub fn way_rows(report: &Report, language: Language) -> Vec<WayRow> {
    let Some((first, others)) = report.policies.split_first() else { return Vec::new() };
    let mut rows: Vec<WayRow> =
        first.ways.iter().map(|way| way_row(report, first, way, language)).collect();
    for policy in others {
        let joins_in = policy.ways.iter().filter(|way| way.way == Way::JoinsIn);
        rows.extend(joins_in.map(|way| {
            let row = way_row(report, policy, way, language);
            WayRow { name: texts::with_policy(language, &row.name, &policy.name), ..row }
        }));
    }
    rows
}

fn way_row(
    report: &Report,
    policy: &PolicyFigures,
    way: &WayFigures,
    language: Language,
) -> WayRow {
    let l = language;
    let (name, means) = match way.way {
        Way::OnlyWhenAsked => (texts::only_when_asked(l), texts::only_when_asked_means(l)),
        Way::ProposesFirst => (texts::proposes_first(l), texts::proposes_first_means(l)),
        Way::JoinsIn => (texts::joins_in(l), texts::joins_in_means(l)),
    };
    let posts = way.posts.map(|posts| {
        let count = match way.posts_per_week {
            Some(week) => format::weekly(week),
            None => format::count(posts.count),
        };
        let [part, whole] = [posts.at_open_questions, policy.open_questions].map(format::count);
        // Of how many: the posts beside it may be those of a week.
        let of_posts = |part: usize, all: usize| {
            let [part, of_all] = [part, all].map(format::count);
            if all == 0 { of_all } else { texts::of_total(l, &part, &of_all) }
        };
        // Of what was really posted it is not known: people may have answered the post.
        let known = match report.source {
            ReportSource::Ledger => policy.unposted.min(posts.count),
            _ => posts.count,
        };
        let before_people = match known {
            0 if posts.count > 0 => format::UNKNOWN.to_owned(),
            _ => of_posts(posts.before_people, known),
        };
        let mid_talk = of_posts(posts.in_mid_talk, posts.count);
        [count, texts::of_total(l, &part, &whole), before_people, mid_talk]
    });
    let price = way.price_per_month;
    WayRow {
        name: name.to_owned(),
        means,
        posts: posts.ok_or_else(|| parts(&not_known(report, policy, l))),
        price: price.map_or(format::UNKNOWN.to_owned(), |price| estimated(price, report, l)),
    }
}

fn not_known(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    if report.source == ReportSource::Ledger {
        return texts::not_known_unpriced(language, &ask_from_store(report, policy));
    }
    let command = "--judge model";
    if let Some((_, begin, price)) = newest_days(report) {
        let command = format!("--from {begin} {command}");
        return texts::not_known_yet(language, &command, &estimated(price, report, language));
    }
    match to_ask(report) {
        Some(price) => texts::not_known_yet(language, command, &estimated(price, report, language)),
        None => texts::not_known_unpriced(language, command),
    }
}

/// Says what the prices are made of.
pub fn prices(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let l = language;
    match (report.source, &policy.cost.model, policy.cost.total) {
        (ReportSource::Ledger, _, Some(total)) => {
            texts::price_from_ledger(l, &format::money(total, &report.currency, l))
        }
        (_, Some(model), Some(total)) => {
            let memory = policy.cost.memory.filter(|_| total > 0.0).unwrap_or_default();
            let percent = format!("{:.0}", memory / total.max(f64::MIN_POSITIVE) * 100.0);
            texts::price_estimated(l, model, report.prices_of, &percent)
        }
        _ => texts::price_unknown(l).to_owned(),
    }
}

/// Says what the figures are made from.
pub fn intro(report: &Report, zone: &TimeZone, language: Language) -> String {
    let l = language;
    let messages = format::number_of(counted::messages, report.messages, l);
    let people = format::number_of(counted::people, report.people, l);
    let [from, to] = [report.period.from, report.period.to].map(|at| format::date(at, zone, l));
    let dates = if from == to { from } else { texts::dates(l, &from, &to) };
    match report.source {
        ReportSource::Ledger => texts::intro_ledger(l, &messages, &people, &dates),
        _ => texts::intro_replay(l, &messages, &people, &dates),
    }
}

pub fn group(group: MomentGroup, language: Language) -> &'static str {
    match group {
        MomentGroup::OpenQuestion => texts::group_open(language),
        MomentGroup::Other => texts::group_other(language),
        MomentGroup::BeforePeople => texts::before_people(language),
        MomentGroup::MidTalk => texts::group_mid_talk(language),
        MomentGroup::Silence => texts::group_silence(language),
    }
}

pub fn act(act: &MomentAct, language: Language) -> &'static str {
    match act {
        MomentAct::Said(_) => texts::said(language),
        MomentAct::WouldSay(Some(_)) => texts::would_say(language),
        MomentAct::WouldSay(None) => texts::would_speak(language),
        MomentAct::WouldAsk => texts::would_ask(language),
        MomentAct::Silent => texts::stayed_silent(language),
    }
}

/// Returns the reason of a moment. The words of a model are its own.
pub fn reason(moment: &ReportMoment, language: Language) -> Option<String> {
    moment.reason.as_ref().map(|reason| match reason {
        Reason::Gate(gate) => gate_reason(language, *gate).to_owned(),
        Reason::Limit(text) | Reason::Written(text) => text.clone(),
    })
}

/// Says what people did at a moment.
pub fn what_people_did(moment: &ReportMoment, language: Language) -> String {
    let l = language;
    let taken_up = match &moment.taken_up {
        Some(one) => texts::taken_up(l, Name(&one.person.name), &format::duration(one.seconds, l)),
        None if moment.is_hour_known && moment.group == MomentGroup::Other => {
            texts::nobody_wrote(l).to_owned()
        }
        None if moment.is_hour_known => texts::nobody_took_it_up(l).to_owned(),
        None => texts::not_taken_up_yet(l).to_owned(),
    };
    let Some(one) = &moment.mid_talk else { return taken_up };
    let (name, gap) = (Name(&one.person.name), format::duration(one.seconds, l));
    let wrote = match one.seconds < 0.0 {
        true => texts::wrote_before(l, name, &gap),
        false => texts::wrote_after(l, name, &gap),
    };
    // The same person's message in most cases.
    match &moment.taken_up {
        Some(next) if next.person.name == one.person.name => wrote,
        Some(_) | None => texts::two_sentences(l, &taken_up, &wrote),
    }
}

/// Says what a team asks first: what a replay cannot know, and what leaves the machine.
pub fn reach(report: &Report, language: Language) -> Vec<String> {
    let l = language;
    let judged = report.judged_by.as_ref().map(|judged_by| match judged_by {
        JudgedBy::Model(model) => texts::judged_by_model(l, model),
        JudgedBy::Answers(models) if models.is_empty() => texts::judged_by_answers(l).to_owned(),
        JudgedBy::Answers(models) => {
            texts::judged_by_answers_of(l, &models.join(list_separator(l)))
        }
    });
    let fixed: &[&str] = match report.source {
        ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::AlwaysSpeak => {
            &[texts::leaves_nothing(l)]
        }
        ReportSource::Model => &[texts::counted_only_judged(l), texts::leaves_to_model(l)],
        ReportSource::Ledger => &[texts::leaves_to_model(l)],
    };
    judged.into_iter().chain(fixed.iter().map(|text| (*text).to_owned())).collect()
}

/// Says how things were counted, and what is left out.
pub fn details(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let l = language;
    let left_out = report.left_out;
    let is_ledger = report.source == ReportSource::Ledger;
    let answers = format::number_of(counted::answers, policy.answers, l);
    let reactions = format::number_of(counted::reactions, policy.reactions, l);
    let checks = format::number_of(counted::judge_calls, policy.checks, l);
    let bad = (left_out.bad_records > 0).then(|| {
        texts::left_out_bad(l, &format::number_of(counted::records, left_out.bad_records, l))
    });
    let without_model = policy.without_model.filter(|posts| posts.count > 0).map(|posts| {
        let count = format::number_of(counted::posts, posts.count, l);
        texts::counted_without_model(l, &count, &format::count(posts.in_mid_talk))
    });
    let latency = report
        .latency_ms
        .map(|latency| texts::counted_latency(l, &format!("{:.1}", latency as f64 / 1000.0)));
    let unpriced = (policy.cost.unpriced_tokens > 0)
        .then(|| texts::counted_unpriced(l, &format::count(policy.cost.unpriced_tokens as usize)));
    let has_private = left_out.private_channels.is_some_and(|count| count > 0);
    let told = |is_told: bool, text: &str| is_told.then(|| text.to_owned());
    let sentences = [
        told(true, texts::counted_posts(l)),
        told(true, texts::counted_questions(l)),
        told(true, texts::counted_moments(l)),
        Some(texts::counted_answers(l, &answers, &reactions, &checks)),
        without_model,
        told(is_ledger && policy.unposted > 0, texts::counted_unposted(l)),
        told(!is_ledger, texts::counted_memory(l)),
        told(is_ledger && has_private, texts::counted_whole_workspace(l)),
        unpriced,
        latency,
        Some(texts::counted_zone(l, &report.zone)),
        bad,
        left_out.records.and_then(|records| note_on_records(records, l)),
        Some(notes_on_privacy(left_out, l).join(if l == Language::En { " " } else { "" })),
        told(is_ledger, texts::left_out_opted_out(l)),
        told(report.is_anonymous, texts::counted_anonymous(l)),
    ];
    sentences.into_iter().flatten().collect()
}

/// Says in one sentence which records could be read but are in no figure.
fn note_on_records(records: LeftOutRecords, language: Language) -> Option<String> {
    let counts: [(usize, Counted); 6] = [
        (records.private_messages, counted::private_messages),
        (records.outside_range, counted::messages_outside_range),
        (records.notices, counted::notices),
        (records.deleted, counted::deleted_messages),
        (records.expired, counted::expired_messages),
        (records.withheld, counted::withheld_messages),
    ];
    let found = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts = found.map(|(count, things)| format::number_of(things, count, language));
    let parts: Vec<String> = parts.collect();
    let sentence = || texts::left_out_records(language, &parts.join(list_separator(language)));
    (!parts.is_empty()).then(sentence)
}

/// Says whether private channels are in the report, as far as that is known.
fn notes_on_privacy(left_out: LeftOut, language: Language) -> Vec<String> {
    let l = language;
    let count = match (left_out.privacy, left_out.private_channels) {
        (Privacy::Included, _) => return vec![texts::private_included(l).to_owned()],
        (Privacy::LeftOut | Privacy::LeftOutWhereTold, None) => {
            return vec![texts::left_out_private_unknown(l).to_owned()];
        }
        (Privacy::LeftOut | Privacy::LeftOutWhereTold, Some(count)) => count,
    };
    let known = match count {
        0 => texts::left_out_no_private(l).to_owned(),
        count => texts::left_out_private(l, &format::number_of(counted::channels, count, l)),
    };
    let others = (left_out.privacy == Privacy::LeftOutWhereTold)
        .then(|| texts::left_out_private_where_told(l).to_owned());
    [known].into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_channels_are_in_are_out_or_are_not_known() {
        let told = |privacy, private_channels| {
            let left_out = LeftOut { bad_records: 0, private_channels, privacy, records: None };
            notes_on_privacy(left_out, Language::En).join(" ")
        };
        assert_eq!(told(Privacy::LeftOut, Some(0)), "No channel was left out as private.");
        assert_eq!(told(Privacy::LeftOut, Some(2)), "Left out as private: 2 channels.");
        assert_eq!(
            told(Privacy::LeftOutWhereTold, Some(1)),
            "Left out as private: 1 channel. The input does not say which channels only some roles see, so others may be \
             private, too."
        );
        assert_eq!(
            told(Privacy::LeftOutWhereTold, None),
            "Whether channels are private is not recorded in this input."
        );
        for private_channels in [Some(0), None] {
            assert_eq!(
                told(Privacy::Included, private_channels),
                "Private channels are included, if there are any: look at what you show to whom."
            );
        }
    }

    /// Half a year that costs 33.45 to ask about, or so little that nobody has to choose.
    #[test]
    fn of_a_history_that_costs_much_its_newest_days_are_asked_about() {
        let end = "2019-06-06T12:00:00Z".parse().unwrap();
        let period = |days| Period { from: None, to: Some(end), days };
        let (days, begin, price) = newest_days_of(period(157.0), 33.45).unwrap();
        assert_eq!((days, begin), (4.0, "2019-06-02".parse().unwrap()));
        assert!((price - 33.45 * 4.0 / 157.0).abs() < 1e-9);
        // A day may cost more than that, and is the least.
        assert_eq!(newest_days_of(period(3.0), 30.0).map(|it| (it.0, it.2)), Some((1.0, 10.0)));
        assert_eq!(newest_days_of(period(157.0), 2.0), None);
        assert_eq!(newest_days_of(period(1.5), 30.0), None);
        assert_eq!(newest_days_of(Period { to: None, ..period(157.0) }, 33.45), None);
    }

    #[test]
    fn what_is_in_no_figure_is_one_sentence() {
        let told = |records| note_on_records(records, Language::En);
        assert_eq!(told(LeftOutRecords::default()), None);
        let records = LeftOutRecords { notices: 3, deleted: 1, ..LeftOutRecords::default() };
        assert_eq!(
            told(records).as_deref(),
            Some(
                "Left out of the figures: 3 notices and messages without text, 1 deleted message."
            )
        );
    }
}
