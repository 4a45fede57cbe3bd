//! The runner in its loop: concurrent across conversations, drained on shutdown.

use std::sync::Arc;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_agent::agent::{Agent, Minds};
use aizuchi_agent::runner::{Runner, RunnerSettings};
use aizuchi_harness::fixtures::{at, message, top_level};
use aizuchi_harness::harness::{Harness, build_parts};
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::platform::Platforms;
use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::SignedDuration;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const CHANNELS: usize = 20;
/// The timeout for something that takes seconds, and minutes on a busy machine.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(600);

/// A model that answers no call before all calls have arrived.
struct BarrierModel(Barrier);

#[async_trait]
impl Llm for BarrierModel {
    fn model(&self) -> &str {
        "barrier"
    }

    async fn ask(&self, _prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.0.wait().await;
        Ok(LlmResponse::new("Here I am.".to_owned(), Default::default()))
    }
}

/// A model that signals each call, and answers when the test lets it.
#[derive(Default)]
struct HeldModel {
    asked: Notify,
    may_answer: Notify,
}

#[async_trait]
impl Llm for HeldModel {
    fn model(&self) -> &str {
        "held"
    }

    async fn ask(&self, _prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.asked.notify_one();
        self.may_answer.notified().await;
        Ok(LlmResponse::new("Here I am.".to_owned(), Default::default()))
    }
}

#[tokio::test]
async fn twenty_channels_are_answered_concurrently() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let mind = Arc::new(BarrierModel(Barrier::new(CHANNELS)));
        let (inbox, runner) = build_parts(
            harness.store.store.clone(),
            harness.clock.clone(),
            mind,
            harness.platform.clone(),
        );
        let harness = Harness { inbox, runner: Arc::new(runner), ..harness };
        for channel in 0..CHANNELS {
            harness
                .says_in(top_level(&format!("c{channel}")), "alice", "@Aizuchi are you there?")
                .await;
        }
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts().len(), CHANNELS);
    })
    .await;
}

/// A harness on the system clock, with a running runner.
struct RunningHarness {
    harness: Harness,
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

impl RunningHarness {
    async fn start(store: TestStore) -> Self {
        let harness = Harness::from_parts(store, Clock::system(), Arc::default(), Arc::default());
        harness.mind.script.set_default(PromptVerb::Reply, "Here I am.");
        let (stop, runner) = (CancellationToken::new(), harness.runner.clone());
        let stopping = stop.clone();
        let running = tokio::spawn(async move { runner.run(stopping).await });
        Self { harness, stop, running }
    }

    fn mention(&self, channel: &str) -> Heard {
        let id = format!("m-{channel}");
        let message =
            message(top_level(channel), &id, self.harness.clock.now(), "alice", "@Aizuchi hello");
        Heard::Message(message, Arrival::Live)
    }

    /// Waits until this many posts are made and nothing is due, then stops the runner. What nobody
    /// answered still waits for its judgment.
    async fn until_posted(self, posts: usize) {
        let store = self.harness.store.store.clone();
        let mut revisions = store.revisions();
        let platform = self.harness.platform.clone();
        let clock = self.harness.clock.clone();
        let said = async {
            while platform.posted_texts().len() < posts
                || store.next_ready().await.unwrap().is_some_and(|ready| ready <= clock.now())
            {
                revisions.changed().await.unwrap();
            }
        };
        tokio::time::timeout(TIMEOUT, said).await.expect("all are answered");
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
        assert_eq!(platform.posted_texts().len(), posts);
    }
}

/// Steps in flight hold readers of the database while the runner claims more.
#[tokio::test]
async fn a_running_runner_keeps_up_with_many_channels_on_few_readers() {
    const MANY: usize = 200;
    on_every_store(async |store| {
        let live = RunningHarness::start(store.with_all_readers().await).await;
        let heard =
            (0..MANY).map(|number| live.harness.inbox.hear(live.mention(&format!("c{number}"))));
        let heard = futures_util::future::join_all(heard).await;
        assert!(heard.into_iter().all(|heard| heard.unwrap().is_new));
        live.until_posted(MANY).await;
    })
    .await;
}

/// The caller may be dropped while a database writes its message.
#[tokio::test]
async fn a_message_whose_caller_has_gone_still_wakes_the_runner() {
    on_every_database(async |store| {
        let live = RunningHarness::start(store).await;
        let known = message(top_level("garden"), "m-0", live.harness.clock.now(), "alice", "hm");
        live.harness.inbox.hear(Heard::Message(known, Arrival::Live)).await.unwrap();
        // Polled once, so that the write is in flight, then dropped.
        let heard = live.harness.inbox.hear(live.mention("garden")).now_or_never();
        assert!(heard.is_none());
        live.until_posted(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_stop_finishes_the_step_in_flight() {
    on_every_store(async |store| {
        let mind = Arc::new(HeldModel::default());
        let platform = Arc::new(TestPlatform::default());
        let harness =
            Harness::from_parts(store.clone(), Clock::system(), Arc::default(), platform.clone());
        let (inbox, runner) =
            build_parts(store.store.clone(), Clock::system(), mind.clone(), platform.clone());
        let harness = Harness { inbox, ..harness };
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let running = tokio::spawn(async move { runner.run(stopping).await });
        harness.says("alice", "@Aizuchi are you there?").await;
        mind.asked.notified().await;
        stop.cancel();
        mind.may_answer.notify_one();
        running.await.unwrap().unwrap();
        // The reply was finished and stored. The post is a separate step, left for the next start.
        let steps =
            store.archive.pending_steps(&aizuchi_harness::fixtures::workspace()).await.unwrap();
        assert_eq!(steps.len(), 1);
        assert_eq!((steps[0].work.verb(), steps[0].lease), ("post", None));
        assert!(platform.posted_texts().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_lease_shorter_than_the_longest_step_is_refused_at_start() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let persona = Arc::new(aizuchi_model::persona::Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: aizuchi_model::persona::Language::En,
        });
        let answers = CommandReplies {
            store: harness.store.store.clone(),
            archive: harness.store.archive.clone(),
            rulebook: Default::default(),
            persona: persona.clone(),
            zone: jiff::tz::TimeZone::UTC,
            admins_workspace: aizuchi_model::chat::local::workspace_id(),
            standing_order_trial: None,
            platforms: Platforms::default(),
        };
        let agent = Agent {
            command_answers: Arc::new(answers),
            store: harness.store.store.clone(),
            platforms: Default::default(),
            minds: Minds::from_llm(harness.mind.clone(), &persona),
            clock: harness.clock.clone(),
            metrics: Arc::default(),
            persona,
            prompt_builder: aizuchi_harness::harness::prompts(aizuchi_model::persona::Language::En)
                .into(),
            welcome_labels: Default::default(),
            token_corrections: Default::default(),
            state_cache: Default::default(),
            deferrals: aizuchi_agent::agent::backfill_deferral::Deferrals::default(),
            dispatches: aizuchi_agent::agent::post_dispatches::Dispatches::new(
                harness.clock.clone(),
            ),
            user_rate_limit: aizuchi_agent::agent::user_rate_limit::UserRateLimit::new(
                harness.clock.clone(),
            ),
            tools: None,
            settings: Default::default(),
            seed: 1,
            documents: None,
            translation: None,
            demo: None,
        };
        let settings =
            RunnerSettings { lease: SignedDuration::from_secs(100), ..RunnerSettings::default() };
        let refused =
            Runner::new(agent, Arc::default(), Arc::default(), settings).err().unwrap().to_string();
        assert_eq!(refused, "the lease of 1m 40s is not longer than a step may take (2m 45s)");
    })
    .await;
}

/// A mention that was heard is owed an answer, however long the process was down. A mention that was missed for too
/// long is not (invariants 1 and 3).
#[tokio::test]
async fn a_mention_heard_before_days_offline_is_answered_and_an_old_missed_one_is_not() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let heard = harness.says("alice", "@Aizuchi when do I cut the roses?").await;
        const DAY: i64 = 24 * 3600;
        harness.clock.advance_to(at(3 * DAY));
        let harness = harness.restart().await;
        let missed =
            message(top_level("garden"), "missed", at(DAY), "bob", "@Aizuchi and the beans?");
        harness.inbox.hear(Heard::Message(missed, Arrival::Backfilled)).await.unwrap();
        harness.pass(1000).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        let decisions = harness.decisions("garden").await;
        assert_eq!(decisions.len(), 1);
        assert_eq!(
            (&decisions[0].messages, decisions[0].ended),
            (&vec![heard], Some(DecisionResult::Spoke))
        );
        let missed = harness
            .messages("garden")
            .await
            .into_iter()
            .find(|stored| &*stored.message.id.0 == "missed");
        assert_eq!(missed.unwrap().gate, Some(Gate::Backfilled));
    })
    .await;
}
