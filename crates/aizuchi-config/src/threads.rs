//! Settings of single threads.

use crate::problem::ConfigProblem;
use crate::secret::displayable;
use crate::syntax_tree::ConfigNode;

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
