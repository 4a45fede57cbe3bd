//! Budgets of the whole workspace and of single channels.

use std::fmt;

use aizuchi_model::rules::{BudgetLimits, Rulebook};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess};

use crate::values::{BoundedInteger, Money, Ratio};

/// The largest limit that can be set.
const MAX_LIMIT: u64 = 1_000_000_000_000;
/// The default limit of the tokens that models use in a day: some hundred prompts of the usual length. The built-in
/// mind costs nothing and has no such limit.
const TOKENS_PER_DAY: u64 = 2_000_000;

/// A number that limits something, or `off`: there is no such limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "LimitSchema", inline)]
pub enum LimitSetting {
    Off,
    Most(u64),
}

/// How a limit is written.
#[derive(JsonSchema)]
#[schemars(inline, untagged)]
#[expect(dead_code, reason = "it is only described")]
enum LimitSchema {
    Most(BoundedInteger<0, MAX_LIMIT>),
    Off(LimitOff),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "it is only described")]
enum LimitOff {
    Off,
    None,
}

section! {
    /// Limits for the whole workspace. 0 allows nothing, `off` removes a limit, unless it is one on money: leave that out.
    pub struct BudgetConfig {
        /// The most tokens that models read and write within 24 hours. If omitted: 2000000, or `off` if no model is named.
        pub tokens_per_day: Option<LimitSetting>,
        /// The most that models may cost within 24 hours, in `models.currency`. If omitted: no limit.
        pub money_per_day: Option<Money>,
        /// The most that models may cost within 30 days, in `models.currency`. If omitted: no limit.
        pub money_per_month: Option<Money>,
        /// The most unasked posts within an hour, in all channels together. If omitted: `off`.
        pub posts_per_hour: Option<LimitSetting>,
        /// The most unasked posts within an hour in one channel.
        pub posts_per_channel_per_hour: LimitSetting = LimitSetting::from_most(Rulebook::default().default_rules.budget_limits.posts_per_hour),
        /// The most answers that one person gets within an hour.
        pub answers_per_person_per_hour: LimitSetting = LimitSetting::from_most(Rulebook::default().answers_per_hour),
        /// The most judgments within an hour about new messages that one person alone has written.
        pub judge_calls_per_person_per_hour: LimitSetting = LimitSetting::from_most(Rulebook::default().judge_calls_per_hour),
        /// How many model calls one decision may take.
        pub calls_per_decision: LimitSetting = LimitSetting::from_most(Rulebook::default().calls_per_decision),
        /// Once this share of a limit is used, Aizuchi posts nothing unasked.
        pub soft_share: Ratio = Ratio(Rulebook::default().soft_share),
        /// The share of the tokens that is reserved for mentions.
        pub mention_share: Ratio = Ratio(Rulebook::default().mention_share),
    }
}

/// Limits for one channel. 0 allows nothing, `off` removes a limit, unless it is one on money: leave that out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllowanceConfig {
    /// The most tokens that models read and write within 24 hours. If omitted: `off`.
    pub tokens_per_day: Option<LimitSetting>,
    /// The most that models may cost within 24 hours, in `models.currency`. If omitted: no limit.
    pub money_per_day: Option<Money>,
    /// The most that models may cost within 30 days, in `models.currency`. If omitted: no limit.
    pub money_per_month: Option<Money>,
    /// The most unasked posts within an hour. If omitted: `budget.posts_per_channel_per_hour`.
    pub posts_per_hour: Option<LimitSetting>,
}

/// A channel's limits, or the most that its models may cost within 30 days.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum ChannelBudget {
    MoneyPerMonth(Money),
    Limits(AllowanceConfig),
}

impl BudgetConfig {
    /// The limits of the workspace. A model that costs something has a daily limit even if none is set.
    pub fn limits(&self, costs: ModelCosts) -> BudgetLimits {
        let default_tokens = match costs {
            ModelCosts::Nothing => None,
            ModelCosts::Tokens => Some(TOKENS_PER_DAY),
        };
        BudgetLimits {
            tokens_per_day: self.tokens_per_day.map_or(default_tokens, LimitSetting::most),
            micros_per_day: self.money_per_day.map(micros),
            micros_per_month: self.money_per_month.map(micros),
            posts_per_hour: self.posts_per_hour.and_then(LimitSetting::most),
        }
    }

    /// Sets the default token limit if the config sets none, for a program in which a model may be chosen later. The
    /// built-in mind never reaches it.
    pub fn with_room_for_models(&self) -> Self {
        let limit = self.tokens_per_day.unwrap_or(LimitSetting::Most(TOKENS_PER_DAY));
        Self { tokens_per_day: Some(limit), ..self.clone() }
    }

    /// The limits of channels without settings of their own.
    pub fn channel_limits(&self) -> BudgetLimits {
        let posts_per_hour = self.posts_per_channel_per_hour.most();
        BudgetLimits { posts_per_hour, ..BudgetLimits::default() }
    }
}

/// Whether the models in use cost anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelCosts {
    /// Only the built-in mind is asked.
    Nothing,
    Tokens,
}

impl LimitSetting {
    pub fn most(self) -> Option<u64> {
        match self {
            LimitSetting::Off => None,
            LimitSetting::Most(most) => Some(most),
        }
    }

    fn from_most(most: Option<u64>) -> Self {
        most.map_or(LimitSetting::Off, LimitSetting::Most)
    }
}

impl TryFrom<String> for LimitSetting {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        let value = value.trim();
        if value == "off" || value == "none" {
            return Ok(LimitSetting::Off);
        }
        match value.parse::<i64>() {
            Ok(..0) => Err("it must not be negative".to_owned()),
            Ok(most) if most.unsigned_abs() <= MAX_LIMIT => {
                Ok(LimitSetting::Most(most.unsigned_abs()))
            }
            Ok(_) => Err(format!("it must be a whole number from 0 to {MAX_LIMIT}")),
            Err(_) => Err("it must be a whole number, or off".to_owned()),
        }
    }
}

impl ChannelBudget {
    /// Returns the defaults with these limits in their place.
    pub fn limits(&self, defaults: &BudgetLimits) -> BudgetLimits {
        match self {
            ChannelBudget::MoneyPerMonth(money) => {
                BudgetLimits { micros_per_month: Some(micros(*money)), ..*defaults }
            }
            ChannelBudget::Limits(limits) => BudgetLimits {
                tokens_per_day: limits.tokens_per_day.and_then(LimitSetting::most),
                micros_per_day: limits.money_per_day.map(micros),
                micros_per_month: limits.money_per_month.map(micros),
                posts_per_hour: limits
                    .posts_per_hour
                    .map_or(defaults.posts_per_hour, LimitSetting::most),
            },
        }
    }
}

/// Lists the limits in force by the names of their settings.
pub fn describe_limits(rulebook: &Rulebook, currency: &str) -> String {
    let workspace = &rulebook.workspace_limits;
    let channel = &rulebook.default_rules.budget_limits;
    let limits = [
        ("tokens_per_day", workspace.tokens_per_day),
        ("posts_per_hour", workspace.posts_per_hour),
        ("posts_per_channel_per_hour", channel.posts_per_hour),
        ("answers_per_person_per_hour", rulebook.answers_per_hour),
        ("judge_calls_per_person_per_hour", rulebook.judge_calls_per_hour),
        ("calls_per_decision", rulebook.calls_per_decision),
    ];
    let limits = limits.into_iter().map(|(name, most)| (name, most.map(|most| most.to_string())));
    let money = [
        ("money_per_day", workspace.micros_per_day),
        ("money_per_month", workspace.micros_per_month),
    ];
    let amount = |micros: u64| format!("{} {currency}", micros as f64 / 1e6);
    let money = money.into_iter().map(|(name, most)| (name, most.map(amount)));
    let limits = limits.chain(money).map(|(name, most)| match most {
        Some(most) => format!("{name} {most}"),
        None => format!("{name} off"),
    });
    let shares = [("mention_share", rulebook.mention_share), ("soft_share", rulebook.soft_share)];
    let shares = shares.into_iter().map(|(name, share)| format!("{name} {share}"));
    limits.chain(shares).collect::<Vec<_>>().join(", ")
}

fn micros(money: Money) -> u64 {
    (money.0 * 1e6).round() as u64
}

// Implemented by hand, because serde's `untagged` has no useful error message.
impl<'de> Deserialize<'de> for ChannelBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ChannelBudget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an amount of money, or a section with keys of its own: tokens_per_day, \
                     money_per_day, money_per_month and posts_per_hour",
                )
            }

            fn visit_u64<E: de::Error>(self, amount: u64) -> Result<ChannelBudget, E> {
                self.visit_f64(amount as f64)
            }

            fn visit_i64<E: de::Error>(self, amount: i64) -> Result<ChannelBudget, E> {
                self.visit_f64(amount as f64)
            }

            fn visit_f64<E: de::Error>(self, amount: f64) -> Result<ChannelBudget, E> {
                Money::try_from(amount).map(ChannelBudget::MoneyPerMonth).map_err(E::custom)
            }

            /// Accepts a quoted number, as all number settings do.
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ChannelBudget, E> {
                let amount: Option<f64> = text.parse().ok();
                match amount.filter(|amount| amount.is_finite()) {
                    Some(amount) => self.visit_f64(amount),
                    None => Err(E::invalid_type(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, section: A) -> Result<ChannelBudget, A::Error> {
                let limits = AllowanceConfig::deserialize(MapAccessDeserializer::new(section))?;
                Ok(ChannelBudget::Limits(limits))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
