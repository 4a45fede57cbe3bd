//! The open connections of a listener. A client that sends its request always finds a place: a connection that waits
//! for its client is closed in favor of a newer one.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::peer::Peer;
use crate::server::activity::Activity;

pub struct Connections {
    open: Mutex<OpenConnections>,
    max: usize,
    max_per_client: usize,
    /// A connection keeps its permit until its socket is closed, so sockets never exceed the maximum.
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct OpenConnections {
    /// Oldest first, without the connections that have to close.
    by_number: BTreeMap<u64, OpenConnection>,
    last_number: u64,
}

struct OpenConnection {
    peer: Peer,
    activity: Arc<Activity>,
    must_close: CancellationToken,
}

/// Whom a peer's connections serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// The peer itself.
    Client,
    /// Many clients, so the number of connections is not limited.
    Proxy,
}

/// The slot of one connection. Dropping it frees the slot.
pub struct Slot {
    pub activity: Arc<Activity>,
    /// Cancelled when the connection has to close in favor of a newer one.
    pub must_close: CancellationToken,
    number: u64,
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Allows at most `max_sockets` sockets. Those beyond `max` are for connections that are about to close, so that
    /// newer ones need not wait for that. One client may have at most half of the connections.
    pub fn new(max: usize, max_sockets: usize) -> Self {
        Self {
            open: Mutex::default(),
            max,
            max_per_client: max.div_ceil(2),
            permits: Arc::new(Semaphore::new(max_sockets)),
        }
    }

    /// Returns a slot for a new connection, or `None` if none is free because all other connections are being served.
    pub async fn admit(self: &Arc<Self>, peer: Peer, kind: PeerKind) -> Option<Slot> {
        if !self.make_room(peer, kind) {
            return None;
        }
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let activity = Arc::new(Activity::begin());
        let must_close = CancellationToken::new();
        let connection =
            OpenConnection { peer, activity: activity.clone(), must_close: must_close.clone() };
        let mut open = self.open.lock();
        open.last_number += 1;
        let number = open.last_number;
        open.by_number.insert(number, connection);
        drop(open);
        Some(Slot { activity, must_close, number, connections: self.clone(), _permit: permit })
    }

    /// Closes a waiting connection if another one would be too many. Returns whether a slot is free.
    fn make_room(&self, peer: Peer, kind: PeerKind) -> bool {
        let open = &mut self.open.lock().by_number;
        let own = open.values().filter(|connection| connection.peer == peer);
        let is_peer_full = match kind {
            PeerKind::Client => own.count() >= self.max_per_client,
            PeerKind::Proxy => false,
        };
        if !is_peer_full && open.len() < self.max {
            return true;
        }
        let may_close = |connection: &OpenConnection| {
            (!is_peer_full || connection.peer == peer) && connection.activity.is_waiting()
        };
        let oldest = open.iter().find(|(_, connection)| may_close(connection));
        let Some(oldest) = oldest.map(|(number, _)| *number) else { return false };
        if let Some(connection) = open.remove(&oldest) {
            connection.must_close.cancel();
        }
        true
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.open.lock().by_number.remove(&self.number);
    }
}
