//! Variants of policies with the default limits. Somebody who compares ways to wait hardly wants to turn off the limits
//! on posts, so policies without limits are also measured with them.

use std::path::PathBuf;

use aizuchi_config::Config;
use aizuchi_config::budget::LimitSetting;
use aizuchi_config::minds::ResolvedMinds;
use aizuchi_config::model_sources::ModelSources;
use aizuchi_config::values::Seconds;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{Mode, PostTiming};
use aizuchi_model::texts::policies as texts;

use crate::replay::Policy;
use crate::report::setting_labels::NO_LIMIT_SECONDS;

/// Adds a variant with the default gates and limits for each policy that turns any of them off, and returns the names
/// of the variants. A variant that equals another policy is not added.
pub fn add_default_limits(policies: &mut Vec<Policy>, language: Language) -> Vec<String> {
    let limited = policies.iter().filter_map(|policy| with_default_limits(policy, language));
    let limited: Vec<Policy> = limited.collect();
    let mut added = Vec::new();
    for policy in limited {
        let wanted = comparable(&policy.config);
        match policies.iter_mut().find(|one| comparable(&one.config) == wanted) {
            Some(same) => same.with_default_limits_of.extend(policy.with_default_limits_of),
            None => {
                added.push(policy.name.clone());
                policies.push(policy);
            }
        }
    }
    added
}

/// Returns the policy with the default gates and limits, if it turns any of them off.
fn with_default_limits(policy: &Policy, language: Language) -> Option<Policy> {
    let default = Config::default();
    let mut config = policy.config.clone();
    let (response, budget) = (&mut config.response, &mut config.budget);
    if response.gates.is_empty() {
        response.gates.clone_from(&default.response.gates);
    }
    if response.max_wait_seconds.0 >= NO_LIMIT_SECONDS {
        response.max_wait_seconds = default.response.max_wait_seconds;
    }
    if budget.tokens_per_day == Some(LimitSetting::Off) {
        budget.tokens_per_day = default.budget.tokens_per_day;
    }
    for (limit, default) in [
        (&mut budget.posts_per_channel_per_hour, default.budget.posts_per_channel_per_hour),
        (
            &mut budget.judge_calls_per_person_per_hour,
            default.budget.judge_calls_per_person_per_hour,
        ),
        (&mut budget.calls_per_decision, default.budget.calls_per_decision),
    ] {
        if *limit == LimitSetting::Off {
            *limit = default;
        }
    }
    (config != policy.config).then(|| Policy {
        name: texts::with_default_limits(language, &policy.name),
        config,
        with_default_limits_of: vec![policy.name.clone()],
    })
}

/// Returns a config without the parts that make no difference in a replay, and with explicit values for those with
/// special defaults there.
fn comparable(config: &Config) -> (Config, PostTiming) {
    let mut config = Config {
        model_sources: ModelSources::default(),
        minds: ResolvedMinds::default(),
        folder: PathBuf::new(),
        ..config.clone()
    };
    let (timing, min_wait) = (config.response.timing(), config.wait_settings().min_wait_seconds);
    let response = &mut config.response;
    response.mode = response.mode.filter(|mode| *mode != Mode::Companion);
    response.timing = None;
    response.min_wait_seconds = Some(Seconds(min_wait));
    (config, timing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::config_block::config_block;
    use crate::report::settings::settings_of;

    fn policy(name: &str, config: &str) -> Policy {
        Policy {
            name: name.to_owned(),
            config: Config::parse(config).unwrap(),
            with_default_limits_of: Vec::new(),
        }
    }

    fn names(policies: &[Policy]) -> Vec<&str> {
        policies.iter().map(|policy| &*policy.name).collect()
    }

    #[test]
    fn what_turns_off_limits_is_measured_with_them_too() {
        let adaptive = policy("adaptive", include_str!("../../../../policies/adaptive.yaml"));
        let quiet = policy("quiet-300", include_str!("../../../../policies/quiet-300.yaml"));
        let mut policies = vec![adaptive.clone(), quiet.clone()];
        let added = add_default_limits(&mut policies, Language::En);
        assert_eq!(added, ["quiet-300 with the default limits"]);
        assert_eq!(names(&policies), ["adaptive", "quiet-300", &added[0]]);
        assert_eq!(policies[2].with_default_limits_of, ["quiet-300"]);
        let lines = "response:\n  wait: fixed\n  min_wait_seconds: 300\n  timing: plain\n";
        assert_eq!(config_block(&settings_of(&policies[2]), Language::En), lines);
        // What is there already is not measured twice.
        let same = policy("calm", &format!("{lines}  mode: companion\n  jitter_ratio: 0.3"));
        let mut policies = vec![quiet, same];
        assert!(add_default_limits(&mut policies, Language::En).is_empty());
        assert_eq!(names(&policies), ["quiet-300", "calm"]);
        assert_eq!(policies[1].with_default_limits_of, ["quiet-300"]);
        let mut policies = vec![adaptive, policy("careful", "response: {min_confidence: 0.8}")];
        assert!(add_default_limits(&mut policies, Language::Ja).is_empty());
        assert_eq!(policies.len(), 2);
    }

    /// Both policies lack limits, and share one variant with limits, which is the only one offered.
    #[test]
    fn two_policies_may_become_the_same_one() {
        let quiet = policy("quiet-300", include_str!("../../../../policies/quiet-300.yaml"));
        let mut gated = policy("gated", include_str!("../../../../policies/quiet-300.yaml"));
        gated.config.response.gates = Config::default().response.gates;
        let mut policies = vec![quiet, gated];
        let added = add_default_limits(&mut policies, Language::En);
        assert_eq!(added, ["quiet-300 with the default limits"]);
        assert_eq!(policies[2].with_default_limits_of, ["quiet-300", "gated"]);
    }
}
