//! What a busy Slack workspace takes: our stand-in for Slack says so many lines a second, the models never
//! answer, and it is measured how soon each event is acknowledged, what is lost, and what the program needs.
//!
//! `cargo build --release --bin aizuchi && cargo run --release --example slack_load -- --seconds 60`

mod keeping;
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

use crate::keeping::Keeping;
use crate::mute_model::MuteModel;
use crate::program::{Program, Sample};
use crate::report::{Outage, Report};
use crate::team::Team;

/// No start takes longer than this.
const STARTING: Duration = Duration::from_secs(120);
/// How long after the last line an acknowledgment is waited for.
const SETTLING: Duration = Duration::from_secs(10);
/// An event that nobody took is brought again after five minutes at the latest.
const LAST_TRY: Duration = Duration::from_secs(375);

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

/// Serves the stand-in on a thread of its own, so that our own work does not hold it up.
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

/// Waits until the program is connected, and has read every channel's history.
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
            // The sender lives as long as the fake.
            let _ = changed.changed().await;
        }
    };
    tokio::time::timeout(STARTING, synced).await.context("the program did not get in sync")
}

/// Lets people talk, and looks at the program meanwhile.
async fn measure(
    options: &Options,
    mut team: Team,
    program: &Program,
    model: &MuteModel,
) -> anyhow::Result<Report> {
    let fake = team.fake.clone();
    let keeping = Keeping::open(&program.database()).await?;
    let mut samples = vec![program.sample()?];
    let mut ticks = interval(Duration::from_secs(1) / options.rate);
    let every = Duration::from_secs((options.seconds / 10).clamp(1, 60));
    let outage_begins = Duration::from_secs(options.seconds / 2);
    let outage_ends = outage_begins + Duration::from_secs(options.outage);
    let mut outage = (options.outage > 0).then(Outage::default);
    let mut catching_up = None;
    let began = Instant::now();
    for _ in 0..u64::from(options.rate) * options.seconds {
        ticks.tick().await;
        team.act().context("saying a line")?;
        let elapsed = began.elapsed();
        if elapsed >= every * u32::try_from(samples.len())? {
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
                let (keeping, lines) = (keeping.clone(), team.lines_since(outage.from));
                outage.lines = lines.len();
                catching_up = Some(tokio::spawn(keeping.until_kept(fake.clone(), lines)));
            }
        }
    }
    let said_in = began.elapsed();
    samples.push(program.sample()?);
    settle(&fake, if outage.is_some() { LAST_TRY } else { SETTLING }).await;
    if let (Some(outage), Some(catching_up)) = (&mut outage, catching_up) {
        outage.caught_up_in = catching_up.await??.map(|time| time.as_secs_f64());
    }
    let missing = keeping.missing(&team).await?;
    let last: Sample = program.sample()?;
    samples.push(last);
    Ok(Report::new(options, &team, said_in, samples, missing, outage, model.questions())
        .with_log(program.log_lines()?, program.database_bytes()))
}

/// Waits until nothing is on its way to the program any more, but not for ever.
async fn settle(fake: &FakeSlack, longest: Duration) {
    let is_under_way = || {
        use aizuchi_fakes::slack::delivery::EnvelopeStatus;
        fake.read(|state| {
            state
                .dispatcher
                .envelopes
                .iter()
                .any(|letter| letter.status == EnvelopeStatus::InFlight)
        })
    };
    let began = Instant::now();
    while is_under_way() && began.elapsed() < longest {
        sleep(Duration::from_millis(200)).await;
    }
}
