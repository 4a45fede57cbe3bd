//! Puts the parts together, and takes them down again: the only place that names concrete adapters
//! and spawns tasks. Whichever task ends first stops the rest.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use jiff::tz::TimeZone;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use uuid::Uuid;

use crate::config::Config;
use crate::config::minds;
use crate::config::values::Port;
use crate::web::auth::AccessToken;
use crate::web::{self, Web};
use aizuchi_core::agent::defer::Deferrals;
use aizuchi_core::agent::state::StateCache;
use aizuchi_core::agent::tools::ToolSettings;
use aizuchi_core::agent::{self, Agent, Minds};
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::clock::Clock;
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction};
use aizuchi_core::llm::Llm;
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::llm::fallback::FallbackMind;
use aizuchi_core::llm::provider::ProviderMind;
use aizuchi_core::metrics::Metrics;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::local::{self, LocalRoom};
use aizuchi_core::platform::{Platform, PlatformDeps, Platforms};
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::prompt::builder::PromptBuilder;
use aizuchi_core::prompt::tokens::TokenCorrections;
use aizuchi_core::retention::Retention;
use aizuchi_core::runner::Runner;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::OpenedDatabase;
use aizuchi_core::store::{Archive, Store};
use aizuchi_discord::DiscordPlatform;
use aizuchi_slack::SlackPlatform;

/// Everything that is ready to run.
pub struct App {
    pub address: SocketAddr,
    began: Instant,
    metrics: Arc<Metrics>,
    listener: TcpListener,
    health: Option<TcpListener>,
    /// It writes from the moment on that the database is open: who is active must be heard of.
    writer: JoinHandle<anyhow::Result<()>>,
    writer_stop: CancellationToken,
    runner: Runner,
    retention: Retention,
    room: Arc<LocalRoom>,
    slack: Option<Arc<SlackPlatform>>,
    discord: Option<Arc<DiscordPlatform>>,
    web: Arc<Web>,
    shutdown: CancellationToken,
}

impl App {
    /// Opens the database and the port. Fails with a sentence if either is not to be had. `began` is
    /// when the process did.
    pub async fn open(config: &Config, began: Instant) -> anyhow::Result<Self> {
        let listener = listen(config.http.listen.0).await?;
        let address = listener.local_addr().context("reading the listener's address")?;
        let health = match &config.health_check.port {
            Some(port) => Some(listen(all_interfaces(port)).await?),
            None => None,
        };
        let (store, writer) = open_database(config, &[Some(&listener), health.as_ref()]).await?;
        let writer_stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(writer_stop.clone()));
        let store = Arc::new(store);
        let clock = Clock::system();
        let persona = config.persona();
        let metrics = Arc::new(Metrics::default());
        let under_way = Arc::new(InFlight::default());
        let seed = Uuid::now_v7().as_u64_pair().1;
        let rooms = ChannelCache::new(config.agent_settings().rulebook);
        restore_channel_cache(&rooms, &store, &local::workspace_id()).await?;
        let rooms = Arc::new(rooms);
        let inbox = |waiting, withheld| {
            Arc::new(Inbox {
                store: store.clone(),
                in_flight: under_way.clone(),
                clock: clock.clone(),
                metrics: metrics.clone(),
                channel_cache: rooms.clone(),
                wait_settings: waiting,
                redaction: withheld,
                command_name: Some(persona.name.as_str().into()),
                is_announcing: config.response.announce,
                remember_delay: Some(config.memory_delay()),
                random_seed: seed,
            })
        };
        let in_room = inbox(config.room_wait_settings(), Redaction::Keep);
        let room =
            Arc::new(LocalRoom::new(in_room, store.clone(), clock.clone(), persona.name.clone()));
        let platform: Arc<dyn Platform> = room.clone();
        let mut platforms = Platforms(HashMap::from([(local::workspace_id(), platform)]));
        let answers = build_command_answers(config, store.clone(), store.clone());
        let slack = match config.resolved_slack() {
            None => None,
            Some(settings) => {
                let settings = settings.settings(config.channel_sync_interval());
                let who = aizuchi_slack::resolve_identity(&settings, &*store).await?;
                restore_channel_cache(&rooms, &store, &who.workspace).await?;
                let surroundings = PlatformDeps {
                    persona: persona.clone(),
                    inbox: inbox(config.wait_settings(), Redaction::Drop),
                    archive: store.clone(),
                    answers: answers.clone(),
                };
                let slack = Arc::new(SlackPlatform::new(settings, who, surroundings).await?);
                platforms.0.insert(slack.identity().workspace.clone(), slack.clone());
                Some(slack)
            }
        };
        let discord = match config.resolved_discord() {
            None => None,
            Some(settings) => {
                let zone = config.time_zone_or(TimeZone::system());
                let settings = settings.settings(config.channel_sync_interval(), zone);
                let who = aizuchi_discord::identity::resolve_identity(&settings, &*store).await?;
                for workspace in who.workspaces() {
                    restore_channel_cache(&rooms, &store, &workspace).await?;
                }
                let surroundings = PlatformDeps {
                    persona: persona.clone(),
                    inbox: inbox(config.wait_settings(), Redaction::Drop),
                    archive: store.clone(),
                    answers: answers.clone(),
                };
                let discord = Arc::new(DiscordPlatform::new(settings, who, surroundings).await?);
                platforms
                    .0
                    .insert(aizuchi_discord::identity::platform_workspace(), discord.clone());
                Some(discord)
            }
        };
        let agent = build_agent(
            config,
            (store.clone(), answers),
            platforms.clone(),
            clock.clone(),
            metrics.clone(),
            seed,
        )?;
        let runner = Runner::new(agent, under_way, config.runner_settings())?;
        let retention = Retention {
            store: store.clone(),
            clock: clock.clone(),
            prompt_max_age: config.prompt_retention(),
        };
        let shutdown = CancellationToken::new();
        let web = Arc::new(Web {
            room: room.clone(),
            slack: slack.clone(),
            platforms,
            revisions: store.revisions(),
            archive: store.clone(),
            store,
            clock,
            metrics: metrics.clone(),
            pulse: runner.heartbeat(),
            persona,
            room_wait_seconds: config.room_wait_settings().min_wait_seconds,
            platform_wait_seconds: config.wait_settings().min_wait_seconds,
            judgment_model: config.minds.judgment.model.id.to_string(),
            currency: config.models.currency.0.clone(),
            response_model: config.minds.response.model.id.to_string(),
            token: config.http.token.as_ref().map(|token| AccessToken::new(&token.0)),
            shutdown: shutdown.clone(),
        });
        Ok(Self {
            address,
            began,
            metrics,
            listener,
            health,
            writer,
            writer_stop,
            runner,
            retention,
            room,
            slack,
            discord,
            web,
            shutdown,
        })
    }

    /// The name of the Slack workspace, if it lives in one.
    pub fn slack_workspace(&self) -> Option<&str> {
        self.slack.as_ref().map(|slack| slack.identity().name.as_str())
    }

    /// The bot's name on Discord and the number of its servers, if it lives there.
    pub fn discord_bot(&self) -> Option<(&str, usize)> {
        let who = self.discord.as_ref()?.identity();
        Some((&who.name, who.guilds.len()))
    }

    /// Runs until `stop` is cancelled. Fails if any part ends without being asked to.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            began,
            metrics,
            mut writer,
            writer_stop,
            runner,
            retention,
            room,
            slack,
            discord,
            web,
            shutdown,
            ..
        } = self;
        room.open().await.context("opening the local room")?;
        drop(room);
        let mut tasks: JoinSet<(&str, anyhow::Result<()>)> = JoinSet::new();
        let runner_stop = shutdown.clone();
        tasks.spawn(async move { ("runner", runner.run(runner_stop).await) });
        let retention_stop = shutdown.clone();
        tasks.spawn(async move { ("retention", retention.run(retention_stop).await) });
        if let Some(slack) = slack {
            let slack_stop = shutdown.clone();
            tasks.spawn(async move { ("connection to Slack", slack.run(slack_stop).await) });
        }
        if let Some(discord) = discord {
            let discord_stop = shutdown.clone();
            tasks.spawn(async move { ("connection to Discord", discord.run(discord_stop).await) });
        }
        if let Some(health) = self.health {
            let web = web.clone();
            tasks.spawn(async move { ("health", web::serve_health(health, web).await) });
        }
        let listener = self.listener;
        tasks.spawn(async move { ("web", web::serve(listener, web).await) });
        metrics.record_start(began.elapsed());

        let mut failed = None;
        let mut written = None;
        tokio::select! {
            () = stop.cancelled() => info!("stopping: finishing what has begun"),
            Some(ended) = tasks.join_next() => failed = Some(unexpected_end(ended)),
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

/// The database, as soon as it is this process's own. Until then the listeners say that it stands by.
async fn open_database(
    config: &Config,
    listeners: &[Option<&TcpListener>],
) -> anyhow::Result<OpenedDatabase> {
    let address = config.database_address();
    if let Some(opened) = address.open_if_free().await? {
        return Ok(opened);
    }
    warn!("standing by: another Aizuchi is active on {address}");
    let active = CancellationToken::new();
    let mut serving = JoinSet::new();
    for listener in listeners.iter().flatten() {
        serving.spawn(web::serve_standby(clone_listener(listener)?, active.clone()));
    }
    let opened = address.wait_and_open().await;
    active.cancel();
    serving.detach_all();
    info!("it is active now");
    Ok(opened)
}

/// The same listener once more.
fn clone_listener(listener: &TcpListener) -> anyhow::Result<TcpListener> {
    let same = listener.as_fd().try_clone_to_owned().context("sharing a listener")?;
    TcpListener::from_std(same.into()).context("sharing a listener")
}

/// What was heard and ordered in a workspace holds again.
async fn restore_channel_cache(
    rooms: &ChannelCache,
    store: &DatabaseStore,
    workspace: &WorkspaceId,
) -> anyhow::Result<()> {
    for channel in store.channels(workspace).await? {
        rooms.update_channel(&channel);
    }
    for user in store.users(workspace).await? {
        rooms.update_user(&user);
    }
    rooms.replace_orders(workspace, &store.orders(workspace).await?);
    Ok(())
}

/// Who judges, replies and remembers, as the settings say.
pub fn build_agent(
    config: &Config,
    (store, answers): (Arc<dyn Store>, Arc<CommandReplies>),
    platforms: Platforms,
    clock: Clock,
    metrics: Arc<Metrics>,
    seed: u64,
) -> anyhow::Result<Agent> {
    let persona = config.persona();
    Ok(Agent {
        command_answers: answers,
        store,
        platforms,
        minds: Minds {
            judgment: build_mind(&config.minds.judgment, &persona, &clock)?,
            response: build_mind(&config.minds.response, &persona, &clock)?,
            memory: build_mind(&config.minds.memory, &persona, &clock)?,
            state: build_mind(&config.minds.state, &persona, &clock)?,
        },
        clock,
        metrics,
        persona,
        prompt_builder: Arc::new(load_prompts(config)?),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        tools: has_tools(config)
            .then(|| ToolSettings { zone: config.time_zone_or(TimeZone::system()) }),
        settings: agent::AgentSettings {
            workspace_timings: [(local::workspace_id(), config.response.room_timing())].into(),
            ..config.agent_settings()
        },
        seed,
    })
}

/// What commands are answered with.
pub fn build_command_answers(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Arc<CommandReplies> {
    Arc::new(CommandReplies {
        store,
        archive,
        rulebook: config.agent_settings().rulebook,
        persona: config.persona(),
        zone: config.time_zone_or(TimeZone::system()),
    })
}

/// The built-in mind would take no notice of tools.
fn has_tools(config: &Config) -> bool {
    config.minds.response.model.id.provider().is_some()
}

/// The words for models. Fails with a sentence if there are none, or they leave no room for what was said.
pub fn load_prompts(config: &Config) -> anyhow::Result<PromptBuilder> {
    let prompts = PromptBuilder::load(config.language, config.prompts_dir())?;
    let least = PromptVerb::ALL.map(|verb| {
        let minds = &config.minds;
        let (mind, tools) = match verb {
            PromptVerb::Judge => (&minds.judgment, Vec::new()),
            PromptVerb::Reply if has_tools(config) => {
                (&minds.response, ToolSettings::specs(config.language))
            }
            PromptVerb::Reply => (&minds.response, Vec::new()),
            PromptVerb::Remember => (&minds.memory, Vec::new()),
            PromptVerb::State => (&minds.state, Vec::new()),
        };
        prompts.min_budget_tokens(verb, &persona_of(mind, &config.persona()), &tools)
    });
    let least = least.into_iter().max().unwrap_or(0);
    let most = config.context.budget().max_tokens;
    anyhow::ensure!(
        most >= least,
        "context.max_tokens is {most}, but it must be at least {least}: the instructions, the persona's \
         prompt and the tools leave too little room for what was said"
    );
    Ok(prompts)
}

fn unexpected_end(
    ended: Result<(&str, anyhow::Result<()>), tokio::task::JoinError>,
) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("the {name} ended without being asked to"),
        Ok((name, Err(error))) => error.context(format!("the {name} ended")),
        Err(error) => anyhow::anyhow!("a task ended: {error}"),
    }
}

/// A port on all interfaces.
pub fn all_interfaces(port: &Port) -> SocketAddr {
    let port = u16::try_from(port.0).unwrap_or(0);
    // A machine without IPv6 has no other way.
    let has_v6 = std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if has_v6 { (Ipv6Addr::UNSPECIFIED, port).into() } else { (Ipv4Addr::UNSPECIFIED, port).into() }
}

/// Who thinks, as the settings say.
pub fn build_mind(
    config: &minds::ResolvedMind,
    persona: &Arc<Persona>,
    clock: &Clock,
) -> anyhow::Result<agent::Mind> {
    let first = build_model(&config.model, clock)?;
    let llm = match &config.fallback {
        None => first,
        Some(second) => {
            Arc::new(FallbackMind::new(first, build_model(second, clock)?, clock.clone()))
        }
    };
    Ok(agent::Mind { llm, persona: persona_of(config, persona) })
}

/// Who an agent is to be.
fn persona_of(config: &minds::ResolvedMind, persona: &Arc<Persona>) -> Arc<Persona> {
    match &config.system_prompt {
        None => persona.clone(),
        Some(more) => {
            let system_prompt = format!("{}\n\n{}", persona.system_prompt, more);
            Arc::new(Persona { system_prompt, ..(**persona).clone() })
        }
    }
}

fn build_model(model: &minds::ResolvedModel, clock: &Clock) -> anyhow::Result<Arc<dyn Llm>> {
    Ok(match model.settings() {
        None => Arc::new(BuiltinMind),
        Some(settings) => {
            let mind = ProviderMind::new(&settings, clock.clone());
            Arc::new(mind.with_context(|| format!("preparing {}", model.id))?)
        }
    })
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "another program listens on {address}; stop it, or choose another port in the config"
        ),
        _ => anyhow::anyhow!("cannot listen on {address}: {error}"),
    })
}
