//! Mistakes in the keys of `channels`: a name without its `#`, and a `#` without quotes, which begins a comment,
//! and a key of a thread that only a channel can have.

use crate::Config;
use crate::problem::{ConfigLocation, ConfigProblem};
use crate::secret::displayable;
use crate::syntax_tree::{ConfigEntry, ConfigNode};

/// The warnings about names of channels that are read as ids.
pub fn find_names_without_hash(config: &Config, tree: &ConfigNode) -> Vec<ConfigProblem> {
    let entries = tree.find(&["channels"]).map_or(&[][..], |channels| channels.node.entries());
    let names = entries.iter().filter(|entry| !entry.key.starts_with('#') && !is_id(&entry.key));
    let is_in_room_only = config.slack.is_none() && config.discord.is_none();
    let warning = |entry: &ConfigEntry| {
        let key = displayable(&entry.key)?;
        // In the local room the id of a channel is its name.
        let effect = if is_in_room_only { "" } else { " on Slack and Discord" };
        let sentence = format!(
            "channels.{key} is read as a channel's id{effect}; did you mean the channel of this name, \"#{key}\"?"
        );
        Some(ConfigProblem::for_file(Some(entry.key_location), sentence))
    };
    names.filter_map(warning).collect()
}

/// Finds a setting that only a channel can have in the settings of one of its threads.
pub fn find_misplaced(tree: &ConfigNode) -> Option<ConfigProblem> {
    let channels = tree.find(&["channels"])?.node.entries().iter();
    let mut threads = channels.flat_map(|channel| {
        let threads = channel.node.find(&["thread_settings"]);
        let threads = threads.map_or(&[][..], |threads| threads.node.entries());
        threads.iter().map(move |thread| (&channel.key, thread))
    });
    let (channel, thread, misplaced) = threads.find_map(|(channel, thread)| {
        Some((channel, &thread.key, thread.node.find(&["announce"])?))
    })?;
    let [channel, thread] = [channel, thread].map(|key| displayable(key).unwrap_or("…".to_owned()));
    let sentence = format!(
        "channels.{channel}.thread_settings.{thread}.announce means nothing: Aizuchi says once that it joins a channel, and \
         nothing joins a thread; channels.{channel}.announce is the setting of the whole channel"
    );
    Some(ConfigProblem::for_file(Some(misplaced.key_location), sentence))
}

/// Whether a key can be an id of Slack or of Discord.
fn is_id(key: &str) -> bool {
    let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
    // Slack's ids have a digit, and its channels' names no capitals.
    let is_code = key.starts_with(['C', 'D', 'G'])
        && key.bytes().any(|byte| byte.is_ascii_digit())
        && key.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    is_number || is_code
}

/// The warnings about keys like `#general:` without quotes, which YAML takes for comments.
pub fn find_commented_names(source: &str) -> Vec<ConfigProblem> {
    let mut is_within = false;
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        if indentation == 0 && !text.is_empty() && !text.starts_with('#') {
            is_within = text.starts_with("channels:");
        }
        let name = commented_name(text).filter(|_| is_within && indentation > 0);
        let Some(name) = name.and_then(displayable) else { continue };
        let column = line[..indentation].chars().count() as u64 + 1;
        let sentence = format!(
            "#{name}: is read as a comment, because YAML ignores what follows a #; write \"#{name}\": with the quotes"
        );
        let location = ConfigLocation { line: number, column };
        problems.push(ConfigProblem::for_file(Some(location), sentence));
    }
    problems
}

/// The channel that a commented-out key of `channels` names. `None` for a comment in prose.
fn commented_name(line: &str) -> Option<&str> {
    let (name, value) = line.strip_prefix('#')?.split_once(':')?;
    let is_name = !name.is_empty()
        && !name.contains(|letter: char| letter.is_whitespace() || "\"'#".contains(letter));
    let value = value.trim();
    (is_name && !is_id(name) && (value.is_empty() || value.starts_with('{'))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_comments_are_found() {
        for (source, expected) in [
            ("channels:\n  #general:\n    mode: observe\n", vec![(2, 3)]),
            ("channels:\n  #general: {mode: observe}\n  #random:\n", vec![(2, 3), (3, 3)]),
            ("channels:\n  \"#general\":\n    mode: observe\n", vec![]),
            ("channels:\n  #C0123456789: {mode: observe}\n  # \"#general\":\n", vec![]),
            ("channels:\n  #note: this one is for talk\n  # another:\n", vec![]),
            ("#channels:\n#  #general:\nslack:\n  #general:\n", vec![]),
        ] {
            let found = find_commented_names(source);
            let found: Vec<(u64, u64)> =
                found.iter().filter_map(|it| it.location).map(|it| (it.line, it.column)).collect();
            assert_eq!(found, expected, "{source}");
        }
    }
}
