//! A server for the fakes whose request handlers can reset their own TCP connection.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How long a shutdown waits for requests in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Serves a fake until `shutdown` and runs its background work concurrently.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    background: impl Future<Output = ()>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let router = router.layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    let router = router.into_make_service_with_connect_info::<ResetHandle>();
    let serving = axum::serve(ResettableListener(listener), router)
        .with_graceful_shutdown(shutdown.clone().cancelled_owned());
    // A request that a fault keeps hanging would never end.
    let drained = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        result = serving => result.context("cannot serve a stand-in"),
        () = background => Ok(()),
        () = drained => Ok(()),
    }
}

/// A listener that accepts connections with a reset handle.
struct ResettableListener(TcpListener);

pub struct ResettableStream {
    stream: TcpStream,
    reset_handle: ResetHandle,
}

/// Resets a connection: reads and writes fail from now on, so the server drops it and the peer gets a TCP reset.
#[derive(Clone, Debug, Default)]
pub struct ResetHandle(Arc<AtomicBool>);

impl ResetHandle {
    pub fn reset(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_reset(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Listener for ResettableListener {
    type Io = ResettableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ResettableStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (ResettableStream { stream, reset_handle: ResetHandle::default() }, address)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, ResettableListener>> for ResetHandle {
    fn connect_info(stream: IncomingStream<'_, ResettableListener>) -> Self {
        stream.io().reset_handle.clone()
    }
}

impl ResettableStream {
    fn check_open(&self) -> Result<(), Error> {
        if self.reset_handle.is_reset() {
            return Err(Error::from(ErrorKind::ConnectionReset));
        }
        Ok(())
    }
}

impl Drop for ResettableStream {
    fn drop(&mut self) {
        if self.reset_handle.is_reset() {
            // Closing a socket with zero linger sends a reset. It fails only if the connection is already gone.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for ResettableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.check_open()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ResettableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.check_open()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.check_open()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.check_open()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
