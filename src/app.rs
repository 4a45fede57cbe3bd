//! Assembles the application and shuts it down. This is the only module that spawns tasks and, models aside, names
//! concrete adapters.

pub mod agent;
pub mod browser;
pub mod last_program;
mod connection;
mod serving;
mod standby;
mod tasks;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use aizuchi_actions::standing_order_trial::StandingOrderTrial;
use aizuchi_agent::allowed_calls::AllowedCalls;
use aizuchi_agent::external_tools::ExternalTools;
use aizuchi_agent::first_words::FirstWords;
use aizuchi_agent::forgetter::Forgetter;
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction};
use aizuchi_agent::learner::Learner;
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::retention::Retention;
use aizuchi_agent::runner::Runner;
use aizuchi_agent::scheduled_backup::ScheduledBackup;
use aizuchi_config::Config;
use aizuchi_config::budget::describe_limits;
use aizuchi_config::http::page_address;
use aizuchi_config::models::in_use::ModelsInUse;
use aizuchi_config::values::Port;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::local;
use aizuchi_model::clock::Clock;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::Platform;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::Rulebook;
use aizuchi_past::shadow::chat_trial::{ChatTrial, PageOf};
use aizuchi_past::shadow::recent_answers::RecentAnswers;
use aizuchi_platform::PlatformDeps;
use aizuchi_platform::demo::Demo;
use aizuchi_platform::local::LocalRoom;
use aizuchi_platform::local::demo_channel::DemoChannel;
use aizuchi_platform::local::upload::UploadSettings;
use aizuchi_platform::remote::{Account, Remotes};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Cursors, Store};
use aizuchi_web::Web;
use aizuchi_web::auth::Authenticator;
use aizuchi_web::computations::{ComputingThread, computations};
use aizuchi_web::configuration::Configuration;
use aizuchi_web::event_streams::EventStreams;
use aizuchi_web::figures::day_cache::DayCache;
use aizuchi_web::health::HealthStatus;
use aizuchi_web::peer::TrustedProxies;
use aizuchi_web::report_cache::ReportCache;
use aizuchi_web::room::feed::RoomFeed;
use aizuchi_web::server::{Server, ServerLimits};
use aizuchi_web::sign_in_link::random_hex;
use anyhow::Context as _;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use uuid::Uuid;

use crate::app::agent::{build_agent, build_answers_with};
use crate::app::connection::PlatformConnection;
use crate::app::last_program::{link_key_cursor, page_cursor};
use crate::app::standby::open_database;
use crate::mcp_servers::McpServers;

/// The assembled application, ready to run.
pub struct App {
    pub address: SocketAddr,
    started: Instant,
    /// The settings that can be replaced while the program runs.
    pub live: LiveSettings,
    metrics: Arc<Metrics>,
    models: Arc<ModelsInUse>,
    pages: Server,
    health: Option<Server>,
    /// Runs from the moment the database is open, because the active process has to renew its claim on it.
    writer: JoinHandle<anyhow::Result<()>>,
    writer_stop: CancellationToken,
    runner: Runner,
    installation: Arc<str>,
    retention: Retention,
    backup: Option<ScheduledBackup>,
    forgetter: Forgetter,
    learner: Learner,
    first_words: FirstWords,
    computing: ComputingThread,
    report_cache: Arc<ReportCache>,
    erasures: watch::Receiver<u64>,
    web: Arc<Web>,
    room: Arc<LocalRoom>,
    demo: Arc<Demo>,
    connections: Vec<PlatformConnection>,
    mcp_servers: Option<Arc<McpServers>>,
    allowed_calls: AllowedCalls,
    /// The addresses on which this process listens.
    own_addresses: Vec<SocketAddr>,
    shutdown: CancellationToken,
}

/// The settings that can be replaced while the program runs.
#[derive(Clone)]
pub struct LiveSettings {
    pub config: Reloadable<Config>,
    pub rulebook: Reloadable<Rulebook>,
    /// The prompts of each language in use.
    pub prompts: Vec<(Language, Reloadable<PromptBuilder>)>,
    pub models: Arc<ModelsInUse>,
    pub remotes: Remotes,
    pub authenticator: Arc<Authenticator>,
    /// The config that the pages show.
    pub configuration: Arc<Configuration>,
    /// The secrets that model output must never contain.
    pub secrets: SecretScanner,
}

impl App {
    /// Opens the database and the listeners, and connects to the configured platforms. `started` is when the process
    /// started. A process that has been on standby reads its config again with `reread`, because tokens may have been
    /// replaced in the meantime.
    pub async fn open(
        config: &Config,
        reread: impl FnOnce() -> anyhow::Result<Config>,
        started: Instant,
    ) -> anyhow::Result<Self> {
        // Before the database: a process on standby answers on its listeners while it waits.
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
        let current_config = Reloadable::from(config.clone());
        let config = &config.with_room_for_models();
        let writer_stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(writer_stop.clone()));
        let store = Arc::new(store);
        let clock = Clock::system();
        let persona = config.persona();
        let metrics = Arc::new(Metrics::default());
        let in_flight = Arc::new(InFlight::default());
        // The second half is random; the first is mostly the time.
        let seed = Uuid::now_v7().as_u64_pair().1;
        let pages = (page_address(address), aizuchi_web::channel_page as PageOf);
        let shadow_answers = Arc::new(RecentAnswers::new(clock.clone()));
        let trial_parts = (clock.clone(), shadow_answers.clone());
        let standing_order_trial =
            Arc::new(ChatTrial::new(store.clone(), store.clone(), trial_parts, pages));
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
                also_called: config.persona.also_called(),
                is_announcing: config.response.announce,
                remember_delay,
                zone: config.time_zone_or(TimeZone::system()),
                random_seed: seed,
            })
        };
        let memory_delay = Some(config.memory_delay());
        let room_inbox = inbox(config.room_wait_settings(), Redaction::Keep, memory_delay);
        room_inbox.load_workspace(&*store, &local::workspace_id()).await?;
        // Includes workspaces whose platform is not connected now: their messages are still remembered and shown on
        // pages.
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
        // The demo's messages are not worth remembering.
        let demo_inbox = inbox(config.demo_wait_settings(), Redaction::Keep, None);
        let demo_channel = DemoChannel { room: room.clone(), inbox: demo_inbox };
        let (revisions, persona_of_demo) = (store.revisions(), persona.clone());
        let demo =
            Demo::new(demo_channel, store.clone(), revisions, clock.clone(), persona_of_demo);
        let demo = Arc::new(demo);
        let local = local::workspace_id();
        let platform: Arc<dyn Platform> = room.clone();
        let platforms = command_replies.platforms.clone();
        platforms.0.replace(HashMap::from([(local, platform)]));
        let deps = || PlatformDeps {
            persona: persona.clone(),
            inbox: inbox(config.wait_settings(), Redaction::Drop, memory_delay),
            archive: store.clone(),
            cursors: store.clone(),
            answers: command_replies.clone(),
        };
        let remotes = Remotes::default();
        let connectors = config.connectors();
        let (mut connections, mut failures) = (Vec::new(), Vec::new());
        for connector in &connectors {
            let connection = PlatformConnection {
                name: connector.platform(),
                is_only: connectors.len() == 1,
                config: current_config.clone(),
                deps: deps(),
                platforms: platforms.clone(),
                remotes: remotes.clone(),
                retry: Arc::default(),
            };
            failures.extend(connection.connect(None).await.err());
            connections.push(connection);
        }
        // Then something is wrong with the config rather than with a platform.
        if failures.len() == connections.len()
            && let Some(failure) = failures.pop()
        {
            return Err(failure);
        }
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
        let configuration = Arc::new(Configuration::default());
        let live = LiveSettings {
            config: current_config,
            rulebook: rulebook.clone(),
            prompts,
            models: models.clone(),
            remotes: remotes.clone(),
            authenticator: authenticator.clone(),
            configuration: configuration.clone(),
            secrets: agent.settings.secrets.clone(),
        };
        let forgetter = Forgetter::new(
            store.clone(),
            channel_cache.clone(),
            clock.clone(),
            config.message_retention(),
        );
        let first_words = FirstWords {
            store: store.clone(),
            archive: store.clone(),
            clock: clock.clone(),
            rulebook: rulebook.clone(),
            zone: agent.settings.zone.clone(),
        };
        let learner = Learner {
            archive: store.clone(),
            cursors: store.clone(),
            clock: clock.clone(),
            rulebook,
            welcome_labels: agent.welcome_labels.clone(),
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
        let report_cache = Arc::new(ReportCache::new(clock.clone()));
        let (computations, computing) = computations(shutdown.clone());
        let room_feed = RoomFeed::new(store.clone(), room.clone(), clock.clone(), newest);
        let web = Arc::new(Web {
            scope: AccessScope::Everything,
            computations,
            shadow_answers,
            report_cache: report_cache.clone(),
            welcome_labels: learner.welcome_labels.clone(),
            day_cache: Arc::new(DayCache::default()),
            room: room.clone(),
            demo: demo.clone(),
            room_feed: Arc::new(room_feed),
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
            configuration,
            health_status: Arc::new(HealthStatus::default()),
            shutdown: shutdown.clone(),
        });
        let own_addresses =
            [Some(address), health.as_ref().and_then(|health| health.local_addr().ok())];
        let health_limits = ServerLimits::health(max_files, &proxies);
        // Logged before the welcome text, which must be the last thing that the start prints.
        let limits = describe_limits(&config.rulebook(), &config.models.currency.0);
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
                aizuchi_web::health_server(health, web.clone(), health_limits, has_metrics)
            }),
            pages: aizuchi_web::pages_server(listener, web.clone(), page_limits),
            writer,
            writer_stop,
            runner,
            installation,
            retention,
            backup,
            forgetter,
            learner,
            first_words,
            computing,
            report_cache,
            erasures,
            web,
            room,
            demo,
            connections,
            mcp_servers,
            allowed_calls,
            own_addresses: own_addresses.into_iter().flatten().collect(),
            shutdown,
        })
    }

    /// The models in use, and the ones that could replace them.
    pub fn models(&self) -> Arc<ModelsInUse> {
        self.models.clone()
    }

    /// Identifies the database.
    pub fn installation(&self) -> Arc<str> {
        self.installation.clone()
    }

    /// The bot's account on each platform.
    pub fn accounts(&self) -> Vec<Account> {
        self.live.remotes.read().values().map(|remote| remote.account()).collect()
    }

    /// The demo of the local room.
    pub fn demo(&self) -> Arc<Demo> {
        self.demo.clone()
    }
}

/// The address of a port on all interfaces.
pub fn all_interfaces(port: &Port) -> SocketAddr {
    let port = u16::try_from(port.0).unwrap_or(0);
    // A machine without IPv6 cannot bind the IPv6 wildcard, which would cover IPv4 as well.
    let has_v6 = std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if has_v6 { (Ipv6Addr::UNSPECIFIED, port).into() } else { (Ipv4Addr::UNSPECIFIED, port).into() }
}
