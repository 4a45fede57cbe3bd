//! Retrying a dead letter at an operator's request: what is left of it to post. Automatic retries of a failed post are
//! in `completion.rs`.

use jiff::Timestamp;

use crate::chat::ConversationId;
use crate::decision::DecisionId;
use crate::flow::Work;
use crate::flow::outbox::OutboxItem;
use crate::flow::step::{OwedAnswer, PendingState, Step, new_step};

/// How an answer that was given up is retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redelivery {
    /// Users have seen nothing of it, so it is drafted again: the conversation may have moved on.
    Anew,
    /// Users have seen its beginning, or may have: the rest is posted, starting with this part.
    Continue(OutboxItem),
    /// Users have seen its beginning, and the text of the rest is gone.
    Impossible,
}

impl Redelivery {
    /// Chooses how to retry. `unposted` are the parts that are not known to be posted, in order. A part with an unknown
    /// outcome is still marked as dispatched, and is looked up before it is posted.
    pub fn of_parts(unposted: &[OutboxItem]) -> Self {
        match unposted {
            [first, ..] if first.is_published() => {
                match unposted.iter().all(|item| !item.text.is_empty()) {
                    true => Self::Continue(first.clone()),
                    false => Self::Impossible,
                }
            }
            _ => Self::Anew,
        }
    }
}

impl PendingState {
    /// Returns the pending work of a conversation whose decision is opened again. If users have seen nothing, owed
    /// answers are drafted again, and an unsolicited post is judged again.
    pub fn try_again(
        conversation: ConversationId,
        decision: DecisionId,
        owed: Vec<OwedAnswer>,
        rest: Option<OutboxItem>,
        now: Timestamp,
    ) -> Self {
        let is_owed = !owed.is_empty();
        let work = match rest {
            Some(item) => Work::Post(item),
            None if is_owed => Work::Reply(conversation),
            None => Work::Judge(conversation),
        };
        // The generation may start again, since no claim on an earlier step still has a lease.
        let step = Step { is_owed, ..new_step(work, now, decision, 0) };
        Self { step: Some(step), owed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, WorkspaceId};
    use crate::decision::DecisionResult;
    use crate::flow::outbox::{DraftMetadata, OutboxItemId};

    fn part(id: i64, text: &str, dispatched_at: Option<Timestamp>) -> OutboxItem {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c"));
        let metadata = DraftMetadata::new(DecisionResult::Spoke, "");
        OutboxItem {
            id: OutboxItemId(id),
            first_in_draft: OutboxItemId(1),
            conversation: ConversationId { workspace, channel, thread: None },
            key: format!("i-{id}").into(),
            text: text.into(),
            reaction_to: None,
            metadata: metadata.into(),
            dispatched_at,
        }
    }

    #[test]
    fn what_users_have_seen_the_beginning_of_goes_on() {
        let sent = Some(Timestamp::UNIX_EPOCH);
        for (unposted, expected) in [
            (vec![], Redelivery::Anew),
            (vec![part(1, "a", None), part(2, "b", None)], Redelivery::Anew),
            (vec![part(1, "", None)], Redelivery::Anew),
            (
                vec![part(2, "b", None), part(3, "c", None)],
                Redelivery::Continue(part(2, "b", None)),
            ),
            (
                vec![part(1, "a", sent), part(2, "b", None)],
                Redelivery::Continue(part(1, "a", sent)),
            ),
            (vec![part(2, "b", sent)], Redelivery::Continue(part(2, "b", sent))),
            (vec![part(2, "", None), part(3, "", None)], Redelivery::Impossible),
            (vec![part(2, "b", None), part(3, "", None)], Redelivery::Impossible),
            (vec![part(1, "", sent)], Redelivery::Impossible),
        ] {
            assert_eq!(Redelivery::of_parts(&unposted), expected, "{unposted:?}");
        }
    }
}
