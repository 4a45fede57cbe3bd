//! Rate limit: what one user asks for in many threads at once must not keep others waiting, on platforms that take only so
//! many posts in a channel. The first post for a user takes the next free turn; further ones come after the posts for
//! others. A user is answered only so many commands, and told of a limit only once.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, UserId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::outbox::{OutboxItem, OutboxItemId};
use jiff::SignedDuration;
use parking_lot::Mutex;

/// The number of decisions about a user's commands that are answered in a channel within a minute. Further commands are
/// only carried out.
pub(super) const MAX_COMMAND_ANSWERS: usize = 20;
/// How long a post counts.
const RECENT: SignedDuration = SignedDuration::from_mins(1);
/// A user who got a post lately gets at most one of this many turns. The others are for other users.
const OWN_TURNS: i32 = 2;

/// An answer that a user gets only so often in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacedNotice {
    ToCommand,
    OfLimit,
    OfMute,
}

impl PacedNotice {
    /// Returns how many a user gets, and in how long a time.
    fn limit(self) -> (usize, SignedDuration) {
        match self {
            PacedNotice::ToCommand => (MAX_COMMAND_ANSWERS, RECENT),
            PacedNotice::OfLimit => (1, SignedDuration::from_hours(1)),
            PacedNotice::OfMute => (1, SignedDuration::from_mins(10)),
        }
    }
}

/// The recent posts and notices of each channel. Clones share them. They are lost in a restart, after which a user may get
/// a few more. Times are elapsed ones, since the wall clock may be set.
#[derive(Clone, Debug)]
pub struct UserRateLimit {
    clock: Clock,
    channels: Arc<Mutex<HashMap<(WorkspaceId, ChannelId), ChannelLimit>>>,
}

#[derive(Debug, Default)]
struct ChannelLimit {
    /// When the channel takes its next post.
    next_turn: SignedDuration,
    /// Until when its platform takes no post there.
    held_until: SignedDuration,
    turns: Vec<Turn>,
    notices: Vec<(PacedNotice, UserId, DecisionId, SignedDuration)>,
}

/// The time that is reserved for a post.
#[derive(Debug)]
struct Turn {
    item: OutboxItemId,
    askers: Vec<UserId>,
    at: SignedDuration,
}

impl UserRateLimit {
    pub fn new(clock: Clock) -> Self {
        Self { clock, channels: Arc::default() }
    }

    /// Returns how long an item waits for its turn. `askers` are the users whom it answers.
    pub(super) fn until_turn(
        &self,
        item: &OutboxItem,
        askers: Vec<UserId>,
        interval: SignedDuration,
    ) -> SignedDuration {
        let now = self.clock.elapsed();
        if !interval.is_positive() || item.reaction_to.is_some() {
            return SignedDuration::ZERO;
        }
        self.in_channel(&item.conversation, |channel| {
            if let Some(turn) = channel.turns.iter().find(|turn| turn.item == item.id) {
                return (turn.at.max(channel.held_until) - now).max(SignedDuration::ZERO);
            }
            let free = channel.next_turn.max(channel.held_until).max(now);
            // The user who waits longest counts. `None`, who got no post lately, comes first.
            let own = askers.iter().map(|asker| channel.own_turn(asker, interval)).min().flatten();
            if let Some(own) = own.filter(|own| *own > free) {
                return own - now;
            }
            channel.next_turn = free + interval;
            channel.turns.push(Turn { item: item.id, askers, at: free });
            free - now
        })
    }

    /// Returns the number of this notice among those that the user got in the channel lately, or `None` if it is one too
    /// many. A decision that is drafted again counts once.
    pub(super) fn count(
        &self,
        notice: PacedNotice,
        conversation: &ConversationId,
        user: &UserId,
        decision: DecisionId,
    ) -> Option<usize> {
        let now = self.clock.elapsed();
        self.in_channel(conversation, |channel| {
            let decisions = channel.decisions(notice, user);
            if let Some(known) = decisions.iter().position(|other| *other == decision) {
                return Some(known + 1);
            }
            (decisions.len() < notice.limit().0).then(|| {
                channel.notices.push((notice, user.clone(), decision, now));
                decisions.len() + 1
            })
        })
    }

    /// Whether a command of this user was answered in the channel lately.
    pub(super) fn has_answered(&self, conversation: &ConversationId, user: &UserId) -> bool {
        let notice = PacedNotice::ToCommand;
        self.in_channel(conversation, |channel| !channel.decisions(notice, user).is_empty())
    }

    /// Lets a channel take no post for a while, as its platform asks.
    pub(super) fn hold(&self, conversation: &ConversationId, wait: SignedDuration) {
        let until = self.clock.elapsed() + wait;
        self.in_channel(conversation, |channel| channel.held_until = channel.held_until.max(until));
    }

    fn in_channel<T>(
        &self,
        conversation: &ConversationId,
        act: impl FnOnce(&mut ChannelLimit) -> T,
    ) -> T {
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        let now = self.clock.elapsed();
        let mut channels = self.channels.lock();
        let channel = channels.entry(key).or_default();
        channel.turns.retain(|turn| now - turn.at < RECENT);
        channel.notices.retain(|(notice, .., at)| now - *at < notice.limit().1);
        act(channel)
    }
}

impl ChannelLimit {
    /// Returns when a user who got a post lately gets the next one at the earliest.
    fn own_turn(&self, user: &UserId, interval: SignedDuration) -> Option<SignedDuration> {
        let own = self.turns.iter().filter(|turn| turn.askers.contains(user));
        own.map(|turn| turn.at + interval * OWN_TURNS).max()
    }

    /// Returns the decisions about which a user got this notice lately.
    fn decisions(&self, notice: PacedNotice, user: &UserId) -> Vec<DecisionId> {
        let got = self.notices.iter().filter(|(kind, to, ..)| *kind == notice && to == user);
        got.map(|(_, _, decision, _)| *decision).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aizuchi_model::decision::DecisionResult;
    use aizuchi_model::flow::outbox::DraftMetadata;
    use jiff::Timestamp;

    use super::*;

    fn conversation(channel: &str) -> ConversationId {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new(channel));
        ConversationId { workspace, channel, thread: None }
    }

    fn item(number: i64, channel: &str) -> OutboxItem {
        OutboxItem {
            id: OutboxItemId(number),
            first_in_draft: OutboxItemId(number),
            conversation: conversation(channel),
            key: number.to_string().into(),
            text: "Here I am.".into(),
            reaction_to: None,
            metadata: Arc::new(DraftMetadata::new(DecisionResult::Spoke, "")),
            dispatched_at: None,
        }
    }

    #[test]
    fn a_user_who_got_a_post_lately_leaves_every_other_turn_to_others() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let pace = UserRateLimit::new(clock.clone());
        let wait = |number, user: &str| {
            let second = SignedDuration::from_secs(1);
            pace.until_turn(&item(number, "c"), vec![UserId::new(user)], second).as_secs()
        };
        assert_eq!([wait(1, "mallory"), wait(2, "mallory"), wait(3, "mallory")], [0, 2, 2]);
        assert_eq!([wait(4, "alice"), wait(5, "bob"), wait(6, "carol")], [1, 2, 3]);
        // The clock may be set back meanwhile.
        clock.set_by(SignedDuration::from_hours(-1));
        clock.advance_to(clock.now() + SignedDuration::from_secs(2));
        assert_eq!([wait(5, "bob"), wait(2, "mallory"), wait(3, "mallory")], [0, 2, 4]);
        assert_eq!([wait(4, "alice"), wait(6, "carol"), wait(2, "mallory")], [0, 1, 2]);
        let other = pace.until_turn(&item(7, "d"), Vec::new(), SignedDuration::from_secs(1));
        assert_eq!(other, SignedDuration::ZERO);
        pace.hold(&conversation("c"), SignedDuration::from_secs(30));
        assert_eq!([wait(6, "carol"), wait(8, "dora")], [30, 30]);
    }

    #[test]
    fn a_notice_is_counted_once_for_each_decision() {
        let clock = Clock::manual(Timestamp::UNIX_EPOCH);
        let pace = UserRateLimit::new(clock.clone());
        let count = |notice, channel: &str, user: &str, decision| {
            pace.count(notice, &conversation(channel), &UserId::new(user), DecisionId(decision))
        };
        for (channel, user, decision, expected) in [
            ("c", "alice", 1, Some(1)),
            ("c", "alice", 1, Some(1)),
            ("c", "alice", 2, None),
            ("c", "bob", 2, Some(1)),
            ("d", "alice", 2, Some(1)),
        ] {
            assert_eq!(count(PacedNotice::OfLimit, channel, user, decision), expected);
        }
        let answers: Vec<_> =
            (0..21).map(|number| count(PacedNotice::ToCommand, "c", "alice", number)).collect();
        assert_eq!((answers[19], answers[20]), (Some(20), None));
        clock.advance_to(clock.now() + SignedDuration::from_mins(1));
        assert_eq!(count(PacedNotice::ToCommand, "c", "alice", 30), Some(1));
        assert_eq!(count(PacedNotice::OfLimit, "c", "alice", 30), None);
    }
}
