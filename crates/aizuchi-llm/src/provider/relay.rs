//! Carries one request of `genai` to the provider and the response back.
//!
//! `genai` reads a whole response, however large it is, and its HTTP client cannot be replaced. So it calls an
//! address of this process, which exists only during the call: the relay forwards the request, and reads the
//! response up to a limit.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::time::Duration;

use aizuchi_http::body::{BodyError, MAX_MODEL_BODY_BYTES, read_body};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::provider::amend::RequestChanges;
use crate::provider::refusal::{has_begun, hidden_status};

/// An error is a sentence and a code, so only its beginning matters.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// The headers of a response that `genai` or its caller reads. The encoding is missing because the body is already
/// decompressed.
const RESPONSE_HEADERS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];
/// `genai` sends its request immediately.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of open connections that have not presented the secret. Other processes on this machine may
/// have made them.
const MAX_UNAUTHENTICATED: usize = 8;

pub struct Relay {
    listener: TcpListener,
    /// The first part of the path, which other processes on this machine cannot guess.
    secret: String,
    /// The provider's address.
    base: Url,
    /// The changes to the request before it is forwarded.
    changes: RequestChanges,
    transfer: Mutex<Transfer>,
    unauthenticated: Mutex<UnauthenticatedConnections>,
}

/// The connections that have not presented the secret, with the tokens that close them, oldest first.
#[derive(Default)]
struct UnauthenticatedConnections {
    by_number: BTreeMap<u64, CancellationToken>,
    last_number: u64,
}

/// The outcome of a request.
#[derive(Debug, Default)]
pub struct Transfer {
    /// Whether the provider accepted the request, and so may charge for it.
    pub is_accepted: bool,
    /// The body of an answer, or of an error that broke one off.
    pub body: Option<Bytes>,
    /// Why the provider's response did not arrive.
    pub failure: Option<TransferError>,
}

#[derive(Debug)]
pub enum TransferError {
    /// The response is larger than [`MAX_MODEL_BODY_BYTES`].
    TooLarge,
    Broken(reqwest::Error),
    /// `genai` did not send a complete request.
    Unsent,
}

impl Relay {
    pub async fn open(base: Url, changes: RequestChanges) -> std::io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
            secret: Uuid::now_v7().simple().to_string(),
            base,
            changes,
            transfer: Mutex::default(),
            unauthenticated: Mutex::default(),
        })
    }

    /// The address to call instead of the provider's.
    pub fn endpoint(&self) -> std::io::Result<Url> {
        let local = self.listener.local_addr()?;
        let path = self.base.path();
        let mut url = self.base.clone();
        url.set_path(&format!("/{}{path}", self.secret));
        let is_replaced = url.set_scheme("http").is_ok()
            && url.set_ip_host(local.ip()).is_ok()
            && url.set_port(Some(local.port())).is_ok();
        is_replaced.then_some(url).ok_or_else(|| std::io::Error::other("not an HTTP address"))
    }

    /// Serves `call`, which sends one request to [`Relay::endpoint`]. Returns `None` if it could not be served.
    pub async fn carry<T>(
        self,
        http: &Client,
        call: impl Future<Output = T>,
    ) -> (Option<T>, Transfer) {
        let result = match select(pin!(call), pin!(self.serve(http))).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(((), _)) => None,
        };
        (result, self.transfer.into_inner())
    }

    /// Accepts connections, and returns only if none can be accepted.
    async fn serve(&self, http: &Client) {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => connections.push(self.serve_connection(http, stream)),
                    Err(_) => return,
                },
                Some(()) = connections.next(), if !connections.is_empty() => {}
            }
        }
    }

    async fn serve_connection(&self, http: &Client, stream: TcpStream) {
        let (number, must_close) = self.unauthenticated.lock().admit();
        let service = service_fn(|request| self.answer(http, number, request));
        let mut server = http1::Builder::new();
        let server = server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
        let served = server.serve_connection(TokioIo::new(stream), service);
        // A broken connection surfaces as an error of the call.
        let _ = must_close.run_until_cancelled(served).await;
        self.unauthenticated.lock().by_number.remove(&number);
    }

    async fn answer(
        &self,
        http: &Client,
        connection: u64,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let Some(url) = self.provider_url(&request) else {
            return Ok(empty_response(StatusCode::NOT_FOUND));
        };
        // It has presented the secret, so it never has to make room for others.
        self.unauthenticated.lock().by_number.remove(&connection);
        let response = self.forward(http, url, request).await;
        Ok(response.unwrap_or_else(|failure| {
            self.transfer.lock().failure = Some(failure);
            empty_response(StatusCode::BAD_GATEWAY)
        }))
    }

    /// The URL of a request at the provider. `None` if the path is not the expected one.
    fn provider_url(&self, request: &Request<Incoming>) -> Option<Url> {
        let path = request.uri().path().strip_prefix('/')?.strip_prefix(&self.secret)?;
        let mut url = self.base.clone();
        url.set_path(path);
        url.set_query(request.uri().query());
        // The credentials are sent in a header.
        let has_no_user = url.set_username("").is_ok() && url.set_password(None).is_ok();
        has_no_user.then_some(url)
    }

    async fn forward(
        &self,
        http: &Client,
        url: Url,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, TransferError> {
        let (mut head, body) = request.into_parts();
        // These describe the connection to the relay, and the changes may alter the length.
        for name in [HOST, CONNECTION, CONTENT_LENGTH] {
            head.headers.remove(name);
        }
        let body = body.collect().await.map_err(|_| TransferError::Unsent)?.to_bytes();
        let body = self.changes.apply(body);
        let call = http.request(head.method, url).headers(head.headers).body(body);
        let response = call.send().await.map_err(TransferError::Broken)?;
        let (mut status, headers) = (response.status(), response.headers().clone());
        let body: Bytes = if status.is_success() {
            // Before the body is read: the provider may charge for an answer that breaks off.
            self.transfer.lock().is_accepted = true;
            let body: Bytes = read_body(response, MAX_MODEL_BODY_BYTES).await?.into();
            let hidden = hidden_status(&body);
            if hidden.is_none() || has_begun(&body) {
                self.transfer.lock().body = Some(body.clone());
            } else {
                self.transfer.lock().is_accepted = false;
            }
            status = hidden.unwrap_or(status);
            body
        } else {
            // Without an error code, the status decides.
            read_body(response, MAX_ERROR_BODY_BYTES).await.unwrap_or_default().into()
        };
        let mut carried = Response::new(Full::new(body));
        *carried.status_mut() = status;
        for name in RESPONSE_HEADERS {
            if let Some(value) = headers.get(name) {
                carried.headers_mut().insert(name, value.clone());
            }
        }
        Ok(carried)
    }
}

impl UnauthenticatedConnections {
    /// Returns a number for a new connection, and the token that closes it when it has to make room.
    fn admit(&mut self) -> (u64, CancellationToken) {
        let must_close = CancellationToken::new();
        self.last_number += 1;
        self.by_number.insert(self.last_number, must_close.clone());
        if self.by_number.len() > MAX_UNAUTHENTICATED
            && let Some((_, oldest)) = self.by_number.pop_first()
        {
            oldest.cancel();
        }
        (self.last_number, must_close)
    }
}

impl From<BodyError> for TransferError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => TransferError::TooLarge,
            BodyError::Broken(error) => TransferError::Broken(error),
        }
    }
}

fn empty_response(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A provider that gives this answer to each request.
    async fn provider(answer: &'static str) -> Url {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                let response = format!("{head} {}\r\n\r\n{answer}", answer.len());
                let _ = stream.write_all(response.as_bytes()).await;
            }
        });
        Url::parse(&format!("http://127.0.0.1:{port}/v1/")).unwrap()
    }

    /// Waits until the relay has closed a connection.
    async fn until_closed(stream: &mut TcpStream) {
        while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
    }

    #[tokio::test]
    async fn processes_that_connect_first_and_send_nothing_do_not_delay_the_call() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let relay = Relay::open(provider("hello").await, RequestChanges::default()).await.unwrap();
        let address = relay.listener.local_addr().unwrap();
        let endpoint = relay.endpoint().unwrap();
        let mut silent = Vec::new();
        for _ in 0..2 * MAX_UNAUTHENTICATED {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"POST / HTTP/1.1\r\nHost: ").await.unwrap();
            silent.push(stream);
        }
        let http = Client::builder().no_proxy().build().unwrap();
        let call = async {
            let answer = http.get(endpoint.clone()).send().await.unwrap();
            let answer = (answer.status().as_u16(), answer.text().await.unwrap());
            // The oldest connections had to make room.
            until_closed(&mut silent[0]).await;
            let wrong = endpoint.join("/v1/").unwrap();
            (answer, http.get(wrong).send().await.unwrap().status().as_u16())
        };
        let (answers, transfer) = relay.carry(&http, call).await;
        assert_eq!(answers, Some(((200, "hello".to_owned()), 404)));
        assert_eq!(transfer.body.as_deref(), Some(&b"hello"[..]));
    }
}
