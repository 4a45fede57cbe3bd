//! Listens and runs the servers: one task per connection, with a limit on open files that leaves room for everything
//! else.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::Duration;

use aizuchi_web::server::Server;
use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::{JoinError, JoinSet};
use tracing::{error, info};

/// How long a shutdown waits for requests in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of open files that the process asks for, if the limit can be raised.
const WANTED_FILES: u64 = 16_384;
/// The backlog of connections that wait to be accepted. With the usual 128, a burst makes clients wait for a second.
const BACKLOG: u32 = 1024;

pub fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    try_listen(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "another program is already listening on {address}; stop it, or choose another port with --port or in the config"
        ),
        _ => anyhow::anyhow!("cannot listen on {address}: {error}"),
    })
}

fn try_listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Otherwise a restart fails while connections of the former process linger in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A second handle to the same socket, so that it stays bound when the server of the first one stops.
pub fn share(listener: &TcpListener) -> anyhow::Result<TcpListener> {
    let same = listener.as_fd().try_clone_to_owned().context("cannot share a listener")?;
    TcpListener::from_std(same.into()).context("cannot share a listener")
}

/// Serves until the server shuts down.
pub async fn serve(server: Server) -> anyhow::Result<()> {
    let mut connections = JoinSet::new();
    while let Some(connection) = server.accept().await {
        connections.spawn(connection);
        // Otherwise the set would keep each ended connection until the shutdown.
        while let Some(ended) = connections.try_join_next() {
            report(ended);
        }
    }
    // Close the listener.
    drop(server);
    let drained = tokio::time::timeout(DRAIN_TIMEOUT, async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    });
    if drained.await.is_err() {
        let (count, seconds) = (connections.len(), DRAIN_TIMEOUT.as_secs());
        info!(count, seconds, "closing connections that did not end in time");
    }
    Ok(())
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a connection's task failed");
    }
}

/// Raises the limit on open files as far as needed and allowed. Returns the limit.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(WANTED_FILES);
    let wanted = limit.maximum.unwrap_or(WANTED_FILES).min(WANTED_FILES);
    if wanted <= current {
        return current;
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => current,
    }
}
