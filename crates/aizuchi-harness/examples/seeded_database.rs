//! Creates a database with an invented history: `seeded_database FILE_OR_URL [--channels 300] [--users 800] [--days 30]
//! [--messages 50000] [--seed 1]`.

use std::path::PathBuf;

use aizuchi_harness::seeded::{Seeded, create};
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use anyhow::Context as _;
use jiff::Timestamp;

const USAGE: &str = "usage: seeded_database FILE_OR_URL [--channels 300] [--users 800] [--days 30] [--messages 50000] [--seed 1]";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().context(USAGE)?;
    let mut seeded = Seeded {
        channels: 300,
        users: 800,
        days: 30,
        messages: 50_000,
        seed: 1,
        now: Timestamp::now(),
    };
    while let Some(name) = arguments.next() {
        let value: i64 = arguments.next().context(USAGE)?.parse().context(USAGE)?;
        let size = usize::try_from(value).context(USAGE)?;
        match &*name {
            "--channels" => seeded.channels = size,
            "--users" => seeded.users = size,
            "--messages" => seeded.messages = size,
            "--days" => seeded.days = value,
            "--seed" => seeded.seed = size as u64,
            _ => anyhow::bail!(USAGE),
        }
    }
    let address = match PostgresUrl::parse(&place) {
        Some(server) => DatabaseLocation::Postgres(server),
        None => DatabaseLocation::Sqlite(PathBuf::from(&place)),
    };
    create(&address, &seeded).await?;
    println!("{} channels, {} users, {} messages", seeded.channels, seeded.users, seeded.messages);
    Ok(())
}
