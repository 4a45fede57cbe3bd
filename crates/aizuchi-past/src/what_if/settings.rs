//! The settings that are tried on a channel, and those in force there.

use aizuchi_config::Config;
use aizuchi_config::channels::ChannelKey;
use aizuchi_config::overrides::ChannelConfig;
use aizuchi_config::response::JudgeGate;
use aizuchi_config::values::{QuietHoursSetting, Ratio, Seconds, TimingSetting};
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, Visibility};
use aizuchi_model::decision::tolerance::{self, Label};
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{Mode, PostTiming, Rulebook, TimingRules};

use crate::replay::Policy;
use crate::tune::tuned_setting::TunedSetting;

/// The settings that may be changed, in the order of the page.
pub const SETTINGS: [TunedSetting; 6] = [
    TunedSetting::MinConfidence,
    TunedSetting::MinWait,
    TunedSetting::MinWaitFloor,
    TunedSetting::MaxWait,
    TunedSetting::MaxDelay,
    TunedSetting::Cooldown,
];

/// The settings that are tried, and those in force.
pub struct TriedSettings {
    /// The settings in force in the channel.
    pub present: Policy,
    pub policy: Policy,
    /// The key of the channel's section in the config, even if there is no such section.
    key: ChannelKey,
}

impl TriedSettings {
    /// Creates settings equal to those in force, as if the channel had no section of its own. The rules and the mode
    /// come from the rulebook, because users may have ordered them.
    pub fn new(config: &Config, rulebook: &Rulebook, channel: &Channel, mode: Mode) -> Self {
        let rules = rulebook.rules_in(&Place::of_channel(channel));
        let mut config = config.clone();
        let section = take_section(&mut config, channel);
        let own = section.as_ref().map(|(_, own)| own.clone()).unwrap_or_default();
        config.response.min_confidence = Ratio(rules.min_confidence);
        config.response.cooldown_seconds = Seconds(rules.cooldown.as_secs_f64());
        config.response.tolerance = rules.tolerance.map(Ratio);
        config.response.max_share = Ratio(rules.max_share);
        let waits = match channel.workspace == workspace_id() {
            true => config.room_wait_settings(),
            false => config.wait_settings(),
        };
        if channel.workspace == workspace_id() {
            config.response.min_wait_seconds = Some(Seconds(waits.min_wait_seconds));
            config.response.timing.get_or_insert(TimingSetting::Plain);
        }
        let TimingRules { min_wait_floor_seconds, min_wait_seconds, max_wait_seconds, post_timing } =
            rules.timing;
        let own_waits = [min_wait_floor_seconds, min_wait_seconds, max_wait_seconds];
        if own_waits.iter().any(Option::is_some) {
            let waits = waits.in_channel(&rules.timing);
            config.response.min_wait_floor_seconds = Seconds(waits.min_wait_floor_seconds);
            config.response.min_wait_seconds = Some(Seconds(waits.min_wait_seconds));
            config.response.max_wait_seconds = Seconds(waits.max_wait_seconds);
        }
        config.response.timing = match post_timing {
            Some(PostTiming::HumanLike) => Some(TimingSetting::Human),
            Some(PostTiming::Immediate) => Some(TimingSetting::Plain),
            None => config.response.timing,
        };
        // The settings in force already contain those of the workspaces.
        config.workspaces.clear();
        let kept = ChannelConfig {
            mode: Some(mode),
            quiet_hours: Some(QuietHoursSetting(rules.quiet_hours)),
            min_confidence: None,
            tolerance: None,
            max_share: None,
            cooldown_seconds: None,
            min_wait_floor_seconds: None,
            min_wait_seconds: None,
            max_wait_seconds: None,
            timing: None,
            ..own
        };
        config.channels.insert(ChannelKey(channel.id.to_string()), kept);
        let mut present = Policy { name: "present".to_owned(), config };
        present.add_judgment_prompt();
        let policy = Policy { name: "tried".to_owned(), ..present.clone() };
        let by_id = || ChannelKey(channel.id.to_string());
        Self { present, policy, key: section.map_or_else(by_id, |(key, _)| key) }
    }

    /// Returns the confidence from which posts are welcome often enough in the channel, under the present settings and
    /// under the tried ones. `None` if `response.tolerance` is not set there.
    pub fn thresholds(&self, channel: &Channel, labels: &[Label]) -> Option<[f64; 2]> {
        let threshold = |policy: &Policy| {
            let book = policy.config.rulebook();
            let id = channel.id.as_str();
            let place = Place::new(&channel.workspace, &channel.id, id, Visibility::Public);
            let rules = book.rules_in(&place);
            Some(tolerance::threshold(labels, rules.min_confidence, rules.tolerance?))
        };
        Some([threshold(&self.present)?, threshold(&self.policy)?])
    }

    pub fn set(&mut self, setting: TunedSetting, value: f64) -> Result<(), &'static str> {
        match setting {
            TunedSetting::MinConfidence | TunedSetting::Jitter => _ = Ratio::try_from(value)?,
            _seconds => _ = Seconds::try_from(value)?,
        }
        if value != setting.value(&self.present) {
            setting.set(&mut self.policy, value);
        }
        Ok(())
    }

    /// Sets which gates are on. Keeps the order in force, and appends new gates.
    pub fn set_gates(&mut self, chosen: &[JudgeGate]) {
        let order = self.present.config.response.gates.iter().chain(JudgeGate::ALL);
        let mut gates: Vec<JudgeGate> = Vec::new();
        for gate in order.filter(|gate| chosen.contains(gate)) {
            if !gates.contains(gate) {
                gates.push(*gate);
            }
        }
        self.policy.config.response.gates = gates;
    }

    pub fn has_gate(&self, gate: JudgeGate) -> bool {
        self.policy.config.response.gates.contains(&gate)
    }

    /// Returns the confidence that is tried, if the config could not set it in a channel, because an order by a user
    /// overrides it.
    pub fn overridden_confidence(&self, rulebook: &Rulebook, channel: &Channel) -> Option<f64> {
        let is_changed = self.changed().contains(&TunedSetting::MinConfidence);
        let tried = TunedSetting::MinConfidence.value(&self.policy);
        let mut patched = rulebook.clone();
        patched.change_all(|rules| rules.min_confidence = tried);
        let patched = patched.with_orders_of(rulebook);
        let holds = patched.rules_in(&Place::of_channel(channel)).min_confidence;
        // Orders are stored in thousandths.
        (is_changed && (holds - tried).abs() > 1e-6).then_some(tried)
    }

    pub fn is_changed(&self) -> bool {
        !self.changed().is_empty()
    }

    fn changed(&self) -> Vec<TunedSetting> {
        let differs =
            |setting: &TunedSetting| setting.value(&self.policy) != setting.value(&self.present);
        let mut changed: Vec<TunedSetting> = SETTINGS.into_iter().filter(differs).collect();
        if self.policy.config.response.gates != self.present.config.response.gates {
            // One line of the config sets all gates.
            changed.push(TunedSetting::Gate(JudgeGate::NothingOpen));
        }
        changed
    }

    /// Returns the part of a config that sets the changes, for the channel alone where the config allows that. `None`
    /// if there are none.
    pub fn patch(&self) -> Option<String> {
        let changed = self.changed();
        use TunedSetting::{Cooldown, MaxWait, MinConfidence, MinWait, MinWaitFloor};
        let is_own = |setting: &TunedSetting| {
            matches!(setting, MinConfidence | Cooldown | MinWait | MinWaitFloor | MaxWait)
        };
        let (own, common): (Vec<TunedSetting>, Vec<TunedSetting>) =
            changed.into_iter().partition(is_own);
        let lines = |settings: &[TunedSetting], indentation: &str| -> String {
            let lines = settings.iter().map(|setting| setting.to_yaml(&self.policy));
            lines.map(|line| format!("{indentation}{line}\n")).collect()
        };
        let mut patch = String::new();
        if !common.is_empty() {
            patch = format!("response:\n{}", lines(&common, "  "));
        }
        if !own.is_empty() {
            // A JSON string is a YAML string.
            let key = serde_json::json!(self.key.0);
            patch += &format!("channels:\n  {key}:\n{}", lines(&own, "    "));
        }
        (!patch.is_empty()).then_some(patch)
    }
}

/// Takes the channel's own section, as the rules find it.
fn take_section(config: &mut Config, channel: &Channel) -> Option<(ChannelKey, ChannelConfig)> {
    let by_id = ChannelKey(channel.id.to_string());
    let by_name = ChannelKey(format!("#{}", channel.name));
    [by_id, by_name].into_iter().find_map(|key| config.channels.remove_entry(&key))
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{ChannelId, WorkspaceId};
    use aizuchi_model::rules::setting_override::{
        Confidence, PlaceSetting, SettingOverride, SettingRole, SettingScope,
    };
    use jiff::Timestamp;

    use super::*;

    fn channel() -> Channel {
        Channel {
            workspace: WorkspaceId::new("slack:T1"),
            id: ChannelId::new("C1"),
            name: "tea".into(),
            visibility: Visibility::Public,
            topic: None,
        }
    }

    fn in_force(config: &Config) -> TriedSettings {
        TriedSettings::new(config, &config.rulebook(), &channel(), Mode::Companion)
    }

    #[test]
    fn a_patch_has_only_what_is_changed() {
        let mut tried = in_force(&Config::default());
        assert_eq!((tried.patch(), tried.is_changed()), (None, false));
        tried.set(TunedSetting::MinConfidence, 0.75).unwrap();
        tried.set(TunedSetting::MinWait, 300.0).unwrap();
        tried.set_gates(&[JudgeGate::Share, JudgeGate::Directed]);
        let expected = "response:\n  gates: [directed, share]\nchannels:\n  \"C1\":\n    min_confidence: 0.75\n";
        assert_eq!(tried.patch().as_deref(), Some(expected));
        assert!(tried.set(TunedSetting::MinConfidence, 1.5).is_err());
        assert!(tried.set(TunedSetting::MaxWait, f64::NAN).is_err());
    }

    #[test]
    fn what_a_channel_may_set_is_changed_there_alone() {
        let mut config = Config::default();
        let own = ChannelConfig { min_confidence: Some(Ratio(0.9)), ..ChannelConfig::default() };
        config.channels.insert(ChannelKey("#tea".to_owned()), own);
        let mut tried = in_force(&config);
        assert_eq!(TunedSetting::MinConfidence.value(&tried.present), 0.9);
        tried.set(TunedSetting::MinConfidence, 0.5).unwrap();
        tried.set(TunedSetting::Cooldown, 60.0).unwrap();
        let expected =
            "channels:\n  \"#tea\":\n    min_confidence: 0.5\n    cooldown_seconds: 60\n";
        assert_eq!(tried.patch().as_deref(), Some(expected));
        let book = tried.policy.config.rulebook();
        let (workspace, id) = (WorkspaceId::new("w"), ChannelId::new("C1"));
        let rules = book.rules_in(&Place::new(&workspace, &id, "C1", Visibility::Public));
        assert_eq!(rules.min_confidence, 0.5);
    }

    #[test]
    fn the_waits_of_a_channel_are_those_in_force() {
        let mut config = Config::default();
        let own = ChannelConfig { max_wait_seconds: Some(Seconds(60.0)), ..Default::default() };
        config.channels.insert(ChannelKey("#tea".to_owned()), own);
        let mut tried = in_force(&config);
        let present = |setting: TunedSetting| setting.value(&tried.present);
        assert_eq!((present(TunedSetting::MinWait), present(TunedSetting::MaxWait)), (60.0, 60.0));
        tried.set(TunedSetting::MinWait, 30.0).unwrap();
        let expected = "channels:\n  \"#tea\":\n    min_wait_seconds: 30\n";
        assert_eq!(tried.patch().as_deref(), Some(expected));
    }

    #[test]
    fn what_users_have_ordered_is_in_force() {
        let order = |setting| SettingOverride {
            scope: SettingScope::Channel(channel().id),
            setting,
            role: SettingRole::Admin,
            by: "olga".into(),
            at: Timestamp::UNIX_EPOCH,
        };
        let confidence = Confidence::new(0.85).unwrap();
        let orders = [
            order(PlaceSetting::MinConfidence(confidence)),
            order(PlaceSetting::Timing(PostTiming::HumanLike)),
        ];
        let config = Config::default();
        let book = config.rulebook().with_orders(&channel().workspace, &orders);
        let mut tried = TriedSettings::new(&config, &book, &channel(), Mode::Companion);
        assert_eq!(TunedSetting::MinConfidence.value(&tried.present), 0.85);
        assert_eq!(tried.present.config.response.timing, Some(TimingSetting::Human));
        assert!(!tried.is_changed());
        tried.set(TunedSetting::MinConfidence, 0.7).unwrap();
        assert!(tried.is_changed());
        assert_eq!(tried.overridden_confidence(&book, &channel()), Some(0.7));
    }

    /// An order that can only narrow a setting does not keep the config from demanding more.
    #[test]
    fn a_patch_is_overridden_by_orders_that_decide() {
        for (role, tried_value, expected) in [
            (None, 0.9, None),
            (Some(SettingRole::Admin), 0.9, Some(0.9)),
            (Some(SettingRole::Admin), 0.6, Some(0.6)),
            (Some(SettingRole::Member), 0.9, None),
            (Some(SettingRole::Keeper), 0.6, Some(0.6)),
            (Some(SettingRole::Admin), 0.8, None),
        ] {
            let order = |role| SettingOverride {
                scope: SettingScope::Workspace,
                setting: PlaceSetting::MinConfidence(Confidence::new(0.8).unwrap()),
                role,
                by: "olga".into(),
                at: Timestamp::UNIX_EPOCH,
            };
            let orders: Vec<SettingOverride> = role.map(order).into_iter().collect();
            let config = Config::default();
            let book = config.rulebook().with_orders(&channel().workspace, &orders);
            let mut tried = TriedSettings::new(&config, &book, &channel(), Mode::Companion);
            tried.set(TunedSetting::MinConfidence, tried_value).unwrap();
            let found = tried.overridden_confidence(&book, &channel());
            assert_eq!(found, expected, "{role:?} {tried_value}");
        }
    }
}
