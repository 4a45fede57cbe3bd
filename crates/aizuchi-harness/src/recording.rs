//! A server that gives every request the same response, and records the requests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub struct RecordingServer {
    pub base: String,
    heads: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl RecordingServer {
    /// Starts a server. Every response has this status, these headers and this body.
    pub async fn start(status: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut response = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
        for (name, value) in headers {
            response += &format!("{name}: {value}\r\n");
        }
        response += &format!("content-length: {}\r\n\r\n{body}", body.len());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let recorded = heads.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let head = read_head(&mut stream).await;
                // Record the request before the client can have its response.
                recorded.lock().unwrap().push(head);
                let _ = stream.write_all(response.as_bytes()).await;
            }
        });
        Self { base, heads, task }
    }

    /// The heads of the requests received so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for RecordingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut read = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut read).await {
            Ok(count) if count > 0 => head.extend_from_slice(&read[..count]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}
