//! The gates: rules that settle a line or a decision without a model. Each is a plain function; the
//! ledger shows their names. They stand in the order of DESIGN §4, what costs nothing first.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::chat::{AuthorKind, Mention, Message, MessageId};
use crate::context::floor::Floor;
use crate::context::{Context, Spent};
use crate::rules::{Allowance, Mode, Rulebook, Rules};

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
    pub fn withholds(self) -> bool {
        matches!(self, Gate::OptedOut | Gate::ChannelMode | Gate::Command)
    }
}

/// The gates that a setting may leave out.
pub const OPTIONAL: [Gate; 6] = [
    Gate::Directed,
    Gate::SpokeLast,
    Gate::Unchanged,
    Gate::NothingOpen,
    Gate::Cooldown,
    Gate::Share,
];
/// Those of them that count where nothing else is said. The one that is left out goes by a few words, and
/// unless somebody wants that, no list of words decides (seed 004).
pub const USUAL: [Gate; 5] =
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
const BEFORE_SPEAKING: [Gate; 4] = [Gate::ChannelMode, Gate::Muted, Gate::QuietHours, Gate::Budget];
/// Before a mention is answered: what stops that, too.
const BEFORE_ANSWERING: [Gate; 3] = [Gate::ChannelMode, Gate::Muted, Gate::Budget];

/// So many own turns may follow on each other without a human line.
const MOST_TURNS: usize = 2;
/// Its share is of so many of the newest lines, and of no fewer than four.
const SHARED_LINES: usize = 10;
const LEAST_SHARED_LINES: usize = 4;

/// What gates look at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub context: &'a Context,
    pub rules: &'a Rules,
    pub book: &'a Rulebook,
    pub now: Timestamp,
    pub zone: &'a TimeZone,
}

/// How far what may be used up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    Within,
    /// Nothing is said unasked.
    Soft,
    /// Not even mentions get a thought.
    Hard,
}

impl Reach {
    pub fn of(spent: &Spent, allowance: &Allowance, soft_share: f64) -> Self {
        match () {
            () if is_over(spent, allowance, 1.0) => Self::Hard,
            () if is_over(spent, allowance, soft_share) => Self::Soft,
            () => Self::Within,
        }
    }
}

/// The gates that let a decision pass, and the one that settles it, if one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    pub passed: Vec<Gate>,
    pub settled: Option<Gate>,
}

impl Facts<'_> {
    /// Of the optional gates only those of `chosen` count.
    pub fn before_judging(&self, chosen: &[Gate]) -> Passage {
        let counts = |gate: &Gate| !OPTIONAL.contains(gate) || chosen.contains(gate);
        let mut passed = Vec::new();
        for gate in BEFORE_JUDGING.into_iter().filter(counts) {
            if self.is_shut_unasked(gate) {
                return Passage { passed, settled: Some(gate) };
            }
            passed.push(gate);
        }
        Passage { passed, settled: None }
    }

    pub fn before_speaking(&self) -> Option<Gate> {
        let is_shut = |gate: &Gate| match gate {
            Gate::ChannelMode => self.mode().is_silent() || self.mode() == Mode::MentionOnly,
            gate => self.is_shut_unasked(*gate),
        };
        BEFORE_SPEAKING.into_iter().find(is_shut)
    }

    pub fn before_answering(&self) -> Passage {
        let is_shut = |gate: &Gate| match gate {
            Gate::ChannelMode => self.mode().is_silent(),
            Gate::Budget => self.is_used_up(),
            gate => self.is_shut_unasked(*gate),
        };
        let mut gates = BEFORE_ANSWERING.into_iter();
        let passed = gates.clone().take_while(|gate| !is_shut(gate)).collect();
        Passage { passed, settled: gates.find(is_shut) }
    }

    /// What people ordered outranks what the settings say.
    pub fn mode(&self) -> Mode {
        self.context.circumstances.ordered_mode.unwrap_or(self.rules.mode)
    }

    fn is_shut_unasked(&self, gate: Gate) -> bool {
        match gate {
            Gate::ChannelMode => matches!(self.mode(), Mode::MentionOnly | Mode::Off),
            Gate::Muted => self.is_muted(),
            Gate::QuietHours => self.is_quiet(),
            Gate::Loop => self.turns_since_human() >= MOST_TURNS,
            Gate::TooFew => self.are_too_few(),
            Gate::Directed => self.is_directed(),
            Gate::SpokeLast => has_spoken_last(self.context) && !self.has_unheard(),
            Gate::Unchanged => self.context.silent_state == Some(self.context.state()),
            Gate::NothingOpen => self.is_settled(),
            Gate::Cooldown => self.is_cooling_down(),
            Gate::Share => self.share() > self.rules.most_share,
            Gate::Budget => self.is_nearly_used_up(),
            // These settle single lines, when they are heard.
            Gate::OwnLine | Gate::OptedOut | Gate::OtherBot | Gate::CaughtUp | Gate::Command => {
                false
            }
        }
    }

    fn is_muted(&self) -> bool {
        self.context.circumstances.muted_until.is_some_and(|until| self.now < until)
    }

    fn is_quiet(&self) -> bool {
        let time = || self.now.to_zoned(self.zone.clone()).time();
        self.rules.quiet_hours.is_some_and(|hours| hours.hold(time()))
    }

    /// Lines of one turn follow on each other.
    fn turns_since_human(&self) -> usize {
        let lines = self.context.target().iter().rev();
        let since: Vec<AuthorKind> = lines
            .map(|line| line.author.kind)
            .take_while(|kind| *kind != AuthorKind::Human)
            .collect();
        let turns = since.chunk_by(|one, other| one == other);
        turns.filter(|turn| turn[0] == AuthorKind::Persona).count()
    }

    fn are_too_few(&self) -> bool {
        let least = self.rules.facilitation.min_messages;
        self.mode() == Mode::Facilitator && self.context.target().len() < least
    }

    /// Somebody has said something that its last words had not seen yet, though they stand before them.
    fn has_unheard(&self) -> bool {
        let mut humans = self.context.target().iter().filter(|line| line.is_human());
        humans.any(|line| self.context.fresh.contains(&line.id))
    }

    /// Whatever is new names somebody else, and not the persona.
    fn is_directed(&self) -> bool {
        let is_new = |line: &&Arc<Message>| self.context.fresh.contains(&line.id);
        let mut fresh =
            self.context.target().iter().filter(|line| line.is_human()).filter(is_new).peekable();
        fresh.peek().is_some() && fresh.all(|line| is_to_somebody_else(line))
    }

    /// A facilitator looks at talk in which nobody asks for anything, too.
    fn is_settled(&self) -> bool {
        let fresh = &self.context.fresh;
        self.mode() != Mode::Facilitator
            && !fresh.is_empty()
            && Floor::of(self.context).is_settled(|line| fresh.contains(&line.id))
    }

    fn is_cooling_down(&self) -> bool {
        let cooldown = self.rules.cooldown_in(self.mode());
        let spoke = self.context.circumstances.spoke_unasked;
        spoke.is_some_and(|at| self.now < at + cooldown)
    }

    fn share(&self) -> f64 {
        let target = self.context.target();
        let lines = &target[target.len().saturating_sub(SHARED_LINES)..];
        if lines.len() < LEAST_SHARED_LINES {
            return 0.0;
        }
        let own = lines.iter().filter(|line| line.author.kind == AuthorKind::Persona).count();
        own as f64 / lines.len() as f64
    }

    /// What models may use up is used up, in the channel or in the whole workspace.
    pub fn is_spent(&self) -> bool {
        self.spendings().any(|(spent, allowance)| is_over(spent, allowance, 1.0))
    }

    /// The same for the whole workspace alone.
    pub fn is_spent_anywhere(&self) -> bool {
        let spent = &self.context.circumstances.spent_anywhere;
        is_over(spent, &self.book.workspace, 1.0)
    }

    fn is_nearly_used_up(&self) -> bool {
        let circumstances = &self.context.circumstances;
        let soft = self.book.soft_share;
        self.spendings().any(|(spent, allowance)| is_over(spent, allowance, soft))
            || is_reached(circumstances.posts_in_hour, self.rules.allowance.posts_per_hour, 1.0)
            || is_reached(
                circumstances.posts_in_hour_anywhere,
                self.book.workspace.posts_per_hour,
                1.0,
            )
    }

    /// Even mentions get no thought.
    fn is_used_up(&self) -> bool {
        let owed = &self.context.owed;
        self.is_spent()
            || (!owed.is_empty() && owed.iter().all(|line| self.has_answers_enough(line)))
    }

    /// Whoever said this line has got as many answers as one person gets within an hour.
    pub fn has_answers_enough(&self, line: &MessageId) -> bool {
        let answers = || {
            let author = &self.context.message(line)?.author.id;
            self.context.circumstances.answers_in_hour.get(author).copied()
        };
        self.book.answers_per_hour.is_some_and(|most| answers().unwrap_or(0) >= most)
    }

    fn spendings(&self) -> impl Iterator<Item = (&Spent, &Allowance)> {
        let circumstances = &self.context.circumstances;
        let here = (&circumstances.spent, &self.rules.allowance);
        [here, (&circumstances.spent_anywhere, &self.book.workspace)].into_iter()
    }
}

fn has_spoken_last(context: &Context) -> bool {
    let last = context.target().iter().rev().find(|line| match line.author.kind {
        AuthorKind::Human | AuthorKind::Persona => true,
        AuthorKind::Bot => false,
    });
    last.is_some_and(|line| line.author.kind == AuthorKind::Persona)
}

fn is_to_somebody_else(line: &Message) -> bool {
    let names = |mention: &Mention| match mention {
        Mention::User(user) => *user != line.author.id,
        Mention::Persona => false,
    };
    line.mentions.iter().any(names) && !line.mentions.contains(&Mention::Persona)
}

fn is_over(spent: &Spent, allowance: &Allowance, share: f64) -> bool {
    is_reached(spent.tokens_in_day, allowance.tokens_per_day, share)
        || is_reached(spent.micros_in_day, allowance.micros_per_day, share)
        || is_reached(spent.micros_in_month, allowance.micros_per_month, share)
}

fn is_reached(used: u64, limit: Option<u64>, share: f64) -> bool {
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
        let history = ChannelMessages::sort(ChannelId::new("c"), "c".into(), messages.collect());
        let fresh = history.top_level_messages.iter().map(|line| line.id.clone()).collect();
        Context { fresh, ..Context::of(conversation, history) }
    }

    #[test]
    fn where_nothing_is_open_no_model_is_asked_if_that_is_wanted() {
        use Mode::{Companion, Facilitator};
        let settled = vec![("ann", "bob: the door is fixed"), ("bob", "thanks!")];
        let settled_too = vec![("花子", "太郎さん、直りました"), ("太郎", "ありがとう")];
        let open = vec![("ann", "who has the key?"), ("bob", "eve: it rains"), ("eve", "bob: yes")];
        let (wanted, nothing) = (Some(Gate::NothingOpen), None);
        for (lines, mode, gates, expected) in [
            (&settled, Companion, &OPTIONAL[..], wanted),
            (&settled_too, Companion, &OPTIONAL[..], wanted),
            (&settled, Facilitator, &OPTIONAL[..], nothing),
            (&settled, Companion, &USUAL[..], nothing),
            (&open, Companion, &OPTIONAL[..], nothing),
            (&vec![("ann", "good morning")], Companion, &OPTIONAL[..], nothing),
        ] {
            let context = context(lines);
            let mut rules = Rules { mode, ..Rules::default() };
            rules.facilitation.min_messages = 0;
            let (book, zone) = (Rulebook::default(), TimeZone::UTC);
            let now = Timestamp::from_second(600).unwrap();
            let facts = Facts { context: &context, rules: &rules, book: &book, now, zone: &zone };
            let passage = facts.before_judging(gates);
            assert_eq!(passage.settled, expected, "{lines:?} {mode:?}");
            let place = OPTIONAL.iter().position(|gate| *gate == Gate::NothingOpen).unwrap();
            let stands = passage.passed.ends_with(&[OPTIONAL[place - 1]]);
            assert!(expected.is_none() || stands, "{:?}", passage.passed);
        }
    }
}
