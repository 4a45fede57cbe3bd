//! `aizuchi forget`: deletes a user from the database.

use std::time::Duration;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{LoadedConfig, ModelSelection};
use aizuchi_model::chat::AuthorKind;
use aizuchi_model::clock::Clock;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::forget::ForgetReport;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::sqlite::earlier_version;
use clap::Args;

use crate::cli::{block_on, print, user, with_store};

/// Delete a person and everything remembered about them.
///
/// This deletes their messages, memos about them, and memories of what they said. Stop Aizuchi first.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The person's id or name.
    #[arg(long, value_name = "USER")]
    user: String,
}

impl ForgetArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let address = config.database_address();
        if let DatabaseLocation::Sqlite(path) = &address {
            anyhow::ensure!(path.exists(), "there is no database at {address}");
        }
        let work = async |store: DatabaseStore| self.forget(&store).await;
        let report = block_on(with_store(&address, work))?;
        // A copy that an earlier version left behind still holds the forgotten text.
        let left = match &address {
            DatabaseLocation::Sqlite(path) => earlier_version::remove_copies(path, Duration::ZERO),
            DatabaseLocation::Postgres(_) => Vec::new(),
        };
        print(&report)?;
        if let Some(copy) = left.first() {
            let copy = copy.display();
            anyhow::bail!("{copy} still holds the text, and cannot be removed; delete it");
        }
        Ok(())
    }

    async fn forget(&self, store: &DatabaseStore) -> anyhow::Result<String> {
        let users = user::find_one(store, &self.user).await?;
        let is_own = users.iter().any(|user| user.kind == AuthorKind::Persona);
        anyhow::ensure!(
            !is_own,
            "{} is the companion itself, which cannot be forgotten",
            user::describe(&users[0])
        );
        let mut total = ForgetReport::default();
        // The same id may belong to a user in more than one workspace.
        for user in &users {
            let report = store.forget_user(user, Clock::system().now()).await?;
            total.messages += report.messages;
            total.own_messages += report.own_messages;
            total.memos += report.memos;
            total.memories += report.memories;
        }
        Ok(format!(
            "{} is forgotten: {} messages, {} messages of the companion that repeated them, and {} memos are \
             deleted; {} memories are written again at the next start",
            user::describe(&users[0]),
            total.messages,
            total.own_messages,
            total.memos,
            total.memories,
        ))
    }
}
