//! Standing orders: short texts in which people say what the persona is to do or to leave in a thread, in a channel or
//! everywhere. Models read them, and nothing else does: an order changes neither who may know what, nor the tools, nor
//! the budget, nor anything in another channel.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, ConversationId, MessageId, Visibility, is_blank, to_single_line};

/// The longest text of an order, in characters.
pub const MAX_LENGTH: usize = 300;
/// How many orders are in force at most in one thread, in one channel, or everywhere.
pub const MAX_PER_SCOPE: usize = 20;
/// A draft that nobody keeps lapses after this time.
pub const DRAFT_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Where an order holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StandingOrderScope {
    /// In the whole workspace.
    Workspace,
    /// In a channel and all its threads.
    Channel(ChannelId),
    Thread(ChannelId, MessageId),
}

/// What a draft becomes when it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftTarget {
    /// An order of its own.
    New(StandingOrderScope),
    /// The next version of the order of this number.
    Change(i64),
}

/// What an order says, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingOrderText(Arc<str>);

/// Why a text can be no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderTextProblem {
    Empty,
    TooLong,
}

/// One version of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingOrder {
    /// Identifies the order in its workspace, in all its versions.
    pub number: i64,
    /// From 1.
    pub version: i64,
    pub scope: StandingOrderScope,
    pub text: StandingOrderText,
    /// Who could read its channel when this version was given, unless fewer can since. What is followed everywhere is
    /// public.
    pub visibility: Visibility,
    /// Who gave it, as in [`crate::store::order_journal::GivenOrder::by`].
    pub by: Arc<str>,
    pub given: Timestamp,
    /// When it was revoked, or when the next version took its place. `None`: it is in force, or a draft.
    pub ended: Option<Timestamp>,
    /// Whether nobody has kept it yet. Until then it is in no prompt.
    pub is_draft: bool,
}

/// What an order would have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandingOrderEffect {
    /// Within so many days.
    pub days: i64,
    /// On how many of the newest moments it was tried at which it spoke, and on how many at which its judge left it silent.
    pub spoke: usize,
    pub silent: usize,
    /// How many more there were of both, on which it was not tried: nobody was asked, or nobody answered.
    pub untried_spoke: usize,
    pub untried_silent: usize,
    /// Where it would have kept silent instead, and where it would have spoken.
    pub newly_silent: usize,
    pub newly_speaking: usize,
    /// Where it was tried and nobody knows: the answer was no judgment, or the judge decides otherwise today without it,
    /// too.
    pub unclear: usize,
}

impl StandingOrderScope {
    /// The scope of a stored row: no channel is the whole workspace, and no thread the whole channel.
    pub fn from_columns(channel: &str, thread: &str) -> Self {
        match (channel, thread) {
            ("", _) => StandingOrderScope::Workspace,
            (channel, "") => StandingOrderScope::Channel(ChannelId::new(channel)),
            (channel, thread) => {
                StandingOrderScope::Thread(ChannelId::new(channel), MessageId::new(thread))
            }
        }
    }

    /// The channel and the thread as they are stored.
    pub fn columns(&self) -> (&str, &str) {
        match self {
            StandingOrderScope::Workspace => ("", ""),
            StandingOrderScope::Channel(channel) => (channel.as_str(), ""),
            StandingOrderScope::Thread(channel, thread) => (channel.as_str(), thread.as_str()),
        }
    }

    pub fn channel(&self) -> Option<&ChannelId> {
        match self {
            StandingOrderScope::Workspace => None,
            StandingOrderScope::Channel(channel) | StandingOrderScope::Thread(channel, _) => {
                Some(channel)
            }
        }
    }

    /// Whether an order with this scope holds in a conversation of its workspace.
    pub fn includes(&self, conversation: &ConversationId) -> bool {
        match self {
            StandingOrderScope::Workspace => true,
            StandingOrderScope::Channel(channel) => *channel == conversation.channel,
            StandingOrderScope::Thread(channel, thread) => {
                *channel == conversation.channel && Some(thread) == conversation.thread.as_ref()
            }
        }
    }
}

impl StandingOrderText {
    pub fn parse(text: &str) -> Result<Self, StandingOrderTextProblem> {
        let text = to_single_line(text);
        if is_blank(&text) {
            return Err(StandingOrderTextProblem::Empty);
        }
        match text.chars().count() > MAX_LENGTH {
            true => Err(StandingOrderTextProblem::TooLong),
            false => Ok(Self(text.into())),
        }
    }

    /// A text that was stored.
    pub fn from_stored(text: String) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl StandingOrder {
    pub fn is_in_force(&self) -> bool {
        self.ended.is_none() && !self.is_draft
    }

    /// Whether it waits for somebody to keep it, and what it changes is in force until then.
    pub fn is_pending(&self) -> bool {
        self.ended.is_none() && self.is_draft
    }

    /// Who may read it while its channel has this visibility: what was given in private stays so.
    pub fn visibility_in(&self, channel: Visibility) -> Visibility {
        if channel == Visibility::Public { self.visibility } else { channel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::WorkspaceId;

    #[test]
    fn an_order_holds_where_it_was_given() {
        let (garden, pump) = (ChannelId::new("garden"), MessageId::new("pump"));
        let conversation = |channel: &ChannelId, thread: Option<&MessageId>| ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: channel.clone(),
            thread: thread.cloned(),
        };
        let kitchen = ChannelId::new("kitchen");
        let places = [
            conversation(&garden, None),
            conversation(&garden, Some(&pump)),
            conversation(&garden, Some(&MessageId::new("well"))),
            conversation(&kitchen, Some(&pump)),
        ];
        for (scope, expected) in [
            (StandingOrderScope::Workspace, [true, true, true, true]),
            (StandingOrderScope::Channel(garden.clone()), [true, true, true, false]),
            (StandingOrderScope::Thread(garden, pump), [false, true, false, false]),
        ] {
            assert_eq!(places.each_ref().map(|place| scope.includes(place)), expected, "{scope:?}");
            let (channel, thread) = scope.columns();
            assert_eq!(StandingOrderScope::from_columns(channel, thread), scope);
        }
    }

    #[test]
    fn a_text_is_short_and_on_one_line() {
        let text = |text: &str| StandingOrderText::parse(text).map(|text| text.as_str().to_owned());
        assert_eq!(text(" answer in\n Japanese\u{202e} "), Ok("answer in  Japanese".to_owned()));
        assert_eq!(text(" \u{200b}\n"), Err(StandingOrderTextProblem::Empty));
        assert_eq!(text(&"あ".repeat(300)), Ok("あ".repeat(300)));
        assert_eq!(text(&"あ".repeat(301)), Err(StandingOrderTextProblem::TooLong));
    }
}
