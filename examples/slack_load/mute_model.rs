//! A server of models that takes every question and never answers one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

pub struct MuteModel {
    pub address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl MuteModel {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening for questions")?;
        let address = listener.local_addr()?;
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let mut question = [0; 4096];
                    // Until whoever asks hangs up.
                    while connection.read(&mut question).await.is_ok_and(|read| read > 0) {}
                });
            }
        });
        Ok(Self { address, asked })
    }

    /// How many connections were opened; one that gets no answer is used once.
    pub fn questions(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}
