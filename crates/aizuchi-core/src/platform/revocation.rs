//! Whether the platform has revoked our access. Once it has, nothing is retried.

use tokio::sync::watch;

#[derive(Default)]
pub struct Revocation(watch::Sender<Option<&'static str>>);

impl Revocation {
    /// Records that the platform revoked our access.
    pub fn revoke(&self, why: &'static str) {
        self.0.send_replace(Some(why));
    }

    /// Waits until the access is revoked, and returns the reason.
    pub async fn revoked(&self) -> &'static str {
        let mut revoked = self.0.subscribe();
        loop {
            if let Some(why) = *revoked.borrow_and_update() {
                return why;
            }
            if revoked.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
