//! Assembles the application and shuts it down. This is the only module that spawns tasks and, models aside, names
//! concrete adapters. The first task to end stops all others.

pub mod browser;
mod serving;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use uuid::Uuid;

use crate::config::Config;
use crate::config::budget::describe_limits;
use crate::config::http::page_address;
use crate::config::values::Port;
use crate::demo::Demo;
use crate::mcp_servers::McpServers;
use crate::models::prompts::load_prompts_in;
use crate::models::{ModelsInUse, build_minds};
use crate::pdf_text::PdfProcesses;
use crate::shadow::chat_trial::{ChatTrial, PageOf};
use crate::web::auth::Authenticator;
use crate::web::computations::{ComputingThread, computations};
use crate::web::event_streams::EventStreams;
use crate::web::figures::kept_days::KeptDays;
use crate::web::health::HealthStatus;
use crate::web::kept_reports::KeptReports;
use crate::web::peer::TrustedProxies;
use crate::web::room_feed::RoomFeed;
use crate::web::server::{Server, ServerLimits};
use crate::web::shadow::RecentAnswers;
use crate::web::sign_in_link::{LINK_KEY_STREAM, random_hex};
use crate::web::{self, Web};
use aizuchi_core::agent::defer::Deferrals;
use aizuchi_core::agent::dispatches::Dispatches;
use aizuchi_core::agent::state::StateCache;
use aizuchi_core::agent::tools::ToolSettings;
use aizuchi_core::agent::{self, Agent};
use aizuchi_core::allowed_calls::AllowedCalls;
use aizuchi_core::chat::Cursor;
use aizuchi_core::clock::Clock;
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::command::standing_order_trial::StandingOrderTrial;
use aizuchi_core::current::Current;
use aizuchi_core::documents::DocumentReader;
use aizuchi_core::external_tools::ExternalTools;
use aizuchi_core::forgetter::Forgetter;
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction};
use aizuchi_core::learner::Learner;
use aizuchi_core::metrics::Metrics;
use aizuchi_core::outgoing::secrets::SecretScanner;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::local::demo_channel::DemoChannel;
use aizuchi_core::platform::local::upload::UploadSettings;
use aizuchi_core::platform::local::{self, LocalRoom};
use aizuchi_core::platform::remote::{Account, RemotePlatform};
use aizuchi_core::platform::{Platform, PlatformDeps, Platforms};
use aizuchi_core::prompt::builder::PromptBuilder;
use aizuchi_core::prompt::tokens::TokenCorrections;
use aizuchi_core::retention::Retention;
use aizuchi_core::rules::Rulebook;
use aizuchi_core::runner::Runner;
use aizuchi_core::scheduled_backup::ScheduledBackup;
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::database::location::OpenedDatabase;
use aizuchi_core::store::{Cursors, Store, StoreError};

/// The assembled application, ready to run.
pub struct App {
    pub address: SocketAddr,
    started: Instant,
    /// What can be replaced while it runs.
    pub live: LiveSettings,
    metrics: Arc<Metrics>,
    models: Arc<ModelsInUse>,
    pages: Server,
    health: Option<Server>,
    /// Runs from the moment the database is open, because the active process has to renew its claim on the database.
    writer: JoinHandle<anyhow::Result<()>>,
    writer_stop: CancellationToken,
    runner: Runner,
    installation: Arc<str>,
    retention: Retention,
    backup: Option<ScheduledBackup>,
    forgetter: Forgetter,
    learner: Learner,
    computing: ComputingThread,
    kept_reports: Arc<KeptReports>,
    erasures: watch::Receiver<u64>,
    web: Arc<Web>,
    room: Arc<LocalRoom>,
    demo: Arc<Demo>,
    remotes: Vec<Arc<dyn RemotePlatform>>,
    mcp_servers: Option<Arc<McpServers>>,
    allowed_calls: AllowedCalls,
    /// Where this process listens.
    own_addresses: Vec<SocketAddr>,
    shutdown: CancellationToken,
}

/// The cursor of the local room that holds the address of the pages, for the command line.
const PAGE_STREAM: &str = "page";

fn page_cursor(address: SocketAddr) -> Cursor {
    let value = page_address(address).into();
    Cursor { workspace: local::workspace_id(), stream: PAGE_STREAM.into(), value }
}

/// An empty one takes the place of an earlier key that signs nothing any more.
fn link_key_cursor(secret: String) -> Cursor {
    let value = secret.into();
    Cursor { workspace: local::workspace_id(), stream: LINK_KEY_STREAM.into(), value }
}

/// What the last program that ran on a database has left in it for the command line.
pub struct LeftByProgram {
    /// The address of its pages.
    pub page: Option<String>,
    /// Its part of the key that signs links.
    pub link_key: Option<String>,
}

impl LeftByProgram {
    pub async fn read(store: &dyn Cursors) -> Result<Self, StoreError> {
        let cursors = store.cursors(&local::workspace_id()).await?;
        let value = |stream: &str| {
            let found = cursors.iter().find(|cursor| &*cursor.stream == stream);
            found.map(|cursor| cursor.value.to_string())
        };
        Ok(Self { page: value(PAGE_STREAM), link_key: value(LINK_KEY_STREAM) })
    }
}

/// The settings that can be replaced while the program runs.
#[derive(Clone)]
pub struct LiveSettings {
    pub config: Current<Config>,
    pub rulebook: Current<Rulebook>,
    /// The prompts of each language that is spoken.
    pub prompts: Vec<(Language, Current<PromptBuilder>)>,
    pub models: Arc<ModelsInUse>,
    /// The connected platforms, by their names in the config.
    pub remotes: Vec<(&'static str, Arc<dyn RemotePlatform>)>,
    pub authenticator: Arc<Authenticator>,
    /// What nothing that a model writes may show.
    pub secrets: SecretScanner,
}

impl App {
    /// Opens the database and the listeners and connects to the configured platforms. `started` is when the process
    /// started. A process that has stood by for another one reads its config again with `reread`: tokens may have been
    /// replaced meanwhile.
    pub async fn open(
        config: &Config,
        reread: impl FnOnce() -> anyhow::Result<Config>,
        started: Instant,
    ) -> anyhow::Result<Self> {
        let listener = serving::listen(config.http.listen.0)?;
        let address = listener.local_addr().context("cannot read the listener's address")?;
        let health = match &config.health_check.port {
            Some(port) => Some(serving::listen(all_interfaces(port))?),
            None => None,
        };
        let max_files = serving::raise_file_limit();
        let (opened, has_stood_by) =
            open_database(config, &listener, health.as_ref(), max_files).await?;
        let (store, writer) = opened;
        let config = match has_stood_by.then(reread) {
            None => config.clone(),
            Some(Ok(newer)) => config.reloaded_from(&newer),
            Some(Err(error)) => {
                let error = format!("{error:#}");
                error!(
                    error,
                    "the config cannot be used any more, so the settings are those of the start"
                );
                config.clone()
            }
        };
        let current_config = Current::from(config.clone());
        let config = &config.with_room_for_models();
        let writer_stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(writer_stop.clone()));
        let store = Arc::new(store);
        let clock = Clock::system();
        let persona = config.persona();
        let metrics = Arc::new(Metrics::default());
        let in_flight = Arc::new(InFlight::default());
        let seed = Uuid::now_v7().as_u64_pair().1;
        let pages = (page_address(address), web::channel_page as PageOf);
        let standing_order_trial =
            Arc::new(ChatTrial::new(store.clone(), store.clone(), clock.clone(), pages));
        let trial: Option<Arc<dyn StandingOrderTrial>> = Some(standing_order_trial.clone());
        let command_replies = build_answers_with(config, store.clone(), store.clone(), trial);
        let rulebook = command_replies.rulebook.clone();
        let channel_cache = Arc::new(ChannelCache::new(rulebook.clone()));
        let inbox = |wait_settings, redaction, remember_delay| {
            Arc::new(Inbox {
                store: store.clone(),
                archive: store.clone(),
                in_flight: in_flight.clone(),
                clock: clock.clone(),
                metrics: metrics.clone(),
                channel_cache: channel_cache.clone(),
                wait_settings,
                redaction,
                persona_name: Some(persona.name.as_str().into()),
                is_announcing: config.response.announce,
                remember_delay,
                random_seed: seed,
            })
        };
        let memory_delay = Some(config.memory_delay());
        let room_inbox = inbox(config.room_wait_settings(), Redaction::Keep, memory_delay);
        room_inbox.load_workspace(&*store, &local::workspace_id()).await?;
        // Also of those that no platform connects now: what was said there is still remembered, and pages show it.
        for workspace in store.workspaces().await? {
            channel_cache.replace_orders(&workspace, &store.orders(&workspace).await?);
        }
        let orders_inbox = room_inbox.clone();
        let room = Arc::new(LocalRoom::new(
            room_inbox,
            store.clone(),
            UploadSettings {
                store: store.clone(),
                max_bytes: config.http.max_upload_bytes(),
                max_total_bytes: config.http.max_uploads_bytes(),
            },
            clock.clone(),
            persona.name.clone(),
        ));
        // What the demo says is not worth remembering.
        let demo_inbox = inbox(config.demo_wait_settings(), Redaction::Keep, None);
        let demo_channel = DemoChannel { room: room.clone(), inbox: demo_inbox };
        let (revisions, persona_of_demo) = (store.revisions(), persona.clone());
        let demo =
            Demo::new(demo_channel, store.clone(), revisions, clock.clone(), persona_of_demo);
        let demo = Arc::new(demo);
        let local = local::workspace_id();
        let platform: Arc<dyn Platform> = room.clone();
        let mut platforms = Platforms(HashMap::from([(local, platform)]));
        let deps = || PlatformDeps {
            persona: persona.clone(),
            inbox: inbox(config.wait_settings(), Redaction::Drop, memory_delay),
            archive: store.clone(),
            cursors: store.clone(),
            answers: command_replies.clone(),
            currency: config.models.currency.0.as_str().into(),
        };
        let mut named_remotes = Vec::new();
        for connector in config.connectors() {
            let remote = connector.connect(deps()).await?;
            platforms.0.insert(remote.workspace(), remote.clone());
            named_remotes.push((connector.platform(), remote));
        }
        let remotes: Vec<_> = named_remotes.iter().map(|(_, remote)| remote.clone()).collect();
        let mcp_servers = McpServers::new(config, &clock, &metrics).map(Arc::new);
        let agent = build_agent(
            config,
            (store.clone(), command_replies),
            platforms.clone(),
            clock.clone(),
            metrics.clone(),
            seed,
            mcp_servers.clone().map(|servers| servers as Arc<dyn ExternalTools>),
        )?;
        let allowed_calls = AllowedCalls {
            inbox: orders_inbox.clone(),
            archive: store.clone(),
            tools: mcp_servers.clone().map(|servers| servers as Arc<dyn ExternalTools>),
        };
        store.put_cursor(page_cursor(address)).await.context("cannot store the page's address")?;
        let link_secret = match config.http.has_sign_in_links() {
            true => Some(random_hex().context("cannot make the key of sign-in links")?),
            false => None,
        };
        store
            .put_cursor(link_key_cursor(link_secret.clone().unwrap_or_default()))
            .await
            .context("cannot store the key of sign-in links")?;
        let models = ModelsInUse::new(
            (current_config.clone(), rulebook.clone()),
            agent.minds.clone(),
            (store.clone(), metrics.clone()),
            agent.settings.secrets.clone(),
            clock.clone(),
        );
        let models = Arc::new(models);
        standing_order_trial.connect(models.clone());
        let speakers = std::iter::once(&agent).chain(agent.translation.as_deref());
        let prompts =
            speakers.map(|speaker| (speaker.persona.language, speaker.prompt_builder.clone()));
        let prompts = prompts.collect();
        let authenticator = Arc::new(Authenticator::new(&config.http, link_secret));
        let live = LiveSettings {
            config: current_config,
            rulebook: rulebook.clone(),
            prompts,
            models: models.clone(),
            remotes: named_remotes,
            authenticator: authenticator.clone(),
            secrets: agent.settings.secrets.clone(),
        };
        let forgetter = Forgetter::new(
            store.clone(),
            channel_cache.clone(),
            clock.clone(),
            config.message_retention(),
        );
        let learner = Learner {
            archive: store.clone(),
            cursors: store.clone(),
            clock: clock.clone(),
            miss: config.response.learned_miss(),
            rulebook,
            gates: agent.learned_gates.clone(),
        };
        let runner = Runner::new(agent, in_flight, channel_cache, config.runner_settings())?;
        let installation = store.installation();
        let retention = Retention {
            store: store.clone(),
            clock: clock.clone(),
            prompt_max_age: config.prompt_retention(),
            prompt_max_bytes: config.retention.prompts_mb.0 * 1_000_000,
            database: config.database_address(),
        };
        let backup = config.backup().map(|(backup, folder)| ScheduledBackup {
            location: config.database_address(),
            folder,
            interval: SignedDuration::from_hours(backup.every_hours.0 as i64),
            keep: backup.keep.0 as usize,
            clock: clock.clone(),
            metrics: metrics.clone(),
        });
        let shutdown = CancellationToken::new();
        let proxies = TrustedProxies::new(&config.http.trusted_proxies);
        let page_limits = ServerLimits::pages(max_files, &proxies);
        let revisions = store.revisions();
        let (newest, erasures) = (*revisions.borrow(), store.erasures());
        let kept_reports = Arc::new(KeptReports::new(clock.clone()));
        let (computations, computing) = computations(shutdown.clone());
        let web = Arc::new(Web {
            computations,
            shadow_answers: RecentAnswers::default(),
            kept_reports: kept_reports.clone(),
            learned_gates: learner.gates.clone(),
            kept_days: KeptDays::default(),
            room: room.clone(),
            demo: demo.clone(),
            room_feed: RoomFeed::new(store.clone(), room.clone(), clock.clone(), newest),
            remotes: remotes.clone(),
            platforms,
            revisions,
            erasures: erasures.clone(),
            archive: store.clone(),
            store,
            inbox: orders_inbox,
            clock,
            metrics: metrics.clone(),
            heartbeat: runner.heartbeat(),
            persona,
            room_wait_seconds: config.room_wait_settings().min_wait_seconds,
            platform_wait_seconds: config.wait_settings().min_wait_seconds,
            models: models.clone(),
            currency: config.models.currency.0.clone(),
            address,
            authenticator,
            zone: config.time_zone_or(TimeZone::system()),
            database: config.database_address().to_string(),
            serves_mcp: config.http.mcp,
            event_streams: Arc::new(EventStreams::within(page_limits.connections())),
            health_status: HealthStatus::default(),
            shutdown: shutdown.clone(),
        });
        let own_addresses =
            [Some(address), health.as_ref().and_then(|health| health.local_addr().ok())];
        let health_limits = ServerLimits::health(max_files, &proxies);
        // Before the start's own text, which is the last thing to be read.
        let limits = describe_limits(&config.rulebook());
        info!(limits, "the limits of calls and posts");
        let web_tools = config.describe_web_tools().join(" and ");
        if !web_tools.is_empty() {
            info!(web_tools, "answers may use the web");
        }
        Ok(Self {
            address,
            started,
            live,
            metrics,
            models,
            health: health.map(|health| {
                let has_metrics = config.health_check.metrics;
                web::health_server(health, web.clone(), health_limits, has_metrics)
            }),
            pages: web::pages_server(listener, web.clone(), page_limits),
            writer,
            writer_stop,
            runner,
            installation,
            retention,
            backup,
            forgetter,
            learner,
            computing,
            kept_reports,
            erasures,
            web,
            room,
            demo,
            remotes,
            mcp_servers,
            allowed_calls,
            own_addresses: own_addresses.into_iter().flatten().collect(),
            shutdown,
        })
    }

    /// The models, and which others could be used.
    pub fn models(&self) -> Arc<ModelsInUse> {
        self.models.clone()
    }

    /// Identifies the database.
    pub fn installation(&self) -> Arc<str> {
        self.installation.clone()
    }

    /// Who the bot is on each connected platform.
    pub fn accounts(&self) -> Vec<Account> {
        self.remotes.iter().map(|remote| remote.account()).collect()
    }

    /// The demo of the local room.
    pub fn demo(&self) -> Arc<Demo> {
        self.demo.clone()
    }

    /// Runs until `stop` is cancelled. Fails if any task ends before that.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            started,
            metrics,
            models,
            mut writer,
            writer_stop,
            runner,
            retention,
            backup,
            forgetter,
            learner,
            computing,
            kept_reports,
            erasures,
            web,
            room,
            demo,
            remotes,
            mcp_servers,
            allowed_calls,
            pages,
            health,
            own_addresses,
            shutdown,
            ..
        } = self;
        room.open().await.context("cannot open the local room")?;
        drop(room);
        let mut tasks: JoinSet<(String, anyhow::Result<()>)> = JoinSet::new();
        // Servers of tools end after all that calls them: of a call that is cut off nobody knows whether it was made.
        let servers_stop = CancellationToken::new();
        let calls_guard = Arc::new(servers_stop.clone().drop_guard());
        let replies_guard = calls_guard.clone();
        let runner_stop = shutdown.clone();
        tasks.spawn(async move {
            let ended = runner.run(runner_stop).await;
            drop(replies_guard);
            ("runner".to_owned(), ended)
        });
        let retention_stop = shutdown.clone();
        tasks.spawn(async move { ("retention".to_owned(), retention.run(retention_stop).await) });
        if let Some(backup) = backup {
            let backup_stop = shutdown.clone();
            tasks.spawn(async move { ("backup".to_owned(), backup.run(backup_stop).await) });
        }
        let forgetter_stop = shutdown.clone();
        tasks.spawn(async move { ("forgetter".to_owned(), forgetter.run(forgetter_stop).await) });
        let learner_stop = shutdown.clone();
        // Learning computes for up to half a second, so it keeps to a thread of its own, which the guard ends with this
        // function however that ends.
        let _learner_guard = shutdown.clone().drop_guard();
        let handle = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || {
            let learning = async {
                tokio::select! {
                    () = learner_stop.cancelled() => Ok(()),
                    ended = learner.run(learner_stop.clone()) => ended,
                }
            };
            ("learner".to_owned(), handle.block_on(learning))
        });
        let handle = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || {
            computing.run(&handle);
            ("computing".to_owned(), Ok(()))
        });
        let reports_stop = shutdown.clone();
        tasks.spawn(async move {
            kept_reports.drop_outdated(erasures, reports_stop).await;
            ("kept reports".to_owned(), Ok(()))
        });
        let renewal_stop = shutdown.clone();
        tasks.spawn(async move {
            web::renew_reports(web, renewal_stop).await;
            ("renewed reports".to_owned(), Ok(()))
        });
        let demo_stop = shutdown.clone();
        tasks.spawn(async move { ("demo".to_owned(), demo.run(demo_stop).await) });
        for remote in remotes {
            let remote_stop = shutdown.clone();
            let name = format!("connection to {}", remote.account().platform);
            tasks.spawn(async move { (name, remote.run(remote_stop).await) });
        }
        if let Some(servers) = mcp_servers {
            tasks.spawn(async move { ("MCP servers".to_owned(), servers.run(servers_stop).await) });
        }
        let calls_stop = shutdown.clone();
        tasks.spawn(async move {
            let ended = allowed_calls.run(calls_stop).await;
            drop(calls_guard);
            ("allowed calls".to_owned(), ended)
        });
        // They only look: they neither delay the start nor end anything.
        let mut looks = JoinSet::new();
        let looking = models.clone();
        looks.spawn(async move { looking.look_around(&own_addresses).await });
        looks.spawn(async move { models.watch().await });
        let servers = [("web", Some(pages)), ("health", health)];
        for (name, server) in servers {
            let Some(server) = server else { continue };
            tasks.spawn(async move { (name.to_owned(), serving::serve(server).await) });
        }
        metrics.record_start(started.elapsed());

        let mut failure = None;
        let mut writer_end = None;
        tokio::select! {
            () = stop.cancelled() => info!("stopping: finishing the work in flight"),
            Some(ended) = tasks.join_next() => failure = Some(unexpected_end(ended)),
            ended = &mut writer => writer_end = Some(ended),
        }
        shutdown.cancel();
        while let Some(ended) = tasks.join_next().await {
            if let Ok((name, Err(error))) = ended {
                error!(task = %name, error = format!("{error:#}"), "a task failed while stopping");
                failure.get_or_insert(error);
            }
        }
        writer_stop.cancel();
        // The writer stops last: the other tasks commit what they finish.
        let was_asked = writer_end.is_none();
        let writer_end = match writer_end {
            Some(ended) => ended,
            None => writer.await,
        };
        writer_end.context("the writer's task")??;
        anyhow::ensure!(was_asked, "the database's writer stopped unexpectedly");
        failure.map_or(Ok(()), Err)
    }
}

/// Opens the database as soon as no other process is active on it. Until then the listeners answer that this
/// process is on standby. Returns whether it was, too.
async fn open_database(
    config: &Config,
    pages: &TcpListener,
    health: Option<&TcpListener>,
    max_files: u64,
) -> anyhow::Result<(OpenedDatabase, bool)> {
    let address = config.database_address();
    if let Some(opened) = address.open_if_free().await? {
        return Ok((opened, false));
    }
    warn!(database = %address, "on standby: another Aizuchi is active on this database");
    let active = CancellationToken::new();
    let mut standby = JoinSet::new();
    let proxies = TrustedProxies::new(&config.http.trusted_proxies);
    let limits = ServerLimits::pages(max_files, &proxies);
    let server = web::standby_server(serving::share(pages)?, limits, active.clone());
    standby.spawn(serving::serve(server));
    if let Some(health) = health {
        let limits = ServerLimits::health(max_files, &proxies);
        let metrics = Arc::new(Metrics::default());
        metrics.set_standing_by(true);
        let metrics = Some(metrics).filter(|_| config.health_check.metrics);
        let listener = serving::share(health)?;
        let server = web::standby_health_server(listener, limits, active.clone(), metrics);
        standby.spawn(serving::serve(server));
    }
    let opened = address.wait_and_open().await;
    active.cancel();
    standby.detach_all();
    info!(database = %address, "this process is active now");
    Ok((opened, true))
}

/// The agent with the minds, prompts and tools that the configuration names.
pub fn build_agent(
    config: &Config,
    (store, command_replies): (Arc<dyn Store>, Arc<CommandReplies>),
    platforms: Platforms,
    clock: Clock,
    metrics: Arc<Metrics>,
    seed: u64,
    external_tools: Option<Arc<dyn ExternalTools>>,
) -> anyhow::Result<Agent> {
    let persona = config.persona();
    let rulebook = command_replies.rulebook.clone();
    let documents = pdf_reader();
    let mut agent = Agent {
        command_answers: command_replies,
        store,
        platforms,
        minds: build_minds(config, &clock)?,
        dispatches: Dispatches::new(clock.clone()),
        clock,
        metrics,
        persona: persona.clone(),
        prompt_builder: load_prompts_in(config, persona.language)?.into(),
        learned_gates: Arc::default(),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        tools: Some(ToolSettings {
            zone: config.time_zone_or(TimeZone::system()),
            web: config.web_tools(documents.clone()).context("cannot prepare the web tools")?,
            external: external_tools,
            consent_lifetime: config.tools.mcp.consent_lifetime(),
        }),
        settings: agent::AgentSettings {
            rulebook,
            workspace_timings: [(local::workspace_id(), config.response.room_timing())].into(),
            ..config.agent_settings()
        },
        seed,
        documents,
        translation: None,
        demo: None,
    };
    // Somebody may set the other language for a channel while the program runs.
    let language = other_language(persona.language);
    match load_prompts_in(config, language) {
        Ok(prompts) => {
            agent.translation = Some(Box::new(agent.in_language(language, prompts)));
        }
        Err(error) if config.is_bilingual() => return Err(error),
        Err(error) => warn!(%error, "it speaks one language only, since the other has no prompts"),
    }
    agent.demo = Some(Box::new(agent.for_demo(load_prompts_in(config, persona.language)?)));
    Ok(agent)
}

/// What reads PDFs, if the program can start itself again.
fn pdf_reader() -> Option<Arc<dyn DocumentReader>> {
    match PdfProcesses::of_this_program() {
        Ok(processes) => Some(Arc::new(processes)),
        Err(error) => {
            warn!(%error, "PDFs are known by their names only, since the program cannot start itself");
            None
        }
    }
}

fn other_language(language: Language) -> Language {
    match language {
        Language::En => Language::Ja,
        Language::Ja => Language::En,
    }
}

/// What the answers to commands are made from, where no draft of an order is tried.
pub fn build_command_answers(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Arc<CommandReplies> {
    build_answers_with(config, store, archive, None)
}

fn build_answers_with(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    standing_order_trial: Option<Arc<dyn StandingOrderTrial>>,
) -> Arc<CommandReplies> {
    Arc::new(CommandReplies {
        store,
        archive,
        rulebook: config.app_rulebook().into(),
        persona: config.persona(),
        zone: config.time_zone_or(TimeZone::system()),
        admins_workspace: local::workspace_id(),
        standing_order_trial,
    })
}

fn unexpected_end(
    ended: Result<(String, anyhow::Result<()>), tokio::task::JoinError>,
) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("the {name} stopped unexpectedly"),
        Ok((name, Err(error))) => error.context(format!("the {name} ended")),
        Err(error) => anyhow::anyhow!("a part of Aizuchi ended unexpectedly: {error}"),
    }
}

/// The address of a port on all interfaces.
pub fn all_interfaces(port: &Port) -> SocketAddr {
    let port = u16::try_from(port.0).unwrap_or(0);
    // A machine without IPv6 cannot bind the IPv6 wildcard, which would cover IPv4 as well.
    let has_v6 = std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if has_v6 { (Ipv6Addr::UNSPECIFIED, port).into() } else { (Ipv4Addr::UNSPECIFIED, port).into() }
}
