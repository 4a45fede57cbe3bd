//! The `response` and `decision` sections: when to judge and when to speak.

use aizuchi_agent::agent::{self, StateCall};
use aizuchi_agent::inbox::WaitSettings;
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{BudgetLimits, ChannelRules, FacilitationRules, Mode, PostTiming};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::channel_overrides::FollowUpSetting;
use crate::schema;
use crate::values::{
    BoundedInteger, ConfiguredUserId, EmojiName, HostName, IntervalSeconds, Money,
    QuietHoursSetting, Ratio, Seconds, TimingSetting, emoji_names, user_ids,
};

section! {
    /// When Aizuchi speaks.
    pub struct ResponseConfig {
        /// The mode of channels that do not set their own. If omitted: `companion`, or `mention_only` while the built-in
        /// rules judge in a workspace of Slack or Discord.
        #[schemars(with = "Option<schema::ModeSchema>")]
        pub mode: Option<Mode>,
        /// How the wait before a judgment is determined.
        #[schemars(with = "schema::WaitSchema")]
        pub wait: WaitStrategy = WaitSettings::default().wait,
        /// An adaptive wait is no shorter than this, and no longer than `min_wait_seconds`.
        pub min_wait_floor_seconds: Seconds = Seconds(WaitSettings::default().min_wait_floor_seconds),
        /// How long a conversation must rest before it is judged. If omitted: 300 (12 in the local room), or
        /// `max_wait_seconds` if that is less.
        pub min_wait_seconds: Option<Seconds>,
        /// A fixed wait is lengthened or shortened at random, by up to this share of it.
        pub jitter_ratio: Ratio = Ratio(WaitSettings::default().jitter_ratio),
        /// The longest that new messages wait to be judged, even while people keep talking.
        pub max_wait_seconds: Seconds = Seconds(WaitSettings::default().max_wait_seconds),
        /// When Aizuchi posts unasked, if the judge names no moment. If omitted: `human` if `wait` is `adaptive`; `plain`
        /// if `wait` is `fixed`, and in the local room.
        pub timing: Option<TimingSetting>,
        /// The longest delay before a post, whether the judge asks for it or `timing: human` causes it.
        pub max_delay_seconds: Seconds = Seconds(agent::AgentSettings::default().max_delay_seconds),
        /// With `mode: propose`, how long a proposal waits for approval.
        pub proposal_seconds: Seconds = Seconds(3600.0),
        /// With `mode: propose`, the id of the person who is asked in a direct message before Aizuchi says something
        /// unasked in a public channel that has no keeper of its own. If omitted: proposals wait on the console only.
        pub keeper: Option<ConfiguredUserId>,
        /// A mention that Aizuchi missed while it was away is answered only if it is younger than this.
        pub max_message_age_seconds: Seconds = Seconds(WaitSettings::default().max_message_age_seconds),
        /// The rules that can settle a decision before the judge is asked, in the order in which they apply. With an empty
        /// list, the judge is asked whenever a conversation rests.
        pub gates: Vec<JudgeGate> = JudgeGate::ALL.to_vec(),
        /// The ids of other bots that speak unasked in the same channels, such as another Aizuchi. Only one of them or
        /// Aizuchi itself speaks about a message. All of them need the same list, which may include Aizuchi. If omitted:
        /// none.
        pub companions: Option<Vec<ConfiguredUserId>>,
        /// How much longer each companion waits than the one before it, in the order that applies to the message.
        pub companion_window_seconds: Seconds = Seconds(ChannelRules::default().companion_window.as_secs_f64()),
        /// If the judge is less sure than this, Aizuchi stays silent.
        pub min_confidence: Ratio = Ratio(ChannelRules::default().min_confidence),
        /// At most this share of Aizuchi's unasked posts in a channel may be unwelcome, judged by what people did next.
        /// Where necessary, Aizuchi demands more confidence than `min_confidence`. If omitted: whether posts are welcome
        /// has no effect.
        pub tolerance: Option<Ratio>,
        /// The most that trying out one order given in the chat may cost, in the currency of `models.currency`. The trial
        /// tells what the order would have changed there in the last week, and the order is a draft until somebody keeps
        /// it. With 0, an order takes effect at once, and no model that costs anything is asked about it. If omitted: only
        /// an order that somebody asks to try (`try in this channel: …`) may cost something, at most 0.05, and every order
        /// is tried if the model that judges and all of `models.named` have the price 0. If Aizuchi stops before the trial
        /// is answered, it may spend the same amount again after a restart.
        pub order_trial_cost: Option<Money>,
        /// Whether Aizuchi says, once in each channel that it joins, what it hears and stores, and how to silence it.
        pub announce: bool = true,
        /// How long Aizuchi waits after an unasked post before the next one in the same channel.
        pub cooldown_seconds: Seconds = Seconds(ChannelRules::default().cooldown.as_secs_f64()),
        /// Aizuchi posts nothing unasked while more than this share of the recent messages is its own.
        pub max_share: Ratio = Ratio(ChannelRules::default().max_share),
        /// The emoji that Aizuchi may react with when it posts nothing. With an empty list, it does not react.
        pub reactions: Vec<EmojiName> = ChannelRules::default().reactions.into_iter().map(EmojiName).collect(),
        /// The questions that Aizuchi comes back to, once, if nobody has answered them. It does so only if the judge agrees.
        pub follow_up: FollowUpSetting = FollowUpSetting::Off,
        /// How long after a question Aizuchi comes back to it.
        pub follow_up_after_seconds: Seconds = Seconds(ChannelRules::default().follow_up_after.as_secs_f64()),
        /// Hosts whose pages Aizuchi may always link to, such as `docs.example.com`. It links to other pages only if their
        /// address appears in the conversation or in what a tool found.
        pub link_hosts: Vec<HostName>,
        /// The hours in which Aizuchi posts nothing unasked, such as `22:00-07:00`.
        pub quiet_hours: Option<QuietHoursSetting>,
        /// The minimum number of a channel's newest messages in a prompt. A prompt contains up to half as many more, so
        /// that its first message does not change each time and the provider's cache can reuse the previous prompt.
        pub channel_messages_limit: BoundedInteger<1, 1000> = BoundedInteger(50),
        /// How many of these messages are dropped at a time: a prompt contains `channel_messages_limit` messages, and up to
        /// one fewer than this number on top. A larger number makes prompts longer and lets the cache reuse more. If
        /// omitted: half of `channel_messages_limit`, plus one.
        pub channel_messages_step: Option<BoundedInteger<1, 1000>>,
        /// A public channel's memory is in other channels' prompts if someone wrote in it within this many days.
        pub active_channel_days: BoundedInteger<0, 3650> = BoundedInteger(7),
        /// A thread's memory is in prompts if someone wrote in it within this many days.
        pub thread_memory_days: BoundedInteger<0, 3650> = BoundedInteger(7),
        /// How often the list of a workspace's channels is read again.
        pub channel_sync_interval_seconds: IntervalSeconds = IntervalSeconds(3600.0),
    }
}

/// How Aizuchi decides whether to speak.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionConfig {
    /// Which call names the state of a conversation.
    #[schemars(with = "schema::StateCallSchema")]
    pub state: StateCall,
}

choices! {
    /// A gate that a setting may name.
    JudgeGate for Gate {
        /// Everything new was said to someone else.
        Directed = Directed,
        /// Nothing is new since the last judgment.
        Unchanged = Unchanged,
        /// Surely nothing new calls for a word.
        NothingOpen = NothingOpen,
        /// It has spoken unasked not long ago.
        Cooldown = Cooldown,
        /// It has said much of what was said lately.
        Share = Share,
    }
}

/// The default maximum cost of the trial of an order that a user asks to try.
const ASKED_TRIAL_COST: f64 = 0.05;

impl ResponseConfig {
    /// The maximum cost of trying an order, in millionths of the currency. With 0, the chat only gets trials that cost
    /// nothing.
    pub fn order_trial_micros(&self) -> u64 {
        let most = self.order_trial_cost.map_or(ASKED_TRIAL_COST, |cost| cost.0);
        (most * 1e6).round() as u64
    }

    /// Whether every order that is given in the chat starts as a draft and is tried.
    pub fn tries_every_order(&self, is_judge_free: bool) -> bool {
        self.order_trial_cost.map_or(is_judge_free, |cost| cost.0 > 0.0)
    }

    /// The timing of unsolicited posts on chat platforms.
    pub fn timing(&self) -> PostTiming {
        let default = match self.wait {
            WaitStrategy::Adaptive => PostTiming::HumanLike,
            WaitStrategy::Fixed => PostTiming::Immediate,
        };
        self.timing_or(default)
    }

    /// The timing of unsolicited posts in the local room. A user who tries the bot there watches the page and would
    /// mistake a humanlike delay for a fault, so the default is to post at once.
    pub fn room_timing(&self) -> PostTiming {
        self.timing_or(PostTiming::Immediate)
    }

    fn timing_or(&self, default: PostTiming) -> PostTiming {
        self.timing.map_or(default, TimingSetting::rule)
    }

    /// The rules of channels without settings of their own.
    pub fn rules(
        &self,
        mode: Mode,
        facilitation: FacilitationRules,
        budget_limits: BudgetLimits,
    ) -> ChannelRules {
        ChannelRules {
            mode: self.mode.unwrap_or(mode),
            quiet_hours: self.quiet_hours.and_then(|hours| hours.0),
            min_confidence: self.min_confidence.0,
            tolerance: self.tolerance.map(|share| share.0),
            reactions: emoji_names(&self.reactions),
            facilitation,
            cooldown: duration_from_seconds(self.cooldown_seconds.0),
            max_share: self.max_share.0,
            budget_limits,
            companions: self.companions.as_deref().map(user_ids),
            companion_window: duration_from_seconds(self.companion_window_seconds.0),
            follow_up: self.follow_up.rule(),
            follow_up_after: duration_from_seconds(self.follow_up_after_seconds.0),
            ..ChannelRules::default()
        }
    }
}
