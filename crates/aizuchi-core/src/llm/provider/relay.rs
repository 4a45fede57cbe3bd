//! Carries one request of `genai` to the provider and the response back.
//!
//! `genai` reads a response whole, however large it is, and its HTTP client cannot be replaced. So it calls an address
//! of this process, which exists as long as the call: the request that comes there is sent on, and the response is read
//! up to a limit.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::pin;

use futures_util::future::{Either, select};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::platform::http_body::{BodyError, MAX_MODEL_BODY_BYTES, read_body};

/// An error is a sentence and a code, so only its beginning is of interest.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// The headers of a response that `genai` or its caller reads. The body is decompressed already, so its encoding is not
/// among them.
const RESPONSE_HEADERS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

pub struct Relay {
    listener: TcpListener,
    /// The first part of the path, which another process on this machine cannot guess.
    secret: String,
    /// The provider's address.
    base: Url,
    transfer: Mutex<Transfer>,
}

/// What became of a request.
#[derive(Debug, Default)]
pub struct Transfer {
    /// The provider accepted the request, so it may charge for it.
    pub is_accepted: bool,
    /// The body of a response with a success status.
    pub body: Option<Bytes>,
    /// Why the provider's response did not arrive.
    pub failure: Option<TransferError>,
}

#[derive(Debug)]
pub enum TransferError {
    /// The response is larger than [`MAX_MODEL_BODY_BYTES`].
    TooLarge,
    Broken(reqwest::Error),
    /// The request did not come from `genai` as a whole.
    Unsent,
}

impl Relay {
    pub async fn open(base: Url) -> std::io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
            secret: Uuid::now_v7().simple().to_string(),
            base,
            transfer: Mutex::default(),
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

    /// Ends only if no connection can be accepted.
    async fn serve(&self, http: &Client) {
        while let Ok((stream, _)) = self.listener.accept().await {
            let service = service_fn(|request| self.answer(http, request));
            // A connection that breaks is an error of the call.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        }
    }

    async fn answer(
        &self,
        http: &Client,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let Some(url) = self.provider_url(&request) else {
            return Ok(empty_response(StatusCode::NOT_FOUND));
        };
        let response = self.forward(http, url, request).await;
        Ok(response.unwrap_or_else(|failure| {
            self.transfer.lock().failure = Some(failure);
            empty_response(StatusCode::BAD_GATEWAY)
        }))
    }

    /// The address that a request is for. `None` if it is not the expected one.
    fn provider_url(&self, request: &Request<Incoming>) -> Option<Url> {
        let path = request.uri().path().strip_prefix('/')?.strip_prefix(&self.secret)?;
        let mut url = self.base.clone();
        url.set_path(path);
        url.set_query(request.uri().query());
        // The request has them in a header.
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
        for name in [HOST, CONNECTION, CONTENT_LENGTH] {
            head.headers.remove(name);
        }
        let body = body.collect().await.map_err(|_| TransferError::Unsent)?.to_bytes();
        let call = http.request(head.method, url).headers(head.headers).body(body);
        let response = call.send().await.map_err(TransferError::Broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body: Bytes = if status.is_success() {
            self.transfer.lock().is_accepted = true;
            let body: Bytes = read_body(response, MAX_MODEL_BODY_BYTES).await?.into();
            self.transfer.lock().body = Some(body.clone());
            body
        } else {
            // Without a code, the status decides.
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
