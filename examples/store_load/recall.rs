//! Searches old messages, several at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_model::recall::RecallQuery;
use aizuchi_store::Store as _;
use aizuchi_store::database::DatabaseStore;
use futures_util::future::try_join_all;

use crate::Options;
use crate::hearing::{Latencies, hear_until};
use crate::world::{channel, text, workspace};

/// How many search at the same time, and for how long.
const ASKERS: usize = 5;
const TIME: Duration = Duration::from_secs(30);
/// About fourteen words.
const QUESTION: usize = 80;

pub async fn measure(store: &Arc<DatabaseStore>, options: &Options) -> anyhow::Result<()> {
    let mut latencies = Latencies::default();
    let search = async {
        let asked = try_join_all((0..ASKERS).map(|asker| ask(store, options, asker))).await?;
        latencies.0.extend(asked.into_iter().flatten());
        Ok(())
    };
    let during = hear_until(store, options, "r", search).await?;
    println!("searches, {ASKERS} at once    {latencies}");
    println!("heard, while searching   {}", during.latencies);
    Ok(())
}

async fn ask(
    store: &Arc<DatabaseStore>,
    options: &Options,
    asker: usize,
) -> anyhow::Result<Vec<Duration>> {
    let until = Instant::now() + TIME;
    let mut latencies = Vec::new();
    let mut number = options.messages + 1 + asker;
    while Instant::now() < until {
        number += ASKERS;
        let query = RecallQuery {
            workspace: workspace(),
            visible_from: Some(channel(number)),
            channel: None,
            text: text(number, QUESTION),
            before: None,
            limit: 60,
        };
        let began = Instant::now();
        store.recall(&query).await?;
        latencies.push(began.elapsed());
    }
    Ok(latencies)
}
