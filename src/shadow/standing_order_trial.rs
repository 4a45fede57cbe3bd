//! A standing order on moments that are past: what the judge would have decided with it in its prompt. Where it decides
//! otherwise than it did, it is asked once more without the order: what it would decide otherwise in any case, the order
//! has not changed.

use std::cmp::Reverse;
use std::sync::Arc;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::past_moment::PastMoment;
use crate::replay::judge::model::{CallCounts, ModelJudge};
use crate::shadow::prompts::{PastPrompts, fitted, language_of};
use crate::what_if::ShadowModel;
use aizuchi_core::agent::judge::parse_judgment;
use aizuchi_core::chat::Channel;
use aizuchi_core::context::Context;
use aizuchi_core::decision::tolerance::{self, Label};
use aizuchi_core::decision::verdict::Verdict;
use aizuchi_core::decision::{Decision, DecisionResult, Judgment};
use aizuchi_core::learner::welcome_labels;
use aizuchi_core::outgoing;
use aizuchi_core::outgoing::secrets::SecretScanner;
use aizuchi_core::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::Prompt;
use aizuchi_core::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_core::standing_order::{
    StandingOrder, StandingOrderEffect, StandingOrderScope, StandingOrderText,
};
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::query::DecisionQuery;
use aizuchi_core::store::{Store, StoreError};

/// How many days back moments are looked for.
pub const DAYS: i64 = 7;
/// How many moments are tried at which it spoke, and how many at which it did not: the newest.
const MOST_OF_EACH: usize = 12;
/// No trial makes more calls.
pub const MOST_CALLS: u64 = 4 * MOST_OF_EACH as u64;
/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;

/// An order that nobody follows yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedStandingOrder {
    /// The order that it would change, or its own number as a draft.
    pub number: Option<i64>,
    pub scope: StandingOrderScope,
    pub text: StandingOrderText,
}

/// Where the moments are read.
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
    /// Whether it spoke then, or asked whether it may.
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

/// What the order makes of a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum MomentEffect {
    Unchanged,
    /// It would have spoken where it did not, or the other way round, for this reason.
    Changed(Judgment),
    /// It decides otherwise today without the order, too, or its answer is no judgment.
    Unclear,
    /// It was not asked, or did not answer.
    Unknown,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingOrderTrialResult {
    /// For each moment.
    pub effects: Vec<MomentEffect>,
    /// What was asked, or would be at most.
    pub counts: CallCounts,
}

/// What the judge says to a prompt.
enum Answer {
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
    /// The newest moments of a channel that the order would have held for: those at which it spoke, and then those at which
    /// it did not, each newest first. Without prompts there are none: the inner error says why.
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
        // The time may not do for all, and what it said unasked is what an order is given about.
        moments.sort_by_key(|moment| !moment.spoke);
        Ok(Ok(moments))
    }

    /// How welcome words were in the channel, if that counts anywhere.
    async fn labels(&self, channel: &Channel, now: Timestamp) -> Result<Vec<Label>, StoreError> {
        if !self.rulebook.has_tolerance() {
            return Ok(Vec::new());
        }
        let mut labels = welcome_labels(self.archive, &channel.workspace, now).await?;
        Ok(labels.remove(&channel.id).unwrap_or_default())
    }

    /// `None` if what it was about is not there any more.
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

/// Whether it spoke after a judge's verdict, or was silent because of one. `None`: neither.
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
                // What counts is whether it would speak where it may.
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
            Answer::Judged(judgment) => judgment,
            Answer::Unreadable => return MomentEffect::Unclear,
            Answer::Unknown if judge.is_pricing() => {
                // Whether this is asked depends on the answer, so it counts for the most that it may cost.
                answer(judge, &self.without).await;
                return MomentEffect::Unknown;
            }
            Answer::Unknown => return MomentEffect::Unknown,
        };
        if self.would_speak(&judgment) == self.spoke {
            return MomentEffect::Unchanged;
        }
        match answer(judge, &self.without).await {
            Answer::Judged(usual) if self.would_speak(&usual) == self.spoke => {
                MomentEffect::Changed(self.screened(judgment, secrets))
            }
            Answer::Judged(_) | Answer::Unreadable => MomentEffect::Unclear,
            Answer::Unknown => MomentEffect::Unknown,
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

async fn answer(judge: &ModelJudge, prompt: &Prompt) -> Answer {
    match judge.answer(prompt).await {
        Ok(response) => match parse_judgment(&response.text, prompt) {
            Ok(judgment) => Answer::Judged(judgment),
            Err(_) => Answer::Unreadable,
        },
        Err(_) => Answer::Unknown,
    }
}

/// The context as it would be if the order had been in force.
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
    /// Asks in the order of the moments, or only counts what that would cost at most. No call begins `longest` after the
    /// first one.
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

    /// What the order would have changed, in figures.
    pub fn effect(&self, result: &StandingOrderTrialResult) -> StandingOrderEffect {
        effect(self.moments.iter().map(|moment| moment.spoke).zip(&result.effects))
    }
}

/// Of moments, each with whether it spoke. A moment that was not tried says nothing about the order.
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
    /// Whether nobody answered anything.
    pub fn is_unknown(&self) -> bool {
        self.effects.iter().all(|effect| *effect == MomentEffect::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_core::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
    use aizuchi_core::context::channel_messages::ChannelMessages;

    /// At a slow model, most is not asked: that is neither a silence kept nor one broken.
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
