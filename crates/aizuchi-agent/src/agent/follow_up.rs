//! Follow up: which questions the persona comes back to, once, if nobody answers them: its own, and those that it left to
//! people. Whether anybody has answered is looked at when the plan is due (`unasked_plan.rs`).

use aizuchi_model::chat::{Message, MessageId, UserId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::decision::Judgment;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::plan::{MAX_LENGTH, Plan, PlanId, PlanKind, Whom};
use aizuchi_model::rules::FollowUpRule;
use aizuchi_store::StoreError;
use aizuchi_structure::cues::Cues;
use jiff::Timestamp;

use crate::agent::Worker;

/// A question that was asked somewhere.
struct OpenQuestion<'a> {
    id: &'a MessageId,
    at: Timestamp,
    text: &'a str,
    /// Who waits for the answer, or is asked for it.
    user: &'a UserId,
}

impl Worker<'_> {
    /// The plan to come back to a question that the persona has just posted. It is kept if that ends the draft. What is
    /// said at a planned time, and what only one user sees, is no question to come back to.
    pub(super) async fn after_own_question(
        &self,
        item: &OutboxItem,
        posted: &PostedMessage,
    ) -> Result<Option<Plan>, StoreError> {
        let metadata = &item.metadata;
        let asks = Cues::from_text(&item.text).contains(Cues::ASKS);
        if !self.rulebook.may_follow_up()
            || !asks
            || metadata.is_planned
            || metadata.only_for.is_some()
        {
            return Ok(None);
        }
        let context = self.load_context(&item.conversation).await?;
        let answered = metadata.owed.iter().find_map(|owed| owed.message());
        let answered = answered.or(metadata.about.as_ref());
        let answered = answered.and_then(|id| context.target_message(id));
        let Some(answered) = answered.or_else(|| context.newest_human_message()) else {
            return Ok(None);
        };
        let (id, at, text) = (&posted.id, posted.at, &*item.text);
        let question = OpenQuestion { id, at, text, user: &answered.author.id };
        Ok(self.follow_up(question, &context, |rule| rule != FollowUpRule::Off))
    }

    /// The plan to come back to an open question that a verdict of silence has left to people: the one that the verdict
    /// is about, or else the newest one. A question that an earlier decision judged has had its plan, whatever became of
    /// it.
    pub(super) fn left_to_people(&self, judgment: &Judgment, context: &Context) -> Option<Plan> {
        if !self.rulebook.may_follow_up() {
            return None;
        }
        let analysis = ConversationAnalysis::new(context);
        let open = analysis.open_questions().map(|question| &**question.message);
        let open: Vec<&Message> =
            open.filter(|message| context.new_messages.contains(&message.id)).collect();
        let is_named = |message: &&&Message| Some(&message.id) == judgment.about.as_ref();
        let Message { id, at, text, author, .. } = open.iter().find(is_named).or(open.last())?;
        let question = OpenQuestion { id, at: *at, text, user: &author.id };
        self.follow_up(question, context, |rule| rule == FollowUpRule::All)
    }

    /// Counted from the question, so that an old one, such as one that waited for a model, is not come back to.
    fn follow_up(
        &self,
        question: OpenQuestion<'_>,
        context: &Context,
        applies: impl Fn(FollowUpRule) -> bool,
    ) -> Option<Plan> {
        let rules = self.gate_input(context).rules;
        let due = question.at + rules.follow_up_after;
        let what = to_single_line(question.text).chars().take(MAX_LENGTH).collect::<String>();
        (applies(rules.follow_up) && due > self.now()).then(|| Plan {
            id: PlanId(0),
            number: 0,
            conversation: context.conversation.clone(),
            asker: question.user.clone(),
            message: Some(question.id.clone()),
            whom: Whom::Channel,
            kind: PlanKind::Unanswered,
            what: what.into(),
            recurrence: None,
            zone: self.settings.zone.clone(),
            made: question.at,
            due,
        })
    }
}
