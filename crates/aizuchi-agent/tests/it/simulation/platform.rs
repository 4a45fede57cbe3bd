//! A platform that loses, delays and refuses requests and answers. It does not deduplicate requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_harness::random::Random;
use aizuchi_model::chat::ConversationId;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{BackfillState, Platform, PlatformError};
use async_trait::async_trait;
use jiff::SignedDuration;

use crate::simulation::plan::Plan;
use crate::simulation::promises::Inspector;
use crate::simulation::store::{Fuse, run_now};
use crate::simulation::world::World;

/// The maximum time until a request takes effect.
const SETTLE: SignedDuration = SignedDuration::from_secs(30);
const LONGEST_POST: usize = 400;

pub struct SimulatedPlatform {
    pub plan: Arc<Plan>,
    pub world: Arc<World>,
    pub fuse: Arc<Fuse>,
    pub inspector: Inspector,
    pub runtime: Option<Arc<tokio::runtime::Runtime>>,
    pub calls: Arc<AtomicUsize>,
}

/// The outcome of a request to post.
#[derive(Debug)]
enum PostOutcome {
    Posted,
    Busy(Option<SignedDuration>),
    Queued,
    Refused,
    /// It was posted, and the answer is lost.
    LostAnswer,
    /// It was not posted.
    LostRequest,
    /// It is posted this many milliseconds after the request, without an answer.
    Late(i64),
    /// There is no answer at all.
    Hangs {
        is_posted: bool,
    },
}

impl SimulatedPlatform {
    fn random(&self, purpose: &str) -> Random {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) as u64;
        Random::new(self.plan.seed.wrapping_mul(37) ^ number, purpose)
    }

    fn has_trouble(&self, random: &mut Random) -> bool {
        !self.world.lock().is_over && random.chance(self.plan.post_trouble)
    }

    fn choose_outcome(&self, random: &mut Random) -> PostOutcome {
        if !self.has_trouble(random) {
            return PostOutcome::Posted;
        }
        match random.below(9) {
            0 => PostOutcome::Busy(None),
            1 => PostOutcome::Busy(Some(SignedDuration::from_secs(random.between(0, 4000)))),
            2 => PostOutcome::Queued,
            3 => PostOutcome::Refused,
            4 => PostOutcome::LostAnswer,
            5 => PostOutcome::LostRequest,
            6 => PostOutcome::Late(random.between(1500, SETTLE.as_millis() as i64 - 1)),
            7 => PostOutcome::Hangs { is_posted: true },
            _ => PostOutcome::Hangs { is_posted: false },
        }
    }
}

fn unknown() -> PlatformError {
    PlatformError::OutcomeUnknown("simulated".to_owned())
}

#[async_trait]
impl Platform for SimulatedPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.fuse.pass().await;
        run_now(self.runtime.as_deref(), self.inspector.check_post(item));
        let mut random = self.random("post");
        let outcome = self.choose_outcome(&mut random);
        self.world.log(format!("sends {}, which is {outcome:?}", item.id));
        let began = self.world.now();
        let suspensions = self.world.lock().suspensions;
        self.world.pass(random.between(20, 1500)).await;
        if self.world.lock().suspensions != suspensions {
            // The connection did not survive the suspension.
            return Err(unknown());
        }
        match outcome {
            PostOutcome::Posted => {
                let posted = self.world.land(item);
                self.fuse.pass().await;
                self.world.pass(random.between(20, 1500)).await;
                Ok(posted)
            }
            PostOutcome::Busy(retry_after) => {
                Err(PlatformError::Busy { why: "simulated".to_owned(), retry_after })
            }
            PostOutcome::Queued => {
                Err(PlatformError::Queued { wait: SignedDuration::from_secs(2) })
            }
            PostOutcome::Refused => Err(PlatformError::Refused("simulated".to_owned())),
            PostOutcome::LostAnswer => {
                self.world.land(item);
                Err(unknown())
            }
            PostOutcome::LostRequest => Err(unknown()),
            PostOutcome::Late(after) => {
                let due = began + SignedDuration::from_millis(after);
                self.world.lock().late.push((due, item.clone()));
                Err(unknown())
            }
            PostOutcome::Hangs { is_posted } => {
                if is_posted {
                    self.world.land(item);
                }
                std::future::pending().await
            }
        }
    }

    async fn show_typing(&self, _item: &OutboxItem) -> SignedDuration {
        SignedDuration::from_secs(self.random("typing").between(0, self.plan.typing))
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        self.fuse.pass().await;
        let mut random = self.random("find");
        self.world.pass(random.between(20, 1500)).await;
        if self.has_trouble(&mut random) {
            let why = "simulated".to_owned();
            return Err(match random.below(2) {
                0 => PlatformError::Busy { why, retry_after: None },
                _ => unknown(),
            });
        }
        self.fuse.pass().await;
        let found = self.world.find(item);
        self.world.log(format!("looks for {}: {}", item.id, found.is_some()));
        Ok(found)
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        SETTLE
    }

    fn backfill_state(&self, _conversation: &ConversationId) -> BackfillState {
        match self.world.lock().is_behind {
            true => BackfillState::Disconnected,
            false => BackfillState::Complete,
        }
    }

    fn max_post_length(&self) -> usize {
        LONGEST_POST
    }
}
