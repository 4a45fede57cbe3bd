//! Standby: while another process is active on the database, this one waits and its listeners answer that it is on
//! standby.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aizuchi_agent::metrics::Metrics;
use aizuchi_config::Config;
use aizuchi_store::database::location::OpenedDatabase;
use aizuchi_web::peer::TrustedProxies;
use aizuchi_web::server::ServerLimits;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::serving;

/// Opens the database as soon as no other process is active on it. Until then, the listeners answer that this process
/// is on standby. Also returns whether it was.
pub async fn open_database(
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
    let can_look = Arc::new(AtomicBool::new(true));
    let mut standby = JoinSet::new();
    let proxies = TrustedProxies::new(&config.http.trusted_proxies);
    let limits = ServerLimits::pages(max_files, &proxies);
    let server = aizuchi_web::standby_server(serving::share(pages)?, limits, active.clone());
    standby.spawn(serving::serve(server));
    if let Some(health) = health {
        let limits = ServerLimits::health(max_files, &proxies);
        let metrics = config.health_check.metrics.then(Arc::<Metrics>::default);
        let listener = serving::share(health)?;
        let can_look = can_look.clone();
        let server =
            aizuchi_web::standby_health_server(listener, limits, active.clone(), can_look, metrics);
        standby.spawn(serving::serve(server));
    }
    let opened = address.wait_and_open(&can_look).await;
    active.cancel();
    standby.detach_all();
    info!(database = %address, "this process is active now");
    Ok((opened, true))
}
