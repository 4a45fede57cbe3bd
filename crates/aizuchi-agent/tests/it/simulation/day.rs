//! One day: time advances from one event to the next, and the process starts, dies and restarts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aizuchi_harness::fixtures::{START, at, mentions, message};
use aizuchi_harness::random::Random;
use aizuchi_harness::test_store::{StoreKind, TestStore};
use aizuchi_model::chat::{MessageId, UserId};
use jiff::{SignedDuration, Timestamp};

use crate::forgetting::dump;
use crate::forgetting::scrub;
use crate::simulation::life::{Life, Machine};
use crate::simulation::plan::{Act, CHANNELS, Plan, Saying, TextKind};
use crate::simulation::promises::Inspector;
use crate::simulation::store::run_now;
use crate::simulation::texts::compose;
use crate::simulation::world::{Broken, EventKind, Word, World, conversation};

/// The maximum number of events per day, beyond which the simulation must be in a loop.
const MOST_TURNS: usize = 60_000;
/// The time after the day within which everything must come to rest.
const REST: SignedDuration = SignedDuration::from_hours(80);

/// The result of a day.
#[derive(Default)]
pub struct DayReport {
    pub transcript: Vec<String>,
    pub broken: Option<Broken>,
    pub messages: usize,
    pub calls: usize,
    pub posts: usize,
    pub unsolicited: usize,
    pub collisions: usize,
    pub crashes: usize,
}

/// A planned event, by the platform's clock.
#[derive(Clone, Debug)]
enum Scheduled {
    Act(Act),
    Start,
    Reconnect,
    StoreBack,
    SetClock(SignedDuration),
}

struct Day {
    machine: Machine,
    random: Random,
    store: Option<TestStore>,
    life: Option<Life>,
    lives: usize,
    is_connected: bool,
    /// By the platform's time, then in planning order.
    schedule: BTreeMap<(Timestamp, usize), Scheduled>,
    planned: usize,
    /// The number of platform events that were handed to the connection.
    delivered: usize,
    messages: usize,
    /// The time of users' current action, which may be while the machine slept.
    acting_at: Timestamp,
}

/// Lives one day, and shows it if requested.
pub fn live(seed: u64, is_shown: bool) -> DayReport {
    let plan = Arc::new(Plan::from_seed(seed));
    let runtime = match plan.store {
        StoreKind::Volatile => None,
        StoreKind::Sqlite | StoreKind::Postgres => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("a runtime starts");
            Some(Arc::new(runtime))
        }
    };
    let machine = Machine {
        plan: plan.clone(),
        world: Arc::new(World::new(is_shown)),
        runtime,
        is_store_down: Arc::new(AtomicBool::new(false)),
        calls: Arc::default(),
    };
    let store = run_now(machine.runtime.as_deref(), plan.store.open());
    let mut day = Day {
        random: Random::new(seed, "day"),
        machine,
        store: Some(store),
        life: None,
        lives: 0,
        is_connected: true,
        schedule: BTreeMap::new(),
        planned: 0,
        delivered: 0,
        messages: 0,
        acting_at: at(0),
    };
    for (after, act) in &plan.acts {
        let at = at(0) + SignedDuration::from_millis(*after);
        day.plan_at(at, Scheduled::Act(act.clone()));
    }
    day.run();
    day.end()
}

impl Day {
    fn world(&self) -> &World {
        &self.machine.world
    }

    fn plan_at(&mut self, at: Timestamp, scheduled: Scheduled) {
        self.planned += 1;
        self.schedule.insert((at, self.planned), scheduled);
    }

    fn plan_in(&mut self, seconds: i64, scheduled: Scheduled) {
        let at = self.world().now() + SignedDuration::from_secs(seconds);
        self.plan_at(at, scheduled);
    }

    fn run(&mut self) {
        self.start();
        let evening = at(24 * 3600);
        for _ in 0..MOST_TURNS {
            if self.world().lock().broken.is_some() {
                return;
            }
            self.deliver_new();
            self.run_until_stalled();
            if self.life.as_ref().is_some_and(|life| life.fuse.is_blown()) {
                let after = *self.random.pick(&[1, 5, 60, 900]);
                self.crash("at a call", after);
                continue;
            }
            let now = self.world().now();
            if now >= evening && self.schedule.is_empty() && self.life.is_some() {
                self.world().lock().is_over = true;
            }
            if now > evening + REST {
                return;
            }
            if !self.advance(evening) {
                return;
            }
        }
        self.world().breaks("everything comes to rest", "too much happens");
    }

    fn run_until_stalled(&mut self) {
        let Some(life) = &mut self.life else { return };
        life.run_until_stalled();
        let runtime = self.machine.runtime.as_deref();
        let is_down = self.machine.is_store_down.load(Ordering::SeqCst);
        if let Some(forgetter) = life.forgetter.as_mut().filter(|_| !is_down) {
            run_now(runtime, forgetter.step()).expect("the store works");
        }
    }

    /// Advances the clock to the next event. Returns false if there will never be one.
    fn advance(&mut self, evening: Timestamp) -> bool {
        let world = self.machine.world.clone();
        let skew = world.lock().skew;
        let planned = self.schedule.keys().next().map(|(at, _)| *at + skew);
        let late = world.lock().late.iter().map(|(at, _)| *at + skew).min();
        let wake = self.life.as_ref().and_then(|_| world.clock.next_wake_at());
        let Some(next) = planned.into_iter().chain(late).chain(wake).min() else {
            let is_evening = world.now() >= evening;
            if !is_evening {
                world.clock.advance_to(evening + skew);
            }
            return !is_evening;
        };
        world.clock.advance_to(next);
        world.land_late();
        let now = world.now();
        while let Some(entry) = self.schedule.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((planned, _), scheduled) = entry.remove_entry();
            self.acting_at = planned;
            self.apply(scheduled);
        }
        true
    }

    fn apply(&mut self, scheduled: Scheduled) {
        match scheduled {
            Scheduled::Act(act) => self.act(act),
            Scheduled::Start => self.start(),
            Scheduled::Reconnect => self.reconnect(),
            Scheduled::StoreBack => {
                self.world().log("the store is back");
                self.machine.is_store_down.store(false, Ordering::SeqCst);
            }
            Scheduled::SetClock(by) => self.set_clock(by),
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Say(saying) => self.say(saying),
            Act::Edit { channel, back, kind } => self.edit(channel, back, kind),
            Act::Delete { channel, back } => self.delete(channel, back),
            Act::React { channel, back, who } => {
                let Some(number) = self.world().recent(channel, back, false) else { return };
                let now = self.acting_at;
                let user = UserId::new(format!("u-{who}"));
                self.world().lock().emit(EventKind::Reaction(number, user), now);
            }
            Act::Crash { after } => self.crash("suddenly", after),
            Act::CrashAtCall { calls } => {
                if let Some(life) = &self.life {
                    life.fuse.light(calls + 1);
                }
            }
            Act::Disconnect { seconds } => {
                self.world().log("the platform is gone");
                self.is_connected = false;
                self.world().lock().is_behind = true;
                self.plan_in(seconds, Scheduled::Reconnect);
            }
            Act::StoreOutage { seconds } => {
                self.world().log("the store is gone");
                self.machine.is_store_down.store(true, Ordering::SeqCst);
                self.plan_in(seconds, Scheduled::StoreBack);
            }
            Act::SetClock { by, right_after } => {
                self.set_clock(by);
                self.plan_in(right_after, Scheduled::SetClock(-by));
            }
            Act::Suspend { seconds } => {
                self.world().log(format!("sleeps for {seconds} s"));
                self.world().lock().suspensions += 1;
                self.world().clock.set_by(SignedDuration::from_secs(seconds));
                if self.life.is_some() {
                    // The connections did not survive.
                    self.is_connected = false;
                    self.world().lock().is_behind = true;
                    self.plan_in(2, Scheduled::Reconnect);
                }
            }
        }
    }

    fn set_clock(&mut self, by: SignedDuration) {
        self.world().log(format!("the clock is set by {by:#}"));
        self.world().lock().skew += by;
        self.world().clock.set_by(by);
    }

    fn say(&mut self, saying: Saying) {
        let Saying { channel, who, thread_back, kind } = saying;
        let (text, word) = compose(&mut self.random, kind);
        let parent = thread_back.and_then(|back| self.world().recent(channel, back, true));
        let parent = parent.filter(|_| channel != "direct");
        let parent = parent.map(|number| self.world().lock().messages[number].message.id.clone());
        let id = format!("m{:03}", self.messages);
        self.messages += 1;
        let now = self.acting_at;
        let said = message(conversation(channel, parent), &id, now, who, &text);
        self.world().log(format!("{who} says {id} [{}] {text:?}", said.conversation));
        self.remember_word(word, said.author.id.clone(), channel);
        let event = self.world().write(said, None);
        if self.random.chance(0.03) {
            let resent = MessageId::new(format!("{id}-twin"));
            let mut state = self.world().lock();
            state.resent.insert(resent.clone());
            let number = state.events[event].kind.message_number();
            state.emit(EventKind::Resent(number, resent), now);
        }
    }

    fn edit(&mut self, channel: &'static str, back: usize, kind: TextKind) {
        let Some(number) = self.world().recent(channel, back, false) else { return };
        let (text, word) = compose(&mut self.random, kind);
        let now = self.acting_at;
        let message = self.world().lock().messages[number].message.clone();
        self.world().log(format!("edits {} {text:?}", message.id));
        self.remember_word(word, message.author.id.clone(), channel);
        let mentions = mentions(&text);
        let mut state = self.world().lock();
        let edited = &mut state.messages[number].message;
        (edited.text, edited.mentions) = (text.as_str().into(), mentions.clone());
        state.emit(EventKind::Edit { number, text, mentions }, now);
    }

    fn delete(&mut self, channel: &'static str, back: usize) {
        let Some(number) = self.world().recent(channel, back, false) else { return };
        let now = self.acting_at;
        let id = self.world().lock().messages[number].message.id.clone();
        self.world().log(format!("deletes {id}"));
        let mut state = self.world().lock();
        state.messages[number].is_deleted = true;
        state.emit(EventKind::Deletion(number), now);
    }

    fn remember_word(&self, word: String, author: UserId, channel: &'static str) {
        let word_of = Word { author, channel, is_heard: false, is_forgotten: false };
        self.world().lock().words.insert(word, word_of);
    }

    /// Delivers the events since the last delivery, if the platform is connected.
    fn deliver_new(&mut self) {
        let count = self.world().lock().events.len();
        let Some(life) = self.life.as_ref().filter(|_| self.is_connected) else { return };
        while self.delivered < count {
            let delay = self.random.between(20, 1200);
            life.deliver(&self.machine, self.delivered, delay);
            if self.random.chance(0.05) {
                let later = self.random.between(1000, 90_000);
                life.deliver(&self.machine, self.delivered, later);
            }
            self.delivered += 1;
        }
    }

    fn start(&mut self) {
        let store = self.store.as_ref().expect("a store is open");
        self.lives += 1;
        self.machine.world.log(format!("starts for the {}. time", self.lives));
        let inspector = self.machine.inspector(store);
        self.machine.world.lock().inspector = Some(inspector);
        let life = self.machine.start(store, self.lives);
        self.life = Some(life);
        self.is_connected = false;
        self.world().lock().is_behind = true;
        self.plan_in(1, Scheduled::Reconnect);
    }

    fn reconnect(&mut self) {
        let Some(life) = &self.life else { return };
        self.machine.world.log("is connected");
        self.is_connected = true;
        let (count, now) = {
            let state = self.machine.world.lock();
            (state.events.len(), self.machine.world.clock.now() - state.skew)
        };
        // The platform itself sends some events again.
        if self.random.chance(0.4) {
            for event in 0..count {
                let at = self.machine.world.lock().events[event].at;
                if now.duration_since(at) < SignedDuration::from_mins(5) {
                    life.deliver(&self.machine, event, self.random.between(20, 3000));
                }
            }
        }
        self.delivered = count;
        life.backfill(&self.machine, self.random.between(100, 20_000));
    }

    fn crash(&mut self, how: &str, after: i64) {
        let Some(life) = self.life.take() else { return };
        self.world().log(format!("dies {how}"));
        let inspector = self.machine.world.lock().inspector.clone();
        if let Some(inspector) = inspector {
            run_now(self.machine.runtime.as_deref(), inspector.check_pending(life.lease));
        }
        drop(life);
        {
            let mut state = self.machine.world.lock();
            state.crashes += 1;
            state.inspector = None;
        }
        let store = self.store.take().expect("a store is open");
        self.store = Some(run_now(self.machine.runtime.as_deref(), store.restart()));
        self.plan_in(after, Scheduled::Start);
    }

    fn end(mut self) -> DayReport {
        let store = self.store.take().expect("a store is open");
        let inspector = self.machine.inspector(&store);
        let runtime = self.machine.runtime.clone();
        let runtime = runtime.as_deref();
        if self.world().lock().broken.is_none() {
            run_now(runtime, inspector.check_day(&self.machine.plan));
        }
        self.life = None;
        if self.world().lock().broken.is_none() {
            let kept = match &store.database_store {
                None => run_now(runtime, inspector.everything()),
                Some(database) => run_now(runtime, async {
                    store.finish_forgetting(self.world().clock.now()).await;
                    scrub(database).await;
                    dump(&store).await
                }),
            };
            inspector.check_forgotten(&kept);
        }
        self.log_ledger(&inspector);
        self.machine.world.lock().inspector = None;
        drop(inspector);
        run_now(runtime, store.stop());
        let mut state = self.machine.world.lock();
        DayReport {
            transcript: std::mem::take(&mut state.transcript),
            broken: state.broken.clone(),
            messages: state.messages.len(),
            calls: state.calls,
            posts: state.posted.len(),
            unsolicited: state.unsolicited,
            collisions: state.collisions,
            crashes: state.crashes,
        }
    }

    fn log_ledger(&self, inspector: &Inspector) {
        let runtime = self.machine.runtime.as_deref();
        for channel in CHANNELS {
            for row in run_now(runtime, inspector.decisions(channel)) {
                let attempts: Vec<String> = row
                    .attempts
                    .iter()
                    .map(|attempt| format!("{} {}", attempt.verb, attempt.result.name()))
                    .collect();
                let opened = row.opened.as_millisecond() - START * 1000;
                let messages = &row.messages;
                let line = format!(
                    "[{channel}] {} {opened} {messages:?} {:?} {:?} {:?} {attempts:?}",
                    row.id, row.ended, row.gate, row.why
                );
                self.machine.world.log(line);
            }
        }
    }
}
