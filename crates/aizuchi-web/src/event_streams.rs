//! Limits the number of open event streams. Streams do not end by themselves, so without a limit, a few clients could
//! hold all connections.

use aizuchi_actions::access::Access;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::Web;
use crate::access::Visitor;
use crate::peer::Peer;

pub struct EventStreams {
    open: Mutex<HashMap<Peer, usize>>,
    max: usize,
    max_per_client: usize,
}

/// The slot of one stream. Dropping it frees the slot.
pub struct StreamSlot {
    client: Peer,
    streams: Arc<EventStreams>,
}

impl EventStreams {
    /// Allows streams on half of these connections at most, so that some are left for all other requests, and on half
    /// of that for one client: a browser has one stream, but a whole office may share one address.
    pub fn within(connections: usize) -> Self {
        let max = (connections / 2).max(1);
        Self { open: Mutex::default(), max, max_per_client: max.div_ceil(2) }
    }

    /// Returns a slot for one more stream, or `None` if too many are open.
    pub fn open(self: &Arc<Self>, client: Peer) -> Option<StreamSlot> {
        let mut open = self.open.lock();
        let own = open.get(&client).copied().unwrap_or(0);
        if own >= self.max_per_client || open.values().sum::<usize>() >= self.max {
            return None;
        }
        open.insert(client, own + 1);
        Some(StreamSlot { client, streams: self.clone() })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        if let Some(own) = open.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// The maximum age of the stream of a visitor without a session. After that, the client reconnects and is checked
/// again: the proxy at which they signed in may have signed them out.
const MAX_AGE: Duration = Duration::from_secs(10 * 60);

/// Responds with a stream of events that ends with the program, or with the rights of its reader.
pub fn respond(
    events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
    web: &Web,
    visitor: Visitor,
) -> Response {
    let shutdown = web.shutdown.clone().cancelled_owned();
    let ended = end_of_rights(visitor, web.clock.now());
    let events = events.take_until(shutdown).take_until(ended);
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

/// Returns when the visitor may have lost the right to read.
async fn end_of_rights(visitor: Visitor, now: Timestamp) {
    match (visitor.session, visitor.access) {
        (Some(session), _) => {
            let left = session.expires.duration_since(now);
            let left = Duration::try_from(left).unwrap_or_default();
            tokio::select! {
                () = session.ended.cancelled() => {}
                () = sleep(left) => {}
            }
        }
        (None, Access::SignedIn(_)) => {
            let token_ended = visitor.token_ended.unwrap_or_default();
            tokio::select! {
                () = token_ended.cancelled() => {}
                () = sleep(MAX_AGE) => {}
            }
        }
        (None, Access::Public | Access::ThisMachine) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::access_role::AccessRole;
    use jiff::SignedDuration;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::access::FrameState;
    use crate::sessions::{SESSION_AGE, Sessions};
    use aizuchi_actions::access::SignedInUser;

    #[test]
    fn one_client_leaves_room_for_others_and_places_are_freed() {
        let client = |number| Peer::new(std::net::Ipv4Addr::new(192, 0, 2, number).into());
        let streams = Arc::new(EventStreams::within(9));
        let mut first: Vec<_> = (0..2).map(|_| streams.open(client(1)).unwrap()).collect();
        assert!(streams.open(client(1)).is_none());
        let second = streams.open(client(2)).unwrap();
        let third = streams.open(client(3)).unwrap();
        assert!(streams.open(client(4)).is_none());
        first.pop();
        let fourth = streams.open(client(4)).unwrap();
        drop((first, second, third, fourth));
        assert!(streams.open.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_with_the_rights_of_its_reader() {
        let sessions = Sessions::default();
        let begin = Timestamp::UNIX_EPOCH;
        let holder = || SignedInUser::new("mia", AccessRole::Operator);
        let tokens_ended = CancellationToken::new();
        let open = || {
            let id = sessions.open(holder(), &tokens_ended, begin).unwrap();
            sessions.find(&id, begin).unwrap()
        };
        let ends = async |session, token_ended, now| {
            let started = tokio::time::Instant::now();
            let access = Access::SignedIn(holder());
            let frame = FrameState::default();
            let visitor = Visitor { access, is_trusted: true, session, token_ended, frame };
            end_of_rights(visitor, now).await;
            started.elapsed().as_secs()
        };
        let lasts = async |session, now| ends(session, None, now).await;
        assert_eq!(lasts(None, begin).await, 600);
        let token_ended = CancellationToken::new();
        assert_eq!(ends(None, Some(token_ended.clone()), begin).await, 600);
        token_ended.cancel();
        assert_eq!(ends(None, Some(token_ended), begin).await, 0);
        let late = begin + SESSION_AGE - SignedDuration::from_secs(2000);
        assert_eq!(lasts(Some(open()), late).await, 2000);
        let ended = open();
        sessions.end(&ended);
        assert_eq!(lasts(Some(ended), begin).await, 0);
    }
}
