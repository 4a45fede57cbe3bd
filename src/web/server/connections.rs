//! The open connections of a listener. There is always room for a client that sends its request: a connection that
//! waits for its client makes room for a newer one.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::web::peer::Peer;
use crate::web::server::activity::Activity;

pub struct Connections {
    open: Mutex<OpenConnections>,
    max: usize,
    max_per_client: usize,
    /// A connection keeps its permit until its socket is closed, so sockets never exceed the maximum.
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct OpenConnections {
    /// Oldest first. A connection that has to close is here no more.
    by_number: BTreeMap<u64, OpenConnection>,
    last_number: u64,
}

struct OpenConnection {
    peer: Peer,
    activity: Arc<Activity>,
    must_close: CancellationToken,
}

/// What a peer's connections are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// Itself.
    Client,
    /// Many clients, so it may have any number of them.
    Proxy,
}

/// The place of one connection. Dropping it frees the place.
pub struct Slot {
    pub activity: Arc<Activity>,
    /// Cancelled when the connection has to make room.
    pub must_close: CancellationToken,
    number: u64,
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// With at most this many sockets. Those beyond `max` are for connections that are about to close, so that newer
    /// ones need not wait for that. One client may have at most half of the connections.
    pub fn new(max: usize, max_sockets: usize) -> Self {
        Self {
            open: Mutex::default(),
            max,
            max_per_client: max.div_ceil(2),
            permits: Arc::new(Semaphore::new(max_sockets)),
        }
    }

    /// A place for a new connection. `None` if there is no room, because all other connections are being served.
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

    /// Closes a waiting connection if another one would be too many. Returns whether there is room.
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
