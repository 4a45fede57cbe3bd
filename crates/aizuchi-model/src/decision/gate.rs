//! The gates: rules that settle a message or a decision without a model. Each is a plain function, and the
//! ledger shows their names. They are checked in a fixed order, the cheapest first.
//!
//! They are checked three times: before a judgment (`agent/judge.rs`), before a draft (`agent/reply.rs`) and before a post
//! (`agent/post.rs`). An owed answer is checked against fewer of them: quiet hours do not hold it back.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_structure::agreement::is_plain_agreement;
use aizuchi_structure::cues::Cues;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::chat::owed::Owed;
use crate::chat::{Author, AuthorKind, Mention, Message, MessageId, UserId};
use crate::context::conversation_analysis::ConversationAnalysis;
use crate::context::state::ConversationState;
use crate::context::{BudgetUsage, Context};
use crate::decision::limit::Limit;
use crate::rules::{BudgetLimits, ChannelRules, Mode, Rulebook};

named_enum! {
    pub enum Gate {
        /// The message is the persona's own.
        #[serde(rename = "own_line")]
        #[strum(serialize = "own_line")]
        OwnMessage,
        /// The author has opted out.
        OptedOut,
        /// The message is another bot's.
        OtherBot,
        /// The message was backfilled.
        #[serde(rename = "caught_up")]
        #[strum(serialize = "caught_up")]
        Backfilled,
        /// The message is a command, or the answer to one.
        Command,
        /// The channel's mode forbids speaking.
        ChannelMode,
        /// The persona is muted.
        Muted,
        /// The channel is in its quiet hours.
        QuietHours,
        /// The persona and other companions have used up their turns since the last human message, even if hours have
        /// passed.
        Loop,
        /// There are too few messages to facilitate.
        TooFew,
        /// Every new message addresses another user.
        Directed,
        /// Another companion has spoken since.
        OtherCompanion,
        /// The last verdict was silence, and nothing has changed since. Older versions had a gate of its own for the
        /// case that the persona had spoken last.
        #[serde(alias = "spoke_last")]
        Unchanged,
        /// Surely no new message calls for a word. For a facilitator: all of them are plain agreements. Older versions
        /// could also learn such moments from verdicts, with a gate of its own.
        #[serde(alias = "learned")]
        NothingOpen,
        /// An unsolicited post was made recently.
        Cooldown,
        /// The persona's share of the recent messages is too high.
        Share,
        /// The budget is used up.
        Budget,
        /// The limit of judge calls about the only author of the new messages is reached.
        JudgeCalls,
        /// The limit of model calls for this decision is reached.
        DecisionCalls,
    }
}

impl Gate {
    /// Returns the gate that closes when a limit is reached.
    pub fn from_limit(limit: Limit) -> Self {
        match limit {
            Limit::JudgeCallsPerPersonPerHour => Gate::JudgeCalls,
            Limit::CallsPerDecision => Gate::DecisionCalls,
            Limit::TokensPerDay
            | Limit::MentionShare
            | Limit::MoneyPerDay
            | Limit::MoneyPerMonth
            | Limit::PostsPerHour
            | Limit::PostsPerChannelPerHour
            | Limit::AnswersPerPersonPerHour => Gate::Budget,
        }
    }

    /// Whether messages that the gate settles are ignored: they appear in no prompt and no memory.
    pub fn is_redacting(self) -> bool {
        matches!(self, Gate::OptedOut | Gate::ChannelMode | Gate::Command)
    }
}

/// The gates that a setting may turn off. By default, all of them are on.
pub const OPTIONAL_GATES: [Gate; 5] =
    [Gate::Directed, Gate::Unchanged, Gate::NothingOpen, Gate::Cooldown, Gate::Share];
/// Gates that are checked before a judge is asked about an unsolicited post.
const BEFORE_JUDGING: [Gate; 12] = [
    Gate::ChannelMode,
    Gate::Muted,
    Gate::QuietHours,
    Gate::Loop,
    Gate::TooFew,
    Gate::Directed,
    Gate::OtherCompanion,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
    Gate::Budget,
];
/// Gates that are checked again before the post, because they may have closed since.
const BEFORE_POSTING: [Gate; 4] = [Gate::ChannelMode, Gate::Muted, Gate::QuietHours, Gate::Budget];
/// Gates that are checked before a mention is answered.
const BEFORE_ANSWERING: [Gate; 3] = [Gate::ChannelMode, Gate::Muted, Gate::Budget];

/// The maximum number of consecutive turns of the persona and other companions without a human message.
const MAX_COMPANION_TURNS: usize = 2;
/// How soon after a post or a verdict about a quarrel that goes on the judge may be asked again, in spite of the cooldown.
const QUARREL_PAUSE: SignedDuration = SignedDuration::from_mins(3);
/// Two users who alternate for this many turns may be quarrelling.
const MIN_TURNS: usize = 4;
/// The persona's share is measured over this many of the newest messages, and not at all over fewer than
/// [`MIN_SHARE_WINDOW`].
const SHARE_WINDOW: usize = 10;
const MIN_SHARE_WINDOW: usize = 4;

#[derive(Clone, Copy, Debug)]
pub struct GateInput<'a> {
    pub context: &'a Context,
    pub rules: &'a ChannelRules,
    pub rulebook: &'a Rulebook,
    pub now: Timestamp,
    pub zone: &'a TimeZone,
}

/// How much of the budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetStatus {
    Within,
    /// No unsolicited posts.
    Soft,
    /// Not even mentions are answered.
    Hard,
}

impl BudgetStatus {
    pub fn new(spent: &BudgetUsage, limits: &BudgetLimits, soft_share: f64) -> Self {
        match () {
            () if spent.reached_limit(limits, 1.0, None).is_some() => Self::Hard,
            () if spent.reached_limit(limits, soft_share, None).is_some() => Self::Soft,
            () => Self::Within,
        }
    }
}

/// The gates that a decision passed, and the one that settled it, if any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateResult {
    pub passed: Vec<Gate>,
    pub closed_by: Option<Gate>,
    /// The limit that was reached, if the gate is about one.
    pub limit: Option<Limit>,
}

impl GateInput<'_> {
    /// Checks the gates before the judge is asked. `chosen` lists the optional gates that are on.
    pub fn check_before_judging(&self, chosen: &[Gate]) -> GateResult {
        let is_on = |gate: &Gate| match gate {
            Gate::OtherCompanion => !self.context.companions.is_empty(),
            gate => !OPTIONAL_GATES.contains(gate) || chosen.contains(gate),
        };
        let mut passed = Vec::new();
        for gate in BEFORE_JUDGING.into_iter().filter(is_on) {
            if self.is_closed(gate) {
                let limit = self.reached_limit().filter(|_| gate == Gate::Budget);
                return GateResult { passed, closed_by: Some(gate), limit };
            }
            passed.push(gate);
        }
        GateResult { passed, closed_by: None, limit: None }
    }

    pub fn check_before_posting(&self) -> GateResult {
        let is_closed = |gate: &Gate| match gate {
            Gate::ChannelMode => self.mode().is_silent() || self.mode() == Mode::MentionOnly,
            gate => self.is_closed(*gate),
        };
        let closed_by = BEFORE_POSTING.into_iter().find(is_closed);
        let limit = self.reached_limit().filter(|_| closed_by == Some(Gate::Budget));
        GateResult { passed: Vec::new(), closed_by, limit }
    }

    pub fn check_before_answering(&self) -> GateResult {
        let is_closed = |gate: &Gate| match gate {
            // Mentions are answered in `mention_only` mode, too.
            Gate::ChannelMode => self.mode().is_silent(),
            Gate::Budget => self.reached_hard_limit().is_some(),
            gate => self.is_closed(*gate),
        };
        let mut gates = BEFORE_ANSWERING.into_iter();
        let passed = gates.clone().take_while(|gate| !is_closed(gate)).collect();
        let closed_by = gates.find(is_closed);
        let limit = self.reached_hard_limit().filter(|_| closed_by == Some(Gate::Budget));
        GateResult { passed, closed_by, limit }
    }

    /// Returns the mode in force. A user's order takes precedence over the settings.
    pub fn mode(&self) -> Mode {
        self.context.circumstances.ordered_mode.unwrap_or(self.rules.mode)
    }

    fn is_closed(&self, gate: Gate) -> bool {
        match gate {
            Gate::ChannelMode => matches!(self.mode(), Mode::MentionOnly | Mode::Off),
            Gate::Muted => self.is_muted(),
            Gate::QuietHours => self.is_quiet_hours(),
            Gate::Loop => self.companion_turns_since_human() >= MAX_COMPANION_TURNS,
            Gate::TooFew => self.has_too_few_messages(),
            Gate::Directed => self.is_directed(),
            Gate::OtherCompanion => {
                let newest = self.context.newest_human_message();
                newest.is_some_and(|message| self.context.companion_since(&message.id).is_some())
            }
            Gate::Unchanged => {
                let last = self.context.last_silent_state;
                last.is_some_and(|state| state == self.context.state_hash())
            }
            Gate::NothingOpen => self.is_settled(),
            Gate::Cooldown => {
                self.is_cooling_down() && self.next_look().is_none_or(|next| self.now < next)
            }
            Gate::Share => self.own_share() > self.rules.max_share,
            Gate::Budget => self.reached_limit().is_some(),
            // These settle a decision when its next model call is planned.
            Gate::JudgeCalls | Gate::DecisionCalls => false,
            // These settle single messages as they are heard.
            Gate::OwnMessage
            | Gate::OptedOut
            | Gate::OtherBot
            | Gate::Backfilled
            | Gate::Command => false,
        }
    }

    fn is_muted(&self) -> bool {
        self.context.circumstances.muted_until.is_some_and(|until| self.now < until)
    }

    fn is_quiet_hours(&self) -> bool {
        let time = || self.now.to_zoned(self.zone.clone()).time();
        self.rules.quiet_hours.is_some_and(|hours| hours.contains(time()))
    }

    /// Returns the gate that forbids an unsolicited post about a message, because of what other companions have posted
    /// since.
    pub fn check_other_bots(&self, about: &MessageId) -> Option<Gate> {
        match self.context.companion_since(about) {
            Some(_) => Some(Gate::OtherCompanion),
            None => Some(Gate::Loop).filter(|gate| self.is_closed(*gate)),
        }
    }

    /// Counts turns of the persona and of other companions. Consecutive messages of one author are one turn. Bots that
    /// only report something do not count: in many channels two of them have always just written.
    fn companion_turns_since_human(&self) -> usize {
        let messages = self.context.target_messages().iter().rev();
        let since: Vec<&Author> = messages
            .map(|message| &message.author)
            .take_while(|author| author.kind != AuthorKind::Human)
            .collect();
        let is_companion = |author: &Author| {
            author.kind == AuthorKind::Persona || self.context.companions.contains(&author.id)
        };
        let turns = since.chunk_by(|one, other| one == other);
        turns.filter(|turn| is_companion(turn[0])).count()
    }

    fn has_too_few_messages(&self) -> bool {
        let least = self.rules.facilitation.min_messages;
        self.mode() == Mode::Facilitator && self.context.target_messages().len() < least
    }

    /// Whether every new message names another user, and not the persona, and none answers somebody with what may be
    /// wrong. The message that opened the thread counts as new until it is answered.
    fn is_directed(&self) -> bool {
        let is_new = |message: &&Arc<Message>| {
            self.context.new_messages.contains(&message.id)
                || self.context.opens_unanswered_thread(message)
        };
        let messages = self.context.target_messages().iter();
        let new: Vec<_> = messages.filter(|message| message.is_human()).filter(is_new).collect();
        !new.is_empty() && new.iter().all(|message| is_directed_elsewhere(message)) && {
            let analysis = ConversationAnalysis::new(self.context);
            !new.iter().any(|message| analysis.may_answer_wrongly(message))
        }
    }

    /// Whether nothing is left to answer. A facilitator also looks at conversations in which no user asks for anything,
    /// unless they only agree.
    fn is_settled(&self) -> bool {
        let is_new = |message: &Message| self.context.new_messages.contains(&message.id);
        match self.mode() {
            Mode::Facilitator => {
                let mut new = self.new_messages().peekable();
                new.peek().is_some() && new.all(|message| is_plain_agreement(&message.text))
            }
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                ConversationAnalysis::new(self.context).is_settled(is_new)
            }
        }
    }

    /// The human messages of the target that the decision covers.
    fn new_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        let humans = self.context.target_messages().iter().filter(|message| message.is_human());
        humans.filter(|message| self.context.new_messages.contains(&message.id))
    }

    pub fn is_cooling_down(&self) -> bool {
        let cooldown = self.rules.cooldown_for(self.mode());
        let spoke = self.context.circumstances.last_unsolicited_post;
        spoke.is_some_and(|at| self.now < at + cooldown)
    }

    /// Returns when the judge may be asked during a facilitator's cooldown: it has spoken about a quarrel or a
    /// misunderstanding, and people who were in it have written since; or it has spoken about something else, and two
    /// people answer each other since, who may quarrel. Only that post's own cooldown is shortened.
    pub fn next_look(&self) -> Option<Timestamp> {
        let spoke = self.context.circumstances.last_intervention.as_ref()?;
        let was_in_it = |message: &Arc<Message>| {
            spoke.messages_before.iter().any(|before| before.author == message.author)
        };
        let goes_on = self.mode() == Mode::Facilitator
            && match spoke.state.is_some_and(ConversationState::is_tense) {
                true => self.new_messages().any(was_in_it),
                false => self.is_exchange_since(spoke.at),
            };
        let looked = self.context.last_judged.map_or(spoke.at, |judged| judged.max(spoke.at));
        let ends = spoke.at + self.rules.cooldown_for(self.mode());
        (goes_on && self.now < ends).then(|| (looked + QUARREL_PAUSE).min(ends))
    }

    /// Whether two users have answered each other after this time, and nobody else has come between.
    fn is_exchange_since(&self, at: Timestamp) -> bool {
        let messages = self.context.target_messages().iter();
        let since: Vec<&UserId> = messages
            .filter(|message| message.is_human() && message.at > at)
            .map(|message| &message.author.id)
            .collect();
        let turns = since.chunk_by(|one, other| one == other).map(|turn| turn[0]);
        let newest: Vec<&UserId> = turns.rev().take(MIN_TURNS).collect();
        newest.len() == MIN_TURNS && newest.iter().collect::<BTreeSet<_>>().len() == 2
    }

    pub fn own_share(&self) -> f64 {
        let target = self.context.target_messages();
        let messages = &target[target.len().saturating_sub(SHARE_WINDOW)..];
        if messages.len() < MIN_SHARE_WINDOW {
            return 0.0;
        }
        let own =
            messages.iter().filter(|message| message.author.kind == AuthorKind::Persona).count();
        own as f64 / messages.len() as f64
    }

    /// Returns the limit that stops unsolicited posts, if any.
    fn reached_limit(&self) -> Option<Limit> {
        let status = &self.context.circumstances;
        let (share, unsolicited) =
            (self.rulebook.soft_share, Some(self.rulebook.unsolicited_share()));
        let mut budgets = self.budgets();
        let (channel, workspace) = (
            self.rules.budget_limits.posts_per_hour,
            self.rulebook.workspace_limits.posts_per_hour,
        );
        let posts = [
            (status.posts_in_hour, channel, Limit::PostsPerChannelPerHour),
            (status.workspace_posts_in_hour, workspace, Limit::PostsPerHour),
        ];
        let mut posts =
            posts.into_iter().filter(|(made, limit, _)| limit.is_some_and(|limit| *made >= limit));
        budgets
            .find_map(|(spent, limits)| spent.reached_limit(limits, share, unsolicited))
            .or_else(|| posts.next().map(|(.., limit)| limit))
    }

    /// Returns the limit that stops even answers to mentions, if any.
    pub fn reached_hard_limit(&self) -> Option<Limit> {
        let owed = &self.context.owed;
        let is_over_answers =
            !owed.is_empty() && owed.iter().all(|owed| self.has_reached_answer_limit(owed));
        self.budgets()
            .find_map(|(spent, limits)| spent.reached_limit(limits, 1.0, None))
            .or(is_over_answers.then_some(Limit::AnswersPerPersonPerHour))
    }

    /// Whether the author of this message has received the maximum number of answers per hour.
    pub fn has_reached_answer_limit(&self, owed: &Owed) -> bool {
        let answers = || {
            let author = &self.context.target_message(owed.message()?)?.author.id;
            self.context.circumstances.answers_in_hour.get(author).copied()
        };
        self.rulebook.answers_per_hour.is_some_and(|most| answers().unwrap_or(0) >= most)
    }

    fn budgets(&self) -> impl Iterator<Item = (&BudgetUsage, &BudgetLimits)> {
        let status = &self.context.circumstances;
        let here = (&status.channel_usage, &self.rules.budget_limits);
        [here, (&status.workspace_usage, &self.rulebook.workspace_limits)].into_iter()
    }
}

fn is_directed_elsewhere(message: &Message) -> bool {
    let names = |mention: &Mention| match mention {
        Mention::User(user) => *user != message.author.id,
        Mention::Persona | Mention::Quote(_) => false,
    };
    message.mentions.iter().any(names)
        && !message.mentions.contains(&Mention::Persona)
        && !Cues::from_text(&message.text).contains(Cues::TO_ALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, ConversationId, WorkspaceId};
    use crate::context::Intervention;
    use crate::context::channel_messages::ChannelMessages;

    /// Every message is new.
    fn context(messages: &[(&str, &str)]) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        };
        let messages = messages.iter().enumerate().map(|(number, (author, text))| {
            Arc::new(Message {
                conversation: conversation.clone(),
                id: MessageId::new(number.to_string()),
                at: Timestamp::from_second(number as i64).unwrap(),
                author: Author { id: UserId::new(*author), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            })
        });
        let history =
            ChannelMessages::from_messages(ChannelId::new("c"), "c".into(), messages.collect());
        let new_messages =
            history.top_level_messages.iter().map(|message| message.id.clone()).collect();
        Context { new_messages, ..Context::new(conversation, history) }
    }

    #[test]
    fn a_gate_of_older_versions_is_read() {
        let read: Gate = serde_json::from_str("\"spoke_last\"").unwrap();
        assert_eq!(read, Gate::Unchanged);
    }

    #[test]
    fn what_speaks_to_all_is_directed_at_nobody() {
        let message = |text: &str| Message {
            mentions: vec![Mention::User(UserId::new("bob"))],
            ..(*context(&[("ann", text)]).target_messages()[0]).clone()
        };
        assert!(is_directed_elsewhere(&message("@bob is it you?")));
        assert!(!is_directed_elsewhere(&message("@everyone @bob found a key, whose is it?")));
        assert!(!is_directed_elsewhere(&message("does anyone know where @bob is?")));
    }

    #[test]
    fn a_quarrel_is_looked_at_again_within_its_own_cooldown_only() {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let mut context = context(&[("ann", "so now it is my fault, as always")]);
        context.circumstances.last_intervention = Some(Intervention {
            at: at(0),
            state: Some(ConversationState::Conflict),
            messages_before: context.target_messages().to_vec(),
        });
        let mut rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
        rules.facilitation.cooldown = SignedDuration::from_mins(10);
        let (book, zone) = (Rulebook::default(), TimeZone::UTC);
        for (now, judged, expected) in [
            (2, None, Some(at(3))),
            (9, Some(at(5)), Some(at(8))),
            (9, Some(at(8)), Some(at(10))),
            (10, Some(at(8)), None),
            (600, Some(at(8)), None),
        ] {
            context.last_judged = judged;
            let (context, rules, now) = (&context, &rules, at(now));
            let input = GateInput { context, rules, rulebook: &book, now, zone: &zone };
            assert_eq!(input.next_look(), expected, "{now} {judged:?}");
        }
    }

    #[test]
    fn a_settled_conversation_asks_no_model_if_that_gate_is_on() {
        use Mode::{Companion, Facilitator};
        let settled = vec![("ann", "bob: the door is fixed"), ("bob", "thanks!")];
        let settled_too = vec![("花子", "太郎さん、直りました"), ("太郎", "ありがとう")];
        let open = vec![("ann", "who has the key?"), ("bob", "eve: it rains"), ("eve", "bob: yes")];
        let (closed, open_gate) = (Some(Gate::NothingOpen), None);
        for (messages, mode, gates, expected) in [
            (&settled, Companion, &OPTIONAL_GATES[..], closed),
            (&settled_too, Companion, &OPTIONAL_GATES[..], closed),
            (&settled, Facilitator, &OPTIONAL_GATES[..], open_gate),
            (&settled, Companion, &[Gate::Unchanged], open_gate),
            (&open, Companion, &OPTIONAL_GATES[..], open_gate),
            (&vec![("ann", "good morning")], Companion, &OPTIONAL_GATES[..], open_gate),
        ] {
            let context = context(messages);
            let mut rules = ChannelRules { mode, ..ChannelRules::default() };
            rules.facilitation.min_messages = 0;
            let (book, zone) = (Rulebook::default(), TimeZone::UTC);
            let now = Timestamp::from_second(600).unwrap();
            let input =
                GateInput { context: &context, rules: &rules, rulebook: &book, now, zone: &zone };
            let result = input.check_before_judging(gates);
            assert_eq!(result.closed_by, expected, "{messages:?} {mode:?}");
            let index = OPTIONAL_GATES.iter().position(|gate| *gate == Gate::NothingOpen).unwrap();
            let is_next = result.passed.ends_with(&[OPTIONAL_GATES[index - 1]]);
            assert!(expected.is_none() || is_next, "{:?}", result.passed);
        }
    }
}
