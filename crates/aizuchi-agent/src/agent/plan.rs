//! Plan: looks again at what somebody asked to be told now, and drafts it. Whether it is still wanted is looked at here
//! and not when it was asked for: until then, the message may be deleted, or the person may have answered.

use std::sync::Arc;

use aizuchi_actions::command_replies::catch_up::Reader;
use aizuchi_model::chat::to_single_line;
use aizuchi_model::context::{Context, Intent};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::outbox::{Draft, DraftContent, DraftMetadata};
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult};
use aizuchi_model::memory::{Lineage, MessageRef};
use aizuchi_model::outgoing::urls::KnownUrls;
use aizuchi_model::plan::{LATE, Plan, PlanKind, Whom};
use aizuchi_model::split::to_posts;
use aizuchi_model::texts::{self, Name};
use aizuchi_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::agent::ended_calls::EndedCalls;
use crate::agent::generate_reply::Generated;
use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, StepTrace, Worker};

impl Worker<'_> {
    pub(super) async fn draft_planned(
        &self,
        claim: &Claim,
        plan: &Plan,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<StepResult, StepError> {
        let context = self.load_context(&plan.conversation).await?;
        trace.seen_revision = Some(context.revision);
        if let Some(why) = self.why_unwanted(plan, &context).await? {
            return Ok(StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why)));
        }
        if plan.is_outdated(self.now()) {
            let why = texts::plans::outdated(self.persona.language);
            return Ok(StepResult::Silent(DecisionClosing::new(DecisionResult::ChoseSilence, why)));
        }
        let gates = self.gate_input(&context).check_before_answering();
        // Only a model costs anything.
        let gate = gates.closed_by.filter(|gate| *gate != Gate::Budget);
        let is_personal = plan.whom == Whom::Asker;
        let platform = self.platforms.for_workspace(&plan.conversation.workspace)?;
        let may_whisper = is_personal && platform.can_whisper();
        let only_for = match gate {
            Some(Gate::Muted) if may_whisper => Some(plan.asker.clone()),
            Some(gate) => return Ok(StepResult::Silent(self.close_by_gate(gate, gates.limit))),
            // It is of use to nobody else.
            None if plan.kind == PlanKind::CatchUp && may_whisper => Some(plan.asker.clone()),
            None => None,
        };
        let asker = self.name_of_asker(plan, &context).await?;
        let worded = match plan.kind {
            PlanKind::Post | PlanKind::Promise => {
                self.word_planned(claim, (plan, &asker), &context, superseded, trace).await?
            }
            PlanKind::CatchUp => {
                let reader = Reader {
                    user: &plan.asker,
                    conversation: &plan.conversation,
                    visibility: context.visibility,
                    zone: plan.zone.clone(),
                };
                let (answers, now) = (&self.command_answers, self.now());
                // Who only reads is not told the same again.
                let since = answers.away_since(&reader, now).await?;
                let since = since.max(plan.earliest_before().unwrap_or(since));
                let language = self.persona.language;
                let missed = answers.missed_since(&reader, since, now, language).await?;
                let text = match missed {
                    Some(text) => text,
                    None if plan.recurrence.is_none() => reader.nothing(since, now, language),
                    None => {
                        let why = texts::plans::missed_nothing(language);
                        let closing = DecisionClosing::new(DecisionResult::ChoseSilence, why);
                        return Ok(StepResult::Silent(closing));
                    }
                };
                let mut known_urls = self.known_urls(&context);
                // Its only links are those to the messages: what it quotes has none.
                known_urls.add(&text);
                Some((text, known_urls, Lineage::default()))
            }
            PlanKind::Reminder
            | PlanKind::CheckBack
            | PlanKind::FollowUp
            | PlanKind::Unanswered
            | PlanKind::FirstWord => None,
        };
        let (text, known_urls, lineage) = worded.unwrap_or_else(|| {
            let known_urls = self.known_urls(&context);
            (self.planned_text(plan, &asker), known_urls, Lineage::default())
        });
        let posts = to_posts(&text, &known_urls, platform.max_post_length());
        let why = match plan.kind {
            PlanKind::Promise => texts::plans::promised(self.persona.language, Name(&asker)),
            _ => texts::plans::asked_by(self.persona.language, Name(&asker)),
        };
        let metadata = DraftMetadata {
            lineage: lineage_with(plan, lineage),
            seen_revision: context.revision.into(),
            only_for,
            is_planned: true,
            ..DraftMetadata::new(DecisionResult::Spoke, why)
        };
        let draft = Draft { content: DraftContent::Text(posts), metadata };
        Ok(StepResult::Drafted { draft, due: self.now() })
    }

    /// Why the plan is not wanted any more, if so.
    async fn why_unwanted(
        &self,
        plan: &Plan,
        context: &Context,
    ) -> Result<Option<&'static str>, StoreError> {
        let language = self.persona.language;
        if let Some(message) = &plan.message {
            let (workspace, channel) = (&plan.conversation.workspace, &plan.conversation.channel);
            let asked = self.command_answers.archive.message(workspace, channel, message).await?;
            // A message past its retention is gone, and the plan stays. As a command, it is withheld anyway.
            if asked.is_some_and(|asked| asked.is_deleted) {
                return Ok(Some(texts::replies::message_deleted(language)));
            }
        }
        if let (PlanKind::FollowUp, Whom::Named(name)) = (plan.kind, &plan.whom)
            && context.target_messages().iter().any(|message| {
                message.at > plan.made && is_name(context.display_name(&message.author.id), name)
            })
        {
            return Ok(Some(texts::plans::has_answered(language)));
        }
        Ok(None)
    }

    /// The asker's name. Their message is a command, and so not part of the context.
    async fn name_of_asker(&self, plan: &Plan, context: &Context) -> Result<String, StoreError> {
        let asker = [plan.asker.clone()].into_iter().collect();
        let workspace = &plan.conversation.workspace;
        let known = self.command_answers.archive.some_users(workspace, &asker).await?;
        let name = known.first().map_or(context.display_name(&plan.asker), |user| &*user.name);
        Ok(to_single_line(name))
    }

    /// Has a model word a post, if a model replies here.
    async fn word_planned(
        &self,
        claim: &Claim,
        (plan, asker): (&Plan, &str),
        context: &Context,
        superseded: &CancellationToken,
        trace: &mut StepTrace<'_>,
    ) -> Result<Option<(String, KnownUrls, Lineage)>, StepError> {
        let what = to_single_line(&plan.what);
        let language = self.persona.language;
        let reason = match plan.kind {
            PlanKind::Promise => texts::plans::to_keep_now(language, Name(asker), &what),
            _ => texts::plans::to_post_now(language, Name(asker), &what),
        };
        let intent = Intent { reason, ..Intent::default() };
        let context =
            Arc::new(Context { intent: Some(intent), owed: Vec::new(), ..context.clone() });
        let owner = self.call_owner(claim, &context);
        let mut calls = Calls::new(owner, superseded, trace.attempts);
        match self.generate(&context, &EndedCalls::default(), &mut calls).await? {
            Generated::Reply(reply) => {
                trace.plans = reply.plans;
                Ok(Some((reply.text, reply.known_urls, reply.lineage)))
            }
            Generated::Quiet { .. } | Generated::Nothing(_) => Ok(None),
        }
    }

    fn planned_text(&self, plan: &Plan, asker: &str) -> String {
        let language = self.persona.language;
        let what = texts::plans::what_or_none(language, &plan.what);
        let text = match (&plan.whom, plan.kind) {
            (Whom::Asker, PlanKind::Promise) => texts::plans::promise(language, asker, what),
            (Whom::Asker, PlanKind::CheckBack) => texts::plans::check_back(language, asker, what),
            (Whom::Asker, _) => texts::plans::reminder(language, asker, what),
            (Whom::Named(name), PlanKind::FollowUp) => {
                texts::plans::follow_up(language, name, Name(asker), what)
            }
            (Whom::Named(name), _) => {
                texts::plans::reminder_from(language, name, Name(asker), what)
            }
            (Whom::Channel, _) => texts::plans::reminder_to_all(language, Name(asker), what),
        };
        let (due, now) = (plan.due_in_zone(), self.now().to_zoned(plan.zone.clone()));
        let due = texts::times::moment(language, &due, &now);
        match self.now().duration_since(plan.due) > LATE {
            true => format!("{text} {}", texts::plans::late(language, &due)),
            false => text,
        }
    }
}

/// The sources of a planned text: those of its words, and the message that asked for it.
pub(super) fn lineage_with(plan: &Plan, mut lineage: Lineage) -> Lineage {
    let message = plan.message.clone();
    let asked = message.map(|id| MessageRef(plan.conversation.channel.clone(), id));
    lineage.messages.extend(asked);
    lineage
}

fn is_name(display_name: &str, name: &str) -> bool {
    display_name.to_lowercase() == name.trim_start_matches('@').to_lowercase()
}
