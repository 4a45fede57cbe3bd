//! What rules must be to each other, which no setting can know by itself.

use jiff::SignedDuration;

use crate::config::Config;
use crate::config::problem::Problem;
use crate::config::secret::shown;
use crate::config::tree::Node;
use aizuchi_core::agent;
use aizuchi_core::rules::{Facilitation, Rules};

/// The tree is only asked for what is set, and where.
pub fn check(config: &Config, tree: &Node) -> Result<(), Problem> {
    let response = &config.response;
    let is_shorter =
        response.min_wait_seconds.is_some_and(|rest| response.max_wait_seconds.0 < rest.0);
    if is_shorter && let Some(place) = tree.place_of(&["response", "max_wait_seconds"]) {
        let sentence = "response.max_wait_seconds must be at least response.min_wait_seconds, for \
                        how long the talk rests before it is judged";
        return Err(Problem::of_file(Some(place), sentence));
    }
    check_slack(config, tree)?;
    check_discord(config, tree)?;
    let book = config.rulebook();
    check_facilitation(&book.usual, tree, &["facilitator"])?;
    for (key, rules) in &book.channels {
        check_facilitation(rules, tree, &["channels", key, "facilitator"])?;
    }
    Ok(())
}

fn check_slack(config: &Config, tree: &Node) -> Result<(), Problem> {
    let Some(slack) = &config.slack else { return Ok(()) };
    let slack = slack.understood().map_err(|sentence| {
        let place = tree.find(&["slack"]).map(|entry| entry.key_place);
        Problem::of_file(place, sentence)
    })?;
    check_settle("slack", slack.settle, tree)
}

fn check_discord(config: &Config, tree: &Node) -> Result<(), Problem> {
    let Some(discord) = &config.discord else { return Ok(()) };
    let discord = discord.understood().map_err(|sentence| {
        let place = tree.find(&["discord"]).map(|entry| entry.key_place);
        Problem::of_file(place, sentence)
    })?;
    check_settle("discord", discord.settle, tree)
}

/// A post that was not confirmed may still be on its way while the call for it lasts.
fn check_settle(section: &str, settle: SignedDuration, tree: &Node) -> Result<(), Problem> {
    let post = agent::Settings::default().post_timeout;
    if settle > post {
        return Ok(());
    }
    let sentence = format!(
        "{section}.settle_seconds must be more than {}: so long may a post take, and one that is still \
         on its way would be posted twice",
        post.as_secs()
    );
    Err(Problem::of_file(tree.place_of(&[section, "settle_seconds"]), sentence))
}

fn check_facilitation(rules: &Rules, tree: &Node, section: &[&str]) -> Result<(), Problem> {
    let Facilitation { rest_seconds, longest_rest_seconds, min_messages, buffer_size, .. } =
        rules.facilitation;
    let usual = Facilitation::default();
    if longest_rest_seconds < rest_seconds {
        let rest = Bound { key: "rest_seconds", usual: usual.rest_seconds.to_string() };
        let usual = usual.longest_rest_seconds.to_string();
        return Err(out_of_order(rest, Bound { key: "max_rest_seconds", usual }, tree, section));
    }
    if buffer_size < min_messages {
        let least = Bound { key: "min_messages", usual: usual.min_messages.to_string() };
        let usual = usual.buffer_size.to_string();
        return Err(out_of_order(least, Bound { key: "buffer_size", usual }, tree, section));
    }
    Ok(())
}

struct Bound {
    key: &'static str,
    /// Where nothing sets it.
    usual: String,
}

/// Told where one of the two is set.
fn out_of_order(least: Bound, most: Bound, tree: &Node, section: &[&str]) -> Problem {
    let at = |key| tree.place_of(&[section, &[key]].concat());
    let path: Vec<String> =
        section.iter().map(|key| shown(key).unwrap_or("…".to_owned())).collect();
    let path = path.join(".");
    let (place, key, bound, other) = match at(most.key) {
        Some(place) => (Some(place), most.key, "at least", least),
        None => (at(least.key), least.key, "at most", most),
    };
    let Bound { key: other, usual } = other;
    let sentence =
        format!("{path}.{key} must be {bound} {other}, which is {usual} where nothing sets it");
    Problem::of_file(place, sentence)
}
