//! The table of channels on the page: how often the persona would have spoken in each, and how often that would have
//! interrupted.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{ChannelFigures, PlacePosts, PolicyFigures};
use crate::report::format;

/// The maximum number of channels with a row of their own. The others share one row.
const MAX_CHANNELS: usize = 16;

pub struct ChannelFiguresRow {
    pub name: String,
    pub spoke: String,
    /// With their share.
    pub wrong: String,
    /// The number of posts without a model, in a replay with the built-in mind.
    pub posted: Option<String>,
    pub messages: String,
    /// The lengths of the parts of its bar, in percent.
    pub fine_width: f64,
    pub wrong_width: f64,
    pub label: String,
}

/// Returns the channels of a policy, the most posts first, and their sum. There is no table for a single channel, since
/// the figures above it say the same.
pub fn rows(policy: &PolicyFigures, language: Language) -> Vec<ChannelFiguresRow> {
    let table = ChannelTable { is_known: policy.spoke.is_some(), language };
    let mut sorted: Vec<&ChannelFigures> = policy.by_channel.iter().collect();
    sorted.sort_by_key(|channel| {
        (std::cmp::Reverse((channel.spoke, channel.messages)), &channel.name)
    });
    if sorted.len() < 2 {
        return Vec::new();
    }
    let most = sorted.first().map_or(1, |channel| channel.spoke.max(1));
    let (shown, rest) = sorted.split_at(sorted.len().min(MAX_CHANNELS));
    let mut rows: Vec<ChannelFiguresRow> =
        shown.iter().map(|channel| table.row(channel, most, None)).collect();
    if !rest.is_empty() {
        let label = format::number_of(counted::more_channels, rest.len(), language);
        rows.push(table.row(&sum_up(rest), most, Some(label)));
    }
    let label = Some(texts::all_channels(language).to_owned());
    // The sum has no bar: it would dwarf the others.
    let row = table.row(&sum_up(&sorted), most, label);
    rows.push(ChannelFiguresRow { fine_width: 0.0, wrong_width: 0.0, ..row });
    rows
}

struct ChannelTable {
    is_known: bool,
    language: Language,
}

impl ChannelTable {
    fn row(
        &self,
        channel: &ChannelFigures,
        most: usize,
        label: Option<String>,
    ) -> ChannelFiguresRow {
        let (l, is_known) = (self.language, self.is_known);
        let known = |shown: String| if is_known { shown } else { format::UNKNOWN.to_owned() };
        let width = |number: usize| (number as f64 / most as f64 * 100.0).min(100.0);
        ChannelFiguresRow {
            name: label.unwrap_or_else(|| format::channel(&channel.name)),
            spoke: known(format::count(channel.spoke)),
            wrong: known(format::part(channel.wrong, channel.spoke, l)),
            posted: channel.posted_without_model.map(|posts| format::posts(posts, l)),
            messages: format::count(channel.messages),
            fine_width: width(channel.spoke - channel.wrong.min(channel.spoke)),
            wrong_width: width(channel.wrong),
            label: match is_known {
                true => {
                    let (spoke, wrong) = (channel.spoke, channel.wrong);
                    texts::bar_label(l, &format::times(spoke, l), &format::times(wrong, l))
                }
                false => format::UNKNOWN.to_owned(),
            },
        }
    }
}

fn sum_up(channels: &[&ChannelFigures]) -> ChannelFigures {
    let sum = |value: fn(&ChannelFigures) -> usize| channels.iter().map(|one| value(one)).sum();
    ChannelFigures {
        name: String::new(),
        messages: sum(|one| one.messages),
        spoke: sum(|one| one.spoke),
        wrong: sum(|one| one.wrong),
        wrong_per_100: None,
        posted_without_model: channels
            .iter()
            .map(|one| one.posted_without_model)
            .reduce(PlacePosts::sum)
            .flatten(),
    }
}
