//! Serves HTTP on a listener with a bounded number of connections, none of which waits for its client forever.

pub mod activity;
mod connections;
mod watched;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::peer::{Client, Peer, TrustedProxies};
use crate::server::activity::{Activity, Timeouts};
use crate::server::connections::{Connections, PeerKind, Slot};
use crate::server::watched::{RequestBody, ResponseBody, WatchedStream};

/// The limits of one listener.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    pub sockets: usize,
    pub timeouts: Timeouts,
    /// Each proxy stands for many clients.
    pub proxies: TrustedProxies,
}

/// A listener and what it serves.
pub struct Server {
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    connections: Arc<Connections>,
    shutdown: CancellationToken,
}

/// Longer than most proxies keep an idle connection for reuse.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than the room's page waits, for an upload over a slow line or for a model that has to be loaded first.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(340);
const STALLED_TIMEOUT: Duration = Duration::from_secs(30);
/// The responses of the health checks are short, and their clients are near.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);
/// No browser needs more, and each socket has a buffer for the head of a request.
const MAX_SOCKETS: u64 = 512;
const MAX_HEALTH_SOCKETS: u64 = 64;
/// The maximum size of the head of a request, which is buffered until it is complete.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The pause after the process or the machine has run out of sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

impl ServerLimits {
    /// The limits of the pages, in a process that may open `max_files` files. Together with the health checks, they
    /// take at most half of them; the rest is for the database, the platforms and the models.
    pub fn pages(max_files: u64, proxies: &TrustedProxies) -> Self {
        Self {
            proxies: proxies.clone(),
            sockets: whole((max_files * 3 / 8).clamp(8, MAX_SOCKETS)),
            timeouts: Timeouts {
                head: HEAD_TIMEOUT,
                idle: IDLE_TIMEOUT,
                request: REQUEST_TIMEOUT,
                stalled: STALLED_TIMEOUT,
            },
        }
    }

    /// The limits of the health checks.
    pub fn health(max_files: u64, proxies: &TrustedProxies) -> Self {
        Self {
            proxies: proxies.clone(),
            sockets: whole((max_files / 8).clamp(4, MAX_HEALTH_SOCKETS)),
            timeouts: Timeouts {
                head: HEALTH_TIMEOUT,
                idle: IDLE_TIMEOUT,
                request: HEALTH_TIMEOUT,
                stalled: HEALTH_TIMEOUT,
            },
        }
    }

    /// The maximum number of open connections. A quarter of the sockets is left for connections that are about to
    /// close.
    pub fn connections(&self) -> usize {
        self.sockets - self.sockets / 4
    }
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl Server {
    pub fn new(
        listener: TcpListener,
        router: Router,
        limits: ServerLimits,
        shutdown: CancellationToken,
    ) -> Self {
        let connections = Arc::new(Connections::new(limits.connections(), limits.sockets));
        Self { listener, router, limits, connections, shutdown }
    }

    /// Accepts the next connection, and returns a future that serves it until its end. `None` once the server shuts
    /// down.
    pub async fn accept(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        loop {
            let accepted = tokio::select! {
                () = self.shutdown.cancelled() => return None,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.pause_after(&error).await;
                    continue;
                }
            };
            let address = address.ip();
            let kind = match self.limits.proxies.contains(address) {
                true => PeerKind::Proxy,
                false => PeerKind::Client,
            };
            let peer = Peer::new(address);
            let Some(slot) = self.connections.admit(peer, kind).await else {
                tracing::debug!(%peer, "refusing a connection: there are too many");
                continue;
            };
            let router = TowerToHyperService::new(self.router.clone());
            let (limits, shutdown) = (self.limits.clone(), self.shutdown.clone());
            return Some(serve(stream, address, slot, router, limits, shutdown));
        }
    }

    /// Waits after an error, unless only its client is gone. Without free sockets, the next attempt would fail at
    /// once.
    async fn pause_after(&self, error: &std::io::Error) {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        tracing::warn!(%error, "cannot accept a connection; trying again soon");
        tokio::select! {
            () = self.shutdown.cancelled() => {}
            () = tokio::time::sleep(ACCEPT_PAUSE) => {}
        }
    }
}

/// Serves a connection until its end, until its client keeps it waiting for too long, or until its place is needed.
async fn serve(
    stream: TcpStream,
    address: IpAddr,
    slot: Slot,
    router: TowerToHyperService<Router>,
    limits: ServerLimits,
    shutdown: CancellationToken,
) {
    let peer = Peer::new(address);
    let activity = &slot.activity;
    let io = TokioIo::new(WatchedStream { stream, activity: activity.clone() });
    let service = service_fn(|request: Request<Incoming>| {
        let client = limits.proxies.client(address, request.headers());
        respond(request, client, activity.clone(), &router)
    });
    let mut http = http1::Builder::new();
    // The activity has its own timeouts.
    let http = http.header_read_timeout(None).max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(http.serve_connection(io, service));
    let mut expired = pin!(activity.expire(&limits.timeouts));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "a connection ended early");
                }
                return;
            }
            () = expired.as_mut() => {
                tracing::debug!(%peer, "closing a connection whose client sends or takes nothing");
                return;
            }
            () = slot.must_close.cancelled() => return,
            // A cancelled token is always ready, so the loop must not wait for it again.
            () = shutdown.cancelled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn respond(
    request: Request<Incoming>,
    client: Client,
    activity: Arc<Activity>,
    router: &TowerToHyperService<Router>,
) -> Result<Response<ResponseBody>, Infallible> {
    activity.begin_request();
    let mut request = request.map(|body| RequestBody { body, activity: activity.clone() });
    request.extensions_mut().insert(client);
    let response: Response<Body> = router.call(request).await?;
    if is_event_stream(&response) {
        activity.begin_stream();
    }
    Ok(response.map(|body| ResponseBody { body, activity }))
}

fn is_event_stream(response: &Response<Body>) -> bool {
    response.headers().get(header::CONTENT_TYPE)
        == Some(&HeaderValue::from_static("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_take_as_long_as_the_page_waits_for_it() {
        let script = include_str!("static/api.js");
        let (_, rest) = script.split_once("const MODEL_TIMEOUT_MS = ").unwrap();
        let (milliseconds, _) = rest.split_once(';').unwrap();
        let waits = Duration::from_millis(milliseconds.replace('_', "").parse().unwrap());
        assert!(waits < REQUEST_TIMEOUT, "{waits:?}");
    }
}
