//! The rules of a channel: how the persona takes part, when it stays quiet, and what it may spend. Plain data, made
//! from settings and orders.

pub mod place;
pub mod setting_override;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::chat::{UserId, Visibility, WorkspaceId};
use crate::persona::{Language, Persona};
use crate::plan::recurrence::{Cycle, Recurrence};
use crate::rules::place::{Place, WorkspaceRules};
use crate::rules::setting_override::{PlaceSetting, SettingKind, SettingOverride, SettingScope};

named_enum! {
    /// How the persona takes part in a channel.
    #[derive(Default)]
    pub enum Mode {
        /// Takes part as a member: waits until the conversation is at rest, then decides.
        #[default]
        Companion,
        /// Listens while users talk, and helps a discussion along.
        Facilitator,
        /// Answers when it is addressed, and only then.
        MentionOnly,
        /// Takes part like a companion, but somebody must approve its posts first, unless they answer a mention.
        Propose,
        /// Listens, remembers and decides for the ledger only; says nothing.
        Observe,
        /// Does nothing; messages are not even stored.
        Off,
    }
}

impl Mode {
    pub const ALL: [Self; 6] = [
        Mode::Companion,
        Mode::Facilitator,
        Mode::MentionOnly,
        Mode::Propose,
        Mode::Observe,
        Mode::Off,
    ];

    /// Whether the persona says nothing in this mode, even when it is addressed.
    pub fn is_silent(self) -> bool {
        matches!(self, Mode::Observe | Mode::Off)
    }
}

/// From one time of day to another. Spans midnight if `to` is earlier than `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    pub from: Time,
    pub to: Time,
}

impl QuietHours {
    /// Whether the time is in the quiet hours. `to` itself is not.
    pub fn contains(&self, time: Time) -> bool {
        if self.from <= self.to {
            self.from <= time && time < self.to
        } else {
            self.from <= time || time < self.to
        }
    }
}

/// How a facilitator listens. The defaults are those of kotonoha-bot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacilitationRules {
    /// It judges when the conversation has been at rest for this long,
    pub rest_seconds: f64,
    /// but no later than this after the first unjudged message.
    pub max_rest_seconds: f64,
    /// A conversation with fewer messages is not judged.
    pub min_messages: usize,
    /// The maximum number of newest messages that it looks at.
    pub buffer_size: usize,
    /// How long it stays out of a conversation after an unsolicited post.
    pub cooldown: SignedDuration,
    /// The number of messages before its last intervention that are compared with the current ones.
    pub compare_window: usize,
}

impl Default for FacilitationRules {
    fn default() -> Self {
        Self {
            rest_seconds: 5.0,
            max_rest_seconds: 30.0,
            min_messages: 3,
            buffer_size: 20,
            cooldown: SignedDuration::from_mins(10),
            compare_window: 5,
        }
    }
}

/// Spending limits. `None` means unlimited, as do the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetLimits {
    /// Tokens that models read and write within 24 hours.
    pub tokens_per_day: Option<u64>,
    /// Cost in millionths of the price table's currency, within 24 hours.
    pub micros_per_day: Option<u64>,
    /// Cost in the same unit, within 30 days.
    pub micros_per_month: Option<u64>,
    /// Unsolicited posts within an hour.
    pub posts_per_hour: Option<u64>,
}

/// The default maximum number of unsolicited posts in one channel within an hour: as many as the busiest recorded
/// channel has space for, if a judge never says no. A user who asks many questions at once gets no more.
pub const POSTS_PER_CHANNEL_PER_HOUR: u64 = 20;

/// The rules of one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelRules {
    pub mode: Mode,
    pub quiet_hours: Option<QuietHours>,
    /// The minimum confidence; a verdict below it becomes silence. The prompt's scale puts a question or plea that is
    /// clearly open at 0.7 or more. Complaints that ask for nothing, questions that may have been answered, and
    /// questions that were just asked while users are still talking are lower.
    pub min_confidence: f64,
    /// The tolerated share of unwelcome posts. A verdict with a confidence at which more of them were unwelcome becomes
    /// silence. `None` disables learning from how welcome they were.
    pub tolerance: Option<f64>,
    /// The reactions it may use; none if empty.
    pub reactions: Vec<String>,
    pub facilitation: FacilitationRules,
    /// How long a companion stays out of a conversation after an unsolicited post.
    pub cooldown: SignedDuration,
    /// If its own share of the newest messages exceeds this, it stays out of the conversation.
    pub max_share: f64,
    pub budget_limits: BudgetLimits,
    /// The language that the persona speaks there.
    pub language: LanguageRule,
    /// The user who is asked before an unsolicited post there, if the mode is [`Mode::Propose`].
    pub keeper: Option<UserId>,
    /// The change of the persona's prompt there, if any.
    pub persona: Option<PersonaRule>,
    /// The tools that replies may use there.
    pub tools: ToolRule,
    pub memory: MemoryRule,
    pub timing: TimingRules,
    /// Whether the persona announces there that it has joined; `None` means as everywhere.
    pub announces: Option<bool>,
    /// The other bots that speak unasked there, like the persona; `None` if there are none.
    pub companions: Option<Vec<UserId>>,
    /// How much longer each companion waits than the one before it, in the order of companions for a message.
    pub companion_window: SignedDuration,
    pub models: ModelRules,
    /// Which questions it comes back to if nobody has answered them, and how long after they were asked.
    pub follow_up: FollowUpRule,
    pub follow_up_after: SignedDuration,
    /// When it may begin a conversation there; `None` means never.
    pub first_word: Option<FirstWordRule>,
}

/// The questions that the persona comes back to, once, if nobody has answered them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowUpRule {
    #[default]
    Off,
    /// Its own.
    Own,
    /// Its own, and those that it left to people.
    All,
}

/// When the persona may begin a conversation in a channel. It does so at most once a day, and only if a judge agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstWordRule {
    /// After this many days without a message; `None` means that silence is no occasion.
    pub after_days: Option<i64>,
    /// The time of day at which it does so.
    pub at: Time,
    /// Other occasions.
    pub on: Vec<Recurrence>,
}

impl FirstWordRule {
    /// When a channel will have been silent for long enough, if nobody but the persona has written since `heard`.
    pub fn silence_ends(&self, heard: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let end = heard + SignedDuration::from_hours(24) * i32::try_from(self.after_days?).ok()?;
        let daily = Recurrence { cycle: Cycle::Daily, interval: None, time: self.at };
        // That moment itself counts.
        let before = (end - SignedDuration::from_millis(1)).to_zoned(zone.clone());
        Some(daily.next_after(&before)?.timestamp())
    }
}

/// The models for a channel or a workspace, by name; `None` means as everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRules {
    pub response: Option<Arc<str>>,
    pub judgment: Option<Arc<str>>,
    pub memory: Option<Arc<str>>,
    pub state: Option<Arc<str>>,
}

/// How the persona's prompt is changed in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonaRule {
    /// The text is added to it.
    Addition(Arc<str>),
    /// The text replaces it.
    Replacement(Arc<str>),
}

/// The tools that replies may use in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolRule {
    #[default]
    All,
    /// The tools with these names.
    Only(Vec<String>),
}

/// Whether a channel or a thread is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryRule {
    #[default]
    On,
    /// Nothing that is said there is remembered, and nothing that is remembered is in its prompts.
    Off,
}

/// When a channel's conversations are judged and answered; `None` means as everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimingRules {
    /// The shortest adaptive wait before a judgment.
    pub min_wait_floor_seconds: Option<f64>,
    /// The mean of a fixed wait, and the longest adaptive wait.
    pub min_wait_seconds: Option<f64>,
    /// The longest wait while users talk.
    pub max_wait_seconds: Option<f64>,
    /// When an unsolicited post is made, if the judge names no delay.
    pub post_timing: Option<PostTiming>,
}

/// When the agent posts unasked, if the judge names no delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostTiming {
    /// At once.
    #[default]
    Immediate,
    /// After a delay drawn from the channel's own reply times, plus typing time.
    HumanLike,
}

/// The language that the persona speaks in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LanguageRule {
    Fixed(Language),
    /// The language of the message that is answered, else the one that users write there.
    #[default]
    AsWritten,
}

impl Default for ChannelRules {
    fn default() -> Self {
        Self {
            mode: Mode::Companion,
            quiet_hours: None,
            min_confidence: 0.7,
            tolerance: None,
            reactions: ["👍", "👀", "🎉", "❤️", "😄", "🙏"].map(str::to_owned).to_vec(),
            facilitation: FacilitationRules::default(),
            cooldown: SignedDuration::ZERO,
            max_share: 0.5,
            budget_limits: BudgetLimits {
                posts_per_hour: Some(POSTS_PER_CHANNEL_PER_HOUR),
                ..BudgetLimits::default()
            },
            language: LanguageRule::AsWritten,
            keeper: None,
            persona: None,
            tools: ToolRule::All,
            memory: MemoryRule::On,
            timing: TimingRules::default(),
            announces: None,
            companions: None,
            companion_window: SignedDuration::from_secs(60),
            models: ModelRules::default(),
            follow_up: FollowUpRule::Off,
            follow_up_after: SignedDuration::from_hours(4),
            first_word: None,
        }
    }
}

impl PersonaRule {
    /// Returns the persona for the channel. `own` is the default persona, and `agent` the same with an agent's
    /// additions to its prompt, which are kept.
    pub fn apply_to(&self, own: &Persona, agent: &Persona) -> Persona {
        let system_prompt = match self {
            PersonaRule::Addition(text) => join_prompts(&agent.system_prompt, text),
            PersonaRule::Replacement(text) => {
                let addition = agent.system_prompt.strip_prefix(&*own.system_prompt);
                join_prompts(text, addition.unwrap_or_default())
            }
        };
        Persona { system_prompt, ..agent.clone() }
    }
}

/// Joins two parts of a prompt, with the second in a separate paragraph.
fn join_prompts(first: &str, second: &str) -> String {
    let parts = [first.trim(), second.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

impl ModelRules {
    /// Returns rules that use this model for everything.
    pub fn all(name: &Arc<str>) -> Self {
        let [response, judgment, memory, state] = [0; 4].map(|_| Some(name.clone()));
        Self { response, judgment, memory, state }
    }

    /// Returns these models, with another's for those that are not set.
    pub fn or(self, other: &Self) -> Self {
        Self {
            response: self.response.or_else(|| other.response.clone()),
            judgment: self.judgment.or_else(|| other.judgment.clone()),
            memory: self.memory.or_else(|| other.memory.clone()),
            state: self.state.or_else(|| other.state.clone()),
        }
    }

    /// Whether any of them is named.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

impl ToolRule {
    pub fn allows(&self, name: &str) -> bool {
        match self {
            ToolRule::All => true,
            // Commands are read in lower case.
            ToolRule::Only(names) => names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)),
        }
    }

    /// Returns the tools that both allow.
    pub fn narrowed_to(&self, other: &Self) -> Self {
        match (self, other) {
            (_, ToolRule::All) => self.clone(),
            (ToolRule::All, ToolRule::Only(_)) => other.clone(),
            (ToolRule::Only(names), ToolRule::Only(_)) => {
                let both = names.iter().filter(|name| other.allows(name));
                ToolRule::Only(both.cloned().collect())
            }
        }
    }
}

impl ChannelRules {
    /// Returns how long it stays out of a conversation after an unsolicited post in this mode.
    pub fn cooldown_for(&self, mode: Mode) -> SignedDuration {
        match mode {
            Mode::Facilitator => self.facilitation.cooldown,
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                self.cooldown
            }
        }
    }
}

/// The rules of every channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Rulebook {
    /// The rules of channels without their own.
    pub default_rules: ChannelRules,
    /// Rules by `#name` or by id. An id takes precedence over a name.
    pub channels: BTreeMap<String, ChannelRules>,
    /// The user who is asked in public channels without their own keeper.
    pub keeper: Option<UserId>,
    /// The limits of the whole workspace.
    pub workspace_limits: BudgetLimits,
    /// The maximum number of answers that one user gets within an hour.
    pub answers_per_hour: Option<u64>,
    /// The maximum number of judge calls within an hour about messages of only one user.
    pub judge_calls_per_hour: Option<u64>,
    /// The maximum number of model calls for one decision: its judgments, drafts, tool rounds and repetitions.
    pub calls_per_decision: Option<u64>,
    /// The share of a limit from which unsolicited posts stop.
    pub soft_share: f64,
    /// The share of the daily tokens that is reserved for mentions.
    pub mention_share: f64,
    /// Ids of users whose messages are ignored.
    pub opted_out: Vec<UserId>,
    /// Whether a standing order from the chat is a draft at first, until a user keeps it.
    pub drafts_standing_orders: bool,
    /// The models of a workspace by its id, or of all workspaces of a platform by its name. An id takes precedence.
    pub workspace_models: BTreeMap<String, ModelRules>,
    /// Rules by the keys of `channels`, and within these by the id of the thread's first message.
    pub threads: BTreeMap<String, BTreeMap<String, ChannelRules>>,
    /// The rules of all channels of a workspace with its own settings, by its id or by its platform's name. An id takes
    /// precedence.
    pub workspaces: BTreeMap<String, WorkspaceRules>,
    /// The models that users may choose for a channel at runtime.
    pub model_choices: Vec<Arc<str>>,
    /// Whether a model in use has no known price, so that no budget in money counts its calls.
    pub has_unpriced_models: bool,
    /// The values in force where the rules name none: in one workspace, or else everywhere. The first one applies.
    pub unset: Vec<(Option<WorkspaceId>, PlaceSetting)>,
    /// The users' orders, and the rules of each scope with these orders. See [`Rulebook::with_orders`].
    pub ordered: BTreeMap<WorkspaceId, Vec<SettingOverride>>,
    pub ordered_rules: BTreeMap<(WorkspaceId, SettingScope), WorkspaceRules>,
}

impl Default for Rulebook {
    fn default() -> Self {
        Self {
            default_rules: ChannelRules::default(),
            channels: BTreeMap::new(),
            keeper: None,
            workspace_limits: BudgetLimits::default(),
            answers_per_hour: Some(30),
            judge_calls_per_hour: Some(30),
            calls_per_decision: Some(24),
            soft_share: 0.8,
            mention_share: 0.3,
            opted_out: Vec::new(),
            drafts_standing_orders: false,
            workspace_models: BTreeMap::new(),
            threads: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            model_choices: Vec::new(),
            has_unpriced_models: false,
            unset: Vec::new(),
            ordered: BTreeMap::new(),
            ordered_rules: BTreeMap::new(),
        }
    }
}

impl Rulebook {
    /// Whether users have this setting: that of the model only if there are models to choose from.
    pub fn offers(&self, kind: SettingKind) -> bool {
        kind != SettingKind::Model || !self.model_choices.is_empty()
    }

    /// Returns the share of the daily tokens that unsolicited work may use.
    pub fn unsolicited_share(&self) -> f64 {
        1.0 - self.mention_share
    }

    /// Returns the largest number of messages that any channel compares.
    pub fn max_compare_window(&self) -> usize {
        self.all_rules().map(|rules| rules.facilitation.compare_window).max().unwrap_or(0)
    }

    /// Returns the language rule that all channels have.
    pub fn common_language_rule(&self) -> Option<LanguageRule> {
        let common = self.default_rules.language;
        self.all_rules().all(|rules| rules.language == common).then_some(common)
    }

    /// Whether any channel tolerates only a share of unwelcome posts.
    pub fn has_tolerance(&self) -> bool {
        self.all_rules().any(|rules| rules.tolerance.is_some())
    }

    /// Whether the persona comes back to unanswered questions anywhere.
    pub fn may_follow_up(&self) -> bool {
        self.all_rules().any(|rules| rules.follow_up != FollowUpRule::Off)
    }

    /// Whether the persona may begin a conversation anywhere.
    pub fn may_speak_first(&self) -> bool {
        self.all_rules().any(|rules| rules.first_word.is_some())
    }

    /// Whether there may be channels that are not remembered.
    pub fn may_leave_out_memories(&self) -> bool {
        self.all_rules().any(|rules| rules.memory == MemoryRule::Off)
    }

    /// Whether the messages of a channel or a thread are remembered.
    pub fn remembers(&self, place: &Place<'_>) -> bool {
        self.rules_in(place).memory == MemoryRule::On
    }

    /// Returns the models of a workspace, or of a channel there with these models of its own.
    pub fn models_in(&self, workspace: &WorkspaceId, own: Option<&ModelRules>) -> ModelRules {
        let names = [workspace.as_str(), workspace.platform()];
        let places = names.map(|name| self.workspace_models.get(name));
        let models = own.cloned().unwrap_or_default();
        places.into_iter().flatten().fold(models, ModelRules::or)
    }

    /// Whether there is any keeper.
    pub fn has_keeper(&self) -> bool {
        self.keeper.is_some() || self.all_rules().any(|rules| rules.keeper.is_some())
    }

    /// Returns the user who is asked in a channel. Proposals in a channel that is not public are shown only to its own
    /// keeper.
    pub fn keeper(&self, place: &Place<'_>) -> Option<&UserId> {
        let of_all = self.keeper.as_ref().filter(|_| place.visibility == Visibility::Public);
        self.rules_in(place).keeper.as_ref().or(of_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChannelId;

    #[test]
    fn quiet_hours_may_span_midnight() {
        let time = |hour, minute| Time::new(hour, minute, 0, 0).unwrap();
        let night = QuietHours { from: time(22, 0), to: time(7, 0) };
        let noon = QuietHours { from: time(12, 0), to: time(13, 0) };
        for (hours, hour, minute, quiet) in [
            (night, 21, 59, false),
            (night, 22, 0, true),
            (night, 3, 0, true),
            (night, 6, 59, true),
            (night, 7, 0, false),
            (noon, 11, 59, false),
            (noon, 12, 0, true),
            (noon, 13, 0, false),
        ] {
            assert_eq!(hours.contains(time(hour, minute)), quiet, "{hour}:{minute}");
        }
    }

    #[test]
    fn a_persona_is_added_to_or_replaced() {
        let persona = |prompt: &str| Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: prompt.to_owned(),
            language: Language::En,
        };
        let added = PersonaRule::Addition("Speak of plants.".into());
        let replaced = PersonaRule::Replacement("You are a gardener.".into());
        for (rule, own, agent, expected) in [
            (&added, "Be kind.", "Be kind.", "Be kind.\n\nSpeak of plants."),
            (&added, "", "", "Speak of plants."),
            (
                &added,
                "Be kind.",
                "Be kind.\n\nBe brief.",
                "Be kind.\n\nBe brief.\n\nSpeak of plants.",
            ),
            (&replaced, "Be kind.", "Be kind.", "You are a gardener."),
            (&replaced, "Be kind.", "Be kind.\n\nBe brief.", "You are a gardener.\n\nBe brief."),
            (&replaced, "", "Be brief.", "You are a gardener.\n\nBe brief."),
        ] {
            let here = rule.apply_to(&persona(own), &persona(agent));
            assert_eq!(here, persona(expected), "{rule:?} {agent}");
        }
    }

    #[test]
    fn a_channel_id_takes_precedence_over_its_name() {
        let of = |mode| ChannelRules { mode, ..ChannelRules::default() };
        let channels = [("#garden", Mode::Observe), ("c1", Mode::Off)];
        let channels = channels.map(|(key, mode)| (key.to_owned(), of(mode))).into();
        let book = Rulebook { channels, ..Rulebook::default() };
        let workspace = WorkspaceId::new("w");
        for (channel, name, mode) in [
            ("c1", "garden", Mode::Off),
            ("c2", "garden", Mode::Observe),
            ("c2", "kitchen", Mode::Companion),
        ] {
            let channel = ChannelId::new(channel);
            let place = Place::new(&workspace, &channel, name, Visibility::Private);
            assert_eq!(book.rules_in(&place).mode, mode);
        }
        // Any user may name themselves like a channel.
        let direct = |channel: &str| {
            let channel = ChannelId::new(channel);
            book.rules_in(&Place::new(&workspace, &channel, "garden", Visibility::Direct)).mode
        };
        assert_eq!((direct("c1"), direct("c2")), (Mode::Off, Mode::Companion));
    }

    #[test]
    fn the_keeper_of_all_channels_sees_nothing_of_private_ones() {
        let own = ChannelRules { keeper: Some(UserId::new("u-ren")), ..ChannelRules::default() };
        let channels = [("#attic", own), ("#tea", ChannelRules::default())];
        let channels = channels.map(|(key, rules)| (key.to_owned(), rules)).into();
        let book = Rulebook { channels, keeper: Some(UserId::new("u-mio")), ..Rulebook::default() };
        assert!(book.has_keeper() && !Rulebook::default().has_keeper());
        for (name, visibility, keeper) in [
            ("attic", Visibility::Private, Some("u-ren")),
            ("attic", Visibility::Public, Some("u-ren")),
            ("tea", Visibility::Public, Some("u-mio")),
            ("tea", Visibility::Private, None),
            ("garden", Visibility::Public, Some("u-mio")),
            ("garden", Visibility::Direct, None),
        ] {
            let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c1"));
            let found = book.keeper(&Place::new(&workspace, &channel, name, visibility));
            assert_eq!(found.map(UserId::as_str), keeper, "{name} {visibility:?}");
        }
    }
}
