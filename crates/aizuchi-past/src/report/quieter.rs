//! Settings with which the persona would post less, with the number of remaining posts, and the channel to start in. A
//! setting with almost no effect is not proposed.

use std::collections::HashMap;

use aizuchi_model::rules::Mode;
use jiff::{SignedDuration, Timestamp};

use crate::report::figures::{ChannelFigures, PolicyFigures};
use crate::report::interruptions::MIN_POSTS;
use crate::report::settings::{PolicySetting, SettingKey, SettingValue};
use crate::report::significance::is_larger_share;

/// The cooldowns to try, in seconds.
const COOLDOWNS: [i64; 3] = [15 * 60, 60 * 60, 4 * 60 * 60];

/// A cooldown that reduces the number of posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub seconds: i64,
    /// The number of listed posts that remain.
    pub left: usize,
    /// How many posts are listed.
    pub listed: usize,
}

/// Returns the number of unasked posts; in a replay where the built-in rules replace the model, of posts without a
/// model. `None` if it is unknown.
pub fn posts(policy: &PolicyFigures) -> Option<usize> {
    policy.posted_without_model.map(|posted| posted.spoke).or(policy.spoke)
}

/// Returns the number of unasked posts in a channel, counted like [`posts`].
pub fn posts_in(channel: &ChannelFigures) -> usize {
    channel.posted_without_model.map_or(channel.spoke, |posted| posted.spoke)
}

/// Returns how many of the posts in a channel would probably interrupt.
pub fn wrong_in(channel: &ChannelFigures) -> usize {
    channel.posted_without_model.map_or(channel.wrong, |posted| posted.wrong)
}

/// Returns the shortest cooldown that removes at least a fifth of the listed posts. Unknown settings count as defaults.
pub fn cooldown(policy: &PolicyFigures) -> Option<Cooldown> {
    let own = own_cooldown(policy.settings.as_deref())?;
    let posts = policy.posts.as_ref()?;
    let listed = posts.listed.len();
    let longer = COOLDOWNS.into_iter().filter(|seconds| *seconds as f64 > own);
    let times = || posts.listed.iter().map(|post| (&*post.channel, post.at));
    let mut found =
        longer.map(|seconds| Cooldown { seconds, left: left(times(), seconds), listed });
    found.find(|one| one.left < listed && one.left * 5 <= listed * 4)
}

/// Returns the cooldown in force, in seconds. `None` in modes that do not use it: a facilitator has a cooldown of its own, and
/// the others post nothing unasked.
fn own_cooldown(settings: Option<&[PolicySetting]>) -> Option<f64> {
    let Some(settings) = settings else { return Some(0.0) };
    let value = |key: SettingKey| settings.iter().find(|one| one.key == key)?.value.as_ref();
    match (value(SettingKey::Mode), value(SettingKey::Cooldown)) {
        (Some(SettingValue::Mode(Mode::Companion)), Some(SettingValue::Seconds(own))) => Some(*own),
        (Some(_) | None, _) => None,
    }
}

/// Returns these settings with another cooldown.
pub fn with_cooldown(settings: &[PolicySetting], seconds: i64) -> Vec<PolicySetting> {
    let seconds = SettingValue::Seconds(seconds as f64);
    let changed = |setting: &PolicySetting| match setting.key == SettingKey::Cooldown {
        true => PolicySetting { value: Some(seconds.clone()), ..setting.clone() },
        false => setting.clone(),
    };
    settings.iter().map(changed).collect()
}

/// Counts the posts that remain with a cooldown, given the channel and time of each, by time. As in the gate, threads
/// belong to their channel.
fn left<'a>(posts: impl Iterator<Item = (&'a str, Timestamp)>, seconds: i64) -> usize {
    let cooldown = SignedDuration::from_secs(seconds);
    let mut last: HashMap<&str, Timestamp> = HashMap::new();
    let mut left = 0;
    for (channel, at) in posts {
        let before = last.get(channel);
        if before.is_none_or(|before| at.duration_since(*before) >= cooldown) {
            last.insert(channel, at);
            left += 1;
        }
    }
    left
}

/// The channel to start in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstChannel<'a> {
    pub channel: &'a ChannelFigures,
    pub reason: FirstReason,
}

/// Why this channel was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstReason {
    /// Its rate of interruptions is lower than elsewhere, beyond chance.
    FewestInterruptions,
    /// No channel has a significantly lower rate. It is the channel with the most posts, except for the one with
    /// significantly the most interruptions.
    Example,
}

/// Returns the channel to start in, if there are posts in several: the one with the lowest rate of interruptions, if
/// that is significant, otherwise the one with the most posts. Never the one with significantly the most interruptions.
pub fn first_channel(policy: &PolicyFigures) -> Option<FirstChannel<'_>> {
    let worst = policy.worst_channel().map(|one| &*one.name);
    let first = channel_besides(worst, &policy.by_channel)?;
    (posts_in(first.channel) < posts(policy)?).then_some(first)
}

fn channel_besides<'a>(
    worst: Option<&str>,
    channels: &'a [ChannelFigures],
) -> Option<FirstChannel<'a>> {
    let is_other = |one: &&'a ChannelFigures| Some(&*one.name) != worst;
    if let Some(channel) = calmest_channel(channels).filter(is_other) {
        return Some(FirstChannel { channel, reason: FirstReason::FewestInterruptions });
    }
    let channel = channels.iter().filter(is_other).max_by_key(|one| posts_in(one))?;
    (posts_in(channel) > 0).then_some(FirstChannel { channel, reason: FirstReason::Example })
}

/// Returns the channel with the lowest rate of interruptions; of several, the one with the most posts. `None` if fewer
/// than two channels have enough posts for a rate, or if the rate of the others is not significantly higher.
fn calmest_channel(channels: &[ChannelFigures]) -> Option<&ChannelFigures> {
    let share = |one: &ChannelFigures| wrong_in(one) as f64 / posts_in(one) as f64;
    let is_enough = |one: &&ChannelFigures| posts_in(one) >= MIN_POSTS;
    let mut enough: Vec<&ChannelFigures> = channels.iter().filter(is_enough).collect();
    enough.sort_by(|one, other| {
        share(one).total_cmp(&share(other)).then_with(|| posts_in(other).cmp(&posts_in(one)))
    });
    let (calmest, others) = enough.split_first()?;
    let rest = others
        .iter()
        .fold((0, 0), |(posts, wrong), one| (posts + posts_in(one), wrong + wrong_in(one)));
    let own = (posts_in(calmest), wrong_in(calmest));
    (rest.0 > 0 && is_larger_share(rest, own, enough.len())).then_some(*calmest)
}

#[cfg(test)]
mod tests {
    use aizuchi_config::Config;

    use super::*;
    use crate::replay::Policy;
    use crate::report::figures::PlacePosts;
    use crate::report::settings::settings_of;

    #[test]
    fn a_cooldown_counts_from_the_last_post_that_is_left() {
        let posts = [("a", 0), ("b", 5), ("a", 10), ("a", 20), ("a", 34)];
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let left = |minutes: i64| {
            left(posts.map(|(channel, minute)| (channel, at(minute))).into_iter(), minutes * 60)
        };
        // The one at 10 falls away, so it keeps nothing from being posted at 20; the one at 20 does so at 34.
        assert_eq!(left(15), 3);
        assert_eq!(left(5), 5);
        assert_eq!(left(60), 2);
    }

    #[test]
    fn a_cooldown_has_a_part_only_where_it_joins_in() {
        let own = |config: &str| {
            let config = Config::parse(config).unwrap();
            own_cooldown(Some(&settings_of(&Policy { config, ..Policy::default_settings() })))
        };
        assert_eq!(own("response: {cooldown_seconds: 900}"), Some(900.0));
        assert_eq!(own(""), Some(0.0));
        for config in [
            "response: {gates: []}",
            "response: {mode: mention_only}",
            "response: {mode: facilitator}",
        ] {
            assert_eq!(own(config), None, "{config}");
        }
        assert_eq!(own_cooldown(None), Some(0.0));
    }

    fn channel(name: &str, spoke: usize, wrong: usize) -> ChannelFigures {
        ChannelFigures {
            name: name.to_owned(),
            messages: 1000,
            spoke: 100,
            wrong: 50,
            wrong_per_100: None,
            posted_without_model: Some(PlacePosts { spoke, wrong }),
        }
    }

    #[test]
    fn the_calmest_channel_has_the_smallest_share_of_interruptions() {
        let name = |channels: &[(&str, usize, usize)]| {
            let channels: Vec<ChannelFigures> =
                channels.iter().map(|(name, spoke, wrong)| channel(name, *spoke, *wrong)).collect();
            calmest_channel(&channels).map(|one| one.name.clone())
        };
        let expected = |name: &str| Some(name.to_owned());
        assert_eq!(name(&[("a", 58, 2), ("b", 38, 14)]), expected("a"));
        assert_eq!(name(&[("a", 58, 30), ("b", 38, 2), ("c", 9, 0)]), expected("b"));
        assert_eq!(name(&[("a", 40, 0), ("b", 60, 0), ("c", 30, 20)]), expected("b"));
        // Chance may explain these.
        assert_eq!(name(&[("a", 58, 10), ("b", 38, 8)]), None);
        // One alone, or the same shares, tell nothing.
        assert_eq!(name(&[("a", 58, 10), ("b", 9, 0)]), None);
        assert_eq!(name(&[("a", 20, 0), ("b", 40, 0)]), None);
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn it_does_not_begin_where_it_interrupts_most() {
        let channels = [channel("a", 80, 4), channel("b", 60, 24), channel("c", 70, 20)];
        let first = |worst: Option<&str>, channels: &[ChannelFigures]| {
            channel_besides(worst, channels).map(|first| (first.channel.name.clone(), first.reason))
        };
        let expected = |name: &str, reason| Some((name.to_owned(), reason));
        let fewest = expected("a", FirstReason::FewestInterruptions);
        assert_eq!(first(None, &channels), fewest);
        assert_eq!(first(Some("b"), &channels), fewest);
        // It posts so much there that it interrupts most often, although a small share of its posts does.
        assert_eq!(first(Some("a"), &channels), expected("c", FirstReason::Example));
        let alike = [channel("a", 40, 4), channel("b", 5, 0), channel("c", 0, 0)];
        assert_eq!(first(None, &alike), expected("a", FirstReason::Example));
        assert_eq!(first(Some("a"), &alike), expected("b", FirstReason::Example));
        assert_eq!(first(Some("a"), &alike[..1]), None);
        assert_eq!(first(None, &alike[2..]), None);
    }
}
