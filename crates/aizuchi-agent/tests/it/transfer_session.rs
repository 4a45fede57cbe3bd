//! The session of a transfer on PostgreSQL: a standby leaves it alone.

use aizuchi_harness::postgres;
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::location::PostgresUrl;
use aizuchi_store::postgres::{connect_exclusive, connect_secondary, open, sql};

/// Does what a standby does, with no patience. Returns how many sessions it has terminated.
async fn terminate_silent_sessions(standby: &mut Connection) -> usize {
    let terminate = query(sql::TERMINATE_SILENT_SESSION).bind(0_i64);
    terminate.fetch_all(standby).await.unwrap().len()
}

#[tokio::test]
async fn a_standby_does_not_end_a_transfer_that_is_silent_for_long() {
    let server = PostgresUrl::parse(&postgres::database()).unwrap();
    let mut standby = connect_secondary(&server).await.unwrap();
    let mut transfer = connect_exclusive(&server).await.unwrap();
    assert_eq!(terminate_silent_sessions(&mut standby).await, 0);
    query(sql::SERVER_STATUS).fetch_one(&mut transfer).await.unwrap();
    transfer.close().await.unwrap();
    // An active process that is silent is still terminated.
    let active = loop {
        // The server releases the lock shortly after the session is closed.
        if let Some(active) = open(&server, 1).await.unwrap() {
            break active;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(terminate_silent_sessions(&mut standby).await, 1);
    drop(active);
}
