//! What the last program that ran on a database has left in it for the command line, stored as cursors of the local
//! room.

use std::net::SocketAddr;

use aizuchi_config::http::page_address;
use aizuchi_model::chat::Cursor;
use aizuchi_model::chat::local;
use aizuchi_store::{Cursors, StoreError};
use aizuchi_web::sign_in_link::LINK_KEY_STREAM;

const PAGE_STREAM: &str = "page";

pub fn page_cursor(address: SocketAddr) -> Cursor {
    let value = page_address(address).into();
    Cursor { workspace: local::workspace_id(), stream: PAGE_STREAM.into(), value }
}

/// Stores the key that signs links. An empty one replaces an earlier key that is no longer valid.
pub fn link_key_cursor(secret: String) -> Cursor {
    let value = secret.into();
    Cursor { workspace: local::workspace_id(), stream: LINK_KEY_STREAM.into(), value }
}

/// What the command line needs to know about the program that ran last.
pub struct LastProgram {
    /// The address of its pages.
    pub page: Option<String>,
    /// Its part of the key that signs links.
    pub link_key: Option<String>,
}

impl LastProgram {
    pub async fn read(store: &dyn Cursors) -> Result<Self, StoreError> {
        let cursors = store.cursors(&local::workspace_id()).await?;
        let value = |stream: &str| {
            let found = cursors.iter().find(|cursor| &*cursor.stream == stream);
            found.map(|cursor| cursor.value.to_string())
        };
        Ok(Self { page: value(PAGE_STREAM), link_key: value(LINK_KEY_STREAM) })
    }
}
