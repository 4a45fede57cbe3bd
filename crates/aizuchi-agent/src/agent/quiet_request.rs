//! Quiet that users ask for. Somebody who mentions the muted persona learns that it is muted, and a request for quiet
//! that only the model understood becomes an order, which is committed with its answer.

use std::sync::Arc;

use aizuchi_actions::command::{Command, CommandRequest};
use aizuchi_actions::parse::setting::WrittenSetting;
use aizuchi_actions::settings;
use aizuchi_model::chat::{ConversationId, Message, Role};
use aizuchi_model::context::Context;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata};
use aizuchi_model::flow::quiet_order::{OrderedQuiet, QuietOrder};
use aizuchi_model::flow::{Claim, StepResult};
use aizuchi_model::rules::setting_override::{PlaceSetting, SettingChange};
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;

use crate::agent::command_reply::ReplyAudience;
use crate::agent::user_rate_limit::PacedNotice;
use crate::agent::{StepError, Worker, place_of};

/// The reaction on a message that mentions the muted persona, where a platform cannot tell its author alone.
const MUTED: &str = "🔇";

impl Worker<'_> {
    /// Settles owed messages that a gate silences. If the persona is muted, the first author who may not know it is told.
    pub(super) async fn silence_or_tell(
        &self,
        claim: &Claim,
        gate: Gate,
        context: &Context,
    ) -> Result<StepResult, StepError> {
        let (here, decision) = (&context.conversation, claim.decision);
        let untold = context.owed_messages().find(|message| {
            let author = &message.author.id;
            gate == Gate::Muted
                && self.user_rate_limit.count(PacedNotice::OfMute, here, author, decision).is_some()
        });
        let Some(message) = untold else {
            return Ok(self.silence_owed(gate, None, DecisionResult::Muted, context));
        };
        let platform = self.platforms.for_workspace(&context.conversation.workspace)?;
        let content = match platform.can_whisper() {
            true => {
                let request = self.request_by(context, message, Command::Status).await?;
                let answer = self.command_answers.reply_to(&request, self.now()).await?;
                DraftContent::Text(vec![answer])
            }
            false => DraftContent::Reaction { emoji: MUTED.to_owned(), on: message.id.clone() },
        };
        let author = &message.author.id;
        let is_by_author = |it: &&Arc<Message>| it.author.id == *author;
        let owed = context.owed_messages().filter(is_by_author);
        let why = texts::judging::gate_reason(self.persona.language, gate);
        let metadata = DraftMetadata {
            owed: owed.map(|message| message.id.clone().into()).collect(),
            seen_revision: context.revision.into(),
            only_for: Some(author.clone()),
            ..DraftMetadata::new(DecisionResult::Muted, why)
        };
        Ok(StepResult::Drafted { draft: Draft { content, metadata }, due: self.now() })
    }

    /// Returns the answer to the only user who waits, and what their request for quiet orders.
    pub(super) async fn order_quiet(
        &self,
        context: &Context,
        command: Command,
    ) -> Result<Option<(StepResult, QuietOrder)>, StepError> {
        let Some(message) = sole_asker(context) else { return Ok(None) };
        let request = self.request_by(context, message, command).await?;
        let rulebook = &self.rulebook;
        let bar = |_: &_| rulebook.rules_in(&place_of(context)).min_confidence;
        let written = Some(WrittenSetting::quieter(""));
        let order = match request.to_order(&self.settings.zone) {
            Some(order) => Some(order),
            None => {
                settings::to_order(&request, written, rulebook, |_| None, bar).ok().map(|it| it.1)
            }
        };
        let quiet = if let Some(Order::Mute { until, by, .. }) = order {
            OrderedQuiet::Until(until, by)
        } else if let Some(Order::ChangeSetting { role, change, .. }) = order
            && let SettingChange::Set(PlaceSetting::MinConfidence(from)) = change
        {
            OrderedQuiet::From(from, role)
        } else {
            return Ok(None);
        };
        let language = self.persona.language;
        let answer = self.command_answers.quiet_text(&request, quiet, language, self.now());
        let owed = context.owed_messages().map(|message| message.id.clone().into()).collect();
        let why = texts::judging::gate_reason(language, Gate::Command);
        let audience = ReplyAudience { user: Some(request.user.clone()), is_public: true };
        let result = self.draft_command_reply(context, vec![answer], owed, why, audience)?;
        Ok(Some((result, QuietOrder { user: request.user, at: request.at, quiet })))
    }

    async fn request_by(
        &self,
        context: &Context,
        message: &Message,
        command: Command,
    ) -> Result<CommandRequest, StoreError> {
        let ConversationId { workspace, .. } = &context.conversation;
        let user = [message.author.id.clone()].into_iter().collect();
        let known = self.command_answers.archive.some_users(workspace, &user).await?;
        let role = known.first().map_or(Role::Member, |user| user.role.max(Role::Member));
        Ok(CommandRequest::from_message(command, message, context.visibility, role))
    }
}

/// Returns the newest owed message, if all are by one user.
pub(super) fn sole_asker(context: &Context) -> Option<&Message> {
    let newest = context.owed_messages().next_back()?;
    let by_one = context.owed_messages().all(|message| message.author.id == newest.author.id);
    by_one.then_some(newest)
}
