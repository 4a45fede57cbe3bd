//! Standing orders: short texts in which users tell the persona what to do or not to do in a thread, in a channel or
//! everywhere. Only models read them: an order changes neither who may know what, nor the tools, nor the budget, nor
//! anything in another channel.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, ConversationId, MessageId, Visibility, is_blank, to_single_line};

/// The maximum length of an order, in characters.
pub const MAX_LENGTH: usize = 300;
/// The maximum number of orders in force in one thread, in one channel, or in the whole workspace.
pub const MAX_PER_SCOPE: usize = 20;
/// The time after which a draft lapses unless it is kept.
pub const DRAFT_LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

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
    /// A new order.
    New(StandingOrderScope),
    /// The next version of the order of this number.
    Change(i64),
}

/// The text of an order, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingOrderText(Arc<str>);

/// Why a text is not valid as an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderTextProblem {
    Empty,
    TooLong,
}

/// One version of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingOrder {
    /// Identifies the order in its workspace, across all its versions.
    pub number: i64,
    /// Starts at 1.
    pub version: i64,
    pub scope: StandingOrderScope,
    pub text: StandingOrderText,
    /// Who could read its channel when this version was given, unless fewer users have been able to since. An order for
    /// the whole workspace is public.
    pub visibility: Visibility,
    /// Who gave it; see [`crate::store::order_journal::GivenOrder::by`].
    pub by: Arc<str>,
    pub given: Timestamp,
    /// When it was revoked or replaced by the next version. `None` if it is in force, or a draft.
    pub ended: Option<Timestamp>,
    /// Whether it is still a draft. Until it is kept, it is in no prompt.
    pub is_draft: bool,
}

/// What an order would have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandingOrderEffect {
    /// The period that was tried, in days.
    pub days: i64,
    /// The number of newest moments on which it was tried: those at which the persona spoke, and those at which its
    /// judge kept it silent.
    pub spoke: usize,
    pub silent: usize,
    /// The number of further such moments on which it was not tried: no model was asked, or none answered.
    pub untried_spoke: usize,
    pub untried_silent: usize,
    /// The number of moments at which it would have kept silent instead, and at which it would have spoken instead.
    pub newly_silent: usize,
    pub newly_speaking: usize,
    /// The number of moments with an unclear result: the answer was not a judgment, or the judge now decides otherwise
    /// even without the order.
    pub unclear: usize,
}

impl StandingOrderScope {
    /// Returns the scope of a stored row: without a channel it is the whole workspace, and without a thread the whole
    /// channel.
    pub fn from_columns(channel: &str, thread: &str) -> Self {
        match (channel, thread) {
            ("", _) => StandingOrderScope::Workspace,
            (channel, "") => StandingOrderScope::Channel(ChannelId::new(channel)),
            (channel, thread) => {
                StandingOrderScope::Thread(ChannelId::new(channel), MessageId::new(thread))
            }
        }
    }

    /// Returns the channel and the thread as they are stored.
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

    /// Whether an order with this scope applies in a conversation of its workspace.
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

    /// Wraps a text that was stored.
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

    /// Whether it is a draft that has not been kept. Until then, the order that it changes stays in force.
    pub fn is_pending(&self) -> bool {
        self.ended.is_none() && self.is_draft
    }

    /// Returns who may read it while its channel has this visibility: what was given in private stays private.
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
