//! Interprets a config of myao2. Its keys are accepted, and notices name the keys, set or omitted, that mean something
//! else here than in myao2.

use aizuchi_model::rhythm::WaitStrategy;

use crate::Config;
use crate::ineffective_keys::has_obsolete_key;
use crate::problem::ConfigProblem;
use crate::syntax_tree::{ConfigEntry, ConfigNode};
use crate::values::BoundedInteger;

/// The default port of myao2's health check.
const HEALTH_PORT: u16 = 8080;

/// Which program a config was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOrigin {
    Myao2,
    Own,
}

impl ConfigOrigin {
    /// Recognizes a config of myao2: it has Slack and agents, which myao2 requires, and either a key that only myao2
    /// has, or everything that myao2 requires and no section that it does not know. Must be called before obsolete keys
    /// are removed.
    pub fn find(tree: &ConfigNode) -> Self {
        let has = |path: &[&str]| tree.find(path).is_some();
        let demanded: [&[&str]; 5] = [
            &["slack"],
            &["memory", "database_path"],
            &["agents", "response"],
            &["agents", "judgment"],
            &["agents", "memory"],
        ];
        let is_known = |entry: &ConfigEntry| MYAO2_SECTIONS.contains(&entry.key.as_str());
        let is_plain = demanded.into_iter().all(has) && tree.entries().iter().all(is_known);
        let is_likely = has(&["slack"]) && has(&["agents"]);
        if is_likely && (has_obsolete_key(tree) || is_plain) { Self::Myao2 } else { Self::Own }
    }
}

/// The sections of myao2.
const MYAO2_SECTIONS: [&str; 8] =
    ["slack", "agents", "persona", "memory", "response", "logging", "tools", "health_check"];

/// Serves health checks on myao2's port if the config names none, so that existing probes keep working. Anyone who can
/// reach the machine can read there whether the platforms are connected and how many conversations are pending.
pub fn answer_health_checks(config: &mut Config, tree: &ConfigNode) -> Option<ConfigProblem> {
    let is_taken =
        tree.find(&["http", "listen"]).is_some() && config.http.listen.0.port() == HEALTH_PORT;
    if tree.find(&["health_check"]).is_some() || is_taken {
        return None;
    }
    config.health_check.port = Some(BoundedInteger(u64::from(HEALTH_PORT)));
    let sentence = format!(
        "health_check is not set, so health checks are answered on port {HEALTH_PORT} of all interfaces, as myao2 \
         did; health_check.port names another port, and an empty section, health_check: {{}}, opens none"
    );
    Some(ConfigProblem::for_file(None, sentence))
}

/// Returns notices about keys that mean something else here.
pub fn describe_changes(config: &Config, tree: &ConfigNode) -> Vec<ConfigProblem> {
    let is_set = |path: &[&str]| tree.location_of(path).is_some();
    let at = |path: &[&str], sentence: &str| {
        let entry = tree.find(path).filter(|_| is_set(path));
        entry.map(|entry| ConfigProblem::for_file(Some(entry.key_location), sentence))
    };
    let unset = |path: &[&str], sentence: &str| {
        (!is_set(path)).then(|| ConfigProblem::for_file(None, sentence))
    };
    let adaptive = |problem: Option<ConfigProblem>| {
        problem.filter(|_| config.response.wait == WaitStrategy::Adaptive)
    };
    let changes = [
        unset(
            &["response", "announce"],
            "response.announce is not set, so Aizuchi says once in each channel what it hears and stores, but myao2 said \
             nothing; response.announce: false keeps it silent",
        ),
        adaptive(at(
            &["response", "min_wait_seconds"],
            "response.min_wait_seconds is the longest rest before a judgment with response.wait: adaptive, the default, \
             not the shortest as in myao2; response.wait: fixed restores the old meaning",
        )),
        adaptive(at(
            &["response", "jitter_ratio"],
            "response.jitter_ratio has no effect with response.wait: adaptive, the default, which follows the pace of the \
             channel; response.wait: fixed uses it",
        )),
    ];
    changes.into_iter().flatten().collect()
}
