//! A small web server on loopback for the tests.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub struct WebServer {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WebServer {
    /// Answers each request with the bytes that `respond` returns for its path. If there are none, it never answers.
    pub async fn start(respond: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").await.unwrap(), respond)
    }

    /// Like [`Self::start`], on this address and port, unless they are in use.
    pub async fn start_at(
        address: IpAddr,
        port: u16,
        respond: impl Fn(&str) -> Vec<u8> + Send + 'static,
    ) -> std::io::Result<Self> {
        Ok(Self::listen(TcpListener::bind((address, port)).await?, respond))
    }

    fn listen(listener: TcpListener, respond: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = requests.clone();
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                heard.lock().unwrap().push(request);
                let response = respond(&path);
                if response.is_empty() {
                    silent.push(stream);
                    continue;
                }
                // The client may have disconnected.
                let _ = stream.write_all(&response).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, requests, task }
    }

    /// The requests so far, with their heads and bodies.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A response with this status, and with these headers in addition to its length.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    [head.as_bytes(), body].concat()
}

pub fn page(html: &str) -> Vec<u8> {
    response(200, &[("content-type", "text/html; charset=utf-8")], html.as_bytes())
}

pub fn redirect(location: &str) -> Vec<u8> {
    response(302, &[("location", location), ("set-cookie", "a=b")], b"")
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !is_whole(&request) {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(count) => request.extend_from_slice(&part[..count]),
        }
    }
    String::from_utf8_lossy(&request).into_owned()
}

fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    request.len() >= end + 4 + length
}
