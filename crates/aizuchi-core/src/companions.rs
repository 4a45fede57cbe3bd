//! Other bots that speak unasked in a channel, as the persona does: which of the bots there they are, by what was heard
//! of them, and which of all companions speaks first about a message. Each installation finds the same order by itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chat::{ChannelId, MessageId, UserId};

/// What a bot's message was to the others. One that somebody asked the bot for is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BotPost {
    /// It replied to a person's message, in its thread or by a mark.
    Replied,
    /// People had written lately, and the bot had not spoken since.
    JoinedIn,
    /// Nobody had written lately, or the bot had had its turn: as bots do that report something.
    Began,
}

/// What is known of the bots of a channel: whether they join in what people say, or report something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BotHabits(BTreeMap<UserId, BotHabit>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BotHabit {
    /// How often it joined in. A reply counts twice, since it is surely one.
    joined_in: u32,
    began: u32,
    /// When it last joined in.
    joined_ms: i64,
}

/// A bot that joined in no more than once may have reported something while people happened to talk.
const MIN_JOINED_IN: u32 = 2;
/// Of what a companion says unasked, at least so many times as much joins in as begins something.
const MIN_RATIO: u32 = 2;
/// From this many messages on the counts are halved, so that a bot may change.
const MAX_COUNT: u32 = 40;
/// What joined in longer ago is history.
const RECENT: SignedDuration = SignedDuration::from_hours(14 * 24);
/// More are forgotten, so that nobody can make a channel wait for ever by inventing bots.
const MAX_BOTS: usize = 8;

impl BotHabits {
    /// Learns from a message that nobody had asked the bot for.
    pub fn record(&mut self, bot: &UserId, post: BotPost, at: Timestamp) {
        let habit = self.0.entry(bot.clone()).or_default();
        match post {
            BotPost::Replied => habit.joined_in += 2,
            BotPost::JoinedIn => habit.joined_in += 1,
            BotPost::Began => habit.began += 1,
        }
        if post != BotPost::Began {
            habit.joined_ms = habit.joined_ms.max(at.as_millisecond());
        }
        if habit.joined_in + habit.began > MAX_COUNT {
            habit.joined_in = habit.joined_in.div_ceil(2);
            habit.began /= 2;
        }
        if self.0.len() > MAX_BOTS {
            let rank = |(bot, habit): (&UserId, &BotHabit)| {
                (habit.joined_in, habit.joined_ms, bot.clone())
            };
            let least = self.0.iter().map(rank).min();
            if let Some((.., bot)) = least {
                self.0.remove(&bot);
            }
        }
    }

    /// The bots that speak unasked in what people say, at `now`.
    pub fn companions(&self, now: Timestamp) -> BTreeSet<UserId> {
        let is_companion = |habit: &BotHabit| {
            let age_ms = now.as_millisecond().saturating_sub(habit.joined_ms);
            habit.joined_in >= MIN_JOINED_IN
                && habit.joined_in >= MIN_RATIO * habit.began
                && i128::from(age_ms) <= RECENT.as_millis()
        };
        let companions = self.0.iter().filter(|(_, habit)| is_companion(habit));
        companions.map(|(bot, _)| bot.clone()).collect()
    }

    pub fn knows(&self, user: &UserId) -> bool {
        self.0.contains_key(user)
    }
}

/// How many of the other companions speak before this one about a message: 0 for exactly one of them. The order depends
/// on nothing but the ids that all installations get from the platform, and is another one for each message.
pub fn rank(
    channel: &ChannelId,
    message: &MessageId,
    own: &UserId,
    others: &BTreeSet<UserId>,
) -> usize {
    let own_place = place(channel, message, own);
    let others = others.iter().filter(|other| *other != own);
    others.filter(|other| place(channel, message, other) < own_place).count()
}

/// Where a companion stands in the order. No two have the same place.
fn place<'u>(channel: &ChannelId, message: &MessageId, user: &'u UserId) -> ([u8; 32], &'u str) {
    let mut hash = Sha256::new();
    for id in [channel.as_str(), message.as_str(), user.as_str()] {
        hash.update(id);
        hash.update([0]);
    }
    (hash.finalize().into(), user.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Found with another program.
    const RANKS: [[usize; 4]; 2] = [[2, 0, 1, 3], [2, 3, 0, 1]];

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn user(number: usize) -> UserId {
        UserId::new(format!("U{number}"))
    }

    /// Whether a bot is a companion that has said this.
    fn is_companion(posts: &[BotPost]) -> bool {
        let mut bots = BotHabits::default();
        for (post, second) in posts.iter().zip(0..) {
            bots.record(&user(1), *post, at(second));
        }
        bots.companions(at(1000)) == BTreeSet::from([user(1)])
    }

    #[test]
    fn who_joins_in_is_a_companion_and_who_reports_is_none() {
        use BotPost::{Began, JoinedIn, Replied};
        for (posts, expected) in [
            (&[][..], false),
            (&[JoinedIn], false),
            (&[Replied], true),
            (&[JoinedIn, JoinedIn], true),
            // It said that it joined.
            (&[Began, JoinedIn, JoinedIn], true),
            (&[JoinedIn, Began, JoinedIn, Began], false),
            (&[Began, Began, Began], false),
            (&[Replied, Began, Began], false),
        ] {
            assert_eq!(is_companion(posts), expected, "{posts:?}");
        }
        let changed = [[Began; 60], [JoinedIn; 60]].concat();
        assert!(is_companion(&changed));
    }

    #[test]
    fn who_has_long_been_silent_is_no_companion_any_more() {
        let mut bots = BotHabits::default();
        bots.record(&user(1), BotPost::Replied, at(0));
        assert!(bots.companions(at(13 * 86_400)).contains(&user(1)));
        assert!(bots.companions(at(15 * 86_400)).is_empty());
    }

    #[test]
    fn invented_bots_do_not_push_out_a_companion() {
        let mut bots = BotHabits::default();
        for second in 0..3 {
            bots.record(&user(0), BotPost::Replied, at(second));
        }
        for number in 1..100 {
            bots.record(&user(number), BotPost::JoinedIn, at(10 + number as i64));
        }
        assert_eq!(bots.companions(at(200)), BTreeSet::from([user(0)]));
        assert!(bots.0.len() <= MAX_BOTS);
        let kept = serde_json::to_string(&bots).unwrap();
        assert_eq!(serde_json::from_str::<BotHabits>(&kept).unwrap(), bots);
    }

    /// Installations of different versions must agree on the order.
    #[test]
    fn the_order_stays_as_it_is() {
        let channel = ChannelId::new("C1");
        let others: BTreeSet<UserId> = (0..4).map(user).collect();
        let ranks = ["1700000000.000100", "1700000000.000200"].map(|message| {
            let message = MessageId::new(message);
            [0, 1, 2, 3].map(|number| rank(&channel, &message, &user(number), &others))
        });
        assert_eq!(ranks, RANKS);
    }

    proptest! {
        /// Whoever computes it, each place is taken once.
        #[test]
        fn each_companion_has_a_place_of_its_own(
            channel in "[A-Z0-9]{1,12}", message in "[0-9.]{1,20}",
            ids in prop::collection::btree_set("[A-Z0-9]{1,12}", 1..9),
        ) {
            let (channel, message) = (ChannelId::new(channel), MessageId::new(message));
            let all: BTreeSet<UserId> = ids.into_iter().map(UserId::new).collect();
            let mut ranks: Vec<usize> = all
                .iter()
                .map(|own| {
                    let mut others = all.clone();
                    others.remove(own);
                    // Whether it counts itself among the others makes no difference.
                    assert_eq!(
                        rank(&channel, &message, own, &all),
                        rank(&channel, &message, own, &others)
                    );
                    rank(&channel, &message, own, &others)
                })
                .collect();
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..all.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_companion_is_first_equally_often() {
        let channel = ChannelId::new("C1");
        let all: BTreeSet<UserId> = (0..3).map(user).collect();
        let mut first = [0; 3];
        for message in 0..3000 {
            let message = MessageId::new(message.to_string());
            for (number, count) in first.iter_mut().enumerate() {
                *count += usize::from(rank(&channel, &message, &user(number), &all) == 0);
            }
        }
        assert_eq!(first.iter().sum::<usize>(), 3000);
        assert!(first.iter().all(|count| (900..1100).contains(count)), "{first:?}");
    }
}
