//! What goes wrong on purpose with requests to a fake: for each method a queue of faults, each used once.

use std::collections::{BTreeMap, VecDeque};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde::Deserialize;

use crate::tcp::ResetHandle;

/// What a request meets instead of a plain answer. `Before` and `After` are about the change it makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault<R> {
    /// The connection is reset; nothing was done.
    ResetBefore,
    /// It was done, and the connection is reset before the answer.
    ResetAfter,
    /// It does not answer for a while, then does what it was asked to. Who hangs up stops it.
    HangBefore(Hang),
    /// It does what it was asked to, and does not answer for a while.
    HangAfter(Hang),
    /// It is done so much later, whoever has hung up by then; meanwhile it says nothing, or this.
    CommitLater { after: SignedDuration, answer: Option<u16> },
    /// This status and a page, as a proxy sends it; nothing was done.
    Status(u16),
    /// It was done, and this status is the answer.
    StatusAfter(u16),
    /// 200, and something that is no JSON; nothing was done.
    Garbage,
    /// The platform does not do it, and says why.
    ApiError(R),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    For(SignedDuration),
    UntilReleased,
}

/// A fault as JSON says it; how a platform refuses is `O`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum FaultSpec<O> {
    Common(CommonFaultSpec),
    ApiError(O),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CommonFaultSpec {
    ResetBefore,
    ResetAfter,
    HangBefore { milliseconds: Option<i64> },
    HangAfter { milliseconds: Option<i64> },
    CommitLater { milliseconds: i64, status: Option<u16> },
    Status { status: u16 },
    StatusAfter { status: u16 },
    Garbage,
}

impl<R, O: Into<R>> From<FaultSpec<O>> for Fault<R> {
    fn from(shape: FaultSpec<O>) -> Self {
        let hang = |milliseconds: Option<i64>| {
            let hang = milliseconds.map(SignedDuration::from_millis).map(Hang::For);
            hang.unwrap_or(Hang::UntilReleased)
        };
        let plain = match shape {
            FaultSpec::Common(plain) => plain,
            FaultSpec::ApiError(refusal) => return Fault::ApiError(refusal.into()),
        };
        match plain {
            CommonFaultSpec::ResetBefore => Fault::ResetBefore,
            CommonFaultSpec::ResetAfter => Fault::ResetAfter,
            CommonFaultSpec::HangBefore { milliseconds } => Fault::HangBefore(hang(milliseconds)),
            CommonFaultSpec::HangAfter { milliseconds } => Fault::HangAfter(hang(milliseconds)),
            CommonFaultSpec::CommitLater { milliseconds, status } => Fault::CommitLater {
                after: SignedDuration::from_millis(milliseconds),
                answer: status,
            },
            CommonFaultSpec::Status { status } => Fault::Status(status),
            CommonFaultSpec::StatusAfter { status } => Fault::StatusAfter(status),
            CommonFaultSpec::Garbage => Fault::Garbage,
        }
    }
}

/// What is to go wrong yet, by method.
pub struct Faults<M, R> {
    queues: BTreeMap<M, VecDeque<Fault<R>>>,
    /// How often hanging requests have been released.
    pub releases: u64,
}

impl<M: Ord, R> Default for Faults<M, R> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), releases: 0 }
    }
}

impl<M: Ord, R> Faults<M, R> {
    pub fn push(&mut self, method: M, fault: Fault<R>) {
        self.queues.entry(method).or_default().push_back(fault);
    }

    pub fn clear_and_release(&mut self) {
        self.queues.clear();
        self.releases += 1;
    }

    pub fn pop(&mut self, method: &M) -> Option<Fault<R>> {
        self.queues.get_mut(method)?.pop_front()
    }
}

/// A request that can meet a fault.
pub trait FaultTarget {
    type ApiError;

    /// Does what is asked for, and says what is answered.
    fn commit(&self) -> Response;

    /// Does it so much later.
    fn commit_later(&self, after: SignedDuration);

    /// Does not do it.
    fn refuse(&self, refusal: Self::ApiError) -> Response;

    /// Waits.
    fn hang(&self, hang: Hang) -> impl Future<Output = ()> + Send;

    /// Breaks its connection.
    fn reset_handle(&self) -> &ResetHandle;
}

/// What a request is answered that meets a fault, or none.
pub async fn respond<Q: FaultTarget>(request: &Q, fault: Option<Fault<Q::ApiError>>) -> Response {
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
            let answer = request.commit();
            request.hang(hang).await;
            answer
        }
        Fault::CommitLater { after, answer } => {
            request.commit_later(after);
            let Some(status) = answer else {
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
        Fault::ApiError(refusal) => request.refuse(refusal),
    }
}

/// Whatever is answered now does not get through.
fn reset_connection<Q: FaultTarget>(request: &Q) -> Response {
    request.reset_handle().reset();
    StatusCode::OK.into_response()
}

/// A page of some server in between.
fn proxy_error_page(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, "<html><body>Something went wrong.</body></html>").into_response()
}
