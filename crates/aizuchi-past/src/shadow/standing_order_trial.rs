//! Tries a standing order on past moments: what the judge would have decided with it in its prompt. If the new decision
//! differs from the old one, the judge is asked once more without the order, because a decision that differs in any
//! case is not due to the order.

use std::cmp::Reverse;
use std::sync::Arc;

use aizuchi_agent::agent::judge::parse::parse_judgment;
use aizuchi_agent::learner::welcome_labels;
use aizuchi_config::Config;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::chat::Channel;
use aizuchi_model::context::Context;
use aizuchi_model::decision::tolerance::{self, Label};
use aizuchi_model::decision::verdict::Verdict;
use aizuchi_model::decision::{Decision, DecisionResult, Judgment};
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_model::standing_order::{
    StandingOrder, StandingOrderEffect, StandingOrderScope, StandingOrderText,
};
use aizuchi_store::archive::Archive;
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::{Store, StoreError};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::past_moment::PastMoment;
use crate::replay::judge::model::{CallCounts, ModelJudge};
use crate::shadow::prompts::{PastPrompts, fitted, language_of};
use crate::what_if::ShadowModel;

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

/// The sources from which moments are read.
pub struct MomentSource<'a> {
    pub archive: &'a dyn Archive,
    pub store: &'a dyn Store,
    pub config: &'a Config,
    /// The rules in force.
    pub rulebook: Arc<Rulebook>,
}

/// A moment at which a judge was asked, and its prompts with and without the order.
pub struct StandingOrderMoment {
    pub moment: PastMoment,
    /// Whether the persona spoke at the time, or asked for permission to speak.
    pub spoke: bool,
    with: Prompt,
    without: Prompt,
    mode: Mode,
    rules: ChannelRules,
    language: Language,
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

/// The judge's answer to a prompt.
enum JudgeAnswer {
    Judged(Judgment),
    Unreadable,
    Unknown,
}

impl From<&StandingOrder> for TriedStandingOrder {
    fn from(order: &StandingOrder) -> Self {
        Self { number: Some(order.number), scope: order.scope.clone(), text: order.text.clone() }
    }
}

impl MomentSource<'_> {
    /// Reads the newest moments of a channel to which the order would have applied: first those at which the persona
    /// spoke, then those at which it did not, each newest first. If no prompts can be built, the inner error says why.
    pub async fn read(
        &self,
        channel: &Channel,
        order: &TriedStandingOrder,
        now: Timestamp,
    ) -> Result<anyhow::Result<Vec<StandingOrderMoment>>, StoreError> {
        let query = DecisionQuery::Since {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            since: now - SignedDuration::from_hours(24 * DAYS),
        };
        let mut decisions = self.archive.decisions(query).await?;
        decisions.retain(|decision| order.scope.includes(&decision.conversation));
        decisions.sort_by_key(|decision| Reverse(decision.id));
        let (mut moments, mut loaded) = (Vec::new(), Vec::new());
        let labels = self.labels(channel, now).await?;
        let mut left = [MOST_OF_EACH; 2];
        for decision in decisions {
            let Some(spoke) = spoke_unasked(&decision) else { continue };
            let left = &mut left[usize::from(spoke)];
            if *left == 0 {
                continue;
            }
            let Some((moment, context)) = self.context(channel, decision).await? else { continue };
            let conversation = &moment.decision.conversation;
            let language =
                language_of(self.archive, (self.config, &*self.rulebook), conversation).await?;
            let prompts = match self.prompts(language, &mut loaded) {
                Ok(prompts) => prompts,
                Err(error) => return Ok(Err(error)),
            };
            moments.push(StandingOrderMoment::new(
                (moment, spoke),
                context,
                order,
                (&*prompts, &labels[..]),
            ));
            *left -= 1;
        }
        // The time may not suffice for all moments, and an order is given about posts that were unasked.
        moments.sort_by_key(|moment| !moment.spoke);
        Ok(Ok(moments))
    }

    /// Returns the welcome labels of the channel, if a rule uses them.
    async fn labels(&self, channel: &Channel, now: Timestamp) -> Result<Vec<Label>, StoreError> {
        if !self.rulebook.has_tolerance() {
            return Ok(Vec::new());
        }
        let mut labels = welcome_labels(self.archive, &channel.workspace, now).await?;
        Ok(labels.remove(&channel.id).unwrap_or_default())
    }

    /// Reads the moment and the context of a decision. `None` if the messages of the decision are gone.
    async fn context(
        &self,
        channel: &Channel,
        decision: Decision,
    ) -> Result<Option<(PastMoment, Context)>, StoreError> {
        let window = self.config.limits().channel_messages;
        let moment = PastMoment::read(self.archive, self.store, decision, window).await?;
        let Some(moment) = moment.filter(|moment| moment.covered().next().is_some()) else {
            return Ok(None);
        };
        let context = moment.context(self.archive, channel).await?;
        Ok(Some((moment, context)))
    }

    fn prompts(
        &self,
        language: Language,
        loaded: &mut Vec<(Language, Arc<PastPrompts>)>,
    ) -> anyhow::Result<Arc<PastPrompts>> {
        if let Some((_, prompts)) = loaded.iter().find(|(known, _)| *known == language) {
            return Ok(prompts.clone());
        }
        let prompts = Arc::new(PastPrompts::new(self.config, self.rulebook.clone(), language)?);
        loaded.push((language, prompts.clone()));
        Ok(prompts)
    }
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
    fn new(
        (moment, spoke): (PastMoment, bool),
        context: Context,
        order: &TriedStandingOrder,
        (prompts, labels): (&PastPrompts, &[Label]),
    ) -> Self {
        let PastMoment { decision, at, .. } = &moment;
        let (mode, rules) = (prompts.mode(&context, decision), prompts.rules(&context));
        let context = fitted(context, mode, &rules);
        let min_confidence = match rules.tolerance {
            Some(share) => tolerance::threshold(labels, rules.min_confidence, share),
            None => rules.min_confidence,
        };
        let tried = Arc::new(with_order(context.clone(), order, *at));
        Self {
            with: prompts.judge(&tried, decision, *at),
            without: prompts.judge(&Arc::new(context), decision, *at),
            mode: match mode {
                Mode::Facilitator => Mode::Facilitator,
                // The comparison is about whether the persona would speak where it may.
                Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                    Mode::Companion
                }
            },
            rules: ChannelRules { min_confidence, ..rules },
            language: prompts.language(),
            spoke,
            moment,
        }
    }

    async fn try_on(&self, judge: &ModelJudge, secrets: &SecretScanner) -> MomentEffect {
        let judgment = match answer(judge, &self.with).await {
            JudgeAnswer::Judged(judgment) => judgment,
            JudgeAnswer::Unreadable => return MomentEffect::Unclear,
            JudgeAnswer::Unknown if judge.is_pricing() => {
                // Whether this call is made depends on the answer, so the estimate includes it as a maximum.
                answer(judge, &self.without).await;
                return MomentEffect::Unknown;
            }
            JudgeAnswer::Unknown => return MomentEffect::Unknown,
        };
        if self.would_speak(&judgment) == self.spoke {
            return MomentEffect::Unchanged;
        }
        match answer(judge, &self.without).await {
            JudgeAnswer::Judged(usual) if self.would_speak(&usual) == self.spoke => {
                MomentEffect::Changed(self.screened(judgment, secrets))
            }
            JudgeAnswer::Judged(_) | JudgeAnswer::Unreadable => MomentEffect::Unclear,
            JudgeAnswer::Unknown => MomentEffect::Unknown,
        }
    }

    fn would_speak(&self, judgment: &Judgment) -> bool {
        let state = judgment.conversation_state.unwrap_or_default();
        judgment.verdict(state, self.mode, &self.rules) == Verdict::Join
    }

    fn screened(&self, judgment: Judgment, secrets: &SecretScanner) -> Judgment {
        let known = KnownUrls::default();
        let screened = outgoing::screen(
            &judgment.reason,
            &known,
            CodeBlocks::LoseUrls,
            secrets,
            self.language,
        );
        Judgment { reason: screened, ..judgment }
    }
}

async fn answer(judge: &ModelJudge, prompt: &Prompt) -> JudgeAnswer {
    match judge.answer(prompt).await {
        Ok(response) => match parse_judgment(&response.text, prompt) {
            Ok(judgment) => JudgeAnswer::Judged(judgment),
            Err(_) => JudgeAnswer::Unreadable,
        },
        Err(_) => JudgeAnswer::Unknown,
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
