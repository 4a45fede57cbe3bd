//! Decides whether a command from a platform's history is still carried out. After a start or a reconnect, the backfill
//! may be faster than the live event of a message that is seconds old, and the user who gave the command waits for it.

use aizuchi_model::chat::Message;
use aizuchi_model::memory::asker::signed_at;
use aizuchi_store::StoreError;
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery, OrderKind};
use jiff::{SignedDuration, Timestamp};

use crate::inbox::Inbox;

/// The maximum age of a command that is carried out. The author of an older one has seen that nothing happened, and has
/// done something else. A reconnect and the backfill after it take less. Clocks that differ by more count as too late.
pub const LATE_COMMAND_WINDOW: SignedDuration = SignedDuration::from_mins(2);

/// The maximum number of a workspace's newest orders that are checked.
const MAX_ORDERS: usize = 100;

/// The maximum delay between giving a command and hearing it.
const LONGEST_DELAY: SignedDuration = SignedDuration::from_hours(24);

impl Inbox {
    /// Whether a command is recent, and no order has been given since in its workspace, by another command or on the
    /// console. Such an order may have revoked it, since a history is read out of order, and some commands are for all
    /// channels.
    pub(super) async fn is_late_command_in_time(
        &self,
        message: &Message,
    ) -> Result<bool, StoreError> {
        if self.clock.now().duration_since(message.at).abs() > LATE_COMMAND_WINDOW {
            return Ok(false);
        }
        let workspace = Some(message.conversation.workspace.clone());
        let query = OrderJournalQuery { workspace, kind: None, before: None, limit: MAX_ORDERS };
        let orders = self.archive.order_journal(&query).await?;
        Ok(!orders.iter().any(|given| is_given_after(given, message.at)))
    }
}

/// Whether an order was given later. The time of a command is the platform's, like that of the message. A command that
/// the process had carried out before it ended is not later than itself.
fn is_given_after(given: &GivenOrder, at: Timestamp) -> bool {
    if matches!(given.record.kind, OrderKind::SignIn | OrderKind::Export | OrderKind::Reload) {
        return false;
    }
    let of_command = signed_at(&given.by)
        .filter(|of_command| given.at.duration_since(*of_command).abs() <= LONGEST_DELAY);
    // In milliseconds, the precision of a signature, so that a command is not later than itself.
    of_command.unwrap_or(given.at).as_millisecond() > at.as_millisecond()
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::WorkspaceId;
    use aizuchi_store::order_journal::{OrderKind, OrderRecord};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    #[test]
    fn the_time_of_a_command_is_when_it_was_given() {
        for (by, carried_out, expected) in [
            // A command that was given before, but carried out after.
            ("u-mia 1700000999000", 1005, false),
            // The same command, before the process ended.
            ("u-mia 1700001000000", 1005, false),
            ("u-mia 1700001000001", 1005, true),
            // Clocks differ.
            ("u-mia 1700001001000", 995, true),
            // A user on the console, whose name ends with a number.
            ("olga 2", 1005, true),
            ("olga 2", 995, false),
            ("", 1005, true),
        ] {
            let given = GivenOrder {
                number: 1,
                workspace: WorkspaceId::new("w"),
                at: at(carried_out),
                by: by.into(),
                record: OrderRecord::new(OrderKind::Mute),
            };
            assert_eq!(is_given_after(&given, at(1000)), expected, "{by} {carried_out}");
        }
    }
}
