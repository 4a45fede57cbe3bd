//! The runner: claims due steps, lets the agent handle them and commits the outcomes. Different conversations are
//! handled concurrently; one conversation is handled one step at a time (invariant 4).

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult};
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::flow::{Claim, DecisionClosing, Outcome, StepResult, Work};
use aizuchi_store::{CompletionReceipt, Store, StoreError};
use futures_util::future::BoxFuture;
use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info, info_span, warn};

use crate::agent::Agent;
use crate::inbox::channel_cache::ChannelCache;
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerSettings {
    /// How long a claimed step stays hidden from other claims. Must be longer than any step may
    /// take.
    pub lease: SignedDuration,
    /// The maximum number of conversations that are handled concurrently.
    pub max_concurrency: usize,
    /// How long a shutdown waits for work in flight. Supervisors usually kill a process that takes
    /// longer than ten seconds to stop.
    pub drain_timeout: SignedDuration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            lease: SignedDuration::from_secs(180),
            max_concurrency: 64,
            drain_timeout: SignedDuration::from_secs(8),
        }
    }
}

/// Tells the health endpoint whether the runner makes progress.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// When the runner started or last finished a step, in milliseconds.
    last_ms: Arc<AtomicI64>,
    /// How long a step may take while all slots are in use.
    max_step_duration: SignedDuration,
}

impl Heartbeat {
    fn record(&self, now: Timestamp) {
        self.last_ms.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// Whether no step was finished for longer than a step may take.
    pub fn is_stalled(&self, now: Timestamp) -> bool {
        let beat = Timestamp::from_millisecond(self.last_ms.load(Ordering::Relaxed));
        beat.is_ok_and(|beat| now.duration_since(beat) > self.max_step_duration)
    }
}

pub struct Runner {
    store: Arc<dyn Store>,
    agent: Agent,
    in_flight: Arc<InFlight>,
    channel_cache: Arc<ChannelCache>,
    clock: Clock,
    metrics: Arc<Metrics>,
    heartbeat: Heartbeat,
    settings: RunnerSettings,
    /// Memory jobs in flight.
    running_memory_jobs: AtomicUsize,
}

/// A step or a memory job that this runner has claimed.
enum ClaimedWork {
    Step(Claim),
    MemoryJob(MemoryJob),
}

/// The result of polling the store once.
struct Poll {
    work: Vec<ClaimedWork>,
    /// When to poll again at the latest.
    next_poll: Option<Timestamp>,
}

/// The first and the longest wait after a failed commit.
const COMMIT_RETRY_DELAY: SignedDuration = SignedDuration::from_millis(200);
const MAX_COMMIT_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// An unsolicited post within this time after an unseen message counts as an interruption.
const COLLISION_WINDOW: SignedDuration = SignedDuration::from_secs(5);
/// The maximum number of memory jobs that run concurrently.
const MAX_MEMORY_JOBS: usize = 4;
/// The time limit of one memory job, with all its model calls.
const MEMORY_JOB_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Longer than the timeout, so that a job that still runs is not claimed a second time.
const MEMORY_JOB_LEASE: SignedDuration = SignedDuration::from_mins(11);
/// How long to wait after a failed poll of the store.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(1);

impl Runner {
    /// Fails if a lease could end while its step is still being handled.
    pub fn new(
        agent: Agent,
        in_flight: Arc<InFlight>,
        channel_cache: Arc<ChannelCache>,
        settings: RunnerSettings,
    ) -> anyhow::Result<Self> {
        let max_step_duration = agent.settings.max_step_duration();
        anyhow::ensure!(
            settings.lease > max_step_duration,
            "the lease of {:#} is not longer than a step may take ({max_step_duration:#})",
            settings.lease,
        );
        Ok(Self {
            store: agent.store.clone(),
            clock: agent.clock.clone(),
            metrics: agent.metrics.clone(),
            heartbeat: Heartbeat {
                last_ms: Arc::new(AtomicI64::new(agent.clock.now().as_millisecond())),
                max_step_duration,
            },
            agent,
            in_flight,
            channel_cache,
            settings,
            running_memory_jobs: AtomicUsize::new(0),
        })
    }

    pub fn heartbeat(&self) -> Heartbeat {
        self.heartbeat.clone()
    }

    /// Handles due work until `shutdown`, then finishes what is in flight. Unfinished steps are
    /// claimed again after a restart.
    pub fn run(&self, shutdown: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
            let mut revisions = self.store.revisions();
            let mut running = FuturesUnordered::new();
            while !shutdown.is_cancelled() {
                // Subscribe before polling, so that no revision in between is missed.
                revisions.borrow_and_update();
                let polled = {
                    let mut poll = pin!(self.poll(running.len()));
                    loop {
                        // Keep driving work in flight: it may hold the connection that the poll waits
                        // for.
                        tokio::select! {
                            biased;
                            polled = &mut poll => break polled,
                            Some(()) = running.next(), if !running.is_empty() => {}
                        }
                    }
                };
                let next = polled.unwrap_or_else(|error| {
                warn!(error = %error, wait = ?RETRY_DELAY, "polling for due steps failed; retrying");
                Poll { work: Vec::new(), next_poll: Some(self.clock.now() + RETRY_DELAY) }
            });
                running.extend(next.work.into_iter().map(|work| self.run_work(work)));
                let due = async {
                    match next.next_poll {
                        Some(at) => self.clock.sleep_until(at).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    // Biased, so that a full queue does not delay the shutdown.
                    biased;
                    () = shutdown.cancelled() => {}
                    Some(()) = running.next(), if !running.is_empty() => {}
                    Ok(()) = revisions.changed() => {}
                    () = due => {}
                }
            }
            let drained = async { while running.next().await.is_some() {} };
            if self.clock.timeout(self.settings.drain_timeout, drained).await.is_err() {
                info!(
                    count = running.len(),
                    "drain timed out; unfinished work runs again after a restart"
                );
            }
            Ok(())
        })
    }

    /// Handles everything that is due now and returns whether there was anything. For tests.
    pub fn step(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let claims = self
                .store
                .claim(self.clock.now(), self.settings.lease, self.settings.max_concurrency)
                .await?;
            let jobs = self.claim_memory_jobs(self.clock.now()).await?;
            let claims = claims.into_iter().map(ClaimedWork::Step);
            let work = claims.chain(jobs.into_iter().map(ClaimedWork::MemoryJob));
            let mut running: FuturesUnordered<_> = work.map(|work| self.run_work(work)).collect();
            let has_worked = !running.is_empty();
            while running.next().await.is_some() {}
            Ok(has_worked)
        })
    }

    /// Claims as many due steps as there are free slots, and determines when to poll again.
    async fn poll(&self, running: usize) -> Result<Poll, StoreError> {
        self.metrics.wake_ups.inc();
        let free = self.settings.max_concurrency.saturating_sub(running);
        if free == 0 {
            // A step that ends frees a slot and wakes the loop.
            return Ok(Poll { work: Vec::new(), next_poll: None });
        }
        let now = self.clock.now();
        let claims = self.store.claim(now, self.settings.lease, free).await?;
        // Claimed steps must run even if the next query fails.
        let next = if claims.len() == free {
            // There may be more due steps than free slots.
            Some(now)
        } else {
            self.store.next_ready().await.unwrap_or(Some(now + RETRY_DELAY))
        };
        let (jobs, next_job_poll) = self.poll_memory_jobs(now).await.unwrap_or_else(|error| {
            warn!(error = %error, wait = ?RETRY_DELAY, "polling for memory jobs failed; retrying");
            (Vec::new(), Some(now + RETRY_DELAY))
        });
        let work = claims
            .into_iter()
            .map(ClaimedWork::Step)
            .chain(jobs.into_iter().map(ClaimedWork::MemoryJob));
        Ok(Poll { work: work.collect(), next_poll: next.into_iter().chain(next_job_poll).min() })
    }

    /// Claims due memory jobs, and determines when to poll for more at the latest.
    async fn poll_memory_jobs(
        &self,
        now: Timestamp,
    ) -> Result<(Vec<MemoryJob>, Option<Timestamp>), StoreError> {
        let jobs = self.claim_memory_jobs(now).await?;
        // Without a free slot there is no need to poll: a job that ends wakes the runner.
        let has_free_slot = self.free_memory_job_slots() > 0;
        // Claimed jobs must run even if the next query fails.
        let next = if has_free_slot {
            self.store.next_memory_job().await.unwrap_or(Some(now + RETRY_DELAY))
        } else {
            None
        };
        Ok((jobs, next))
    }

    /// Claims due memory jobs. Only a few run concurrently, since no user waits for them.
    async fn claim_memory_jobs(&self, now: Timestamp) -> Result<Vec<MemoryJob>, StoreError> {
        let free = self.free_memory_job_slots();
        if free == 0 {
            return Ok(Vec::new());
        }
        let jobs = self.store.claim_memory_jobs(now, MEMORY_JOB_LEASE, free).await?;
        // All jobs run in this task, so the ordering does not matter.
        self.running_memory_jobs.fetch_add(jobs.len(), Ordering::Relaxed);
        Ok(jobs)
    }

    fn free_memory_job_slots(&self) -> usize {
        MAX_MEMORY_JOBS.saturating_sub(self.running_memory_jobs.load(Ordering::Relaxed))
    }

    async fn run_work(&self, work: ClaimedWork) {
        match work {
            ClaimedWork::Step(claim) => self.run_step_in_span(claim).await,
            ClaimedWork::MemoryJob(job) => {
                self.run_memory_job_in_span(&job).await;
                self.running_memory_jobs.fetch_sub(1, Ordering::Relaxed);
                self.heartbeat.record(self.clock.now());
            }
        }
    }

    /// Runs one memory job, from its claim to its commit, in its own span.
    async fn run_memory_job_in_span(&self, job: &MemoryJob) {
        let span = info_span!(
            "remember",
            platform = job.key.workspace.platform(),
            workspace = %job.key.workspace,
            channel = job.key.channel().map(ChannelId::as_str),
            memory = %job.key,
            attempt = job.attempt,
        );
        self.run_memory_job(job).instrument(span).await;
    }

    async fn run_memory_job(&self, job: &MemoryJob) {
        let began = self.clock.now();
        // Outside of the future, so that calls are booked even if the job times out or panics.
        let mut attempts = Vec::new();
        let remembering = AssertUnwindSafe(self.agent.remember(job, &mut attempts)).catch_unwind();
        let outcome = match self.clock.timeout(MEMORY_JOB_TIMEOUT, remembering).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panicked)) => {
                error!("the memory job panicked");
                self.agent.retry_memory_later()
            }
            Err(_timed_out) => {
                warn!(wait = ?MEMORY_JOB_TIMEOUT, "the memory job timed out; retrying later");
                self.agent.retry_memory_later()
            }
        };
        let outcome = MemoryJobOutcome { attempts, ..outcome };
        self.log_memory_job(&outcome);
        let commit = || self.store.complete_memory_job(job, outcome.clone(), self.clock.now());
        if let Err(error) = self.commit_within(began + MEMORY_JOB_LEASE, commit).await {
            // When the lease expires, the job is claimed again.
            error!(error = %error, "committing the memory failed; the job runs again");
        }
    }

    /// Counts the model calls and logs those that failed. An unusable answer counts as a failure, too.
    fn report_calls(&self, attempts: &[Attempt]) {
        for attempt in attempts.iter().filter(|attempt| attempt.is_model_call()) {
            self.metrics.record_model_call(attempt);
            if let Some(error) = &attempt.error
                && attempt.result == AttemptResult::Failed
            {
                warn!(model = %attempt.model, error = %error, "a model call failed");
            }
        }
    }

    fn log_memory_job(&self, outcome: &MemoryJobOutcome) {
        self.report_calls(&outcome.attempts);
        match &outcome.result {
            MemoryJobResult::Remembered(memory) => {
                info!(count = memory.entries.len(), "remembered new entries");
            }
            MemoryJobResult::NothingNew => info!("nothing new to remember"),
            MemoryJobResult::Retry(_) => {
                let wait = outcome.next_due.duration_since(self.clock.now());
                warn!(wait = ?wait, "the memory stays as it is; retrying later");
            }
        }
    }

    /// Runs one step, from its claim to its commit, in its own span.
    async fn run_step_in_span(&self, claim: Claim) {
        let conversation = claim.work.conversation();
        let span = info_span!(
            "step",
            verb = claim.work.verb(),
            platform = conversation.workspace.platform(),
            channel = %conversation.channel,
            conversation = %conversation,
            decision = claim.decision.0,
            attempt = claim.attempt,
            reaction = is_reaction(&claim).then_some(true),
        );
        self.run_step(claim).instrument(span).await;
    }

    async fn run_step(&self, claim: Claim) {
        let began = self.clock.now();
        self.metrics.record_claim(claim.work.verb(), began.duration_since(claim.due));
        // A message heard since the claim cancels nothing here, but its generation still discards the result.
        let superseded = self.in_flight.begin(&claim);
        let revision = *self.store.revisions().borrow();
        // Outside of the handler, so that its calls are booked even if it panics.
        let mut attempts = Vec::new();
        let handling = self.agent.handle(&claim, &superseded, &mut attempts);
        // A panic only ends this step, not the runner and the steps of all other conversations.
        let handled = AssertUnwindSafe(handling).catch_unwind().await;
        let outcome = handled.unwrap_or_else(|_| {
            error!("the step panicked");
            panic_outcome(&claim, self.clock.now())
        });
        // An outcome without a revision has seen nothing newer than the store's state when the step began. Messages
        // heard since then count as unseen.
        let seen_revision = outcome.seen_revision.or(claim.work.seen_revision()).or(Some(revision));
        let outcome = Outcome { attempts, seen_revision, ..outcome };
        self.log_step(&claim, &outcome);
        let posted_at =
            if let StepResult::Posted(posted) = &outcome.result { Some(posted.at) } else { None };
        let receipt = self.commit(&claim, began, outcome).await;
        self.in_flight.finish(&claim);
        self.heartbeat.record(self.clock.now());
        self.metrics.record_step(claim.work.verb(), self.clock.now().duration_since(began));
        if let Some(ended) = receipt.ended {
            self.metrics.record_decision(ended, receipt.gate);
        }
        if let (Some(posted_at), Work::Post(item)) = (posted_at, &claim.work) {
            self.record_post_metrics(&claim, item, posted_at, &receipt);
        }
    }

    /// Records how long users waited for this post and whether it interrupted them.
    fn record_post_metrics(
        &self,
        claim: &Claim,
        item: &OutboxItem,
        posted_at: Timestamp,
        receipt: &CompletionReceipt,
    ) {
        for asked_at in &receipt.answered_at {
            self.metrics.record_mention_answer(posted_at.duration_since(*asked_at));
        }
        // A split answer counts as one post.
        if item.id != item.first_in_draft || is_reaction(claim) {
            return;
        }
        self.metrics.record_post(claim.is_owed);
        if claim.is_owed {
            return;
        }
        if let Some(seen) = receipt.newest_seen {
            self.metrics.record_unsolicited_delay(posted_at.duration_since(seen));
        }
        if receipt
            .newest_unseen
            .is_some_and(|unseen| posted_at.duration_since(unseen) <= COLLISION_WINDOW)
        {
            self.metrics.unsolicited_soon_after_unseen.inc();
        }
    }

    /// Commits the outcome of a step that was claimed at `claimed`.
    async fn commit(
        &self,
        claim: &Claim,
        claimed: Timestamp,
        outcome: Outcome,
    ) -> CompletionReceipt {
        let commit = || self.store.complete(claim, outcome.clone(), self.clock.now());
        match self.commit_within(claimed + self.settings.lease, commit).await {
            Ok(receipt) => {
                if outcome.quiet_order.is_some() {
                    self.reread_orders(&claim.work.conversation().workspace).await;
                }
                if matches!(outcome.result, StepResult::Posted(_)) {
                    // The post is a message of the conversation, too.
                    self.channel_cache.conversations.drop_messages(claim.work.conversation());
                }
                receipt
            }
            Err(error) => {
                // The lease expires, and the step runs again: a repeated model call, or a lookup of the post.
                error!(error = %error, "committing the outcome failed; the step runs again");
                CompletionReceipt::default()
            }
        }
    }

    /// Reads a workspace's orders into the cache, after one was committed with an outcome.
    async fn reread_orders(&self, workspace: &WorkspaceId) {
        // Held while the cache is replaced, so that no order is lost that is stored after the reading.
        let _turn = self.channel_cache.lock_for_order().await;
        match self.store.orders(workspace).await {
            Ok(orders) => self.channel_cache.replace_orders(workspace, &orders),
            Err(error) => {
                warn!(error = %error, "the orders cannot be read; the next one brings them")
            }
        }
    }

    /// Commits, and retries until the lease expires while the store is unavailable. The result of a step stays valid
    /// under its lease, so an outage does not cost another model call.
    async fn commit_within<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        lease_end: Timestamp,
        commit: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let mut delay = COMMIT_RETRY_DELAY;
        loop {
            let error = match commit().await {
                Err(error @ (StoreError::Busy(_) | StoreError::Broken(_))) => error,
                committed @ (Ok(_) | Err(StoreError::Refused(_))) => return committed,
            };
            let next = self.clock.now() + delay;
            // From then on, the step may be claimed again.
            if next >= lease_end {
                return Err(error);
            }
            if delay == COMMIT_RETRY_DELAY {
                warn!(error = %error, "committing failed; retrying while the lease lasts");
            }
            delay = MAX_COMMIT_RETRY_DELAY.min(delay * 2);
            self.clock.sleep_until(next).await;
        }
    }

    fn log_step(&self, claim: &Claim, outcome: &Outcome) {
        self.report_calls(&outcome.attempts);
        let wait = |due: &Timestamp| due.duration_since(self.clock.now());
        match &outcome.result {
            StepResult::Failed { error, .. } => error!(error = %error, "gave up"),
            StepResult::Silent(closing) if closing.ended == DecisionResult::Failed => {
                warn!("the step failed; stays silent");
            }
            StepResult::Silent(closing) => {
                info!(gate = closing.gate.map(Gate::name), "stays silent");
            }
            StepResult::Deferred { due } => debug!(wait = ?wait(due), "deferred"),
            StepResult::Posted(_) if is_reaction(claim) => info!("reacted"),
            StepResult::Posted(posted) => info!(message_id = %posted.id, "posted"),
            StepResult::Join { due, .. } => info!(wait = ?wait(due), "joins in"),
            StepResult::React { .. } => info!("will react"),
            StepResult::Drafted { due, .. } => info!(wait = ?wait(due), "drafted"),
            StepResult::Proposed(_) => info!("proposed"),
            StepResult::Redraft { .. } => info!("drafts again after new messages"),
            StepResult::Withdrawn { .. } => info!("withdrew the draft"),
            StepResult::LookAgain { due } => info!(wait = ?wait(due), "will look again"),
            StepResult::Retry { due } => info!(wait = ?wait(due), "will retry"),
            StepResult::RetryUnsent { due } => info!(wait = ?wait(due), "not sent; will retry"),
            StepResult::Superseded => info!("superseded by a new message"),
        }
    }
}

fn is_reaction(claim: &Claim) -> bool {
    matches!(&claim.work, Work::Post(item) if item.reaction_to.is_some())
}

/// Returns the outcome of a step whose handler panicked. An intermittent defect should not cost an owed answer, and a
/// post that may have been sent has to be looked up. Both are retried a few times.
fn panic_outcome(claim: &Claim, now: Timestamp) -> Outcome {
    const MAX_ATTEMPTS: u32 = 4;
    let (error, why) = ("a defect in the program".to_owned(), "a defect in the program".to_owned());
    let result = match &claim.work {
        Work::Post(_) if claim.attempt < MAX_ATTEMPTS => {
            StepResult::Retry { due: now + RETRY_DELAY }
        }
        Work::Reply(_) if claim.is_owed && claim.attempt < MAX_ATTEMPTS => {
            StepResult::Retry { due: now + RETRY_DELAY }
        }
        // What nobody waits for fails closed: the ledger tells a failure from a silence that was chosen.
        Work::Reply(_) if claim.is_owed => StepResult::Failed { error, why },
        Work::Judge(_) | Work::Reply(_) => {
            StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why))
        }
        Work::Post(_) => StepResult::Failed { error, why },
    };
    Outcome::new(result)
}
