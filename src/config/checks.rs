//! What rules must be to each other, which no setting can know by itself.

use jiff::SignedDuration;

use crate::config::Config;
use crate::config::problem::ConfigProblem;
use crate::config::secret::displayable;
use crate::config::tree::ConfigNode;
use aizuchi_core::agent;
use aizuchi_core::rules::{ChannelRules, FacilitationRules};

/// The tree is only asked for what is set, and where.
pub fn check(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let response = &config.response;
    let is_shorter =
        response.min_wait_seconds.is_some_and(|rest| response.max_wait_seconds.0 < rest.0);
    if is_shorter && let Some(place) = tree.location_of(&["response", "max_wait_seconds"]) {
        let sentence = "response.max_wait_seconds must be at least response.min_wait_seconds, for \
                        how long the talk rests before it is judged";
        return Err(ConfigProblem::for_file(Some(place), sentence));
    }
    check_slack(config, tree)?;
    check_discord(config, tree)?;
    let book = config.rulebook();
    check_facilitation(&book.default_rules, tree, &["facilitator"])?;
    for (key, rules) in &book.channels {
        check_facilitation(rules, tree, &["channels", key, "facilitator"])?;
    }
    Ok(())
}

fn check_slack(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let Some(slack) = &config.slack else { return Ok(()) };
    let slack = slack.resolve().map_err(|sentence| {
        let place = tree.find(&["slack"]).map(|entry| entry.key_location);
        ConfigProblem::for_file(place, sentence)
    })?;
    check_settle("slack", slack.settle, tree)
}

fn check_discord(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let Some(discord) = &config.discord else { return Ok(()) };
    let discord = discord.resolve().map_err(|sentence| {
        let place = tree.find(&["discord"]).map(|entry| entry.key_location);
        ConfigProblem::for_file(place, sentence)
    })?;
    check_settle("discord", discord.settle, tree)
}

/// A post that was not confirmed may still be on its way while the call for it lasts.
fn check_settle(
    section: &str,
    settle: SignedDuration,
    tree: &ConfigNode,
) -> Result<(), ConfigProblem> {
    let post = agent::AgentSettings::default().post_timeout;
    if settle > post {
        return Ok(());
    }
    let sentence = format!(
        "{section}.settle_seconds must be more than {}: so long may a post take, and one that is still \
         on its way would be posted twice",
        post.as_secs()
    );
    Err(ConfigProblem::for_file(tree.location_of(&[section, "settle_seconds"]), sentence))
}

fn check_facilitation(
    rules: &ChannelRules,
    tree: &ConfigNode,
    section: &[&str],
) -> Result<(), ConfigProblem> {
    let FacilitationRules {
        rest_seconds,
        max_rest_seconds: longest_rest_seconds,
        min_messages,
        buffer_size,
        ..
    } = rules.facilitation;
    let usual = FacilitationRules::default();
    if longest_rest_seconds < rest_seconds {
        let rest = Bound { key: "rest_seconds", default: usual.rest_seconds.to_string() };
        let usual = usual.max_rest_seconds.to_string();
        return Err(bounds_problem(
            rest,
            Bound { key: "max_rest_seconds", default: usual },
            tree,
            section,
        ));
    }
    if buffer_size < min_messages {
        let least = Bound { key: "min_messages", default: usual.min_messages.to_string() };
        let usual = usual.buffer_size.to_string();
        return Err(bounds_problem(
            least,
            Bound { key: "buffer_size", default: usual },
            tree,
            section,
        ));
    }
    Ok(())
}

struct Bound {
    key: &'static str,
    /// Where nothing sets it.
    default: String,
}

/// Told where one of the two is set.
fn bounds_problem(least: Bound, most: Bound, tree: &ConfigNode, section: &[&str]) -> ConfigProblem {
    let at = |key| tree.location_of(&[section, &[key]].concat());
    let path: Vec<String> =
        section.iter().map(|key| displayable(key).unwrap_or("…".to_owned())).collect();
    let path = path.join(".");
    let (place, key, bound, other) = match at(most.key) {
        Some(place) => (Some(place), most.key, "at least", least),
        None => (at(least.key), least.key, "at most", most),
    };
    let Bound { key: other, default: usual } = other;
    let sentence =
        format!("{path}.{key} must be {bound} {other}, which is {usual} where nothing sets it");
    ConfigProblem::for_file(place, sentence)
}
