//! How a call of a platform's API fails, by what the caller should do next, and how reads are repeated.

use std::fmt::{self, Debug, Display};

use aizuchi_http::error::{describe_error, is_unsent};
use aizuchi_model::clock::Clock;
use aizuchi_model::platform::PlatformError;
use jiff::SignedDuration;
use tracing::info;

/// Longer waits are logged.
const LOGGED_WAIT: SignedDuration = SignedDuration::from_secs(10);

/// What differs in the errors of platforms.
pub trait PlatformApi: Clone + Debug + PartialEq + Eq {
    /// The platform's name for users.
    const NAME: &'static str;
    type Refusal: Clone + Debug + Display + PartialEq + Eq;

    /// Whether the platform refused a call because the bot's token is invalid.
    fn is_token_invalid(refusal: &Self::Refusal) -> bool;

    /// Whether it may take the same call later.
    fn is_temporary(_refusal: &Self::Refusal) -> bool {
        false
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformCallError<A: PlatformApi> {
    /// Nothing was done. Retry after this time.
    RateLimited(SignedDuration),
    /// Nothing was done, and a retry would be refused as well.
    Refused(A::Refusal),
    /// The request did not reach the platform. Retry.
    Unreachable(String),
    /// The platform may have processed the call: the response was lost.
    OutcomeUnknown(String),
    /// The platform may have processed the call: its response cannot be read.
    Malformed(&'static str),
}

impl<A: PlatformApi> Display for PlatformCallError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = A::NAME;
        match self {
            PlatformCallError::RateLimited(wait) => write!(f, "{name} asks to wait {wait:#}"),
            PlatformCallError::Refused(refusal) => write!(f, "{name} says {refusal}"),
            PlatformCallError::Unreachable(why) => write!(f, "{name} cannot be reached: {why}"),
            PlatformCallError::OutcomeUnknown(why) => {
                write!(f, "{name}'s answer is not known: {why}")
            }
            PlatformCallError::Malformed(why) => write!(f, "{name}'s answer cannot be read: {why}"),
        }
    }
}

impl<A: PlatformApi> std::error::Error for PlatformCallError<A> {}

impl<A: PlatformApi> PlatformCallError<A> {
    /// The error of a call that failed before its response arrived.
    pub fn unanswered(error: &reqwest::Error) -> Self {
        if is_unsent(error) {
            PlatformCallError::Unreachable(describe_error(error))
        } else {
            PlatformCallError::OutcomeUnknown(describe_error(error))
        }
    }

    /// Why the platform refused the call, if it did.
    pub fn refusal(&self) -> Option<&A::Refusal> {
        match self {
            PlatformCallError::Refused(refusal) => Some(refusal),
            PlatformCallError::RateLimited(_)
            | PlatformCallError::Unreachable(_)
            | PlatformCallError::OutcomeUnknown(_)
            | PlatformCallError::Malformed(_) => None,
        }
    }

    pub fn is_token_invalid(&self) -> bool {
        self.refusal().is_some_and(A::is_token_invalid)
    }

    /// What a failed post tells the outbox to do next.
    pub fn of_post(self) -> PlatformError {
        let why = self.to_string();
        match self {
            PlatformCallError::RateLimited(wait) => {
                PlatformError::Busy { why, retry_after: Some(wait) }
            }
            PlatformCallError::Unreachable(_) => PlatformError::Busy { why, retry_after: None },
            PlatformCallError::Refused(refusal) if A::is_temporary(&refusal) => {
                PlatformError::Busy { why, retry_after: None }
            }
            PlatformCallError::Refused(_) => PlatformError::Refused(why),
            PlatformCallError::OutcomeUnknown(_) | PlatformCallError::Malformed(_) => {
                PlatformError::OutcomeUnknown(why)
            }
        }
    }

    /// What a failed look-up of a post tells the outbox: the post's outcome stays unknown while it cannot be read.
    pub fn of_read(self) -> PlatformError {
        let why = self.to_string();
        match self {
            PlatformCallError::RateLimited(wait) => {
                PlatformError::Busy { why, retry_after: Some(wait) }
            }
            PlatformCallError::Unreachable(_)
            | PlatformCallError::OutcomeUnknown(_)
            | PlatformCallError::Malformed(_) => PlatformError::OutcomeUnknown(why),
            PlatformCallError::Refused(_) => PlatformError::Refused(why),
        }
    }
}

/// A read that is repeated until the platform answers or refuses. The wait that it asks for is kept; other failures are
/// retried with exponential backoff.
pub struct Retries<'a> {
    clock: &'a Clock,
    method: &'a str,
    max_failures: u32,
    failures: u32,
}

impl<'a> Retries<'a> {
    /// `method` is what the log calls the read.
    pub fn new(clock: &'a Clock, method: &'a str, max_failures: u32) -> Self {
        Self { clock, method, max_failures, failures: 0 }
    }

    /// Returns the answer if it is final. Otherwise it waits, and the read is to be repeated.
    pub async fn settle<A: PlatformApi, T>(
        &mut self,
        answer: Result<T, PlatformCallError<A>>,
    ) -> Option<Result<T, PlatformCallError<A>>> {
        let wait = match &answer {
            Ok(_) | Err(PlatformCallError::Refused(_)) => return Some(answer),
            Err(PlatformCallError::RateLimited(wait)) => *wait,
            Err(
                PlatformCallError::Unreachable(_)
                | PlatformCallError::OutcomeUnknown(_)
                | PlatformCallError::Malformed(_),
            ) => {
                self.failures += 1;
                if self.failures >= self.max_failures {
                    return Some(answer);
                }
                SignedDuration::from_secs(1 << self.failures.min(5))
            }
        };
        if wait > LOGGED_WAIT {
            let (platform, shown) = (A::NAME.to_lowercase(), format_args!("{wait:#}"));
            let (method, failures) = (self.method, self.failures);
            info!(platform, method, failures, wait = %shown, "waiting before the next call");
        }
        self.clock.sleep_until(self.clock.now() + wait).await;
        None
    }
}
