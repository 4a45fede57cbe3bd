//! Budgets of the whole workspace and of single channels.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess};

use crate::config::values::{BoundedInteger, Money, Ratio};
use aizuchi_core::rules::{BudgetLimits, Rulebook};

/// The largest limit that can be set.
const MAX_LIMIT: u64 = 1_000_000_000_000;

/// What the whole workspace may use up. A limit that is left out is none; 0 allows nothing.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetConfig {
    /// The most tokens that models read and write within 24 hours.
    pub tokens_per_day: Option<BoundedInteger<0, MAX_LIMIT>>,
    /// The most that models cost within 24 hours, in `models.currency`.
    pub money_per_day: Option<Money>,
    /// The most that models cost within 30 days, in `models.currency`.
    pub money_per_month: Option<Money>,
    /// The most that it says unasked within an hour.
    pub posts_per_hour: Option<BoundedInteger<0, MAX_LIMIT>>,
    /// The most answers that one person gets within an hour.
    pub answers_per_person_per_hour: BoundedInteger<0, MAX_LIMIT>,
    /// From this share of a limit on, it says nothing unasked.
    pub soft_share: Ratio,
}

/// What may be used up in one channel. A limit that is left out is none; 0 allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllowanceConfig {
    /// The most tokens that models read and write within 24 hours.
    pub tokens_per_day: Option<BoundedInteger<0, MAX_LIMIT>>,
    /// The most that models cost within 24 hours, in `models.currency`.
    pub money_per_day: Option<Money>,
    /// The most that models cost within 30 days, in `models.currency`.
    pub money_per_month: Option<Money>,
    /// The most that it says unasked within an hour.
    pub posts_per_hour: Option<BoundedInteger<0, MAX_LIMIT>>,
}

/// A channel's limits, or the most that its models may cost within 30 days.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum ChannelBudget {
    MoneyPerMonth(Money),
    Limits(AllowanceConfig),
}

impl BudgetConfig {
    pub fn limits(&self) -> BudgetLimits {
        BudgetLimits {
            tokens_per_day: self.tokens_per_day.map(|tokens| tokens.0),
            micros_per_day: self.money_per_day.map(micros),
            micros_per_month: self.money_per_month.map(micros),
            posts_per_hour: self.posts_per_hour.map(|posts| posts.0),
        }
    }
}

impl ChannelBudget {
    pub fn limits(&self) -> BudgetLimits {
        match self {
            ChannelBudget::MoneyPerMonth(money) => {
                BudgetLimits { micros_per_month: Some(micros(*money)), ..BudgetLimits::default() }
            }
            ChannelBudget::Limits(limits) => BudgetLimits {
                tokens_per_day: limits.tokens_per_day.map(|tokens| tokens.0),
                micros_per_day: limits.money_per_day.map(micros),
                micros_per_month: limits.money_per_month.map(micros),
                posts_per_hour: limits.posts_per_hour.map(|posts| posts.0),
            },
        }
    }
}

fn micros(money: Money) -> u64 {
    (money.0 * 1e6).round() as u64
}

impl Default for BudgetConfig {
    fn default() -> Self {
        let defaults = Rulebook::default();
        Self {
            tokens_per_day: None,
            money_per_day: None,
            money_per_month: None,
            posts_per_hour: None,
            answers_per_person_per_hour: BoundedInteger(
                defaults.answers_per_hour.unwrap_or(MAX_LIMIT),
            ),
            soft_share: Ratio(defaults.soft_share),
        }
    }
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
