//! A server whose responses never end.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the length of a response is indicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndlessBody {
    /// In its headers, as the largest possible length.
    Announced,
    /// Chunk by chunk.
    Chunked,
    /// By closing the connection.
    UntilClosed,
    /// Chunk by chunk, where each kilobyte decompresses to a megabyte.
    Compressed,
}

pub const ENDLESS_BODIES: [EndlessBody; 4] = [
    EndlessBody::Announced,
    EndlessBody::Chunked,
    EndlessBody::UntilClosed,
    EndlessBody::Compressed,
];

pub struct EndlessServer {
    pub base: String,
    /// The number of bytes sent on each connection that a client has closed.
    closed: watch::Sender<Vec<u64>>,
    task: tokio::task::JoinHandle<()>,
}

impl EndlessServer {
    /// Starts a server. Every response has this status.
    pub async fn start(status: u16, body: EndlessBody) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let closed = watch::Sender::new(Vec::new());
        let sent = closed.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sent = sent.clone();
                tokio::spawn(async move {
                    let bytes = respond(stream, status, body).await;
                    sent.send_modify(|all| all.push(bytes));
                });
            }
        });
        Self { base, closed, task }
    }

    /// Waits until clients have closed this many connections. Returns the number of bytes sent on each.
    pub async fn closed(&self, connections: usize) -> Vec<u64> {
        let mut closed = self.closed.subscribe();
        closed.wait_for(|closed| closed.len() >= connections).await.unwrap().clone()
    }
}

impl Drop for EndlessServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends until the client closes the connection. Returns the number of bytes sent.
async fn respond(mut stream: TcpStream, status: u16, body: EndlessBody) -> u64 {
    let mut request = [0; 16 * 1024];
    if stream.read(&mut request).await.is_err() {
        return 0;
    }
    let framing = match body {
        EndlessBody::Announced => "content-length: 9000000000000000000",
        EndlessBody::Chunked => "transfer-encoding: chunked",
        EndlessBody::UntilClosed => "connection: close",
        EndlessBody::Compressed => "transfer-encoding: chunked\r\ncontent-encoding: gzip",
    };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{framing}\r\n\r\n");
    let mut head = head.into_bytes();
    let repeated = match body {
        EndlessBody::Announced | EndlessBody::UntilClosed => vec![b' '; 64 * 1024],
        EndlessBody::Chunked => to_chunk(&[b' '; 64 * 1024]),
        EndlessBody::Compressed => {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            head.extend(to_chunk(&compress_megabyte(&mut gzip)));
            to_chunk(&compress_megabyte(&mut gzip))
        }
    };
    let (mut sent, mut part) = (0, &head);
    while stream.write_all(part).await.is_ok() {
        sent += part.len() as u64;
        part = &repeated;
    }
    sent
}

/// Compresses another megabyte of the stream. From the second one on, all are the same.
fn compress_megabyte(gzip: &mut GzEncoder<Vec<u8>>) -> Vec<u8> {
    gzip.write_all(&vec![b' '; 1024 * 1024]).unwrap();
    gzip.flush().unwrap();
    std::mem::take(gzip.get_mut())
}

fn to_chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}
