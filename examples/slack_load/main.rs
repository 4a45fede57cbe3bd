//! A load test with a busy Slack workspace. The fake Slack posts messages at a fixed rate and the models never answer.
//! Measures how fast each event is acknowledged, what is lost, and what resources the program needs.
//!
//! `cargo build --release --bin aizuchi && cargo run --release --example slack_load -- --seconds 60`

mod database;
mod mute_model;
mod program;
mod report;
mod team;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings, serve};
use anyhow::Context as _;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::database::ProgramDatabase;
use crate::mute_model::MuteModel;
use crate::program::Program;
use crate::report::{Outage, Report};
use crate::team::Team;

const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long to wait for acknowledgments after the last message.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same after an outage: Slack's last redelivery comes after five minutes.
const REDELIVERY_TIMEOUT: Duration = Duration::from_secs(375);

#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// The program; left out, the one beside this example.
    program: Option<PathBuf>,
    /// Lines a second.
    #[arg(long, default_value_t = 50)]
    rate: u32,
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    #[arg(long, default_value_t = 200)]
    channels: usize,
    #[arg(long, default_value_t = 1000)]
    people: usize,
    /// From the middle on, no connection is there for so many seconds, and none can be opened.
    #[arg(long, default_value_t = 0)]
    outage: u64,
    /// How long the talk rests before it is judged, in seconds.
    #[arg(long, default_value_t = 300.0)]
    wait: f64,
    /// Prints JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Where config, database and log are put, and stay; left out, they go.
    #[arg(long)]
    keep: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let fake = FakeSlack::new(FakeSlackSettings::default());
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    let slack = serve_apart(fake.clone(), stop)?;
    let model = MuteModel::start().await?;
    let team = Team::gather(fake.clone(), options.channels, options.people)?;
    let temporary = tempfile::tempdir().context("making a folder")?;
    let folder = options.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    let program = Program::start(&options, &folder, slack, model.address)?;
    until_in_sync(&fake, options.channels).await?;
    let report = measure(&options, team, &program, &model).await?;
    program.stop()?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report).context("writing the report")?);
    } else {
        println!("{}", report.table());
    }
    Ok(())
}

/// Serves the fake on its own thread, so that this program's work does not delay it.
fn serve_apart(
    fake: Arc<FakeSlack>,
    stop: CancellationToken,
) -> anyhow::Result<std::net::SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("listening for Slack")?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        let served =
            runtime.block_on(async { serve(TcpListener::from_std(listener)?, fake, stop).await });
        if let Err(error) = served {
            eprintln!("the stand-in for Slack ended: {error:#}");
        }
    });
    Ok(address)
}

/// Waits until the program is connected and has read every channel's history.
async fn until_in_sync(fake: &FakeSlack, channels: usize) -> anyhow::Result<()> {
    let mut changed = fake.subscribe();
    let is_in_sync = || {
        fake.read(|state| {
            let calls = state.journal.calls.iter();
            let read = calls.filter(|call| call.method == "conversations.history");
            state.dispatcher.open_connections() >= 2
                && read.filter(|call| call.answer.is_some()).count() >= channels
        })
    };
    let synced = async {
        while !is_in_sync() {
            // The sender lives as long as the fake, so this cannot fail.
            let _ = changed.changed().await;
        }
    };
    tokio::time::timeout(START_TIMEOUT, synced).await.context("the program did not get in sync")
}

/// Performs the actions of the users at the configured rate, and samples the program meanwhile.
async fn measure(
    options: &Options,
    mut team: Team,
    program: &Program,
    model: &MuteModel,
) -> anyhow::Result<Report> {
    let fake = team.fake.clone();
    let database = ProgramDatabase::open(&program.database()).await?;
    let mut samples = vec![program.sample()?];
    let mut ticks = interval(Duration::from_secs(1) / options.rate);
    let sample_interval = Duration::from_secs((options.seconds / 10).clamp(1, 60));
    let outage_begins = Duration::from_secs(options.seconds / 2);
    let outage_ends = outage_begins + Duration::from_secs(options.outage);
    let mut outage = (options.outage > 0).then(Outage::default);
    let mut backfill = None;
    let began = Instant::now();
    for _ in 0..u64::from(options.rate) * options.seconds {
        ticks.tick().await;
        team.act().context("posting a message")?;
        let elapsed = began.elapsed();
        if elapsed >= sample_interval * u32::try_from(samples.len())? {
            samples.push(program.sample()?);
        }
        if let Some(outage) = &mut outage {
            if elapsed >= outage_begins && outage.from.is_none() {
                outage.from = Some(team.now());
                let refusal = Fault::Status(503);
                fake.inject_fault_times("apps.connections.open", &refusal, 10_000);
                fake.reset_connections();
            }
            if elapsed >= outage_ends && outage.until.is_none() {
                outage.until = Some(team.now());
                fake.clear_faults();
                let (database, messages) = (database.clone(), team.messages_since(outage.from));
                outage.lines = messages.len();
                backfill = Some(tokio::spawn(database.wait_until_stored(fake.clone(), messages)));
            }
        }
    }
    let duration = began.elapsed();
    samples.push(program.sample()?);
    settle(&fake, if outage.is_some() { REDELIVERY_TIMEOUT } else { SETTLE_TIMEOUT }).await;
    if let (Some(outage), Some(backfill)) = (&mut outage, backfill) {
        outage.caught_up_in = backfill.await??.map(|time| time.as_secs_f64());
    }
    let missing = database.missing(&team).await?;
    samples.push(program.sample()?);
    Ok(Report::new(options, &team, duration, samples, missing, outage, model.questions())
        .with_log(program.log_lines()?, program.database_bytes()))
}

/// Waits until no event is in flight, at most for `timeout`.
async fn settle(fake: &FakeSlack, timeout: Duration) {
    let has_in_flight = || {
        use aizuchi_fakes::slack::delivery::EnvelopeStatus;
        fake.read(|state| {
            state
                .dispatcher
                .envelopes
                .iter()
                .any(|envelope| envelope.status == EnvelopeStatus::InFlight)
        })
    };
    let began = Instant::now();
    while has_in_flight() && began.elapsed() < timeout {
        sleep(Duration::from_millis(200)).await;
    }
}
