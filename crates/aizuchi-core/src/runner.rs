//! Keeps the flow moving: claims due steps, has the agent handle them, commits what came of it.
//! Conversations are worked at side by side, each one by one (invariant 4).

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info, info_span, warn};

use crate::agent::Agent;
use crate::clock::Clock;
use crate::decision::DecisionResult;
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome, MemoryJobResult};
use crate::event::{Claim, DecisionClosing, Event, OutboxItem, Outcome, StepResult};
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::store::{CompletionReceipt, Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerSettings {
    /// How long a claim stays hidden. Longer than any step may take.
    pub lease: SignedDuration,
    /// How many conversations are worked at side by side.
    pub max_concurrency: usize,
    /// How long a stop waits for work that has begun. Supervisors kill what takes longer than ten seconds to
    /// end.
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

/// Whether the runner gets on, for those who ask.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// When it began, or finished a step last.
    last_ms: Arc<AtomicI64>,
    /// It may take so long for a step, with all hands at work.
    max_step_duration: SignedDuration,
}

impl Heartbeat {
    fn record(&self, now: Timestamp) {
        self.last_ms.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// Nothing was finished for longer than a step may take.
    pub fn is_stalled(&self, now: Timestamp) -> bool {
        let beat = Timestamp::from_millisecond(self.last_ms.load(Ordering::Relaxed));
        beat.is_ok_and(|beat| now.duration_since(beat) > self.max_step_duration)
    }
}

pub struct Runner {
    store: Arc<dyn Store>,
    agent: Agent,
    in_flight: Arc<InFlight>,
    clock: Clock,
    metrics: Arc<Metrics>,
    heartbeat: Heartbeat,
    settings: RunnerSettings,
    /// Chores that are being worked at.
    running_memory_jobs: AtomicUsize,
}

/// Something to be done.
enum ClaimedWork {
    Step(Claim),
    MemoryJob(MemoryJob),
}

/// What a look into the store found.
struct Poll {
    work: Vec<ClaimedWork>,
    /// When to look again at the latest.
    next_poll: Option<Timestamp>,
}

/// How often the outcome of a step is written again when the store is busy.
const MAX_COMMIT_ATTEMPTS: u32 = 6;
/// Whoever has spoken so shortly before an unsolicited post has been trodden on (DESIGN §8).
const COLLISION_WINDOW: SignedDuration = SignedDuration::from_secs(5);
/// How many chores are worked at side by side.
const MAX_MEMORY_JOBS: usize = 4;
/// The longest that one chore may take, with all its questions.
const MEMORY_JOB_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
const MEMORY_JOB_LEASE: SignedDuration = SignedDuration::from_mins(11);
/// After a failed look into the store.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(1);

impl Runner {
    /// Fails if a lease could end while its step is still worked at.
    pub fn new(
        agent: Agent,
        under_way: Arc<InFlight>,
        settings: RunnerSettings,
    ) -> anyhow::Result<Self> {
        let longest = agent.settings.max_step_duration();
        anyhow::ensure!(
            settings.lease > longest,
            "the lease of {:#} is not longer than a step may take ({longest:#})",
            settings.lease,
        );
        Ok(Self {
            store: agent.store.clone(),
            clock: agent.clock.clone(),
            metrics: agent.metrics.clone(),
            heartbeat: Heartbeat {
                last_ms: Arc::new(AtomicI64::new(agent.clock.now().as_millisecond())),
                max_step_duration: longest,
            },
            agent,
            in_flight: under_way,
            settings,
            running_memory_jobs: AtomicUsize::new(0),
        })
    }

    pub fn heartbeat(&self) -> Heartbeat {
        self.heartbeat.clone()
    }

    /// Works until `shutdown`, then finishes what has begun. What it has to leave is taken up
    /// again after a restart.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut revisions = self.store.revisions();
        let mut working = FuturesUnordered::new();
        while !shutdown.is_cancelled() {
            // Noted before looking, so that nothing falls in between.
            revisions.borrow_and_update();
            let looked = {
                let mut look = pin!(self.poll(working.len()));
                loop {
                    // Work goes on meanwhile: it may hold what the look waits for.
                    tokio::select! {
                        biased;
                        looked = &mut look => break looked,
                        Some(()) = working.next(), if !working.is_empty() => {}
                    }
                }
            };
            let next = looked.unwrap_or_else(|error| {
                warn!("the runner could not look for due steps and tries again: {error}");
                Poll { work: Vec::new(), next_poll: Some(self.clock.now() + RETRY_DELAY) }
            });
            working.extend(next.work.into_iter().map(|work| self.run_work(work)));
            let due = async {
                match next.next_poll {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                Some(()) = working.next(), if !working.is_empty() => {}
                Ok(()) = revisions.changed() => {}
                () = due => {}
            }
        }
        let drained = async { while working.next().await.is_some() {} };
        if self.clock.timeout(self.settings.drain_timeout, drained).await.is_err() {
            info!("the runner leaves unfinished steps for the next start");
        }
        Ok(())
    }

    /// Handles everything that is due now, and says whether there was anything. For tests.
    pub async fn step(&self) -> Result<bool, StoreError> {
        let claims = self
            .store
            .claim(self.clock.now(), self.settings.lease, self.settings.max_concurrency)
            .await?;
        let chores = self.claim_memory_jobs(self.clock.now()).await?;
        let claims = claims.into_iter().map(ClaimedWork::Step);
        let work = claims.chain(chores.into_iter().map(ClaimedWork::MemoryJob));
        let mut working: FuturesUnordered<_> = work.map(|work| self.run_work(work)).collect();
        let has_worked = !working.is_empty();
        while working.next().await.is_some() {}
        Ok(has_worked)
    }

    /// Takes as many due steps as there are hands, and finds out when to look again.
    async fn poll(&self, working: usize) -> Result<Poll, StoreError> {
        self.metrics.wake_ups.inc();
        let free = self.settings.max_concurrency.saturating_sub(working);
        if free == 0 {
            return Ok(Poll { work: Vec::new(), next_poll: None });
        }
        let now = self.clock.now();
        let claims = self.store.claim(now, self.settings.lease, free).await?;
        // Claimed steps must be worked at, whatever the next look says.
        let next = if claims.len() == free {
            Some(now)
        } else {
            self.store.next_ready().await.unwrap_or(Some(now + RETRY_DELAY))
        };
        let (chores, next_chore) = self.poll_memory_jobs(now).await.unwrap_or_else(|error| {
            warn!("the runner could not look for what is to be remembered: {error}");
            (Vec::new(), Some(now + RETRY_DELAY))
        });
        let work = claims
            .into_iter()
            .map(ClaimedWork::Step)
            .chain(chores.into_iter().map(ClaimedWork::MemoryJob));
        Ok(Poll { work: work.collect(), next_poll: next.into_iter().chain(next_chore).min() })
    }

    /// Takes chores, and finds out when to look for more at the latest.
    async fn poll_memory_jobs(
        &self,
        now: Timestamp,
    ) -> Result<(Vec<MemoryJob>, Option<Timestamp>), StoreError> {
        let chores = self.claim_memory_jobs(now).await?;
        // One that ends wakes the runner.
        let has_hands = self.free_memory_job_slots() > 0;
        // What has been taken must be worked at, whatever comes of the next look.
        let next = if has_hands {
            self.store.next_memory_job().await.unwrap_or(Some(now + RETRY_DELAY))
        } else {
            None
        };
        Ok((chores, next))
    }

    /// Takes chores, of which only a few are worked at side by side: nobody waits for them.
    async fn claim_memory_jobs(&self, now: Timestamp) -> Result<Vec<MemoryJob>, StoreError> {
        let free = self.free_memory_job_slots();
        if free == 0 {
            return Ok(Vec::new());
        }
        let chores = self.store.claim_memory_jobs(now, MEMORY_JOB_LEASE, free).await?;
        self.running_memory_jobs.fetch_add(chores.len(), Ordering::Relaxed);
        Ok(chores)
    }

    fn free_memory_job_slots(&self) -> usize {
        MAX_MEMORY_JOBS.saturating_sub(self.running_memory_jobs.load(Ordering::Relaxed))
    }

    async fn run_work(&self, work: ClaimedWork) {
        match work {
            ClaimedWork::Step(claim) => self.run_step_in_span(claim).await,
            ClaimedWork::MemoryJob(chore) => {
                let span = info_span!("remember", memory = %chore.key, attempt = chore.attempt);
                self.run_memory_job(&chore).instrument(span).await;
                self.running_memory_jobs.fetch_sub(1, Ordering::Relaxed);
                self.heartbeat.record(self.clock.now());
            }
        }
    }

    async fn run_memory_job(&self, chore: &MemoryJob) {
        let mut attempts = Vec::new();
        let thought = AssertUnwindSafe(self.agent.remember(chore, &mut attempts)).catch_unwind();
        let outcome = match self.clock.timeout(MEMORY_JOB_TIMEOUT, thought).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panicked)) => {
                error!("remembering {} panicked", chore.key);
                self.agent.retry_memory_later()
            }
            Err(_timed_out) => {
                warn!("remembering {} took too long; it is tried again later", chore.key);
                self.agent.retry_memory_later()
            }
        };
        let outcome = MemoryJobOutcome { attempts, ..outcome };
        self.log_memory_job(chore, &outcome);
        for attempt in 1..=MAX_COMMIT_ATTEMPTS {
            let kept =
                self.store.complete_memory_job(chore, outcome.clone(), self.clock.now()).await;
            match kept {
                Ok(()) => break,
                Err(StoreError::Busy(_)) if attempt < MAX_COMMIT_ATTEMPTS => {
                    self.clock.sleep_until(self.clock.now() + RETRY_DELAY).await;
                }
                Err(error) => {
                    // The lease ends, and it is thought of again.
                    error!("what was to be remembered could not be kept: {error}");
                    break;
                }
            }
        }
    }

    fn log_memory_job(&self, chore: &MemoryJob, outcome: &MemoryJobOutcome) {
        for error in outcome.attempts.iter().filter_map(|attempt| attempt.error.as_ref()) {
            warn!("a model call failed: {error}");
        }
        match &outcome.result {
            MemoryJobResult::Remembered(memory) => {
                info!("remembers {} in {} entries", chore.key, memory.entries.len());
            }
            MemoryJobResult::NothingNew => info!("nothing new to remember for {}", chore.key),
            MemoryJobResult::Retry(_) => warn!("{} stays as it is, and is tried again", chore.key),
        }
    }

    /// One step from its claim to its commit, in a span of its own.
    async fn run_step_in_span(&self, claim: Claim) {
        let span = info_span!(
            "step",
            verb = claim.event.verb(),
            conversation = %claim.event.conversation(),
            decision = claim.decision.0,
            attempt = claim.attempt,
        );
        self.run_step(claim).instrument(span).await;
    }

    async fn run_step(&self, claim: Claim) {
        let began = self.clock.now();
        self.metrics.record_claim(claim.event.verb(), began.duration_since(claim.due));
        let overtaken = self.in_flight.begin(&claim);
        let revision = *self.store.revisions().borrow();
        let handled = AssertUnwindSafe(self.agent.handle(&claim, &overtaken)).catch_unwind().await;
        let outcome = handled.unwrap_or_else(|_| {
            error!("a step panicked");
            panic_outcome(&claim, self.clock.now())
        });
        // What was not looked at is as old as the look would have been: later lines are unseen.
        let considered = outcome.seen_revision.or(claim.event.seen_revision()).or(Some(revision));
        let outcome = Outcome { seen_revision: considered, ..outcome };
        self.log_step(&claim, &outcome);
        let said =
            if let StepResult::Posted(posted) = &outcome.result { Some(posted.at) } else { None };
        let settled = self.commit(&claim, outcome).await;
        self.in_flight.finish(&claim);
        self.heartbeat.record(self.clock.now());
        self.metrics.record_step(claim.event.verb(), self.clock.now().duration_since(began));
        if let Some(ended) = settled.ended {
            self.metrics.record_decision(ended, settled.gate);
        }
        if let (Some(said), Event::Post(piece)) = (said, &claim.event) {
            self.record_post_metrics(&claim, piece, said, &settled);
        }
    }

    /// How long people have waited for what was said now, and whether it fell into their words.
    fn record_post_metrics(
        &self,
        claim: &Claim,
        piece: &OutboxItem,
        said: Timestamp,
        settled: &CompletionReceipt,
    ) {
        for asked in &settled.answered_at {
            self.metrics.record_mention_answer(said.duration_since(*asked));
        }
        if piece.id != piece.first_in_draft || is_reaction(claim) {
            return;
        }
        self.metrics.record_post(claim.is_owed);
        if claim.is_owed {
            return;
        }
        if let Some(seen) = settled.newest_seen {
            self.metrics.record_unsolicited_delay(said.duration_since(seen));
        }
        if settled
            .newest_unseen
            .is_some_and(|unseen| said.duration_since(unseen) <= COLLISION_WINDOW)
        {
            self.metrics.unsolicited_soon_after_unseen.inc();
        }
    }

    async fn commit(&self, claim: &Claim, outcome: Outcome) -> CompletionReceipt {
        for attempt in 1..=MAX_COMMIT_ATTEMPTS {
            match self.store.complete(claim, outcome.clone(), self.clock.now()).await {
                Ok(settled) => return settled,
                Err(StoreError::Busy(_)) if attempt < MAX_COMMIT_ATTEMPTS => {
                    self.clock
                        .sleep_until(self.clock.now() + SignedDuration::from_millis(200))
                        .await;
                }
                Err(error) => {
                    // The lease ends, and the step is done again: a repeated thought, or a lookup.
                    error!("the outcome of a step could not be kept: {error}");
                    break;
                }
            }
        }
        CompletionReceipt::default()
    }

    fn log_step(&self, claim: &Claim, outcome: &Outcome) {
        let verb = claim.event.verb();
        let conversation = claim.event.conversation();
        let failed = outcome.attempts.iter().filter_map(|attempt| attempt.error.as_ref());
        for error in failed {
            warn!("a model call failed: {error}");
        }
        match &outcome.result {
            StepResult::Failed { error, .. } => {
                error!("gave up on {verb} in {conversation}: {error}");
            }
            StepResult::Silent(closing) if closing.ended == DecisionResult::Failed => {
                warn!("{verb} failed in {conversation}; it stays silent");
            }
            StepResult::Silent(_) => {
                info!("stays silent in {conversation}")
            }
            StepResult::Deferred { .. } => debug!("{verb} waits in {conversation}"),
            StepResult::Posted(_) if is_reaction(claim) => info!("reacted in {conversation}"),
            StepResult::Posted(_) => info!("spoke in {conversation}"),
            StepResult::Join { .. }
            | StepResult::React { .. }
            | StepResult::Drafted { .. }
            | StepResult::Redraft { .. }
            | StepResult::Withdrawn { .. }
            | StepResult::Retry { .. }
            | StepResult::NotSent { .. }
            | StepResult::Superseded => {
                info!("{verb} done in {conversation}")
            }
        }
    }
}

fn is_reaction(claim: &Claim) -> bool {
    matches!(&claim.event, Event::Post(piece) if piece.reaction_to.is_some())
}

/// A defect that shows only now and then should not cost an owed answer, and a piece that may be
/// said has to be looked for: both are taken up again a few times.
fn panic_outcome(claim: &Claim, now: Timestamp) -> Outcome {
    const TRIES: u32 = 4;
    let (error, why) = ("a defect in the program".to_owned(), "a defect in the program".to_owned());
    let end = match &claim.event {
        Event::Post(_) if claim.attempt < TRIES => StepResult::Retry { due: now + RETRY_DELAY },
        Event::Reply(_) if claim.is_owed && claim.attempt < TRIES => {
            StepResult::Retry { due: now + RETRY_DELAY }
        }
        Event::Judge(_) => StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why)),
        Event::Reply(_) | Event::Post(_) => StepResult::Failed { error, why },
    };
    Outcome::new(end)
}
