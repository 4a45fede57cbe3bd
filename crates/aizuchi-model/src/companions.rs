//! Other bots that speak unasked in a channel, like the persona: which of all companions speaks first at a moment. Each
//! installation computes the same order independently, if its settings name the same companions.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::chat::{ChannelId, MessageId, UserId};

/// Returns how many of the other companions speak before this one when this message is the newest by a human: 0 for
/// exactly one of them. The order depends only on the companions and on ids that all installations get from the
/// platform, and differs for each message.
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

/// Returns a companion's position in the order. No two have the same.
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

    /// Computed with another program.
    const RANKS: [[usize; 4]; 2] = [[2, 0, 1, 3], [2, 3, 0, 1]];

    fn user(number: usize) -> UserId {
        UserId::new(format!("U{number}"))
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
        /// Each position is taken once, whichever companion computes it.
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
                    // It makes no difference whether a companion counts itself among the others.
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
