//! The report as one self-contained HTML page: its style is inline, it loads nothing, and it runs no script.

use aizuchi_model::chat::to_short_line;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;
use askama::Template;
use jiff::tz::TimeZone;

use crate::report::charts::{ChannelBar, HEIGHT, HourChart, channel_bars, hour_chart};
use crate::report::code::{PartKind, TextPart, parts};
use crate::report::config_lines::config_lines;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::markup::chat_parts;
use crate::report::moment::{MomentAct, MomentGroup, MomentMessage, ReportMoment};
use crate::report::sentences::{self, WayRow};

/// The maximum length of the beginning of a message that stands for a moment.
const MAX_GIST_CHARS: usize = 140;

/// The number of colors that distinguish authors.
const COLORS: u32 = 6;
/// The hours with a label on the axis.
const LABELED_HOURS: [usize; 4] = [0, 6, 12, 18];

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
    headline: Vec<TextPart>,
    /// The sentences below the headline.
    more: Vec<Vec<TextPart>>,
    intro: String,
    reach: Vec<String>,
    ways: Vec<WayRow>,
    post_labels: [&'static str; 4],
    prices: String,
    /// Whether it is known when the persona would post.
    is_known: bool,
    /// Whether a model would have been asked at moments that are shown.
    asks_model: bool,
    groups: Vec<ReportGroupView>,
    channels: Vec<ChannelBar>,
    hours: Option<HourChart>,
    lines: String,
    set: Vec<TextPart>,
    details: Vec<Vec<TextPart>>,
    names: Vec<TextPart>,
}

struct ReportGroupView {
    heading: &'static str,
    moments: Vec<ReportMomentView>,
}

struct ReportMomentView {
    class: &'static str,
    channel: String,
    when: String,
    /// The beginning of the message that it is about.
    gist: String,
    before: Vec<ReportMessageView>,
    act: &'static str,
    time: String,
    persona: String,
    said: Option<Vec<TextPart>>,
    after: Vec<ReportMessageView>,
    reason: Option<String>,
    /// The older messages that the reason refers to, with their dates.
    cited: Vec<(String, ReportMessageView)>,
    then: String,
    is_open: bool,
}

struct ReportMessageView {
    name: String,
    initial: String,
    color: u32,
    time: String,
    text: Vec<TextPart>,
    is_about: bool,
    is_bot: bool,
    /// How many messages are left out after it.
    left_out: Option<String>,
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

/// Renders the page, alone or in a frame.
pub fn page(
    report: &Report,
    zone: &TimeZone,
    language: Language,
    frame: Option<&PageFrame>,
) -> anyhow::Result<String> {
    let Some(policy) = report.policies.first() else {
        anyhow::bail!("there is nothing to report");
    };
    let view = PageBuilder { report, policy, zone, language };
    Ok(view.page(frame).render()?)
}

struct PageBuilder<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    zone: &'a TimeZone,
    language: Language,
}

impl<'a> PageBuilder<'a> {
    fn page(&self, frame: Option<&'a PageFrame>) -> ReportPage<'a> {
        let (report, policy, l) = (self.report, self.policy, self.language);
        let mut headline = sentences::headline(report, policy, l).into_iter();
        let names = match frame {
            Some(_) => texts::names_on_console(l),
            None if report.is_anonymous => "",
            None => texts::names_verbatim(l),
        };
        ReportPage {
            l,
            tag: l.tag(),
            theme: include_str!("style/theme.css"),
            style: STYLE,
            frame,
            title: texts::title(l, &report.persona),
            kicker: match report.source {
                ReportSource::Ledger => texts::kicker_ledger(l),
                _ => texts::kicker_replay(l),
            },
            headline: parts(&headline.next().unwrap_or_default()),
            more: headline.map(|sentence| parts(&sentence)).collect(),
            intro: sentences::intro(report, self.zone, l),
            reach: sentences::reach(report, l),
            ways: sentences::way_rows(report, l),
            post_labels: sentences::post_labels(report, l),
            prices: sentences::prices(report, policy, l),
            is_known: policy.posts.is_some(),
            asks_model: policy.moments.iter().any(|one| one.act == MomentAct::WouldAsk),
            groups: self.groups(),
            channels: channel_bars(policy, l),
            hours: hour_chart(policy, l),
            lines: config_lines(report, policy, l),
            set: parts(texts::set_this(l)),
            details: sentences::details(report, policy, l)
                .iter()
                .map(|sentence| parts(sentence))
                .collect(),
            names: parts(names),
        }
    }

    fn groups(&self) -> Vec<ReportGroupView> {
        let moments = &self.policy.moments;
        let groups = moments.chunk_by(|one, other| one.group == other.group).enumerate();
        let groups = groups.map(|(place, of_group)| ReportGroupView {
            heading: sentences::group(of_group[0].group, self.language),
            moments: of_group
                .iter()
                .enumerate()
                .map(|(own, one)| self.moment(one, place == 0 && own == 0))
                .collect(),
        });
        groups.collect()
    }

    fn moment(&self, moment: &ReportMoment, is_open: bool) -> ReportMomentView {
        let l = self.language;
        let message = |message: &MomentMessage| self.message(message);
        let said = match &moment.act {
            MomentAct::Said(text) | MomentAct::WouldSay(text) => text.as_deref().map(chat_parts),
            MomentAct::WouldAsk | MomentAct::Silent => None,
        };
        let about = moment.before.iter().find(|message| message.is_about);
        ReportMomentView {
            class: match moment.group {
                MomentGroup::OpenQuestion | MomentGroup::Other | MomentGroup::BeforePeople => {
                    "post"
                }
                MomentGroup::MidTalk => "mid-talk",
                MomentGroup::Silence => "silence",
            },
            channel: format::channel(&moment.channel),
            when: format::date_and_time(moment.at, self.zone, l),
            gist: about.map_or(String::new(), |about| gist(&about.text)),
            before: moment.before.iter().map(message).collect(),
            act: sentences::act(&moment.act, l),
            time: format::time(moment.at, self.zone),
            persona: self.report.persona.clone(),
            said,
            after: moment.after.iter().map(message).collect(),
            reason: sentences::reason(moment, l),
            cited: moment
                .cited
                .iter()
                .map(|one| (format::date_and_time(one.at, self.zone, l), self.message(one)))
                .collect(),
            then: sentences::what_people_did(moment, l),
            is_open,
        }
    }

    fn message(&self, message: &MomentMessage) -> ReportMessageView {
        let name = message.author.name.clone();
        // Neutral names differ in their last character. A bot keeps its name.
        let character = match self.report.is_anonymous && !message.is_bot {
            true => name.chars().next_back(),
            false => name.chars().find(|character| character.is_alphanumeric()),
        };
        let id = message.author.id.bytes();
        let color = id.fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        ReportMessageView {
            initial: character
                .map_or("·".to_owned(), |character| character.to_uppercase().to_string()),
            color: color % COLORS,
            name,
            time: format::time(message.at, self.zone),
            text: chat_parts(&message.text),
            is_about: message.is_about,
            is_bot: message.is_bot,
            left_out: (message.left_out_after > 0).then(|| {
                let count = message.left_out_after;
                let messages = format::number_of(counted::messages, count, self.language);
                texts::left_out_between(self.language, &messages)
            }),
        }
    }
}

/// Returns the beginning of a message on one line, without marks.
fn gist(text: &str) -> String {
    let words: String = chat_parts(text).iter().map(|part| &*part.text).collect();
    to_short_line(&words, MAX_GIST_CHARS)
}
