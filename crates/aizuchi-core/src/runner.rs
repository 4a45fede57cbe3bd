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
use crate::decision::Ended;
use crate::event::chore::{Chore, ChoreEnd, ChoreOutcome};
use crate::event::{Claim, Closing, End, Event, Outcome, Piece};
use crate::hear::under_way::UnderWay;
use crate::metrics::Metrics;
use crate::store::{Settled, Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a claim stays hidden. Longer than any step may take.
    pub lease: SignedDuration,
    /// How many conversations are worked at side by side.
    pub most_at_once: usize,
    /// How long a stop waits for work that has begun. Supervisors kill what takes longer than ten seconds to
    /// end.
    pub drain: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: SignedDuration::from_secs(180),
            most_at_once: 64,
            drain: SignedDuration::from_secs(8),
        }
    }
}

/// Whether the runner gets on, for those who ask.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// When it began, or finished a step last.
    beat_ms: Arc<AtomicI64>,
    /// It may take so long for a step, with all hands at work.
    longest_step: SignedDuration,
}

impl Pulse {
    fn beat(&self, now: Timestamp) {
        self.beat_ms.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// Nothing was finished for longer than a step may take.
    pub fn is_still(&self, now: Timestamp) -> bool {
        let beat = Timestamp::from_millisecond(self.beat_ms.load(Ordering::Relaxed));
        beat.is_ok_and(|beat| now.duration_since(beat) > self.longest_step)
    }
}

pub struct Runner {
    store: Arc<dyn Store>,
    agent: Agent,
    under_way: Arc<UnderWay>,
    clock: Clock,
    metrics: Arc<Metrics>,
    pulse: Pulse,
    settings: Settings,
    /// Chores that are being worked at.
    busy: AtomicUsize,
}

/// Something to be done.
enum Work {
    Step(Claim),
    Chore(Chore),
}

/// What a look into the store found.
struct Look {
    work: Vec<Work>,
    /// When to look again at the latest.
    next: Option<Timestamp>,
}

/// How often the outcome of a step is written again when the store is busy.
const COMMITS: u32 = 6;
/// Whoever has spoken so shortly before an unsolicited post has been trodden on (DESIGN §8).
const SOON: SignedDuration = SignedDuration::from_secs(5);
/// How many chores are worked at side by side.
const MOST_CHORES: usize = 4;
/// The longest that one chore may take, with all its questions.
const CHORE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
const CHORE_LEASE: SignedDuration = SignedDuration::from_mins(11);
/// After a failed look into the store.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

impl Runner {
    /// Fails if a lease could end while its step is still worked at.
    pub fn new(agent: Agent, under_way: Arc<UnderWay>, settings: Settings) -> anyhow::Result<Self> {
        let longest = agent.settings.longest_step();
        anyhow::ensure!(
            settings.lease > longest,
            "the lease of {:#} is not longer than a step may take ({longest:#})",
            settings.lease,
        );
        Ok(Self {
            store: agent.store.clone(),
            clock: agent.clock.clone(),
            metrics: agent.metrics.clone(),
            pulse: Pulse {
                beat_ms: Arc::new(AtomicI64::new(agent.clock.now().as_millisecond())),
                longest_step: longest,
            },
            agent,
            under_way,
            settings,
            busy: AtomicUsize::new(0),
        })
    }

    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
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
                let mut look = pin!(self.look(working.len()));
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
                Look { work: Vec::new(), next: Some(self.clock.now() + PAUSE) }
            });
            working.extend(next.work.into_iter().map(|work| self.work(work)));
            let due = async {
                match next.next {
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
        if self.clock.timeout(self.settings.drain, drained).await.is_err() {
            info!("the runner leaves unfinished steps for the next start");
        }
        Ok(())
    }

    /// Handles everything that is due now, and says whether there was anything. For tests.
    pub async fn step(&self) -> Result<bool, StoreError> {
        let claims = self
            .store
            .claim(self.clock.now(), self.settings.lease, self.settings.most_at_once)
            .await?;
        let chores = self.claim_chores(self.clock.now()).await?;
        let claims = claims.into_iter().map(Work::Step);
        let work = claims.chain(chores.into_iter().map(Work::Chore));
        let mut working: FuturesUnordered<_> = work.map(|work| self.work(work)).collect();
        let has_worked = !working.is_empty();
        while working.next().await.is_some() {}
        Ok(has_worked)
    }

    /// Takes as many due steps as there are hands, and finds out when to look again.
    async fn look(&self, working: usize) -> Result<Look, StoreError> {
        self.metrics.wake_ups.inc();
        let free = self.settings.most_at_once.saturating_sub(working);
        if free == 0 {
            return Ok(Look { work: Vec::new(), next: None });
        }
        let now = self.clock.now();
        let claims = self.store.claim(now, self.settings.lease, free).await?;
        // Claimed steps must be worked at, whatever the next look says.
        let next = if claims.len() == free {
            Some(now)
        } else {
            self.store.next_ready().await.unwrap_or(Some(now + PAUSE))
        };
        let (chores, next_chore) = self.look_for_chores(now).await.unwrap_or_else(|error| {
            warn!("the runner could not look for what is to be remembered: {error}");
            (Vec::new(), Some(now + PAUSE))
        });
        let work = claims.into_iter().map(Work::Step).chain(chores.into_iter().map(Work::Chore));
        Ok(Look { work: work.collect(), next: next.into_iter().chain(next_chore).min() })
    }

    /// Takes chores, and finds out when to look for more at the latest.
    async fn look_for_chores(
        &self,
        now: Timestamp,
    ) -> Result<(Vec<Chore>, Option<Timestamp>), StoreError> {
        let chores = self.claim_chores(now).await?;
        // One that ends wakes the runner.
        let has_hands = self.free_for_chores() > 0;
        // What has been taken must be worked at, whatever comes of the next look.
        let next = if has_hands {
            self.store.next_chore().await.unwrap_or(Some(now + PAUSE))
        } else {
            None
        };
        Ok((chores, next))
    }

    /// Takes chores, of which only a few are worked at side by side: nobody waits for them.
    async fn claim_chores(&self, now: Timestamp) -> Result<Vec<Chore>, StoreError> {
        let free = self.free_for_chores();
        if free == 0 {
            return Ok(Vec::new());
        }
        let chores = self.store.claim_chores(now, CHORE_LEASE, free).await?;
        self.busy.fetch_add(chores.len(), Ordering::Relaxed);
        Ok(chores)
    }

    fn free_for_chores(&self) -> usize {
        MOST_CHORES.saturating_sub(self.busy.load(Ordering::Relaxed))
    }

    async fn work(&self, work: Work) {
        match work {
            Work::Step(claim) => self.work_in_span(claim).await,
            Work::Chore(chore) => {
                let span = info_span!("remember", memory = %chore.key, attempt = chore.attempt);
                self.remember(&chore).instrument(span).await;
                self.busy.fetch_sub(1, Ordering::Relaxed);
                self.pulse.beat(self.clock.now());
            }
        }
    }

    async fn remember(&self, chore: &Chore) {
        let mut attempts = Vec::new();
        let thought = AssertUnwindSafe(self.agent.remember(chore, &mut attempts)).catch_unwind();
        let outcome = match self.clock.timeout(CHORE_TIMEOUT, thought).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panicked)) => {
                error!("remembering {} panicked", chore.key);
                self.agent.remember_later()
            }
            Err(_timed_out) => {
                warn!("remembering {} took too long; it is tried again later", chore.key);
                self.agent.remember_later()
            }
        };
        let outcome = ChoreOutcome { attempts, ..outcome };
        self.log_memory(chore, &outcome);
        for attempt in 1..=COMMITS {
            let kept = self.store.complete_chore(chore, outcome.clone(), self.clock.now()).await;
            match kept {
                Ok(()) => break,
                Err(StoreError::Busy(_)) if attempt < COMMITS => {
                    self.clock.sleep_until(self.clock.now() + PAUSE).await;
                }
                Err(error) => {
                    // The lease ends, and it is thought of again.
                    error!("what was to be remembered could not be kept: {error}");
                    break;
                }
            }
        }
    }

    fn log_memory(&self, chore: &Chore, outcome: &ChoreOutcome) {
        for error in outcome.attempts.iter().filter_map(|attempt| attempt.error.as_ref()) {
            warn!("a model call failed: {error}");
        }
        match &outcome.end {
            ChoreEnd::Made(memory) => {
                info!("remembers {} in {} entries", chore.key, memory.entries.len());
            }
            ChoreEnd::Nothing => info!("nothing new to remember for {}", chore.key),
            ChoreEnd::Again(_) => warn!("{} stays as it is, and is tried again", chore.key),
        }
    }

    /// One step from its claim to its commit, in a span of its own.
    async fn work_in_span(&self, claim: Claim) {
        let span = info_span!(
            "step",
            verb = claim.event.verb(),
            conversation = %claim.event.conversation(),
            decision = claim.decision.0,
            attempt = claim.attempt,
        );
        self.work_at(claim).instrument(span).await;
    }

    async fn work_at(&self, claim: Claim) {
        let began = self.clock.now();
        self.metrics.claimed(claim.event.verb(), began.duration_since(claim.due));
        let overtaken = self.under_way.begin(&claim);
        let revision = *self.store.revisions().borrow();
        let handled = AssertUnwindSafe(self.agent.handle(&claim, &overtaken)).catch_unwind().await;
        let outcome = handled.unwrap_or_else(|_| {
            error!("a step panicked");
            panicked(&claim, self.clock.now())
        });
        // What was not looked at is as old as the look would have been: later lines are unseen.
        let considered = outcome.considered.or(claim.event.considered()).or(Some(revision));
        let outcome = Outcome { considered, ..outcome };
        self.log(&claim, &outcome);
        let said = if let End::Said(posted) = &outcome.end { Some(posted.at) } else { None };
        let settled = self.commit(&claim, outcome).await;
        self.under_way.end(&claim);
        self.pulse.beat(self.clock.now());
        self.metrics.worked(claim.event.verb(), self.clock.now().duration_since(began));
        if let Some(ended) = settled.ended {
            self.metrics.closed(ended, settled.gate);
        }
        if let (Some(said), Event::Post(piece)) = (said, &claim.event) {
            self.measure(&claim, piece, said, &settled);
        }
    }

    /// How long people have waited for what was said now, and whether it fell into their words.
    fn measure(&self, claim: &Claim, piece: &Piece, said: Timestamp, settled: &Settled) {
        for asked in &settled.answered {
            self.metrics.answered(said.duration_since(*asked));
        }
        if piece.id != piece.first || is_reaction(claim) {
            return;
        }
        self.metrics.posted(claim.is_owed);
        if claim.is_owed {
            return;
        }
        if let Some(seen) = settled.seen {
            self.metrics.joined_in(said.duration_since(seen));
        }
        if settled.unseen.is_some_and(|unseen| said.duration_since(unseen) <= SOON) {
            self.metrics.unsolicited_soon_after_unseen.inc();
        }
    }

    async fn commit(&self, claim: &Claim, outcome: Outcome) -> Settled {
        for attempt in 1..=COMMITS {
            match self.store.complete(claim, outcome.clone(), self.clock.now()).await {
                Ok(settled) => return settled,
                Err(StoreError::Busy(_)) if attempt < COMMITS => {
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
        Settled::default()
    }

    fn log(&self, claim: &Claim, outcome: &Outcome) {
        let verb = claim.event.verb();
        let conversation = claim.event.conversation();
        let failed = outcome.attempts.iter().filter_map(|attempt| attempt.error.as_ref());
        for error in failed {
            warn!("a model call failed: {error}");
        }
        match &outcome.end {
            End::GivenUp { error, .. } => {
                error!("gave up on {verb} in {conversation}: {error}");
            }
            End::Silent(closing) if closing.ended == Ended::Failed => {
                warn!("{verb} failed in {conversation}; it stays silent");
            }
            End::Silent(_) => {
                info!("stays silent in {conversation}")
            }
            End::Wait { .. } => debug!("{verb} waits in {conversation}"),
            End::Said(_) if is_reaction(claim) => info!("reacted in {conversation}"),
            End::Said(_) => info!("spoke in {conversation}"),
            End::Join { .. }
            | End::React { .. }
            | End::Drafted { .. }
            | End::Redraft { .. }
            | End::Withdrawn { .. }
            | End::Again { .. }
            | End::NotSaid { .. }
            | End::Overtaken => {
                info!("{verb} done in {conversation}")
            }
        }
    }
}

fn is_reaction(claim: &Claim) -> bool {
    matches!(&claim.event, Event::Post(piece) if piece.on.is_some())
}

/// A defect that shows only now and then should not cost an owed answer, and a piece that may be
/// said has to be looked for: both are taken up again a few times.
fn panicked(claim: &Claim, now: Timestamp) -> Outcome {
    const TRIES: u32 = 4;
    let (error, why) = ("a defect in the program".to_owned(), "a defect in the program".to_owned());
    let end = match &claim.event {
        Event::Post(_) if claim.attempt < TRIES => End::Again { due: now + PAUSE },
        Event::Reply(_) if claim.is_owed && claim.attempt < TRIES => {
            End::Again { due: now + PAUSE }
        }
        Event::Judge(_) => End::Silent(Closing::new(Ended::Failed, why)),
        Event::Reply(_) | Event::Post(_) => End::GivenUp { error, why },
    };
    Outcome::of(end)
}
