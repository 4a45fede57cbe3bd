//! Serves a fake platform on its own thread, because a test blocks while it waits for a program to start, and the
//! program calls the platform in the meantime.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Serves until the guard is dropped. Returns the address.
pub fn serve_apart<F>(
    serve: impl FnOnce(TcpListener, CancellationToken) -> F + Send + 'static,
) -> (SocketAddr, DropGuard)
where
    F: Future<Output = anyhow::Result<()>>,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            listener.set_nonblocking(true).unwrap();
            serve(TcpListener::from_std(listener).unwrap(), stopped).await.unwrap();
        });
    });
    (address, stop.drop_guard())
}
