//! Faults that tests inject into requests to a fake: a queue for each method, where each fault is used once; and
//! histories that stay unreadable.

use std::collections::{BTreeMap, VecDeque};

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;

use crate::alteration::Alteration;
use crate::tcp::ResetHandle;
use crate::wire::to_wire;

/// How a request fails. `Before` and `After` refer to the change that the request makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault<E> {
    /// Resets the connection without executing the request.
    ResetBefore,
    /// Executes the request and resets the connection instead of responding.
    ResetAfter,
    /// Hangs, then executes the request. A client that disconnects in the meantime cancels it.
    HangBefore(Hang),
    /// Executes the request, then hangs before it responds.
    HangAfter(Hang),
    /// Executes the request after this time even if the client has disconnected. Responds with this status immediately,
    /// or hangs.
    CommitLater { after: SignedDuration, status: Option<u16> },
    /// Responds with this status and a proxy's error page, without executing the request.
    Status(u16),
    /// Executes the request and responds with this status.
    StatusAfter(u16),
    /// Responds with 200 and a body that is not JSON, without executing the request.
    Garbage,
    /// Executes the request and responds with one value of the response altered.
    Altered(Alteration),
    /// Responds with an error of the platform's API, without executing the request.
    ApiError(E),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    For(SignedDuration),
    UntilReleased,
}

/// The injected faults that have not been used yet, by method.
pub struct Faults<M, E> {
    queues: BTreeMap<M, VecDeque<Fault<E>>>,
    /// The fault of every request for a page of a channel's history.
    histories: BTreeMap<String, Fault<E>>,
    /// How many times hanging requests were released.
    pub releases: u64,
}

impl<M: Ord, E> Default for Faults<M, E> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), histories: BTreeMap::new(), releases: 0 }
    }
}

impl<M: Ord, E: Clone> Faults<M, E> {
    pub fn push(&mut self, method: M, fault: Fault<E>) {
        self.queues.entry(method).or_default().push_back(fault);
    }

    pub fn clear_and_release(&mut self) {
        self.queues.clear();
        self.histories.clear();
        self.releases += 1;
    }

    /// Makes every page of this channel's history fail from now on.
    pub fn break_history(&mut self, channel: String, fault: Fault<E>) {
        self.histories.insert(channel, fault);
    }

    pub fn of_history(&self, channel: &str) -> Option<Fault<E>> {
        self.histories.get(channel).cloned()
    }

    pub fn pop(&mut self, method: &M) -> Option<Fault<E>> {
        self.queues.get_mut(method)?.pop_front()
    }
}

/// A request into which a fault can be injected.
pub trait FaultTarget {
    type ApiError;

    /// Executes the request and returns its response.
    fn commit(&self) -> Response;

    /// Schedules the request to be executed after this time.
    fn commit_later(&self, after: SignedDuration);

    /// Builds the response for this error without executing the request.
    fn refuse(&self, error: Self::ApiError) -> Response;

    fn hang(&self, hang: Hang) -> impl Future<Output = ()> + Send;

    /// Returns the handle that resets the request's connection.
    fn reset_handle(&self) -> &ResetHandle;
}

/// Responds to a request, applying `fault`.
pub async fn respond<R: FaultTarget>(request: &R, fault: Option<Fault<R::ApiError>>) -> Response {
    let Some(fault) = fault else {
        return request.commit();
    };
    match fault {
        Fault::ResetBefore => reset_connection(request),
        Fault::ResetAfter => {
            request.commit();
            reset_connection(request)
        }
        Fault::HangBefore(hang) => {
            request.hang(hang).await;
            request.commit()
        }
        Fault::HangAfter(hang) => {
            let response = request.commit();
            request.hang(hang).await;
            response
        }
        Fault::CommitLater { after, status } => {
            request.commit_later(after);
            let Some(status) = status else {
                request.hang(Hang::UntilReleased).await;
                return reset_connection(request);
            };
            proxy_error_page(status)
        }
        Fault::Status(status) => proxy_error_page(status),
        Fault::StatusAfter(status) => {
            request.commit();
            proxy_error_page(status)
        }
        Fault::Garbage => "<html><body>It works!</body></html>".into_response(),
        Fault::Altered(alteration) => alter(request.commit(), &alteration).await,
        Fault::ApiError(error) => request.refuse(error),
    }
}

/// Alters one value of the response's body.
async fn alter(response: Response, alteration: &Alteration) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut json = serde_json::from_slice(&body).unwrap_or_default();
    alteration.apply(&mut json);
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, to_wire(&json).into())
}

/// Resets the client's connection; the returned response is never sent.
fn reset_connection<R: FaultTarget>(request: &R) -> Response {
    request.reset_handle().reset();
    StatusCode::OK.into_response()
}

/// Returns an error page like that of a proxy in between.
fn proxy_error_page(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, "<html><body>Something went wrong.</body></html>").into_response()
}
