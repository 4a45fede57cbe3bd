//! Whether a platform still wants us. Once it does not, nothing is tried again.

use tokio::sync::watch;

#[derive(Default)]
pub struct Revocation(watch::Sender<Option<&'static str>>);

impl Revocation {
    /// It does not want us any more.
    pub fn revoke(&self, why: &'static str) {
        self.0.send_replace(Some(why));
    }

    /// Waits until it does not want us any more, and says why.
    pub async fn revoked(&self) -> &'static str {
        let mut dismissed = self.0.subscribe();
        loop {
            if let Some(why) = *dismissed.borrow_and_update() {
                return why;
            }
            if dismissed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
