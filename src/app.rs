//! Puts the parts together, and takes them down again: the only place that names concrete adapters
//! and spawns tasks. Whichever task ends first stops the rest.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use uuid::Uuid;

use crate::agent::{Agent, Minds};
use crate::clock::Clock;
use crate::config::Config;
use crate::hear::Ears;
use crate::hear::under_way::UnderWay;
use crate::llm::builtin::BuiltinMind;
use crate::metrics::Metrics;
use crate::platform::local::{self, LocalRoom};
use crate::platform::{Platform, Platforms};
use crate::runner::{self, Runner};
use crate::store::Store;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::writer::SqliteWriter;
use crate::web::{self, Web};

/// The channels that the local room begins with.
const CHANNELS: [&str; 2] = ["general", "random"];

/// Everything that is ready to run.
pub struct App {
    pub address: SocketAddr,
    began: Instant,
    metrics: Arc<Metrics>,
    listener: TcpListener,
    writer: SqliteWriter,
    runner: Runner,
    room: Arc<LocalRoom>,
    web: Arc<Web>,
    shutdown: CancellationToken,
}

impl App {
    /// Opens the database and the port. Fails with a sentence if either is not to be had.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let began = Instant::now();
        // The pages do not ask for http.token yet.
        anyhow::ensure!(
            config.http.listen.0.ip().is_loopback(),
            "http.listen can be reached from other machines, but this version does not ask \
             visitors for http.token yet; listen on 127.0.0.1"
        );
        let listener = listen(config.http.listen.0).await?;
        let address = listener.local_addr().context("reading the listener's address")?;
        let (store, writer) = SqliteStore::open(&config.database()).await?;
        let store = Arc::new(store);
        let clock = Clock::system();
        let persona = config.persona();
        let metrics = Arc::new(Metrics::default());
        let under_way = Arc::new(UnderWay::default());
        let seed = Uuid::now_v7().as_u64_pair().1;
        let ears = Arc::new(Ears {
            store: store.clone(),
            under_way: under_way.clone(),
            clock: clock.clone(),
            metrics: metrics.clone(),
            waiting: config.room_waiting(),
            seed,
        });
        let room =
            Arc::new(LocalRoom::new(ears, store.clone(), clock.clone(), persona.name.clone()));
        let platform: Arc<dyn Platform> = room.clone();
        let agent = Agent {
            store: store.clone(),
            platforms: Platforms(HashMap::from([(local::workspace(), platform)])),
            minds: Minds::alike(Arc::new(BuiltinMind), &persona),
            clock: clock.clone(),
            metrics: metrics.clone(),
            persona: persona.clone(),
            settings: config.agent(),
            seed,
        };
        let runner = Runner::new(agent, under_way, runner::Settings::default())?;
        let shutdown = CancellationToken::new();
        let web = Arc::new(Web {
            room: room.clone(),
            revisions: store.revisions(),
            archive: store.clone(),
            store,
            clock,
            metrics: metrics.clone(),
            persona,
            wait_seconds: config.room_waiting().min_wait_seconds,
            token: None,
            shutdown: shutdown.clone(),
        });
        Ok(Self { address, began, metrics, listener, writer, runner, room, web, shutdown })
    }

    /// Runs until `stop` is cancelled. Fails if any part ends without being asked to.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self { began, metrics, listener, writer, runner, room, web, shutdown, .. } = self;
        let writer_stop = CancellationToken::new();
        let mut writer = tokio::spawn(writer.run(writer_stop.clone()));
        room.open(&CHANNELS).await.context("opening the local room")?;
        drop(room);
        let mut tasks: JoinSet<(&str, anyhow::Result<()>)> = JoinSet::new();
        let runner_stop = shutdown.clone();
        tasks.spawn(async move { ("runner", runner.run(runner_stop).await) });
        tasks.spawn(async move { ("web", web::serve(listener, web).await) });
        metrics.started(began.elapsed());

        let mut failed = None;
        let mut written = None;
        tokio::select! {
            () = stop.cancelled() => info!("stopping: finishing what has begun"),
            Some(ended) = tasks.join_next() => failed = Some(unasked(ended)),
            ended = &mut writer => written = Some(ended),
        }
        shutdown.cancel();
        while let Some(ended) = tasks.join_next().await {
            if let Ok((name, Err(error))) = ended {
                error!("the {name} ended badly: {error:#}");
                failed.get_or_insert(error);
            }
        }
        writer_stop.cancel();
        let was_asked = written.is_none();
        let written = match written {
            Some(written) => written,
            None => writer.await,
        };
        written.context("the writer's task")??;
        anyhow::ensure!(was_asked, "the database's writer ended without being asked to");
        failed.map_or(Ok(()), Err)
    }
}

fn unasked(ended: Result<(&str, anyhow::Result<()>), tokio::task::JoinError>) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("the {name} ended without being asked to"),
        Ok((name, Err(error))) => error.context(format!("the {name} ended")),
        Err(error) => anyhow::anyhow!("a task ended: {error}"),
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "another program listens on {address}; stop it, or set http.listen to another port"
        ),
        _ => anyhow::anyhow!("cannot listen on {address}: {error}"),
    })
}
