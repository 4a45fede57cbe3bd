//! A proposal that a user approved: its text is posted next in its conversation, and messages that users wrote in the
//! meantime are judged afterwards.

use std::sync::Arc;

use jiff::Timestamp;

use crate::decision::DecisionId;
use crate::flow::Work;
use crate::flow::completion::NewNumbers;
use crate::flow::outbox::{DraftMetadata, OutboxItem};
use crate::flow::step::{PendingState, Step, new_step};

/// The effect of queueing an approved proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The decision that was waiting to be judged there. Its messages and its model calls now belong to the proposal,
    /// whose decision is open again, since a conversation has only one open decision.
    pub absorbed: Option<DecisionId>,
}

/// Returns the rows of an approved proposal: `proposed` as it is, or with the text `edited`.
pub fn approved_items(
    proposed: &[OutboxItem],
    edited: Option<&[String]>,
    numbers: NewNumbers<'_>,
) -> Vec<OutboxItem> {
    let Some(first) = proposed.first() else { return Vec::new() };
    let texts = match edited {
        Some(texts) => texts.to_vec(),
        None => proposed.iter().map(|item| item.text.to_string()).collect(),
    };
    let metadata = DraftMetadata { is_approved: true, ..(*first.metadata).clone() };
    numbers.items(&first.conversation, texts, &Arc::new(metadata))
}

impl PendingState {
    /// Schedules an approved item as the next post. Returns `None` while an answer or a model call is in progress in
    /// the conversation: one conversation never does two things at the same time.
    pub fn post_approved(
        &mut self,
        item: OutboxItem,
        decision: DecisionId,
        now: Timestamp,
    ) -> Option<Approval> {
        let post = Work::Post(item);
        // A user wants this text, so it is neither drafted nor judged again.
        let posting = |step: Step| Step { redrafts: 1, second_looks: 1, ..step };
        let Some(waiting) = &self.step else {
            self.step = Some(posting(new_step(post, now, decision, 1)));
            return Some(Approval { absorbed: None });
        };
        if waiting.has_work() {
            return None;
        }
        let absorbed = Some(waiting.decision).filter(|other| *other != decision);
        self.step = Some(Step {
            // The judgment that was waiting follows the post, if messages are left that it has not seen.
            follow_up_due: Some(waiting.due),
            waiting_since: waiting.waiting_since,
            ..posting(new_step(post, now, decision, waiting.generation + 1))
        });
        Some(Approval { absorbed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, ConversationId, WorkspaceId};
    use crate::decision::DecisionResult;
    use crate::flow::outbox::OutboxItemId;
    use crate::flow::step::Lease;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn conversation() -> ConversationId {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c"));
        ConversationId { workspace, channel, thread: None }
    }

    fn items(texts: &[&str], last_id: i64) -> Vec<OutboxItem> {
        let metadata = DraftMetadata::new(DecisionResult::Spoke, "nobody answers");
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let numbers = NewNumbers { last_id, installation: "0a1b" };
        numbers.items(&conversation(), texts, &Arc::new(metadata))
    }

    fn waiting(work: Work, lease: Option<Lease>) -> PendingState {
        let step = Step { lease, waiting_since: at(5), ..new_step(work, at(60), DecisionId(9), 3) };
        PendingState { step: Some(step), owed: Vec::new() }
    }

    #[test]
    fn approved_words_come_before_a_judgment_that_waits() {
        let item = items(&["hello"], 20).remove(0);
        let mut idle = PendingState::default();
        let approval = idle.post_approved(item.clone(), DecisionId(7), at(10));
        assert_eq!(approval, Some(Approval { absorbed: None }));
        let step = idle.step.unwrap();
        assert_eq!((step.due, step.decision, step.follow_up_due), (at(10), DecisionId(7), None));

        let mut judging = waiting(Work::Judge(conversation()), None);
        let approval = judging.post_approved(item.clone(), DecisionId(7), at(10));
        assert_eq!(approval, Some(Approval { absorbed: Some(DecisionId(9)) }));
        let step = judging.step.unwrap();
        assert_eq!(step.work, Work::Post(item));
        assert_eq!((step.generation, step.follow_up_due), (4, Some(at(60))));
        assert_eq!((step.waiting_since, step.redrafts, step.second_looks), (at(5), 1, 1));
    }

    #[test]
    fn approved_words_wait_for_what_has_begun() {
        let parts = items(&["hello", "there"], 20);
        let (item, other) = (&parts[0], &parts[1]);
        let lease = Lease { token: 1, until: at(90) };
        for busy in [
            waiting(Work::Judge(conversation()), Some(lease)),
            waiting(Work::Reply(conversation()), None),
            waiting(Work::Post(other.clone()), None),
        ] {
            let mut pending = busy.clone();
            assert_eq!(pending.post_approved(item.clone(), DecisionId(7), at(10)), None);
            assert_eq!(pending, busy, "nothing has changed");
        }
    }

    #[test]
    fn what_is_posted_are_the_approved_words() {
        let proposed = items(&["one", "two"], 20);
        let numbers = NewNumbers { last_id: 30, installation: "0a1b" };
        let texts = |items: &[OutboxItem]| {
            items.iter().map(|item| (item.id.0, item.text.to_string())).collect::<Vec<_>>()
        };
        let as_is = approved_items(&proposed, None, numbers);
        assert_eq!(texts(&as_is), [(31, "one".to_owned()), (32, "two".to_owned())]);
        assert!(as_is.iter().all(|item| item.metadata.is_approved));
        assert!(as_is.iter().all(|item| item.first_in_draft == OutboxItemId(31)));
        let edited = approved_items(&proposed, Some(&["shorter".to_owned()]), numbers);
        assert_eq!(texts(&edited), [(31, "shorter".to_owned())]);
        assert_eq!(approved_items(&[], None, numbers), []);
    }
}
