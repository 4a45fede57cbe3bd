//! How many event streams are open. They last for ever, so without a limit a few clients could hold all connections.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;

use crate::web::Web;
use crate::web::access::Visitor;
use crate::web::peer::Peer;

pub struct EventStreams {
    open: Mutex<HashMap<Peer, usize>>,
    max: usize,
    max_per_client: usize,
}

/// The place of one stream. Dropping it frees the place.
pub struct StreamSlot {
    client: Peer,
    streams: Arc<EventStreams>,
}

impl EventStreams {
    /// Half of these connections at most, so that there is room for all other requests, and half of that for one
    /// client: a browser has one stream, but a whole office may have one address.
    pub fn within(connections: usize) -> Self {
        let max = (connections / 2).max(1);
        Self { open: Mutex::default(), max, max_per_client: max.div_ceil(2) }
    }

    /// A place for one more stream. `None` if there are too many.
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

/// A stream of events that ends with the program, or when its reader is signed out.
pub fn respond(
    events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
    web: &Web,
    visitor: Visitor,
) -> Response {
    let signed_out = async move {
        match visitor.session {
            Some(session) => session.ended.cancelled_owned().await,
            None => std::future::pending().await,
        }
    };
    let events = events.take_until(web.shutdown.clone().cancelled_owned()).take_until(signed_out);
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
