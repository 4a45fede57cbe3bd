//! The gates: rules that settle a line or a decision without a model. Each is a plain function; the
//! ledger shows their names. They stand in the order of DESIGN §4, what costs nothing first.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::chat::{AuthorKind, Mention, Message, MessageId};
use crate::context::conversation_analysis::ConversationAnalysis;
use crate::context::{BudgetUsage, Context};
use crate::rules::{BudgetLimits, ChannelRules, Mode, Rulebook};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The line is the persona's own.
    OwnLine,
    /// Its author does not want to be listened to.
    OptedOut,
    /// The line is another bot's.
    OtherBot,
    /// The line was read from history after a gap.
    CaughtUp,
    /// The line is a command, or the answer to one.
    Command,
    /// The channel's mode does not let it speak.
    ChannelMode,
    /// People have muted it.
    Muted,
    /// Nobody wants to be spoken to at this time of the day.
    QuietHours,
    /// It has had its turns since a human said something, over hours as well.
    Loop,
    /// There is too little talk to facilitate.
    TooFew,
    /// Everything new was said to somebody else.
    Directed,
    /// The persona had the last word and nobody has answered it.
    SpokeLast,
    /// The last verdict was silence, and nothing has changed since.
    Unchanged,
    /// Nobody waits for anything, and whatever is new is said in a talk or ends one.
    NothingOpen,
    /// It has spoken unasked not long ago.
    Cooldown,
    /// It has said much of what was said lately.
    Share,
    /// What it may use up is used up.
    Budget,
}

impl Gate {
    pub fn name(self) -> &'static str {
        match self {
            Gate::OwnLine => "own_line",
            Gate::OptedOut => "opted_out",
            Gate::OtherBot => "other_bot",
            Gate::CaughtUp => "caught_up",
            Gate::Command => "command",
            Gate::ChannelMode => "channel_mode",
            Gate::Muted => "muted",
            Gate::QuietHours => "quiet_hours",
            Gate::Loop => "loop",
            Gate::TooFew => "too_few",
            Gate::Directed => "directed",
            Gate::SpokeLast => "spoke_last",
            Gate::Unchanged => "unchanged",
            Gate::NothingOpen => "nothing_open",
            Gate::Cooldown => "cooldown",
            Gate::Share => "share",
            Gate::Budget => "budget",
        }
    }

    /// Lines that it settles are not to be listened to: they are in no prompt and no memory.
    pub fn is_redacting(self) -> bool {
        matches!(self, Gate::OptedOut | Gate::ChannelMode | Gate::Command)
    }
}

/// The gates that a setting may leave out.
pub const OPTIONAL_GATES: [Gate; 6] = [
    Gate::Directed,
    Gate::SpokeLast,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
];
/// Those of them that count where nothing else is said. The one that is left out goes by a few words, and
/// unless somebody wants that, no list of words decides (seed 004).
pub const DEFAULT_GATES: [Gate; 5] =
    [Gate::Directed, Gate::SpokeLast, Gate::Unchanged, Gate::Cooldown, Gate::Share];
/// Before a judge is asked whether to say something unasked.
const BEFORE_JUDGING: [Gate; 12] = [
    Gate::ChannelMode,
    Gate::Muted,
    Gate::QuietHours,
    Gate::Loop,
    Gate::TooFew,
    Gate::Directed,
    Gate::SpokeLast,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
    Gate::Budget,
];
/// Once more before it is said: these may have closed since.
const BEFORE_POSTING: [Gate; 4] = [Gate::ChannelMode, Gate::Muted, Gate::QuietHours, Gate::Budget];
/// Before a mention is answered: what stops that, too.
const BEFORE_ANSWERING: [Gate; 3] = [Gate::ChannelMode, Gate::Muted, Gate::Budget];

/// So many own turns may follow on each other without a human line.
const MAX_OWN_TURNS: usize = 2;
/// Its share is of so many of the newest lines, and of no fewer than four.
const SHARE_WINDOW: usize = 10;
const MIN_SHARE_WINDOW: usize = 4;

/// What gates look at.
#[derive(Clone, Copy, Debug)]
pub struct GateInput<'a> {
    pub context: &'a Context,
    pub rules: &'a ChannelRules,
    pub rulebook: &'a Rulebook,
    pub now: Timestamp,
    pub zone: &'a TimeZone,
}

/// How far what may be used up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetStatus {
    Within,
    /// Nothing is said unasked.
    Soft,
    /// Not even mentions get a thought.
    Hard,
}

impl BudgetStatus {
    pub fn new(spent: &BudgetUsage, allowance: &BudgetLimits, soft_share: f64) -> Self {
        match () {
            () if has_reached_limits(spent, allowance, 1.0) => Self::Hard,
            () if has_reached_limits(spent, allowance, soft_share) => Self::Soft,
            () => Self::Within,
        }
    }
}

/// The gates that let a decision pass, and the one that settles it, if one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateResult {
    pub passed: Vec<Gate>,
    pub settled_by: Option<Gate>,
}

impl GateInput<'_> {
    /// Of the optional gates only those of `chosen` count.
    pub fn check_before_judging(&self, chosen: &[Gate]) -> GateResult {
        let counts = |gate: &Gate| !OPTIONAL_GATES.contains(gate) || chosen.contains(gate);
        let mut passed = Vec::new();
        for gate in BEFORE_JUDGING.into_iter().filter(counts) {
            if self.is_closed(gate) {
                return GateResult { passed, settled_by: Some(gate) };
            }
            passed.push(gate);
        }
        GateResult { passed, settled_by: None }
    }

    pub fn check_before_posting(&self) -> Option<Gate> {
        let is_shut = |gate: &Gate| match gate {
            Gate::ChannelMode => self.mode().is_silent() || self.mode() == Mode::MentionOnly,
            gate => self.is_closed(*gate),
        };
        BEFORE_POSTING.into_iter().find(is_shut)
    }

    pub fn check_before_answering(&self) -> GateResult {
        let is_shut = |gate: &Gate| match gate {
            Gate::ChannelMode => self.mode().is_silent(),
            Gate::Budget => self.has_reached_hard_limit(),
            gate => self.is_closed(*gate),
        };
        let mut gates = BEFORE_ANSWERING.into_iter();
        let passed = gates.clone().take_while(|gate| !is_shut(gate)).collect();
        GateResult { passed, settled_by: gates.find(is_shut) }
    }

    /// What people ordered outranks what the settings say.
    pub fn mode(&self) -> Mode {
        self.context.channel_status.ordered_mode.unwrap_or(self.rules.mode)
    }

    fn is_closed(&self, gate: Gate) -> bool {
        match gate {
            Gate::ChannelMode => matches!(self.mode(), Mode::MentionOnly | Mode::Off),
            Gate::Muted => self.is_muted(),
            Gate::QuietHours => self.is_quiet_hours(),
            Gate::Loop => self.turns_since_human() >= MAX_OWN_TURNS,
            Gate::TooFew => self.has_too_few_messages(),
            Gate::Directed => self.is_directed(),
            Gate::SpokeLast => has_spoken_last(self.context) && !self.has_unseen_messages(),
            Gate::Unchanged => self.context.last_silent_state == Some(self.context.state_hash()),
            Gate::NothingOpen => self.is_settled(),
            Gate::Cooldown => self.is_cooling_down(),
            Gate::Share => self.own_share() > self.rules.max_share,
            Gate::Budget => self.has_reached_soft_limit(),
            // These settle single lines, when they are heard.
            Gate::OwnLine | Gate::OptedOut | Gate::OtherBot | Gate::CaughtUp | Gate::Command => {
                false
            }
        }
    }

    fn is_muted(&self) -> bool {
        self.context.channel_status.muted_until.is_some_and(|until| self.now < until)
    }

    fn is_quiet_hours(&self) -> bool {
        let time = || self.now.to_zoned(self.zone.clone()).time();
        self.rules.quiet_hours.is_some_and(|hours| hours.contains(time()))
    }

    /// Lines of one turn follow on each other.
    fn turns_since_human(&self) -> usize {
        let lines = self.context.target_messages().iter().rev();
        let since: Vec<AuthorKind> = lines
            .map(|line| line.author.kind)
            .take_while(|kind| *kind != AuthorKind::Human)
            .collect();
        let turns = since.chunk_by(|one, other| one == other);
        turns.filter(|turn| turn[0] == AuthorKind::Persona).count()
    }

    fn has_too_few_messages(&self) -> bool {
        let least = self.rules.facilitation.min_messages;
        self.mode() == Mode::Facilitator && self.context.target_messages().len() < least
    }

    /// Somebody has said something that its last words had not seen yet, though they stand before them.
    fn has_unseen_messages(&self) -> bool {
        let mut humans = self.context.target_messages().iter().filter(|line| line.is_human());
        humans.any(|line| self.context.new_messages.contains(&line.id))
    }

    /// Whatever is new names somebody else, and not the persona.
    fn is_directed(&self) -> bool {
        let is_new = |line: &&Arc<Message>| self.context.new_messages.contains(&line.id);
        let mut fresh = self
            .context
            .target_messages()
            .iter()
            .filter(|line| line.is_human())
            .filter(is_new)
            .peekable();
        fresh.peek().is_some() && fresh.all(|line| is_directed_elsewhere(line))
    }

    /// A facilitator looks at talk in which nobody asks for anything, too.
    fn is_settled(&self) -> bool {
        let fresh = &self.context.new_messages;
        self.mode() != Mode::Facilitator
            && !fresh.is_empty()
            && ConversationAnalysis::new(self.context).is_settled(|line| fresh.contains(&line.id))
    }

    fn is_cooling_down(&self) -> bool {
        let cooldown = self.rules.cooldown_for(self.mode());
        let spoke = self.context.channel_status.last_unsolicited_post;
        spoke.is_some_and(|at| self.now < at + cooldown)
    }

    fn own_share(&self) -> f64 {
        let target = self.context.target_messages();
        let lines = &target[target.len().saturating_sub(SHARE_WINDOW)..];
        if lines.len() < MIN_SHARE_WINDOW {
            return 0.0;
        }
        let own = lines.iter().filter(|line| line.author.kind == AuthorKind::Persona).count();
        own as f64 / lines.len() as f64
    }

    /// What models may use up is used up, in the channel or in the whole workspace.
    pub fn is_over_budget(&self) -> bool {
        self.budgets().any(|(spent, allowance)| has_reached_limits(spent, allowance, 1.0))
    }

    /// The same for the whole workspace alone.
    pub fn is_workspace_over_budget(&self) -> bool {
        let spent = &self.context.channel_status.workspace_usage;
        has_reached_limits(spent, &self.rulebook.workspace_limits, 1.0)
    }

    fn has_reached_soft_limit(&self) -> bool {
        let circumstances = &self.context.channel_status;
        let soft = self.rulebook.soft_share;
        self.budgets().any(|(spent, allowance)| has_reached_limits(spent, allowance, soft))
            || has_reached_limit(
                circumstances.posts_in_hour,
                self.rules.budget_limits.posts_per_hour,
                1.0,
            )
            || has_reached_limit(
                circumstances.workspace_posts_in_hour,
                self.rulebook.workspace_limits.posts_per_hour,
                1.0,
            )
    }

    /// Even mentions get no thought.
    fn has_reached_hard_limit(&self) -> bool {
        let owed = &self.context.owed;
        self.is_over_budget()
            || (!owed.is_empty() && owed.iter().all(|line| self.has_reached_answer_limit(line)))
    }

    /// Whoever said this line has got as many answers as one person gets within an hour.
    pub fn has_reached_answer_limit(&self, line: &MessageId) -> bool {
        let answers = || {
            let author = &self.context.target_message(line)?.author.id;
            self.context.channel_status.answers_in_hour.get(author).copied()
        };
        self.rulebook.answers_per_hour.is_some_and(|most| answers().unwrap_or(0) >= most)
    }

    fn budgets(&self) -> impl Iterator<Item = (&BudgetUsage, &BudgetLimits)> {
        let circumstances = &self.context.channel_status;
        let here = (&circumstances.channel_usage, &self.rules.budget_limits);
        [here, (&circumstances.workspace_usage, &self.rulebook.workspace_limits)].into_iter()
    }
}

fn has_spoken_last(context: &Context) -> bool {
    let last = context.target_messages().iter().rev().find(|line| match line.author.kind {
        AuthorKind::Human | AuthorKind::Persona => true,
        AuthorKind::Bot => false,
    });
    last.is_some_and(|line| line.author.kind == AuthorKind::Persona)
}

fn is_directed_elsewhere(line: &Message) -> bool {
    let names = |mention: &Mention| match mention {
        Mention::User(user) => *user != line.author.id,
        Mention::Persona => false,
    };
    line.mentions.iter().any(names) && !line.mentions.contains(&Mention::Persona)
}

fn has_reached_limits(spent: &BudgetUsage, allowance: &BudgetLimits, share: f64) -> bool {
    has_reached_limit(spent.tokens_in_day, allowance.tokens_per_day, share)
        || has_reached_limit(spent.micros_in_day, allowance.micros_per_day, share)
        || has_reached_limit(spent.micros_in_month, allowance.micros_per_month, share)
}

fn has_reached_limit(used: u64, limit: Option<u64>, share: f64) -> bool {
    limit.is_some_and(|limit| used as f64 >= limit as f64 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, ConversationId, UserId, WorkspaceId};
    use crate::context::channel_messages::ChannelMessages;

    /// All lines are new.
    fn context(lines: &[(&str, &str)]) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        };
        let messages = lines.iter().enumerate().map(|(number, (author, text))| {
            Arc::new(Message {
                conversation: conversation.clone(),
                id: MessageId::new(number.to_string()),
                at: Timestamp::from_second(number as i64).unwrap(),
                author: Author { id: UserId::new(*author), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
                edits: 0,
            })
        });
        let history =
            ChannelMessages::from_messages(ChannelId::new("c"), "c".into(), messages.collect());
        let fresh = history.top_level_messages.iter().map(|line| line.id.clone()).collect();
        Context { new_messages: fresh, ..Context::new(conversation, history) }
    }

    #[test]
    fn where_nothing_is_open_no_model_is_asked_if_that_is_wanted() {
        use Mode::{Companion, Facilitator};
        let settled = vec![("ann", "bob: the door is fixed"), ("bob", "thanks!")];
        let settled_too = vec![("花子", "太郎さん、直りました"), ("太郎", "ありがとう")];
        let open = vec![("ann", "who has the key?"), ("bob", "eve: it rains"), ("eve", "bob: yes")];
        let (wanted, nothing) = (Some(Gate::NothingOpen), None);
        for (lines, mode, gates, expected) in [
            (&settled, Companion, &OPTIONAL_GATES[..], wanted),
            (&settled_too, Companion, &OPTIONAL_GATES[..], wanted),
            (&settled, Facilitator, &OPTIONAL_GATES[..], nothing),
            (&settled, Companion, &DEFAULT_GATES[..], nothing),
            (&open, Companion, &OPTIONAL_GATES[..], nothing),
            (&vec![("ann", "good morning")], Companion, &OPTIONAL_GATES[..], nothing),
        ] {
            let context = context(lines);
            let mut rules = ChannelRules { mode, ..ChannelRules::default() };
            rules.facilitation.min_messages = 0;
            let (book, zone) = (Rulebook::default(), TimeZone::UTC);
            let now = Timestamp::from_second(600).unwrap();
            let facts =
                GateInput { context: &context, rules: &rules, rulebook: &book, now, zone: &zone };
            let passage = facts.check_before_judging(gates);
            assert_eq!(passage.settled_by, expected, "{lines:?} {mode:?}");
            let place = OPTIONAL_GATES.iter().position(|gate| *gate == Gate::NothingOpen).unwrap();
            let stands = passage.passed.ends_with(&[OPTIONAL_GATES[place - 1]]);
            assert!(expected.is_none() || stands, "{:?}", passage.passed);
        }
    }
}
