//! A model server that accepts every request and never answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

pub struct MuteModel {
    pub address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl MuteModel {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening for questions")?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = requests.clone();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    // Until the client hangs up.
                    while connection.read(&mut request).await.is_ok_and(|read| read > 0) {}
                });
            }
        });
        Ok(Self { address, requests })
    }

    /// The number of connections. A client uses each one for a single request, because it gets no answer.
    pub fn questions(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}
