//! Settings with which it would post less, and how many of the posts of a report they leave. What changes next to nothing is
//! not offered.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::report::figures::{ChannelFigures, PolicyFigures};
use crate::report::settings::{PolicySetting, SettingKey, SettingValue};
use aizuchi_core::rules::Mode;

/// The lengths that are tried, in seconds.
const COOLDOWNS: [i64; 3] = [15 * 60, 60 * 60, 4 * 60 * 60];

/// A cooldown that makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub seconds: i64,
    /// How many of the posts on the list are left, of how many.
    pub left: usize,
    pub listed: usize,
}

/// How often it posts unasked: without a model, where none judges. `None` if that is not known.
pub fn posts(policy: &PolicyFigures) -> Option<usize> {
    policy.posted_without_model.map(|posted| posted.spoke).or(policy.spoke)
}

/// The same in a channel.
pub fn posts_in(channel: &ChannelFigures) -> usize {
    channel.posted_without_model.map_or(channel.spoke, |posted| posted.spoke)
}

/// The shortest cooldown that would take away a tenth of the posts on the list, if one does. Where the settings are not known,
/// those of the defaults are taken.
pub fn cooldown(policy: &PolicyFigures) -> Option<Cooldown> {
    let own = own_cooldown(policy.settings.as_deref())?;
    let posts = policy.posts.as_ref()?;
    let listed = posts.listed.len();
    let longer = COOLDOWNS.into_iter().filter(|seconds| *seconds as f64 > own);
    let times = || posts.listed.iter().map(|post| (&*post.channel, post.at));
    let mut found =
        longer.map(|seconds| Cooldown { seconds, left: left(times(), seconds), listed });
    found.find(|one| one.left < listed && one.left * 10 <= listed * 9)
}

/// The cooldown that holds. `None` if one has no part: where it helps discussions it has another one, and elsewhere it speaks
/// only when it is called.
fn own_cooldown(settings: Option<&[PolicySetting]>) -> Option<f64> {
    let Some(settings) = settings else { return Some(0.0) };
    let value = |key: SettingKey| settings.iter().find(|one| one.key == key)?.value.as_ref();
    match (value(SettingKey::Mode), value(SettingKey::Cooldown)) {
        (Some(SettingValue::Mode(Mode::Companion)), Some(SettingValue::Seconds(own))) => Some(*own),
        (Some(_) | None, _) => None,
    }
}

/// The settings with another cooldown.
pub fn with_cooldown(settings: &[PolicySetting], seconds: i64) -> Vec<PolicySetting> {
    let seconds = SettingValue::Seconds(seconds as f64);
    let changed = |setting: &PolicySetting| match setting.key == SettingKey::Cooldown {
        true => PolicySetting { value: Some(seconds.clone()), ..setting.clone() },
        false => setting.clone(),
    };
    settings.iter().map(changed).collect()
}

/// How many posts are left if none comes so soon after another one in its channel, threads included, as the gate has it. They
/// come in the order of their time.
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

/// The channel to begin with, if there are several: the one with the most posts, unless it is the one that it would interrupt
/// most.
pub fn first_channel(policy: &PolicyFigures) -> Option<&ChannelFigures> {
    let worst = policy.worst_channel().map(|one| &one.name);
    let others = policy.by_channel.iter().filter(|one| Some(&one.name) != worst);
    let most = others.max_by_key(|one| posts_in(one)).filter(|one| posts_in(one) > 0)?;
    (posts_in(most) < posts(policy)?).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::replay::Policy;
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
}
