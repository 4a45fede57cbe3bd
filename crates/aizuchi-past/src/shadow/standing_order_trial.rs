//! Tries a standing order on past moments: what the judge would have decided with it in its prompt. If the new decision
//! differs from the old one, the judge is asked once more without the order, because a decision that differs in any
//! case is not due to the order.

use std::cmp::Reverse;
use std::sync::Arc;

use aizuchi_agent::learner::welcome_labels;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::chat::Channel;
use aizuchi_model::context::Context;
use aizuchi_model::decision::tolerance::{self, ChannelLabels, Label};
use aizuchi_model::decision::verdict::Verdict;
use aizuchi_model::decision::{Decision, DecisionResult, Judgment};
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::rules::ChannelRules;
use aizuchi_model::standing_order::{
    StandingOrder, StandingOrderEffect, StandingOrderScope, StandingOrderText,
};
use aizuchi_store::query::DecisionQuery;
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::answer::{MindAnswer, ask_judge};
use crate::past_moment::PastMoment;
use crate::replay::judge::model::{CallCounts, ModelJudge, ShadowModel};
use crate::shadow::moments::{MomentError, MomentSource, TriedMoment};
use crate::shadow::prompts::PastPrompts;

/// The number of days from which moments are taken.
pub const DAYS: i64 = 7;
/// The maximum number of moments at which the persona spoke, and of those at which it did not. The newest are tried.
const MOST_OF_EACH: usize = 12;
/// The maximum number of calls in a trial.
pub const MOST_CALLS: u64 = 4 * MOST_OF_EACH as u64;
/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;

/// A standing order that is not in force yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedStandingOrder {
    /// The number of the order that it would change, or its own number as a draft.
    pub number: Option<i64>,
    pub scope: StandingOrderScope,
    pub text: StandingOrderText,
}

/// A moment at which a judge was asked, and its prompts with and without the order.
pub struct StandingOrderMoment {
    pub moment: PastMoment,
    /// Whether the persona spoke at the time, or asked for permission to speak.
    pub spoke: bool,
    with: Prompt,
    without: Prompt,
    context: Context,
    prompts: Arc<PastPrompts>,
    rules: ChannelRules,
}

/// Moments, and the judge that is asked about them.
pub struct StandingOrderTrialRun {
    pub moments: Vec<StandingOrderMoment>,
    pub judge: ShadowModel,
    pub secrets: SecretScanner,
}

/// The effect of the order on a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum MomentEffect {
    Unchanged,
    /// The persona would have spoken where it did not, or the other way round, for this reason.
    Changed(Judgment),
    /// The decision differs today without the order, too, or the answer is not a judgment.
    Unclear,
    /// The judge was not asked, or did not answer.
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StandingOrderTrialResult {
    /// The effect on each moment.
    pub effects: Vec<MomentEffect>,
    /// The calls that were made, or the maximum number that would be made.
    pub counts: CallCounts,
}

impl From<&StandingOrder> for TriedStandingOrder {
    fn from(order: &StandingOrder) -> Self {
        Self { number: Some(order.number), scope: order.scope.clone(), text: order.text.clone() }
    }
}

/// Reads the newest moments of a channel to which the order would have applied: first those at which the persona spoke,
/// then those at which it did not, each newest first.
pub async fn read_moments(
    source: &mut MomentSource<'_>,
    channel: &Channel,
    order: &TriedStandingOrder,
    now: Timestamp,
) -> Result<Vec<StandingOrderMoment>, MomentError> {
    let query = DecisionQuery::Since {
        workspace: channel.workspace.clone(),
        channel: channel.id.clone(),
        since: now - SignedDuration::from_hours(24 * DAYS),
    };
    let mut decisions = source.archive().decisions(query).await?;
    decisions.retain(|decision| order.scope.includes(&decision.conversation));
    decisions.sort_by_key(|decision| Reverse(decision.id));
    let mut labels = match source.rulebook.has_tolerance() {
        true => welcome_labels(source.archive(), &channel.workspace, now).await?,
        false => ChannelLabels::default(),
    };
    let labels = labels.remove(&channel.id).unwrap_or_default();
    let (mut moments, mut left) = (Vec::new(), [MOST_OF_EACH; 2]);
    for decision in decisions {
        let Some(spoke) = spoke_unasked(&decision) else { continue };
        let left = &mut left[usize::from(spoke)];
        if *left == 0 {
            continue;
        }
        let Some(tried) = source.read(channel, decision).await? else { continue };
        moments.push(StandingOrderMoment::new(tried, spoke, order, &labels));
        *left -= 1;
    }
    // The time may not suffice for all moments, and an order is given about posts that were unasked.
    moments.sort_by_key(|moment| !moment.spoke);
    Ok(moments)
}

/// Whether the persona spoke after a judge's verdict, or was silent because of one. `None` for any other decision.
fn spoke_unasked(decision: &Decision) -> Option<bool> {
    let is_judged =
        decision.closed.is_some() && !decision.is_addressed && decision.judgment.is_some();
    match decision.ended.filter(|_| is_judged)? {
        DecisionResult::Spoke | DecisionResult::Proposed => Some(true),
        DecisionResult::ChoseSilence => Some(false),
        DecisionResult::Reacted
        | DecisionResult::Dropped
        | DecisionResult::Muted
        | DecisionResult::OverBudget
        | DecisionResult::Failed => None,
    }
}

impl StandingOrderMoment {
    fn new(tried: TriedMoment, spoke: bool, order: &TriedStandingOrder, labels: &[Label]) -> Self {
        let TriedMoment { moment, context, mut prompts } = tried;
        let prompts = prompts.swap_remove(0);
        let PastMoment { decision, at, .. } = &moment;
        let mut rules = prompts.rules(&context);
        if let Some(share) = rules.tolerance {
            rules.min_confidence = tolerance::threshold(labels, rules.min_confidence, share);
        }
        let with = with_order(context.clone(), order, *at);
        Self {
            with: prompts.judge(with, decision, *at),
            without: prompts.judge(context.clone(), decision, *at),
            context,
            prompts,
            rules,
            spoke,
            moment,
        }
    }

    async fn try_on(&self, judge: &ModelJudge, secrets: &SecretScanner) -> MomentEffect {
        let judgment = match ask_judge(judge, &self.with, secrets).await {
            MindAnswer::Known(judgment) => judgment,
            MindAnswer::Unreadable(_) => return MomentEffect::Unclear,
            MindAnswer::Unknown(_) => {
                // Whether the other call is made depends on the answer, so the estimate includes it as a maximum.
                if judge.is_pricing() {
                    ask_judge(judge, &self.without, secrets).await;
                }
                return MomentEffect::Unknown;
            }
        };
        if self.would_speak(&judgment) == self.spoke {
            return MomentEffect::Unchanged;
        }
        match ask_judge(judge, &self.without, secrets).await {
            MindAnswer::Known(usual) if self.would_speak(&usual) == self.spoke => {
                MomentEffect::Changed(judgment)
            }
            MindAnswer::Known(_) | MindAnswer::Unreadable(_) => MomentEffect::Unclear,
            MindAnswer::Unknown(_) => MomentEffect::Unknown,
        }
    }

    fn would_speak(&self, judgment: &Judgment) -> bool {
        let moment = (&self.context, &self.moment.decision);
        self.prompts.verdict(moment, judgment, &self.rules) == Verdict::Join
    }
}

/// Returns the context as if the order had been in force.
fn with_order(context: Context, order: &TriedStandingOrder, at: Timestamp) -> Context {
    let mut orders = context.standing_orders.clone();
    let next = orders.iter().map(|known| known.number + 1).max().unwrap_or(1);
    orders.retain(|known| Some(known.number) != order.number);
    orders.push(StandingOrder {
        number: order.number.unwrap_or(next),
        version: 1,
        scope: order.scope.clone(),
        text: order.text.clone(),
        visibility: context.visibility,
        by: "".into(),
        given: at,
        ended: None,
        is_draft: false,
    });
    orders.sort_by_key(|order| order.number);
    Context { standing_orders: orders, ..context }
}

impl StandingOrderTrialRun {
    /// Asks about the moments in order, or only estimates the maximum cost. No call starts later than `longest` after
    /// the first one.
    pub async fn run(
        &self,
        stop: &CancellationToken,
        longest: SignedDuration,
    ) -> StandingOrderTrialResult {
        let judge = self.judge.judge().until(stop.clone(), longest);
        let mut effects = Vec::with_capacity(self.moments.len());
        for moments in self.moments.chunks(MAX_CONCURRENT_CALLS) {
            let mut calls = Vec::with_capacity(moments.len());
            for moment in moments {
                calls.push(moment.try_on(&judge, &self.secrets));
            }
            effects.extend(join_all(calls).await);
        }
        StandingOrderTrialResult { effects, counts: judge.counts() }
    }

    /// Sums up the effect of the order in figures.
    pub fn effect(&self, result: &StandingOrderTrialResult) -> StandingOrderEffect {
        effect(self.moments.iter().map(|moment| moment.spoke).zip(&result.effects))
    }
}

/// Sums up the effects on moments, each with whether the persona spoke. A moment that was not tried says nothing about
/// the order.
fn effect<'a>(found: impl Iterator<Item = (bool, &'a MomentEffect)>) -> StandingOrderEffect {
    let mut effect = StandingOrderEffect { days: DAYS, ..StandingOrderEffect::default() };
    for (spoke, found) in found {
        let (tried, untried, changed) = match spoke {
            true => (&mut effect.spoke, &mut effect.untried_spoke, &mut effect.newly_silent),
            false => (&mut effect.silent, &mut effect.untried_silent, &mut effect.newly_speaking),
        };
        match found {
            MomentEffect::Unchanged => *tried += 1,
            MomentEffect::Changed(_) => {
                *tried += 1;
                *changed += 1;
            }
            MomentEffect::Unclear => {
                *tried += 1;
                effect.unclear += 1;
            }
            MomentEffect::Unknown => *untried += 1,
        }
    }
    effect
}

impl StandingOrderTrialResult {
    /// Whether the judge answered for no moment.
    pub fn is_unknown(&self) -> bool {
        self.effects.iter().all(|effect| *effect == MomentEffect::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
    use aizuchi_model::context::channel_messages::ChannelMessages;

    use super::*;

    /// With a slow model, most moments are not tried: they are neither a silence kept nor one broken.
    #[test]
    fn what_was_not_tried_is_in_no_figure() {
        let changed = MomentEffect::Changed(Judgment::default());
        let (same, unclear, unknown) =
            (MomentEffect::Unchanged, MomentEffect::Unclear, MomentEffect::Unknown);
        let spoke = [&same, &changed, &unclear, &unknown].map(|effect| (true, effect));
        let silent = [&same, &unknown, &unknown].map(|effect| (false, effect));
        let expected = StandingOrderEffect {
            days: DAYS,
            spoke: 3,
            silent: 1,
            untried_spoke: 1,
            untried_silent: 2,
            newly_silent: 1,
            newly_speaking: 0,
            unclear: 1,
        };
        assert_eq!(effect(spoke.into_iter().chain(silent)), expected);
    }

    #[test]
    fn an_order_takes_its_place_among_those_of_then() {
        let channel = ChannelId::new("C1");
        let conversation = ConversationId {
            workspace: WorkspaceId::new("slack:T1"),
            channel: channel.clone(),
            thread: None,
        };
        let history = ChannelMessages::new(channel, "tea".into());
        let empty = Context::new(conversation, history);
        let tried = |number, text: &str| TriedStandingOrder {
            number,
            scope: StandingOrderScope::Workspace,
            text: StandingOrderText::parse(text).unwrap(),
        };
        let now = Timestamp::UNIX_EPOCH;
        let told = |context: &Context| -> Vec<(i64, String)> {
            let orders = context.standing_orders.iter();
            orders.map(|order| (order.number, order.text.as_str().to_owned())).collect()
        };
        let one = with_order(empty, &tried(Some(4), "be brief"), now);
        assert_eq!(told(&one), [(4, "be brief".to_owned())]);
        let two = with_order(one, &tried(None, "be kind"), now);
        assert_eq!(told(&two), [(4, "be brief".to_owned()), (5, "be kind".to_owned())]);
        let changed = with_order(two, &tried(Some(4), "be long"), now);
        assert_eq!(told(&changed), [(4, "be long".to_owned()), (5, "be kind".to_owned())]);
        assert!(changed.standing_orders.iter().all(StandingOrder::is_in_force));
        assert_eq!(changed.standing_orders[0].visibility, Visibility::Private);
    }
}
