//! Forgets a member who has written much.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_agent::forgetter::Forgetter;
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_model::chat::UserId;
use aizuchi_model::clock::Clock;
use aizuchi_store::Store as _;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::order::Order;
use tokio_util::sync::CancellationToken;

use crate::Options;
use crate::hearing::{Heards, hear_until};
use crate::world::{MEMBER, workspace};

pub async fn measure(
    store: &Arc<DatabaseStore>,
    options: &Options,
    idle: &Heards,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let now = Clock::system().now();
    let (workspace, user) = (workspace(), UserId::new(MEMBER));
    let forget = async {
        store.order(Order::Forget { workspace, user, asked: now }, now).await?;
        println!("ordered in               {:.1?}", began.elapsed());
        until_forgotten(store).await
    };
    let during = hear_until(store, options, "d", forget).await?;
    println!("heard, while forgetting  {}", during.latencies);
    println!(
        "it took {:.1?}; {} MB of memory above {} MB before",
        began.elapsed(),
        (during.peak_kb.saturating_sub(idle.end_kb)) / 1024,
        idle.end_kb / 1024
    );
    Ok(())
}

/// Runs a forgetter until everybody is forgotten.
async fn until_forgotten(store: &Arc<DatabaseStore>) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let cache = Arc::new(ChannelCache::default());
    let forgetter = Forgetter::new(store.clone(), cache, Clock::system(), None);
    let running = tokio::spawn(forgetter.run(stop.clone()));
    let until_scrub_is = async |is_due| {
        while store.scrub_due_since().await?.is_some() != is_due {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    until_scrub_is(true).await?;
    let began = Instant::now();
    until_scrub_is(false).await?;
    println!("index and log            {:.1?}", began.elapsed());
    stop.cancel();
    running.await?
}
