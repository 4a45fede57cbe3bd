//! Converts the config to the rules of each channel.

use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::local;
use aizuchi_model::rules::place::WorkspaceRules;
use aizuchi_model::rules::setting_override::{PlaceSetting, Switch};
use aizuchi_model::rules::{ChannelRules, FacilitationRules, Mode, Rulebook};
use jiff::SignedDuration;

use crate::Config;
use crate::budget::ModelCosts;
use crate::models::place_models::OwnModels;
use crate::models::sources::ModelOrigin;
use crate::places::workspace_id;
use crate::values::{ConfiguredUserId, user_ids};

impl Config {
    /// The mode of channels that configure none. On chat platforms the built-in mind only answers mentions, because its
    /// rules are too simple to decide when to interrupt.
    fn default_mode(&self) -> Mode {
        self.default_mode_with(self.judge())
    }

    /// The model that judges in channels without a model of their own.
    pub(super) fn judge(&self) -> &ModelId {
        self.unresolved_judge.as_ref().unwrap_or(&self.minds.judgment.model.id)
    }

    /// The model of this name in `models.named`. `None` if one model is used for all agents.
    pub(super) fn named_model(&self, name: &str) -> Option<&ModelId> {
        let is_one_for_all = self.model_sources.origin == ModelOrigin::Flag;
        let named = self.models.named.get(name).filter(|_| !is_one_for_all);
        named.map(|named| &named.model_id)
    }

    /// The default mode of a channel or thread, which may have models of its own.
    pub(super) fn default_mode_of(&self, own: Option<&OwnModels>) -> Mode {
        let own = own.and_then(|own| own.rules().judgment);
        let own = own.and_then(|name| self.named_model(&name));
        self.default_mode_with(own.unwrap_or(self.judge()))
    }

    fn default_mode_with(&self, judge: &ModelId) -> Mode {
        if (self.slack.is_some() || self.discord.is_some()) && *judge == ModelId::Builtin {
            Mode::MentionOnly
        } else {
            Mode::Companion
        }
    }

    /// The rules of each channel: its own settings on top of the defaults.
    pub fn rulebook(&self) -> Rulebook {
        let mut models = self.minds.models_in_use(self.decision.state);
        let costs = match models.all(|id| *id == ModelId::Builtin) {
            true => ModelCosts::Nothing,
            false => ModelCosts::Tokens,
        };
        self.rulebook_with(costs)
    }

    /// The rules of each channel for models with these costs.
    pub fn rulebook_with(&self, costs: ModelCosts) -> Rulebook {
        let facilitation = self.facilitator.apply_to(&FacilitationRules::default());
        let limits = self.budget.channel_limits();
        let mut defaults = self.response.rules(self.default_mode(), facilitation, limits);
        defaults.language = self.language.rule();
        let workspaces = self.workspace_rules(&defaults);
        let WorkspaceRules { default_rules, channels, threads } =
            self.channel_and_thread_rules(&defaults, self.response.mode);
        Rulebook {
            channels,
            default_rules,
            threads,
            workspaces,
            // The built-in rules speak unasked only where the config says so.
            model_choices: {
                let named = self.minds.named.iter();
                let models = named.filter(|(_, mind)| mind.model.id != ModelId::Builtin);
                models.map(|(name, _)| name.as_str().into()).collect()
            },
            has_unpriced_models: !self.unpriced_models().is_empty(),
            unset: vec![
                (Some(local::workspace_id()), PlaceSetting::Timing(self.response.room_timing())),
                (None, PlaceSetting::Timing(self.response.timing())),
                (None, PlaceSetting::Announce(Switch::from_bool(self.response.announce))),
            ],
            keeper: self.response.keeper.as_ref().map(ConfiguredUserId::user),
            workspace_limits: self.budget.limits(costs),
            answers_per_hour: self.budget.answers_per_person_per_hour.most(),
            judge_calls_per_hour: self.budget.judge_calls_per_person_per_hour.most(),
            calls_per_decision: self.budget.calls_per_decision.most(),
            soft_share: self.budget.soft_share.0,
            mention_share: self.budget.mention_share.0,
            opted_out: user_ids(&self.opted_out),
            drafts_standing_orders: self.response.tries_every_order(self.is_judge_free()),
            workspace_models: {
                let own = self.models.workspaces.iter();
                own.map(|(key, own)| (workspace_id(key).to_string(), own.rules())).collect()
            },
            ..Rulebook::default()
        }
    }

    /// The rulebook with the rules of the demo's channel, where configured modes and quiet hours do not apply. The
    /// budget applies there as everywhere.
    pub fn app_rulebook(&self) -> Rulebook {
        let mut book = self.rulebook();
        let rules = ChannelRules {
            mode: Mode::Companion,
            quiet_hours: None,
            cooldown: SignedDuration::ZERO,
            max_share: ChannelRules::default().max_share,
            ..book.default_rules.clone()
        };
        let key = local::demo_channel_id().to_string();
        for layer in book.workspaces.values_mut() {
            layer.channels.insert(key.clone(), rules.clone());
        }
        book.channels.insert(key, rules);
        book
    }
}
