//! Makes the calls that users have allowed, each at most once, and ensures that the users who asked are told the
//! outcome. A call is claimed in the store before it is made: after a crash in between it is unknown whether it was
//! made, and it is not made again.

use std::pin::pin;
use std::sync::Arc;

use aizuchi_model::decision::consent::{
    CallAnswer, Consent, ConsentState, ConsentStep, LapseReason,
};
use aizuchi_model::memory::Lineage;
use aizuchi_model::rules::place::Place;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, info, info_span, warn};

use crate::external_tools::{
    ExternalAnswer, ExternalTool, ExternalToolError, ExternalTools, ReplyPlace,
};
use crate::inbox::Inbox;

/// How much longer than a tool's own limit to wait for a call before its outcome counts as unknown.
const MARGIN: SignedDuration = SignedDuration::from_secs(15);
/// How long changes are collected before they are looked at.
const PAUSE: SignedDuration = SignedDuration::from_millis(300);
/// The interval between looks without a change, since a deadline may have passed or a server may be reachable again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// The time limit for calls in progress when the process ends.
const STOP_LIMIT: SignedDuration = SignedDuration::from_secs(5);
/// The delay before storing an answer is retried, if the store is busy.
const RETRY_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

pub struct AllowedCalls {
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    /// The operator's tools.
    pub tools: Option<Arc<dyn ExternalTools>>,
}

/// A claimed call, which no other process makes.
pub struct ClaimedCall {
    consent: Consent,
    tools: Arc<dyn ExternalTools>,
    /// When the call will have ended.
    until: Timestamp,
}

/// Waits for `other` while calls continue. Calls must be polled in the meantime, since a call may hold what `other`
/// waits for: the inbox takes one order at a time.
async fn while_calling<T>(
    calls: &mut FuturesUnordered<impl Future<Output = ()>>,
    other: impl Future<Output = T>,
) -> T {
    let mut other = pin!(other);
    loop {
        tokio::select! {
            done = &mut other => return done,
            Some(()) = calls.next() => {}
        }
    }
}

impl AllowedCalls {
    /// Makes calls until `shutdown`.
    pub fn run(&self, shutdown: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
            let clock = &self.inbox.clock;
            let mut revisions = self.inbox.store.revisions();
            let mut calls = FuturesUnordered::new();
            loop {
                // Before the look: a change during it must cause another one.
                revisions.mark_unchanged();
                for call in while_calling(&mut calls, self.look()).await {
                    calls.push(self.make(call));
                }
                let check_at = clock.now() + CHECK_INTERVAL;
                tokio::select! {
                    () = shutdown.cancelled() => break,
                    Some(()) = calls.next() => {}
                    changed = revisions.changed() => match changed {
                        Ok(()) => {
                            while_calling(&mut calls, clock.sleep_until(clock.now() + PAUSE)).await;
                        }
                        Err(_) => break,
                    },
                    () = clock.sleep_until(check_at) => {}
                }
            }
            // A call without an answer by then is reported as unknown after the next start.
            let _ =
                clock.timeout(STOP_LIMIT, async { while calls.next().await.is_some() {} }).await;
            Ok(())
        })
    }

    /// Advances each call as far as possible now. Returns the calls to make.
    pub async fn look(&self) -> Vec<ClaimedCall> {
        let unsettled = match self.archive.unsettled_consents().await {
            Ok(unsettled) => unsettled,
            Err(error) => {
                warn!(%error, "the calls that wait to be allowed could not be read");
                return Vec::new();
            }
        };
        let mut claimed = Vec::new();
        for consent in unsettled {
            let span = call_span(&consent);
            match self.look_at(consent).instrument(span.clone()).await {
                Ok(call) => claimed.extend(call),
                // Another process was faster.
                Err(StoreError::Refused(_)) => {}
                Err(error) => span.in_scope(|| warn!(%error, "a call could not be looked after")),
            }
        }
        claimed
    }

    /// Makes a claimed call, and stores its outcome.
    pub async fn make(&self, call: ClaimedCall) {
        let span = call_span(&call.consent);
        self.make_in_span(call).instrument(span).await;
    }

    async fn make_in_span(&self, call: ClaimedCall) {
        let ClaimedCall { consent, tools, until } = call;
        let clock = &self.inbox.clock;
        let left = (until - MARGIN).duration_since(clock.now());
        let end = match arguments(&consent) {
            // Not if the process was suspended for so long that the outcome counts as unknown.
            Some(arguments) if left.is_positive() => {
                let called = tools.call(&consent.tool, arguments);
                match clock.timeout(left, called).await {
                    Ok(Ok(answer)) => ConsentStep::End(Some(to_kept(answer))),
                    // Its server has disappeared since the call was claimed.
                    Ok(Err(ExternalToolError::NotSent)) => ConsentStep::NotMade,
                    Ok(Err(ExternalToolError::TimedOut | ExternalToolError::Unavailable))
                    | Err(_) => ConsentStep::End(None),
                }
            }
            Some(_) | None => ConsentStep::End(None),
        };
        let has_answer = matches!(end, ConsentStep::End(Some(_)));
        info!(has_answer, "made an allowed call");
        while let Err(error) = self.step(&consent, end.clone()).await {
            let is_busy = matches!(error, StoreError::Busy(_));
            if !is_busy || clock.now() >= until {
                warn!(%error, "what came of an allowed call is not stored");
                return;
            }
            clock.sleep_until(clock.now() + RETRY_INTERVAL).await;
        }
    }

    async fn look_at(&self, consent: Consent) -> Result<Option<ClaimedCall>, StoreError> {
        let now = self.inbox.clock.now();
        match consent.state {
            ConsentState::Drafted => {
                if consent.clone().at(now).state == ConsentState::Lapsed {
                    let lapse = ConsentStep::Lapse(LapseReason::Unwanted);
                    self.step(&consent, lapse).await?;
                }
                Ok(None)
            }
            ConsentState::Open | ConsentState::Allowed => self.look_at_waiting(consent, now).await,
            ConsentState::Calling => {
                if consent.until.is_none_or(|until| until <= now) {
                    self.step(&consent, ConsentStep::End(None)).await?;
                }
                Ok(None)
            }
            ConsentState::Answered
            | ConsentState::Unknown
            | ConsentState::Refused
            | ConsentState::Lapsed => {
                self.step(&consent, ConsentStep::Owe).await?;
                Ok(None)
            }
        }
    }

    /// Claims a call that is allowed and can be made. A call that can no longer be made lapses.
    async fn look_at_waiting(
        &self,
        consent: Consent,
        now: Timestamp,
    ) -> Result<Option<ClaimedCall>, StoreError> {
        if let Some(reason) = self.lapse_reason(&consent, now).await? {
            self.step(&consent, ConsentStep::Lapse(reason)).await?;
            return Ok(None);
        }
        let (Some(tools), ConsentState::Allowed) = (&self.tools, consent.state) else {
            return Ok(None);
        };
        // An unreachable server may come back.
        let Some(tool) = self.offered(&**tools, &consent) else { return Ok(None) };
        let until = now + tool.time_limit + MARGIN;
        self.step(&consent, ConsentStep::Begin { until }).await?;
        Ok(Some(ClaimedCall { consent, tools: tools.clone(), until }))
    }

    async fn lapse_reason(
        &self,
        consent: &Consent,
        now: Timestamp,
    ) -> Result<Option<LapseReason>, StoreError> {
        if self.is_silenced(consent, now).await? {
            return Ok(Some(LapseReason::Unwanted));
        }
        let is_over = consent.clone().at(now).state == ConsentState::Lapsed;
        let is_too_late =
            is_over || !self.is_lent(consent) || self.has_source_changed(consent).await?;
        Ok(is_too_late.then_some(LapseReason::TooLate))
    }

    /// Whether the persona may not post in the call's channel.
    async fn is_silenced(&self, consent: &Consent, now: Timestamp) -> Result<bool, StoreError> {
        let (workspace, channel) = (&consent.conversation.workspace, &consent.conversation.channel);
        if self.inbox.channel_cache.mode(workspace, channel).is_silent() {
            return Ok(true);
        }
        let orders = self.inbox.store.orders(workspace).await?;
        Ok(orders.workspace_mute(now).or_else(|| orders.channel_mute(channel, now)).is_some())
    }

    /// Whether a source message of the arguments was changed or withheld, or a standing order was revoked.
    async fn has_source_changed(&self, consent: &Consent) -> Result<bool, StoreError> {
        // Memories are left out, since they are rewritten all the time.
        let lineage = Lineage { memories: Vec::new(), ..consent.lineage.clone() };
        let (conversation, seen) = (&consent.conversation, consent.seen_revision.number());
        self.inbox.store.has_changed_since(conversation, seen, &lineage).await
    }

    /// Whether the tool is still offered to replies there, by the operator and by the channel's rules.
    fn is_lent(&self, consent: &Consent) -> bool {
        let Some(tools) = &self.tools else { return false };
        self.in_place(consent, |place| {
            let rulebook = self.inbox.channel_cache.rulebook();
            let (name, visibility) = (place.channel_name, place.visibility);
            let rules =
                rulebook.rules_in(&Place::of_conversation(&consent.conversation, name, visibility));
            rules.tools.allows(&consent.tool) && tools.is_lent(&consent.tool, place)
        })
    }

    /// Returns the tool, if it can be called now.
    fn offered(&self, tools: &dyn ExternalTools, consent: &Consent) -> Option<ExternalTool> {
        self.in_place(consent, |place| {
            tools.offered(place).into_iter().find(|tool| tool.name == consent.tool)
        })
    }

    fn in_place<T>(&self, consent: &Consent, look: impl FnOnce(ReplyPlace<'_>) -> T) -> T {
        let (workspace, channel) = (&consent.conversation.workspace, &consent.conversation.channel);
        let cache = &self.inbox.channel_cache;
        let name = cache.channel_name(workspace, channel).unwrap_or_default();
        let visibility = cache.visibility(workspace, channel);
        look(ReplyPlace { channel, channel_name: &name, visibility })
    }

    async fn step(&self, consent: &Consent, step: ConsentStep) -> Result<(), StoreError> {
        let (workspace, id) = (consent.conversation.workspace.clone(), consent.id);
        self.inbox.apply_order(Order::TakeConsentStep { workspace, id, step }).await
    }
}

/// Returns the log span of a call and its outcome.
fn call_span(consent: &Consent) -> Span {
    info_span!(
        "allowed call",
        platform = consent.conversation.workspace.platform(),
        workspace = %consent.conversation.workspace,
        channel = %consent.conversation.channel,
        decision = consent.decision.0,
        consent = %consent.id,
        tool = &*consent.tool,
    )
}

fn to_kept(answer: ExternalAnswer) -> CallAnswer {
    let ExternalAnswer { text, is_cut, is_failure } = answer;
    // Databases cannot store NUL in a text.
    CallAnswer { text: text.replace('\0', ""), is_cut, is_failure }
}

/// Returns the arguments that were shown.
fn arguments(consent: &Consent) -> Option<Map<String, Value>> {
    serde_json::from_str(consent.arguments.as_deref()?).ok()
}
