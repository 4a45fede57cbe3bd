//! The drawings of the page: a bar for each channel, and a column for each hour of the day. They are stretched to the
//! available width.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{ChannelFigures, HourFigures, PolicyFigures};
use crate::report::format;

/// The height of the columns of the hours, and the width of one, in units of the drawing.
pub const HEIGHT: f64 = 60.0;
const COLUMN: f64 = 10.0;
/// The maximum number of channels with a bar. The others share a row.
const MAX_CHANNELS: usize = 12;

/// A channel's posts, or its checks if it is not known when the persona would post.
pub struct ChannelBar {
    pub name: String,
    /// The widths of the two parts, in percent.
    pub other: f64,
    pub mid_talk: f64,
    pub label: String,
    pub count: String,
    /// `None` for checks.
    pub in_mid_talk: Option<String>,
    pub messages: String,
}

/// A part of an hour's column.
pub struct HourBar {
    pub class: &'static str,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub label: String,
}

/// The columns of the hours, with the number at the top of the scale.
pub struct HourChart {
    pub bars: Vec<HourBar>,
    pub most: String,
}

/// The bars of the channels with the most posts, or checks.
pub fn channel_bars(policy: &PolicyFigures, language: Language) -> Vec<ChannelBar> {
    let is_known = policy.posts.is_some();
    let count = |channel: &ChannelFigures| {
        if is_known { channel.posts.count } else { channel.checks }
    };
    let mut channels: Vec<&ChannelFigures> = policy.by_channel.iter().collect();
    channels.sort_by_key(|channel| {
        (std::cmp::Reverse((count(channel), channel.messages)), &channel.name)
    });
    let most = channels.first().map_or(1, |channel| count(channel)).max(1) as f64;
    let bar = |channel: &&ChannelFigures| {
        let in_mid_talk = if is_known { channel.posts.in_mid_talk } else { 0 };
        let width = |part: usize| part as f64 / most * 100.0;
        let shown = format::count(count(channel));
        let in_mid_talk_shown = format::count(in_mid_talk);
        ChannelBar {
            name: format::channel(&channel.name),
            other: width(count(channel) - in_mid_talk),
            mid_talk: width(in_mid_talk),
            label: match is_known {
                true => texts::bar_label(
                    language,
                    &format::number_of(counted::posts, count(channel), language),
                    &in_mid_talk_shown,
                ),
                false => format::number_of(counted::judge_calls, count(channel), language),
            },
            count: shown,
            in_mid_talk: is_known.then_some(in_mid_talk_shown),
            messages: format::count(channel.messages),
        }
    };
    let (shown, rest) = channels.split_at(channels.len().min(MAX_CHANNELS));
    let mut bars: Vec<ChannelBar> = shown.iter().map(bar).collect();
    if !rest.is_empty() {
        let mut sum = ChannelFigures::default();
        for channel in rest {
            sum.posts.add(channel.posts);
            sum.checks += channel.checks;
            sum.messages += channel.messages;
        }
        let channels = format::number_of(counted::channels, rest.len(), language);
        let name = texts::more_channels(language, &channels);
        // The bars are as long as the longest of one channel.
        let row = bar(&&sum);
        bars.push(ChannelBar {
            name,
            other: row.other.min(100.0 - row.mid_talk.min(100.0)),
            mid_talk: row.mid_talk.min(100.0),
            ..row
        });
    }
    bars
}

/// The columns of the hours. `None` if all are empty.
pub fn hour_chart(policy: &PolicyFigures, language: Language) -> Option<HourChart> {
    let is_known = policy.posts.is_some();
    let parts = |hour: &HourFigures| match is_known {
        true => [("mid", hour.in_mid_talk), ("own", hour.posts - hour.in_mid_talk)],
        false => [("mid", 0), ("own", hour.checks)],
    };
    let sum = |hour: &HourFigures| parts(hour).iter().map(|(_, count)| count).sum::<usize>();
    let most = policy.by_hour.iter().map(sum).max().filter(|most| *most > 0)?;
    let columns = policy.by_hour.iter().enumerate().flat_map(|(hour, figures)| {
        let label = texts::hour_label(language, hour, &format::count(sum(figures)));
        let mut below = 0;
        parts(figures).into_iter().filter(|(_, count)| *count > 0).map(move |(class, count)| {
            below += count;
            let scale = |count: usize| count as f64 / most as f64 * HEIGHT;
            HourBar {
                class,
                x: hour as f64 * COLUMN + 1.0,
                y: HEIGHT - scale(below),
                width: COLUMN - 2.0,
                height: scale(count),
                label: label.clone(),
            }
        })
    });
    Some(HourChart { bars: columns.collect(), most: format::count(most) })
}
