//! Whether a platform still wants us. Once it does not, nothing is tried again.

use tokio::sync::watch;

#[derive(Default)]
pub struct Dismissal(watch::Sender<Option<&'static str>>);

impl Dismissal {
    /// It does not want us any more.
    pub fn now(&self, why: &'static str) {
        self.0.send_replace(Some(why));
    }

    /// Waits until it does not want us any more, and says why.
    pub async fn reason(&self) -> &'static str {
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
