//! The lines of config that a report proposes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aizuchi_config::channels::ChannelKey;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{ChannelFigures, PolicyFigures, Report};

/// The model to begin with, if none is configured.
const COMMON_MODEL: &str = "anthropic/claude-haiku-4-5";
/// The minimum number of posts in a channel that tell anything about it.
const MIN_POSTS: usize = 6;

/// Returns the lines: to propose first, with a model, and to answer only when asked where a third of the posts would be
/// in mid-talk.
pub fn config_lines(report: &Report, policy: &PolicyFigures, language: Language) -> String {
    let mut lines = String::new();
    // Writing to a string does not fail.
    if !report.names_model {
        let model = policy.cost.model.as_deref().unwrap_or(COMMON_MODEL);
        let comment = texts::your_model(language);
        let _ = writeln!(lines, "agents:\n  response:\n    model_id: {model}  # {comment}");
    }
    let _ = writeln!(lines, "response:\n  mode: {}", Mode::Propose.name());
    let is_worse = |channel: &&ChannelFigures| {
        let posts = channel.posts;
        policy.posts.is_some() && posts.count >= MIN_POSTS && posts.in_mid_talk * 3 >= posts.count
    };
    let worse = policy.by_channel.iter().filter(is_worse);
    let keys = worse.filter_map(|channel| ChannelKey::try_from(key(&channel.name)).ok());
    // Two workspaces may have channels of one name, and a key may stand once.
    let keys: BTreeSet<ChannelKey> = keys.collect();
    if !keys.is_empty() {
        let _ = writeln!(lines, "channels:  # {}", texts::often_in_mid_talk(language));
    }
    for key in keys {
        // The name comes from outside. A string of JSON is one of YAML, too.
        let name = serde_json::Value::from(key.0);
        let _ = writeln!(lines, "  {name}: {{mode: {}}}", Mode::MentionOnly.name());
    }
    lines
}

fn key(channel: &str) -> String {
    crate::report::format::channel(channel)
}
