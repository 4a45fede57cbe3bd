//! One life of the process, from its start until it is killed: the real inbox, runner and agent, and a plain adapter
//! that acknowledges what it could store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::forgetter::Forgetter;
use aizuchi_agent::inbox::Inbox;
use aizuchi_harness::fixtures::{new_channel, workspace};
use aizuchi_harness::harness::{HarnessOptions, build_parts_with};
use aizuchi_harness::random::Random;
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::chat::{Arrival, AuthorKind, Heard, MessageId, Role, User, UserId, Visibility};
use aizuchi_model::rules::Mode;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::simulation::mind::SimulatedMind;
use crate::simulation::plan::{CHANNELS, PEOPLE, Plan};
use crate::simulation::platform::SimulatedPlatform;
use crate::simulation::promises::Inspector;
use crate::simulation::store::{Fuse, SimulatedStore, run_now};
use crate::simulation::world::{EventKind, PERSONA, World, conversation};

/// The state that lives as long as the machine.
#[derive(Clone)]
pub struct Machine {
    pub plan: Arc<Plan>,
    pub world: Arc<World>,
    /// The runtime of a database's own tasks.
    pub runtime: Option<Arc<Runtime>>,
    pub is_store_down: Arc<AtomicBool>,
    pub calls: Arc<AtomicUsize>,
}

pub struct Life {
    pool: LocalPool,
    pub inbox: Arc<Inbox>,
    pub fuse: Arc<Fuse>,
    pub forgetter: Option<Forgetter>,
    pub lease: SignedDuration,
    /// Whether it knows its orders, channels and users.
    is_ready: Arc<AtomicBool>,
}

impl Machine {
    pub fn inspector(&self, store: &TestStore) -> Inspector {
        Inspector {
            store: store.store.clone(),
            archive: store.archive.clone(),
            world: self.world.clone(),
            rulebook: self.plan.rulebook.clone().into(),
        }
    }

    /// Starts a process.
    pub fn start(&self, store: &TestStore, number: usize) -> Life {
        let Self { plan, world, runtime, is_store_down, calls } = self.clone();
        let fuse = Fuse::unlit();
        let inspector = self.inspector(store);
        let mind = Arc::new(SimulatedMind {
            plan: plan.clone(),
            world: world.clone(),
            fuse: fuse.clone(),
        });
        let platform = Arc::new(SimulatedPlatform {
            plan: plan.clone(),
            world: world.clone(),
            fuse: fuse.clone(),
            inspector: inspector.clone(),
            runtime: runtime.clone(),
            calls,
        });
        let ports = Arc::new(SimulatedStore {
            inner: store.store.clone(),
            runtime: runtime.clone(),
            world: world.clone(),
            fuse: fuse.clone(),
            trouble: plan.store_trouble,
            is_down: is_store_down,
            random: Random::new(plan.seed.wrapping_mul(41) ^ number as u64, "store").into(),
            inspector,
        });
        let options = HarnessOptions {
            settings: plan.agent_settings(),
            wait_settings: plan.wait_settings(),
            tools: plan.has_tools.then(|| ToolSettings::new(TimeZone::UTC)),
            memory: plan.has_memory.then(|| mind.clone() as _),
            // A database's archive would answer in its own time.
            archive: runtime.is_none().then(|| store.archive.clone()),
            ..HarnessOptions::default()
        };
        let lease = options.settings.max_step_duration() + SignedDuration::from_secs(190);
        let (inbox, runner) = build_parts_with(ports, world.clock.clone(), mind, platform, options);
        let forgetter = store.database_store.clone().map(|database| {
            Forgetter::new(database, inbox.channel_cache.clone(), world.clock.clone(), None)
        });
        let pool = LocalPool::new();
        let is_ready = Arc::new(AtomicBool::new(false));
        let life =
            Life { pool, inbox: inbox.clone(), fuse, forgetter, lease, is_ready: is_ready.clone() };
        life.spawn(async move {
            introduce(&inbox, &world).await;
            is_ready.store(true, Ordering::SeqCst);
            runner.run(CancellationToken::new()).await.expect("the runner runs until it is killed");
        });
        life
    }
}

/// Tells a starting process its orders, channels and users, however often the store refuses.
async fn introduce(inbox: &Inbox, world: &World) {
    loop {
        match inbox.store.orders(&workspace()).await {
            Ok(orders) => break inbox.channel_cache.replace_orders(&workspace(), &orders),
            Err(_) => world.pass(1000).await,
        }
    }
    let channels = CHANNELS.map(|name| {
        let visibility = match name {
            "attic" => Visibility::Private,
            "direct" => Visibility::Direct,
            _ => Visibility::Public,
        };
        Heard::Channel(new_channel(name, visibility))
    });
    let users = PEOPLE.iter().enumerate().map(|(number, name)| {
        Heard::User(User {
            workspace: workspace(),
            id: UserId::new(format!("u-{name}")),
            name: (*name).into(),
            kind: AuthorKind::Human,
            role: if number == 0 { Role::Admin } else { Role::Member },
            zone: None,
        })
    });
    for heard in channels.into_iter().chain(users) {
        while inbox.hear(heard.clone()).await.is_err() {
            world.pass(1000).await;
        }
    }
    for name in ["garden", "kitchen"] {
        // If this is refused, the join is announced at the next start.
        let _ = inbox.announce_join(conversation(name, None), UserId::new(PERSONA)).await;
    }
}

impl Life {
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.pool.spawner().spawn_local(task).expect("the pool lives");
    }

    pub fn run_until_stalled(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Delivers an event until it is acknowledged.
    pub fn deliver(&self, machine: &Machine, event: usize, delay: i64) {
        let (adapter, world) = (Adapter::new(self, machine), machine.world.clone());
        self.spawn(async move {
            world.pass(delay).await;
            let mut wait = 1000;
            while !adapter.try_deliver(event, false).await {
                world.pass(wait).await;
                wait = (wait * 4).min(300_000);
            }
        });
    }

    /// Reads missed events in order, and counts as behind in the meantime.
    pub fn backfill(&self, machine: &Machine, pause: i64) {
        let (adapter, world) = (Adapter::new(self, machine), machine.world.clone());
        world.lock().is_behind = true;
        self.spawn(async move {
            world.pass(pause).await;
            let missed = |world: &World| {
                let state = world.lock();
                state.events.iter().position(|event| !event.is_acknowledged)
            };
            while let Some(event) = missed(&world) {
                match adapter.try_deliver(event, true).await {
                    true => world.pass(40).await,
                    false => world.pass(2000).await,
                }
            }
            world.lock().is_behind = false;
            world.log("has read what it missed");
        });
    }
}

/// The adapter between the platform and the inbox.
struct Adapter {
    inbox: Arc<Inbox>,
    is_ready: Arc<AtomicBool>,
    machine: Machine,
    inspector: Inspector,
}

impl Adapter {
    fn new(life: &Life, machine: &Machine) -> Self {
        let inspector = machine.world.lock().inspector.clone();
        let inspector = inspector.expect("a store is open while a process lives");
        let (inbox, is_ready) = (life.inbox.clone(), life.is_ready.clone());
        Self { inbox, is_ready, machine: machine.clone(), inspector }
    }

    /// Delivers an event. Returns whether nothing is left to deliver.
    async fn try_deliver(&self, event: usize, backfilled: bool) -> bool {
        let world = &self.machine.world;
        if !self.is_ready.load(Ordering::SeqCst) || world.must_wait(event) {
            return false;
        }
        let Some(delivery) = world.delivery(event, backfilled) else { return true };
        let kind = world.lock().events[event].kind.clone();
        let (id, conversation) = {
            let state = world.lock();
            let message = &state.messages[kind.message_number()].message;
            (message.id.clone(), message.conversation.clone())
        };
        let runtime = self.machine.runtime.as_deref();
        let was_owed = run_now(runtime, self.inspector.owed(&conversation)).contains(&id);
        let heard = delivery.heard.clone();
        let receipt = match self.inbox.deliver(delivery).await {
            Ok(receipt) => receipt,
            Err(_) => return false,
        };
        let is_owed = run_now(runtime, self.inspector.owed(&conversation)).contains(&id);
        self.acknowledge(event, &kind, &heard, receipt.is_new, (was_owed, is_owed), &id);
        true
    }

    fn acknowledge(
        &self,
        event: usize,
        kind: &EventKind,
        heard: &Heard,
        is_new: bool,
        (was_owed, is_owed): (bool, bool),
        id: &MessageId,
    ) {
        let world = &self.machine.world;
        let mut unanswered = None;
        {
            let mut state = world.lock();
            let is_first = !state.events[event].is_acknowledged;
            state.events[event].is_acknowledged = true;
            let conversation = state.messages[kind.message_number()].message.conversation.clone();
            match kind {
                EventKind::Message(number) if is_first => {
                    state.messages[*number].is_heard = true;
                    if is_owed {
                        state.asked.insert(id.clone(), conversation);
                    } else if let Heard::Message(message, Arrival::Live) = heard
                        && is_new
                        && message.is_addressed()
                    {
                        unanswered = Some(message.clone());
                    }
                }
                EventKind::Edit { .. } if is_owed => {
                    if !was_owed {
                        *state.anew.entry(id.clone()).or_default() += 1;
                    }
                    state.asked.insert(id.clone(), conversation);
                }
                // It is no longer a mention, or too late.
                EventKind::Edit { .. } | EventKind::Deletion(_) => {
                    state.asked.remove(id);
                }
                EventKind::Message(_) | EventKind::Resent(..) | EventKind::Reaction(..) => {}
            }
        }
        let Some(message) = unanswered else { return };
        let cache = &self.inbox.channel_cache;
        let (workspace, channel) = (&message.conversation.workspace, &message.conversation.channel);
        let age = world.now().duration_since(message.at);
        let is_ignored = cache.has_opted_out(workspace, &message.author.id)
            || cache.mode(workspace, channel) == Mode::Off
            || age.as_secs_f64() >= self.inbox.wait_settings.max_message_age_seconds;
        if !is_ignored {
            world.breaks("a mention is owed an answer", format!("{id} is owed none: {heard:?}"));
        }
    }
}
