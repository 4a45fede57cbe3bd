//! Notifies an open page of the console of changes. The page then reloads what it shows, with the rights of its
//! reader, so the stream carries no content.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::response::Response;
use futures_util::stream;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::access::Visitor;
use crate::event_streams::{self, StreamSlot};
use crate::peer::Client;
use crate::refusal::Refusal;
use crate::room::feed::event;
use crate::{ApiProblem, Web};

/// A comment is sent after this time without a change, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// Changes come in bursts, so a page is notified at most once a second.
const PACE: Duration = Duration::from_secs(1);

struct Changes {
    revisions: watch::Receiver<u64>,
    is_first: bool,
    _slot: StreamSlot,
}

pub async fn events(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    Extension(client): Extension<Client>,
) -> Result<Response, ApiProblem> {
    let slot = web.event_streams.open(client.peer).ok_or(Refusal::TooManyStreams)?;
    let changes = Changes { revisions: web.revisions.clone(), is_first: true, _slot: slot };
    let events = stream::unfold(changes, |mut changes| async {
        let next = changes.next().await?;
        Some((Ok::<_, Infallible>(next), changes))
    });
    Ok(event_streams::respond(events, &web, visitor))
}

impl Changes {
    /// The next event. `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.is_first {
            sleep(PACE).await;
            match timeout(KEEP_ALIVE, self.revisions.changed()).await {
                Err(_) => return Some(COMMENT),
                Ok(changed) => changed.ok()?,
            }
        }
        self.is_first = false;
        let revision = *self.revisions.borrow_and_update();
        Some(event("change", &json!({ "revision": revision }), Some(revision)))
    }
}
