//! Measures how others are heard on a large database: while a member with many messages is forgotten, and while old
//! messages are searched.
//!
//! `cargo run --release --example store_load -- [recall|forget] [--database postgres://…] [--messages 1000000]`
//!
//! The database is filled first and must be empty, unless it was filled in an earlier run (`--filled`). Without
//! `--database` it is a file, in a temporary folder unless `--file` names it.

mod forget;
mod hearing;
mod recall;
mod world;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio_util::sync::CancellationToken;

use crate::hearing::hear_until;

/// How long others are heard without anything else, to compare with.
const IDLE: Duration = Duration::from_secs(15);

#[derive(Debug, Parser)]
pub struct Options {
    /// Both, if left out.
    what: Option<Measurement>,
    /// An empty PostgreSQL database; left out, a file.
    #[arg(long)]
    database: Option<String>,
    #[arg(long, default_value_t = 1_000_000)]
    pub messages: usize,
    /// A file instead of a temporary one. It stays.
    #[arg(long)]
    file: Option<PathBuf>,
    /// The database was filled before.
    #[arg(long)]
    filled: bool,
    /// How much of it the member wrote who is forgotten.
    #[arg(long, default_value_t = 18)]
    pub megabytes: usize,
    /// How many messages others write a second meanwhile.
    #[arg(long, default_value_t = 50)]
    pub rate: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    Recall,
    Forget,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let folder = tempfile::tempdir().context("making a folder")?;
    let address = match &options.database {
        None => {
            let temporary = || folder.path().join("load.db");
            DatabaseLocation::Sqlite(options.file.clone().unwrap_or_else(temporary))
        }
        Some(url) => {
            DatabaseLocation::Postgres(PostgresUrl::parse(url).context("reading the URL")?)
        }
    };
    let (store, writer) = address.open().await?;
    let stop = CancellationToken::new();
    let writer = tokio::spawn(writer.run(stop.clone()));
    let store = Arc::new(store);
    if !options.filled {
        let began = Instant::now();
        world::fill(&store, &options).await?;
        println!("{} messages stored in {:.1?}", options.messages, began.elapsed());
        until_indexed(&address).await?;
        println!("indexed after            {:.1?}", began.elapsed());
    }
    let rest = async {
        tokio::time::sleep(IDLE).await;
        Ok(())
    };
    let idle = hear_until(&store, &options, "i", rest).await?;
    println!("heard, idle              {}", idle.latencies);
    if options.what != Some(Measurement::Forget) {
        recall::measure(&store, &options).await?;
    }
    if options.what != Some(Measurement::Recall) {
        forget::measure(&store, &options, &idle).await?;
    }
    drop(store);
    stop.cancel();
    writer.await?
}

/// Waits until the full-text index has caught up with what was stored: each message that is heard waits for its batches.
async fn until_indexed(address: &DatabaseLocation) -> anyhow::Result<()> {
    const BEHIND: &str =
        "SELECT (SELECT revision FROM counters) - (SELECT revision FROM recall_watermark)";
    const NEARLY: i64 = 1000;
    loop {
        let behind: i64 = match address {
            DatabaseLocation::Sqlite(path) => {
                let options = SqliteConnectOptions::new().filename(path).read_only(true);
                sqlx::query_scalar(BEHIND).fetch_one(&mut options.connect().await?).await?
            }
            DatabaseLocation::Postgres(server) => {
                let mut connection = PgConnection::connect(server.url()).await?;
                sqlx::query_scalar(BEHIND).fetch_one(&mut connection).await?
            }
        };
        if behind < NEARLY {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
