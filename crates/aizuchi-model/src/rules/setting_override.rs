//! Settings that users order for a workspace, a channel or a thread at runtime. None of them extends what the config
//! allows there: who may know what, the budget, the tools, and whether anything is remembered.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, MessageId, Role};
use crate::persona::Language;
use crate::rules::{ChannelRules, LanguageRule, MemoryRule, ModelRules, PostTiming, ToolRule};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingScope {
    Workspace,
    /// A channel with all its threads.
    Channel(ChannelId),
    Thread(ChannelId, MessageId),
}

/// A setting with its value. A kind has the name of the setting in the config.
#[derive(Clone, Debug, PartialEq, Eq, strum::EnumDiscriminants)]
#[strum_discriminants(
    name(SettingKind),
    derive(PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::EnumString, strum::VariantArray),
    strum(serialize_all = "snake_case")
)]
pub enum PlaceSetting {
    Language(LanguageRule),
    MinConfidence(Confidence),
    /// When it posts unasked, if the judge names no delay.
    Timing(PostTiming),
    /// Whether it announces once that it joins.
    Announce(Switch),
    /// The tools to use, among those that the config allows there.
    Tools(ToolRule),
    /// `On` undoes a wider order, but does not override the config.
    Memory(Switch),
    /// One of [`crate::rules::Rulebook::model_choices`], used for everything there.
    Model(Arc<str>),
    /// The most that the models may cost in a channel within 24 hours, within what the config allows.
    MoneyPerDay(Amount),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// An amount of money, in millionths of the price table's currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u64);

/// A share from 0 to 1, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(u16);

named_enum! {
    /// The role in which a user orders a setting. Orders of different roles exist side by side.
    pub enum SettingRole {
        /// A member's order only narrows the rules that apply without it.
        Member,
        /// A keeper's order, from letting the persona post without approval from some confidence on. It only narrows, too.
        /// Ordering a mode revokes it.
        Keeper,
        /// An order in a direct message: the user may set the language and when the persona speaks; otherwise it only
        /// narrows.
        Direct,
        /// An admin's order applies within what the config allows. An admin's change replaces the orders of all roles.
        Admin,
    }
}

/// A setting in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOverride {
    pub scope: SettingScope,
    pub setting: PlaceSetting,
    pub role: SettingRole,
    /// Who ordered it: the name under which they were signed in, or the user of a command and its time, as in the
    /// journal of orders. Empty for this machine.
    pub by: Arc<str>,
    pub at: Timestamp,
}

/// A change of settings in one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingChange {
    Set(PlaceSetting),
    /// Return to the config, or to a wider order.
    Clear(SettingKind),
    ClearAll,
}

/// A change of the settings in one scope, with who ordered it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedChange {
    pub scope: SettingScope,
    pub change: SettingChange,
    pub role: SettingRole,
    /// The same as [`SettingOverride::by`].
    pub by: Arc<str>,
    pub at: Timestamp,
}

/// Returns the rules of a place with the users' orders: first the admins' orders, from the widest scope to the
/// narrowest, and last the orders that only narrow.
pub fn apply(orders: &[&SettingOverride], configured: &ChannelRules) -> ChannelRules {
    let mut rules = configured.clone();
    for role in [SettingRole::Admin, SettingRole::Direct, SettingRole::Keeper, SettingRole::Member]
    {
        let mut given: Vec<_> = orders.iter().filter(|order| order.role == role).collect();
        given.sort_by(|one, other| one.scope.cmp(&other.scope));
        for order in given {
            match role {
                SettingRole::Admin => order.setting.apply(&mut rules, configured),
                SettingRole::Direct => order.setting.apply_in_private(&mut rules, configured),
                SettingRole::Keeper | SettingRole::Member => order.setting.narrow(&mut rules),
            }
        }
    }
    rules
}

/// Returns the settings of a workspace after a change. An admin's change replaces the orders of all roles; the others
/// change only what their own role ordered.
pub fn changed(mut orders: Vec<SettingOverride>, change: OrderedChange) -> Vec<SettingOverride> {
    let OrderedChange { scope, change, role, by, at } = change;
    let is_of_role = |order: &SettingOverride| role == SettingRole::Admin || order.role == role;
    let is_changed = |order: &SettingOverride| match &change {
        SettingChange::Set(setting) => order.setting.kind() == setting.kind(),
        SettingChange::Clear(kind) => order.setting.kind() == *kind,
        SettingChange::ClearAll => true,
    };
    orders.retain(|order| order.scope != scope || !is_of_role(order) || !is_changed(order));
    if let SettingChange::Set(setting) = change {
        orders.push(SettingOverride { scope, setting, role, by, at });
    }
    sort(&mut orders);
    orders
}

/// Sorts settings into the order in which they are listed.
pub fn sort(orders: &mut [SettingOverride]) {
    orders.sort_by(|one, other| {
        let key = |order: &SettingOverride| (order.setting.kind(), order.role);
        one.scope.cmp(&other.scope).then(key(one).cmp(&key(other)))
    });
}

impl From<Role> for SettingRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Guest | Role::Member => SettingRole::Member,
            Role::Admin => SettingRole::Admin,
        }
    }
}

impl SettingScope {
    /// Returns the scope of a stored row: without a channel it is the whole workspace, and without a thread the whole
    /// channel.
    pub fn from_columns(channel: &str, thread: &str) -> Self {
        match (channel, thread) {
            ("", _) => SettingScope::Workspace,
            (channel, "") => SettingScope::Channel(ChannelId::new(channel)),
            (channel, thread) => {
                SettingScope::Thread(ChannelId::new(channel), MessageId::new(thread))
            }
        }
    }

    /// Returns the channel and the thread as they are stored.
    pub fn columns(&self) -> (&str, &str) {
        match self {
            SettingScope::Workspace => ("", ""),
            SettingScope::Channel(channel) => (channel.as_str(), ""),
            SettingScope::Thread(channel, thread) => (channel.as_str(), thread.as_str()),
        }
    }

    pub fn channel(&self) -> Option<&ChannelId> {
        match self {
            SettingScope::Workspace => None,
            SettingScope::Channel(channel) | SettingScope::Thread(channel, _) => Some(channel),
        }
    }

    /// Whether this scope includes the other one.
    pub fn includes(&self, other: &Self) -> bool {
        match self {
            SettingScope::Workspace => true,
            SettingScope::Channel(channel) => other.channel() == Some(channel),
            SettingScope::Thread(..) => self == other,
        }
    }
}

impl Confidence {
    /// Returns `None` if the number is not a share.
    pub fn new(share: f64) -> Option<Self> {
        let is_share = (0.0..=1.0).contains(&share);
        is_share.then(|| Self((share * 1000.0).round() as u16))
    }

    /// Rounds a share down to whole hundredths. Returns `None` if it is not a share.
    pub fn floor(share: f64) -> Option<Self> {
        // 0.29 is slightly less than 29 hundredths as a float, but is meant to be 29.
        const ROUNDING: f64 = 1e-9;
        Self::new((share * 100.0 + ROUNDING).floor() / 100.0)
    }

    /// Returns the next step above a share: a tenth more, near the end half of what is left.
    pub fn step_above(share: f64) -> Self {
        let step = if share < 0.85 { 0.1 } else { (1.0 - share) / 2.0 };
        Self::new(share + step).unwrap_or(Self(1000))
    }

    pub fn from_thousandths(thousandths: i64) -> Option<Self> {
        u16::try_from(thousandths).ok().filter(|it| *it <= 1000).map(Self)
    }

    pub fn thousandths(self) -> u16 {
        self.0
    }

    pub fn share(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl SettingKind {
    pub fn all() -> impl Iterator<Item = Self> {
        <Self as strum::VariantArray>::VARIANTS.iter().copied()
    }

    /// Returns the setting's name in the config.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Whether threads have this setting. The persona joins a channel, and announces it there once; it does not join
    /// threads. What it spends is counted by channel.
    pub fn is_of_threads(self) -> bool {
        !matches!(self, SettingKind::Announce | SettingKind::MoneyPerDay)
    }

    /// Returns the values to choose from, or what a value looks like if there are too many of them. Those of a model
    /// are in [`crate::rules::Rulebook::model_choices`].
    pub fn choices(self) -> Result<&'static [&'static str], &'static str> {
        match self {
            SettingKind::Language => Ok(&["en", "ja", "auto"]),
            SettingKind::MinConfidence => Err("0–1"),
            SettingKind::Timing => Ok(&["human", "plain"]),
            SettingKind::Announce | SettingKind::Memory | SettingKind::Tools => Ok(&["on", "off"]),
            SettingKind::Model => Ok(&[]),
            SettingKind::MoneyPerDay => Err("0.50"),
        }
    }

    /// Returns the value as the config would write it.
    pub fn value_in(self, rules: &ChannelRules) -> Option<PlaceSetting> {
        Some(match self {
            SettingKind::Language => PlaceSetting::Language(rules.language),
            SettingKind::MinConfidence => {
                PlaceSetting::MinConfidence(Confidence::new(rules.min_confidence)?)
            }
            SettingKind::Timing => PlaceSetting::Timing(rules.timing.post_timing?),
            SettingKind::Announce => PlaceSetting::Announce(Switch::from_bool(rules.announces?)),
            SettingKind::Tools => PlaceSetting::Tools(rules.tools.clone()),
            SettingKind::Memory => {
                PlaceSetting::Memory(Switch::from_bool(rules.memory == MemoryRule::On))
            }
            SettingKind::Model => PlaceSetting::Model(rules.models.response.clone()?),
            SettingKind::MoneyPerDay => {
                PlaceSetting::MoneyPerDay(Amount(rules.budget_limits.micros_per_day?))
            }
        })
    }

    /// Parses a value as the config would write it.
    pub fn parse(self, value: &str) -> Option<PlaceSetting> {
        let value = value.trim();
        let lower = value.to_lowercase();
        Some(match self {
            SettingKind::Language if lower == "auto" => {
                PlaceSetting::Language(LanguageRule::AsWritten)
            }
            SettingKind::Language => {
                let mut languages = [Language::En, Language::Ja].into_iter();
                let language = languages.find(|language| language.tag() == lower)?;
                PlaceSetting::Language(LanguageRule::Fixed(language))
            }
            SettingKind::MinConfidence => {
                let share: f64 = match value.strip_suffix(['%', '％']) {
                    Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
                    None => value.parse().ok()?,
                };
                PlaceSetting::MinConfidence(Confidence::new(share)?)
            }
            SettingKind::Timing => PlaceSetting::Timing(match &*lower {
                "human" => PostTiming::HumanLike,
                "plain" => PostTiming::Immediate,
                _ => return None,
            }),
            SettingKind::Announce => PlaceSetting::Announce(Switch::parse(&lower)?),
            SettingKind::Memory => PlaceSetting::Memory(Switch::parse(&lower)?),
            SettingKind::Tools => PlaceSetting::Tools(parse_tools(value)?),
            SettingKind::Model => {
                if value.is_empty() || value.contains(char::is_whitespace) {
                    return None;
                }
                PlaceSetting::Model(value.into())
            }
            SettingKind::MoneyPerDay => {
                let amount: f64 = value.parse().ok()?;
                let micros = (amount * 1e6).round();
                (0.0..=MAX_MICROS).contains(&micros).then_some(())?;
                PlaceSetting::MoneyPerDay(Amount(micros as u64))
            }
        })
    }
}

/// Parses `on`, `off`, or names separated by commas.
fn parse_tools(value: &str) -> Option<ToolRule> {
    if let Some(switch) = Switch::parse(&value.to_lowercase()) {
        return Some(match switch {
            Switch::On => ToolRule::All,
            Switch::Off => ToolRule::Only(Vec::new()),
        });
    }
    let names = value.split([',', '、', ' ']).map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let is_name = |name: &String| {
        let mut characters = name.chars();
        name.len() <= MAX_TOOL_NAME
            && characters
                .all(|character| character.is_ascii_alphanumeric() || "_-.".contains(character))
    };
    (!names.is_empty() && names.len() <= MAX_TOOLS && names.iter().all(is_name))
        .then_some(ToolRule::Only(names))
}

/// The largest amount in an order: a million.
const MAX_MICROS: f64 = 1e12;
/// The maximum number of tools in an order, and the maximum length of a name.
const MAX_TOOLS: usize = 40;
const MAX_TOOL_NAME: usize = 100;
/// The maximum number of members' settings in a workspace, and additionally in each direct message. Any member can open
/// threads.
pub const MAX_OF_MEMBERS: usize = 200;
/// The maximum number of them that one member ordered.
pub const MAX_OF_ONE_MEMBER: usize = 20;

impl Switch {
    pub fn from_bool(is_on: bool) -> Self {
        if is_on { Switch::On } else { Switch::Off }
    }

    fn parse(value: &str) -> Option<Self> {
        match value {
            "on" | "true" | "yes" => Some(Switch::On),
            "off" | "false" | "no" => Some(Switch::Off),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }
}

impl PlaceSetting {
    pub fn kind(&self) -> SettingKind {
        self.into()
    }

    /// Whether it can only make the persona quieter or let it do less, whatever applied before. Members may order only
    /// such settings.
    pub fn only_narrows(&self) -> bool {
        match self {
            PlaceSetting::MinConfidence(_)
            | PlaceSetting::Tools(ToolRule::Only(_))
            | PlaceSetting::Timing(PostTiming::HumanLike)
            | PlaceSetting::Announce(Switch::Off)
            | PlaceSetting::Memory(Switch::Off) => true,
            PlaceSetting::Language(_)
            | PlaceSetting::Tools(ToolRule::All)
            | PlaceSetting::Timing(PostTiming::Immediate)
            | PlaceSetting::Announce(Switch::On)
            | PlaceSetting::Memory(Switch::On)
            | PlaceSetting::Model(_)
            | PlaceSetting::MoneyPerDay(_) => false,
        }
    }

    /// Applies an admin's order, within what the config says for the same place.
    fn apply(&self, rules: &mut ChannelRules, configured: &ChannelRules) {
        match self {
            PlaceSetting::Language(language) => rules.language = *language,
            PlaceSetting::MinConfidence(confidence) => rules.min_confidence = confidence.share(),
            PlaceSetting::Timing(timing) => rules.timing.post_timing = Some(*timing),
            PlaceSetting::Announce(switch) => rules.announces = Some(*switch == Switch::On),
            PlaceSetting::Tools(tools) => rules.tools = configured.tools.narrowed_to(tools),
            PlaceSetting::Memory(Switch::On) => rules.memory = configured.memory,
            PlaceSetting::Memory(Switch::Off) => rules.memory = MemoryRule::Off,
            PlaceSetting::Model(name) => rules.models = ModelRules::all(name),
            PlaceSetting::MoneyPerDay(Amount(micros)) => {
                let most = configured.budget_limits.micros_per_day.unwrap_or(u64::MAX);
                rules.budget_limits.micros_per_day = Some(most.min(*micros));
            }
        }
    }

    /// Applies a user's order in a direct message. An admin's settings of tools, memory, models and money are kept.
    fn apply_in_private(&self, rules: &mut ChannelRules, configured: &ChannelRules) {
        match self {
            PlaceSetting::Tools(_)
            | PlaceSetting::Memory(_)
            | PlaceSetting::Model(_)
            | PlaceSetting::MoneyPerDay(_) => self.narrow(rules),
            PlaceSetting::Language(_)
            | PlaceSetting::MinConfidence(_)
            | PlaceSetting::Timing(_)
            | PlaceSetting::Announce(_) => self.apply(rules, configured),
        }
    }

    /// Applies a member's order, which only narrows the rules.
    fn narrow(&self, rules: &mut ChannelRules) {
        if self.only_narrows() {
            let before = rules.clone();
            self.apply(rules, &before);
            rules.min_confidence = rules.min_confidence.max(before.min_confidence);
        }
    }
}

/// Formats the value as the config would write it, and as [`SettingKind::parse`] reads it.
impl fmt::Display for PlaceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceSetting::Language(LanguageRule::Fixed(language)) => f.write_str(language.tag()),
            PlaceSetting::Language(LanguageRule::AsWritten) => f.write_str("auto"),
            PlaceSetting::MinConfidence(confidence) => write!(f, "{}", confidence.share()),
            PlaceSetting::Timing(PostTiming::HumanLike) => f.write_str("human"),
            PlaceSetting::Timing(PostTiming::Immediate) => f.write_str("plain"),
            PlaceSetting::Announce(switch) | PlaceSetting::Memory(switch) => {
                f.write_str(switch.name())
            }
            PlaceSetting::Tools(ToolRule::All) => f.write_str("on"),
            PlaceSetting::Tools(ToolRule::Only(names)) if names.is_empty() => f.write_str("off"),
            PlaceSetting::Tools(ToolRule::Only(names)) => f.write_str(&names.join(", ")),
            PlaceSetting::Model(name) => f.write_str(name),
            PlaceSetting::MoneyPerDay(Amount(micros)) => write!(f, "{}", *micros as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_at_least_its_hundredths() {
        for hundredths in 0..=100_i64 {
            let confidence = Confidence::from_thousandths(hundredths * 10).unwrap();
            assert_eq!(Confidence::floor(confidence.share()), Some(confidence));
            assert_eq!(i64::from(confidence.thousandths()), hundredths * 10);
        }
        let floor = |share| Confidence::floor(share).map(Confidence::thousandths);
        assert_eq!((floor(0.7499), floor(0.29), floor(1.0)), (Some(740), Some(290), Some(1000)));
        assert_eq!((floor(-0.2), floor(1.2), floor(f64::NAN)), (None, None, None));
        assert_eq!(Confidence::from_thousandths(1001), None);
        assert_eq!(Confidence::from_thousandths(-1), None);
    }

    fn confidence(thousandths: u16, role: SettingRole) -> OrderedChange {
        let confidence = Confidence::from_thousandths(thousandths.into()).unwrap();
        OrderedChange {
            scope: SettingScope::Channel(ChannelId::new("garden")),
            change: SettingChange::Set(PlaceSetting::MinConfidence(confidence)),
            role,
            by: "ren".into(),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    /// A keeper's consent requires at least the confidence that is configured or ordered, and only admins and a mode
    /// revoke it.
    #[test]
    fn what_a_keeper_agreed_to_only_narrows_and_is_not_lifted_by_members() {
        use SettingRole::{Admin, Keeper, Member};
        let rules = ChannelRules { min_confidence: 0.7, ..ChannelRules::default() };
        let demanded = |orders: &[SettingOverride]| {
            apply(&orders.iter().collect::<Vec<_>>(), &rules).min_confidence
        };
        let after = |changes: &[OrderedChange]| changes.iter().cloned().fold(Vec::new(), changed);
        for (changes, expected) in [
            (vec![confidence(600, Keeper)], 0.7),
            (vec![confidence(740, Keeper)], 0.74),
            (vec![confidence(950, Admin), confidence(740, Keeper)], 0.95),
            (vec![confidence(500, Admin), confidence(740, Keeper)], 0.74),
            (vec![confidence(740, Keeper), confidence(100, Member)], 0.74),
            (vec![confidence(740, Keeper), confidence(900, Member)], 0.9),
            (vec![confidence(740, Keeper), confidence(600, Admin)], 0.6),
        ] {
            assert_eq!(demanded(&after(&changes)), expected, "{changes:?}");
        }
        for (role, left) in [(Member, 0.95), (Keeper, 0.9), (Admin, 0.7)] {
            let clear = OrderedChange {
                change: SettingChange::Clear(SettingKind::MinConfidence),
                ..confidence(0, role)
            };
            let orders = [confidence(900, Admin), confidence(950, Keeper), clear];
            assert_eq!(demanded(&after(&orders)), left, "{role:?}");
        }
    }
}
